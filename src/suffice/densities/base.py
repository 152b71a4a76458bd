"""The contract of every density: log p(x | class) for all classes at once, with no prior in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..batch import as_float, as_matrix
from ..errors import DataError

Array = NDArray[Any]


class Density(ABC):
    """The parameters of p(x | class) for k classes, estimated from a statistic."""

    @abstractmethod
    def score(
        self,
        X: Array,
        offset: Array | float = 0.0,
        *,
        all: Array | None = None,
        best: Array | None = None,
        evidence: Array | None = None,
        relative: bool = False,
    ) -> bool:
        """Write log p(x | class) + offset where it is wanted, and return whether X was finite.

        Parameters
        ----------
        X : (n, d)
        offset : (k,), for instance a log prior
        all : (n, k) the scores themselves
        best : (n,) int64 the arg max; a tie goes to the lower index
        evidence : (n,) the log-sum-exp
        relative : whether terms that all classes share may be left out of the scores
        """

    def log_likelihood(self, X: Any) -> Array:
        """log p(x | class), (n, k)."""
        X = as_float(as_matrix(X))
        if X.shape[1] != self.n_features:
            raise DataError(f"X has {X.shape[1]} features, but this density has {self.n_features}")
        out = np.empty((len(X), self.n_classes))
        if not self.score(X, all=out):
            raise DataError("X contains NaN or infinity")
        return out

    @property
    @abstractmethod
    def n_classes(self) -> int: ...

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @abstractmethod
    def of_classes(self, places: Sequence[int]) -> Self:
        """The density of some classes alone."""

    @abstractmethod
    def sample(self, c: int, n: int, rng: np.random.Generator) -> Array:
        """n rows drawn from class c, (n, d)."""

    @abstractmethod
    def explain(self, X: Array, c: int) -> Array:
        """Shares of the features in log p(x | c), (n, d); they sum to it."""

    @abstractmethod
    def typicality(self, X: Array) -> Array:
        """The probability, under each class, of a row no more likely than this one, (n, k)."""

    @abstractmethod
    def conditional(self, X: Array, c: int, missing: Array) -> tuple[Array, Array]:
        """For rows that all miss the columns `missing` (d,) bool: log p(observed | c), (n,), and
        E[missing | observed, c], (n, missing.sum())."""

    @abstractmethod
    def to_arrays(self) -> dict[str, Array]:
        """The parameters by name, to move them across processes and into files."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """The inverse of `to_arrays`."""

    def impute(self, X: Array, log_prior: Array) -> Array:
        """A copy of X with each NaN replaced by its expectation given what is observed, over classes and values."""
        filled = np.array(X, dtype=np.float64)
        missing = np.isnan(filled)
        patterns, which = np.unique(missing, axis=0, return_inverse=True)
        for p, pattern in enumerate(patterns):
            if not pattern.any():
                continue
            rows = np.flatnonzero(which.reshape(-1) == p)
            known: Sequence[int] = np.flatnonzero(np.isfinite(log_prior)).tolist()
            parts = [self.conditional(filled[rows], c, pattern) for c in known]
            joint = np.stack([part[0] for part in parts], axis=1) + log_prior[known]
            posterior = np.exp(joint - joint.max(axis=1, keepdims=True))
            posterior /= posterior.sum(axis=1, keepdims=True)
            filled[np.ix_(rows, pattern)] = sum(posterior[:, i, None] * part[1] for i, part in enumerate(parts))
        return filled
