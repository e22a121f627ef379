"""``averagefair export``: its files decide as ``predict`` does."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    FeatureMap,
    RegressionOracle,
    StumpOracle,
    load,
)
from averagefair.files.reading import read_file
from tests.support.cli_runs import (
    FEATURES,
    IDS,
    NEW_TASKS,
    TASKS,
    X,
    Y,
    cells,
    fits_80_columns,
    fixture_bare_forks,  # noqa: F401
    fixture_forks,  # noqa: F401
    fixture_map_forks,  # noqa: F401
    read,
    run,
    strict,
    write_people,
)
from tests.support.onnx_runs import facts, run_onnx

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X_TABLE, Y_TABLE = pd.DataFrame(X, columns=FEATURES), pd.DataFrame(Y, columns=TASKS)
OTHERS = np.random.default_rng(1).normal(size=(2000, len(FEATURES)))


FEW = ColumnGeneration(max_rounds=10, mapping_rounds=2)


def save(folder, name="fair.model", features=FEATURES, tasks=TASKS, **params):
    """Save a model with these parameters; return its classifiers."""
    fair = AverageFairClassifier(**({"alpha": 0.3, "solver": FEW, "random_state": 0} | params))
    fair.fit(X_TABLE.set_axis(features, axis=1), Y_TABLE.set_axis(tasks, axis=1), ids=IDS)
    fair.save(folder / name, extendable=True)
    return fair.classifiers_


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with tables of people, and a model fitted on them."""
    folder = tmp_path_factory.mktemp("shop")
    write_people(folder)
    save(folder)
    return folder


def test_coefficients_in_a_table_decide_as_the_model(shop, tmp_path):
    said = run(shop, "export", "fair.model", "-o", tmp_path / "rules.csv")
    assert said.out.split() == f"coefficients of 8 tasks written: {tmp_path}/rules.csv".split()
    assert said.err == ""
    columns = read((tmp_path / "rules.csv").read_text())
    assert list(columns) == ["task", *FEATURES, "intercept"]
    assert columns["task"] == TASKS
    line = cells(columns, FEATURES)
    scores = OTHERS @ line.T + cells(columns, ["intercept"])[:, 0]
    fair = load(shop / "fair.model")
    np.testing.assert_array_equal(scores > 0, fair.predict(pd.DataFrame(OTHERS, columns=FEATURES)))
    table = fair.coefficients()  # the text has every digit
    np.testing.assert_array_equal(line, table[FEATURES].to_numpy())


def test_an_onnx_file_decides_as_the_model(shop, tmp_path):
    told = run(shop, "export", "fair.model", "-o", tmp_path / "fair.ONNX", "--json")
    assert strict(told.out) == {
        "tasks": TASKS,
        "features": FEATURES,
        "kind": "decisions",
        "output": str(tmp_path / "fair.ONNX"),
        "warnings": [],
    }
    fair = load(shop / "fair.model")
    found, _ = run_onnx(tmp_path / "fair.ONNX", OTHERS)
    np.testing.assert_array_equal(found, fair.predict(pd.DataFrame(OTHERS, columns=FEATURES)))
    known = facts(tmp_path / "fair.ONNX")
    assert known["task_names"] == TASKS
    assert known["fingerprint"] == fair.fingerprint_


def test_later_tasks_are_exported_too(shop, tmp_path):
    run(
        *(shop, "extend", "fair.model", "new_labels.csv", "--id", "person"),
        *("-o", tmp_path / "later.model"),
    )
    run(tmp_path, "export", "later.model", "-o", "rules.csv")
    assert read((tmp_path / "rules.csv").read_text())["task"] == NEW_TASKS
    said = run(tmp_path, "export", "later.model", "-o", "later.onnx")
    assert said.out.startswith("ONNX model; output: decisions for 3 tasks\n")
    assert "fingerprint" not in facts(tmp_path / "later.onnx")


def test_stumps_make_a_table_that_people_can_read(tmp_path):
    decides = save(tmp_path, oracle=StumpOracle())
    told = strict(run(tmp_path, "export", "fair.model", "-o", "rules.csv", "--json").out)
    assert told["kind"] == "thresholds"
    columns = read((tmp_path / "rules.csv").read_text())
    assert list(columns) == ["task", "feature", "direction", "threshold"]
    made = []
    for name, direction, cut in zip(*[*columns.values()][1:], strict=True):
        values = OTHERS[:, FEATURES.index(name)] if name else None
        made.append(
            {
                "at most": lambda v, c: v <= float(c),
                "above": lambda v, c: v > float(c),
                "always": lambda v, c: np.ones(len(OTHERS), dtype=bool),
                "never": lambda v, c: np.zeros(len(OTHERS), dtype=bool),
            }[direction](values, cut)
        )
    np.testing.assert_array_equal(np.transpose(made), decides.predict(OTHERS))


