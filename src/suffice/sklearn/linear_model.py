"""Logistic regression by scikit-learn's name: the same optimum, by Newton's method."""

from __future__ import annotations

from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import linear_model as theirs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from ..errors import warn
from ..estimators._sklearn import checks_parameters
from ..regression.problem import LogisticProblem
from ..stats.collectors import CollectMoments
from ..tables.labels import encode
from ..threads import thread_count
from .discriminant_analysis import Linear
from .work import OURS, THEIRS, statistics_together, takes_arrays, validated, weights

Array = NDArray[Any]

_FEW = 100_000  # numbers in X, of which the optimum takes milliseconds: it does not depend on the order of sums
_TOL = 1e-12  # of the gradient there: Newton's method gets there a step or two after it gets near
_EPS = float(np.finfo(np.float64).eps)
_DEFAULTS = signature(theirs.LogisticRegression).parameters  # which differ between versions
_L2 = {name: _DEFAULTS[name].default for name in ("penalty", "l1_ratio")}
_WIDE = 500  # columns, of which the matrix of moments is no longer a small part of the work


class LogisticRegression(Linear, theirs.LogisticRegression):
    """Logistic regression with an L2 penalty.

    Parameters and attributes are those of `sklearn.linear_model.LogisticRegression`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    In the place of the default solver "lbfgs" stands Newton's method, which usually ends nearer to the same optimum
    with the same `tol`. Other solvers and penalties, penalties below rounding (`C=np.inf`, or above 4e15), callbacks
    and sparse matrices are left to scikit-learn.

    Examples
    --------
    >>> from suffice.sklearn import LogisticRegression
    >>> model = LogisticRegression().fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> model.predict([[3.5]]).item(), model.predict([[3.5]], prior=0.01).item()
    (1, 0)
    """

    multi_class = "deprecated"  # from version 1.8 on, there is no such parameter
    _prior: Array

    @checks_parameters(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.backend_ = THEIRS
        if not self._is_ours() or issparse(X) or not takes_arrays(X, y):
            return super().fit(X, y, sample_weight)  # type: ignore[no-any-return]
        given = X, y, sample_weight
        X, y = validated(self, X, y, reset=True, dtype=[np.float64, np.float32], order="C")
        check_classification_targets(y)
        classes, code = encode(y)
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(weights(sample_weight, X))
        if self.class_weight is not None:
            weight = weight * compute_class_weight(self.class_weight, classes=classes, y=y)[code]
        total = np.bincount(code, weight, minlength=len(classes))
        moments = statistics_together(CollectMoments("diag" if X.shape[1] > _WIDE else "pooled"), X, weight)
        if moments is None or len(classes) < 2 or not (total > 0).all():
            return super().fit(*given)  # type: ignore[no-any-return]
        settings = {"threads": thread_count(), "has_intercept": bool(self.fit_intercept)}
        problem = LogisticProblem.of(X, code, weight, len(classes), 1 / (self.C * weight.sum()), **settings)
        whole: Any = moments.plain()
        covariance = whole.scatter / whole.total
        covariance = covariance[0] if X.shape[1] > _WIDE else covariance
        # scikit-learn's gradient is in units of the columns, and the one that ends our search in standard deviations.
        tol = self.tol / max(1.0, float(np.sqrt(whole.variation.max() / whole.total)))
        tol = min(tol, _TOL) if X.size <= _FEW else tol
        slope, intercept, found = problem.solve(
            whole.mean[0], covariance, tol, self.max_iter, self._start(problem, classes)
        )
        if not found.success:
            warn(
                f"lbfgs failed to converge after {found.nit} iteration(s): Newton's method, which takes its place, is "
                "not done. Increase the number of iterations to improve the convergence (max_iter), or scale the data",
                ConvergenceWarning,
            )
        self.classes_, self.backend_, self._prior = classes, OURS, total / total.sum()
        if len(classes) > 2:
            intercept = intercept - intercept.mean()
        self.coef_, self.intercept_ = slope.astype(X.dtype), intercept.astype(X.dtype)
        self.n_iter_ = np.array([found.nit], np.int32)
        return self

    def _is_ours(self) -> bool:
        """Whether the parameters ask for what Newton's method finds: the default solver, and an L2 penalty."""
        plain = self.solver == "lbfgs" and self.penalty == _L2["penalty"] and 1 / self.C > _EPS
        plain = plain and self.l1_ratio in (_L2["l1_ratio"], 0) and self.multi_class == "deprecated"
        special = self.dual or self.verbose or self.n_jobs is not None or self.max_iter == 0
        return bool(plain and not special and not getattr(self, "_skl_callbacks", None))

    def _start(self, problem: LogisticProblem, classes: Array) -> tuple[Array, Array] | None:
        """What the last fit has found, if that is to be the start."""
        if not (self.warm_start and hasattr(self, "coef_") and np.array_equal(self.classes_, classes)):
            return None
        slope = np.asarray(self.coef_, np.float64)
        if slope.shape != (problem.n_outputs, problem.n_columns):
            return None
        return slope, np.broadcast_to(np.asarray(self.intercept_, np.float64), len(slope))

    def _log_prior(self) -> Array:
        prior = vars(self).get("_prior")
        return np.zeros(len(self.classes_)) if prior is None else np.log(prior)
