"""Tables in files: cells are read unchanged, and errors name the row."""

import csv
import datetime
import decimal
import io
import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from averagefair import AverageFairClassifier, Checkpoint, InputError, load
from averagefair.files.mapped import map_parquet
from averagefair.files.reading import STREAM, read_file
from averagefair.files.streaming import FileBlocks
from averagefair.files.table import FileTable


def csv_file(folder, text, encoding="utf-8"):
    path = folder / "people.csv"
    path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
    return read_file(str(path))


def parquet_file(folder, **columns):
    path = folder / "people.parquet"
    pq.write_table(pa.table(columns), path)
    return read_file(str(path))


def cells(table):
    return {name: column.to_pylist() for name, column in table.columns.items()}


# --- reading CSV ---------------------------------------------------------------------------------

SAME = {
    "plain": "id,a,b\n01,1,2\n02,3,\n",
    "semicolons": "id;a;b\n01;1;2\n02;3;\n",
    "tabs": "id\ta\tb\n01\t1\t2\n02\t3\t\n",
    "Windows": "id,a,b\r\n01,1,2\r\n02,3,\r\n",
    "no end of line": "id,a,b\n01,1,2\n02,3,",
    "a mark before it": "\ufeffid,a,b\n01,1,2\n02,3,\n",
    "a mark before quotes": '\ufeff"id","a","b"\n01,1,2\n02,3,\n',
    "quotes": '"id","a","b"\n"01","1","2"\n"02","3",""\n',
    "blank lines": "\n\nid,a,b\n\n01,1,2\n\n\n02,3,\n\n",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
def test_ways_to_write_the_same_table_are_read_alike(text, tmp_path):
    table = csv_file(tmp_path, text)
    assert cells(table) == {"id": ["01", "02"], "a": ["1", "3"], "b": ["2", ""]}
    assert len(table) == 2
    assert table.by("id").ids.tolist() == ["01", "02"]
    np.testing.assert_array_equal(table.numbers(["b", "a"], blanks=True), [[2, 1], [np.nan, 3]])


def test_lines_may_end_as_on_old_machines(tmp_path):
    assert cells(csv_file(tmp_path, "id,a\r01,1\r02,3\r")) == {"id": ["01", "02"], "a": ["1", "3"]}


def test_a_column_alone_may_have_blanks(tmp_path):
    table = csv_file(tmp_path, "a\n1\n\n0\n")
    np.testing.assert_array_equal(table.labels(["a"]), [[1], [np.nan], [0]])


def test_a_column_alone_may_stand_below_blank_lines(tmp_path):
    assert cells(csv_file(tmp_path, "\n\na\n1\n0\n")) == {"a": ["1", "0"]}


def test_nothing_is_guessed_from_the_first_rows(tmp_path):
    rows = ["7"] * 5000 + ["x7", "007", "1e3", "2020-01-01", "True", "NA", " "]
    table = csv_file(tmp_path, "who,z\n" + "".join(f"{one},0\n" for one in rows))
    assert cells(table)["who"] == rows


def test_names_of_columns_are_kept_as_written(tmp_path):
    names = [" a ", 'say "b"', "c,d", "über", "two\nlines", "1"]
    text = io.StringIO()
    csv.writer(text).writerows([names, range(6)])
    assert list(csv_file(tmp_path, text.getvalue()).columns) == names


def test_separators_within_quotes_separate_nothing(tmp_path):
    table = csv_file(tmp_path, '"rent; heating; water","income"\n1,2\n')
    assert cells(table) == {"rent; heating; water": ["1"], "income": ["2"]}


def test_standard_input_is_read_as_a_file_is(monkeypatch, tmp_path):
    class Input:
        buffer = io.BytesIO(b"id,a\nann,1\nann,0\n")

    monkeypatch.setattr(sys, "stdin", Input)
    table = read_file(STREAM)
    assert cells(table) == {"id": ["ann", "ann"], "a": ["1", "0"]}
    with pytest.raises(InputError, match=r"^standard input: row 2, column 'id'"):
        table.by("id")


UNREADABLE = {
    "nothing": (b"", "is empty"),
    "blank lines": (b"\n \n\r\n", "is empty"),
    "a head alone": (b"a,b\n", "has no rows"),
    "a broken workbook": (b"PK\x03\x04" + bytes(range(100)), "Excel workbook"),
    "Latin-1": ("a,b\n1,2\nZo\xeb,3\n".encode("latin-1"), "line 3 is not UTF-8"),
    "twins": (b"a,b,a\n1,2,3\n", "two columns are called 'a'"),
    "no name": (b"a,,c\n1,2,3\n", "column 2 has no name"),
    "a blank name": (b'a,b,"  "\n1,2,3\n', "column 3 has no name"),
    "half of a Parquet file": (b"PAR1" + bytes(50), "not a whole Parquet file"),
}


@pytest.mark.parametrize(("content", "message"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_is_no_table_is_refused_with_the_name_of_the_file(content, message, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_file(str(path))
    assert str(caught.value).startswith(str(path))


def test_files_that_are_not_there_are_named(tmp_path):
    for path, why in ((tmp_path / "no.csv", "No such file"), (tmp_path, "it is a folder")):
        with pytest.raises(InputError, match=f"{path} cannot be read: {why}"):
            read_file(str(path))


def test_a_parquet_file_cut_short_is_refused(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"a": list(range(500))}), path)
    whole = path.read_bytes()
    for length in range(5, len(whole), 61):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="not a whole Parquet file"):
            read_file(str(path))


def test_a_quote_that_is_never_closed_is_refused_in_words(tmp_path):
    with pytest.raises(InputError, match=r"people\.csv"):
        csv_file(tmp_path, 'a,"b\n' + "1,2\n" * 50_000)


def test_a_table_of_many_tasks_is_read(tmp_path):
    names = [f"task {j}" for j in range(3000)]
    table = csv_file(tmp_path, ",".join(names) + "\n" + ",".join("01" * 1500) + "\n")
    assert list(table.columns) == names
    np.testing.assert_array_equal(table.labels(names), [[0, 1] * 1500])


def test_a_line_may_be_long(tmp_path):
    table = csv_file(tmp_path, "a,b\n1,2\n" + "x" * 2_500_000 + ",3\n4,5\n")
    assert [len(one) for one in cells(table)["a"]] == [1, 2_500_000, 1]


# --- rows are counted right ----------------------------------------------------------------------

BEFORE = {
    "plain": "ann,1\nbo,2\n",
    "blank lines": "\n\nann,1\n\n\nbo,2\n\n",
    "blank lines of Windows": "\r\n\r\nann,1\r\n\r\nbo,2\r\n",
    "quoted lines": '"ann\nof\n\nArc",1\n"bo\r\n",2\n',
    "quoted separators": '"ann, or Ann",1\n"bo ""x"", jr",2\n',
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE.keys())
@pytest.mark.parametrize("top", ["", "\n\n"], ids=["", "below blank lines"])
def test_complaints_of_csv_tell_the_row(before, top, tmp_path):
    head = f"{top}who,a\n{before}"
    with pytest.raises(
        InputError, match=r"row 3 \(who cy\), column 'a': a feature must be a number; got 'x'"
    ):
        csv_file(tmp_path, head + "cy,x\ndee,y\n").by("who").numbers(["a"])
    with pytest.raises(InputError, match=r"row 3, column 'a': holds '', but a feature must"):
        csv_file(tmp_path, head + "cy,\n").numbers(["a"])
    with pytest.raises(InputError, match=r"row 3 has 3 cells where the head has 2"):
        csv_file(tmp_path, head + "cy,3,4\ndee,4\n")
    with pytest.raises(InputError, match=r"row 3 has 1 cell where the head has 2"):
        csv_file(tmp_path, head + "cy\ndee,4\n")
    with pytest.raises(InputError, match=r"row 4, column 'who': the id 'cy' is already in row 3"):
        csv_file(tmp_path, head + "cy,3\ncy,4\n").by("who")
    with pytest.raises(InputError, match=r"row 3, column 'who': the id is blank"):
        csv_file(tmp_path, head + '"",3\n').by("who")


def test_rows_are_counted_right_in_a_large_file(tmp_path):
    lines = "12,0.12345\n" * 300_000  # fills several of pyarrow's blocks
    with pytest.raises(InputError, match=r"row 300001 has 3 cells"):
        csv_file(tmp_path, f"a,b\n{lines}1,2,3\n{lines}")
    with pytest.raises(InputError, match=r"row 300001, column 'b': .*got 'x'"):
        csv_file(tmp_path, f"a,b\n{lines}1,x\n{lines}").numbers(["a", "b"])


def test_lines_within_quotes_are_kept_together_in_a_large_file(tmp_path):
    cell = "two lines,\nand " * 20  # pyarrow's blocks end within quotes
    table = csv_file(tmp_path, "a,b\n" + f'"{cell}",1\n' * 20_000)
    assert len(table) == 20_000
    assert set(cells(table)["a"]) == {cell}


def test_complaints_of_parquet_tell_the_row_across_chunks(tmp_path):
    path = tmp_path / "people.parquet"
    table = pa.table(
        {
            "who": [f"person {i}" for i in range(10)],
            "a": [*map(float, range(7)), float("inf"), None, 9.0],
            "y": [0, 1, 0, 1, 2, None, 0, 1, 1, 1],
            "w": ["1"] * 8 + ["x", "1"],
        }
    )
    pq.write_table(table, path, row_group_size=3)
    people = read_file(str(path)).by("who")
    with pytest.raises(InputError, match=r"row 8 \(who person 7\), column 'a': holds inf"):
        people.numbers(["a"], blanks=True)
    with pytest.raises(InputError, match=r"row 5 \(who person 4\), column 'y': a label .* got 2"):
        people.labels(["y"])
    with pytest.raises(InputError, match=r"row 9 \(who person 8\), column 'w': .*got 'x'"):
        people.labels(["w"])


def test_the_first_of_several_wrong_cells_is_named(tmp_path):
    table = csv_file(tmp_path, "a,b\n1,1\n1,3\n2,1\n")
    with pytest.raises(InputError, match=r"row 2, column 'b': .*got 3"):
        table.labels(["a", "b"])


# --- kinds of columns ----------------------------------------------------------------------------

NUMBERS = {
    "whole numbers with blanks": pa.array([1, None, 3]),
    "bytes of numbers": pa.array([1, None, 3], pa.int8()),
    "fractions": pa.array([1.0, float("nan"), 3.0]),
    "short fractions": pa.array([1.0, None, 3.0], pa.float32()),
    "decimals": pa.array([decimal.Decimal("1.00"), None, decimal.Decimal("3.00")]),
    "long decimals": pa.array([decimal.Decimal(1), None, decimal.Decimal(3)], pa.decimal256(50, 2)),
    "text": pa.array([" 1", "NA", "3.0 "]),
    "large text": pa.array(["1e0", "", "+3"], pa.large_string()),
    "a dictionary of text": pa.array(["1", "null", "3"]).dictionary_encode(),
    "a dictionary of large text": pa.array(["1", None, "3"], pa.large_string()).dictionary_encode(),
    "a dictionary of numbers": pa.array([1, None, 3]).dictionary_encode(),
    "a dictionary of fractions": pa.array([1.0, None, 3.0]).dictionary_encode(),
}


@pytest.mark.parametrize("column", NUMBERS.values(), ids=NUMBERS.keys())
def test_numbers_are_numbers_however_they_are_stored(column, tmp_path):
    table = parquet_file(tmp_path, a=column)
    np.testing.assert_array_equal(table.numbers(["a"], blanks=True).ravel(), [1, np.nan, 3])
    with pytest.raises(InputError, match=r"row 2, column 'a'.*finite number"):
        table.numbers(["a"])


TRUTHS = {
    "booleans": pa.array([True, False, None]),
    "words": pa.array(["True", " FALSE", "n/a"]),
    "words and numbers": pa.array(["true", "0", "None"]),
    "a dictionary": pa.array(["true", "false", None]).dictionary_encode(),
    "a dictionary of booleans": pa.DictionaryArray.from_arrays([0, 1, None], [True, False]),
}


@pytest.mark.parametrize("column", TRUTHS.values(), ids=TRUTHS.keys())
def test_truth_values_are_labels(column, tmp_path):
    table = parquet_file(tmp_path, a=column)
    np.testing.assert_array_equal(table.labels(["a"]).ravel(), [1, 0, np.nan])


@pytest.mark.parametrize("blank", ["", " ", "NA", "na", "N/A", "NaN", "null", "NULL", "None"])
def test_every_way_to_leave_a_cell_blank_is_a_blank(blank, tmp_path):
    table = csv_file(tmp_path, f"a,b\n1,x\n{blank},{blank}\n")
    np.testing.assert_array_equal(table.labels(["a"]), [[1], [np.nan]])
    np.testing.assert_array_equal(table.decisions(["a"]), [[1], [np.nan]])
    assert table.words("b", "--groups") == ["x", None]


NO_NUMBERS = {
    "dates": (pa.array([None, datetime.date(2020, 1, 2)]), r"datetime\.date"),
    "times": (pa.array([None, datetime.datetime(2020, 1, 2)]), r"datetime\.datetime"),
    "hours": (pa.array([None, datetime.time(1)]), r"datetime\.time"),
    "spans": (pa.array([None, datetime.timedelta(1)]), r"datetime\.timedelta"),
    "lists": (pa.array([None, [1, 2]]), r"\[1, 2\]"),
    "structs": (pa.array([None, {"a": 1}]), r"\{'a': 1\}"),
    "words": (pa.array(["1", "one"]), "'one'"),
    "yes": (pa.array(["1", "Yes"]), "'Yes'"),
    "decimal commas": (pa.array(["1", "0,5"]), "'0,5'"),
    "hexadecimals": (pa.array(["1", "0x10"]), "'0x10'"),
    "bytes": (pa.array([b"1", b"x"]), "b'x'"),
    "a dictionary": (pa.array([None, "One"]).dictionary_encode(), "'One'"),
}


@pytest.mark.parametrize(("column", "shown"), NO_NUMBERS.values(), ids=NO_NUMBERS.keys())
def test_what_is_no_number_is_complained_of_as_it_stands(column, shown, tmp_path):
    table = parquet_file(tmp_path, who=["ann", "bo"], a=column).by("who")
    for read in (table.numbers, table.labels, table.decisions):
        with pytest.raises(InputError, match=rf"row 2 \(who bo\), column 'a': .*got {shown}"):
            read(["a"])


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e400"])
def test_what_is_not_finite_is_refused(cell, tmp_path):
    table = csv_file(tmp_path, f"a\n1\n{cell}\n")
    for options in ({}, {"blanks": True}):
        with pytest.raises(InputError, match=f"row 2, column 'a': holds '{cell}', but a feature"):
            table.numbers(["a"], **options)


def huge(folder, value, kind):
    if kind == "Parquet":
        return parquet_file(folder, a=pa.array([value, None]))
    return csv_file(folder, f"a,b\n{value},1\n,1\n")


@pytest.mark.parametrize("kind", ["Parquet", "CSV"])
@pytest.mark.parametrize("value", [2**53 + 1, 2**63 - 1, -(2**53) - 1])
def test_huge_whole_numbers_become_the_nearest_double_with_a_warning(value, kind, tmp_path):
    table = huge(tmp_path, value, kind)
    with pytest.warns(UserWarning, match=r"column 'a': whole numbers above 2\*\*53 .* --id a"):
        numbers = table.numbers(["a"], blanks=True)
    np.testing.assert_array_equal(numbers, [[float(value)], [np.nan]])


@pytest.mark.parametrize("kind", ["Parquet", "CSV"])
@pytest.mark.parametrize("value", [2**53, -(2**63), 2**60])
def test_huge_whole_numbers_that_doubles_hold_are_read_without_a_word(value, kind, tmp_path):
    numbers = huge(tmp_path, value, kind).numbers(["a"], blanks=True)
    np.testing.assert_array_equal(numbers, [[float(value)], [np.nan]])


def test_huge_whole_numbers_stay_exact_as_ids(tmp_path):
    table = parquet_file(tmp_path, who=pa.array([2**53, 2**53 + 1]), a=pa.array([1, 2]))
    assert table.by("who").names.tolist() == ["9007199254740992", "9007199254740993"]


@pytest.mark.parametrize("blocks", [False, True], ids=["whole", "in blocks"])
@pytest.mark.parametrize(
    ("names", "rows"),
    [
        ([f"feature_{place:040}" for place in range(3_000)], 10),  # a head of 147,000 characters
        (["a" * 200_000, "b"], 4),
        ([f"{place}_{'z' * 300}" for place in range(4_000)], 10),  # longer than a block
    ],
    ids=["many columns", "a long name", "many long names"],
)
def test_wide_tables_are_read(names, rows, blocks, tmp_path):
    path = tmp_path / "wide.csv"
    cells = np.arange(rows * len(names)).reshape(rows, -1)
    lines = [",".join(map(str, row)) for row in cells.tolist()]
    path.write_text("\n".join([",".join(names), *lines]) + "\n")
    parts = list(FileBlocks(str(path))) if blocks else [read_file(str(path))]
    assert list(parts[0].columns) == names
    np.testing.assert_array_equal(np.vstack([part.numbers(names) for part in parts]), cells)


def test_rows_with_long_cells_are_read(tmp_path):
    table = csv_file(tmp_path, f"note,a\n{'w' * 200_000},1\nshort,2\n")
    assert table.numbers(["a"]).ravel().tolist() == [1, 2]


@pytest.mark.parametrize("rows", [1, 60_000])
@pytest.mark.parametrize("head", ['who,"a,b\n', 'who,a,b\n"x,1,2\n'])
def test_a_quote_without_an_end_is_told(head, rows, tmp_path):
    with pytest.raises(InputError, match=r"a quote in its first two rows has no end. Close it"):
        csv_file(tmp_path, head + "x,1,2\n" * rows)


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("1,000", "Write 1000 if the comma groups thousands, 1.000 if it is a decimal comma"),
        ("0,5", "Write 0.5, with a point"),
        ("12,25", "Write 12.25, with a point"),
        ("0,125", "Write 0.125, with a point"),
        ("1,234,567", "Write 1234567, without commas"),
        ("1,234.5", "Write 1234.5, without commas"),
        ("1.234,5", "Write 1234.5, with a point"),
        ("1 234", "Write 1234, without spaces"),
    ],
)
def test_numbers_written_with_commas_get_advice_that_works(given, advice, tmp_path):
    table = csv_file(tmp_path, f'a,b\n"{given}",1\n')
    with pytest.raises(InputError, match=f"got '{given}'. {advice}"):
        table.numbers(["a"])


