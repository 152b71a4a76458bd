"""scikit-learn's own names, with suffice at work behind them."""

from __future__ import annotations

from .covariance import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance
from .decomposition import PCA, IncrementalPCA
from .discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from .documentation import add_parameters
from .linear_model import LogisticRegression
from .mixture import GaussianMixture
from .model_selection import GridSearchCV
from .naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from .patching import patch, unpatch

__all__ = [
    "OAS",
    "PCA",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "EmpiricalCovariance",
    "GaussianMixture",
    "GaussianNB",
    "GridSearchCV",
    "IncrementalPCA",
    "LedoitWolf",
    "LinearDiscriminantAnalysis",
    "LogisticRegression",
    "MultinomialNB",
    "QuadraticDiscriminantAnalysis",
    "ShrunkCovariance",
    "patch",
    "unpatch",
]

for _member in [globals()[name] for name in __all__]:
    if isinstance(_member, type):
        add_parameters(_member)
