"""``frontier --cross``: the curve on people and tasks that its models have not seen."""

import numpy as np
import pytest

from averagefair import ColumnGeneration, RegressionOracle, audit, frontier
from tests.cli.test_encode import COLUMNS, RAW, people
from tests.support.cli_runs import (
    TASKS,
    Y,
    fits_80_columns,
    fixture_forks,  # noqa: F401
    strict,
)

ASK = ("--id", "person", "--oracle", "regression", "--alphas", "0.3", "-q", "--encode")
# Few rounds are enough to compare; each run ends early, with exit code 4.
ASK += ("--max-rounds", "15")
LEARN = {
    "oracle": RegressionOracle(),
    "solver": ColumnGeneration(max_rounds=15),
    "random_state": 0,
    "encode": True,
    "look_first": False,
    "decisions": "drawn",
}


@pytest.fixture(scope="module", name="crossed")
def fixture_crossed(tmp_path_factory, forks):
    folder = tmp_path_factory.mktemp("crossed")
    people().to_csv(folder / "people.csv", index=False)
    args = ("frontier", "people.csv", "-t", "task_*", *ASK, "--cross", "-o", "r.html", "--json")
    told = forks.run(folder, *args, code=4)
    return folder, strict(told.out)["held_out"]


def test_it_is_what_one_gets_by_hand(crossed):
    """Folds as in the Python function: 3 of people, and 4 of the 8 tasks."""
    _, told = crossed
    assert [*told] == ["training", "both"]
    found = told["both"]
    assert (found["n"], found["m"]) == (40, len(TASKS))
    assert found["cross_fitted"]
    assert not found["learned_tasks"]
    rng = np.random.default_rng(0)
    row, column = rng.permutation(40) % 3, rng.permutation(8) % 4
    chances = np.empty((40, 8))
    for here in range(3):
        for there in range(4):
            known, seen = row != here, column != there
            curve = frontier(RAW[COLUMNS][known], Y[known][:, seen], [0.3], **LEARN)
            later = curve[0].model.mapping_.extend(Y[known][:, ~seen])
            chances[np.ix_(~known, ~seen)] = later.decision_probability(RAW[COLUMNS][~known])
    by_hand = audit(Y, chances)
    assert found["error"] == [pytest.approx(by_hand.mean.value)]
    assert found["sigma"] == [pytest.approx(by_hand.dispersion.sigma, abs=1e-6)]


def test_text_and_report_say_how(crossed, forks):
    folder, told = crossed
    text = forks.run(folder, "frontier", "people.csv", "-t", "task_*", *ASK, "--cross", code=4).out
    plain = " ".join(text.split())
    assert "New people and tasks: 40 people, 8 tasks, each left out in turn." in plain
    assert f"{told['both']['error'][0]:.3f} / " in plain
    assert fits_80_columns(text)
    page = (folder / "r.html").read_text()
    assert "each part of the training people and tasks was left out in turn" in page


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--test", "people.csv", "--new-tasks", "task_8"), "leave one of the three out"),
        (("--against", "people.csv"), "not with the rates of --against"),
        (("--new-tasks", "task_[4-8]"), "2 folds of tasks need at least 4 tasks; there are 3."),
    ],
)
def test_what_cannot_be_measured_is_refused_before_any_work(crossed, forks, asked, message):
    folder, _ = crossed
    args = ("frontier", "people.csv", "-t", "task_*", *ASK, "--max-rounds", "1000000", "--cross")
    done = forks.run(folder, *args, *asked, "-o", "no.html", code=2)
    assert message in " ".join(done.err.split())
    assert not (folder / "no.html").exists()
