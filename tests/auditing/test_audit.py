"""The audit's statistics, checked by known cases, by plain loops and by other libraries."""

from math import nan, sqrt

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import t as student
from statsmodels.stats.contingency_tables import cochrans_q

from averagefair import audit
from tests.support.audit_by_hand import (
    alpha_of_beta,
    beta_of_alpha,
    chebyshev_cap,
    clopper_pearson,
    cochran_q,
    denoised_alpha,
    flip_test,
    floor,
    jackknife,
    kl_interval,
    mean_and_variance,
    people_with,
    rates,
    reliability,
    sigma2,
    sigma2_by_family,
    slopes,
    tasks_counted,
    tasks_needed,
    variance_of_rates,
    wilson,
)
from tests.support.audit_tables import (
    BLANKS,
    RATES,
    by_family,
    drawn,
    exactly,
    nearly,
    of_losses,
    task_factor,
    whole,
)

A = np.array([[1, 1, 0, 1, 0, 0], [0, 1, 0, 0, 0, 1], [1, 1, 1, 1, 0, 0], [0, 0, 0, 1, 0, 0]])
B = np.array([[1, 1, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]])
FIVE = (0.10, 0.12, 0.15, 0.40, 0.11)
ADDITIVE = np.add.outer([0.1, 0.2, 0.3], [0.0, 0.2, 0.4, 0.6])
TABLES = [
    pytest.param(seed, rate, blanks, chances, id=f"{rate}-{blanks}-{'chances' * chances}-{seed}")
    for seed, (rate, blanks, chances) in enumerate(
        (rate, blanks, chances)
        for rate in RATES
        for blanks in BLANKS
        for chances in (False, True)
        for _ in range(3)
    )
]


def test_table_A():
    found = of_losses(A)
    q = found.exchangeability
    assert (q.q, q.freedom) == (exactly(3.75), 3)
    assert q.p == pytest.approx(0.2897557812, abs=1e-10)
    apart = found.dispersion
    assert apart.sigma2.value == exactly(1 / 90)
    assert apart.sigma == exactly(sqrt(1 / 90))
    assert apart.reliability == exactly(0.24)
    assert apart.tasks_needed(0.8) == exactly(6 * 4 * 0.76 / 0.24)
    assert apart.sigma2.people_variance == pytest.approx(0.0020987654, abs=1e-10)
    assert apart.sigma2.tasks_variance == pytest.approx(0.0029766804, abs=1e-10)
    assert found.mean.value == exactly(10 / 24)
    assert found.mean.variance == pytest.approx(0.0167245370, abs=1e-10)
    half = 2.5705818356363146 * sqrt(0.0167245370)  # Student's t, 5 degrees of freedom
    assert (found.mean.low, found.mean.high) == (nearly(10 / 24 - half), nearly(10 / 24 + half))
    assert found.chance.p == 32 / 64
    assert found.chance.enumerated
    assert found.chance.smallest == 2**-5


def test_table_B():
    found = of_losses(B, alpha=0.125, beta=1 / 3)
    assert found.chance.statistic == exactly(1 / 6)
    assert found.chance.p == 4 / 16
    assert found.dispersion.sigma2.value == exactly(1 / 9)
    window = found.window_at(1 / 3)
    assert (window.width / 2, window.middle) == (exactly(0.125), exactly(0.875))
    row = found.curve.at(1 / 3)
    assert (row["alpha"], row["middle"]) == (exactly(0.125), exactly(0.875))
    assert row["floor"] == exactly(0.0625)
    assert found.assessment.observed_beta == exactly(1 / 3)
    assert found.assessment.met_as_observed


def test_five_rates():
    found = of_losses(np.repeat(np.reshape(FIVE, (5, 1)), 4, axis=1))
    assert found.window_at(0).width / 2 == exactly(0.15)
    assert found.window_at(0.2).width / 2 == exactly(0.025)
    assert found.window_at(0.2).middle == exactly(0.125)
    assert [found.beta_at(a) for a in (0.025, 0.02, 0)] == [exactly(b) for b in (0.2, 0.4, 0.8)]


def test_additive_table_has_no_noise():
    found = of_losses(ADDITIVE)
    assert found.dispersion.sigma2.value == exactly(0.01)
    assert found.dispersion.reliability == exactly(1)
    assert found.dispersion.tasks_needed() == exactly(0)


