"""The card: one page of Markdown for somebody who did not make the result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from averagefair._util.names import in_a_line
from averagefair.evidence.record import Record
from averagefair.showing.report.story import Listing

_MARKUP = re.compile(r"([\\`*\[\]<>|&])")


def card(record: Record, made: Mapping[str, Any]) -> str:
    """Return the card.

    Parameters
    ----------
    record : Record
    made : mapping
        The time and the versions, as in evidence.json.
    """
    return "\n".join(_lines(record, made)) + "\n"


def _lines(record: Record, made: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {safe(record.heading)}"
    yield from ("", safe(record.lead), "", f"**{safe(record.verdict)}**")
    yield from _section("Result")
    yield from (f"- {safe(line)}" for line in record.brief)
    for listing in record.listings:
        if listing.rows:
            yield from _section(listing.caption)
            yield from _table(listing)
    if record.notes:
        yield from _section("Notes")
        yield from (f"- {safe(note)}" for note in record.notes)
    yield from _section("What this does not prove")
    yield from (f"- {safe(sentence)}" for sentence in record.not_proved)
    yield from _section("How to repeat this")
    yield (
        "Anybody with the same data can repeat this and compare the figures with those in "
        "`evidence.json`. The same data have the same fingerprint."
    )
    given = {name: str(value) for name, value in record.given.items() if value is not None}
    yield from _code("python", record.repeat)
    if "command" in given:
        yield from _code("sh", given.pop("command"))
    rows = [
        *given.items(),
        ("fingerprint of the data", record.data["fingerprint"] or "unknown"),
        ("versions", ", ".join(f"{name} {number}" for name, number in made["versions"].items())),
        ("made", made["time"]),
    ]
    yield ""
    yield from _table(Listing("", ["", ""], rows))
    yield from ("", "To check this folder: `averagefair evidence FOLDER`.")


def _code(language: str, line: str) -> tuple[str, str, str, str]:
    """Return a block of code, with a fence longer than any in the line."""
    runs = (len(run) for run in re.findall("`+", line))
    fence = "`" * max(3, 1 + max(runs, default=0))
    return "", f"{fence}{language}", in_a_line(line, None), fence


def _section(title: str) -> tuple[str, str, str]:
    return "", f"## {safe(title)}", ""


def _table(listing: Listing) -> Iterator[str]:
    yield _row(listing.head)
    yield f"|{'---|' * len(listing.head)}"
    yield from (_row(row) for row in listing.rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(safe, cells))} |"


def safe(text: Any) -> str:
    r"""Write text in one line of Markdown, so that names are only text.

    Examples
    --------
    >>> print(safe("[a](b) | <i>\n"))
    \[a\](b) \| \<i\>\\n
    """
    return _MARKUP.sub(r"\\\1", in_a_line(text, None))
