"""`suffice evaluate`: measure a model on labelled rows."""

from __future__ import annotations

from typing import Any

import click

from . import options
from .data import Data, reads_data
from .output import as_json_text


@click.command(epilog="Example: suffice evaluate birds.safetensors test.csv -t species")
@options.model
@options.labels
@options.prior
@options.cost
@options.weight
@options.skip_unlabelled
@options.as_json
@reads_data
def evaluate(
    model: str,
    data: Data,
    target: str | None,
    prior: str | None,
    cost: str | None,
    weight: str | None,
    skip_unlabelled: bool,
    as_json: bool,
) -> None:
    """Evaluate a model on labelled, held-out rows.

    The output has the error rate, the log loss and the confusion matrix.

    MODEL is a model file, written by suffice fit.
    """
    from ..lines import filled, width
    from ..scoring import load_model

    loaded = load_model(model)
    case, labels = options.application(prior, cost, loaded.classes), options.target_of(target, loaded, model)
    with data.opened() as rows:
        how: dict[str, Any] = {"sample_weight": weight, "skip_unlabelled": skip_unlabelled}
        found = loaded.evaluate(rows, labels, case.prior, case.cost, **how)
    if as_json:
        print(as_json_text(found.to_dict()))
    else:
        costs = "" if case.said is None else f"{filled(f'Costs: {case.said}', width())}\n\n"
        print(f"{costs}{found.folded(width())}")
