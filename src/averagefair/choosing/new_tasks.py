"""Fixed decisions for later tasks: one classifier each, counting what people have had so far.

The program is that of the mapping: the error, plus a price for everybody's distance from the
promise. One answer is chosen for each task in place of chances, and with a balance the rates are
the running ones, over all tasks so far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.choosing.balance import Balance
from averagefair.choosing.candidates import gather_candidates
from averagefair.choosing.penalties import Penalties
from averagefair.choosing.search import (
    MOST_CANDIDATES,
    MOST_DECISIONS,
    Search,
    order_of,
)
from averagefair.game.blocks import Blocks, BlockShares, RateScale
from averagefair.game.constraints import Constraints
from averagefair.game.mapping import Mapping
from averagefair.game.measure import Meter
from averagefair.game.mixture import Mixture
from averagefair.game.per_task_choice import choose_per_task
from averagefair.game.promises import Promise
from averagefair.game.rates import Rates
from averagefair.people.sample import Sample
from averagefair.people.threads import one_thread

DEFAULT_INFLUENCE = 4.0
"""Nobody's distance from the promise has a price above this over n."""
# With a balance the price is this many times as high: rates over all tasks so far are less noisy.
_BALANCE_PRICE = 4.0


def fix_new_tasks(
    mapping: Mapping,
    sample: Sample,
    rates: Rates,
    promise: Promise,
    balance: Balance | None,
    influence: float | None,
    seed: int,
) -> tuple[Mixture, Balance | None]:
    """Return one classifier for each new task, and the balance after these tasks.

    Parameters
    ----------
    mapping : Mapping
        Makes the answers to choose from.
    sample : Sample
        The training individuals, with the labels of the new tasks.
    rates : Rates
    promise : Promise
        ``no_harm`` is left aside: it is about the learned tasks.
    balance : Balance, or None
        What people have had so far. None: the new tasks count alone.
    influence : float, or None
        The price of a person's distance from the promise, times n; with a balance it is four times
        as high. None: the limits hold, if they can.
    seed : int
    """
    mixture = mapping.classifiers(sample)
    if sample.blanks == sample.n * sample.m:  # there is no label to judge an answer by
        likeliest = int(np.argmax(mixture.probabilities.reshape(len(mixture.hypotheses), -1)[:, 0]))
        plain = Mixture.fixed(mixture.hypotheses[likeliest], sample, mapping.seed)
        return plain, None if balance is None else balance.ready_for(sample)
    past = None if balance is None else balance.ready_for(sample)
    meter = Meter(sample, rates)
    running = _running(meter, past)
    program = replace(promise, no_harm=None).program(running.constraints, running.people, None)
    if influence is not None:
        price = influence if past is None else _BALANCE_PRICE * influence
        program = program.priced(price, running.people)
    with one_thread(spread=True):
        groups = _groups(sample, len(mixture.hypotheses))

        def shares_of(number: int) -> BlockShares:
            counts = meter.count(mixture.hypotheses[number], groups)
            return BlockShares(running.share * meter.block_errors(counts), counts)

        q = mixture.probabilities
        chances = q[:, groups.edges[:-1]] if q.ndim == 2 else np.repeat(q[:, None], len(groups), 1)
        nothing = sample.space.zeros(len(running.constraints))
        candidates = gather_candidates(
            shares_of, chances, groups, running.scale, nothing, MOST_CANDIDATES
        )
        penalties = Penalties(promise, program)
        search = Search(
            candidates,
            running.scale,
            penalties,
            # The mapping gives all tasks the same chances: its objective is no lower bound.
            target=-np.inf,
            first_penalty=0.0,
            rng=np.random.default_rng(seed),
            order=order_of(groups, sample),
            past=running.past,
        )
        taken = search.run().choice
        plays = candidates.plays[np.arange(len(groups)), taken][groups.of_task]
        fixed = Mixture.fixed(choose_per_task(mixture.hypotheses, plays), sample, mapping.seed)
        if past is None:
            return fixed, None
        added = Balance.of(meter, meter.mix(fixed.parts()))
    return fixed, past.after(added, sample.task_names)


@dataclass(frozen=True, eq=False)
class _Running:
    """How mistakes on the new tasks change the rates over all tasks so far.

    Attributes
    ----------
    constraints : Constraints
        Everybody whose running rate is defined, and whose weight is positive.
    scale : RateScale
        From mistakes on the new tasks to running rates.
    past : array, shape (N,)
        The part of the running rates that is decided already.
    share : float
        The new tasks' share of all tasks so far.
    people : float
        The number of people.
    """

    constraints: Constraints
    scale: RateScale
    past: Any
    share: float
    people: float


def _running(meter: Meter, past: Balance | None) -> _Running:
    sample, space = meter.sample, meter.sample.space
    tasks = float(np.count_nonzero(sample.task_weights))
    scales = space.to_host(meter.scales())
    scales = np.moveaxis(scales.reshape(scales.shape[0], sample.n, -1), 2, 1)
    own = tasks * space.to_host(meter.rho).reshape(sample.n, -1).T
    seen = own if past is None else own + past.seen
    constrained = np.flatnonzero((seen > 0.0) & (sample.individual_weights > 0))
    people, rate_of = constrained % sample.n, constrained // sample.n
    # A rate over the new tasks counts for its share of all decisions so far.
    weight: FloatArray = np.where(own > 0.0, own, 0.0) / np.where(seen > 0.0, seen, 1.0)
    scales = np.nan_to_num(scales) * weight
    decided = np.zeros(len(constrained))
    if past is not None:
        decided = (past.wrong / np.where(seen > 0.0, seen, 1.0)).ravel()[constrained]
    constraints = Constraints(
        people,
        rate_of,
        sample.individual_weights[people],
        rate_count=len(seen),
        space=space,
    )
    flat = scales.reshape(scales.shape[0], -1)[:, constrained]
    return _Running(
        constraints,
        RateScale(constraints, space.asarray(flat), sample.n),
        space.asarray(decided),
        tasks / (tasks + (0.0 if past is None else past.tasks)),
        float(sample.individual_weights.sum()),
    )


def _groups(sample: Sample, answers: int) -> Blocks:
    """Return the groups of tasks that take the same answer: single tasks if there are few."""
    decisions = float(sample.n) * sample.m * answers
    few = sample.rows.local and decisions <= MOST_DECISIONS
    return Blocks.even(sample.m, sample.m if few else 50)
