"""The command line's answers, compared with the library's and with the files themselves."""

from __future__ import annotations

import math
import re
import subprocess

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from averagefair import (
    AverageFairClassifier,
    Cap,
    ColumnGeneration,
    Equal,
    Minimax,
    RegressionOracle,
    WorstOff,
    frontier,
    held_out,
    theory,
    who_pays,
)
from averagefair._util.text import plain
from averagefair.datasets import make_synthetic
from averagefair.persistence import load
from tests.support.cli_runs import (
    FEATURES,
    IDS,
    NEW_TASKS,
    SHUFFLED,
    TASKS,
    Y_LATER,
    X,
    Y,
    cells,
    command,
    environment,
    fits_80_columns,
    fixture_fitted,  # noqa: F401
    fixture_shop,  # noqa: F401
    read,
    run,
    strict,
    together,
    write,
)

X_TABLE, Y_TABLE = pd.DataFrame(X, columns=FEATURES), pd.DataFrame(Y, columns=TASKS)
Y_LATER_TABLE = pd.DataFrame(Y_LATER, columns=NEW_TASKS)


@pytest.fixture(scope="module")
def python():
    """The model of ``fixture_fitted``, whose decisions are drawn; test_decisions.py has fixed."""
    made = AverageFairClassifier(alpha=0.05, random_state=0, decisions="drawn")
    return made.fit(X_TABLE, Y_TABLE, ids=IDS)


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
    """Features are in pandas' Parquet with whole numbers as ids; labels are in a shuffled CSV."""
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
        *("--decisions", "drawn", "-o", "two.model", "--json"),
    )
    assert strict(told.out)["features"] == FEATURES  # pandas' row names are not features
    np.testing.assert_array_equal(
        load(tmp_path / "two.model").decision_probability(X_TABLE),
        load(shop / "fair.model").decision_probability(X_TABLE),
    )


def test_options_reach_the_solver_and_the_rates(shop, tmp_path):
    told = run(
        shop,
        *("fit", "people.csv", "-t", "task_*", "-f", "x[12]", "--id", "person", "--alpha", "0.1"),
        *("--rate", "false-positive", "--rate", "false-negative", "--beta", "0.1"),
        *("--oracle", "stump", "--max-rounds", "4", "--seed", "7"),
        *("-o", tmp_path / "m", "--json"),
        code=4,
    )
    found = strict(told.out)
    assert found["ended_early"] is True
    assert found["features"] == ["x1", "x2"]
    assert found["rate"] == ["false_positive", "false_negative"]
    assert found["certificate"]["rounds"] <= 4
    assert found["certificate"]["promise"]["beta"] == 0.1
    model = load(tmp_path / "m")
    assert model.rate == ["false_positive", "false_negative"]
    assert (model.alpha, model.beta) == (0.1, 0.1)
    assert model.seed_ == np.random.RandomState(7).randint(2**31 - 1)


def test_a_request_not_met_exits_with_1_and_keeps_the_best_answer(shop, tmp_path):
    done = run(
        shop,
        *("fit", "people.csv", "-t", "task_*", "--id", "person", "--alpha", "0.001"),
        *("--solver", "published", "-o", tmp_path / "m", "--json"),
        code=1,
    )
    found = strict(done.out)
    assert found["certificate"]["met"] is False
    assert "NOT met" in found["warnings"][0]
    assert "NOT met" in done.err
    assert not load(tmp_path / "m").certificate_.met


FAST = ("--oracle", "regression", "--max-rounds", "10")


@pytest.mark.parametrize(
    ("options", "promise"),
    [
        (("--worst-off", "0.1"), WorstOff(0.1, price=0.1)),
        (("--worst-off", "0.2", "--price", "0.5"), WorstOff(0.2, price=0.5)),
        (("--worst-off", "0.1", "--max-rate", "0.4"), WorstOff(0.1, max_rate=0.4)),
        (("--max-rate", "0.5", "--beta", "0.1"), Cap(0.5, beta=0.1)),
        (("--minimax", "--no-harm", "0.3"), Minimax(no_harm=0.3)),
        (("--alpha", "0.25", "--no-harm", "0.4"), Equal(0.25, no_harm=0.4)),
    ],
    ids=str,
)
def test_every_promise_of_python_can_be_made(shop, tmp_path, options, promise):
    args = ("fit", "people.csv", "-t", "task_*", "--id", "person", *FAST, *options)
    told = strict(run(shop, *args, "-o", tmp_path / "m", "--json", code=None).out)
    solver = ColumnGeneration(max_rounds=10)
    made = {"promise": promise, "oracle": RegressionOracle(), "solver": solver, "random_state": 0}
    python = AverageFairClassifier(**made).fit(X_TABLE, Y_TABLE, ids=IDS)
    assert told["promise"] == told["certificate"]["promise"] == plain(promise.to_dict())
    assert told["certificate"]["reached"] == pytest.approx(python.certificate_.reached, abs=1e-9)
    assert told["certificate"]["who_pays"] == plain(python.certificate_.to_dict()["who_pays"])
    assert load(tmp_path / "m").promise_ == promise
    assert told["first_look"] is None  # 40 people and 8 tasks are too few to look at


