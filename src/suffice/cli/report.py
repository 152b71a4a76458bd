"""`suffice report`: a page on how good a model is."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import click

from ..errors import DataError, SufficeWarning, listed
from . import options
from .data import Data, reads_data
from .output import Output, writes

_FOLDS = 5
_ROWS = 200_000  # that are scored by models which have not seen them, at most


@click.command(epilog="Example: suffice report birds.safetensors test.csv -o birds.html --prior uniform")
@options.model
@options.labels
@options.prior
@options.cost
@options.weight
@options.skip_unlabelled
@click.option("--title", help="The heading. Default: the model and its classes.")
@writes("The HTML file to write.", "report.html", "report")
@reads_data
def report(
    model: str,
    data: Data,
    target: str | None,
    prior: str | None,
    cost: str | None,
    weight: str | None,
    skip_unlabelled: bool,
    title: str | None,
    out: Output,
) -> None:
    """Write a report on a model, as one HTML file.

    It shows how good the model is on labelled, held-out rows, and works offline. Prior and costs are sliders in the
    report, which start with --prior and --cost.

    MODEL is a model file, written by suffice fit.
    """
    from ..report import write_report
    from ..scoring import load_model
    from ..sources.labelled import labelled

    loaded = load_model(model)
    case, labels = options.application(prior, cost, loaded.classes), options.target_of(target, loaded, model)
    with data.opened() as rows, out.file() as path:
        out.check(rows)
        if skip_unlabelled:
            rows = labelled(loaded._source(rows, labels, weight))
        asked: dict[str, Any] = {"prior": case.prior, "cost": case.cost, "sample_weight": weight, "title": title}
        write_report(loaded, rows, labels, path, **asked)
    out.done(f"A report on {loaded.owner}, classes {listed(loaded.classes)}")


def report_of_fit(
    fitted: Any, rows: Any, target: str, weight: str | None, out: Output, skip_unlabelled: bool = False
) -> None:
    """Write a report on a model and the rows that it was fitted to, each scored by a model of other rows.

    Parameters
    ----------
    fitted : classifier
        The model.
    rows : anything tabular
        Its rows, with the labels in the column `target`.
    target, weight : str
        The names of columns.
    out : Output
        Where to write.
    skip_unlabelled : bool
        Whether to leave out rows without a label.
    """
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    from ..progress import progress
    from ..report.rows import drawn_rows, most_rows, of_drawn, score
    from ..report.writing import reasons_of, write_page
    from ..sources.labelled import labelled
    from ..sources.sampling import sampled
    from ..tables.infinity import without_infinity

    model = fitted.to_model()
    source = model._source(rows, target, weight)
    source = labelled(source) if skip_unlabelled else source
    held, number, n_rows, _ = sampled(source, min(_ROWS, most_rows(model, source)), 0, by_class=False)
    if model.takes_infinity:  # the models of other rows are told which one to be
        held = held.with_table(without_infinity(held.table)[0])
    labels = np.asarray(held.y)
    known, counts = np.unique(labels, return_counts=True)
    if counts.min() < 2 or len(known) < len(model.classes):
        raise DataError(
            "the model was written, but no report: it needs two rows of every class to hold one out, and class "
            f"{known[counts.argmin()]} has only one; write it with suffice report and rows of its own"
        )
    n_folds = min(_FOLDS, int(counts.min()))
    scores = np.empty((len(labels), len(model.classes)))
    with progress("Report", n_folds) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore", SufficeWarning)  # the model itself has told
        for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(labels, labels):
            part = clone(fitted).fit(held.rows(train), labels[train])
            if model.calibration is not None:
                part.calibration_ = model.calibration
            scores[test] = score(part.to_model(), held.table[test])
            advance(1)
    how = f"Each row was scored by a model of the other rows, in {n_folds} folds."
    drawn = drawn_rows(model, held, source, target, number, scores)
    found = replace(of_drawn(drawn, n_rows, len(number) < n_rows, how), reasons=reasons_of(fitted))
    with out.file() as path:
        write_page(found, path)
