"""DecisionLog: decisions as events, kept as sums, audited at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.text import counted
from averagefair.auditing.audit import audit_losses, check_request
from averagefair.auditing.drift import Drift, drift
from averagefair.auditing.losses import Losses
from averagefair.auditing.result import Audit
from averagefair.auditing.trials import Trials
from averagefair.errors import InputError, some_of
from averagefair.game.protocols import Rate
from averagefair.logs import state
from averagefair.logs.encoding import check_period
from averagefair.logs.reading import sources_of
from averagefair.logs.source import NO_WINDOW, Columns, Source, added, read_source
from averagefair.logs.sums import Sums

# Cells whose labels are hashed at a time.
_CELLS = 2_000_000
# Sources with fewer events may have the same sums by chance.
_LEAST_ALIKE = 10


class DecisionLog:
    """Decisions as events: who, on which task, what was right, what was decided.

    The log keeps, for each person and task, the label, the number of decisions and the number of
    wrong ones. It forgets the events. Files can be added one by one, in any order: the audit is the
    same, to the last bit, as of all events at once.

    Parameters
    ----------
    person, task, label, decision : str
        The names of the columns. A label is 0, 1 or blank: what would have been right. A decision
        is 0, 1 or the probability of deciding 1. Events with a blank label are counted and left
        out. Several events of one person and task are trials of the same case, so they must agree
        on the label.
    time : str, optional
        The column with the date or time of the event. Sums are then kept for each window of time,
        and :meth:`drift` compares the windows.
    weight : str, optional
        The column that says how many events a row stands for.
    every : {"day", "week", "month", "quarter", "year"}, default "month"
        The length of a window.
    positive : str, optional
        The word that means 1 in labels and decisions, e.g. "yes"; every other word means 0.

    Examples
    --------
    >>> import pandas as pd
    >>> events = pd.DataFrame({
    ...     "id": [1, 1, 2, 2, 3, 3, 1], "school": ["a", "b", "a", "b", "a", "b", "a"],
    ...     "fit": [1, 0, 1, 1, 0, 1, 1], "offer": [1, 0, 0, 1, 1, 0, 0]})
    >>> log = DecisionLog(person="id", task="school", label="fit", decision="offer")
    >>> log.update(events)
    DecisionLog(7 events of 3 people on 2 tasks)
    >>> log.audit().people.rate
    array([0.33333333, 0.5       , 1.        ])
    """

    def __init__(
        self,
        *,
        person: str,
        task: str,
        label: str,
        decision: str,
        time: str | None = None,
        weight: str | None = None,
        every: str = "month",
        positive: str | None = None,
    ) -> None:
        columns = Columns(
            person, task, label, decision, time, weight, check_period(every), positive
        )
        used = columns.used()
        if len(set(used)) < len(used):
            twice = next(name for name in used if used.count(name) > 1)
            raise InputError(
                f"column {twice!r} has two roles; each role needs a column of its own."
            )
        self._columns = columns
        self._sources: tuple[Source, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the files and tables that were added."""
        return tuple(own.name for own in self._sources)

    @property
    def events(self) -> int:
        """The number of events, those without a label included."""
        return sum(own.events for own in self._sources)

    @property
    def unlabelled(self) -> int:
        """The number of events without a label; an audit leaves them out."""
        return sum(own.unlabelled for own in self._sources)

    @property
    def columns(self) -> dict[str, str | None]:
        """The names of the columns, ``every`` and ``positive``, as the log was made with them."""
        return self._columns._asdict()

    @property
    def windows(self) -> tuple[str, ...]:
        """The first days of the windows of time, ascending; empty without ``time``."""
        found = sorted({window for own in self._sources for window in own.sums})
        return tuple(_day(window) for window in found if window != NO_WINDOW)

    def update(self, events: Any, source: str | None = None) -> DecisionLog:
        """Add events; return the log itself.

        If anything is wrong with the events, nothing is added.

        Parameters
        ----------
        events : DataFrame of any library, Arrow stream, path, or list of paths
            A long table, a row for each event. A path is a CSV or Parquet file, or a folder of
            them; files are read in parts and may be larger than memory. A DuckDB relation is an
            Arrow stream.
        source : str, optional
            A name for these events; each source can be added once. Default: the file's path, or
            "events 1", "events 2", ...
        """
        tables = sources_of(events)
        if source is not None and len(tables) > 1:
            raise InputError(
                f"`source` names one table; got {len(tables)} files. Leave it out: each file is "
                "named by its path."
            )
        new: list[Source] = []
        for path, table in tables:
            name = source or path or f"events {len(self._sources) + len(new) + 1}"
            if name in self.sources or name in [own.name for own in new]:
                raise InputError(
                    f"{name!r} was added before; its events would count twice. If they are other "
                    "events, give them another name: update(events, source=...)."
                )
            new.append(read_source(table, name, self._columns))
        self._sources = (*self._sources, *new)
        return self

    def remove(self, source: str) -> DecisionLog:
        """Take back the events of one source; return the log itself.

        Parameters
        ----------
        source : str
            One of :attr:`sources`.
        """
        if source not in self.sources:
            raise InputError(
                f"there is no source {source!r}; the sources: {some_of(self.sources)}."
            )
        self._sources = tuple(own for own in self._sources if own.name != source)
        return self

    def audit(
        self,
        *,
        rate: str | Rate = "error",
        groups: Any = None,
        alpha: float | None = None,
        beta: float | None = None,
        learned_tasks: bool = False,
        confidence: float = 0.95,
        windows: Sequence[str] | None = None,
        random_state: Any = 0,
    ) -> Audit:
        """Audit all events so far; see :func:`averagefair.audit`.

        Repeated decisions about a person on a task are trials. A person's rate is the share of
        wrong decisions among all their decisions. A task counts as one draw however often it was
        repeated.

        Parameters
        ----------
        rate : {"error", "false_positive", "false_negative"} or Rate, default "error"
        groups : Series or DataFrame, optional
            The group of each person, aligned by index.
        alpha, beta, learned_tasks, confidence, random_state
            As for :func:`averagefair.audit`.
        windows : sequence of str, optional
            Only these windows of time. Default: all events.
        """
        request = check_request(rate, alpha, beta, confidence, random_state)
        request["learned_tasks"] = bool(learned_tasks)
        return self._audit(request, groups, self._chosen(windows))

    def drift(
        self,
        *,
        rate: str | Rate = "error",
        alpha: float | None = None,
        beta: float | None = None,
        confidence: float = 0.95,
        random_state: Any = 0,
    ) -> Drift:
        """Audit each window of time, and compare the windows; see :func:`averagefair.drift`.

        People may come and go, and tasks may return.

        Parameters
        ----------
        rate, alpha, beta, confidence, random_state
            As for :func:`averagefair.audit`.
        """
        if self._columns.time is None:
            raise InputError(
                "drift needs the time of each event: name the column, DecisionLog(..., time=...)."
            )
        request = check_request(rate, alpha, beta, confidence, random_state)
        audits = [self._audit(request, None, self._chosen([name])) for name in self.windows]
        return drift(audits, list(self.windows))

    def doubled(self) -> list[tuple[str, str]]:
        """Return pairs of sources with the same sums: probably one table under two names.

        Sources of fewer than ten events are not compared: they may be alike by chance.
        """
        large = [own for own in self._sources if own.events >= _LEAST_ALIKE]
        return [
            (first.name, second.name)
            for first, second in combinations(large, 2)
            if first.events == second.events and _alike(first, second)
        ]

    def save(self, folder: Any) -> None:
        """Write the sums to a folder; sources that are there already are not written again.

        Parameters
        ----------
        folder : path
            Made if it is missing. It holds one Arrow file for each source, and ``log.json``.
        """
        state.save(folder, self._columns, self._sources)

    @classmethod
    def load(cls, folder: Any) -> DecisionLog:
        """Read a log that was saved.

        Parameters
        ----------
        folder : path
        """
        columns, sources = state.load(folder)
        log = cls(**columns._asdict())
        log._sources = sources
        return log

    def _chosen(self, windows: Sequence[str] | None) -> list[int] | None:
        if windows is None:
            return None
        unknown = [name for name in windows if name not in self.windows]
        if unknown:
            raise InputError(
                f"there is no window {some_of([*map(repr, unknown)])}; the windows begin on "
                f"{some_of(self.windows) or 'no day: this log has no times'}."
            )
        return [int(np.datetime64(name, "D").astype(np.int64)) for name in windows]

    def _audit(self, request: dict[str, Any], groups: Any, windows: list[int] | None) -> Audit:
        if not self._sources:
            raise InputError("the log is empty: add events with update() first.")
        kind = request["rate"]
        people, tasks, sums = added(self._sources, self._columns, windows)
        counts = None
        if kind.negatives == 0.0 or kind.positives == 0.0:
            counts = sums.label == bool(kind.positives)
        starts = np.searchsorted(sums.person, np.arange(len(people) + 1))
        cells = Trials((len(people), len(tasks)), starts, sums.task, sums.count, sums.wrong, counts)
        names = tuple(map(str, tasks.tolist()))
        prints = _fingerprints(sums, len(people), len(tasks))
        losses = Losses(cells, people, names, index=people, named_tasks=True, fingerprints=prints)
        found = audit_losses(losses, **{**request, "rate": kind.name}, groups=groups)
        return replace(found, notes=(*self._notes(sums, names), *found.notes))

    def _notes(self, sums: Any, tasks: tuple[str, ...]) -> list[str]:
        out = []
        if self.unlabelled:
            out.append(f"left out: {counted(self.unlabelled, 'event')} without a label.")
        repeated = int(np.count_nonzero(sums.count > 1))
        if repeated:
            out.append(
                f"{counted(repeated, 'pair')} of a person and a task had several decisions. They "
                "count as trials of one task."
            )
        lonely = np.flatnonzero(np.bincount(sums.task, minlength=len(tasks)) == 1)
        if lonely.size:
            listed = some_of([tasks[int(task)] for task in lonely])
            out.append(
                f"only one person met {counted(lonely.size, 'task')}: {listed}. There, a hard "
                "task and a badly treated person look alike."
            )
        return out

    def __repr__(self) -> str:
        people = {len(own.people) for own in self._sources}
        if not self._sources:
            return "DecisionLog(no events)"
        if len(self._sources) > 1:
            return f"DecisionLog({counted(self.events, 'event')} from {len(self._sources)} sources)"
        (n,), (m,) = people, {len(own.tasks) for own in self._sources}
        return (
            f"DecisionLog({counted(self.events, 'event')} of {counted(n, 'person', 'people')} on "
            f"{counted(m, 'task')})"
        )


