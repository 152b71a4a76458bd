"""`suffice merge` and `suffice forget`: what statistics allow, on files of models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import StatisticsError
from .data import check_out, reading
from .options import Data, ModelPath, Out, Query, Target, Weight


def merge(
    models: Annotated[
        list[Path], typer.Argument(help="Model files of one kind, as suffice fit writes them.", show_default=False)
    ],
    out: Out,
) -> None:
    """Merge models: the result is the model of all their rows, which are not needed. Settings are those of the
    first."""
    from ..families import RECIPES
    from ..learning import merged

    check_out(out)
    first, *others = models
    total = _trained(first)
    for path in others:
        model = _trained(path)
        if model.estimator != total.estimator:
            kinds = f"{first} is a {total.estimator}, {path} a {model.estimator}"
            raise StatisticsError(f"models of different kinds do not merge: {kinds}")
        try:
            aligns = RECIPES[total.estimator].merges_columns
            learnt, names = merged(total.learnt, total.names, model.learnt, model.names, aligns)
        except StatisticsError as error:
            raise StatisticsError(f"{path} does not merge with {first}: {error}") from None
        total = replace(total, learnt=learnt, names=names)
    _write(total, out)


def forget(model: ModelPath, data: Data, target: Target, out: Out, weight: Weight = None, query: Query = None) -> None:
    """Remove rows from a model that was fitted on them: the result is the model that never saw them."""
    from ..families import RECIPES
    from ..learning import collector_of, forgotten
    from ..scoring.columns import Columns

    known = _trained(model)
    statistics, recipe = known.learnt, RECIPES[known.estimator]
    kinds, classes = statistics.category_kinds(), statistics.classes
    columns = Columns(known.names, statistics.n_features, known.estimator, kinds, classes)
    with reading(data, query, columns=None if known.names is None else list(known.names)) as rows:
        check_out(out, rows)
        source = columns.source(rows, target, weight)
        of = collector_of(recipe, recipe.chosen(known.params), statistics)
        rest = forgotten(statistics, known.names, source, of)
    _write(replace(known, learnt=rest), out)


def _trained(path: Path) -> Any:
    """What a file holds, or an error where it has no statistics."""
    from .. import modelfile
    from ..stats import Statistics

    model = modelfile.read(path)
    if not isinstance(model.learnt, Statistics):
        raise StatisticsError(f"{path} holds a {model.estimator}, which has no statistics to add or subtract")
    return model


def _write(model: Any, out: Path) -> None:
    from .. import __version__, modelfile

    modelfile.write(out, replace(model, choice=None, version=__version__))
    weight = model.learnt.weight.sum()
    print(f"{model.estimator} of {model.learnt.n_features} columns, weight {weight:g}\nWritten to {out}")
