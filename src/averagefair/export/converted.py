"""scikit-learn's other classifiers and transformers, converted by skl2onnx.

skl2onnx computes some of them in single precision even if the features are doubles: decisions close
to a threshold then differ. Such a conversion is refused, so that a file never decides otherwise.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from averagefair.errors import InputError, extra
from averagefair.export.graph import OPSETS, Graph, finished

# These operators compute with stored numbers in single precision.
_SINGLE = (
    "LinearClassifier",
    "LinearRegressor",
    "Normalizer",
    "SVMClassifier",
    "SVMRegressor",
    "Scaler",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
)


def convert_classifier(
    graph: Graph, classifier: Any, classes: Sequence[Any], features: str, width: int, what: str
) -> str:
    """Add the nodes of a classifier's ``predict``; return bools of shape (n, 1).

    Parameters
    ----------
    graph : Graph
    classifier : fitted classifier
    classes : pair
        Its labels for deciding 0 and deciding 1.
    features : str
    width : int
        Number of features that it takes.
    what : str
        The classifier, for messages.
    """
    label, kind = _convert(graph, classifier, features, width, what, _OTHER_CLASSIFIER)
    types = extra("onnx", "onnx").TensorProto
    one = classes[1]
    if kind == types.INT64 and isinstance(one, bool | int | np.bool_ | np.integer):
        wanted = np.array(int(one), dtype=np.int64)
    elif kind == types.STRING and isinstance(one, str):
        wanted = np.array(str(one), dtype=object)
    else:
        raise InputError(
            f"{what} predicts labels such as {one!r}, which an ONNX file cannot compare. Use the "
            "labels 0 and 1, or words."
        )
    equal = graph.node("Equal", label, graph.constant(wanted))
    shape = graph.constant(np.array([-1, 1], dtype=np.int64))
    return graph.node("Reshape", equal, shape)


def convert_transformer(
    graph: Graph, transformer: Any, features: str, width: int, what: str
) -> str:
    """Add a transformer's nodes; return doubles.

    Parameters
    ----------
    graph : Graph
    transformer : fitted transformer
    features : str
    width : int
        Number of features that it takes.
    what : str
        The transformer, for messages.
    """
    name, kind = _convert(graph, transformer, features, width, what, _NO_MAP)
    if kind != extra("onnx", "onnx").TensorProto.DOUBLE:
        raise InputError(_unfaithful(what, _NO_MAP))
    return name


def _convert(
    graph: Graph, thing: Any, features: str, width: int, what: str, instead: str
) -> tuple[str, int]:
    """Add the nodes of the first output of a conversion; return its name and type."""
    skl2onnx = extra("skl2onnx", "onnx")
    types = extra("skl2onnx.common.data_types", "onnx")
    given = [("features", types.DoubleTensorType([None, width]))]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = skl2onnx.to_onnx(thing, initial_types=given, target_opset=OPSETS)
            _keep_first_output(model.graph)
            # Some conversions mix up single and double precision: this check fails then.
            finished(model.graph, {})
    except Exception as error:  # skl2onnx raises errors of many types
        raise InputError(
            f"{what} has no exact conversion to ONNX ({type(error).__name__} in skl2onnx). "
            f"{instead}"
        ) from error
    if any(_is_single(node) for node in _nodes(model.graph)):
        raise InputError(_unfaithful(what, instead))
    (output,) = graph.embed(model, features)
    return output


_NO_MAP = (
    "Decide in Python (averagefair predict), or fit without this transformer (--map): the default "
    "oracle, another linear one, StumpOracle, a tree or a forest can be exported by itself."
)
_OTHER_CLASSIFIER = (
    "Decide in Python (averagefair predict), or fit with an oracle that can be exported: the "
    "default, another linear one, StumpOracle, a tree or a forest."
)


def _unfaithful(what: str, instead: str) -> str:
    return (
        f"{what} would be computed in single precision in an ONNX file, and some decisions would "
        f"differ. {instead}"
    )


def _keep_first_output(graph: Any) -> None:
    """Remove all outputs but the first, a classifier's labels, and the nodes that serve them."""
    del graph.output[1:]
    wanted, kept = {graph.output[0].name}, []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= {name for inner in _with_inner(node) for name in inner.input}
    del graph.node[:]
    graph.node.extend(reversed(kept))


def _is_single(node: Any) -> bool:
    """Return whether a node computes in single precision."""
    types = extra("onnx", "onnx").TensorProto
    to_single = node.op_type == "Cast" and node.attribute[0].i in (types.FLOAT, types.FLOAT16)
    return node.op_type in _SINGLE or to_single


def _nodes(graph: Any) -> Iterator[Any]:
    """Yield all nodes of a graph, and of the graphs inside its nodes."""
    for node in graph.node:
        yield from _with_inner(node)


def _with_inner(node: Any) -> Iterator[Any]:
    """Yield a node, and the nodes of the graphs inside it."""
    yield node
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield from _nodes(attribute.g)
