"""Features in a file, which worker processes map instead of getting a copy each."""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import suppress
from typing import Any

import numpy as np

from averagefair.sample import FloatArray
from averagefair.spaces import mapped


def shared(features: FloatArray) -> FloatArray:
    """Return the same features in a file, which costs other processes only its name.

    A file written for this goes when the array does, or when Python ends.
    """
    return features if _has_file(features) else _in_file(features)


def _has_file(features: FloatArray) -> bool:
    """Return whether other processes find the same features in a file that has a name."""
    file: Any = mapped(features)
    if file is None or file.filename is None:
        return False
    # What is written to a copy-on-write map ("c") is not in its file.
    return bool(file.mode != "c" and os.path.exists(file.filename))


def _in_file(features: FloatArray) -> FloatArray:
    handle, path = tempfile.mkstemp(prefix="averagefair-", suffix=".features")
    try:
        with os.fdopen(handle, "wb") as file:
            features.tofile(file)
        kept = np.memmap(path, dtype=features.dtype, mode="r", shape=features.shape)
    except BaseException:
        _remove(path)
        raise
    weakref.finalize(kept, _remove, path)
    return kept


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
