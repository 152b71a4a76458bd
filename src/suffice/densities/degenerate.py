"""What becomes of variances that a class varies too little to estimate.

A column is degenerate in a class if the class varies less in it, over all its rows, than a single row does on average
within all classes. Either the class is different: if it were like the others, some of its rows should have had other
values. Or such values are rare in all classes, and the class just has none yet. Maximum likelihood cannot tell; it lets
these columns decide everything. So the class gets the variance within all classes, divided by 1 + e^4, where e is the
number of rows that should have had other values.

In a full covariance, such columns have these variances and no correlations; if a quarter of the columns are degenerate,
all classes share the covariance of these columns instead. The other columns also get pseudo-rows with the variances
within all classes, one for each direction in which the class does not vary. Classes without such columns and directions
keep the estimate of maximum likelihood, to the last digit.

The fourth power comes from measurements. On the tables of `benchmarks.datasets`, brought to one scale, `diag` has more
errors than GaussianNB on none by more than noise. 1 + e^2 s, where s is the share of rows that should have had other
values, has fewer errors on average, above all where columns are indicators of many rare categories; but it has more
than GaussianNB on seven tables, in some of which a constant column tells the class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..stats import MomentStats
from .covariance import Floored, PseudoRows, Structure

Array = NDArray[Any]

TREATMENTS = ("pooled", "floor")
"""What a degenerate variance becomes: that of all classes together, or the variance floor."""

LARGE = 0.01  # share of the variance within classes from which on a variance is never degenerate
MANY = 0.25  # share of the columns


def varying(scatter: Array, weight: Array, unit: Array, kind: Structure) -> Array:
    """Which columns vary within classes, (..., d): their unit is not borrowed from elsewhere (`covariance.yardstick`).

    Parameters
    ----------
    scatter, unit : arrays (..., d)
        The sums of squares within all classes, and the variances that those of classes are compared with.
    weight : array (..., d) or (..., 1)
        The total weight of the rows.
    kind : Structure
        With one variance for all columns, all of them vary if one does.

    Returns
    -------
    array of bool (..., d)
        True for those that vary.
    """
    pooled = scatter / np.where(weight > 0, weight, 1.0)
    pooled = pooled.mean(axis=-1, keepdims=True) if kind.shape == "spherical" else pooled
    return np.asarray(np.broadcast_to(pooled > 0.1 * unit, unit.shape))


def is_degenerate(variance: Array, weight: Array, unit: Array) -> Array:
    """Which variances (..., k, d) of classes with weights (..., k, 1) are degenerate.

    Parameters
    ----------
    variance, weight : arrays (..., k, d) and (..., k, 1) or (..., k, d)
        Of classes.
    unit : array (..., d)
        The variances within all classes.

    Returns
    -------
    array of bool (..., k, d)
        Where the sum of squares is less than a single row's, and less than a hundredth of what is usual.
    """
    share = np.minimum(1 / np.where(weight > 0, weight, 1.0), LARGE)
    return np.asarray(variance < share * unit[..., None, :])


def expected_rows(weight: Array, mean: Array, scatter: Array) -> Array:
    """How many rows of each class would differ in a column if the class were like the others, (..., k, d).

    Of a column that is 1 in a share p of the rows of the other classes, and 0 in a class of n rows, it is n p.

    Parameters
    ----------
    weight, mean, scatter : arrays (..., k, 1) or (..., k, d), (..., k, d) and (..., k, d)
        The moments of classes.

    Returns
    -------
    array (..., k, d)
        The weight times the share of the variance of the other classes about the mean of the class that is due to the
        difference of the means.
    """
    total = weight.sum(axis=-2, keepdims=True)
    share = weight / np.where(total > 0, total, 1.0)
    grand = (share * mean).sum(axis=-2, keepdims=True)
    about_grand = scatter + weight * (mean - grand) ** 2
    others = np.where(total > weight, total - weight, 1.0)
    shift = weight / others * (mean - grand)  # of the mean of the other classes, the other way
    left = np.maximum(about_grand.sum(axis=-2, keepdims=True) - about_grand, 0.0) / others
    away = (mean - grand + shift) ** 2
    about = np.maximum(left - shift**2, 0.0) + away
    return np.asarray(weight * np.divide(away, about, out=np.zeros_like(about), where=about > 0))


def pooled_variances(
    variance: Array, weight: Array, mean: Array, scatter: Array, unit: Array, varies: Array, kind: Structure
) -> tuple[Array, Array]:
    """Variances (..., k, d), raised where they are degenerate, and where they are; from the moments of the classes.

    One variance for all columns becomes that within all classes.
    """
    low = is_degenerate(variance, weight, unit) & varies[..., None, :]
    if not low.any():
        return variance, low
    rows = 0.0 if kind.shape == "spherical" else expected_rows(weight, mean, scatter)
    return np.where(low, np.maximum(variance, unit[..., None, :] / (1 + rows**4)), variance), low


def shared_columns(covariance: Array, low: Array, weight: Array, unit: Array, varies: Array) -> bool:
    """Give classes (k, d, d) one covariance for the columns that are degenerate in some class, if these are many.

    Parameters
    ----------
    covariance : array (k, d, d)
        Of maximum likelihood; changed in place.
    low : array of bool (k, d)
        What is degenerate.
    weight, unit, varies : arrays (k,), (d,), (d,) of bool
        Of the classes; the variances within all of them; and which of these are not zero.

    Returns
    -------
    bool
        Whether they are many.
    """
    rows = int(low.any(axis=0).sum())
    if rows < MANY * varies.sum() or not rows:
        return False
    pooled = np.einsum("k,kij->ij", weight / weight.sum(), covariance)
    # All classes also get as many pseudo-rows. Where these outweigh the rows of some class, the columns are shared.
    squares = np.einsum("kii->ki", covariance) * weight[:, None]
    shared = ((weight > len(unit))[:, None] & varies & (squares < rows * unit)).any(axis=0)
    own = np.diag(np.where(varies & ~shared, rows * unit, 0.0))
    for g in np.flatnonzero(weight > 0):
        covariance[g] = (covariance[g] * weight[g] + own) / (weight[g] + rows)
        covariance[g][shared] = covariance[g][:, shared] = 0.0
        covariance[g][np.ix_(shared, shared)] = pooled[np.ix_(shared, shared)]
    return True


def regular(
    stats: MomentStats, kind: Structure, covariance: Array, own: Array
) -> tuple[Array, Floored, PseudoRows | None]:
    """Covariances without degenerate columns, these by the index of the covariance, and what singular matrices get.

    Parameters
    ----------
    stats : MomentStats
        What the covariances come from.
    kind : Structure
        Their structure.
    covariance : array (g, d, d) or (g, d)
        Of maximum likelihood, or shrunk; may be changed in place.
    own : array (d,)
        The variances within all classes.

    Returns
    -------
    tuple
        The covariances, a dict, and PseudoRows for `covariance.floored_full` where they are matrices.
    """
    varies = varying(stats.variation.sum(axis=0), stats.column_weight.sum(axis=0), own, kind)
    if kind.tied:
        return covariance, {}, PseudoRows(np.array([stats.total]), varies[None]) if kind.shape == "full" else None
    full = kind.shape == "full"
    variance = np.einsum("kii->ki", covariance) if full else covariance
    moments = stats.column_weight, stats.mean, stats.variation
    raised, low = pooled_variances(variance, *moments, own, varies, kind)
    if full:  # in a class of no more rows than columns, it is chance: pseudo-rows are enough
        low = low & (stats.weight > stats.n_features)[:, None]
    found = {int(g): low[g] for g in np.flatnonzero(low.any(axis=1))}
    if not full:
        return np.ascontiguousarray(raised), found, None
    alone = low
    if found and shared_columns(covariance, low, stats.weight, own, varies):
        alone = np.zeros_like(low)
    covariance[alone[:, :, None] | alone[:, None, :]] = 0.0
    np.einsum("kii->ki", covariance)[alone] = raised[alone]
    return covariance, found, PseudoRows(stats.weight, varies & ~alone)
