"""Several oracles asked, the cheapest answer kept: task by task, by true cost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.constants import constants
from averagefair.costs import Costs
from averagefair.errors import InputError
from averagefair.oracles.linear import LinearThresholds
from averagefair.protocols import (
    BestResponse,
    Hypothesis,
    Oracle,
    is_oracle,
    memory_of,
    remind,
)
from averagefair.sample import FloatArray, Sample
from averagefair.spaces import Space


@dataclass(frozen=True, eq=False)
class Chosen:
    """For each of k tasks the classifier of one of several hypotheses.

    Attributes
    ----------
    hypotheses : sequence of Hypothesis
        Each one decides all k tasks.
    choice : integer array, shape (k,)
        Which of them decides each task.
    """

    hypotheses: Sequence[Hypothesis]
    choice: NDArray[np.intp]

    def decide(self, features: Any) -> Any:
        """Decide for each person and task, where the features are; shape (n, k)."""
        space = Space.of(features)
        out = space.xp.zeros(
            (features.shape[0], len(self.choice)), dtype=space.xp.bool, device=space.device
        )
        for place, hypothesis in enumerate(self.hypotheses):
            own = space.asarray(self.choice == place)
            out = out | (own & hypothesis.decide(features))
        return out

    def key(self) -> Hashable:
        """Return which classifiers there are, and which decides what."""
        return tuple(one.key() for one in self.hypotheses), self.choice.tobytes()


def cheapest(answers: Sequence[Hypothesis], costs: Sequence[FloatArray]) -> Hypothesis:
    """Return, task by task, the answer of the lowest cost, (k,) each; of equal ones the first."""
    choice = np.argmin(costs, axis=0)
    if not choice.any():
        return answers[0]
    linear = [answer for answer in answers if isinstance(answer, LinearThresholds)]
    if len(linear) == len(answers):
        tasks = np.arange(len(choice))
        return LinearThresholds(
            np.stack([answer.coefficients for answer in linear])[choice, :, tasks].T.copy(),
            np.stack([answer.intercepts for answer in linear])[choice, tasks],
        )
    used, choice = np.unique(choice, return_inverse=True)
    return Chosen([answers[place] for place in used], choice)


@dataclass(frozen=True)
class Portfolio:
    """Asks several oracles and keeps, task by task, the answer of the lowest true cost.

    The two constants, "always 0" and "always 1", always take part, as the paper assumes: no task's
    answer is ever worse than a constant. A heuristic, whatever its members are.

    Parameters
    ----------
    oracles : sequence of Oracle
        At least one.

    Examples
    --------
    >>> from averagefair.oracles import RegressionOracle, StumpOracle
    >>> sample = Sample([[-2.0], [-1.0], [1.0], [2.0]], [[0, 1], [1, 1], [1, 1], [1, 1]])
    >>> prices = np.ones(4)
    >>> answer = Portfolio([RegressionOracle(), StumpOracle()]).bind(sample)(
    ...     Costs(sample, prices, prices)
    ... )
    >>> answer.decide(sample.features).astype(int).T
    array([[0, 1, 1, 1],
           [1, 1, 1, 1]])
    """

    oracles: tuple[Oracle, ...]
    exact = False

    def __init__(self, oracles: Sequence[Oracle]) -> None:
        members = tuple(oracles) if isinstance(oracles, Sequence) else ()
        if not members or not all(is_oracle(one) for one in members):
            raise InputError(
                "a portfolio takes a list of oracles, at least one, e.g. Portfolio("
                "[RegressionOracle(), LogisticOracle()]); a scikit-learn classifier becomes one by "
                f"WeightedOracle(classifier). Got {oracles!r}."
            )
        object.__setattr__(self, "oracles", members)

    @property
    def anywhere(self) -> bool:
        """Whether all members can be asked wherever people are."""
        return all(getattr(one, "anywhere", False) for one in self.oracles)

    def bind(self, sample: Sample) -> _Panel:
        """Bind every member."""
        return _Panel([one.bind(sample) for one in self.oracles])


class _Panel:
    def __init__(self, members: Sequence[BestResponse]) -> None:
        self.members = members

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return what all members remember, by their place and name."""
        return {
            f"{place}.{name}": part
            for place, member in enumerate(self.members)
            for name, part in memory_of(member).items()
        }

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `memory` returned."""
        for place, member in enumerate(self.members):
            own = f"{place}."
            remind(member, {k[len(own) :]: v for k, v in memory.items() if k.startswith(own)})

    def __call__(self, costs: Costs) -> Hypothesis:
        """Ask all members; keep the best of their answers and of the constants."""
        answers = [member(costs) for member in self.members]
        zero, one = constants(costs.sample.m)
        found = [costs.above_zero(answer) for answer in (*answers, one)]
        always: Sequence[Hypothesis] = (one, zero)
        if all(isinstance(answer, LinearThresholds) for answer in answers):
            always = _linear_constants(costs.sample.d, costs.sample.m)
        return cheapest([*answers, *always], [*found, np.zeros(costs.sample.m)])


def _linear_constants(d: int, tasks: int) -> list[LinearThresholds]:
    """Return "always 1" and "always 0" as what they are among linear classifiers."""
    nothing = np.zeros((d, tasks))
    return [LinearThresholds(nothing, np.full(tasks, at)) for at in (-1.0, 1.0)]
