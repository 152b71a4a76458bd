"""First and second moments of numeric columns, class by class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import LIKE, StatisticsError, not_known, remedy
from ..kernels.reference import present_rows
from ..lines import counted
from ..tables.batch import Batch
from ..tables.labels import positions, same, union
from ..tables.table import Sparse, Table, contiguous
from . import scatter as scatters
from .base import FAINT, Statistics, by_class, faint, settle, spread, vocabulary
from .scatter import HIGHER, LAYOUTS, shape_of
from .sums import centred

Array = NDArray[Any]

_DENSIFIED = 1 << 20  # cells of a sparse table that are made dense at a time
_WIDE = 512  # columns from which on products are left to BLAS


@dataclass(frozen=True, slots=True, eq=False)
class MomentStats(Statistics):
    """Weights, means and centred second moments of every class.

    Parameters
    ----------
    classes : array of shape (k,)
        The sorted labels.
    weight : array of shape (k,)
        The total weight of each class: the number of rows where there are no weights.
    mean : array of shape (k, d)
        The means.
    scatter : array
        The sum of w (x - mean)(x - mean)': its diagonal (k, d), all of it (k, d, d), or summed over all classes (d, d),
        as the layout says.
    layout : {"diag", "pooled", "full", "quartic", "coquartic"}
        What is kept of the second moments; see `suffice.stats.scatter.LAYOUTS`.
    cubic : array, optional
        With z = x - mean, the sum of ``w |z|^2 z`` (k, d) in the quartic layout, and those of ``w z_i^2 z_j`` (k, d, d)
        in the coquartic one.
    quartic : array, optional
        The sum of ``w |z|^4`` (k,) in the quartic layout, and those of ``w z_i^2 z_j^2`` (k, d, d) in the coquartic
        one.
    observed : array of shape (k, d), optional
        The weight of the rows that have the column, where some do not; in the diag layout.

    Examples
    --------
    >>> a = MomentStats.of(Batch.of([[1.0], [3.0]], ["x", "x"]))
    >>> b = MomentStats.of(Batch.of([[5.0], [0.0]], ["x", "y"]))
    >>> (a + b).mean
    array([[3.],
           [0.]])
    >>> ((a + b) - b).weight
    array([2., 0.])
    """

    classes: Array
    weight: Array
    mean: Array
    scatter: Array
    layout: str = "diag"
    cubic: Array | None = None
    quartic: Array | None = None
    observed: Array | None = None

    sums: ClassVar[tuple[str, ...]] = ("weight", "scatter", "cubic", "quartic", "observed")

    def __post_init__(self) -> None:
        settle(self, "weight", "mean", "scatter", "cubic", "quartic", "observed")

    def __repr__(self) -> str:
        size = f"{len(self.classes)} classes, {self.n_features} features, weight {counted(self.total)}"
        return f"MomentStats({self.layout}, {size})"

    @property
    def n_features(self) -> int:
        return int(self.mean.shape[1])

    @property
    def total(self) -> float:
        """The weight of all classes together."""
        return float(self.weight.sum())

    @property
    def column_weight(self) -> Array:
        """The weight of the rows that have each column, (k, d), or (k, 1) where all of them do."""
        return self.weight[:, None] if self.observed is None else self.observed

    @property
    def has_missing(self) -> bool:
        """Whether any cells are missing."""
        return self.observed is not None

    @classmethod
    def zeros(cls, classes: Any, n_features: int, layout: str = "diag") -> Self:
        """Return the statistic of no rows.

        Parameters
        ----------
        classes : array-like of shape (k,)
            Labels, in any order; there may be none.
        n_features : int
            The number of columns.
        layout : {"diag", "pooled", "full", "quartic", "coquartic"}
            What is kept of the second moments.

        Returns
        -------
        MomentStats
            The identity of addition.

        Examples
        --------
        >>> from suffice import MomentStats
        >>> MomentStats.zeros(["b", "a"], n_features=3, layout="pooled")
        MomentStats(pooled, 2 classes, 3 features, weight 0)
        """
        if layout not in LAYOUTS:
            raise StatisticsError(f"layout={layout!r} {not_known(layout, LAYOUTS)}")
        classes = vocabulary(classes)
        k, d = len(classes), n_features
        shapes = {"quartic": ((k, d), (k,)), "coquartic": ((k, d, d), (k, d, d))}.get(layout, ())
        higher = [np.zeros(shape) for shape in shapes]
        return cls(classes, np.zeros(k), np.zeros((k, d)), np.zeros(scatters.shape_of(layout, k, d)), layout, *higher)

    @classmethod
    def from_sums(cls, n: Any, sum_x: Any, sum_xx: Any, *, classes: Any = None, layout: str | None = None) -> Self:
        """Make the statistic from plain sums, such as those of a query of your own.

        Plain sums lose digits where a mean is large compared with the standard deviation: of the 16 digits of a double,
        about ``2 log10(mean / std)`` are gone. `of` centres the rows first and has no such loss.

        Parameters
        ----------
        n : array (k,), or a number for one class
            The number of rows of each class, or their total weight.
        sum_x : array (k, d), or (d,) for one class
            The sums of the columns.
        sum_xx : array
            The sums of squares of the columns (k, d), layout "diag"; the sums of products x x' of each class
            (k, d, d), "full"; or those of all classes together (d, d), "pooled". No leading axis for one class.
        classes : array (k,), optional
            The labels, in any order; by default 0, 1 and so on.
        layout : {"diag", "full", "pooled"}, optional
            Where the shape of `sum_xx` fits two of them.

        Returns
        -------
        MomentStats
            The statistic of the rows behind the sums; PrecisionWarning where few digits are left of a variance.

        Examples
        --------
        >>> moments = MomentStats.from_sums([2, 1], [[4.0], [5.0]], [[10.0], [25.0]], classes=["x", "y"])
        >>> moments.mean, moments.scatter
        (array([[2.],
               [5.]]), array([[2.],
               [0.]]))
        """
        return cls(*centred(n, sum_x, sum_xx, classes, layout))

    def to_sums(self) -> tuple[Array, Array, Array]:
        """The plain sums that `from_sums` takes: n, sum_x and sum_xx.

        Returns
        -------
        tuple of arrays
            The weights (k,), the sums of the columns (k, d), and the sums of squares (k, d) or of products (k, d, d);
            (d, d) over all classes in the pooled layout.

        Examples
        --------
        >>> MomentStats.of(Batch.of([[1.0], [3.0]], ["x", "x"])).to_sums()
        (array([2.]), array([[4.]]), array([[10.]]))
        """
        if self.observed is not None:
            raise StatisticsError("some cells are missing: the columns have different numbers of rows")
        layout = "full" if self.layout in HIGHER else self.layout
        sum_xx = self.scatter.copy()
        sum_x = self.weight[:, None] * self.mean
        scatters.add_outer(sum_xx, layout, sum_x, self.mean)
        return self.weight.copy(), sum_x, sum_xx

    @classmethod
    def of(cls, batch: Batch, layout: str = "diag", skip_missing: bool = False) -> Self:
        """Return the statistic of one batch of labelled rows.

        Parameters
        ----------
        batch : Batch
            Rows with labels, hard or soft, and weights where they have any.
        layout : {"diag", "pooled", "full", "quartic", "coquartic"}
            What is kept of the second moments.
        skip_missing : bool, default=False
            Leave missing cells out, in the diag layout; otherwise NaN makes the moments NaN.

        Returns
        -------
        MomentStats
            What is kept of the rows.

        Examples
        --------
        >>> from suffice import MomentStats
        >>> from suffice.tables.batch import Batch
        >>> moments = MomentStats.of(Batch.of([[1.0, 1.0], [3.0, 5.0]], ["x", "x"]), layout="full")
        >>> moments.mean, moments.scatter[0] / moments.total  # the covariance, with the divisor n
        (array([[2., 3.]]), array([[1., 2.],
               [2., 4.]]))
        """
        return by_class(
            batch,
            partial(cls._of_table, layout=layout, skip_missing=skip_missing),
            partial(cls._of_shares, layout=layout, skip_missing=skip_missing),
        )

    @classmethod
    def _of_shares(
        cls, table: Table, classes: Array, share: Array, weight: Array | None, layout: str, skip_missing: bool
    ) -> Self | None:
        """The moments of softly labelled rows, all classes at once; None where this is not possible."""
        if isinstance(table, Sparse) or layout in HIGHER or (layout == "full" and table.n_features >= _WIDE):
            return None
        if layout == "diag":
            n, mean, scatter = kernels.active.soft_diag_moments(table.numbers(), share, weight)
            moments = cls(classes, n, mean, scatter, layout)
            if skip_missing and not moments.is_finite():
                moments = moments._skipping_missing(table.floats(), partial(_soft_column, share=share, weight=weight))
        else:
            n, mean, scatter = kernels.active.soft_full_moments(table.numbers(), share, weight, layout == "pooled")
            moments = cls(classes, n, mean, scatter, layout)
        return moments if moments.is_finite() else None  # a row spoils classes that have no share of it, too

    @classmethod
    def _of_table(
        cls, table: Table, classes: Array, code: Array, weight: Array | None, layout: str, skip_missing: bool
    ) -> Self:
        step = max(1, _DENSIFIED // table.n_features)
        if isinstance(table, Sparse) and len(table) > step:
            parts = []
            for start in range(0, len(table), step):
                rows = slice(start, start + step)
                w = None if weight is None else weight[rows]
                parts.append(cls._of_table(table[rows], classes, code[rows], w, layout, skip_missing))
            return reduce(cls._merged, parts)
        k = len(classes)
        if layout == "diag":
            n, mean, scatter = kernels.active.diag_moments(table.numbers(), code, weight, k)
            moments = cls(classes, n, mean, scatter, layout)
            unseen = skip_missing and not moments.is_finite()
            column = partial(_hard_column, code=code, weight=weight, k=k)
            return moments._skipping_missing(table.floats(), column) if unseen else moments
        if layout == "full" and table.n_features >= _WIDE:
            return cls._of_wide(table, classes, code, weight)
        if layout not in HIGHER:
            n, mean, scatter = kernels.active.full_moments(table.numbers(), code, weight, k, layout == "pooled")
            return cls(classes, n, mean, scatter, layout)
        if layout == "quartic":
            n, mean, scatter, *higher = kernels.active.quartic_moments(table.numbers(), code, weight, k)
            return cls(classes, n, mean, scatter, layout, *higher)
        X = table.floats()
        step = max(256, (1 << 17) // X.shape[1])  # in the cache, so that X itself is read once
        total = cls._of_block(X[:step], classes, code[:step], None if weight is None else weight[:step])
        for start in range(step, len(X), step):
            rows = slice(start, start + step)
            w = None if weight is None else weight[rows]
            total = total._merged(cls._of_block(X[rows], classes, code[rows], w))
        return total

    @classmethod
    def _of_wide(cls, table: Table, classes: Array, code: Array, weight: Array | None) -> Self:
        """Compute full moments by BLAS, class by class, which is fastest for wide rows."""
        k, d = len(classes), table.n_features
        n, mean, scatter = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
        for c in range(k):
            rows = np.flatnonzero(code == c if weight is None else (code == c) & (weight != 0))
            if not len(rows):
                continue
            w = np.ones(len(rows)) if weight is None else weight[rows]
            X = table[contiguous(rows)].floats()
            with np.errstate(over="ignore", invalid="ignore"):  # is_finite reports it
                n[c] = w.sum()
                center = X[w.argmax()].astype(np.float64)
                z = X - center
                mean[c] = w @ z / n[c]
                z -= mean[c]
                mean[c] += center
                z *= np.sqrt(w)[:, None]
                np.dot(z.T, z, out=scatter[c])
        return cls(classes, n, mean, scatter, "full")

    @classmethod
    def _of_block(cls, X: Array, classes: Array, code: Array, weight: Array | None) -> Self:
        """Compute the moments of each two columns."""
        k = len(classes)
        X, code, weight = present_rows(X, code, weight)
        n, mean, scatter = kernels.active.full_moments(X, code, weight, k, False)
        if not len(X):
            return cls.zeros(classes, X.shape[1], "coquartic")
        w = np.ones(len(X)) if weight is None else weight
        cubic, quartic = np.zeros_like(scatter), np.zeros_like(scatter)
        with np.errstate(over="ignore", invalid="ignore"):  # is_finite reports it
            for c in np.flatnonzero(n):
                rows = contiguous(np.flatnonzero(code == c))
                z = X[rows] - mean[c]
                squares = z**2
                weighted = (squares * w[rows, None]).T
                cubic[c], quartic[c] = weighted @ z, weighted @ squares
        return cls(classes, n, mean, scatter, "coquartic", cubic, quartic)

    def _skipping_missing(self, X: Array, column_moments: Callable[[Array, Array], kernels.Moments]) -> Self:
        """Return the moments of each column over the rows that have it: ``column_moments(x, rows)``."""
        d = self.n_features
        mean, scatter, observed = self.mean.copy(), self.scatter.copy(), np.tile(self.weight[:, None], d)
        for j in np.flatnonzero(~np.isfinite(self.mean).all(axis=0)):
            kept = ~np.isnan(X[:, j])
            one = column_moments(X[kept, j : j + 1], kept)
            observed[:, j], mean[:, j], scatter[:, j] = one[0], one[1][:, 0], one[2][:, 0]
        return replace(self, mean=mean, scatter=scatter, observed=observed)

    def aligned(self, classes: Array) -> Self:
        if same(classes, self.classes):
            return self
        indices, k = positions(self.classes, classes), len(classes)

        return replace(
            self,
            classes=classes,
            weight=spread(self.weight, indices, k),
            mean=spread(self.mean, indices, k),
            scatter=self.scatter if self.layout == "pooled" else spread(self.scatter, indices, k),
            cubic=None if self.cubic is None else spread(self.cubic, indices, k),
            quartic=None if self.quartic is None else spread(self.quartic, indices, k),
            observed=None if self.observed is None else spread(self.observed, indices, k),
        )

    def _check_columns(self, other: Self) -> None:
        self._check_n_features(other)
        if self.layout != other.layout:
            raise StatisticsError(
                f"statistics of different models ({self.layout!r} and {other.layout!r} moments) cannot be merged; "
                + remedy(
                    "use the same covariance= and shrinkage= for both, or convert the richer one with to_layout()",
                    LIKE[1],
                )
            )

    def plus(self, *others: Self) -> Self:
        if any(type(other) is not type(self) for other in others):
            return Statistics.plus(self, *others)
        for other in others:
            self._check_columns(other)
        classes = reduce(union, (other.classes for other in others), self.classes)
        return self.aligned(classes)._merged(*(other.aligned(classes) for other in others))

    def _merged(self, *others: Self) -> Self:
        parts = (self, *others)
        with np.errstate(over="ignore", invalid="ignore"):  # is_finite reports it
            n, mean, steps = self.column_weight, self.mean, []
            for other in others:
                total = n + other.column_weight
                share = np.divide(other.column_weight, total, out=np.zeros_like(total), where=total > 0)
                delta = other.mean - mean
                steps.append(delta * np.sqrt(n * share))
                n, mean = total, mean + delta * share
            scatter = scatters.total([part.scatter for part in parts], self.layout, steps)
            observed = None if all(part.observed is None for part in parts) else n
            weight = np.add.reduce([part.weight for part in parts])
            merged = replace(self, weight=weight, mean=mean, scatter=scatter, observed=observed)
            if self.layout not in HIGHER:
                return merged
            cubic, quartic = zip(*(part._higher_about(mean) for part in parts), strict=True)
            return replace(merged, cubic=np.add.reduce(cubic), quartic=np.add.reduce(quartic))

    def _without(self, other: Self) -> Self:
        with np.errstate(over="ignore", invalid="ignore"):
            weight = self.weight - other.weight
            weight[weight <= 1e-12 * self.weight] = 0.0
            mine, theirs = self.column_weight, other.column_weight
            n = mine - theirs  # (k, d), or (k, 1) where no cell is missing
            if (n < -1e-9 * mine).any() or (n > (weight + 1e-9 * self.weight)[:, None]).any():
                raise StatisticsError("cannot forget rows that were never learnt: their missing cells do not match")
            gone = n <= 1e-12 * mine
            n[gone] = 0.0
            ratio = np.divide(theirs, n, out=np.zeros_like(n), where=~gone)
            mean = self.mean + (self.mean - other.mean) * ratio
            size = np.maximum(np.abs(self.mean), np.abs(other.mean))
            blurred = np.abs(mean) <= 8 * np.finfo(np.float64).eps * size * (1 + ratio)
            mean = np.where(gone | blurred, 0.0, mean)
            scatter = self.scatter - other.scatter
            share = np.divide(theirs, mine, out=np.zeros_like(n), where=mine > 0)
            step = (mean - other.mean) * np.sqrt(n * share)
            scatters.add_outer(scatter, self.layout, -step, step)
            impossible = "cannot forget rows that were never learnt: a variance would be negative without them"
            scatters.clean(scatter, self.layout, n, self.scatter, mine * (1e-12 * size) ** 2, impossible)
            observed = n if (n != weight[:, None]).any() and n.shape == mean.shape else None
            left = replace(self, weight=weight, mean=mean, scatter=scatter, observed=observed)
            if self.layout not in HIGHER:
                return left
            one, two = self._higher_about(mean), other._higher_about(mean)
            cubic, quartic = one[0] - two[0], np.maximum(one[1] - two[1], 0.0)
            empty = weight == 0
            cubic[empty], quartic[empty] = 0.0, 0.0
            return replace(left, cubic=cubic, quartic=quartic)

    def _higher_about(self, center: Array) -> tuple[Array, Array]:
        """Third and fourth moments about another centre (k, d)."""
        assert self.cubic is not None
        assert self.quartic is not None
        shift = self.mean - center
        if self.layout == "coquartic":
            return self._coquartic_about(shift)
        length = np.einsum("kd,kd->k", shift, shift)
        s_shift = self._scatter_times(shift)
        trace = self.variation.sum(axis=1)
        n = self.weight
        cubic = self.cubic + 2 * s_shift + shift * (trace + n * length)[:, None]
        quartic = (
            self.quartic + 4 * np.einsum("kd,kd->k", shift, self.cubic + s_shift) + length * (2 * trace + n * length)
        )
        return cubic, quartic

    def _coquartic_about(self, s: Array) -> tuple[Array, Array]:
        """Third and fourth moments of each two columns about centres that are `s` (k, d) below the means."""
        assert self.cubic is not None
        assert self.quartic is not None
        own, square, n = self.variation[:, :, None], s[:, :, None] ** 2, self.weight[:, None, None]
        left, right, scatter = s[:, :, None], s[:, None, :], self.scatter
        cubic = self.cubic + right * own + 2 * left * scatter + n * square * right
        mixed = 2 * right * self.cubic + right**2 * own
        both = 4 * left * right * scatter + n * square * right**2
        return cubic, self.quartic + mixed + np.swapaxes(mixed, 1, 2) + both

    def _scatter_times(self, vectors: Array) -> Array:
        """The products of the scatter of each class and a vector, (k, d)."""
        return np.asarray(np.einsum("kij,kj->ki", self.scatter, vectors))

    def projected(self, center: Array, directions: Array) -> Self:
        """Return the moments of (x - center) directions, without the rows.

        Parameters
        ----------
        center : array of shape (d,)
            What is subtracted first.
        directions : array of shape (d, m)
            The directions to project on.

        Returns
        -------
        MomentStats
            Of m columns; needs the pooled or the full layout.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import MomentStats
        >>> moments = MomentStats.from_sums(2, [2.0, 0.0], [[4.0, 0.0], [0.0, 2.0]])
        >>> sums = moments.projected(np.zeros(2), np.ones((2, 1)))  # of both columns
        >>> sums.mean, sums.scatter
        (array([[1.]]), array([[[4.]]]))
        """
        if self.layout not in ("pooled", "full"):
            raise StatisticsError(f"{self.layout!r} moments cannot be projected; collect 'pooled' or 'full' ones")
        scatter = directions.T @ self.scatter @ directions
        return replace(
            self, mean=(self.mean - center) @ directions, scatter=(scatter + np.swapaxes(scatter, -1, -2)) / 2
        )

    def first(self, m: int) -> Self:
        """Return the moments of the first columns.

        Parameters
        ----------
        m : int
            How many columns to keep.

        Returns
        -------
        MomentStats
            Of m columns.

        Examples
        --------
        >>> from suffice import MomentStats
        >>> MomentStats.from_sums(2, [4.0, 6.0], [10.0, 26.0]).first(1).mean
        array([[2.]])
        """
        if self.layout in HIGHER:
            raise StatisticsError(
                f"{self.layout!r} moments cannot be restricted to some columns; convert them with to_layout('full')"
            )
        scatter = self.scatter[:, :m] if self.layout == "diag" else self.scatter[..., :m, :m]
        observed = None if self.observed is None else self.observed[:, :m]
        return replace(self, mean=self.mean[:, :m], scatter=np.ascontiguousarray(scatter), observed=observed)

    def scaled(self, center: Array, scale: Array) -> Self:
        """Return the moments of (x - center) / scale, column by column.

        Parameters
        ----------
        center : array of shape (d,)
            What is subtracted first.
        scale : array of shape (d,)
            What is divided by.

        Returns
        -------
        MomentStats
            In the same layout.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import MomentStats
        >>> metres = MomentStats.from_sums(2, [4.0], [10.0])
        >>> feet = metres.scaled(np.zeros(1), np.array([0.3048]))
        >>> feet.mean.round(2), feet.scatter.round(2)
        (array([[6.56]]), array([[21.53]]))
        """
        if self.layout == "quartic":
            raise StatisticsError("'quartic' moments cannot be scaled; convert them with to_layout('full')")
        by = scale**2 if self.layout == "diag" else np.outer(scale, scale)
        scaled = replace(self, mean=(self.mean - center) / scale, scatter=self.scatter / by)
        if self.cubic is None or self.quartic is None:
            return scaled
        return replace(scaled, cubic=self.cubic / by / scale[:, None], quartic=self.quartic / by**2)

    @property
    def variation(self) -> Array:
        """The sums of squares of each column about the means of the classes: (k, d), in the pooled layout (1, d)."""
        return np.atleast_2d(scatters.diagonal(self.scatter, self.layout))

    def few_rows(self, tied: bool) -> list[Array] | None:  # noqa: ARG002
        """Return rows r such that each scatter is the sum of their r r', where they take less room than the scatter.

        Parameters
        ----------
        tied : bool
            Whether to give the rows of all classes together, rather than those of each class.

        Returns
        -------
        list of arrays (m, d), or None
            One for each scatter; None of moments that hold scatters, as all but WideMomentStats do.

        Examples
        --------
        >>> from suffice.stats import WideMomentStats
        >>> from suffice.tables.batch import Batch
        >>> batch = Batch.of([[1.0, 0.0, 4.0], [3.0, 0.0, 4.0]], ["x", "x"])
        >>> WideMomentStats.of(batch, "pooled").few_rows(tied=True)
        [array([[-1.,  0.,  0.],
               [ 1.,  0.,  0.]])]
        """
        return None

    def to_layout(self, layout: str) -> Self:
        """Convert to a layout that keeps less: "coquartic" to "quartic" to "full" to "diag" or "pooled".

        Parameters
        ----------
        layout : {"diag", "pooled", "full", "quartic", "coquartic"}
            What is kept of the second moments.

        Returns
        -------
        MomentStats
            In this layout; StatisticsError where the moments do not hold what it needs.

        Examples
        --------
        >>> from suffice import MomentStats
        >>> from suffice.tables.batch import Batch
        >>> moments = MomentStats.of(Batch.of([[1.0, 1.0], [3.0, 5.0]], ["x", "x"]), layout="full")
        >>> moments.to_layout("diag").scatter
        array([[2., 8.]])
        """
        if layout == self.layout:
            return self
        self._check_conversion(layout)
        scatter, cubic, quartic = self.scatter, None, None
        if layout == "quartic" and self.cubic is not None and self.quartic is not None:
            cubic, quartic = self.cubic.sum(axis=1), self.quartic.sum(axis=(1, 2))
        elif layout == "diag":
            scatter = np.einsum("kii->ki", scatter).copy()
        elif layout == "pooled":
            scatter = scatter.sum(axis=0)
        return replace(self, scatter=scatter, layout=layout, cubic=cubic, quartic=quartic)

    def _check_conversion(self, layout: str) -> None:
        """Raise an error where this layout does not hold what another one needs."""
        full = {"full", *HIGHER}
        order = {"diag": full, "pooled": full, "full": {*HIGHER}, "quartic": {"coquartic"}}
        if self.layout not in order.get(layout, ()):
            raise StatisticsError(
                f"a {self.layout!r} statistic cannot be converted to {layout!r}; collect it again in that layout"
            )

    def is_finite(self) -> bool:
        sums = (self.weight, self.mean, self.scatter, self.cubic, self.quartic)
        return all(a is None or scatters.all_finite(a) for a in sums)

    def is_faint_without(self, gone: Self, rest: Self, unweighted: Self) -> bool:
        # One row that is left of two of equal weight has no variance that could be lost, nor does rounding leave any.
        n, w = rest.column_weight, gone.column_weight
        several = (unweighted.column_weight - np.sign(w) > 1) | (np.abs(n - w) > FAINT * w)
        several = several.any() if self.layout == "pooled" else several
        lost = (rest.variation < FAINT * self.variation) & several
        return bool(faint(self.column_weight, w).any() or lost.any())

    def to_arrays(self) -> dict[str, Array]:
        arrays = {"weight": self.weight, "mean": self.mean, f"scatter_{self.layout}": self.scatter}
        more = {"cubic": self.cubic, "quartic": self.quartic, "observed": self.observed}
        return arrays | {name: array for name, array in more.items() if array is not None}

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        layout = next((layout for layout in LAYOUTS if f"scatter_{layout}" in arrays), None)
        if layout is None or "mean" not in arrays or arrays["mean"].ndim != 2:
            raise StatisticsError(f"these are not the arrays of moments: {sorted(arrays)}")
        if arrays[f"scatter_{layout}"].shape != shape_of(layout, len(classes), arrays["mean"].shape[1]):
            raise StatisticsError(f"the scatter does not fit {len(classes)} classes with the mean")
        like = cls.zeros(classes, arrays["mean"].shape[1], layout).to_arrays()
        if layout == "diag" and "observed" in arrays:
            like["observed"] = like["mean"]
        wrong = {name for name in like | dict(arrays) if name not in like or name not in arrays}
        wrong |= {name for name in like if name not in wrong and not _fits(arrays[name], like[name])}
        wrong |= {name for name in {"weight", "observed"} & set(like) if name not in wrong and (arrays[name] < 0).any()}
        if wrong:
            raise StatisticsError(
                f"arrays {sorted(wrong)} do not fit {len(classes)} classes with the rest, or are invalid"
            )
        copies = {name: np.array(array) for name, array in arrays.items()}
        return cls(np.array(classes), scatter=copies.pop(f"scatter_{layout}"), layout=layout, **copies)


def _hard_column(x: Array, kept: Array, code: Array, weight: Array | None, k: int) -> kernels.Moments:
    """The moments of one column (n, 1), where `kept` says which rows it has."""
    return kernels.active.diag_moments(x, code[kept], None if weight is None else weight[kept], k)  # type: ignore[no-any-return]


def _soft_column(x: Array, kept: Array, share: Array, weight: Array | None) -> kernels.Moments:
    """As `_hard_column`, of soft labels."""
    return kernels.active.soft_diag_moments(x, share[kept], None if weight is None else weight[kept])  # type: ignore[no-any-return]


def _fits(array: Array, like: Array) -> bool:
    return array.shape == like.shape and array.dtype == like.dtype and bool(np.isfinite(array).all())
