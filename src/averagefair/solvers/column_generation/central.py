"""The central master: the program over few columns and rows, solved loosely, with central prices.

It keeps some columns of the pool for each block, and the rows of people who are near their limits.
Each solve starts from the last solution. Columns that no longer matter are dropped, and come back
if the oracle answers with them again. Rows are chosen from everybody's last rates. The solutions
keep the limits, so at every moment there is an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.limits import (
    MOST_MULTIPLIERS,
    Limit,
    PersonLimit,
    Program,
    WorstOffLimit,
)
from averagefair.people.backends import take_rows
from averagefair.solvers.column_generation.interior_point import (
    NO_BOUND,
    NO_PRICE,
    Iterate,
    RestrictedProgram,
    allowed_residual,
    host,
    interior_point,
    starting_point,
)
from averagefair.solvers.column_generation.master_solution import MasterSolution
from averagefair.solvers.column_generation.pool import Pool

# A row enters if the person is nearer to their limit than this share of the limit's width, or than
# this much for a limit without a width.
_NEAR, _NEAR_ONE_SIDED = 0.3, 0.05
# The most rows, and the most passes over rows that turn out to be violated.
_MOST_ROWS, _PASSES = 3000, 4
# A multiplier below this share of the largest is rounding.
_LEAST_WEIGHT = 1e-4
# The chance that a new column starts with, and the least chance of any column at the start.
_NEW_CHANCE, _LEAST_CHANCE = 0.01, 1e-5
# How far thresholds are pushed below the cheapest new columns; see `starting_point`.
_PUSH = 0.5
# The share of the chances spread evenly at the start; the second is for a solve that stalls.
_EVENED = (0.0, 0.5)
# Columns with a larger chance stay, as do those that entered in the last rounds.
_USED, _NEW_ROUNDS = 1e-3, 2


@dataclass
class _Active:
    """The columns in use: their numbers in the pool, chances, ages, and rates (columns, N)."""

    columns: NDArray[np.intp]
    chances: FloatArray
    ages: NDArray[np.intp]
    rates: Any


class CentralMaster:
    """The program over some of the pool's columns, solved to a tolerance that the caller chooses.

    Parameters
    ----------
    pool : Pool
    keep : int
        How many columns to keep for each block, beside those in use and the newest.

    Attributes
    ----------
    work : float
        Multiplications of all Newton steps so far, counted, not timed.
    """

    def __init__(self, pool: Pool, keep: int) -> None:
        self.pool, self.keep, self.work = pool, keep, 0.0
        constraints = pool.scale.constraints
        self.constraints, self.space = constraints, constraints.space
        none = np.zeros(0, dtype=np.intp)
        rates = self.space.zeros((0, len(constraints)), "float32")
        self.active = _Active(none, np.zeros(0), none.copy(), rates)
        self.thresholds = np.zeros(pool.blocks)
        self.point: Any = None
        self.levels: FloatArray = np.zeros(0)
        self.bound_duals: FloatArray = np.zeros(0)

    def offer(self, columns: NDArray[np.intp], weights: Any) -> NDArray[np.intp]:
        """Take columns of the pool that would improve the solution; drop what no longer matters.

        Returns the columns that improve it.

        Parameters
        ----------
        columns : integer array
            Columns of the pool, each once.
        weights : array, shape (N,)
            The weights of the last solution.
        """
        active = self.active
        columns = np.setdiff1d(columns, active.columns)
        costs = self.pool.errors[columns] + self.pool.along(columns, weights)
        # A tie may help too: it gives the blocks more to choose from.
        good = costs <= self.thresholds[self.pool.block_of[columns]] + 1e-4 / self.pool.blocks
        self._drop(weights)
        self._take(columns[good])
        return columns[costs < self.thresholds[self.pool.block_of[columns]] - 1e-9]

    def insist(self, columns: NDArray[np.intp]) -> None:
        """Take these columns whatever they cost."""
        self._take(np.setdiff1d(columns, self.active.columns))

    def _take(self, columns: NDArray[np.intp]) -> None:
        if not columns.size:
            return
        active, xp = self.active, self.space.xp
        rates = xp.astype(self.pool.rates(columns), xp.float32)
        self.active = _Active(
            np.append(active.columns, columns),
            np.append(active.chances, np.full(len(columns), _NEW_CHANCE)),
            np.append(active.ages, np.zeros(len(columns), dtype=np.intp)),
            xp.concat([active.rates, rates]),
        )

    def _drop(self, weights: Any) -> None:
        """Keep the columns in use, the newest, and for each block those of least reduced cost."""
        active = self.active
        active.ages += 1
        block = self.pool.block_of[active.columns]
        size = max(1, len(block) // self.pool.blocks)
        if size <= self.keep:
            return
        along = host(active.rates @ self.space.xp.astype(weights, self.space.xp.float32))
        costs = self.pool.errors[active.columns] + along
        order = np.lexsort((costs, block))
        first = np.searchsorted(block[order], np.arange(self.pool.blocks))
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order)) - first[block[order]]
        kept = (rank < self.keep) | (active.ages <= _NEW_ROUNDS) | (active.chances > _USED)
        if kept.all():
            return
        self.active = _Active(
            active.columns[kept],
            active.chances[kept],
            active.ages[kept],
            take_rows(active.rates, np.flatnonzero(kept)),
        )

    def solve(self, program: Program, tolerance: float, deadline: float = np.inf) -> MasterSolution:
        """Solve over the columns in use, to a tolerance.

        Parameters
        ----------
        program : Program
        tolerance : float
            The largest distance from the optimum over these columns.
        deadline : float, optional
            The ``time.perf_counter`` after which no Newton step begins.
        """
        active, limits = self.active, program.limits
        chances = np.maximum(active.chances, _LEAST_CHANCE)
        block = self.pool.block_of[active.columns]
        chances /= np.bincount(block, weights=chances, minlength=self.pool.blocks)[block]
        if self.point is None or self.point.shape[0] != len(limits):
            self.point = program.zero()
        levels = _levels(program)
        rates = self._mix(chances)
        if len(self.levels) != levels:
            self.levels = self._first_levels(program, rates, levels)
        chosen = self._near(program, rates)
        solution = None
        for _ in range(_PASSES):
            restricted, rows = self._restrict(program, chosen)
            aux = self._aux_start(program, rates)
            weights = self._weights_of(rows)
            for evened in _EVENED:
                start = starting_point(
                    restricted,
                    self.space.asarray(np.append(self._even_out(chances, evened), aux)),
                    weights,
                    self.space.asarray(self.thresholds),
                    self.space.asarray(self._first_bound_duals(restricted)),
                    _PUSH,
                )
                end = interior_point(
                    restricted, start, tolerance, stop=lambda: perf_counter() > deadline
                )
                self.work += float(end.steps) * len(rows[1]) * len(restricted.blocks) ** 2
                if end.residual <= allowed_residual(tolerance) or perf_counter() > deadline:
                    break
                # Too near to a vertex that breaks a new row: begin again from the middle.
                weights = 0.0 * weights
            self._remember(end, rows, program)
            chances, rates = self.active.chances, self._mix(self.active.chances)
            solution = self._solution(program, rates, end)
            more = self._violated(program, solution, chosen, tolerance)
            if more is None or perf_counter() > deadline:
                break
            chosen = more
        assert solution is not None
        return solution

    def _even_out(self, chances: FloatArray, share: float) -> FloatArray:
        """Return chances with a share of each block's spread evenly over its columns."""
        block = self.pool.block_of[self.active.columns]
        even = 1.0 / np.bincount(block, minlength=self.pool.blocks)[block]
        return np.asarray((1.0 - share) * chances + share * even)

    # The rows.

    def _near(self, program: Program, rates: Any) -> NDArray[np.bool_]:
        """Mark the limits that people are near, or that have a multiplier; (limits, N)."""
        marks = np.zeros((len(program.limits), len(self.constraints)), dtype=bool)
        point = host(self.point)
        for k, limit in enumerate(program.limits):
            if isinstance(limit, WorstOffLimit) and limit.top >= 1.0 and limit.price == 0.0:
                continue  # nothing is asked
            over = host(self._over(limit, rates))
            size = np.abs(point[k])
            weighty = size > _LEAST_WEIGHT * size.max(initial=0.0)
            near = (weighty | (over > -_margin(limit))) & np.isfinite(over)
            if np.count_nonzero(near) > _MOST_ROWS:
                # Multipliers first, then the nearest.
                score = np.where(weighty, 10.0 + size, over)
                score[~near] = -np.inf
                near[:] = False
                near[np.argpartition(-score, _MOST_ROWS)[:_MOST_ROWS]] = True
            marks[k] = near
        return marks

    def _over(self, limit: Limit, rates: Any) -> Any:
        """Return by how much each person breaks a limit, shape (N,); -inf for the exempt."""
        if isinstance(limit, PersonLimit):
            return limit.excess(rates, self.levels if limit.common else np.zeros(0))
        return rates - self.constraints.expand(self.levels)

    def _violated(
        self,
        program: Program,
        solution: MasterSolution,
        chosen: NDArray[np.bool_],
        tolerance: float,
    ) -> NDArray[np.bool_] | None:
        """Return the chosen limits and those that turn out to be broken; None if none are."""
        more = chosen.copy()
        for k, limit in enumerate(program.limits):
            over = host(self._over(limit, solution.rates))
            if np.any(limit.relaxed) and isinstance(limit, PersonLimit):
                over = over - solution.excess * np.broadcast_to(
                    np.asarray(limit.relaxed), over.shape
                )
            if isinstance(limit, PersonLimit):
                more[k] |= over > max(1e-7, 0.1 * tolerance)
            elif chosen[k].any():
                more[k] |= over > 0.0  # everybody above the level is worst-off
        if (more == chosen).all():
            return None
        return more | self._near(program, solution.rates)

    def _restrict(
        self, program: Program, chosen: NDArray[np.bool_]
    ) -> tuple[RestrictedProgram, tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return the program over the chosen rows, and each row's limit and constraint."""
        space, xp, rate_of = self.space, self.space.xp, self.constraints.rate_of
        which, people = np.nonzero(chosen)
        place = space.asarray(people)
        cells = xp.astype(
            xp.matrix_transpose(xp.take(self.active.rates, place, axis=1)), xp.float64
        )
        levels, count = _levels(program), len(people)
        aux = np.zeros((count, levels + program.relaxed))
        lower, upper = np.full(count, -NO_BOUND), np.full(count, NO_BOUND)
        prices, under_prices = np.full(count, NO_PRICE), np.full(count, NO_PRICE)
        costs, own_count = np.zeros(aux.shape[1]), len(self.active.columns)
        bounds = _bounds(program)
        bound_cells = np.zeros((bounds, own_count + aux.shape[1]))
        bound_shares, tops = np.zeros((bounds, count)), np.zeros(bounds)
        for k, limit in enumerate(program.limits):
            mine = np.flatnonzero(which == k)
            own = people[mine]
            if isinstance(limit, PersonLimit):
                low, high = limit.bounds(own)
                lower[mine] = np.maximum(low, -NO_BOUND)
                upper[mine] = np.minimum(high, NO_BOUND)
                if limit.prices is not None:
                    prices[mine] = np.minimum(limit.prices[own], NO_PRICE)
                    under_prices[mine] = prices[mine]
                if limit.common:
                    aux[mine, rate_of[own]] = -1.0
            elif isinstance(limit, WorstOffLimit):
                upper[mine] = 0.0
                shares = self._worst_off_shares(limit)[own]
                prices[mine] = limit.price * shares
                aux[mine, rate_of[own]] = -1.0
                costs[:levels] = limit.price
                if bounds:
                    bound_shares[rate_of[own], mine] = shares
                    bound_cells[np.arange(bounds), own_count + np.arange(bounds)] = 1.0
                    tops[:] = limit.top
            if np.any(limit.relaxed):
                if isinstance(limit, WorstOffLimit):
                    bound_cells[:, -1] = -1.0
                    continue
                mask = np.broadcast_to(np.asarray(limit.relaxed), len(self.constraints))
                aux[mine, -1] = -mask[own].astype(np.float64)
        if program.relaxed:
            costs[-1] = program.excess_price
        free = np.zeros(own_count + aux.shape[1])
        free[own_count : own_count + levels] = 1.0
        # A level without any row in the program is fixed: nothing depends on it.
        unused = np.asarray(~aux[:, :levels].any(axis=0))
        free[own_count : own_count + levels][unused] = 0.0
        own_costs = self.pool.errors[self.active.columns]
        restricted = RestrictedProgram(
            cells=xp.concat([cells, space.asarray(aux)], axis=1) if aux.shape[1] else cells,
            costs=space.asarray(np.append(own_costs, np.where(_pad(unused, aux), 1.0, costs))),
            blocks=np.append(
                self.pool.block_of[self.active.columns], np.full(aux.shape[1], -1, dtype=np.intp)
            ),
            block_count=self.pool.blocks,
            free=space.asarray(free),
            lower=space.asarray(lower),
            upper=space.asarray(upper),
            prices=space.asarray(prices),
            under_prices=space.asarray(under_prices),
            bound_cells=space.asarray(bound_cells),
            bound_shares=space.asarray(bound_shares),
            tops=space.asarray(tops),
        )
        return restricted, (which, people)

    def _worst_off_shares(self, limit: WorstOffLimit) -> FloatArray:
        """Return the largest weight of each person in the worst-off's mean, shape (N,)."""
        counts = self.constraints.multiplicities
        totals = self.constraints.add_up(self.constraints.counts)
        return np.asarray(counts / (limit.share * totals[self.constraints.rate_of]))

    # The levels and the excess.

    def _first_levels(self, program: Program, rates: Any, count: int) -> FloatArray:
        return self.constraints.middle(rates)[:count] if count else np.zeros(0)

    def _first_bound_duals(self, restricted: RestrictedProgram) -> FloatArray:
        """Return the duals that the bounds start with: the last ones, if they are not too small."""
        count = restricted.tops.shape[0]
        if len(self.bound_duals) != count:
            self.bound_duals = np.ones(count)
        return np.maximum(self.bound_duals, 1e-3)

    def _aux_start(self, program: Program, rates: Any) -> FloatArray:
        """Return where the levels and the excess start."""
        start = np.maximum(self.levels, 1e-4)
        if program.relaxed:
            common = np.zeros(self.constraints.rate_count)
            common[: len(self.levels)] = self.levels
            broken = [
                limit.violation(rates, common) for limit in program.limits if np.any(limit.relaxed)
            ]
            start = np.append(start, max(broken) + 0.01)
        return start

    # Solutions.

    def _weights_of(self, rows: tuple[NDArray[np.intp], NDArray[np.intp]]) -> Any:
        return self.space.asarray(host(self.point)[rows])

    def _remember(
        self, end: Iterate, rows: tuple[NDArray[np.intp], NDArray[np.intp]], program: Program
    ) -> None:
        values, count = host(end.columns), len(self.active.columns)
        chances = np.maximum(values[:count], 0.0)
        block = self.pool.block_of[self.active.columns]
        self.active.chances = (
            chances / np.bincount(block, weights=chances, minlength=self.pool.blocks)[block]
        )
        levels = _levels(program)
        self.levels = values[count : count + levels]
        self._excess = max(0.0, float(values[-1])) if program.relaxed else 0.0
        self.thresholds = host(end.thresholds)
        self.bound_duals = host(end.bound_duals)
        point = np.zeros((len(program.limits), len(self.constraints)))
        point[rows] = host(end.weights)
        # Where the limits leave no room, multipliers grow without bound: only their ratios count.
        point *= min(1.0, MOST_MULTIPLIERS / max(1.0, float(np.abs(point).sum())))
        self.point = program.clip(self.space.asarray(point))

    def _mix(self, chances: FloatArray) -> Any:
        """Return everybody's rates under these chances, shape (N,)."""
        xp = self.space.xp
        return xp.astype(self.space.asarray(chances, "float32") @ self.active.rates, xp.float64)

    def _solution(self, program: Program, rates: Any, end: Iterate) -> MasterSolution:
        mixture = np.zeros(len(self.pool))
        mixture[self.active.columns] = self.active.chances
        common = np.zeros(self.constraints.rate_count)
        common[: len(self.levels)] = np.clip(self.levels, 0.0, 1.0)
        excess = self._excess
        value = self.pool.error(mixture) + program.cost(rates, common)
        value += program.excess_price * excess
        return MasterSolution(
            value=value,
            mixture=mixture,
            common_rates=common,
            rates=rates,
            point=self.point,
            weights=program.weights(self.point),
            thresholds=self.thresholds,
            excess=excess,
        )


def _levels(program: Program) -> int:
    """Return the number of levels: gamma of each rate, or where the worst-off begin."""
    own = program.limits[0]
    has = program.common or isinstance(own, WorstOffLimit)
    return program.constraints.rate_count if has else 0


def _bounds(program: Program) -> int:
    """Return the number of bounds on the worst-off's mean: one for each rate, or none."""
    own = program.limits[0]
    bounded = isinstance(own, WorstOffLimit) and own.top < 1.0
    return program.constraints.rate_count if bounded else 0


def _margin(limit: Limit) -> float:
    """Return how near to a limit a person's row enters the program."""
    if isinstance(limit, PersonLimit) and limit.two_sided:
        return _NEAR * float(np.min(limit.upper))
    return _NEAR_ONE_SIDED


def _pad(marks: NDArray[np.bool_], aux: FloatArray) -> NDArray[np.bool_]:
    return np.append(marks, np.zeros(aux.shape[1] - len(marks), dtype=bool))
