"""The sample: every kind of table gives the same people, tasks and signs, or an error."""

import dataclasses
import decimal
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from averagefair import InputError, Sample
from averagefair.people.frames import read_table
from averagefair.people.sample import read_features

NA = None
CELLS = [[0, 1, NA], [1, NA, 0], [1, 0, 1], [NA, 0, 0]]
COMPLETE = [[0, 1], [1, 1], [1, 0], [0, 0]]
COLUMNS = ["ads", "loans", "schools"]
X = np.arange(8.0).reshape(4, 2)


def by_column(rows, kind=lambda value: value):
    names = COLUMNS[: len(rows[0])]
    columns = zip(*rows, strict=True)
    return {
        name: [None if cell is None else kind(cell) for cell in column]
        for name, column in zip(names, columns, strict=True)
    }


def indexed(cells, index):
    return pd.DataFrame(cells, columns=["a", "b"], index=index)


def signs_by_hand(rows):
    return [[{0: 1, 1: -1, None: 0}[cell] for cell in row] for row in rows]


# Each function makes a table of rows of 0, 1 and None.
WITH_BLANKS = {
    "list of lists": lambda rows: rows,
    "list of tuples of NaN": lambda rows: [
        tuple(np.nan if c is None else c for c in r) for r in rows
    ],
    "float array": lambda rows: np.array(rows, dtype=float),
    "float32 array": lambda rows: np.array(rows, dtype=np.float32),
    "float array in column order": lambda rows: np.asfortranarray(np.array(rows, dtype=float)),
    "every second row of a float array": lambda rows: np.repeat(np.array(rows, float), 2, 0)[::2],
    "object array": lambda rows: np.array(rows, dtype=object),
    "object array of bools": lambda rows: np.array(
        [[None if c is None else bool(c) for c in r] for r in rows], dtype=object
    ),
    "object array of text": lambda rows: np.array(
        [["" if c is None else str(c) for c in r] for r in rows], dtype=object
    ),
    "pandas float": lambda rows: pd.DataFrame(by_column(rows), dtype=float),
    "pandas Float64": lambda rows: pd.DataFrame(by_column(rows), dtype="Float64"),
    "pandas Int64": lambda rows: pd.DataFrame(by_column(rows), dtype="Int64"),
    "pandas UInt8": lambda rows: pd.DataFrame(by_column(rows), dtype="UInt8"),
    "pandas boolean": lambda rows: pd.DataFrame(by_column(rows, bool), dtype="boolean"),
    "pandas object": lambda rows: pd.DataFrame(by_column(rows), dtype=object),
    "pandas object of NA": lambda rows: pd.DataFrame(by_column(rows), dtype=object).fillna(pd.NA),
    "pandas object of bools": lambda rows: pd.DataFrame(by_column(rows, bool), dtype=object),
    "pandas category": lambda rows: pd.DataFrame(by_column(rows)).astype("category"),
    "pandas on pyarrow integers": lambda rows: pd.DataFrame(by_column(rows), dtype="int8[pyarrow]"),
    "pandas on pyarrow bools": lambda rows: pd.DataFrame(
        by_column(rows, bool), dtype="bool[pyarrow]"
    ),
    "polars integers": lambda rows: pl.DataFrame(by_column(rows)),
    "polars floats": lambda rows: pl.DataFrame(by_column(rows, float)),
    "polars NaN": lambda rows: pl.DataFrame(by_column(rows, float)).fill_null(float("nan")),
    "polars bools": lambda rows: pl.DataFrame(by_column(rows, bool)),
    "polars decimals": lambda rows: pl.DataFrame(by_column(rows, decimal.Decimal)),
    "pyarrow integers": lambda rows: pa.table(by_column(rows)),
    "pyarrow floats": lambda rows: pa.table(by_column(rows, float)),
    "pyarrow bools": lambda rows: pa.table(by_column(rows, bool)),
}
WITHOUT_BLANKS = WITH_BLANKS | {
    "integer array": lambda rows: np.array(rows),
    "uint8 array": lambda rows: np.array(rows, dtype=np.uint8),
    "bool array": lambda rows: np.array(rows, dtype=bool),
    "pandas int": lambda rows: pd.DataFrame(by_column(rows)),
    "pandas bool": lambda rows: pd.DataFrame(by_column(rows, bool)),
    "pandas bool beside float": lambda rows: pd.DataFrame(by_column(rows, bool)).astype(
        {"ads": float}
    ),
}
NAMED = [name for name in WITHOUT_BLANKS if name.startswith(("pandas", "polars", "pyarrow"))]


