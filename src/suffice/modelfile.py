"""Model files: numbers and names, never code (see `arrayfile`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from . import arrayfile
from ._version import __version__
from .errors import ModelFileError
from .projection import LearntProjection
from .regression import LogisticModel
from .scoring.choice import Choice
from .stats import BundleStats, CategoryStats, CountStats, MomentStats

Array = NDArray[Any]

FORMAT = 1


class Learnt(Protocol):
    """What a model has learnt: a statistic, or the parameters where there is none. Files hold its arrays."""

    @property
    def classes(self) -> Array: ...

    @property
    def n_features(self) -> int: ...

    def to_arrays(self) -> dict[str, Array]: ...

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Learnt: ...


_LEARNT: dict[str, type[Learnt]] = {
    kind.__name__: kind
    for kind in (MomentStats, CountStats, CategoryStats, BundleStats, LogisticModel, LearntProjection)
}


@dataclass(frozen=True)
class ModelFile:
    """What a file says of a model: enough to score, and to go on learning."""

    estimator: str  # the class's name
    params: dict[str, Any]
    names: tuple[str, ...] | None  # of the features
    learnt: Learnt
    version: str = __version__  # of the library that wrote it
    choice: Choice | None = None  # what else was tried, where the model was chosen automatically


def write(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model atomically: whoever reads finds the old file or the new one, whole."""
    try:
        header = {
            "format": FORMAT,
            "version": model.version,
            "estimator": model.estimator,
            "params": {name: arrayfile.plain(value) for name, value in model.params.items()},
            "names": model.names,
            "learnt": type(model.learnt).__name__,
            "choice": None if model.choice is None else model.choice.to_header(),
            **arrayfile.labels_to_header(model.learnt.classes),
        }
    except ValueError as error:
        raise ModelFileError(str(error)) from None
    arrayfile.write(path, header, model.learnt.to_arrays())


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file, or say clearly why it is not one."""
    header, arrays = arrayfile.read(path, "model", FORMAT, ModelFileError)
    try:
        return _model(header, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path} does not hold a whole model: {error!r}") from None


def _model(header: dict[str, Any], arrays: dict[str, Array]) -> ModelFile:
    classes = arrayfile.labels_from_header(header)
    if not isinstance(header["estimator"], str):
        raise ValueError(f"its estimator is {header['estimator']!r}")
    learnt = _LEARNT[header["learnt"]].from_arrays(classes, arrays)
    names = None if header["names"] is None else tuple(header["names"])
    if names is not None and len(names) != learnt.n_features:
        raise ValueError(f"{len(names)} names for {learnt.n_features} features")
    params = {name: arrayfile.restored(value) for name, value in header["params"].items()}
    choice = None if header.get("choice") is None else Choice.from_header(header["choice"])
    return ModelFile(header["estimator"], params, names, learnt, header["version"], choice)
