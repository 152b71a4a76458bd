"""Model files: numbers and names, never code (see `arrayfile`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from . import arrayfile
from ._version import __version__
from .densities import Density
from .errors import ModelFileError
from .projection import LearntProjection
from .regression import LogisticModel
from .stats import Statistics
from .storage import without_credentials

Array = NDArray[Any]

FORMAT = 2
_PLAIN = 1  # the format of files without weights of columns: earlier versions read it, and would ignore such weights


class Learnt(Protocol):
    """What a model has learnt: a statistic, or the parameters where there is none. Files hold its arrays."""

    @property
    def classes(self) -> Array: ...

    @property
    def n_features(self) -> int: ...

    def to_arrays(self) -> dict[str, Array]: ...

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Learnt: ...


@dataclass(frozen=True)
class SavedDensity:
    """A density with its classes, where there is no statistic behind it."""

    classes: Array  # (k,)
    density: Any

    @property
    def n_features(self) -> int:
        return int(self.density.n_features)

    def to_arrays(self) -> dict[str, Array]:
        kind = type(self.density).__name__
        return {f"{kind}:{name}": array for name, array in self.density.to_arrays().items()}

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        kinds = {name.partition(":")[0] for name in arrays}
        if len(kinds) != 1:
            raise ValueError("it holds several densities")
        own = {name.partition(":")[2]: np.array(array) for name, array in arrays.items()}
        density = Density.kinds[kinds.pop()].from_arrays(own).checked()
        if density.n_classes != len(classes):
            raise ValueError(f"its density has {density.n_classes} classes, not {len(classes)}")
        return cls(np.array(classes), density)


@dataclass(frozen=True)
class SavedMap:
    """The calibration of scores, as the arrays of its map."""

    classes: Array  # (k,)
    n_features: int  # columns of scores
    arrays: Mapping[str, Array]

    def to_arrays(self) -> dict[str, Array]:
        return {"n_features": np.array(self.n_features), **self.arrays}

    def labelled_parameters(self, names: Sequence[Any]) -> dict[str, Any]:  # noqa: ARG002  as those of densities
        """The scales and offsets of the map, or its steps, by name."""
        return dict(self.arrays)

    @property
    def shared_parameters(self) -> frozenset[str]:
        """The names of those that all classes share."""
        return frozenset(self.arrays) - {"offset"}

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        own = {name: np.array(array, np.float64) for name, array in arrays.items() if name != "n_features"}
        return cls(classes, int(arrays["n_features"]), own)


_OTHERS: dict[str, type[Learnt]] = {
    kind.__name__: kind for kind in (LogisticModel, LearntProjection, SavedDensity, SavedMap)
}


@dataclass(frozen=True)
class ModelFile:
    """What a file says of a model: enough to score, and to go on learning where it holds a statistic."""

    estimator: str  # the name of the class
    params: dict[str, Any]
    names: tuple[str, ...] | None  # of the columns
    learnt: Learnt
    version: str = __version__  # of the library that wrote it
    choice: dict[str, Any] | None = None  # the other candidates, if the model was chosen automatically
    notes: dict[str, Any] | None = None  # how it was learnt, as attributes of the estimator
    calibration: dict[str, Any] | None = None  # of its scores
    target: str | None = None  # the name of the column with the labels, where it had one
    column_notes: dict[str, Any] | None = None  # why columns are learnt as they are, and what they held


@singledispatch
def learnt_of(scorer: Any, classes: Array) -> Learnt:
    """Return what a file holds of a model without a statistic: its density, or its logistic model."""
    return SavedDensity(classes, scorer)


@learnt_of.register
def _(scorer: LogisticModel, classes: Array) -> Learnt:
    return replace(scorer, classes=classes)


def write(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model atomically: whoever reads finds the old file or the new one, whole."""
    try:
        has_weights = model.calibration is not None and model.calibration.get("weights") is not None
        header = {
            "format": FORMAT if has_weights else _PLAIN,
            "version": model.version,
            "estimator": model.estimator,
            "params": {name: arrayfile.plain(value) for name, value in model.params.items()},
            "names": model.names,
            "learnt": type(model.learnt).__name__,
            "choice": model.choice,
            "calibration": model.calibration,
            "target": model.target,
            "column_notes": model.column_notes,
            "notes": None if model.notes is None else arrayfile.plain(model.notes),
            **arrayfile.labels_to_header(model.learnt.classes),
        }
    except ValueError as error:
        raise ModelFileError(str(error)) from None
    arrayfile.write(path, header, model.learnt.to_arrays())


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file, or say clearly why it is not one."""
    header, arrays = arrayfile.read(path, "model", FORMAT, ModelFileError)
    if "job" in header:
        raise ModelFileError(
            f"{without_credentials(path)} is the checkpoint of an interrupted fit; resume the fit to get the model"
        )
    try:
        return _model(header, arrays)
    except MemoryError:
        raise
    except Exception as error:  # the file can hold anything
        raise ModelFileError(f"{without_credentials(path)} does not hold a whole model: {error!r}") from None


def _model(header: dict[str, Any], arrays: dict[str, Array]) -> ModelFile:
    classes = arrayfile.labels_from_header(header)
    if not isinstance(header["estimator"], str):
        raise ValueError(f"its estimator is {header['estimator']!r}")
    kinds: Mapping[str, type[Learnt]] = {**Statistics.kinds, **_OTHERS}
    learnt = kinds[header["learnt"]].from_arrays(classes, arrays)
    names = None if header["names"] is None else tuple(header["names"])
    if names is not None and len(names) != learnt.n_features:
        raise ValueError(f"{len(names)} names for {learnt.n_features} features")
    if names is not None and not all(isinstance(name, str) for name in names):
        raise ValueError("the names of its columns are not text")
    params = {name: arrayfile.restored(value) for name, value in header["params"].items()}
    if "shrinkage" in params:  # files that are older than the choice of a target
        params.setdefault("shrinkage_target", "identity")
    if header["estimator"] in ("GaussianClassifier", "MixedClassifier"):
        params.setdefault("degenerate", "floor")
    notes = None if header.get("notes") is None else arrayfile.restored(header["notes"])
    later = {name: header.get(name) for name in ("choice", "calibration", "target", "column_notes")}
    if not isinstance(later["target"], str | None):
        raise ValueError(f"the name of its labels is {later['target']!r}")
    return ModelFile(header["estimator"], params, names, learnt, header["version"], notes=notes, **later)
