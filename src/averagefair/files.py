"""Tables in files: CSV and Parquet in and out, every complaint with file, column and row.

Nothing is guessed from the first rows: each CSV cell is read as written, then turned into what the
reader asks for. Nothing is half-written: a file appears whole or not at all.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import InputError, some_of
from averagefair.sampling import id_text
from averagefair.tables import is_missing

STREAM = "-"
BLANKS = ("", "na", "n/a", "nan", "null", "none")
TRUTH = {"true": "1", "false": "0"}
# pandas keeps a table's row names in a Parquet column of this name: no column of the data.
_INDEX = re.compile(r"__index_level_\d+__")
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True, eq=False, repr=False)
class FileTable:
    """A table as it stands in a file.

    Attributes
    ----------
    source : str
        What the file is called in messages.
    columns : mapping of str to pyarrow array
        Text where it came from CSV, else of the type it was stored with.
    ids : array of str, shape (n,), or None
        Who each row is, once :meth:`by` has said where that stands.
    id_column : str, or None
    """

    source: str
    columns: Mapping[str, Any]
    ids: NDArray[np.str_] | None = None
    id_column: str | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def by(self, column: str | None) -> FileTable:
        """Return the table with its rows known by an id column, one row for each person."""
        if column is None:
            return self
        values = self._values(column, "--id")
        for row, value in enumerate(values):
            if is_missing(value) or value == "":
                self.refuse(row, column, "the id is blank; every row must say who it is")
            if isinstance(value, list | dict | bytes):
                self.refuse(row, column, f"an id must be a word or a number; got {value!r}")
        cells = np.empty(len(values), dtype=object)
        cells[:] = values
        ids = id_text(cells)
        first: dict[str, int] = {}
        for row, one in enumerate(ids.tolist()):
            if first.setdefault(one, row) != row:
                self.refuse(
                    row,
                    column,
                    f"the id {one!r} stands in row {first[one] + 1} already; each person must have "
                    "one row",
                )
        return FileTable(self.source, self.columns, ids, column)

    def select(self, patterns: Sequence[str], option: str) -> list[str]:
        """Return the columns that match, in the order of the table.

        A pattern that is a column's very name means that column, whatever signs are in it.
        """
        chosen: set[str] = set()
        for pattern in patterns:
            if pattern in self.columns:
                chosen.add(pattern)
                continue
            found = [name for name in self.columns if fnmatchcase(name, pattern)]
            if not found:
                self._no_column(pattern, option)
            chosen.update(found)
        return [name for name in self.columns if name in chosen]

    def others(self, taken: Sequence[str]) -> list[str]:
        """Return the columns that are none of these, nor the ids, nor pandas' row names."""
        known = {*taken, self.id_column}
        return [name for name in self.columns if name not in known and not _INDEX.fullmatch(name)]

    def numbers(self, names: Sequence[str], *, blanks: bool = False) -> NDArray[np.float64]:
        """Return columns of numbers, shape (n, names); a blank is NaN, or refused."""
        out = np.empty((len(self), len(names)))
        for place, name in enumerate(names):
            out[:, place] = self._number_column(name)
        wrong = np.isinf(out) if blanks else ~np.isfinite(out)
        if wrong.any():
            row, place = (int(one) for one in np.argwhere(wrong)[0])
            self.refuse(
                row,
                names[place],
                f"holds {self.columns[names[place]][row].as_py()!r} where a finite number must "
                "stand. Fill such cells or leave the column or the row out",
            )
        return out

    def labels(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return columns of labels, shape (n, names): 0, 1, or NaN where blank."""
        return self._between(names, "a label must be 0, 1 or blank", ends_only=True)

    def decisions(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return columns of decisions, shape (n, names): within 0 and 1, or NaN where blank."""
        rule = "a decision must be 0, 1, or the chance of deciding 1"
        return self._between(names, rule, ends_only=False)

    def words(self, name: str, option: str) -> list[str | None]:
        """Return a column as words; None where blank."""
        values = self._values(name, option)
        text = [None if value is None else str(value).strip() for value in values]
        return [None if one is None or one.lower() in BLANKS else one for one in text]

    def refuse(self, row: int, column: str, what: str) -> NoReturn:
        """Complain of one cell; rows are counted from 1, the head apart."""
        who = ""
        if self.ids is not None and column != self.id_column:
            who = f" ({self.id_column} {self.ids[row]!s})"
        raise InputError(f"{self.source}: row {row + 1}{who}, column {column!r}: {what}.")

    def _between(self, names: Sequence[str], rule: str, *, ends_only: bool) -> NDArray[np.float64]:
        out = self.numbers(names, blanks=True)
        known = np.isnan(out) | (out == 0) | (out == 1)
        if not ends_only:
            known |= (out >= 0) & (out <= 1)
        if not known.all():
            row, place = (int(one) for one in np.argwhere(~known)[0])
            self.refuse(row, names[place], f"{rule}; got {out[row, place]:g}")
        return out

    def _values(self, name: str, option: str) -> list[Any]:
        if name not in self.columns:
            self._no_column(name, option)
        try:
            values: list[Any] = self.columns[name].to_pylist()
        except ValueError as error:
            raise InputError(f"{self.source}: column {name!r} is damaged: {error}.") from None
        return values

    def _no_column(self, name: str, option: str) -> NoReturn:
        near = get_close_matches(name, list(self.columns), 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(
            f"{self.source}: no column matches {option} {name!r}.{meant} There are: "
            f"{some_of([*map(repr, self.columns)])}."
        )

    def _number_column(self, name: str) -> NDArray[np.float64]:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self.columns[name]
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            text = pc.utf8_lower(pc.utf8_trim_whitespace(column))
            column = pc.if_else(pc.is_in(text, pa.array(BLANKS, text.type)), None, text)
        try:
            return np.asarray(pc.cast(column, pa.float64()).to_numpy(), dtype=np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return self._one_by_one(name)

    def _one_by_one(self, name: str) -> NDArray[np.float64]:
        """Read what is not all numbers: truth values, or a complaint about the first other."""
        values = self._values(name, "")
        out = np.empty(len(values))
        for row, value in enumerate(values):
            try:
                out[row] = _number(value)
            except (TypeError, ValueError):
                self.refuse(
                    row,
                    name,
                    f"holds {value!r} where a number must stand. If the column is no feature or "
                    "task, choose others (--features, --tasks, --ignore); if it says who the row "
                    f"is, pass --id {name}",
                )
        return out


def _number(value: Any) -> float:
    if isinstance(value, str):
        value = value.strip().lower()
        if "_" in value:
            raise ValueError  # which float() would read as 1_000
        value = math.nan if value in BLANKS else TRUTH.get(value, value)
    return math.nan if value is None else float(value)


def read_file(path: str) -> FileTable:
    """Read a CSV or Parquet file, or standard input ("-"); the content tells which it is."""
    source = "standard input" if path == STREAM else path
    try:
        data = sys.stdin.buffer.read() if path == STREAM else Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if not data.strip():
        raise InputError(f"{source} is empty; a table with a head and rows is needed.")
    columns = _parquet(data, source) if data[:4] == b"PAR1" else _csv(data, source)
    if not columns or not len(next(iter(columns.values()))):
        raise InputError(f"{source} has no rows.")
    return FileTable(source, columns)


def _parquet(data: bytes, source: str) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{source} is not a whole Parquet file: {error}") from None
    _check_head(table.column_names, source)
    return dict(zip(table.column_names, table.columns, strict=True))


def _csv(data: bytes, source: str) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    data = data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    head, delimiter = _head(data, source)
    options = {
        "parse_options": ParseOptions(
            delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(head) > 1
        ),
        "convert_options": ConvertOptions(column_types=dict.fromkeys(head, pa.string())),
    }
    try:
        table = read_csv(pa.BufferReader(data), **options)
    except pa.ArrowInvalid:
        # Once more, in one thread, which knows its rows, and with room for lines of any length.
        whole = ReadOptions(use_threads=False, block_size=min(max(len(data), 1), 2**31 - 1))
        try:
            table = read_csv(pa.BufferReader(data), read_options=whole, **options)
        except pa.ArrowInvalid as error:
            _complain(error, source)
    return dict(zip(table.column_names, table.columns, strict=True))


def _complain(error: Exception, source: str) -> NoReturn:
    found = _RAGGED.search(str(error))
    if found:
        row, expected, got = map(int, found.groups())
        remedy = "Quote cells that hold the separator" if got > expected else "Fill the row up"
        raise InputError(
            f"{source}: row {row - 1} has {got} cells where the head has {expected}. {remedy}."
        ) from None
    raise InputError(f"{source} cannot be read as CSV: {error}") from None


def _head(data: bytes, source: str) -> tuple[list[str], str]:
    """Return the names of the columns and what separates them."""
    if data[:4] == b"PK\x03\x04":
        raise InputError(
            f"{source} looks like a spreadsheet or an archive; save it as CSV or Parquet."
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{source}: line {line} is not UTF-8 text; save the table as CSV in UTF-8, or as "
            "Parquet."
        ) from None
    try:
        heads = {
            mark: next(csv.reader(io.StringIO(text, newline=""), delimiter=mark)) for mark in ",;\t"
        }
    except csv.Error as error:
        raise InputError(
            f"{source} cannot be read as CSV: its head has no end ({error}). Close its quotes."
        ) from None
    delimiter = max(heads, key=lambda mark: len(heads[mark]))
    _check_head(heads[delimiter], source)
    return heads[delimiter], delimiter


def _check_head(names: Sequence[str], source: str) -> None:
    seen: set[str] = set()
    for place, name in enumerate(names):
        if not name.strip():
            raise InputError(
                f"{source}: column {place + 1} has no name. Name it; if it says who the row is, "
                "pass that name as --id."
            )
        if name in seen:
            raise InputError(f"{source}: two columns are called {name!r}. Rename one of them.")
        seen.add(name)


def check_output(path: str, suffixes: Sequence[str] = ()) -> None:
    """Refuse, before any work, an output that could not be written."""
    if path == STREAM:
        return
    target = Path(path)
    if suffixes and target.suffix.lower() not in suffixes:
        raise InputError(f"{path} must end in {' or '.join(suffixes)}; that says what to write.")
    folder = target.parent
    if target.is_dir():
        raise InputError(f"{path} is a folder; name a file in it.")
    if not folder.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{path} cannot be written: no permission in {folder}.")


def write_whole(path: str, content: bytes) -> None:
    """Write a file, or standard output ("-"), so that it is there whole or not at all."""
    if path == STREAM:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    target = Path(path).resolve()  # of a link, what it leads to
    temporary = None
    try:
        if target.exists() and not target.is_file():  # a pipe or a device takes it as it comes
            target.write_bytes(content)
            return
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


TABLES = (".csv", ".parquet")


def write_table(path: str, columns: Mapping[str, Any]) -> None:
    """Write columns as CSV or Parquet, as the path ends; CSV to standard output."""
    import pyarrow as pa

    table = pa.table({name: _storable(values) for name, values in columns.items()})
    sink = io.BytesIO()
    if path != STREAM and Path(path).suffix.lower() == ".parquet":
        from pyarrow.parquet import write_table as write

        write(table, sink)
    else:
        from pyarrow.csv import write_csv

        write_csv(table, sink)
    write_whole(path, sink.getvalue())


def _storable(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype.kind in "OU":
        return [None if value is None else str(value) for value in values.tolist()]
    return values
