"""Bad input: one line names the place and the fault, exit code 2, and nothing is written."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save as packed

from averagefair import AverageFairClassifier, InputError
from averagefair.persistence import load, save
from tests.support.cli_runs import (
    FEATURES,
    IDS,
    NEW_TASKS,
    TASKS,
    X,
    Y,
    command,
    environment,
    fixture_forks,  # noqa: F401
    run,
    run_alone,
    strict,
    write_people,
)

FIT = ("fit", "people.csv", "--tasks", "task_*", "--id", "person", "-o", "out.model")
FRONTIER = ("frontier", "people.csv", "-t", "task_*", "--id", "person", "-o", "out.html")
PREDICT = ("predict", "fair.model", "people.csv", "-o", "out.csv")
EXTEND = ("extend", "fair.model", "new_labels.csv", "-o", "out.model")
AUDIT = ("audit", "labels.csv", "decisions.csv", "--id", "person", "-o", "out.html")


def other(args, **changes):
    """Replace words of a command: other(FIT, people="x.csv") reads x.csv."""
    return tuple(changes.get(word.split(".")[0], word) for word in args)


def table(name, **changes):
    """Return a standard table with some cells, rows or the head changed."""

    def make(folder):
        rows = list(csv.reader((folder / name).read_text().splitlines()))
        for where, value in changes.get("cells", {}).items():
            row, column = where
            rows[row][rows[0].index(column)] = value
        for old, new in changes.get("rename", {}).items():
            rows[0][rows[0].index(old)] = new
        rows += changes.get("more", [])
        kept = [row for place, row in enumerate(rows) if place not in changes.get("without", ())]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(kept)
        return text.getvalue().encode()

    return {name: make}


def cut(name, share=0.5):
    def make(folder):
        whole = (folder / name).read_bytes()
        return whole[: int(len(whole) * share)]

    return {name: make}


def parquet(columns):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


@dataclass(frozen=True)
class Case:
    """A command, its files, and the words that its error must have."""

    args: tuple[str, ...]
    says: tuple[str, ...]
    files: dict = field(default_factory=dict)
    json: bool = True


def cell(row, column, *rest, name="people.csv"):
    return (name, f"row {row}", f"'{column}'", *rest)


BARE = {"bare.csv": ("person\n" + "\n".join(IDS) + "\n").encode()}
BIG = [*("007", *["1.5"] * 4, *["1"] * 8)]


def turned(folder):
    """Return the labels with their rows from last to first."""
    head, *rows = (folder / "labels.csv").read_text().splitlines(keepends=True)
    return "".join([head, *rows[::-1]]).encode()


CASES = {
    # Columns
    "no such task": Case(
        (*FIT, "-t", "tusk_1"),
        ("people.csv", "tusk_1", "Did you mean 'task_1'?"),
    ),
    "no such id": Case((*FIT, "--id", "persan"), ("people.csv", "persan", "'person'")),
    "no such feature": Case((*FIT, "-f", "x9"), ("people.csv", "--features 'x9'", "'x1', 'x2'")),
    "no such ignored": Case((*FIT, "--ignore", "zzz"), ("people.csv", "--ignore 'zzz'")),
    "a task that is a feature": Case((*FIT, "-f", "task_1"), ("people.csv", "'task_1'")),
    "an id that is a feature": Case((*FIT, "-f", "person"), ("people.csv", "'person'")),
    "no feature left": Case((*FIT, "--ignore", "x*"), ("people.csv", "no column is left")),
    "two columns of one name": Case(
        FIT, ("people.csv", "'x1'"), table("people.csv", rename={"x2": "x1"})
    ),
    "a column without a name": Case(
        FIT, ("people.csv", "column 3"), table("people.csv", rename={"x2": ""})
    ),
    "no task left to learn": Case(
        (*FRONTIER, "--new-tasks", "task_*"), ("people.csv", "no column is left to be a task")
    ),
    "people held out and learned from": Case(
        (*FRONTIER, "--test", "people.csv"), ("people.csv", "40 held-out people", "001")
    ),
    "an output that is an input": Case(
        other(PREDICT, out="people.csv"), ("people.csv", "input", "another name")
    ),
    "a table's name for a model": Case(other(FIT, out="out.csv"), ("out.csv", "model")),
    "rows in another order and no id": Case(
        ("audit", "labels.csv", "turned.csv", "-t", "task_*"),
        ("labels.csv", "turned.csv", "'person'", "--id"),
        {"turned.csv": turned},
    ),
    "a bound above every rate": Case((*AUDIT, "--fail-above", "5"), ("--fail-above", "0.05")),
    "a figure but no bound": Case((*AUDIT, "--fail-on", "sigma"), ("--fail-on", "--fail-above")),
    "common people but no id": Case(
        ("audit", "labels.csv", "labels.csv", "-t", "task_*", "--common-people"), ("--id",)
    ),
    "a test table without a task": Case(
        (*FRONTIER, "--test", "new_labels.csv"), ("new_labels.csv", "task_1")
    ),
    "no such group column": Case(
        (*AUDIT, "--groups", "people.csv", "--group-columns", "x8"), ("people.csv", "'x8'")
    ),
    "a feature of the model missing": Case(
        PREDICT,
        ("people.csv", "'x2'", "Did you mean 'x22'?"),
        table("people.csv", rename={"x2": "x22"}),
    ),
    "a task the labels lack": Case(
        AUDIT,
        ("decisions.csv", "labels.csv", "extra"),
        table("labels.csv", rename={"task_1": "extra"}),
    ),
    "a task chosen that the decisions lack": Case(
        (*AUDIT, "-t", "task_*"),
        ("decisions.csv", "task_3"),
        table("decisions.csv", rename={"task_3": "other"}),
    ),
    # Ids
    "an id twice": Case(
        FIT, cell(9, "person", "'004'", "row 4"), table("people.csv", cells={(9, "person"): "004"})
    ),
    "a blank id": Case(
        FIT, cell(5, "person", "blank"), table("people.csv", cells={(5, "person"): ""})
    ),
    "a null id in Parquet": Case(
        other(FIT, people="p.parquet"),
        cell(2, "person", "blank", name="p.parquet"),
        {"p.parquet": parquet({"person": ["a", None], "x": [1.0, 2.0], "task_1": [0, 1]})},
    ),
    "a NaN id in Parquet": Case(
        other(FIT, people="p.parquet"),
        cell(3, "person", "blank", name="p.parquet"),
        {
            "p.parquet": parquet(
                {"person": [1.0, 2.0, np.nan], "x": [1.0, 2.0, 3.0], "task_1": [0, 1, 0]}
            )
        },
    ),
    "somebody without labels": Case(
        (*FIT, "--labels", "labels.csv"),
        cell(5, "person", "005", "labels.csv"),
        table("labels.csv", without=[5]),
    ),
    "labels of a stranger": Case(
        (*FIT, "--labels", "labels.csv"),
        cell(41, "person", "s1", "people.csv", name="labels.csv"),
        table("labels.csv", more=[["s1", *"01010101"]]),
    ),
    "somebody without decisions": Case(
        AUDIT,
        cell(7, "person", "007", "decisions.csv", name="labels.csv"),
        table("decisions.csv", without=[7]),
    ),
    "two tables without an id": Case(
        ("fit", "people.csv", "--labels", "labels.csv", "-t", "task_*", "-o", "out.model"),
        ("--id",),
    ),
    "other numbers of rows without an id": Case(
        ("audit", "labels.csv", "decisions.csv", "-t", "task_*"),
        ("labels.csv", "40", "decisions.csv", "39", "--id"),
        table("decisions.csv", without=[3]),
    ),
    "a training person missing": Case(
        EXTEND, ("new_labels.csv", "012", "fair.model"), table("new_labels.csv", without=[12])
    ),
    "a training person unknown": Case(
        EXTEND,
        cell(41, "person", "s1", "fair.model", name="new_labels.csv"),
        table("new_labels.csv", more=[["s1", "0", "1", "0"]]),
    ),
    # Cells
    **{
        f"a label {label}": Case(
            FIT,
            cell(3, "task_5", "003", label, name="people.csv"),
            table("people.csv", cells={(3, "task_5"): label}),
        )
        for label in ("2", "0.5", "yes", "1.0000001")
    },
    "labels in words": Case(
        FIT,
        cell(3, "task_5", "003", "'no'", "no as 0 and yes as 1"),
        table("people.csv", cells={(3, "task_5"): "no"}),
    ),
    "thousands": Case(
        FIT,
        cell(4, "x3", "'1,000'", "1000 if the comma groups thousands", "1.000 if it is a decimal"),
        table("people.csv", cells={(4, "x3"): "1,000"}),
    ),
    "text in a feature": Case(
        FIT, cell(4, "x3", "004", "'tall'"), table("people.csv", cells={(4, "x3"): "tall"})
    ),
    "a blank feature": Case(
        FIT, cell(1, "x1", "001", "NaN"), table("people.csv", cells={(1, "x1"): "NaN"})
    ),
    "an endless feature": Case(
        PREDICT, cell(40, "x4", "040", "inf"), table("people.csv", cells={(40, "x4"): "inf"})
    ),
    "a decision missing where a label is known": Case(
        AUDIT,
        cell(6, "task_2", "006", "decisions.csv", name="labels.csv"),
        table("decisions.csv", cells={(6, "task_2"): "NA"}),
    ),
    "a decision above 1": Case(
        AUDIT,
        cell(8, "task_7", "008", "1.5", name="decisions.csv"),
        table("decisions.csv", cells={(8, "task_7"): "1.5"}),
    ),
    "a label of 3 for a later task": Case(
        EXTEND,
        cell(2, "new_2", "002", "3", name="new_labels.csv"),
        table("new_labels.csv", cells={(2, "new_2"): "3"}),
    ),
    # Files
    "no such file": Case(other(FIT, people="nobody.csv"), ("nobody.csv", "No such file")),
    "a folder for a file": Case(other(FIT, people="sub"), ("sub", "directory")),
    "an empty file": Case(FIT, ("people.csv", "empty"), {"people.csv": b""}),
    "an empty standard input": Case(other(FIT, people="-"), ("standard input", "empty")),
    "a head without rows": Case(
        FIT, ("people.csv", "no rows"), {"people.csv": b"person,x1,task_1\n"}
    ),
    "a ragged row": Case(
        FIT,
        ("people.csv", "row 41", "14 cells", "13"),
        table("people.csv", more=[[*BIG, "more"]]),
    ),
    "a head of endless length": Case(
        FIT, ("people.csv",), {"people.csv": b"x" * 200_000 + b",task_1\n1,0\n"}
    ),
    "not UTF-8": Case(
        FIT,
        ("people.csv", "line 2", "UTF-8"),
        {"people.csv": "person,x1,task_1\nJosé,2,0\n".encode("latin-1")},
    ),
    "a broken workbook": Case(
        FIT, ("people.csv", "Excel workbook"), {"people.csv": b"PK\x03\x04rest"}
    ),
    "half a Parquet file": Case(
        FIT,
        ("people.csv", "Parquet"),
        {"people.csv": parquet({"person": ["a", "b"], "x": [1.0, 2.0], "task_1": [0, 1]})[:-9]},
    ),
    "two tables in one stream": Case(
        ("audit", "-", "-", "--id", "person"), ("standard input", "one table")
    ),
    # Models
    "no model": Case(other(PREDICT, fair="none.model"), ("none.model", "No such file")),
    "a table for a model": Case(
        other(PREDICT, fair="people.csv"),
        ("people.csv is not a model file", "CSV table", "`averagefair fit`"),
    ),
    "a Parquet table for a model": Case(
        other(PREDICT, fair="p.parquet"),
        ("p.parquet is not a model file", "a Parquet table", "`averagefair fit`"),
        {"p.parquet": parquet({"person": ["a", "b"], "x": [1.0, 2.0], "task_1": [0, 1]})},
    ),
    "a folder for a model": Case(other(PREDICT, fair="sub"), ("sub", "it is a folder")),
    "no name for a model": Case(other(PREDICT, fair=""), ("model file", "empty")),
    "a model for a table": Case(
        other(PREDICT, people="fair.model"), ("fair.model", "is a model", "not a table")
    ),
    "no name for a checkpoint": Case((*FIT, "--checkpoint", ""), ("--checkpoint", "empty")),
    "half a model": Case(PREDICT, ("fair.model", "not a whole model"), cut("fair.model")),
    "another kind of file": Case(
        PREDICT,
        ("fair.model", "averagefair"),
        {"fair.model": packed({"weights": np.zeros(3)})},
    ),
    "a model that cannot be extended": Case(other(EXTEND, fair="closed.model"), ("--extendable",)),
    "a model that extend made": Case(other(EXTEND, fair="later.model"), ("later.model", "extend")),
    # Outputs
    "no folder": Case(other(FIT, out="no/m"), ("no/m", "no folder")),
    "a folder for an output": Case(other(FIT, out="sub"), ("sub", "folder")),
    "an output under a file": Case(
        other(PREDICT, out="people.csv/d.csv"), ("people.csv/d.csv", "cannot be written")
    ),
    "a table called .txt": Case(other(PREDICT, out="d.txt"), ("d.txt", ".csv or .parquet")),
    "a report called .pdf": Case(other(AUDIT, out="r.pdf"), ("r.pdf", ".html")),
    "a curve called .html": Case((*FRONTIER, "--table", "t.html"), ("t.html", ".csv or .parquet")),
    "a model to standard output": Case(other(FIT, out="-"), ("a model is not text",)),
    "JSON and decisions on standard output": Case(other(PREDICT, out="-"), ("standard output",)),
    "two outputs on standard output": Case(
        (*other(AUDIT, out="-"), "--people", "-"), ("standard output",), json=False
    ),
    "tables of the demo in a file": Case(
        ("demo", "--tables", "people.csv", "-o", "out.html"), ("people.csv", "folder")
    ),
    # Settings
    "alpha above one half": Case((*FIT, "--alpha", "0.6"), ("alpha", "0.6"), json=False),
    "alpha of nothing": Case((*AUDIT, "--alpha", "0"), ("alpha", "0.0"), json=False),
    "beta of 1": Case((*FIT, "--beta", "1"), ("beta",)),
    "beta without alpha": Case((*AUDIT, "--beta", "0.1"), ("needs an `alpha`",)),
    **{
        f"a rate called {word}": Case(
            (*FIT, "--rate", word), (f"'{word}'", f"Did you mean {rate}?"), json=False
        )
        for word, rate in {
            **{"fpr": "false-positive", "fp": "false-positive", "fnr": "false-negative"},
            **{"fn": "false-negative", "accuracy": "error", "false_positives": "false-positive"},
        }.items()
    },
    "an unknown rate to audit": Case((*AUDIT, "--rate", "f1"), ("'f1'", "false-negative")),
    "a ridge for stumps": Case((*FIT, "--oracle", "stump", "--l2", "1"), ("--l2",)),
    "no rounds": Case((*FIT, "--max-rounds", "0"), ("max_rounds", "0")),
    "groups without columns": Case(
        (*AUDIT, "--groups", "bare.csv"), ("bare.csv", "no column beside the id"), BARE
    ),
    "test labels without a test": Case((*FRONTIER, "--test-labels", "labels.csv"), ("--test",)),
    **{
        f"alphas {alphas!r}": Case((*FRONTIER, "--alphas", alphas), (says,))
        for alphas, says in {
            "a,b": "'a,b'",
            "0.1:0.2": "first:last:step",
            "0.2:0.1:0.05": "go up",
            "0.1:0.2:0": "step > 0",
            "0.1,0.1": "repeat",
            "0:0.2:0.1": "alpha",
            "0.1:0.2:1e-9": "more than 1000 values",
        }.items()
    },
    "a choice not on the curve": Case(
        (*FRONTIER, "--alphas", "0.4", "--choice", "0.3"), ("0.3", "0.4")
    ),
    "too few people for a theorem": Case(("theory", "--alpha", "0.1", "--n", "0"), ("`--n`", "0")),
    "no chance of failure": Case(
        ("theory", "--alpha", "0.1", "--n", "9", "--delta", "0"), ("delta", "0")
    ),
}

# Odd values and names
CASES |= {
    "a negative seed": Case((*FIT, "--seed", "-1"), ("seed",)),
    "no task for a theorem": Case(("theory", "--alpha", "0.1", "--n", "9", "--m", "0"), ("m", "0")),
    "a negative number of tasks for a theorem": Case(
        ("theory", "--alpha", "0.1", "--n", "9", "--m", "-3"), ("m", "-3")
    ),
    "alphas beyond counting": Case((*FRONTIER, "--alphas", "0.1:0.4:1e-300"), ("1000 values",)),
    "only a byte order mark": Case(FIT, ("people.csv", "empty"), {"people.csv": b"\xef\xbb\xbf\n"}),
    "a name with the sign of a pattern, missing": Case(
        (*AUDIT, "-t", "task*"),
        ("decisions.csv", "task*"),
        table("labels.csv", rename={"task_1": "task*"}),
    ),
    "a feature with the sign of a pattern, missing": Case(
        other(PREDICT, fair="starred.model"),
        ("people.csv", "x?"),
    ),
    "an output's name too long": Case(other(FIT, out="a" * 300), ("a" * 300, "File name too long")),
    "a bound that is no number": Case((*AUDIT, "--fail-above", "nan"), ("--fail-above", "nan")),
}

# Promises, and the rates that people have today
RATES = "person,rate,note\n" + "".join(f"{one},0.{one[-2:]},x\n" for one in IDS)
AGAINST = (*FIT, "--worst-off", "0.1", "--against", "rates.csv")


def rates(old="", new=""):
    """Return the table of rates, with some text replaced."""
    assert old in RATES
    return {"rates.csv": RATES.replace(old, new, 1).encode()}


CASES |= {
    f"promises {' '.join(given)}": Case((*command, *given), says)
    for command, given, says in [
        (FIT, ("--alpha", "0.1", "--max-rate", "0.3"), ("--alpha cannot go", "--max-rate")),
        (FIT, ("--alpha", "0.1", "--worst-off", "0.1"), ("--alpha cannot go", "--worst-off")),
        (FIT, ("--price", "0.3"), ("--price cannot go", "--worst-off with --price")),
        (FIT, ("--max-rate", "0.3", "--price", "1"), ("--price cannot go",)),
        (FIT, ("--worst-off", "0.1", "--beta", "0.1"), ("--beta cannot go",)),
        (
            (*FIT, "--worst-off", "0.1"),
            ("--price", "1", "--max-rate", "0.3"),
            ("either --price (here 1.0) or --max-rate (here 0.3)", "a price trades"),
        ),
        (FIT, ("--minimax", "--alpha", "0.1"), ("--minimax", "--alpha", "Leave one")),
        (FIT, ("--minimax", "--beta", "0.1"), ("--minimax", "--beta")),
        (FIT, ("--worst-off", "1"), ("`--worst-off`", "1.0")),
        (FIT, ("--worst-off", "0.1", "--price", "0"), ("`--price`", "0.0")),
        (FIT, ("--max-rate", "1.5"), ("`--max-rate`", "1.5")),
        (FIT, ("--no-harm", "-0.1"), ("`--no-harm`", "-0.1")),
        (FIT, ("--max-rate", "0.001"), ("--max-rate=0.001 is below", "e.g. --max-rate=0.")),
        (FIT, ("--who", "0"), ("--who", "1 or more")),
        (FRONTIER, ("--prices", "0.1"), ("--prices cannot go", "--worst-off with --prices")),
        (FRONTIER, ("--alphas", "0.1", "--max-rates", "0.3"), ("--alphas cannot go",)),
        (FRONTIER, ("--worst-off", "0.1", "--alphas", "0.1"), ("--alphas cannot go",)),
        (FRONTIER, ("--max-rates", "0.3,2"), ("`--max-rates`", "2.0")),
        (FRONTIER, ("--max-rates", "0.001"), ("--max-rates=0.001 is below",)),
        (FRONTIER, ("--worst-off", "0.1", "--prices", "1:x"), ("--prices must be", "'1:x'")),
        (FRONTIER, ("--worst-off", "0.1", "--choice", "0.3"), ("--prices", "0.25", "got 0.3")),
        (FRONTIER, ("--max-rate", "0.3"), ("--max-rates",)),
    ]
}
CASES |= {
    "today's rates without an id": Case(
        (
            *("fit", "people.csv", "-t", "task_*", "--ignore", "person", "-o", "out.model"),
            *("--against", "rates.csv"),
        ),
        ("--against needs --id",),
        rates(),
    ),
    "today's rate missing for a person": Case(
        AGAINST,
        cell(1, "person", "'person': people.csv", "001", name="people.csv"),
        rates("001,0.01,x\n"),
    ),
    "today's rate of a stranger": Case(
        (*FRONTIER, "--against", "rates.csv"),
        cell(41, "person", "s1", name="rates.csv"),
        rates("040,0.40,x\n", "040,0.40,x\ns1,0.1,\n"),
    ),
    "today's rate twice": Case(
        AGAINST, cell(3, "person", "'002'", name="rates.csv"), rates("003,", "002,")
    ),
    "no column of rates": Case(
        AGAINST, ("rates.csv", "'error' or 'rate'", "'score'"), rates("rate", "score")
    ),
    "one column for two rates": Case(
        (*AGAINST, "--rate", "error", "--rate", "false-positive"),
        ("rates.csv", "'false-positive'"),
        rates("rate", "error"),
    ),
    "today's rates in percent": Case(
        AGAINST, cell(2, "rate", "002", "got 25", "0.25", name="rates.csv"), rates("0.02", "25")
    ),
    "today's rates in words": Case(
        AGAINST, cell(2, "rate", "'low'", "from 0 to 1", name="rates.csv"), rates("0.02", "low")
    ),
    "no rate of today known": Case(
        AGAINST,
        ("rates.csv", "all rates are blank"),
        {"rates.csv": ("person,rate\n" + "".join(f"{one},\n" for one in IDS)).encode()},
    ),
    "no such table of rates": Case(AGAINST, ("rates.csv", "No such file")),
    "an output that is today's rates": Case(
        (*FRONTIER, "--table", "rates.csv", "--against", "rates.csv"),
        ("rates.csv", "input", "another name"),
        rates(),
    ),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The standard files, all of them valid."""
    folder = tmp_path_factory.mktemp("store")
    write_people(folder)
    shutil.copy(folder / "labels.csv", folder / "decisions.csv")
    (folder / "sub").mkdir()
    features, labels = (
        pa.table({name: part[:, place] for place, name in enumerate(names)})
        for names, part in ((FEATURES, X), (TASKS, Y))
    )
    model = AverageFairClassifier(alpha=0.3, random_state=0).fit(features, labels, ids=IDS)
    origin = {"data": "people.csv", "id": "person"}
    save(model, folder / "fair.model", extendable=True, origin=origin)
    save(model, folder / "closed.model", origin=origin)
    later = pa.table({name: Y[:, place] for place, name in enumerate(NEW_TASKS)})
    save(model.extend(later), folder / "later.model", origin=origin)
    starred = AverageFairClassifier(alpha=0.3, random_state=0).fit(
        features.rename_columns(["x?", *FEATURES[1:]]), labels, ids=IDS
    )
    save(starred, folder / "starred.model", origin=origin)
    return folder


