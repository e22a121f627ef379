"""Labels and decisions in words: the same results as from the table of 0 and 1."""

import numpy as np
import pandas as pd
import pytest

from averagefair import InputError, load
from averagefair.files.positive import advice, plain_word, read_positive
from averagefair.files.reading import read_file
from tests.support.cli_runs import (
    IDS,
    NEW_TASKS,
    TASKS,
    Y_LATER,
    X,
    Y,
    fixture_forks,  # noqa: F401
    run,
    strict,
)

pa = pytest.importorskip("pyarrow")

FEATURES = ["x1", "x2", "x3", "x4"]
ASK = ("--oracle", "regression", "--alpha", "0.3", "--seed", "1", "-q")
rng = np.random.default_rng(5)
BLANK = rng.random(Y.shape) < 0.1
PLAIN = np.where(BLANK, np.nan, Y)
DECIDED = np.where(rng.random(Y.shape) < 0.2, 1 - Y, Y)
NO, YES = (["no", "No ", "NO"], ["yes", "Yes", " YES"])
CODES = {
    "yes": (lambda label: (YES if label else NO)[int(rng.integers(3))], ["yes"]),
    "several": (
        lambda label: ["hired", "promoted"][int(rng.integers(2))] if label else "no",
        ["hired", "PROMOTED"],
    ),
    "minus one": (lambda label: 1 if label else -1, ["1"]),
    "two": (lambda label: 2 if label else 1, ["2.0"]),
    "turned": (lambda label: 0 if label else 1, ["0"]),
    "flags": (lambda label: "TRUE" if label else "false", ["true"]),
    "grades": (lambda label: "pass" if label else ["fail", "?"][int(rng.integers(2))], ["pass"]),
}


def coded(labels, code):
    return [
        ["" if np.isnan(cell) else CODES[code][0](bool(cell)) for cell in row]
        for row in np.asarray(labels, dtype=float)
    ]


def write(path, labels, names, features=True):
    table = pd.DataFrame(labels, columns=names, dtype=object)
    if features:
        table = pd.concat([pd.DataFrame(X, columns=FEATURES), table], axis=1)
    table.insert(0, "person", IDS)
    if str(path).endswith(".parquet"):
        table.convert_dtypes().replace("", None).to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False)


def words(code):
    return [part for word in CODES[code][1] for part in ("--positive", word)]


@pytest.fixture(scope="module", name="plain")
def fixture_plain(tmp_path_factory, forks):
    """The table of 0 and 1, a model of it and its audit."""
    folder = tmp_path_factory.mktemp("plain")
    write(folder / "people.csv", PLAIN, TASKS)
    write(folder / "decisions.csv", DECIDED, TASKS, features=False)
    args = ("-t", "task_*", "--id", "person", *ASK)
    forks.run(folder, "fit", "people.csv", *args, "--extendable", "-o", "fair.model", code=None)
    return folder


def audited(forks, folder, *more):
    args = ("--id", "person", "-t", "task_*", "--json")
    found = strict(forks.run(folder, "audit", "people.csv", "decisions.csv", *args, *more).out)
    return {name: found[name] for name in ("mean", "range", "dispersion", "people")}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("code", CODES)
def test_words_are_read_as_labels(code, kind, tmp_path):
    path = tmp_path / f"people.{kind}"
    write(path, coded(PLAIN, code), TASKS)
    table = read_file(str(path))
    given = [plain_word(word) for word in CODES[code][1]]
    np.testing.assert_array_equal(table.labels(TASKS, given), PLAIN)
    np.testing.assert_array_equal(table.decisions(TASKS, given), PLAIN)


@pytest.mark.parametrize("code", ["yes", "minus one"])
def test_the_model_and_the_audit_are_those_of_0_and_1(code, plain, forks, tmp_path):
    write(tmp_path / "people.csv", coded(PLAIN, code), TASKS)
    write(tmp_path / "decisions.csv", coded(DECIDED, code), TASKS, features=False)
    args = ("fit", "people.csv", "-t", "task_*", "--id", "person", *ASK, *words(code))
    forks.run(tmp_path, *args, "-o", "fair.model", code=None)
    models = [load(folder / "fair.model") for folder in (plain, tmp_path)]
    assert models[0].fingerprint_ == models[1].fingerprint_
    decided = [one.classifiers_.predict(X) for one in models]
    np.testing.assert_array_equal(*decided)
    assert audited(forks, tmp_path, *words(code)) == audited(forks, plain)
    # One of the tables may hold 0 and 1 already.
    write(tmp_path / "decisions.csv", DECIDED, TASKS, features=False)
    assert audited(forks, tmp_path, *words(code)) == audited(forks, plain)


