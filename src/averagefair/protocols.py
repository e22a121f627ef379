"""What a plug-in must offer: the seams along which the code is cut.

A solver sees of a play only one number (its error) and one vector (the individual rates). An
oracle sees costs. Neither knows the other. Each of these can be added in one file.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from averagefair.costs import Costs
    from averagefair.sample import Sample


__all__ = ["BestResponse", "Hypothesis", "Oracle", "Rate"]


@runtime_checkable
class Rate(Protocol):
    """Which mistakes count against an individual; see ``averagefair.rates``."""

    @property
    def name(self) -> str:
        """What the rate is called in results."""

    @property
    def negatives(self) -> float:
        """Weight of a cell with label 0 (a mistake there is a false positive), in [0, 1]."""

    @property
    def positives(self) -> float:
        """Weight of a cell with label 1 (a mistake there is a false negative), in [0, 1]."""

    @property
    def rho(self) -> Any:
        """Outside estimates of how often a cell counts, shape (n,), or None."""

    @property
    def holdout_tasks(self) -> int:
        """How many tasks to set aside to make such estimates."""

    def with_rho(self, rho: Any) -> Rate:
        """Return the same rate with outside estimates of rho.

        Parameters
        ----------
        rho : array, shape (n,)
            How often a cell counts for each person.
        """


@runtime_checkable
class Hypothesis(Protocol):
    """One classifier for each of k tasks: what an oracle answers.

    It may also offer ``count_mistakes(part, by_label)``, everybody's number of mistakes without a
    table of decisions, or None where there is no such way; see
    ``averagefair.oracles.linear.LinearThresholds``.
    """

    def decide(self, features: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Decide for each person (rows) and task (columns); shape (n, k).

        Parameters
        ----------
        features : array, shape (n, d)
        """

    def key(self) -> Hashable:
        """Return a value that is equal for two hypotheses only if they decide alike."""


class BestResponse(Protocol):
    """An oracle bound to a sample, ready to be asked again and again.

    One whose answers depend on what it was asked before also offers ``memory()``, arrays by name,
    and ``remember(arrays)``, so that a run can be resumed (:class:`~averagefair.Checkpoint`).
    """

    def __call__(self, costs: Costs) -> Hypothesis:
        """Answer the cost-sensitive problems of all tasks in ``costs`` at once.

        Parameters
        ----------
        costs : Costs
            With the k tasks to answer for.

        Returns
        -------
        Hypothesis
            A classifier for each of the k tasks, in their order.
        """


@runtime_checkable
class Oracle(Protocol):
    """A cost-sensitive classification oracle CSC(H) (the paper's Definition of that name).

    One that has a true attribute ``anywhere`` reads people through ``Sample.collect`` alone, and is
    asked wherever they are (a GPU, a cluster); others get NumPy arrays of this machine only. One
    that has a true attribute ``thorough`` searches for cheap answers itself, so that solvers need
    not ask it as often.
    """

    @property
    def exact(self) -> bool:
        """Whether every answer is a true minimum over the class: what guarantees rest on."""

    def bind(self, sample: Sample) -> BestResponse:
        """Do once what depends on the sample alone (factor, sort), and return the answerer.

        Parameters
        ----------
        sample : Sample
            What all costs will be about.

        Returns
        -------
        BestResponse
        """


def is_oracle(thing: Any) -> TypeGuard[Oracle]:
    """Return whether this is an oracle, and no class of such."""
    return isinstance(thing, Oracle) and not isinstance(thing, type)


def memory_of(response: BestResponse) -> dict[str, NDArray[Any]]:
    """Return what an oracle's next answer depends on beside the costs; nothing for most."""
    found: Any = getattr(response, "memory", dict)
    return dict(found())


def remind(response: BestResponse, memory: Mapping[str, NDArray[Any]]) -> None:
    """Hand back to an oracle what `memory_of` returned; ValueError where it does not fit."""
    if hasattr(response, "remember"):
        response.remember(memory)
    elif memory:
        raise ValueError(f"{type(response).__name__} has no memory")
