"""The command line's tables: kinds of files, names and blanks; and audits of them."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from averagefair import Verdict, audit
from averagefair.persistence import load
from tests.support.cli_runs import (
    IDS,
    SHUFFLED,
    TASKS,
    X,
    Y,
    cells,
    fits_80_columns,
    fixture_forks,  # noqa: F401
    fixture_shop,  # noqa: F401
    read,
    run,
    strict,
    together,
    write,
)

# Kinds of files and names


def test_a_file_in_standard_input_with_signs_in_its_names(tmp_path):
    """Names have commas, quotes, newlines, letters beyond ASCII and wildcards."""
    features = ["x,1", 'the "second"', "drei\nZeilen", "größe"]
    tasks = ["task[1]*", "task1", "täsk ?", *TASKS[3:]]
    write(
        tmp_path / "odd.csv",
        ["wér", *features, *tasks],
        [[f"ñ{one}", *x, *y] for one, x, y in zip(IDS, X, Y, strict=True)],
        encoding="utf-8-sig",
        lineterminator="\r\n",
    )
    told = run(
        tmp_path,
        *("fit", "-", "-t", "task[1]*", "-t", "täsk*", "-t", "task_?", "--ignore", "task1"),
        *("--id", "wér", "--oracle", "regression", "--alpha", "0.3", "-o", "odd.model", "--json"),
        stdin=(tmp_path / "odd.csv").read_bytes(),
    )
    found = strict(told.out)
    # task[1]* is the name of a column, so it is not read as a pattern.
    assert found["tasks"] == ["task[1]*", "täsk ?", *TASKS[3:]]
    assert found["features"] == features
    assert load(tmp_path / "odd.model").task_names_ == tuple(found["tasks"])


def test_a_quoted_name_may_hold_other_separators(tmp_path):
    for name, delimiter, odd in (("a.csv", ",", "pay; gross; net"), ("b.csv", ";", "a,b,c,d")):
        write(
            tmp_path / name,
            ["person", odd, "task_1"],
            [[one, x, y] for one, x, y in zip(IDS, X[:, 0], Y[:, 0], strict=True)],
            delimiter=delimiter,
            quoting=csv.QUOTE_NONNUMERIC,
        )
        done = run(
            tmp_path,
            *("fit", name, "-t", "task_1", "--id", "person", "--oracle", "regression"),
            *("--decisions", "drawn", "-o", "m", "--json"),  # with one task a rate is 0 or 1
        )
        assert strict(done.out)["features"] == [odd]


def test_the_line_ends_of_old_macs_are_read(shop, forks, tmp_path):
    text = (shop / "people.csv").read_bytes()
    (tmp_path / "mac.csv").write_bytes(text.replace(b"\n", b"\r"))
    done = forks.run(
        tmp_path,
        *("fit", "mac.csv", "-t", "task_*", "--id", "person", "--oracle", "regression"),
        *("--alpha", "0.3", "-o", "m", "--json"),
    )
    assert strict(done.out)["people"] == 40
    assert strict(done.out)["tasks"] == TASKS


def test_an_ignored_column_is_no_task(shop, tmp_path):
    done = run(
        shop,
        *("fit", "people.csv", "-t", "task_*", "--ignore", "task_3", "--id", "person"),
        *("--oracle", "regression", "--alpha", "0.3", "-o", tmp_path / "m", "--json"),
    )
    assert "task_3" not in strict(done.out)["tasks"]


# Audit

BLANK = ("", "NA", "NaN", "null", '""', " n/a ", "None")


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Labels with blanks, decisions and groups in three kinds of file, and the audit in Python."""
    folder = tmp_path_factory.mktemp("judged")
    rng = np.random.default_rng(11)
    labels = rng.integers(0, 2, (40, 12)).astype(float)
    labels[rng.random(labels.shape) < 0.1] = np.nan
    wrong = rng.random(labels.shape) < np.linspace(0.05, 0.6, 40)[:, None]
    chances = np.where(np.nan_to_num(labels) == wrong, 0.25, 0.875)
    groups = np.where(np.arange(40) < 20, "nördlich; A", "B")
    tasks = [f"täsk {place}" for place in range(12)]
    spelled = [
        [
            BLANK[(row + place) % len(BLANK)].strip('"')
            if np.isnan(cell)
            else ("True" if cell else "FALSE")
            if place % 2
            else f"{cell:g}"
            for place, cell in enumerate(cells)
        ]
        for row, cells in enumerate(labels)
    ]
    people = ["NA", "nan", *(f"0{place}" for place in range(2, 40))]
    write(
        folder / "labels.csv",
        ["who", *tasks],
        [[one, *line] for one, line in zip(people, spelled, strict=True)],
        encoding="utf-8-sig",
        lineterminator="\r\n",
        delimiter=";",
    )
    order = SHUFFLED
    pq.write_table(
        pa.table(
            {
                "who": pa.array([people[row] for row in order]).dictionary_encode(),
                **{name: chances[order, place] for place, name in reversed([*enumerate(tasks)])},
            }
        ),
        folder / "decisions.parquet",
    )
    write(
        folder / "groups.tsv",
        ["group", "who"],
        [[groups[row], people[row]] for row in order[::-1]],
        delimiter="\t",
    )
    found = audit(
        pd.DataFrame(labels, columns=tasks),
        pd.DataFrame(chances, columns=tasks),
        individual_names=people,
        groups=pd.DataFrame({"group": groups}),
        alpha=0.4,
        beta=0.1,
    )
    return folder, found, labels, chances, people


