"""Read a table from a file or from standard input."""

from __future__ import annotations

import csv
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from averagefair._util.text import counted
from averagefair.errors import InputError, extra
from averagefair.files.excel import ENDING, OLE, ZIP, read_sheet, split_sheet
from averagefair.files.formulas import unguard, unguard_column
from averagefair.files.table import FileTable

STREAM, BOM = "-", b"\xef\xbb\xbf"
# Read in one thread: pyarrow's other threads may abort a process that ends soon after reading, and
# their errors do not give the row.
BLOCK = 1 << 22
MARKS = ",;\t"
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
# Some spreadsheets write this line before the head to name the separator.
_SEPARATOR = re.compile(rb"\"?sep=([,;\t])\"?\r?\n", re.IGNORECASE)


def check_path(path: str) -> None:
    """Refuse a file name with control characters: it could fake other lines in a message."""
    if _CONTROL.search(path):
        raise InputError(f"the file name {path!r} holds control characters; rename the file.")


def check_regular(path: str | Path, *, pipes: bool = False) -> None:
    """Refuse a path that exists but is not a file: a folder, a device, a pipe that would block.

    Parameters
    ----------
    path : str or Path
    pipes : bool, default False
        Whether to accept an unnamed pipe, such as a shell makes for ``<(command)``.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # opening the file reports the error
    kinds = {
        stat.S_ISDIR: "a folder (directory)",
        stat.S_ISFIFO: "a named pipe",
        stat.S_ISSOCK: "a socket",
        stat.S_ISCHR: "a device",
        stat.S_ISBLK: "a device",
    }
    kind = next((name for test, name in kinds.items() if test(mode)), None)
    # The link to an unnamed pipe leads nowhere.
    unnamed = stat.S_ISFIFO(mode) and not os.path.exists(os.path.realpath(path))
    if kind is None or (pipes and unnamed):
        return
    remedy = "Name a file in it." if stat.S_ISDIR(mode) else "Copy its data into a file."
    raise InputError(f"{path} cannot be read: it is {kind}, not a file. {remedy}")


def read_file(path: str) -> FileTable:
    """Read a CSV, Parquet or Excel file, or standard input ("-"); the content decides which.

    Parameters
    ----------
    path : str
        "people.xlsx#North" is the sheet "North" of a workbook.
    """
    source = "standard input" if path == STREAM else path
    if not path:
        raise InputError("the name of a file to read is empty. Name a CSV, Parquet or Excel file.")
    check_path(path)
    file, sheet = split_sheet(path)
    if path != STREAM:
        check_regular(file, pipes=True)
    if path == STREAM and sys.stdin is None:
        raise InputError("standard input is closed. Name a file.")
    try:
        data = sys.stdin.buffer.read() if path == STREAM else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}.") from None
    if not data.removeprefix(BOM).strip():
        raise InputError(f"{source} is empty. Give a table with a head and rows.")
    if data[8:9] == b"{" and b"averagefair model" in data[:65536]:
        raise InputError(
            f"{source} is a model of averagefair, not a table. Give a CSV, Parquet or Excel file."
        )
    columns = _excel(data, source, sheet) if data[:4] == ZIP else _other(data, source, file)
    if not columns or not len(next(iter(columns.values()))):
        raise InputError(f"{source} has no rows.")
    return FileTable(source, columns, sha256(data).hexdigest())


def _other(data: bytes, source: str, file: str) -> dict[str, Any]:
    """Read a table that is not an Excel workbook."""
    if data[:8] == OLE:
        raise InputError(
            f"{source} is an old Excel file (.xls), or one with a password. Save it as an Excel "
            f"workbook ({ENDING}) without a password."
        )
    if file.lower().endswith((ENDING, ".xlsm")):
        raise InputError(
            f"{source} is not an Excel workbook, whatever its name says. Save it again as a "
            "workbook. If it is a CSV or Parquet table, rename it."
        )
    return _parquet(data, source) if data[:4] == b"PAR1" else _csv(data, source)


def _excel(data: bytes, source: str, sheet: str | None) -> dict[str, Any]:
    pa = extra("pyarrow", "files")
    names, columns = read_sheet(data, source, sheet)
    table = _without_empty_columns(pa.Table.from_arrays(columns, names=names))
    check_head(table.column_names, source)
    return dict(zip(table.column_names, table.columns, strict=True))


def _parquet(data: bytes, source: str) -> dict[str, Any]:
    pa, pq = extra("pyarrow", "files"), extra("pyarrow.parquet", "files")
    try:
        check_head(pq.read_schema(pa.BufferReader(data)).names, source)
        table = pq.read_table(pa.BufferReader(data), use_threads=False, pre_buffer=False)
    except InputError:
        raise
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{source} is not a whole Parquet file: {error}") from None
    return dict(zip(table.column_names, table.columns, strict=True))


def _csv(data: bytes, source: str) -> dict[str, Any]:
    pa, reader = extra("pyarrow", "files"), extra("pyarrow.csv", "files")
    head, delimiter, offset = begin_csv(data, source)
    data, options = data[offset:], csv_options(head, delimiter)
    # Read in blocks; if that fails, try once more with room for lines of any length.
    for size in (BLOCK, min(max(BLOCK, len(data)), 2**31 - 1)):
        how = reader.ReadOptions(use_threads=False, block_size=size)
        try:
            table = reader.read_csv(pa.BufferReader(data), read_options=how, **options)
            break
        except pa.ArrowInvalid as error:
            failure = error
    else:
        complain(failure, source)
    return csv_columns(table, source)


def csv_columns(table: Any, source: str) -> dict[str, Any]:
    """Return the columns that pyarrow read, by name, without the guards against formulas."""
    table = _without_empty_columns(table)
    names = [unguard(name) for name in table.column_names]
    check_head(names, source)
    return dict(zip(names, map(unguard_column, table.columns), strict=True))


def begin_csv(data: bytes, source: str) -> tuple[list[str], str, int]:
    """Return the column names, the separator, and the offset of the head."""
    text = data.removeprefix(BOM).lstrip(b"\r\n")
    line = _SEPARATOR.match(text)
    if line:
        text = text[line.end() :]
    head, delimiter = _head(text, source, line and line.group(1).decode())
    return head, delimiter, len(data) - len(text)


def csv_options(head: Sequence[str], delimiter: str) -> dict[str, Any]:
    """Return pyarrow's options: every cell is read as text."""
    pa, reader = extra("pyarrow", "files"), extra("pyarrow.csv", "files")
    return {
        "parse_options": reader.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(head) > 1
        ),
        "convert_options": reader.ConvertOptions(column_types=dict.fromkeys(head, pa.string())),
    }