def outputs(args):
    """Return the files a command would write."""
    written = {"-o", "--people", "--table"}
    return [word for flag, word in pairwise(args) if flag in written]


def attempt(store, folder, case, *, old, runs):
    """Run a case in a folder of its own; return the result, and the files before and after.

    ``old``: whether the command's output files exist already.
    """
    shutil.copytree(store, folder)
    for name, content in case.files.items():
        (folder / name).write_bytes(content(folder) if callable(content) else content)
    for name in outputs(case.args):
        if old and name.startswith("out."):
            (folder / name).write_text("old")
    before = contents(folder)
    done = runs(folder, *case.args, *(["--json"] if case.json else []), code=None)
    return done, before, contents(folder)


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def judge(case, done, before, after):
    assert done.returncode == 2, done.out + done.err
    assert done.err.startswith("error: ")
    message = done.err.removeprefix("error: ").removesuffix("\n")
    assert "\n" not in message
    for part in case.says:
        assert part in message, message
    if case.json:
        assert strict(done.out) == {"error": message}
    else:
        assert done.out == ""
    assert after == before, "files were touched"


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_told_and_nothing_is_written(store, forks, tmp_path, name):
    """In every other case the output file exists already."""
    case, old = CASES[name], list(CASES).index(name) % 2 == 0
    judge(case, *attempt(store, tmp_path / "case", case, old=old, runs=forks.run))


