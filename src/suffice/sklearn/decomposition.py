"""Principal components by scikit-learn's names, from moments that are summed in one pass."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import decomposition as theirs
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import validate_data

from ..collect import refuse_nonfinite
from ..errors import DataError
from ..estimators._sklearn import checks_parameters, get_namespace, returns_arrays
from ..estimators.probabilistic import floored, is_lost, precision
from ..projection import likeliest_dimension
from ..sources import RowResults
from ..stats import MomentStats
from ..stats.collectors import CollectMoments
from ..tables.batch import Batch
from .work import FEW, THEIRS, Additive, is_plain, rows, statistics_together, takes_arrays, validated

Array = NDArray[Any]

_OURS = ("auto", "covariance_eigh")  # solvers, for ten times more rows than columns
_CELLS = 1 << 18  # of rows that are projected at a time
_WIDE = 1000  # columns: of more, the matrix of moments is larger than what scikit-learn keeps


class Principal(Additive):
    """What the two classes share: moments, and their eigenvectors."""

    whiten: bool
    mean_: Array
    noise_variance_: float
    _dtype: np.dtype[Any]

    def _together(self, X: Array) -> MomentStats | None:
        found = statistics_together(CollectMoments("pooled"), X)
        return None if found is None else found.plain()  # type: ignore[return-value]

    def _components(self, moments: MomentStats) -> tuple[Array, Array]:
        """The eigenvectors as rows, with scikit-learn's signs, and their variances (divisor n - 1)."""
        values, vectors = np.linalg.eigh(moments.scatter / max(moments.total - 1, 1))
        return svd_flip(None, vectors[:, ::-1].T, u_based_decision=False)[1], np.maximum(values[::-1], 0.0)

    def transform(self, X: Any) -> Any:
        """Project rows onto the principal components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array-like of shape (n_samples, n_components)
            Their new coordinates.

        Examples
        --------
        >>> from suffice.sklearn import PCA
        >>> model = PCA(n_components=1).fit([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
        >>> model.transform([[9.0, 12.0]]).round(6)
        array([[10.]])
        """
        found = self._projected(X)
        return super().transform(X) if found is None else found  # type: ignore[misc]

    def get_precision(self) -> Any:
        """Compute the inverse of the covariance.

        If some variance is lost in the rounding of the largest, all are raised to at least 1e-9 of their mean, so that
        rows with constant columns have a density, too.

        Returns
        -------
        array of shape (n_features, n_features)
            The precision matrix, of which `score` and `score_samples` make the log-density of rows.

        Examples
        --------
        >>> from suffice.sklearn import PCA
        >>> model = PCA().fit([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])
        >>> model.get_precision().diagonal().round(6)
        array([1.  , 0.75])
        """
        if isinstance(self.components_, np.ndarray):
            every = self.explained_variance_, self.noise_variance_, self.components_.shape[1]
            if is_lost(*every):
                return precision(self.components_.T, *floored(*every))
        return super().get_precision()  # type: ignore[misc]

    def _projected(self, X: Any) -> Array | None:
        """The new coordinates of many rows, by scikit-learn's formula; None where it has to do the work itself."""
        if not (isinstance(X, np.ndarray) and X.dtype == np.float64 and X.size > FEW):
            return None
        is_plain_array = is_plain(self, X, "f", is_finite=True) and takes_arrays(X)
        if not (is_plain_array and returns_arrays(self) and len(self.components_)):
            return None
        directions = np.array(self.components_.T, np.float64, order="C")
        if self.whiten:
            scale = np.sqrt(self.explained_variance_)
            directions /= np.maximum(scale, np.finfo(scale.dtype).eps)
        offset, step = self.mean_ @ directions, max(1, _CELLS // X.shape[1])

        def project(batch: Batch, out: Array) -> bool:
            total = 0.0  # which is finite if all coordinates are
            with np.errstate(over="ignore", invalid="ignore"):
                for start in range(0, len(batch), step):
                    part = out[start : start + step]
                    np.matmul(batch.X[start : start + step], directions, out=part)
                    part -= offset
                    total += part.sum()
            return bool(np.isfinite(total))

        try:
            return np.asarray(rows(X).map_rows(project, RowResults("pca", range(len(offset))), refuse_nonfinite))
        except DataError:
            return None

    def _set_components(self, m: int, components: Array, variance: Array, total: float, n: float) -> None:
        dtype = self._dtype
        self.components_ = components[:m].astype(dtype)
        self.explained_variance_ = variance[:m].astype(dtype)
        with np.errstate(invalid="ignore"):
            self.explained_variance_ratio_ = (variance[:m] / total).astype(dtype)
        self.singular_values_ = np.sqrt(variance[:m] * (n - 1)).astype(dtype)
        self.n_components_ = m


class PCA(Principal, theirs.PCA):
    """Principal components.

    Parameters and attributes are those of `sklearn.decomposition.PCA`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    The solver "covariance_eigh" is ours, which "auto" chooses for tables of ten times more rows than columns. A
    decomposition of the rows themselves ("full", "arpack", "randomized") is left to scikit-learn.

    Examples
    --------
    >>> from suffice.sklearn import PCA
    >>> model = PCA().fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]] * 10)
    >>> model.explained_variance_ratio_.round(6)
    array([1., 0.])
    """

    def _fit(self, X: Any) -> Any:
        floats = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float64, np.float32) and takes_arrays(X)
        if floats and len(X) >= 10 * X.shape[1] > 0 and X.shape[1] <= _WIDE and self.svd_solver in _OURS:
            self._fit_svd_solver, self._dtype = "covariance_eigh", X.dtype
            found = self._together(validated(self, X, reset=True))
            if found is not None:
                self._learn(found)
                return None, None, None, X, False, get_namespace(X)[0]
        return super()._fit(X)

    def _fit_full(self, X: Any, n_components: Any, xp: Any, is_array_api_compliant: bool) -> Any:
        self.backend_ = THEIRS
        if self._fit_svd_solver == "covariance_eigh" and type(X) is np.ndarray and takes_arrays(X):
            self._dtype = X.dtype
            found = self._together(X)
            if found is not None:
                self._learn(found)
                return None, None, None, X, False, xp
        return super()._fit_full(X, n_components, xp, is_array_api_compliant)

    def _fit_truncated(self, *args: Any) -> Any:
        self.backend_ = THEIRS
        return super()._fit_truncated(*args)

    def _collected(self, X: Any, y: Any, sample_weight: Any, reset: bool = False) -> MomentStats | None:  # noqa: ARG002
        return self._together(validate_data(self, X, reset=reset, dtype=[np.float64, np.float32]))

    def _set(self, statistics: MomentStats) -> None:
        n, d = round(statistics.total), statistics.n_features
        most = min(n, d)
        m = most if self.n_components is None else self.n_components
        if m == "mle" and n < d:
            raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
        if m != "mle" and not 0 <= m <= most:
            raise ValueError(
                f"n_components={m} must be between 0 and min(n_samples, n_features)={most} with "
                f"svd_solver={self._fit_svd_solver!r}"
            )
        components, variance = self._components(statistics)
        total = float(variance.sum())
        if m == "mle":
            m = likeliest_dimension(variance, n)
        elif 0 < m < 1:
            m = int(np.searchsorted(np.cumsum(variance / total), m, side="right")) + 1
        self.mean_ = statistics.mean[0].astype(self._dtype)
        self.n_samples_ = n
        self.noise_variance_ = self._dtype.type(variance[m:].mean()) if m < most else 0.0
        self._set_components(m, components, variance, total, n)


