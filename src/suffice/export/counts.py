"""Scores of counts and Booleans as SQL expressions: what `densities.counts` and `densities.multinomial` compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import case, func

from ..densities import (
    BernoulliDensity,
    ComplementDensity,
    GammaPoissonDensity,
    MultinomialDensity,
    PoissonDensity,
    PolyaDensity,
)
from ..densities.linear import SOME
from .dialects import Number, Total
from .scores import IMPOSSIBLE, LOG_2PI, Expression, NumberCells, Scores, finite, or_zero, previous, scores
from .steps import Steps

Array = NDArray[Any]


@scores.register
def _(density: BernoulliDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    x = NumberCells.counts(steps, names, presence=True)
    relative = []
    for c in range(density.n_classes):
        chances = zip(x.held, map(finite, density.one[c]), map(finite, density.zero[c]), strict=True)
        terms = [
            case((each > Number(0.0), one), (each <= Number(0.0), zero), else_=Number(0.0))
            for each, one, zero in chances
        ]
        relative.append(counted(density, c, terms))
    return Scores(relative, Number(0.0), x.infinite())


@scores.register
def _(density: PoissonDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    x = NumberCells.counts(steps, names)
    relative = []
    for c in range(density.n_classes):
        terms = [
            or_zero(times(each, one) + Number(zero))
            for each, one, zero in zip(x.held, density.one[c], density.zero[c], strict=True)
        ]
        relative.append(counted(density, c, terms))
    return Scores(relative, _minus_log_factorials(steps, x), x.uncountable())


@scores.register
def _(density: GammaPoissonDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    from scipy.special import gammaln

    x = NumberCells.counts(steps, names)
    absent = -density.events * np.log1p(1 / density.rows) - gammaln(density.events)
    relative: list[Expression] = []
    for c in range(density.n_classes):
        after, terms = previous(relative, len(names)), []
        for each, events, rows, none in zip(x.held, density.events[c], density.rows[c], absent[c], strict=True):
            events_term = log_gamma(steps, each + Number(events), after) - each * Number(np.log1p(rows))
            terms.append(or_zero(events_term + Number(none)))
        relative.append(steps.bind("score", counted(density, c, terms)))
    return Scores(relative, _minus_log_factorials(steps, x), x.uncountable())


@scores.register
def _(density: MultinomialDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    x = NumberCells.counts(steps, names)
    total = steps.bind("n", Total(*map(or_zero, x.held)))
    relative = []
    for c in range(density.n_classes):
        terms = [or_zero(times(each, one)) for each, one in zip(x.held, density.one[c], strict=True)]
        mass = steps.bind("m", _observed(x, np.exp(density.one[c])))
        # Counts are draws from the features that are observed.
        terms.append(case((mass > Number(0.0), Number(-1.0) * total * func.ln(mass)), else_=Number(0.0)))
        relative.append(counted(density, c, terms))
    shared = Total(log_gamma(steps, total + Number(1.0)), _minus_log_factorials(steps, x))
    return Scores(relative, shared, x.uncountable())


@scores.register
def _(density: ComplementDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    x = NumberCells.counts(steps, names)
    relative = [
        counted(density, c, [or_zero(times(each, one)) for each, one in zip(x.held, density.one[c], strict=True)])
        for c in range(density.n_classes)
    ]
    return Scores(relative, Number(0.0), x.uncountable())


@scores.register
def _(density: PolyaDensity, steps: Steps, names: Sequence[str], strict: bool = True) -> Scores:  # noqa: ARG001
    from scipy.special import gammaln

    x = NumberCells.counts(steps, names)
    total = steps.bind("n", Total(*map(or_zero, x.held)))
    relative: list[Expression] = []
    for c in range(density.n_classes):
        after = previous(relative, len(names))
        terms = [
            or_zero(log_gamma(steps, each + Number(own), after) - Number(gammaln(own)))
            for each, own in zip(x.held, density.posterior[c], strict=True)
        ]
        mass = steps.bind("m", _observed(x, density.posterior[c]))
        whole = case((mass > Number(0.0), mass), else_=Number(1.0))  # nothing is observed, and nothing counted
        mass = steps.bind("m", whole)
        terms += [log_gamma(steps, mass), Number(-1.0) * log_gamma(steps, mass + total)]
        relative.append(steps.bind("score", counted(density, c, terms)))
    shared = Total(log_gamma(steps, total + Number(1.0)), _minus_log_factorials(steps, x))
    return Scores(relative, shared, x.uncountable())


def counted(density: Any, c: int, terms: Sequence[Expression]) -> Expression:
    return Total(*terms) if density.seen[c] else Number(IMPOSSIBLE)


def times(x: Expression, one: float) -> Expression:
    """So many counts of a feature, each with this score."""
    if one > -np.inf:
        return x * Number(one)
    return case((x > Number(SOME), Number(IMPOSSIBLE)), else_=x * Number(0.0))


def _observed(x: NumberCells, share: Array) -> Expression:
    """The sum of the shares of the features that are observed."""
    return Total(*(case((each.is_(None), Number(0.0)), else_=Number(p)) for each, p in zip(x.held, share, strict=True)))


def _minus_log_factorials(steps: Steps, x: NumberCells) -> Expression:
    return Total(*(or_zero(Number(-1.0) * log_gamma(steps, each + Number(1.0))) for each in x.held))


def log_gamma(steps: Steps, value: Expression, after: Expression | None = None) -> Expression:
    """log Γ of a positive number, which few databases know, by Stirling's series; small numbers are raised first."""
    value = value.self_group()
    small = value < Number(20.0)
    raised = steps.bind("r", case((small, value + Number(8.0)), else_=value), after)
    ladder = value
    for i in range(1, 8):
        ladder = ladder * (value + Number(i))
    fall = case((small, Number(-1.0) * func.ln(ladder)), else_=Number(0.0))
    terms = [(raised - Number(0.5)) * func.ln(raised), Number(-1.0) * raised, stirling_series(raised), fall]
    return Total(Number(0.5 * LOG_2PI), *terms)


def stirling_series(z: Expression) -> Expression:
    """Of a number from about 8 on: the rest of log Γ(z) after the terms with a logarithm."""
    series: Expression = Number(-691 / 360360)
    for coefficient in (1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = Total(Number(coefficient), series / z / z)
    return series / z
