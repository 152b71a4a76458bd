"""From log-likelihoods, priors and costs to posteriors, ratios and Bayes decisions.

Everything here takes log p(x | class), (n, k), and an application: a prior and, for decisions, costs. Nothing here
knows where the likelihoods came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DecisionError, listed
from .tables.labels import positions

Array = NDArray[Any]

_SUM_TOLERANCE = 1e-6  # priors given in float32 still pass


def as_prior(prior: Any, classes: Array, frequencies: Array) -> Array:
    """A prior over `classes` (k,) from what a user may give: an array in the order of the classes, a dictionary by
    label, "uniform", the probability of the second of two classes, or None for `frequencies`.

    >>> as_prior({"ham": 0.9, "spam": 0.1}, np.array(["ham", "spam"]), np.array([0.5, 0.5]))
    array([0.9, 0.1])
    """
    k = len(classes)
    if prior is None:
        return frequencies
    if isinstance(prior, str):
        if prior != "uniform":
            raise DecisionError(f'prior={prior!r} is not known; give numbers, a dictionary by class or "uniform"')
        return np.full(k, 1.0 / k)
    if isinstance(prior, Real) and not isinstance(prior, bool) and k == 2:
        if not 0 <= float(prior) <= 1:
            raise DecisionError(f"prior={prior!r} is the probability of {listed(classes[1:])}: from 0 to 1")
        prior = [1.0 - float(prior), float(prior)]
    if _is_labelled(prior):
        prior = _by_label(prior, classes, "prior")
    try:
        values = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise DecisionError(f"a prior is made of numbers, not {prior!r}") from None
    if values.shape != (k,):
        raise DecisionError(
            f"a prior needs one number for each of {k} classes {listed(classes)}, not shape {values.shape}"
        )
    total = float(values.sum())
    if not np.isfinite(total) or (values < 0).any():
        raise DecisionError(f"prior probabilities must be finite and not negative: {values.tolist()}")
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise DecisionError(f"prior probabilities must sum to 1, but these sum to {total:.15g}")
    return np.asarray(values / total)


def as_cost(cost: Any, classes: Array) -> tuple[Array, Array]:
    """Decisions (m,) and costs (m, k): ``cost[i, j]`` is the cost of deciding i when the truth is j.

    A square matrix decides among the classes. A dictionary names its decisions, which may be more or fewer than the
    classes: ``{"spam": [0, 10], "ham": [1, 0], "ask": [.3, .3]}``; its rows may themselves be dictionaries by class.
    """
    decisions = classes
    if hasattr(cost, "iterrows"):  # a data frame: decisions by row, classes by column
        if not cost.index.is_unique:
            raise DecisionError(f"a decision stands more than once in the costs: {listed(cost.index)}")
        cost = {decision: dict(row.items()) for decision, row in cost.iterrows()}
    elif hasattr(cost, "to_dicts") or hasattr(cost, "to_pylist"):  # frames without names of rows: classes by column
        rows = cost.to_dicts() if hasattr(cost, "to_dicts") else cost.to_pylist()
        cost = [_by_label(row, classes, "cost") for row in rows]
    if isinstance(cost, Mapping):
        decisions = _decisions(list(cost), classes)
        cost = [_by_label(row, classes, "cost") if _is_labelled(row) else row for row in cost.values()]
    try:
        values = np.array(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise DecisionError("costs must be a matrix of numbers with one column for each class") from None
    if values.shape != (len(decisions), len(classes)):
        raise DecisionError(
            f"costs of shape {values.shape} do not fit {len(classes)} classes; give a square matrix in the order "
            f"{listed(classes)}, or a dictionary from decisions to rows where there are other decisions"
        )
    if not np.isfinite(values).all():
        raise DecisionError("costs must be finite")
    return decisions, values


def operating_point(prior: Any, cost_miss: Any, cost_false_alarm: Any) -> tuple[Array, Array, Array]:
    """Priors of the target and costs of two errors, as arrays of one shape, or an error."""
    try:
        point = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (prior, cost_miss, cost_false_alarm)))
    except ValueError as error:
        raise DecisionError(f"prior and costs must be numbers, or arrays of one length: {error}") from None
    if not ((point[0] > 0) & (point[0] < 1)).all():
        raise DecisionError(f"a prior must lie between 0 and 1, without the ends: {plain(point[0])}")
    if not all((cost > 0).all() and np.isfinite(cost).all() for cost in point[1:]):
        raise DecisionError("costs must be finite and above zero")
    return point[0], point[1], point[2]


def effective_prior(prior: Any, cost_miss: Any = 1.0, cost_false_alarm: Any = 1.0) -> Any:
    """The prior that leads to the same decisions with costs of one: π C_miss / (π C_miss + (1 - π) C_fa).

    >>> effective_prior(0.01, cost_miss=10, cost_false_alarm=1)
    0.09174311926605505
    """
    pi, miss, alarm = operating_point(prior, cost_miss, cost_false_alarm)
    return plain(pi * miss / (pi * miss + (1 - pi) * alarm))


def bayes_threshold(prior: Any, cost_miss: Any = 1.0, cost_false_alarm: Any = 1.0) -> Any:
    """The ratio above which deciding for the target costs less: -log odds of the effective prior.

    >>> bayes_threshold(0.5)
    0.0
    """
    pi, miss, alarm = operating_point(prior, cost_miss, cost_false_alarm)
    return plain(0.0 - (np.log(pi) - np.log1p(-pi) + np.log(miss) - np.log(alarm)))


def _decisions(names: list[Any], classes: Array) -> Array:
    out = np.empty(len(names), dtype=object)
    for i, name in enumerate(names):  # one by one, since a name may be a tuple
        out[i] = name
    return out.astype(classes.dtype) if (positions(out, classes) >= 0).all() else out


def _is_labelled(values: Any) -> bool:
    """Whether values come with labels: a dictionary, or a pandas Series."""
    return isinstance(values, Mapping) or (hasattr(values, "keys") and hasattr(values, "items"))


def _by_label(values: Any, classes: Array, what: str) -> list[Any]:
    values, labels = dict(values.items()), classes.tolist()
    known = set(labels)
    unknown, missing = [v for v in values if v not in known], [v for v in labels if v not in values]
    if unknown or missing:
        problems = [f"unknown {listed(unknown)}"] * bool(unknown) + [f"missing {listed(missing)}"] * bool(missing)
        raise DecisionError(f"the {what} does not fit the classes {listed(labels, 10)}: {'; '.join(problems)}")
    return [values[label] for label in labels]


def log(probability: Array) -> Array:
    """The natural logarithm, with log 0 = -inf and no complaint."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probability))


