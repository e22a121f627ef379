"""Features shared with worker processes through a memory-mapped file, instead of copies."""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import suppress
from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.people.backends import find_memmap


def share_features(features: FloatArray) -> FloatArray:
    """Return the features as a memory map, which other processes open by its file name.

    A file written here is removed with the array, or when Python ends.
    """
    return features if _has_file(features) else _write_file(features)


def _has_file(features: FloatArray) -> bool:
    """Return whether a named file holds these features, for other processes to open."""
    memmap: Any = find_memmap(features)
    if memmap is None or memmap.filename is None:
        return False
    # A copy-on-write map ("c") may differ from its file.
    return bool(memmap.mode != "c" and os.path.exists(memmap.filename))


def _write_file(features: FloatArray) -> FloatArray:
    handle, path = tempfile.mkstemp(prefix="averagefair-", suffix=".features")
    try:
        with os.fdopen(handle, "wb") as file:
            features.tofile(file)
        memmap = np.memmap(path, dtype=features.dtype, mode="r", shape=features.shape)
    except BaseException:
        _remove(path)
        raise
    weakref.finalize(memmap, _remove, path)
    return memmap


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
