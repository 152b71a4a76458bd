"""Classes that are mixtures: p(x | class) is a weighted sum of the densities of the components of the class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError
from ..stats import ComponentStats
from ..tables.features import Feature
from ..tables.table import Table
from .base import Density, chosen, seen_classes
from .scorer import Wanted
from .typicality import drawn_typicality

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class MixtureDensity(Density):
    """A mixture of densities for each class.

    Use `estimate` or `from_parameters` to make one.

    Parameters
    ----------
    components : Density
        The densities of all K components, class after class.
    owner : array of int of shape (K,)
        The index of the class of each component, in ascending order.
    weights : array of shape (K,)
        The share of each component in its class.
    size : int
        The number of classes. One without components has log-likelihood -inf.

    Examples
    --------
    >>> from suffice.densities import GaussianDensity
    >>> bumps = GaussianDensity.from_parameters([[-3.0], [3.0], [0.0]], [1.0, 1.0, 1.0], "spherical")
    >>> density = MixtureDensity.from_parameters(bumps, [0, 0, 1], [0.5, 0.5, 1.0])
    >>> density
    MixtureDensity(2 classes, 3 components: GaussianDensity(spherical, 3 classes, 1 features))
    >>> density.log_likelihood([[3.0], [0.0]]).round(4)
    array([[-1.6121, -5.4189],
           [-5.4189, -0.9189]])
    """

    components: Density
    owner: Array
    weights: Array
    size: int

    @classmethod
    def estimate(cls, stats: ComponentStats, estimate: Callable[[Any], Density]) -> Self:
        """Estimate the density of every component from its own statistic.

        Parameters
        ----------
        stats : ComponentStats
            The statistic of the components.
        estimate : callable
            From the statistic of the components to their density, such as ``GaussianDensity.estimate``.

        Returns
        -------
        MixtureDensity
            The density of the classes of the statistic.

        Examples
        --------
        >>> from suffice import GaussianDensity, MomentStats
        >>> parts = MomentStats.from_sums([3, 1], [[6.0], [10.0]], [[14.0], [101.0]])  # of 1, 2 and 3, and about 10
        >>> stats = ComponentStats.of_parts(["a"], parts, [0, 0])
        >>> density = MixtureDensity.estimate(stats, lambda moments: GaussianDensity.estimate(moments, "diag"))
        >>> density.weights, density.components.parameters()["means"].ravel()
        (array([0.75, 0.25]), array([ 2., 10.]))
        """
        seen_classes(stats)
        total = np.bincount(stats.owner, stats.parts.weight, len(stats.classes))[stats.owner]
        kept = np.flatnonzero((stats.parts.weight > 0) | (total == 0))
        owner, total = stats.owner[kept], total[kept]
        alone = 1 / np.bincount(stats.owner)[owner]  # of a class without rows
        weights = np.where(total > 0, stats.parts.weight[kept] / np.where(total > 0, total, 1.0), alone)
        return cls(estimate(stats.parts).of_classes(kept.tolist()), owner, weights, len(stats.classes))

    @classmethod
    def from_parameters(cls, components: Density, owner: Any, weights: Any, n_classes: int | None = None) -> Self:
        """Make mixtures from the densities of their components.

        Parameters
        ----------
        components : Density
            The densities of all K components.
        owner : array-like of int of shape (K,)
            The index of the class of each component, in ascending order.
        weights : array-like of shape (K,)
            The share of each component in its class. Those of a class sum to 1.
        n_classes : int, optional
            The number of classes; by default just enough for all owners.

        Returns
        -------
        MixtureDensity
            The density of k classes.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> bumps = GaussianDensity.from_parameters([-3.0, 3.0], [1.0, 1.0])
        >>> both = MixtureDensity.from_parameters(bumps, owner=[0, 0], weights=[0.5, 0.5])
        >>> np.exp(both.log_likelihood([[-3.0], [0.0], [3.0]])).round(4)
        array([[0.1995],
               [0.0044],
               [0.1995]])
        """
        index, share = np.asarray(owner), np.array(weights, np.float64)
        k = int(index.max(initial=-1)) + 1 if n_classes is None else int(n_classes)
        if index.dtype.kind not in "iu" or index.shape != (components.n_classes,) or (np.diff(index) < 0).any():
            raise DataError("owner must be the index of a class for each component, in ascending order")
        if not len(index) or index[0] < 0 or index[-1] >= k:
            raise DataError(f"owner must have indices from 0 to {k - 1}")
        sums = np.bincount(index, share, k) if share.shape == index.shape else np.zeros(k)
        if not (share >= 0).all() or not np.isclose(sums[np.unique(index)], 1.0).all():
            raise DataError("weights must be a share for each component; those of a class must sum to 1")
        return cls(components, index.astype(np.int64), share, k)

    def parameters(self) -> dict[str, Any]:
        """Return the components and their weights, as `from_parameters` takes them.

        Returns
        -------
        dict
            "components", the density of all of them, with parameters of its own; "owner", "weights" and "n_classes".

        Examples
        --------
        >>> from suffice import PoissonDensity
        >>> visits = MixtureDensity.from_parameters(PoissonDensity.from_parameters([1.0, 9.0]), [0, 0], [0.75, 0.25])
        >>> visits.parameters()["components"].parameters()["rates"].ravel(), visits.parameters()["weights"]
        (array([1., 9.]), array([0.75, 0.25]))
        """
        return {
            "components": self.components,
            "owner": self.owner,
            "weights": self.weights,
            "n_classes": self.n_classes,
        }

    def labelled_parameters(self, names: Sequence[Any]) -> dict[str, Any]:
        return {"owner": self.owner, "weights": self.weights, **self.components.labelled_parameters(names)}

    @property
    def shared_parameters(self) -> frozenset[str]:
        return self.components.shared_parameters

    def checked(self) -> Self:
        return self.from_parameters(self.components.checked(), self.owner, self.weights, self.n_classes)

    def __repr__(self) -> str:
        return f"MixtureDensity({self.n_classes} classes, {len(self.owner)} components: {self.components!r})"

    @property
    def n_classes(self) -> int:
        return self.size

    @property
    def n_features(self) -> int:
        return self.components.n_features

    @property
    def seen(self) -> Array:  # type: ignore[override]
        """Which classes have components, (k,) bool."""
        return np.bincount(self.owner[self.components.seen], minlength=self.n_classes) > 0

    def n_parameters(self) -> int:
        return self.components.n_parameters() + len(self.owner) - len(np.unique(self.owner))

    def of_one_class(self) -> dict[str, Any]:
        return {"weights": self.weights, **self.components.parameters()}

    def of_classes(self, indices: Sequence[int]) -> Self:
        own = [np.flatnonzero(self.owner == c) for c in indices]
        owner = np.repeat(np.arange(len(own)), [len(each) for each in own])
        kept = np.concatenate(own)
        components = self.components.of_classes(kept.tolist())
        return replace(self, components=components, owner=owner, weights=self.weights[kept], size=len(own))

    def renamed(self, names: tuple[str, ...]) -> Self:
        return replace(self, components=self.components.renamed(names))

    def as_components(self) -> tuple[Density, Array, Array]:
        return self.components, self.owner, self.weights

    # Rows are as the components read them.

    def read(self, table: Table) -> Any:
        return self.components.read(table)

    def write(self, x: Any) -> Any:
        return self.components.write(x)

    def missing(self, X: Any) -> Array:
        return self.components.missing(X)

    def hide(self, X: Any, hidden: Array) -> Any:
        return self.components.hide(X, hidden)

    def is_complete(self, X: Any) -> bool:
        return self.components.is_complete(X)

    def unknown_cells(self, table: Table) -> Array:
        return self.components.unknown_cells(table)

    def categories_of_columns(self) -> dict[int, Array]:
        return self.components.categories_of_columns()

    def columns_of_booleans(self) -> frozenset[int]:
        return self.components.columns_of_booleans()

    @property
    def features(self) -> tuple[Feature, ...]:  # type: ignore[override]
        """Columns that are derived from those of the table."""
        return self.components.features

    @property
    def reads_sparse(self) -> bool:  # type: ignore[override]
        """Whether `read` leaves sparse rows sparse."""
        return self.components.reads_sparse

    @property
    def n_read(self) -> int:
        return self.components.n_read

    @property
    def columns_read(self) -> Sequence[int]:
        return self.components.columns_read

    @property
    def has_zeros(self) -> bool:
        return self.components.has_zeros

    # Scores.

    def _score(self, X: Any, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        n = next(len(out) for out in wanted if out is not None)
        joint = np.empty((n, len(self.owner)))
        finite = self.components.score(X, self._log_weights(), all=joint, relative=relative)
        kernels.active.reduce(self._of_classes(joint) + offset, *wanted)
        return finite

    def marginal(self, X: Any) -> Array:
        return self._of_classes(self.components.marginal(X) + self._log_weights())

    def _log_weights(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.weights)

    def _of_classes(self, joint: Array) -> Array:
        """The log-sum-exp over the components of each class, (n, k), of scores (n, K)."""
        out = np.full((len(joint), self.n_classes), -np.inf)
        if not len(self.owner):
            return out
        present, first = np.unique(self.owner, return_index=True)
        top = np.maximum.reduceat(joint, first, axis=1)
        top[np.isneginf(top)] = 0.0
        apart = joint - np.repeat(top, np.diff([*first, len(self.owner)]), axis=1)
        sums = np.add.reduceat(np.exp(apart), first, axis=1)
        with np.errstate(divide="ignore"):
            out[:, present] = top + np.log(sums)
        return out

    def _responsibilities(self, X: Any) -> Array:
        """P(component | x, class), (n, K); the weights where x is impossible."""
        joint = self.components.marginal(X) + self._log_weights()
        total = self._of_classes(joint)[:, self.owner]
        possible = np.isfinite(total)
        return np.where(possible, np.exp(joint - np.where(possible, total, 0.0)), self.weights)

    def explain(self, X: Any, c: int) -> Array:
        """Return the share of each feature in log p(x | class).

        Each component has its shares, which are averaged by its responsibility for the row. What is left, the price of
        not knowing the component, is spread evenly.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.
        c : int
            The index of the class.

        Returns
        -------
        array of shape (n, d)
            The shares of a row sum to its log p(x | class).

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> bumps = GaussianDensity.from_parameters([[-3.0, 0.0], [3.0, 0.0]], [1.0, 1.0], "spherical")
        >>> both = MixtureDensity.from_parameters(bumps, [0, 0], [0.75, 0.25])
        >>> both.explain(np.array([[3.0, 2.0]]), 0).round(2), both.log_likelihood([[3.0, 2.0]]).round(2)
        (array([[-1.61, -3.61]]), array([[-5.22]]))
        """
        own = np.flatnonzero(self.owner == c)
        soft = self._responsibilities(X)[:, own]
        shares = sum(
            np.where(soft[:, i, None] > 0, soft[:, i, None] * self.components.explain(X, int(j)), 0.0)
            for i, j in enumerate(own)
        )
        total = self.of_classes([c]).marginal(X)
        columns = list(self.columns_read)
        rest = np.zeros(self.n_features)
        rest[columns] = 1 / len(columns)
        return np.asarray(shares + (total - np.sum(shares, axis=1, keepdims=True)) * rest)

    def typicality(self, X: Any) -> Array:
        seen = np.flatnonzero(self.seen)
        out = np.zeros((len(self.missing(X)), self.n_classes))
        out[:, seen] = drawn_typicality(self.of_classes(seen.tolist()), X)
        return out

    def fill(self, X: Any, posterior: Array) -> Any:
        return self.components.fill(X, self._responsibilities(X) * posterior[:, self.owner])

    def draw(self, X: Any, code: Array, rng: np.random.Generator) -> Any:
        share = np.where(self.owner == code[:, None], self._responsibilities(X), 0.0)
        return self.components.draw(X, chosen(share, rng), rng)

    def sample(self, code: Array, rng: np.random.Generator) -> Any:
        end = np.cumsum(self.weights)
        before = np.concatenate([[0.0], end])[np.searchsorted(self.owner, code)]
        chosen = np.searchsorted(end, before + rng.random(len(code)), side="right")
        last = np.searchsorted(self.owner, code, side="right") - 1
        return self.components.sample(np.minimum(chosen, last), rng)

    # Files.

    def to_arrays(self) -> dict[str, Array]:
        kind = type(self.components).__name__
        own = {"owner": self.owner, "weights": self.weights, "n_classes": np.array(self.n_classes)}
        return own | {f"{kind}:{name}": array for name, array in self.components.to_arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        kind = next(name.partition(":")[0] for name in arrays if ":" in name)
        parts = {name.removeprefix(f"{kind}:"): array for name, array in arrays.items() if name.startswith(f"{kind}:")}
        components = Density.kinds[kind].from_arrays(parts)
        return cls(components, np.array(arrays["owner"]), np.array(arrays["weights"]), int(arrays["n_classes"]))