def log_posterior(log_joint: Array, log_prior: Array) -> Array:
    """log P(class | x) from log p(x | class) + log P(class), in place; the prior is one for all rows (k,), or one for
    each (n, k).

    Where no class is possible the data say nothing, and the posterior is the prior.
    """
    top = log_joint.max(axis=1, keepdims=True)
    impossible = np.isneginf(top[:, 0])
    if impossible.any():
        own = np.broadcast_to(log_prior, log_joint.shape)[impossible]
        log_joint[impossible], top[impossible] = own, own.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # scores of far outliers may be as far apart as floats go
        log_joint -= top
    log_joint -= np.log(np.exp(log_joint).sum(axis=1, keepdims=True))
    return log_joint


def cheapest(posterior: Array, cost: Array | None) -> Array:
    """The decision (n,) of least expected cost, or of most probability; a tie goes to the lower index."""
    if cost is None:
        return np.asarray(posterior.argmax(axis=1))
    return np.asarray((posterior @ cost.T).argmin(axis=1))


def from_ratio(llr: Array) -> Array:
    """Log-likelihoods (..., 2) of two classes with this ratio (...); an infinite one rules out a class."""
    infinite = llr == np.inf
    return np.stack([np.where(infinite, -np.inf, 0.0), np.where(infinite, 0.0, llr)], axis=-1)


