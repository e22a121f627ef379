"""Least squares on cost gaps: the paper's linear-threshold heuristic, for all tasks at once.

The paper's heuristic regresses the cost of deciding 1 and the cost of deciding 0 on the features
and decides 1 where the first prediction is smaller. Both regressions share X, so their
difference is one regression of the gap g = c1 - c0. X is factored once; after that a best
response for all tasks is two matrix products, A^T G and (features) times (coefficients).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.blocks import count_true, scratch
from averagefair.costs import TIE, Costs, gaps
from averagefair.errors import InputError
from averagefair.oracles.degenerate import constant_tasks
from averagefair.parts import Part
from averagefair.sample import FloatArray, Sample
from averagefair.spaces import Space
from averagefair.threads import one_thread


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

    def decide(self, features: Any) -> Any:
        """Decide for each person and task, where the features are; shape (n, k)."""
        space = Space.of(features)
        if space.is_numpy and features.dtype == np.float64:
            return np.asarray(features @ self.coefficients < -self.intercepts)
        dtype = "float32" if features.dtype == space.xp.float32 else "float64"
        coefficients = space.asarray(self.coefficients, dtype)
        with space.full_precision():
            scores = features @ coefficients
        return scores < -space.asarray(self.intercepts, dtype)

    def count_mistakes(self, part: Part, by_label: bool) -> tuple[Any, ...] | None:
        """Count everybody's mistakes without writing down the scores of more than a block.

        Returns
        -------
        tuple of integer arrays of shape (rows,), or None where there is no such way
            All mistakes; or those on label 0, then those on label 1.
        """
        if part.space.is_numpy:
            return self._count_here(part, by_label)
        fused = _fused(part)
        if fused is None:
            return None
        counted = fused.mistakes(
            part.features,
            part.signs,
            part.space.asarray(self.coefficients),
            part.space.asarray(self.intercepts),
            by_label=by_label,
            precision=part.precision,
        )
        return tuple(counted) if by_label else (counted,)

    def _count_here(self, part: Part, by_label: bool) -> tuple[NDArray[np.uint32], ...]:
        k, dtype = part.signs.shape[1], part.features.dtype
        coefficients = self.coefficients.astype(dtype, copy=False)
        highest = -self.intercepts.astype(dtype, copy=False)
        out = np.empty((1 + by_label, len(part)), dtype=np.uint32)
        for rows in part.blocks(k):
            signs, size = part.signs[rows], rows.stop - rows.start
            scores, ones, marks = (
                scratch(name, size, k, kind)
                for name, kind in (("scores", dtype), ("ones", np.bool_), ("marks", np.bool_))
            )
            np.matmul(part.features[rows], coefficients, out=scores)
            np.less(scores, highest, out=ones)
            if by_label:
                np.greater(signs, 0, out=marks)
                out[0, rows] = count_true(np.logical_and(marks, ones, out=marks))
                np.less(signs, 0, out=marks)
                out[1, rows] = count_true(np.greater(marks, ones, out=marks))
            else:
                # Wrong is label 0, sign +1, decided 1, and label 1, sign -1, decided 0.
                decided = scratch("decided", size, k, np.int8)
                np.subtract(np.multiply(ones.view(np.int8), 2, out=decided), 1, out=decided)
                out[0, rows] = count_true(np.equal(signs, decided, out=marks))
        return tuple(out)

    def key(self) -> Hashable:
        """Return the coefficients' bytes."""
        return self.coefficients.tobytes(), self.intercepts.tobytes()


