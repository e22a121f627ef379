"""Helpers for all figures: colours, axes, density or dots (matplotlib is imported when drawing).

Series in one figure differ in lightness, dash or marker as well as colour. So figures are readable
in grey and by people with red-green colour blindness. The colours are those of Okabe and Ito
(2008), with a dark blue for observed values.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple
from unicodedata import east_asian_width

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.names import in_a_line
from averagefair.errors import extra

OBSERVED, NOISE, REQUEST = "#0b4f8a", "#e69f00", "#555555"
VERMILION, GREEN, PURPLE, BLACK = "#d55e00", "#009e73", "#cc79a7", "#000000"

MOST_DOTS = 1000
"""Above this many people, draw a density instead of a dot for each person."""
MOST_BINS, LEAST_BIN = 100, 1e-3
MOST_POINTS = 1000
"""Above this many points, draw a line or a band through fewer points."""
LONGEST_NAME = 28
"""The limit in letters; a Chinese, Japanese or Korean letter counts as two."""
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


class Style(NamedTuple):
    """How a series is drawn."""

    colour: str
    dash: Any
    marker: str


SERIES = (
    Style(OBSERVED, "-", "o"),
    Style(VERMILION, "--", "s"),
    Style(GREEN, "-.", "^"),
    Style(BLACK, ":", "D"),
    Style(PURPLE, (0, (5, 1, 1, 1, 1, 1)), "v"),
    Style(REQUEST, (0, (8, 2)), "P"),
)
"""The styles of a figure's series, in this order; the seventh series gets the first style."""


def axes(ax: Any, size: tuple[float, float] = (5.5, 4.6)) -> Any:
    """Return the given axes, or those of a new pyplot figure of that size (in inches).

    Notebooks and ``pyplot.show`` show only pyplot's figures; ``pyplot.close`` frees them.
    """
    if ax is not None:
        return ax
    return _pyplot().subplots(figsize=size, layout="constrained")[1]


@dataclass(frozen=True, repr=False)
class Panels:
    """A figure of several panels that ``plot`` drew.

    This is not a Figure itself, because a notebook shows pyplot's figures after each cell. If the
    cell also returned the Figure, the notebook would show it twice.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
    axes : tuple of matplotlib.axes.Axes
        The panels, from left to right.
    """

    figure: Any
    axes: tuple[Any, ...]

    @classmethod
    def new(cls, count: int, size: tuple[float, float]) -> Panels:
        """Return empty panels side by side in a new pyplot figure of that size (in inches)."""
        figure, axes = _pyplot().subplots(1, count, figsize=size, layout="constrained")
        return cls(figure, tuple(axes))

    def savefig(self, *args: Any, **options: Any) -> None:
        """Write the figure to a file, as ``figure.savefig`` does."""
        self.figure.savefig(*args, **options)

    def __repr__(self) -> str:
        return f"Panels({len(self.axes)} axes)"


def _pyplot() -> Any:
    return extra("matplotlib.pyplot", "plots")


def new_figure(size: tuple[float, float]) -> Any:
    """Return an empty figure of that size (in inches), for a file; pyplot does not manage it."""
    return extra("matplotlib.figure", "plots").Figure(figsize=size, layout="constrained")


def finish(ax: Any, *, above: bool = False) -> Any:
    """Remove the box and add the legend, inside the axes where there is room, or above them."""
    ax.spines[["top", "right"]].set_visible(False)
    labels = ax.get_legend_handles_labels()[1]
    if labels:
        columns = 2 if sum(sorted(map(len, labels))[-2:]) <= 2 * LONGEST_NAME else 1
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": columns}
        place = place if above else {}
        ax.legend(frameon=False, fontsize="small", **place)
    return ax


def words(name: Any) -> str:
    r"""Return a name that matplotlib draws literally, shortened if it is long.

    Without this, matplotlib reads text between dollars as a formula, and leaves names that begin
    with an underscore out of the legend.

    Examples
    --------
    >>> words("$x_1$"), words("_mine"), words("a\nb")
    ('\\$x_1\\$', ' _mine', 'a\\nb')
    """
    text = in_a_line(name, None)
    wide = np.cumsum([1 + (east_asian_width(letter) in "WF") for letter in text[:LONGEST_NAME]])
    if len(text) > LONGEST_NAME or wide[-1:].sum() > LONGEST_NAME:
        text = f"{text[: np.count_nonzero(wide < LONGEST_NAME)]}…"
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def tint(colour: str, strength: float) -> tuple[float, ...]:
    """Mix a colour with white; strength 1 is the colour itself, 0 is white.

    Examples
    --------
    >>> tint("#000000", 0.25)
    (0.75, 0.75, 0.75)
    """
    channels = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return tuple(1.0 - strength * (1.0 - channel) for channel in channels)


