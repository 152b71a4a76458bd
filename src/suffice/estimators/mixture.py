"""Mixtures without labels: clusters of any table."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .. import em
from ..errors import DataError, one_of
from ..families import CLUSTERS
from ..scoring.model import Model
from ..sources import Source
from ..sources.sampling import sample_rows
from ..stats import Statistics
from ..stats.bundle import Collector
from ..tables.batch import Batch
from ..tables.labels import SoftLabels
from .classifier import of_model
from .mixed import MixedTable

Array = NDArray[Any]

_SAMPLE = 20_000  # rows on which starts are found and compared
_CRITERIA = ("bic", "aic", "icl")


class MixtureModel(DensityMixin, MixedTable):
    """Clusters of a table of any columns, by a mixture of densities that expectation-maximisation fits.

    Every column has a family, as in `MixedClassifier`: numbers are Gaussian, text is categorical, and so on. Missing
    values are allowed where `covariance` is diagonal or spherical.

    Parameters
    ----------
    n_components : int or iterable of int
        The number of components. Of several numbers, the best by `criterion` is taken; see `criteria_`.
    covariance : {"full", "diag", "tied", "tied_diag", "spherical", "tied_spherical"}
        Of the Gaussian columns.
    families : "auto" or dict
        The family of every column, as for `MixedClassifier`.
    criterion : {"bic", "aic", "icl"}
        What chooses among several numbers of components; less is better.
    alpha : float
        Pseudo-counts of the discrete families; 0 is maximum likelihood.
    tol : float
        Stop when the mean log-likelihood of a row grows by less.
    max_iter : int
        Stop after this many steps, with a warning.
    n_init : int
        The number of starts. They are compared on a sample of the rows; the best goes on with all of them.
    init : {"k-means++", "random"} or array-like
        How to start; or a label for every row, or a row of responsibilities.
    shrinkage : float in [0, 1], "oas", "ledoit_wolf" or None
        How far the covariances of the Gaussian columns are pulled towards a multiple of the identity.
    variance_floor : float
        The least variance in any direction, relative to each column's own variance within components.
    unknown : {"smooth", "ignore", "error"}
        What a category is worth that was never seen in training.
    random_state : int, RandomState or None
        Of the starts.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    weights_ : array of shape (k,)
        The share of each component.
    n_components_ : int
        The number of components.
    criteria_ : dict of str to array
        For each number of components: log-likelihood, number of parameters, and the criteria.
    history_ : array
        The mean log-likelihood of a row before each step, and after the last one.
    converged_ : bool
        Whether the log-likelihood stopped growing.
    n_iter_ : int
        The number of steps.
    lower_bound_ : float
        The mean log-likelihood of a row.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import MixtureModel
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(6, 1, (100, 2))])
    >>> model = MixtureModel(n_components=range(1, 4), random_state=0).fit(X)
    >>> model.n_components_
    2
    >>> model.weights_.round(2)
    array([0.67, 0.33])
    >>> model.predict([[0.0, 0.5], [6.0, 5.0]])
    array([0, 1])
    """

    _recipe = CLUSTERS

    def __init__(
        self,
        n_components: int | Iterable[int] = 2,
        covariance: str = "full",
        families: Any = "auto",
        *,
        criterion: str = "bic",
        alpha: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 3,
        init: Any = "k-means++",
        shrinkage: float | str | None = None,
        variance_floor: float = 1e-6,
        unknown: str = "smooth",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.families = families
        self.criterion = criterion
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.shrinkage = shrinkage
        self.variance_floor = variance_floor
        self.unknown = unknown
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Learning.

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find the components, in one pass over the rows for each step.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            An array, a data frame, a path or glob, a Dask or Spark frame, a table of a database.
        y : object
            Ignored; there for scikit-learn.
        sample_weight : array-like of shape (n,), str or None
            Weights that are not negative, or the name of a column of X.

        Returns
        -------
        self
            The fitted estimator.
        """
        source = self._new_source(X, None, sample_weight)
        with self._learning() as learner:
            learner._fit_source(source)
        if not self.converged_:
            warnings.warn(
                f"no convergence after {self.max_iter} steps; raise max_iter or tol", ConvergenceWarning, stacklevel=2
            )
        return self

    def _fit_source(self, source: Source) -> None:
        inferred = self._infer(source)
        search = _Search(self, source, self._collector(inferred), self._estimator(source))
        mixtures = [search.best(k) for k in self._numbers()]
        self.criteria_ = _table(mixtures)
        mixture = mixtures[int(np.argmin(self.criteria_[self.criterion]))]
        self._learn(mixture.statistics, source, inferred)._estimated()
        self.history_ = np.array(mixture.history)
        self.converged_ = mixture.converged

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the components, and give each row the one that it most probably belongs to.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : object
            Ignored; there for scikit-learn.
        sample_weight : array-like of shape (n,), str or None
            Weights that are not negative, or the name of a column of X.

        Returns
        -------
        array of int of shape (n,)
            The component of each row.
        """
        return self.fit(X, y, sample_weight).predict(X)

    def _numbers(self) -> list[int]:
        one_of("criterion", self.criterion, _CRITERIA)
        for name in ("n_init", "max_iter"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or int(value) < 1:
                raise DataError(f"{name}={value!r} must be a positive whole number")
        if not (isinstance(self.tol, Real) and float(self.tol) >= 0):
            raise DataError(f"tol={self.tol!r} must be a number that is not negative")
        asked: Any = self.n_components
        numbers = list(asked) if isinstance(asked, Iterable) else [asked]
        if not numbers or not all(isinstance(k, Integral) and int(k) > 0 for k in numbers):
            raise DataError(f"n_components={self.n_components!r} must be a positive number, or several of them")
        return [int(k) for k in numbers]

    def _estimator(self, source: Source) -> em.Estimate:
        recipe, choices = self._recipe, self._validate() | {"unknown": "smooth"}  # a start may not know all categories
        return lambda statistics: recipe.estimate(recipe.adopted(statistics, choices), choices, source.names)

    # What was learnt.

    def to_model(self) -> Model:
        """Give the model that was learnt: immutable, and without scikit-learn.

        Returns
        -------
        Model
            Its classes are the components, its prior their weights.
        """
        own: dict[str, Any] = {"names": self._names(), "n_jobs": self.n_jobs, "owner": type(self).__name__}
        return Model._known(self._estimate(), self._fitted().classes, self.weights_, **own, choice=None)

    @property
    def weights_(self) -> Array:
        """The share of each component, of shape (k,)."""
        weight = self._fitted().weight
        return np.asarray(weight / weight.sum())

    @property
    def n_components_(self) -> int:
        """The number of components."""
        return len(self._fitted().classes)

    @property
    def n_iter_(self) -> int:
        """The number of steps."""
        return len(self.history_) - 1

    @property
    def lower_bound_(self) -> float:
        """The mean log-likelihood of a row."""
        return float(self.history_[-1])

    @property
    def parameters_(self) -> dict[str, Any]:
        """What was learnt, by name, with a dictionary for each family of columns."""
        return self.to_model().parameters()

    predict = of_model(Model.predict)
    predict_proba = of_model(Model.predict_proba)
    predict_log_proba = of_model(Model.predict_log_proba)
    score_samples = of_model(Model.score_samples)
    log_likelihood = of_model(Model.log_likelihood)
    typicality = of_model(Model.typicality)
    impute = of_model(Model.impute)
    sample = of_model(Model.sample)
    to_parquet = of_model(Model.to_parquet)
    to_sql = of_model(Model.to_sql)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Compute the mean log-likelihood of rows.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : object
            Ignored; there for scikit-learn.

        Returns
        -------
        float
            The mean of `score_samples`.
        """
        return em.measured(self._source(X).reduce, self._mixture()).history[0]

    def bic(self, X: Any) -> float:
        """Compute the Bayesian information criterion of rows; less is better.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.

        Returns
        -------
        float
            ``-2 log-likelihood + log(n) parameters``, where n is the number of rows, or their total weight.
        """
        return self._criteria(X)["bic"]

    def aic(self, X: Any) -> float:
        """Compute Akaike's information criterion of rows; less is better.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.

        Returns
        -------
        float
            ``-2 log-likelihood + 2 parameters``.
        """
        return self._criteria(X)["aic"]

    def icl(self, X: Any) -> float:
        """Compute the integrated completed likelihood of rows, which asks for separate clusters; less is better.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.

        Returns
        -------
        float
            `bic`, plus twice the entropy of the responsibilities.
        """
        return self._criteria(X)["icl"]

    def _criteria(self, X: Any) -> dict[str, float]:
        return em.measured(self._source(X).reduce, self._mixture()).criteria()

    def _mixture(self) -> em.Mixture:
        return em.Mixture(self._estimate(), self._fitted())

    def _saved_params(self) -> dict[str, Any]:
        numbers = self.n_components if isinstance(self.n_components, Integral) else self._numbers()
        init = self.init if isinstance(self.init, str) else "k-means++"
        seed = self.random_state if isinstance(self.random_state, Integral) else None
        return super()._saved_params() | {"n_components": numbers, "init": init, "random_state": seed}