@contextmanager
def named_pipe(path):
    """A pipe whose other end writes nothing and is closed: a reader gets an empty file."""
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: open(path, "wb").close(), daemon=True)
    writer.start()
    try:
        yield path
    finally:
        held = os.open(path, os.O_RDWR)  # releases the writer if nobody has read
        writer.join()
        os.close(held)


READERS = {
    "a table": lambda path: read_file(path),
    "a table in blocks": lambda path: list(FileBlocks(path)),
    "Parquet": lambda path: map_parquet(path, tasks="a", folder=Path(path).parent),
    "a model": load,
}


@pytest.mark.parametrize("name", READERS)
def test_a_named_pipe_is_refused(name, tmp_path):
    with (
        named_pipe(tmp_path / "pipe") as path,
        pytest.raises(InputError, match="pipe cannot be read: it is a named pipe, not a file"),
    ):
        READERS[name](str(path))


def test_a_named_pipe_in_a_checkpoint_is_refused(tmp_path):
    kept = Checkpoint(tmp_path, resume=True)
    model = AverageFairClassifier(alpha=0.4, random_state=0, checkpoint=kept)
    with (
        named_pipe(tmp_path / "answers-00000000.checkpoint"),
        pytest.raises(InputError, match="it is a named pipe, not a file"),
    ):
        model.fit(np.eye(4), np.eye(4))


