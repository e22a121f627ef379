"""Model files: a loaded model is equal to the last bit, and a file holds no more than it should."""

import json
import math
import struct
import subprocess
import sys
from copy import deepcopy
from dataclasses import astuple, fields, replace

import numpy as np
import pandas as pd
import pytest
import skops.io as skops
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from averagefair import FalsePositiveRate, InputError, Mixture, Sample, StumpOracle, held_out
from averagefair.game.reach import Reach
from averagefair.persistence import load, read_model, save
from tests.support.model_files import (
    CASES,
    FIXED,
    LATER,
    QUICK,
    STRANGE_IDS,
    TABLES,
    WHO,
    assert_decides_the_same,
    by_task,
    contents,
    fitted,
    joined,
    there_and_back,
)
from tests.support.small_fits import FEATURES, STRANGERS, TASKS, UNEVEN, M, N, model, people, rounds

# Short runs miss the request on purpose: these tests are about the file, not the fairness.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning"),
]


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
        elif isinstance(a, Reach):
            for pair in zip(astuple(a), astuple(b), strict=True):
                assert_same_number(*pair)
        else:
            assert a == b, field.name
    assert str(one) == str(other)


def assert_same_balance(one, other):
    assert (one.balance_ is None) == (other.balance_ is None)
    if one.balance_ is not None:
        for name in ("wrong", "seen", "tasks", "names"):
            a, b = (getattr(it.balance_, name) for it in (one, other))
            assert type(a) is type(b)
            np.testing.assert_array_equal(a, b)


def measured(test):
    """Return the held-out figures as plain numbers."""
    parts = (test.people, test.tasks, test.both)
    return [None if one is None else (one.error, one.rates.tolist()) for one in parts]


def outcome(ask, *args, **options):
    """Return the result of a call, or its error."""
    try:
        return str(ask(*args, **options))
    except Exception as error:
        return type(error), str(error)


# Other cases hold the same kinds of classifiers, arrays and settings.
LONG = {
    *(f"default, columns, {rate}" for rate in ("false positives", "false negatives")),
    *(f"default, gradient, {rate}" for rate in ("false positives", "both")),
    *(f"stump, columns, {rate}" for rate in ("error", "false positives")),
    *(f"stump, gradient, {rate}" for rate in ("error", "false negatives", "both")),
    *("list of one rate", "blanks", "tasks set aside, columns", "influence", "batches"),
    *("default slack", "a certified optimum", "tree, columns", "forest", "portfolio of portfolios"),
    *("polars tables", "pyarrow tables", "fixed, gradient", "fixed, weights", "fixed, outside rho"),
    *("fixed, several kinds", "fixed, pandas tables", "fixed, tasks set aside"),
    *("boosting", "beta", "pandas, one named column"),
}
DEFAULT = [case for case in CASES if case not in LONG]
ROWS = [pytest.param(case, marks=[pytest.mark.long] * (case in LONG)) for case in CASES]


@pytest.mark.parametrize("case", ROWS)
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


@pytest.mark.parametrize("case", ROWS)
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


@pytest.mark.parametrize("case", ROWS)
def test_a_file_alone_says_how_to_decide(case, tmp_path):
    """Without the library: compute the chances by hand, from the arrays."""
    known = fitted(case)
    save(known.model, tmp_path / "fair.model")
    arrays, manifest = contents(tmp_path / "fair.model")
    decided = decisions(arrays)
    chances = sum(chance * decided[place] for place, chance in enumerate(arrays["chances"]))
    wanted = known.model.decision_probability(known.strangers).reshape(chances.shape)
    np.testing.assert_allclose(chances, wanted, atol=1e-12)
    assert manifest["tasks"] == list(known.model.task_names_)
    assert manifest["seed"] == known.model.seed_


