"""Time and memory of an audit of a large table: ``python -m benchmarks.audit.scale``.

``make bench`` runs it. Every case runs in a process of its own. It measures the wall time of
``audit`` with all default statistics and a request, and the peak resident memory of the process.
The memory of the given tables is shown beside the peak. ``--docs`` also writes the table into
docs/audit.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
from time import perf_counter

import numpy as np

from averagefair import audit
from benchmarks.common import (
    DOCS,
    ROOT,
    heading,
    machine,
    markdown,
    resident,
    table,
    verdict,
    write_section,
)

PAGE = DOCS / "audit.md"
MOST_SECONDS, MOST_MEMORY = 6.0, 1.2e9
JUDGED = (100_000, 500)
CASES = [
    (*JUDGED, "complete", "error", "0/1"),
    (*JUDGED, "30% blank", "error", "0/1"),
    (*JUDGED, "complete", "false_positive", "0/1"),
    (*JUDGED, "30% blank", "false_positive", "0/1"),
    (*JUDGED, "complete", "error", "chances"),
    (1_000_000, 100, "complete", "error", "0/1"),
    (1_000_000, 100, "30% blank", "error", "0/1"),
    (20_000, 2_000, "complete", "error", "0/1"),
]
HEAD = ["people x tasks", "table", "rate", "decisions", "seconds", "peak MB", "of it tables given"]


def main() -> None:
    print(machine())
    heading(
        "The audit of large tables", "all default statistics and a request; peak of the process"
    )
    found = [(case, run(*case)) for case in CASES]
    rows = [row(case, one) for case, one in found]
    table(HEAD, rows)
    judged = [one for case, one in found if case[:2] == JUDGED]
    verdict(
        f"100,000 x 500 within {MOST_SECONDS:g} s and {MOST_MEMORY / 1e9:g} GB, tables included",
        all(one["seconds"] <= MOST_SECONDS and one["peak"] <= MOST_MEMORY for one in judged),
    )
    if "--docs" in sys.argv:
        write_section(PAGE, "scale", markdown(HEAD, rows))


def row(case: tuple[int, int, str, str, str], found: dict[str, float]) -> list[str]:
    n, m, kind, rate, decisions = case
    return [
        f"{n:,} x {m:,}",
        kind,
        rate.replace("_", "-"),
        decisions,
        f"{found['seconds']:.1f}",
        f"{found['peak'] / 1e6:,.0f}",
        f"{found['given'] / 1e6:,.0f}",
    ]


def run(*case: object) -> dict[str, float]:
    """Measure a case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.audit.scale", "--case", json.dumps(case)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def measure(n: int, m: int, kind: str, rate: str, decisions: str) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, size=(n, m), dtype=np.int8)
    made = np.empty((n, m), dtype=np.int8 if decisions == "0/1" else np.float64)
    observed = np.empty((n, m), dtype=bool) if kind != "complete" else None
    chance = 0.1 + 0.2 * rng.random((n, 1))
    step = max(1, 5_000_000 // m)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        wrong = rng.random(labels[rows].shape, dtype=np.float32) < chance[rows]
        made[rows] = labels[rows] ^ wrong
        if decisions != "0/1":
            made[rows] = 0.1 + 0.8 * made[rows]
        if observed is not None:
            observed[rows] = rng.random(labels[rows].shape, dtype=np.float32) < 0.7
    given = labels.nbytes + made.nbytes + (0 if observed is None else observed.nbytes)
    start_time = perf_counter()
    audit(labels, made, rate=rate, observed=observed, alpha=0.1, beta=0.05)
    seconds = perf_counter() - start_time
    print(json.dumps({"seconds": seconds, "peak": resident("VmHWM"), "given": given}))


if __name__ == "__main__":
    if "--case" in sys.argv:
        measure(*json.loads(sys.argv[sys.argv.index("--case") + 1]))
    else:
        main()
