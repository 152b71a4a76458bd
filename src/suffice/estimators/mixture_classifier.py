"""A mixture for each class: several Gaussians, or several products of any families."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .. import em
from ..collect import collect
from ..combined import COMPONENTS
from ..errors import DataError, listed, one_of
from ..schema import Schema
from ..scoring.model import Prior
from ..sources import Source
from ..sources.sampling import sample_rows
from ..starts import INITS, Sample, Search
from ..stats import ComponentStats, Statistics
from ..stats.bundle import Collector
from ..stats.components import relabelled
from ..tables.batch import Batch
from ..tables.labels import code_known, is_missing
from .generative import DensityClassifier
from .iterated import Iterated
from .mixed import MixedTable
from .mixture import (
    SAMPLE,
    as_listed,
    check_em,
    component_estimate,
    em_job,
    numbers_to_try,
    table_of,
    warn_of_lost,
    weight_of_pseudo_rows,
)
from .table_estimator import given_labels

Array = NDArray[Any]


class MixtureClassifier(Iterated, MixedTable, DensityClassifier):
    """Several components for each class, found by expectation-maximisation.

    Use it where a class has several groups, or a shape that one Gaussian does not describe. Columns may be of any
    family, as in `MixedClassifier`. With one component for each class, it is that classifier.

    Parameters
    ----------
    n_components : int, iterable of int, "auto" or dict
        The number of components of each class. Of several numbers, the best by `criterion` is taken for each class;
        "auto" tries 1 to 10. A dictionary says so by class. No class has more components than rows.
    covariance : {"full", "diag", "tied", "tied_diag", "spherical", "tied_spherical"}
        Of the Gaussian columns. The tied ones are shared by all components of all classes: with them, this is mixture
        discriminant analysis.
    families : "auto" or dict
        The family of every column, as for `MixedClassifier`.
    prior : array, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others.
    criterion : {"bic", "aic", "icl", "held_out"}
        What chooses among several numbers of components, as for `MixtureModel`.
    alpha : float
        Pseudo-counts of the discrete families, one number for all columns; 0 is maximum likelihood.
    tol : float
        Stop when the mean log-likelihood of a row grows by less.
    max_iter : int
        Stop after this many steps, with a warning.
    n_init : int
        The number of starts of each class. They are compared on a sample of the rows.
    init : {"k-means++", "lbg", "random"}
        How to start, as for `MixtureModel`.
    pseudo_rows : float or None
        Pseudo-rows of every component, as for `MixtureModel`, spread as the rows of its class are.
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
    n_components_ : dict
        The number of components of each class.
    criteria_ : dict
        For each class that had a choice: the table of the numbers of components that were tried.
    history_ : array
        The mean log-likelihood of a row and its label before each step, and after the last one.
    converged_ : bool
        Whether the log-likelihood stopped growing.
    n_iter_ : int
        The number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import MixtureClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, (99, 2)), rng.normal(4, 1, (99, 2)), rng.normal(0, 1, (99, 2))])
    >>> y = ["far"] * 198 + ["near"] * 99
    >>> clf = MixtureClassifier("auto", random_state=0).fit(X, y)
    >>> clf.n_components_
    {'far': 2, 'near': 1}
    >>> clf.predict([[-4, -4], [0, 0], [4, 4]]).tolist()
    ['far', 'near', 'far']
    """

    _recipe = COMPONENTS
    _notes = ("criteria_", "history_", "converged_")
    statistics_: ComponentStats

    def __init__(
        self,
        n_components: Any = 2,
        covariance: str = "full",
        families: Any = "auto",
        prior: Prior = None,
        *,
        criterion: str = "bic",
        alpha: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 3,
        init: str = "k-means++",
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
        self.prior = prior
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the components of each class, in one pass over the rows for each step.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            An array, a data frame, a path or glob, a Dask or Spark frame, a table of a database.
        y : array-like of shape (n,) or str
            The labels, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n,), str or None
            Weights that are not negative, or the name of a column of X; a weight of k counts as k copies of the row.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import MixtureClassifier
        >>> X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2], [4.0], [4.2], [5.0], [5.1], [4.4], [4.7]])
        >>> clf = MixtureClassifier(2, random_state=0).fit(X, list("aaaaaabbbbbb"))
        >>> clf.predict([[0.3], [4.5], [8.8]]).tolist()
        ['a', 'b', 'a']
        """
        source = self._new_source(X, given_labels(y, self), sample_weight)
        with self._learning() as learner:
            learner._fit_source(source)
            learner._set_target(y)
        self._warn_unless_converged()
        return self

    def _fit_source(self, source: Source) -> Self:
        return self._fit_inferred(source, self._infer(source))

    def _fit_inferred(self, source: Source, inferred: Schema) -> Self:
        """Learn from a source of which `_infer` has told what the parameters leave to its rows."""
        check_em(self)
        one_of("init", self.init, INITS)
        of, estimate = self._collector(inferred), component_estimate(self._validate(), source.names)
        alone = collect(source, of, resumes=False)  # one component for each class
        loop = em.Loop(source.reduce, of, estimate, self.tol, self.max_iter)
        labels = em.Known(alone.classes, np.arange(len(alone.classes)))
        numbers = self._numbers(alone.classes)
        self.criteria_ = {}
        if all(tried == [1] for tried in numbers.values()):
            mixture = replace(loop, max_iter=0).maximise(relabelled(alone, labels.owner), labels)
            mixture = replace(mixture, converged=True)
        else:
            starts = _Starts(self, source, loop, alone, numbers)
            mixture = em.run(source, replace(loop, prior=starts.prior), starts, labels, em_job(self))
            self.criteria_ = starts.criteria
            warn_of_lost(len(mixture.weight), starts.n_asked)
        assert mixture.known is not None
        statistics = ComponentStats.of_parts(alone.classes, mixture.statistics, mixture.known.owner, alone.weight)
        self._learn(statistics, source, inferred)._estimated()
        self.history_, self.converged_ = np.array(mixture.history), mixture.converged
        return self

    def _numbers(self, classes: Array) -> dict[Any, list[int]]:
        """The numbers of components to try for each class."""
        labels: list[Any] = classes.tolist()
        asked: Any = self.n_components
        if isinstance(asked, Mapping):
            if differing := set(asked) ^ set(labels):
                raise DataError(
                    f"n_components must have a number for each class and no other; it differs in "
                    f"{listed(sorted(differing, key=str))}"
                )
            return {label: numbers_to_try(asked[label]) for label in labels}
        return dict.fromkeys(labels, numbers_to_try(asked))

    def _components(self) -> tuple[Statistics, Array]:
        self._check_fitted()
        return self.statistics_.parts, self.statistics_.owner

    def _em_parts(self, source: Source) -> tuple[Collector, em.Estimate]:
        return self._collector(self._inferred()), component_estimate(self._validate(), source.names)

    def _learn_components(self, found: ComponentStats) -> Self:
        return self._learn(found, inferred=self._inferred())._estimated()

    # What was learnt.

    @property
    def n_components_(self) -> dict[Any, int]:
        """The number of components of each class."""
        self._check_fitted()
        statistics = self.statistics_
        counts = np.bincount(statistics.owner, minlength=len(statistics.classes))
        return dict(zip(statistics.classes.tolist(), counts.tolist(), strict=True))

    def __add__(self, other: Self) -> Self:
        """A model with the components of both. The density of a class is the average of its densities in the two, by
        the weight of their rows; a fit of all rows together would find other components."""
        return self._merged(other) if type(other) is type(self) else NotImplemented

    def __radd__(self, other: object) -> Self:
        """So that ``sum(models)`` works."""
        return self if other == 0 else NotImplemented

    def _saved_params(self) -> dict[str, Any]:
        asked: Any = self.n_components
        asked = {k: as_listed(v) for k, v in asked.items()} if isinstance(asked, Mapping) else as_listed(asked)
        seed = self.random_state if isinstance(self.random_state, Integral) else None
        return super()._saved_params() | {"n_components": asked, "random_state": seed}


