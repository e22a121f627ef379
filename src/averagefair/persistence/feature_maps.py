"""Feature maps in a file: scikit-learn transformers as skops writes them, types checked, no pickle.

skops names the type of every part, and makes no object of a type that it does not know to be
harmless or that its reader has not accepted by name.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import sklearn
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator

from averagefair.errors import InputError, extra, some_of
from averagefair.oracles.feature_map import FittedMap, said
from averagefair.persistence.container import Arrays
from averagefair.persistence.contents import Contents

# What skops leaves to its readers though scikit-learn's own transformers hold it.
TRUSTED = (
    "numpy.dtype",  # the kind of an array's cells: KBinsDiscretizer, SimpleImputer
    "scipy.interpolate._bsplines.BSpline",  # SplineTransformer; made anew below, so it is checked
)


class UntrustedError(InputError):
    """A file holds types that its reader has not accepted."""


def write_map(feature_map: FittedMap | None, arrays: Arrays) -> dict[str, Any]:
    """Add a map; return what the manifest says of it, nothing where there is none."""
    if feature_map is None:
        return {}
    skops = extra("skops.io", "files")
    transformer = deepcopy(feature_map.transformer)
    try:
        _each_spline(transformer, _to_plain)
        data = skops.dumps(transformer)
        # What cannot be read again is told now, while there is a model.
        _restored(data, [*TRUSTED, *skops.get_untrusted_types(data=data)])
    except Exception as error:  # of a stranger's transformer anything may be odd
        raise InputError(
            f"the feature map, {type(transformer).__name__}, cannot be stored: {said(error)}. Use "
            "scikit-learn's transformers, or classes and functions that a module has by name."
        ) from error
    arrays["map"] = np.frombuffer(data, dtype=np.uint8)
    made_with = f"scikit-learn {sklearn.__version__}"
    return {"map": {"features": feature_map.width, "made_with": made_with}}


def read_map(contents: Contents) -> FittedMap | None:
    """Return the map that `write_map` wrote, or None where none was."""
    known = contents.manifest.get("map")
    if known is None:
        return None
    width = Contents({}, known).whole("features")
    data = contents.array("map", None, kind="u").tobytes()
    transformer = _read(data, contents.trusted, known.get("made_with"))
    if not width or not isinstance(transformer, BaseEstimator):
        raise ValueError("map is no transformer")
    return FittedMap(transformer, contents.whole("feature_count"), width)


def _read(data: bytes, trusted: Sequence[str], made_with: Any) -> Any:
    skops = extra("skops.io", "files")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            # Stored, not compressed: a small file must not fill the memory.
            if sum(one.file_size for one in file.infolist()) > len(data):
                raise ValueError("it is larger than it looks")
        accepted = {*TRUSTED, *trusted}
        unknown = [one for one in skops.get_untrusted_types(data=data) if one not in accepted]
        if not unknown:
            return _restored(data, sorted(accepted))
    except Exception as error:  # of a foreign file anything may be wrong
        raise ValueError(
            f"the feature map, made with {made_with}, cannot be read with scikit-learn "
            f"{sklearn.__version__}: {said(error)}"
        ) from error
    raise UntrustedError(
        f"the feature map holds types that are not known to be harmless: {some_of(unknown)}. If "
        f"you trust whoever made the file, accept them by name: load(path, trusted={unknown!r}), "
        "or --trust for each on the command line."
    )


def _restored(data: bytes, trusted: list[str]) -> Any:
    transformer = extra("skops.io", "files").loads(data, trusted=trusted)
    _each_spline(transformer, _from_plain)
    return transformer


def _each_spline(thing: Any, change: Callable[[BSpline], None]) -> None:
    """Change every spline of a transformer, or of those that it is made of, in its place."""
    if isinstance(thing, BSpline):
        change(thing)
    elif isinstance(thing, BaseEstimator | dict):
        for part in list((vars(thing) if isinstance(thing, BaseEstimator) else thing).values()):
            _each_spline(part, change)
    elif isinstance(thing, list | tuple):
        for part in thing:
            _each_spline(part, change)


def _to_plain(spline: BSpline) -> None:
    """Leave of a spline what defines it: how SciPy keeps it differs from release to release."""
    if "t" not in vars(spline):  # it may stand in several places
        kept = {name: getattr(spline, name) for name in ("t", "c", "k", "extrapolate", "axis")}
        vars(spline).clear()
        vars(spline).update(kept)


def _from_plain(spline: BSpline) -> None:
    """Make a spline again; SciPy refuses knots and coefficients that do not fit."""
    kept = dict(vars(spline))
    if kept.keys() == {"t", "c", "k", "extrapolate", "axis"}:
        vars(spline).clear()
        coefficients = np.moveaxis(kept["c"], 0, kept["axis"])
        spline.__init__(kept["t"], coefficients, kept["k"], kept["extrapolate"], kept["axis"])
    elif "_asarray" not in kept:
        raise ValueError("a spline is not as it was written")