def test_identity_has_a_negative_estimate():
    found = of_losses(np.eye(4))
    assert found.dispersion.sigma2.value == exactly(-1 / 12)
    assert found.dispersion.sigma == 0
    assert (found.dispersion.sigma2.low, found.chance.p) == (0, 1)
    assert found.curve.denoised.max() == 0


def test_three_wrong_of_twenty():
    row = np.zeros((1, 20))
    row[0, :3] = 1
    people, sure = of_losses(row).people, (0.0320709, 0.3789268)
    assert (people.low[0], people.high[0]) == (nearly(0.0523687), nearly(0.3604189))
    assert (people.all_low[0], people.all_high[0]) == (nearly(sure[0]), nearly(sure[1]))
    people = of_losses(np.full((1, 20), 0.15)).people
    assert (people.low[0], people.high[0]) == (nearly(0.0195274), nearly(0.4324042))


@pytest.mark.parametrize("seed", range(6))
def test_cochran_as_others_have_it(seed):
    random = np.random.default_rng(seed)
    L = (random.random((9, 7)) < random.random((9, 1))).astype(int)
    theirs, ours = cochrans_q(L.T), of_losses(L).exchangeability
    assert (ours.q, ours.p, ours.freedom) == (exactly(theirs.statistic), exactly(theirs.pvalue), 8)
    L = random.random((5, 6))
    ours = of_losses(L).exchangeability
    assert (ours.q, ours.freedom, ours.p) == tuple(map(exactly, cochran_q(L)))


def assert_mean(found, L, W, families):
    E, cells = rates(L, W)
    np.testing.assert_allclose(found.people.rate, E, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found.people.tasks, cells)
    mean, variance = mean_and_variance(L, W)
    assert found.mean.value == exactly(mean)
    Z = by_family(L, W, mean, cells, families)
    n, k = Z.shape
    if k == 1 or not Z.any():  # the variance of the mean is unknown
        assert np.isnan([found.mean.low, found.mean.high, found.mean.variance]).all()
        return
    if len(set(families)) < len(families):
        column = np.sum(Z.mean(axis=0) ** 2) * task_factor(W, families)
        variance = np.nanvar(E, ddof=1) / n + column - np.sum(Z**2) / n**2
    if variance <= 0:  # then each cell counts as a draw of its own
        variance = np.sum(Z**2) / n**2
    half = student.ppf(0.5 + found.confidence / 2, k - 1) * sqrt(variance)
    assert found.mean.variance == exactly(variance)
    assert (found.mean.low, found.mean.high) == (exactly(mean - half), exactly(mean + half))


def assert_curve(found, L, W, families):
    E, _ = rates(L, W)
    for beta in (0.0, 0.2, 1 / 3, 0.5, 0.9):
        alpha, middle = alpha_of_beta(E, beta)
        row, window = found.curve.at(beta), found.window_at(beta)
        assert row["beta"] == beta
        assert row["alpha"] == window.width / 2 == exactly(alpha)
        if len(np.unique(np.nan_to_num(L))) > 2:  # losses of 0 and 1 make ties
            assert row["middle"] == window.middle == exactly(middle)
        assert row["floor"] == exactly(floor(L, W, beta, families))
        upper = found.dispersion.upper
        cap = nan if np.isnan(upper) else chebyshev_cap(upper, beta)
        assert row["cap"] == exactly(cap)
    for alpha in (0.0, 0.05, 0.125, 0.3, 0.5):
        assert found.beta_at(alpha) == exactly(beta_of_alpha(E, alpha))