@pytest.mark.parametrize("name", READERS)
def test_a_device_is_refused(name):
    with pytest.raises(InputError, match="null cannot be read: it is a device, not a file"):
        READERS[name]("/dev/null")


@pytest.mark.parametrize("name", ["a table", "a table in blocks", "a model"])
def test_a_folder_is_refused(name, tmp_path):
    with pytest.raises(InputError, match=r"cannot be read: it is a folder .*Name a file in it"):
        READERS[name](str(tmp_path))


def test_a_pipe_that_a_shell_made_is_read():
    """A pipe of ``<(command)`` has no name in any folder, and a process writes to it."""
    ours, theirs = os.pipe()
    os.write(theirs, b"a,b\n1,2\n")
    os.close(theirs)
    try:
        assert read_file(f"/dev/fd/{ours}").numbers(["a"]).tolist() == [[1.0]]
    finally:
        os.close(ours)


def test_a_model_is_no_table(tmp_path):
    model = AverageFairClassifier(alpha=0.4, random_state=0).fit(np.eye(4), np.eye(4))
    model.save(tmp_path / "fair.model")
    with pytest.raises(InputError, match="is a model of averagefair, not a table"):
        read_file(str(tmp_path / "fair.model"))


def test_doubles_are_read_to_the_last_bit(tmp_path):
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -2.2250738585072014e-308, 123456789.1]
    table = csv_file(tmp_path, "a\n" + "".join(f"{one!r}\n" for one in values))
    assert table.numbers(["a"]).ravel().tolist() == values


