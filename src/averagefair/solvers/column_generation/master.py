"""The exact master: the fair learning problem as a linear program over the columns found so far.

A column is a play's answer in one block of tasks, with its share err_kb of the error and its share
R_kbc of everybody's rates. For the paper's promise the program is

    minimise    sum_kb q_kb err_kb  +  sum_c price_c (over_c + under_c)
    such that   -slack <= sum_kb q_kb R_kbc - gamma_r(c) - over_c + under_c <= slack   for every c
                sum_k q_kb = 1 for every block b,   q, over, under >= 0,   0 <= gamma <= 1

The violations ``over`` and ``under`` exist only where people may stay outside at a price
(``max_influence``). A cap has rows without gamma and without a lower bound. The worst-off share
has a row for each choice g of worst-off people that some solution had (a *cut*):

    sum_kb q_kb (g . R_kb) <= v_r,   0 <= v_r <= max_rate,   v_r costs price in the objective

Cuts at the program's own solutions would need hundreds of solves. So a cut is made for the rates
between the solution and the best mixture known (in-out separation), until the two are as good.

Not every cap can be kept. A variable ``excess`` relaxes such rows at a very high price, so the
program is always feasible: the excess is 0 if the promise can be kept with the columns so far, and
tells how far off it is otherwise. (The paper's promise needs no excess: a mixture of "always 0" and
"always 1", half and half, errs half the time on everybody and leaves the whole slack unused.)

Every solve starts from the last basis of one HiGHS model, which is kept. Limits enter as rows once
they are violated, since only a few of them bind. Inactive rows and columns are dropped from time
to time, and added back when they matter. So the program stays small, and its solution is optimal
over the whole pool and all limits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import SolverError, SolverTimeoutError
from averagefair.game.constraints import Constraints
from averagefair.game.limits import PersonLimit, Program, WorstOffLimit
from averagefair.solvers.column_generation.linear_program import TOLERANCE, LinearProgram
from averagefair.solvers.column_generation.master_solution import MasterSolution
from averagefair.solvers.column_generation.pool import CONSTANTS, Pool
from averagefair.solvers.column_generation.rows import Rows

# Chances smaller than this are rounding.
_LEAST_CHANCE = 1e-10
# Add at most this many violated rows, or improving columns, at a time, the best first.
_ROWS_AT_A_TIME, _COLUMNS_AT_A_TIME = 200, 50
# Drop inactive rows once there are more rows than _ROW_RATIO times the active ones, plus _MARGIN.
# Columns have the same rule with _COLUMN_RATIO.
_ROW_RATIO, _COLUMN_RATIO, _MARGIN = 2, 4, 100
# Stop adding cuts once the best mixture is within this of the program's value. Breaking a bound on
# the worst-off's mean costs `Program.excess_price`, so that the bound holds almost exactly.
_CUT_TOLERANCE = 1e-5
# A limit that must hold is broken by more than this.
_BROKEN = 1e-6
# Where to cut: this share of the way from the best mixture known to the program's solution.
_OUTWARD = 0.2
# Keep the row of a person who is nearer to their bound than this share of it.
_NEARLY_BINDING = 0.1
# A multiplier above this share of the largest is clear.
_CLEAR = 1e-4
# Marks a variable that is not a column of the pool: a level, the excess or a violation.
_OTHER = -1


class Master:
    """The linear program over a pool that grows.

    Parameters
    ----------
    pool : Pool
        Its first two plays are the constants.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.program: Program | None = None
        self._inconsistent = False
        # With cuts: the best mixture known, as a solution with its true value.
        self._best: MasterSolution | None = None

    def _build(self, program: Program) -> None:
        """Start with an empty program: the simplexes, the levels and the excess."""
        self.program = program
        self.rows = Rows(self.pool, len(program.limits))
        # The pool's column of each variable, or _OTHER.
        self._columns = np.zeros(0, dtype=np.intp)
        self._inconsistent = False
        self._row_weights = np.zeros(0)
        self._lp = LinearProgram()
        ones = np.ones(self.pool.blocks)
        self._lp.add_rows(ones, ones, *_nothing(self.pool.blocks))  # the simplexes
        # A level for each rate: the common rate gamma, or the worst-off's mean v.
        self._levels = self._constraints.rate_count if _has_levels(program) else 0
        kinds, costs, tops = (np.full(self._levels, value) for value in (_OTHER, 0.0, 1.0))
        self._add_variables(kinds, costs, tops, *_nothing(self._levels))
        self._set_levels(program)
        self._excess = -1
        if program.relaxed:
            cost, top = np.array([program.excess_price]), np.array([np.inf])
            added = self._add_variables(np.array([_OTHER]), cost, top, *_nothing(1))
            self._excess = int(added[0])
        # Without the constants the program may be infeasible.
        self._add_columns(np.flatnonzero(self.pool.play_of < CONSTANTS))

    @property
    def _constraints(self) -> Constraints:
        return self.pool.scale.constraints

    def solve(
        self,
        program: Program,
        seconds: float,
        columns: NDArray[np.intp] | None = None,
        point: Any | None = None,
        *,
        whole_pool: bool = True,
    ) -> MasterSolution:
        """Solve to optimality over all columns of the pool and all limits.

        Parameters
        ----------
        program : Program
        seconds : float
            Time limit; raises SolverTimeoutError after it.
        columns : integer array, optional
            Columns of the pool to begin with. Others are added if they improve the solution.
        point : array, shape (limits, N), optional
            A dual point near the optimum: people with a multiplier there begin as rows.
        whole_pool : bool, default True
            Whether columns that are not in the program yet are added if they improve the solution.
        """
        if self.program is None or self._inconsistent or not _same_shape(self.program, program):
            self._build(program)
        # An exception or Ctrl-C on the way may leave the program half changed.
        self._inconsistent = True
        self._set_program(program)
        if columns is not None:
            self._add_columns(np.setdiff1d(columns, self._columns))
        if point is not None:
            self._add_rows_of(point)
        self._lp.limit_time(seconds)
        if self._best is not None:
            self._best = self._judged(self._best)
        solution = self._run_or_add_all()
        while self._add_violated_rows(solution) or (whole_pool and self._add_improving(solution)):
            solution = self._run_or_add_all()
        self._drop_inactive(solution)
        self._inconsistent = False
        return self._best_or(solution)

    def _run_or_add_all(self) -> MasterSolution:
        """Solve; if that fails, solve over all columns of the pool.

        Over some of the columns, limits that must hold may leave no solution.
        """
        try:
            return self._run()
        except SolverTimeoutError:
            raise
        except SolverError:
            others = np.setdiff1d(np.arange(len(self.pool)), self._columns)
            if not others.size:
                raise
            self._add_columns(others)
            return self._run()

    def _add_rows_of(self, point: Any) -> None:
        """Add the limits with a clear multiplier at a dual point as rows."""
        sizes = np.abs(self.pool.space.to_host(point))
        for k, limit in enumerate(self._program.limits):
            if isinstance(limit, PersonLimit):
                clear = sizes[k] > _CLEAR * sizes[k].max(initial=0.0)
                entering = np.flatnonzero(clear & ~self.rows.has_row[k])
                if entering.size:
                    self._add_person_rows(k, limit, entering)

    def excess_point(self) -> Any:
        """Return the dual point at which the excess alone counts, and not the error.

        At the last solution, people with a multiplier there keep the excess from being smaller. The
        multipliers of the solution itself may also come from the error.
        """
        self._inconsistent = True
        costs = np.zeros(len(self._columns))
        costs[self._excess] = 1.0
        self._lp.set_costs(costs)
        point = self._run().point
        own = self._columns >= 0
        costs[own] = self.pool.errors[self._columns[own]]
        costs[self._excess] = self._program.excess_price
        self._lp.set_costs(costs)
        self._inconsistent = False
        return point

    def _best_or(self, solution: MasterSolution) -> MasterSolution:
        """Return the solution; with cuts, with the best mixture known if it is clearly better."""
        if self._best is None or not self.rows.cuts:
            return solution
        own = self._judged(solution)
        if own.value <= self._best.value + 10.0 * _CUT_TOLERANCE:
            return own
        best = self._best
        mixture = np.append(best.mixture, np.zeros(len(self.pool) - len(best.mixture)))
        return replace(
            solution, value=best.value, mixture=mixture, rates=best.rates, excess=best.excess
        )

    def _judged(self, solution: MasterSolution) -> MasterSolution:
        """Return a solution with its mixture's true value and excess for the current program.

        The value is infinite if the mixture breaks a limit that must hold. One excess relaxes all
        other limits.
        """
        program, rates, common = self._program, solution.rates, solution.common_rates
        excess, value = 0.0, self.pool.error(solution.mixture)
        for limit in program.limits:
            broken = limit.violation(rates, common)
            if np.any(limit.relaxed):
                excess = max(excess, broken)
            elif broken > _BROKEN:
                value = np.inf
        value += program.cost(rates, common) + program.excess_price * excess
        return replace(solution, value=value, excess=excess)

    def _set_program(self, program: Program) -> None:
        """Update the bounds of the program's rows, and the costs and bounds of its levels."""
        before, self.program = self.program, program
        if program is before:
            return
        self._set_levels(program)
        for k, limit in enumerate(program.limits):
            if not isinstance(limit, PersonLimit):
                continue
            changed = np.flatnonzero((self.rows.limit == k) & (self.rows.person >= 0))
            lower, upper = limit.bounds(self.rows.person[changed])
            self._lp.set_row_bounds(self.pool.blocks + changed, lower, upper)

    def _set_levels(self, program: Program) -> None:
        own = program.limits[0]
        if self._levels and isinstance(own, WorstOffLimit):
            costs, tops = np.full(self._levels, own.price), np.full(self._levels, own.top)
            self._lp.set_columns(np.arange(self._levels), costs, tops)

    def _add_violated_rows(self, solution: MasterSolution) -> bool:
        """Add the most violated limits as rows; return whether any limit was violated."""
        added = False
        for k, limit in enumerate(self._program.limits):
            if isinstance(limit, PersonLimit):
                added |= self._add_people(k, limit, solution)
            elif isinstance(limit, WorstOffLimit):
                added |= self._add_cuts(k, limit, solution)
        return added

    @property
    def _program(self) -> Program:
        assert self.program is not None, "no program has been set"
        return self.program

    def _add_people(self, k: int, limit: PersonLimit, solution: MasterSolution) -> bool:
        """Add rows of the people who break their limit most."""
        space, xp = self.pool.space, self.pool.space.xp
        over = limit.excess(solution.rates, solution.common_rates)
        if solution.excess:
            mask = _mask(limit, len(self._constraints))
            over = over - solution.excess * space.asarray(mask, "float64")
        missing = ~space.asarray(self.rows.has_row[k])
        violated = xp.nonzero((over > TOLERANCE) & missing)[0]
        if violated.shape[0]:
            count = min(_ROWS_AT_A_TIME, violated.shape[0])
            worst = xp.argsort(-xp.take(over, violated), stable=True)[:count]
            self._add_person_rows(k, limit, space.to_host(xp.take(violated, worst)))
        return bool(violated.shape[0])

    def _add_cuts(self, k: int, limit: WorstOffLimit, solution: MasterSolution) -> bool:
        """Add rows for choices of worst-off people whose mean exceeds its level."""
        own = self._judged(solution)
        if self._best is None or own.value < self._best.value:
            self._best = own
        # While the limit cannot be kept, the value counts its excess at a high price.
        scale = self._program.excess_price if solution.excess > _CUT_TOLERANCE else limit.price
        scale = max(1.0, scale)
        if self._best.value <= solution.value + _CUT_TOLERANCE * scale:
            return False
        inner = self._between(self._best, solution)
        if inner.value < self._best.value:
            self._best = inner
        return self._add_exceeded(k, limit, inner.rates, solution) or self._add_exceeded(
            k, limit, solution.rates, solution
        )

    def _between(self, best: MasterSolution, solution: MasterSolution) -> MasterSolution:
        """Return the mixture a little outward from the best one, towards the solution."""
        mixture = _OUTWARD * solution.mixture
        mixture[: len(best.mixture)] += (1.0 - _OUTWARD) * best.mixture
        rates = _OUTWARD * solution.rates + (1.0 - _OUTWARD) * best.rates
        return self._judged(replace(solution, mixture=mixture, rates=rates))

    def _add_exceeded(
        self, k: int, limit: WorstOffLimit, rates: Any, solution: MasterSolution
    ) -> bool:
        """Cut for the worst-off at these rates, where the solution exceeds its level there."""
        added = False
        for rate, cut in enumerate(limit.cuts(rates)):
            level = solution.common_rates[rate] + (solution.excess if limit.relaxed else 0.0)
            if float(cut @ solution.rates) > level + TOLERANCE:
                self._add_cut_row(k, limit, rate, cut)
                added = True
        return added

    def _add_improving(self, solution: MasterSolution) -> bool:
        """Add the pool's columns of lowest reduced cost; return whether any improves."""
        others = np.setdiff1d(np.arange(len(self.pool)), self._columns)
        if not others.size:
            return False
        costs = self.pool.errors[others] - solution.thresholds[self.pool.block_of[others]]
        costs += self.pool.along(others, solution.weights)
        improving = np.flatnonzero(costs < -TOLERANCE)
        if improving.size:
            best = np.argsort(costs[improving], kind="stable")
            self._add_columns(others[improving[best[: _COLUMNS_AT_A_TIME + self.pool.blocks]]])
        return improving.size > 0

    def _run(self) -> MasterSolution:
        """Solve over the program's rows and columns."""
        value, values, duals = self._lp.solve()
        blocks, block_of = self.pool.blocks, self.pool.block_of
        mixture, own = np.zeros(len(self.pool)), self._columns >= 0
        mixture[self._columns[own]] = values[own]
        mixture[mixture < _LEAST_CHANCE] = 0.0
        mixture /= np.bincount(block_of, weights=mixture, minlength=blocks)[block_of]
        common = np.zeros(self._constraints.rate_count)
        common[: self._levels] = np.clip(values[: self._levels], 0.0, 1.0)
        self._row_weights = -duals[blocks:]
        point = self.rows.dual_point(self._row_weights)
        return MasterSolution(
            value=value,
            mixture=mixture,
            common_rates=common,
            rates=self.pool.mix(mixture),
            point=point,
            weights=self._program.weights(point),
            thresholds=duals[:blocks],
            excess=max(0.0, float(values[self._excess])) if self._excess >= 0 else 0.0,
        )

    def _drop_inactive(self, solution: MasterSolution) -> None:
        """Drop inactive rows and columns once they outnumber active ones. The basis stays."""
        used = int(np.count_nonzero(solution.mixture))
        spare_columns = np.count_nonzero(self._columns >= 0) - _COLUMN_RATIO * used
        spare_rows = len(self.rows) - _ROW_RATIO * np.count_nonzero(self._row_weights)
        if max(spare_columns, spare_rows) <= _MARGIN:
            return
        basic_row, basic_column = self._lp.basic()
        # Drop a row only if its slack is basic and neither of its violations is. Drop a column only
        # if it is not basic.
        priced = self.rows.violations[:, 0] >= 0
        inactive = basic_row[self.pool.blocks :].copy()
        inactive[priced] &= ~basic_column[self.rows.violations[priced]].any(axis=1)
        inactive &= ~self._nearly_binding(solution)
        reduced_cost = self._lp.reduced_costs()
        # The constants stay: without them the program may be infeasible at another slack.
        constant = np.append(self.pool.play_of, _OTHER)[self._columns] < CONSTANTS
        reduced_cost[basic_column | constant] = -np.inf
        keep_column = np.zeros(len(self._columns), dtype=bool)
        count = _columns_to_keep(reduced_cost, used)
        keep_column[np.argsort(reduced_cost, kind="stable")[:count]] = True
        keep_column[self.rows.violations[inactive & priced].ravel()] = False
        self._lp.keep(np.append(np.ones(self.pool.blocks, dtype=bool), ~inactive), keep_column)
        self._columns = self._columns[keep_column]
        self.rows.keep(~inactive, np.cumsum(keep_column) - 1)

    def _nearly_binding(self, solution: MasterSolution) -> NDArray[np.bool_]:
        """Mark the rows of people who are near their bound."""
        space, near = self._constraints.space, np.zeros(len(self.rows), dtype=bool)
        for k, limit in enumerate(self._program.limits):
            if isinstance(limit, PersonLimit):
                mine = np.flatnonzero((self.rows.limit == k) & (self.rows.person >= 0))
                people = self.rows.person[mine]
                # Exempt people may be called back, so their rows count like all others.
                everybody = limit.exempting(None)
                over = everybody.excess(solution.rates, solution.common_rates)
                over = space.to_host(space.xp.take(over, space.asarray(people)))
                bound = np.broadcast_to(limit.upper, len(self._constraints))[people]
                near[mine] = over >= -_NEARLY_BINDING * np.abs(bound)
        return near

    def _add_columns(self, columns: NDArray[np.intp]) -> None:
        """Add these columns of the pool."""
        if not columns.size:
            return
        count = len(columns)
        cells = np.hstack([np.ones((count, 1)), self.rows.cells(columns)])
        people = np.tile(self.pool.blocks + np.arange(len(self.rows)), (count, 1))
        index = np.hstack([self.pool.block_of[columns, None], people])
        tops = np.full(count, np.inf)
        self._add_variables(columns, self.pool.errors[columns], tops, index, cells)

    def _add_person_rows(self, k: int, limit: PersonLimit, entering: NDArray[np.intp]) -> None:
        """Add the limits of these people as rows."""
        count, columns = len(entering), np.flatnonzero(self._columns >= 0)
        rates = self.pool.rates(self._columns[columns], entering)
        cells = [self.pool.space.to_host(rates).T]
        index = [np.tile(columns, (count, 1))]
        if limit.common:
            index.append(self._constraints.rate_of[entering, None])
            cells.append(np.full((count, 1), -1.0))
        if self._excess >= 0 and np.any(limit.relaxed):
            index.append(np.full((count, 1), self._excess))
            cells.append(-_mask(limit, len(self._constraints))[entering, None].astype(float))
        violations = np.full((count, 2), -1, dtype=np.intp)
        if limit.prices is not None:
            costs, tops = np.repeat(limit.prices[entering], 2), np.full(2 * count, np.inf)
            kinds = np.full(2 * count, _OTHER)
            added = self._add_variables(kinds, costs, tops, *_nothing(2 * count))
            violations = added.reshape(count, 2)
            cells.append(np.tile([-1.0, 1.0], (count, 1)))
            index.append(violations)
        self._lp.add_rows(*limit.bounds(entering), np.hstack(index), np.hstack(cells))
        self.rows.add_people(k, entering, violations)

    def _add_cut_row(self, k: int, limit: WorstOffLimit, rate: int, cut: Any) -> None:
        """Add the row that bounds the mean of one choice of worst-off people."""
        columns = np.flatnonzero(self._columns >= 0)
        cells = [*self.pool.along(self._columns[columns], cut), -1.0]
        index = [*columns, rate]
        if self._excess >= 0 and limit.relaxed:
            cells, index = [*cells, -1.0], [*index, self._excess]
        none = np.array([-np.inf])
        self._lp.add_rows(none, np.zeros(1), np.array(index)[None], np.array(cells)[None])
        self.rows.add_cut(k, cut)

    def _add_variables(
        self,
        columns: NDArray[np.intp],
        costs: FloatArray,
        tops: FloatArray,
        index: NDArray[np.intp],
        cells: FloatArray,
    ) -> NDArray[np.intp]:
        """Add variables, each a column of the pool or _OTHER; return their indices."""
        self._columns = np.append(self._columns, columns)
        return self._lp.add_columns(costs, tops, index, cells)


