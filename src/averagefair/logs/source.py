"""A source: one file or table of events, read once and kept as sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import InputError
from averagefair.logs.encoding import (
    Numbers,
    check_tasks,
    decisions_of,
    labels_of,
    weights_of,
    windows_of,
)
from averagefair.logs.reading import BATCH, Batch, batches, release_memory
from averagefair.logs.sums import (
    LARGEST_SUM,
    ChangedLabelError,
    Sums,
    add_up,
    rounded,
    sum_rows,
)

NO_WINDOW = np.iinfo(np.int64).min
"""The window of events without a time."""


class Columns(NamedTuple):
    """The names of a log's columns, and how to read them."""

    person: str
    task: str
    label: str
    decision: str
    time: str | None = None
    weight: str | None = None
    every: str = "month"
    positive: str | tuple[str, ...] | None = None

    def used(self) -> list[str]:
        """Return the columns to read."""
        names = (self.person, self.task, self.label, self.decision, self.time, self.weight)
        return [name for name in names if name is not None]


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """The sums of one file or table of events.

    Attributes
    ----------
    name : str
    people, tasks : arrays
        Names, each sorted: whole numbers if all names are, else text.
    sums : dict of int to Sums
        For each window of time, named by its first day since 1970.
    events : int
        The number of events.
    unlabelled : int
        The number of events without a label; they are left out.
    """

    name: str
    people: NDArray[Any]
    tasks: NDArray[Any]
    sums: dict[int, Sums]
    events: int
    unlabelled: int


class _Rows(NamedTuple):
    """Encoded events."""

    person: NDArray[Any]
    task: NDArray[Any]
    label: NDArray[np.bool_]
    weight: NDArray[Any] | None
    wrong: NDArray[Any]
    window: NDArray[Any] | None


def read_source(table: Any, name: str, columns: Columns) -> Source:
    """Read all events of a file or table.

    Parameters
    ----------
    table : DataFrame, Arrow stream or path
    name : str
    columns : Columns
    """
    return _Reader(name, columns).read(table)


class _Reader:
    def __init__(self, name: str, columns: Columns) -> None:
        self.name, self.columns = name, columns
        self.people, self.tasks = Numbers(columns.person), Numbers(columns.task)
        self.events = self.unlabelled = 0
        self._waiting: list[_Rows] = []
        self._parts: dict[int, list[Sums]] = {}

    def read(self, table: Any) -> Source:
        waiting = 0
        for batch in batches(table, self.name, self.columns.used()):
            rows = self._encode(batch)
            self._waiting.append(rows)
            waiting += len(rows.person)
            if waiting >= BATCH:
                self._add_waiting()
                waiting = 0
        self._add_waiting()
        if not self._parts:
            some = "no event has a label" if self.events else "there are no events"
            raise InputError(f"{self.name}: {some}; known labels are needed.")
        release_memory()
        people, tasks = _sorted(self.people.names()), _sorted(self.tasks.names())
        sums = {}
        for window in sorted(self._parts):
            read, parts = self._parts.pop(window), []
            while read:
                parts.append(read.pop().renumbered(people.number, tasks.number))
            sums[window] = self._telling(add_up, parts, len(people.names), len(tasks.names))
        self._check_labels(sums, people.names, tasks.names)
        release_memory()
        return Source(self.name, people.names, tasks.names, sums, self.events, self.unlabelled)

    def _encode(self, batch: Batch) -> _Rows:
        names = self.columns
        label = labels_of(batch, names.label, names.positive)
        known = label >= 0
        decision = decisions_of(batch, names.decision, names.positive, known)
        person, task = self.people.of(batch), self.tasks.of(batch)
        self.events += len(label)
        self.unlabelled += int(np.count_nonzero(~known))
        check_tasks(self.tasks, self.events)
        wrong = np.where(label == 1, 1.0 - decision, decision)[known]
        window = None
        if names.time is not None:
            window = windows_of(batch, names.time, names.every)[known]
        count = None
        if names.weight is not None:
            weight = weights_of(batch, names.weight)[known]
            count, wrong = rounded(weight), rounded(weight * wrong)
        elif not ((wrong == 0) | (wrong == 1)).all():
            wrong = rounded(wrong)
        else:
            wrong = wrong.astype(np.uint8)
        return _Rows(person[known], task[known], label[known] == 1, count, wrong, window)

    def _add_waiting(self) -> None:
        """Add up the events that were read."""
        rows, self._waiting = self._waiting, []
        if not sum(len(own.person) for own in rows):
            return
        person, task, label = (np.concatenate([own[part] for own in rows]) for part in range(3))
        count = None
        if rows[0].weight is not None:
            count = np.concatenate([own.weight for own in rows])
        wrong = np.concatenate([own.wrong for own in rows])
        windows = np.full(len(person), NO_WINDOW) if rows[0].window is None else None
        if windows is None:
            windows = np.concatenate([own.window for own in rows])
        for window in np.unique(windows).tolist():
            here = slice(None) if rows[0].window is None else windows == window
            part = self._telling(
                sum_rows,
                person[here],
                task[here],
                label[here],
                None if count is None else count[here],
                wrong[here],
                len(self.tasks),
                names=(self.people, self.tasks),
            )
            self._parts.setdefault(window, []).append(part)

    def _telling(self, add: Any, *args: Any, names: Any = None) -> Sums:
        """Add up; name the person and the task of a label that changes."""
        try:
            found: Sums = add(*args)
        except ChangedLabelError as changed:
            given = names or (_sorted(self.people.names()), _sorted(self.tasks.names()))
            people, tasks = (
                own.names() if isinstance(own, Numbers) else own.names for own in given
            )
            refuse_changed(people[changed.person], tasks[changed.task], self.columns, [self.name])
        if len(found) and float(found.count.max()) >= LARGEST_SUM:
            raise InputError(
                f"{self.name}: a person has events of weight {LARGEST_SUM:,.0f} or more on one "
                "task; weights that large are not added exactly. Divide all weights by a number."
            )
        return found

    def _check_labels(self, sums: dict[int, Sums], people: Any, tasks: Any) -> None:
        """Refuse a label that differs between windows."""
        if len(sums) > 1:
            self._telling(add_up, [*sums.values()], len(people), len(tasks))


