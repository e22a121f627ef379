"""The loop that all solvers share: limits, callback, Ctrl-C."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import SolverTimeoutError
from averagefair.game.solution import Callback, Round, StopReason
from averagefair.people.threads import one_thread


class Run(Protocol):
    """One run of a solver: a state that advances by one round at a time."""

    def step(self) -> Round:
        """Play one round. An interrupt at any point must leave the earlier rounds intact."""

    def finished(self) -> StopReason | None:
        """Return why the run should end now, or None to go on."""


class Trace(NamedTuple):
    """The record of a run.

    Attributes
    ----------
    history : structured array, shape (rounds,)
        The fields of :class:`~averagefair.Round`, round by round.
    stop_reason : StopReason
        Why the run ended.
    seconds : float
        How long the run took.
    trouble : str
        What failed; empty if nothing did.
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
    """Play rounds until the run is finished or a limit is reached.

    Ctrl-C, or an exception of the oracle or the linear program, ends the run with the rounds played
    so far. Before the end of the first round there is no answer to keep, so the exception is
    raised, unless the run ``has_answer`` from before.

    Parameters
    ----------
    run : Run
    max_rounds : int
        Limit of rounds.
    time_limit : float, optional
        Limit in seconds, checked after each round.
    callback : callable, optional
        Called with each :class:`~averagefair.Round`; returning True ends the run.
    has_answer : bool, default False
        Whether there is an answer to keep before the end of the first round.
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
    """A round failed, but there is an answer to keep; the cause says why it failed."""


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
    # A callback may return something by accident: only True (Python's or NumPy's) ends the run.
    return isinstance(answer, bool | np.bool_) and bool(answer)
