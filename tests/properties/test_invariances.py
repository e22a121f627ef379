"""Invariances: copies or weights, order, units, blanks, and forms of tables."""

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from averagefair import AverageFairClassifier, StumpOracle, individual_rates
from tests.support.generated import (
    COLUMNS,
    EXACT,
    STEADY,
    World,
    alphas,
    chances,
    exact,
    fit,
    holds,
    oracles,
    quietly,
    rates,
    refit,
    single_rates,
    solvers,
    worlds,
)
from tests.support.property_judges import assert_same_optimum, assert_same_outcome, constrained

steady, weights = st.sampled_from(STEADY), st.floats(0.1, 5)
SWAP = {
    "error": "error",
    "false_positive": "false_negative",
    "false_negative": "false_positive",
}


def bits(model, X):
    """Return all visible results of a model, to the last bit."""
    return {
        "chances": model.decision_probability(X).tolist(),
        "draws": model.predict(X).tolist(),
        "error": model.error_,
        "rates": np.nan_to_num(model.individual_rates_, nan=-1).tolist(),
        "common": model.common_rate_,
        "history": np.nan_to_num(np.array(model.history_.tolist())).tolist(),
    }


def both_certified(one, other, **params):
    """Solve two problems that should be equal, and compare their certified intervals."""
    known = [fit(world, solver=COLUMNS, **params).certificate_ for world in (one, other)]
    assert_same_optimum(*known)


def fit_without_ties(world, **params):
    """Fit, and skip cases in which the weights of some round cancel up to rounding.

    The paper's common rate of a round is 1[sum w > 0], without a tolerance. If the sum is 0, its
    rounding decides, and rounding depends on the order of the people.
    """
    model = fit(world, **params)
    several = params["rate"] if isinstance(params["rate"], list | tuple) else [params["rate"]]
    rounds = model.mapping_.weights.reshape(-1, len(several), len(world.X))
    size = np.abs(rounds).sum(axis=2)
    assume((np.abs(rounds.sum(axis=2))[size > 0] > 1e-9 * size[size > 0]).all())
    return model


# --- fits ----------------------------------------------------------------------------------------


@holds(world=worlds(), before=worlds(), rate=rates, oracle=oracles, solver=solvers)
def test_to_fit_twice_is_to_fit_once(world, before, rate, oracle, solver):
    """An earlier fit leaves no trace, in the model or in its parts."""
    params = {"alpha": 0.1, "rate": rate, "oracle": oracle, "solver": solver, "random_state": 0}
    once = refit(AverageFairClassifier(**params), world)
    model = refit(AverageFairClassifier(**params), before)
    assert bits(refit(model, world), world.X) == bits(once, world.X)
    assert bits(refit(clone(model), world), world.X) == bits(once, world.X)


@holds(world=worlds(), rate=rates, oracle=oracles, solver=solvers)
def test_what_is_handed_over_stays_as_it_was(world, rate, oracle, solver):
    given = [one for one in (world.X, world.Y, world.people, world.tasks) if one is not None]
    before = [one.tobytes() for one in given]
    model = fit(world, alpha=0.1, rate=rate, oracle=oracle, solver=solver)
    quietly(model.extend, world.Y)
    model.predict(world.X)
    assert [one.tobytes() for one in given] == before
    # The model does not change when the caller changes their arrays afterwards.
    seen = bits(model, world.X.copy())
    X = world.X.copy()
    world.X[:] = -world.X
    world.Y[:] = 0.0
    assert bits(model, X) == seen


# --- people --------------------------------------------------------------------------------------


@holds(world=worlds(5), rate=rates, alpha=alphas, name=exact, data=st.data(), solver=steady)
def test_a_weight_is_a_number_of_copies(world, rate, alpha, name, data, solver):
    n = len(world.X)
    copies = data.draw(arrays(int, n, elements=st.integers(0, 3)))
    assume(constrained(world.but(people=world.a * copies), "error").any())
    weighted = world.but(people=world.a * copies)
    repeated = world.take_people(np.repeat(np.arange(n), copies))
    params = {"rate": rate, "alpha": alpha, "oracle": EXACT[name][0]}
    both_certified(weighted, repeated, **params)
    one, other = (fit_without_ties(each, solver=solver, **params) for each in (weighted, repeated))
    for figure in ("error", "common_rate", "deviation", "spread", "upper"):
        pair = [getattr(model.certificate_, figure) for model in (one, other)]
        np.testing.assert_allclose(*pair, rtol=1e-7, atol=1e-7)


