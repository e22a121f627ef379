"""The contents of a file: each part is read by name and checked for kind, shape and range."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The errors that reading a malformed file may raise.
MISFITS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError)


@dataclass(frozen=True, eq=False)
class Contents:
    """The contents of a file; parts that do not fit raise ValueError or KeyError.

    Attributes
    ----------
    arrays : mapping of str to array
    manifest : dict
    trusted : tuple of str
        Types that the reader accepts in scikit-learn objects.
    source : str
        The file's name, for messages.
    """

    arrays: Mapping[str, NDArray[Any]]
    manifest: Mapping[str, Any]
    trusted: tuple[str, ...] = ()
    source: str = ""

    def array(
        self, name: str, *shape: int | None, kind: str = "f", finite: bool = True
    ) -> NDArray[Any]:
        """Return an array of this kind and shape; None allows any length."""
        part = self.arrays[name]
        fits = part.ndim == len(shape) and all(
            wanted in (None, found) for wanted, found in zip(shape, part.shape, strict=False)
        )
        if not fits or part.dtype.kind != kind:
            raise ValueError(f"{name} is {part.dtype} of shape {part.shape}")
        if kind == "f" and finite and not np.isfinite(part).all():
            raise ValueError(f"{name} holds a cell that is not a number")
        return part

    def simplex(self, name: str, count: int) -> NDArray[np.float64]:
        """Return chances that add up to 1."""
        part = self.array(name, count)
        if (part < 0).any() or abs(part.sum() - 1.0) > 1e-9:
            raise ValueError(f"{name} are not chances")
        return part

    def chances(self, name: str, tasks: int) -> NDArray[np.float64]:
        """Return chances that add up to 1, shape (r,), or that do so in each task, (r, tasks)."""
        several = self.arrays[name].ndim > 1
        part = self.array(name, None, tasks) if several else self.array(name, None)
        if (part < 0).any() or (np.abs(part.sum(axis=0) - 1.0) > 1e-9).any():
            raise ValueError(f"{name} are not chances")
        return part

    def whole(self, name: str) -> int:
        """Return a whole number that is not negative."""
        value = self.manifest[name]
        if type(value) is not int or value < 0:
            raise ValueError(f"{name} is {value!r}")
        return value

    def flag(self, name: str) -> bool:
        """Return true or false."""
        value = self.manifest[name]
        if type(value) is not bool:
            raise ValueError(f"{name} is {value!r}")
        return value

    def words(
        self, name: str, count: int | None = None, *, distinct: bool = True
    ) -> tuple[str, ...]:
        """Return names; if ``distinct``, no two may be the same."""
        value = self.manifest[name]
        if not isinstance(value, list) or any(type(word) is not str for word in value):
            raise ValueError(f"{name} are not names")
        twins = distinct and len(set(value)) < len(value)
        if twins or count not in (None, len(value)):
            raise ValueError(f"{name} are {len(value)} names")
        return tuple(value)


def as_text(names: NDArray[Any]) -> NDArray[np.uint8]:
    """Return people's names as an array of bytes, since there may be many names."""
    return np.frombuffer(json.dumps(names.tolist()).encode(), dtype=np.uint8)


def from_text(part: NDArray[np.uint8], count: int) -> NDArray[Any]:
    """Return the names that `as_text` wrote."""
    names = json.loads(part.tobytes().decode())  # given bytes, json would guess the encoding
    if (
        not isinstance(names, list)
        or len(names) != count
        or any(isinstance(name, list | dict) for name in names)
    ):
        raise ValueError("the names of people do not fit")
    out = np.empty(count, dtype=object)
    out[:] = names
    return out
