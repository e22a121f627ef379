"""The tally: everybody's rate and every task's, counted from the losses in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.auditing.losses import BoolArray, Losses
from averagefair.sample import FloatArray


@dataclass(frozen=True, eq=False)
class Tally:
    """What counts and what went wrong, by person and by task.

    Attributes
    ----------
    counted : array, shape (n,)
        m_i: how many of each person's cells count.
    units : array, shape (n,)
        How many families of tasks those cells are of; without families, m_i.
    largest : array, shape (n,)
        How many of the person's cells are in the family with most of them; without families, 1.
    shared : array, shape (n,)
        sum_f c_f^2, c_f being the person's cells in family f; without families, m_i.
    freedom : array, shape (n,)
        What :func:`freedom` says of the sizes c_f. Without families, 1 - 1 / m_i.
    wrong : array, shape (n,)
        The sum of each person's losses.
    task_counted, task_wrong : arrays, shape (m,)
        The same by task.
    unit_counted : array, shape (units,)
        Cells that count, by family; without families, by task.
    squares : float
        The sum of the squared losses.
    """

    counted: FloatArray
    units: FloatArray
    largest: FloatArray
    shared: FloatArray
    freedom: FloatArray
    wrong: FloatArray
    task_counted: FloatArray
    task_wrong: FloatArray
    unit_counted: FloatArray
    squares: float

    @cached_property
    def rates(self) -> FloatArray:
        """E_i: everybody's rate, shape (n,); NaN where nothing counts."""
        return self.wrong / np.where(self.counted > 0, self.counted, np.nan)

    @cached_property
    def rated(self) -> BoolArray:
        """Who has a rate, shape (n,)."""
        return self.counted > 0

    @cached_property
    def judged(self) -> BoolArray:
        """Who has two tasks (families) or more, so that their noise can be told; shape (n,)."""
        return self.units >= 2

    @cached_property
    def scale(self) -> FloatArray:
        """1 / sqrt(D_i), shape (n,); 0 for who has fewer than two tasks (families).

        D_i = m_i^2 freedom_i, which is m_i (m_i - 1) without families.
        """
        safe = np.where(self.judged, self.counted * np.sqrt(self.freedom), 1.0)
        return np.where(self.judged, 1.0, 0.0) / safe

    @cached_property
    def mean(self) -> float:
        """The mean of the rates, over those who have one; NaN where nobody has."""
        return float(self.rates[self.rated].mean()) if self.rated.any() else float("nan")

    @cached_property
    def live(self) -> NDArray[np.intp]:
        """The families (tasks) in which anything counts."""
        return np.flatnonzero(self.unit_counted > 0)

    @cached_property
    def task_factor(self) -> float:
        """What a sum of squares over tasks is multiplied by to make a variance; NaN for one task.

        u / (u - 1) for u tasks; for families, 1 / freedom of their sizes.
        """
        sizes = self.unit_counted[self.live]
        if sizes.size < 2:
            return float("nan")
        if self.unit_counted.size == self.task_counted.size:
            return sizes.size / (sizes.size - 1)
        second, third = float((sizes**2).sum()), float((sizes**3).sum())
        return 1.0 / float(freedom(sizes.sum(), second, third))

    @property
    def complete(self) -> bool:
        """Whether every cell counts."""
        return bool((self.task_counted == len(self.counted)).all())


def tally(losses: Losses) -> Tally:
    """Count, in one pass over the losses.

    Examples
    --------
    >>> cells = np.array([[1, 1, 0], [0, -1, 1]], dtype=np.int8)
    >>> tally(Losses(cells, np.arange(2), ("a", "b", "c"))).rates
    array([0.66666667, 0.5       ])
    """
    n, m = losses.n, losses.m
    counted, wrong, units, largest, second, third = np.zeros((6, n))
    task_counted, task_wrong, squares = np.zeros(m), np.zeros(m), 0.0
    for rows, counts, totals in losses.blocks(by_task=True):
        counted[rows], wrong[rows] = counts.sum(axis=1), totals.sum(axis=1)
        task_counted += counts.sum(axis=0)
        task_wrong += totals.sum(axis=0)
        squares += float(np.vdot(totals, totals))
        if losses.families is not None:
            c = losses.by_family(counts)
            units[rows], largest[rows] = np.count_nonzero(c, axis=1), c.max(axis=1)
            second[rows], third[rows] = (c**2).sum(axis=1), (c**3).sum(axis=1)
    if losses.families is None:
        units = second = third = counted
    return Tally(
        counted=counted,
        units=units,
        largest=np.maximum(largest, 1.0),
        shared=second,
        freedom=freedom(np.maximum(counted, 1.0), np.maximum(second, 1.0), third),
        wrong=wrong,
        task_counted=task_counted,
        task_wrong=task_wrong,
        unit_counted=losses.by_family(task_counted[None, :])[0],
        squares=squares,
    )


def freedom(first: Any, second: Any, third: Any) -> Any:
    """Return the share of a mean's noise that is left in deviations from it, by sizes of families.

    Of families with c_f cells, the cells of each being copies of one draw, the mean has a variance
    of sum_f c_f^2 / m^2 (times that of a draw), and the deviations, added up within families,
    squared and added up, come to m^2 times that times

        1 - 2 sum_f c_f^3 / (m sum_f c_f^2) + sum_f c_f^2 / m^2.

    With u families of one size that is 1 - 1 / u.

    Parameters
    ----------
    first, second, third : float or array
        m = sum_f c_f, sum_f c_f^2 and sum_f c_f^3.
    """
    return 1.0 - 2.0 * third / (first * second) + second / first**2
