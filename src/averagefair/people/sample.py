"""The sample: individuals, tasks and labels, checked once and never changed.

Section "Model and Preliminaries" of the paper: a training set is n individuals, each with d
features and with labels on m tasks. Here a label may also be unobserved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.text import counted
from averagefair.errors import InputError, some_of
from averagefair.people.backends import Space
from averagefair.people.blocks import row_blocks
from averagefair.people.dask import cluster_rows, is_dask, read_dask
from averagefair.people.draws import check_ids
from averagefair.people.frames import (
    Table,
    check_same_rows,
    is_missing,
    names_or_default,
    read_table,
    read_vector,
)
from averagefair.people.parts import Part, PartFunction
from averagefair.people.storage import ArrayRows, Rows, finite_features

if TYPE_CHECKING:
    from averagefair.people.encoder import TableEncoder
    from averagefair.people.feature_map import FittedMap

__all__ = ["Sample", "check_columns", "read_features"]


# Weights are divided by each other and multiplied by prices. Within this ratio, results are finite.
_LARGEST_RATIO = 1e100


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Sample:
    """n individuals, m tasks and their labels: the data that both players of the game read.

    Parameters
    ----------
    X : array-like or DataFrame of any library, shape (n, d)
        Features; finite numbers. An array of the right precision is not copied; the sample keeps
        a read-only view. Arrays of PyTorch, CuPy and array-api-strict stay on their device, a
        ``np.memmap`` stays in its file, and the rows of a Dask array or DataFrame stay on the
        workers of its cluster.
    Y : array-like or DataFrame of any library, shape (n, m) or (n,)
        Labels 0 and 1; NaN, None or any other missing value where unobserved.
    individual_weights : array-like of shape (n,), optional
        How many people each row stands for. A row of weight 2 counts like two such rows, a row of
        weight 0 like no row. Default: 1 each.
    task_weights : array-like of shape (m,), optional
        How often a person meets each task, up to a common factor. Default: all alike.
    individual_names, task_names : sequence, optional
        Distinct names, for reports. Default for individuals: the index of a pandas table (which may
        repeat a name), else numbers. Default for tasks: the columns of Y, else task0, task1, ...
    dtype : {"float64", "float32", "tf32"}, default "float64"
        Precision of features and of matrix products. "tf32" stores float32 and rounds the factors
        of products on a GPU's tensor cores; it keeps at least as many bits as TF32.

    Attributes
    ----------
    rows : Rows
        Features and labels, in memory, in a file, on a device or on a cluster.
    individual_weights : float64 array, shape (n,)
    task_weights : float64 array, shape (m,)
        Normalised to sum to 1 (in the paper each is 1/m).
    individual_names : array, shape (n,)
    task_names : tuple of str
    feature_names : tuple of str, or None if X has no column names
        The columns of X.
    feature_map : FittedMap, or None
        The map that made the features from the columns of X.
    indexed : bool
        Whether the individuals' names are a table's index. If a later table has an index, both must
        be the same.
    named_tasks : bool
        Whether the caller gave the tasks' names, as columns or as ``task_names``.
    encoder : TableEncoder, or None
        What made the columns of X of a table with words, dates and blanks.

    Examples
    --------
    >>> sample = Sample([[0.1], [0.7]], [[0, 1], [1, None]])
    >>> sample.signs
    array([[ 1, -1], [-1,  0]], dtype=int8)
    """

    rows: Rows
    individual_weights: FloatArray
    task_weights: FloatArray
    individual_names: NDArray[Any]
    task_names: tuple[str, ...]
    feature_names: tuple[str, ...] | None
    indexed: bool
    named_tasks: bool
    feature_map: FittedMap | None = None
    encoder: TableEncoder | None = None

    def __init__(
        self,
        X: Any,
        Y: Any,
        *,
        individual_weights: ArrayLike | None = None,
        task_weights: ArrayLike | None = None,
        individual_names: Sequence[Any] | NDArray[Any] | None = None,
        task_names: Sequence[Any] | NDArray[Any] | None = None,
        dtype: str = "float64",
    ) -> None:
        on_cluster = is_dask(X) or is_dask(Y)
        people = read_dask(X, "X") if on_cluster else read_table(X, "X", in_place=True)
        labels = read_dask(Y, "Y") if on_cluster else read_table(Y, "Y", labels=True, in_place=True)
        _check_rows(people, labels)
        n = labels.cells.shape[0]
        index = labels.row_names if people.row_names is None else people.row_names
        tasks = _read_tasks(labels, task_weights, task_names)
        read = cluster_rows if on_cluster else ArrayRows.read
        self._set(
            individual_weights=_read_individual_weights(individual_weights, n, index),
            individual_names=_individual_names(individual_names, index, n),
            feature_names=people.columns,
            indexed=individual_names is None and index is not None,
            rows=read(people, labels, tasks["task_names"], dtype),
            feature_map=None,
            encoder=None,
            **tasks,
        )

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        """Number of individuals."""
        return len(self.individual_weights)

    @property
    def m(self) -> int:
        """Number of tasks."""
        return len(self.task_names)

    @property
    def d(self) -> int:
        """Number of features."""
        return self.rows.d

    @property
    def named_people(self) -> bool:
        """Whether the individuals' names are a table's index without repeated names."""
        if not self.indexed:
            return False
        names = self.individual_names.tolist()
        return len(set(names)) == len(names) and not any(map(is_missing, names))

    @property
    def feature_count(self) -> int:
        """Number of columns of X: d, unless a feature map changed the number."""
        return self.d if self.feature_map is None else self.feature_map.feature_count

    @property
    def features(self) -> Any:
        """Features that oracles learn from: the columns of X, or the output of the feature map.

        A float64 or float32 array of shape (n, d).
        """
        return self.rows.features

    @property
    def signs(self) -> Any:
        """Labels as signs: +1 where the label is 0, -1 where it is 1, 0 where it is unobserved.

        An int8 array of shape (n, m).
        """
        return self.rows.signs

    @property
    def space(self) -> Space:
        """Array library and device of vectors over the people."""
        return self.rows.space

    @cached_property
    def counts(self) -> Any:
        """The individual weights in the sample's space, shape (n,)."""
        return self.space.asarray(self.individual_weights)

    @cached_property
    def blanks(self) -> int:
        """The number of cells without a label."""
        return int(self.total(_count_blanks))

    @cached_property
    def complete_tasks(self) -> NDArray[np.bool_]:
        """Whether each task has every label observed, shape (m,)."""
        return np.asarray(np.all(self.collect(_observed_everywhere), axis=0))

    def collect(self, work: PartFunction, *by_person: Any, **settings: Any) -> list[Any]:
        """Apply a function to all people, part by part; return the results in order.

        Parameters
        ----------
        work : callable
            Takes a ``averagefair.people.parts.Part``, vectors over its people, and the settings.
            It must be a module's function, so that other machines can import it.
        *by_person : arrays of shape (n, ...), or None
            In the sample's space.
        **settings
            Passed to every call; NumPy arrays or plain objects.
        """
        return list(self.rows.apply(work, by_person, settings))

    def total(self, work: PartFunction, *by_person: Any, **settings: Any) -> Any:
        """Apply a function as :meth:`collect` does, and add up the results in order.

        Parameters
        ----------
        work, *by_person, **settings
            As for :meth:`collect`.
        """
        return sum(self.rows.apply(work, by_person, settings))

    def fingerprint(self) -> str | None:
        """Return a hash that identifies these data: features, labels, weights and names.

        None unless features and labels are NumPy arrays on this machine.

        Examples
        --------
        >>> one, other = Sample([[0.1], [0.7]], [0, 1]), Sample([[0.1], [0.8]], [0, 1])
        >>> one.fingerprint() == other.fingerprint()
        False
        """
        if not self.rows.local:
            return None
        digest = blake2b(digest_size=16)
        header = [self.n, self.d, self.m, self.feature_names, self.task_names]
        digest.update(f"{header} {self.features.dtype.str}".encode(errors="backslashreplace"))
        for weights in (self.individual_weights, self.task_weights):
            digest.update(np.ascontiguousarray(weights).tobytes())
        for array in (self.features, self.signs):
            for rows in row_blocks(*array.shape):
                digest.update(np.ascontiguousarray(array[rows, :]).data)
        return digest.hexdigest()

    def with_labels(
        self,
        Y: Any,
        *,
        task_weights: ArrayLike | None = None,
        task_names: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Sample:
        """Return the same individuals with the labels of other tasks.

        Tasks without names get names made from a hash of their labels, so that nobody confuses them
        with the training tasks.

        Parameters
        ----------
        Y : array-like or DataFrame, shape (n, k) or (n,)
            Labels 0 and 1, in the order of the individuals; blank where unobserved.
        task_weights : array-like of shape (k,), optional
            How often a person meets each task, up to a common factor. Default: all alike.
        task_names : sequence, optional
            Default: the columns of Y.
        """
        labels = self.rows.read_labels(Y)
        if labels.cells.shape[0] != self.n:
            raise InputError(
                f"Y must have one row for each of the {self.n} training individuals; got "
                f"{counted(labels.cells.shape[0], 'row')}. Pass the rows in the order of the "
                "training sample, blank where a label is unknown."
            )
        if self.indexed:
            check_same_rows(self.individual_names, labels.row_names, "the training sample", "Y")
        tasks = _read_tasks(labels, task_weights, task_names)
        rows = self.rows.with_labels(labels.cells, tasks["task_names"])
        if not tasks["named_tasks"]:
            tasks["task_names"] = _distinct([f"task-{digest}" for digest in rows.digests()])
        return self._replace(rows=rows, **tasks)

    def without_labels(self) -> Sample:
        """Return the individuals without labels, in arrays of their own, for a model to keep."""
        return self._replace(
            rows=self.rows.without_labels(), task_weights=np.empty(0), task_names=()
        )

    def encoded_by(self, encoder: TableEncoder | None) -> Sample:
        """Return the same sample, which knows what encoded the columns of its X.

        Parameters
        ----------
        encoder : TableEncoder, or None
        """
        return self._replace(encoder=encoder)

    def map_features(self, feature_map: FittedMap) -> Sample:
        """Return the same sample with mapped features.

        Parameters
        ----------
        feature_map : FittedMap
        """
        if self.feature_map is not None:
            raise InputError("a feature map was applied to this sample before; map X itself.")
        return self._replace(rows=self.rows.map_features(feature_map), feature_map=feature_map)

    def with_task_weights(self, task_weights: FloatArray) -> Sample:
        """Return the same sample with other task weights.

        Parameters
        ----------
        task_weights : array, shape (m,)
            Summing to 1.
        """
        return self._replace(task_weights=task_weights)

    def check_tasks(self, names: Sequence[str], named: bool, what: str) -> None:
        """Refuse a sample whose tasks differ from these; compare names if both sides have names.

        Parameters
        ----------
        names : sequence of str
            The tasks' names, in order.
        named : bool
            Whether a caller gave these names.
        what : str
            The name of the labels in the message.
        """
        differ = named and self.named_tasks and self.task_names != tuple(names)
        if self.m != len(names) or differ:
            raise InputError(
                f"{what} must have the {counted(len(names), 'task')} that the model learned, in "
                f"their order; got {self.m}: {some_of(self.task_names)}."
            )

    def take_tasks(self, tasks: NDArray[np.intp]) -> Sample:
        """Return the same individuals with only some of the tasks.

        Parameters
        ----------
        tasks : integer array, shape (k,)
            Positions among the tasks.
        """
        weights = self.task_weights[tasks]
        if not weights.any():
            raise InputError("select at least one task of positive weight; all have weight 0.")
        return self._replace(
            rows=self.rows.take_tasks(tasks),
            task_weights=weights / weights.sum(),
            task_names=tuple(self.task_names[task] for task in tasks),
        )

    def take_people(self, people: NDArray[np.intp]) -> Sample:
        """Return some of the individuals, in NumPy arrays, each once and of weight 1.

        Not for people on a cluster.

        Parameters
        ----------
        people : integer array, shape (k,)
            Positions among the individuals.
        """
        if not isinstance(self.rows, ArrayRows):
            raise InputError(f"people cannot be taken out of {self.rows.location}.")
        return self._replace(
            rows=self.rows.take_people(people),
            individual_weights=np.ones(len(people)),
            individual_names=self.individual_names[people],
        )

    def _replace(self, **changes: Any) -> Sample:
        fields = {name: getattr(self, name) for name in Sample.__dataclass_fields__}
        return Sample._of(**(fields | changes))

    @classmethod
    def _of(cls, **fields: Any) -> Sample:
        """Return a sample made from checked fields."""
        other = object.__new__(cls)
        other._set(**fields)
        return other

    def __repr__(self) -> str:
        blank = self.blanks
        return f"Sample(n={self.n}, m={self.m}, d={self.d}, unobserved={blank})"


def _check_rows(people: Table, labels: Table) -> None:
    if people.cells.shape[0] != labels.cells.shape[0]:
        raise InputError(
            "X and Y must have one row for each individual; got "
            f"{counted(people.cells.shape[0], 'row')} of X and "
            f"{counted(labels.cells.shape[0], 'row')} of Y (inconsistent numbers of samples)."
        )
    if people.cells.shape[0] == 0:
        raise InputError("X and Y must have at least one row; got 0 rows.")
    if people.cells.shape[1] == 0:
        raise InputError(
            "X must have at least one column; got 0 feature(s) "
            f"(shape=({people.cells.shape[0]}, 0)) while a minimum of 1 is required."
        )
    check_same_rows(people.row_names, labels.row_names, "X", "Y")


def read_features(X: Any, names: Sequence[str] | None, count: int) -> Any:
    """Read the features of other people; the columns must be those of the training table.

    Parameters
    ----------
    X : array-like or DataFrame, shape (k, count)
    names : sequence of str, or None if the training table had no column names
    count : int
    """
    table = read_table(X, "X", in_place=True)
    check_columns(table, names, count)
    return finite_features(table)


def check_columns(table: Table, names: Sequence[str] | None, count: int) -> None:
    """Refuse a table whose columns are not those of the training table, in order."""
    if table.cells.shape[1] != count:
        raise InputError(
            f"X has {counted(table.cells.shape[1], 'feature')}, but the model learned from "
            f"{count:,}. Pass the columns it was fitted with."
        )
    if table.columns is not None and names is not None and list(table.columns) != list(names):
        unknown = [name for name in table.columns if name not in set(names)]
        missing = [name for name in names if name not in set(table.columns)]
        difference = (
            f"unknown: {some_of(unknown)}; missing: {some_of(missing)}"
            if unknown
            else "the order differs"
        )
        raise InputError(
            "X must have the columns of the training table, in the same order; "
            f"{difference}. Select them first: X[{list(names[:3])}...]."
        )


def _read_tasks(
    labels: Table,
    task_weights: ArrayLike | None,
    task_names: Sequence[Any] | NDArray[Any] | None,
) -> dict[str, Any]:
    m = labels.cells.shape[1]
    if m == 0:
        raise InputError("Y must have at least one column, a task; got 0 columns.")
    names = names_or_default(
        labels.columns if task_names is None else task_names, m, "task", "task_names"
    )
    columns = None if labels.columns is None else np.array(labels.columns, dtype=object)
    weights = _read_weights(task_weights, m, "task weights", columns)
    return {
        "task_weights": weights / weights.sum(),
        "task_names": names,
        "named_tasks": task_names is not None or labels.columns is not None,
    }


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return names with a number added to those that occurred before: of tasks labelled alike."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return tuple(out)


def _observed_everywhere(part: Part) -> NDArray[np.bool_]:
    space, everywhere = part.space, np.ones(part.signs.shape[1], dtype=np.bool_)
    for rows in part.blocks(len(everywhere)):
        everywhere &= space.to_host(space.xp.all(part.signs[rows, :] != 0, axis=0))
    return everywhere


def _count_blanks(part: Part) -> int:
    count = part.space.xp.count_nonzero
    return sum(int(count(part.signs[rows, :] == 0)) for rows in part.blocks(part.signs.shape[1]))


def _individual_names(
    names: Sequence[Any] | NDArray[Any] | None, index: NDArray[Any] | None, n: int
) -> NDArray[Any]:
    if names is None:
        return np.arange(n) if index is None else index
    out = np.asarray(names)
    if out.shape != (n,):
        raise InputError(
            f"ids (individual_names) must give {counted(n, 'name')}, one for each row; got shape "
            f"{out.shape}."
        )
    check_ids(names, "ids (individual_names)")
    return out


def _read_individual_weights(
    weights: ArrayLike | None, n: int, names: NDArray[Any] | None
) -> FloatArray:
    """Read how many people each row stands for."""
    out = _read_weights(weights, n, "individual weights", names)
    # Numbers of people have a unit, unlike shares of tasks: they cannot be rescaled.
    if not 1.0 / _LARGEST_RATIO <= out.max() <= _LARGEST_RATIO:
        raise InputError(
            f"individual weights are numbers of people; the largest must lie between "
            f"{1.0 / _LARGEST_RATIO:g} and {_LARGEST_RATIO:g}; got {out.max():g}."
        )
    return out


def _read_weights(
    weights: ArrayLike | None, count: int, what: str, names: NDArray[Any] | None
) -> FloatArray:
    if weights is None:
        return np.ones(count)
    out = read_vector(weights, count, what, names)
    if (out < 0).any():
        position = int(np.flatnonzero(out < 0)[0])
        raise InputError(
            f"{what} must not be negative; position {position} holds {float(out[position])!r}."
        )
    if not out.any():
        raise InputError(f"{what} must not all be zero; make at least one positive.")
    if out.max() > np.finfo(float).max / count:
        raise InputError(f"{what} must add up to a finite number; the largest is {out.max():g}.")
    least = out.min(where=out > 0, initial=np.inf)
    if least < out.max() / _LARGEST_RATIO:
        raise InputError(
            f"the largest of the {what} may be at most {_LARGEST_RATIO:g} times the smallest "
            f"positive one; got {out.max():g} and {least:g}. Set such small weights to 0."
        )
    return out
