"""Measuring decisions: everybody's rates and the overall error, from data and decisions alone.

The Learner measures its plays (its answers) here, and the certificate measures the final
classifiers. The evaluation measures decisions on held-out people or tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError
from averagefair.game.blocks import Blocks
from averagefair.game.protocols import Hypothesis, Rate
from averagefair.game.rates import Rates
from averagefair.people.backends import Space, is_foreign, to_host
from averagefair.people.blocks import count_true
from averagefair.people.frames import align, read_table
from averagefair.people.parts import Part
from averagefair.people.sample import Sample
from averagefair.people.threads import one_thread

Decide = Callable[[Any], Any]
"""Features (k, d) in; decisions (k, m) out, booleans or chances of deciding 1."""


class Measurement(NamedTuple):
    """Error and individual rates of some decisions.

    Attributes
    ----------
    error : float
        Overall error: the weighted mean of the defined individual error rates. NaN if none is
        defined.
    rates : array, shape (n,)
        Individual rates R_i; NaN where undefined. With several rates: shape (n, rates).
    """

    error: float
    rates: Any

    @property
    def spread(self) -> float:
        """Largest minus smallest individual rate; NaN if nobody has a rate.

        With several rates: the largest spread.
        """
        rates = to_host(self.rates)
        columns = rates.reshape(len(rates), -1).T
        defined = [column[~np.isnan(column)] for column in columns]
        return float(max((np.ptp(rates) for rates in defined if rates.size), default=np.nan))

    def on_host(self) -> Measurement:
        """Return the same measurement with the rates in NumPy."""
        return Measurement(self.error, to_host(self.rates))


class Meter:
    """Measures any decisions on one sample, in its own array library or cluster.

    Parameters
    ----------
    sample : Sample
    rate : str, Rate, or list of these

    Attributes
    ----------
    rho : array, shape (n,), or (n, rates) for a sequence of rates
        The share of tasks that counts towards each individual's rate; 0 where undefined.
    error_rho : array, shape (n,)
        The share of tasks in which each individual's label is observed.
    shares : array, shape (n,)
        a_i: each individual's share in the overall error; 0 for people without an observed label,
        NaN if nobody has a label.

    All arrays are in the sample's space (its array library and device).

    Examples
    --------
    >>> from averagefair.game.rates import ErrorRate
    >>> sample = Sample([[0.2], [0.9]], [[0, 1], [1, None]])
    >>> Meter(sample, ErrorRate())(lambda x: np.repeat(x > 0.5, 2, axis=1))
    Measurement(error=0.25, rates=array([0.5, 0. ]))
    """

    def __init__(self, sample: Sample, rate: str | Rate | Sequence[str | Rate]) -> None:
        self.sample, self._rates = sample, Rates.of(rate)
        self._by_label = any(own.negatives != own.positives for own in self._rates)
        b = sample.task_weights
        # Count in whole numbers if all tasks weigh the same: this is exact on every machine, and
        # several times faster than adding up floats.
        alike = len(b) > 0 and bool((b == b[0]).all())
        self._task_weights: FloatArray | float = 1.0 if alike else b
        unit = float(b[0]) if alike else 1.0
        self._complete = bool(sample.complete_tasks.all())
        xp = sample.space.xp
        negatives, positives = self._by_person(_label_shares)
        counting, observed = self._weigh(negatives, positives), negatives + positives
        self.rho, self.error_rho = counting * unit, observed * unit
        self._people = xp.where(observed > 0, sample.counts, 0.0)
        total = float(xp.sum(self._people))
        self.shares = self._people / total if total > 0 else self._people + float("nan")
        self._counting_or_nan = xp.where(counting > 0, counting, float("nan"))
        self._observed_or_one = xp.where(observed > 0, observed, 1.0)
        # The number of decisions, if all of them weigh the same.
        self._cells = total * len(b) if alike and self._complete and total > 0 else None

    def __call__(self, decide: Hypothesis | Decide) -> Measurement:
        """Return the overall error and everybody's rate under these decisions.

        Parameters
        ----------
        decide : Hypothesis, or callable
            A callable takes features (k, d) and returns decisions or chances (k, m).
        """
        # One thread for each product: the last digits of a sum depend on the number of threads.
        with one_thread(spread=True):
            mistakes = self._by_person(
                _mistakes, decide=decide, by_label=self._by_label, complete=self._complete
            )
            return self._measured(mistakes)

    def count(self, hypothesis: Hypothesis, blocks: Blocks) -> Any:
        """Return everybody's mistakes in each block of tasks, shape (labels, blocks, n).

        Parameters
        ----------
        hypothesis : Hypothesis
        blocks : Blocks
        """
        with one_thread(spread=True):
            results = self.sample.collect(
                _block_mistakes,
                task_weights=self._task_weights,
                hypothesis=hypothesis,
                by_label=self._by_label,
                complete=self._complete,
                edges=blocks.edges,
                dtype=blocks.dtype,
            )
        if len(results) == 1:
            return results[0]
        return self.sample.space.xp.concat(results, axis=2)

    def measure(self, counts: Any) -> Measurement:
        """Return the overall error and everybody's rate from the mistakes of all blocks.

        Parameters
        ----------
        counts : array, shape (labels, blocks, n)
            From :meth:`count`.
        """
        xp = self.sample.space.xp
        total = xp.sum(counts, axis=1, dtype=xp.float64)
        return self._measured([total[label, :] for label in range(total.shape[0])])

    def block_errors(self, counts: Any) -> FloatArray:
        """Return each block's share of the overall error, shape (blocks,), in NumPy.

        Parameters
        ----------
        counts : array, shape (labels, blocks, n)
            From :meth:`count`.
        """
        space, xp = self.sample.space, self.sample.space.xp
        if self._cells is not None:
            weights, unit = self._people, self._cells
        else:
            weights, unit = self.shares / self._observed_or_one, 1.0
        total = np.zeros(counts.shape[1])
        for label in range(counts.shape[0]):
            total += space.to_host(xp.astype(counts[label, :, :], xp.float64) @ weights)
        return total / unit

    def scales(self) -> Any:
        """Return how much a mistake adds to each rate, shape (labels, n, rates); NaN if undefined.

        The labels are those of :meth:`count`. Without a list of rates the shape is (labels, n).
        """
        space, xp = self.sample.space, self.sample.space.xp
        ones, zeros = xp.ones_like(self._people), space.zeros(self.sample.n)
        if not self._by_label:
            return xp.stack([self._weigh(ones, None) / self._counting_or_nan])
        each = (self._weigh(ones, zeros), self._weigh(zeros, ones))
        return xp.stack([own / self._counting_or_nan for own in each])

    def _measured(self, mistakes: Sequence[Any]) -> Measurement:
        """Return the measurement of everybody's mistakes: of all, or on label 0 and on label 1."""
        wrong = mistakes[0] + mistakes[1] if self._by_label else mistakes[0]
        counted = self._weigh(*mistakes) if self._by_label else self._weigh(wrong, None)
        return Measurement(self._error(wrong), counted / self._counting_or_nan)

    def mix(self, parts: Iterable[tuple[Any, Hypothesis]]) -> Measurement:
        """Return the expected measurement of a mixture of (chance, hypothesis).

        A chance is a number, or an array with a number for each task.
        """
        parts = tuple(parts)
        if any(np.ndim(chance) for chance, _ in parts):
            return self(_Expected(parts))
        error, rates = 0.0, 0.0
        for chance, hypothesis in parts:
            measured = self(hypothesis)
            error, rates = error + chance * measured.error, rates + chance * measured.rates
        return Measurement(error, rates)

    def _error(self, wrong: Any) -> float:
        """Return the overall error from everybody's mistakes.

        Answers with the same number of mistakes must have exactly the same error. Solvers compare
        errors, and a difference in the last digit would decide between two equally good answers.
        Whole numbers add up without rounding, in any order.
        """
        if self._cells is not None:
            return float(self._people @ wrong) / self._cells
        return float(self.shares @ (wrong / self._observed_or_one))

    def _weigh(self, on_negatives: Any, on_positives: Any | None) -> Any:
        """Add up counts on label 0 and on label 1 with each rate's weights.

        If both labels weigh the same, ``on_negatives`` holds both and ``on_positives`` is None.
        """
        counted = [
            float(rate.negatives) * on_negatives
            if on_positives is None
            else float(rate.negatives) * on_negatives + float(rate.positives) * on_positives
            for rate in self._rates
        ]
        return self.sample.space.xp.stack(counted, axis=1) if self._rates.listed else counted[0]

    def _by_person(self, work: Any, **settings: Any) -> list[Any]:
        """Run a function on each part of the people; return its vectors over all people."""
        results = self.sample.collect(work, task_weights=self._task_weights, **settings)
        if len(results) == 1:
            return list(results[0])
        return [self.sample.space.xp.concat(pieces) for pieces in zip(*results, strict=True)]


