"""Threads: one for the linear algebra, or the loops of OpenMP, of many small blocks.

Products over a block of people are too small to gain from a second thread, and where other work
keeps the machine busy, threads that wait for each other take longer than one alone. So blocks are
spread over threads, and each product has one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, get_ident
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
# Which thread may spread blocks, how deep it is inside, and over how many threads.
_owner: int | None = None
_depth, _for_blocks = 0, 1
# How often any thread is inside; while one is, this is the limit, set by this thread.
_inside = 0
_limit: Any = None
_setter: int | None = None


@contextmanager
def one_thread(*, spread: bool = False) -> Iterator[None]:
    """Have each product of the linear algebra run on one thread.

    The limit holds for the whole process, until the last thread that asked for it has left: sums
    that threads share have other last digits. Of several threads inside the first has all threads
    to spread blocks over.

    Parameters
    ----------
    spread : bool, default False
        Whether blocks may be spread over the threads that products do without. Threads of the
        linear algebra wait for work by turning in circles: a solver that lets one small product
        between two rounds have them slows the next round down by half.
    """
    global _owner, _depth, _for_blocks, _inside, _limit, _setter
    me = get_ident()
    with _lock:
        if _inside == 0:
            _owner, _setter, _for_blocks = me, me, _blas_threads() if spread else 1
            _limit = _controller().limit(limits=1, user_api="blas")
        mine = _owner == me
        _depth, _inside = _depth + mine, _inside + 1
    try:
        yield
    finally:
        with _lock:
            _depth, _inside = _depth - mine, _inside - 1
            if mine and _depth == 0:
                _owner = None
            if _inside == 0:
                if _setter != me:
                    _let_others_limit(force=True)
                _limit.restore_original_limits()
                _let_others_limit()


def _let_others_limit(**how: bool) -> None:
    """Give up what threadpoolctl (3.8 and later) keeps for the first thread that sets a limit."""
    for one in _blas():
        getattr(one, "clear_controlling_thread", lambda **_: None)(**how)


def one_openmp_thread() -> Any:
    """Return a context in which OpenMP's loops of this thread have no other thread to wait for.

    Unlike the linear algebra's limit it is each thread's own: the libraries of OpenMP keep it so.
    """
    return _controller().limit(limits=1, user_api="openmp")


def block_threads() -> int:
    """Return how many threads blocks may be spread over: what the user or the machine has set."""
    with _lock:
        if _inside == 0:
            return _blas_threads()
        # Where another thread is at work with all of them, one is left.
        return _for_blocks if _owner in (None, get_ident()) else 1


def _blas_threads() -> int:
    return max((one.num_threads for one in _blas()), default=1)


def _forget() -> None:
    """Begin anew in a forked process: whoever was inside is not there."""
    global _lock, _owner, _depth, _inside
    _lock, _owner, _depth, _inside = Lock(), None, 0, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@cache
def _blas() -> tuple[Any, ...]:
    return tuple(_controller().select(user_api="blas").lib_controllers)


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds: once is enough.
    return ThreadpoolController()