@pytest.mark.parametrize("make", WITH_BLANKS.values(), ids=WITH_BLANKS)
def test_blank_labels_become_the_same_signs_from_every_kind_of_table(make):
    sample = Sample(X, make(CELLS))
    assert sample.signs.dtype == np.int8
    assert sample.signs.tolist() == signs_by_hand(CELLS)
    assert sample.complete_tasks.tolist() == [False, False, False]


@pytest.mark.parametrize("make", WITHOUT_BLANKS.values(), ids=WITHOUT_BLANKS)
def test_complete_labels_become_the_same_signs_from_every_kind_of_table(make):
    sample = Sample(X, make(COMPLETE))
    assert sample.signs.tolist() == signs_by_hand(COMPLETE)
    assert sample.complete_tasks.tolist() == [True, True]


@pytest.mark.parametrize("make", WITHOUT_BLANKS.values(), ids=WITHOUT_BLANKS)
def test_features_become_the_same_floats_from_every_kind_of_table(make):
    sample = Sample(make(COMPLETE), COMPLETE)
    assert sample.features.dtype == np.float64
    assert sample.features.tolist() == COMPLETE


@pytest.mark.parametrize("make", [WITHOUT_BLANKS[name] for name in NAMED], ids=NAMED)
def test_columns_name_the_tasks_and_the_features(make):
    sample = Sample(make(COMPLETE), make(COMPLETE))
    assert sample.task_names == ("ads", "loans")
    assert sample.feature_names == ("ads", "loans")


@settings(deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 6)),
        elements=st.sampled_from([0.0, -0.0, 1.0, np.nan]),
    )
)
def test_signs_say_one_minus_twice_the_label_and_zero_for_a_blank(labels):
    signs = Sample(np.zeros((len(labels), 1)), labels).signs
    for cell, sign in zip(labels.ravel(), signs.ravel(), strict=True):
        assert sign == (0 if np.isnan(cell) else 1 - 2 * cell)


def test_counts_and_description():
    sample = Sample(np.zeros((4, 2)), CELLS)
    assert (sample.n, sample.m, sample.d) == (4, 3, 2)
    assert repr(sample) == "Sample(n=4, m=3, d=2, unobserved=3)"


@pytest.mark.parametrize(
    "make",
    [list, np.array, tuple, lambda v: pa.array(v)],
    ids=["list", "array", "tuple", "pyarrow"],
)
def test_one_dimension_is_a_single_task(make):
    assert Sample(X, make([0, 1, 1, 0])).signs.tolist() == [[1], [-1], [-1], [1]]


@pytest.mark.parametrize(
    "make",
    [lambda v: pd.Series(v, name="hired"), lambda v: pl.Series("hired", v)],
    ids=["pandas", "polars"],
)
def test_a_named_series_is_a_single_named_task(make):
    sample = Sample(X, make([0, 1, None, 0]))
    assert sample.signs.tolist() == [[1], [-1], [0], [1]]
    assert sample.task_names == ("hired",)


@pytest.mark.parametrize("make", [pd.Series, pl.Series], ids=["pandas", "polars"])
def test_a_series_without_a_name_is_a_task_without_a_name(make):
    values = [0, 1, 1, 0]
    sample = Sample(X, make(values))
    assert sample.signs.tolist() == [[1], [-1], [-1], [1]]
    assert sample.task_names == Sample(X, values).task_names