def test_digits_with_underscores_are_no_number(tmp_path):
    with pytest.raises(InputError, match="row 2"):
        csv_file(tmp_path, "a\n1\n1_000\n").numbers(["a"])


def test_labels_and_decisions_keep_to_their_range(tmp_path):
    table = csv_file(tmp_path, "a,b,c\n0,0.25,1\n1,1,1.5\n")
    np.testing.assert_array_equal(table.labels(["a"]).ravel(), [0, 1])
    np.testing.assert_array_equal(table.decisions(["b", "a"]), [[0.25, 0], [1, 1]])
    with pytest.raises(InputError, match="row 1, column 'b': a label must be 0, 1 or blank; got 0"):
        table.labels(["b"])
    with pytest.raises(InputError, match=r"row 2, column 'c': a decision must be .*; got 1\.5"):
        table.decisions(["b", "c"])


# --- ids and columns -----------------------------------------------------------------------------

IDS = {
    "leading zeroes": (pa.array(["007", "7"]), ["007", "7"]),
    "spaces": (pa.array([" a", "a"]), [" a", "a"]),
    "words for a blank": (pa.array(["NA", "null"]), ["NA", "null"]),
    "whole numbers": (pa.array([7, 2**60]), ["7", str(2**60)]),
    "whole fractions": (pa.array([7.0, 2.5]), ["7", "2.5"]),
    "dates": (pa.array([datetime.date(2020, 1, 2)]), ["2020-01-02"]),
    "a dictionary": (pa.array(["b", "a"]).dictionary_encode(), ["b", "a"]),
    "large text": (pa.array(["b", "ä"], pa.large_string()), ["b", "ä"]),
}


