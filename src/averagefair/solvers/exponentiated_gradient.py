"""AIF-Learn, FPAIF-Learn and its false-negative twin: exponentiated gradient against the Learner.

The Auditor runs exponentiated gradient, the Learner best responds, and the answer is the average of
all rounds (Algorithm AIF-Learn; Algorithm FPAIF-Learn of the appendix). The Learner's rate alone
decides which of the three algorithms runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair import theory
from averagefair._util.arrays import FloatArray
from averagefair._util.checks import positive_number, whole_number
from averagefair._util.text import counted
from averagefair.errors import InputError
from averagefair.game.learner import Learner, Play
from averagefair.game.limits import Program
from averagefair.game.promises import Equal, Promise
from averagefair.game.protocols import Oracle, Solver
from averagefair.game.solution import Callback, Round, Solution, StopReason
from averagefair.oracles import RegressionOracle
from averagefair.solvers.loop import iterate
from averagefair.solvers.play_list import PlayList

# An answer must beat every earlier one by this much; else the best earlier one is played again.
_REPLAY_MARGIN = 1e-12
# The largest first step for one-sided promises: that of the published runs at alpha 0.05.
_ONE_SIDED_STEP = 5.0
# B and the step are multiplied by prices, weights and rounds: below this the products are finite.
_MOST = 1e100


@dataclass(frozen=True)
class ExponentiatedGradient(Solver):
    """The paper's no-regret algorithm; set up by :meth:`published` or :meth:`from_theory`.

    Parameters
    ----------
    max_rounds : int, default 1000
    dual_bound : float, optional
        B, the largest sum of the multipliers. Default: 1 / alpha for ``Equal``, as published; 20
        for a cap. With a price, the multipliers add up to the price, and B only bounds those of
        ``no_harm``.
    step : float, optional
        The (first) step size eta. Default: 100 / B, at most 5 for one-sided promises.
    shrink : bool, default True
        Check the best gap from time to time, and shrink the step by a fifth if this gap has not
        fallen by a fifth since the last check. The round number of each check is 1.6 times that of
        the check before.
    replay : bool, default True
        Play the best earlier answer again (the first of equals) unless the oracle's new answer is
        better: a heuristic oracle may answer worse than before.
    tol : float, optional
        Stop once the gap is below this. Default: 0.001; None plays all rounds.
    time_limit : float, optional
        Limit in seconds, checked at the end of each round.
    batch_size : int, optional
        m0: the number of fresh tasks that the Auditor sees in each round. The tasks are partitioned
        at random, and none is seen twice, as in the paper. Default: all tasks in every round.
    resample : bool, default False
        Draw every batch from all tasks instead of partitioning them.
    plan : theory.Plan, optional
        The theory's constants; set by :meth:`from_theory`.

    Notes
    -----
    The default oracle is :class:`~averagefair.RegressionOracle`, as in the authors' published runs.
    The common rate of a round is exactly the paper's 1[sum w > 0].
    """

    max_rounds: int = 1000
    dual_bound: float | None = None
    step: float | None = None
    shrink: bool = True
    replay: bool = True
    tol: float | None = 1e-3
    batch_size: int | None = None
    resample: bool = False
    time_limit: float | None = None
    plan: theory.Plan | None = None

    default_decisions = "drawn"

    @property
    def default_alpha(self) -> float | None:  # type: ignore[override]
        """The only alpha that a solver made by :meth:`from_theory` takes; otherwise None."""
        return None if self.plan is None else self.plan.slack

    @property
    def default_oracle(self) -> Oracle:  # type: ignore[override]
        """Least squares, as in the authors' published runs."""
        return RegressionOracle()

    @classmethod
    def published(cls, max_rounds: int = 1000) -> ExponentiatedGradient:
        """Return the setting of the authors' published runs.

        The setting has B = 1/alpha, a first step of 100/B with shrinking, replay, all tasks in
        every round, and an early stop at a gap of 0.001. These values come from the record of the
        authors' program. The paper's text has no replay, no shrinking and no early stop. alpha
        comes from the estimator.

        Parameters
        ----------
        max_rounds : int, default 1000
        """
        return cls(max_rounds=max_rounds)

    @classmethod
    def from_theory(
        cls,
        alpha: float,
        nu: float,
        n: int,
        *,
        delta: float = 0.05,
        rho_min: float | None = None,
        batch_size: int | None = None,
        tol: float | None = None,
    ) -> ExponentiatedGradient:
        """Return the algorithm with the paper's constants, for n individuals.

        **The theory's alpha is half of ours**: slack = 2 alpha. Leave the estimator's ``alpha``
        unset, or set it to 2 alpha. The promise is error <= OPT(slack) + 2 nu and
        ``|R_i - gamma| <= 3 alpha`` (Theorem "In-sample Accuracy and Fairness"). The promise is
        certain with an exact oracle, the sample's own rho and all tasks in every round. (rho_i is
        the share of person i's tasks that count in the rate.) With outside rho or fresh batches,
        the paper needs batches of ``plan.tasks_per_round`` tasks. The promise then holds with
        probability 1 - delta.

        Parameters
        ----------
        alpha : float in (0, 0.25]
            Half of the slack.
        nu : float in (0, 1]
            The distance allowed from the game's equilibrium, and so from the least error.
            T grows with 1 / (alpha nu)^2: look at ``plan.rounds`` before you run it.
        n : int
            The number of individuals. With weights: the sum of the weights. If some weights are
            below 1, a larger n is needed; the error message gives it.
        delta, rho_min : float
            For the m0 reported in ``plan.tasks_per_round``: the chance of failure, and (for the
            false-positive and false-negative rates) the smallest rho.
        batch_size : int, optional
            Use fresh batches of this many tasks.
        tol : float, optional
            Stop once the gap is below this. With an exact oracle, the sample's own rho and all
            tasks in every round, ``tol=2 * nu`` keeps the promise. Default: play all T rounds.

        Examples
        --------
        >>> solver = ExponentiatedGradient.from_theory(alpha=0.1, nu=0.2, n=10)
        >>> solver.default_alpha, round(solver.dual_bound, 6), solver.max_rounds
        (0.2, 14.0, 343715)
        >>> solver.plan.tasks_per_round
        183643
        """
        plan = theory.plan(alpha, nu, n, delta=delta, rho_min=rho_min)
        return cls(
            max_rounds=plan.rounds,
            dual_bound=plan.dual_bound,
            step=plan.step_size,
            shrink=False,
            replay=False,
            tol=tol,
            batch_size=batch_size,
            plan=plan,
        )

    def __post_init__(self) -> None:
        whole_number("max_rounds", self.max_rounds)
        if self.batch_size is not None:
            whole_number("batch_size", self.batch_size)
        for name in ("dual_bound", "step", "tol", "time_limit"):
            if getattr(self, name) is not None:
                positive_number(name, getattr(self, name))
        for name in ("dual_bound", "step"):
            value = getattr(self, name)
            if value is not None and not 1.0 / _MOST <= value <= _MOST:
                raise InputError(
                    f"`{name}` must lie between {1.0 / _MOST:g} and {_MOST:g}, so that multipliers "
                    f"and theta stay finite; got {value!r}."
                )
        if self.batch_size is not None and self.replay:
            raise InputError(
                "replay compares plays on the same tasks, but with batch_size each round has other "
                "tasks. Set replay=False."
            )
        if self.resample and self.batch_size is None:
            raise InputError(
                "resample=True needs a batch_size, the number of tasks to draw in each round."
            )

    def solve(
        self,
        learner: Learner,
        promise: Promise,
        *,
        callback: Callback | None = None,
        rng: np.random.Generator | None = None,
    ) -> Solution:
        """Play the game and return the average of its rounds.

        Parameters
        ----------
        learner : Learner
        promise : Promise
            This solver takes neither beta nor max_influence, and no ``Minimax``.
        callback : callable, optional
            Called with a Round after each round; returning True ends the run.
        rng : numpy Generator, optional
            Source of the batches of tasks. Default: seed 0.
        """
        self._check_promise(promise)
        program = learner.program(promise)
        multiplicities = learner.constraints.multiplicities
        self._check_plan(multiplicities)
        dual_bound = promise.dual_bound if self.dual_bound is None else self.dual_bound
        step = self.step
        if step is None:
            step = 100.0 / dual_bound if program.common else min(_ONE_SIDED_STEP, 100 / dual_bound)
        rng = np.random.default_rng(0) if rng is None else rng
        batches = self._batches(np.flatnonzero(learner.sample.task_weights), rng)
        run, calls = (
            _Game(learner, program, promise, dual_bound, step, batches, self),
            learner.calls,
        )
        trace = iterate(
            run, max_rounds=self.max_rounds, time_limit=self.time_limit, callback=callback
        )
        # An interrupt may have ended a round half-way: count only the rounds in the history.
        counts = np.bincount(run.picks[: len(trace.history)])
        played = len(counts)
        space, average = learner.constraints.space, run.multipliers()
        return Solution(
            promise=promise,
            program=program,
            weights=space.xp.stack(run.pool.weights[:played]),
            mixture=counts / counts.sum(),
            constants=(0.0, 0.0),
            hypotheses=None if batches is not None else run.pool.hypotheses[:played],
            common_rates=counts @ run.pool.common_rates[:played] / counts.sum(),
            multipliers=average,
            dual_points=[run.point(average), run.lower_at],
            dual_bound=dual_bound,
            aim=promise.value if self.plan is None else self.plan.promised_deviation,
            history=trace.history,
            oracle_calls=learner.calls - calls,
            stop_reason=self._reason(trace.stop_reason),
            seconds=trace.seconds,
            trouble=trace.trouble,
        )

    def _check_promise(self, promise: Promise) -> None:
        """Refuse promises that this algorithm cannot keep."""
        given = ""
        if promise.exempt_share:
            given = f"beta={promise.exempt_share:g}"
        elif getattr(promise, "max_influence", None) is not None:
            given = f"max_influence={promise.max_influence:g}"  # type: ignore[attr-defined]
        elif not promise.parameter:
            given = type(promise).__name__
        if given:
            raise InputError(
                "ExponentiatedGradient holds everybody to one promise and cannot take "
                f"{given}. Leave it out, or use solver=ColumnGeneration()."
            )
        alpha = self.default_alpha
        if alpha is None:
            return
        if not isinstance(promise, Equal) or promise.no_harm is not None:
            raise InputError(
                "a solver made by from_theory keeps the paper's promise alone; got "
                f"{promise!r}. Use ExponentiatedGradient() for other promises."
            )
        if not np.isclose(alpha, promise.alpha, rtol=1e-9):
            raise InputError(
                f"alpha={promise.alpha!r} was requested, but this solver was made by from_theory "
                f"for a slack of {alpha!r}, twice the theory's alpha. "
                f"Leave the estimator's alpha unset, or set it to {alpha!r}."
            )

    def _reason(self, reason: StopReason) -> StopReason:
        """Return why the run ended; without a tolerance, ``max_rounds`` is a plan, not a limit."""
        planned = reason is StopReason.ROUNDS and self.tol is None
        return StopReason.PLAN if planned else reason

    def _check_plan(self, multiplicities: FloatArray) -> None:
        """Refuse a plan made for fewer individuals: its T is too small for the promise.

        A row of weight c_k starts with the share c_k / (1 + 2 sum c) on each of its two
        multipliers. The paper's log(2n + 1) is the logarithm of the smallest share's inverse.
        """
        if self.plan is None or multiplicities.size == 0:
            return
        inverse = (1.0 + 2.0 * multiplicities.sum()) / min(1.0, multiplicities.min())
        needed = ceil((inverse - 1.0) / 2.0 - 1e-6)
        if needed > self.plan.n:
            raise InputError(
                f"from_theory was given n={self.plan.n}, but these individuals (and their weights) "
                f"need n={needed}: the number of rounds grows with log(2n + 1)."
            )

    def _batches(
        self, tasks: NDArray[np.intp], rng: np.random.Generator
    ) -> Iterator[NDArray[np.intp]] | None:
        """Return the tasks of each round, or None for all tasks in every round."""
        m, size = len(tasks), self.batch_size
        if size is None:
            return None
        if self.resample:
            if size > m:
                raise InputError(
                    f"batch_size must be at most {m}, the number of tasks; got {size}."
                )
            return (rng.choice(tasks, size, replace=False) for _ in range(self.max_rounds))
        needed = self.max_rounds * size
        if needed > m:
            raise InputError(
                f"{counted(self.max_rounds, 'round')} with a fresh batch of "
                f"{counted(size, 'task')} each need {counted(needed, 'task')}, but there are {m}: "
                "a partition uses every task once. Lower max_rounds or batch_size, set "
                "resample=True to draw every batch from all tasks, or leave batch_size unset to "
                "use all tasks in every round."
            )
        return iter(rng.permutation(tasks)[:needed].reshape(-1, size))


