"""Sufficient statistics: what the rows said, and nothing that anybody chose."""

from .base import Statistics
from .bundle import BundleStats
from .categories import CategoryStats
from .collectors import (
    CollectBundle,
    CollectCategories,
    CollectCounts,
    CollectGaussian,
    CollectHistogram,
    CollectMoments,
    CollectTogether,
    CollectTransformed,
    CollectTruths,
)
from .counts import CountStats
from .moments import MomentStats
from .transformed import TransformedStats

__all__ = [
    "BundleStats",
    "CategoryStats",
    "CollectBundle",
    "CollectCategories",
    "CollectCounts",
    "CollectGaussian",
    "CollectHistogram",
    "CollectMoments",
    "CollectTogether",
    "CollectTransformed",
    "CollectTruths",
    "CountStats",
    "MomentStats",
    "Statistics",
    "TransformedStats",
]
