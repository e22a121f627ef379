"""Plain text: tables a person can read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with its columns set right, and a rule under the head.

    Examples
    --------
    >>> print(table(["alpha", "error"], [["0.1", "0.25"]]))
    alpha  error
    ------------
      0.1   0.25
    """
    lines = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join([text[0], "-" * len(text[0]), *text[1:]])
