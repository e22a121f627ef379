"""Drift: the same people audited over successive batches of tasks.

Tasks that come later are fresh: each batch is a test of its own, and what noise two batches have is
independent. So one can see whether the spread between people grows, and whether it is the same
people who are worst off again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from averagefair.auditing.audit import audit_losses
from averagefair.auditing.comparison import change_of_spread, check_same_people
from averagefair.auditing.estimates import UNKNOWN, Estimate, with_interval
from averagefair.auditing.learned import REMEDY, WHY
from averagefair.auditing.result import Audit
from averagefair.auditing.spread import spread
from averagefair.auditing.tally import tally
from averagefair.errors import InputError, extra, some_of
from averagefair.names import in_a_line
from averagefair.tables import read_categories
from averagefair.text import figure, plain, table


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
    p_combined : float
        One p-value for all batches (Fisher): whether people differ in any of them.
    mean_changes, sigma2_changes : tuple of Estimate
        From each batch to the next; one fewer than there are batches. Their intervals hold all at
        once (Bonferroni, over both).
    persistence : Estimate
        How true rates in one batch correlate with those in another, over all pairs: near 1 if it
        is the same people who are badly off again, near 0 if it is others. The interval is a
        jackknife over batches; NaN for two. NaN unless ``p_combined`` shows that people differ.
    """

    names: tuple[str, ...]
    audits: tuple[Audit, ...]
    p: tuple[float, ...]
    p_together: tuple[float, ...]
    p_combined: float
    mean_changes: tuple[Estimate, ...]
    sigma2_changes: tuple[Estimate, ...]
    persistence: Estimate

    def __len__(self) -> int:
        return len(self.audits)

    def __iter__(self) -> Iterator[Audit]:
        return iter(self.audits)

    def __getitem__(self, place: int) -> Audit:
        return self.audits[place]

    def _columns(self) -> dict[str, list[Any]]:
        means, spreads = (UNKNOWN, *self.mean_changes), (UNKNOWN, *self.sigma2_changes)
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
        }

    def to_frame(self) -> Any:
        """Return a row for each batch as a pandas DataFrame (pandas must be installed)."""
        pd = extra("pandas", "pandas")

        return pd.DataFrame(self._columns()).set_index("batch")

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers, lists and words; what is unknown is None.

        Changes are from the batch before.
        """
        out: dict[str, Any] = plain(
            {
                "batches": self._columns(),
                "p_combined": self.p_combined,
                "persistence": self.persistence.to_dict(),
            }
        )
        return out

    def summary(self) -> str:
        """Return a table of the batches, and what changed in plain words."""
        columns = self._columns()
        shown = ("batch", "tasks", "mean", "sigma", "p", "p_together", "mean_change")
        rows = zip(*(map(_written, columns[name]) for name in shown), strict=True)
        head = [name.replace("_", " ").replace("sigma", "true sd") for name in shown]
        words = [self._chance(), *self._moves(), self._persistence()]
        return "\n".join([table(head, rows), *filter(None, words)])

    def _chance(self) -> str:
        delta = 1.0 - self.audits[0].confidence
        known = [(name, p) for name, p in zip(self.names, self.p_together, strict=True) if p == p]
        clear = [in_a_line(name) for name, p in known if p <= delta]
        text = f"All batches together: p = {self.p_combined:.3g}."
        if clear:
            return f"{text} Differences between people are more than chance in {', '.join(clear)}."
        if all(one.chance.smallest * len(known) > delta for one in self.audits):
            return f"{text} Batches this small, or this many, can show nothing one by one."
        return f"{text} In no batch alone are differences between people more than chance."

    def _moves(self) -> Iterator[str]:
        for what, changes in (
            ("The mean rate", self.mean_changes),
            ("The variance of true rates", self.sigma2_changes),
        ):
            moved = [
                f"{'up' if change.low > 0 else 'down'} in {in_a_line(name)}"
                for name, change in zip(self.names[1:], changes, strict=True)
                if change.low > 0 or change.high < 0
            ]
            if moved:
                yield f"{what} went {', '.join(moved)} (all batches considered)."

    def _persistence(self) -> str:
        share = self.persistence
        if np.isnan(share.value):
            return ""
        interval = "" if np.isnan(share.low) else f" (interval {share.low:.2f} to {share.high:.2f})"
        return (
            f"From one batch to another true rates correlate by about {share.value:.2f}{interval}: "
            "1 would be the same people badly off every time, 0 others each time."
        )

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def drift(audits: Audit | Sequence[Audit], batches: Sequence[Any] | None = None) -> Drift:
    """Follow the same people over successive batches of tasks, each batch a fresh test.

    Parameters
    ----------
    audits : Audit or sequence of Audit
        One audit, to be cut into batches of its tasks (without its groups); or several in the
        order of time, of the same people in the same order, no task in two of them. None on
        tasks that were learned from.
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
        series = tuple(audits) if isinstance(audits, Iterable) else (audits,)
        called = tuple(map(str, range(1, len(series) + 1) if batches is None else batches))
    if len(series) < 2 or not all(isinstance(one, Audit) for one in series):
        raise InputError(
            "drift takes two or more audits, or one with two or more batches; got "
            f"{[type(one).__name__ for one in series]}."
        )
    if len(called) != len(series) or len(set(called)) < len(called):
        raise InputError(
            f"batches must name each of {len(series)} audits, none twice; got {some_of(called)}."
        )
    if any(one.learned_tasks for one in series):
        raise InputError(f"drift takes each batch as a fresh test of its own. {WHY} {REMEDY}")
    if not isinstance(audits, Audit):
        _check_series(series)
    pairs = list(pairwise(series))
    confidence = 1.0 - (1.0 - series[0].confidence) / (2 * len(pairs))
    p = tuple(one.chance.p for one in series)
    together = _fisher(p)
    differ = together <= 1.0 - series[0].confidence
    return Drift(
        names=called,
        audits=series,
        p=p,
        p_together=_holm(p),
        p_combined=together,
        mean_changes=tuple(_change_of_mean(*pair, confidence) for pair in pairs),
        sigma2_changes=tuple(change_of_spread(*pair, confidence, paired=False) for pair in pairs),
        persistence=_persistence(series) if differ else UNKNOWN,
    )


