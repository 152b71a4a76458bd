"""Turn log-likelihoods, priors and costs into posteriors, log-likelihood ratios and Bayes decisions.

The functions take log p(x | class) of shape (n, k) from any model, and what depends on the application: a prior and,
for decisions, costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DecisionError, alike, listed, remedy
from .tables.labels import positions

Array = NDArray[Any]

__all__ = ["bayes_threshold", "decide", "effective_prior", "estimate_prior", "open_set", "rejecting"]

_SUM_TOLERANCE = 1e-6  # priors given in float32 still pass


def as_prior(prior: Any, classes: Array, frequencies: Array) -> Array:
    """Return prior probabilities (k,) in the order of `classes`.

    Parameters
    ----------
    prior : array-like of shape (k,), dict, float, "uniform" or None
        Probabilities in the order of the classes, or by label; of two classes, one label is enough, or the probability
        of the second. None stands for `frequencies`.
    classes : array of shape (k,)
        The class labels.
    frequencies : array of shape (k,)
        The class frequencies in the training data.

    Returns
    -------
    array of shape (k,)
        Probabilities that sum to 1.

    Examples
    --------
    >>> as_prior({"ham": 0.9, "spam": 0.1}, np.array(["ham", "spam"]), np.array([0.5, 0.5]))
    array([0.9, 0.1])
    """
    k = len(classes)
    if prior is None:
        return frequencies
    if isinstance(prior, str):
        if prior != "uniform":
            raise DecisionError(f'unknown prior {prior!r}; give an array, a dictionary by class or "uniform"')
        return np.full(k, 1.0 / k)
    if isinstance(prior, Real) and not isinstance(prior, bool) and k == 2:
        if not 0 <= float(prior) <= 1:
            raise DecisionError(
                f"{remedy('prior=', '--prior ')}{prior!r} must lie between 0 and 1: it is the probability of class "
                f"{listed(classes[1:])}"
            )
        prior = [1.0 - float(prior), float(prior)]
    if _is_labelled(prior):
        prior = _by_label(_with_the_other(prior, classes), classes, "prior")
    try:
        values = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise DecisionError(f"prior must consist of numbers, got {prior!r}") from None
    if values.shape != (k,):
        raise DecisionError(
            f"prior must have one number for each of the {k} classes {listed(classes)}, got shape {values.shape}"
        )
    total = float(values.sum())
    if not np.isfinite(total) or (values < 0).any():
        raise DecisionError(f"prior probabilities must be finite and not negative, got {values.tolist()}")
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise DecisionError(f"prior probabilities must sum to 1, but they sum to {total:.15g}")
    return np.asarray(values / total)


def is_for_more(prior: Any, classes: Array) -> bool:
    """Return whether a prior is for more classes than these, so that it may be right when others have come.

    Parameters
    ----------
    prior : array-like, dict, float, "uniform" or None
        As `as_prior` takes it.
    classes : array of shape (k,)
        The class labels so far.

    Returns
    -------
    bool
        False also where it is right for these classes, or for any.

    Examples
    --------
    >>> is_for_more([0.2, 0.3, 0.5], np.array(["ham", "spam"])), is_for_more([0.5, 0.6], np.array(["ham", "spam"]))
    (True, False)
    """
    if prior is None or isinstance(prior, str):
        return False
    if _is_labelled(prior):
        n = max(2, len(prior))  # of two classes, one label is enough
    else:
        n = 2 if isinstance(prior, Real) else np.array(prior, dtype=object).size
    return n > len(classes)


def as_cost(cost: Any, classes: Array) -> tuple[Array, Array]:
    """Return the possible decisions (m,) and their costs (m, k).

    Parameters
    ----------
    cost : array-like of shape (k, k), dict or data frame
        ``cost[i, j]`` is the cost of deciding i when the true class is j. With a square matrix the decisions are the
        classes. A dictionary names the decisions, so that there can be more or fewer of them than classes:
        ``{"spam": [0, 10], "ham": [1, 0], "ask": [.3, .3]}``. Its values can be dictionaries by class.
    classes : array of shape (k,)
        The class labels.

    Returns
    -------
    decisions : array of shape (m,)
        The names of the decisions.
    cost : array of shape (m, k)
        The cost of each decision for each true class.

    Examples
    --------
    >>> as_cost({"call": [1, 0], "wait": [0, 5]}, np.array(["healthy", "ill"]))
    (array(['call', 'wait'], dtype=object), array([[1., 0.],
           [0., 5.]]))
    """
    decisions = classes
    if hasattr(cost, "iterrows"):  # a data frame: decisions by row, classes by column
        if not cost.index.is_unique:
            raise DecisionError(f"the costs name a decision more than once: {listed(cost.index)}")
        cost = {decision: dict(row.items()) for decision, row in cost.iterrows()}
    elif hasattr(cost, "to_dicts") or hasattr(cost, "to_pylist"):  # a frame without an index: classes by column
        rows = cost.to_dicts() if hasattr(cost, "to_dicts") else cost.to_pylist()
        cost = [_by_label(row, classes, "cost") for row in rows]
    if isinstance(cost, Mapping):
        decisions = _decisions(list(cost), classes)
        cost = [_by_label(row, classes, "cost") if _is_labelled(row) else row for row in cost.values()]
    try:
        values = np.array(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise DecisionError("costs must be a matrix of numbers with one column per class") from None
    if values.shape != (len(decisions), len(classes)):
        raise DecisionError(
            f"costs of shape {values.shape} do not fit {len(classes)} classes; give a square matrix in the order "
            f"{listed(classes)}, or a dictionary from decisions to costs if the decisions are not the classes"
        )
    if not np.isfinite(values).all():
        raise DecisionError("costs must be finite")
    return decisions, values


def operating_point(prior: Any, cost_miss: Any, cost_false_alarm: Any) -> tuple[Array, Array, Array]:
    """Check a target prior and the costs of the two errors, and broadcast them to one shape."""
    try:
        point = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (prior, cost_miss, cost_false_alarm)))
    except ValueError as error:
        raise DecisionError(f"prior and costs must be numbers, or arrays of the same length: {error}") from None
    if not ((point[0] > 0) & (point[0] < 1)).all():
        raise DecisionError(f"prior must be greater than 0 and less than 1, got {plain(point[0])}")
    if not all((cost > 0).all() and np.isfinite(cost).all() for cost in point[1:]):
        raise DecisionError("costs must be finite and greater than 0")
    return point[0], point[1], point[2]


def detection_cost(miss: float, false_alarm: float, target: int = 1) -> list[list[float]]:
    """Return the cost matrix of the two errors of a detector.

    Parameters
    ----------
    miss : float
        The cost of a row of the class to detect that is taken for the other one.
    false_alarm : float
        The cost of the opposite.
    target : {0, 1}, default=1
        The index of the class to detect.

    Returns
    -------
    list of list of float
        The cost of each decision, for each true class.

    Examples
    --------
    >>> detection_cost(100, 1)
    [[0.0, 100.0], [1.0, 0.0]]
    """
    cost = [[0.0, 0.0], [0.0, 0.0]]
    cost[1 - target][target], cost[target][1 - target] = float(miss), float(false_alarm)
    return cost


def effective_prior(prior: Any, cost_miss: Any = 1.0, cost_false_alarm: Any = 1.0) -> Any:
    """Return the prior that leads to the same decisions when both errors cost 1.

    It is π C_miss / (π C_miss + (1 - π) C_fa). Arrays give one result per operating point.

    Parameters
    ----------
    prior : float or array-like
        The prior probability π of the target class.
    cost_miss : float or array-like, default=1.0
        The cost of missing a target.
    cost_false_alarm : float or array-like, default=1.0
        The cost of taking a non-target for a target.

    Returns
    -------
    float or array
        The effective prior.

    Examples
    --------
    >>> from suffice.decisions import effective_prior
    >>> effective_prior(0.01, cost_miss=10, cost_false_alarm=1)
    0.09174311926605505
    """
    pi, miss, alarm = operating_point(prior, cost_miss, cost_false_alarm)
    return plain(pi * miss / (pi * miss + (1 - pi) * alarm))


def bayes_threshold(prior: Any, cost_miss: Any = 1.0, cost_false_alarm: Any = 1.0) -> Any:
    """Return the log-likelihood ratio above which deciding for the target costs less.

    It is minus the log odds of the effective prior, in nats. Arrays give one result per operating point.

    Parameters
    ----------
    prior : float or array-like
        The prior probability of the target class.
    cost_miss : float or array-like, default=1.0
        The cost of missing a target.
    cost_false_alarm : float or array-like, default=1.0
        The cost of taking a non-target for a target.

    Returns
    -------
    float or array
        The threshold.

    Examples
    --------
    >>> from suffice.decisions import bayes_threshold
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
    """Return whether values come with labels, as in a dictionary or a pandas Series."""
    return isinstance(values, Mapping) or (hasattr(values, "keys") and hasattr(values, "items"))


