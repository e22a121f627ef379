"""Measure what each promise costs and gives: ``python -m benchmarks.promises``.

Every table, random split, oracle and promise is one job. A finished job is written to
results/bench/promises.jsonl at once, one line per request. A run that was stopped goes on where it
was. To measure again, delete the file.

``python -m benchmarks.promises --tables health --splits 2 --promises equal`` runs a part.
``python -m benchmarks.promises.report`` makes tables and a figure from the file.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

from joblib import Parallel, delayed, parallel_config

from benchmarks.common import machine
from benchmarks.promises.fits import ORACLES, SETTINGS, Job, run
from benchmarks.promises.records import RECORDS, append, read
from benchmarks.promises.tables import TABLES, whats_missing

SPLITS, JOBS, LIMIT = 10, 2, 120.0


def main() -> None:
    given = arguments()
    print(machine())
    jobs = open_jobs(given)
    print(f"{len(jobs)} jobs to do; records go to {given.records}", flush=True)
    start = perf_counter()
    with parallel_config("loky", n_jobs=given.jobs, inner_max_num_threads=1):
        finished = Parallel(batch_size=1, return_as="generator_unordered")(
            delayed(run)(job, given.time_limit) for job in jobs
        )
        for number, records in enumerate(finished, 1):
            append(records, given.records)
            job = Job(*(records[0][name] for name in Job._fields))
            notes = "".join(
                [
                    ", cut short" if any(record.get("cut_short") for record in records) else "",
                    ", a cap was impossible"
                    if any("refused" in record for record in records)
                    else "",
                ]
            )
            print(
                f"{number}/{len(jobs)} {job.table}, split {job.seed}, {job.oracle}, "
                f"{job.promise}: {records[0]['path_seconds']:.1f} s{notes}; "
                f"{perf_counter() - start:.0f} s so far",
                flush=True,
            )


def open_jobs(given: argparse.Namespace) -> list[Job]:
    """Return the jobs without a record, split by split, and say which tables are missing."""
    tables = []
    for table in given.tables:
        missing = whats_missing(table)
        if missing is None:
            tables.append(table)
        else:
            print(f"{table}: left out. {missing}")
    done = {Job(*(record[name] for name in Job._fields)) for record in read(given.records)}
    asked = (
        Job(table, seed, oracle, promise)
        for seed in range(given.splits)
        for oracle in given.oracles
        for table in tables
        for promise in given.promises
    )
    return [job for job in asked if job not in done]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what each promise costs and gives.")
    add = parser.add_argument
    add("--tables", nargs="+", default=[*TABLES], choices=TABLES, help="tables; default: all")
    add("--oracles", nargs="+", default=[*ORACLES], choices=ORACLES, help="default: all")
    add("--promises", nargs="+", default=[*SETTINGS], choices=SETTINGS, help="default: all")
    add("--splits", type=int, default=SPLITS, help=f"random splits; default: {SPLITS}")
    add("--jobs", type=int, default=JOBS, help=f"processes; default: {JOBS}")
    add(
        "--time-limit",
        type=float,
        default=LIMIT,
        help=f"processor seconds for all values of a promise; default: {LIMIT:.0f}",
    )
    add("--records", type=Path, default=RECORDS, help="file of results, one JSON line per request")
    return parser.parse_args()


if __name__ == "__main__":
    main()
