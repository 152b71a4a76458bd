"""The seam: arrays that scikit-learn has validated, our statistics of them, and our scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import decisions
from ..collect import collect
from ..densities.scorer import Scorer
from ..errors import DataError, StatisticsError
from ..estimators._sklearn import checked_weights
from ..scoring.loop import score_rows
from ..scoring.model import Model, Prior
from ..sources import RowResults
from ..sources.frames.arrays import ArraySource
from ..stats import Statistics
from ..stats.collectors import NO_LABELS
from ..tables.batch import Batch
from ..tables.table import Matrix, Sparse

Array = NDArray[Any]
S = TypeVar("S", bound=Statistics)

OURS, THEIRS = "suffice", "scikit-learn"

_SMALL = 1 << 16  # numbers of a model that are compared faster than its density is made
FEW = 1 << 14  # cells that are scored at once
_NO_Y = "no_validation"  # what scikit-learn has in the place of a y that nobody needs


def takes_arrays(*arrays: Any) -> bool:
    """Whether these are arrays of this process: not those of another library that scikit-learn dispatches to."""
    return not get_config()["array_api_dispatch"] or all(isinstance(a, np.ndarray) or issparse(a) for a in arrays)


def is_plain(estimator: Any, X: Any, kinds: str = "fiu", is_finite: bool = False) -> bool:
    """Whether X is an array of finite numbers that fits what was learnt: scikit-learn would find nothing to change.

    It need not be looked through where it is known to be finite, or where the scores will tell.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind not in kinds or X.dtype == np.float16 or not len(X):
        return False
    known = vars(estimator)
    if known.get("n_features_in_") != X.shape[1] or "feature_names_in_" in known:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(is_finite or X.dtype.kind != "f" or np.isfinite(X.sum()))


def validated(estimator: Any, X: Any, y: Any = _NO_Y, *, reset: bool, **options: Any) -> Any:
    """X, and y unless there are no labels, as scikit-learn validates them before `fit`; not whether X is finite, which
    the statistic tells."""
    has_labels = not (isinstance(y, str) and y == _NO_Y)
    plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float32, np.float64) and X.size and len(X) > 1
    if plain and has_labels:
        plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iubU" and len(y) == len(X)
    if not plain or not (reset or vars(estimator).get("n_features_in_") == X.shape[1]):
        return validate_data(estimator, X, y, reset=reset, ensure_all_finite=False, **options)
    if reset:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
    return (X, y) if has_labels else X


def labels_of(classes: Array) -> Array:
    """Classes as scikit-learn's `unique_labels` gives them, or its error: text in objects gets the dtype of text."""
    return classes.copy() if classes.dtype.kind in "iubU" else np.asarray(unique_labels(classes))


def rows(X: Any, y: Any = None, weight: Any = None) -> ArraySource:
    """Rows that scikit-learn has validated, as a source."""
    table = Matrix(X) if isinstance(X, np.ndarray) else Sparse(X.indptr, X.indices, X.data, X.shape[1])
    return ArraySource(table, y, weight)


def statistics_of(of: Callable[[Batch], S], X: Any, y: Any, weight: Any = None) -> S | None:
    """The statistic of all rows; None where it has no finite one, or the weights are not of rows."""
    try:
        return collect(rows(X, y, weight), of)
    except DataError:
        return None


def statistics_together(of: Callable[[Batch], S], X: Any, weight: Any = None) -> S | None:
    """The same of all rows as one class."""
    return statistics_of(of, X, np.broadcast_to(NO_LABELS, len(X)), weight)


def weights(sample_weight: Any, X: Any) -> Array | None:
    """Weights as scikit-learn checks them."""
    return None if sample_weight is None else checked_weights(sample_weight, X, dtype=np.float64)


