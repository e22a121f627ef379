"""Who pays: how people's rates change when something is promised.

Equal rates can level down: the well-off are made worse, and the worst-off gain little. So every
fit, point of a frontier, comparison and report says who is better and who is worse off than with
nothing asked, or than today.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.text import figure, percent, plain
from averagefair.errors import InputError
from averagefair.game.worst_off import worst_off_mean

TENTH = 0.1
# Figures are rounded, so that a model file holds nobody's exact rate.
_DIGITS = 4
NOTICEABLE = 0.01
"""A change of a rate counts if it exceeds this: one task in a hundred."""


@dataclass(frozen=True)
class Change:
    """A figure before and after.

    Attributes
    ----------
    before, after : float
    """

    before: float
    after: float

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before

    def __str__(self) -> str:
        return f"{figure(self.before)} to {figure(self.after)} ({figure(self.change, sign='+')})"


@dataclass(frozen=True)
class WhoPays:
    """How people's rates change, compared with a baseline. ``print`` it.

    Rates are rounded to four digits: certificates go into model files, and a mean of few people, or
    a median, would tell somebody's rate exactly.

    Attributes
    ----------
    better, worse : float
        The share of people whose rate falls or rises by more than 0.01, one task in a hundred.
    worst_off, best_off : Change
        The mean rate of the tenth of the people with the highest rates, and of the tenth with the
        lowest. Before and after, these may be different people.
    median : Change
        The median rate.
    mean : Change
        The mean rate.
    people : int
        The number of people with a rate before and after.
    """

    better: float
    worse: float
    worst_off: Change
    best_off: Change
    median: Change
    mean: Change
    people: int

    @property
    def hurts_worst_off(self) -> bool:
        """Whether even the worst-off tenth lose, by more than one task in a hundred."""
        return self.worst_off.change > NOTICEABLE

    def statement(self, against: str = "with nothing asked") -> str:
        """Say it in plain words.

        Parameters
        ----------
        against : str
            What the baseline is.
        """
        if not self.people:
            return "Nobody has a rate to compare."
        return (
            f"Compared {against}, {percent(round(self.better, 3))} of the people are better off "
            f"and {percent(round(self.worse, 3))} worse off by more than one task in a hundred. "
            f"Mean rate of the worst-off tenth: {self.worst_off}; of the best-off tenth: "
            f"{self.best_off}; median: {self.median}."
        )

    def __str__(self) -> str:
        return self.statement()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers; None for NaN."""
        facts: dict[str, Any] = plain(asdict(self))
        return facts

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> WhoPays:
        """Return what :meth:`to_dict` wrote.

        Parameters
        ----------
        facts : mapping
        """
        own = {}
        for field in fields(cls):
            value = facts[field.name]
            if isinstance(value, Mapping):
                value = Change(*(_number(value[part]) for part in ("before", "after")))
            elif field.name == "people":
                value = _count(value)
            else:
                value = _number(value)
            own[field.name] = value
        return cls(**own)


def who_pays(
    before: Any, after: Any, weights: FloatArray | None = None
) -> WhoPays | tuple[WhoPays, ...]:
    """Compare people's rates before and after.

    People without a rate, before or after, are left out.

    Parameters
    ----------
    before, after : array-like, shape (n,) or (n, rates)
        Rates of the same people, in the same order. They may be of any two models, on the same
        labels.
    weights : array, shape (n,), optional
        How many people each row stands for. Default: 1 each.

    Returns
    -------
    WhoPays; a tuple of them if there are several rates

    Examples
    --------
    >>> found = who_pays([0.1, 0.2, 0.6], [0.15, 0.2, 0.4])
    >>> round(found.better, 3), round(found.worst_off.change, 3)
    (0.333, -0.2)
    """
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if first.shape != second.shape or first.ndim not in (1, 2):
        raise InputError(
            "`before` and `after` must hold rates of the same people; got shapes "
            f"{first.shape} and {second.shape}."
        )
    if first.ndim == 2:
        pairs = zip(first.T, second.T, strict=True)
        return tuple(_one_rate(*pair, weights) for pair in pairs)
    return _one_rate(first, second, weights)


def _one_rate(before: FloatArray, after: FloatArray, weights: FloatArray | None) -> WhoPays:
    weights = np.ones(len(before)) if weights is None else weights
    some = ~np.isnan(before) & ~np.isnan(after) & (weights > 0)
    before, after, weights = before[some], after[some], weights[some]
    if not before.size:
        nothing = Change(float("nan"), float("nan"))
        return WhoPays(float("nan"), float("nan"), nothing, nothing, nothing, nothing, 0)
    change, total = after - before, weights.sum()
    rounding = 1e-9

    def both(measure: Any) -> Change:
        return Change(*(round(measure(rates), _DIGITS) + 0.0 for rates in (before, after)))

    return WhoPays(
        better=float(weights[change < -NOTICEABLE - rounding].sum() / total),
        worse=float(weights[change > NOTICEABLE + rounding].sum() / total),
        worst_off=both(lambda rates: worst_off_mean(rates, weights, TENTH)),
        best_off=both(lambda rates: max(0.0, -worst_off_mean(-rates, weights, TENTH))),
        median=both(lambda rates: _median(rates, weights)),
        mean=both(lambda rates: float(weights @ rates / total)),
        people=int(before.size),
    )


def _median(rates: FloatArray, weights: FloatArray) -> float:
    """Return the weighted median: the middle of the values with half the weight on each side."""
    order = np.argsort(rates, kind="stable")
    below = np.cumsum(weights[order])
    half = 0.5 * below[-1]
    first = int(np.searchsorted(below, half * (1.0 - 1e-12)))
    last = int(np.searchsorted(below, half * (1.0 + 1e-12), side="right"))
    last = min(last, len(order) - 1)
    return float(0.5 * (rates[order[first]] + rates[order[last]]))


def most_changed(
    names: NDArray[Any] | Sequence[Any], before: Any, after: Any, count: int = 5
) -> tuple[list[tuple[Any, float, float]], list[tuple[Any, float, float]]]:
    """Return who gains most and who loses most: (name, rate before, rate after) of each.

    Parameters
    ----------
    names : sequence, length n
    before, after : arrays, shape (n,)
        Rates; NaN where undefined.
    count : int, default 5
        How many people to list on each side.

    Examples
    --------
    >>> gains, losses = most_changed(["ann", "bob"], [0.5, 0.1], [0.2, 0.2], count=1)
    >>> gains, losses
    ([('ann', 0.5, 0.2)], [('bob', 0.1, 0.2)])
    """
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    change = second - first
    order = np.argsort(change, kind="stable")
    order = order[~np.isnan(change[order])]

    def listed(people: NDArray[np.intp]) -> list[tuple[Any, float, float]]:
        own = np.asarray(names, dtype=object)
        return [(own[person], float(first[person]), float(second[person])) for person in people]

    gains = [person for person in order[:count] if change[person] < 0]
    losses = [person for person in order[::-1][:count] if change[person] > 0]
    return listed(np.array(gains, dtype=int)), listed(np.array(losses, dtype=int))


def _number(value: Any) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{str(value)[:50]!r} is not a number")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError(f"{str(value)[:50]!r} is not a number of people")
    return value
