"""Columns that are derived from the columns of a table, such as bins or the logarithm of a number.

A feature is a column of the table and the steps that turn it into numbers. The parameters of the steps are found once,
from a sample (see `DERIVED`), and are numbers and words from then on: they are saved in model files, and two models
can be merged where their features are the same. A table with features has all of its own columns first, followed by
one column for each feature.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FamilyError, as_family
from . import parsing
from .table import ArrayColumn, CodedColumn, Column, Frame, Table

Array = NDArray[Any]
Steps = tuple[tuple[Any, ...], ...]  # the name of each step, followed by its parameters: numbers and words

BINS = 16  # at most, unless single values have bins of their own
ENOUGH = 100_000  # values from which parameters are found: more of them change nothing that matters
_LAMBDAS = (-3.0, 5.0)  # of Yeo-Johnson transforms
_POWERS = 13  # that are tried at a time
_MANY = 500  # values, which such a power is found from


@dataclass(frozen=True)
class Feature:
    """A column that is derived from a column of a table.

    Parameters
    ----------
    source : int
        The index of the column that it is derived from.
    name : str
        Its name.
    family : str
        The family of its density.
    asked : str
        The family that users know it by, such as "binned".
    steps : tuple of tuples
        The steps from the column to numbers: for each its name in `STEPS` and its parameters.
    """

    source: int
    name: str
    family: str
    asked: str
    steps: Steps

    def __str__(self) -> str:
        """The steps in words.

        >>> str(Feature(0, "price", "gaussian", "log", (("number", "."), ("log", 0.5))))
        'number, logarithm'
        >>> str(Feature(0, "price", "gaussian", "curve", ()))
        'number'
        """
        told = self.steps[-1:] if self.steps and self.steps[-1][0] == "part" else self.steps
        return ", ".join(_IN_WORDS[name](*parameters) for name, *parameters in told) or "number"

    @property
    def reads(self) -> Steps:
        """The step that reads a column as numbers, where it does not hold any."""
        return self.steps[:1] if self.steps and self.steps[0][0] in READERS else ()

    def values(self, column: Column) -> Array:
        """Return the values of the feature, (n,) float64, with NaN where they are missing."""
        return self._of_numbers(read(column, self.reads))

    def _of_numbers(self, x: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            for name, *parameters in self.steps[len(self.reads) :]:
                x = STEPS[name].apply(x, *parameters)
        return x

    def column(self, column: Column) -> Column:
        """Return the feature as a column."""
        return self.of_numbers(read(column, self.reads))

    def of_numbers(self, x: Array) -> Column:
        """Return the feature as a column, from the numbers that a column was read as."""
        x = self._of_numbers(x)
        if self.family != "categorical":
            return ArrayColumn(x, "float", "float64")
        missing = np.isnan(x)
        code = np.where(missing, -1, x).astype(np.int32)
        return CodedColumn(code, np.arange(code.max(initial=0) + 1), "int64", settled=True)

    def slope(self, x: Array) -> Array:
        """Return how fast the feature grows with the numbers that a column was read as, (n,).

        It turns a density of the feature into one of the column. A bin is taken for a piece of a line of length one.
        """
        total = np.ones(len(x))
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            for name, *parameters in self.steps[len(self.reads) :]:
                total = total * STEPS[name].slope(x, *parameters)
                x = STEPS[name].apply(x, *parameters)
        return total

    def restored(self, x: Array, within: Array) -> Array:
        """Return values of the column that the feature has these values of.

        Parameters
        ----------
        x : array of shape (n,)
            Values of the feature.
        within : array of shape (n,)
            From 0 to 1: which of the values of the column to take, where several have the same value of the feature.
        """
        x = self.as_numbers(x, within)
        for name, *parameters in self.reads:
            x = READERS[name].invert(x, within, *parameters)
        return x

    def as_numbers(self, x: Array, within: Array) -> Array:
        """Return the numbers that such values of the column are read as, of dates the days since 1970."""
        x = np.asarray(x, np.float64)
        for name, *parameters in reversed(self.steps[len(self.reads) :]):
            x = STEPS[name].invert(x, within, *parameters)
        return x


def extended(table: Table, features: Sequence[Feature], strict: bool = False) -> Table:
    """Return the table with one more column for each feature; strictly, words other than yes and no are an error."""
    if not features:
        return table
    parts = table.columns()
    if isinstance(table, Frame) and table.features == tuple(features):
        derived = table.derived
    else:
        if strict:
            _refuse_other_words(table, parts, features)
        derived = _derived(parts, features)
    names = (*table.names_of(range(len(parts))), *(feature.name for feature in features))
    return Frame((*parts, *derived), names, len(table))


def with_features(table: Table, features: Sequence[Feature]) -> Table:
    """Return the table with features that are found once, and not again for some of its rows.

    Those that the table has already are taken over.
    """
    known = dict(zip(table.features, table.derived, strict=True)) if isinstance(table, Frame) else {}
    if known.keys() >= set(features):
        return table
    parts, new = table.columns(), [feature for feature in features if feature not in known]
    _refuse_other_words(table, parts, new)
    known |= zip(new, _derived(parts, new), strict=True)
    return Frame(tuple(parts), table.names, len(table), tuple(features), tuple(known[each] for each in features))


def _derived(parts: Sequence[Column], features: Sequence[Feature]) -> tuple[Column, ...]:
    numbers: dict[Any, Array] = {}  # that columns are read as, once for all of their features
    for feature in features:
        if (key := (feature.source, feature.reads)) not in numbers:
            numbers[key] = read(parts[feature.source], feature.reads)
    return tuple(feature.of_numbers(numbers[feature.source, feature.reads]) for feature in features)


def _refuse_other_words(table: Table, parts: list[Column], features: Sequence[Feature]) -> None:
    read_as_booleans = [feature for feature in features if feature.steps[:1] and feature.steps[0][0] == "truth"]
    for feature in read_as_booleans:
        column = parts[feature.source]
        if (np.isnan(feature.values(column)) & ~column.missing()).any():
            raise FamilyError(
                f"column {table.column_name(feature.source)} holds other words than {feature.steps[0][1]!r} and "
                f"{feature.steps[0][2]!r}; choose its family, as in {as_family('column', 'categorical')}",
                [feature.source],
            )


def sources(n_features: int, features: Sequence[Feature]) -> Array:
    """Return the column of the table that each column of the extended table is derived from, by index."""
    return np.array([*range(n_features), *(feature.source for feature in features)], np.intp)


def restored(features: Sequence[Feature], values: Sequence[Array], within: Array) -> Array:
    """Return the values of a column from the values of all features of it."""
    flags = [x for feature, x in zip(features, values, strict=True) if ("is_zero",) in feature.steps]
    others = [(feature, x) for feature, x in zip(features, values, strict=True) if ("is_zero",) not in feature.steps]
    whole = others[0][0].restored(others[0][1], within) if others else np.full(len(within), np.nan)
    for flag in flags:
        whole = np.where(np.asarray(flag, np.float64) > 0.5, 0.0, whole)
    return whole


def read(column: Column, reads: Steps) -> Array:
    """Return a column as numbers, (n,) float64, by a step that reads it, or as the numbers that it holds."""
    if not reads:
        return np.asarray(column.floats(), np.float64)
    (name, *parameters), *_ = reads
    return READERS[name].apply(column, *parameters)


def features_to_arrays(features: Sequence[Feature]) -> dict[str, Array]:
    """Return features as JSON, in an array; nothing where there are none."""
    text = json.dumps([[*vars(feature).values()] for feature in features])
    return {"features": np.frombuffer(text.encode(), np.uint8)} if features else {}


def as_learnt(features: Iterable[Feature], column: int) -> str:
    """What is made of a column before it is learnt, in words; nothing if it is learnt as it is."""
    return "; ".join(str(feature) for feature in features if feature.source == column)


def features_from_arrays(arrays: Mapping[str, Array], n_features: int = 1 << 31) -> tuple[Feature, ...]:
    """The inverse of `features_to_arrays`, for a table of so many columns; ValueError where the array is damaged."""
    found: list[Feature] = []
    if "features" not in arrays:
        return ()
    for source, name, family, asked, steps in json.loads(np.asarray(arrays["features"], np.uint8).tobytes()):
        words = all(isinstance(word, str) for word in (name, family, asked))
        known = all(isinstance(step, list) and step and step[0] in {*STEPS, *READERS} for step in steps)
        if not (isinstance(source, int) and 0 <= source < n_features and words and known):
            raise ValueError(f"the feature {name!r} is not known")
        feature = Feature(source, name, family, asked, tuple(tuple(map(_plain, step)) for step in steps))
        try:  # which fails where parameters do not fit
            feature.values(ArrayColumn.of(np.zeros(1)))
            feature.restored(np.zeros(1), np.zeros(1))
        except (IndexError, TypeError) as error:
            raise ValueError(f"the feature {name!r} is damaged: {error}") from None
        found.append(feature)
    return tuple(found)


def _plain(parameter: Any) -> Any:
    return tuple(map(_plain, parameter)) if isinstance(parameter, list) else parameter


# Steps: functions of numbers, and their inverses.


@dataclass(frozen=True)
class Step:
    """A function of the values of a column, with parameters."""

    apply: Callable[..., Array]  # (x, *parameters)
    invert: Callable[..., Array]  # (y, within, *parameters)
    slope: Callable[..., Any] = lambda x, *_: np.ones(len(x))  # (x, *parameters), the derivative, which is not negative


def _bin(x: Array, edges: tuple[float, ...], *_: Any) -> Array:
    return np.where(np.isnan(x), np.nan, np.searchsorted(np.array(edges), x, side="left"))


def _within_bin(y: Array, within: Array, _: Any, low: tuple[float, ...], high: tuple[float, ...]) -> Array:
    """A value between the least and the greatest one that the sample has in a bin."""
    code = np.where(np.isnan(y), 0, y).astype(np.intp)
    least, most = np.array(low)[code], np.array(high)[code]
    return np.where(np.isnan(y), np.nan, least + within * (most - least))


def _per_unit_of_bin(x: Array, edges: tuple[float, ...], low: tuple[float, ...], high: tuple[float, ...]) -> Array:
    """One over the width of the bin of each value; 0 beyond the values that the sample has."""
    ends = np.array([low[0], *edges, high[-1]])
    width = np.diff(ends)[np.where(np.isnan(x), 0, _bin(x, edges)).astype(np.intp)]
    return np.where((x >= ends[0]) & (x <= ends[-1]) & (width > 0), 1.0 / width, 0.0)


def _yeo_johnson(x: Array, center: float, scale: float, power: float, *_: float) -> Array:
    z = (x - center) / scale
    up, down = np.log1p(np.maximum(z, 0.0)), np.log1p(np.maximum(-z, 0.0))
    return np.asarray(_boxed(up, power) - _boxed(down, 2.0 - power))


def _slope_of_yeo_johnson(x: Array, center: float, scale: float, power: float, *_: float) -> Array:
    z = (x - center) / scale
    return np.asarray(np.exp((power - 1.0) * np.sign(z) * np.log1p(np.abs(z))) / scale)


def _boxed(log_value: Array, power: float) -> Array:
    """(v ** power - 1) / power from log v; log v for power 0."""
    return np.expm1(power * log_value) / power if abs(power) > 1e-9 else log_value


def _from_yeo_johnson(
    y: Array, _: Array, center: float, scale: float, power: float, low: float = -np.inf, high: float = np.inf
) -> Array:
    """The inverse, between the least and the greatest value that were seen: a little beyond, it can be immense."""
    up, down = _unboxed(np.maximum(y, 0.0), power), _unboxed(np.maximum(-y, 0.0), 2.0 - power)
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(center + scale * (np.expm1(up) - np.expm1(down)), low, high))


def _unboxed(value: Array, power: float) -> Array:
    """log v; infinite powers are cut off where the transform comes to its bound."""
    return np.log1p(np.maximum(power * value, -1 + 1e-9)) / power if abs(power) > 1e-9 else value


STEPS: dict[str, Step] = {
    "bin": Step(_bin, _within_bin, _per_unit_of_bin),
    # Zero and less count as the least value that was seen.
    "log": Step(
        lambda x, low: np.log(np.where(x <= 0, low, x)),
        lambda y, _, low: np.exp(y),  # noqa: ARG005
        lambda x, low: np.where(x > 0, 1.0 / x, 0.0),  # noqa: ARG005
    ),
    "signed_log": Step(
        lambda x, scale: np.sign(x) * np.log1p(np.abs(x) / scale),
        lambda y, _, scale: np.sign(y) * scale * np.expm1(np.abs(y)),
        lambda x, scale: 1.0 / (scale + np.abs(x)),
    ),
    "yeo_johnson": Step(_yeo_johnson, _from_yeo_johnson, _slope_of_yeo_johnson),
    "is_zero": Step(lambda x: np.where(np.isnan(x), np.nan, x == 0), lambda y, _: y),
    "not_zero": Step(lambda x: np.where(x == 0, np.nan, x), lambda y, _: y),
    "part": Step(lambda days, part: parsing.PARTS[part](days), lambda y, _, part: np.full(len(y), np.nan)),  # noqa: ARG005
}


def _words(y: Array, _: Array, no: str, yes: str) -> Array:
    words = np.array([no, yes, None], object)
    return words[np.where(np.isnan(y), 2, y > 0.5).astype(np.intp)]


# First steps, of columns that do not hold numbers.
READERS: dict[str, Step] = {
    "number": Step(parsing.numbers, lambda y, _, decimal: y),  # noqa: ARG005
    "truth": Step(parsing.booleans, _words),
    "date": Step(parsing.times, lambda y, _, order: (y * parsing.DAY).astype("M8[us]")),  # noqa: ARG005
    "duration": Step(parsing.durations, lambda y, _: (y * 1e6).astype("m8[us]")),
}


_IN_WORDS: dict[str, Callable[..., str]] = {
    "bin": lambda edges, *_: f"{len(edges) + 1} bins",
    "log": lambda _: "logarithm",
    "signed_log": lambda _: "signed logarithm",
    "yeo_johnson": lambda _, __, power, *___: f"power {power:g}",
    "is_zero": lambda: "is zero",
    "not_zero": lambda: "not zero",
    "part": lambda part: str(part),
    "number": lambda _: "number",
    "truth": lambda no, yes: f"{no} or {yes}",
    "date": lambda _: "days",
    "duration": lambda: "seconds",
}


# Families that users choose, and the features that they mean.

FoundFeatures = list[tuple[str, str, Steps]]  # for each feature what its name adds, its family and its steps


def _binned(x: Array) -> FoundFeatures:
    return [("", "categorical", (("bin", *quantile_bins(x)),))]


def _with_bins(x: Array) -> FoundFeatures:
    return [("", "gaussian", ()), (" bin", "categorical", (("bin", *quantile_bins(x)),))]


def quantile_bins(x: Array, most: int = BINS) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Return the edges of quantile bins, and the least and the greatest value of each bin.

    Frequent values have bins of their own.

    Parameters
    ----------
    x : array of shape (n,)
        Values, none of them missing.
    most : int
        The number of bins for many values, unless frequent values add to them. There are fewer for few values: the
        bins have a few times as many values as there are bins.

    Examples
    --------
    >>> quantile_bins(np.repeat([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [40, 5, 5, 5, 5, 5]), 6)
    ((0.5, 2.5), (0.0, 1.0, 3.0), (0.0, 2.0, 5.0))
    """
    if not len(x):
        return (), (0.0,), (0.0,)
    size = len(x) / min(most, max(2, round(2 * len(x) ** (1 / 3))))  # of a bin
    value, count = np.unique(x, return_counts=True)
    frequent = count >= size
    run = np.cumsum(frequent | np.r_[False, frequent[:-1]])  # values between two frequent ones have the same number
    start = np.flatnonzero(np.r_[True, run[1:] != run[:-1]])
    total = np.add.reduceat(count, start)
    of = np.repeat(np.arange(len(start)), np.diff(np.r_[start, len(run)]))
    rank = np.cumsum(count) - count / 2 - np.r_[0, np.cumsum(total)[:-1]][of]  # among the values of a run
    bins = np.where(np.add.reduceat(frequent, start), 1, np.maximum(1, np.round(total / size)))[of]
    number = np.floor(bins * rank / total[of])
    ends = np.flatnonzero((of[1:] != of[:-1]) | (number[1:] != number[:-1]))
    edges = value[ends] + (value[ends + 1] - value[ends]) / 2
    return tuple(edges.tolist()), tuple(value[np.r_[0, ends + 1]].tolist()), tuple(value[np.r_[ends, -1]].tolist())


