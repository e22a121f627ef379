"""The losses: the probability of a wrong decision in each cell, and whether the cell counts.

A cell is one person on one task. L_ij is the probability that the decision about person i on task j
is wrong. W_ij says whether the cell counts towards the rate. The whole audit is computed from these
two tables, one block of people at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.text import counted
from averagefair.auditing.trials import Trials
from averagefair.errors import InputError, some_of
from averagefair.game.protocols import Rate
from averagefair.people.blocks import row_blocks
from averagefair.people.draws import check_ids
from averagefair.people.frames import Table, align, names_or_default, read_categories, read_table
from averagefair.people.labels import read_signs

BoolArray = NDArray[np.bool_]

NOT_COUNTED = np.int8(-1)


class Block(NamedTuple):
    """The cells of some people, summed within families of tasks.

    Attributes
    ----------
    rows : slice
        Which people.
    counts : array, shape (people, units)
        W: the number of cells that count. Without families, 0 or 1.
    totals : array, shape (people, units)
        W L: the sum of their losses.
    """

    rows: slice
    counts: FloatArray
    totals: FloatArray


class Adjustment(NamedTuple):
    """Losses less the difficulty of their tasks: stretch_i (L_ij - effect_j) + shift_i.

    Attributes
    ----------
    effects : array, shape (m,)
        How much harder each task is than the average task.
    stretch, shift : arrays, shape (n,)
    """

    effects: FloatArray
    stretch: FloatArray
    shift: FloatArray

    def of(self, rows: slice, counts: FloatArray, totals: FloatArray) -> FloatArray:
        """Return the adjusted totals of some people."""
        out = totals - counts * self.effects
        out *= self.stretch[rows, None]
        out += counts * self.shift[rows, None]
        return out


@dataclass(frozen=True, eq=False, repr=False)
class Losses:
    """n people x m tasks: the probability of a wrong decision in each cell that counts.

    Attributes
    ----------
    cells : int8 or float array of shape (n, m), or Trials
        int8, if no decision is a probability: 0 is right, 1 is wrong, -1 does not count. Otherwise
        float: the probability of a wrong decision; NaN does not count. Or, from a log, the trials
        of each person and task.
    individual_names : array, shape (n,)
    task_names : tuple of str
    families : integer array, shape (m,), or None
        The family of each task, numbered from 0. Near-duplicates form one family and count as one
        sampled task.
    family_names : tuple of str
    index : array, shape (n,), or None
        The people's names, if they were given; other tables about these people are aligned to
        them.
    named_tasks : bool
        Whether the tasks' names were given.
    fingerprints : array, shape (m,), or empty
        A hash of each task's labels. Different labels collide about once in a billion.
    adjustment : Adjustment, or None
        What is taken off the losses, to compare people at equal exposure. None: nothing is.
    """

    cells: NDArray[Any] | Trials
    individual_names: NDArray[Any]
    task_names: tuple[str, ...]
    families: NDArray[np.intp] | None = None
    family_names: tuple[str, ...] = ()
    index: NDArray[Any] | None = None
    named_tasks: bool = False
    fingerprints: FloatArray = field(default_factory=lambda: np.empty(0))
    adjustment: Adjustment | None = None

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
        """Number of families, or of tasks if there are no families."""
        return self.m if self.families is None else len(self.family_names)

    @property
    def binary(self) -> bool:
        """Whether every decision is either right or wrong, never a probability in between."""
        if isinstance(self.cells, Trials):
            return self.cells.binary and self.adjustment is None
        return self.cells.dtype == np.int8 and self.adjustment is None

    @property
    def clustered(self) -> bool:
        """Whether a person may have several cells or trials in one unit."""
        return self.families is not None or isinstance(self.cells, Trials)

    @cached_property
    def _by_family(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The tasks sorted by family, and the start of each family."""
        assert self.families is not None
        order = np.argsort(self.families, kind="stable")
        return order, np.searchsorted(self.families[order], np.arange(self.units))

    def blocks(self, *, by_task: bool = False) -> Iterator[Block]:
        """Yield everybody's cells as float64, one block of people at a time, summed by family.

        With ``by_task`` the cells are not summed by family.
        """
        for rows in row_blocks(self.n, self.m):
            counts, totals = self._cells(rows)
            if self.adjustment is not None:
                totals = self.adjustment.of(rows, counts, totals)
            if self.families is not None and not by_task:
                counts, totals = self.by_family(counts), self.by_family(totals)
            yield Block(rows, counts, totals)

    def of_some(self, people: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Return the counts and totals of some people, summed by family if there are any.

        Parameters
        ----------
        people : integer array
        """
        counts, totals = self._cells(people)
        return self.by_family(counts), self.by_family(totals)

    def by_family(self, values: FloatArray) -> FloatArray:
        """Sum the columns of each family: (k, m) in, (k, units) out."""
        if self.families is None:
            return values
        order, starts = self._by_family
        return np.add.reduceat(values[:, order], starts, axis=1)

    def _cells(self, rows: slice | NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        if isinstance(self.cells, Trials):
            return self.cells.dense(rows)
        cells = self.cells[rows]
        counted = cells >= 0
        if cells.dtype == np.int8:
            return counted.astype(np.float64), (cells > 0).astype(np.float64)
        return counted.astype(np.float64), np.where(counted, cells.astype(np.float64), 0.0)

    def same_families(self, other: Losses) -> bool:
        """Return whether both have the same families of tasks, or both have none."""
        if self.families is None or other.families is None:
            return self.families is other.families
        return np.array_equal(self.families, other.families)

    def take_people(self, people: BoolArray) -> Losses:
        """Return only these people, with the same tasks."""
        index = None if self.index is None else self.index[people]
        names, cells = self.individual_names[people], self.cells
        taken = cells.of_people(people) if isinstance(cells, Trials) else cells[people]
        return replace(self, cells=taken, individual_names=names, index=index)

    def take_tasks(self, tasks: NDArray[np.intp]) -> Losses:
        """Return only the tasks with these numbers, with the same people."""
        names = tuple(self.task_names[task] for task in tasks)
        families, family_names = None, ()
        if self.families is not None:
            kept, families = np.unique(self.families[tasks], return_inverse=True)
            family_names = tuple(self.family_names[family] for family in kept)
        cells = self.cells
        taken = cells.of_tasks(tasks) if isinstance(cells, Trials) else cells[:, tasks]
        return replace(
            self,
            cells=taken,
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
    """Read labels and decisions; the parameters are those of :func:`averagefair.audit`."""
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
    """Return whether cells with label 0 count, and whether cells with label 1 count."""
    weights = rate.negatives, rate.positives
    if not set(weights) <= {0.0, 1.0} or weights == (0.0, 0.0):
        raise InputError(
            "an audit needs a rate whose weights are 0 or 1, not both 0; rate "
            f"{rate.name!r} weighs negatives {rate.negatives!r} and positives {rate.positives!r}. "
            'Use rate="error".'
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

    Cells are int8 if every decision is either right or wrong, else float.
    """
    n, m = labels.shape
    exact = chances.dtype if chances.dtype.kind == "f" else np.dtype(np.float64)
    out: NDArray[Any] = np.empty((n, m), dtype=np.int8)
    # Sums of whole numbers are exact in any order, as long as they stay below 2^53.
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
    """Refuse decisions outside [0, 1], and blank decisions for known labels."""
    wrong = observed & ~((chances >= 0) & (chances <= 1))
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        value = chances[row, column].item()
        what = f"holds {value!r}" if value == value else "is blank, but its label is known"
        raise InputError(
            "decisions must lie in [0, 1]: 0, 1, or the probability of deciding 1; row "
            f"{first_row + row} (person {people[first_row + row]}), task {task_names[column]!r} "
            f"{what}. To leave a cell out, blank its label or use observed=."
        )


def _mask(cells: NDArray[Any]) -> BoolArray:
    if cells.dtype != np.bool_:
        wrong = ~((cells == 0) | (cells == 1))
        if wrong.any():
            row, column = map(int, np.argwhere(wrong)[0])
            raise InputError(
                "observed must be True or False (1 or 0) for each cell, without blanks; "
                f"row {row}, column {column} holds {cells[row, column].item()!r}."
            )
    return cells.astype(np.bool_, copy=False)


def _people(names: Sequence[Any] | NDArray[Any] | None, n: int) -> NDArray[Any]:
    try:
        out = np.arange(n) if names is None else np.array(names)
    except ValueError:  # the names have several types
        out = np.array(list(map(str, names or ())))
    if out.shape != (n,):
        raise InputError(
            f"individual_names must have {counted(n, 'name')}, one for each person; got shape "
            f"{out.shape}."
        )
    return out


def _families(
    families: Any, task_names: Sequence[str]
) -> tuple[NDArray[np.intp] | None, tuple[str, ...]]:
    if families is None:
        return None, ()
    names, codes = read_categories(families, task_names, len(task_names), "task_families")
    if (codes < 0).any():
        blank = [task_names[int(task)] for task in np.flatnonzero(codes < 0)]
        raise InputError(
            f"task_families must name a family for each task; none for {some_of(blank)}. Give a "
            "task without near-duplicates a family of its own."
        )
    return codes, names
