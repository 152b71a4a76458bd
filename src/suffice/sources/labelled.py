"""Rows with labels: which rows have none, and whether the labels are classes at all."""

from __future__ import annotations

import operator
from collections import Counter
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, MissingLabelsError, SkippedWarning, SufficeError, SufficeWarning, listed, remedy, warn
from ..tables.batch import Batch
from ..tables.labels import SoftLabels, encode, missing_labels, missing_message, rows_shown
from ..tables.table import LOOK
from .base import Source
from .filtered import FilteredSource

Array = NDArray[Any]

SINGLES = 20  # classes of one row, of which more are suspicious
_MANY, _NOTES = 10, 3  # rows of the largest class, with which one to so many classes of one row are suspicious


def labelled(source: Source) -> Source:
    """Return the rows of a source that have a label, with a warning that counts the others."""
    n, rows = _missing(source)
    if not n:
        return source
    if source.checkpoint is not None:
        raise DataError(
            f"{n} rows have no label, and a run with a checkpoint cannot leave them out; remove these rows, or give up "
            + remedy("checkpoint=", "--checkpoint")
        )
    left = f"{n} row{'s have' if n > 1 else ' has'} no label and {'are' if n > 1 else 'is'} left out"
    warn(f"{left}{rows_shown(n, rows)}", SkippedWarning)
    return FilteredSource(source, lambda batch: ~missing_labels(np.asarray(batch.y)))


def refuse_missing_labels(source: Source, python: str = "") -> NoReturn:
    """Raise an error that counts the rows without a label; see `missing_message`."""
    raise MissingLabelsError(missing_message(*_missing(source), python))


def _missing(source: Source) -> tuple[int, list[int]]:
    """How many labels are missing, and the first such rows, where a source has an order."""

    def of(batch: Batch) -> list[tuple[int, int, list[int]]]:
        if batch.y is None or isinstance(batch.y, SoftLabels):
            return [(len(batch), 0, [])]
        rows = np.flatnonzero(missing_labels(np.asarray(batch.y)))
        return [(len(batch), len(rows), rows[:10].tolist())]

    parts = source.reduce(of, operator.add)
    starts = np.cumsum([0, *(n for n, *_ in parts)]).tolist()
    rows = [start + row for start, (_, _, own) in zip(starts, parts, strict=False) for row in own]
    return sum(n for _, n, _ in parts), rows if source.in_order else []


def check_classes(source: Source, some: Array | SoftLabels | None = None) -> None:
    """Raise an error where labels are no classes, since most rows are the only ones of their class, or are missing.
    Warn of classes of one row, and of classes whose names are nearly alike.

    Parameters
    ----------
    source : Source
        The rows.
    some : array, optional
        Labels of a sample of them; fewer than `LOOK` are all that there are. The first ones are read unless given.
    """
    if isinstance(some, SoftLabels):
        return
    labels = _first_labels(source, LOOK) if some is None else np.asarray(some)
    missing = missing_labels(labels)
    known = labels[~missing]
    classes, code = encode(known) if len(known) else (np.empty(0), np.zeros(0, int))
    rows = np.bincount(code)
    if _are_no_classes(rows) and len(labels) >= LOOK:  # others may be of the same classes
        rows = np.array(list(source.reduce(_counted, operator.iadd).values()))
    if _are_no_classes(rows):
        where = remedy("the target", "the target column")
        raise DataError(
            f"{where} has {len(rows)} different values in {rows.sum()} rows, {(rows == 1).sum()} of them in one row "
            "alone: these are numbers or identifiers rather than classes; choose another column"
            + remedy("", " with -t")
            + ", or make classes of it, such as low and high"
        )
    if missing.any():  # this is the automatic choice, or a command
        refuse_missing_labels(source, ", or leave them out with skip_unlabelled=True")
    if alike := _alike(classes):
        warn(
            f"the classes {alike} differ in blanks or capitals alone; if they are one class, write them alike",
            SufficeWarning,
        )
    single = classes[rows == 1] if len(labels) < LOOK else ()
    if 0 < len(single) <= _NOTES and rows.max() >= _MANY:
        have = f"class {listed(single)} has" if len(single) == 1 else f"the classes {listed(single)} have"
        warn(
            f"{have} only one row; if this is no class, but a total or a note below the table, remove the row",
            SufficeWarning,
        )


def _alike(classes: Array) -> str:
    """The first classes that differ in blanks or capitals alone, for a message; "" if there are none."""
    found: dict[str, list[str]] = {}
    for name in classes.tolist():
        if isinstance(name, str):
            found.setdefault(" ".join(name.split()).casefold(), []).append(name)
    return next((listed(names) for names in found.values() if len(names) > 1), "")


def _are_no_classes(rows: Array) -> bool:
    """Whether classes of so many rows each are none."""
    alone = int((rows == 1).sum())
    return alone > SINGLES and 2 * alone > rows.sum()


def _counted(batch: Batch) -> Counter[Any]:
    labels = np.asarray(batch.y)
    return Counter(labels[~missing_labels(labels)].tolist())


class _EnoughError(SufficeError):
    """There are enough rows."""


def _first_labels(source: Source, n: int) -> Array:
    """The labels of the first rows, n or a few more; fewer only where there are no more."""
    found: list[Array] = []

    def of(batch: Batch) -> int:
        if batch.y is not None and not isinstance(batch.y, SoftLabels):
            found.append(np.asarray(batch.y))
        if sum(map(len, found)) >= n:
            raise _EnoughError
        return 0

    with suppress(_EnoughError):
        source.reduce(of, operator.add)
    kinds = {part.dtype.kind for part in found}
    return (
        np.concatenate(found if len(kinds) <= 1 else [part.astype(object) for part in found]) if found else np.empty(0)
    )
