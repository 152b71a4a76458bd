"""Held-out rows: which rows are held out together, what candidates say of them, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions
from ..calibration import held_towards_one
from ..errors import DataError
from ..schema import Schema
from ..scoring.calibrated import Calibration
from ..sources.frames.arrays import ArraySource
from ..tables.labels import encode, is_missing
from ..threads import ahead, single_threaded_blas, thread_count
from .folds import Split

Array = NDArray[Any]

MOST = -np.log(1e-6)  # the largest loss of a row: one that seemed impossible must not decide alone
_PARTS = 4  # of the rows: the scores of each are calibrated by those of the others
_ENOUGH = 2000  # rows for the two or more numbers of a calibration, while candidates are compared
_SMALL = 400  # rows, below which ten folds are used instead of five
_CERTAINTIES = 0.5 ** np.arange(0, 12, 0.5)  # factors for scores that decide every row rightly
_FIRST = 2  # splits, the scores of each of which are calibrated by those of the other


@dataclass(frozen=True)
class Trial:
    """Labelled rows that candidates are compared on."""

    source: ArraySource
    schema: Schema  # of its columns
    classes: Array  # (k,)
    code: Array  # (n,) the index of the class
    weight: Array  # (n,)
    splits: list[Split]
    exchangeable: bool  # whether any row may be held out alone: not where rows come in groups, or in order
    is_sample: bool = False  # whether there are more rows
    views: dict[Any, Any] = field(default_factory=dict)  # ways to read the columns, once for all candidates

    @cached_property
    def fold(self) -> Array:
        """The split in which each row is held out, (n,); -1 if there is none."""
        fold = np.full(len(self.code), -1)
        for f, (_, test) in enumerate(self.splits):
            if (fold[test] >= 0).any():
                raise DataError("cv holds some rows out more than once; hold each row out once, as KFold does")
            fold[test] = f
        return fold

    @cached_property
    def counted(self) -> Array:
        """The weight of held-out rows, (n,); 0 for rows that are never held out."""
        return np.where(self.fold < 0, 0.0, self.weight)

    @cached_property
    def _total(self) -> float:
        return float(self.counted.sum())

    @cached_property
    def some_rows(self) -> Array:
        """The indices of held-out rows, or of some of them if they are many."""
        rows = np.flatnonzero(self.fold >= 0)
        return np.sort(np.random.default_rng(0).permutation(rows)[:_ENOUGH]) if len(rows) > _ENOUGH else rows

    @cached_property
    def parts(self) -> Array:
        """The part of each row, (n,): what calibrates the scores of a part is fitted to those of the others."""
        return np.asarray(self.fold % min(_PARTS, len(self.splits)))

    @cached_property
    def log_prior(self) -> Array:
        """The log frequencies of the classes in the training rows, for each row, (n, k)."""
        k = len(self.classes)
        found = np.zeros((len(self.splits), k))
        for own, (train, _) in zip(found, self.splits, strict=True):
            count = np.bincount(self.code[train], self.weight[train], k)
            own[:] = decisions.log(count / (count.sum() or 1.0))
        return np.asfortranarray(found[self.fold])  # sums over few classes are faster by columns

    @cached_property
    def log_frequencies(self) -> Array:
        """The log frequencies of the classes, (k,); 0 for one without weight."""
        count = np.bincount(self.code, self.weight, len(self.classes))
        return np.where(count > 0, decisions.log(count / count.sum()), 0.0)

    @cached_property
    def first(self) -> Trial:
        """The first splits, which show of many a candidate that it is not the best."""
        return replace(self, splits=self.splits[:_FIRST])

    def no_scores(self) -> Array:
        """Return scores (n, k) of 0, column by column, in which sums over few classes are fast."""
        return np.zeros((len(self.code), len(self.classes)), order="F")

    def scores(self, of_split: Callable[[int], Array], splits: range) -> Array:
        """Return the scores (n, k) of held-out rows from those of some splits; 0 for the rows of others."""
        scores = self.no_scores()
        with single_threaded_blas():
            for f, own in zip(splits, ahead(of_split, splits, thread_count(self.source.n_jobs)), strict=True):
                scores[self.splits[f][1]] = own
        return scores

    def posterior(self, scores: Array) -> Array:
        """Return log P(class | x) of held-out rows, (n, k)."""
        return decisions.log_posterior(scores + self.log_prior, self.log_prior)

    def log_loss(self, log_posterior: Array) -> Array:
        """Return -log P(true class | x) of each row, (n,), at most `MOST`."""
        return np.asarray(np.minimum(-log_posterior[np.arange(len(self.code)), self.code], MOST))

    def mean(self, values: Array) -> float:
        """Return the mean over held-out rows, without those of which NaN is known."""
        if not np.isnan(total := float(self.counted @ values)):
            return total / self._total
        known = ~np.isnan(values)
        return float(self.counted[known] @ values[known] / self.counted[known].sum())

    def deviation_of_mean(self, values: Array) -> float:
        """Return the standard error of the mean over the same rows."""
        away = self.counted * (values - self.mean(values))
        if not np.isnan(square := float(away @ away)):
            return float(np.sqrt(square) / self._total)
        known = ~np.isnan(values)
        return float(np.sqrt(away[known] @ away[known]) / self.counted[known].sum())


@dataclass(frozen=True)
class HeldOut:
    """What a candidate says of held-out rows."""

    trial: Trial
    scores: Array  # (n, k)
    calibrated: bool  # whether posteriors are better with calibrated scores

    @classmethod
    def of(cls, trial: Trial, scores: Array, calibrate: bool) -> tuple[HeldOut, Array]:
        """Evaluate scores (n, k) as they are, and calibrated by those of other folds. Return the better log posteriors.

        No row has a part in the map that it is evaluated with.
        """
        plain = trial.posterior(scores)
        if not calibrate or len(trial.splits) < 2:
            return cls(trial, scores, False), plain
        some, part = trial.some_rows, trial.parts
        maps = held_towards_one(scores[some], trial.code[some], trial.counted[some], trial.log_prior[some], part[some])[
            1
        ]
        mapped = np.empty_like(scores)
        for f, own in enumerate(maps):
            mapped[part == f] = Calibration(*own, 0)(scores[part == f])
        mapped = trial.posterior(mapped)
        if trial.mean(trial.log_loss(mapped)) >= trial.mean(trial.log_loss(plain)):
            return cls(trial, scores, False), plain
        return cls(trial, scores, True), mapped

    def calibration(self) -> Calibration | None:
        """Return the map that is fitted to the scores of all rows, if calibrated scores are better or less certain."""
        trial, scale, offset = self.trial, 1.0, np.zeros(len(self.trial.classes))
        if self.calibrated:
            (scale, offset), _ = held_towards_one(self.scores, trial.code, trial.counted, trial.log_prior)
        certainty = self._certainty(Calibration(scale, offset, 0)(self.scores.copy()))
        if not self.calibrated and certainty == 1:
            return None
        offset = certainty * offset - (1 - certainty) * trial.log_frequencies
        return Calibration(certainty * scale, offset, int(np.count_nonzero(trial.counted)))

    def _certainty(self, scores: Array) -> float:
        """Return a factor of at most 1 for the log posteriors of scores that decide every held-out row rightly; 1 for
        others.

        No row tells how certain such scores may be. By the rule of succession, one more row may well be decided
        wrongly: the factor is the best one for the held-out rows and one that has the scores of any of them, but
        another class. It leaves decisions as they are.
        """
        trial, rows = self.trial, np.arange(len(self.trial.code))
        if (trial.posterior(scores).argmax(axis=1) != trial.code)[trial.counted > 0].any():
            return 1.0

        def loss(factor: float) -> float:
            scaled = factor * scores - (1 - factor) * trial.log_frequencies
            losses = np.minimum(-trial.posterior(scaled), MOST)
            right = losses[rows, trial.code]
            wrong = (losses.sum(axis=1) - right) / (len(trial.classes) - 1)
            return float(trial.counted @ right) + trial.mean(wrong)

        return float(min(_CERTAINTIES, key=loss))


def splits_of(cv: Any, groups: Any, code: Array, weight: Array, seed: int) -> tuple[list[Split], bool]:
    """Return training and held-out rows, and whether any row could be held out alone.

    Parameters
    ----------
    cv : int, splitter of scikit-learn, iterable of (train, test) or None
        As in `suffice.fit`.
    groups : array-like of shape (n,) or None
        Rows of one group are held out together.
    code, weight : array of shape (n,)
        The index of the class, and the weight.
    seed : int
        Another seed makes other folds.
    """
    n = len(code)
    groups = None if groups is None else groups_of(groups, n)
    if isinstance(cv, bool | float | str) or (isinstance(cv, Integral) and cv < 2):
        raise DataError(
            f"cv={cv!r} must be an integer of at least 2, a splitter such as KFold(5), or (train, test) rows"
        )
    if cv is not None and not isinstance(cv, Integral):
        found = cv.split(np.zeros(n), code, groups) if hasattr(cv, "split") else cv
        splits = [(_indices(train, n), _indices(test, n)) for train, test in found]
        if not splits or not all(len(train) and len(test) for train, test in splits):
            raise DataError("cv gives no splits, or some without rows")
        if any(np.isin(test, train).any() for train, test in splits):
            raise DataError("cv holds out rows that the same split learns from, so that these do not judge a model")
        return splits, False
    k = int(cv or (10 if n < _SMALL else 5))
    rng = np.random.default_rng(seed)
    if groups is not None:
        fold = _folds_of_groups(groups, min(k, n), rng)
    else:
        fold = _folds_of_rows(code, weight, min(k, int(np.count_nonzero(weight))), rng)
    folds = range(int(fold.max()) + 1)
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in folds], groups is None


def groups_of(groups: Any, n: int) -> Array:
    """Return the index of each row's group, (n,)."""
    given = np.asarray(groups)
    if given.shape != (n,):
        raise DataError(f"groups must have one value for each of the {n} rows, but has the shape {given.shape}")
    if missing := sum(map(is_missing, given.tolist())):
        raise DataError(f"groups has {missing} missing values")
    return encode(given)[1]


