"""Two audits side by side: before and after, ours and theirs, on the same people and tasks.

Whatever people and tasks share cancels in a paired difference, so that its interval is far
narrower than two intervals held against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from averagefair.auditing.estimates import Estimate, with_interval
from averagefair.auditing.intervals import Interval, kl_chernoff
from averagefair.auditing.losses import BoolArray
from averagefair.auditing.mean import mean_rate
from averagefair.auditing.people import spread_out
from averagefair.auditing.result import Audit
from averagefair.errors import InputError
from averagefair.sample import FloatArray
from averagefair.text import table


@dataclass(frozen=True, eq=False, repr=False)
class PairedPeople:
    """A row for each person: rates before and after, and their difference.

    Attributes
    ----------
    name : array, shape (n,)
    before, after, difference : arrays, shape (n,)
        NaN where the person has no rate.
    low, high : arrays, shape (n,)
        The interval of that person's difference alone (Agresti and Min's, for paired counts).
    better, worse : bool arrays, shape (n,)
        Who is better or worse off beyond doubt, all people considered (KL-Chernoff, delta / n).
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
        The change of the mean rate, after less before, with an interval over people and tasks.
    sigma2 : Estimate
        The change of the de-noised variance of true rates, with a paired jackknife interval.
    people : PairedPeople
    """

    before: Audit
    after: Audit
    mean: Estimate
    sigma2: Estimate
    people: PairedPeople

    def to_frame(self) -> Any:
        """Return everybody's row as a pandas DataFrame (pandas must be installed)."""
        import pandas as pd

        return pd.DataFrame(self.people.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the changes and everybody's row as plain numbers and lists."""
        return {
            "mean": self.mean.to_dict(),
            "sigma2": self.sigma2.to_dict(),
            "people": self.people.to_dict(),
        }

    def statement(self) -> str:
        """Say in plain words what changed."""
        rate = self.before.rate.replace("_", "-")
        better, worse = int(self.people.better.sum()), int(self.people.worse.sum())
        return (
            f"The mean {rate} rate {_moved(self.mean)}. The variance of true rates between people "
            f"{_moved(self.sigma2)}. Beyond doubt {better} of {self.before.n:,} people are better "
            f"off and {worse} worse off."
        )

    def __str__(self) -> str:
        one, other = self.before, self.after
        usual = {"before": one.curve.at(0.05), "after": other.curve.at(0.05)}
        rows = [
            _row("mean rate", one.mean.value, other.mean.value, self.mean),
            _row(
                "variance of true rates",
                one.spread.sigma2.value,
                other.spread.sigma2.value,
                self.sigma2,
            ),
            _row("true standard deviation", one.spread.sigma, other.spread.sigma),
            _row("alpha for all but 5%", usual["before"]["alpha"], usual["after"]["alpha"]),
            _row("... without the noise", usual["before"]["denoised"], usual["after"]["denoised"]),
            _row("p of the chance test", one.chance.p, other.chance.p),
        ]
        head = ["", "before", "after", "change", f"{one.confidence:.0%} interval"]
        return f"{table(head, rows)}\n{self.statement()}"

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
    units = before._tally.live.size
    difference = after.people.rate - before.people.rate
    mean = float(difference[rated].mean()) if rated.any() else float("nan")
    sums, squares = np.zeros(before._losses.units), 0.0
    per_person = np.zeros(before.n)
    share = 1.0 / np.where(rated, before._tally.counted, np.inf)
    for one, other in zip(before._losses.blocks(), after._losses.blocks(), strict=True):
        z = other.totals - one.totals
        per_person[one.rows] = np.square(z).sum(axis=1)
        z -= mean * one.counts
        z *= share[one.rows, None]
        sums += z.sum(axis=0)
        squares += float(np.vdot(z, z))
    n = max(1, int(np.count_nonzero(rated)))
    return Comparison(
        before=before,
        after=after,
        mean=mean_rate(difference[rated], sums / n, squares, units, before.confidence),
        sigma2=change_of_spread(before, after, paired=True),
        people=_people(before, after, difference, per_person),
    )


def change_of_spread(before: Audit, after: Audit, *, paired: bool) -> Estimate:
    """Return the change of sigma2: the difference of the two jackknives is that of the difference.

    Parameters
    ----------
    paired : bool
        Whether the tasks are the same; if not, they are taken as independent draws.
    """
    one, other = before.spread, after.spread
    n, units = min(one.people, other.people), min(one.units, other.units)
    value = other.sigma2.value - one.sigma2.value
    if np.isnan(value):
        nan = float("nan")
        return Estimate(nan, nan, nan, nan, nan)
    g = other.person_influence - one.person_influence
    people = float(g @ g) * n / (n - 1)
    if paired:
        f = other.task_influence - one.task_influence
        tasks = float(f @ f) * units / (units - 1)
    else:
        tasks = one.sigma2.tasks_variance + other.sigma2.tasks_variance
    return with_interval(value, people, tasks, units, before.confidence)


def check_same_people(before: Audit, after: Audit) -> None:
    """Refuse two audits that are not of the same people, by the same rate."""
    if before.n != after.n or (before.people.name != after.people.name).any():
        raise InputError(
            f"audits to compare must be of the same people in the same order; got {before.n} and "
            f"{after.n}, named {before.people.name[:3].tolist()} and "
            f"{after.people.name[:3].tolist()} at first."
        )
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
            f"{', '.join(one.task_names[:3])} ... and {', '.join(other.task_names[:3])} .... To "
            "follow the same people over other tasks, see drift."
        )
    alike = one.same_families(other) and all(
        np.array_equal(mine.counts, theirs.counts)
        for mine, theirs in zip(one.blocks(), other.blocks(), strict=True)
    )
    if not alike:
        raise InputError(
            "audits to compare must count the same cells: the same labels, the same observed cells "
            "and the same task_families, with other decisions."
        )


