"""Properties of the mapping and of draws: decisions for any task, always the same."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from averagefair import ColumnGeneration, RegressionOracle, StumpOracle
from tests.support.generated import (
    EXACT,
    FEW_COLUMNS,
    LINEAR,
    OTHER,
    alphas,
    exact,
    fit,
    holds,
    labels,
    oracles,
    quietly,
    rates,
    solvers,
    worlds,
)
from tests.support.judges import COUNTS
from tests.support.property_judges import constrained, costs_by_hand, names_of, stake_of

# These oracles always answer a question in the same way, whatever they were asked before.
steady = st.sampled_from(
    [StumpOracle(), EXACT["listed"][0], RegressionOracle(), RegressionOracle(l2=0.5)]
)
seeds = st.integers(0, 2**31 - 2)


def chance_table(model, X):
    return model.decision_probability(X).reshape(len(X), -1)


def draw_table(model, X, ids=None):
    return model.predict(X, ids=ids).reshape(len(X), -1)


@holds(world=worlds(), rate=rates, alpha=alphas, oracle=steady, solver=solvers)
def test_training_labels_give_back_the_classifiers_of_training(world, rate, alpha, oracle, solver):
    """Without chances of their own, training tasks are tasks like any other."""
    if isinstance(solver, ColumnGeneration):
        solver = replace(solver, blocks=1)
    model = fit(world, rate=rate, alpha=alpha, oracle=oracle, solver=solver)
    again = quietly(model.extend, world.Y, task_names=model.task_names_)
    np.testing.assert_array_equal(again.decision_probability(world.X), chance_table(model, world.X))
    np.testing.assert_array_equal(again.predict(world.X), draw_table(model, world.X))


@holds(world=worlds(), oracle=steady, solver=solvers, data=st.data())
def test_later_tasks_do_not_depend_on_each_other(world, oracle, solver, data):
    """Tasks alone, or in another order, get the same answers as together."""
    model = fit(world, alpha=0.1, oracle=oracle, solver=solver)
    later = data.draw(labels(len(world.X), data.draw(st.integers(1, 5))))
    names = [f"later {j}" for j in range(later.shape[1])]
    some = data.draw(st.lists(st.integers(0, len(names) - 1), min_size=1, unique=True))
    whole = quietly(model.extend, later, task_names=names)
    part = quietly(model.extend, later[:, some], task_names=[names[j] for j in some])
    # The sums may have another order, because equal classifiers of all tasks are added first.
    np.testing.assert_allclose(
        part.decision_probability(world.X),
        whole.decision_probability(world.X)[:, some],
        rtol=0,
        atol=1e-12,
    )
    np.testing.assert_array_equal(part.predict(world.X), whole.predict(world.X)[:, some])


@holds(world=worlds(), rate=rates, alpha=alphas, name=exact, solver=solvers, data=st.data())
def test_the_mapping_answers_each_round_as_the_paper_says(world, rate, alpha, name, solver, data):
    """Brute force: the class's cheapest for each w_k, at prices a / rho^err + sum of e w / rho."""
    oracle, decide = EXACT[name]
    model = fit(world, rate=rate, alpha=alpha, oracle=oracle, solver=solver)
    later = data.draw(labels(len(world.X), 3))
    signs = np.where(np.isnan(later), 0, 1 - 2 * later)
    observed = np.array(
        [sum(world.b[j] for j, y in enumerate(row) if y in (0, 1)) for row in world.Y]
    )
    held, n = constrained(world, rate), len(world.X)
    a = np.where((observed > 0) & (world.a > 0), world.a, 0.0)
    a, share = a / a.sum(), world.b.sum()
    for w in model.mapping_.weights:
        price = {
            y: np.where(a > 0, a / np.where(observed > 0, observed / share, 1), 0) for y in (0, 1)
        }
        for k, kind in enumerate(names_of(rate)):
            counted = np.array(
                [sum(world.b[j] for j, y in enumerate(row) if y in COUNTS[kind]) for row in world.Y]
            )
            mine = np.where(
                held[:, k], w[k * n : (k + 1) * n] / np.where(counted > 0, counted / share, 1), 0
            )
            for y in COUNTS[kind]:
                price[y] = price[y] + mine
        one = replace(model.mapping_, weights=w[None], mixture=np.ones(1), constants=(0.0, 0.0))
        found = quietly(one.extend, later).decision_probability(world.X)
        own = costs_by_hand(signs, price[0], price[1], found)
        rivals = [
            costs_by_hand(signs, price[0], price[1], np.tile(rival[:, None], (1, 3)))
            for rival in decide(world.X)
        ]
        rounding = 1e-9 * stake_of(signs, price[0], price[1]) + 1e-300
        assert (np.abs(own - np.min(rivals, axis=0)) <= rounding).all()


