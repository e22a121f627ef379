"""Doing jobs, one by one or several at a time, with the same results."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context

from sklearn.exceptions import ConvergenceWarning

from averagefair.errors import UndefinedRateWarning
from averagefair.experiments.kept import KeptJobs
from averagefair.experiments.plan import Job, Tables
from averagefair.threads import one_thread

MOST = 60
"""Windows knows no more processes at a time."""


def do(
    jobs: Sequence[Job],
    *,
    processes: int = 1,
    done: Callable[[Job], object] | None = None,
    kept: KeptJobs | None = None,
) -> list[Tables]:
    """Do jobs and return their tables, in the order of the jobs.

    Parameters
    ----------
    jobs : sequence of Job
    processes : int, default 1
        How many jobs at a time. Each has one thread for its linear algebra, so that tables do not
        depend on this number.
    done : callable, optional
        Called with each job when it is done.
    kept : KeptJobs, optional
        Where the tables of jobs are kept once they are done; those that are there are not done
        again.
    """
    found: dict[Job, Tables] = {}

    def finish(job: Job, tables: Tables | None, *, news: bool = True) -> None:
        if tables is not None:
            found[job] = tables
            if kept is not None and news:
                kept.keep(job, tables)
            if done is not None:
                done(job)

    if kept is not None:
        for job in jobs:
            finish(job, kept.find(job), news=False)
    left = [job for job in jobs if job not in found]
    if processes == 1 or len(left) < 2:
        for job in left:
            finish(job, _do(job))
    else:
        _side_by_side(left, processes, finish)
    return [found[job] for job in jobs]


def _side_by_side(
    jobs: Sequence[Job], processes: int, finish: Callable[[Job, Tables], object]
) -> None:
    # Spawned, not forked: a fork would inherit threads that are in the middle of something.
    pool = ProcessPoolExecutor(
        min(processes, len(jobs), MOST), mp_context=get_context("spawn"), initializer=_start
    )
    try:
        waiting = {pool.submit(_do, job): job for job in jobs}
        for future in as_completed(waiting):
            finish(waiting[future], future.result())
    except BrokenProcessPool:
        raise RuntimeError(
            "a process of the experiments was ended from outside, perhaps for want of memory; try "
            "with fewer at a time"
        ) from None
    except KeyboardInterrupt:
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start() -> None:
    """Let Ctrl-C end a worker at once, instead of the run it is in the middle of."""
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_DFL)


def _do(job: Job) -> Tables:
    with one_thread(), warnings.catch_warnings():
        # What was not reached, and who has no rate, stands in the tables.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UndefinedRateWarning)
        return job.work()
