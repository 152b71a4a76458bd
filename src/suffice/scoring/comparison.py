"""Models side by side on the same labelled rows, with the uncertainty of their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..decisions import log_posterior
from ..errors import DataError, listed
from ..tables.labels import are_booleans, positions
from .choice import SURE
from .evaluation import Evaluation, figures, scored_rows
from .intervals import weighted_mean
from .model import Model

Array = NDArray[Any]


@dataclass(frozen=True)
class Compared:
    """A model and what labelled rows say of it."""

    name: str
    evaluation: Evaluation
    worse: float  # than the best model, in the log loss
    low: float  # of a 95 % interval of `worse`
    high: float


def compared(
    models: Mapping[str, Model],
    X: Any,
    y: Any,
    prior: Any,
    cost: Any,
    weight: Any = None,
    skip_unlabelled: bool = False,
) -> tuple[list[Compared], Compared]:
    """Evaluate models on the same rows and rank them by the log loss, best first; and the prior alone, as the baseline.

    Parameters
    ----------
    models : mapping of str to Model
        The models by name, with the same classes.
    X, y, weight : rows, labels and weights
        As of `Model.evaluate`.
    prior, cost : as in `predict`
        For all models; without a prior, that of the first model.
    skip_unlabelled : bool
        As of `Model.evaluate`.
    """
    first = next(iter(models.values()))
    for name, model in models.items():
        other = are_booleans(model.classes) != are_booleans(first.classes)
        if other or set(model.classes.tolist()) != set(first.classes.tolist()):
            raise DataError(
                f"models of other classes cannot be compared: {name} has {listed(model.classes)}, not "
                f"{listed(first.classes)}"
            )
    used = first._as_prior(prior)
    given = used if prior is None else prior
    found = {}
    for name, model in models.items():
        try:
            scores, labels, weights = scored_rows(model, X, y, weight, skip_unlabelled)
        except DataError as error:
            raise DataError(f"{name}: {error}") from error
        rows = labels[weights > 0], weights[weights > 0]
        found[name] = _judged(model, scores[weights > 0], *rows, used, given, cost)
    alone = _judged(model, np.zeros((len(rows[0]), len(used))), *rows, used, given, cost)
    if alone[0].log_loss is None:
        raise DataError("some classes have no rows: the log loss that models are compared by is not known")
    best = min(found, key=lambda name: found[name][0].log_loss or 0.0)
    code = positions(rows[0], model.classes)

    def told(name: str, evaluation: Evaluation, losses: Array) -> Compared:
        mean, error = weighted_mean(losses - found[best][1], code, rows[1], used) if name != best else (0.0, 0.0)
        return Compared(name, evaluation, mean, mean - SURE * error, mean + SURE * error)

    ranked = [told(name, *own) for name, own in found.items()]
    return sorted(ranked, key=lambda one: one.evaluation.log_loss or 0.0), told("", *alone)


def _judged(
    model: Model, scores: Array, labels: Array, weight: Array, used: Array, prior: Any, cost: Any
) -> tuple[Evaluation, Array]:
    """Evaluate scores (n, k), and return the log loss of each row, (n,), too."""
    log_prior = np.log(np.maximum(used, 1e-300))
    posterior = log_posterior(scores + log_prior, log_prior)
    losses = -posterior[np.arange(len(labels)), positions(labels, model.classes)]
    return figures(model, scores, labels, weight, prior, cost), losses
