"""Drift: people audited again and again, on successive batches of tasks or in windows of time.

Drift shows whether differences between people grow, and whether the same people stay worst off.
People may come and go, and tasks may return; people and tasks are matched by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from averagefair._util.names import in_a_line
from averagefair._util.text import figure, plain, table
from averagefair.auditing.audit import audit_losses
from averagefair.auditing.changes import Pair, covariance
from averagefair.auditing.comparison import check_same_request
from averagefair.auditing.dispersion import estimate_dispersion, root
from averagefair.auditing.estimates import UNKNOWN, Estimate, with_interval
from averagefair.auditing.learned import REMEDY, WHY
from averagefair.auditing.result import Audit
from averagefair.auditing.tally import tally
from averagefair.auditing.trials import Trials
from averagefair.errors import InputError, extra, some_of
from averagefair.people.frames import read_categories

# Persistence is computed from at most this many people, drawn at random.
_MOST_PEOPLE = 20_000


@dataclass(frozen=True, eq=False, repr=False)
class Drift:
    """Successive audits of the same people, and the changes between them. ``print`` it.

    Attributes
    ----------
    names : tuple of str
        The names of the batches.
    audits : tuple of Audit
    p : tuple of float
        Each batch's p-value.
    p_adjusted : tuple of float
        The p-values adjusted for all batches (Holm). If people do not differ, the
        probability that any batch falls below 0.05 is at most 5%.
    p_combined : float
        One p-value for all batches (Fisher's method): whether people differ in any of them.
    mean_changes, sigma2_changes : tuple of Estimate
        The changes from each batch to the next. The intervals are simultaneous (Bonferroni, over
        both kinds of change).
    persistence : Estimate
        The correlation of true rates between batches, over all pairs. It is near 1 if the same
        people stay badly off, and near 0 if different people are badly off each time. The interval
        is a jackknife over batches; it is NaN for two batches. The value is NaN too unless
        ``p_combined`` shows that people differ.
    """

    names: tuple[str, ...]
    audits: tuple[Audit, ...]
    p: tuple[float, ...]
    p_adjusted: tuple[float, ...]
    p_combined: float
    mean_changes: tuple[Estimate, ...]
    sigma2_changes: tuple[Estimate, ...]
    persistence: Estimate

    def __len__(self) -> int:
        return len(self.audits)

    def __iter__(self) -> Iterator[Audit]:
        return iter(self.audits)

    def __getitem__(self, batch: int) -> Audit:
        return self.audits[batch]

    def _columns(self) -> dict[str, list[Any]]:
        means, spreads = (UNKNOWN, *self.mean_changes), (UNKNOWN, *self.sigma2_changes)
        return {
            "batch": list(self.names),
            "people": [audit.n for audit in self.audits],
            "tasks": [audit.m for audit in self.audits],
            "mean": [audit.mean.value for audit in self.audits],
            "mean_low": [audit.mean.low for audit in self.audits],
            "mean_high": [audit.mean.high for audit in self.audits],
            "sigma": [audit.dispersion.sigma for audit in self.audits],
            "sigma_low": [root(audit.dispersion.sigma2.low) for audit in self.audits],
            "sigma_high": [root(audit.dispersion.sigma2.high) for audit in self.audits],
            "sigma2": [audit.dispersion.sigma2.value for audit in self.audits],
            "p": list(self.p),
            "p_adjusted": list(self.p_adjusted),
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
        """Return the drift as plain numbers, lists and strings; unknown values are None.

        Changes are from the previous batch.
        """
        out: dict[str, Any] = plain(
            {
                "batches": self._columns(),
                "p_combined": self.p_combined,
                "persistence": self.persistence.to_dict(),
            }
        )
        return out

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the head and the rows of the table of batches, as text."""
        columns = self._columns()
        shown = ("batch", "tasks", "mean", "sigma", "p", "p_adjusted", "mean_change")
        head = [name.replace("_", " ").replace("sigma", "true sd") for name in shown]
        rows = zip(*(map(_written, columns[name]) for name in shown), strict=True)
        return head, [list(row) for row in rows]

    def statements(self) -> list[str]:
        """Return in plain words whether people differ, what changed, and for whom."""
        return [*filter(None, [self._chance(), *self._moves(), self._persistence()])]

    def plot(self) -> Any:
        """Draw the mean rate and the standard deviation of true rates, batch by batch (matplotlib).

        The figure belongs to pyplot: a notebook shows it, and ``pyplot.close()`` frees it.

        Returns
        -------
        Panels
            ``savefig(file)`` writes the figure; ``figure`` and ``axes`` are matplotlib's.
        """
        from averagefair.showing.plots.drift import draw_drift

        return draw_drift(self)

    def to_html(self, path: str | Path, **options: Any) -> Path:
        """Write the report of the drift to one HTML file; return its path (jinja2).

        Parameters
        ----------
        path : str or Path
            The file appears whole or not at all; an older one is replaced.
        **options
            title, settings, notes: as for :func:`averagefair.showing.report.drift_report`.
        """
        from averagefair.showing.page_file import write_page
        from averagefair.showing.report import drift_report

        return write_page(path, lambda: drift_report(self, **options))

    def summary(self) -> str:
        """Return a table of the batches, and the changes in plain words."""
        return "\n".join([table(*self.table()), *self.statements()])

    def headline(self) -> str:
        """Return the changes in one sentence."""
        return " ".join(self._moves()) or (
            "No clear change from batch to batch (corrected for all batches)."
        )

    def _chance(self) -> str:
        if np.isnan(self.p_combined):
            return "No batch has a chance test: there are too few people or tasks in each."
        delta = 1.0 - self.audits[0].confidence
        known = [(name, p) for name, p in zip(self.names, self.p_adjusted, strict=True) if p == p]
        clear = [in_a_line(name) for name, p in known if p <= delta]
        text = f"All batches combined: p = {self.p_combined:.3g}."
        if clear:
            return f"{text} Differences between people are more than chance in {', '.join(clear)}."
        if all(audit.chance.smallest * len(known) > delta for audit in self.audits):
            return (
                f"{text} No single batch can reach significance: there are too few tasks in each, "
                "or too many batches."
            )
        return f"{text} No single batch shows differences between people beyond chance."

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
                yield f"{what} went {', '.join(moved)} (corrected for all batches)."

    def _persistence(self) -> str:
        share = self.persistence
        if np.isnan(share.value):
            return ""
        interval = "" if np.isnan(share.low) else f" (CI {share.low:.2f} to {share.high:.2f})"
        return (
            f"True rates correlate between batches at about {share.value:.2f}{interval}. At 1, the "
            "same people are badly off every time; at 0, different people are badly off each time."
        )

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from averagefair.showing.notebook import drift_html

        return drift_html(self)


def drift(audits: Audit | Sequence[Audit], batches: Sequence[Any] | None = None) -> Drift:
    """Follow people over successive batches of tasks, or over time; each batch is a fresh test.

    Parameters
    ----------
    audits : Audit or sequence of Audit
        One audit: its tasks are split into batches, and its groups are dropped. Or several audits
        in order of time. People and tasks are matched by name. People without names are the same,
        in the same order; tasks without names are others in each audit. Learned tasks (tasks that
        the model was trained on) are refused.
    batches : sequence
        For one audit: the batch of each task, e.g. its month. Batches are in the order of their
        first tasks. For several audits: the names of the audits; default 1, 2, ...

    Examples
    --------
    >>> from averagefair import audit
    >>> labels = [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]]
    >>> decisions = [[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> drift(audit(labels, decisions), ["May", "May", "June", "June"]).names
    ('May', 'June')
    """
    if isinstance(audits, Audit):
        series, names = _split(audits, batches)
    else:
        series = tuple(audits) if isinstance(audits, Iterable) else (audits,)
        names = tuple(map(str, range(1, len(series) + 1) if batches is None else batches))
    if len(series) < 2 or not all(isinstance(audit, Audit) for audit in series):
        raise InputError(
            "drift takes two or more audits, or one with two or more batches; got "
            f"{[type(audit).__name__ for audit in series]}."
        )
    if len(names) != len(series) or len(set(names)) < len(names):
        raise InputError(
            f"batches must be {len(series)} unique names, one for each audit; got {some_of(names)}."
        )
    if any(audit.learned_tasks for audit in series):
        raise InputError(f"drift needs fresh tasks in each batch. {WHY} {REMEDY}")
    if not isinstance(audits, Audit):
        _check_series(series)
    pairs = [Pair(*pair) for pair in pairwise(series)]
    confidence = 1.0 - (1.0 - series[0].confidence) / (2 * len(pairs))
    p = tuple(audit.chance.p for audit in series)
    combined = _fisher(p)
    differ = combined <= 1.0 - series[0].confidence
    return Drift(
        names=names,
        audits=series,
        p=p,
        p_adjusted=_holm(p),
        p_combined=combined,
        mean_changes=tuple(pair.change_of_mean(confidence) for pair in pairs),
        sigma2_changes=tuple(pair.change_of_sigma2(confidence) for pair in pairs),
        persistence=_persistence(series, series[0].seed) if differ else UNKNOWN,
    )


def _check_series(series: Sequence[Audit]) -> None:
    """Refuse audits of different rates, and people who cannot be matched."""
    first = series[0]
    for audit in series:
        check_same_request(first, audit)
        unnamed = first.evidence.losses.index is None or audit.evidence.losses.index is None
        if unnamed and audit.n != first.n:
            raise InputError(
                "people without names must be the same in every audit, in the same order; got "
                f"{first.n:,} and {audit.n:,}. Give names: audit(..., individual_names=...)."
            )
    for batch, audit in enumerate(series):
        if any(_same_table(audit, earlier) for earlier in series[:batch]):
            raise InputError(
                "two batches are the same table; each batch is a fresh test. Leave one of them out."
            )


def _same_table(audit: Audit, other: Audit) -> bool:
    """Return True if both audits have the same table and its cells are not all equal."""
    cells, others = audit.evidence.losses.cells, other.evidence.losses.cells
    if isinstance(cells, Trials) or isinstance(others, Trials):
        return False
    same = np.array_equal(cells, others, equal_nan=cells.dtype.kind == "f")
    return same and bool((cells != cells[0, 0]).any())


def _split(audit: Audit, batches: Any) -> tuple[tuple[Audit, ...], tuple[str, ...]]:
    """Audit each batch of tasks separately, in the order of their first tasks."""
    names, codes = read_categories(batches, audit.tasks.name, audit.m, "batches")
    if (codes < 0).any():
        blank = [audit.tasks.name[int(task)] for task in np.flatnonzero(codes < 0)]
        raise InputError(f"batches must name a batch for each task; none for {some_of(blank)}.")
    if audit.evidence.losses.families is not None:
        pairs = np.unique(np.stack([audit.evidence.losses.families, codes]), axis=1)[0]
        split = np.flatnonzero(np.bincount(pairs) > 1)
        if split.size:
            listed = [audit.evidence.losses.family_names[int(family)] for family in split]
            raise InputError(f"a family of tasks must be in one batch; {some_of(listed)} is not.")
    request: dict[str, Any] = {"learned_tasks": audit.learned_tasks}
    if audit.assessment is not None:
        request |= {"alpha": audit.assessment.alpha, "beta": audit.assessment.beta}
    order = codes[np.sort(np.unique(codes, return_index=True)[1])]
    parts = (audit.evidence.losses.take_tasks(np.flatnonzero(codes == batch)) for batch in order)
    series = tuple(
        audit_losses(part, audit.rate, confidence=audit.confidence, seed=audit.seed, **request)
        for part in parts
    )
    return series, tuple(names[batch] for batch in order)


def _persistence(series: Sequence[Audit], seed: int) -> Estimate:
    """Return the correlation of true rates between batches.

    The correlation is the mean covariance of rates over all pairs of batches, divided by the mean
    of sigma2. The noise of different tasks is independent and drops out; that of tasks which return
    is taken off. Both means use only people with two or more tasks in every batch, at most
    _MOST_PEOPLE of them.
    """
    places = _in_all(series)
    if places[0].size < 2:
        return UNKNOWN
    if places[0].size > _MOST_PEOPLE:
        rng = np.random.default_rng(seed)
        drawn = np.sort(rng.choice(places[0].size, _MOST_PEOPLE, replace=False))
        places = [own[drawn] for own in places]
    size = len(series)
    covariances = np.zeros((size, size))
    for one in range(size):
        for other in range(one + 1, size):
            pair = places[one], places[other]
            own = covariance(series[one], series[other], pair)
            covariances[one, other] = covariances[other, one] = own
    variances = np.empty(size)
    for number, (audit, place) in enumerate(zip(series, places, strict=True)):
        chosen = np.zeros(audit.n, dtype=np.bool_)
        chosen[place] = True
        part = audit.evidence.losses.take_people(chosen)
        variances[number] = estimate_dispersion(part, tally(part), 0.95).sigma2.value

    def ratio(kept: NDArray[np.intp]) -> float:
        part = covariances[np.ix_(kept, kept)]
        k = kept.size
        within = variances[kept].mean()
        return float(part.sum() / (k * (k - 1)) / within) if within > 0 else nan

    k = len(series)
    value = ratio(np.arange(k))
    if k < 3 or np.isnan(value):
        return replace(UNKNOWN, value=value)
    others = np.array([ratio(np.delete(np.arange(k), batch)) for batch in range(k)])
    variance = (k - 1) / k * float(np.square(others - others.mean()).sum())
    return with_interval(value, 0.0, variance, k, series[0].confidence)


def _in_all(series: Sequence[Audit]) -> list[NDArray[np.intp]]:
    """Return where the people with two or more tasks in every batch are, for each batch."""
    here = np.arange(series[0].n)
    places = [here]
    for audit in series[1:]:
        first, own = Pair(series[0], audit).people
        _, kept, among = np.intersect1d(places[0], first, assume_unique=True, return_indices=True)
        places = [*(known[kept] for known in places), own[among]]
    estimable = np.logical_and.reduce(
        [audit.evidence.tally.estimable[own] for audit, own in zip(series, places, strict=True)]
    )
    return [own[estimable] for own in places]


def _holm(p: Sequence[float]) -> tuple[float, ...]:
    """Return Holm's adjusted p-values; NaN stays NaN.

    Examples
    --------
    >>> _holm([0.01, 0.5, 0.02])
    (0.03, 0.5, 0.04)
    """
    known = [test for test in np.argsort(p, kind="stable") if not np.isnan(p[test])]
    out, reached = [nan] * len(p), 0.0
    for left, test in zip(range(len(known), 0, -1), known, strict=True):
        reached = max(reached, min(1.0, left * p[test]))
        out[test] = reached
    return tuple(out)


def _fisher(p: Sequence[float]) -> float:
    """Return Fisher's combined p-value of independent tests; NaN if all are NaN."""
    known = np.array([value for value in p if not np.isnan(value)])
    return float(chdtrc(2 * known.size, -2.0 * np.log(known).sum())) if known.size else nan


def _written(value: Any) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else figure(value)
    return str(value)
