"""Model files: what comes back is the same to the last bit, and holds no more than it should."""

import json
import math
import os
import struct
import subprocess
import sys
from dataclasses import fields
from functools import cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from safetensors import safe_open
from safetensors.numpy import save as packed
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from small_fits import FEATURES, ORACLES, STRANGERS, TASKS, UNEVEN, M, N, model, people, rounds

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    ErrorRate,
    FalseNegativeRate,
    FalsePositiveRate,
    InputError,
    Mixture,
    RegressionOracle,
    StumpOracle,
    held_out,
)
from averagefair.persistence import load, read_model, save

# Short runs miss the request on purpose: what is judged here is the file, not the fairness.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning"),
]

WHO = [f"Zebedee-{i:03}" for i in range(N)]
LATER = [f"later {j}" for j in range(4)]
STRANGE_IDS = [f"stranger {i}" for i in range(len(STRANGERS))]
QUICK = ColumnGeneration(max_rounds=12, patience=4)
TABLES = {
    "pandas": lambda cells, names, rows: pd.DataFrame(cells, index=rows, columns=names),
    "polars": lambda cells, names, rows: pl.DataFrame(cells, schema=names),
    "pyarrow": lambda cells, names, rows: pa.table(dict(zip(names, cells.T, strict=True))),
}

# --- what can be stored --------------------------------------------------------------------------

CASES = {
    f"{oracle}, {solver}, {rate}": {"oracle": ORACLES[oracle], "solver": how, "rate": which}
    for oracle in ("default", "stump")
    for solver, how in (("columns", QUICK), ("gradient", rounds(8)))
    for rate, which in (
        ("error", "error"),
        ("false positives", "false_positive"),
        ("false negatives", FalseNegativeRate()),
        ("both", ["false_positive", "false_negative"]),
    )
} | {
    "list of one rate": {"rate": ["false_negative"]},
    "ridge": {"oracle": RegressionOracle(l2=2.0)},
    "blanks": {"blanks": 0.3},
    "blanks, stump": {"blanks": 0.3, "oracle": StumpOracle(), "solver": QUICK},
    "weights": {"sample_weight": UNEVEN, "task_weight": np.arange(1.0, M + 1)},
    "nobody and nothing": {"sample_weight": np.arange(N) % 3, "task_weight": np.arange(M)},
    "tasks set aside": {"rate": FalsePositiveRate(holdout_tasks=2)},
    "tasks set aside, columns": {"rate": ErrorRate(holdout_tasks=2), "solver": QUICK},
    "outside rho": {"rate": ErrorRate(rho=np.linspace(0.2, 0.9, N))},
    "ids": {"ids": WHO},
    "one dimension": {"flat": True},
    "beta": {"beta": 0.2, "solver": QUICK},
    "influence": {"max_influence": 3.0, "solver": QUICK},
    "batches": {"solver": rounds(3, batch_size=2, replay=False)},
    "default slack": {"alpha": None},
    "a certified optimum": {"solver": None, "oracle": StumpOracle()},
    "constants": {"solver": ColumnGeneration(max_rounds=2), "alpha": 1e-4, "flat": True},
    **{f"{kind} tables": {"table": kind} for kind in TABLES},
    "pandas, one named column": {"table": "pandas", "flat": True},
    "pandas, tasks set aside": {"table": "pandas", "rate": FalsePositiveRate(holdout_tasks=2)},
}


class Case:
    """A fitted model with what it was learned from, in the form it was given."""

    def __init__(self, *, blanks=0.0, flat=False, table=None, **params):
        options = {
            name: params.pop(name)
            for name in ("sample_weight", "task_weight", "ids")
            if name in params
        }
        self.features, self.labels = people(blanks=blanks)
        _, later = people(seed=5, m=len(LATER), blanks=0.2)
        make = TABLES.get(table, lambda cells, names, rows: cells)
        self.X, self.later = make(self.features, FEATURES, WHO), make(later, LATER, WHO)
        self.Y = make(self.labels, TASKS, WHO)
        if flat:
            self.labels = self.labels[:, :1]
            self.Y = self.labels[:, 0] if table is None else self.Y[TASKS[0]]
        self.strangers = make(STRANGERS, FEATURES, STRANGE_IDS)
        self.table, self.rate = table, params.get("rate", "error")
        self.model = model(**({"solver": rounds(8)} | params)).fit(self.X, self.Y, **options)


@cache
def fitted(case):
    return Case(**CASES[case])


def there_and_back(one, path, **options):
    save(one, path, **options)
    return load(path)


def assert_same_number(one, other):
    assert type(one) is type(other)
    assert one == other or (math.isnan(one) and math.isnan(other))