class IncrementalPCA(Principal, theirs.IncrementalPCA):
    """Principal components of rows that come in parts: exact, not approximate.

    Parameters and attributes are those of `sklearn.decomposition.IncrementalPCA`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    Sparse matrices and more than 1000 columns are left to scikit-learn.

    Examples
    --------
    >>> from suffice.sklearn import IncrementalPCA
    >>> model = IncrementalPCA().fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]] * 10)
    >>> model.explained_variance_ratio_.round(6)
    array([1., 0.])
    """

    @checks_parameters(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        for name in ("statistics_", "components_", "n_samples_seen_"):
            self.__dict__.pop(name, None)
        self.backend_ = THEIRS
        given = X
        X = None if issparse(X) else validate_data(self, X, dtype=[np.float64, np.float32])
        if X is None or X.shape[1] > _WIDE:
            return super().fit(given)  # type: ignore[no-any-return]
        self.batch_size_ = 5 * X.shape[1] if self.batch_size is None else self.batch_size
        return self._add(X, first=True)

    @checks_parameters(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, check_input: bool = True) -> Self:
        first = not hasattr(self, "components_")
        ours, given = not issparse(X) and (first or "statistics_" in vars(self)), X
        if ours and check_input:
            X = validate_data(self, X, dtype=[np.float64, np.float32], reset=first)
        if ours and X.shape[1] <= _WIDE:
            return self._add(X, first)
        super().partial_fit(given, y, check_input)
        self.backend_ = THEIRS
        return self

    def _add(self, X: Array, first: bool) -> Self:
        n, d = X.shape
        m = self.n_components
        if m is not None and m > d:
            raise ValueError(
                f"n_components={m!r} invalid for n_features={d}, need more rows than columns for IncrementalPCA "
                "processing"
            )
        if m is not None and m > n and first:
            raise ValueError(
                f"n_components={m} must be less or equal to the batch number of samples {n} for the first "
                "partial_fit call."
            )
        if not first and m is not None and len(self.components_) != m:
            raise ValueError(
                f"Number of input features has changed from {len(self.components_)} to {m} between calls to "
                "partial_fit! Try setting n_components to a fixed value."
            )
        self._dtype = X.dtype
        self.n_components_ = (min(n, d) if first else len(self.components_)) if m is None else m
        found = self._together(X)
        assert found is not None  # since X is finite
        return self._learn(found if first else self.statistics_ + found)

    def _collected(self, X: Any, y: Any, sample_weight: Any, reset: bool = False) -> MomentStats | None:  # noqa: ARG002
        return self._together(validate_data(self, X, reset=reset, dtype=[np.float64, np.float32]))

    def _set(self, statistics: MomentStats) -> None:
        n, m = round(statistics.total), self.n_components_
        components, variance = self._components(statistics)
        rest = variance[m : min(n, len(variance))]
        self.noise_variance_ = rest.mean() if len(rest) else 0.0
        self.n_samples_seen_ = n
        self.mean_ = statistics.mean[0].astype(self._dtype)
        self.var_ = (np.diag(statistics.scatter) / n).astype(self._dtype)
        self._set_components(m, components, variance, float(variance.sum()), n)