@dataclass(frozen=True)
class _Expected:
    """The chance of deciding 1 under chances for each task; other machines can unpickle it."""

    parts: tuple[tuple[Any, Hypothesis], ...]

    def __call__(self, features: Any) -> Any:
        space = Space.of(features)
        total: Any = 0.0
        for chance, hypothesis in self.parts:
            decided = space.xp.astype(hypothesis.decide(features), space.xp.float64)
            total = total + space.asarray(chance) * decided
        return total


def _label_shares(part: Part, *, task_weights: FloatArray | float) -> tuple[Any, Any]:
    """Return sum_j b_j [y_ij = 0] and sum_j b_j [y_ij = 1], each of shape (rows,)."""
    out = part.space.zeros((2, len(part)))
    for rows in part.blocks(part.signs.shape[1]):
        signs = part.signs[rows, :]
        out[0, rows] = _add_up(signs > 0, task_weights, part.space)
        out[1, rows] = _add_up(signs < 0, task_weights, part.space)
    return out[0, :], out[1, :]


def _mistakes(
    part: Part,
    *,
    decide: Hypothesis | Decide,
    by_label: bool,
    complete: bool,
    task_weights: FloatArray | float,
) -> tuple[Any, ...]:
    """Return sum_j b_j [wrong], shape (rows,): one sum, or the sums on label 0 and on label 1."""
    if isinstance(task_weights, float) and isinstance(decide, Hypothesis):
        counted = decide.count_mistakes(part, by_label)
        if counted is not None:
            float64 = part.space.xp.float64
            return tuple(part.space.xp.astype(count, float64) * task_weights for count in counted)
    function: Decide = decide.decide if isinstance(decide, Hypothesis) else decide
    out = part.space.zeros((1 + by_label, len(part)))
    for rows in part.blocks(part.signs.shape[1]):
        signs = part.signs[rows, :]
        ones = signs < 0
        wrong = _wrong(function(part.features[rows, :]), ones, part.space)
        if by_label:
            out[0, rows] = _add_up(_where(signs > 0, wrong), task_weights, part.space)
            out[1, rows] = _add_up(_where(ones, wrong), task_weights, part.space)
        else:
            counted = wrong if complete else _where(signs != 0, wrong)
            out[0, rows] = _add_up(counted, task_weights, part.space)
    return tuple(out[label, :] for label in range(1 + by_label))


