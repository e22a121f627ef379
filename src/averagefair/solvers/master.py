"""The master: the fair learning problem as a linear program over the plays found so far.

    minimise    sum_k q_k err_k  +  sum_c price_c (over_c + under_c)
    such that   -slack <= sum_k q_k R_kc - gamma_r(c) - over_c + under_c <= slack   for every c
                sum_k q_k = 1,   q, over, under >= 0,   0 <= gamma <= 1

over and under are there only where people may stay outside at a price (``max_influence``).
Otherwise everybody is held to the slack: the two constants among the plays make that possible, so
no shared slack variable is needed. (Nor would it ever be used: mixed half and half the constants
err half the time on everybody, with the whole slack to spare, so the multipliers never add up to
more than 1 / (2 slack).)

One live HiGHS model: plays are added as columns, constraints as rows once they are violated (of
many people only few bind), and every solve starts from the last basis. Columns and rows that have
served are put to sleep from time to time, and woken when they would matter, so that the program
stays small and its answer is still optimal over the whole pool and everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from averagefair.errors import SolverError, SolverTimeoutError
from averagefair.sample import FloatArray
from averagefair.solvers.pool import Pool

# HiGHS keeps to constraints within this; a row enters once it is violated by more than that.
_TOLERANCE = 1e-9
# Chances smaller than this are rounding.
_LEAST_CHANCE = 1e-10
# So many violated constraints, or sleeping columns, enter at a time, the worst first.
_ROWS_AT_A_TIME, _COLUMNS_AT_A_TIME = 200, 50
# Tidy up once the program has so many times the rows or the columns it needs, and some more.
_CROWDED_ROWS, _CROWDED_COLUMNS, _SOME_MORE = 2, 4, 100
# Constraints this near to binding stay awake.
_NEARLY = 0.9
_PRIMAL, _DUAL = 4, 1
_BASIC = highspy.HighsBasisStatus.kBasic
CONSTANTS = 2
"""The pool's first plays: always 0, always 1."""
# A column that is no play: a common rate, or a way out of a row.
_NO_PLAY = -1
# To start over would not help.
_SETTLED = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit)