def assert_spread(found, L, W):
    apart, value = found.dispersion, sigma2(L, W)
    person, task, f, g = jackknife(L, W)
    judged = people_with(W, 2)
    if len(judged) < 2:
        assert np.isnan([apart.sigma2.value, apart.sigma2.low, apart.upper, apart.raw]).all()
        assert np.isnan(found.tasks.influence).all()
        return
    tasks = len(tasks_counted(W, judged))
    assert (apart.people, apart.units) == (len(judged), tasks)
    assert apart.raw == exactly(variance_of_rates(L, W))
    assert apart.sigma2.value == exactly(value)
    assert apart.sigma2.people_variance == exactly(person)
    assert apart.sigma2.tasks_variance == exactly(task)
    np.testing.assert_allclose(found.tasks.influence, f, rtol=0, atol=1e-9)
    np.testing.assert_allclose(apart.person_influence[judged], g, rtol=0, atol=1e-9)
    assert not np.delete(apart.person_influence, judged).any()
    assert_bounds(found, value, sqrt(person + task), tasks)
    if apart.raw > 1e-20:
        share = reliability(L, W)
        assert apart.reliability == exactly(max(0.0, share))
        for r in (0.5, 0.8) if abs(value) > 1e-12 else ():
            assert apart.tasks_needed(r) == pytest.approx(tasks_needed(L, W, r), rel=1e-9)
    for beta in (0.0, 0.2, 1 / 3, 0.5):
        denoised = found.curve.at(beta)["denoised"]
        # The root of a rounding error of 1e-18 in a variance is 1e-9.
        assert denoised == pytest.approx(denoised_alpha(L, W, beta), rel=1e-9, abs=1e-8)


def assert_bounds(found, value, error, units):
    half = student.ppf(0.5 + found.confidence / 2, units - 1) * error
    estimate = found.dispersion.sigma2
    assert estimate.low == exactly(max(0.0, value - half))
    # No variance is below 0, so bounds from above start there where the estimate is.
    least = max(0.0, value)
    assert estimate.high == exactly(least + half)
    above = least + student.ppf(found.confidence, units - 1) * error
    assert found.dispersion.upper == exactly(sqrt(above) if above > 1e-12 else nan)


def assert_people(found, L, W, delta):
    E, cells = rates(L, W)
    rated = people_with(W, 1)
    plain = set(np.unique(L[W])) <= {0.0, 1.0}
    people = found.people
    for i, (rate, m) in enumerate(zip(E, cells, strict=True)):
        own = together = (nan, nan)
        if m:
            k = round(rate * m)
            each = delta / len(rated)
            own = wilson(k, m, 1 - delta) if plain else kl_interval(rate, m, delta)
            together = clopper_pearson(k, m, each) if plain else kl_interval(rate, m, each)
            assert people.rank[i] == 1 + sum(E[other] > rate + 1e-12 for other in rated)
        assert (people.low[i], people.high[i]) == tuple(map(exactly, own))
        assert (people.all_low[i], people.all_high[i]) == tuple(map(exactly, together))
    assert np.isnan(people.rank).sum() == len(E) - len(rated)


def assert_flips(found, L, W, families):
    U, at_least, total = flip_test(L, W, families)
    assert found.chance.statistic == exactly(U)
    assert found.chance.p == exactly(at_least / total)
    assert found.chance.units == np.log2(total)
    assert found.chance.flipped.mean() == exactly(0)  # signs cancel over all flips


@pytest.mark.parametrize(("seed", "rate", "blanks", "chances"), TABLES)
def test_random_tables_by_hand(seed, rate, blanks, chances):
    labels, decisions, options, L, W = drawn(seed, rate, blanks, chances)
    confidence = (0.95, 0.8)[seed % 2]
    found = audit(
        labels, decisions, rate=rate, confidence=confidence, alpha=0.1, beta=1 / 3, **options
    )
    alone = list(range(W.shape[1]))
    assert_mean(found, L, W, alone)
    assert_flips(found, L, W, None)
    assert_curve(found, L, W, None)
    assert_spread(found, L, W)
    assert_people(found, L, W, 1 - confidence)
    np.testing.assert_array_equal(found.tasks.people, W.sum(axis=0))
    np.testing.assert_allclose(found.tasks.rate, rates(L.T, W.T)[0], rtol=0, atol=1e-9)


def family_noise(L, W, families, weights):
    """Return E and z~ of people with two families, for weighted families; D_i grows as m_i^2."""
    M = np.array([W[:, families == f].sum(axis=1) for f in range(len(weights))]).T
    T = np.array([np.where(W, L, 0)[:, families == f].sum(axis=1) for f in range(len(weights))]).T
    M, T = M[(M > 0).sum(axis=1) >= 2], T[(M > 0).sum(axis=1) >= 2]
    # The rate's noise divided by the deviations' noise; a family's cells are one draw.
    of_deviations = [np.sum((np.diag(c) - np.outer(c, c) / c.sum()) ** 2) for c in M]
    ratio = np.sqrt(np.sum(M**2, axis=1) / of_deviations)[:, None]
    m = M @ weights
    E = T @ weights / m
    return E, weights * (T - M * E[:, None]) / m[:, None] * ratio


