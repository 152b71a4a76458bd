"""The sections of a report."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities import Density
from ..lines import counted
from ..scoring.choice import CRITERIA, SURE, Choice
from ..scoring.evaluation import Evaluation
from ..scoring.intervals import wilson
from .charts import Chart, horizontal_bars, round_numbers
from .classes import MANY, confusions
from .columns import ColumnFacts, as_date, categories_of, numbers_of
from .figures import Figure
from .markup import NONE, Markup, folded, table, tag, together
from .meanings import word
from .rows import DrawnRows, ReportRows
from .strange import LEVEL, Outliers, Strange

Array = NDArray[Any]

_DRAWN = 12  # columns that have a chart
_TELLING = 25  # columns whose evidence is drawn
_LISTED = 40  # columns in a table, before those that are folded away
_FEW = 12  # classes in a table, if there are many
_CONFUSED = 12  # pairs of classes
_LETTERS = 48  # of the names of categories, side by side below a chart


def section(name: str, title: str, *content: Any) -> Markup:
    """Return a section that the contents of the page can lead to."""
    return tag("section", tag("h2", title, id=f"{name}-title"), content, id=name, aria_labelledby=f"{name}-title")


def glance(figures: list[Figure]) -> Markup:
    """Return the figures as cards."""
    cards = []
    for figure in figures:
        ends = ""
        if figure.low is not None:
            ends = f"95% interval {figure.shown(figure.low)} to {figure.shown(figure.high)}"
        cards.append(
            tag(
                "div",
                tag("dt", figure.name if figure.word is None else word(figure.word, figure.name)),
                tag("dd", tag("span", figure.shown(figure.value), class_="big"), tag("span", ends, class_="interval")),
                tag("dd", figure.meaning, class_="quiet"),
                class_="card",
            )
        )
    return tag("dl", cards, class_="figures")


def the_data(rows: ReportRows, columns: list[ColumnFacts]) -> Markup:
    """Return what the rows are: classes and columns."""
    prior = rows.model.prior
    total = rows.by_class.sum()
    classes = [
        (
            rows.classes[c],
            tag("td", counted(float(rows.by_class[c])), class_="number"),
            tag("td", f"{100 * rows.by_class[c] / total:.1f}%", class_="number"),
            tag("td", NONE if prior is None else f"{100 * prior[c]:.1f}%", class_="number"),
        )
        for c in _in_order(rows)
    ]
    what = "weight" if rows.is_weighted else "rows"
    heading = ("class", what, "share", "share in training")
    parts = [folded(heading, classes, "Classes of the evaluated rows", _first(rows), "all-classes", "classes")]
    if columns:
        because = rows.reasons
        cells = [
            (
                column.name,
                column.family,
                *([because.get(column.name, "")] if because else []),
                tag("td", column.summary, class_="values"),
                tag("td", f"{100 * column.missing:.1f}%" if column.missing else "none", class_="number"),
                tag("td", f"{column.unknown}" if column.unknown else "none", class_="number"),
            )
            for column in columns
        ]
        title = (
            "column",
            word("family", "family"),
            *(["because"] if because else []),
            "values",
            "missing",
            "unknown categories",
        )
        caption = "Columns of the model, in the evaluated rows"
        parts.append(folded(title, cells, caption, _LISTED, "all-columns", "columns"))
    if len(rows.drawn.code) < len(rows.code):
        note = f"Columns and rows are shown of {len(rows.drawn.code)} rows, drawn at random."
        parts.append(tag("p", note, class_="quiet"))
    return together(parts)


def _first(rows: ReportRows) -> int:
    """How many classes a table shows, before those that are folded away."""
    return MANY if rows.n_classes <= MANY else _FEW


def _in_order(rows: ReportRows) -> list[int]:
    """The classes; of many, the most frequent first."""
    if rows.n_classes <= MANY:
        return list(range(rows.n_classes))
    return [int(c) for c in np.argsort(-rows.by_class, kind="stable")]


def the_models(choice: Choice) -> Markup:
    """Return what was tried, and why this model was chosen."""
    name = CRITERIA[choice.scoring]
    lines = []
    for i, result in enumerate((*choice.candidates, choice.baseline)):
        ends = (result.worse + sign * SURE * result.uncertainty for sign in (-1, 1))
        mark = "chosen" if i == 0 else "baseline" if result is choice.baseline else ""
        notes = ", ".join(filter(None, (mark, "calibrated" if result.calibrated else "")))
        worse = "" if i == 0 else "{:+.4f} to {:+.4f}".format(*ends)
        numbers = (f"{result.log_loss:.4f}", f"{100 * result.error:.2f}%", worse)
        lines.append((result.name, *(tag("td", number, class_="number") for number in numbers), notes))
    heading = ("model", "log loss", "error rate", f"worse in {name}, 95% interval", "")
    left = [tag("li", f"{column}: {reason}") for column, reason in choice.left_out.items()]
    without = [tag("h3", "Columns that were left out"), tag("ul", left)] if left else None
    return together(
        [tag("p", choice.summary), table(heading, lines, f"Models by held-out {name}, best first"), without]
    )


def the_columns(rows: ReportRows, columns: list[ColumnFacts]) -> Markup:
    """Return how much each column tells, and what it looks like for each class."""
    telling = sorted((c for c in columns if c.tells is not None), key=lambda c: -(c.tells or 0.0))
    parts: list[Any] = []
    if telling:
        generative = rows.model.density.has_likelihoods
        what = (
            "The mean share of each column in the log-likelihood ratio of the true class over the strongest other one. "
            "A negative share misleads more often than it helps, or corrects that of a column that it depends on."
            if generative
            else "How much the log loss of these rows grows if the values of the column are shuffled."
        )
        bars = [(column.name, column.tells or 0.0) for column in telling[:_TELLING]]
        title = "Evidence of the columns"
        if len(telling) > _TELLING:
            title = f"Evidence of the {_TELLING} columns that tell most, of {len(telling)}"
        parts.append(horizontal_bars(title, bars, "nats", what, lambda v: f"{v:+.3f}"))
    drawn = (telling or columns)[:_DRAWN]
    charts = [chart for column in drawn if (chart := _column_chart(rows.drawn, column)) is not None]
    if charts:
        note = "Bars are the evaluated rows; lines and ticks are what the model expects of each class."
        if not isinstance(rows.model.density, Density):
            note = "The evaluated rows by class. The model compares classes, and has no density of its own."
        parts += [tag("h3", "Columns by class"), tag("p", note, class_="quiet"), tag("div", charts, class_="charts")]
    return together(parts)


def _column_chart(rows: DrawnRows, column: ColumnFacts) -> Markup | None:
    shown = rows.most_frequent
    legend = [(rows.colour(c), rows.classes[c]) for c in shown]
    if column.kind == "other":
        return None
    if column.kind == "category":
        return _category_chart(rows, column, shown, legend)
    found = numbers_of(rows, column.index)
    if found is None:
        return None
    tops = [float(found.heights[shown].max())]
    if found.curves is not None:
        tops.append(min(float(np.nan_to_num(found.curves[shown]).max()), 3 * tops[0]))
    ends = float(found.edges[0]), float(found.edges[-1])
    ticks = [(day, as_date(day)) for day, _ in round_numbers(*ends, 3)] if column.kind == "date" else None
    chart = Chart(column.name, ends, (0, 1.05 * max(tops) or 1.0), column.name, "density", "", ticks)
    for c in shown:
        chart.stairs(found.edges, found.heights[c], rows.colour(c))
    if found.curves is not None:
        for c in shown:
            chart.line(found.grid, found.curves[c], rows.colour(c))
    return chart.svg(legend)


def _category_chart(rows: DrawnRows, column: ColumnFacts, shown: list[int], legend: Any) -> Markup | None:
    found = categories_of(rows, column.index)
    if found is None:
        return None
    m = len(found.names)
    top = float(found.observed[shown].max())
    if found.expected is not None:
        top = max(top, float(np.nan_to_num(found.expected[shown]).max()))
    fit = _LETTERS // m
    ticks = [(i + 0.5, name if len(name) <= fit else f"{name[: fit - 1]}…") for i, name in enumerate(found.names)]
    chart = Chart(column.name, (0, m), (0, 1.05 * top or 1.0), column.name, "share of the class", "", ticks)
    width = 0.8 / len(shown)
    for i, name in enumerate(found.names):
        for place, c in enumerate(shown):
            left = i + 0.1 + place * width
            share = float(found.observed[c, i])
            chart.bar(left, left + width, 0, share, rows.colour(c), f"{rows.classes[c]}, {name}: {100 * share:.1f}%")
            if found.expected is not None:
                chart.line([left, left + width], [found.expected[c, i]] * 2, f"c{rows.colour(c)} tick")
    return chart.svg(legend)


def strange_rows(rows: ReportRows, outliers: Outliers | None, mistakes: list[Strange]) -> Markup:
    """Return the rows to look at."""
    parts: list[Any] = []
    if mistakes:
        parts.append(_strange_table("Wrong decisions that the model was most sure of", mistakes, rows))
    else:
        parts.append(tag("p", "No row was decided wrongly."))
    if outliers is None:
        parts.append(tag("p", "This model has no densities, so that it cannot tell outliers.", class_="quiet"))
    else:
        share = 100 * outliers.n_found / max(outliers.n_rows, 1)
        words = (
            f"{outliers.n_found} of {outliers.n_rows} rows ({share:.1f}%) have a typicality below {LEVEL} under every "
            f"class; about {100 * LEVEL:.0f}% are to be expected."
        )
        parts.append(tag("p", words))
        if outliers.least:
            parts.append(_strange_table("The least typical rows", outliers.least, rows))
    return together(parts)


def _strange_table(title: str, found: list[Strange], rows: ReportRows) -> Markup:
    columns = list(found[0].cells)
    typical = found[0].typicality is not None
    first = [] if rows.drawn.number is None else ["row"]
    lines = []
    for one in found:
        cells: list[Any] = [one.truth, one.decision, tag("td", _nearly(one.posterior), class_="number")]
        cells += [tag("td", f"{one.typicality:.2g}", class_="number")] if typical else []
        lines.append([*([one.row] if first else []), *cells, *(_cell(one.cells[name]) for name in columns)])
    heading = [
        *first,
        "true class",
        "decision",
        "posterior",
        *([word("typicality", "typicality")] if typical else []),
        *columns,
    ]
    note = "Rows of the table, counted from 0." if first else ""
    return together([table(heading, lines, title), tag("p", note, class_="quiet") if note else None])


def _nearly(probability: float) -> str:
    return ">99.9%" if 0.9995 <= probability < 1 else f"{100 * probability:.1f}%"


def _cell(text: str) -> Markup:
    return tag("td", text, class_="words" if len(text) > 40 else None)


def recalls(rows: ReportRows, found: Evaluation) -> Markup:
    """Return the recall of each class, with its interval; of many classes also which are taken for which."""
    squares = np.bincount(rows.code, rows.weight**2, rows.n_classes)
    lines = []
    for c in _in_order(rows):
        share = found.recall[c]
        if share is None:
            continue
        low, high = wilson(share, float(rows.by_class[c] ** 2 / squares[c]))
        numbers = (f"{100 * share:.1f}%", f"{100 * low:.1f}% to {100 * high:.1f}%", counted(float(rows.by_class[c])))
        lines.append((rows.classes[c], *(tag("td", number, class_="number") for number in numbers)))
    caption = "Share of each class that is classified correctly"
    parts = [
        folded(("class", "recall", "95% interval", "rows"), lines, caption, _first(rows), "all-recalls", "classes")
    ]
    pairs = confusions(found, _CONFUSED) if rows.n_classes > MANY else []
    if pairs:
        cells = [
            (truth, decision, *(tag("td", t, class_="number") for t in (counted(n), f"{100 * share:.1f}%")))
            for truth, decision, n, share in pairs
        ]
        heading = ("class", "taken for", "rows", "share of the class")
        parts.append(table(heading, cells, "The most frequent mistakes"))
    return tag("div", [tag("div", part) for part in parts], class_="side")
