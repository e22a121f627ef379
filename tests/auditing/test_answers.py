"""An audit's answers and bounds, checked by hand, and changes that must not affect them."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from averagefair import Verdict, audit
from tests.support.audit_by_hand import (
    alpha_of_beta,
    beta_of_alpha,
    certificate,
    clopper_pearson,
    kl_interval,
    mean_and_variance,
    rates,
)
from tests.support.audit_tables import BLANKS, RATES, by_family, drawn, exactly, of_losses


def test_certificate_by_hand():
    random = np.random.default_rng(5)
    truth = np.where(np.arange(300) < 200, 0.1, 0.9)
    L = (random.random((300, 300)) < truth[:, None]).astype(float)
    for table, confidence, kappa in ((L, 0.95, 0.01), (0.9 * L, 0.9, 0.05)):
        found = of_losses(table, alpha=0.2, confidence=confidence)
        delta = 1 - confidence
        level = kappa * delta / 2
        each = [
            clopper_pearson(row.sum(), 300, level)
            if table is L
            else kl_interval(row.mean(), 300, level)
            for row in table
        ]
        for alpha in (None, 0.05, 0.1):
            said = found.bounds(alpha, kappa=kappa)
            width = 0.2 if alpha is None else alpha
            low, high = certificate(*zip(*each, strict=True), 300, width, kappa, delta)
            assert said.alpha == width
            assert (said.beta_low, said.beta_high) == (exactly(max(0, low)), exactly(min(1, high)))
        assert 0 < said.beta_low < 1 / 3
        assert 1 / 3 < found.bounds().beta_high < 1
        assert f"{found.bounds().beta_high:.3f}" in found.bounds().statement()


def spread_about(middles, m, n=200, seed=0):
    random = np.random.default_rng(seed)
    return (random.random((n, m)) < np.resize(middles, n)[:, None]).astype(float)


@pytest.mark.parametrize(
    ("L", "alpha", "beta", "verdict", "why"),
    [
        (spread_about([0.5], 1000, n=6), 0.1, 0.0, Verdict.MET, "confidence intervals"),
        (spread_about([0.1, 0.9], 200), 0.1, 0.1, Verdict.NOT_MET, "confidence intervals"),
        (spread_about([0.5], 60), 0.15, 0.5, Verdict.MET, "variance of true rates"),
        (spread_about([0.35, 0.65], 60), 0.05, 0.0, Verdict.NOT_MET, "standard deviation"),
        (spread_about([0.5], 60), 0.05, 0.0, Verdict.INCONCLUSIVE, "allow a small beta"),
        (spread_about([0.45, 0.55], 30), 0.05, 0.2, Verdict.INCONCLUSIVE, "more tasks may"),
    ],
)
def test_answers(L, alpha, beta, verdict, why):
    found = of_losses(L, alpha=alpha, beta=beta)
    answer, E = found.assessment, L.mean(axis=1)
    assert (answer.verdict, why in answer.reason) == (verdict, True)
    assert answer.observed_beta == exactly(beta_of_alpha(E, alpha))
    assert answer.observed_alpha == exactly(alpha_of_beta(E, beta)[0])
    assert answer.met_as_observed == (answer.observed_beta <= beta)
    assert np.mean(np.abs(E - answer.common_rate) > alpha + 1e-9) == exactly(answer.observed_beta)
    assert answer.common_rate == found.common_rate
    # Check the reasons: each gets half of 1 - confidence. With a beta, half of beta is the share of
    # people whose interval may miss their rate, and that half is given away.
    n, away = len(L), beta / 2
    each = np.array(
        [clopper_pearson(k, L.shape[1], 0.025 * (away or 1 / n)) for k in L.sum(axis=1)]
    )
    best = max(np.sum((low <= each[:, 0]) & (each[:, 1] <= low + 2 * alpha)) for low in each[:, 0])
    met = max(np.sum((each[:, 0] <= x + 2 * alpha) & (each[:, 1] >= x)) for x in each[:, 1])
    s = found.dispersion.sigma2
    yes = 1 - best / n + away <= beta or s.high <= beta * alpha**2
    no = 1 - met / n - away > beta or s.low > (1 - beta) * alpha**2 + beta
    assert (yes, no) == (verdict is Verdict.MET, verdict is Verdict.NOT_MET)
    assert answer.verdict.value in found.summary()
    sure = np.array([clopper_pearson(k, L.shape[1], 0.05 / len(L))[0] for k in L.sum(axis=1)])
    np.testing.assert_array_equal(found.people.flagged, sure > answer.common_rate + alpha)


def test_a_share_that_is_just_met():
    found = of_losses(spread_about([0.2, 0.2, 0.9], 1500, n=3), alpha=0.1, beta=1 / 3)
    assert found.assessment.verdict is Verdict.MET


seeds = st.integers(0, 2**32 - 1)


def some_table(seed):
    rate, blanks = RATES[seed % 3], BLANKS[seed // 3 % 3]
    labels, decisions, options, L, W = drawn(seed, rate, blanks, chances=seed % 2 == 0)
    Z = by_family(L, W, mean_and_variance(L, W)[0], rates(L, W)[1], list(range(W.shape[1])))
    assume(Z.size and np.ptp(Z, axis=0).max() > 1e-9)
    return labels, decisions, options | {"rate": rate, "alpha": 0.1, "beta": 0.2}


def numbers(found):
    """Return all numbers that must not depend on the order of people or tasks."""
    line = found.curve
    upper = inf if np.isnan(found.dispersion.upper) else found.dispersion.upper
    return np.concatenate(
        [
            [found.mean.value, found.mean.low, found.mean.high, found.chance.p],
            [found.chance.statistic, found.dispersion.sigma2.value, found.dispersion.sigma2.high],
            [
                found.dispersion.sigma2.people_variance,
                found.dispersion.sigma2.tasks_variance,
                upper,
            ],
            [
                found.assessment.observed_beta,
                found.assessment.observed_alpha,
                found.people.flagged.sum(),
            ],
            np.concatenate([line.alpha, line.floor, np.sort(found.people.rank)]),
            [found.bounds().beta_low, found.bounds().beta_high],
        ]
    )


@settings(max_examples=20, deadline=None, derandomize=True)
@given(seed=seeds)
def test_order_means_nothing(seed):
    labels, decisions, options = some_table(seed)
    random = np.random.default_rng(seed)
    rows, columns = map(random.permutation, labels.shape)
    found = audit(labels, decisions, **options)
    if "observed" in options:
        options["observed"] = options["observed"][rows][:, columns]
    moved = audit(labels[rows][:, columns], decisions[rows][:, columns], **options)
    np.testing.assert_allclose(numbers(found), numbers(moved), rtol=0, atol=1e-9)
    # The root of a rounding error of 1e-18 in a variance is 1e-9.
    np.testing.assert_allclose(found.curve.denoised, moved.curve.denoised, rtol=0, atol=1e-7)
    for name in ("rate", "tasks", "low", "high", "all_low", "all_high", "rank", "flagged"):
        one, other = getattr(found.people, name)[rows], getattr(moved.people, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    for name in ("people", "rate", "influence"):
        one, other = getattr(found.tasks, name)[columns], getattr(moved.tasks, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=seeds)
def test_what_is_not_observed_means_nothing(seed):
    labels, decisions, options = some_table(seed)
    found = audit(labels, decisions, **options)
    hidden = np.isnan(labels) | ~options.pop("observed", np.ones(labels.shape, bool))
    random = np.random.default_rng(seed)
    other = np.where(hidden, random.choice([nan, -3.0, 7.0, 0.5], size=labels.shape), decisions)
    again = audit(np.where(hidden, nan, labels), other, **options)
    assert again.to_dict() == found.to_dict()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=seeds, right=st.booleans())
def test_a_task_that_everybody_gets_right_or_wrong(seed, right):
    """All rates move together: U shrinks by (m/(m+1))^2, and p does not change."""
    random = np.random.default_rng(seed)
    n, m = random.integers(3, 8, size=2)
    L = random.random((n, m))
    found = of_losses(L)
    more = of_losses(np.column_stack([L, np.full(n, 0.0 if right else 1.0)]))
    shrunk = m / (m + 1)
    assert found.dispersion.sigma2.value == exactly(
        found.chance.statistic * m / ((m - 1) * (n - 1))
    )
    assert more.chance.statistic == exactly(found.chance.statistic * shrunk**2)
    assert more.chance.p == found.chance.p
    np.testing.assert_allclose(more.curve.floor, found.curve.floor * shrunk, rtol=0, atol=1e-9)
    np.testing.assert_allclose(more.curve.alpha, found.curve.alpha * shrunk, rtol=0, atol=1e-9)
    assert more.dispersion.sigma2.value == exactly(
        found.dispersion.sigma2.value * (m - 1) / (m + 1)
    )
    assert more.mean.value == exactly((found.mean.value * m + (not right)) / (m + 1))


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_whoever_is_flagged_is_worse_off_than_the_common_rate_allows(share):
    """True rates are 0.1 and 0.3; the common rate is near most of the observed rates."""
    random = np.random.default_rng(2)
    wrongly = 0
    for _ in range(40):
        true = np.where(random.random(100) < share, 0.1, 0.3)
        L = (random.random((100, 200)) < true[:, None]).astype(float)
        found = of_losses(L, alpha=0.1)
        wrongly += (true[found.people.flagged] <= found.common_rate + 0.1).any()
    assert wrongly <= 6  # of forty, at 5% each: more than 6 happens once in 300 times


def test_who_is_far_worse_off_is_flagged():
    true = np.repeat([0.1, 0.8], [95, 5])
    L = (np.random.default_rng(3).random((100, 100)) < true[:, None]).astype(float)
    found = of_losses(L, alpha=0.1, beta=0.05)
    np.testing.assert_array_equal(np.flatnonzero(found.people.flagged), np.arange(95, 100))


def made_up_for(seed=0, n=200, m=10):
    """Return losses where each mistake is offset by another task; two people differ."""
    half = np.random.default_rng(seed).random((n, m // 2)) < 0.5
    L = 0.7 * np.hstack([half, ~half])
    L[0], L[1] = 0.0, 0.61
    return L


def test_there_is_a_bound_where_the_estimate_is_below_zero():
    found = of_losses(made_up_for())
    estimate, m = found.dispersion.sigma2, 10
    error = np.sqrt(estimate.people_variance + estimate.tasks_variance)
    assert found.range == (exactly(0.0), exactly(0.61))
    # The estimate and its whole interval are below 0, so the bound counts from 0.
    assert estimate.value + student.ppf(0.975, m - 1) * error < 0
    assert found.dispersion.upper == exactly(np.sqrt(student.ppf(0.95, m - 1) * error))
    assert estimate.high == exactly(student.ppf(0.975, m - 1) * error)
    assert found.dispersion.upper > 0.9 * found.people.rate.std()
    assert f"up to {found.dispersion.upper:.3f}" in str(found)
    assert "no bound" not in str(found)
    assert any("closer together than chance" in note for note in found.notes)
    assert found.curve.at(0.5)["cap"] == exactly(found.dispersion.upper / np.sqrt(0.5))


def test_why_there_is_no_bound():
    """Everybody is wrong on one task of their own, so all people and all tasks look the same."""
    found = of_losses(np.eye(4))
    assert np.isnan(found.dispersion.upper)
    assert any("no bound on the dispersion: every person" in note for note in found.notes)


def test_the_bound_holds_where_estimates_are_below_zero():
    random, held, below = np.random.default_rng(5), 0, 0
    for _ in range(100):
        true = 0.25 + 0.02 * random.standard_normal(80)
        L = (random.random((80, 12)) < true[:, None]).astype(float)
        apart = of_losses(L).dispersion
        below += apart.sigma2.value < 0
        held += apart.upper >= 0.02  # False for NaN
    assert below >= 20
    assert held >= 95


@pytest.mark.parametrize(
    ("L", "alpha", "beta"),
    [
        (spread_about([0.5], 60), 0.15, 0.5),
        (spread_about([0.5], 60), 0.05, 0.0),
        (spread_about([0.1, 0.9], 20), 0.02, 0.1),
        (made_up_for(), 0.1, 0.05),
    ],
)
def test_verdict_and_words_agree(L, alpha, beta):
    found = of_losses(L, alpha=alpha, beta=beta)
    text, settled = str(found), found.assessment.verdict is not Verdict.INCONCLUSIVE
    assert "no evidence" not in text
    if settled:
        assert "says little" not in text
    if found.chance.p > 0.05:
        assert f"may still have a standard deviation of up to {found.dispersion.upper:.3f}" in text
