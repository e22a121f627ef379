"""Read one data frame from the data of an R package, without R.

An R package keeps its data in two files. ``Rdata.rdx`` is an index: each name with the place and
the length of its bytes. ``Rdata.rdb`` holds these bytes, each object compressed on its own.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import warnings
import zlib
from pathlib import Path
from typing import Any

SIZE_BYTES = 4
"""Each object begins with its size before compression, in four bytes."""
RAW_LZMA: Any = [{"id": lzma.FILTER_LZMA2, "preset": lzma.PRESET_DEFAULT}]


def read_r_table(folder: Path, name: str) -> Any:
    """Return a data frame of an R package as a pandas DataFrame.

    Parameters
    ----------
    folder : Path
        The folder of ``Rdata.rdx`` and ``Rdata.rdb``.
    name : str
        The name of the data frame in R.
    """
    index = deserialise(gzip.decompress((folder / "Rdata.rdx").read_bytes()))
    begin, length = (int(number) for number in index["variables"][name])
    with (folder / "Rdata.rdb").open("rb") as file:
        file.seek(begin)
        return deserialise(decompress(file.read(length)[SIZE_BYTES:]))


def decompress(content: bytes) -> bytes:
    """Decompress one object: a first byte of 2 or Z says bzip2 or xz, anything else is zlib."""
    if content[:1] == b"2":
        return bz2.decompress(content[1:])
    if content[:1] == b"Z":
        return lzma.decompress(content[1:], format=lzma.FORMAT_RAW, filters=RAW_LZMA)
    return zlib.decompress(content)


def deserialise(content: bytes) -> Any:
    """Return an R object as Python's."""
    import rdata  # only these tables need it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about R attributes that pandas has no place for
        return rdata.conversion.convert(rdata.parser.parse_data(content))
