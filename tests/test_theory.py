"""The paper's constants and bounds, recomputed here from its text."""

import dataclasses
import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from averagefair import theory
from averagefair.errors import InputError

alphas = st.floats(1e-3, 0.25)
nus = st.floats(1e-3, 1.0)
chances = st.floats(1e-6, 0.99)
shares = st.floats(1e-3, 1.0)
counts = st.integers(1, 10**6)


def paper(alpha, nu, n):
    return {
        "B": theory.dual_bound(alpha, nu),
        "eta": theory.step_size(alpha, nu),
        "T": theory.rounds(alpha, nu, n),
    }


def test_constants_by_hand():
    # alpha = 1/10, nu = 1/2: B = 2 * 10, (1 + 2 alpha)^2 = 1.44, 16 B^2 1.44 / nu^2 = 36864.
    assert theory.slack(0.1) == 0.2
    assert theory.dual_bound(0.1, 0.5) == 20
    assert theory.step_size(0.1, 0.5) == pytest.approx(0.5 / 115.2)
    assert theory.rounds(0.1, 0.5, 100) == math.ceil(36864 * math.log(201))
    assert theory.sparse_support(1000, 50, 0.1, 0.05) == math.ceil(50 * math.log(12_000_000))
    assert theory.rho_estimate_error(100, 1000) == pytest.approx(math.sqrt(math.log(100) / 2000))
    assert theory.rho_estimate_error(1, 1000) == 0


def test_regrets_by_hand():
    # B log(7) / (eta T) = 2 log(7) / 20 and eta B (1 + 2 alpha)^2 = 0.2 * 2 * 1.44.
    certain = 0.1 * math.log(7) + 0.576
    given = {"alpha": 0.1, "n": 3, "B": 2.0, "eta": 0.2, "T": 100}
    assert theory.auditor_regret(**given) == pytest.approx(certain)
    sampled = theory.auditor_regret(**given, m0=50, delta=0.5)
    assert sampled == pytest.approx(certain + 2 * math.sqrt(math.log(1200) / 100))
    sampled = theory.auditor_regret(**given, m0=50, delta=0.5, rho_hat_min=0.25)
    assert sampled == pytest.approx(certain + 16 * math.sqrt(math.log(4800) / 100))
    learner = theory.learner_regret(n=3, B=2.0, T=100, m0=50, delta=0.5, rho_tilde_min=0.25)
    assert learner == pytest.approx(32 * math.sqrt(math.log(4800) / 100))


