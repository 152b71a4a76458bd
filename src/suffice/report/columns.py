"""What a report says of each column: its values by class, what the model makes of them, and how much they tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions
from ..densities import Density
from ..errors import DataError, SufficeError
from ..families import family_of
from ..schema import DROP
from ..scoring.model import Model
from ..tables.features import Feature, as_learnt, read
from ..tables.summary import ColumnSummary
from ..tables.table import ArrayColumn, Column, Frame, looked_at
from .rows import COLUMNS, DrawnRows, score

Array = NDArray[Any]

_CELLS = 4_000_000  # of shares at a time
_SOME = 2000  # rows for what each column tells
_SHUFFLED = 60  # columns that are shuffled at most
_LEAST = -700.0  # log-probability of an impossible class
_GRID = 120  # points of a curve
_CATEGORIES = 8  # bars


@dataclass(frozen=True)
class ColumnFacts:
    """A column of the evaluated rows."""

    index: int
    name: str
    kind: str  # number, date, category, or other, of which nothing is drawn
    family: str  # in the words of the schema, and how it is learnt
    missing: float  # share of the rows
    unknown: int  # cells with categories that training rows did not have
    summary: str
    tells: float | None = None  # evidence, in nats
    is_needless: bool = False  # the model does as well without


def facts_of(rows: DrawnRows) -> list[ColumnFacts]:
    """Return all columns in their order; none of sparse tables and very wide ones."""
    frame = rows.frame
    if frame is None or frame.n_features > COLUMNS:
        return []
    tells, unknown, families = evidence(rows), _unknown(rows, frame), families_of(rows.model)
    is_read = set(rows.model.density.columns_read)
    told = [None if tells is None or j not in is_read else float(tells[j]) for j in range(frame.n_features)]
    found = [_facts(rows, j, column, families[j], int(unknown[j]), told[j]) for j, column in enumerate(frame.columns())]
    useless = [j for j, tells in enumerate(told) if tells is not None and tells <= 0]
    needless = _needless(rows, frame, useless) if rows.model.density.has_likelihoods else useless
    return [replace(each, is_needless=each.index in needless) for each in found]


def _needless(rows: DrawnRows, frame: Frame, columns: list[int]) -> list[int]:
    """Those of the columns that the model does not need: the share of one that depends on others may be negative only
    because they take account of it."""
    if not columns:
        return []
    chosen = _some(rows, frame)
    grown = _shuffled(rows, frame[chosen], rows.code[chosen], columns)
    return [] if grown is None else [j for j in columns if grown[j] <= 0]


def families_of(model: Model) -> list[str]:
    """Return what each column is to the model, in the words of its schema."""
    density = model.density
    one = family_of(model.owner) or density.family or ""
    known = density.families_of_columns() or dict.fromkeys(density.columns_read, one)
    found = []
    for j in range(density.n_features):
        steps = as_learnt(model.density.features, j)
        found.append(known.get(j, DROP) + (f" ({steps})" if steps else ""))
    return found


def _features(model: Model, j: int) -> list[Feature]:
    return [feature for feature in model.density.features if feature.source == j]


def _kind(model: Model, column: Column, j: int) -> str:
    """What a column holds, for the model or else by itself."""
    readers = {feature.reads[0][0] for feature in _features(model, j) if feature.reads}
    if j in model.density.columns_of_text():
        return "other"
    if readers and "truth" not in readers:
        return "date" if "date" in readers else "number"
    if j not in model.density.category_kinds() and ColumnSummary(looked_at(column)).is_number:
        return "number"
    return "other" if _coded(column) is None else "category"


def _numbers(model: Model, column: Column, j: int) -> Array:
    """The numbers that a column is read as, (n,); dates are days since 1970."""
    features = _features(model, j)
    return np.asarray(read(column, features[0].reads if features else ()), np.float64)


def evidence(rows: DrawnRows) -> Array | None:
    """Return how much each column tells, (d,), in nats.

    For a generative model: its mean share in the log-likelihood ratio of the true class over the strongest other one.
    For others: how much the mean log loss grows if the values of the column are shuffled.
    """
    frame = rows.frame
    if frame is None or rows.n_classes < 2:
        return None
    chosen, density = _some(rows, frame), rows.model.density
    if not density.has_likelihoods:
        return _shuffled(
            rows, frame[chosen], rows.code[chosen], [j for j in density.columns_read if j < frame.n_features]
        )
    assert isinstance(density, Density)
    some, code, n, scores = frame[chosen], rows.code[chosen], len(chosen), rows.scores[chosen].copy()
    scores[np.arange(n), code] = -np.inf
    rival = scores.argmax(axis=1)
    calibration = rows.model.calibration
    x = density.read(some)
    try:
        with np.errstate(invalid="ignore"):
            shares = np.stack([density.explain(x, c) for c in range(rows.n_classes)])
            own = shares[code, np.arange(n)] - shares[rival, np.arange(n)]
            own = own if calibration is None else calibration.of_shares(own)
    except SufficeError:
        return None
    return np.asarray(np.nan_to_num(own, nan=0.0, posinf=0.0, neginf=0.0).mean(axis=0))


def _some(rows: DrawnRows, frame: Frame) -> Array:
    """The indices of rows for what each column tells."""
    n = max(1, min(len(frame), _SOME, _CELLS // (max(frame.n_features, 1) * rows.n_classes)))
    return np.sort(np.random.default_rng(0).choice(len(frame), n, replace=False))


def _shuffled(rows: DrawnRows, some: Frame, code: Array, columns: list[int]) -> Array | None:
    """How much the mean log loss of some rows grows if the values of a column are shuffled; None for many columns."""
    if len(columns) > _SHUFFLED:
        return None
    prior = rows.model.prior if rows.model.prior is not None else np.full(rows.n_classes, 1 / rows.n_classes)
    log_prior, order = decisions.log(prior), np.random.default_rng(1).permutation(len(some))

    def loss(table_scores: Array) -> float:
        posterior = decisions.log_posterior(table_scores + log_prior, log_prior)
        return float(-np.maximum(posterior[np.arange(len(code)), code], _LEAST).mean())

    before, out = loss(score(rows.model, some)), np.zeros(some.n_features)
    for j in columns:
        parts = tuple(part[order] if i == j else part for i, part in enumerate(some.parts))
        out[j] = loss(score(rows.model, Frame(parts, some.names, len(some)))) - before
    return out


@dataclass(frozen=True)
class Numbers:
    """The values of a column of numbers by class: histograms, and the curves of the model."""

    edges: Array  # (m + 1,)
    heights: Array  # (k, m) densities
    grid: Array  # (g,)
    curves: Array | None  # (k, g) of the model, or None if it has no densities


def numbers_of(rows: DrawnRows, j: int) -> Numbers | None:
    """Return what to draw of a column of numbers, or None if it has no values."""
    frame = rows.frame
    assert frame is not None
    values = _numbers(rows.model, frame.parts[j], j)
    seen = np.isfinite(values)
    if not seen.any():
        return None
    values, code, weight = values[seen], rows.code[seen], rows.weight[seen]
    low, high = np.quantile(values, [0.002, 0.998]) if len(values) > 500 else (values.min(), values.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    whole = bool((values == np.round(values)).all()) and high - low >= 1
    bins = int(np.clip(2 * len(values) ** (1 / 3), 8, 40))
    if whole:
        width = max(1, round((high - low) / bins))
        edges = np.arange(np.floor(low) - 0.5, np.ceil(high) + width, width)
    else:
        edges = np.linspace(low, high, bins + 1)
    heights = np.stack(
        [np.histogram(values[code == c], edges, weights=weight[code == c])[0] for c in range(rows.n_classes)]
    )
    totals = np.bincount(code, weight, rows.n_classes)
    heights = heights / np.maximum(totals, 1e-300)[:, None] / np.diff(edges)
    grid = np.linspace(edges[0], edges[-1], _GRID)
    if whole:
        grid = np.unique(np.round(grid))
    else:  # what is exactly zero may have a probability of its own
        grid[grid == 0] = 1e-6 * (edges[-1] - edges[0])
    return Numbers(edges, heights, grid, densities_of(rows, j, grid))


@dataclass(frozen=True)
class Categories:
    """The categories of a column by class."""

    names: list[str]
    observed: Array  # (k, m) shares of the rows
    expected: Array | None  # (k, m) of the model


def categories_of(rows: DrawnRows, j: int) -> Categories | None:
    """Return what to draw of a column of categories, the most frequent ones, or None if it has no values."""
    frame = rows.frame
    assert frame is not None
    found = _coded(frame.parts[j])
    if found is None or not (found[1] >= 0).any():
        return None
    distinct, code = found
    known = code >= 0
    counts = np.zeros((rows.n_classes, len(distinct)))
    np.add.at(counts, (rows.code[known], code[known]), rows.weight[known])
    most = np.argsort(-counts.sum(axis=0), kind="stable")[:_CATEGORIES]
    most = np.sort(most) if len(distinct) <= _CATEGORIES else most
    observed = counts[:, most] / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    return Categories([str(value) for value in distinct[most].tolist()], observed, _curves(rows, j, distinct[most]))


def _coded(column: Column) -> tuple[Array, Array] | None:
    """The categories of a column and their codes, or None if it has none, as dates have not."""
    try:
        return column.coded()
    except DataError:
        return None


def densities_of(rows: DrawnRows, j: int, values: Array) -> Array | None:
    """Return p(value | class) for each unit of a column of numbers, under the model, (k, m).

    None if the model has no densities, or if several features of the column overlap, as a date and its month do: then
    their product is no density of the column.
    """
    features = [feature for feature in _features(rows.model, j) if ("is_zero",) not in feature.steps]
    found = _curves(rows, j, values) if len(features) < 2 else None
    return found if found is None or not features else found * features[0].slope(values)


def _curves(rows: DrawnRows, j: int, values: Array) -> Array | None:
    """p(features of the value | class) under the model, of one column by itself, (k, m)."""
    density, frame = rows.model.density, rows.frame
    if not isinstance(density, Density) or frame is None or j not in density.columns_read:
        return None
    first = np.zeros(len(values), np.intp)
    own = ArrayColumn.of(np.asarray(values, np.float64 if values.dtype.kind in "fiu" else object))
    if frame.parts[j].kind not in ("float", "integer") and not _features(rows.model, j):
        own = ArrayColumn.of(np.asarray(values, object))
    parts = tuple(own if i == j else part[first] for i, part in enumerate(frame.parts))
    try:
        with np.errstate(all="ignore"):
            x = density.read(Frame(parts, frame.names, len(values)))
            hidden = np.ones((len(values), frame.n_features), bool)
            hidden[:, j] = False
            found = np.exp(density.marginal(density.hide(x, hidden))).T
    except (SufficeError, ValueError, TypeError):  # a family whose columns say nothing alone, such as counts of words
        return None
    return found if np.isfinite(found).any() else None


def _unknown(rows: DrawnRows, frame: Frame) -> Array:
    density = rows.model.density
    if not isinstance(density, Density):
        return np.zeros(frame.n_features, int)
    cells = density.unknown_cells(frame)
    return np.asarray(cells.sum(axis=0))


def _facts(rows: DrawnRows, j: int, column: Column, family: str, unknown: int, tells: float | None) -> ColumnFacts:
    kind = _kind(rows.model, column, j)
    values = _numbers(rows.model, column, j) if kind in ("number", "date") else None
    unseen = column.missing() if values is None else np.isnan(values)
    missing = float((rows.weight * unseen).sum() / rows.weight.sum())
    own = ColumnFacts(j, rows.names[j], kind, family, missing, unknown, "", tells)
    if kind == "category":
        distinct, code = column.coded()
        count = np.bincount(code[code >= 0], minlength=len(distinct))
        most = np.argsort(-count, kind="stable")[:3]
        words = ", ".join(str(distinct[i]) for i in most)
        more = f" and {len(distinct) - 3} more" if len(distinct) > 3 else ""
        return replace(own, summary=f"{words}{more}")
    if values is None:
        return own
    values = values[np.isfinite(values)]
    if not len(values):
        return replace(own, summary="no values")
    low, middle, high = (as_date(x) if kind == "date" else f"{x:.4g}" for x in np.quantile(values, [0, 0.5, 1]))
    return replace(own, summary=f"{low} to {high}, median {middle}")


def as_date(days: float) -> str:
    """Return days since 1970 as a date.

    >>> as_date(20000.5)
    '2024-10-04'
    """
    return str(np.datetime64(int(np.floor(days)), "D"))
