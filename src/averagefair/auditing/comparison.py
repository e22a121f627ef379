"""Compare two audits of the same people and tasks: before and after, or two vendors.

Effects that both audits share cancel in a paired difference, so the interval of the difference is
far narrower than the intervals of two separate audits. If either audit is of learned tasks (tasks
that the model was trained on), changes are as observed on these tasks. Nothing is then estimated
for true rates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri

from averagefair._util.arrays import FloatArray
from averagefair._util.frozen import Frozen
from averagefair._util.text import figure, percent, plain, table
from averagefair.auditing.chance import EPSILON
from averagefair.auditing.dispersion import difference_of_sigma2
from averagefair.auditing.estimates import UNKNOWN, Estimate
from averagefair.auditing.intervals import Interval
from averagefair.auditing.learned import REMEDY, WHY
from averagefair.auditing.losses import BoolArray
from averagefair.auditing.mean import mean_over_people, mean_rate
from averagefair.auditing.person_table import fill_in
from averagefair.auditing.result import Audit
from averagefair.auditing.words import USUAL_BETA
from averagefair.errors import InputError, extra, some_of
from averagefair.game.rates import spoken
from averagefair.game.who_pays import WhoPays, who_pays
from averagefair.game.windows import ROUNDING
from averagefair.people.frames import check_same_rows


@dataclass(frozen=True, eq=False, repr=False)
class PairedPeople(Frozen):
    """A row for each person: rates before and after, and their difference.

    Attributes
    ----------
    name : array, shape (n,)
    before, after, difference : arrays, shape (n,)
        NaN if the person has no rate.
    low, high : arrays, shape (n,)
        The interval of each person's difference alone (Agresti and Min's, for paired counts); NaN
        for learned tasks.
    better, worse : bool arrays, shape (n,)
        Who is clearly better or worse off, corrected for n comparisons (delta / n each). The test
        is the exact sign test on the tasks with different outcomes; for probabilities it uses the
        KL-Chernoff interval. For learned tasks both arrays are all False.
    """

    name: NDArray[Any]
    before: FloatArray
    after: FloatArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    better: BoolArray
    worse: BoolArray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the table, a list for each column."""
        return {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}

    def __repr__(self) -> str:
        better, worse = int(self.better.sum()), int(self.worse.sum())
        return f"PairedPeople({len(self.name)}; {better} better, {worse} worse)"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The changes from one audit to another. ``print`` it.

    Attributes
    ----------
    before, after : Audit
    mean : Estimate
        The change of the mean rate, after minus before, with an interval over people and tasks;
        over people alone for learned tasks.
    sigma2 : Estimate
        The change of the de-noised variance of true rates, with a paired jackknife interval; NaN
        for learned tasks.
    people : PairedPeople
    """

    before: Audit
    after: Audit
    mean: Estimate
    sigma2: Estimate
    people: PairedPeople

    @property
    def who_pays(self) -> WhoPays:
        """Who is better and who is worse off after than before, as observed on these tasks."""
        pays = who_pays(self.people.before, self.people.after)
        assert isinstance(pays, WhoPays)
        return pays

    @property
    def learned_tasks(self) -> bool:
        """Whether either audit is of learned tasks."""
        return self.before.learned_tasks or self.after.learned_tasks

    def to_frame(self) -> Any:
        """Return the people as a pandas DataFrame by name (pandas must be installed)."""
        pd = extra("pandas", "pandas")

        return pd.DataFrame(self.people.to_dict()).set_index("name")

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain numbers, lists and strings; unknown values are None."""
        figures = {
            name: {"before": before, "after": after} for name, before, after, *_ in self.figures()
        }
        out: dict[str, Any] = plain(
            {
                "figures": figures,
                "mean_change": self.mean.to_dict(),
                "sigma2_change": self.sigma2.to_dict(),
                "learned_tasks": self.learned_tasks,
                "who_pays": self.who_pays.to_dict(),
                "people": self.people.to_dict(),
            }
        )
        return out

    def figures(self) -> Iterator[tuple[str, float, float, Estimate | None, int]]:
        """Yield each figure: its name, before, after, its change, and the digits to show."""
        before, after = self.before, self.after
        row, next_row = before.curve.at(USUAL_BETA), after.curve.at(USUAL_BETA)
        yield "mean rate", before.mean.value, after.mean.value, self.mean, 4
        if self.learned_tasks:
            deviations = before.dispersion.sd, after.dispersion.sd
            yield "standard deviation, as observed", *deviations, None, 4
        else:
            variances = before.dispersion.sigma2.value, after.dispersion.sigma2.value
            yield "variance of true rates", *variances, self.sigma2, 6
            deviations = before.dispersion.sigma, after.dispersion.sigma
            yield "true standard deviation", *deviations, None, 4
        yield f"alpha for all but {USUAL_BETA:.0%}", row["alpha"], next_row["alpha"], None, 4
        if not self.learned_tasks:
            yield "... without noise", row["denoised"], next_row["denoised"], None, 4
        asked, asked_after = before.assessment, after.assessment
        if asked and asked_after and asked.alpha == asked_after.alpha:
            shares = asked.observed_beta, asked_after.observed_beta
            yield f"share outside {asked.alpha:g}", *shares, None, 4
        if not self.learned_tasks:
            yield "p of the chance test", before.chance.p, after.chance.p, None, 4

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the head and the rows of the table of figures, as text."""
        head = ["", "before", "after", "change", f"{percent(self.before.confidence)} CI"]
        return head, [_row(*row) for row in self.figures()]

    def statements(self) -> list[str]:
        """Return the changes in plain words, a paragraph for each question."""
        rate = spoken(self.before.rate)
        mean = f"The mean {rate} rate {_moved(self.mean, 4)}."
        paid = f"As observed: {self.who_pays.statement('with before')}"
        if self.learned_tasks:
            change = np.nan_to_num(self.people.difference)
            lower, higher = (np.count_nonzero(side > ROUNDING) for side in (-change, change))
            return [
                mean,
                f"On these tasks {lower:,} of {self.before.n:,} people have a lower rate than "
                f"before, and {higher:,} a higher rate. {WHY} {REMEDY}",
                paid,
            ]
        better, worse = int(self.people.better.sum()), int(self.people.worse.sum())
        return [
            f"{mean} The variance of true rates {_moved(self.sigma2, 6)}.",
            f"Clearly better off: {better} of {self.before.n:,} people; clearly worse off: {worse} "
            "(corrected for multiple comparisons).",
            paid,
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw the distributions of rates before and after (matplotlib); returns the axes.

        Parameters
        ----------
        ax : Axes, optional
            Default: the axes of a new pyplot figure, which a notebook shows and
            ``pyplot.close()`` frees.
        """
        from averagefair.showing.plots.rates import RatesDisplay

        asked = self.before.assessment
        shown = RatesDisplay.from_rates(
            self.people.before,
            self.people.after,
            alpha=None if asked is None else asked.alpha,
            rate_names=[spoken(self.before.rate)],
        )
        return shown.plot(ax)

    def to_html(self, path: str | Path, **options: Any) -> Path:
        """Write the report of the comparison to one HTML file; return its path (jinja2).

        Parameters
        ----------
        path : str or Path
            The file appears whole or not at all; an older one is replaced.
        **options
            title, settings, notes: as for :func:`averagefair.showing.report.comparison_report`.
        """
        from averagefair.showing.page_file import write_page
        from averagefair.showing.report import comparison_report

        return write_page(path, lambda: comparison_report(self, **options))

    def summary(self) -> str:
        """Return the changes: a table and plain words."""
        return f"{table(*self.table())}\n{' '.join(self.statements())}"

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from averagefair.showing.notebook import comparison_html

        return comparison_html(self)


