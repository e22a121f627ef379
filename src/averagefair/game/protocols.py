"""The protocols of plug-ins: what an oracle, a hypothesis, a rate or a solver must offer.

A play is an answer of the Learner. A solver sees only two things of a play: one number (the error)
and one vector (the individual rates). An oracle sees only costs. Neither knows the other.

Subclass :class:`Oracle`, :class:`Hypothesis`, :class:`Rate` or :class:`Solver` to add your own in
one file. Every capability that a plug-in may declare has its default here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from averagefair.game.costs import Costs
    from averagefair.game.learner import Learner
    from averagefair.game.promises import Promise
    from averagefair.game.solution import Callback, Solution
    from averagefair.people.parts import Part
    from averagefair.people.sample import Sample


__all__ = ["BestResponse", "Hypothesis", "Oracle", "Rate", "Solver", "StatefulResponse"]


@runtime_checkable
class Rate(Protocol):
    """Which mistakes count against an individual; see ``averagefair.game.rates``."""

    @property
    def name(self) -> str:
        """The rate's name in results."""

    @property
    def negatives(self) -> float:
        """Weight of a cell with label 0 (a mistake there is a false positive), in [0, 1]."""

    @property
    def positives(self) -> float:
        """Weight of a cell with label 1 (a mistake there is a false negative), in [0, 1]."""

    @property
    def rho(self) -> Any:
        """Outside estimates of the share of tasks that counts, shape (n,), or None."""

    @property
    def holdout_tasks(self) -> int:
        """Number of tasks to set aside to estimate rho."""

    def with_rho(self, rho: Any) -> Rate:
        """Return the same rate with outside estimates of rho.

        Parameters
        ----------
        rho : array, shape (n,)
            The share of tasks that counts for each person.
        """


