"""Learning from rows of which only some have a label."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from .. import em
from ..errors import DataError, listed
from ..scoring.model import Model
from ..sources import Source
from ..sources.filtered import FilteredSource
from ..sources.sampling import sample_rows
from ..starts import Sample, k_means
from ..stats import ComponentStats
from ..tables.batch import Batch
from ..tables.labels import family, known_labels, union
from .classifier import LLRClassifier, of_model
from .generative import DensityClassifier
from .iterated import Iterated
from .table_estimator import given_labels

Array = NDArray[Any]

_SAMPLE = 10_000  # rows with and without labels on which new classes are found
_STARTS = 5  # of new classes


class SemiSupervisedClassifier(Iterated, LLRClassifier):
    """A generative classifier that also learns from rows without a label, by expectation-maximisation.

    Use it where labels are dear and rows are cheap. The model starts from the labelled rows. Then the other rows count
    for each class by its posterior probability, again and again, until the likelihood grows no more. This helps if the
    model describes the rows well; if it does not, give them less weight by `unlabeled_weight`, and compare on held-out
    labelled rows.

    Parameters
    ----------
    estimator : generative classifier
        Such as `MultinomialClassifier`, `GaussianClassifier`, `MixedClassifier` or `MixtureClassifier`.
    unlabeled_weight : float
        What a row without a label counts, from 0 to 1.
    n_new_classes : int
        The number of classes to find of which no row is labelled; see `new_classes_`.
    unlabeled : object
        The label of rows without one, beside None and NaN.
    tol : float
        Stop when the mean log-likelihood of a row grows by less.
    max_iter : int
        Stop after this many steps, with a warning.
    random_state : int, RandomState or None
        Of the start of new classes.

    Attributes
    ----------
    estimator_ : generative classifier
        What was learnt, as an ordinary model: it saves, loads and goes on learning.
    new_classes_ : array
        The labels of new classes: the next whole numbers, or "new_1" and so on.
    history_ : array
        The mean log-likelihood of a row, with its label if it has one, before each step and after the last one.
    converged_ : bool
        Whether the log-likelihood stopped growing.
    n_iter_ : int
        The number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import GaussianClassifier, SemiSupervisedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(4, 1, (100, 2))])
    >>> y = np.full(200, -1)
    >>> y[[0, 1, 2]], y[[100, 101, 102]] = 0, 1
    >>> clf = SemiSupervisedClassifier(GaussianClassifier("tied")).fit(X, y)
    >>> clf.score(X, np.repeat([0, 1], 100)) > 0.99
    True
    """

    def __init__(
        self,
        estimator: Any,
        unlabeled_weight: float = 1.0,
        n_new_classes: int = 0,
        *,
        unlabeled: Any = -1,
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.unlabeled_weight = unlabeled_weight
        self.n_new_classes = n_new_classes
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def n_jobs(self) -> int | None:  # type: ignore[override]
        """The number of threads of the estimator."""
        jobs: int | None = self.estimator.n_jobs
        return jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows with and without labels, in one pass over all of them for each step.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            An array, a data frame, a path or glob, a Dask or Spark frame, a table of a database.
        y : array-like of shape (n,) or str
            The labels, or the name of the column of X that holds them. None, NaN or `unlabeled` where there is none.
        sample_weight : array-like of shape (n,), str or None
            Weights that are not negative, or the name of a column of X.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import GaussianClassifier, SemiSupervisedClassifier
        >>> X, y = [[0.0], [0.5], [0.2], [9.0], [9.5], [9.2]], ["a", "a", None, "b", "b", None]
        >>> SemiSupervisedClassifier(GaussianClassifier("tied")).fit(X, y).predict([[1.0], [8.0]]).tolist()
        ['a', 'b']
        """
        self._check_params()
        source = self._new_source(X, given_labels(y, self), sample_weight)
        with self._learning() as learner:
            learner._fit_source(source)
            learner._set_target(y)
            learner.estimator_._set_target(y)
        self._warn_unless_converged()
        return self

    def _check_params(self) -> None:
        if not isinstance(self.estimator, DensityClassifier):
            raise DataError(
                f"estimator must be a generative classifier, such as GaussianClassifier(), not {self.estimator!r}"
            )
        if not (isinstance(self.unlabeled_weight, Real) and 0 <= float(self.unlabeled_weight) <= 1):
            raise DataError(f"unlabeled_weight={self.unlabeled_weight!r} must be a number from 0 to 1")
        if not isinstance(self.n_new_classes, Integral) or int(self.n_new_classes) < 0:
            raise DataError(f"n_new_classes={self.n_new_classes!r} must be a whole number that is not negative")

    def _fit_source(self, source: Source) -> None:
        labels = em.Known(np.zeros(0), np.zeros(0, np.int64), self.unlabeled, float(self.unlabeled_weight))
        classes = source.reduce(lambda batch: known_labels(np.asarray(batch.y), labels.is_unlabeled), union)
        if not len(classes):
            raise DataError("no row has a label; use MixtureModel to find clusters without labels")
        labels = replace(labels, classes=classes)
        model: Any = clone(self.estimator)
        model._fit_source(FilteredSource(source, lambda batch: labels.code(batch) >= 0))
        if model.classes_.tolist() != classes.tolist():
            raise DataError(f"class {listed(sorted(set(classes.tolist()) - set(model.classes_.tolist())))} has no rows")
        known = ComponentStats.of_parts(classes, *model._components())
        of, estimate = model._em_parts(source)
        loop = em.Loop(source.reduce, of, estimate, self.tol, self.max_iter)
        self.new_classes_ = _new_labels(classes, int(self.n_new_classes))
        if len(self.new_classes_):
            known = self._with_new_classes(source, loop, labels, known)
        job = {"estimator": repr(self.estimator), "new": len(self.new_classes_), "weight": labels.unlabeled_weight}
        labels = replace(labels, classes=known.classes)
        mixture = em.run(source, loop, lambda: (known.parts, known.owner), labels, job)
        assert mixture.known is not None
        found = ComponentStats.of_parts(known.classes, mixture.statistics, mixture.known.owner)
        self.estimator_ = model._learn_components(found)
        self.history_, self.converged_ = np.array(mixture.history), mixture.converged
        self._set_columns(source.names, source.n_features)

    def _with_new_classes(
        self, source: Source, loop: em.Loop, labels: em.Known, known: ComponentStats
    ) -> ComponentStats:
        """The statistic of the known classes, and of classes that rows without a label start with."""
        random = check_random_state(self.random_state)
        rng, seed = np.random.default_rng(random.randint(1 << 31)), int(random.randint(1 << 20))

        def is_labelled(batch: Batch) -> Array:
            return labels.code(batch) >= 0

        rate = 1 / np.maximum(known.weight, np.finfo(np.float64).tiny)  # so that rare classes have rows, too
        have = sample_rows(source, _SAMPLE, seed, lambda batch: np.append(rate, 0.0)[labels.code(batch)])
        lack = sample_rows(source, _SAMPLE, seed, lambda batch: ~is_labelled(batch))
        if sum(map(len, lack)) < len(self.new_classes_):
            raise DataError(f"there are too few rows without a label for {len(self.new_classes_)} new classes")
        both = Sample([*have, *lack], loop.collect, loop.estimate)
        n = sum(map(len, have))
        code = np.concatenate([labels.code(batch) for batch in have])
        member = np.eye(len(labels.classes))[code] * both.weight[:n, None]
        centres = member.T @ both.numbers[:n] / member.sum(axis=0)[:, None]
        rest, k = replace(both, batches=lack), len(labels.classes)
        classes = union(known.classes, self.new_classes_)
        owner = np.searchsorted(classes, self.new_classes_)
        best: tuple[float, ComponentStats] | None = None
        for _ in range(_STARTS):
            label = k_means(both.numbers[n:], both.weight[n:], k + len(owner), rng, centres=centres)
            parts = rest.statistic(np.eye(k + len(owner))[label][:, k:])
            start = known.aligned(classes) + ComponentStats.of_parts(classes, parts, owner)
            found = replace(loop, reduce=both.reduce).maximise(
                start.parts, replace(labels, classes=classes, owner=start.owner)
            )
            if best is None or found.history[-1] > best[0]:
                best = found.history[-1], start
        assert best is not None
        return best[1]

    # What was learnt.

    @property
    def coef_(self) -> Array:
        """The slopes of `estimator_`, if it is a linear model."""
        return np.asarray(self.estimator_.coef_)

    @property
    def intercept_(self) -> Array:
        """The intercepts of `estimator_`, if it is a linear model."""
        return np.asarray(self.estimator_.intercept_)

    def to_model(self) -> Model:
        """Give the model that was learnt: immutable, and without scikit-learn.

        Returns
        -------
        Model
            It scores and decides as this estimator does now.

        Examples
        --------
        >>> from suffice import GaussianClassifier, SemiSupervisedClassifier
        >>> X, y = [[0.0], [0.5], [0.2], [9.0], [9.5], [9.2]], ["a", "a", None, "b", "b", None]
        >>> SemiSupervisedClassifier(GaussianClassifier("tied")).fit(X, y).to_model()
        Model(GaussianDensity of 1 columns, classes 'a', 'b')
        """
        self._check_fitted()
        model: Model = self.estimator_.to_model()
        return model

    log_likelihood = of_model(Model.log_likelihood)
    explain = of_model(Model.explain)
    typicality = of_model(Model.typicality)
    predict_open_set = of_model(Model.predict_open_set)
    score_samples = of_model(Model.score_samples)
    estimate_prior = of_model(Model.estimate_prior)
    sample = of_model(Model.sample)
    impute = of_model(Model.impute)

    def save(self, path: Any) -> None:
        """Write the model that was learnt to a file that `suffice.load` and `suffice.load_model` read.

        Parameters
        ----------
        path : path
            The file to write. It holds `estimator_`.

        Examples
        --------
        >>> from suffice import GaussianClassifier, SemiSupervisedClassifier, load
        >>> X, y = [[0.0], [0.5], [0.2], [9.0], [9.5], [9.2]], ["a", "a", None, "b", "b", None]
        >>> SemiSupervisedClassifier(GaussianClassifier("tied")).fit(X, y).save("some.safetensors")
        >>> load("some.safetensors").predict([[1.0], [8.0]]).tolist()
        ['a', 'b']
        """
        self._check_fitted()
        self.estimator_.save(path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, DensityClassifier):
            tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        return tags


def _new_labels(classes: Array, n: int) -> Array:
    """Labels for n new classes beside those that there are."""
    if not n:
        return classes[:0]
    if family(classes) == "number":
        if classes.dtype.kind == "b":
            raise DataError("labels are Booleans, so that there can be no new classes; use numbers or text")
        return np.arange(1, n + 1) + max(int(classes[-1]), -1)  # which is the mark of rows without a label
    new = [f"new_{i}" for i in range(1, n + 1)]
    if taken := set(new) & set(classes.tolist()):
        raise DataError(f"class {listed(sorted(taken))} has the name of a new class; rename it")
    return np.array(new, classes.dtype if classes.dtype == object else str)
