"""What is measured on a corner: the error, and how the individual error rates are distributed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

TENTH, DRAWS = 0.1, 10
NOTICEABLE = 0.01
"""A person is better or worse off if the rate changes by more than this."""

CORNERS = {
    "training": "training people, learned tasks",
    "people": "new people, learned tasks",
    "tasks": "training people, fresh tasks",
    "both": "new people, fresh tasks",
}


def worst_off(rates: ArrayLike, share: float = TENTH) -> float:
    """Return the mean of the largest rates, over exactly this share of the people.

    If the share is not a whole number of people, the last person counts in part.

    Parameters
    ----------
    rates : array-like, shape (n,)
        NaN where undefined.
    share : float in (0, 1], default 0.1

    Examples
    --------
    >>> worst_off([0.1, 0.5, 0.2, 0.4], share=0.5)
    0.45
    >>> round(worst_off([0.1, 0.5, 0.2, 0.4], share=0.375), 4)
    0.4667
    """
    values = np.asarray(rates, dtype=float)
    ordered = np.sort(values[~np.isnan(values)])[::-1]
    people = share * len(ordered)
    weights = np.clip(people - np.arange(len(ordered)), 0.0, 1.0)
    return float(weights @ ordered / people)


def best_off(rates: ArrayLike, share: float = TENTH) -> float:
    """Return the mean of the smallest rates, over exactly this share of the people.

    Parameters
    ----------
    rates, share
        As for :func:`worst_off`.
    """
    return -worst_off(-np.asarray(rates, dtype=float), share)


class Measured(NamedTuple):
    """What is measured on a corner.

    Attributes
    ----------
    error : float
    rates : array, shape (n,)
        Individual error rates, averages over the draws of a mixture.
    drawn : float
        The worst-off tenth's mean rate by the decisions drawn, a mean over ``DRAWS`` draws. A
        mixture's averages scatter less than decisions do, so the averages alone flatter it.
    """

    error: float
    rates: NDArray[np.float64]
    drawn: float


def drawn_worst_off(wrong: NDArray[np.float64], observed: NDArray[np.bool_], seed: int) -> float:
    """Return the worst-off tenth's mean rate by the decisions drawn.

    Parameters
    ----------
    wrong : array, shape (n, m)
        The chance that each decision is wrong.
    observed : bool array, shape (n, m)
        Where the label is known.
    seed : int
    """
    rng, counts = np.random.default_rng(seed), observed.sum(axis=1)
    counts = np.where(counts > 0, counts, np.nan)
    draws = (observed & (rng.random(wrong.shape) < wrong) for _ in range(DRAWS))
    return float(np.mean([worst_off(mistakes.sum(axis=1) / counts) for mistakes in draws]))


def summary(error: float, rates: NDArray[np.float64], drawn: float) -> dict[str, float]:
    """Return the error, the mean rates of the two ends, and the median rate."""
    return {
        "error": float(error),
        "worst_off": worst_off(rates),
        "drawn_worst_off": drawn,
        "best_off": best_off(rates),
        "median": float(np.nanmedian(rates)),
    }


def change(after: Measured, before: Measured) -> dict[str, float]:
    """Return how a measurement differs from another one of the same people.

    Parameters
    ----------
    after, before : Measured

    Returns
    -------
    dict
        The differences of :func:`summary`; ``better`` and ``worse``: the shares of people whose
        rate falls or rises by more than ``NOTICEABLE``.
    """
    new, old = summary(*after), summary(*before)
    moved = after.rates - before.rates
    moved = moved[~np.isnan(moved)]
    # A difference of exactly 0.01 must not count because of rounding.
    limit = NOTICEABLE + 1e-9
    return {
        **{name: new[name] - old[name] for name in new},
        "better": float((moved < -limit).mean()),
        "worse": float((moved > limit).mean()),
    }