def compare(before: Audit, after: Audit) -> Comparison:
    """Compare two audits of the same people on the same tasks by paired differences.

    Parameters
    ----------
    before, after : Audit
        Audits with the same labels, rate and confidence; only decisions differ.

    Examples
    --------
    >>> from averagefair import audit
    >>> labels = [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]]
    >>> before = audit(labels, [[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 1]])
    >>> after = audit(labels, [[1, 0, 1, 1], [0, 1, 1, 0], [0, 1, 0, 0]])
    >>> compare(before, after).mean.value
    -0.25
    """
    _check_pair(before, after)
    rated = before.evidence.tally.rated
    difference = after.people.rate - before.people.rate
    if before.learned_tasks or after.learned_tasks:
        return Comparison(
            before=before,
            after=after,
            mean=mean_over_people(difference[rated], before.confidence),
            sigma2=UNKNOWN,
            people=_people_as_observed(before, after, difference),
        )
    mean = float(difference[rated].mean()) if rated.any() else float("nan")
    sums, squares, scale = np.zeros(before.evidence.losses.units), 0.0, 0.0
    per_person = np.zeros(before.n)
    share = 1.0 / np.where(rated, before.evidence.tally.counted, np.inf)
    for old, new in zip(
        before.evidence.losses.blocks(), after.evidence.losses.blocks(), strict=True
    ):
        z = new.totals - old.totals
        per_person[old.rows] = np.square(z).sum(axis=1)
        z -= mean * old.counts
        z *= share[old.rows, None]
        sums += z.sum(axis=0)
        squares += float(np.vdot(z, z))
        scale += float(np.square(share[old.rows]) @ np.square(old.counts).sum(axis=1))
    squares = squares if squares > EPSILON**2 * scale else 0.0
    n = max(1, int(np.count_nonzero(rated)))
    return Comparison(
        before=before,
        after=after,
        mean=mean_rate(
            difference[rated], sums / n, squares, before.evidence.tally, before.confidence
        ),
        sigma2=difference_of_sigma2(before.dispersion, after.dispersion, before.confidence),
        people=_people(before, after, difference, per_person),
    )


