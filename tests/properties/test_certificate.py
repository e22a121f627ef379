"""Properties of the certified bounds, against the full linear program and duality."""

import json

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from averagefair import (
    Certificate,
    ColumnGeneration,
    Equal,
    ExponentiatedGradient,
    Learner,
    Sample,
    Status,
    StopReason,
    WeightedOracle,
)
from tests.support.generated import (
    COLUMNS,
    EXACT,
    GRADIENT,
    alphas,
    chances,
    exact,
    fit,
    holds,
    oracles,
    quietly,
    rates,
    single_rates,
    solvers,
    worlds,
)
from tests.support.judges import optimum, plain_error
from tests.support.property_judges import (
    assert_honest,
    constrained,
    fair_within,
    least_lagrangian,
    names_of,
    rates_by_hand,
)

multipliers = st.one_of(st.just(0.0), st.floats(-3, 3))


def learner_of(world, rate, oracle):
    sample = Sample(world.X, world.Y, individual_weights=world.people, task_weights=world.tasks)
    return quietly(Learner, sample, rate, oracle)


def weights_of(learner, table, rate):
    """Return a table of weights, (n, rates), as a vector over the constraints."""
    return table[learner.constraints.people, learner.constraints.rate_of]


@holds(1.6, world=worlds(), rate=rates, alpha=alphas, name=exact)
def test_the_optimum_lies_within_the_bounds_of_column_generation(world, rate, alpha, name):
    oracle, decide = EXACT[name]
    model = fit(world, rate=rate, alpha=alpha, oracle=oracle, solver=COLUMNS)
    best = optimum(world.Y, decide(world.X), rate, alpha, constants=True, **world.weights)
    known = model.certificate_
    assert known.status is Status.CERTIFIED
    assert known.lower - 1e-6 <= best <= known.upper + 1e-6
    assert known.gap <= COLUMNS.tol + 1e-9
    assert best - 1e-6 <= model.error_ <= best + known.gap + 1e-6


@holds(world=worlds(), rate=rates, alpha=alphas, name=exact, count=st.integers(1, 12))
def test_bounds_hold_however_early_a_run_ends(world, rate, alpha, name, count):
    oracle, decide = EXACT[name]
    best = optimum(world.Y, decide(world.X), rate, alpha, constants=True, **world.weights)
    for solver in (
        ColumnGeneration(tol=1e-9, max_rounds=count),
        ExponentiatedGradient(max_rounds=3 * count, tol=None),
    ):
        known = fit(world, rate=rate, alpha=alpha, oracle=oracle, solver=solver).certificate_
        assert known.lower - 1e-6 <= best <= known.upper + 1e-6
        assert known.error <= best + known.gap + 1e-6
        assert abs(known.gap - max(0.0, known.upper - known.lower)) <= 1e-12


@holds(world=worlds(), rate=rates, alpha=alphas, name=exact)
def test_the_gap_bounds_the_deviation_of_exponentiated_gradient(world, rate, alpha, name):
    """The theorem's argument: every deviation is at most slack + (1 + gap) / B."""
    model = fit(world, rate=rate, alpha=alpha, oracle=EXACT[name][0], solver=GRADIENT)
    known = model.certificate_
    assert known.deviation <= alpha + (1 + known.gap) * alpha + 1e-9
    assert known.upper >= known.error - 1e-12


