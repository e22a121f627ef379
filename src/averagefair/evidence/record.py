"""What evidence says about an audit or a model, before it becomes files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from averagefair._util.text import plain
from averagefair.errors import InputError
from averagefair.showing.report.story import Listing

OUTCOMES = ("PASS", "FAIL", "INCONCLUSIVE")
PART = ("name", "asked", "outcome", "words", "bound", "value", "low", "high")


@dataclass(frozen=True)
class Record:
    """The contents of all files of a folder of evidence.

    Attributes
    ----------
    kind : {"audit", "certificate"}
    title : str
    heading : str
        The heading of the card.
    lead : str
        What was looked at, in one sentence.
    data : dict
        The numbers of people and tasks, the fingerprint, and what the fingerprint covers.
    settings : dict of str to number, str, bool or None
        The result's own, then those that were given.
    given : dict of str to number, str, bool or None
    figures : dict
    outcome : dict, or None
        The outcome of a gate.
    verdict : str
        The result in a few words.
    words : list of str
        The result in sentences.
    brief : list of str
        Those sentences that the card shows beside its tables.
    not_proved : list of str
    repeat : str
        The call in Python that makes the result again.
    page : callable
        Returns the report of this record as HTML; it needs the extra ``report``.
    listings : list of Listing
        Small tables for the card.
    notes : list of str
    """

    kind: str
    title: str
    heading: str
    lead: str
    data: dict[str, Any]
    settings: dict[str, Any]
    given: dict[str, Any]
    figures: dict[str, Any]
    outcome: dict[str, Any] | None
    verdict: str
    words: list[str]
    brief: list[str]
    not_proved: list[str]
    repeat: str
    page: Callable[[Record], str]
    listings: list[Listing] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check_settings(settings: Any) -> dict[str, Any]:
    """Return settings as plain values by name; anything but numbers becomes text.

    Parameters
    ----------
    settings : mapping, or None
    """
    if settings is None:
        return {}
    if not isinstance(settings, Mapping):
        raise InputError(f"`settings` must map names to values; got {settings!r}.")
    return {str(name): _value(value) for name, value in settings.items()}


def _value(value: Any) -> Any:
    value = plain(value)
    return str(value) if isinstance(value, dict | list) else value


def check_outcome(outcome: Any) -> dict[str, Any] | None:
    """Return the outcome of a gate as plain values.

    Parameters
    ----------
    outcome : mapping, or None
    """
    if outcome is None:
        return None
    rule = (
        "`outcome` must map `outcome` to PASS, FAIL or INCONCLUSIVE, and `parts` to a list of "
        f"mappings with {', '.join(PART)}"
    )
    parts = outcome.get("parts") if isinstance(outcome, Mapping) else None
    if not isinstance(parts, list | tuple) or not parts:
        raise InputError(f"{rule}; got {outcome!r}.")
    for part in (outcome, *parts):
        if not isinstance(part, Mapping) or part.get("outcome") not in OUTCOMES:
            raise InputError(f"{rule}; got {part!r}.")
    for part in parts:
        if set(part) != set(PART):
            raise InputError(f"{rule}; got {part!r}.")
    listed = [{name: plain(part[name]) for name in PART} for part in parts]
    return {"outcome": outcome["outcome"], "parts": listed}
