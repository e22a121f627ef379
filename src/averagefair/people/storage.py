"""Rows: everybody's features and labels, read once, in memory, in a file or on a device.

A :class:`~averagefair.people.sample.Sample` holds people's names and weights. Its rows hold their
features and labels: arrays on this machine or on its device, or parts on the workers of a cluster
(:mod:`averagefair.people.dask`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import InputError, some_of, warn
from averagefair.people.backends import Space, is_mapped
from averagefair.people.blocks import row_blocks, write_temporary_file
from averagefair.people.frames import ROUNDED, Table, check_one_space, is_rounded, read_table
from averagefair.people.labels import signs_of
from averagefair.people.parts import Part, PartFunction, apply_to_pieces

PRECISIONS = ("float64", "float32", "tf32")


class Rows(Protocol):
    """What a sample needs from the storage of its features and labels."""

    @property
    def features(self) -> Any:
        """Features, shape (n, d); an error if they are not on this machine."""

    @property
    def signs(self) -> Any:
        """Labels as signs, int8, shape (n, m); an error if they are not on this machine."""

    @property
    def d(self) -> int:
        """Number of features."""

    @property
    def precision(self) -> str:
        """Precision of matrix products."""

    @property
    def space(self) -> Space:
        """Array library and device of vectors over the people."""

    @property
    def local(self) -> bool:
        """Whether features and labels are NumPy arrays on this machine."""

    @property
    def location(self) -> str:
        """Where features and labels are, in words."""

    def apply(
        self, function: PartFunction, by_person: Sequence[Any], settings: dict[str, Any]
    ) -> Iterator[Any]:
        """Apply a function to all people; yield the result of each part, in order."""

    def read_labels(self, Y: Any) -> Table:
        """Read these people's labels on other tasks; a cluster may read the cells later."""

    def with_labels(self, cells: Any, task_names: Sequence[str]) -> Rows:
        """Return the same people with these labels."""

    def map_features(self, feature_map: Any) -> Rows:
        """Return the same people with mapped features."""

    def without_labels(self) -> Rows:
        """Return the people without labels, in arrays of their own."""

    def take_tasks(self, tasks: NDArray[np.intp]) -> Rows:
        """Return the same people with the tasks at these positions."""

    def digests(self) -> list[str]:
        """Return a digest of each task's labels."""


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows in arrays of NumPy or another library.

    Attributes
    ----------
    everybody : Part
    """

    everybody: Part

    @classmethod
    def read(cls, people: Table, labels: Table, task_names: Sequence[str], dtype: str) -> ArrayRows:
        """Read features and labels; errors name the row and column of a bad cell."""
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
        """Precision of matrix products."""
        return self.everybody.precision

    @property
    def space(self) -> Space:
        """Array library and device of the arrays."""
        return self.everybody.space

    @property
    def local(self) -> bool:
        """Whether features and labels are NumPy arrays."""
        return self.space.is_numpy

    @property
    def location(self) -> str:
        """Array library and device of the arrays, in words."""
        return str(self.space)

    def apply(
        self, function: PartFunction, by_person: Sequence[Any], settings: dict[str, Any]
    ) -> Iterator[Any]:
        """Apply a function to all people, in threads if there are many people."""
        return apply_to_pieces(function, self.everybody, by_person, settings)

    def read_labels(self, Y: Any) -> Table:
        """Read labels, which must be of the same library and device."""
        labels = read_table(Y, "Y", labels=True, in_place=True)
        check_one_space(self.features, labels.cells, "the training sample", "Y")
        return labels

    def with_labels(self, cells: Any, task_names: Sequence[str]) -> ArrayRows:
        """Return the same people with these labels."""
        signs = signs_of(cells, task_names)
        return ArrayRows(read_only(Part(self.features, signs, self.precision)))

    def map_features(self, feature_map: Any) -> ArrayRows:
        """Return the same people with mapped features; data in a file stay in a file."""
        return ArrayRows(map_part(self.everybody, feature_map))

    def without_labels(self) -> ArrayRows:
        """Return the people without labels, in a copy; data in a file stay in the file."""
        features, n = self.features, self.features.shape[0]
        kept = features if is_mapped(features) else self.space.copy(features)
        return ArrayRows(read_only(Part(kept, self.space.zeros((n, 0), "int8"), self.precision)))

    def take_tasks(self, tasks: NDArray[np.intp]) -> ArrayRows:
        """Return the same people with the tasks at these positions; labels in a file stay there."""
        if is_mapped(self.signs):
            shape = (len(self.everybody), len(tasks))
            blocks = (self.signs[rows][:, tasks] for rows in row_blocks(*self.signs.shape))
            signs = write_temporary_file(blocks, shape, np.int8)
        else:
            signs = self.space.xp.take(self.signs, self.space.asarray(tasks), axis=1)
        return ArrayRows(read_only(Part(self.features, signs, self.precision)))

    def take_people(self, people: NDArray[np.intp]) -> ArrayRows:
        """Return some of the people, in NumPy arrays."""
        own = self.space.asarray(people)
        take = self.space.xp.take
        features = self.space.to_host(take(self.features, own, axis=0))
        signs = self.space.to_host(take(self.signs, own, axis=0))
        precision = "float64" if features.dtype == np.float64 else "float32"
        return ArrayRows(read_only(Part(features, signs, precision)))

    def digests(self) -> list[str]:
        """Return a digest of each task's labels."""
        digests = [blake2b(digest_size=8) for _ in range(self.signs.shape[1])]
        # Read by blocks of rows: reading by column would read a file once for each task.
        for rows in row_blocks(*self.signs.shape):
            block = self.space.to_host(self.signs[rows, :])
            for digest, column in zip(digests, block.T, strict=True):
                digest.update(column.tobytes())
        return [digest.hexdigest() for digest in digests]


