"""The container: one safetensors file with a manifest, and a digest of arrays and manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import InputError, extra
from averagefair.files.reading import check_path, check_regular

Arrays = dict[str, NDArray[Any]]


class Format(NamedTuple):
    """The format that a file's manifest names, the version written, and the oldest one read.

    Version 2 stores how many tasks each hypothesis decides, chances of each task, how decisions
    are made, and the balance of fixed decisions. Its reader takes files of version 1, in which each
    hypothesis decides all tasks and decisions are drawn.
    """

    name: str
    version: int
    words: str
    oldest: int = 1


MODEL = Format("averagefair model", 2, "model file")
CHECKPOINT = Format("averagefair checkpoint", 2, "file of a checkpoint")


def pack(
    arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any], kind: Format = MODEL
) -> bytes:
    """Return the content of a file."""
    save = extra("safetensors.numpy", "files").save
    whole = {name: np.ascontiguousarray(part) for name, part in arrays.items()}
    text = json.dumps({"format": kind.name, "version": kind.version, **manifest}, allow_nan=False)
    # The digest is an array, since safetensors writes several metadata entries in any order.
    sealed = {**whole, "digest": digest(whole, text)}
    return bytes(save(sealed, {"manifest": text}))


def digest(arrays: Mapping[str, NDArray[Any]], text: str) -> NDArray[np.uint8]:
    """Return a hash of all contents, 16 bytes, that detects accidental changes."""
    found = blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        part = arrays[name]
        found.update(f"\n{name} {part.dtype.str} {part.shape}\n".encode())
        found.update(part.tobytes())
    return np.frombuffer(found.digest(), dtype=np.uint8)


def unpack(path: str | Path, kind: Format = MODEL) -> tuple[Arrays, dict[str, Any]]:
    """Read a file's arrays and manifest; refuse damaged files and files of another kind.

    safetensors compares the sizes with the length of the file before it allocates anything.
    """
    safe_open = extra("safetensors", "files").safe_open
    check_path(str(path))
    if not str(path):
        raise InputError(f"the name of a {kind.words} to read is empty. Name a file.")
    check_regular(path)
    _refuse_tables(path, kind)
    try:
        with safe_open(str(path), framework="numpy") as file:
            text = (file.metadata() or {}).get("manifest", "{}")
            manifest = json.loads(text, parse_constant=_no_number)
            if not isinstance(manifest, dict) or manifest.get("format") != kind.name:
                raise InputError(f"{path} is not a {kind.words} of averagefair.")
            # Check the version first: only a reader of that version knows the rest of the file.
            _check_version(path, manifest, kind)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # a foreign file may raise anything
        raise InputError(f"{path} is not a whole {kind.words}: {error}.") from None
    written = arrays.pop("digest", None)
    if written is None or not np.array_equal(written, digest(arrays, text)):
        raise InputError(f"{path} is damaged: it is not as it was written. Get the file again.")
    return arrays, manifest


def _check_version(path: str | Path, manifest: Mapping[str, Any], kind: Format) -> None:
    """Refuse a version of the format that this release does not read."""
    version = manifest.get("version")
    if type(version) is int and kind.oldest <= version <= kind.version:
        return
    newer = type(version) is int and version > kind.version
    raise InputError(
        f"{path} has {'the newer ' if newer else ''}version {version!r} of the format; this "
        f"release of averagefair reads versions {kind.oldest} to {kind.version}. Use the release "
        f"that wrote it{' or a later one' if newer else ''}: {manifest.get('made_by')}."
    )


def _refuse_tables(path: str | Path, kind: Format) -> None:
    """Refuse a table, and say that it is one: safetensors would only mention its header."""
    try:
        with open(path, "rb") as file:
            start = file.read(1024)
    except OSError:
        return  # opening the file reports the error
    # A model file begins with the length of its header, eight bytes that end in zeros.
    if len(start) >= 8 and (start[:4] == b"PAR1" or b"\x00" not in start):
        what = "a Parquet table" if start[:4] == b"PAR1" else "text, perhaps a CSV table"
        remedy = "`averagefair fit` learns a model from a table" if kind is MODEL else "Remove it"
        raise InputError(f"{path} is not a {kind.words} of averagefair: it is {what}. {remedy}.")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
