"""The file of results: one JSON line for each job that is done. A stopped run goes on.

Each record has a digest of the library's sources. A job is done again if its result is of other
sources, unless the run is told to keep such results. The last result of a job counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config

from benchmarks.common import ROOT
from benchmarks.promises.records import append, read

Job = dict[str, Any]
Result = dict[str, Any]
RECORDS = ROOT / "results" / "bench" / "decisions.jsonl"
SMALL = ROOT / "results" / "bench" / "decisions_small.jsonl"
# The rooms of the package that decide what is chosen, and how long it takes.
ROOMS = ("choosing", "game", "oracles", "people", "solvers")


def sources() -> str:
    """Return a digest of the library's sources that decide the results."""
    digest = sha256()
    for room in ROOMS:
        for path in sorted((ROOT / "src" / "averagefair" / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Records:
    """Runs jobs that have no result yet, and saves each result at once.

    Parameters
    ----------
    file : Path
    keep : bool, default False
        Whether results of other sources count as done.
    """

    def __init__(self, file: Path, keep: bool = False) -> None:
        self.file, self.keep = file, keep
        self.known = {_key(record["job"]): record for record in read(file)}

    def run(self, work: Callable[[Job], Result], jobs: Iterable[Job], processes: int = 1) -> None:
        """Do the jobs that are not done.

        Parameters
        ----------
        work : callable
            Takes a job; returns its result.
        jobs : iterable of dict
        processes : int, default 1
            How many run at once. Leave 1 where time is measured.
        """
        source = sources()
        todo = [job for job in jobs if not self._done(job, source)]
        with parallel_config("loky", n_jobs=processes, inner_max_num_threads=1):
            done = (
                Parallel(batch_size=1, return_as="generator")(delayed(work)(job) for job in todo)
                if processes > 1
                else map(work, todo)
            )
            for job, result in zip(todo, done, strict=True):
                record = {"job": job, "result": result, "source": source}
                append([record], self.file)
                self.known[_key(job)] = record
                print(f"done: {_described(job)}", flush=True)

    def _done(self, job: Job, source: str) -> bool:
        record = self.known.get(_key(job))
        return record is not None and (self.keep or record["source"] == source)

    def result(self, job: Job) -> Result | None:
        """Return the result of a job, or None if it is not done."""
        record = self.known.get(_key(job))
        return None if record is None else record["result"]

    def others(self, jobs: Iterable[Job]) -> int:
        """Return how many results of these jobs are of other sources than the present ones."""
        now = sources()
        own = (self.known.get(_key(job)) for job in jobs)
        return sum(record is not None and record["source"] != now for record in own)


def _key(job: Job) -> str:
    return json.dumps(job, sort_keys=True)


def _described(job: Job) -> str:
    return ", ".join(f"{name} {value}" for name, value in job.items())
