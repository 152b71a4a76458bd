"""Runs over many files that can be gone on with: the statistic so far, and what it is of, in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import is_dataclass
from time import monotonic
from typing import Any, Self, TypeVar

import numpy as np

from . import arrayfile
from ._version import __version__
from .errors import CheckpointError
from .sources import Run
from .stats import BundleStats, CategoryStats, CountStats, MomentStats, Statistics

S = TypeVar("S", bound=Statistics)

FORMAT = 1
SECONDS = 5.0  # between two writes
_KINDS: dict[str, type[Statistics]] = {
    kind.__name__: kind for kind in (MomentStats, CountStats, CategoryStats, BundleStats)
}


class Checkpoint(Run[S]):
    """A run that is written to a file every few seconds, so that nobody has to start again."""

    def __init__(self, path: str | os.PathLike[str], job: Mapping[str, Any]) -> None:
        super().__init__()
        self.path, self.job = path, dict(job)
        self._noted = False  # whether the file holds all of it
        self._next = monotonic() + SECONDS

    @classmethod
    def open(cls, path: str | os.PathLike[str], job: Mapping[str, Any]) -> Self:
        """The run of a job as far as a file knows it; an error where the file is of another one."""
        run = cls(path, job)
        if not os.path.exists(path):
            run.save()  # now, rather than after hours, it shows whether it can be written
            return run
        header, arrays = arrayfile.read(path, "checkpoint", FORMAT, CheckpointError)
        try:
            known, run.done = header["job"], header["done"]
            if header["statistic"] is not None:
                kind = _KINDS[header["statistic"]]
                run.total = kind.from_arrays(arrayfile.labels_from_header(header), arrays)  # type: ignore[assignment]
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{path} does not hold a whole checkpoint: {error!r}; remove it") from None
        for key in sorted(known.keys() | run.job.keys()):
            if known.get(key) != run.job.get(key):
                raise CheckpointError(
                    f"{path} is the checkpoint of another job: its {key} is {_short(known.get(key))}, here it is "
                    f"{_short(run.job.get(key))}; give another checkpoint, or remove this file to start again"
                )
        run._noted = True
        return run

    def advanced(self) -> None:
        self._noted = False
        if monotonic() >= self._next:
            self.save()

    def save(self) -> None:
        """Write the file, if it does not hold all of the run yet."""
        if self._noted:
            return
        total = self.total
        header = {
            "format": FORMAT,
            "version": __version__,
            "job": self.job,
            "done": self.done,
            "statistic": None if total is None else type(total).__name__,
            **({} if total is None else arrayfile.labels_to_header(total.classes)),
        }
        arrayfile.write(self.path, header, {"empty": np.zeros(0)} if total is None else total.to_arrays())
        self._noted = True
        self._next = monotonic() + SECONDS


def described(value: Any) -> Any:
    """What a function from batches to statistics does, in the values that JSON has.

    >>> from suffice.stats import CollectMoments
    >>> described(CollectMoments("full"))
    ['CollectMoments', {'layout': 'full'}]
    """
    if is_dataclass(value):
        return [type(value).__name__, described(vars(value))]
    if isinstance(value, dict):
        return {str(key): described(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [described(item) for item in value]
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]} ..."