@pytest.mark.parametrize("columns", [None, [7, 3], [1, 0]])
def test_columns_named_by_numbers_are_columns(columns):
    # The column names of pd.DataFrame(array) and read_csv(header=None).
    frame = pd.DataFrame(np.array(COMPLETE), columns=columns)
    sample = Sample(frame.astype(float), frame)
    assert sample.signs.tolist() == signs_by_hand(COMPLETE)
    assert sample.features.tolist() == COMPLETE
    assert sample.task_names == tuple(str(name) for name in frame.columns)


def test_names_come_from_the_pandas_index():
    people = ["ann", "bob", "cem", "dee"]
    for x in (X, indexed(X, people)):
        assert Sample(x, indexed(COMPLETE, people)).individual_names.tolist() == people
    assert Sample(indexed(X, people), COMPLETE).individual_names.tolist() == people


def test_names_given_go_before_names_found():
    frame = indexed(COMPLETE, list("wxyz"))
    sample = Sample(frame, frame, individual_names=[4, 5, 6, 7], task_names=["c", 9])
    assert sample.individual_names.tolist() == [4, 5, 6, 7]
    assert sample.task_names == ("c", "9")
    assert sample.feature_names == ("a", "b")


def test_without_names_people_and_tasks_are_numbered():
    sample = Sample(X, COMPLETE)
    assert sample.individual_names.tolist() == [0, 1, 2, 3]
    assert len(set(sample.task_names)) == 2
    assert sample.feature_names is None


INDICES = {
    "order": (list("abcd"), list("acbd"), 1, "'b'", "'c'"),
    "other people": (list("abcd"), list("abce"), 3, "'d'", "'e'"),
    "text against numbers": (list("abcd"), range(4), 0, "'a'", "0"),
    "numbers": ([10, 20, 30, 40], [10, 20, 40, 30], 2, "30", "40"),
    "pairs": (
        pd.MultiIndex.from_product([["a", "b"], [1, 2]]),
        pd.MultiIndex.from_product([["a", "b"], [1, 3]]),
        1,
        "('a', 2)",
        "('a', 3)",
    ),
}


@pytest.mark.parametrize(("ours", "theirs", "row", "x", "y"), INDICES.values(), ids=INDICES)
def test_tables_of_other_people_are_refused_with_the_first_who_differs(ours, theirs, row, x, y):
    with pytest.raises(InputError) as refusal:
        Sample(indexed(X, ours), indexed(COMPLETE, theirs))
    for words in (f"row {row} ", x, y, ".loc["):
        assert words in str(refusal.value)


@pytest.mark.parametrize("index", [[np.nan, 1, 2, 3], [None, "b", "c", "d"]], ids=["float", "text"])
def test_one_index_is_the_same_as_itself_even_with_a_missing_name(index):
    frame = indexed(COMPLETE, index)
    assert Sample(frame, frame).n == 4


def test_default_weights_count_every_person_once_and_every_task_alike():
    sample = Sample(X, CELLS)
    assert sample.individual_weights.tolist() == [1, 1, 1, 1]
    assert sample.task_weights == pytest.approx([1 / 3, 1 / 3, 1 / 3], abs=0, rel=1e-15)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series], ids=lambda f: f.__name__)
def test_weights_of_people_are_kept_and_of_tasks_made_shares(make):
    sample = Sample(
        X, CELLS, individual_weights=make([0.0, 2.0, 0.5, 1.0]), task_weights=make([3.0, 0.0, 1.0])
    )
    assert sample.individual_weights.tolist() == [0, 2, 0.5, 1]
    assert sample.task_weights.tolist() == [0.75, 0, 0.25]


@pytest.mark.parametrize("weights", ["individual_weights", "task_weights"])
def test_weights_that_add_up_to_infinity_are_refused(weights):
    count = len(X) if weights == "individual_weights" else len(CELLS[0])
    with pytest.raises(
        InputError, match=f"{weights.replace('_', ' ')} must add up to a finite number"
    ):
        Sample(X, CELLS, **{weights: [1e308] * count})


ARRAYS = ["features", "signs", "individual_weights", "task_weights", "individual_names"]


