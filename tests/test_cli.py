"""The command line's answers, held against the library's and against the files themselves."""

from __future__ import annotations

import csv
import os
import pty
import re
import shlex
import stat
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_runs import (
    COMMANDS,
    FEATURES,
    IDS,
    NEW_TASKS,
    SHUFFLED,
    TASKS,
    Y_LATER,
    Forks,
    X,
    Y,
    cells,
    command,
    environment,
    read,
    run,
    strict,
    together,
    without_escapes,
    write,
    write_people,
)

from averagefair import (
    AverageFairClassifier,
    Verdict,
    audit,
    frontier,
    held_out,
    theory,
)
from averagefair.datasets import make_synthetic
from averagefair.persistence import load

FIGURES = {
    "spread": lambda found: found.range.width,
    "near": lambda found: found.curve.at(0.05)["alpha"],
    "denoised": lambda found: found.curve.at(0.05)["denoised"],
    "sigma": lambda found: found.spread.sigma,
    "mean": lambda found: found.mean.value,
}
X_TABLE, Y_TABLE = pd.DataFrame(X, columns=FEATURES), pd.DataFrame(Y, columns=TASKS)
Y_LATER_TABLE = pd.DataFrame(Y_LATER, columns=NEW_TASKS)


def fits_80_columns(text):
    return max(map(len, text.splitlines())) <= 80


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with people, and a model of them."""
    folder = tmp_path_factory.mktemp("shop")
    write_people(folder)
    return folder


@pytest.fixture(scope="module")
def forks():
    with Forks() as found:
        yield found


@pytest.fixture(scope="module")
def python():
    return AverageFairClassifier(alpha=0.05, random_state=0).fit(X_TABLE, Y_TABLE, ids=IDS)


@pytest.fixture(scope="module")
def fitted(shop):
    args = ("fit", "people.csv", "--tasks", "task_*", "--id", "person", "--extendable")
    said, told = together(
        [
            lambda: run(shop, *args, "-o", "fair.model"),
            lambda: run(shop, *args, "-o", "same.model", "--json"),
        ]
    )
    return said, told


# Fit


def test_fit_learns_what_python_learns(shop, fitted, python):
    told = strict(fitted[1].out)
    known = python.certificate_
    assert told["people"] == 40
    assert told["tasks"] == TASKS
    assert told["features"] == FEATURES
    assert told["certificate"]["met"] is True
    for name in ("error", "spread", "common_rate"):
        assert told["certificate"][name] == pytest.approx(getattr(known, name), abs=1e-9)
    model = load(shop / "fair.model")
    np.testing.assert_array_equal(model.predict(X_TABLE, IDS), python.predict(X_TABLE, IDS))
    np.testing.assert_allclose(
        model.decision_probability(X_TABLE), python.decision_probability(X_TABLE), atol=1e-12
    )


def test_fit_says_in_text_what_it_says_in_json(fitted):
    said, told = fitted[0].out, strict(fitted[1].out)["certificate"]
    assert said.splitlines()[0] == "40 people, 8 tasks, 4 features from people.csv"
    assert f"error {told['error']:.4f}" in said
    assert "requested alpha 0.05: met" in said
    assert fits_80_columns(said)
    assert fitted[0].err == fitted[1].err == ""


def test_two_tables_joined_by_id_make_the_model_of_one(shop, fitted, tmp_path):
    """Features in Parquet as pandas writes them, whole numbers as ids; labels in CSV, shuffled."""
    numbers = [int(one) for one in IDS]
    X_TABLE.assign(person=numbers).set_axis(SHUFFLED).to_parquet(tmp_path / "x.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "x.parquet").names
    write(
        tmp_path / "y.csv",
        ["remark", "person", *TASKS],
        [["n/a", numbers[row], *Y[row].astype(bool)] for row in SHUFFLED],
        delimiter=";",
    )
    told = run(
        tmp_path,
        *("fit", "x.parquet", "--labels", "y.csv", "-t", "task_*", "--id", "person"),
        *("-o", "two.model", "--json"),
    )
    assert strict(told.out)["features"] == FEATURES  # pandas' row names are none
    np.testing.assert_array_equal(
        load(tmp_path / "two.model").decision_probability(X_TABLE),
        load(shop / "fair.model").decision_probability(X_TABLE),
    )


def test_a_file_in_standard_input_with_signs_in_its_names(tmp_path):
    """Names with commas, quotes, newlines, letters beyond ASCII and the signs of patterns."""
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
        *("--id", "wér", "--max-rounds", "3", "-o", "odd.model", "--json"),
        stdin=(tmp_path / "odd.csv").read_bytes(),
    )
    found = strict(told.out)
    # task[1]* is a column's name, so it is that column and not a pattern.
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
            *("fit", name, "-t", "task_1", "--id", "person", "--max-rounds", "2"),
            *("-o", "m", "--json"),
        )
        assert strict(done.out)["features"] == [odd]


def test_the_line_ends_of_old_macs_are_read(shop, forks, tmp_path):
    text = (shop / "people.csv").read_bytes()
    (tmp_path / "mac.csv").write_bytes(text.replace(b"\n", b"\r"))
    done = forks.run(
        tmp_path,
        *("fit", "mac.csv", "-t", "task_*", "--id", "person", "--max-rounds", "2"),
        *("-o", "m", "--json"),
    )
    assert strict(done.out)["people"] == 40
    assert strict(done.out)["tasks"] == TASKS


def test_options_reach_the_solver_and_the_rates(shop, tmp_path):
    told = run(
        shop,
        *("fit", "people.csv", "-t", "task_*", "-f", "x[12]", "--id", "person", "--alpha", "0.1"),
        *("--rate", "false-positive", "--rate", "false-negative", "--beta", "0.1"),
        *("--oracle", "stump", "--max-rounds", "4", "--seed", "7"),
        *("-o", tmp_path / "m", "--json"),
    )
    found = strict(told.out)
    assert found["features"] == ["x1", "x2"]
    assert found["rate"] == ["false_positive", "false_negative"]
    assert found["certificate"]["rounds"] <= 4
    assert found["certificate"]["requested_beta"] == 0.1
    model = load(tmp_path / "m")
    assert model.rate == ["false_positive", "false_negative"]
    assert (model.alpha, model.beta) == (0.1, 0.1)
    assert model.seed_ == np.random.RandomState(7).randint(2**31 - 1)


def test_a_request_not_met_exits_with_1_and_keeps_the_best_answer(shop, tmp_path):
    done = run(
        shop,
        *("fit", "people.csv", "-t", "task_*", "--id", "person", "--alpha", "0.001"),
        *("--solver", "published", "--max-rounds", "1", "-o", tmp_path / "m", "--json"),
        code=1,
    )
    found = strict(done.out)
    assert found["certificate"]["met"] is False
    assert "NOT met" in found["warnings"][0]
    assert "NOT met" in done.err
    assert not load(tmp_path / "m").certificate_.met


def test_an_ignored_column_is_no_task(shop, tmp_path):
    done = run(
        shop,
        *("fit", "people.csv", "-t", "task_*", "--ignore", "task_3", "--id", "person"),
        *("--max-rounds", "2", "-o", tmp_path / "m", "--json"),
    )
    assert "task_3" not in strict(done.out)["tasks"]


# Predict


@pytest.fixture(scope="module")
def decided(shop, fitted):
    """Decisions on the same people, asked for in several ways."""
    subset = SHUFFLED[:15]
    write(
        shop / "some.csv",
        ["task_2", "person", *FEATURES, "remark"],
        [["?", IDS[row], *X[row], "new"] for row in subset],
        delimiter="\t",
        lineterminator="\r\n",
    )
    together(
        [
            lambda: run(shop, "predict", "fair.model", "people.csv", "-o", "decisions.csv"),
            lambda: run(shop, "predict", "fair.model", "some.csv", "-o", "some.parquet"),
            lambda: run(
                shop, "predict", "fair.model", "people.csv", "--probabilities", "-o", "chances.csv"
            ),
        ]
    )
    return subset


def test_decisions_are_pythons_and_ids_keep_their_zeroes(shop, decided, python):
    table = read((shop / "decisions.csv").read_text())
    assert list(table) == ["person", *TASKS]
    assert table["person"] == IDS
    np.testing.assert_array_equal(cells(table, TASKS), python.predict(X_TABLE, IDS))


def test_a_person_keeps_their_draws_in_another_order_and_in_part(shop, decided):
    whole = read((shop / "decisions.csv").read_text())
    some = pq.read_table(shop / "some.parquet").to_pydict()
    assert some["person"] == [IDS[row] for row in decided]
    np.testing.assert_array_equal(cells(some, TASKS), cells(whole, TASKS)[decided])


def test_probabilities_are_pythons(shop, decided, python):
    table = read((shop / "chances.csv").read_text())
    np.testing.assert_allclose(
        cells(table, TASKS), python.decision_probability(X_TABLE), atol=1e-12
    )


def test_asking_twice_writes_the_same_file(shop, decided):
    told = run(shop, "predict", "fair.model", "people.csv", "-o", "again.csv", "--json")
    again, once = (shop / name for name in ("again.csv", "decisions.csv"))
    assert again.read_bytes() == once.read_bytes()
    found = strict(told.out)
    assert (found["people"], found["tasks"], found["kind"]) == (40, TASKS, "decisions")
    assert found["share_of_ones"] == pytest.approx(
        cells(read(once.read_text()), TASKS).mean(), abs=1e-12
    )


def test_the_order_of_the_columns_changes_nothing(shop, decided, tmp_path):
    order = [2, 0, 3, 1]
    write(
        tmp_path / "turned.csv",
        [FEATURES[place] for place in order] + ["person"],
        [[*x[order], one] for one, x in zip(IDS, X, strict=True)],
    )
    run(tmp_path, "predict", shop / "fair.model", "turned.csv", "-o", "decisions.csv")
    assert read((tmp_path / "decisions.csv").read_text()) == read(
        (shop / "decisions.csv").read_text()
    )


def test_without_ids_a_person_is_known_by_their_features(shop, tmp_path):
    args = ("people.csv", "-t", "task_*", "--ignore", "person", "--max-rounds", "5")
    run(shop, "fit", *args, "-o", tmp_path / "m")
    done = run(shop, "predict", tmp_path / "m", "people.csv", "-o", "-")
    table = read(done.out)
    assert list(table) == TASKS
    model = load(tmp_path / "m")
    np.testing.assert_array_equal(cells(table, TASKS), model.predict(X_TABLE))
    assert "by their features" in done.err


# Extend


def test_extend_makes_pythons_classifiers_whatever_the_order_of_rows(shop, fitted, python):
    write(
        shop / "turned.csv",
        ["new_1", "person", "new_2", "new_3"],
        [[Y_LATER[row, 0], IDS[row], *Y_LATER[row, 1:]] for row in SHUFFLED],
    )
    said, told = together(
        [
            lambda: run(shop, "extend", "fair.model", "new_labels.csv", "-o", "new.model"),
            lambda: run(shop, "extend", "fair.model", "turned.csv", "-o", "turned.model", "--json"),
        ]
    )
    later = python.extend(Y_LATER_TABLE)
    for name in ("new.model", "turned.model"):
        made = load(shop / name)
        assert made.task_names == later.task_names
        np.testing.assert_allclose(
            made.decision_probability(X_TABLE), later.decision_probability(X_TABLE), atol=1e-12
        )
        np.testing.assert_array_equal(made.predict(X_TABLE, IDS), later.predict(X_TABLE, IDS))
    chances = later.decision_probability(X_TABLE)
    rates = np.abs(Y_LATER - chances).mean(axis=1)
    found = strict(told.out)
    assert found["error"] == pytest.approx(rates.mean(), abs=1e-9)
    assert found["spread"] == pytest.approx(np.ptp(rates), abs=1e-9)
    assert found["tasks"] == NEW_TASKS
    assert fits_80_columns(said.out)
    done = run(shop, "predict", "new.model", "people.csv", "-o", "-")
    np.testing.assert_array_equal(cells(read(done.out), NEW_TASKS), later.predict(X_TABLE, IDS))


# Audit

BLANK = ("", "NA", "NaN", "null", '""', " n/a ", "None")


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Labels with blanks, decisions and groups in three kinds of file; and Python's audit."""
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
    args += ("--group-columns", "group", "--alpha", "0.4", "--beta", "0.1")
    told, said = together(
        [
            lambda: run(folder, *args, "--people", "people.csv", "--json"),
            lambda: run(folder, *args, "-o", "report.html"),
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
    words = " ".join(said.out.replace("\n- ", "\n").removeprefix("- ").split())
    assert " ".join(expected.summary().split()) in words
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "nördlich; A" in page


def test_fail_above_fails_above_and_not_below(judged, forks):
    folder, _, labels, chances, people = judged
    found = audit(pd.DataFrame(labels), pd.DataFrame(chances), individual_names=people)
    known = ~np.isnan(labels)
    rates = np.where(known, np.abs(np.nan_to_num(labels) - chances), 0).sum(1) / known.sum(1)
    figures = {name: figure(found) for name, figure in FIGURES.items()}
    assert figures["spread"] == pytest.approx(np.ptp(rates))
    assert figures["mean"] == pytest.approx(rates.mean())
    args = ("audit", "labels.csv", "decisions.parquet", "--id", "who", "--json")
    for name, figure in figures.items():
        for step, code in ((1e-9, 0), (-1e-9, 1)):
            bound = repr(figure + step)
            done = forks.run(folder, *args, "--fail-on", name, "--fail-above", bound, code=code)
            told = strict(done.out)
            assert (told["failed"], told["fail_on"]) == (bool(code), name)
            assert told["figure"] == pytest.approx(figure, abs=1e-12)


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
    assert strict(unmet.out)["answer"]["verdict"] == Verdict.NOT_MET.value
    assert strict(unmet.out)["failed"] is True
    assert "within 0.4 of a common rate" in " ".join(wide.out.split())


def test_decisions_go_through_a_pipe_into_an_audit(shop, fitted, decided):
    made = subprocess.Popen(
        command("predict", "fair.model", "people.csv", "-o", "-"),
        cwd=shop,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    judged = subprocess.run(
        command("audit", "labels.csv", "-", "--id", "person", "--people", "-"),
        cwd=shop,
        env=environment(),
        stdin=made.stdout,
        capture_output=True,
        text=True,
    )
    assert judged.returncode == 0, judged.stderr
    assert made.stderr.read().decode().startswith("40 people x 8 tasks")
    made.stdout.close()
    made.stderr.close()
    assert made.wait() == 0
    decisions = cells(read((shop / "decisions.csv").read_text()), TASKS)
    table = read(judged.stdout)
    assert table["person"] == IDS
    np.testing.assert_allclose(cells(table, ["rate"])[:, 0], np.abs(Y - decisions).mean(axis=1))
    assert judged.stderr.startswith("- Audit of individual error rates: 40 people, 8 tasks.")


# Frontier


@pytest.fixture(scope="module")
def traced(shop):
    """A curve with people and tasks held out, in JSON, and another in text."""
    others = make_synthetic(n=30, m=8, d=4, random_state=5)
    write(
        shop / "others.csv",
        [*TASKS, "new_1", "new_2", "new_3", *FEATURES[::-1], "person"],
        [
            [*y, *y[:3], *x[::-1], f"q{place}"]
            for place, (x, y) in enumerate(zip(others.X, others.Y, strict=True))
        ],
    )
    write(
        shop / "both.csv",
        ["person", *FEATURES, *TASKS, *NEW_TASKS],
        [[one, *x, *y, *z] for one, x, y, z in zip(IDS, X, Y, Y_LATER, strict=True)],
    )
    told, said = together(
        [
            lambda: run(
                shop,
                *("frontier", "both.csv", "--tasks", "task_*", "--new-tasks", "new_*"),
                *("--id", "person", "--test", "others.csv", "--alphas", "0.1:0.2:0.05"),
                *("--table", "curve.parquet", "-o", "curve.html", "--choice", "0.1", "--json"),
            ),
            lambda: run(
                shop,
                *("frontier", "people.csv", "-t", "task_*", "--id", "person", "-o", "-"),
                *("--alphas", "0.2,0.1", "--rate", "error", "--rate", "false-positive"),
                *("--table", "curve.csv", "--max-rounds", "20"),
            ),
        ]
    )
    return told, said, others


def test_the_curve_is_pythons(shop, traced):
    found = strict(traced[0].out)
    curve = frontier(X_TABLE, Y_TABLE, [0.1, 0.15, 0.2], random_state=0, ids=IDS)
    table = pq.read_table(shop / "curve.parquet").to_pydict()
    expected = curve.to_dict()
    assert list(table) == list(expected)
    for name in ("alpha", "error", "spread", "outside", "common_rate", "columns", "coin_flips"):
        np.testing.assert_allclose(table[name], expected[name], atol=1e-9)
        np.testing.assert_allclose([point[name] for point in found["points"]], expected[name])
    assert [point["met"] for point in found["points"]] == [True] * 3
    assert found["choice"] == {"alpha": 0.1, "statement": curve.at(0.1).statement()}
    others = traced[2]
    for place, point in enumerate(curve):
        test = held_out(
            point.model,
            X_new=pd.DataFrame(others.X, columns=FEATURES),
            Y_new_people=pd.DataFrame(others.Y, columns=TASKS),
            Y_new_tasks=Y_LATER_TABLE,
            Y_new_both=pd.DataFrame(others.Y[:, :3], columns=NEW_TASKS),
        )
        for name in ("people", "tasks", "both"):
            measured, corner = getattr(test, name), found["held_out"][name]
            assert corner["error"][place] == pytest.approx(measured.error)
            assert corner["spread"][place] == pytest.approx(measured.spread)
    assert (shop / "curve.html").read_text(encoding="utf-8").lstrip().startswith("<!")


def test_a_report_to_standard_output_leaves_the_words_to_standard_error(shop, traced):
    _, said, _ = traced
    assert said.out.lstrip().lower().startswith("<!doctype html>")
    assert said.out.rstrip().endswith("</html>")
    text = re.sub(r"(?ms)^warning: .*?constraint\.\n", "", said.err)
    assert text.startswith("40 people, 8 tasks, 4 features from people.csv")
    assert fits_80_columns(said.err)
    table = read((shop / "curve.csv").read_text())
    assert {"common_rate_1", "common_rate_2"} <= set(table)
    np.testing.assert_allclose(cells(table, ["alpha"])[:, 0], [0.1, 0.2])


# Demo, theory, reproduce, help


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    said, told = together(
        [
            lambda: run(folder, "demo"),
            lambda: run(folder, "demo", "--tables", "tables", "-o", "again.html", "--json"),
        ]
    )
    return folder, said, told


def test_the_demo_writes_a_report_and_fits_80_columns(shown):
    folder, said, told = shown
    assert fits_80_columns(said.out)
    assert said.err == ""
    assert said.out.endswith("report: averagefair-demo.html\n")
    assert (folder / "averagefair-demo.html").stat().st_size > 10_000
    found = strict(told.out)
    shown_errors = dict(re.findall(r"^ (0\.\d\d)  (0\.\d{3})   0\.\d{3}  ", said.out, re.M))
    assert len(shown_errors) >= 5
    for point in found["points"]:
        if f"{point['alpha']:.2f}" in shown_errors:
            assert f"{point['error']:.3f}" == shown_errors[f"{point['alpha']:.2f}"]


def test_the_demos_tables_hold_the_population(shown):
    folder, _, told = shown
    split = make_synthetic(n=200, m=50, d=20, q=0.8, n_holdout=200, m_holdout=25)
    paths = [folder / path for path in strict(told.out)["tables"]]
    people, newcomers, new_tasks, groups = (
        read(path.read_text())
        for path in sorted(
            paths,
            key=lambda path: ["people.csv", "newcomers.csv", "new_tasks.csv", "groups.csv"].index(
                path.name
            ),
        )
    )
    np.testing.assert_array_equal(cells(people, [f"x{j + 1}" for j in range(20)]), split.X)
    np.testing.assert_array_equal(cells(people, [f"task_{j + 1}" for j in range(50)]), split.Y)
    np.testing.assert_array_equal(
        cells(newcomers, [f"task_{j + 1}" for j in range(50)]), split.Y_new_people
    )
    np.testing.assert_array_equal(
        cells(new_tasks, [f"new_{j + 1}" for j in range(25)]), split.Y_new_tasks
    )
    assert people["person"] == new_tasks["person"]
    assert newcomers["person"] == groups["person"]


def test_theory_tells_the_papers_figures(tmp_path):
    args = ("theory", "--alpha", "0.1", "--nu", "0.1", "--n", "1000", "--delta", "0.05")
    said, told, few = together(
        [
            lambda: run(tmp_path, *args, "--m", "50", "--features", "20"),
            lambda: run(tmp_path, *args, "--m", "50", "--features", "20", "--json"),
            lambda: run(tmp_path, "theory", "--alpha", "0.1", "--n", "1000", "--json"),
        ]
    )
    plan = theory.plan(0.05, 0.1, 1000, delta=0.05)
    people = theory.individuals_needed(0.05, 0.1, 0.05, 0.05, 50, 21)
    found = strict(told.out)
    assert found["plan"]["rounds"] == plan.rounds
    assert found["plan"]["tasks_needed"] == plan.tasks_needed
    assert found["people_needed"] == people
    assert (found["enough_tasks"], found["enough_people"]) == (False, 1000 >= people)
    assert (
        found["promises"]["in_sample"]["deviation"] == theory.in_sample(0.05, 0.1, 0.05).deviation
    )
    assert f"{plan.rounds:,}" in said.out
    assert f"{people:,}" in said.out
    assert fits_80_columns(said.out)
    assert strict(few.out)["people_needed"] is None
    assert strict(few.out)["plan"] == found["plan"]


def test_reproduce_says_that_it_is_not_there(tmp_path):
    done = run(tmp_path, "reproduce", "synthetic", code=2)
    assert done.out == ""
    assert "not in this version" in done.err


@pytest.fixture(scope="module")
def pages(forks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("help")
    return {name: forks.run(folder, name, "--help").out for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_page_has_an_example_and_fits_80_columns(pages, name):
    assert re.search(rf"^ *Example: averagefair {name}\b", pages[name], re.M)
    assert fits_80_columns(pages[name])


def test_every_example_runs_when_its_files_exist(pages, shown, tmp_path):
    examples = {}
    for name, page in pages.items():
        (found,) = re.findall(r"Example: averagefair (.*?)\n\s*\n", page, re.S)
        examples[name] = shlex.split(found)
    write_people(tmp_path)
    write(
        tmp_path / "others.csv",
        ["person", *FEATURES, *TASKS],
        [[f"q{one}", *x, *y] for one, x, y in zip(IDS, X[::-1], Y[::-1], strict=True)],
    )
    write(
        tmp_path / "decisions.csv",
        ["person", *TASKS],
        [[one, *y] for one, y in zip(IDS, Y, strict=True)],
    )
    # Written one after the other: `predict` and `extend` want what `fit` writes.
    examples["fit"].append("--extendable")
    run(tmp_path, *examples["fit"])
    together(
        [
            lambda name=name: run(tmp_path, *examples[name])
            for name in ("frontier", "predict", "extend", "audit", "theory")
        ]
    )
    assert examples["demo"] == ["demo"]  # as the fixture ran it
    run(tmp_path, *examples["reproduce"], code=2)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {
        *("people.csv", "labels.csv", "new_labels.csv", "others.csv", "decisions.csv"),
        *("fair.model", "decisions.parquet", "new_tasks.model", "report.html"),
    }


def test_completion_knows_the_commands_and_the_rates(tmp_path):
    def complete(words, place):
        done = subprocess.run(
            [sys.executable, "-c", "from averagefair.cli import main; main()"],
            cwd=tmp_path,
            env=environment(
                _AVERAGEFAIR_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(place)
            ),
            capture_output=True,
            text=True,
        )
        return done.stdout.split()

    commands, rates = together(
        [
            lambda: complete("averagefair ", 1),
            lambda: complete("averagefair audit --rate false", 3),
        ]
    )
    assert set(COMMANDS) - {"reproduce"} <= set(commands)
    assert rates == ["false-positive", "false-negative"]


# What a process must and must not do


HIDE = """
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pandas", "polars", "matplotlib"):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Hide())
"""


def test_neither_pandas_nor_polars_nor_matplotlib_is_needed(shop, fitted, tmp_path):
    """Whether installed or not: they are made to look missing."""
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    hidden = {"PYTHONPATH": str(tmp_path)}
    together(
        [
            lambda: run(shop, "--help", **hidden),
            lambda: run(
                shop,
                *("frontier", "people.csv", "-t", "task_*", "--alphas", "0.2", "--ignore"),
                *("person", "--test", "people.csv", "-o", tmp_path / "a.html"),
                **hidden,
            ),
            lambda: run(
                shop,
                *("audit", "labels.csv", "labels.csv", "--id", "person"),
                *("-o", tmp_path / "b.html"),
                **hidden,
            ),
            lambda: run(
                shop, "predict", "fair.model", "people.csv", "-o", tmp_path / "c.parquet", **hidden
            ),
        ]
    )


def test_help_loads_no_drawing(tmp_path):
    script = (
        "import sys\nfrom averagefair.cli import main\nsys.argv = ['averagefair', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "averagefair.cli.app" in done.stderr.split()
    assert not {"matplotlib", "polars", "jinja2", "safetensors"} & set(done.stderr.split())


def at_a_terminal(folder, *args):
    """Run with standard error at a pseudo-terminal; return standard output and what was shown."""
    ours, theirs = pty.openpty()
    shown = []

    def listen():
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end was closed
                return
            if not part:
                return
            shown.append(part)

    ear = threading.Thread(target=listen)
    ear.start()
    done = subprocess.run(
        command(*args),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(TERM="xterm", COLUMNS="100"),
    )
    os.close(theirs)
    ear.join()
    os.close(ours)
    assert done.returncode == 0
    return done.stdout.decode(), without_escapes(b"".join(shown).decode())


def test_a_terminal_sees_progress_and_standard_output_stays_clean(tmp_path):
    people = make_synthetic(n=150, m=30, d=10, random_state=0)
    names = [f"x{place}" for place in range(10)] + [f"task_{place}" for place in range(30)]
    write(tmp_path / "people.csv", names, np.column_stack([people.X, people.Y]).astype(int))
    fit = ("fit", "people.csv", "-t", "task_*", "--alpha", "0.02", "-o", "m")
    (out, shown), (_, curve), (_, quiet) = together(
        [
            lambda: at_a_terminal(tmp_path, *fit),
            lambda: at_a_terminal(
                tmp_path, *("frontier", "people.csv", "-t", "task_*", "--alphas", "0.02,0.05,0.1")
            ),
            lambda: at_a_terminal(tmp_path, *fit, "--quiet", "--max-rounds", "5"),
        ]
    )
    for text in (shown, curve):
        assert re.search(r"alpha 0\.\d+ round \d+ error 0\.\d+ spread 0\.\d+", text)
    assert "left" in shown
    assert "\x1b" not in out
    assert out.startswith("150 people, 30 tasks, 10 features")
    assert quiet == ""


def test_an_output_is_replaced_whole_and_keeps_its_permissions(shop, fitted, tmp_path):
    (tmp_path / "decisions.csv").write_text("old")
    (tmp_path / "decisions.csv").chmod(0o640)
    run(tmp_path, "predict", shop / "fair.model", shop / "people.csv", "-o", "decisions.csv")
    assert (tmp_path / "decisions.csv").read_text().startswith('"person"')
    assert stat.S_IMODE((tmp_path / "decisions.csv").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["decisions.csv"]


def test_an_output_that_is_no_file_stays_what_it_is(shop, fitted, tmp_path):
    """As /dev/null is not: run as root, -o /dev/null would do away with it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "real.model").write_text("old")
    (tmp_path / "link.model").symlink_to("real.model")
    reader = subprocess.Popen(["timeout", "20", "cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    args = ("extend", shop / "fair.model", shop / "new_labels.csv")
    run(tmp_path, *args, "-o", tmp_path / "pipe", code=None)
    still = stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    reader.terminate()
    reader.communicate()
    run(tmp_path, *args, "-o", "link.model")
    assert still
    assert (tmp_path / "link.model").is_symlink()


def test_an_audit_of_what_two_tables_share_leaves_the_rest_out_and_says_so(tmp_path):
    """As exported from a spreadsheet: remarks, people of one table only, decisions not made."""
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


def test_the_model_of_a_curve_is_saved_as_it_stands_on_it(shop, tmp_path):
    done = run(
        shop,
        *("frontier", "people.csv", "-t", "task_*", "--id", "person", "--alphas", "0.2,0.3"),
        *("--choice", "0.3", "--model", tmp_path / "fair.model", "--json"),
    )
    point = strict(done.out)["points"][1]
    same = load(tmp_path / "fair.model")
    assert (same.alpha, same.error_) == (0.3, point["error"])
    assert (tmp_path / "fair.model").stat().st_mode & 0o077 != 0
    run(shop, *("frontier", "people.csv", "-t", "task_*", "--extendable"), code=2)
