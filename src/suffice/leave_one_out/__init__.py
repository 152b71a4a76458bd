"""Exact held-out likelihoods: every row scored by the model of all other rows, without fitting any of them."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from .tree import TreeLeaveOneOut

_HOMES = {
    "BernoulliLeaveOneOut": "counts",
    "CategoricalLeaveOneOut": "categories",
    "GammaPoissonLeaveOneOut": "counts",
    "GaussianLeaveOneOut": "gaussian",
    "LeaveOneOut": "base",
    "MultinomialLeaveOneOut": "counts",
    "NegativeBinomialLeaveOneOut": "negative_binomial",
    "PoissonLeaveOneOut": "counts",
    "PolyaLeaveOneOut": "counts",
    "ProductLeaveOneOut": "product",
    "TransformedLeaveOneOut": "transformed",
    "TreeLeaveOneOut": "tree",
    "best_shrinkage": "shrinkage",
    "coded": "base",
    "frequencies_without": "base",
    "held_out_scores": "base",
}

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
    "TreeLeaveOneOut",
    "best_shrinkage",
    "coded",
    "frequencies_without",
    "held_out_scores",
]


def __getattr__(name: str) -> object:
    """Load a name on first use: scoring needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
