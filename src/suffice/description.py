"""Descriptions of model files and checkpoints, without the learnt parameters."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import arrayfile, decisions, modelfile
from .densities import Density
from .errors import ModelFileError
from .families import family_of
from .stats.patterns import class_weights
from .storage import locate
from .tables.features import Feature, as_learnt, features_from_arrays

Array = NDArray[Any]
Shapes = dict[str, tuple[int, ...]]

_ENCODED = {"numbers": "number", "categorical": "categorical"}  # arrays of column indices of logistic models


@dataclass(frozen=True)
class Description:
    """What a file holds."""

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
    choice: dict[str, Any] | None = None  # what was tried, if the model was chosen automatically
    calibration: dict[str, Any] | None = None  # of the scores
    reasons: dict[str, str] = field(default_factory=dict)  # why columns have their families
    left_out: dict[str, str] = field(default_factory=dict)  # why columns of the training data were left out
    learnt_as: dict[str, str] = field(default_factory=dict)  # what is made of columns that are not learnt as they are


def describe(path: str | os.PathLike[str]) -> Description:
    """Describe a model file or a checkpoint; only the few arrays that this needs are read."""
    header, arrays, shapes = arrayfile.look(path, "model or checkpoint", ModelFileError, _tells)
    size = locate(path).size()
    try:
        return _run(header, arrays, size) if "job" in header else _model(path, header, arrays, shapes, size)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{locate(path)} does not hold a whole model or checkpoint: {error!r}") from None


def _tells(array: str) -> bool:
    """Whether a description needs an array: weights, prior, column indices and features."""
    known = ("weight", "group_weight", "group_code", "prior", "n_features", "features", *_ENCODED)
    return array.rpartition(":")[2] in known or array.endswith(".columns")


def _model(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array], shapes: Shapes, size: int
) -> Description:
    params = {name: arrayfile.restored(value) for name, value in header["params"].items()}
    classes, families, features = _classes(header, arrays), _families(arrays), _features(arrays)
    names = header["names"] or [f"x{j}" for j in range(_n_features(path, arrays, shapes))]
    one = family_of(header["estimator"]) or _family_of_density(shapes)
    columns = [(name, families.get(j, "drop") if families else one) for j, name in enumerate(names)]
    prior = _prior(params.get("prior"), classes, arrays.get("prior"))
    more: dict[str, Any] = {name: header.get(name) for name in ("choice", "calibration")}
    notes = header.get("column_notes") or {}
    more |= {name: {str(key): str(why) for key, why in notes.get(name, {}).items()} for name in ("reasons", "left_out")}
    more["learnt_as"] = {name: as_learnt(features, j) for j, name in enumerate(names) if as_learnt(features, j)}
    return Description("model", header["estimator"], header["version"], size, params, columns, classes, prior, **more)


def _run(header: dict[str, Any], arrays: dict[str, Array], size: int) -> Description:
    job, done, families = dict(header["job"]), header["done"].values(), _families(arrays)
    columns = [(name, families.get(j)) for j, name in enumerate(job.pop("features"))]
    classes = _classes(header, arrays) if "classes" in header else []
    counted = (None, None) if "em" in job else (sum(note["rows"] for note in done), len(done))
    kind = header["statistic"] or "nothing yet"
    return Description("checkpoint", kind, header["version"], size, job, columns, classes, None, *counted)


def _classes(header: dict[str, Any], arrays: dict[str, Array]) -> list[tuple[Any, float | None]]:
    """Labels and weights; every block of columns has the same weights."""
    labels = arrayfile.labels_from_header(header).tolist()
    own = [name.removesuffix("weight") for name in arrays if name.rpartition(":")[2] == "weight"]
    if not own:
        return [(label, None) for label in labels]
    whole = min(own, key=len)  # rather than a part
    weight = class_weights(
        {name.removeprefix(whole): array for name, array in arrays.items() if name.startswith(whole)}
    )
    return list(zip(labels, weight.tolist(), strict=True))


def _families(arrays: dict[str, Array]) -> dict[int, str]:
    """The families of a bundle, or of the encoding of a logistic model, by the index of the column."""
    blocks = {name: array for name, array in arrays.items() if name.endswith(".columns")}
    families = {name: name.rpartition(":")[2].split(".")[0] for name in blocks}
    own = {int(j): families[name] for name, array in blocks.items() for j in array.reshape(-1)}
    own |= {int(j): family for name, family in _ENCODED.items() if name in arrays for j in arrays[name].reshape(-1)}
    return own | {feature.source: feature.asked for feature in _features(arrays)}


def _features(arrays: dict[str, Array]) -> tuple[Feature, ...]:
    """What is made of columns before it is learnt."""
    derived = [array for name, array in arrays.items() if name.rpartition(":")[2] == "features"]
    return features_from_arrays({"features": derived[0]}) if derived else ()


def _family_of_density(shapes: Shapes) -> str | None:
    """The family of the density of a Model, or of the components of its mixtures."""
    kinds = [Density.kinds[kind] for name in shapes for kind in name.split(":")[:-1] if kind in Density.kinds]
    return next((kind.family for kind in kinds if kind.family is not None), None)


def _n_features(path: str | os.PathLike[str], arrays: dict[str, Array], shapes: Shapes) -> int:
    """How many columns there are, where they have no names."""
    if "n_features" in arrays:
        return int(arrays["n_features"])
    known = (shapes[name][-1] for name in ("mean", "count", "center") if name in shapes)
    return next(known, None) or modelfile.read(path).learnt.n_features


def _prior(chosen: Any, classes: list[tuple[Any, float | None]], own: Array | None) -> list[float] | None:
    """The prior that was chosen; else that of the model, or the frequencies of its rows."""
    labels = np.empty(len(classes), object)
    labels[:] = [label for label, _ in classes]
    weight = np.array([weight or 0.0 for _, weight in classes]) if own is None else own
    if chosen is None and not weight.any():
        return None
    return [float(p) for p in decisions.as_prior(chosen, labels, weight / (weight.sum() or 1.0))]
