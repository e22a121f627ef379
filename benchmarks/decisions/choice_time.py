"""Where people or tasks are many: seconds of the choice against seconds of the fit."""

from __future__ import annotations

import os

from benchmarks.common import markdown
from benchmarks.decisions.data import load
from benchmarks.decisions.fits import DEFAULT, LEAST_SQUARES, fit
from benchmarks.decisions.records import Job, Records, Result

CASES = ((20_000, 50, 0.10), (2_000, 1_000, 0.05))
SMALL = ((500, 20, 0.10),)
MOST_RATIO = 1 / 3


def jobs(small: bool = False) -> list[Job]:
    """Return the jobs of this part."""
    return [
        {
            "part": "time",
            "data": {"synthetic": {"n": n, "m": m, "d": 20, "random_state": 0}},
            "oracle": oracle,
            "alpha": alpha,
        }
        for n, m, alpha in (SMALL if small else CASES)
        for oracle in (LEAST_SQUARES, DEFAULT)
    ]


def work(job: Job) -> Result:
    """Fit once; return the seconds, and error and share outside of both ways to decide."""
    fitted = fit(load(job["data"]), job["oracle"], job["alpha"])
    reached = fitted.model.certificate_
    return {
        "seconds": fitted.seconds,
        "choice_seconds": fitted.choice_seconds,
        "chances": reached.by_chances.to_dict(),
        "fixed": reached.by_decisions.to_dict(),
        "load": os.getloadavg()[0],
    }


def report(records: Records, small: bool = False) -> list[str]:
    """Return a table, in Markdown."""
    head = [
        "",
        "s of the fit",
        "s of the choice",
        "ratio",
        "at most a third",
        "error: chances",
        "fixed",
        "outside, fixed",
    ]
    rows = []
    for own in jobs(small):
        result = records.result(own)
        if result is None:
            continue
        sizes, ratio = own["data"]["synthetic"], result["choice_seconds"] / result["seconds"]
        rows.append(
            [
                f"{sizes['n']:,} x {sizes['m']:,}, alpha {own['alpha']:.2f}, {own['oracle']}",
                f"{result['seconds']:.1f}",
                f"{result['choice_seconds']:.1f}",
                f"{ratio:.2f}",
                "yes" if ratio <= MOST_RATIO else "no",
                f"{result['chances']['error']:.4f}",
                f"{result['fixed']['error']:.4f}",
                f"{result['fixed']['outside']:.1%}",
            ]
        )
    return [
        "Synthetic people x tasks. The seconds of the fit include the mapping for later tasks, but "
        "not the choice. Each ratio is from one run.",
        markdown(head, rows),
    ]
