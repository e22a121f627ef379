"""The exact best one-feature threshold, for every task at once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from averagefair.blocks import CELLS_PER_BLOCK
from averagefair.costs import Costs
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
        """Decide for each person and task; shape (n, k)."""
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
    >>> best = StumpOracle().bind(sample)(Costs(sample.signs, prices, prices))
    >>> best.thresholds, best.upward
    (array([-0.5]), array([ True]))
    """

    exact = True

    def bind(self, sample: Sample) -> _SortedFeatures:
        """Sort every feature once."""
        return _SortedFeatures(sample.features)


class _SortedFeatures:
    def __init__(self, features: FloatArray) -> None:
        n = len(features)
        self.order = np.argsort(features, axis=0, kind="stable").T
        ordered = np.take_along_axis(features, self.order.T, axis=0).T
        low, high = ordered[:, :-1], ordered[:, 1:]
        # Halving first keeps the midpoint finite; where it rounds up to the higher value, the
        # lower one separates the two just as well.
        middle = low / 2 + high / 2
        middle = np.where((low <= middle) & (middle < high), middle, low)
        self.thresholds = np.column_stack([middle, np.full(len(middle), np.inf)])
        # A cut between equal values is no threshold: it is priced out with infinity.
        equal = np.column_stack([low == high, np.zeros(len(middle), bool)])
        self.barrier = np.where(equal, np.inf, 0.0)[:, :, None]
        self.per_block = max(1, CELLS_PER_BLOCK // n)

    def __call__(self, costs: Costs) -> Stumps:
        """Return each task's cheapest stump; the constant 0 wins ties, then the lower feature."""
        gaps = costs.gaps()
        k = gaps.shape[1]
        best = np.zeros(k)
        answer = Stumps(np.zeros(k, np.intp), np.full(k, -np.inf), np.zeros(k, bool))
        step = max(1, self.per_block // k)
        for first in range(0, len(self.order), step):
            some = slice(first, first + step)
            below = np.cumsum(gaps[self.order[some]], axis=1)
            total = below[:, -1:]
            self._improve(answer, best, below + self.barrier[some], first, upward=False)
            self._improve(answer, best, total - below + self.barrier[some], first, upward=True)
        return answer

    def _improve(
        self, answer: Stumps, best: FloatArray, cost: FloatArray, first: int, *, upward: bool
    ) -> None:
        """Take over, for each task, the cheapest of these cuts, shape (features, n, k)."""
        features, n, k = cost.shape
        flat = cost.reshape(features * n, k)
        place = flat.argmin(axis=0)
        value = flat[place, np.arange(k)]
        better = value < best
        feature, cut = np.divmod(place[better], n)
        best[better] = value[better]
        answer.features[better] = first + feature
        answer.thresholds[better] = self.thresholds[first + feature, cut]
        answer.upward[better] = upward
