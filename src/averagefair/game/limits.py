"""Limits: the linear parts that promises are made of.

The fair learning problem is a linear program for every promise that is linear in people's rates.
A promise is one or two limits. There are two kinds:

* :class:`PersonLimit` bounds each person's rate: around a common rate (the paper's promise), or
  from above (a cap, no harm).
* :class:`WorstOffLimit` bounds or prices the mean rate of the worst-off share.

Each limit knows its rows in the linear program, its term in the Lagrangian, and its Auditor. The
Lagrangian at multipliers lambda is err + sum of w . R - offset(lambda), where w are the weights of
all limits' multipliers added up. Solvers read limits and never need to know the promise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.auditor import Auditor, OneSidedAuditor, TwoSidedAuditor, WorstOffAuditor
from averagefair.game.constraints import Constraints
from averagefair.game.worst_off import worst_off_weights
from averagefair.people.backends import total_size

EXCESS_PRICE = 1000.0
"""What it costs to break a relaxed limit by 1.

It must exceed the sum of an optimum's multipliers. It does, if the limit could be tightened by
1 / 1000 and still be kept: errors differ by less than 1, so a point of slack is worth less than
1000 points of error."""
MOST_MULTIPLIERS = 1e6
"""The largest sum of multipliers at which an exact oracle still sees differences of about 1e-6."""
# Multipliers may break a bound by this share of it, through rounding.
_ROUNDING = 1e-9


class Limit(ABC):
    """One family of linear inequalities on people's rates.

    Vectors over the constraints are in the sample's space; figures in NumPy.

    Attributes
    ----------
    constraints : Constraints
    relaxed : bool
        Whether the linear program may break the limit at a very high price, ``EXCESS_PRICE``. It
        does so only if the limit cannot be kept.
    """

    constraints: Constraints
    relaxed: bool

    @abstractmethod
    def offset(self, weights: Any) -> float:
        """Return what the Lagrangian subtracts at these weights, for the best level.

        Infinite if the limit does not allow such weights.

        Parameters
        ----------
        weights : array, shape (N,)
            The limit's own multipliers, signed.
        """

    @abstractmethod
    def payoff(self, multipliers: Any, rates: Any, common_rates: FloatArray) -> float:
        """Return lambda . r, what the Auditor gets for these rates.

        Parameters
        ----------
        multipliers : array
            As the Auditor of this limit returns them.
        rates : array, shape (N,)
        common_rates : array, shape (rates,)
        """

    @abstractmethod
    def violation(self, rates: Any, common_rates: FloatArray) -> float:
        """Return by how much the limit is broken; 0 if it is kept.

        Parameters
        ----------
        rates : array, shape (N,)
        common_rates : array, shape (rates,)
        """

    @abstractmethod
    def cost(self, rates: Any, common_rates: FloatArray) -> float:
        """Return what these rates cost, for a limit that has a price; else 0.

        Parameters
        ----------
        rates : array, shape (N,)
        common_rates : array, shape (rates,)
        """

    @abstractmethod
    def auditor(self, dual_bound: float) -> Auditor:
        """Return the limit's Auditor.

        Parameters
        ----------
        dual_bound : float
            B, the largest sum of the multipliers.
        """

    def weights(self, multipliers: Any) -> Any:
        """Return the weights w of an Auditor's multipliers, shape (N,)."""
        return multipliers

    def clip(self, weights: Any) -> Any:
        """Return the weights without what rounding put outside the limit's bounds."""
        return weights


