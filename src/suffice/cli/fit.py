"""`suffice fit`: fit a model to files or a database, chosen automatically or by name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import click

from ..errors import alike, listed, not_known
from ..scoring.choice import CRITERIA
from ..storage import locate
from . import options
from .data import Data, labelled_rows, note_left_out, read_as, reads_data, telling
from .options import StoppedError, UsageError
from .output import Output, writes


@click.command(epilog="Example: suffice fit birds.csv -t species -o birds.safetensors")
@options.target
@writes("The model file to write.", "model.safetensors")
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
    help="A parameter of a named model, as in --set covariance=tied. Repeat it for more.",
)
@click.option("--folds", type=click.IntRange(2), help="For auto: the number of folds of held-out rows.")
@click.option(
    "--groups",
    help="For auto: a column such as the patient. Rows of one group are held out together, and nothing is learnt from "
    "the column.",
)
@click.option(
    "--scoring",
    help="For auto: what models are compared by: log_loss, error, or costs, as JSON or a JSON file. Default: log_loss.",
)
@click.option("--time-limit", type=click.FloatRange(0), help="For auto: seconds after which no further model is tried.")
@click.option("--no-calibrate", is_flag=True, help="For auto: leave the scores as they are.")
@click.option("--generative", is_flag=True, help="For auto: only models that merge and forget; no logistic regression.")
@options.families
@click.option(
    "--like",
    help="A model file: fit a model of the same kind, with its parameters, columns, families and bins. The two can "
    "then be merged.",
)
@click.option("--columns", help="The columns to learn from, separated by commas. Default: all.")
@options.weight
@click.option("--checkpoint", help="A file that saves the progress; the same command resumes an interrupted run.")
@options.skip_unlabelled
@click.option("--report", help="An HTML file to write a report to, on rows that are held out in turn.")
@options.as_json
@reads_data
def fit(
    data: Data,
    target: str,
    out: Output,
    model: str,
    choices: tuple[str, ...],
    folds: int | None,
    groups: str | None,
    scoring: str | None,
    time_limit: float | None,
    no_calibrate: bool,
    generative: bool,
    families: tuple[str, ...],
    like: str | None,
    columns: str | None,
    weight: str | None,
    checkpoint: str | None,
    skip_unlabelled: bool,
    report: str | None,
    as_json: bool,
) -> None:
    """Fit a model to files or a database. Without --model, the best of several is chosen on held-out rows."""
    reported = None if report is None else Output(report, out.force, "report", "--report")
    if reported is not None:
        reported.check()
    how: dict[str, Any] = {"cv": folds, "groups": groups, "scoring": _criterion(scoring), "time_limit": time_limit}
    how |= {"calibrate": False if no_calibrate else None, "generative": generative or None}
    search = {name: value for name, value in how.items() if value is not None}
    of_families, wanted = options.families_of(families), options.names(columns)
    if groups is not None and wanted is not None and groups not in wanted:
        wanted = [*wanted, groups]  # to be read, though nothing is learnt from it
    kind, own = (None, {}) if model == "auto" else estimator_of(model, of_families)
    liked: Any = None
    if like is not None:
        if model != "auto" or choices or families or columns or search:
            raise UsageError(
                "--like takes all from another model: leave out --model, --set, --families, --columns "
                "and the options of auto"
            )
        liked, own, wanted = _like(like, target)
        kind = type(liked)
    if kind is None and (choices or checkpoint):
        raise UsageError("--set and --checkpoint need a named model, as in --model gaussian")
    if model != "auto" and search:
        raise UsageError(
            "--folds, --groups, --scoring, --time-limit, --no-calibrate and --generative need --model auto"
        )
    if groups is not None and report is not None:
        raise UsageError("--report does not hold out rows by --groups; use suffice report with rows of other groups")
    if model == "logistic" and checkpoint:
        raise UsageError("--model logistic does not support --checkpoint")
    if kind is not None:
        own = own | _parameters(choices, kind)
        check_parameters(kind(**own))
    if checkpoint is not None and locate(checkpoint).identity == locate(out.path).identity:
        raise UsageError(f"{locate(out.path)} cannot be both the model and the checkpoint; give two different files")
    bar = model != "mixture"  # which has its own, for many passes
    with data.opened(wanted, bar, checkpoint=checkpoint) as given:
        out.check(given)
        kept: Any = given
        left_out: dict[str, str] = {}
        if kind is not None and like is None:
            has_families = "families" in kind().get_params(deep=False)
            kept, left_out = telling(given, target, weight, own.get("families", "auto"), has_families)
        rows = labelled_rows(kept, target, weight, skip_unlabelled)
        if liked is not None:
            rows = read_as(liked.to_model(), rows)
        if kind is None:
            from .. import selection

            fitted: Any = selection.fit(rows, target, weight, families=of_families, **search)
        else:
            fitted = kind(**own).fit(rows, target, sample_weight=weight)
        note_left_out(fitted, left_out, data)
        with out.file() as path:
            fitted.save(path)
        if reported is not None:
            from .report import report_of_fit

            try:
                report_of_fit(fitted, given, target, weight, reported, skip_unlabelled)
            except KeyboardInterrupt:
                raise StoppedError(f"interrupted; the model is in {locate(out.path)}, without a report") from None
    tell(fitted, out, as_json, reported)


def tell(fitted: Any, out: Output, as_json: bool, report: Output | None) -> None:
    """Say what was fitted, what else was tried, and where it is."""
    from ..lines import described, filled, width

    choice = getattr(fitted, "choice_", None)
    if as_json:
        facts = {"model": type(fitted).__name__, "columns": fitted.n_features_in_, "classes": fitted.classes_.tolist()}
        tried = (
            None
            if choice is None
            else {"scoring": choice.scoring, "candidates": choice.rows(), "ended_by": choice.ended_by}
        )
        where = {} if report is None else {"report": str(locate(report.path))}
        out.done("", facts | {"choice": tried} | where)
        return
    said = filled(described(fitted), width())
    if choice is not None:
        heading = f"Models by held-out {CRITERIA[choice.scoring]}, with the log loss in nats:"
        said = f"{heading}\n\n{choice.folded(width())}\n\n{said}"
    if report is not None:
        said = f"{said}\nA report is in {locate(report.path)}"
    out.done(said)


def _criterion(scoring: str | None) -> Any:
    """What the automatic choice minimises: the name of a score, or costs; None if the user does not say."""
    if scoring in (None, "log_loss", "error"):
        return scoring
    if not (scoring.lstrip().startswith(("{", "[")) or os.path.exists(scoring)):
        raise UsageError(f"--scoring {scoring} is not known; give log_loss, error, or costs such as [[0, 1], [5, 0]]")
    return options.cost_of(scoring, [], "--scoring")


def _like(path: str, target: str) -> tuple[Any, dict[str, Any], list[str] | None]:
    """The model in a file, its parameters and its columns."""
    from ..errors import DataError
    from ..estimators import load
    from ..estimators.classifier import LLRClassifier

    model = load(options.received(path))
    if not isinstance(model, LLRClassifier):
        raise DataError(f"--like {locate(path)}: this is a {type(model).__name__}, not a classifier")
    parameters, density = model.get_params(deep=False), model.to_model().density
    if "families" in parameters and {*density.families_of_columns().values()} - {"number"}:
        parameters["families"] = model.schema_
    names = model._names()
    if target in (names or ()):
        labels = getattr(model, "target_", None)
        instead = "" if labels is None else f"; its labels are in {labels!r}"
        raise UsageError(f"-t {target}: {locate(path)} reads this column, so that it cannot hold the labels{instead}")
    return model, parameters, None if names is None else list(names)


def estimator_of(model: str, families: Any) -> tuple[Any, dict[str, Any]]:
    """The class of a model by its name, and the parameters that its name and the families stand for."""
    from .. import estimators
    from ..families import FAMILIES

    others = {"mixed": "MixedClassifier", "mixture": "MixtureClassifier", "logistic": "LogisticClassifier"}
    if model in others:
        kind = getattr(estimators, others[model])
        if families != "auto" and "families" not in kind().get_params(deep=False):
            raise UsageError(f"--model {model} does not support --families; use --model auto or mixed")
        return kind, {} if families == "auto" else {"families": families}
    if model not in FAMILIES:
        known = ["auto", *others, *FAMILIES]
        raise UsageError(f"--model {model} {not_known(model, known)}")
    if families != "auto":
        raise UsageError(f"--model {model} is of one family; use --model auto or mixed with --families")
    own = FAMILIES[model].estimator
    return (estimators.MixedClassifier, {"families": model}) if own is None else (getattr(estimators, own), {})


def check_parameters(estimator: Any) -> None:
    """Raise an error for a value that a parameter cannot have, before the rows are read."""
    check = getattr(estimator, "_validate", None) or getattr(estimator, "_check_params", None)
    if check is not None:
        check()


def _parameters(choices: Iterable[str], kind: Any) -> dict[str, Any]:
    """Return parameters from name=value texts; values are JSON, or text."""
    found = {}
    known = kind().get_params(deep=False)
    for choice in choices:
        name, equals, text = choice.partition("=")
        if not equals or name not in known:
            own = f"{listed(known, len(known))}{alike(name, known)}"
            raise UsageError(f"--set {choice}: give name=value, with one of the parameters of {kind.__name__}: {own}")
        found[name] = options.value_of(text)
    return found
