"""The tally: the rate of each person and each task, counted in one pass over the losses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.auditing.losses import BoolArray, Losses


@dataclass(frozen=True, eq=False)
class Tally:
    """Numbers of cells and of mistakes, by person and by task.

    Attributes
    ----------
    counted : array, shape (n,)
        m_i: how many of the person's cells count.
    units : array, shape (n,)
        The number of task families these cells belong to; without families, m_i.
    largest : array, shape (n,)
        The person's number of cells in their largest family; without families, 1.
    shared : array, shape (n,)
        sum_f c_f^2, where c_f is the person's number of cells in family f; without families, m_i.
    freedom : array, shape (n,)
        :func:`freedom` of the sizes c_f; without families, 1 - 1 / m_i.
    wrong : array, shape (n,)
        The sum of each person's losses.
    tasks : integer array, shape (n,)
        The number of tasks with a cell that counts.
    task_counted, task_wrong : arrays, shape (m,)
        For each task: the number of cells that count, and the sum of losses.
    task_people : integer array, shape (m,)
        For each task: the number of people with a cell that counts.
    unit_counted : array, shape (units,)
        The number of cells that count in each family; without families, in each task.
    squares : float
        The sum of the squared losses.
    """

    counted: FloatArray
    units: FloatArray
    largest: FloatArray
    shared: FloatArray
    freedom: FloatArray
    wrong: FloatArray
    tasks: NDArray[np.intp]
    task_counted: FloatArray
    task_wrong: FloatArray
    task_people: NDArray[np.intp]
    unit_counted: FloatArray
    squares: float

    @cached_property
    def rates(self) -> FloatArray:
        """E_i: each person's rate, shape (n,); NaN if none of their cells counts."""
        return self.wrong / np.where(self.counted > 0, self.counted, np.nan)

    @cached_property
    def rated(self) -> BoolArray:
        """Who has a rate, shape (n,)."""
        return self.counted > 0

    @cached_property
    def estimable(self) -> BoolArray:
        """Who has two or more tasks (families), so that noise can be estimated; shape (n,)."""
        return self.units >= 2

    @cached_property
    def scale(self) -> FloatArray:
        """1 / sqrt(D_i), shape (n,); 0 for people with fewer than two tasks (families).

        D_i = m_i^2 freedom_i, which is m_i (m_i - 1) without families.
        """
        safe = np.where(self.estimable, self.counted * np.sqrt(self.freedom), 1.0)
        return np.where(self.estimable, 1.0, 0.0) / safe

    @cached_property
    def mean(self) -> float:
        """The mean rate over people who have a rate; NaN if nobody has a rate."""
        return float(self.rates[self.rated].mean()) if self.rated.any() else float("nan")

    @cached_property
    def live(self) -> NDArray[np.intp]:
        """The families (tasks) with at least one cell that counts."""
        return np.flatnonzero(self.unit_counted > 0)

    @cached_property
    def task_factor(self) -> float:
        """The factor that turns a sum of squares over tasks into a variance; NaN for one task.

        For u tasks the factor is u / (u - 1). For families it is 1 / :func:`freedom` of their
        sizes.
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
        """Whether every cell counts, and counts once."""
        once = (self.task_people == len(self.counted)) & (self.task_counted == len(self.counted))
        return bool(once.all())


def tally(losses: Losses) -> Tally:
    """Count cells and mistakes in one pass over the losses.

    Examples
    --------
    >>> cells = np.array([[1, 1, 0], [0, -1, 1]], dtype=np.int8)
    >>> tally(Losses(cells, np.arange(2), ("a", "b", "c"))).rates
    array([0.66666667, 0.5       ])
    """
    n, m = losses.n, losses.m
    counted, wrong, units, largest, second, third = np.zeros((6, n))
    tasks = np.zeros(n, dtype=np.intp)
    task_counted, task_wrong, squares = np.zeros(m), np.zeros(m), 0.0
    task_people = np.zeros(m, dtype=np.intp)
    for rows, counts, totals in losses.blocks(by_task=True):
        counted[rows], wrong[rows] = counts.sum(axis=1), totals.sum(axis=1)
        task_counted += counts.sum(axis=0)
        task_wrong += totals.sum(axis=0)
        squares += float(np.vdot(totals, totals))
        tasks[rows], met = np.count_nonzero(counts, axis=1), np.count_nonzero(counts, axis=0)
        task_people += met
        if losses.clustered:
            c = losses.by_family(counts)
            units[rows], largest[rows] = np.count_nonzero(c, axis=1), c.max(axis=1)
            second[rows], third[rows] = (c**2).sum(axis=1), (c**3).sum(axis=1)
    if not losses.clustered:
        units = second = third = counted
    return Tally(
        counted=counted,
        units=units,
        largest=np.maximum(largest, 1.0),
        shared=second,
        freedom=freedom(np.maximum(counted, 1.0), np.maximum(second, 1.0), third),
        wrong=wrong,
        tasks=tasks,
        task_counted=task_counted,
        task_wrong=task_wrong,
        task_people=task_people,
        unit_counted=losses.by_family(task_counted[None, :])[0],
        squares=squares,
    )


def freedom(first: Any, second: Any, third: Any) -> Any:
    """Return the share of a mean's noise that remains in deviations from the mean.

    Suppose the c_f cells of family f are copies of one draw. The mean then has variance
    sum_f c_f^2 / m^2, in units of the variance of a draw. Sum the deviations within each family,
    square these sums and add them up. The expected total is m^2 times the variance of the mean,
    times

        1 - 2 sum_f c_f^3 / (m sum_f c_f^2) + sum_f c_f^2 / m^2.

    For u families of equal size this is 1 - 1 / u.

    Parameters
    ----------
    first, second, third : float or array
        m = sum_f c_f, sum_f c_f^2 and sum_f c_f^3.
    """
    return 1.0 - 2.0 * third / (first * second) + second / first**2
