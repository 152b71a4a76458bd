"""Generative classifiers from sufficient statistics. One pass over your data suffices."""

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from .densities import GaussianDensity, StudentDensity
    from .estimators import GaussianClassifier, load
    from .stats import MomentStats
    from .versions import show_versions

_HOMES = {
    "GaussianClassifier": "estimators",
    "GaussianDensity": "densities",
    "MomentStats": "stats",
    "StudentDensity": "densities",
    "load": "estimators",
    "show_versions": "versions",
}

__all__ = [
    "GaussianClassifier",
    "GaussianDensity",
    "MomentStats",
    "StudentDensity",
    "__version__",
    "load",
    "show_versions",
]


def __getattr__(name: str) -> object:
    """Load a public name when it is asked for, so that ``import suffice`` costs milliseconds."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
