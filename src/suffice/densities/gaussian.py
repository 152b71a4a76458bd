"""Gaussian densities with six covariance structures, all from one moment statistic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, as_parameter
from ..stats import MomentStats, PatternStats
from ..stats.base import frozen
from .base import Density, LinearForm
from .covariance import (
    STRUCTURES,
    Structure,
    unbiased_factor,
    whitened,
)
from .incomplete import IncompleteRows
from .missing import by_pattern, conditional_draw, conditional_fill, score_cells, score_incomplete
from .parameters import blank, class_table, given_covariances
from .scorer import Wanted

Array = NDArray[Any]

_LOG_2PI = float(np.log(2 * np.pi))
_BLOCK = 1 << 17  # elements of X whitened at a time
_KEPT = 1 << 22  # elements of factors that are kept for patterns of missing cells
_LINEAR_LIMIT = 1e8  # squared distance between classes, in standard deviations, beyond which sums would cancel


_SHAPES = ("full", "diag", "spherical")  # by number in arrays: append only


@dataclass(frozen=True, eq=False)
class GaussianDensity(Density):
    """A normal distribution N(mean, covariance) for every class.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    structure : Structure
        What is shared and what is free in the covariances.
    mean : array of shape (k, d)
        The means.
    covariance : array of shape (g, d, d) or (g, d)
        Covariances, or variances where the structure is diagonal; g is 1 where the classes share one, else k.
    whitening : array of the same shape
        Lower triangular W with W covariance W' = I; or 1 / standard deviation.
    log_det : array of shape (g,)
        The log-determinants of the covariances.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.

    Examples
    --------
    >>> density = GaussianDensity.from_parameters([[0.0, 0.0], [2.0, 1.0]], [1.0, 4.0], "tied_diag")
    >>> density
    GaussianDensity(tied diag, 2 classes, 2 features)
    >>> density.log_likelihood([[1.0, 0.5]]).round(4)
    array([[-3.0623, -3.0623]])
    """

    family = "gaussian"
    structure: Structure
    mean: Array
    covariance: Array
    whitening: Array
    log_det: Array
    seen: Array

    def __repr__(self) -> str:
        tied = "tied " if self.structure.tied else ""
        return f"GaussianDensity({tied}{self.structure.shape}, {self.n_classes} classes, {self.n_features} features)"

    @property
    def n_classes(self) -> int:
        return len(self.mean)

    def n_parameters(self) -> int:
        d = self.n_features
        of_one = {"full": d * (d + 1) // 2, "diag": d, "spherical": 1}[self.structure.shape]
        return self.mean.size + len(self.covariance) * of_one

    @property
    def n_features(self) -> int:
        return int(self.mean.shape[1])

    @classmethod
    def estimate(
        cls,
        stats: MomentStats | PatternStats,
        structure: str = "full",
        shrinkage: float | str | None = None,
        floor: float = 1e-9,
        names: tuple[str, ...] | None = None,
        floor_by: str = "within",
        start: GaussianDensity | None = None,
        lenient: bool = False,
        shrinkage_target: str = "variances",
        degenerate: str = "pooled",
    ) -> Self:
        """Estimate by maximum likelihood (divisor n), then shrink, then apply a variance floor.

        Full covariances from rows with missing cells are found by EM: each row counts with the cells that it has.

        Parameters
        ----------
        stats : MomentStats or PatternStats
            Moments in a layout that the structure can be estimated from.
        structure : {"full", "diag", "spherical", "tied", "tied_diag", "tied_spherical"}
            What is shared and what is free in the covariances.
        shrinkage : float, "oas", "ledoit_wolf" or None
            How far covariances are pulled towards a multiple of `shrinkage_target`, from 0 to 1.
        floor : float, default=1e-9
            The least variance in any direction, relative to that of the feature.
        names : tuple of str, optional
            The names of the columns, for warnings.
        floor_by : {"within", "total"}
            Whether the variance of a feature is that within classes, or that of all rows.
        start : GaussianDensity, optional
            A density to improve by one step of the EM for missing cells, rather than to find the best one.
        lenient : bool, default=False
            Whether a rough estimate will do where cells are missing, and a feature may have no values at all.
        shrinkage_target : {"variances", "identity"}
            "variances" shrinks as if every feature had been divided by its standard deviation within classes (or that
            of all rows, as `floor_by` says), so that units do not matter; "identity" takes the features as they are.
        degenerate : {"pooled", "floor"}
            What a class gets in features and directions in which it does (almost) not vary: variances towards those
            within all classes (see `suffice.densities.degenerate`), or the floor.

        Returns
        -------
        GaussianDensity
            The density of the classes of the statistic.

        Examples
        --------
        >>> moments = MomentStats.from_sums([2, 2], [[4.0], [8.0]], [[10.0], [40.0]])  # of 1 and 3, and of 2 and 6
        >>> GaussianDensity.estimate(moments, "diag").parameters()["covariances"].ravel()
        array([1., 4.])
        >>> GaussianDensity.estimate(moments, "tied_diag").parameters()["covariances"]
        array([2.5])
        """
        from .gaussian_estimate import estimated

        kind = STRUCTURES[structure]
        choices = names, floor_by, start, lenient, shrinkage_target, degenerate
        return cast("Self", estimated(stats, kind, shrinkage, floor, *choices))

    def unbiased(self, stats: MomentStats) -> Self:
        """Return the density with R's divisors, those of unbiased estimates: n - 1, or n - k where k classes share one.

        Parameters
        ----------
        stats : MomentStats
            What it was estimated from. A class of a single row, whose variance has no such estimate, stays as it is.

        Returns
        -------
        GaussianDensity
            With larger covariances.

        Examples
        --------
        >>> moments = MomentStats.from_sums([2], [[4.0]], [[10.0]])  # n, sum and sum of squares of 1 and 3
        >>> density = GaussianDensity.estimate(moments, "diag")
        >>> density.covariance, density.unbiased(moments).covariance
        (array([[1.]]), array([[2.]]))
        """
        kind = self.structure
        if kind.shape == "full" and stats.has_missing:
            raise DataError(
                f"{as_parameter('ddof', 1)} needs complete rows for covariance={kind.name!r}; use "
                f"{as_parameter('ddof', 0)}, leave rows with missing values out, or take "
                f"{as_parameter('covariance', 'diag')}"
            )
        return self._scaled(unbiased_factor(np.broadcast_to(stats.column_weight, self.mean.shape), kind))

    def _scaled(self, factor: Array) -> Self:
        """The density with covariances multiplied by factors (g, d) or (g, 1), equal in all columns of a matrix."""
        log_det = self.log_det + np.log(np.broadcast_to(factor, self.covariance.shape[:2])).sum(axis=1)
        factor = factor[:, :1, None] if self.structure.shape == "full" else factor
        covariance, whitening = self.covariance * factor, self.whitening / np.sqrt(factor)
        return replace(self, covariance=covariance, whitening=whitening, log_det=log_det)

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

    def of_one_class(self) -> dict[str, Any]:
        return {"mean": self.mean[0], "covariance": self.covariance[0]}

    def parameters(self) -> dict[str, Any]:
        """Return means, covariances and their structure, as `from_parameters` takes them.

        Returns
        -------
        dict
            "means" (k, d); "covariances", shrunk and floored, in the shape of the structure; "structure", its name.

        Examples
        --------
        >>> GaussianDensity.from_parameters([[175.0, 75.0]], [[50.0, 80.0]], "diag").parameters()
        {'means': array([[175.,  75.]]), 'covariances': array([[50., 80.]]), 'structure': 'diag'}
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

    def of_classes(self, indices: Sequence[int]) -> Self:
        indices = list(indices)  # a tuple would index several axes
        own = slice(None) if self.structure.tied else indices
        rest = {name: getattr(self, name)[own] for name in ("covariance", "whitening", "log_det")}
        return replace(self, mean=self.mean[indices], seen=self.seen[indices], **rest)

    @cached_property
    def constant(self) -> Array:
        """The log-density of every class at its own mean, (k,); -inf for a class without rows."""
        value = -0.5 * (self.n_features * _LOG_2PI + self.log_det)
        return frozen(np.where(self.seen, value, -np.inf))

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
        """Return the scores of a tied structure as linear functions of x.

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

    def log_likelihood_of(self, stats: MomentStats | PatternStats) -> float:
        self._check_statistic(stats)
        if (stats.weight > 0)[~self.seen].any():
            return -np.inf
        stats = stats.to_layout(self.structure.layout(None))
        if stats.has_missing and self.structure.shape == "full":
            return IncompleteRows(cast("PatternStats", stats), self.structure).log_likelihood(self)
        return self._log_likelihood_of_moments(cast("MomentStats", stats))

    def _log_likelihood_of_moments(self, stats: MomentStats) -> float:
        if self.structure.shape != "full":
            n = np.broadcast_to(stats.column_weight, stats.mean.shape)
            squares = stats.scatter + n * (stats.mean - self.mean) ** 2
            return float(-0.5 * (squares / self.covariance + n * (_LOG_2PI + np.log(self.covariance))).sum())
        step = (stats.mean - self.mean) * np.sqrt(stats.weight)[:, None]
        if self.structure.tied:
            scatter, n = stats.scatter[None] + step.T @ step, np.array([stats.total])
        else:
            scatter, n = stats.scatter + step[:, :, None] * step[:, None, :], stats.weight
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
        if self._score_whole(X, offset, wanted, relative):
            return True
        if self.structure.shape == "full":
            return score_incomplete(self, X, offset, wanted, relative)
        return score_cells(self.mean, self._scale, self.seen, X, offset, wanted)

    def _score_whole(self, X: Array, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        """Score the rows without missing cells; False if there are others."""
        if relative and self.linear_scores is not None:
            center, slope, constant = self.linear_scores
            return bool(kernels.active.linear_scores(X, center, slope, constant + offset, *wanted))
        constant = self.constant + offset
        if self.structure.shape != "full":
            return bool(kernels.active.diag_scores(X, self.mean, self._scale, constant, *wanted))
        if not self.structure.tied:
            return bool(kernels.active.full_scores(X, self.mean, self.whitening, constant, *wanted))
        return self._score_whitened(X, constant, wanted)

    def _whiten(self, away: Array) -> Array:
        """Return vectors as long as the Mahalanobis distances of those given (n, d), of a tied structure."""
        return np.asarray(away @ self.whitening[0].T)

    def _score_whitened(self, X: Array, constant: Array, wanted: Wanted) -> bool:
        center, means = self._whitened
        ones = np.ones_like(means)
        finite = True
        step = max(64, _BLOCK // self.n_features)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            with np.errstate(over="ignore", invalid="ignore"):
                z = self._whiten(X[rows] - center)
            if not kernels.active.diag_scores(z, means, ones, constant, *wanted.of_rows(rows)):
                finite &= bool(np.isfinite(X[rows]).all())
        return finite

    def quadratic(self, X: Array) -> Array:
        """Return squared Mahalanobis distances to every class.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n, k)
            Infinite for a class without rows.

        Examples
        --------
        >>> density = GaussianDensity.from_parameters([[0.0, 0.0]], [[1.0, 4.0]], "diag")
        >>> density.quadratic(np.array([[1.0, 0.0], [3.0, 8.0]]))  # 3² + (8 / 2)²
        array([[ 1.],
               [25.]])
        """
        out = np.empty((len(X), self.n_classes))
        self._score_whole(X, np.where(self.seen, -self.constant, np.inf), Wanted(all=out), relative=False)
        with np.errstate(over="ignore"):  # scores of far outliers are the last finite number
            return np.where(self.seen, -2.0 * out, np.inf)

    def _own(self, c: int) -> tuple[Array, Array]:
        """Covariance and whitening of class c: matrices (d, d), or diagonals (d,)."""
        g = 0 if self.structure.tied else c
        return self.covariance[g], self.whitening[g]

    def precision(self, c: int) -> Array:
        """Return the inverse covariance of a class.

        Parameters
        ----------
        c : int
            The index of the class.

        Returns
        -------
        array of shape (d, d)
            The precision matrix.

        Examples
        --------
        >>> GaussianDensity.from_parameters([[0.0, 0.0]], [[[1.0, 0.5], [0.5, 1.0]]]).precision(0).round(3)
        array([[ 1.333, -0.667],
               [-0.667,  1.333]])
        """
        whitening = self._own(c)[1]
        return np.asarray(whitening.T @ whitening if whitening.ndim == 2 else np.diag(whitening**2))

    def sample(self, code: Array, rng: np.random.Generator) -> Array:
        X = rng.standard_normal((len(code), self.n_features))
        for c in np.unique(code):
            rows, whitening = code == c, self._own(c)[1]
            if whitening.ndim == 1:
                X[rows] /= whitening
            else:
                from scipy.linalg import solve_triangular  # slow to import

                X[rows] = solve_triangular(whitening, X[rows].T, lower=True).T
        return X + self.mean[code]

    def quadratic_shares(self, X: Array, c: int) -> Array:
        """Return the share of each feature in the squared Mahalanobis distance to a class.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows.
        c : int
            The index of the class.

        Returns
        -------
        array of shape (n, d)
            The shares of a row sum to its distance.

        Examples
        --------
        >>> density = GaussianDensity.from_parameters([[0.0, 0.0]], [[1.0, 4.0]], "diag")
        >>> density.quadratic_shares(np.array([[3.0, 8.0]]), 0)
        array([[ 9., 16.]])
        """
        dev, whitening = X - self.mean[c], self._own(c)[1]
        return np.asarray(dev * (dev @ whitening.T @ whitening) if whitening.ndim == 2 else (dev * whitening) ** 2)

    def explain(self, X: Array, c: int) -> Array:
        if not np.isnan(X).any():
            return self._explain_whole(X, c)
        return by_pattern(self, X, lambda own, x: own._explain_whole(x, c), np.zeros(X.shape))

    def _explain_whole(self, X: Array, c: int) -> Array:
        log_variance = np.log(self._variances(c))
        entangled = (self.log_det[0 if self.structure.tied else c] - log_variance.sum()) / self.n_features
        return np.asarray(-0.5 * (self.quadratic_shares(X, c) + _LOG_2PI + log_variance + entangled))

    def _variances(self, c: int) -> Array:
        """The variances of the features of class c, (d,)."""
        covariance = self._own(c)[0]
        return np.diag(covariance) if covariance.ndim == 2 else covariance

    def of_features(self, kept: Array) -> GaussianDensity:
        """Return the marginal density of some features.

        Parameters
        ----------
        kept : array of bool of shape (d,)
            The features to keep.

        Returns
        -------
        GaussianDensity
            Of these features.

        Examples
        --------
        >>> men = GaussianDensity.from_parameters([[175.0, 75.0]], [[[50.0, 30.0], [30.0, 80.0]]])  # height and weight
        >>> weights = men.of_features(np.array([False, True]))
        >>> weights.mean, weights.covariance
        (array([[75.]]), array([[[80.]]]))
        """
        known = self._marginals.get(key := kept.tobytes())
        if known is None:
            known = self._of_features(kept)
            if len(self._marginals) * known._size > _KEPT:
                self._marginals.clear()
            self._marginals[key] = known
        return known

    @property
    def _size(self) -> int:
        """How many numbers the covariances take."""
        return int(self.whitening.size)

    @cached_property
    def _marginals(self) -> dict[bytes, GaussianDensity]:
        """The densities of some features that were asked for, so that rows that miss the others are scored at once."""
        return {}

    def _of_features(self, kept: Array) -> GaussianDensity:
        mean = np.ascontiguousarray(self.mean[:, kept])
        if self.covariance.ndim == 2:
            covariance = np.ascontiguousarray(self.covariance[:, kept])
            whitening, log_det = np.ascontiguousarray(self.whitening[:, kept]), np.log(covariance).sum(axis=1)
        else:
            covariance = self.covariance[:, kept][:, :, kept]
            whitening, log_det = whitened(covariance)
        return replace(self, mean=mean, covariance=covariance, whitening=whitening, log_det=log_det)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_marginals"}  # which can be made again

    def typicality(self, X: Array) -> Array:
        if not np.isnan(X).any():
            return self._typicality_whole(X)
        nothing = np.where(self.seen, 1.0, 0.0) * np.ones((len(X), 1))  # is known of a row without any cells
        return by_pattern(self, X, lambda own, x: own._typicality_whole(x), nothing)

    def _typicality_whole(self, X: Array) -> Array:
        from scipy.special import chdtrc

        return np.asarray(chdtrc(self.n_features, self.quadratic(X)))

    @property
    def shared_parameters(self) -> frozenset[str]:
        return frozenset({"covariances"} if self.structure.tied else ())

    def ellipses(self, columns: Sequence[int]) -> tuple[Array, Array]:
        own, m = list(columns), len(columns)
        covariance = self.covariance
        block = covariance[:, own][:, :, own] if covariance.ndim == 3 else covariance[:, own, None] * np.eye(m)
        return self.mean[:, own], np.broadcast_to(block, (self.n_classes, m, m))

    def is_complete(self, X: Array) -> bool:
        return not np.isinf(X).any()  # missing cells are integrated out

    def fill(self, X: Array, posterior: Array) -> Array:
        return conditional_fill(self, X, posterior)

    def draw(self, X: Array, code: Array, rng: np.random.Generator) -> Array:
        return conditional_draw(self, X, code, rng)

    def draw_conditional(self, X: Array, c: int, missing: Array, rng: np.random.Generator) -> Array:
        """Draw missing cells given the observed ones, for rows that all miss the same columns.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows.
        c : int
            The index of the class.
        missing : array of bool of shape (d,)
            The columns that are missing.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        array of shape (n, missing.sum())
            The draws.

        Examples
        --------
        >>> men = GaussianDensity.from_parameters([[175.0, 75.0]], [[[50.0, 30.0], [30.0, 80.0]]])  # height and weight
        >>> rows = np.tile([190.0, np.nan], (10_000, 1))
        >>> drawn = men.draw_conditional(rows, 0, np.array([False, True]), np.random.default_rng(0))
        >>> drawn.mean(axis=0).round(), drawn.std(axis=0).round()
        (array([84.]), array([8.]))
        """
        return self.conditional(X, c, missing) + self.deviations(len(X), c, missing, rng)

    def deviations(self, n: int, c: int, missing: Array, rng: np.random.Generator) -> Array:
        """Draw deviations of missing cells from their expectation given the observed ones.

        Parameters
        ----------
        n : int
            How many rows.
        c : int
            The index of the class.
        missing : array of bool of shape (d,)
            The columns that are missing.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        array of shape (n, missing.sum())
            The deviations.

        Examples
        --------
        >>> men = GaussianDensity.from_parameters([[175.0, 75.0]], [[[50.0, 30.0], [30.0, 80.0]]])  # height and weight
        >>> drawn = men.deviations(100_000, 0, np.array([False, True]), np.random.default_rng(0))
        >>> drawn.shape, drawn.var(axis=0).round()  # 80 - 30² / 50
        ((100000, 1), array([62.]))
        """
        values, vectors = np.linalg.eigh(self.regression(c, missing)[1])
        return np.asarray(rng.standard_normal((n, len(values))) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T)

    def conditional(self, X: Array, c: int, missing: Array) -> Array:
        """Return the expectation of missing cells given the observed ones, for rows that all miss the same columns.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows.
        c : int
            The index of the class.
        missing : array of bool of shape (d,)
            The columns that are missing.

        Returns
        -------
        array of shape (n, missing.sum())
            The expectations.

        Examples
        --------
        >>> men = GaussianDensity.from_parameters([[175.0, 75.0]], [[[50.0, 30.0], [30.0, 80.0]]])  # height and weight
        >>> men.conditional(np.array([[175.0, np.nan], [190.0, np.nan]]), 0, np.array([False, True])).round(6)
        array([[75.],
               [84.]])
        """
        slope, _ = self.regression(c, missing)
        return np.asarray(self.mean[c, missing] + (X[:, ~missing] - self.mean[c, ~missing]) @ slope)

    def regression(self, c: int, missing: Array) -> tuple[Array, Array]:
        """Return the regression of missing columns on observed ones.

        Parameters
        ----------
        c : int
            The index of the class.
        missing : array of bool of shape (d,)
            The m columns that are missing.

        Returns
        -------
        tuple of arrays (d - m, m) and (m, m)
            The slopes, and the covariance of the missing columns given the observed ones.

        Examples
        --------
        >>> men = GaussianDensity.from_parameters([[175.0, 75.0]], [[[50.0, 30.0], [30.0, 80.0]]])  # height and weight
        >>> slope, rest = men.regression(0, np.array([False, True]))
        >>> slope.round(6), rest.round(6)  # 0.6 kg for each cm, and a variance of 80 - 30² / 50
        (array([[0.6]]), array([[62.]]))
        """
        covariance, seen = self._own(c)[0], ~missing
        if covariance.ndim == 1:
            return np.zeros((int(seen.sum()), int(missing.sum()))), np.diag(covariance[missing])
        unit = np.sqrt(np.diag(covariance))  # so that the scale of a column takes no digits from another
        matrix = covariance / unit / unit[:, None]
        both = matrix[np.ix_(seen, missing)]
        slope = np.linalg.solve(matrix[np.ix_(seen, seen)], both)
        left = matrix[np.ix_(missing, missing)] - both.T @ slope
        return slope * unit[missing] / unit[seen, None], (left + left.T) / 2 * np.outer(unit[missing], unit[missing])
