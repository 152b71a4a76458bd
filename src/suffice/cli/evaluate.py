"""`suffice evaluate`: how well a model does on rows with labels."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from .data import reading
from .options import AsJson, Cost, Data, Model, Prior, Query, Target, Weight, classifier, cost_of, prior_of
from .text import aligned

_MORE = {"dcf": "DCF", "cllr": "Cllr", "min_cllr": "minimum Cllr", "eer": "EER"}

if TYPE_CHECKING:
    from ..scoring.evaluation import Judged


def evaluate(
    model: Model,
    data: Data,
    target: Target,
    prior: Prior = None,
    cost: Cost = None,
    weight: Weight = None,
    query: Query = None,
    as_json: AsJson = False,
) -> None:
    """Judge a model by rows with labels, best by such that it was not fitted on: errors, costs, and what is taken for
    what."""
    from ..scoring.evaluation import judged

    clf = classifier(model)
    asked = prior_of(prior, clf.classes_), cost_of(cost, clf.classes_)
    with reading(data, query) as rows:
        found = judgement(clf, judged(clf, rows, target, weight), *asked)
    print(json.dumps(found, indent=2, default=str) if as_json else _text(found))


def judgement(clf: Any, rows: Judged, prior: Any, cost: Any) -> dict[str, Any]:
    """All that these rows say of a model, in the values that JSON has; what needs rows of every class is left out where
    there are none of one."""
    import numpy as np

    from .. import decisions, metrics
    from ..tables.labels import positions

    counted = rows.weight > 0
    if not counted.any():
        raise DataError("all weights are zero: there is nothing to judge by")
    scores, labels, weight = (each[counted] for each in rows)
    classes, used = clf.classes_, decisions.as_prior(prior, clf.classes_, clf.prior_)
    decided = decisions.decide(scores, classes, used, cost)
    actions = classes if cost is None else decisions.as_cost(cost, classes)[0]
    confusion = np.zeros((len(classes), len(actions)))
    np.add.at(confusion, (positions(labels, classes), positions(decided, actions)), weight)
    found: dict[str, Any] = {
        "rows": len(weight),
        "weight": float(weight.sum()),
        "prior": used.tolist(),
        "error_rate": float(weight[decided != labels].sum() / weight.sum()),
    }
    if confusion.any(axis=1).all():
        in_bits = partial(metrics.multiclass_log_cost, labels, prior=used, normalize=False, sample_weight=weight)
        found |= {"log_cost": in_bits(scores), "log_cost_of_prior": in_bits(np.zeros_like(scores))}
        if prior is not None or cost is not None:
            found["dcf"] = metrics.multiclass_dcf(labels, decided, used, cost, sample_weight=weight)
        if len(classes) == 2:
            found["cllr"] = metrics.multiclass_log_cost(labels, scores, "uniform", sample_weight=weight)
            if len({*weight.tolist()}) == 1:  # the others know no weights
                target, llr = labels == classes[1], decisions.log_likelihood_ratio(scores, 0, 1)
                found |= {"min_cllr": metrics.min_cllr(target, llr), "eer": metrics.eer(target, llr)}
    right = confusion[np.arange(len(classes)), positions(classes, actions)] * (positions(classes, actions) >= 0)
    found["recall"] = _shares(right, confusion.sum(axis=1))
    taken = positions(actions, classes)
    found["precision"] = _shares(np.where(taken >= 0, right[taken], 0.0), confusion.sum(axis=0))
    found |= {"classes": classes.tolist(), "decisions": actions.tolist(), "confusion": confusion.tolist()}
    return {name: None if value in (float("inf"), -float("inf")) else value for name, value in found.items()}


def _shares(some: Any, all: Any) -> list[float | None]:
    return [float(one / total) if total else None for one, total in zip(some, all, strict=True)]


def _text(found: dict[str, Any]) -> str:
    facts = [("rows", f"{found['rows']}"), ("error rate", f"{found['error_rate']:.2%}")]
    if found["weight"] != found["rows"]:
        facts.insert(1, ("weight", f"{found['weight']:g}"))
    if "log_cost" in found:
        cost, alone = (_number(found[name]) for name in ("log_cost", "log_cost_of_prior"))
        facts.append(("log cost", f"{cost} bits; the prior alone costs {alone}"))
    else:
        facts.append(("log cost", "not known: there are classes without rows"))
    facts += [(title, _number(found[name])) for name, title in _MORE.items() if name in found]
    body = [
        (label, *(f"{count:g}" for count in counts), _share(recall))
        for label, counts, recall in zip(found["classes"], found["confusion"], found["recall"], strict=True)
    ]
    table = [
        ("is, taken for", *found["decisions"], "recall"),
        *body,
        ("precision", *map(_share, found["precision"]), ""),
    ]
    return f"{aligned(facts, right=False)}\n\n{aligned(table)}"


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.4g}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
