"""Drift on the command line: windows of a log's time, and batches of tasks."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from averagefair import DecisionLog, audit, drift
from tests.support.cli_runs import (
    fits_80_columns,
    fixture_forks,  # noqa: F401
    strict,
    write,
)
from tests.support.decided import COLUMNS, HEAD, decided, month_of

WORLD = decided(n=50, m=40, chances=(0.05, 0.5))
LOG = ("drift", "--log", "events.csv", *COLUMNS, "--time", "date")
TABLES = ("drift", "labels.csv", "decisions.csv", "--id", "person", "--batches", "months.csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("drift")
    WORLD.write(place)
    write(place / "events.csv", HEAD, WORLD.events(random.Random(1)))
    return place


@pytest.fixture(scope="module")
def followed():
    """The drift in Python, of the people in the order of a log."""
    order = np.argsort(WORLD.names)
    found = audit(
        WORLD.labels[order],
        WORLD.before[order],
        individual_names=sorted(WORLD.names),
        task_names=WORLD.tasks,
    )
    return drift(found, [month_of(task, 40) for task in range(40)])


def assert_same(facts, expected):
    batches, wanted = facts["batches"], expected["batches"]
    assert batches.keys() == wanted.keys()
    for name in wanted.keys() - {"batch"}:
        mine, own = (np.array(part[name], dtype=float) for part in (batches, wanted))
        np.testing.assert_allclose(mine, own, rtol=1e-9, atol=1e-12, err_msg=name)
    assert facts["p_combined"] == pytest.approx(expected["p_combined"])
    assert facts["persistence"]["value"] == pytest.approx(expected["persistence"]["value"])


def test_months_of_a_log_are_batches_of_tasks(forks, folder, followed):
    facts = strict(forks.run(folder, *LOG, "--json").out)
    assert facts["batches"]["batch"] == [f"2026-{month:02}-01" for month in range(1, 5)]
    assert_same(facts, followed.to_dict())
    tables = strict(forks.run(folder, *TABLES, "--json").out)
    assert tables["batches"]["batch"] == [f"2026-{month:02}" for month in range(1, 5)]
    assert tables["batches"]["mean"] == pytest.approx(facts["batches"]["mean"])
    assert tables["batches"]["sigma2"] == pytest.approx(facts["batches"]["sigma2"])


def test_batches_are_in_the_order_of_their_table(forks, folder, tmp_path):
    rows = [[name, "later" if place < 20 else "first"] for place, name in enumerate(WORLD.tasks)]
    write(tmp_path / "b.csv", ["task", "batch"], [["not audited", "old"], *rows[::-1]])
    args = (*TABLES[:-1], tmp_path / "b.csv")
    facts = strict(forks.run(folder, *args, "--json").out)
    assert facts["batches"]["batch"] == ["first", "later"]
    rates = np.abs(WORLD.labels - WORLD.before)
    expected = [rates[:, 20:].mean(), rates[:, :20].mean()]
    assert facts["batches"]["mean"] == pytest.approx(expected)


def test_the_calendar_makes_the_windows(forks, folder):
    days = [np.datetime64(row[-1]) for row in WORLD.events()]
    weeks = Counter(day - (day.astype(int) + 3) % 7 for day in days)
    facts = strict(forks.run(folder, *LOG, "--every", "week", "--json").out)
    assert facts["batches"]["batch"] == [str(day) for day in sorted(weeks)]
    quarters = strict(forks.run(folder, *LOG, "--every", "quarter", "--json").out)
    assert quarters["batches"]["batch"] == ["2026-01-01", "2026-04-01"]


def test_it_says_what_moved_and_who_stayed_badly_off(forks, folder, followed, tmp_path):
    (tmp_path / "events.csv").write_bytes((folder / "events.csv").read_bytes())
    done = forks.run(tmp_path, *LOG, "-o", "drift.html", "--explain")
    said = " ".join(done.out.split())
    for line in followed.statements():
        # The batches of Python have other names.
        words = line.replace("2026-01", "2026-01-01").split(" Differences between")[0]
        assert " ".join(words.split()) in said
    assert "read: 2,000 events from events.csv, about 50 people on 40 tasks" in said
    assert "report: drift.html" in done.out
    assert fits_80_columns(done.out)
    page = (tmp_path / "drift.html").read_text(encoding="utf-8")
    assert "Drift: events.csv" in page
    assert not any(name in page for name in WORLD.names)


def test_saved_sums_give_the_same_drift_month_by_month(forks, folder, tmp_path):
    whole = strict(forks.run(folder, *LOG, "--json").out)
    events = WORLD.events()
    for month in ("2026-02", "2026-01", "2026-04", "2026-03"):
        own = [row for row in events if row[-1].startswith(month)]
        write(tmp_path / f"{month}.csv", HEAD, own)
        args = ("audit", "--log", f"{month}.csv", "--sums", "sums", *COLUMNS, "--time", "date")
        if month != "2026-03":
            forks.run(tmp_path, *args)
    # The last month is added by `drift` itself.
    facts = strict(
        forks.run(tmp_path, "drift", "--log", "2026-03.csv", "--sums", "sums", "--json").out
    )
    assert {name: facts[name] for name in ("batches", "p_combined", "persistence")} == {
        name: whole[name] for name in ("batches", "p_combined", "persistence")
    }
    assert DecisionLog.load(tmp_path / "sums").events == 2000


def test_people_come_and_go(forks, tmp_path):
    rows = [row for row in WORLD.events() if (row[0] < "p025") == (row[-1] < "2026-03")]
    write(tmp_path / "events.csv", HEAD, rows)
    facts = strict(forks.run(tmp_path, *LOG, "--json").out)
    assert facts["batches"]["people"] == [25] * 4
    assert "read: 1,000 events from events.csv, about 50 people" in facts["notes"][0]


ONE = "id,school,hired,offer,date\na,s,1,0,2026-01-01\nb,s,1,1,2026-01-09\n"
BAD = {
    "without batches": ((*TABLES[:-2],), "--batches months.csv"),
    "batches of other tasks": ((*TABLES[:-1], "few.csv"), "few.csv has no batch for 39 tasks: s01"),
    "one batch": ((*TABLES[:-1], "one.csv"), "one.csv: all tasks are in one batch (x)"),
    "a task twice": ((*TABLES[:-1], "twice.csv"), "twice.csv: row 2, column 'task'"),
    "a blank batch": ((*TABLES[:-1], "blank.csv"), "blank.csv: row 1, column 'batch'"),
    "batches without their columns": ((*TABLES[:-1], "labels.csv"), "--batches 'task'"),
    "batches of a log": ((*LOG, "--batches", "months.csv"), "--batches cannot go with --log"),
    "without times": ((*LOG[:-2],), "--time date"),
    "one window": (("drift", "--log", "log.csv", *LOG[3:]), "all events are in one window"),
    "an unknown period": ((*LOG, "--every", "month's"), "--every"),
    "both ways": (("drift", "labels.csv", *LOG[1:]), "LABELS and --log"),
    "nothing": (("drift",), "averagefair drift LABELS DECISIONS"),
    "an output in no folder": ((*LOG, "-o", "no/d.html"), "no/d.html"),
    "an output of another kind": ((*LOG, "-o", "d.csv"), "d.csv must end in .html"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told_and_nothing_is_written(forks, folder, name):
    args, words = BAD[name]
    write(folder / "few.csv", ["task", "batch"], [["s00", "x"]])
    write(folder / "one.csv", ["task", "batch"], [[task, "x"] for task in WORLD.tasks])
    write(folder / "twice.csv", ["task", "batch"], [["s00", "x"], ["s00", "y"]])
    write(folder / "blank.csv", ["task", "batch"], [["s00", ""]])
    (folder / "log.csv").write_text(ONE)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = forks.run(folder, *args, code=2)
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert words in done.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_sums_without_times_have_no_drift(forks, tmp_path):
    (tmp_path / "log.csv").write_text(ONE)
    forks.run(tmp_path, "audit", "--log", "log.csv", *COLUMNS, "--sums", "sums")
    done = forks.run(tmp_path, "drift", "--sums", "sums", code=2)
    assert "without --time" in done.err
