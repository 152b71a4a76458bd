"""The charts of scores: how well they separate the classes, and how well they are calibrated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .. import decisions, metrics
from ..scoring.intervals import wilson
from .charts import Chart
from .markup import Markup
from .rows import ScoredRows

Array = NDArray[Any]

_POINTS = 300  # of a curve
_BINS = 10  # of a reliability diagram
_ACTUAL, _MINIMUM = "quiet-dark", 2  # colours of lines that belong to no class
_RATES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)


def score_charts(rows: ScoredRows, odds: float) -> list[Markup]:
    """Return the charts of scores.

    Parameters
    ----------
    rows : ScoredRows
        The rows.
    odds : float
        The log odds of the effective prior of two classes, where lines and points start.
    """
    if rows.n_classes == 2:
        llr = decisions.log_likelihood_ratio(rows.scores, 0, 1)
        return [*_of_pair(rows, llr, odds), calibration_chart(rows)]
    charts = [_histogram(rows, rows.detection(c), c) for c in rows.most_frequent]
    if not rows.is_weighted and rows.has_all_classes:
        charts += _of_many(rows, rows.most_frequent)
    return [*charts, calibration_chart(rows)]


def _of_pair(rows: ScoredRows, llr: Array, odds: float) -> list[Markup]:
    charts = [_histogram(rows, llr, 1, -odds)]
    if rows.is_weighted or not rows.has_all_classes:
        return charts
    target = rows.code == 1
    curve = metrics.bayes_error_curve(target, llr)
    top = float(np.clip(1.15 * max(curve.actual.max(), 1.0), 1.0, 2.0))
    here = metrics.bayes_error_curve(target, llr, [float(np.clip(odds, -600, 600))])
    gap = float(here.actual[0] - here.minimum[0])
    chart = Chart(
        "Bayes error plot",
        (-7, 7),
        (0, top),
        "log odds of the effective prior",
        "normalised cost",
        "Cost at every prior, relative to the best decision without data. With the prior and the costs that this "
        f"report starts with, better calibration could save {gap:.2g}.",
    )
    chart.line([-7, 7], [1, 1], "quiet")
    chart.line(curve.log_odds, curve.minimum, _MINIMUM)
    chart.line(curve.log_odds, curve.actual, _ACTUAL)
    chart.moving_line("bayes-line", float(np.clip(odds, -7, 7)), "prior")
    charts.append(chart.svg([(_ACTUAL, "actual"), (_MINIMUM, "after the best calibration"), ("quiet", "without data")]))
    miss, alarm = _rates(target, llr)
    point = _at(target, llr, -odds)
    area = float(((1 - miss[1:] + 1 - miss[:-1]) / 2) @ -np.diff(alarm))
    names = rows.classes
    roc = Chart(
        "ROC curve",
        (0, 1),
        (0, 1),
        f"share of {names[0]} taken for {names[1]} (false alarms)",
        f"share of {names[1]} found",
        f"The area under the curve is {area:.4f}. The point is the decision with the prior and the costs set above.",
    )
    roc.line([0, 1], [0, 1], "quiet")
    roc.line(alarm, 1 - miss, _ACTUAL)
    roc.moving_dot("roc-dot", point[1], 1 - point[0])
    ends = float(ndtri(5e-4)), float(ndtri(1 - 5e-4))
    ticks = [(float(ndtri(rate)), f"{100 * rate:g}") for rate in _RATES]
    det = Chart(
        "DET curve",
        ends,
        ends,
        "false alarms, %",
        "misses, %",
        "Both error rates on a normal scale, where Gaussian scores give a straight line. Lower is better.",
        ticks,
        ticks,
    )
    with np.errstate(divide="ignore"):
        det.line(ndtri(alarm), ndtri(miss), _ACTUAL)
        det.moving_dot(
            "det-dot", *(float(np.clip(ndtri(np.clip(rate, 1e-9, 1 - 1e-9)), *ends)) for rate in point[::-1])
        )
    return [*charts, roc.svg(), det.svg()]


def _of_many(rows: ScoredRows, shown: list[int]) -> list[Markup]:
    """One curve for each class against the others."""
    ends = float(ndtri(5e-4)), float(ndtri(1 - 5e-4))
    ticks = [(float(ndtri(rate)), f"{100 * rate:g}") for rate in _RATES]
    ratio = "the others are equally probable"
    bayes = Chart(
        "Bayes error plots",
        (-7, 7),
        (0, 1.5),
        "log odds of the effective prior of the class",
        "normalised cost",
        f"Each class against the others; {ratio}. 1 is the best decision without data.",
    )
    roc = Chart("ROC curves", (0, 1), (0, 1), "false alarms", "share found", f"Each class against the others; {ratio}.")
    det = Chart(
        "DET curves",
        ends,
        ends,
        "false alarms, %",
        "misses, %",
        "The same error rates on a normal scale. Lower is better.",
        ticks,
        ticks,
    )
    bayes.line([-7, 7], [1, 1], "quiet")
    roc.line([0, 1], [0, 1], "quiet")
    for c in shown:
        target, llr = rows.code == c, rows.detection(c)
        curve, (miss, alarm) = metrics.bayes_error_curve(target, llr), _rates(target, llr)
        bayes.line(curve.log_odds, curve.actual, rows.colour(c))
        roc.line(alarm, 1 - miss, rows.colour(c))
        with np.errstate(divide="ignore"):
            det.line(ndtri(alarm), ndtri(miss), rows.colour(c))
    keys = [(rows.colour(c), rows.classes[c]) for c in shown]
    return [bayes.svg(keys), roc.svg(keys), det.svg(keys)]


def _histogram(rows: ScoredRows, llr: Array, c: int, threshold: float | None = None) -> Markup:
    """How the log-likelihood ratios of two classes, or of a class and the others, are distributed."""
    finite = llr[np.isfinite(llr)]
    low, high = np.quantile(finite, [0.005, 0.995]) if len(finite) else (-1.0, 1.0)
    reach = 7.0 if rows.n_classes == 2 else 1.0
    low, high = min(low, -reach), max(high, reach)
    low, high = max(low, -60.0), min(high, 60.0)
    edges = np.linspace(low, high, 41)
    inside = np.clip(llr, low, high)
    groups = [(rows.code == c, rows.colour(c)), (rows.code != c, 0 if rows.n_classes == 2 else "quiet")]
    heights = []
    for member, _ in groups:
        total = rows.weight[member].sum()
        heights.append(100 * np.histogram(inside[member], edges, weights=rows.weight[member])[0] / (total or 1.0))
    name = rows.classes[c]
    over = rows.classes[0] if rows.n_classes == 2 else "the others"
    wrong = [
        float(rows.weight[m & (side * llr <= 0)].sum() / (rows.weight[m].sum() or 1.0))
        for (m, _), side in zip(groups, (1, -1), strict=True)
    ]
    chart = Chart(
        f"{name}: log-likelihood ratios",
        (low, high),
        (0, 1.08 * max(float(np.max(heights)), 1e-9)),
        f"log-likelihood ratio of {name} over {over}",
        "% of the rows",
        f"{100 * wrong[0]:.1f}% of {name} are below 0 and {100 * wrong[1]:.1f}% of {over} are above. What lies "
        "outside is counted at the edges.",
    )
    for (_, colour), height in zip(groups, heights, strict=True):
        if isinstance(colour, int):
            chart.stairs(edges, height, colour)
        chart.line(np.repeat(edges, 2)[1:-1], np.repeat(height, 2), colour)
    if threshold is not None:
        chart.moving_line("threshold-line", float(np.clip(threshold, low, high)), "threshold")
    return chart.svg([(groups[0][1], name), (groups[1][1], over)])


def calibration_chart(rows: ScoredRows) -> Markup:
    """Predicted probabilities against how often they came true."""
    frequencies = rows.by_class / rows.by_class.sum()
    posterior = rows.posterior(frequencies)
    few = rows.n_classes <= 4
    groups: list[tuple[Array, Array, Array, int | str]]
    groups = [(posterior[:, c], rows.code == c, rows.weight, c) for c in range(rows.n_classes)]
    of = ""
    if rows.n_classes == 2:
        groups, of = groups[1:], f" of {rows.classes[1]}"
    elif not few:
        most, of = posterior.argmax(axis=1), " of the most probable class"
        groups = [(posterior.max(axis=1), rows.code == most, rows.weight, "quiet-dark")]
    off, total = 0.0, 0.0
    chart_points = []
    for probability, came, weight, colour in groups:
        order = np.argsort(probability, kind="stable")
        cut = np.array_split(order, min(_BINS, max(1, len(order) // 5)))
        mean = np.array([np.average(probability[part], weights=weight[part]) for part in cut])
        share = np.array([np.average(came[part], weights=weight[part]) for part in cut])
        sizes = np.array([weight[part].sum() ** 2 / (weight[part] ** 2).sum() for part in cut])
        ends = np.array([wilson(s, m) for s, m in zip(share, sizes, strict=True)])
        weights = np.array([weight[part].sum() for part in cut])
        off, total = off + float((weights * np.abs(mean - share)).sum()), total + float(weights.sum())
        chart_points.append((mean, share, ends, colour))
    chart = Chart(
        "Calibration",
        (0, 1),
        (0, 1),
        f"predicted probability{of}",
        "share that came true",
        f"Points on the diagonal are well calibrated; they are {100 * off / total:.1f} percentage points off on "
        "average. Bars are 95% intervals; the prior is the class frequencies of these rows.",
    )
    chart.line([0, 1], [0, 1], "quiet")
    for mean, share, ends, colour in chart_points:
        chart.upright(mean, ends[:, 0], ends[:, 1], colour)
        chart.line(mean, share, colour)
        chart.dots(mean, share, colour)
    keys = [(c, rows.classes[c]) for c in range(rows.n_classes)] if few and rows.n_classes > 2 else []
    return chart.svg(keys)


def _rates(target: Array, llr: Array) -> tuple[Array, Array]:
    """Miss and false-alarm rates at many thresholds, from accepting all rows to rejecting all."""
    scores = metrics.SortedScores.of(target, llr)
    every = np.unique(llr[np.isfinite(llr)])
    if len(every) > _POINTS:
        every = np.unique(
            np.quantile(np.concatenate([scores.targets, scores.others]), np.linspace(0, 1, _POINTS), method="nearest")
        )
    return scores.rates(np.concatenate([[-np.inf], every, [np.inf]]))


def _at(target: Array, llr: Array, threshold: float) -> tuple[float, float]:
    miss, alarm = metrics.SortedScores.of(target, llr).rates(np.array([threshold]))
    return float(miss[0]), float(alarm[0])
