"""`suffice evaluate`: measure a model on labelled rows."""

from __future__ import annotations

import json

import click

from . import options
from .data import Data, reads_data


@click.command(epilog="Example: suffice evaluate birds.safetensors test.csv -t species")
@options.model
@options.target
@options.prior
@options.cost
@options.weight
@options.as_json
@reads_data
def evaluate(
    model: str,
    data: Data,
    target: str,
    prior: str | None,
    cost: str | None,
    weight: str | None,
    as_json: bool,
) -> None:
    """Evaluate a model on labelled, held-out rows.

    The output has the error rate, the log loss and the confusion matrix.

    MODEL is a model file, written by suffice fit. DATA are files, directories or globs of Parquet, Arrow, CSV or
    JSON lines; or a database URL, with --query.
    """
    from ..scoring import load_model

    loaded = load_model(model)
    asked = options.prior_of(prior, loaded.classes), options.cost_of(cost, loaded.classes)
    with data.opened() as rows:
        found = loaded.evaluate(rows, target, *asked, sample_weight=weight)
    print(json.dumps(found.to_dict(), indent=2, default=str) if as_json else found)