def spans(arrays, kind):
    """Return each hypothesis's place, and where its tasks are in the arrays of its kind."""
    tasks = arrays.get(f"{kind}.tasks", np.zeros(0, int))
    ends = np.cumsum(tasks)
    rows = [slice(int(end - count), int(end)) for end, count in zip(ends, tasks, strict=True)]
    return [*zip(arrays.get(f"{kind}.place", ()), rows, strict=True)]


def decisions(arrays):
    """Return the decisions of each hypothesis for strangers."""
    found = {}
    for place, own in spans(arrays, "linear"):
        score = STRANGERS @ arrays["linear.coefficients"][:, own] + arrays["linear.intercepts"][own]
        found[place] = score < 0
    for place, own in spans(arrays, "stumps"):
        below = STRANGERS[:, arrays["stumps.features"][own]] <= arrays["stumps.thresholds"][own]
        found[place] = below != arrays["stumps.upward"][own]
    for row, (place, own) in enumerate(spans(arrays, "constant")):
        shape = len(STRANGERS), own.stop - own.start
        found[place] = np.full(shape, arrays["constant.decision"][row])
    if "fitted.place" in arrays:
        data = arrays["fitted.classifiers"].tobytes()
        listed = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
        for place, one in zip(arrays["fitted.place"], listed, strict=True):
            columns = [
                np.full(len(STRANGERS), each)
                if isinstance(each, bool)
                else each.predict(STRANGERS) == one["classes"][1]
                for each in one["classifiers"]
            ]
            found[place] = np.stack(columns, axis=1)
    ends = np.cumsum(arrays.get("chosen.count", ()), dtype=int)
    for row in reversed(range(len(ends))):
        members = arrays["chosen.members"][: ends[row]][-arrays["chosen.count"][row] :]
        choice = arrays["chosen.choice"][row]
        found[arrays["chosen.place"][row]] = np.stack(
            [
                found[members[which]][:, column]
                for which, column in zip(choice, arrays["chosen.columns"][row], strict=True)
            ],
            axis=1,
        )
    return found


def test_the_cases_hold_every_kind_of_classifier(tmp_path):
    kinds = {
        type(one).__name__ for case in DEFAULT for one in fitted(case).model.classifiers_.hypotheses
    }
    assert kinds == {"LinearThresholds", "Stumps", "Constant", "FittedClassifiers", "PerTaskChoice"}


PER_TASK = {
    "linear": lambda: by_task("default, gradient, error"),
    "stumps": lambda: by_task("stump, gradient, error"),
    "trees": lambda: by_task("tree"),
    "stumps and trees": lambda: by_task("portfolio"),
    "linear, two sets of tasks": lambda: joined("default, gradient, error"),
    "stumps and trees, two sets of tasks": lambda: joined("portfolio"),
}


@pytest.mark.parametrize("make", PER_TASK.values(), ids=PER_TASK)
def test_chances_of_each_task_come_back_the_same(make, tmp_path):
    one, path = make(), tmp_path / "fair.model"
    same = there_and_back(one, path)
    assert same.probabilities.shape == (len(same.hypotheses), len(one.task_names))
    np.testing.assert_array_equal(same.probabilities, one.probabilities)
    kinds = [[type(it) for it in mixture.hypotheses] for mixture in (one, same)]
    assert kinds[0] == kinds[1]
    assert_decides_the_same(one, same, STRANGERS)
    save(same, tmp_path / "again.model")
    if b"PK" not in path.read_bytes():  # skops writes the time into its archives
        assert (tmp_path / "again.model").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("make", PER_TASK.values(), ids=PER_TASK)
def test_a_file_alone_says_how_to_decide_each_task(make, tmp_path):
    one = make()
    save(one, tmp_path / "fair.model")
    arrays, _ = contents(tmp_path / "fair.model")
    decided = decisions(arrays)
    chances = sum(row * decided[place] for place, row in enumerate(arrays["chances"]))
    np.testing.assert_allclose(chances, one.decision_probability(STRANGERS), atol=1e-12)
    backwards = sum(row[::-1] * decided[place] for place, row in enumerate(arrays["chances"]))
    assert np.abs(backwards - one.decision_probability(STRANGERS)).max() > 0.01, "blind judge"


