"""The automatic model: sensible families and structures, judged on held-out rows, and the table that says why."""

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
from ..scoring.choice import Candidate, Choice
from ..sources import in_memory
from ..sources.frames.arrays import ArraySource
from ..tables.labels import SoftLabels, encode, positions
from ..tables.selection import with_columns
from ..tables.table import looked_at
from .scorers import ResultScorer
from .search import OnePassSearchCV

Array = NDArray[Any]

ALPHAS = (0.1, 1.0, 10.0)
NUMBERS = {"float": "gaussian", "integer": "gaussian"}  # families where no number is taken for a category or a count
MOST = -np.log(1e-6)  # what a row can cost: one that was thought impossible must not decide alone
_SMALL = 1000  # rows, below which ten folds are used instead of five
_ENTRIES = 1 << 26  # of the covariances of all classes and folds; beyond, they are kept diagonal


def fit(
    data: Any,
    target: Any,
    sample_weight: Any = None,
    *,
    families: Any = "auto",
    folds: int | None = None,
    n_jobs: int | None = None,
) -> GenerativeClassifier:
    """The model for a table: what suits it best of the sensible families and structures, fitted on all rows.

    Every candidate is judged by the log cost of its posteriors on held-out rows. It comes from the sum of the other
    folds' statistics (see `OnePassSearchCV`), and the model that is returned from the sum of all, and not from their
    rows. `choice_` of the model is the table of what was tried; the baseline in it is what the class frequencies are
    worth without a model. Columns that only tell rows apart, such as an id, are left out, with a warning.

    Parameters
    ----------
    data : anything tabular, (n, d), with missing cells where there are some; files are read into memory
    target : the name of the column with the labels, or the labels (n,)
    sample_weight : (n,) not negative, or the name of a column; rows count by it in the model and in its judgement
    families : as of MixedClassifier; "auto" tries what types suggest, and numbers as nothing but numbers
    folds : of held-out rows; None takes ten for small tables and five for those of 1000 rows and more
    n_jobs : threads, as of the classifiers

    Returns
    -------
    GaussianClassifier or MixedClassifier

    Examples
    --------
    >>> import suffice
    >>> from sklearn.datasets import load_iris
    >>> clf = suffice.fit(*load_iris(return_X_y=True))
    >>> clf.choice_
    candidate                                               log cost     error
    GaussianClassifier(covariance='tied', predictive=True)    0.0607    2.00 %  chosen
    GaussianClassifier(predictive=True)                       0.0684    3.33 %
    GaussianClassifier(covariance='diag', predictive=True)    0.1349    4.67 %
    class frequencies                                         1.0986   66.67 %  baseline
    """
    if folds is not None and not (isinstance(folds, Integral) and folds >= 2):
        raise DataError(f"folds={folds!r} must be a whole number from 2 on")
    source = in_memory(data, None if target is None else given_labels(target, fit), sample_weight, n_jobs)
    classes, code = encode(_labels(source))
    source, left_out = _telling(source, families)
    weight = np.ones(len(code)) if source.weight is None else source.weight
    if len(present := np.unique(code[weight > 0])) < 2:
        raise DataError(f"there is nothing to tell apart: all rows are of class {listed(classes[present])}")
    k = min(int(folds or (10 if len(code) < _SMALL else 5)), int(np.count_nonzero(weight)))
    splits = _splits(code, weight, k)
    models = [model.set_params(n_jobs=n_jobs) for model in _candidates(source, families, len(classes) * k)]
    search = _Search(
        Pipeline([("model", models[0])]),
        {"model": models},
        scoring=_HeldOut(),
        refit=lambda results: int(_per_row(results, "log_cost").argmin()),
        cv=splits,
        n_jobs=n_jobs,
        error_score="raise",
    )
    with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
        warnings.simplefilter("ignore", SufficeWarning)  # of what is only tried
        search.fit(source.frame, source.y, model__sample_weight=source.weight)
    best = search.best_estimator_[-1]
    model: GenerativeClassifier = clone(best)._fit_known(source, best.statistics_)
    names = (" ".join(repr(model).split()) for model in models)
    costs, errors = (_per_row(search.cv_results_, name).tolist() for name in ("log_cost", "error"))
    tried = sorted(map(Candidate, names, costs, errors), key=lambda each: each.log_cost)
    model.choice_ = Choice(tuple(tried), _baseline(code, weight, splits), k, left_out)
    return model


