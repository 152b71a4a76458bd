"""Evaluate log-likelihood ratios: detection costs, minimum costs, Cllr, and curves over operating points.

Binary metrics take ``(y_true, llr)``: 1 (or True) for targets and 0 for non-targets, and the log-likelihood ratio of
each row in nats. A row is accepted as a target if its llr is strictly greater than the threshold. Scores can be
infinite; rows with equal scores are accepted or rejected together.
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

_MANY = 200_000  # from this number of scores on, sorting takes longer than starting a thread

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
    """Return the detection cost (DCF) of deciding with the Bayes threshold.

    It is π C_miss P_miss + (1 - π) C_fa P_fa. Arrays of priors or costs give one result per operating point.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        1 (or True) for targets, 0 for non-targets.
    llr : array-like of shape (n,)
        Log-likelihood ratios of target over non-target, in nats.
    prior : float or array-like, default=0.5
        The prior probability π of a target.
    cost_miss : float or array-like, default=1.0
        The cost of missing a target.
    cost_false_alarm : float or array-like, default=1.0
        The cost of taking a non-target for a target.
    normalize : bool, default=True
        Divide by the cost of the best decision without data, min(π C_miss, (1 - π) C_fa).

    Returns
    -------
    float or array
        The cost; normalised, 1 is that of the best decision without data.

    Examples
    --------
    >>> from suffice.metrics import dcf
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
    """Return the minimum detection cost: that of the best threshold for these scores.

    Accepting all rows and rejecting all rows count as thresholds. The difference to `dcf` is due to bad calibration.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        1 (or True) for targets, 0 for non-targets.
    llr : array-like of shape (n,)
        Log-likelihood ratios of target over non-target, in nats.
    prior : float or array-like, default=0.5
        The prior probability π of a target.
    cost_miss : float or array-like, default=1.0
        The cost of missing a target.
    cost_false_alarm : float or array-like, default=1.0
        The cost of taking a non-target for a target.
    normalize : bool, default=True
        Divide by the cost of the best decision without data, min(π C_miss, (1 - π) C_fa).

    Returns
    -------
    float or array
        The minimum cost.

    Examples
    --------
    >>> from suffice.metrics import min_dcf
    >>> min_dcf([1, 1, 0, 0], [2.0, -1.0, -3.0, 0.5])
    0.5
    """
    scores, point = SortedScores.of(y_true, llr), decisions.operating_point(prior, cost_miss, cost_false_alarm)
    return decisions.plain(_cost(*scores.hull().rates(np.asarray(bayes_threshold(*point))), point, normalize))


class BayesErrorCurve(NamedTuple):
    """Normalised detection costs at several effective priors."""

    log_odds: Array  # (m,) of the effective prior, in nats
    actual: Array  # (m,) DCF
    minimum: Array  # (m,) minimum DCF


def bayes_error_curve(y_true: Any, llr: Any, log_odds: Any = None) -> BayesErrorCurve:
    """Compute the Bayes error curve: actual and minimum normalised DCF over the effective prior.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        1 (or True) for targets, 0 for non-targets.
    llr : array-like of shape (n,)
        Log-likelihood ratios of target over non-target, in nats.
    log_odds : array-like of shape (m,), default=None
        The log odds of the effective prior to evaluate at, in nats. None means 281 points from -7 to 7.

    Returns
    -------
    BayesErrorCurve
        The log odds, and the actual and the minimum cost at each.

    Examples
    --------
    >>> from suffice.metrics import bayes_error_curve
    >>> curve = bayes_error_curve([1, 1, 0, 0], [2.0, -1.0, -3.0, 0.5], log_odds=[-1, 0, 1])
    >>> curve.actual
    array([0.5       , 1.        , 1.85914091])
    >>> curve.minimum
    array([0.5, 0.5, 0.5])
    """
    odds = np.linspace(-7, 7, 281) if log_odds is None else np.atleast_1d(np.asarray(log_odds, np.float64))
    if not (np.abs(odds) < 700).all():
        raise DecisionError("log_odds must lie between -700 and 700")
    scores = SortedScores.of(y_true, llr)
    # Costs relative to the larger of the two, because 1 - prior would round to 0 long before their ratio does.
    point = np.full_like(odds, 0.5), np.exp(np.minimum(odds, 0.0)), np.exp(np.minimum(-odds, 0.0))
    return BayesErrorCurve(odds, *(_cost(*s.rates(-odds), point, True) for s in (scores, scores.hull())))


