"""The part of a report that moves: sliders for the prior and the costs, and what follows from them."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions
from ..scoring.evaluation import Evaluation
from ..tables.labels import positions
from .classes import ClassGroups
from .markup import NONE, Markup, data, finder, tag, titled
from .rows import ReportRows, ScoredRows

Array = NDArray[Any]

NUMBERS = 160_000  # scores in a page at most, 1.7 MB; four times as many with two bytes each
_FINE = 0.001  # nats, to which these are rounded
_NEVER = 65535  # in two bytes: a probability of zero
_FURTHEST = 9.2  # of the log odds of a slider
_RANGE = 3  # powers of ten of a cost


@dataclass(frozen=True)
class Costs:
    """Costs as sliders show them: what a wrong decision costs when the true class is a given one, times a base."""

    actions: list[str]  # what can be decided
    own: list[int]  # (k,) the decision that is right for each class, or -1
    base: Array  # (m, k)
    factor: Array  # (k,)

    @classmethod
    def of(cls, cost: Any, classes: Array) -> Costs:
        """Return given costs; None counts errors."""
        if cost is None:
            cost = 1.0 - np.eye(len(classes))
        actions, matrix = decisions.as_cost(cost, classes)
        names = [str(action) for action in actions.tolist()]
        own = positions(classes, actions).tolist()
        k = len(classes)
        factor = np.ones(k)
        if own == list(range(k)) and len(actions) == k and not np.diag(matrix).any():
            columns = [np.delete(matrix[:, c], c) for c in range(k)]
            if all(len(np.unique(column)) == 1 and column[0] > 0 for column in columns):
                factor = np.array([column[0] for column in columns])
                matrix = matrix / factor
        return cls(names, own, np.asarray(matrix, np.float64), factor)

    @property
    def matrix(self) -> Array:
        """The costs, (m, k)."""
        return self.base * self.factor

    @property
    def counts_errors(self) -> bool:
        """Whether a factor is what a wrong decision costs."""
        k = self.base.shape[1]
        return self.base.shape == (k, k) and bool((self.base == 1.0 - np.eye(k)).all())


def payload(rows: ScoredRows, prior: Array, costs: Costs, groups: ClassGroups) -> Markup:
    """Return all that the script needs: the scores and classes of the rows, or of rows that stand for them."""
    scores = decisions.log_likelihood_ratio(rows.scores, 0, 1) if rows.n_classes == 2 else rows.scores
    is_fine = scores.size <= NUMBERS
    return data(
        "rows",
        {
            "classes": rows.classes,
            "actions": costs.actions,
            "own": costs.own,
            "rowOf": groups.row_of.tolist(),
            "columnOf": groups.column_of.tolist(),
            "prior": prior.tolist(),
            "base": costs.base.tolist(),
            "factor": costs.factor.tolist(),
            "unit": None if is_fine else _FINE,
            "scores": _packed(scores.astype("<f8") if is_fine else below_the_top(scores)),
            "code": _packed(rows.code.astype("<u2")),
            "weight": _packed(rows.weight.astype("<f8")) if rows.is_weighted else None,
        },
    )


def below_the_top(scores: Array) -> Array:
    """Return how far scores (n, k) are below the greatest of their row, in two bytes each.

    >>> below_the_top(np.array([[-3.0, -1.0, -np.inf]]))
    array([[ 2000,     0, 65535]], dtype=uint16)
    """
    far = decisions.difference(scores.max(axis=1, keepdims=True), scores)
    return np.where(np.isneginf(scores), _NEVER, np.minimum(np.round(far / _FINE), _NEVER - 1)).astype("<u2")


def standing_for(rows: ScoredRows, prior: Array, costs: Costs) -> ScoredRows:
    """Return the rows, or if they are too many for a page, some that stand for all.

    Rows of the same class and decision that have neighbouring scores are counted as one of them, with the weight of
    all. The confusion matrix of `prior` and `costs` is exact (or, with very many kinds of mistakes, its sums by class).
    """
    n, k = rows.scores.shape
    if n <= (NUMBERS if k == 2 else 4 * NUMBERS // k):
        return rows
    most = NUMBERS // 3 if k == 2 else 4 * NUMBERS // (k + 5)  # those that stand for others have a weight, too
    posterior = rows.posterior(prior)
    decided = decisions.cheapest(posterior, costs.matrix)
    certain = decisions.log_likelihood_ratio(rows.scores, 0, 1) if k == 2 else posterior[np.arange(n), rows.code]
    kinds, kind = np.unique(rows.code * len(costs.actions) + decided, return_inverse=True)
    if 2 * len(kinds) > most:
        kind = rows.code
    order = np.lexsort((certain, kind))
    size = np.bincount(kind)
    pieces = np.maximum(most * size // n, np.minimum(size, 1))
    place = np.arange(n) - np.repeat(np.cumsum(size) - size, size)  # among the rows of a kind
    piece = np.repeat(np.cumsum(pieces) - pieces, size) + place * np.repeat(pieces, size) // np.repeat(size, size)
    start = np.flatnonzero(np.diff(piece, prepend=-1))
    middle = order[(start + np.append(start[1:], n)) // 2]
    weight = np.add.reduceat(rows.weight[order], start)
    return ScoredRows(rows.model, rows.code[middle], rows.scores[middle], weight)


def controls(rows: ReportRows, prior: Array, costs: Costs, groups: ClassGroups) -> Markup:
    """Return the sliders."""
    names = rows.classes
    sliders = [_prior_slider(name, c, float(prior[c])) for c, name in enumerate(names)]
    of_cost = [_cost_slider(words, c, float(costs.factor[c])) for c, words in enumerate(_cost_words(names, costs))]
    buttons = tag(
        "p",
        tag("button", "Reset", type="button", id="reset"),
        " ",
        tag("button", "All equal", type="button", id="equal"),
        class_="buttons",
    )
    legend = "How frequent are the classes where you use the model?"
    cost_legend = "What do wrong decisions cost?" if costs.counts_errors else "Costs, by the true class"
    return tag(
        "form",
        tag("fieldset", tag("legend", legend), _folded("priors", sliders, groups)),
        tag("fieldset", tag("legend", cost_legend), _folded("costs", of_cost, groups)),
        buttons,
        id="controls",
        autocomplete="off",
    )


def _folded(name: str, sliders: list[Markup], groups: ClassGroups) -> list[Markup]:
    """The sliders of the classes that are shown, and behind a line the others, with a field to find them."""
    shown = [tag("div", [sliders[c] for c in groups.shown], class_="sliders")]
    if groups.are_all:
        return shown
    others = [slider for c, slider in enumerate(sliders) if c not in set(groups.shown)]
    line = tag("summary", f"{len(others)} more classes")
    return [*shown, tag("details", line, finder(name, "Find a class"), tag("div", others, id=name, class_="sliders"))]


def results(rows: ReportRows, found: Evaluation, costs: Costs, prior: Array, groups: ClassGroups) -> Markup:
    """Return what follows from prior and costs; a script keeps it up to date."""
    cost = np.array(costs.matrix)
    facts = []
    if rows.n_classes == 2:
        threshold = _threshold(prior, costs)
        facts.append(("threshold", "Threshold of the log-likelihood ratio", f"{threshold:.4g}"))
    mean = _expected(found, cost, prior)
    without = float((cost @ prior).min())
    facts += [
        ("error", "Wrong decisions on these rows", f"{100 * found.error_rate:.2f}%"),
        ("cost", "Expected cost of a row", NONE if mean is None else f"{mean:.4g}"),
        ("without", "Expected cost without the model", f"{without:.4g}"),
        ("dcf", "Cost relative to that", NONE if found.dcf is None else f"{found.dcf:.4g}"),
    ]
    if rows.n_classes == 2 and costs.counts_errors:
        facts.append(("least", "Least cost with any threshold", NONE))
    cells = [tag("div", tag("dt", label), tag("dd", value, id=name)) for name, label, value in facts]
    live = tag("dl", cells, id="results", aria_live="polite")
    return tag("div", live, confusion(found, costs, groups))


def confusion(found: Evaluation, costs: Costs, groups: ClassGroups) -> Markup:
    """Return the confusion matrix, whose cells a script fills in again."""
    whole = np.array(found.confusion)
    counts = groups.summed(whole)
    own, hits = np.array(costs.own), np.zeros(whole.shape)
    hits[np.flatnonzero(own >= 0), own[own >= 0]] = 1.0
    right, is_right = groups.summed(whole * hits), groups.summed(hits) > 0
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    head = tag(
        "tr",
        tag("th", "true \\ predicted", scope="col"),
        [tag("th", name, scope="col") for name in groups.columns],
        tag("th", "recall", scope="col"),
    )
    body = []
    for i, (name, total) in enumerate(zip(groups.rows, counts.sum(axis=1), strict=True)):
        cells = []
        for j, count in enumerate(counts[i]):
            style, kind = f"--share:{shares[i, j]:.4f}", "hit" if is_right[i, j] else "miss"
            cells.append(tag("td", _count(count), id=f"cell-{i}-{j}", class_=kind, style=style))
        recall = f"{100 * right[i].sum() / total:.1f}%" if total else ""
        cells.append(tag("td", recall, id=f"recall-{i}", class_="number"))
        body.append(tag("tr", tag("th", name, scope="row"), cells))
    decided = counts.sum(axis=0)
    precision = [
        tag("td", f"{100 * r / n:.1f}%" if n else "", id=f"precision-{j}", class_="number")
        for j, (r, n) in enumerate(zip(right.sum(axis=0), decided, strict=True))
    ]
    body.append(tag("tr", tag("th", "precision", scope="row"), precision, tag("td", ""), class_="margin"))
    totals = [tag("td", _count(n), id=f"decided-{j}", class_="number") for j, n in enumerate(decided)]
    body.append(tag("tr", tag("th", "decided", scope="row"), totals, tag("td", ""), class_="margin"))
    caption = "Confusion matrix: rows are the true classes, columns the decisions"
    some = "" if groups.are_all else "; the classes with most mistakes, and the others together"
    return titled(f"{caption}{some}", head, body, class_="confusion")


def effective_log_odds(prior: Array, costs: Costs) -> float:
    """Return the log odds at which two classes are decided, from prior and costs; infinite where one is impossible."""
    return -_threshold(prior, costs)


def _threshold(prior: Array, costs: Costs) -> float:
    if not costs.counts_errors:
        return float("nan")
    with np.errstate(divide="ignore"):
        weights = np.log(prior) + np.log(costs.factor)
    return float(weights[0] - weights[1])


def _expected(found: Evaluation, cost: Array, prior: Array) -> float | None:
    counts = np.array(found.confusion)
    totals = counts.sum(axis=1)
    if (totals[prior > 0] == 0).any():
        return None
    shares = counts / np.maximum(totals[:, None], 1e-300)
    return float((prior * (shares * cost.T).sum(axis=1)).sum())


def _prior_slider(name: str, c: int, probability: float) -> Markup:
    odds = np.clip(np.log(max(probability, 1e-300)) - np.log(max(1 - probability, 1e-300)), -_FURTHEST, _FURTHEST)
    slider = {"type": "range", "id": f"prior-{c}", "min": -_FURTHEST, "max": _FURTHEST, "step": "0.01"}
    number = {"type": "number", "id": f"prior-number-{c}", "min": 0, "max": 100, "step": "any"}
    return tag(
        "div",
        tag("label", tag("b", name), " of all rows", for_=f"prior-{c}"),
        tag("input", **slider, value=f"{odds:.4f}", aria_valuetext=f"{100 * probability:.3g}%"),
        tag("span", tag("input", **number, value=f"{100 * probability:.4g}", aria_label=f"{name}, percent"), " %"),
        class_="slider",
    )


def _cost_slider(words: list[tuple[str, bool]], c: int, factor: float) -> Markup:
    slider = {"type": "range", "id": f"cost-{c}", "min": -_RANGE, "max": _RANGE, "step": "0.01"}
    number = {"type": "number", "id": f"cost-number-{c}", "min": 0, "step": "any"}
    spoken = "".join(word for word, _ in words)
    return tag(
        "div",
        tag("label", [tag("b", word) if is_name else word for word, is_name in words], for_=f"cost-{c}"),
        tag(
            "input", **slider, value=f"{np.clip(np.log10(factor), -_RANGE, _RANGE):.4f}", aria_valuetext=f"{factor:.3g}"
        ),
        tag("span", tag("input", **number, value=f"{factor:.4g}", aria_label=f"cost of {spoken}"), ""),
        class_="slider",
    )


def _cost_words(names: list[str], costs: Costs) -> list[list[tuple[str, bool]]]:
    """What each cost is of: words, and whether they are the name of a class."""
    if not costs.counts_errors:
        return [[("all costs when the true class is ", False), (name, True), (", times", False)] for name in names]
    if len(names) == 2:
        one, two = names
        return [
            [("taking ", False), (one, True), (" for ", False), (two, True)],
            [("taking ", False), (two, True), (" for ", False), (one, True)],
        ]
    return [[("taking ", False), (name, True), (" for another class", False)] for name in names]


def _packed(values: Array) -> str:
    return b64encode(np.ascontiguousarray(values).tobytes()).decode()


def _count(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"
