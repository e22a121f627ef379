"""People from files: features and labels, in one table or in two joined by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import InputError
from averagefair.files import STREAM, FileTable, read_file


@dataclass(frozen=True, eq=False)
class People:
    """Features and labels of the same people, in the same order.

    Attributes
    ----------
    X, Y : pyarrow tables, shapes (n, d) and (n, m)
    ids : array of str, shape (n,), or None
    source : str
        The files they came from.
    later : pyarrow table, or None
        Labels on tasks that are not to be learned from.
    """

    X: Any
    Y: Any
    ids: NDArray[np.str_] | None
    source: str
    later: Any = None

    @property
    def size(self) -> str:
        """How many people, tasks and features."""
        return (
            f"{len(self.X):,} people, {self.Y.num_columns:,} tasks, {self.X.num_columns:,} features"
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
) -> People:
    """Read the people to learn from, or to test on.

    Parameters
    ----------
    data, labels : str
        Files; without ``labels`` all is in one table.
    tasks, features, ignore, new_tasks : sequences of names or patterns
        Features default to whatever is left over.
    id_column : str, optional
        Needed where there are two tables.
    """
    if labels is not None and id_column is None:
        raise InputError("two tables are joined by a column that says who a row is: give --id.")
    check_streams(data, labels)
    people = read_file(data).by(id_column)
    table = people if labels is None else read_file(labels).by(id_column)
    chosen = table.select(tasks, "--tasks")
    later = table.select(new_tasks, "--new-tasks") if new_tasks else []
    twice = sorted(set(chosen) & set(later))
    if twice:
        raise InputError(f"{table.source}: column {twice[0]!r} is both in --tasks and --new-tasks.")
    ignored = set(people.select(ignore, "--ignore")) if ignore else set()
    taken = [*chosen, *later] if table is people else []
    if features:
        named = people.select(features, "--features")
        both = [name for name in named if name in {*taken, id_column}]
        if both:
            raise InputError(
                f"{people.source}: column {both[0]!r} is both a feature and a label or id; choose "
                "--features so that it is not."
            )
    else:
        named = people.others(taken)
    named = [name for name in named if name not in ignored]
    if not named:
        raise InputError(f"{people.source}: no column is left to be a feature.")
    rows = match(people, table)
    return People(
        X=as_table(named, people.numbers(named)),
        Y=as_table(chosen, table.labels(chosen)[rows]),
        ids=people.ids,
        source=data if labels is None else f"{data} and {labels}",
        later=as_table(later, table.labels(later)[rows]) if later else None,
    )


def check_streams(*paths: str | None) -> None:
    """Refuse to read two tables from one stream."""
    if sum(path == STREAM for path in paths) > 1:
        raise InputError("standard input (-) holds one table; give files for the others.")


def match(first: FileTable, second: FileTable) -> NDArray[np.intp]:
    """Return where the first table's people stand in the second: by id, else in their order."""
    if first is second:
        return np.arange(len(first))
    if first.ids is None or second.ids is None:
        if len(first) != len(second):
            raise InputError(
                f"{first.source} has {len(first)} rows and {second.source} has {len(second)}; "
                "without an id they must list the same people in the same order. Join them with "
                "--id."
            )
        return np.arange(len(first))
    place = {one: row for row, one in enumerate(second.ids.tolist())}
    for row, one in enumerate(first.ids.tolist()):
        if one not in place:
            _in_one_only(first, row, second)
    if len(second) > len(first):
        known = set(first.ids.tolist())
        row = next(row for row, one in enumerate(second.ids.tolist()) if one not in known)
        _in_one_only(second, row, first)
    return np.array([place[one] for one in first.ids.tolist()], dtype=np.intp)


def _in_one_only(there: FileTable, row: int, missing: FileTable) -> None:
    ids, column = there.ids, there.id_column
    assert ids is not None
    assert column is not None
    there.refuse(
        row,
        column,
        f"{ids[row]!s} is not in {missing.source}; both tables must list the same people",
    )


def as_table(names: Sequence[str], cells: NDArray[Any]) -> Any:
    """Return a table of these columns, which the library reads by name."""
    import pyarrow as pa

    return pa.table({name: cells[:, place] for place, name in enumerate(names)})