def _indices(rows: Any, n: int) -> Array:
    """Return the indices of rows, which may be given as a mask."""
    given = np.asarray(rows)
    if given.dtype == bool and len(given) == n:
        return np.flatnonzero(given)
    if len(given) and (given.dtype.kind not in "iu" or not -n <= given.min() <= given.max() < n):
        raise DataError(f"cv must give indices of the {n} rows, or masks of them")
    return np.asarray(given % n if len(given) else given.astype(np.intp))


def _folds_of_rows(code: Array, weight: Array, k: int, rng: np.random.Generator) -> Array:
    """Return the fold of each row, (n,). Every class is spread evenly over the folds.

    Rows of weight 0 are dealt last, so that every fold has some weight.
    """
    shuffled = rng.permutation(len(code))
    dealt = shuffled[np.lexsort((code[shuffled], weight[shuffled] == 0))]
    fold = np.empty(len(code), np.intp)
    fold[dealt] = np.arange(len(code)) % k
    return fold


def _folds_of_groups(group: Array, k: int, rng: np.random.Generator) -> Array:
    """Return the fold of each row, (n,). Groups go, the largest first, to the fold with the fewest rows so far."""
    size = np.bincount(group)
    if len(size) < 2:
        raise DataError("groups has only one group, so that no other rows are left to learn from")
    rows, of_group = np.zeros(min(k, len(size))), np.empty(len(size), np.intp)
    shuffled: Iterable[int] = rng.permutation(len(size))
    for g in sorted(shuffled, key=lambda g: -size[g]):
        of_group[g] = rows.argmin()
        rows[of_group[g]] += size[g]
    return np.asarray(of_group[group])
