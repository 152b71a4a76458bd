"""Sufficient statistics: what the rows said, and nothing that anybody chose."""

from .base import Statistics
from .bundle import BundleStats
from .categories import CategoryStats
from .collectors import (
    CollectBundle,
    CollectCategories,
    CollectCounts,
    CollectGaussian,
    CollectMoments,
    CollectTogether,
    CollectTruths,
)
from .counts import CountStats
from .moments import MomentStats

__all__ = [
    "BundleStats",
    "CategoryStats",
    "CollectBundle",
    "CollectCategories",
    "CollectCounts",
    "CollectGaussian",
    "CollectMoments",
    "CollectTogether",
    "CollectTruths",
    "CountStats",
    "MomentStats",
    "Statistics",
]
