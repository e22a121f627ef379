"""Model files: unknown objects and damaged files are refused; a file is complete or missing."""

import json
import math
import os
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save as packed
from sklearn.exceptions import NotFittedError

from averagefair import AverageFairClassifier, ErrorRate, InputError, RegressionOracle, held_out
from averagefair.persistence import load, save
from averagefair.persistence.container import MODEL
from tests.support.memory import asked_for
from tests.support.model_files import (
    WHO,
    altered,
    assert_decides_the_same,
    fitted,
    joined,
    there_and_back,
)
from tests.support.small_fits import (
    FEATURES,
    ORACLES,
    STRANGERS,
    TASKS,
    M,
    N,
    model,
    people,
    rounds,
)
from tests.support.structured_mutants import FORGED, chosen

# Short runs miss the request on purpose: these tests are about the file, not the fairness.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::averagefair.UndefinedRateWarning"),
]


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
        return  # a clear error is fine too
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
    "words": (b"alpha,error\n0.1,0.2\n" * 20, "not a model file .* perhaps a CSV table"),
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


@pytest.mark.parametrize("version", [0, -1, "1", 1.0, True, None])
def test_another_version_of_the_format_is_told_apart(version, whole, tmp_path):
    with pytest.raises(InputError, match=r"has version .* of the format.*averagefair \d"):
        load(altered(whole, tmp_path, lambda arrays, head: head.update(version=version)))


@pytest.mark.parametrize("version", [MODEL.version + 1, 1000])
def test_a_newer_version_of_the_format_is_called_newer_whatever_else_it_holds(
    version, whole, tmp_path
):
    def change(arrays, head):
        made_by = head["made_by"]
        arrays.clear()
        arrays["something new"] = np.zeros(3)
        head.clear()
        head.update(format=MODEL.name, version=version, made_by=made_by)

    with pytest.raises(InputError, match=rf"the newer version {version} .* averagefair \d"):
        load(altered(whole, tmp_path, change))


def of_array(name, change):
    return lambda arrays, head: arrays.update({name: change(arrays[name])})


def without(name):
    return lambda arrays, head: arrays.pop(name)


def of_head(**changes):
    return lambda arrays, head: head.update(changes)


def of_certificate(**changes):
    return lambda arrays, head: head["certificate"].update(changes)


def of_promise(**changes):
    return lambda arrays, head: head["certificate"]["promise"].update(changes)


def of_who_pays(**changes):
    return lambda arrays, head: head["certificate"]["who_pays"][-1].update(changes)


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
    "one task less": of_array("linear.coefficients", lambda w: w[:, 1:]),
    "one feature less": of_array("linear.coefficients", lambda w: w[1:]),
    "one classifier less": of_array("linear.coefficients", lambda w: w[:, M:]),
    "one number of tasks less": of_array("linear.tasks", lambda tasks: tasks[1:]),
    "numbers of tasks that are others": of_array(
        "linear.tasks", lambda tasks: tasks + np.eye(len(tasks), dtype=int)[0]
    ),
    "tasks moved to another classifier": of_array(
        "linear.tasks",
        lambda tasks: tasks - np.eye(len(tasks), dtype=int)[0] + np.eye(len(tasks), dtype=int)[1],
    ),
    "fewer than no tasks": of_array("linear.tasks", lambda tasks: -tasks),
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
    "no such alpha": of_promise(alpha=2.0),
    "no such beta": of_promise(beta=-1),
    "no such promise": of_promise(kind="Vow"),
    "another promise's setting": of_promise(max_rate=0.2),
    "a list for a kind of promise": of_promise(kind=["Equal"]),
    "a word for a promise": of_certificate(promise="Equal"),
    "no promise": of_certificate(promise=None),
    "a word for who pays": of_certificate(who_pays="everybody"),
    "a word for a share": of_who_pays(better="many"),
    "half a person who pays": of_who_pays(people=0.5),
    "no change of the worst-off": of_who_pays(worst_off={}),
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