def _without_empty_columns(table: Any) -> Any:
    """Drop empty columns without a name; spreadsheets leave them at the right."""
    pc = extra("pyarrow.compute", "files")
    kept = [
        column
        for column, name in enumerate(table.column_names)
        if name.strip()
        or pc.any(pc.not_equal(pc.utf8_trim_whitespace(table.column(column)), "")).as_py()
    ]
    return table if len(kept) == table.num_columns else table.select(kept)


def complain(error: Exception, source: str) -> NoReturn:
    """Report why pyarrow could not read a CSV file."""
    ragged = _RAGGED.search(str(error))
    if ragged:
        row, expected, got = map(int, ragged.groups())
        more = got > expected
        remedy = "Quote cells that hold the separator" if more else "Add the missing cells"
        raise InputError(
            f"{source}: row {row - 1} has {counted(got, 'cell')} where the head has {expected}. "
            f"{remedy}."
        ) from None
    raise InputError(f"{source} cannot be read as CSV: {error}") from None


def _head(data: bytes, source: str, separator: str | None) -> tuple[list[str], str]:
    """Return the column names and the separator; guess it if the file names none."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(not_letters(source, line)) from None
    with _cells_of_any_length():
        first = {mark: _first_rows(text, mark, source) for mark in separator or MARKS}
        # Drop a mark if splitting by it leaves a quote that does not end at the end of a cell.
        fitting = {mark: rows for mark, rows in first.items() if _fits(text, mark)} or first
    # Take the mark that splits the head into the most cells, and the next row into the same number.
    even = [mark for mark, (head, row) in fitting.items() if not row or len(row) == len(head)]
    delimiter = max(even or fitting, key=lambda mark: len(fitting[mark][0]))
    head = fitting[delimiter][0]
    if len(head) == 1 and any(len(rows[0]) > 1 for rows in first.values()):
        raise InputError(
            f"{source} cannot be read as CSV: a quote in its first two rows has no end. Close it, "
            "or write a quote within a cell twice."
        )
    return head, delimiter


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """Lift the csv module's cell limit: if a mark is absent, the whole head is one long cell."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _first_rows(text: str, delimiter: str, source: str) -> tuple[list[str], list[str]]:
    try:
        rows = csv.reader(_lines(text), delimiter=delimiter)
        return next(rows), next(rows, [])
    except csv.Error as error:
        raise InputError(
            f"{source} cannot be read as CSV: its head has no end ({error}). Close its quotes."
        ) from None


def _fits(text: str, delimiter: str) -> bool:
    """Return whether quotes in the first two rows end where a cell ends."""
    rows = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    try:
        for _ in range(2):
            next(rows, None)
    except csv.Error:
        return False
    return True


def not_letters(source: str, line: int) -> str:
    """Return the message that a line is not text."""
    return (
        f"{source}: line {line} is not UTF-8 text. Save the table as CSV in UTF-8 (in Excel: "
        '"CSV UTF-8"), as an Excel workbook, or as Parquet.'
    )


def _lines(text: str) -> Iterator[str]:
    """Yield lines one by one, without splitting the rest of the text."""
    return (line.group() for line in _LINE.finditer(text))


def check_head(names: Sequence[str], source: str, option: str = "--id") -> None:
    """Refuse columns without a name, and two columns of the same name."""
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        if not name.strip():
            raise InputError(
                f"{source}: column {number} has no name. Name the column. If it identifies people, "
                f"also pass its name as {option}."
            )
        if name in seen:
            raise InputError(f"{source}: two columns are called {name!r}. Rename one of them.")
        seen.add(name)
