"""Where expectation-maximisation starts, and with how many components: found on a sample of the rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .densities import Density
from .em import Estimate, Loop, Mixture, softly
from .errors import DataError, as_parameter, listed, remedy
from .stats import Statistics
from .stats.bundle import Collector
from .tables.batch import Batch
from .tables.labels import SoftLabels

Array = NDArray[Any]

CRITERIA = ("bic", "aic", "icl", "held_out")
INITS = ("k-means++", "lbg", "random")
_CELLS = 1 << 20  # of rows as numbers, at a time
_FEW = 256  # numbers of a row that are compared as they are
_PATIENCE = 2  # numbers of components in a row that are no better, after which more are not tried
_SPLIT_STEPS = 10  # of EM after a component was split


@dataclass(frozen=True)
class Sample:
    """Some rows in memory, and how statistics and densities are made of them."""

    batches: Sequence[Batch]
    collect: Collector
    estimate: Estimate

    def __len__(self) -> int:
        return sum(map(len, self.batches))

    @cached_property
    def weight(self) -> Array:
        """The weights of the rows, (n,)."""
        return np.concatenate([np.ones(len(b)) if b.weight is None else b.weight for b in self.batches])

    def reduce(self, of: Callable[[Batch], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """As `Source.reduce`."""
        return functools.reduce(merge, map(of, self.batches))

    def loop(self, tol: float, max_iter: int, prior: Callable[[Mixture], Statistics] | None = None) -> Loop:
        """EM over these rows."""
        return Loop(self.reduce, self.collect, self.estimate, tol, max_iter, prior)

    def statistic(self, responsibility: Array) -> Statistics:
        """The statistic of the rows with soft labels (n, K)."""
        parts, start = [], 0
        for batch in self.batches:
            soft = SoftLabels(np.arange(responsibility.shape[1]), responsibility[start : start + len(batch)])
            soft.check()
            parts.append(self.collect(softly(batch, soft)))
            start += len(batch)
        return parts[0].plus(*parts[1:])

    def share(self, weight: float) -> float:
        """The responsibility of each row for pseudo-rows of this weight, in rows: the weights may sum to 1."""
        return float(weight * min(1.0, self.weight.mean()) / self.weight.sum())

    def prior(self, weight: float) -> Callable[[Mixture], Statistics] | None:
        """From a mixture to the pseudo-rows of its components: each has the whole sample, with this weight in all."""
        of = functools.cache(lambda k: self.statistic(np.full((len(self), k), self.share(weight))))
        return (lambda mixture: of(len(mixture.weight))) if weight else None

    def halves(self) -> tuple[Sample, Sample]:
        """Every second row, and the others."""
        one, two = ([b.rows(slice(i, None, 2)) for b in self.batches] for i in (0, 1))
        return replace(self, batches=one), replace(self, batches=[b for b in two if len(b)])

    @cached_property
    def numbers(self) -> Array:
        """The rows as numbers of one scale: categories are one-hot, missing cells are filled.

        Very many numbers become a few by random projection, which keeps distances nearly as they are.
        """
        density, weight = Mixture.of(self.statistic(np.ones((len(self), 1))), self.estimate).density, self.weight
        _refuse_text(density, self.batches[0].table.names)
        first = next(self._pieces(density))[1][0]  # apart from which sums of squares keep their digits
        sums, is_binary = np.zeros((2, len(first))), np.ones(len(first), bool)
        for rows, x in self._pieces(density):
            is_binary &= ((x == 0) | (x == 1)).all(axis=0)
            apart = x - first
            sums += weight[rows] @ apart, weight[rows] @ apart**2
        mean, square = sums / weight.sum()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        mean += first
        scale = np.where(is_binary | (spread == 0), 1.0, spread)  # a rare category is not a large difference
        to = np.eye(len(mean))
        if len(mean) > _FEW:
            to = np.random.default_rng(0).normal(size=(len(mean), _FEW)) / np.sqrt(_FEW)
        return np.concatenate([((x - mean) / scale) @ to for _, x in self._pieces(density)])

    def _pieces(self, density: Density) -> Iterator[tuple[slice, Array]]:
        """The rows as numbers, few of them at a time, and their positions: there may be very many categories."""
        start = 0
        for batch in self.batches:
            step = max(1, _CELLS // max(1, len(density.linear_names([""] * density.n_features))))
            for i in range(0, len(batch), step):
                x = density.read(batch.rows(slice(i, i + step)).table)
                numbers = density.linear_rows(density.fill(x, np.ones((min(step, len(batch) - i), 1))))
                yield slice(start + i, start + i + len(numbers)), numbers
            start += len(batch)

    def responsibilities(self, mixture: Mixture) -> Array:
        """P(component | row), (n, K)."""
        with np.errstate(divide="ignore"):
            log_weight = np.log(mixture.weight)
        parts = []
        for batch in self.batches:
            joint = np.empty((len(batch), len(log_weight)))
            mixture.density.score(mixture.density.read(batch.table), log_weight, all=joint)
            kernels.active.soften(joint, np.zeros(len(log_weight)), None)
            parts.append(joint)
        return np.concatenate(parts)


@dataclass(frozen=True)
class Search:
    """The best mixture of each number of components on a sample, of several starts.

    Parameters
    ----------
    sample : Sample
        The rows.
    rng : numpy.random.Generator
        The source of randomness.
    init : {"k-means++", "lbg", "random"}
        How to start.
    n_init : int
        The number of starts.
    tol, max_iter : float, int
        When each of them stops.
    pseudo_rows : float
        The weight of the pseudo-rows of every component.
    """

    sample: Sample
    rng: np.random.Generator
    init: str
    n_init: int
    tol: float
    max_iter: int
    pseudo_rows: float = 0.0

    def best(self, k: int) -> Mixture:
        """The mixture of k components with the highest likelihood."""
        if k > len(self.sample):
            raise DataError(f"there are fewer rows than components: {len(self.sample)} and {k}")
        starts = self.n_init if k > 1 and self.init != "lbg" else 1  # splitting has no chance in it
        loop = self.loop()
        return max((loop.maximise(self._start(k)) for _ in range(starts)), key=lambda found: found.history[-1])

    def loop(self) -> Loop:
        """EM over the sample."""
        return self.sample.loop(self.tol, self.max_iter, self.sample.prior(self.pseudo_rows))

    def held_out(self, k: int) -> float:
        """Minus the mean log-likelihood of each half of the rows under the best mixture of the other half."""
        one, two = self.sample.halves()
        if k > min(len(one), len(two)):
            return np.inf
        return float(np.mean([self._held_out(k, one, two), self._held_out(k, two, one)]))

    def _held_out(self, k: int, one: Sample, two: Sample) -> float:
        found = replace(self, sample=one).best(k)
        return -two.loop(0.0, 0).maximise(found.statistics).history[0]

    def row(self, mixture: Mixture, criterion: str) -> dict[str, float]:
        """A row of the table of criteria."""
        k = len(mixture.weight)
        return {
            "n_components": k,
            "log_likelihood": mixture.history[-1] * mixture.total,
            "n_parameters": mixture.n_parameters,
            **mixture.criteria(),
            **({"held_out": self.held_out(k)} if criterion == "held_out" else {}),
        }

    def chosen(self, numbers: Sequence[int], criterion: str) -> tuple[Mixture, list[dict[str, float]]]:
        """The mixture that is best by a criterion, and the table of those that were tried.

        More components are not tried after two numbers in a row that were no better.
        """
        best, table, worse = None, list[dict[str, float]](), 0
        for k in sorted(k for k in numbers if k <= len(self.sample)) or [1]:
            mixture = self.best(k)
            table.append(self.row(mixture, criterion))
            if best is None or table[-1][criterion] < min(row[criterion] for row in table[:-1]):
                best, worse = mixture, 0
            elif (worse := worse + 1) == _PATIENCE:
                break
        assert best is not None
        return best, table

    def _start(self, k: int) -> Statistics:
        n = len(self.sample)
        if self.init == "lbg":
            return self._split(k)
        if self.init == "random":
            label = self.rng.integers(k, size=n)
            label[self.rng.permutation(n)[:k]] = np.arange(k)
        else:
            label = k_means(self.sample.numbers, self.sample.weight, k, self.rng)
        return self.sample.statistic(np.eye(k)[label])

    def _split(self, k: int) -> Statistics:
        """Split the widest component across its longest axis, let EM settle, and so on, until there are k.

        Linde, Buzo and Gray (1980).
        """
        numbers, soft = self.sample.numbers, np.ones((len(self.sample), 1))
        while soft.shape[1] < k:
            weight = soft * self.sample.weight[:, None]
            size = np.maximum(weight.sum(axis=0), np.finfo(np.float64).tiny)
            means = weight.T @ numbers / size[:, None]
            widths = weight.T @ (numbers**2).sum(axis=1) - size * (means**2).sum(axis=1)
            j = int(widths.argmax())
            apart = numbers - means[j]
            axis = np.linalg.eigh((weight[:, j, None] * apart).T @ apart)[1][:, -1]
            above = apart @ axis > 0
            halves = np.where([above, ~above], soft[:, j], 0.0).T
            soft = np.hstack([np.delete(soft, j, axis=1), halves])
            settled = self.sample.loop(self.tol, _SPLIT_STEPS).maximise(self.sample.statistic(soft))
            if len(settled.weight) < soft.shape[1]:
                one, other = as_parameter("init", "lbg"), as_parameter("init", "k-means++")
                raise DataError(f"{one} finds no {k} components in these rows; use {other}")
            soft = self.sample.responsibilities(settled)
        return self.sample.statistic(soft)


def k_means(
    rows: Array, weight: Array, k: int, rng: np.random.Generator, steps: int = 10, centres: Array | None = None
) -> Array:
    """Labels (n,) of rows by k-means, from centres that k-means++ has spread; the first may be given."""
    if centres is None:
        centres = rows[[rng.choice(len(rows), p=weight / weight.sum())]]
    distance = _squared(rows, centres).min(axis=1)
    for _ in range(len(centres), k):
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


def _refuse_text(density: Density, names: Sequence[str] | None) -> None:
    """Refuse columns of words, which make no rows of numbers."""
    texts = [names[j] if names else f"x{j}" for j in sorted(density.columns_of_text())]
    if texts:
        left_out = remedy(f"families={dict.fromkeys(texts, 'drop')}", f"--drop {quote(','.join(texts))}")
        raise DataError(
            f"clusters and mixtures of text ({listed(texts)}) are not supported; leave it out with {left_out}"
        )