def cllr(y_true: Any, llr: Any) -> float:
    """Return the cost of log-likelihood ratios (Cllr), in bits.

    0 is perfect, 1 is the cost of scores that carry no information, and more than 1 is misleading.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        1 (or True) for targets, 0 for non-targets.
    llr : array-like of shape (n,)
        Log-likelihood ratios of target over non-target, in nats.

    Returns
    -------
    float
        The cost in bits.

    Examples
    --------
    >>> from suffice.metrics import cllr
    >>> cllr([1, 0], [0.0, 0.0])
    1.0
    """
    targets, others = _split(y_true, llr)
    return 0.5 * (_mean_bits(-targets) + _mean_bits(others))


def min_cllr(y_true: Any, llr: Any) -> float:
    """Return the minimum Cllr: that after the best monotone calibration, in bits.

    The calibration is isotonic regression (pool adjacent violators). The difference to `cllr` is the cost of bad
    calibration.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        1 (or True) for targets, 0 for non-targets.
    llr : array-like of shape (n,)
        Log-likelihood ratios of target over non-target, in nats.

    Returns
    -------
    float
        The minimum cost in bits.

    Examples
    --------
    >>> from suffice.metrics import min_cllr
    >>> min_cllr([1, 1, 0, 0], [4.0, 3.0, 1.0, 2.0])
    0.0
    """
    return SortedScores.of(y_true, llr).hull().cllr()


def eer(y_true: Any, llr: Any) -> float:
    """Return the equal error rate (EER), on the convex hull of the ROC curve.

    It is the rate of misses at the threshold where misses and false alarms are equally frequent.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        1 (or True) for targets, 0 for non-targets.
    llr : array-like of shape (n,)
        Log-likelihood ratios of target over non-target, in nats.

    Returns
    -------
    float
        The error rate, from 0 to 0.5.

    Examples
    --------
    >>> from suffice.metrics import eer
    >>> eer([1, 1, 0, 0], [2.0, -1.0, -3.0, 0.5])
    0.25
    """
    miss, alarm = SortedScores.of(y_true, llr).hull().vertices()
    after = int(np.argmax(miss >= alarm))  # misses grow, false alarms fall; the last vertex is (1, 0)
    if after == 0:
        return float(miss[0])
    (m0, m1), (a0, a1) = miss[after - 1 : after + 1], alarm[after - 1 : after + 1]
    share = (a0 - m0) / ((a0 - m0) + (m1 - a1))
    return float(m0 + share * (m1 - m0))


class RocConvexHull(NamedTuple):
    """The vertices of the hull, from accepting all rows to rejecting all rows."""

    p_miss: Array
    p_false_alarm: Array


def roc_convex_hull(y_true: Any, llr: Any) -> RocConvexHull:
    """Compute the convex hull of the ROC curve: the error rates of the best thresholds.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        1 (or True) for targets, 0 for non-targets.
    llr : array-like of shape (n,)
        Log-likelihood ratios of target over non-target, in nats.

    Returns
    -------
    RocConvexHull
        The rates of misses and of false alarms at the vertices.

    Examples
    --------
    >>> from suffice.metrics import roc_convex_hull
    >>> hull = roc_convex_hull([1, 1, 0, 0], [2.0, -1.0, -3.0, 0.5])
    >>> hull.p_miss.tolist(), hull.p_false_alarm.tolist()
    ([0.0, 0.0, 0.5, 1.0], [1.0, 0.5, 0.0, 0.0])
    """
    return RocConvexHull(*SortedScores.of(y_true, llr).hull().vertices())


