"""Reading with care: every part of a file is asked for by its name, kind, shape and range."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.text import plain


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds; whatever does not fit raises ValueError or KeyError.

    Attributes
    ----------
    arrays : mapping of str to array
    manifest : dict
    trusted : tuple of str
        Types of a feature map's parts that the reader accepts.
    """

    arrays: Mapping[str, NDArray[Any]]
    manifest: Mapping[str, Any]
    trusted: tuple[str, ...] = ()

    def array(
        self, name: str, *shape: int | None, kind: str = "f", finite: bool = True
    ) -> NDArray[Any]:
        """Return an array of this kind and shape; None is any length."""
        part = self.arrays[name]
        fits = part.ndim == len(shape) and all(
            wanted in (None, found) for wanted, found in zip(shape, part.shape, strict=False)
        )
        if not fits or part.dtype.kind != kind:
            raise ValueError(f"{name} is {part.dtype} of shape {part.shape}")
        if kind == "f" and finite and not np.isfinite(part).all():
            raise ValueError(f"{name} holds what is no number")
        return part

    def simplex(self, name: str, count: int) -> NDArray[np.float64]:
        """Return chances that add up to 1."""
        part = self.array(name, count)
        if (part < 0).any() or abs(part.sum() - 1.0) > 1e-9:
            raise ValueError(f"{name} are no chances")
        return part

    def whole(self, name: str) -> int:
        """Return a whole number, not negative."""
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
        """Return names, of which no two are the same if they are to be ``distinct``."""
        value = self.manifest[name]
        if not isinstance(value, list) or any(type(one) is not str for one in value):
            raise ValueError(f"{name} are no names")
        twins = distinct and len(set(value)) < len(value)
        if twins or count not in (None, len(value)):
            raise ValueError(f"{name} are {len(value)} names")
        return tuple(value)


def as_named(thing: Any, kinds: Mapping[str, type[Any]]) -> dict[str, Any] | None:
    """Write an object of a known kind as its name and settings; None where it is of no such kind.

    Settings must be plain numbers and words, or objects of known kinds, or tuples of such.
    """
    for name, kind in kinds.items():
        if type(thing) is kind:
            settings = {
                field.name: _setting(getattr(thing, field.name), kinds) for field in fields(kind)
            }
            if _UNKNOWN not in settings.values():
                return {"kind": name, "settings": settings}
    return None


_UNKNOWN = "?"


def _setting(value: Any, kinds: Mapping[str, type[Any]]) -> Any:
    """Return a setting as it is written; ``_UNKNOWN`` where it cannot be."""
    if isinstance(value, tuple):
        parts = [_setting(part, kinds) for part in value]
        return _UNKNOWN if _UNKNOWN in parts else parts
    named = as_named(value, kinds)
    if named is not None:
        return named
    value = plain(value)
    return value if value is None or isinstance(value, bool | int | float) else _UNKNOWN


def from_named(written: Any, kinds: Mapping[str, type[Any]]) -> Any:
    """Return the object that `as_named` wrote."""
    if isinstance(written, list):
        return tuple(from_named(part, kinds) for part in written)
    if not isinstance(written, dict):
        return written
    settings = {name: from_named(value, kinds) for name, value in written["settings"].items()}
    return kinds[written["kind"]](**settings)


def as_text(names: NDArray[Any]) -> NDArray[np.uint8]:
    """Write people's names, which can be many, as an array of text."""
    return np.frombuffer(json.dumps(names.tolist()).encode(), dtype=np.uint8)


def from_text(part: NDArray[np.uint8], count: int) -> NDArray[Any]:
    """Return the names that `as_text` wrote."""
    names = json.loads(part.tobytes())
    if (
        not isinstance(names, list)
        or len(names) != count
        or any(isinstance(name, list | dict) for name in names)
    ):
        raise ValueError("the names of people do not fit")
    out = np.empty(count, dtype=object)
    out[:] = names
    return out
