"""The parts of a headline: a badge, a sentence and a few rows of figures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Badge(Enum):
    """The finding in a word; the value is the icon beside it.

    Attributes
    ----------
    PASS, FAIL, INCONCLUSIVE
        The outcome of what was asked.
    UNEQUAL
        Nothing was asked; people's rates differ by more than chance.
    OBSERVED
        Nothing was asked; the figures are as observed, with nothing said about true rates.
    MORE_EQUAL, LESS_EQUAL, UP_AND_DOWN
        How differences between true rates changed.
    """

    PASS = "\u2713"
    FAIL = "\u2717"
    INCONCLUSIVE = "?"
    UNEQUAL = "\u2260"
    OBSERVED = "\u2022"
    MORE_EQUAL = "\u2193"
    LESS_EQUAL = "\u2191"
    UP_AND_DOWN = "\u2195"

    @property
    def word(self) -> str:
        """The badge as a reader sees it.

        Examples
        --------
        >>> Badge.MORE_EQUAL.word
        'MORE EQUAL'
        """
        return self.name.replace("_", " ")

    @property
    def tone(self) -> str:
        """The kind of colour: "pass", "fail", "inconclusive", or "unasked"."""
        return _TONES.get(self, "unasked")


_TONES = {
    Badge.PASS: "pass",
    Badge.MORE_EQUAL: "pass",
    Badge.FAIL: "fail",
    Badge.LESS_EQUAL: "fail",
    Badge.INCONCLUSIVE: "inconclusive",
}


@dataclass(frozen=True)
class Headline:
    """What was found, as short as it can be said.

    Attributes
    ----------
    question : str
    badge : Badge
    sentence : str
        The finding in one sentence.
    rows : tuple of pairs of str
        The name and the value of each figure.
    """

    question: str
    badge: Badge
    sentence: str
    rows: tuple[tuple[str, str], ...]


def as_dict(headline: Headline) -> dict[str, Any]:
    """Return a headline as plain strings, e.g. for JSON."""
    return {
        "question": headline.question,
        "badge": headline.badge.name,
        "sentence": headline.sentence,
        "rows": dict(headline.rows),
    }
