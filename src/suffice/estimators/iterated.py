"""What every estimator has that learns step by step."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..errors import warn
from .table_estimator import TableEstimator

Array = NDArray[Any]


class Iterated(TableEstimator):
    """An estimator that is fitted by expectation-maximisation."""

    max_iter: int
    history_: Array
    converged_: bool

    @property
    def n_iter_(self) -> int:
        """The number of steps."""
        self._check_fitted()
        return len(self.history_) - 1

    def _warn_unless_converged(self) -> None:
        if not self.converged_:
            warn(f"no convergence after {self.max_iter} steps; raise max_iter or tol", ConvergenceWarning)
