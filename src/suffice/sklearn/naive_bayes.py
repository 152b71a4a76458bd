"""Naive Bayes by scikit-learn's names: its validation and attributes, our counts, moments and scores."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import naive_bayes as theirs
from sklearn.preprocessing import binarize
from sklearn.utils.validation import validate_data

from ..densities import BernoulliDensity, CategoricalDensity, GaussianDensity, MultinomialDensity
from ..densities.covariance import STRUCTURES
from ..densities.multinomial import ComplementDensity
from ..errors import DataError
from ..estimators._sklearn import checks_parameters, is_first_partial_fit
from ..stats import CategoryStats, CountStats, MomentStats
from ..stats.collectors import CollectMoments
from .work import (
    OURS,
    THEIRS,
    Generative,
    is_plain,
    joint_of,
    labels_of,
    statistics_of,
    takes_arrays,
    validated,
    weights,
)

Array = NDArray[Any]


class NaiveBayes(Generative):
    """`fit` and `partial_fit` of all naive Bayes classifiers: collect a statistic, add it, set the attributes."""

    @abstractmethod
    def _collect(self, X: Any, y: Any, weight: Array | None) -> Any:
        """The statistic of validated rows."""

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        """Rows and labels as scikit-learn validates them; whether X is finite is left to the statistic."""
        return validated(self, X, y, reset=reset)  # type: ignore[no-any-return]

    def _collected(self, X: Any, y: Any, sample_weight: Any, reset: bool = False) -> Any:
        X, y = self._validated(X, y, reset)
        return self._collect(X, y, weights(sample_weight, X))

    @checks_parameters(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier, in one pass over the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows.

        Returns
        -------
        self
            The fitted classifier.

        Examples
        --------
        >>> from suffice.sklearn import GaussianNB
        >>> GaussianNB().fit([[1.0], [3.0], [5.0]], [0, 0, 1], sample_weight=[1.0, 3.0, 1.0]).theta_
        array([[2.5],
               [5. ]])
        """
        found = self._collected(X, y, sample_weight, reset=True) if takes_arrays(X, y) else None
        if found is None:
            self.backend_ = THEIRS
            return super().fit(X, y, sample_weight)  # type: ignore[misc, no-any-return]
        return self._learn(found)

    @checks_parameters(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows: the result equals a fit of all rows so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            More rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that can appear; needed at the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows.

        Returns
        -------
        self
            The classifier with these rows.

        Examples
        --------
        >>> from suffice.sklearn import GaussianNB
        >>> model = GaussianNB().partial_fit([[1.0], [4.0]], [0, 1], classes=[0, 1])
        >>> model.partial_fit([[3.0], [6.0]], [0, 1]).theta_
        array([[2.],
               [5.]])
        """
        if self._is_theirs() or not takes_arrays(X, y):
            super().partial_fit(X, y, classes, sample_weight)  # type: ignore[misc]
            self.backend_ = THEIRS
            return self
        first = is_first_partial_fit(self, classes) or "statistics_" not in vars(self)  # the first rows were refused
        found = self._collected(X, y, sample_weight, reset=first)
        if found is None:
            raise DataError("these rows have values that are not finite, or weights that are negative")
        new = found.classes[~np.isin(found.classes, self.classes_)]
        if len(new):
            raise ValueError(f"The target label(s) {new} in y do not exist in the initial classes {self.classes_}")
        found = found.aligned(self.classes_)
        return self._learn(found if first else self.statistics_ + found)

    def _is_theirs(self) -> bool:
        """Whether scikit-learn has learnt the rows so far. A pickle of its own classes does not say so."""
        known = vars(self)
        return known.get("backend_", THEIRS if "class_count_" in known else OURS) == THEIRS  # type: ignore[no-any-return]

    def _joint_log_likelihood(self, X: Any) -> Array:
        return joint_of(X, self._density(), self._log_prior())


class GaussianNB(NaiveBayes, theirs.GaussianNB):
    """Gaussian naive Bayes.

    Parameters and attributes are those of `sklearn.naive_bayes.GaussianNB`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    Examples
    --------
    >>> from suffice.sklearn import GaussianNB
    >>> model = GaussianNB().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    >>> model.predict([[1.4]]).item(), model.predict([[2.9]], prior={"a": 0.99, "b": 0.01}).item()
    ('a', 'a')
    """

    def _collect(self, X: Any, y: Any, weight: Array | None) -> MomentStats | None:
        self._dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        return statistics_of(CollectMoments("diag"), X, y, weight)

    def _set(self, statistics: MomentStats) -> None:
        n, dtype = statistics.weight, self._dtype
        priors = self._checked_priors(len(n))
        share = n / n.sum()
        apart = statistics.mean - share @ statistics.mean
        total = share @ apart**2 + statistics.scatter.sum(axis=0) / n.sum()
        variance = statistics.scatter / np.where(n > 0, n, 1.0)[:, None]
        self.classes_ = labels_of(statistics.classes)
        self.epsilon_ = self.var_smoothing * dtype.type(total.max())
        self.class_count_ = n.astype(dtype)
        self.theta_, self.var_ = statistics.mean.astype(dtype), (variance + self.epsilon_).astype(dtype)
        self.class_prior_ = share.astype(dtype) if priors is None else priors.astype(dtype)

    def _checked_priors(self, k: int) -> Array | None:
        if self.priors is None:
            return None
        priors = np.asarray(self.priors, np.float64)
        if len(priors) != k:
            raise ValueError("Number of priors must match number of classes.")
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        if (priors < 0).any():
            raise ValueError("Priors must be non-negative.")
        return priors

    def _log_prior(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.class_prior_)  # type: ignore[no-any-return]

    def _parameters(self) -> list[Array]:
        return [self.theta_, self.var_, self.class_count_]

    def _made(self) -> GaussianDensity:
        mean, variance = (np.asarray(a, np.float64) for a in (self.theta_, self.var_))
        with np.errstate(divide="ignore"):  # var_smoothing=0
            scale, log_det = 1 / np.sqrt(variance), np.log(variance).sum(axis=1)
        return GaussianDensity(STRUCTURES["diag"], mean, variance, scale, log_det, self.class_count_ > 0)


class DiscreteNB(NaiveBayes):
    """The naive Bayes classifiers of counts."""

    class_log_prior_: Array
    feature_log_prob_: Any
    presence = False

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        return validated(self, X, y, reset=reset, accept_sparse="csr")  # type: ignore[no-any-return]

    def _collect(self, X: Any, y: Any, weight: Array | None) -> Any:
        found = statistics_of(partial(CountStats.of, presence=self.presence), X, y, weight)
        return None if found is None or found.missing is not None else found

    def _set(self, statistics: Any) -> None:
        self.classes_ = labels_of(statistics.classes)
        self.class_count_ = statistics.weight.copy()
        self._count_from(statistics)
        self._update_feature_log_prob(self._check_alpha())  # type: ignore[attr-defined]
        self._update_class_log_prior(class_prior=self.class_prior)  # type: ignore[attr-defined]

    def _takes(self, X: Any) -> bool:
        return is_plain(self, X, is_finite=True)  # or the scores tell

    def _parameters(self) -> list[Array]:
        return [self.feature_log_prob_, self.class_count_]

    def _count_from(self, statistics: Any) -> None:
        count = statistics.count
        self.feature_count_ = count.toarray() if statistics.is_sparse else count.copy()

    def _log_prior(self) -> Array:
        return self.class_log_prior_

    def _lengths(self) -> Array:
        return np.asarray(self.feature_count_.sum(axis=1) / np.maximum(self.class_count_, 1.0))


class MultinomialNB(DiscreteNB, theirs.MultinomialNB):
    """Naive Bayes of counts, such as words in documents.

    Parameters and attributes are those of `sklearn.naive_bayes.MultinomialNB`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    Examples
    --------
    >>> from suffice.sklearn import MultinomialNB
    >>> model = MultinomialNB().fit([[2, 0], [1, 1], [0, 3]], [0, 0, 1])
    >>> model.predict([[0, 1]])
    array([1])
    """

    def _made(self) -> MultinomialDensity:
        one = self.feature_log_prob_
        return MultinomialDensity(one, np.broadcast_to(0.0, one.shape), self.class_count_ > 0, self._lengths())


class ComplementNB(DiscreteNB, theirs.ComplementNB):
    """Complement naive Bayes of counts.

    Parameters and attributes are those of `sklearn.naive_bayes.ComplementNB`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    Examples
    --------
    >>> from suffice.sklearn import ComplementNB
    >>> model = ComplementNB().fit([[2, 0], [1, 1], [0, 3]], [0, 0, 1])
    >>> model.predict([[0, 1]])
    array([1])
    """

    def _count_from(self, statistics: Any) -> None:
        super()._count_from(statistics)
        self.feature_all_ = self.feature_count_.sum(axis=0)

    def _log_prior(self) -> Array:
        return self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))

    def _made(self) -> ComplementDensity:
        one = self.feature_log_prob_
        return ComplementDensity(one, np.zeros_like(one), np.ones(len(one), bool), self._lengths())


class BernoulliNB(DiscreteNB, theirs.BernoulliNB):
    """Naive Bayes of Booleans: what is above `binarize` is present.

    Parameters and attributes are those of `sklearn.naive_bayes.BernoulliNB`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    Examples
    --------
    >>> from suffice.sklearn import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], [0, 0, 1])
    >>> model.predict([[0, 1]])
    array([1])
    """

    presence = True
    _collects_by = ("binarize",)

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        X, y = super()._validated(X, y, reset)
        return self._above(X), y

    def _takes(self, X: Any) -> bool:
        return not self.binarize and super()._takes(X)

    def _check_X(self, X: Any) -> Any:  # noqa: N802
        return self._above(validate_data(self, X, accept_sparse="csr", reset=False))

    def _above(self, X: Any) -> Any:
        """Rows whose values above zero are those above the threshold."""
        return binarize(X, threshold=self.binarize) if self.binarize else X

    def _made(self) -> BernoulliDensity:
        one = self.feature_log_prob_
        with np.errstate(divide="ignore"):
            zero = np.log(-np.expm1(one))
        return BernoulliDensity(one, zero, self.class_count_ > 0)


class CategoricalNB(DiscreteNB, theirs.CategoricalNB):
    """Naive Bayes of categories, which are the integers from 0.

    Parameters and attributes are those of `sklearn.naive_bayes.CategoricalNB`. `backend_` says who did the
    work: "suffice" or "scikit-learn".

    Examples
    --------
    >>> from suffice.sklearn import CategoricalNB
    >>> model = CategoricalNB().fit([[1, 0], [1, 2], [0, 1]], [0, 0, 1])
    >>> model.predict([[0, 1]])
    array([1])
    """

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        return self._check_X_y(X, y, reset=reset)  # type: ignore[no-any-return]

    def _collect(self, X: Any, y: Any, weight: Array | None) -> CategoryStats | None:
        self._validate_n_categories(X[:1], self.min_categories)
        found = statistics_of(CategoryStats.of, X, y, weight)
        if found is None or weight is None or (weight != 0).all():
            return found
        return found.with_declared([np.unique(values) for values in X[weight == 0].T])  # which no count tells of

    def _takes(self, X: Any) -> bool:
        if not is_plain(self, X, "iu"):
            return False
        values = X.view(X.dtype.str.replace("i", "u"))  # where negative numbers are large
        known = self._sizes()
        return bool(values.max() < known.min() or (values.max(axis=0) < known).all())

    def _checked(self, X: Any) -> Any:
        if self._takes(X):
            return X
        X = super()._checked(X)
        largest, known = X.max(axis=0), self._sizes()
        if (beyond := largest >= known).any():
            j = int(np.argmax(beyond))
            raise IndexError(
                f"column {j} holds {largest[j]}, which is out of bounds: there are {known[j]} categories, from 0; "
                "set min_categories before fit"
            )
        return X

    def _sizes(self) -> Array:
        """The number of categories of each column; scikit-learn's `n_categories_` is that of the last rows alone."""
        return np.array([scores.shape[1] for scores in self.feature_log_prob_])

    def _count_from(self, statistics: Any) -> None:
        k = len(statistics.classes)
        least = np.broadcast_to(0 if self.min_categories is None else self.min_categories, statistics.n_features)
        found = [values.astype(np.int64) for values in statistics.categories]
        self.n_categories_ = np.maximum([values.max(initial=-1) + 1 for values in found], least)
        self.category_count_ = []
        for values, n, (a, b) in zip(found, self.n_categories_, pairwise(statistics.bounds), strict=True):
            count = np.zeros((k, n))
            count[:, values] = statistics.count[:, a:b]
            self.category_count_.append(count)

    def _parameters(self) -> list[Array]:
        return [*self.feature_log_prob_, self.class_count_]

    def _made(self) -> CategoricalDensity:
        categories = tuple(np.arange(n) for n in self._sizes())
        unseen = np.zeros((len(self.classes_), len(categories)))
        scores = np.concatenate(self.feature_log_prob_, axis=1)
        return CategoricalDensity(categories, scores, unseen, self.class_count_ > 0, "ignore")
