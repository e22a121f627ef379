"""The loop every solver shares: budget, tolerance, callback, Ctrl-C; and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from averagefair.protocols import Hypothesis
from averagefair.sample import FloatArray


class Round(NamedTuple):
    """How a run stands after one round.

    Attributes
    ----------
    round : int
        Counted from 1.
    error, spread : float
        Of the answer so far: overall error, largest minus smallest individual rate.
    gap : float
        With an exact oracle (and the sample's own rho, and all tasks in every round): the duality
        gap, upper less lower Lagrangian bound, so that error <= OPT + gap. Otherwise only the
        Auditor's part of it: what the Auditor could still gain against the average play, which
        shows how far the run has settled and proves nothing about the optimum. Violations count
        B-fold, so it can be large.
    """

    round: int
    error: float
    spread: float
    gap: float


Callback = Callable[[Round], object]
"""Called after every round; returning True ends the run with the answer so far."""


class StopReason(Enum):
    """Why a run ended, in words that say what to do about it."""

    TOLERANCE = "the gap fell below the tolerance"
    ROUNDS = "all rounds were played; more rounds (max_rounds) may narrow the gap"
    INTERRUPTED = "interrupted; this is the answer of the rounds played until then"
    CALLBACK = "the callback asked to stop"


@dataclass(frozen=True, eq=False)
class Solution:
    """A mixture over plays: what a solver hands on. Vectors run over constrained individuals.

    Attributes
    ----------
    weights : array, shape (k, n)
        The weights w of each play.
    mixture : array, shape (k,)
        The chance of each play; sums to 1.
    hypotheses : sequence of length k, or None
        The classifiers of each play; None where rounds looked at batches of tasks only, and the
        mapping has to rebuild them.
    common_rate : float
        gamma of the answer.
    multipliers : array, shape (2, n)
        The Auditor's answer: lambda+ and lambda-.
    dual_points : sequence of arrays of shape (n,)
        Weights at which a lower bound is worth computing.
    slack, dual_bound : float
        The constraint solved for, and B.
    aim : float
        The largest deviation |R_i - gamma| the solver set out to reach.
    history : array with the fields of Round, shape (rounds,)
    stop_reason : StopReason
    seconds : float
    """

    weights: FloatArray
    mixture: FloatArray
    hypotheses: Sequence[Hypothesis] | None
    common_rate: float
    multipliers: FloatArray
    dual_points: Sequence[FloatArray]
    slack: float
    dual_bound: float
    aim: float
    history: NDArray[np.void]
    stop_reason: StopReason
    seconds: float


class Run(Protocol):
    """One run of a solver: a state that moves a round at a time."""

    def step(self) -> Round:
        """Play one round. Interrupted at any point, it must leave the rounds before intact."""


class Trace(NamedTuple):
    """How a run went."""

    history: NDArray[np.void]
    stop_reason: StopReason
    seconds: float


def iterate(run: Run, *, max_rounds: int, tol: float | None, callback: Callback | None) -> Trace:
    """Play rounds until the gap is below ``tol`` (after two at least) or the budget is spent.

    Ctrl-C ends the run with the rounds played so far; before the first round is over there is
    no answer to keep, and it passes through.
    """
    rounds: list[Round] = []
    start = perf_counter()
    try:
        stop_reason = _loop(run, rounds, max_rounds, tol, callback)
    except KeyboardInterrupt:
        if not rounds:
            raise
        stop_reason = StopReason.INTERRUPTED
    history = np.array(
        rounds, dtype=[("round", int), ("error", float), ("spread", float), ("gap", float)]
    )
    return Trace(history, stop_reason, perf_counter() - start)


def _loop(
    run: Run, rounds: list[Round], max_rounds: int, tol: float | None, callback: Callback | None
) -> StopReason:
    while len(rounds) < max_rounds:
        now = run.step()
        rounds.append(now)
        if callback is not None and _is_true(callback(now)):
            return StopReason.CALLBACK
        if tol is not None and now.gap < tol and len(rounds) > 1:
            return StopReason.TOLERANCE
    return StopReason.ROUNDS


def _is_true(answer: object) -> bool:
    # A callback often returns something by chance; only a plain True (or NumPy's) is a request.
    return isinstance(answer, bool | np.bool_) and bool(answer)
