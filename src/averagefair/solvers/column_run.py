"""One run of column generation: the pool, the master over it, and where to ask next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, islice
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import SolverError
from averagefair.learner import Learner, Play
from averagefair.request import Request
from averagefair.sample import FloatArray
from averagefair.solvers import excuses
from averagefair.solvers.center import Center
from averagefair.solvers.iterate import Round, Solution, StopReason, Trace
from averagefair.solvers.master import CONSTANTS, Answer, Master
from averagefair.solvers.pool import Pool
from averagefair.solvers.pricing import Pricer, cost
from averagefair.spaces import total_size

if TYPE_CHECKING:
    from averagefair.solvers.column_generation import ColumnGeneration

# Gains and reduced costs smaller than these are rounding.
_LEAST_GAIN, _LEAST_REDUCED_COST = 1e-7, 1e-9
# So many rounds without a gain of tol, and a slack on the way has served.
_APPROACH_PATIENCE = 3
# Where a share may stay outside, it is chosen again each time this many rounds have passed.
_EXCUSE_EVERY = 10
# After a time limit, the last linear programs may take this share of it, or this many seconds.
_GRACE, _LEAST_GRACE = 0.25, 1.0


class Effort(NamedTuple):
    """How hard to try with a heuristic oracle; see :class:`~averagefair.ColumnGeneration`."""

    patience: int
    reweightings: int
    shakes: int


@dataclass(frozen=True, eq=False)
class Point:
    """Where a run stood when it had done with a request."""

    request: Request
    answer: Answer
    excused: NDArray[np.bool_]
    center: Any
    oracle_calls: int
    trace: Trace


class ColumnRun:
    """The pool, the master over it, and the best dual point so far (the *center*)."""

    def __init__(
        self,
        learner: Learner,
        rules: ColumnGeneration,
        effort: Effort,
        request: Request,
        rng: np.random.Generator,
    ) -> None:
        self.learner, self.rules, self.request = learner, rules, request
        self.deadline = perf_counter() + (rules.time_limit or np.inf)
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
        self.excused = np.zeros(len(self.constraints), dtype=bool)
        self.slack = 0.5
        self.answer: Answer | None = None
        self.aim_at(request, effort.patience)

    def aim_at(self, request: Request, patience: int) -> None:
        """Turn to a request, with all columns found so far."""
        self.request, self.patience, self.rounds = request, patience, 0
        self.calls_before = self.learner.calls
        # Where there is a proof to find, directly; else by and by.
        by_and_by = not self.learner.exact and self.rules.approach > 0
        self._turn_to(max(request.alpha, self.slack) if by_and_by else request.alpha)

    def _turn_to(self, slack: float) -> None:
        self.slack, self.stale, self.dry = slack, True, 0
        self.values: list[float] = []

    def step(self) -> Round:
        """Ask the Learner at one point (a heuristic one a few times) and solve the master."""
        if self.stale:
            self._start_over()
        before, unsure = self._answer().value, not self.center.confirmed
        taken = self._take_in_best(self._ask(self._next_point()))
        if taken:
            self._solve()
        self.rounds += 1
        if self.request.beta and self.rounds % _EXCUSE_EVERY == 0:
            self._excuse(by_price_alone=True)
        answer = self._answer()
        # Towards a proof a new column is progress, even one that does not move the value yet; and a
        # round that had to confirm the center first has not asked for an improvement.
        gained = answer.value < before - _LEAST_GAIN or (self.learner.exact and taken > 0)
        self.dry = 0 if gained or unsure else self.dry + 1
        self.values.append(answer.value)
        error = float(answer.mixture @ self.pool.errors[: len(answer.mixture)])
        spread = self.constraints.spread(answer.rates)
        return Round(self.rounds, error, spread, self._gap(), self.slack)

    def finished(self) -> StopReason | None:
        """End with a proof, with an oracle that has run dry, or with too little progress.

        Before the request's own slack is reached, no end: on to the next slack.
        """
        if self.slack > self.request.alpha:
            if self._reason(_APPROACH_PATIENCE) is not None:
                # The constraint begins to bind at half the width of all but a share beta.
                width = self.constraints.width(self._answer().rates, self.request.beta)
                binding = min(self.slack, 0.5 * width)
                self._turn_to(max(self.request.alpha, self.rules.approach * binding))
            return None
        reason = self._reason(self.patience)
        if reason is not None and self.request.beta and self._excuse():
            self.dry, self.values = 0, self.values[-1:]
            return None
        return reason

    def _reason(self, patience: int) -> StopReason | None:
        rules, values, exact = self.rules, self.values, self.learner.exact
        if exact and self._gap() <= rules.tol:
            return StopReason.TOLERANCE
        # A round at each point between the center and the duals, and none has gained anything; a
        # heuristic oracle is taken through them twice. Where nothing binds, they are all one.
        passes = 1 if exact or total_size(self._answer().weights) == 0.0 else 2
        if self.dry >= self._stations() * passes:
            return StopReason.NO_BETTER
        if not exact and len(values) > patience:
            gained = values[-1 - patience] - values[-1]
            return StopReason.SLOW if gained < rules.tol else None
        return None

    def _answer(self) -> Answer:
        assert self.answer is not None, "the master has not been solved yet"
        return self.answer

    def _gap(self) -> float:
        return max(0.0, self._answer().value - self.center.value(self.slack))

    def _stations(self) -> int:
        """Return how many points lie between the center and the master's duals."""
        return ceil(1.0 / (1.0 - self.rules.smoothing) - 1e-9)

    def _next_point(self) -> Any:
        """Return where to ask: between the center and the master's duals."""
        if not self.center.confirmed:
            return self.center.weights
        stay = max(0.0, 1.0 - (self.dry % self._stations() + 1) * (1.0 - self.rules.smoothing))
        return stay * self.center.weights + (1.0 - stay) * self._answer().weights

    def _ask(self, point: Any) -> list[Play]:
        """Return the Learner's answers around a point; it becomes the center if it is the best."""
        plays = self.pricer.ask(point, vain_rounds=self.dry)
        least = min(cost(play, point) for play in plays)
        known = float(self.pool.costs(point).min())
        self.center.offer(point, min(least, known), self.slack)
        return plays

    def _take_in_best(self, plays: list[Play]) -> int:
        """Take the plays that promise most into the pool; return how many."""
        answer = self._answer()
        promise = [cost(play, answer.weights) - answer.threshold for play in plays]
        taken = 0
        for place in np.argsort(promise, kind="stable"):
            if promise[place] >= -_LEAST_REDUCED_COST or taken == self.rules.columns_per_round:
                break
            taken += self._take_in(plays[place])
        return taken

    def _take_in(self, play: Play) -> bool:
        """Take a play into the pool unless one just like it is there."""
        if self.pool.find(play) is not None:
            return False
        self.pool.add(play)
        self.center.correct(play)
        return True

    def _start_over(self) -> None:
        """Solve at a slack that is new to the run, and choose who may stay outside there."""
        self._take_in(self.learner.unconstrained())
        self._solve()
        if self.request.beta:
            self._excuse(beyond=self.learner.unconstrained().rates)

    def _solve(self) -> None:
        seconds = max(0.0, self.deadline - perf_counter())
        self.answer = self.master.solve(self.slack, self.excused, seconds)
        self.stale = False

    def _excuse(self, *, by_price_alone: bool = False, beyond: Any = None) -> bool:
        """Choose again who may stay outside; return whether that gained anything.

        The first choice that gains is kept. With ``beyond``, rates of another play, the first to
        be tried is everybody beyond the narrowest window of those.
        """
        before, excused = self._answer(), self.excused
        choices = excuses.choices(before, self.constraints, self.slack, self.request.beta)
        if beyond is not None:
            choices = chain([self.constraints.beyond(beyond, self.request.beta)], choices)
        gained = False
        try:
            for choice in islice(choices, 1 if by_price_alone else None):
                if (choice == excused).all():
                    continue
                self.excused = choice
                self._solve()
                gained = self._answer().value < before.value - _LEAST_GAIN
                if gained:
                    self.center.leave_alone(choice)
                    return True
        finally:
            # The time limit, or Ctrl-C, may end a solve half way.
            if not gained:
                self.answer, self.excused = before, excused
        return False

    def point(self, trace: Trace) -> Point:
        """Say where the run stands with its request."""
        reason = trace.stop_reason
        if self.stale or self.slack != self.request.alpha or reason.limit or reason.cut_short:
            self._answer_now()
        return Point(
            request=self.request,
            answer=self._answer(),
            excused=self.excused,
            center=self.center.weights,
            oracle_calls=self.learner.calls - self.calls_before,
            trace=trace,
        )

    def _answer_now(self) -> None:
        """Answer the request from the pool as it is: the run was ended on the way.

        The answer is at least as good as the last one, and as the unconstrained play, with coin
        flips mixed into either until it keeps to the request.
        """
        last = self.answer
        self._turn_to(self.request.alpha)
        self._allow_grace()
        try:
            self._start_over()
            value = np.inf
            while self.request.beta and self._answer().value < value - self.rules.tol:
                value = self._answer().value
                self._excuse()
        except (SolverError, KeyboardInterrupt):
            pass  # what was solved until then stands
        for other in (last, self._unconstrained()):
            if other is None:
                continue
            evened = self._evened_out(other)
            if self.stale or evened.value < self._answer().value - _LEAST_GAIN:
                self.answer, self.stale = evened, False
                self.excused = self.constraints.beyond(evened.rates, self.request.beta)

    def _allow_grace(self) -> None:
        """Give the last linear programs of a run some time after its limit."""
        if self.rules.time_limit is not None:
            grace = max(_LEAST_GRACE, _GRACE * self.rules.time_limit)
            self.deadline = max(self.deadline, perf_counter() + grace)

    def _unconstrained(self) -> Answer:
        """Return the unconstrained play as an answer."""
        play = self.learner.unconstrained()
        self._take_in(play)
        mixture = np.zeros(len(self.pool))
        mixture[self.pool.find(play)] = 1.0
        nothing = self.constraints.space.zeros(len(self.constraints))
        return Answer(
            value=play.error,
            mixture=mixture,
            common_rates=self.constraints.middle(play.rates),
            rates=play.rates,
            weights=nothing,
            row_weights=np.zeros(0),
            threshold=play.error,
        )

    def _evened_out(self, answer: Answer) -> Answer:
        """Mix coin flips into an answer until it keeps to the request, without a linear program."""
        beta = self.request.beta
        kept = self.constraints.kept_among_coin_flips(answer.rates, self.slack, beta)
        mixture = kept * answer.mixture
        mixture[:CONSTANTS] += 0.5 * (1.0 - kept)
        rates = kept * answer.rates + 0.5 * (1.0 - kept)
        return replace(
            answer,
            value=float(mixture @ self.pool.errors[: len(mixture)]),
            mixture=mixture,
            rates=rates,
            common_rates=self.constraints.middle(rates),
        )

    def solve_again(self, point: Point, also: Point | None) -> Point:
        """Solve a request over the whole pool, with its own exceptions or another's if better."""
        self._turn_to(point.request.alpha)
        best = point
        for choice in (point, also):
            if choice is None or (choice is also and (also.excused == point.excused).all()):
                continue
            self.excused = choice.excused
            self._allow_grace()
            try:
                self._solve()
            except (SolverError, KeyboardInterrupt):
                continue
            if self._answer().value < best.answer.value:
                best = replace(best, answer=self._answer(), excused=choice.excused)
                if choice is also:
                    # Its bound is for these exceptions; what was proved before is not.
                    trace = point.trace._replace(stop_reason=StopReason.NO_BETTER)
                    best = replace(best, center=choice.center, trace=trace)
        return best

    def solution(self, point: Point) -> Solution:
        """Hand on a point: only columns with a chance survive."""
        answer, request, trace = point.answer, point.request, point.trace
        used = np.flatnonzero(answer.mixture)
        used = used[used >= CONSTANTS]
        space = self.constraints.space
        weights = [point.center, answer.weights]
        if point.excused.any():
            nobody = space.asarray(point.excused)
            weights = [space.xp.where(nobody, 0.0, w) for w in weights]
        prices: FloatArray | float = 1.0 / request.alpha
        # Any common rate that everybody is near to would do; the middle one says most.
        common_rates = self.constraints.middle(answer.rates, ~point.excused)
        if self.prices is not None:
            prices, common_rates = self.prices, answer.common_rates
            most = space.asarray(self.prices)
            weights = [space.xp.clip(w, -most, most) for w in weights]
        elif point.excused.any():
            prices = np.where(point.excused, 0.0, prices)
        zero, one = answer.mixture[:CONSTANTS]
        return Solution(
            request=request,
            weights=space.xp.stack([self.pool.weights[k] for k in used])
            if used.size
            else space.zeros((0, len(self.constraints))),
            mixture=answer.mixture[used],
            constants=(float(zero), float(one)),
            hypotheses=[self.pool.hypotheses[column] for column in used],
            common_rates=common_rates,
            multipliers=None,
            dual_points=weights,
            prices=prices,
            aim=request.alpha,
            history=trace.history,
            oracle_calls=point.oracle_calls,
            stop_reason=trace.stop_reason,
            seconds=trace.seconds,
            trouble=trace.trouble,
        )
