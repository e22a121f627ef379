"""Reading a table from a file or from standard input."""

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

from averagefair.errors import InputError, extra
from averagefair.files.formulas import unguard, unguard_column
from averagefair.files.table import FileTable
from averagefair.text import counted

STREAM, BOM = "-", b"\xef\xbb\xbf"
# Files are read in one thread: a process that ends soon after reading may be aborted by pyarrow's
# other threads. One thread also knows the rows it complains of.
BLOCK = 1 << 22
MARKS = ",;\t"
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
# What spreadsheets put before the head to say what separates cells.
_SEPARATOR = re.compile(rb"\"?sep=([,;\t])\"?\r?\n", re.IGNORECASE)


def check_path(path: str) -> None:
    """Refuse a file name with control characters: it could pass for lines of our own."""
    if _CONTROL.search(path):
        raise InputError(f"the file name {path!r} holds control characters; rename the file.")


def check_regular(path: str | Path, *, pipes: bool = False) -> None:
    """Refuse what is there but is no file: a folder, a device, a pipe that would block.

    Parameters
    ----------
    path : str or Path
    pipes : bool, default False
        Whether a pipe without a name is well, such as a shell makes for ``<(command)``.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # the reader says why it cannot be opened
    kinds = {
        stat.S_ISDIR: "a folder (directory)",
        stat.S_ISFIFO: "a named pipe",
        stat.S_ISSOCK: "a socket",
        stat.S_ISCHR: "a device",
        stat.S_ISBLK: "a device",
    }
    kind = next((name for test, name in kinds.items() if test(mode)), None)
    # Where a pipe has no name, the link to it leads nowhere.
    nameless = stat.S_ISFIFO(mode) and not os.path.exists(os.path.realpath(path))
    if kind is None or (pipes and nameless):
        return
    remedy = "Name a file in it." if stat.S_ISDIR(mode) else "Copy what it gives into a file."
    raise InputError(f"{path} cannot be read: it is {kind}, not a file. {remedy}")


def read_file(path: str) -> FileTable:
    """Read a CSV or Parquet file, or standard input ("-"); the content tells which it is."""
    source = "standard input" if path == STREAM else path
    if not path:
        raise InputError("the name of a file to read is empty.")
    check_path(path)
    if path != STREAM:
        check_regular(path, pipes=True)
    if path == STREAM and sys.stdin is None:
        raise InputError("standard input is closed; give the name of a file.")
    try:
        data = sys.stdin.buffer.read() if path == STREAM else Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    if not data.removeprefix(BOM).strip():
        raise InputError(f"{source} is empty; a table with a head and rows is needed.")
    if data[8:9] == b"{" and b"averagefair model" in data[:65536]:
        raise InputError(
            f"{source} is a model of averagefair, not a table; give a CSV or Parquet file."
        )
    columns = _parquet(data, source) if data[:4] == b"PAR1" else _csv(data, source)
    if not columns or not len(next(iter(columns.values()))):
        raise InputError(f"{source} has no rows.")
    return FileTable(source, columns, sha256(data).hexdigest())


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
    # In blocks; if that fails, once more with room for lines of any length.
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
    """Return the columns of what pyarrow read, by their names, as they were before writing."""
    table = _without_empty_columns(table)
    names = [unguard(name) for name in table.column_names]
    check_head(names, source)
    return dict(zip(names, map(unguard_column, table.columns), strict=True))


def begin_csv(data: bytes, source: str) -> tuple[list[str], str, int]:
    """Return the names of the columns, what separates them, and where the head begins."""
    text = data.removeprefix(BOM).lstrip(b"\r\n")
    said = _SEPARATOR.match(text)
    if said:
        text = text[said.end() :]
    head, delimiter = _head(text, source, said and said.group(1).decode())
    return head, delimiter, len(data) - len(text)


def csv_options(head: Sequence[str], delimiter: str) -> dict[str, Any]:
    """Return how pyarrow is to read: every cell as it is written."""
    pa, reader = extra("pyarrow", "files"), extra("pyarrow.csv", "files")
    return {
        "parse_options": reader.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(head) > 1
        ),
        "convert_options": reader.ConvertOptions(column_types=dict.fromkeys(head, pa.string())),
    }


def _without_empty_columns(table: Any) -> Any:
    """Drop nameless columns with nothing in them, as spreadsheets leave at the right."""
    pc = extra("pyarrow.compute", "files")
    kept = [
        place
        for place, name in enumerate(table.column_names)
        if name.strip()
        or pc.any(pc.not_equal(pc.utf8_trim_whitespace(table.column(place)), "")).as_py()
    ]
    return table if len(kept) == table.num_columns else table.select(kept)


def complain(error: Exception, source: str) -> NoReturn:
    """Say why pyarrow could not read a CSV."""
    found = _RAGGED.search(str(error))
    if found:
        row, expected, got = map(int, found.groups())
        remedy = "Quote cells that hold the separator" if got > expected else "Fill the row up"
        raise InputError(
            f"{source}: row {row - 1} has {counted(got, 'cell')} where the head has {expected}. "
            f"{remedy}."
        ) from None
    raise InputError(f"{source} cannot be read as CSV: {error}") from None


def _head(data: bytes, source: str, said: str | None) -> tuple[list[str], str]:
    """Return the names of the columns and what separates them."""
    if data[:4] == b"PK\x03\x04":
        raise InputError(
            f"{source} looks like a spreadsheet or an archive; save it as CSV (in Excel: "
            '"CSV UTF-8") or Parquet.'
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(not_letters(source, line)) from None
    with _cells_of_any_length():
        first = {mark: _first_rows(text, mark, source) for mark in said or MARKS}
        # Where a mark stands within quotes, and others around them, it separates nothing.
        fitting = {mark: rows for mark, rows in first.items() if _fits(text, mark)} or first
    # What separates the head into most cells, and the row below it into as many.
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
    """Lift the limit of Python's csv: by a mark that is not there, a wide head is one cell."""
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
    """Tell whether quotes in the first two rows end where a cell ends."""
    rows = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    try:
        for _ in range(2):
            next(rows, None)
    except csv.Error:
        return False
    return True


def not_letters(source: str, line: int) -> str:
    """Say that a line is no text."""
    return (
        f"{source}: line {line} is not UTF-8 text; save the table as CSV in UTF-8 (in Excel: "
        '"CSV UTF-8"), or as Parquet.'
    )


def _lines(text: str) -> Iterator[str]:
    """Yield line after line; nothing is read beyond what is asked for."""
    return (found.group() for found in _LINE.finditer(text))


def check_head(names: Sequence[str], source: str, option: str = "--id") -> None:
    """Refuse columns without a name, and two of the same name."""
    seen: set[str] = set()
    for place, name in enumerate(names):
        if not name.strip():
            raise InputError(
                f"{source}: column {place + 1} has no name. Name it; if it says who the row is, "
                f"pass that name as {option}."
            )
        if name in seen:
            raise InputError(f"{source}: two columns are called {name!r}. Rename one of them.")
        seen.add(name)
