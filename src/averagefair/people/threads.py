"""Threads: limit each matrix product, or each OpenMP loop, to one thread.

A product over a block of people is too small to gain from a second thread. On a busy machine,
threads that wait for each other even take longer than one alone. So this package spreads blocks
over threads, and each product runs on one thread.
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
# The thread that may spread blocks, how deeply it has nested one_thread, and its thread count.
_owner: int | None = None
_depth, _threads_for_blocks = 0, 1
# How many one_thread contexts are open, the limit they share, and the thread that set the limit.
_inside = 0
_limit: Any = None
_setter: int | None = None


@contextmanager
def one_thread(*, spread: bool = False) -> Iterator[None]:
    """Limit each product of the linear algebra to one thread.

    The limit holds for the whole process until the last context closes, because a sum that several
    threads share has other last digits. When several threads are inside, the first may spread
    blocks over all threads.

    Parameters
    ----------
    spread : bool, default False
        Whether blocks may use the threads that products no longer use. Threads of the linear
        algebra busy-wait for work: one small product on all threads between two rounds slows the
        next round down by half.
    """
    global _owner, _depth, _threads_for_blocks, _inside, _limit, _setter
    me = get_ident()
    with _lock:
        if _inside == 0:
            _owner, _setter, _threads_for_blocks = me, me, _blas_threads() if spread else 1
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
                    _release_control(force=True)
                _limit.restore_original_limits()
                _release_control()


def _release_control(**options: bool) -> None:
    """Let other threads set limits: from threadpoolctl 3.8 on, only the first thread may do so."""
    for library in _blas():
        getattr(library, "clear_controlling_thread", lambda **_: None)(**options)


def one_openmp_thread() -> Any:
    """Return a context that limits OpenMP's loops to one thread.

    OpenMP keeps this limit for each thread separately, unlike the limit of the linear algebra.
    """
    return _controller().limit(limits=1, user_api="openmp")


def block_threads() -> int:
    """Return over how many threads blocks may be spread: the limit of the user or the machine."""
    with _lock:
        if _inside == 0:
            return _blas_threads()
        # If another thread spreads blocks over all threads, this thread uses only itself.
        return _threads_for_blocks if _owner in (None, get_ident()) else 1


def _blas_threads() -> int:
    return max((library.num_threads for library in _blas()), default=1)


def _reset_after_fork() -> None:
    """Reset the counts in a forked process: the threads they count do not exist there."""
    global _lock, _owner, _depth, _inside
    _lock, _owner, _depth, _inside = Lock(), None, 0, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


@cache
def _blas() -> tuple[Any, ...]:
    return tuple(_controller().select(user_api="blas").lib_controllers)


@cache
def _controller() -> ThreadpoolController:
    # Cached: looking for the libraries takes milliseconds.
    return ThreadpoolController()