def test_promises():
    def close(promise, *wanted):
        assert dataclasses.astuple(promise) == pytest.approx(wanted)

    close(theory.in_sample(0.05, 0.1, 0.01), 0.15, 0, 0.99, 0.2)
    close(theory.over_new_individuals(0.05, 0.02, 0.01), 0.25, 0.02, 0.95, None)
    close(theory.over_new_tasks(0.05, 0.01), 0.20, 0, 0.94, None)
    close(theory.over_new_tasks(0.05, 0.01, nu=0.1), 0.20, 0, 0.94, 0.2 + 1.05 * 0.1 / 24)
    close(theory.over_both(0.05, 0.02, 0.01), 0.30, 0.04, 0.88, None)
    close(theory.over_both(0.25, 0.9, 0.5), 1, 1, 0, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        theory.in_sample(0.05, 0.1, 0.01).share = 1.0


@given(alphas, nus)
def test_dual_bound_gives_three_alpha(alpha, nu):
    assert theory.slack(alpha) + (1 + 2 * nu) / theory.dual_bound(alpha, nu) == pytest.approx(
        3 * alpha
    )


@given(alphas, nus, counts)
def test_regret_without_sampling_is_half_nu_and_needs_every_round(alpha, nu, n):
    constants = paper(alpha, nu, n)
    regret = theory.auditor_regret(alpha=alpha, n=n, **constants)
    assert regret <= nu / 2 * (1 + 1e-12)
    assert regret == pytest.approx(nu / 2, rel=1e-3)
    constants["T"] -= 1
    assert theory.auditor_regret(alpha=alpha, n=n, **constants) > nu / 2 * (1 - 1e-12)


@given(alphas, nus, counts, chances)
def test_batches_bring_the_regret_to_nu(alpha, nu, n, delta):
    m0 = theory.tasks_per_round(alpha, nu, n, delta)
    constants = paper(alpha, nu, n)

    def regret(m0):
        return theory.auditor_regret(alpha=alpha, n=n, **constants, m0=m0, delta=delta)

    assert regret(m0) <= nu * (1 + 1e-12)
    assert regret(m0) == pytest.approx(nu, rel=1e-2)
    sampling = regret(m0 - 1) - theory.auditor_regret(alpha=alpha, n=n, **constants)
    assert sampling > nu / 2 * (1 - 1e-9)


@given(alphas, nus, counts, chances)
def test_new_tasks_move_a_rate_by_at_most_alpha(alpha, nu, n, delta):
    T = theory.rounds(alpha, nu, n)
    m0 = theory.tasks_needed(alpha, nu, n, delta) // T
    assert m0 == theory.tasks_per_round(alpha, nu, n, delta)
    assert 2 * math.sqrt(math.log(4 * n * T / delta) / (2 * m0)) <= alpha


@given(alphas, nus, counts, chances, st.none() | shares)
def test_the_error_over_new_tasks_is_within_the_excess_promised(alpha, nu, n, delta, rho_min):
    """2 nu in sample, plus what the learned and the best mapping change on new tasks."""
    T, m0 = theory.rounds(alpha, nu, n), theory.tasks_per_round(alpha, nu, n, delta, rho_min)
    learned = 2 * math.sqrt(math.log(4 * n * T / delta) / (2 * m0))
    best = math.sqrt(math.log(2 / delta) / (2 * m0 * T))
    promised = theory.over_new_tasks(alpha, delta, nu).error_excess
    assert 2 * nu + learned + best <= promised
    assert promised <= 2 * nu + 1.05 * nu * alpha
    # The best mapping, fair within alpha over all tasks, is feasible on the training tasks.
    assert math.sqrt(math.log(2 * n / delta) / (2 * m0 * T)) <= alpha


def test_the_papers_inequality_s3_fails_at_small_nu():
    """2 sqrt(log(4nT/delta) / (2 m0)) <= nu alpha, with the m0 that the paper's proof gives."""
    alpha, nu, n, delta = 0.05, 0.005, 200, 0.05
    B = (1 + 2 * nu) / alpha
    T = 16 * B**2 * (1 + 2 * alpha) ** 2 * math.log(2 * n + 1) / nu**2
    m0 = 2 * B**2 * math.log(2 * n * T / delta) / nu**2
    moved = 2 * math.sqrt(math.log(4 * n * T / delta) / (2 * m0))
    assert moved > nu * alpha * 1.001
    assert moved <= 1.05 * nu / B < alpha  # enough for the theorem's fairness part, and for ours


@given(alphas, nus, counts, chances, shares)
def test_false_positive_batches_bring_both_regrets_to_nu(alpha, nu, n, delta, rho_min):
    m0 = theory.tasks_per_round(alpha, nu, n, delta, rho_min)
    constants = paper(alpha, nu, n)
    B, T = constants["B"], constants["T"]

    worst = rho_min / 2
    learner = theory.learner_regret(n=n, B=B, T=T, m0=m0, delta=delta, rho_tilde_min=worst)
    auditor = theory.auditor_regret(
        alpha=alpha, n=n, **constants, m0=m0, delta=delta, rho_hat_min=worst
    )
    assert learner + auditor <= nu * (1 + 1e-12)
    assert learner + auditor == pytest.approx(nu, rel=1e-2)

    estimates = theory.rho_estimate_error(n, m0)
    shares_in_sample = math.sqrt(math.log(8 * n * T / delta) / (2 * m0))
    assert max(estimates, theory.rho_estimate_error(n, m0, delta)) <= shares_in_sample
    assert rho_min - shares_in_sample >= worst
    # T batches, and F_0 for the estimates.
    assert theory.tasks_needed(alpha, nu, n, delta, rho_min) == m0 * (T + 1)


@given(counts, st.integers(1, 1000), alphas, chances)
def test_sparse_support_meets_the_union_bound(n, m, alpha, delta):
    def failure(r):
        return math.log(2 * n * m) - 2 * r * alpha**2

    r = theory.sparse_support(n, m, alpha, delta)
    assert failure(r) <= math.log(delta / 6) + 1e-9
    assert failure(r - 1) > math.log(delta / 6) - 1e-9


@given(counts, counts, alphas, chances)
def test_draws_per_task_meet_the_union_bound(n, m, alpha, delta):
    def failure(r):
        return math.log(2 * n) - 2 * r * m * alpha**2

    r = theory.draws_per_task(n, m, alpha, delta)
    assert failure(r) <= math.log(delta) + 1e-9
    assert r == 1 or failure(r - 1) > math.log(delta) - 1e-9
    assert theory.draws_deviation(n, m, r, delta) <= alpha * (1 + 1e-12)
    assert r == 1 or theory.draws_deviation(n, m, r - 1, delta) > alpha * (1 - 1e-12)


@given(counts, counts, st.integers(1, 10**4), chances)
def test_the_deviation_of_draws_is_where_the_union_bound_reaches_delta(n, m, r, delta):
    moved = theory.draws_deviation(n, m, r, delta)
    assert moved == 1 or 2 * n * math.exp(-2 * r * m * moved**2) == pytest.approx(delta)
    assert moved < 1 or 2 * n * math.exp(-2 * r * m) >= delta * (1 - 1e-9)
    # Draws and tasks count alike.
    assert moved == pytest.approx(theory.draws_deviation(n, r * m, 1, delta))


def test_draws_by_hand():
    # log(400 / 0.05) / (400 * 0.03^2) = 24.96 and log(12 * 200^2 / 0.05) / (2 * 0.03^2) = 8931.6.
    assert theory.draws_per_task(200, 200, 0.03, 0.05) == 25
    assert theory.sparse_support(200, 200, 0.03, 0.05) == 8932
    # Draws that all tasks share are draws of a single task: they do not average out over tasks.
    assert theory.draws_per_task(200, 1, 0.03, 0.05) == math.ceil(math.log(8000) / 0.0018) == 4993
    assert theory.draws_deviation(200, 200, 1, 0.05) == pytest.approx(
        math.sqrt(math.log(8000) / 400)
    )
    assert theory.draws_deviation(10, 1, 1, 1e-9) == 1
    assert theory.draws_per_task(200, math.inf, 0.03, 0.05) == 1
    assert theory.draws_deviation(200, math.inf, 1, 0.05) == 0
    assert theory.draws_per_task(200, 12.5, 0.03, 0.05) == math.ceil(math.log(8000) / 12.5 / 0.0018)


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 8), st.integers(0, 10**6))
def test_effective_tasks_by_a_loop(n, m, seed):
    rng = np.random.default_rng(seed)
    counted, drawn = rng.integers(0, 2, size=(2, n, m)).astype(bool)
    b = rng.uniform(0.5, 3, size=m)
    found = theory.effective_tasks(counted, task_weights=b, drawn=drawn)
    for person in range(n):
        rho = sum(b[task] for task in range(m) if counted[person, task])
        moves = [task for task in range(m) if counted[person, task] and drawn[person, task]]
        if rho == 0:
            assert math.isnan(found[person])
        elif not moves:
            assert found[person] == math.inf
        else:
            # The ranges of independent losses, squared and added up, as in Hoeffding's inequality.
            squares = sum((b[task] / rho) ** 2 for task in moves)
            assert found[person] == pytest.approx(1 / squares)
    plain, scaled = (theory.effective_tasks(counted, task_weights=c * b) for c in (1, 7))
    np.testing.assert_allclose(plain, scaled)
    own = counted.sum(axis=1).astype(float)
    np.testing.assert_allclose(theory.effective_tasks(counted), np.where(own > 0, own, np.nan))
    some = own > 0
    assert (plain[some] <= own[some] * (1 + 1e-12)).all()
    assert (plain[some] >= 1 - 1e-12).all()
    assert (found[some] >= plain[some] * (1 - 1e-12)).all()


