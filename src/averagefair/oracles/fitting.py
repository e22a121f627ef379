"""Fit one scikit-learn classifier to one task: pass on its costs, and handle failed fits."""

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

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError
from averagefair.game.costs import TIE

# Squares of larger numbers may overflow float32, which many estimators use.
_LARGE = 1e15


@dataclass(frozen=True)
class TooFewPeople:
    """The answer to a task in which one of the labels has too few people for the estimator.

    Attributes
    ----------
    constant : bool
        The cheaper of deciding 0 for everybody and deciding 1 for everybody.
    reason : str
        The estimator's error message.
    """

    constant: bool
    reason: str


@dataclass(frozen=True, eq=False)
class TaskFitter:
    """Fits the classifier of one task; sent to worker processes.

    Attributes
    ----------
    estimator : scikit-learn classifier
        Cloned for each fit.
    classes : array, shape (2,)
        The labels that stand for deciding 0 and deciding 1 in ``fit``.
    weight : str
        The argument of ``fit`` that takes the weights.
    """

    estimator: Any
    classes: NDArray[Any]
    weight: str

    def __call__(self, features: FloatArray, gap: FloatArray, task: str) -> Any:
        """Return a fitted classifier, the only wanted label (a bool), or TooFewPeople.

        Parameters
        ----------
        features : array, shape (n, d)
        gap : array, shape (n,)
            Cost of deciding 1 minus cost of deciding 0; people whose gap is 0 are left out.
        task : str
            The task's name, for errors.
        """
        matters = np.flatnonzero(gap)
        gap = gap[matters]
        wanted = gap < 0
        ones = int(np.count_nonzero(wanted))
        if ones in (0, len(wanted)):
            return ones > 0
        # Fit on a copy in memory: some estimators cannot work on a read-only array.
        copied, labels = features[matters], self.classes[wanted.astype(np.intp)]
        try:
            with refuse_overflow(self.estimator, copied):
                return clone(self.estimator).fit(copied, labels, **{self.weight: np.abs(gap)})
        except InputError:
            raise
        except Exception as error:
            if min(ones, len(wanted) - ones) < self._people_needed:
                first_line = str(error).strip().partition("\n")[0]
                reason = f"{type(error).__name__}: {first_line}"
                return TooFewPeople(bool(gap.sum() < 0), reason)
            error.add_note(f"(while {type(self.estimator).__name__} was fitted to task {task!r})")
            raise

    @cached_property
    def _people_needed(self) -> int:
        """Number of people of each label that always suffices for the estimator.

        This is twice the product of the folds of all its cross-validations, which may be nested.
        The factor two leaves one person to learn from and one to validate on.
        """
        parameters = self.estimator.get_params().items()
        cuts = [value for name, value in parameters if name.split("__")[-1] == "cv"]
        return 2 * prod(_folds(cut) for cut in cuts)


@contextmanager
def refuse_overflow(estimator: Any, features: FloatArray) -> Iterator[None]:
    """Refuse large features if the estimator overflows on them."""
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


def scale_gaps(gap: FloatArray, counts: FloatArray) -> FloatArray:
    """Scale cost gaps so that people with a gap weigh 1 on average; shape (n,).

    Gaps of the size of rounding errors become 0.

    Parameters
    ----------
    gap : array, shape (n,)
    counts : array, shape (n,)
        How many people each row stands for.

    Examples
    --------
    >>> scale_gaps(np.array([1e-5, -3e-5, 0.0, 1e-300]), np.ones(4))
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
    """Return the argument of an estimator's ``fit`` that takes sample weights, or refuse it.

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
        if direct or get_routing_for_object(estimator).consumes("fit", ["sample_weight"]):
            return "sample_weight"
        raise _no_weights_error(estimator)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{weight_name(last)}"
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return weight_name(estimator.estimator)
    inner = _inner_classifiers(estimator)
    if not (direct or inner) or any(weight_name(part) != "sample_weight" for part in inner):
        raise _no_weights_error(estimator)
    return "sample_weight"


def _inner_classifiers(estimator: Any) -> list[Any]:
    """List the classifiers inside an estimator that passes sample_weight on to them."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import StackingClassifier, VotingClassifier

    if isinstance(estimator, VotingClassifier | StackingClassifier):
        last = getattr(estimator, "final_estimator", None)
        inner = [part for _, part in estimator.estimators] + [last]
    elif isinstance(estimator, CalibratedClassifierCV):
        inner = [estimator.estimator]
    else:
        inner = []
    return [part for part in inner if part is not None and not isinstance(part, str)]


def _no_weights_error(estimator: Any) -> InputError:
    name = type(estimator).__name__
    return InputError(
        f"{name}.fit takes no sample_weight, or cannot pass it to the classifier inside; costs "
        "reach a classifier as sample_weight. Use a classifier that takes it (for example "
        "LogisticRegression, DecisionTreeClassifier, HistGradientBoostingClassifier) or "
        f"RegressionOracle(). Put preprocessing in a pipeline around {name}, not inside it. Or let "
        "scikit-learn pass weights on: sklearn.set_config(enable_metadata_routing=True), and "
        "set_fit_request(sample_weight=True) on the classifier inside."
    )
