"""One-pass search against GridSearchCV: four structures on the principal components of MNIST, by five folds."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline

from suffice import PCA, OnePassSearchCV

from .case import Call, Case, Goal
from .datasets import mnist
from .gaussian import Data
from .mnist import FOLDER, OURS, THEIR_PCA

COMPONENTS = [9, 50, 100]
PLACES = Path(os.environ.get("MNIST") or FOLDER), Path("../shared/mnist")
PEERS = [GaussianNB(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(solver="eigen")]


def images(folder: Path) -> Data:
    (X, y), _ = mnist(folder)
    return X.astype(np.float64), y


def searched(kind: Any, pca: Any, classifiers: list[Any], data: Data) -> Call:
    pipeline = Pipeline([("pca", pca), ("classifier", classifiers[0])])
    return partial(kind(pipeline, {"pca__n_components": COMPONENTS, "classifier": classifiers}, cv=5).fit, *data)


CASES = [
    Case(
        "MNIST, 60 000 x 784",
        f"{4 * len(COMPONENTS)} models, 5 folds",
        partial(images, folder),
        partial(searched, OnePassSearchCV, PCA(), list(OURS.values())),
        {"GridSearchCV": partial(searched, GridSearchCV, THEIR_PCA, PEERS)},
        Goal(15, 50),
        reference=None,
        memory=None,
        rounds=2,
    )
    for folder in PLACES
    if folder.exists()
][:1]
