"""A Dask cluster of two processes gives the local answer, and survives the loss of a process."""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    ExponentiatedGradient,
    InputError,
    RegressionOracle,
    StumpOracle,
    frontier,
    held_out,
    save,
)
from averagefair.datasets import make_synthetic
from tests.oracles import test_feature_map as maps

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

# The interpreter cleans up Dask's own threads and sockets later.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def people():
    return make_synthetic(n=500, m=12, n_holdout=60, m_holdout=6, random_state=3)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_notebooks_function_reaches_the_workers(client):
    notebook = {"__name__": "__main__"}  # so that functions are sent by value
    exec(
        "import averagefair as af\ndef work(Y): return float(af.individual_rates(Y, 1 - Y).min())",
        notebook,
    )
    assert client.submit(notebook["work"], np.eye(3)).result() == 1.0


def chunked(array, rows):
    return da.from_array(array, chunks=(rows, -1))


def with_blanks(labels):
    out = labels.astype(float)
    out[np.random.default_rng(0).uniform(size=out.shape) < 0.1] = np.nan
    return out


SOLVERS = {
    "averages": ExponentiatedGradient.published(6),
    "batches": ExponentiatedGradient(max_rounds=3, batch_size=4, resample=True, replay=False),
    "columns": ColumnGeneration(max_rounds=2, reweightings=1, blocks=4, mapping_rounds=1),
}
BOTH = ["false_positive", "false_negative"]
CASES = [("error", "averages"), ("error", "batches"), (BOTH, "columns")]
CASES += [pytest.param(BOTH, name, marks=pytest.mark.long) for name in ("averages", "batches")]
CASES += [pytest.param("error", "columns", marks=pytest.mark.long)]


