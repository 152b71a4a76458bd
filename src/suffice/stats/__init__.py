"""Sufficient statistics: values that add, subtract, and hold nothing but what the rows said."""

from .base import Statistics
from .moments import MomentStats

__all__ = ["MomentStats", "Statistics"]
