"""What scikit-learn keeps private and we need: the one file to look at when a new version of it comes out.

Names that are imported from here behave alike in every version that `pyproject.toml` allows; `make test-lowest` runs
the tests with the oldest. `OnePassSearchCV` also calls five methods of its base class that are private:
`_get_scorers`, `_get_routed_params_for_fit`, `_check_refit_for_multimetric`, `_format_results`, `_select_best_index`;
and it adds to the `_parameter_constraints`.

The classes of `suffice.sklearn` override private methods of their bases: `_check_X`, `_check_X_y` and
`_joint_log_likelihood` of naive Bayes, `_decision_function` of quadratic discriminant analysis, `_fit_full` and
`_fit_truncated` of PCA, and the two steps of mixtures. `make test-peers` runs scikit-learn's own tests of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

# Checks the parameters before `fit`, unless the configuration says not to.
from sklearn.base import _fit_context as checks_parameters

# A scorer made by `make_scorer`, several of them by name, and the `score` method of an estimator.
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer

# Whether a search has kept its best model, and whether that has a method: what its own predict_proba and the like are
# offered by.
from sklearn.model_selection._search import _check_refit as check_refit
from sklearn.model_selection._search import _search_estimator_has as search_estimator_has

# The scores of a fold, and the warnings and the scores of fits that failed, in the words of GridSearchCV.
from sklearn.model_selection._validation import _insert_error_scores as insert_error_scores
from sklearn.model_selection._validation import _score as score_of_fold
from sklearn.model_selection._validation import _warn_or_raise_about_fit_failures as warn_or_raise_about_fit_failures

# Rows of whatever a table is: arrays, sparse matrices, frames, lists.
from sklearn.utils import _safe_indexing

# The library that arrays belong to.
from sklearn.utils._array_api import get_namespace

# A parameter that is one of some names: what `_parameter_constraints` are made of.
from sklearn.utils._param_validation import StrOptions as OneOfNames

# What `set_output` asked a transformer to return.
from sklearn.utils._set_output import _get_output_config

# Whether `partial_fit` is called for the first time; checks and sets the classes.
from sklearn.utils.multiclass import _check_partial_fit_first_call as is_first_partial_fit

# Parameters of fit and score that hold one value for each row, for some rows; weights, one for each row.
from sklearn.utils.validation import _check_method_params as params_of_rows
from sklearn.utils.validation import _check_sample_weight as checked_weights

from ..tables.readers import is_of

__all__ = [
    "OneOfNames",
    "ScorerParts",
    "check_refit",
    "checked_weights",
    "checks_parameters",
    "factors_of_given_precisions",
    "factors_of_precisions",
    "get_namespace",
    "insert_error_scores",
    "is_first_partial_fit",
    "is_own_score",
    "named_scorers",
    "params_of_rows",
    "returns_arrays",
    "safe_indexing",
    "score_of_fold",
    "scorer_parts",
    "search_estimator_has",
    "warn_or_raise_about_fit_failures",
]


def factors_of_precisions(*arguments: Any, **options: Any) -> Any:
    """Factors of the precisions of mixtures, with the error about covariances that have none."""
    from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky  # and k-means, which few need

    return _compute_precision_cholesky(*arguments, **options)


def factors_of_given_precisions(*arguments: Any, **options: Any) -> Any:
    """Factors of precisions that are given."""
    from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky_from_precisions

    return _compute_precision_cholesky_from_precisions(*arguments, **options)


def safe_indexing(X: Any, rows: Any) -> Any:
    """Some rows of a table, by their indices. Before version 1.7 scikit-learn did not take rows of Arrow tables."""
    return X.take(rows) if is_of(X, "pyarrow", "Table") else _safe_indexing(X, rows)


def named_scorers(scorer: Any) -> dict[str, Any] | None:
    """The scorers of a search with several metrics by name, or None if there is a single one."""
    return dict(scorer._scorers) if isinstance(scorer, _MultimetricScorer) else None


def is_own_score(scorer: Any) -> bool:
    """Whether a scorer is the `score` method of the estimator."""
    return isinstance(scorer, _PassthroughScorer)


@dataclass(frozen=True)
class ScorerParts:
    """What `make_scorer` was given."""

    metric: Callable[..., Any]
    options: dict[str, Any]  # of the metric
    sign: int  # -1 for a loss
    response: Any  # the method, or methods, of the estimator that it calls
    takes_weights: bool


def scorer_parts(scorer: Any) -> ScorerParts | None:
    """The parts of a scorer of scikit-learn, or None for any other."""
    if not isinstance(scorer, _BaseScorer):
        return None
    metric = scorer._score_func
    weighted = "sample_weight" in signature(metric).parameters
    return ScorerParts(metric, scorer._kwargs, scorer._sign, scorer._response_method, weighted)


def returns_arrays(transformer: Any) -> bool:
    """Whether a transformer returns arrays, and not the frames that `set_output` may ask for."""
    return bool(_get_output_config("transform", transformer)["dense"] == "default")
