"""The loop every solver shares: budgets, callback, Ctrl-C; and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import SolverTimeoutError
from averagefair.protocols import Hypothesis
from averagefair.request import Request
from averagefair.sample import FloatArray
from averagefair.threads import one_thread


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
        gap, upper less lower Lagrangian bound, so that error <= OPT + gap. Otherwise it shows how
        far the run has settled and proves nothing about the optimum. Exponentiated gradient: what
        the Auditor could still gain against the average play (violations count B-fold, so it can
        be large). Column generation: the answer's value less the best value that the oracle has
        confirmed so far; infinite before it has confirmed any.
    alpha : float
        The slack this answer keeps to; more than asked for while alpha is approached from above.
    """

    round: int
    error: float
    spread: float
    gap: float
    alpha: float


Callback = Callable[[Round], object]
"""Called after every round; returning True ends the run with the answer so far."""


class StopReason(Enum):
    """Why a run ended; the value says it in words, and what to do about it.

    Attributes
    ----------
    TOLERANCE
        The gap fell below the tolerance.
    NO_BETTER
        The oracle knows no better answer.
    SLOW
        The last rounds improved the answer by less than the tolerance.
    PLAN
        All rounds of the plan were played: the solver was told to play them whatever the gap.
    ROUNDS
        All rounds were played; more of them (``max_rounds``) may narrow the gap.
    TIME
        The time limit was reached; more time (``time_limit``) may narrow the gap.
    INTERRUPTED
        By Ctrl-C; the answer is that of the rounds played until then.
    CALLBACK
        The callback asked to stop.
    FAILED
        Something failed on the way, such as the oracle; the answer is the best from before.
    """

    @property
    def cut_short(self) -> bool:
        """Whether the run was ended from outside, before it came to an end of its own."""
        kinds = (StopReason.TIME, StopReason.INTERRUPTED, StopReason.CALLBACK, StopReason.FAILED)
        return self in kinds

    @property
    def limit(self) -> bool:
        """Whether a limit on rounds or time ended the run before it converged."""
        return self in (StopReason.ROUNDS, StopReason.TIME)

    TOLERANCE = "the gap fell below the tolerance"
    NO_BETTER = "no better answer known to this oracle"
    SLOW = "the last rounds improved the answer by less than the tolerance"
    PLAN = "all rounds of the plan were played"
    ROUNDS = "all rounds were played; more rounds (max_rounds) may narrow the gap"
    TIME = "the time limit was reached; more time (time_limit) may narrow the gap"
    INTERRUPTED = "interrupted; this is the answer of the rounds played until then"
    CALLBACK = "the callback asked to stop"
    FAILED = "something failed on the way; this is the best answer from before"


@dataclass(frozen=True, eq=False)
class Solution:
    """A mixture over plays: what a solver hands on. Vectors run over the constraints.

    Attributes
    ----------
    request : Request
        What was solved for.
    weights : array, shape (k, N)
        The weights w of each play.
    mixture : array, shape (k,)
        The chance of each play.
    constants : pair of float
        The chances of "always 0" and "always 1"; with ``mixture`` they sum to 1.
    hypotheses : sequence of length k, or None
        The classifiers of each play; None where rounds looked at batches of tasks only, and the
        mapping has to rebuild them.
    common_rates : array, shape (rates,)
        gamma of the answer.
    multipliers : array, shape (2, N), or None
        The Auditor's average play, lambda+ and lambda-, where there is one.
    dual_points : sequence of arrays of shape (N,)
        Weights at which a lower bound is worth computing.
    prices : array, shape (N,), or float
        What a violation costs in the upper bound: by person, or (B) only the worst violation.
    aim : float
        The largest deviation ``|R_i - gamma|`` the solver set out to reach.
    history : array with the fields of Round, shape (rounds,)
    oracle_calls : int
        Cost-sensitive problems solved, one for each task and answer.
    stop_reason : StopReason
    seconds : float
    trouble : str
        What failed, where something did.
    """

    request: Request
    weights: FloatArray
    mixture: FloatArray
    constants: tuple[float, float]
    hypotheses: Sequence[Hypothesis] | None
    common_rates: FloatArray
    multipliers: FloatArray | None
    dual_points: Sequence[FloatArray]
    prices: FloatArray | float
    aim: float
    history: NDArray[np.void]
    oracle_calls: int
    stop_reason: StopReason
    seconds: float
    trouble: str = ""


class Run(Protocol):
    """One run of a solver: a state that moves a round at a time."""

    def step(self) -> Round:
        """Play one round. Interrupted at any point, it must leave the rounds before intact."""

    def finished(self) -> StopReason | None:
        """Return why the run should end now, or None to go on."""


class Trace(NamedTuple):
    """How a run went.

    Attributes
    ----------
    history : structured array, shape (rounds,)
        The fields of :class:`~averagefair.Round`, round by round.
    stop_reason : StopReason
        Why it ended.
    seconds : float
        How long it took.
    trouble : str
        What went wrong, if anything did.
    """

    history: NDArray[np.void]
    stop_reason: StopReason
    seconds: float
    trouble: str


def iterate(
    run: Run,
    *,
    max_rounds: int,
    time_limit: float | None,
    callback: Callback | None,
    has_answer: bool = False,
) -> Trace:
    """Play rounds until the run is finished or a budget is spent.

    Ctrl-C, and whatever the oracle or the linear program raises, end the run with the rounds
    played so far. Before the first round is over there is no answer to keep, and they pass
    through, unless the run ``has_answer`` from before.

    Parameters
    ----------
    run : Run
        What plays.
    max_rounds : int
        After how many rounds to end.
    time_limit : float, optional
        After how many seconds to end.
    callback : callable, optional
        Called with each :class:`~averagefair.Round`; returning True ends the run.
    has_answer : bool, default False
        Whether there is an answer to keep before the first round is over.
    """
    rounds: list[Round] = []
    start, trouble = perf_counter(), ""
    end = np.inf if time_limit is None else start + time_limit
    try:
        with one_thread(spread=True):
            stop_reason = _loop(run, rounds, max_rounds, end, callback, has_answer)
    except KeyboardInterrupt:
        if not (rounds or has_answer):
            raise
        stop_reason = StopReason.INTERRUPTED
    except _RoundError as failure:
        cause = failure.__cause__
        stop_reason, trouble = StopReason.FAILED, f"{type(cause).__name__}: {cause}"
    fields = [("round", int), *((name, float) for name in Round._fields[1:])]
    history = np.array(rounds, dtype=fields)
    return Trace(history, stop_reason, perf_counter() - start, trouble)


class _RoundError(Exception):
    """A round could not be played though there is an answer; the cause says why."""


def _loop(
    run: Run,
    rounds: list[Round],
    max_rounds: int,
    end: float,
    callback: Callback | None,
    has_answer: bool,
) -> StopReason:
    while len(rounds) < max_rounds:
        try:
            now = run.step()
            rounds.append(now)
            reason = run.finished()
        except SolverTimeoutError:
            return StopReason.TIME
        except Exception as error:
            if not (rounds or has_answer):
                raise
            raise _RoundError from error
        if callback is not None and _is_true(callback(now)):
            return StopReason.CALLBACK
        if reason is not None:
            return reason
        if perf_counter() >= end:
            return StopReason.TIME
    return StopReason.ROUNDS


def _is_true(answer: object) -> bool:
    # A callback often returns something by chance; only a plain True (or NumPy's) is a request.
    return isinstance(answer, bool | np.bool_) and bool(answer)