class CrossEntropy(NamedTuple):
    """Empirical cross-entropy in bits at several priors."""

    prior: Array
    actual: Array
    minimum: Array  # after the best monotone calibration
    uninformed: Array  # of the prior alone, without data


def empirical_cross_entropy(y_true: Any, llr: Any, prior: Any = 0.5) -> CrossEntropy:
    """Compute the empirical cross-entropy (ECE) at one or more priors, in bits.

    It is the expected -log2 P(class | x) of the true class. At a prior of 0.5 it is Cllr.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        1 (or True) for targets, 0 for non-targets.
    llr : array-like of shape (n,)
        Log-likelihood ratios of target over non-target, in nats.
    prior : float or array-like of shape (m,), default=0.5
        The prior probabilities of a target.

    Returns
    -------
    CrossEntropy
        The priors and, at each, the actual, the minimum and the uninformed cross-entropy.

    Examples
    --------
    >>> from suffice.metrics import empirical_cross_entropy
    >>> curve = empirical_cross_entropy([1, 1, 0, 0], [2.0, 1.0, -3.0, 0.5], prior=[0.1, 0.5])
    >>> curve.actual.round(3), curve.uninformed.round(3)
    (array([0.276, 0.528]), array([0.469, 1.   ]))
    """
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
    """Return the expected cost of decisions among any number of classes.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The true labels.
    y_pred : array-like of shape (n,)
        The decisions. They can be other than the labels if `cost` is a dictionary.
    prior : array-like of shape (k,), dict, float, "uniform" or None, default=None
        Class probabilities. None means the frequencies in `y_true`.
    cost : array-like of shape (k, k) or dict, default=None
        ``cost[i, j]`` is the cost of deciding i when the true class is j. None means that every error costs 1.
    normalize : bool, default=True
        Divide by the cost of the best decision without data.
    sample_weight : array-like of shape (n,), default=None
        A row of weight w counts as w copies of the row.

    Returns
    -------
    float
        The expected cost.

    Examples
    --------
    >>> from suffice.metrics import multiclass_dcf
    >>> multiclass_dcf(["a", "b", "b", "c"], ["a", "b", "a", "c"], prior="uniform")
    0.25
    """
    classes, truth = encode(np.asarray(y_true))
    weight, count = _weights(sample_weight, truth, classes)
    pi = decisions.as_prior(prior, classes, count / count.sum())
    actions, costs = decisions.as_cost(1.0 - np.eye(len(classes)) if cost is None else cost, classes)
    if np.ndim(y_pred) != 1:
        raise DataError(
            f"y_pred must hold decisions (n,), got shape {np.shape(y_pred)}; decisions.decide turns scores into them"
        )
    if len(y_pred) != len(truth) or not len(truth):
        raise DataError(
            f"y_true and y_pred must have the same length and some rows, got {len(truth)} and {len(y_pred)} rows"
        )
    decided = positions(np.asarray(y_pred), actions)
    if (decided < 0).any():
        raise DataError(
            f"y_pred holds {listed(np.unique(np.asarray(y_pred)[decided < 0]))}, which the costs do not name"
        )
    mean_cost = np.bincount(truth, weight * costs[decided, truth], minlength=len(classes)) / count
    total = float(pi @ mean_cost)
    if not normalize:
        return total
    without = float((costs @ pi).min())
    if without <= 0:
        raise DecisionError("the best decision without data costs nothing with this prior; use normalize=False")
    return total / without


