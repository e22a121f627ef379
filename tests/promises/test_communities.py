"""Promises on Communities and Crime: the paper's 200 people, least squares."""

from __future__ import annotations

import numpy as np
import pytest

from averagefair import (
    AverageFairClassifier,
    Cap,
    ColumnGeneration,
    Equal,
    Minimax,
    RegressionOracle,
    WorstOff,
)
from averagefair.datasets import communities_split, load_communities
from tests.support.experiment_judges import DATA, needs_data
from tests.support.judges import plain_error, plain_rates
from tests.support.promise_programs import plain_worst_off
from tests.support.promise_table import EXPECTED

pytestmark = [
    needs_data,
    *(
        pytest.mark.filterwarnings(f"ignore::averagefair.errors.{kind.__name__}")
        for kind in EXPECTED
    ),
]


@pytest.fixture(scope="module")
def split():
    return communities_split(load_communities(DATA))


# Enough to keep a promise, and too few for the least error.
FEW = ColumnGeneration(max_rounds=15, mapping_rounds=2)


def judged(split, promise, **options):
    """Fit; return the model with error and rates recomputed from its chances."""
    options = {"oracle": RegressionOracle(), "random_state": 0, "look_first": False} | options
    model = AverageFairClassifier(promise=promise, **options)
    model.fit(split.X, split.Y)
    chances, labels = model.decision_probability(split.X), np.asarray(split.Y, dtype=float)
    error, rates = plain_error(labels, chances), plain_rates(labels, chances, "error")
    assert model.certificate_.met
    assert model.error_ == pytest.approx(error, abs=1e-9)
    return model, error, rates


@pytest.mark.parametrize(
    ("cap", "most"), [pytest.param(0.30, 0.197, marks=pytest.mark.long), (0.292, 0.211)]
)
def test_a_cap_costs_little(split, cap, most):
    _, error, rates = judged(split, Cap(cap))
    assert rates.max() <= cap + 1e-6
    assert error <= most


@pytest.mark.long
def test_the_least_cap(split):
    promise = Minimax()
    model, _, rates = judged(split, promise)
    assert model.certificate_.reached == pytest.approx(rates.max(), abs=1e-9)
    assert rates.max() - promise.tolerance <= 0.2915


@pytest.mark.parametrize(
    "promise",
    [
        WorstOff(0.1, no_harm=0.02),
        pytest.param(Cap(0.45, no_harm=0.02), marks=pytest.mark.long),
        pytest.param(Equal(0.2, no_harm=0.02), marks=pytest.mark.long),
    ],
    ids=repr,
)
def test_nobody_is_harmed(split, promise):
    free = AverageFairClassifier(alpha=0.5, oracle=RegressionOracle(), random_state=0)
    # One round asks the oracle once, with nothing asked.
    free.set_params(callback=lambda now: True).fit(split.X, split.Y)
    labels = np.asarray(split.Y, dtype=float)
    before = plain_rates(labels, free.decision_probability(split.X), "error")
    model, _, rates = judged(split, promise, solver=FEW)
    (pays,) = model.certificate_.each_who_pays
    assert pays.worst_off.before == pytest.approx(plain_worst_off(before, np.ones(200), 0.1))
    assert (rates - before).max() <= 0.02 + 1e-6


def test_a_price_helps_the_worst_off(split):
    promise = WorstOff(0.1, price=0.5)
    model, _, rates = judged(split, promise, solver=FEW)
    (pays,) = model.certificate_.each_who_pays
    reached = plain_worst_off(rates, np.ones(200), 0.1)
    assert model.certificate_.reached == pytest.approx(reached, abs=1e-9)
    assert reached < pays.worst_off.before - 0.05
