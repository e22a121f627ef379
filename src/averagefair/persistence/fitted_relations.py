"""Checks that a fitted scikit-learn object's attributes fit each other, beyond their shapes.

Each function covers one or a few classes; the table in `known_classes` refers to the functions.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.interpolate import BSpline

from averagefair.persistence.fitted_contents import NotCoveredError, whole

MOST = 1_000_000
"""The most columns that a transformer may make without an array of that length in the file."""
MOST_DEGREE = 1_000
"""The highest degree of polynomials: work grows with it, for every person."""
_DEFINING = ("t", "c", "k", "extrapolate", "axis")


def spline_to_plain(spline: BSpline) -> None:
    """Reduce a spline to its definition: SciPy's own attributes differ between releases."""
    kept = {name: getattr(spline, name) for name in _DEFINING}
    vars(spline).clear()
    vars(spline).update(kept)


def spline_from_plain(spline: BSpline) -> None:
    """Rebuild a spline; SciPy refuses knots and coefficients that do not fit."""
    kept = dict(vars(spline))
    if kept.keys() != {*_DEFINING}:
        raise ValueError("a spline is not as it was written")
    vars(spline).clear()
    coefficients = np.moveaxis(kept["c"], 0, kept["axis"])
    spline.__init__(kept["t"], coefficients, kept["k"], kept["extrapolate"], kept["axis"])


def check_splines(holder: Any) -> None:
    """Refuse splines of different widths, and a number of outputs that does not fit them."""
    splines, features = holder.bsplines_, holder.n_features_in_
    if not splines or any(type(part) is not BSpline or part.c.ndim != 2 for part in splines):
        raise ValueError("bsplines_ are not splines")
    width = splines[0].c.shape[1]
    kept = width if holder.include_bias else width - 1
    uneven = any(spline.c.shape[1] != width for spline in splines)
    if uneven or holder.n_features_out_ != kept * features:
        raise ValueError("n_features_out_ is not what the splines make")


def check_polynomials(holder: Any) -> None:
    """Refuse a number of columns other than the degree makes of the features."""
    degree = holder.degree
    low, high = (0, degree) if isinstance(degree, int | np.integer) else degree
    if (holder._min_degree, holder._max_degree) != (low, high) or whole(high) > MOST_DEGREE:
        raise ValueError("it was fitted with another degree")
    counts = _monomials(holder.n_features_in_, int(high), holder.interaction_only)
    bias = int(holder.include_bias)
    full, kept = bias + sum(counts[1:]), bias + sum(counts[max(1, whole(low)) :])
    if (holder._n_out_full, holder.n_output_features_) != (full, kept):
        raise ValueError("n_output_features_ is not what the degree makes")


