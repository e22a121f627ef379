"""The rows of the master: which limit, and which people, each row stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.solvers.column_generation.pool import Pool


class Rows:
    """The rows after the blocks' simplexes, in their order.

    A row is a person's limit, or a *cut*: a bound on the mean rate of some choice of people.

    Parameters
    ----------
    pool : Pool
    limits : int
        The number of limits.

    Attributes
    ----------
    limit : integer array, shape (rows,)
        The limit of each row.
    person : integer array, shape (rows,)
        The constraint of each row; -1 for a cut.
    cuts : list of arrays of shape (N,)
        The weights g of each cut, in the order of the rows.
    violations : integer array, shape (rows, 2)
        The columns ``over`` and ``under`` of each row; -1 where there are none.
    has_row : bool array, shape (limits, N)
        Whose limits are rows.
    """

    def __init__(self, pool: Pool, limits: int) -> None:
        self.pool = pool
        self.limit = np.zeros(0, dtype=np.intp)
        self.person = np.zeros(0, dtype=np.intp)
        self.cuts: list[Any] = []
        self.violations = np.zeros((0, 2), dtype=np.intp)
        self.has_row = np.zeros((limits, len(pool.scale.constraints)), dtype=bool)

    def __len__(self) -> int:
        return len(self.limit)

    def add_people(
        self, limit: int, people: NDArray[np.intp], violations: NDArray[np.intp]
    ) -> None:
        """Append a row for each of these people."""
        self.limit = np.append(self.limit, np.full(len(people), limit))
        self.person = np.append(self.person, people)
        self.violations = np.vstack([self.violations, violations])
        self.has_row[limit, people] = True

    def add_cut(self, limit: int, cut: Any) -> None:
        """Append a row for one choice of people."""
        self.limit, self.person = np.append(self.limit, limit), np.append(self.person, -1)
        self.violations = np.vstack([self.violations, [[-1, -1]]])
        self.cuts.append(cut)

    def keep(self, kept: NDArray[np.bool_], new_column: NDArray[np.intp]) -> None:
        """Drop all rows but these; ``new_column`` tells the new index of each column."""
        gone = ~kept & (self.person >= 0)
        self.has_row[self.limit[gone], self.person[gone]] = False
        cut_kept = kept[self.person < 0]
        self.cuts = [cut for cut, stays in zip(self.cuts, cut_kept, strict=True) if stays]
        self.limit, self.person = self.limit[kept], self.person[kept]
        moved = self.violations[kept]
        self.violations = np.where(moved >= 0, new_column[moved], -1)

    def cells(self, columns: NDArray[np.intp]) -> FloatArray:
        """Return what each column of the pool (rows) has in each row of the program (columns)."""
        out, space = np.empty((len(columns), len(self))), self.pool.space
        people = self.person >= 0
        out[:, people] = space.to_host(self.pool.rates(columns, self.person[people]))
        for row, cut in zip(np.flatnonzero(~people), self.cuts, strict=True):
            out[:, row] = self.pool.along(columns, cut)
        return out

    def dual_point(self, row_weights: FloatArray) -> Any:
        """Return the dual point of the rows' weights, shape (limits, N)."""
        space, people = self.pool.space, self.person >= 0
        weights = np.zeros(self.has_row.shape)
        weights[self.limit[people], self.person[people]] = row_weights[people]
        point = space.asarray(weights)
        for row, cut in zip(np.flatnonzero(~people), self.cuts, strict=True):
            if row_weights[row] != 0.0:
                point[int(self.limit[row]), :] += float(row_weights[row]) * cut
        return point
