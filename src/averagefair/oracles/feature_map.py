"""Feature maps: scikit-learn transformers in front of an oracle, applied to everybody once.

A linear oracle on splines or on kernel features learns curves. Since the map does not depend on the
costs, it is fitted and applied before the game begins: every round is then matrix products, as it
is without a map.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import has_fit_parameter

from averagefair.errors import InputError, blaming
from averagefair.oracles.fitting import seeded
from averagefair.parts import Part
from averagefair.protocols import is_oracle
from averagefair.sample import FloatArray, Sample
from averagefair.spaces import Space, is_mapped

MOST = 100_000
"""So many people at most are fetched to fit a map, where people are in a file or on a cluster."""
# So many people are mapped a second time, alone, to see that nobody's features depend on others'.
_PROBED = 20


@dataclass(frozen=True)
class FeatureMap:
    """An oracle that sees people through a scikit-learn transformer.

    The same as a scikit-learn pipeline whose last step is an oracle:
    ``make_pipeline(SplineTransformer(), RegressionOracle())``.

    Parameters
    ----------
    transformer : scikit-learn transformer
        Takes the columns of X by their position, as float64, and makes finite numbers of each
        person's features, whoever the others are. It is cloned; where it has an unset
        ``random_state``, that is set to 0. Sparse output is made dense.
    oracle : Oracle or scikit-learn classifier, optional
        Learns from what the transformer makes. Default: the default oracle.

    Notes
    -----
    The transformer is fitted on the training people's features alone, without labels. People of
    weight 0 are left out; whole-numbered weights count as that many rows; other weights go to
    those transformers (alone or in a pipeline) whose ``fit`` takes ``sample_weight``, and with the
    rest everybody counts alike. Where people are in a file (``np.memmap``) or on a Dask cluster, or
    weights stand for many more people than there are rows, at most 100,000, evenly spaced, are
    fitted on; everybody is mapped.

    Some transformers keep people's features: Nystroem and KernelPCA those of whole people. They
    are then in the model, and in its file.

    Examples
    --------
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> from averagefair import AverageFairClassifier
    >>> X = np.linspace(-1, 1, 9)[:, None]
    >>> inside = (np.abs(X) < 0.6).astype(int)
    >>> model = AverageFairClassifier(alpha=0.5, oracle=FeatureMap(PolynomialFeatures(2)))
    >>> model.fit(X, inside).score(X, inside)
    1.0
    """

    transformer: Any
    oracle: Any = None

    def __post_init__(self) -> None:
        _check_transformer(self.transformer)


@dataclass(frozen=True, eq=False)
class FittedMap:
    """A fitted transformer, held to its promises.

    Attributes
    ----------
    transformer : scikit-learn transformer
        Fitted.
    feature_count : int
        How many features it takes.
    width : int
        How many it makes.
    source : str, optional
        The file that it was loaded from, for messages.
    """

    transformer: Any
    feature_count: int
    width: int
    source: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _revived, (self.transformer, self.feature_count, self.width, self.source)

    def __call__(self, features: Any, first_row: int = 0, dtype: str = "float64") -> NDArray[Any]:
        """Map people's features, shape (n, feature_count), to shape (n, width).

        Parameters
        ----------
        features : array
        first_row : int, default 0
            The row of the first of them, for messages.
        dtype : {"float64", "float32"}
            Of the result; the transformer gets float64 always.
        """
        check_host(Space.of(features))
        given = np.array(features, dtype=np.float64)  # its own: some transformers write to it
        name = type(self.transformer).__name__
        part = f"the feature map ({name})"
        if self.source:
            name = f"{name} of {self.source}"
        try:
            with blaming(self.source, part):
                made = self.transformer.transform(given)
        except InputError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise InputError(
                f"the feature map, {name}, could not map rows {first_row} to "
                f"{first_row + len(given) - 1} of X: {said(error)}."
            ) from error
        with blaming(self.source, part):
            return _numbers(made, (len(given), self.width), name, first_row, dtype)


def _revived(
    transformer: Any, feature_count: int, width: int, source: str | None = None
) -> FittedMap:
    """Return a map that came from elsewhere, in memory of its own.

    Dask hands over arrays that cannot be written to and begin anywhere, which compiled code (that
    of splines, for one) does not take.
    """
    return FittedMap(deepcopy(transformer), feature_count, width, source)


def split_map(oracle: Any) -> tuple[Any | None, Any]:
    """Part an oracle from the transformers in front of it: (transformer or None, oracle).

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> split_map(FeatureMap(StandardScaler()))
    (StandardScaler(), None)
    """
    steps: list[Any] = []
    while True:
        if isinstance(oracle, FeatureMap):
            steps.append(oracle.transformer)
            oracle = oracle.oracle
        elif _ends_in_oracle(oracle):
            if len(oracle.steps) > 1:
                steps.append(oracle[:-1])
            oracle = oracle.steps[-1][1]
        else:
            break
    for transformer in steps:
        _check_transformer(transformer)
    return (make_pipeline(*steps) if len(steps) > 1 else steps[0] if steps else None), oracle


def with_usual(oracle: Any, usual: Any) -> Any:
    """Return the oracle, or the usual one where none is named, behind a map or without one.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> with_usual(FeatureMap(StandardScaler()), "least squares")
    FeatureMap(transformer=StandardScaler(), oracle='least squares')
    """
    transformer, named = split_map(oracle)
    if named is not None:
        return oracle
    return usual if transformer is None else FeatureMap(transformer, usual)


def fit_map(transformer: Any, sample: Sample) -> FittedMap:
    """Fit a transformer on the features of a sample's people; see :class:`FeatureMap`."""
    check_host(sample.space)
    in_memory = sample.rows.local and not is_mapped(sample.features)
    times, weights = _who(sample.individual_weights, max(MOST, sample.n) if in_memory else MOST)
    people = np.concatenate(sample.collect(_fetch, times))
    name = type(transformer).__name__
    try:
        fitted = seeded(transformer)
        fitted = fitted.fit(people.copy(), **_weights_for(fitted, weights))
        width = np.shape(fitted.transform(people[:1].copy()))[-1]
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise InputError(
            f"the feature map, {name}, could not be fitted: {said(error)}. It is fitted on "
            "people's features alone, a NumPy array, one map for all tasks: transformers that need "
            "labels (y) or columns by name cannot be part of it; those with columns by position "
            "can."
        ) from error
    if not width:
        raise InputError(f"the feature map, {name}, left no features; keep at least one.")
    found = FittedMap(fitted, sample.d, int(width))
    rows = np.repeat(np.flatnonzero(times), times[times > 0])[:_PROBED]
    _check_one_by_one(found, people[:_PROBED], rows.tolist())
    return found


