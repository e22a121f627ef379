"""Sums: the numbers of decisions and of wrong ones, for each person, task and label.

Adding up is exact in any order. Counts are whole numbers. Chances and weights are rounded to
multiples of 2^-30, and float64 adds such numbers without error while a sum stays below 2^23. So a
log of many parts gives the same sums as one part, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray

GRAIN = 2.0**-30
"""Chances and weights are kept as multiples of this."""
LARGEST_SUM = 2.0**23
"""The largest weight of all events of a person and task."""
# Cells that are sorted at a time when sums are added.
_CHUNK = 2_000_000


class ChangedLabelError(Exception):
    """A person has both labels on a task; ``person`` and ``task`` are their numbers."""

    def __init__(self, person: int, task: int) -> None:
        super().__init__(person, task)
        self.person, self.task = person, task


@dataclass(frozen=True, eq=False, repr=False)
class Sums:
    """A row for each person and task that met: the label, and how often the decision was wrong.

    Attributes
    ----------
    person, task : integer arrays, shape (rows,)
        Numbers of people and tasks. Rows are sorted by person, then by task.
    label : bool array, shape (rows,)
    count, wrong : arrays, shape (rows,)
        The decisions, and the wrong ones among them: whole numbers in the smallest type that holds
        them, or float64 if events have weights or chances.
    """

    person: NDArray[Any]
    task: NDArray[Any]
    label: NDArray[np.bool_]
    count: NDArray[Any]
    wrong: NDArray[Any]

    def __len__(self) -> int:
        return len(self.person)

    def columns(self) -> tuple[NDArray[Any], ...]:
        """Return person, task, label, count and wrong."""
        return self.person, self.task, self.label, self.count, self.wrong

    def renumbered(self, people: NDArray[np.intp], tasks: NDArray[np.intp]) -> Sums:
        """Return the same rows with other numbers, sorted again by person.

        Parameters
        ----------
        people, tasks : integer arrays
            The new number of each person and task.
        """
        person = people[self.person].astype(np.uint32)
        task = tasks[self.task].astype(smallest(np.array([len(tasks)])).dtype)
        if (person[1:] >= person[:-1]).all():
            return Sums(person, task, self.label, self.count, self.wrong)
        order = np.argsort(person, kind="stable")
        return Sums(
            person[order], task[order], self.label[order], self.count[order], self.wrong[order]
        )


def rounded(values: FloatArray) -> FloatArray:
    """Round to multiples of 2^-30.

    Examples
    --------
    >>> float(rounded(np.array([0.25]))[0]), float(rounded(np.array([0.1]))[0] * 2**30)
    (0.25, 107374182.0)
    """
    return np.asarray(np.round(values / GRAIN) * GRAIN)


def smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in the smallest unsigned type that holds them; others as float64.

    Examples
    --------
    >>> smallest(np.array([3.0, 255.0])).dtype, smallest(np.array([0.5])).dtype
    (dtype('uint8'), dtype('float64'))
    """
    if values.dtype.kind == "f" and not (values == np.floor(values)).all():
        return values.astype(np.float64, copy=False)
    most = int(values.max()) if values.size else 0
    kinds = (np.uint8, np.uint16, np.uint32, np.uint64)
    kind = next(kind for kind in kinds if most <= np.iinfo(kind).max)
    return values.astype(kind, copy=False)


def add_up(parts: list[Sums], people: int, tasks: int) -> Sums:
    """Add sums whose people and tasks have the same numbers, some people at a time.

    Parameters
    ----------
    parts : list of Sums
        Each sorted by person. The list is emptied, to free memory.
    people, tasks : int
        How many there are.

    Raises
    ------
    ChangedLabelError
        If a person has both labels on a task.
    """
    if len(parts) == 1:
        return parts.pop()
    # The sums go into arrays that are large enough: pieces to join later take twice the memory.
    counts, wrongs = [own.count for own in parts], [own.wrong for own in parts]
    kinds: list[Any] = [np.uint32, smallest(np.array([tasks])).dtype, np.bool_]
    kinds += [_kind_of_sums(counts), _kind_of_sums(wrongs)]
    columns, size = [np.empty(sum(map(len, parts)), dtype=kind) for kind in kinds], 0
    del counts, wrongs
    for chunk in _chunks(parts, people):
        part = _add(chunk, tasks)
        for column, own in zip(columns, part.columns(), strict=True):
            column[size : size + len(part)] = own
        size += len(part)
    parts.clear()
    person, task, label, count, wrong = (column[:size] for column in columns)
    return Sums(person, task, label, smallest(count), smallest(wrong))


def _kind_of_sums(parts: Sequence[NDArray[Any]]) -> Any:
    """Return a type that holds the sums of these columns."""
    if any(part.dtype.kind == "f" for part in parts):
        return np.float64
    return smallest(np.array([sum(int(part.max(initial=0)) for part in parts)])).dtype


def _chunks(parts: Sequence[Sums], people: int) -> Iterator[list[Sums]]:
    """Yield the rows of some people at a time, from all parts."""
    rows = sum(map(len, parts))
    count = max(1, min(people, rows // _CHUNK))
    edges = np.linspace(0, people, count + 1).astype(np.int64)
    cuts = [np.searchsorted(part.person, edges) for part in parts]
    for number in range(count):
        chunk = []
        for part, cut in zip(parts, cuts, strict=True):
            rows_of = slice(cut[number], cut[number + 1])
            if cut[number] < cut[number + 1]:
                chunk.append(Sums(*(column[rows_of] for column in part.columns())))
        if chunk:
            yield chunk


def _add(parts: Sequence[Sums], tasks: int) -> Sums:
    """Add the rows of a few people."""
    if not parts:
        empty = np.empty(0, dtype=np.uint8)
        return Sums(empty, empty, empty.astype(bool), empty, empty)
    person, task, label, count, wrong = (
        np.concatenate([part.columns()[number] for part in parts]) for number in range(5)
    )
    return sum_rows(person, task, label, count, wrong, tasks)


def sum_rows(
    person: NDArray[Any],
    task: NDArray[Any],
    label: NDArray[np.bool_],
    count: NDArray[Any] | None,
    wrong: NDArray[Any],
    tasks: int,
) -> Sums:
    """Sort rows by person and task, and add up those of the same cell.

    Parameters
    ----------
    person, task, label, wrong : arrays, shape (rows,)
    count : array, shape (rows,), or None
        None: each row is one decision.
    tasks : int
        A number above all tasks' numbers.
    """
    key = person.astype(np.int64) * (2 * tasks) + 2 * task.astype(np.int64) + label
    order = np.argsort(key)
    key = key[order]
    new = np.ones(len(key), dtype=bool)
    new[1:] = key[1:] != key[:-1]
    starts = np.flatnonzero(new)
    key = key[starts]
    both = np.flatnonzero((key[1:] >> 1) == (key[:-1] >> 1))
    if both.size:
        cell = int(key[both[0]]) >> 1
        raise ChangedLabelError(cell // tasks, cell % tasks)
    if count is None:
        counts = np.diff(np.append(starts, len(order)))
    else:
        counts = _sums(count[order], starts)
    return Sums(
        (key // (2 * tasks)).astype(np.uint32),
        (key // 2 % tasks).astype(smallest(np.array([tasks])).dtype),
        (key & 1).astype(bool),
        smallest(counts),
        smallest(_sums(wrong[order], starts)),
    )


def _sums(values: NDArray[Any], starts: NDArray[np.intp]) -> NDArray[Any]:
    wide = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    return np.asarray(np.add.reduceat(wide, starts)) if wide.size else wide
