"""`suffice evaluate`: measure a model on labelled rows."""

from __future__ import annotations

import json

from .data import reading
from .options import AsJson, Cost, Data, ModelPath, Prior, Query, Target, Weight, cost_of, prior_of


def evaluate(
    model: ModelPath,
    data: Data,
    target: Target,
    prior: Prior = None,
    cost: Cost = None,
    weight: Weight = None,
    query: Query = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a model on labelled rows: error rate, log loss, confusion matrix. Use held-out data."""
    from ..scoring import load_model

    loaded = load_model(model)
    asked = prior_of(prior, loaded.classes), cost_of(cost, loaded.classes)
    with reading(data, query) as rows:
        found = loaded.evaluate(rows, target, *asked, sample_weight=weight)
    print(json.dumps(found.to_dict(), indent=2, default=str) if as_json else found)