def test_an_audit_of_three_kinds_of_file_is_pythons(judged):
    folder, expected, labels, chances, people = judged
    args = ("audit", "labels.csv", "decisions.parquet", "--id", "who", "--groups", "groups.tsv")
    args += ("--alpha", "0.4", "--beta", "0.1")  # all columns of the table are groups
    told, said = together(
        [
            lambda: run(folder, *args, "--people", "people.csv", "--json", code=5),
            lambda: run(folder, *args, "-o", "report.html", "--explain", code=5),
        ]
    )
    found = strict(told.out)
    for name, part in expected.to_dict().items():
        assert found[name] == part, name
    known = ~np.isnan(labels)
    rates = np.where(known, np.abs(np.nan_to_num(labels) - chances), 0).sum(1) / known.sum(1)
    assert found["mean"]["value"] == pytest.approx(rates.mean())
    assert found["range"]["high"] - found["range"]["low"] == pytest.approx(np.ptp(rates))
    table = read((folder / "people.csv").read_text())
    assert table["who"] == people
    stored = read((folder / "groups.tsv").read_text().replace("\t", ","))
    by_name = dict(zip(stored["who"], stored["group"], strict=True))
    assert table["group"] == [by_name[one] for one in people]
    np.testing.assert_allclose(cells(table, ["rate"])[:, 0], rates, atol=1e-6)
    np.testing.assert_allclose(
        cells(table, ["low", "high", "tasks", "rank"]),
        np.column_stack([getattr(expected.people, n) for n in ("low", "high", "tasks", "rank")]),
        atol=1e-6,
    )
    assert fits_80_columns(said.out)
    words = " ".join(said.out.replace("\n- ", "\n").split())
    assert " ".join(expected.summary().split()) in words
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "nördlich; A" in page


def test_a_request_shown_not_to_be_met_exits_with_1(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (30, 400))
    wrong = rng.random(labels.shape) < np.where(np.arange(30) < 15, 0.05, 0.6)[:, None]
    tasks = [f"t{place}" for place in range(400)]
    pq.write_table(pa.table(dict(zip(tasks, labels.T, strict=True))), tmp_path / "l.parquet")
    write(tmp_path / "d.csv", tasks, np.where(wrong, 1 - labels, labels))
    args = ("audit", "l.parquet", "d.csv", "--beta", "0.05")
    unmet, wide = together(
        [
            lambda: run(tmp_path, *args, "--alpha", "0.1", "--json", code=1),
            lambda: run(tmp_path, *args, "--alpha", "0.4"),
        ]
    )
    assert strict(unmet.out)["assessment"]["verdict"] == Verdict.NOT_MET.value
    assert strict(unmet.out)["failed"] is True
    assert "within 0.4 of a common rate" in " ".join(wide.out.split())


def test_an_audit_of_what_two_tables_share_leaves_the_rest_out_and_says_so(tmp_path):
    """As from a spreadsheet: remarks, people in only one table, missing decisions."""
    head = ["Person-ID", "Bemerkung", *TASKS]
    right = [[one, "gut", *row] for one, row in zip(IDS[1:], Y[1:], strict=True)]
    made = [[one, "", *map(str, row)] for one, row in zip(IDS[:-1], 1 - Y[:-1], strict=True)]
    made[5][2] = ""
    write(tmp_path / "soll.csv", head, right, delimiter=";", lineterminator="\r\n")
    text = (tmp_path / "soll.csv").read_text(encoding="utf-8")
    (tmp_path / "soll.csv").write_text(f"sep=;\r\n{text};;;;;;;;;\r\n", encoding="utf-8-sig")
    write(tmp_path / "ist.csv", [*head, ""], [[*row, ""] for row in made])
    args = ("audit", "soll.csv", "ist.csv", "--id", "Person-ID", "--ignore", "Bemerkung")
    done = run(tmp_path, *args, code=2)
    assert "1 only in soll.csv" in done.err
    assert "1 only in ist.csv" in done.err
    done = run(tmp_path, *args, "--common-people", code=2)
    assert "--skip-undecided" in done.err
    done = run(tmp_path, *args, "--common-people", "--skip-undecided", "--json")
    found = strict(done.out)
    assert (found["n"], found["m"], found["mean"]["value"]) == (38, 8, 1.0)
    assert found["people"]["tasks"].count(7) == 1
    assert sum("left out" in note for note in found["notes"]) == 3
