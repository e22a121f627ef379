"""Two audits side by side: before and after, ours and theirs, on the same people and tasks.

Whatever people and tasks share cancels in a paired difference, so that its interval is far
narrower than two intervals held against each other. Where either audit is of tasks that were
learned from, changes are as observed on these tasks, and nothing is estimated for true rates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri

from averagefair.auditing.chance import EPSILON
from averagefair.auditing.estimates import UNKNOWN, Estimate, with_interval
from averagefair.auditing.frozen import Frozen
from averagefair.auditing.intervals import Interval
from averagefair.auditing.learned import REMEDY, WHY
from averagefair.auditing.losses import BoolArray
from averagefair.auditing.mean import mean_over_people, mean_rate
from averagefair.auditing.people import evidence, fill_in
from averagefair.auditing.result import Audit
from averagefair.auditing.words import USUAL_BETA
from averagefair.errors import InputError, extra, some_of
from averagefair.rates import spoken
from averagefair.sample import FloatArray
from averagefair.tables import check_same_rows
from averagefair.text import figure, percent, plain, table
from averagefair.windows import ROUNDING


@dataclass(frozen=True, eq=False, repr=False)
class PairedPeople(Frozen):
    """A row for each person: rates before and after, and their difference.

    Attributes
    ----------
    name : array, shape (n,)
    before, after, difference : arrays, shape (n,)
        NaN where the person has no rate.
    low, high : arrays, shape (n,)
        The interval of that person's difference alone (Agresti and Min's, for paired counts); NaN
        for tasks that were learned from.
    better, worse : bool arrays, shape (n,)
        Of whom it can be shown, one by one and all people considered (delta / n each): by the
        exact sign test on the tasks that came out differently, or by KL-Chernoff for chances.
        Nobody for tasks that were learned from.
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
    """What changed from one audit to another. ``print`` it.

    Attributes
    ----------
    before, after : Audit
    mean : Estimate
        The change of the mean rate, after less before, with an interval over people and tasks;
        over people alone for tasks that were learned from.
    sigma2 : Estimate
        The change of the de-noised variance of true rates, with a paired jackknife interval; NaN
        for tasks that were learned from.
    people : PairedPeople
    """

    before: Audit
    after: Audit
    mean: Estimate
    sigma2: Estimate
    people: PairedPeople

    @property
    def learned_tasks(self) -> bool:
        """Whether either audit is of tasks that were learned from."""
        return self.before.learned_tasks or self.after.learned_tasks

    def to_frame(self) -> Any:
        """Return everybody's row as a pandas DataFrame by name (pandas must be installed)."""
        pd = extra("pandas", "pandas")

        return pd.DataFrame(self.people.to_dict()).set_index("name")

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain numbers, lists and words; what is unknown is None."""
        figures = {
            name: {"before": one, "after": other} for name, one, other, *_ in self._figures()
        }
        out: dict[str, Any] = plain(
            {
                "figures": figures,
                "mean_change": self.mean.to_dict(),
                "sigma2_change": self.sigma2.to_dict(),
                "learned_tasks": self.learned_tasks,
                "people": self.people.to_dict(),
            }
        )
        return out

    def _figures(self) -> Iterator[tuple[str, float, float, Estimate | None, int]]:
        """Yield what is compared: its name, before, after, the change, and digits to show."""
        one, other = self.before, self.after
        before, after = one.curve.at(USUAL_BETA), other.curve.at(USUAL_BETA)
        yield "mean rate", one.mean.value, other.mean.value, self.mean, 4
        if self.learned_tasks:
            yield "standard deviation, as observed", one.spread.sd, other.spread.sd, None, 4
        else:
            variances = one.spread.sigma2.value, other.spread.sigma2.value
            yield "variance of true rates", *variances, self.sigma2, 6
            yield "true standard deviation", one.spread.sigma, other.spread.sigma, None, 4
        yield f"alpha for all but {USUAL_BETA:.0%}", before["alpha"], after["alpha"], None, 4
        if not self.learned_tasks:
            yield "... without the noise", before["denoised"], after["denoised"], None, 4
        if one.answer and other.answer and one.answer.alpha == other.answer.alpha:
            shares = one.answer.observed_beta, other.answer.observed_beta
            yield f"share outside {one.answer.alpha:g}", *shares, None, 4
        if not self.learned_tasks:
            yield "p of the chance test", one.chance.p, other.chance.p, None, 4

    def summary(self) -> str:
        """Return what changed: a table and plain words."""
        rate = spoken(self.before.rate)
        better, worse = int(self.people.better.sum()), int(self.people.worse.sum())
        head = ["", "before", "after", "change", f"{percent(self.before.confidence)} interval"]
        words = (
            f"The mean {rate} rate {_moved(self.mean, 4)}. The variance of true rates "
            f"{_moved(self.sigma2, 6)}. One by one, {better} of {self.before.n:,} people can be "
            f"shown to be better off, and {worse} worse off."
        )
        if self.learned_tasks:
            change = np.nan_to_num(self.people.difference)
            lower, higher = (np.count_nonzero(side > ROUNDING) for side in (-change, change))
            words = (
                f"The mean {rate} rate {_moved(self.mean, 4)}. On these tasks {lower:,} of "
                f"{self.before.n:,} people have a lower rate than before, and {higher:,} a higher "
                f"one. {WHY} {REMEDY}"
            )
        return f"{table(head, (_row(*row) for row in self._figures()))}\n{words}"

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def compare(before: Audit, after: Audit) -> Comparison:
    """Compare two audits of the same people on the same tasks, pair by pair.

    Parameters
    ----------
    before, after : Audit
        Of the same labels and the same rate, with the same confidence; decisions differ.

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
    rated = before._tally.rated
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
    sums, squares, scale = np.zeros(before._losses.units), 0.0, 0.0
    per_person = np.zeros(before.n)
    share = 1.0 / np.where(rated, before._tally.counted, np.inf)
    for one, other in zip(before._losses.blocks(), after._losses.blocks(), strict=True):
        z = other.totals - one.totals
        per_person[one.rows] = np.square(z).sum(axis=1)
        z -= mean * one.counts
        z *= share[one.rows, None]
        sums += z.sum(axis=0)
        squares += float(np.vdot(z, z))
        scale += float(np.square(share[one.rows]) @ np.square(one.counts).sum(axis=1))
    squares = squares if squares > EPSILON**2 * scale else 0.0
    n = max(1, int(np.count_nonzero(rated)))
    return Comparison(
        before=before,
        after=after,
        mean=mean_rate(difference[rated], sums / n, squares, before._tally, before.confidence),
        sigma2=change_of_spread(before, after, before.confidence, paired=True),
        people=_people(before, after, difference, per_person),
    )


