"""One run of column generation: the pool of plays, the master over it, and where to ask next.

A play is an answer of the Learner. The master is the linear program over all plays; each play is a
column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, islice
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import SolverError
from averagefair.game.learner import Learner, Play
from averagefair.game.limits import EXCESS_PRICE, Program
from averagefair.game.promises import ROUNDING, Promise
from averagefair.game.solution import Round, Solution, StopReason
from averagefair.people.backends import total_size
from averagefair.solvers.column_generation import exemptions
from averagefair.solvers.column_generation.center import Center
from averagefair.solvers.column_generation.master import CONSTANTS, Master, MasterSolution
from averagefair.solvers.column_generation.pool import Pool
from averagefair.solvers.column_generation.pricing import Pricer, cost
from averagefair.solvers.loop import Trace

if TYPE_CHECKING:
    from averagefair.solvers.column_generation import ColumnGeneration

# While a limit cannot be kept, only the excess matters: its gains count this many times.
_EXCESS_GAIN = 10.0
# Gains and reduced costs smaller than these are rounding.
_LEAST_GAIN, _LEAST_REDUCED_COST = 1e-7, 1e-9
# Move to the next figure after this many rounds gaining less than `tol`.
_APPROACH_PATIENCE = 3
# With beta, choose the exempt people again after each interval of this many rounds.
_EXEMPTION_ROUNDS = 10
# After the time limit, the last linear programs may take this share of the limit, or this many
# seconds if that is more.
_GRACE, _LEAST_GRACE = 0.25, 1.0


class Effort(NamedTuple):
    """How hard to try with a heuristic oracle; see :class:`~averagefair.ColumnGeneration`."""

    patience: int
    reweightings: int
    shakes: int


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
    """The pool, the master over it, and the best dual point so far (the *center*)."""

    def __init__(
        self,
        learner: Learner,
        settings: ColumnGeneration,
        effort: Effort,
        promise: Promise,
        rng: np.random.Generator,
    ) -> None:
        self.learner, self.settings, self.promise = learner, settings, promise
        self.deadline = perf_counter() + (settings.time_limit or np.inf)
        self.pricer = Pricer(learner, effort.reweightings, effort.shakes, rng, self.deadline)
        self.constraints = learner.constraints
        self.pool = Pool(self.constraints)
        for play in learner.constants():
            self.pool.add(play)
        self.master = Master(self.pool)
        self.exempt = np.zeros(len(self.constraints), dtype=bool)
        self.figure = np.inf
        self.center = Center(learner.program(promise))
        self.solution: MasterSolution | None = None
        self.start(promise, effort.patience)

    def start(self, promise: Promise, patience: int) -> None:
        """Start on a promise, with all columns found so far."""
        self.promise, self.patience, self.rounds = promise, patience, 0
        self.calls_before = self.learner.calls
        # Exact oracle: solve at the promise's figure directly. Heuristic: approach it from above,
        # from where it begins to bind. A price is not approached: any price is easy.
        approach = not self.learner.exact and self.settings.approach > 0
        approach &= bool(promise.parameter) and not promise.less_is_easier
        easiest = min(self.figure, promise.easiest) if approach else -np.inf
        self._set_figure(max(promise.value, easiest))

    def _set_figure(self, figure: float) -> None:
        """Set the promise's figure, such as alpha; the master must then be solved again."""
        self.figure = figure
        promise = self.promise.at(figure) if self.promise.parameter else self.promise
        self._set_program(self.learner.program(promise))

    def _set_program(self, program: Program) -> None:
        self.program, self.unsolved, self.rounds_without_gain = program, True, 0
        self.values: list[float] = []
        if self.center.point.shape[0] != len(program.limits):
            self.center = Center(program)

    @property
    def _approaching(self) -> bool:
        """Whether the current program is easier than the promise."""
        return self.figure > self.promise.value

    def step(self) -> Round:
        """Ask the Learner at one point, several times if it is heuristic, and solve the master."""
        if self.unsolved:
            self._solve_new_program()
        before, evaluated = self._solution().value, self.center.evaluated
        added = self._add_best(self._ask(self._next_point()))
        if added:
            self._solve()
        self.rounds += 1
        if self.promise.exempt_share and self.rounds % _EXEMPTION_ROUNDS == 0:
            self._improve_exemptions(first_only=True)
        solution = self._solution()
        # With an exact oracle a new column is progress, even while the value stays the same. A
        # round that only evaluated the center did not try to improve: it is not a failure.
        gained = solution.value < before - _LEAST_GAIN or (self.learner.exact and added > 0)
        failed = not gained and evaluated
        self.rounds_without_gain = self.rounds_without_gain + 1 if failed else 0
        self.values.append(solution.value)
        error = float(solution.mixture @ self.pool.errors[: len(solution.mixture)])
        spread = self.constraints.spread(solution.rates)
        return Round(self.rounds, error, spread, self._gap(), self.figure)

    def finished(self) -> StopReason | None:
        """Stop at a proof, if the oracle knows no better answer, or if progress is too slow.

        Above the promise's figure the run moves on to the next figure instead, and after a program
        that is not final to the next program.
        """
        if self._approaching:
            if self._stop_reason(_APPROACH_PATIENCE) is not None:
                # The promise begins to bind at the figure that these rates just keep.
                reached = self.promise.reached(self.constraints, self._solution().rates)
                binding = min(self.figure, reached)
                self._set_figure(max(self.promise.value, self.settings.approach * binding))
            return None
        # A program that is not final matters only once its limits cannot be kept.
        easy = not self.program.final and self._solution().excess <= ROUNDING
        reason = self._stop_reason(_APPROACH_PATIENCE if easy else self.patience)
        if reason is not None and not self.program.final:
            self._advance()
            return None
        if reason is not None and self.promise.exempt_share and self._improve_exemptions():
            self.rounds_without_gain, self.values = 0, self.values[-1:]
            return None
        return reason

    def _stop_reason(self, patience: int) -> StopReason | None:
        settings, values, exact = self.settings, self.values, self.learner.exact
        if exact and self._gap() <= settings.tol:
            return StopReason.TOLERANCE
        # Every point between the center and the duals was asked without a gain; a heuristic oracle
        # gets two passes. Where no constraint binds, all points are the same.
        passes = 1 if exact or total_size(self._solution().weights) == 0.0 else 2
        if self.rounds_without_gain >= self._points_in_a_pass() * passes:
            return StopReason.NO_BETTER
        if not exact and len(values) > patience:
            gained = values[-1 - patience] - values[-1]
            if self._solution().excess > ROUNDING:
                gained *= _EXCESS_GAIN / EXCESS_PRICE
            return StopReason.SLOW if gained < settings.tol else None
        return None

    def _advance(self) -> None:
        """Go on to the program that follows one that is not final."""
        now = self._solution()
        point = now.point if now.excess <= ROUNDING else self.master.excess_point()
        following = self.promise.next_program(self.program, now.rates, point, now.excess)
        self._set_program(following)

    def _solution(self) -> MasterSolution:
        assert self.solution is not None, "the master has not been solved yet"
        return self.solution

    def _gap(self) -> float:
        return max(0.0, self._solution().value - self.center.value(self.program))

    def _points_in_a_pass(self) -> int:
        """Return how many points are asked on the way from the center to the master's duals."""
        return ceil(1.0 / (1.0 - self.settings.smoothing) - 1e-9)

    def _next_point(self) -> Any:
        """Return where to ask: at the center first, then between it and the master's duals."""
        if not self.center.evaluated:
            return self.center.point
        number = self.rounds_without_gain % self._points_in_a_pass() + 1
        stay = max(0.0, 1.0 - number * (1.0 - self.settings.smoothing))
        return stay * self.center.point + (1.0 - stay) * self._solution().point

    def _ask(self, point: Any) -> list[Play]:
        """Return the Learner's answers around a point; move the center there if it is better."""
        weights = self.program.weights(point)
        plays = self.pricer.ask(weights, self.rounds_without_gain)
        least = min(cost(play, weights) for play in plays)
        known = float(self.pool.costs(weights).min())
        self.center.move_if_better(point, min(least, known), self.program)
        return plays

    def _add_best(self, plays: list[Play]) -> int:
        """Add the plays with the lowest reduced costs to the pool; return how many were added."""
        solution = self._solution()
        reduced = [cost(play, solution.weights) - solution.threshold for play in plays]
        added = 0
        for index in np.argsort(reduced, kind="stable"):
            if reduced[index] >= -_LEAST_REDUCED_COST or added == self.settings.columns_per_round:
                break
            added += self._add(plays[index])
        return added

    def _add(self, play: Play) -> bool:
        """Add a play to the pool unless the pool has it already."""
        if self.pool.find(play) is not None:
            return False
        self.pool.add(play)
        self.center.lower_to(play)
        return True

    def _solve_new_program(self) -> None:
        """Solve a program that is new to the run, and choose the exempt people there."""
        self._add(self.learner.unconstrained())
        self._solve()
        if self.promise.exempt_share:
            self._improve_exemptions(beyond=self.learner.unconstrained().rates)

    def _solve(self) -> None:
        seconds = max(0.0, self.deadline - perf_counter())
        self.solution = self.master.solve(self.program.exempting(self.exempt), seconds)
        self.unsolved = False

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
        try:
            for choice in islice(choices, 1 if first_only else None):
                if (choice == exempt).all():
                    continue
                self.exempt = choice
                self._solve()
                gained = self._solution().value < before.value - _LEAST_GAIN
                if gained:
                    self.center.remove_weights(choice, self.program)
                    return True
        finally:
            # The time limit or Ctrl-C may end a solve half-way.
            if not gained:
                self.solution, self.exempt = before, exempt
        return False

    def result(self, trace: Trace) -> PromiseResult:
        """Return the result for the current promise."""
        reason = trace.stop_reason
        if self.unsolved or self._approaching or reason.limit or reason.cut_short:
            self._finish_early()
        return PromiseResult(
            promise=self.promise,
            program=self.program,
            master=self._solution(),
            exempt=self.exempt,
            center=self.center.point,
            oracle_calls=self.learner.calls - self.calls_before,
            trace=trace,
        )

    def _finish_early(self) -> None:
        """Keep the promise with the pool as it is, after a run that was ended early.

        Where coin flips help, they are mixed into the last solution, and into the unconstrained
        play, until each keeps the promise. The result is at least as good as both.
        """
        last = self.solution
        if self._approaching:
            self._set_figure(self.promise.value)
        self._allow_grace()
        try:
            self._solve_new_program()
            while not self.program.final:
                self._advance()
                self._solve_new_program()
            value = np.inf
            while self.promise.exempt_share and self._solution().value < value - self.settings.tol:
                value = self._solution().value
                self._improve_exemptions()
        except (SolverError, KeyboardInterrupt):
            pass  # keep what was solved before
        for fallback in (last, self._unconstrained()):
            mixed = None if fallback is None else self._mix_in_coin_flips(fallback)
            if mixed is None:
                continue
            if self.unsolved or mixed.value < self._solution().value - _LEAST_GAIN:
                self.solution, self.unsolved = mixed, False
                self.exempt = self.promise.beyond(self.constraints, mixed.rates)
        if self.unsolved:  # the last linear program failed, and coin flips are no help
            self.solution = self._unconstrained() if last is None else last
            self.unsolved = False

    def _allow_grace(self) -> None:
        """Give the last linear programs some time after the time limit."""
        if self.settings.time_limit is not None:
            grace = max(_LEAST_GRACE, _GRACE * self.settings.time_limit)
            self.deadline = max(self.deadline, perf_counter() + grace)

    def _unconstrained(self) -> MasterSolution:
        """Return the mixture of the unconstrained play alone."""
        play = self.learner.unconstrained()
        self._add(play)
        mixture = np.zeros(len(self.pool))
        mixture[self.pool.find(play)] = 1.0
        return MasterSolution(
            value=play.error,
            mixture=mixture,
            common_rates=self.constraints.middle(play.rates),
            rates=play.rates,
            point=self.program.zero(),
            weights=self.constraints.space.zeros(len(self.constraints)),
            threshold=play.error,
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
        mixture = kept * solution.mixture
        mixture[:CONSTANTS] += 0.5 * (1.0 - kept)
        rates = kept * solution.rates + 0.5 * (1.0 - kept)
        common_rates = self.constraints.middle(rates)
        error = float(mixture @ self.pool.errors[: len(mixture)])
        return replace(
            solution,
            value=error + self.program.cost(rates, common_rates),
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
                self._solve()
            except (SolverError, KeyboardInterrupt):
                continue
            if self._solution().value < best.master.value:
                best = replace(best, master=self._solution(), exempt=source.exempt)
                if source is other:
                    # Use the other's lower bound: the old proof does not hold for its exemptions.
                    trace = result.trace._replace(stop_reason=StopReason.NO_BETTER)
                    best = replace(best, center=source.center, trace=trace)
        return best

    def to_solution(self, result: PromiseResult) -> Solution:
        """Return a result as a Solution; only columns with a positive chance are kept."""
        master, promise, trace = result.master, result.promise, result.trace
        program = result.program.exempting(result.exempt)
        used = np.flatnonzero(master.mixture)
        used = used[used >= CONSTANTS]
        space, common_rates = self.constraints.space, master.common_rates
        # Any common rate within the slack of everybody would do; report the middle one. If
        # violations have a price, the solution's own common rate is the best.
        if program.common and getattr(program.limits[0], "prices", None) is None:
            common_rates = self.constraints.middle(master.rates, ~result.exempt)
        zero, one = master.mixture[:CONSTANTS]
        return Solution(
            promise=promise,
            program=program,
            weights=space.xp.stack([self.pool.weights[column] for column in used])
            if used.size
            else space.zeros((0, len(self.constraints))),
            mixture=master.mixture[used],
            constants=(float(zero), float(one)),
            hypotheses=[self.pool.hypotheses[column] for column in used],
            common_rates=common_rates,
            multipliers=None,
            dual_points=[program.clip(point) for point in (result.center, master.point)],
            dual_bound=promise.dual_bound,
            aim=promise.value,
            history=trace.history,
            oracle_calls=result.oracle_calls,
            stop_reason=trace.stop_reason,
            seconds=trace.seconds,
            trouble=trace.trouble,
        )
