"""Audits of logs on the command line: long tables of events, and saved sums of earlier ones."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from averagefair import DecisionLog, audit, audit_log
from tests.support.cli_runs import (
    fits_80_columns,
    fixture_forks,  # noqa: F401
    read,
    strict,
    write,
)
from tests.support.decided import COLUMNS, HEAD, decided

WORLD = decided(n=60, m=40, chances=(0.05, 0.5), blank=0.1)
LOG = ("audit", "--log", "events.csv", *COLUMNS)
TIMED = (*LOG, "--time", "date")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A log in one file, in a file for each month, and as two tables."""
    place = tmp_path_factory.mktemp("logs")
    WORLD.write(place)
    events = WORLD.events(random.Random(0))
    write(place / "events.csv", HEAD, events)
    (place / "months").mkdir()
    for month in sorted({row[-1][:7] for row in events}):
        own = [row for row in events if row[-1].startswith(month)]
        write(place / "months" / f"{month}.csv", HEAD, own)
    write(
        place / "groups.csv",
        ["who", "district", "age"],
        [[name, "north" if k % 3 else "south", 20 + k] for k, name in enumerate(WORLD.names)]
        + [["stranger", "west", 1]],
    )
    return place


def figures(facts):
    """Return what an audit found about people and tasks, without words and names of files."""
    kept = ("mean", "range", "chance", "dispersion", "curve", "equal_exposure", "systemic")
    return {name: facts[name] for name in kept}


def assert_same(facts, expected):
    assert facts.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, dict):
            assert_same(facts[name], value)
        elif isinstance(value, list) and value and isinstance(value[0], float):
            np.testing.assert_allclose(facts[name], value, rtol=1e-9, atol=1e-12)
        elif isinstance(value, float):
            assert facts[name] == pytest.approx(value, rel=1e-9, abs=1e-12)
        else:
            assert facts[name] == value, name


def test_a_log_without_repetition_is_audited_as_two_tables(forks, folder):
    order = np.argsort(WORLD.names)
    table = audit(
        WORLD.labels[order],
        WORLD.before[order],
        individual_names=sorted(WORLD.names),
        task_names=WORLD.tasks,
    )
    facts = strict(forks.run(folder, *LOG, "--json").out)
    assert_same(figures(facts), figures(table.to_dict()))
    assert facts["people"]["name"] == sorted(WORLD.names)
    np.testing.assert_allclose(facts["people"]["rate"], table.people.rate)


def test_it_is_pythons_with_trials_weights_and_words(forks, tmp_path):
    rng = np.random.default_rng(5)
    rows = []
    for person in range(40):
        for task in rng.permutation(12)[:9]:
            right = (person + task) % 3 == 0
            for _ in range(rng.integers(1, 4)):
                said = right if rng.random() < 0.7 else not right
                words = ("Yes" if right else "no", "yes" if said else "NO")
                rows.append([f"p{person}", f"t{task}", *words, rng.integers(1, 5)])
    write(tmp_path / "a.csv", ["id", "school", "hired", "offer", "times"], rows)
    columns = dict(zip(("person", "task", "label", "decision"), COLUMNS[1::2], strict=True))
    more = ("--positive", "yes", "--weight", "times", "--alpha", "0.3", "--rate", "false-negative")
    done = forks.run(tmp_path, "audit", "--log", "a.csv", *COLUMNS, *more, "--json", code=None)
    found = audit_log(
        tmp_path / "a.csv",
        **columns,
        positive="yes",
        weight="times",
        alpha=0.3,
        rate="false_negative",
    )
    facts = strict(done.out)
    assert_same(figures(facts), figures(found.to_dict()))
    assert facts["assessment"] == found.to_dict()["assessment"]
    assert facts["people"] == found.to_dict()["people"]


def test_it_says_what_was_read_and_what_was_left_out(forks, folder, tmp_path):
    done = forks.run(folder, *TIMED, "--explain")
    said = " ".join(done.out.split())
    blank = int(np.isnan(WORLD.labels).sum())
    assert "read: 2,400 events from events.csv, about 60 people on 40 tasks" in said
    assert "4 windows of a month: 2026-01-01 to 2026-04-01" in said
    assert f"left out: {blank} events without a label" in said
    short = forks.run(folder, *TIMED).out
    assert f"(--explain): left out: {blank} events without a label\n" in short
    assert "read: " not in short
    assert fits_80_columns(done.out)


