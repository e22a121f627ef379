"""The audit's statistics, judged by cases known exactly, by plain loops and by others' code."""

from math import inf, nan, sqrt

import numpy as np
import pytest
from audit_by_hand import (
    alpha_of_beta,
    beta_of_alpha,
    certificate,
    chebyshev_cap,
    clopper_pearson,
    cochran_q,
    counted,
    denoised_alpha,
    flip_test,
    flipped_columns,
    floor,
    jackknife,
    kl_interval,
    losses,
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
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from statsmodels.stats.contingency_tables import cochrans_q

from averagefair import Verdict, audit

A = np.array([[1, 1, 0, 1, 0, 0], [0, 1, 0, 0, 0, 1], [1, 1, 1, 1, 0, 0], [0, 0, 0, 1, 0, 0]])
B = np.array([[1, 1, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]])
FIVE = (0.10, 0.12, 0.15, 0.40, 0.11)
ADDITIVE = np.add.outer([0.1, 0.2, 0.3], [0.0, 0.2, 0.4, 0.6])
RATES = ("error", "false_positive", "false_negative")
BLANKS = ("complete", "blank labels", "observed")


def of_losses(L, **options):
    """Audit a table of losses: where every label is 0, the chance of a 1 is the loss."""
    return audit(np.zeros(np.shape(L)), L, **options)


def exactly(value):
    return pytest.approx(value, rel=0, abs=1e-9, nan_ok=True)


def nearly(value):
    return pytest.approx(value, rel=0, abs=1e-6)


def whole(L):
    return np.ones(np.shape(L), dtype=bool)


def drawn(seed, rate, blanks, chances):
    """Draw a small table: its labels, decisions and mask, and the losses that count.

    With blanks, one person has no cell, one has a single one, and a task has nobody.
    """
    random = np.random.default_rng(seed)
    n, m = random.integers(4, 8, size=2)
    labels = random.integers(0, 2, size=(n, m)).astype(float)
    tilt = random.random((n, 1)) * random.random(m)
    decisions = random.random((n, m)) if chances else (random.random((n, m)) < tilt).astype(float)
    options, seen = {}, None
    if blanks != "complete":
        seen = random.random((n, m)) < 0.8
        seen[0], seen[1], seen[:, 0] = False, False, False
        seen[1, 2] = True
    if blanks == "blank labels":
        labels[~seen] = np.nan
    if blanks == "observed":
        options["observed"] = seen
        labels[0, 0] = nan
    W = counted(labels, rate, seen)
    return labels, decisions, options, losses(labels, decisions), W


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
    apart = found.spread
    assert apart.sigma2.value == exactly(1 / 90)
    assert apart.sigma == exactly(sqrt(1 / 90))
    assert apart.reliability == exactly(0.24)
    assert apart.tasks_needed(0.8) == exactly(6 * 4 * 0.76 / 0.24)
    assert apart.sigma2.people_variance == pytest.approx(0.0020987654, abs=1e-10)
    assert apart.sigma2.tasks_variance == pytest.approx(0.0029766804, abs=1e-10)
    assert found.mean.value == exactly(10 / 24)
    assert found.mean.variance == pytest.approx(0.0167245370, abs=1e-10)
    half = 2.5705818356363146 * sqrt(0.0167245370)  # t of 5 degrees, both sides 2.5%
    assert (found.mean.low, found.mean.high) == (nearly(10 / 24 - half), nearly(10 / 24 + half))
    assert found.chance.p == 32 / 64
    assert found.chance.enumerated
    assert found.chance.smallest == 2**-5


def test_table_B():
    found = of_losses(B, alpha=0.125, beta=1 / 3)
    assert found.chance.statistic == exactly(1 / 6)
    assert found.chance.p == 4 / 16
    assert found.spread.sigma2.value == exactly(1 / 9)
    window = found.alpha_at(1 / 3)
    assert (window.width / 2, window.middle) == (exactly(0.125), exactly(0.875))
    row = found.curve.at(1 / 3)
    assert (row["alpha"], row["common_rate"]) == (exactly(0.125), exactly(0.875))
    assert row["floor"] == exactly(0.0625)
    assert found.answer.observed_beta == exactly(1 / 3)
    assert found.answer.met_as_observed


def test_five_rates():
    found = of_losses(np.repeat(np.reshape(FIVE, (5, 1)), 4, axis=1))
    assert found.alpha_at(0).width / 2 == exactly(0.15)
    assert found.alpha_at(0.2).width / 2 == exactly(0.025)
    assert found.alpha_at(0.2).middle == exactly(0.125)
    assert [found.beta_at(a) for a in (0.025, 0.02, 0)] == [exactly(b) for b in (0.2, 0.4, 0.8)]


def test_additive_table_has_no_noise():
    found = of_losses(ADDITIVE)
    assert found.spread.sigma2.value == exactly(0.01)
    assert found.spread.reliability == exactly(1)
    assert found.spread.tasks_needed() == exactly(0)


def test_identity_has_a_negative_estimate():
    found = of_losses(np.eye(4))
    assert found.spread.sigma2.value == exactly(-1 / 12)
    assert found.spread.sigma == 0
    assert (found.spread.sigma2.low, found.chance.p) == (0, 1)
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


def by_family(L, W, mean, cells, families):
    """Z added up within families, of those with a rate: shape (people, families)."""
    Z = np.where(W, (np.nan_to_num(L) - mean) / np.maximum(cells, 1)[:, None], 0.0)[cells > 0]
    there = [f for f in dict.fromkeys(families) if any(W[:, np.array(families) == f].ravel())]
    return np.array([Z[:, [g == f for g in families]].sum(axis=1) for f in there]).T


def assert_mean(found, L, W, families):
    E, cells = rates(L, W)
    np.testing.assert_allclose(found.individual_rates, E, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found.people.tasks, cells)
    mean, variance = mean_and_variance(L, W)
    assert found.mean.value == exactly(mean)
    Z = by_family(L, W, mean, cells, families)
    n, k = Z.shape
    if len(set(families)) < len(families):
        column = np.sum(Z.mean(axis=0) ** 2) * k / (k - 1)
        variance = np.nanvar(E, ddof=1) / n + column - np.sum(Z**2) / n**2
    if variance <= 0:  # the cells as draws of their own
        variance = np.sum(Z**2) / n**2
    half = student.ppf(0.5 + found.confidence / 2, k - 1) * sqrt(variance)
    assert found.mean.variance == exactly(variance)
    assert (found.mean.low, found.mean.high) == (exactly(mean - half), exactly(mean + half))


def assert_curve(found, L, W, families):
    E, _ = rates(L, W)
    for beta in (0.0, 0.2, 1 / 3, 0.5, 0.9):
        alpha, middle = alpha_of_beta(E, beta)
        row, window = found.curve.at(beta), found.alpha_at(beta)
        assert row["beta"] == beta
        assert row["alpha"] == window.width / 2 == exactly(alpha)
        if len(np.unique(np.nan_to_num(L))) > 2:  # counts tie
            assert row["common_rate"] == window.middle == exactly(middle)
        assert row["floor"] == exactly(floor(L, W, beta, families))
        upper = found.spread.upper
        cap = nan if np.isnan(upper) else chebyshev_cap(upper, beta)
        assert row["cap"] == exactly(cap)
    for alpha in (0.0, 0.05, 0.125, 0.3, 0.5):
        assert found.beta_at(alpha) == exactly(beta_of_alpha(E, alpha))


def assert_spread(found, L, W):
    apart, value = found.spread, sigma2(L, W)
    person, task, f, g = jackknife(L, W)
    judged = people_with(W, 2)
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
        for r in (0.5, 0.8):
            assert apart.tasks_needed(r) == pytest.approx(tasks_needed(L, W, r), rel=1e-9)
    for beta in (0.0, 0.2, 1 / 3, 0.5):
        assert found.curve.at(beta)["denoised"] == exactly(denoised_alpha(L, W, beta))


def assert_bounds(found, value, error, units):
    half = student.ppf(0.5 + found.confidence / 2, units - 1) * error
    estimate = found.spread.sigma2
    assert estimate.low == exactly(max(0.0, value - half))
    assert estimate.high == exactly(max(0.0, value + half))
    above = value + student.ppf(found.confidence, units - 1) * error
    assert found.spread.upper == exactly(sqrt(above) if above > 0 else nan)


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
    assert found.chance.flipped.mean() == exactly(0)  # over all flips signs cancel


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


def sigma2_of_family_weights(L, W, families, weights):
    """The de-noised variance when every family has a weight: E_i moves, and D_i as m_i squared."""
    M = np.array([W[:, families == f].sum(axis=1) for f in range(len(weights))]).T
    T = np.array([np.where(W, L, 0)[:, families == f].sum(axis=1) for f in range(len(weights))]).T
    k = (M > 0).sum(axis=1)
    M, T, k = M[k >= 2], T[k >= 2], k[k >= 2]
    n, m = len(M), M @ weights
    E = T @ weights / m
    z = weights * (T - M * E[:, None]) / m[:, None] * np.sqrt(k / (k - 1))[:, None]
    C = z.sum(axis=0)
    return (np.sum((E - E.mean()) ** 2) - np.sum(z**2) + C @ C / n) / (n - 1)


@pytest.mark.parametrize(("seed", "rate", "blanks", "chances"), TABLES[::3])
def test_families_by_hand(seed, rate, blanks, chances):
    labels, decisions, options, L, W = drawn(100 + seed, rate, blanks, chances)
    families = np.array([0, 1, 1, 2, 0, 2, 3][: W.shape[1]])
    names = [f"kind {f}" for f in families]
    options |= {"rate": rate, "alpha": 0.1, "beta": 1 / 3}
    found = audit(labels, decisions, task_families=names, **options)
    assert found.tasks.family == tuple(names)
    assert_mean(found, L, W, families.tolist())
    assert_flips(found, L, W, families)
    assert_curve(found, L, W, families)
    value = sigma2_by_family(L, W, families)
    apart = found.spread
    assert apart.sigma2.value == exactly(value)
    if not np.isnan(value):
        k = families.max() + 1
        f = slopes(lambda weights: sigma2_of_family_weights(L, W, families, weights), k)
        np.testing.assert_allclose(apart.task_influence, f, rtol=0, atol=1e-7)
        np.testing.assert_allclose(found.tasks.influence, f[families], rtol=0, atol=1e-7)
        tasks = np.sum(apart.task_influence**2) * apart.units / (apart.units - 1)
        assert apart.sigma2.tasks_variance == exactly(tasks)
        assert_bounds(found, value, sqrt(apart.sigma2.variance), apart.units)
    single = audit(labels, decisions, task_families=range(W.shape[1]), **options)
    alone = audit(labels, decisions, **options)
    assert single.spread.sigma2.value == exactly(alone.spread.sigma2.value)
    assert single.spread.sigma2.people_variance == exactly(alone.spread.sigma2.people_variance)
    assert single.mean.variance == exactly(alone.mean.variance)
    assert single.chance.p == alone.chance.p


def test_a_family_of_copies_is_one_task_to_a_person():
    once = np.array([[0.2, 0.9], [0.5, 0.4], [0.1, 0.0]])
    alone = of_losses(once)
    copies = of_losses(np.repeat(once, 5, axis=1), task_families=list("aaaaabbbbb"))
    for name in ("low", "high", "all_low", "all_high"):
        assert getattr(copies.people, name) == exactly(getattr(alone.people, name))
    assert copies.spread.sigma2.variance == exactly(alone.spread.sigma2.variance)
    assert copies.spread.tasks_needed() == exactly(alone.spread.tasks_needed())


@pytest.mark.parametrize(("seed", "m"), [(0, 10), (1, 11), (3, 10)])
def test_random_flips_are_near_all_flips(seed, m):
    random = np.random.default_rng(seed)
    L = np.clip(random.random((6, m)) + 0.25 * random.random((6, 1)), 0, 1)
    found = of_losses(L, random_state=seed)
    U, at_least, total = flip_test(L, whole(L))
    p = at_least / total
    assert 0.02 < p < 0.5  # else the case tells little
    assert not found.chance.enumerated
    assert found.chance.statistic == exactly(U)
    assert found.chance.flipped.size == 999
    assert found.chance.p == (1 + np.sum(found.chance.flipped >= U - 1e-12)) / 1000
    assert abs(found.chance.p - p) < 4 * sqrt(p * (1 - p) / 999) + 1e-3
    assert found.curve.floor[0] == pytest.approx(floor(L, whole(L), 0.0), rel=0.2)
    assert of_losses(L, random_state=seed + 1).chance.p != found.chance.p


@pytest.mark.parametrize("m", [999, 1001])
def test_both_ways_to_flip_many_tasks(m):
    """A Gram matrix below a thousand tasks, the table itself above; more people than a block."""
    random = np.random.default_rng(m)
    kind = random.integers(0, 2, size=(520, 1))
    hard = np.where(kind, random.random(m), random.random(m))
    L = 1.0 * (random.random((520, m)) < 0.8 * hard + 0.01 * kind)
    W = random.random((520, m)) < 0.8
    W[0] = False
    found = of_losses(L, observed=W)
    R = np.array(flipped_columns(L, W))
    G = R @ R.T
    np.fill_diagonal(G, 0.0)
    U = G.sum()
    assert found.chance.statistic == exactly(U)
    deviation = sqrt(2 * np.sum(G**2))
    assert abs(found.chance.flipped.mean()) < 5 * deviation / sqrt(999)
    assert found.chance.flipped.std() == pytest.approx(deviation, rel=0.2)
    assert found.chance.p == (1 + np.sum(found.chance.flipped >= U)) / 1000
    signs = random.choice([-1.0, 1.0], size=(40, m))
    chance = np.mean([alpha_of_beta(s @ R, 0.1)[0] for s in signs])
    assert found.curve.at(0.1)["floor"] == pytest.approx(chance, rel=0.1)
    assert found.mean.variance == exactly(mean_and_variance(L, W)[1])


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
            said = found.certificate(alpha, kappa=kappa)
            width = 0.2 if alpha is None else alpha
            low, high = certificate(*zip(*each, strict=True), 300, width, kappa, delta)
            assert said.alpha == width
            assert (said.beta_low, said.beta_high) == (exactly(max(0, low)), exactly(min(1, high)))
        assert 0 < said.beta_low < 1 / 3
        assert 1 / 3 < found.certificate().beta_high < 1
        assert f"{found.certificate().beta_high:.3f}" in found.certificate().statement()


def spread_about(middles, m, n=200, seed=0):
    random = np.random.default_rng(seed)
    return (random.random((n, m)) < np.resize(middles, n)[:, None]).astype(float)


@pytest.mark.parametrize(
    ("L", "alpha", "beta", "verdict", "why"),
    [
        (spread_about([0.5], 3000, n=6), 0.1, 0.0, Verdict.MET, "everybody's interval"),
        (spread_about([0.1, 0.9], 200), 0.1, 0.1, Verdict.NOT_MET, "their intervals"),
        (spread_about([0.5], 60), 0.15, 0.5, Verdict.MET, "true spread"),
        (spread_about([0.35, 0.65], 60), 0.05, 0.0, Verdict.NOT_MET, "standard deviation"),
        (spread_about([0.5], 60), 0.05, 0.0, Verdict.OPEN, "allow a small beta"),
        (spread_about([0.45, 0.55], 30), 0.05, 0.2, Verdict.OPEN, "more tasks"),
    ],
)
def test_answers(L, alpha, beta, verdict, why):
    found = of_losses(L, alpha=alpha, beta=beta)
    answer, E = found.answer, L.mean(axis=1)
    assert (answer.verdict, why in answer.reason) == (verdict, True)
    assert answer.observed_beta == exactly(beta_of_alpha(E, alpha))
    assert answer.observed_alpha == exactly(alpha_of_beta(E, beta)[0])
    assert answer.met_as_observed == (answer.observed_beta <= beta)
    inside = np.abs(E - answer.common_rate) <= alpha + 1e-9
    assert inside.mean() == exactly(1 - answer.observed_beta)
    # The reasons, once more: each half of 1 - confidence pays for one of them.
    each = np.array([clopper_pearson(k, L.shape[1], 0.025 / len(L)) for k in L.sum(axis=1)])
    best = max(np.sum((low <= each[:, 0]) & (each[:, 1] <= low + 2 * alpha)) for low in each[:, 0])
    met = max(np.sum((each[:, 0] <= x + 2 * alpha) & (each[:, 1] >= x)) for x in each[:, 1])
    s = found.spread.sigma2
    yes = 1 - best / len(L) <= beta or s.high <= beta * alpha**2
    no = 1 - met / len(L) > beta or s.low > (1 - beta) * alpha**2 + beta
    assert (yes, no) == (verdict is Verdict.MET, verdict is Verdict.NOT_MET)
    assert answer.verdict.value in found.summary()
    sure = [clopper_pearson(k, L.shape[1], 0.05 / len(L))[0] for k in L.sum(axis=1)]
    np.testing.assert_array_equal(found.people.flagged, sure > answer.common_rate + alpha)


seeds = st.integers(0, 2**32 - 1)


def some_table(seed):
    rate, blanks = RATES[seed % 3], BLANKS[seed // 3 % 3]
    labels, decisions, options, L, W = drawn(seed, rate, blanks, chances=seed % 2 == 0)
    Z = by_family(L, W, mean_and_variance(L, W)[0], rates(L, W)[1], list(range(W.shape[1])))
    assume(Z.size and np.ptp(Z, axis=0).max() > 1e-9)
    return labels, decisions, options | {"rate": rate, "alpha": 0.1, "beta": 0.2}


def numbers(found):
    """All that no order of people or tasks may change."""
    line = found.curve
    upper = inf if np.isnan(found.spread.upper) else found.spread.upper
    return np.concatenate(
        [
            [found.mean.value, found.mean.low, found.mean.high, found.chance.p],
            [found.chance.statistic, found.spread.sigma2.value, found.spread.sigma2.high],
            [found.spread.sigma2.people_variance, found.spread.sigma2.tasks_variance, upper],
            [found.answer.observed_beta, found.answer.observed_alpha, found.people.flagged.sum()],
            np.concatenate([line.alpha, line.floor, line.denoised, np.sort(found.people.rank)]),
            [found.certificate().beta_low, found.certificate().beta_high],
        ]
    )


@settings(max_examples=40, deadline=None)
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
    for name in ("rate", "tasks", "low", "high", "all_low", "all_high", "rank", "flagged"):
        one, other = getattr(found.people, name)[rows], getattr(moved.people, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    for name in ("people", "rate", "influence"):
        one, other = getattr(found.tasks, name)[columns], getattr(moved.tasks, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_what_is_not_observed_means_nothing(seed):
    labels, decisions, options = some_table(seed)
    found = audit(labels, decisions, **options)
    hidden = np.isnan(labels) | ~options.pop("observed", True)
    random = np.random.default_rng(seed)
    other = np.where(hidden, random.choice([nan, -3.0, 7.0, 0.5], size=labels.shape), decisions)
    anew = audit(np.where(hidden, nan, labels), other, **options)
    assert anew.to_dict() == found.to_dict()


@settings(max_examples=25, deadline=None)
@given(seed=seeds, right=st.booleans())
def test_a_task_that_everybody_gets_right_or_wrong(seed, right):
    """Nobody moves against anybody, but all rates move: U shrinks by (m/(m+1))^2, p stays."""
    random = np.random.default_rng(seed)
    n, m = random.integers(3, 8, size=2)
    L = random.random((n, m))
    found = of_losses(L)
    more = of_losses(np.column_stack([L, np.full(n, 0.0 if right else 1.0)]))
    shrunk = m / (m + 1)
    assert found.spread.sigma2.value == exactly(found.chance.statistic * m / ((m - 1) * (n - 1)))
    assert more.chance.statistic == exactly(found.chance.statistic * shrunk**2)
    assert more.chance.p == found.chance.p
    np.testing.assert_allclose(more.curve.floor, found.curve.floor * shrunk, rtol=0, atol=1e-9)
    np.testing.assert_allclose(more.curve.alpha, found.curve.alpha * shrunk, rtol=0, atol=1e-9)
    assert more.spread.sigma2.value == exactly(found.spread.sigma2.value * (m - 1) / (m + 1))
    assert more.mean.value == exactly((found.mean.value * m + (not right)) / (m + 1))
