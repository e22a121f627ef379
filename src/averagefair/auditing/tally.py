"""The tally: everybody's rate and every task's, counted from the losses in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
    effective : array, shape (n,)
        How many independent cells they are worth, (sum_f c_f)^2 / sum_f c_f^2 with c_f the cells
        in family f; without families, m_i.
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
    effective: FloatArray
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
    def mean(self) -> float:
        """The mean of the rates, over those who have one; NaN where nobody has."""
        return float(self.rates[self.rated].mean()) if self.rated.any() else float("nan")

    @cached_property
    def live(self) -> NDArray[np.intp]:
        """The families (tasks) in which anything counts."""
        return np.flatnonzero(self.unit_counted > 0)

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
    counted, units, shared, wrong = np.zeros((4, n))
    task_counted, task_wrong, squares = np.zeros(m), np.zeros(m), 0.0
    for rows, counts, totals in losses.blocks(by_task=True):
        counted[rows], wrong[rows] = counts.sum(axis=1), totals.sum(axis=1)
        task_counted += counts.sum(axis=0)
        task_wrong += totals.sum(axis=0)
        squares += float(np.vdot(totals, totals))
        if losses.families is not None:
            by_family = losses.by_family(counts)
            units[rows] = np.count_nonzero(by_family, axis=1)
            shared[rows] = np.square(by_family).sum(axis=1)
    if losses.families is None:
        units, shared = counted, counted
    return Tally(
        counted=counted,
        units=units,
        effective=counted**2 / np.where(shared > 0, shared, 1.0),
        wrong=wrong,
        task_counted=task_counted,
        task_wrong=task_wrong,
        unit_counted=losses.by_family(task_counted[None, :])[0],
        squares=squares,
    )
