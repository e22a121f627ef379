"""The solution: what a solver returns, how each round stood, and why the run ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.game.blocks import Blocks, BlockShares
from averagefair.game.limits import Program
from averagefair.game.promises import Promise
from averagefair.game.protocols import Hypothesis


class Round(NamedTuple):
    """The state of a run after one round.

    Attributes
    ----------
    round : int
        Counted from 1.
    error, spread : float
        Overall error of the mixture so far, and its largest minus smallest individual rate.
    gap : float
        The duality gap, upper minus lower Lagrangian bound, so that error <= OPT + gap. This needs
        an exact oracle, the sample's own rho, and all tasks in every round. Otherwise the gap
        measures convergence and proves nothing about the optimum. For exponentiated gradient it is
        then what the Auditor could still gain against the average play, the mean of all rounds.
        (Violations count B-fold, so this gap can be large.) For column generation it is the
        mixture's value minus the best Lagrangian so far. It is infinite until the oracle has been
        asked at the weights of that Lagrangian.
    value : float
        The promise's figure, such as alpha.
    """

    round: int
    error: float
    spread: float
    gap: float
    value: float


Callback = Callable[[Round], object]
"""Called after every round; returning True ends the run with the answer so far."""


class StopReason(Enum):
    """Why a run ended. The value says it in words, with the remedy if there is one.

    Attributes
    ----------
    TOLERANCE
        Converged: the gap is below the tolerance.
    NO_BETTER
        Converged: the oracle knows no better answer.
    SLOW
        Converged: the last rounds improved the answer by less than the tolerance.
    PLAN
        All planned rounds were played: without a tolerance, ``max_rounds`` is a plan.
    ROUNDS
        The limit of rounds was reached; a larger ``max_rounds`` searches longer.
    TIME
        The time limit was reached; a larger ``time_limit`` searches longer.
    INTERRUPTED
        Ctrl-C ended the run; the answer is that of the rounds played so far.
    CALLBACK
        The callback ended the run.
    FAILED
        A round failed, for example in the oracle; the answer is the best from before.
    """

    @property
    def cut_short(self) -> bool:
        """Whether a time limit, the user or a failure ended the run before it was finished."""
        kinds = (StopReason.TIME, StopReason.INTERRUPTED, StopReason.CALLBACK, StopReason.FAILED)
        return self in kinds

    @property
    def by_user(self) -> bool:
        """Whether Ctrl-C or the callback ended the run."""
        return self in (StopReason.INTERRUPTED, StopReason.CALLBACK)

    @property
    def limit(self) -> bool:
        """Whether a limit on rounds or time ended the run before it converged."""
        return self in (StopReason.ROUNDS, StopReason.TIME)

    TOLERANCE = "Converged: the gap is below the tolerance."
    NO_BETTER = "Converged: this oracle knows no better answer."
    SLOW = "Converged."
    PLAN = "Played all planned rounds."
    ROUNDS = "Stopped at max_rounds; raise it to search longer."
    TIME = "Stopped at time_limit; raise it to search longer."
    INTERRUPTED = "Interrupted; this is the answer so far."
    CALLBACK = "Stopped by the callback."
    FAILED = "A round failed; this is the best answer from before."


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers that fixed decisions are chosen among.

    Attributes
    ----------
    hypotheses : sequence of Hypothesis
        Each decides all learned tasks.
    chances : array, shape (answers, blocks)
        The chance of each answer in each block of tasks; columns sum to 1. Many may be 0.
    blocks : Blocks
    shares : sequence of BlockShares, or None
        Each answer's shares of the error and of the rates, block by block. None: not known.
    """

    hypotheses: Sequence[Hypothesis]
    chances: FloatArray
    blocks: Blocks
    shares: Sequence[BlockShares] | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver returns: chances of plays (answers of the Learner), and a mapping.

    Vectors have one entry for each of the N constraints. ``weights``, ``mixture`` and ``constants``
    are the mapping, which makes the classifiers of any task. The learned tasks may have chances of
    their own.

    Attributes
    ----------
    promise : Promise
    program : Program
        The promise's limits, with the people who were exempted.
    weights : array, shape (k, N)
        The weights w of each play.
    mixture : array, shape (k,)
        The chance of each play.
    constants : pair of float
        The chances of "always 0" and "always 1"; with ``mixture`` they sum to 1.
    hypotheses : sequence of Hypothesis, or None
        The classifiers of the learned tasks. Without ``chances``: one for each play of the mapping,
        with its chance. None if each round saw only a batch of tasks: the mapping then rebuilds
        them.
    chances : array, shape (hypotheses, m), or None
        The chance of each hypothesis in each learned task. None: the mapping's own chances.
    blocks : Blocks, or None
        The blocks of tasks that have chances of their own. None: one block.
    answers : Answers, or None
        What fixed decisions are chosen among. None: the hypotheses that have a chance.
    choice_seconds : float
        Time limit for the choice of fixed decisions; infinite without a time limit.
    common_rates : array, shape (rates,)
        gamma of the mixture.
    multipliers : list of arrays, or None
        The Auditors' average plays, one for each limit; None without an Auditor.
    dual_points : sequence of arrays of shape (limits, N)
        The multipliers at which to compute a lower bound.
    dual_bound : float
        B, the price of a violation in the upper bound.
    aim : float
        The value of the promise's figure that the solver aims at: for alpha, the largest deviation
        ``|R_i - gamma|``.
    history : array with the fields of Round, shape (rounds,)
    oracle_calls : int
        Cost-sensitive problems solved, one for each task and answer.
    stop_reason : StopReason
    seconds : float
    trouble : str
        What failed; empty if nothing did.
    """

    promise: Promise
    program: Program
    weights: FloatArray
    mixture: FloatArray
    constants: tuple[float, float]
    hypotheses: Sequence[Hypothesis] | None
    common_rates: FloatArray
    multipliers: Sequence[FloatArray] | None
    dual_points: Sequence[FloatArray]
    dual_bound: float
    aim: float
    history: NDArray[np.void]
    oracle_calls: int
    stop_reason: StopReason
    seconds: float
    trouble: str = ""
    chances: FloatArray | None = None
    blocks: Blocks | None = None
    answers: Answers | None = None
    choice_seconds: float = inf
