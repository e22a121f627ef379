"""Text for people (tables, numbers) and plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from averagefair._util.names import in_a_line


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with right-aligned columns and a rule under the head.

    Examples
    --------
    >>> print(table(["alpha", "error"], [["0.1", "0.25"]]))
    alpha  error
    ------------
      0.1   0.25
    """
    lines = [[in_a_line(cell) for cell in line] for line in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join([text[0], "-" * len(text[0]), *text[1:]])


def figure(value: float, digits: int = 3, sign: str = "") -> str:
    """Write a number; "unknown" for NaN, "none" for infinity.

    Examples
    --------
    >>> figure(-0.00001), figure(0.25, 2, "+"), figure(float("nan"))
    ('0.000', '+0.25', 'unknown')
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "none"
    rounded = round(value, digits) + 0.0  # no minus before a zero
    return format(rounded, f"{sign}.{digits}f")


def counted(number: int, what: str, many: str | None = None) -> str:
    """Write a number of things, one or many.

    Examples
    --------
    >>> counted(1, "task"), counted(1200, "task"), counted(2, "person", "people")
    ('1 task', '1,200 tasks', '2 people')
    """
    return f"{number:,} {what if number == 1 else many or f'{what}s'}"


def digits(value: float) -> str:
    """Write a number with the fewest digits that identify it.

    Examples
    --------
    >>> digits(2.0), digits(1.0000001), digits(0.5)
    ('2', '1.0000001', '0.5')
    """
    return repr(float(value)).removesuffix(".0")


def exactly(value: float) -> str:
    """Write a number that a user chose, with two decimals, or more if it has more.

    Examples
    --------
    >>> exactly(0.1), exactly(0.025)
    ('0.10', '0.025')
    """
    short = f"{value:.2f}"
    return short if abs(float(short) - value) < 1e-9 else f"{value:.10g}"


def percent(share: float) -> str:
    """Write a share in percent, with one decimal if it has one.

    Examples
    --------
    >>> percent(0.05), percent(0.025)
    ('5%', '2.5%')
    """
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def plain(value: Any) -> Any:
    """Return a value in JSON's types; None for numbers that are not finite.

    Examples
    --------
    >>> plain({"rate": np.float64(0.5), "low": float("nan"), "names": ("a", 1)})
    {'rate': 0.5, 'low': None, 'names': ['a', 1]}
    """
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
