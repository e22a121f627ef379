"""What two promises cost at equal gain for the worst-off, with intervals over splits.

A promise's *cost* is the change of the error. Its *gain* is the fall of the worst-off tenth's
mean rate. The points of a promise, from the weakest setting to the strongest, make a curve. The
curve begins at cost 0 and gain 0. Between two points it is a straight line. A user who chooses one
of the two models at random pays that cost and gains at least as much.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

FloatArray = NDArray[np.float64]
LEVEL = 0.95
RESAMPLES = 4000
FACTOR = 0.5
"""The claim: a promise costs at most this fraction of what equal rates cost."""


class Estimate(NamedTuple):
    """A mean over splits, and half the width of its 95% interval (NaN for a single split)."""

    mean: float
    margin: float
    splits: int


def estimate(values: ArrayLike) -> Estimate:
    """Return the mean over splits with Student's t interval.

    Parameters
    ----------
    values : array-like, shape (splits,)

    Examples
    --------
    >>> found = estimate([1.0, 2.0, 3.0])
    >>> found.mean, round(found.margin, 2)
    (2.0, 2.48)
    """
    own = np.asarray(values, dtype=float)
    if len(own) < 2:
        return Estimate(float(own.mean()), np.nan, len(own))
    quantile = student.ppf((1 + LEVEL) / 2, len(own) - 1)
    margin = quantile * own.std(ddof=1) / np.sqrt(len(own))
    return Estimate(float(own.mean()), float(margin), len(own))


def cost_at(gain: ArrayLike, costs: ArrayLike, gains: ArrayLike) -> FloatArray:
    """Return the least cost at which a curve has a gain; infinity if it never has.

    Parameters
    ----------
    gain : array-like, shape (...)
    costs, gains : array-like, shape (..., settings)
        The curve's points, from the weakest setting on. The curve begins at cost 0 and gain 0.

    Examples
    --------
    >>> float(cost_at(0.5, costs=[1.0, 3.0], gains=[1.0, 0.5]))
    0.5
    >>> float(cost_at(2.0, costs=[1.0, 3.0], gains=[1.0, 0.5]))
    inf
    """
    wanted = np.asarray(gain, dtype=float)[..., None]
    cost, level = (_from_zero(np.asarray(values, dtype=float)) for values in (costs, gains))
    low, rise = level[..., :-1], np.diff(level)
    crossed = (np.minimum(low, low + rise) <= wanted) & (wanted <= np.maximum(low, low + rise))
    part = np.divide(wanted - low, rise, out=np.zeros_like(low + wanted), where=rise != 0)
    there = cost[..., :-1] + part * np.diff(cost)
    return np.where(crossed, there, np.inf).min(axis=-1)


def _from_zero(values: FloatArray) -> FloatArray:
    return np.concatenate([np.zeros_like(values[..., :1]), values], axis=-1)


class Comparison(NamedTuple):
    """One setting of a promise against equal rates at the same gain.

    Attributes
    ----------
    gain, cost : Estimate
        Of the promise.
    equal_cost : float
        What equal rates cost at this gain, on the mean curve; infinity if they never reach it.
    excess : float
        The cost minus half of ``equal_cost``: at most 0 if the claim holds.
    low, high : float
        The 95% bootstrap interval of ``excess`` over splits.
    never : float
        The share of bootstrap samples in which equal rates never reach the gain.
    splits_met : int
        In how many splits the claim holds on the split's own curve, with a gain above 0.
    """

    gain: Estimate
    cost: Estimate
    equal_cost: float
    excess: float
    low: float
    high: float
    never: float
    splits_met: int

    @property
    def verdict(self) -> str:
        """Whether the claim holds: yes, no, inconclusive, or no gain to compare at."""
        if self.gain.mean <= 0:
            return "no gain"
        if self.gain.splits < 2:
            return "one split"
        if self.high <= 0:
            return "yes"
        return "no" if self.low > 0 else "inconclusive"


def compare(
    cost: FloatArray, gain: FloatArray, equal_costs: FloatArray, equal_gains: FloatArray
) -> Comparison:
    """Compare one setting of a promise with equal rates, on the same splits.

    Parameters
    ----------
    cost, gain : float array, shape (splits,)
        Of the promise.
    equal_costs, equal_gains : float array, shape (splits, settings)
        Of equal rates, from the weakest setting on.
    """

    def excess(cost: Any, gain: Any, costs: Any, gains: Any) -> tuple[FloatArray, FloatArray]:
        equal = cost_at(gain, costs, gains)
        # Without a gain there is nothing to compare, so the claim does not hold.
        return np.where(gain > 0, cost - FACTOR * equal, np.inf), equal

    parts = (cost, gain, equal_costs, equal_gains)
    over, equal = excess(*(part.mean(axis=0) for part in parts))
    # The same splits are drawn for both promises, so differences between splits cancel.
    drawn = np.random.default_rng(0).integers(len(cost), size=(RESAMPLES, len(cost)))
    overs, equals = excess(*(part[drawn].mean(axis=1) for part in parts))
    # Some values may be infinite, so quantiles must not interpolate.
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = np.quantile(overs, tails, method="inverted_cdf")
    return Comparison(
        gain=estimate(gain),
        cost=estimate(cost),
        equal_cost=float(equal),
        excess=float(over),
        low=float(low),
        high=float(high),
        never=float(np.isinf(equals).mean()),
        splits_met=int((excess(*parts)[0] <= 0).sum()),
    )
