"""Linear classifiers for many tasks, and what the oracles that answer with them share.

All of them work on the *design*: a column of ones, then the standardised features. It is never
stored: standardising a block of features costs little beside the product it goes into. What they
answer is in the features' own units.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.blocks import count_true, scratch
from averagefair.costs import TIE, gaps
from averagefair.errors import InputError
from averagefair.oracles.degenerate import constant_tasks
from averagefair.parts import Part
from averagefair.sample import FloatArray, Sample
from averagefair.spaces import Space
from averagefair.threads import one_thread

# Sums of products are off by a few units in the last place of their largest terms.
_ROUNDING = 8 * float(np.finfo(np.float64).eps)
# Features, and how many deviations they are from each other: squares of such sizes, times any
# weight or price, are numbers.
MOST_L2 = 1e100
_MOST, _FARTHEST = {"float64": 1e100, "float32": 1e30}, {"float64": 1e100, "float32": 1e15}


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
        """Decide for each person and task, where the features are; shape (n, k).

        Parameters
        ----------
        features : array, shape (n, d)
            Everybody's features.
        """
        space = Space.of(features)
        dtype = "float32" if features.dtype == space.xp.float32 else "float64"
        if space.is_numpy:
            coefficients, intercepts = (one.astype(dtype, copy=False) for one in self._both)
            # NumPy hears of an overflow only where it happens in the thread that asked.
            with one_thread(), _overflow_raises():
                try:
                    return np.asarray(features @ coefficients < -intercepts)
                except FloatingPointError:
                    return self._decide_anything(features)
        coefficients, intercepts = (space.asarray(one, dtype) for one in self._both)
        with space.full_precision():
            scores = features @ coefficients
        if not bool(space.xp.all(space.xp.isfinite(scores))):
            return space.asarray(self._decide_anything(space.to_host(features)))
        return scores < -intercepts

    @property
    def _both(self) -> tuple[FloatArray, FloatArray]:
        return self.coefficients, self.intercepts

    def _decide_anything(self, features: NDArray[Any]) -> NDArray[np.bool_]:
        """Decide where scores are beyond all numbers: in units of each row and of each task."""
        features = features.astype(np.float64, copy=False)
        rows = _units(np.abs(features).max(axis=1, initial=1.0))
        tasks = _units(np.abs(np.vstack(self._both)).max(axis=0))
        scores = (features * rows[:, None]) @ (self.coefficients * tasks)
        return np.asarray(scores < -rows[:, None] * (self.intercepts * tasks))

    def count_mistakes(self, part: Part, by_label: bool) -> tuple[Any, ...] | None:
        """Count everybody's mistakes without writing down the scores of more than a block.

        Parameters
        ----------
        part : Part
            The people, with their features and signs.
        by_label : bool
            Whether to count mistakes on label 0 and on label 1 by themselves.

        Returns
        -------
        tuple of integer arrays of shape (rows,), or None where there is no such way
            All mistakes; or those on label 0, then those on label 1.
        """
        if part.space.is_numpy:
            return self._count_here(part, by_label)
        fused = fused_kernels(part)
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
            try:
                with _overflow_raises():
                    np.matmul(part.features[rows], coefficients, out=scores)
                np.less(scores, highest, out=ones)
            except FloatingPointError:
                ones[:] = self._decide_anything(part.features[rows])
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


def _overflow_raises() -> np.errstate:
    """Return a context in which a sum beyond all numbers raises FloatingPointError."""
    return np.errstate(over="raise", invalid="raise")


def _units(sizes: FloatArray) -> FloatArray:
    """Return the powers of two that bring such sizes to below 1."""
    return np.asarray(np.ldexp(1.0, np.clip(-np.frexp(sizes)[1], -1022, 1022)))


def fused_kernels(part: Part) -> Any:
    """Return the kernels for a part that is on a GPU in float32; None where they do not serve."""
    space = part.space
    if part.precision == "float64" or not (space.is_torch and space.is_gpu):
        return None
    try:
        from averagefair.oracles import fused
    except ImportError:  # PyTorch without Triton
        return None
    return fused if fused.serves(space.device) else None


class Standard:
    """The features' means and deviations over the people, and the way back from them.

    Parameters
    ----------
    sample : Sample

    Attributes
    ----------
    mean, inverse : array, shape (d,)
        What is subtracted from the features, and what they are multiplied by then.
    settings : dict
        Both, by name: what work on a part needs to make its design.
    """

    def __init__(self, sample: Sample) -> None:
        counts, people = sample.counts, float(sample.individual_weights.sum())
        firsts, lows, highs = zip(*sample.collect(_first_moments, counts), strict=True)
        # Of those present, and of everybody: absent people are decided about too.
        low, every_low = np.min(lows, axis=0)
        high, every_high = np.max(highs, axis=0)
        sizes = _Sizes(sample)
        sizes.refuse_large(np.maximum(np.abs(every_low), np.abs(every_high)))
        mean = sum(firsts) / people
        # The first mean is off by rounding; what is left of it matters where the mean is large.
        rest, square = sample.total(_second_moments, counts, mean=mean) / people
        mean += rest
        deviation = np.sqrt(np.maximum(square - rest * rest, 0.0))
        # A column that varies by rounding alone is constant: it gets no coefficient.
        varies = high - low > 1e-13 * np.maximum(np.abs(low), np.abs(high))
        sizes.refuse_small(np.where(varies, deviation, np.inf))
        scale = np.where(varies, deviation, np.inf)
        sizes.refuse_outliers((every_high - every_low) / scale)
        self._typical = np.hypot(mean, deviation)
        # As the design is computed with them, these are its mean and scale by definition.
        dtype = np.float64 if sample.rows.precision == "float64" else np.float32
        self.mean = mean.astype(dtype).astype(np.float64)
        self.inverse = (1.0 / scale).astype(dtype).astype(np.float64)
        self.settings = {"mean": self.mean, "inverse": self.inverse}
        constant, self._labels = constant_tasks(sample)
        self._constant = SomeTasks(constant, sample.m)

    def plain(self, beta: FloatArray, tasks: NDArray[np.intp] | None) -> LinearThresholds:
        """Return the classifiers of coefficients on the design, shape (d+1, k).

        Tasks that show a single label get that label.
        """
        coefficients = beta[1:] * self.inverse[:, None]
        intercepts = beta[0] - self.mean @ coefficients
        # A tie of standardised terms; and what sums of the plain ones, which may be far larger
        # (the mean of a date in seconds is millions of its deviations), are off by.
        intercepts += TIE * np.abs(beta).sum(axis=0) + _ROUNDING * (
            np.abs(intercepts) + self._typical @ np.abs(coefficients)
        )
        here, there = self._constant.among(tasks)
        if here.size:
            coefficients[:, here] = 0.0
            intercepts[here] = np.where(self._labels[there], -1.0, 1.0)
        return LinearThresholds(coefficients, intercepts)

    def on_design(self, answer: LinearThresholds) -> FloatArray:
        """Return the coefficients on the design of classifiers in plain units, shape (d+1, k)."""
        scale = np.where(self.inverse > 0, self.inverse, np.inf)
        intercepts = answer.intercepts + self.mean @ answer.coefficients
        return np.vstack([intercepts, answer.coefficients / scale[:, None]])


class _Sizes:
    """What size a sample's features may be of, for sums of their squares to be numbers."""

    def __init__(self, sample: Sample) -> None:
        self.names = None if sample.feature_map is not None else sample.feature_names
        self.precision = "float64" if sample.rows.precision == "float64" else "float32"

    def refuse_large(self, sizes: FloatArray) -> None:
        """Refuse columns by the size of their largest number."""
        most = _MOST[self.precision]
        self._refuse(sizes > most, sizes, f"its largest number must be at most {most:g}")

    def refuse_small(self, deviations: FloatArray) -> None:
        """Refuse columns by their standard deviation."""
        least = 1.0 / _MOST[self.precision]
        rule = f"the standard deviation of what is no constant must be at least {least:g}"
        self._refuse(deviations < least, deviations, rule)

    def refuse_outliers(self, distances: FloatArray) -> None:
        """Refuse columns by how many deviations their numbers are apart."""
        most = _FARTHEST[self.precision]
        rule = f"its numbers must be at most {most:g} standard deviations apart"
        self._refuse(distances > most, distances, rule)

    def _refuse(self, where: NDArray[np.bool_], found: FloatArray, rule: str) -> None:
        for column in np.flatnonzero(where)[:1].tolist():
            name = column if self.names is None else repr(self.names[column])
            raise InputError(
                f"column {name} of the features is too large or too small for linear classifiers "
                f"in {self.precision}: {rule}; got {found[column]:g}. Multiply the column by a "
                "number, take its logarithm, or leave it out."
            )