def test_a_curve_and_later_tasks_take_words_too(plain, forks, tmp_path):
    args = ("-t", "task_*", "--id", "person", "--oracle", "regression", "--alphas", "0.3", "-q")
    args += ("--new-tasks", "task_8", "--test", "others.csv", "--json")
    found = []
    for folder, more in ((plain, []), (tmp_path, words("yes"))):
        labels = PLAIN if folder == plain else coded(PLAIN, "yes")
        for name, rows in (("people.csv", slice(0, 30)), ("others.csv", slice(30, 40))):
            table = pd.DataFrame(X, columns=FEATURES)[rows]
            table.insert(0, "person", IDS[rows])
            table[TASKS] = np.array(labels, dtype=object)[rows]
            table.to_csv(folder / f"some-{name}", index=False)
        own = [part if part != "others.csv" else "some-others.csv" for part in args]
        done = forks.run(folder, "frontier", "some-people.csv", *own, *more, code=None)
        found.append({name: strict(done.out)[name] for name in ("held_out", "people", "tasks")})
    assert found[0] == found[1]
    later = pd.DataFrame(coded(Y_LATER, "yes"), columns=NEW_TASKS)
    later.insert(0, "person", IDS)
    later.to_csv(tmp_path / "later.csv", index=False)
    said = forks.run(
        plain, "extend", "fair.model", tmp_path / "later.csv", "-o", "later.model", code=2
    )
    assert "--positive yes" in said.err.lower()
    more = ("--positive", "yes", "-o", "later.model", "--json")
    done = forks.run(plain, "extend", "fair.model", tmp_path / "later.csv", *more)
    wrong = (load(plain / "later.model").predict(X) != Y_LATER).mean()
    assert strict(done.out)["error"] == pytest.approx(wrong)


def test_comparisons_take_words_too(plain, forks, tmp_path):
    write(tmp_path / "people.csv", coded(PLAIN, "yes"), TASKS)
    write(tmp_path / "decisions.csv", coded(DECIDED, "yes"), TASKS, features=False)
    write(tmp_path / "after.csv", Y, TASKS, features=False)
    write(plain / "after.csv", Y, TASKS, features=False)
    args = ("compare", "people.csv", "decisions.csv", "after.csv", "--id", "person", "-t", "task_*")
    tables = [
        forks.run(folder, *args, *more).out
        for folder, more in ((plain, []), (tmp_path, words("yes")))
    ]
    assert tables[0] == tables[1]


def test_chances_stay_chances():
    column = pa.chunked_array([["yes", "0.25", "NO"], ["1", None, "true"]])
    found = read_positive(column, ("yes",), chances=True)
    np.testing.assert_array_equal(found, [1, 0.25, 0, 1, np.nan, 1])
    column = pa.array([0.25, -1.0, 1.0, None])
    np.testing.assert_array_equal(read_positive(column, ("1",), chances=True), [0.25, 0, 1, np.nan])
    np.testing.assert_array_equal(read_positive(column, ("1",), chances=False), [0, 0, 1, np.nan])
    # Numbers that are no labels are left for the caller to refuse.
    np.testing.assert_array_equal(read_positive(column, ("yes",), chances=False)[:2], [0.25, -1])


def refused(forks, folder, *args):
    done = forks.run(folder, *args, code=2)
    assert done.out == ""
    return done.err


BAD = {
    "yes and no": ("yes", [], "got '.*'. .*--positive yes: '.*no.*' then means 0"),
    "minus one": ("minus one", [], "got -1. Say which word means 1, e.g. --positive 1: '-1' then"),
    "one and two": ("two", [], "got 2. .*--positive 1: '2' then means 0"),
    "grades": ("grades", [], "--positive pass: every other word then means 0"),
    "no such word": ("yes", ["--positive", "ja"], "--positive ja: no label column .*'.*yes.*'"),
    "one of two words": (
        "yes",
        ["--positive", "yes", "--positive", "ja"],
        "--positive ja: no label column holds this word",
    ),
    "a blank word": ("yes", ["--positive", " "], "a positive word must not be blank; got ' '"),
    "a number among words": ("mixed", ["--positive", "yes"], "must be 0, 1 or blank; got 7"),
}


@pytest.mark.parametrize("case", BAD)
def test_labels_in_other_words_are_refused(case, forks, tmp_path):
    code, more, message = BAD[case]
    labels = coded(PLAIN, "yes" if code == "mixed" else code)
    if code == "mixed":
        labels[3][2] = "7"
    write(tmp_path / "people.csv", labels, TASKS)
    told = refused(
        forks, tmp_path, "fit", "people.csv", "-t", "task_*", "--id", "person", "-o", "m", *more
    )
    assert pd.Series([told]).str.contains(f"(?i){message}").all(), told
    assert not (tmp_path / "m").exists()


def test_a_mistake_among_labels_gets_no_advice_about_words():
    assert advice(pa.array(["0", "1", "2"])) == ""
    assert advice(pa.array(["0", "1", "x"])) == ""
    assert advice(pa.array([f"word {number}" for number in range(30)])) == ""
    assert advice(pa.array([[1], [2]])) == ""


def test_messages_for_python_name_no_option(tmp_path):
    from averagefair.files import map_parquet

    write(tmp_path / "people.parquet", coded(PLAIN, "yes"), TASKS)
    (tmp_path / "arrays").mkdir()
    with pytest.raises(InputError, match="Write words as 0 and 1") as caught:
        map_parquet(
            tmp_path / "people.parquet", tasks="task_*", id="person", folder=tmp_path / "arrays"
        )
    assert "--" not in str(caught.value)


def test_a_log_takes_one_word(forks, tmp_path):
    columns = {"id": ["a", "b"] * 4, "task": [*"ccddeeff"], "label": ["yes", "no"] * 4}
    events = pd.DataFrame({**columns, "made": ["no"] * 8})
    events.to_csv(tmp_path / "log.csv", index=False)
    args = ("audit", "--log", "log.csv", "--person", "id", "--task", "task", "--label", "label")
    args += ("--decision", "made", "--positive", "yes")
    assert "average error" in run(tmp_path, *args).out
    told = refused(forks, tmp_path, *args, "--positive", "ja")
    assert "a log takes one word as --positive; got yes, ja" in told