def assert_same_certificate(one, other):
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, tuple):
            assert len(a) == len(b), field.name
            for pair in zip(a, b, strict=True):
                assert_same_number(*pair)
        elif isinstance(a, float):
            assert_same_number(a, b)
        else:
            assert a == b, field.name
    assert str(one) == str(other)


def assert_decides_the_same(one, other, *tables):
    for X in tables:
        ids = [f"id {i}" for i in range(len(X))]
        for ask in (
            lambda it, X=X: it.decision_probability(X),
            lambda it, X=X: it.predict(X),
            lambda it, X=X, ids=ids: it.predict(X, ids=ids),
        ):
            wanted, found = ask(one), ask(other)
            assert wanted.dtype == found.dtype
            np.testing.assert_array_equal(found, wanted)


def measured(test):
    """Return what was held out as plain numbers."""
    parts = (test.people, test.tasks, test.both)
    return [None if one is None else (one.error, one.rates.tolist()) for one in parts]


def outcome(ask, *args, **options):
    """Return what a call says, or how it complains."""
    try:
        return str(ask(*args, **options))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("case", CASES)
def test_a_model_comes_back_the_same_to_the_last_bit(case, tmp_path):
    known = fitted(case)
    one, same = known.model, there_and_back(known.model, tmp_path / "fair.model")
    assert_decides_the_same(one, same, known.X, known.strangers)
    assert_same_certificate(one.certificate_, same.certificate_)
    assert_same_number(one.error_, same.error_)
    np.testing.assert_array_equal(one.common_rate_, same.common_rate_)
    assert type(one.common_rate_) is type(same.common_rate_)
    for name in ("seed_", "task_names_", "holdout_task_names_", "n_features_in_"):
        assert getattr(one, name) == getattr(same, name), name
    for name in ("task_weights_", "classes_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
    assert hasattr(one, "feature_names_in_") == hasattr(same, "feature_names_in_")
    if known.table:
        assert same.feature_names_in_.tolist() == one.feature_names_in_.tolist() == FEATURES
        assert same.feature_names_in_.dtype == one.feature_names_in_.dtype


@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_scores_audits_and_is_tested_like_the_original(case, tmp_path):
    known = fitted(case)
    one, same = known.model, there_and_back(known.model, tmp_path / "fair.model")
    weights = np.arange(1.0, N + 1)
    assert same.score(known.X, known.Y) == one.score(known.X, known.Y)
    assert same.score(known.X, known.Y, weights) == one.score(known.X, known.Y, weights)
    rate = {"rate": "false_negative"} if isinstance(known.rate, list) else {}
    audits = [it.audit(known.X, known.Y, **rate) for it in (one, same)]
    assert audits[0].to_dict() == audits[1].to_dict()
    assert str(audits[0]) == str(audits[1])
    new = {"X_new": known.X, "Y_new_people": known.Y, "sample_weight": weights}
    np.testing.assert_equal(measured(held_out(same, **new)), measured(held_out(one, **new)))


@pytest.mark.parametrize("case", CASES)
def test_a_file_alone_says_how_to_decide(case, tmp_path):
    """Nothing of the library: the chances by hand, from the arrays."""
    known = fitted(case)
    save(known.model, tmp_path / "fair.model")
    arrays, manifest = contents(tmp_path / "fair.model")
    chances = np.zeros((len(STRANGERS), len(manifest["tasks"])))
    for row, place in enumerate(arrays.get("linear.place", ())):
        score = STRANGERS @ arrays["linear.coefficients"][row] + arrays["linear.intercepts"][row]
        chances += arrays["chances"][place] * (score < 0)
    for row, place in enumerate(arrays.get("stumps.place", ())):
        looked_at = STRANGERS[:, arrays["stumps.features"][row]]
        below = looked_at <= arrays["stumps.thresholds"][row]
        chances += arrays["chances"][place] * (below != arrays["stumps.upward"][row])
    for row, place in enumerate(arrays.get("constant.place", ())):
        chances += arrays["chances"][place] * arrays["constant.decision"][row]
    wanted = known.model.decision_probability(known.strangers).reshape(chances.shape)
    np.testing.assert_allclose(chances, wanted, atol=1e-12)
    assert manifest["tasks"] == list(known.model.task_names_)
    assert manifest["seed"] == known.model.seed_


def test_the_cases_hold_every_kind_of_classifier(tmp_path):
    kinds = {
        type(one).__name__ for case in CASES for one in fitted(case).model.classifiers_.hypotheses
    }
    assert kinds == {"LinearThresholds", "Stumps", "Constant"}


@pytest.mark.parametrize("case", CASES)
def test_an_extendable_model_extends_like_the_original(case, tmp_path):
    known = fitted(case)
    one = known.model
    same = there_and_back(one, tmp_path / "fair.model", extendable=True)
    assert_decides_the_same(one, same, known.X, known.strangers)
    for name in ("weights", "mixture", "constants", "seed"):
        np.testing.assert_array_equal(getattr(same.mapping_, name), getattr(one.mapping_, name))
    for field in fields(one.mapping_.cost_rule):
        rules = (getattr(it.mapping_.cost_rule, field.name) for it in (one, same))
        np.testing.assert_array_equal(*rules)
    kept, found = one.mapping_.individuals, same.mapping_.individuals
    for name in ("features", "individual_weights", "individual_names", "indexed"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(found, name))
    assert found.signs.shape == (N, 0), "labels are not kept"
    for options in ({}, {"task_names": ["a", "b", "c", "d"]}):
        wanted, found = (it.extend(known.later, **options) for it in (one, same))
        assert found.task_names == wanted.task_names
        assert found.named_tasks == wanted.named_tasks
        assert found.seed == wanted.seed
        assert_decides_the_same(wanted, found, known.X, known.strangers)
    new = {
        "X_new": known.X,
        "Y_new_people": known.Y,
        "Y_new_tasks": known.later,
        "Y_new_both": known.later,
    }
    np.testing.assert_equal(measured(held_out(same, **new)), measured(held_out(one, **new)))


@pytest.mark.parametrize("case", ["default, gradient, both", "pandas tables", "one dimension"])
@pytest.mark.parametrize("extendable", [False, True])
def test_what_was_loaded_can_be_saved_again_byte_for_byte(case, extendable, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    save(fitted(case).model, first, extendable=extendable)
    save(load(first), second, extendable=extendable)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("case", ["default, gradient, error", "stump, columns, both", "ids"])
def test_later_classifiers_come_back_the_same_to_the_last_bit(case, tmp_path):
    known = fitted(case)
    later = known.model.extend(known.later, task_names=LATER)
    same = there_and_back(later, tmp_path / "later.model")
    assert isinstance(same, Mixture)
    assert (same.task_names, same.named_tasks, same.seed) == (tuple(LATER), True, later.seed)
    assert_decides_the_same(later, same, known.X, known.strangers)
    audits = [known.model.audit(known.X, known.later, classifiers=it, rate="error")
              for it in (later, same)]  # fmt: skip
    assert audits[0].to_dict() == audits[1].to_dict()


def test_another_process_draws_the_same_decisions(tmp_path):
    known = fitted("pandas, tasks set aside")
    save(known.model, tmp_path / "fair.model")
    np.save(tmp_path / "X.npy", STRANGERS)
    script = (
        "import sys, numpy as np, pandas as pd; from averagefair.persistence import load\n"
        f"X = pd.DataFrame(np.load(sys.argv[2]), columns={FEATURES})\n"
        "np.save(sys.argv[3], load(sys.argv[1]).predict(X))"
    )
    files = [tmp_path / name for name in ("fair.model", "X.npy", "decisions.npy")]
    subprocess.run([sys.executable, "-c", script, *map(str, files)], check=True, timeout=60)
    wanted = known.model.predict(known.strangers)
    np.testing.assert_array_equal(np.load(tmp_path / "decisions.npy"), wanted)


# --- names are checked as before -----------------------------------------------------------------


@pytest.mark.parametrize("kind", TABLES)
def test_a_loaded_model_refuses_other_columns_in_the_same_words(kind, tmp_path):
    known = fitted(f"{kind} tables")
    one = known.model
    same = there_and_back(one, tmp_path / "fair.model", extendable=True)
    make = TABLES[kind]
    wrong = {
        "features in another order": make(STRANGERS, FEATURES[::-1], STRANGE_IDS),
        "other features": make(STRANGERS, ["age", "income", "height"], STRANGE_IDS),
        "too few features": make(STRANGERS[:, :2], FEATURES[:2], STRANGE_IDS),
    }
    for what, X in wrong.items():
        for ask in ("predict", "decision_probability"):
            complaint = outcome(getattr(same, ask), X)
            assert complaint == outcome(getattr(one, ask), X), what
            assert isinstance(complaint, tuple), what
    tasks = make(known.labels, TASKS[::-1], WHO)
    for ask in ("score", "audit"):
        complaint = outcome(getattr(same, ask), known.X, tasks)
        assert complaint == outcome(getattr(one, ask), known.X, tasks)
        assert complaint[0] is InputError


def test_labels_of_people_in_another_order_are_refused_after_loading_too(tmp_path):
    known = fitted("pandas tables")
    save(known.model, tmp_path / "fair.model", extendable=True)
    with pytest.raises(InputError, match=r"same order.*'Zebedee-000'.*'Zebedee-023'"):
        load(tmp_path / "fair.model").extend(known.later.iloc[::-1])


INDICES = {
    "numbers": np.arange(N) * 7 + 3,
    "fractions": np.arange(N) / 3,
    "words and a blank": [None, *WHO[1:]],
    "words and numbers": [7, *WHO[1:]],
    "no ASCII": [f'Zoë "{i}" \n' for i in range(N)],
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES.keys())
def test_people_are_known_by_their_names_after_loading(index, tmp_path):
    X, Y = people()
    X, Y = (pd.DataFrame(part, index=index) for part in (X, Y))
    X.columns, Y.columns = FEATURES, TASKS
    one = model(solver=rounds(3)).fit(X, Y)
    same = there_and_back(one, tmp_path / "fair.model", extendable=True)
    assert_decides_the_same(one.extend(Y), same.extend(Y), X)
    with pytest.raises(InputError, match="same order"):
        same.extend(Y.iloc[::-1])


# --- a loaded model is an estimator --------------------------------------------------------------


def test_a_loaded_model_is_a_fitted_estimator(tmp_path):
    known = fitted("default, columns, both")
    same = there_and_back(known.model, tmp_path / "fair.model")
    check_is_fitted(same)
    params = same.get_params()
    assert params.keys() == known.model.get_params().keys()
    assert (params["alpha"], params["beta"], params["max_influence"]) == (0.1, 0.0, None)
    assert params["rate"] == ["false_positive", "false_negative"]
    again = clone(same)
    assert again.get_params() == params
    with pytest.raises(NotFittedError):
        again.predict(known.X)
    X, Y = people(n=8)
    again.set_params(solver=rounds(2)).fit(X, Y)
    assert again.certificate_.request == same.certificate_.request


@pytest.mark.parametrize("case", ["beta", "influence", "default slack", "list of one rate"])
def test_the_request_comes_back_as_parameters(case, tmp_path):
    known = fitted(case)
    same = there_and_back(known.model, tmp_path / "fair.model")
    request = known.model.certificate_.request
    assert (same.alpha, same.beta, same.max_influence) == (
        request.alpha,
        request.beta,
        request.max_influence,
    )
    assert same.rate == known.rate


# --- people's data -------------------------------------------------------------------------------


def contents(path):
    """Return the arrays and the manifest of a model file."""
    with safe_open(str(path), framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return arrays, json.loads(file.metadata()["manifest"])


def traces(content, values):
    """Return which of these numbers stand in the bytes, as a double or as text."""
    found = {float(one) for one in values if struct.pack("<d", one) in content}
    return found | {float(one) for one in values if repr(float(one)).encode() in content}


PRIVATE = {
    "regression": {"oracle": None},
    "stumps": {"oracle": StumpOracle()},
    "columns": {"oracle": StumpOracle(), "solver": QUICK},
    "tasks set aside": {"rate": FalsePositiveRate(holdout_tasks=2)},
}


@pytest.mark.parametrize("params", PRIVATE.values(), ids=PRIVATE.keys())
def test_people_stand_in_a_file_only_where_that_was_asked_for(params, tmp_path):
    X, Y = people(blanks=0.1)
    frames = pd.DataFrame(X, index=WHO, columns=FEATURES), pd.DataFrame(Y, index=WHO, columns=TASKS)
    # Tasks of uneven weights make rates that no other figure equals by chance.
    one = model(**({"solver": rounds(8)} | params)).fit(*frames, UNEVEN, UNEVEN[:M] + 0.1)
    save(one, tmp_path / "plain", origin={"by": "somebody"})
    save(one, tmp_path / "people", extendable=True)
    plain, whole = ((tmp_path / name).read_bytes() for name in ("plain", "people"))
    assert not traces(plain, X.ravel())
    assert not traces(plain, UNEVEN)
    rates = one.individual_rates_[~np.isnan(one.individual_rates_)]
    rates = rates[rates * 8 % 1 != 0]  # a half may stand anywhere
    assert len(set(rates)) > 9
    assert not traces(plain, rates)
    weights = one.mapping_.weights
    assert not traces(plain, weights[weights != 0])
    assert not [name for name in WHO if name.encode() in plain]
    for labels in Y.T:
        signs = np.nan_to_num(1 - 2 * labels).astype(np.int8)
        assert signs.tobytes() not in plain
        assert labels.tobytes() not in plain
    # The judges can fail, and what is told about the other kind of file is true.
    assert traces(whole, X.ravel()) == set(X.ravel())
    assert traces(whole, UNEVEN) == set(UNEVEN)
    assert all(name.encode() in whole for name in WHO)
    assert not any(labels.tobytes() in whole for labels in Y.T)


@pytest.mark.parametrize("extendable", [False, True])
def test_a_file_is_arrays_and_a_manifest_and_nothing_else(extendable, tmp_path):
    path = tmp_path / "fair.model"
    save(fitted("default, columns, both").model, path, extendable=extendable)
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    head = json.loads(content[8 : 8 + length])
    assert head.pop("__metadata__").keys() == {"manifest"}
    assert {one["dtype"] for one in head.values()} <= {"F64", "I64", "U8", "BOOL"}
    assert len(content) == 8 + length + max(one["data_offsets"][1] for one in head.values())
    assert content[8:9] == b"{"
    stored = {name.split(".")[0] for name in head}
    people_too = {"people", "rule", "mapping"} if extendable else set()
    assert stored - {"linear", "constant"} == {"chances", "digest", "task_weights"} | people_too
    assert ("mapping" in contents(path)[1]) == extendable


def test_the_manifest_says_where_a_model_comes_from(tmp_path):
    origin = {"data": "people.csv", "rows": 24, "share": 0.5, "columns": ["a", "ß"], "none": None}
    save(fitted("ridge").model, tmp_path / "fair.model", origin=origin)
    found = read_model(tmp_path / "fair.model")
    assert found.manifest["origin"] == origin
    assert found.manifest["kind"] == "model"
    assert found.manifest["made_by"].startswith("averagefair ")
    assert found.classifiers is found.model.classifiers_
    save(found.classifiers, tmp_path / "later.model")
    later = read_model(tmp_path / "later.model")
    assert later.manifest["kind"] == "classifiers"
    assert later.classifiers is later.model
    assert later.manifest["origin"] == {}


# --- what cannot be done -------------------------------------------------------------------------


def test_a_model_without_its_people_says_why_it_cannot_be_extended(tmp_path):
    known = fitted("default, gradient, error")
    same = there_and_back(known.model, tmp_path / "fair.model")
    assert same.mapping_ is None
    with pytest.raises(InputError, match=r"training individuals.*extendable=True"):
        same.extend(known.later)
    with pytest.raises(InputError, match=r"training individuals.*extendable=True"):
        held_out(same, Y_new_tasks=known.later)


class Harsher(ErrorRate):
    """A rate that the library does not know."""

    name = "harsher"


def short(**params):
    return model(solver=rounds(2), **params).fit(*people())


UNSUPPORTED = {
    "finite": (lambda: short(oracle=ORACLES["finite"]), "Choices cannot be saved"),
    "tree": (lambda: short(oracle=ORACLES["tree"]), "cannot be saved"),
    "later tree": (lambda: short(oracle=ORACLES["tree"]).extend(people()[1]), "cannot be saved"),
    "another rate": (lambda: short(rate=Harsher()), "built-in rates.*'harsher'"),
    "a dict": (lambda: {"model": short()}, "got dict"),
    "a class": (lambda: AverageFairClassifier, "got type"),
    "a mapping": (lambda: short().mapping_, "got Mapping"),
    "nothing": (lambda: None, "got NoneType"),
    "a path": (lambda: "fair.model", "got str"),
}


@pytest.mark.parametrize(("make", "message"), UNSUPPORTED.values(), ids=UNSUPPORTED.keys())
def test_what_cannot_be_stored_is_refused_and_no_file_appears(make, message, tmp_path):
    with pytest.raises(InputError, match=message):
        save(make(), tmp_path / "fair.model")
    assert not list(tmp_path.iterdir())


def test_an_unfitted_model_is_refused_and_no_file_appears(tmp_path):
    with pytest.raises(NotFittedError):
        save(model(), tmp_path / "fair.model")
    assert not list(tmp_path.iterdir())


def test_later_classifiers_cannot_be_stored_as_extendable(tmp_path):
    later = fitted("ridge").model.extend(people(seed=5)[1])
    with pytest.raises(InputError, match="store the model that made them"):
        save(later, tmp_path / "later.model", extendable=True)
    assert not list(tmp_path.iterdir())


def test_a_model_without_its_people_cannot_be_saved_as_extendable(tmp_path):
    same = there_and_back(fitted("ridge").model, tmp_path / "fair.model")
    with pytest.raises(InputError, match="individuals"):
        save(same, tmp_path / "again.model", extendable=True)


@pytest.mark.parametrize("l2", [np.float32(0.5), np.int64(1)], ids=["float32", "int64"])
def test_settings_may_be_any_numbers(l2, tmp_path):
    one = short(oracle=RegressionOracle(l2=l2))
    same = there_and_back(one, tmp_path / "fair.model", extendable=True)
    labels = people(seed=5)[1]
    assert_decides_the_same(one.extend(labels), same.extend(labels), STRANGERS)


@pytest.mark.parametrize(
    "origin",
    [{"gap": math.nan}, {"of": object()}, [1]],
    ids=["no number", "no words", "no mapping"],
)
def test_an_origin_that_is_no_words_and_numbers_is_refused_in_words(origin, tmp_path):
    one = fitted("ridge").model
    with pytest.raises(InputError, match="origin"):
        save(one, tmp_path / "fair.model", origin=origin)
    assert not list(tmp_path.iterdir())


ODD_INDICES = {
    "dates": pd.date_range("2020-01-01", periods=N),
    "pairs": pd.MultiIndex.from_product([["a", "b"], range(N // 2)]),
    "bytes": pd.Index([name.encode() for name in WHO]),
}


@pytest.mark.parametrize("index", ODD_INDICES.values(), ids=ODD_INDICES.keys())
def test_people_may_be_named_by_anything(index, tmp_path):
    X, Y = people()
    X, Y = pd.DataFrame(X, index, FEATURES), pd.DataFrame(Y, index, TASKS)
    one = model(solver=rounds(3)).fit(X, Y)
    try:
        same = there_and_back(one, tmp_path / "fair.model", extendable=True)
    except InputError:
        return  # refused in words: as good
    assert_decides_the_same(one.extend(Y), same.extend(Y), X)


# --- damage --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the bytes of an extendable file with all kinds of parts."""
    path = tmp_path_factory.mktemp("models") / "fair.model"
    save(fitted("default, gradient, both").model, path, extendable=True)
    return path.read_bytes()


def test_a_file_cut_short_anywhere_is_refused(whole, tmp_path):
    path = tmp_path / "cut.model"
    lengths = {*range(0, len(whole), 211), *range(12), *range(len(whole) - 20, len(whole))}
    for length in sorted(lengths):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="not a whole model file"):
            load(path)


def test_a_file_with_something_behind_it_is_refused(whole, tmp_path):
    (tmp_path / "long.model").write_bytes(whole + b"\0")
    with pytest.raises(InputError, match="not a whole model file"):
        load(tmp_path / "long.model")


@pytest.mark.parametrize("part", ["head", "arrays"])
def test_a_flipped_bit_is_refused(part, whole, tmp_path):
    rng = np.random.default_rng(0)
    start = 8 + struct.unpack("<Q", whole[:8])[0]
    first, last = (0, start) if part == "head" else (start, len(whole))
    path = tmp_path / "flipped.model"
    for _ in range(200):
        content = bytearray(whole)
        content[rng.integers(first, last)] ^= 1 << rng.integers(8)
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"flipped\.model (is|has)"):
            load(path)


FOREIGN = {
    "nothing": (b"", "not a whole model file"),
    "words": (b"alpha,error\n0.1,0.2\n" * 20, "not a whole model file"),
    "a pickle": (b"\x80\x04\x95\x10\0\0\0\0\0\0\0\x8c\x05hello\x94." * 9, "not a whole model"),
    "other arrays": (packed({"a": np.ones(3)}), "not a model file of averagefair"),
    "other metadata": (packed({"a": np.ones(3)}, {"format": "pt"}), "not a model file"),
    "no JSON": (packed({"a": np.ones(3)}, {"manifest": "{"}), "not a whole model file"),
    "a list": (packed({"a": np.ones(3)}, {"manifest": "[1]"}), "not a model file"),
    "another format": (packed({}, {"manifest": '{"format": "onnx"}'}), "not a model file"),
}


@pytest.mark.parametrize(("content", "message"), FOREIGN.values(), ids=FOREIGN.keys())
def test_other_files_are_told_apart(content, message, tmp_path):
    path = tmp_path / "other.model"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_folder_or_nothing_at_all_cannot_be_read(tmp_path):
    for path in (tmp_path, tmp_path / "missing.model"):
        with pytest.raises(InputError, match="cannot be read"):
            load(path)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_version_of_the_format_is_told_apart(version, whole, tmp_path):
    with pytest.raises(InputError, match=r"version .* of the format.*averagefair \d"):
        load(altered(whole, tmp_path, lambda arrays, head: head.update(version=version)))


def altered(whole, folder, change):
    """Write the file with its arrays and its manifest changed; return where."""
    path = folder / "altered.model"
    path.write_bytes(whole)
    arrays, head = contents(path)
    change(arrays, head)
    arrays = {name: np.ascontiguousarray(part) for name, part in arrays.items()}
    text = json.dumps(head)
    arrays.pop("digest", None)
    path.write_bytes(packed(arrays | {"digest": seal(arrays, text)}, {"manifest": text}))
    return path


def seal(arrays, text):
    """Return the hash of a manifest and its arrays, so that a change looks as if it was meant."""
    parts = [text.encode()]
    for name, part in sorted(arrays.items()):
        parts += [f"\n{name} {part.dtype.str} {part.shape}\n".encode(), part.tobytes()]
    return np.frombuffer(blake2b(b"".join(parts), digest_size=16).digest(), np.uint8)


def of_array(name, change):
    return lambda arrays, head: arrays.update({name: change(arrays[name])})


def without(name):
    return lambda arrays, head: arrays.pop(name)


def of_head(**changes):
    return lambda arrays, head: head.update(changes)


def of_certificate(**changes):
    return lambda arrays, head: head["certificate"].update(changes)


def of_mapping(**changes):
    return lambda arrays, head: head["mapping"].update(changes)


MISFITS = {
    "no chances": without("chances"),
    "no coefficients": without("linear.coefficients"),
    "no intercepts": without("linear.intercepts"),
    "no places": without("linear.place"),
    "no task weights": without("task_weights"),
    "no people": without("people.features"),
    "no names of people": without("people.names"),
    "no weights of rounds": without("mapping.weights"),
    "no rule": without("rule.leverage"),
    "half the chances": of_array("chances", lambda q: q / 2),
    "a negative chance": of_array("chances", lambda q: q - 2 * q[0] * (np.arange(len(q)) == 0)),
    "no number for a chance": of_array("chances", lambda q: np.full_like(q, np.nan)),
    "one chance less": of_array("chances", lambda q: q[1:] / q[1:].sum()),
    "one chance more": of_array("chances", lambda q: np.append(q, 0.0)),
    "chances in a table": of_array("chances", lambda q: q[:, None]),
    "a place too far": of_array("linear.place", lambda place: place + 1000),
    "two in one place": of_array("linear.place", lambda place: place * 0),
    "half a place": of_array("linear.place", lambda place: place + 0.5),
    "one task less": of_array("linear.coefficients", lambda w: w[:, :, 1:]),
    "one feature less": of_array("linear.coefficients", lambda w: w[:, 1:]),
    "one classifier less": of_array("linear.coefficients", lambda w: w[1:]),
    "one name of a task less": of_head(tasks=TASKS[1:]),
    "no names of tasks": of_head(tasks=None),
    "another number of features": of_head(feature_count=7),
    "no number of features": of_head(feature_count=None),
    "less than no features": of_head(feature_count=-1),
    "a word for a seed": of_head(seed="seven"),
    "no rates": of_head(rates=[], several_rates=False),
    "no certificate": of_head(certificate={}),
    "a list for a certificate": of_head(certificate=[1, 2]),
    "no such status": of_certificate(status="blessed"),
    "no such reason": of_certificate(stop_reason="bored"),
    "no such alpha": of_certificate(requested_alpha=2.0),
    "no such beta": of_certificate(requested_beta=-1),
    "no such oracle": of_mapping(oracle={"kind": "delphi", "settings": {}}),
    "no such setting": of_mapping(oracle={"kind": "regression", "settings": {"l2": -1.0}}),
    "another oracle's setting": of_mapping(oracle={"kind": "stump", "settings": {"l2": 1.0}}),
    "one chance of a round less": of_array("mapping.chances", lambda q: q[1:]),
    "names that are no text": of_array("people.names", lambda names: names[:-1]),
}


@pytest.mark.parametrize("change", MISFITS.values(), ids=MISFITS.keys())
def test_arrays_and_a_manifest_that_do_not_fit_are_refused(change, whole, tmp_path):
    with pytest.raises(InputError, match="is damaged: its manifest and its arrays do not fit"):
        load(altered(whole, tmp_path, change))


UNSEEN = {
    "a lone place before the first": of_array("linear.place", lambda place: place - len(place)),
    "coefficients that are no numbers": of_array("linear.coefficients", lambda w: w * np.nan),
    "task weights of another number": of_array("task_weights", lambda b: b[1:]),
    "task weights that are no numbers": of_array("task_weights", lambda b: b * np.nan),
    "no such rate": of_head(rates=["frror"]),
    "several of no rates": of_head(rates=[], several_rates=True),
    "no such kind": of_head(kind="bogus"),
    "one dimension of many tasks": of_head(one_dimensional=True),
    "unknown tasks set aside": of_head(holdout_tasks=["elsewhere"]),
    "one name for all features": of_head(features=["age"]),
    "the same task twice": of_head(tasks=["task0"] * M),
    "a word for an error": of_certificate(error="much"),
    "fewer people": of_array("people.features", lambda X: X[1:]),
    "people of fewer features": of_array("people.features", lambda X: X[:, 1:]),
    "features that are no numbers": of_array("people.features", lambda X: X * np.nan),
    "fewer weights of people": of_array("people.weights", lambda a: a[1:]),
    "fewer names of people": of_array("people.names", lambda _: np.frombuffer(b"[1]", np.uint8)),
    "rounds of fewer people": of_array("mapping.weights", lambda w: w[:, 1:]),
    "chances of rounds off the simplex": of_array("mapping.chances", lambda q: q / 2),
    "a rule of fewer people": of_array("rule.leverage", lambda r: r[:, 1:]),
}
OTHER_ERRORS = {
    "an infinite seed": (of_head(seed=math.inf), "OverflowError"),
    "infinitely many features": (of_head(feature_count=math.inf), "OverflowError"),
    "more features than memory": (of_head(feature_count=10**15), "MemoryError"),
    "names too deep": (
        of_array("people.names", lambda _: np.frombuffer(b"[" * 100_000, np.uint8)),
        "RecursionError",
    ),
}


@pytest.mark.parametrize("change", UNSEEN.values(), ids=UNSEEN.keys())
def test_damage_is_noticed_when_a_file_is_read(change, whole, tmp_path):
    with pytest.raises(InputError, match="is damaged"):
        load(altered(whole, tmp_path, change))


@pytest.mark.parametrize("change", [one for one, _ in OTHER_ERRORS.values()], ids=OTHER_ERRORS)
def test_damage_raises_no_other_error(change, whole, tmp_path):
    with pytest.raises(InputError, match=r"is damaged|not a whole model file"):
        load(altered(whole, tmp_path, change))


def test_a_constant_of_too_many_tasks_is_refused(tmp_path):
    save(fitted("constants").model, tmp_path / "fair.model")
    content = (tmp_path / "fair.model").read_bytes()
    change = of_array("constant.tasks", lambda tasks: tasks + 2**50)  # one flipped bit
    with pytest.raises(InputError, match="is damaged"):
        load(altered(content, tmp_path, change))


@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3"])
def test_arrays_of_kinds_that_numpy_does_not_know_are_refused(kind, tmp_path):
    size = {"BF16": 2, "F8_E4M3": 1}[kind]
    head = {"chances": {"dtype": kind, "shape": [1], "data_offsets": [0, size]}}
    text = json.dumps(head | {"__metadata__": {"manifest": "{}"}}).encode()
    content = struct.pack("<Q", len(text)) + text + bytes(size)
    (tmp_path / "other.model").write_bytes(content)
    with pytest.raises(InputError, match="not a"):
        load(tmp_path / "other.model")


def test_a_manifest_too_deep_is_refused(tmp_path):
    content = packed({"a": np.ones(1)}, {"manifest": "[" * 100_000})
    (tmp_path / "deep.model").write_bytes(content)
    with pytest.raises(InputError, match="not a"):
        load(tmp_path / "deep.model")


def test_a_file_that_is_written_anew_without_change_is_whole(whole, tmp_path):
    """So that what is refused above is refused for its damage."""
    same = load(altered(whole, tmp_path, lambda arrays, head: None))
    assert_decides_the_same(fitted("default, gradient, both").model, same, STRANGERS)


# --- whole or not at all -------------------------------------------------------------------------

FAILURES = {
    "no space when moved": (Path, "replace", OSError(28, "No space left on device")),
    "no space when written": (os, "fsync", OSError(28, "No space left on device")),
    "no permission": (Path, "chmod", PermissionError(1, "Operation not permitted")),
}


@pytest.mark.parametrize("before", [b"what was there before", None], ids=["old file", "no file"])
@pytest.mark.parametrize(("owner", "name", "error"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failing_write_leaves_all_as_it_was(owner, name, error, before, monkeypatch, tmp_path):
    def fail(*args, **options):
        raise error

    path = tmp_path / "fair.model"
    if before is not None:
        path.write_bytes(before)
    elif name == "chmod":
        return  # a new file is made with the rights it is to have
    monkeypatch.setattr(owner, name, fail)
    if owner is Path and name == "replace":
        monkeypatch.setattr(os, "replace", fail)
        monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(InputError, match=f"cannot be written: {error.strerror}"):
        save(fitted("ridge").model, path)
    assert [one.name for one in tmp_path.iterdir()] == (["fair.model"] if before else [])
    assert before is None or path.read_bytes() == before


def test_an_interrupted_write_leaves_all_as_it_was(monkeypatch, tmp_path):
    def interrupt(*args):
        raise KeyboardInterrupt

    path = tmp_path / "fair.model"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(fitted("ridge").model, path)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {"fair.model": b"before"}


def test_a_model_that_cannot_be_stored_leaves_the_old_file(tmp_path):
    path = tmp_path / "fair.model"
    save(fitted("ridge").model, path)
    before = path.read_bytes()
    X, Y = people()
    with pytest.raises(InputError):
        save(model(oracle=ORACLES["finite"]).fit(X, Y), path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["fair.model"]


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "fair.model"
    for case in ("ridge", "default, columns, both", "ids"):
        save(fitted(case).model, str(path))
        assert load(str(path)).seed_ == fitted(case).model.seed_
    assert [one.name for one in tmp_path.iterdir()] == ["fair.model"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere/fair.model cannot be written: No such file"):
        save(fitted("ridge").model, tmp_path / "nowhere" / "fair.model")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "fair.model").mkdir()
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        save(fitted("ridge").model, tmp_path / "fair.model")
    assert [one.name for one in tmp_path.iterdir()] == ["fair.model"]
