"""Tests of the plain-loop audit: known cases, other libraries' code, and proof that it can fail."""

from itertools import product
from math import inf, log, sqrt

import numpy as np
import pytest

from tests.support.audit_by_hand import (
    alpha_of_beta,
    beta_of_alpha,
    certificate,
    chebyshev_cap,
    clopper_pearson,
    cochran_q,
    counted,
    denoised_alpha,
    flip_test,
    floor,
    jackknife,
    jackknife_numerically,
    kl,
    kl_interval,
    losses,
    mean_and_variance,
    person_jackknife_numerically,
    rates,
    reliability,
    sigma2,
    sigma2_by_family,
    tasks_needed,
    variance_of_rates,
    wilson,
)

A = np.array([[1, 1, 0, 1, 0, 0], [0, 1, 0, 0, 0, 1], [1, 1, 1, 1, 0, 0], [0, 0, 0, 1, 0, 0]])
B = np.array([[1, 1, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]])
FIVE = (0.10, 0.12, 0.15, 0.40, 0.11)
ADDITIVE = np.add.outer([0.1, 0.2, 0.3], [0.0, 0.2, 0.4, 0.6])


def whole(L):
    """Every cell counts."""
    return np.ones(np.shape(L), dtype=bool)


def printed(value, digits):
    """Return a number that is known to this many decimals."""
    return pytest.approx(value, rel=0, abs=0.5 * 10.0**-digits)


def exactly(value):
    return pytest.approx(value, rel=0, abs=1e-9)


def holed(seed, n=7, m=6, least=2, share=0.6):
    """Return random losses, and random counted cells; everybody has some."""
    random = np.random.default_rng(seed)
    L, W = random.random((n, m)), random.random((n, m)) < share
    W[:, :least] = True
    L[~W] = np.nan
    return L, W


def test_table_A():
    W = whole(A)
    Q, df, p = cochran_q(A)
    assert (Q, df) == (exactly(3.75), 3)
    assert p == printed(0.2897557812, 10)
    assert sigma2(A, W) == exactly(1 / 90)
    assert reliability(A, W) == exactly(0.24)
    person, task, _, _ = jackknife(A, W)
    assert person == printed(0.0020987654, 10)
    assert task == printed(0.0029766804, 10)
    mean, variance = mean_and_variance(A, W)
    assert mean == exactly(10 / 24)
    assert variance == printed(0.0167245370, 10)
    assert flip_test(A, W)[1:] == (32, 64)


def test_table_B():
    W = whole(B)
    U, at_least, total = flip_test(B, W)
    assert U == exactly(1 / 6)
    assert (at_least, total) == (4, 16)
    assert sigma2(B, W) == exactly(1 / 9)
    assert alpha_of_beta(rates(B, W)[0], 1 / 3) == (exactly(0.125), exactly(0.875))
    assert floor(B, W, 1 / 3) == exactly(0.0625)


def test_five_rates():
    assert alpha_of_beta(FIVE, 0)[0] == exactly(0.15)
    assert alpha_of_beta(FIVE, 0.2) == (exactly(0.025), exactly(0.125))
    assert [beta_of_alpha(FIVE, a) for a in (0.025, 0.02, 0)] == [
        exactly(0.2),
        exactly(0.4),
        exactly(0.8),
    ]


def test_additive_table_has_no_noise():
    assert sigma2(ADDITIVE, whole(ADDITIVE)) == exactly(0.01)
    assert reliability(ADDITIVE, whole(ADDITIVE)) == exactly(1)
    assert tasks_needed(ADDITIVE, whole(ADDITIVE), 0.8) == exactly(0)


def test_identity_has_a_negative_estimate():
    L = np.eye(4)
    assert sigma2(L, whole(L)) == exactly(-1 / 12)
    assert flip_test(L, whole(L))[1:] == (16, 16)
    assert denoised_alpha(L, whole(L), 0) == 0
    assert np.isnan(reliability(L, whole(L)))


@pytest.mark.parametrize(
    ("interval", "low", "high"),
    [
        (wilson(3, 20, 0.95), 0.0523687, 0.3604189),
        (clopper_pearson(3, 20, 0.05), 0.0320709, 0.3789268),
        (kl_interval(3 / 20, 20, 0.05), 0.0195274, 0.4324042),
    ],
)
def test_three_of_twenty(interval, low, high):
    assert interval == (printed(low, 7), printed(high, 7))


