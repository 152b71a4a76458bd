"""Exact held-out likelihoods: every row scored by the model of all other rows, without fitting any of them."""

from .base import LeaveOneOut, coded, frequencies_without, held_out_scores
from .categories import CategoricalLeaveOneOut
from .counts import (
    BernoulliLeaveOneOut,
    GammaPoissonLeaveOneOut,
    MultinomialLeaveOneOut,
    PoissonLeaveOneOut,
    PolyaLeaveOneOut,
)
from .gaussian import GaussianLeaveOneOut
from .negative_binomial import NegativeBinomialLeaveOneOut
from .product import ProductLeaveOneOut
from .shrinkage import best_shrinkage
from .transformed import TransformedLeaveOneOut

__all__ = [
    "BernoulliLeaveOneOut",
    "CategoricalLeaveOneOut",
    "GammaPoissonLeaveOneOut",
    "GaussianLeaveOneOut",
    "LeaveOneOut",
    "MultinomialLeaveOneOut",
    "NegativeBinomialLeaveOneOut",
    "PoissonLeaveOneOut",
    "PolyaLeaveOneOut",
    "ProductLeaveOneOut",
    "TransformedLeaveOneOut",
    "best_shrinkage",
    "coded",
    "frequencies_without",
    "held_out_scores",
]
