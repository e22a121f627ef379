"""Writing tables and other files: the contents come back, or nothing has changed."""

import csv
import io
import os
import re
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from averagefair import InputError
from averagefair.files.reading import STREAM, read_file
from averagefair.files.writing import check_output, write_table, write_whole

ODD = ["a", "é", "漢", "😀", '"', "'", ",", "\n", "\r", " ", "\u2028", "0", "7", ".", "-", "#"]
# Semicolons and tabs in names are a case of their own, in test_reading.py.
NAMES = st.text(st.sampled_from(ODD), min_size=1, max_size=6).filter(str.strip)
WORDS = st.text(st.sampled_from([*ODD, ";", "\t"]), min_size=1, max_size=6)


@st.composite
def odd_tables(draw):
    n = draw(st.integers(1, 5))
    names = draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    ids = draw(st.lists(WORDS, min_size=n, max_size=n, unique=True))
    doubles = st.floats(allow_nan=False, allow_infinity=False)
    columns = {
        name: np.array(draw(st.lists(doubles, min_size=n, max_size=n))) for name in names[1:]
    }
    return names[0], ids, columns


def guarded(text):
    """Return a cell of text in CSV, protected from being read as a formula."""
    if re.fullmatch(r"-?[07]+\.?[07]*|-?\.[07]+", text):
        return text
    out = ""
    for place, letter in enumerate(text):
        rest = text[place:]
        opens = place == 0 or text[place - 1] in ";\t\r\n"
        formula = rest.lstrip("' \t\r\n\u2028").startswith("-")
        out += "'" * (opens and (formula or rest.lstrip("'")[:1] in ("\t", "\r", "\n"))) + letter
    return out


@pytest.mark.filterwarnings("ignore:.*a spreadsheet would take:UserWarning")
@settings(max_examples=40, deadline=None)
@given(table=odd_tables(), suffix=st.sampled_from([".csv", ".parquet"]))
def test_odd_tables_come_back_as_they_were_written(table, suffix, tmp_path_factory):
    who, ids, columns = table
    path = str(tmp_path_factory.getbasetemp() / f"odd{suffix}")
    for given_ids in (np.array(ids), np.array(ids, dtype=object), ids):
        write_table(path, {who: given_ids, **columns})
        back = read_file(path).by(who)
        assert list(back.columns) == [who, *columns]
        assert back.ids.tolist() == ids
        np.testing.assert_array_equal(back.numbers(list(columns)).T, [*columns.values()])


@pytest.mark.filterwarnings("ignore:.*a spreadsheet would take:UserWarning")
@settings(max_examples=25, deadline=None)
@given(table=odd_tables())
def test_a_table_goes_from_one_kind_of_file_to_the_other_and_back(table, tmp_path_factory):
    who, ids, columns = table
    folder = tmp_path_factory.getbasetemp()
    write_table(str(folder / "one.parquet"), {who: ids, **columns})
    first = read_file(str(folder / "one.parquet")).by(who)
    write_table(str(folder / "two.csv"), {who: first.ids, **_numbers(first, columns)})
    second = read_file(str(folder / "two.csv")).by(who)
    write_table(str(folder / "three.parquet"), {who: second.ids, **_numbers(second, columns)})
    assert pq.read_table(folder / "three.parquet").equals(pq.read_table(folder / "one.parquet"))


def _numbers(table, names):
    return dict(zip(names, table.numbers(list(names)).T, strict=True))


