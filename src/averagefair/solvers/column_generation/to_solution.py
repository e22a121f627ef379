"""Turn the result of a run into a Solution: chances for each task, and a mapping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.game.solution import Answers, Solution, StopReason
from averagefair.solvers.column_generation.pool import CONSTANTS
from averagefair.solvers.column_generation.run import ColumnRun, PromiseResult

# Chances smaller than this are rounding.
_LEAST_CHANCE = 1e-9


@dataclass(frozen=True, eq=False)
class MappingResult:
    """One chance for each weight vector, the same for all tasks.

    Attributes
    ----------
    weights : array, shape (k, N)
    mixture : array, shape (k,)
    constants : pair of float
        The chances of "always 0" and "always 1"; with ``mixture`` they sum to 1.
    seconds : float
        How long a run of its own took.
    oracle_calls : int
        Cost-sensitive problems solved in it.
    trouble : str
        What failed in it; empty if nothing did.
    ended : StopReason, or None
        Why it ended, if the user or a failure ended it.
    """

    weights: Any
    mixture: FloatArray
    constants: tuple[float, float]
    seconds: float = 0.0
    oracle_calls: int = 0
    trouble: str = ""
    ended: StopReason | None = None


def marginal_mapping(run: ColumnRun, result: PromiseResult) -> MappingResult:
    """Return each weight vector with its mean chance over the tasks.

    With one block this is the chance itself.

    Parameters
    ----------
    run : ColumnRun
    result : PromiseResult
    """
    space = run.constraints.space
    chances = run.pool.chances(result.master.mixture)
    tasks = run.learner.sample.task_weights
    shares = np.bincount(run.blocks.of_task, weights=tasks, minlength=len(run.blocks))
    mean = chances @ (shares / shares.sum())
    mean[mean < _LEAST_CHANCE] = 0.0
    mean /= mean.sum()
    used = CONSTANTS + np.flatnonzero(mean[CONSTANTS:])
    weights = [run.pool.plays[play].weights for play in used]
    zero, one = mean[:CONSTANTS]
    return MappingResult(
        space.xp.stack(weights) if weights else space.zeros((0, len(run.constraints))),
        mean[used],
        (float(zero), float(one)),
    )


def to_solution(
    run: ColumnRun, result: PromiseResult, mapping: MappingResult, choice_seconds: float
) -> Solution:
    """Return a result as a Solution; only answers with a positive chance are kept.

    Parameters
    ----------
    run : ColumnRun
    result : PromiseResult
        Of this run.
    mapping : MappingResult
        For tasks to come.
    choice_seconds : float
        Time limit for the choice of fixed decisions.
    """
    master, promise, trace = result.master, result.promise, result.trace
    program = result.program.exempting(result.exempt)
    chances = run.pool.chances(master.mixture)
    chances[chances < _LEAST_CHANCE] = 0.0
    chances /= chances.sum(axis=0)
    used = np.flatnonzero(chances.any(axis=1))
    common_rates = master.common_rates
    # Any common rate within the slack of everybody would do; report the middle one. If violations
    # have a price, the solution's own common rate is the best.
    if program.common and getattr(program.limits[0], "prices", None) is None:
        common_rates = run.constraints.middle(master.rates, ~result.exempt)
    return Solution(
        promise=promise,
        program=program,
        weights=mapping.weights,
        mixture=mapping.mixture,
        constants=mapping.constants,
        hypotheses=[run.pool.plays[play].hypothesis for play in used],
        chances=chances[used][:, run.blocks.of_task],
        blocks=run.blocks,
        answers=Answers(
            [play.hypothesis for play in run.pool.plays],
            chances,
            run.blocks,
            [play.blocks for play in run.pool.plays if play.blocks is not None],
        ),
        common_rates=common_rates,
        multipliers=None,
        dual_points=[program.clip(point) for point in (result.center, master.point)],
        dual_bound=promise.dual_bound,
        aim=promise.value,
        history=trace.history,
        oracle_calls=result.oracle_calls + mapping.oracle_calls,
        stop_reason=mapping.ended or trace.stop_reason,
        seconds=trace.seconds + mapping.seconds,
        trouble=trace.trouble or mapping.trouble,
        choice_seconds=choice_seconds,
    )