@pytest.fixture(scope="module")
def fixed(tmp_path_factory):
    """Return the bytes of a file with fixed decisions and a balance."""
    path = tmp_path_factory.mktemp("models") / "fair.model"
    save(chosen(), path, extendable=True)
    return path.read_bytes()


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED.keys())
def test_decisions_and_balances_that_do_not_fit_are_refused(change, fixed, tmp_path):
    with pytest.raises(InputError, match=r"altered\.model is (damaged|not a whole model file)"):
        load(altered(fixed, tmp_path, change))


def test_decisions_and_balances_that_fit_are_read(fixed, tmp_path):
    """This shows that the files above are refused because of their damage."""
    one = load(altered(fixed, tmp_path, lambda arrays, head: None))
    assert one.balance_.names == ("later 0", "later 1")
    assert one.balance_.tasks == 4
    other = load(altered(fixed, tmp_path, of_array("balance.wrong", lambda wrong: wrong / 2)))
    np.testing.assert_array_equal(other.balance_.rates, one.balance_.rates / 2)
    none = load(altered(fixed, tmp_path, of_head(balance=None)))
    assert none.balance_ is None
    with pytest.raises(InputError, match="what people have had so far"):
        none.extend(people(seed=5, m=2)[1], balance=True)
    none.extend(people(seed=5, m=2)[1])


@pytest.mark.parametrize("case", ["default, gradient, both", "stump, columns, error"])
def test_chances_that_are_called_fixed_are_refused(case, tmp_path):
    save(fitted(case).model, tmp_path / "fair.model")
    content = (tmp_path / "fair.model").read_bytes()
    with pytest.raises(InputError, match=r"altered\.model is damaged.*are fixed"):
        load(altered(content, tmp_path, of_certificate(decisions="fixed")))


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
    "a word for the unconstrained error": of_certificate(unconstrained_error="little"),
    "a word for the error by coin flips": of_certificate(coin_flip_error="much"),
    "a word for what was reached": of_certificate(reached="all"),
    "a word for the harm": of_certificate(harm="none"),
    "a word for the rates compared with": of_certificate(against_given="yes"),
    "who pays for no rate": of_certificate(who_pays=[]),
    "who pays for one rate of two": lambda arrays, head: head["certificate"]["who_pays"].pop(),
    "an error beyond NumPy's numbers": of_certificate(unconstrained_error=2**70),
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


@pytest.mark.parametrize("who_pays", ["everybody", 5, True, [], [5]], ids=str)
def test_who_pays_for_a_single_rate_is_one_comparison(who_pays, tmp_path):
    save(fitted("list of one rate").model, tmp_path / "listed.model")
    save(fitted("default slack").model, tmp_path / "fair.model")
    for path in (tmp_path / "listed.model", tmp_path / "fair.model"):
        with pytest.raises(InputError, match="is damaged"):
            load(altered(path.read_bytes(), tmp_path, of_certificate(who_pays=who_pays)))


@pytest.fixture(scope="module")
def per_task(tmp_path_factory):
    """Return the bytes of a file with chances of each task and choices with columns."""
    path = tmp_path_factory.mktemp("models") / "fair.model"
    save(joined("portfolio"), path)
    return path.read_bytes()


def swap_columns(arrays, head):
    """Use the tasks of one member in another order: a valid file that decides something else."""
    row = arrays["chosen.columns"].copy()
    same = np.flatnonzero(arrays["chosen.choice"][0] == arrays["chosen.choice"][0, 0])
    row[0, same] = row[0, same[::-1]]
    arrays["chosen.columns"] = row


