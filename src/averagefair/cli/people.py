"""People from files: features and labels, in one table or in two joined by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import InputError, extra, some_of
from averagefair.files.reading import STREAM, read_file
from averagefair.files.table import FileTable
from averagefair.text import counted, percent


@dataclass(frozen=True, eq=False)
class People:
    """Features and labels of the same people, in the same order.

    Attributes
    ----------
    X, Y : pyarrow tables, shapes (n, d) and (n, m)
    ids : array of str, shape (n,), or None
        Who they are, where a column says so.
    names : array of str, shape (n,)
        What they are called: the ids, or their rows.
    tables : tuple of FileTable
        The files they came from.
    blank : float
        The share of labels that are blank.
    later : pyarrow table, or None
        Labels on tasks that are not to be learned from.
    """

    X: Any
    Y: Any
    ids: NDArray[np.str_] | None
    names: NDArray[np.str_]
    tables: tuple[FileTable, ...]
    blank: float
    later: Any = None

    @property
    def source(self) -> str:
        """The files they came from."""
        return " and ".join(table.source for table in self.tables)

    @property
    def size(self) -> str:
        """How many people, tasks and features, and which those are."""
        blank = f" ({percent(self.blank)} of the labels blank)" if self.blank else ""
        return (
            f"{counted(len(self.X), 'person', 'people')}, "
            f"{counted(self.Y.num_columns, 'task')}{blank}, "
            f"{counted(self.X.num_columns, 'feature')} from {self.source}\n"
            f"features: {some_of(self.X.column_names)}"
        )


def read_people(
    data: str,
    *,
    tasks: Sequence[str],
    features: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    id_column: str | None = None,
    labels: str | None = None,
    new_tasks: Sequence[str] | None = None,
    exact: bool = False,
) -> People:
    """Read the people to learn from, or to test on.

    Parameters
    ----------
    data, labels : str
        Files; without ``labels`` all is in one table.
    tasks, features, ignore, new_tasks : sequences of names or patterns
        Features default to whatever is left over. A column that is ignored is nothing else; one of
        the new tasks is no other task.
    id_column : str, optional
        Needed where there are two tables.
    exact : bool, default False
        Whether the names are those of another table, and no patterns.
    """
    if labels is not None and id_column is None:
        raise InputError("two tables are joined by a column that says who a row is: give --id.")
    check_streams(data, labels)
    people = read_file(data).by(id_column)
    table = people if labels is None else read_file(labels).by(id_column)
    find = FileTable.require if exact else FileTable.select
    ignored = ignored_columns(ignore, people, table)
    later = [name for name in find(table, new_tasks or [], "--new-tasks") if name not in ignored]
    aside = {*ignored, *later}
    chosen = [name for name in find(table, tasks, "--tasks") if name not in aside]
    taken = [*chosen, *later]
    named = find(people, features, "--features") if features else people.others(taken)
    named = [name for name in named if name not in ignored]
    both = [name for name in named if name in {*taken, id_column}]
    if both:
        raise InputError(
            f"{people.source}: column {both[0]!r} is both a feature and a label or id; choose "
            "--features so that it is not."
        )
    for kind, names in (("a feature", named), ("a task", chosen)):
        if not names:
            raise InputError(f"{people.source}: no column is left to be {kind}.")
    rows = match(people, table)
    Y = table.labels(chosen)[rows]
    return People(
        X=as_table(named, people.numbers(named)),
        Y=as_table(chosen, Y),
        ids=people.ids,
        names=people.names,
        tables=(people,) if table is people else (people, table),
        blank=float(np.isnan(Y).mean()),
        later=as_table(later, table.labels(later)[rows]) if later else None,
    )


def ignored_columns(patterns: Sequence[str] | None, *tables: FileTable) -> set[str]:
    """Return the columns to leave out; each pattern must match in some table."""
    found: set[str] = set()
    for pattern in patterns or []:
        matching = {name for table in tables for name in table.matching(pattern)}
        found |= matching or set(tables[0].select([pattern], "--ignore"))
    return found


def check_streams(*paths: str | None) -> None:
    """Refuse to read two tables from one stream."""
    if sum(path == STREAM for path in paths) > 1:
        raise InputError("standard input (-) holds one table; give files for the others.")


REMEDY = "Take them out, or add them to the other table"


def match(
    first: FileTable, second: FileTable, *, more: bool = False, remedy: str = REMEDY
) -> NDArray[np.intp]:
    """Return where the first table's people stand in the second: by id, else in their order.

    Parameters
    ----------
    first, second : FileTable
    more : bool, default False
        Whether the second may list other people too.
    remedy : str
        What to do about people in one table only.
    """
    if first is second:
        return np.arange(len(first))
    if first.ids is None or second.ids is None:
        _check_order(first, second)
        return np.arange(len(first))
    ours, theirs = first.ids.tolist(), second.ids.tolist()
    place = {one: row for row, one in enumerate(theirs)}
    known = set(ours)
    missing = [one for one in ours if one not in place]
    surplus = [] if more else [one for one in theirs if one not in known]
    if missing or surplus:
        _refuse_others(first, second, missing, surplus, remedy)
    return np.array([place[one] for one in ours], dtype=np.intp)


def _check_order(first: FileTable, second: FileTable) -> None:
    """Refuse rows that cannot be the same people in the same order."""
    remedy = "without an id they must list the same people in the same order. Join them with --id"
    if len(first) != len(second):
        raise InputError(
            f"{first.source} has {counted(len(first), 'row')} and {second.source} has "
            f"{len(second):,}; {remedy}."
        )
    distinct = extra("pyarrow.compute", "files").count_distinct
    for name in first.others([]):
        if name in second.columns and distinct(first.columns[name]).as_py() == len(first) > 1:
            ours, theirs = first.words(name, ""), second.words(name, "")
            if ours != theirs and set(ours) == set(theirs):
                raise InputError(
                    f"{first.source} and {second.source} have the same cells in column {name!r}, "
                    f"in another order; {remedy} {name}."
                )


def _refuse_others(
    first: FileTable, second: FileTable, missing: list[str], surplus: list[str], remedy: str
) -> None:
    found = [
        f"{len(names):,} only in {table.source}: {some_of(names)}"
        for table, names in ((first, missing), (second, surplus))
        if names
    ]
    hint = ""
    if {one.lstrip("0") for one in missing} & {one.lstrip("0") for one in surplus}:
        hint = " Some differ by leading zeroes alone, which spreadsheets drop."
    table, names = (first, missing) if missing else (second, surplus)
    assert table.ids is not None
    row = table.ids.tolist().index(names[0])
    table.refuse(
        row,
        str(table.id_column),
        f"{first.source} and {second.source} must list the same people; {'; '.join(found)}.{hint} "
        f"{remedy}",
    )


def as_table(names: Sequence[str], cells: NDArray[Any]) -> Any:
    """Return a table of these columns, which the library reads by name."""
    table = extra("pyarrow", "files").table
    return table({name: cells[:, place] for place, name in enumerate(names)})
