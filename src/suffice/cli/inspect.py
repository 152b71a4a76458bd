"""`suffice inspect`: show what a model file contains."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..lines import aligned, counted, filled, folded, hanging, width
from . import options
from .output import as_json_text

if TYPE_CHECKING:
    from ..description import Description

_FEW = 20  # rows of a table
_WIDE = 8  # columns of a table


@click.command(epilog="Example: suffice inspect birds.safetensors")
@options.file
@options.as_json
@click.option("--parameters", is_flag=True, help="Print what the model has learnt: means, probabilities, components.")
def inspect(file: str, as_json: bool, parameters: bool) -> None:
    """Show what a model file contains.

    The output has the classes, the columns with their families and the reasons for these, the calibration, and the
    other models that were tried.

    FILE is a model file, or the checkpoint of a fit. Only its header is read, and with --parameters what the model has
    learnt.
    """
    from ..description import describe

    found = describe(file)
    parameters = parameters or found.kind == "LLRCalibrator"  # which is nothing but a few of them
    learnt, shared = _parameters(file) if parameters else ({}, frozenset())
    edges = _edges(file) if found.params.get("structure") or found.params.get("joint") else []
    if as_json:
        more: dict[str, Any] = {"parameters": learnt} if parameters else {}
        more |= {"edges": [edge._asdict() for edge in edges]} if edges else {}
        print(as_json_text(asdict(found) | more))
    else:
        labels = [label for label, _ in found.classes]
        if "components" in learnt:  # of a PCA or an LDA
            labels = [f"component {i}" for i in range(len(learnt["components"]))]
        if "owner" in learnt:  # of a mixture for each class
            owner = learnt.pop("owner").tolist()
            labels = [f"{labels[c]} {i - owner.index(c)}" for i, c in enumerate(owner)]
        tables = _tables(learnt, shared, labels, [name for name, _ in found.columns])
        print("\n\n".join([_text(found), *_dependence(edges), *tables]))


def _parameters(file: str) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the parameters in a file by name, and the names of those that have no class axis."""
    from ..scoring.loading import load_parameters

    return load_parameters(file)


def _edges(file: str) -> list[Any]:
    """Return which columns depend on each other, which takes the tables of a file."""
    from ..scoring.loading import load_model

    return load_model(file).edges()


def _dependence(edges: list[Any]) -> Iterator[str]:
    rows = [(str(edge.child), str(edge.parent), f"{edge.information:.4g}") for edge in edges]
    if rows:
        title = "columns that depend on each other, with their conditional mutual information in nats"
        yield f"{title}\n{aligned(_few([('column', 'depends on', 'information'), *rows]), right=False)}"


def _tables(
    parameters: dict[str, Any], shared: frozenset[str], classes: list[Any], columns: list[Any], prefix: str = ""
) -> Iterator[str]:
    """Yield a table for each parameter; those of a block of columns have the name of the block in their title."""
    columns, categories = parameters.get("columns", columns), parameters.get("categories")
    for name, value in parameters.items():
        title = f"{prefix}{name}"
        if name in ("columns", "categories"):  # they label the others
            continue
        if isinstance(value, dict):
            yield from _tables(value, shared, classes, columns, f"{title} ")
        elif isinstance(value, list):  # one array for each column
            for j, (column, array, labels) in enumerate(zip(columns[:_FEW], value, categories or value, strict=False)):
                if array is None:  # of a column that depends on no other
                    continue
                if name == "words":  # the most telling ones of each class, in their order
                    labels = range(1, array.shape[1] + 1)
                above = (categories or value)[parameters["parents"][j]] if "parents" in parameters else []
                if name == "unknown_conditionals":
                    yield _table(f"{title}, column {column}", array, [classes, above])
                elif array.ndim == 3:  # by the categories of another column
                    for label, own in zip(classes[:_FEW], array, strict=False):
                        yield _table(f"{title}, column {column}, class {label}", own, [above, labels])
                else:
                    yield _table(f"{title}, column {column}", array, [classes, labels])
            yield from [f"{title}: and {len(value) - _FEW} more columns"] * (len(value) > _FEW)
        elif not hasattr(value, "ndim"):
            yield f"{title}: {value}"
        elif hasattr(value, "nnz"):  # sparse, as there are too many for a table
            yield f"{title}: {value.nnz} values above zero, of {value.shape[0]} classes and {value.shape[1]} columns"
        elif value.ndim == 3:
            for label, array in zip(classes[:_FEW], value, strict=False):
                yield _table(f"{title}, class {label}", array, [columns, columns])
            yield from [f"{title}: and {len(value) - _FEW} more classes"] * (len(value) > _FEW)
        else:
            yield _table(title, value, [columns, columns] if title in shared else [classes, columns])


