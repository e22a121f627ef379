"""Ask several oracles and keep the cheapest answer of each task, by true cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError
from averagefair.game.constant_classifiers import constants
from averagefair.game.costs import Costs
from averagefair.game.per_task_choice import choose_per_task
from averagefair.game.protocols import (
    BestResponse,
    Hypothesis,
    Oracle,
    StatefulResponse,
    is_oracle,
    memory_of,
    remind,
)
from averagefair.oracles.linear import LinearThresholds
from averagefair.people.sample import Sample


def cheapest(answers: Sequence[Hypothesis], costs: Sequence[FloatArray]) -> Hypothesis:
    """Return the cheapest answer of each task; the first wins a tie. Costs have shape (k,) each."""
    return choose_per_task(answers, np.argmin(costs, axis=0))


@dataclass(frozen=True)
class Portfolio(Oracle):
    """Asks several oracles and keeps the answer with the lowest true cost, for each task.

    The two constants, "always 0" and "always 1", always take part, as the paper assumes. So no
    task's answer is worse than a constant. The portfolio counts as a heuristic, whatever its
    members are.

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
        if not members or not all(is_oracle(member) for member in members):
            raise InputError(
                f"a portfolio takes a list of at least one oracle; got {oracles!r}. Pass e.g. "
                "Portfolio([RegressionOracle(), LogisticOracle()]); wrap a scikit-learn classifier "
                "as WeightedOracle(classifier)."
            )
        object.__setattr__(self, "oracles", members)

    @property
    def reads_in_parts(self) -> bool:  # type: ignore[override]
        """Whether all members can work part by part, e.g. on a cluster."""
        return all(oracle.reads_in_parts for oracle in self.oracles)

    def bind(self, sample: Sample) -> _BoundPortfolio:
        """Bind every member."""
        return _BoundPortfolio([oracle.bind(sample) for oracle in self.oracles])


class _BoundPortfolio(StatefulResponse):
    def __init__(self, members: Sequence[BestResponse]) -> None:
        self.members = members

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return the state of all members, by position and name."""
        return {
            f"{position}.{name}": array
            for position, member in enumerate(self.members)
            for name, array in memory_of(member).items()
        }

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that `memory` returned."""
        for position, member in enumerate(self.members):
            prefix = f"{position}."
            names = [name for name in memory if name.startswith(prefix)]
            remind(member, {name[len(prefix) :]: memory[name] for name in names})

    def __call__(self, costs: Costs) -> Hypothesis:
        """Ask all members; keep the cheapest of their answers and the constants, for each task."""
        answers = [member(costs) for member in self.members]
        zero, one = constants(costs.sample.m)
        above_zero = [costs.above_zero(answer) for answer in (*answers, one)]
        always: Sequence[Hypothesis] = (one, zero)
        if all(isinstance(answer, LinearThresholds) for answer in answers):
            always = _linear_constants(costs.sample.d, costs.sample.m)
        return cheapest([*answers, *always], [*above_zero, np.zeros(costs.sample.m)])


def _linear_constants(d: int, tasks: int) -> list[LinearThresholds]:
    """Return "always 1" and "always 0" as linear classifiers."""
    zeros = np.zeros((d, tasks))
    return [LinearThresholds(zeros, np.full(tasks, intercept)) for intercept in (-1.0, 1.0)]
