"""What is measured of decisions: the error, and how people's error rates are distributed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.game.promises import ROUNDING
from benchmarks.promises.measures import worst_off

FloatArray = NDArray[np.float64]
DRAWS = 20
"""Figures of drawn decisions are means over this many draws."""


def draws(chances: FloatArray, Y: Any, count: int = DRAWS) -> Iterator[NDArray[np.bool_]]:
    """Yield which decisions are wrong, for independent draws of all decisions.

    Parameters
    ----------
    chances : array, shape (n, m)
        Of deciding 1.
    Y : array, shape (n, m)
        Labels.
    count : int
    """
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield (rng.random(chances.shape) < chances) != np.asarray(Y).astype(bool)


def outside(rates: FloatArray, alpha: float) -> float:
    """Return the least share of people outside a window of width 2 alpha.

    Examples
    --------
    >>> outside(np.array([0.1, 0.2, 0.25, 0.3]), 0.05)
    0.25
    """
    ordered = np.sort(rates)
    ends = np.searchsorted(ordered, ordered + 2.0 * alpha + 2.0 * ROUNDING, side="right")
    return 1.0 - float((ends - np.arange(len(ordered))).max()) / len(ordered)


def measure(wrong: Any, alpha: float) -> dict[str, float]:
    """Return the figures of one set of decisions.

    ``variance`` is that of people's rates as they are.

    Parameters
    ----------
    wrong : array, shape (n, m)
        Which decisions are wrong.
    alpha : float
    """
    losses = np.asarray(wrong, dtype=np.float64)
    rates = losses.mean(axis=1)
    return {
        "error": float(losses.mean()),
        "spread": float(np.ptp(rates)),
        "variance": float(rates.var(ddof=1)),
        "worst": worst_off(rates),
        "outside": outside(rates, alpha),
    }


def figures(decisions: Iterable[Any], alpha: float) -> dict[str, float]:
    """Return the figures' means over draws, with deviations in place of variances.

    Parameters
    ----------
    decisions : iterable of arrays, each of shape (n, m)
        Which decisions are wrong, for each draw. Fixed decisions are a single draw.
    alpha : float
    """
    each = [measure(wrong, alpha) for wrong in decisions]
    means = {name: float(np.mean([own[name] for own in each])) for name in each[0]}
    return means | {"sd": float(np.sqrt(means.pop("variance")))}


def compare(fixed: Any, chances: FloatArray, Y: Any, alpha: float) -> dict[str, dict[str, float]]:
    """Return the figures of fixed decisions and of drawn ones for the same people and tasks.

    Parameters
    ----------
    fixed : array, shape (n, m)
        Decisions.
    chances : array, shape (n, m)
        Of drawing 1.
    Y : array, shape (n, m)
        Labels.
    alpha : float
    """
    return {
        "fixed": figures([np.asarray(fixed) != np.asarray(Y)], alpha),
        "drawn": figures(draws(chances, Y), alpha),
    }
