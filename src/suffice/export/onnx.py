"""A model as an ONNX graph, for scoring where there is no Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from .._version import __version__
from ..atomic import replacing
from ..errors import DataError, SufficeError
from . import onnx_tree  # noqa: F401  registers its scores
from .graph import Graph, Value
from .onnx_scores import GraphScores, scores
from .outputs import plain_labels

Array = NDArray[Any]

_ROWS = 200  # on which the graph is compared with the model
_TOLERANCE = 1e-9  # of a number, relative to its size or to that of the largest score
_LABELS = {str: TensorProto.STRING, int: TensorProto.INT64, float: TensorProto.DOUBLE, bool: TensorProto.BOOL}


def to_onnx(
    model: Any,
    path: str | os.PathLike[str],
    prior: Array,
    cost: tuple[Array, Array] | None,
    outputs: Sequence[str],
) -> None:
    """Write a model as ONNX, after a comparison of what onnxruntime makes of it with what the model says.

    Parameters
    ----------
    model : Model
    path : the file to write
    prior : (k,)
    cost : decisions (m,) and their costs (m, k); None counts errors
    outputs : some of `outputs.OUTPUTS`
    """
    density, graph = model.density, Graph()
    names = model.names or tuple(f"x{j}" for j in range(density.n_features))
    cells = _inputs(graph, density, names, model.takes_infinity)
    results = _Results(scores(model._evidence, cells), model.calibration, graph.constant(prior[None]))
    k = len(model.classes)
    makers: dict[str, Any] = {
        "decision": lambda: results.decision(model.classes, cost),
        "posterior": lambda: (results.posterior, TensorProto.DOUBLE, ["rows", k]),
        "llr": lambda: (results.llr(k), TensorProto.DOUBLE, ["rows", k - 1]),
        "log_likelihood": lambda: (_log_likelihood(scores(density, cells)), TensorProto.DOUBLE, ["rows", k]),
    }
    classes = "\n".join(str(label) for label in model.classes.tolist())
    notes = {"suffice": __version__, "classes": classes, "columns": "\n".join(names)}
    made = graph.model({name: makers[name]() for name in outputs}, notes).SerializeToString()
    _compare(made, model, names, prior, outputs)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(made)


def _inputs(graph: Graph, density: Any, names: Sequence[str], takes_infinity: bool) -> dict[int, Value]:
    """The columns: of one input X (n, d) where all hold numbers; else of one (n, 1) for each column that is read."""

    def number(x: Value) -> Value:
        return x.is_infinite().where(np.nan, x) if takes_infinity else x

    if texts := density.columns_of_text():
        raise DataError(
            f"the words of column {', '.join(repr(names[j]) for j in sorted(texts))} cannot be written as ONNX; score "
            "the rows with predict, or leave the column out"
        )
    if not density.categories_of_columns():
        x = number(graph.input("X", "number", density.n_features))
        return {j: x.columns([j]) for j in range(density.n_features)}
    texts = {j for j, kind in density.category_kinds().items() if kind == "text"}
    return {
        j: graph.input(names[j], "text", 1) if j in texts else number(graph.input(names[j], "number", 1))
        for j in density.columns_read
    }


def _log_likelihood(found: GraphScores) -> Value:
    return found.relative if found.shared is None else found.relative + found.shared


class _Results:
    """What is said of the rows."""

    def __init__(self, found: GraphScores, calibration: Any, prior: Value) -> None:
        self._calibrated = relative = found.relative
        if calibration is not None:
            scaled = relative * calibration.scale if calibration.scale else relative * 0.0
            self._calibrated = relative.equals(-np.inf).where(-np.inf, scaled + calibration.offset[None])
        joint = self._calibrated + prior.log()
        top = joint.max()
        impossible = top.equals(-np.inf)  # under every class: then the prior decides
        self.joint = impossible.where(prior.log(), joint)
        shares = (self.joint - self.joint.max()).exp()
        self.posterior = shares / shares.sum()

    def llr(self, k: int) -> Value:
        first, others = self._calibrated.columns([0]), self._calibrated.columns(range(1, k))
        return first.equals(-np.inf).both(others.equals(-np.inf)).where(0.0, others - first)

    def decision(self, classes: Array, cost: tuple[Array, Array] | None) -> tuple[Value, int, list[Any]]:
        labels = plain_labels(classes if cost is None else cost[0])
        kinds = {type(label) for label in labels}
        if len(kinds) != 1:
            raise DataError("decisions of several types cannot be written as ONNX; leave decision out of outputs=")
        (kind,) = kinds
        index = self.joint.best() if cost is None else (self.posterior @ cost[1].T).best(least=True)
        known = np.array(labels, object if kind is str else None)
        return index.looked_up(known), _LABELS[kind], ["rows"]


# The comparison with the model.


def _compare(made: bytes, model: Any, names: Sequence[str], prior: Array, outputs: Sequence[str]) -> None:
    """Raise an error unless onnxruntime says of some rows what the model says."""
    import onnxruntime
    import pyarrow as pa

    session = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
    columns = _some_rows(model)
    given = _feeds(columns, model.density, names)
    found = dict(zip(outputs, session.run(list(outputs), given), strict=True))
    arrays = [pa.array(column.tolist(), from_pandas=True) for column in columns]
    rows: Any = pa.Table.from_arrays(arrays, names=list(names))
    if model.names is None:
        rows = np.array([column.tolist() for column in columns], object).T
    first, *others = model.classes.tolist()
    expected: dict[str, Callable[[], Array]] = {
        "posterior": lambda: model.predict_proba(rows, prior),
        "llr": lambda: np.array([model.llr(rows, first, other) for other in others]).reshape(-1, _ROWS).T,
        "log_likelihood": lambda: model.log_likelihood(rows),
    }
    for output in found.keys() & expected.keys():
        own = expected[output]
        true = own()
        with np.errstate(invalid="ignore"):
            finite = np.isfinite(true)
            size = np.maximum(1.0, np.abs(np.where(finite, true, 0.0)).max(axis=1, initial=0.0, keepdims=True))
            near = np.where(finite, np.abs(found[output] - true) <= _TOLERANCE * size, found[output] == true)
        if not near.all():
            row, c = np.argwhere(~near)[0]
            raise SufficeError(
                f"onnxruntime gives {found[output][row, c]!r} as {output} where the model gives {true[row, c]!r}; "
                "no file was written"
            )


def _feeds(columns: Sequence[Array], density: Any, names: Sequence[str]) -> dict[str, Array]:
    """What the inputs are given: NaN, or empty text, for missing values."""
    kinds = density.category_kinds()
    if not density.categories_of_columns():
        return {"X": np.column_stack([column.astype(np.float64) for column in columns])}
    found = {}
    for j in density.columns_read:
        values = columns[j]
        if kinds.get(j) == "text":
            found[names[j]] = np.array([["" if value is None else str(value)] for value in values.tolist()], object)
        else:
            found[names[j]] = np.array([[value] for value in values.tolist()], np.float64)
    return found


def _some_rows(model: Any) -> list[Array]:
    """Columns of rows like those that the model has learnt from."""
    density, rng = model.density, np.random.default_rng(0)
    categories, usual = density.categories_of_columns(), density.usual_values()
    words = {feature.source for feature in density.features for name, *_ in feature.reads if name == "truth"}
    booleans, columns = density.columns_of_booleans() | words, []
    for j in range(density.n_features):
        if len(categories.get(j, ())):
            column = rng.choice(categories[j], _ROWS).astype(object)
        elif j in categories:
            column = np.full(_ROWS, None, object)
        elif j in booleans:
            column = rng.integers(0, 2, _ROWS).astype(np.float64)
        else:
            low, middle, high = usual[j] if not np.isnan(usual[j]).any() else (0.0, 1.0, 2.0)
            column = rng.uniform(low, high, _ROWS)
            if float(middle).is_integer() and float(low).is_integer():
                column = np.round(column)  # counts
        columns.append(column)
    return columns