def said(error: Exception) -> str:
    """Return what an error says, without a full stop."""
    return str(error).rstrip(". ")


def check_host(space: Space) -> None:
    """Refuse arrays that scikit-learn's transformers do not take."""
    if not space.is_numpy:
        raise InputError(
            f"a feature map is scikit-learn's and takes NumPy arrays; X is {space}. Hand over "
            "NumPy arrays, or map X before and fit on the result, without a map."
        )


def _ends_in_oracle(oracle: Any) -> bool:
    if not isinstance(oracle, Pipeline) or not oracle.steps:
        return False
    last = oracle.steps[-1][1]
    return is_oracle(last) or isinstance(last, FeatureMap) or _ends_in_oracle(last)


def _check_transformer(transformer: Any) -> None:
    wanted = ("fit", "transform", "get_params")
    if isinstance(transformer, type) or not all(hasattr(transformer, one) for one in wanted):
        raise InputError(
            "a feature map must be a scikit-learn transformer (an instance with fit, transform and "
            f"get_params), or a pipeline of such; got {transformer!r}."
        )


def _who(weights: FloatArray, most: int) -> tuple[NDArray[np.intp], FloatArray | None]:
    """Return how often each person is fitted on, and the weights of those, where it takes any.

    Examples
    --------
    >>> _who(np.array([1.0, 0.0, 2.0]), 10)
    (array([1, 0, 2]), None)
    >>> _who(np.array([0.5, 0.0, 2.0]), 10)
    (array([1, 0, 1]), array([0.5, 2. ]))
    """
    whole = bool((weights == np.floor(weights)).all())
    counts = weights if whole else (weights > 0).astype(np.float64)
    ends = np.cumsum(counts)
    taken = np.arange(min(float(most), ends[-1])) + 0.5
    rows = np.searchsorted(ends, taken * (ends[-1] / len(taken)), side="right")
    times = np.bincount(rows, minlength=len(weights))
    return times, None if whole else weights[times > 0]


def _fetch(part: Part, times: NDArray[np.intp]) -> FloatArray:
    return np.repeat(part.features, times, axis=0).astype(np.float64)


def _weights_for(transformer: Any, weights: FloatArray | None) -> dict[str, FloatArray]:
    """Return the arguments by which ``fit`` of a transformer, or of a pipeline, gets weights."""
    if weights is None:
        return {}
    if not isinstance(transformer, Pipeline):
        return {"sample_weight": weights} if _takes_weights(transformer) else {}
    return {
        f"{name}__{argument}": weights
        for name, step in transformer.steps
        for argument in _weights_for(step, weights)
    }


def _takes_weights(step: Any) -> bool:
    return hasattr(step, "fit") and bool(has_fit_parameter(step, "sample_weight"))


def _numbers(
    made: Any, shape: tuple[int, int], name: str, first_row: int, dtype: str
) -> NDArray[Any]:
    """Return what a transformer made as a dense array of finite numbers of this shape."""
    made = made.toarray() if hasattr(made, "toarray") else made
    try:
        with np.errstate(over="ignore"):
            out = np.ascontiguousarray(made, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the feature map, {name}, must make numbers of people's features; {said(error)}."
        ) from error
    if out.shape != shape:
        raise InputError(
            f"the feature map, {name}, must make {shape[1]} numbers of each person's features; of "
            f"{shape[0]} people it made an array of shape {out.shape}."
        )
    if not np.isfinite(out).all():
        row, column = map(int, np.argwhere(~np.isfinite(out))[0])
        raise InputError(
            f"the feature map, {name}, must make finite numbers; of row {first_row + row} of X it "
            f"made {out[row, column]} (its column {column}, {dtype}). Choose a transformer that "
            "is defined there, or put one before it that keeps features in bounds."
        )
    return out


def _check_one_by_one(found: FittedMap, people: FloatArray, rows: list[int]) -> None:
    """Refuse a map that makes something else of a person where others stand beside."""
    alone = np.concatenate([found(one[None], row) for one, row in zip(people, rows, strict=True)])
    together = found(people)
    if not np.allclose(alone, together, rtol=1e-6, atol=1e-9 + 1e-9 * np.abs(together).max()):
        raise InputError(
            f"the feature map, {type(found.transformer).__name__}, must map each person by their "
            "own features; mapped one by one, people get other numbers than together. Use a "
            "transformer that learns in fit and only applies it in transform."
        )
