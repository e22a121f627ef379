"""Measuring decisions: everybody's rates and the overall error, from data and decisions alone.

The Learner measures its plays here, the certificate measures the final classifiers here, and so
does whoever wants to know how they do on people or tasks held out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair.blocks import row_blocks
from averagefair.errors import InputError
from averagefair.protocols import Rate
from averagefair.sample import FloatArray, Sample, SignArray

Decide = Callable[[FloatArray], NDArray[Any]]
"""Features (k, d) in; decisions (k, m) out, booleans or chances of deciding 1."""


class Measurement(NamedTuple):
    """What came of some decisions.

    Attributes
    ----------
    error : float
        Overall error: the weighted mean of the individual error rates, over those who have one.
    rates : array, shape (n,)
        Individual rates R_i; NaN where undefined.
    """

    error: float
    rates: FloatArray

    @property
    def spread(self) -> float:
        """Largest minus smallest individual rate."""
        return float(np.nanmax(self.rates) - np.nanmin(self.rates))


class Meter:
    """Measures any decisions on one sample, a block of people at a time.

    Parameters
    ----------
    sample : Sample
    rate : Rate

    Attributes
    ----------
    rho : array, shape (n,)
        How much of each individual's tasks counts towards the rate; 0 where undefined.
    error_rho : array, shape (n,)
        How much of each individual's tasks is observed.
    shares : array, shape (n,)
        a_i: each individual's share in the overall error; 0 where nothing is observed.

    Examples
    --------
    >>> from averagefair.rates import ErrorRate
    >>> sample = Sample([[0.2], [0.9]], [[0, 1], [1, None]])
    >>> Meter(sample, ErrorRate())(lambda x: np.repeat(x > 0.5, 2, axis=1))
    Measurement(error=0.25, rates=array([0.5, 0. ]))
    """

    def __init__(self, sample: Sample, rate: Rate) -> None:
        self.sample, self.rate = sample, rate
        negatives, positives = self._label_shares()
        self.rho = rate.negatives * negatives + rate.positives * positives
        self.error_rho = negatives + positives
        seen = np.where(self.error_rho > 0, sample.individual_weights, 0.0)
        if not seen.any():
            raise InputError(
                "no label is observed for anybody of positive weight: there is nothing to learn "
                "from. Pass at least one label."
            )
        self.shares = seen / seen.sum()

    def __call__(self, decide: Decide) -> Measurement:
        """Return the overall error and everybody's rate under these decisions."""
        false_positives, false_negatives = self._mistakes(decide)
        wrong = self.rate.negatives * false_positives + self.rate.positives * false_negatives
        rates = _ratio(wrong, self.rho, np.nan)
        errors = _ratio(false_positives + false_negatives, self.error_rho, 0.0)
        return Measurement(float(self.shares @ errors), rates)

    def _label_shares(self) -> tuple[FloatArray, FloatArray]:
        sample = self.sample
        negatives, positives = np.empty(sample.n), np.empty(sample.n)
        for rows in row_blocks(sample.n, sample.m):
            signs = sample.signs[rows]
            negatives[rows] = _tally(signs > 0, sample.task_weights)
            positives[rows] = _tally(signs < 0, sample.task_weights)
        return negatives, positives

    def _mistakes(self, decide: Decide) -> tuple[FloatArray, FloatArray]:
        """Return sum_j b_j [wrong] by label: false positives and false negatives, shape (n,)."""
        sample = self.sample
        false_positives, false_negatives = np.empty(sample.n), np.empty(sample.n)
        for rows in row_blocks(sample.n, sample.m):
            decisions, signs = decide(sample.features[rows]), sample.signs[rows]
            count = _count if decisions.dtype == np.bool_ else _add_chances
            false_positives[rows], false_negatives[rows] = count(
                decisions, signs, sample.task_weights
            )
        return false_positives, false_negatives


def individual_rates(
    rate: Rate, labels: Any, decisions: Any, *, task_weights: ArrayLike | None = None
) -> FloatArray:
    """Return the individual rates of anybody's decisions, shape (n,); NaN where undefined.

    Parameters
    ----------
    rate : Rate
    labels : array-like or DataFrame, shape (n, m), entries 0, 1 or blank
    decisions : array-like or DataFrame, shape (n, m), entries in [0, 1]
        Decisions, or chances of deciding 1.
    task_weights : array-like of shape (m,), optional

    Examples
    --------
    >>> from averagefair.rates import FalsePositiveRate
    >>> individual_rates(FalsePositiveRate(), [[0, 1], [1, 1]], [[0.2, 1], [0, 1]])
    array([0.2, nan])
    """
    sample = Sample(decisions, labels, task_weights=task_weights)
    chances = sample.features
    if chances.shape != sample.signs.shape:
        raise InputError(
            f"labels and decisions must have one shape; got {sample.signs.shape} and "
            f"{chances.shape}."
        )
    if chances.min() < 0 or chances.max() > 1:
        raise InputError(
            "decisions must lie in [0, 1] (0, 1, or the chance of deciding 1); got values from "
            f"{chances.min()!r} to {chances.max()!r}."
        )
    return Meter(sample, rate)(lambda block: block).rates


def _count(
    decisions: NDArray[np.bool_], signs: SignArray, task_weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    false_positives = decisions & (signs > 0)
    false_negatives = (signs < 0) & ~decisions
    return _tally(false_positives, task_weights), _tally(false_negatives, task_weights)


def _add_chances(
    chances: FloatArray, signs: SignArray, task_weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    false_positives = (chances * (signs > 0)) @ task_weights
    false_negatives = ((1.0 - chances) * (signs < 0)) @ task_weights
    return false_positives, false_negatives


def _tally(marks: NDArray[np.bool_], task_weights: FloatArray) -> FloatArray:
    # Whole-number counts where tasks weigh alike: exact whatever the machine, and several times
    # faster than turning the marks into floats.
    if (task_weights == task_weights[0]).all():
        counts = np.add.reduce(marks.view(np.uint8), axis=1, dtype=np.uint32)
        return np.asarray(counts * task_weights[0])
    return np.asarray(marks @ task_weights)


def _ratio(part: FloatArray, whole: FloatArray, otherwise: float) -> FloatArray:
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), otherwise), where=whole > 0))
