"""`suffice compare`: models side by side on the same labelled rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..storage import without_credentials
from . import options
from .data import Data, reads_data
from .options import UsageError
from .output import as_json_text

if TYPE_CHECKING:
    from ..scoring.comparison import Compared


@click.command(epilog="Example: suffice compare test.csv -m birds.safetensors -m simple.safetensors")
@click.option("--model", "-m", "models", multiple=True, help="A model file. Repeat it for each one to compare.")
@options.labels
@click.option("--prior", help=f"{options.PRIOR}those of the first model, for all models.")
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

    The best one by the log loss comes first, and the class frequencies alone come last, as the baseline. The 95%
    interval of the difference from the best one tells whether the order is certain.
    Without --prior, all models decide with that of the first.
    """
    from ..lines import filled, folded, width
    from ..scoring import load_model
    from ..scoring.choice import ROUNDING
    from ..scoring.comparison import compared

    if len(set(models)) < 2:
        raise UsageError("give at least two models, as in -m one.safetensors -m two.safetensors")
    loaded = {name: load_model(options.received(path)) for path, name in _names(models).items()}
    whose, first = next(iter(loaded.items()))
    case, labels = options.application(prior, cost, first.classes), options.target_of(target, first, whose)
    with data.opened() as rows:
        found, alone = compared(loaded, rows, labels, case.prior, case.cost, weight, skip_unlabelled)
    if as_json:
        own = ({"model": one.name, "worse": one.worse, "interval": [one.low, one.high]} for one in found)
        print(as_json_text([facts | one.evaluation.to_dict() for facts, one in zip(own, found, strict=True)]))
        return
    table: list[tuple[str, ...]] = [("model", "log loss", "error", "worse by", "95% interval", "")]
    for one in found:
        mark = "equal" if abs(one.worse) <= ROUNDING else "not certain" if one.low <= 0 else "clear"
        table.append(_line(one, one.name, "best" if one is found[0] else mark))
    baseline = "class frequencies" if prior is None else "prior alone"
    table.append(_line(alone, baseline, "baseline"))
    by = f"the prior of {whose}" if prior is None else "the prior"
    shares = ", ".join(f"{label} {p:.3g}" for label, p in zip(first.classes, first._as_prior(case.prior), strict=True))
    said = f"{found[0].evaluation.rows} rows; the log loss is in nats, with the classes weighted by {by}: {shares}"
    print(f"{filled(said, width())}\n")
    print(folded(table, width()))
    if alone.low <= ROUNDING:
        said = f"No model is better than the {baseline} by more than chance explains."
        print(f"\n{filled(said, width())}")


def _line(one: Compared, name: str, mark: str) -> tuple[str, ...]:
    """A line of the table; of the best model, there is no difference to tell."""
    apart = ("", "") if mark == "best" else (f"{one.worse:.4f}", f"{one.low:+.4f} to {one.high:+.4f}")
    return name, f"{one.evaluation.log_loss:.4f}", f"{one.evaluation.error_rate:.2%}", *apart, mark


def _names(models: tuple[str, ...]) -> dict[str, str]:
    """The models by path or URL, with names that show no credentials; a number tells those apart that look alike."""
    shown = {path: without_credentials(path) for path in models}
    alike = list(shown.values())
    return {
        path: name if alike.count(name) == 1 else f"{name} ({i})" for i, (path, name) in enumerate(shown.items(), 1)
    }
