"""Properties of the answer: a fitted model's figures are true, and it keeps its promises."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from averagefair import AverageFairClassifier, RegressionOracle, Status, held_out
from averagefair.oracles import default_oracle
from tests.support.generated import (
    COLUMNS,
    EXACT,
    FEW_COLUMNS,
    alphas,
    chances,
    curve_of,
    exact,
    fit,
    holds,
    kinds_of,
    oracles,
    rates,
    solvers,
    worlds,
)
from tests.support.judges import optimum, plain_error, share_outside
from tests.support.property_judges import (
    assert_finite,
    assert_honest,
    constrained,
    fair_within,
    rates_by_hand,
)

some_alphas = st.lists(st.sampled_from([0.02, 0.05, 0.1, 0.2, 0.35]), min_size=2, unique=True)


@holds(1.6, world=worlds(), rate=rates, alpha=alphas, oracle=oracles, solver=solvers)
def test_figures_are_what_the_classifiers_do(world, rate, alpha, oracle, solver):
    model = fit(world, rate=rate, alpha=alpha, oracle=oracle, solver=solver)
    assert_honest(model, world, rate)


@holds(world=worlds(), rate=rates, alpha=alphas, oracle=oracles, solver=solvers)
def test_every_number_is_one(world, rate, alpha, oracle, solver):
    model = fit(world, rate=rate, alpha=alpha, oracle=oracle, solver=solver)
    assert_finite(model, world, rate, exact=getattr(oracle, "exact", False))
    found = chances(model, world)
    assert ((found >= 0) & (found <= 1)).all()
    assert set(np.unique(model.predict(world.X))) <= {0, 1}


@holds(world=worlds(), rate=rates, alpha=alphas, oracle=oracles, solver=solvers)
def test_fixed_decisions_are_what_is_decided_and_measured(world, rate, alpha, oracle, solver):
    model = fit(world, rate=rate, alpha=alpha, oracle=oracle, solver=solver, decisions="fixed")
    assert_honest(model, world, rate)
    assert_finite(model, world, rate, exact=getattr(oracle, "exact", False))
    found, known = chances(model, world), model.certificate_
    np.testing.assert_array_equal(model.predict(world.X).reshape(found.shape), found)
    assert fair_within(world, found, rate, alpha + 1e-6) or not known.met
    assert known.met or not fair_within(world, found, rate, alpha)
    # What the chances reach is that of a model that draws, on average.
    drawn = fit(world, rate=rate, alpha=alpha, oracle=oracle, solver=solver)
    assert known.by_chances.to_dict() == pytest.approx(
        drawn.certificate_.by_chances.to_dict(), abs=1e-12, nan_ok=True
    )
    assert known.met_on_average == drawn.certificate_.met


@holds(world=worlds(), rate=rates, alpha=alphas, oracle=oracles)
def test_column_generation_keeps_everybody_within_alpha(world, rate, alpha, oracle):
    model = fit(world, rate=rate, alpha=alpha, oracle=oracle, solver=FEW_COLUMNS)
    assert model.certificate_.met
    assert fair_within(world, chances(model, world), rate, alpha + 1e-6)
    # Everybody is near the reported common rate.
    table = rates_by_hand(world, chances(model, world), rate).reshape(len(world.Y), -1)
    off = np.abs(table - np.atleast_1d(model.common_rate_))[constrained(world, rate)]
    assert off.max(initial=0) <= alpha + 1e-6


@holds(
    world=worlds(),
    rate=rates,
    alpha=alphas,
    oracle=oracles,
    solver=solvers,
    decisions=st.sampled_from(["fixed", "drawn"]),
)
def test_met_is_said_where_it_is_so_and_a_miss_is_warned_of(
    world, rate, alpha, oracle, solver, decisions
):
    own = {"oracle": oracle, "solver": solver, "decisions": decisions, "random_state": 0}
    model = AverageFairClassifier(rate=rate, alpha=alpha, **own)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(world.X, world.Y, world.people, world.tasks)
    told = [str(one.message) for one in said if issubclass(one.category, ConvergenceWarning)]
    assert any("NOT met" in one for one in told) == (not model.certificate_.met)
    assert any("converge" in one for one in told) == model.certificate_.stop_reason.limit
    found = chances(model, world)
    if model.certificate_.met:
        assert fair_within(world, found, rate, alpha + 1e-6)
    else:
        assert not fair_within(world, found, rate, alpha)


@holds(world=worlds(), rate=rates, alpha=alphas, oracle=oracles)
def test_no_answer_is_dearer_than_the_constants_mixed_fairly(world, rate, alpha, oracle):
    """With any oracle, "always 0" and "always 1" are part of the mixture."""
    model = fit(world, rate=rate, alpha=alpha, oracle=oracle, solver=FEW_COLUMNS)
    always_zero = np.zeros((1, len(world.X)), dtype=bool)
    most = optimum(world.Y, always_zero, rate, alpha, constants=True, **world.weights)
    assert model.error_ <= most + 1e-6


@holds(world=worlds(), rate=rates, name=exact)
def test_at_alpha_one_half_fairness_costs_nothing(world, rate, name):
    oracle, decide = EXACT[name]
    model = fit(world, rate=rate, alpha=0.5, oracle=oracle, solver=COLUMNS)
    options = [*decide(world.X), np.zeros(len(world.X), bool), np.ones(len(world.X), bool)]
    if name == "one rule":
        # A constant decides all tasks at once, so only three plays compete.
        plays = [np.tile(one, (world.Y.shape[1], 1)).T.astype(float) for one in options]
        least = min(plain_error(world.Y, play, world.b, world.a) for play in plays)
        assert model.error_ <= least + 1e-5 + 1e-9
        return
    best = np.zeros(world.Y.shape)
    for j in range(world.Y.shape[1]):
        rivals = []
        for one in options:
            trial = best.copy()
            trial[:, j] = one
            rivals.append((plain_error(world.Y, trial, world.b, world.a), len(rivals)))
        best[:, j] = options[min(rivals)[1]]
    assert abs(model.error_ - plain_error(world.Y, best, world.b, world.a)) <= 1e-5 + 1e-9


@holds(
    world=worlds(),
    rate=rates,
    alpha=alphas,
    name=exact,
    beta=st.sampled_from([0.1, 0.25, 0.4, 0.7]),
)
def test_no_more_than_a_share_beta_is_left_outside(world, rate, alpha, name, beta):
    model = fit(world, rate=rate, alpha=alpha, oracle=EXACT[name][0], beta=beta)
    strict = fit(world, rate=rate, alpha=alpha, oracle=EXACT[name][0])
    assert_honest(model, world, rate)
    assert model.certificate_.met
    table = rates_by_hand(world, chances(model, world), rate).reshape(len(world.Y), -1)
    shares = [
        share_outside(np.where(mine, column, np.nan), world.a, 2 * alpha + 1e-6)
        for column, mine in zip(table.T, constrained(world, rate).T, strict=True)
    ]
    assert max(shares) <= beta + 1e-9
    assert abs(model.certificate_.outside - max(shares)) <= 1e-9
    assert model.error_ <= strict.error_ + 1e-5 + 1e-6


@holds(world=worlds(), rate=rates, alpha=alphas, name=exact, influence=st.floats(0.05, 20))
def test_bounded_influence_is_the_penalised_problem(world, rate, alpha, name, influence):
    oracle, decide = EXACT[name]
    model = fit(world, rate=rate, alpha=alpha, oracle=oracle, max_influence=influence)
    known, prices = model.certificate_, influence * world.a / world.a.sum()
    table = rates_by_hand(world, chances(model, world), rate).reshape(len(world.Y), -1)
    off = np.maximum(0, np.abs(table - np.atleast_1d(model.common_rate_)) - alpha)
    paid = model.error_ + (prices[:, None] * np.where(constrained(world, rate), off, 0)).sum()
    assert abs(known.upper - paid) <= 1e-8
    best = optimum(
        world.Y, decide(world.X), rate, alpha, constants=True, prices=prices, **world.weights
    )
    assert known.lower - 1e-6 <= best <= known.upper + 1e-6


@holds(0.6, world=worlds(5, 3), rate=rates, name=exact, grid=some_alphas)
def test_a_larger_alpha_never_costs_more(world, rate, name, grid):
    oracle, decide = EXACT[name]
    curve = curve_of(world, grid, rate=rate, oracle=oracle)
    assert list(curve.values) == sorted(grid)
    errors = [point.error for point in curve]
    assert all(b <= a + 1e-6 for a, b in pairwise(errors))
    assert curve.unconstrained.error <= errors[-1] + 1e-5 + 1e-6
    for point in curve:
        assert_honest(point.model, world, rate)
        assert fair_within(world, chances(point.model, world), rate, point.value + 1e-6)
        best = optimum(world.Y, decide(world.X), rate, point.value, constants=True, **world.weights)
        assert abs(point.error - best) <= 1e-5 + 1e-6


@holds(0.25, world=worlds(5, 3), rate=rates, grid=some_alphas, least_squares=st.booleans())
def test_a_larger_alpha_never_costs_more_with_a_heuristic_oracle(world, rate, grid, least_squares):
    oracle = RegressionOracle() if least_squares else default_oracle()
    curve = curve_of(world, grid, rate=rate, oracle=oracle, solver=FEW_COLUMNS)
    errors = [point.error for point in curve]
    assert all(b <= a + 1e-6 for a, b in pairwise(errors))
    for point in curve:
        assert point.certificate.status is Status.HEURISTIC
        assert fair_within(world, chances(point.model, world), rate, point.value + 1e-6)


@holds(0.6, world=worlds(5, 3), rate=rates, name=exact, alpha=st.sampled_from([0.02, 0.1, 0.2]))
def test_coin_flips_are_what_mixing_them_in_comes_to_and_never_better(world, rate, name, alpha):
    oracle, _ = EXACT[name]
    curve = curve_of(world, [alpha], rate=rate, oracle=oracle)
    free, point = fit(world, rate=rate, alpha=0.5, oracle=oracle), curve[0]
    held = constrained(world, rate)

    def spread(found):
        table = rates_by_hand(world, found, rate).reshape(len(world.Y), -1)
        return max(
            (np.ptp(table[mine, k]) for k, mine in enumerate(held.T) if mine.any()), default=0
        )

    # The unconstrained end has many best answers, so this one may differ from the fit's.
    apart = curve.unconstrained.spread
    apart = 0.0 if np.isnan(apart) else apart
    kept = min(1.0, spread(chances(point.model, world)) / apart) if apart > 0 else 1.0
    assert abs(point.coin_flips - (kept * curve.unconstrained.error + (1 - kept) / 2)) <= 1e-9
    assert abs(curve.unconstrained.error - free.error_) <= 2e-5 + 1e-6
    # A mixture by hand in which everybody is within alpha is fair, so it is not better than ours.
    found = chances(free, world)
    kept = min(1.0, 2 * alpha / max(spread(found), 1e-300))
    mixed = kept * found + (1 - kept) * 0.5
    assert fair_within(world, mixed, rate, alpha + 1e-9)
    assert point.error <= plain_error(world.Y, mixed, world.b, world.a) + 2e-5 + 1e-6


@holds(world=worlds(), other=worlds(), oracle=oracles, solver=solvers, rate=rates)
def test_score_and_held_out_people_are_measured_by_hand(world, other, oracle, solver, rate):
    model = fit(world, alpha=0.1, rate=rate, oracle=oracle, solver=solver)
    new = other.but(
        X=np.resize(other.X, (len(other.X), world.X.shape[1])),
        Y=np.resize(other.Y, (len(other.Y), world.Y.shape[1])),
        tasks=world.tasks,
    )
    found = held_out(model, X_new=new.X, Y_new_people=new.Y, sample_weight=new.people).people
    np.testing.assert_allclose(
        found.rates, rates_by_hand(new, chances(model, new), rate), rtol=0, atol=1e-9
    )
    seen = constrained(new, "error").any()
    assert np.isnan(found.error) == (not seen)
    if seen:
        error = plain_error(new.Y, chances(model, new), new.b, new.a)
        assert abs(found.error - error) <= 1e-9
        assert abs(model.score(new.X, new.Y, new.people) - (1 - error)) <= 1e-9
    assert len(kinds_of(rate)) == np.atleast_2d(found.rates.T).shape[0]
