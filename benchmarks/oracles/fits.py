"""Error and unfairness of a whole fit with each oracle, in training and held out.

Fits run two at a time, each on one thread. Seconds are processor time; on an idle machine that is
the wall time. A fit ends with the first round that goes beyond the time limit. Its model at that
point is measured, and marked by a star.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from averagefair import AverageFairClassifier, audit
from benchmarks.common import heading, table, verdict
from benchmarks.oracles.tables import (
    BOOSTING,
    COMMUNITIES_LARGE,
    COMMUNITIES_SMALL,
    DEFAULT,
    ORACLES,
    communities_large,
    population,
    side_by_side,
    stop_after,
)

UNCONSTRAINED = 0.5
PAPER_ALPHAS = (0.02, 0.05, 0.10, 0.15, 0.20, UNCONSTRAINED)
LIMIT = 60.0
BOOSTING_LIMIT = 30.0
TARGET_ALPHA, TARGET_ERROR, TARGET_FREE = 0.10, 0.190, 0.150


class Corner(NamedTuple):
    """Error and standard deviation of rates on held-out people, tasks or both.

    On new tasks, sigma is that of true rates. On the tasks learned from, noise cannot be estimated,
    and sigma is that of rates as observed.
    """

    error: float
    sigma: float


class Fit(NamedTuple):
    """One fit.

    Attributes
    ----------
    oracle : str
    alpha, error, spread, seconds : float
        The alpha requested, error and spread in training, and processor time.
    cut_short : bool
        Whether the time limit ended the fit.
    people, tasks, both : Corner
        New people, new tasks (of the training people), and both.
    """

    oracle: str
    alpha: float
    error: float
    spread: float
    seconds: float
    cut_short: bool
    people: Corner
    tasks: Corner
    both: Corner

    @property
    def star(self) -> str:
        """The mark of a fit that the time limit ended."""
        return "*" if self.cut_short else ""


def fit(name: str, oracle: str, alpha: float, limit: float = LIMIT, split: int = 0) -> Fit:
    """Learn on a population; ``split`` numbers the random splits of the large Communities."""
    data = communities_large(split) if name == COMMUNITIES_LARGE else population(name)
    model = AverageFairClassifier(
        alpha=alpha,
        oracle=ORACLES[oracle](),
        callback=stop_after(limit),
        decisions="drawn",
        random_state=0,
    )
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tables show what was not reached
        model.fit(data.X, data.Y)
    seconds, known = process_time() - start, model.certificate_
    later = model.extend(data.Y_new_tasks)
    return Fit(
        oracle,
        alpha,
        known.error,
        known.spread,
        seconds,
        known.stop_reason.cut_short,
        people=corner(data.Y_new_people, model.decision_probability(data.X_new), learned=True),
        tasks=corner(data.Y_new_tasks, later.decision_probability(data.X)),
        both=corner(data.Y_new_both, later.decision_probability(data.X_new)),
    )


def corner(labels: Any, chances: Any, *, learned: bool = False) -> Corner:
    """Measure decisions on held-out people, tasks or both."""
    found = audit(labels, chances, learned_tasks=learned)
    apart = found.dispersion.sd if learned else found.dispersion.sigma
    return Corner(float(found.mean.value), float(apart))


def fits(jobs: Iterable[tuple[Any, ...]]) -> list[Fit]:
    """Run fits in parallel; a job is the arguments of ``fit``."""
    return side_by_side(fit, jobs)


def report_communities(
    names: Sequence[str], oracles: Sequence[str] = tuple(ORACLES)
) -> dict[str, Any]:
    """Print each oracle's training error in the paper's setting; return the figures."""
    if COMMUNITIES_SMALL not in names:
        print("\nCommunities: left out, there is no file of Communities and Crime here.")
        return {}
    limits = {oracle: BOOSTING_LIMIT if oracle == BOOSTING else LIMIT for oracle in oracles}
    found = fits(
        (COMMUNITIES_SMALL, oracle, alpha, limits[oracle])
        for oracle in oracles
        for alpha in PAPER_ALPHAS
    )
    heading(
        "Training error in the paper's setting",
        "Communities and Crime, 200 people, 50 tasks; at alpha 0.5 nothing is asked for; seconds "
        f"of processor time. *: ended after {LIMIT:.0f} s ({BOOSTING}: {BOOSTING_LIMIT:.0f} s)",
    )
    head = ["", *(f"{alpha:.2f}" for alpha in PAPER_ALPHAS)]
    table(head, by_alpha(found, lambda one: f"{one.error:.4f}{one.star}"))
    print("\nspread (at most twice alpha is asked for)")
    table(head, by_alpha(found, lambda one: f"{one.spread:.4f}"))
    print("\nseconds")
    table(head, by_alpha(found, lambda one: f"{one.seconds:.1f}"))
    ours = {one.alpha: one for one in found if one.oracle == DEFAULT}
    fair, free = ours[TARGET_ALPHA], ours[UNCONSTRAINED]
    verdict(
        f"default at {TARGET_ALPHA}: error at most {TARGET_ERROR}, spread at most "
        f"{2 * TARGET_ALPHA}",
        fair.error <= TARGET_ERROR and fair.spread <= 2 * TARGET_ALPHA + 1e-9,
        f"{fair.error:.4f}, {fair.spread:.4f}",
    )
    verdict(
        f"default, unconstrained: error at most {TARGET_FREE}",
        free.error <= TARGET_FREE,
        f"{free.error:.4f}",
    )
    return {"fits": [as_dict(one) for one in found]}


def by_alpha(found: Sequence[Fit], cell: Any) -> list[list[str]]:
    """Return a row for each oracle, with a cell for each alpha."""
    rows: dict[str, list[str]] = {}
    for one in found:
        rows.setdefault(one.oracle, [one.oracle]).append(cell(one))
    return [*rows.values()]


def as_dict(one: Fit) -> dict[str, Any]:
    """Return a fit as numbers and strings, for a JSON file."""
    corners = {name: getattr(one, name)._asdict() for name in ("people", "tasks", "both")}
    return {**one._asdict(), **corners}


def mean_curve(fits: Sequence[Fit], corner: str) -> tuple[np.ndarray, np.ndarray]:
    """Return mean unfairness (root mean square) and error over fits at the same alpha, by alpha."""
    alphas = sorted({one.alpha for one in fits})
    here = [[getattr(one, corner) for one in fits if one.alpha == alpha] for alpha in alphas]
    sigma = [np.sqrt(np.mean([one.sigma**2 for one in group])) for group in here]
    return np.array(sigma), np.array([np.mean([one.error for one in group]) for group in here])
