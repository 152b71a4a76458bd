"""What scikit-learn keeps private and this package needs: the one file to look at when a new version comes out.

The classes also override methods of their bases that are private: `_check_X`, `_check_X_y` and `_joint_log_likelihood`
of naive Bayes, `_decision_function` of quadratic discriminant analysis, `_fit_full` and `_fit_truncated` of PCA, and
the two steps of mixtures. `make test-peers` runs scikit-learn's own tests of all of them.
"""

from __future__ import annotations

# Checks the parameters before `fit`, unless the configuration says not to.
from sklearn.base import _fit_context as checks_parameters

# Factors of precisions, and the error about covariances that have none.
from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky as factors_of_precisions
from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky_from_precisions as factors_of_given_precisions

# The library that arrays belong to.
from sklearn.utils._array_api import get_namespace

# Whether `partial_fit` is called for the first time; checks and sets the classes.
from sklearn.utils.multiclass import _check_partial_fit_first_call as is_first_partial_fit

# Weights, one for each row.
from sklearn.utils.validation import _check_sample_weight as checked_weights

__all__ = [
    "checked_weights",
    "checks_parameters",
    "factors_of_given_precisions",
    "factors_of_precisions",
    "get_namespace",
    "is_first_partial_fit",
]
