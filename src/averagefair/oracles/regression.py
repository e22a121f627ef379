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
from averagefair.costs import Costs
from averagefair.errors import InputError
from averagefair.oracles.degenerate import constant_tasks
from averagefair.sample import FloatArray, Sample

# A score this small against the terms it is made of is a tie broken by rounding. Ties decide 0
# on every machine and for every way of cutting the rows.
_TIE = 1e-12


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
    Where the features are linearly dependent, the smallest standardised coefficients are taken.

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
        if not (np.isfinite(self.l2) and self.l2 >= 0):
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
        deviation = np.sqrt(np.einsum("i,ij,ij->j", counts, features, features) / counts.sum())
        # A column that differs from its mean by rounding alone is constant: no coefficient.
        self.scale = np.where(deviation > 1e-14 * np.abs(self.mean), deviation, np.inf)
        features /= self.scale
        self.typical = np.hypot(self.mean, deviation)
        penalty = np.diag(np.sqrt(l2) / np.append(np.inf, self.scale))
        self.whiten = self._whiten(counts, penalty)
        self.moments = self.whiten @ self.whiten.T
        self.partial = np.flatnonzero(~sample.complete_tasks)
        self.partial_moments = self._masked_moments(sample, penalty @ self.whiten)
        self.constant, self.labels = constant_tasks(sample)

    def _whiten(self, counts: FloatArray, penalty: FloatArray) -> FloatArray:
        triangle = penalty
        for rows in row_blocks(*self.design.shape):
            weighted = self.design[rows] * np.sqrt(counts[rows, None])
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, weighted]), mode="r"))
        _, size, directions = np.linalg.svd(triangle, full_matrices=False)
        kept = size > size[0] * max(self.design.shape) * np.finfo(float).eps
        return np.asarray(directions[kept].T / size[kept])

    def _masked_moments(self, sample: Sample, penalty: FloatArray) -> FloatArray:
        """Return the inverse second moments of each task with blanks, shape (k, d+1, d+1)."""
        rank, k = self.whiten.shape[1], self.partial.size
        second = np.zeros((rank * rank, k))
        for rows in row_blocks(sample.n if k else 0, rank * rank + k):
            block = self.design[rows] @ self.whiten
            outer = (block[:, :, None] * block[:, None, :]).reshape(len(block), -1)
            observed = sample.signs[rows][:, self.partial] != 0
            second += outer.T @ (observed * sample.individual_weights[rows, None])
        gram = second.T.reshape(k, rank, rank) + penalty.T @ penalty
        inverse = np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
        return np.asarray(self.whiten @ inverse @ self.whiten.T)

    def __call__(self, costs: Costs) -> LinearThresholds:
        """Answer all tasks: coefficients = moments (A^T G)."""
        n, k = costs.signs.shape
        right = np.zeros((self.design.shape[1], k))
        for rows in row_blocks(n, k):
            right += self.design[rows].T @ costs.gaps(rows)
        beta = self.moments @ right
        here, there = self._locate(self.partial, costs.tasks)
        if here.size:
            beta[:, here] = np.einsum(
                "kab,bk->ak", self.partial_moments[there], right[:, here], optimize=True
            )
        coefficients = beta[1:] / self.scale[:, None]
        intercepts = beta[0] - self.mean @ coefficients
        intercepts += _TIE * (np.abs(intercepts) + self.typical @ np.abs(coefficients))
        here, there = self._locate(self.constant, costs.tasks)
        coefficients[:, here] = 0.0
        intercepts[here] = np.where(self.labels[there], -1.0, 1.0)
        return LinearThresholds(coefficients, intercepts)

    @staticmethod
    def _locate(
        special: NDArray[np.intp], tasks: NDArray[np.intp] | None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return where the special tasks stand among those asked for, and among themselves."""
        if tasks is None:
            return special, np.arange(special.size)
        _, here, there = np.intersect1d(tasks, special, return_indices=True)
        return here, there
