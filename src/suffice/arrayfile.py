"""Files of arrays with a header: safetensors, written atomically, with a digest that finds damage.

They hold numbers and names, never code. The header says what the arrays are; a digest over both finds damage that the
container itself would not.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._version import __version__
from .atomic import replacing
from .errors import SufficeError
from .storage import Location, locate

Array = NDArray[Any]
_KEY = "suffice"


def write(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a file atomically: whoever reads it finds the old content or the new one, whole."""
    written = content(header, arrays)
    with replacing(path) as temporary:
        temporary.write_bytes(written)


def content(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The bytes of a file with this header, in the values that JSON has, and these arrays."""
    from safetensors.numpy import save

    rows = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps(header, sort_keys=True)
    # One entry, since safetensors writes several in any order, and equal contents should be equal files.
    return save(rows, metadata={_KEY: f"{_digest(text, rows)} {text}"})


def read(
    path: str | os.PathLike[str], what: str, version: int, error: type[SufficeError]
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file, or an error that says why they are not those of `what` in this version or before."""
    location = locate(path)
    digest, text, arrays, _ = _content(location, what, error, lambda _: True)
    header = _header(location, text, error)
    if header["format"] not in range(1, version + 1):
        raise error(
            f"{location} has format {header['format']!r}, written by suffice {header.get('version', '?')}; this is "
            f"suffice {__version__}, which reads formats up to {version}; upgrade suffice or save the {what} again "
            "with this version"
        )
    if digest != _digest(text, arrays):
        raise error(f"{location} is damaged: its content does not match its digest; restore it from a copy")
    return header, arrays


def look(
    path: str | os.PathLike[str], what: str, error: type[SufficeError], wanted: Callable[[str], bool]
) -> tuple[dict[str, Any], dict[str, Array], dict[str, tuple[int, ...]]]:
    """Header and some of the arrays of a file, and the shapes of all; the others are not read, so that damage to them
    is not found."""
    location = locate(path)
    _, text, arrays, shapes = _content(location, what, error, wanted)
    return _header(location, text, error), arrays, shapes


def _content(
    location: Location, what: str, error: type[SufficeError], wanted: Callable[[str], bool]
) -> tuple[str, str, dict[str, Array], dict[str, tuple[int, ...]]]:
    """The digest, the header, the arrays that are wanted, and the shapes of all."""
    from safetensors import safe_open

    with location.fetched() as path:
        try:
            with safe_open(path, framework="np") as file:
                metadata = file.metadata() or {}
                if _KEY not in metadata:
                    raise error(f"{location} is a safetensors file, but not a {what} file of suffice")
                shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
                arrays = {name: file.get_tensor(name) for name in shapes if wanted(name)}
        except (FileNotFoundError, PermissionError, MemoryError, error):
            raise
        except Exception:  # safetensors raises many kinds, for instance of a dtype that NumPy does not have
            made = "; models are written by save, or by suffice fit" if what.startswith("model") else ""
            raise error(f"{location} is not a {what} file of suffice, or is damaged{made}") from None
    digest, _, text = metadata[_KEY].partition(" ")
    return digest, text, arrays, shapes


def _header(location: Location, text: str, error: type[SufficeError]) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(text)
        header["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise error(f"{location} is damaged: its header cannot be read; restore it from a copy") from None
    return header


def _digest(text: str, arrays: Mapping[str, Array]) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def labels_to_header(classes: Array) -> dict[str, Any]:
    """Class labels as entries of a header."""
    if classes.dtype.kind not in "biufUSO":
        raise ValueError(f"classes of type {classes.dtype} cannot be saved")
    return {"classes": [plain(label) for label in classes.tolist()], "classes_dtype": classes.dtype.str}


def labels_from_header(header: Mapping[str, Any]) -> Array:
    """The inverse of `labels_to_header`."""
    labels = [restored(label) for label in header["classes"]]
    classes = np.empty(len(labels), np.dtype(header["classes_dtype"]))
    classes[:] = labels
    if classes.dtype.kind not in "biufUSO" or not len(classes) or any(a >= b for a, b in pairwise(classes.tolist())):
        raise ValueError("its classes are not distinct labels in order")
    return classes


def plain(value: Any) -> Any:
    """A value in JSON; dictionaries become pairs, since their keys may be labels."""
    if isinstance(value, dict):
        return {"pairs": [[plain(key), plain(item)] for key, item in value.items()]}
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"a parameter {value!r} of type {type(value).__name__} cannot be saved")


def restored(value: Any) -> Any:
    """The inverse of `plain`."""
    if isinstance(value, list):
        return [restored(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return value["bytes"].encode("latin-1")
    return {restored(key): restored(item) for key, item in value["pairs"]}
