"""Labels from a log: a long table, a row for each person and task, becomes people x tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import InputError, extra, some_of
from averagefair.files.positive import words_in
from averagefair.logs.reading import batches, sources_of
from averagefair.logs.source import Columns, added, read_source
from averagefair.logs.sums import Sums


@dataclass(frozen=True, eq=False)
class LongLabels:
    """Labels of the people and tasks in a log.

    Attributes
    ----------
    people, tasks : arrays
        Names, sorted; only those with a label.
    sums : Sums
        A row for each person and task with a label.
    events : int
        The number of rows in the log.
    unlabelled : int
        The number of rows without a label.
    """

    people: NDArray[Any]
    tasks: NDArray[Any]
    sums: Sums
    events: int
    unlabelled: int

    def cells(self, people: NDArray[np.intp] | None = None) -> NDArray[np.float32]:
        """Return labels, shape (n, tasks), NaN where the log has none.

        Parameters
        ----------
        people : integer array, shape (n,), optional
            The numbers of the people, each once. Default: everybody.
        """
        if people is None:
            people = np.arange(len(self.people))
        row = np.full(len(self.people), -1, dtype=np.intp)
        row[people] = np.arange(len(people))
        out = np.full((len(people), len(self.tasks)), np.nan, dtype=np.float32)
        rows = row[self.sums.person]
        own = rows >= 0
        out[rows[own], self.sums.task[own]] = self.sums.label[own]
        return out


def labels_from_log(
    events: Any,
    *,
    person: str,
    task: str,
    label: str,
    positive: str | Sequence[str] | None = None,
) -> Any:
    """Return the labels of a long table as a pandas DataFrame, people x tasks.

    A pair of a person and a task that the log does not have is NaN, and so is a blank label. Events
    that repeat a pair must agree on the label.

    Parameters
    ----------
    events : DataFrame of any library, Arrow stream, path, or list of paths
        A row for each person and task. A path is a CSV, Parquet or Excel file, or a folder of CSV
        and Parquet files; they are read in parts, so they may be larger than memory. The result is
        in memory: four bytes for each person and task.
    person, task, label : str
        The names of the columns. A label is 0, 1 or blank.
    positive : str or sequence of str, optional
        The words that mean 1, e.g. "yes"; every other word means 0.

    Raises
    ------
    InputError
        A person has both labels on a task, a label is not 0, 1 or blank, or a person or a task is
        blank. The message says which events.

    Examples
    --------
    >>> import pandas as pd
    >>> events = pd.DataFrame({
    ...     "id": ["ann", "bo", "ann"], "school": ["a", "a", "b"], "hired": ["yes", "no", "no"]})
    >>> labels_from_log(events, person="id", task="school", label="hired", positive="yes")
           a    b
    id
    ann  1.0  0.0
    bo   0.0  NaN
    """
    pandas = extra("pandas", "pandas")
    found = read_labels(events, person=person, task=task, label=label, positive=positive)
    index = pandas.Index(found.people, name=person)
    return pandas.DataFrame(found.cells(), index=index, columns=list(map(str, found.tasks)))


def read_labels(
    events: Any,
    *,
    person: str,
    task: str,
    label: str,
    positive: str | Sequence[str] | None = None,
) -> LongLabels:
    """Read the labels of a long table; see :func:`labels_from_log`.

    Parameters
    ----------
    events, person, task, label, positive
        As for :func:`labels_from_log`.
    """
    used = [person, task, label]
    if len(set(used)) < len(used):
        twice = next(name for name in used if used.count(name) > 1)
        raise InputError(f"column {twice!r} has two roles; each role needs a column of its own.")
    words = None if positive is None else (positive,) if isinstance(positive, str) else positive
    # A log needs decisions. The labels stand for them here; only the labels of the sums are used.
    columns = Columns(person, task, label, label, positive=None if words is None else tuple(words))
    tables = sources_of(events)
    sources = [
        read_source(table, name or f"events {number}", columns)
        for number, (name, table) in enumerate(tables, 1)
    ]
    people, tasks, sums = added(sources, columns)
    if words is not None and not sums.label.any():
        # A stream in memory can be read only once, so its words are not listed.
        listed = [
            repr(word) for name, table in tables if name for word in _words(table, name, label)
        ]
        there = f" The column holds: {some_of(listed)}." if listed else ""
        raise InputError(
            f"no event has the label {' or '.join(map(repr, words))} in column {label!r}.{there}"
        )
    seen, blank = (sum(getattr(own, name) for own in sources) for name in ("events", "unlabelled"))
    return LongLabels(people, tasks, sums, seen, blank)


def _words(table: Any, name: str, label: str) -> list[str]:
    """Return the words in the first labels of a file."""
    batch = next(iter(batches(table, name, [label])), None)
    return [] if batch is None else [*words_in(batch.columns[label]).values()]
