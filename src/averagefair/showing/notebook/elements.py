"""Pieces of HTML for a notebook's cell: tables, notes, badges and small charts as inline SVG.

A cell is part of somebody else's page, light or dark. So text and axes take the page's own colour
(``currentColor``), nothing has a background, and there is no script and no style sheet. Series have
colours of middle lightness, which are readable on black and on white, and differ in dashes too.
Every text is escaped here, and only here: names come from strangers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.names import LONGEST_NAME, in_a_line, in_lines
from averagefair.game.who_pays import NOTICEABLE
from averagefair.showing.strip import ticks

MOST_ROWS = 24
"""The most rows of a table; a longer table is cut."""
LONGEST_CELL, LONG_WORD = 600, 20
CELL = "white-space:normal;padding:0.1em 0.8em 0.1em 0"
MOST_DOTS = 30
"""A line of more points has no dots."""
MOST_POINTS = 200
"""The most points of a line; of more points, evenly spaced ones are drawn."""
COLOURS = ("#3b7dd8", "#d0661a", "#1f9468", "#b0629b")
TONES = {"pass": "#1f9468", "fail": "#d0402b", "inconclusive": "#c08a1e"}
DASHES = ("", "6 3", "2 3", "8 3 2 3")
WIDTH, HEIGHT = 420, 220
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 24, 40


def text(value: Any, longest: int | None = None) -> str:
    r"""Return text for HTML: escaped, without control characters, and of bounded length.

    Parameters
    ----------
    value : object
    longest : int, optional
        For a name in one line: cut it to this many characters. Default: lines of words.

    Examples
    --------
    >>> text("<b>Ann</b>", 60), text("a\x07b")
    ('&lt;b&gt;Ann&lt;/b&gt;', 'a\\x07b')
    """
    shown = in_lines(str(value)) if longest is None else in_a_line(value, longest)
    return escape(shown, quote=True)


def box(*parts: str) -> str:
    """Return the whole cell: parts below each other."""
    look = "max-width:50em;overflow-wrap:anywhere"
    return f'<div class="averagefair" style="{look}">{"".join(parts)}</div>'


def title(words: str) -> str:
    """Return the first line of a cell."""
    return f'<p style="margin:0.3em 0"><strong>{text(words)}</strong></p>'


def finding(question: str, badge: str, sentence: str, tone: str = "") -> str:
    """Return what was asked and what was found; the tone colours a bar beside it, not the text.

    Parameters
    ----------
    question, badge, sentence : str
    tone : {"pass", "fail", "inconclusive"}, optional
    """
    bar = TONES.get(tone, "currentColor")
    return (
        f'<div style="border-left:4px solid {bar};padding-left:0.7em;margin:0.3em 0">'
        f"<div>{text(question)}</div>"
        f"<div><strong>{text(badge)}</strong> &nbsp; {text(sentence)}</div></div>"
    )


def paragraph(words: str) -> str:
    """Return a sentence or more."""
    return f'<p style="margin:0.3em 0">{text(words)}</p>'


def beside(*parts: str) -> str:
    """Return parts beside each other where the page is wide enough."""
    cells = "".join(f'<div style="flex:1 1 20em">{part}</div>' for part in parts if part)
    return f'<div style="display:flex;flex-wrap:wrap;gap:1em">{cells}</div>'


def details(summary: str, *parts: str) -> str:
    """Return parts that are closed until the reader opens them."""
    head = f'<summary style="cursor:pointer">{text(summary)}</summary>'
    return f"<details>{head}{''.join(parts)}</details>"


def listing(words: str) -> str:
    """Return lines of words as they would be printed."""
    return f'<pre style="white-space:pre-wrap;overflow-wrap:anywhere">{text(words)}</pre>'


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, many: str = "rows", words: bool = False
) -> str:
    """Return a table; of more than 24 rows, the first and the last are shown.

    Parameters
    ----------
    head : sequence of str
        Empty for a table without a head.
    rows : iterable of sequence of str
    many : str
        What the rows are, for the line that says how many are left out.
    words : bool
        Whether cells are words, which begin at the left, in place of figures.
    """
    listed = list(rows)
    out = len(listed) - MOST_ROWS
    side = "left" if words else "right"
    lines = [_row("th", cells, side) for cells in ([head] if head else [])]
    if out <= 0:
        lines += [_row("td", cells, side) for cells in listed]
    else:
        half = MOST_ROWS // 2
        between = f"&hellip; {out:,} more {text(many)} &hellip;"
        across = max(map(len, listed))
        lines += [_row("td", cells, side) for cells in listed[:half]]
        lines.append(f'<tr><td colspan="{across}" style="text-align:center">{between}</td></tr>')
        lines += [_row("td", cells, side) for cells in listed[-half:]]
    # A table that is wider than its page can be scrolled.
    made = f'<table style="margin:0.4em 0">{"".join(lines)}</table>'
    return f'<div style="overflow-x:auto">{made}</div>'


def _row(kind: str, cells: Sequence[str], side: str) -> str:
    parts = []
    for place, cell in enumerate(cells):
        shown = text(cell, LONGEST_CELL if place else LONGEST_NAME)  # the first may be a name
        # Only a long word may be broken: a figure or a plain word stays whole.
        wrap = "anywhere" if any(len(word) > LONG_WORD for word in shown.split()) else "normal"
        look = f"text-align:{side if place else 'left'};overflow-wrap:{wrap}"
        parts.append(f'<{kind} style="{CELL};{look}">{shown}</{kind}>')
    return f"<tr>{''.join(parts)}</tr>"


def spaced(count: int, most: int = MOST_ROWS) -> list[int]:
    """Return evenly spaced places among ``count``, both ends among them.

    Examples
    --------
    >>> spaced(3), spaced(9, most=3)
    ([0, 1, 2], [0, 4, 8])
    """
    if count <= most:
        return list(range(count))
    places: list[int] = np.unique(np.linspace(0, count - 1, most).round().astype(int)).tolist()
    return places


@dataclass(frozen=True)
class Line:
    """One series of a chart; NaN is left out.

    Attributes
    ----------
    name : str
        Shown in the legend; "" for none.
    y : array, shape (k,)
    low, high : array, shape (k,), optional
        The ends of its interval.
    """

    name: str
    y: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None


def chart(
    x: FloatArray,
    lines: Sequence[Line],
    across: str,
    up: str,
    *,
    names: Sequence[str] = (),
) -> str:
    """Return lines over a common axis, as SVG; "" if nothing can be drawn.

    Parameters
    ----------
    x : array, shape (k,)
    lines : sequence of Line
        At most four.
    across, up : str
        The names of the axes.
    names : sequence of str
        Names of the places on the horizontal axis. Default: round numbers.

    Examples
    --------
    >>> drawn = chart(np.array([0.1, 0.2]), [Line("", np.array([0.3, 0.2]))], "alpha", "error")
    >>> drawn.count("<polyline"), drawn.count("<circle")
    (1, 2)
    """
    known = np.concatenate(
        [part[~np.isnan(part)] for line in lines for part in _parts(line)] or [np.empty(0)]
    )
    if not known.size or not x.size:
        return ""
    low, high = _widened(float(known.min()), float(known.max()))
    left, right = _widened(float(x.min()), float(x.max()), 0.04)

    def at(value: FloatArray | float) -> FloatArray:
        inside = (np.asarray(value, dtype=np.float64) - left) / (right - left)
        return np.asarray(LEFT + inside * (WIDTH - LEFT - RIGHT))

    def level(value: FloatArray | float) -> FloatArray:
        inside = (np.asarray(value, dtype=np.float64) - low) / (high - low)
        return np.asarray(HEIGHT - BOTTOM - inside * (HEIGHT - TOP - BOTTOM))

    drawn = []
    drawn += _axes(left, right, low, high, at, level, names, across, up)
    for number, line in enumerate(lines):
        drawn += _series(number, line, x, at, level)
    height = HEIGHT + 18 * sum(bool(line.name) for line in lines)
    drawn += _legend(lines)
    said = f"{up} against {across}: " + ", ".join(line.name or up for line in lines)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" width="100%" style="max-width:{WIDTH}px" role="img" '
        f'aria-label="{text(said, 400)}">{"".join(drawn)}</svg>'
    )


def changes(rows: Sequence[tuple[str, float, float]], across: str) -> str:
    """Return a ring and a dot for each row, before and after, as SVG; "" if nothing is known.

    Parameters
    ----------
    rows : sequence of (name, before, after)
    across : str
        The name of the axis.

    Examples
    --------
    >>> drawn = changes([("worst-off tenth", 0.4, 0.3)], "error rate")
    >>> drawn.count("<circle"), "0.4 to 0.3" in drawn
    (2, True)
    """
    known = [row for row in rows if not np.isnan(row[1:]).any()]
    if not known:
        return ""
    ends = [end for row in known for end in row[1:]]
    low, high = _widened(min(ends), max(ends))
    start, floor = 110, TOP + 24 * len(known)

    def at(value: float) -> float:
        return start + (value - low) / (high - low) * (WIDTH - start - RIGHT)

    drawn = []
    for value in ticks(low, high):
        drawn.append(
            f'<line x1="{at(value):.1f}" x2="{at(value):.1f}" y1="{TOP}" y2="{floor}" '
            'stroke="currentColor" stroke-opacity="0.15"/>'
            + _label(at(value), floor + 15, f"{value:g}", "middle")
        )
    for number, (name, before, after) in enumerate(known):
        y, colour = TOP + 12 + 24 * number, _direction(after - before)
        drawn.append(
            _label(start - 8, y + 4, name, "end")
            + f'<line x1="{at(before):.1f}" x2="{at(after):.1f}" y1="{y}" y2="{y}" '
            f'stroke="{colour}" stroke-width="3"/>'
            f'<circle cx="{at(before):.1f}" cy="{y}" r="5" fill="none" stroke="{colour}" '
            f'stroke-width="2"/><circle cx="{at(after):.1f}" cy="{y}" r="5" fill="{colour}"/>'
        )
    drawn.append(_label((start + WIDTH - RIGHT) / 2, floor + 32, across, "middle"))
    said = "; ".join(f"{name}: {before:.3g} to {after:.3g}" for name, before, after in known)
    return (
        f'<svg viewBox="0 0 {WIDTH} {floor + 40}" width="100%" style="max-width:{WIDTH}px" '
        f'role="img" aria-label="{text(said, 400)}">{"".join(drawn)}</svg>'
    )


def _direction(change: float) -> str:
    """Return the colour of a change; none where it is too small to notice."""
    if abs(change) < NOTICEABLE:
        return "currentColor"
    return TONES["pass" if change < 0 else "fail"]


def _parts(line: Line) -> list[FloatArray]:
    return [part for part in (line.y, line.low, line.high) if part is not None]


def _widened(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    room = share * (high - low) or max(0.01, 0.1 * abs(high))
    return low - room, high + room


def _series(number: int, line: Line, x: FloatArray, at: Any, level: Any) -> list[str]:
    colour, dash = _look(number)
    places = np.flatnonzero(~np.isnan(line.y))
    places = places[spaced(places.size, MOST_POINTS)]
    drawn = []
    if line.low is not None and line.high is not None:
        some = places[~np.isnan(line.low[places]) & ~np.isnan(line.high[places])]
        for place in some if some.size <= 60 else some[spaced(some.size, 60)]:
            ends = level(line.low[place]), level(line.high[place])
            drawn.append(
                f'<line x1="{at(x[place]):.1f}" x2="{at(x[place]):.1f}" y1="{ends[0]:.1f}" '
                f'y2="{ends[1]:.1f}" stroke="{colour}" stroke-opacity="0.55" stroke-width="3"/>'
            )
    pairs = list(zip(at(x[places]).tolist(), level(line.y[places]).tolist(), strict=True))
    if len(pairs) > 1:
        corners = " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)
        drawn.append(
            f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
        )
    if len(pairs) <= MOST_DOTS:
        drawn += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in pairs]
    return drawn


def _look(number: int) -> tuple[str, str]:
    """Return the colour of a series, and the attribute of its dashes."""
    dash = DASHES[number % len(DASHES)]
    return COLOURS[number % len(COLOURS)], f' stroke-dasharray="{dash}"' if dash else ""


def _legend(lines: Sequence[Line]) -> list[str]:
    drawn, row = [], 0
    for number, line in enumerate(lines):
        if not line.name:
            continue
        y = HEIGHT + 18 * row + 6
        colour, dash = _look(number)
        drawn.append(
            f'<line x1="{LEFT}" x2="{LEFT + 28}" y1="{y}" y2="{y}" stroke="{colour}" '
            f'stroke-width="2"{dash}/>'
            f'<circle cx="{LEFT + 14}" cy="{y}" r="3" fill="{colour}"/>'
            + _label(LEFT + 36, y + 4, line.name, "start")
        )
        row += 1
    return drawn


def _axes(
    left: float,
    right: float,
    low: float,
    high: float,
    at: Any,
    level: Any,
    names: Sequence[str],
    across: str,
    up: str,
) -> list[str]:
    floor = HEIGHT - BOTTOM
    drawn = [
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}" stroke="currentColor" '
        'stroke-opacity="0.6"/>'
    ]
    for value in ticks(low, high):
        y = float(level(value))
        drawn.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="currentColor" stroke-opacity="0.15"/>'
            + _label(LEFT - 6, y + 4, f"{value:g}", "end")
        )
    if names:
        for place in spaced(len(names), 5):
            name = in_a_line(names[place], None)
            short = name if len(name) <= 12 else f"{name[:11]}\u2026"
            drawn.append(_label(float(at(place)), floor + 15, short, "middle"))
    else:
        for value in ticks(left, right):
            drawn.append(_label(float(at(value)), floor + 15, f"{value:g}", "middle"))
    drawn.append(_label((LEFT + WIDTH - RIGHT) / 2, floor + 32, across, "middle"))
    drawn.append(_label(4, TOP - 10, up, "start"))
    return drawn


def _label(x: float, y: float, words: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12" '
        f'fill="currentColor">{text(words, 60)}</text>'
    )
