"""Gaussian mixtures by scikit-learn's name: its starts and its loop, our two steps of expectation-maximisation."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import mixture as theirs
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import decisions, kernels
from ..densities import GaussianDensity
from ..densities.covariance import STRUCTURES
from ..estimators._sklearn import factors_of_given_precisions, factors_of_precisions, get_namespace
from ..kernels.reference import triangular_inverse
from ..stats import MomentStats
from ..tables.batch import Batch
from ..tables.labels import SoftLabels
from .work import OURS, THEIRS, best_of, evidence_of, is_plain, joint_of, posterior_of, rows, takes_arrays

Array = NDArray[Any]

_CELLS = 1 << 17  # of rows and responsibilities that are scored and summed while they are in the cache
_LAYOUTS = {"full": "full", "tied": "pooled", "diag": "diag", "spherical": "diag"}


class GaussianMixture(theirs.GaussianMixture):
    """Mixtures of Gaussians.

    Parameters and attributes are those of `sklearn.mixture.GaussianMixture`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    Starts, restarts and the end of the search are those of scikit-learn; the steps are ours.

    Examples
    --------
    >>> from suffice.sklearn import GaussianMixture
    >>> model = GaussianMixture().fit([[0.0], [0.1], [5.0], [5.1]])
    >>> model.means_
    array([[2.55]])
    """

    backend_: str

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        try:
            return super().fit_predict(X, y)
        finally:
            self.__dict__.pop("_step", None)

    def _moments(self, X: Array, share: Callable[[Batch], Array]) -> MomentStats:
        """The moments of the components; `share` gives the responsibilities of some rows."""
        components, layout = np.arange(self.n_components), _LAYOUTS[self.covariance_type]

        def of(piece: Batch) -> MomentStats:
            step = max(1024, _CELLS // (piece.table.n_features + len(components)))
            parts = [_with_start(piece, start, step) for start in range(0, len(piece), step)]
            found = [MomentStats.of(replace(part, y=SoftLabels(components, share(part))), layout) for part in parts]
            return found[0].plus(*found[1:]) if len(found) > 1 else found[0]

        found: MomentStats = rows(X).reduce(of, operator.add)
        return found

    def _estimated(self, X: Array, moments: MomentStats) -> tuple[Array, Array, Array]:
        """Weights, means and covariances of the components."""
        n = moments.weight + 10 * np.finfo(X.dtype).eps
        scatter, kind = moments.scatter, self.covariance_type
        d = moments.n_features
        if kind == "full":
            covariance = scatter / n[:, None, None] + self.reg_covar * np.eye(d)
        elif kind == "tied":
            covariance = scatter / n.sum() + self.reg_covar * np.eye(d)
        else:
            covariance = scatter / n[:, None] + self.reg_covar
            covariance = covariance.mean(axis=1) if kind == "spherical" else covariance
        return n.astype(X.dtype), moments.mean.astype(X.dtype), covariance.astype(X.dtype)

    def _initialize(self, X: Any, resp: Any, xp: Any = None) -> None:
        self.backend_ = OURS if takes_arrays(X) else THEIRS
        if self.backend_ == THEIRS or resp is None:
            super()._initialize(X, resp, xp=xp)
            return
        moments = self._moments(X, lambda part: np.asarray(resp[_slice(part)], np.float64))
        weights, means, covariances = self._estimated(X, moments)
        self.weights_ = np.asarray(weights / len(X) if self.weights_init is None else self.weights_init)
        self.means_ = means if self.means_init is None else self.means_init
        if self.precisions_init is None:
            self.covariances_ = covariances
            self.precisions_cholesky_ = self._factors(covariances)
        else:
            self.precisions_cholesky_ = factors_of_given_precisions(
                self.precisions_init, self.covariance_type, xp=get_namespace(X)[0]
            )

    def _e_step(self, X: Any, xp: Any = None) -> tuple[Any, Any]:
        """The mean log-likelihood of a row, and responsibilities: not their logarithms, which nobody needs. The
        statistic of the next step is summed in the same pass."""
        if not takes_arrays(X):
            return super()._e_step(X, xp=xp)  # type: ignore[no-any-return]
        density, log_weights = self._density(), self._log_weights()
        responsibility, log_likelihoods = np.empty((len(X), self.n_components)), []

        def share(part: Batch) -> Array:
            own = responsibility[_slice(part)]
            density.score(density.read(part.table), log_weights, all=own)
            log_likelihoods.append(kernels.active.soften(own, log_weights, None)[0])
            return own

        self._step = responsibility, self._moments(X, share)
        return sum(log_likelihoods) / len(X), responsibility

    def _m_step(self, X: Any, log_resp: Any, xp: Any = None) -> None:
        if not takes_arrays(X):
            super()._m_step(X, log_resp, xp=xp)
            return
        known, moments = vars(self).get("_step", (None, None))
        if known is not log_resp:
            moments = self._moments(X, lambda part: np.exp(log_resp[_slice(part)].astype(np.float64)))
        weights, self.means_, self.covariances_ = self._estimated(X, moments)
        self.weights_ = weights / weights.sum()
        self.precisions_cholesky_ = self._factors(self.covariances_)

    def _factors(self, covariances: Array) -> Array:
        """Factors of the precisions, of all components at once; scikit-learn tells which covariances have none."""
        if self.covariance_type in ("full", "tied"):
            with suppress(np.linalg.LinAlgError):
                return np.swapaxes(triangular_inverse(np.linalg.cholesky(covariances)), -1, -2).astype(
                    covariances.dtype
                )
        return np.asarray(factors_of_precisions(covariances, self.covariance_type))

    def _density(self) -> GaussianDensity:
        half, mean = (np.asarray(a, np.float64) for a in (self.precisions_cholesky_, self.means_))
        kind = {"tied": "tied", "full": "full"}.get(self.covariance_type, "diag")
        if kind == "diag":
            whitening = np.broadcast_to(half.reshape(len(half), -1), mean.shape)
            log_det = -2 * np.log(whitening).sum(axis=1)
        else:
            whitening = np.ascontiguousarray(np.swapaxes(half.reshape(-1, *half.shape[-2:]), 1, 2))
            log_det = -2 * np.log(np.einsum("kii->ki", whitening)).sum(axis=1)
        covariance = np.asarray(getattr(self, "covariances_", half), np.float64)
        return GaussianDensity(STRUCTURES[kind], mean, covariance, whitening, log_det, np.ones(len(mean), bool))

    def _log_weights(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.weights_, np.float64))

    def _estimate_log_prob(self, X: Any, xp: Any = None) -> Any:
        if not takes_arrays(X):
            return super()._estimate_log_prob(X, xp=xp)
        return joint_of(X, self._density(), np.zeros(len(self.means_)), relative=False)

    def _estimate_log_prob_resp(self, X: Any, xp: Any = None) -> Any:
        if not takes_arrays(X):
            return super()._estimate_log_prob_resp(X, xp=xp)
        joint = joint_of(X, self._density(), self._log_weights(), relative=False)
        evidence = np.logaddexp.reduce(joint, axis=1)
        return evidence, decisions.log_posterior(joint, self._log_weights())

    def predict(self, X: Any) -> Any:
        if not takes_arrays(X):
            return super().predict(X)
        return best_of(self._checked(X), self._density(), self._log_weights())

    def predict_proba(self, X: Any) -> Any:
        if not takes_arrays(X):
            return super().predict_proba(X)
        return posterior_of(self._checked(X), self._density(), self._log_weights(), exponentiate=True)

    def score_samples(self, X: Any) -> Any:
        if not takes_arrays(X):
            return super().score_samples(X)
        return evidence_of(self._checked(X), self._density(), self._log_weights())

    def _checked(self, X: Any) -> Any:
        if is_plain(self, X) and "weights_" in vars(self):
            return X
        check_is_fitted(self)
        return validate_data(self, X, reset=False)


def _slice(part: Batch) -> slice:
    return slice(part.start, part.start + len(part))


def _with_start(piece: Batch, start: int, step: int) -> Batch:
    """Some rows of a piece, which know where they are in the whole."""
    return replace(piece.rows(slice(start, start + step)), start=piece.start + start)
