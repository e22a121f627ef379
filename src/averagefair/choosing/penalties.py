"""What a choice costs: its error, the prices of limits, and a penalty where a limit is broken.

Every limit of a program is a sum of hinges over people once its levels are fixed: the common rate
gamma of equal rates, and the rate t at which the worst-off share begins. Each sweep of the search
begins with levels that suit the rates so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.game.limits import Limit, PersonLimit, Program, WorstOffLimit
from averagefair.game.promises import ROUNDING, Promise

# By how much a person's weight grows in a sweep that leaves them outside, and falls in another.
_MORE, _LESS, _MOST_EMPHASIS = 1.3, 1.3**-0.5, 8.0
# Larger prices decide just as this one does. Sums over people stay finite in single precision.
_LARGEST_WEIGHT = 1e25


class Score(NamedTuple):
    """How a choice stands; less is better, and ``broken`` comes first.

    Attributes
    ----------
    broken : float
        By how much limits are broken, on average over people; 0 if the promise is kept.
    objective : float
        The error, plus what limits with a price cost.
    """

    broken: float
    objective: float


@dataclass(frozen=True, eq=False)
class _Hinge:
    """weights . max(0, R - upper, lower - R), or the part of it above ``free``.

    Attributes
    ----------
    weights : array, shape (N,)
    upper, lower : arrays of shape (N,), or None
    free : float
        Subtracted from the sum, which then counts only if it is positive. -inf: nothing is.
    hard : bool
        Whether the sum is a violation, multiplied by the search's penalty.
    zero : array, shape ()
    """

    weights: Any
    upper: Any
    lower: Any
    free: float
    hard: bool
    zero: Any

    def cost(self, rates: Any, xp: Any) -> Any:
        over = rates - self.upper
        if self.lower is not None:
            over = xp.maximum(over, self.lower - rates)
        total = xp.maximum(over, self.zero) @ self.weights
        return total if self.free == -np.inf else xp.maximum(total - self.free, self.zero)


class Penalties:
    """The penalties of a program's limits.

    Parameters
    ----------
    promise : Promise
    program : Program
        With the people who are exempt.
    """

    def __init__(self, promise: Promise, program: Program) -> None:
        self.promise, self.program = promise, program
        self.constraints = program.constraints
        self._space = program.constraints.space
        self._emphasis = np.ones(len(program.constraints))
        self._shares = program.constraints.multiplicities / max(
            1e-300, program.constraints.multiplicities.sum()
        )

    def score(self, error: float, rates: Any) -> Score:
        """Return the exact score of a choice.

        With beta, the exempt people are those beyond the narrowest window of these rates.

        Parameters
        ----------
        error : float
        rates : array, shape (N,)
        """
        program, common = self.program_at(rates), self.common_rates(rates)
        broken = 0.0
        if program.violation(rates, common) > ROUNDING:
            broken = sum(self._broken(limit, rates, common) for limit in program.limits)
        return Score(broken, error + program.cost(rates, common))

    def program_at(self, rates: Any) -> Program:
        """Return the program with the exempt people chosen for these rates."""
        if not self.promise.exempt_share:
            return self.program
        return self.program.exempting(self.promise.beyond(self.constraints, rates))

    def common_rates(self, rates: Any) -> FloatArray:
        """Return the common rates at which the limits are broken least, shape (rates,)."""
        own = self.program.limits[0]
        if not isinstance(own, PersonLimit) or not own.common:
            return np.zeros(self.constraints.rate_count)
        exempt = None
        if self.promise.exempt_share:
            exempt = self.promise.beyond(self.constraints, rates)
        on_host, slack = self._space.to_host(rates), float(own.upper)
        levels = np.full(self.constraints.rate_count, 0.5)
        for number, rate in enumerate(self.constraints.slices):
            values, weights = on_host[rate], self.constraints.multiplicities[rate]
            if exempt is not None:
                values, weights = values[~exempt[rate]], weights[~exempt[rate]]
            if len(values):
                levels[number] = _middle(values, weights, slack)
        out: FloatArray = np.clip(levels, 0.0, 1.0)
        return out

    def emphasise(self, rates: Any) -> None:
        """Weigh people more who stay outside their limits, and others less.

        Parameters
        ----------
        rates : array, shape (N,)
        """
        program, common = self.program_at(rates), self.common_rates(rates)
        outside = np.zeros(len(self.constraints), dtype=bool)
        for limit in program.limits:
            if isinstance(limit, PersonLimit) and limit.prices is None:
                outside |= self._space.to_host(limit.excess(rates, common)) > ROUNDING
        changed = self._emphasis * np.where(outside, _MORE, _LESS)
        self._emphasis = np.clip(changed, 1.0, _MOST_EMPHASIS)

    def _broken(self, limit: Limit, rates: Any, common: FloatArray) -> float:
        if isinstance(limit, WorstOffLimit):
            return limit.violation(rates, common)
        assert isinstance(limit, PersonLimit)
        if limit.prices is not None:
            return 0.0
        over = self._space.to_host(limit.excess(rates, common))
        return float(self._shares @ np.where(over > ROUNDING, over, 0.0))

    def hinges(self, rates: Any, dtype: str) -> list[_Hinge]:
        """Return the limits as hinges, with levels that suit these rates.

        Parameters
        ----------
        rates : array, shape (N,)
        dtype : str
            Type of the hinges' arrays.
        """
        program, common = self.program_at(rates), self.common_rates(rates)
        out: list[_Hinge] = []
        for limit in program.limits:
            if isinstance(limit, PersonLimit):
                out.append(self._person_hinge(limit, common, dtype))
            elif isinstance(limit, WorstOffLimit):
                out += self._worst_off_hinges(limit, rates, dtype)
        return out

    def _person_hinge(self, limit: PersonLimit, common: FloatArray, dtype: str) -> _Hinge:
        size = len(self.constraints)
        level = np.zeros(size)
        if limit.common:
            level = common[self.constraints.rate_of]
        upper = np.broadcast_to(limit.upper, size) + level + 0.5 * ROUNDING
        lower = np.broadcast_to(limit.lower, size) + level - 0.5 * ROUNDING
        if limit.exempt is not None:
            upper, lower = np.where(limit.exempt, 2.0, upper), np.where(limit.exempt, -1.0, lower)
        weights = self._shares * self._emphasis if limit.prices is None else limit.prices
        asarray = self._space.asarray
        return _Hinge(
            weights=asarray(np.minimum(weights, _LARGEST_WEIGHT), dtype),
            upper=asarray(upper, dtype),
            lower=asarray(lower, dtype) if limit.two_sided else None,
            free=-np.inf,
            hard=limit.prices is None,
            zero=asarray(np.zeros(()), dtype),
        )

    def _worst_off_hinges(self, limit: WorstOffLimit, rates: Any, dtype: str) -> list[_Hinge]:
        """Return max(0, t + sum of c (R - t)+ / (share n) - top) at the best t, for each rate."""
        on_host, out = self._space.to_host(rates), []
        zero = self._space.asarray(np.zeros(()), dtype)
        for rate in self.constraints.slices:
            if rate.stop == rate.start:
                continue
            counts = self.constraints.multiplicities[rate]
            people = limit.share * counts.sum()
            order = np.argsort(-on_host[rate], kind="stable")
            first = int(np.searchsorted(np.cumsum(counts[order]), people * (1.0 - 1e-12)))
            level = float(on_host[rate][order[min(first, len(order) - 1)]])
            weights = np.zeros(len(self.constraints))
            weights[rate] = counts / people
            upper = self._space.asarray(np.full(len(weights), level), dtype)
            if limit.price:
                priced = self._space.asarray(limit.price * weights, dtype)
                out.append(_Hinge(priced, upper, None, -np.inf, hard=False, zero=zero))
            else:
                own = self._space.asarray(weights, dtype)
                out.append(_Hinge(own, upper, None, limit.top - level, hard=True, zero=zero))
        return out


def _middle(values: FloatArray, weights: FloatArray, slack: float) -> float:
    """Return the level whose window of half-width ``slack`` is left least: a weighted median."""
    ends = np.concatenate([values - slack, values + slack])
    order = np.argsort(ends, kind="stable")
    ends, total = ends[order], np.cumsum(np.tile(weights, 2)[order])
    half = 0.5 * total[-1]
    low = int(np.searchsorted(total, half * (1.0 - 1e-12)))
    high = int(np.searchsorted(total, half * (1.0 + 1e-12), side="right"))
    return 0.5 * float(ends[low] + ends[min(high, len(ends) - 1)])