class _Starts:
    """The components that each class starts with, found on a sample of its rows."""

    def __init__(
        self,
        model: MixtureClassifier,
        source: Source,
        loop: em.Loop,
        alone: Statistics,
        numbers: dict[Any, list[int]],
    ) -> None:
        self.model, self.source, self.loop, self.numbers = model, source, loop, numbers
        self.classes, self.weight = alone.classes, alone.weight
        self.random = check_random_state(model.random_state)
        self.samples = self._samples(int(self.random.randint(1 << 20)))
        several = any(len(tried) > 1 for tried in numbers.values())
        self.pseudo_rows = weight_of_pseudo_rows(model.pseudo_rows, several)
        self.prior = self._pseudo_rows if self.pseudo_rows else None
        self.criteria: dict[Any, dict[str, Array]] = {}
        self.n_asked = 0
        self._known_rows: dict[tuple[int, ...], Statistics] = {}

    def __call__(self) -> tuple[Statistics, Array]:
        """The statistic of the components of all classes, and their owners."""
        rng, parts, owner = np.random.default_rng(self.random.randint(1 << 31)), [], list[int]()
        for c, (label, tried) in enumerate(self.numbers.items()):
            model, sample = self.model, self.samples[c]
            if not len(sample):  # all its rows have weight 0
                continue
            search = Search(sample, rng, model.init, model.n_init, model.tol, model.max_iter, self.pseudo_rows)
            if len(tried) > 1:
                best, rows = search.chosen(tried, model.criterion)
                self.criteria[label] = table_of(rows)
                self.n_asked += len(best.weight)
            else:
                best = search.best(min(tried[0], len(sample)))
                self.n_asked += min(tried[0], len(sample))
            parts.append(relabelled(best.statistics, len(owner) + np.arange(len(best.weight))))
            owner += [c] * len(best.weight)
        return parts[0].plus(*parts[1:]), np.array(owner)

    def _pseudo_rows(self, mixture: em.Mixture) -> Statistics:
        """The pseudo-rows of components, spread as the rows of their classes are."""
        assert mixture.known is not None
        owner = tuple(mixture.known.owner.tolist())
        if owner not in self._known_rows:
            parts = [
                sample.statistic(np.outer(np.ones(len(sample)), np.equal(owner, c) * sample.share(self.pseudo_rows)))
                for c, sample in enumerate(self.samples)
                if len(sample)
            ]
            self._known_rows[owner] = parts[0].plus(*parts[1:])
        return self._known_rows[owner]

    def _samples(self, seed: int) -> list[Sample]:
        """Rows of each class, more of those that have more components."""
        most = np.array([max(tried) for tried in self.numbers.values()], np.float64)
        rate = np.divide(most, self.weight, out=np.zeros_like(most), where=self.weight > 0)
        rows = self._by_class(sample_rows(self.source, SAMPLE, seed, lambda batch: rate[self._code(batch)]))
        return [Sample(own, self.loop.collect, self.loop.estimate) for own in rows]

    def _code(self, batch: Batch) -> Array:
        return code_known(np.asarray(batch.y), self.classes, is_missing)

    def _by_class(self, batches: list[Batch]) -> list[list[Batch]]:
        found: list[list[Batch]] = [[] for _ in self.classes]
        for batch in batches:
            codes = self._code(batch)
            for c in np.unique(codes):
                found[c].append(replace(batch.rows(np.flatnonzero(codes == c)), y=None))
        return found
