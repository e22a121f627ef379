"""What classifiers reach on the training sample: by the decisions made, or over all draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.game.learner import Learner
from averagefair.game.limits import PersonLimit
from averagefair.game.measure import Measurement
from averagefair.game.mixture import Mixture
from averagefair.game.solution import Solution
from averagefair.game.windows import common_rate
from averagefair.people.backends import Space
from averagefair.people.draws import person_keys, task_keys, uniform
from averagefair.people.parts import Part

# One draw of more decisions than this is not measured: it would take longer than a fit's rounds.
_MOST_DECISIONS = 5e7


@dataclass(frozen=True)
class Reach:
    """What classifiers reach on the training sample.

    Attributes
    ----------
    error, reached, deviation, spread, outside, harm : float
        As in a :class:`~averagefair.Certificate`.
    """

    error: float
    reached: float
    deviation: float
    spread: float
    outside: float
    harm: float

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any] | None) -> Reach | None:
        """Return the figures that :meth:`to_dict` wrote, with NaN for None.

        Parameters
        ----------
        facts : mapping, or None
        """
        if facts is None:
            return None
        known = {name: float("nan") if value is None else value for name, value in facts.items()}
        return cls(**known)


def measure_reach(
    learner: Learner, solution: Solution, measured: Measurement, common: FloatArray
) -> Reach:
    """Return what a measurement reaches.

    Parameters
    ----------
    learner : Learner
    solution : Solution
        Its promise and program are used.
    measured : Measurement
        Of the training sample.
    common : array, shape (rates,)
        The common rates.
    """
    constraints, promise, program = learner.constraints, solution.promise, solution.program
    rates, harm = learner.gather(measured.rates), float("nan")
    if promise.no_harm is not None:
        harm = program.limits[1].violation(rates, common)
    return Reach(
        error=measured.error,
        reached=promise.reached(constraints, rates),
        deviation=constraints.deviation(rates, common) if program.common else float("nan"),
        spread=constraints.spread(rates),
        outside=promise.outside(constraints, rates, solution.aim),
        harm=harm,
    )


def best_common_rates(learner: Learner, solution: Solution, rates: Any) -> FloatArray:
    """Return the common rates of given rates, shape (rates,): the middle of the fullest windows.

    Where everybody can be inside, this is the middle of the smallest and the largest rate.

    Parameters
    ----------
    learner : Learner
    solution : Solution
    rates : array, shape (N,)
    """
    constraints, own = learner.constraints, solution.program.limits[0]
    if not solution.program.common:
        return solution.common_rates
    assert isinstance(own, PersonLimit)
    slack, middles = float(own.upper), constraints.middle(rates)
    if constraints.spread(rates) <= 2.0 * slack or not len(constraints):
        return middles
    on_host = constraints.space.to_host(rates)
    each = []
    for number, rate in enumerate(constraints.slices):
        # Each person counts once, whatever their weight: the figure is for display.
        values = np.sort(on_host[rate])
        each.append(common_rate(values, slack) if values.size else middles[number])
    return np.array(each)


def one_draw(
    learner: Learner, solution: Solution, mixture: Mixture, average: Reach
) -> tuple[float, Reach | None]:
    """Return the share of decisions that are drawn, and what one draw of them reaches.

    Parameters
    ----------
    learner : Learner
    solution : Solution
    mixture : Mixture
    average : Reach
        What the mixture reaches on average over draws.
    """
    sample = learner.sample
    decide = _Draw(mixture)
    drawn = sum(sample.collect(_drawn_cells, decide=decide))
    share = float(drawn) / max(1, sample.n * sample.m)
    if share == 0.0:
        return share, average
    if float(sample.n) * sample.m > _MOST_DECISIONS:
        return share, None
    measured = learner.meter(decide)
    common = best_common_rates(learner, solution, learner.gather(measured.rates))
    return share, measure_reach(learner, solution, measured, common)


@dataclass(frozen=True, eq=False)
class _Draw:
    """One draw for each person and task, by the person's features; can be pickled."""

    mixture: Mixture

    def __call__(self, features: Any) -> Any:
        space = Space.of(features)
        chances = space.to_host(self.mixture.chances(features))
        people = person_keys(np.asarray(space.to_host(features), dtype=np.float64))
        draws = uniform(self.mixture.seed, people, task_keys(self.mixture.task_names))
        return space.asarray(draws < chances)


def _drawn_cells(part: Part, *, decide: _Draw) -> int:
    """Return how many decisions about a part of the people have a chance between 0 and 1."""
    total = 0
    for rows in part.blocks(part.signs.shape[1]):
        chances = decide.mixture.chances(part.features[rows, :])
        xp = part.space.xp
        total += int(xp.sum(xp.astype((chances > 0.0) & (chances < 1.0), xp.int32)))
    return total