def multiclass_log_cost(
    y_true: Any, log_likelihood: Any, prior: Any = "uniform", *, normalize: bool = True, sample_weight: Any = None
) -> float:
    """Return the expected -log2 P(class | x) of the true class, with the classes weighted by the prior.

    Normalised, it has no unit: 1 is the cost of the prior alone. For two classes and a uniform prior it is Cllr.
    Without normalisation it is in bits; multiply by log 2 for nats.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The true labels. Sorted, they are the columns of `log_likelihood`.
    log_likelihood : array-like of shape (n, k)
        Log p(x | class), or log posteriors of a uniform prior.
    prior : array-like of shape (k,), dict, float, "uniform" or None, default="uniform"
        Class probabilities. None means the frequencies in `y_true`.
    normalize : bool, default=True
        Divide by the entropy of the prior. Otherwise the cost is in bits.
    sample_weight : array-like of shape (n,), default=None
        A row of weight w counts as w copies of the row.

    Returns
    -------
    float
        The expected cost.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.metrics import multiclass_log_cost
    >>> round(multiclass_log_cost(["a", "b", "c"], np.log(0.2 + 0.6 * np.eye(3))), 3)
    0.369
    """
    classes, truth = encode(np.asarray(y_true))
    scores = np.array(log_likelihood, dtype=np.float64)
    if scores.shape != (len(truth), len(classes)):
        raise DataError(
            f"log_likelihood must have shape {(len(truth), len(classes))} for these labels, got {scores.shape}"
        )
    if np.isnan(scores).any() or np.isposinf(scores).any():
        raise DataError("log_likelihood contains NaN or +inf")
    weight, count = _weights(sample_weight, truth, classes)
    pi = decisions.as_prior(prior, classes, count / count.sum())
    bits = log_cost_of_rows(truth, scores, pi)
    mean = np.bincount(truth, weight * np.where(weight > 0, bits, 0.0), minlength=len(classes)) / count
    return log_cost_of_classes(mean, pi, normalize)


def log_cost_of_rows(truth: Array, scores: Array, prior: Array) -> Array:
    """Return -log2 P(class | x) of each row's true class, (n,), from log p(x | class) (n, k) and a prior (k,)."""
    log_prior = decisions.log(prior)
    posterior = decisions.log_posterior(scores + log_prior, log_prior)
    return np.asarray(-posterior[np.arange(len(truth)), truth] / np.log(2))


def log_cost_of_classes(mean: Array, prior: Array, normalize: bool = True) -> float:
    """Return the expected cost from the mean cost of each class, (k,)."""
    total = float((prior * np.where(prior > 0, mean, 0.0)).sum())
    entropy = float(-(prior * np.where(prior > 0, decisions.log(prior), 0.0)).sum() / np.log(2))
    if normalize and not entropy:
        raise DecisionError("a prior of 1 for one class costs nothing by itself; use normalize=False")
    return total / entropy if normalize else total


