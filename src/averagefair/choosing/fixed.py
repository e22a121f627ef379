"""Fixed decisions: one answer for each task, chosen so that the promise is kept by what is decided.

A solver's chances keep the promise on average over draws. The decisions drawn scatter around this
average. A fixed choice uses one of the answers found for each task, for everybody and for ever, and
its rates are those that people meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.choosing.candidates import gather_candidates, mixed_rates
from averagefair.choosing.penalties import Penalties, Score
from averagefair.choosing.search import (
    MOST_CANDIDATES,
    MOST_DECISIONS,
    Search,
    order_of,
)
from averagefair.game.blocks import Blocks, BlockShares
from averagefair.game.learner import Learner
from averagefair.game.per_task_choice import choose_per_task
from averagefair.game.protocols import Hypothesis
from averagefair.game.solution import Answers, Solution, StopReason
from averagefair.people.threads import one_thread

# If the promise is not kept, search again: the number of candidates, how many times as long, and
# the largest number of cells (people x groups x candidates) for which this is done.
_MORE_CANDIDATES, _MORE_EFFORT, _FEW_CELLS = 36, 2.0, 4e6
# On a cluster, single tasks are chosen up to this many decisions (people x tasks x answers): a byte
# for each of them travels.
_MOST_SENT = 2e8


def fix_decisions(
    learner: Learner, solution: Solution, seed: int
) -> tuple[Hypothesis, StopReason | None]:
    """Return one classifier for each task: the choice that keeps the promise at the least error.

    If no choice found keeps it, a longer search among more answers follows for small problems. If
    that fails too, the choice comes as near as it can at no more error than the solution's, or than
    the best of twenty draws of one classifier for each task.

    Beside the classifiers stands what ended the search early: the time limit, Ctrl-C, or None.

    Parameters
    ----------
    learner : Learner
    solution : Solution
        With the answers to choose among.
    seed : int
        Seeds the search.
    """
    answers = solution.answers
    assert answers is not None, "the solver returned no answers to choose among"
    with one_thread(spread=True):
        groups = _groups(learner, answers)
        # Ctrl-C leaves the likeliest answer of each task, or the best choice so far.
        plays, ended = _chances(answers, groups).argmax(axis=0), None
        try:
            choosing = _Choosing(learner, solution, answers, groups, seed)
            plays, score, ended = choosing.search(MOST_CANDIDATES)
            cells = float(learner.sample.n) * len(groups) * _MORE_CANDIDATES
            if score.broken and ended is None and cells <= _FEW_CELLS:
                more, other, ended = choosing.search(_MORE_CANDIDATES, _MORE_EFFORT)
                plays = more if other < score else plays
        except KeyboardInterrupt:
            ended = StopReason.INTERRUPTED
        return choose_per_task(answers.hypotheses, plays[groups.of_task]), ended


@dataclass(frozen=True, eq=False)
class _Choosing:
    """What searches for fixed decisions have in common."""

    learner: Learner
    solution: Solution
    answers: Answers
    groups: Blocks
    seed: int

    def search(
        self, keep: int, effort: float = 1.0
    ) -> tuple[NDArray[np.intp], Score, StopReason | None]:
        """Return the play chosen for each group of tasks, its score, and what ended the search."""
        learner, solution = self.learner, self.solution
        deadline = perf_counter() + solution.choice_seconds
        weights = solution.program.weights(solution.dual_points[-1])
        chances, scale = _chances(self.answers, self.groups), learner.rate_scale
        candidates = gather_candidates(
            self._shares_of, chances, self.groups, scale, weights, keep, deadline
        )
        penalties = Penalties(solution.promise, solution.program)
        # If all tasks share their chances, choices for single tasks may well beat them.
        own = len(self.groups) == 1 or bool((chances != chances[:, :1]).any())
        search = Search(
            candidates,
            scale,
            penalties,
            target=penalties.score(*mixed_rates(candidates, scale)).objective if own else -np.inf,
            first_penalty=_largest_price(learner, solution),
            rng=np.random.default_rng(self.seed),
            order=order_of(self.groups, learner.sample),
            effort=effort,
            deadline=deadline,
        )
        chosen = search.run()
        plays = candidates.plays[np.arange(len(self.groups)), chosen.choice]
        return plays, chosen.score, search.ended

    def _shares_of(self, play: int) -> BlockShares:
        if self.answers.shares is not None and self.groups is self.answers.blocks:
            return self.answers.shares[play]
        return self.learner.shares(self.answers.hypotheses[play], self.groups)


def _chances(answers: Answers, groups: Blocks) -> FloatArray:
    """Return the chance of each answer in each group, shape (answers, groups)."""
    return answers.chances[:, answers.blocks.of_task][:, groups.edges[:-1]]


def _groups(learner: Learner, answers: Answers) -> Blocks:
    """Return the groups of tasks that take the same play: single tasks if that is not too much."""
    sample = learner.sample
    known = answers.shares is not None
    if known and len(answers.blocks) == sample.m:
        return answers.blocks
    decisions = float(sample.n) * sample.m * len(answers.hypotheses)
    if decisions <= (MOST_DECISIONS if sample.rows.local else _MOST_SENT):
        return Blocks.even(sample.m, sample.m)
    return answers.blocks if known else Blocks.even(sample.m, 50)


def _largest_price(learner: Learner, solution: Solution) -> float:
    """Return the largest multiplier of a person, times the number of people."""
    point = learner.sample.space.to_host(solution.dual_points[-1])
    multiplicities = learner.constraints.multiplicities
    if not point.size:
        return 0.0
    prices: FloatArray = np.abs(point).max(axis=0) / multiplicities * multiplicities.sum()
    return float(prices.max(initial=0.0))
