"""The data of the pages about changes: drift over batches, and a comparison of two audits."""

from __future__ import annotations

from typing import Any

import numpy as np

from averagefair._util.text import figure, plain
from averagefair.auditing import Comparison, Drift
from averagefair.auditing.estimates import Estimate
from averagefair.game.rates import spoken
from averagefair.showing.drawing import thin
from averagefair.showing.report.audit_data import (
    MOST_BARS,
    MOST_BYTES,
    MOST_POINTS,
    NUMBERS,
    size_of_name,
)
from averagefair.showing.strip import strip


def drift_data(found: Drift) -> dict[str, Any]:
    """Return the data that the page of a drift draws."""
    columns = found.to_dict()["batches"]
    kept = ("mean", "mean_low", "mean_high", "sigma", "sigma_low", "sigma_high")
    out: dict[str, Any] = plain(
        {
            "rate": spoken(found[0].rate),
            "confidence": found[0].confidence,
            "names": list(found.names),
            **{name: columns[name] for name in kept},
        }
    )
    return out


def batch_rows(found: Drift) -> list[list[str]]:
    """Return the table of batches: name, people, tasks, mean, sigma, and the chance test."""
    return [
        [
            name,
            f"{audit.n:,}",
            f"{audit.m:,}",
            figure(audit.mean.value),
            _ends(max(0.0, audit.mean.low), min(1.0, audit.mean.high)),
            figure(audit.dispersion.sigma),
            _ends(*_roots(audit.dispersion.sigma2)),
            _p(p),
            _p(adjusted),
        ]
        for name, audit, p, adjusted in zip(
            found.names, found.audits, found.p, found.p_adjusted, strict=True
        )
    ]


def change_rows(found: Drift) -> list[list[str]]:
    """Return the table of changes from each batch to the next: mean rate, variance."""
    pairs = zip(found.names[1:], found.mean_changes, found.sigma2_changes, strict=True)
    return [
        [
            name,
            figure(mean.value, 3, "+"),
            _ends(mean.low, mean.high, 3, "+"),
            figure(spread.value, 5, "+"),
            _ends(spread.low, spread.high, 5, "+"),
        ]
        for name, mean, spread in pairs
    ]


def comparison_data(found: Comparison) -> dict[str, Any]:
    """Return the data that the page of a comparison draws."""
    people = found.people
    sorted_rates = {
        name: np.sort(rates[~np.isnan(rates)])
        for name, rates in (("before", people.before), ("after", people.after))
    }
    count = sorted_rates["before"].size
    place = np.arange(1.0, count + 1.0)
    if count > MOST_BARS:
        place, *few = thin(place, *sorted_rates.values(), most=MOST_POINTS)
        sorted_rates = dict(zip(sorted_rates, few, strict=True))
    out: dict[str, Any] = plain(
        {
            "rate": spoken(found.before.rate),
            "confidence": found.before.confidence,
            "learned_tasks": found.learned_tasks,
            "sorted": {
                "place": np.round(place, 1),
                "people": count,
                **{name: np.round(rates, 4) for name, rates in sorted_rates.items()},
            },
            "people": _people(found),
        }
    )
    return out


def comparison_strips(found: Comparison) -> list[str]:
    """Return the strips of everybody's rate before and after, on one axis."""
    sides = {"before": found.people.before, "after": found.people.after}
    known = np.concatenate(list(sides.values()))
    known = known[~np.isnan(known)]
    ends = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    what = f"{spoken(found.before.rate)} rate"
    return [strip(rates, None, what, ends=ends, caption=name) for name, rates in sides.items()]


def _people(found: Comparison) -> dict[str, Any]:
    """Return the table of people, the largest rise first, as many as fit."""
    people = found.people
    rows = np.argsort(-np.nan_to_num(people.difference, nan=-2.0), kind="stable")
    names = plain(people.name[rows].tolist())
    sizes = np.array([size_of_name(name) + NUMBERS for name in names])
    listed = int(np.searchsorted(np.cumsum(sizes), MOST_BYTES, side="right"))
    rows = rows[:listed]
    numbers = ("before", "after", "difference", "low", "high")
    clear = np.where(people.worse[rows], "worse", np.where(people.better[rows], "better", "no"))
    return {
        "total": len(people.name),
        "listed": listed,
        "columns": {
            "name": names[:listed],
            **{name: np.round(getattr(people, name)[rows], 3) for name in numbers},
            "clear": clear,
        },
    }


def _roots(sigma2: Estimate) -> tuple[float, float]:
    low, high = np.sqrt([sigma2.low, sigma2.high])
    return float(low), float(high)


def _ends(low: float, high: float, digits: int = 3, sign: str = "") -> str:
    if np.isnan(low) or np.isnan(high):
        return "unknown"
    return f"{figure(low, digits, sign)} to {figure(high, digits, sign)}"


def _p(value: float) -> str:
    return "unknown" if np.isnan(value) else f"{value:.3f}"
