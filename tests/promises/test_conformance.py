"""What every promise must do; a new promise is one row in tests/support/promise_table.py."""

from __future__ import annotations

import json
import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from sklearn.base import clone

import averagefair
from averagefair import (
    AverageFairClassifier,
    Certificate,
    ColumnGeneration,
    InputError,
    RegressionOracle,
    StumpOracle,
    frontier,
    load,
    save,
)
from averagefair.datasets import make_synthetic
from averagefair.game.promises import PROMISES, promise_from_dict
from tests.contracts.test_array_libraries import known
from tests.support.judges import plain_rates, stump_decisions
from tests.support.promise_programs import FullProgram
from tests.support.promise_table import (
    EXPECTED,
    ROWS,
    Case,
    assert_fixed,
    assert_kept,
    assert_optimal,
    figures,
    harm_caps,
    objective,
)
from tests.support.tiny_fits import labelled

BOTH = ["false_positive", "false_negative"]
HARMLESS = 0.2
NAMES = [*ROWS, *(f"{name}, no harm" for name in ROWS)]
VARIED = [name for name, row in ROWS.items() if row.path]
# Each promise without no_harm for one rate, and with no_harm for two; the others are long.
PROMISES_AND_RATES = [
    pytest.param(
        name,
        rate,
        marks=() if (name in ROWS) == (rate == "error") else pytest.mark.long,
        id=f"{name}-{rate}",
    )
    for name in NAMES
    for rate in ("error", BOTH)
]
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::averagefair.errors.{kind.__name__}") for kind in EXPECTED
]


def example(name):
    """Return a row, and its example with or without no_harm."""
    kind, *harmless = name.split(", no harm")
    row = ROWS[kind]
    return row, replace(row.example, no_harm=HARMLESS) if harmless else row.example


def tables(n=14, m=5):
    return labelled(seed=3, n=n, m=m, d=2)


def case(X, Y, people=None, rate="error"):
    people = np.ones(len(X)) if people is None else people
    tasks = np.ones(Y.shape[1])
    program = FullProgram(Y, stump_decisions(X), rate, people, tasks)
    return Case(X, Y, people, tasks, rate, StumpOracle(), program)


@pytest.fixture(scope="module")
def fitted():
    """Return a function that fits each example once."""
    found = {}

    def fit(name):
        if name not in found:
            found[name] = case(*tables()).fit(example(name)[1])
        return found[name]

    return fit


def test_the_table_has_every_promise():
    assert {type(row.example) for row in ROWS.values()} == set(PROMISES.values())
    for kind in PROMISES.values():
        assert getattr(averagefair, kind.__name__) is kind


@pytest.mark.parametrize(("name", "rate"), PROMISES_AND_RATES)
def test_is_met_and_the_certificate_holds_the_optimum(name, rate):
    row, promise = example(name)
    # False positives of a cap that suits errors may be impossible to keep.
    promise = promise if rate == "error" else _easier(promise)
    here = case(*tables(), rate=rate)
    model, harm = here.fit(promise), harm_caps(here, promise, None)
    verdict = row.judge(here.program, promise, harm, False)
    assert verdict.excess < 1e-9
    assert_kept(row, promise, here, model, harm)
    assert_optimal(promise, here, model, verdict)
    assert model.promise_ == promise == model.certificate_.promise
    assert promise.words() in str(model.certificate_)