def _block_mistakes(
    part: Part,
    *,
    hypothesis: Hypothesis,
    by_label: bool,
    complete: bool,
    task_weights: FloatArray | float,
    edges: NDArray[np.intp],
    dtype: str,
) -> Any:
    """Return the mistakes in each block of tasks, shape (1 or 2, blocks, rows)."""
    space, weighted = part.space, not isinstance(task_weights, float)
    shape = (1 + by_label, len(edges) - 1, len(part))
    out = space.zeros(shape, "float64" if weighted else dtype)
    for rows in part.blocks(part.signs.shape[1]):
        signs = part.signs[rows, :]
        ones = signs < 0
        wrong = _wrong(hypothesis.decide(part.features[rows, :]), ones, space)
        kinds = (signs > 0, ones) if by_label else (None if complete else signs != 0,)
        for label, kind in enumerate(kinds):
            marks = wrong if kind is None else _where(kind, wrong)
            out[label, :, rows] = _block_sums(marks, edges, task_weights, out.dtype, space)
    return out


def _block_sums(
    marks: Any, edges: NDArray[np.intp], task_weights: FloatArray | float, dtype: Any, space: Space
) -> Any:
    """Return the sums of a table's columns within each block, shape (blocks, rows)."""
    xp, weighted = space.xp, not isinstance(task_weights, float)
    if len(edges) - 1 == marks.shape[1] and not weighted:
        return xp.astype(xp.matrix_transpose(marks), dtype)
    if space.is_numpy:
        cells = marks * task_weights if weighted else marks.view(np.uint8)
        return np.add.reduceat(cells, edges[:-1], axis=1, dtype=dtype).T
    member = np.zeros((marks.shape[1], len(edges) - 1))
    member[np.arange(marks.shape[1]), np.repeat(np.arange(len(edges) - 1), np.diff(edges))] = 1.0
    # Sums of ones and zeros are exact in float32.
    precision = "float64" if weighted else "float32"
    cells = xp.astype(marks, getattr(xp, precision))
    if weighted:
        member *= np.asarray(task_weights)[:, None]
    return xp.astype(xp.matrix_transpose(cells @ space.asarray(member, precision)), dtype)


