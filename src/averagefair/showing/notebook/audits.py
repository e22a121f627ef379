"""Audits, comparisons and drifts in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.text import counted, figure, percent
from averagefair.game.rates import spoken
from averagefair.showing.headline import (
    Headline,
    audit_headline,
    comparison_headline,
    drift_headline,
)
from averagefair.showing.notebook.elements import (
    MOST_POINTS,
    Line,
    box,
    chart,
    details,
    finding,
    listing,
    spaced,
    table,
)
from averagefair.showing.strip import strip

if TYPE_CHECKING:
    from averagefair.auditing import Audit, Comparison, Drift

WORST_PEOPLE = 10
"""How many people the table of an audit names."""


def audit_html(found: Audit) -> str:
    """Return the headline of an audit, everybody's rate as a dot, and the worst-off people."""
    rate, asked = spoken(found.rate), found.assessment
    band = None
    if asked is not None and not np.isnan(found.common_rate):
        band = (found.common_rate - asked.alpha, found.common_rate + asked.alpha)
    return box(
        _headline(audit_headline(found)),
        strip(found.evidence.sorted_rates, band, f"{rate} rate"),
        details(
            f"the {counted(min(WORST_PEOPLE, found.n), 'person', 'people')} with the highest rates",
            _people(found),
        ),
        details("in words", listing(found.summary())),
    )


def comparison_html(found: Comparison) -> str:
    """Return the headline of a comparison, its figures, and everybody's rate before and after."""
    rate = spoken(found.before.rate)
    before, after = (_ranked(rates) for rates in (found.people.before, found.people.after))
    share = np.linspace(0.0, 1.0, before.size) if before.size else before
    drawn = chart(
        share,
        [Line("before", before), Line("after", after)],
        "share of the people, from best off to worst off",
        f"{rate} rate",
    )
    return box(
        _headline(comparison_headline(found)),
        drawn,
        details("figures", table(*found.table())),
        details("in words", listing("\n".join(found.statements()))),
    )


def drift_html(found: Drift) -> str:
    """Return the headline of a drift, the standard deviation of true rates, and the batches."""
    spread = Line("", *sigmas(found))
    drawn = chart(
        np.arange(float(len(found))),
        [spread],
        "batch",
        f"standard deviation of true rates, {percent(found[0].confidence)} CI",
        names=found.names,
    )
    return box(
        _headline(drift_headline(found)),
        drawn,
        details("batches", table(*found.table(), many="batches")),
        details("in words", listing("\n".join(found.statements()))),
    )


def sigmas(found: Drift) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the standard deviation of true rates in each batch, and the ends of its interval."""
    batches = found.to_dict()["batches"]
    value, low, high = (
        np.array(batches[name], dtype=np.float64) for name in ("sigma", "sigma_low", "sigma_high")
    )
    return value, low, high


def _headline(said: Headline) -> str:
    badge = f"{said.badge.value} {said.badge.word}"
    return finding(said.question, badge, said.sentence, said.badge.tone) + table(
        (), said.rows, words=True
    )


def _people(found: Audit) -> str:
    rows = []
    for row in found.worst_off(WORST_PEOPLE):
        interval = (
            "" if np.isnan(row["low"]) else f"{figure(row['low'])}\u2013{figure(row['high'])}"
        )
        rows.append([str(row["name"]), figure(row["rate"]), interval])
    head = ["person", "rate", f"{percent(found.confidence)} CI"]
    return table(head, rows, many="people")


def _ranked(rates: FloatArray) -> FloatArray:
    """Return rates in order, at most as many as a line has points."""
    known = np.sort(rates[~np.isnan(rates)])
    return np.asarray(known[spaced(known.size, MOST_POINTS)], dtype=np.float64)
