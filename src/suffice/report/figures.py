"""Held-out figures with 95% intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions, metrics
from ..scoring.choice import SURE
from ..scoring.evaluation import Evaluation, figures
from ..scoring.intervals import weighted_mean
from .markup import NONE
from .rows import ScoredRows

Array = NDArray[Any]

_RESAMPLES, _MANY = 200, 20_000  # of a bootstrap, and the rows up to which there is one


@dataclass(frozen=True)
class Figure:
    """A number that rows give, and how far chance may have moved it."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    meaning: str
    is_share: bool = False
    word: str | None = None  # of the glossary, which says more

    def shown(self, value: float | None) -> str:
        """Return a number as people read it."""
        if value is None or not isfinite(value):
            return NONE if value is None else "infinite"
        return f"{100 * value:.2f}%" if self.is_share else f"{value:.4g}"


def evaluation_of(rows: ScoredRows, prior: Any, cost: Any) -> Evaluation:
    """Return the figures that `Model.evaluate` gives for these rows."""
    labels = rows.model.classes[rows.code]
    used = rows.model._as_prior(prior)
    return figures(rows.model, rows.scores.copy(), labels, rows.weight, used, cost)


def figures_of(rows: ScoredRows, found: Evaluation, cost: Array) -> list[Figure]:
    """Return the figures of a report, the most telling first; costs are of shape (decisions, k)."""
    prior = np.array(found.prior)
    wrong, how = found.error_rate, "Share of the rows that are decided wrongly."
    listed = [Figure("Error rate", wrong, *found.error_rate_interval, how, True)]
    if found.log_loss is not None and found.log_loss_interval is not None:
        alone = f"The prior alone has {found.log_loss_of_prior:.4g}." if found.log_loss_of_prior is not None else ""
        how = f"Mean of -log P(true class), in nats, classes weighted by the prior. {alone}"
        listed.append(Figure("Log loss", found.log_loss, *found.log_loss_interval, how, word="log loss"))
    if found.dcf is not None:
        how = "Cost of the decisions with the prior and costs of this report; 1 is the best decision without data."
        listed.append(Figure("Normalised cost", found.dcf, *_cost_ends(rows, prior, cost), how, word="DCF"))
    if rows.n_classes == 2 and found.min_cllr is not None:
        target, llr = rows.code == 1, decisions.log_likelihood_ratio(rows.scores, 0, 1)
        errors = standard_errors(target, llr) if len(llr) > _MANY else {}
        over_all = "Cost of the log-likelihood ratios over all priors, in bits; 1 without data."
        for name, metric, how, share, word in (
            ("Cllr", metrics.cllr, over_all, False, "Cllr"),
            ("Minimum Cllr", metrics.min_cllr, "The same after the best possible calibration.", False, "minimum Cllr"),
            ("EER", metrics.eer, "The error rate where misses and false alarms are equally frequent.", True, "EER"),
        ):
            value = metric(target, llr)
            ends: tuple[Any, Any] = (None, None)
            if len(llr) <= _MANY:
                ends = metrics.bootstrap(metric, target, llr, n=_RESAMPLES, random_state=0)
            elif isfinite(errors[name]):
                ends = max(value - SURE * errors[name], 0.0), value + SURE * errors[name]
            listed.append(Figure(name, value, *ends, how, share, word))
    return listed


def standard_errors(target: Array, llr: Array) -> dict[str, float]:
    """Return the standard errors of Cllr, minimum Cllr and EER, for many rows.

    Cllr is the mean of two means. The other two are optimal values, of a calibration and of a threshold. What chance
    does to an optimum itself hardly changes its value (the envelope theorem), so that they vary as with the calibration
    and the threshold that were found.

    Parameters
    ----------
    target : array of bool of shape (n,)
        Whether rows are targets.
    llr : array of shape (n,)
        Log-likelihood ratios.
    """
    hull = metrics.SortedScores.of(target, llr).hull()
    t, o = hull.targets, hull.others
    with np.errstate(invalid="ignore"):
        own = [(np.logaddexp(0.0, -llr[target]), None), (np.logaddexp(0.0, llr[~target]), None)]
        best = [(np.logaddexp(0.0, -hull.llr), t), (np.logaddexp(0.0, hull.llr), o)]
    miss, alarm = hull.vertices()
    after = max(int(np.argmax(miss >= alarm)), 1)
    misses, alarms = miss[after] - miss[after - 1], alarm[after - 1] - alarm[after]
    prior = alarms / (misses + alarms)  # with which all thresholds on this edge of the hull cost the same
    rate = metrics.eer(target, llr)
    share = np.sqrt(rate * (1 - rate) * (prior**2 / t.sum() + (1 - prior) ** 2 / o.sum()))
    return {
        "Cllr": _of_means(own) / (2 * log(2)),
        "Minimum Cllr": _of_means(best) / (2 * log(2)),
        "EER": float(share),
    }


def _of_means(values: Sequence[tuple[Array, Array | None]]) -> float:
    """The standard error of a sum of means of values, each with the number of rows that have it."""
    total = 0.0
    for x, count in values:
        n = np.ones(len(x)) if count is None else count
        x, n = x[n > 0], n[n > 0]
        with np.errstate(invalid="ignore"):
            total += float((n @ (x - n @ x / n.sum()) ** 2) / n.sum() ** 2)
    return sqrt(total) if total >= 0 else np.nan


def _cost_ends(rows: ScoredRows, prior: Array, cost: Array) -> tuple[float | None, float | None]:
    """The interval of the cost of decisions, relative to the best one without data; None if all cost the same."""
    decided = decisions.cheapest(rows.posterior(prior), cost)
    mean, error = weighted_mean(cost[decided, rows.code], rows.code, rows.weight, prior)
    if error == 0:
        return None, None
    without = float((cost @ prior).min()) or 1.0
    return max(mean - SURE * error, 0.0) / without, (mean + SURE * error) / without
