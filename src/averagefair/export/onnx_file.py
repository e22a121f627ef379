"""Classifiers as an ONNX file: the same decisions in any program that runs ONNX."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from averagefair import __version__
from averagefair.errors import InputError
from averagefair.export.converted import convert_transformer
from averagefair.export.fitted import decide_by_fitted
from averagefair.export.fixed import fixed_hypothesis
from averagefair.export.graph import Graph, doubles
from averagefair.export.linear_nodes import decide_by_lines
from averagefair.files.reading import STREAM
from averagefair.files.writing import write_whole
from averagefair.game.constant_classifiers import Constant
from averagefair.game.mixture import Mixture
from averagefair.game.per_task_choice import PerTaskChoice, positions
from averagefair.game.protocols import Hypothesis
from averagefair.oracles.linear import LinearThresholds
from averagefair.oracles.stump import Stumps
from averagefair.oracles.weighted import FittedClassifiers

FEATURES, DECISIONS, CHANCES = "features", "decisions", "chances"


def to_onnx(mixture: Mixture, path: str | Path, *, fingerprint: str | None = None) -> None:
    """Write classifiers to an ONNX file; see :meth:`averagefair.Mixture.to_onnx`.

    Parameters
    ----------
    mixture : Mixture
    path : str or Path
    fingerprint : str, optional
        Identifies the training data, for the file's metadata.
    """
    if str(path) == STREAM:
        raise InputError("an ONNX file is not text: give the name of a file; got '-'.")
    model = onnx_model(mixture, fingerprint)
    # scikit-learn's classifiers and maps may keep people's features; an encoder keeps words.
    kept = mixture.feature_map is not None or mixture.encoder is not None
    fitted = any(map(_keeps_people, mixture.hypotheses)) or kept
    write_whole(str(path), model.SerializeToString(deterministic=True), private=fitted)


def onnx_model(mixture: Mixture, fingerprint: str | None = None) -> Any:
    """Return classifiers as an ``onnx.ModelProto``.

    Parameters
    ----------
    mixture : Mixture
    fingerprint : str, optional

    Examples
    --------
    >>> from averagefair import Sample
    >>> sample = Sample([[0.0], [1.0]], [[0, 1], [1, 0]])
    >>> model = onnx_model(Mixture.fixed(Constant(True, 2), sample))
    >>> [part.name for part in (*model.graph.input, *model.graph.output)]
    ['features', 'decisions']
    """
    graph = Graph(FEATURES, mixture.feature_count)
    features, width = FEATURES, mixture.feature_count
    if mixture.feature_map is not None:
        transformer = mixture.feature_map.transformer
        what = f"the feature map, {type(transformer).__name__},"
        features = convert_transformer(graph, transformer, FEATURES, width, what)
        width = mixture.feature_map.width
    nodes = _Nodes(graph, features, width)
    names, fixed = list(mixture.task_names), fixed_hypothesis(mixture)
    facts = {
        "task_names": json.dumps(names),
        "feature_names": json.dumps(mixture.feature_names),
        "averagefair_version": __version__,
        "decisions": "drawn" if fixed is None else "fixed",
        "seed": str(mixture.seed),
        **({} if fingerprint is None else {"fingerprint": fingerprint}),
    }
    if mixture.encoder is not None:
        how = [asdict(column) for column in mixture.encoder.encodings_]
        facts["encoder"] = json.dumps(how)
    if fixed is not None:
        made = graph.cast(nodes.decide(fixed, names), "INT64")
        return graph.model((made, "INT64", len(names), DECISIONS), facts)
    return graph.model((_chances(nodes, mixture, names), "DOUBLE", len(names), CHANCES), facts)


def _chances(nodes: _Nodes, mixture: Mixture, names: list[str]) -> str:
    """Add up the chances in the order of ``Mixture.chances``, so that the sums are the same."""
    graph, total = nodes.graph, ""
    for chance, hypothesis in mixture.parts():
        decided = graph.cast(nodes.decide(hypothesis, names), "DOUBLE")
        part = graph.node("Mul", graph.constant(doubles(chance)), decided)
        total = graph.node("Add", total, part) if total else part
    certain = graph.node("Greater", total, graph.constant(doubles(1.0 - 1e-12)))
    return graph.node("Where", certain, graph.constant(doubles(1.0)), total)


class _Nodes:
    """Adds the nodes of hypotheses to a graph.

    Parameters
    ----------
    graph : Graph
    features : str
        The features that the hypotheses use.
    width : int
        Their number.
    """

    def __init__(self, graph: Graph, features: str, width: int) -> None:
        self.graph, self.features, self.width = graph, features, width

    def decide(self, hypothesis: Hypothesis, names: list[str]) -> str:
        """Return bools of shape (n, k), a column for each of these tasks."""
        graph = self.graph
        if isinstance(hypothesis, LinearThresholds):
            return decide_by_lines(
                graph, hypothesis.coefficients, hypothesis.intercepts, self.features
            )
        if isinstance(hypothesis, Stumps):
            values = graph.columns(self.features, hypothesis.features)
            low = graph.constant(hypothesis.thresholds[None, :])
            below = graph.node("LessOrEqual", values, low)
            return graph.node("Xor", below, graph.constant(hypothesis.upward[None, :]))
        if isinstance(hypothesis, Constant):
            return graph.filled(np.full(len(names), hypothesis.decision))
        if isinstance(hypothesis, FittedClassifiers):
            return decide_by_fitted(graph, hypothesis, self.features, self.width, names)
        if isinstance(hypothesis, PerTaskChoice):
            return self._choose(hypothesis, names)
        raise InputError(
            f"classifiers of type {type(hypothesis).__name__} cannot be exported to ONNX (task "
            f"{names[0]!r}); only linear ones, stumps, constants, scikit-learn's own and choices "
            "among these can. Decide in Python with predict, or fit with one of these oracles."
        )

    def _choose(self, hypothesis: PerTaskChoice, names: list[str]) -> str:
        parts = []
        for position, tasks in positions(hypothesis.choice):
            columns = hypothesis.columns[tasks]
            # A member may decide more tasks than are chosen: name each by the task it is used for.
            own = [""] * (int(columns.max()) + 1)
            for task, column in zip(tasks.tolist(), columns.tolist(), strict=True):
                own[column] = names[task]
            member = hypothesis.hypotheses[position]
            parts.append((tasks, self.graph.columns(self.decide(member, own), columns)))
        return self.graph.side_by_side(parts)


def _keeps_people(hypothesis: Hypothesis) -> bool:
    """Return whether a hypothesis may keep people's features."""
    inside = hypothesis.hypotheses if isinstance(hypothesis, PerTaskChoice) else ()
    return isinstance(hypothesis, FittedClassifiers) or any(map(_keeps_people, inside))
