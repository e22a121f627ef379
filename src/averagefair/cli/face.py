"""What an audit shows on one screen: a table of eight rows, rules, notes, and the last line."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from averagefair._util.names import in_a_line, unnamed
from averagefair._util.text import counted, figure
from averagefair.cli.console import WIDTH, Ending, bulleted, wrapped
from averagefair.game.rates import spoken

if TYPE_CHECKING:
    from averagefair.auditing.gate import Gate
    from averagefair.auditing.rules import Rule, Rules
    from averagefair.showing.headline import Headline

COLOURS = {"PASS": "green", "FAIL": "red", "INCONCLUSIVE": "yellow", "UNEQUAL": "red"}
"""The colour of each badge; the others have none."""
EXPLAIN = "--explain"
MOST_RULES = 3
"""The most lines that rules take without ``--explain``."""
WARNINGS = ("rates are closer", "no rate", "tasks left out", "left out", "with ")
"""The beginnings of notes that a reader must not miss, the most important first."""


def in_rows(rows: Sequence[tuple[str, str]]) -> str:
    """Return a table of two columns that fits 80 columns; long values are wrapped.

    Examples
    --------
    >>> print(in_rows([("groups", "a 0.2, b 0.3"), ("next", "more tasks would tell")]))
    groups  a 0.2, b 0.3
    next    more tasks would tell
    """
    first = max(len(name) for name, _ in rows)
    lines = []
    for name, value in rows:
        parts = wrap(value, WIDTH - first - 2, break_on_hyphens=False) or [""]
        heads = [name] + [""] * (len(parts) - 1)
        lines += [f"{head:<{first}}  {own}" for head, own in zip(heads, parts, strict=True)]
    return "\n".join(lines)


def ending(headline: Headline, gate: Gate) -> Ending:
    """Return the last line: the outcome in the gate's words, or the finding."""
    badge = headline.badge
    found = f"{badge.name}: {headline.sentence}"
    text = found if gate.outcome is None else gate.lines()[-1]
    return Ending(text, badge.value, COLOURS.get(badge.name))


def notes_line(notes: Sequence[str]) -> str:
    """Return a line that says how many notes there are, and begins the most important one.

    Examples
    --------
    >>> notes_line(["read: 9 events.", "left out: 2 events without a label. Blank them."])
    '2 notes (--explain): left out: 2 events without a label'
    """
    if not notes:
        return f"in words: {EXPLAIN}"
    head = f"{counted(len(notes), 'note')} ({EXPLAIN}): "
    ranked = [note for begin in WARNINGS for note in notes if note.startswith(begin)]
    note = unnamed([*ranked, *notes][0])
    return cut(head + note.partition(". ")[0].partition(" (")[0].rstrip("."))


def changes_lines(
    short: Sequence[str], statements: Sequence[str], notes: Sequence[str], explain: bool
) -> list[str]:
    """Return what changed: short sentences, or everything in words.

    Parameters
    ----------
    short, statements, notes : sequence of str
    explain : bool
    """
    if explain:
        return [bulleted("\n".join([*statements, *(f"Note: {note}" for note in notes)]))]
    more = [notes_line(notes)] if notes or [*short] != [*statements] else []
    return [*map(wrapped, short), *more]


def cut(line: str) -> str:
    """Return a line that fits 80 columns; words that do not fit become three dots."""
    line = in_a_line(line, None)
    if len(line) <= WIDTH:
        return line
    return line[: WIDTH - 3].rpartition(" ")[0].rstrip(",;:") + "..."


def short_rules(rules: Rules) -> list[str]:
    """Return the confirmed rules in at most three lines."""
    if not rules.rules:
        return ["no rule on features is confirmed"]
    every = [cut(f"rule: {_rule(rule, rules.kind)}") for rule in rules]
    if len(every) <= MOST_RULES:
        return every
    shown = every[: MOST_RULES - 1]
    return [*shown, f"{counted(len(every) - len(shown), 'more rule')}: {EXPLAIN}"]


def _rule(rule: Rule, kind: str) -> str:
    people = counted(rule.people, "person", "people")
    rates = f"{figure(rule.rate.value)}, others {figure(rule.others.value)}"
    return f"{rule.text}: {people}, {spoken(kind)} {rates}"
