"""The rows that a report is about: labelled, scored, and few enough to be put into a page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions
from ..errors import DataError
from ..scoring.evaluation import check_labels, class_codes
from ..scoring.model import Model
from ..scoring.rows import in_steps, refuse
from ..sources import Source
from ..sources.frames.arrays import ArraySource
from ..sources.sampling import sampled
from ..tables.table import Frame, Sparse, Table

Array = NDArray[Any]

SCORES = 160_000  # numbers in a page at most: 1.7 MB
COLUMNS = 2000  # of which a report can tell


@dataclass(frozen=True, eq=False)
class ReportRows:
    """Labelled rows with the scores that a model gives them, or that models gave which had not seen them."""

    model: Model
    table: Table
    code: Array  # (n,) index of the true class
    scores: Array  # (n, k) calibrated log-likelihoods, up to a term that all classes share
    weight: Array  # (n,)
    n_rows: int | None = None  # of which these are a sample; None: these are all
    how: str = ""  # how the rows were held out, in a sentence

    @property
    def classes(self) -> list[str]:
        """The names of the classes."""
        return [str(label) for label in self.model.classes.tolist()]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.model.classes)

    @cached_property
    def by_class(self) -> Array:
        """The weight of each class, (k,)."""
        return np.bincount(self.code, self.weight, self.n_classes)

    @property
    def has_all_classes(self) -> bool:
        """Whether every class has rows."""
        return bool(self.by_class.all())

    @property
    def is_weighted(self) -> bool:
        """Whether rows have different weights."""
        return bool((self.weight != self.weight[0]).any())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        own = self.model.names
        return tuple(map(str, own)) if own is not None else tuple(f"x{j}" for j in range(self.table.n_features))

    @cached_property
    def frame(self) -> Frame | None:
        """The rows column by column, or None if they are sparse."""
        if isinstance(self.table, Frame):
            return self.table
        if isinstance(self.table, Sparse):
            return None
        return Frame(tuple(self.table.columns()), self.table.names, len(self.table))

    def posterior(self, prior: Array) -> Array:
        """Return P(class | x), (n, k)."""
        log_prior = decisions.log(prior)
        return np.exp(decisions.log_posterior(self.scores + log_prior, log_prior))

    def detection(self, c: int) -> Array:
        """Return the log-likelihood ratio of a class over the others, which are equally probable, (n,)."""
        others = np.delete(self.scores, c, axis=1)
        top = others.max(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            level = np.where(np.isneginf(top), top, top + np.log(np.exp(others - top[:, None]).mean(axis=1)))
        return np.asarray(decisions.difference(self.scores[:, c], level))


def rows_of(model: Model, X: Any, y: Any, weight: Any = None, how: str = "") -> ReportRows:
    """Return labelled rows with their scores by a model; of many rows, some that are drawn at random."""
    y = model.target if y is None else y
    check_labels(model, y)
    source = model._source(X, y, weight)
    held = sampled(source, most_rows(len(model.classes)), 0)
    some = len(held.table) == most_rows(len(model.classes))
    return scored(model, held, source, y, _count(source) if some else None, how)


def most_rows(n_classes: int) -> int:
    """Return how many rows a page holds."""
    return SCORES // (1 if n_classes == 2 else n_classes)


def scored(
    model: Model, held: ArraySource, source: Source, y: Any, n_rows: int | None, how: str, scores: Array | None = None
) -> ReportRows:
    """Return rows in memory with their scores; those of `scores`, where other models have given them."""
    code = class_codes(np.asarray(held.y), model.classes, y)
    weight = np.ones(len(code)) if held.weight is None else np.asarray(held.weight, np.float64)
    if scores is None:
        scores = score(model, held.table, source)
    kept = weight > 0
    if not kept.any():
        raise DataError("all weights are zero: there is nothing to report on")
    n_rows = None if n_rows == len(code) else n_rows
    rows = np.flatnonzero(kept)
    return ReportRows(model, held.table[rows], code[rows], scores[rows], weight[rows], n_rows, how)


def score(model: Model, table: Table, source: Source | None = None) -> Array:
    """Return the scores (n, k) of rows; if some cannot be scored, an error names what they hold in their source."""
    out, scorer = np.empty((len(table), len(model.classes))), model._scorer
    if not in_steps(scorer, table, out, lambda x, part: scorer.score(x, all=part, relative=True)) and source:
        refuse(source)
    return out


def _count(source: Source) -> int | None:
    """The number of rows, in another pass where nothing else tells."""
    return source.n_rows if source.n_rows is not None else source.reduce(len, lambda a, b: a + b)
