"""Covariances by scikit-learn's names, from moments that are summed in one pass."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn import covariance as theirs

from ..densities import shrinkage
from ..estimators._sklearn import checks_parameters
from ..stats import MomentStats
from ..stats.collectors import CollectMoments
from .work import THEIRS, Additive, statistics_together, validated

Array = NDArray[Any]

_WIDE = 1000  # columns: of more, scikit-learn's way in blocks takes less memory


class Covariance(Additive):
    """`fit` of all classes: collect moments, shrink the covariance."""

    layout = "pooled"

    @checks_parameters(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate the covariance, in one pass over the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : Ignored
            There for consistency.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice.sklearn import EmpiricalCovariance
        >>> model = EmpiricalCovariance().fit([[0.0, 1.0], [2.0, 3.0], [4.0, 2.0]])
        >>> model.location_, model.backend_
        (array([2., 2.]), 'suffice')
        """
        found = self._collected(X, y, None, reset=True)
        if found is None:
            self.backend_ = THEIRS
            return super().fit(X)  # type: ignore[misc, no-any-return]
        return self._learn(found)

    def _collected(self, X: Any, y: Any, sample_weight: Any, reset: bool = False) -> MomentStats | None:  # noqa: ARG002
        X = validated(self, X, reset=reset)
        if len(X) == 1 or X.shape[1] > _WIDE:
            return None
        found = statistics_together(CollectMoments(self.layout), X)
        return None if found is None else found.plain()  # type: ignore[return-value]

    def _set(self, statistics: MomentStats) -> None:
        n, mean = statistics.total, statistics.mean[0]
        covariance = statistics.scatter.reshape(len(mean), len(mean)) / n
        if self.assume_centered:  # type: ignore[attr-defined]
            covariance = covariance + np.outer(mean, mean)
        self.location_ = np.zeros(len(mean)) if self.assume_centered else mean.copy()  # type: ignore[attr-defined]
        self.covariance_ = self._shrunk(covariance, statistics)
        stores = self.store_precision  # type: ignore[attr-defined]
        self.precision_ = linalg.pinvh(self.covariance_, check_finite=False) if stores else None

    def _shrunk(self, covariance: Array, moments: MomentStats) -> Array:  # noqa: ARG002
        return covariance


class EmpiricalCovariance(Covariance, theirs.EmpiricalCovariance):
    """The covariance of maximum likelihood.

    Parameters and attributes are those of `sklearn.covariance.EmpiricalCovariance`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    More than 1000 columns are left to scikit-learn.

    Examples
    --------
    >>> from suffice.sklearn import EmpiricalCovariance
    >>> model = EmpiricalCovariance().fit([[0.0], [2.0]])
    >>> model.covariance_
    array([[1.]])
    """


class ShrunkCovariance(Covariance, theirs.ShrunkCovariance):
    """A covariance that is shrunk by a number.

    Parameters and attributes are those of `sklearn.covariance.ShrunkCovariance`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    More than 1000 columns are left to scikit-learn.

    Examples
    --------
    >>> from suffice.sklearn import ShrunkCovariance
    >>> model = ShrunkCovariance().fit([[0.0], [2.0]])
    >>> model.covariance_
    array([[1.]])
    """

    def _shrunk(self, covariance: Array, moments: MomentStats) -> Array:  # noqa: ARG002
        return shrinkage.shrunk(covariance, self.shrinkage, np.ones(len(covariance)))


class OAS(Covariance, theirs.OAS):
    """A covariance with oracle approximating shrinkage.

    Parameters and attributes are those of `sklearn.covariance.OAS`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    More than 1000 columns are left to scikit-learn.

    Examples
    --------
    >>> from suffice.sklearn import OAS
    >>> model = OAS().fit([[0.0], [2.0]])
    >>> model.covariance_
    array([[1.]])
    """

    def _shrunk(self, covariance: Array, moments: MomentStats) -> Array:
        d = len(covariance)
        alpha, _ = shrinkage.evenness(covariance, np.ones(d))
        self.shrinkage_ = float(shrinkage.oas(alpha, d, np.asarray(moments.total))) if d > 1 else 0.0
        return shrinkage.shrunk(covariance, self.shrinkage_, np.ones(d))


class LedoitWolf(Covariance, theirs.LedoitWolf):
    """A covariance with Ledoit and Wolf's shrinkage.

    Parameters and attributes are those of `sklearn.covariance.LedoitWolf`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    More than 1000 columns are left to scikit-learn.

    Examples
    --------
    >>> from suffice.sklearn import LedoitWolf
    >>> model = LedoitWolf().fit([[0.0], [2.0]])
    >>> model.covariance_
    array([[1.]])
    """

    layout = "quartic"

    def _shrunk(self, covariance: Array, moments: MomentStats) -> Array:
        d = len(covariance)
        alpha, mean = shrinkage.evenness(covariance, np.ones(d))
        quartic = moments._higher_about(np.zeros((1, d)))[1] if self.assume_centered else moments.quartic
        assert quartic is not None
        found = shrinkage.ledoit_wolf(alpha, mean, d, np.asarray(moments.total), quartic[0])
        self.shrinkage_ = float(found) if d > 1 else 0.0
        return shrinkage.shrunk(covariance, self.shrinkage_, np.ones(d))