def read_only(part: Part) -> Part:
    """Return the part with read-only views of its NumPy arrays."""
    return Part(_read_only_view(part.features), _read_only_view(part.signs), part.precision)


def _read_only_view(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


def read_part(
    people: Table, labels: Any, task_names: Sequence[str], dtype: str, first_row: int = 0
) -> Part:
    """Read features and labels; messages count rows from ``first_row``."""
    check_precision(dtype, Space.of(people.cells))
    features = finite_features(people, dtype, first_row)
    return Part(features, signs_of(labels, task_names, first_row), dtype)


def map_part(part: Part, feature_map: Any, first_row: int = 0) -> Part:
    """Return the part with mapped features; messages count rows from ``first_row``."""
    dtype = "float64" if part.precision == "float64" else "float32"
    n, d = part.features.shape
    cuts = list(row_blocks(n, max(d, feature_map.width)))
    blocks = (feature_map(part.features[rows, :], first_row + rows.start, dtype) for rows in cuts)
    if is_mapped(part.features):
        features = write_temporary_file(blocks, (n, feature_map.width), dtype)
    else:
        features = np.empty((n, feature_map.width), dtype=dtype)
        for rows, block in zip(cuts, blocks, strict=True):
            features[rows] = block
    return read_only(Part(features, part.signs, part.precision))


def check_precision(dtype: Any, space: Space) -> None:
    """Refuse an unknown precision, and tf32 anywhere but on a GPU."""
    if dtype not in PRECISIONS:
        raise InputError(f"`dtype` must be one of {', '.join(PRECISIONS)}; got {dtype!r}.")
    if dtype == "tf32" and not (space.is_torch and space.is_gpu):
        raise InputError(
            "`dtype` 'tf32' needs X and Y as PyTorch tensors on an NVIDIA GPU; "
            f"X is {space}. Use 'float32'."
        )


def finite_features(table: Table, dtype: str = "float64", first_row: int = 0) -> Any:
    """Return a table's cells as finite numbers of this precision."""
    space, stored = Space.of(table.cells), "float64" if dtype == "float64" else "float32"
    _warn_of_rounding(table)
    with np.errstate(over="ignore", invalid="ignore"):
        cells = _contiguous(table.cells, space, stored)
        # A finite sum means finite terms. The sum takes one pass and no temporary array.
        suspicious = not np.isfinite(float(space.xp.sum(cells)))
    for rows in row_blocks(*cells.shape) if suspicious else ():
        if bool(space.xp.all(space.xp.isfinite(cells[rows, :]))):
            continue
        block = space.to_host(cells[rows, :])
        row, column = map(int, np.argwhere(~np.isfinite(block))[0])
        name = table.columns[column] if table.columns else column
        kind = "NaN" if np.isnan(block[row, column]) else f"infinity (inf) in {stored}"
        raise InputError(
            f"X must hold finite numbers; row {first_row + rows.start + row}, column {name!r} is "
            f"{kind}. Fill or drop such cells first; encode=True fills blanks with the median."
        )
    return cells


def _warn_of_rounding(table: Table) -> None:
    """Warn about whole numbers that are too large for float64."""
    rounded, cells = list(table.rounded), table.cells
    if isinstance(cells, np.ndarray) and is_rounded(cells):
        columns = [column for column, values in enumerate(cells.T) if is_rounded(values)]
        rounded += [table.columns[column] if table.columns else column for column in columns]
    if rounded:
        what = "columns" if len(rounded) > 1 else "column"
        warn(
            f"X, {what} {some_of([repr(name) for name in rounded])}: {ROUNDED} If such a column "
            "identifies people, leave it out of X and pass it as ids.",
            UserWarning,
        )


def _contiguous(cells: Any, space: Space, dtype: str) -> Any:
    """Return cells of this type in row-major order; data in a file stay in a file."""
    if is_mapped(cells) and (cells.dtype != dtype or not cells.flags.c_contiguous):
        blocks = (cells[rows].astype(dtype) for rows in row_blocks(*cells.shape))
        return write_temporary_file(blocks, cells.shape, np.dtype(dtype))
    return space.contiguous(space.asarray(cells, dtype))
