"""The distribution of individual rates, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from averagefair._util.arrays import FloatArray
from averagefair._util.frozen import Frozen
from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.frontier import FrontierPoint
from averagefair.game.promises import Equal
from averagefair.game.rates import Rates, spoken
from averagefair.game.windows import common_rate as find_common_rate
from averagefair.people.frames import read_numbers
from averagefair.showing import drawing
from averagefair.showing.drawing import BLACK, OBSERVED, REQUEST, tint, words
from averagefair.showing.plots.given import check_kind, columns, value_words


@dataclass(frozen=True, eq=False, repr=False)
class RatesDisplay(Frozen):
    """The distribution of individual rates, before and after.

    Attributes
    ----------
    names : tuple of str
        The names of "before" and "after".
    rate_names : tuple of str
    before, after : array, shape (n, rates)
        Individual rates; NaN if undefined.
    common_rate : array, shape (rates,)
        The centre of the band.
    alpha : float
        The requested alpha; NaN if none was requested.

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
        """Make the display from any rates, e.g. those of :func:`averagefair.individual_rates`.

        Parameters
        ----------
        before, after : array-like, shape (n,) or (n, rates)
            NaN if undefined.
        names : pair of str
        alpha : float, optional
            The half-width of the band around the common rate. Without alpha there is no band.
        common_rate : float or array-like, shape (rates,), optional
            Default: the centre of the window of width 2 alpha that holds the most rates of
            ``after``; without alpha, their mean.
        rate_names : sequence of str, optional
            The name of each column.
        """
        first, second = _read("before", before), _read("after", after)
        count = second.shape[1]
        if rate_names is None:
            rate_names = [f"rate {number + 1}" for number in range(count)] if count > 1 else [""]
        if first.shape[1] != count or len(rate_names) != count or len(names) != 2:
            raise InputError(
                "`before` and `after` need two names, the same columns, and one rate name for each "
                f"column; got shapes {first.shape} and {second.shape}, names={tuple(names)}, "
                f"rate_names={tuple(rate_names)}."
            )
        if common_rate is None:
            known = (np.sort(column[~np.isnan(column)]) for column in second.T)
            common_rate = [find_common_rate(rates, alpha) for rates in known]
        common = np.broadcast_to(read_numbers(common_rate, "common_rate"), count)
        requested = np.nan if alpha is None else float(alpha)
        return cls(tuple(names), tuple(rate_names), first, second, common, requested)

    @classmethod
    def from_point(cls, point: FrontierPoint) -> RatesDisplay:
        """Compare one point of a frontier with the unconstrained model.

        Parameters
        ----------
        point : FrontierPoint
            For example ``curve.at(0.1)``. The band around the common rate is drawn for equal rates
            only.
        """
        check_kind(point, FrontierPoint, "a point of a frontier, such as curve.at(0.1)")
        equal = isinstance(point.promise, Equal)
        return cls.from_rates(
            point.unconstrained.rates,
            point.model.individual_rates_,
            ("without a constraint", value_words(point.promise)),
            alpha=point.value if equal else None,
            common_rate=point.certificate.common_rate if equal else None,
            rate_names=[spoken(rate.name) for rate in Rates.of(point.model.rate)],
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw both distributions; several rates are stacked. Returns the axes.

        Parameters
        ----------
        ax : Axes, optional
            Default: the axes of a new pyplot figure, which a notebook shows.
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


def rates_of_model(model: AverageFairClassifier) -> RatesDisplay:
    """Compare a fitted model's rates on the training people with their rates before.

    Parameters
    ----------
    model : AverageFairClassifier
        Fitted here: a loaded model does not hold people's rates.
    """
    before = getattr(model, "baseline_rates_", None)
    if before is None:
        raise InputError(
            "people's rates are unknown: a loaded model does not hold them. Fit the model, or draw "
            "any two tables of rates: RatesDisplay.from_rates(before, after).plot()."
        )
    promise, known = model.promise_, model.certificate_
    return RatesDisplay.from_rates(
        before,
        model.individual_rates_,
        ("given rates" if known.against_given else "with nothing asked", value_words(promise)),
        alpha=promise.alpha if isinstance(promise, Equal) else None,
        common_rate=known.common_rate if isinstance(promise, Equal) else None,
        rate_names=[spoken(rate.name) for rate in Rates.of(model.rate)],
    )


def _read(name: str, given: ArrayLike) -> FloatArray:
    try:
        rates = read_numbers(given, name)
    except InputError:
        rates = np.zeros(())
    if rates.ndim not in (1, 2):
        raise InputError(
            f"`{name}` must be individual rates of shape (n,) or (n, rates); got {given!r}."
        )
    return columns(rates)
