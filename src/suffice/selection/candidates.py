"""The models that the automatic choice tries, and how each of them scores held-out rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .. import decisions
from ..errors import DataError
from ..estimators.gaussian import GaussianClassifier
from ..estimators.generative import GenerativeClassifier
from ..estimators.logistic import LogisticClassifier
from ..estimators.mixed import MixedClassifier
from ..regression.design import Design
from ..regression.path import HeldOutFit, held_out_path
from ..schema import Schema
from ..sources import Source
from ..stats.wide import is_wide
from ..tables.features import BINS
from ..tables.summary import FEW
from ..tables.table import Column, looked_at
from .fold_statistics import rounds, training_statistics
from .held_out import MOST, Trial

Array = NDArray[Any]

ALPHAS = (0.1, 10.0)  # besides 1
NUMBERS = {"float": "gaussian", "integer": "gaussian"}  # families if no number counts as a category or a count
POWERS = {"float": "yeo_johnson", "integer": "yeo_johnson"}
BINNED = {"float": "binned", "integer": "binned"}
CURVE = {"float": "curve", "integer": "curve"}
PENALTIES = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)  # values of C
_UNKNOWNS = 2000  # slopes of categories, bins or products of columns; with more, logistic models are not tried
_WORK = 1 << 24  # rows times these slopes
_PATTERNS = 16  # of missing values, beyond which EM for covariances takes too long
_WIDE = 200  # columns, beyond which bins and powers of each are not tried
_ENTRIES = 1 << 26  # of the covariances of all classes and folds; with more, only diagonal ones are tried


class UnfitError(DataError):
    """A candidate cannot learn from the training rows of some split."""


class Candidate(ABC):
    """A model to try."""

    name: str  # what to write in Python to get it

    @abstractmethod
    def scores(self, trial: Trial) -> Array:
        """Return scores (n, k) of held-out rows: log-likelihoods, up to a constant of each row."""

    @abstractmethod
    def fitted(self, source: Source) -> Any:
        """Return the model of all rows."""


class FoldSums:
    """The statistics of training rows that several candidates share, and their held-out rows as densities read them.

    Parameters
    ----------
    owner : GenerativeClassifier
        The candidate whose collector keeps the most.
    inferred : object
        What it has inferred from the rows.
    """

    def __init__(self, owner: GenerativeClassifier, inferred: Any) -> None:
        self.owner, self.inferred = owner, inferred
        self._training: list[Any] = []  # the statistic of the training rows of each split
        self._rows: dict[int, Any] = {}

    def scores(self, trial: Trial, estimator: GenerativeClassifier) -> Array:
        """Return the scores (n, k) of held-out rows by a candidate."""
        if not self._training:
            self._training = list(self._collect(trial))
        recipe, choices, names = estimator._recipe, estimator._validate(), trial.source.names

        def of_split(f: int) -> Array:
            adopted = recipe.adopted(self._training[f], choices)
            density, test = recipe.estimate(adopted, choices, names), trial.splits[f][1]
            if f not in self._rows:
                self._rows[f] = density.read(trial.source.table[test])
            scores = np.empty((len(test), len(trial.classes)))
            density.score(self._rows[f], all=scores, relative=True)
            return scores

        return trial.scores(of_split)

    def _collect(self, trial: Trial) -> Iterator[Any]:
        collector = self.owner._collector(self.inferred)
        for part in rounds((train for train, _ in trial.splits), len(trial.code)):
            statistics = training_statistics(trial.source, part, collector)
            for i in range(len(part.left)):
                statistic = statistics.without(i)
                if isinstance(statistic, DataError):
                    raise statistic
                yield statistic.aligned(trial.classes)


@dataclass(frozen=True, eq=False)
class StatisticCandidate(Candidate):
    """A generative model: held-out scores come from sums of statistics, and nothing is fitted again."""

    estimator: GenerativeClassifier
    sums: FoldSums

    @property
    def name(self) -> str:  # type: ignore[override]
        return " ".join(repr(clone(self.estimator).set_params(n_jobs=None)).split())

    def scores(self, trial: Trial) -> Array:
        return self.sums.scores(trial, self.estimator)

    def fitted(self, source: Source) -> Any:
        return clone(self.estimator)._fit_inferred(source, self.sums.inferred)


@dataclass(frozen=True, eq=False)
class LogisticCandidate(Candidate):
    """Logistic regression, with the penalty that suits rows best that a fit has not seen."""

    view: Any  # the families to ask for
    schema: Schema
    expansion: str = "linear"
    n_jobs: int | None = None
    found: list[LogisticClassifier] = field(default_factory=list)

    @property
    def name(self) -> str:  # type: ignore[override]
        known = self.found[0] if self.found else LogisticClassifier(families=self.view, expansion=self.expansion)
        return " ".join(repr(clone(known).set_params(n_jobs=None)).split())

    def scores(self, trial: Trial) -> Array:
        used = np.flatnonzero(trial.weight)
        design, path = self._path(trial, used)
        if trial.exchangeable:
            logits = [fit.held_out for fit in path]
        else:
            used, logits = self._by_split(trial)
        code, weight = trial.code[used], trial.weight[used]
        best = int(np.argmin([self._loss(logit, code, weight) for logit in logits]))
        scores, log_prior = np.zeros((len(trial.code), len(trial.classes))), trial.log_prior[used]
        scores[used] = logits[best] - np.where(np.isneginf(log_prior), 0.0, log_prior)
        prior = np.bincount(trial.code, trial.weight, len(trial.classes)) / trial.weight.sum()
        model = design.model(trial.classes, prior, path[best].slope, path[best].intercept)
        own = {"families": self.view, "expansion": self.expansion, "n_jobs": self.n_jobs}
        self.found[:] = [LogisticClassifier._of(model, trial.source.names, C=PENALTIES[best], **own)]
        return scores

    def _path(self, trial: Trial, rows: Array) -> tuple[Design, list[HeldOutFit]]:
        """Fit some rows, with each penalty."""
        table, code, weight = trial.source.table[rows], trial.code[rows], trial.weight[rows]
        is_quadratic = self.expansion == "quadratic"
        design = Design.of(table, self.schema.families, weight, derived=self.schema.features, products=is_quadratic)
        penalties, patience = [1 / C for C in PENALTIES], 1 if trial.exchangeable else None
        path = held_out_path(
            design.rows, code, weight, len(trial.classes), penalties, patience=patience, n_jobs=self.n_jobs
        )
        return design, path

    def _by_split(self, trial: Trial) -> tuple[Array, list[Array]]:
        """Return the held-out rows, and their logits (n, k) for each penalty, by fits to the training rows."""
        k = len(trial.classes)
        logits = [np.zeros((len(trial.code), k)) for _ in PENALTIES]
        for train, test in trial.splits:
            rows = train[trial.weight[train] > 0]
            if not np.bincount(trial.code[rows], minlength=k).all():
                raise UnfitError("some training rows lack a class")
            design, path = self._path(trial, rows)
            prior = np.bincount(trial.code[rows], trial.weight[rows], k) / trial.weight[rows].sum()
            for logit, fit in zip(logits, path, strict=True):
                model, own = design.model(trial.classes, prior, fit.slope, fit.intercept), np.empty((len(test), k))
                model.score(model.read(trial.source.table[test]), np.log(prior), all=own, relative=True)
                logit[test] = own
        used = np.flatnonzero(trial.counted)
        return used, [logit[used] for logit in logits]

    @staticmethod
    def _loss(logit: Array, code: Array, weight: Array) -> float:
        log_posterior = decisions.log_posterior(logit.copy(), np.zeros_like(logit))
        return float(weight @ np.minimum(-log_posterior[np.arange(len(code)), code], MOST))

    def fitted(self, source: Source) -> Any:  # noqa: ARG002
        return self.found[0]


def generative_candidates(
    trial: Trial, families: Any, n_jobs: int | None, best_of: Callable[[Collection[Candidate]], Any]
) -> Iterator[Candidate]:
    """Yield generative models, quick ones first; `best_of` tells the best of some that were tried."""
    source, k = trial.source, len(trial.classes) * len(trial.splits)
    columns = [looked_at(column) for column in source.table.columns()]
    numbers = [column for column in columns if column.kind in ("integer", "float", "boolean")]
    is_complete = not any(np.isnan(column.floats()).any() for column in numbers)
    is_narrow = k * source.n_features**2 <= _ENTRIES
    is_regular = is_complete or _n_patterns(numbers) <= _PATTERNS
    structures = ("diag", "tied", "full") if is_regular and is_narrow else ("tied_diag", "diag")
    gaussian = families == "auto" and is_complete and len(numbers) == len(columns)
    if gaussian:
        as_rows = is_wide(source.n_rows, source.n_features)  # statistics of such tables hold no matrix of columns
        sums = FoldSums(
            GaussianClassifier("full" if is_narrow or as_rows else "diag", predictive=True, n_jobs=n_jobs), None
        )
        for structure in (*structures, "tied") if as_rows and not is_narrow else structures:
            yield StatisticCandidate(GaussianClassifier(structure, predictive=True, n_jobs=n_jobs), sums)
    known = set()
    views = ("auto", NUMBERS, *((POWERS, BINNED) if source.n_features <= _WIDE else ()))
    for view in views if families == "auto" else (families,):
        schema = Schema.of(source.table, view, source.frame)
        if schema.families in known or (gaussian and set(schema.families) == {"gaussian"}):
            continue
        known.add(schema.families)
        n_numbers = sum(family in ("gaussian", "yeo_johnson") for family in schema.families)
        own = structures if n_numbers > 1 else structures[:1]
        sums = FoldSums(MixedClassifier(view, covariance=own[-1], n_jobs=n_jobs), schema)
        tried = [StatisticCandidate(MixedClassifier(view, covariance=each, n_jobs=n_jobs), sums) for each in own]
        yield from tried
        structure = best_of(tried).estimator.covariance
        for alpha in ALPHAS if {"categorical", "bernoulli", "poisson", "binned"} & {*schema.families} else ():
            yield StatisticCandidate(MixedClassifier(view, alpha, structure, n_jobs=n_jobs), sums)


def _n_patterns(numbers: Sequence[Column]) -> int:
    """Count the combinations of columns that are missing together in some row."""
    missing = np.column_stack([np.isnan(column.floats()) for column in numbers])
    return len(np.unique(np.packbits(missing, axis=1), axis=0))


def logistic_candidates(trial: Trial, families: Any, n_jobs: int | None) -> Iterator[Candidate]:
    """Yield logistic models of the whole table, where they are not too large to be fitted soon."""
    source, k = trial.source, len(trial.classes)
    outputs, known = 1 if k == 2 else k, set()
    columns = [looked_at(column) for column in source.table.columns()]
    different = [len(column.coded()[0]) if column.kind == "text" else FEW for column in columns]
    views = [(view, "linear") for view in (("auto", NUMBERS, CURVE) if families == "auto" else (families,))]
    if families == "auto":
        views.append((NUMBERS, "quadratic"))
    for view, expansion in views:
        if view is CURVE and source.n_features > _WIDE:
            continue
        schema = Schema.of(source.table, view, source.frame)
        if (schema.families, expansion) in known:
            continue
        known.add((schema.families, expansion))
        q = schema.families.count("gaussian")
        p = q * (q + 1) // 2 if expansion == "quadratic" else BINS * schema.families.count("curve")
        every = zip(schema.families, different, strict=True)
        n_categories = sum(n for family, n in every if family == "categorical")
        is_soon = outputs * (p + n_categories) <= _UNKNOWNS and len(trial.code) * outputs * p <= _WORK
        if is_soon and (p > 1 or expansion == "linear"):
            yield LogisticCandidate(view, schema, expansion, n_jobs)
