"""The design: a column of ones, then the standardised features; shared by the linear oracles.

The design is never stored: standardising a block of features is cheap compared with the product
that follows. Answers are in the features' own units.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError
from averagefair.game.costs import TIE, Costs, gaps
from averagefair.game.degenerate_tasks import constant_tasks
from averagefair.oracles.linear import LinearThresholds, fused_kernels
from averagefair.people.backends import Space
from averagefair.people.blocks import scratch
from averagefair.people.parts import Part
from averagefair.people.sample import Sample

# Rounding error of a sum of products, relative to its largest terms.
_ROUNDING = 8 * float(np.finfo(np.float64).eps)
# Bounds on penalties, on features, and on the distance between a feature's values in standard
# deviations. Within these bounds, squares times any weight or price stay finite.
MOST_L2 = 1e100
_MOST, _FARTHEST = {"float64": 1e100, "float32": 1e30}, {"float64": 1e100, "float32": 1e15}

_STANDARDISERS: WeakKeyDictionary[Sample, Standardiser] = WeakKeyDictionary()
_GAP_SUMS: WeakKeyDictionary[Costs, tuple[Standardiser, FloatArray]] = WeakKeyDictionary()


def standardiser_of(sample: Sample) -> Standardiser:
    """Return a sample's standardiser, computed once for all oracles bound to the sample."""
    if sample not in _STANDARDISERS:
        _STANDARDISERS[sample] = Standardiser(sample)
    return _STANDARDISERS[sample]


def design_times_gaps(costs: Costs, standardiser: Standardiser) -> FloatArray:
    """Return design^T gaps, shape (d+1, k), computed once for all oracles with these costs."""
    cached = _GAP_SUMS.get(costs)
    if cached is None or cached[0] is not standardiser:
        sums = costs.sample.total(gap_sums, *costs.prices, **standardiser.settings).T
        sums.flags.writeable = False
        _GAP_SUMS[costs] = cached = standardiser, sums
    return cached[1]


class Standardiser:
    """The features' means and standard deviations; converts coefficients between units.

    Parameters
    ----------
    sample : Sample

    Attributes
    ----------
    mean, inverse : array, shape (d,)
        ``mean`` is subtracted from the features; the result is multiplied by ``inverse``.
    settings : dict
        Both arrays by name, for functions that make the design of a part.
    """

    def __init__(self, sample: Sample) -> None:
        counts, people = sample.counts, float(sample.individual_weights.sum())
        firsts, lows, highs = zip(*sample.collect(_first_moments, counts), strict=True)
        # Row 0: people of positive weight. Row 1: everybody, since everybody gets decisions.
        low, every_low = np.min(lows, axis=0)
        high, every_high = np.max(highs, axis=0)
        limits = _SizeLimits(sample)
        limits.refuse_large(np.maximum(np.abs(every_low), np.abs(every_high)))
        mean = sum(firsts) / people
        # Correct the rounding error of the first mean, which matters if the mean is large.
        rest, square = sample.total(_second_moments, counts, mean=mean) / people
        mean += rest
        deviation = np.sqrt(np.maximum(square - rest * rest, 0.0))
        # A column that varies only by rounding counts as constant and gets no coefficient.
        varies = high - low > 1e-13 * np.maximum(np.abs(low), np.abs(high))
        limits.refuse_small(np.where(varies, deviation, np.inf))
        scale = np.where(varies, deviation, np.inf)
        limits.refuse_outliers((every_high - every_low) / scale)
        self._typical = np.hypot(mean, deviation)
        # Round both to the precision of the design, which then uses exactly these numbers.
        dtype = np.float64 if sample.rows.precision == "float64" else np.float32
        self.mean = mean.astype(dtype).astype(np.float64)
        self.inverse = (1.0 / scale).astype(dtype).astype(np.float64)
        self.settings = {"mean": self.mean, "inverse": self.inverse}
        constant, self._labels = constant_tasks(sample)
        self._constant = TaskSubset(constant, sample.m)

    def to_classifiers(self, beta: FloatArray, tasks: NDArray[np.intp] | None) -> LinearThresholds:
        """Return classifiers in the features' units, from coefficients on the design, (d+1, k).

        Tasks with a single observed label get that label.
        """
        coefficients = beta[1:] * self.inverse[:, None]
        intercepts = beta[0] - self.mean @ coefficients
        # Decide 0 on a tie. The bound covers ties of standardised terms, and rounding of terms in
        # the features' units. Terms in these units may be far larger: the mean of a date in seconds
        # is millions of standard deviations.
        intercepts += TIE * np.abs(beta).sum(axis=0) + _ROUNDING * (
            np.abs(intercepts) + self._typical @ np.abs(coefficients)
        )
        columns, ranks = self._constant.positions_in(tasks)
        if columns.size:
            coefficients[:, columns] = 0.0
            intercepts[columns] = np.where(self._labels[ranks], -1.0, 1.0)
        return LinearThresholds(coefficients, intercepts)

    def to_design(self, answer: LinearThresholds) -> FloatArray:
        """Return coefficients on the design, (d+1, k), from classifiers in the features' units."""
        scale = np.where(self.inverse > 0, self.inverse, np.inf)
        intercepts = answer.intercepts + self.mean @ answer.coefficients
        return np.vstack([intercepts, answer.coefficients / scale[:, None]])


