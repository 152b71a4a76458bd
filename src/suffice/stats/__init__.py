"""Sufficient statistics: sums over rows, with no prior, smoothing or other choice in them."""

from .base import Statistics
from .bundle import BundleStats
from .categories import CategoryStats
from .collectors import (
    CollectBooleans,
    CollectBundle,
    CollectCategories,
    CollectCounts,
    CollectGaussian,
    CollectGaussianBlock,
    CollectHistogram,
    CollectMoments,
    CollectPairs,
    CollectTogether,
    CollectTransformed,
    CollectWords,
)
from .components import ComponentStats
from .counts import CountStats
from .moments import MomentStats
from .pairs import PairStats
from .patterns import PatternStats
from .transformed import TransformedStats
from .wide import WideMomentStats
from .words import WordStats

__all__ = [
    "BundleStats",
    "CategoryStats",
    "CollectBooleans",
    "CollectBundle",
    "CollectCategories",
    "CollectCounts",
    "CollectGaussian",
    "CollectGaussianBlock",
    "CollectHistogram",
    "CollectMoments",
    "CollectPairs",
    "CollectTogether",
    "CollectTransformed",
    "CollectWords",
    "ComponentStats",
    "CountStats",
    "MomentStats",
    "PairStats",
    "PatternStats",
    "Statistics",
    "TransformedStats",
    "WideMomentStats",
    "WordStats",
]
