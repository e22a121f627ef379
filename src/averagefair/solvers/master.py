"""The master: the fair learning problem as a linear program over the plays found so far.

    minimise    sum_k q_k err_k  +  sum_c price_c (over_c + under_c)
    such that   -slack <= sum_k q_k R_kc - gamma_r(c) - over_c + under_c <= slack   for every c
                sum_k q_k = 1,   q, over, under >= 0,   0 <= gamma <= 1

over and under are there only where people may stay outside at a price (``max_influence``).
Otherwise everybody is held to the slack: the two constants among the plays make that possible, so
no shared slack variable is needed. (Nor would it ever be used: mixed half and half the constants
are fair with the whole slack to spare and err on at most everybody, so the multipliers never add
up to more than 1 / slack.)

One live HiGHS model: plays are added as columns, constraints as rows once they are violated (of
many people only few bind), and every solve starts from the last basis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from averagefair.errors import SolverError
from averagefair.sample import FloatArray
from averagefair.solvers.pool import Pool

# HiGHS keeps to constraints within this; a row enters once it is violated by more than that.
_TOLERANCE = 1e-9
# Chances smaller than this are rounding.
_LEAST_CHANCE = 1e-10
# So many violated constraints enter at a time, the worst first.
_ROWS_AT_A_TIME = 200
_PRIMAL, _DUAL = 4, 1
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
    threshold : float
        A play with err + w . R below this improves the answer.
    """

    value: float
    mixture: FloatArray
    common_rates: FloatArray
    rates: FloatArray
    weights: FloatArray
    threshold: float


class Master:
    """The linear program over a pool that grows.

    Parameters
    ----------
    pool : Pool
        Plays; with the two constants among them the program has a solution.
    slack : float
    prices : array, shape (N,), optional
        What it costs to leave each constraint by 1; default: nobody may.
    """

    def __init__(self, pool: Pool, slack: float, prices: FloatArray | None = None) -> None:
        self.pool, self.slack, self.prices = pool, slack, prices
        constraints = pool.constraints
        self.excused = np.zeros(len(constraints), dtype=bool)
        self.rows = np.zeros(0, dtype=np.intp)
        self._in_use = np.zeros(len(constraints), dtype=bool)
        self._columns = np.zeros(0, dtype=np.int32)
        self._width = 0
        self._rows_are_new = False
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
        self._add_columns(0.0, 1.0, np.zeros(common_rates), np.zeros((common_rates, 0)))

    def set_slack(self, slack: float) -> None:
        """Ask for another slack; the columns and the basis stay."""
        self.slack = slack
        self._bound(np.arange(len(self.rows)))

    def excuse(self, excused: NDArray[np.bool_]) -> None:
        """Hold these constraints to nothing, and all others to the slack."""
        changed = np.flatnonzero((excused != self.excused)[self.rows])
        self.excused = excused
        self._bound(changed)

    def solve(self, seconds: float = np.inf) -> Answer:
        """Solve to optimality over all plays of the pool and all constraints.

        Parameters
        ----------
        seconds : float
            Give up after so long, with a SolverError.
        """
        self._add_plays()
        limit = min(1e30, self._highs.getRunTime() + seconds)
        self._do(self._highs.setOptionValue, "time_limit", limit)
        while True:
            answer = self._run()
            common = self.pool.constraints.expand(answer.common_rates)
            off = np.abs(answer.rates - common)
            off[self._in_use | self.excused] = 0.0
            violated = np.flatnonzero(off > self.slack + _TOLERANCE)
            if not violated.size:
                return answer
            worst = np.argsort(-off[violated], kind="stable")[:_ROWS_AT_A_TIME]
            self._add_rows(violated[worst])

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
        mixture = values[self._columns]
        mixture[mixture < _LEAST_CHANCE] = 0.0
        mixture /= mixture.sum()
        used = np.flatnonzero(mixture)
        weights = np.zeros(len(self.excused))
        weights[self.rows] = -duals[1:]
        return Answer(
            value=self._highs.getInfo().objective_function_value,
            mixture=mixture,
            common_rates=np.clip(values[:rate_count], 0.0, 1.0),
            rates=mixture[used] @ self.pool.rates[used],
            weights=weights,
            threshold=float(duals[0]),
        )

    def _add_plays(self) -> None:
        """Bring in the plays that have come into the pool since."""
        known, pool = len(self._columns), self.pool
        rates = pool.rates[known:, self.rows]
        ones = np.ones((len(rates), 1))
        added = self._add_columns(0.0, np.inf, pool.errors[known:], np.hstack([ones, rates]))
        self._columns = np.append(self._columns, added)

    def _add_rows(self, entering: NDArray[np.intp]) -> None:
        """Bring in these constraints."""
        rates, count = self.pool.rates[:, entering].T, len(entering)
        common = self.pool.constraints.rate_of[entering, None]
        parts = [rates, np.full((count, 1), -1.0)]
        places = [np.tile(self._columns, (count, 1)), common.astype(np.int32)]
        if self.prices is not None:
            prices = self.prices[entering]
            for sign in (-1.0, 1.0):
                outside = self._add_columns(0.0, np.inf, prices, np.zeros((count, 0)))
                parts.append(np.full((count, 1), sign))
                places.append(outside[:, None])
        cells, index = np.hstack(parts), np.hstack(places)
        self._do(
            self._highs.addRows,
            count,
            np.full(count, -self.slack),
            np.full(count, self.slack),
            cells.size,
            np.arange(0, cells.size, cells.shape[1], dtype=np.int32),
            index.ravel(),
            cells.ravel(),
        )
        self.rows = np.append(self.rows, entering)
        self._in_use[entering] = True
        self._rows_are_new = True

    def _add_columns(
        self, low: float, high: float, costs: FloatArray, cells: FloatArray
    ) -> NDArray[np.int32]:
        """Add columns with these costs and these cells in the first rows; return their places."""
        count, depth = cells.shape
        places = np.arange(self._width, self._width + count, dtype=np.int32)
        self._do(
            self._highs.addCols,
            count,
            costs,
            np.full(count, low),
            np.full(count, high),
            cells.size,
            np.arange(count, dtype=np.int32) * depth,
            np.tile(np.arange(depth, dtype=np.int32), count),
            cells.ravel(),
        )
        self._width += count
        return places

    def _bound(self, places: NDArray[np.intp]) -> None:
        """Set the bounds of these rows in use anew."""
        width = np.where(self.excused[self.rows[places]], np.inf, self.slack)
        rows = (1 + places).astype(np.int32)
        self._do(self._highs.changeRowsBounds, len(rows), rows, -width, width)

    def _do(self, call: Callable[..., Any], *arguments: Any) -> None:
        if call(*arguments) == highspy.HighsStatus.kError:
            raise SolverError(f"HiGHS failed in {call.__name__}.")
