"""Which oracle's answers cost least: give every oracle the same problems, as solvers pose them.

A problem is the prices that a solver asked for during a fit. The cheapest decision of a cell is 1
where deciding 1 is cheaper, else 0. The class may have no classifier that decides so in all cells.
The avoidable cost of an answer is the sum of |gap| over the cells decided otherwise. It depends on
the oracle; the rest of the cost depends on the problem alone. It is given as a share of the
problem's whole |gap|, so that the units of a problem do not matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from averagefair import AverageFairClassifier, ColumnGeneration, Sample
from averagefair.game.costs import Costs
from averagefair.game.problem import Problem
from averagefair.game.protocols import Oracle
from averagefair.pose import pose
from benchmarks.common import heading, table, verdict
from benchmarks.oracles.tables import (
    DEFAULT,
    LEAST_SQUARES,
    LINEAR,
    ORACLES,
    population,
    side_by_side,
    stop_after,
)

PROBLEMS = 200
ALPHAS = (0.02, 0.05, 0.1)
RATES = ("error", "false_positive")
ASKING_SECONDS = 3.0
TARGET_RATIO = 0.93
ROUNDING = 1e-12

Prices = tuple[NDArray[np.float64], NDArray[np.float64]]


class Asked(NamedTuple):
    """One problem: its population, and each person's price of a false positive and negative."""

    population: str
    prices: Prices


@dataclass(frozen=True, eq=False)
class Recording(Oracle):
    """An oracle that passes questions on to another oracle and records the prices."""

    oracle: Any
    prices: list[Prices] = field(default_factory=list)
    exact = False

    def bind(self, sample: Sample) -> Any:
        """Bind the other oracle."""
        answer = self.oracle.bind(sample)

        def recorded(costs: Costs) -> Any:
            self.prices.append((costs.false_positive, costs.false_negative))
            return answer(costs)

        return recorded


