"""`suffice merge` and `suffice forget`: add up models, and remove rows from a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ..errors import StatisticsError
from ..storage import locate
from ..text import counted
from . import options
from .data import Data, check_out, reads_data


@click.command(epilog="Example: suffice merge north.safetensors south.safetensors -o both.safetensors")
@click.argument("models", nargs=-1, required=True)
@options.out
def merge(models: tuple[str, ...], out: str) -> None:
    """Merge models into the model of all their rows.

    MODELS are model files of the same kind, written by suffice fit. Their rows are not read again. Parameters come
    from the first one.
    """
    from ..families import RECIPES
    from ..learning import merged

    check_out(out)
    first, *others = models
    total = known = _trained(first)
    for path in others:
        model = _trained(path)
        if model.estimator != total.estimator:
            kinds = f"{locate(first)} is a {total.estimator}, {locate(path)} a {model.estimator}"
            raise StatisticsError(f"models of different kinds cannot be merged: {kinds}")
        try:
            aligns = RECIPES[total.estimator].merges_columns
            learnt, names = merged(total.learnt, total.names, model.learnt, model.names, aligns)
        except StatisticsError as error:
            raise StatisticsError(f"{locate(path)} cannot be merged with {locate(first)}: {error}") from None
        total = replace(total, learnt=learnt, names=names)
    _write(total, known, out)


@click.command(epilog="Example: suffice forget birds.safetensors withdrawn.csv -t species -o rest.safetensors")
@options.model
@options.target
@options.out
@options.weight
@reads_data
def forget(model: str, data: Data, target: str, out: str, weight: str | None) -> None:
    """Remove rows from a model that was fitted to them.

    The result equals a fit without these rows.

    MODEL is a model file, written by suffice fit. DATA are files, directories or globs of Parquet, Arrow, CSV or
    JSON lines; or a database URL, with --query.
    """
    from ..families import RECIPES
    from ..learning import collector_of, forgotten
    from ..scoring.columns import Columns

    known = _trained(model, subtracts=True)
    statistics, recipe = known.learnt, RECIPES[known.estimator]
    kinds, classes = statistics.category_kinds(), statistics.classes
    columns = Columns(known.names, statistics.n_features, known.estimator, kinds, classes)
    with data.opened(None if known.names is None else list(known.names)) as rows:
        check_out(out, rows)
        source = columns.source(rows, target, weight)
        of = collector_of(recipe, recipe.chosen(known.params), statistics)
        rest = forgotten(statistics, known.names, source, of)
    _write(replace(known, learnt=rest), known, out)


def _trained(path: str, subtracts: bool = False) -> Any:
    """Return the contents of a file, or raise an error if it has no statistics."""
    from .. import modelfile
    from ..families import RECIPES
    from ..stats import Statistics

    model = modelfile.read(path)
    if not isinstance(model.learnt, Statistics):
        raise StatisticsError(
            f"{locate(path)} contains a {model.estimator}, which has no statistics to add or subtract"
        )
    recipe = RECIPES[model.estimator]
    if not (recipe.subtracts if subtracts else recipe.adds):
        raise StatisticsError(
            f"{locate(path)} contains a {model.estimator}: rows cannot be "
            f"{'removed from' if subtracts else 'added to'} its components; fit it again to the rows that you want"
        )
    return model


def _write(model: Any, before: Any, out: str) -> None:
    from .. import __version__, modelfile
    from ..scoring.calibrated import Calibration

    known, classes, calibration = before.learnt.classes, model.learnt.classes, model.calibration
    if calibration is not None:
        calibration = Calibration.from_header(calibration, len(known)).after_changes(known, classes).to_header()
    modelfile.write(out, replace(model, choice=None, calibration=calibration, version=__version__))
    weight = model.learnt.weight.sum()
    print(f"{model.estimator} of {model.learnt.n_features} columns, weight {counted(weight)}\nWritten to {locate(out)}")