def test_a_file_holds_one_classifier_of_a_task_in_each_layer(tmp_path):
    """Members that decide few tasks take the space of these tasks alone."""
    one = joined("portfolio")
    save(one, tmp_path / "fair.model")
    arrays, _ = contents(tmp_path / "fair.model")
    assert "chosen.columns" in arrays
    tasks, layers = len(one.task_names), len(one.hypotheses)
    data = arrays["fitted.classifiers"].tobytes()
    listed = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    stored = sum(len(it["classifiers"]) for it in listed)
    for kind in ("stumps", "constant"):
        stored += sum(arrays.get(f"{kind}.tasks", ()))
    assert stored == tasks * layers


def test_a_model_may_have_other_classifiers_than_its_mapping_makes(tmp_path):
    known = fitted("default, gradient, error")
    one = deepcopy(known.model)
    one.classifiers_ = by_task("stump, gradient, error")
    one.mapping_ = replace(one.mapping_.sparsify(3), seed=one.classifiers_.seed + 1)
    assert len(one.classifiers_.hypotheses) > len(one.mapping_.mixture)
    same = there_and_back(one, tmp_path / "fair.model", extendable=True)
    assert_decides_the_same(one.classifiers_, same.classifiers_, STRANGERS)
    for name in ("weights", "mixture", "constants", "seed"):
        np.testing.assert_array_equal(getattr(same.mapping_, name), getattr(one.mapping_, name))
    assert_decides_the_same(one.extend(known.later), same.extend(known.later), STRANGERS)


@pytest.mark.parametrize("case", ROWS)
def test_an_extendable_model_extends_like_the_original(case, tmp_path):
    known = fitted(case)
    one = deepcopy(known.model)  # fixed decisions for later tasks change its balance
    same = there_and_back(one, tmp_path / "fair.model", extendable=True)
    assert_decides_the_same(one, same, known.X, known.strangers)
    assert_same_balance(one, same)
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
        assert found.chosen_together == wanted.chosen_together
        assert_decides_the_same(wanted, found, known.X, known.strangers)
        assert_same_balance(one, same)
    new = {
        "X_new": known.X,
        "Y_new_people": known.Y,
        "Y_new_tasks": known.later,
        "Y_new_both": known.later,
    }
    np.testing.assert_equal(measured(held_out(same, **new)), measured(held_out(one, **new)))


def test_later_tasks_of_the_same_labels_come_back(tmp_path):
    known = fitted("ids")
    twins = known.later[:, [0, 1, 0]]
    later = known.model.extend(twins)
    assert later.task_names[2] == f"{later.task_names[0]}-2"
    same = there_and_back(later, tmp_path / "later.model")
    assert same.task_names == later.task_names
    assert_decides_the_same(later, same, known.X, known.strangers)


AGAIN = ("default, gradient, both", "pandas tables", "one dimension", "fixed", "fixed, extended")


@pytest.mark.parametrize("case", AGAIN)
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
    subprocess.run([sys.executable, "-c", script, *map(str, files)], check=True, timeout=600)
    wanted = known.model.predict(known.strangers)
    np.testing.assert_array_equal(np.load(tmp_path / "decisions.npy"), wanted)


# --- fixed decisions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [row for row in ROWS if row.values[0] in {*FIXED, "default, columns, both", "ids"}],
)
def test_a_loaded_model_says_how_it_decides(case, tmp_path):
    """Fixed decisions need no draws; the chances of a fixed model are not stored."""
    one = fitted(case).model
    same = there_and_back(one, tmp_path / "fair.model")
    decisions = "fixed" if case in FIXED else "drawn"
    assert same.decisions == one.certificate_.decisions == decisions
    assert same.classifiers_.chosen_together == (decisions == "fixed")
    assert same.balance_ is None
    if decisions == "fixed":
        assert same.mixture_ is None
        assert same.classifiers_.is_fixed
        X = fitted(case).strangers
        ids = [f"other {i}" for i in range(len(X))]
        np.testing.assert_array_equal(same.predict(X, ids), same.decision_probability(X))
    else:
        assert same.mixture_ is same.classifiers_
        assert not same.classifiers_.is_fixed
    assert same.certificate_.met_on_average == one.certificate_.met_on_average


