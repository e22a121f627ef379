"""Write files so that each one appears whole or not at all."""

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

from averagefair._util.names import in_a_line, in_a_terminal
from averagefair.errors import InputError, extra, warn
from averagefair.files.excel import split_sheet
from averagefair.files.formulas import guard_columns
from averagefair.files.reading import STREAM, check_path

TABLES = (".csv", ".parquet")
# Output for standard output is buffered in memory up to this many bytes, then on disk.
_IN_MEMORY = 1 << 24
# Cells in a row group of Parquet: small groups slow down readers, large ones take memory to write.
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
        raise InputError(
            f"{path} must end in {' or '.join(suffixes)}: the ending decides the format."
        )
    try:
        if not path or target.is_dir():
            raise InputError(f"{path or 'an empty name'} is a folder; name a file in it.")
        if not target.parent.is_dir():
            raise InputError(f"{path} cannot be written: there is no folder {target.parent}.")
        named = [name for name in inputs if name is not None and name != STREAM]
        read = [Path(split_sheet(name)[0]) for name in named]
        if target.exists() and any(file.exists() and target.samefile(file) for file in read):
            raise InputError(f"{path} is also an input and would be lost. Give another name.")
        if not target.exists() or target.is_file():
            trial = beside(resolved(path))
            os.close(os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            trial.unlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from None


def write_whole(path: str, content: bytes, *, private: bool = False) -> None:
    """Write a file, or standard output ("-"); a file appears whole or not at all.

    If standard output is a terminal, control characters are written as escapes.

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
    """Yield a file to write to; it replaces the target when the block succeeds.

    On an error the old target stays as it was. Standard output ("-") and devices are written to
    directly.
    """
    if path == STREAM:
        if sys.stdout is None:
            raise InputError("standard output is closed. Name a file to write.")
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
        with _naming(path):
            yield draft.file
        draft.finish()
        draft.publish()
    finally:
        draft.discard()


class Draft:
    """A temporary file beside its target.

    Write to it by :meth:`write` or through ``file``, then finish it, then publish it. Discarding it
    before that leaves the target as it was. Several drafts can be finished before the first is
    published: then a full disk is detected before any old file is replaced.

    Parameters
    ----------
    path : str
        The target; links are followed. A pipe or a device is written to directly.
    private : bool, default False
        Whether only the owner may read a new file.
    """

    def __init__(self, path: str, *, private: bool = False) -> None:
        self.path, self._private = path, private
        self._temporary: Path | None = None
        with _naming(path):
            self._target = resolved(path)
            if self._target.exists() and not self._target.is_file():
                self.file: BinaryIO = self._target.open("wb")
                return
            trial = beside(self._target)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            handle = os.open(trial, flags, 0o600 if private else 0o666)
            self._temporary, self.file = trial, os.fdopen(handle, "wb")

    def write(self, content: bytes) -> None:
        """Write some bytes."""
        with _naming(self.path):
            self.file.write(content)

    def finish(self) -> None:
        """Flush everything to the disk."""
        with _naming(self.path):
            self.file.flush()
            if self._temporary is not None:
                os.fsync(self.file.fileno())
            self.file.close()
            if self._temporary is not None and self._target.exists():
                allowed = 0o700 if self._private else 0o777
                self._temporary.chmod(self._target.stat().st_mode & allowed)

    def publish(self) -> None:
        """Replace the target by the draft."""
        if self._temporary is not None:
            with _naming(self.path):
                self._temporary.replace(self._target)
            self._temporary = None
            sync_folder(self._target.parent)

    def discard(self) -> None:
        """Remove the temporary file; a published file stays."""
        with suppress(OSError):  # e.g. a full disk, which was reported before
            self.file.close()
        if self._temporary is not None:
            with suppress(OSError):
                self._temporary.unlink(missing_ok=True)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Turn an OSError into an InputError that names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from None


def sync_folder(folder: Path) -> None:
    """Flush a folder's file names to the disk; otherwise a power cut may undo a rename.

    Not every system supports this. If it fails, the files themselves are safe.
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
    """Return the absolute path, with links followed."""
    try:
        return Path(path).resolve()
    except RuntimeError:  # Python before 3.13 raises this for links that form a loop
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def beside(target: Path) -> Path:
    """Return a name for a temporary file in the same folder."""
    return target.with_name(f".{secrets.token_hex(8)}.part")


def write_table(path: str, columns: Mapping[str, Any]) -> None:
    """Write columns as CSV or Parquet, by the path's ending; CSV to standard output.

    In CSV, text that a spreadsheet would run as a formula gets an apostrophe in front, and a
    warning says so (``formulas.py`` explains why). :func:`read_file` removes the apostrophe.

    Parameters
    ----------
    path : str
    columns : mapping of str to array-like, shape (n,)
    """
    write_whole(path, table_content(path, columns))


def table_content(path: str, columns: Mapping[str, Any]) -> bytes:
    """Return the bytes that :func:`write_table` writes."""
    table, sink = _table(columns), io.BytesIO()
    if path != STREAM and Path(path).suffix.lower() == ".parquet":
        extra("pyarrow.parquet", "files").write_table(table, sink)
    else:
        safe, changed = _guarded(table)
        _warn_of_formulas(path, changed)
        extra("pyarrow.csv", "files").write_csv(safe, sink)
    return sink.getvalue()


@contextmanager
def writing_table(path: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yield a function that writes more rows; the table appears when the block succeeds.

    This is :func:`write_table` for tables that are made in blocks of rows. Standard output gets the
    whole table at the end, or nothing if the block fails.
    """
    if path == STREAM:
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as kept, drafted(path) as out:
            with closing(_Rows(kept, parquet=False)) as rows:  # type: ignore[arg-type]
                yield rows.write
            kept.seek(0)
            shutil.copyfileobj(kept, out)
        _warn_of_formulas(path, rows.changed)
        return
    parquet = Path(path).suffix.lower() == ".parquet"
    with drafted(path) as file, closing(_Rows(file, parquet=parquet)) as rows:
        yield rows.write
    _warn_of_formulas(path, rows.changed)


class _Rows:
    """A table written in blocks of rows; the first block decides the columns' types."""

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
            if sum(block.num_rows for block in self._waiting) * table.num_columns >= _ROW_GROUP:
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
    """Return the table with guards against formulas, and the number of changed cells."""
    safe, changed = guard_columns(dict(zip(table.column_names, table.columns, strict=True)))
    return extra("pyarrow", "files").table(safe), changed


def _warn_of_formulas(path: str, changed: int) -> None:
    if changed:
        where = "standard output" if path == STREAM else path
        warn(
            f"{where}: a spreadsheet would take {changed:,} of the names and words for formulas, "
            "since they begin with =, +, -, @ or a tab; they got an apostrophe in front. "
            "averagefair removes the apostrophe when it reads them; other programs keep it, and "
            "cannot join tables by these names. Write Parquet to keep names unchanged.",
            UserWarning,
        )


def _table(columns: Mapping[str, Any]) -> Any:
    try:
        return extra("pyarrow", "files").table(
            {name: _storable(values) for name, values in columns.items()}
        )
    except UnicodeEncodeError as error:
        raise InputError(
            "a table is written in UTF-8, which cannot hold half of a surrogate pair; got "
            f"{error.object[error.start]!r} in {in_a_line(error.object)}. Rename it."
        ) from None


def _storable(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype.kind in "OU":
        return [None if value is None else str(value) for value in values.tolist()]
    return values
