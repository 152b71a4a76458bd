"""The models that a server offers, kept up to date with their files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from ..description import Description, describe
from ..errors import ModelFileError, SufficeError
from ..export.outputs import plain_labels
from ..scoring import Model, load_model
from ..scoring.inputs import Input, inputs
from ..storage import AnyPath, locate, without_credentials
from ..tables.labels import label_named

SUFFIX = ".safetensors"
_Stamp = tuple[int, int, int]  # when a file was written, its size, and which file it is


@dataclass(frozen=True, eq=False)
class Served:
    """A model, and what requests need to know of it."""

    name: str
    model: Model
    description: Description

    @cached_property
    def columns(self) -> dict[str, Input]:
        """The columns by name, in the order of the model."""
        return {column.name: column for column in inputs(self.model)}

    @cached_property
    def required(self) -> set[str]:
        """The columns that a row must have."""
        return {name for name, column in self.columns.items() if column.is_read}

    @cached_property
    def ignored(self) -> frozenset[str]:
        """Columns that the training data had, but the model does not: rows may have them."""
        return self.model.left_out.difference(self.columns)

    @cached_property
    def class_labels(self) -> list[Any]:
        """The classes as JSON has them."""
        return plain_labels(self.model.classes)

    @cached_property
    def class_names(self) -> list[str]:
        """The names of the classes as keys of objects; their indices if two have the same name."""
        names = [str(label) for label in self.class_labels]
        return names if len(set(names)) == len(names) else list(map(str, range(len(names))))

    @cached_property
    def labels(self) -> dict[Any, Any]:
        """The classes of the model by their names, and by themselves."""
        own = self.model.classes.tolist()
        exact = dict(zip(own, own, strict=True)) | dict(zip(self.class_names, own, strict=True))
        small = (name.lower() for name in self.class_names)  # true is True, as on the command line
        return {name: label_named(name, own) for name in small} | exact

    @cached_property
    def info(self) -> dict[str, Any]:
        """What the server says of the model: see `documents.ModelInfo`."""
        described, model = self.description, self.model
        prior = [None] * len(self.class_names) if model.prior is None else model.prior.tolist()
        weights = {str(label): weight for label, weight in described.classes}
        return {
            "name": self.name,
            "kind": described.kind,
            "classes": [
                {"name": name, "label": label, "prior": p}
                for name, label, p in zip(self.class_names, self.class_labels, prior, strict=True)
            ],
            "columns": [
                _column_info(column, family)
                for column, (_, family) in zip(self.columns.values(), described.columns, strict=True)
            ],
            "generative": model.density.has_likelihoods,
            "provenance": {
                "version": described.version,
                "bytes": described.size,
                "weights": [weights.get(str(label)) for label in model.classes.tolist()],
                "calibration": None if model.calibration is None else str(model.calibration),
                "choice": None if model.choice is None else model.choice.summary,
            },
        }

    @cached_property
    def info_json(self) -> bytes:
        """The same as JSON."""
        return to_json(self.info, inf_nan_mode="null")

    def ready(self) -> Served:
        """Work out what the first request would wait for; an error shows that the model cannot be served."""
        if len(self.columns) != self.model.density.n_features:
            raise ModelFileError("two columns have the same name")
        _ = self.info_json, self.required, self.ignored, self.labels  # all text must be UTF-8
        return self


def _column_info(column: Input, family: str | None) -> dict[str, Any]:
    own = vars(column) | {"family": family, "categories": list(column.categories), "required": column.is_read}
    return {name: value for name, value in own.items() if name not in ("is_read", "step")}


def load(path: AnyPath) -> Served:
    """Read a model file; ModelFileError where it holds no model that can be served."""
    try:
        model = load_model(path)
        if model.names is None:  # then requests know the columns as x0, x1 and so on
            model = replace(model, names=tuple(f"x{j}" for j in range(model.density.n_features)))
        return Served(Path(locate(path).name).name.removesuffix(SUFFIX), model, describe(path)).ready()
    except (SufficeError, OSError) as error:
        raise ModelFileError(str(error)) from None
    except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError, RecursionError) as error:
        raise ModelFileError(f"{without_credentials(path)} cannot be served: {error!r}") from None


@dataclass
class Models:
    """The models of a file, or of the files in a folder.

    Parameters
    ----------
    path : path
        A model file, or a folder of such files.
    """

    path: Path
    served: Mapping[str, Served] = field(default_factory=dict)  # replaced as a whole, never changed
    problems: Mapping[str, str] = field(default_factory=dict)  # files that could not be loaded, and why
    _stamps: dict[str, _Stamp] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        if not self.path.exists():
            raise ModelFileError(f"there is no file or folder {self.path}")
        self.refresh()
        if self.problems and not self.path.is_dir():
            raise ModelFileError(next(iter(self.problems.values())))
        if not self.served and self.path.is_dir():
            told = "; ".join(self.problems.values()) or f"it has no files whose names end in {SUFFIX}"
            raise ModelFileError(f"the folder {self.path} has no model to serve: {told}")

    def _files(self) -> Iterator[Path]:
        if not self.path.is_dir():
            yield self.path
            return
        yield from sorted(path for path in self.path.glob(f"*{SUFFIX}") if not path.name.startswith("."))

    def refresh(self) -> None:
        """Load files that are new or have changed. A model stays until its new file is whole, or the file is gone."""
        served, problems, stamps = dict(self.served), dict(self.problems), {}
        for path in self._files():
            name = path.name.removesuffix(SUFFIX)
            try:
                stamps[name] = _stamp(path)
            except OSError:  # gone, or about to be replaced
                continue
            if stamps[name] == self._stamps.get(name):
                continue
            try:
                served[name] = load(path)
                problems.pop(name, None)
            except ModelFileError as error:
                problems[name] = str(error)
        if self.path.is_dir():
            served = {name: own for name, own in served.items() if name in stamps}
            problems = {name: why for name, why in problems.items() if name in stamps}
        self.served, self.problems, self._stamps = served, problems, stamps

    @property
    def only(self) -> Served | None:
        """The model, if there is exactly one."""
        return next(iter(self.served.values())) if len(self.served) == 1 else None


class StoredModel(Models):
    """The model of an object store, loaded once: to look for a new one all the time would cost requests."""

    def __init__(self, url: AnyPath) -> None:
        own = load(url)
        self.served, self.problems = {own.name: own}, {}

    def refresh(self) -> None:
        """Keep the model: only another start of the server loads it again."""


def models_at(path: AnyPath) -> Models:
    """Return the models at a path, or the model at a URL."""
    location = locate(path)
    return Models(Path(location.path)) if location.is_local else StoredModel(path)


def _stamp(path: Path) -> _Stamp:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size, status.st_ino