@pytest.mark.parametrize("field", [*ARRAYS, "task_names", "feature_names"])
def test_nothing_of_a_sample_can_be_replaced(field):
    sample = Sample(X, CELLS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(sample, field, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        delattr(sample, field)


@pytest.mark.parametrize("field", ARRAYS)
@pytest.mark.parametrize("derive", ["itself", "with_labels", "take_tasks"])
def test_no_array_of_a_sample_can_be_written_to(field, derive):
    sample = Sample(X, CELLS, individual_weights=np.ones(4), individual_names=np.arange(4))
    derived = {
        "itself": sample,
        "with_labels": sample.with_labels(COMPLETE),
        "take_tasks": sample.take_tasks(np.array([1])),
    }[derive]
    with pytest.raises(ValueError, match="read-only"):
        getattr(derived, field)[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        getattr(derived, field).sort(axis=0)


def test_what_was_passed_in_stays_as_it_was_and_writable():
    features, labels, weights = X.copy(), np.array(CELLS, float), np.ones(4)
    Sample(features, labels, individual_weights=weights, task_weights=np.ones(3))
    assert (features == X).all()
    assert np.array_equal(labels, np.array(CELLS, float), equal_nan=True)
    for one in (features, labels, weights):
        one[0] = 1.0


def test_labels_and_weights_changed_afterwards_do_not_reach_the_sample():
    labels, weights, shares = np.array(CELLS, float), np.ones(4), np.ones(3)
    sample = Sample(X, labels, individual_weights=weights, task_weights=shares)
    labels[:], weights[:], shares[0] = 1.0, 7.0, 7.0
    assert sample.signs.tolist() == signs_by_hand(CELLS)
    assert sample.individual_weights.tolist() == [1, 1, 1, 1]
    assert len(set(sample.task_weights.tolist())) == 1


GOOD = {"X": X, "Y": CELLS}
# A bad argument, and the words that its error must have.
BAD = {
    "label 2": ({"Y": [[0], [1], [2], [1]]}, ["0, 1 or blank", "row 2", "'task0'", "holds 2"]),
    "label -1": ({"Y": [[0, 1], [1, 1], [0, 1], [1, -1]]}, ["row 3", "'task1'", "holds -1"]),
    "label one half": (
        {"Y": pd.DataFrame({"ads": [0, 1, 1, 0], "loans": [1, 0.5, None, 0]})},
        ["row 1", "'loans'", "0.5"],
    ),
    "label infinity": ({"Y": [[0], [np.inf], [1], [1]]}, ["row 1", "'task0'", "inf"]),
    "label text": (
        {"Y": [["yes"], ["no"], ["no"], ["no"]]},
        ["Y must", "row 0", "column 0", "yes"],
    ),
    "label text in a frame": (
        {"Y": pl.DataFrame({"ads": [0, 1, 1, 0], "loans": ["0", "1", "no", None]})},
        ["Y must", "row 2", "'loans'", "'no'"],
    ),
    "feature NaN": ({"X": [[0, 1], [1, np.nan], [2, 2], [3, 3]]}, ["row 1", "column 1", "NaN"]),
    "feature None in a frame": (
        {"X": pl.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "pay": [1.0, 2.0, 3.0, None]})},
        ["X must", "row 3", "'pay'", "NaN"],
    ),
    "feature infinity": (
        {"X": pd.DataFrame({"age": [1, 2, 3, 4], "pay": [1, 2, -np.inf, 3]})},
        ["X must", "row 2", "'pay'", "inf"],
    ),
    "infinities that cancel": (
        {"X": [[np.inf], [-np.inf], [0], [0]]},
        ["row 0", "column 0", "inf"],
    ),
    "feature text": ({"X": [["a"], ["b"], ["c"], ["d"]]}, ["X must", "row 0", "column 0", "'a'"]),
    "feature date": ({"X": np.zeros((4, 1), "M8[D]")}, ["X must", "row 0", "1970"]),
    "feature complex": ({"X": X + 1j}, ["X", "omplex"]),
    "label complex": ({"Y": np.ones((4, 1)) * 1j}, ["Y", "omplex"]),
    "sparse X": ({"X": scipy.sparse.csr_array(X)}, ["X", "sparse", "toarray"]),
    "sparse Y": ({"Y": scipy.sparse.csr_array(np.eye(4))}, ["Y", "sparse", "toarray"]),
    "X of one dimension": ({"X": [0, 1, 2, 3]}, ["X must", "(4,)", "reshape"]),
    "X a series": ({"X": pd.Series([0.0, 1, 2, 3])}, ["X must", "(4,)", "reshape"]),
    "X of three dimensions": ({"X": np.zeros((4, 1, 1))}, ["X must", "(4, 1, 1)"]),
    "X a number": ({"X": 3.0}, ["X must", "()"]),
    "X nothing": ({"X": None}, ["X must"]),
    "Y of three dimensions": ({"Y": np.zeros((4, 1, 1))}, ["Y must", "(4, 1, 1)"]),
    "Y a number": ({"Y": 1}, ["Y must", "()"]),
    "fewer labels": ({"Y": CELLS[:3]}, ["4 rows of X", "3 rows of Y"]),
    "more labels": ({"Y": CELLS + CELLS[:1]}, ["4 rows of X", "5 rows of Y"]),
    "nobody": ({"X": np.zeros((0, 2)), "Y": np.zeros((0, 3))}, ["at least one row"]),
    "nobody in frames": (
        {"X": pl.DataFrame({"a": []}), "Y": pl.DataFrame({"b": []})},
        ["at least one row"],
    ),
    "no feature": ({"X": np.zeros((4, 0))}, ["X must", "at least one column"]),
    "no task": ({"Y": np.zeros((4, 0))}, ["Y must", "at least one column"]),
    "no task in a frame": ({"Y": pd.DataFrame(index=range(4))}, ["Y must", "at least one column"]),
    "columns twice": (
        {"Y": pd.DataFrame(np.eye(4)[:, :2], columns=["a", "a"])},
        ["Y", "'a'", "unique"],
    ),
    "columns alike as text": (
        {"Y": pd.DataFrame(np.eye(4)[:, :2], columns=[0, "0"])},
        ["Y", "'0'", "distinct names"],
    ),
    "rows of different length": ({"X": [[1, 2], [1], [1, 2], [1, 2]]}, ["X", "table"]),
    "a list in a cell": (
        {"X": pl.DataFrame({"a": [[0], [1], [2], [3]]})},
        ["X must", "row 0", "'a'", "[0]"],
    ),
    "task names twice": ({"task_names": ["a", "b", "a"]}, ["task_names", "distinct", "'a'"]),
    "too few task names": ({"task_names": ["a", "b"]}, ["task_names", "3", "2"]),
    "too few people's names": ({"individual_names": ["a"]}, ["individual_names", "4", "1"]),
    "negative weight": (
        {"individual_weights": [1, 1, -0.5, 1]},
        ["individual weights", "negative", "position 2", "-0.5"],
    ),
    "NaN weight": ({"individual_weights": [np.nan, 1, 1, 1]}, ["individual weights", "position 0"]),
    "infinite weight": ({"task_weights": [1, np.inf, 1]}, ["task weights", "position 1", "inf"]),
    "weights all zero": (
        {"individual_weights": [0, 0, 0, 0]},
        ["individual weights", "all be zero"],
    ),
    "task weights all zero": ({"task_weights": [0, 0, 0]}, ["task weights", "all be zero"]),
    "too few weights": ({"individual_weights": [1, 1, 1]}, ["individual weights", "(4,)", "(3,)"]),
    "weights of two dimensions": (
        {"task_weights": [[1, 1, 1]]},
        ["task weights", "(3,)", "(1, 3)"],
    ),
    "one number for all weights": ({"task_weights": 1.0}, ["task weights", "(3,)", "()"]),
    "weights of text": (
        {"individual_weights": ["a", "b", "c", "d"]},
        ["individual weights", "must be numbers", "'a'"],
    ),
    "complex weights": (
        {"individual_weights": [1j, 1, 1, 1]},
        ["individual weights", "must be real numbers", "complex"],
    ),
}


@pytest.mark.parametrize(("change", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_with_its_place(change, said):
    with pytest.raises(InputError) as refusal:
        Sample(**(GOOD | change))
    for words in said:
        assert words in str(refusal.value)


def test_the_good_input_that_the_bad_is_a_change_of_is_accepted():
    assert Sample(**GOOD).n == 4


def test_a_masked_label_is_blank():
    labels = np.ma.masked_array([[0, 1], [1, 1], [1, 0], [0, 0]], mask=np.eye(4)[:, :2])
    assert Sample(X, labels).signs.tolist() == [[0, -1], [-1, 0], [-1, 1], [1, 1]]


def test_a_refused_label_is_named_by_its_task_wherever_the_name_comes_from():
    columns = {"ads": [0, 1], "loans": [1, 3]}
    framed = [(make(columns), None) for make in (pd.DataFrame, pl.DataFrame, pa.table)]
    for Y, names in (*framed, ([[0, 1], [1, 3]], ["ads", "loans"])):
        with pytest.raises(InputError, match=r"row 1, task 'loans' holds 3"):
            Sample(np.eye(2), Y, task_names=names)


def test_features_near_overflow_are_finite_and_welcome():
    huge = np.full((4, 2), 1.7e308)
    assert (Sample(huge, CELLS).features == huge).all()


def test_other_labels_on_the_same_people():
    sample = Sample(
        indexed(X, list("wxyz")),
        CELLS,
        individual_weights=[1, 2, 3, 4],
        task_weights=[1, 2, 3],
    )
    later = sample.with_labels(
        pd.DataFrame({"late": [1, None, 0, 0], "later": [0, 0, 1, 1]}, index=list("wxyz")),
        task_weights=[1, 3],
    )
    assert later.signs.tolist() == [[-1, 1], [0, 1], [1, -1], [1, -1]]
    assert later.task_names == ("late", "later")
    assert later.task_weights.tolist() == [0.25, 0.75]
    assert later.complete_tasks.tolist() == [False, True]
    assert (later.features == X).all()
    assert later.individual_weights.tolist() == [1, 2, 3, 4]
    assert later.individual_names.tolist() == list("wxyz")
    assert later.feature_names == ("a", "b")
    assert sample.signs.tolist() == signs_by_hand(CELLS)


def test_other_labels_forget_what_was_worked_out_from_the_old_ones():
    sample = Sample(X, CELLS)
    assert not sample.complete_tasks.any()
    assert sample.with_labels(COMPLETE).complete_tasks.all()
    assert sample.take_tasks(np.array([0])).complete_tasks.shape == (1,)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Y": [0, 1, 2, 0]}, "row 2"),
        ({"Y": COMPLETE, "task_names": ["a", "a"]}, "distinct"),
        ({"Y": COMPLETE, "task_weights": [1]}, r"\(2,\)"),
        ({"Y": COMPLETE, "task_weights": [0, 0]}, "all be zero"),
        ({"Y": np.zeros((4, 0))}, "at least one"),
        ({"Y": np.zeros((3, 2))}, "4 training individuals; got 3 rows"),
        ({"Y": np.zeros((5, 2))}, "4 training individuals; got 5 rows"),
        ({"Y": pd.DataFrame({"late": [0, 1, 1, 0]}, index=list("wxzy"))}, "row 2"),
    ],
)
def test_other_labels_are_checked_like_the_first(change, said):
    with pytest.raises(InputError, match=said):
        Sample(indexed(X, list("wxyz")), CELLS).with_labels(**change)


@pytest.mark.parametrize("tasks", [[0], [2, 0], [1, 2], [0, 1, 2]])
def test_taking_tasks_is_the_same_as_a_sample_of_only_them(tasks):
    weights = np.array([1.0, 2.0, 5.0])
    taken = Sample(X, CELLS, task_weights=weights, task_names=COLUMNS).take_tasks(np.array(tasks))
    alone = Sample(
        X,
        [[row[task] for task in tasks] for row in CELLS],
        task_weights=weights[tasks],
        task_names=[COLUMNS[task] for task in tasks],
    )
    assert taken.signs.tolist() == alone.signs.tolist()
    assert taken.task_names == alone.task_names
    assert taken.task_weights == pytest.approx(alone.task_weights, rel=1e-15)
    assert (taken.features == X).all()


def test_taking_only_tasks_that_weigh_nothing_is_refused():
    sample = Sample(X, CELLS, task_weights=[0, 1, 1])
    with pytest.raises(InputError, match="weight 0"):
        sample.take_tasks(np.array([0]))


def test_a_table_keeps_its_cells_its_columns_and_its_index():
    table = read_table(pd.DataFrame({"a": [1, 2], "b": [0.5, None]}, index=["u", "v"]), "X")
    assert np.array_equal(table.cells, [[1, 0.5], [2, np.nan]], equal_nan=True)
    assert table.columns == ("a", "b")
    assert table.row_names.tolist() == ["u", "v"]


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_a_table_without_an_index_has_no_row_names(make):
    table = read_table(make({"a": [1, 2]}), "X")
    assert table.columns == ("a",)
    assert table.row_names is None


def test_an_array_is_read_without_a_copy_and_without_names():
    cells = np.eye(3)
    table = read_table(cells, "X")
    assert np.shares_memory(table.cells, cells)
    assert table.columns is None
    assert table.row_names is None


@settings(deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 4)),
        elements=st.one_of(st.floats(allow_infinity=False, width=32), st.just(np.nan)),
    )
)
def test_a_frame_of_any_library_reads_like_the_array_it_was_made_from(cells):
    columns = {f"c{place}": column for place, column in enumerate(cells.T)}
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        assert np.array_equal(read_table(make(columns), "X").cells, cells, equal_nan=True)


