"""The master: the fair learning problem as a linear program over the plays found so far.

A play is an answer of the Learner, with error err_k and individual rates R_kc. For the paper's
promise the program is

    minimise    sum_k q_k err_k  +  sum_c price_c (over_c + under_c)
    such that   -slack <= sum_k q_k R_kc - gamma_r(c) - over_c + under_c <= slack   for every c
                sum_k q_k = 1,   q, over, under >= 0,   0 <= gamma <= 1

The violations ``over`` and ``under`` exist only where people may stay outside at a price
(``max_influence``). A cap has rows without gamma and without a lower bound. The worst-off share
has a row for each choice g of worst-off people that some solution had (a *cut*):

    sum_k q_k (g . R_k) <= v_r,   0 <= v_r <= max_rate,   v_r costs price in the objective

Cuts at the program's own solutions would need hundreds of solves. So a cut is made for the rates
between the solution and the best mixture known (in-out separation), until the two are as good.

Not every cap can be kept. A variable ``excess`` relaxes such rows at a very high price, so the
program is always feasible: the excess is 0 if the promise can be kept with the plays so far, and
tells how far off it is otherwise. (The paper's promise needs no excess: a mixture of "always 0" and
"always 1", half and half, errs half the time on everybody and leaves the whole slack unused.)

Every solve starts from the last basis of one HiGHS model, which is kept. Plays are columns.
Limits enter as rows once they are violated, since only a few of them bind. Inactive rows and
columns are dropped from time to time, and added back when they matter. So the program stays small,
and its solution is optimal over the whole pool of plays and all limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.limits import EXCESS_PRICE, PersonLimit, Program, WorstOffLimit
from averagefair.people.backends import take_rows
from averagefair.solvers.column_generation.linear_program import TOLERANCE, LinearProgram
from averagefair.solvers.column_generation.pool import Pool
from averagefair.solvers.column_generation.rows import Rows

# Chances smaller than this are rounding.
_LEAST_CHANCE = 1e-10
# Add at most this many violated rows, or improving columns, at a time, the best first.
_ROWS_AT_A_TIME, _COLUMNS_AT_A_TIME = 200, 50
# Drop inactive rows once there are more rows than _ROW_RATIO times the active ones, plus _MARGIN.
# Columns have the same rule with _COLUMN_RATIO.
_ROW_RATIO, _COLUMN_RATIO, _MARGIN = 2, 4, 100
# Stop adding cuts once the best mixture is within this of the program's value. Breaking a bound on
# the worst-off's mean costs EXCESS_PRICE, so that the bound holds almost exactly.
_CUT_TOLERANCE = 1e-5
# A limit that must hold is broken by more than this.
_BROKEN = 1e-6
# Where to cut: this share of the way from the best mixture known to the program's solution.
_OUTWARD = 0.2
# Keep the row of a person who is nearer to their bound than this share of it.
_NEARLY_BINDING = 0.1
CONSTANTS = 2
"""The pool's first plays: always 0, always 1."""
# Marks a column that is not a play: a level, the excess or a violation.
_NOT_A_PLAY = -1


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
        gamma of each rate; 0 for a promise without a common rate.
    rates : array, shape (N,)
        Everybody's rates under the mixture.
    point : array, shape (limits, N)
        The duals of each limit, a dual point.
    weights : array, shape (N,)
        w, the weights of the dual point.
    threshold : float
        The dual of sum q = 1: a play with err + w . R below this improves the solution.
    excess : float
        By how much the relaxed limits are broken; 0 if they can be kept.
    """

    value: float
    mixture: FloatArray
    common_rates: FloatArray
    rates: Any
    point: Any
    weights: Any
    threshold: float
    excess: float = 0.0


class Master:
    """The linear program over a pool that grows.

    Parameters
    ----------
    pool : Pool
        Plays. The first two are the constants.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.program: Program | None = None
        self._inconsistent = False
        # With cuts: the best mixture known, as a solution with its true value.
        self._best: MasterSolution | None = None

    def _build(self, program: Program) -> None:
        """Start with an empty program: the simplex row, the levels and the excess."""
        self.program = program
        self.rows = Rows(self.pool, len(program.limits))
        # The play of each column, or _NOT_A_PLAY.
        self._plays = np.zeros(0, dtype=np.intp)
        self._known_plays = 0
        self._inconsistent = False
        self._row_weights = np.zeros(0)
        self._lp = LinearProgram()
        none = np.zeros(0, dtype=np.intp)
        self._lp.add_rows(np.ones(1), np.ones(1), none, np.zeros((1, 0)))  # the simplex row
        # A level for each rate: the common rate gamma, or the worst-off's mean v.
        self._levels = self.pool.constraints.rate_count if _has_levels(program) else 0
        costs, tops = np.zeros(self._levels), np.ones(self._levels)
        self._add_columns(np.full(self._levels, _NOT_A_PLAY), costs, _no_cells(self._levels), tops)
        self._set_levels(program)
        self._excess = -1
        if program.relaxed:
            cost, top = np.array([EXCESS_PRICE]), np.array([np.inf])
            added = self._add_columns(np.array([_NOT_A_PLAY]), cost, _no_cells(1), top)
            self._excess = int(added[0])

    def solve(self, program: Program, seconds: float) -> MasterSolution:
        """Solve to optimality over all plays of the pool and all limits.

        Parameters
        ----------
        program : Program
        seconds : float
            Time limit; raises SolverTimeoutError after it.
        """
        if self.program is None or self._inconsistent or not _same_shape(self.program, program):
            self._build(program)
        # An exception or Ctrl-C on the way may leave the program half changed.
        self._inconsistent = True
        self._set_program(program)
        new = np.arange(self._known_plays, len(self.pool))
        self._known_plays = len(self.pool)
        self._add_plays(new)
        self._lp.limit_time(seconds)
        if self._best is not None:
            self._best = self._judged(self._best)
        solution = self._run()
        while self._add_violated_rows(solution) or self._add_improving_plays(solution):
            solution = self._run()
        self._drop_inactive(solution)
        self._inconsistent = False
        return self._best_or(solution)

    def excess_point(self) -> Any:
        """Return the dual point at which the excess alone counts, and not the error.

        At the last solution, people with a multiplier there keep the excess from being smaller. The
        multipliers of the solution itself may also come from the error.
        """
        self._inconsistent = True
        costs = np.zeros(len(self._plays))
        costs[self._excess] = 1.0
        self._lp.set_costs(costs)
        point = self._run().point
        plays = self._plays >= 0
        costs[plays], costs[self._excess] = self.pool.errors[self._plays[plays]], EXCESS_PRICE
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
        best, count = self._best, self._known_plays
        mixture = np.append(best.mixture, np.zeros(count - len(best.mixture)))
        return replace(
            solution, value=best.value, mixture=mixture, rates=best.rates, excess=best.excess
        )

    def _judged(self, solution: MasterSolution) -> MasterSolution:
        """Return a solution with its mixture's true value and excess for the current program.

        The value is infinite if the mixture breaks a limit that must hold. One excess relaxes all
        other limits.
        """
        program, rates, common = self._program, solution.rates, solution.common_rates
        excess, value = 0.0, float(solution.mixture @ self.pool.errors[: len(solution.mixture)])
        for limit in program.limits:
            broken = limit.violation(rates, common)
            if np.any(limit.relaxed):
                excess = max(excess, broken)
            elif broken > _BROKEN:
                value = np.inf
        value += program.cost(rates, common) + EXCESS_PRICE * excess
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
            self._lp.set_row_bounds(1 + changed, lower, upper)

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
        space, xp = self.pool.constraints.space, self.pool.constraints.space.xp
        over = limit.excess(solution.rates, solution.common_rates)
        if solution.excess:
            mask = _mask(limit, len(self.pool.constraints))
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
        # While the limit cannot be kept, the value counts its excess a thousand times.
        scale = EXCESS_PRICE if solution.excess > _CUT_TOLERANCE else max(1.0, limit.price)
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

    def _add_improving_plays(self, solution: MasterSolution) -> bool:
        """Add back the dropped plays with the lowest reduced costs; return whether any improves."""
        dropped = np.setdiff1d(np.arange(self._known_plays), self._plays, assume_unique=True)
        if not dropped.size:
            return False
        costs = self.pool.errors[dropped] - solution.threshold
        if self.rows.cuts:
            space = self.pool.constraints.space
            costs += space.to_host(take_rows(self.pool.rates, dropped) @ solution.weights)
        else:  # limits without a row have no weight, so the rows are enough
            costs += self.rows.cells(dropped) @ self._row_weights
        improving = np.flatnonzero(costs < -TOLERANCE)
        if improving.size:
            best = np.argsort(costs[improving], kind="stable")[:_COLUMNS_AT_A_TIME]
            self._add_plays(dropped[improving[best]])
        return improving.size > 0

    def _run(self) -> MasterSolution:
        """Solve over the program's rows and columns."""
        value, values, duals = self._lp.solve()
        mixture = np.zeros(self._known_plays)
        mixture[self._plays[self._plays >= 0]] = values[self._plays >= 0]
        mixture[mixture < _LEAST_CHANCE] = 0.0
        mixture /= mixture.sum()
        common = np.zeros(self.pool.constraints.rate_count)
        common[: self._levels] = np.clip(values[: self._levels], 0.0, 1.0)
        self._row_weights = -duals[1:]
        point = self.rows.dual_point(self._row_weights)
        return MasterSolution(
            value=value,
            mixture=mixture,
            common_rates=common,
            rates=self.pool.mix(mixture),
            point=point,
            weights=self._program.weights(point),
            threshold=float(duals[0]),
            excess=max(0.0, float(values[self._excess])) if self._excess >= 0 else 0.0,
        )

    def _drop_inactive(self, solution: MasterSolution) -> None:
        """Drop inactive rows and columns once they outnumber active ones. The basis stays."""
        used = int(np.count_nonzero(solution.mixture))
        spare_plays = np.count_nonzero(self._plays >= 0) - _COLUMN_RATIO * used
        spare_rows = len(self.rows) - _ROW_RATIO * np.count_nonzero(self._row_weights)
        if max(spare_plays, spare_rows) <= _MARGIN:
            return
        basic_row, basic_column = self._lp.basic()
        # Drop a row only if its slack is basic and neither of its violations is. Drop a column only
        # if it is not basic.
        priced = self.rows.violations[:, 0] >= 0
        inactive = basic_row[1:].copy()
        inactive[priced] &= ~basic_column[self.rows.violations[priced]].any(axis=1)
        inactive &= ~self._nearly_binding(solution)
        reduced_cost = self._lp.reduced_costs()
        # The constants stay: without them the program may be infeasible at another slack.
        reduced_cost[basic_column | (self._plays < CONSTANTS)] = -np.inf
        keep_column = np.zeros(len(self._plays), dtype=bool)
        count = _columns_to_keep(reduced_cost, used)
        keep_column[np.argsort(reduced_cost, kind="stable")[:count]] = True
        keep_column[self.rows.violations[inactive & priced].ravel()] = False
        self._lp.keep(np.append(True, ~inactive), keep_column)
        self._plays = self._plays[keep_column]
        self.rows.keep(~inactive, np.cumsum(keep_column) - 1)

    def _nearly_binding(self, solution: MasterSolution) -> NDArray[np.bool_]:
        """Mark the rows of people who are near their bound."""
        space, near = self.pool.constraints.space, np.zeros(len(self.rows), dtype=bool)
        for k, limit in enumerate(self._program.limits):
            if isinstance(limit, PersonLimit):
                mine = np.flatnonzero((self.rows.limit == k) & (self.rows.person >= 0))
                people = self.rows.person[mine]
                # Exempt people may be called back, so their rows count like all others.
                everybody = limit.exempting(None)
                over = everybody.excess(solution.rates, solution.common_rates)
                over = space.to_host(space.xp.take(over, space.asarray(people)))
                bound = np.broadcast_to(limit.upper, len(self.pool.constraints))[people]
                near[mine] = over >= -_NEARLY_BINDING * np.abs(bound)
        return near

    def _add_plays(self, plays: NDArray[np.intp]) -> None:
        """Add these plays as columns."""
        cells = np.hstack([np.ones((len(plays), 1)), self.rows.cells(plays)])
        tops = np.full(len(plays), np.inf)
        self._add_columns(plays, self.pool.errors[plays], cells, tops)

    def _add_person_rows(self, k: int, limit: PersonLimit, entering: NDArray[np.intp]) -> None:
        """Add the limits of these people as rows."""
        count, columns = len(entering), np.flatnonzero(self._plays >= 0)
        cells = [self.pool.cells(self._plays[columns], entering).T]
        index = [np.tile(columns, (count, 1))]
        if limit.common:
            index.append(self.pool.constraints.rate_of[entering, None])
            cells.append(np.full((count, 1), -1.0))
        if self._excess >= 0 and np.any(limit.relaxed):
            index.append(np.full((count, 1), self._excess))
            cells.append(-_mask(limit, len(self.pool.constraints))[entering, None].astype(float))
        violations = np.full((count, 2), -1, dtype=np.intp)
        if limit.prices is not None:
            costs, tops = np.repeat(limit.prices[entering], 2), np.full(2 * count, np.inf)
            kinds = np.full(2 * count, _NOT_A_PLAY)
            added = self._add_columns(kinds, costs, _no_cells(2 * count), tops)
            violations = added.reshape(count, 2)
            cells.append(np.tile([-1.0, 1.0], (count, 1)))
            index.append(violations)
        self._lp.add_rows(*limit.bounds(entering), np.hstack(index), np.hstack(cells))
        self.rows.add_people(k, entering, violations)

    def _add_cut_row(self, k: int, limit: WorstOffLimit, rate: int, cut: Any) -> None:
        """Add the row that bounds the mean of one choice of worst-off people."""
        columns = np.flatnonzero(self._plays >= 0)
        cells = [*self.pool.along(self._plays[columns], cut), -1.0]
        index = [*columns, rate]
        if self._excess >= 0 and limit.relaxed:
            cells, index = [*cells, -1.0], [*index, self._excess]
        none = np.array([-np.inf])
        self._lp.add_rows(none, np.zeros(1), np.array(index)[None], np.array(cells)[None])
        self.rows.add_cut(k, cut)

    def _add_columns(
        self, plays: NDArray[np.intp], costs: FloatArray, cells: FloatArray, tops: FloatArray
    ) -> NDArray[np.intp]:
        """Add columns, each a play or _NOT_A_PLAY; return their indices."""
        self._plays = np.append(self._plays, plays)
        return self._lp.add_columns(costs, cells, tops)


def _has_levels(program: Program) -> bool:
    return program.common or isinstance(program.limits[0], WorstOffLimit)


def _no_cells(count: int) -> FloatArray:
    return np.zeros((count, 0))


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
    return same_excess and shape(first) == shape(second)


def _columns_to_keep(reduced_cost: FloatArray, used: int) -> int:
    """Return how many columns to keep: those that must stay, then the cheapest plays."""
    needed = int(np.count_nonzero(np.isneginf(reduced_cost)))
    return min(len(reduced_cost), needed + used + _MARGIN // 2)