# Sums


def test_sums_of_months_are_those_of_the_whole_log(forks, folder, tmp_path):
    whole = strict(forks.run(folder, *TIMED, "--json").out)
    for month in (3, 1, 4, 2):
        args = ("audit", "--sums", tmp_path / "sums", "--log", f"months/2026-{month:02}.csv")
        forks.run(folder, *args, *COLUMNS, "--time", "date")
    facts = strict(forks.run(folder, "audit", "--sums", tmp_path / "sums", "--json").out)
    assert figures(facts) == figures(whole)
    assert facts["people"] == whole["people"]
    saved = DecisionLog.load(tmp_path / "sums")
    assert saved.events == 2400
    assert len(saved.sources) == 4


def test_a_folder_of_logs_is_read_and_its_new_files_are_added(forks, folder, tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("2026-01.csv", "2026-02.csv"):
        (tmp_path / "in" / name).write_bytes((folder / "months" / name).read_bytes())
    args = ("audit", "--log", "in", "--sums", "sums")
    forks.run(tmp_path, *args, *COLUMNS)
    before = {path.name: path.read_bytes() for path in (tmp_path / "sums").iterdir()}
    again = forks.run(tmp_path, *args, "--json")
    assert {path.name: path.read_bytes() for path in (tmp_path / "sums").iterdir()} == before
    assert "not read again" in " ".join(strict(again.out)["notes"])
    (tmp_path / "in" / "2026-03.csv").write_bytes((folder / "months" / "2026-03.csv").read_bytes())
    notes = " ".join(strict(forks.run(tmp_path, *args, "--json").out)["notes"])
    assert "600 events from in/2026-03.csv, and the sums of 1,200 more in sums" in notes
    assert DecisionLog.load(tmp_path / "sums").events == 1800


def test_several_logs_in_one_command(forks, folder):
    logs = [part for k in (1, 2) for part in ("--log", f"months/2026-{k:02}.csv")]
    facts = strict(forks.run(folder, "audit", *logs, *COLUMNS, "--json").out)
    assert (facts["m"], facts["n"]) == (20, 60)
    assert facts["sums"] is None


def test_a_failed_gate_still_saves_the_sums(forks, folder, tmp_path):
    more = ("--sums", tmp_path / "sums", "--fail-above", "0.001", "--fail-on", "spread")
    done = forks.run(folder, *LOG, *more, code=1)
    assert f"sums: {tmp_path / 'sums'}" in done.out
    assert DecisionLog.load(tmp_path / "sums").events == 2400


def test_everything_else_fails_and_the_sums_stay_as_they_were(forks, folder, tmp_path):
    args = ("--sums", tmp_path / "sums", "--groups", "groups.csv", "--group-columns", "nothing")
    forks.run(folder, *LOG, *args, "--id", "who", code=2)
    assert not list(tmp_path.iterdir())


# Groups, features, tables and reports


def test_groups_and_features_are_joined_by_id(forks, folder, tmp_path):
    about = ("--groups", "groups.csv", "--group-columns", "district", "--id", "who")
    about += ("--features", "groups.csv", "--features-ignore", "district")
    more = ("--people", tmp_path / "people.csv", "-o", tmp_path / "a.html")
    facts = strict(forks.run(folder, *LOG, *about, *more, "--json").out)
    (view,) = facts["groups"]
    place = {name: k for k, name in enumerate(WORLD.names)}
    wanted = ["north" if place[name] % 3 else "south" for name in facts["people"]["name"]]
    rates = np.array(facts["people"]["rate"])
    assert view["name"] == ["north", "south"]
    columns = (view[name] for name in ("name", "mean", "low", "high"))
    for group, mean, low, high in zip(*columns, strict=True):
        assert mean == pytest.approx(rates[np.array(wanted) == group].mean())
        assert low < mean < high
    table = read((tmp_path / "people.csv").read_text())
    assert table["district"] == wanted
    assert table["id"] == facts["people"]["name"]
    # Chances of a mistake rise with age.
    assert facts["rules"]["rules"][0]["text"].startswith("age > ")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    for heading in ("Who has high rates", "The same people again and again", "By group"):
        assert heading in page
    assert facts["rules"]["rules"][0]["text"].replace(">", "&gt;") in page


def test_rules_are_printed_with_their_intervals(forks, folder):
    done = forks.run(folder, *LOG, "--features", "groups.csv", "--id", "who", "--explain")
    said = " ".join(done.out.split())
    assert "Rules on features, confirmed on people and tasks that did not find them" in said
    assert "- age > " in said
    assert fits_80_columns(done.out)
    tables = ("audit", "labels.csv", "decisions.csv", "--id", "person")
    write(
        folder / "by_person.csv",
        ["person", "age"],
        [[name, 20 + k] for k, name in enumerate(WORLD.names[::-1])],
    )
    facts = strict(forks.run(folder, *tables, "--features", "by_person.csv", "--json").out)
    rules = facts["rules"]["rules"]
    assert rules[0]["text"].startswith("age <= ")
    short = forks.run(folder, *tables, "--features", "by_person.csv").out
    assert fits_80_columns(short)
    lines = [line for line in short.splitlines() if "rule" in line]
    assert 1 <= len(lines) <= 3
    assert lines[0].startswith(f"rule: {rules[0]['text']}: {rules[0]['people']} people, ")


def test_a_log_of_learned_tasks_shows_what_was_observed(forks, folder):
    facts = strict(forks.run(folder, *LOG, "--learned-tasks", "--json").out)
    assert facts["learned_tasks"] is True
    assert facts["dispersion"]["sigma"] is None


# Bad input


@dataclass(frozen=True)
class Case:
    """A command, its files, and the words that its error must have."""

    args: tuple[str, ...]
    says: tuple[str, ...]
    files: dict = field(default_factory=dict)


def events(*rows, head="id,school,hired,offer,date"):
    return "\n".join([head, *rows, ""])


def numbered(tasks):
    """Return a log in which every event has a task of its own."""

    def make(path):
        number = pa.array(np.arange(tasks))
        ones = pa.array(np.ones(tasks, dtype=np.int8))
        columns = {"id": pa.array(np.arange(tasks) % 50), "school": number}
        pq.write_table(pa.table({**columns, "hired": ones, "offer": ones}), path)

    return make


GOOD = events("a,s,1,0,2026-01-01", "a,t,0,0,2026-02-01", "b,s,1,1,2026-03-01")
CSV = {"good.csv": GOOD}
GIVEN = ("audit", "--log", "good.csv", *COLUMNS)
CASES = {
    "a label that changes": Case(
        ("audit", "--log", "x.csv", *COLUMNS),
        ("x.csv", "'a'", "'s'", "changes", "'hired'", "id = 'a'"),
        {"x.csv": events("a,s,1,1,d", "b,s,1,1,d", "a,s,0,1,d")},
    ),
    "a label that changes between files": Case(
        (*GIVEN, "--log", "x.csv"),
        ("good.csv", "x.csv", "'a'", "'s'", "changes"),
        {**CSV, "x.csv": events("a,s,0,1,d")},
    ),
    "decisions without labels": Case(
        ("audit", "--log", "x.csv", *COLUMNS),
        ("x.csv", "no event has a label"),
        {"x.csv": events("a,s,,1,d", "b,s,,0,d")},
    ),
    "a label without a decision": Case(
        ("audit", "--log", "x.csv", *COLUMNS),
        ("x.csv: event 2", "'offer'", "is blank", "left out"),
        {"x.csv": events("a,s,1,1,d", "b,s,1,,d")},
    ),
    "times that do not parse": Case(
        ("audit", "--log", "x.csv", *COLUMNS, "--time", "date"),
        ("x.csv: event 2", "'soon'", "2026-05-31"),
        {"x.csv": events("a,s,1,1,2026-01-01", "b,s,1,1,soon")},
    ),
    "a blank time": Case(
        ("audit", "--log", "x.csv", *COLUMNS, "--time", "date"),
        ("x.csv: event 1", "'date'", "is blank"),
        {"x.csv": events("a,s,1,1,")},
    ),
    "a million tasks": Case(
        ("audit", "--log", "x.parquet", *COLUMNS),
        ("'school'", "different tasks", "20,000", "Is this the id of events"),
        {"x.parquet": numbered(1_000_000)},
    ),
    "a missing column": Case(
        ("audit", "--log", "x.csv", *COLUMNS),
        ("x.csv", "'offer'", "Its columns: 'id', 'school', 'hired', 'made'"),
        {"x.csv": events("a,s,1,1", head="id,school,hired,made")},
    ),
    "a column that is not named": Case(
        ("audit", "--log", "good.csv", "--person", "id", "--label", "hired"),
        ("--task, --decision", "--task school"),
        CSV,
    ),
    "a column with two roles": Case((*GIVEN, "--weight", "offer"), ("'offer'", "two roles"), CSV),
    "words": Case(
        ("audit", "--log", "x.csv", *COLUMNS),
        ("x.csv: event 1", "'yes'", "--positive yes"),
        {"x.csv": events("a,s,yes,no,d")},
    ),
    "a weight of nothing": Case((*GIVEN, "--weight", "date"), ("good.csv: event 1", "'date'"), CSV),
    "no events": Case(
        ("audit", "--log", "x.csv", *COLUMNS), ("x.csv", "no rows"), {"x.csv": events()}
    ),
    "no file": Case(("audit", "--log", "x.csv", *COLUMNS), ("x.csv does not exist", "folder")),
    "an empty folder": Case(
        ("audit", "--log", "in", *COLUMNS), ("in", "*.parquet"), {"in/readme.txt": "hello"}
    ),
    "standard input": Case(("audit", "--log", "-", *COLUMNS), ("standard input", "Save")),
    "one file twice": Case((*GIVEN, "--log", "good.csv"), ("good.csv twice",), CSV),
    "one file by two names": Case(
        ("audit", "--log", "x.csv", "--log", "y.csv", *COLUMNS),
        ("y.csv has the same sums as x.csv",),
        {name: events(*(f"p{k},s,1,{k % 2},d" for k in range(12))) for name in ("x.csv", "y.csv")},
    ),
    "nothing": Case(("audit",), ("audit LABELS DECISIONS", "--log events.parquet")),
    "a log and tables": Case(
        ("audit", "good.csv", "good.csv", "--log", "good.csv"), ("LABELS and --log",), CSV
    ),
    "labels alone": Case(("audit", "good.csv"), ("DECISIONS", "--log"), CSV),
    "columns of a log for tables": Case(
        ("audit", "good.csv", "good.csv", "--person", "id"), ("--person", "--log"), CSV
    ),
    **{
        f"{option} with a log": Case((*GIVEN, option, *value), (option, "--log", why), CSV)
        for option, value, why in (
            ("--tasks", ["s"], "--task names"),
            ("--ignore", ["date"], "columns that are named"),
            ("--common-people", [], "one table"),
            ("--skip-undecided", [], "labels"),
        )
    },
    "an id without a table": Case((*GIVEN, "--id", "id"), ("--id", "--person"), CSV),
    "columns of groups without groups": Case(
        (*GIVEN, "--group-columns", "x"), ("--groups groups.csv",), CSV
    ),
    "groups without columns": Case(
        (*GIVEN, "--groups", "x.csv"),
        ("x.csv", "no column beside the id"),
        {**CSV, "x.csv": "id\na\nb\n"},
    ),
    "groups without the id": Case(
        (*GIVEN, "--groups", "x.csv", "--group-columns", "g"),
        ("x.csv", "'id'", "--person", "--id who"),
        {**CSV, "x.csv": "who,g\na,1\nb,2\n"},
    ),
    "groups that lack somebody": Case(
        (*GIVEN, "--groups", "x.csv", "--group-columns", "g", "--id", "who"),
        ("x.csv lacks 1 of 2 people: b", "--groups", "'who'"),
        {**CSV, "x.csv": "who,g\na,1\n"},
    ),
    "features to ignore, but none": Case((*GIVEN, "--features-ignore", "x"), ("--features",), CSV),
    "features of few people": Case(
        (*GIVEN, "--features", "x.csv"),
        ("40 people and 20 tasks",),
        {**CSV, "x.csv": "id,x\na,1\nb,2\n"},
    ),
    "features on learned tasks": Case(
        (*GIVEN, "--features", "good.csv", "--learned-tasks"), ("fresh tasks",), CSV
    ),
    "an alpha above everything": Case((*GIVEN, "--alpha", "5"), ("`alpha`", "got 5"), CSV),
    "an unknown period": Case(
        (*GIVEN, "--time", "date", "--every", "fortnight"),
        ("--every", "'fortnight'", "week"),
        CSV,
    ),
    "a period without times": Case((*GIVEN, "--every", "week"), ("--every", "--time date"), CSV),
    "an output that is the log": Case((*GIVEN, "--people", "good.csv"), ("good.csv", "input"), CSV),
    "an output in no folder": Case((*GIVEN, "-o", "no/a.html"), ("no/a.html", "no folder"), CSV),
    "a folder for an output": Case(
        (*GIVEN, "--junit", "d.xml"), ("d.xml", "is a folder"), {**CSV, "d.xml/x": ""}
    ),
    "sums that are not there": Case(("audit", "--sums", "sums"), ("sums holds no sums", "--log")),
    "a file for sums": Case((*GIVEN, "--sums", "good.csv"), ("good.csv is a file",), CSV),
    "sums in no folder": Case((*GIVEN, "--sums", "no/sums"), ("no/sums", "no folder"), CSV),
    "another folder for sums": Case(
        (*GIVEN, "--sums", "in"), ("in is not empty",), {**CSV, "in/readme.txt": "hello"}
    ),
    "sums to standard output": Case((*GIVEN, "--sums", "-"), ("--sums", "folder"), CSV),
    "damaged sums": Case(("audit", "--sums", "s"), ("s/log.json",), {"s/log.json": "{"}),
    "sums of something else": Case(
        ("audit", "--sums", "s"), ("s/log.json", "not the list"), {"s/log.json": "{}"}
    ),
    "sums without files": Case(
        ("audit", "--sums", "s"),
        ("s/x.arrow", "missing"),
        {
            "s/log.json": '{"format": "averagefair decision log", "version": 1, "columns": '
            '{"person": "a", "task": "b", "label": "c", "decision": "d", "time": null, '
            '"weight": null, "every": "month", "positive": null}, "sources": [{"name": "x", '
            '"file": "x.arrow", "events": 1, "unlabelled": 0}]}'
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_told_and_nothing_is_written(forks, tmp_path, name):
    case = CASES[name]
    for path, content in case.files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        if callable(content):
            content(tmp_path / path)
        else:
            (tmp_path / path).write_text(content)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = forks.run(tmp_path, *case.args, code=2)
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    for words in case.says:
        assert words in done.err, done.err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--log", "good.csv"), "good.csv was added to sums before"),
        (("--person", "school"), "with --person id; got --person school"),
        (("--weight", "date"), "without --weight; got --weight date"),
        (("--every", "week"), "without --time"),
        (("--time", "date"), "without --time; got --time date"),
    ],
)
def test_sums_refuse_what_contradicts_them(forks, tmp_path, more, says):
    (tmp_path / "good.csv").write_text(GOOD)
    forks.run(tmp_path, *GIVEN, "--sums", "sums")
    done = forks.run(tmp_path, "audit", "--sums", "sums", *more, code=2)
    assert says in done.err
    same = ("--person", "id", "--task", "school", "--label", "hired", "--decision", "offer")
    forks.run(tmp_path, "audit", "--sums", "sums", *same)


def test_a_task_that_one_person_met_is_named(forks, tmp_path):
    (tmp_path / "good.csv").write_text(GOOD)
    notes = strict(forks.run(tmp_path, *GIVEN, "--json").out)["notes"]
    assert any("only one person met 1 task: t." in note for note in notes)