def _table(title: str, array: Any, axes: Sequence[Sequence[Any]]) -> str:
    """Return an array as a table, with the second axis downwards: there are more columns than classes."""
    if array.ndim == 0:
        return f"{title}: {array:.6g}"
    labels = [_labels(axis, n) for axis, n in zip(axes, array.shape, strict=False)]
    if array.ndim == 1:
        rows = [(label, f"{value:.6g}") for label, value in zip(labels[0], array, strict=True)]
        return f"{title}\n{aligned(_few([('', ''), *rows])[1:])}"
    for most in range(_WIDE, 0, -1):
        more = ["..."] * (len(labels[0]) > most)
        rows = [
            (label, *(value if isinstance(value, str) else f"{value:.6g}" for value in values), *more)
            for label, values in zip(labels[1], array[:most].T, strict=True)
        ]
        lines = aligned(_few([("", *labels[0][:most], *more), *rows]))
        if max(map(len, lines.splitlines())) <= width():
            break
    return f"{title}\n{lines}"


def _labels(axis: Sequence[Any], n: int) -> list[Any]:
    """Return the labels of an axis; of two classes, an axis of length 1 is about the second over the first."""
    if len(axis) == n:
        return list(axis)
    return [f"{axis[1]} over {axis[0]}"] if len(axis) == 2 and n == 1 else list(range(n))


def _text(found: Description) -> str:
    facts = [(found.what, found.kind), ("written by", f"suffice {found.version}"), ("size", f"{found.size} bytes")]
    if found.rows is not None:
        facts.append(("rows so far", f"{found.rows}, of {found.files} files"))
    prior: Sequence[float | None] = found.prior or [None] * len(found.classes)
    more = [("learnt as", found.learnt_as, "-"), ("because", found.reasons, "")]
    told = [each for each in more if each[1]]
    columns = [(name, family or "", *(own.get(name, none) for _, own, none in told)) for name, family in found.columns]
    heading = ("column", "family", *(title for title, *_ in told))
    classes = [
        (label, "" if weight is None else counted(weight), "" if p is None else f"{p:.4g}")
        for (label, weight), p in zip(found.classes, prior, strict=True)
    ]
    parts = [aligned(facts, right=False)]
    parts += [folded(_few([("class", "weight", "prior"), *classes]), width())] * bool(classes)
    parts += [hanging(_few([heading, *columns]), width())] * bool(columns)
    if found.left_out:
        left_out = [(name, reason) for name, reason in found.left_out.items()]
        parts.append(hanging(_few([("left out", "because"), *left_out]), width()))
    room = width() - max(len(name) for name in ("parameter", *found.params)) - 2
    params = [(name, _short(value, room)) for name, value in found.params.items()]
    parts.append(aligned([("parameter", "value"), *params], right=False))
    if found.calibration is not None:
        from ..scoring.calibrated import Calibration

        made = Calibration.from_header(found.calibration, len(found.classes))
        parts.append(filled(f"calibration: {made}", width()))
    if found.choice is not None:
        from ..scoring.choice import Choice

        tried = Choice.from_header(found.choice)
        parts.append(f"models that were tried, with the log loss in nats\n{tried.folded(width())}")
    return "\n\n".join(parts)


def _few(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the heading and the first rows, and how many more there are."""
    more = len(rows) - 1 - _FEW
    return rows if more <= 0 else [*rows[: _FEW + 1], (f"and {more} more", *[""] * (len(rows[0]) - 1))]


def _short(value: Any, most: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= most else f"{text[: most - 4]} ..."
