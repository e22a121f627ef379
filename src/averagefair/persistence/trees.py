"""Trees of scikit-learn in a file: compiled code follows their nodes without looking.

Each tree must lead only to nodes that it has, ask only for features that there are, and answer with
as many numbers as its holder has room for.
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
"""The categories of a split are a set of 256 bits: eight words."""


def check_tree_sizes(schema: Any, data: bytes) -> None:
    """Refuse, before any tree is made, sizes that its constructor would believe.

    It takes memory for as many outputs as are claimed, and reads as many sizes.

    Parameters
    ----------
    schema : dict or list
        What skops wrote.
    data : bytes
        The archive that has its arrays.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for arguments in _constructed(schema):
            _, classes, outputs = arguments["content"]
            sizes = np.load(io.BytesIO(archive.read(classes["file"])), allow_pickle=False)
            if sizes.shape != (1,) or json.loads(outputs["content"]) != 1:
                raise ValueError("a tree has several outputs")


def _constructed(part: Any) -> Iterator[Any]:
    """Yield the arguments by which trees are to be made."""
    left = [part]
    while left:
        part = left.pop()
        if isinstance(part, dict) and "__reduce__" in part and part.get("__loader__") != "LossNode":
            yield part["__reduce__"]["args"]
        if isinstance(part, dict | list):
            left += part if isinstance(part, list) else part.values()


def check_tree(tree: Any) -> None:
    """Refuse a tree whose nodes lead elsewhere."""
    # First of all: as many nodes as it has memory for, or looking at them reads beyond it.
    if not 0 < tree.node_count == tree.capacity or tree.n_outputs != 1 or tree.max_n_classes < 1:
        raise ValueError("it has other sizes than its nodes")
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    check_nodes(left, right, feature, inner=left != -1, features=tree.n_features)
    if (right[left == -1] != -1).any():
        raise ValueError("it has half a leaf")


def check_nodes(
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
    for one in trees:
        _check_grown(one, kind, holder.n_features_in_)
        if one.tree_.max_n_classes != (1 if classes is None else len(classes)):
            raise ValueError("a tree of it has other classes")


def check_boosting(holder: Any) -> None:
    """Refuse boosting with more trees in a round than it has scores; make its loss again."""
    from sklearn._loss.loss import ExponentialLoss, HalfBinomialLoss

    if holder.init_ != "zero" and not _is(holder.init_, "dummy.DummyClassifier"):
        raise NotCoveredError  # what it predicts is written to by compiled code
    if len(holder.classes_) != 2 or holder.n_trees_per_iteration_ != 1:
        raise ValueError("it is not of two classes")
    for one in holder.estimators_.ravel():
        _check_grown(one, "Regressor", holder.n_features_in_)
        if one.tree_.max_n_classes != 1:
            raise ValueError("a tree of it has classes")
    losses = {"log_loss": HalfBinomialLoss, "exponential": ExponentialLoss}
    holder._loss = losses[holder.loss]()


def _check_grown(one: Any, kind: str, features: int) -> None:
    """Refuse what is no fitted tree of that kind and of that many features."""
    name = short_name(type_name(type(one)))
    if name not in (f"tree.DecisionTree{kind}", f"tree.ExtraTree{kind}"):
        raise ValueError(f"a tree of it is a {type(one).__name__}")
    tree = one.tree_
    if not _is(tree, "tree.Tree") or {tree.n_features, one.n_features_in_} != {features}:
        raise ValueError("a tree of it takes other features")


def check_histograms(holder: Any) -> None:
    """Refuse histogram boosting whose nodes ask for features or categories that are not known."""
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


def _check_predictor(one: Any, categorical: NDArray[np.bool_]) -> None:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    nodes, sets = one.nodes, one.raw_left_cat_bitsets
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
        raise ValueError("a tree asks for a set of categories that there is not")
    if not categorical[feature[by_set].astype(np.int64)].all():
        raise ValueError("a tree asks for categories of a feature that has none")


def _check_columns(before: Any, categorical: NDArray[Any], features: int) -> None:
    """Refuse what does not hand on each column once: categories first, then numbers.

    Compiled code does not ask how many columns it was handed.
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
