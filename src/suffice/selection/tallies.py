"""Scorers for partitioned data: each batch gives a few sums, and the score follows from the sums of all batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.metrics
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, log_loss

from .. import decisions, metrics
from ..errors import DataError, listed
from ..estimators._sklearn import ScorerParts, is_own_score, scorer_parts
from ..tables.labels import encode, positions
from .scorers import HeldOutScorer, knows, scores_of

Array = NDArray[Any]
Sums = dict[Any, float]


class NeedsRowsError(DataError):
    """A search needs all rows in memory, but the data are partitioned."""


@dataclass(frozen=True)
class Truth:
    """The classes of all rows that a model is evaluated on; each of them has rows."""

    classes: Array  # (k,)
    count: Array  # (k,)

    @classmethod
    def of(cls, classes: Array, count: Array) -> Truth:
        return cls(classes[count > 0], count[count > 0])


@dataclass(frozen=True)
class Tally(ABC):
    """A scorer whose sums over rows add up."""

    scorer: Any  # one of ours, or the parts of one of scikit-learn's

    @abstractmethod
    def of(self, model: Any, X: Any, y: Array, weight: Array | None, truth: Truth) -> Sums:
        """Return the sums of some rows."""

    @abstractmethod
    def score(self, total: Sums, model: Any, truth: Truth) -> float:
        """Return the score from the sums of all rows."""


def add_sums(a: Sums, b: Sums) -> Sums:
    return {key: a.get(key, 0.0) + b.get(key, 0.0) for key in a | b}


class _Decisions(Tally):
    """Any score of decisions, computed from the weighted pairs of true class and decision instead of the rows."""

    def of(self, model: Any, X: Any, y: Array, weight: Array | None, truth: Truth) -> Sums:  # noqa: ARG002
        classes, code = encode(y)
        actions, action = encode(self._decided(model, X))
        times = np.bincount(code * len(actions) + action, weight, minlength=len(classes) * len(actions))
        pairs = np.unique(code * len(actions) + action).tolist()
        names, decided = classes.tolist(), actions.tolist()
        return {(names[p // len(decided)], decided[p % len(decided)]): float(times[p]) for p in pairs}

    def score(self, total: Sums, model: Any, truth: Truth) -> float:  # noqa: ARG002
        y, decided = (np.array(labels) for labels in zip(*total, strict=True))
        return self._score_of(model, y, decided, np.array(list(total.values())))

    def _decided(self, model: Any, X: Any) -> Array:
        return np.asarray(model.predict(X))

    def _score_of(self, model: Any, y: Array, decided: Array, times: Array) -> float:  # noqa: ARG002
        return float(self.scorer.sign * self.scorer.metric(y, decided, sample_weight=times, **self.scorer.options))


class _Cost(_Decisions):
    """Return decisions as indices, because they can be of different types."""

    def _decided(self, model: Any, X: Any) -> Array:
        decided = decisions.decide(scores_of(model, X), model.classes_, self.scorer.prior, self.scorer.cost)
        return positions(decided, self._actions(model))

    def _score_of(self, model: Any, y: Array, decided: Array, times: Array) -> float:
        own, prior, cost = self._actions(model)[decided], self.scorer.prior, self.scorer.cost
        return -metrics.multiclass_dcf(y, own, prior, cost, sample_weight=times)

    def _actions(self, model: Any) -> Array:
        classes: Array = model.classes_
        return classes if self.scorer.cost is None else decisions.as_cost(self.scorer.cost, classes)[0]


class _LogLoss(Tally):
    def of(self, model: Any, X: Any, y: Array, weight: Array | None, truth: Truth) -> Sums:  # noqa: ARG002
        kwargs = {"labels": model.classes_} | self.scorer.options | {"normalize": False}
        loss = log_loss(y, model.predict_proba(X), sample_weight=weight, **kwargs)
        return {"loss": float(loss), "weight": float(len(y) if weight is None else weight.sum())}

    def score(self, total: Sums, model: Any, truth: Truth) -> float:
        if "labels" not in self.scorer.options and truth.classes.tolist() != model.classes_.tolist():
            raise DataError(
                f"the held-out rows have classes {listed(truth.classes)}, but the model has "
                f"{listed(model.classes_)}; use stratified folds"
            )
        rows = total["weight"] if self.scorer.options.get("normalize", True) else 1.0
        return float(self.scorer.sign * total["loss"] / rows)


class _LogCost(Tally):
    """The log cost by class; Cllr is the log cost of two classes with a uniform prior."""

    def of(self, model: Any, X: Any, y: Array, weight: Array | None, truth: Truth) -> Sums:  # noqa: ARG002
        if truth.classes.tolist() != model.classes_.tolist():
            return {}  # the score is -inf, whatever the sums
        present, code = encode(y)
        own = positions(present, truth.classes)[code]
        bits = metrics.log_cost_of_rows(own, scores_of(model, X), self._prior(truth))
        return dict(zip(truth.classes.tolist(), np.bincount(own, bits, minlength=len(truth.classes)), strict=True))

    def score(self, total: Sums, model: Any, truth: Truth) -> float:
        k = len(model.classes_)
        if self.scorer.name == "neg_cllr" and k != 2:
            raise DataError(f"neg_cllr needs two classes, got {k}; use neg_log_cost")
        if not knows(model.classes_, truth.classes):
            return -np.inf  # a class that the model does not know
        mean = np.array([total[label] for label in truth.classes.tolist()]) / truth.count
        return -metrics.log_cost_of_classes(mean, self._prior(truth))

    def _prior(self, truth: Truth) -> Array:
        prior = "uniform" if self.scorer.name == "neg_cllr" else self.scorer.prior
        return decisions.as_prior(prior, truth.classes, truth.count / truth.count.sum())


class _LogLikelihood(Tally):
    def of(self, model: Any, X: Any, y: Array, weight: Array | None, truth: Truth) -> Sums:  # noqa: ARG002
        return {"sum": float(self.scorer(model, X, y)) * len(y)}

    def score(self, total: Sums, model: Any, truth: Truth) -> float:  # noqa: ARG002
        return total["sum"] / float(truth.count.sum())


_OURS: dict[str, Callable[[Any], Tally]] = {
    "mean_log_likelihood": _LogLikelihood,
    "neg_cllr": _LogCost,
    "neg_dcf": _Cost,
    "neg_log_cost": _LogCost,
}

_ACCURACY = ScorerParts(accuracy_score, {}, 1, "predict", True)  # what classifiers are scored by


def tally(scorer: Any) -> Tally:
    """Return the tally of a scorer, or raise an error that names the scorers that have one."""
    if is_own_score(scorer):
        return _Decisions(_ACCURACY)
    if isinstance(scorer, HeldOutScorer):
        return _OURS[scorer.name](scorer)
    parts = scorer_parts(scorer)
    if parts is not None:
        if parts.metric is log_loss:
            return _LogLoss(parts)
        from_sklearn = parts.metric in vars(sklearn.metrics).values()  # any other could depend on the order of rows
        if parts.response == "predict" and from_sklearn and parts.takes_weights:
            return _Decisions(parts)
    raise NeedsRowsError(
        f"{scorer!r} needs the scores of all rows at once, but the data are partitioned; use accuracy or another score "
        f"of decisions (balanced_accuracy, f1_macro, precision, recall, ...), neg_log_loss, or one of {listed(_OURS)}"
    )
