"""What a loaded scikit-learn object may hold: every part is looked up, every attribute checked.

scikit-learn's compiled code believes what fitted objects hold. A tree that asks for feature 2^40
makes it read foreign memory. So a file may hold only classes that have a row in `known_classes`,
and each attribute must be as that row says: of that kind, and of a shape that fits the others.
"""

from __future__ import annotations

import inspect
import operator
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, partial
from numbers import Real
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

# Numbers of workers, as scikit-learn, joblib, OpenMP and others call them. None: as the reader's
# machine has it. scikit-learn's compiled code wants a number where it keeps one.
_WORKERS = ("n_jobs", "_n_jobs", "thread_count", "nthread", "n_threads", "num_threads")
_COUNTED_WORKERS = ("_n_threads", "effective_n_jobs_")
# A pipeline would write what it has fitted to this folder, and read pickles from there.
_FOLDERS = ("memory",)
_GENERAL = {
    "n_features_in_": "whole d",
    "feature_names_in_": "label d",
    "_sklearn_output_config": "any",
    "_sklearn_version": "any",
    "_metadata_request": "any",
}
_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, slice, range, type)
_PLAIN_NUMPY = (np.generic, np.dtype, np.random.RandomState, np.random.Generator)
_HOLDERS = (list, tuple, dict, OrderedDict, set, frozenset, np.ndarray, np.ma.MaskedArray)
# skops makes no other function than ufuncs, unless the reader has named it.
_FUNCTIONS = (np.ufunc, FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_CALLERS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)
_KINDS = {"float": "f", "int": "iu", "bool": "b", "real": "fiub", "label": "fiubUSO", "object": "O"}


class NotCoveredError(Exception):
    """An object of a known class was fitted in a way that its row does not cover."""


class Row(NamedTuple):
    """What one class holds once it is fitted; its parameters are taken from the class itself.

    Attributes
    ----------
    needs : mapping of str to str
        The attributes that it decides by, and what each one is (see `known_classes`).
    may : mapping of str to str
        Attributes that may be there too: of some settings, or of other releases.
    check : callable, optional
        Raises ValueError where attributes do not fit each other in a way that no shape tells. May
        also put back what was left out.
    left_out : tuple of str
        Attributes that are not taken from a file: what they held is made again, or not needed.
    """

    needs: Mapping[str, str]
    may: Mapping[str, str] = {}
    check: Callable[[Any], None] | None = None
    left_out: tuple[str, ...] = ()


class Found(NamedTuple):
    """What is reachable from an object: all of it, and the types that no reader has accepted."""

    parts: list[Any]
    unknown: list[str]


def type_name(kind: type[Any]) -> str:
    """Return the name by which a reader accepts a type."""
    return f"{kind.__module__}.{kind.__qualname__}"


def short_name(name: str) -> str:
    """Return a class of scikit-learn as its package and its name: "tree.Tree"; "" for another.

    Examples
    --------
    >>> short_name("sklearn.linear_model._logistic.LogisticRegression")
    'linear_model.LogisticRegression'
    """
    package, *inner = name.split(".")
    return f"{inner[0]}.{inner[-1]}" if package == "sklearn" and len(inner) > 1 else ""


def check_contents(
    thing: Any, rows: Mapping[str, Row], accepted: Collection[str] | None
) -> list[str]:
    """Check all that an object holds; return the types that are neither known nor accepted.

    Raises ValueError where an object of a known class does not hold what that class would.

    Parameters
    ----------
    thing : object
        Changed in place: no number of workers and no folder is left in it.
    rows : mapping of str to Row
        The known classes.
    accepted : collection of str, or None
        Types that the reader trusts, whatever they hold. None: all that have no row.
    """
    found = _reach(thing, rows, accepted)
    unknown = found.unknown
    if unknown and accepted is not None:
        return unknown
    checked: set[Any] = set()
    for part in found.parts:
        row = _row_of(part, rows, accepted)
        if row is None:
            continue
        try:
            _check_part(part, row, checked)
        except NotCoveredError:
            if accepted is not None:
                unknown.append(type_name(type(part)))
        except Exception as error:  # a misfit may break the check itself
            raise ValueError(f"{type(part).__name__} is not as it was fitted: {error}") from error
    return sorted({*unknown})


