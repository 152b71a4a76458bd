"""Arguments and options that several commands share, and what their texts mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import DataError, DecisionError

ModelPath = Annotated[Path, typer.Argument(help="A model file, as suffice fit writes it.", show_default=False)]
Data = Annotated[
    list[str],
    typer.Argument(
        help="Files, directories or globs: Parquet, Arrow, CSV or JSON lines. Or the URL of a database, with --query.",
        show_default=False,
    ),
]
Query = Annotated[str | None, typer.Option("--query", "-q", help="Of a database: the name of a table, or a SELECT.")]
Target = Annotated[str, typer.Option("--target", "-t", help="The column with the labels.", show_default=False)]
Weight = Annotated[str | None, typer.Option(help="A column with weights.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The model file to write.", show_default=False)]
Prior = Annotated[
    str | None,
    typer.Option(
        help="Class probabilities where the model is used: a=0.7,b=0.3 or uniform; by default those in training."
    ),
]
Cost = Annotated[
    str | None,
    typer.Option(
        help="What decisions cost, as JSON or a file with it: a matrix with a row for each decision and a column for "
        "each class, or an object from decisions to such rows."
    ),
]
Keep = Annotated[
    str | None, typer.Option(help="Columns to repeat, with commas; by default those that the model reads.")
]
Outputs = Annotated[
    str | None, typer.Option(help="Some of decision,posterior,llr,log_likelihood; all of them by default.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def names(text: str | None) -> list[str] | None:
    """Names between commas.

    >>> names("a, b")
    ['a', 'b']
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def types_of(texts: list[str] | None) -> dict[str, str]:
    """Types by column, from name=type.

    >>> types_of(["zip=string"])
    {'zip': 'string'}
    """
    pairs = [text.rpartition("=") for text in texts or []]
    for name, equals, kind in pairs:
        if not (name and equals and kind):
            raise DataError(f"--type {name}{equals}{kind}: give a column and its type, as in --type zip=string")
    return {name: kind for name, _, kind in pairs}


def prior_of(text: str | None, classes: Any) -> Any:
    """A prior as `predict` takes it, from a=0.7,b=0.3, one number, JSON, or a word.

    >>> prior_of("0=0.7, 1=0.3", [0, 1])
    {0: 0.7, 1: 0.3}
    """
    if text is None or text == "uniform":
        return text
    if text.lstrip().startswith(("{", "[")):
        return _labelled(_json(text, "--prior"), classes)
    try:
        if "=" not in text:
            return float(text)
        pairs = [pair.rpartition("=") for pair in text.split(",")]
        return _labelled({name.strip(): float(value) for name, _, value in pairs}, classes)
    except ValueError:
        raise DecisionError(f"--prior {text}: give a number for each class, as in a=0.7,b=0.3, or uniform") from None


def cost_of(text: str | None, classes: Any) -> Any:
    """Costs as `predict` takes them, from JSON or the name of a file with it."""
    if text is None:
        return None
    content = text if text.lstrip().startswith(("{", "[")) else Path(text).read_text()
    found = _labelled(_json(content, "--cost"), classes)
    if isinstance(found, dict):
        return {decision: _labelled(row, classes) for decision, row in found.items()}
    return found


def _json(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DecisionError(f"{option}: {error}; give JSON such as [[0, 1], [5, 0]]") from None


def _labelled(values: Any, classes: Any) -> Any:
    """Values by label, where they are so: texts become the classes that are written like them."""
    if not isinstance(values, dict):
        return values
    written = {str(label): label for label in list(classes)}
    return {written.get(name, name): value for name, value in values.items()}