def sigma2_of_weights(E, z, weights):
    """The weighted mean of E_i^2 - |z_i|^2, less that of E_i E_k - z_i z_k over i != k."""
    h, pairs = np.outer(E, E) - z @ z.T, np.outer(weights, weights)
    np.fill_diagonal(pairs, 0.0)
    return weights @ np.diag(h) / weights.sum() - np.sum(pairs * h) / pairs.sum()


def family_jackknife(L, W, families):
    """Return f and g as slopes of sigma2 in the weights of families and of people."""
    k = families.max() + 1
    E, z = family_noise(L, W, families, np.ones(k))
    f = slopes(lambda w: sigma2_of_weights(*family_noise(L, W, families, w), np.ones(E.size)), k)
    return f, slopes(lambda w: sigma2_of_weights(E, z, w), E.size)


@pytest.mark.parametrize(("seed", "rate", "blanks", "chances"), TABLES[::3])
def test_families_by_hand(seed, rate, blanks, chances):
    labels, decisions, options, L, W = drawn(100 + seed, rate, blanks, chances)
    families = np.array([0, 1, 1, 2, 0, 2, 3, 3][: W.shape[1]])
    names = [f"kind {f}" for f in families]
    options |= {"rate": rate, "alpha": 0.1, "beta": 1 / 3}
    found = audit(labels, decisions, task_families=names, **options)
    assert found.tasks.family == tuple(names)
    assert_mean(found, L, W, families.tolist())
    assert_flips(found, L, W, families)
    assert_curve(found, L, W, families)
    value = sigma2_by_family(L, W, families)
    apart = found.dispersion
    assert apart.sigma2.value == exactly(value)
    if not np.isnan(value):
        f, g = family_jackknife(L, W, families)
        np.testing.assert_allclose(apart.task_influence, f, rtol=0, atol=1e-7)
        np.testing.assert_array_equal(found.tasks.influence, apart.task_influence[families])
        people = np.sum(g**2) * len(g) / (len(g) - 1)
        assert apart.sigma2.people_variance == pytest.approx(people, abs=1e-7)
        tasks = np.sum(apart.task_influence**2) * apart.units / (apart.units - 1)
        assert apart.sigma2.tasks_variance == exactly(tasks)
        assert_bounds(found, value, sqrt(apart.sigma2.variance), apart.units)
    single = audit(labels, decisions, task_families=range(W.shape[1]), **options)
    alone = audit(labels, decisions, **options)
    mine, theirs = single.dispersion.sigma2, alone.dispersion.sigma2
    assert mine.value == exactly(theirs.value)
    assert mine.people_variance == exactly(theirs.people_variance)
    assert single.mean.variance == exactly(alone.mean.variance)
    assert single.chance.p == alone.chance.p


def test_a_family_of_copies_is_one_task_to_a_person():
    once = np.array([[0.2, 0.9], [0.5, 0.4], [0.1, 0.0]])
    alone = of_losses(once)
    counts = of_losses(np.eye(3)[:, [0, 0, 0, 1, 1, 1]], task_families=list("aaabbb")).people
    # Two draws: Chernoff's bound or Hoeffding's, each with half of the failure probability.
    low, high = kl_interval(0.5, 2, 0.025)
    half = sqrt(np.log(4 / 0.05) / 4)
    assert counts.low[0] == exactly(max(low, 0.5 - half))
    assert counts.high[0] == exactly(min(high, 0.5 + half))
    copies = of_losses(np.repeat(once, 5, axis=1), task_families=list("aaaaabbbbb"))
    for name in ("low", "all_low"):
        assert (getattr(copies.people, name) <= getattr(alone.people, name) + 1e-9).all()
    for name in ("high", "all_high"):
        assert (getattr(copies.people, name) >= getattr(alone.people, name) - 1e-9).all()
    single = of_losses(once, task_families=["a", "b"])
    assert single.people.to_dict() == alone.people.to_dict()
    assert copies.dispersion.sigma2.variance == exactly(alone.dispersion.sigma2.variance)
    assert copies.dispersion.tasks_needed() == exactly(alone.dispersion.tasks_needed())