@holds(world=worlds(), rate=rates, alpha=alphas, name=exact, solver=steady)
def test_whoever_weighs_nothing_is_absent(world, rate, alpha, name, solver):
    if (world.a > 0).all():
        world = world.take_people([*range(len(world.X)), 0])
        world.people[-1] = 0.0
    present = world.a > 0
    without = world.take_people(present)
    params = {"rate": rate, "alpha": alpha, "oracle": EXACT[name][0]}
    both_certified(world, without, **params)
    one, other = (fit_without_ties(each, solver=solver, **params) for each in (without, world))
    assert_same_outcome(one, other, 1e-7, rows=present, X=without.X)


@holds(world=worlds(), rate=rates, alpha=alphas, name=exact, data=st.data(), solver=steady)
def test_the_order_of_people_does_not_matter(world, rate, alpha, name, data, solver):
    order = np.array(data.draw(st.permutations(range(len(world.X)))))
    params = {"rate": rate, "alpha": alpha, "oracle": EXACT[name][0]}
    other = world.take_people(order)
    both_certified(world, other, **params)
    one, two = (fit_without_ties(each, solver=solver, **params) for each in (other, world))
    assert_same_outcome(one, two, 1e-7, rows=order, X=world.X)


@holds(world=worlds(), rate=rates, alpha=alphas, name=exact, value=st.floats(-9, 9), solver=steady)
def test_somebody_without_a_label_changes_nothing(world, rate, alpha, name, value, solver):
    more = World(
        np.vstack([world.X, np.full(world.X.shape[1], value)]),
        np.vstack([world.Y, np.full(world.Y.shape[1], np.nan)]),
        np.append(world.a, 2.0),
        world.tasks,
    )
    params = {"rate": rate, "alpha": alpha, "oracle": EXACT[name][0]}
    both_certified(world, more, **params)
    one, other = (fit_without_ties(each, solver=solver, **params) for each in (world, more))
    assert len(world.X) in other.undefined_individuals_
    assert np.isnan(other.individual_rates_[-1]).all()
    other.individual_rates_ = other.individual_rates_[:-1]
    assert_same_outcome(one, other, 1e-7, X=world.X)


# --- tasks ---------------------------------------------------------------------------------------


@holds(world=worlds(), rate=rates, alpha=alphas, name=exact, data=st.data(), solver=steady)
def test_the_order_of_tasks_does_not_matter(world, rate, alpha, name, data, solver):
    order = np.array(data.draw(st.permutations(range(world.Y.shape[1]))))
    params = {"rate": rate, "alpha": alpha, "oracle": EXACT[name][0]}
    other = world.take_tasks(order)
    both_certified(world, other, **params)
    one, two = (fit_without_ties(each, solver=solver, **params) for each in (other, world))
    assert_same_outcome(one, two, 1e-7, columns=order, X=world.X)


@holds(world=worlds(), rate=rates, oracle=oracles, solver=solvers, power=st.integers(-40, 40))
def test_task_weights_count_up_to_a_factor(world, rate, oracle, solver, power):
    """Equal to the last bit for factors that are powers of two, because such products are exact."""
    params = {"alpha": 0.1, "rate": rate, "oracle": oracle, "solver": solver}
    scaled = world.but(tasks=world.b * 2.0**power)
    plain = world.but(tasks=world.b)
    assert bits(fit(scaled, **params), world.X) == bits(fit(plain, **params), world.X)