def decide(scores: Any, classes: Any, prior: Any = "uniform", cost: Any = None) -> Array:
    """The Bayes decision for each row, (n,), from log-likelihoods (n, k), or ratios (n,) of the second of two classes.

    >>> decide([0.5, 2.5], ["ham", "spam"], prior=0.2)
    array(['ham', 'spam'], dtype='<U4')
    """
    names, table = np.asarray(classes), np.asarray(scores, dtype=np.float64)
    if table.ndim == 1 and len(names) == 2:
        table = from_ratio(table)
    if table.ndim != 2 or table.shape[1] != len(names):
        raise DecisionError(f"scores of shape {np.shape(scores)} do not fit {len(names)} classes")
    if np.isnan(table).any():
        raise DecisionError("scores contain NaN")
    actions, costs = (names, None) if cost is None else as_cost(cost, names)
    log_prior = log(as_prior(prior, names, np.full(len(names), 1 / len(names))))
    return np.asarray(actions[cheapest(np.exp(log_posterior(table + log_prior, log_prior)), costs)])


def rejecting(classes: Any, price: float, label: Any = "reject", cost: Any = None) -> dict[Any, list[float]]:
    """Costs with one more decision, to decide for no class, at a price that does not depend on the truth.

    Where errors cost one, it is taken when no class has a posterior above 1 - price (Chow's rule).

    >>> rejecting(["ham", "spam"], 0.1)
    {'ham': [0.0, 1.0], 'spam': [1.0, 0.0], 'reject': [0.1, 0.1]}
    """
    classes = np.asarray(classes)
    decisions, values = as_cost(1.0 - np.eye(len(classes)) if cost is None else cost, classes)
    if label in decisions.tolist():
        raise DecisionError(f"{label!r} is a decision already; give the rejection another label")
    if not np.isfinite(price):
        raise DecisionError(f"price={price!r} must be a number")
    return dict(zip([*decisions.tolist(), label], [*values.tolist(), [float(price)] * len(classes)], strict=True))


def open_set(decided: Array, typicality: Array, level: float, unknown: Any = None) -> Array:
    """Decisions (n,), but `unknown` for rows that are atypical of every class: so far out that under none of them more
    than `level` of the rows are."""
    if not 0 < level < 1:
        raise DecisionError(f"level={level!r} must lie between 0 and 1")
    out = decided.astype(object)
    for i in np.flatnonzero((typicality < level).all(axis=1)):  # one by one, since it may be a tuple
        out[i] = unknown
    return out


def difference(two: Array, one: Array) -> Array:
    """two - one of log-probabilities; zero where neither is possible."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.where(np.isneginf(one) & np.isneginf(two), 0.0, two - one))


def log_likelihood_ratio(log_likelihood: Array, a: int, b: int) -> Array:
    """log p(x | b) - log p(x | a), (n,); zero where neither is possible."""
    return difference(log_likelihood[:, b], log_likelihood[:, a])


def estimate_prior(log_likelihood: Array, start: Array, tol: float = 1e-10, max_iter: int = 10_000) -> Array:
    """Maximum likelihood class proportions of unlabelled rows, by EM from `start` (Saerens et al., 2002)."""
    top = log_likelihood.max(axis=1, keepdims=True)
    likelihood = np.exp(log_likelihood - np.where(np.isneginf(top), 0.0, top))
    likelihood = likelihood[likelihood.any(axis=1)]
    prior = start
    for _ in range(max_iter):
        if not len(likelihood):
            break
        evidence = likelihood @ prior
        new = prior * (likelihood / np.maximum(evidence, np.finfo(float).tiny)[:, None]).mean(axis=0)
        new /= new.sum()
        done = np.abs(new - prior).max() <= tol
        prior = new
        if done:
            break
    return prior


def plain(value: Any) -> Any:
    """A number where there is one, else the array."""
    return np.asarray(value).item() if np.ndim(value) == 0 else value
