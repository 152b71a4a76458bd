"""`suffice merge` and `suffice forget`: add up models, and remove rows from a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ..decisions import as_prior
from ..errors import DataError, DecisionError, EmptyClassWarning, StatisticsError, warn
from ..lines import counted, numbered
from ..storage import locate
from . import options
from .data import Data, reads_data
from .output import Output, writes


@click.command(epilog="Example: suffice merge north.safetensors south.safetensors -o both.safetensors")
@click.argument("models", nargs=-1, required=True)
@writes("The model file to write.", required=True)
@options.as_json
def merge(models: tuple[str, ...], out: Output, as_json: bool) -> None:
    """Merge models into the model of all their rows.

    MODELS are model files of the same kind, written by suffice fit. Their rows are not read again. Parameters come
    from the first one.
    """
    from ..combined import RECIPES
    from ..learning import merged

    first, *others = models
    total = known = _trained(first)
    for path in others:
        model = _trained(path)
        if model.estimator != total.estimator:
            kinds = f"{locate(first)} is a {total.estimator}, {locate(path)} a {model.estimator}"
            raise StatisticsError(
                f"models of different kinds cannot be merged: {kinds}; fit the second with --like {locate(first)}"
            )
        try:
            aligns = RECIPES[total.estimator].merges_columns
            learnt, names = merged(total.learnt, total.names, model.learnt, model.names, aligns)
        except StatisticsError as error:
            why = str(error).replace("--like FIRST", f"--like {locate(first)}")
            raise StatisticsError(f"{locate(path)} cannot be merged with {locate(first)}: {why}") from None
        total = replace(total, learnt=learnt, names=names)
    recipe = RECIPES[total.estimator]
    choices, learnt = recipe.chosen(total.params), total.learnt
    try:
        recipe.check_fit(recipe.adopted(learnt, choices), choices, total.names)
        as_prior(total.params.get("prior"), learnt.classes, learnt.weight)
    except (DataError, DecisionError) as error:  # the others have classes or columns that the first one has not
        raise StatisticsError(f"the parameters in {locate(first)} do not fit the sum: {error}") from None
    _write(total, known, out, as_json)


@click.command(epilog="Example: suffice forget birds.safetensors withdrawn.csv -t species -o rest.safetensors")
@options.model
@options.labels
@writes("The model file to write.", required=True)
@options.weight
@options.skip_unlabelled
@options.as_json
@reads_data
def forget(
    model: str,
    data: Data,
    target: str | None,
    out: Output,
    weight: str | None,
    skip_unlabelled: bool,
    as_json: bool,
) -> None:
    """Remove rows from a model that was fitted to them.

    The result equals a fit without these rows.

    MODEL is a model file, written by suffice fit.
    """
    from ..combined import RECIPES
    from ..learning import collector_of, forgotten
    from ..scoring.columns import Columns
    from ..sources.labelled import labelled

    known = _trained(model, subtracts=True)
    labels = options.target_of(target, known, model)
    statistics, recipe = known.learnt, RECIPES[known.estimator]
    kinds, classes = statistics.category_kinds(), statistics.classes
    columns = Columns(known.names, statistics.n_features, known.estimator, kinds, classes, labels)
    with data.opened(None if known.names is None else list(known.names)) as rows:
        out.check(rows)
        source = columns.source(rows, labels, weight)
        source = labelled(source) if skip_unlabelled else source
        of = collector_of(recipe, recipe.chosen(known.params), statistics)
        rest = forgotten(statistics, known.names, source, of)
    if not rest.weight.any():
        warn("no row is left in the model: it cannot predict", EmptyClassWarning)
    _write(replace(known, learnt=rest), known, out, as_json)


def _trained(path: str, subtracts: bool = False) -> Any:
    """Return the contents of a file, or raise an error if it has no statistics."""
    from .. import modelfile
    from ..combined import RECIPES
    from ..stats import Statistics

    model = modelfile.read(options.received(path))
    if not isinstance(model.learnt, Statistics):
        raise StatisticsError(
            f"{locate(path)} contains a {model.estimator}, which has no statistics to add or subtract; fit a "
            "generative model with suffice fit --generative"
        )
    recipe = RECIPES[model.estimator]
    if not (recipe.subtracts if subtracts else recipe.adds):
        raise StatisticsError(
            f"{locate(path)} contains a {model.estimator}: rows cannot be "
            f"{'removed from' if subtracts else 'added to'} its components; fit it again to the rows that you want"
        )
    return model


def _write(model: Any, before: Any, out: Output, as_json: bool) -> None:
    from .. import __version__, modelfile
    from ..scoring.calibrated import Calibration

    known, classes, calibration = before.learnt.classes, model.learnt.classes, model.calibration
    if calibration is not None:
        calibration = Calibration.from_header(calibration, len(known)).after_changes(known, classes).to_header()
    with out.file() as path:
        modelfile.write(path, replace(model, choice=None, calibration=calibration, version=__version__))
    columns, weight = model.learnt.n_features, float(model.learnt.weight.sum())
    facts = {"model": model.estimator, "columns": columns, "weight": weight}
    out.done(
        f"{model.estimator} of {numbered(columns, 'column')}, weight {counted(weight)}", facts if as_json else None
    )