def _row_of(part: Any, rows: Mapping[str, Row], accepted: Collection[str] | None) -> Row | None:
    name = type_name(type(part))
    return None if accepted is not None and name in accepted else rows.get(short_name(name))


# --- all that can be reached ----------------------------------------------------------------------


def _reach(thing: Any, rows: Mapping[str, Row], accepted: Collection[str] | None) -> Found:
    """Find an object and all that can be reached from it, each once, and make it harmless."""
    seen: dict[int, Any] = {}
    unknown: set[str] = set()
    left = [thing]
    while left:
        part = left.pop()
        if isinstance(part, _PLAIN) or id(part) in seen:
            continue
        seen[id(part)] = part
        row = _row_of(part, rows, accepted)
        if row is None and not _is_harmless(part):
            unknown.add(type_name(type(part)))
        if row is not None:
            for name in row.left_out:
                vars(part).pop(name, None)
        _forget_workers(part)
        left += held_by(part)
    unknown -= {*(accepted or ())}
    return Found(list(seen.values()), sorted(unknown))


def _is_harmless(part: Any) -> bool:
    """Tell whether a part is plain data, or a function that skops or the reader knows."""
    if type(part) in _HOLDERS:
        return True
    if isinstance(part, partial):
        return _checks_an_array(part)
    if issparse(part):  # which the reader has accepted by name
        part.check_format(full_check=True)
        return True
    # Splines have been made anew before.
    return type(part) is BSpline or isinstance(part, _PLAIN_NUMPY + _FUNCTIONS + _CALLERS)


def _checks_an_array(part: partial[Any]) -> bool:
    """Tell whether this is what gradient boosting puts before its numeric columns."""
    from sklearn.utils import check_array

    known = {"dtype", "ensure_all_finite", "force_all_finite"}
    return part.func is check_array and not part.args and part.keywords.keys() <= known


def each_part(thing: Any) -> list[Any]:
    """Return an object and all that can be reached from it, each once."""
    seen: dict[int, Any] = {}
    left = [thing]
    while left:
        part = left.pop()
        if id(part) not in seen:
            seen[id(part)] = part
            left += held_by(part)
    return [*seen.values()]


def held_by(thing: Any) -> Iterable[Any]:
    """Return what an object holds."""
    if isinstance(thing, _PLAIN + _PLAIN_NUMPY + (np.ufunc, FunctionType, ModuleType)):
        return []
    if isinstance(thing, np.ndarray):
        return [*thing.flat] if thing.dtype.hasobject else []
    held = [*getattr(thing, "__dict__", {}).values()]
    if isinstance(thing, Mapping):
        held += [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset):
        held += [*thing]
    elif isinstance(thing, partial):
        held += [thing.func, thing.args, thing.keywords]
    elif isinstance(thing, MethodType):
        held += [thing.__self__]
    return held


def _forget_workers(part: Any) -> None:
    """Leave it to the reader how many processes and threads work, and what is kept where."""
    if isinstance(part, dict):  # arguments that are handed on
        part.update({name: None for name in _WORKERS if isinstance(part.get(name), Real | str)})
    held = getattr(part, "__dict__", None)
    if isinstance(held, dict):
        held.update({name: None for name in (*_WORKERS, *_FOLDERS) if name in held})
        held.update({name: 1 for name in _COUNTED_WORKERS if name in held})


# --- one object ----------------------------------------------------------------------------------


def _check_part(part: Any, row: Row, checked: set[Any]) -> None:
    held = getattr(part, "__dict__", {})
    known = {**_GENERAL, **row.needs, **row.may}
    kind: Any = type(part)
    parameters = _parameters(kind) if isinstance(part, BaseEstimator) else {}
    strange = held.keys() - known.keys() - parameters.keys() - {*row.left_out}
    if strange:
        raise ValueError(f"it has an attribute that its class does not set, {min(strange)!r}")
    if parameters:
        _check_parameters(part, parameters, checked)
    # Estimators in the parameters of others are not fitted.
    fitted = bool(held.keys() & {*row.needs, "n_features_in_"}) or not parameters
    missing = row.needs.keys() - held.keys()
    if fitted and missing:
        raise ValueError(f"it lacks {min(missing)!r}")
    sizes = _sizes(held)
    for name in sorted((held.keys() & known.keys()) - parameters.keys()):
        _check_attribute(name, held[name], known[name], sizes)
    if row.check is not None and (fitted or not row.needs):
        row.check(part)


