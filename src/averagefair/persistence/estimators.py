"""scikit-learn objects in a file, written by skops: no pickle; types and contents are checked.

skops names the type of every part. It makes an object only of types that it knows to be harmless,
or that the reader has accepted by name. skops does not check what an object holds, and
scikit-learn's compiled code trusts it. So each object is compared with what its class would hold
(`known_classes`) before it is used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from averagefair.errors import InputError, extra, said, some_of
from averagefair.persistence.archive_limits import check_weight
from averagefair.persistence.fitted_contents import check_contents, each_part, short_name
from averagefair.persistence.fitted_relations import spline_from_plain, spline_to_plain
from averagefair.persistence.known_classes import ROWS
from averagefair.persistence.trees import check_tree_sizes

TRUSTED = (
    "numpy.dtype",  # the type of an array's cells: KBinsDiscretizer, SimpleImputer
    "scipy.interpolate._bsplines.BSpline",  # SplineTransformer; rebuilt, so that SciPy checks it
    "sklearn.tree._tree.Tree",  # trees, forests, boosting; every node is checked
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",  # likewise
    "functools.partial",  # only with check_array: boosting with categories
    "sklearn.utils.validation.check_array",
    "sklearn.utils._bunch.Bunch",  # a dict: voting, stacking
    "sklearn.calibration._CalibratedClassifier",  # plain attributes
    "sklearn.calibration._SigmoidCalibration",  # two numbers
    "sklearn.calibration._TemperatureScaling",  # one number
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",  # left out: only fit uses it
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)
"""Types that skops does not know and a reader need not accept: scikit-learn's own objects hold
them, they run no code, and their contents are checked."""
_MADE = {*ROWS, "_loss"}


class UntrustedError(InputError):
    """A file holds types that the reader has not accepted."""


def made_with() -> str:
    """Return the installed release of scikit-learn."""
    return f"scikit-learn {sklearn.__version__}"


def to_bytes(thing: Any, what: str) -> NDArray[np.uint8]:
    """Write an object, or a dict or list of such.

    Parameters
    ----------
    thing : object
    what : str
        Its role in the model, for messages: "the feature map (SplineTransformer)".
    """
    skops = extra("skops.io", "files")
    own = deepcopy(thing)
    try:
        for spline in _splines(own):
            spline_to_plain(spline)
        data = skops.dumps(own)
        # Read it back now, while the model still exists.
        check_tree_sizes(check_weight(data), data)
        _restored(data, [*TRUSTED, *skops.get_untrusted_types(data=data)], None)
    except Exception as error:  # a user's own object may raise anything
        raise InputError(
            f"{what} cannot be stored: {said(error)}. Use scikit-learn's own, or classes and "
            "functions that a module has by name."
        ) from error
    return np.frombuffer(data, dtype=np.uint8)


def from_bytes(data: NDArray[np.uint8], trusted: Sequence[str], what: str, made: Any) -> Any:
    """Return what `to_bytes` wrote; raise ValueError for anything else.

    Parameters
    ----------
    data : array
    trusted : sequence of str
        Types that the reader accepts beside TRUSTED.
    what : str
        As for `to_bytes`, for messages.
    made : str
        The release that wrote it, as the file says.
    """
    content = data.tobytes()
    try:
        schema = check_weight(content)
        unknown = _unknown_types(schema, content, trusted)
        if not unknown:
            check_tree_sizes(schema, content)
            thing, unknown = _restored(content, [*TRUSTED, *trusted], trusted)
    except Exception as error:  # a foreign file may raise anything
        raise ValueError(
            f"{what}, made with {made}, cannot be read with {made_with()}: {said(error)}"
        ) from error
    if unknown:
        raise UntrustedError(
            f"{what} holds types that are not known to be harmless: {some_of(unknown)}. If you "
            f"trust the maker of the file, accept them by name: load(path, trusted={unknown!r}), "
            "or --trust for each on the command line."
        )
    return thing


def _unknown_types(schema: Any, content: bytes, trusted: Sequence[str]) -> list[str]:
    """Return the types that neither skops, nor `known_classes`, nor the reader knows."""
    known = {*TRUSTED, *trusted}
    listed = [*extra("skops.io", "files").get_untrusted_types(data=content)]
    # Skip losses: known classes rebuild their own, and all other losses are refused later.
    listed += [
        name
        for name in _objects(schema)
        if short_name(name) and not {short_name(name), short_name(name).split(".")[0]} & _MADE
    ]
    return sorted({*listed} - known)


def _objects(schema: Any) -> Iterator[str]:
    """Yield the types of all objects with attributes."""
    left = [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict) and part.get("__loader__") == "ObjectNode":
            yield f"{part.get('__module__')}.{part.get('__class__')}"
        if isinstance(part, dict | list):
            left += part if isinstance(part, list) else part.values()


def _restored(
    data: bytes, made: Collection[str], accepted: Collection[str] | None
) -> tuple[Any, list[str]]:
    """Return the checked object, and its types that the reader has not accepted."""
    thing = extra("skops.io", "files").loads(data, trusted=sorted({*made}))
    for spline in _splines(thing):
        spline_from_plain(spline)
    return thing, check_contents(thing, ROWS, accepted)


def _splines(thing: Any) -> list[BSpline]:
    return [part for part in each_part(thing) if isinstance(part, BSpline)]
