"""How much of a held-out spread is noise, by simulation with known true rates."""

from __future__ import annotations

import numpy as np
import pytest

from averagefair import ExponentiatedGradient, FiniteOracle, audit, frontier
from averagefair.evaluation.generalisation import generalisation

N, M, TRIALS = 60, 40, 25


def one_rule(features):
    return features[:, 0] > 0


@pytest.fixture(scope="module")
def curve():
    """A curve whose models all decide by one rule, not a mixture; all noise is in the labels."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, 2)), rng.integers(0, 2, (N, M))
    solver = ExponentiatedGradient(max_rounds=1)
    return frontier(X, Y, [0.5], oracle=FiniteOracle([one_rule]), solver=solver)


def on_new_tasks(curve, X, labels):
    """Measure on new people and new tasks; the rule does not depend on their labels."""
    past = np.random.default_rng(9).integers(0, 2, (N, M))
    return generalisation(curve, X_new=X, Y_new_tasks=past, Y_new_both=labels)


def trials(curve, chances):
    """New people; each has their own chance of a wrong decision, the same on every task."""
    found = []
    for seed in range(TRIALS):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(N, 2))
        wrong = rng.random((N, M)) < np.asarray(chances)[:, None]
        labels = (one_rule(X)[:, None] != wrong).astype(int)
        corner = on_new_tasks(curve, X, labels).both
        np.testing.assert_allclose(corner.spread, np.ptp(wrong.mean(axis=1)), atol=1e-12)
        found.append(corner)
    return found


def mean(corners, what):
    return np.mean([getattr(one, what)[0] for one in corners])


def test_where_true_rates_are_equal_spread_is_noise(curve):
    found = trials(curve, np.full(N, 0.3))
    draws = np.random.default_rng(1).binomial(M, 0.3, (20_000, N)) / M
    by_chance = np.ptp(draws, axis=1).mean()
    assert mean(found, "spread_floor") == pytest.approx(by_chance, rel=0.03)
    assert mean(found, "spread") == pytest.approx(by_chance, rel=0.03)
    assert mean(found, "noise_share") > 0.88  # estimates of variance are cut off at 0
    assert max(one.noise_share[0] for one in found) <= 1


def test_where_true_rates_differ_noise_is_the_share_that_tasks_would_average_out(curve):
    chances = np.where(np.arange(N) % 2, 0.1, 0.5)
    noise = (chances * (1 - chances)).mean() / M
    found = trials(curve, chances)
    wanted = noise / (noise + chances.var(ddof=1))
    assert mean(found, "noise_share") == pytest.approx(wanted, abs=0.01)
    # Half of 60 people on either side: far less than what is seen.
    assert mean(found, "spread_floor") < 0.6 * mean(found, "spread")


def test_noise_is_that_of_the_audit_and_unknown_on_the_tasks_learned_from(curve):
    rng = np.random.default_rng(5)
    X, labels = rng.normal(size=(N, 2)), rng.integers(0, 2, (N, M))
    measured = on_new_tasks(curve, X, labels)
    found = audit(labels, np.repeat(one_rule(X)[:, None], M, axis=1).astype(float))
    assert measured.both.spread_floor[0] == pytest.approx(2 * found.curve.at(0.0)["floor"])
    assert measured.both.noise_share[0] == pytest.approx(1 - found.dispersion.reliability)
    known = generalisation(curve, X_new=X, Y_new_people=labels)
    for corner in (known.training, known.people):
        assert np.isnan([corner.spread_floor, corner.noise_share]).all()


def test_a_spread_left_out_of_the_noise_is_more_than_what_5_percent_less_show(curve):
    """The noise floor of the spread is that of all people, not of all but 5%."""
    for one in trials(curve, np.full(N, 0.3))[:3]:
        assert one.spread_floor[0] > 2 * one.floor[0]
