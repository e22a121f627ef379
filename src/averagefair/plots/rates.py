"""How individual rates are distributed, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from averagefair import drawing
from averagefair.auditing.frozen import Frozen
from averagefair.drawing import BLACK, OBSERVED, REQUEST, tint, words
from averagefair.errors import InputError
from averagefair.frontier import FrontierPoint
from averagefair.plots.given import check_kind, columns
from averagefair.rates import resolve_rates, spoken
from averagefair.sample import FloatArray
from averagefair.tables import read_numbers
from averagefair.windows import common_rate as find_common_rate


@dataclass(frozen=True, eq=False, repr=False)
class RatesDisplay(Frozen):
    """How individual rates are distributed, before and after.

    Attributes
    ----------
    names : tuple of str
        What "before" and "after" are called.
    rate_names : tuple of str
    before, after : array, shape (n, rates)
        Individual rates; NaN where undefined.
    common_rate : array, shape (rates,)
        What the band is drawn around.
    alpha : float
        What was asked for; NaN where nothing was.

    Examples
    --------
    >>> shown = RatesDisplay.from_rates([0.0, 0.1, 0.5], [0.2, 0.2, 0.3], alpha=0.05)
    >>> shown.common_rate, shown.plot().get_ylabel()
    (array([0.25]), 'share of the people per 0.01')
    """

    names: tuple[str, ...]
    rate_names: tuple[str, ...]
    before: FloatArray
    after: FloatArray
    common_rate: FloatArray
    alpha: float

    @classmethod
    def from_rates(
        cls,
        before: ArrayLike,
        after: ArrayLike,
        names: Sequence[str] = ("before", "after"),
        *,
        alpha: float | None = None,
        common_rate: ArrayLike | None = None,
        rate_names: Sequence[str] | None = None,
    ) -> RatesDisplay:
        """Take anybody's rates, such as :func:`averagefair.individual_rates` gives.

        Parameters
        ----------
        before, after : array-like, shape (n,) or (n, rates)
            NaN where undefined.
        names : pair of str
        alpha : float, optional
            What was asked for: the band around the common rate. Without it none is drawn.
        common_rate : float or array-like, shape (rates,), optional
            Default: of the rates after, the centre of the window of width 2 alpha that holds the
            most people; without alpha their mean.
        rate_names : sequence of str, optional
            What each column is called.
        """
        one, other = _read("before", before), _read("after", after)
        count = other.shape[1]
        if rate_names is None:
            rate_names = [f"rate {number + 1}" for number in range(count)] if count > 1 else [""]
        if one.shape[1] != count or len(rate_names) != count or len(names) != 2:
            raise InputError(
                "`before` and `after` must have a name each, and the same rates (columns), with a "
                f"name each; got shapes {one.shape} and {other.shape}, names={tuple(names)}, "
                f"rate_names={tuple(rate_names)}."
            )
        if common_rate is None:
            known = (np.sort(column[~np.isnan(column)]) for column in other.T)
            common_rate = [find_common_rate(rates, alpha) for rates in known]
        common = np.broadcast_to(read_numbers(common_rate, "common_rate"), count)
        asked = np.nan if alpha is None else float(alpha)
        return cls(tuple(names), tuple(rate_names), one, other, common, asked)

    @classmethod
    def from_point(cls, point: FrontierPoint) -> RatesDisplay:
        """Hold one point of a frontier against the model without a constraint.

        Parameters
        ----------
        point : FrontierPoint
            Such as ``curve.at(0.1)``.
        """
        check_kind(point, FrontierPoint, "a point of a frontier, such as curve.at(0.1)")
        return cls.from_rates(
            point.unconstrained.rates,
            point.model.individual_rates_,
            ("without a constraint", f"alpha = {point.alpha:g}"),
            alpha=point.alpha,
            common_rate=point.certificate.common_rate,
            rate_names=[spoken(rate.name) for rate in resolve_rates(point.model.rate)],
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw both distributions, of several rates one above the other; returns the axes.

        Parameters
        ----------
        ax : Axes, optional
            Default: those of a new pyplot figure, which a notebook shows.
        """
        ax, several = drawing.axes(ax), len(self.rate_names) > 1
        shapes = [
            [drawing.density(rates) for rates in both.T] for both in (self.before, self.after)
        ]
        top = max(float(shares.max()) for both in shapes for _, shares in both) or 1.0
        for lane in range(len(self.rate_names)):
            base = 1.3 * top * lane
            names = (None, None) if lane else [words(name) for name in self.names]
            ends = np.clip(self.common_rate[lane] + self.alpha * np.array([-1.0, 1.0]), 0.0, 1.0)
            if not np.isnan(ends).any():
                within = None if lane else f"within {self.alpha:g} of the common rate"
                look = {"color": tint(REQUEST, 0.22), "linewidth": 0, "zorder": 0, "label": within}
                ax.fill_between(ends, base, base + 1.06 * top, **look)
            drawing.draw_histogram(ax, *shapes[1][lane], base, names[1], filled=True)
            drawing.draw_histogram(ax, *shapes[0][lane], base, names[0], filled=False)
            drawing.draw_ticks(ax, self.before[:, lane], base - 0.05 * top, BLACK)
            drawing.draw_ticks(ax, self.after[:, lane], base - 0.1 * top, OBSERVED)
        bases = 1.3 * top * np.arange(len(self.rate_names))
        shown = [tick for tick in ax.get_yticks() if 0 <= tick <= 1.1 * top]
        called = [words(name) for name in self.rate_names]
        ax.set_yticks(bases if several else shown, called if several else None)
        ax.set_ylim(-0.14 * top, bases[-1] + 1.1 * top)
        name = "rate" if several else f"{called[0]} rate".lstrip()
        ax.set(xlabel=f"individual {name}", ylabel="share of the people per 0.01")
        return drawing.finish(ax, above=True)


def _read(name: str, given: ArrayLike) -> FloatArray:
    try:
        rates = read_numbers(given, name)
    except InputError:
        rates = np.zeros(())
    if rates.ndim not in (1, 2):
        raise InputError(
            f"`{name}` must be individual rates, of shape (n,) or (n, rates); got {given!r}."
        )
    return columns(rates)
