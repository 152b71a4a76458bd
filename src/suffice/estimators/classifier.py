"""What every classifier has: it learns a Model, which scores and decides."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from ..decisions import difference
from ..families import family_of
from ..schema import DROP, Schema
from ..scoring.model import Model, Prior
from ..scoring.notes import ColumnNotes
from ..sources import in_memory
from .table_estimator import TableEstimator

Array = NDArray[Any]
P = ParamSpec("P")
T = TypeVar("T")


def of_model(method: Callable[Concatenate[Model, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A method of the model that an estimator has learnt, as one of the estimator's own."""

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(self.to_model(), *args, **kwargs)

    return call


class LLRClassifier(ClassifierMixin, TableEstimator):
    """A classifier whose scores hold no prior: prior and cost are left to whoever decides."""

    prior: Prior

    @abstractmethod
    def to_model(self) -> Model:
        """Give the model that was learnt: immutable, and without scikit-learn.

        Returns
        -------
        Model
            It scores and decides as this estimator does now.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> clf.to_model()
        Model(GaussianDensity of 1 columns, classes 'a', 'b')
        """

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        return self.to_model().classes

    @property
    def prior_(self) -> Array:
        """The prior that decisions use unless told otherwise, of shape (k,)."""
        return self.to_model()._as_prior(None)

    @property
    def schema_(self) -> Schema:
        """The family of every column, and why; prints as a table."""
        model = self.to_model()
        density, names = model.density, model.names or tuple(f"x{j}" for j in range(model.density.n_features))
        one = family_of(model.owner) or "gaussian"
        known = density.families_of_columns() or dict.fromkeys(density.columns_read, one)
        families = (known.get(j, DROP) for j in range(len(names)))
        plain = tuple("gaussian" if family == "number" else family for family in families)
        return (model.column_notes or ColumnNotes()).schema(names, plain, density.features)

    llr = of_model(Model.llr)
    predict = of_model(Model.predict)
    predict_proba = of_model(Model.predict_proba)
    predict_log_proba = of_model(Model.predict_log_proba)

    def decision_function(self, X: Any) -> Any:
        """Compute scores that grow with the posterior probabilities, as scikit-learn's classifiers have them.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n,) or (n, k)
            Of two classes, the log odds of the second: positive where it is the more probable one. Of more classes,
            the logarithms of the posterior probabilities.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> clf.decision_function([[3.0], [4.0]]).round(1)
        array([ 0., 12.])
        """
        scores = self.predict_log_proba(X)
        return difference(scores[:, 1], scores[:, 0]) if len(self.classes_) == 2 else scores

    evaluate = of_model(Model.evaluate)
    to_parquet = of_model(Model.to_parquet)
    to_sql = of_model(Model.to_sql)
    to_onnx = of_model(Model.to_onnx)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the share of rows that are classified correctly.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : array-like of shape (n,) or str
            The labels, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n,), str or None
            Weights, or the name of the column of X that holds them.

        Returns
        -------
        float
            The accuracy.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> clf.score([[1.5], [2.5], [4.5]], ["a", "b", "b"])
        0.6666666666666666
        """
        if isinstance(y, str) or isinstance(sample_weight, str):
            rows = self.to_model()._columns.as_learnt(X, y)
            source = in_memory(rows, y, sample_weight, self.n_jobs)
            return self.score(source.frame, source.y, source.weight)
        return float(super().score(X, y, sample_weight))