def _wrong(decisions: Any, ones: Any, space: Space) -> Any:
    """Return which decisions are wrong (booleans), or the chance that they are (floats)."""
    xp = space.xp
    decisions = decisions if is_foreign(decisions) else np.asarray(decisions)
    if decisions.shape != ones.shape:
        raise InputError(
            "decisions must have one entry for each person and task, shape "
            f"{tuple(ones.shape)}; got {tuple(decisions.shape)}."
        )
    if decisions.dtype == xp.bool:
        return decisions != ones
    return xp.abs(xp.astype(decisions, xp.float64, copy=False) - xp.astype(ones, xp.float64))


def _where(counts: Any, wrong: Any) -> Any:
    xp = Space.of(wrong).xp
    return counts & wrong if wrong.dtype == xp.bool else xp.where(counts, wrong, 0.0)


def _add_up(marks: Any, task_weights: FloatArray | float, space: Space) -> Any:
    """Return sum_j b_j marks_ij, shape (rows,), for marks that are booleans or chances."""
    xp = space.xp
    if not isinstance(task_weights, float):
        return xp.astype(marks, xp.float64, copy=False) @ space.asarray(task_weights)
    if marks.dtype != xp.bool:
        return xp.sum(marks, axis=1) * task_weights
    if space.is_numpy:
        return count_true(marks) * task_weights
    return xp.astype(xp.sum(xp.astype(marks, xp.int32), axis=1), xp.float64) * task_weights


def individual_rates(
    labels: Any,
    decisions: Any,
    rate: str | Rate | Sequence[str | Rate] = "error",
    *,
    task_weight: ArrayLike | None = None,
) -> FloatArray:
    """Return the individual rates of any decisions; NaN where undefined.

    Shape (n,), or (n, rates) if ``rate`` is a list.

    Parameters
    ----------
    labels : array-like or DataFrame, shape (n, m), entries 0, 1 or blank
    decisions : array-like or DataFrame, shape (n, m), entries in [0, 1]
        Decisions, or chances of deciding 1. Two DataFrames are aligned by their names.
    rate : {"error", "false_positive", "false_negative"}, Rate, or list of these
    task_weight : array-like of shape (m,), optional

    Examples
    --------
    >>> individual_rates([[0, 1], [1, 1]], [[0.2, 1], [0, 1]], "false_positive")
    array([0.2, nan])
    """
    labels = to_host(labels)
    right = read_table(labels, "labels", labels=True)
    made = read_table(decisions, "decisions", one_column=True)
    chances = np.asarray(align(made, right, "decisions", "labels"), dtype=np.float64)
    if right.cells.dtype.kind == "f":
        chances = np.where(np.isnan(right.cells), 0.0, chances)  # cells without a label
    if not ((chances >= 0) & (chances <= 1)).all():
        raise InputError(
            "decisions must lie in [0, 1] (0, 1, or the chance of deciding 1), without blanks "
            f"where labels are known; got values from {float(chances.min())!r} to "
            f"{float(chances.max())!r}."
        )
    sample = Sample(chances, labels, task_weights=task_weight)
    return np.asarray(Meter(sample, rate)(lambda block: block).rates)
