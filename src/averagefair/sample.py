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

from averagefair.blocks import row_blocks
from averagefair.distributed import cluster_rows, is_dask, read_dask
from averagefair.errors import InputError, some_of
from averagefair.parts import Part, Work
from averagefair.rows import ArrayRows, FloatArray, Rows, SignArray, finite_features
from averagefair.sampling import check_ids
from averagefair.spaces import Space
from averagefair.tables import (
    Table,
    check_same_rows,
    is_missing,
    names_or_default,
    read_table,
    read_vector,
)
from averagefair.text import counted

if TYPE_CHECKING:
    from averagefair.oracles.feature_map import FittedMap

__all__ = ["FloatArray", "Sample", "SignArray", "check_columns", "read_features"]


# Weights are divided by each other, and multiplied by prices: within this all of it are numbers.
_MOST_TIMES = 1e100


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Sample:
    """n individuals, m tasks and their labels: what every player of the game looks at.

    Parameters
    ----------
    X : array-like or DataFrame of any library, shape (n, d)
        Features; finite numbers. An array that is of the right precision already is not copied,
        only guarded against writing through the sample. Arrays of PyTorch, CuPy and
        array-api-strict stay where they are, a ``np.memmap`` stays in its file, and the rows of
        a Dask array or DataFrame stay with the workers of its cluster.
    Y : array-like or DataFrame of any library, shape (n, m) or (n,)
        Labels 0 and 1; NaN, None or a missing value of any kind where unobserved.
    individual_weights : array-like of shape (n,), optional
        How many people each row stands for: a row of weight 2 is the same as that row twice, a
        row of weight 0 is the same as no row. Default: 1 each.
    task_weights : array-like of shape (m,), optional
        How often a person meets each task, up to a common factor. Default: all alike.
    individual_names, task_names : sequence, optional
        Names to report by, each once. Default: the index of a pandas table (which may name a row
        twice), the columns of Y, else numbers.
    dtype : {"float64", "float32", "tf32"}, default "float64"
        What features are kept in and products are computed in. "tf32" keeps float32 and rounds
        the products' factors, to no less than TF32 keeps, on a GPU's tensor cores.

    Attributes
    ----------
    rows : Rows
        Features and labels, wherever they are.
    individual_weights : float64 array, shape (n,)
    task_weights : float64 array, shape (m,)
        Normalised to sum to 1 (the paper's 1/m).
    individual_names : array, shape (n,)
    task_names : tuple of str
    feature_names : tuple of str, or None where X came without names
        The columns of X.
    feature_map : FittedMap, or None
        What made the features of the columns of X.
    indexed : bool
        Whether the individuals' names are a table's index, which later tables must then have too.
    named_tasks : bool
        Whether the tasks' names were given, by columns or by ``task_names``.

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
        tasks = _tasks(labels, task_weights, task_names)
        read = cluster_rows if on_cluster else ArrayRows.read
        self._set(
            individual_weights=_people(individual_weights, n, index),
            individual_names=_individual_names(individual_names, index, n),
            feature_names=people.columns,
            indexed=individual_names is None and index is not None,
            rows=read(people, labels, tasks["task_names"], dtype),
            feature_map=None,
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
        """Whether the individuals' names are a table's index that names each row once."""
        if not self.indexed:
            return False
        names = self.individual_names.tolist()
        return len(set(names)) == len(names) and not any(map(is_missing, names))

    @property
    def feature_count(self) -> int:
        """Number of columns of X: d, unless a feature map made others of them."""
        return self.d if self.feature_map is None else self.feature_map.feature_count

    @property
    def features(self) -> Any:
        """What oracles learn from: the columns of X, or what a feature map made of them.

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
        """Where vectors over the people live."""
        return self.rows.space

    @cached_property
    def counts(self) -> Any:
        """The individual weights in the sample's space, shape (n,)."""
        return self.space.asarray(self.individual_weights)

    @cached_property
    def complete_tasks(self) -> NDArray[np.bool_]:
        """Which tasks have every label observed, shape (m,)."""
        return np.asarray(np.all(self.collect(_observed_everywhere), axis=0))

    def collect(self, work: Work, *by_person: Any, **settings: Any) -> list[Any]:
        """Do some work on all people, wherever they are; a result for each part, in order.

        Parameters
        ----------
        work : callable
            Takes a ``averagefair.parts.Part``, vectors over its people, and the settings.
            A function of a module, so that other machines find it too.
        *by_person : arrays of shape (n, ...), or None
            In the sample's space.
        **settings
            The same for everybody; NumPy arrays or plain objects.
        """
        return list(self.rows.results(work, by_person, settings))

    def total(self, work: Work, *by_person: Any, **settings: Any) -> Any:
        """Do some work as :meth:`collect` does, and add up the results as they come, in order.

        Parameters
        ----------
        work, *by_person, **settings
            As for :meth:`collect`.
        """
        return sum(self.rows.results(work, by_person, settings))

    def fingerprint(self) -> str | None:
        """Return a hash by which to know these data again: features, labels, weights and names.

        None where features and labels are not NumPy arrays of this machine.

        Examples
        --------
        >>> one, other = Sample([[0.1], [0.7]], [0, 1]), Sample([[0.1], [0.8]], [0, 1])
        >>> one.fingerprint() == other.fingerprint()
        False
        """
        if not self.rows.local:
            return None
        found = blake2b(digest_size=16)
        known = [self.n, self.d, self.m, self.feature_names, self.task_names]
        found.update(f"{known} {self.features.dtype.str}".encode(errors="backslashreplace"))
        for weights in (self.individual_weights, self.task_weights):
            found.update(np.ascontiguousarray(weights).tobytes())
        for part in (self.features, self.signs):
            for rows in row_blocks(*part.shape):
                found.update(np.ascontiguousarray(part[rows, :]).data)
        return found.hexdigest()

    def with_labels(
        self,
        Y: Any,
        *,
        task_weights: ArrayLike | None = None,
        task_names: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Sample:
        """Return the same individuals with the labels of other tasks.

        Tasks without names are named after their labels, lest they be taken for the first ones.

        Parameters
        ----------
        Y : array-like or DataFrame, shape (n, k) or (n,)
            Their labels 0 and 1, in the order of the individuals; blank where unobserved.
        task_weights : array-like of shape (k,), optional
            How often a person meets each task, up to a common factor. Default: all alike.
        task_names : sequence, optional
            Default: the columns of Y.
        """
        labels = self.rows.read_labels(Y)
        if labels.cells.shape[0] != self.n:
            raise InputError(
                f"a task is given by its labels on the {self.n} training individuals; got "
                f"{counted(labels.cells.shape[0], 'row')}. Pass one row for each training "
                "individual, in the same order, blank where the label is unknown."
            )
        if self.indexed:
            check_same_rows(self.individual_names, labels.row_names, "the training sample", "Y")
        tasks = _tasks(labels, task_weights, task_names)
        rows = self.rows.with_labels(labels.cells, tasks["task_names"])
        if not tasks["named_tasks"]:
            tasks["task_names"] = tuple(f"task-{digest}" for digest in rows.digests())
        return self._replace(rows=rows, **tasks)

    def without_labels(self) -> Sample:
        """Return the individuals alone, in arrays of their own: what a model may keep of them."""
        return self._replace(
            rows=self.rows.without_labels(), task_weights=np.empty(0), task_names=()
        )

    def map_features(self, feature_map: FittedMap) -> Sample:
        """Return the same sample with what a map makes of everybody's features.

        Parameters
        ----------
        feature_map : FittedMap
        """
        if self.feature_map is not None:
            raise InputError("the features of this sample have been mapped; map X itself.")
        return self._replace(rows=self.rows.map_features(feature_map), feature_map=feature_map)

    def with_task_weights(self, task_weights: FloatArray) -> Sample:
        """Return the same sample with tasks that are met this often.

        Parameters
        ----------
        task_weights : array, shape (m,)
            Summing to 1.
        """
        return self._replace(task_weights=task_weights)

    def check_tasks(self, names: Sequence[str], named: bool, what: str) -> None:
        """Refuse labels of other tasks than these; by name if both sides have names.

        Parameters
        ----------
        names : sequence of str
            The tasks' names, in their order.
        named : bool
            Whether these names were given by somebody.
        what : str
            What the labels are called, for the message.
        """
        other = named and self.named_tasks and self.task_names != tuple(names)
        if self.m != len(names) or other:
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
            raise InputError("the tasks taken must not all have weight 0: nothing would count.")
        return self._replace(
            rows=self.rows.take_tasks(tasks),
            task_weights=weights / weights.sum(),
            task_names=tuple(self.task_names[task] for task in tasks),
        )

    def _replace(self, **changes: Any) -> Sample:
        fields = {name: getattr(self, name) for name in Sample.__dataclass_fields__}
        return Sample._of(**(fields | changes))

    @classmethod
    def _of(cls, **fields: Any) -> Sample:
        """Return the sample of fields that have been checked already."""
        other = object.__new__(cls)
        other._set(**fields)
        return other

    def __repr__(self) -> str:
        blank = self.total(_count_blanks)
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
    """Read the features of other people, who must have the columns that were learned from.

    Parameters
    ----------
    X : array-like or DataFrame, shape (k, count)
    names : sequence of str, or None where training came without names
    count : int
    """
    table = read_table(X, "X", in_place=True)
    check_columns(table, names, count)
    return finite_features(table)


def check_columns(table: Table, names: Sequence[str] | None, count: int) -> None:
    """Refuse features that are not those learned from, in their order."""
    if table.cells.shape[1] != count:
        raise InputError(
            f"X has {counted(table.cells.shape[1], 'feature')}, but the model learned from "
            f"{count:,}. Pass the columns it was fitted with."
        )
    if table.columns is not None and names is not None and list(table.columns) != list(names):
        unknown = [name for name in table.columns if name not in set(names)]
        missing = [name for name in names if name not in set(table.columns)]
        found = (
            f"unknown: {some_of(unknown)}; missing: {some_of(missing)}"
            if unknown
            else "the order differs"
        )
        raise InputError(
            "X must have the columns that were learned from, in the same order; "
            f"{found}. Select them first: X[{list(names[:3])}...]."
        )


def _tasks(
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
    known = None if labels.columns is None else np.array(labels.columns, dtype=object)
    weights = _counts(task_weights, m, "task weights", known)
    return {
        "task_weights": weights / weights.sum(),
        "task_names": names,
        "named_tasks": task_names is not None or labels.columns is not None,
    }


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


def _people(weights: ArrayLike | None, n: int, names: NDArray[Any] | None) -> FloatArray:
    """Read how many people each row stands for."""
    out = _counts(weights, n, "individual weights", names)
    # Numbers of people, unlike shares of tasks, have a unit: no factor can be taken out.
    if not 1.0 / _MOST_TIMES <= out.max() <= _MOST_TIMES:
        raise InputError(
            f"individual weights say how many people a row stands for; the largest must lie "
            f"between {1.0 / _MOST_TIMES:g} and {_MOST_TIMES:g}; got {out.max():g}."
        )
    return out


def _counts(
    weights: ArrayLike | None, count: int, what: str, names: NDArray[Any] | None
) -> FloatArray:
    if weights is None:
        return np.ones(count)
    out = read_vector(weights, count, what, names)
    if (out < 0).any():
        place = int(np.flatnonzero(out < 0)[0])
        raise InputError(
            f"{what} must not be negative; position {place} holds {float(out[place])!r}."
        )
    if not out.any():
        raise InputError(f"{what} must not all be zero: nobody and nothing would count.")
    if out.max() > np.finfo(float).max / count:
        raise InputError(f"{what} must add up to a finite number; the largest is {out.max():g}.")
    least = out.min(where=out > 0, initial=np.inf)
    if least < out.max() / _MOST_TIMES:
        raise InputError(
            f"the largest of the {what} may be at most {_MOST_TIMES:g} times the smallest; got "
            f"{out.max():g} and {least:g}. Set what counts so little to 0, which leaves it out."
        )
    return out
