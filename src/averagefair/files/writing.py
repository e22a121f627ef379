"""Writing: a file is there whole or not at all."""

from __future__ import annotations

import io
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from averagefair.errors import InputError, extra, warn
from averagefair.files.formulas import guard_columns
from averagefair.files.reading import STREAM, check_path
from averagefair.names import in_a_line, in_a_terminal

TABLES = (".csv", ".parquet")


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
            trial = beside(target.resolve())
            os.close(os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            trial.unlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None


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
    if path == STREAM:
        if sys.stdout is None:
            raise InputError("standard output is closed; give the name of a file to write.")
        sys.stdout.buffer.write(in_a_terminal(content) if sys.stdout.buffer.isatty() else content)
        sys.stdout.buffer.flush()
        return
    check_path(path)
    target = Path(path).resolve()  # of a link, what it leads to
    temporary = None
    try:
        if target.exists() and not target.is_file():  # a pipe or a device takes it as it comes
            target.write_bytes(content)
            return
        trial = beside(target)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(trial, flags, 0o600 if private else 0o666), "wb") as file:
            temporary = trial
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & (0o700 if private else 0o777))
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


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
    table = _as_table(columns)
    sink = io.BytesIO()
    if path != STREAM and Path(path).suffix.lower() == ".parquet":
        extra("pyarrow.parquet", "files").write_table(table, sink)
    else:
        safe, changed = guard_columns(dict(zip(table.column_names, table.columns, strict=True)))
        if changed:
            where = "standard output" if path == STREAM else path
            warn(
                f"{where}: a spreadsheet would take {changed:,} of the names and words for "
                "formulas, since they begin with =, +, -, @ or a tab; they got an apostrophe in "
                "front. averagefair reads them without it, other programs do not and cannot join "
                "tables by them. Parquet keeps them as they are.",
                UserWarning,
            )
        extra("pyarrow.csv", "files").write_csv(extra("pyarrow", "files").table(safe), sink)
    write_whole(path, sink.getvalue())


def _as_table(columns: Mapping[str, Any]) -> Any:
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
