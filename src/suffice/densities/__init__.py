"""Densities: log p(x | class) from a statistic and the choices made late."""

from .base import Density
from .categorical import CategoricalDensity
from .counts import BernoulliDensity, BinomialDensity, PoissonDensity
from .fit import FittedDensity, fit_density
from .gaussian import GaussianDensity
from .hashed import HashedDensity
from .multinomial import ComplementDensity, MultinomialDensity
from .predictive import BetaBinomialDensity, NegativeBinomialDensity, PolyaDensity
from .product import ProductDensity
from .student import StudentDensity

__all__ = [
    "BernoulliDensity",
    "BetaBinomialDensity",
    "BinomialDensity",
    "CategoricalDensity",
    "ComplementDensity",
    "Density",
    "FittedDensity",
    "GaussianDensity",
    "HashedDensity",
    "MultinomialDensity",
    "NegativeBinomialDensity",
    "PoissonDensity",
    "PolyaDensity",
    "ProductDensity",
    "StudentDensity",
    "fit_density",
]