def _log(x: Array) -> FoundFeatures:
    return [("", "gaussian", (_log_step(x),))]


def _log_step(x: Array) -> tuple[Any, ...]:
    if len(x) and x.min() > 0:
        return "log", float(x.min())
    size = np.abs(x[x != 0])
    return "signed_log", float(np.median(size)) if len(size) else 1.0


def _by_power(x: Array) -> FoundFeatures:
    x = np.sort(x)
    at = np.array([0.25, 0.5, 0.75]) * (len(x) - 1)
    first, center, third = np.interp(at, np.arange(len(x)), x).tolist() if len(x) else (0.0, 0.0, 0.0)
    scale = third - first or float(x.std() if len(x) else 0.0) or 1.0
    ends = (float(x[0]), float(x[-1])) if len(x) else ()
    return [("", "gaussian", (("yeo_johnson", center, scale, _best_power(x, center, scale), *ends),))]


def _best_power(x: Array, center: float, scale: float) -> float:
    """The power of most likelihood of sorted values, on a grid and on a finer one: the likelihood has one maximum."""
    if not len(x) or x[0] == x[-1]:
        return 1.0
    if len(x) > _MANY:
        x = x[((np.arange(_MANY) + 0.5) * len(x) / _MANY).astype(np.intp)]
    z = (x - center) / scale
    up, down = np.log1p(z[z > 0]), np.log1p(-z[z <= 0])
    jacobian = float((up.sum() - down.sum()) / len(z))
    low, high = _LAMBDAS
    for _ in range(2):
        powers = np.linspace(low, high, _POWERS)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            boxes = np.concatenate([_boxes(up, powers), -_boxes(down, 2.0 - powers)], axis=1)
            spread = np.log(boxes.std(axis=1))
        loss = np.where(np.isfinite(spread), spread - (powers - 1.0) * jacobian, np.inf)
        i = int(loss.argmin())
        low, high = powers[max(i - 1, 0)], powers[min(i + 1, _POWERS - 1)]
    best, bent = float(powers[i]), np.inf
    if 0 < i < _POWERS - 1:  # the lowest point of the parabola through three of them
        bent = loss[i - 1] - 2 * loss[i] + loss[i + 1]
    if 0 < bent < np.inf:
        best += float((powers[1] - powers[0]) * (loss[i - 1] - loss[i + 1]) / (2 * bent))
    return round(best, 2)