BAD_CELLS = {
    "a list of people": (([1, 0],), {}, "one row for each person"),
    "weights of other tasks": (([[1, 0]],), {"task_weights": [1, 1, 1]}, "shapes"),
    "draws of other people": (([[1, 0]],), {"drawn": [[1, 0], [0, 1]]}, "shapes"),
    "a blank": (([[1, math.nan]],), {}, "`counted` must be finite"),
    "below zero": (([[1, -1]],), {}, "`counted` must be finite and not negative"),
    "a negative weight": (([[1, 1]],), {"task_weights": [1, -1]}, "`task_weights` must be finite"),
}


@pytest.mark.parametrize(("cells", "options", "message"), BAD_CELLS.values(), ids=BAD_CELLS)
def test_effective_tasks_refuses_what_it_cannot_count(cells, options, message):
    with pytest.raises(InputError, match=message):
        theory.effective_tasks(*cells, **options)


@pytest.mark.parametrize("m", [0, 0.99, -1, math.nan, -math.inf, "5", None, True], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda m: theory.draws_per_task(9, m, 0.1, 0.1),
        lambda m: theory.draws_deviation(9, m, 1, 0.1),
    ],
    ids=["draws", "deviation"],
)
def test_less_than_one_task_is_refused(call, m):
    with pytest.raises(InputError, match=r"`m` must be a number of tasks, 1 or more; got"):
        call(m)


