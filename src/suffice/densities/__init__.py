"""Densities: log p(x | class) from a statistic and the choices made late."""

from .base import Density, LinearForm
from .categorical import CategoricalDensity
from .counts import BernoulliDensity, BinomialDensity, PoissonDensity
from .gaussian import GaussianDensity
from .multinomial import ComplementDensity, MultinomialDensity
from .predictive import BetaBinomialDensity, GammaPoissonDensity, PolyaDensity
from .product import ProductDensity
from .sparse import SparseCountDensity
from .student import StudentDensity
from .unlabelled import FittedDensity, fit_density

__all__ = [
    "BernoulliDensity",
    "BetaBinomialDensity",
    "BinomialDensity",
    "CategoricalDensity",
    "ComplementDensity",
    "Density",
    "FittedDensity",
    "GammaPoissonDensity",
    "GaussianDensity",
    "LinearForm",
    "MultinomialDensity",
    "PoissonDensity",
    "PolyaDensity",
    "ProductDensity",
    "SparseCountDensity",
    "StudentDensity",
    "fit_density",
]
