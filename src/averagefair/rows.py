"""Rows: everybody's features and labels, read once, wherever they are kept.

A :class:`~averagefair.sample.Sample` knows people by name and weight and leaves their features and
labels to its rows: arrays of this machine or of a device here, parts with the workers of a cluster
in :mod:`averagefair.distributed`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from averagefair.blocks import row_blocks
from averagefair.errors import InputError, some_of, warn
from averagefair.parts import Part, Work, blocks_in, results
from averagefair.spaces import Space, is_foreign, is_mapped
from averagefair.tables import ROUNDED, Table, check_one_space, is_rounded, read_table

FloatArray = NDArray[np.float64]
SignArray = NDArray[np.int8]

PRECISIONS = ("float64", "float32", "tf32")


class Rows(Protocol):
    """What a sample needs of the place where features and labels are kept."""

    @property
    def features(self) -> Any:
        """Features, shape (n, d), where they are arrays."""

    @property
    def signs(self) -> Any:
        """Labels as signs, int8, shape (n, m), where they are arrays."""

    @property
    def d(self) -> int:
        """Number of features."""

    @property
    def precision(self) -> str:
        """What products are computed in."""

    @property
    def space(self) -> Space:
        """Where vectors over the people live."""

    @property
    def local(self) -> bool:
        """Whether features and labels are NumPy arrays of this machine."""

    @property
    def whereabouts(self) -> str:
        """Where features and labels are, in words."""

    def results(
        self, work: Work, by_person: Sequence[Any], settings: dict[str, Any]
    ) -> Iterator[Any]:
        """Do some work on all people; yield a result for each part of them, in order."""

    def read_labels(self, Y: Any) -> Table:
        """Read labels of these people on other tasks, as far as it takes to know their names."""

    def with_labels(self, cells: Any, task_names: Sequence[str]) -> Rows:
        """Return the same people with these labels."""

    def map_features(self, feature_map: Any) -> Rows:
        """Return the same people with what a fitted map makes of their features."""

    def without_labels(self) -> Rows:
        """Return the people alone, in arrays of their own."""

    def take_tasks(self, tasks: NDArray[np.intp]) -> Rows:
        """Return the same people with only the tasks of these positions."""

    def digests(self) -> list[str]:
        """Return a digest of each task's labels."""


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows in arrays, of NumPy or of another library.

    Attributes
    ----------
    everybody : Part
    """

    everybody: Part

    @classmethod
    def read(cls, people: Table, labels: Table, task_names: Sequence[str], dtype: str) -> ArrayRows:
        """Read features and labels; whatever is no number or no label is refused by its place."""
        check_one_space(people.cells, labels.cells, "X", "Y")
        (n, d), m = people.cells.shape, labels.cells.shape[1]
        needed = (8 if dtype == "float64" else 4) * n * d + n * m
        with Space.of(people.cells).guarded(f"{n:,} people, {m:,} tasks, {d:,} features", needed):
            return cls(read_only(read_part(people, labels.cells, task_names, dtype)))

    @property
    def features(self) -> Any:
        """Features, shape (n, d)."""
        return self.everybody.features

    @property
    def signs(self) -> Any:
        """Labels as signs, int8, shape (n, m)."""
        return self.everybody.signs

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    @property
    def precision(self) -> str:
        """What products are computed in."""
        return self.everybody.precision

    @property
    def space(self) -> Space:
        """Where the arrays live."""
        return self.everybody.space

    @property
    def local(self) -> bool:
        """Whether they are NumPy's."""
        return self.space.is_numpy

    @property
    def whereabouts(self) -> str:
        """Where the arrays live, in words."""
        return str(self.space)

    def results(
        self, work: Work, by_person: Sequence[Any], settings: dict[str, Any]
    ) -> Iterator[Any]:
        """Do some work on all people, in threads where they are many."""
        return results(work, self.everybody, by_person, settings)

    def read_labels(self, Y: Any) -> Table:
        """Read labels of the same library and device."""
        labels = read_table(Y, "Y", labels=True, in_place=True)
        check_one_space(self.features, labels.cells, "the training sample", "Y")
        return labels

    def with_labels(self, cells: Any, task_names: Sequence[str]) -> ArrayRows:
        """Return the same people with these labels."""
        signs = _signs(cells, task_names)
        return ArrayRows(read_only(Part(self.features, signs, self.precision)))

    def map_features(self, feature_map: Any) -> ArrayRows:
        """Return the same people with mapped features (a file stays a file)."""
        return ArrayRows(map_part(self.everybody, feature_map))

    def without_labels(self) -> ArrayRows:
        """Return the people alone, in an array of their own (a file stays a file)."""
        features, n = self.features, self.features.shape[0]
        kept = features if is_mapped(features) else self.space.copy(features)
        return ArrayRows(read_only(Part(kept, self.space.zeros((n, 0), "int8"), self.precision)))

    def take_tasks(self, tasks: NDArray[np.intp]) -> ArrayRows:
        """Return the same people with only the tasks of these positions (a file stays a file)."""
        if is_mapped(self.signs):
            shape = (len(self.everybody), len(tasks))
            blocks = (self.signs[rows][:, tasks] for rows in row_blocks(*self.signs.shape))
            signs = _in_a_file(blocks, shape, np.int8)
        else:
            signs = self.space.xp.take(self.signs, self.space.asarray(tasks), axis=1)
        return ArrayRows(read_only(Part(self.features, signs, self.precision)))

    def digests(self) -> list[str]:
        """Return a digest of each task's labels."""
        digests = [blake2b(digest_size=8) for _ in range(self.signs.shape[1])]
        # A block at a time: to go down each column of a file would read it once for each task.
        for rows in row_blocks(*self.signs.shape):
            block = self.space.to_host(self.signs[rows, :])
            for digest, column in zip(digests, block.T, strict=True):
                digest.update(column.tobytes())
        return [digest.hexdigest() for digest in digests]


