"""The worst-off: the people with the highest rates, a given share of everybody.

Their mean rate is the largest mean that any such share of the people has (the conditional value at
risk of the rates). It is a convex function of the rates, and `worst_off_weights` is a subgradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.people.backends import Space


def worst_off_weights(rates: Any, counts: Any, share: float) -> Any:
    """Return the weight g_i of each person in the mean rate of the worst-off: it is g . R.

    The weights add up to 1. A person who is only partly among the worst-off share counts in part.

    Parameters
    ----------
    rates : array, shape (n,), without NaN
    counts : array, shape (n,)
        How many people each person stands for.
    share : float in (0, 1]
        The share of the people who are the worst-off.

    Examples
    --------
    >>> worst_off_weights(np.array([0.1, 0.5, 0.3]), np.ones(3), 0.5)
    array([0.        , 0.66666667, 0.33333333])
    """
    xp = Space.of(rates).xp
    order = xp.argsort(rates, descending=True, stable=True)
    sorted_counts = xp.take(counts, order)
    wanted = share * float(xp.sum(counts))
    before = xp.cumulative_sum(sorted_counts) - sorted_counts
    taken = xp.minimum(xp.clip(wanted - before, min=0.0), sorted_counts)
    return xp.take(taken / wanted, xp.argsort(order))


def worst_off_mean(rates: FloatArray, counts: FloatArray | None, share: float) -> float:
    """Return the mean rate of the worst-off share; NaN if nobody has a rate.

    Parameters
    ----------
    rates : array, shape (n,)
        People whose rate is NaN are left out.
    counts : array, shape (n,), optional
        How many people each person stands for. Default: 1 each.
    share : float in (0, 1]

    Examples
    --------
    >>> worst_off_mean(np.array([0.1, 0.5, np.nan, 0.3]), None, 1 / 3)
    0.5
    """
    counts = np.ones(len(rates)) if counts is None else counts
    some = ~np.isnan(rates) & (counts > 0)
    if not some.any():
        return float("nan")
    rates, counts = rates[some], counts[some]
    return float(worst_off_weights(rates, counts, share) @ rates)
