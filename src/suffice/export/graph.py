"""Graphs of ONNX as arithmetic: values that are added, multiplied and compared, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]

ML = "ai.onnx.ml"
KINDS = {"number": TensorProto.DOUBLE, "text": TensorProto.STRING}
_VERSIONS = {"": 17, ML: 3}
_IR_VERSION = 8


class Graph:
    """Nodes in the order in which they are worked out."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._known: dict[Any, Value] = {}

    def input(self, name: str, kind: str, width: int) -> Value:
        """An input (n, width) of a kind of `KINDS`."""
        self._inputs.append(helper.make_tensor_value_info(name, KINDS[kind], ["rows", width]))
        return Value(self, name)

    def constant(self, array: Any) -> Value:
        """An array, or a number."""
        own = np.ascontiguousarray(array).reshape(np.shape(array))  # which makes a vector of a number
        own = own.astype(np.float64) if own.dtype.kind == "f" else own
        key = own.dtype.str, own.shape, own.tobytes() if own.dtype != object else tuple(own.reshape(-1).tolist())
        if key not in self._known:
            name = f"constant_{len(self._constants)}"
            self._constants.append(numpy_helper.from_array(own, name))
            self._known[key] = Value(self, name)
        return self._known[key]

    def node(self, kind: str, *inputs: Any, domain: str = "", **attributes: Any) -> Value:
        """The output of a new node."""
        names = [each.name if isinstance(each, Value) else self.constant(each).name for each in inputs]
        name = f"value_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, names, [name], domain=domain, **attributes))
        return Value(self, name)

    def model(self, outputs: dict[str, tuple[Value, int, list[Any]]], notes: dict[str, str]) -> Any:
        """The graph as a model, checked by ONNX.

        Parameters
        ----------
        outputs : dict
            For each name a value, its type and its shape.
        notes : dict
            Text about the model.
        """
        nodes = [*self._nodes]
        for name, (value, _, _) in outputs.items():
            nodes.append(helper.make_node("Identity", [value.name], [name]))
        told = [helper.make_tensor_value_info(name, kind, shape) for name, (_, kind, shape) in outputs.items()]
        graph = helper.make_graph(nodes, "suffice", self._inputs, told, self._constants)
        versions = [helper.make_opsetid(domain, version) for domain, version in _VERSIONS.items()]
        model = helper.make_model(graph, opset_imports=versions, ir_version=_IR_VERSION, producer_name="suffice")
        helper.set_model_props(model, notes)
        onnx.checker.check_model(model)
        return model


class Value:
    """A tensor of a graph."""

    __array_ufunc__ = None  # an array leaves the operation to the value

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: Any) -> Value:
        return self.graph.node("Add", self, other)

    def __sub__(self, other: Any) -> Value:
        return self.graph.node("Sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.node("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.graph.node("Mul", self, other)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.node("Div", self, other)

    def __matmul__(self, other: Any) -> Value:
        return self.graph.node("MatMul", self, other)

    def __gt__(self, other: Any) -> Value:
        return self.graph.node("Greater", self, other)

    def __lt__(self, other: Any) -> Value:
        return self.graph.node("Less", self, other)

    def equals(self, other: Any) -> Value:
        return self.graph.node("Equal", self, other)

    def log(self) -> Value:
        return self.graph.node("Log", self)

    def exp(self) -> Value:
        return self.graph.node("Exp", self)

    def where(self, other: Any, otherwise: Any) -> Value:
        """`other` where this is true."""
        return self.graph.node("Where", self, other, otherwise)

    def either(self, other: Value) -> Value:
        return self.graph.node("Or", self, other)

    def both(self, other: Value) -> Value:
        return self.graph.node("And", self, other)

    def is_nan(self) -> Value:
        return self.graph.node("IsNaN", self)

    def is_infinite(self) -> Value:
        return self.graph.node("IsInf", self)

    def numbers(self) -> Value:
        """Booleans as ones and zeros."""
        return self.graph.node("Cast", self, to=TensorProto.DOUBLE)

    def indices(self) -> Value:
        return self.graph.node("Cast", self, to=TensorProto.INT64)

    def zeros(self) -> Value:
        """Zeros of the same shape, whatever is here."""
        zero = numpy_helper.from_array(np.zeros(1))
        return self.graph.node("ConstantOfShape", self.graph.node("Shape", self), value=zero)

    def sum(self, axis: int = 1, keepdims: int = 1) -> Value:
        """(n, 1) the sums of the rows, or those along another axis."""
        return self.graph.node("ReduceSum", self, np.array([axis], np.int64), keepdims=keepdims)

    def max(self, axis: int = 1) -> Value:
        """(n, 1) the greatest of each row, or those along another axis."""
        return self.graph.node("ReduceMax", self, axes=[axis], keepdims=1)

    def best(self, least: bool = False) -> Value:
        """(n,) the index of the greatest of each row, or of the least; the first of those that are equal."""
        return self.graph.node("ArgMin" if least else "ArgMax", self, axis=1, keepdims=0)

    def columns(self, which: Any, axis: int = 1) -> Value:
        """Some of the columns, by index, or what stands at some indices of another axis."""
        return self.graph.node("Gather", self, np.asarray(which, np.int64), axis=axis)

    def looked_up(self, table: Any) -> Value:
        """Rows of a table, by index: (n, k) from (n, 1), or (n,) from (n,)."""
        return self.graph.node("Gather", table, self, axis=0)

    def squeezed(self, axis: int = 1) -> Value:
        """(n, k) from (n, 1, k), or without another axis."""
        return self.graph.node("Squeeze", self, np.array([axis], np.int64))

    def with_axis(self, axis: int) -> Value:
        """One axis more."""
        return self.graph.node("Unsqueeze", self, np.array([axis], np.int64))

    def part(self, axis: int, index: int) -> Value:
        """What stands at an index of an axis, which stays."""
        return self.graph.node("Gather", self, np.array([index], np.int64), axis=axis)


def beside(values: list[Value]) -> Value:
    """Columns of several values, one after the other."""
    return values[0] if len(values) == 1 else values[0].graph.node("Concat", *values, axis=1)
