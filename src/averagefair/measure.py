"""Measuring decisions: everybody's rates and the overall error, from data and decisions alone.

The Learner measures its plays here, the certificate measures the final classifiers here, and so
does whoever wants to know how they do on people or tasks held out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair.blocks import row_blocks
from averagefair.errors import InputError
from averagefair.protocols import Rate
from averagefair.rates import resolve_rates
from averagefair.sample import FloatArray, Sample
from averagefair.tables import align, read_table

Decide = Callable[[FloatArray], NDArray[Any]]
"""Features (k, d) in; decisions (k, m) out, booleans or chances of deciding 1."""


class Measurement(NamedTuple):
    """What came of some decisions.

    Attributes
    ----------
    error : float
        Overall error: the weighted mean of the individual error rates, over those who have one;
        NaN where nobody has.
    rates : array, shape (n,)
        Individual rates R_i; NaN where undefined. Of several rates, a column each: (n, rates).
    """

    error: float
    rates: FloatArray

    @property
    def spread(self) -> float:
        """Largest minus smallest individual rate; NaN where nobody has one.

        Of several rates, the spread of whichever is spread out most.
        """
        columns = self.rates.reshape(len(self.rates), -1).T
        defined = [column[~np.isnan(column)] for column in columns]
        return float(max((np.ptp(rates) for rates in defined if rates.size), default=np.nan))


class Meter:
    """Measures any decisions on one sample, a block of people at a time.

    Parameters
    ----------
    sample : Sample
    rate : Rate or sequence of Rate

    Attributes
    ----------
    rho : array, shape (n,), or (n, rates) for a sequence of rates
        How much of each individual's tasks counts towards the rate; 0 where undefined.
    error_rho : array, shape (n,)
        How much of each individual's tasks is observed.
    shares : array, shape (n,)
        a_i: each individual's share in the overall error; 0 where nothing of theirs is observed,
        NaN where nothing is observed at all.

    Examples
    --------
    >>> from averagefair.rates import ErrorRate
    >>> sample = Sample([[0.2], [0.9]], [[0, 1], [1, None]])
    >>> Meter(sample, ErrorRate())(lambda x: np.repeat(x > 0.5, 2, axis=1))
    Measurement(error=0.25, rates=array([0.5, 0. ]))
    """

    def __init__(self, sample: Sample, rate: Rate | Sequence[Rate]) -> None:
        self.sample = sample
        rates = rate if isinstance(rate, Sequence) else (rate,)
        # Shaped so that a product with a column (n, 1) has the shape of the rates.
        shape = (-1,) if isinstance(rate, Sequence) else ()
        self.negatives = np.array([one.negatives for one in rates]).reshape(shape)
        self.positives = np.array([one.positives for one in rates]).reshape(shape)
        self._column = (slice(None), None) if isinstance(rate, Sequence) else slice(None)
        b = sample.task_weights
        # Whole-number counts where tasks weigh alike: exact whatever the machine, and several
        # times faster than adding up floats.
        self._common_weight = float(b[0]) if (b == b[0]).all() else None
        self._complete = bool(sample.complete_tasks.all())
        negatives, positives = self._label_shares()
        self.rho = self._weigh(negatives, positives)
        self.error_rho = negatives + positives
        seen = np.where(self.error_rho > 0, sample.individual_weights, 0.0)
        self.shares = seen / seen.sum() if seen.any() else np.full(sample.n, np.nan)
        self._rho_or_nan = np.where(self.rho > 0, self.rho, np.nan)
        self._error_rho_or_one = np.where(self.error_rho > 0, self.error_rho, 1.0)

    def __call__(self, decide: Decide) -> Measurement:
        """Return the overall error and everybody's rate under these decisions."""
        if (self.negatives == self.positives).all():
            wrong = self._mistakes(decide, by_label=False)[0]
            counted = self.negatives * wrong[self._column]
        else:
            false_positives, false_negatives = self._mistakes(decide, by_label=True)
            wrong = false_positives + false_negatives
            counted = self._weigh(false_positives, false_negatives)
        error = float(self.shares @ (wrong / self._error_rho_or_one))
        return Measurement(error, counted / self._rho_or_nan)

    def _weigh(self, on_negatives: FloatArray, on_positives: FloatArray) -> FloatArray:
        """Add up what is on label 0 and what on label 1, as each rate weighs them."""
        on_negatives, on_positives = on_negatives[self._column], on_positives[self._column]
        return np.asarray(self.negatives * on_negatives + self.positives * on_positives)

    def _label_shares(self) -> tuple[FloatArray, FloatArray]:
        sample = self.sample
        negatives, positives = np.empty(sample.n), np.empty(sample.n)
        for rows in row_blocks(sample.n, sample.m):
            negatives[rows] = self._add_up(sample.signs[rows] > 0)
            positives[rows] = self._add_up(sample.signs[rows] < 0)
        return negatives, positives

    def _mistakes(self, decide: Decide, *, by_label: bool) -> list[FloatArray]:
        """Return sum_j b_j [wrong], shape (n,): all in one, or first on label 0, then on 1."""
        sample = self.sample
        out = [np.empty(sample.n) for _ in range(1 + by_label)]
        for rows in row_blocks(sample.n, sample.m):
            decisions, signs = np.asarray(decide(sample.features[rows])), sample.signs[rows]
            if decisions.shape != signs.shape:
                raise InputError(
                    "decisions must be one for each person and task, of shape "
                    f"{signs.shape}; got {decisions.shape}."
                )
            ones = signs < 0
            if decisions.dtype == np.bool_:
                wrong = decisions != ones
            else:
                wrong = np.abs(decisions.astype(np.float64, copy=False) - ones)
            if by_label:
                out[0][rows] = self._add_up(wrong * (signs > 0))
                out[1][rows] = self._add_up(wrong * ones)
            else:
                out[0][rows] = self._add_up(wrong if self._complete else wrong * (signs != 0))
        return out

    def _add_up(self, marks: NDArray[Any]) -> FloatArray:
        """Return sum_j b_j marks_ij, shape (rows,), for marks that are booleans or chances."""
        if marks.dtype == np.bool_ and self._common_weight is not None:
            counts = np.add.reduce(marks.view(np.uint8), axis=1, dtype=np.uint32)
            return np.asarray(counts * self._common_weight)
        return np.asarray(marks @ self.sample.task_weights)


