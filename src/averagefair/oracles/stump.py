"""The exact best one-feature threshold, for every task at once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from averagefair.blocks import CELLS_PER_BLOCK, row_blocks
from averagefair.costs import TIE, Costs, gaps
from averagefair.sample import FloatArray, Sample


@dataclass(frozen=True, eq=False)
class Stumps:
    """One threshold for each of k tasks: decide 1 where the feature is at most the threshold.

    Attributes
    ----------
    features : integer array, shape (k,)
        Which feature each task looks at.
    thresholds : array, shape (k,)
        -inf and inf make the two constants.
    upward : bool array, shape (k,)
        Where true, decide 1 *above* the threshold instead.
    """

    features: NDArray[np.intp]
    thresholds: FloatArray
    upward: NDArray[np.bool_]

    def decide(self, features: FloatArray) -> NDArray[np.bool_]:
        """Decide for each person and task; shape (n, k).

        Parameters
        ----------
        features : array, shape (n, d)
            Everybody's features.
        """
        return np.asarray((features[:, self.features] <= self.thresholds) != self.upward)

    def key(self) -> Hashable:
        """Return the thresholds' bytes."""
        return self.features.tobytes(), self.thresholds.tobytes(), self.upward.tobytes()


@dataclass(frozen=True)
class StumpOracle:
    """The exact best over all one-feature thresholds of both directions and the two constants.

    Examples
    --------
    >>> sample = Sample([[-1.0], [0.0], [3.0]], [[0], [1], [1]])
    >>> prices = np.ones(3)
    >>> best = StumpOracle().bind(sample)(Costs(sample, prices, prices))
    >>> best.thresholds, best.upward
    (array([-0.5]), array([ True]))
    """

    exact = True

    def bind(self, sample: Sample) -> _SortedFeatures:
        """Sort every feature once."""
        return _SortedFeatures(sample.features)


class _SortedFeatures:
    def __init__(self, features: FloatArray) -> None:
        self.order = np.argsort(features, axis=0, kind="stable").T
        self.sorted = np.take_along_axis(features, self.order.T, axis=0).T
        # A cut between equal values is no threshold: it is priced out with infinity.
        equal = np.zeros(self.sorted.shape, dtype=bool)
        equal[:, :-1] = self.sorted[:, :-1] == self.sorted[:, 1:]
        self.barrier = np.where(equal, np.inf, 0.0)[:, :, None]

    def __call__(self, costs: Costs) -> Stumps:
        """Return each task's cheapest stump; the constant 0 wins ties, then the lower feature."""
        n, k = costs.signs.shape
        alike = costs.false_positive is costs.false_negative
        prices = costs.false_positive, None if alike else costs.false_negative
        parts = [self._cheapest(gaps(costs.signs[:, some], *prices)) for some in row_blocks(k, n)]
        return Stumps(
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.thresholds for part in parts]),
            np.concatenate([part.upward for part in parts]),
        )

    def _cheapest(self, gaps: FloatArray) -> Stumps:
        n, k = gaps.shape
        tie = TIE * np.abs(gaps).sum(axis=0)
        best, feature, cut = np.zeros(k), np.zeros(k, np.intp), np.full(k, -1)
        upward = np.zeros(k, dtype=bool)
        step = max(1, CELLS_PER_BLOCK // (n * k))
        for first in range(0, len(self.order), step):
            some = slice(first, first + step)
            below = np.cumsum(gaps[self.order[some]], axis=1)
            above = below[:, -1:] - below
            for up, cost in enumerate((below, above)):
                flat = (cost + self.barrier[some]).reshape(-1, k)
                least = flat.min(axis=0)
                better = least < best - tie
                place = (flat <= least + tie).argmax(axis=0)[better]
                best[better], upward[better] = least[better], bool(up)
                feature[better], cut[better] = first + place // n, place % n
        return Stumps(feature, self._thresholds(gaps, feature, cut), upward)

    def _thresholds(
        self, gaps: FloatArray, feature: NDArray[np.intp], cut: NDArray[np.intp]
    ) -> FloatArray:
        """Put each threshold halfway between the people on either side who matter to the task."""
        n, k = gaps.shape
        task, place = np.arange(k)[:, None], np.arange(n)
        matters = gaps[self.order[feature], task] != 0
        at_most = place <= cut[:, None]
        last = np.where(matters & at_most, place, -1).max(axis=1)
        first = np.where(matters & ~at_most, place, n).min(axis=1)
        low = self.sorted[feature, np.maximum(last, 0)]
        high = self.sorted[feature, np.minimum(first, n - 1)]
        # Halving first keeps the midpoint finite; where it rounds up to the higher value, the
        # lower one separates the two just as well.
        middle = low / 2 + high / 2
        middle = np.where((low <= middle) & (middle < high), middle, low)
        return np.where(last < 0, -np.inf, np.where(first == n, np.inf, middle))
