"""Oracles and solvers in a file: the name of their kind, and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from sklearn.base import BaseEstimator, clone

from averagefair._util.text import plain
from averagefair.oracles import WeightedOracle
from averagefair.persistence.container import Arrays
from averagefair.persistence.contents import Contents
from averagefair.persistence.estimators import from_bytes, made_with, to_bytes
from averagefair.solvers import ColumnGeneration


class _UnknownKindError(Exception):
    """An object of a kind that cannot be written."""


def as_named(thing: Any, kinds: Mapping[str, type[Any]], arrays: Arrays) -> dict[str, Any] | None:
    """Return the name of an object's kind, and its settings; None for an unknown kind.

    Settings may be plain numbers and words, objects of known kinds, tuples of these, and
    scikit-learn estimators, which are added to the arrays. A callback is left out.
    """
    try:
        written = _setting(thing, kinds, arrays)
        return written if isinstance(written, dict) else None
    except _UnknownKindError:
        return None


def _named(thing: Any, kinds: Mapping[str, type[Any]], arrays: Arrays) -> dict[str, Any]:
    name = next(name for name, kind in kinds.items() if type(thing) is kind)
    settings = {
        field.name: _setting(getattr(thing, field.name), kinds, arrays)
        for field in fields(thing)
        if field.init and field.name != "progress"
    }
    return {"kind": name, "settings": settings}


def _setting(value: Any, kinds: Mapping[str, type[Any]], arrays: Arrays) -> Any:
    if isinstance(value, tuple | list):
        return [_setting(part, kinds, arrays) for part in value]
    if isinstance(value, BaseEstimator):
        name = f"estimator.{sum(array.startswith('estimator.') for array in arrays)}"
        arrays[name] = to_bytes(clone(value), f"the oracle ({type(value).__name__})")
        return {"estimator": name, "made_with": made_with()}
    if type(value) in kinds.values():
        return _named(value, kinds, arrays)
    value = plain(value)
    if not (value is None or isinstance(value, bool | int | float | str)):
        raise _UnknownKindError
    return value


def one_of(written: Any, kinds: Mapping[str, type[Any]], contents: Contents) -> Any:
    """Return the object that `as_named` wrote: one of these kinds, an estimator, or None.

    The contents hold the object's arrays.
    """
    thing = _from_named(written, kinds, contents)
    known = type(thing) in kinds.values() or isinstance(thing, BaseEstimator)
    if not (thing is None or known):
        raise ValueError(f"{str(written)[:50]!r} is not one of {', '.join(kinds)}")
    return thing


def _from_named(written: Any, kinds: Mapping[str, type[Any]], contents: Contents) -> Any:
    if isinstance(written, list):
        return tuple(_from_named(part, kinds, contents) for part in written)
    if not isinstance(written, dict):
        return written
    if "estimator" in written:
        data = contents.array(written["estimator"], None, kind="u")
        made = from_bytes(data, contents.trusted, "the oracle", written.get("made_with"))
        if not isinstance(made, BaseEstimator):
            raise ValueError(f"{written['estimator']} is not an estimator")
        return made
    settings = {
        name: _from_named(value, kinds, contents) for name, value in written["settings"].items()
    }
    kind = kinds[written["kind"]]
    if kind is ColumnGeneration:
        settings = _without_old_settings(settings)
    made = kind(**settings)
    if isinstance(made, WeightedOracle):
        # The reader chooses the number of workers, and messages name the file.
        made = replace(made, n_jobs=None)
        object.__setattr__(made, "source", contents.source)
    return made


def _without_old_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out settings of column generation that release 0.1.0 had, or left to the solver."""
    gone = ("shakes", "approach", "columns_per_round")
    unset = {name for name in ("patience", "reweightings") if settings.get(name, 0) is None}
    return {name: own for name, own in settings.items() if name not in {*gone, *unset}}
