"""Systemic failure against enumeration, plain counts and planted failures."""

import itertools
from math import comb

import numpy as np
import pytest
from scipy.stats import beta, t

from averagefair import audit
from averagefair.auditing.systemic import _Expected, _interval


def of_losses(L, W=None, **options):
    W = np.ones(L.shape, dtype=bool) if W is None else W
    return audit(np.where(W, 0.0, np.nan), np.where(W, L, 0.0), **options)


def poisson_binomial(chances, k):
    """P[at least k of these independent events], by enumeration."""
    total = 0.0
    for pattern in itertools.product([0, 1], repeat=len(chances)):
        if sum(pattern) >= k:
            total += np.prod([p if hit else 1 - p for p, hit in zip(chances, pattern, strict=True)])
    return total


@pytest.mark.parametrize("seed", range(4))
def test_shares_are_counts_and_enumerations(seed):
    rng = np.random.default_rng(seed)
    W = rng.random((14, 7)) < 0.8
    L = np.where(W, rng.random((14, 7)) < rng.random(7), 0.0)
    found = of_losses(L, W).systemic
    looked_at = W.sum(axis=1) >= 2
    task_rates = L.sum(axis=0) / W.sum(axis=0)
    assert found.people == looked_at.sum()
    assert found.always == ((L.sum(axis=1) == W.sum(axis=1)) & looked_at).sum()
    everything = 0.0
    for row in W[looked_at]:
        everything += np.prod(task_rates[row])
    assert found.always_expected == pytest.approx(everything)
    for number, k in enumerate(found.k):
        assert found.observed[number] == pytest.approx((L.sum(axis=1)[looked_at] >= k).mean())
        by_chance = [poisson_binomial(task_rates[row], k) for row in W[looked_at]]
        assert found.expected[number] == pytest.approx(np.mean(by_chance), abs=1e-12)


def test_a_task_left_out_lowers_the_expected_share():
    rng = np.random.default_rng(5)
    W, rates = rng.random((9, 6)) < 0.8, np.array([0.5, 0.1, 0.9, 0.5, 0.0, 1.0])
    expected = _Expected(rates, int(W.sum(axis=1).max()), len(W), by_task=True)
    expected.add(W)
    drops = expected.drops()
    for task in range(6):
        fewer = W & (np.arange(6) != task)
        for k in range(drops.shape[0]):
            with_it, without = (
                np.mean([poisson_binomial(rates[row], k) for row in table]) for table in (W, fewer)
            )
            assert drops[k, task] == pytest.approx(with_it - without, abs=1e-10)


def test_without_shared_mistakes_the_interval_is_that_of_a_binomial_count():
    """If tasks add no variance, the design effect is 1 and the interval Clopper and Pearson's."""
    people, units, level = 400, 30, 0.95
    shares = np.array([1.0, 0.5, 0.1, 0.0])
    along = np.full((4, units), 0.01)
    low, high = _interval(shares, along, np.zeros((4, units)), people, units, level)
    count = people * (t.ppf(0.975, people - 1) / t.ppf(0.975, units - 1)) ** 2
    for share, ends in zip(shares, zip(low, high, strict=True), strict=True):
        x = share * count
        wanted = (
            beta.ppf(0.025, x, count - x + 1) if share > 0 else 0.0,
            beta.ppf(0.975, x + 1, count - x) if share < 1 else 1.0,
        )
        assert ends == pytest.approx(wanted)


def test_people_failed_by_everyone():
    rng = np.random.default_rng(6)
    L = (rng.random((200, 12)) < 0.1) * 1.0
    L[:6] = 1.0
    found = of_losses(L)
    assert found.systemic.always == 6
    assert found.systemic.always_expected < 0.01
    assert found.systemic.surplus
    assert "every task they met: 6 of 200 people" in str(found)
    assert "more than" in found.systemic.statement()


def test_independent_mistakes_are_no_surplus():
    """Thirty tables; a false surplus has a chance of at most 2.5%, so three of them one of 4%."""
    surpluses = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        L = (rng.random((150, 20)) < rng.beta(1, 3, 20)) * 1.0
        surpluses += of_losses(L).systemic.surplus
    assert surpluses <= 2


def test_similar_people_widen_the_interval():
    """Twenty kinds of people who err alike: as much is known as from twenty people, not 200."""
    rng = np.random.default_rng(7)
    kinds = (rng.random((20, 30)) < 0.3) * 1.0
    alike = of_losses(np.repeat(kinds, 10, axis=0)).systemic
    unlike = of_losses((rng.random((200, 30)) < 0.3) * 1.0).systemic

    def width(found, k):
        here = np.flatnonzero(found.k == k)[0]
        return found.high[here] - found.low[here]

    assert width(alike, 10) > 1.8 * width(unlike, 10)


def test_probabilities_are_drawn_once():
    rng = np.random.default_rng(8)
    chances = np.full((300, 20), 0.25)
    found = of_losses(chances, random_state=3).systemic
    k = 5
    here = np.flatnonzero(found.k == k)[0]
    binomial = sum(comb(20, j) * 0.25**j * 0.75 ** (20 - j) for j in range(k, 21))
    assert found.expected[here] == pytest.approx(binomial, abs=1e-9)
    assert abs(found.observed[here] - binomial) < 5 * np.sqrt(binomial * (1 - binomial) / 300)
    again = of_losses(chances, random_state=3).systemic
    assert found.observed.tolist() == again.observed.tolist()
    certain = (rng.random((50, 8)) < 0.4) * 1.0
    assert of_losses(certain).systemic.observed[0] == (certain.sum(axis=1) >= 1).mean()


def test_learned_tasks_have_counts_and_no_interval():
    L = (np.random.default_rng(9).random((60, 15)) < 0.3) * 1.0
    found = of_losses(L, learned_tasks=True).systemic
    assert np.isnan(found.low).all()
    assert not found.surplus
    assert found.observed[0] == (L.sum(axis=1) >= 1).mean()
    assert "CI" not in found.statement()


@pytest.mark.parametrize("L", [np.zeros((5, 4)), np.ones((5, 4)), np.zeros((1, 1)), np.eye(2)])
def test_odd_tables(L):
    found = of_losses(L).systemic
    assert found.always == (L.sum(axis=1) == L.shape[1]).sum() * (L.shape[1] >= 2)
    assert ((found.low <= found.observed) | np.isnan(found.low)).all()
    assert ((found.high >= found.observed) | np.isnan(found.high)).all()
    assert isinstance(found.statement(), str)
