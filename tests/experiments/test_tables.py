"""Tidy tables: rows, columns and selection; and curves of solvers without a path."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from averagefair import ExponentiatedGradient, InputError, frontier
from averagefair.datasets import make_synthetic
from averagefair.experiments import ResultTable
from averagefair.experiments.tidy import stack

ROWS = [
    {"solver": "one", "alpha": 0.1, "round": 1, "error": 0.3},
    {"solver": "one", "alpha": 0.1, "round": 2, "error": 0.2},
    {"solver": "one", "alpha": 0.3, "round": 1, "error": np.nan},
    {"solver": "two", "alpha": 0.1 + 1e-16, "round": 1, "error": 0.1},
]


@pytest.fixture
def table():
    return ResultTable.of_rows(ROWS)


def test_rows_come_back_as_they_were_given(table):
    assert len(table) == 4
    assert [{name: row[name] for name in ("solver", "round")} for row in table] == [
        {name: row[name] for name in ("solver", "round")} for row in ROWS
    ]
    pd.testing.assert_frame_equal(table.to_frame(), pd.DataFrame(ROWS), check_dtype=False)


def test_rows_are_chosen_as_pandas_chooses(table):
    frame = pd.DataFrame(ROWS)
    wanted = frame[(frame["solver"] == "one") & (frame["round"] == 1)]
    assert table.where(solver="one", round=1)["alpha"].tolist() == wanted["alpha"].tolist()
    assert table.take([3, 0])["solver"].tolist() == ["two", "one"]
    assert table.take(table["round"] == 1)["solver"].tolist() == ["one", "one", "two"]
    assert table.where(alpha=0.1 + 1e-13)["round"].tolist() == [1, 2, 1]  # rounding does not matter
    assert len(table.where(solver="three")) == 0


def test_distinct_rows_come_once_in_their_order(table):
    assert [*map(dict, table.only("solver", "alpha"))] == [
        {"solver": "one", "alpha": 0.1},
        {"solver": "one", "alpha": 0.3},
        {"solver": "two", "alpha": 0.1 + 1e-16},
    ]
    assert table.distinct("solver") == ["one", "two"]
    assert list(table.without("error", "round").columns) == ["solver", "alpha"]


def test_columns_are_added_for_all_rows_or_one_by_one(table):
    more = table.with_columns(rate="error", place=range(4))
    assert more["rate"].tolist() == ["error"] * 4
    assert more["place"].tolist() == [0, 1, 2, 3]
    assert more["alpha"].tolist() == table["alpha"].tolist()
    with pytest.raises(ValueError, match="alpha"):
        table.with_columns(alpha=0.2)


def test_stacked_tables_hold_all_rows(table):
    twice = stack([table, table.take([1])])
    assert twice["error"].tolist()[-1] == 0.2
    assert len(twice) == 5


def test_nothing_writes_into_a_table(table):
    given = np.zeros(2)
    made = ResultTable({"given": given})
    given[0] = 1.0
    assert made["given"].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        made["given"][0] = 1.0


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="must have equal lengths"):
        ResultTable({"one": [1], "two": [1, 2]})


def test_printed_it_shows_every_cell(table):
    lines = str(table).splitlines()
    assert lines[0].split() == ["solver", "alpha", "round", "error"]
    assert [line.split() for line in lines[2:]] == [
        ["one", "0.1000", "1", "0.3000"],
        ["one", "0.1000", "2", "0.2000"],
        ["one", "0.3000", "1", "unknown"],
        ["two", "0.1000", "1", "0.1000"],
    ]


def test_a_table_without_rows_has_its_columns():
    empty = ResultTable.of_rows([], ["solver", "error"])
    assert len(empty) == 0
    assert list(empty.columns) == ["solver", "error"]
    assert len(empty.where(solver="one")) == 0
    assert list(empty) == []


# Curves of solvers that solve each alpha from scratch.


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_point_depends_on_which_others_were_asked_for():
    people = make_synthetic(30, 12)
    solver = ExponentiatedGradient(max_rounds=20, batch_size=3, resample=True, replay=False)
    whole = frontier(people.X, people.Y, [0.05, 0.1, 0.2], solver=solver, random_state=5)
    for alpha in (0.05, 0.1):
        (alone,) = frontier(people.X, people.Y, [alpha], solver=solver, random_state=5)
        rates = whole.model(alpha).individual_rates_
        np.testing.assert_array_equal(alone.model.individual_rates_, rates)


@pytest.mark.parametrize("exceptions", [{"beta": 0.1}, {"max_influence": 2.0}])
def test_exceptions_that_a_solver_cannot_make_are_refused(exceptions):
    people = make_synthetic(20, 5)
    with pytest.raises(InputError, match="ExponentiatedGradient"):
        frontier(people.X, people.Y, [0.1], solver=ExponentiatedGradient.published(5), **exceptions)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_solver_made_for_one_slack_has_a_curve_of_that_alone():
    people = make_synthetic(10, 4)
    solver = ExponentiatedGradient.from_theory(alpha=0.2, nu=1.0, n=10, tol=2.0)
    (point,) = frontier(people.X, people.Y, [0.4], solver=solver)
    assert point.value == 0.4
    with pytest.raises(InputError, match="slack"):
        frontier(people.X, people.Y, [0.1, 0.2], solver=solver)
