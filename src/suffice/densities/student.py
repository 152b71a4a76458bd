"""Posterior predictive densities: what a Gaussian becomes when its parameters are not known but integrated out.

The prior is normal-inverse-Wishart, centred on what all classes together say. It is worth KAPPA rows at the grand mean
and, for a full covariance, d rows of the covariance that all classes share (for tied structures, of its diagonal); for
each variance of a diagonal or spherical one, one row. Small classes therefore lean on the others and get heavy tails;
large ones are the plain Gaussian.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from ..kernels.reference import reduce_scores
from ..stats import MomentStats
from .base import Density
from .covariance import STRUCTURES, Structure, covariances, feature_variance, null_directions
from .gaussian import GaussianDensity
from .gaussian_estimate import regularised
from .missing import by_pattern, conditional_draw, conditional_fill, score_incomplete
from .parameters import class_table, class_vector, covariance_structure, refuse
from .scorer import Wanted

Array = NDArray[Any]

KAPPA = 0.01
_DRAWS = 10_000  # behind a typicality that has no closed form


@dataclass(frozen=True, eq=False)
class StudentDensity(Density):
    """A multivariate t distribution (full, spherical), or a product of univariate ones (diag), for every class.

    The posterior predictive of a Gaussian model: use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    gaussian : GaussianDensity
        The location as its mean, and the scale matrix as its covariance.
    dof : array of shape (k,)
        Degrees of freedom.

    Examples
    --------
    >>> StudentDensity.from_parameters([0.0, 1.0], [1.0, 1.0], [3, 30])
    StudentDensity(spherical, 2 classes, 1 features)
    """

    family = "gaussian"
    gaussian: GaussianDensity
    dof: Array

    def __repr__(self) -> str:
        return repr(self.gaussian).replace("Gaussian", "Student", 1)

    @property
    def n_classes(self) -> int:
        return self.gaussian.n_classes

    @property
    def n_features(self) -> int:
        return self.gaussian.n_features

    @property
    def seen(self) -> Array:  # type: ignore[override]
        """Which classes anything is known of, (k,) bool."""
        return self.gaussian.seen

    @property
    def structure(self) -> Structure:
        """What is free in the scale matrices."""
        return self.gaussian.structure

    @property
    def mean(self) -> Array:
        """The locations, (k, d)."""
        return self.gaussian.mean

    @property
    def covariance(self) -> Array:
        """The scale matrices; the covariance proper is larger by dof / (dof - 2)."""
        return self.gaussian.covariance

    @classmethod
    def estimate(
        cls,
        stats: MomentStats,
        structure: str = "full",
        floor: float = 1e-9,
        names: tuple[str, ...] | None = None,
    ) -> Self:
        """Estimate t distributions: the posterior predictive of Gaussians whose parameters are not known.

        Parameters
        ----------
        stats : MomentStats
            Moments in a layout that the structure can be estimated from.
        structure : {"full", "diag", "spherical", "tied", "tied_diag", "tied_spherical"}
            What is shared and what is free in the covariances.
        floor : float
            The least variance in any direction, relative to that of the feature within classes.
        names : tuple of str, optional
            Names of the columns, for warnings.

        Returns
        -------
        StudentDensity
            The density of the classes of the statistic.

        Examples
        --------
        A class of two rows has heavier tails than one of a hundred:

        >>> moments = MomentStats.from_sums([2, 100], [[2.0], [0.0]], [[4.0], [100.0]])
        >>> StudentDensity.estimate(moments, "diag").parameters()["degrees_of_freedom"]
        array([  5., 103.])
        """
        kind, d, n = STRUCTURES[structure], stats.n_features, stats.weight
        grand = n @ stats.mean / (stats.total or 1.0)
        kappa = KAPPA + n
        mean = stats.mean + (KAPPA / kappa)[:, None] * (grand - stats.mean)
        shift = (stats.mean - grand) * np.sqrt(KAPPA * n / kappa)[:, None]  # (k, d)

        if kind.shape == "full" and (few := stats.few_rows(tied=False)) is not None:
            found = cls._estimate_wide(stats, few, kind, mean, shift, floor, names)
            if found is not None:
                return found
        if kind.shape == "full":
            wide, outer = 2.0 * d + 1, shift[:, :, None] * shift[:, None, :]
        else:
            wide, outer = 3.0, shift**2
        if kind.shape == "spherical":
            outer = np.broadcast_to(outer.mean(axis=1, keepdims=True), outer.shape)
        rows = np.full(len(n), stats.total) if kind.tied else n
        own = covariances(stats, kind) * rows[: 1 if kind.tied else None].reshape(-1, *[1] * (outer.ndim - 1))
        scatter = own + (outer.sum(axis=0) if kind.tied else outer)
        if kind.shape == "spherical":  # one variance, seen d times in each row
            scatter, rows = scatter * d, rows * d
        dof = wide + rows - (d - 1 if kind.shape == "full" else 0)
        factor = (kappa + 1) / (kappa * dof)
        spread = (scatter + _prior_scale(stats, kind, floor)) * factor.reshape(-1, *[1] * (outer.ndim - 1))
        free = Structure(kind.shape, False)  # the factor differs from class to class
        density = regularised(stats, free, mean, np.ascontiguousarray(spread), floor, names)
        everywhere = np.ones(len(n), dtype=bool)
        return cls(
            GaussianDensity(free, density.mean, density.covariance, density.whitening, density.log_det, everywhere), dof
        )

    @classmethod
    def _estimate_wide(
        cls,
        stats: MomentStats,
        few: list[Array],
        kind: Structure,
        mean: Array,
        shift: Array,
        floor: float,
        names: tuple[str, ...] | None,
    ) -> Self | None:
        """The same from the few rows of each class: scatters are sums of their squares."""
        from .wide import WideGaussianDensity, wide_density

        rows, owner = np.concatenate(few), np.repeat(np.arange(len(few)), [len(own) for own in few])
        n, d, total = stats.weight, stats.n_features, stats.total or 1.0
        dof = d + 2 + (np.full(len(n), stats.total) if kind.tied else n)
        factor = (KAPPA + n + 1) / ((KAPPA + n) * dof)
        if kind.tied:
            prior = d * stats.variation.sum(axis=0) / total
            parts = [(np.concatenate([rows, shift]), prior, factor)]
        else:
            variance = stats.variation.sum(axis=0) / total
            scaled = rows[:, variance > 0] / np.sqrt(variance[variance > 0] * total)
            more = null_directions(scaled @ scaled.T, floor, scaled.shape[1])
            own = (np.sqrt(d / (total + more) + (owner == c))[:, None] * rows for c in range(len(n)))
            each = [np.concatenate([r, shift[c : c + 1]]) for c, r in enumerate(own)]
            parts = [(r, d * more / (total + more) * variance, factor[c : c + 1]) for c, r in enumerate(each)]
        free = Structure(kind.shape, False)
        gaussian = wide_density(stats, free, mean, parts, feature_variance(stats), floor, names)
        if gaussian is None:
            return None
        arrays = gaussian.to_arrays() | {"seen": np.ones(len(n), bool)}
        return cls(WideGaussianDensity.from_arrays(arrays), dof)

    @classmethod
    def from_parameters(
        cls, locations: Any, scales: Any, degrees_of_freedom: Any, structure: str | None = None
    ) -> Self:
        """Make a density of t distributions.

        Parameters
        ----------
        locations : array (n_classes, n_features), or (n_classes,) of one feature
            The centres.
        scales : array
            Scale matrices (k, d, d) for a multivariate t; squared scales (k, d) for a product of univariate ones;
            (k,) for a multivariate t with a multiple of the identity.
        degrees_of_freedom : array (n_classes,), or one number
            Above zero.
        structure : {"full", "diag", "spherical"}, optional
            What the scales are, where their shape fits two structures.

        Returns
        -------
        StudentDensity
            The density of k classes.

        Examples
        --------
        >>> density = StudentDensity.from_parameters([0.0], [1.0], 1)  # Cauchy's
        >>> np.exp(density.log_likelihood([[0.0]]))
        array([[0.31830989]])
        """
        mean, given = class_table("locations", locations)
        refuse("locations", ~given, np.full(len(mean), np.nan), "a t distribution has no classes without rows")
        k, d = mean.shape
        free = covariance_structure("scales", np.shape(scales), k, d, structure, ("full", "diag", "spherical"))
        gaussian = GaussianDensity.from_parameters(mean, scales, free)
        dof = class_vector("degrees_of_freedom", degrees_of_freedom, len(mean))
        refuse("degrees_of_freedom", dof <= 0, dof, "it must be above zero")
        return cls(gaussian, dof)

    def parameters(self) -> dict[str, Any]:
        """Return locations, scales, degrees of freedom and structure, as `from_parameters` takes them.

        Returns
        -------
        dict
            "locations" (k, d); "scales" in the shape of the structure; "degrees_of_freedom" (k,); "structure".

        Examples
        --------
        >>> StudentDensity.from_parameters([0.0], [4.0], 3).parameters()
        {'locations': array([[0.]]), 'scales': array([4.]), 'degrees_of_freedom': array([3.]), 'structure': 'spherical'}
        """
        own = self.gaussian.parameters()
        return {
            "locations": own["means"],
            "scales": own["covariances"],
            "degrees_of_freedom": self.dof,
            "structure": own["structure"],
        }

    def ellipses(self, columns: Sequence[int]) -> tuple[Array, Array]:
        return self.gaussian.ellipses(columns)

    def to_arrays(self) -> dict[str, Array]:
        return self.gaussian.to_arrays() | {"dof": self.dof}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        rest = {name: array for name, array in arrays.items() if name != "dof"}
        gaussian = Density.kinds["WideGaussianDensity" if "directions" in rest else "GaussianDensity"].from_arrays(rest)
        return cls(cast("GaussianDensity", gaussian), np.array(arrays["dof"]))

    def of_classes(self, indices: Sequence[int]) -> Self:
        return type(self)(self.gaussian.of_classes(indices), self.dof[list(indices)])

    def _score(self, X: Array, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        step = max(64, (1 << 17) // max(self.n_features, self.n_classes))
        finite = True
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            x = X[rows].astype(np.float64, copy=False)
            finite &= bool(np.isfinite(x).all())
            with np.errstate(invalid="ignore", over="ignore"):
                reduce_scores((self._log_density(x) + offset).T, *wanted.of_rows(rows))
        return finite or score_incomplete(self, X, offset, wanted, relative)

    def of_features(self, kept: Array) -> StudentDensity:
        """Return the marginal density of some features.

        Parameters
        ----------
        kept : array of bool of shape (d,)
            The features to keep.

        Returns
        -------
        StudentDensity
            Of these features.

        Examples
        --------
        >>> density = StudentDensity.from_parameters([[0.0, 1.0]], [[[1.0, 0.5], [0.5, 4.0]]], 3)
        >>> density.of_features(np.array([False, True])).parameters()["scales"]
        array([[[4.]]])
        """
        return type(self)(self.gaussian.of_features(kept), self.dof)

    def _log_density(self, X: Array) -> Array:
        if self.structure.shape != "diag":
            quadratic, d = self.gaussian.quadratic(X), self.n_features
            return self.log_t(quadratic, d, self.gaussian.log_det, self.dof)
        return np.stack([self._feature_log_t(X, c).sum(axis=1) for c in range(self.n_classes)], axis=1)

    def _feature_log_t(self, X: Array, c: int) -> Array:
        dev = np.clip((X - self.mean[c]) * self.gaussian.whitening[c], -1e150, 1e150)  # farther squares overflow
        return self.log_t(dev**2, 1, np.log(self.covariance[c]), self.dof[c])

    @staticmethod
    def log_t(quadratic: Array, d: int, log_det: Any, dof: Any) -> Array:
        """Return the log-density of a t distribution in d dimensions.

        Parameters
        ----------
        quadratic : array
            Squared distances.
        d : int
            The number of dimensions.
        log_det : array or float
            The log-determinant of the scale matrix.
        dof : array or float
            Degrees of freedom.

        Returns
        -------
        array
            In the shape of the squared distances.

        Examples
        --------
        >>> cauchy = StudentDensity.log_t(np.array([0.0, 1.0]), d=1, log_det=0.0, dof=1)
        >>> (np.exp(cauchy) * np.pi).round(6)
        array([1. , 0.5])
        """
        from scipy.special import gammaln

        constant = gammaln((dof + d) / 2) - gammaln(dof / 2) - 0.5 * (d * np.log(dof * np.pi) + log_det)
        return np.asarray(constant - (dof + d) / 2 * np.log1p(quadratic / dof))

    def sample(self, code: Array, rng: np.random.Generator) -> Array:
        normal, dof = self.gaussian.sample(code, rng) - self.mean[code], self.dof[code, None]
        columns = self.n_features if self.structure.shape == "diag" else 1
        return np.asarray(self.mean[code] + normal / np.sqrt(rng.chisquare(dof, (len(code), columns)) / dof))

    def explain(self, X: Array, c: int) -> Array:
        return by_pattern(self, X, lambda own, x: own._explain_whole(x, c), np.zeros(X.shape))

    def _explain_whole(self, X: Array, c: int) -> Array:
        if self.structure.shape == "diag":
            return self._feature_log_t(X, c)
        shares = self.gaussian.quadratic_shares(X, c)
        quadratic = shares.sum(axis=1, keepdims=True)
        d, dof = self.n_features, self.dof[c]
        at_mean = self.log_t(np.zeros(1), d, self.gaussian.log_det[c], dof)
        slope = np.divide(
            np.log1p(quadratic / dof), quadratic, out=np.full_like(quadratic, 1 / dof), where=quadratic > 0
        )
        return np.asarray(at_mean / d - (dof + d) / 2 * slope * shares)

    def typicality(self, X: Array) -> Array:
        return by_pattern(self, X, lambda own, x: own._typicality_whole(x), np.ones((len(X), self.n_classes)))

    def _typicality_whole(self, X: Array) -> Array:
        from scipy.special import fdtrc

        d = self.n_features
        if self.structure.shape != "diag" or d == 1:
            return np.asarray(fdtrc(d, self.dof, self.gaussian.quadratic(X) / d))
        rng = np.random.default_rng(0)
        columns = []
        for c in range(self.n_classes):
            drawn = np.sort(self._feature_log_t(self.sample(np.full(_DRAWS, c), rng), c).sum(axis=1))
            columns.append(np.searchsorted(drawn, self._feature_log_t(X, c).sum(axis=1), side="right") / _DRAWS)
        return np.stack(columns, axis=1)

    def is_complete(self, X: Array) -> bool:
        return self.gaussian.is_complete(X)

    def fill(self, X: Array, posterior: Array) -> Array:
        return conditional_fill(self, X, posterior)

    def draw(self, X: Array, code: Array, rng: np.random.Generator) -> Array:
        return conditional_draw(self, X, code, rng)

    def draw_conditional(self, X: Array, c: int, missing: Array, rng: np.random.Generator) -> Array:
        """Draw missing cells, as GaussianDensity.draw_conditional does.

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
        >>> density = StudentDensity.from_parameters([[175.0, 75.0]], [[[50.0, 30.0], [30.0, 80.0]]], 30)
        >>> rows = np.tile([190.0, np.nan], (10_000, 1))
        >>> drawn = density.draw_conditional(rows, 0, np.array([False, True]), np.random.default_rng(0))
        >>> drawn.shape, drawn.mean(axis=0).round()
        ((10000, 1), array([84.]))
        """
        normal, seen = self.gaussian.deviations(len(X), c, missing, rng), ~missing
        if self.structure.shape == "diag" or not seen.any():
            columns = normal.shape[1] if self.structure.shape == "diag" else 1
            scale = rng.chisquare(self.dof[c], (len(X), columns)) / self.dof[c]
        else:  # what is observed says how far the row is out
            distance = self.gaussian.of_features(seen).of_classes([c]).quadratic(X[:, seen])
            dof = self.dof[c] + seen.sum()
            scale = rng.chisquare(dof, (len(X), 1)) / (self.dof[c] + distance)
        return np.asarray(self.conditional(X, c, missing) + normal / np.sqrt(scale))

    def conditional(self, X: Array, c: int, missing: Array) -> Array:
        """Return the expectation of missing cells, as GaussianDensity.conditional does.

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
        >>> density = StudentDensity.from_parameters([[175.0, 75.0]], [[[50.0, 30.0], [30.0, 80.0]]], 30)
        >>> density.conditional(np.array([[190.0, np.nan]]), 0, np.array([False, True])).round(6)
        array([[84.]])
        """
        return self.gaussian.conditional(X, c, missing)


def _prior_scale(stats: MomentStats, kind: Structure, floor: float) -> Array:
    """The prior's scale matrix: as many rows as it is worth of the shared covariance, or of its diagonal.

    A shared covariance of too few rows gets a pseudo-row of its diagonal for each direction without variance.
    """
    shared = covariances(stats, Structure(kind.shape, True))
    if kind.shape != "full":
        return shared
    d = stats.n_features
    if kind.tied:
        return d * shared * np.eye(d)
    variance, total = np.diag(shared[0]), stats.total
    unit = np.sqrt(variance[variance > 0])
    rows = null_directions(shared[0][np.ix_(variance > 0, variance > 0)] / unit / unit[:, None], floor)
    return d * shared if not rows else d * (total * shared + rows * np.diag(variance)) / (total + rows)
