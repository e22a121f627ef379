"""The strip of dots: everybody's rate on one axis, with the band asked for; an inline SVG.

A report and a notebook show the same strip. It needs no script and no style sheet. Colours follow
the page's ``color``, so that it is readable on a dark page too. People outside the band are hollow
dots: the difference does not depend on colour.
"""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.text import counted

WIDTH, MARGIN, TOP, BELOW = 640, 20, 24, 46
ROOM, LEAST_ROOM = 104, 36
"""The most and the least height for dots."""
_RADII = (3.0, 2.5, 2.0, 1.6)
MOST_DOTS = 2_000
BAND, DOT = "#3b7dd8", "currentColor"
_ROUNDING = 1e-6  # rates are long sums, so that somebody at the end of a band is inside it


def strip(
    rates: ArrayLike,
    band: tuple[float, float] | None = None,
    what: str = "rate",
    *,
    ends: tuple[float, float] | None = None,
    most: int = MOST_DOTS,
    caption: str = "",
    least_room: float = LEAST_ROOM,
) -> str:
    """Return the strip as SVG.

    Parameters
    ----------
    rates : array-like, shape (n,)
        NaN where undefined.
    band : pair of float, optional
        The lowest and the highest rate that were asked for.
    what : str
        The name of the axis.
    ends : pair of float, optional
        Rates that the axis must show, so that several strips have the same axis.
    most : int, default 2000
        Of more people, this many are drawn, at evenly spaced ranks.
    caption : str
        What stands above the dots. Default: how many people are in the band.
    least_room : float
        The least height for dots, so that several strips have the same height.

    Examples
    --------
    >>> drawn = strip([0.1, 0.2, 0.2, 0.5], band=(0.1, 0.3))
    >>> drawn.count("<circle"), "3 of 4 people are in the band" in drawn
    (4, True)
    """
    known = np.sort(np.asarray(rates, dtype=np.float64))
    known = known[~np.isnan(known)]
    shown = known
    if known.size > most:
        shown = known[np.linspace(0, known.size - 1, most).round().astype(int)]
    low, high = _axis(shown, [*(band or ()), *(ends or ())])

    def across(rate: FloatArray | float) -> FloatArray:
        inside = (np.asarray(rate, dtype=np.float64) - low) / (high - low)
        return np.asarray(MARGIN + inside * (WIDTH - 2 * MARGIN))

    x = across(shown)
    radius, above = _swarm(x)
    floor = TOP + max(least_room, float(above.max(initial=0.0)) + radius + 4)
    height, parts = floor + BELOW, []
    said = f"Everybody's {what}, one dot a person, from {low:.2f} to {high:.2f}."
    if band is not None:
        count = int(np.count_nonzero(_inside(known, band)))
        words = f"{count:,} of {known.size:,} people are in the band"
        said, caption = f"{said} {words}.", caption or words
        left, right = (float(across(end)) for end in (max(low, band[0]), min(high, band[1])))
        parts.append(
            f'<rect x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" height="{floor - TOP:g}" '
            f'fill="{BAND}" fill-opacity="0.18"/>'
        )
        # The ends of the band, where they lie on the axis.
        ends_of_band = [float(across(end)) for end in band if low <= end <= high]
        parts += [
            f'<path d="M{end:.1f} {TOP}V{floor:g}" stroke="{BAND}" stroke-width="2"/>'
            for end in ends_of_band
        ]
    parts += _dots(x, floor - above, radius, _inside(shown, band))
    parts.append(
        f'<path d="M{MARGIN} {floor:g}H{WIDTH - MARGIN}" stroke="{DOT}" stroke-opacity="0.6"/>'
    )
    parts += [
        _text(float(across(rate)), floor + 17, f"{rate:g}", "middle") for rate in ticks(low, high)
    ]
    dots = "one dot: one person"
    if shown.size < known.size:
        dots = f"one dot: about {counted(round(known.size / shown.size), 'person', 'people')}"
    title = f"{what} ({dots})"
    parts.append(_text(WIDTH / 2, height - 6, title, "middle"))
    if caption:
        parts.append(_text(MARGIN, TOP - 8, caption, "start"))
    return (
        f'<svg class="strip" viewBox="0 0 {WIDTH} {height:g}" width="100%" '
        f'style="max-width:{WIDTH}px" role="img" aria-label="{escape(said)}">{"".join(parts)}</svg>'
    )


def _axis(shown: FloatArray, wanted: list[float]) -> tuple[float, float]:
    """Return the ends of the axis: all rates, the band and some room beside them."""
    ends = [*(shown[[0, -1]] if shown.size else ()), *wanted] or [0.0, 1.0]
    room = max(0.005, 0.03 * (max(ends) - min(ends)))
    return max(0.0, min(ends) - room), min(1.0, max(ends) + room)


def _inside(rates: FloatArray, band: tuple[float, float] | None) -> NDArray[np.bool_]:
    if band is None:
        return np.ones(rates.shape, dtype=np.bool_)
    return (rates >= band[0] - _ROUNDING) & (rates <= band[1] + _ROUNDING)


def _swarm(x: FloatArray) -> tuple[float, FloatArray]:
    """Return the radius of the dots, and the height of each dot's middle above the axis.

    Dots at nearly the same place stand on each other. If there are too many, they overlap.
    """
    for radius in _RADII:
        bins = np.floor(x / (2 * radius)).astype(int)
        below = np.arange(bins.size) - np.searchsorted(bins, bins, side="left")
        tallest = int(below.max(initial=0))
        if 2 * radius * (1 + tallest) + 1 <= ROOM:
            break
    step = min(2 * radius, (ROOM - 2 * radius - 1) / max(1, tallest))
    return radius, np.asarray(radius + 1 + below * step, dtype=np.float64)


def _dots(x: FloatArray, y: FloatArray, radius: float, inside: NDArray[np.bool_]) -> list[str]:
    """Return a dot for each rate: full inside the band, hollow outside."""
    full = f'fill="{DOT}" fill-opacity="0.6"'
    hollow = f'fill="none" stroke="{DOT}" stroke-width="{radius / 2.5:g}"'
    out = []
    for look, chosen, size in ((full, inside, radius), (hollow, ~inside, 0.8 * radius)):
        if chosen.any():
            circles = "".join(
                f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{size:g}"/>'
                for a, b in zip(x[chosen], y[chosen], strict=True)
            )
            out.append(f"<g {look}>{circles}</g>")
    return out


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:g}" text-anchor="{anchor}" font-size="13" fill="{DOT}">'
        f"{escape(words)}</text>"
    )


def ticks(low: float, high: float) -> list[float]:
    """Return three to eight round numbers between two numbers.

    Examples
    --------
    >>> ticks(0.02, 0.22)
    [0.05, 0.1, 0.15, 0.2]
    """
    power = 10.0 ** np.floor(np.log10(high - low))
    step = next(
        part * power for part in (0.1, 0.2, 0.25, 0.5, 1.0, 2.0) if (high - low) / part / power <= 6
    )
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [round(float(k * step), 10) + 0.0 for k in np.arange(first, last + 1)]
