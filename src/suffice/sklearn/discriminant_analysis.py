"""Discriminant analysis by scikit-learn's names, from moments: no decomposition of the rows themselves."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import issparse
from sklearn import discriminant_analysis as theirs
from sklearn.utils.validation import validate_data

from .. import kernels
from ..densities import GaussianDensity
from ..densities.covariance import STRUCTURES
from ..densities.shrinkage import shrunk
from ..errors import warn
from ..estimators._sklearn import checks_parameters
from ..projection import overall
from ..regression.model import LogisticModel
from ..stats import MomentStats
from ..stats.collectors import CollectMoments
from .work import THEIRS, Generative, Scored, is_plain, joint_of, labels_of, statistics_of, takes_arrays, validated

Array = NDArray[Any]

_TELLS = 1e-7  # singular values that moments tell from nothing, relative to the largest
_LOG_2PI = float(np.log(2 * np.pi))


class Linear(Scored):
    """A classifier with `coef_` and `intercept_`: its scores are linear, and the prior is in the intercepts."""

    coef_: Array
    intercept_: Array

    def _check_X(self, X: Any) -> Any:  # noqa: N802
        return validate_data(self, X, reset=False, accept_sparse="csr")

    def _leaves(self, X: Any) -> bool:
        return issparse(X) or super()._leaves(X)

    def _takes(self, X: Any) -> bool:
        return is_plain(self, X, is_finite=True)  # or the scores are not

    def _parameters(self) -> list[Array]:
        return [np.asarray(self.coef_), np.asarray(self.intercept_), self._log_prior()]

    def _made(self) -> LogisticModel:
        slope = np.atleast_2d(np.asarray(self.coef_, np.float64))
        constant = np.broadcast_to(np.asarray(self.intercept_, np.float64), len(slope))
        if len(self.classes_) == 2 and len(slope) == 1:
            slope, constant = np.concatenate([0 * slope, slope]), np.concatenate([[0.0], constant])
        log_prior, center = self._log_prior(), np.zeros(slope.shape[1])
        if (never := np.isneginf(log_prior)).any():  # with such a prior, intercepts are infinite
            constant = np.where(never, -np.inf, np.where(np.isposinf(constant), 0.0, constant))
            log_prior = np.where(never, 0.0, log_prior)
        return LogisticModel(self.classes_, np.exp(self._log_prior()), center, slope, constant - log_prior)


class Discriminant(Generative):
    """`fit` of both analyses: collect moments, set the attributes."""

    priors: Any

    @checks_parameters(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model, in one pass over the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            The labels.

        Returns
        -------
        self
            The fitted classifier.

        Examples
        --------
        >>> from suffice.sklearn import LinearDiscriminantAnalysis
        >>> model = LinearDiscriminantAnalysis().fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
        >>> model.means_, model.backend_
        (array([[1.5],
               [4.5]]), 'suffice')
        """
        found = self._collected(X, y, None, reset=True) if self._is_ours() and takes_arrays(X, y) else None
        if found is None:
            self.backend_ = THEIRS
            return super().fit(X, y)  # type: ignore[misc, no-any-return]
        labels_of(found.classes)  # or its error
        return self._learn(found)

    def _given_priors(self, frequencies: Array) -> Array:
        """The priors that were given, or these."""
        if self.priors is None:
            return frequencies
        priors = np.array(self.priors)
        if priors.shape != frequencies.shape:
            raise ValueError("Number of priors must match number of classes.")
        return priors


