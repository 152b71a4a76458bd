"""A model from a file, to score with: without scikit-learn."""

from __future__ import annotations

import os
from typing import Any

from .. import decisions, modelfile
from ..errors import ModelFileError
from ..families import RECIPES
from ..modelfile import ModelFile, SavedDensity
from ..regression import LogisticModel
from ..stats import Statistics
from ..storage import without_credentials
from .choice import Choice
from .model import Model


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model from a file, to score, decide and evaluate with it.

    It does not import scikit-learn. `suffice.load` gives the estimator back instead, to go on learning.

    Parameters
    ----------
    path : path
        A file that `save` wrote. Loading runs no code from it.

    Returns
    -------
    Model
        Ready to score.

    Examples
    --------
    >>> from suffice import GaussianClassifier, load_model
    >>> GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"]).save("model.safetensors")
    >>> load_model("model.safetensors").predict([[1.5], [4.5]]).tolist()
    ['a', 'b']
    """
    return model_of(modelfile.read(path), without_credentials(path))


def model_of(file: ModelFile, path: str) -> Model:
    """The model that a file holds, or an error where it holds something else."""
    try:
        density, prior = _density(file, path)
        choice = None if file.choice is None else Choice.from_header(file.choice)
        return Model(density, file.learnt.classes, prior, file.names, owner=file.estimator, choice=choice)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} does not fit this version of suffice: {error}") from None


def _density(file: ModelFile, path: str) -> tuple[Any, Any]:
    """What scores rows, and the prior of decisions."""
    learnt, prior = file.learnt, file.params.get("prior")
    if isinstance(learnt, SavedDensity):
        return learnt.density, prior
    if isinstance(learnt, LogisticModel):
        return learnt, prior if file.estimator == "Model" else learnt.prior
    recipe = RECIPES.get(file.estimator)
    if recipe is None or not isinstance(learnt, Statistics) or not recipe.classifies:
        raise ModelFileError(f"{path} holds a {file.estimator}, which is not a classifier; give the file of one")
    choices = recipe.chosen(file.params)
    density = recipe.estimate(recipe.adopted(learnt, choices), choices, file.names)
    weight = learnt.weight
    if prior is None and not weight.any():
        return density, None
    return density, decisions.as_prior(prior, learnt.classes, weight / (weight.sum() or 1.0))