@pytest.mark.filterwarnings("ignore:.*a spreadsheet would take:UserWarning")
@settings(max_examples=50, deadline=None)
@given(table=odd_tables())
def test_what_is_written_as_csv_is_csv_to_others(table, tmp_path_factory):
    who, ids, columns = table
    path = tmp_path_factory.getbasetemp() / "others.csv"
    write_table(str(path), {who: ids, **columns})
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == [guarded(name) for name in (who, *columns)]
    assert [row[0] for row in rows] == [guarded(one) for one in ids]
    assert [[float(cell) for cell in row[1:]] for row in rows] == [
        list(row) for row in zip(*columns.values(), strict=True)
    ]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_blanks_are_written_as_blanks(suffix, tmp_path):
    path = str(tmp_path / f"people{suffix}")
    columns = {
        "who": np.array(["a", "b"]),
        "word": np.array(["x", None], dtype=object),
        "number": np.array([0.5, np.nan]),
        "count": np.array([1, 2]),
        "flag": np.array([True, False]),
        "list": [1, None],
    }
    write_table(path, columns)
    table = read_file(path).by("who")
    assert table.words("word", "--groups") == ["x", None]
    found = table.numbers(["number", "count", "flag", "list"], blanks=True)
    np.testing.assert_array_equal(found, [[0.5, 1, 1, 1], [np.nan, 2, 0, np.nan]])


def test_tables_to_standard_output_are_csv(monkeypatch):
    class Output:
        buffer = io.BytesIO()

    monkeypatch.setattr(sys, "stdout", Output)
    write_table(STREAM, {"who": ["a,b"], "y": np.array([1])})
    text = Output.buffer.getvalue().decode()
    assert list(csv.reader(io.StringIO(text))) == [["who", "y"], ["a,b", "1"]]


def test_a_path_in_capitals_says_what_to_write_too(tmp_path):
    write_table(str(tmp_path / "A.PARQUET"), {"a": [1]})
    assert pq.read_table(tmp_path / "A.PARQUET").to_pydict() == {"a": [1]}


# --- whole or not at all -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fsync", "replace"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_failing_write_leaves_all_as_it_was(name, suffix, monkeypatch, tmp_path):
    def fail(*args, **options):
        raise OSError(28, "No space left on device")

    path = tmp_path / f"people{suffix}"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, name, fail)
    if name == "replace":
        monkeypatch.setattr(Path, name, fail)
    with pytest.raises(InputError, match=f"{path} cannot be written: No space left on device"):
        write_table(str(path), {"a": [1, 2]})
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {path.name: b"before"}


def test_the_old_file_is_there_until_the_new_one_is_whole(monkeypatch, tmp_path):
    path, seen = tmp_path / "page.html", []
    path.write_bytes(b"old")
    replace = Path.replace

    def watched(self, target):
        seen.append((path.read_bytes(), self.read_bytes(), self.parent == path.parent))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    write_whole(str(path), b"new")
    assert seen == [(b"old", b"new", True)]
    assert path.read_bytes() == b"new"


def test_files_get_the_rights_that_files_get(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(str(tmp_path / "new"), b"x")
        (tmp_path / "old").write_bytes(b"y")
        (tmp_path / "old").chmod(0o604)
        write_whole(str(tmp_path / "old"), b"x")
    finally:
        mask = os.umask(before)
    assert mask == 0o027, "the mask was changed"
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new", "old")]
    assert modes == [0o640, 0o604]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_pipe_takes_what_is_written_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor() as helper:
        taken = helper.submit((tmp_path / "pipe").read_bytes)
        write_whole(str(tmp_path / "pipe"), b"new")
        assert taken.result(timeout=600) == b"new"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    write_whole("/dev/null", b"new")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_outputs_that_could_not_be_written_are_refused_before_any_work(tmp_path):
    check_output(STREAM, (".html",))
    check_output(str(tmp_path / "a.CSV"), (".csv", ".parquet"))
    check_output(str(tmp_path / "anything"))
    with pytest.raises(InputError, match=r"a.txt must end in \.csv or \.parquet"):
        check_output(str(tmp_path / "a.txt"), (".csv", ".parquet"))
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        check_output(str(tmp_path))
    with pytest.raises(InputError, match=f"there is no folder {tmp_path / 'no'}"):
        check_output(str(tmp_path / "no" / "a.csv"), (".csv",))
    assert not list(tmp_path.iterdir())


def test_a_folder_without_permission_is_told_before_any_work(monkeypatch, tmp_path):
    def refuse(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError, match=r"a\.csv cannot be written: Permission denied"):
        check_output(str(tmp_path / "a.csv"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        check_output(str(tmp_path / "a.csv"))
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        write_whole(str(tmp_path / "a.csv"), b"x")
