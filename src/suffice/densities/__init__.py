"""Densities: log p(x | class) from a statistic and the choices made late."""

from .base import Density, LinearForm
from .categorical import CategoricalDensity
from .counts import BernoulliDensity, BinomialDensity, PoissonDensity
from .exponential import ExponentialDensity
from .gamma import GammaDensity
from .gaussian import GaussianDensity
from .geometric import GeometricDensity
from .inverse_gaussian import InverseGaussianDensity
from .lognormal import LogNormalDensity
from .mixture import MixtureDensity
from .multinomial import ComplementDensity, MultinomialDensity
from .negative_binomial import NegativeBinomialDensity
from .predictive import BetaBinomialDensity, GammaPoissonDensity, PolyaDensity
from .product import ProductDensity
from .sparse import SparseCountDensity
from .student import StudentDensity
from .tree import TreeDensity
from .wide import WideGaussianDensity
from .words import TextDensity

__all__ = [
    "BernoulliDensity",
    "BetaBinomialDensity",
    "BinomialDensity",
    "CategoricalDensity",
    "ComplementDensity",
    "Density",
    "ExponentialDensity",
    "GammaDensity",
    "GammaPoissonDensity",
    "GaussianDensity",
    "GeometricDensity",
    "InverseGaussianDensity",
    "LinearForm",
    "LogNormalDensity",
    "MixtureDensity",
    "MultinomialDensity",
    "NegativeBinomialDensity",
    "PoissonDensity",
    "PolyaDensity",
    "ProductDensity",
    "SparseCountDensity",
    "StudentDensity",
    "TextDensity",
    "TreeDensity",
    "WideGaussianDensity",
]
