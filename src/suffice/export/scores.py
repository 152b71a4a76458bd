"""Scores of rows as SQL expressions: for every family of densities, what its kernels compute.

No engine meets an infinity here, as not all have one, nor numbers that overflow or underflow, at which some give up:
IMPOSSIBLE stands for -inf, and cells are held within so many deviations that their squares can be summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import combinations_with_replacement, pairwise
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import and_, case, func, or_
from sqlalchemy.sql.elements import ColumnElement

from ..densities import (
    CategoricalDensity,
    GaussianDensity,
    MixtureDensity,
    ProductDensity,
    StudentDensity,
    TextDensity,
)
from ..errors import DataError
from ..regression import LogisticModel
from ..regression.encoding import Encoding
from .dialects import LARGEST, AsBoolean, AsNumber, AsText, Cell, Dot, Greatest, Infinity, Number, Text, Total
from .features import feature_cell
from .steps import Steps

Array = NDArray[Any]
Expression = ColumnElement[Any]

IMPOSSIBLE = -1e300
POSSIBLE = -1e299  # the least score that is one; sums of whatever is impossible lie below
_NOTHING = -500.0  # the logarithm of a share that is none; some engines refuse to work out smaller ones
FAR = 1e100  # deviations beyond which nothing is told apart
_WIDE = 500  # columns of one kind in a query, of 1664 in all that PostgreSQL allows
LOG_2PI = float(np.log(2 * pi))


@dataclass(frozen=True)
class Scores:
    """log p(x | class) = relative + shared, of rows that are not refused."""

    relative: Sequence[Expression]  # (k,)
    shared: Expression  # by all classes
    refused: Sequence[Expression]  # conditions under which `predict` would raise an error


@singledispatch
def scores(model: Any, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    """The scores of a model whose columns have these names in the table.

    Parameters
    ----------
    strict : whether a full covariance refuses rows with missing cells, as it does unless it is part of a product: to
        score them makes a statement long
    """
    raise DataError(f"{model!r} cannot be written as SQL: it has too many columns, or its family is not supported")


# Cells.


def cell(column: str | Expression) -> Expression:
    """A column of the table by its name, or the value of a feature."""
    return Cell(column) if isinstance(column, str) else column


@dataclass(frozen=True)
class NumberCells:
    """Columns of numbers."""

    raw: list[Expression]
    held: list[Expression]  # within bounds; NULL where they are missing or infinite

    @classmethod
    def of(
        cls, steps: Steps, names: Sequence[str], low: Array, high: Array, tiny: Array, kind: Any = AsNumber
    ) -> NumberCells:
        raw = [steps.number(kind(cell(name))) for name in names]
        held = []
        for v, a, b, none in zip(raw, low, high, tiny, strict=True):
            least, most = Number(a), Number(b)
            usable = [
                (v.between(Number(-none), Number(none)), Number(0.0)),
                (v.between(least, most), v),
                (v.between(most, Number(LARGEST)), most),
                (v.between(Number(-LARGEST), least), least),
            ]
            held.append(steps.bind("x", case(*usable)))
        return cls(raw, held)

    @classmethod
    def anywhere(cls, steps: Steps, names: Sequence[str]) -> NumberCells:
        """Columns of which no scale is known."""
        ones = np.ones(len(names))
        return cls.of(steps, names, -FAR * ones, FAR * ones, ones / FAR)

    @classmethod
    def counts(cls, steps: Steps, names: Sequence[str], presence: bool = False) -> NumberCells:
        ones = np.ones(len(names))
        kind = AsBoolean if presence else AsNumber
        return cls.of(steps, names, 0.0 * ones, FAR * ones, ones / FAR, kind)

    def missing(self) -> list[Expression]:
        return [x.is_(None) for x in self.held]

    def infinite(self) -> list[Expression]:
        return [or_(v == Infinity(), v == Infinity("-")) for v in self.raw]

    def uncountable(self) -> list[Expression]:
        return [or_(v == Infinity(), v < Number(0.0)) for v in self.raw]


def or_zero(term: Expression) -> Expression:
    """A term, or nothing where its cell is missing."""
    return func.coalesce(term, Number(0.0))


def finite(value: float) -> Number:
    return Number(value if value > -np.inf else IMPOSSIBLE)


# Gaussians.


@scores.register
def _(density: GaussianDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:
    x = _gaussian_cells(density, steps, names)
    full = density.structure.shape == "full"
    if full and not strict and _n_eliminated(density) <= _WIDE:
        return _marginal(density, steps, x)
    refused = x.missing() if full else x.infinite()
    if density.linear_scores is not None:
        relative, shared = (_tied if full else _tied_diagonal)(density, steps, x.held)
        return Scores(relative, shared, refused)
    log_norm = LOG_2PI + (np.zeros(density.mean.shape) if full else np.log(_variances(density)))
    relative = []
    for c in range(density.n_classes):
        z = _whitened(density, steps, x.held, c, relative)
        terms = [or_zero(each * each + Number(norm)) for each, norm in zip(z, log_norm[c], strict=True)]
        constant = density.log_det[0 if density.structure.tied else c] if full else 0.0
        relative.append(_seen(density, steps, c, Number(-0.5) * Total(Number(constant), *terms)))
    return Scores(relative, Number(0.0), refused)


def _gaussian_cells(density: GaussianDensity, steps: Steps, names: Sequence[str]) -> NumberCells:
    mean, deviation = density.mean[density.seen], np.sqrt(_variances(density)).max(axis=0)
    if not len(mean):
        mean = density.mean
    far = FAR * deviation
    bounds = np.clip([mean.min(axis=0) - far, mean.max(axis=0) + far], -LARGEST, LARGEST)
    return NumberCells.of(steps, names, bounds[0], bounds[1], deviation / FAR)


def _variances(density: GaussianDensity) -> Array:
    """The variance of each feature in each class, (k, d)."""
    covariance = density.covariance
    own = np.einsum("gii->gi", covariance) if covariance.ndim == 3 else covariance
    return np.broadcast_to(own, density.mean.shape)


def _seen(density: GaussianDensity, steps: Steps, c: int, score: Expression) -> Expression:
    return steps.bind("score", score if density.seen[c] else Number(IMPOSSIBLE))


def _whitened(
    density: GaussianDensity, steps: Steps, x: Sequence[Expression], c: int, before: list[Expression]
) -> list[Expression]:
    """Columns whose sum of squares is the squared Mahalanobis distance to a class."""
    after = previous(before, len(x))
    deviation = np.sqrt(_variances(density)[c])
    unit = [
        steps.bind("u", (each - Number(m)) * Number(1 / s), after)
        for each, m, s in zip(x, density.mean[c], deviation, strict=True)
    ]
    if density.structure.shape != "full":
        return unit
    whitening = density.whitening[0 if density.structure.tied else c] * deviation
    return [steps.bind("z", Dot(row[: i + 1], unit[: i + 1])) for i, row in enumerate(whitening)]


def previous(before: list[Expression], width: int) -> Expression | None:
    """What the columns of the next class have to wait for, so many for each class, to have room in one query: as many
    classes as fit are worked out side by side."""
    beside = max(1, _WIDE // width)
    return before[-beside] if len(before) >= beside else None


def _tied(density: GaussianDensity, steps: Steps, x: Sequence[Expression]) -> tuple[Sequence[Expression], Expression]:
    center, slope, constant = density.linear()
    apart = [steps.bind("u", each - Number(m)) for each, m in zip(x, center, strict=True)]
    relative = [Total(finite(constant[c]), Dot(slope[c], apart)) for c in range(density.n_classes)]
    z = [steps.bind("z", Dot(row[: i + 1], apart[: i + 1])) for i, row in enumerate(density.whitening[0])]
    log_norm = density.n_features * LOG_2PI + density.log_det[0]
    return relative, Number(-0.5) * Total(Number(log_norm), *(each * each for each in z))


def _tied_diagonal(
    density: GaussianDensity, steps: Steps, x: Sequence[Expression]
) -> tuple[Sequence[Expression], Expression]:
    """As _tied, but each column has a part of its own in everything, which drops out where it is missing."""
    center, slope, _ = density.linear()
    whitening, log_norm = density.whitening[0], LOG_2PI + np.log(density.covariance[0])
    unit = [steps.bind("u", (each - Number(m)) * Number(w)) for each, m, w in zip(x, center, whitening, strict=True)]
    relative: list[Expression] = []
    for c in range(density.n_classes):
        means = slope[c] / whitening
        parts = [or_zero(Number(m) * u - Number(0.5 * m * m)) for m, u in zip(means, unit, strict=True)]
        relative.append(Total(*parts) if density.seen[c] else Number(IMPOSSIBLE))
    squares = [or_zero(u * u + Number(norm)) for u, norm in zip(unit, log_norm, strict=True)]
    return relative, Number(-0.5) * Total(*squares)


def _n_eliminated(density: GaussianDensity) -> int:
    """How many columns a query of _marginal has at most."""
    d = density.n_features
    return len(density.covariance) * d * (d - 1) // 2 + density.n_classes * d


def _marginal(density: GaussianDensity, steps: Steps, cells: NumberCells) -> Scores:
    """The density of what is observed: column by column, each is taken out of the correlations of those that follow.

    A column that is missing correlates with nothing and deviates by nothing, so that it says nothing."""
    x, k, d = cells.held, density.n_classes, density.n_features
    deviation = np.sqrt(_variances(density))
    factors, log_dets = [], []
    for g, covariance in enumerate(density.covariance):
        rho = covariance / deviation[g] / deviation[g][:, None]
        left: dict[tuple[int, int], Expression] = {(i, i): Number(1.0) for i in range(d)}
        for i in range(d):
            for j in range(i):
                both = and_(x[i].is_not(None), x[j].is_not(None))
                left[i, j] = steps.bind("a", case((both, Number(rho[i, j])), else_=Number(0.0)))
        factor = {}
        for p in range(d):
            for i in range(p + 1, d):
                factor[i, p] = steps.bind("f", left[i, p] / left[p, p])
            for i in range(p + 1, d):
                for j in range(p + 1, i + 1):
                    left[i, j] = steps.bind("a", left[i, j] - factor[i, p] * left[j, p])
        factors.append((factor, [left[p, p] for p in range(d)]))
        log_dets.append(Total(*(func.ln(left[p, p]) for p in range(1, d))))
    relative = []
    for c in range(k):
        factor, pivots = factors[0 if density.structure.tied else c]
        y = [
            steps.bind("u", or_zero((each - Number(m)) * Number(1 / s)))
            for each, m, s in zip(x, density.mean[c], deviation[c], strict=True)
        ]
        for p in range(d):
            y[p + 1 :] = [steps.bind("u", y[i] - factor[i, p] * y[p]) for i in range(p + 1, d)]
        distance = Total(*(each * each / pivot for each, pivot in zip(y, pivots, strict=True)))
        own = [] if density.structure.tied else [log_dets[c], *_log_norms(x, deviation[c])]
        relative.append(_seen(density, steps, c, Number(-0.5) * Total(distance, *own)))
    shared = [log_dets[0], *_log_norms(x, deviation[0])] if density.structure.tied else []
    return Scores(relative, Number(-0.5) * Total(*shared), cells.infinite())


def _log_norms(x: Sequence[Expression], deviation: Array) -> list[Expression]:
    log_norm = LOG_2PI + 2 * np.log(deviation)
    return [case((each.is_(None), Number(0.0)), else_=Number(norm)) for each, norm in zip(x, log_norm, strict=True)]


@scores.register
def _(density: StudentDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    gaussian = density.gaussian
    x = _gaussian_cells(gaussian, steps, names)
    relative: list[Expression] = []
    for c in range(density.n_classes):
        z = _whitened(gaussian, steps, x.held, c, relative)
        if density.structure.shape == "diag":
            variances = np.log(gaussian.covariance[c])
            terms = [or_zero(_log_t(steps, e * e, 1, v, density.dof[c])) for e, v in zip(z, variances, strict=True)]
        else:
            square = Total(*(each * each for each in z))
            terms = [_log_t(steps, square, density.n_features, gaussian.log_det[c], density.dof[c])]
        relative.append(steps.bind("score", Total(*terms)))
    return Scores(relative, Number(0.0), x.infinite() if density.structure.shape == "diag" else x.missing())


def _log_t(steps: Steps, square: Expression, d: int, log_det: float, dof: float) -> Expression:
    at_mean = float(StudentDensity.log_t(np.zeros(1), d, log_det, dof)[0])
    return Number(at_mean) - Number((dof + d) / 2) * log1p(steps, square * Number(1 / dof))


def log1p(steps: Steps, value: Expression) -> Expression:
    """log(1 + value) with all digits, of values that are not negative (Kahan's way)."""
    value = steps.bind("t", value)
    whole = steps.bind("w", value + Number(1.0))
    return case((whole == Number(1.0), value), else_=func.ln(whole) * value / (whole - Number(1.0)).self_group())


# Categories.


@scores.register
def _(density: CategoricalDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    relative: list[list[Expression]] = [[finite(0.0 if seen else -np.inf)] for seen in density.seen]
    refused: list[Expression] = []
    for j, (a, b) in enumerate(pairwise(density.bounds)):
        if a == b:
            continue  # never observed: it says nothing
        x, values, unusable = category_cells(steps, names[j], density.categories[j])
        refused += unusable
        if density.unknown == "error":
            refused.append(x.not_in(values))
        for c, terms in enumerate(relative):
            known = zip(values, map(finite, density.log_probability[c, a:b]), strict=True)
            of_value = case(*known, value=x, else_=finite(density.unseen[c, j]))
            terms.append(case((x.is_(None), Number(0.0)), else_=of_value))
    return Scores([Total(*terms) for terms in relative], Number(0.0), refused)


def category_cells(steps: Steps, name: str, categories: Array) -> tuple[Expression, list[Expression], list[Expression]]:
    """A column of categories, their values, and what it must not hold."""
    if categories.dtype == object:
        return steps.bind("x", AsText(cell(name))), [Text(str(value)) for value in categories], []
    values: list[Expression] = [Number(float(value)) for value in categories]
    raw = steps.number((AsBoolean if categories.dtype.kind == "b" else AsNumber)(cell(name)))
    finite = raw.between(Number(-LARGEST), Number(LARGEST))
    return steps.bind("x", case((finite, raw))), values, NumberCells([raw], []).infinite()


# Text.


@scores.register
def _(density: TextDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    raise DataError(
        f"the words of column {', '.join(map(repr, names))} cannot be scored in SQL; read the rows and score them "
        "here, as in predict(suffice.sql(...)) or suffice predict"
    )


# Blocks, and logistic models.


@scores.register
def _(density: ProductDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    every: list[Any] = [*names, *(feature_cell(feature, steps, names[feature.source]) for feature in density.features)]
    parts = [
        scores(part, steps, [every[j] for j in density.columns[block]], False) for block, part in density.parts.items()
    ]
    relative = [Total(*(part.relative[c] for part in parts)) for c in range(density.n_classes)]
    return Scores(relative, Total(*(part.shared for part in parts)), [each for part in parts for each in part.refused])


@scores.register
def _(density: MixtureDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:
    parts = scores(density.components, steps, names, strict)
    with np.errstate(divide="ignore"):
        joint = [each + finite(w) for each, w in zip(parts.relative, np.log(density.weights), strict=True)]
    relative: list[Expression] = []
    for c in range(density.n_classes):
        own = [steps.bind("joint", joint[j]) for j in np.flatnonzero(density.owner == c)]
        if len(own) > 1:
            top = steps.bind("most", Greatest(*own))
            total = steps.bind("sum", Total(*(share_of(each, top) for each in own)))
            own = [case((top > Number(POSSIBLE), top + func.ln(total)), (top.is_not(None), Number(IMPOSSIBLE)))]
        relative.append(steps.bind("score", own[0]) if own else Number(IMPOSSIBLE))
    return Scores(relative, parts.shared, parts.refused)


def share_of(score: Expression, top: Expression) -> Expression:
    """exp(score - top), where `top` is the greatest of some scores."""
    apart = score - top
    return case((apart > Number(_NOTHING), func.exp(apart)), else_=Number(0.0))


@scores.register
def _(model: LogisticModel, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    if model.encoding is not None:
        return _encoded(model, model.encoding, steps, names)
    x = NumberCells.anywhere(steps, names)
    features: list[Expression] = list(x.held)
    if model.expansion == "quadratic":
        features += [one * two for one, two in combinations_with_replacement(x.held, 2)]
    apart = [feature - Number(m) for feature, m in zip(features, model.center, strict=True)]
    relative = [Total(Number(model.constant[c]), Dot(model.slope[c], apart)) for c in range(model.n_classes)]
    return Scores(relative, Number(0.0), x.missing())


def _encoded(model: LogisticModel, encoding: Encoding, steps: Steps, names: Sequence[str]) -> Scores:
    """The scores of a logistic model of a table with categories, missing values or derived columns."""
    own = [AsBoolean(Cell(name)) if j in encoding.truths else name for j, name in enumerate(names)]
    every: list[Any] = [*own, *(feature_cell(each, steps, names[each.source]) for each in encoding.derived)]
    x = NumberCells.anywhere(steps, [every[j] for j in encoding.numbers])
    filled = [steps.bind("x", func.coalesce(v, Number(m))) for v, m in zip(x.held, encoding.fill, strict=True)]
    held = dict(zip(encoding.numbers, x.held, strict=True))
    categories = [every[j] for j in encoding.categorical]
    cells = [category_cells(steps, cell, known) for cell, known in zip(categories, encoding.categories, strict=True)]
    held |= {j: cell for j, (cell, _, _) in zip(encoding.categorical, cells, strict=True)}
    features = [*filled, *(case((held[j].is_(None), Number(1.0)), else_=Number(0.0)) for j in encoding.marked)]
    if encoding.units is not None:
        units = zip(filled, *encoding.units, strict=True)
        z = [steps.bind("z", (v - Number(m)) * Number(1 / s)) for v, m, s in units]
        features += [one * two for one, two in combinations_with_replacement(z, 2)]
    q = encoding.n_numbers
    apart = [steps.bind("u", each - Number(m)) for each, m in zip(features, model.center[:q], strict=True)]
    one_hot = scores(encoding.one_hot(model.slope), steps, categories) if categories else None
    relative = []
    for c in range(model.n_classes):
        terms = [Dot(model.slope[c, :q].tolist(), apart)] if q else []
        relative.append(Total(Number(model.constant[c]), *terms, *([one_hot.relative[c]] if one_hot else [])))
    return Scores(relative, Number(0.0), [*x.infinite(), *(one_hot.refused if one_hot else [])])
