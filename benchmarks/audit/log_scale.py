"""How long the audit of a large decision log takes, and what another month costs.

``python -m benchmarks.audit.log_scale`` writes a Parquet file of events (2 million people, 500
tasks, 100 million events) to the folder for temporary files, reads and audits it in a process of
its own, adds a month of 5 million events, and prints seconds and peak memory. ``--events 10`` takes
10 million events. ``--docs`` also writes the table into docs/audit.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import DOCS, machine, markdown, table, write_section

PEOPLE, TASKS, MONTH = 2_000_000, 500, 5_000_000
HEAD = ["events", "step", "seconds", "peak GB"]


def write_events(path: Path, events: int, seed: int) -> None:
    """Write events: everybody meets tasks at random, and is wrong more or less often."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    skill = np.random.default_rng(0).normal(0, 0.05, PEOPLE).astype(np.float32)
    hard = np.random.default_rng(1).uniform(0.1, 0.4, TASKS).astype(np.float32)
    names = pa.array([f"school {task:03d}" for task in range(TASKS)])
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("school", pa.dictionary(pa.int16(), pa.string())),
            ("hired", pa.int8()),
            ("offer", pa.int8()),
        ]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, events, MONTH):
            size = min(MONTH, events - start)
            who = rng.integers(0, PEOPLE, size)
            what = rng.integers(0, TASKS, size).astype(np.int16)
            label = ((who * 2654435761 + what.astype(np.int64) * 40503) >> 7) & 1
            chances = np.clip(hard[what] + skill[who], 0.01, 0.9)
            wrong = rng.random(size, dtype=np.float32) < chances
            columns = [
                pa.array(who),
                pa.DictionaryArray.from_arrays(pa.array(what), names),
                pa.array(label.astype(np.int8)),
                pa.array(np.where(wrong, 1 - label, label).astype(np.int8)),
            ]
            writer.write_table(pa.table(columns, schema=schema))


WORK = """
import json, resource, sys
from time import perf_counter
from averagefair import DecisionLog
steps, start = [], perf_counter()
def step(name):
    global start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak /= 1e9 if sys.platform == "darwin" else 1e6
    steps.append((name, perf_counter() - start, peak))
    start = perf_counter()
log = DecisionLog(person="id", task="school", label="hired", decision="offer")
log.update(sys.argv[1]); step("read")
found = log.audit(); step("audit")
log.save(sys.argv[3]); step("save")
del found
log.update(sys.argv[2]); log.save(sys.argv[3]); step("add a month, save")
print(json.dumps(steps))
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--docs", action="store_true", help="write the table to docs/audit.md")
    arguments.add_argument("--events", type=int, default=100, metavar="MILLIONS")
    given = arguments.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        log, month = Path(folder) / "log.parquet", Path(folder) / "month.parquet"
        write_events(log, given.events * 1_000_000, 2)
        write_events(month, MONTH, 3)
        command = [sys.executable, "-c", WORK, str(log), str(month), str(Path(folder) / "sums")]
        steps = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    sizes = [given.events] * 3 + [MONTH // 1_000_000]
    rows = [
        [f"{size} million", name, f"{seconds:.0f}", f"{peak:.2f}"]
        for size, (name, seconds, peak) in zip(sizes, steps, strict=True)
    ]
    table(HEAD, rows)
    if given.docs:
        write_section(DOCS / "audit.md", "logs", markdown(HEAD, rows))


if __name__ == "__main__":
    main()
