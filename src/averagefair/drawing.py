"""What all figures share: colours, axes, and how many people are drawn (matplotlib, when drawing).

Nothing rests on colour alone: series that can meet differ in lightness, dash or marker, so that
figures can be read in grey and by whoever does not tell red from green. The colours are those of
Okabe and Ito (2008), and a dark blue for what was observed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple
from unicodedata import east_asian_width

import numpy as np

from averagefair.errors import extra
from averagefair.names import in_a_line
from averagefair.sample import FloatArray

OBSERVED, NOISE, REQUEST = "#0b4f8a", "#e69f00", "#555555"
VERMILION, GREEN, PURPLE, BLACK = "#d55e00", "#009e73", "#cc79a7", "#000000"

MOST_DOTS = 1000
"""Above this many people a density takes the place of a dot for each."""
MOST_BINS, LEAST_BIN = 100, 1e-3
MOST_POINTS = 1000
"""Above this many points a line or a band is drawn through fewer."""
LONGEST_NAME = 28
"""In letters; one of Chinese, Japanese or Korean is as wide as two."""
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
"""Series that can meet, in this order; from the seventh on they begin again."""


def axes(ax: Any, size: tuple[float, float] = (5.5, 4.6)) -> Any:
    """Return these axes, or those of a new pyplot figure of that size (in inches).

    Notebooks and ``pyplot.show`` show pyplot's figures only; ``pyplot.close`` frees them.
    """
    if ax is not None:
        return ax
    return _pyplot().subplots(figsize=size, layout="constrained")[1]


@dataclass(frozen=True, repr=False)
class Panels:
    """A figure of several panels that ``plot`` drew.

    No Figure itself: a notebook shows pyplot's figures after each cell, and would show a Figure
    that a cell returns a second time.

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
        """Return panels side by side, empty, in a new pyplot figure of that size (in inches)."""
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
    """Return an empty figure of that size, in inches, for a file: pyplot does not know it."""
    return extra("matplotlib.figure", "plots").Figure(figsize=size, layout="constrained")


def finish(ax: Any, *, above: bool = False) -> Any:
    """Take off the box and add the legend: where there is room, or above the axes."""
    ax.spines[["top", "right"]].set_visible(False)
    labels = ax.get_legend_handles_labels()[1]
    if labels:
        columns = 2 if sum(sorted(map(len, labels))[-2:]) <= 2 * LONGEST_NAME else 1
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": columns}
        place = place if above else {}
        ax.legend(frameon=False, fontsize="small", **place)
    return ax


def words(name: Any) -> str:
    r"""Return a name as matplotlib draws it letter by letter.

    What stands between dollars would be read as a formula, and what begins with an underscore be
    left out of the legend.

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
    """Return the edges of bins of one width for these rates, none of them NaN.

    Rates over m tasks are often multiples of 1 / m. A bin then holds a whole number of them: bins
    that do not would show a comb that is not in the data.

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
    if held > 20:  # multiples of something so small would not show
        return np.linspace(low, high, count + 1)
    bins = int(np.ceil(((high - low) / step + 1) / held - 1e-6))
    return np.asarray(low - step / 2 + held * step * np.arange(bins + 1), dtype=np.float64)


def density(rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the edges of bins, and the share of the people per 0.01 of rate in each.

    NaN is passed over; of nobody's rates there is one empty bin.

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
    """Draw rates along the height ``at``: a dot for each, or where people are and how far they go.

    The densest tenth of the bins has the full height: often many people share the largest and the
    smallest rate, and nobody else could be seen beside them.
    """
    rates = np.sort(rates[~np.isnan(rates)])
    if 0 < rates.size <= MOST_DOTS:
        # Neighbours are moved apart, the same way each time.
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
    """Draw how rates are distributed above a base, filled or dashed."""
    if filled:
        ax.stairs(base + shares, edges, baseline=base, fill=True, color=tint(OBSERVED, 0.35))
    look = {"color": OBSERVED, "linewidth": 1.5} if filled else {"color": BLACK, "linestyle": "--"}
    ax.stairs(base + shares, edges, baseline=base, label=label, **look)


def draw_ticks(ax: Any, rates: FloatArray, at: float, colour: str) -> None:
    """Draw a tick for each person, where they are few enough."""
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
    """Return lines through at most ``most`` points: the ends, and means of neighbours between them.

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