def test_people_are_compared_with_the_rates_they_have_today(shop, tmp_path):
    today = {one: round(0.01 * place, 2) for place, one in enumerate(IDS)}
    rows = [[one, "" if one == "007" else today[one], "note"] for one in reversed(IDS)]
    write(tmp_path / "today.csv", ["person", "rate", "remark"], rows)
    args = ("people.csv", "-t", "task_*", "--id", "person", "--worst-off", "0.1", *FAST)
    args = ("fit", shop / args[0], *args[1:], "--against", "today.csv", "--who", "2", "-o", "m")
    told = strict(run(tmp_path, *args, "--json", code=None).out)
    said = run(tmp_path, *args, code=None).out
    model = load(tmp_path / "m")
    certificate = told["certificate"]
    assert certificate["against_given"] is True
    after = np.abs(Y - model.decision_probability(X_TABLE)).mean(axis=1)
    before = np.array([np.nan if one == "007" else today[one] for one in IDS])
    pays = who_pays(before, after)
    assert pays.people == 39
    assert certificate["who_pays"]["worst_off"]["after"] == pytest.approx(pays.worst_off.after)
    assert certificate["who_pays"]["better"] == pytest.approx(pays.better)
    (listed,) = told["who"]
    order = np.argsort(after - before)
    assert [one["name"] for one in listed["gain"]] == [IDS[place] for place in order[:2]]
    lost = [IDS[place] for place in order[:39][::-1][:2]]
    assert [one["name"] for one in listed["lose"]] == lost
    for one in (*listed["gain"], *listed["lose"]):
        assert one["before"] == today[one["name"]]
        change = f"{one['after'] - one['before']:+.3f}"
        assert re.search(rf"(?m)^ *{one['name']} +{one['before']:.3f} .* \{change}$", said)
    assert "compared with the given rates" in said
    assert fits_80_columns(said)


def test_several_rates_have_lists_of_their_own(shop, tmp_path):
    args = ("fit", "people.csv", "-t", "task_*", "--id", "person", "--alpha", "0.3", *FAST)
    args = (*args, "--rate", "error", "--rate", "false-positive", "--who", "1")
    write(tmp_path / "r.csv", ["person", "error", "false-positive"], [[i, 0.5, 0] for i in IDS])
    args = (*args, "--against", tmp_path / "r.csv", "-o", tmp_path / "m")
    told = strict(run(shop, *args, "--json", code=None).out)
    assert [one["rate"] for one in told["who"]] == ["error", "false-positive"]
    assert [len(one["gain"]) for one in told["who"]] == [1, 0]
    assert "nobody gains, false-positive rate" in run(shop, *args, code=None).out


# Predict


@pytest.fixture(scope="module")
def decided(shop, fitted):
    """Decisions on the same people, made in several ways."""
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
    args = ("people.csv", "-t", "task_*", "--ignore", "person", "--oracle", "regression")
    run(shop, "fit", *args, "--decisions", "drawn", "-o", tmp_path / "m")
    done = run(shop, "predict", tmp_path / "m", "people.csv", "-o", "-")
    table = read(done.out)
    assert list(table) == TASKS
    model = load(tmp_path / "m")
    np.testing.assert_array_equal(cells(table, TASKS), model.predict(X_TABLE))
    assert "by their features" in done.err


def test_decisions_go_through_a_pipe_into_an_audit(shop, fitted, decided):
    made = run(shop, "predict", "fair.model", "people.csv", "-o", "-")
    assert made.err.startswith("40 people x 8 tasks")
    judged = subprocess.run(
        command("audit", "labels.csv", "-", "--id", "person", "--people", "-"),
        cwd=shop,
        env=environment(),
        input=made.out,  # through a pipe
        capture_output=True,
        text=True,
    )
    assert judged.returncode == 0, judged.stderr
    decisions = cells(read((shop / "decisions.csv").read_text()), TASKS)
    table = read(judged.stdout)
    assert table["person"] == IDS
    np.testing.assert_allclose(cells(table, ["rate"])[:, 0], np.abs(Y - decisions).mean(axis=1))
    assert judged.stderr.startswith("average error  ")


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
                *("--oracle", "regression"),
                *("--table", "curve.parquet", "-o", "curve.html", "--choice", "0.1", "--json"),
            ),
            lambda: run(
                shop,
                *("frontier", "people.csv", "-t", "task_*", "--id", "person", "-o", "-"),
                *("--alphas", "0.2,0.1", "--rate", "error", "--rate", "false-positive"),
                *("--table", "curve.csv", "--oracle", "regression", "--decisions", "drawn"),
            ),
        ]
    )
    return told, said, others


def test_the_curve_is_pythons(shop, traced):
    found = strict(traced[0].out)
    oracle = RegressionOracle()
    curve = frontier(X_TABLE, Y_TABLE, [0.1, 0.15, 0.2], oracle=oracle, random_state=0, ids=IDS)
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