class LinearDiscriminantAnalysis(Linear, Discriminant, theirs.LinearDiscriminantAnalysis):
    """Linear discriminant analysis.

    Parameters and attributes are those of `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`. `backend_` says
    who did the work: "suffice" or "scikit-learn".

    `shrinkage="auto"` and `covariance_estimator` are left to scikit-learn, and so is the svd solver with a `tol` below
    1e-7, which moments cannot tell from zero.

    Examples
    --------
    >>> from suffice.sklearn import LinearDiscriminantAnalysis
    >>> model = LinearDiscriminantAnalysis().fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> model.llr([[3.0]]).round(6)
    array([0.])
    """

    _collects_by = ("priors", "solver", "store_covariance")

    def _is_ours(self) -> bool:
        if self.covariance_estimator is not None or (self.solver == "svd" and self.shrinkage is not None):
            return False
        return bool(self.shrinkage != "auto" and (self.solver != "svd" or self.tol >= _TELLS))

    def _collected(self, X: Any, y: Any, sample_weight: Any, reset: bool = False) -> MomentStats | None:
        X, y = validated(self, X, y, reset=reset, ensure_min_samples=2, dtype=[np.float64, np.float32])
        self._dtype = X.dtype
        by_class = self.priors is not None and (self.solver != "svd" or self.store_covariance)
        found = statistics_of(CollectMoments("full" if by_class else "pooled"), X, y, sample_weight)
        return None if found is None else found.plain()  # type: ignore[return-value]

    def _set(self, statistics: MomentStats) -> None:
        k, d, n = len(statistics.classes), statistics.n_features, statistics.total
        if n == k:
            raise ValueError("The number of samples must be more than the number of classes.")
        self.priors_ = self._checked_priors(statistics.weight / n)
        most = min(k - 1, d)
        if self.n_components is not None and self.n_components > most:
            raise ValueError("n_components cannot be larger than min(n_features, n_classes - 1).")
        self._max_components = most if self.n_components is None else self.n_components
        self._n_features_out = self._max_components
        self.classes_ = labels_of(statistics.classes)
        self.means_ = statistics.mean.copy()
        if self.solver == "svd":
            self._from_correlations(statistics)
        else:
            self._from_covariances(statistics)
        if k == 2:
            self.coef_, self.intercept_ = self.coef_[1:] - self.coef_[:1], self.intercept_[1:] - self.intercept_[:1]
        names = ["means_", "priors_"]
        if self.solver == "svd":
            names += ["scalings_", "xbar_", "explained_variance_ratio_"]
        if self.solver == "svd" or k == 2:
            names += ["coef_", "intercept_"]
        for name in names:
            setattr(self, name, getattr(self, name).astype(self._dtype, copy=False))

    def _checked_priors(self, frequencies: Array) -> Array:
        priors = np.asarray(self._given_priors(frequencies), np.float64)
        if (priors < 0).any():
            raise ValueError("priors must be non-negative")
        if abs(priors.sum() - 1.0) > 1e-5:
            warn("The priors do not sum to 1. Renormalizing", UserWarning)
            priors = priors / priors.sum()
        return priors

    def _from_correlations(self, moments: MomentStats) -> None:
        """What the svd solver finds: the eigenvectors of the correlations within classes are its singular vectors."""
        n, k = moments.total, len(moments.classes)
        scatter = moments.scatter if moments.layout == "pooled" else moments.scatter.sum(axis=0)
        if self.store_covariance:
            self.covariance_ = self._within(moments)
        self.xbar_ = self.priors_ @ self.means_
        std = np.sqrt(np.diag(scatter) / n)
        std[std == 0] = 1.0
        values, vectors = linalg.eigh(scatter / n / std / std[:, None])
        singular = np.sqrt(np.maximum(values[::-1], 0.0))
        rank = int((singular > self.tol).sum())
        scalings = (vectors[:, ::-1][:, :rank] / std[:, None]) / singular[:rank]
        between = np.sqrt(n * self.priors_ / max(k - 1, 1))[:, None] * ((self.means_ - self.xbar_) @ scalings)
        _, spread, turn = linalg.svd(between, full_matrices=False)
        with np.errstate(invalid="ignore"):
            share = spread**2 / (spread**2).sum()
        self.explained_variance_ratio_ = share[: self._max_components] if self._max_components else np.empty(0)
        self.scalings_ = scalings @ turn.T[:, : int((spread > self.tol * spread[:1]).sum())]
        coef = (self.means_ - self.xbar_) @ self.scalings_
        self.coef_ = coef @ self.scalings_.T
        with np.errstate(divide="ignore"):
            self.intercept_ = -0.5 * (coef**2).sum(axis=1) + np.log(self.priors_) - self.coef_ @ self.xbar_

    def _from_covariances(self, moments: MomentStats) -> None:
        """What the solvers lsqr and eigen find."""
        self.covariance_ = within = self._within(moments)
        if self.solver == "lsqr":
            self.coef_ = linalg.lstsq(within, self.means_.T)[0].T
        else:
            between = self._shrunk(overall(moments)[1]) - within
            values, vectors = linalg.eigh(between, within)
            order = np.argsort(values)[::-1]
            self.explained_variance_ratio_ = (values[order] / values.sum())[: self._max_components]
            self.scalings_ = vectors[:, order]
            self.coef_ = self.means_ @ self.scalings_ @ self.scalings_.T
        with np.errstate(divide="ignore"):
            self.intercept_ = -0.5 * np.einsum("kd,kd->k", self.means_, self.coef_) + np.log(self.priors_)

    def _within(self, moments: MomentStats) -> Array:
        """The covariance of the classes, weighted by the priors."""
        if moments.layout == "pooled":
            return self._shrunk(moments.scatter / moments.total)
        by_class = moments.scatter / moments.weight[:, None, None]
        return self._shrunk(np.einsum("k,kij->ij", self.priors_, by_class))

    def _shrunk(self, covariance: Array) -> Array:
        return shrunk(covariance, float(self.shrinkage or 0.0), np.ones(len(covariance)))

    def _log_prior(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.priors_.astype(np.float64))


