"""The master: the fair learning problem as a linear program over the plays found so far.

A play is an answer of the Learner, with error err_k and individual rates R_kc.

    minimise    sum_k q_k err_k  +  sum_c price_c (over_c + under_c)
    such that   -slack <= sum_k q_k R_kc - gamma_r(c) - over_c + under_c <= slack   for every c
                sum_k q_k = 1,   q, over, under >= 0,   0 <= gamma <= 1

The violations ``over`` and ``under`` exist only where people may stay outside at a price
(``max_influence``). Otherwise everybody must lie within the slack. The program is always feasible,
because the two constants are among the plays. A mixture of both constants, half and half, errs half
the time on everybody and leaves the whole slack unused. So the multipliers add up to at most
1 / (2 slack), and no variable for extra slack is needed.

Every solve starts from the last basis of one HiGHS model, which is kept. Plays are columns.
Constraints enter as rows once they are violated, since only a few of them bind. Inactive rows and
columns are dropped from time to time, and added back when they matter. So the program stays small,
and its solution is optimal over the whole pool of plays and all constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import SolverError, SolverTimeoutError
from averagefair.solvers.column_generation.pool import Pool

# HiGHS's feasibility tolerance; a row enters once it is violated by more than this.
_TOLERANCE = 1e-9
# Chances smaller than this are rounding.
_LEAST_CHANCE = 1e-10
# Add at most this many violated rows, or improving columns, at a time, the best first.
_ROWS_AT_A_TIME, _COLUMNS_AT_A_TIME = 200, 50
# Drop inactive rows once there are more rows than _ROW_RATIO times the active ones, plus _MARGIN.
# Columns have the same rule with _COLUMN_RATIO.
_ROW_RATIO, _COLUMN_RATIO, _MARGIN = 2, 4, 100
# Keep rows whose deviation is at least this share of the slack.
_NEARLY_BINDING = 0.9
_PRIMAL, _DUAL = 4, 1
_BASIC = highspy.HighsBasisStatus.kBasic
CONSTANTS = 2
"""The pool's first plays: always 0, always 1."""
# Marks a column that is not a play: a common rate or a violation.
_NOT_A_PLAY = -1
# Statuses that a solve from scratch would not change.
_FINAL = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit)


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """A mixture of the pool's plays, and the duals that price the next play.

    Attributes
    ----------
    value : float
        The objective: the error plus the price of violations.
    mixture : array, shape (k,)
        The chance of each play.
    common_rates : array, shape (rates,)
    rates : array, shape (N,)
        Everybody's rates under the mixture.
    weights : array, shape (N,)
        w = lambda+ - lambda-, the duals of the constraints.
    row_weights : array, shape (rows,)
        The weights of the program's rows, in their order.
    threshold : float
        The dual of sum q = 1: a play with err + w . R below this improves the solution.
    """

    value: float
    mixture: FloatArray
    common_rates: FloatArray
    rates: Any
    weights: Any
    row_weights: FloatArray
    threshold: float