def _fused(part: Part) -> Any:
    """Return the kernels for a part that is on a GPU in float32; None where they do not serve."""
    space = part.space
    if part.precision == "float64" or not (space.is_torch and space.is_gpu):
        return None
    try:
        from averagefair.oracles import fused
    except ImportError:  # PyTorch without Triton
        return None
    return fused if fused.serves(space.device) else None


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
    >>> answer = RegressionOracle().bind(sample)(Costs(sample, prices, prices))
    >>> answer.decide(np.array([[-0.5], [0.5]])).ravel()
    array([False,  True])
    """

    l2: float = 0.0
    exact = False
    anywhere = True

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
    all, and a task with blanks only a well-conditioned one. A is never stored: standardising a
    block of features costs little beside the product it goes into.
    """

    def __init__(self, sample: Sample, l2: float) -> None:
        counts, people = sample.counts, float(sample.individual_weights.sum())
        firsts = sample.collect(_first_moments, counts)
        mean = sum(first for first, _, _ in firsts) / people
        low = np.min([one for _, one, _ in firsts], axis=0)
        high = np.max([one for _, _, one in firsts], axis=0)
        # The first mean is off by rounding; what is left of it matters where the mean is large.
        rest, square = sample.total(_second_moments, counts, mean=mean) / people
        mean += rest
        deviation = np.sqrt(np.maximum(square - rest * rest, 0.0))
        # A column that varies by rounding alone is constant: it gets no coefficient.
        varies = high - low > 1e-13 * np.maximum(np.abs(low), np.abs(high))
        scale = np.where(varies & (deviation > 0), deviation, np.inf)
        self.typical = np.hypot(mean, deviation)
        # As the design is computed with them, these are its mean and scale by definition.
        dtype = np.float64 if sample.rows.precision == "float64" else np.float32
        self.mean = mean.astype(dtype).astype(np.float64)
        self.inverse = (1.0 / scale).astype(dtype).astype(np.float64)
        self._standard = {"mean": self.mean, "inverse": self.inverse}
        penalty = np.diag(np.sqrt(l2) * np.append(0.0, self.inverse))
        self.whiten = self._whiten(sample, penalty)
        self.moments = self.whiten @ self.whiten.T
        self.partial = _SomeTasks(np.flatnonzero(~sample.complete_tasks), sample.m)
        self.partial_moments = self._masked_moments(sample, penalty @ self.whiten)
        constant, self.labels = constant_tasks(sample)
        self.constant = _SomeTasks(constant, sample.m)

    def _whiten(self, sample: Sample, penalty: FloatArray) -> FloatArray:
        triangles = sample.collect(_triangle, sample.counts, **self._standard)
        with one_thread():
            triangle = reduce(_stack, triangles, penalty)
            # Columns of equal length make the rank a matter of direction, not of units or of l2.
            length = np.linalg.norm(triangle, axis=0)
            length[length == 0] = 1.0
            _, size, directions = np.linalg.svd(triangle / length, full_matrices=False)
        least = max(sample.n, sample.d + 1) * float(np.finfo(np.float64).eps)
        if sample.rows.precision != "float64":
            # What rounding to float32 made of columns that depend on each other is no direction.
            least = max(least, (sample.d + 1) * float(np.finfo(np.float32).eps))
        kept = size > size[0] * least
        return np.asarray(directions[kept].T / size[kept] / length[:, None])

    def _masked_moments(self, sample: Sample, penalty: FloatArray) -> FloatArray:
        """Return the inverse second moments of each task with blanks, shape (k, d+1, d+1)."""
        rank, tasks = self.whiten.shape[1], self.partial.tasks
        if not tasks.size:
            return np.zeros((0, len(self.whiten), len(self.whiten)))
        second = sample.total(
            _masked_sums, sample.counts, whiten=self.whiten, tasks=tasks, **self._standard
        )
        gram = second.T.reshape(-1, rank, rank) + penalty.T @ penalty
        inverse = np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
        return np.asarray(self.whiten @ inverse @ self.whiten.T)

    def __call__(self, costs: Costs) -> LinearThresholds:
        """Answer all tasks: coefficients = moments (A^T G)."""
        alike = costs.false_positive is costs.false_negative
        prices = costs.false_positive, None if alike else costs.false_negative
        right = costs.sample.total(_gap_sums, *prices, **self._standard).T
        beta = self.moments @ right
        here, there = self.partial.among(costs.tasks)
        if here.size:
            beta[:, here] = np.einsum(
                "kab,bk->ak", self.partial_moments[there], right[:, here], optimize=True
            )
        coefficients = beta[1:] * self.inverse[:, None]
        intercepts = beta[0] - self.mean @ coefficients
        intercepts += TIE * (np.abs(intercepts) + self.typical @ np.abs(coefficients))
        here, there = self.constant.among(costs.tasks)
        if here.size:
            coefficients[:, here] = 0.0
            intercepts[here] = np.where(self.labels[there], -1.0, 1.0)
        return LinearThresholds(coefficients, intercepts)


