"""Check scikit-learn's trees from a file: compiled code follows their nodes without checks.

Each tree may lead only to its own nodes and ask only for existing features. It must answer with as
many numbers as its estimator has room for.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.persistence.fitted_contents import NotCoveredError, short_name, type_name, whole

_WORDS = 8
"""A split stores its categories as a set of 256 bits: eight words."""


def check_tree_sizes(schema: Any, data: bytes) -> None:
    """Refuse wrong sizes before any tree is made: its constructor would trust them.

    The constructor allocates memory for the claimed number of outputs, and reads that many sizes.

    Parameters
    ----------
    schema : dict or list
        The schema that skops wrote.
    data : bytes
        The archive with the arrays.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for arguments in _constructed(schema):
            _, classes, outputs = arguments["content"]
            sizes = np.load(io.BytesIO(archive.read(classes["file"])), allow_pickle=False)
            if sizes.shape != (1,) or json.loads(outputs["content"]) != 1:
                raise ValueError("a tree has several outputs")


def _constructed(part: Any) -> Iterator[Any]:
    """Yield the constructor arguments of trees."""
    left = [part]
    while left:
        part = left.pop()
        if isinstance(part, dict) and "__reduce__" in part and part.get("__loader__") != "LossNode":
            yield part["__reduce__"]["args"]
        if isinstance(part, dict | list):
            left += part if isinstance(part, list) else part.values()


def check_tree(tree: Any) -> None:
    """Refuse a tree whose nodes lead outside it."""
    # Check first that nodes fill the memory exactly: otherwise reading them goes beyond it.
    if not 0 < tree.node_count == tree.capacity or tree.n_outputs != 1 or tree.max_n_classes < 1:
        raise ValueError("its sizes do not match its nodes")
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    check_nodes(left, right, feature, inner=left != -1, features=tree.n_features)
    if (right[left == -1] != -1).any():
        raise ValueError("it has half a leaf")


def check_nodes(
    left: NDArray[Any], right: NDArray[Any], feature: NDArray[Any], *, inner: Any, features: int
) -> None:
    """Refuse nodes whose children do not come after them, or that ask for unknown features."""
    node = np.arange(len(left), dtype=np.int64)
    for child in (left, right):
        child = child[inner].astype(np.int64)
        if ((child <= node[inner]) | (child >= len(left))).any():
            raise ValueError("a tree leads to a missing node")
    asked = feature[inner].astype(np.int64)
    if ((asked < 0) | (asked >= features)).any():
        raise ValueError("a tree asks for a missing feature")


def check_tree_holder(holder: Any) -> None:
    """Refuse a decision tree whose nodes take other features, or answer with other classes."""
    tree, classes = holder.tree_, getattr(holder, "classes_", None)
    if not _is(tree, "tree.Tree") or tree.n_features != holder.n_features_in_:
        raise ValueError("a tree takes other features than its estimator")
    if tree.max_n_classes != (1 if classes is None else len(classes)):
        raise ValueError("a tree has other classes than its estimator")


def check_forest(holder: Any) -> None:
    """Refuse a forest whose trees take other features or have other classes."""
    trees, classes = holder.estimators_, getattr(holder, "classes_", None)
    kind = "Regressor" if classes is None else "Classifier"
    for tree in trees:
        _check_grown(tree, kind, holder.n_features_in_)
        if tree.tree_.max_n_classes != (1 if classes is None else len(classes)):
            raise ValueError("one of its trees has other classes")


def check_boosting(holder: Any) -> None:
    """Refuse boosting without two classes and one tree in a round; rebuild its loss."""
    from sklearn._loss.loss import ExponentialLoss, HalfBinomialLoss

    if holder.init_ != "zero" and not _is(holder.init_, "dummy.DummyClassifier"):
        raise NotCoveredError  # compiled code writes into its predictions
    if len(holder.classes_) != 2 or holder.n_trees_per_iteration_ != 1:
        raise ValueError("it is not of two classes")
    for tree in holder.estimators_.ravel():
        _check_grown(tree, "Regressor", holder.n_features_in_)
        if tree.tree_.max_n_classes != 1:
            raise ValueError("one of its trees has classes")
    losses = {"log_loss": HalfBinomialLoss, "exponential": ExponentialLoss}
    holder._loss = losses[holder.loss]()