class QuadraticDiscriminantAnalysis(Discriminant, theirs.QuadraticDiscriminantAnalysis):
    """Quadratic discriminant analysis.

    Parameters and attributes are those of `sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis`. `backend_`
    says who did the work: "suffice" or "scikit-learn".

    `shrinkage="auto"` and `covariance_estimator` are left to scikit-learn.

    Examples
    --------
    >>> from suffice.sklearn import QuadraticDiscriminantAnalysis
    >>> model = QuadraticDiscriminantAnalysis().fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> model.llr([[3.0]]).round(6)
    array([0.])
    """

    solver, shrinkage, covariance_estimator = "svd", None, None  # which versions before 1.8 do not have

    def _is_ours(self) -> bool:
        if self.covariance_estimator is not None or self.shrinkage == "auto":
            return False
        return self.shrinkage is None or self.solver == "eigen"

    def _collected(self, X: Any, y: Any, sample_weight: Any, reset: bool = False) -> MomentStats | None:
        X, y = validated(self, X, y, reset=reset)
        self._dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        found = statistics_of(CollectMoments("full"), X, y, sample_weight)
        return None if found is None else found.plain()  # type: ignore[return-value]

    def _set(self, statistics: MomentStats) -> None:
        n, d = statistics.weight, statistics.n_features
        if len(n) < 2:
            raise ValueError(f"The number of classes has to be greater than one. Got {len(n)} class.")
        if (n <= 1).any():
            alone = statistics.classes[n <= 1][0]
            raise ValueError(f"y has only 1 sample in class {alone}, covariance is ill defined.")
        covariance = statistics.scatter / n[:, None, None]
        if self.solver == "eigen":
            covariance = shrunk(covariance, float(self.shrinkage or 0.0), np.ones(covariance.shape[-1]))
        scalings, rotations = np.linalg.eigh(covariance)
        scalings, rotations = scalings[:, ::-1], rotations[:, :, ::-1]
        if self.solver == "svd":
            scalings = (1 - self.reg_param) * np.maximum(scalings, 0.0) + self.reg_param
        for c, values in enumerate(scalings):
            kept = values[: int(n[c])] if self.solver == "svd" else values  # there are no more singular values
            if (kept > self.tol).sum() < d:
                self._refuse(statistics.classes[c], int(n[c]), d)
        self.priors_ = self._given_priors(n / n.sum())
        self.classes_ = statistics.classes.copy()
        dtype = self._dtype if self.solver == "svd" else np.float64
        self.means_ = statistics.mean.astype(self._dtype)
        self.scalings_, self.rotations_ = list(scalings.astype(dtype)), list(rotations.astype(dtype))
        if self.store_covariance:
            own = (scalings[:, None, :] * rotations) @ rotations.transpose(0, 2, 1)
            self.covariance_ = list(own.astype(dtype) if self.solver == "svd" else covariance)

    def _refuse(self, label: Any, n: int, d: int) -> None:
        if self.solver == "svd" and n <= d:
            raise linalg.LinAlgError(
                f"The covariance matrix of class {label} is not full rank. When using `solver='svd'` the number of "
                f"samples in each class should be more than the number of features, but class {label} has {n} samples "
                f"and {d} features. Try using `solver='eigen'` and setting the parameter `shrinkage` for "
                "regularization."
            )
        parameter = "shrinkage" if self.solver == "eigen" else "reg_param"
        raise linalg.LinAlgError(
            f"The covariance matrix of class {label} is not full rank. Increase the value of `{parameter}` to reduce "
            "the collinearity."
        )

    def _check_X(self, X: Any) -> Any:  # noqa: N802
        return validate_data(self, X, reset=False)

    def _log_prior(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.priors_)

    def _parameters(self) -> list[Array]:
        return [self.means_, *self.scalings_, *self.rotations_]

    def _made(self) -> GaussianDensity:
        turned = np.asarray(self.rotations_, np.float64) * np.sqrt(np.asarray(self.scalings_, np.float64))[:, None, :]
        covariance = turned @ turned.transpose(0, 2, 1)
        unit = np.sqrt(np.einsum("kii->ki", covariance).mean(axis=0))
        whitening, log_det, _ = kernels.active.whiten(covariance, unit)
        seen = np.ones(len(covariance), bool)
        return GaussianDensity(STRUCTURES["full"], self.means_.astype(np.float64), covariance, whitening, log_det, seen)

    def _decision_function(self, X: Any) -> Array:
        X = self._checked(X)
        return joint_of(X, self._density(), self._log_prior() + 0.5 * X.shape[1] * _LOG_2PI)
