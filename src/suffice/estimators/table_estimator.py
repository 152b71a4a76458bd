"""What every estimator of tables has: it remembers its columns, and holds new tables against them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning, NotFittedError

from ..errors import DataError
from ..scoring.rows import refuse_empty
from ..sources import LocalSource, Source, as_source, with_texts
from ..stats import Statistics
from ..tables.labels import family

Array = NDArray[Any]


class TableEstimator(BaseEstimator):
    """An estimator that reads anything tabular."""

    n_jobs: int | None
    _merges_columns = False  # whether statistics of different named columns align

    def _scored(self, X: Any) -> Source:
        """X as a source of rows to score."""
        return self._source(X)

    def _here(self, X: Any) -> Source:
        """X as a source whose rows are scored in this process, where what comes of all of them is needed at once."""
        return self._source(X).here()

    def _in_memory(self, X: Any) -> LocalSource:
        """X as a source of rows that are needed at once."""
        return self._source(X).in_memory()

    def _source(self, X: Any, y: Any = None, weight: Any = None, new: bool = False, more: bool = False) -> Source:
        """X as a source. Of a table that holds more, it has the columns of this model, unless its columns are to become
        them. Rows to learn may have `more` columns where statistics align them by name."""
        names = None if new or (more and self._merges_columns) else self._names()
        source = as_source(X if new else with_texts(X, self._texts(y)), y, weight, self.n_jobs, names)
        if not new:
            self._check_fitted()
            if not (more and self._merges_columns and source.names and self._names()):
                self._check_columns(source)
        refuse_empty(source)
        return source

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    def _names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names.tolist())

    def _texts(self, y: Any = None) -> list[str]:
        """The columns that were learnt as text, y among them where it names the labels."""
        statistics: Statistics | None = getattr(self, "statistics_", None)
        kinds, names = {} if statistics is None else statistics.category_kinds(), self._names()
        texts = [] if names is None else [names[j] for j, kind in kinds.items() if kind == "text"]
        classes: Array | None = getattr(self, "classes_", None)
        by_text = classes is not None and len(classes) > 0 and family(classes) == "str"
        return [*texts, y] if isinstance(y, str) and by_text else texts

    def _set_columns(self, names: tuple[str, ...] | None, n_features: int) -> None:
        self.n_features_in_ = n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_columns(self, source: Source) -> None:
        known, given, me = self._names(), source.names, type(self).__name__
        if known is not None and given is not None and known != given:
            lines = ["The feature names should match those that were passed during fit."]
            lines += _named("Feature names unseen at fit time:", set(given) - set(known))
            lines += _named("Feature names seen at fit time, yet now missing:", set(known) - set(given))
            if len(lines) == 1:
                lines.append("Feature names must be in the same order as they were in fit.")
            raise DataError("\n".join(lines) + "\n")
        if known is None and given is not None:
            warnings.warn(f"X has feature names, but {me} was fitted without feature names", UserWarning, stacklevel=5)
        if known is not None and given is None:
            message = f"X does not have valid feature names, but {me} was fitted with feature names"
            warnings.warn(message, UserWarning, stacklevel=5)
        if source.n_features != self.n_features_in_:
            raise DataError(
                f"X has {source.n_features} features, but {me} is expecting {self.n_features_in_} features as input."
            )


def _named(title: str, names: set[str]) -> list[str]:
    shown = [f"- {name}" for name in sorted(names)[:5]]
    return [title, *shown, *["- ..."] * (len(names) > 5)] if names else []


def given_labels(y: Any, estimator: object) -> Any:
    """Labels as given, but a column vector becomes a vector, with scikit-learn's warning."""
    if y is None:
        raise DataError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    if hasattr(y, "to_numpy") and getattr(y, "shape", (0,))[1:] == (1,):  # a frame of one column
        y = y.to_numpy()
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected; it is taken as y.ravel()"
        warnings.warn(message, DataConversionWarning, stacklevel=3)
        return y.ravel()
    return y
