"""The exact best one-feature threshold, for all tasks at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.constant_classifiers import Constant
from averagefair.game.costs import TIE, Costs, gaps
from averagefair.game.per_task_choice import positions
from averagefair.game.protocols import Hypothesis, Oracle
from averagefair.people.blocks import CELLS_PER_BLOCK, row_blocks
from averagefair.people.sample import Sample


@dataclass(frozen=True, eq=False)
class Stumps(Hypothesis):
    """One threshold for each of k tasks: decide 1 where the feature is at most the threshold.

    Attributes
    ----------
    features : integer array, shape (k,)
        The feature that decides each task.
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
        """Return features, thresholds and directions as bytes."""
        return self.features.tobytes(), self.thresholds.tobytes(), self.upward.tobytes()

    @classmethod
    def gather(
        cls, hypotheses: Sequence[Hypothesis], choice: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> Stumps | None:
        """Join stumps and constants; a constant has an infinite threshold.

        Parameters
        ----------
        hypotheses, choice, columns
            As for ``Hypothesis.gather``.
        """
        if not any(isinstance(hypothesis, Stumps) for hypothesis in hypotheses):
            return None  # there may be no feature
        k = len(choice)
        features, thresholds = np.zeros(k, dtype=np.intp), np.empty(k)
        upward = np.zeros(k, dtype=np.bool_)
        for position, tasks in positions(choice):
            chosen, own = hypotheses[position], columns[tasks]
            if isinstance(chosen, Stumps):
                features[tasks], upward[tasks] = chosen.features[own], chosen.upward[own]
                thresholds[tasks] = chosen.thresholds[own]
            elif isinstance(chosen, Constant):
                thresholds[tasks] = np.inf if chosen.decision else -np.inf
            else:
                return None
        return cls(features, thresholds, upward)


@dataclass(frozen=True)
class StumpOracle(Oracle):
    """The exact best over all one-feature thresholds of both directions and the two constants.

    Sorts every feature once; the cumulated cost gaps then give the cost of every threshold.

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
        # No threshold can separate equal values: give such a cut an infinite cost.
        equal = np.zeros(self.sorted.shape, dtype=bool)
        equal[:, :-1] = self.sorted[:, :-1] == self.sorted[:, 1:]
        self.barrier = np.where(equal, np.inf, 0.0)[:, :, None]

    def __call__(self, costs: Costs) -> Stumps:
        """Return each task's cheapest stump; the constant 0 wins ties, then the lower feature."""
        n, k = costs.signs.shape
        alike = costs.false_positive is costs.false_negative
        prices = costs.false_positive, None if alike else costs.false_negative
        parts = [self._cheapest(gaps(costs.signs[:, tasks], *prices)) for tasks in row_blocks(k, n)]
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
            features = slice(first, first + step)
            below = np.cumsum(gaps[self.order[features]], axis=1)
            above = below[:, -1:] - below
            for up, cost in enumerate((below, above)):
                flat = (cost + self.barrier[features]).reshape(-1, k)
                least = flat.min(axis=0)
                better = least < best - tie
                position = (flat <= least + tie).argmax(axis=0)[better]
                best[better], upward[better] = least[better], bool(up)
                feature[better], cut[better] = first + position // n, position % n
        return Stumps(feature, self._thresholds(gaps, feature, cut), upward)

    def _thresholds(
        self, gaps: FloatArray, feature: NDArray[np.intp], cut: NDArray[np.intp]
    ) -> FloatArray:
        """Put each threshold halfway between the nearest people with a gap on either side."""
        n, k = gaps.shape
        task, position = np.arange(k)[:, None], np.arange(n)
        matters = gaps[self.order[feature], task] != 0
        at_most = position <= cut[:, None]
        last = np.where(matters & at_most, position, -1).max(axis=1)
        first = np.where(matters & ~at_most, position, n).min(axis=1)
        low = self.sorted[feature, np.maximum(last, 0)]
        high = self.sorted[feature, np.minimum(first, n - 1)]
        # Halve before adding: the sum could overflow. Where the midpoint rounds up to the higher
        # value, use the lower value, which separates the two just as well.
        middle = low / 2 + high / 2
        middle = np.where((low <= middle) & (middle < high), middle, low)
        return np.where(last < 0, -np.inf, np.where(first == n, np.inf, middle))