@holds(world=worlds(), rate=rates, alpha=alphas, name=exact, factor=st.floats(0.01, 300))
def test_task_weights_count_up_to_any_factor(world, rate, alpha, name, factor):
    both_certified(
        world, world.but(tasks=world.b * factor), rate=rate, alpha=alpha, oracle=EXACT[name][0]
    )


@holds(
    world=worlds(), rate=rates, alpha=alphas, name=exact, weight=st.floats(0.1, 5), solver=steady
)
def test_a_task_without_labels_changes_nothing(world, rate, alpha, name, weight, solver):
    more = world.but(
        Y=np.column_stack([world.Y, np.full(len(world.Y), np.nan)]),
        tasks=np.append(world.b, weight),
    )
    params = {"rate": rate, "alpha": alpha, "oracle": EXACT[name][0]}
    both_certified(world, more, **params)
    one, other = (fit_without_ties(each, solver=solver, **params) for each in (world, more))
    assert_same_outcome(one, other, 1e-7, columns=np.arange(world.Y.shape[1]), X=world.X)


@holds(world=worlds(4, 3), rate=rates, alpha=alphas, name=exact, times=st.integers(2, 3))
def test_a_task_met_twice_as_often_is_the_task_twice(world, rate, alpha, name, times):
    first = np.zeros(world.Y.shape[1])
    first[0] = times - 1
    heavy = world.but(tasks=world.b * (1 + first))
    columns = np.append(np.arange(world.Y.shape[1]), np.zeros(times - 1, dtype=int))
    both_certified(heavy, world.take_tasks(columns), rate=rate, alpha=alpha, oracle=EXACT[name][0])


# --- labels --------------------------------------------------------------------------------------


@holds(world=worlds(), kind=single_rates, alpha=alphas)
def test_labels_turned_round_swap_false_positives_and_false_negatives(world, kind, alpha):
    """The class of thresholds holds the opposite of each classifier."""
    turned = world.but(Y=1 - world.Y)
    known = [
        fit(each, alpha=alpha, rate=rate, oracle=StumpOracle(), solver=COLUMNS)
        for each, rate in ((world, kind), (turned, SWAP[kind]))
    ]
    assert_same_optimum(*(model.certificate_ for model in known))
    mine, theirs = chances(known[0], world), 1 - chances(known[0], world)
    np.testing.assert_allclose(
        individual_rates(world.Y, mine, kind, task_weight=world.b),
        individual_rates(turned.Y, theirs, SWAP[kind], task_weight=world.b),
        rtol=0,
        atol=1e-12,
    )


@holds(
    world=worlds(),
    rate=rates,
    oracle=oracles,
    solver=solvers,
    hidden=st.sampled_from([0.0, 1.0, 7.0, -3.5, np.inf]),
)
def test_what_is_under_a_blank_never_matters(world, rate, oracle, solver, hidden):
    if not np.isnan(world.Y).any():
        world = world.take_people([*range(len(world.X)), 0])
        world.Y[-1] = np.nan
    blank = np.isnan(world.Y)
    params = {"alpha": 0.1, "rate": rate, "oracle": oracle, "solver": solver}
    masked = np.ma.masked_array(np.where(blank, hidden, world.Y), blank)
    assert bits(fit(world, Y=masked, **params), world.X) == bits(fit(world, **params), world.X)


# --- features ------------------------------------------------------------------------------------


@holds(
    world=worlds(),
    rate=rates,
    alpha=alphas,
    bend=st.sampled_from([lambda x: 3 * x + 1, np.cbrt, np.sinh, lambda x: np.sign(x) * x * x]),
    solver=steady,
)
def test_thresholds_mind_the_order_of_features_alone(world, rate, alpha, bend, solver):
    x = np.clip(world.X, -30, 30)
    bent = bend(x)
    for before, after in zip(x.T, bent.T, strict=True):
        assume(len(np.unique(before)) == len(np.unique(after)))
    one, other = (
        fit(world.but(X=each), rate=rate, alpha=alpha, oracle=StumpOracle(), solver=solver)
        for each in (x, bent)
    )
    assert abs(one.error_ - other.error_) <= 1e-9
    np.testing.assert_allclose(one.common_rate_, other.common_rate_, rtol=0, atol=1e-9)
    rates = (model.individual_rates_[world.a > 0] for model in (one, other))
    np.testing.assert_allclose(*rates, rtol=0, atol=1e-9)
    # Thresholds lie halfway between people with a label, so other people may lie on either side.
    seen = ~np.isnan(world.Y) & (world.a > 0)[:, None]
    pair = (chances(model, world.but(X=each)) for model, each in ((one, x), (other, bent)))
    mine, theirs = pair
    np.testing.assert_allclose(mine[seen], theirs[seen], rtol=0, atol=1e-9)


