"""Encode events: numbers for people, tasks and windows of time; what is wrong is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.text import counted
from averagefair.errors import InputError, extra, some_of
from averagefair.files.cells import NotNumbersError, numbers
from averagefair.files.positive import positive_words, read_positive
from averagefair.logs.reading import Batch

MOST_TASKS = 20_000
"""A log with more tasks than this is refused: the task column is then probably an id."""
PERIODS = ("day", "week", "month", "quarter", "year")
# The largest range of whole numbers for which a table with an entry for each is kept.
_LARGEST_TABLE = 2**25
_NO_TIME = "is blank; every event needs a time. Fill it in, or leave out the event"
_STEPS = {"day": "D", "month": "M", "year": "Y"}


class Numbers:
    """Numbers for the distinct values of a column, in the order in which they were met.

    Parameters
    ----------
    column : str
        For messages.
    """

    def __init__(self, column: str) -> None:
        self.column = column
        self._known: Any = None
        # The number of each whole number from `_first` on; None if ids are not looked up so.
        self._table: Any = None
        self._first = 0

    def __len__(self) -> int:
        return 0 if self._known is None else len(self._known)

    def of(self, batch: Batch) -> NDArray[np.intp]:
        """Return the number of each event's value, shape (events,).

        Parameters
        ----------
        batch : Batch
        """
        pa, pc = extra("pyarrow", "logs"), extra("pyarrow.compute", "logs")
        values = _one_array(batch.columns[self.column])
        if pa.types.is_integer(values.type) and not values.null_count:
            found = self._of_whole_numbers(
                np.asarray(values.to_numpy()).astype(np.int64, copy=False)
            )
            if found is not None:
                return found
        coded = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
        if coded.null_count:
            event = int(np.flatnonzero(coded.is_null().to_numpy(zero_copy_only=False))[0])
            batch.refuse(event, self.column, "is blank; every event needs a person and a task")
        own = self._as_names(coded.dictionary, batch)
        if self._known is None:
            self._known = own.slice(0, 0)
        if own.type != self._known.type:
            self._table = None
            own, self._known = (
                pc.cast(own, pa.large_string()),
                pc.cast(self._known, pa.large_string()),
            )
        place = pc.index_in(own, value_set=self._known)
        new = place.is_null()
        if pc.any(new).as_py():
            self._known = pa.concat_arrays([self._known, pc.unique(own.filter(new))])
            place = pc.index_in(own, value_set=self._known)
        return np.asarray(place.to_numpy()[coded.indices.to_numpy()])

    def _of_whole_numbers(self, values: NDArray[np.int64]) -> NDArray[np.intp] | None:
        """Return the numbers by looking them up in a table; None if the ids need too large a one.

        This is twice as fast as looking values up among the known ones.
        """
        pa = extra("pyarrow", "logs")
        if self._known is not None and self._table is None:
            return None
        if not values.size:
            return np.empty(0, dtype=np.intp)
        low, high = int(values.min()), int(values.max()) + 1
        if self._known is not None:
            low, high = min(low, self._first), max(high, self._first + len(self._table))
        if high - low > _LARGEST_TABLE:
            self._table = None
            return None
        if self._known is None:
            self._known, self._first = pa.array([], pa.int64()), low
            self._table = np.full(high - low, -1, dtype=np.int32)
        elif high - low > len(self._table):
            wider = np.full(high - low, -1, dtype=np.int32)
            wider[self._first - low :][: len(self._table)] = self._table
            self._table, self._first = wider, low
        new = np.unique(values[self._table[values - self._first] < 0])
        if new.size:
            self._table[new - self._first] = np.arange(len(self), len(self) + new.size)
            self._known = pa.concat_arrays([self._known, pa.array(new, pa.int64())])
        return np.asarray(self._table[values - self._first].astype(np.intp))

    def _as_names(self, values: Any, batch: Batch) -> Any:
        """Return ids as whole numbers or text; refuse what is neither."""
        pa, pc = extra("pyarrow", "logs"), extra("pyarrow.compute", "logs")
        kind = values.type
        if pa.types.is_integer(kind):
            return pc.cast(values, pa.int64(), safe=False)
        if pa.types.is_floating(kind):
            whole = pc.cast(values, pa.int64(), safe=False)
            if not pc.all(pc.equal(pc.cast(whole, kind), values)).as_py():
                raise InputError(
                    f"{batch.source}: column {self.column!r} holds numbers with fractions. Names "
                    "of people and tasks must be text or whole numbers."
                )
            return whole
        if pa.types.is_boolean(kind):
            return pc.cast(values, pa.large_string())
        try:
            text = pc.cast(values, pa.large_string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(
                f"{batch.source}: column {self.column!r} has the type {kind}. Names of people and "
                "tasks must be text or whole numbers."
            ) from None
        empty = pc.equal(pc.utf8_trim_whitespace(text), "")
        if pc.any(empty).as_py():
            raise InputError(
                f"{batch.source}: column {self.column!r} is blank for some events; every event "
                "needs a person and a task."
            )
        return text

    def names(self) -> NDArray[Any]:
        """Return the values, whole numbers or text, in the order of their numbers."""
        if self._known is None:
            return np.empty(0, dtype="U1")
        values = np.asarray(self._known.to_numpy(zero_copy_only=False))
        return values if values.dtype.kind == "i" else values.astype(np.str_)


def check_tasks(tasks: Numbers, events: int) -> None:
    """Refuse a task column that is probably an id.

    Parameters
    ----------
    tasks : Numbers
    events : int
        How many events were read so far.
    """
    if len(tasks) > MOST_TASKS:
        raise InputError(
            f"column {tasks.column!r} has {len(tasks):,} different tasks in "
            f"{counted(events, 'event')}; an audit takes at most {MOST_TASKS:,}. A task is a kind "
            "of decision that many people meet (a school, a job, a product). Is this the id of "
            "events or people? Name another column as the task."
        )


def labels_of(batch: Batch, column: str, positive: str | Sequence[str] | None) -> NDArray[np.int8]:
    """Return labels as 0, 1, and -1 where blank, shape (events,).

    Parameters
    ----------
    batch : Batch
    column : str
    positive : str, sequence of str, or None
        The words for 1; every other word is 0. None: cells are 0, 1, true, false or blank.
    """
    values = _numbers(batch, column, positive)
    known = ~np.isnan(values)
    wrong = known & (values != 0) & (values != 1)
    if wrong.any():
        event = int(np.flatnonzero(wrong)[0])
        batch.refuse(
            event,
            column,
            f"labels must be 0, 1 or blank; got {values[event]:g}. For words, say which one is "
            'positive, e.g. positive="yes" (--positive yes)',
        )
    return np.where(known, values, -1).astype(np.int8)


def decisions_of(
    batch: Batch, column: str, positive: str | Sequence[str] | None, known: NDArray[np.bool_]
) -> FloatArray:
    """Return decisions in [0, 1], shape (events,); they may be blank only where labels are.

    Parameters
    ----------
    batch : Batch
    column : str
    positive : str, sequence of str, or None
    known : bool array, shape (events,)
        Where the label is known.
    """
    values = _numbers(batch, column, positive, chances=True)
    wrong = known & ~((values >= 0) & (values <= 1))
    if wrong.any():
        event = int(np.flatnonzero(wrong)[0])
        value = values[event]
        if np.isnan(value):
            batch.refuse(
                event,
                column,
                "is blank, but the label is known. Fill it in, or blank the labels of events "
                "without a decision: they are then left out",
            )
        batch.refuse(
            event,
            column,
            f"decisions must be 0, 1, or the probability of deciding 1; got {value:g}",
        )
    return values


def weights_of(batch: Batch, column: str) -> FloatArray:
    """Return weights, shape (events,): positive and finite.

    Parameters
    ----------
    batch : Batch
    column : str
    """
    values = _numbers(batch, column, None)
    wrong = ~((values > 0) & np.isfinite(values))
    if wrong.any():
        event = int(np.flatnonzero(wrong)[0])
        batch.refuse(
            event, column, f"a weight must be above 0; got {values[event]:g}. Leave out the event"
        )
    return values


def _numbers(
    batch: Batch, column: str, positive: str | Sequence[str] | None, *, chances: bool = False
) -> FloatArray:
    cells = _one_array(batch.columns[column])
    if positive is not None:
        return read_positive(cells, positive_words(positive), chances=chances)
    try:
        return numbers(cells)
    except NotNumbersError as found:
        batch.refuse(
            found.row,
            column,
            f"holds {found.value!r}, which is not a number. For words, say which one is positive, "
            'e.g. positive="yes" (--positive yes)',
        )


def windows_of(batch: Batch, column: str, every: str) -> NDArray[np.int64]:
    """Return the first day of each event's window, in days since 1970, shape (events,).

    Parameters
    ----------
    batch : Batch
    column : str
    every : {"day", "week", "month", "quarter", "year"}
    """
    pa, pc = extra("pyarrow", "logs"), extra("pyarrow.compute", "logs")
    times = _one_array(batch.columns[column])
    if pa.types.is_dictionary(times.type):
        times = pc.cast(times, times.type.value_type)
    if pa.types.is_string(times.type) or pa.types.is_large_string(times.type):
        times = pc.utf8_trim_whitespace(times)
    elif not pa.types.is_temporal(times.type):
        raise InputError(
            f"{batch.source}: column {column!r} must hold dates or times, as 2026-05-31 or "
            f"2026-05-31T12:00; it holds {times.type}."
        )
    if times.null_count:
        event = int(np.flatnonzero(times.is_null().to_numpy(zero_copy_only=False))[0])
        batch.refuse(event, column, _NO_TIME)
    try:
        stamps = pc.cast(times, pa.timestamp("s"), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        for event, text in enumerate(times.to_pylist()):
            if text == "":
                batch.refuse(event, column, _NO_TIME)
            try:
                pc.cast(pa.scalar(text), pa.timestamp("s"), safe=False)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                batch.refuse(
                    event,
                    column,
                    f"{text!r} is not a date or time. Write 2026-05-31 or 2026-05-31T12:00",
                )
        raise
    days = np.asarray(stamps.to_numpy()).astype("M8[s]").astype("M8[D]")
    return window_starts(days, every)


def window_starts(days: NDArray[Any], every: str) -> NDArray[np.int64]:
    """Return the first day of the window of each day, in days since 1970.

    Examples
    --------
    >>> days = np.array(["2026-05-31", "2026-06-01"], dtype="M8[D]")
    >>> [str(np.datetime64(int(day), "D")) for day in window_starts(days, "quarter")]
    ['2026-04-01', '2026-04-01']
    >>> [str(np.datetime64(int(day), "D")) for day in window_starts(days, "week")]
    ['2026-05-25', '2026-06-01']
    """
    if every == "week":  # 1970-01-01 was a Thursday
        number = days.astype(np.int64)
        return np.asarray(number - (number + 3) % 7)
    if every == "quarter":
        months = days.astype("M8[M]").astype(np.int64)
        days = (months - months % 3).astype("M8[M]")
    else:
        days = days.astype(f"M8[{_STEPS[every]}]")
    return np.asarray(days.astype("M8[D]").astype(np.int64))


def check_period(every: str) -> str:
    """Return the period if it is known."""
    if every not in PERIODS:
        raise InputError(f"`every` must be one of {some_of(PERIODS)}; got {every!r}.")
    return every


def _one_array(column: Any) -> Any:
    """Return a pyarrow array; parts of a chunked one are joined."""
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column
