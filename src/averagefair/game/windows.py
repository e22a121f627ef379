"""Windows of rates: how many people lie within alpha of one common rate.

A common rate gamma and a slack alpha define the closed window [gamma - alpha, gamma + alpha]. The
definition of average individual fairness asks for *some* gamma, so the window may lie anywhere.
:func:`common_rate` chooses the gamma that all texts, plots, flags and tables use.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

ROUNDING = 1e-12  # rates are sums of a few hundred numbers; real differences are far larger


class Window(NamedTuple):
    """The smallest and the largest rate inside."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The largest minus the smallest rate inside."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """The middle between the smallest and the largest rate inside."""
        return 0.5 * (self.low + self.high)


def narrowest(rates: FloatArray, outside: float, below: FloatArray | None = None) -> Window:
    """Return the narrowest window that leaves out at most this share of the people.

    Of equally narrow windows, this is the lowest. Its ends are NaN if there is nobody.

    Parameters
    ----------
    rates : array, shape (n,), ascending
    outside : float in [0, 1)
    below : array, shape (n + 1,), optional
        How many people come before each rate; the last entry counts everybody. Default: one person
        for each rate.

    Examples
    --------
    >>> narrowest(np.array([0.25, 0.5, 0.625, 0.875]), outside=0.25)
    Window(low=0.25, high=0.625)
    """
    if not rates.size:
        return Window(math.nan, math.nan)
    inside = 1.0 - outside
    if below is None:
        needed = max(1, math.ceil(inside * rates.size * (1.0 - ROUNDING)))
        starts, ends = rates[: rates.size - needed + 1], rates[needed - 1 :]
    else:
        # For each start, find the first end with enough people in between.
        first = np.searchsorted(below[1:], below[:-1] + inside * below[-1] * (1.0 - ROUNDING))
        some = first < rates.size
        starts, ends = rates[some], rates[first[some]]
    widths = ends - starts
    best = np.argmax(widths <= widths.min() + ROUNDING)
    return Window(float(starts[best]), float(ends[best]))


def fullest(
    rates: FloatArray, width: float, below: FloatArray | None = None
) -> tuple[Window, float]:
    """Return the window of at most this width with the most people, and the share outside it.

    Of equally full windows, this is the highest. All results are NaN if there is nobody. The
    parameters are those of :func:`narrowest`.

    Examples
    --------
    >>> fullest(np.array([0.1, 0.2, 0.25, 0.9]), width=0.15)
    (Window(low=0.1, high=0.25), 0.25)
    """
    if not rates.size:
        return Window(math.nan, math.nan), math.nan
    below = np.arange(rates.size + 1.0) if below is None else below
    # The best window starts at somebody's rate.
    ends = np.searchsorted(rates, rates + (width + ROUNDING), side="right")
    inside = below[ends] - below[:-1]
    best = inside.size - 1 - int(np.argmax(inside[::-1]))
    left_out = below[-1] - inside[best]
    share = left_out / below[-1] if left_out > ROUNDING * below[-1] else 0.0
    return Window(float(rates[best]), float(rates[ends[best] - 1])), float(share)


def common_rate(rates: FloatArray, alpha: float | None) -> float:
    """Return the common rate: the middle of the fullest window of width 2 alpha.

    No other gamma has more people within alpha. Without an alpha, the common rate is the mean rate.
    It is NaN if nobody has a rate.

    Parameters
    ----------
    rates : array, shape (n,), ascending
    alpha : float or None

    Examples
    --------
    >>> rates = np.repeat([0.1, 0.5], [150, 50])
    >>> common_rate(rates, alpha=0.05), common_rate(rates, alpha=None)
    (0.1, 0.2)
    """
    if alpha is not None:
        return fullest(rates, 2.0 * alpha)[0].middle
    return float(rates.mean()) if rates.size else math.nan


def depth(lows: FloatArray, highs: FloatArray) -> int:
    """Return the largest number of these closed intervals that have a point in common.

    An interval whose low end lies above its high end is empty and does not count.

    Examples
    --------
    >>> depth(np.array([0.0, 0.5, 0.4, 0.9]), np.array([0.5, 0.6, 0.7, 0.8]))
    3
    """
    some = lows <= highs
    starts, ends = np.sort(lows[some]), np.sort(highs[some])
    open_before = np.searchsorted(ends, starts, side="left")
    return int((np.arange(1, starts.size + 1) - open_before).max(initial=0))


def outside_at_least_and_most(
    lows: FloatArray, highs: FloatArray, slack: float
) -> tuple[float, float]:
    """Return bounds on the share outside a window of width 2 slack, from intervals of rates.

    The lower bound counts people who cannot be inside, wherever in their interval their rate is.
    The upper bound counts people who may be outside.

    Examples
    --------
    >>> lows, highs = np.array([0.1, 0.2, 0.3, 0.8]), np.array([0.2, 0.3, 0.6, 0.9])
    >>> outside_at_least_and_most(lows, highs, slack=0.1)
    (0.25, 0.5)
    """
    n, slack = lows.size, slack + ROUNDING
    # An interval meets [gamma - slack, gamma + slack] if gamma is in [low - slack, high + slack],
    # and lies within it if gamma is in [high - slack, low + slack]. One person always fits.
    meets = depth(lows - slack, highs + slack)
    within = max(1, depth(highs - slack, lows + slack))
    return (n - meets) / n, (n - within) / n
