"""The losses: for each person and task, how surely the decision is wrong, and whether it counts.

L_ij is the chance that person i is decided wrongly on task j; W_ij says whether the cell counts
towards the rate. Everything an audit says is computed from these two tables, a block of people at
a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair.blocks import row_blocks
from averagefair.errors import InputError, some_of
from averagefair.protocols import Rate
from averagefair.rows import FloatArray, read_signs
from averagefair.sampling import check_ids
from averagefair.tables import Table, align, names_or_default, read_categories, read_table
from averagefair.text import counted

BoolArray = NDArray[np.bool_]

NOT_COUNTED = np.int8(-1)


class Block(NamedTuple):
    """Some people's cells, added up within families of tasks.

    Attributes
    ----------
    rows : slice
        Which people.
    counts : array, shape (people, units)
        W: how many cells count. Without families, 0 or 1.
    totals : array, shape (people, units)
        W L: their losses, added up.
    """

    rows: slice
    counts: FloatArray
    totals: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Losses:
    """n people x m tasks: the chance that each is decided wrongly, where that counts.

    Attributes
    ----------
    cells : int8 or float array, shape (n, m)
        0 and 1 where every decision is one or the other (-1 where it does not count), else chances
        (NaN where it does not count).
    individual_names : array, shape (n,)
    task_names : tuple of str
    families : integer array, shape (m,), or None
        The family of each task, from 0. Near-duplicates are one family: one draw from the world.
    family_names : tuple of str
    index : array, shape (n,), or None
        The people's names, where they were given: what is said of the same people elsewhere is put
        in their order.
    named_tasks : bool
        Whether the tasks' names were given.
    fingerprints : array, shape (m,), or empty
        A number for each task that differs, but for a chance in a billion, where labels differ.
    """

    cells: NDArray[Any]
    individual_names: NDArray[Any]
    task_names: tuple[str, ...]
    families: NDArray[np.intp] | None = None
    family_names: tuple[str, ...] = ()
    index: NDArray[Any] | None = None
    named_tasks: bool = False
    fingerprints: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def n(self) -> int:
        """Number of people."""
        return int(self.cells.shape[0])

    @property
    def m(self) -> int:
        """Number of tasks."""
        return int(self.cells.shape[1])

    @property
    def units(self) -> int:
        """Number of families, or of tasks where there are none."""
        return self.m if self.families is None else len(self.family_names)

    @property
    def whole(self) -> bool:
        """Whether every decision is plainly right or wrong."""
        return self.cells.dtype == np.int8

    @cached_property
    def _by_family(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The tasks in the order of their families, and where each family begins."""
        assert self.families is not None
        order = np.argsort(self.families, kind="stable")
        return order, np.searchsorted(self.families[order], np.arange(self.units))

    def blocks(self, *, by_task: bool = False) -> Iterator[Block]:
        """Yield everybody's cells, some people at a time, as float64; added up within families.

        With ``by_task`` families are not added up.
        """
        for rows in row_blocks(self.n, self.m):
            counts, totals = self._cells(rows)
            if self.families is not None and not by_task:
                counts, totals = self.by_family(counts), self.by_family(totals)
            yield Block(rows, counts, totals)

    def by_family(self, values: FloatArray) -> FloatArray:
        """Add up the columns of each family: (k, m) in, (k, units) out."""
        if self.families is None:
            return values
        order, starts = self._by_family
        return np.add.reduceat(values[:, order], starts, axis=1)

    def _cells(self, rows: slice) -> tuple[FloatArray, FloatArray]:
        cells = self.cells[rows]
        counted = cells >= 0
        if self.whole:
            return counted.astype(np.float64), (cells > 0).astype(np.float64)
        return counted.astype(np.float64), np.where(counted, cells.astype(np.float64), 0.0)

    def same_families(self, other: Losses) -> bool:
        """Tell whether the tasks are in the same families, or in none, in both."""
        if self.families is None or other.families is None:
            return self.families is other.families
        return np.array_equal(self.families, other.families)

    def take_people(self, people: BoolArray) -> Losses:
        """Return these people alone, with the same tasks."""
        index = None if self.index is None else self.index[people]
        names = self.individual_names[people]
        return replace(self, cells=self.cells[people], individual_names=names, index=index)

    def take_tasks(self, tasks: NDArray[np.intp]) -> Losses:
        """Return the same people with only the tasks of these positions."""
        names = tuple(self.task_names[task] for task in tasks)
        families, family_names = None, ()
        if self.families is not None:
            kept, families = np.unique(self.families[tasks], return_inverse=True)
            family_names = tuple(self.family_names[family] for family in kept)
        return replace(
            self,
            cells=self.cells[:, tasks],
            task_names=names,
            families=families,
            family_names=family_names,
            fingerprints=self.fingerprints[tasks] if self.fingerprints.size else np.empty(0),
        )