def test_intervals_hold_where_families_differ_in_size():
    """Half of the tasks are one family with equal losses; each other task is its own family.

    The table has a row for each of the 2 x 51 possible results of a person. So the chance that an
    interval misses is computed without simulation.
    """
    L = np.zeros((102, 100))
    for large, others in np.ndindex(2, 51):
        L[51 * large + others] = np.repeat([large, 1, 0], [50, others, 50 - others])
    people = of_losses(L, task_families=[0] * 50 + list(range(1, 51))).people
    for true in (0.0035, 0.01, 0.1, 0.5):
        chance = np.outer([1 - true, true], binom.pmf(range(51), 50, true)).ravel()
        missed = (people.all_low > true) | (people.all_high < true)
        assert chance[missed].sum() <= 0.05 / 102


def test_cells_left_out_leave_no_cochran():
    seen = np.arange(24).reshape(4, 6) != 7
    assert np.isnan(of_losses(A, observed=seen).exchangeability.q)


def test_blocks_of_people():
    """The first block has losses of 0 and 1, a later one has chances; both have blanks."""
    random = np.random.default_rng(0)
    L, W = random.integers(0, 2, size=(1100, 1000)).astype(float), random.random((1100, 1000)) < 0.5
    L[1050] = random.random(1000)
    found = of_losses(L, observed=W)
    np.testing.assert_array_equal(found.people.tasks, W.sum(axis=1))
    mine = np.sum(L, axis=1, where=W) / W.sum(axis=1)
    np.testing.assert_allclose(found.people.rate, mine, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("seed", "m"), [(1, 10), (4, 10), (2, 11)])
def test_random_flips_are_near_all_flips(seed, m):
    random = np.random.default_rng(seed)
    L = np.clip(random.random((6, m)) + 0.25 * random.random((6, 1)), 0, 1)
    found = of_losses(L, random_state=seed)
    U, at_least, total = flip_test(L, whole(L))
    p = at_least / total
    assert 0.02 < p < 0.5  # else the case shows little
    assert not found.chance.enumerated
    assert found.chance.statistic == exactly(U)
    assert found.chance.flipped.size == 999
    assert found.chance.p == (1 + np.sum(found.chance.flipped >= U - 1e-12)) / 1000
    assert abs(found.chance.p - p) < 4 * sqrt(p * (1 - p) / 999) + 1e-3
    assert found.curve.floor[0] == pytest.approx(floor(L, whole(L), 0.0), rel=0.2)
    assert of_losses(L, random_state=seed + 1).chance.p != found.chance.p


@pytest.mark.parametrize("m", [999, 1001])
def test_both_ways_to_flip_many_tasks(m):
    """Below a thousand tasks a Gram matrix is used, above it the table; people span blocks."""
    random = np.random.default_rng(m)
    kind = random.integers(0, 2, size=(520, 1))
    hard = np.where(kind, random.random(m), random.random(m))
    L = 1.0 * (random.random((520, m)) < 0.8 * hard + 0.01 * kind)
    W = random.random((520, m)) < 0.8
    W[0] = False
    found = of_losses(L, observed=W)
    rated = W.any(axis=1)
    each = np.sum(L * W, axis=1, where=W)[rated] / W.sum(axis=1)[rated]
    Z = (W * (L - each.mean()))[rated] / W.sum(axis=1)[rated, None]
    R = Z - Z.mean(axis=0)
    G = R.T @ R
    np.fill_diagonal(G, 0.0)
    U = G.sum()
    assert found.chance.statistic == exactly(U)
    deviation = sqrt(2 * np.sum(G**2))
    assert abs(found.chance.flipped.mean()) < 5 * deviation / sqrt(999)
    assert found.chance.flipped.std() == pytest.approx(deviation, rel=0.2)
    assert found.chance.p == (1 + np.sum(found.chance.flipped >= U)) / 1000
    signs = random.choice([-1.0, 1.0], size=(40, m))
    chance = np.mean([alpha_of_beta(R @ s, 0.1)[0] for s in signs])
    assert found.curve.at(0.1)["floor"] == pytest.approx(chance, rel=0.1)
    n = len(Z)
    column = np.sum(Z.mean(axis=0) ** 2) * m / (m - 1)
    variance = each.var(ddof=1) / n + column - np.sum(Z**2) / n**2
    assert found.mean.variance == exactly(variance)
