"""audit: how unfair decisions are, to whom, and whether it is more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from averagefair.auditing.answer import answer
from averagefair.auditing.chance import NOT_TESTED, center
from averagefair.auditing.curve import BETAS, curve
from averagefair.auditing.exchangeability import NOT_ASKED, cochran
from averagefair.auditing.groups import group_views
from averagefair.auditing.losses import Losses, read_losses
from averagefair.auditing.mean import mean_over_people, mean_rate
from averagefair.auditing.people import evidence, people_table
from averagefair.auditing.result import Audit
from averagefair.auditing.spread import observed_spread, spread
from averagefair.auditing.tally import tally
from averagefair.auditing.tasks import tasks_table
from averagefair.auditing.words import notes
from averagefair.checks import number_below, number_between, positive_number
from averagefair.errors import InputError
from averagefair.protocols import Rate
from averagefair.rates import resolve_rate
from averagefair.threads import one_thread
from averagefair.windows import common_rate


def audit(
    labels: Any,
    decisions: Any,
    *,
    rate: str | Rate = "error",
    observed: Any = None,
    individual_names: Sequence[Any] | NDArray[Any] | None = None,
    task_names: Sequence[Any] | NDArray[Any] | None = None,
    task_families: ArrayLike | None = None,
    groups: Any = None,
    alpha: float | None = None,
    beta: float | None = None,
    learned_tasks: bool = False,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> Audit:
    """Audit anybody's decisions for average individual fairness.

    Tasks should be fresh (not those a fair model was learned from) and roughly exchangeable: draws
    from the kind of task the people will meet. More people do not make up for few tasks.

    Parameters
    ----------
    labels : array-like or DataFrame of any library, shape (n, m)
        What was right: 0, 1, or blank where unobserved.
    decisions : array-like or DataFrame of any library, shape (n, m)
        What was decided: 0, 1, or the chance of deciding 1 where decisions are randomised. Two
        DataFrames are aligned by column names, and by index where both have one.
    rate : {"error", "false_positive", "false_negative"} or Rate, default "error"
    observed : array-like or DataFrame of bool, shape (n, m), optional
        Which cells to look at, beside those with a blank label, which are never looked at.
    individual_names, task_names : sequence, optional
        Each name once. Default: the index and the columns of the tables, else numbers.
    task_families : sequence of length m, optional
        The family of each task; near-duplicates (the same question asked twice) belong in one.
    groups : sequence of length n, Series or DataFrame, optional
        The group of each person, or a column of groups for each attribute; aligned by index
        like the other tables.
    alpha : float in (0, 0.5], optional
        The request to answer: everybody within alpha of a common rate ...
    beta : float in [0, 1), optional
        ... but for a share beta of the people. Default 0.
    learned_tasks : bool, default False
        Whether the decisions come from a model that was fitted to these tasks together, such as an
        AverageFairClassifier on its training tasks; for new people too. Then the audit shows what
        was observed on these tasks: rates, how far apart they are, and who is outside alpha. It
        has no de-noised figure, bound, test or verdict about true rates (None or NaN), since these
        are wrong there. A model learned for each task by itself, without the other tasks, leaves
        tasks fresh for people it was not learned from.
    confidence : float in [0.5, 1), default 0.95
        Of all intervals and bounds.
    random_state : int, RandomState, Generator or None, default 0
        Seeds the random signs of the test and the noise floor.

    Examples
    --------
    >>> labels = [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]]
    >>> decisions = [[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> found = audit(labels, decisions, individual_names=["Ann", "Bo", "Cy"])
    >>> found.worst_off(1)[0]["name"], found.mean.value, found.chance.p
    ('Cy', 0.416..., 0.125)
    """
    if isinstance(rate, list | tuple):
        raise InputError(f"an audit is of one rate; got {rate!r}. Audit each on its own.")
    kind = resolve_rate(rate)
    if number_between("confidence", confidence) < 0.5:
        raise InputError(f"`confidence` must be at least 0.5; got {confidence!r}.")
    alpha = None if alpha is None else positive_number("alpha", alpha, 0.5)
    if beta is not None and alpha is None:
        raise InputError("beta goes with alpha: the share of people who may lie outside it.")
    beta = number_below("beta", 0.0 if beta is None else beta, 1.0)
    if not isinstance(learned_tasks, bool | np.bool_):
        raise InputError(f"`learned_tasks` must be True or False; got {learned_tasks!r}.")
    losses = read_losses(
        labels,
        decisions,
        kind,
        observed=observed,
        individual_names=individual_names,
        task_names=task_names,
        task_families=task_families,
    )
    seed = _seed(random_state)
    return audit_losses(
        losses,
        kind.name,
        groups=groups,
        alpha=alpha,
        beta=beta,
        learned_tasks=bool(learned_tasks),
        confidence=confidence,
        seed=seed,
    )


def _seed(random_state: Any) -> int:
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise InputError(
            "`random_state` must be a whole number, 0 or more, a RandomState, a Generator or "
            f"None; got {random_state!r}."
        ) from None


def audit_losses(
    losses: Losses,
    rate: str,
    *,
    groups: Any = None,
    alpha: float | None = None,
    beta: float = 0.0,
    learned_tasks: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
) -> Audit:
    """Audit losses that have been read already."""
    delta = 1.0 - confidence
    with one_thread():
        counts = tally(losses)
        rates = counts.rates[counts.rated]
        if learned_tasks:
            test, draws, task_means = NOT_TESTED, None, np.empty(0)
            apart, mean = observed_spread(losses, counts), mean_over_people(rates, confidence)
            known, exchangeability = None, NOT_ASKED
        else:
            centered = center(losses, counts, np.random.default_rng(seed))
            test, draws, task_means = centered.test, centered.draws, centered.task_means
            apart = spread(losses, counts, confidence)
            mean = mean_rate(rates, task_means, centered.squares, counts, confidence)
            known, exchangeability = evidence(losses, counts), cochran(counts)
    line = curve(rates, draws, apart.shrink(counts), apart, np.unique([*BETAS, beta]))
    ordered = np.sort(rates)
    answered = None
    if alpha is not None and rates.size:
        answered = answer(alpha, beta, ordered, line, apart, known, delta)
    common = common_rate(ordered, alpha)
    threshold = common + (alpha or 0.0)
    if learned_tasks and alpha is None:
        threshold = np.inf  # half of the people are above the mean: that is no reason for a flag
    people = people_table(losses, counts, known, threshold, delta)
    shown = test.p <= delta
    return Audit(
        rate=rate,
        n=losses.n,
        m=losses.m,
        confidence=confidence,
        mean=mean,
        chance=test,
        spread=apart,
        curve=line,
        answer=answered,
        people=people,
        tasks=tasks_table(losses, counts, apart),
        groups=() if groups is None else group_views(groups, losses, counts, apart, shown),
        exchangeability=exchangeability,
        common_rate=common,
        learned_tasks=learned_tasks,
        notes=notes(losses, counts, mean, test, apart, confidence, learned_tasks),
        seed=seed,
        _losses=losses,
        _tally=counts,
        _task_means=task_means,
    )
