"""audit: how unfair decisions are, to whom, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from averagefair._util.checks import number_below, number_between, positive_number
from averagefair.auditing.assessment import assess
from averagefair.auditing.chance import NOT_TESTED, center
from averagefair.auditing.curve import BETAS, curve
from averagefair.auditing.dispersion import estimate_dispersion, observed_dispersion
from averagefair.auditing.evidence import Evidence
from averagefair.auditing.exchangeability import NOT_COMPUTED, cochran
from averagefair.auditing.exposure import equal_exposure
from averagefair.auditing.groups import Groups, group_views
from averagefair.auditing.losses import Losses, read_losses
from averagefair.auditing.mean import mean_over_people, mean_rate
from averagefair.auditing.person_table import person_table
from averagefair.auditing.result import Audit
from averagefair.auditing.systemic import systemic
from averagefair.auditing.tally import tally
from averagefair.auditing.task_table import task_table
from averagefair.auditing.words import notes
from averagefair.errors import InputError
from averagefair.game.protocols import Rate
from averagefair.game.rates import resolve_rate
from averagefair.game.windows import common_rate
from averagefair.people.threads import one_thread


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

    Tasks should be fresh (no fair model was trained on them) and roughly exchangeable: a sample of
    the kind of task that these people will meet. More people do not make up for few tasks.

    Parameters
    ----------
    labels : array-like or DataFrame of any library, shape (n, m)
        The correct decisions: 0, 1, or blank if unobserved.
    decisions : array-like or DataFrame of any library, shape (n, m)
        The decisions made: 0, 1, or the probability of deciding 1 if decisions are randomised.
        Two DataFrames are aligned by column names, and by index if both have one.
    rate : {"error", "false_positive", "false_negative"} or Rate, default "error"
    observed : array-like or DataFrame of bool, shape (n, m), optional
        Which cells to use; cells with a blank label are never used.
    individual_names, task_names : sequence, optional
        Unique names. Default: the index and the columns of the tables, else numbers.
    task_families : sequence of length m, optional
        The family of each task. Near-duplicates (the same question asked twice) are one family.
    groups : sequence of length n, Series or DataFrame, optional
        The group of each person, or one column of groups for each attribute; aligned by index
        like the other tables.
    alpha : float in (0, 0.5], optional
        Assess whether everybody's rate is within alpha of a common rate.
    beta : float in [0, 1), optional
        The share of people who may be outside alpha in this assessment. Default 0.
    learned_tasks : bool, default False
        Whether one model was trained on these tasks together, as an AverageFairClassifier is on its
        training tasks. Set it even if the people are new. The audit then shows what was observed on
        these tasks: rates, how far apart they are, and who is outside alpha. Estimates, bounds,
        tests and verdicts about true rates would be wrong on such tasks, so they are None or NaN.
        If a separate model was trained on each task, the tasks are fresh for people outside the
        training data.
    confidence : float in [0.5, 1), default 0.95
        The confidence level of all intervals and bounds.
    random_state : int, RandomState, Generator or None, default 0
        The seed of the random signs, for the chance test and the noise floor.

    Examples
    --------
    >>> labels = [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]]
    >>> decisions = [[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> found = audit(labels, decisions, individual_names=["Ann", "Bo", "Cy"])
    >>> found.worst_off(1)[0]["name"], found.mean.value, found.chance.p
    ('Cy', 0.416..., 0.125)
    """
    request = check_request(rate, alpha, beta, confidence, random_state)
    kind = request.pop("rate")
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
    return audit_losses(
        losses, kind.name, groups=groups, learned_tasks=bool(learned_tasks), **request
    )


def check_request(
    rate: str | Rate,
    alpha: float | None,
    beta: float | None,
    confidence: float,
    random_state: Any,
) -> dict[str, Any]:
    """Check what is asked of an audit; return it as arguments of :func:`audit_losses`.

    The parameters are those of :func:`averagefair.audit`. The rate is resolved.
    """
    if isinstance(rate, list | tuple):
        raise InputError(f"an audit takes one rate; got {rate!r}. Run one audit for each rate.")
    kind = resolve_rate(rate)
    if number_between("confidence", confidence) < 0.5:
        raise InputError(f"`confidence` must be at least 0.5; got {confidence!r}.")
    alpha = None if alpha is None else positive_number("alpha", alpha, 0.5)
    if beta is not None and alpha is None:
        raise InputError("`beta`, the share of people outside alpha, needs an `alpha`.")
    return {
        "rate": kind,
        "alpha": alpha,
        "beta": number_below("beta", 0.0 if beta is None else beta, 1.0),
        "confidence": confidence,
        "seed": _seed(random_state),
    }


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
    """Audit losses that were read before."""
    delta, exposure, why = 1.0 - confidence, None, ""
    with one_thread():
        tallied = tally(losses)
        rates = tallied.rates[tallied.rated]
        if learned_tasks:
            test, draws, task_means = NOT_TESTED, None, np.empty(0)
            dispersion = observed_dispersion(losses, tallied)
            mean = mean_over_people(rates, confidence)
            exchangeability = NOT_COMPUTED
        else:
            centered = center(losses, tallied, np.random.default_rng(seed))
            test, draws, task_means = centered.test, centered.draws, centered.task_means
            dispersion = estimate_dispersion(losses, tallied, confidence)
            mean = mean_rate(rates, task_means, centered.squares, tallied, confidence)
            exchangeability = cochran(tallied)
            exposure, why = equal_exposure(
                losses, tallied, dispersion, confidence, np.random.default_rng(seed)
            )
        piled = systemic(
            losses, tallied, confidence, np.random.default_rng(seed), learned=learned_tasks
        )
        views: tuple[Groups, ...] = ()
        if groups is not None:
            shown = test.p <= delta
            views = group_views(groups, losses, tallied, dispersion, confidence, shown=shown)
    evidence = Evidence(losses, tallied, task_means)
    counts = None if learned_tasks else evidence.counts()
    line = curve(rates, draws, dispersion.shrink(tallied), dispersion, np.unique([*BETAS, beta]))
    assessment = None
    if alpha is not None and rates.size:
        assessment = assess(alpha, beta, evidence.sorted_rates, line, dispersion, counts, delta)
    common = common_rate(evidence.sorted_rates, alpha)
    threshold = common + (alpha or 0.0)
    if learned_tasks and alpha is None:
        threshold = np.inf  # about half of the people are above the mean: flag nobody
    people = person_table(losses, tallied, counts, threshold, delta)
    said = notes(losses, tallied, mean, test, dispersion, confidence, learned_tasks)
    return Audit(
        rate=rate,
        n=losses.n,
        m=losses.m,
        confidence=confidence,
        mean=mean,
        chance=test,
        dispersion=dispersion,
        curve=line,
        assessment=assessment,
        people=people,
        tasks=task_table(losses, tallied, dispersion),
        groups=views,
        equal_exposure=exposure,
        systemic=piled,
        exchangeability=exchangeability,
        common_rate=common,
        learned_tasks=learned_tasks,
        notes=(*said, why) if why else said,
        seed=seed,
        evidence=evidence,
    )
