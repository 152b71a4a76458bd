"""`suffice fit`: fit a model to files or a database, chosen automatically or by name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import click

from ..errors import DataError, listed
from ..storage import locate
from ..text import described
from . import options
from .data import check_out, reading


@click.command(epilog="Example: suffice fit birds.csv -t species -o birds.safetensors")
@options.data
@options.target
@click.option("--out", "-o", default="model.safetensors", show_default=True, help="The model file to write.")
@click.option(
    "--model",
    default="auto",
    show_default=True,
    help="auto tries several models and keeps the best. Or: mixed, mixture, logistic, or a family such as gaussian, "
    "categorical, multinomial, bernoulli, poisson or gamma.",
)
@click.option(
    "--set",
    "choices",
    multiple=True,
    help="A parameter of the model, as in --set covariance=tied. Repeat it for more.",
)
@click.option("--columns", help="The columns to learn from, separated by commas. Default: all.")
@click.option(
    "--type",
    "types",
    multiple=True,
    help="The type of a column of CSV or JSON files, as in --type zip=string. Repeat it for more.",
)
@options.weight
@options.query
@click.option("--checkpoint", help="A file that saves the progress; the same command resumes an interrupted run.")
@click.option("--skip", is_flag=True, help="Skip damaged parts of files instead of stopping.")
def fit(
    data: tuple[str, ...],
    target: str,
    out: str,
    model: str,
    choices: tuple[str, ...],
    columns: str | None,
    types: tuple[str, ...],
    weight: str | None,
    query: str | None,
    checkpoint: str | None,
    skip: bool,
) -> None:
    """Fit a model to files or a database. Without --model, the best of several is chosen on held-out rows.

    DATA are files, directories or globs of Parquet, Arrow, CSV or JSON lines; or a database URL, with --query.
    """
    from .. import selection

    kind, own = (None, {}) if model == "auto" else _estimator(model)
    if model == "auto" and (choices or checkpoint):
        raise DataError("--set and --checkpoint need a named model, as in --model gaussian")
    if model == "logistic" and checkpoint:
        raise DataError("--model logistic does not support --checkpoint")
    if query is not None and (checkpoint or skip or types):
        raise DataError("--checkpoint, --skip and --type are for files, not for --query")
    if checkpoint is not None and locate(checkpoint).identity == locate(out).identity:
        raise DataError(f"{locate(out)} cannot be both the model and the checkpoint; give two different files")
    check_out(out)
    asked = {"checkpoint": checkpoint, "on_error": "skip" if skip else "raise", "types": options.types_of(types)}
    bar = model != "mixture"  # which has its own, for many passes
    with reading(data, query, columns=options.names(columns), bar=bar, **asked) as rows:
        check_out(out, rows)
        if kind is None:
            fitted: Any = selection.fit(rows, target, weight)
        else:
            fitted = kind(**(own | _parameters(choices, kind))).fit(rows, target, sample_weight=weight)
    fitted.save(out)
    if model == "auto":
        print(f"Models by held-out log loss, in nats:\n\n{fitted.choice_}\n")
    print(f"{described(fitted)}\nWritten to {locate(out)}")


def _estimator(model: str) -> tuple[Any, dict[str, Any]]:
    """The class of a model by its name, and the parameters that the name stands for."""
    from .. import estimators
    from ..families import FAMILIES

    others = {"mixed": "MixedClassifier", "mixture": "MixtureClassifier", "logistic": "LogisticClassifier"}
    if model in others:
        return getattr(estimators, others[model]), {}
    if model not in FAMILIES:
        known = ["auto", *others, *FAMILIES]
        raise DataError(f"--model {model} is not known; choose one of {listed(known, len(known))}")
    own = FAMILIES[model].estimator
    return (estimators.MixedClassifier, {"families": model}) if own is None else (getattr(estimators, own), {})


def _parameters(choices: Iterable[str], kind: Any) -> dict[str, Any]:
    """Return parameters from name=value texts; values are JSON, or text."""
    found = {}
    known = kind().get_params(deep=False)
    for choice in choices:
        name, equals, text = choice.partition("=")
        if not equals or name not in known:
            raise DataError(
                f"--set {choice}: give name=value, with one of the parameters of {kind.__name__}: {listed(known, 10)}"
            )
        try:
            found[name] = json.loads(text)
        except json.JSONDecodeError:
            found[name] = text
    return found
