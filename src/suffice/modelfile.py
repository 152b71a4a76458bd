"""Model files: safetensors with a JSON header. They hold numbers and names, never code.

The header says what the arrays are; a digest over both finds damage that the container itself would not.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ._version import __version__
from .errors import ModelFileError
from .logistic import LogisticModel
from .reduction import LearntProjection
from .stats import BundleStats, CategoryStats, CountStats, MomentStats

Array = NDArray[Any]

FORMAT = 1
_KEY = "suffice"


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


def write(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model atomically: whoever reads finds the old file or the new one, whole."""
    from safetensors.numpy import save

    classes = model.learnt.classes
    if classes.dtype.kind not in "biufUSO":
        raise ModelFileError(f"classes of type {classes.dtype} cannot be saved")
    arrays = {name: np.asarray(array, order="C") for name, array in model.learnt.to_arrays().items()}
    header = {
        "format": FORMAT,
        "version": model.version,
        "estimator": model.estimator,
        "params": {name: _plain(value) for name, value in model.params.items()},
        "names": model.names,
        "learnt": type(model.learnt).__name__,
        "classes": [_plain(label) for label in classes.tolist()],
        "classes_dtype": classes.dtype.str,
    }
    text = json.dumps(header, sort_keys=True)
    # One entry, since safetensors writes several in any order, and equal models should be equal files.
    content = save(arrays, metadata={_KEY: f"{_digest(text, arrays)} {text}"})
    _replace(Path(path), content)


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file, or say clearly why it is not one."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            if _KEY not in metadata:
                raise ModelFileError(f"{path} is a safetensors file, but not a model of suffice")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (FileNotFoundError, PermissionError):
        raise
    except (SafetensorError, OSError, UnicodeDecodeError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} is not a model file, or is damaged: {error}") from None
    digest, _, text = metadata[_KEY].partition(" ")
    header = _header(path, text)
    if digest != _digest(text, arrays):
        raise ModelFileError(f"{path} is damaged: its content does not match its digest; restore it from a copy")
    try:
        return _model(header, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path} does not hold a whole model: {error!r}") from None


def _model(header: dict[str, Any], arrays: dict[str, Array]) -> ModelFile:
    labels = [_restored(label) for label in header["classes"]]
    classes = np.empty(len(labels), np.dtype(header["classes_dtype"]))
    classes[:] = labels
    if classes.dtype.kind not in "biufUSO" or not len(classes) or any(a >= b for a, b in pairwise(classes.tolist())):
        raise ValueError("its classes are not distinct labels in order")
    if not isinstance(header["estimator"], str):
        raise ValueError(f"its estimator is {header['estimator']!r}")
    learnt = _LEARNT[header["learnt"]].from_arrays(classes, arrays)
    names = None if header["names"] is None else tuple(header["names"])
    if names is not None and len(names) != learnt.n_features:
        raise ValueError(f"{len(names)} names for {learnt.n_features} features")
    params = {name: _restored(value) for name, value in header["params"].items()}
    return ModelFile(header["estimator"], params, names, learnt, header["version"])


def _header(path: Any, text: str) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(text)
        found = header["format"]
    except (ValueError, KeyError, TypeError):
        raise ModelFileError(f"{path} is damaged: its header cannot be read; restore it from a copy") from None
    if found != FORMAT:
        raise ModelFileError(
            f"{path} has format {found!r}, written by suffice {header.get('version', '?')}; this is suffice "
            f"{__version__}, which reads format {FORMAT}; upgrade suffice or save the model again with this version"
        )
    return header


def _digest(text: str, arrays: dict[str, Array]) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _replace(path: Path, content: bytes) -> None:
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {str(path.parent)!r} to write {path.name!r} to")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    """A constructor's parameter in JSON; dictionaries become pairs, since their keys are labels."""
    if isinstance(value, dict):
        return {"pairs": [[_plain(key), _plain(item)] for key, item in value.items()]}
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ModelFileError(f"a parameter {value!r} of type {type(value).__name__} cannot be saved")


def _restored(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return value["bytes"].encode("latin-1")
    return {_restored(key): _restored(item) for key, item in value["pairs"]}
