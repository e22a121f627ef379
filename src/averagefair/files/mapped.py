"""Unpack Parquet files larger than memory into array files that a fit reads in place.

A Parquet file is packed column by column and cannot be used in place. So its cells are unpacked
once, in blocks of rows, into plain arrays on disk. A fit reads these as it needs them, and the
operating system caches as much of them as memory allows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from averagefair._util.text import digits
from averagefair.errors import InputError, extra, some_of
from averagefair.files.reading import check_head, check_path, check_regular
from averagefair.files.table import FileTable
from averagefair.files.writing import beside, check_output, sync_folder
from averagefair.people.blocks import row_blocks

NUMBERS = ("float64", "float32")
# Unpack this many cells at a time (16 MB of float64), but at least this many rows: in a wide table
# fewer rows would mean more calls for each column.
_CELLS, _ROWS = 2_000_000, 1024
# Bytes read ahead from each column; without a buffer, pyarrow reads a whole row group.
_BUFFER = 1 << 16
_BLANK = -1


@dataclass(frozen=True, eq=False)
class MappedPeople:
    """Features and labels in array files; pass ``X`` and ``Y`` to a fit as they are.

    Attributes
    ----------
    X : np.memmap, shape (n, d)
        Features, float64 or float32.
    Y : np.memmap, shape (n, m)
        Labels: int8 if none is blank, else float16 with NaN for blanks.
    ids : array of str, shape (n,), or None
        The id in each row, if an id column was given.
    feature_names, task_names : tuple of str
        The names of the columns of X and Y.
    """

    X: NDArray[Any]
    Y: NDArray[Any]
    ids: NDArray[np.str_] | None
    feature_names: tuple[str, ...]
    task_names: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"MappedPeople(n={len(self.X)}, m={self.Y.shape[1]}, d={self.X.shape[1]}, "
            f"X={self.X.dtype}, Y={self.Y.dtype})"
        )


Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Names = str | Sequence[str]


def map_parquet(
    path: Paths,
    *,
    tasks: Names,
    features: Names | None = None,
    id: str | None = None,
    folder: str | os.PathLike[str],
    dtype: str = "float64",
) -> MappedPeople:
    """Unpack a Parquet table larger than memory into files that a fit reads in place.

    Writes ``X.npy`` and ``Y.npy``, with ``id`` also ``ids.npy``, into the folder: all of them,
    or none if anything fails. Apart from the ids, memory does not grow with the number of people;
    it takes one or two megabytes for each column.

    Parameters
    ----------
    path : path or sequence of paths
        A Parquet file; a folder, whose ``*.parquet`` files are read in alphabetical order; or
        several files, read one after the other. All must have the same columns.
    tasks, features : name or pattern, or sequence of these
        Columns such as "loan" or "task_*", as on the command line. Features default to all
        remaining columns. Both keep the order of the table.
    id : str, optional
        The column with each person's id; one row for each person.
    folder : path
        An existing folder that holds none of these files yet. Choose one on a disk: a folder in
        memory (often /tmp) saves nothing.
    dtype : {"float64", "float32"}, default "float64"
        The precision of the features. Fit with the same ``dtype``, or the features are converted
        again.

    Returns
    -------
    MappedPeople
        With ``X``, ``Y``, ``ids``, ``feature_names`` and ``task_names``.

    Raises
    ------
    InputError
        A label is not 0, 1 or blank, a feature is not a finite number, or a column is missing;
        the message names file, row and column. A file exists already, or cannot be written.

    Notes
    -----
    Arrays have no column names, so a model fitted on them calls tasks "task0", "task1", ..., in
    the order of ``task_names``; ``dict(zip(model.task_names_, people.task_names))`` translates. A
    ``Sample`` takes the names: ``Sample(people.X, people.Y, task_names=people.task_names,
    individual_names=people.ids)``. Name new tasks by ``model.extend(Y, task_names=...)``.

    In a later session, open each file with ``np.load(file, mmap_mode="r")``.

    Examples
    --------
    >>> import tempfile
    >>> from averagefair.files.writing import write_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = {"age": [31.0, 52.0], "task_loan": [0, 1], "task_card": [True, None]}
    >>> write_table(f"{folder.name}/people.parquet", table)
    >>> people = map_parquet(f"{folder.name}/people.parquet", tasks="task_*", folder=folder.name)
    >>> people
    MappedPeople(n=2, m=2, d=1, X=float64, Y=float16)
    >>> people.task_names
    ('task_loan', 'task_card')
    >>> del people
    >>> folder.cleanup()
    """
    if dtype not in NUMBERS:
        raise InputError(f"`dtype` must be one of {', '.join(NUMBERS)}; got {dtype!r}.")
    folder = Path(folder)
    with _drafts(folder, ["X.npy", "Y.npy", *([] if id is None else ["ids.npy"])]) as drafts:
        files = _look_at(path)
        columns = _choose(files[0], tasks, features, id)
        ids = _unpack(files, columns, dtype, drafts)
    return MappedPeople(
        X=np.load(folder / "X.npy", mmap_mode="r"),
        Y=np.load(folder / "Y.npy", mmap_mode="r"),
        ids=ids,
        feature_names=tuple(columns.features),
        task_names=tuple(columns.tasks),
    )


@dataclass(frozen=True)
class _Columns:
    """The names of the features, the tasks and the id column."""

    features: list[str]
    tasks: list[str]
    id: str | None

    def every(self) -> list[str]:
        return [*self.features, *self.tasks, *([] if self.id is None else [self.id])]


@dataclass(frozen=True)
class _File:
    """A Parquet file's columns and rows, from its footer; its cells are read on demand."""

    source: str
    names: list[str]
    rows: int

    @classmethod
    def look_at(cls, path: Path) -> _File:
        check_path(str(path))
        with reading_parquet(path) as file:
            names = file.schema_arrow.names
            check_head(names, str(path), "id")
            return cls(str(path), names, file.metadata.num_rows)

    def parts(self, columns: Sequence[str]) -> Iterator[FileTable]:
        """Yield the rows in blocks."""
        step, first = max(_ROWS, _CELLS // len(columns)), 0
        table = extra("pyarrow", "files").Table
        with reading_parquet(self.source) as file:
            for batch in file.iter_batches(step, columns=columns, use_threads=False):
                # For "a", pyarrow also reads a column called "a.b".
                cells = table.from_batches([batch]).select(columns)
                named = dict(zip(columns, cells.columns, strict=True))
                yield FileTable(self.source, named, first=first, dashes="")
                first += batch.num_rows


@contextmanager
def reading_parquet(path: str | Path) -> Iterator[Any]:
    """Open a Parquet file, to be read in blocks of rows."""
    pa, pq = extra("pyarrow", "files"), extra("pyarrow.parquet", "files")
    check_regular(path)
    try:
        with (
            open(path, "rb") as file,
            pq.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False) as table,
        ):
            yield table
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a whole Parquet file: {error}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None