class Master:
    """The linear program over a pool that grows.

    Parameters
    ----------
    pool : Pool
        Plays. The first two are the constants, so the program is feasible.
    prices : array, shape (N,), optional
        The price of violating each constraint by 1. Default: no violations are allowed.
    """

    def __init__(self, pool: Pool, prices: FloatArray | None = None) -> None:
        self.pool, self.slack, self.prices = pool, np.inf, prices
        self.exempt = np.zeros(len(pool.constraints), dtype=bool)
        self._build()

    def _build(self) -> None:
        """Start with an empty program."""
        constraints = self.pool.constraints
        # The constraint of each row after the first (the simplex row); which constraints have one.
        self.rows = np.zeros(0, dtype=np.intp)
        self._has_row = np.zeros(len(constraints), dtype=bool)
        # The play of each column, or _NOT_A_PLAY; the columns `over` and `under` of each row.
        self._plays = np.zeros(0, dtype=np.intp)
        self._violations = np.zeros((0, 0 if self.prices is None else 2), dtype=np.intp)
        self._known_plays = 0
        self._rows_are_new = self._inconsistent = False
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("primal_feasibility_tolerance", _TOLERANCE),
            ("dual_feasibility_tolerance", _TOLERANCE),
        ):
            self._call(self._highs.setOptionValue, option, value)
        self._call(self._highs.addRow, 1.0, 1.0, 0, np.zeros(0, np.int32), np.zeros(0))
        count = constraints.rate_count
        self._add_columns(np.full(count, _NOT_A_PLAY), np.zeros(count), np.zeros((count, 0)), 1.0)

    def solve(self, slack: float, exempt: NDArray[np.bool_], seconds: float) -> MasterSolution:
        """Solve to optimality over all plays of the pool and all constraints.

        Parameters
        ----------
        slack : float
        exempt : bool array, shape (N,)
            Constraints to leave out.
        seconds : float
            Time limit; raises SolverTimeoutError after it.
        """
        if self._inconsistent:
            self._build()
        # An exception or Ctrl-C on the way may leave the program half changed.
        self._inconsistent = True
        self._set_bounds(slack, exempt)
        new = np.arange(self._known_plays, len(self.pool))
        self._known_plays = len(self.pool)
        self._add_plays(new)
        limit = min(1e30, self._highs.getRunTime() + seconds)
        self._call(self._highs.setOptionValue, "time_limit", limit)
        solution = self._run()
        while self._add_violated_rows(solution) or self._add_improving_plays(solution):
            solution = self._run()
        self._drop_inactive(solution)
        self._inconsistent = False
        return solution

    def _set_bounds(self, slack: float, exempt: NDArray[np.bool_]) -> None:
        """Update the bounds of the program's rows."""
        changed = np.arange(len(self.rows))
        if slack == self.slack:
            changed = np.flatnonzero((exempt != self.exempt)[self.rows])
        self.slack, self.exempt = slack, exempt
        width = np.where(exempt[self.rows[changed]], np.inf, slack)
        rows = (1 + changed).astype(np.int32)
        self._call(self._highs.changeRowsBounds, len(rows), rows, -width, width)

    def _add_violated_rows(self, solution: MasterSolution) -> bool:
        """Add the most violated constraints; return whether any constraint was violated."""
        space, xp = self.pool.constraints.space, self.pool.constraints.space.xp
        deviations = self._deviations(solution)
        missing = ~space.asarray(self._has_row | self.exempt)
        violated = xp.nonzero((deviations > self.slack + _TOLERANCE) & missing)[0]
        if violated.shape[0]:
            count = min(_ROWS_AT_A_TIME, violated.shape[0])
            worst = xp.argsort(-xp.take(deviations, violated), stable=True)[:count]
            self._add_rows(space.to_host(xp.take(violated, worst)))
        return bool(violated.shape[0])

    def _add_improving_plays(self, solution: MasterSolution) -> bool:
        """Add back the dropped plays with the lowest reduced costs; return whether any improves.

        Constraints without a row have no weight, so the rows are enough to compute these costs.
        """
        dropped = np.setdiff1d(np.arange(self._known_plays), self._plays, assume_unique=True)
        costs = self.pool.errors[dropped] - solution.threshold
        costs += self.pool.cells(dropped, self.rows) @ solution.row_weights
        improving = np.flatnonzero(costs < -_TOLERANCE)
        if improving.size:
            best = np.argsort(costs[improving], kind="stable")[:_COLUMNS_AT_A_TIME]
            self._add_plays(dropped[improving[best]])
        return improving.size > 0

    def _deviations(self, solution: MasterSolution) -> Any:
        """Return everybody's distance from the common rate, in the constraints' space."""
        constraints = self.pool.constraints
        return constraints.space.xp.abs(solution.rates - constraints.expand(solution.common_rates))

    def _run(self) -> MasterSolution:
        """Solve over the program's rows from the last basis; if that fails, from scratch."""
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
        return self._read()

    def _read(self) -> MasterSolution:
        solution, rate_count = self._highs.getSolution(), self.pool.constraints.rate_count
        values, duals = np.array(solution.col_value), np.array(solution.row_dual)
        mixture = np.zeros(self._known_plays)
        mixture[self._plays[self._plays >= 0]] = values[self._plays >= 0]
        mixture[mixture < _LEAST_CHANCE] = 0.0
        mixture /= mixture.sum()
        weights = np.zeros(len(self.exempt))
        weights[self.rows] = -duals[1:]
        return MasterSolution(
            value=self._highs.getInfo().objective_function_value,
            mixture=mixture,
            common_rates=np.clip(values[:rate_count], 0.0, 1.0),
            rates=self.pool.mix(mixture),
            weights=self.pool.constraints.space.asarray(weights),
            row_weights=weights[self.rows],
            threshold=float(duals[0]),
        )

    def _drop_inactive(self, solution: MasterSolution) -> None:
        """Drop inactive rows and columns once they outnumber active ones. The basis stays."""
        used = int(np.count_nonzero(solution.mixture))
        spare_plays = np.count_nonzero(self._plays >= 0) - _COLUMN_RATIO * used
        spare_rows = len(self.rows) - _ROW_RATIO * np.count_nonzero(solution.row_weights)
        if max(spare_plays, spare_rows) <= _MARGIN:
            return
        basis = self._highs.getBasis()
        column_state, row_state = np.array(basis.col_status), np.array(basis.row_status)
        basic_column, basic_row = column_state == _BASIC, row_state == _BASIC
        # Drop a row only if its slack is basic and neither of its violations is. Drop a column only
        # if it is not basic.
        inactive = basic_row[1:] & ~basic_column[self._violations].any(axis=1)
        space = self.pool.constraints.space
        rows = space.asarray(self.rows)
        deviations = space.to_host(space.xp.take(self._deviations(solution), rows))
        inactive &= deviations < _NEARLY_BINDING * self.slack
        keep_row = np.append(True, ~inactive)
        reduced_cost = np.array(self._highs.getSolution().col_dual)
        # The constants stay: without them the program may be infeasible at another slack.
        reduced_cost[basic_column | (self._plays < CONSTANTS)] = -np.inf
        keep_column = np.zeros(len(self._plays), dtype=bool)
        count = _columns_to_keep(reduced_cost, used)
        keep_column[np.argsort(reduced_cost, kind="stable")[:count]] = True
        keep_column[self._violations[inactive].ravel()] = False
        self._delete(self._highs.deleteRows, keep_row)
        self._delete(self._highs.deleteCols, keep_column)
        self._has_row[self.rows[inactive]] = False
        self.rows = self.rows[~inactive]
        self._plays = self._plays[keep_column]
        self._violations = (np.cumsum(keep_column) - 1)[self._violations[~inactive]]
        basis.col_status, basis.row_status = [*column_state[keep_column]], [*row_state[keep_row]]
        self._call(self._highs.setBasis, basis)

    def _delete(self, delete: Callable[..., Any], keep: NDArray[np.bool_]) -> None:
        indices = np.flatnonzero(~keep).astype(np.int32)
        if indices.size:
            self._call(delete, len(indices), indices)

    def _add_plays(self, plays: NDArray[np.intp]) -> None:
        """Add these plays as columns."""
        rates = self.pool.cells(plays, self.rows)
        cells = np.hstack([np.ones((len(plays), 1)), rates])
        self._add_columns(plays, self.pool.errors[plays], cells, np.inf)

    def _add_rows(self, entering: NDArray[np.intp]) -> None:
        """Add these constraints as rows."""
        count, columns = len(entering), np.flatnonzero(self._plays >= 0)
        cells = [self.pool.cells(self._plays[columns], entering).T]
        index = [np.tile(columns, (count, 1)), self.pool.constraints.rate_of[entering, None]]
        cells.append(np.full((count, 1), -1.0))
        violations = np.zeros((count, 0), dtype=np.intp)
        if self.prices is not None:
            costs, empty = np.repeat(self.prices[entering], 2), np.zeros((2 * count, 0))
            added = self._add_columns(np.full(2 * count, _NOT_A_PLAY), costs, empty, np.inf)
            violations = added.reshape(count, 2)
            cells.append(np.tile([-1.0, 1.0], (count, 1)))
            index.append(violations)
        table = np.hstack(cells)
        self._call(
            self._highs.addRows,
            count,
            np.full(count, -self.slack),
            np.full(count, self.slack),
            table.size,
            np.arange(0, table.size, table.shape[1], dtype=np.int32),
            np.hstack(index).ravel().astype(np.int32),
            table.ravel(),
        )
        self.rows = np.append(self.rows, entering)
        self._violations = np.vstack([self._violations, violations])
        self._has_row[entering] = True
        self._rows_are_new = True

    def _add_columns(
        self, plays: NDArray[np.intp], costs: FloatArray, cells: FloatArray, upper: float
    ) -> NDArray[np.intp]:
        """Add columns with these costs, and these cells in the first rows; return their indices."""
        count, depth = cells.shape
        indices = np.arange(len(self._plays), len(self._plays) + count)
        self._call(
            self._highs.addCols,
            count,
            costs,
            np.zeros(count),
            np.full(count, upper),
            cells.size,
            np.arange(count, dtype=np.int32) * depth,
            np.tile(np.arange(depth, dtype=np.int32), count),
            cells.ravel(),
        )
        self._plays = np.append(self._plays, plays)
        return indices

    def _call(self, function: Callable[..., Any], *arguments: Any) -> None:
        if function(*arguments) == highspy.HighsStatus.kError:
            raise SolverError(f"HiGHS failed in {function.__name__}.")


def _columns_to_keep(reduced_cost: FloatArray, used: int) -> int:
    """Return how many columns to keep: those that must stay, then the cheapest plays."""
    needed = int(np.count_nonzero(np.isneginf(reduced_cost)))
    return min(len(reduced_cost), needed + used + _MARGIN // 2)
