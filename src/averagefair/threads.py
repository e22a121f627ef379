"""Threads: one for the linear algebra of many small blocks.

Products over a block of people are too small to gain from a second thread, and where other work
keeps the machine busy, threads that wait for each other take several times as long. Measured on an
audit of 100,000 x 500, on two busy cores: 1.8 s on one thread, 9 s on two; on idle cores 1.6 s.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Return a context within which the linear algebra runs on one thread."""
    limiter: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limiter


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds: once is enough.
    return ThreadpoolController()
