"""scikit-learn objects in a file: as skops writes them, types checked, contents checked, no pickle.

skops names the type of every part, and makes no object of a type that it does not know to be
harmless or that its reader has not accepted by name. Some types are harmless only as long as what
they hold makes sense (a tree that leads to a node it does not have would read foreign memory):
those are accepted here, and looked through before anybody uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from copy import deepcopy
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator

from averagefair.errors import InputError, extra, some_of
from averagefair.oracles.feature_map import said
from averagefair.persistence.weighing import check_weight

TRUSTED = (
    "numpy.dtype",  # the kind of an array's cells: KBinsDiscretizer, SimpleImputer
    "scipy.interpolate._bsplines.BSpline",  # SplineTransformer; made anew, so SciPy checks it
    "sklearn.tree._tree.Tree",  # trees, forests, boosting; looked through
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",  # likewise
    "sklearn.utils._bunch.Bunch",  # a dict: voting, stacking
    "sklearn.calibration._CalibratedClassifier",  # plain attributes
    "sklearn.calibration._SigmoidCalibration",  # two numbers
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",  # arrays, used in fit alone
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)
"""What skops leaves to its readers and a reader need not accept: scikit-learn's own objects hold
it, and it runs nothing."""
# Compiled code that takes what it is handed, and what these hold cannot be looked through.
_COMPILED = "BaseLibSVM"
_DEFINING = ("t", "c", "k", "extrapolate", "axis")


class UntrustedError(InputError):
    """A file holds types that its reader has not accepted."""


def made_with() -> str:
    """Return which release wrote, or reads, what scikit-learn's objects hold."""
    return f"scikit-learn {sklearn.__version__}"


def to_bytes(thing: Any, what: str) -> NDArray[np.uint8]:
    """Write an object, or a dict or list of such.

    Parameters
    ----------
    thing : object
    what : str
        What it is to the model, for messages: "the feature map (SplineTransformer)".
    """
    skops = extra("skops.io", "files")
    own = deepcopy(thing)
    try:
        _for_each(own, _to_plain)
        data = skops.dumps(own)
        # What cannot be read again is told now, while there is a model.
        _restored(data, [*TRUSTED, *skops.get_untrusted_types(data=data)])
    except Exception as error:  # of a stranger's object anything may be odd
        raise InputError(
            f"{what} cannot be stored: {said(error)}. Use scikit-learn's own, or classes and "
            "functions that a module has by name."
        ) from error
    return np.frombuffer(data, dtype=np.uint8)


def from_bytes(data: NDArray[np.uint8], trusted: Sequence[str], what: str, made: Any) -> Any:
    """Return what `to_bytes` wrote; raise ValueError where it is not that.

    Parameters
    ----------
    data : array
    trusted : sequence of str
        Types that the reader accepts beside TRUSTED.
    what : str
        As for `to_bytes`, for messages.
    made : str
        What it was made with, as the file says.
    """
    skops, content = extra("skops.io", "files"), data.tobytes()
    try:
        check_weight(content)
        accepted = {*TRUSTED, *trusted}
        unknown = [one for one in skops.get_untrusted_types(data=content) if one not in accepted]
        if not unknown:
            thing = _restored(content, accepted)
            _for_each(thing, partial(_refuse_compiled, accepted=accepted))
            return thing
    except UntrustedError:
        raise
    except Exception as error:  # of a foreign file anything may be wrong
        raise ValueError(
            f"{what}, made with {made}, cannot be read with {made_with()}: {said(error)}"
        ) from error
    raise _untrusted(what, unknown)


def _untrusted(what: str, unknown: Sequence[str]) -> UntrustedError:
    return UntrustedError(
        f"{what} holds types that are not known to be harmless: {some_of(unknown)}. If you trust "
        f"whoever made the file, accept them by name: load(path, trusted={list(unknown)!r}), or "
        "--trust for each on the command line."
    )


def _restored(data: bytes, accepted: Collection[str]) -> Any:
    thing = extra("skops.io", "files").loads(data, trusted=sorted(accepted))
    _for_each(thing, _from_plain)
    _for_each(thing, _look_through)
    return thing


