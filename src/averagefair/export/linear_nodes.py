"""Linear classifiers as ONNX nodes."""

from __future__ import annotations

from averagefair._util.arrays import FloatArray
from averagefair.export.graph import Graph


def decide_by_lines(
    graph: Graph, coefficients: FloatArray, intercepts: FloatArray, features: str
) -> str:
    """Add a matrix product and a comparison, as in ``LinearThresholds``; return bools (n, k).

    Parameters
    ----------
    graph : Graph
    coefficients : array, shape (d, k)
    intercepts : array, shape (k,)
        Decide 1 where ``features @ coefficients < -intercepts``.
    features : str
    """
    scores = graph.node("MatMul", features, graph.constant(coefficients))
    return graph.node("Less", scores, graph.constant(-intercepts[None, :]))
