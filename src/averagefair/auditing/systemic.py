"""Systemic failure: how many people are wrongly decided on many of their tasks, or on all.

For every k, the share of people with k or more wrong decisions stands beside the share that
independent mistakes would give: mistakes at each task's own rate, for each person's own tasks (a
Poisson-binomial count). A surplus means that mistakes pile up on the same people.

Similar people err on the same tasks, so the share varies more than n independent people would make
it. Its interval respects this. Leaving task j out lowers the surplus by

    f_j = mean over people of  1[T_i = k] L_ij  -  the same for independent mistakes,

so with S the share and A_j the first mean, its variance is

    S (1 - S) / n + m/(m-1) sum_j (f_j - fbar)^2 - sum_j A_j (1 - A_j) / n.

The last term takes off what single cells add. The variance over that of independent people is the
design effect. The interval is Clopper and Pearson's, with the number of people divided by this
effect (Korn and Graubard, 1998). It holds for other people, on other tasks that are as hard.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from averagefair._util.arrays import FloatArray
from averagefair._util.frozen import Frozen
from averagefair._util.text import percent
from averagefair.auditing.estimates import student
from averagefair.auditing.losses import Losses
from averagefair.auditing.tally import Tally

# The independent mistakes are computed for at most this many people, drawn at random.
_SAMPLE = 5_000
# Intervals need a number for each count and task; there are none above this many.
_MOST_NUMBERS = 20_000_000
# Design effects are pooled over this many neighbours on either side: they are noisy.
_NEIGHBOURS = 3
# In words, "many tasks" begins where independent mistakes leave at most this share of the people.
_RARE = 0.01
# Counts from here on hold next to nobody, by chance or in fact: they are left out.
_LEAST_SHARE = 1e-6


@dataclass(frozen=True)
class Systemic(Frozen):
    """The shares of people with many wrong decisions, observed and under independent mistakes.

    If decisions are probabilities, one decision is drawn for each. If a person had several
    decisions on a task, one of them is drawn.

    Attributes
    ----------
    k : integer array, shape (counts,)
        Numbers of wrong decisions: 1, 2, ...
    observed : array, shape (counts,)
        The share of the people with at least k wrong decisions.
    expected : array, shape (counts,)
        The same if mistakes were independent, at the tasks' own rates.
    low, high : arrays, shape (counts,)
        The interval of the observed share; NaN for learned tasks (tasks that the model was trained
        on).
    people : int
        How many people have two or more tasks that count; only they are looked at.
    always : int
        How many of them are wrong on all of their tasks.
    always_expected : float
        How many would be, if mistakes were independent.
    confidence : float
    """

    k: NDArray[np.intp]
    observed: FloatArray
    expected: FloatArray
    low: FloatArray
    high: FloatArray
    people: int
    always: int
    always_expected: float
    confidence: float

    @property
    def many(self) -> int:
        """The index of the first k that at most 1% of the people reach by independent mistakes."""
        few = np.flatnonzero(self.expected <= _RARE)
        return int(few[0]) if few.size else len(self.k) - 1

    @property
    def surplus(self) -> bool:
        """Whether more people than independent mistakes explain are wrong on many tasks."""
        return bool(self.k.size and self.low[self.many] > self.expected[self.many])

    def to_dict(self) -> dict[str, Any]:
        """Return the table, a list for each column, and the single figures."""
        columns = ("k", "observed", "expected", "low", "high")
        return {
            **{name: getattr(self, name).tolist() for name in columns},
            "people": self.people,
            "always": self.always,
            "always_expected": self.always_expected,
            "many": int(self.k[self.many]) if self.k.size else None,
            "surplus": self.surplus,
        }

    def statement(self) -> str:
        """Return in plain words whether mistakes pile up on the same people."""
        if not self.people:
            return ""
        always = f"{self.always:,} of {self.people:,} people" if self.always else "nobody"
        text = (
            f"Decided wrongly on every task they met: {always} (independent mistakes would give "
            f"{_number(self.always_expected)})."
        )
        if not self.k.size or np.isnan(self.low[self.many]):
            return text
        at = self.many
        ends = f"{100 * self.low[at]:.1f}% to {100 * self.high[at]:.1f}%"
        said = "more than" if self.surplus else "no clear surplus over"
        return (
            f"{text} Decided wrongly on {self.k[at]:,} or more tasks: "
            f"{100 * self.observed[at]:.1f}% of the people ({percent(self.confidence)} CI {ends}), "
            f"{said} the {100 * self.expected[at]:.1f}% that independent mistakes would give."
        )


def systemic(
    losses: Losses, tally: Tally, confidence: float, rng: np.random.Generator, *, learned: bool
) -> Systemic:
    """Count people by their number of wrong decisions.

    Parameters
    ----------
    losses : Losses
    tally : Tally
        Of these losses.
    confidence : float
    rng : numpy Generator
        Draws decisions where losses are probabilities.
    learned : bool
        Whether the tasks are learned tasks: there are no intervals then.
    """
    chosen = tally.tasks >= 2
    people = int(np.count_nonzero(chosen))
    largest = int(tally.tasks.max(initial=0))
    rates = tally.task_wrong / np.maximum(tally.task_counted, 1.0)
    sample = np.flatnonzero(chosen)
    if people > _SAMPLE:
        sample = np.sort(rng.choice(sample, _SAMPLE, replace=False))
    intervals = not learned and people > 1 and tally.live.size > 1
    intervals &= (largest + 1) * losses.m <= _MOST_NUMBERS
    wrong = np.zeros(losses.n, dtype=np.intp)
    along = np.zeros((largest + 1, losses.m) if intervals else (0, 0))
    expected = _Expected(rates, largest, len(sample), by_task=intervals)
    sampled = np.zeros(losses.n, dtype=bool)
    sampled[sample] = True
    for rows, counts, totals in losses.blocks(by_task=True):
        met = (counts > 0.0) & chosen[rows, None]
        shares = totals / np.maximum(counts, 1e-300)
        failed = met & (shares > 0.0)
        uncertain = failed & (shares < 1.0)
        if uncertain.any():
            failed[uncertain] = rng.random(np.count_nonzero(uncertain)) < shares[uncertain]
        wrong[rows] = failed.sum(axis=1)
        if intervals:
            who, task = np.nonzero(failed)
            cells = wrong[rows][who] * losses.m + task
            along += np.bincount(cells, minlength=along.size).reshape(along.shape)
        expected.add(met[sampled[rows]])
    shares = np.bincount(wrong[chosen], minlength=largest + 1)[::-1].cumsum()[::-1] / max(1, people)
    under = expected.shares()
    low = high = np.full(largest + 1, nan)
    if intervals:
        along /= people
        units = int(tally.live.size)
        low, high = _interval(shares, along, expected.drops(), people, units, confidence)
    always = chosen & (wrong == tally.tasks)
    kept = np.flatnonzero((shares > 0.0) | (under > _LEAST_SHARE))[1:]
    return Systemic(
        k=kept,
        observed=shares[kept],
        expected=under[kept],
        low=low[kept],
        high=high[kept],
        people=people,
        always=int(np.count_nonzero(always)),
        always_expected=expected.always * people,
        confidence=confidence,
    )


class _Expected:
    """Counts of independent mistakes: people's Poisson-binomial counts, by Fourier transform.

    With p_j the rate of task j, person i's count has the characteristic function
    prod_j (1 + W_ij p_j (exp(i w) - 1)): the exponential of one matrix product for all people.
    """

    def __init__(self, rates: FloatArray, largest: int, people: int, *, by_task: bool) -> None:
        # An odd number of frequencies: no factor is 0, so that a task can be divided out.
        self.size = largest + 1 + largest % 2
        frequencies = 2.0 * np.pi * np.arange(self.size // 2 + 1) / self.size
        self.rates, self.largest, self.people = rates, largest, max(1, people)
        factors = 1.0 + rates[:, None] * (np.exp(-1j * frequencies) - 1.0)
        self._logs, self._factors = np.log(factors), factors
        self._log_rates = np.log(np.maximum(rates, 1e-300))
        self._total = np.zeros(frequencies.size, dtype=complex)
        self._of_task = np.zeros((rates.size if by_task else 0, frequencies.size), dtype=complex)
        self.always = 0.0

    def add(self, met: NDArray[np.bool_]) -> None:
        """Add people; ``met`` says which tasks they met, shape (k, m)."""
        if not len(met):
            return
        cells = met.astype(np.float64)
        product = cells @ self._logs.real + 1j * (cells @ self._logs.imag)
        with np.errstate(under="ignore"):
            own = np.exp(product)
            self.always += float(np.exp(cells @ self._log_rates).sum()) / self.people
        self._total += own.sum(axis=0)
        if len(self._of_task):
            self._of_task += cells.T @ own.real + 1j * (cells.T @ own.imag)

    def shares(self) -> FloatArray:
        """Return the mean share of people with at least k mistakes, k = 0, ..., largest."""
        return self._at_least(self._total / self.people)

    def drops(self) -> FloatArray:
        """Return by how much these shares fall without a task, shape (largest + 1, m)."""
        without = np.fft.irfft(self._of_task / self._factors / self.people, self.size, axis=1)
        out = np.zeros((self.largest + 1, self.rates.size))
        out[1:] = (self.rates[:, None] * without).T[: self.largest]
        return out

    def _at_least(self, transform: Any) -> FloatArray:
        chances = np.fft.irfft(transform, self.size)[: self.largest + 1]
        out: FloatArray = np.clip(chances[::-1].cumsum()[::-1], 0.0, 1.0)
        return out


def _interval(
    shares: FloatArray,
    along: FloatArray,
    drops: FloatArray,
    people: int,
    units: int,
    confidence: float,
) -> tuple[FloatArray, FloatArray]:
    """Return Korn and Graubard's interval of each share.

    Parameters
    ----------
    shares : array, shape (counts,)
    along : array, shape (counts, m)
        A_j for each count.
    drops : array, shape (counts, m)
        The same for independent mistakes.
    people, units : int
    confidence : float
    """
    influence = along - drops
    influence = influence - influence.mean(axis=1, keepdims=True)
    alone = shares * (1.0 - shares) / people
    shared = units / (units - 1) * np.square(influence).sum(axis=1)
    shared -= (along * (1.0 - along)).sum(axis=1) / people
    pooled = _pooled(np.maximum(shared, 0.0)), _pooled(alone)
    known = np.maximum.accumulate(np.where(pooled[1] > 0.0, np.arange(len(shares)), -1))
    effect = 1.0 + pooled[0] / np.where(pooled[1] > 0.0, pooled[1], 1.0)
    effect = np.where(known >= 0, effect[known], 1.0)
    level = 0.5 + confidence / 2
    count = people / effect * (student(level, people) / student(level, units)) ** 2
    wrong = shares * count
    low = betaincinv(np.maximum(wrong, 1e-300), count - wrong + 1.0, 1.0 - level)
    high = betaincinv(wrong + 1.0, np.maximum(count - wrong, 1e-300), level)
    return np.where(shares > 0.0, low, 0.0), np.where(shares < 1.0, high, 1.0)


def _pooled(values: FloatArray) -> FloatArray:
    """Return sums over each value and its neighbours."""
    window = np.ones(2 * _NEIGHBOURS + 1)
    return np.asarray(np.convolve(values, window)[_NEIGHBOURS:][: len(values)])


def _number(value: float) -> str:
    return f"{value:.1f}" if value >= 0.05 else "about 0"
