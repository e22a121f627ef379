"""A fitted feature map: a scikit-learn transformer, fitted on everybody and applied to each person.

The map does not depend on costs. So it is fitted and applied once, before the game begins, and
every round costs the same matrix products as without a map.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from averagefair._util.arrays import FloatArray
from averagefair._util.seeding import seeded
from averagefair.errors import InputError, blaming, said
from averagefair.people.backends import Space, is_mapped
from averagefair.people.parts import Part
from averagefair.people.sample import Sample

MOST_FITTED = 100_000
"""Fit a map on at most this many people when people are in a file or on a cluster."""
# Map this many people a second time, one by one, to check that each row is mapped independently.
_MAPPED_TWICE = 20


@dataclass(frozen=True, eq=False)
class FittedMap:
    """A fitted transformer whose output is checked: finite numbers, one row for each person.

    Attributes
    ----------
    transformer : scikit-learn transformer
        Fitted.
    feature_count : int
        Number of features that the transformer takes.
    width : int
        Number of features that the transformer makes.
    source : str, optional
        The file that the transformer was loaded from, for messages.
    """

    transformer: Any
    feature_count: int
    width: int
    source: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.transformer, self.feature_count, self.width, self.source)

    def __call__(self, features: Any, first_row: int = 0, dtype: str = "float64") -> NDArray[Any]:
        """Map people's features, shape (n, feature_count), to shape (n, width).

        Parameters
        ----------
        features : array
        first_row : int, default 0
            The row number of the first person, for messages.
        dtype : {"float64", "float32"}
            Type of the result; the transformer always gets float64.
        """
        check_host(Space.of(features))
        given = np.array(features, dtype=np.float64)  # copied: some transformers write to it
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
            return _checked_output(made, (len(given), self.width), name, first_row, dtype)


def _unpickle(
    transformer: Any, feature_count: int, width: int, source: str | None = None
) -> FittedMap:
    """Return an unpickled map with arrays of its own.

    Dask passes read-only, unaligned arrays. Compiled code, such as that of splines, refuses them.
    """
    return FittedMap(deepcopy(transformer), feature_count, width, source)


def fit_map(transformer: Any, sample: Sample) -> FittedMap:
    """Fit a transformer on the features of a sample's people; see :class:`FeatureMap`."""
    check_host(sample.space)
    in_memory = sample.rows.local and not is_mapped(sample.features)
    most = max(MOST_FITTED, sample.n) if in_memory else MOST_FITTED
    times, weights = _choose_people(sample.individual_weights, most)
    people = np.concatenate(sample.collect(_repeat_people, times))
    name = type(transformer).__name__
    try:
        fitted = seeded(transformer)
        fitted = fitted.fit(people.copy(), **_weights_for(fitted, weights))
        width = np.shape(fitted.transform(people[:1].copy()))[-1]
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise InputError(
            f"the feature map, {name}, could not be fitted: {said(error)}. A map is fitted once "
            "for all tasks, on a NumPy array of people's features. Use transformers that need no "
            "labels (y) and that select columns by position, not by name."
        ) from error
    if not width:
        raise InputError(f"the feature map, {name}, left no features; keep at least one.")
    feature_map = FittedMap(fitted, sample.d, int(width))
    rows = np.repeat(np.flatnonzero(times), times[times > 0])[:_MAPPED_TWICE]
    _check_one_by_one(feature_map, people[:_MAPPED_TWICE], rows.tolist())
    return feature_map


def check_host(space: Space) -> None:
    """Refuse arrays of other libraries, which scikit-learn's transformers do not take."""
    if not space.is_numpy:
        raise InputError(
            f"a feature map needs NumPy arrays, as scikit-learn does; X is {space}. Pass NumPy "
            "arrays, or transform X yourself and fit without a map."
        )


def _choose_people(weights: FloatArray, most: int) -> tuple[NDArray[np.intp], FloatArray | None]:
    """Return how often to repeat each person, and the weights of people who are used.

    The weights are None if they are whole numbers, since the repetitions then stand for them.

    Examples
    --------
    >>> _choose_people(np.array([1.0, 0.0, 2.0]), 10)
    (array([1, 0, 2]), None)
    >>> _choose_people(np.array([0.5, 0.0, 2.0]), 10)
    (array([1, 0, 1]), array([0.5, 2. ]))
    """
    whole = bool((weights == np.floor(weights)).all())
    counts = weights if whole else (weights > 0).astype(np.float64)
    ends = np.cumsum(counts)
    taken = np.arange(min(float(most), ends[-1])) + 0.5
    rows = np.searchsorted(ends, taken * (ends[-1] / len(taken)), side="right")
    times = np.bincount(rows, minlength=len(weights))
    return times, None if whole else weights[times > 0]


def _repeat_people(part: Part, times: NDArray[np.intp]) -> FloatArray:
    return np.repeat(part.features, times, axis=0).astype(np.float64)


def _weights_for(transformer: Any, weights: FloatArray | None) -> dict[str, FloatArray]:
    """Return the keyword arguments that pass weights to ``fit`` of a transformer or pipeline."""
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


def _checked_output(
    made: Any, shape: tuple[int, int], name: str, first_row: int, dtype: str
) -> NDArray[Any]:
    """Return a transformer's output as a dense array of finite numbers of this shape."""
    made = made.toarray() if hasattr(made, "toarray") else made
    try:
        with np.errstate(over="ignore"):
            out = np.ascontiguousarray(made, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the feature map, {name}, must make numbers of people's features; {said(error)}. "
            "Use a transformer whose output is numeric."
        ) from error
    if out.shape != shape:
        raise InputError(
            f"the feature map, {name}, must make {shape[1]} numbers for each of {shape[0]} people; "
            f"it made an array of shape {out.shape}. Use a transformer that keeps every row and "
            "always makes the same columns."
        )
    if not np.isfinite(out).all():
        row, column = map(int, np.argwhere(~np.isfinite(out))[0])
        raise InputError(
            f"the feature map, {name}, must make finite numbers; for row {first_row + row} of X "
            f"it made {out[row, column]} (its column {column}, {dtype}). Use a transformer that "
            "is defined there, or clip the features before it."
        )
    return out


def _check_one_by_one(feature_map: FittedMap, people: FloatArray, rows: list[int]) -> None:
    """Refuse a map whose output for a person depends on the other rows."""
    alone = np.concatenate(
        [feature_map(person[None], row) for person, row in zip(people, rows, strict=True)]
    )
    together = feature_map(people)
    if not np.allclose(alone, together, rtol=1e-6, atol=1e-9 + 1e-9 * np.abs(together).max()):
        raise InputError(
            f"the feature map, {type(feature_map.transformer).__name__}, must map each person by "
            "their own features; people mapped one by one get other numbers than people mapped "
            "together. Use a transformer that learns in fit, not in transform."
        )