@holds(world=worlds(), alpha=alphas, oracle=oracles, solver=solvers, r=st.integers(1, 9))
def test_a_sparse_sample_has_chances_in_steps_of_one_in_r(world, alpha, oracle, solver, r):
    model = fit(world, alpha=alpha, oracle=oracle, solver=solver)
    thin = model.mapping_.sparsify(r, random_state=3)
    parts = np.append(thin.mixture, thin.constants)
    assert abs(parts.sum() - 1) < 1e-12
    np.testing.assert_allclose(parts * r, np.round(parts * r), atol=1e-9)
    known = {row.tobytes() for row in model.mapping_.weights}
    assert all(row.tobytes() in known for row in thin.weights)
    assert all(
        q == 0 or whole > 0
        for q, whole in zip(thin.constants, model.mapping_.constants, strict=True)
    )
    chance = quietly(thin.extend, world.Y).decision_probability(world.X)
    np.testing.assert_allclose(chance * r, np.round(chance * r), atol=1e-9)


@holds(world=worlds(8), oracle=oracles, solver=solvers, seed=seeds, data=st.data())
def test_draws_do_not_depend_on_order_batch_or_repetition(world, oracle, solver, seed, data):
    model = fit(world, alpha=0.1, oracle=oracle, solver=solver, random_state=seed)
    n = len(world.X)
    ids = data.draw(st.one_of(st.none(), st.permutations([f"person {i}" for i in range(n)])))
    rows = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=2 * n))
    whole = draw_table(model, world.X, ids)
    some = draw_table(model, world.X[rows], None if ids is None else [ids[i] for i in rows])
    np.testing.assert_array_equal(some, whole[rows])
    np.testing.assert_array_equal(draw_table(model, world.X, ids), whole)


@holds(world=worlds(8), oracle=oracles, seed=seeds, data=st.data())
def test_who_has_the_higher_chance_is_never_drawn_lower(world, oracle, seed, data):
    """An id and a task determine the drawn number; features change only the chance."""
    model = fit(world, alpha=0.03, oracle=oracle, solver=FEW_COLUMNS, random_state=seed)
    n = len(world.X)
    order = data.draw(st.permutations(range(n)))
    ids = [f"person {i}" for i in range(n)]
    now, then = world.X, world.X[list(order)]
    chance, later = chance_table(model, now), chance_table(model, then)
    drawn, redrawn = draw_table(model, now, ids), draw_table(model, then, ids)
    assert (drawn <= redrawn)[chance <= later].all()
    assert (drawn >= redrawn)[chance >= later].all()
    assert (drawn[chance == 0] == 0).all()
    assert (drawn[chance == 1] == 1).all()


@holds(world=worlds(), oracle=steady, solver=solvers, seed=seeds, data=st.data())
def test_a_draw_goes_by_the_name_of_the_task(world, oracle, solver, seed, data):
    """Tasks in another order, with their names, get the same draws."""
    model = fit(world, alpha=0.05, oracle=oracle, solver=solver, random_state=seed)
    m = world.Y.shape[1]
    names = [f"task {j}" for j in range(m)]
    order = list(data.draw(st.permutations(range(m))))
    one = quietly(model.extend, world.Y, task_names=names)
    two = quietly(model.extend, world.Y[:, order], task_names=[names[j] for j in order])
    np.testing.assert_array_equal(two.predict(world.X), one.predict(world.X)[:, order])


@holds(0.6, world=worlds(4, 3), alpha=st.sampled_from([0.02, 0.1]), oracle=oracles, seed=seeds)
def test_decisions_come_out_as_often_as_their_chance_says(world, alpha, oracle, seed):
    """Two tasks of a person are independent; Hoeffding's bound, wrong once in 1e12."""
    model = fit(world, alpha=alpha, oracle=oracle, solver=FEW_COLUMNS, random_state=seed)
    copies = 4000
    most = np.sqrt(np.log(2e12) / (2 * copies))
    for i, chance in enumerate(chance_table(model, world.X)):
        X = np.tile(world.X[i], (copies, 1))
        drawn = draw_table(model, X, [f"{i}-{k}" for k in range(copies)]).astype(float)
        assert (np.abs(drawn.mean(axis=0) - chance) <= most).all()
        both = drawn.T @ drawn / copies
        apart = ~np.eye(len(chance), dtype=bool)
        assert (np.abs(both - np.outer(chance, chance)) <= most)[apart].all()


@holds(world=worlds(), seed=seeds, other=seeds)
def test_another_seed_changes_draws_and_nothing_else(world, seed, other):
    one, two = (fit(world, alpha=0.02, oracle=StumpOracle(), random_state=s) for s in (seed, other))
    np.testing.assert_array_equal(chance_table(one, world.X), chance_table(two, world.X))
    np.testing.assert_array_equal(one.individual_rates_, two.individual_rates_)
    assert one.error_ == two.error_
    if one.seed_ == two.seed_:
        np.testing.assert_array_equal(draw_table(one, world.X), draw_table(two, world.X))


@holds(0.5, world=worlds(), data=st.data(), name=st.sampled_from([*LINEAR, *OTHER]))
def test_later_tasks_of_heuristic_oracles_are_decided_within_their_chances(world, data, name):
    oracle = (LINEAR | OTHER)[name]
    model = fit(world, alpha=0.1, oracle=oracle, solver=FEW_COLUMNS)
    later = quietly(model.extend, data.draw(labels(len(world.X), 2)))
    chance = later.decision_probability(world.X)
    assert ((chance >= 0) & (chance <= 1)).all()
    drawn = later.predict(world.X)
    assert (drawn[chance == 0] == 0).all()
    assert (drawn[chance == 1] == 1).all()
