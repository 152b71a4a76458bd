"""The scikit-learn skin over statistics and densities."""

from __future__ import annotations

import os
from typing import Any

from .. import modelfile
from ..errors import ModelFileError
from ..scoring.loading import explained
from ..storage import without_credentials
from .calibration import LLRCalibrator
from .classifier import LLRClassifier
from .discrete import BernoulliClassifier, CategoricalClassifier, MultinomialClassifier, PoissonClassifier
from .gaussian import GaussianClassifier
from .generative import GenerativeClassifier
from .logistic import LogisticClassifier
from .mixed import MixedClassifier
from .mixture import MixtureModel
from .mixture_classifier import MixtureClassifier
from .ratios import as_llr, cross_val_llr
from .reduction import LDA, PCA
from .semi_supervised import SemiSupervisedClassifier

__all__ = [
    "LDA",
    "PCA",
    "BernoulliClassifier",
    "CategoricalClassifier",
    "GaussianClassifier",
    "GenerativeClassifier",
    "LLRCalibrator",
    "LLRClassifier",
    "LogisticClassifier",
    "MixedClassifier",
    "MixtureClassifier",
    "MixtureModel",
    "MultinomialClassifier",
    "PoissonClassifier",
    "SemiSupervisedClassifier",
    "as_llr",
    "cross_val_llr",
    "load",
]

_SAVED: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        BernoulliClassifier,
        CategoricalClassifier,
        GaussianClassifier,
        LDA,
        LLRCalibrator,
        LogisticClassifier,
        MixedClassifier,
        MixtureClassifier,
        MixtureModel,
        PCA,
        MultinomialClassifier,
        PoissonClassifier,
    )
}


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` wrote. Loading runs no code from the file.

    Parameters
    ----------
    path : path
        The file. To score only, `suffice.load_model` is faster.

    Returns
    -------
    estimator
        Of the class that was saved.

    Examples
    --------
    >>> from suffice import GaussianClassifier, load
    >>> GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"]).save("model.safetensors")
    >>> load("model.safetensors").partial_fit([[6.0]], ["b"]).predict([[1.5], [5.5]]).tolist()
    ['a', 'b']
    """
    model, name = modelfile.read(path), without_credentials(path)
    if model.estimator == "Model":
        raise ModelFileError(f"{name} holds a model without an estimator; read it with suffice.load_model")
    if model.estimator not in _SAVED:
        raise ModelFileError(f"{name} holds a {model.estimator!r}, which this version of suffice does not know")
    with explained(name):
        return _SAVED[model.estimator]._from_file(model)