def recorded_prices(
    name: str, alpha: float, rate: str, asking: str, seconds: float = ASKING_SECONDS
) -> list[Prices]:
    """Return the prices of a fit, in the order asked; ``asking`` names the oracle that answered."""
    data, oracle = population(name), Recording(ORACLES[asking]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # people without this rate; alpha not reached in this time
        AverageFairClassifier(
            alpha=alpha,
            rate=rate,
            oracle=oracle,
            callback=stop_after(seconds),
            random_state=0,
        ).fit(data.X, data.Y)
    return oracle.prices


def draw_problems(names: Sequence[str], count: int) -> list[Asked]:
    """Return problems drawn from fits of each population, alpha and rate, equally many from each.

    Half of the fits use least squares and half the default oracle, because fits with one oracle do
    not pose all the problems of the other.
    """
    fits = [
        (name, alpha, rate, (LEAST_SQUARES, DEFAULT)[place % 2])
        for place, (name, rate, alpha) in enumerate(product(names, RATES, ALPHAS))
    ]
    rng = np.random.default_rng(0)
    shares = [len(share) for share in np.array_split(np.arange(count), len(fits))]
    found = []
    for fit, prices, share in zip(fits, side_by_side(recorded_prices, fits), shares, strict=True):
        places = rng.choice(len(prices), share, replace=len(prices) < share)
        found += [Asked(fit[0], prices[place]) for place in places]
    return found


def costs_of(name: str, oracle: str, prices: Sequence[Prices]) -> list[NDArray[np.float64]]:
    """Return the avoidable cost of an oracle's answers to these problems of one population.

    Each problem has an array of shape (2, m): the cost of each task, and the task's whole |gap|.
    """
    found, problem = [], posed(oracle, name)
    sample = problem.sample
    answer = problem.oracle.bind(sample)
    for false_positive, false_negative in prices:
        costs = Costs(sample, false_positive, false_negative)
        gaps = costs.gaps()
        decided = np.asarray(answer(costs).decide(sample.features))
        found.append(np.array([avoidable_cost(gaps, decided), np.abs(gaps).sum(axis=0)]))
    return found


def avoidable_cost(gaps: NDArray[np.float64], decided: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return, for each task, the cost of decisions above the cheapest possible."""
    return np.where(decided != (gaps < 0), np.abs(gaps), 0.0).sum(axis=0)


def posed(oracle: str, name: str) -> Problem:
    """Return a population's problem with an oracle; features are mapped if the oracle has a map."""
    data = population(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tasks with a single label
        problem, _ = pose(
            data.X,
            data.Y,
            [],
            rate="error",
            oracle=ORACLES[oracle](),
            solver=ColumnGeneration(),
            random_state=0,
        )
        return problem


@dataclass(frozen=True)
class Costed:
    """The cost of an oracle's answers, and that of least squares' on the same problems.

    Attributes
    ----------
    whole, whole_base : array, shape (problems,)
        The oracle's and least squares' cost of all tasks together, as a share of their |gap|.
    task_excess : array
        The oracle's cost minus least squares' for each task of each problem, as a share of the
        task's |gap|.
    """

    whole: NDArray[np.float64]
    whole_base: NDArray[np.float64]
    task_excess: NDArray[np.float64]

    @classmethod
    def of(cls, own: Sequence[NDArray[np.float64]], base: Sequence[NDArray[np.float64]]) -> Costed:
        """Compare two lists from ``costs_of``."""
        whole, whole_base = (
            np.array([cost.sum() / gap.sum() for cost, gap in costs]) for costs in (own, base)
        )
        excess = [
            (mine - theirs) / np.where(gap > 0, gap, 1.0)
            for (mine, gap), (theirs, _) in zip(own, base, strict=True)
        ]
        return cls(whole, whole_base, np.concatenate(excess))

    @property
    def ratio(self) -> float:
        """The oracle's mean cost divided by least squares' mean cost."""
        return float(self.whole.mean() / self.whole_base.mean())

    @property
    def worst(self) -> float:
        """The largest excess over least squares on any task, or on all tasks of a problem."""
        return float(max(self.task_excess.max(), (self.whole - self.whole_base).max()))

    @property
    def dearer(self) -> float:
        """The share of tasks on which the oracle costs more than least squares."""
        return float((self.task_excess > ROUNDING).mean())


def compare(asked: Sequence[Asked], oracles: Sequence[str]) -> dict[str, dict[str, Costed]]:
    """Return the costs of each oracle on each population, compared with least squares."""
    by_population: dict[str, list[Prices]] = {}
    for one in asked:
        by_population.setdefault(one.population, []).append(one.prices)
    jobs = [(name, oracle, by_population[name]) for name in by_population for oracle in oracles]
    found = dict(zip([job[:2] for job in jobs], side_by_side(costs_of, jobs), strict=True))
    return {
        name: {
            oracle: Costed.of(found[name, oracle], found[name, LEAST_SQUARES]) for oracle in oracles
        }
        for name in by_population
    }


def pooled(parts: Sequence[Costed]) -> Costed:
    """Return the problems of several populations together."""
    return Costed(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("whole", "whole_base", "task_excess")
        )
    )


def report_costs(names: Sequence[str], problems: int = PROBLEMS) -> dict[str, Any]:
    """Print the cost of the linear oracles' answers; return the figures."""
    asked = draw_problems(names, problems)
    heading(
        "What answers cost, as a ratio to least squares",
        f"{len(asked)} problems of fits with alpha {', '.join(map(str, ALPHAS))}, rates "
        f"{' and '.join(RATES)}; cost above the cheapest decisions",
    )
    found = compare(asked, LINEAR)
    every = {oracle: pooled([found[name][oracle] for name in found]) for oracle in LINEAR}
    table(
        ["", *found, "all", "worst", "dearer tasks"],
        [
            [
                oracle,
                *(f"{found[name][oracle].ratio:.4f}" for name in found),
                f"{every[oracle].ratio:.4f}",
                f"{every[oracle].worst:+.1e}",
                f"{every[oracle].dearer:.1%}",
            ]
            for oracle in LINEAR
        ],
    )
    print(
        "worst: by how much more than least squares on any one problem, a task or all tasks of a\n"
        "population together, as a share of its whole |gap|. dearer tasks: where it costs more."
    )
    default = every[DEFAULT]
    verdict(
        f"default: mean cost at most {TARGET_RATIO} of least squares'",
        default.ratio <= TARGET_RATIO,
        f"{default.ratio:.4f}",
    )
    verdict(
        f"default: never dearer, by more than {ROUNDING:g} of a problem's |gap|",
        default.worst <= ROUNDING,
        f"at worst {default.worst:+.1e} over {len(default.task_excess):,} tasks",
    )
    return {
        "problems": len(asked),
        "ratio": {name: {own: found[name][own].ratio for own in LINEAR} for name in found},
        "all": {own: {"ratio": one.ratio, "worst": one.worst} for own, one in every.items()},
    }
