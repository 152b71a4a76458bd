"""Arguments and options that several commands share, and how to parse them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from ..errors import DataError, SufficeError

model = click.argument("model")
target = click.option("--target", "-t", required=True, help="The column with the labels.")
weight = click.option("--weight", help="The column with row weights.")
out = click.option("--out", "-o", required=True, help="The model file to write.")
prior = click.option(
    "--prior",
    help="Class probabilities: a=0.7,b=0.3, or 0.7,0.3 in the order of the classes, or uniform, or JSON. Default: the "
    "class frequencies of the training data.",
)
cost = click.option(
    "--cost",
    help="Costs of decisions, as JSON or a JSON file: a matrix with a row for each decision and a column for each "
    "true class, or an object from decisions to rows.",
)
keep = click.option(
    "--keep", help="Columns to repeat in the output, separated by commas. Default: the columns of the model."
)
outputs = click.option("--outputs", help="Some of decision,posterior,llr,log_likelihood. Default: all.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


families = click.option(
    "--families",
    multiple=True,
    help="Families of columns, as in amount=lognormal,zip=categorical,id=drop. Default: as their types suggest.",
)


class UsageError(DataError):
    """The options of a command are wrong."""


class StoppedError(SufficeError):
    """Ctrl-C was pressed; the message says what is left of the work."""


def names(text: str | None) -> list[str] | None:
    """Split names at commas.

    >>> names("a, b")
    ['a', 'b']
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def pairs_of(texts: Iterable[str], option: str, example: str) -> dict[str, str]:
    """Return values by column, from name=value texts, each of which may hold several between commas.

    >>> pairs_of(["zip=string,n=int64"], "--type", "zip=string")
    {'zip': 'string', 'n': 'int64'}
    """
    found = {}
    for text in texts:
        for pair in text.split(","):
            name, equals, value = pair.rpartition("=")
            if not (name.strip() and equals and value.strip()):
                raise UsageError(f"{option} {text}: give a column and its {option[2:]}, as in {option} {example}")
            found[name.strip()] = value.strip()
    return found


def families_of(texts: tuple[str, ...]) -> Any:
    """Return families as estimators take them: one for all columns, or by column.

    >>> families_of(("amount=lognormal,zip=categorical", "id=drop"))
    {'amount': 'lognormal', 'zip': 'categorical', 'id': 'drop'}
    >>> families_of(("gaussian",)), families_of(())
    ('gaussian', 'auto')
    """
    if not texts:
        return "auto"
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    return pairs_of(texts, "--families", "amount=lognormal")


def prior_of(text: str | None, classes: Any) -> Any:
    """Parse a prior for `predict`: a=0.7,b=0.3, numbers, JSON or "uniform".

    >>> prior_of("0=0.7, 1=0.3", [0, 1])
    {0: 0.7, 1: 0.3}
    >>> prior_of("0.2,0.3,0.5", ["a", "b", "c"])
    [0.2, 0.3, 0.5]
    """
    if text is None or text == "uniform":
        return text
    if text.lstrip().startswith(("{", "[")):
        return _labelled(_json(text, "--prior", '{"a": 0.7, "b": 0.3}'), classes)
    try:
        if "=" not in text:
            numbers = [float(part) for part in text.split(",")]
            return numbers if len(numbers) > 1 else numbers[0]
        pairs = [pair.rpartition("=") for pair in text.split(",")]
        return _labelled({name.strip(): float(value) for name, _, value in pairs}, classes)
    except ValueError:
        raise UsageError(
            f"--prior {text}: give a number for each class, as in a=0.7,b=0.3, or uniform; for labels that contain "
            """commas, give JSON such as '{"a": 0.7, "b,c": 0.3}'"""
        ) from None


def cost_of(text: str | None, classes: Any) -> Any:
    """Parse costs for `predict`: JSON, or the name of a JSON file."""
    if text is None:
        return None
    content = text if text.lstrip().startswith(("{", "[")) else Path(text).read_text()
    found = _labelled(_json(content, "--cost", "[[0, 1], [5, 0]]"), classes)
    if isinstance(found, dict):
        return {decision: _labelled(row, classes) for decision, row in found.items()}
    return found


def _json(text: str, option: str, example: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{option}: {error}; give JSON such as {example}") from None


def _labelled(values: Any, classes: Any) -> Any:
    """Replace the keys of a dictionary by the classes whose text they are; leave other values as they are."""
    if not isinstance(values, dict):
        return values
    written = {str(label): label for label in list(classes)}
    return {written.get(name, name): value for name, value in values.items()}
