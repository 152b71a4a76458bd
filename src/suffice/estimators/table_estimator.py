"""What every estimator of tables has: it remembers its columns, and checks new tables against them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning, NotFittedError

from ..errors import DataError, warn
from ..scoring.columns import Columns
from ..scoring.loop import refuse_empty
from ..sources import Source, as_source

Array = NDArray[Any]


class TableEstimator(BaseEstimator):
    """An estimator that reads anything tabular."""

    n_jobs: int | None
    target_: str  # the column with the labels, of estimators that were given its name

    def _source(self, X: Any, y: Any = None, weight: Any = None) -> Source:
        """X as a source of the columns of this estimator; extra columns are ignored."""
        self._check_fitted()
        return self._columns().source(X, y, weight, self.n_jobs)

    def _new_source(self, X: Any, y: Any = None, weight: Any = None) -> Source:
        """X as a source whose columns become those of this estimator."""
        source = as_source(X, y, weight, self.n_jobs)
        refuse_empty(source)
        return source

    @contextmanager
    def _learning(self) -> Iterator[Self]:
        """Give a copy to learn with. This estimator takes over all that it has learnt in one step at the end, so that
        errors and interrupts leave it as it was."""
        learner = object.__new__(type(self))  # copy.copy would go through scikit-learn's pickling
        learner.__dict__.update(self.__dict__)
        yield learner
        self.__dict__ = learner.__dict__

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    def _names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names.tolist())

    def _columns(self) -> Columns:
        names, target = self._names(), getattr(self, "target_", None)
        return Columns(names, self.n_features_in_, type(self).__name__, target=target)

    def _set_columns(self, names: tuple[str, ...] | None, n_features: int) -> None:
        self.n_features_in_ = n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _set_target(self, y: Any) -> Self:
        """Remember the column with the labels, where its name was given, and return self."""
        self.__dict__.pop("target_", None)
        if isinstance(y, str):
            self.target_ = y
        return self


def given_labels(y: Any, estimator: object) -> Any:
    """Labels as given, but a column vector becomes a vector, with scikit-learn's warning."""
    if y is None:
        raise DataError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    if hasattr(y, "to_numpy") and getattr(y, "shape", (0,))[1:] == (1,):  # a frame of one column
        y = y.to_numpy()
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected; it is taken as y.ravel()"
        warn(message, DataConversionWarning)
        return y.ravel()
    return y
