"""What a model is judged by: scores, labels and weights of rows, from one pass over them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, MissingLabelsError, listed
from ..tables.batch import Batch
from ..tables.labels import count_missing, missing_message, positions
from .rows import in_steps, refuse

Array = NDArray[Any]


class Judged(NamedTuple):
    """Rows with labels; they themselves are not held."""

    scores: Array  # (n, k) log p(x | class), up to a term of the row
    labels: Array  # (n,) all of them classes of the model
    weight: Array  # (n,)


def judged(clf: Any, X: Any, y: str, sample_weight: str | None = None) -> Judged:
    """The scores, labels and weights of all rows of a table, whose columns y and weight are."""
    if y in (clf._names() or ()):
        raise DataError(f"column {y!r} is one of those that the model decides by: it cannot hold the labels, too")
    density = clf._scorer  # estimated here, not in the threads
    source = clf._source(X, y, sample_weight)

    def of(batch: Batch) -> tuple[list[tuple[Array, Array, Array]], bool]:
        scores, labels = np.empty((len(batch), density.n_classes)), np.asarray(batch.y)
        fine = in_steps(density, batch.table, scores, lambda x, out: density.score(x, all=out, relative=True))
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        return [(scores, labels, weight)], fine

    parts, fine = source.reduce(of, lambda a, b: ([*a[0], *b[0]], a[1] and b[1]))
    if not fine:
        refuse(source)
    scores, labels, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if missing := count_missing(labels):
        raise MissingLabelsError(missing_message(missing))
    place = positions(labels, clf.classes_)
    if (place < 0).any():
        unknown, known = dict.fromkeys(labels[place < 0].tolist()), listed(clf.classes_, 10)
        raise DataError(f"column {y!r} holds {listed(unknown)}, but the classes of the model are {known}")
    return Judged(scores, clf.classes_[place], weight)
