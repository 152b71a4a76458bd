"""`suffice fit`: a model from files, chosen automatically or by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import DataError, listed
from ..scoring.text import described
from .data import check_out, reading
from .options import Data, Query, Target, Weight, names, types_of

_MODELS = {
    "gaussian": "GaussianClassifier",
    "mixed": "MixedClassifier",
    "categorical": "CategoricalClassifier",
    "multinomial": "MultinomialClassifier",
    "bernoulli": "BernoulliClassifier",
    "poisson": "PoissonClassifier",
    "logistic": "LogisticClassifier",
}


def fit(
    data: Data,
    target: Target,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")] = Path("model.safetensors"),
    model: Annotated[str, typer.Option(help=f"auto, which tries what is sensible, or {', '.join(_MODELS)}.")] = "auto",
    choices: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the model, as in --set covariance=tied.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="The columns to learn from, with commas; all by default.")] = None,
    types: Annotated[
        list[str] | None, typer.Option("--type", help="The type of a column of files, as in --type zip=string.")
    ] = None,
    weight: Weight = None,
    query: Query = None,
    checkpoint: Annotated[Path | None, typer.Option(help="A file to go on from, should the run be stopped.")] = None,
    skip: Annotated[bool, typer.Option("--skip", help="Leave out what cannot be read, instead of stopping.")] = False,
) -> None:
    """Fit a model to files or a database. Without --model, the best of the sensible ones is chosen, with a table that
    says why."""
    from .. import estimators, selection

    if model != "auto" and model not in _MODELS:
        raise DataError(f"there is no model {model!r}; choose one of {listed(['auto', *_MODELS], 10)}")
    if model == "auto" and (choices or checkpoint):
        raise DataError("--set and --checkpoint are for a model that is named, as in --model gaussian")
    if model == "logistic" and checkpoint:
        raise DataError("a logistic model has nothing to go on from: leave out --checkpoint")
    if query is not None and (checkpoint or skip or types):
        raise DataError("--checkpoint, --skip and --type are for files; a query is answered as a whole, with its types")
    if checkpoint is not None and checkpoint.absolute() == out.absolute():
        raise DataError(f"{out} cannot be both the model and the checkpoint; name two files")
    check_out(out)
    asked = {"checkpoint": checkpoint, "on_error": "skip" if skip else "raise", "types": types_of(types)}
    with reading(data, query, columns=names(columns), **asked) as rows:
        check_out(out, rows)
        if model == "auto":
            fitted: Any = selection.fit(rows, target, weight)
        else:
            kind = getattr(estimators, _MODELS[model])
            fitted = kind(**_parameters(choices or [], kind)).fit(rows, target, sample_weight=weight)
    fitted.save(out)
    if model == "auto":
        print(f"Judged by held-out log cost:\n\n{fitted.choice_}\n")
    print(f"{described(fitted)}\nWritten to {out}")


def _parameters(choices: list[str], kind: Any) -> dict[str, Any]:
    """Parameters from name=value; values are JSON, or else text."""
    found = {}
    known = kind().get_params(deep=False)
    for choice in choices:
        name, equals, text = choice.partition("=")
        if not equals or name not in known:
            raise DataError(f"--set {choice}: give name=value; {kind.__name__} has {listed(known, 10)}")
        try:
            found[name] = json.loads(text)
        except json.JSONDecodeError:
            found[name] = text
    return found
