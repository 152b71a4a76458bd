"""Judging log-likelihood ratios: detection costs, minimum costs, Cllr, and curves over operating points.

Binary metrics take ``(y_true, llr)``: 1 (or True) for targets, 0 for the rest, and one ratio for each. A target is
decided where the ratio is strictly greater than the threshold; ratios may be infinite; equal ratios move together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import decisions, kernels
from .decisions import bayes_threshold, effective_prior
from .errors import DataError, DecisionError, listed
from .tables.batch import checked_weight
from .tables.labels import encode, positions
from .threads import reduce_ordered, thread_count

Array = NDArray[Any]

_MANY = 200_000  # scores that take longer to sort than a thread to start

__all__ = [
    "bayes_error_curve",
    "bayes_threshold",
    "bootstrap",
    "cllr",
    "dcf",
    "eer",
    "effective_prior",
    "empirical_cross_entropy",
    "min_cllr",
    "min_dcf",
    "multiclass_dcf",
    "multiclass_log_cost",
    "roc_convex_hull",
]


def dcf(
    y_true: Any,
    llr: Any,
    prior: Any = 0.5,
    cost_miss: Any = 1.0,
    cost_false_alarm: Any = 1.0,
    *,
    normalize: bool = True,
) -> Any:
    """The detection cost of deciding by the Bayes threshold: π C_miss P_miss + (1 - π) C_fa P_fa.

    Normalised, it is divided by what deciding without looking costs, min(π C_miss, (1 - π) C_fa). Prior and costs may
    be arrays: one cost for each operating point.

    >>> dcf([1, 1, 0, 0], [2.0, -1.0, -3.0, 0.5])
    1.0
    """
    scores, point = SortedScores.of(y_true, llr), decisions.operating_point(prior, cost_miss, cost_false_alarm)
    return decisions.plain(_cost(*scores.rates(np.asarray(bayes_threshold(*point))), point, normalize))


def min_dcf(
    y_true: Any,
    llr: Any,
    prior: Any = 0.5,
    cost_miss: Any = 1.0,
    cost_false_alarm: Any = 1.0,
    *,
    normalize: bool = True,
) -> Any:
    """The detection cost of the best threshold, accepting and rejecting everything included.

    >>> min_dcf([1, 1, 0, 0], [2.0, -1.0, -3.0, 0.5])
    0.5
    """
    scores, point = SortedScores.of(y_true, llr), decisions.operating_point(prior, cost_miss, cost_false_alarm)
    return decisions.plain(_cost(*scores.hull().rates(np.asarray(bayes_threshold(*point))), point, normalize))


class BayesErrorCurve(NamedTuple):
    """Normalised costs over effective priors."""

    log_odds: Array  # (m,) of the effective prior
    actual: Array  # (m,)
    minimum: Array  # (m,)


def bayes_error_curve(y_true: Any, llr: Any, log_odds: Any = None) -> BayesErrorCurve:
    """Actual and minimum normalised DCF over the log odds of the effective prior (-7 to 7 by default)."""
    odds = np.linspace(-7, 7, 281) if log_odds is None else np.atleast_1d(np.asarray(log_odds, np.float64))
    if not (np.abs(odds) < 700).all():
        raise DecisionError("log odds must lie between -700 and 700")
    scores = SortedScores.of(y_true, llr)
    # Of the larger one, what each error costs: 1 - prior would vanish long before the ratio of the two does.
    point = np.full_like(odds, 0.5), np.exp(np.minimum(odds, 0.0)), np.exp(np.minimum(-odds, 0.0))
    return BayesErrorCurve(odds, *(_cost(*s.rates(-odds), point, True) for s in (scores, scores.hull())))


def cllr(y_true: Any, llr: Any) -> float:
    """The cost of log-likelihood ratios in bits: 0 is perfect, 1 says nothing, more misleads.

    >>> cllr([1, 0], [0.0, 0.0])
    1.0
    """
    targets, others = _split(y_true, llr)
    return 0.5 * (_mean_bits(-targets) + _mean_bits(others))


def min_cllr(y_true: Any, llr: Any) -> float:
    """The Cllr that is left after the best monotone calibration (pool-adjacent-violators)."""
    return SortedScores.of(y_true, llr).hull().cllr()


def eer(y_true: Any, llr: Any) -> float:
    """The error rate where misses and false alarms are equal, on the convex hull of the ROC."""
    miss, alarm = SortedScores.of(y_true, llr).hull().vertices()
    after = int(np.argmax(miss >= alarm))  # misses grow, false alarms fall; the last vertex is (1, 0)
    if after == 0:
        return float(miss[0])
    (m0, m1), (a0, a1) = miss[after - 1 : after + 1], alarm[after - 1 : after + 1]
    share = (a0 - m0) / ((a0 - m0) + (m1 - a1))
    return float(m0 + share * (m1 - m0))


class RocConvexHull(NamedTuple):
    """The vertices of the hull, from accepting everything to rejecting everything."""

    p_miss: Array
    p_false_alarm: Array


def roc_convex_hull(y_true: Any, llr: Any) -> RocConvexHull:
    """The lower left convex hull of misses against false alarms: what the best thresholds can reach."""
    return RocConvexHull(*SortedScores.of(y_true, llr).hull().vertices())


class CrossEntropy(NamedTuple):
    """Empirical cross-entropy in bits over priors."""

    prior: Array
    actual: Array
    minimum: Array  # after the best monotone calibration
    uninformed: Array  # of the prior alone


def empirical_cross_entropy(y_true: Any, llr: Any, prior: Any = 0.5) -> CrossEntropy:
    """The expected cost in bits of posteriors from these ratios, for each prior; at prior ½ it is Cllr."""
    scores = SortedScores.of(y_true, llr)
    priors = np.atleast_1d(decisions.operating_point(prior, 1.0, 1.0)[0])
    odds = np.log(priors) - np.log1p(-priors)
    bits = [
        p * _mean_bits(-scores.targets - o) + (1 - p) * _mean_bits(scores.others + o)
        for p, o in zip(priors, odds, strict=True)
    ]
    hull = scores.hull()
    best = [hull.cross_entropy(p) for p in priors]
    uninformed = -(priors * np.log2(priors) + (1 - priors) * np.log2(1 - priors))
    return CrossEntropy(priors, np.array(bits), np.array(best), uninformed)


def multiclass_dcf(
    y_true: Any,
    y_pred: Any,
    prior: Any = None,
    cost: Any = None,
    *,
    normalize: bool = True,
    sample_weight: Any = None,
) -> float:
    """The expected cost of decisions for K classes; normalised by the cost of the best decision without looking.

    Parameters
    ----------
    y_true, y_pred : (n,) labels and decisions; decisions may be others than labels where `cost` is a dictionary
    prior : class probabilities, "uniform", or None for the frequencies in y_true
    cost : ``cost[i, j]`` of deciding i when the truth is j; None counts errors
    sample_weight : (n,) a weight of w counts as w copies of the row

    >>> multiclass_dcf(["a", "b", "b", "c"], ["a", "b", "a", "c"], prior="uniform")
    0.25
    """
    classes, truth = encode(np.asarray(y_true))
    weight, count = _weights(sample_weight, truth, classes)
    pi = decisions.as_prior(prior, classes, count / count.sum())
    actions, costs = decisions.as_cost(1.0 - np.eye(len(classes)) if cost is None else cost, classes)
    if np.ndim(y_pred) != 1:
        raise DataError(f"y_pred holds decisions (n,), not scores of shape {np.shape(y_pred)}; see decisions.decide")
    if len(y_pred) != len(truth) or not len(truth):
        raise DataError(f"y_true and y_pred must be of one length above zero: they have {len(truth)} and {len(y_pred)}")
    decided = positions(np.asarray(y_pred), actions)
    if (decided < 0).any():
        raise DataError(f"y_pred holds {listed(np.unique(np.asarray(y_pred)[decided < 0]))}, which are no decisions")
    mean_cost = np.bincount(truth, weight * costs[decided, truth], minlength=len(classes)) / count
    total = float(pi @ mean_cost)
    if not normalize:
        return total
    without = float((costs @ pi).min())
    if without <= 0:
        raise DecisionError("a decision without looking costs nothing with this prior; use normalize=False")
    return total / without


def multiclass_log_cost(
    y_true: Any, log_likelihood: Any, prior: Any = "uniform", *, normalize: bool = True, sample_weight: Any = None
) -> float:
    """The expected -log2 P(class | x) of the true class, with the classes weighted by the prior.

    Normalised, it is divided by the entropy of the prior: 1 is what the prior alone costs; for two classes and a
    uniform prior it is Cllr.

    Parameters
    ----------
    y_true : (n,) labels, whose sorted values are the columns of log_likelihood
    log_likelihood : (n, k) log p(x | class), or log posteriors of a uniform prior
    sample_weight : (n,) a weight of w counts as w copies of the row
    """
    classes, truth = encode(np.asarray(y_true))
    scores = np.array(log_likelihood, dtype=np.float64)
    if scores.shape != (len(truth), len(classes)):
        raise DataError(
            f"log_likelihood of shape {scores.shape} does not fit {len(truth)} rows of {len(classes)} classes"
        )
    if np.isnan(scores).any() or np.isposinf(scores).any():
        raise DataError("log_likelihood contains NaN or +inf")
    weight, count = _weights(sample_weight, truth, classes)
    pi = decisions.as_prior(prior, classes, count / count.sum())
    bits = log_cost_of_rows(truth, scores, pi)
    mean = np.bincount(truth, weight * np.where(weight > 0, bits, 0.0), minlength=len(classes)) / count
    return log_cost_of_classes(mean, pi, normalize)


def log_cost_of_rows(truth: Array, scores: Array, prior: Array) -> Array:
    """-log2 P(class | x) of the true class (n,) of each row, from log p(x | class) (n, k) and a prior (k,)."""
    log_prior = decisions.log(prior)
    posterior = decisions.log_posterior(scores + log_prior, log_prior)
    return np.asarray(-posterior[np.arange(len(truth)), truth] / np.log(2))


def log_cost_of_classes(mean: Array, prior: Array, normalize: bool = True) -> float:
    """The expected cost from the mean one of the rows of each class, (k,)."""
    total = float((prior * np.where(prior > 0, mean, 0.0)).sum())
    entropy = float(-(prior * np.where(prior > 0, decisions.log(prior), 0.0)).sum() / np.log(2))
    if normalize and not entropy:
        raise DecisionError("a prior that is certain costs nothing; use normalize=False")
    return total / entropy if normalize else total


def _weights(sample_weight: Any, truth: Array, classes: Array) -> tuple[Array, Array]:
    """The weight of each row, and of each class."""
    weight = np.ones(len(truth)) if sample_weight is None else checked_weight(sample_weight, len(truth))
    total = np.bincount(truth, weight, minlength=len(classes))
    if not total.all():
        raise DataError(f"the rows of class {listed(classes[total == 0])} have no weight; leave them out")
    return weight, total


def bootstrap(
    metric: Callable[..., Any],
    y_true: Any,
    llr: Any,
    *,
    n: int = 1000,
    level: float = 0.95,
    random_state: Any = None,
    **choices: Any,
) -> tuple[Any, Any]:
    """A confidence interval of a binary metric: percentiles over resamples of targets and of the rest.

    >>> low, high = bootstrap(cllr, [1, 1, 1, 0, 0, 0], [2.0, 1.0, 0.5, -1.0, -2.0, 0.1], random_state=0)
    >>> low < cllr([1, 1, 1, 0, 0, 0], [2.0, 1.0, 0.5, -1.0, -2.0, 0.1]) < high
    True
    """
    scores, rng = SortedScores.of(y_true, llr), np.random.default_rng(random_state)
    if not 0 < level < 1 or n < 1:
        raise DataError(f"level={level!r} must lie between 0 and 1, and n={n!r} be above 0")
    parts, labels = (scores.targets, scores.others), np.repeat([1, 0], [len(scores.targets), len(scores.others)])
    values = [
        metric(labels, np.concatenate([part[rng.integers(len(part), size=len(part))] for part in parts]), **choices)
        for _ in range(n)
    ]
    found = np.array(values)
    ends = [(1 - level) / 2, (1 + level) / 2]
    if np.isfinite(found).all():
        low, high = np.quantile(found, ends, axis=0)
    else:  # there is nothing between a number and infinity
        low, high = np.quantile(found, ends, axis=0, method="inverted_cdf")
    return decisions.plain(low), decisions.plain(high)


@dataclass(frozen=True)
class SortedScores:
    """Ratios, sorted once; after that an operating point costs a search."""

    targets: Array  # ascending
    others: Array  # ascending

    @classmethod
    def of(cls, y_true: Any, llr: Any) -> SortedScores:
        targets, others = _split(y_true, llr)
        if len(targets) + len(others) < _MANY:
            targets.sort()
            others.sort()
        else:
            reduce_ordered(np.ndarray.sort, lambda *_: None, (targets, others), thread_count())
        return cls(targets, others)

    def rates(self, threshold: Array) -> tuple[Array, Array]:
        """P_miss and P_fa of each threshold: a target is decided where the score is greater."""
        missed = np.searchsorted(self.targets, threshold, side="right") / len(self.targets)
        return missed, 1.0 - np.searchsorted(self.others, threshold, side="right") / len(self.others)

    def hull(self) -> Hull:
        """The scores after the best monotone calibration."""
        return Hull(*kernels.active.pool_violators(self.targets, self.others))


@dataclass(frozen=True)
class Hull:
    """Steps of the pooled scores: how many targets and others each has, from the lowest to the highest ratio."""

    targets: Array  # (m,)
    others: Array  # (m,)

    @property
    def llr(self) -> Array:
        """The calibrated ratio of each step, ascending; infinite where one kind is missing."""
        with np.errstate(divide="ignore"):
            own = np.log(self.targets / self.targets.sum()) - np.log(self.others / self.others.sum())
        return np.asarray(own)

    def vertices(self) -> tuple[Array, Array]:
        """P_miss and P_fa when the lowest 0, 1, … m steps are rejected."""
        miss = np.concatenate([[0.0], np.cumsum(self.targets)]) / self.targets.sum()
        return miss, 1.0 - np.concatenate([[0.0], np.cumsum(self.others)]) / self.others.sum()

    def rates(self, threshold: Array) -> tuple[Array, Array]:
        """P_miss and P_fa of the threshold that is best where `threshold` is that of the application."""
        rejected = np.searchsorted(self.llr, threshold, side="right")
        miss, alarm = self.vertices()
        return miss[rejected], alarm[rejected]

    def cllr(self) -> float:
        return self.cross_entropy(0.5)

    def cross_entropy(self, prior: float) -> float:
        odds = np.log(prior) - np.log1p(-prior)
        some, more, ratio = self.targets > 0, self.others > 0, self.llr + odds
        target = self.targets[some] @ np.logaddexp(0.0, -ratio[some]) / self.targets.sum()
        other = self.others[more] @ np.logaddexp(0.0, ratio[more]) / self.others.sum()
        return float((prior * target + (1 - prior) * other) / np.log(2))


def _split(y_true: Any, llr: Any) -> tuple[Array, Array]:
    """The ratios of targets and of the rest, each in any order, as copies."""
    y, scores = np.asarray(y_true), np.asarray(llr, dtype=np.float64)
    if y.ndim != 1 or scores.shape != y.shape:
        raise DataError(f"y_true and llr must be of one length: their shapes are {y.shape} and {scores.shape}")
    target = y == 1
    n_targets = np.count_nonzero(target)
    if y.dtype.kind not in "biuf" or np.count_nonzero(y) != n_targets:
        raise DataError("y_true must hold 1 for targets and 0 for the rest; for other labels pass y_true == target")
    if n_targets in (0, len(y)):
        raise DataError("there must be targets (1) and others (0); y_true holds only one of them")
    if np.isnan(scores).any():
        raise DataError("llr contains NaN")
    targets, others = kernels.active.split_scores(scores, target)
    return targets, others


def _cost(miss: Array, alarm: Array, point: tuple[Array, Array, Array], normalize: bool) -> Array:
    prior, cost_miss, cost_alarm = point
    one, two = prior * cost_miss, (1 - prior) * cost_alarm
    total = one * miss + two * alarm
    return np.asarray(total / np.minimum(one, two) if normalize else total)


def _mean_bits(scores: Array) -> float:
    """The mean of log2(1 + exp(score))."""
    return float(np.logaddexp(0.0, scores).mean() / np.log(2))
