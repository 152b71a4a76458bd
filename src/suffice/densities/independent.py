"""Columns of numbers that are independent given the class, each with a distribution of its own parameters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..stats import MomentStats
from ..stats.support import Support
from .base import Density
from .parameters import blank
from .scorer import Wanted
from .typicality import drawn_typicality

Array = NDArray[Any]

MOST = float(np.finfo(np.float64).max)
LEAST = float(np.finfo(np.float64).tiny)
_CELLS = 1 << 16  # scored at a time, so that they stay in the cache


class Cells(NamedTuple):
    """Cells: numbers inside the support (1 elsewhere), and which cells are missing or impossible."""

    x: Array  # (n, d) float64
    missing: Array  # (n, d)
    impossible: Array  # (n, d) outside the support

    @classmethod
    def of(cls, X: Array, support: Support) -> Cells:
        missing, inside = np.isnan(X), support.inside(X)
        return cls(np.where(inside, X, 1).astype(np.float64, copy=False), missing, ~(inside | missing))

    def shares(self, terms: Array) -> Array:
        """The parts (n, d) of the cells in a score: none for what is missing."""
        return np.where(self.impossible, -np.inf, np.where(self.missing, 0.0, terms))


class IndependentDensity(Density):
    """log p(x | class) = sum over the observed columns of log p(x_j | parameters of the class and the column).

    A subclass is a frozen dataclass of its parameters, each (k, d), and of `seen` (k,).
    """

    family: ClassVar[str]
    support: ClassVar[Support]
    seen: Array  # (k,) whether the class had any rows; one that had none has log-likelihood -inf

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_classes} classes, {self.n_features} features)"

    # What a family is.

    @classmethod
    @abstractmethod
    def from_moments(cls, stats: MomentStats) -> Self:
        """Estimate by the method of moments: the density has the means and variances of the rows.

        Parameters
        ----------
        stats : MomentStats
            The moments of each class.

        Returns
        -------
        IndependentDensity
            The density of the classes of the statistic.

        Examples
        --------
        >>> from suffice import GammaDensity
        >>> moments = MomentStats.from_sums([3], [[7.0]], [[21.0]])  # n, sum and sum of squares of 1, 2 and 4
        >>> gamma = GammaDensity.from_moments(moments)
        >>> gamma.shapes.round(6), (gamma.shapes * gamma.scales).round(6), (gamma.shapes * gamma.scales**2).round(6)
        (array([[3.5]]), array([[2.333333]]), array([[1.555556]]))
        """

    @staticmethod
    def prepared(x: Array) -> tuple[Array, ...]:
        """Compute what `log_density` needs of the cells, once for all classes.

        Parameters
        ----------
        x : array of shape (n, d)
            Cells inside the support.

        Returns
        -------
        tuple of arrays
            The cells themselves, unless a family needs more.

        Examples
        --------
        >>> from suffice import GammaDensity
        >>> GammaDensity.prepared(np.array([[1.0]]))  # x and log x
        (array([[1.]]), array([[0.]]))
        """
        return (x,)

    @staticmethod
    @abstractmethod
    def log_density(prepared: tuple[Array, ...], *parameters: Array) -> Array:
        """Compute log p of cells inside the support.

        Parameters
        ----------
        prepared : tuple of arrays
            What `prepared` gives for the cells.
        *parameters : arrays of shape (d,) or (n, d)
            The parameters, in the order of the fields.

        Returns
        -------
        array of shape (n, d)
            -inf only for what is impossible.

        Examples
        --------
        >>> from suffice import ExponentialDensity
        >>> prepared = ExponentialDensity.prepared(np.array([[2.0]]))
        >>> ExponentialDensity.log_density(prepared, np.array([1.0]))
        array([[-2.]])
        """

    @property
    @abstractmethod
    def expectation(self) -> Array:
        """The mean of every column in every class, (k, d)."""

    @abstractmethod
    def _draw(self, code: Array, rng: np.random.Generator) -> Array:
        """Rows drawn from the classes `code` (n,)."""

    # What all of them do.

    @classmethod
    def _fields(cls) -> list[str]:
        return [field.name for field in fields(cls) if field.name != "seen"]  # type: ignore[arg-type]

    @classmethod
    def _of(cls, parameters: tuple[Array, ...], seen: Array) -> Self:
        """The density with parameters in the order of the fields."""
        return cls(**dict(zip([*cls._fields(), "seen"], [*parameters, seen], strict=True)))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, as `from_parameters` takes them.

        Returns
        -------
        dict of str to array
            Each (k, d); NaN for a class without rows.

        Examples
        --------
        >>> from suffice import GammaDensity
        >>> GammaDensity.from_parameters([2.0], [3.0]).parameters()
        {'shapes': array([[2.]]), 'scales': array([[3.]])}
        """
        return {name: blank(getattr(self, name), self.seen) for name in self._fields()}

    @property
    def n_classes(self) -> int:
        return len(self.seen)

    @property
    def n_features(self) -> int:
        return int(getattr(self, self._fields()[0]).shape[1])

    @property
    def has_zeros(self) -> bool:
        return True  # outside the support

    def of_classes(self, indices: Sequence[int]) -> Self:
        own = {field.name: getattr(self, field.name)[list(indices)] for field in fields(self)}  # type: ignore[arg-type]
        return replace(self, **own)  # type: ignore[type-var]

    def _blocks(self, n: int) -> Iterator[slice]:
        step = max(64, _CELLS // self.n_features)
        return (slice(start, start + step) for start in range(0, n, step))

    def _score(self, X: Array, offset: Array | float, wanted: Wanted, relative: bool) -> bool:  # noqa: ARG002
        for rows in self._blocks(len(X)):
            kernels.active.reduce(self._scores(X[rows]) + offset, *wanted.of_rows(rows))
        return True

    def _scores(self, X: Array) -> Array:
        """(n, k)"""
        cells, out = Cells.of(X, self.support), np.full((len(X), self.n_classes), -np.inf)
        prepared = self.prepared(cells.x)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            for c in np.flatnonzero(self.seen).tolist():
                shares = cells.shares(self.log_density(prepared, *self._own(c)))
                out[:, c] = row_sums(shares)
        return out

    def _own(self, c: int) -> list[Array]:
        return [getattr(self, name)[c] for name in self._fields()]

    def explain(self, X: Array, c: int) -> Array:
        cells = Cells.of(X, self.support)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return cells.shares(self.log_density(self.prepared(cells.x), *self._own(c)))

    def is_complete(self, X: Array) -> bool:  # noqa: ARG002  a missing cell drops out
        return True

    def typicality(self, X: Array) -> Array:
        return drawn_typicality(self, X)

    def sample(self, code: Array, rng: np.random.Generator) -> Array:
        drawn = self._draw(code, rng)
        # Draws may underflow to zero, which is outside the support of some families.
        return drawn if drawn.dtype.kind == "i" else np.clip(drawn, LEAST, MOST)

    def fill(self, X: Array, posterior: Array) -> Array:
        return np.where(np.isnan(X), posterior @ self.expectation, X)

    def to_arrays(self) -> dict[str, Array]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        return cls(**{name: np.array(array) for name, array in arrays.items()})


def row_sums(shares: Array) -> Array:
    """Sum over the last axis. Sums of possible values stay finite, even for extreme values."""
    total = shares.sum(axis=-1)
    overflown = np.isneginf(total) & np.isfinite(shares).all(axis=-1)
    return np.where(overflown, -MOST, total)
