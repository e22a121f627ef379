"""A linear program that is kept and changed: HiGHS, from the last basis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import SolverError, SolverTimeoutError

TOLERANCE = 1e-9
"""HiGHS's feasibility tolerance."""
_PRIMAL, _DUAL = 4, 1
_BASIC = highspy.HighsBasisStatus.kBasic
# Statuses that a solve from scratch would not change.
_FINAL = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit)


class LinearProgram:
    """A minimisation whose rows and columns come and go; every variable is at least 0.

    Attributes
    ----------
    rows, columns : int
        How many there are.
    """

    def __init__(self) -> None:
        self.rows = self.columns = 0
        self._rows_are_new = False
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("primal_feasibility_tolerance", TOLERANCE),
            ("dual_feasibility_tolerance", TOLERANCE),
        ):
            self._call(self._highs.setOptionValue, option, value)

    def limit_time(self, seconds: float) -> None:
        """Allow this much time for all solves from now on."""
        limit = min(1e30, self._highs.getRunTime() + seconds)
        self._call(self._highs.setOptionValue, "time_limit", limit)

    def add_columns(
        self, costs: FloatArray, tops: FloatArray, index: NDArray[np.intp], cells: FloatArray
    ) -> NDArray[np.intp]:
        """Add variables from 0 to ``tops``, with these cells in these rows, (columns, cells).

        Returns their indices.
        """
        count = len(costs)
        self._call(
            self._highs.addCols,
            count,
            costs,
            np.zeros(count),
            tops,
            cells.size,
            np.arange(count, dtype=np.int32) * cells.shape[1],
            index.ravel().astype(np.int32),
            cells.ravel(),
        )
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def add_rows(
        self, lower: FloatArray, upper: FloatArray, index: NDArray[np.intp], cells: FloatArray
    ) -> None:
        """Add rows with these bounds, and these cells in these columns, shape (rows, cells)."""
        self._call(
            self._highs.addRows,
            len(lower),
            lower,
            upper,
            cells.size,
            np.arange(len(lower), dtype=np.int32) * cells.shape[1],
            index.ravel().astype(np.int32),
            cells.ravel(),
        )
        self.rows += len(lower)
        self._rows_are_new = True

    def set_row_bounds(self, rows: NDArray[np.intp], lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of these rows."""
        indices = rows.astype(np.int32)
        self._call(self._highs.changeRowsBounds, len(indices), indices, lower, upper)

    def set_costs(self, costs: FloatArray) -> None:
        """Change the costs of all columns. This leaves the basis primal feasible."""
        columns = np.arange(self.columns, dtype=np.int32)
        self._call(self._highs.changeColsCost, self.columns, columns, costs)
        self._rows_are_new = False

    def set_columns(self, columns: NDArray[np.intp], costs: FloatArray, tops: FloatArray) -> None:
        """Change the costs and upper bounds of these columns."""
        indices = columns.astype(np.int32)
        self._call(self._highs.changeColsCost, len(indices), indices, costs)
        self._call(self._highs.changeColsBounds, len(indices), indices, 0.0 * tops, tops)

    def solve(self) -> tuple[float, FloatArray, FloatArray]:
        """Solve from the last basis; if that fails, from scratch.

        Returns the value, the variables and the duals of the rows.
        """
        # New rows leave the basis dual feasible, new columns leave it primal feasible.
        strategy = _DUAL if self._rows_are_new else _PRIMAL
        self._call(self._highs.setOptionValue, "simplex_strategy", strategy)
        self._call(self._highs.run)
        if self._highs.getModelStatus() not in _FINAL:
            self._call(self._highs.clearSolver)
            self._call(self._highs.setOptionValue, "simplex_strategy", _DUAL)
            self._call(self._highs.run)
        status = self._highs.getModelStatus()
        if status == highspy.HighsModelStatus.kTimeLimit:
            raise SolverTimeoutError("the time limit was reached inside a linear program.")
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(
                "the linear program over the columns was not solved: HiGHS says "
                f"{self._highs.modelStatusToString(status)!r}."
            )
        self._rows_are_new = False
        solution = self._highs.getSolution()
        value = self._highs.getInfo().objective_function_value
        return value, np.array(solution.col_value), np.array(solution.row_dual)

    def basic(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which rows and which columns are in the basis."""
        basis = self._highs.getBasis()
        return np.array(basis.row_status) == _BASIC, np.array(basis.col_status) == _BASIC

    def reduced_costs(self) -> FloatArray:
        """Return the reduced cost of each column."""
        return np.array(self._highs.getSolution().col_dual)

    def keep(self, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> None:
        """Delete all other rows and columns; the basis stays."""
        basis = self._highs.getBasis()
        row_state, column_state = np.array(basis.row_status), np.array(basis.col_status)
        for delete, kept in ((self._highs.deleteRows, rows), (self._highs.deleteCols, columns)):
            gone = np.flatnonzero(~kept).astype(np.int32)
            if gone.size:
                self._call(delete, len(gone), gone)
        basis.row_status, basis.col_status = [*row_state[rows]], [*column_state[columns]]
        self._call(self._highs.setBasis, basis)
        self.rows, self.columns = int(rows.sum()), int(columns.sum())

    def _call(self, function: Callable[..., Any], *arguments: Any) -> None:
        if function(*arguments) == highspy.HighsStatus.kError:
            raise SolverError(f"HiGHS failed in {function.__name__}.")
