"""Model files: numbers and names, never code (see `arrayfile`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import arrayfile, decisions
from ._version import __version__
from .choice import Choice
from .errors import ModelFileError
from .logistic import LogisticModel
from .reduction import LearntProjection
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


_FAMILIES = {
    "BernoulliClassifier": "bernoulli",
    "CategoricalClassifier": "categorical",
    "GaussianClassifier": "gaussian",
    "MultinomialClassifier": "multinomial",
    "PoissonClassifier": "poisson",
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


@dataclass(frozen=True)
class Description:
    """What a file of ours says of itself."""

    what: str  # "model" or "checkpoint"
    kind: str  # the class of the model, or of the statistic so far
    version: str  # of the library that wrote it
    size: int  # bytes
    params: dict[str, Any]  # of the model, or the job of a checkpoint
    columns: list[tuple[str, str | None]]  # names and families, where there are such
    classes: list[tuple[Any, float | None]]  # labels and weights
    prior: list[float] | None  # of decisions, where nothing else is asked for
    rows: int | None = None  # that a checkpoint has counted
    files: int | None = None  # that it has counted them from


def describe(path: str | os.PathLike[str]) -> Description:
    """What a model file or a checkpoint holds; only the arrays that tell it are read."""
    header, arrays = arrayfile.look(path, "model or checkpoint", ModelFileError, _tells)
    size = os.stat(path).st_size
    try:
        return (_described_run if "job" in header else _described_model)(header, arrays, size)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{path} does not hold a whole model or checkpoint: {error!r}") from None


def _tells(array: str) -> bool:
    """Whether an array says how much of what there is, rather than what was learnt of it."""
    return array.rpartition(":")[2] in ("weight", "prior", "n_features") or array.endswith(".columns")


def _described_model(header: dict[str, Any], arrays: dict[str, Array], size: int) -> Description:
    labels = arrayfile.labels_from_header(header).tolist()
    params = {name: arrayfile.restored(value) for name, value in header["params"].items()}
    weight, families = _weights(arrays, len(labels)), _families(arrays)
    names = header["names"] or [f"x{j}" for j in range(int(arrays["n_features"]) if "n_features" in arrays else 0)]
    columns = [
        (name, families.get(j, "drop") if families else _FAMILIES.get(header["estimator"]))
        for j, name in enumerate(names)
    ]
    prior = _prior(params.get("prior"), labels, arrays.get("prior", weight))
    classes = list(zip(labels, [None] * len(labels) if weight is None else weight.tolist(), strict=True))
    return Description("model", header["estimator"], header["version"], size, params, columns, classes, prior)


def _described_run(header: dict[str, Any], arrays: dict[str, Array], size: int) -> Description:
    job, done = dict(header["job"]), header["done"].values()
    labels = arrayfile.labels_from_header(header).tolist() if "classes" in header else []
    weight, families = _weights(arrays, len(labels)), _families(arrays)
    columns = [(name, families.get(j)) for j, name in enumerate(job.pop("features"))]
    classes = list(zip(labels, [None] * len(labels) if weight is None else weight.tolist(), strict=True))
    kind = header["statistic"] or "nothing yet"
    return Description(
        "checkpoint",
        kind,
        header["version"],
        size,
        job,
        columns,
        classes,
        None,
        sum(note["rows"] for note in done),
        len(done),
    )


def _weights(arrays: dict[str, Array], k: int) -> Array | None:
    """The weight of each class; every block of columns has the same."""
    found = [array for name, array in arrays.items() if name.rpartition(":")[2] == "weight" and array.shape == (k,)]
    return found[0] if found else None


def _families(arrays: dict[str, Array]) -> dict[int, str]:
    """The families of a bundle, by the position of the column."""
    blocks = {name: array for name, array in arrays.items() if name.endswith(".columns")}
    return {int(j): name.split(".")[0] for name, array in blocks.items() for j in array.reshape(-1)}


def _prior(chosen: Any, labels: list[Any], weight: Array | None) -> list[float] | None:
    total = 0.0 if weight is None else float(weight.sum())
    if chosen is None and not total:
        return None
    frequencies = np.zeros(len(labels)) if weight is None or not total else weight / total
    return [float(p) for p in decisions.as_prior(chosen, np.array(labels, object), frequencies)]
