"""scikit-learn objects in a file: as skops writes them, types checked, contents checked, no pickle.

skops names the type of every part, and makes no object of a type that it does not know to be
harmless or that its reader has not accepted by name. What a harmless type holds is not skops'
concern, and scikit-learn's compiled code believes it. So each object is checked against what its
class would hold (`known_classes`) before anybody uses it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from averagefair.errors import InputError, extra, some_of
from averagefair.oracles.feature_map import said
from averagefair.persistence.fitted_contents import check_contents, each_part, short_name
from averagefair.persistence.fitted_relations import spline_from_plain, spline_to_plain
from averagefair.persistence.known_classes import ROWS
from averagefair.persistence.trees import check_tree_sizes
from averagefair.persistence.weighing import check_weight

TRUSTED = (
    "numpy.dtype",  # the kind of an array's cells: KBinsDiscretizer, SimpleImputer
    "scipy.interpolate._bsplines.BSpline",  # SplineTransformer; made anew, so SciPy checks it
    "sklearn.tree._tree.Tree",  # trees, forests, boosting; every node is checked
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",  # likewise
    "functools.partial",  # of check_array alone: boosting with categories
    "sklearn.utils.validation.check_array",
    "sklearn.utils._bunch.Bunch",  # a dict: voting, stacking
    "sklearn.calibration._CalibratedClassifier",  # plain attributes
    "sklearn.calibration._SigmoidCalibration",  # two numbers
    "sklearn.calibration._TemperatureScaling",  # one number
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",  # left out: used in fit alone
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)
"""What skops leaves to its readers and a reader need not accept: scikit-learn's own objects hold
it, it runs nothing, and what it holds is checked."""
_MADE = {*ROWS, "_loss"}


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
        for spline in _splines(own):
            spline_to_plain(spline)
        data = skops.dumps(own)
        # What cannot be read again is told now, while there is a model.
        check_tree_sizes(check_weight(data), data)
        _restored(data, [*TRUSTED, *skops.get_untrusted_types(data=data)], None)
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
    content = data.tobytes()
    try:
        schema = check_weight(content)
        unknown = _unknown_types(schema, content, trusted)
        if not unknown:
            check_tree_sizes(schema, content)
            thing, unknown = _restored(content, [*TRUSTED, *trusted], trusted)
    except Exception as error:  # of a foreign file anything may be wrong
        raise ValueError(
            f"{what}, made with {made}, cannot be read with {made_with()}: {said(error)}"
        ) from error
    if unknown:
        raise UntrustedError(
            f"{what} holds types that are not known to be harmless: {some_of(unknown)}. If you "
            f"trust whoever made the file, accept them by name: load(path, trusted={unknown!r}), "
            "or --trust for each on the command line."
        )
    return thing


def _unknown_types(schema: Any, content: bytes, trusted: Sequence[str]) -> list[str]:
    """List the types that neither skops, nor `known_classes`, nor the reader knows."""
    known = {*TRUSTED, *trusted}
    listed = [*extra("skops.io", "files").get_untrusted_types(data=content)]
    # Losses are made again, and refused where they stand anywhere else.
    listed += [
        name
        for name in _objects(schema)
        if short_name(name) and not {short_name(name), short_name(name).split(".")[0]} & _MADE
    ]
    return sorted({*listed} - known)


def _objects(schema: Any) -> Iterator[str]:
    """Yield the types of all objects that have attributes of their own."""
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
    """Return what a file holds, checked, and the types in it that the reader has not accepted."""
    thing = extra("skops.io", "files").loads(data, trusted=sorted({*made}))
    for spline in _splines(thing):
        spline_from_plain(spline)
    return thing, check_contents(thing, ROWS, accepted)


def _splines(thing: Any) -> list[BSpline]:
    return [part for part in each_part(thing) if isinstance(part, BSpline)]
