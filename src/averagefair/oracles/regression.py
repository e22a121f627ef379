"""Least squares on cost gaps: the paper's linear-threshold heuristic, for all tasks at once.

The paper's heuristic regresses the cost of deciding 1 and the cost of deciding 0 on the features
and decides 1 where the first prediction is smaller. Both regressions share X, so their difference
is one regression of the gap g = c1 - c0. X is factored once. A best response for all tasks then
takes two matrix products: features with gaps, and features with coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError
from averagefair.game.costs import Costs
from averagefair.game.protocols import Oracle
from averagefair.oracles.design import (
    MOST_L2,
    TaskSubset,
    design_blocks,
    design_times_gaps,
    standardiser_of,
)
from averagefair.oracles.linear import LinearThresholds
from averagefair.people.parts import Part
from averagefair.people.sample import Sample
from averagefair.people.threads import one_thread


@dataclass(frozen=True)
class RegressionOracle(Oracle):
    """Linear classifiers by least squares on cost gaps, all tasks at once. A heuristic.

    Fits a linear function to each task's cost gaps and decides 1 where its value is negative.

    Parameters
    ----------
    l2 : float, default 0
        Ridge penalty on the coefficients (not on the intercept), as in scikit-learn's Ridge.

    Notes
    -----
    Task j minimises sum_i c_i (g_ij / c_i - x_i beta)^2 + l2 ||beta||^2 over the people whose
    label is observed, with c_i the weight of person i. If the features of these people are linearly
    dependent, the coefficients are not unique, and the oracle takes small ones (in standardised
    units).

    Examples
    --------
    >>> sample = Sample([[-2.0], [-1.0], [1.0], [2.0]], [[0], [0], [1], [1]])
    >>> prices = np.ones(4)
    >>> answer = RegressionOracle().bind(sample)(Costs(sample, prices, prices))
    >>> answer.decide(np.array([[-0.5], [0.5]])).ravel()
    array([False,  True])
    """

    l2: float = 0.0
    exact = False
    reads_in_parts = True
    effort = 1.0

    def __post_init__(self) -> None:
        if not (isinstance(self.l2, int | float | np.number) and 0 <= self.l2 < np.inf):
            raise InputError(f"l2 must be finite and not negative; got {self.l2!r}.")
        if float(self.l2) > MOST_L2:
            raise InputError(f"l2 must be at most {MOST_L2:g}; got {self.l2!r}.")

    def bind(self, sample: Sample) -> _BoundRegression:
        """Factor the features once."""
        return _BoundRegression(sample, self.l2)


class _BoundRegression:
    """Normal equations in whitened coordinates, ready for any right-hand side.

    A is the design: a column of ones, then the standardised features. With A^T C A + P = R^T R, the
    columns of ``whiten`` = R^+ turn this matrix into the identity. So a complete task needs no
    solve, and the solve for a task with blanks is well-conditioned. A is never stored:
    standardising a block of features is cheap compared with the product that follows.
    """

    def __init__(self, sample: Sample, l2: float) -> None:
        self.standardiser = standardiser_of(sample)
        penalty = np.diag(np.sqrt(l2) * np.append(0.0, self.standardiser.inverse))
        self.whiten = self._whiten(sample, penalty)
        self.moments = self.whiten @ self.whiten.T
        self.partial = TaskSubset(np.flatnonzero(~sample.complete_tasks), sample.m)
        self.partial_moments = self._masked_moments(sample, penalty @ self.whiten)

    def _whiten(self, sample: Sample, penalty: FloatArray) -> FloatArray:
        triangles = sample.collect(_triangle, sample.counts, **self.standardiser.settings)
        with one_thread():
            triangle = reduce(_stack, triangles, penalty)
            # Scale columns to equal length: units and l2 then do not affect the rank.
            length = np.linalg.norm(triangle, axis=0)
            length[length == 0] = 1.0
            _, size, directions = np.linalg.svd(triangle / length, full_matrices=False)
        least = max(sample.n, sample.d + 1) * float(np.finfo(np.float64).eps)
        if sample.rows.precision != "float64":
            # Drop directions that exist only because float32 rounded linearly dependent columns.
            least = max(least, (sample.d + 1) * float(np.finfo(np.float32).eps))
        kept = size > size[0] * least
        return np.asarray(directions[kept].T / size[kept] / length[:, None])

    def _masked_moments(self, sample: Sample, penalty: FloatArray) -> FloatArray:
        """Return the inverse second moments of each task with blanks, shape (k, d+1, d+1)."""
        rank, tasks = self.whiten.shape[1], self.partial.tasks
        if not tasks.size:
            return np.zeros((0, len(self.whiten), len(self.whiten)))
        second = sample.total(
            _masked_sums,
            sample.counts,
            whiten=self.whiten,
            tasks=tasks,
            **self.standardiser.settings,
        )
        gram = second.T.reshape(-1, rank, rank) + penalty.T @ penalty
        inverse = np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
        return np.asarray(self.whiten @ inverse @ self.whiten.T)

    def __call__(self, costs: Costs) -> LinearThresholds:
        """Answer all tasks: coefficients = moments (A^T G), with G the cost gaps."""
        if costs.sample.rows.precision != "float64":
            costs = costs.in_reach()
        right = design_times_gaps(costs, self.standardiser)
        beta = self.moments @ right
        columns, ranks = self.partial.positions_in(costs.tasks)
        if columns.size:
            beta[:, columns] = np.einsum(
                "kab,bk->ak", self.partial_moments[ranks], right[:, columns], optimize=True
            )
        return self.standardiser.to_classifiers(beta, costs.tasks)


def _triangle(part: Part, counts: Any, *, mean: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return R of the weighted design, R^T R = A^T C A."""
    space, xp = part.space, part.space.xp
    width = len(mean) + 1
    triangle = np.zeros((0, width))
    # Factor at least four times as many rows as columns: fewer rows would be mostly overhead.
    for _, design, weights in design_blocks(part, counts, mean, inverse, width, 4 * width):
        weighted = design * xp.sqrt(weights)[:, None]
        if space.is_numpy:
            triangle = _stack(triangle, weighted)
        else:
            triangle = _stack(triangle, space.to_host(xp.linalg.qr(weighted)[1]))
    return triangle


def _stack(triangle: FloatArray, rows: FloatArray) -> FloatArray:
    """Return R of a QR factorisation of both sets of rows together."""
    return np.asarray(np.linalg.qr(np.vstack([triangle, rows]), mode="r"))


def _masked_sums(
    part: Part,
    counts: Any,
    *,
    mean: FloatArray,
    inverse: FloatArray,
    whiten: FloatArray,
    tasks: NDArray[np.intp],
) -> FloatArray:
    """Return the second moments of the whitened design over observed cells, (rank^2, k)."""
    space, xp = part.space, part.space.xp
    rank, here = whiten.shape[1], space.asarray(whiten)
    total, columns = np.zeros((rank * rank, len(tasks))), space.asarray(tasks)
    for rows, design, weight in design_blocks(
        part, counts, mean, inverse, rank * rank + len(tasks)
    ):
        block = design @ here
        outer = xp.reshape(block[:, :, None] * block[:, None, :], (-1, rank * rank))
        observed = xp.take(part.signs[rows, :], columns, axis=1) != 0
        weighted = xp.where(observed, weight[:, None], 0.0)
        total += space.to_host(xp.matrix_transpose(outer) @ weighted)
    return total