@pytest.mark.parametrize(("column", "wanted"), IDS.values(), ids=IDS.keys())
def test_ids_are_kept_as_they_stand(column, wanted, tmp_path):
    table = parquet_file(tmp_path, who=column, a=pa.array([0] * len(column))).by("who")
    assert table.ids.tolist() == wanted
    assert table.id_column == "who"
    assert table.others([]) == ["a"]


def test_ids_that_are_the_same_in_writing_are_the_same_person(tmp_path):
    with pytest.raises(InputError, match=r"row 3, column 'who': the id '7' is already in row 1"):
        parquet_file(tmp_path, who=[7.0, 8.0, 7.0]).by("who")


@pytest.mark.parametrize("ids", [["a", None, "c"], ["a", "", "c"], [1, None, 3]], ids=str)
def test_a_blank_id_is_refused_where_it_stands(ids, tmp_path):
    with pytest.raises(InputError, match="row 2, column 'who': the id is blank"):
        parquet_file(tmp_path, who=ids, a=[1, 2, 3]).by("who")


def test_an_id_that_is_no_number_is_refused_where_it_stands(tmp_path):
    with pytest.raises(InputError, match="row 3, column 'who': the id is blank"):
        parquet_file(tmp_path, who=[1.0, 2.0, float("nan")], a=[1, 0, 1]).by("who")


