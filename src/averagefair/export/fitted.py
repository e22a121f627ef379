"""scikit-learn's fitted classifiers of many tasks as ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from averagefair._util.names import in_a_line
from averagefair.export.converted import convert_classifier, convert_transformer
from averagefair.export.graph import Graph, Indices
from averagefair.export.linear_form import chosen_by_search, is_linear, linear_form
from averagefair.export.linear_nodes import decide_by_lines
from averagefair.export.trees import decide_by_forest, decide_by_trees, is_forest, is_tree
from averagefair.oracles.weighted import FittedClassifiers


def decide_by_fitted(
    graph: Graph, hypothesis: FittedClassifiers, features: str, width: int, names: list[str]
) -> str:
    """Add the nodes of fitted classifiers and constants; return bools of shape (n, k).

    Linear classifiers and constants become one matrix product, trees become one node. The others
    are added one by one.

    Parameters
    ----------
    graph : Graph
    hypothesis : FittedClassifiers
    features : str
    width : int
        Number of features that the classifiers take.
    names : list of str
        The task of each classifier, for messages.
    """
    classifiers, classes = hypothesis.classifiers, hypothesis.classes
    linear, others = linear_form(hypothesis, width, len(classifiers))
    found = {task: chosen_by_search(classifiers[task]) for task in others}
    trees = [task for task, classifier in found.items() if is_tree(classifier)]
    parts: list[tuple[Indices, str]] = []
    lines = np.setdiff1d(np.arange(len(classifiers)), [*others])
    if lines.size:
        made = decide_by_lines(
            graph, linear.coefficients[:, lines], linear.intercepts[lines], features
        )
        parts.append((lines, made))
    if trees:
        some = [found[task] for task in trees]
        parts.append((np.array(trees), decide_by_trees(graph, some, classes[1], features)))
    for task in sorted(found.keys() - set(trees)):
        name = type(found[task]).__name__
        what = f"the classifier of task {in_a_line(names[task])!r}, {name},"
        made = _decide(graph, found[task], classes, features, width, what)
        parts.append((np.array([task]), made))
    return graph.side_by_side(parts)


def _decide(
    graph: Graph, classifier: Any, classes: Sequence[Any], features: str, width: int, what: str
) -> str:
    """Add one classifier; return bools of shape (n, 1)."""
    classifier = chosen_by_search(classifier)
    if isinstance(classifier, Pipeline):
        last = classifier.steps[-1][1]
        if len(classifier.steps) > 1:
            features = convert_transformer(graph, classifier[:-1], features, width, what)
            width = int(getattr(last, "n_features_in_", width))
        return _decide(graph, last, classes, features, width, what)
    if is_linear(classifier, classes):
        line, _ = linear_form(FittedClassifiers([classifier], classes), width, 1)
        return decide_by_lines(graph, line.coefficients, line.intercepts, features)
    if is_linear(classifier, classes[::-1]):
        return graph.node("Not", _decide(graph, classifier, classes[::-1], features, width, what))
    if is_tree(classifier):
        return decide_by_trees(graph, [classifier], classes[1], features)
    if is_forest(classifier):
        return decide_by_forest(graph, classifier, classes[1], features)
    return convert_classifier(graph, classifier, classes, features, width, what)