def _check_grown(estimator: Any, kind: str, features: int) -> None:
    """Refuse anything but a fitted tree of this kind, with this many features."""
    name = short_name(type_name(type(estimator)))
    if name not in (f"tree.DecisionTree{kind}", f"tree.ExtraTree{kind}"):
        raise ValueError(f"one of its trees is a {type(estimator).__name__}")
    tree = estimator.tree_
    if not _is(tree, "tree.Tree") or {tree.n_features, estimator.n_features_in_} != {features}:
        raise ValueError("one of its trees takes other features")


def check_histograms(holder: Any) -> None:
    """Refuse histogram boosting whose nodes ask for missing features or categories."""
    from sklearn._loss.loss import HalfBinomialLoss

    features, mapper = holder.n_features_in_, holder._bin_mapper
    if len(holder.classes_) != 2 or holder.n_trees_per_iteration_ != 1:
        raise ValueError("it is not of two classes")
    if not _is(mapper, "ensemble._BinMapper"):
        raise ValueError("it has no bins")
    if mapper.is_categorical_.shape != (features,) or len(mapper.bin_thresholds_) != features:
        raise ValueError("its bins are of other features")
    for row in holder._predictors:
        if len(row) != 1:
            raise ValueError("it has several trees in a round")
        _check_predictor(row[0], mapper.is_categorical_ != 0)
    if holder._preprocessor is not None:
        _check_columns(holder._preprocessor, holder.is_categorical_, features)
        if not np.array_equal(holder._is_categorical_remapped, mapper.is_categorical_ != 0):
            raise ValueError("its categories are of other features")
    holder._loss = HalfBinomialLoss()


def _check_predictor(predictor: Any, categorical: NDArray[np.bool_]) -> None:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
    if type(nodes) is not np.ndarray or nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1:
        raise ValueError("a tree has other nodes")
    if not len(nodes):
        raise ValueError("a tree has no node")
    if sets.shape[1:] != (_WORDS,) or sets.dtype != np.uint32 or not sets.flags.c_contiguous:
        raise ValueError("a tree has other sets of categories")
    inner = nodes["is_leaf"] == 0
    feature = nodes["feature_idx"]
    check_nodes(nodes["left"], nodes["right"], feature, inner=inner, features=len(categorical))
    by_set = inner & (nodes["is_categorical"] != 0)
    if (nodes["bitset_idx"][by_set] >= len(sets)).any():
        raise ValueError("a tree asks for a missing set of categories")
    if not categorical[feature[by_set].astype(np.int64)].all():
        raise ValueError("a tree asks for the categories of a feature without any")


def _check_columns(before: Any, categorical: NDArray[Any], features: int) -> None:
    """Refuse a preprocessor that does not pass on each column once, categories before numbers.

    Compiled code does not check how many columns it gets.
    """
    if not _is(before, "compose.ColumnTransformer"):
        raise ValueError("it has something else before it")
    if categorical.shape != (features,) or categorical.dtype != bool:
        raise ValueError("its categories are of other features")
    (_, codes, first), (_, numbers, second), *rest = before.transformers_
    if any(what != "drop" for _, what, _ in rest):
        raise ValueError("it has more columns than features")
    if not _is(codes, "preprocessing.OrdinalEncoder"):
        raise ValueError("its categories are not encoded")
    plain = ("passthrough", "preprocessing.FunctionTransformer")
    if numbers != plain[0] and not _is(numbers, plain[1]):
        raise ValueError("its numbers are changed")
    if before.n_features_in_ != features or before.transformer_weights:
        raise ValueError("it takes other columns")
    if not (np.array_equal(first, categorical) and np.array_equal(second, ~categorical)):
        raise ValueError("it takes other columns")
    counts = whole(codes.n_features_in_), int(np.count_nonzero(categorical))
    if counts[0] != counts[1] or np.dtype(codes.dtype) != np.float64:
        raise ValueError("its categories are of other columns")


def _is(thing: Any, name: str) -> bool:
    return short_name(type_name(type(thing))) == name
