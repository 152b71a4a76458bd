"""Expectation-maximisation over any source: soft labels to statistics, statistics to densities.

The components of a mixture are the classes of a density. The E-step gives every row a soft label: one responsibility
for each component. The M-step is the estimate from the statistic of the softly labelled rows. Both happen in one pass.

Labels that are known say which components a row may belong to: those of its class. So the same loop fits clusters
(no labels), a mixture for each class (all labels) and classes of which only some rows are labelled.
"""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .checkpoint import Checkpoint, described
from .densities import Density
from .errors import DataError, SufficeWarning
from .progress import progress
from .sources import Source
from .stats import Statistics
from .stats.bundle import Collector
from .tables.batch import Batch
from .tables.labels import SoftLabels, code_known, is_missing

Array = NDArray[Any]
Estimate = Callable[..., Density]  # of a statistic and, as `start`, of the density of the step before
Reduce = Callable[[Callable[[Batch], Any], Callable[[Any, Any], Any]], Any]  # as `Source.reduce`

_CELLS = 1 << 19  # of rows and responsibilities that are scored and collected while they are in the cache
_TINY = -700.0  # the logarithm of a weight of nearly zero
_LOST = 1e-3  # rows: a component with less has lost its rows to others


@dataclass(frozen=True)
class Known:
    """What labels say: the class that owns each component. Rows belong to components of their own class."""

    classes: Array  # (k,) sorted
    owner: Array  # (K,) the index of a class; -1 for a component that no label speaks of
    unlabeled: Any = None  # the label, besides None and NaN, of rows whose class is not known
    unlabeled_weight: float = 1.0  # what such rows count

    def code(self, rows: Batch) -> Array:
        """The class of each row, (n,), by index; -1 where it is not known."""
        assert rows.y is not None
        return code_known(np.asarray(rows.y), self.classes, self.is_unlabeled)

    def is_unlabeled(self, label: Any) -> bool:
        """Whether a label says that the class is not known."""
        return is_missing(label) or (self.unlabeled is not None and bool(label == self.unlabeled))


@dataclass(frozen=True)
class Mixture:
    """Components with their weights, and how they were found."""

    density: Density  # of the K components
    weight: Array  # (K,) the share of each component
    statistics: Statistics  # of the softly labelled rows that the density was estimated from
    history: tuple[float, ...] = ()  # the mean log-likelihood of a row, before each step and after the last one
    entropy: float = 0.0  # of the responsibilities, summed over the rows
    total: float = 0.0  # the weight of the rows, or their number where their weights are less than 1
    converged: bool = False
    known: Known | None = None  # what labels say of the components

    @classmethod
    def of(cls, statistics: Statistics, estimate: Estimate, **start: Density) -> Mixture:
        """The mixture of a statistic with one class for each component."""
        with warnings.catch_warnings():  # nobody needs one of an estimate on the way
            warnings.simplefilter("ignore", SufficeWarning)
            density = estimate(statistics, **start)
        return cls(density, statistics.weight / statistics.weight.sum(), statistics)

    @property
    def n_parameters(self) -> int:
        """The free parameters of the components and of their weights."""
        return self.density.n_parameters() + len(self.weight) - 1

    def criteria(self) -> dict[str, float]:
        """Criteria of how well the mixture describes its rows; less is better."""
        fit = -2 * self.history[-1] * self.total
        bic = fit + float(np.log(self.total)) * self.n_parameters
        return {"bic": bic, "aic": fit + 2 * self.n_parameters, "icl": bic + 2 * self.entropy}

    def of_components(self, kept: Array) -> Mixture:
        """The same with some of the components. The statistic is that of all of them."""
        share = self.weight[kept]
        known = None if self.known is None else replace(self.known, owner=self.known.owner[kept])
        return replace(self, density=self.density.of_classes(kept.tolist()), weight=share / share.sum(), known=known)