def _look_at(path: Paths) -> list[_File]:
    """Check all files before reading any: the same columns in each, and some rows."""
    given = [path] if isinstance(path, str | os.PathLike) else path
    files = [_File.look_at(source) for name in given for source in _sources(Path(name))]
    if not files:
        raise InputError("no Parquet file is given; name one, or a folder of them.")
    first = files[0]
    for other in files[1:]:
        ours, theirs = set(first.names), set(other.names)
        if ours != theirs:
            raise InputError(
                f"{other.source} must have the columns of {first.source}; missing: "
                f"{some_of([*map(repr, sorted(ours - theirs))]) or 'none'}; unknown: "
                f"{some_of([*map(repr, sorted(theirs - ours))]) or 'none'}."
            )
    if not any(file.rows for file in files):
        raise InputError(f"{' and '.join(file.source for file in files[:2])}: there are no rows.")
    return files


def _sources(path: Path) -> list[Path]:
    """Return the file, or a folder's files except those that begin with _ or a dot."""
    if not path.is_dir():
        return [path]
    files = [file for file in sorted(path.glob("*.parquet")) if file.name[0] not in "_."]
    if not files:
        raise InputError(f"{path}: there is no *.parquet file in this folder.")
    return files


def _choose(file: _File, tasks: Names, features: Names | None, id: str | None) -> _Columns:
    """Match names and patterns as the command line does."""
    table = FileTable(file.source, dict.fromkeys(file.names), dashes="", id_column=id)
    if id is not None:
        table.require([id], "id")
    chosen = table.select(_listed(tasks), "tasks")
    named = table.others(chosen)
    if features is not None:
        named = table.select(_listed(features), "features")
    twice = (set(named) & set(chosen)) | ({*named, *chosen} & {id})
    if twice:
        raise InputError(
            f"{file.source}: column {min(map(str, twice))!r} is chosen twice, as feature, task or "
            "id. Choose `features` and `tasks` so that it has one role."
        )
    for kind, names in (("feature", named), ("task", chosen)):
        if not names:
            raise InputError(f"{file.source}: no column is left to be a {kind}.")
    return _Columns(named, chosen, id)


