"""Threads: one for the linear algebra, or the loops of OpenMP, of many small blocks.

Products over a block of people are too small to gain from a second thread, and where other work
keeps the machine busy, threads that wait for each other take several times as long. Measured on an
audit of 100,000 x 500, on two busy cores: 1.8 s on one thread, 9 s on two; on idle cores 1.6 s.
So blocks are spread over threads, and each product has one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside, _for_blocks = 0, 1
_limit: Any = None


@contextmanager
def one_thread(*, spread: bool = False) -> Iterator[None]:
    """Have each product of the linear algebra run on one thread.

    The limit holds for the whole process: the first to enter sets it, the last to leave lifts it.

    Parameters
    ----------
    spread : bool, default False
        Whether blocks may be spread over the threads that products do without. Threads of the
        linear algebra wait for work by turning in circles: a solver that lets one small product
        between two rounds have them slows the next round down by half.
    """
    global _inside, _for_blocks, _limit
    with _lock:
        if _inside == 0:
            _for_blocks = _blas_threads() if spread else 1
            _limit = _controller().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()


def one_openmp_thread() -> Any:
    """Return a context in which OpenMP's loops of this thread have no other thread to wait for.

    Unlike the linear algebra's limit it is each thread's own: the libraries of OpenMP keep it so.
    """
    return _controller().limit(limits=1, user_api="openmp")


def block_threads() -> int:
    """Return how many threads blocks may be spread over: what the user or the machine has set."""
    with _lock:
        return _for_blocks if _inside else _blas_threads()


def _blas_threads() -> int:
    counts = [one.num_threads for one in _controller().select(user_api="blas").lib_controllers]
    return max(counts, default=1)


def _forget() -> None:
    """Begin anew in a forked process: whoever was inside is not there."""
    global _lock, _inside
    _lock, _inside = Lock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds: once is enough.
    return ThreadpoolController()
