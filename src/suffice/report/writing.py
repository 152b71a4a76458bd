"""A report as one HTML file that needs nothing else: no network, no library, no server."""

from __future__ import annotations

import os
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from importlib import resources
from typing import Any

import numpy as np

from .._version import __version__
from ..atomic import replacing
from ..errors import DataError
from ..scoring.model import Model
from . import sections
from .advice import advice
from .classes import ClassGroups
from .columns import facts_of
from .controls import Costs, controls, effective_log_odds, payload, results, standing_for
from .figures import evaluation_of, figures_of
from .markup import Markup, tag, together
from .meanings import glossary
from .pictures import score_charts
from .rows import ReportRows, ScoredRows, rows_of
from .strange import mistakes_of, outliers_of

_NARROW = 7  # decisions, of which a confusion matrix fits beside the sliders


def write_report(
    model: Any,
    X: Any,
    y: Any = None,
    path: str | os.PathLike[str] = "report.html",
    *,
    prior: Any = None,
    cost: Any = None,
    sample_weight: Any = None,
    title: str | None = None,
) -> None:
    """Write a report on a model and labelled rows, as one HTML file that works offline.

    It shows what the data are, which models were tried and why this one was chosen, figures with intervals, the
    distribution of scores, calibration, what each column contributes, and rows to look at. Prior and costs are sliders:
    threshold, decisions, confusion matrix and expected cost follow in the browser.

    Parameters
    ----------
    model : Model, classifier of suffice, or path
        The model.
    X : anything tabular, of shape (n, d)
        Labelled rows. Use rows that the model has not seen. The figures are of all rows, up to 16 million scores (rows
        times classes); of more rows, so many are drawn at random.
    y : array-like of shape (n,), str or None, default=None
        The true labels, or the name of the column of X that holds them. None takes the name that the model file knows.
    path : path, default="report.html"
        The file to write. It is replaced as a whole, or left as it was.
    prior, cost : as in `predict`
        Where the sliders start. None takes the prior of the model, and counts errors.
    sample_weight : array-like of shape (n,), str or None, default=None
        Row weights, or the name of the column of X that holds them.
    title : str, default=None
        The heading. None names the model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from suffice import GaussianClassifier, write_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = GaussianClassifier("tied").fit(X[::2], y[::2])
    >>> write_report(clf, X[1::2], y[1::2], "report.html", prior=0.9, cost=[[0, 1], [20, 0]])
    """
    own = as_model(model)
    rows = replace(rows_of(own, X, y, sample_weight), reasons=reasons_of(own))
    write_page(rows, path, prior, cost, title)


def as_model(model: Any) -> Model:
    """Return the model of a classifier, of a file, or itself."""
    if isinstance(model, str | os.PathLike):
        from ..scoring import load_model

        return load_model(model)
    own = model.to_model() if hasattr(model, "to_model") else model
    if not isinstance(own, Model):
        raise DataError(f"a report is about a classifier of suffice, not about a {type(model).__name__}")
    return own


def reasons_of(model: Any) -> dict[str, str]:
    """Return why the columns of a classifier have their families, by name; nothing where that is not known."""
    notes = as_model(model).column_notes
    return {} if notes is None else dict(notes.reasons)


