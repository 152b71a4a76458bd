"""`suffice search`: the best parameters of a model, by cross-validation in one pass."""

from __future__ import annotations

from itertools import product
from typing import Any

import click

from ..errors import alike, listed, not_known
from ..lines import aligned
from . import options
from .data import Data, labelled_rows, note_left_out, reads_data, telling
from .fit import check_parameters, estimator_of
from .options import UsageError
from .output import Output, as_json_text, writes

_FEW = 20  # candidates that are shown to people


@click.command(epilog="Example: suffice search birds.csv -t species --model mixed --grid covariance=full,tied_diag")
@options.target
@click.option("--model", default="mixed", show_default=True, help="A model as in suffice fit, except auto.")
@click.option(
    "--grid",
    multiple=True,
    required=True,
    help="A parameter and the values to try, as in --grid covariance=full,diag or --grid 'alpha=[0.5, 1]'. Repeat it "
    "for more parameters.",
)
@click.option("--folds", default=5, show_default=True, type=click.IntRange(2), help="Folds of held-out rows.")
@click.option(
    "--scoring",
    default="neg_log_loss",
    show_default=True,
    help="The score to maximise: neg_log_loss, accuracy, neg_log_cost, neg_dcf, or any score of scikit-learn.",
)
@writes("The file for the best model, fitted to all rows. Default: none is written.")
@options.families
@click.option("--columns", help="The columns to learn from, separated by commas. Default: all.")
@options.weight
@options.skip_unlabelled
@options.as_json
@reads_data
def search(
    data: Data,
    target: str,
    model: str,
    grid: tuple[str, ...],
    folds: int,
    scoring: str,
    out: Output | None,
    families: tuple[str, ...],
    columns: str | None,
    weight: str | None,
    skip_unlabelled: bool,
    as_json: bool,
) -> None:
    """Search for the best parameters of a model.

    All combinations of the values in --grid are tried by cross-validation, without refitting.
    """
    if model == "auto":
        raise UsageError("--model auto tries models by itself: use suffice fit, or name a model to search")
    kind, own = estimator_of(model, options.families_of(families))
    values = _grid(grid, kind)
    for point in product(*values.values()):
        check_parameters(kind(**own | dict(zip(values, point, strict=True))))
    _check_scoring(scoring)

    from ..selection import OnePassSearchCV

    with data.opened(options.names(columns), bar=False) as rows:
        if out is not None:
            out.check(rows)
        tried = OnePassSearchCV(kind(**own), values, scoring=scoring, cv=folds, error_score="raise")
        given = {} if weight is None else {"sample_weight": weight}
        left_out: dict[str, str] = {}
        if "families" in kind().get_params(deep=False):
            rows, left_out = telling(rows, target, weight, own.get("families", "auto"))
        tried.fit(labelled_rows(rows, target, weight, skip_unlabelled), target, **given)
    best = tried.best_estimator_
    note_left_out(best, left_out, data)
    if out is not None:
        with out.file() as path:
            best.save(path)
    results = tried.cv_results_
    order = results["rank_test_score"].argsort(kind="stable")
    found = [
        results["params"][i] | {"score": results["mean_test_score"][i], "deviation": results["std_test_score"][i]}
        for i in order
    ]
    if as_json:
        facts = {"model": type(best).__name__, "scoring": scoring, "folds": folds, "candidates": found}
        print(as_json_text(facts)) if out is None else out.done("", facts)
        return
    heading = (*values, "score", "of folds")
    lines = [(*(each[name] for name in values), f"{each['score']:.4f}", f"± {each['deviation']:.4f}") for each in found]
    table = aligned([heading, *lines[:_FEW]])
    more = f"\nand {len(lines) - _FEW} more; --json prints all" if len(lines) > _FEW else ""
    said = f"{scoring} of held-out rows in {folds} folds, best first:\n\n{table}{more}"
    print(said) if out is None else out.done(f"{said}\n")


def _check_scoring(scoring: str) -> None:
    from sklearn.metrics import get_scorer_names

    from ..selection.scorers import SCORES

    known = [*SCORES, *get_scorer_names()]
    if scoring not in known:
        raise UsageError(f"--scoring {scoring} {not_known(scoring, known)}")


def _grid(texts: tuple[str, ...], kind: Any) -> dict[str, list[Any]]:
    """Return the values to try by parameter, from name=a,b,c texts; the values are JSON, or text."""
    known, found = kind().get_params(deep=False), {}
    for text in texts:
        name, equals, given = text.partition("=")
        if not equals or not given.strip() or name not in known:
            own = f"{listed(known, len(known))}{alike(name, known)}"
            raise UsageError(f"--grid {text}: give name=a,b,c with one of the parameters of {kind.__name__}: {own}")
        whole = options.value_of(given)
        found[name] = (
            whole if isinstance(whole, list) else [options.value_of(part.strip()) for part in given.split(",")]
        )
    return found
