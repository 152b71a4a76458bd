"""Gaussian densities with six covariance structures, all from one moment statistic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError
from ..stats import MomentStats
from .base import Density, LinearForm, patterns, seen_classes
from .covariance import (
    STRUCTURES,
    FloorReport,
    Structure,
    covariances,
    feature_variance,
    floored_diagonal,
    floored_full,
    neutral,
    whitened,
)
from .missing import conditional_fill, conditional_marginal
from .parameters import blank, class_table, given_covariances
from .scorer import Wanted

Array = NDArray[Any]

_LOG_2PI = float(np.log(2 * np.pi))
_BLOCK = 1 << 17  # elements of X whitened at a time
_LINEAR_LIMIT = 1e8  # squared distance between classes, in standard deviations, beyond which sums would cancel


_SHAPES = ("full", "diag", "spherical")  # by number in arrays: append only


@dataclass(frozen=True, eq=False)
class GaussianDensity(Density):
    """N(x | mean, covariance) of every class; a structure that is tied has one covariance for all of them."""

    structure: Structure
    mean: Array  # (k, d)
    covariance: Array  # (g, d, d), or its diagonal (g, d); g is 1 if tied, else k
    whitening: Array  # (g, d, d) lower triangular W with W covariance W' = I; or 1 / standard deviation, (g, d)
    log_det: Array  # (g,) log |covariance|
    seen: Array  # (k,) whether the class had any rows; one that had none has log-likelihood -inf

    def __repr__(self) -> str:
        tied = "tied " if self.structure.tied else ""
        return f"GaussianDensity({tied}{self.structure.shape}, {self.n_classes} classes, {self.n_features} features)"

    @property
    def n_classes(self) -> int:
        return len(self.mean)

    @property
    def n_features(self) -> int:
        return int(self.mean.shape[1])

    @classmethod
    def estimate(
        cls,
        stats: MomentStats,
        structure: str = "full",
        shrinkage: float | str | None = None,
        floor: float = 1e-9,
        names: tuple[str, ...] | None = None,
    ) -> Self:
        """Maximum likelihood (divisor n), then shrinkage, then a floor relative to each feature's own variance.

        Parameters
        ----------
        stats : MomentStats
            Moments in a layout that the structure can be estimated from.
        structure : {"full", "diag", "spherical", "tied", "tied_diag", "tied_spherical"}
            What is shared and what is free in the covariances.
        shrinkage : float, "oas", "ledoit_wolf" or None
            How far covariances are pulled towards a multiple of the identity, from 0 to 1.
        floor : float
            The least variance in any direction, relative to that of the feature within classes.
        names : tuple of str, optional
            Names of the columns, for warnings.

        Returns
        -------
        GaussianDensity
            The density of the classes of the statistic.
        """
        kind = STRUCTURES[structure]
        seen_classes(stats)  # warns
        covariance = covariances(stats, kind, shrinkage)
        mean = stats.mean
        if stats.observed is not None:
            mean, covariance = neutral(mean, stats.scatter, stats.observed, covariance, kind)
        return cls._floored(stats, kind, mean, covariance, floor, names)

    @classmethod
    def _floored(
        cls,
        stats: MomentStats,
        kind: Structure,
        mean: Array,
        covariance: Array,
        floor: float,
        names: tuple[str, ...] | None,
    ) -> Self:
        seen = stats.weight > 0
        owners = np.array([None], object) if kind.tied else stats.classes
        report = FloorReport(
            owners, names or tuple(range(stats.n_features)), seen if not kind.tied else np.array([seen.any()])
        )
        own = feature_variance(stats)
        if kind.shape == "spherical":
            own = np.full_like(own, own.mean())
        floored = floored_full if kind.shape == "full" else floored_diagonal
        covariance, whitening, log_det = floored(covariance, own, floor, report)
        report.warn(kind)
        return cls(kind, mean, covariance, whitening, log_det, seen)

    @classmethod
    def from_parameters(cls, means: Any, covariances: Any, structure: str | None = None) -> Self:
        """Make a Gaussian density from means and covariances.

        Parameters
        ----------
        means : array (n_classes, n_features), or (n_classes,) of one feature
            NaN for a class without rows.
        covariances : array
            The shape says the structure: (k, d, d) is "full", (d, d) "tied", (k, d) "diag", (d,) "tied_diag", (k,)
            "spherical" and a single number "tied_spherical". Variances, not standard deviations.
        structure : str, optional
            The structure, where the shape fits two of them.

        Returns
        -------
        GaussianDensity
            The density of k classes.

        Examples
        --------
        Heights in cm of men and women:

        >>> heights = GaussianDensity.from_parameters([175.33, 161.82], [52.89, 46.89])
        >>> np.exp(heights.log_likelihood([[174.0]])).round(5)
        array([[0.05395, 0.01198]])
        """
        mean, given = class_table("means", means)
        k, d = mean.shape
        kind, covariance, whitening, log_det = given_covariances(covariances, k, d, structure, given)
        return cls(kind, mean, covariance, whitening, log_det, given)

    def parameters(self) -> dict[str, Any]:
        """Means, covariances and their structure, as `from_parameters` takes them.

        Returns
        -------
        dict
            "means" (k, d); "covariances", as they are used, in the shape of the structure; "structure", its name.
        """
        covariance = self.covariance[:, 0] if self.structure.shape == "spherical" else self.covariance
        covariances = covariance[0] if self.structure.tied else blank(covariance, self.seen)
        return {"means": blank(self.mean, self.seen), "covariances": covariances, "structure": self.structure.name}

    def to_arrays(self) -> dict[str, Array]:
        arrays = {name: getattr(self, name) for name in ("mean", "covariance", "whitening", "log_det", "seen")}
        return arrays | {"shape": np.array(_SHAPES.index(self.structure.shape)), "tied": np.array(self.structure.tied)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        fields = {name: np.array(array) for name, array in arrays.items()}
        structure = Structure(_SHAPES[int(fields.pop("shape"))], bool(fields.pop("tied")))
        return cls(structure, **fields)

    def of_classes(self, places: Sequence[int]) -> Self:
        places = list(places)  # a tuple would index several axes
        own = slice(None) if self.structure.tied else places
        rest = {name: getattr(self, name)[own] for name in ("covariance", "whitening", "log_det")}
        return replace(self, mean=self.mean[places], seen=self.seen[places], **rest)

    @cached_property
    def constant(self) -> Array:
        """log p of every class at its own mean, (k,); -inf where it had no rows."""
        value = -0.5 * (self.n_features * _LOG_2PI + self.log_det)
        return np.where(self.seen, value, -np.inf)

    @cached_property
    def _scale(self) -> Array:
        """1 / standard deviation of each class, (k, d), for the diagonal kernels."""
        return np.ascontiguousarray(np.broadcast_to(self.whitening, self.mean.shape))

    @cached_property
    def _whitened(self) -> tuple[Array, Array]:
        """A common centre (d,) and the class means whitened about it, (k, d), of a tied structure."""
        center = self.mean[self.seen].mean(axis=0) if self.seen.any() else self.mean[0]
        shift = self.mean - center
        means = shift @ self.whitening[0].T if self.structure.shape == "full" else shift * self.whitening[0]
        return center, np.ascontiguousarray(means)

    def linear(self) -> LinearForm:
        """The scores of a tied structure as linear functions of x.

        Returns
        -------
        LinearForm
            Center (d,), slopes (k, d) and constants (k,).

        Examples
        --------
        >>> center, slope, constant = GaussianDensity.from_parameters([0.0, 2.0], 1.0).linear()
        >>> slope[1] - slope[0]
        array([2.])
        """
        if not self.structure.tied:
            raise DataError(
                f"log p(x | class) is quadratic in x, not linear, where covariances are {self.structure.name!r}; use "
                '"tied", "tied_diag" or "tied_spherical"'
            )
        center, means = self._whitened
        constant = np.where(self.seen, -0.5 * np.einsum("kd,kd->k", means, means), -np.inf)
        slope = means @ self.whitening[0] if self.structure.shape == "full" else means * self.whitening[0]
        return LinearForm(center, np.ascontiguousarray(slope), constant)

    def log_likelihood_of(self, stats: MomentStats) -> float:
        """As Density.log_likelihood_of, from moments in a layout that the structure can be estimated from."""
        self._check_statistic(stats)
        if (stats.weight > 0)[~self.seen].any():
            return -np.inf
        if self.structure.shape != "full":
            stats = stats.to_layout("diag")
            n = np.broadcast_to(stats.column_weight, stats.mean.shape)
            squares = stats.scatter + n * (stats.mean - self.mean) ** 2
            return float(-0.5 * (squares / self.covariance + n * (_LOG_2PI + np.log(self.covariance))).sum())
        step = (stats.mean - self.mean) * np.sqrt(stats.weight)[:, None]
        if self.structure.tied:
            scatter = stats.to_layout("pooled").scatter[None] + step.T @ step
            n = np.array([stats.total])
        else:
            scatter, n = stats.to_layout("full").scatter + step[:, :, None] * step[:, None, :], stats.weight
        distance = np.einsum("gij,gij->g", self.whitening @ scatter, self.whitening)
        return float(-0.5 * (distance + n * (self.n_features * _LOG_2PI + self.log_det)).sum())

    @cached_property
    def linear_scores(self) -> LinearForm | None:
        """The linear scores, unless the structure has none or they would lose digits."""
        if not self.structure.tied:
            return None
        scores = self.linear()
        return scores if scores.constant[self.seen].min(initial=0.0) > -_LINEAR_LIMIT else None

    def _score(self, X: Array, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        if relative and self.linear_scores is not None:
            center, slope, constant = self.linear_scores
            return bool(kernels.active.linear_scores(X, center, slope, constant + offset, *wanted))
        constant = self.constant + offset
        if self.structure.shape != "full":
            return bool(kernels.active.diag_scores(X, self.mean, self._scale, constant, *wanted))
        if not self.structure.tied:
            return bool(kernels.active.full_scores(X, self.mean, self.whitening, constant, *wanted))
        return self._score_whitened(X, constant, wanted)

    def _score_whitened(self, X: Array, constant: Array, wanted: Wanted) -> bool:
        center, means = self._whitened
        ones = np.ones_like(means)
        finite = True
        step = max(64, _BLOCK // self.n_features)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            with np.errstate(over="ignore", invalid="ignore"):
                z = (X[rows] - center) @ self.whitening[0].T
            if not kernels.active.diag_scores(z, means, ones, constant, *wanted.of_rows(rows)):
                finite &= bool(np.isfinite(X[rows]).all())
        return finite

    def quadratic(self, X: Array) -> Array:
        """Squared Mahalanobis distances to every class, (n, k)."""
        out = np.empty((len(X), self.n_classes))
        self.score(X, np.where(self.seen, -self.constant, np.inf), all=out)
        with np.errstate(over="ignore"):  # scores of far outliers are the last finite number
            return np.where(self.seen, -2.0 * out, np.inf)

    def _own(self, c: int) -> tuple[Array, Array]:
        """Covariance and whitening of class c: matrices (d, d), or diagonals (d,)."""
        g = 0 if self.structure.tied else c
        return self.covariance[g], self.whitening[g]

    def precision(self, c: int) -> Array:
        """The inverse covariance of class c, (d, d)."""
        whitening = self._own(c)[1]
        return np.asarray(whitening.T @ whitening if whitening.ndim == 2 else np.diag(whitening**2))

    def sample(self, code: Array, rng: np.random.Generator) -> Array:
        from scipy.linalg import solve_triangular

        X = rng.standard_normal((len(code), self.n_features))
        for c in np.unique(code):
            rows, whitening = code == c, self._own(c)[1]
            if whitening.ndim == 1:
                X[rows] /= whitening
            else:
                X[rows] = solve_triangular(whitening, X[rows].T, lower=True).T
        return X + self.mean[code]

    def quadratic_shares(self, X: Array, c: int) -> Array:
        """The features' shares in the squared Mahalanobis distance, (n, d)."""
        dev, whitening = X - self.mean[c], self._own(c)[1]
        return np.asarray(dev * (dev @ whitening.T @ whitening) if whitening.ndim == 2 else (dev * whitening) ** 2)

    def explain(self, X: Array, c: int) -> Array:
        """Shares of the features in log p(observed | c); none for what is missing."""
        if not np.isnan(X).any():
            return self._explain_whole(X, c)
        shares = np.zeros(X.shape)
        for missing, rows in patterns(np.isnan(X)):
            seen = np.ix_(rows, ~missing)
            if not missing.all():
                shares[seen] = self.of_features(~missing)._explain_whole(X[seen], c)
        return shares

    def _explain_whole(self, X: Array, c: int) -> Array:
        covariance = self._own(c)[0]
        log_variance = np.log(np.diag(covariance) if covariance.ndim == 2 else covariance)
        entangled = (self.log_det[0 if self.structure.tied else c] - log_variance.sum()) / self.n_features
        return np.asarray(-0.5 * (self.quadratic_shares(X, c) + _LOG_2PI + log_variance + entangled))

    def of_features(self, kept: Array) -> GaussianDensity:
        """The marginal density of some features, (d,) bool."""
        mean = self.mean[:, kept]
        if self.covariance.ndim == 2:
            rest = {name: getattr(self, name)[:, kept] for name in ("covariance", "whitening")}
            return replace(self, mean=mean, log_det=np.log(rest["covariance"]).sum(axis=1), **rest)
        covariance = np.stack([matrix[np.ix_(kept, kept)] for matrix in self.covariance])
        whitening, log_det = zip(*map(whitened, covariance), strict=True)
        return replace(self, mean=mean, covariance=covariance, whitening=np.stack(whitening), log_det=np.array(log_det))

    def typicality(self, X: Array) -> Array:
        from scipy.special import chdtrc

        return np.asarray(chdtrc(self.n_features, self.quadratic(X)))

    def marginal(self, X: Array) -> Array:
        return conditional_marginal(self, X)

    def fill(self, X: Array, posterior: Array) -> Array:
        return conditional_fill(self, X, posterior)

    def conditional(self, X: Array, c: int, missing: Array) -> tuple[Array, Array]:
        """For rows that all miss the columns `missing` (d,) bool: log p(observed | c), (n,), and
        E[missing | observed, c], (n, missing.sum())."""
        quadratic, log_det, expected = self.conditional_parts(X, c, missing)
        return -0.5 * (quadratic + log_det + (~missing).sum() * _LOG_2PI), expected

    def conditional_parts(self, X: Array, c: int, missing: Array) -> tuple[Array, float, Array]:
        """Squared distance of the observed part (n,), log-determinant of its covariance, expectation of the rest."""
        covariance, seen = self._own(c)[0], ~missing
        if covariance.ndim == 1 or not seen.any():
            shares = self.quadratic_shares(np.where(missing, self.mean[c], X), c)
            log_det = np.log(covariance[seen]).sum() if seen.any() else 0.0
            return shares.sum(axis=1), float(log_det), np.tile(self.mean[c, missing], (len(X), 1))
        deviation = np.sqrt(np.diag(covariance))
        correlation = covariance / deviation / deviation[:, None]
        dev = (X[:, seen] - self.mean[c, seen]) / deviation[seen]
        solved = np.linalg.solve(correlation[np.ix_(seen, seen)], dev.T).T
        log_det = np.linalg.slogdet(correlation[np.ix_(seen, seen)])[1] + 2 * np.log(deviation[seen]).sum()
        expected = self.mean[c, missing] + solved @ correlation[np.ix_(seen, missing)] * deviation[missing]
        return np.einsum("ij,ij->i", dev, solved), float(log_det), expected