def _gap_sums(
    part: Part,
    false_positive: Any,
    false_negative: Any | None,
    *,
    mean: FloatArray,
    inverse: FloatArray,
) -> FloatArray:
    """Return G^T A, shape (k, d+1); ``false_negative`` None means: priced as false positives."""
    if part.space.is_numpy:
        return _gap_sums_here(part, false_positive, false_negative, mean, inverse)
    space, fused = part.space, _fused(part)
    if fused is None and part.precision == "tf32":
        raise InputError(
            "`dtype` 'tf32' needs a Hopper GPU (compute capability 9) or a later one, and Triton; "
            f"{space.device} is none, or Triton is not installed. Use 'float32'."
        )
    if fused is None:
        return _gap_sums_there(part, false_positive, false_negative, mean, inverse)
    standard = space.asarray(mean), space.asarray(inverse)
    sums = fused.gap_sums(
        part.features, part.signs, *standard, false_positive, false_negative, part.precision
    )
    return space.to_host(sums)


def _gap_sums_here(
    part: Part,
    false_positive: FloatArray,
    false_negative: FloatArray | None,
    mean: FloatArray,
    inverse: FloatArray,
) -> FloatArray:
    """Do it in NumPy, every block in the same memory."""
    d, k = part.features.shape[1], part.signs.shape[1]
    dtype, total = part.features.dtype, np.zeros((k, d + 1))
    mean, inverse = mean.astype(dtype, copy=False), inverse.astype(dtype, copy=False)
    for rows in part.blocks(max(k, d + 1)):
        design = _design(part.features[rows], mean, inverse)
        signs = scratch("signs", len(design), k, dtype)
        np.copyto(signs, part.signs[rows])
        price = false_positive[rows].astype(dtype, copy=False)
        if false_negative is None:
            design *= price[:, None]
        else:
            signs = gaps(signs, price, false_negative[rows].astype(dtype, copy=False))
        total += signs.T @ design
    return total


def _gap_sums_there(
    part: Part,
    false_positive: Any,
    false_negative: Any | None,
    mean: FloatArray,
    inverse: FloatArray,
) -> FloatArray:
    """Do it with the products of another library, a large block at a time."""
    space, xp, dtype = part.space, part.space.xp, part.features.dtype
    d, k = part.features.shape[1], part.signs.shape[1]
    total = space.zeros((k, d + 1))
    name = "float64" if part.precision == "float64" else "float32"
    standard = space.asarray(mean, name), space.asarray(inverse, name)
    for rows in part.blocks(max(k, d + 1)):
        design = _design(part.features[rows, :], *standard)
        signs = xp.astype(part.signs[rows, :], dtype)
        price = xp.astype(false_positive[rows], dtype, copy=False)
        if false_negative is None:
            design *= price[:, None]
        else:
            signs = gaps(signs, price, xp.astype(false_negative[rows], dtype, copy=False))
        with space.full_precision():
            product = xp.matrix_transpose(signs) @ design
        total += xp.astype(product, xp.float64, copy=False)
    return space.to_host(total)


def _design(features: Any, mean: Any, inverse: Any) -> Any:
    """Return A: a column of ones, then the standardised features; shape (rows, d+1)."""
    n, d = features.shape
    if isinstance(features, np.ndarray):
        design = scratch("design", n, d + 1, features.dtype)
        design[:, 0] = 1.0
        np.subtract(features, mean, out=design[:, 1:])
        design[:, 1:] *= inverse
        return design
    space = Space.of(features)
    ones = space.xp.ones((n, 1), dtype=features.dtype, device=space.device)
    return space.xp.concat([ones, (features - mean) * inverse], axis=1)