@holds(
    world=worlds(), rate=rates, alpha=alphas, value=st.floats(-5, 5), data=st.data(), solver=steady
)
def test_columns_that_say_nothing_new_change_nothing(world, rate, alpha, value, data, solver):
    again = world.X[:, [data.draw(st.integers(0, world.X.shape[1] - 1))]]
    wide = np.column_stack([world.X, np.full(len(world.X), value), again])
    one, other = (
        fit(world.but(X=each), rate=rate, alpha=alpha, oracle=StumpOracle(), solver=solver)
        for each in (world.X, wide)
    )
    assert_same_outcome(one, other, 1e-12)
    np.testing.assert_allclose(
        one.decision_probability(world.X), other.decision_probability(wide), rtol=0, atol=1e-12
    )


# --- forms ---------------------------------------------------------------------------------------

FORMS = {
    "pandas": lambda cells, names: pd.DataFrame(cells, columns=names),
    "polars": lambda cells, names: pl.DataFrame(cells, schema=names),
    "lists": lambda cells, names: np.where(np.isnan(cells), None, cells.astype(object)).tolist(),
    "columns first": lambda cells, names: np.asfortranarray(cells),
    "a view": lambda cells, names: np.repeat(cells, 2, axis=0)[::2],
}


@holds(
    world=worlds(),
    rate=rates,
    oracle=oracles,
    solver=solvers,
    forms=st.tuples(*[st.sampled_from(sorted(FORMS))] * 2),
)
def test_the_form_of_a_table_does_not_matter(world, rate, oracle, solver, forms):
    params = {"alpha": 0.1, "rate": rate, "oracle": oracle, "solver": solver}
    columns = [f"x{k}" for k in range(world.X.shape[1])]
    tasks = [f"task{j}" for j in range(world.Y.shape[1])]  # the names of unnamed tasks
    X, Y = FORMS[forms[0]](world.X, columns), FORMS[forms[1]](world.Y, tasks)
    plain = fit(world, **params)
    other = fit(world, X=X, Y=Y, **params)
    assert plain.task_names_ == other.task_names_
    assert bits(other, X) == bits(plain, world.X)


@holds(world=worlds(tasks=1), rate=rates, oracle=oracles, solver=solvers)
def test_one_task_may_be_a_column_or_a_vector(world, rate, oracle, solver):
    world = world.take_tasks([0]).but(tasks=None)
    assume(constrained(world, "error").any())
    params = {"alpha": 0.1, "rate": rate, "oracle": oracle, "solver": solver}
    table, flat = fit(world, **params), fit(world, Y=world.Y[:, 0], **params)
    assert flat.predict(world.X).shape == (len(world.X),)
    np.testing.assert_array_equal(flat.predict(world.X), table.predict(world.X)[:, 0])
    assert_same_outcome(flat, table, 0.0)


@holds(world=worlds(), kind=single_rates, alpha=alphas, oracle=oracles, solver=solvers)
def test_a_list_of_one_rate_is_that_rate(world, kind, alpha, oracle, solver):
    params = {"alpha": alpha, "oracle": oracle, "solver": solver}
    one, many = fit(world, rate=kind, **params), fit(world, rate=[kind], **params)
    assert many.common_rate_ == (one.common_rate_,)
    np.testing.assert_array_equal(many.individual_rates_[:, 0], one.individual_rates_)
    assert many.error_ == one.error_
    np.testing.assert_array_equal(chances(many, world), chances(one, world))
