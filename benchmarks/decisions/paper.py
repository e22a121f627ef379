"""The training sample: whether the decisions made keep the promise, at which error, how soon."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.common import markdown
from benchmarks.decisions.data import available, load
from benchmarks.decisions.fits import DEFAULT, LEAST_SQUARES, fit
from benchmarks.decisions.measures import draws, figures, measure
from benchmarks.decisions.records import Job, Records, Result

PAPER = {"communities": "paper"}
MOST = {"communities": 1_595, "seed": 0}
WIDE = {"synthetic": {"n": 2_000, "m": 400, "d": 20, "random_state": 0}}
NAMES = {
    "paper": "Communities, 200 x 50",
    "most": "Communities, 1,595 x 50",
    "wide": "synthetic, 2,000 x 400",
    "small": "synthetic, 60 x 20",
}
MOST_CHOICE_SECONDS = 10.0


def jobs(small: bool = False) -> list[Job]:
    """Return the jobs of this part."""
    if small:
        data = {"synthetic": {"n": 60, "m": 20, "d": 20, "random_state": 0}}
        return [job("small", data, oracle, 0.1) for oracle in (DEFAULT, LEAST_SQUARES)]
    both = (DEFAULT, LEAST_SQUARES)
    found = [job("paper", PAPER, oracle, alpha) for oracle in both for alpha in (0.05, 0.10)]
    found += [job("most", MOST, oracle, 0.15) for oracle in reversed(both)]
    found += [job("wide", WIDE, oracle, 0.05) for oracle in reversed(both)]
    return [own for own in found if available(own["data"])]


def job(case: str, data: Any, oracle: str, alpha: float) -> Job:
    return {"part": "paper", "case": case, "data": data, "oracle": oracle, "alpha": alpha}


def work(job: Job) -> Result:
    """Fit once, and measure the chances, the fixed decisions and the drawn ones."""
    data, alpha = load(job["data"]), job["alpha"]
    fitted = fit(data, job["oracle"], alpha)
    model = fitted.model
    fixed = measure(model.predict(data.X) != data.Y, alpha)
    reached = model.certificate_.by_decisions
    np.testing.assert_allclose(
        [fixed["error"], fixed["spread"]], [reached.error, reached.spread], atol=1e-9
    )
    chances = model.mixture_.decision_probability(data.X)
    average = np.abs(chances - data.Y)
    return {
        "chances": {"error": float(average.mean()), "spread": float(np.ptp(average.mean(axis=1)))},
        "fixed": fixed,
        "drawn": figures(draws(chances, data.Y), alpha),
        "met": bool(model.certificate_.met),
        "choice_seconds": fitted.choice_seconds,
        "seconds": fitted.seconds,
        "load": os.getloadavg()[0],
    }


def report(records: Records, small: bool = False) -> list[str]:
    """Return a table of all cases, and the targets, in Markdown."""
    found = [(own, records.result(own)) for own in jobs(small)]
    done = [(own, result) for own, result in found if result is not None]
    head = [
        "",
        "alpha",
        "on average over draws",
        "fixed decisions",
        "one draw",
        "outside: fixed",
        "one draw",
        "s of the choice",
        "s of the fit",
    ]
    rows = [
        [
            f"{NAMES[own['case']]}, {own['oracle']}",
            f"{own['alpha']:.2f}",
            *(_pair(result[way]) for way in ("chances", "fixed", "drawn")),
            *(f"{result[way]['outside']:.1%}" for way in ("fixed", "drawn")),
            f"{result['choice_seconds']:.1f}",
            f"{result['seconds']:.1f}",
        ]
        for own, result in done
    ]
    parts = [
        "Error / spread on the training people and tasks. The spread is the largest rate minus the "
        "smallest; at most 2 `alpha` is promised. Figures of one draw are means over 20 draws. "
        "The seconds of the fit are without those of the choice.",
        markdown(head, rows),
    ]
    targets = [row for own, result in done for row in _targets(own, result)]
    if targets:
        parts.append(markdown(["target", "limit", "measured", "met"], targets))
    return parts


def _pair(figures: dict[str, float]) -> str:
    return f"{figures['error']:.4f} / {figures['spread']:.3f}"


# The largest error of the fixed decisions: absolute, or above the chances' error.
ERRORS = {
    ("paper", DEFAULT, 0.05): 0.163,
    ("paper", DEFAULT, 0.10): 0.1445,
    ("paper", LEAST_SQUARES, 0.10): 0.174,
}
MORE = {"most": 0.005, "wide": 0.001}
OUTSIDE = {"paper": 0.0, "most": 0.005, "wide": 0.0}


def _targets(own: Job, result: Result) -> Sequence[list[str]]:
    case, oracle, alpha = own["case"], own["oracle"], own["alpha"]
    if case not in OUTSIDE:
        return []
    name = f"{NAMES[case]}, {oracle}, alpha {alpha:.2f}"
    fixed, rows = result["fixed"], []

    def row(what: str, limit: float, measured: float, form: str) -> None:
        met = "yes" if measured <= limit + 1e-9 else "no"
        cells = (format(limit, form), format(measured, form))
        rows.append([f"{name}: {what}", *cells, met])

    row("share outside", OUTSIDE[case], fixed["outside"], ".1%")
    if (case, oracle, alpha) in ERRORS:
        row("error", ERRORS[case, oracle, alpha], fixed["error"], ".4f")
    if case in MORE:
        more = fixed["error"] - result["chances"]["error"]
        row("error above the chances' error", MORE[case], more, "+.4f")
    if case == "paper":
        row("seconds of the choice", MOST_CHOICE_SECONDS, result["choice_seconds"], ".1f")
    return rows