@pytest.mark.parametrize(
    "name", ["an id twice", pytest.param("half a model", marks=pytest.mark.long)]
)
def test_a_process_of_its_own_says_the_same(store, tmp_path, name):
    judge(CASES[name], *attempt(store, tmp_path / "case", CASES[name], old=True, runs=run_alone))


def test_the_judge_can_fail(store, forks, tmp_path):
    """A command that succeeds fails this check."""
    case = Case((*AUDIT,), ("labels.csv",))
    done, before, after = attempt(store, tmp_path / "case", case, old=True, runs=forks.run)
    assert done.returncode == 0
    with pytest.raises(AssertionError):
        judge(case, done, before, after)
    assert before["out.html"] == b"old"
    assert len(after["out.html"]) > 3
    assert json.loads(done.out)["failed"] is False


USAGE = {
    "--alpha": (*FIT, "--alpha", "wide"),
    "--tasks": ("fit", "people.csv", "-o", "out.model"),
    "DATA": ("predict", "fair.model", "-o", "out.csv"),
    "--fail-on": (*AUDIT, "--fail-above", "1", "--fail-on", "luck"),
    "foretell": ("foretell", "people.csv"),
}


@pytest.mark.parametrize("name", USAGE)
def test_a_command_given_wrongly_is_told(store, forks, name):
    before = contents(store)
    done = forks.run(store, *USAGE[name], code=2)
    assert done.out == ""
    assert name in done.err
    assert contents(store) == before


