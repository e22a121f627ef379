"""Run jobs one by one or in parallel, with the same results."""

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
from averagefair.people.threads import one_thread
from reproduction.job_cache import JobCache
from reproduction.plan import Job, Tables

MOST = 60
"""Windows allows no more processes in a pool."""


def do(
    jobs: Sequence[Job],
    *,
    processes: int = 1,
    done: Callable[[Job], object] | None = None,
    cache: JobCache | None = None,
) -> list[Tables]:
    """Run jobs and return their tables, in the order of the jobs.

    Parameters
    ----------
    jobs : sequence of Job
    processes : int, default 1
        How many jobs run at a time. Each uses one thread for linear algebra, so the tables do not
        depend on this number.
    done : callable, optional
        Called with each finished job.
    cache : JobCache, optional
        Tables of finished jobs; jobs in the cache are not run again.
    """
    found: dict[Job, Tables] = {}

    def finish(job: Job, tables: Tables | None, *, news: bool = True) -> None:
        if tables is not None:
            found[job] = tables
            if cache is not None and news:
                cache.keep(job, tables)
            if done is not None:
                done(job)

    if cache is not None:
        for job in jobs:
            finish(job, cache.find(job), news=False)
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
    # Spawn, do not fork: a fork would copy running threads in the middle of their work.
    pool = ProcessPoolExecutor(
        min(processes, len(jobs), MOST), mp_context=get_context("spawn"), initializer=_start
    )
    try:
        waiting = {pool.submit(_do, job): job for job in jobs}
        for future in as_completed(waiting):
            finish(waiting[future], future.result())
    except BrokenProcessPool:
        raise RuntimeError(
            "a process of the experiments was killed, perhaps for lack of memory; try again with "
            "fewer at a time: --jobs 1"
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
    """Let Ctrl-C and SIGTERM end a worker at once."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _do(job: Job) -> Tables:
    with one_thread(), warnings.catch_warnings():
        # The tables show which alphas were not reached and who has no rate.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UndefinedRateWarning)
        return job.work()