def _listed(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _unpack(
    files: Sequence[_File], columns: _Columns, dtype: str, drafts: Mapping[str, Path]
) -> NDArray[np.str_] | None:
    """Write all cells to the drafts; return the ids, if there is an id column."""
    n, blank, ids = sum(file.rows for file in files), False, [np.empty(0, dtype=np.str_)]
    with (
        _array_file(drafts["X.npy"], dtype, (n, len(columns.features))) as X,
        _array_file(drafts["Y.npy"], "int8", (n, len(columns.tasks))) as Y,
    ):
        for part in (part for file in files for part in file.parts(columns.every())):
            if columns.id is not None:
                ids.append(part.ids_in(columns.id))
                part = replace(part, ids=ids[-1], id_column=columns.id)
            labels = part.labels(columns.tasks)
            empty = np.isnan(labels)
            blank |= bool(empty.any())
            Y.write(np.where(empty, _BLANK, labels).astype(np.int8).data)
            X.write(_features(part, columns.features, dtype).data)
    if blank:
        _mark_blanks(drafts["Y.npy"])
    if columns.id is None:
        return None
    people = np.concatenate(ids)
    _refuse_twins(people, files, columns.id)
    with _array_file(drafts["ids.npy"], people.dtype.str, people.shape) as file:
        file.write(people.tobytes())
    return people


def _features(part: FileTable, names: Sequence[str], dtype: str) -> NDArray[Any]:
    """Return finite numbers of this precision, shape (rows, names)."""
    numbers = part.numbers(names)
    with np.errstate(over="ignore"):
        kept = numbers.astype(dtype, copy=False)
    wrong = np.argwhere(np.isinf(kept))
    if len(wrong):
        row, column = map(int, wrong[0])
        part.refuse(row, names[column], f"{digits(numbers[row, column])} is too large for {dtype}")
    return kept


def _mark_blanks(path: Path) -> None:
    """Rewrite the labels as float16, with NaN for blanks."""
    wide = beside(path)
    try:
        labels = np.load(path, mmap_mode="r")
        with _array_file(wide, "float16", labels.shape) as file:
            for rows in row_blocks(*labels.shape):
                block = labels[rows].astype(np.float16)
                block[labels[rows] == _BLANK] = np.nan
                file.write(block.data)
        del labels  # some systems cannot replace a file that is still mapped
        wide.replace(path)
    finally:
        wide.unlink(missing_ok=True)


def _refuse_twins(ids: NDArray[np.str_], files: Sequence[_File], column: str) -> None:
    """Refuse an id in two rows; name both rows."""
    order = np.argsort(ids, kind="stable")
    again = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
    if not again.size:
        return
    pair = again[order[again + 1].argmin()]
    earlier, later = (_row_in_file(files, int(row)) for row in order[pair : pair + 2])
    there = "" if earlier[0] == later[0] else f" of {earlier[0]}"
    raise InputError(
        f"{later[0]}: row {later[1] + 1}, column {column!r}: the id {str(ids[order[pair]])!r} "
        f"is already in row {earlier[1] + 1}{there}; each person must have one row."
    )


def _row_in_file(files: Sequence[_File], row: int) -> tuple[str, int]:
    """Return the file that holds a row, and the row's number in it; rows count over all files."""
    for file in files:
        if row < file.rows:
            return file.source, row
        row -= file.rows
    raise IndexError(row)


@contextmanager
def _array_file(path: Path, dtype: str, shape: tuple[int, ...]) -> Iterator[BinaryIO]:
    """Open a new array file, to which rows are written one after the other.

    Rows are not stored through a memory map: on a full disk that would end the process.
    """
    head = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    with open(path, "xb") as file:
        np.lib.format.write_array_header_1_0(file, head)
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _drafts(folder: Path, names: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Yield temporary files; rename them all to these names at the end, or remove them all."""
    targets = [folder / name for name in names]
    for target in targets:
        _refuse_existing(target)
        check_output(str(target))
    drafts, published = {target.name: beside(target) for target in targets}, []
    try:
        yield drafts
        for target in targets:
            _refuse_existing(target)  # another process may have created it since
            drafts[target.name].rename(target)
            published.append(target)
        sync_folder(folder)
    except OSError as error:
        raise InputError(
            f"{' and '.join(names)} cannot be written to {folder}: {error.strerror or error}. "
            "Nothing is left there."
        ) from None
    finally:
        for path in [*drafts.values(), *(published if len(published) < len(targets) else [])]:
            path.unlink(missing_ok=True)


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise InputError(
            f"{target} is there already. Remove it, give another folder, or open it with "
            "np.load(..., mmap_mode='r')."
        )