def _boxes(log_value: Array, powers: Array) -> Array:
    """As `_boxed` for some powers, (powers, n)."""
    divisor = np.where(np.abs(powers) > 1e-9, powers, 1.0)[:, None]
    return np.where(divisor == powers[:, None], np.expm1(powers[:, None] * log_value) / divisor, log_value)


def _zero_inflated(x: Array) -> FoundFeatures:
    rest = x[x != 0]
    found: FoundFeatures = [(" is zero", "bernoulli", (("is_zero",),))]
    if len(rest):
        steps = (_log_step(rest),) if rest.min() > 0 and _is_lognormal(rest) else ()
        found.append((" not zero", "gaussian", (("not_zero",), *steps)))
    return found


def _is_lognormal(x: Array) -> bool:
    """Whether a log-normal density of positive values has a greater likelihood than a Gaussian one."""
    log_x = np.log(x)
    return bool(min(log_x.std(), x.std()) > 0 and np.log(log_x.std()) + log_x.mean() < np.log(x.std()))


@dataclass(frozen=True)
class Derived:
    """A family that users choose, whose density is that of features."""

    find: Callable[[Array], FoundFeatures]  # from a sample of a column, without missing values
    what: str  # it is, for messages and tables


def _date(days: Array) -> FoundFeatures:
    """Time, and the parts of dates that vary."""
    parts = [part for part, of in parsing.PARTS.items() if len(np.unique(of(days))) > 1]
    return [("", "gaussian", ()), *((f" {part}", "categorical", (("part", part),)) for part in parts)]


