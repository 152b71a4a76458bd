"""Scores of rows as values of an ONNX graph: for every family that is supported, what its kernels compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities import (
    CategoricalDensity,
    GaussianDensity,
    MixtureDensity,
    MultinomialDensity,
    PoissonDensity,
    ProductDensity,
)
from ..densities.counts import BinomialDensity, CountDensity
from ..densities.linear import SOME
from ..densities.multinomial import ComplementDensity
from ..densities.predictive import PredictiveCounts
from ..densities.wide import WideGaussianDensity
from ..errors import DataError
from ..regression import LogisticModel
from ..tables.features import READERS, Feature
from .days import Arithmetic, part_of
from .graph import ML, Value, beside

Array = NDArray[Any]
Cells = Mapping[int, Value]  # the columns (n, 1) by their index: numbers, or text of columns with such categories

LOG_2PI = float(np.log(2 * np.pi))
MARGINAL = 24  # columns up to which a full covariance takes rows with missing cells


@dataclass(frozen=True)
class GraphScores:
    """log p(x | class) = relative + shared."""

    relative: Value  # (n, k)
    shared: Value | None = None  # (n, 1), by all classes


@singledispatch
def scores(model: Any, cells: Cells) -> GraphScores:  # noqa: ARG001
    """The scores of a model for the columns of a table."""
    raise DataError(f"{model!r} cannot be written as ONNX: its family is not supported; score with predict")


def _numbers(model: Any, cells: Cells) -> Value:
    return beside([cells[j] for j in range(model.n_features)])


def nothing_said(cells: Cells) -> Value:
    """Zero for each row, (n, 1)."""
    return next(iter(cells.values())).zeros()


def unseen_classes(seen: Array) -> Array:
    """What to add to scores (n, k), of which classes without rows have -inf."""
    return np.where(seen, 0.0, -np.inf)[None]


# Gaussians.


@scores.register
def _(density: GaussianDensity, cells: Cells) -> GraphScores:
    x = _numbers(density, cells)
    if density.structure.shape != "full":
        return GraphScores(_diagonal(density, x))
    if density.n_features <= MARGINAL:
        return GraphScores(_marginal(density, x))
    if density.linear_scores is not None:
        center, slope, constant = density.linear()
        apart = x - center[None]
        z = apart @ density.whitening[0].T
        log_norm = density.n_features * LOG_2PI + density.log_det[0]
        return GraphScores(apart @ slope.T + constant[None], (z * z).sum() * -0.5 + -0.5 * log_norm)
    found = []
    for c in range(density.n_classes):
        z = (x - density.mean[[c]]) @ density.whitening[0 if density.structure.tied else c].T
        found.append((z * z).sum() * -0.5 + density.constant[[c]][None])
    return GraphScores(beside(found))


def _diagonal(density: GaussianDensity, x: Value) -> Value:
    """A missing cell says nothing."""
    scale = np.broadcast_to(density.whitening, density.mean.shape)
    missing, found = x.is_nan(), []
    for c in range(density.n_classes):
        z = (x - density.mean[[c]]) * scale[[c]]
        terms = missing.where(0.0, z * z + (LOG_2PI - 2 * np.log(scale[[c]])))
        found.append(terms.sum() * -0.5 if density.seen[c] else terms.sum() * 0.0 + -np.inf)
    return beside(found)


def _marginal(density: GaussianDensity, x: Value) -> Value:
    """The density of what is observed: column by column, each is taken out of the correlations of those that follow.

    A column that is missing correlates with nothing and deviates by nothing, so that it says nothing."""
    d, tied = density.n_features, density.structure.tied
    missing, identity = x.is_nan(), np.eye(d)
    observed = 1.0 - missing.numbers()
    both = observed.with_axis(2) * observed.with_axis(1)
    factors, norms, found = [], [], []
    for covariance in density.covariance:
        deviation = np.sqrt(covariance.diagonal())
        left = both * (covariance / deviation / deviation[:, None] * (1 - identity))[None] + identity[None]
        taken = []  # (n, d, 1) for each column
        for p in range(d - 1):
            below = (np.arange(d) > p).astype(np.float64)[None, :, None]
            taken.append(left.part(2, p) * below / left.part(1, p).part(2, p))
            left = left - taken[-1] * left.part(1, p)
        pivots = (left * identity[None]).sum(axis=2, keepdims=0)
        factors.append((taken, pivots, deviation))
        norms.append((pivots.log() + observed * (LOG_2PI + 2 * np.log(deviation))[None]).sum())
    for c in range(density.n_classes):
        taken, pivots, deviation = factors[0 if tied else c]
        y = missing.where(0.0, (x - density.mean[[c]]) / deviation[None])
        for p, factor in enumerate(taken):
            y = y - factor.squeezed(2) * y.columns([p])
        found.append((y * y / pivots).sum() * -0.5 + (0.0 if density.seen[c] else -np.inf))
        if not tied:
            found[-1] = found[-1] - norms[c] * 0.5
    return beside(found) - norms[0] * 0.5 if tied else beside(found)


@scores.register
def _(density: WideGaussianDensity, cells: Cells) -> GraphScores:  # noqa: ARG001
    raise DataError(f"{density!r} cannot be written as ONNX: it has too many columns")


# Categories.


@scores.register
def _(density: CategoricalDensity, cells: Cells) -> GraphScores:
    total: Value | None = None
    for j, (a, b) in enumerate(pairwise(density.bounds)):
        if a == b:
            continue  # never observed: it says nothing
        nothing = np.zeros((1, density.n_classes))
        table = np.vstack([density.log_probability[:, a:b].T, density.unseen[:, [j]].T, nothing])
        own = category_code(cells[j], density.categories[j]).looked_up(table).squeezed()
        total = own if total is None else total + own
    return GraphScores((nothing_said(cells) if total is None else total) + unseen_classes(density.seen))


def category_code(x: Value, categories: Array) -> Value:
    """(n, 1) the index of each category; one more for an unknown one, and two more for a missing one."""
    v = len(categories)
    if categories.dtype == object:
        words = [str(value) for value in categories]
        places = list(range(v))
        if "" not in words:  # then empty text is a missing value
            words, places = [*words, ""], [*places, v + 1]
        how = {"keys_strings": words, "values_int64s": places, "default_int64": v}
        return x.graph.node("LabelEncoder", x, domain=ML, **how)
    same = x.equals(categories.astype(np.float64)[None]).numbers()
    index = (same * np.arange(v, dtype=np.float64)[None]).sum()
    known = (same.sum() > 0.5).where(index, float(v))
    return x.is_nan().where(float(v + 1), known).indices()


# Counts.


@scores.register
def _(density: CountDensity, cells: Cells) -> GraphScores:
    raw = _numbers(density, cells)
    missing = raw.is_nan()
    x, observed = missing.where(0.0, raw), 1.0 - missing.numbers()
    if density.presence:
        x = (x > 0.0).numbers()
    k = density.n_classes
    present, violated = (np.stack(each) for each in zip(*(density.present(c) for c in range(k)), strict=True))
    slopes = np.stack([density.slopes.of_class(c) for c in range(k)])
    found = x @ slopes.T + observed @ np.broadcast_to(present, slopes.shape).T
    mass = _mass(density, observed)
    if mass is not None:
        found = found - x.sum() * mass
    if density.violations is not None:
        impossible = np.stack([density.violations.of_class(c) for c in range(k)])
        count = x @ impossible.T + observed @ np.broadcast_to(violated, slopes.shape).astype(np.float64).T
        found = (count > SOME).where(-np.inf, found)
    return GraphScores(found + unseen_classes(density.seen), _shared(density, x, missing))


@scores.register
def _(density: PredictiveCounts, cells: Cells) -> GraphScores:  # noqa: ARG001
    raise DataError(f"{density!r} cannot be written as ONNX: predictive models are not supported")


@singledispatch
def _mass(density: Any, observed: Value) -> Value | None:  # noqa: ARG001
    """The log-probability (n, k) that a count is one of an observed feature, where counts compete."""
    return None


@_mass.register
def _(density: MultinomialDensity, observed: Value) -> Value | None:
    mass = observed @ np.exp(density.one).T
    return (mass > 0.0).where(mass, 1.0).log()


@_mass.register
def _(density: ComplementDensity, observed: Value) -> Value | None:  # noqa: ARG001
    return None


@singledispatch
def _shared(density: Any, x: Value, missing: Value) -> Value | None:  # noqa: ARG001
    """The part (n, 1) of log p(x | class) that depends on no class."""
    return None


@_shared.register
def _(density: PoissonDensity, x: Value, missing: Value) -> Value | None:  # noqa: ARG001
    return log_gamma(x + 1.0).sum() * -1.0


@_shared.register
def _(density: MultinomialDensity, x: Value, missing: Value) -> Value | None:  # noqa: ARG001
    return log_gamma(x.sum() + 1.0) - log_gamma(x + 1.0).sum()


@_shared.register
def _(density: ComplementDensity, x: Value, missing: Value) -> Value | None:  # noqa: ARG001
    return None


@_shared.register
def _(density: BinomialDensity, x: Value, missing: Value) -> Value | None:
    from scipy.special import gammaln

    trials = np.asarray(density.trials, np.float64)[None]
    ways = gammaln(trials + 1) - log_gamma(x + 1.0) - log_gamma(trials - x + 1.0)
    return missing.where(0.0, ways).sum()


def log_gamma(x: Value) -> Value:
    """log Γ of a positive number, which ONNX does not know, by Stirling's series; small numbers are raised first."""
    small = x < 20.0
    z = small.where(x + 8.0, x)
    ladder = x
    for i in range(1, 8):
        ladder = ladder * (x + float(i))
    square, series = z * z, z * 0.0 + -691 / 360360
    for coefficient in (1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = series / square + coefficient
    fall = small.where(ladder, 1.0).log()
    return (z - 0.5) * z.log() - z + series / z + 0.5 * LOG_2PI - fall


# Blocks, mixtures and logistic models.


@scores.register
def _(density: ProductDensity, cells: Cells) -> GraphScores:
    every = _with_features(density.features, cells, density.n_features)
    parts = [
        scores(part, {i: every[j] for i, j in enumerate(density.columns[block])})
        for block, part in density.parts.items()
    ]
    relative, shared = parts[0].relative, [part.shared for part in parts if part.shared is not None]
    for part in parts[1:]:
        relative = relative + part.relative
    return GraphScores(relative, beside(shared).sum() if shared else None)


@scores.register
def _(density: MixtureDensity, cells: Cells) -> GraphScores:
    parts = scores(density.components, cells)
    with np.errstate(divide="ignore"):
        joint = parts.relative + np.log(density.weights)[None]
    found = []
    for c in range(density.n_classes):
        own = np.flatnonzero(density.owner == c)
        if not len(own):
            found.append((joint.columns([0]) * 0.0) + -np.inf)
            continue
        each = joint.columns(own)
        top = each.max()
        held = top.equals(-np.inf).where(0.0, top)
        found.append((each - held).exp().sum().log() + held)
    return GraphScores(beside(found), parts.shared)


@scores.register
def _(model: LogisticModel, cells: Cells) -> GraphScores:
    if model.encoding is None:
        x = _numbers(model, cells)
        features = [x]
        if model.expansion == "quadratic":
            one, two = np.array(list(combinations_with_replacement(range(model.n_features), 2))).T
            features.append(x.columns(one) * x.columns(two))
        return GraphScores((beside(features) - model.center[None]) @ model.slope.T + model.constant[None])
    encoding = model.encoding
    every = _with_features(encoding.derived, cells, encoding.n_features)
    codes = {
        j: category_code(every[j], known)
        for j, known in zip(encoding.categorical, encoding.categories, strict=True)
        if len(known)
    }
    features, total = [], None
    if encoding.numbers:
        x = beside([every[j] for j in encoding.numbers])
        x = x.is_nan().where(encoding.fill[None], x)
        features.append(x)
    for j in encoding.marked:
        sizes = dict(zip(encoding.categorical, map(len, encoding.categories), strict=True))
        missing = codes[j].equals(np.int64(sizes[j] + 1)) if j in codes else every[j].is_nan()
        features.append(missing.numbers())
    if encoding.units is not None and encoding.numbers:
        z = (x - encoding.units[[0]]) / encoding.units[[1]]
        one, two = np.array(list(combinations_with_replacement(range(len(encoding.numbers)), 2))).T
        features.append(z.columns(one) * z.columns(two))
    if features:
        q = encoding.n_numbers
        total = (beside(features) - model.center[None, :q]) @ np.ascontiguousarray(model.slope[:, :q].T)
    if encoding.categorical:
        one_hot = encoding.one_hot(model.slope)
        own = scores(one_hot, {i: every[j] for i, j in enumerate(encoding.categorical)}).relative
        total = own if total is None else total + own
    assert total is not None
    return GraphScores(total + model.constant[None])


# Columns that are derived from others.


def _with_features(features: Sequence[Feature], cells: Cells, n_features: int) -> dict[int, Value]:
    return {**cells, **{n_features + i: _feature(each, cells[each.source]) for i, each in enumerate(features)}}


def _feature(feature: Feature, x: Value) -> Value:
    for step, *parameters in feature.steps:
        if step not in _STEPS:
            raise DataError(
                f"the column {feature.name!r} cannot be prepared in ONNX ({step}); convert it to numbers and fit again"
            )
        x = _STEPS[step](x, *parameters)
    return x


def _part(days: Value, part: str) -> Value:
    found: Value = part_of(part, days, Arithmetic(lambda x: x.graph.node("Floor", x), float))
    return found


def _bin(x: Value, edges: Sequence[float], *_: Any) -> Value:
    inside = (x > np.array([*edges, np.inf])[None]).numbers().sum()
    return x.is_nan().where(np.nan, inside)


def _log1p(x: Value) -> Value:
    """log(1 + x) with all digits, of numbers that are not negative (Kahan's way)."""
    whole = x + 1.0
    exact = whole.log() * (x / (whole - 1.0))
    return whole.equals(1.0).where(x, exact)


def _signed_log(x: Value, scale: float) -> Value:
    sign = x.graph.node("Sign", x)
    return sign * _log1p(x.graph.node("Abs", x) / scale)


def _yeo_johnson(x: Value, center: float, scale: float, power: float, *_: float) -> Value:
    z = (x - center) / scale
    zero = x.graph.constant(0.0)
    up, down = (_log1p(x.graph.node("Max", each, zero)) for each in (z, z * -1.0))
    return _boxed(up, power) - _boxed(down, 2.0 - power)


def _boxed(log_value: Value, power: float) -> Value:
    return ((log_value * power).exp() - 1.0) / power if abs(power) > 1e-9 else log_value


_STEPS: dict[str, Callable[..., Value]] = {
    "bin": _bin,
    "log": lambda x, low: ((x > 0.0).either(x.is_nan())).where(x, low).log(),
    "signed_log": _signed_log,
    "yeo_johnson": _yeo_johnson,
    "is_zero": lambda x: x.is_nan().where(np.nan, x.equals(0.0).numbers()),
    "not_zero": lambda x: x.equals(0.0).where(np.nan, x),
    "part": _part,
    **dict.fromkeys(READERS, lambda x, *_: x),  # ONNX has no dates, and no text that says numbers
}