def change_of_spread(before: Audit, after: Audit, confidence: float, *, paired: bool) -> Estimate:
    """Return the change of sigma2: the difference of the two jackknives is that of the difference.

    Parameters
    ----------
    confidence : float
    paired : bool
        Whether the tasks are the same; if not, they are taken as independent draws.
    """
    one, other = before.spread, after.spread
    n, units = min(one.people, other.people), min(one.units, other.units)
    value = other.sigma2.value - one.sigma2.value
    if np.isnan(value):
        return UNKNOWN
    g = other.person_influence - one.person_influence
    people = float(g @ g) * n / (n - 1)
    if paired:
        f = other.task_influence - one.task_influence
        tasks = float(f @ f) * units / (units - 1)
    else:
        tasks = one.sigma2.tasks_variance + other.sigma2.tasks_variance
    if people + tasks == 0:  # nothing to make an interval of
        return replace(UNKNOWN, value=value)
    return with_interval(value, people, tasks, units, confidence)


def check_same_people(before: Audit, after: Audit) -> None:
    """Refuse two audits that are not of the same people, by the same rate."""
    if not (isinstance(before, Audit) and isinstance(after, Audit)):
        raise InputError(
            "compare takes two audits, as audit() returns them; got "
            f"{type(before).__name__} and {type(after).__name__}."
        )
    if before.n != after.n:
        raise InputError(
            f"audits to compare must be of the same people; got {before.n:,} and {after.n:,}."
        )
    check_same_rows(before.people.name, after.people.name, "the first audit", "the other")
    if before.rate != after.rate or before.confidence != after.confidence:
        raise InputError(
            "audits to compare must have one rate and one confidence; got "
            f"{before.rate!r} at {before.confidence:g} and {after.rate!r} at {after.confidence:g}."
        )


