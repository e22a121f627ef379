"""Fixed and drawn decisions on the command line, judged from the tables it writes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from averagefair import AverageFairClassifier, RegressionOracle, frontier
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
    fits_80_columns,
    fixture_forks,  # noqa: F401
    fixture_shop,  # noqa: F401
    read,
    run,
    strict,
    together,
    write,
)

X_TABLE, Y_TABLE = pd.DataFrame(X, columns=FEATURES), pd.DataFrame(Y, columns=TASKS)
FIT = ("fit", "people.csv", "-t", "task_*", "--id", "person", "--extendable")
FIT += ("--oracle", "regression")
# Rates over 8 tasks are multiples of 1/8: a spread of 1/8 keeps alpha 0.1, and none keeps 0.05.
ALPHA = 0.1
LAST_TASKS = ["last_1", "last_2", "last_3", "last_4"]
Y_LAST = (X @ np.random.default_rng(9).normal(size=(4, 4)) > 0).astype(int)
FILES = ("fixed.model", "drawn.model")


@pytest.fixture(scope="module")
def models(shop):
    """Fit a model of each kind; return what the commands say, in text and in JSON."""
    write(
        shop / "last_labels.csv",
        ["person", *LAST_TASKS],
        [[one, *y] for one, y in zip(IDS, Y_LAST, strict=True)],
    )
    asked = (*FIT, "--alpha", ALPHA)
    return together(
        [
            lambda: run(shop, *asked, "-o", "fixed.model"),
            lambda: run(shop, *asked, "--decisions", "fixed", "-o", "same.model", "--json"),
            lambda: run(shop, *asked, "--decisions", "drawn", "-o", "drawn.model"),
            lambda: run(shop, *asked, "--decisions", "drawn", "-o", "again.model", "--json"),
        ]
    )


def decide(folder, model, tasks, *options):
    """Return what `predict` writes for the people."""
    done = run(folder, "predict", model, "people.csv", *options, "-o", "-")
    return cells(read(done.out), tasks)


def one_line(text):
    return " ".join(text.split())


# Fit


def test_fixed_decisions_are_the_default_and_keep_what_is_promised(shop, models):
    _, told, *_ = models
    found = strict(told.out)["certificate"]
    decisions = decide(shop, "fixed.model", TASKS)
    np.testing.assert_array_equal(decide(shop, "same.model", TASKS), decisions)
    assert set(np.unique(decisions)) <= {0.0, 1.0}
    rates = np.abs(Y - decisions).mean(axis=1)
    assert np.ptp(rates) <= 2 * ALPHA + 1e-9
    assert found["met"] is True
    assert (found["decisions"], found["drawn_share"]) == ("fixed", 0.0)
    for facts in (found, found["by_decisions"]):
        assert facts["error"] == pytest.approx(rates.mean(), abs=1e-9)
        assert facts["spread"] == pytest.approx(np.ptp(rates), abs=1e-9)


def test_the_averages_beside_them_are_those_of_drawn_decisions(shop, models):
    _, fixed, _, drawn = (strict(done.out)["certificate"] if place % 2 else None
                          for place, done in enumerate(models))  # fmt: skip
    chances = decide(shop, "drawn.model", TASKS, "--probabilities")
    rates = np.abs(Y - chances).mean(axis=1)
    assert ((chances > 0) & (chances < 1)).any()
    assert drawn["decisions"] == "drawn"
    assert drawn["drawn_share"] == pytest.approx(((chances > 0) & (chances < 1)).mean())
    for facts in (drawn, drawn["by_chances"], fixed["by_chances"]):
        assert facts["error"] == pytest.approx(rates.mean(), abs=1e-9)
        assert facts["spread"] == pytest.approx(np.ptp(rates), abs=1e-9)


def test_fit_says_how_decisions_are_made(models):
    fixed, drawn = one_line(models[0].out), one_line(models[2].out)
    assert "fixed: one classifier for each task, nothing is drawn" in fixed
    assert "Drawing by the chances found would reach, on average: error" in fixed
    assert "of the decisions are left to chance; the figures above are averages over draws" in drawn
    assert "nothing is drawn" not in drawn
    for done in (models[0], models[2]):
        assert fits_80_columns(done.out)
        assert done.err == ""


def test_they_are_pythons(shop, models):
    for name, decisions in zip(FILES, ("fixed", "drawn"), strict=True):
        made = AverageFairClassifier(
            alpha=ALPHA, oracle=RegressionOracle(), random_state=0, decisions=decisions
        )
        python = made.fit(X_TABLE, Y_TABLE, ids=IDS)
        wanted = python.predict(X_TABLE, IDS)
        np.testing.assert_array_equal(decide(shop, name, TASKS), wanted)


def test_a_promise_that_no_choice_keeps_exits_with_1_and_saves_the_nearest(shop, tmp_path):
    args = (*FIT, "--alpha", "0.05", "-o", tmp_path / "m", "--json")
    done = run(shop, *args, code=1)
    found = strict(done.out)
    assert found["certificate"]["met"] is False
    assert found["certificate"]["spread"] > 0.1
    assert found["certificate"]["by_chances"]["spread"] <= 0.1 + 1e-6
    (told,) = found["warnings"]
    assert "NOT met" in told
    assert 'decisions="drawn"' in told
    decisions = decide(shop, tmp_path / "m", TASKS)
    rates = np.abs(Y - decisions).mean(axis=1)
    assert found["certificate"]["error"] == pytest.approx(rates.mean(), abs=1e-9)
    run(shop, *args, "--decisions", "drawn")


@pytest.mark.parametrize("command", ["fit", "frontier"])
@pytest.mark.parametrize("word", ["Fixed", "random", ""])
def test_another_word_is_refused(shop, forks, command, word, tmp_path):
    args = (command, "people.csv", "-t", "task_*", "--decisions", word, "-o", tmp_path / "m.html")
    done = forks.run(shop, *args, code=2)
    for part in ("--decisions", "fixed", "drawn"):
        assert part in one_line(done.err)
    assert not [*tmp_path.iterdir()]


# Predict


def test_predict_says_whether_decisions_are_drawn(shop, models):
    args = ("people.csv", "-o", "said.csv")
    said, told = {}, {}
    for name in FILES:
        said[name] = one_line(run(shop, "predict", name, *args).out)
        told[name] = strict(run(shop, "predict", name, *args, "--json").out)
    assert said["fixed.model"].startswith(
        "40 people x 8 tasks: decisions, one classifier for each task written:"
    )
    drawn = "40 people x 8 tasks: decisions, drawn for each person by column 'person' written:"
    assert said["drawn.model"].startswith(drawn)
    assert [told[name]["fixed"] for name in FILES] == [True, False]
    done = run(shop, "predict", "fixed.model", *args, "--probabilities")
    assert one_line(done.out).startswith("40 people x 8 tasks: chances of deciding 1 written:")


def test_fixed_decisions_do_not_depend_on_who_somebody_is(shop, models, tmp_path):
    whole = decide(shop, "fixed.model", TASKS)
    np.testing.assert_array_equal(decide(shop, "fixed.model", TASKS, "--probabilities"), whole)
    others = [f"q{one}" for one in IDS]
    rows = [[others[row], *X[row]] for row in SHUFFLED]
    write(tmp_path / "people.csv", ["person", *FEATURES], rows)
    for name in FILES:
        (tmp_path / name).write_bytes((shop / name).read_bytes())
    np.testing.assert_array_equal(decide(tmp_path, "fixed.model", TASKS), whole[SHUFFLED])
    # Drawn decisions do.
    drawn = decide(shop, "drawn.model", TASKS)[SHUFFLED]
    assert (decide(tmp_path, "drawn.model", TASKS) != drawn).any()


# Frontier


@pytest.fixture(scope="module")
def curves(shop):
    write(
        shop / "whole.csv",
        ["person", *FEATURES, *TASKS, *NEW_TASKS],
        [[one, *x, *y, *z] for one, x, y, z in zip(IDS, X, Y, Y_LATER, strict=True)],
    )
    args = ("frontier", "whole.csv", "-t", "task_*", "--id", "person", "--new-tasks", "new_*")
    args += ("--alphas", "0.02,0.05,0.2", "--oracle", "regression")
    return together(
        [
            lambda: run(shop, *args, "--json", "-o", "c.html", code=1),
            lambda: run(shop, *args, "--decisions", "fixed", code=1),
            lambda: run(shop, *args, "--decisions", "drawn", "--json"),
            lambda: run(shop, *args, "--decisions", "drawn", "--alphas", "0.2"),
        ]
    )


def test_a_curve_has_the_decisions_asked_for(shop, curves):
    fixed, drawn = (strict(curves[place].out)["points"] for place in (0, 2))
    for points, decisions in ((fixed, "fixed"), (drawn, "drawn")):
        assert {point["decisions"] for point in points} == {decisions}
    assert [point["met"] for point in drawn] == [True] * 3
    assert [point["met"] for point in fixed[:2]] == [False] * 2
    for point, other in zip(fixed, drawn, strict=True):
        # A share of 8 decisions is a multiple of 1/8.
        assert point["spread"] * 8 == pytest.approx(round(point["spread"] * 8), abs=1e-9)
        for name in ("error", "spread"):
            assert point["by_chances"][name] == pytest.approx(other[name], abs=1e-9)
            assert point["by_decisions"][name] == point[name]
    text = (shop / "c.html").read_text(encoding="utf-8")
    assert "Fixed: each task has one classifier, and nothing is drawn." in text


def test_one_warning_for_a_curve_names_the_alphas_that_are_not_kept(curves):
    points = strict(curves[0].out)["points"]
    missed = [point["alpha"] for point in points if not point["met"]]
    for done in curves[:2]:
        assert done.err.count("warning: ") == 1
        assert f"{len(missed)} of 3 promises are NOT met: alpha 0.02" in one_line(done.err)
    assert curves[2].err == curves[3].err == ""


def test_a_curve_on_new_tasks_is_measured_by_chances(curves):
    fixed, drawn = (strict(curves[place].out)["held_out"]["tasks"] for place in (0, 2))
    assert fixed["error"] == pytest.approx(drawn["error"], abs=1e-9)
    said, other = one_line(curves[1].out), one_line(curves[3].out)
    words = "On new tasks, figures are averages over draws by the mapping's chances."
    assert words in said
    assert words not in other
    assert fits_80_columns(curves[1].out)


def test_a_curve_of_fixed_decisions_is_pythons(curves):
    with pytest.warns(UserWarning, match="promises are NOT met"):
        curve = frontier(
            X_TABLE,
            Y_TABLE,
            [0.02, 0.05, 0.2],
            oracle=RegressionOracle(),
            random_state=0,
            ids=IDS,
        )
    found = strict(curves[0].out)["points"]
    assert [point["error"] for point in found] == pytest.approx([point.error for point in curve])


# Extend


def running(folder, *parts):
    """Return everybody's rate over several models' tasks: (model, tasks, labels) each."""
    wrong = [np.abs(labels - decide(folder, model, tasks)) for model, tasks, labels in parts]
    return np.hstack(wrong).mean(axis=1)


def assert_running(told, rates, tasks):
    assert told["running"]["tasks"] == tasks
    assert told["running"]["lowest"] == pytest.approx(rates.min(), abs=1e-9)
    assert told["running"]["highest"] == pytest.approx(rates.max(), abs=1e-9)


LEARNED = ("fixed.model", TASKS, Y)
NEW = ("new.model", NEW_TASKS, Y_LATER)
LAST = ("last.model", LAST_TASKS, Y_LAST)


@pytest.fixture(scope="module")
def chain(shop, models):
    """Extend twice: the first counted model is a new file, the second replaces its input."""
    before = (shop / "fixed.model").read_bytes()
    args = ("new_labels.csv", "-o", "new.model", "--counted", "counted.model")
    first = run(shop, "extend", "fixed.model", *args, "--json")
    assert (shop / "fixed.model").read_bytes() == before
    (shop / "after_first.model").write_bytes((shop / "counted.model").read_bytes())
    args = ("last_labels.csv", "-o", "last.model", "--counted", "counted.model")
    second = run(shop, "extend", "counted.model", *args)
    return strict(first.out), second


def test_extend_counts_what_people_have_had_so_far(shop, chain):
    told, said = chain
    assert (told["fixed"], told["model"], told["counted"]) == (True, "new.model", "counted.model")
    assert_running(told, running(shop, LEARNED, NEW), 11)
    rates = running(shop, LEARNED, NEW, LAST)
    assert f"over all 15 tasks so far, running rates go from {rates.min():.1%} to" in one_line(
        said.out
    )
    assert f"to {rates.max():.1%}" in one_line(said.out)
    assert "the new tasks count in counted.model: extend it next" in one_line(said.out)
    assert fits_80_columns(said.out)
    for name, tasks, _ in (NEW, LAST):
        assert set(np.unique(decide(shop, name, tasks))) <= {0.0, 1.0}


def test_the_counted_model_is_the_model_with_more_tasks_counted(shop, chain):
    fixed, counted = load(shop / "fixed.model"), load(shop / "counted.model")
    np.testing.assert_array_equal(counted.predict(X_TABLE), fixed.predict(X_TABLE))
    assert (fixed.balance_.tasks, counted.balance_.tasks) == (8, 15)
    assert counted.balance_.names == (*NEW_TASKS, *LAST_TASKS)
    np.testing.assert_allclose(counted.balance_.rates[0], running(shop, LEARNED, NEW, LAST))


def test_it_goes_on_as_python_does(shop, chain):
    python = load(shop / "fixed.model")
    for labels, (name, tasks, _) in zip((Y_LATER, Y_LAST), (NEW, LAST), strict=True):
        later = python.extend(pd.DataFrame(labels, columns=tasks))
        np.testing.assert_array_equal(decide(shop, name, tasks), later.predict(X_TABLE))


def test_without_counted_nothing_changes_and_the_command_can_be_repeated(shop, models, tmp_path):
    before = (shop / "fixed.model").read_bytes()
    for name in ("once.model", "twice.model"):
        done = run(shop, "extend", "fixed.model", "new_labels.csv", "-o", tmp_path / name)
    assert (shop / "fixed.model").read_bytes() == before
    said = one_line(done.out)
    assert "the new tasks do not count in fixed.model; --counted fixed.model counts them" in said
    once, twice = (
        decide(shop, tmp_path / f"{name}.model", NEW_TASKS) for name in ("once", "twice")
    )
    np.testing.assert_array_equal(once, twice)


@pytest.mark.parametrize("labels", ["last_labels.csv", "new_labels.csv"])
def test_tasks_that_are_counted_already_are_refused(shop, chain, labels, tmp_path):
    """Those of the call before too: a file does not hold what was before it."""
    (tmp_path / "counted.model").write_bytes((shop / "counted.model").read_bytes())
    before = (tmp_path / "counted.model").read_bytes()
    args = ("extend", "counted.model", shop / labels, "-o", "x.model")
    for more in ((), ("--counted", "counted.model"), ("--counted", "y.model")):
        done = run(tmp_path, *args, *more, code=2)
        assert "counted already" in one_line(done.err)
        assert NEW_TASKS[0] in done.err or LAST_TASKS[0] in done.err
        assert {path.name for path in tmp_path.iterdir()} == {"counted.model"}
        assert (tmp_path / "counted.model").read_bytes() == before
    run(tmp_path, *args, "--no-balance")


def test_no_balance_leaves_out_what_people_had(shop, models, tmp_path):
    args = ("extend", "fixed.model", "new_labels.csv", "--no-balance", "-o", tmp_path / "x.model")
    said, told = run(shop, *args), strict(run(shop, *args, "--json").out)
    assert "what people had before does not count" in one_line(said.out)
    assert "so far" not in said.out
    assert (told["fixed"], told["running"], told["counted"]) == (True, None, None)
    python = load(shop / "fixed.model").extend(
        pd.DataFrame(Y_LATER, columns=NEW_TASKS), balance=False
    )
    found = decide(shop, tmp_path / "x.model", NEW_TASKS)
    np.testing.assert_array_equal(found, python.predict(X_TABLE))
    assert told["error"] == pytest.approx(np.abs(Y_LATER - found).mean(), abs=1e-9)


def test_a_drawn_model_counts_nothing(shop, models, tmp_path):
    args = ("extend", "drawn.model", "new_labels.csv", "-o", tmp_path / "x.model")
    said, told = run(shop, *args), strict(run(shop, *args, "--json").out)
    assert "decisions are drawn by their chances" in said.out
    assert (told["fixed"], told["running"], told["counted"]) == (False, None, None)


REFUSED = {
    "with --no-balance": (
        ("fixed.model", "--no-balance", "--counted", "c.model"),
        ("--counted", "--no-balance"),
    ),
    "of drawn decisions": (("drawn.model", "--counted", "c.model"), ("--counted", "drawn.model")),
    "into the output": (("fixed.model", "--counted", "x.model"), ("x.model",)),
    "into the labels": (("fixed.model", "--counted", "new_labels.csv"), ("new_labels.csv",)),
    "into a table": (("fixed.model", "--counted", "c.csv"), ("c.csv", "model")),
    "to standard output": (("fixed.model", "--counted", "-"), ("a model is not text",)),
    "into no folder": (("fixed.model", "--counted", "no/c.model"), ("no/c.model", "no folder")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_count_that_cannot_be_kept_is_refused(shop, models, forks, name, tmp_path):
    for file in (*FILES, "new_labels.csv"):
        (tmp_path / file).write_bytes((shop / file).read_bytes())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (model, *options), words = REFUSED[name]
    done = forks.run(tmp_path, "extend", model, "new_labels.csv", "-o", "x.model", *options, code=2)
    for word in words:
        assert word in one_line(done.err)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