def _with_the_other(prior: Any, classes: Array) -> Any:
    """A prior by label that names one of two classes, with the probability of the other one."""
    labels, given = classes.tolist(), dict(prior.items())
    if len(labels) != 2 or len(given) != 1 or not set(given) <= set(labels):
        return prior
    ((label, p),) = given.items()
    if not (isinstance(p, Real) and 0 <= float(p) <= 1):
        raise DecisionError(f"the prior probability {p!r} of class {listed([label])} must lie between 0 and 1")
    return given | {labels[1 - labels.index(label)]: 1.0 - float(p)}


def _by_label(values: Any, classes: Array, what: str) -> list[Any]:
    values, labels = dict(values.items()), classes.tolist()
    known = set(labels)
    unknown, missing = [v for v in values if v not in known], [v for v in labels if v not in values]
    if unknown or missing:
        problems = [f"unknown: {listed(unknown)}"] * bool(unknown) + [f"missing: {listed(missing)}"] * bool(missing)
        meant = alike(str(unknown[0]), map(str, labels)) if unknown else ""
        raise DecisionError(f"the {what} does not match the classes {listed(labels, 10)}; {'; '.join(problems)}{meant}")
    return [values[label] for label in labels]


def log(probability: Array) -> Array:
    """Return the natural logarithm, with log 0 = -inf and no warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probability))


def log_posterior(log_joint: Array, log_prior: Array) -> Array:
    """Return log P(class | x) from log p(x | class) + log P(class), computed in place.

    The prior is the same for all rows (k,), or one per row (n, k). A row that is impossible under every class has the
    prior as its posterior.
    """
    top = log_joint.max(axis=1, keepdims=True)
    impossible = np.isneginf(top[:, 0])
    if impossible.any():
        own = np.broadcast_to(log_prior, log_joint.shape)[impossible]
        log_joint[impossible], top[impossible] = own, own.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # scores of far outliers can differ by more than the largest float
        log_joint -= top
    log_joint -= np.log(np.exp(log_joint).sum(axis=1, keepdims=True))
    return log_joint


def cheapest(posterior: Array, cost: Array | None) -> Array:
    """Return the index (n,) of the decision with the least expected cost; without costs, of the most probable class.

    Ties go to the lower index.
    """
    if cost is None:
        return np.asarray(posterior.argmax(axis=1))
    return np.asarray((posterior @ cost.T).argmin(axis=1))


def from_ratio(llr: Array) -> Array:
    """Return log-likelihoods (..., 2) of two classes that have this ratio (...); an infinite one rules out a class."""
    infinite = llr == np.inf
    return np.stack([np.where(infinite, -np.inf, 0.0), np.where(infinite, 0.0, llr)], axis=-1)


def decide(scores: Any, classes: Any, prior: Any = "uniform", cost: Any = None) -> Array:
    """Make the Bayes decision for each row: the one with the least expected cost.

    Parameters
    ----------
    scores : array-like of shape (n, k) or (n,)
        Log-likelihoods of the k classes, or, for two classes, log-likelihood ratios of the second over the first.
    classes : array-like of shape (k,)
        The class labels, in the order of the columns of `scores`.
    prior : array-like of shape (k,), dict, float or "uniform", default="uniform"
        Class probabilities in the order of `classes`, or by label; of two classes, also the probability of the second.
    cost : array-like of shape (k, k) or dict, default=None
        ``cost[i, j]`` is the cost of deciding i when the true class is j. A dictionary from decisions to costs allows
        decisions other than the classes. None means that every error costs 1.

    Returns
    -------
    array of shape (n,)
        The decisions.

    Examples
    --------
    >>> from suffice.decisions import decide
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
    """Return costs that include a reject option: a decision for no class, at a fixed price.

    When errors cost 1, a row is rejected if no class has a posterior above 1 - price (Chow's rule). Pass the result as
    ``cost`` to `predict` or `decide`.

    Parameters
    ----------
    classes : array-like of shape (k,)
        The class labels.
    price : float
        The cost of rejecting, whatever the true class is.
    label : object, default="reject"
        The name of the new decision.
    cost : array-like of shape (k, k) or dict, default=None
        The costs of the other decisions. None means that every error costs 1.

    Returns
    -------
    dict
        The costs of each decision, a list in the order of the classes.

    Examples
    --------
    >>> from suffice.decisions import rejecting
    >>> rejecting(["ham", "spam"], 0.1)
    {'ham': [0.0, 1.0], 'spam': [1.0, 0.0], 'reject': [0.1, 0.1]}
    """
    classes = np.asarray(classes)
    decisions, values = as_cost(1.0 - np.eye(len(classes)) if cost is None else cost, classes)
    if label in decisions.tolist():
        raise DecisionError(f"{label!r} is already a decision; give the reject option another label")
    if not np.isfinite(price):
        raise DecisionError(f"price={price!r} must be a finite number")
    return dict(zip([*decisions.tolist(), label], [*values.tolist(), [float(price)] * len(classes)], strict=True))


