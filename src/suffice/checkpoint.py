"""Checkpoints: a file with the statistic so far and the files that it covers, to resume an interrupted run."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import is_dataclass
from time import monotonic
from typing import Any, Self, TypeVar

import numpy as np

from . import arrayfile
from ._version import __version__
from .atomic import claimed
from .errors import CheckpointError
from .sources import Run
from .stats import Statistics
from .storage import locate, without_credentials

S = TypeVar("S", bound=Statistics)

FORMAT = 1
SECONDS = 5.0  # between two writes


class Checkpoint(Run[S]):
    """A run that is written to a file every few seconds, so that an interrupted one can be resumed."""

    def __init__(self, path: str | os.PathLike[str], job: Mapping[str, Any]) -> None:
        super().__init__()
        self.path, self.job = path, dict(job)
        self._saved = False  # whether the file holds all of it
        self._token: str | None = None  # that this run has written to its file, so that it sees whether another did
        self._next = monotonic() + SECONDS

    @classmethod
    @contextmanager
    def open(cls, path: str | os.PathLike[str], job: Mapping[str, Any]) -> Iterator[Self]:
        """Resume the run of a job where its file left it, and write the file at the end of the block.

        An error says if the file belongs to another job, or if another run is using it.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(claimed(path))
            except BlockingIOError:
                raise CheckpointError(
                    f"{without_credentials(path)} is in use by another run; wait until it ends, or give each run a "
                    "checkpoint of its own"
                ) from None
            run = cls(path, job)
            if locate(path).exists():
                run._load()
                run._saved = locate(path).is_local  # in a store, which has no locks, the last run takes the file over
            run.save()  # now, rather than after hours, it shows whether it can be written
            try:
                yield run
            finally:
                run.save()

    def _load(self) -> None:
        name = without_credentials(self.path)
        header, arrays = arrayfile.read(self.path, "checkpoint", FORMAT, CheckpointError)
        if "estimator" in header:
            raise CheckpointError(f"{name} holds a model, not a checkpoint; give another file for the checkpoint")
        try:
            known, self.done = header["job"], header["done"]
            if header["statistic"] is not None:
                kind = Statistics.kinds[header["statistic"]]
                self.total = kind.from_arrays(arrayfile.labels_from_header(header), arrays)  # type: ignore[assignment]
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{name} does not hold a whole checkpoint: {error!r}; remove it") from None
        for key in sorted(known.keys() | self.job.keys()):
            if known.get(key) != self.job.get(key):
                raise CheckpointError(
                    f"{name} is the checkpoint of another job: its {key} is {_short(known.get(key))}, here it is "
                    f"{_short(self.job.get(key))}; give another checkpoint, or remove this file to start again"
                )
        self._saved = True

    def advance(self, total: S | None, key: str, note: Any) -> None:
        self._saved = False
        super().advance(total, key, note)
        if monotonic() >= self._next:
            self.save()

    def save(self) -> None:
        """Write the file, if the run has progressed since it was written."""
        if self._saved:
            return
        if self._token is not None and not locate(self.path).is_local:
            self._refuse_others()
        self.settle()
        total, self._token = self.total, secrets.token_hex(8)
        header = {
            "format": FORMAT,
            "version": __version__,
            "job": self.job,
            "run": self._token,
            "done": self.done,
            "statistic": None if total is None else type(total).__name__,
            **({} if total is None else arrayfile.labels_to_header(total.classes)),
        }
        arrayfile.write(self.path, header, {"empty": np.zeros(0)} if total is None else total.to_arrays())
        self._saved = True
        self._next = monotonic() + SECONDS

    def _refuse_others(self) -> None:
        """Raise an error if another run has written the file since this one did."""
        header, _, _ = arrayfile.look(self.path, "checkpoint", CheckpointError, lambda _: False)
        if header.get("run") != self._token:
            raise CheckpointError(
                f"another run has taken over {without_credentials(self.path)}; give each run a checkpoint of its own"
            )


def described(value: Any) -> Any:
    """Return a description of a collector as JSON values.

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