@pytest.mark.parametrize(("rate", "solver"), CASES, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_answer_is_this_machines(client, people, rate, solver):
    labels, solver = with_blanks(people.Y), SOLVERS[solver]
    weight = np.random.default_rng(1).integers(0, 3, len(labels))
    models = [
        AverageFairClassifier(
            alpha=0.2, rate=rate, solver=solver, decisions="drawn", random_state=0
        ).fit(X, Y, sample_weight=weight)
        for X, Y in ((people.X, labels), (chunked(people.X, 130), chunked(labels, 200)))
    ]
    here, there = models
    assert there.error_ == pytest.approx(here.error_, abs=1e-9)
    np.testing.assert_allclose(there.individual_rates_, here.individual_rates_, atol=1e-9)
    np.testing.assert_allclose(
        there.decision_probability(people.X_new), here.decision_probability(people.X_new)
    )


@pytest.mark.parametrize(("rate", "solver"), [("error", "averages"), (BOTH, "columns")], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fixed_decisions_are_this_machines(client, people, rate, solver):
    labels, solver = with_blanks(people.Y), SOLVERS[solver]
    if isinstance(solver, ColumnGeneration):
        # With a block for each task, both choose for single tasks; else a cluster does for blocks.
        solver = replace(solver, blocks=12)
    options = {"rate": rate, "solver": solver, "decisions": "fixed", "random_state": 0}
    here = AverageFairClassifier(alpha=0.2, **options).fit(people.X, labels)
    there = AverageFairClassifier(alpha=0.2, **options)
    there.fit(chunked(people.X, 130), chunked(labels, 200))
    expected = here.predict(people.X_new)
    np.testing.assert_array_equal(there.predict(chunked(people.X_new, 25)).compute(), expected)
    np.testing.assert_array_equal(here.decision_probability(people.X_new), expected)
    np.testing.assert_allclose(there.individual_rates_, here.individual_rates_, atol=1e-9)
    assert there.certificate_.met == here.certificate_.met
    expected = here.extend(people.Y_new_tasks).predict(people.X_new)
    later = there.extend(chunked(people.Y_new_tasks, 90))
    np.testing.assert_array_equal(later.predict(people.X_new), expected)


@pytest.fixture(scope="module")
def models(client, people):
    solver = ExponentiatedGradient.published(4)
    settings = {"alpha": 0.2, "solver": solver, "random_state": 0}
    here = AverageFairClassifier(**settings).fit(people.X, people.Y)
    there = AverageFairClassifier(**settings).fit(chunked(people.X, 170), chunked(people.Y, 170))
    return here, there


def test_decisions_are_made_where_people_are(models, people):
    here, there = models
    new, ids = chunked(people.X_new, 25), np.arange(60)
    lazy = there.decision_probability(new)
    assert lazy.shape == (60, 12)
    np.testing.assert_allclose(lazy.compute(), here.decision_probability(people.X_new))
    assert (there.predict(new).compute() == here.predict(people.X_new)).all()
    drawn = there.predict(new, ids=ids)
    assert (drawn.compute() == here.predict(people.X_new, ids=ids)).all()


def test_new_tasks(models, people):
    here, there = models
    expected = here.extend(people.Y_new_tasks).decision_probability(people.X_new)
    for labels in (people.Y_new_tasks, chunked(people.Y_new_tasks, 90)):
        found = there.extend(labels)
        np.testing.assert_allclose(found.decision_probability(people.X_new), expected)
        assert found.task_names == there.extend(labels).task_names
        assert len(set(found.task_names)) == 6


def test_held_out_and_score(models, people):
    here, there = models
    test = held_out(there, Y_new_tasks=chunked(people.Y_new_tasks, 100))
    np.testing.assert_allclose(
        test.tasks.rates, held_out(here, Y_new_tasks=people.Y_new_tasks).tasks.rates
    )
    score = there.score(chunked(people.X_new, 25), chunked(people.Y_new_people, 25))
    assert score == pytest.approx(here.score(people.X_new, people.Y_new_people))


def test_data_frames_bring_their_names(client, people):
    dd = pytest.importorskip("dask.dataframe")
    features = pd.DataFrame(people.X).rename(columns=lambda place: f"x{place}")
    labels = pd.DataFrame(people.Y).rename(columns=lambda place: f"loan {place}")
    model = AverageFairClassifier(alpha=0.2, solver=SOLVERS["averages"], random_state=0)
    model.fit(dd.from_pandas(features, npartitions=3), dd.from_pandas(labels, npartitions=2))
    assert model.task_names_ == tuple(labels.columns)
    expected = AverageFairClassifier(alpha=0.2, solver=SOLVERS["averages"], random_state=0)
    expected.fit(features, labels)
    assert model.error_ == pytest.approx(expected.error_, abs=1e-9)
    new = pd.DataFrame(people.X_new, columns=features.columns)
    np.testing.assert_allclose(model.decision_probability(new), expected.decision_probability(new))
    swapped = new[new.columns[::-1]]
    with pytest.raises(ValueError, match="feature names should match"):
        model.decision_probability(swapped)
    for asked in (swapped, dd.from_pandas(swapped, npartitions=2)):
        with pytest.raises(InputError, match="in the same order; the order differs"):
            model.classifiers_.decision_probability(asked)
    others = labels.set_index(labels.index + 1000)
    with pytest.raises(InputError, match="same individuals in the same order; at row 0"):
        model.fit(dd.from_pandas(features, npartitions=3), dd.from_pandas(others, npartitions=3))
    with pytest.raises(InputError, match="same individuals in the same order; at row 0"):
        model.extend(others.iloc[:, :2])


def test_a_cluster_that_is_gone(people, client):
    with (
        distributed.LocalCluster(
            n_workers=1, processes=False, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster, set_as_default=True),
    ):
        model = AverageFairClassifier(alpha=0.2, solver=SOLVERS["averages"], random_state=0)
        model.fit(chunked(people.X, 250), chunked(people.Y, 250))
    assert model.predict(people.X_new).shape == (60, 12)
    with pytest.raises(InputError, match="a Dask cluster whose client has stopped"):
        model.extend(people.Y_new_tasks)


def test_a_curve(client, people):
    curve = frontier(
        chunked(people.X, 250),
        chunked(people.Y, 250),
        [0.1, 0.2],
        oracle=RegressionOracle(),
        solver=SOLVERS["columns"],
        decisions="drawn",
    )
    assert [point.certificate.met for point in curve] == [True, True]
    assert curve[0].error >= curve[1].error - 1e-9


def test_a_worker_is_lost_in_the_middle(client, people):
    """The worker's rows are read again from their source; the fit goes on with the same answer."""
    rounds = []

    def lose_a_worker(now):
        rounds.append(now.round)
        if now.round == 5:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    settings = {"alpha": 0.2, "solver": ExponentiatedGradient.published(12), "random_state": 0}
    here = AverageFairClassifier(**settings).fit(people.X, people.Y)
    there = AverageFairClassifier(**settings, callback=lose_a_worker)
    there.fit(chunked(people.X, 125), chunked(people.Y, 125))
    assert rounds == list(range(1, 13))
    assert there.certificate_.trouble == ""
    np.testing.assert_allclose(there.individual_rates_, here.individual_rates_, atol=1e-9)


def test_bad_cells_are_named_by_their_row(client, people):
    labels, features = people.Y.astype(float), people.X.copy()
    labels[300, 4], features[301, 2] = 7.0, np.nan
    with pytest.raises(InputError, match="row 300, task 'task4' holds 7"):
        AverageFairClassifier().fit(chunked(people.X, 125), chunked(labels, 125))
    with pytest.raises(InputError, match="row 301, column 2 is NaN"):
        AverageFairClassifier().fit(chunked(features, 125), chunked(people.Y, 125))


def test_what_is_refused(client, people, models, tmp_path):
    X, Y = chunked(people.X, 250), chunked(people.Y, 250)
    with pytest.raises(InputError, match=r"both be Dask collections, or neither; Y is ndarray"):
        AverageFairClassifier().fit(X, people.Y)
    with pytest.raises(InputError, match="one row for each individual; got 500 rows of X"):
        AverageFairClassifier().fit(X, Y[:-1])
    with pytest.raises(InputError, match="must be a Dask array or DataFrame; got Delayed"):
        AverageFairClassifier().fit(X, dask.delayed(people.Y))
    with pytest.raises(InputError, match=r"StumpOracle needs .* are in a Dask cluster"):
        AverageFairClassifier(oracle=StumpOracle()).fit(X, Y)
    with pytest.raises(InputError, match="on the workers of a Dask cluster"):
        save(models[1], tmp_path / "fair.model", extendable=True)
    with pytest.raises(InputError, match=r"'tf32' needs .* on an NVIDIA GPU"):
        AverageFairClassifier(dtype="tf32").fit(X, Y)


def test_without_a_client(people, monkeypatch):
    def nobody(*args, **kwargs):
        raise ValueError("no client")

    monkeypatch.setattr(distributed, "get_client", nobody)
    with pytest.raises(InputError, match=r"running Dask client; there is none\. Start one first"):
        AverageFairClassifier().fit(chunked(people.X, 250), chunked(people.Y, 250))


# Feature maps, which are sent between processes.


@pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_feature_map_is_this_machines(client):
    X, Y, weights, X_new = maps.X, maps.Y, maps.WEIGHTS, maps.X_NEW
    labels = {"X_new": X_new, "Y_new_people": maps.Y_NEW, "Y_new_tasks": maps.Y_LATER}

    def parts(array):
        return chunked(array, 50)

    oracle = make_pipeline(SplineTransformer(), StandardScaler(), RegressionOracle())
    few = {"solver": ExponentiatedGradient.published(2)}
    here = maps.fair(oracle, **few).fit(X, Y, sample_weight=weights)
    there = maps.fair(oracle, **few).fit(parts(X), parts(Y), sample_weight=weights)
    assert there.error_ == pytest.approx(here.error_, abs=1e-9)
    np.testing.assert_allclose(there.individual_rates_, here.individual_rates_, atol=1e-9)
    wanted = here.decision_probability(X_new)
    np.testing.assert_allclose(there.decision_probability(X_new), wanted)
    np.testing.assert_allclose(there.decision_probability(parts(X_new)).compute(), wanted)
    assert (there.predict(parts(X_new)).compute() == here.predict(X_new)).all()
    later = here.extend(maps.Y_LATER).decision_probability(X_new)
    for tasks in (maps.Y_LATER, parts(maps.Y_LATER)):
        np.testing.assert_allclose(there.extend(tasks).decision_probability(X_new), later)
    assert there.score(parts(X_new), parts(maps.Y_NEW)) == pytest.approx(
        here.score(X_new, maps.Y_NEW)
    )
    found = held_out(there, **labels)
    test = held_out(here, **labels)
    np.testing.assert_allclose(found.people.rates, test.people.rates)
    np.testing.assert_allclose(found.tasks.rates, test.tasks.rates)
    broken = X.copy()
    broken[60, 1] = -1.0
    logs = maps.through(FunctionTransformer(maps.undefined_at_minus_one))
    with pytest.raises(InputError, match="for row 60 of X it made nan"):
        maps.fair(logs).fit(parts(broken), parts(Y))
