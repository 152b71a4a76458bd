"""The automatic choice of a model: sensible families and structures, compared on held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .. import decisions
from ..errors import ColumnWarning, DataError, SufficeWarning, listed
from ..estimators.gaussian import GaussianClassifier
from ..estimators.generative import GenerativeClassifier
from ..estimators.mixed import MixedClassifier
from ..estimators.table_estimator import given_labels
from ..schema import Schema, asked_for, number_like, row_names
from ..scoring.choice import Choice, HeldOutResult
from ..sources import in_memory
from ..sources.frames.arrays import ArraySource
from ..tables.labels import SoftLabels, encode, positions
from ..tables.selection import with_columns
from ..tables.table import looked_at
from .scorers import ResultScorer
from .search import OnePassSearchCV

Array = NDArray[Any]

ALPHAS = (0.1, 1.0, 10.0)
NUMBERS = {"float": "gaussian", "integer": "gaussian"}  # families if no number counts as a category or a count
MOST = -np.log(1e-6)  # the largest loss of a row: one that seemed impossible must not decide alone
_SMALL = 1000  # rows, below which ten folds are used instead of five
_ENTRIES = 1 << 26  # of the covariances of all classes and folds; with more, only diagonal ones are tried


def fit(
    data: Any,
    target: Any,
    sample_weight: Any = None,
    *,
    families: Any = "auto",
    folds: int | None = None,
    n_jobs: int | None = None,
) -> GenerativeClassifier:
    """Choose a model for a table automatically, and fit it to all rows.

    Sensible families and structures are compared by the log loss of their posteriors on held-out rows. Each candidate
    is estimated from the statistics of the other folds (see `OnePassSearchCV`), and the returned model from those of
    all folds, so that nothing is refitted. Its attribute `choice_` is the table of what was tried, with the class
    frequencies as the baseline. Columns that identify rows, such as an id, are left out with a warning.

    Parameters
    ----------
    data : table of shape (n, d)
        An array, a data frame, a path or any other table. Values can be missing. Files are read into memory.
    target : str or array-like of shape (n,)
        The name of the column with the labels, or the labels.
    sample_weight : array-like of shape (n,) or str, default=None
        Row weights, not negative, or the name of their column. They count in the model and in its evaluation.
    families : dict, str or Schema, default="auto"
        The family of each column, as in `MixedClassifier`. "auto" tries the families that the types suggest, and all
        numbers as Gaussian.
    folds : int, default=None
        The number of folds. None means ten, and five for 1000 rows or more.
    n_jobs : int, default=None
        The number of threads. None means all processors.

    Returns
    -------
    GaussianClassifier or MixedClassifier
        The fitted model.

    Examples
    --------
    >>> import suffice
    >>> from sklearn.datasets import load_iris
    >>> clf = suffice.fit(*load_iris(return_X_y=True))
    >>> clf.choice_
    candidate                                               log loss     error
    GaussianClassifier(covariance='tied', predictive=True)    0.0607    2.00 %  chosen
    GaussianClassifier(predictive=True)                       0.0684    3.33 %
    GaussianClassifier(covariance='diag', predictive=True)    0.1349    4.67 %
    class frequencies                                         1.0986   66.67 %  baseline
    """
    if folds is not None and not (isinstance(folds, Integral) and folds >= 2):
        raise DataError(f"folds={folds!r} must be an integer of at least 2")
    source = in_memory(data, None if target is None else given_labels(target, fit), sample_weight, n_jobs)
    classes, code = encode(_labels(source))
    source, left_out = _telling(source, families)
    weight = np.ones(len(code)) if source.weight is None else source.weight
    if len(present := np.unique(code[weight > 0])) < 2:
        raise DataError(f"at least two classes are needed, but all rows are of class {listed(classes[present])}")
    k = min(int(folds or (10 if len(code) < _SMALL else 5)), int(np.count_nonzero(weight)))
    splits = _splits(code, weight, k)
    models = [model.set_params(n_jobs=n_jobs) for model in _candidates(source, families, len(classes) * k)]
    search = _Search(
        Pipeline([("model", models[0])]),
        {"model": models},
        scoring=_HeldOut(),
        refit=lambda results: int(_per_row(results, "log_loss").argmin()),
        cv=splits,
        n_jobs=n_jobs,
        error_score="raise",
    )
    with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
        warnings.simplefilter("ignore", SufficeWarning)  # of candidates
        search.fit(source.frame, source.y, model__sample_weight=source.weight)
    best = search.best_estimator_[-1]
    model: GenerativeClassifier = clone(best)._fit_known(source, best.statistics_)
    names = (" ".join(repr(model).split()) for model in models)
    costs, errors = (_per_row(search.cv_results_, name).tolist() for name in ("log_loss", "error"))
    tried = sorted(map(HeldOutResult, names, costs, errors), key=lambda each: each.log_loss)
    model.choice_ = Choice(tuple(tried), _baseline(code, weight, splits), k, left_out)
    return model


def _labels(source: ArraySource) -> Array:
    if source.n_rows == 0:
        raise DataError("the table has no rows")
    if source.y is None:
        raise DataError("target is missing: give the name of the column with the labels, or the labels")
    if isinstance(source.y, SoftLabels):
        raise DataError("the automatic choice does not support soft labels; give one label per row")
    return source.y


def _telling(source: ArraySource, families: Any) -> tuple[ArraySource, dict[str, str]]:
    """Return the source without columns that identify rows, and why each of these is left out."""
    columns = [looked_at(column) for column in source.table.columns()]
    names = source.table.names_of(range(len(columns)))
    asked, reasons = asked_for(families, names, columns, source.frame), {}
    for j in sorted({*range(len(columns))} - {*asked}):
        if found := number_like(columns[j]):
            _warn(source, j, f"is text, though {found}; convert it to numbers, with missing values for the rest")
        if source.names and (reason := row_names(columns[j])):
            reasons[j] = reason
    if len(reasons) in (0, len(columns)):
        return source, {}
    for j, reason in reasons.items():
        _warn(source, j, f"is left out: {reason}", "gaussian" if columns[j].kind == "integer" else "categorical")
    table = with_columns(source.frame, tuple(name for j, name in enumerate(names) if j not in reasons))
    left_out = {names[j]: reason for j, reason in reasons.items()}
    return in_memory(table, source.y, source.weight, source.n_jobs), left_out


def _warn(source: ArraySource, j: int, message: str, family: str = "categorical") -> None:
    name = source.table.column_name(j)
    remedy = f"use families={{{name}: {family!r}}} to keep it as it is"
    warnings.warn(f"column {name} {message}; {remedy}", ColumnWarning, stacklevel=4)


def _candidates(source: ArraySource, families: Any, statistics: int) -> Iterator[GenerativeClassifier]:
    """Yield the models to try, simple ones first, if this many statistics are kept."""
    columns = [looked_at(column) for column in source.table.columns()]
    numbers = [column for column in columns if column.kind in ("integer", "float", "boolean")]
    is_complete = not any(np.isnan(column.floats()).any() for column in numbers)
    is_narrow = statistics * source.n_features**2 <= _ENTRIES
    structures = ("diag", "tied", "full") if is_complete and is_narrow else ("tied_diag", "diag")
    gaussian = families == "auto" and is_complete and len(numbers) == len(columns)
    if gaussian:
        yield from (GaussianClassifier(structure, predictive=True) for structure in structures)
    known = set()
    for view in ("auto", NUMBERS) if families == "auto" else (families,):
        schema = Schema.of(source.table, view, source.frame).families
        if schema in known or (gaussian and set(schema) == {"gaussian"}):
            continue
        known.add(schema)
        for structure in structures if schema.count("gaussian") > 1 else structures[:1]:
            for alpha in ALPHAS if set(schema) - {"gaussian", "drop"} else (1.0,):
                yield MixedClassifier(view, alpha, structure)


def _splits(code: Array, weight: Array, k: int) -> list[tuple[Array, Array]]:
    """Return the training and held-out rows of each fold.

    Every class is spread evenly over the folds. Rows of weight 0 are dealt last, so that every fold has some weight.
    """
    shuffled = np.random.default_rng(0).permutation(len(code))
    dealt = shuffled[np.lexsort((code[shuffled], weight[shuffled] == 0))]
    fold = np.empty_like(code)
    fold[dealt] = np.arange(len(code)) % k
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(k)]


class _Search(OnePassSearchCV):
    """A search that evaluates rows with their training weights."""

    def _get_routed_params_for_fit(self, params: dict[str, Any]) -> Any:
        routed = super()._get_routed_params_for_fit(params)
        routed.scorer.score["sample_weight"] = params["model__sample_weight"]
        return routed


class _HeldOut(ResultScorer):
    """The sums that a search keeps of the held-out rows of a fold."""

    def __call__(self, model: Any, X: Any, y: Any, sample_weight: Array | None) -> dict[str, float]:
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        costs = _costs(model.predict_log_proba(X), positions(y, model.classes_), weight)
        return dict(zip(("log_loss", "error", "weight"), costs, strict=True))


def _costs(log_posterior: Array, code: Array, weight: Array) -> tuple[float, float, float]:
    """Return the summed log loss, errors and weight of rows; the class index is -1 for a class unknown to the model."""
    own = np.where(code < 0, -np.inf, log_posterior[np.arange(len(code)), code])
    return weight @ np.minimum(-own, MOST), weight @ (log_posterior.argmax(axis=1) != code), weight.sum()


def _per_row(results: dict[str, Array], name: str) -> Array:
    """Return the mean per row, from sums per fold."""
    mean: Array = results[f"mean_test_{name}"] / results["mean_test_weight"]
    return mean


def _baseline(code: Array, weight: Array, splits: list[tuple[Array, Array]]) -> HeldOutResult:
    """Return the loss of the class frequencies of the training rows on the held-out rows."""
    sums = np.zeros(3)
    for train, test in splits:
        frequency = np.bincount(code[train], weight[train], code.max() + 1) / weight[train].sum()
        log_posterior = np.broadcast_to(decisions.log(frequency), (len(test), len(frequency)))
        sums += _costs(log_posterior, code[test], weight[test])
    return HeldOutResult("class frequencies", float(sums[0] / sums[2]), float(sums[1] / sums[2]))
