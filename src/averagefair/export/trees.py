"""scikit-learn's trees and forests as ONNX nodes that decide as scikit-learn does, bit by bit.

scikit-learn rounds features to single precision, then compares them with thresholds in double
precision. A general converter compares in one precision only, so it decides otherwise for people
close to a threshold. Here features are rounded to single precision and widened again before they
are compared. ONNX returns leaves in single precision, so each leaf returns a small whole number,
which is exact: the decision of a tree, or the position of the leaf's shares in a table in doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from averagefair.export.graph import Graph, doubles

TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
# Single precision holds all whole numbers up to this.
_MOST_LEAVES = 2**24


def is_tree(classifier: Any) -> bool:
    """Return whether this is a tree of scikit-learn's own, with two classes or one.

    Parameters
    ----------
    classifier : fitted classifier
    """
    return type(classifier) in TREES


def is_forest(classifier: Any) -> bool:
    """Return whether this is a forest of scikit-learn's own that an ONNX file can hold.

    Parameters
    ----------
    classifier : fitted classifier
    """
    return type(classifier) in FORESTS and all(
        tree.tree_.node_count < _MOST_LEAVES for tree in classifier.estimators_
    )


def decide_by_trees(graph: Graph, trees: Sequence[Any], one: Any, features: str) -> str:
    """Add one node that decides by a tree for each task; return bools of shape (n, trees).

    Parameters
    ----------
    graph : Graph
    trees : sequence of fitted trees
    one : label
        The label for deciding 1.
    features : str
    """
    leaves = [
        (tree.classes_[tree.tree_.value[:, 0, :].argmax(axis=1)] == one).astype(np.float64)
        for tree in trees
    ]
    votes = _leaves(graph, trees, leaves, features)
    return graph.node("Greater", votes, graph.constant(np.float32(0.5)))


def decide_by_forest(graph: Graph, forest: Any, one: Any, features: str) -> str:
    """Add nodes that decide by a forest's mean shares; return bools of shape (n, 1).

    Parameters
    ----------
    graph : Graph
    forest : fitted forest
    one : label
        The label for deciding 1.
    features : str
    """
    trees = forest.estimators_
    numbers = [np.arange(tree.tree_.node_count, dtype=np.float64) for tree in trees]
    first = np.cumsum([0, *map(len, numbers[:-1])]).astype(np.int64)
    shares = np.concatenate([doubles(tree.tree_.value[:, 0, :]) for tree in trees])
    leaf = graph.cast(_leaves(graph, trees, numbers, features), "INT64")
    place = graph.node("Add", leaf, graph.constant(first))
    votes = graph.node("Gather", graph.constant(shares), place, axis=0)  # (n, trees, classes)
    axis = graph.constant(np.array([1], dtype=np.int64))
    total = graph.node("ReduceSum", votes, axis, keepdims=0)
    mean = graph.node("Div", total, graph.constant(doubles(len(trees))))
    best = graph.node("ArgMax", mean, axis=1, keepdims=1)
    wanted = np.flatnonzero(forest.classes_ == one)
    position = int(wanted[0]) if len(wanted) else -1
    return graph.node("Equal", best, graph.constant(np.int64(position)))


def _leaves(
    graph: Graph, trees: Sequence[Any], leaves: Sequence[NDArray[np.float64]], features: str
) -> str:
    """Add one node that returns for each person the value of their leaf in each tree."""
    rounded = graph.cast(graph.cast(features, "FLOAT"), "DOUBLE")
    inside = [tree.tree_.children_left != -1 for tree in trees]
    # ONNX numbers the nodes of each tree; leaves have no children, and their thresholds are unused.
    nodes = [np.arange(len(split)) for split in inside]
    at_leaf = [number[~split] for number, split in zip(nodes, inside, strict=True)]

    def of_nodes(part: str, unused: float) -> NDArray[Any]:
        values = [getattr(tree.tree_, part) for tree in trees]
        pairs = zip(values, inside, strict=True)
        return np.concatenate([np.where(split, value, unused) for value, split in pairs])

    def of_trees(some: Sequence[NDArray[Any]]) -> list[int]:
        return np.repeat(np.arange(len(trees)), [*map(len, some)]).tolist()

    weights = [leaf[number] for leaf, number in zip(leaves, at_leaf, strict=True)]
    modes = np.where(np.concatenate(inside), "BRANCH_LEQ", "LEAF")
    return graph.node(
        "TreeEnsembleRegressor",
        rounded,
        domain="ai.onnx.ml",
        n_targets=len(trees),
        nodes_treeids=of_trees(nodes),
        nodes_nodeids=np.concatenate(nodes).tolist(),
        nodes_modes=modes.tolist(),
        nodes_featureids=of_nodes("feature", 0).tolist(),
        nodes_truenodeids=of_nodes("children_left", 0).tolist(),
        nodes_falsenodeids=of_nodes("children_right", 0).tolist(),
        nodes_values_as_tensor=graph.tensor(of_nodes("threshold", 0.0)),
        target_treeids=of_trees(at_leaf),
        target_nodeids=np.concatenate(at_leaf).tolist(),
        target_ids=of_trees(at_leaf),
        target_weights_as_tensor=graph.tensor(np.concatenate(weights)),
    )