class _Game:
    """One run: the sums of both players' plays so far, and an Auditor for each limit."""

    def __init__(
        self,
        learner: Learner,
        program: Program,
        promise: Promise,
        dual_bound: float,
        step: float,
        batches: Iterator[NDArray[np.intp]] | None,
        settings: ExponentiatedGradient,
    ) -> None:
        self.learner, self.program, self.step_size = learner, program, step
        self.promise, self.dual_bound = promise, dual_bound
        self.auditors = [limit.auditor(dual_bound) for limit in program.limits]
        self.batches, self.settings = batches, settings
        self.constraints = learner.constraints
        n = len(self.constraints)
        self.pool = PlayList(self.constraints)
        self.picks: list[int] = []
        self.error_sum = 0.0
        self.error_count = 0
        self.common_rate_sum = np.zeros(self.constraints.rate_count)
        self.space = self.constraints.space
        self.rate_sum, self.rate_count = self.space.zeros(n), self.space.zeros(n)
        self.multiplier_sums = [0.0 * auditor.multipliers() for auditor in self.auditors]
        self.gap = self.best_gap = np.inf
        self.checked_round, self.checked_gap = 5, np.inf
        self.lower, self.lower_at = -np.inf, program.zero()

    def step(self) -> Round:
        """Play one round of the algorithm."""
        multipliers = [auditor.multipliers() for auditor in self.auditors]
        point = self.point(multipliers)
        tasks = None if self.batches is None else next(self.batches)
        answer = self.learner.respond(self.program.weights(point), tasks)
        if len(self.program.limits) > 1:  # gamma answers the weights of its own limit
            own = self.constraints.best_common_rates(point[0, :])
            answer = replace(answer, common_rates=own)
        pick = self._choose(answer, point)
        play = self.pool[pick]
        self.picks.append(pick)
        self._add_up(play, multipliers)
        now = self._standing(answer, point)
        self.gap = now.gap
        self._adapt(len(self.picks) - 1, now.gap)
        common = self.constraints.expand(play.common_rates)
        for auditor in self.auditors:
            auditor.update(play.rates, common, self.step_size)
        return now

    def finished(self) -> StopReason | None:
        """Stop once the gap is below the tolerance, after at least two rounds."""
        tol = self.settings.tol
        reached = tol is not None and self.gap < tol and len(self.picks) > 1
        return StopReason.TOLERANCE if reached else None

    def multipliers(self) -> list[Any]:
        """Return the Auditors' average plays."""
        return [total / len(self.picks) for total in self.multiplier_sums]

    def point(self, multipliers: Sequence[Any]) -> Any:
        """Return the dual point of the Auditors' multipliers, shape (limits, n)."""
        pairs = zip(self.program.limits, multipliers, strict=True)
        return self.space.xp.stack([limit.weights(own) for limit, own in pairs])

    def _choose(self, play: Play, point: Any) -> int:
        """Return the row of this round's play in the pool: the new answer, or a better old one."""
        if self.settings.replay and len(self.pool):
            values = self.pool.values(play.weights, point[0, :] if self.program.common else None)
            best = int(values.argmin())
            value = play.error + float(play.weights @ play.rates)
            if self.program.common:
                value -= float(self.constraints.add_up(point[0, :]) @ play.common_rates)
            if value >= values[best] - _REPLAY_MARGIN:
                return best
        return self.pool.add(play)

    def _add_up(self, play: Play, multipliers: Sequence[Any]) -> None:
        self.common_rate_sum += play.common_rates
        for total, own in zip(self.multiplier_sums, multipliers, strict=True):
            total += own
        # In a batch, people without a label have no rate, and a batch without labels has no error.
        known = not np.isnan(play.error)
        self.error_sum += play.error if known else 0.0
        self.error_count += known
        if self.batches is None:
            self.rate_sum += play.rates
            self.rate_count += 1.0
            return
        xp = self.space.xp
        defined = ~xp.isnan(play.rates)
        self.rate_sum += xp.where(defined, play.rates, 0.0)
        self.rate_count += xp.astype(defined, xp.float64)

    def _standing(self, answer: Play, point: Any) -> Round:
        """Measure the average of all plays so far; ``answer`` is the oracle's in this round."""
        count = len(self.picks)
        error = self.error_sum / max(1, self.error_count)
        common_rates = self.common_rate_sum / count
        common = self.constraints.expand(common_rates)
        xp = self.space.xp
        # People who have not been measured yet violate nothing.
        measured = self.rate_count > 0
        average = xp.where(
            measured, self.rate_sum / xp.where(measured, self.rate_count, 1.0), common
        )
        upper = self.program.upper(error, average, common_rates, self.dual_bound)
        if self.learner.exact and self.batches is None:
            self._raise_lower(answer, point)
            gap = upper - self.lower
        else:
            lagrangian = error + self.program.payoff(self.multipliers(), average, common_rates)
            gap = max(0.0, upper - lagrangian)
        spread = self.constraints.spread(average)
        return Round(count, error, spread, gap, self.promise.value)

    def _raise_lower(self, play: Play, point: Any) -> None:
        """Raise the lower bound on OPT if this best response proves more (Learner.dual_value)."""
        value = play.error + float(play.weights @ play.rates) - self.program.offset(point)
        if value > self.lower:
            self.lower, self.lower_at = value, point

    def _adapt(self, round_: int, gap: float) -> None:
        """Shrink the step if the gap has stopped falling (``round_`` counts from 0)."""
        self.best_gap = min(self.best_gap, gap)
        if self.settings.shrink and round_ >= 1.6 * self.checked_round:
            if self.best_gap > 0.8 * self.checked_gap:
                self.step_size *= 0.8
            self.checked_round, self.checked_gap = round_, self.best_gap