def _monomials(features: int, degree: int, distinct: bool) -> list[int]:
    """Return the numbers of products of 0, 1, ... features; raise if they are too many."""
    counts, total = [1], 1
    for order in range(1, min(degree, features) + 1 if distinct else degree + 1):
        more = features - order + 1 if distinct else features + order - 1
        counts.append(counts[-1] * more // order)
        total += counts[-1]
        if total > MOST:
            raise ValueError(f"it makes more than {MOST:,} columns")
    return counts


def check_sketch(holder: Any) -> None:
    """Refuse hashes that point to missing columns, and too many columns."""
    places, degree = holder.indexHash_, holder.degree
    width = holder.n_features_in_ + (holder.coef0 != 0)
    if places.shape != (degree, width) or holder._n_features_out != holder.n_components:
        raise ValueError("indexHash_ is of another degree or other features")
    if holder.n_components * degree > MOST:
        raise ValueError(f"it makes more than {MOST:,} columns")
    if ((places < 0) | (places >= holder.n_components)).any():
        raise ValueError("indexHash_ points to a missing column")


def check_votes(holder: Any) -> None:
    """Refuse votes for other classes than 0, 1, ...: counting takes memory for the largest."""
    for part in holder.estimators_:
        own = np.asarray(part.classes_)
        if own.dtype.kind not in "iu" or not np.array_equal(own, np.arange(len(holder.classes_))):
            raise ValueError("a voter knows other classes")


def check_function(holder: Any) -> None:
    """Refuse extra arguments: with some of them, a ufunc returns uninitialised memory."""
    if holder.kw_args or holder.inv_kw_args:
        raise NotCoveredError
    if isinstance(holder.func, np.ufunc) and holder.func.nin != 1:
        raise ValueError("func takes more than the features")


def check_one_hot(holder: Any) -> None:
    """Refuse unsorted categories, and codes of missing columns: compiled code writes there."""
    dropped, outs = holder._drop_idx_after_grouping, holder._n_features_outs
    infrequent = _grouped(holder, "_infrequent_indices")
    mappings = _grouped(holder, "_default_to_infrequent_mappings")
    dropped = [None] * holder.n_features_in_ if dropped is None else dropped.tolist()
    lists = zip(holder.categories_, infrequent, mappings, dropped, outs, strict=True)
    for categories, rare, codes, without, out in lists:
        _check_categories(categories)
        count = len(categories)
        if (rare is None) != (codes is None):
            raise ValueError("its infrequent categories do not fit")
        if rare is not None:
            _check_codes(rare, count)
            if codes.shape != (count,):
                raise ValueError("its infrequent categories do not fit")
            count += 1 - len(rare)
            _check_codes(codes, count)
        if without is not None:
            if whole(without) >= count:
                raise ValueError("it drops a missing category")
            count -= 1
        if whole(out) != count:
            raise ValueError("_n_features_outs is not what the categories make")


def _grouped(holder: Any, name: str) -> list[Any]:
    if not holder._infrequent_enabled:
        return [None] * holder.n_features_in_
    return list(getattr(holder, name))


def _check_codes(codes: Any, count: int) -> None:
    if codes.ndim != 1 or codes.dtype.kind not in "iu" or not len(codes):
        raise ValueError("its infrequent categories are not numbers")
    if codes.min() < 0 or codes.max() >= count:
        raise ValueError("its infrequent categories are not among the categories")


def check_ordinal(holder: Any) -> None:
    """Refuse unsorted categories."""
    for categories in holder.categories_:
        _check_categories(categories)


def _check_categories(categories: Any) -> None:
    """Refuse categories that do not increase; the last may be NaN."""
    if type(categories) is not np.ndarray or categories.ndim != 1 or not len(categories):
        raise ValueError("categories_ are not arrays")
    if categories.dtype.kind in "fiub":
        numbers = categories[:-1] if np.isnan(categories[-1]) else categories
        if not (numbers[1:] > numbers[:-1]).all() or np.isnan(numbers).any():
            raise ValueError("categories_ are not in order")
    elif categories.dtype.kind not in "UO":
        raise ValueError(f"categories_ are {categories.dtype}")


def check_bins(holder: Any) -> None:
    """Refuse edges that are not numbers."""
    for edges in holder.bin_edges_:
        if type(edges) is not np.ndarray or edges.ndim != 1 or edges.dtype.kind != "f":
            raise ValueError("bin_edges_ are not arrays")


def check_network(holder: Any) -> None:
    """Refuse layers whose sizes do not match."""
    widths = [holder.n_features_in_]
    for weights, biases in zip(holder.coefs_, holder.intercepts_, strict=True):
        arrays = type(weights) is type(biases) is np.ndarray
        if not arrays or {weights.dtype.kind, biases.dtype.kind} != {"f"}:
            raise ValueError("its layers are not numbers")
        if weights.shape != (widths[-1], len(biases)) or biases.ndim != 1:
            raise ValueError("the sizes of its layers do not match")
        widths.append(len(biases))
    if holder.n_layers_ != len(widths) or widths[-1] != holder.n_outputs_:
        raise ValueError("it has another number of layers")
    if holder.out_activation_ not in ("logistic", "softmax", "identity"):
        raise ValueError("it has another kind of output")


def check_bags(holder: Any) -> None:
    """Refuse classifiers that do not fit the columns picked for them."""
    lists = zip(holder.estimators_, holder.estimators_features_, strict=True)
    for classifier, columns in lists:
        if type(columns) is not np.ndarray or columns.ndim != 1 or columns.dtype.kind not in "iu":
            raise ValueError("estimators_features_ are not columns")
        if ((columns < 0) | (columns >= holder.n_features_in_)).any():
            raise ValueError("estimators_features_ are not among the features")
        if getattr(classifier, "n_features_in_", len(columns)) != len(columns):
            raise ValueError("one of its classifiers takes other features")


def check_stack(holder: Any) -> None:
    """Refuse a method that is not a prediction method of classifiers."""
    if not {*holder.stack_method_} <= {"predict_proba", "decision_function", "predict"}:
        raise ValueError("it asks its classifiers in another way")


def check_steps(holder: Any) -> None:
    """Refuse steps that are not pairs of a name and a transformer."""
    steps = holder.steps if hasattr(holder, "steps") else holder.transformer_list
    if any(len(step) != 2 or not isinstance(step[0], str) for step in steps):
        raise ValueError("its steps are not pairs")


def check_per_feature(*names: str) -> Any:
    """Return a check that lists hold an array of numbers for each feature or class."""
    return partial(_check_lists, names=names)


def _check_lists(holder: Any, *, names: tuple[str, ...]) -> None:
    for name in names:
        for part in getattr(holder, name):
            if type(part) is not np.ndarray or part.dtype.kind not in "fiu":
                raise ValueError(f"{name} holds an array that is not numbers")


def check_isotonic(holder: Any) -> None:
    """Rebuild the curve from its thresholds; refuse thresholds out of order."""
    corners = holder.X_thresholds_
    if not len(corners) or (corners[1:] < corners[:-1]).any():
        raise ValueError("X_thresholds_ are not in order")
    holder._build_f(corners, holder.y_thresholds_)


def check_ridge(holder: Any) -> None:
    """Refuse coefficients that do not fit the features."""
    weights = holder.coef_
    if type(weights) is not np.ndarray or weights.dtype.kind != "f" or weights.ndim not in (1, 2):
        raise ValueError("coef_ are not numbers")
    if weights.shape[-1] != holder.n_features_in_:
        raise ValueError("coef_ are of other features")


def check_imputer(holder: Any) -> None:
    """Refuse a number of fill values that differs from the number of features."""
    values = holder.statistics_
    if type(values) is not np.ndarray or values.shape != (holder.n_features_in_,):
        raise ValueError("statistics_ are of other features")


def check_projection(holder: Any) -> None:
    """Refuse a projection of other features; indices are checked for every sparse matrix."""
    if holder.components_.shape != (holder.n_components_, holder.n_features_in_):
        raise ValueError("components_ are of other features")