class _SizeLimits:
    """Limits on the size of features, within which sums of squares stay finite."""

    def __init__(self, sample: Sample) -> None:
        self.names = None if sample.feature_map is not None else sample.feature_names
        self.precision = "float64" if sample.rows.precision == "float64" else "float32"

    def refuse_large(self, sizes: FloatArray) -> None:
        """Refuse columns whose largest number is too large."""
        most = _MOST[self.precision]
        self._refuse(sizes > most, sizes, f"its largest number must be at most {most:g}")

    def refuse_small(self, deviations: FloatArray) -> None:
        """Refuse columns whose standard deviation is too small."""
        least = 1.0 / _MOST[self.precision]
        rule = f"its standard deviation must be 0 or at least {least:g}"
        self._refuse(deviations < least, deviations, rule)

    def refuse_outliers(self, distances: FloatArray) -> None:
        """Refuse columns whose numbers are too many standard deviations apart."""
        most = _FARTHEST[self.precision]
        rule = f"its numbers must be at most {most:g} standard deviations apart"
        self._refuse(distances > most, distances, rule)

    def _refuse(self, where: NDArray[np.bool_], values: FloatArray, rule: str) -> None:
        for column in np.flatnonzero(where)[:1].tolist():
            name = column if self.names is None else repr(self.names[column])
            raise InputError(
                f"column {name} of the features is too large or too small for linear classifiers "
                f"in {self.precision}: {rule}; got {values[column]:g}. Multiply the column by a "
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
    """Return gaps^T design, (k, d+1); without ``false_negative`` both mistakes cost the same."""
    if part.space.is_numpy:
        return _gap_sums_numpy(part, false_positive, false_negative, mean, inverse)
    space, fused = part.space, fused_kernels(part)
    if fused is None and part.precision == "tf32":
        raise InputError(
            "`dtype` 'tf32' needs Triton and a Hopper GPU (compute capability 9) or later; "
            f"{space.device} is older, or Triton is not installed. Use 'float32'."
        )
    if fused is None:
        return _gap_sums_array_api(part, false_positive, false_negative, mean, inverse)
    standard = space.asarray(mean), space.asarray(inverse)
    sums = fused.gap_sums(
        part.features, part.signs, *standard, false_positive, false_negative, part.precision
    )
    return space.to_host(sums)


def _gap_sums_numpy(
    part: Part,
    false_positive: FloatArray,
    false_negative: FloatArray | None,
    mean: FloatArray,
    inverse: FloatArray,
) -> FloatArray:
    """Compute gap_sums in NumPy, reusing one buffer for all blocks."""
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


def _gap_sums_array_api(
    part: Part,
    false_positive: Any,
    false_negative: Any | None,
    mean: FloatArray,
    inverse: FloatArray,
) -> FloatArray:
    """Compute gap_sums with another library's products, a large block at a time."""
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
    """Return the weighted sum of the features, their minima and their maxima.

    Shapes (d,), (2, d) and (2, d). Row 0 of minima and maxima is over people of positive weight,
    row 1 over everybody. The sum may overflow; the caller then refuses the features, by their size.
    """
    space, xp = part.space, part.space.xp
    d = part.features.shape[1]
    total, low, high = np.zeros(d), np.full((2, d), np.inf), np.full((2, d), -np.inf)
    for rows in part.blocks(d):
        features = xp.astype(part.features[rows, :], xp.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            total += space.to_host(counts[rows] @ features)
        present = counts[rows] > 0
        weighted = features if bool(xp.all(present)) else features[present]
        for row, people in enumerate((weighted, features)):
            if people.shape[0]:
                low[row] = np.minimum(low[row], space.to_host(xp.min(people, axis=0)))
                high[row] = np.maximum(high[row], space.to_host(xp.max(people, axis=0)))
    return total, low, high


def _second_moments(part: Part, counts: Any, *, mean: FloatArray) -> FloatArray:
    """Return the weighted sums of x - mean and of its square, shape (2, d)."""
    space, xp = part.space, part.space.xp
    center, total = space.asarray(mean), np.zeros((2, len(mean)))
    for rows in part.blocks(len(mean)):
        centred = xp.astype(part.features[rows, :], xp.float64, copy=False) - center
        total[0] += space.to_host(counts[rows] @ centred)
        total[1] += space.to_host(counts[rows] @ (centred * centred))
    return total


class TaskSubset:
    """Some of m tasks, and their positions in any selection of tasks."""

    def __init__(self, tasks: NDArray[np.intp], m: int) -> None:
        self.tasks = tasks
        self.rank = np.full(m, -1)
        self.rank[tasks] = np.arange(tasks.size)

    def positions_in(
        self, selection: NDArray[np.intp] | None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return where the subset's tasks are in the selection, and their ranks in the subset."""
        if not self.tasks.size:
            return self.tasks, self.tasks
        rank = self.rank if selection is None else self.rank[selection]
        positions = np.flatnonzero(rank >= 0)
        return positions, rank[positions]
