"""The rows that a report is about: labelled and scored, with as many of them in memory as it shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions
from ..errors import DataError
from ..scoring.evaluation import check_labels, class_codes, scores_of
from ..scoring.loop import in_steps, refuse
from ..scoring.model import Model
from ..scoring.reading import Reading
from ..sources import Source
from ..sources.frames.arrays import ArraySource
from ..sources.labelled import refuse_missing_labels
from ..sources.sampling import sampled
from ..tables.labels import missing_labels
from ..tables.table import Frame, Sparse, Table

Array = NDArray[Any]

SCORES = 1 << 24  # scores that are held at most: 128 MB
CELLS = 1 << 24  # cells of the rows whose columns are shown
COLUMNS = 2000  # of which a report can tell
COLOURS = 12  # of classes, in the style of the page
_CHARTS = 6  # classes that have charts


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Labelled rows with the scores that a model gives them, or that models gave which had not seen them."""

    model: Model
    code: Array  # (n,) index of the true class
    scores: Array  # (n, k) calibrated log-likelihoods, up to a term that all classes share
    weight: Array  # (n,)

    @cached_property
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

    def colour(self, c: int) -> int:
        """Return the number of the colour of a class; of many classes, only the most frequent have one."""
        return self.most_frequent.index(c) if self.n_classes > COLOURS else c

    @cached_property
    def most_frequent(self) -> list[int]:
        """The classes that have charts, in their order."""
        return sorted(np.argsort(-self.by_class, kind="stable")[:_CHARTS].tolist())

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


@dataclass(frozen=True, eq=False)
class DrawnRows(ScoredRows):
    """Rows with their columns: all of them, or some that are drawn at random."""

    table: Table
    number: Array | None  # (n,) where each row stands in the table that it comes from; None: it has no order

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


@dataclass(frozen=True, eq=False)
class ReportRows(ScoredRows):
    """All that a report is about: the scores of all rows, and the columns of these or of some of them."""

    drawn: DrawnRows
    n_rows: int  # of the table
    is_sample: bool = False  # whether there are more rows than have scores
    how: str = ""  # how the rows were held out, in a sentence
    reasons: dict[str, str] = field(default_factory=dict)  # why columns have their families, where that is known


def rows_of(model: Model, X: Any, y: Any, weight: Any = None) -> ReportRows:
    """Return labelled rows with their scores by a model."""
    y = model.target if y is None else y
    check_labels(model, y)
    source = model._source(X, y, weight)
    held, number, n_rows, _ = sampled(source, most_rows(model, source), 0, by_class=False)
    drawn = drawn_rows(model, held, source, y, number)
    if len(number) == n_rows or n_rows > most_scores(model):
        return of_drawn(drawn, n_rows, is_sample=len(number) < n_rows)
    code, scores, weights = scores_of(model, source, y)
    kept = np.flatnonzero(weights > 0)
    return ReportRows(model, code[kept], scores[kept], weights[kept], drawn, n_rows)


def most_scores(model: Model) -> int:
    """Return how many rows are scored at most, so that their scores can be held."""
    return max(SCORES // len(model.classes), 1)


def most_rows(model: Model, source: Source) -> int:
    """Return how many rows are taken into memory at most."""
    return min(max(CELLS // source.n_features, 1000), most_scores(model))


def of_drawn(drawn: DrawnRows, n_rows: int, is_sample: bool, how: str = "") -> ReportRows:
    """Return rows of which all that have scores are in memory."""
    return ReportRows(drawn.model, drawn.code, drawn.scores, drawn.weight, drawn, n_rows, is_sample, how)


def drawn_rows(
    model: Model, held: ArraySource, source: Source, y: Any, number: Array, scores: Array | None = None
) -> DrawnRows:
    """Return rows in memory with their scores; those of `scores`, where other models have given them."""
    labels = np.asarray(held.y)
    if missing_labels(labels).any():
        refuse_missing_labels(source)
    code = class_codes(labels, model.classes, y)
    weight = np.ones(len(code)) if held.weight is None else np.asarray(held.weight, np.float64)
    if scores is None:
        scores = score(model, held.table, source)
    reading = Reading(model._scorer, held.table.names, source.decimal, model.takes_infinity)
    table = reading.with_numbers(reading.finite(held.table) or held.table)
    rows = np.flatnonzero(weight > 0)
    if not len(rows):
        raise DataError("all weights are zero: there is nothing to report on")
    places = number[rows] if source.in_order else None
    return DrawnRows(model, code[rows], scores[rows], weight[rows], table[rows], places)


def score(model: Model, table: Table, source: Source | None = None) -> Array:
    """Return the scores (n, k) of rows; if some cannot be scored, an error names what they hold in their source."""
    out, scorer = np.empty((len(table), len(model.classes))), model._scorer
    reading = Reading(scorer, table.names, source.decimal if source else None, model.takes_infinity)
    if not in_steps(scorer, reading, table, out, lambda x, part: scorer.score(x, all=part, relative=True)) and source:
        refuse(source)
    if source:
        reading.warn()
    return out
