"""Tables about the people of an audit: their groups and their features, joined by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import indent

import numpy as np
from numpy.typing import NDArray

from averagefair._util.text import counted, figure, percent
from averagefair.auditing import Audit
from averagefair.auditing.groups import group_views
from averagefair.auditing.rules import Rule, Rules
from averagefair.cli.console import bulleted
from averagefair.cli.joining import columns_of_groups
from averagefair.errors import InputError, some_of
from averagefair.files.reading import read_file
from averagefair.files.table import FileTable
from averagefair.game.rates import spoken
from averagefair.people.frames import Table


def read_about(path: str, id_column: str | None, person: str | None) -> FileTable:
    """Read a table about people.

    Parameters
    ----------
    path : str
    id_column : str, or None
        The id column, as given.
    person : str, or None
        The column of a log that says who an event is about: the id column if none was given.
    """
    table = read_file(path)
    if id_column is None and person is not None and person not in table.columns:
        raise InputError(
            f"{path} has no column {person!r}, as --person names it in the log. Name the column "
            f"that says who a row is, e.g. --id {next(iter(table.columns))}."
        )
    return table.by(id_column or person)


def with_groups(
    found: Audit, table: FileTable, columns: Sequence[str] | None
) -> tuple[Audit, Table]:
    """Return an audit with the groups of its people, and the groups.

    Parameters
    ----------
    found : Audit
    table : FileTable
    columns : sequence of str, or None
        Names and patterns of the columns that hold groups. Default: all.
    """
    chosen = columns_of_groups(table, columns)
    rows = _rows(table, "--groups", [str(name) for name in found.people.name.tolist()])
    groups = _words(table, chosen, rows)
    evidence = found.evidence
    views = group_views(
        groups,
        evidence.losses,
        evidence.tally,
        found.dispersion,
        found.confidence,
        shown=found.chance.p <= 1.0 - found.confidence,
    )
    return replace(found, groups=views), groups


def rules_of(found: Audit, table: FileTable, ignore: Sequence[str] | None, seed: int) -> Rules:
    """Return the confirmed rules on the features of a table.

    Parameters
    ----------
    found : Audit
    table : FileTable
    ignore : sequence of str, or None
        Names and patterns of columns to leave out.
    seed : int
    """
    left_out = set(table.select(ignore, "--features-ignore")) if ignore else set()
    columns = [name for name in table.others([]) if name not in left_out]
    if not columns:
        raise InputError(
            f"{table.source}: no column is left to be a feature. Ignore fewer columns."
        )
    rows = _rows(table, "--features", [str(name) for name in found.people.name.tolist()])
    return found.who(_words(table, columns, rows), random_state=seed)


def rule_lines(rules: Rules) -> str:
    """Return the rules in words, as an item of the audit's list."""
    if not rules.rules:
        return bulleted(rules.summary())
    tried, level = counted(rules.tried, "candidate"), percent(rules.confidence)
    head = (
        f"Rules on features, confirmed on people and tasks that did not find them ({tried} tested; "
        f"{level}, corrected):"
    )
    each = bulleted("\n".join(_rule(rule, rules.kind) for rule in rules))
    return "\n".join([bulleted(head), indent(each, "  ")])


def _rule(rule: Rule, kind: str) -> str:
    gap = rule.difference
    return (
        f"{rule.text}: {counted(rule.people, 'person', 'people')} ({rule.share:.0%}), mean "
        f"{spoken(kind)} rate {figure(rule.rate.value)}, others {figure(rule.others.value)}; "
        f"difference {figure(gap.value, 3, '+')} (CI {figure(gap.low, 3, '+')} to "
        f"{figure(gap.high, 3, '+')})."
    )


def _rows(table: FileTable, option: str, names: Sequence[str]) -> NDArray[np.intp]:
    """Return the row of each person; without ids, the rows are the people in order."""
    if table.ids is None:
        if len(table) != len(names):
            raise InputError(
                f"{table.source} has {counted(len(table), 'row')} for "
                f"{counted(len(names), 'person', 'people')}. Join them by --id, a column in all "
                "tables that says who a row is."
            )
        return np.arange(len(names))
    row_of = {person: row for row, person in enumerate(table.ids.tolist())}
    missing = [name for name in names if name not in row_of]
    if missing:
        zeroes = {name.lstrip("0") for name in missing} & {name.lstrip("0") for name in row_of}
        hint = " Some ids differ only by leading zeroes." if zeroes else ""
        raise InputError(
            f"{table.source} lacks {len(missing):,} of {counted(len(names), 'person', 'people')}: "
            f"{some_of(missing)}.{hint} {option} must list everybody by {table.id_column!r}; "
            "leave cells blank where nothing is known."
        )
    return np.array([row_of[name] for name in names], dtype=np.intp)


def _words(table: FileTable, columns: Sequence[str], rows: NDArray[np.intp]) -> Table:
    """Return some columns as words, None where blank; a row for each person."""
    cells = np.empty((len(rows), len(columns)), dtype=object)
    for number, name in enumerate(columns):
        words = np.array([*table.words(name, ""), None], dtype=object)[:-1]
        cells[:, number] = words[rows]
    return Table(cells, tuple(columns), None)