@dataclass(frozen=True, eq=False)
class PersonLimit(Limit):
    """``lower_i <= R_i - gamma <= upper_i`` for each person, or without gamma.

    Attributes
    ----------
    constraints : Constraints
    upper, lower : float, or arrays of shape (N,) in NumPy
        ``lower`` is -inf for a cap.
    common : bool
        Whether rates are compared with a common rate gamma in [0, 1]. Then the bounds are -slack
        and slack.
    prices : array, shape (N,), optional
        What it costs to break each person's limit by 1. Default: the limit must hold.
    exempt : bool array, shape (N,), optional
        People who need not keep the limit.
    relaxed : bool, or bool array of shape (N,)
    """

    constraints: Constraints
    upper: float | FloatArray
    lower: float | FloatArray = -np.inf
    common: bool = False
    prices: FloatArray | None = None
    exempt: NDArray[np.bool_] | None = None
    relaxed: bool | NDArray[np.bool_] = False  # type: ignore[assignment]

    @property
    def two_sided(self) -> bool:
        """Whether rates may also be too low."""
        return bool(np.any(np.isfinite(self.lower)))

    @cached_property
    def _upper(self) -> Any:
        return self._in_space(self.upper)

    @cached_property
    def _lower(self) -> Any:
        return self._in_space(self.lower)

    def _in_space(self, bound: float | FloatArray) -> Any:
        return bound if isinstance(bound, float) else self.constraints.space.asarray(bound)

    def bounds(self, people: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper bounds of these constraints' rows; none for the exempt."""
        shape = len(self.constraints)
        lower = np.broadcast_to(self.lower, shape)[people].astype(np.float64)
        upper = np.broadcast_to(self.upper, shape)[people].astype(np.float64)
        if self.exempt is not None:
            lower[self.exempt[people]], upper[self.exempt[people]] = -np.inf, np.inf
        return lower, upper

    def off(self, rates: Any, common_rates: FloatArray) -> Any:
        """Return what is bounded: R - gamma, or R."""
        return rates - self.constraints.expand(common_rates) if self.common else rates

    def excess(self, rates: Any, common_rates: FloatArray) -> Any:
        """Return by how much each person breaks the limit, shape (N,); negative if they keep it."""
        space, off = self.constraints.space, self.off(rates, common_rates)
        over = off - self._upper
        if self.two_sided:
            over = space.xp.maximum(over, self._lower - off)
        if self.exempt is not None:
            over = space.xp.where(space.asarray(self.exempt), -np.inf, over)
        return over

    def offset(self, weights: Any) -> float:
        """Return sum(upper w+) + sum(-lower w-), plus the largest w . gamma."""
        xp = self.constraints.space.xp
        if self.common:
            levels = float(np.maximum(0.0, self.constraints.add_up(weights)).sum())
            return levels + float(self.upper) * total_size(weights)
        if weights.shape[0] and float(xp.min(weights)) < 0.0:
            return float("inf")
        return float(xp.sum(weights * self._upper))

    def payoff(self, multipliers: Any, rates: Any, common_rates: FloatArray) -> float:
        """Return lambda . r; see :class:`Limit`."""
        weights, off = self.weights(multipliers), self.off(rates, common_rates)
        if self.common:
            slack = float(self.upper)
            return float(weights @ off) - slack * total_size(multipliers)
        return float(weights @ (off - self._upper))

    def violation(self, rates: Any, common_rates: FloatArray) -> float:
        """Return the largest excess; 0 if violations have a price."""
        if self.prices is not None or not len(self.constraints):
            return 0.0
        return max(0.0, float(self.constraints.space.xp.max(self.excess(rates, common_rates))))

    def cost(self, rates: Any, common_rates: FloatArray) -> float:
        """Return the price of all violations."""
        if self.prices is None:
            return 0.0
        space = self.constraints.space
        over = space.xp.clip(self.excess(rates, common_rates), min=0.0)
        return float(space.asarray(self.prices) @ over)

    def auditor(self, dual_bound: float) -> Auditor:
        """Return the paper's Auditor around a common rate, else a one-sided one."""
        counts = self.constraints.counts
        if self.common:
            return TwoSidedAuditor(counts, float(self.upper), dual_bound)
        return OneSidedAuditor(counts, self._upper, dual_bound)

    def weights(self, multipliers: Any) -> Any:
        """Return w = lambda+ - lambda-, or lambda of a one-sided limit."""
        return multipliers[0, :] - multipliers[1, :] if self.common else multipliers

    def clip(self, weights: Any) -> Any:
        """Return weights of the right sign, within the prices, and 0 for exempt people."""
        space = self.constraints.space
        if not self.common:
            weights = space.xp.clip(weights, min=0.0)
        if self.exempt is not None:
            weights = space.xp.where(space.asarray(self.exempt), 0.0, weights)
        if self.prices is not None:
            limits = space.asarray(self.prices)
            weights = space.xp.clip(weights, -limits, limits)
        return weights

    def exempting(self, exempt: NDArray[np.bool_] | None) -> PersonLimit:
        """Return the same limit with these people exempt."""
        return replace(self, exempt=exempt)

    def priced(self, influence: float, people: float) -> PersonLimit:
        """Return the same limit at a price: nobody's multiplier exceeds ``influence / people``.

        A price that the limit has already stays if it is lower.

        Parameters
        ----------
        influence : float
        people : float
            The number of people, with or without a constraint.
        """
        prices = influence * self.constraints.multiplicities / people
        if self.prices is not None:
            prices = np.minimum(prices, self.prices)
        return replace(self, prices=prices, relaxed=False)


@dataclass(frozen=True, eq=False)
class WorstOffLimit(Limit):
    """The mean rate of the worst-off share: at most ``top``, at a price for each point of it.

    The mean is the largest g . R over all weights g with 0 <= g_i <= count_i / (share * people)
    that add up to 1. So each g gives one row of the linear program, and the multipliers are
    combinations of such g. With several rates, each rate has its own worst-off.

    Attributes
    ----------
    constraints : Constraints
    share : float in (0, 1)
    top : float
        The highest mean rate allowed; 1 if it only has a price.
    price : float
        What a mean rate of 1 costs.
    relaxed : bool
    """

    constraints: Constraints
    share: float
    top: float = 1.0
    price: float = 0.0
    relaxed: bool = False

    def cuts(self, rates: Any) -> list[Any]:
        """Return for each rate the weights g of its worst-off, shape (N,); 0 on other rates."""
        space = self.constraints.space
        out = []
        for rate in self.constraints.slices:
            cut = space.zeros(len(self.constraints))
            if rate.stop > rate.start:
                cut[rate] = worst_off_weights(
                    rates[rate], self.constraints.counts[rate], self.share
                )
            out.append(cut)
        return out

    def means(self, rates: Any) -> FloatArray:
        """Return the mean rate of the worst-off for each rate, shape (rates,)."""
        return np.array([float(cut @ rates) for cut in self.cuts(rates)])

    def offset(self, weights: Any) -> float:
        """Return top times what the sum of the multipliers must exceed the price by."""
        space = self.constraints.space
        if weights.shape[0] and float(space.xp.min(weights)) < 0.0:
            return float("inf")
        total = 0.0
        for rate in self.constraints.slices:
            if rate.stop == rate.start:
                continue
            own, counts = weights[rate], self.constraints.counts[rate]
            people = self.share * float(space.xp.sum(counts))
            needed = max(float(space.xp.sum(own)), float(space.xp.max(own / counts)) * people)
            beyond = needed - self.price
            total += self.top * beyond if beyond > _ROUNDING * needed else 0.0
        return total

    def payoff(self, multipliers: Any, rates: Any, common_rates: FloatArray) -> float:
        """Return lambda . R, less ``top`` times the sum if the mean is bounded."""
        paid = float(multipliers @ rates)
        if self.price:
            return paid
        return paid - self.top * float(self.constraints.space.xp.sum(multipliers))

    def violation(self, rates: Any, common_rates: FloatArray) -> float:
        """Return by how much the worst-off's mean rate exceeds ``top``."""
        return max(0.0, float((self.means(rates) - self.top).max(initial=0.0)))

    def cost(self, rates: Any, common_rates: FloatArray) -> float:
        """Return the price of the worst-off's mean rate."""
        return self.price * float(self.means(rates).sum()) if self.price else 0.0

    def auditor(self, dual_bound: float) -> Auditor:
        """Return an Auditor for each rate, side by side."""
        counts = self.constraints.counts
        price, top = (self.price, None) if self.price else (None, self.top)
        each = [
            WorstOffAuditor(
                counts[rate], self.share, price=price, max_rate=top, dual_bound=dual_bound
            )
            for rate in self.constraints.slices
        ]
        return _SideBySide(each, self.constraints)

    def clip(self, weights: Any) -> Any:
        """Return weights that are not negative."""
        return self.constraints.space.xp.clip(weights, min=0.0)


class _SideBySide:
    """One Auditor for each rate."""

    def __init__(self, each: list[WorstOffAuditor], constraints: Constraints) -> None:
        self.each, self.constraints = each, constraints

    def multipliers(self) -> Any:
        return self.constraints.space.xp.concat([own.multipliers() for own in self.each])

    def update(self, rates: Any, common_rate: Any, step: float) -> None:
        for rate, own in zip(self.constraints.slices, self.each, strict=True):
            own.update(rates[rate], common_rate, step)


@dataclass(frozen=True, eq=False)
class Program:
    """The fair learning problem of a promise: its limits, on given constraints.

    A *dual point* is an array of shape (limits, N): the signed multipliers of each limit.

    Attributes
    ----------
    constraints : Constraints
    limits : tuple of Limit
        The promise's own limit, and no harm if it was asked for.
    final : bool
        False for a program whose solution only tells the bounds of the next one.
    excess_price : float
        What it costs to break the relaxed limits by 1.
    """

    constraints: Constraints
    limits: tuple[Limit, ...]
    final: bool = True
    excess_price: float = EXCESS_PRICE

    @property
    def common(self) -> bool:
        """Whether there is a common rate."""
        own = self.limits[0]
        return isinstance(own, PersonLimit) and own.common

    @property
    def relaxed(self) -> bool:
        """Whether the linear program may break a limit at a very high price."""
        return any(np.any(limit.relaxed) for limit in self.limits)

    def weights(self, point: Any) -> Any:
        """Return the weights w of a dual point, shape (N,)."""
        if len(self.limits) == 1:
            return point[0, :]
        return self.constraints.space.xp.sum(point, axis=0)

    def offset(self, point: Any) -> float:
        """Return what the Lagrangian subtracts at a dual point.

        Infinite if the multipliers add up to more than ``MOST_MULTIPLIERS``: oracles take costs
        within a share of 1e-12 for a tie, so the Lagrangian would prove nothing.
        """
        if total_size(point) > MOST_MULTIPLIERS:
            return float("inf")
        return sum(limit.offset(point[k, :]) for k, limit in enumerate(self.limits))

    def zero(self) -> Any:
        """Return the dual point without weights."""
        return self.constraints.space.zeros((len(self.limits), len(self.constraints)))

    def clip(self, point: Any) -> Any:
        """Return a dual point that the limits allow, but for rounding the same."""
        parts = [limit.clip(point[k, :]) for k, limit in enumerate(self.limits)]
        return self.constraints.space.xp.stack(parts)

    def cost(self, rates: Any, common_rates: FloatArray) -> float:
        """Return what the rates cost beside the error, where a limit has a price."""
        return sum(limit.cost(rates, common_rates) for limit in self.limits)

    def violation(self, rates: Any, common_rates: FloatArray) -> float:
        """Return by how much the worst limit is broken."""
        return max(limit.violation(rates, common_rates) for limit in self.limits)

    def payoff(self, multipliers: Sequence[Any], rates: Any, common_rates: FloatArray) -> float:
        """Return lambda . r, what the Auditors of all limits get for these rates."""
        pairs = zip(self.limits, multipliers, strict=True)
        return sum(limit.payoff(own, rates, common_rates) for limit, own in pairs)

    def upper(self, error: float, rates: Any, common_rates: FloatArray, bound: float) -> float:
        """Return the objective plus ``bound`` times each limit's violation: at least OPT.

        This holds if some optimal multipliers of each limit add up to at most ``bound``.
        """
        broken = sum(limit.violation(rates, common_rates) for limit in self.limits)
        return error + self.cost(rates, common_rates) + bound * broken

    def exempting(self, exempt: NDArray[np.bool_]) -> Program:
        """Return the same program with people exempt from the promise's own limit."""
        own, *others = self.limits
        if not isinstance(own, PersonLimit) or not exempt.any():
            return self
        return replace(self, limits=(own.exempting(exempt), *others))

    def priced(self, influence: float, people: float) -> Program:
        """Return the same program, with limits that may be left at a price.

        Nobody's multiplier then exceeds ``influence / people`` in any limit.

        Parameters
        ----------
        influence : float
        people : float
            The number of people, with or without a constraint.
        """
        limits: list[Limit] = []
        excess_price = self.excess_price
        for limit in self.limits:
            if isinstance(limit, PersonLimit):
                limits.append(limit.priced(influence, people))
            else:
                limits.append(limit)
                if isinstance(limit, WorstOffLimit) and limit.relaxed:
                    # The multipliers of the worst-off share add up to at most this.
                    excess_price = influence * limit.share
        return replace(self, limits=tuple(limits), excess_price=excess_price, final=True)
