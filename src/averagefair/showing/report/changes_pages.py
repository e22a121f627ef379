"""The pages about changes: drift over batches or time, and a comparison of two audits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from averagefair._util.text import counted, percent
from averagefair.auditing import Comparison, Drift
from averagefair.errors import InputError
from averagefair.game.rates import spoken
from averagefair.showing.headline import comparison_headline, drift_headline
from averagefair.showing.report.changes_data import (
    batch_rows,
    change_rows,
    comparison_data,
    comparison_strips,
    drift_data,
)
from averagefair.showing.report.headline_data import headline_data
from averagefair.showing.report.page import make_page


def drift_report(
    found: Drift,
    *,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> str:
    """Return a page about a drift, as the text of one HTML file.

    Parameters
    ----------
    found : Drift
    title : str, optional
    settings : mapping, optional
        How to make the report again (files, options, a command line), shown as given.
    notes : tuple of str
        What was read, and what was left out.

    Examples
    --------
    >>> from averagefair import audit, drift
    >>> labels = [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]]
    >>> decisions = [[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> found = drift(audit(labels, decisions), ["May", "May", "June", "June"])
    >>> drift_report(found, title="Two months").count("<h1>Two months</h1>")
    1
    """
    if not isinstance(found, Drift):
        raise InputError(f"`found` must be a result of drift(); got {type(found).__name__}.")
    first, last = found.names[0], found.names[-1]
    rate = spoken(found[0].rate)
    context = {
        "title": title or f"Drift of individual {rate} rates",
        "lead": f"{counted(len(found), 'batch', 'batches')}, from {first} to {last}.",
        "headline": headline_data(drift_headline(found)),
        "words": found.headline(),
        "statements": [line for line in found.statements() if line not in found.headline()],
        "notes": notes,
        "batches": batch_rows(found),
        "changes": change_rows(found),
        "level": percent(found[0].confidence),
        "rate": rate,
    }
    own = {"rate": rate, "confidence": found[0].confidence, "seed": found[0].seed}
    blocks = {"drift-data": drift_data(found)}
    return make_page("drift.html", context, blocks, ["charts.js", "drift.js"], own, settings)


def comparison_report(
    found: Comparison,
    *,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> str:
    """Return a page about a comparison, as the text of one HTML file.

    Parameters
    ----------
    found : Comparison
    title : str, optional
    settings : mapping, optional
        How to make the report again (files, options, a command line), shown as given.
    notes : tuple of str
        What was read, and what was left out.

    Examples
    --------
    >>> from averagefair import audit, compare
    >>> labels = [[1, 0, 1], [0, 1, 1]]
    >>> found = compare(audit(labels, [[1, 0, 0], [0, 1, 1]]), audit(labels, labels))
    >>> comparison_report(found, title="Before and after").count("<h1>Before and after</h1>")
    1
    """
    if not isinstance(found, Comparison):
        raise InputError(f"`found` must be a result of compare(); got {type(found).__name__}.")
    rate, (words, *statements) = spoken(found.before.rate), found.statements()
    head, rows = found.table()
    context = {
        "title": title or f"Individual {rate} rates before and after",
        "lead": f"The same {counted(found.before.n, 'person', 'people')} on the same "
        f"{counted(found.before.m, 'task')}, decided in two ways.",
        "headline": headline_data(comparison_headline(found), comparison_strips(found)),
        "words": words,
        "statements": statements,
        "notes": notes,
        "head": ["figure", *head[1:]],
        "rows": rows,
        "level": percent(found.before.confidence),
        "learned": found.learned_tasks,
        "rate": rate,
    }
    own = {"rate": rate, "confidence": found.before.confidence, "seed": found.before.seed}
    blocks = {"comparison-data": comparison_data(found)}
    scripts = ["charts.js", "tables.js", "comparison.js"]
    return make_page("comparison.html", context, blocks, scripts, own, settings)