def _people(
    before: Audit, after: Audit, difference: FloatArray, squares: FloatArray
) -> PairedPeople:
    tally = before._tally
    rated = tally.rated
    delta = 1.0 - before.confidence
    own = _paired_interval(
        (difference * tally.counted)[rated],
        squares[rated],
        tally.counted[rated],
        tally.units[rated],
        delta,
    )
    low, high = spread_out(own, rated)
    halves, worth = 0.5 * (1.0 + difference[rated]), tally.effective[rated]
    sure = kl_chernoff(halves, worth, delta / max(1, int(rated.sum())))
    all_low, all_high = spread_out(sure, rated)
    return PairedPeople(
        name=before.people.name,
        before=before.people.rate,
        after=after.people.rate,
        difference=difference,
        low=low,
        high=high,
        better=np.nan_to_num(all_high, nan=1.0) < 0.5,
        worse=np.nan_to_num(all_low, nan=0.0) > 0.5,
    )


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


def _moved(change: Estimate) -> str:
    if np.isnan(change.value):
        return "cannot be told"
    if np.isnan(change.low):
        return f"changes by {change.value:+.4f} (no interval can be told)"
    said = "rises" if change.low > 0 else "falls" if change.high < 0 else "may not have changed"
    if change.low <= 0 <= change.high:
        return f"{said} ({change.value:+.4f}, interval {change.low:+.4f} to {change.high:+.4f})"
    return f"{said} by {abs(change.value):.4f} (interval {change.low:+.4f} to {change.high:+.4f})"


def _row(what: str, before: float, after: float, change: Estimate | None = None) -> list[str]:
    interval = ""
    if change is not None and not np.isnan(change.low):
        interval = f"{change.low:+.4f} to {change.high:+.4f}"
    return [what, _written(before), _written(after), _written(after - before, "+"), interval]


def _written(value: float, sign: str = "") -> str:
    return "unknown" if np.isnan(value) else format(value, f"{sign}.4f")
