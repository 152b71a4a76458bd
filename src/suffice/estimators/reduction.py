"""Principal components and linear discriminants, as transformers that stream, merge and forget."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..collect import refuse_nonfinite
from ..errors import DataError
from ..modelfile import Learnt
from ..projection import (
    DiscriminantRecipe,
    LearntProjection,
    PrincipalRecipe,
    Projection,
    ProjectionRecipe,
    discriminants,
    wide_principal_components,
)
from ..scoring.columns import Columns
from ..sources import RowResults, Source
from ..stats import MomentStats
from ..stats.collectors import NO_LABELS
from ..tables.batch import Batch
from .estimated import Estimated
from .learner import Learner
from .probabilistic import ProbabilisticComponents

Array = NDArray[Any]
_WIDE = 1000  # columns, from which on a matrix of them is avoided where there are fewer rows
_ROWS = 1 << 18  # cells that are projected at a time


def is_wide(source: Source) -> bool:
    """Whether a matrix of columns is to be avoided."""
    return source.n_rows is not None and source.n_features > max(_WIDE, source.n_rows)


class Reduction(TransformerMixin, ClassNamePrefixFeaturesOutMixin, Learner):
    """What both reductions share: a projection that is estimated from moments."""

    n_components: int | float | str | None
    statistics_: MomentStats

    _recipe: ClassVar[ProjectionRecipe]

    @abstractmethod
    def _wide(self, batch: Batch) -> tuple[Projection, Array]:
        """The projection of rows that are too wide for a matrix of columns, and their classes (k,)."""

    def _fit_source(self, source: Source) -> Self:
        # Files are taken for long: whoever has few rows can hold them in memory.
        if source.n_rows is None or not is_wide(source):
            return super()._fit_source(source)
        batch = source.in_memory().batch(0, source.n_rows)
        if not np.isfinite(batch.X).all():
            refuse_nonfinite(source)
        whole, classes = self._wide(batch)
        weight = float(len(batch) if batch.weight is None else batch.weight.sum())
        with self._learning() as learner:
            learner._of(whole.first(self._recipe.kept(whole, self._validate(), weight)), classes, source.names)
        return self

    def _learn(self, statistics: Any, source: Source | None = None, inferred: Any = None) -> Self:
        self.__dict__.pop("_without_statistics", None)
        return super()._learn(statistics, source, inferred)

    def _learn_projection(self, projection: LearntProjection) -> Self:
        self.__dict__.pop("statistics_", None)
        self._without_statistics = projection
        return self

    def _learnt(self) -> Learnt:
        return getattr(self, "_without_statistics", None) or super()._learnt()

    def _resume(self, learnt: Learnt, choices: dict[str, Any]) -> Self:
        if isinstance(learnt, LearntProjection):
            return self._learn_projection(learnt)
        return super()._resume(learnt, choices)

    def _columns(self) -> Columns:
        return super(Estimated, self)._columns()  # numbers alone

    def _fitted(self) -> MomentStats:
        if hasattr(self, "_without_statistics"):
            raise DataError(
                f"this {type(self).__name__} was fitted to fewer rows than columns and kept no "
                "statistics: it cannot learn more rows or be merged; use partial_fit from the start"
            )
        return cast("MomentStats", super()._fitted())

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        decay: float | None = None,
        half_life: float | None = None,
    ) -> Self:
        """Learn from more rows, in place. The result equals one fitted on all rows so far.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : array-like of shape (n,), str or None
            The labels, or the name of the column of X that holds them.
        classes : array-like or None
            Labels that may come later.
        sample_weight : array-like of shape (n,), str or None
            Weights, or the name of the column of X that holds them.
        decay : float or None
            What the weight of every earlier row is multiplied by, above 0 and at most 1.
        half_life : float or None
            The number of new rows after which earlier rows count half.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import LDA
        >>> lda = LDA().partial_fit([[1.0, 0.0], [2.0, 1.0]], ["a", "b"])
        >>> lda.partial_fit([[1.0, 2.0], [2.0, 4.0]], ["a", "b"]).statistics_.weight
        array([2., 2.])
        """
        if hasattr(self, "_without_statistics"):
            self._fitted()
        return super().partial_fit(X, y, classes, sample_weight, decay=decay, half_life=half_life)

    def transform(self, X: Any) -> Any:
        """Project rows on the directions.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n, m)
            The new coordinates.

        Examples
        --------
        >>> from suffice import PCA
        >>> PCA(1).fit([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]).transform([[4.0, 4.0]]).round(3)
        array([[2.828]])
        """
        projection, source = self.projection_, self._source(X)
        step = max(1, _ROWS // source.n_features)

        def project(batch: Batch, out: Array) -> bool:
            for start in range(0, len(batch), step):
                rows = slice(start, start + step)
                with np.errstate(invalid="ignore", over="ignore"):
                    out[rows] = projection(batch.table[rows].floats())
            return bool(np.isfinite(out).all())

        results = RowResults(type(self).__name__.lower(), range(projection.directions.shape[1]))
        return source.map_rows(project, results, refuse_nonfinite)

    def _of(self, projection: Projection, classes: Array, names: tuple[str, ...] | None) -> Self:
        """This estimator with a projection of rows of some classes that was found elsewhere."""
        self._set_columns(names, len(projection.center))
        return self._learn_projection(LearntProjection(**vars(projection), classes=classes))

    @property
    def projection_(self) -> Projection:
        """Centre and directions."""
        self._check_fitted()
        return cast("Projection", getattr(self, "_without_statistics", None) or self._estimate())

    @property
    def mean_(self) -> Array:
        """The mean of all rows, (d,)."""
        return self.projection_.center

    @property
    def components_(self) -> Array:
        """The directions, (m, d)."""
        return self.projection_.directions.T

    @property
    def n_components_(self) -> int:
        """How many there are."""
        return len(self.projection_.values)

    _n_features_out = n_components_

    @property
    def explained_variance_ratio_(self) -> Array:
        """The share of each direction in the values of all, (m,)."""
        projection = self.projection_
        return projection.values / (projection.total or 1.0)

    def __sklearn_is_fitted__(self) -> bool:
        return super().__sklearn_is_fitted__() or hasattr(self, "_without_statistics")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PCA(Reduction, ProbabilisticComponents):
    """Principal components: the directions of most variance, from one pass over the rows.

    Parameters
    ----------
    n_components : int, float, "mle" or None
        How many directions to keep; below one, as many as it takes for this share of the variance; "mle" as many as
        are most likely, by Minka's evidence, as in scikit-learn; None keeps all that have any.
    whiten : bool
        Bring every component to variance one.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    components_ : (m, d) directions
    mean_ : (d,)
    n_components_ : m
    explained_variance_, explained_variance_ratio_ : (m,), with divisor n
    singular_values_ : (m,)
    noise_variance_ : the mean variance of the directions that are left out
    statistics_ : MomentStats of all rows

    Examples
    --------
    >>> from suffice import PCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> PCA(2).fit(X).explained_variance_.round(3)
    array([4.2  , 0.241])
    """

    _recipe: ClassVar[PrincipalRecipe] = PrincipalRecipe()

    def __init__(
        self, n_components: int | float | str | None = None, *, whiten: bool = False, n_jobs: int | None = None
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows, in one pass.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : array-like of shape (n,), str or None
            Labels play no part; the name of a column leaves it out.
        sample_weight : array-like of shape (n,), str or None
            Weights, or the name of the column of X that holds them.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import PCA
        >>> PCA(1).fit([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]).components_.round(3)
        array([[0.707, 0.707]])
        """
        return super().fit(X, y, sample_weight)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,  # noqa: ARG002
        sample_weight: Any = None,
        *,
        decay: float | None = None,
        half_life: float | None = None,
    ) -> Self:
        """Learn from more rows, in place. The model equals one fitted on all rows so far.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : array-like of shape (n,), str or None
            Labels play no part; the name of a column leaves it out.
        classes : array-like or None
            Ignored.
        sample_weight : array-like of shape (n,), str or None
            Weights, or the name of the column of X that holds them.
        decay : float or None
            What the weight of every earlier row is multiplied by, above 0 and at most 1.
        half_life : float or None
            The number of new rows after which earlier rows count half.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import PCA
        >>> pca = PCA(1).partial_fit([[1.0, 1.0], [2.0, 2.0]]).partial_fit([[3.0, 3.0], [6.0, 6.0]])
        >>> pca.mean_
        array([3., 3.])
        """
        return super().partial_fit(X, y, None, sample_weight, decay=decay, half_life=half_life)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learnt before, in place.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : array-like of shape (n,), str or None
            Labels play no part; the name of a column leaves it out.
        sample_weight : array-like of shape (n,), str or None
            Weights, or the name of the column of X that holds them.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import PCA
        >>> PCA(1).fit([[1.0, 1.0], [2.0, 2.0], [6.0, 3.0]]).forget([[6.0, 3.0]]).mean_
        array([1.5, 1.5])
        """
        return super().forget(X, y, sample_weight)

    def inverse_transform(self, X: Any) -> Array:
        """Reconstruct rows from their components.

        Parameters
        ----------
        X : array-like of shape (n, m)
            The components.

        Returns
        -------
        array of shape (n, d)
            The rows, as far as these directions tell.

        Examples
        --------
        >>> from suffice import PCA
        >>> pca = PCA(1).fit([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
        >>> pca.inverse_transform(pca.transform([[4.0, 4.0]])).round(3)
        array([[4., 4.]])
        """
        projection, components = self.projection_, np.asarray(X, dtype=np.float64)
        if components.ndim != 2 or components.shape[1] != len(projection.values):
            raise DataError(f"X has {components.shape[-1]} components, but this PCA has {len(projection.values)}")
        squares = (projection.directions**2).sum(axis=0)  # one, unless they are whitened
        return np.asarray(
            (components / np.where(squares > 0, squares, 1.0)) @ projection.directions.T + projection.center
        )

    @property
    def explained_variance_(self) -> Array:
        """The variance of the rows in each direction, (m,), divisor n."""
        return self.projection_.values

    def _labels(self, y: Any) -> Any:
        return y if isinstance(y, str) else None

    def _wide(self, batch: Batch) -> tuple[Projection, Array]:
        whole = wide_principal_components(batch.X, batch.weight)
        return self._recipe.whitened(whole, self._validate()), NO_LABELS


class LDA(Reduction):
    """Linear discriminants: the directions in which classes lie farthest apart for their spread, from one pass.

    Afterwards the covariance within classes is the identity, so that tied and tied_diag models coincide.

    Parameters
    ----------
    n_components : int or None
        How many directions to keep, at most one fewer than classes; None keeps as many as there are.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    components_ : (m, d) directions
    mean_ : (d,)
    n_components_ : m
    eigenvalues_ : (m,) variance between classes over variance within
    classes_ : (k,)
    statistics_ : MomentStats

    Examples
    --------
    >>> from suffice import LDA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LDA().fit(X, y).eigenvalues_.round(3)
    array([32.192,  0.285])
    """

    _recipe: ClassVar[DiscriminantRecipe] = DiscriminantRecipe()

    def __init__(self, n_components: int | None = None, *, n_jobs: int | None = None) -> None:
        self.n_components = n_components
        self.n_jobs = n_jobs

    @property
    def eigenvalues_(self) -> Array:
        """Variance between classes over variance within, (m,)."""
        return self.projection_.values

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        return self._learnt().classes

    def _wide(self, batch: Batch) -> tuple[Projection, Array]:
        first = wide_principal_components(batch.X, batch.weight)
        moments = MomentStats.of(Batch.of(first(batch.X), batch.y, batch.weight), "pooled")
        return first.then(discriminants(moments)), moments.classes
