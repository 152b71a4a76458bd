"""`suffice compare`: models side by side on the same labelled rows."""

from __future__ import annotations

import click

from . import options
from .data import Data, reads_data
from .options import UsageError
from .output import as_json_text


@click.command(epilog="Example: suffice compare test.csv -m birds.safetensors -m simple.safetensors")
@click.option("--model", "-m", "models", multiple=True, help="A model file. Repeat it for each one to compare.")
@options.labels
@options.prior
@options.cost
@options.weight
@options.skip_unlabelled
@options.as_json
@reads_data
def compare(
    models: tuple[str, ...],
    data: Data,
    target: str | None,
    prior: str | None,
    cost: str | None,
    weight: str | None,
    skip_unlabelled: bool,
    as_json: bool,
) -> None:
    """Compare models on the same labelled, held-out rows.

    The best one by the log loss comes first. The 95% interval of the difference tells whether the order is certain.
    Without --prior, all models decide with that of the first.
    """
    from ..scoring import load_model
    from ..scoring.choice import ROUNDING
    from ..scoring.comparison import compared
    from ..text import filled, folded, width

    if len(set(models)) < 2:
        raise UsageError("give at least two models, as in -m one.safetensors -m two.safetensors")
    loaded = {path: load_model(options.received(path)) for path in models}
    first = loaded[models[0]]
    case, labels = options.application(prior, cost, first.classes), options.target_of(target, first, models[0])
    with data.opened() as rows:
        found = compared(loaded, rows, labels, case.prior, case.cost, weight, skip_unlabelled)
    if as_json:
        own = ({"model": one.name, "worse": one.worse, "interval": [one.low, one.high]} for one in found)
        print(as_json_text([facts | one.evaluation.to_dict() for facts, one in zip(own, found, strict=True)]))
        return
    table = [("model", "log loss", "error", "worse by", "95% interval", "")]
    for one in found:
        figures = one.evaluation
        interval = "" if one is found[0] else f"{one.low:+.4f} to {one.high:+.4f}"
        mark = "equal" if abs(one.worse) <= ROUNDING else "not certain" if one.low <= 0 else "clear"
        mark = "best" if one is found[0] else mark
        shown = f"{figures.log_loss:.4f}", f"{figures.error_rate:.2%}"
        table.append((one.name, *shown, "" if one is found[0] else f"{one.worse:.4f}", interval, mark))
    whose = f"the prior of {models[0]}" if prior is None else "the prior"
    shares = ", ".join(f"{label} {p:.3g}" for label, p in zip(first.classes, first._as_prior(case.prior), strict=True))
    said = f"{found[0].evaluation.rows} rows; the log loss is in nats, with the classes weighted by {whose}: {shares}"
    print(f"{filled(said, width())}\n")
    print(folded(table, width()))
