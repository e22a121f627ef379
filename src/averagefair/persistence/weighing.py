"""What a part that skops wrote would take to read: told before it is read.

A file from a stranger may be small and yet stand for more than fits into memory, or for work
without end: compressed members, one array read a thousand times, lists of lists that name each
other. What skops itself writes does none of these: every member is stored as it is and read once,
and every object is written out wherever it stands.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from typing import Any

import numpy as np

SCHEMA = "schema.json"
# Sparse matrices are compressed, the one thing that is: their places shrink a few times. What was
# made to fill a memory shrinks a thousand times.
MOST_SHRUNK = 40


def check_weight(data: bytes) -> Any:
    """Refuse, by ValueError, an archive of skops that is larger than it looks.

    Reading another takes memory and time in proportion to its length. Returns its schema.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        sizes = {one.filename: one.file_size for one in file.infolist()}
        # All members, though two may have one name.
        if sum(one.file_size for one in file.infolist()) > len(data):
            raise ValueError("it is larger than it looks: it is compressed")
        for name in sizes:
            _check_member(file.read(name))
        schema = json.loads(file.read(SCHEMA))
    found: dict[Any, tuple[int, Any]] = {}
    read = _count(schema, found, sizes)[1]
    if read > len(data):
        raise ValueError("it is larger than it looks: an array stands in it many times")
    return schema


def _check_member(data: bytes) -> None:
    """Refuse a member that stands for more than its bytes.

    That is an array that claims more cells than there are, or an archive in the archive (which is
    what a sparse matrix is) that shrank too much.
    """
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            if sum(one.file_size for one in file.infolist()) > MOST_SHRUNK * len(data):
                raise ValueError("it is larger than it looks: a sparse matrix is compressed")
            for name in file.namelist():
                _check_member(file.read(name))
    elif data[:6] == np.lib.format.MAGIC_PREFIX:
        shape, kind = _array_header(io.BytesIO(data))
        if math.prod(shape) * kind.itemsize > len(data):
            raise ValueError("it is larger than it looks: an array claims more than it holds")


def _array_header(file: io.BytesIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the kind that an array in NumPy's format claims to have."""
    version = np.lib.format.read_magic(file)
    older = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if older else np.lib.format.read_array_header_2_0
    shape, _, kind = read(file)
    return shape, kind


def _count(part: Any, found: dict[Any, tuple[int, Any]], sizes: dict[str, int]) -> tuple[int, int]:
    """Return how many objects are written out in a part, and how many bytes of members they read.

    Where skops meets an object by its number again, it takes the one that it knows. So an object
    must be written out alike each time: else a few that name each other stand for any number.
    """
    if not isinstance(part, list | dict):
        return 0, 0
    counts = [
        _count(one, found, sizes) for one in (part if isinstance(part, list) else part.values())
    ]
    objects, read = sum(one for one, _ in counts), sum(more for _, more in counts)
    if isinstance(part, list) or "__loader__" not in part:
        return objects, read
    objects, file, number = objects + 1, part.get("file"), part.get("__id__")
    if number in found:
        if found[number] != (objects, file):
            raise ValueError("it is larger than it looks: its parts name each other")
        return objects, read
    if number:
        found[number] = objects, file
    return objects, read + sizes.get(file or "", 0)