def write_page(
    rows: ReportRows, path: str | os.PathLike[str], prior: Any = None, cost: Any = None, title: str | None = None
) -> None:
    """Write the report on rows that are scored already."""
    text = page(rows, prior, cost, title)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(rows: ReportRows, prior: Any, cost: Any, title: str | None) -> str:
    """Return the report as text."""
    model = rows.model
    used = np.asarray(model._as_prior(prior))
    costs = Costs.of(cost, model.classes)
    found = evaluation_of(rows, used, cost)
    groups = ClassGroups.of(rows, found, costs.actions, costs.own)
    in_page = standing_for(rows, used, costs)
    columns = facts_of(rows.drawn)
    telling = [column.index for column in sorted(columns, key=lambda column: -(column.tells or 0.0))]
    outliers = outliers_of(rows.drawn, used, telling)
    odds = effective_log_odds(used, costs) if rows.n_classes == 2 else 0.0
    charts = score_charts(rows, float(np.nan_to_num(odds, nan=0.0, posinf=700.0, neginf=-700.0)))
    contents: dict[str, tuple[str, list[Any]]] = {
        "figures": (
            "At a glance",
            [sections.glance(figures_of(rows, found, costs.matrix)), sections.recalls(rows, found)],
        ),
        "decide": (
            "Choose prior and costs",
            [
                tag("p", "Move the sliders: the decisions for all rows follow at once. Nothing leaves this page."),
                tag("p", _stands_for(rows, in_page), class_="quiet") if in_page is not rows else None,
                tag(
                    "div",
                    controls(rows, used, costs, groups),
                    results(rows, found, costs, used, groups),
                    class_="decide" if len(groups.columns) <= _NARROW else "decide wide",
                ),
            ],
        ),
        "scores": ("Scores", [tag("div", charts, class_="charts")]),
        "columns": ("Columns and their evidence", [sections.the_columns(rows, columns)] if columns else []),
        "data": ("The data", [sections.the_data(rows, columns)]),
        "models": ("Models that were tried", [] if model.choice is None else [sections.the_models(model.choice)]),
        "rows-to-look-at": (
            "Rows to look at",
            [sections.strange_rows(rows, outliers, mistakes_of(rows.drawn, used, telling))],
        ),
        "next": ("What to do next", [tag("ul", [tag("li", line) for line in advice(rows, found, columns, outliers)])]),
        "words": ("What the words mean", [glossary()]),
    }
    used_sections = {name: own for name, own in contents.items() if own[1]}
    links = [tag("li", tag("a", words, href=f"#{name}")) for name, (words, _) in used_sections.items()]
    body = [
        tag("a", "Skip to the report", href="#figures", class_="skip"),
        tag(
            "header",
            tag("p", "suffice report", class_="brand"),
            tag("h1", title or f"{model.owner}: {_classes(rows)}"),
            tag("p", _about(rows), class_="quiet"),
            tag("nav", tag("ul", links), aria_label="Contents"),
        ),
        tag("main", [sections.section(name, own[0], *own[1]) for name, own in used_sections.items()]),
        tag("footer", tag("p", f"Written by suffice {__version__}. This file needs no network.", class_="quiet")),
        payload(in_page, used, costs, groups),
    ]
    return _document(title or f"Report: {model.owner}", together(body))


def _document(title: str, body: Markup) -> str:
    style, script = (_part(name) for name in ("report.css", "report.js"))
    # Nothing but this very script runs, and nothing is fetched, whatever the names and cells of a table hold.
    allowed = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_digest(script)}'; base-uri 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=allowed),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    page = tag("html", head, tag("body", body, tag("script", Markup(script))), lang="en")
    return f"<!doctype html>\n{page}\n"


def _part(name: str) -> str:
    return resources.files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode()


def _classes(rows: ReportRows) -> str:
    names = rows.classes
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _stands_for(rows: ReportRows, in_page: ScoredRows) -> str:
    return (
        f"The sliders use {len(in_page.code)} of the {len(rows.code)} rows: each stands for rows of the same class and "
        "with much the same scores, and counts as many times. All other figures are those of all rows."
    )


def _about(rows: ReportRows) -> str:
    n = len(rows.code)
    evaluated = f"{n} rows, drawn at random from {rows.n_rows}" if rows.is_sample else f"{n} rows"
    how = rows.how or "The figures are of rows that you gave; they hold for new rows if the model has not seen these."
    calibrated = " Scores are calibrated." if rows.model.calibration is not None else ""
    return f"{evaluated}, {len(rows.drawn.names)} columns, {rows.n_classes} classes. {how}{calibrated}"
