"""Limits on skops archives, checked before they are read.

A small file from a stranger may expand to more than memory holds, or to endless work: by compressed
members, by one array that is read a thousand times, by lists that refer to each other. skops itself
writes none of these: it stores each member uncompressed, reads it once, and writes out every object
wherever it occurs.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from typing import Any

import numpy as np

SCHEMA = "schema.json"
# Only sparse matrices are compressed. Their indices become a few times smaller; a file made to
# exhaust memory becomes a thousand times smaller.
MOST_SHRUNK = 40


def check_weight(data: bytes) -> Any:
    """Return the schema of a skops archive; raise ValueError if it is larger than it looks.

    Reading an accepted archive takes memory and time in proportion to its length.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        sizes = {member.filename: member.file_size for member in file.infolist()}
        # Sum over all members: two may have the same name.
        if sum(member.file_size for member in file.infolist()) > len(data):
            raise ValueError("it is larger than it looks: it is compressed")
        for name in sizes:
            _check_member(file.read(name))
        schema = json.loads(file.read(SCHEMA))
    found: dict[Any, tuple[int, Any]] = {}
    read = _count(schema, found, sizes)[1]
    if read > len(data):
        raise ValueError("it is larger than it looks: it reads one array many times")
    return schema


def _check_member(data: bytes) -> None:
    """Refuse a member that expands to more than its bytes.

    Such a member is an array that claims more cells than it holds, or an inner archive (a sparse
    matrix is one) that is compressed too much.
    """
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            if sum(member.file_size for member in file.infolist()) > MOST_SHRUNK * len(data):
                raise ValueError("it is larger than it looks: a sparse matrix is compressed")
            for name in file.namelist():
                _check_member(file.read(name))
    elif data[:6] == np.lib.format.MAGIC_PREFIX:
        shape, kind = _array_header(io.BytesIO(data))
        if math.prod(shape) * kind.itemsize > len(data):
            raise ValueError("it is larger than it looks: an array claims more than it holds")


def _array_header(file: io.BytesIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the dtype that an array file of NumPy claims."""
    version = np.lib.format.read_magic(file)
    older = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if older else np.lib.format.read_array_header_2_0
    shape, _, kind = read(file)
    return shape, kind


def _count(part: Any, found: dict[Any, tuple[int, Any]], sizes: dict[str, int]) -> tuple[int, int]:
    """Return how many objects a part holds, and how many bytes of members they read.

    When skops meets an object's number again, it reuses the object it knows. So all copies of an
    object must be the same. Otherwise a few objects that refer to each other could expand to any
    number of objects.
    """
    if not isinstance(part, list | dict):
        return 0, 0
    inner = part if isinstance(part, list) else part.values()
    counts = [_count(item, found, sizes) for item in inner]
    objects, read = sum(count for count, _ in counts), sum(size for _, size in counts)
    if isinstance(part, list) or "__loader__" not in part:
        return objects, read
    objects, file, number = objects + 1, part.get("file"), part.get("__id__")
    if number in found:
        if found[number] != (objects, file):
            raise ValueError("it is larger than it looks: its parts refer to each other")
        return objects, read
    if number:
        found[number] = objects, file
    return objects, read + sizes.get(file or "", 0)