DERIVED: dict[str, Derived] = {
    "binned": Derived(_binned, "quantile bins"),
    "curve": Derived(_with_bins, "a number and its quantile bins, for logistic models"),
    "log": Derived(_log, "the logarithm is Gaussian"),
    "yeo_johnson": Derived(_by_power, "Gaussian after a Yeo-Johnson transform"),
    "zero_inflated": Derived(_zero_inflated, "zeros, and a density of the rest"),
    "date": Derived(_date, "days since 1970, month, weekday and hour"),
}


def derived(asked: str, j: int, name: str, column: Column, reads: Steps = ()) -> tuple[Feature, ...]:
    """Find the features of a family from a sample of a column.

    Parameters
    ----------
    asked : str
        The family, one of `DERIVED`.
    j : int
        The index of the column.
    name : str
        Its name.
    column : Column
        All values of it, or a sample.
    reads : tuple of tuples
        The step that reads the column as numbers, where it does not hold any.
    """
    if asked not in DERIVED:
        return (Feature(j, name, asked, asked, reads),) if reads else ()
    x = read(column, reads)
    x = x[np.isfinite(x)]
    if len(x) > ENOUGH:
        x = np.random.default_rng(0).choice(x, ENOUGH, replace=False)
    found = DERIVED[asked].find(x)
    return tuple(Feature(j, name + more, family, asked, (*reads, *steps)) for more, family, steps in found)


def at(feature: Feature, source: int) -> Feature:
    """Return the same feature of a column at another index."""
    return replace(feature, source=source)
