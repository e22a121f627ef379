"""Least squares on cost gaps: the paper's linear-threshold heuristic, for all tasks at once.

The paper's heuristic regresses the cost of deciding 1 and the cost of deciding 0 on the features
and decides 1 where the first prediction is smaller. Both regressions share X, so their
difference is one regression of the gap g = c1 - c0. X is factored once; after that a best
response for all tasks is two matrix products, A^T G and (features) times (coefficients).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from averagefair.blocks import row_blocks
from averagefair.costs import TIE, Costs
from averagefair.errors import InputError
from averagefair.oracles.degenerate import constant_tasks
from averagefair.sample import FloatArray, Sample


@dataclass(frozen=True, eq=False)
class LinearThresholds:
    """One linear classifier for each of k tasks: decide 1 where the score is negative.

    Attributes
    ----------
    coefficients : array, shape (d, k)
    intercepts : array, shape (k,)
    """

    coefficients: FloatArray
    intercepts: FloatArray

    def decide(self, features: FloatArray) -> NDArray[np.bool_]:
        """Decide for each person and task; shape (n, k)."""
        return np.asarray(features @ self.coefficients < -self.intercepts)

    def key(self) -> Hashable:
        """Return the coefficients' bytes."""
        return self.coefficients.tobytes(), self.intercepts.tobytes()


@dataclass(frozen=True)
class RegressionOracle:
    """Linear classifiers by least squares on cost gaps, all tasks at once. A heuristic.

    Parameters
    ----------
    l2 : float, default 0
        Ridge penalty on the coefficients (not on the intercept), as in scikit-learn's Ridge.

    Notes
    -----
    Task j minimises sum_i c_i (g_ij / c_i - x_i beta)^2 + l2 ||beta||^2 over the people whose
    label is observed, c_i the weight of person i: an unobserved cell has no say in its task.
    Where the features of those people are linearly dependent, the coefficients are not unique;
    small ones (in standardised units) are taken.

    Examples
    --------
    >>> sample = Sample([[-2.0], [-1.0], [1.0], [2.0]], [[0], [0], [1], [1]])
    >>> prices = np.ones(4)
    >>> answer = RegressionOracle().bind(sample)(Costs(sample.signs, prices, prices))
    >>> answer.decide(np.array([[-0.5], [0.5]])).ravel()
    array([False,  True])
    """

    l2: float = 0.0
    exact = False

    def __post_init__(self) -> None:
        if not (isinstance(self.l2, int | float | np.number) and 0 <= self.l2 < np.inf):
            raise InputError(f"l2 must be finite and not negative; got {self.l2!r}.")

    def bind(self, sample: Sample) -> _Regression:
        """Factor the features once and return the answerer."""
        return _Regression(sample, self.l2)


class _Regression:
    """Normal equations in whitened coordinates, ready for any right-hand side.

    A is the design: a column of ones, then the standardised features. With A C A + P = R^T R the
    columns of ``whiten`` = R^+ make it the identity, so that a complete task needs no solve at
    all, and a task with blanks only a well-conditioned one.
    """

    def __init__(self, sample: Sample, l2: float) -> None:
        counts = sample.individual_weights
        self.design = np.ones((sample.n, sample.d + 1))
        features = self.design[:, 1:]
        self.mean = counts @ sample.features / counts.sum()
        np.subtract(sample.features, self.mean, out=features)
        # The first mean is off by rounding; what is left of it matters where the mean is large.
        rest = counts @ features / counts.sum()
        self.mean += rest
        features -= rest
        deviation = np.sqrt(np.einsum("i,ij,ij->j", counts, features, features) / counts.sum())
        present = counts > 0
        people = sample.features if present.all() else sample.features[present]
        low, high = people.min(axis=0), people.max(axis=0)
        # A column that varies by rounding alone is constant: it gets no coefficient.
        varies = high - low > 1e-13 * np.maximum(np.abs(low), np.abs(high))
        self.scale = np.where(varies & (deviation > 0), deviation, np.inf)
        features /= self.scale
        self.typical = np.hypot(self.mean, deviation)
        penalty = np.diag(np.sqrt(l2) / np.append(np.inf, self.scale))
        self.whiten = self._whiten(counts, penalty)
        self.moments = self.whiten @ self.whiten.T
        self.partial = _Places(np.flatnonzero(~sample.complete_tasks), sample.m)
        self.partial_moments = self._masked_moments(sample, penalty @ self.whiten)
        constant, self.labels = constant_tasks(sample)
        self.constant = _Places(constant, sample.m)

    def _whiten(self, counts: FloatArray, penalty: FloatArray) -> FloatArray:
        triangle = penalty
        for rows in row_blocks(*self.design.shape):
            weighted = self.design[rows] * np.sqrt(counts[rows, None])
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, weighted]), mode="r"))
        # Columns of equal length make the rank a matter of direction, not of units or of l2.
        length = np.linalg.norm(triangle, axis=0)
        length[length == 0] = 1.0
        _, size, directions = np.linalg.svd(triangle / length, full_matrices=False)
        kept = size > size[0] * max(self.design.shape) * np.finfo(float).eps
        return np.asarray(directions[kept].T / size[kept] / length[:, None])

    def _masked_moments(self, sample: Sample, penalty: FloatArray) -> FloatArray:
        """Return the inverse second moments of each task with blanks, shape (k, d+1, d+1)."""
        rank, k = self.whiten.shape[1], self.partial.tasks.size
        second = np.zeros((rank * rank, k))
        for rows in row_blocks(sample.n if k else 0, rank * rank + k):
            block = self.design[rows] @ self.whiten
            outer = (block[:, :, None] * block[:, None, :]).reshape(len(block), -1)
            observed = sample.signs[rows][:, self.partial.tasks] != 0
            second += outer.T @ (observed * sample.individual_weights[rows, None])
        gram = second.T.reshape(k, rank, rank) + penalty.T @ penalty
        inverse = np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
        return np.asarray(self.whiten @ inverse @ self.whiten.T)

    def __call__(self, costs: Costs) -> LinearThresholds:
        """Answer all tasks: coefficients = moments (A^T G)."""
        n, k = costs.signs.shape
        left = np.zeros((k, self.design.shape[1]))
        for rows in row_blocks(n, k):
            # G^T A rather than A^T G: a threaded product splits the longer side, and on a busy
            # machine the other way round was up to thirty times slower (measured).
            left += costs.gaps(rows).T @ self.design[rows]
        right = left.T
        beta = self.moments @ right
        here, there = self.partial.among(costs.tasks)
        if here.size:
            beta[:, here] = np.einsum(
                "kab,bk->ak", self.partial_moments[there], right[:, here], optimize=True
            )
        coefficients = beta[1:] / self.scale[:, None]
        intercepts = beta[0] - self.mean @ coefficients
        intercepts += TIE * (np.abs(intercepts) + self.typical @ np.abs(coefficients))
        here, there = self.constant.among(costs.tasks)
        coefficients[:, here] = 0.0
        intercepts[here] = np.where(self.labels[there], -1.0, 1.0)
        return LinearThresholds(coefficients, intercepts)


class _Places:
    """Some of m tasks, and where they stand among any selection of tasks."""

    def __init__(self, tasks: NDArray[np.intp], m: int) -> None:
        self.tasks = tasks
        self.rank = np.full(m, -1)
        self.rank[tasks] = np.arange(tasks.size)

    def among(
        self, selection: NDArray[np.intp] | None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which of the selected are of these tasks, and which of these they are."""
        rank = self.rank if selection is None else self.rank[selection]
        here = np.flatnonzero(rank >= 0)
        return here, rank[here]