def read_only(part: Part) -> Part:
    """Return the part with NumPy arrays that cannot be written through it."""
    return Part(_unwritable(part.features), _unwritable(part.signs), part.precision)


def _unwritable(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


def read_part(
    people: Table, labels: Any, task_names: Sequence[str], dtype: str, first_row: int = 0
) -> Part:
    """Read the features and labels of some people, the first of whom is in row ``first_row``."""
    check_precision(dtype, Space.of(people.cells))
    features = finite_features(people, dtype, first_row)
    return Part(features, _signs(labels, task_names, first_row), dtype)


def map_part(part: Part, feature_map: Any, first_row: int = 0) -> Part:
    """Return some people with mapped features; the first of them is in row ``first_row``."""
    kept = "float64" if part.precision == "float64" else "float32"
    n, d = part.features.shape
    cuts = list(row_blocks(n, max(d, feature_map.width)))
    blocks = (feature_map(part.features[rows, :], first_row + rows.start, kept) for rows in cuts)
    if is_mapped(part.features):
        features = _in_a_file(blocks, (n, feature_map.width), kept)
    else:
        features = np.empty((n, feature_map.width), dtype=kept)
        for rows, block in zip(cuts, blocks, strict=True):
            features[rows] = block
    return read_only(Part(features, part.signs, part.precision))


def check_precision(dtype: Any, space: Space) -> None:
    """Refuse a precision that there is not, or not there."""
    if dtype not in PRECISIONS:
        raise InputError(f"`dtype` must be one of {', '.join(PRECISIONS)}; got {dtype!r}.")
    if dtype == "tf32" and not (space.is_torch and space.is_gpu):
        raise InputError(
            "`dtype` 'tf32' is a precision of NVIDIA GPUs and needs X and Y as PyTorch tensors "
            f"there; X is {space}. Use 'float32'."
        )


def finite_features(table: Table, dtype: str = "float64", first_row: int = 0) -> Any:
    """Return a table's cells as numbers of this precision, all of them finite."""
    space, kept = Space.of(table.cells), "float64" if dtype == "float64" else "float32"
    _warn_of_rounding(table)
    with np.errstate(over="ignore", invalid="ignore"):
        cells = _contiguous(table.cells, space, kept)
        # One pass and no temporary: a sum is finite when every term is, overflow aside.
        suspicious = not np.isfinite(float(space.xp.sum(cells)))
    for rows in row_blocks(*cells.shape) if suspicious else ():
        if bool(space.xp.all(space.xp.isfinite(cells[rows, :]))):
            continue
        found = space.to_host(cells[rows, :])
        row, column = map(int, np.argwhere(~np.isfinite(found))[0])
        name = table.columns[column] if table.columns else column
        kind = "NaN" if np.isnan(found[row, column]) else f"infinity (inf) in {kept}"
        raise InputError(
            f"X must hold finite numbers; row {first_row + rows.start + row}, column {name!r} is "
            f"{kind}. Fill or drop such cells first, e.g. with sklearn.impute.SimpleImputer."
        )
    return cells


def _warn_of_rounding(table: Table) -> None:
    """Warn of features that are whole numbers, and too large for float64."""
    rounded, cells = list(table.rounded), table.cells
    if isinstance(cells, np.ndarray) and is_rounded(cells):
        wrong = [column for column, part in enumerate(cells.T) if is_rounded(part)]
        rounded += [table.columns[column] if table.columns else column for column in wrong]
    if rounded:
        what = "columns" if len(rounded) > 1 else "column"
        warn(
            f"X, {what} {some_of([repr(one) for one in rounded])}: {ROUNDED} If it says who a row "
            "is, leave it out of X and pass it as ids.",
            UserWarning,
        )


def _contiguous(cells: Any, space: Space, kept: str) -> Any:
    """Return cells as numbers of this kind, row after row; what is in a file stays in a file."""
    if is_mapped(cells) and (cells.dtype != kept or not cells.flags.c_contiguous):
        blocks = (cells[rows].astype(kept) for rows in row_blocks(*cells.shape))
        return _in_a_file(blocks, cells.shape, np.dtype(kept))
    return space.contiguous(space.asarray(cells, kept))


def _signs(cells: Any, task_names: Sequence[str], first_row: int = 0) -> Any:
    """Read labels a block at a time, so that one byte a cell is all it takes."""
    if is_foreign(cells):
        return _foreign_signs(cells, task_names)
    cuts = list(row_blocks(*cells.shape))
    blocks = (read_signs(cells[rows], task_names, first_row + rows.start) for rows in cuts)
    if is_mapped(cells):
        return _in_a_file(blocks, cells.shape, np.int8)
    out = np.empty(cells.shape, dtype=np.int8)
    for rows, block in zip(cuts, blocks, strict=True):
        out[rows] = block
    return out


def _in_a_file(blocks: Iterable[NDArray[Any]], shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Write blocks of rows to a file without a name, for what is in a file because it is much.

    The file is gone when the array is.
    """
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    try:
        with tempfile.TemporaryFile(prefix="averagefair-") as file:
            # Written, not stored through the map: on a full disk that would end the process.
            for block in blocks:
                file.write(np.ascontiguousarray(block).data)
            file.flush()
            return np.memmap(file, dtype=dtype, mode="r", shape=shape)
    except OSError as error:
        raise InputError(
            f"{size / 1e6:,.0f} MB could not be written to the folder for temporary files, "
            f"{tempfile.gettempdir()}: {error.strerror}. Make room there, or set TMPDIR to a "
            "folder that has it."
        ) from error


def _foreign_signs(cells: Any, task_names: Sequence[str]) -> Any:
    """Read labels where they are, a block at a time."""
    space = Space.of(cells)
    xp, out = space.xp, space.zeros(tuple(cells.shape), "int8")
    for rows in blocks_in(space, *cells.shape):
        block = cells[rows, :]
        if xp.isdtype(block.dtype, "bool"):
            block = xp.astype(block, xp.int8)
        ones, zeros = block == 1, block == 0
        blank = xp.isnan(block) if xp.isdtype(block.dtype, "real floating") else xp.zeros_like(ones)
        strange = xp.any(~(ones | zeros | blank), axis=1)
        if bool(xp.any(strange)):
            row = rows.start + int(xp.argmax(xp.astype(strange, xp.int8)))
            read_signs(space.to_host(cells[row : row + 1, :]), task_names, row)
        out[rows, :] = xp.astype(zeros, xp.int8) - xp.astype(ones, xp.int8)
    return out


def read_signs(cells: NDArray[Any], task_names: Sequence[str], first_row: int = 0) -> SignArray:
    """Read labels, shape (n, m): +1 where 0, -1 where 1, 0 where blank; others are refused."""
    ones, zeros = cells == 1, cells == 0
    signs: SignArray = zeros.view(np.int8) - ones.view(np.int8)
    if cells.dtype.kind == "f":
        zeros |= np.isnan(cells)
    known = np.logical_or(ones, zeros, out=zeros)
    if not known.all():
        row, column = map(int, np.argwhere(~known)[0])
        raise InputError(
            "labels must be 0, 1 or blank (NaN, None). Only binary classification is supported. "
            f"Unknown label type: row {first_row + row}, task {task_names[column]!r} holds "
            f"{cells[row, column].item()!r}. Encode each task as 0/1, one column for each task."
        )
    return signs