def individual_rates(
    labels: Any,
    decisions: Any,
    rate: str | Rate | Sequence[str | Rate] = "error",
    *,
    task_weights: ArrayLike | None = None,
) -> FloatArray:
    """Return the individual rates of anybody's decisions; NaN where undefined.

    Shape (n,), or (n, rates) where ``rate`` is a list.

    Parameters
    ----------
    labels : array-like or DataFrame, shape (n, m), entries 0, 1 or blank
    decisions : array-like or DataFrame, shape (n, m), entries in [0, 1]
        Decisions, or chances of deciding 1. Two DataFrames are aligned by their names.
    rate : {"error", "false_positive", "false_negative"}, Rate, or list of these
    task_weights : array-like of shape (m,), optional

    Examples
    --------
    >>> individual_rates([[0, 1], [1, 1]], [[0.2, 1], [0, 1]], "false_positive")
    array([0.2, nan])
    """
    right = read_table(labels, "labels", one_column=True)
    made = read_table(decisions, "decisions", one_column=True)
    chances = np.asarray(align(made, right, "decisions", "labels"), dtype=np.float64)
    if right.cells.dtype.kind == "f":
        chances = np.where(np.isnan(right.cells), 0.0, chances)  # never looked at
    if not ((chances >= 0) & (chances <= 1)).all():
        raise InputError(
            "decisions must lie in [0, 1] (0, 1, or the chance of deciding 1), without blanks "
            f"where labels are known; got values from {float(chances.min())!r} to "
            f"{float(chances.max())!r}."
        )
    sample = Sample(chances, labels, task_weights=task_weights)
    rates = resolve_rates(rate)
    meter = Meter(sample, rates if isinstance(rate, list | tuple) else rates[0])
    return meter(lambda block: block).rates