@pytest.mark.parametrize(("name", "rate"), PROMISES_AND_RATES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fixed_decisions_say_whether_they_keep_it(name, rate):
    row, promise = example(name)
    promise = promise if rate == "error" else _easier(promise)
    here = case(*tables(), rate=rate)
    model, harm = here.fit(promise, decisions="fixed"), harm_caps(here, promise, None)
    verdict = row.judge(here.program, promise, harm, False)
    if assert_fixed(row, promise, here, model, harm) and row.path:
        # Fixed decisions are chances too, so they are no better than the best chances.
        assert objective(promise, here, model) >= verdict.optimum - 1e-5
    assert model.certificate_.met_on_average
    assert model.certificate_.lower <= verdict.highest + 1e-6


def _easier(promise):
    return promise.at(0.45) if promise.parameter == "max_rate" else promise


class TestAsValues:
    @pytest.mark.parametrize("name", NAMES)
    def test_round_trip(self, name):
        _, promise = example(name)
        facts = json.loads(json.dumps(promise.to_dict()))
        assert promise_from_dict(facts) == promise
        assert eval(repr(promise), dict(vars(averagefair)) | _public()) == promise
        assert pickle.loads(pickle.dumps(promise)) == promise
        assert hash(promise) == hash(promise_from_dict(facts))

    @pytest.mark.parametrize("name", NAMES)
    def test_frozen(self, name):
        _, promise = example(name)
        with pytest.raises(FrozenInstanceError):
            promise.no_harm = 0.5

    @pytest.mark.parametrize("name", NAMES)
    def test_own_figure(self, name):
        row, promise = example(name)
        if not row.path:
            assert promise.parameter == ""
            assert np.isnan(promise.value)
            with pytest.raises(InputError, match="no figure to vary"):
                promise.at(0.1)
            return
        easy, *_, hard = (promise.at(value) for value in row.path)
        assert easy.alike(hard)
        assert easy.hardness < hard.hardness
        assert easy.no_harm == hard.no_harm == promise.no_harm
        assert not easy.alike(replace(hard, no_harm=0.37))
        assert promise.at(promise.value) == promise

    @pytest.mark.parametrize("name", NAMES)
    def test_others_differ(self, name):
        _, promise = example(name)
        others = [example(other)[1] for other in NAMES if other != name]
        assert promise not in others

    @pytest.mark.parametrize("name", NAMES)
    def test_numbers_of_any_kind(self, name):
        _, promise = example(name)
        facts = promise.to_dict()
        kind = PROMISES[facts.pop("kind")]
        single = {
            key: np.float64(value) if isinstance(value, float) else value
            for key, value in facts.items()
        }
        again = kind(**single)
        assert again == promise
        assert all(type(value) in (float, int, type(None)) for value in vars(again).values())


def _public():
    return {name: getattr(averagefair, name) for name in averagefair.__all__}


# Minimax solves several programs, and no_harm adds nothing to these uses of a model.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name == "minimax, no harm" else ())
        for name in NAMES
    ],
)
class TestAFittedModel:
    def test_certificate_round_trip(self, name, fitted):
        certificate = fitted(name).certificate_
        facts = json.loads(json.dumps(certificate.to_dict()))
        again = Certificate.from_dict(facts)
        assert again.to_dict() == certificate.to_dict()
        assert str(again) == str(certificate)
        assert again.met is certificate.met is facts["met"] is True

    @pytest.mark.parametrize("extendable", [False, True])
    def test_save_and_load(self, name, fitted, extendable, tmp_path):
        model, (X, Y) = fitted(name), tables()
        model = model if not extendable else _regression(name)
        save(model, tmp_path / "fair.model", extendable=extendable)
        again = load(tmp_path / "fair.model")
        assert again.promise_ == model.promise_
        assert again.certificate_.to_dict() == model.certificate_.to_dict()
        np.testing.assert_array_equal(again.decision_probability(X), model.decision_probability(X))
        if extendable:
            np.testing.assert_allclose(
                again.extend(Y[:, :2]).decision_probability(X),
                model.extend(Y[:, :2]).decision_probability(X),
                atol=1e-12,
            )

    def test_clone_and_pickle(self, name, fitted):
        model, (X, Y) = fitted(name), tables()
        other = clone(model).fit(X, Y)
        np.testing.assert_array_equal(other.decision_probability(X), model.decision_probability(X))
        again = pickle.loads(pickle.dumps(model))
        assert again.certificate_.to_dict() == model.certificate_.to_dict()

    def test_duplicates_are_weights(self, name):
        X, Y = tables(n=9)
        row, promise = example(name)
        promise = _easier(promise)
        twice, weighted = np.repeat(np.arange(9), 1 + np.arange(9) % 2), 1.0 + np.arange(9) % 2
        rows, weights = case(X[twice], Y[twice]), case(X, Y, weighted)
        first, second = rows.fit(promise), weights.fit(promise)
        harm = harm_caps(rows, promise, None)
        assert_kept(row, promise, rows, first, harm)
        assert_kept(row, promise, weights, second, harm_caps(weights, promise, None))
        assert objective(promise, rows, first) == pytest.approx(
            objective(promise, weights, second), abs=2e-5
        )
        if name.startswith("minimax") or promise.less_is_easier:
            return
        found = [one.certificate_.reached for one in (first, second)]
        assert max(found) <= promise.value + 1e-6

    def test_order_of_people(self, name, fitted):
        X, Y = tables()
        row, promise = example(name)
        order = np.random.default_rng(0).permutation(len(X))
        there = case(X[order], Y[order])
        model = there.fit(promise)
        assert_kept(row, promise, there, model, harm_caps(there, promise, None))
        here = objective(promise, case(X, Y), fitted(name))
        assert objective(promise, there, model) == pytest.approx(here, abs=2e-5)

    def test_fit_twice_is_fit_once(self, name, fitted):
        model, (X, Y) = deepcopy(fitted(name)), tables()
        first = model.decision_probability(X)
        np.testing.assert_array_equal(model.fit(X, Y).decision_probability(X), first)

    # Each library is tried with half of the promises; the other half is long.
    @pytest.mark.parametrize("other", [False, pytest.param(True, marks=pytest.mark.long)])
    def test_data_frames(self, name, fitted, other):
        library = "pandas" if (NAMES.index(name) % 2 == 0) != other else "polars"
        frames, (X, Y) = pytest.importorskip(library), tables()
        columns, tasks = ["height", "weight"], [f"task {j}" for j in range(Y.shape[1])]
        X_frame = frames.DataFrame(dict(zip(columns, X.T, strict=True)))
        Y_frame = frames.DataFrame(dict(zip(tasks, Y.T, strict=True)))
        model = clone(fitted(name)).fit(X_frame, Y_frame)
        assert model.task_names_ == tuple(tasks)
        np.testing.assert_array_equal(
            np.asarray(model.decision_probability(X_frame)), fitted(name).decision_probability(X)
        )
        assert _figures(model) == _figures(fitted(name))

    def test_short_form(self, name, fitted):
        """The estimator's own parameters promise the same as the object."""
        _, promise = example(name)
        X, Y = tables()
        facts = promise.to_dict()
        kind = facts.pop("kind")
        if kind == "Minimax":
            pytest.skip("Minimax has no short form")
        if kind == "WorstOff":
            facts["worst_off"] = facts.pop("share")
        model = clone(fitted(name)).set_params(promise=None, **facts).fit(X, Y)
        assert model.promise_ == promise
        np.testing.assert_array_equal(
            model.decision_probability(X), fitted(name).decision_probability(X)
        )