def gap_sums(
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
    space, fused = part.space, fused_kernels(part)
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
        design = design_of(part.features[rows], mean, inverse)
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
        design = design_of(part.features[rows, :], *standard)
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


def design_of(features: Any, mean: Any, inverse: Any) -> Any:
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


def design_blocks(
    part: Part,
    counts: Any,
    mean: FloatArray,
    inverse: FloatArray,
    width: int,
    least_rows: int = 1,
) -> Iterator[tuple[slice, Any, Any]]:
    """Yield rows, the design over them in float64, and the people's weights."""
    space, xp = part.space, part.space.xp
    standard = space.asarray(mean), space.asarray(inverse)
    for rows in part.blocks(width, least_rows):
        features = xp.astype(part.features[rows, :], xp.float64, copy=False)
        yield rows, design_of(features, *standard), counts[rows]


def _first_moments(part: Part, counts: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weighted sum of the features, and their ends: of those present, of everybody.

    Shapes (d,), (2, d) and (2, d). What is not finite in the sum is refused by the ends.
    """
    space, xp = part.space, part.space.xp
    d = part.features.shape[1]
    total, low, high = np.zeros(d), np.full((2, d), np.inf), np.full((2, d), -np.inf)
    for rows in part.blocks(d):
        features = xp.astype(part.features[rows, :], xp.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            total += space.to_host(counts[rows] @ features)
        present = counts[rows] > 0
        some = features if bool(xp.all(present)) else features[present]
        for place, those in enumerate((some, features)):
            if those.shape[0]:
                low[place] = np.minimum(low[place], space.to_host(xp.min(those, axis=0)))
                high[place] = np.maximum(high[place], space.to_host(xp.max(those, axis=0)))
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


class SomeTasks:
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
