"""Read events: long tables of any library, files and folders, in batches of Arrow columns."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import narwhals.stable.v1 as nw

from averagefair.errors import InputError, extra, some_of
from averagefair.files.excel import split_sheet
from averagefair.files.mapped import reading_parquet
from averagefair.files.streaming import FileBlocks

# Events in a batch of Parquet. Larger batches took as long and more memory (measured).
BATCH = 2_000_000


@dataclass(frozen=True)
class Batch:
    """Some events.

    Attributes
    ----------
    source : str
        Where they come from, for messages.
    first : int
        The number of the first event in its source, from 0.
    columns : dict of str to pyarrow array
        The columns asked for.
    """

    source: str
    first: int
    columns: dict[str, Any]

    def refuse(self, event: int, column: str, why: str) -> NoReturn:
        """Refuse an event of this batch.

        Parameters
        ----------
        event : int
            Its number in the batch.
        column : str
        why : str
            The rule and the remedy, without the last full stop.
        """
        raise InputError(f"{self.source}: event {self.first + event + 1}, {column!r}: {why}.")


def sources_of(events: Any) -> list[tuple[str, Any]]:
    """Return the tables that hold the events, each with its name; no name for tables in memory.

    Parameters
    ----------
    events : DataFrame, Arrow stream, path, or list of paths
    """
    if isinstance(events, str | os.PathLike):
        return [found for path in _files(Path(events)) for found in [(str(path), path)]]
    if isinstance(events, list | tuple) and events and all(map(_is_path, events)):
        return [found for path in events for found in sources_of(path)]
    return [("", events)]


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    kinds = (".parquet", ".csv")
    files = [
        file for file in sorted(path.iterdir()) if file.suffix in kinds and file.name[0] not in "_."
    ]
    if not files:
        raise InputError(f"{path}: there is no *.parquet and no *.csv file in this folder.")
    return files


def batches(source: Any, name: str, columns: Sequence[str]) -> Iterator[Batch]:
    """Yield the events of one source in batches.

    Parameters
    ----------
    source : DataFrame, Arrow stream or path
    name : str
        Its name in messages.
    columns : sequence of str
        The columns to read.
    """
    columns = list(dict.fromkeys(columns))
    if isinstance(source, Path):
        yield from _of_file(source, columns)
        return
    pa = extra("pyarrow", "logs")
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
    else:
        try:
            table = nw.from_native(source, eager_only=True).to_arrow()
        except TypeError:
            raise InputError(
                "events must be a DataFrame of any library, an Arrow stream (a table, a reader, a "
                "DuckDB relation), the path of a CSV or Parquet file, or of a folder of them; got "
                f"{type(source).__name__}."
            ) from None
        reader = table.to_reader()
    _check_names(reader.schema.names, columns, name)
    first = 0
    for batch in reader:
        yield Batch(name, first, {column: batch.column(column) for column in columns})
        first += batch.num_rows


def _of_file(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    name = str(path)
    if not Path(split_sheet(name)[0]).exists():
        raise InputError(f"{name} does not exist.")
    if path.suffix != ".parquet":
        for part in FileBlocks(name):
            _check_names(list(part.columns), columns, name)
            yield Batch(name, part.first or 0, {column: part.columns[column] for column in columns})
        return
    first = 0
    with reading_parquet(path) as file:
        _check_names(file.schema_arrow.names, columns, name)
        for batch in file.iter_batches(BATCH, columns=list(columns)):
            yield Batch(name, first, {column: batch.column(column) for column in columns})
            first += batch.num_rows


def release_memory() -> None:
    """Give memory back that Arrow and the C library keep after reading: about half of it all."""
    extra("pyarrow", "logs").default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:  # only glibc has it
        trim(0)


def _check_names(there: Sequence[str], wanted: Sequence[str], source: str) -> None:
    missing = [column for column in wanted if column not in there]
    if missing:
        raise InputError(
            f"{source} has no column {some_of([*map(repr, missing)])}. Its columns: "
            f"{some_of([*map(repr, there)])}."
        )
    twice = [column for column in wanted if list(there).count(column) > 1]
    if twice:
        raise InputError(f"{source} has two columns named {twice[0]!r}. Rename one of them.")
