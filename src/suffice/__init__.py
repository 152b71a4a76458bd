"""Generative classifiers from sufficient statistics. One pass over your data suffices."""

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from .densities import (
        BernoulliDensity,
        BinomialDensity,
        CategoricalDensity,
        ExponentialDensity,
        GammaDensity,
        GaussianDensity,
        GeometricDensity,
        InverseGaussianDensity,
        LogNormalDensity,
        MixtureDensity,
        MultinomialDensity,
        NegativeBinomialDensity,
        PoissonDensity,
        ProductDensity,
        StudentDensity,
        TextDensity,
        TreeDensity,
    )
    from .estimators import (
        LDA,
        PCA,
        BernoulliClassifier,
        CategoricalClassifier,
        GaussianClassifier,
        LLRCalibrator,
        LogisticClassifier,
        MixedClassifier,
        MixtureClassifier,
        MixtureModel,
        MultinomialClassifier,
        PoissonClassifier,
        SemiSupervisedClassifier,
        as_llr,
        cross_val_llr,
        load,
    )
    from .report import write_report
    from .scoring import Model, load_model
    from .scoring.evaluation import Evaluation
    from .selection import OnePassSearchCV, fit, scorer
    from .sources.files import files
    from .sources.sql import sql
    from .stats import BundleStats, CategoryStats, CountStats, MomentStats, PairStats, WordStats
    from .tables.tokens import Tokens
    from .unlabelled import fit_density
    from .versions import show_versions

_HOMES = {
    "BernoulliClassifier": "estimators",
    "BernoulliDensity": "densities",
    "BinomialDensity": "densities",
    "BundleStats": "stats",
    "CategoricalClassifier": "estimators",
    "CategoricalDensity": "densities",
    "CategoryStats": "stats",
    "CountStats": "stats",
    "Evaluation": "scoring.evaluation",
    "ExponentialDensity": "densities",
    "GammaDensity": "densities",
    "GaussianClassifier": "estimators",
    "GaussianDensity": "densities",
    "GeometricDensity": "densities",
    "InverseGaussianDensity": "densities",
    "LDA": "estimators",
    "LLRCalibrator": "estimators",
    "LogNormalDensity": "densities",
    "LogisticClassifier": "estimators",
    "MixedClassifier": "estimators",
    "MixtureClassifier": "estimators",
    "MixtureDensity": "densities",
    "MixtureModel": "estimators",
    "Model": "scoring",
    "MomentStats": "stats",
    "MultinomialClassifier": "estimators",
    "MultinomialDensity": "densities",
    "NegativeBinomialDensity": "densities",
    "OnePassSearchCV": "selection",
    "PCA": "estimators",
    "PairStats": "stats",
    "PoissonClassifier": "estimators",
    "PoissonDensity": "densities",
    "ProductDensity": "densities",
    "SemiSupervisedClassifier": "estimators",
    "StudentDensity": "densities",
    "TextDensity": "densities",
    "Tokens": "tables.tokens",
    "TreeDensity": "densities",
    "WordStats": "stats",
    "as_llr": "estimators",
    "cross_val_llr": "estimators",
    "files": "sources.files",
    "fit": "selection",
    "fit_density": "unlabelled",
    "load": "estimators",
    "load_model": "scoring",
    "scorer": "selection",
    "show_versions": "versions",
    "sql": "sources.sql",
    "write_report": "report",
}

__all__ = [
    "LDA",
    "PCA",
    "BernoulliClassifier",
    "BernoulliDensity",
    "BinomialDensity",
    "BundleStats",
    "CategoricalClassifier",
    "CategoricalDensity",
    "CategoryStats",
    "CountStats",
    "Evaluation",
    "ExponentialDensity",
    "GammaDensity",
    "GaussianClassifier",
    "GaussianDensity",
    "GeometricDensity",
    "InverseGaussianDensity",
    "LLRCalibrator",
    "LogNormalDensity",
    "LogisticClassifier",
    "MixedClassifier",
    "MixtureClassifier",
    "MixtureDensity",
    "MixtureModel",
    "Model",
    "MomentStats",
    "MultinomialClassifier",
    "MultinomialDensity",
    "NegativeBinomialDensity",
    "OnePassSearchCV",
    "PairStats",
    "PoissonClassifier",
    "PoissonDensity",
    "ProductDensity",
    "SemiSupervisedClassifier",
    "StudentDensity",
    "TextDensity",
    "Tokens",
    "TreeDensity",
    "WordStats",
    "__version__",
    "as_llr",
    "cross_val_llr",
    "files",
    "fit",
    "fit_density",
    "load",
    "load_model",
    "scorer",
    "show_versions",
    "sql",
    "write_report",
]


_MODULES = ("decisions", "errors", "metrics", "plots", "sklearn")


def __getattr__(name: str) -> object:
    """Load a public name when it is asked for, so that ``import suffice`` costs milliseconds."""
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *_MODULES]