def _check_series(series: Sequence[Audit]) -> None:
    """Refuse audits that are not of the same people, or that share tasks."""
    for one in series:
        check_same_people(series[0], one)
    met: set[str] = set()
    for place, one in enumerate(series):
        again: Sequence[str] = ()
        if one._losses.named_tasks:
            again = [name for name in one.tasks.name if name in met]
            met.update(one.tasks.name)
        elif any(_same_table(one, earlier) for earlier in series[:place]):
            again = one.tasks.name
        if again:
            raise InputError(
                "no task may stand in two batches, each of which is a fresh test; twice there: "
                f"{some_of(again)}."
            )


def _same_table(one: Audit, other: Audit) -> bool:
    """Tell whether two audits are of the same table, unless that is all one number."""
    cells = one._losses.cells
    same = np.array_equal(cells, other._losses.cells, equal_nan=cells.dtype.kind == "f")
    return same and bool((cells != cells[0, 0]).any())


def _cut(audit: Audit, batches: Any) -> tuple[tuple[Audit, ...], tuple[str, ...]]:
    """Audit each batch of the tasks on its own, in the order in which they begin."""
    names, codes = read_categories(batches, audit.tasks.name, audit.m, "batches")
    if (codes < 0).any():
        blank = [audit.tasks.name[int(task)] for task in np.flatnonzero(codes < 0)]
        raise InputError(f"batches must name a batch for each task; none for {some_of(blank)}.")
    if audit._losses.families is not None:
        homes = np.unique(np.stack([audit._losses.families, codes]), axis=1)[0]
        torn = np.flatnonzero(np.bincount(homes) > 1)
        if torn.size:
            named = [audit._losses.family_names[int(family)] for family in torn]
            raise InputError(f"a family of tasks must be in one batch; {some_of(named)} is not.")
    request: dict[str, Any] = {"learned_tasks": audit.learned_tasks}
    if audit.answer is not None:
        request |= {"alpha": audit.answer.alpha, "beta": audit.answer.beta}
    order = codes[np.sort(np.unique(codes, return_index=True)[1])]
    parts = (audit._losses.take_tasks(np.flatnonzero(codes == batch)) for batch in order)
    series = tuple(
        audit_losses(part, audit.rate, confidence=audit.confidence, seed=audit.seed, **request)
        for part in parts
    )
    return series, tuple(names[batch] for batch in order)


def _change_of_mean(before: Audit, after: Audit, confidence: float) -> Estimate:
    """Return the change of the mean rate: people are paired, tasks are independent draws.

    As in :mod:`averagefair.auditing.mean`, less what is counted twice: the noise of the cells.
    That is taken around everybody's own rate, since what people differ by cancels in the change.
    """
    both = before._tally.judged & after._tally.judged
    n = int(np.count_nonzero(both))
    units = min(before._tally.live.size, after._tally.live.size)
    change = (after.people.rate - before.people.rate)[both]
    if n < 2:
        return UNKNOWN
    people, tasks, cells = float(np.var(change, ddof=1)) / n, 0.0, 0.0
    for one in (before, after):
        tasks += one._tally.task_factor * float(one._task_means @ one._task_means)
        cells += float(one.spread.noise[both].sum()) / n**2
    tasks -= cells
    if people + tasks <= 0:
        people, tasks = 0.0, cells
    if people + tasks == 0:  # nothing to make an interval of
        return replace(UNKNOWN, value=float(change.mean()))
    return with_interval(float(change.mean()), people, tasks, units, confidence)


def _persistence(series: Sequence[Audit]) -> Estimate:
    """Return the correlation of true rates: noise of two batches is independent and drops out.

    The mean covariance of rates over all pairs of batches, by the mean of sigma2, both over those
    who have two tasks or more in every batch.
    """
    all_of = np.logical_and.reduce([one._tally.judged for one in series])
    if np.count_nonzero(all_of) < 2:
        return UNKNOWN
    covariances = np.cov(np.stack([one.people.rate[all_of] for one in series]))
    parts = [one._losses.take_people(all_of) for one in series]
    variances = np.array([spread(part, tally(part), 0.95).sigma2.value for part in parts])

    def ratio(kept: NDArray[np.intp]) -> float:
        part = covariances[np.ix_(kept, kept)]
        k = kept.size
        within = variances[kept].mean()
        return float((part.sum() - np.trace(part)) / (k * (k - 1)) / within) if within > 0 else nan

    k = len(series)
    value = ratio(np.arange(k))
    if k < 3 or np.isnan(value):
        return replace(UNKNOWN, value=value)
    others = np.array([ratio(np.delete(np.arange(k), one)) for one in range(k)])
    variance = (k - 1) / k * float(np.square(others - others.mean()).sum())
    return with_interval(value, 0.0, variance, k, series[0].confidence)


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


def _fisher(p: Sequence[float]) -> float:
    """Return one p-value for several of independent tests; NaN where there are none."""
    known = np.array([one for one in p if not np.isnan(one)])
    return float(chdtrc(2 * known.size, -2.0 * np.log(known).sum())) if known.size else nan


def _written(value: Any) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else figure(value)
    return str(value)
