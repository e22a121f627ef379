"""An ONNX graph under construction: constants, nodes, and other models put inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair.errors import extra

# Understood since 2023: ONNX 1.14, ONNX Runtime 1.15.
OPSETS = {"": 19, "ai.onnx.ml": 3}
Indices = NDArray[np.intp]


class Graph:
    """Nodes and constants of a graph whose input is ``features``, doubles of shape (n, d).

    Every result is referred to by its name, a str.

    Parameters
    ----------
    input : str
        The graph's input.
    width : int
        Number of features.
    """

    def __init__(self, input: str, width: int) -> None:
        self.input, self.width = input, width
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._onnx = extra("onnx", "onnx")

    def constant(self, values: Any) -> str:
        """Add an array; return its name.

        Parameters
        ----------
        values : array
        """
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.tensor(values, name))
        return name

    def tensor(self, values: Any, name: str | None = None) -> Any:
        """Return an array as ONNX stores it.

        Parameters
        ----------
        values : array
        name : str, optional
        """
        array = np.ascontiguousarray(values) if np.ndim(values) else np.asarray(values)
        return self._onnx.numpy_helper.from_array(array, name)

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output; return the output's name.

        Parameters
        ----------
        operator : str
        *inputs : str
        domain : str, default ""
        **attributes
        """
        name = f"{operator.lower()}_{len(self.nodes)}"
        make = self._onnx.helper.make_node
        self.nodes.append(
            make(operator, list(inputs), [name], name=name, domain=domain, **attributes)
        )
        return name

    def cast(self, name: str, dtype: str) -> str:
        """Return a result in another type, such as "DOUBLE".

        Parameters
        ----------
        name, dtype : str
        """
        return self.node("Cast", name, to=getattr(self._onnx.TensorProto, dtype))

    def columns(self, name: str, columns: Indices) -> str:
        """Return some columns of a table, in this order.

        Parameters
        ----------
        name : str
        columns : integer array
        """
        return self.node("Gather", name, self.constant(columns.astype(np.int64)), axis=1)

    def filled(self, values: NDArray[Any]) -> str:
        """Return a table in which every person has the same row.

        Parameters
        ----------
        values : array, shape (k,)
        """
        people = self.node("Shape", self.input, start=0, end=1)
        width = self.constant(np.array([len(values)], dtype=np.int64))
        shape = self.node("Concat", people, width, axis=0)
        return self.node("Expand", self.constant(values[None, :]), shape)

    def side_by_side(self, parts: Sequence[tuple[Indices, str]]) -> str:
        """Return one table made of several, each with the columns that it fills.

        Parameters
        ----------
        parts : sequence of (integer array, str)
            Together they fill every column once.
        """
        order = np.concatenate([columns for columns, _ in parts])
        names = [name for _, name in parts]
        joined = self.node("Concat", *names, axis=1) if len(names) > 1 else names[0]
        if (order == np.arange(len(order))).all():
            return joined
        return self.columns(joined, np.argsort(order))

    def embed(self, model: Any, input: str) -> list[tuple[str, int]]:
        """Put another model with one input inside; return the names and types of its outputs.

        Parameters
        ----------
        model : onnx.ModelProto
        input : str
            The result that becomes its input.
        """
        inner, names = model.graph, _NewNames(f"model_{len(self.nodes)}_")
        names.rename(inner)
        make = self._onnx.helper.make_node
        self.nodes.append(make("Identity", [input], [inner.input[0].name], name=names.prefix))
        self.nodes.extend(inner.node)
        self.constants.extend(inner.initializer)
        return [(out.name, out.type.tensor_type.elem_type) for out in inner.output]

    def model(self, output: tuple[str, str, int, str], facts: dict[str, str]) -> Any:
        """Return the finished model, checked.

        Parameters
        ----------
        output : tuple of str, str, int, str
            The result to return, its type ("DOUBLE"), its number of columns, and the output's name.
        facts : dict of str to str
            What the file says about itself.
        """
        helper, types = self._onnx.helper, self._onnx.TensorProto
        result, dtype, k, name = output
        self.nodes.append(helper.make_node("Identity", [result], [name], name=name))
        graph = helper.make_graph(
            self.nodes,
            "averagefair",
            [helper.make_tensor_value_info(self.input, types.DOUBLE, ["people", self.width])],
            [helper.make_tensor_value_info(name, getattr(types, dtype), ["people", k])],
            self.constants,
        )
        return finished(graph, facts)


class _NewNames:
    """Names the parts of a graph by their order, so that they are distinct and always the same."""

    def __init__(self, prefix: str) -> None:
        self.prefix, self._known = prefix, {"": ""}

    def rename(self, graph: Any) -> None:
        """Rename everything in a graph, and in the graphs inside its nodes."""
        graph.name = self.prefix
        del graph.value_info[:]
        for part in (*graph.input, *graph.initializer, *graph.output):
            part.name = self._of(part.name)
        for number, node in enumerate(graph.node):
            node.name = self._of(f"node {number} {node.name}")
            for names in (node.input, node.output):
                names[:] = [self._of(name) for name in names]
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    self.rename(attribute.g)

    def _of(self, name: str) -> str:
        return self._known.setdefault(name, f"{self.prefix}{len(self._known)}")


def finished(graph: Any, facts: dict[str, str]) -> Any:
    """Return a checked model of a graph, in versions that programs since 2023 understand.

    Parameters
    ----------
    graph : onnx.GraphProto
    facts : dict of str to str
        Stored as the model's metadata.
    """
    onnx = extra("onnx", "onnx")
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    version = onnx.helper.find_min_ir_version_for(opsets)
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=version)
    onnx.helper.set_model_props(model, facts)
    onnx.checker.check_model(model, full_check=True)
    return model


def doubles(values: Any) -> FloatArray:
    """Return an array of doubles.

    Parameters
    ----------
    values : array-like
    """
    return np.asarray(values, dtype=np.float64)