def _weights(sample_weight: Any, truth: Array, classes: Array) -> tuple[Array, Array]:
    """Return the weight of each row and of each class."""
    weight = np.ones(len(truth)) if sample_weight is None else checked_weight(sample_weight, len(truth))
    total = np.bincount(truth, weight, minlength=len(classes))
    if not total.all():
        raise DataError(f"all rows of class {listed(classes[total == 0])} have weight 0; leave them out")
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
    """Compute a bootstrap confidence interval of a binary metric.

    Targets and non-targets are resampled separately; the interval lies between percentiles.

    Parameters
    ----------
    metric : callable
        A function ``metric(y_true, llr, **choices)``, such as `cllr` or `min_dcf`.
    y_true : array-like of shape (n,)
        1 (or True) for targets, 0 for non-targets.
    llr : array-like of shape (n,)
        Log-likelihood ratios of target over non-target, in nats.
    n : int, default=1000
        The number of resamples.
    level : float, default=0.95
        The probability that the interval should cover.
    random_state : int, numpy.random.Generator or None, default=None
        The seed of the resamples. None gives other resamples in each call.
    **choices : dict
        Further arguments of the metric.

    Returns
    -------
    low : float or array
        The lower end of the interval.
    high : float or array
        The upper end of the interval.

    Examples
    --------
    >>> from suffice.metrics import bootstrap, cllr
    >>> low, high = bootstrap(cllr, [1, 1, 1, 0, 0, 0], [2.0, 1.0, 0.5, -1.0, -2.0, 0.1], random_state=0)
    >>> low < cllr([1, 1, 1, 0, 0, 0], [2.0, 1.0, 0.5, -1.0, -2.0, 0.1]) < high
    True
    """
    scores, rng = SortedScores.of(y_true, llr), np.random.default_rng(random_state)
    if not 0 < level < 1 or n < 1:
        raise DataError(f"level={level!r} must lie between 0 and 1, and n={n!r} must be at least 1")
    parts, labels = (scores.targets, scores.others), np.repeat([1, 0], [len(scores.targets), len(scores.others)])
    values = [
        metric(labels, np.concatenate([part[rng.integers(len(part), size=len(part))] for part in parts]), **choices)
        for _ in range(n)
    ]
    found = np.array(values)
    ends = [(1 - level) / 2, (1 + level) / 2]
    if np.isfinite(found).all():
        low, high = np.quantile(found, ends, axis=0)
    else:  # one cannot interpolate between a number and infinity
        low, high = np.quantile(found, ends, axis=0, method="inverted_cdf")
    return decisions.plain(low), decisions.plain(high)


@dataclass(frozen=True)
class SortedScores:
    """Scores sorted once, so that each operating point costs only a binary search."""

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
        """Return P_miss and P_fa of each threshold; scores above it are accepted as targets."""
        missed = np.searchsorted(self.targets, threshold, side="right") / len(self.targets)
        return missed, 1.0 - np.searchsorted(self.others, threshold, side="right") / len(self.others)

    def hull(self) -> Hull:
        """Return the scores after the best monotone calibration."""
        return Hull(*kernels.active.pool_violators(self.targets, self.others))


@dataclass(frozen=True)
class Hull:
    """Steps of the pooled scores: the number of targets and others in each, from the lowest ratio to the highest."""

    targets: Array  # (m,)
    others: Array  # (m,)

    @property
    def llr(self) -> Array:
        """The calibrated ratio of each step, ascending; infinite if a step has only targets or only others."""
        with np.errstate(divide="ignore"):
            own = np.log(self.targets / self.targets.sum()) - np.log(self.others / self.others.sum())
        return np.asarray(own)

    def vertices(self) -> tuple[Array, Array]:
        """Return P_miss and P_fa when the lowest 0, 1, … m steps are rejected."""
        miss = np.concatenate([[0.0], np.cumsum(self.targets)]) / self.targets.sum()
        return miss, 1.0 - np.concatenate([[0.0], np.cumsum(self.others)]) / self.others.sum()

    def rates(self, threshold: Array) -> tuple[Array, Array]:
        """Return the least possible P_miss and P_fa at an operating point whose Bayes threshold is `threshold`."""
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
    """Return copies of the ratios of targets and of non-targets, each in any order."""
    y, scores = np.asarray(y_true), np.asarray(llr, dtype=np.float64)
    if y.ndim != 1 or scores.shape != y.shape:
        raise DataError(f"y_true and llr must have the same length, got shapes {y.shape} and {scores.shape}")
    target = y == 1
    n_targets = np.count_nonzero(target)
    if y.dtype.kind not in "biuf" or np.count_nonzero(y) != n_targets:
        raise DataError("y_true must be 1 for targets and 0 for non-targets; for other labels, pass y_true == target")
    if n_targets in (0, len(y)):
        raise DataError("y_true must hold both targets (1) and non-targets (0), but it holds only one of them")
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
    """Return the mean of log2(1 + exp(score))."""
    return float(np.logaddexp(0.0, scores).mean() / np.log(2))
