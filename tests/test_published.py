"""The numbers that the paper's authors published for their own runs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from averagefair import AverageFairClassifier, ExponentiatedGradient
from averagefair.datasets import communities_split, load_communities
from averagefair.experiments import evaluate, unconstrained

SHARED = Path(__file__).parents[2] / "shared"
DATA = SHARED / "datasets" / "communities.csv"
RUNS = SHARED / "reference" / "communities_runs.csv"

needs_data = pytest.mark.skipif(
    not (DATA.exists() and RUNS.exists()),
    reason="the published runs and their data are not beside the repository (../shared)",
)


def published():
    if not RUNS.exists():
        return []
    with RUNS.open(newline="") as file:
        return [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def split():
    return communities_split(load_communities(DATA))


@needs_data
@pytest.mark.parametrize("row", published(), ids=lambda row: f"alpha={row['alpha']}")
def test_published_runs_are_reproduced(split, row):
    solver = ExponentiatedGradient.published(max_rounds=1000)
    model = AverageFairClassifier(alpha=row["alpha"], solver=solver).fit(split.X, split.Y)
    certificate = model.certificate_
    assert certificate.rounds == row["rounds"]
    assert certificate.error == pytest.approx(row["error"], abs=1e-6)
    assert certificate.common_rate == pytest.approx(row["common_rate"], abs=1e-6)
    assert certificate.deviation == pytest.approx(row["max_deviation"], abs=1e-6)
    assert certificate.spread == pytest.approx(row["spread"], abs=1e-6)
    assert certificate.met


@needs_data
def test_the_default_solver_is_the_published_practice(split):
    default = AverageFairClassifier(alpha=0.2).fit(split.X, split.Y)
    assert default.error_ == pytest.approx(0.181112, abs=1e-6)


@needs_data
def test_published_generalisation_is_reproduced(split):
    """The published setting at alpha = 0.10 on people and tasks held out: error and spread."""
    model = AverageFairClassifier(alpha=0.10, random_state=0).fit(split.X, split.Y)
    outcome = evaluate(split, model, unconstrained(split))
    for corner, error, spread in (
        (outcome.new_people, 0.3418, 0.290),
        (outcome.new_tasks, 0.2996, 0.406),
        (outcome.new_both, 0.3292, 0.381),
    ):
        assert corner.error == pytest.approx(error, abs=1e-4)
        assert corner.spread == pytest.approx(spread, abs=1e-3)


@needs_data
def test_the_fair_classifiers_beat_mixing_in_coin_flips(split):
    """The paper's baseline at the same spread; the unconstrained error is 0.170."""
    free = unconstrained(split)
    assert free.error == pytest.approx(0.170, abs=5e-4)
    for alpha in (0.05, 0.10, 0.15, 0.20):
        model = AverageFairClassifier(alpha=alpha, random_state=0).fit(split.X, split.Y)
        outcome = evaluate(split, model, free)
        assert outcome.training.error == pytest.approx(model.error_, abs=1e-12)
        assert model.error_ < outcome.baseline_error