@cache
def _parameters(kind: Any) -> dict[str, Any]:
    """Return the parameters of a class and their defaults."""
    made = getattr(kind.__init__, "deprecated_original", kind.__init__)
    found = inspect.signature(made).parameters.values()
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {one.name: one.default for one in [*found][1:] if one.kind not in open_ended}


def _check_parameters(part: Any, parameters: Mapping[str, Any], checked: set[Any]) -> None:
    """Refuse parameters that scikit-learn would not take; complete those of an older release."""
    held = vars(part)
    for name, default in parameters.items():
        if name not in held:
            if default is inspect.Parameter.empty:
                raise ValueError(f"it lacks {name!r}")
            held[name] = default
    if not hasattr(part, "_parameter_constraints"):
        return
    # The trees of a forest differ in their seeds alone.
    given = [(name, held[name]) for name in parameters if name != "random_state"]
    key = (type(part), *((name, type(value), repr(value)) for name, value in given))
    plain = all(isinstance(value, _PLAIN) for _, value in given)
    if not plain or key not in checked:
        part._validate_params()
        checked.add(key)


def _sizes(held: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes that shapes are told by: "d" features, "c" classes, "s" scores."""
    sizes = {}
    if "n_features_in_" in held:
        sizes["d"] = whole(held["n_features_in_"])
    classes = held.get("classes_")
    if isinstance(classes, np.ndarray):
        sizes["c"] = classes.size
        sizes["s"] = 1 if classes.size <= 2 else classes.size
    return sizes


_SPEC = re.compile(r"(\w+)(\??)((?: [\w*]+)*)")


def _check_attribute(name: str, value: Any, spec: str, sizes: dict[str, int]) -> None:
    """Refuse a value that is not what its row says; note the sizes that it tells."""
    kind, maybe, axes = _parsed(spec)
    if kind == "any" or (maybe and value is None):
        return
    if kind in _KINDS:
        array = _array(name, value, _KINDS[kind])
        if array.ndim != len(axes):
            raise ValueError(f"{name} has {array.ndim} axes where it has {len(axes)}")
        for axis, size in zip(axes, array.shape, strict=True):
            _check_size(name, axis, size, sizes)
    elif kind == "whole":
        for axis in axes:
            _check_size(name, axis, whole(value), sizes)
        whole(value)
    elif kind == "list":
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name} is no list")
        for axis in axes:
            _check_size(name, axis, len(value), sizes)
    elif not isinstance(value, _SCALARS[kind]):
        raise ValueError(f"{name} is {type(value).__name__}, no {kind}")


_SCALARS: dict[str, tuple[type[Any], ...]] = {
    "number": (int, float, np.integer, np.floating),
    "flag": (bool, np.bool_),
    "text": (str,),
}


@cache
def _parsed(spec: str) -> tuple[str, bool, tuple[str, ...]]:
    kind, maybe, axes = _SPEC.fullmatch(spec).groups()  # type: ignore[union-attr]
    return kind, bool(maybe), tuple(axes.split())


def _array(name: str, value: Any, kinds: str) -> NDArray[Any]:
    if type(value) is not np.ndarray or value.dtype.kind not in kinds:
        found = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        raise ValueError(f"{name} is {found}")
    return value


def _check_size(name: str, axis: str, size: int, sizes: dict[str, int]) -> None:
    wanted = int(axis) if axis.isdigit() else size if axis == "*" else sizes.setdefault(axis, size)
    if size != wanted:
        raise ValueError(f"{name} has size {size} where the others have {wanted}")


def whole(value: Any) -> int:
    """Return a whole number, not negative."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"{str(value)[:50]} is no whole number")
    return int(value)
