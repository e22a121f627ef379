"""Writing: a file is there whole or not at all."""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from averagefair.errors import InputError, extra, warn
from averagefair.files.formulas import guard_columns
from averagefair.files.reading import STREAM, check_path
from averagefair.names import in_a_line, in_a_terminal

TABLES = (".csv", ".parquet")
# What is to go to standard output is kept in memory up to so many bytes.
_IN_MEMORY = 1 << 24
# So many cells make a row group of Parquet: each one costs its readers, and the writer's memory.
_ROW_GROUP = 1 << 20


def check_output(
    path: str, suffixes: Sequence[str] = (), inputs: Sequence[str | None] = ()
) -> None:
    """Refuse, before any work, an output that could not be written or would destroy an input."""
    if path == STREAM:
        return
    check_path(path)
    target = Path(path)
    if suffixes and target.suffix.lower() not in suffixes:
        raise InputError(f"{path} must end in {' or '.join(suffixes)}; that says what to write.")
    try:
        if not path or target.is_dir():
            raise InputError(f"{path or 'an empty name'} is a folder; name a file in it.")
        if not target.parent.is_dir():
            raise InputError(f"{path} cannot be written: there is no folder {target.parent}.")
        given = [Path(one) for one in inputs if one is not None and one != STREAM]
        if target.exists() and any(one.exists() and target.samefile(one) for one in given):
            raise InputError(f"{path} is an input too, and would be lost; give another name.")
        if not target.exists() or target.is_file():
            trial = beside(resolved(path))
            os.close(os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            trial.unlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from None


def write_whole(path: str, content: bytes, *, private: bool = False) -> None:
    """Write a file, or standard output ("-"), so that it is there whole or not at all.

    Where standard output is a terminal, control characters are written out.

    Parameters
    ----------
    path : str
    content : bytes
    private : bool, default False
        Whether only the owner may read a new file.
    """
    with drafted(path, private=private) as file:
        file.write(content)


@contextmanager
def drafted(path: str, *, private: bool = False) -> Iterator[BinaryIO]:
    """Give a file to write to, piece by piece; it takes its place when the block ends well.

    Where anything goes wrong, what was there before stays as it was. Standard output ("-") and
    devices take each piece as it comes.
    """
    if path == STREAM:
        if sys.stdout is None:
            raise InputError("standard output is closed; give the name of a file to write.")
        if sys.stdout.buffer.isatty():
            whole = io.BytesIO()
            yield whole
            sys.stdout.buffer.write(in_a_terminal(whole.getvalue()))
        else:
            yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    check_path(path)
    draft = Draft(path, private=private)
    try:
        with _telling(path):
            yield draft.file
        draft.finish()
        draft.publish()
    finally:
        draft.discard()


class Draft:
    """A file in the making, beside the place that it is for.

    Written to, piece by piece or through ``file``, then finished, then published; or, at any time,
    discarded, which leaves all as it was. Several can be finished before the first is published:
    then a full disk is known while what was there before is still in its place.

    Parameters
    ----------
    path : str
        A link stands for what it leads to. A pipe or a device is written to as it is.
    private : bool, default False
        Whether only the owner may read a new file.
    """

    def __init__(self, path: str, *, private: bool = False) -> None:
        self.path, self._private = path, private
        self._temporary: Path | None = None
        with _telling(path):
            self._target = resolved(path)
            if self._target.exists() and not self._target.is_file():
                self.file: BinaryIO = self._target.open("wb")
                return
            trial = beside(self._target)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            handle = os.open(trial, flags, 0o600 if private else 0o666)
            self._temporary, self.file = trial, os.fdopen(handle, "wb")

    def write(self, content: bytes) -> None:
        """Write a piece."""
        with _telling(self.path):
            self.file.write(content)

    def finish(self) -> None:
        """Bring all that was written onto the disk."""
        with _telling(self.path):
            self.file.flush()
            if self._temporary is not None:
                os.fsync(self.file.fileno())
            self.file.close()
            if self._temporary is not None and self._target.exists():
                allowed = 0o700 if self._private else 0o777
                self._temporary.chmod(self._target.stat().st_mode & allowed)

    def publish(self) -> None:
        """Put the file in its place."""
        if self._temporary is not None:
            with _telling(self.path):
                self._temporary.replace(self._target)
            self._temporary = None
            sync_folder(self._target.parent)

    def discard(self) -> None:
        """Leave nothing behind; what has been published stays."""
        with suppress(OSError):  # as of a disk that is full: what matters has been told
            self.file.close()
        if self._temporary is not None:
            with suppress(OSError):
                self._temporary.unlink(missing_ok=True)


@contextmanager
def _telling(path: str) -> Iterator[None]:
    """Say of a file that it cannot be written, and why."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from None


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder onto the disk: else a power cut may undo a renaming.

    Not every system can do that, and where it fails the files themselves are safe.
    """
    if os.name != "posix":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def resolved(path: str) -> Path:
    """Return the path that a name, or a link, leads to."""
    try:
        return Path(path).resolve()
    except RuntimeError:  # so Python before 3.13 tells of links that lead in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def beside(target: Path) -> Path:
    """Return a name for a temporary file in the same folder."""
    return target.with_name(f".{secrets.token_hex(8)}.part")


def write_table(path: str, columns: Mapping[str, Any]) -> None:
    """Write columns as CSV or Parquet, as the path ends; CSV to standard output.

    In CSV, text that a spreadsheet would take for a formula gets an apostrophe in front, and a
    warning tells of it (``formulas.py`` says why and how). :func:`read_file` takes it away again.

    Parameters
    ----------
    path : str
    columns : mapping of str to array-like, shape (n,)
    """
    write_whole(path, table_content(path, columns))


def table_content(path: str, columns: Mapping[str, Any]) -> bytes:
    """Return what :func:`write_table` writes."""
    table, sink = _table(columns), io.BytesIO()
    if path != STREAM and Path(path).suffix.lower() == ".parquet":
        extra("pyarrow.parquet", "files").write_table(table, sink)
    else:
        safe, changed = _guarded(table)
        _tell_of_formulas(path, changed)
        extra("pyarrow.csv", "files").write_csv(safe, sink)
    return sink.getvalue()


@contextmanager
def writing_table(path: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Give a function that writes some rows more; the table takes its place when the block ends.

    As :func:`write_table`, for tables that are made some rows at a time. Standard output gets
    all of it at the end, or nothing: until then it is in a temporary file.
    """
    if path == STREAM:
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as kept, drafted(path) as out:
            with closing(_Rows(kept, parquet=False)) as rows:  # type: ignore[arg-type]
                yield rows.write
            kept.seek(0)
            shutil.copyfileobj(kept, out)
        _tell_of_formulas(path, rows.changed)
        return
    parquet = Path(path).suffix.lower() == ".parquet"
    with drafted(path) as file, closing(_Rows(file, parquet=parquet)) as rows:
        yield rows.write
    _tell_of_formulas(path, rows.changed)


class _Rows:
    """Rows written to a file as they come; the first decide what the columns are."""

    def __init__(self, file: BinaryIO, *, parquet: bool) -> None:
        self.file, self.parquet, self.schema = file, parquet, None
        self.changed = 0
        self._writer: Any = None
        self._waiting: list[Any] = []

    def write(self, columns: Mapping[str, Any]) -> None:
        table = _table(columns)
        first = self.schema is None
        self.schema = table.schema if first else self.schema
        table = table.cast(self.schema)
        if self.parquet:
            if first:
                writer = extra("pyarrow.parquet", "files").ParquetWriter
                self._writer = writer(self.file, self.schema)
            self._waiting.append(table)
            if sum(one.num_rows for one in self._waiting) * table.num_columns >= _ROW_GROUP:
                self._write_group()
        else:
            csv = extra("pyarrow.csv", "files")
            table, changed = _guarded(table)
            self.changed += changed
            csv.write_csv(table, self.file, csv.WriteOptions(include_header=first))

    def _write_group(self) -> None:
        table = extra("pyarrow", "files").concat_tables(self._waiting)
        self._waiting.clear()
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            try:
                if self._waiting:
                    self._write_group()
            finally:
                self._writer.close()


def _guarded(table: Any) -> tuple[Any, int]:
    """Return a table that no spreadsheet takes for formulas, and how many cells that changed."""
    safe, changed = guard_columns(dict(zip(table.column_names, table.columns, strict=True)))
    return extra("pyarrow", "files").table(safe), changed


def _tell_of_formulas(path: str, changed: int) -> None:
    if changed:
        where = "standard output" if path == STREAM else path
        warn(
            f"{where}: a spreadsheet would take {changed:,} of the names and words for formulas, "
            "since they begin with =, +, -, @ or a tab; they got an apostrophe in front. "
            "averagefair reads them without it, other programs do not and cannot join tables by "
            "them. Parquet keeps them as they are.",
            UserWarning,
        )


def _table(columns: Mapping[str, Any]) -> Any:
    try:
        return extra("pyarrow", "files").table(
            {name: _storable(values) for name, values in columns.items()}
        )
    except UnicodeEncodeError as error:
        raise InputError(
            f"a table is written in UTF-8, which has no letter for half of a surrogate pair; got "
            f"{error.object[error.start]!r} in {in_a_line(error.object)}. Rename it."
        ) from None


def _storable(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype.kind in "OU":
        return [None if value is None else str(value) for value in values.tolist()]
    return values