def _design_blocks(
    part: Part,
    counts: Any,
    mean: FloatArray,
    inverse: FloatArray,
    width: int,
    least_rows: int = 1,
) -> Any:
    """Yield rows, the design over them in float64, and the people's weights."""
    space, xp = part.space, part.space.xp
    standard = space.asarray(mean), space.asarray(inverse)
    for rows in part.blocks(width, least_rows):
        features = xp.astype(part.features[rows, :], xp.float64, copy=False)
        yield rows, _design(features, *standard), counts[rows]


def _first_moments(part: Part, counts: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weighted sum of the features, and their ends over those who are present."""
    space, xp = part.space, part.space.xp
    d = part.features.shape[1]
    total, low, high = np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)
    for rows in part.blocks(d):
        features = xp.astype(part.features[rows, :], xp.float64, copy=False)
        total += space.to_host(counts[rows] @ features)
        present = counts[rows] > 0
        if not bool(xp.all(present)):
            features = features[present]
        if features.shape[0]:
            low = np.minimum(low, space.to_host(xp.min(features, axis=0)))
            high = np.maximum(high, space.to_host(xp.max(features, axis=0)))
    return total, low, high


def _second_moments(part: Part, counts: Any, *, mean: FloatArray) -> FloatArray:
    """Return the weighted sums of x - mean and of its square, shape (2, d)."""
    space, xp = part.space, part.space.xp
    center, total = space.asarray(mean), np.zeros((2, len(mean)))
    for rows in part.blocks(len(mean)):
        off = xp.astype(part.features[rows, :], xp.float64, copy=False) - center
        total[0] += space.to_host(counts[rows] @ off)
        total[1] += space.to_host(counts[rows] @ (off * off))
    return total


def _triangle(part: Part, counts: Any, *, mean: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return R of the weighted design, R^T R = A^T C A."""
    space, xp = part.space, part.space.xp
    width = len(mean) + 1
    triangle = np.zeros((0, width))
    # To triangulate fewer rows than there are columns would be mostly overhead.
    for _, design, here in _design_blocks(part, counts, mean, inverse, width, 4 * width):
        weighted = design * xp.sqrt(here)[:, None]
        if space.is_numpy:
            triangle = _stack(triangle, weighted)
        else:
            triangle = _stack(triangle, space.to_host(xp.linalg.qr(weighted)[1]))
    return triangle


def _stack(triangle: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the triangle of two sets of rows, one below the other."""
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
    """Return the second moments of the whitened design over those observed, (rank^2, k)."""
    space, xp = part.space, part.space.xp
    rank, here = whiten.shape[1], space.asarray(whiten)
    total, columns = np.zeros((rank * rank, len(tasks))), space.asarray(tasks)
    for rows, design, weight in _design_blocks(
        part, counts, mean, inverse, rank * rank + len(tasks)
    ):
        block = design @ here
        outer = xp.reshape(block[:, :, None] * block[:, None, :], (-1, rank * rank))
        observed = xp.take(part.signs[rows, :], columns, axis=1) != 0
        weighted = xp.where(observed, weight[:, None], 0.0)
        total += space.to_host(xp.matrix_transpose(outer) @ weighted)
    return total


class _SomeTasks:
    """Some of m tasks, and where they stand among any selection of tasks."""

    def __init__(self, tasks: NDArray[np.intp], m: int) -> None:
        self.tasks = tasks
        self.rank = np.full(m, -1)
        self.rank[tasks] = np.arange(tasks.size)

    def among(
        self, selection: NDArray[np.intp] | None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which of the selected are of these tasks, and which of these they are."""
        if not self.tasks.size:
            return self.tasks, self.tasks
        rank = self.rank if selection is None else self.rank[selection]
        here = np.flatnonzero(rank >= 0)
        return here, rank[here]
