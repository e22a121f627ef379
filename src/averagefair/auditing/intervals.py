"""Individual confidence intervals: the range of a person's true rate, given their tasks.

- Wilson's interval for counts: correct coverage on average over rates.
- Clopper-Pearson's interval for counts: coverage is never below the nominal level.
- The KL-Chernoff interval, m kl(E || p) <= ln(2 / delta), for means of numbers in [0, 1]: coverage
  is never below the nominal level; somewhat wide.

All of them treat a person's tasks as independent draws.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import NamedTuple

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtri, xlogy

from averagefair._util.arrays import FloatArray

Interval = tuple[FloatArray, FloatArray]

# Newton's method usually needs ten steps.
MOST_STEPS = 60
TOLERANCE = 1e-14
TINY = 1e-300


def wilson(wrong: FloatArray, counted: FloatArray, delta: float) -> Interval:
    """Return Wilson's interval of level 1 - delta for ``wrong`` of ``counted``.

    Examples
    --------
    >>> low, high = wilson(np.array([3.0]), np.array([20.0]), 0.05)
    >>> print(low.round(7), high.round(7))
    [0.0523687] [0.3604189]
    """
    z = float(ndtri(1 - delta / 2))
    p = wrong / counted
    middle = (p + z * z / (2 * counted)) / (1 + z * z / counted)
    half = z * np.sqrt(p * (1 - p) / counted + (z / (2 * counted)) ** 2) / (1 + z * z / counted)
    # Set the ends at 0 and 1 exactly: otherwise rounding would move them.
    low = np.where(wrong == 0, 0.0, np.maximum(0.0, middle - half))
    return low, np.where(wrong == counted, 1.0, np.minimum(1.0, middle + half))


def clopper_pearson(wrong: FloatArray, counted: FloatArray, delta: float) -> Interval:
    """Return Clopper and Pearson's interval of level 1 - delta for ``wrong`` of ``counted``.

    Examples
    --------
    >>> low, high = clopper_pearson(np.array([3.0]), np.array([20.0]), 0.05)
    >>> print(low.round(7), high.round(7))
    [0.0320709] [0.3789268]
    """
    # Quantiles are slow, and there are far fewer distinct counts than people.
    pairs, inverse = np.unique(wrong + 1j * counted, return_inverse=True)
    k, m = pairs.real, pairs.imag
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), m - k + 1, delta / 2), 0.0)
    high = np.where(k < m, betainccinv(k + 1, np.maximum(m - k, 1), delta / 2), 1.0)
    return low[inverse], high[inverse]


def kl_chernoff(rates: FloatArray, counted: FloatArray, delta: float) -> Interval:
    """Return the p with counted * kl(rate || p) <= ln(2 / delta), for means of numbers in [0, 1].

    Examples
    --------
    >>> low, high = kl_chernoff(np.array([0.15]), np.array([20.0]), 0.05)
    >>> print(low.round(7), high.round(7))
    [0.0195274] [0.4324042]
    """
    bound = log(2 / delta) / counted
    return 1.0 - _kl_upper(1.0 - rates, bound), _kl_upper(rates, bound)


def _kl_upper(rates: FloatArray, bound: FloatArray) -> FloatArray:
    """Return the largest p with kl(rate || p) <= bound, by Newton's method from above.

    kl is convex in p, so Newton's steps from above never pass the root. Two bounds on kl give a
    start above the root. Pinsker's inequality is kl >= 2 (p - rate)^2. Dropping the term
    rate ln(1 / p), which is >= 0, gives kl >= (1 - rate) ln(1 / (1 - p)) - entropy.
    """
    entropy = -xlogy(rates, rates) - xlogy(1 - rates, 1 - rates)
    below_one = np.exp(-(bound + entropy) / np.where(rates < 1, 1 - rates, 1.0))
    p = np.minimum(rates + np.sqrt(bound / 2), 1.0 - below_one)
    p = np.where(rates >= 1, 1.0, p)
    moving = np.flatnonzero((p < 1) & (p > 0))
    for _ in range(MOST_STEPS):
        if not moving.size:
            break
        x, e = p[moving], rates[moving]
        excess = xlogy(e, e / x) + xlogy(1 - e, (1 - e) / (1 - x)) - bound[moving]
        step = excess * x * (1 - x) / np.maximum(x - e, TINY)
        p[moving] = np.maximum(e, x - step)
        moving = moving[step > TOLERANCE * x]
    return p


class Counts(NamedTuple):
    """The counts behind individual intervals, for people who have a rate.

    Attributes
    ----------
    wrong, counted : arrays, shape (n,)
        The sum of each person's losses, and the number of cells.
    binary : bool
        Whether losses are 0 or 1, so that ``wrong`` is a binomial count for people with at most one
        cell in each family.
    largest, shared : arrays, shape (n,), or None
        Used if a person has several cells in a family of tasks; a family is one independent draw.
        The number of cells c_f in the person's largest family, and the sum of c_f^2.
    """

    wrong: FloatArray
    counted: FloatArray
    binary: bool
    largest: FloatArray | None = None
    shared: FloatArray | None = None

    def exact(self, delta: float) -> Interval:
        """Return intervals that cover the true rate with probability at least 1 - delta."""
        return self._by_counts(clopper_pearson, delta)

    def approximate(self, delta: float) -> Interval:
        """Return intervals that cover the true rate with probability of about 1 - delta."""
        return self._by_counts(wilson, delta)

    def _by_counts(self, interval: Callable[..., Interval], delta: float) -> Interval:
        """Return the interval of a binomial count, or of a mean where it is none."""
        if self.binary and self.largest is None:
            return interval(self.wrong, self.counted, delta)
        low, high = self.of_mean(self.wrong / self.counted, delta)
        if self.binary and self.largest is not None:
            alone = self.largest <= 1
            own = interval(self.wrong[alone], self.counted[alone], delta)
            low[alone], high[alone] = own
        return low, high

    def of_mean(self, rates: FloatArray, delta: float) -> Interval:
        """Return exact intervals for means in [0, 1] over the same cells.

        With families the mean is sum_f (c_f / m) X_f, where X_f is the draw of family f.
        The log-moment generating function is convex. So Chernoff's bound is at least as tight as
        for m / max_f c_f independent cells. Hoeffding's bound equals that for m^2 / sum_f c_f^2
        independent cells. Chernoff's interval is narrow near 0 and 1; Hoeffding's interval is
        narrow where family sizes differ. Each interval gets delta / 2, and the result is the
        intersection of both.
        """
        if self.largest is None or self.shared is None:
            return kl_chernoff(rates, self.counted, delta)
        low, high = kl_chernoff(rates, self.counted / self.largest, delta / 2)
        half = np.sqrt(0.5 * log(4 / delta) * self.shared) / self.counted
        return np.maximum(low, rates - half), np.minimum(high, rates + half)
