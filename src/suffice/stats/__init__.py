"""Sufficient statistics: what the rows said, and nothing that anybody chose."""

from .base import Statistics
from .bundle import BundleStats
from .categories import CategoryStats
from .collectors import (
    CollectBooleans,
    CollectBundle,
    CollectCategories,
    CollectCounts,
    CollectGaussian,
    CollectHistogram,
    CollectMoments,
    CollectTogether,
    CollectTransformed,
)
from .counts import CountStats
from .moments import MomentStats
from .transformed import TransformedStats

__all__ = [
    "BundleStats",
    "CategoryStats",
    "CollectBooleans",
    "CollectBundle",
    "CollectCategories",
    "CollectCounts",
    "CollectGaussian",
    "CollectHistogram",
    "CollectMoments",
    "CollectTogether",
    "CollectTransformed",
    "CountStats",
    "MomentStats",
    "Statistics",
    "TransformedStats",
]