def _refuse_compiled(part: Any, *, accepted: Container[str]) -> None:
    kind = type(part)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if _COMPILED in {one.__name__ for one in kind.__mro__} and name not in accepted:
        raise _untrusted("what it holds", [name])


# --- looking through -----------------------------------------------------------------------------


def _for_each(thing: Any, change: Callable[[Any], None]) -> None:
    """Hand on an object and all that can be reached from it, each once.

    Whatever may hold something is looked into: what is not looked through is not checked, and
    compiled code believes what it is handed.
    """
    seen: dict[int, Any] = {}
    left = [thing]
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            left += _held_by(one)
    for one in seen.values():
        change(one)


def _held_by(thing: Any) -> list[Any]:
    """Return what an object holds."""
    if isinstance(thing, str | bytes | bytearray | int | float | type | FunctionType | ModuleType):
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


def _to_plain(part: Any) -> None:
    """Leave of a spline what defines it: how SciPy keeps it differs from release to release."""
    if isinstance(part, BSpline):
        kept = {name: getattr(part, name) for name in _DEFINING}
        vars(part).clear()
        vars(part).update(kept)


def _from_plain(part: Any) -> None:
    """Make a spline again; SciPy refuses knots and coefficients that do not fit."""
    if not isinstance(part, BSpline):
        return
    kept = dict(vars(part))
    if kept.keys() != {*_DEFINING}:
        raise ValueError("a spline is not as it was written")
    vars(part).clear()
    coefficients = np.moveaxis(kept["c"], 0, kept["axis"])
    part.__init__(kept["t"], coefficients, kept["k"], kept["extrapolate"], kept["axis"])


def _look_through(part: Any) -> None:
    """Refuse trees that lead nowhere, and ensembles whose trees take other features."""
    kind = type(part).__name__
    if kind == "Tree":
        _check_tree(part)
    elif isinstance(part, BaseEstimator):
        _check_holder(part)


def _check_tree(tree: Any) -> None:
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    _check_nodes(left, right, feature, inner=left != -1, features=tree.n_features)
    if not len(left) or (right[left == -1] != -1).any():
        raise ValueError("a tree is not as it was written")


def _check_nodes(
    left: NDArray[Any], right: NDArray[Any], feature: NDArray[Any], *, inner: Any, features: int
) -> None:
    """Refuse nodes whose children do not come after them, or that ask for unknown features."""
    place = np.arange(len(left), dtype=np.int64)
    for child in (left, right):
        child = child[inner].astype(np.int64)
        if ((child <= place[inner]) | (child >= len(left))).any():
            raise ValueError("a tree leads to a node that it does not have")
    asked = feature[inner].astype(np.int64)
    if ((asked < 0) | (asked >= features)).any():
        raise ValueError("a tree asks for a feature that there is not")


def _check_holder(holder: BaseEstimator) -> None:
    """Refuse an estimator whose trees take another number of features than it does."""
    known, held = getattr(holder, "n_features_in_", -1), vars(holder)
    trees = [held["tree_"]] if "tree_" in held else []
    inside = held.get("estimators_")
    if inside is not None and "estimators_features_" not in held:
        listed = inside.ravel().tolist() if isinstance(inside, np.ndarray) else inside
        trees += [vars(one)["tree_"] for one in listed if "tree_" in getattr(one, "__dict__", {})]
    if any(type(tree).__name__ != "Tree" or tree.n_features != known for tree in trees):
        raise ValueError("a tree takes other features than its classifier")
    for row in held.get("_predictors", ()) or ():
        for one in row:
            nodes, sets = one.nodes, np.asarray(one.raw_left_cat_bitsets)
            inner = nodes["is_leaf"] == 0
            _check_nodes(
                nodes["left"], nodes["right"], nodes["feature_idx"], inner=inner, features=known
            )
            by_set = inner & (nodes["is_categorical"] != 0)
            if not len(nodes) or (nodes["bitset_idx"][by_set] >= len(sets)).any():
                raise ValueError("a tree is not as it was written")
