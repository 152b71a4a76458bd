"""Mixtures without labels: clusters of any table."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state

from .. import em
from ..combined import CLUSTERS
from ..densities import Density
from ..errors import ComponentWarning, DataError, as_parameter, one_of, warn
from ..scoring.model import Model
from ..sources import Source
from ..sources.sampling import sample_rows
from ..starts import CRITERIA, INITS, Sample, Search
from ..stats import Statistics
from ..stats.bundle import Collector
from ..tables.batch import Batch
from ..tables.labels import SoftLabels
from .classifier import of_model
from .iterated import Iterated
from .mixed import MixedTable

Array = NDArray[Any]

SAMPLE = 20_000  # rows on which starts are found and compared
_AUTO = range(1, 11)


class MixtureModel(DensityMixin, Iterated, MixedTable):
    """Clusters of a table of any columns, by a mixture of densities that expectation-maximisation fits.

    Every column has a family, as in `MixedClassifier`: numbers are Gaussian, text is categorical, and so on. Missing
    values are used as they are: each row counts with the values that it has.

    Parameters
    ----------
    n_components : int, iterable of int or "auto"
        The number of components. Of several numbers, the best by `criterion` is taken; see `criteria_`. "auto" tries 1
        to 10. Numbers that are larger than that of the rows are left out.
    covariance : {"full", "diag", "tied", "tied_diag", "spherical", "tied_spherical"}
        Of the Gaussian columns.
    families : "auto" or dict
        The family of every column, as for `MixedClassifier`.
    criterion : {"bic", "aic", "icl", "held_out"}
        What chooses among several numbers of components; less is better. "held_out" is minus the mean log-likelihood
        of each half of a sample of the rows under the mixture of the other half.
    alpha : float
        Pseudo-counts of the discrete families, one number for all columns; 0 is maximum likelihood.
    tol : float
        Stop when the mean log-likelihood of a row grows by less.
    max_iter : int
        Stop after this many steps, with a warning.
    n_init : int
        The number of starts. They are compared on a sample of the rows; the best goes on with all of them.
    init : {"k-means++", "lbg", "random"} or array-like
        How to start: from clusters by k-means; by splitting the widest component until there are enough (Linde, Buzo
        and Gray); from random labels; or from a label, or a row of responsibilities, for each row.
    pseudo_rows : float or None
        Pseudo-rows that every component has from the start, spread as all rows are: a conjugate prior, so that no
        component collapses on a few rows. 0 is maximum likelihood. None means 0 for one number of components, and 0.1
        for several: components that collapse have a high likelihood, and would be chosen for it.
    shrinkage : float in [0, 1], "oas", "ledoit_wolf" or None
        How far the covariances of the Gaussian columns are pulled towards a multiple of `shrinkage_target`.
    variance_floor : float
        The least variance in any direction, relative to the variance of each column in all rows.
    unknown : {"ignore", "smooth", "error"}
        What to do with a category that was never seen in training: ignore it like a missing value, score it like one
        that the class never had, or raise an error.
    random_state : int, RandomState or None
        Of the starts.
    shrinkage_target : {"variances", "identity"}
        "variances" shrinks as if each column had been divided by its standard deviation, so that units do not matter;
        "identity" takes the columns as they are.
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
    array([0.33, 0.67])
    >>> model.predict([[0.0, 0.5], [6.0, 5.0]])
    array([1, 0])
    """

    _recipe = CLUSTERS
    _notes = ("criteria_", "history_", "converged_")

    def __init__(
        self,
        n_components: int | Iterable[int] | str = 2,
        covariance: str = "full",
        families: Any = "auto",
        *,
        criterion: str = "bic",
        alpha: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 3,
        init: Any = "k-means++",
        pseudo_rows: float | None = None,
        shrinkage: float | str | None = None,
        variance_floor: float = 1e-6,
        unknown: str = "ignore",
        random_state: Any = None,
        shrinkage_target: str = "variances",
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
        self.pseudo_rows = pseudo_rows
        self.shrinkage = shrinkage
        self.variance_floor = variance_floor
        self.unknown = unknown
        self.random_state = random_state
        self.shrinkage_target = shrinkage_target
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

        Examples
        --------
        >>> from suffice import MixtureModel
        >>> X = np.array([[0.0], [0.1], [0.3], [0.4], [9.0], [9.1], [9.3], [9.4]])
        >>> model = MixtureModel(2, random_state=0).fit(X)
        >>> model.weights_.round(2)
        array([0.5, 0.5])
        """
        source = self._new_source(X, None, sample_weight)
        with self._learning() as learner:
            learner._fit_source(source)
        self._warn_unless_converged()
        return self

    def _fit_source(self, source: Source) -> None:
        numbers, inferred = self._numbers(), self._infer(source)
        several = len(numbers) > 1
        search = self._search(source, self._collector(inferred), several)
        numbers = [k for k in numbers if k <= len(search.sample)] or numbers[:1]
        mixtures = [self._best(source, search, k, several) for k in numbers]
        self.criteria_ = table_of([search.row(mixture, self.criterion) for mixture in mixtures])
        best = int(np.argmin(self.criteria_[self.criterion]))
        mixture = mixtures[best]
        self._learn(mixture.statistics, source, inferred)._estimated()
        self.history_ = np.array(mixture.history)
        self.converged_ = mixture.converged
        warn_of_lost(len(mixture.weight), numbers[best])

    def _search(self, source: Source, collect: Collector, several: bool) -> Search:
        """The search for starts, on a sample of the rows."""
        random = check_random_state(self.random_state)
        batches = sample_rows(source, SAMPLE, int(random.randint(1 << 20)))
        rng = np.random.default_rng(random.randint(1 << 31))
        init = self.init if isinstance(self.init, str) else "k-means++"
        sample = Sample(batches, collect, component_estimate(self._validate(), source.names))
        pseudo_rows = weight_of_pseudo_rows(self.pseudo_rows, several)
        return Search(sample, rng, init, self.n_init, self.tol, self.max_iter, pseudo_rows)

    def _best(self, source: Source, search: Search, k: int, several: bool) -> em.Mixture:
        """The mixture of k components of all rows."""
        sample, given = search.sample, not isinstance(self.init, str)
        if not given and len(sample) < SAMPLE and source.checkpoint is None:  # the sample is all rows
            return search.best(k)
        loop = replace(search.loop(), reduce=source.reduce)

        def start() -> tuple[Statistics, None]:
            return (self._given(source, sample, k) if given else search.best(k).statistics), None

        return em.run(source, loop, start, job={**em_job(self), "n_components": k}, part=f"-{k}" if several else "")

    def _given(self, source: Source, sample: Sample, k: int) -> Statistics:
        """The statistic of rows whose labels or responsibilities are given."""
        given = np.asarray(self.init)
        if given.ndim == 1 and len(given):
            labels, code = np.unique(given, return_inverse=True)
            given = np.eye(len(labels))[code]
        local = source.in_memory()
        if given.shape != (local.n_rows, k):
            raise DataError(
                f"init must have a label, or {k} responsibilities, for each of {local.n_rows} rows; it has shape "
                f"{np.shape(self.init)}, for {given.shape[-1]} components"
            )
        soft = SoftLabels(np.arange(k), given.astype(np.float64, copy=False))
        soft.check()

        def of(batch: Batch) -> Statistics:
            return sample.collect(em.softly(batch, soft[batch.start : batch.start + len(batch)]))

        total: Statistics = local.reduce(of, operator.add)
        return total

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

        Examples
        --------
        >>> from suffice import MixtureModel
        >>> X = np.array([[0.0], [0.1], [0.3], [0.4], [9.0], [9.1], [9.3], [9.4]])
        >>> found = MixtureModel(2, random_state=0).fit_predict(X)
        >>> bool((found[:4] == found[0]).all() and (found[4:] == 1 - found[0]).all())
        True
        """
        return self.fit(X, y, sample_weight).predict(X)

    def _numbers(self) -> list[int]:
        check_em(self)
        if isinstance(self.init, str):
            one_of("init", self.init, INITS)
        return numbers_to_try(self.n_components)

    # What was learnt.

    def to_model(self) -> Model:
        """Give the model that was learnt: immutable, and without scikit-learn.

        Returns
        -------
        Model
            Its classes are the components, its prior their weights.

        Examples
        --------
        >>> from suffice import MixtureModel
        >>> X = np.array([[0.0], [0.1], [0.3], [0.4], [9.0], [9.1], [9.3], [9.4]])
        >>> model = MixtureModel(2, random_state=0).fit(X)
        >>> model.to_model().sample(3)[0].shape
        (3, 1)
        """
        own: dict[str, Any] = {"names": self._names(), "n_jobs": self.n_jobs, "owner": type(self).__name__}
        return Model._known(
            self._estimate(), self._fitted().classes, self.weights_, **own, choice=None, calibration=None
        )

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
    def lower_bound_(self) -> float:
        """The mean log-likelihood of a row."""
        self._check_fitted()
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
    to_onnx = of_model(Model.to_onnx)

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

        Examples
        --------
        >>> from suffice import MixtureModel
        >>> X = np.array([[0.0], [0.1], [0.3], [0.4], [9.0], [9.1], [9.3], [9.4]])
        >>> model = MixtureModel(2, random_state=0).fit(X)
        >>> round(model.score(X), 2)
        -0.27
        """
        return self._measured(X).history[0]

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

        Examples
        --------
        >>> from suffice import MixtureModel
        >>> X = np.array([[0.0], [0.1], [0.3], [0.4], [9.0], [9.1], [9.3], [9.4]])
        >>> model = MixtureModel(2, random_state=0).fit(X)
        >>> model.bic(X) < MixtureModel(1).fit(X).bic(X)
        True
        """
        return self._measured(X).criteria()["bic"]

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

        Examples
        --------
        >>> from suffice import MixtureModel
        >>> X = np.array([[0.0], [0.1], [0.3], [0.4], [9.0], [9.1], [9.3], [9.4]])
        >>> model = MixtureModel(2, random_state=0).fit(X)
        >>> model.aic(X) < MixtureModel(1).fit(X).aic(X)
        True
        """
        return self._measured(X).criteria()["aic"]

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

        Examples
        --------
        >>> from suffice import MixtureModel
        >>> X = np.array([[0.0], [0.1], [0.3], [0.4], [9.0], [9.1], [9.3], [9.4]])
        >>> model = MixtureModel(2, random_state=0).fit(X)
        >>> model.icl(X) < MixtureModel(1).fit(X).icl(X)
        True
        """
        return self._measured(X).criteria()["icl"]

    def _measured(self, X: Any) -> em.Mixture:
        return em.measured(self._source(X).reduce, self._estimate(), self.weights_, self._fitted())

    def _saved_params(self) -> dict[str, Any]:
        numbers = as_listed(self.n_components)
        init = self.init if isinstance(self.init, str) else "k-means++"
        seed = self.random_state if isinstance(self.random_state, Integral) else None
        return super()._saved_params() | {"n_components": numbers, "init": init, "random_state": seed}


def em_job(model: Any) -> dict[str, Any]:
    """What a run of EM depends on, to recognise its checkpoint; it may go on with another tol and max_iter."""
    params = model.get_params(deep=False)
    return {name: repr(value) for name, value in params.items() if name not in ("tol", "max_iter", "n_jobs", "prior")}


def component_estimate(choices: dict[str, Any], names: tuple[str, ...] | None) -> em.Estimate:
    """From the statistic of components, and a density to improve if there is one, to their density."""
    # A start may not know all categories, nor values of all columns.
    choices = choices | {"unknown": "smooth", "lenient": True}

    def estimate(statistics: Any, start: Density | None = None) -> Density:
        return CLUSTERS.estimate(CLUSTERS.adopted(statistics, choices), choices | {"start": start}, names)

    return estimate


def check_em(model: Any) -> None:
    """Raise DataError where the parameters of EM make no sense."""
    one_of("criterion", model.criterion, CRITERIA)
    for name in ("n_init", "max_iter"):
        value = getattr(model, name)
        if not isinstance(value, Integral) or int(value) < 1:
            raise DataError(f"{name}={value!r} must be a positive whole number")
    for name in ("tol", "pseudo_rows"):
        value = getattr(model, name)
        if value is None and name == "pseudo_rows":
            continue
        if not (isinstance(value, Real) and 0 <= float(value) < np.inf):
            raise DataError(f"{name}={value!r} must be a number that is not negative")


def weight_of_pseudo_rows(asked: float | None, several: bool) -> float:
    """The weight of the pseudo-rows of each component, by default where several numbers of them are compared."""
    return 0.1 * several if asked is None else float(asked)


def numbers_to_try(asked: Any) -> list[int]:
    """The numbers of components to try."""
    if isinstance(asked, str):
        one_of("n_components", asked, ("auto",))
        return list(_AUTO)
    numbers = list(asked) if isinstance(asked, Iterable) else [asked]
    if not numbers or not all(isinstance(k, Integral) and int(k) > 0 for k in numbers):
        raise DataError(f"n_components={asked!r} must be a positive whole number, or several of them")
    return [int(k) for k in numbers]


def as_listed(asked: Any) -> Any:
    """One number or several, as a file can hold them."""
    return list(asked) if isinstance(asked, Iterable) and not isinstance(asked, str | Mapping) else asked


def table_of(rows: list[dict[str, float]]) -> dict[str, Array]:
    """The columns of a table of criteria."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def warn_of_lost(found: int, asked: int) -> None:
    """Warn where a mixture has fewer components than it should have."""
    if found < asked:
        warn(
            f"{asked - found} of {asked} components lost their rows to others and are left out; use fewer components, "
            f"or {as_parameter('pseudo_rows', 1)}",
            ComponentWarning,
        )
