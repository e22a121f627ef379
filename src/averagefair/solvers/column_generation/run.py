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

from averagefair._util.arrays import FloatArray
from averagefair.errors import SolverError
from averagefair.game.learner import Learner, Play
from averagefair.game.request import Request
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

# Gains and reduced costs smaller than these are rounding.
_LEAST_GAIN, _LEAST_REDUCED_COST = 1e-7, 1e-9
# Move to the next slack after this many rounds gaining less than `tol`.
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
class RequestResult:
    """What a run reached for one request."""

    request: Request
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
        request: Request,
        rng: np.random.Generator,
    ) -> None:
        self.learner, self.settings, self.request = learner, settings, request
        self.deadline = perf_counter() + (settings.time_limit or np.inf)
        self.pricer = Pricer(learner, effort.reweightings, effort.shakes, rng, self.deadline)
        self.constraints = learner.constraints
        self.pool = Pool(self.constraints)
        for play in learner.constants():
            self.pool.add(play)
        self.prices: FloatArray | None = None
        if request.max_influence is not None:
            people = learner.sample.individual_weights.sum()
            self.prices = request.max_influence * self.constraints.multiplicities / people
        self.master = Master(self.pool, self.prices)
        self.center = Center(self.constraints)
        self.exempt = np.zeros(len(self.constraints), dtype=bool)
        self.slack = 0.5
        self.solution: MasterSolution | None = None
        self.start(request, effort.patience)

    def start(self, request: Request, patience: int) -> None:
        """Start on a request, with all columns found so far."""
        self.request, self.patience, self.rounds = request, patience, 0
        self.calls_before = self.learner.calls
        # Exact oracle: solve at alpha directly. Heuristic: approach alpha from above.
        approach = not self.learner.exact and self.settings.approach > 0
        self._set_slack(max(request.alpha, self.slack) if approach else request.alpha)

    def _set_slack(self, slack: float) -> None:
        """Set the slack; the master must then be solved again."""
        self.slack, self.unsolved, self.rounds_without_gain = slack, True, 0
        self.values: list[float] = []

    def step(self) -> Round:
        """Ask the Learner at one point, several times if it is heuristic, and solve the master."""
        if self.unsolved:
            self._solve_at_new_slack()
        before, evaluated = self._solution().value, self.center.evaluated
        added = self._add_best(self._ask(self._next_point()))
        if added:
            self._solve()
        self.rounds += 1
        if self.request.beta and self.rounds % _EXEMPTION_ROUNDS == 0:
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
        return Round(self.rounds, error, spread, self._gap(), self.slack)

    def finished(self) -> StopReason | None:
        """Stop at a proof, if the oracle knows no better answer, or if progress is too slow.

        Above the request's alpha the run moves on to the next slack instead.
        """
        if self.slack > self.request.alpha:
            if self._stop_reason(_APPROACH_PATIENCE) is not None:
                # The constraint binds below half the width of a window with all but a share beta.
                width = self.constraints.width(self._solution().rates, self.request.beta)
                binding = min(self.slack, 0.5 * width)
                self._set_slack(max(self.request.alpha, self.settings.approach * binding))
            return None
        reason = self._stop_reason(self.patience)
        if reason is not None and self.request.beta and self._improve_exemptions():
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
            return StopReason.SLOW if gained < settings.tol else None
        return None

    def _solution(self) -> MasterSolution:
        assert self.solution is not None, "the master has not been solved yet"
        return self.solution

    def _gap(self) -> float:
        return max(0.0, self._solution().value - self.center.value(self.slack))

    def _points_in_a_pass(self) -> int:
        """Return how many points are asked on the way from the center to the master's duals."""
        return ceil(1.0 / (1.0 - self.settings.smoothing) - 1e-9)

    def _next_point(self) -> Any:
        """Return where to ask: at the center first, then between it and the master's duals."""
        if not self.center.evaluated:
            return self.center.weights
        number = self.rounds_without_gain % self._points_in_a_pass() + 1
        stay = max(0.0, 1.0 - number * (1.0 - self.settings.smoothing))
        return stay * self.center.weights + (1.0 - stay) * self._solution().weights

    def _ask(self, point: Any) -> list[Play]:
        """Return the Learner's answers around a point; move the center there if it is better."""
        plays = self.pricer.ask(point, self.rounds_without_gain)
        least = min(cost(play, point) for play in plays)
        known = float(self.pool.costs(point).min())
        self.center.move_if_better(point, min(least, known), self.slack)
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

    def _solve_at_new_slack(self) -> None:
        """Solve at a slack that is new to the run, and choose the exempt people there."""
        self._add(self.learner.unconstrained())
        self._solve()
        if self.request.beta:
            self._improve_exemptions(beyond=self.learner.unconstrained().rates)

    def _solve(self) -> None:
        seconds = max(0.0, self.deadline - perf_counter())
        self.solution = self.master.solve(self.slack, self.exempt, seconds)
        self.unsolved = False

    def _improve_exemptions(self, *, first_only: bool = False, beyond: Any = None) -> bool:
        """Choose the exempt people again; return whether the value improved.

        The first choice that improves the value is kept. With ``first_only``, only one choice is
        tried. ``beyond`` may give the rates of another play: everybody beyond the narrowest window
        of these rates is then the first choice.
        """
        before, exempt = self._solution(), self.exempt
        choices = exemptions.choices(before, self.constraints, self.slack, self.request.beta)
        if beyond is not None:
            choices = chain([self.constraints.beyond(beyond, self.request.beta)], choices)
        gained = False
        try:
            for choice in islice(choices, 1 if first_only else None):
                if (choice == exempt).all():
                    continue
                self.exempt = choice
                self._solve()
                gained = self._solution().value < before.value - _LEAST_GAIN
                if gained:
                    self.center.remove_weights(choice)
                    return True
        finally:
            # The time limit or Ctrl-C may end a solve half-way.
            if not gained:
                self.solution, self.exempt = before, exempt
        return False

    def result(self, trace: Trace) -> RequestResult:
        """Return the result for the current request."""
        reason = trace.stop_reason
        if self.unsolved or self.slack != self.request.alpha or reason.limit or reason.cut_short:
            self._finish_early()
        return RequestResult(
            request=self.request,
            master=self._solution(),
            exempt=self.exempt,
            center=self.center.weights,
            oracle_calls=self.learner.calls - self.calls_before,
            trace=trace,
        )

    def _finish_early(self) -> None:
        """Meet the request with the pool as it is, after a run that was ended early.

        Coin flips are mixed into the last solution, and into the unconstrained play, until each
        meets the request. The result is at least as good as both.
        """
        last = self.solution
        self._set_slack(self.request.alpha)
        self._allow_grace()
        try:
            self._solve_at_new_slack()
            value = np.inf
            while self.request.beta and self._solution().value < value - self.settings.tol:
                value = self._solution().value
                self._improve_exemptions()
        except (SolverError, KeyboardInterrupt):
            pass  # keep what was solved before
        for fallback in (last, self._unconstrained()):
            if fallback is None:
                continue
            mixed = self._mix_in_coin_flips(fallback)
            if self.unsolved or mixed.value < self._solution().value - _LEAST_GAIN:
                self.solution, self.unsolved = mixed, False
                self.exempt = self.constraints.beyond(mixed.rates, self.request.beta)

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
            weights=self.constraints.space.zeros(len(self.constraints)),
            row_weights=np.zeros(0),
            threshold=play.error,
        )

    def _mix_in_coin_flips(self, solution: MasterSolution) -> MasterSolution:
        """Mix coin flips into a solution until it meets the request, without a linear program."""
        beta = self.request.beta
        kept = self.constraints.kept_among_coin_flips(solution.rates, self.slack, beta)
        mixture = kept * solution.mixture
        mixture[:CONSTANTS] += 0.5 * (1.0 - kept)
        rates = kept * solution.rates + 0.5 * (1.0 - kept)
        return replace(
            solution,
            value=float(mixture @ self.pool.errors[: len(mixture)]),
            mixture=mixture,
            rates=rates,
            common_rates=self.constraints.middle(rates),
        )

    def solve_again(self, result: RequestResult, other: RequestResult | None) -> RequestResult:
        """Solve a request over the whole pool, with its exemptions or the other's if better."""
        self._set_slack(result.request.alpha)
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

    def to_solution(self, result: RequestResult) -> Solution:
        """Return a result as a Solution; only columns with a positive chance are kept."""
        master, request, trace = result.master, result.request, result.trace
        used = np.flatnonzero(master.mixture)
        used = used[used >= CONSTANTS]
        space = self.constraints.space
        dual_points = [result.center, master.weights]
        if result.exempt.any():
            exempt = space.asarray(result.exempt)
            dual_points = [space.xp.where(exempt, 0.0, point) for point in dual_points]
        prices: FloatArray | float = 1.0 / request.alpha
        # Any common rate within the slack of everybody would do; report the middle one.
        common_rates = self.constraints.middle(master.rates, ~result.exempt)
        if self.prices is not None:
            prices, common_rates = self.prices, master.common_rates
            limits = space.asarray(self.prices)
            dual_points = [space.xp.clip(point, -limits, limits) for point in dual_points]
        elif result.exempt.any():
            prices = np.where(result.exempt, 0.0, prices)
        zero, one = master.mixture[:CONSTANTS]
        return Solution(
            request=request,
            weights=space.xp.stack([self.pool.weights[column] for column in used])
            if used.size
            else space.zeros((0, len(self.constraints))),
            mixture=master.mixture[used],
            constants=(float(zero), float(one)),
            hypotheses=[self.pool.hypotheses[column] for column in used],
            common_rates=common_rates,
            multipliers=None,
            dual_points=dual_points,
            prices=prices,
            aim=request.alpha,
            history=trace.history,
            oracle_calls=result.oracle_calls,
            stop_reason=trace.stop_reason,
            seconds=trace.seconds,
            trouble=trace.trouble,
        )