@dataclass(frozen=True)
class PassTotals:
    """What one pass over the rows gives."""

    n_rows: int
    weight: float
    log_likelihood: float
    entropy: float
    statistics: Statistics | None  # of the soft labels, where they are asked for

    def __add__(self, other: PassTotals) -> PassTotals:
        return self.plus(other)

    def plus(self, *others: PassTotals) -> PassTotals:
        """The sum of this pass and others."""
        passes = (self, *others)
        parts = [one.statistics for one in passes if one.statistics is not None]
        return PassTotals(
            sum(one.n_rows for one in passes),
            sum(one.weight for one in passes),
            sum(one.log_likelihood for one in passes),
            sum(one.entropy for one in passes),
            parts[0].plus(*parts[1:]) if parts else None,
        )

    @property
    def total(self) -> float:
        """The weight of the rows, or their number if that is more: weights may be normalised."""
        return max(self.weight, float(self.n_rows))

    @property
    def mean(self) -> float:
        """The mean log-likelihood of a row."""
        return self.log_likelihood / self.weight


@dataclass(frozen=True)
class Loop:
    """What stays the same from step to step.

    Parameters
    ----------
    reduce : callable
        The `reduce` of a source. Each step is one pass.
    collect : callable
        From a batch of softly labelled rows to their statistic.
    estimate : callable
        From the statistic to the density of the components. It also takes, as `start`, the density of the step before,
        which it may improve where the best one would take long to find.
    tol : float
        Stop when the mean log-likelihood of a row grows by less.
    max_iter : int
        Stop after this many steps.
    prior : callable, optional
        From a mixture to the statistic of the pseudo-rows of its components, which are added in each step.
    watch : callable
        Called with the mixture after each step.
    """

    reduce: Reduce
    collect: Collector
    estimate: Estimate
    tol: float
    max_iter: int
    prior: Callable[[Mixture], Statistics] | None = None
    watch: Callable[[Mixture], object] = lambda _: None

    def maximise(self, start: Statistics, known: Known | None = None, history: Sequence[float] = ()) -> Mixture:
        """Improve a mixture until its log-likelihood grows no more.

        Parameters
        ----------
        start : Statistics
            A statistic with one class for each component, from which the first density is estimated.
        known : Known, optional
            What labels say of these components.
        history : sequence of float
            The mean log-likelihoods before each step that led to the start, where there were some.

        Returns
        -------
        Mixture
            The components. Those that lost their rows to others are left out.
        """
        mixture = replace(Mixture.of(start, self.estimate), history=tuple(history), known=known)
        while True:
            found = self._pass(mixture, collects=len(mixture.history) < self.max_iter)
            grew = abs(found.mean - mixture.history[-1]) if mixture.history else np.inf
            mixture = replace(
                mixture,
                history=(*mixture.history, found.mean),
                entropy=found.total * found.entropy / found.weight,
                total=found.total,
                converged=bool(grew < self.tol),
            )
            if mixture.converged or found.statistics is None:
                return mixture
            if len(kept := self._kept(mixture, found)) < len(mixture.weight):
                mixture = mixture.of_components(kept)
                found = self._pass(mixture, collects=True)
            assert found.statistics is not None
            statistics = found.statistics
            if self.prior is not None:
                statistics = statistics + self.prior(mixture)
            better = Mixture.of(statistics, self.estimate, start=mixture.density)
            mixture = replace(mixture, density=better.density, weight=better.weight, statistics=statistics)
            self.watch(mixture)

    def _pass(self, mixture: Mixture, collects: bool) -> PassTotals:
        found: PassTotals = self.reduce(EStep(mixture, self.collect if collects else None), operator.add)
        return found

    def _kept(self, mixture: Mixture, found: PassTotals) -> Array:
        """The indices of the components that have rows, and for every class at least one."""
        assert found.statistics is not None
        weight, known = found.statistics.weight, mixture.known
        has_rows = (weight >= _LOST * found.weight / found.n_rows) | (self.prior is not None)
        if known is not None:
            for own in (np.flatnonzero(known.owner == c) for c in range(len(known.classes))):
                if len(own) and not has_rows[own].any():
                    has_rows[own[weight[own].argmax()]] = True
        return np.flatnonzero(has_rows)