@runtime_checkable
class Hypothesis(Protocol):
    """An oracle's answer: one classifier for each of k tasks.

    Attributes
    ----------
    decides_anywhere : bool, default False
        Whether ``decide`` takes arrays of any library and device, not only NumPy arrays.
    """

    decides_anywhere: bool = False

    def decide(self, features: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Decide for each person (rows) and task (columns); shape (n, k).

        Parameters
        ----------
        features : array, shape (n, d)
        """

    def key(self) -> Hashable:
        """Return a value that two hypotheses share only if all their decisions are equal."""

    def count_mistakes(self, part: Part, by_label: bool) -> tuple[Any, ...] | None:
        """Count everybody's mistakes without a table of decisions.

        Parameters
        ----------
        part : Part
            A part of the people.
        by_label : bool
            Whether to count false positives and false negatives separately.

        Returns
        -------
        tuple of arrays of shape (rows,), or None
            None (the default) means that no way is faster than ``decide``.
        """
        return None

    @classmethod
    def gather(
        cls, hypotheses: Sequence[Hypothesis], choice: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> Hypothesis | None:
        """Join classifiers of several hypotheses into one hypothesis of this class.

        Parameters
        ----------
        hypotheses : sequence of Hypothesis
            Of this class, of others, and constants. Some may not be chosen.
        choice : integer array, shape (k,)
            The position of the hypothesis that decides each task.
        columns : integer array, shape (k,)
            Which of that hypothesis's own tasks decides the task.

        Returns
        -------
        Hypothesis with k tasks, or None
            None (the default) means that this class cannot hold the chosen classifiers. They are
            then asked one after the other.
        """
        return None


class BestResponse(Protocol):
    """An oracle bound to a sample, which can be asked many times. A function is enough."""

    def __call__(self, costs: Costs) -> Hypothesis:
        """Answer the cost-sensitive problems of all tasks in ``costs`` at once.

        Parameters
        ----------
        costs : Costs
            The costs of k tasks.

        Returns
        -------
        Hypothesis
            A classifier for each of the k tasks, in their order.
        """


@runtime_checkable
class StatefulResponse(BestResponse, Protocol):
    """A best response whose answers depend on earlier questions.

    Its state is saved, so that a run can be resumed (:class:`~averagefair.Checkpoint`).
    """

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return the state that the next answer depends on, as named arrays."""

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Restore a state that ``memory`` returned; raises ValueError if it does not fit.

        Parameters
        ----------
        memory : mapping of str to array
        """


@runtime_checkable
class Oracle(Protocol):
    """A cost-sensitive classification oracle CSC(H) (the paper's Definition of that name).

    Attributes
    ----------
    exact : bool
        Whether every answer is a true minimum over the class. All guarantees assume it.
    reads_in_parts : bool, default False
        Whether the oracle reads people only through ``Sample.collect``, so that they may be on a
        GPU or on a cluster. Otherwise they must be in NumPy arrays on this machine.
    effort : float, default 10
        About how many answers of least squares one answer takes. Solvers plan by it.
    cheaper : Oracle, or None (the default)
        A quicker, weaker oracle of the same class: a solver may begin with its answers.
    """

    exact: bool
    reads_in_parts: bool = False
    effort: float = 10.0
    cheaper: Oracle | None = None

    def bind(self, sample: Sample) -> BestResponse:
        """Prepare for a sample (factor, sort), and return the best response.

        Parameters
        ----------
        sample : Sample
            The sample of all later costs.

        Returns
        -------
        BestResponse
        """

    def close(self) -> None:
        """Finish pending work, after a solver has ended. The default does nothing."""
        return


@runtime_checkable
class Solver(Protocol):
    """Plays the game: asks the Learner and returns a mixture of its plays.

    Attributes
    ----------
    default_alpha : float, or None (the default)
        The alpha to use if the user gives none. None: the library's default.
    default_oracle : Oracle, or None (the default)
        The oracle to use if the user gives none. None: the library's default.
    default_decisions : {"fixed", "drawn"}, default "fixed"
        How decisions are made if the user does not say.
    """

    default_alpha: float | None = None
    default_oracle: Oracle | None = None
    default_decisions: str = "fixed"

    def solve(
        self,
        learner: Learner,
        promise: Promise,
        *,
        callback: Callback | None = None,
        rng: np.random.Generator | None = None,
    ) -> Solution:
        """Return the best mixture of the Learner's plays that keeps the promise.

        Parameters
        ----------
        learner : Learner
        promise : Promise
            Its limits are ``learner.program(promise)``.
        callback : callable, optional
            Called with a Round after each round; returning True ends the run.
        rng : numpy Generator, optional
            Source of random numbers. Default: seed 0.
        """

    def path(
        self,
        learner: Learner,
        promises: Sequence[Promise],
        *,
        callback: Callback | None = None,
        rng: np.random.Generator | None = None,
    ) -> list[Solution]:
        """Solve several promises; return the solutions, the hardest promise first.

        By default each promise is solved alone, the easiest first (the largest alpha), so that no
        solution depends on the other promises. A run ended by Ctrl-C or the callback ends the path:
        later promises get no solution.

        Parameters
        ----------
        learner : Learner
        promises : sequence of Promise
        callback, rng
            As for ``solve``.
        """
        solutions: list[Solution] = []
        for promise in sorted(promises, key=lambda promise: promise.hardness):
            solution = self.solve(learner, promise, callback=callback, rng=deepcopy(rng))
            solutions.insert(0, solution)
            if solution.stop_reason.by_user:
                break
        return solutions


def is_oracle(thing: Any) -> TypeGuard[Oracle]:
    """Return whether this is an oracle object, not a class."""
    return isinstance(thing, Oracle) and not isinstance(thing, type)


def memory_of(response: BestResponse) -> dict[str, NDArray[Any]]:
    """Return the state of a best response; empty for most."""
    return dict(response.memory()) if isinstance(response, StatefulResponse) else {}


def remind(response: BestResponse, memory: Mapping[str, NDArray[Any]]) -> None:
    """Restore the state that `memory_of` returned; raises ValueError if it does not fit."""
    if isinstance(response, StatefulResponse):
        response.remember(memory)
    elif memory:
        raise ValueError(f"{type(response).__name__} has no memory")
