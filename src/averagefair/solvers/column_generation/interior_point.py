"""An interior-point method for the master's linear program, with a normal matrix of its columns.

The program, over columns v, with rows for people's limits and one simplex for each block:

    minimise    c . v  +  price . o  +  under_price . u
    such that   lower <= A v - o + u <= upper,     S v = 1,     v, o, u >= 0 (some v free)
                E v + K o <= top     (few such bounds: the mean of the worst-off)

Rows are many and columns are few, so every Newton step eliminates the rows: what is left is a
system of the columns, A^T D A plus a diagonal, then one of the blocks. The work of a step is rows
x columns^2, all of it in matrix products, on whatever device holds A.

A solution of low accuracy is in the middle of the good ones. Its duals are *central prices*: they
do not jump from round to round as those of a vertex do, and answers to them are good columns
(Gondzio's primal-dual column generation).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from averagefair._util.arrays import FloatArray
from averagefair.people.backends import Space

NO_BOUND, NO_PRICE = 3.0, 1e30
"""What stands for an infinite bound (rates differ by at most 1) and for an infinite price."""
# Go at most this share of the way to the boundary.
_STEP = 0.995
# Residuals of the rows may be this share of the tolerance.
_ROW_SHARE = 0.05
# After a failed factorisation, the diagonal is raised by these shares of the largest cell.
_JITTER = (0.0, 1e-12, 1e-9, 1e-6)


@dataclass(frozen=True, eq=False)
class RestrictedProgram:
    """The program over some columns and rows. Arrays are in one space; ``blocks`` is in NumPy.

    Attributes
    ----------
    cells : array, shape (rows, K)
        A.
    costs : array, shape (K,)
    blocks : integer array, shape (K,)
        The block of each column; -1 for a column outside all simplexes.
    block_count : int
    free : array, shape (K,)
        1 for columns that may be negative, else 0.
    lower, upper, prices, under_prices : array, shape (rows,)
    bound_cells, bound_shares : array, shapes (bounds, K) and (bounds, rows)
        E and K.
    tops : array, shape (bounds,)
    """

    cells: Any
    costs: Any
    blocks: NDArray[np.intp]
    block_count: int
    free: Any
    lower: Any
    upper: Any
    prices: Any
    under_prices: Any
    bound_cells: Any
    bound_shares: Any
    tops: Any

    @cached_property
    def members(self) -> Any:
        """S, shape (blocks, K): 1 where a column belongs to a block."""
        member = np.zeros((self.block_count, len(self.blocks)))
        inside = np.flatnonzero(self.blocks >= 0)
        member[self.blocks[inside], inside] = 1.0
        return Space.of(self.cells).asarray(member)


@dataclass(frozen=True, eq=False)
class Iterate:
    """A point of the method, strictly inside all bounds.

    Attributes
    ----------
    columns : array, shape (K,)
        v.
    thresholds : array, shape (blocks,)
        The duals of the simplexes.
    middle : array, shape (rows,)
        t, the value that stands between the bounds of each row.
    above, below : array, shape (rows,)
        The duals of the upper and the lower bound. Their difference is the row's weight.
    over, under : array, shape (rows,)
        o and u.
    bound_duals, bound_rooms : array, shape (bounds,)
        The duals of the bounds, and what is left below them.
    gap : float
        The sum of all products of a variable and its dual: how far from optimal.
    steps : int
        Newton steps taken.
    residual : float
        By how much the rows, blocks and bounds are off.
    """

    columns: Any
    thresholds: Any
    middle: Any
    above: Any
    below: Any
    over: Any
    under: Any
    bound_duals: Any
    bound_rooms: Any
    gap: float = float("inf")
    steps: int = 0
    residual: float = float("inf")

    @property
    def weights(self) -> Any:
        """The duals of the rows, shape (rows,)."""
        return self.above - self.below


def interior_point(
    program: RestrictedProgram,
    start: Iterate,
    tolerance: float,
    *,
    most_steps: int = 60,
    stop: Callable[[], bool] = lambda: False,
) -> Iterate:
    """Return a point whose gap is at most the tolerance (Mehrotra's predictor and corrector).

    Parameters
    ----------
    program : RestrictedProgram
    start : Iterate
        See :func:`starting_point`.
    tolerance : float
    most_steps : int, default 60
        The point reached after this many steps is returned whatever its gap is.
    stop : callable, optional
        Asked before each step; True ends the run.
    """
    now = start
    # Where no point keeps the rows, the numbers grow without bound: the last finite point counts.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for _ in range(most_steps):
            newton = _Newton(program, now)
            if not np.isfinite(newton.gap):
                break
            now = replace(now, gap=newton.gap, residual=newton.residual)
            if newton.converged(tolerance) or stop():
                break
            try:
                following = newton.step()
            except (LinAlgError, ValueError):
                break
            if following is None:
                break
            now = following
    return now


def allowed_residual(tolerance: float) -> float:
    """Return by how much rows may be off at a point of this tolerance."""
    return max(1e-9, _ROW_SHARE * tolerance)


def starting_point(
    program: RestrictedProgram,
    columns: Any,
    weights: Any,
    thresholds: Any,
    bound_duals: Any,
    push: float,
) -> Iterate:
    """Return a point near a known solution, strictly inside all bounds.

    The duals are feasible: each block's threshold is lowered below its cheapest column.

    Parameters
    ----------
    program : RestrictedProgram
    columns : array, shape (K,)
        Positive but for free columns. Those of each block add up to 1.
    weights : array, shape (rows,)
        The duals of the rows.
    thresholds : array, shape (blocks,)
    bound_duals : array, shape (bounds,)
        Positive.
    push : float
        The least distance of a threshold from its cheapest column, as a share of the mean of these
        distances.
    """
    space = Space.of(program.cells)
    xp = space.xp
    prices = program.prices + bound_duals @ program.bound_shares
    weights = xp.clip(weights, -0.999 * program.under_prices, 0.999 * prices)
    costs = program.costs + xp.matrix_transpose(program.cells) @ weights
    costs = costs + bound_duals @ program.bound_cells
    inside = program.blocks >= 0
    host_costs, host_thresholds = space.to_host(costs), space.to_host(thresholds)
    cheapest = np.full(program.block_count, np.inf)
    np.minimum.at(cheapest, program.blocks[inside], host_costs[inside])
    short = np.maximum(0.0, host_thresholds - cheapest)
    distance = max(push * float(short.mean()), 1e-7)
    lowered = space.asarray(np.minimum(host_thresholds, cheapest) - distance)
    reduced = costs - lowered @ program.members
    bounded = 1.0 - program.free
    count = float(xp.sum(bounded))
    mean = float(xp.sum(bounded * columns * xp.abs(reduced))) / max(count, 1.0)
    value = program.cells @ columns
    width = program.upper - program.lower
    room = xp.minimum(0.01 * width, 0.01 + 0.0 * width)
    middle = xp.clip(value, program.lower + room, program.upper - room)
    # Both duals of a row are at least those of the barrier; their difference is the weight.
    below = xp.maximum(mean / (middle - program.lower), mean / (program.upper - middle) - weights)
    above = below + weights
    soft, soft_under = (
        xp.astype(price < NO_PRICE, xp.float64) for price in (prices, program.under_prices)
    )
    over = soft * (xp.clip(value - middle, min=0.0) + mean / (prices - weights))
    under = soft_under * (
        xp.clip(middle - value, min=0.0) + mean / (program.under_prices + weights)
    )
    left = program.tops - program.bound_cells @ columns - program.bound_shares @ over
    rooms = xp.maximum(left, mean / bound_duals)
    return Iterate(columns, lowered, middle, above, below, over, under, bound_duals, rooms)


@dataclass(frozen=True, eq=False)
class _Direction:
    """How a step changes each variable and dual of an Iterate."""

    columns: Any
    thresholds: Any
    middle: Any
    above: Any
    below: Any
    over: Any
    under: Any
    weights: Any
    dual_over: Any
    reduced: Any
    bound_duals: Any
    bound_rooms: Any


class _Newton:
    """The Newton step at one point."""

    def __init__(self, program: RestrictedProgram, now: Iterate) -> None:
        self.program, self.now = program, now
        self.space = Space.of(program.cells)
        self.cells, self.member = program.cells, program.members
        self.bounded = 1.0 - program.free
        transposed = self.space.xp.matrix_transpose(self.cells)
        self.reduced = program.costs + transposed @ now.weights - now.thresholds @ self.member
        self.reduced = self.reduced + now.bound_duals @ program.bound_cells
        # The distances from the bounds, and the duals of the violations.
        self.room_above, self.room_below = program.upper - now.middle, now.middle - program.lower
        self.dual_over = program.prices + now.bound_duals @ program.bound_shares - now.weights
        self.dual_under = program.under_prices + now.weights
        self.row_residual = self.cells @ now.columns - now.over + now.under - now.middle
        self.block_residual = 1.0 - self.member @ now.columns
        self.bound_residual = (
            program.tops
            - program.bound_cells @ now.columns
            - program.bound_shares @ now.over
            - now.bound_rooms
        )
        products = [
            self.bounded * now.columns * self.reduced,
            self.room_above * now.above,
            self.room_below * now.below,
            now.over * self.dual_over,
            now.under * self.dual_under,
            now.bound_rooms * now.bound_duals,
        ]
        sums = [float(self.space.xp.sum(product)) for product in products]
        self.gap, self.residual = sum(sums), self._residual()
        xp = self.space.xp
        pairs = self.bounded.shape[0] + 2 * self.cells.shape[0] + now.bound_duals.shape[0]
        soft = xp.sum(xp.astype(program.prices < NO_PRICE, xp.float64))
        self.count = float(pairs) + 2.0 * float(soft)

    def converged(self, tolerance: float) -> bool:
        """Return whether the gap and all residuals are within the tolerance."""
        xp = self.space.xp
        if not self.gap < tolerance:
            return False
        free = float(xp.max(xp.abs(self.program.free * self.reduced)))
        return self.residual <= allowed_residual(tolerance) and free <= tolerance

    def _residual(self) -> float:
        """Return by how much the rows, blocks and bounds are off."""
        xp = self.space.xp
        rows = float(xp.max(xp.abs(self.row_residual))) if self.cells.shape[0] else 0.0
        blocks = float(xp.max(xp.abs(self.block_residual)))
        return max(rows, blocks, float(xp.sum(xp.abs(self.bound_residual))))

    def step(self) -> Iterate | None:
        """Return the next point; None if the numbers are no longer finite."""
        xp, now = self.space.xp, self.now
        self._factor()
        affine = self._direction(*(0.0 * part for part in self._targets(0.0)))
        along, dual = self._lengths(affine)
        moved = self._moved_gap(affine, along, dual)
        mean = self.gap / self.count
        centre = (moved / max(self.gap, 1e-300)) ** 3
        targets = self._targets(centre * mean)
        # The second-order terms of the predictor.
        corrected = (
            targets[0] - affine.columns * affine.reduced,
            targets[1] + affine.middle * affine.above,
            targets[2] - affine.middle * affine.below,
            targets[3] - affine.over * affine.dual_over,
            targets[4] - affine.under * affine.weights,
            targets[5] - affine.bound_rooms * affine.bound_duals,
        )
        move = self._direction(*corrected)
        along, dual = (_STEP * length for length in self._lengths(move))
        following = Iterate(
            columns=now.columns + along * move.columns,
            thresholds=now.thresholds + dual * move.thresholds,
            middle=now.middle + along * move.middle,
            above=now.above + dual * move.above,
            below=now.below + dual * move.below,
            over=now.over + along * move.over,
            under=now.under + along * move.under,
            bound_duals=now.bound_duals + dual * move.bound_duals,
            bound_rooms=now.bound_rooms + along * move.bound_rooms,
            steps=now.steps + 1,
        )
        if not bool(xp.all(xp.isfinite(following.columns))) or max(along, dual) < 1e-10:
            return None
        return following

    def _targets(self, mean: float) -> tuple[Any, ...]:
        """Return the same target for the product of every variable and its dual."""
        columns, rows, bounds = self.now.columns, self.now.middle, self.now.bound_duals
        return (
            mean + 0.0 * columns,
            *(mean + 0.0 * rows for _ in range(4)),
            mean + 0.0 * bounds,
        )

    def _factor(self) -> None:
        xp, now, program = self.space.xp, self.now, self.program
        self.stiffness = now.above / self.room_above + now.below / self.room_below
        softness = 1.0 / self.stiffness
        softness = softness + now.over / self.dual_over + now.under / self.dual_under
        self.scale = 1.0 / softness
        half = self.cells * xp.sqrt(self.scale)[:, None]
        ratio = xp.where(program.free > 0, 0.0, self.reduced / now.columns)
        for jitter in _JITTER:
            normal = xp.matrix_transpose(half) @ half
            if jitter:
                ratio = ratio + jitter * (float(xp.max(xp.abs(normal))) or 1.0)
            try:
                self.solve = _solver(_add_to_diagonal(normal, ratio, self.space), self.space)
                break
            except LinAlgError:
                if jitter == _JITTER[-1]:
                    raise
        # Beside the simplexes, each bound has a row of its own in what is left to solve.
        self.give = now.over / self.dual_over * program.bound_shares
        scaled = self.give * self.scale
        self.bound_rows = program.bound_cells + scaled @ self.cells
        borders = xp.concat([self.member, -self.bound_rows])
        self.border_solved = self.solve(xp.matrix_transpose(borders))
        inner = borders @ self.border_solved
        if self.give.shape[0]:
            own = program.bound_shares @ xp.matrix_transpose(self.give)
            own = own - scaled @ xp.matrix_transpose(self.give)
            count = self.give.shape[0]
            rooms = xp.eye(count, dtype=xp.float64, device=self.space.device)
            own = own + rooms * (now.bound_rooms / now.bound_duals)
            blocks = self.member.shape[0]
            inner[blocks:, blocks:] = inner[blocks:, blocks:] + own
        self.borders = borders
        self.solve_borders = _solver(inner, self.space)

    def _direction(
        self, columns: Any, above: Any, below: Any, over: Any, under: Any, bounds: Any
    ) -> _Direction:
        """Return the Newton direction towards these products of variables and duals."""
        xp, now, program = self.space.xp, self.now, self.program
        push = above / self.room_above - now.above - below / self.room_below + now.below
        slip_over = over / self.dual_over - now.over
        slip_under = under / self.dual_under - now.under
        slip_room = bounds / now.bound_duals - now.bound_rooms
        offset = self.row_residual - slip_over + slip_under + push / self.stiffness
        wanted = xp.where(program.free > 0, 0.0, columns / now.columns)
        transposed = xp.matrix_transpose(self.cells)
        right = wanted - self.reduced - transposed @ (self.scale * offset)
        solved = self.solve(right[:, None])[:, 0]
        bound_right = self.bound_residual - program.bound_shares @ slip_over - slip_room
        bound_right = bound_right - self.give @ (self.scale * offset)
        short = xp.concat([self.block_residual, -bound_right]) - self.borders @ solved
        border = self.solve_borders(short[:, None])[:, 0]
        blocks = self.member.shape[0]
        thresholds, bound_duals = border[:blocks], border[blocks:]
        move = solved + self.border_solved @ border
        weights = self.scale * (self.cells @ move + bound_duals @ self.give + offset)
        middle = (weights - push) / self.stiffness
        dual_over = bound_duals @ program.bound_shares - weights
        return _Direction(
            columns=move,
            thresholds=thresholds,
            middle=middle,
            above=above / self.room_above - now.above + now.above / self.room_above * middle,
            below=below / self.room_below - now.below - now.below / self.room_below * middle,
            over=slip_over - now.over / self.dual_over * dual_over,
            under=slip_under - now.under / self.dual_under * weights,
            weights=weights,
            dual_over=dual_over,
            reduced=transposed @ weights
            - thresholds @ self.member
            + bound_duals @ program.bound_cells,
            bound_duals=bound_duals,
            bound_rooms=slip_room - now.bound_rooms / now.bound_duals * bound_duals,
        )

    def _lengths(self, move: _Direction) -> tuple[float, float]:
        """Return how far to go, at most 1, for the variables and for the duals."""
        now, bounded = self.now, self.bounded
        along = min(
            self._length(now.columns, bounded * move.columns),
            self._length(self.room_above, -move.middle),
            self._length(self.room_below, move.middle),
            self._length(now.over, move.over),
            self._length(now.under, move.under),
            self._length(now.bound_rooms, move.bound_rooms),
        )
        dual = min(
            self._length(self.reduced, bounded * move.reduced),
            self._length(now.above, move.above),
            self._length(now.below, move.below),
            self._length(self.dual_over, move.dual_over),
            self._length(self.dual_under, move.weights),
            self._length(now.bound_duals, move.bound_duals),
        )
        return along, dual

    def _length(self, values: Any, change: Any) -> float:
        xp = self.space.xp
        if not values.shape[0]:
            return 1.0
        falling = change < 0
        ratio = xp.where(falling, -values / xp.where(falling, change, -1.0), 1.0)
        return max(0.0, min(1.0, float(xp.min(ratio))))

    def _moved_gap(self, move: _Direction, along: float, dual: float) -> float:
        now, xp = self.now, self.space.xp
        columns = now.columns + along * move.columns
        products = (
            self.bounded * columns * (self.reduced + dual * move.reduced),
            (self.room_above - along * move.middle) * (now.above + dual * move.above),
            (self.room_below + along * move.middle) * (now.below + dual * move.below),
            (now.over + along * move.over) * (self.dual_over + dual * move.dual_over),
            (now.under + along * move.under) * (self.dual_under + dual * move.weights),
            (now.bound_rooms + along * move.bound_rooms)
            * (now.bound_duals + dual * move.bound_duals),
        )
        return max(0.0, sum(float(xp.sum(product)) for product in products))


def _solver(matrix: Any, space: Space) -> Callable[[Any], Any]:
    """Factor a positive definite matrix; return a function that solves for right-hand sides.

    A NumPy matrix is overwritten.
    """
    if space.is_numpy:
        # LAPACK works in place on the transpose, which is the same matrix.
        factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
        return lambda right: np.asarray(cho_solve(factor, right, check_finite=False))
    if space.is_torch:
        torch = sys.modules["torch"]
        lower, failed = torch.linalg.cholesky_ex(matrix)
        if bool(failed):
            raise LinAlgError("the normal matrix is not positive definite")
        return lambda right: torch.cholesky_solve(right, lower)
    return lambda right: space.xp.linalg.solve(matrix, right)


def _add_to_diagonal(matrix: Any, values: Any, space: Space) -> Any:
    """Return the matrix plus values on its diagonal; a NumPy matrix is changed in place."""
    xp = space.xp
    if space.is_numpy:
        np.einsum("ii->i", matrix)[:] += values
        return matrix
    return matrix + xp.eye(matrix.shape[0], dtype=xp.float64, device=space.device) * values


def host(values: Any) -> FloatArray:
    """Return an array of any library in NumPy."""
    return np.asarray(Space.of(values).to_host(values), dtype=np.float64)
