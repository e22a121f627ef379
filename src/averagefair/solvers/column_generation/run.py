"""One run of column generation: the pool of plays, the masters over it, and where to ask next.

A play is an answer of the Learner. Its answer in one block of tasks is a column of the master.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import SolverError
from averagefair.game.blocks import Blocks
from averagefair.game.learner import Learner, Play
from averagefair.game.limits import Program
from averagefair.game.promises import ROUNDING, Promise
from averagefair.game.solution import Round, StopReason
from averagefair.people.backends import total_size
from averagefair.solvers.column_generation import exemptions
from averagefair.solvers.column_generation.center import Center
from averagefair.solvers.column_generation.central import CentralMaster
from averagefair.solvers.column_generation.master import Master
from averagefair.solvers.column_generation.master_solution import MasterSolution
from averagefair.solvers.column_generation.pool import CONSTANTS, Pool
from averagefair.solvers.column_generation.pricing import Pricer
from averagefair.solvers.loop import Trace

if TYPE_CHECKING:
    from averagefair.solvers.column_generation import ColumnGeneration

# While a limit cannot be kept, only the excess matters: its gains count this many times.
_EXCESS_GAIN = 10.0
# Gains and reduced costs smaller than these are rounding.
_LEAST_GAIN, _LEAST_REDUCED_COST = 1e-7, 1e-9
# End a program that is not final after this many rounds gaining less than `tol`.
_SHORT_PATIENCE = 3
# With beta, choose the exempt people again after each interval of this many rounds.
_EXEMPTION_ROUNDS = 10
# After the time limit, the last linear programs may take this share of the limit, or this many
# seconds if that is more.
_GRACE, _LEAST_GRACE = 0.25, 1.0
# The central master is solved to this share of what the last rounds gained, within these bounds.
_LOOSE, _GAIN_ROUNDS, _LOOSEST, _TIGHT = 0.3, 6, 0.02, 2e-4
# The tolerance of the last central solve, and the least with an exact oracle.
_LAST, _LEAST_TOLERANCE = 1e-6, 1e-7
# After rounds without a gain, ask for as many further answers at shaken weights, up to this number.
_MOST_SHAKES = 4
# Chances below the first do not bring a column into the exact master. Where the central master has
# the last word, chances below the second are left out.
_SUPPORT, _LEAST_CENTRAL_CHANCE = 1e-6, 1e-4
# The cheaper oracle is judged by its gains in this many rounds. It is not used if an answer of the
# oracle itself takes less than this share of a linear program.
_CHEAP_ROUNDS, _CHEAP_SHARE = 4, 0.5


@dataclass(frozen=True, eq=False)
class PromiseResult:
    """What a run reached for one promise."""

    promise: Promise
    program: Program
    master: MasterSolution
    exempt: NDArray[np.bool_]
    center: Any
    oracle_calls: int
    trace: Trace


class ColumnRun:
    """The pool, the masters over it, and the best dual point so far (the *center*).

    Programs are solved by the central master, and once more by the exact master at the end. An
    exact oracle's run ends with rounds of the exact master if the central one is not accurate
    enough for ``tol``.

    Parameters
    ----------
    learner : Learner
    settings : ColumnGeneration
    promise : Promise
    blocks : Blocks
    keep : int
        Columns kept for each block.
    reweightings, rng
        See :class:`Pricer`.
    deadline : float
        The ``time.perf_counter`` at which to end.
    """

    def __init__(
        self,
        learner: Learner,
        settings: ColumnGeneration,
        promise: Promise,
        blocks: Blocks,
        *,
        keep: int,
        reweightings: int,
        rng: np.random.Generator,
        deadline: float,
    ) -> None:
        self.learner, self.settings, self.promise = learner, settings, promise
        self.blocks, self.deadline = blocks, deadline
        self.pricer = Pricer(learner, blocks, reweightings, rng, deadline)
        self.constraints = learner.constraints
        self.pool = Pool(learner.rate_scale, len(blocks))
        self._constants = self.pricer.constants()
        for play in self._constants:
            self.pool.add(play)
        self.central, self.exact = CentralMaster(self.pool, keep), Master(self.pool)
        self.central.insist(np.arange(len(self.pool)))
        self.exempt = np.zeros(len(self.constraints), dtype=bool)
        self.center = Center(learner.program(promise))
        self.solution: MasterSolution | None = None
        # Answers of the oracle itself, not of its cheaper stand-in.
        self.own_plays: list[Play] = []
        self.work_limit = np.inf
        # One block: these plays' weights are the mapping, which asks the oracle itself.
        self.pricer.cheaply = len(blocks) > 1 and learner.oracle.cheaper is not None
        self._free: Play | None = None

    def start(self, promise: Promise, patience: int, program: Program | None = None) -> None:
        """Start on a promise, with all columns found so far.

        Parameters
        ----------
        promise : Promise
        patience : int
        program : Program, optional
            Solved in place of the promise's own program; the exempt people then stay the same.
        """
        self.promise, self.patience, self.rounds = promise, patience, 0
        self.calls_before = self.learner.calls
        self._chooses_exemptions = program is None and promise.exempt_share > 0.0
        self._set_program(self.learner.program(promise) if program is None else program)

    def seed(self, plays: list[Play]) -> None:
        """Add plays that are known already; they are divided into this run's blocks."""
        for play in plays:
            assert play.blocks is not None
            counts = play.blocks.counts
            xp = self.pool.space.xp
            kind = getattr(xp, "float64" if counts.dtype == xp.float64 else "int32")
            whole = xp.sum(counts, axis=1, keepdims=True, dtype=kind)
            errors = np.array([play.blocks.errors.sum()])
            shares = play.blocks._replace(errors=errors, counts=whole)
            self.central.insist(self.pool.add(replace(play, blocks=shares)))

    def _set_program(self, program: Program) -> None:
        self.program, self.unsolved, self.rounds_without_gain = program, True, 0
        self.values: list[float] = []
        self.tolerance, self.using_central = _LOOSEST, True
        if self.center.point.shape[0] != len(program.limits):
            self.center = Center(program)

    @property
    def work(self) -> float:
        """Multiplications so far, of oracle and linear programs; an estimate that is repeatable."""
        return self.central.work + self.pricer.work

    def step(self) -> Round:
        """Solve a new program over the columns so far, or ask the Learner and solve again."""
        work, improved = self.central.work, True
        if self.unsolved:
            self._solve_new_program()
        else:
            improved = self._improve()
        self.rounds += 1
        if self._chooses_exemptions and self.rounds % _EXEMPTION_ROUNDS == 0:
            self._improve_exemptions(first_only=True)
        solution = self._solution()
        self.values.append(solution.value)
        self._plan_next(self.central.work - work, improved)
        error = self.pool.error(solution.mixture)
        spread = self.constraints.spread(solution.rates)
        return Round(self.rounds, error, spread, self._gap(), self.promise.value)

    def _improve(self) -> bool:
        """Ask the Learner at one point and solve again; return whether any column improves."""
        before, evaluated = self._solution().value, self.center.evaluated
        improving = self._ask(self._next_point())
        if improving.size or self.using_central:
            self._solve(columns=improving)
        # With an exact oracle a new column is progress, even while the value stays the same. A
        # round that only evaluated the center did not try to improve: it is not a failure.
        lower = self.learner.exact or self._solution().value < before - _LEAST_GAIN
        failed = evaluated and not (improving.size and lower)
        self.rounds_without_gain = self.rounds_without_gain + 1 if failed else 0
        return improving.size > 0

    def _plan_next(self, master_work: float, improved: bool) -> None:
        """Choose how accurately to solve next, and which oracle to ask."""
        values = self.values
        if len(values) > _GAIN_ROUNDS:
            gained = max(0.0, values[-1 - _GAIN_ROUNDS] - values[-1])
            self.tolerance = min(self.tolerance, max(self._tight(), _LOOSE * gained))
        if not improved:
            self.tolerance = max(self._tight(), 0.2 * self.tolerance)
        if self.pricer.cheaply and not self._cheap_is_enough(master_work, improved):
            self.pricer.cheaply, self.values = False, values[-1:]
            self._add_unconstrained()

    def _cheap_is_enough(self, master_work: float, improved: bool) -> bool:
        """Return whether the cheaper oracle gains more for the same work.

        A round of the oracle itself is taken to gain ``tol``.
        """
        cheap, dear = (self.pricer.answer_work(cheaply) + master_work for cheaply in (True, False))
        if not improved or dear - master_work < _CHEAP_SHARE * master_work:
            return False
        if len(self.values) <= _CHEAP_ROUNDS:
            return True
        gained = (self.values[-1 - _CHEAP_ROUNDS] - self.values[-1]) / _CHEAP_ROUNDS
        return gained / cheap > self.settings.tol / dear

    def _tight(self) -> float:
        if not self.learner.exact:
            return _TIGHT
        return max(_LEAST_TOLERANCE, min(_TIGHT, 0.2 * self.settings.tol))

    def finished(self) -> StopReason | None:
        """Stop at a proof, if the oracle knows no better answer, or if progress is too slow.

        After a program that is not final the run moves on to the next program instead.
        """
        if self.pricer.cheaply:
            return None
        if self.work > self.work_limit:
            return StopReason.ROUNDS
        # A program that is not final matters only once its limits cannot be kept.
        easy = not self.program.final and self._solution().excess <= ROUNDING
        reason = self._stop_reason(_SHORT_PATIENCE if easy else self.patience)
        if reason is not None and not self.program.final:
            self._advance()
            return None
        if reason is not None and self._chooses_exemptions and self._improve_exemptions():
            self.rounds_without_gain, self.values = 0, self.values[-1:]
            return None
        return reason

    def _stop_reason(self, patience: int) -> StopReason | None:
        settings, values, exact = self.settings, self.values, self.learner.exact
        if exact and self._gap() <= settings.tol:
            if not self.using_central or self._keeps_limits():
                return StopReason.TOLERANCE
            self._leave_central()
            return None
        if self.rounds_without_gain >= self._points_in_a_pass():
            if exact and self.using_central:
                # What is left to gain is too little for the central master.
                self._leave_central()
                return None
            return StopReason.NO_BETTER
        if not exact and len(values) > patience:
            gained = values[-1 - patience] - values[-1]
            if self._solution().excess > ROUNDING:
                gained *= min(1.0, _EXCESS_GAIN / self.program.excess_price)
            return StopReason.SLOW if gained < settings.tol else None
        return None

    def _keeps_limits(self) -> bool:
        """Return whether the solution keeps the limits as accurately as the run is to end."""
        solution, allowed = self._solution(), max(ROUNDING, self.settings.tol)
        return self.program.violation(*_where(solution)) <= solution.excess + allowed

    def _leave_central(self) -> None:
        """Go on with the exact master."""
        self.using_central, self.rounds_without_gain = False, 0
        self._solve(columns=self._support())

    def _advance(self) -> None:
        """Go on to the program that follows one that is not final."""
        self.solution = now = self._solve_exactly()
        point = now.point if now.excess <= ROUNDING else self.exact.excess_point()
        following = self.promise.next_program(self.program, now.rates, point, now.excess)
        self._set_program(following)

    def _solution(self) -> MasterSolution:
        assert self.solution is not None, "the master has not been solved yet"
        return self.solution

    def _gap(self) -> float:
        return max(0.0, self._solution().value - self.center.value(self.program))

    def _points_in_a_pass(self) -> int:
        """Return how many points without a gain mean that there is no better answer.

        Exact master: all points on the way from the center to its duals; a heuristic oracle gets
        two passes. Central master: each further solve is tighter. Where no constraint binds, all
        points are the same.
        """
        if total_size(self._solution().weights) == 0.0:
            return 1
        if self.using_central:
            return 3 if self.learner.exact else 2 * _MOST_SHAKES
        points = ceil(1.0 / (1.0 - self.settings.smoothing) - 1e-9)
        return points if self.learner.exact else 2 * points

    def _next_point(self) -> Any:
        """Return where to ask: at central prices, or between the center and the exact duals."""
        if self.using_central:
            return self._solution().point
        if not self.center.evaluated:
            return self.center.point
        points = ceil(1.0 / (1.0 - self.settings.smoothing) - 1e-9)
        number = self.rounds_without_gain % points + 1
        stay = max(0.0, 1.0 - number * (1.0 - self.settings.smoothing))
        return stay * self.center.point + (1.0 - stay) * self._solution().point

    def _ask(self, point: Any) -> NDArray[np.intp]:
        """Ask the Learner at a point, and add its answers; return the columns that improve."""
        weights, solution = self.program.weights(point), self._solution()
        shakes = min(self.rounds_without_gain, _MOST_SHAKES) if self.using_central else 0
        plays = self.pricer.ask(weights, shakes)
        costs = [self.learner.block_costs(play, weights) for play in (*plays, *self._constants)]
        self.center.move_if_better(point, np.min(costs, axis=0), self.program)
        found = []
        for play, own in zip(plays, costs, strict=False):
            if self.learner.exact or self.center.point is point:
                self.center.lower_to(own)
            before = len(self.pool)
            found.append(self.pool.add(play))
            if not self.pricer.cheaply and len(self.pool) > before:
                self.own_plays.append(play)
        columns = np.unique(np.concatenate(found))
        if self.using_central:
            return self.central.offer(columns, solution.weights)
        along = self.pool.errors[columns] + self.pool.along(columns, solution.weights)
        thresholds = solution.thresholds[self.pool.block_of[columns]]
        return columns[along < thresholds - _LEAST_REDUCED_COST]

    def _solve_new_program(self) -> None:
        """Solve a program that is new to the run, and choose the exempt people there."""
        if self._free is None:
            self._add_unconstrained()
        self.central.insist(np.flatnonzero(self.pool.play_of < CONSTANTS))
        self._solve()
        if not self.center.evaluated and total_size(self.center.weights) == 0.0:
            weights, plays = self.program.weights(self.center.point), [*self._constants]
            plays += [] if self._free is None else [self._free]
            costs = [self.learner.block_costs(play, weights) for play in plays]
            self.center.least_costs = np.min(costs, axis=0)
        if self._chooses_exemptions:
            self._improve_exemptions(beyond=self.learner.unconstrained().rates)

    def _add_unconstrained(self) -> None:
        """Add the answer without a constraint: the cheaper oracle's first, if there is one."""
        self._free = self.pricer.unconstrained()
        if not self.pricer.cheaply:
            self.own_plays.append(self._free)
        self.central.insist(self.pool.add(self._free))

    def _solve(self, columns: NDArray[np.intp] | None = None) -> None:
        program = self.program.exempting(self.exempt)
        if self.using_central:
            self.solution = self.central.solve(program, self.tolerance, self.deadline)
        else:
            seconds = max(0.0, self.deadline - perf_counter())
            self.solution = self.exact.solve(program, seconds, columns)
        self.unsolved = False

    def _support(self) -> NDArray[np.intp]:
        """Return the columns that the last solution uses."""
        return np.flatnonzero(self._solution().mixture > _SUPPORT)

    def _solve_exactly(self) -> MasterSolution:
        """Solve by the exact master, over the columns of the central solution if there is one."""
        program = self.program.exempting(self.exempt)
        rows = None
        if self.using_central:
            self.solution = self.central.solve(program, _LAST, self.deadline)
            rows = self.central.point
        seconds = max(0.0, self.deadline - perf_counter())
        return self.exact.solve(
            program, seconds, self._support(), rows, whole_pool=not self.using_central
        )

    def _improve_exemptions(self, *, first_only: bool = False, beyond: Any = None) -> bool:
        """Choose the exempt people again; return whether the value improved.

        The first choice that improves the value is kept. With ``first_only``, only one choice is
        tried. ``beyond`` may give the rates of another play: everybody beyond the narrowest window
        of these rates is then the first choice.
        """
        before, exempt = self._solution(), self.exempt
        choices = exemptions.choices(before, self.program, self.promise)
        if beyond is not None:
            choices = chain([self.promise.beyond(self.constraints, beyond)], choices)
        gained = False
        # Without the constants, the columns in use may not keep the promise for other people.
        self.central.insist(np.flatnonzero(self.pool.play_of < CONSTANTS))
        least = max(_LEAST_GAIN, 0.5 * self.tolerance if self.using_central else 0.0)
        try:
            for choice in islice(choices, 1 if first_only else None):
                if (choice == exempt).all():
                    continue
                self.exempt = choice
                self._solve()
                gained = self._solution().value < before.value - least
                if gained:
                    self.center.remove_weights(choice, self.program)
                    return True
        finally:
            # The time limit or Ctrl-C may end a solve half-way.
            if not gained:
                self.solution, self.exempt = before, exempt
        return False

    def result(self, trace: Trace, *, exactly: bool = True) -> PromiseResult:
        """Return the result for the current promise.

        Parameters
        ----------
        trace : Trace
        exactly : bool, default True
            Solve once more by the exact master. Otherwise the solution is the last one.
        """
        reason = trace.stop_reason
        if self.unsolved or reason.limit or reason.cut_short:
            self._finish_early()
        elif exactly:
            self._finish()
        return self._as_result(trace)

    def central_result(self, trace: Trace) -> PromiseResult:
        """Return the result of a program that every mixture keeps, since all limits have prices.

        Many people leave their limits there, and each takes a row of the exact master. So the
        central master solves once more, and small chances are left out.

        Parameters
        ----------
        trace : Trace
        """
        if self.using_central:
            if perf_counter() < self.deadline:
                program = self.program.exempting(self.exempt)
                with suppress(KeyboardInterrupt):  # the last solution serves too
                    self.solution = self.central.solve(program, _LAST, self.deadline)
            mixture = self._solution().mixture.copy()
            mixture[mixture < _LEAST_CENTRAL_CHANCE] = 0.0
            blocks = self.pool.block_of[: len(mixture)]
            mixture /= np.bincount(blocks, weights=mixture, minlength=len(self.blocks))[blocks]
            self.solution = replace(self._solution(), mixture=mixture)
        return self._as_result(trace)

    def _as_result(self, trace: Trace) -> PromiseResult:
        return PromiseResult(
            promise=self.promise,
            program=self.program,
            master=self._solution(),
            exempt=self.exempt,
            center=self.center.point,
            oracle_calls=self.learner.calls - self.calls_before,
            trace=trace,
        )

    def _finish(self) -> None:
        """Solve exactly; keep the central solution, with coin flips, if that fails."""
        last = self._solution()
        try:
            self.solution = self._solve_exactly()
        except (SolverError, KeyboardInterrupt):
            self.solution = self._mix_in_coin_flips(last) or last

    def _finish_early(self) -> None:
        """Keep the promise with the pool as it is, after a run that was ended early.

        Where coin flips help, they are mixed into the last solution, and into the unconstrained
        play, until each keeps the promise. The result is at least as good as both.
        """
        last = self.solution
        self._allow_grace()
        try:
            if self.unsolved:
                self._solve_new_program()
            while not self.program.final:
                self._advance()
                self._solve_new_program()
            value = np.inf
            while self._chooses_exemptions and self._solution().value < value - self.settings.tol:
                value = self._solution().value
                self._improve_exemptions()
            self.solution = self._solve_exactly()
        except (SolverError, KeyboardInterrupt):
            pass  # keep what was solved before
        now = None if self.unsolved else self.solution
        best = None if now is None or self.program.violation(*_where(now)) > ROUNDING else now
        for fallback in (now, last, self._unconstrained()):
            mixed = None if fallback is None else self._mix_in_coin_flips(fallback)
            if mixed is None:
                continue
            if best is None or mixed.value < best.value - _LEAST_GAIN:
                best = mixed
                self.exempt = self.promise.beyond(self.constraints, mixed.rates)
        # The last linear program failed, and coin flips are no help.
        self.solution = best or now or last or self._unconstrained()
        self.unsolved = False

    def _allow_grace(self) -> None:
        """Give the last linear programs some time after the time limit."""
        if self.settings.time_limit is not None:
            self.deadline = max(self.deadline, perf_counter() + grace(self.settings.time_limit))

    def _unconstrained(self) -> MasterSolution:
        """Return the mixture of the unconstrained play alone."""
        play = self.learner.unconstrained()
        columns = self.pool.add(self.learner.divide(play, self.blocks))
        mixture = np.zeros(len(self.pool))
        mixture[columns] = 1.0
        return MasterSolution(
            value=play.error,
            mixture=mixture,
            common_rates=self.constraints.middle(play.rates),
            rates=play.rates,
            point=self.program.zero(),
            weights=self.constraints.space.zeros(len(self.constraints)),
            thresholds=self.pool.errors[columns],
        )

    def _mix_in_coin_flips(self, solution: MasterSolution) -> MasterSolution | None:
        """Mix coin flips into a solution until it keeps the promise, without a linear program.

        None if coin flips are no help.
        """
        kept = self.promise.kept_among_coin_flips(
            self.constraints, solution.rates, self.promise.value
        )
        if np.isnan(kept) or not self.program.final or len(self.program.limits) > 1:
            return None
        mixture: FloatArray = kept * solution.mixture
        mixture = np.append(mixture, np.zeros(len(self.pool) - len(mixture)))
        mixture[self.pool.play_of < CONSTANTS] += 0.5 * (1.0 - kept)
        rates = kept * solution.rates + 0.5 * (1.0 - kept)
        common_rates = self.constraints.middle(rates)
        return replace(
            solution,
            value=self.pool.error(mixture) + self.program.cost(rates, common_rates),
            mixture=mixture,
            rates=rates,
            common_rates=common_rates,
            excess=0.0,
        )

    def solve_again(self, result: PromiseResult, other: PromiseResult | None) -> PromiseResult:
        """Solve a promise over the whole pool, with its exemptions or the other's if better."""
        self.promise = result.promise
        self._set_program(result.program)
        best = result
        for source in (result, other):
            if source is None or (source is other and (other.exempt == result.exempt).all()):
                continue
            self.exempt = source.exempt
            self._allow_grace()
            try:
                program = self.program.exempting(self.exempt)
                seconds = max(0.0, self.deadline - perf_counter())
                used = np.flatnonzero(source.master.mixture > _SUPPORT)
                now = self.exact.solve(program, seconds, used, source.master.point)
            except (SolverError, KeyboardInterrupt):
                continue
            broken = program.violation(*_where(best.master)) > 1e-9
            if broken or now.value < best.master.value:
                best = replace(best, master=now, exempt=source.exempt)
                if source is other:
                    # Use the other's lower bound: the old proof does not hold for its exemptions.
                    trace = result.trace._replace(stop_reason=StopReason.NO_BETTER)
                    best = replace(best, center=source.center, trace=trace)
        return best


def grace(time_limit: float) -> float:
    """Return how many seconds the last steps may take after the time limit.

    Parameters
    ----------
    time_limit : float
    """
    return max(_LEAST_GRACE, _GRACE * time_limit)


def _where(solution: MasterSolution) -> tuple[Any, FloatArray]:
    return solution.rates, solution.common_rates
