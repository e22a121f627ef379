"""Labels from long tables against pandas' pivot, in Python and on the command line."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from averagefair import DecisionLog, InputError, labels_from_log, load
from tests.support.cli_runs import (
    FEATURES,
    IDS,
    TASKS,
    X,
    Y,
    fixture_forks,  # noqa: F401
    strict,
)

COLUMNS = {"person": "id", "task": "school", "label": "hired"}
rng = np.random.default_rng(4)


def draw_events(seed=0, people=30, tasks=9, events=200, *, words=True):
    """Draw events with repeated pairs, which agree, and with blank labels."""
    rng = np.random.default_rng(seed)
    who, what = rng.integers(0, people, events), rng.integers(0, tasks, events)
    labels = rng.integers(0, 2, (people, tasks)).astype(float)
    return pd.DataFrame(
        {
            "id": [f"p{one:03}" for one in who] if words else who,
            "school": [f"s {one}" for one in what] if words else what,
            "hired": np.where(rng.random(events) < 0.1, np.nan, labels[who, what]),
            "note": "not read",
        }
    )


def pivot(events):
    known = events.dropna(subset=["hired"])
    wide = known.drop_duplicates(["id", "school"]).pivot(
        index="id", columns="school", values="hired"
    )
    wide.columns = [*map(str, wide.columns)]
    return wide.astype(np.float32)


@pytest.mark.properties
@given(seed=st.integers(0, 2**32 - 1), words=st.booleans(), events=st.integers(5, 300))
def test_labels_are_those_of_a_pivot(seed, words, events):
    drawn = draw_events(seed, events=events, words=words)
    if drawn["hired"].isna().all():
        return
    found = labels_from_log(drawn, **COLUMNS)
    pd.testing.assert_frame_equal(found, pivot(drawn), check_names=False, check_index_type=False)
    assert found.index.name == "id"


def test_files_and_libraries_give_the_same(tmp_path):
    events = draw_events()
    wanted = labels_from_log(events, **COLUMNS)
    events.to_csv(tmp_path / "events.csv", index=False)
    events.to_parquet(tmp_path / "events.parquet", index=False)
    events.to_excel(tmp_path / "events.xlsx", index=False, sheet_name="May")
    (tmp_path / "months").mkdir()
    events[:70].to_csv(tmp_path / "months" / "a.csv", index=False)
    events[70:].to_parquet(tmp_path / "months" / "b.parquet", index=False)
    for given_ in (
        pl.from_pandas(events),
        *(tmp_path / f"events.{kind}" for kind in ("csv", "parquet", "xlsx")),
        f"{tmp_path}/events.xlsx#May",
        tmp_path / "months",
        [tmp_path / "months" / "a.csv", tmp_path / "months" / "b.parquet"],
    ):
        pd.testing.assert_frame_equal(labels_from_log(given_, **COLUMNS), wanted)


@pytest.mark.parametrize("kind", ["frame", "csv"])
@pytest.mark.parametrize(
    ("code", "positive"),
    [
        ({0.0: "No", 1.0: "yes "}, "YES"),
        ({0.0: -1, 1.0: 1}, "1"),
        ({0.0: "n", 1.0: "y"}, ["y", "j"]),
        ({0.0: 1, 1.0: 2}, "2"),
    ],
)
def test_words_mean_1_or_0(code, positive, kind, tmp_path):
    events = draw_events()
    coded = events.assign(hired=events["hired"].map(code))
    if kind == "csv":
        coded.to_csv(tmp_path / "events.csv", index=False)
        coded = tmp_path / "events.csv"
    found = labels_from_log(coded, **COLUMNS, positive=positive)
    pd.testing.assert_frame_equal(found, labels_from_log(events, **COLUMNS))


def test_a_log_of_decisions_reads_words_as_before():
    events = draw_events().assign(offer=0.25)
    said = events.assign(hired=events["hired"].map({0.0: "no", 1.0: "yes"}))
    audits = [
        DecisionLog(**COLUMNS, decision="offer", positive=word).update(table).audit()
        for word, table in (("yes", said), (None, events))
    ]
    assert audits[0].to_dict() == audits[1].to_dict()


EVENTS = draw_events()
BAD = {
    "a changed label": (
        pd.concat([EVENTS, EVENTS.assign(hired=1 - EVENTS["hired"])[:60]]),
        {},
        r"the label of person 'p\d+' on task 's \d' changes: .*Look at the events with id = 'p",
    ),
    "words": (EVENTS.assign(hired="yes"), {}, "event 1, 'hired': holds 'yes'.*positive"),
    "a third number": (EVENTS.assign(hired=3), {}, "event 1, 'hired': labels must be 0, 1 or bl"),
    "no labels": (EVENTS.assign(hired=np.nan), {}, "no event has a label"),
    "no events": (EVENTS[:0], {}, "there are no events"),
    "a blank person": (EVENTS.assign(id=None), {}, "event 1, 'id': is blank"),
    "no such column": (EVENTS, {"label": "fit"}, "has no column 'fit'. Its columns: id|'id'"),
    "one column twice": (EVENTS, {"task": "id"}, "column 'id' has two roles"),
    "an id as the task": (
        pd.DataFrame({"id": 1, "school": np.arange(20_001), "hired": 1}),
        {},
        "20,001 different tasks",
    ),
    "no positive label": (
        EVENTS.assign(hired="no"),
        {"positive": "yes"},
        "no event has the label 'yes' in column 'hired'",
    ),
    "a blank word": (EVENTS, {"positive": ""}, "a positive word must not be blank"),
}


@pytest.mark.parametrize("case", BAD)
def test_logs_that_are_no_labels_are_refused(case):
    events, more, message = BAD[case]
    with pytest.raises(InputError, match=message):
        labels_from_log(events, **{**COLUMNS, **more})


# --- on the command line -------------------------------------------------------------------------

ASK = ("--oracle", "regression", "--alpha", "0.3", "--seed", "1", "-q")
LONG = ("--long", "--person", "id", "--task", "school", "--label", "hired")


@pytest.fixture(scope="module", name="shop")
def fixture_shop(tmp_path_factory):
    """Features of 40 people, and a log of the labels of 38 of them and of two strangers."""
    folder = tmp_path_factory.mktemp("long")
    table = pd.DataFrame(X, columns=FEATURES)
    table.insert(0, "id", IDS)
    table.to_csv(folder / "people.csv", index=False)
    wide = pd.DataFrame(np.where(rng.random(Y.shape) < 0.2, np.nan, Y), index=IDS, columns=TASKS)
    wide[:2] = np.nan
    events = wide.stack().dropna().reset_index()
    events.columns = ["id", "school", "hired"]
    strangers = pd.DataFrame({"id": ["x1", "x2"], "school": TASKS[:2], "hired": [1.0, 0.0]})
    events = pd.concat([events, events[:20], strangers]).sample(frac=1, random_state=0)
    events.to_csv(folder / "events.csv", index=False)
    events.to_parquet(folder / "events.parquet", index=False)
    events.assign(hired=events["hired"].map({0.0: "no", 1.0: "yes"})).to_csv(
        folder / "words.csv", index=False
    )
    wide[2:].rename_axis("id").to_csv(folder / "wide.csv")
    table[2:].to_csv(folder / "known.csv", index=False)
    return folder


def fit(forks, folder, tmp_path, *args, code=None):
    return forks.run(folder, "fit", *args, *ASK, "-o", tmp_path / "m", "--json", code=code)


def test_the_model_is_that_of_the_wide_table(shop, forks, tmp_path):
    wide = fit(
        *(forks, shop, tmp_path, "known.csv", "--labels", "wide.csv", "--id", "id", "-t", "task_*")
    )
    wanted, known = load(tmp_path / "m"), strict(wide.out)
    for labels, more in (
        ("events.csv", ()),
        ("events.parquet", ("--id", "id")),
        ("words.csv", ("--positive", "yes")),
        ("events.csv", ("-t", "task_*")),
    ):
        told = strict(
            fit(forks, shop, tmp_path, "people.csv", "--labels", labels, *LONG, *more).out
        )
        found = load(tmp_path / "m")
        assert found.fingerprint_ == wanted.fingerprint_
        assert (told["tasks"], told["people"]) == (known["tasks"], 38)
        assert told["left_out"] == [
            "left out: 2 people of people.csv without a label (001, 002)",
            f"left out: 2 people of {labels} without features (x1, x2)",
        ]


def test_tasks_are_chosen_and_held_out(shop, forks, tmp_path):
    people = pd.read_csv(shop / "people.csv", dtype={"id": str})
    people[:30].to_csv(tmp_path / "some.csv", index=False)
    people[30:].to_csv(tmp_path / "others.csv", index=False)
    args = ("frontier", "some.csv", "--labels", shop / "words.csv", *LONG, "--positive", "yes")
    args += ("--new-tasks", "task_8", "--ignore", "task_1", "--alphas", "0.3", "-q", "--json")
    args += ("--oracle", "regression", "--test", "others.csv", "--model", "m", "-o", "r.html")
    told = strict(forks.run(tmp_path, *args, code=None).out)
    assert told["tasks"] == TASKS[1:7]
    assert told["people"] == 28
    wide = pd.read_csv(shop / "wide.csv", dtype={"id": str}).set_index("id")[TASKS[1:7]]
    labels = wide.loc[IDS[30:]].to_numpy()
    model = load(tmp_path / "m")
    wrong = np.where(np.isnan(labels), np.nan, model.predict(people[30:][FEATURES]) != labels)
    rates = np.nanmean(wrong, axis=1)  # of each person
    assert told["held_out"]["people"]["error"] == [pytest.approx(rates.mean())]
    assert {"people", "tasks", "both"} <= told["held_out"].keys()
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "words.csv" in page


CASES = {
    "no columns": (("--labels", "events.csv", "--long"), "--long needs --person, --task, --label"),
    "no table": (LONG, "--long needs the table of labels, e.g. --labels events.parquet"),
    "columns without --long": (
        ("--labels", "events.csv", "--person", "id"),
        "--person is for a long table of labels: add --long",
    ),
    "words": (("--labels", "words.csv", *LONG), "words.csv: event 1, 'hired': holds"),
    "other words": (
        ("--labels", "words.csv", *LONG, "--positive", "ja"),
        "no event has the label 'ja' in column 'hired'. The column holds: '",
    ),
    "standard input": (("--labels", "-", *LONG), "cannot come from standard input"),
    "no such file": (("--labels", "gone.csv", *LONG), "gone.csv does not exist"),
    "nobody in common": (
        ("--labels", "strangers.csv", *LONG),
        "people.csv and strangers.csv have nobody in common; left out: 40 people of people.csv",
    ),
    "no tasks at all": ((), "--tasks is missing: name the label columns"),
    "no such task": (("--labels", "events.csv", *LONG, "-t", "job_*"), "no column matches --tasks"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_options_are_refused(case, shop, forks, tmp_path):
    args, message = CASES[case]
    strangers = pd.DataFrame({"id": ["1"], "school": ["a"], "hired": [1]})
    strangers.to_csv(shop / "strangers.csv", index=False)
    told = fit(forks, shop, tmp_path, "people.csv", *args, code=2).err
    assert message in told
    assert not (tmp_path / "m").exists()
