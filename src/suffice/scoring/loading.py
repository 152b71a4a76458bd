"""A model from a file, to score with: without scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import singledispatch
from typing import Any

from .. import decisions, modelfile
from ..combined import RECIPES
from ..densities.scorer import Scorer
from ..errors import DecisionError, ModelFileError
from ..modelfile import ModelFile, SavedDensity
from ..regression import LogisticModel
from ..stats import Statistics
from ..storage import without_credentials
from .calibrated import Calibration
from .choice import Choice
from .model import Model
from .notes import ColumnNotes


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


def load_parameters(path: str | os.PathLike[str]) -> tuple[dict[str, Any], frozenset[str]]:
    """Read the parameters of a classifier, a PCA or an LDA from a file.

    Parameters
    ----------
    path : path
        A file that `save` wrote.

    Returns
    -------
    parameters : dict
        Arrays by name. The first axis is that of the classes, or of the components.
    shared : frozenset of str
        The names of those that all classes share, which have no class axis.
    """
    file = modelfile.read(path)
    with explained(without_credentials(path)):
        estimate, _ = _estimate(file.learnt, file)
        columns = file.names or range(file.learnt.n_features)
        return estimate.labelled_parameters(columns), estimate.shared_parameters


def model_of(file: ModelFile, path: str) -> Model:
    """Return the model in a file, or raise an error if the file holds something else."""
    with explained(path):
        density, prior = _estimate(file.learnt, file)
        if not isinstance(density, Scorer):
            raise ModelFileError(f"{path} holds a {file.estimator}, which is not a classifier; give the file of one")
        classes, choice, calibration = file.learnt.classes, None, None
        if file.choice is not None:
            choice = Choice.from_header(file.choice)
        if file.calibration is not None:
            calibration = Calibration.from_header(file.calibration, len(classes), file.learnt.n_features)
            calibration.evidence(density)  # which refuses weights where the family has none
        own: dict[str, Any] = {"owner": file.estimator, "choice": choice, "calibration": calibration}
        own["target"] = file.target
        own["column_notes"] = None if file.column_notes is None else ColumnNotes.from_header(file.column_notes)
        return Model(density, classes, prior, file.names, **own)


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Name the file in errors."""
    try:
        yield
    except ModelFileError:
        raise
    except DecisionError as error:  # whatever version wrote the file
        raise ModelFileError(f"the prior in {path} does not fit what the model has learnt: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} does not fit this version of suffice: {error}") from None


@singledispatch
def _estimate(learnt: Any, file: ModelFile) -> tuple[Any, Any]:  # noqa: ARG001
    """Return what was estimated (a density, a logistic model or a projection), and the prior of decisions."""
    return learnt, None


@_estimate.register
def _(learnt: SavedDensity, file: ModelFile) -> tuple[Any, Any]:
    return learnt.density, file.params.get("prior")


@_estimate.register
def _(learnt: LogisticModel, file: ModelFile) -> tuple[Any, Any]:
    return learnt, file.params["prior"] if file.estimator == "Model" else learnt.prior


@_estimate.register
def _(learnt: Statistics, file: ModelFile) -> tuple[Any, Any]:
    recipe, weight, prior = RECIPES[file.estimator], learnt.weight, file.params.get("prior")
    choices = recipe.chosen(file.params)
    estimate = recipe.estimate(recipe.adopted(learnt, choices), choices, file.names)
    if prior is None and not weight.any():
        return estimate, None
    return estimate, decisions.as_prior(prior, learnt.classes, weight / (weight.sum() or 1.0))
