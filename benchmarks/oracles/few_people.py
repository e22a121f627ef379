"""How far to polish when people are few: 200 training people, 1,000 new people.

With 200 people and 20 features a linear classifier can fit single people. Each step of the default
oracle gains something in training. This compares that gain with the gain on held-out people and
tasks at equal unfairness, on random splits of Communities and Crime and on synthetic populations.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from averagefair import AverageFairClassifier, LogisticOracle, Polished, Portfolio, RegressionOracle
from averagefair.datasets import Split, make_synthetic
from averagefair.experiments.findings import envelope
from benchmarks.common import heading, table
from benchmarks.oracles.curves import LEVELS
from benchmarks.oracles.fits import PAPER_ALPHAS, Corner, corner
from benchmarks.oracles.tables import (
    COMMUNITIES_SMALL,
    LEAST_SQUARES,
    SYNTHETIC,
    random_communities,
    side_by_side,
)

DRAWS, PEOPLE, NEW = 3, 200, 1000
PORTFOLIO = Portfolio([RegressionOracle(), LogisticOracle()])
STEPS: dict[str, Any] = {
    LEAST_SQUARES: RegressionOracle(),
    "portfolio": PORTFOLIO,
    "threshold polished": Polished(PORTFOLIO, lines=0),
    "3 lines": Polished(PORTFOLIO, lines=3),
}
CORNERS = {"people": "new people", "tasks": "new tasks"}


class Held(NamedTuple):
    """One fit: its error in training, and on held-out people and tasks."""

    error: float
    people: Corner
    tasks: Corner


def draw(kind: str, number: int) -> Split:
    """Return the random split, or the synthetic population, with this number."""
    if kind == COMMUNITIES_SMALL:
        return random_communities(PEOPLE, NEW, number)
    return make_synthetic(PEOPLE, n_holdout=NEW, m_holdout=50, random_state=number)


def fit(kind: str, number: int, step: str, alpha: float) -> Held:
    """Fit with one step of the default oracle; measure training and held-out error."""
    data = draw(kind, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AverageFairClassifier(alpha, oracle=STEPS[step], decisions="drawn", random_state=0)
        model.fit(data.X, data.Y)
    later = model.extend(data.Y_new_tasks)
    return Held(
        model.error_,
        corner(data.Y_new_people, model.decision_probability(data.X_new)),
        corner(data.Y_new_tasks, later.decision_probability(data.X)),
    )


def report_few_people(names: Sequence[str], draws: int = DRAWS) -> dict[str, Any]:
    """Print training errors and differences at equal unfairness; return the figures."""
    heading(
        "Few people: how far to polish",
        f"{PEOPLE} people and 20 features to learn from, {NEW:,} new people; {draws} draws of each "
        "population; error less that of least squares at equal unfairness, as a share of the "
        "unfairness of least squares without a constraint",
    )
    figures: dict[str, Any] = {}
    for kind in (COMMUNITIES_SMALL, SYNTHETIC):
        if kind not in names:
            continue
        jobs = [
            (kind, number, step, alpha)
            for step in STEPS
            for alpha in PAPER_ALPHAS
            for number in range(draws)
        ]
        found = side_by_side(fit, jobs)
        by_step = {
            step: [one for one, job in zip(found, jobs, strict=True) if job[2] == step]
            for step in STEPS
        }
        print(f"{kind}")
        rows = []
        for which, words in CORNERS.items():
            for step, errors in differences(by_step, draws, which).items():
                training = np.mean([one.error for one in by_step[step][-draws:]])
                cells = [f"{error:+.4f}" for error in errors]
                rows.append([f"{words}: {step}", f"{training:.4f}", *cells])
                figures[f"{kind}, {words}: {step}"] = errors.tolist()
        table(["", "training", *(f"{level:.1f}" for level in LEVELS)], rows)
        print()
    print("training: error in training without a constraint")
    return figures


def differences(by_step: dict[str, list[Held]], draws: int, which: str) -> dict[str, Any]:
    """Return each step's error minus that of least squares at equal unfairness."""
    curves = {step: curve(held, draws, which) for step, held in by_step.items()}
    at = curves[LEAST_SQUARES][0][-1] * np.array(LEVELS)
    base = envelope(*curves[LEAST_SQUARES]).at(at)
    return {step: envelope(*one).at(at) - base for step, one in curves.items()}


def curve(held: Sequence[Held], draws: int, which: str) -> tuple[Any, Any]:
    """Return the mean unfairness and error at each alpha, over the draws."""
    error, sigma = (
        np.array([getattr(getattr(one, which), what) for one in held]).reshape(-1, draws)
        for what in ("error", "sigma")
    )
    return np.sqrt((sigma**2).mean(axis=1)), error.mean(axis=1)