@pytest.mark.parametrize("name", USAGE)
def test_a_command_given_wrongly_is_told_in_json(store, forks, name):
    done = forks.run(store, *USAGE[name], "--json", code=2)
    assert name in strict(done.out)["error"]


@pytest.mark.parametrize(
    ("args", "streams"),
    [
        (("theory", "--alpha", "0.1", "--n", "9"), "> /dev/full"),
        pytest.param(
            *(("predict", "fair.model", "people.csv", "-o", "-"), "> /dev/full"),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *(("predict", "fair.model", "people.csv", "-o", "-"), ">&-"),
            marks=pytest.mark.long,
        ),
        (("audit", "labels.csv", "-", "--id", "person"), "<&-"),
    ],
)
def test_a_stream_that_is_full_or_closed_is_told(store, args, streams):
    line = f"{shlex.join(command(*args))} {streams}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=store, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: standard ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [pytest.param("2>&-", marks=pytest.mark.long), "<&- 2>&-"])
def test_a_closed_standard_error_is_no_failure(store, tmp_path, closed):
    shutil.copytree(store, tmp_path / "case")
    args = (*FIT, "--alpha", "0.1", "--oracle", "regression")
    line = f"{shlex.join(command(*args))} {closed}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path / "case", env=environment(), capture_output=True
    )
    assert done.returncode == 0
    assert b"saved: out.model" in done.stdout
    assert load(tmp_path / "case" / "out.model").certificate_.met


def test_bad_input_ends_with_2_if_nobody_can_be_told(store):
    line = shlex.join(command(*other(FIT, people="none.csv")))
    done = subprocess.run(["bash", "-c", f"{line} 2>&-"], cwd=store, env=environment())
    assert done.returncode == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_permissions_are_kept_to(store, tmp_path):
    shutil.copytree(store, tmp_path / "case")
    (tmp_path / "case" / "people.csv").chmod(0)
    (tmp_path / "case" / "sub").chmod(0o500)
    done = run(tmp_path / "case", *FIT, code=2)
    assert "people.csv cannot be read: Permission denied" in done.err
    done = run(tmp_path / "case", *other(AUDIT, out="sub/r.html"), code=2)
    assert "no permission in sub" in done.err


def test_python_refuses_a_damaged_model_too(store, tmp_path):
    whole = (store / "fair.model").read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="not a whole model file"):
        load(tmp_path / "half")