def test_lists_for_ids_are_refused_for_what_they_are(tmp_path):
    with pytest.raises(InputError) as caught:
        parquet_file(tmp_path, who=[[1], [2]]).by("who")
    assert "blank" not in str(caught.value)


def test_a_table_without_ids_has_none(tmp_path):
    table = csv_file(tmp_path, "a\n1\n")
    assert table.by(None) is table
    assert table.ids is None


def test_columns_are_chosen_by_name_or_pattern_in_the_order_of_the_table(tmp_path):
    table = csv_file(tmp_path, "id,q1,q2,x*,xy,Q3\n" + "1,1,1,1,1,1\n").by("id")
    assert table.select(["q*"], "--tasks") == ["q1", "q2"]
    assert table.select(["q2", "q1"], "--tasks") == ["q1", "q2"]
    assert table.select(["x*"], "--tasks") == ["x*"]  # the exact name of a column
    assert table.select(["x?", "Q[0-9]"], "--tasks") == ["x*", "xy", "Q3"]
    assert table.others(["q1", "xy"]) == ["q2", "x*", "Q3"]
    with pytest.raises(InputError, match=r"no column matches --tasks 'q_1'\. Did you mean 'q1'\?"):
        table.select(["q1", "q_1"], "--tasks")
    with pytest.raises(InputError, match=r"--tasks 'z\*'\. There are: 'id', 'q1'.* and 1 more"):
        table.select(["z*"], "--tasks")
    with pytest.raises(InputError, match="no column matches --id 'ID'"):
        table.by("ID")


