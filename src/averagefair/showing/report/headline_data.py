"""A headline as plain strings for a page's template and script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from averagefair.showing.headline import Headline


def headline_rows(head: Headline) -> dict[str, Any]:
    """Return a headline as plain strings and lists."""
    return {
        "question": head.question,
        "badge": head.badge.name,
        "word": head.badge.word,
        "icon": head.badge.value,
        "tone": head.badge.tone,
        "sentence": head.sentence,
        "rows": [list(row) for row in head.rows],
    }


def headline_data(head: Headline, strips: Sequence[str] = (), shown: int = 0) -> dict[str, Any]:
    """Return a headline with its pictures.

    Parameters
    ----------
    head : Headline
    strips : sequence of str
        Drawings as SVG.
    shown : int
        The strip that a page shows first, if it shows one at a time.
    """
    return headline_rows(head) | {"strips": list(strips), "shown": shown}