@dataclass(frozen=True, eq=False)
class Answer:
    """An optimal mixture of the pool's plays, and the duals that price the next one.

    Attributes
    ----------
    value : float
        The objective: the error, and the price of whoever stays outside.
    mixture : array, shape (k,)
    common_rates : array, shape (rates,)
    rates : array, shape (N,)
        Of the mixture.
    weights : array, shape (N,)
        w = lambda+ - lambda-: what moving each rate would save.
    row_weights : array
        Those of the constraints that were awake, in the order of the program's rows.
    threshold : float
        A play with err + w . R below this improves the answer.
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
        Plays. The first two are the constants: with them the program has a solution.
    prices : array, shape (N,), optional
        What it costs to leave each constraint by 1; default: nobody may.
    """

    def __init__(self, pool: Pool, prices: FloatArray | None = None) -> None:
        self.pool, self.slack, self.prices = pool, np.inf, prices
        self.excused = np.zeros(len(pool.constraints), dtype=bool)
        self._build()

    def _build(self) -> None:
        """Start with an empty program."""
        constraints = self.pool.constraints
        # Which constraint each row is (after the first, the simplex), and which are awake.
        self.rows = np.zeros(0, dtype=np.intp)
        self._awake = np.zeros(len(constraints), dtype=bool)
        # Which play each column is, or one of these; and the two columns that let a row be left.
        self._plays = np.zeros(0, dtype=np.intp)
        self._exits = np.zeros((0, 0 if self.prices is None else 2), dtype=np.intp)
        self._known_plays = 0
        self._rows_are_new = self._broken = False
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("primal_feasibility_tolerance", _TOLERANCE),
            ("dual_feasibility_tolerance", _TOLERANCE),
        ):
            self._do(self._highs.setOptionValue, option, value)
        self._do(self._highs.addRow, 1.0, 1.0, 0, np.zeros(0, np.int32), np.zeros(0))
        common_rates = constraints.rate_count
        nothing = np.zeros((common_rates, 0))
        self._add_columns(np.full(common_rates, _NO_PLAY), np.zeros(common_rates), nothing, 1.0)

    def solve(self, slack: float, excused: NDArray[np.bool_], seconds: float = np.inf) -> Answer:
        """Solve to optimality over all plays of the pool and all constraints.

        Parameters
        ----------
        slack : float
        excused : bool array, shape (N,)
            Hold these constraints to nothing.
        seconds : float
            Give up after so long, with a SolverTimeoutError.
        """
        if self._broken:
            self._build()
        # Whatever happens in between (Ctrl-C not least) may leave the program half changed.
        self._broken = True
        self._bound(slack, excused)
        new = np.arange(self._known_plays, len(self.pool))
        self._known_plays = len(self.pool)
        self._wake_plays(new)
        limit = min(1e30, self._highs.getRunTime() + seconds)
        self._do(self._highs.setOptionValue, "time_limit", limit)
        answer = self._run()
        while self._wake_rows(answer) or self._wake_cheap_plays(answer):
            answer = self._run()
        self._tidy(answer)
        self._broken = False
        return answer

    def _bound(self, slack: float, excused: NDArray[np.bool_]) -> None:
        """Set the bounds of the rows in use anew."""
        changed = np.arange(len(self.rows))
        if slack == self.slack:
            changed = np.flatnonzero((excused != self.excused)[self.rows])
        self.slack, self.excused = slack, excused
        width = np.where(excused[self.rows[changed]], np.inf, slack)
        rows = (1 + changed).astype(np.int32)
        self._do(self._highs.changeRowsBounds, len(rows), rows, -width, width)

    def _wake_rows(self, answer: Answer) -> bool:
        """Bring in the constraints that are violated most; return whether there are any."""
        space, xp = self.pool.constraints.space, self.pool.constraints.space.xp
        off = self._off(answer)
        free = ~space.asarray(self._awake | self.excused)
        violated = xp.nonzero((off > self.slack + _TOLERANCE) & free)[0]
        if violated.shape[0]:
            most = min(_ROWS_AT_A_TIME, violated.shape[0])
            worst = xp.argsort(-xp.take(off, violated), stable=True)[:most]
            self._add_rows(space.to_host(xp.take(violated, worst)))
        return bool(violated.shape[0])

    def _wake_cheap_plays(self, answer: Answer) -> bool:
        """Bring in the sleeping plays that would improve the answer; return whether there are any.

        Constraints that sleep have no weight, so only the others count.
        """
        asleep = np.setdiff1d(np.arange(self._known_plays), self._plays, assume_unique=True)
        costs = self.pool.errors[asleep] - answer.threshold
        costs += self.pool.cells(asleep, self.rows) @ answer.row_weights
        cheap = np.flatnonzero(costs < -_TOLERANCE)
        if cheap.size:
            best = np.argsort(costs[cheap], kind="stable")[:_COLUMNS_AT_A_TIME]
            self._wake_plays(asleep[cheap[best]])
        return cheap.size > 0

    def _off(self, answer: Answer) -> Any:
        """Return how far from the common rate everybody is, where the people are."""
        constraints = self.pool.constraints
        return constraints.space.xp.abs(answer.rates - constraints.expand(answer.common_rates))

    def _run(self) -> Answer:
        """Solve over the rows in use, from the last basis; from scratch if that fails."""
        # New rows leave the basis dual feasible, new columns leave it primal feasible.
        strategy = _DUAL if self._rows_are_new else _PRIMAL
        self._do(self._highs.setOptionValue, "simplex_strategy", strategy)
        self._do(self._highs.run)
        if self._highs.getModelStatus() not in _SETTLED:
            self._do(self._highs.clearSolver)
            self._do(self._highs.setOptionValue, "simplex_strategy", _DUAL)
            self._do(self._highs.run)
        status = self._highs.getModelStatus()
        if status == highspy.HighsModelStatus.kTimeLimit:
            raise SolverTimeoutError("the time limit ended within a linear program.")
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(
                "the linear program over the columns was not solved: HiGHS says "
                f"{self._highs.modelStatusToString(status)!r}."
            )
        self._rows_are_new = False
        return self._read()

    def _read(self) -> Answer:
        solution, rate_count = self._highs.getSolution(), self.pool.constraints.rate_count
        values, duals = np.array(solution.col_value), np.array(solution.row_dual)
        mixture = np.zeros(self._known_plays)
        mixture[self._plays[self._plays >= 0]] = values[self._plays >= 0]
        mixture[mixture < _LEAST_CHANCE] = 0.0
        mixture /= mixture.sum()
        weights = np.zeros(len(self.excused))
        weights[self.rows] = -duals[1:]
        return Answer(
            value=self._highs.getInfo().objective_function_value,
            mixture=mixture,
            common_rates=np.clip(values[:rate_count], 0.0, 1.0),
            rates=self.pool.mix(mixture),
            weights=self.pool.constraints.space.asarray(weights),
            row_weights=weights[self.rows],
            threshold=float(duals[0]),
        )

    def _tidy(self, answer: Answer) -> None:
        """Put to sleep what has served, once there is much of it. The basis stays."""
        used = int(np.count_nonzero(answer.mixture))
        spare_plays = np.count_nonzero(self._plays >= 0) - _CROWDED_COLUMNS * used
        spare_rows = len(self.rows) - _CROWDED_ROWS * np.count_nonzero(answer.row_weights)
        if max(spare_plays, spare_rows) <= _SOME_MORE:
            return
        basis = self._highs.getBasis()
        column_state, row_state = np.array(basis.col_status), np.array(basis.row_status)
        basic_column, basic_row = column_state == _BASIC, row_state == _BASIC
        # A row can go where its slack is basic and nobody is leaving it; columns, where not basic.
        idle = basic_row[1:] & ~basic_column[self._exits].any(axis=1)
        space = self.pool.constraints.space
        off = space.to_host(space.xp.take(self._off(answer), space.asarray(self.rows)))
        idle &= off < _NEARLY * self.slack
        keep_row = np.append(True, ~idle)
        reduced_cost = np.array(self._highs.getSolution().col_dual)
        # The constants stay: without them another slack might have no solution.
        reduced_cost[basic_column | (self._plays < CONSTANTS)] = -np.inf
        keep_column = np.zeros(len(self._plays), dtype=bool)
        keep_column[np.argsort(reduced_cost, kind="stable")[: _keep(reduced_cost, used)]] = True
        keep_column[self._exits[idle].ravel()] = False
        self._delete(self._highs.deleteRows, keep_row)
        self._delete(self._highs.deleteCols, keep_column)
        self._awake[self.rows[idle]] = False
        self.rows = self.rows[~idle]
        self._plays = self._plays[keep_column]
        self._exits = (np.cumsum(keep_column) - 1)[self._exits[~idle]]
        basis.col_status, basis.row_status = [*column_state[keep_column]], [*row_state[keep_row]]
        self._do(self._highs.setBasis, basis)

    def _delete(self, call: Callable[..., Any], keep: NDArray[np.bool_]) -> None:
        gone = np.flatnonzero(~keep).astype(np.int32)
        if gone.size:
            self._do(call, len(gone), gone)

    def _wake_plays(self, plays: NDArray[np.intp]) -> None:
        """Bring in these plays."""
        rates = self.pool.cells(plays, self.rows)
        cells = np.hstack([np.ones((len(plays), 1)), rates])
        self._add_columns(plays, self.pool.errors[plays], cells, np.inf)

    def _add_rows(self, entering: NDArray[np.intp]) -> None:
        """Bring in these constraints."""
        count, places = len(entering), np.flatnonzero(self._plays >= 0)
        cells = [self.pool.cells(self._plays[places], entering).T]
        index = [np.tile(places, (count, 1)), self.pool.constraints.rate_of[entering, None]]
        cells.append(np.full((count, 1), -1.0))
        exits = np.zeros((count, 0), dtype=np.intp)
        if self.prices is not None:
            nothing = np.zeros((2 * count, 0))
            costs = np.repeat(self.prices[entering], 2)
            exits = self._add_columns(np.full(2 * count, _NO_PLAY), costs, nothing, np.inf)
            exits = exits.reshape(count, 2)
            cells.append(np.tile([-1.0, 1.0], (count, 1)))
            index.append(exits)
        table = np.hstack(cells)
        self._do(
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
        self._exits = np.vstack([self._exits, exits])
        self._awake[entering] = True
        self._rows_are_new = True

    def _add_columns(
        self, plays: NDArray[np.intp], costs: FloatArray, cells: FloatArray, high: float
    ) -> NDArray[np.intp]:
        """Add columns with these costs and these cells in the first rows; return their places."""
        count, depth = cells.shape
        places = np.arange(len(self._plays), len(self._plays) + count)
        self._do(
            self._highs.addCols,
            count,
            costs,
            np.zeros(count),
            np.full(count, high),
            cells.size,
            np.arange(count, dtype=np.int32) * depth,
            np.tile(np.arange(depth, dtype=np.int32), count),
            cells.ravel(),
        )
        self._plays = np.append(self._plays, plays)
        return places

    def _do(self, call: Callable[..., Any], *arguments: Any) -> None:
        if call(*arguments) == highspy.HighsStatus.kError:
            raise SolverError(f"HiGHS failed in {call.__name__}.")


def _keep(reduced_cost: FloatArray, used: int) -> int:
    """Return how many columns to keep: all that are needed, and as many plays as are in use."""
    needed = int(np.count_nonzero(np.isneginf(reduced_cost)))
    return min(len(reduced_cost), needed + used + _SOME_MORE // 2)
