"""Measure fixed decisions against drawn ones: ``python -m benchmarks.decisions [PART ...]``.

- paper: the training sample. Do the decisions made keep the promise, at which error?
- splits: random splits. New people and new tasks, fixed and drawn decisions from the same fit.
- stream: tasks that arrive one by one. How far do running rates come apart?
- time: seconds of the choice against seconds of the fit, for many people or many tasks.

A finished job is written to results/bench/decisions.jsonl at once, so a stopped run goes on. A job
is done again if the library's sources have changed since, unless ``--keep`` is given. ``--small``
tries the parts on tiny sizes in a minute: its figures mean nothing. ``python -m
benchmarks.decisions.report`` makes the tables and the figure.
"""

from __future__ import annotations

import argparse
from functools import partial

from benchmarks.common import heading, machine
from benchmarks.decisions import choice_time, paper, splits, stream
from benchmarks.decisions.fits import LEAST_SQUARES, ORACLES
from benchmarks.decisions.records import RECORDS, SMALL, Records

PARTS = ("paper", "splits", "stream", "time")


def main() -> None:
    given = arguments()
    records = Records(SMALL if given.small else RECORDS, given.keep)
    print(machine(), flush=True)
    for part in given.parts or PARTS:
        heading(part, "results go to " + records.file.name)
        measure, report = plan(part, given)
        jobs, processes = measure["jobs"], measure["processes"]
        records.run(measure["work"], jobs, processes)
        print("\n\n".join(report(records)), flush=True)
        if others := records.others(jobs):
            print(f"{others} results are of other sources than the present ones.")


def plan(part: str, given: argparse.Namespace) -> tuple[dict, partial]:
    """Return what a part runs, and its report."""
    if part == "splits":
        names = (splits.SMALL,) if given.small else given.populations
        count = min(2, given.splits) if given.small else given.splits
        jobs = splits.jobs(names, given.oracles, count)
        report = partial(splits.report, populations=names, oracles=given.oracles)
        return {"jobs": jobs, "work": splits.work, "processes": given.processes}, report
    module = {"paper": paper, "stream": stream, "time": choice_time}[part]
    processes = given.processes if part == "stream" else 1
    jobs, report = module.jobs(given.small), partial(module.report, small=given.small)
    return {"jobs": jobs, "work": module.work, "processes": processes}, report


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure fixed decisions against drawn ones.")
    add = parser.add_argument
    add("parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)}; default: all")
    add("--small", action="store_true", help="tiny sizes, to try the parts")
    add(
        "--populations",
        nargs="+",
        default=splits.POPULATIONS,
        choices=splits.POPULATIONS,
        help="of splits; default: all",
    )
    add(
        "--oracles",
        nargs="+",
        default=[LEAST_SQUARES],
        choices=ORACLES,
        help="of splits; default: least squares",
    )
    add("--keep", action="store_true", help="use results of other sources too")
    add("--splits", type=int, default=splits.SPLITS, help=f"default: {splits.SPLITS}")
    add("--processes", type=int, default=1, help="of splits and stream; default: 1")
    given = parser.parse_args()
    if unknown := sorted({*given.parts} - {*PARTS}):
        parser.error(f"no part is called {unknown[0]}; the parts are {', '.join(PARTS)}.")
    return given


if __name__ == "__main__":
    main()