def run(
    source: Source,
    loop: Loop,
    start: Callable[[], tuple[Statistics, Array | None]],
    labels: Known | None = None,
    job: Mapping[str, Any] = MappingProxyType({}),
    part: str = "",
) -> Mixture:
    """Improve a mixture over all rows of a source, with a progress bar.

    Parameters
    ----------
    source : Source
        The rows. If it has a checkpoint, every step is saved there, and an interrupted run resumes from it.
    loop : Loop
        EM over these rows.
    start : callable
        Gives the first statistic, and the owners of its components where there are labels. It is called if no
        checkpoint knows better.
    labels : Known, optional
        What labels say; its owners are those of the start.
    job : mapping
        What the run depends on, to recognise its checkpoint.
    part : str
        What to add to the path of the checkpoint, where there are several runs.

    Returns
    -------
    Mixture
        The components.
    """
    with ExitStack() as stack:
        advance = stack.enter_context(progress("EM", loop.max_iter))
        checkpoint: Checkpoint[Statistics] | None = None
        if source.checkpoint is not None:
            own_job = {"em": {**job, "collect": described(loop.collect)}, **source.job()}
            path = f"{os.fspath(source.checkpoint)}{part}"
            checkpoint = stack.enter_context(Checkpoint[Statistics].open(path, own_job))

        def watch(mixture: Mixture) -> None:
            advance(1, f"EM, log-likelihood {mixture.history[-1]:.6g}")
            if checkpoint is not None:
                owner = None if mixture.known is None else mixture.known.owner.tolist()
                checkpoint.advance(mixture.statistics, "em", [list(mixture.history), owner])

        history: list[float] = []
        if checkpoint is not None and checkpoint.total is not None:
            statistics, (history, owner) = checkpoint.total, checkpoint.done["em"]
        else:
            statistics, owner = start()
        known = None if labels is None else replace(labels, owner=np.asarray(owner))
        return replace(loop, watch=watch).maximise(statistics, known, history)


def measured(reduce: Reduce, density: Density, weight: Array, statistics: Statistics) -> Mixture:
    """A mixture with the log-likelihood and the entropy of any rows."""
    mixture = Mixture(density, weight, statistics)
    found: PassTotals = reduce(EStep(mixture, None), operator.add)
    return replace(
        mixture, history=(found.mean,), entropy=found.total * found.entropy / found.weight, total=found.total
    )


def softly(batch: Batch, soft: SoftLabels) -> Batch:
    """The rows of a batch with soft labels."""
    return replace(batch, y=soft, coded=None)


@dataclass(frozen=True)
class EStep:
    """From a batch to the log-likelihood of its rows and, with `collect`, the statistic of their soft labels."""

    mixture: Mixture
    collect: Collector | None

    def __call__(self, batch: Batch) -> PassTotals:
        width = batch.table.n_features  # of wide rows a statistic is as large as its square
        step = max(_CELLS // (width + len(self.mixture.weight)), 4 * width)
        first, *rest = [self._of(batch.rows(slice(i, i + step))) for i in range(0, max(len(batch), 1), step)]
        return first.plus(*rest)

    def _of(self, rows: Batch) -> PassTotals:
        density, weight, known = self.mixture.density, self.mixture.weight, self.mixture.known
        joint = np.empty((len(rows), len(weight)))
        with np.errstate(divide="ignore"):  # a component may have lost all its rows
            log_weight = np.log(weight)
        if not density.score(density.read(rows.table), log_weight, all=joint):
            raise DataError("X contains NaN or infinity")
        fallback = np.maximum(log_weight, _TINY)  # of a row that is impossible under every component: it says nothing
        if known is not None:
            code = known.code(rows)
            other = (known.owner != code[:, None]) & (code >= 0)[:, None]
            joint[other] = -np.inf
            fallback = np.where(other, -np.inf, fallback)
            own = np.ones(len(rows)) if rows.weight is None else rows.weight
            rows = replace(rows, weight=np.where(code < 0, known.unlabeled_weight * own, own))
        log_likelihood, entropy = kernels.active.soften(joint, fallback, rows.weight)
        total = float(len(rows) if rows.weight is None else rows.weight.sum())
        statistics = None
        if self.collect is not None:
            statistics = self.collect(softly(rows, SoftLabels(np.arange(len(weight)), joint)))
        n = len(rows) if rows.weight is None else int(np.count_nonzero(rows.weight))
        return PassTotals(n, total, log_likelihood, entropy, statistics)