PER_TASK = {
    "chances of fewer tasks": of_array("chances", lambda q: q[:, 1:]),
    "chances of more tasks": of_array("chances", lambda q: np.hstack([q, q[:, :1]])),
    "chances of a task that are half": of_array(
        "chances", lambda q: q * np.where(np.arange(q.shape[1]), 1.0, 0.5)
    ),
    "a negative chance in a task": of_array(
        "chances", lambda q: q + np.eye(len(q))[:, [0]] - np.eye(len(q))[:, [1]]
    ),
    "a chance that is no number": of_array("chances", lambda q: np.where(q == q[0, 0], np.nan, q)),
    "chances of fewer classifiers": of_array("chances", lambda q: q[1:] / q[1:].sum(axis=0)),
    "three dimensions of chances": of_array("chances", lambda q: q[:, :, None]),
    "whole chances": of_array("chances", lambda q: (q == q.max(axis=0)).astype(np.int64)),
    "no columns": without("chosen.columns"),
    "a column too far": of_array("chosen.columns", lambda columns: columns + 100),
    "a column of another member": of_array("chosen.columns", lambda columns: columns * 0 + 9),
    "a column before the first": of_array("chosen.columns", lambda columns: columns - 1),
    "one column for all tasks": of_array("chosen.columns", lambda columns: columns * 0),
    "half columns": of_array("chosen.columns", lambda columns: columns + 0.0),
    "columns of fewer tasks": of_array("chosen.columns", lambda columns: columns[:, 1:]),
    "columns of fewer choices": of_array("chosen.columns", lambda columns: columns[1:]),
    "a member too many": of_array("chosen.choice", lambda choice: choice + 2),
    "members that are no members": of_array("chosen.members", lambda members: members * 0),
    "members twice": of_array("chosen.members", lambda members: members * 0 + members[0]),
    "members that choose among themselves": of_array(
        "chosen.members", lambda members: members - members[0]
    ),
    "a stump of fewer tasks": of_array("stumps.tasks", lambda tasks: tasks - 1),
    "stumps of other features": of_array("stumps.features", lambda features: features + 3),
    "thresholds that are no numbers": of_array("stumps.thresholds", lambda cuts: cuts * np.nan),
}


@pytest.mark.parametrize("change", PER_TASK.values(), ids=PER_TASK)
def test_damaged_chances_and_choices_of_tasks_are_refused(change, per_task, tmp_path):
    with pytest.raises(InputError, match=r"altered\.model is damaged"):
        load(altered(per_task, tmp_path, change))


def test_choices_of_tasks_that_fit_are_read(per_task, tmp_path):
    """This shows that the files above are refused because of their damage."""
    one = joined("portfolio")
    assert_decides_the_same(one, load(altered(per_task, tmp_path, lambda *_: None)), STRANGERS)
    other = load(altered(per_task, tmp_path, swap_columns))
    chances = [it.decision_probability(STRANGERS) for it in (one, other)]
    assert np.abs(chances[0] - chances[1]).max() > 0.01


def test_a_small_file_does_not_repeat_a_classifier_until_memory_is_full(per_task, tmp_path):
    """A column of many features, named for many tasks, would take their product."""
    d, m = 3000, 3000

    def change(arrays, head):
        arrays.clear()
        arrays["chances"], arrays["linear.place"] = np.ones(1), np.array([1])
        arrays["linear.tasks"], arrays["linear.intercepts"] = np.array([1]), np.zeros(1)
        arrays["linear.coefficients"] = np.zeros((d, 1))
        arrays["chosen.place"], arrays["chosen.members"] = np.array([0]), np.array([1])
        arrays["chosen.count"] = np.array([1])
        arrays["chosen.choice"] = arrays["chosen.columns"] = np.zeros((1, m), dtype=np.int64)
        head.update(tasks=[str(task) for task in range(m)], feature_count=d, named_tasks=False)
        head.pop("fitted")

    path = altered(per_task, tmp_path, change)

    def read():
        with pytest.raises(InputError, match=r"is damaged.*names a task of a member twice"):
            load(path)

    assert asked_for(read) < 8 * d * m / 10


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
    """This shows that the files above are refused because of their damage."""
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
        return  # a new file gets its rights when it is made
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
