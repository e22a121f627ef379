"""Properties of files: a saved model loads equal to the last bit."""

import numpy as np
from hypothesis import strategies as st

from averagefair import ColumnGeneration, StumpOracle, load, save
from tests.support.generated import (
    LINEAR,
    alphas,
    fit,
    holds,
    labels,
    quietly,
    rates,
    solvers,
    worlds,
)

# These exclude oracles of arbitrary code and trees, which are not saved.
storable = st.sampled_from([StumpOracle(), *LINEAR.values()])


def there_and_back(model, folder, **options):
    path = folder.getbasetemp() / "generated.model"
    save(model, path, **options)
    return load(path)


def assert_decide_alike(one, other, X):
    ids = [f"person {i}" for i in range(len(X))]
    np.testing.assert_array_equal(one.decision_probability(X), other.decision_probability(X))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.predict(X, ids=ids), other.predict(X, ids=ids))


@holds(world=worlds(), rate=rates, alpha=alphas, oracle=storable, solver=solvers)
def test_a_model_decides_alike_after_it_was_saved(
    world, rate, alpha, oracle, solver, tmp_path_factory
):
    model = fit(world, rate=rate, alpha=alpha, oracle=oracle, solver=solver)
    back = there_and_back(model, tmp_path_factory)
    assert_decide_alike(model, back, world.X)
    assert str(back.certificate_) == str(model.certificate_)
    assert back.error_ == model.error_
    assert back.common_rate_ == model.common_rate_
    assert (back.task_names_, back.seed_) == (model.task_names_, model.seed_)
    assert back.score(world.X, world.Y) == model.score(world.X, world.Y)


@holds(
    world=worlds(),
    rate=rates,
    oracle=storable,
    solver=solvers,
    data=st.data(),
    beta=st.sampled_from([0.0, 0.3]),
)
def test_an_extendable_model_extends_alike_after_it_was_saved(
    world, rate, oracle, solver, data, beta, tmp_path_factory
):
    exceptions = {"beta": beta} if isinstance(solver, ColumnGeneration) else {}
    model = fit(world, rate=rate, alpha=0.1, oracle=oracle, solver=solver, **exceptions)
    back = there_and_back(model, tmp_path_factory, extendable=True)
    later = data.draw(labels(len(world.X), 2))
    one, other = (quietly(each.extend, later) for each in (model, back))
    assert one.task_names == other.task_names
    assert_decide_alike(one, other, world.X)
    assert_decide_alike(one, there_and_back(one, tmp_path_factory), world.X)