def check_same_request(before: Audit, after: Audit) -> None:
    """Refuse two audits that differ in rate or confidence."""
    if before.rate != after.rate or before.confidence != after.confidence:
        raise InputError(
            "audits to compare must have the same rate and confidence; got "
            f"{before.rate!r} at {before.confidence:g} and {after.rate!r} at {after.confidence:g}."
        )


def _check_pair(before: Audit, after: Audit) -> None:
    if not (isinstance(before, Audit) and isinstance(after, Audit)):
        raise InputError(
            "compare takes two audits, as audit() returns them; got "
            f"{type(before).__name__} and {type(after).__name__}."
        )
    if before.n != after.n:
        raise InputError(
            f"audits to compare must have the same people; got {before.n:,} and {after.n:,}."
        )
    check_same_rows(before.people.name, after.people.name, "the first audit", "the second audit")
    check_same_request(before, after)
    first, second = before.evidence.losses, after.evidence.losses
    if first.task_names != second.task_names:
        raise InputError(
            "audits to compare must have the same tasks in the same order; got "
            f"{some_of(first.task_names)} and {some_of(second.task_names)}. For the same people on "
            "other tasks, use drift."
        )
    same_cells = first.same_families(second) and all(
        np.array_equal(mine.counts, theirs.counts)
        for mine, theirs in zip(first.blocks(), second.blocks(), strict=True)
    )
    if not same_cells or not np.array_equal(first.fingerprints, second.fingerprints):
        raise InputError(
            "audits to compare must have the same labels, the same observed cells and the same "
            "task_families; only decisions may differ."
        )