def open_set(decided: Array, typicality: Array, level: float, unknown: Any = None) -> Array:
    """Replace the decisions for rows that are outliers under every class.

    Parameters
    ----------
    decided : array of shape (n,)
        The decisions, as `predict` or `decide` returns them.
    typicality : array of shape (n, k)
        Tail probabilities of the rows under each class, as `typicality` returns them.
    level : float
        A row is an outlier if its typicality is below this level for every class.
    unknown : object, default=None
        The decision for outliers.

    Returns
    -------
    array of shape (n,)
        The decisions as Python objects, with `unknown` for outliers.

    Examples
    --------
    >>> from suffice.decisions import open_set
    >>> open_set(np.array(["a", "b"]), np.array([[0.4, 0.1], [0.001, 0.002]]), level=0.01, unknown="other")
    array(['a', 'other'], dtype=object)
    """
    if not 0 < level < 1:
        raise DecisionError(f"level={level!r} must be greater than 0 and less than 1")
    out = decided.astype(object)
    for i in np.flatnonzero((typicality < level).all(axis=1)):  # one by one, since it may be a tuple
        out[i] = unknown
    return out


def difference(two: Array, one: Array) -> Array:
    """Return the difference two - one of log-probabilities; zero where both are impossible."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.where(np.isneginf(one) & np.isneginf(two), 0.0, two - one))


def log_likelihood_ratio(log_likelihood: Array, a: int, b: int) -> Array:
    """Return log p(x | b) - log p(x | a) of shape (n,); zero where both are impossible."""
    return difference(log_likelihood[:, b], log_likelihood[:, a])


def estimate_prior(log_likelihood: Array, start: Array, tol: float = 1e-10, max_iter: int = 10_000) -> Array:
    """Estimate the class proportions of unlabelled rows by maximum likelihood, with EM (Saerens et al., 2002).

    Parameters
    ----------
    log_likelihood : array of shape (n, k)
        Log p(x | class) of the unlabelled rows.
    start : array of shape (k,)
        The proportions to start from, all above 0.
    tol : float, default=1e-10
        Stop when no proportion changes by more than this.
    max_iter : int, default=10_000
        The largest number of iterations.

    Returns
    -------
    array of shape (k,)
        The estimated proportions.

    Examples
    --------
    >>> from suffice.decisions import estimate_prior
    >>> estimate_prior(np.log([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]]), np.array([0.5, 0.5])).round(2)
    array([0.68, 0.32])
    """
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
    """Return a Python number for a scalar, and an array as it is."""
    return np.asarray(value).item() if np.ndim(value) == 0 else value
