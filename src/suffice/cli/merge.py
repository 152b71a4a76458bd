"""`suffice merge` and `suffice forget`: what statistics allow, on files of models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import StatisticsError
from .data import check_out, reading
from .options import Data, Model, Out, Query, Target, Weight


def merge(
    models: Annotated[
        list[Path], typer.Argument(help="Model files of one kind, as suffice fit writes them.", show_default=False)
    ],
    out: Out,
) -> None:
    """Add models up: the result is the model of all their rows, none of which are needed. Settings are those of the
    first."""
    check_out(out)
    first, *others = models
    merged = _learnt(first)
    for path in others:
        model = _learnt(path)
        if type(model) is not type(merged):
            kinds = f"{first} is a {type(merged).__name__}, {path} a {type(model).__name__}"
            raise StatisticsError(f"models of different kinds do not merge: {kinds}")
        try:
            merged = merged + model
        except StatisticsError as error:
            raise StatisticsError(f"{path} does not merge with {first}: {error}") from None
    _write(merged, out)


def forget(model: Model, data: Data, target: Target, out: Out, weight: Weight = None, query: Query = None) -> None:
    """Take rows out of a model that it was fitted on: the result is the model that never saw them."""
    known = _learnt(model)
    columns = getattr(known, "feature_names_in_", None)
    with reading(data, query, columns=None if columns is None else columns.tolist()) as rows:
        check_out(out, rows)
        known.forget(rows, target, sample_weight=weight)
    _write(known, out)


def _learnt(path: Path) -> Any:
    """The model of a file, or an error where it has no statistics."""
    from ..estimators import load
    from ..estimators.learner import Learner

    model = load(path)
    if not isinstance(model, Learner):
        raise StatisticsError(f"{path} holds a {type(model).__name__}, which has no statistics to add or subtract")
    return model


def _write(model: Any, out: Path) -> None:
    model.save(out)
    weight = model.statistics_.weight.sum()
    print(f"{type(model).__name__} of {model.n_features_in_} columns, weight {weight:g}\nWritten to {out}")
