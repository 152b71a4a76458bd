"""Expectation-maximisation over any source: soft labels to statistics, statistics to densities.

The components of a mixture are the classes of a density. The E-step gives every row a soft label: one responsibility
for each component. The M-step is the estimate from the statistic of the softly labelled rows. Both happen in one pass.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .densities import Density
from .errors import DataError, EmptyClassWarning, SingularWarning
from .stats import Statistics
from .stats.bundle import Collector
from .tables.batch import Batch
from .tables.labels import SoftLabels

Array = NDArray[Any]
Estimate = Callable[[Any], Density]
Reduce = Callable[[Callable[[Batch], Any], Callable[[Any, Any], Any]], Any]  # as `Source.reduce`

_ROWS = 4096  # that are scored and collected while they are in the cache


@dataclass(frozen=True)
class Mixture:
    """Components with their weights, and how they were found."""

    density: Density  # of the K components
    statistics: Statistics  # of the softly labelled rows that the density was estimated from
    history: tuple[float, ...] = ()  # the mean log-likelihood of a row, before each step and after the last one
    entropy: float = 0.0  # of the responsibilities, summed over the rows
    total: float = 0.0  # the weight of the rows
    converged: bool = False

    @property
    def weight(self) -> Array:
        """The share of each component, (K,)."""
        return np.asarray(self.statistics.weight / self.statistics.weight.sum())

    @property
    def n_parameters(self) -> int:
        """The free parameters of the components and of their weights."""
        return self.density.n_parameters() + len(self.weight) - 1

    def criteria(self) -> dict[str, float]:
        """Criteria of how well the mixture describes its rows; less is better."""
        fit = -2 * self.history[-1] * self.total
        bic = fit + float(np.log(self.total)) * self.n_parameters
        return {"bic": bic, "aic": fit + 2 * self.n_parameters, "icl": bic + 2 * self.entropy}


@dataclass(frozen=True)
class Pass:
    """What one pass over the rows gives."""

    weight: float
    log_likelihood: float
    entropy: float
    statistics: Statistics | None  # of the soft labels, where they are asked for

    def __add__(self, other: Pass) -> Pass:
        both = None if self.statistics is None or other.statistics is None else self.statistics + other.statistics
        return Pass(
            self.weight + other.weight,
            self.log_likelihood + other.log_likelihood,
            self.entropy + other.entropy,
            both,
        )


def maximise(
    reduce: Reduce,
    collect: Collector,
    estimate: Estimate,
    start: Statistics,
    tol: float,
    max_iter: int,
) -> Mixture:
    """Improve a mixture until its log-likelihood grows no more.

    Parameters
    ----------
    reduce : callable
        The `reduce` of a source. Each step is one pass.
    collect : callable
        From a batch of softly labelled rows to their statistic.
    estimate : callable
        From the statistic to the density of the components.
    start : Statistics
        A statistic with one class for each component, from which the first density is estimated.
    tol : float
        Stop when the mean log-likelihood of a row grows by less.
    max_iter : int
        Stop after this many steps.

    Returns
    -------
    Mixture
        The components, and the log-likelihood before each step.
    """
    mixture = Mixture(_quietly(estimate, start), start)
    for step in range(max_iter + 1):
        found: Pass = reduce(EStep(mixture, collect if step < max_iter else None), operator.add)
        mean = found.log_likelihood / found.weight
        history = (*mixture.history, mean)
        converged = step > 0 and abs(history[-1] - history[-2]) < tol
        mixture = replace(mixture, history=history, entropy=found.entropy, total=found.weight, converged=converged)
        if converged or found.statistics is None:
            break
        mixture = replace(mixture, density=_quietly(estimate, found.statistics), statistics=found.statistics)
    return mixture


def measured(reduce: Reduce, mixture: Mixture) -> Mixture:
    """The mixture with the log-likelihood and the entropy of other rows."""
    found: Pass = reduce(EStep(mixture, None), operator.add)
    mean = found.log_likelihood / found.weight
    return replace(mixture, history=(mean,), entropy=found.entropy, total=found.weight)


def softly(batch: Batch, soft: SoftLabels) -> Batch:
    """The rows of a batch with soft labels."""
    return replace(batch, y=soft, coded=None)


def _quietly(estimate: Estimate, statistics: Statistics) -> Density:
    """An estimate on the way, of which nobody needs a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularWarning)
        warnings.simplefilter("ignore", EmptyClassWarning)
        return estimate(statistics)


@dataclass(frozen=True)
class EStep:
    """From a batch to the log-likelihood of its rows and, with `collect`, the statistic of their soft labels."""

    mixture: Mixture
    collect: Collector | None

    def __call__(self, batch: Batch) -> Pass:
        parts = range(0, max(len(batch), 1), _ROWS)
        return functools.reduce(operator.add, (self._of(batch.rows(slice(i, i + _ROWS))) for i in parts))

    def _of(self, rows: Batch) -> Pass:
        density, weight = self.mixture.density, self.mixture.weight
        joint, total = np.empty((len(rows), len(weight))), np.empty(len(rows))
        with np.errstate(divide="ignore"):  # a component may have lost all its rows
            log_weight = np.log(weight)
        if not density.score(density.read(rows.table), log_weight, all=joint, evidence=total):
            raise DataError("X contains NaN or infinity")
        lost = np.isneginf(total)  # impossible under every component
        with np.errstate(invalid="ignore"):
            joint -= total[:, None]
        joint[lost] = log_weight
        responsibility = np.exp(joint)
        entropy = -np.einsum("ij,ij->i", responsibility, np.where(responsibility > 0, joint, 0.0))
        own = np.ones(len(rows)) if rows.weight is None else rows.weight
        total[own == 0] = 0.0  # a row without weight may be impossible
        soft = SoftLabels(self.mixture.statistics.classes, responsibility)
        statistics = None if self.collect is None else self.collect(softly(rows, soft))
        return Pass(float(own.sum()), float(own @ total), float(own @ entropy), statistics)


# Where to start.


def k_means(rows: Array, weight: Array, k: int, rng: np.random.Generator, steps: int = 10) -> Array:
    """Labels (n,) of rows by k-means, from centres that k-means++ has spread."""
    centres = rows[[rng.choice(len(rows), p=weight / weight.sum())]]
    distance = _squared(rows, centres)[:, 0]
    for _ in range(1, k):
        share = distance * weight
        share = weight if not share.any() else share
        candidates = rows[rng.choice(len(rows), size=2 + int(np.log(k)), p=share / share.sum())]
        closer = np.minimum(distance[:, None], _squared(rows, candidates))
        best = (weight @ closer).argmin()
        centres, distance = np.vstack([centres, candidates[best]]), closer[:, best]
    label: Array = _squared(rows, centres).argmin(axis=1)
    for _ in range(steps):
        member = np.zeros((len(rows), k))
        member[np.arange(len(rows)), label] = weight
        size = member.sum(axis=0)
        centres = np.where(size[:, None] > 0, member.T @ rows / np.where(size > 0, size, 1.0)[:, None], centres)
        label, before = _squared(rows, centres).argmin(axis=1), label
        if (label == before).all():
            break
    return label


def _squared(rows: Array, centres: Array) -> Array:
    """Squared distances, (n, m), up to rounding, and never negative."""
    square = (rows**2).sum(axis=1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(axis=1)
    return np.asarray(np.maximum(square, 0.0))