def test_cells_and_losses_by_rate():
    labels = [[0, 1, np.nan], [1, 1, 0]]
    assert counted(labels, "error").tolist() == [[True, True, False], [True, True, True]]
    assert counted(labels, "false_positive").tolist() == [
        [True, False, False],
        [False, False, True],
    ]
    assert counted(labels, "false_negative").tolist() == [[False, True, False], [True, True, False]]
    seen = [[True, False, True], [True, True, False]]
    assert counted(labels, "error", seen).tolist() == [[True, False, False], [True, True, False]]
    L = losses(labels, [[0.25, 0.25, 1], [0, 1, 1]])
    np.testing.assert_array_equal(L, [[0.25, 0.75, np.nan], [1, 0, 1]])
    E, cells = rates(L, counted(labels, "false_positive", seen))
    np.testing.assert_array_equal(E, [0.25, np.nan])
    assert cells.tolist() == [1, 0]


def test_cochran_agrees_with_statsmodels():
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    random = np.random.default_rng(0)
    for L in [A, B, np.eye(4), *(random.random((9, 8, 5)) < 0.4)]:
        theirs = tables.cochrans_q(np.asarray(L, dtype=float).T)
        Q, df, p = cochran_q(L)
        assert Q == pytest.approx(theirs.statistic, rel=1e-12)
        assert p == pytest.approx(theirs.pvalue, rel=1e-9)
        assert df == theirs.df


def test_wilson_and_clopper_pearson_agree_with_scipy():
    from scipy.stats import binomtest

    for k, m in [(0, 7), (1, 7), (7, 7), (3, 20), (19, 40)]:
        test = binomtest(k, m)
        assert wilson(k, m, 0.9) == pytest.approx(
            tuple(test.proportion_ci(0.9, "wilson")), abs=1e-12
        )
        assert clopper_pearson(k, m, 0.1) == pytest.approx(
            tuple(test.proportion_ci(0.9, "exact")), abs=1e-9
        )


@pytest.mark.parametrize(("rate", "m"), [(0.15, 20), (0.001, 1), (0.999, 1), (0.37, 5), (0.5, 300)])
def test_kl_interval_is_where_the_divergence_is_spent(rate, m):
    ends = kl_interval(rate, m, 0.05)
    assert 0 <= ends[0] < rate < ends[1] <= 1
    for end in ends:
        assert end in (0, 1) or m * kl(rate, end) == pytest.approx(log(40), rel=1e-9)
    mirrored = kl_interval(1 - rate, m, 0.05)
    assert mirrored == pytest.approx((1 - ends[1], 1 - ends[0]), abs=1e-12)


def test_kl_interval_without_any_loss_is_known():
    assert kl_interval(0.0, 10, 0.05) == (0, exactly(1 - 40**-0.1))
    assert kl_interval(1.0, 10, 0.05) == (exactly(40**-0.1), 1)


def test_sigma2_is_the_anova_estimate_on_complete_tables():
    L = np.random.default_rng(1).random((6, 5))
    n, m = L.shape
    rows, columns = L.mean(axis=1, keepdims=True), L.mean(axis=0, keepdims=True)
    msr = m * ((rows - L.mean()) ** 2).sum() / (n - 1)
    mse = ((L - rows - columns + L.mean()) ** 2).sum() / ((n - 1) * (m - 1))
    assert sigma2(L, whole(L)) == pytest.approx((msr - mse) / m, abs=1e-14)