def test_outside_estimates_from_a_batch_meet_the_union_bound():
    n, m0, delta = 30, 400, 0.1
    error = theory.rho_estimate_error(n, m0, delta)
    assert 2 * n * math.exp(-2 * m0 * error**2) == pytest.approx(delta)


@given(alphas, alphas, nus, nus, counts, counts, chances)
def test_monotone(a, b, u, v, k, n, delta):
    (a, b), (u, v), (k, n) = sorted((a, b)), sorted((u, v)), sorted((k, n))
    assert theory.dual_bound(a, u) >= theory.dual_bound(b, u)
    assert theory.rounds(a, u, n) >= theory.rounds(b, u, n)
    assert theory.rounds(a, u, n) >= theory.rounds(a, v, n)
    assert theory.rounds(a, u, n) >= theory.rounds(a, u, k)
    assert theory.tasks_needed(a, u, n, delta) >= theory.tasks_needed(b, v, k, delta)
    assert theory.sparse_support(n, k, a, delta) >= theory.sparse_support(k, k, b, delta)
    assert theory.draws_per_task(n, k, a, delta) >= theory.draws_per_task(k, n, b, delta)
    assert theory.draws_deviation(n, k, k, delta) >= theory.draws_deviation(k, n, n, delta)
    assert theory.draws_per_task(n, k, a, delta) <= theory.sparse_support(n, k, a, delta)


def excess(n, alpha, nu, beta, delta, m, d):
    """Log of the proof's union bound divided by its target; at most 0 if n is large enough."""
    r = math.ceil(math.log(12 * n * m / delta) / (2 * alpha**2))
    B = (1 + 2 * nu) / alpha
    T = math.ceil(16 * B**2 * (1 + 2 * alpha) ** 2 * math.log(2 * n + 1) / nu**2)
    points = 2 * n
    labellings = d * math.log(math.e * points / d) if points >= d else points * math.log(2)
    lemma_beta, lemma_delta = beta / 2, delta / 3
    coins = math.log(4) - n * lemma_beta**2 / 8
    return r * m * labellings + math.log(T + 1) + coins - math.log(lemma_delta / 2)