def counted(sets):
    """Return everybody's mistakes and numbers of decisions over all these tasks."""
    wrong, seen = np.zeros(N), np.zeros(N)
    for classifiers, labels in sets:
        observed = ~np.isnan(labels)
        seen += observed.sum(axis=1)
        wrong += (observed & (classifiers.predict(people()[0]) != labels)).sum(axis=1)
    return wrong, seen


def test_the_balance_goes_on_where_it_was(tmp_path):
    """Extend, save and load in turn: everybody's mistakes are counted by hand."""
    X, Y = people()
    one = model(solver=QUICK).fit(X, Y)
    sets, names = [(one.classifiers_, Y)], []
    for call in range(3):
        one = there_and_back(one, tmp_path / f"{call}.model", extendable=True)
        labels = people(seed=30 + call, m=3, blanks=0.3)[1]
        names += [f"{call} {j}" for j in range(3)]
        later = one.extend(labels, task_names=names[-3:])
        same = there_and_back(later, tmp_path / "later.model")
        assert_decides_the_same(later, same, STRANGERS)
        sets.append((same, labels))
        wrong, seen = counted(sets)
        assert one.balance_.names == tuple(names)
        assert one.balance_.tasks == M + len(names)
        np.testing.assert_allclose(one.balance_.wrong, [wrong], atol=1e-9)
        np.testing.assert_allclose(one.balance_.seen, [seen], atol=1e-9)
        np.testing.assert_allclose(one.balance_.rates, [wrong / seen], atol=1e-9)
    again = there_and_back(one, tmp_path / "last.model", extendable=True)
    with pytest.raises(InputError, match=r"counted already.*2 0, 2 1, 2 2"):
        again.extend(labels, task_names=names[-3:])
    assert_same_balance(one, again)


def test_a_balance_counts_in_the_choice_after_loading(tmp_path):
    """The same tasks get other classifiers than without a balance."""
    known, later = fitted("fixed, extended"), people(seed=40, m=20)[1]
    made = []
    for balance in (True, False):
        one = there_and_back(known.model, tmp_path / "fair.model", extendable=True)
        made.append(one.extend(later, balance=balance).predict(known.X))
        assert (len(one.balance_.names) > len(known.model.balance_.names)) == balance
    assert (made[0] != made[1]).any()


@pytest.mark.parametrize(
    "case",
    [
        "fixed, extended",
        *(
            pytest.param(case, marks=pytest.mark.long)
            for case in ("fixed, several kinds, extended", "default, columns, both")
        ),
    ],
)
def test_another_process_extends_to_the_same_classifiers(case, tmp_path):
    known = fitted(case)
    save(known.model, tmp_path / "fair.model", extendable=True)
    np.save(tmp_path / "Y.npy", known.later)
    script = (
        "import sys, numpy as np; from averagefair.persistence import load, save\n"
        "model, later = load(sys.argv[1]), np.load(sys.argv[2])\n"
        "save(model.extend(later), sys.argv[3]); save(model, sys.argv[4], extendable=True)"
    )
    files = [tmp_path / name for name in ("fair.model", "Y.npy", "later.model", "again.model")]
    subprocess.run([sys.executable, "-c", script, *map(str, files)], check=True, timeout=600)
    one = deepcopy(known.model)
    assert_decides_the_same(one.extend(known.later), load(files[2]), STRANGERS)
    assert_same_balance(one, load(files[3]))


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
    assert again.certificate_.promise == same.certificate_.promise