@holds(
    0.35,
    world=worlds(4, 3, weights=False),
    rate=single_rates,
    name=st.sampled_from(["stump", "listed"]),
    alpha=st.sampled_from([0.1, 0.15, 0.25]),
    nu=st.sampled_from([0.2, 0.4, 1.0]),
)
def test_the_theorem_keeps_its_promise(world, rate, name, alpha, nu):
    """Error at most OPT + 2 nu and deviation at most 3 alpha, at the theory's constants."""
    oracle, decide = EXACT[name]
    solver = ExponentiatedGradient.from_theory(alpha, nu, n=len(world.X), tol=2 * nu)
    model = fit(world, rate=rate, alpha=None, oracle=oracle, solver=solver)
    known = model.certificate_
    assert_honest(model, world, rate)
    assert known.stop_reason is StopReason.TOLERANCE or known.rounds == solver.max_rounds
    best = optimum(world.Y, decide(world.X), rate, 2 * alpha)
    found = chances(model, world)
    assert plain_error(world.Y, found) <= best + 2 * nu + 1e-9
    mine = rates_by_hand(world, found, rate)[constrained(world, rate)[:, 0]]
    assert np.abs(mine - model.common_rate_).max(initial=0) <= 3 * alpha + 1e-9
    assert known.met
    assert fair_within(world, found, rate, 3 * alpha + 1e-6)


@holds(world=worlds(), rate=rates, name=exact, data=st.data(), slack=st.floats(0.001, 0.5))
def test_a_best_response_is_the_least_lagrangian_by_trying_all(world, rate, name, data, slack):
    oracle, decide = EXACT[name]
    learner = learner_of(world, rate, oracle)
    held = constrained(world, rate)
    table = np.where(held, data.draw(arrays(float, held.shape, elements=multipliers)), 0.0)
    program = learner.program(Equal(slack))
    found = learner.dual_value(program, weights_of(learner, table, rate)[np.newaxis])
    least = least_lagrangian(world, decide(world.X), rate, table, slack, constants=True)
    assert abs(found - least) <= 1e-9 * (
        1 + np.abs(table).sum() / min(1, world.b[world.b > 0].min())
    )
    # Weak duality: no multipliers prove more than the optimum of the class and the constants.
    terms = {"constants": True, "whole_plays": True, **world.weights}
    best = optimum(world.Y, decide(world.X), rate, slack, **terms)
    assert found <= best + 1e-6


@holds(world=worlds(), rate=rates, oracle=oracles, data=st.data())
def test_a_play_is_measured_as_it_decides(world, rate, oracle, data):
    if not hasattr(oracle, "bind"):
        oracle = WeightedOracle(oracle)
    learner = learner_of(world, rate, oracle)
    held = constrained(world, rate)
    table = np.where(held, data.draw(arrays(float, held.shape, elements=multipliers)), 0.0)
    play = learner.respond(weights_of(learner, table, rate))
    decisions = np.asarray(play.hypothesis.decide(world.X), dtype=float)
    error = plain_error(world.Y, decisions, world.b, world.a)
    assert abs(play.error - error) <= 1e-9
    by_hand = rates_by_hand(world, decisions, rate).reshape(held.shape)
    np.testing.assert_allclose(play.rates, weights_of(learner, by_hand, rate), atol=1e-9)
    assert len(learner.constraints) == held.sum()
    # gamma = 1[sum w > 0], so it is 0 if the weights sum to 0.
    for k, gamma in enumerate(play.common_rates):
        total = table[:, k].sum()
        assert abs(total) < 1e-12 or gamma == (total > 0)
    assert len(play.common_rates) == len(names_of(rate))


@holds(world=worlds(), rate=rates, oracle=oracles, solver=solvers, beta=st.sampled_from([0, 0.2]))
def test_a_certificate_comes_back_from_json(world, rate, oracle, solver, beta):
    exceptions = {"beta": beta} if isinstance(solver, ColumnGeneration) else {}
    known = fit(
        world, alpha=0.1, rate=rate, oracle=oracle, solver=solver, **exceptions
    ).certificate_
    written = json.loads(json.dumps(known.to_dict(), allow_nan=False))
    back = Certificate.from_dict(written)
    assert str(back) == str(known)
    assert back.promise == known.promise
    assert back.met == known.met
    for name in ("error", "deviation", "spread", "outside", "lower", "upper", "gap", "seconds"):
        np.testing.assert_array_equal(getattr(back, name), getattr(known, name))
    assert back.common_rate == known.common_rate
    assert (back.status, back.stop_reason) == (known.status, known.stop_reason)
    assert back.to_dict() == known.to_dict()
