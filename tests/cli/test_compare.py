"""Comparisons on the command line: two tables of decisions, and two columns of a log."""

from __future__ import annotations

import random

import numpy as np
import pytest

from averagefair import DecisionLog, audit, compare
from averagefair.errors import InputError
from tests.support.cli_runs import (
    fits_80_columns,
    fixture_forks,  # noqa: F401
    read,
    strict,
    write,
)
from tests.support.decided import HEAD, decided

WORLD = decided(n=50, m=40, chances=(0.05, 0.5), blank=0.1)
TABLES = ("compare", "labels.csv", "decisions.csv", "new_decisions.csv", "--id", "person")
COLUMNS = ("--person", "id", "--task", "school", "--label", "hired")
LOG = ("compare", "--log", "events.csv", *COLUMNS, "--before", "offer", "--after", "new_offer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("compare")
    WORLD.write(place)
    write(place / "events.csv", HEAD, WORLD.events(random.Random(1)))
    return place


@pytest.fixture(scope="module")
def compared():
    named = {"individual_names": WORLD.names, "task_names": WORLD.tasks}
    return compare(
        audit(WORLD.labels, WORLD.before, alpha=0.1, **named),
        audit(WORLD.labels, WORLD.after, alpha=0.1, **named),
    )


def by_name(people):
    rows = zip(*(people[name] for name in people), strict=True)
    return {row[0]: row[1:] for row in rows}


def assert_same(facts, expected, interval=1e-12):
    for name in ("mean_change", "sigma2_change"):
        assert facts[name]["value"] == pytest.approx(expected[name]["value"], rel=1e-9, abs=1e-12)
        for end in ("low", "high"):
            assert facts[name][end] == pytest.approx(expected[name][end], rel=1e-9, abs=interval)
    for name, figures in expected["figures"].items():
        if name.startswith("p of"):  # random signs depend on the order of the people
            continue
        assert facts["figures"][name] == pytest.approx(figures, rel=1e-9, abs=1e-12)
    assert facts["who_pays"] == expected["who_pays"]
    mine, own = by_name(facts["people"]), by_name(expected["people"])
    assert mine.keys() == own.keys()
    for name, row in own.items():
        assert mine[name] == pytest.approx(row, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("args", [TABLES, LOG], ids=["tables", "log"])
def test_it_is_pythons(forks, folder, compared, args):
    facts = strict(forks.run(folder, *args, "--alpha", "0.1", "--json").out)
    assert_same(facts, compared.to_dict())
    assert "share outside 0.1" in facts["figures"]


def test_it_says_what_changed_and_writes_everybody(forks, compared, tmp_path):
    WORLD.write(tmp_path)
    more = ("-o", "c.html", "--people", "p.csv", "--title", "Two vendors")
    done = forks.run(tmp_path, *TABLES, "--alpha", "0.1", *more)
    assert fits_80_columns(done.out)
    assert len(done.out.split()) <= 100
    assert compared.statements()[0].split(". ")[0] in " ".join(done.out.split())
    done = forks.run(tmp_path, *TABLES, "--alpha", "0.1", *more, "--explain")
    said = " ".join(done.out.split())
    for line in compared.statements():
        assert " ".join(line.split()) in said
    assert fits_80_columns(done.out)
    table = read((tmp_path / "p.csv").read_text())
    assert table["person"] == WORLD.names
    for name in ("before", "after", "difference", "low", "high"):
        numbers = [float(cell) for cell in table[name]]
        np.testing.assert_allclose(numbers, getattr(compared.people, name), atol=1e-6)
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "<h1>Two vendors</h1>" in page
    assert WORLD.names[0] in page


def test_learned_tasks_show_what_was_observed(forks, folder):
    facts = strict(forks.run(folder, *TABLES, "--learned-tasks", "--json").out)
    assert facts["learned_tasks"] is True
    assert facts["sigma2_change"]["value"] is None
    log = strict(forks.run(folder, *LOG, "--learned-tasks", "--json").out)
    assert log["mean_change"] == pytest.approx(facts["mean_change"])


def test_people_and_cells_that_one_table_lacks(forks, tmp_path):
    WORLD.write(tmp_path)
    for name, row in (("decisions.csv", 3), ("new_decisions.csv", 7)):
        lines = (tmp_path / name).read_text().splitlines(keepends=True)
        (tmp_path / name).write_text("".join(lines[:row] + lines[row + 1 :]))
    done = forks.run(tmp_path, *TABLES, code=2)
    assert "--common-people" in done.err
    facts = strict(forks.run(tmp_path, *TABLES, "--common-people", "--json").out)
    kept = [name for place, name in enumerate(WORLD.names) if place not in (2, 6)]
    assert facts["people"]["name"] == kept
    assert sum("left out: 1 person only in labels.csv" in note for note in facts["notes"]) == 2
    lines = (tmp_path / "new_decisions.csv").read_text().splitlines(keepends=True)
    name, _, *rest = lines[1].split(",")
    (tmp_path / "new_decisions.csv").write_text(
        "".join([lines[0], ",".join([name, "", *rest]), *lines[2:]])
    )
    args = (*TABLES, "--common-people", "--skip-undecided", "--json")
    facts = strict(forks.run(tmp_path, *args).out)
    place = facts["people"]["name"].index(name)
    who = WORLD.names.index(name)
    cells = ~np.isnan(WORLD.labels[who])
    cells[0] = False
    for column, made in (("before", WORLD.before), ("after", WORLD.after)):
        rate = np.abs(WORLD.labels - made)[who, cells].mean()
        assert facts["people"][column][place] == pytest.approx(rate)


# Logs, in Python


def log_of(events, decision):
    import pandas as pd

    log = DecisionLog(person="id", task="school", label="hired", decision=decision)
    return log.update(pd.DataFrame(events, columns=HEAD).replace("", None).astype({"hired": float}))


def test_trials_are_compared_as_families_of_tasks(compared):
    """The second decisions about a person on a task are columns of their own, in one family."""
    rng = np.random.default_rng(2)
    shape = WORLD.labels.shape
    again = rng.random(shape) < 0.3
    order = np.argsort(WORLD.names)
    events = WORLD.events()
    second = [row for row, twice in zip(events, again.ravel(), strict=True) if twice]
    found = compare(*(log_of(events + second, name).audit() for name in ("offer", "new_offer")))
    labels = np.hstack([WORLD.labels, np.where(again, WORLD.labels, np.nan)])[order]
    named = {
        "individual_names": sorted(WORLD.names),
        "task_names": [f"{turn} {task}" for turn in (1, 2) for task in WORLD.tasks],
        "task_families": WORLD.tasks * 2,
    }
    wide = compare(
        *(
            audit(labels, np.hstack([made, made])[order], **named)
            for made in (WORLD.before, WORLD.after)
        )
    )
    # Families count tasks of unequal size as slightly fewer.
    assert_same(found.to_dict(), wide.to_dict(), interval=1e-4)


def test_a_log_and_a_table_can_be_compared():
    order = np.argsort(WORLD.names)
    table = audit(
        WORLD.labels[order],
        WORLD.after[order],
        individual_names=sorted(WORLD.names),
        task_names=WORLD.tasks,
    )
    found = compare(log_of(WORLD.events(), "offer").audit(), table)
    assert found.mean.value == pytest.approx(table.mean.value - found.before.mean.value)


def test_logs_with_other_labels_or_events_are_refused():
    events = WORLD.events()
    before = log_of(events, "offer").audit()
    labelled = next(place for place, row in enumerate(events) if row[2] != "")
    turned = [list(row) for row in events]
    turned[labelled][2] = 1 - turned[labelled][2]
    for other in (turned, [*events, events[labelled]]):
        with pytest.raises(InputError, match="same labels"):
            compare(before, log_of(other, "new_offer").audit())


BAD = {
    "one table": (TABLES[:3], "missing argument AFTER"),
    "standard input": (("compare", "-", *TABLES[2:]), "LABELS twice"),
    "nothing": (("compare",), "averagefair compare LABELS BEFORE AFTER"),
    "no column after": ((*LOG[:-2],), "add --after"),
    "one column twice": ((*LOG[:-1], "offer"), "same column, 'offer'"),
    "no such column": ((*LOG[:-1], "made"), "events.csv has no column 'made'"),
    "both ways": ((*TABLES, "--log", "events.csv"), "LABELS and --log"),
    "columns for tables": ((*TABLES, "--before", "x"), "--before is for a log"),
    "an id for a log": ((*LOG, "--id", "id"), "--id cannot go with --log"),
    "other tasks": ((*TABLES[:3], "months.csv", "--id", "task"), "labels.csv"),
    "an output that is an input": ((*TABLES, "--people", "labels.csv"), "labels.csv is also"),
    "an output of another kind": ((*TABLES, "-o", "c.txt"), "c.txt must end in .html"),
    "an output in no folder": ((*LOG, "--people", "no/p.csv"), "no/p.csv"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told_and_nothing_is_written(forks, folder, name):
    args, words = BAD[name]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = forks.run(folder, *args, code=2)
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert words in done.err, done.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
