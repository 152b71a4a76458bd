"""Gaussian densities from moments: maximum likelihood, then shrinkage, then what keeps covariances regular."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import ColumnWarning, listed, warn
from ..stats import MomentStats, PatternStats
from ..stats.scatter import refuse_overflow
from .base import seen_classes
from .covariance import (
    FLOORED,
    POOLED,
    Floored,
    Shrinkage,
    Structure,
    covariances,
    estimated_shrinkage,
    feature_variance,
    floored_diagonal,
    floored_full,
    neutral,
    shrinkage_towards,
    warn_of_floor,
)
from .degenerate import regular
from .gaussian import GaussianDensity
from .incomplete import IncompleteRows, completed

Array = NDArray[Any]
Names = tuple[str, ...] | None


def estimated(
    stats: MomentStats | PatternStats,
    kind: Structure,
    shrinkage: float | str | None,
    floor: float,
    names: Names,
    floor_by: str,
    start: GaussianDensity | None,
    lenient: bool,
    target: str,
    degenerate: str,
) -> GaussianDensity:
    """What `GaussianDensity.estimate` returns."""
    seen_classes(stats)  # warns
    stats = stats.to_layout(kind.layout(shrinkage, target))
    own = _floor_unit(stats, kind, names, floor_by, lenient)
    pull = shrinkage_towards(shrinkage, target, own)
    moments = _completed(stats, kind, pull, floor, names, own, start, lenient)
    if kind.shape == "full" and (few := moments.few_rows(kind.tied)) is not None:
        from .wide import regular_rows, shrunk_rows, wide_density

        if pull is None and degenerate == "pooled":
            parts = regular_rows(moments, few, kind, own, floor, names)
        else:
            parts = shrunk_rows(moments, few, kind, pull)
        wide = wide_density(moments, kind, moments.mean, parts, own, floor, names)
        if wide is not None:
            return wide
    return _of_moments(moments, kind, pull, floor, names, own, degenerate)


def found_shrinkage(
    stats: MomentStats | PatternStats, kind: Structure, shrinkage: str, floor: float, target: str
) -> Array:
    """How far "oas" or "ledoit_wolf" pull the full covariances of a density, (g,)."""
    stats = stats.to_layout(kind.layout(shrinkage, target))
    own = _floor_unit(stats, kind, None, "within", False)
    pull = shrinkage_towards(shrinkage, target, own)
    assert pull is not None
    return estimated_shrinkage(_completed(stats, kind, pull, floor, None, own, None, False), kind, pull)


def _completed(
    stats: MomentStats | PatternStats,
    kind: Structure,
    shrinkage: Shrinkage | None,
    floor: float,
    names: Names,
    own: Array,
    start: GaussianDensity | None,
    lenient: bool,
) -> MomentStats:
    """The moments to estimate from: where cells of full covariances are missing, as complete rows would have them."""
    if kind.shape != "full" or not stats.has_missing:
        return cast("MomentStats", stats)

    def estimate(moments: MomentStats) -> GaussianDensity:
        return _of_moments(moments, kind, shrinkage, floor, None, own)

    return completed(cast("PatternStats", stats), kind, estimate, names, start, lenient)


def _floor_unit(
    stats: MomentStats | PatternStats, kind: Structure, names: Names, floor_by: str, lenient: bool
) -> Array:
    """The variance of each feature that the floor is relative to: that of its observed values, which stays the same
    while what is missing is estimated."""
    if kind.shape == "full" and stats.has_missing:
        stats = IncompleteRows(cast("PatternStats", stats), kind).start(names, lenient)
    return feature_variance(cast("MomentStats", stats), floor_by)


def _of_moments(
    stats: MomentStats,
    kind: Structure,
    shrinkage: Shrinkage | None,
    floor: float,
    names: Names,
    own: Array,
    degenerate: str = "floor",
) -> GaussianDensity:
    covariance = covariances(stats, kind, shrinkage)
    mean = stats.mean
    if stats.observed is not None:
        mean, covariance = neutral(mean, stats.scatter, stats.observed, covariance, kind)
        if not (has := stats.observed.any(axis=0)).all() and stats.weight.any():
            empty = [names[j] if names else j for j in np.flatnonzero(~has).tolist()]
            warn(
                f"all values of column {listed(empty)} are missing: it is ignored; leave the column out",
                ColumnWarning,
            )
    return regularised(stats, kind, mean, covariance, floor, names, own, degenerate)


def regularised(
    stats: MomentStats,
    kind: Structure,
    mean: Array,
    covariance: Array,
    floor: float,
    names: Names,
    own: Array | None = None,
    degenerate: str = "floor",
) -> GaussianDensity:
    """The density with this mean and covariance, raised where they are degenerate or below the floor.

    `own` is the variance of each feature, which the floor is relative to; by default, that within classes.
    """
    seen = stats.weight > 0
    own = feature_variance(stats) if own is None else own
    if kind.shape == "spherical":
        own = np.full_like(own, own.mean())
    refuse_overflow(names, mean[seen], covariance)
    pooled: Floored = {}
    pseudo = None
    if degenerate == "pooled":
        covariance, pooled, pseudo = regular(stats, kind, covariance, own)
    if kind.shape == "full":
        covariance, whitening, log_det, floored = floored_full(covariance, own, floor, names, pseudo)
    else:
        covariance, whitening, log_det, floored = floored_diagonal(covariance, own, floor)
    if pseudo is not None:
        singular = {g: low & pseudo.varies[g] for g, low in floored.items() if (low & pseudo.varies[g]).any()}
        pooled, floored = {**singular, **pooled}, {g: low for g, low in floored.items() if g not in singular}
    for done, found in ((POOLED, pooled), (FLOORED, floored)):
        told = {g: columns for g, columns in sorted(found.items()) if kind.tied or seen[g]}
        if told and seen.any():
            warn_of_floor(kind, stats.classes, names or range(stats.n_features), told, done)
    return GaussianDensity(kind, mean, covariance, whitening, log_det, seen)