def test_the_row_names_of_pandas_are_no_column(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=["x", "y"])
    frame.to_parquet(tmp_path / "people.parquet")
    table = read_file(str(tmp_path / "people.parquet"))
    assert table.others([]) == ["a", "b"]
    assert table.by("__index_level_0__").ids.tolist() == ["x", "y"]


def test_files_of_polars_and_pandas_are_read(tmp_path):
    data = {"who": ["01", "ß"], "a": [1.5, None], "y": [True, False], "g": ["u", "v"]}
    path = str(tmp_path / "people.parquet")
    for write in (
        lambda: (
            pl.DataFrame(data).with_columns(pl.col("g").cast(pl.Categorical)).write_parquet(path)
        ),
        lambda: pd.DataFrame(data).astype({"g": "category"}).to_parquet(path),
    ):
        write()
        table = read_file(path).by("who")
        assert table.ids.tolist() == ["01", "ß"]
        np.testing.assert_array_equal(table.numbers(["a"], blanks=True), [[1.5], [np.nan]])
        np.testing.assert_array_equal(table.labels(["y"]), [[1], [0]])
        assert table.words("g", "--groups") == ["u", "v"]


def test_a_table_of_ones_own_is_a_file_table():
    table = FileTable("here", {"who": pa.chunked_array([["a"], ["b"]]), "y": pa.array([1, None])})
    assert len(table) == 2
    with pytest.raises(InputError, match=r"^here: row 2 \(who b\), column 'y': no\.$"):
        table.by("who").refuse(1, "y", "no")
    np.testing.assert_array_equal(table.labels(["y"]), [[1], [np.nan]])