def _labels(source: ArraySource) -> Array:
    if source.n_rows == 0:
        raise DataError("the table has no rows to learn from")
    if source.y is None:
        raise DataError("the automatic choice needs a target: the name of the column with the labels, or the labels")
    if isinstance(source.y, SoftLabels):
        raise DataError("the automatic choice takes labels, not soft ones")
    return source.y


def _telling(source: ArraySource, families: Any) -> tuple[ArraySource, dict[str, str]]:
    """The columns that may tell classes apart, and why others are left out: nobody wants an id to be learnt."""
    columns = [looked_at(column) for column in source.table.columns()]
    names = source.table.names_of(range(len(columns)))
    asked, reasons = asked_for(families, names, columns, source.frame), {}
    for j in sorted({*range(len(columns))} - {*asked}):
        if found := number_like(columns[j]):
            _warn(source, j, f"is text, though {found}; make it numbers, with missing cells for what is none")
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
    remedy = f"families={{{name}: {family!r}}} takes it as it is"
    warnings.warn(f"column {name} {message}; {remedy}", ColumnWarning, stacklevel=4)


def _candidates(source: ArraySource, families: Any, statistics: int) -> Iterator[GenerativeClassifier]:
    """The models worth trying, simple ones first, where so many statistics are kept."""
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
    """Training and held-out rows of each fold, with every class dealt out evenly, however small it is, and rows without
    weight last, so that every fold has some with it."""
    shuffled = np.random.default_rng(0).permutation(len(code))
    dealt = shuffled[np.lexsort((code[shuffled], weight[shuffled] == 0))]
    fold = np.empty_like(code)
    fold[dealt] = np.arange(len(code)) % k
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(k)]


class _Search(OnePassSearchCV):
    """A search in which rows are judged by the weights that they are learnt with."""

    def _get_routed_params_for_fit(self, params: dict[str, Any]) -> Any:
        routed = super()._get_routed_params_for_fit(params)
        routed.scorer.score["sample_weight"] = params["model__sample_weight"]
        return routed


class _HeldOut(ResultScorer):
    """What a search keeps of rows that a model has not seen: sums over the rows of a fold."""

    def __call__(self, model: Any, X: Any, y: Any, sample_weight: Array | None) -> dict[str, float]:
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        costs = _costs(model.predict_log_proba(X), positions(y, model.classes_), weight)
        return dict(zip(("log_cost", "error", "weight"), costs, strict=True))


def _costs(log_posterior: Array, place: Array, weight: Array) -> tuple[float, float, float]:
    """Log cost, errors and weight of some rows, given where the class of each stands in its posteriors; -1 is
    nowhere."""
    own = np.where(place < 0, -np.inf, log_posterior[np.arange(len(place)), place])
    return weight @ np.minimum(-own, MOST), weight @ (log_posterior.argmax(axis=1) != place), weight.sum()


def _per_row(results: dict[str, Array], name: str) -> Array:
    """Costs of a row, where those of folds are known."""
    mean: Array = results[f"mean_test_{name}"] / results["mean_test_weight"]
    return mean


def _baseline(code: Array, weight: Array, splits: list[tuple[Array, Array]]) -> Candidate:
    """What the frequencies of the training rows cost on the others, where nothing else is looked at."""
    sums = np.zeros(3)
    for train, test in splits:
        frequency = np.bincount(code[train], weight[train], code.max() + 1) / weight[train].sum()
        log_posterior = np.broadcast_to(decisions.log(frequency), (len(test), len(frequency)))
        sums += _costs(log_posterior, code[test], weight[test])
    return Candidate("class frequencies", float(sums[0] / sums[2]), float(sums[1] / sums[2]))