class Additive(ABC):
    """What an estimator of statistics has beyond that of scikit-learn: sums, and rows taken out again.

    A class that mixes it in gives `_collected` and `_set`.
    """

    statistics_: Any
    backend_: str
    _collects_by: tuple[str, ...] = ()  # the parameters that the statistic depends on

    def _is_ours(self) -> bool:
        """Whether all parameters have a meaning for statistics."""
        return True

    @abstractmethod
    def _set(self, statistics: Any) -> None:
        """Set the fitted attributes from a statistic."""

    @abstractmethod
    def _collected(self, X: Any, y: Any, sample_weight: Any, reset: bool = False) -> Any:
        """The statistic of rows that were not validated yet; None where scikit-learn has to do the work."""

    def _learn(self, statistics: Any) -> Self:
        self._set(statistics)
        self.statistics_, self.backend_ = statistics, OURS
        return self

    def _own_statistics(self, what: str) -> Any:
        check_is_fitted(self)
        if getattr(self, "backend_", THEIRS) != OURS:
            raise StatisticsError(
                f"{what} needs a model that suffice has fitted, but scikit-learn's {type(self).__name__} did the work"
            )
        return self.statistics_

    def __add__(self, other: Self) -> Self:
        """The model of the rows of both: equal to a fit of all of them."""
        if type(other) is not type(self):
            return NotImplemented
        return self._of(self._own_statistics("+") + other._own_statistics("+"))

    def _of(self, statistics: Any) -> Self:
        """The same model of another statistic."""
        copy = object.__new__(type(self))
        vars(copy).update(vars(self))
        return copy._learn(statistics)

    def __radd__(self, other: object) -> Self:
        """So that ``sum(models)`` works."""
        return self if other == 0 else NotImplemented

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out of the model again: what is left equals a fit of the other rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that the model has learnt.
        y : array-like of shape (n_samples,)
            Their labels, where the model has any.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        self
            The same model without these rows.

        Examples
        --------
        >>> from suffice.sklearn import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [2.0], [4.0], [5.0], [9.0]], [0, 0, 1, 1, 1])
        >>> model.forget([[9.0]], [1]).theta_
        array([[1.5],
               [4.5]])
        """
        before = self._own_statistics("forget")
        gone = self._collected(X, y, sample_weight)
        if gone is None:
            raise DataError("rows with weights that are negative, or values that are not finite, were never learnt")
        rest = before - gone
        if not rest.weight.any():
            raise DataError("forget was given all rows of the model: nothing is left to learn from; fit another model")
        vars(self).update(vars(self._of(rest)))  # all of it, or nothing where an error ends it
        return self


class Scored(ABC):
    """A classifier whose scores are those of a `Model`: ratios without a prior, and decisions with any prior and cost.

    A class that mixes it in gives `_log_prior`, `_parameters` and `_made`.
    """

    classes_: Array

    @abstractmethod
    def _parameters(self) -> list[Array]:
        """The fitted attributes that the density is made of."""

    @abstractmethod
    def _made(self) -> Scorer:
        """The density of the fitted attributes as they are now."""

    @abstractmethod
    def _log_prior(self) -> Array:
        """What is added to log-likelihoods unless a call gives a prior, (k,); need not sum to one."""

    def _density(self) -> Scorer:
        """The density of the fitted attributes, which anybody may have changed since they were learnt."""
        known, density = vars(self).get("_kept", ([], None))
        if density is not None and all(map(np.array_equal, known, self._parameters())):
            return density  # type: ignore[no-any-return]
        return self._made()

    # Scores.

    def to_model(self) -> Model:
        """Give the model that was learnt: immutable, and without scikit-learn.

        Returns
        -------
        Model
            It scores any table or file, decides with a prior and a cost, and can be saved.

        Examples
        --------
        >>> from suffice.sklearn import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"]).to_model()
        >>> model.llr([[3.5]]).round(6)
        array([6.])
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return self._model(None if names is None else tuple(names))

    def _model(self, names: tuple[str, ...] | None = None) -> Model:
        log_prior = self._log_prior().astype(np.float64)
        prior = np.exp(log_prior - log_prior.max())
        settings = {"n_jobs": None, "owner": type(self).__name__, "choice": None, "calibration": None, "target": None}
        return Model._known(self._density(), self.classes_, prior / prior.sum(), names=names, **settings)

    def _checked(self, X: Any) -> Any:
        """X as scikit-learn validates it before a prediction."""
        if self._takes(X):
            return X
        check_is_fitted(self)
        return self._check_X(X)  # type: ignore[attr-defined]

    def _leaves(self, X: Any) -> bool:
        """Whether the scores of these rows are left to scikit-learn."""
        return not takes_arrays(X)

    def _takes(self, X: Any) -> bool:
        """Whether rows can be scored as they are."""
        return is_plain(self, X)

    def llr(self, X: Any, a: Any = None, b: Any = None) -> Array:
        """Compute the log-likelihood ratio log p(x | b) - log p(x | a).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        a, b : label or None
            The two classes. With two classes in all, the default is the second over the first.

        Returns
        -------
        array of shape (n_samples,)
            Positive values speak for b; there is no prior in them.

        Examples
        --------
        >>> from suffice.sklearn import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> model.llr([[2.0], [3.5]]).round(6)
        array([-12.,   6.])
        """
        X = self._checked(X)
        return np.asarray(self._model().llr(X, a, b))

    def predict(self, X: Any, prior: Prior = None, cost: Any = None) -> Array:
        """Decide for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        prior : array-like, dict, "uniform" or None
            Class probabilities where the model is used; None takes those of the model.
        cost : array-like of shape (k, k), dict or None
            ``cost[i, j]`` is the cost of deciding i when the true class is j; None counts errors.

        Returns
        -------
        array of shape (n_samples,)
            The decisions.

        Examples
        --------
        >>> from suffice.sklearn import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [2.0], [4.0], [5.0]], ["healthy", "healthy", "ill", "ill"])
        >>> model.predict([[2.8]]).item(), model.predict([[2.8]], cost=[[0, 100], [1, 0]]).item()  # or treat in doubt
        ('healthy', 'ill')
        """
        if self._leaves(X) and prior is None and cost is None:
            return super().predict(X)  # type: ignore[misc, no-any-return]
        X = self._checked(X)
        if prior is not None or cost is not None:
            return np.asarray(self._model().predict(X, prior, cost))
        return decided(X, self._density(), self._log_prior(), self.classes_)

    def predict_log_proba(self, X: Any, prior: Prior = None) -> Array:
        """Compute the logarithms of the posterior probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        prior : array-like, dict, "uniform" or None
            Class probabilities; None takes those of the model.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Natural logarithms.

        Examples
        --------
        >>> from suffice.sklearn import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
        >>> model.predict_log_proba([[-100.0]]).round(3)  # where the probability itself is 0
        array([[    0., -1236.]])
        """
        if self._leaves(X) and prior is None:
            return super().predict_log_proba(X)  # type: ignore[misc, no-any-return]
        return self._posterior(X, prior, exponentiate=False)

    def predict_proba(self, X: Any, prior: Prior = None) -> Array:
        """Compute the posterior probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        prior : array-like, dict, "uniform" or None
            Class probabilities; None takes those of the model.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities of a row sum to 1.

        Examples
        --------
        >>> from suffice.sklearn import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
        >>> model.predict_proba([[3.0]], prior=[0.1, 0.9]).round(6)
        array([[0.1, 0.9]])
        """
        if self._leaves(X) and prior is None:
            return super().predict_proba(X)  # type: ignore[misc, no-any-return]
        return self._posterior(X, prior, exponentiate=True)

    def _posterior(self, X: Any, prior: Prior, exponentiate: bool) -> Array:
        X = self._checked(X)
        if prior is None:
            log_prior = self._log_prior()
        else:
            log_prior = decisions.log(decisions.as_prior(prior, self.classes_, np.ones(len(self.classes_))))
        return posterior_of(X, self._density(), log_prior, exponentiate)


