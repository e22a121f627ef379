"""Fixed decisions: one answer for each task, chosen so that the promise is kept by what is decided.

A solver's chances keep the promise on average over draws. The decisions drawn scatter around this
average. A fixed choice uses one of the answers found for each task, for everybody and for ever, and
its rates are those that people meet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.choosing.candidates import Candidates, gather_candidates, mixed_rates
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
from averagefair.game.solution import Answers, Solution
from averagefair.people.threads import one_thread

# If the promise is not kept, search again: the number of candidates, how many times as long, and
# the largest number of cells (people x groups x candidates) for which this is done.
_MORE_CANDIDATES, _MORE_EFFORT, _FEW_CELLS = 36, 2.0, 4e6


def fix_decisions(learner: Learner, solution: Solution, seed: int) -> Hypothesis:
    """Return one classifier for each task: the choice that keeps the promise at the least error.

    If no choice found keeps it, a longer search among more answers follows for small problems. If
    that fails too, the choice comes as near as it can at no more error than the solution's, or than
    the best of twenty draws.

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
        plays, score = _search(learner, solution, answers, groups, seed, MOST_CANDIDATES)
        cells = float(learner.sample.n) * len(groups) * _MORE_CANDIDATES
        if score.broken and cells <= _FEW_CELLS:
            more = _MORE_CANDIDATES, _MORE_EFFORT
            again = _search(learner, solution, answers, groups, seed, *more)
            plays, score = min((plays, score), again, key=lambda found: found[1])
        return choose_per_task(answers.hypotheses, plays[groups.of_task])


def _search(
    learner: Learner,
    solution: Solution,
    answers: Answers,
    groups: Blocks,
    seed: int,
    keep: int,
    effort: float = 1.0,
) -> tuple[NDArray[np.intp], Score]:
    """Return the number of the play chosen for each group of tasks, and its score."""
    candidates = _candidates(learner, solution, answers, groups, keep)
    penalties = Penalties(solution.promise, solution.program)
    chosen = Search(
        candidates,
        learner.rate_scale,
        penalties,
        target=penalties.score(*mixed_rates(candidates, learner.rate_scale)).objective,
        first_penalty=_largest_price(learner, solution),
        rng=np.random.default_rng(seed),
        order=order_of(groups, learner.sample),
        effort=effort,
    ).run()
    return candidates.plays[np.arange(len(groups)), chosen.choice], chosen.score


def _candidates(
    learner: Learner, solution: Solution, answers: Answers, groups: Blocks, keep: int
) -> Candidates:
    chances = answers.chances[:, answers.blocks.of_task][:, groups.edges[:-1]]

    def shares_of(play: int) -> BlockShares:
        if answers.shares is not None and groups is answers.blocks:
            return answers.shares[play]
        return learner.shares(answers.hypotheses[play], groups)

    weights = solution.program.weights(solution.dual_points[-1])
    return gather_candidates(shares_of, chances, groups, learner.rate_scale, weights, keep)


def _groups(learner: Learner, answers: Answers) -> Blocks:
    """Return the groups of tasks that take the same play: single tasks if that is not too much."""
    sample = learner.sample
    known = answers.shares is not None
    if known and len(answers.blocks) == sample.m:
        return answers.blocks
    decisions = float(sample.n) * sample.m * len(answers.hypotheses)
    if sample.rows.local and decisions <= MOST_DECISIONS:
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