@pytest.mark.parametrize("one_column", [False, True])
def test_one_dimension_is_a_table_only_where_asked_for(one_column):
    for data in ([1, 0], np.array([1, 0]), pd.Series([1, 0], name="a"), pl.Series("a", [1, 0])):
        if one_column:
            assert read_table(data, "Y", one_column=True).cells.tolist() == [[1], [0]]
        else:
            with pytest.raises(InputError, match=r"Y must be a table.*\(2,\)"):
                read_table(data, "Y")


@pytest.mark.parametrize("what", ["X", "decisions"])
def test_a_refusal_calls_the_table_by_its_name(what):
    for bad in ([1, 2], scipy.sparse.eye_array(2), [[1j]], [["a"]]):
        with pytest.raises(InputError, match=rf"\b{what}\b"):
            read_table(bad, what)


def test_features_of_other_people_must_have_the_columns_learned_from():
    frame = pd.DataFrame({"age": [1.0, 2], "pay": [3.0, 4]})
    names = ["age", "pay"]
    assert read_features(frame, names, 2).tolist() == [[1, 3], [2, 4]]
    assert read_features(frame.to_numpy(), names, 2).tolist() == [[1, 3], [2, 4]]
    assert read_features(frame, None, 2).tolist() == [[1, 3], [2, 4]]
    for bad, said in (
        (frame[["pay", "age"]], "order"),
        (frame.rename(columns={"pay": "wage"}), "unknown: wage; missing: pay"),
        (frame[["age"]], "1 feature, but the model learned from 2"),
        (np.zeros((1, 3)), "3 features, but the model learned from 2"),
        (frame.replace(4.0, np.nan), re.escape("row 1, column 'pay' is NaN")),
    ):
        with pytest.raises(InputError, match=said):
            read_features(bad, names, 2)


@pytest.mark.parametrize("weights", ["individual_weights", "task_weights"])
def test_weights_with_an_index_of_their_own_are_matched_by_it(weights):
    people = pd.DataFrame({"x": [0.0, 1.0]}, index=["u", "v"])
    labels = pd.DataFrame({"a": [0, 1], "b": [1, 0]}, index=["u", "v"])
    index = ["u", "v"] if weights == "individual_weights" else ["a", "b"]
    right = pd.Series([1.0, 3.0], index=index)
    assert getattr(Sample(people, labels, **{weights: right}), weights)[1] > 0.5
    with pytest.raises(InputError, match=f"'{index[0]}'.*'{index[1]}'"):
        Sample(people, labels, **{weights: right[::-1]})
