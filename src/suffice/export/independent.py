"""Scores of columns that are independent given the class, as SQL expressions: what `densities.independent` computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import and_, case, func, or_

from ..densities import (
    ExponentialDensity,
    GammaDensity,
    GeometricDensity,
    InverseGaussianDensity,
    LogNormalDensity,
    NegativeBinomialDensity,
    special,
)
from ..densities.independent import IndependentDensity
from ..stats.support import POSITIVE, WHOLE
from .counts import counted, log_gamma, stirling_series, times
from .dialects import LARGEST, AsNumber, Infinity, Number, Total
from .scores import (
    FAR,
    IMPOSSIBLE,
    LOG_2PI,
    Expression,
    Scores,
    cell,
    log1p,
    or_zero,
    previous,
    scores,
)
from .steps import Steps

Array = NDArray[Any]

_SMALLEST = float(np.finfo(np.float64).tiny)


class _Cells:
    """Columns of numbers inside the support of a density."""

    def __init__(
        self,
        density: IndependentDensity,
        steps: Steps,
        names: Sequence[str],
        clip_small: bool = True,
        clip_large: bool = True,
    ) -> None:
        # A family that uses only the logarithm of small (or large) values must not have them clipped.
        self.density, self.steps = density, steps
        self.clip_small, self.clip_large = clip_small, clip_large
        self.held: list[Expression] = []  # within reach of the means; NULL where they are missing or not inside
        self._outside: list[Expression] = []
        positive = density.support is POSITIVE
        for name, low, high in zip(names, *self._reach(), strict=True):
            v, least, most = steps.number(AsNumber(cell(name))), Number(low), Number(high)
            fractional = [and_(v.between(Number(0.0), Number(LARGEST)), func.floor(v) != v)]
            self._outside.append(
                or_(
                    v == Infinity(),
                    v <= Number(0.0) if positive else v < Number(0.0),
                    *(fractional if density.support is WHOLE else ()),
                )
            )
            # NaN, which some engines have, is between no two numbers.
            below = (and_(v > Number(0.0), v < least), least if positive else Number(0.0))
            within = [below, (v.between(least if positive else Number(0.0), most), v)]
            within.append((v.between(most, Number(LARGEST)), most))
            self.held.append(steps.bind("x", case(*within)))

    def _reach(self) -> tuple[Array, Array]:
        """Return the smallest and largest values (d,) that are not clipped."""
        seen, d = self.density.seen, self.density.n_features
        least, most = np.full(d, _SMALLEST), np.full(d, LARGEST)
        means = np.clip(self.density.expectation[seen if seen.any() else ~seen], _SMALLEST, LARGEST)
        if self.clip_large:
            with np.errstate(over="ignore"):
                most = np.minimum(means.max(axis=0) * FAR, LARGEST)
        if self.clip_small:
            least = np.maximum(means.min(axis=0) / FAR, _SMALLEST)
        return least, most

    def scores(self, of_class: Any, shared: Sequence[Expression] = ()) -> Scores:
        """Scores from the terms `of_class(c, after)` of a class, of which those of later classes wait for others."""
        relative: list[Expression] = []
        for c in range(self.density.n_classes):
            terms = [
                case((outside, Number(IMPOSSIBLE)), else_=or_zero(term))
                for outside, term in zip(self._outside, of_class(c, previous(relative, len(self.held))), strict=True)
            ]
            relative.append(self.steps.bind("score", counted(self.density, c, terms)))
        return Scores(relative, Total(*map(or_zero, shared)), [])

    def logs(self) -> list[Expression]:
        return [self.steps.bind("y", func.ln(x)) for x in self.held]


@scores.register
def _(density: ExponentialDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    cells = _Cells(density, steps, names)

    def terms(c: int, _: Any) -> list[Expression]:
        return [
            x * Number(-1 / mean) - Number(np.log(mean)) for x, mean in zip(cells.held, density.means[c], strict=True)
        ]

    return cells.scores(terms)


@scores.register
def _(density: GeometricDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    cells = _Cells(density, steps, names)
    with np.errstate(divide="ignore"):
        failure, success = np.log1p(-density.probabilities), np.log(density.probabilities)

    def terms(c: int, _: Any) -> list[Expression]:
        return [times(x, q) + Number(p) for x, q, p in zip(cells.held, failure[c], success[c], strict=True)]

    return cells.scores(terms)


@scores.register
def _(density: LogNormalDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    cells = _Cells(density, steps, names, clip_small=False, clip_large=False)
    logs = cells.logs()

    def terms(c: int, after: Any) -> list[Expression]:
        out = []
        for y, mean, deviation in zip(logs, density.log_means[c], density.log_deviations[c], strict=True):
            z = steps.bind("z", (y - Number(mean)) * Number(1 / deviation), after)
            out.append(Number(-0.5) * z * z - Number(np.log(deviation) + 0.5 * LOG_2PI))
        return out

    return cells.scores(terms, [Number(-1.0) * y for y in logs])


@scores.register
def _(density: GammaDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    cells = _Cells(density, steps, names, clip_small=False)
    logs, means = cells.logs(), density.expectation
    at_mean = 0.5 * np.log(density.shapes / (2 * np.pi)) - special.stirling_rest(density.shapes)

    def terms(c: int, after: Any) -> list[Expression]:
        out = []
        for x, y, mean, shape, constant in zip(cells.held, logs, means[c], density.shapes[c], at_mean[c], strict=True):
            u = steps.bind("u", (x - Number(mean)) * Number(1 / mean), after)
            log_ratio = case((u.between(Number(-0.5), Number(0.5)), log1p(steps, u)), else_=y - Number(np.log(mean)))
            out.append(Number(shape) * (log_ratio - u).self_group() + Number(constant))
        return out

    return cells.scores(terms, [Number(-1.0) * y for y in logs])


@scores.register
def _(density: InverseGaussianDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    cells = _Cells(density, steps, names)
    logs = cells.logs()

    def terms(c: int, after: Any) -> list[Expression]:
        out = []
        for x, mean, shape in zip(cells.held, density.means[c], density.shapes[c], strict=True):
            u = steps.bind("u", (x - Number(mean)) * Number(1 / mean), after)
            distance = u * (u * (Number(mean) / x).self_group()).self_group()
            out.append(Number(-0.5 * shape / mean) * distance + Number(0.5 * (np.log(shape) - LOG_2PI)))
        return out

    return cells.scores(terms, [Number(-1.5) * y for y in logs])


@scores.register
def _(density: NegativeBinomialDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    cells = _Cells(density, steps, names)
    logs = [steps.bind("y", func.ln(x + Number(1.0))) for x in cells.held]

    def terms(c: int, after: Any) -> list[Expression]:
        return [
            _negative_binomial(steps, x, y, mean, size, after)
            for x, y, mean, size in zip(cells.held, logs, density.means[c], density.sizes[c], strict=True)
        ]

    rest = [
        Total(Number(1 - 0.5 * LOG_2PI), Number(-0.5) * y, Number(-1.0) * _stirling_rest(steps, x + Number(1.0)))
        for x, y in zip(cells.held, logs, strict=True)
    ]
    return cells.scores(terms, rest)


def _negative_binomial(
    steps: Steps, x: Expression, log_x1: Expression, mean: float, size: float, after: Any
) -> Expression:
    if mean == 0:
        return times(x, -np.inf)
    dispersion = 1 / size
    whole = 1 + dispersion * mean
    apart = steps.bind("a", (x - Number(mean)) * Number(1 / whole), after)
    of_size: list[Expression] = [apart]
    log_apart: Expression = Number(0.0)
    if dispersion:
        step = steps.bind("b", apart * Number(dispersion))
        log_steps = steps.bind("c", log1p(steps, x * Number(dispersion)))
        near = step.between(Number(-0.5), Number(0.5))
        log_apart = steps.bind("d", case((near, log1p(steps, step)), else_=log_steps - Number(np.log(whole))))
        of_size = [log_apart * Number(size), Number(-0.5) * log_steps, _stirling_rest(steps, x + Number(size), after)]
        of_size.append(Number(-float(special.stirling_rest(np.array(size)))))
    short = Number(mean - 1 - dispersion * mean) - x
    ratio = steps.bind("q", short / (x + Number(1.0)).self_group() * Number(1 / whole), after)
    near = ratio.between(Number(-0.5), Number(0.5))
    log_ratio = case((near, log1p(steps, ratio)), else_=Number(np.log(mean)) - log_x1 + log_apart)
    return Total(*of_size, x * log_ratio)


def _stirling_rest(steps: Steps, z: Expression, after: Any = None) -> Expression:
    """What Stirling's formula leaves of log Γ(z)."""
    z = steps.bind("g", z, after)
    plain = (z - Number(0.5)).self_group() * func.ln(z) - z + Number(0.5 * LOG_2PI)
    return case((z < Number(20.0), log_gamma(steps, z) - plain.self_group()), else_=stirling_series(z))