class Generative(Scored, Additive):
    """A classifier that is learnt from a statistic."""

    def _learn(self, statistics: Any) -> Self:
        super()._learn(statistics)
        parameters = self._parameters()
        small = sum(map(np.size, parameters)) <= _SMALL
        self._kept = ([array.copy() for array in parameters], self._made()) if small else ([], None)
        return self


def joint_of(X: Any, density: Scorer, log_prior: Array, relative: bool = True) -> Array:
    """log p(x | class) + log prior (n, k); relative ones leave out terms that all classes share."""
    return _scored(
        X, density, lambda x, out: density.score(x, log_prior, all=out, relative=relative), range(density.n_classes)
    )


def evidence_of(X: Any, density: Scorer, log_prior: Array) -> Array:
    """log p(x) of each row, (n,)."""
    return _scored(X, density, lambda x, out: density.score(x, log_prior, evidence=out), dtype=np.float64)


def best_of(X: Any, density: Scorer, log_prior: Array) -> Array:
    """The class of the greatest joint score of each row, (n,)."""
    return _scored(X, density, lambda x, out: density.score(x, log_prior, best=out, relative=True), dtype=np.int64)


def decided(X: Any, density: Scorer, log_prior: Array, classes: Array) -> Array:
    """The label of the class of the greatest joint score of each row, (n,)."""

    def label(x: Any, out: Array) -> bool:
        best = np.empty(len(out), np.int64)  # of a few rows, in the cache: memory for all takes longer than the rest
        finite = density.score(x, log_prior, best=best, relative=True)
        classes.take(best, out=out, mode="clip")
        return finite

    return _scored(X, density, label, dtype=classes.dtype)


def posterior_of(X: Any, density: Scorer, log_prior: Array, exponentiate: bool) -> Array:
    """P(class | x) or its logarithm, (n, k). A row that is impossible in every class has the prior."""
    own = log_prior - np.logaddexp.reduce(log_prior)

    def posterior(x: Any, out: Array) -> bool:
        finite = density.score(x, own, all=out, relative=True)
        decisions.log_posterior(out, own)
        if exponentiate:
            np.exp(out, out=out)
        return finite

    return _scored(X, density, posterior, range(density.n_classes))


def _scored(
    X: Any, density: Scorer, work: Callable[[Any, Array], bool], labels: range | None = None, dtype: Any = np.float64
) -> Array:
    """What `work` writes for every row: at once where there are few, else piece by piece on several threads."""
    results = RowResults("score", labels, dtype)
    source = rows(X)

    def complete(x: Any, out: Array) -> bool:
        return work(x, out) and getattr(x, "missing", None) is None

    try:
        if X.shape[0] * X.shape[1] > FEW:
            return np.asarray(score_rows(source, density, complete, results))
        out = results.empty(source.n_rows)
        if not complete(density.read(source.table), out):
            assert_all_finite(X, input_name="X")
        return out
    except DataError:
        assert_all_finite(X, input_name="X")
        raise
