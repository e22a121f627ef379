"""Drift: the same people audited over successive batches of tasks.

Tasks that come later are fresh: each batch is a test of its own, and what noise two batches have is
independent. So one can see whether the spread between people grows, and whether it is the same
people who are worst off again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan, sqrt
from typing import Any

import numpy as np

from averagefair.auditing.audit import audit_losses
from averagefair.auditing.comparison import change_of_spread, check_same_people
from averagefair.auditing.estimates import Estimate, with_interval
from averagefair.auditing.result import Audit
from averagefair.errors import InputError, some_of
from averagefair.tables import read_categories
from averagefair.text import table


@dataclass(frozen=True, eq=False, repr=False)
class Drift:
    """Successive audits of the same people, and what changed from each to the next. ``print`` it.

    Attributes
    ----------
    names : tuple of str
        The batches.
    audits : tuple of Audit
    p : tuple of float
        Each batch's p-value.
    p_together : tuple of float
        The p-values with all batches considered (Holm): whoever acts on any of these below 0.05
        is wrong no more than once in twenty such series.
    mean_changes, sigma2_changes : tuple of Estimate
        From each batch to the next; one fewer than there are batches.
    persistence : tuple of float
        How true rates in each batch correlate with those in the next: near 1 if the same people
        are badly off again, near 0 if it is others. NaN where a batch shows no spread.
    """

    names: tuple[str, ...]
    audits: tuple[Audit, ...]
    p: tuple[float, ...]
    p_together: tuple[float, ...]
    mean_changes: tuple[Estimate, ...]
    sigma2_changes: tuple[Estimate, ...]
    persistence: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.audits)

    def __iter__(self) -> Iterator[Audit]:
        return iter(self.audits)

    def __getitem__(self, place: int) -> Audit:
        return self.audits[place]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the table, a list for each column; changes are from the batch before."""
        first = Estimate(nan, nan, nan, nan, nan)
        means, spreads = (first, *self.mean_changes), (first, *self.sigma2_changes)
        return {
            "batch": list(self.names),
            "tasks": [one.m for one in self.audits],
            "mean": [one.mean.value for one in self.audits],
            "mean_low": [one.mean.low for one in self.audits],
            "mean_high": [one.mean.high for one in self.audits],
            "sigma": [one.spread.sigma for one in self.audits],
            "sigma2": [one.spread.sigma2.value for one in self.audits],
            "p": list(self.p),
            "p_together": list(self.p_together),
            "mean_change": [change.value for change in means],
            "mean_change_low": [change.low for change in means],
            "mean_change_high": [change.high for change in means],
            "sigma2_change": [change.value for change in spreads],
            "sigma2_change_low": [change.low for change in spreads],
            "sigma2_change_high": [change.high for change in spreads],
            "persistence": [nan, *self.persistence],
        }

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame (pandas must be installed)."""
        import pandas as pd

        return pd.DataFrame(self.to_dict())

    def statement(self) -> str:
        """Say in plain words what changed."""
        clear = [name for name, p in zip(self.names, self.p_together, strict=True) if p <= 0.05]
        parts = [
            f"Differences between people are more than chance in {len(clear)} of {len(self)} "
            f"batches{': ' + ', '.join(clear) if clear else ''} (all batches considered)."
        ]
        for what, changes in (
            ("The mean rate", self.mean_changes),
            ("The variance of true rates", self.sigma2_changes),
        ):
            moved = [
                f"{'up' if change.low > 0 else 'down'} in {name}"
                for name, change in zip(self.names[1:], changes, strict=True)
                if change.low > 0 or change.high < 0
            ]
            if moved:
                parts.append(f"{what} went {', '.join(moved)}.")
        known = [share for share in self.persistence if not np.isnan(share)]
        if known:
            parts.append(
                f"From batch to batch true rates correlate by {np.mean(known):.2f} on average: 1 "
                "would be the same people badly off every time, 0 others each time."
            )
        return " ".join(parts)

    def __str__(self) -> str:
        columns = self.to_dict()
        shown = ("batch", "tasks", "mean", "sigma", "p", "p_together", "mean_change", "persistence")
        rows = zip(*([_written(value) for value in columns[name]] for name in shown), strict=True)
        head = [name.replace("_", " ").replace("sigma", "true sd") for name in shown]
        return f"{table(head, rows)}\n{self.statement()}"

    __repr__ = __str__


def drift(audits: Audit | Sequence[Audit], batches: Sequence[Any] | None = None) -> Drift:
    """Follow the same people over successive batches of tasks, each batch a fresh test.

    Parameters
    ----------
    audits : Audit or sequence of Audit
        One audit, to be cut into batches of its tasks; or several in the order of time, of the
        same people in the same order, no task in two of them.
    batches : sequence
        Of one audit: the batch of each task, e.g. the month it came in, batches in the order of
        the tasks. Of several: what each is called; default 1, 2, ...

    Examples
    --------
    >>> from averagefair import audit
    >>> labels = [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]]
    >>> decisions = [[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> drift(audit(labels, decisions), ["May", "May", "June", "June"]).names
    ('May', 'June')
    """
    if isinstance(audits, Audit):
        series, called = _cut(audits, batches)
    else:
        series = tuple(audits)
        called = tuple(map(str, range(1, len(series) + 1) if batches is None else batches))
    if len(series) < 2 or not all(isinstance(one, Audit) for one in series):
        raise InputError(
            "drift takes two or more audits, or one with two or more batches; got "
            f"{[type(one).__name__ for one in series]}."
        )
    if len(called) != len(series):
        raise InputError(f"batches must name each of {len(series)} audits; got {len(called)}.")
    for later in series[1:]:
        check_same_people(series[0], later)
    pairs = list(pairwise(series))
    p = tuple(one.chance.p for one in series)
    return Drift(
        names=called,
        audits=series,
        p=p,
        p_together=_holm(p),
        mean_changes=tuple(_change_of_mean(*pair) for pair in pairs),
        sigma2_changes=tuple(change_of_spread(*pair, paired=False) for pair in pairs),
        persistence=tuple(_persistence(*pair) for pair in pairs),
    )


def _cut(audit: Audit, batches: Any) -> tuple[tuple[Audit, ...], tuple[str, ...]]:
    """Audit each batch of the tasks on its own, in the order in which they begin."""
    names, codes = read_categories(batches, audit.tasks.name, audit.m, "batches")
    if (codes < 0).any():
        blank = [audit.tasks.name[int(task)] for task in np.flatnonzero(codes < 0)]
        raise InputError(f"batches must name a batch for each task; none for {some_of(blank)}.")
    request = {}
    if audit.answer is not None:
        request = {"alpha": audit.answer.alpha, "beta": audit.answer.beta}
    order = codes[np.sort(np.unique(codes, return_index=True)[1])]
    parts = (audit._losses.take_tasks(np.flatnonzero(codes == batch)) for batch in order)
    series = tuple(
        audit_losses(part, audit.rate, confidence=audit.confidence, seed=audit.seed, **request)
        for part in parts
    )
    return series, tuple(names[batch] for batch in order)


def _change_of_mean(before: Audit, after: Audit) -> Estimate:
    """Return the change of the mean rate: people are paired, tasks are independent draws."""
    both = before._tally.rated & after._tally.rated
    n = int(np.count_nonzero(both))
    value = after.mean.value - before.mean.value
    units = min(before._tally.live.size, after._tally.live.size)
    tasks = before.mean.tasks_variance + after.mean.tasks_variance
    if n < 2 or np.isnan(tasks):
        return Estimate(value, nan, nan, nan, nan)
    people = float(np.var((after.people.rate - before.people.rate)[both], ddof=1)) / n
    return with_interval(value, people, tasks, units, before.confidence)


def _persistence(before: Audit, after: Audit) -> float:
    """Return the correlation of true rates: noise of two batches is independent and drops out."""
    both = before._tally.judged & after._tally.judged
    variances = before.spread.sigma2.value, after.spread.sigma2.value
    if np.count_nonzero(both) < 2 or not min(variances) > 0:
        return nan
    together = np.cov(before.people.rate[both], after.people.rate[both])[0, 1]
    return float(np.clip(together / sqrt(variances[0] * variances[1]), -1.0, 1.0))


def _holm(p: Sequence[float]) -> tuple[float, ...]:
    """Return Holm's adjusted p-values; NaN stays NaN.

    Examples
    --------
    >>> _holm([0.01, 0.5, 0.02])
    (0.03, 0.5, 0.04)
    """
    known = [place for place in np.argsort(p, kind="stable") if not np.isnan(p[place])]
    out, reached = [nan] * len(p), 0.0
    for left, place in zip(range(len(known), 0, -1), known, strict=True):
        reached = max(reached, min(1.0, left * p[place]))
        out[place] = reached
    return tuple(out)


def _written(value: Any) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.3f}"
    return str(value)