def read_losses(
    labels: Any,
    decisions: Any,
    rate: Rate,
    *,
    observed: Any = None,
    individual_names: Sequence[Any] | NDArray[Any] | None = None,
    task_names: Sequence[Any] | NDArray[Any] | None = None,
    task_families: ArrayLike | None = None,
) -> Losses:
    """Read labels and decisions; parameters as for :func:`averagefair.audit`."""
    right = read_table(labels, "labels", labels=True)
    made = read_table(decisions, "decisions", one_column=True)
    n, m = right.cells.shape
    if n == 0 or m == 0:
        raise InputError(
            f"labels must have at least one person and one task; got shape {right.cells.shape}."
        )
    chances = align(made, right, "decisions", "labels")
    columns = made.columns if right.columns is None else right.columns
    index = made.row_names if right.row_names is None else right.row_names
    seen = None
    if observed is not None:
        marks = read_table(observed, "observed", one_column=True)
        seen = _mask(align(marks, Table(right.cells, columns, index), "observed", "labels"))
    names = names_or_default(columns if task_names is None else task_names, m, "task", "task_names")
    people = _people(index if individual_names is None else individual_names, n)
    if individual_names is not None:
        check_ids(individual_names, "individual_names")
    cells, fingerprints = _losses(right.cells, chances, seen, _counting(rate), people, names)
    families, family_names = _families(task_families, names)
    return Losses(
        cells,
        people,
        names,
        families,
        family_names,
        index if individual_names is None else people,
        named_tasks=columns is not None or task_names is not None,
        fingerprints=fingerprints,
    )


def _counting(rate: Rate) -> tuple[bool, bool]:
    """Return whether a cell with label 0, and one with label 1, counts."""
    weights = rate.negatives, rate.positives
    if not set(weights) <= {0.0, 1.0} or weights == (0.0, 0.0):
        raise InputError(
            "an audit is for rates that count a cell or do not (weights 0 and 1); rate "
            f"{rate.name!r} weighs negatives {rate.negatives!r} and positives {rate.positives!r}."
        )
    return rate.negatives == 1.0, rate.positives == 1.0


def _losses(
    labels: NDArray[Any],
    chances: NDArray[Any],
    seen: BoolArray | None,
    counting: tuple[bool, bool],
    people: NDArray[Any],
    task_names: Sequence[str],
) -> tuple[NDArray[Any], FloatArray]:
    """Return the cells of the losses, and a fingerprint of each task's labels.

    Cells are int8 as long as every decision is plainly right or wrong, floats from there on.
    """
    n, m = labels.shape
    exact = chances.dtype if chances.dtype.kind == "f" else np.dtype(np.float64)
    out: NDArray[Any] = np.empty((n, m), dtype=np.int8)
    # Sums of random whole numbers, below 2^53 and so exact, whichever way they are added up.
    keys: FloatArray = np.asarray(np.random.default_rng(0).integers(1, 2**31, n), dtype=float)
    fingerprints = np.zeros(m)
    for rows in row_blocks(n, m):
        block = labels[rows]
        if seen is not None:
            block = np.where(seen[rows], block, np.nan)
        signs = read_signs(block, task_names, rows.start)
        _check_chances(chances[rows], signs != 0, rows.start, people, task_names)
        fingerprints += keys[rows] @ signs
        counted = ((signs > 0) & counting[0]) | ((signs < 0) & counting[1])
        given = np.where(counted, chances[rows], 0)
        wrong = np.where(signs < 0, 1 - given, given)
        if out.dtype == np.int8 and not ((wrong == 0) | (wrong == 1)).all():
            plain = out[: rows.start]
            out = np.empty((n, m), dtype=exact)
            out[: rows.start] = np.where(plain == NOT_COUNTED, np.nan, plain)
        out[rows] = wrong
        out[rows][~counted] = NOT_COUNTED if out.dtype == np.int8 else np.nan
    out.flags.writeable = False
    return out, fingerprints


def _check_chances(
    chances: NDArray[Any],
    observed: BoolArray,
    first_row: int,
    people: NDArray[Any],
    task_names: Sequence[str],
) -> None:
    """Refuse decisions outside [0, 1], and blanks where the label is known."""
    wrong = observed & ~((chances >= 0) & (chances <= 1))
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        value = chances[row, column].item()
        what = f"holds {value!r}" if value == value else "is blank though its label is known"
        raise InputError(
            "decisions must lie in [0, 1]: 0, 1, or the chance of deciding 1; row "
            f"{first_row + row} (person {people[first_row + row]}), task {task_names[column]!r} "
            f"{what}. Leave cells out by a blank label, or with observed=."
        )


def _mask(cells: NDArray[Any]) -> BoolArray:
    if cells.dtype != np.bool_:
        wrong = ~((cells == 0) | (cells == 1))
        if wrong.any():
            row, column = map(int, np.argwhere(wrong)[0])
            raise InputError(
                "observed must say of each cell whether to look at it: True or False (1 or 0), "
                f"without blanks; row {row}, column {column} holds {cells[row, column].item()!r}."
            )
    return cells.astype(np.bool_, copy=False)


def _people(names: Sequence[Any] | NDArray[Any] | None, n: int) -> NDArray[Any]:
    try:
        out = np.arange(n) if names is None else np.array(names)
    except ValueError:  # of several kinds
        out = np.array(list(map(str, names or ())))
    if out.shape != (n,):
        raise InputError(
            f"individual_names must give {counted(n, 'name')}, one for each; got {out.shape}."
        )
    return out


def _families(
    families: Any, task_names: Sequence[str]
) -> tuple[NDArray[np.intp] | None, tuple[str, ...]]:
    if families is None:
        return None, ()
    names, codes = read_categories(families, task_names, len(task_names), "task_families")
    if (codes < 0).any():
        blank = [task_names[int(place)] for place in np.flatnonzero(codes < 0)]
        raise InputError(
            f"task_families must name a family for each task; none for {some_of(blank)}. A task "
            "that is like no other is a family of its own."
        )
    return codes, names
