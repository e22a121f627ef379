"""The bins of a histogram of individual rates.

If everybody meets the same m tasks, rates are multiples of 1 / m. Then bins hold equally many
multiples, with edges halfway between them, so that no bin is empty by construction. Other rates
get bins that fit the band of the promise.
"""

from __future__ import annotations

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.game.promises import ROUNDING

LEAST_BINS, MOST_BINS = 20, 60


def steps_of(rates: FloatArray, tasks: int) -> int:
    """Return the number of tasks if all rates are multiples of 1 / tasks; else 0.

    Examples
    --------
    >>> steps_of(np.array([0.25, 0.5]), 4), steps_of(np.array([0.3]), 4)
    (4, 0)
    """
    wrong = rates * tasks
    return tasks if rates.size and np.abs(wrong - np.round(wrong)).max() < ROUNDING * tasks else 0


def step_edges(
    low: float, high: float, steps: int, band: tuple[float, float] | None = None
) -> FloatArray:
    """Return edges halfway between multiples of 1 / steps; every bin holds equally many multiples.

    At most 60 bins. If the band holds a whole number of bins, bins begin where it begins.

    Parameters
    ----------
    low, high : float
        The lowest and the highest rate shown; multiples of 1 / steps.
    steps : int
    band : pair of float, optional
        The lowest and the highest rate inside the band.

    Examples
    --------
    >>> step_edges(0.1, 0.3, 10).round(2)
    array([0.05, 0.15, 0.25, 0.35])
    """
    first, last = round(low * steps), round(high * steps)
    own = -(-(last - first + 1) // MOST_BINS)  # multiples in each bin, rounded up
    begin = first
    if band is not None:
        start, end = _inside(band, steps)
        whole = [size for size in range(own, 2 * own + 1) if (end - start + 1) % size == 0]
        if start <= end and whole:
            own = whole[0]
            begin = start + (first - start) // own * own
    bins = -(-(last - begin + 1) // own)
    return np.asarray((begin + own * np.arange(bins + 1) - 0.5) / steps, dtype=np.float64)


def step_band(band: tuple[float, float], steps: int) -> tuple[float, float]:
    """Return the band as drawn: half a step beyond the first and the last multiple inside.

    Examples
    --------
    >>> [round(end, 2) for end in step_band((0.1, 0.34), 10)]
    [0.05, 0.35]
    """
    start, end = _inside(band, steps)
    return (start - 0.5) / steps, (end + 0.5) / steps


def _inside(band: tuple[float, float], steps: int) -> tuple[int, int]:
    """Return the first and the last multiple inside a band."""
    low, high = band
    return int(np.ceil((low - ROUNDING) * steps)), int(np.floor((high + ROUNDING) * steps))


def cap_edges(low: float, high: float, tasks: int, cap: float) -> FloatArray:
    """Return the edges of at most 60 bins from the lowest rate to the highest, one at a cap.

    Parameters
    ----------
    low, high : float
        The lowest and the highest rate shown.
    tasks : int
    cap : float
        People at the cap are drawn below it.

    Examples
    --------
    >>> cap_edges(0.05, 0.4, 10, cap=0.3).round(3)[-3:]
    array([0.37 , 0.388, 0.405])
    """
    width = _least_width(low, high, tasks)
    cap = high if np.isnan(cap) else cap
    before = int(np.floor((low - cap) / width - ROUNDING))
    after = int(np.ceil((high - cap) / width + ROUNDING))
    edges = cap + width * np.arange(before, max(after, before + 1) + 1) + ROUNDING
    return _within(np.asarray(edges, dtype=np.float64), width / 2, (cap, cap))


def _least_width(low: float, high: float, tasks: int) -> float:
    """Return the least width of a bin: 1 / tasks, if that leaves 20 bins."""
    reach = max(high - low, 0.01)
    return max(reach / (MOST_BINS - 2), min(1.0 / tasks, reach / LEAST_BINS))


def band_edges(low: float, high: float, tasks: int, common: float, alpha: float) -> FloatArray:
    """Return the edges of at most 60 bins from the lowest rate to the highest.

    The band of the common rate plus and minus alpha is a whole number of bins, so nobody inside the
    band is drawn outside. A band narrower than a bin lies in the middle of a bin. Unconstrained
    rates are often multiples of 1 / tasks, so narrower bins would often be empty. Therefore bins
    are at least 1 / tasks wide, if that leaves 20 bins.

    Parameters
    ----------
    low, high : float
        The lowest and the highest rate shown.
    tasks : int
    common, alpha : float

    Examples
    --------
    >>> band_edges(0.05, 0.4, 10, common=0.2, alpha=0.1).round(3)[:4]
    array([0.045, 0.064, 0.082, 0.1  ])
    """
    least = _least_width(low, high, tasks)
    inside = int(2.0 * alpha / least + ROUNDING)
    width = 2.0 * alpha / inside if inside else least
    first = common - 0.5 * width * max(1, inside)
    before = int(np.floor((low - first) / width - ROUNDING))
    after = int(np.ceil((high - first) / width + ROUNDING))
    edges: FloatArray = np.asarray(
        first + width * np.arange(before, max(after, before + 1) + 1), dtype=np.float64
    )
    edges = _within(edges, width / 2, (common - alpha, common + alpha))
    # People at the end of the band are inside; allow for rounding.
    edges[edges < common] -= ROUNDING
    edges[edges >= common] += ROUNDING
    return np.asarray(edges, dtype=np.float64)


def _within(edges: FloatArray, least: float, band: tuple[float, float]) -> FloatArray:
    """Clip bins to [0, 1], because a rate is a share; merge a narrow outer bin into the next.

    An outer bin stays if it is at least ``least`` wide, or ends where the band ends.
    """
    first, last = max(edges[0], 0.0), min(edges[-1], 1.0)
    inner = edges[(edges > first + ROUNDING) & (edges < last - ROUNDING)]
    if inner.size and inner[0] - first < least and abs(inner[0] - band[0]) > ROUNDING:
        inner = inner[1:]
    if inner.size and last - inner[-1] < least and abs(inner[-1] - band[1]) > ROUNDING:
        inner = inner[:-1]
    return np.concatenate([[first], inner, [last]])
