"""What a page says about a promise: the names of its figure, its axis and its terms."""

from __future__ import annotations

from dataclasses import dataclass

from averagefair._util.text import percent
from averagefair.frontier import Frontier
from averagefair.game.promises import Cap, Equal, Promise, WorstOff


@dataclass(frozen=True)
class PromiseWords:
    """The words of one curve's promise.

    Attributes
    ----------
    figure : str
        The name of the figure that the curve varies: "alpha", "max rate" or "price".
    meaning : str
        What the figure is, as a noun phrase.
    series : str
        The name of the curve's line beside another curve's.
    asked : str
        What is promised, as the end of "Promised: ..."; {rates} stands for the rates.
    lower_is_fairer : bool
        Whether a lower value asks for more.
    """

    figure: str
    meaning: str
    series: str
    asked: str
    lower_is_fairer: bool


def promise_words(curve: Frontier) -> PromiseWords:
    """Return the words of a curve's promise."""
    promise = curve[0].promise
    name, harm = promise.parameter.replace("_", " "), promise.no_harm_words()
    series, meaning, asked = _words(promise)
    if harm:
        series, asked = f"{series}, no harm", f"{asked}; {harm}"
    return PromiseWords(name, meaning, series, asked, not promise.less_is_easier)


def _words(promise: Promise) -> tuple[str, str, str]:
    if isinstance(promise, Equal):
        return (
            "equal rates",
            "largest allowed distance from the common rate",
            "everybody's {rates} within alpha of a common rate",
        )
    if isinstance(promise, Cap):
        return "cap", "highest rate that anybody may have", "nobody's {rates} above max rate"
    assert isinstance(promise, WorstOff)
    who = f"worst-off {percent(promise.share)}"
    if promise.max_rate is not None:
        meaning = "highest mean rate that the worst-off may have"
        return who, meaning, f"the mean of the {{rates}} of the {who} at most max rate"
    meaning = "points of error that a point of the worst-off's mean rate is worth"
    return who, meaning, f"a low mean of the {{rates}} of the {who}, at a price"


def reached_name(promise: Promise) -> str:
    """Return a short name of the figure that a one-sided promise reaches."""
    if isinstance(promise, WorstOff):
        return f"Mean, worst-off {percent(promise.share)}"
    return "Highest rate"
