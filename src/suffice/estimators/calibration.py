"""The calibration of scores, as a transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin, clone
from sklearn.utils import ClassifierTags

from .. import decisions, modelfile
from ..calibration import AffineMap, MonotoneMap
from ..errors import DataError, DecisionError, listed, one_of
from ..scoring.model import Prior
from ..sources.frames.arrays import ArraySource, array_source
from ..tables.batch import as_labels, as_weight
from ..tables.labels import SoftLabels, encode
from .ratios import folds
from .table_estimator import TableEstimator, given_labels

Array = NDArray[Any]
METHODS = ("affine", "pav")


class LLRCalibrator(TransformerMixin, TableEstimator):
    """Scores of any classifier made into log-likelihood ratios.

    For two classes, give one score for each row, or one for each of several systems (n, S), which are fused; the result
    is the log-likelihood ratio of the second class over the first. For k classes, give log-likelihoods or log
    posteriors (n, k), those of several systems side by side (n, S k); the result is calibrated log-likelihoods (n, k).

    Parameters
    ----------
    prior : number, array, dict or "uniform"
        The class probabilities that calibration matters most at, by default equal ones. A number is that of the second
        of two classes.
    method : {"affine", "pav"}
        One scale for each system and one offset for each class, by logistic regression; or the best monotone map of
        one score of two classes, by pooling adjacent violators.

    Attributes
    ----------
    classes_ : (k,)
    map_ : AffineMap or MonotoneMap

    Examples
    --------
    >>> from suffice import LLRCalibrator
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7], [0, 0, 1, 1, 1]
    >>> LLRCalibrator(prior=0.5).fit(scores, y).transform([0.2, 0.9]).round(2)
    array([-2.34,  5.24])
    """

    map_: AffineMap | MonotoneMap
    classes_: Array

    def __init__(self, prior: Prior = "uniform", *, method: str = "affine") -> None:
        self.prior = prior
        self.method = method

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the map from scores of rows with known classes.

        Use rows that no system was trained on.

        Parameters
        ----------
        X : array-like of shape (n,) or (n, systems)
            The scores; of k > 2 classes, (n, systems k).
        y : array-like of shape (n,)
            The labels.
        sample_weight : array-like of shape (n,) or None
            Weights that are not negative.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import LLRCalibrator
        >>> LLRCalibrator().fit([-2.0, -1.0, 0.5, -0.5, 1.0, 3.0], [0, 0, 0, 1, 1, 1]).map_.scale.round(2)
        array([1.26])
        """
        one_of("method", self.method, METHODS)
        source = _source(X)
        table = _scores(source)
        labels = as_labels(given_labels(y, self), len(table))
        if isinstance(labels, SoftLabels):
            raise DataError("calibration takes hard labels, not soft labels")
        classes, code = encode(np.asarray(labels))
        if len(classes) < 2:
            raise DataError(f"calibration needs rows of two classes or more, but y has 1 class: {listed(classes)}")
        weight = as_weight(sample_weight, len(table))
        if self.method == "pav":
            if len(classes) > 2 or table.shape[1] > 1 or weight is not None:
                raise DataError('method="pav" takes one score of two classes, without weights; use "affine"')
            found: AffineMap | MonotoneMap = MonotoneMap.fit(table[:, 0], code)
        else:
            weight = np.ones(len(code)) if weight is None else weight
            total = np.bincount(code, weight, minlength=len(classes))
            prior = decisions.as_prior(self.prior, classes, total / total.sum())
            if not (prior.all() and total.all()):
                raise DecisionError("a class without prior or weight cannot be calibrated")
            found = AffineMap.fit(_likelihoods(table, len(classes)), code, weight, prior)
        with self._learning() as learner:
            learner.map_, learner.classes_ = found, classes
            learner._set_columns(source.names, source.n_features)
        return self

    def save(self, path: Any) -> None:
        """Write the calibrator to a file that `suffice.load` reads.

        Parameters
        ----------
        path : path
            The file to write. It is replaced as a whole, or left as it was.

        Examples
        --------
        >>> from suffice import LLRCalibrator, load
        >>> LLRCalibrator().fit([-2.0, -1.0, 0.5, -0.5, 1.0, 3.0], [0, 0, 0, 1, 1, 1]).save("map.safetensors")
        >>> load("map.safetensors").transform([0.0, 2.0]).round(2)
        array([-0.06,  2.47])
        """
        self._check_fitted()
        learnt = modelfile.SavedMap(self.classes_, self.n_features_in_, dict(vars(self.map_)))
        params = dict(self.get_params(deep=False))
        modelfile.write(path, modelfile.ModelFile(type(self).__name__, params, self._names(), learnt))

    @classmethod
    def _from_file(cls, model: modelfile.ModelFile) -> Self:
        loaded, learnt = cls(**model.params), model.learnt
        if not isinstance(learnt, modelfile.SavedMap):
            raise DataError(f"an LLRCalibrator cannot be made from a {type(learnt).__name__}")
        kind = AffineMap if one_of("method", loaded.method, METHODS) == "affine" else MonotoneMap
        loaded.map_, loaded.classes_ = kind(**learnt.arrays), learnt.classes
        if not loaded.map_.fits(len(learnt.classes), learnt.n_features):
            raise DataError("the calibration does not fit its classes and scores")
        loaded._set_columns(model.names, learnt.n_features)
        return loaded

    def transform(self, X: Any) -> Array:
        """Calibrate scores.

        Parameters
        ----------
        X : array-like of shape (n,) or (n, systems)
            The scores, as in `fit`.

        Returns
        -------
        array of shape (n,), (n, 1) or (n, k)
            Log-likelihood ratios of two classes, in the shape of one score; log-likelihoods of more.

        Examples
        --------
        >>> from suffice import LLRCalibrator
        >>> calibrator = LLRCalibrator().fit([-2.0, -1.0, 0.5, -0.5, 1.0, 3.0], [0, 0, 0, 1, 1, 1])
        >>> calibrator.transform([0.0, 2.0]).round(2)
        array([-0.06,  2.47])
        """
        self._check_fitted()
        source, ndim = _source(X), np.asarray(X).ndim
        if ndim == 1 and self.n_features_in_ != 1:
            raise DataError(
                f"these are scores of one system, but there are {self.n_features_in_}. Reshape your data: "
                "X.reshape(1, -1) makes it one row"
            )
        if source.names is not None or ndim == 2:
            self._columns().check(source)
        table = _scores(source)
        if isinstance(self.map_, MonotoneMap):
            llr = self.map_(table[:, 0])
        else:
            calibrated = self.map_(_likelihoods(table, len(self.classes_)))
            if len(self.classes_) > 2:
                return calibrated
            llr = decisions.log_likelihood_ratio(calibrated, 0, 1)
        return llr if ndim == 1 else llr[:, None]

    def held_out(self, X: Any, y: Any, cv: Any = 5, groups: Any = None) -> Array:
        """Calibrate each score with a map that was learnt from the other folds: for honest figures.

        Parameters
        ----------
        X : array-like of shape (n,) or (n, systems)
            The scores, as in `fit`.
        y : array-like of shape (n,)
            The labels.
        cv : int or splitter
            The number of folds, or one of scikit-learn's splitters.
        groups : array-like of shape (n,) or None
            For splitters that keep groups together.

        Returns
        -------
        array
            As of `transform`.

        Examples
        --------
        >>> from suffice import LLRCalibrator
        >>> scores, y = [-2.0, -1.0, 0.5, 1.5, -0.5, 1.0, 3.0, -1.5], [0, 0, 0, 0, 1, 1, 1, 1]
        >>> LLRCalibrator().held_out(scores, y, cv=4).shape
        (8,)
        """
        table, labels = _scores(_source(X)), np.asarray(y)
        parts = [
            (test, clone(self).fit(table[train], labels[train]).transform(table[test]))
            for train, test in folds(cv, table, labels, groups)
        ]
        out = np.full((len(table), parts[0][1].shape[1]), np.nan)
        for test, calibrated in parts:
            out[test] = calibrated
        return out[:, 0] if np.asarray(X).ndim == 1 else out

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "map_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)  # of any scores; more classes want a column for each
        return tags


def _source(scores: Any) -> ArraySource:
    """Scores (n,) of one system, or any table (n, systems)."""
    if hasattr(scores, "tocsr"):
        raise DataError("scores are dense: sparse input is not supported")
    values = np.asarray(scores)
    return array_source(values[:, None] if values.ndim == 1 else scores)


def _scores(source: ArraySource) -> Array:
    """Scores as an array (n, systems)."""
    table = source.table.floats().astype(np.float64, copy=False)
    if not len(table):
        raise DataError(f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is required.")
    if np.isnan(table).any():
        raise DataError("scores contain NaN")
    return table


def _likelihoods(table: Array, k: int) -> Array:
    """Scores (n, systems) of two classes, or (n, systems k) of more, as log-likelihoods (n, systems, k)."""
    if k == 2:
        return decisions.from_ratio(table)
    if table.shape[1] % k:
        raise DataError(f"{k} classes need {k} scores from each system, but there are {table.shape[1]} columns")
    return table.reshape(len(table), -1, k)