SIZES = [
    (0.25, 1.0, 0.5, 0.5, 1, 1),
    (0.25, 1.0, 0.99, 0.9, 1, 40),
    (0.25, 0.001, 0.9, 0.01, 3, 2),
    (0.2, 0.5, 0.9, 0.05, 2, 1),
    (0.25, 1.0, 0.8, 0.5, 308, 2),
]


@pytest.mark.parametrize("case", SIZES)
def test_individuals_needed_against_the_inequality_on_either_side(case):
    n = theory.individuals_needed(*case)
    step = max(1, n // 20_000)
    assert all(excess(k, *case) > 0 for k in [*range(1, 200), *range(1, n // 2, step)])
    assert excess(n - 1, *case) > 0
    window = [*range(n, n + 2000), *range(n, 4 * n, 2 * step)]
    assert all(excess(k, *case) <= 0 for k in window)


def test_individuals_needed_lies_beyond_smaller_numbers_that_pass_by_rounding():
    """A number just before r increases may satisfy the inequality when its successor does not."""
    passed_over = 0
    for m in range(1, 200):
        case = (0.25, 1.0, 0.9, 0.5, m, 3)
        n = theory.individuals_needed(*case)
        assert excess(n, *case) <= 0 < excess(n - 1, *case)
        r = theory.sparse_support(n, m, 0.25, 0.5)
        before_step = math.floor(math.exp((r - 1) * 2 * 0.25**2) * 0.5 / (12 * m))
        passed_over += excess(before_step, *case) <= 0
    assert passed_over


@settings(deadline=None)
@given(
    st.floats(0.01, 0.25), st.floats(0.01, 1), st.floats(0.01, 0.99), chances,
    st.integers(1, 1000), st.integers(1, 500),
)  # fmt: skip
def test_individuals_needed_is_exact_and_meets_the_other_conditions(alpha, nu, beta, delta, m, d):
    case = (alpha, nu, beta, delta, m, d)
    n = theory.individuals_needed(*case)
    scale = 1e-12 * n
    assert excess(n, *case) <= scale
    assert excess(n - 1, *case) > -scale
    for factor in (1.001, 1.1, 2, 100):
        assert excess(math.ceil(factor * n), *case) <= scale * factor
    assert 2 * math.exp(-n * (beta / 2) ** 2 / 2) <= 1 / 2
    assert 2 * math.exp(-2 * n * (beta / 2) ** 2) <= delta / 6


def test_individuals_needed_grows_with_every_demand():
    base = {"alpha": 0.1, "nu": 0.5, "beta": 0.2, "delta": 0.05, "m": 10, "vc_dimension": 5}
    n = theory.individuals_needed(**base)
    for harder in (
        {"alpha": 0.05}, {"nu": 0.01}, {"beta": 0.1}, {"delta": 0.01}, {"m": 20},
        {"vc_dimension": 10},
    ):  # fmt: skip
        assert theory.individuals_needed(**{**base, **harder}) > n


def fits(n, m, alpha, nu, beta, delta, d, rho):
    """Return whether n and m meet both conditions of the simultaneous theorem."""
    B = (1 + 2 * nu) / alpha
    T = math.ceil(16 * B**2 * (1 + 2 * alpha) ** 2 * math.log(2 * n + 1) / nu**2)
    if rho is None:
        m0 = math.ceil(2 * B**2 * math.log(2 * n * T / delta) / nu**2)
    else:
        m0 = math.ceil(288 * B**2 * math.log(8 * n * T / delta) / (nu * rho) ** 2)
    enough_tasks = m >= m0 * (T if rho is None else T + 1) * (1 - 1e-12)
    return enough_tasks and excess(n, alpha, nu, beta, delta, m, d) <= 1e-12 * n


def test_sizes_for_both_at_once():
    """Each size grows with the other: m for a given n, and n for a given m, are not enough."""
    alpha, nu, beta, delta, d = 0.05, 0.1, 0.05, 0.004, 21
    n, m = theory.sizes_for_both(alpha, nu, beta, delta, d)
    assert (f"{n:.2e}", f"{m:.2e}") == ("2.19e+26", "6.69e+14")
    apart = (
        theory.individuals_needed(alpha, nu, beta, delta, 50, d),
        theory.tasks_needed(alpha, nu, 200, delta),
    )
    assert not fits(*apart, alpha, nu, beta, delta, d, None)


@settings(deadline=None)
@given(
    st.floats(0.01, 0.25), st.floats(0.01, 1), st.floats(0.01, 0.99), chances,
    st.integers(1, 100), st.none() | st.floats(0.05, 1),
)  # fmt: skip
def test_sizes_for_both_fit_and_nothing_smaller_does(alpha, nu, beta, delta, d, rho):
    n, m = theory.sizes_for_both(alpha, nu, beta, delta, d, rho_inf=rho)
    case = (alpha, nu, beta, delta, d, rho)
    assert fits(n, m, *case)
    # Rounds are whole numbers, so a size that is smaller by less than a percent may fit by luck.
    for share in (0.5, 0.9, 0.99):
        assert not fits(math.floor(share * n), m, *case)
        assert not fits(n, math.floor(share * m), *case)
        # No smaller pair fits either.
        assert not fits(math.floor(share * n), math.floor(share * m), *case)


CALLS = {
    theory.slack: {"alpha": 0.1},
    theory.dual_bound: {"alpha": 0.1, "nu": 0.5},
    theory.rounds: {"alpha": 0.1, "nu": 0.5, "n": 10},
    theory.step_size: {"alpha": 0.1, "nu": 0.5},
    theory.auditor_regret: {
        "alpha": 0.1, "n": 10, "B": 20.0, "eta": 0.01, "T": 100, "m0": 10, "delta": 0.1,
        "rho_hat_min": 0.5,
    },
    theory.learner_regret: {
        "n": 10, "B": 20.0, "T": 100, "m0": 10, "delta": 0.1, "rho_tilde_min": 0.5
    },
    theory.rho_estimate_error: {"n": 10, "m0": 10, "delta": 0.1},
    theory.tasks_per_round: {"alpha": 0.1, "nu": 0.5, "n": 10, "delta": 0.1, "rho_min": 0.5},
    theory.tasks_needed: {"alpha": 0.1, "nu": 0.5, "n": 10, "delta": 0.1, "rho_min": 0.5},
    theory.sparse_support: {"n": 10, "m": 5, "alpha": 0.1, "delta": 0.1},
    theory.draws_per_task: {"n": 10, "m": 5, "alpha": 0.1, "delta": 0.1},
    theory.draws_deviation: {"n": 10, "m": 5, "r": 3, "delta": 0.1},
    theory.individuals_needed: {
        "alpha": 0.1, "nu": 0.5, "beta": 0.2, "delta": 0.1, "m": 5, "vc_dimension": 3
    },
    theory.sizes_for_both: {
        "alpha": 0.1, "nu": 0.5, "beta": 0.2, "delta": 0.1, "vc_dimension": 3, "rho_inf": 0.5
    },
    theory.in_sample: {"alpha": 0.1, "nu": 0.5, "delta": 0.1},
    theory.over_new_individuals: {"alpha": 0.1, "beta": 0.2, "delta": 0.1},
    theory.over_new_tasks: {"alpha": 0.1, "delta": 0.1, "nu": 0.5},
    theory.over_both: {"alpha": 0.1, "beta": 0.2, "delta": 0.1},
}  # fmt: skip
NEVER = [0, -0.1, math.nan, math.inf, -math.inf, "0.1", True]
OUTSIDE = {
    "alpha": ("(0, 0.25]", [0.2500001]),
    "nu": ("(0, 1]", [1.0000001]),
    "beta": ("(0, 1)", [1.0]),
    "delta": ("(0, 1)", [1.0]),
    "rho_min": ("(0, 1]", [1.1]),
    "rho_inf": ("(0, 1]", [1.1]),
    "rho_hat_min": ("(0, 1]", [1.1]),
    "rho_tilde_min": ("(0, 1]", [1.1]),
    "B": ("(0, inf)", []),
    "eta": ("(0, inf)", []),
    **dict.fromkeys(["n", "m", "m0", "T", "r", "vc_dimension"], ("whole number", [1.5, 2.0])),
}
# Effective numbers of tasks need not be whole: test_less_than_one_task_is_refused.
ANY_NUMBER_OF_TASKS = (theory.draws_per_task, theory.draws_deviation)
REFUSALS = [
    (call, name, value)
    for call, arguments in CALLS.items()
    for name in arguments
    for value in NEVER + OUTSIDE[name][1]
    if not (name == "m" and call in ANY_NUMBER_OF_TASKS)
]


@pytest.mark.parametrize(("call", "name", "value"), REFUSALS)
def test_values_outside_their_range_are_refused(call, name, value):
    with pytest.raises(InputError) as caught:
        call(**{**CALLS[call], name: value})
    message = str(caught.value)
    assert message.startswith(f"`{name}` must ")
    assert OUTSIDE[name][0] in message
    assert f"got {value!r}. " in message
    assert message.endswith(".")


@pytest.mark.parametrize("call", CALLS)
def test_numpy_scalars_give_the_same_plain_numbers(call):
    plain = {k: v if isinstance(v, int) else float(np.float32(v)) for k, v in CALLS[call].items()}
    scalars = {k: (np.int32 if isinstance(v, int) else np.float32)(v) for k, v in plain.items()}
    wanted, reached = call(**plain), call(**scalars)
    assert reached == wanted
    assert type(reached) is type(wanted)


def test_the_ends_of_closed_ranges_are_allowed():
    assert theory.dual_bound(0.25, 1.0) == 12
    assert theory.dual_bound(Fraction(1, 4), 1) == 12
    assert theory.tasks_per_round(0.25, 1, 1, 0.5, rho_min=1) >= 1


@pytest.mark.parametrize(
    "partial", [{"m0": 5}, {"delta": 0.1}, {"rho_hat_min": 0.5}, {"m0": 5, "rho_hat_min": 0.5}]
)
def test_half_a_sampling_term_is_refused(partial):
    with pytest.raises(InputError, match=r"`m0` and `delta` must be given together.*Leave all"):
        theory.auditor_regret(alpha=0.1, n=10, B=20.0, eta=0.01, T=100, **partial)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (theory.rounds, (1e-200, 0.5, 10)),
        (theory.sparse_support, (10, 10, 1e-200, 0.5)),
        (theory.draws_per_task, (10, 10, 1e-200, 0.5)),
        (theory.tasks_per_round, (0.1, 0.5, 10, 0.5, 1e-200)),
        (theory.individuals_needed, (0.1, 0.5, 1e-200, 0.1, 5, 3)),
        (theory.individuals_needed, (1e-100, 0.5, 1e-100, 0.1, 5, 3)),
        (theory.sizes_for_both, (1e-60, 0.5, 0.1, 0.1, 3)),
    ],
)
def test_answers_beyond_the_largest_float_are_refused(call, arguments):
    with pytest.raises(InputError, match=r"must be finite; got inf\. Use larger"):
        call(*arguments)


def test_a_tiny_delta_and_a_huge_n_are_no_trouble():
    assert theory.tasks_needed(0.1, 0.5, 10**400, sys.float_info.min) > 0
