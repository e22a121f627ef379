"""The paper's figure "error spread": individual rates at each allowed spread, 2 alpha."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.frozen import Frozen
from averagefair.frontier import Frontier
from averagefair.game.rates import Rates, spoken
from averagefair.showing import drawing
from averagefair.showing.drawing import BLACK, MOST_DOTS, REQUEST, SERIES, Style, tint, words
from averagefair.showing.plots.given import check_kind, columns

FLIPPED = Style("#999999", "", "o")


@dataclass(frozen=True, eq=False, repr=False)
class ErrorSpreadDisplay(Frozen):
    """Individual rates at each allowed spread, 2 alpha: the paper's figure 1(b), with its axes.

    Attributes
    ----------
    rate_names : tuple of str
    alpha : array, shape (k,)
        The requested alpha, or another figure (see ``parameter``); NaN if none was requested.
    rates : tuple of k arrays, shape (n, rates)
        Individual rates; NaN if undefined.
    common_rate, mean : array, shape (k, rates)
        The mean is weighted by people's weights; for error rates it is the overall error.
    coin_flips : array, shape (k, rates)
        A baseline: the mean rate if the unconstrained model is mixed with coin flips until its
        rates are equally close together.
    coin_flip_rates : tuple of k arrays, shape (n, rates), optional
        Individual rates with these coin flips, drawn in grey just above the model's rates.
    parameter : str
        What ``alpha`` holds: "alpha", "max_rate" or "price". The band around the common rate, and
        coin flips, are drawn for alpha only.

    Examples
    --------
    >>> from averagefair import frontier
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=40, m=20)
    >>> curve = frontier(people.X, people.Y, [0.05, 0.1], random_state=0)
    >>> ErrorSpreadDisplay.from_frontier(curve).plot().get_xlabel()
    'individual error rate'
    """

    rate_names: tuple[str, ...]
    alpha: FloatArray
    rates: tuple[FloatArray, ...]
    common_rate: FloatArray
    mean: FloatArray
    coin_flips: FloatArray
    coin_flip_rates: tuple[FloatArray, ...] = ()
    parameter: str = "alpha"

    @classmethod
    def from_frontier(cls, curve: Frontier) -> ErrorSpreadDisplay:
        """Make the display from individual rates at every point.

        Parameters
        ----------
        curve : Frontier
        """
        check_kind(curve, Frontier, "a frontier")
        weights = curve[0].model.training_individuals().individual_weights
        rates = tuple(columns(point.model.individual_rates_) for point in curve)
        free = _mean(columns(curve.unconstrained.rates), weights)
        apart = np.array([[point.unconstrained_width] for point in curve])
        width = np.array([[point.width] for point in curve])
        kept = np.where(apart > 0, np.minimum(1.0, width / np.where(apart > 0, apart, 1.0)), 1.0)
        return cls(
            rate_names=tuple(spoken(rate.name) for rate in Rates.of(curve[0].model.rate)),
            alpha=np.array(curve.values),
            rates=rates,
            common_rate=np.array([np.ravel(point.certificate.common_rate) for point in curve]),
            mean=np.array([_mean(reached, weights) for reached in rates]),
            coin_flips=kept * free + (1.0 - kept) * 0.5,
            parameter=curve.parameter,
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw a row for each value (and rate), the smallest at the bottom; returns the axes.

        Parameters
        ----------
        ax : Axes, optional
            Default: the axes of a new pyplot figure, which a notebook shows.
        """
        k, count = len(self.alpha), len(self.rate_names)
        ax = drawing.axes(ax, (6.5, 1.8 + 0.22 * max(4, k * count)))
        lane = 0.9 / count
        for number in range(count):
            rows = np.arange(k, dtype=np.float64) + lane * (number - (count - 1) / 2)
            self._plot_rate(ax, number, rows, lane)
        ax.use_sticky_edges = False  # leave room for dots at 0
        every = -(-k // 30)
        times = 2 if self.parameter == "alpha" else 1
        label = self.parameter.replace("_", " ")
        label = "allowed spread: 2 alpha" if self.parameter == "alpha" else f"requested {label}"
        names = ["none" if np.isnan(value) else f"{times * value:g}" for value in self.alpha]
        ax.set_yticks(np.arange(k)[::every], names[::every])
        name = f"{words(self.rate_names[0])} rate" if count == 1 else "rate"
        ax.set(xlabel=f"individual {name}", ylabel=label, ylim=(-0.6, k - 0.4))
        return drawing.finish(ax, above=True)

    def _plot_rate(self, ax: Any, number: int, rows: FloatArray, lane: float) -> None:
        """Draw one rate along rows of height ``lane``; the first rate adds the legend."""
        style, first = SERIES[number % len(SERIES)], number == 0
        equal, middle = self.parameter == "alpha", self.common_rate[:, number]
        if equal:
            low, high = np.clip([middle - self.alpha, middle + self.alpha], 0.0, 1.0)
            look = {"height": lane, "color": tint(REQUEST, 0.22), "zorder": 0}
            within = "within alpha of the common rate" if first else None
            ax.barh(rows, high - low, left=low, label=within, **look)
        who = "people" if len(self.rates[0]) > MOST_DOTS else "a person"
        named = who if len(self.rate_names) == 1 else f"{who}, {words(self.rate_names[number])}"
        up, height = (0.24 * lane, 0.4 * lane) if self.coin_flip_rates else (0.0, 0.8 * lane)
        _strips(ax, self.rates, number, rows - up, height, style, named)
        if self.coin_flip_rates:
            flipped = f"{who}, with coin flips" if first else None
            _strips(ax, self.coin_flip_rates, number, rows + up, height, FLIPPED, flipped)
        flips = (self.coin_flips, rows + up, "--", "D", BLACK, "mean with coin flips")
        mean = (self.mean, rows - up, "-", "o", "white", "mean")
        for values, at, dash, marker, fill, label in (mean, flips) if equal else (mean,):
            look = {"linestyle": dash, "marker": marker, "mfc": fill}
            look |= {"label": label if first else None}
            ax.plot(values[:, number], at, color=BLACK, lw=1, markersize=4.5, **look)


def _strips(
    ax: Any,
    people: tuple[FloatArray, ...],
    number: int,
    rows: FloatArray,
    height: float,
    style: Style,
    label: str | None,
) -> None:
    """Draw the individual rates of column ``number``, one strip for each row."""
    for rates, row in zip(people, rows, strict=True):
        drawing.draw_strip(ax, rates[:, number], row, height, style)
    ax.plot([], [], style.marker, color=style.colour, markersize=4, label=label)


def _mean(rates: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted mean of each rate over people who have it; NaN if nobody has."""
    shares = np.where(np.isnan(rates), 0.0, weights[:, None])
    total = shares.sum(axis=0)
    added = (shares * np.nan_to_num(rates)).sum(axis=0)
    return np.asarray(added / np.where(total > 0, total, np.nan), dtype=np.float64)