def _has_levels(program: Program) -> bool:
    return program.common or isinstance(program.limits[0], WorstOffLimit)


def _nothing(count: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the index and the cells of rows or columns without cells."""
    return np.zeros((count, 0), dtype=np.intp), np.zeros((count, 0))


def _mask(limit: PersonLimit, count: int) -> NDArray[np.bool_]:
    """Return whose limit the excess relaxes, shape (count,)."""
    return np.broadcast_to(np.asarray(limit.relaxed), count)


def _same_shape(first: Program, second: Program) -> bool:
    """Return whether only bounds, prices and exemptions differ, not columns or cells."""

    def shape(program: Program) -> list[Any]:
        return [
            (type(limit), getattr(limit, "common", None), getattr(limit, "prices", None) is None)
            for limit in program.limits
        ]

    same_excess = all(
        np.array_equal(mine.relaxed, theirs.relaxed)
        for mine, theirs in zip(first.limits, second.limits, strict=False)
    )
    same_excess &= first.excess_price == second.excess_price
    return same_excess and shape(first) == shape(second)


def _columns_to_keep(reduced_cost: FloatArray, used: int) -> int:
    """Return how many columns to keep: those that must stay, then the cheapest plays."""
    needed = int(np.count_nonzero(np.isneginf(reduced_cost)))
    return min(len(reduced_cost), needed + used + _MARGIN // 2)
