"""Check every part and attribute of a loaded scikit-learn object.

scikit-learn's compiled code trusts the contents of fitted objects. A tree that asks for feature
2^40 makes this code read memory outside its arrays. So a file may hold only classes that have a row
in `known_classes`. Each attribute must be of the kind in that row, and its shape must fit the
others.
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

# Names for the number of workers in scikit-learn, joblib, OpenMP and others. They become None, the
# reader's default. Names that compiled code reads become 1, since this code needs a number.
_WORKERS = ("n_jobs", "_n_jobs", "thread_count", "nthread", "n_threads", "num_threads")
_COUNTED_WORKERS = ("_n_threads", "effective_n_jobs_")
# A pipeline would cache fitted steps in this folder, and read pickles from it.
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
# skops makes no functions but ufuncs, unless the reader has accepted them by name.
_FUNCTIONS = (np.ufunc, FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_CALLERS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)
_KINDS = {"float": "f", "int": "iu", "bool": "b", "real": "fiub", "label": "fiubUSO", "object": "O"}


class NotCoveredError(Exception):
    """An object of a known class was fitted in a way that its row does not cover."""


class Row(NamedTuple):
    """The attributes of a fitted class; its parameters are known from the class itself.

    Attributes
    ----------
    needs : mapping of str to str
        Required attributes and their kinds (see `known_classes`).
    may : mapping of str to str
        Optional attributes, which exist only with some settings or in some releases.
    check : callable, optional
        Raises ValueError if attributes do not fit each other in ways that shapes do not show. It
        may also restore attributes that were left out.
    left_out : tuple of str
        Attributes that are not read from a file: they are rebuilt, or not needed.
    """

    needs: Mapping[str, str]
    may: Mapping[str, str] = {}
    check: Callable[[Any], None] | None = None
    left_out: tuple[str, ...] = ()


class Found(NamedTuple):
    """All parts reachable from an object, and the names of types that are not accepted."""

    parts: list[Any]
    unknown: list[str]


def type_name(kind: type[Any]) -> str:
    """Return the name by which a reader accepts a type."""
    return f"{kind.__module__}.{kind.__qualname__}"


def short_name(name: str) -> str:
    """Return a scikit-learn class as package and name, "tree.Tree"; "" for other classes.

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
    """Check all parts of an object; return the types that are neither known nor accepted.

    Raises ValueError if a part of a known class does not hold what that class would.

    Parameters
    ----------
    thing : object
        Changed in place: numbers of workers and cache folders are removed.
    rows : mapping of str to Row
        The known classes.
    accepted : collection of str, or None
        Types that the reader trusts, whatever they hold. None means all types without a row.
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
        except Exception as error:  # malformed contents may break the check itself
            raise ValueError(f"{type(part).__name__} is not as it was fitted: {error}") from error
    return sorted({*unknown})


def _row_of(part: Any, rows: Mapping[str, Row], accepted: Collection[str] | None) -> Row | None:
    name = type_name(type(part))
    return None if accepted is not None and name in accepted else rows.get(short_name(name))


# --- all reachable parts -------------------------------------------------------------------------


def _reach(thing: Any, rows: Mapping[str, Row], accepted: Collection[str] | None) -> Found:
    """Collect all reachable parts, each once; remove workers, folders and left-out attributes."""
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
    """Return whether a part is plain data, or a function that skops or the reader knows."""
    if type(part) in _HOLDERS:
        return True
    if isinstance(part, partial):
        return _checks_an_array(part)
    if issparse(part):  # the reader has accepted its type by name
        part.check_format(full_check=True)
        return True
    # Splines were rebuilt before.
    return type(part) is BSpline or isinstance(part, _PLAIN_NUMPY + _FUNCTIONS + _CALLERS)


def _checks_an_array(part: partial[Any]) -> bool:
    """Return whether this is the check that gradient boosting runs on numeric columns."""
    from sklearn.utils import check_array

    known = {"dtype", "ensure_all_finite", "force_all_finite"}
    return part.func is check_array and not part.args and part.keywords.keys() <= known


def each_part(thing: Any) -> list[Any]:
    """Return an object and all parts reachable from it, each once."""
    seen: dict[int, Any] = {}
    left = [thing]
    while left:
        part = left.pop()
        if id(part) not in seen:
            seen[id(part)] = part
            left += held_by(part)
    return [*seen.values()]


def held_by(thing: Any) -> Iterable[Any]:
    """Return the parts that an object holds directly."""
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
    """Remove numbers of workers and cache folders; the reader chooses these."""
    if isinstance(part, dict):  # the dict may hold keyword arguments
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
    """Refuse parameters that scikit-learn rejects; add those that an older release lacks."""
    held = vars(part)
    for name, default in parameters.items():
        if name not in held:
            if default is inspect.Parameter.empty:
                raise ValueError(f"it lacks {name!r}")
            held[name] = default
    if not hasattr(part, "_parameter_constraints"):
        return
    # The trees of a forest differ only in their seeds.
    given = [(name, held[name]) for name in parameters if name != "random_state"]
    key = (type(part), *((name, type(value), repr(value)) for name, value in given))
    plain = all(isinstance(value, _PLAIN) for _, value in given)
    if not plain or key not in checked:
        part._validate_params()
        checked.add(key)


def _sizes(held: Mapping[str, Any]) -> dict[str, int]:
    """Return the known sizes: "d" features, "c" classes, "s" scores."""
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
    """Refuse a value that does not fit its row; add new sizes to ``sizes``."""
    kind, maybe, axes = _parsed(spec)
    if kind == "any" or (maybe and value is None):
        return
    if kind in _KINDS:
        array = _array(name, value, _KINDS[kind])
        if array.ndim != len(axes):
            raise ValueError(f"{name} has {array.ndim} axes and must have {len(axes)}")
        for axis, size in zip(axes, array.shape, strict=True):
            _check_size(name, axis, size, sizes)
    elif kind == "whole":
        for axis in axes:
            _check_size(name, axis, whole(value), sizes)
        whole(value)
    elif kind == "list":
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name} is not a list")
        for axis in axes:
            _check_size(name, axis, len(value), sizes)
    elif not isinstance(value, _SCALARS[kind]):
        raise ValueError(f"{name} is {type(value).__name__}, not a {kind}")


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
    """Return a whole number that is not negative."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"{str(value)[:50]} is not a whole number")
    return int(value)