def test_drawn_decisions_give_chances(tmp_path):
    decides = save(tmp_path, decisions="drawn", alpha=0.02)
    assert not decides.is_fixed
    said = run(tmp_path, "export", "fair.model", "-o", "fair.onnx")
    assert said.out == "ONNX model; output: chances for 8 tasks\nwritten: fair.onnx\n"
    found, name = run_onnx(tmp_path / "fair.onnx", OTHERS)
    assert name == "chances"
    np.testing.assert_array_equal(found, decides.decision_probability(OTHERS))


def test_names_that_look_like_formulas_are_guarded(tmp_path):
    tasks = ["=1+1", "a,b", "@x", "line\nbreak", '"', "-5", "+z", "task"]
    features = ["=x", "b c", "@SUM(A1)", "d"]
    save(tmp_path, features=features, tasks=tasks)
    said = run(tmp_path, "export", "fair.model", "-o", "rules.csv")
    assert "a spreadsheet would take" in " ".join(said.err.split())
    with (tmp_path / "rules.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["task", "'=x", "b c", "'@SUM(A1)", "d", "intercept"]
    assert [row[0] for row in rows] == [
        "'=1+1",
        "a,b",
        "'@x",
        "line\nbreak",
        '"',
        "-5",
        "'+z",
        "task",
    ]
    assert read_file(str(tmp_path / "rules.csv")).values("task", "") == tasks
    run(tmp_path, "export", "fair.model", "-o", "fair.onnx")
    known = facts(tmp_path / "fair.onnx")
    assert (known["task_names"], known["feature_names"]) == (tasks, features)


def test_an_old_file_is_replaced_and_stays_if_the_export_fails(tmp_path):
    save(tmp_path)
    save(tmp_path, "drawn.model", decisions="drawn", alpha=0.02)
    (tmp_path / "rules.csv").write_text("old")
    run(tmp_path, "export", "drawn.model", "-o", "rules.csv", code=2)
    assert (tmp_path / "rules.csv").read_text() == "old"
    run(tmp_path, "export", "fair.model", "-o", "rules.csv")
    assert (tmp_path / "rules.csv").read_text().startswith('"task"')


SPLINES = FeatureMap(SplineTransformer(), RegressionOracle())
REFUSED = {
    "another ending": ({}, "rules.xlsx", (".csv or .onnx",)),
    "no ending": ({}, "rules", (".csv or .onnx",)),
    "standard output": ({}, "-", (".csv or .onnx", "-o rules.csv")),
    "the model itself": ({}, "fair.model", (".csv or .onnx",)),
    "a folder that is not there": ({}, "none/rules.csv", ("none",)),
    "drawn decisions": (
        {"decisions": "drawn", "alpha": 0.02},
        "a.csv",
        ('decisions="fixed"', "model.onnx"),
    ),
    "a feature map": ({"oracle": SPLINES}, "a.csv", ("SplineTransformer makes", "model.onnx")),
    "a map without a converter": (
        {"oracle": SPLINES},
        "a.onnx",
        ("the feature map, SplineTransformer,", "averagefair predict"),
    ),
    "classifiers without coefficients": (
        {"oracle": DecisionTreeClassifier(max_depth=2)},
        "a.csv",
        ("DecisionTreeClassifier (tasks task_1", "model.onnx"),
    ),
    "a feature named task": (
        {"features": ["task", *FEATURES[1:]]},
        "a.csv",
        ("'task'", "Rename", "model.onnx"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_exported_is_refused_in_one_line(case, request, tmp_path):
    params, output, words = REFUSED[case]
    own = request.getfixturevalue("map_forks" if "oracle" in params else "forks")
    save(tmp_path, **params)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    args = ("export", "fair.model", "-o", output)
    done = own.run(tmp_path, *args, code=2)
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    for word in words:
        assert word in done.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert strict(own.run(tmp_path, *args, "--json", code=2).out)["error"]


def test_without_the_extra_only_onnx_files_are_refused(bare_forks, tmp_path):
    """The packages look missing here; the table needs neither onnx nor pandas."""
    save(tmp_path)
    bare_forks.run(tmp_path, "export", "fair.model", "-o", "rules.csv")
    done = bare_forks.run(tmp_path, "export", "fair.model", "-o", "a.onnx", code=2)
    assert "pip install 'averagefair[onnx]'" in done.err
    assert not (tmp_path / "a.onnx").exists()


def test_a_map_that_skl2onnx_knows_is_in_the_file(map_forks, tmp_path):
    decides = save(tmp_path, oracle=FeatureMap(StandardScaler(), RegressionOracle()))
    said = map_forks.run(tmp_path, "export", "fair.model", "-o", "fair.onnx")
    assert fits_80_columns(said.out)
    found, _ = run_onnx(tmp_path / "fair.onnx", OTHERS)
    np.testing.assert_array_equal(found, decides.predict(OTHERS))