def _check_pair(before: Audit, after: Audit) -> None:
    check_same_people(before, after)
    one, other = before._losses, after._losses
    if one.task_names != other.task_names:
        raise InputError(
            "audits to compare must be of the same tasks in the same order; got "
            f"{some_of(one.task_names)} and {some_of(other.task_names)}. To follow the same people "
            "over other tasks, see drift."
        )
    same_cells = one.same_families(other) and all(
        np.array_equal(mine.counts, theirs.counts)
        for mine, theirs in zip(one.blocks(), other.blocks(), strict=True)
    )
    if not same_cells or not np.array_equal(one.fingerprints, other.fingerprints):
        raise InputError(
            "audits to compare must have the same labels, the same observed cells and the same "
            "task_families; only decisions may differ."
        )


def _people(
    before: Audit, after: Audit, difference: FloatArray, squares: FloatArray
) -> PairedPeople:
    """Return everybody's row; ``squares`` are the squared differences, added up."""
    tally, delta = before._tally, 1.0 - before.confidence
    rated = tally.rated
    sums = np.where(rated, (after._tally.wrong - before._tally.wrong), 0.0)
    own = sums[rated], squares[rated], tally.counted[rated], tally.units[rated]
    low, high = fill_in(_paired_interval(*own, delta), rated)
    each = delta / max(1, int(np.count_nonzero(rated)))
    known = evidence(before._losses, tally)
    if known.whole and after._losses.whole:
        # Of the tasks that came out differently, as many one way as the other by chance.
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
    """Return everybody's row without intervals: these tasks are no draws."""
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
    """Tell whether a fair coin shows so few heads in so many flips no more than delta / 2 often."""
    return np.asarray(bdtr(count, np.rint(of).astype(int), 0.5) <= delta / 2)


def _paired_interval(
    sums: FloatArray, squares: FloatArray, counted: FloatArray, units: FloatArray, delta: float
) -> Interval:
    """Return Agresti and Min's interval for a mean of paired differences in [-1, 1].

    Half a task more for the one side and half for the other, and then as usual: with differences
    of -1, 0 and 1 their interval for matched pairs. Cut off at -1 and 1.

    Parameters
    ----------
    sums : array, shape (k,)
        Differences added up.
    squares : array, shape (k,)
        Squared differences added up; a family's differences are added up before.
    counted, units : arrays, shape (k,)
        How many differences, and of how many families.
    """
    middle = sums / (counted + 2.0)
    variance = (squares + 1.0 - sums**2 / (units + 2.0)) / (counted + 2.0) ** 2
    half = float(ndtri(1.0 - delta / 2)) * np.sqrt(np.maximum(0.0, variance))
    return np.maximum(-1.0, middle - half), np.minimum(1.0, middle + half)


def _moved(change: Estimate, digits: int) -> str:
    if np.isnan(change.value):
        return "cannot be told"
    size = figure(abs(change.value), digits)
    if np.isnan(change.low):
        return "is the same" if change.value == 0 else f"changes by {size}; no interval can be told"
    interval = f"{figure(change.low, digits, '+')} to {figure(change.high, digits, '+')}"
    if change.low > 0:
        return f"rises by {size} (interval {interval})"
    if change.high < 0:
        return f"falls by {size} (interval {interval})"
    return f"may not have changed (interval {interval})"


def _row(what: str, before: float, after: float, change: Estimate | None, digits: int) -> list[str]:
    interval = ""
    if change is not None and not np.isnan(change.low):
        interval = f"{figure(change.low, digits, '+')} to {figure(change.high, digits, '+')}"
    moved = figure(after - before, digits, "+")
    return [what, figure(before, digits), figure(after, digits), moved, interval]
