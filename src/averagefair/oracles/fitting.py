"""One scikit-learn classifier for one task: how costs reach it, and what if it cannot learn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from averagefair.costs import TIE
from averagefair.errors import InputError
from averagefair.sample import FloatArray

# Of larger numbers not even the squares may be numbers in float32, which many estimators use.
_LARGE = 1e15


@dataclass(frozen=True)
class TooFew:
    """What is left of a task in which the estimator fails for want of people with one label.

    Attributes
    ----------
    constant : bool
        The cheaper of deciding 0 for everybody and deciding 1 for everybody.
    reason : str
        What the estimator said.
    """

    constant: bool
    reason: str


@dataclass(frozen=True, eq=False)
class Fitting:
    """How one task's classifier is fitted: what worker processes are handed.

    Attributes
    ----------
    estimator : scikit-learn classifier
        Cloned for each fit.
    classes : array, shape (2,)
        The labels it is fitted with: what it is to call deciding 0, and deciding 1.
    weight : str
        The name by which its ``fit`` takes the weights.
    """

    estimator: Any
    classes: NDArray[Any]
    weight: str

    def __call__(self, features: FloatArray, gap: FloatArray, task: str) -> Any:
        """Return a fitted classifier, the only wanted label (a bool), or TooFew.

        Parameters
        ----------
        features : array, shape (n, d)
        gap : array, shape (n,)
            What deciding 1 costs more than deciding 0; people whose gap is 0 are left out.
        task : str
            Its name, for errors.
        """
        matters = np.flatnonzero(gap)
        gap = gap[matters]
        wanted = gap < 0
        ones = int(np.count_nonzero(wanted))
        if ones in (0, len(wanted)):
            return ones > 0
        # A copy of its own, in memory: not every estimator can do with an array that is read-only.
        own, labels = features[matters], self.classes[wanted.astype(np.intp)]
        try:
            with refusing_overflow(self.estimator, own):
                return clone(self.estimator).fit(own, labels, **{self.weight: np.abs(gap)})
        except InputError:
            raise
        except Exception as error:
            if min(ones, len(wanted) - ones) < self._members:
                said = str(error).strip().partition("\n")[0]
                return TooFew(bool(gap.sum() < 0), f"{type(error).__name__}: {said}")
            error.add_note(f"(while {type(self.estimator).__name__} was fitted to task {task!r})")
            raise

    @cached_property
    def _members(self) -> int:
        """How many people of each label are enough whatever the estimator sets aside.

        Two, for one part to learn from and one to judge by, and all folds of its cross-validations,
        which may be one in another: each takes at most half of what the next one out leaves it.
        """
        cuts = [v for k, v in self.estimator.get_params().items() if k.split("__")[-1] == "cv"]
        return 2 * prod(_folds(cut) for cut in cuts)


@contextmanager
def refusing_overflow(estimator: Any, features: FloatArray) -> Iterator[None]:
    """Refuse features of a size that an estimator turns out not to be able to compute with."""
    largest = max(features.max(initial=0.0), -features.min(initial=0.0))
    if largest < _LARGE:
        yield
        return
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except (FloatingPointError, ValueError) as error:
        if isinstance(error, FloatingPointError) or "too large for dtype" in str(error):
            raise InputError(
                f"{type(estimator).__name__} cannot compute with features of up to {largest:g} "
                f"({error}). Rescale them first, e.g. with make_pipeline(StandardScaler(), ...)."
            ) from error
        raise


def _folds(cut: Any) -> int:
    if cut is None:
        return 5
    return cut if isinstance(cut, int) else getattr(cut, "n_splits", 1)


def scaled(gap: FloatArray, counts: FloatArray) -> FloatArray:
    """Return cost gaps in which the people who matter weigh 1 each on average, shape (n,).

    Gaps that are rounding beside the largest are 0.

    Parameters
    ----------
    gap : array, shape (n,)
    counts : array, shape (n,)
        How many people each row stands for.

    Examples
    --------
    >>> scaled(np.array([1e-5, -3e-5, 0.0, 1e-300]), np.ones(4))
    array([ 0.5, -1.5,  0. ,  0. ])
    """
    largest = np.abs(gap).max(initial=0.0)
    if largest == 0.0:
        return gap
    gap = gap / largest
    size = np.abs(gap)
    matters = size > TIE
    people, total = counts[matters].sum(), size[matters].sum()
    return np.where(matters, gap * (people / total), 0.0)


def weight_name(estimator: Any) -> str:
    """Return the name by which an estimator's ``fit`` takes sample weights, or refuse it.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_name(make_pipeline(LogisticRegression()))
    'logisticregression__sample_weight'
    """
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
    from sklearn.pipeline import Pipeline

    direct = has_fit_parameter(estimator, "sample_weight")
    if sklearn.get_config()["enable_metadata_routing"]:
        asked = direct or get_routing_for_object(estimator).consumes("fit", ["sample_weight"])
        if asked:
            return "sample_weight"
        raise _refusal(estimator)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{weight_name(last)}"
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return weight_name(estimator.estimator)
    inner = _handed_on(estimator)
    if not (direct or inner) or any(weight_name(one) != "sample_weight" for one in inner):
        raise _refusal(estimator)
    return "sample_weight"


def _handed_on(estimator: Any) -> list[Any]:
    """List the classifiers that one hands its weights on to, by the name sample_weight alone."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import StackingClassifier, VotingClassifier

    if isinstance(estimator, VotingClassifier | StackingClassifier):
        last = getattr(estimator, "final_estimator", None)
        inner = [one for _, one in estimator.estimators] + [last]
    elif isinstance(estimator, CalibratedClassifierCV):
        inner = [estimator.estimator]
    else:
        inner = []
    return [one for one in inner if one is not None and not isinstance(one, str)]


def _refusal(estimator: Any) -> InputError:
    name = type(estimator).__name__
    return InputError(
        f"{name}.fit takes no sample_weight, which is how costs reach it, or cannot hand it on to "
        f"what is inside. Use a classifier that takes it (for example LogisticRegression, "
        "DecisionTreeClassifier, HistGradientBoostingClassifier) or RegressionOracle(). What "
        f"prepares the features goes in a pipeline around {name}, not inside it. Otherwise let "
        "scikit-learn hand weights on: sklearn.set_config(enable_metadata_routing=True), and "
        "set_fit_request(sample_weight=True) on the classifier inside."
    )


def seeded(estimator: Any) -> Any:
    """Return a clone in which every unset random state, of folds too, is 0."""
    own = clone(estimator)
    unset = {}
    for name, value in own.get_params().items():
        if name.split("__")[-1] == "random_state" and value is None:
            unset[name] = 0
        elif not hasattr(value, "get_params") and getattr(value, "random_state", 0) is None:
            value.random_state = 0  # a way of cutting folds, copied by clone
    return own.set_params(**unset)
