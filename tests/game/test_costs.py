"""The Learner's costs, per cell and in total, from the paper's definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from averagefair import (
    Learner,
    Sample,
    StumpOracle,
)
from averagefair.game.costs import CostRule, Costs
from averagefair.game.rates import RATES as KINDS
from tests.support.judges import COUNTS, plain_error, plain_rates

RATES = {name: rate() for name, rate in KINDS.items()}
all_rates = pytest.mark.parametrize("kind", RATES)


def label_of(sign):
    return {1: 0, -1: 1, 0: None}[int(sign)]


def gap_by_hand(label, false_positive, false_negative):
    """Return the cost of deciding 1 minus the cost of deciding 0."""
    deciding_one = false_positive if label == 0 else 0.0
    deciding_zero = false_negative if label == 1 else 0.0
    return deciding_one - deciding_zero


def signed(signs):
    """Return a sample with labels of these signs."""
    labels = np.select([signs > 0, signs < 0], [0.0, 1.0], math.nan)
    return Sample(np.zeros((len(signs), 1)), labels)


prices = st.floats(-1e6, 1e6)


@settings(deadline=None)
@given(st.data())
def test_gaps_are_the_cost_of_one_less_the_cost_of_zero(data):
    k = data.draw(st.integers(1, 4))
    row = st.tuples(st.lists(st.sampled_from([1, -1, 0]), min_size=k, max_size=k), prices, prices)
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    signs = np.array([r[0] for r in rows], dtype=np.int8)
    costs = Costs(signed(signs), np.array([r[1] for r in rows]), np.array([r[2] for r in rows]))
    expected = [[gap_by_hand(label_of(s), fp, fn) for s in row] for row, fp, fn in rows]
    assert costs.gaps().tolist() == expected
    cut = data.draw(st.integers(0, len(rows)))
    assert costs.gaps(slice(0, cut)).tolist() == expected[:cut]
    assert costs.gaps(slice(cut, len(rows))).tolist() == expected[cut:]


def test_one_price_for_both_mistakes_given_once_or_twice_is_the_same():
    draw = np.random.default_rng(0)
    signs, price = draw.integers(-1, 2, (9, 5)).astype(np.int8), draw.normal(size=9)
    sample = signed(signs)
    once, twice = Costs(sample, price, price), Costs(sample, price, price.copy())
    assert (once.gaps() == twice.gaps()).all()


@all_rates
def test_prices_are_the_papers(kind):
    draw = np.random.default_rng(1)
    objective, leverage = draw.uniform(size=6), draw.uniform(1, 9, 6)
    weights = draw.normal(size=6)
    rate = RATES[kind]
    rule = CostRule(
        objective, leverage[None], np.array([rate.negatives]), np.array([rate.positives])
    )
    false_positive, false_negative = rule.prices(weights)
    for i in range(6):
        pull = weights[i] * leverage[i]
        assert false_positive[i] == pytest.approx(objective[i] + pull * (0 in COUNTS[kind]))
        assert false_negative[i] == pytest.approx(objective[i] + pull * (1 in COUNTS[kind]))


@all_rates
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("blanks", [0.0, 0.3], ids=["complete", "blanks"])
def test_the_costs_of_all_tasks_add_up_to_the_lagrangian(kind, weighted, blanks):
    """The costs of two sets of decisions differ by as much as their Lagrangians."""
    draw = np.random.default_rng(2)
    n, m = 12, 5
    labels = draw.integers(0, 2, (n, m)).astype(float)
    labels[draw.uniform(size=(n, m)) < blanks] = math.nan
    labels[:, :2] = [0, 1]  # everybody's rate is defined
    people = draw.uniform(0.5, 3, n) if weighted else np.ones(n)
    tasks = draw.uniform(0.5, 3, m) if weighted else np.ones(m)
    sample = Sample(np.zeros((n, 1)), labels, individual_weights=people, task_weights=tasks)
    learner = Learner(sample, RATES[kind], StumpOracle())
    weights = draw.normal(size=n)
    costs = Costs(sample, *learner.cost_rule.prices(weights))

    def charged(decisions):
        return float(((costs.gaps() * decisions) @ sample.task_weights).sum())

    def lagrangian(decisions):
        error = plain_error(labels, decisions, tasks, people)
        return error + weights @ plain_rates(labels, decisions, kind, tasks)

    first, second = draw.integers(0, 2, (2, n, m))
    difference = lagrangian(first) - lagrangian(second)
    assert abs(difference) > 1e-3
    assert charged(first) - charged(second) == pytest.approx(difference, rel=1e-11)