def test_sigma2_is_unbiased_on_complete_tables():
    # All ways to draw 3 people and 2 tasks, with replacement, from a population of 3 and 4.
    population = np.random.default_rng(2).random((3, 4))
    found = [
        sigma2(population[np.ix_(people, tasks)], whole(np.ones((3, 2))))
        for people in product(range(3), repeat=3)
        for tasks in product(range(4), repeat=2)
    ]
    assert np.mean(found) == pytest.approx(population.mean(axis=1).var(), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_jackknife_is_the_slope_of_sigma2(seed):
    L, W = holed(seed)
    _, _, f, g = jackknife(L, W)
    np.testing.assert_allclose(f, jackknife_numerically(L, W), rtol=0, atol=1e-9)
    np.testing.assert_allclose(g, person_jackknife_numerically(L, W), rtol=0, atol=1e-9)
    assert f.sum() == exactly(0)  # sigma2 does not change when all weights grow by a factor
    assert g.sum() == exactly(0)


def test_jackknife_of_A_is_the_slope_of_sigma2():
    _, _, f, g = jackknife(A, whole(A))
    np.testing.assert_allclose(f, jackknife_numerically(A, whole(A)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(g, person_jackknife_numerically(A, whole(A)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_every_task_its_own_family_changes_nothing(seed):
    L, W = holed(seed)
    assert sigma2_by_family(L, W, "abcdef") == pytest.approx(sigma2(L, W), abs=1e-14)
    assert flip_test(L, W, "abcdef") == flip_test(L, W)
    assert floor(L, W, 0.2, "abcdef") == floor(L, W, 0.2)


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (2, 2, 2), (1, 2, 4), (1, 1, 1, 3)])
def test_right_on_average_over_all_draws_of_families(sizes):
    kinds = np.array([[0.0, 0.9, 0.3], [1.0, 0.2, 0.5], [0.4, 0.6, 1.0]])  # kinds of task x people
    families = np.repeat(np.arange(len(sizes)), sizes)
    everything = np.ones((3, len(families)), dtype=bool)
    draws = product(kinds, repeat=len(sizes))
    found = [sigma2_by_family(np.array(draw)[families].T, everything, families) for draw in draws]
    assert np.mean(found) == pytest.approx(np.var(kinds.mean(axis=0), ddof=1), abs=1e-12)


def test_a_task_copied_within_its_family_changes_nothing():
    L, W = holed(5, m=4)
    twice, marks = np.repeat(L, 2, axis=1), np.repeat(W, 2, axis=1)
    assert sigma2_by_family(twice, marks, "aabbccdd") == pytest.approx(sigma2(L, W), abs=1e-14)
    assert flip_test(twice, marks, "aabbccdd")[1:] == flip_test(L, W)[1:]
    assert flip_test(twice, marks, "aabbccdd")[0] == pytest.approx(flip_test(L, W)[0], abs=1e-14)
    assert floor(twice, marks, 0.2, "aabbccdd") == pytest.approx(floor(L, W, 0.2), abs=1e-14)
    assert abs(sigma2(twice, marks) - sigma2(L, W)) > 1e-3


def test_flipping_every_sign_gives_the_same():
    for seed in range(4):
        _, at_least, total = flip_test(*holed(seed))
        assert at_least % 2 == 0
        assert 2 <= at_least <= total == 64


def test_flips_of_no_sign_show_the_rates_themselves():
    L, W = holed(6, m=3, least=1)
    E, _ = rates(L, W)
    # One family only: its two signs show E - Ebar and its mirror image.
    assert floor(L, W, 0.3, "aaa") == exactly(alpha_of_beta(E, 0.3)[0])
    assert flip_test(L, W, "aaa") == (0, 2, 2)


def test_who_is_left_out():
    L, W = holed(7)
    more = np.vstack([L, np.full((1, 6), np.nan)])
    nothing = np.vstack([W, np.zeros((1, 6), dtype=bool)])
    for judge in (mean_and_variance, flip_test, sigma2, reliability):
        assert judge(more, nothing) == judge(L, W)
    assert floor(more, nothing, 0.2) == floor(L, W, 0.2)
    one = nothing.copy()
    one[-1, 0], more[-1, 0] = True, 0.9
    for judge in (sigma2, reliability, variance_of_rates):
        assert judge(more, one) == judge(L, W)
    assert mean_and_variance(more, one) != mean_and_variance(L, W)
    assert flip_test(more, one) != flip_test(L, W)
    wider = np.hstack([L, np.full((7, 1), np.nan)])
    empty = np.hstack([W, np.zeros((7, 1), dtype=bool)])
    assert flip_test(wider, empty) == flip_test(L, W)
    assert mean_and_variance(wider, empty) == mean_and_variance(L, W)
    assert jackknife(wider, empty)[:2] == jackknife(L, W)[:2]
    assert tasks_needed(wider, empty, 0.8) == tasks_needed(L, W, 0.8)


def test_reliability_tasks_and_shrinking_follow_from_each_other():
    W = whole(A)
    assert tasks_needed(A, W, 0.24) == exactly(6)
    assert tasks_needed(A, W, 0.8) == exactly(76)
    # If everybody has equally many cells, all rates shrink by the root of the reliability.
    assert denoised_alpha(A, W, 0) == exactly(0.25 * sqrt(0.24))
    assert tasks_needed([[1, 0, 0], [0, 1, 1]], whole(np.ones((2, 3))), 0.8) == inf
    L, W = holed(11, n=9, least=3)
    L = L / 2 + np.linspace(0, 0.5, 9)[:, None]
    assert 0 < sigma2(L, W) < variance_of_rates(L, W)
    assert 0 < denoised_alpha(L, W, 0.2) < alpha_of_beta(rates(L, W)[0], 0.2)[0]
    assert chebyshev_cap(0.1, 0.25) == exactly(0.2)
    assert chebyshev_cap(0.1, 0) == inf


def test_alpha_and_beta_undo_each_other():
    E = np.random.default_rng(9).random(11).round(2)
    for held in range(1, 12):
        alpha, middle = alpha_of_beta(E, 1 - held / 11)
        assert np.sum(np.abs(E - middle) <= alpha + 1e-12) >= held
        assert beta_of_alpha(E, alpha) <= 1 - held / 11 + 1e-12
        if alpha > 0:
            assert beta_of_alpha(E, alpha - 1e-9) > 1 - held / 11


def test_certificate_counts_intervals():
    low, high = [0.0, 0.1, 0.2, 0.7], [0.2, 0.3, 0.5, 0.9]
    spare = 0.01 + 2 * sqrt(log(4 / 0.05) / 8)
    # A window of width 0.3 holds the first two intervals and meets the first three.
    assert certificate(low, high, 4, 0.15, 0.01, 0.05) == (
        exactly(1 - 3 / 4 - spare),
        exactly(1 - 2 / 4 + spare),
    )
    # A window of width 0.7 holds three and meets all; one of width 0 holds none and meets three.
    assert certificate(low, high, 4, 0.35, 0.01, 0.05) == (
        exactly(0 - spare),
        exactly(1 - 3 / 4 + spare),
    )
    assert certificate(low, high, 4, 0, 0.01, 0.05) == (exactly(1 / 4 - spare), exactly(1 + spare))


def test_certificate_of_points_is_the_curve():
    spare = 0.01 + 2 * sqrt(log(4 / 0.05) / 10)
    for alpha in (0, 0.02, 0.025, 0.1, 0.15):
        beta = beta_of_alpha(FIVE, alpha)
        assert certificate(FIVE, FIVE, 5, alpha, 0.01, 0.05) == (
            exactly(beta - spare),
            exactly(beta + spare),
        )


JUDGES = {
    "mean": lambda L, W: mean_and_variance(L, W)[0],
    "variance of the mean": lambda L, W: mean_and_variance(L, W)[1],
    "alpha": lambda L, W: alpha_of_beta(rates(L, W)[0], 0.2)[0],
    "common rate": lambda L, W: alpha_of_beta(rates(L, W)[0], 0.2)[1],
    "beta": lambda L, W: beta_of_alpha(rates(L, W)[0], 0.25),
    "U": lambda L, W: flip_test(L, W)[0],
    "flips": lambda L, W: flip_test(L, W)[1],
    "U by family": lambda L, W: flip_test(L, W, "aabbcc")[0],
    "floor": lambda L, W: floor(L, W, 0.2),
    "sigma2": sigma2,
    "sigma2 by family": lambda L, W: sigma2_by_family(L, W, "aabbcc"),
    "person variance": lambda L, W: jackknife(L, W)[0],
    "task variance": lambda L, W: jackknife(L, W)[1],
    "numerical task variance": lambda L, W: (jackknife_numerically(L, W) ** 2).sum(),
    "numerical person variance": lambda L, W: (person_jackknife_numerically(L, W) ** 2).sum(),
    "reliability": reliability,
    "tasks needed": lambda L, W: tasks_needed(L, W, 0.8),
    "de-noised alpha": lambda L, W: denoised_alpha(L, W, 0.2),
}


@pytest.mark.parametrize("name", JUDGES)
def test_a_wrong_table_gives_another_number(name):
    judge = JUDGES[name]
    wrong = A.copy()
    wrong[2, 4] = 1
    assert abs(judge(A, whole(A)) - judge(wrong, whole(wrong))) > 1e-4
    fewer = whole(A)
    fewer[0, 2:] = fewer[3, 3] = False
    assert abs(judge(A, whole(A)) - judge(A, fewer)) > 1e-4


def test_the_other_judges_tell_wrong_from_right():
    wrong = A.copy()
    wrong[3, 4] = 1
    assert cochran_q(wrong)[0] != exactly(3.75)
    for interval in (wilson, clopper_pearson):
        assert interval(4, 20, 0.5) != pytest.approx(interval(3, 20, 0.5), abs=1e-3)
    assert kl_interval(0.2, 20, 0.05) != pytest.approx(kl_interval(0.15, 20, 0.05), abs=1e-3)
    assert kl_interval(0.15, 20, 0.025) != pytest.approx(kl_interval(0.15, 20, 0.05), abs=1e-3)
    right = certificate([0.1, 0.2], [0.3, 0.4], 2, 0.15, 0.01, 0.05)
    assert certificate([0.1, 0.2], [0.3, 0.4], 2, 0.16, 0.01, 0.05) == right
    assert certificate([0.1, 0.2], [0.3, 0.4], 2, 0.14, 0.01, 0.05) != right
    assert certificate([0.1, 0.2], [0.3, 0.5], 2, 0.15, 0.01, 0.05) != right
    assert counted([[0, 1]], "false_positive").tolist() != counted([[0, 1]], "error").tolist()
    assert losses([[0, 1]], [[1, 1]]).tolist() != losses([[0, 1]], [[1, 0]]).tolist()
    f = jackknife(*holed(0))[2]
    assert np.abs(f - jackknife_numerically(*holed(1))).max() > 1e-3
