"""`suffice inspect`: show what a model file contains."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..text import aligned
from . import options

if TYPE_CHECKING:
    from ..description import Description

_FEW = 20  # columns and classes to list


@click.command(epilog="Example: suffice inspect birds.safetensors")
@click.argument("file")
@options.as_json
@click.option("--parameters", is_flag=True, help="Print what the model has learnt: means, covariances, probabilities.")
def inspect(file: str, as_json: bool, parameters: bool) -> None:
    """Show what a file contains: model, columns, families and classes.

    FILE is a model file, or the checkpoint of a fit. Only its header is read, and with --parameters what the model has
    learnt.
    """
    from ..description import describe

    found = describe(file)
    learnt = _parameters(file) if parameters else {}
    if as_json:
        text = json.dumps(asdict(found) | ({"parameters": learnt} if parameters else {}), default=_plain)
        finite = json.loads(text, parse_constant=lambda _: None)  # JSON has neither NaN nor infinity
        print(json.dumps(finite, indent=2))
    else:
        print("\n\n".join([_text(found), *_shown(learnt)]))


def _parameters(file: str) -> dict[str, Any]:
    """The parameters of the density in a file, by name."""
    from ..scoring import load_model

    return load_model(file).parameters()


def _shown(parameters: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Parameters as text, those of blocks of columns under the name of the block."""
    for name, value in parameters.items():
        if isinstance(value, dict):
            yield from _shown(value, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}\n{value}"


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _text(found: Description) -> str:
    facts = [(found.what, found.kind), ("written by", f"suffice {found.version}"), ("size", f"{found.size} bytes")]
    if found.rows is not None:
        facts.append(("rows so far", f"{found.rows}, of {found.files} files"))
    prior: Sequence[float | None] = found.prior or [None] * len(found.classes)
    columns = [(name, family or "") for name, family in found.columns]
    classes = [
        (label, "" if weight is None else f"{weight:g}", "" if p is None else f"{p:.4g}")
        for (label, weight), p in zip(found.classes, prior, strict=True)
    ]
    parts = [aligned(facts, right=False)]
    parts += [aligned(_few([("class", "weight", "prior"), *classes]))] * bool(classes)
    parts += [aligned(_few([("column", "family"), *columns]), right=False)] * bool(columns)
    params = [(name, _short(value)) for name, value in found.params.items()]
    return "\n\n".join([*parts, aligned([("parameter", "value"), *params], right=False)])


def _few(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the heading and the first rows, and how many more there are."""
    more = len(rows) - 1 - _FEW
    return rows if more <= 0 else [*rows[: _FEW + 1], (f"and {more} more", *[""] * (len(rows[0]) - 1))]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 80 else f"{text[:80]} ..."