LIBRARIES = [
    *((library, "drawn") for library in ("torch", "array_api_strict", "cupy")),
    *((library, "fixed") for library in ("torch", "cupy")),
]
# Without a GPU, each promise is tried once with and once without no_harm; the others are long.
QUICK = [
    *((name, "torch", "fixed") for name in ROWS),
    *((f"{name}, no harm", "array_api_strict", "drawn") for name in VARIED),
    *((name, "cupy", decisions) for name in NAMES for decisions in ("drawn", "fixed")),
]


@pytest.mark.parametrize(
    ("name", "library", "decisions"),
    [
        pytest.param(*row, marks=() if row in QUICK else pytest.mark.long, id="-".join(row))
        for row in ((name, *library) for library in LIBRARIES for name in NAMES)
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_array_libraries_give_the_same(name, library, decisions):
    xp = known(library)
    people = make_synthetic(n=40, m=8, n_holdout=10, m_holdout=2, random_state=1)
    row, promise = example(name)
    promise = _easier(promise)
    model = AverageFairClassifier(
        promise=promise,
        oracle=RegressionOracle(),
        solver=ColumnGeneration(max_rounds=8, mapping_rounds=2),
        decisions=decisions,
        random_state=0,
    )
    there = clone(model).fit(xp.asarray(people.X), xp.asarray(people.Y))
    here = clone(model).fit(people.X, people.Y)
    rates = plain_rates(people.Y.astype(float), there.decision_probability(people.X), "error")
    np.testing.assert_allclose(there.individual_rates_, rates, atol=1e-9)
    assert there.certificate_.met_on_average
    assert here.certificate_.met_on_average
    if decisions == "fixed":
        made = there.predict(people.X)
        np.testing.assert_array_equal(there.decision_probability(people.X), made)
    reached = row.figure(promise, [(rates, np.ones(40))])
    assert there.certificate_.reached == pytest.approx(reached, abs=1e-9)
    # Ties may be broken differently, and the runs are cut short.
    assert there.error_ == pytest.approx(here.error_, abs=0.05)


def _regression(name):
    """Fit with an oracle that a file can hold."""
    model = AverageFairClassifier(
        promise=_easier(example(name)[1]),
        oracle=RegressionOracle(),
        solver=ColumnGeneration(max_rounds=10, mapping_rounds=2),
        decisions="drawn",
        random_state=0,
    )
    return model.fit(*tables())


def _figures(model):
    """Return the certificate's figures, but for the time and one draw, which has tasks' names."""
    facts = model.certificate_.to_dict()
    del facts["seconds"], facts["by_decisions"]
    return facts


@pytest.mark.parametrize("harmless", [None, HARMLESS])
@pytest.mark.parametrize("name", VARIED)
def test_the_path_is_monotone_along_its_own_parameter(name, harmless):
    row = ROWS[name]
    promise, (X, Y) = replace(row.example, no_harm=harmless), tables()
    here = case(X, Y)
    curve = frontier(
        X,
        Y,
        row.path,
        promise=promise,
        oracle=StumpOracle(),
        solver=ColumnGeneration(tol=1e-7, mapping_rounds=3),
        decisions="drawn",
        random_state=0,
    )
    assert curve.values == tuple(sorted(row.path))
    assert curve.parameter == promise.parameter
    points = [curve.at(value) for value in row.path]  # from easy to hard
    uppers = [point.certificate.upper for point in points]
    assert (np.diff(uppers) >= -2e-5).all()
    assert uppers[-1] > uppers[0] + 1e-3
    if promise.less_is_easier:  # at a higher price the worst-off fare no worse
        reached = [point.certificate.reached for point in points]
        assert (np.diff(reached) <= 1e-3).all()
    for point in points:
        own = promise.at(point.value)
        harm = harm_caps(here, own, None)
        assert point.promise == own
        assert_kept(row, own, here, point.model, harm)
        assert_optimal(own, here, point.model, row.judge(here.program, own, harm, False), 5e-5)


@pytest.mark.parametrize("name", [name for name in ROWS if not ROWS[name].path])
def test_a_promise_without_a_figure_has_no_frontier(name):
    with pytest.raises(InputError, match=r"has no figure to vary: a frontier needs Equal"):
        frontier(*tables(), [0.1, 0.2], promise=ROWS[name].example)


@pytest.mark.parametrize("name", NAMES)
def test_nobody_with_a_rate_keeps_every_promise(name):
    """No label counts towards false positives, so that nobody has a rate."""
    X, Y = tables()
    model = case(X, np.ones_like(Y), rate="false_positive").fit(example(name)[1])
    assert model.certificate_.met
    assert model.error_ == pytest.approx(0.0, abs=1e-9)
    assert len(model.undefined_individuals_) == len(X)


@pytest.mark.parametrize("name", ROWS)
def test_one_person(name):
    here = case(np.array([[0.5]]), np.array([[1.0, 0.0, 1.0]]))
    model = here.fit(ROWS[name].example)
    rates, _ = figures(here, model)
    assert model.certificate_.met
    assert rates == pytest.approx([0.0], abs=1e-6)