def _table(mixtures: list[em.Mixture]) -> dict[str, Array]:
    """One entry for each number of components."""
    rows = [
        {
            "n_components": len(mixture.weight),
            "log_likelihood": mixture.history[-1] * mixture.total,
            "n_parameters": mixture.n_parameters,
            **mixture.criteria(),
        }
        for mixture in mixtures
    ]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


class _Search:
    """The best mixture of each number of components, over the rows of a source."""

    def __init__(self, model: MixtureModel, source: Source, collect: Collector, estimate: em.Estimate) -> None:
        self.model, self.source, self.collect, self.estimate = model, source, collect, estimate
        self.random = check_random_state(model.random_state)
        self.given = not isinstance(model.init, str)
        if not self.given:
            one_of("init", model.init, ("k-means++", "random"))
            self.sample = sample_rows(source, _SAMPLE, int(self.random.randint(1 << 20)))
            self.rows, self.weight = self._scaled()

    def best(self, k: int) -> em.Mixture:
        """The mixture of k components."""
        if self.given:
            return self._maximised(self.source.reduce, self._given(k))
        found = [self._maximised(self._reduce, self._start(k)) for _ in range(self.model.n_init if k > 1 else 1)]
        best = max(found, key=lambda mixture: mixture.history[-1])
        is_all = len(self.rows) < _SAMPLE
        return best if is_all else self._maximised(self.source.reduce, best.statistics)

    def _maximised(self, reduce: em.Reduce, start: Statistics) -> em.Mixture:
        return em.maximise(reduce, self.collect, self.estimate, start, self.model.tol, self.model.max_iter)

    def _start(self, k: int) -> Statistics:
        """The statistic of k clusters of the sample."""
        if k > len(self.rows):
            raise DataError(f"there are fewer rows than components: {len(self.rows)} and {k}")
        rng = np.random.default_rng(self.random.randint(1 << 31))
        if self.model.init == "random":
            label = rng.integers(k, size=len(self.rows))
            label[rng.permutation(len(label))[:k]] = np.arange(k)
        else:
            label = em.k_means(self.rows, self.weight, k, rng)
        return self._statistic(np.eye(k)[label], self.sample)

    def _reduce(self, of: Callable[[Batch], Any], merge: Callable[[Any, Any], Any]) -> Any:
        return functools.reduce(merge, map(of, self.sample))

    def _given(self, k: int) -> Statistics:
        """The statistic of rows whose labels or responsibilities are given."""
        given = np.asarray(self.model.init)
        if given.ndim == 1 and len(given):
            labels, code = np.unique(given, return_inverse=True)
            given = np.eye(len(labels))[code]
        source = self.source.in_memory()
        if given.shape != (source.n_rows, k):
            raise DataError(
                f"init must have a label, or {k} responsibilities, for each of {source.n_rows} rows; it has shape "
                f"{np.shape(self.model.init)}, for {given.shape[-1]} components"
            )
        return self._statistic(given.astype(np.float64), [source.batch(0, source.n_rows)])

    def _statistic(self, responsibility: Array, batches: list[Batch]) -> Statistics:
        """The statistic of batches with responsibilities, row after row."""
        parts, start = [], 0
        for batch in batches:
            soft = SoftLabels(np.arange(responsibility.shape[1]), responsibility[start : start + len(batch)])
            soft.check()
            parts.append(self.collect(em.softly(batch, soft)))
            start += len(batch)
        return parts[0].plus(*parts[1:])

    def _scaled(self) -> tuple[Array, Array]:
        """The sample as numbers of one scale, and its weights: categories are one-hot, missing cells are filled."""
        density = self.estimate(self._statistic(np.ones((sum(map(len, self.sample)), 1)), self.sample))
        rows = []
        for batch in self.sample:
            x = density.read(batch.table)
            rows.append(density.linear_rows(density.fill(x, np.ones((len(batch), 1)))))
        numbers = np.concatenate(rows)
        weight = np.concatenate([np.ones(len(b)) if b.weight is None else b.weight for b in self.sample])
        mean = weight @ numbers / weight.sum()
        spread = np.sqrt(weight @ (numbers - mean) ** 2 / weight.sum())
        return (numbers - mean) / np.where(spread > 0, spread, 1.0), weight