@pytest.fixture(scope="module")
def priced(shop, traced):
    """A curve over prices with people and tasks held out, in JSON and in text."""
    args = (
        *("frontier", "both.csv", "--tasks", "task_*", "--new-tasks", "new_*", "--id", "person"),
        *("--test", "others.csv", "--worst-off", "0.2", "--prices", "0.1,0.5", "--choice", "0.5"),
        *("--oracle", "regression"),
    )
    told, said = together(
        [
            lambda: run(shop, *args, "--json", "-o", "p.html", "--model", "p.model"),
            lambda: run(shop, *args, "--table", "p.csv"),
        ]
    )
    return strict(told.out), said.out


def test_a_curve_over_prices_says_who_pays_held_out(shop, priced):
    told, said = priced
    assert told["promise"] == WorstOff(0.2, price=0.5).to_dict()
    assert [point["price"] for point in told["points"]] == [0.1, 0.5]
    assert told["choice"]["price"] == 0.5
    assert load(shop / "p.model").promise_ == WorstOff(0.2, price=0.5)
    names = {"people": "new people", "tasks": "new tasks", "both": "new people and tasks"}
    last = told["points"][1]
    shown = {"training": last["who_pays"]}
    shown |= {name: told["held_out"][key]["who_pays"][1] for key, name in names.items()}
    for name, pays in shown.items():
        worst, best = pays["worst_off"], pays["best_off"]
        row = rf"(?m)^ *{name}  +{worst['before']:.3f} to {worst['after']:.3f}  "
        assert re.search(row + rf"{best['before']:.3f} to {best['after']:.3f}", said), name
    assert "Held out: error / mean rate of the worst-off tenth." in said
    worst = shown[names["both"]]["worst_off"]["after"]
    assert f"{told['held_out']['both']['error'][1]:.3f} / {worst:.3f}" in said
    assert "Who pays at price = 0.5, compared with nothing asked:" in said
    assert fits_80_columns(said)
    table = read((shop / "p.csv").read_text())
    assert table["price"] == ["0.1", "0.5"]


@pytest.mark.parametrize(
    "options",
    [
        ("--max-rates", "0.5:0.7:0.1", "--no-harm", "0.5"),
        ("--worst-off", "0.1", "--max-rates", "0.6"),
    ],
    ids=" ".join,
)
def test_a_curve_over_caps_has_its_own_figure(shop, options):
    args = ("frontier", "people.csv", "-t", "task_*", "--id", "person", *options)
    done = run(shop, *args, "--oracle", "regression", "-o", "caps.html")
    assert done.out.splitlines()[3].startswith("max rate   error")
    assert "\nmax rate = 0.6: On the training people" in done.out
    assert fits_80_columns(done.out)
    assert "At this max rate" in (shop / "caps.html").read_text(encoding="utf-8")


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


# Theory


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
    joint = theory.sizes_for_both(0.05, 0.1, 0.05, 0.05, 21)
    assert found["both_needed"] == {"individuals": joint.individuals, "tasks": joint.tasks}
    assert found["enough_for_both"] is False
    both = next(
        line for line in found["verdict"] if line.startswith("New people and tasks at once")
    )
    assert f"{joint.individuals:.3g} people and {joint.tasks:.3g} tasks" in both
    assert found["promises"]["new_tasks"]["error_excess"] == pytest.approx(0.2 + 0.105 / 24)
    # log(2 * 1000 / 0.05) / (2 * 50 * 0.05^2) draws of each task.
    assert found["draws"]["per_task"] == 43
    assert found["draws"]["one_per_task_within"] == pytest.approx((math.log(40_000) / 100) ** 0.5)
    assert found["draws"]["every_decision"] == theory.sparse_support(1000, 50, 0.05, 0.05)
    assert re.search(r"draws for each task, for rates +r +43\n", said.out)
    assert "one draw for each task keeps every rate within 0.326" in " ".join(said.out.split())
    assert strict(few.out)["both_needed"] is None
    assert strict(few.out)["people_needed"] is None
    assert strict(few.out)["draws"] is None
    assert "give --m" in strict(few.out)["verdict"][4]
    assert strict(few.out)["plan"] == found["plan"]


def test_theory_asks_for_no_tasks_in_sample_with_the_samples_own_rho(tmp_path):
    args = ("theory", "--alpha", "0.1", "--n", "200", "--features", "20", "--rho-min", "0.3")
    said = strict(run(tmp_path, *args, "--json").out)["verdict"]
    inside, tasks, people, both = said[:4]
    assert "This is certain for any number of tasks" in inside
    assert "the sample's own rho" in inside
    outside = theory.tasks_needed(0.05, 0.1, 200, 0.05, rho_min=0.3)
    assert f"outside estimates of rho, it holds with probability 0.95 from {outside:,}" in inside
    assert f"{outside:,}" in tasks
    assert "Give --m and --features" in people
    # With false positives, fewer tasks count for a person.
    counting = strict(run(tmp_path, *args, "--m", "50", "--json").out)["draws"]["per_task"]
    assert counting == theory.draws_per_task(200, 15, 0.05, 0.05)
    joint = theory.sizes_for_both(0.05, 0.1, 0.05, 0.05, 21, rho_inf=0.3)
    assert f"{joint.individuals:.3g} people" in both
    assert "rho_inf" in both