def _people(
    before: Audit, after: Audit, difference: FloatArray, squares: FloatArray
) -> PairedPeople:
    """Return the table of people; ``squares`` are sums of squared differences."""
    tally, delta = before.evidence.tally, 1.0 - before.confidence
    rated = tally.rated
    sums = np.where(rated, (after.evidence.tally.wrong - before.evidence.tally.wrong), 0.0)
    own = sums[rated], squares[rated], tally.counted[rated], tally.units[rated]
    low, high = fill_in(_paired_interval(*own, delta), rated)
    each = delta / max(1, int(np.count_nonzero(rated)))
    known = before.evidence.counts()
    if known.binary and known.largest is None and after.evidence.losses.binary:
        # Under chance alone, a task with different outcomes is equally likely to go either way.
        changed, ups = squares, 0.5 * (squares + sums)
        better, worse = _too_few(ups, changed, each), _too_few(changed - ups, changed, each)
    else:
        sure = known.of_mean(0.5 * (1.0 + difference[rated]), each)
        all_low, all_high = fill_in(sure, rated)
        better = np.nan_to_num(all_high, nan=1.0) < 0.5
        worse = np.nan_to_num(all_low, nan=0.0) > 0.5
    return PairedPeople(
        name=before.people.name,
        before=before.people.rate,
        after=after.people.rate,
        difference=difference,
        low=low,
        high=high,
        better=better,
        worse=worse,
    )


def _people_as_observed(before: Audit, after: Audit, difference: FloatArray) -> PairedPeople:
    """Return the table of people without intervals, for learned tasks."""
    unknown, nobody = np.full(before.n, np.nan), np.zeros(before.n, dtype=np.bool_)
    return PairedPeople(
        name=before.people.name,
        before=before.people.rate,
        after=after.people.rate,
        difference=difference,
        low=unknown,
        high=unknown,
        better=nobody,
        worse=nobody,
    )


def _too_few(count: FloatArray, of: FloatArray, delta: float) -> BoolArray:
    """Return whether P[Binomial(of, 1/2) <= count] is at most delta / 2."""
    return np.asarray(bdtr(count, np.rint(of).astype(int), 0.5) <= delta / 2)


def _paired_interval(
    sums: FloatArray, squares: FloatArray, counted: FloatArray, units: FloatArray, delta: float
) -> Interval:
    """Return Agresti and Min's interval for a mean of paired differences in [-1, 1].

    The interval adds half a task with a difference in each direction, and one task without a
    difference. Then it uses the normal approximation. For differences of -1, 0 and 1 this is
    Agresti and Min's interval for matched pairs. The interval is clipped to [-1, 1].

    Parameters
    ----------
    sums : array, shape (k,)
        Sums of differences.
    squares : array, shape (k,)
        Sums of squared differences; differences are summed within a family first.
    counted, units : arrays, shape (k,)
        The number of differences, and of families.
    """
    middle = sums / (counted + 2.0)
    variance = (squares + 1.0 - sums**2 / (units + 2.0)) / (counted + 2.0) ** 2
    half = float(ndtri(1.0 - delta / 2)) * np.sqrt(np.maximum(0.0, variance))
    return np.maximum(-1.0, middle - half), np.minimum(1.0, middle + half)


def _moved(change: Estimate, digits: int) -> str:
    if np.isnan(change.value):
        return "is unknown"
    size = figure(abs(change.value), digits)
    if np.isnan(change.low):
        return "is the same" if change.value == 0 else f"changes by {size} (no interval)"
    interval = f"{figure(change.low, digits, '+')} to {figure(change.high, digits, '+')}"
    if change.low > 0:
        return f"rises by {size} (CI {interval})"
    if change.high < 0:
        return f"falls by {size} (CI {interval})"
    return f"shows no clear change (CI {interval})"


def _row(what: str, before: float, after: float, change: Estimate | None, digits: int) -> list[str]:
    interval = ""
    if change is not None and not np.isnan(change.low):
        interval = f"{figure(change.low, digits, '+')} to {figure(change.high, digits, '+')}"
    moved = figure(after - before, digits, "+")
    return [what, figure(before, digits), figure(after, digits), moved, interval]