def audit_log(
    events: Any,
    *,
    person: str,
    task: str,
    label: str,
    decision: str,
    time: str | None = None,
    weight: str | None = None,
    positive: str | None = None,
    rate: str | Rate = "error",
    groups: Any = None,
    alpha: float | None = None,
    beta: float | None = None,
    learned_tasks: bool = False,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> Audit:
    """Audit decisions that come as a log: a long table with a row for each event.

    To add events later, or to look at drift, keep a :class:`DecisionLog`.

    Parameters
    ----------
    events : DataFrame of any library, Arrow stream, path, or list of paths
        CSV and Parquet files may be larger than memory.
    person, task, label, decision, time, weight, positive
        The names of the columns, as in :class:`DecisionLog`.
    rate, groups, alpha, beta, learned_tasks, confidence, random_state
        As in :func:`averagefair.audit`.

    Examples
    --------
    >>> import pandas as pd
    >>> events = pd.DataFrame({
    ...     "id": ["Ann", "Ann", "Bo", "Bo"], "school": ["a", "b", "a", "b"],
    ...     "fit": [1, 0, 1, 1], "offer": [1, 0, 0, 1]})
    >>> found = audit_log(events, person="id", task="school", label="fit", decision="offer")
    >>> found.worst_off(1)[0]["name"]
    'Bo'
    """
    log = DecisionLog(
        person=person,
        task=task,
        label=label,
        decision=decision,
        time=time,
        weight=weight,
        positive=positive,
    )
    return log.update(events).audit(
        rate=rate,
        groups=groups,
        alpha=alpha,
        beta=beta,
        learned_tasks=learned_tasks,
        confidence=confidence,
        random_state=random_state,
    )


def _fingerprints(sums: Sums, people: int, tasks: int) -> FloatArray:
    """Return a hash of each task's labels, the same as of a table with these people and labels."""
    keys = np.random.default_rng(0).integers(1, 2**31, people).astype(np.float64)
    out = np.zeros(tasks)
    for start in range(0, len(sums), _CELLS):
        part = slice(start, start + _CELLS)
        own = keys[sums.person[part]]
        own[sums.label[part]] *= -1.0
        out += np.bincount(sums.task[part], own, tasks)
    return out


def _alike(first: Source, second: Source) -> bool:
    """Return whether two sources have the same sums of the same people and tasks."""
    if first.unlabelled != second.unlabelled or first.sums.keys() != second.sums.keys():
        return False
    pairs = [(first.people, second.people), (first.tasks, second.tasks)]
    for window, own in first.sums.items():
        pairs += zip(own.columns(), second.sums[window].columns(), strict=True)
    return all(np.array_equal(mine, theirs) for mine, theirs in pairs)


def _day(window: int) -> str:
    return str(np.datetime64(window, "D"))
