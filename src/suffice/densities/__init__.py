"""Densities: log p(x | class) from statistics and the choices of whoever estimates."""

from .base import Density
from .gaussian import GaussianDensity
from .student import StudentDensity

__all__ = ["Density", "GaussianDensity", "StudentDensity"]