@pytest.mark.parametrize("case", ["beta", "influence", "default slack", "list of one rate"])
def test_the_promise_comes_back_as_parameters(case, tmp_path):
    known = fitted(case)
    same = there_and_back(known.model, tmp_path / "fair.model")
    promise = known.model.certificate_.promise
    assert (same.alpha, same.beta, same.max_influence) == (
        promise.alpha,
        promise.beta,
        promise.max_influence,
    )
    assert same.promise_ == promise
    assert same.rate == known.rate


# --- people's data -------------------------------------------------------------------------------


def traces(content, values):
    """Return which of these numbers are in the bytes, as a double or as text."""
    found = {float(one) for one in values if struct.pack("<d", one) in content}
    return found | {float(one) for one in values if repr(float(one)).encode() in content}


PRIVATE = {
    "regression": {"oracle": None},
    "stumps": {"oracle": StumpOracle()},
    "columns": {"oracle": StumpOracle(), "solver": QUICK, "decisions": "drawn"},
    "fixed": {"oracle": StumpOracle(), "solver": QUICK},
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
    rates = rates[rates * 8 % 1 != 0]  # multiples of 1/8 may be there for other reasons
    rates = rates[~np.isin(rates, one.task_weights_)]  # so may the rate of a single mistake
    assert len(set(rates)) > 9
    assert not traces(plain, rates)
    weights = one.mapping_.weights
    assert not traces(plain, weights[weights != 0])
    assert not [name for name in WHO if name.encode() in plain]
    for labels in Y.T:
        signs = np.nan_to_num(1 - 2 * labels).astype(np.int8)
        assert signs.tobytes() not in plain
        assert labels.tobytes() not in plain
    # The judges can fail: the other kind of file does hold these numbers.
    assert traces(whole, X.ravel()) == set(X.ravel())
    assert traces(whole, UNEVEN) == set(UNEVEN)
    assert all(name.encode() in whole for name in WHO)
    assert not any(labels.tobytes() in whole for labels in Y.T)
    if one.balance_ is not None:
        for count in (one.balance_.wrong, one.balance_.seen):
            assert count.tobytes() in whole
            assert count.tobytes() not in plain


@pytest.mark.parametrize("case", ["default, columns, both", "fixed"])
@pytest.mark.parametrize("extendable", [False, True])
def test_a_file_is_arrays_and_a_manifest_and_nothing_else(extendable, case, tmp_path):
    path = tmp_path / "fair.model"
    save(fitted(case).model, path, extendable=extendable)
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    head = json.loads(content[8 : 8 + length])
    assert head.pop("__metadata__").keys() == {"manifest"}
    assert {one["dtype"] for one in head.values()} <= {"F64", "I64", "U8", "BOOL"}
    assert len(content) == 8 + length + max(one["data_offsets"][1] for one in head.values())
    assert content[8:9] == b"{"
    stored = {name.split(".")[0] for name in head}
    people_too = {"people", "rule", "mapping"} if extendable else set()
    people_too |= {"balance"} if extendable and case == "fixed" else set()
    assert stored - {"linear", "constant"} == {"chances", "digest", "task_weights"} | people_too
    for name in ("mapping", "balance"):
        assert (name in contents(path)[1]) == extendable


def test_the_manifest_says_where_a_model_comes_from(tmp_path):
    origin = {"data": "people.csv", "rows": 24, "share": 0.5, "columns": ["a", "ß"], "none": None}
    save(fitted("ridge").model, tmp_path / "fair.model", origin=origin)
    found = read_model(tmp_path / "fair.model")
    assert found.manifest["origin"] == origin
    assert found.manifest["kind"] == "model"
    assert found.manifest["made_by"].startswith("averagefair ")
    assert found.manifest["versions"].keys() >= {"Python", "numpy", "scikit-learn", "highspy"}
    assert found.manifest["fingerprint"] == Sample(*people()).fingerprint()
    assert found.classifiers is found.model.classifiers_
    save(found.classifiers, tmp_path / "later.model")
    later = read_model(tmp_path / "later.model")
    assert later.manifest["kind"] == "classifiers"
    assert later.classifiers is later.model
    assert later.manifest["origin"] == {}
