"""Moments of fewer rows than columns: a scatter matrix as the product of a few rows, which take less room than it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import StatisticsError
from ..tables.batch import Batch
from ..tables.labels import positions, same
from ..tables.table import Table
from .base import by_class, settle, vocabulary
from .moments import MomentStats
from .scatter import LAYOUTS, all_finite

Array = NDArray[Any]

_NARROW = 64  # columns up to which matrices are small anyway


def is_wide(n_rows: float | None, n_features: int) -> bool:
    """Whether a table has so many columns for its rows that its moments are best kept as rows."""
    return n_rows is not None and n_features > _NARROW and 2 * n_rows <= n_features


class WideMomentStats(MomentStats):
    """Moments of few rows of many columns: as MomentStats, but with rows r such that the scatter is the sum of r r'.

    They merge by stacking and become plain MomentStats where there are too many of them. Whatever asks for the scatter
    itself gets it, computed at the first use; `plain` gives the MomentStats with that scatter.

    Parameters
    ----------
    classes, weight, mean, layout, cubic, quartic
        As those of MomentStats; the layout is not "diag".
    rows : array of shape (m, d)
        The rows.
    owner : array of int of shape (m,)
        The index of the class that each row belongs to; of no meaning in the pooled layout.

    Examples
    --------
    >>> moments = WideMomentStats.of(Batch.of([[1.0, 0.0, 4.0], [3.0, 0.0, 4.0]], ["x", "x"]), "pooled")
    >>> moments.rows
    array([[-1.,  0.,  0.],
           [ 1.,  0.,  0.]])
    >>> moments.scatter
    array([[2., 0., 0.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """

    rows: Array
    owner: Array

    def __init__(
        self,
        classes: Array,
        weight: Array,
        mean: Array,
        rows: Array,
        owner: Array,
        layout: str = "full",
        cubic: Array | None = None,
        quartic: Array | None = None,
    ) -> None:
        held = {"classes": classes, "weight": weight, "mean": mean, "rows": rows, "owner": owner, "layout": layout}
        for name, value in {**held, "cubic": cubic, "quartic": quartic, "observed": None}.items():
            object.__setattr__(self, name, value)
        settle(self, "weight", "mean", "rows", "owner", "cubic", "quartic")

    def __repr__(self) -> str:
        return f"Wide{super().__repr__()}"

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("classes", "weight", "mean", "rows", "owner", "layout", "cubic", "quartic")
        return type(self), tuple(getattr(self, name) for name in names)

    @classmethod
    def zeros(cls, classes: Any, n_features: int, layout: str = "full") -> Self:
        none = MomentStats.zeros(classes, n_features, "diag")
        rows, owner = np.zeros((0, n_features)), np.zeros(0, np.int64)
        higher = (none.mean, none.weight) if layout == "quartic" else (None, None)
        return cls(vocabulary(classes), none.weight, none.mean, rows, owner, layout, *higher)

    @classmethod
    def of(cls, batch: Batch, layout: str = "full", skip_missing: bool = False) -> Self:  # noqa: ARG003
        """Return the statistic of one batch of labelled rows.

        Parameters
        ----------
        batch : Batch
            Rows with labels, hard or soft, and weights where they have any.
        layout : {"pooled", "full", "quartic"}
            What is kept of the second moments.
        skip_missing : bool
            Of no effect: NaN makes the moments NaN.

        Returns
        -------
        WideMomentStats
            What is kept of the rows.
        """
        return by_class(batch, partial(cls._of_rows, layout=layout))

    @classmethod
    def _of_rows(cls, table: Table, classes: Array, code: Array, weight: Array | None, layout: str) -> Self:
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            table, code, weight = table[kept], code[kept], weight[kept]
        order = np.argsort(code, kind="stable")
        X, owner = table[order].floats().astype(np.float64), code[order].astype(np.int64)
        w = np.ones(len(X)) if weight is None else weight[order]
        n, mean = np.bincount(owner, w, minlength=len(classes)), np.zeros((len(classes), X.shape[1]))
        cubic, quartic = np.zeros_like(mean), np.zeros(len(classes))
        with np.errstate(over="ignore", invalid="ignore"):  # is_finite reports it
            for c in np.unique(owner).tolist():
                of_class = slice(*np.searchsorted(owner, [c, c + 1]))
                z, own = X[of_class], w[of_class]
                center = z[own.argmax()].copy()
                z -= center
                step = own @ z / n[c]
                z -= step
                mean[c] = center + step
                if layout == "quartic":
                    square = np.einsum("ij,ij->i", z, z)
                    cubic[c], quartic[c] = (own * square) @ z, own @ square**2
                if weight is not None:
                    z *= np.sqrt(own)[:, None]
        higher = (cubic, quartic) if layout == "quartic" else (None, None)
        return cls(classes, n, mean, X, owner, layout, *higher)

    # What MomentStats has.

    @cached_property
    def scatter(self) -> Array:
        """The scatter in the layout, from all rows."""
        groups = self.few_rows(self.layout == "pooled")
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = np.empty((len(groups), self.n_features, self.n_features))
            for g, rows in enumerate(groups):
                np.dot(rows.T, rows, out=scatter[g])
        return scatter[0] if self.layout == "pooled" else scatter

    def plain(self) -> MomentStats:
        higher = self.cubic, self.quartic
        return MomentStats(self.classes, self.weight, self.mean, self.scatter, self.layout, *higher)

    def few_rows(self, tied: bool) -> list[Array]:
        return [self.rows] if tied else [self.rows[self.owner == c] for c in range(len(self.classes))]

    @cached_property
    def variation(self) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            squares = [np.einsum("ij,ij->j", rows, rows) for rows in self.few_rows(self.layout == "pooled")]
        return np.stack(squares) if squares else np.zeros((0, self.n_features))

    def _scatter_times(self, vectors: Array) -> Array:
        return np.stack([rows.T @ (rows @ v) for rows, v in zip(self.few_rows(False), vectors, strict=True)])

    def aligned(self, classes: Array) -> Self:
        if same(classes, self.classes):
            return self
        index, like = positions(self.classes, classes), MomentStats.zeros(classes, self.n_features)
        weight, mean, cubic = like.weight.copy(), like.mean.copy(), like.mean.copy()
        weight[index], mean[index] = self.weight, self.mean
        higher: tuple[Any, Any] = (None, None)
        if self.layout == "quartic":
            quartic = like.weight.copy()
            cubic[index], quartic[index] = self.cubic, self.quartic
            higher = cubic, quartic
        return type(self)(classes, weight, mean, self.rows, index[self.owner], self.layout, *higher)

    def faded(self, factor: float) -> Self:
        higher = (None if array is None else array * factor for array in (self.cubic, self.quartic))
        rows = self.rows * np.sqrt(factor)
        return type(self)(self.classes, self.weight * factor, self.mean, rows, self.owner, self.layout, *higher)

    def _merged(self, *others: Self) -> MomentStats:  # type: ignore[override]
        parts = [part for part in (self, *others) if part.weight.any()]
        if len(parts) < 2:
            return parts[0] if parts else self
        each, n, mean = np.arange(len(self.classes)), parts[0].weight, parts[0].mean
        rows, owners = [part.rows for part in parts], [part.owner for part in parts]
        with np.errstate(over="ignore", invalid="ignore"):  # is_finite reports it
            for part in parts[1:]:
                total = n + part.weight
                share = np.divide(part.weight, total, out=np.zeros_like(total), where=total > 0)
                delta = part.mean - mean
                moved = n * share > 0
                rows.append((delta * np.sqrt(n * share)[:, None])[moved])
                owners.append(each[moved])
                n, mean = total, mean + delta * share[:, None]
            higher: tuple[Any, ...] = (None, None)
            if self.layout == "quartic":
                about = zip(*(part._higher_about(mean) for part in parts), strict=True)
                higher = tuple(np.add.reduce(values) for values in about)
            together = np.concatenate(rows), np.concatenate(owners)
            merged = type(self)(self.classes, n, mean, *together, self.layout, *higher)
            return merged if is_wide(len(merged.rows), self.n_features) else merged.plain()

    def _without(self, other: Self) -> MomentStats:  # type: ignore[override]
        return self.plain()._without(other.plain()) if other.weight.any() else self

    def projected(self, center: Array, directions: Array) -> MomentStats:  # type: ignore[override]
        return self.plain().projected(center, directions)

    def first(self, m: int) -> MomentStats:  # type: ignore[override]
        return self.plain().first(m)

    def scaled(self, center: Array, scale: Array) -> MomentStats:  # type: ignore[override]
        return self.plain().scaled(center, scale)

    def to_layout(self, layout: str) -> MomentStats:  # type: ignore[override]
        if layout == self.layout:
            return self
        self._check_conversion(layout)
        if layout == "diag":
            return MomentStats(self.classes, self.weight, self.mean, self.variation, "diag")
        return type(self)(self.classes, self.weight, self.mean, self.rows, self.owner, layout)

    def is_finite(self) -> bool:
        sums = (self.weight, self.mean, self.variation, self.cubic, self.quartic)
        return all(array is None or all_finite(array) for array in sums)

    def to_arrays(self) -> dict[str, Array]:
        """Return the arrays by name: the rows are turned such that they hold no more than their scatter does."""
        groups = self.few_rows(self.layout == "pooled")
        turned = [np.linalg.qr(rows, mode="r") for rows in groups]
        owner = np.repeat(np.arange(len(turned)), [len(rows) for rows in turned])
        arrays = {"weight": self.weight, "mean": self.mean, "owner": owner}
        arrays[f"rows_{self.layout}"] = np.concatenate([*turned, np.zeros((0, self.n_features))])
        more = {"cubic": self.cubic, "quartic": self.quartic}
        return arrays | {name: array for name, array in more.items() if array is not None}

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        layout = next((layout for layout in LAYOUTS[1:] if f"rows_{layout}" in arrays), None)
        if layout is None or not {"mean", "owner"} <= arrays.keys():
            raise StatisticsError(f"these are not the arrays of moments: {sorted(arrays)}")
        rows, owner = np.array(arrays[f"rows_{layout}"], np.float64), np.array(arrays["owner"], np.int64)
        names = ("weight", "mean", "cubic", "quartic")
        rest = {name: np.array(arrays[name], np.float64) for name in names if name in arrays}
        k, d = len(classes), rest["mean"].shape[-1]
        like = cls.zeros(classes, d, layout).to_arrays() | {f"rows_{layout}": rows[:0], "owner": owner[:0]}
        fits = arrays.keys() == like.keys() and all(array.shape == like[name].shape for name, array in rest.items())
        fits &= rows.ndim == 2 and rows.shape == (len(owner), d) and owner.ndim == 1
        fits &= all(np.isfinite(array).all() for array in (rows, *rest.values())) and bool((rest["weight"] >= 0).all())
        if not fits or not ((owner >= 0) & (owner < max(k, 1))).all():
            raise StatisticsError(f"the arrays do not fit {k} classes together, or are invalid")
        return cls(np.array(classes), rows=rows, owner=owner, layout=layout, **rest)
