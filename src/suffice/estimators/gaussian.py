"""The Gaussian classifiers: quadratic and linear discriminants and Gaussian naive Bayes, one class for all."""

from __future__ import annotations

import warnings
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from ..densities import GaussianDensity, StudentDensity
from ..densities.covariance import STRUCTURES
from ..densities.gaussian_estimate import found_shrinkage
from ..errors import DataError, SufficeWarning
from ..families import FAMILIES
from ..gaussian_choices import learns_from_missing
from ..leave_one_out import GaussianLeaveOneOut, LeaveOneOut, best_shrinkage
from ..scoring.model import Prior
from ..sources import Source
from ..stats import MomentStats, PatternStats
from .generative import GenerativeClassifier

Array = NDArray[Any]


_ALL_ROWS = (
    'shrinkage="loo" needs all rows at once; call fit, or give a number, such as that of a fitted model: '
    "set_params(shrinkage=model.shrinkage_)"
)


def _takes_some_rows(clf: Any) -> bool:
    if clf.shrinkage == "loo":
        raise DataError(_ALL_ROWS)
    return True


class GaussianClassifier(GenerativeClassifier):
    """Classes with Gaussian densities.

    Parameters
    ----------
    covariance : {"full", "diag", "tied", "tied_diag", "spherical", "tied_spherical"}
        "full" is quadratic discriminant analysis, "diag" Gaussian naive Bayes, "tied" linear discriminant analysis.
    shrinkage : float in [0, 1], "loo", "oas", "ledoit_wolf" or None
        How far covariances are pulled towards a multiple of `shrinkage_target`. "loo" takes the number with the
        greatest likelihood of the rows, each held out in turn. That takes `fit` a second pass, and all rows at once: to
        stream, merge or forget afterwards, set the number that was chosen (`shrinkage_`), as `save` does. "oas" and
        "ledoit_wolf" are for "full" and "tied" only.
    prior : array, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others; None takes the frequencies of the training rows.
    predictive : bool
        Integrate over mean and covariance (a Student t under a normal-inverse-Wishart prior) instead of plugging in
        their estimates: for very small classes.
    variance_floor : float
        The least variance in any direction, relative to each feature's own variance within classes.
    missing : {"ignore", "error"}
        What `fit` does with missing values (NaN, None, null). "ignore" estimates the model from all other values, by
        maximum likelihood; "error" raises an error that counts them by column, as do predictive models, "loo",
        "ledoit_wolf" and, for "full" and "tied", `ddof=1`. Predictions always use the values that a row has.
    shrinkage_target : {"variances", "identity"}
        "variances" shrinks as if each column had been divided by its standard deviation within classes, so that units
        do not matter; "identity" takes the columns as they are, as scikit-learn's LedoitWolf and OAS do.
    degenerate : {"pooled", "floor"}
        What a class gets in columns and directions in which it (almost) does not vary: "pooled" raises variances
        towards those within all classes, where all its rows together vary less than one row does on average; "floor"
        applies the variance floor alone. A warning names the classes and the columns. All others keep the estimate of
        maximum likelihood.
    ddof : {0, 1}
        0 divides by the number n of rows: maximum likelihood. 1 divides by n - 1, and by n - k where k classes share a
        covariance, as R's `lda`, `qda` and `naiveBayes` do; "loo" and predictive models take 0 only.
    n_jobs : int or None
        Threads; None uses every processor unless SUFFICE_NUM_THREADS or OMP_NUM_THREADS says otherwise.

    Attributes
    ----------
    classes_, prior_ : (k,)
    means_ : (k, d)
    covariances_ : (k, d, d) full; (d, d) tied; (k, d) diag; (d,) tied_diag; (k,) spherical; () tied_spherical;
        of a predictive model, scale matrices, one for each class in every structure
    shrinkage_ : float, or (k,) where it was estimated for each class
    statistics_ : MomentStats, all that was kept of the rows; PatternStats where values are missing and covariances
        full; WideMomentStats where there are many more columns than rows
    density_ : GaussianDensity or StudentDensity

    Examples
    --------
    >>> from suffice import GaussianClassifier
    >>> X = [[1.70], [1.78], [1.75], [1.60], [1.64], [1.55]]
    >>> clf = GaussianClassifier().fit(X, ["m", "m", "m", "f", "f", "f"])
    >>> clf.predict([[1.69]]).item(), clf.predict([[1.69]], prior={"f": 0.99, "m": 0.01}).item()
    ('m', 'f')

    Values may be missing, in training and in scoring:

    >>> X = [[1.70, 70.0], [1.78, np.nan], [1.75, 81.0], [1.60, 52.0], [np.nan, 61.0], [1.55, 50.0]]
    >>> clf = GaussianClassifier("tied").fit(X, ["m", "m", "m", "f", "f", "f"])
    >>> clf.predict([[1.80, np.nan], [np.nan, 55.0]]).tolist()
    ['m', 'f']
    """

    _recipe = FAMILIES["gaussian"]
    statistics_: MomentStats | PatternStats
    _chosen: tuple[float, tuple[Any, ...]] | None = None

    def __init__(
        self,
        covariance: str = "full",
        shrinkage: float | str | None = None,
        prior: Prior = None,
        *,
        predictive: bool = False,
        variance_floor: float = 1e-9,
        missing: str = "ignore",
        shrinkage_target: str = "variances",
        degenerate: str = "pooled",
        ddof: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.prior = prior
        self.predictive = predictive
        self.variance_floor = variance_floor
        self.missing = missing
        self.shrinkage_target = shrinkage_target
        self.degenerate = degenerate
        self.ddof = ddof
        self.n_jobs = n_jobs

    def _learn(self, statistics: Any, source: Source | None = None, inferred: Any = None) -> Self:
        chosen = self._choose_shrinkage(statistics, source) if self.shrinkage == "loo" else None
        super()._learn(statistics, source, inferred)
        self._chosen = None if chosen is None else (chosen, self._chosen_for())
        return self

    # What needs a part of the rows only; scikit-learn asks with hasattr.
    partial_fit = available_if(_takes_some_rows)(GenerativeClassifier.partial_fit)
    forget = available_if(_takes_some_rows)(GenerativeClassifier.forget)
    fit_statistics = available_if(_takes_some_rows)(GenerativeClassifier.fit_statistics)

    def _settled(self) -> dict[str, Any]:
        return self._validate() | {"shrinkage": self._shrinkage()}

    def _chosen_for(self) -> tuple[Any, ...]:
        """All that the choice of a shrinkage depends on."""
        return self._fitted(), self.covariance, self.variance_floor, self.shrinkage_target

    def _choose_shrinkage(self, moments: MomentStats, source: Source | None) -> float:
        if source is None:
            raise DataError(_ALL_ROWS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SufficeWarning)
            density = GaussianDensity.estimate(moments, self.covariance, None, self.variance_floor)
        model = GaussianLeaveOneOut(moments, density, 0.0, self.variance_floor, self.shrinkage_target, self.degenerate)
        return best_shrinkage(source.in_memory(), model)

    def _shrinkage(self) -> float | str | None:
        """As it is used: a number where it was chosen."""
        if self.shrinkage != "loo":
            return self.shrinkage
        if self._chosen is None or self._chosen[1] != self._chosen_for():
            raise DataError('shrinkage="loo" was set after fit; call fit again')
        return self._chosen[0]

    def _saved_params(self) -> dict[str, Any]:
        """The number that was chosen is kept: a file has no rows to choose it by."""
        return super()._saved_params() | {"shrinkage": self._shrinkage()}

    @property
    def density_(self) -> GaussianDensity | StudentDensity:
        """The density p(x | class), estimated from `statistics_`."""
        return cast("GaussianDensity | StudentDensity", super().density_)

    @property
    def means_(self) -> Array:
        """Class means, (k, d)."""
        return self.density_.mean

    @property
    def covariances_(self) -> Array:
        """Covariances as they are used, shrunk and floored, in the shape of the structure."""
        covariance = self.density_.covariance
        if self.density_.structure.shape == "spherical":
            covariance = covariance[:, 0]
        return np.asarray(covariance[0] if self.density_.structure.tied else covariance)

    @property
    def shrinkage_(self) -> Any:
        """The shrinkage that is used: a number, or (k,) where it was estimated for each class."""
        used = self._shrinkage()
        if not isinstance(used, str):
            return float(used or 0.0)
        structure = STRUCTURES[self.covariance]
        statistics = self._recipe.adopted(self._fitted(), self._settled())
        found = found_shrinkage(statistics, structure, used, self.variance_floor, self.shrinkage_target)
        return float(found[0]) if structure.tied else found

    def _leave_one_out(self) -> LeaveOneOut:
        if self.shrinkage == "loo":
            raise DataError(
                'leave_one_out has no closed form for shrinkage="loo", which depends on every row; after '
                "fit, use the number that it chose: set_params(shrinkage=clf.shrinkage_)"
            )
        return super()._leave_one_out()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = learns_from_missing(self._params())
        return tags

    def quadratic_form(self, a: Any = None, b: Any = None) -> tuple[Array, Array, float]:
        """Give the log-likelihood ratio in closed form: ``llr(x, a, b) = x'Ax + x'b + c``.

        Parameters
        ----------
        a, b : label or None
            The two classes, as in `llr`.

        Returns
        -------
        A : array of shape (d, d)
            The quadratic part, zero for tied structures.
        b : array of shape (d,)
            The linear part.
        c : float
            The constant.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> A, b, c = clf.quadratic_form()
        >>> x = np.array([3.5])
        >>> round(float(x @ A @ x + b @ x + c), 2), round(clf.llr([x]).item(), 2)
        (6.0, 6.0)
        """
        model = self.to_model()
        i, j = model._with_rows(model._pair(a, b))
        density = self._plug_in("quadratic_form")
        lower, upper = density.precision(i), density.precision(j)
        m0, m1 = density.mean[i], density.mean[j]
        if density.structure.tied:
            slope = upper @ (m1 - m0)
            return np.zeros_like(upper), slope, float(-0.5 * slope @ (m1 + m0))
        constant = density.constant[j] - density.constant[i] - 0.5 * (m1 @ upper @ m1 - m0 @ lower @ m0)
        return -0.5 * (upper - lower), upper @ m1 - lower @ m0, float(constant)

    def _plug_in(self, what: str) -> GaussianDensity:
        if self.predictive:
            raise DataError(f"{what} needs a Gaussian density, but this model is predictive; fit with predictive=False")
        return cast("GaussianDensity", self.density_)
