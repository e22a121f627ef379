"""Trials: repeated decisions about a person on a task, stored only where there are any.

A log of decisions may have several events of the same person and task. They are trials of one cell:
W_ij is their number and W_ij L_ij the number of wrong ones. The cell is one sampled unit, like a
family of tasks whose members are copies of one draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Trials:
    """Numbers of trials and of wrong decisions, for each person and task that met.

    Attributes
    ----------
    shape : tuple of int
        The numbers of people and tasks.
    starts : integer array, shape (n + 1,)
        The cells of person i are those from ``starts[i]`` to ``starts[i + 1]``.
    task : integer array, shape (cells,)
        The number of each cell's task.
    count : array, shape (cells,)
        Trials in each cell; fractional if events have weights.
    wrong : array, shape (cells,)
        Wrong decisions in each cell; fractional if decisions are probabilities.
    counts : bool array, shape (cells,), or None
        Which cells count towards the rate. None: all do.
    """

    shape: tuple[int, int]
    starts: NDArray[np.int64]
    task: NDArray[Any]
    count: NDArray[Any]
    wrong: NDArray[Any]
    counts: NDArray[np.bool_] | None = None

    @cached_property
    def binary(self) -> bool:
        """Whether every trial was either right or wrong, and none has a weight."""
        return self.count.dtype.kind == "u" and self.wrong.dtype.kind == "u"

    def dense(self, rows: slice | NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Return the numbers of trials and of wrong decisions of some people, each (k, m).

        Parameters
        ----------
        rows : slice without a step, or integer array
        """
        if isinstance(rows, slice):
            starts, stops = self.starts[rows.start : rows.stop], self.starts[1:][rows]
            cells: Any = slice(int(self.starts[rows.start]), int(self.starts[rows.stop]))
        else:
            starts, stops = self.starts[rows], self.starts[1:][rows]
            before = np.cumsum(stops - starts) - (stops - starts)
            cells = np.repeat(starts - before, stops - starts)
            cells = cells + np.arange(cells.size)
        of = np.repeat(np.arange(starts.size), stops - starts)
        out = np.zeros((2, starts.size, self.shape[1]))
        for part, values in zip(out, (self.count, self.wrong), strict=True):
            own = values[cells]
            part[of, self.task[cells]] = own if self.counts is None else own * self.counts[cells]
        return out[0], out[1]

    def of_people(self, people: NDArray[np.bool_]) -> Trials:
        """Return only these people's cells, with the same tasks.

        Parameters
        ----------
        people : bool array, shape (n,)
        """
        return self._take(np.repeat(people, np.diff(self.starts)), people, None)

    def of_tasks(self, tasks: NDArray[np.intp]) -> Trials:
        """Return only the cells of the tasks with these numbers, with the same people.

        Parameters
        ----------
        tasks : integer array
        """
        place = np.full(self.shape[1], -1)
        place[tasks] = np.arange(len(tasks))
        return self._take(place[self.task] >= 0, None, place)

    def _take(
        self,
        cells: NDArray[np.bool_],
        people: NDArray[np.bool_] | None,
        place: NDArray[np.intp] | None,
    ) -> Trials:
        before = np.concatenate([[0], np.cumsum(cells)])
        sizes = np.diff(before[self.starts])
        sizes = sizes if people is None else sizes[people]
        task = self.task[cells]
        return Trials(
            (len(sizes), self.shape[1] if place is None else int((place >= 0).sum())),
            np.concatenate([[0], np.cumsum(sizes)]),
            task if place is None else place[task],
            self.count[cells],
            self.wrong[cells],
            None if self.counts is None else self.counts[cells],
        )