def bin_edges(rates: FloatArray) -> FloatArray:
    """Return the edges of bins of equal width for these rates, which must not be NaN.

    Rates over m tasks are often multiples of 1 / m. Each bin then covers the same number of
    multiples; otherwise the histogram would show peaks that are not in the data.

    Examples
    --------
    >>> bin_edges(np.array([0.0, 0.1, 0.2, 0.2, 0.5])).round(3)
    array([-0.05,  0.05,  0.15,  0.25,  0.35,  0.45,  0.55])
    """
    low, high = float(rates.min()), float(rates.max())
    if high - low < LEAST_BIN:
        return 0.5 * (low + high) + 0.5 * LEAST_BIN * np.array([-1.0, 1.0])
    count = int(np.clip(np.sqrt(rates.size), 5, MOST_BINS))
    step = float(np.diff(np.unique(rates.round(9))).min())
    held = max(1, round((high - low) / count / step))
    if held > 20:  # steps this small do not show
        return np.linspace(low, high, count + 1)
    bins = int(np.ceil(((high - low) / step + 1) / held - 1e-6))
    return np.asarray(low - step / 2 + held * step * np.arange(bins + 1), dtype=np.float64)


def density(rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the edges of bins, and the share of people per 0.01 of rate in each bin.

    NaN is ignored; without any rate there is one empty bin.

    Examples
    --------
    >>> edges, shares = density(np.array([0.1, 0.2, 0.2, 0.3]))
    >>> edges.round(3), shares.round(3)
    (array([0.05, 0.15, 0.25, 0.35]), array([0.025, 0.05 , 0.025]))
    """
    rates = rates[~np.isnan(rates)]
    if not rates.size:
        return np.array([0.0, 1.0]), np.zeros(1)
    shares, edges = np.histogram(rates, bin_edges(rates), density=True)
    return edges, np.asarray(shares / 100, dtype=np.float64)


def draw_line(
    ax: Any, x: FloatArray, y: FloatArray, style: Style, label: str, size: float = 4.5
) -> None:
    """Draw a series with its colour, dash and marker."""
    look = {"color": style.colour, "linestyle": style.dash, "marker": style.marker}
    look |= {"markersize": size, "markeredgecolor": "white", "markeredgewidth": 0.6}
    ax.plot(x, y, label=label, **look)


def draw_strip(ax: Any, rates: FloatArray, at: float, height: float, style: Style) -> None:
    """Draw rates along the height ``at``: a dot for each person, or the density and the range.

    The densest tenth of the bins has the full height. Often many people share the largest or the
    smallest rate; if only the densest bin had full height, the other bins would be invisible.
    """
    rates = np.sort(rates[~np.isnan(rates)])
    if 0 < rates.size <= MOST_DOTS:
        # Move neighbours apart vertically, in a fixed pattern.
        moved = at + height * ((np.arange(rates.size) * _GOLDEN) % 1.0 - 0.5)
        look = {"color": style.colour, "marker": style.marker, "linestyle": "", "alpha": 0.5}
        ax.plot(rates, moved, markersize=2.6, markeredgewidth=0, **look)
    elif rates.size:
        edges, shares = density(rates)
        full = np.quantile(shares[shares > 0], 0.9)
        half = 0.5 * height * np.minimum(1.0, shares / full)
        ax.plot(rates[[0, -1]], [at, at], color=style.colour, linewidth=0.8)
        ax.stairs(at + half, edges, baseline=at - half, fill=True, color=tint(style.colour, 0.75))


def draw_histogram(
    ax: Any, edges: FloatArray, shares: FloatArray, base: float, label: str | None, filled: bool
) -> None:
    """Draw the histogram of rates above a base, filled or dashed."""
    if filled:
        ax.stairs(base + shares, edges, baseline=base, fill=True, color=tint(OBSERVED, 0.35))
    look = {"color": OBSERVED, "linewidth": 1.5} if filled else {"color": BLACK, "linestyle": "--"}
    ax.stairs(base + shares, edges, baseline=base, label=label, **look)


def draw_ticks(ax: Any, rates: FloatArray, at: float, colour: str) -> None:
    """Draw a tick for each person, if there are few enough people."""
    if rates.size <= MOST_DOTS:
        look = {"color": colour, "linestyle": "", "marker": "|", "markersize": 6, "alpha": 0.5}
        ax.plot(rates, np.full(rates.size, at), **look)


def draw_path(ax: Any, x: FloatArray, y: FloatArray, colour: str, pieces: int = 40) -> None:
    """Draw a line that darkens from its start to its end."""
    LineCollection = extra("matplotlib.collections", "plots").LineCollection
    points = np.column_stack([x, y])
    ends = np.unique(np.linspace(0, x.size - 1, pieces + 1).astype(int))
    parts = [points[start : end + 1] for start, end in pairwise(ends)]
    colours = [tint(colour, strength) for strength in np.linspace(0.4, 1.0, len(parts))]
    ax.add_collection(LineCollection(parts, colors=colours, linewidths=1.4, capstyle="round"))
    ax.update_datalim(points)
    ax.autoscale_view()


def thin(at: FloatArray, *lines: FloatArray, most: int = MOST_POINTS) -> tuple[FloatArray, ...]:
    """Return lines through at most ``most`` points: both ends, and means of neighbours between.

    Examples
    --------
    >>> thin(np.arange(6.0), np.array([0.0, 2, 4, 6, 8, 9]), most=3)
    (array([0. , 2.5, 5. ]), array([0., 5., 9.]))
    """
    if at.size <= most:
        return (at, *lines)
    starts = np.linspace(0, at.size, most, endpoint=False).astype(int)
    sizes = np.diff(np.append(starts, at.size))
    thinned = [np.add.reduceat(line, starts) / sizes for line in (at, *lines)]
    for few, line in zip(thinned, (at, *lines), strict=True):
        few[[0, -1]] = line[[0, -1]]
    return tuple(thinned)
