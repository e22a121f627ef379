"""The fingerprint of audited data: the same cells and names give the same hash."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.auditing.losses import Losses
from averagefair.auditing.result import Audit
from averagefair.auditing.trials import Trials
from averagefair.people.blocks import row_blocks

VERSION = 1
# Names, or cells of a log, that are hashed at once.
_STEP = 1 << 16


def audit_fingerprint(audit: Audit) -> str:
    """Return a SHA-256 that identifies the data of an audit, in 64 hexadecimal digits.

    It covers which cells count and which decisions were wrong, the names of people and tasks, the
    families of tasks, and a hash of each task's labels. For a log it covers the numbers of
    decisions and of wrong ones for each person and task. Groups are not covered.

    The hash depends on the rate, since the rate decides which cells count. It does not depend on
    the kind of table, or on the order in which a log was put together.

    Parameters
    ----------
    audit : Audit

    Examples
    --------
    >>> from averagefair import audit
    >>> one, other = audit([[1, 0]], [[1, 1]]), audit([[1, 0]], [[0, 0]])
    >>> len(audit_fingerprint(one)), audit_fingerprint(one) == audit_fingerprint(other)
    (64, False)
    """
    losses = audit.evidence.losses
    found = sha256()
    for part in _parts(losses):
        found.update(part)
    return found.hexdigest()


def _parts(losses: Losses) -> Iterator[bytes]:
    """Yield everything that is hashed; each part begins with its kind and its length."""
    cells = losses.cells
    if isinstance(cells, Trials):
        kind, written = "log", _trials(cells)
    else:
        kind, written = "right or wrong" if cells.dtype == np.int8 else "chances", _cells(cells)
    head = ["averagefair audit", VERSION, kind, losses.n, losses.m, int(losses.fingerprints.size)]
    head.append(None if losses.families is None else len(losses.family_names))
    yield json.dumps(head).encode()
    yield from _names(losses.individual_names)
    yield from _names(losses.task_names)
    if losses.families is not None:
        yield from _names(losses.family_names)
        yield _numbers(losses.families)
    yield _numbers(losses.fingerprints)
    yield from written


def _cells(cells: NDArray[Any]) -> Iterator[bytes]:
    for rows in row_blocks(*cells.shape):
        block = np.ascontiguousarray(cells[rows])
        if block.dtype == np.int8:
            yield block.tobytes()
        else:
            counts = block >= 0
            yield counts.astype(np.uint8).tobytes()
            yield _numbers(np.where(counts, block, 0.0))


def _trials(cells: Trials) -> Iterator[bytes]:
    """Yield the cells of a log by person and task, in whatever order they are stored."""
    starts, n = cells.starts, cells.shape[0]
    yield _numbers(starts)
    first = 0
    while first < n:  # as many people as have _STEP cells, but at least one
        stop = int(np.searchsorted(starts, starts[first] + _STEP, side="right")) - 1
        stop = max(stop, first + 1)
        rows = slice(int(starts[first]), int(starts[stop]))
        person = np.repeat(np.arange(stop - first), np.diff(starts[first : stop + 1]))
        order = np.lexsort((cells.task[rows], person))
        for column in (cells.task, cells.count, cells.wrong):
            yield _numbers(column[rows][order])
        if cells.counts is not None:
            yield cells.counts[rows][order].astype(np.uint8).tobytes()
        first = stop


def _numbers(values: NDArray[Any]) -> bytes:
    """Return numbers as bytes, the same for every type and machine; whole numbers are exact."""
    return (values.astype("<f8") + 0.0).tobytes()  # no minus before a zero


def _names(names: Iterable[Any]) -> Iterator[bytes]:
    """Yield names in blocks, each name with its length in front."""
    rest = iter(names.tolist() if isinstance(names, np.ndarray) else names)
    while some := list(islice(rest, _STEP)):
        written = [str(name).encode(errors="surrogatepass") for name in some]
        yield b"".join(b"%d:%b" % (len(name), name) for name in written)