def refuse_changed(person: Any, task: Any, columns: Columns, sources: Sequence[str]) -> NoReturn:
    """Refuse a person with both labels on one task."""
    where = " and ".join(dict.fromkeys(sources))
    raise InputError(
        f"{where}: the label of person {str(person)!r} on task {str(task)!r} changes: some events "
        f"have {columns.label!r} 0, some 1. The label is what would have been right, so repeated "
        f"decisions about the same case share it. Look at the events with {columns.person} = "
        f"{str(person)!r} and {columns.task} = {str(task)!r}; if they are different cases, make "
        "the task's name finer, e.g. with the year."
    )


class Sorted(NamedTuple):
    """Names in order, and the place of each."""

    names: NDArray[Any]
    number: NDArray[np.intp]


def _sorted(names: NDArray[Any]) -> Sorted:
    """Return names in order: by value if all are whole numbers, else by letters."""
    whole = as_whole_numbers(names)
    order = np.argsort(whole, kind="stable")
    number = np.empty(len(names), dtype=np.intp)
    number[order] = np.arange(len(names))
    return Sorted(whole[order], number)


def as_whole_numbers(names: NDArray[Any]) -> NDArray[Any]:
    """Return names as whole numbers if all are written as such, else unchanged.

    Examples
    --------
    >>> as_whole_numbers(np.array(["7", "-12"])), as_whole_numbers(np.array(["07", "12"]))
    (array([  7, -12]), array(['07', '12'], dtype='<U2'))
    """
    if names.dtype.kind != "U" or not names.size or names.dtype.itemsize > 4 * 18:
        return names
    try:
        numbers = names.astype(np.int64)
    except ValueError:
        return names
    return numbers if (numbers.astype(names.dtype) == names).all() else names


def join(sources: Sequence[Source]) -> tuple[Sorted, Sorted]:
    """Return the names of all people and of all tasks.

    Parameters
    ----------
    sources : sequence of Source
    """
    return _union([own.people for own in sources]), _union([own.tasks for own in sources])


def _union(parts: Sequence[NDArray[Any]]) -> Sorted:
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(np.str_) for part in parts]
    names = parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
    return Sorted(names, np.arange(len(names)))


def places(names: NDArray[Any], among: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each name among sorted names.

    Parameters
    ----------
    names, among : arrays
    """
    if names is among:
        return np.arange(len(names))
    return np.searchsorted(among, names.astype(among.dtype))


def added(
    sources: Sequence[Source], columns: Columns, windows: Sequence[int] | None = None
) -> tuple[NDArray[Any], NDArray[Any], Sums]:
    """Return the people and tasks with a labelled event, and their sums over all sources.

    Parameters
    ----------
    sources : sequence of Source
    columns : Columns
    windows : sequence of int, optional
        The windows of time to add. Default: all.
    """
    people, tasks = join(sources)
    parts = []
    for own in sources:
        numbers = places(own.people, people.names), places(own.tasks, tasks.names)
        for window, sums in own.sums.items():
            if windows is None or window in windows:
                parts.append(sums if len(sources) == 1 else sums.renumbered(*numbers))
    try:
        total = add_up(parts, len(people.names), len(tasks.names))
    except ChangedLabelError as changed:
        person, task = people.names[changed.person], tasks.names[changed.task]
        guilty = [own.name for own in sources if person in own.people and task in own.tasks]
        refuse_changed(person, task, columns, guilty)
    kept = [*_used(total.person, people.names), *_used(total.task, tasks.names)]
    if len(kept[0]) < len(people.names) or len(kept[2]) < len(tasks.names):
        total = total.renumbered(kept[1], kept[3])
    return kept[0], kept[2], total


def _used(numbers: NDArray[Any], names: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the names that are used, and the new number of each."""
    used = np.zeros(len(names), dtype=bool)
    used[numbers] = True
    yield names if used.all() else names[used]
    yield np.cumsum(used) - 1
