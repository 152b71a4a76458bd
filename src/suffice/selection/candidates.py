"""The models that the automatic choice tries, and how each of them scores held-out rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

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
from ..regression.model import LogisticModel
from ..regression.path import LogisticPath
from ..schema import Schema
from ..sources import Source
from ..sources.frames.arrays import ArraySource
from ..sources.sampling import sampled
from ..stats.wide import is_wide
from ..tables.features import BINS, extended, with_features
from ..tables.labels import encode
from ..tables.summary import FEW
from ..tables.table import Column, Table, encoded, looked_at
from .fold_statistics import Round, rounds, training_statistics
from .held_out import MOST, Trial

Array = NDArray[Any]

ALPHAS = (0.1, 10.0)  # besides 1
NUMBERS = {"float": "gaussian", "integer": "gaussian"}  # families if no number counts as a category or a count
POWERS = {"float": "yeo_johnson", "integer": "yeo_johnson"}
BINNED = {"float": "binned", "integer": "binned"}
CURVE = {"float": "curve", "integer": "curve"}
OCCURRENCES = {"integer": "multinomial"}
PENALTIES = (100.0, 10.0, 1.0, 0.1)  # values of 1 / C
START = 10.0  # the one that is tried first
ROWS = 40_000  # to which a chosen logistic model is fitted at most
_FEW_ROWS = 2000  # which are read once more for every split sooner than statistics are added
_SLOPES = 20_000  # of categories, bins or products of columns; with more, logistic models are not tried
_CELLS = 1 << 21  # rows times columns and classes, likewise
_CURVED = 1 << 20  # the same for curves
_PRODUCTS = 1 << 24  # and for products of columns, which are dense and take less time each
_PATTERNS = 16  # of missing values, beyond which EM for covariances takes too long
_FEW_COUNTS = 3  # columns of counts; with fewer, they are not tried as occurrences
_WIDE = 200  # columns, beyond which bins and powers of each are not tried
_PAIRS = 1 << 20  # of categories of all columns and classes; with more, trees are not tried
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
    source : ArraySource
        The rows of the trial, labelled by the index of the class.
    """

    def __init__(self, owner: GenerativeClassifier, inferred: Any, source: ArraySource) -> None:
        self.owner, self.inferred, self.source = owner, inferred, source
        self._training: list[Any] = []  # the statistic of the training rows of each split
        self._rows: dict[int, Any] = {}

    def scores(self, trial: Trial, estimator: GenerativeClassifier) -> Array:
        """Return the scores (n, k) of held-out rows by a candidate."""
        if not self._training:
            self._training = list(self._collect(trial))
        recipe, names = estimator._recipe, trial.source.names
        choices = {**estimator._validate(), "lenient": True}  # a few steps of EM are enough to compare models

        def of_split(f: int) -> Array:
            adopted = recipe.adopted(self._training[f], choices)
            density, test = recipe.estimate(adopted, choices, names), trial.splits[f][1]
            if f not in self._rows:
                self._rows[f] = density.read(self.source.table[test])
            scores = np.empty((len(test), len(trial.classes)))
            density.score(self._rows[f], all=scores, relative=True)
            return scores

        return trial.scores(of_split)

    def _collect(self, trial: Trial) -> Iterator[Any]:
        collector = self.owner._collector(self.inferred)
        training, n = [train for train, _ in trial.splits], len(trial.code)
        for part in map(Round.alone, training) if n <= _FEW_ROWS else rounds(training, n):
            statistics = training_statistics(self.source, part, collector)
            for i in range(len(part.left)):
                statistic = statistics.without(i)
                if isinstance(statistic, DataError):
                    raise statistic
                yield statistic.aligned(np.arange(len(trial.classes)))


@dataclass(frozen=True, eq=False)
class StatisticCandidate(Candidate):
    """A generative model: held-out scores come from sums of statistics, and nothing is fitted again."""

    estimator: GenerativeClassifier
    sums: FoldSums
    view: View

    @property
    def name(self) -> str:  # type: ignore[override]
        return _code(self.estimator)

    def scores(self, trial: Trial) -> Array:
        return self.sums.scores(trial, self.estimator)

    def fitted(self, source: Source) -> Any:
        return clone(self.estimator)._fit_inferred(source, self.sums.inferred)


class LogisticCandidate(Candidate):
    """Logistic regression, with the penalty that suits rows best that a fit has not seen.

    Parameters
    ----------
    view : View
        How columns are read.
    expansion : {"linear", "quadratic"}
        Whether products of numbers are features, too.
    n_jobs : int or None
        The number of threads.
    """

    def __init__(self, view: View, expansion: str = "linear", n_jobs: int | None = None) -> None:
        self.view = view
        self.model = LogisticClassifier(
            families=view.families, expansion=expansion, n_jobs=n_jobs
        )  # fitted by `scores`
        self.is_of_sample = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return _code(self.model)

    def scores(self, trial: Trial) -> Array:
        used = np.flatnonzero(trial.weight)
        design, path = self._path(self.view.source.table[used], trial.code[used], trial.weight[used])
        if trial.exchangeable:
            fit = path.best(PENALTIES, START)
            penalty, logit, slope, intercept = fit.penalty, fit.held_out, fit.slope, fit.intercept
        else:
            used, penalty, logit = self._by_split(trial)
            slope, intercept = path.fit(penalty)
        scores, log_prior = np.zeros((len(trial.code), len(trial.classes))), trial.log_prior[used]
        scores[used] = logit - np.where(np.isneginf(log_prior), 0.0, log_prior)
        self.is_of_sample = trial.is_sample
        prior = np.bincount(trial.code, trial.weight, len(trial.classes)) / trial.weight.sum()
        self._learn(design.model(trial.classes, prior, slope, intercept), trial.source, penalty)
        return scores

    def _learn(self, model: LogisticModel, source: Source, penalty: float) -> None:
        self.model = LogisticClassifier._of(model, source.names, **self.model.get_params() | {"C": 1 / penalty})

    def _path(self, table: Table, code: Array, weight: Array) -> tuple[Design, LogisticPath]:
        """Encode rows, to fit them with any penalty."""
        schema, is_quadratic = self.view.schema, self.model.expansion == "quadratic"
        design = Design.of(table, schema.families, weight, derived=schema.features, products=is_quadratic)
        return design, LogisticPath(design.rows, code, weight, int(code.max()) + 1, n_jobs=self.model.n_jobs)

    def _by_split(self, trial: Trial) -> tuple[Array, float, Array]:
        """Return the held-out rows, the penalty that suits them best, and their logits (n, k) by fits to the others."""
        k = len(trial.classes)
        logits = {penalty: np.zeros((len(trial.code), k)) for penalty in PENALTIES}
        for train, test in trial.splits:
            rows = train[trial.weight[train] > 0]
            if not np.bincount(trial.code[rows], minlength=k).all():
                raise UnfitError("some training rows lack a class")
            design, path = self._path(self.view.source.table[rows], trial.code[rows], trial.weight[rows])
            prior = np.bincount(trial.code[rows], trial.weight[rows], k) / trial.weight[rows].sum()
            for penalty, logit in logits.items():
                model, own = design.model(trial.classes, prior, *path.fit(penalty)), np.empty((len(test), k))
                model.score(model.read(self.view.source.table[test]), np.log(prior), all=own, relative=True)
                logit[test] = own
        used = np.flatnonzero(trial.counted)
        code, weight = trial.code[used], trial.weight[used]
        best = min(PENALTIES, key=lambda penalty: self._loss(logits[penalty][used], code, weight))
        return used, best, logits[best][used]

    @staticmethod
    def _loss(logit: Array, code: Array, weight: Array) -> float:
        log_posterior = decisions.log_posterior(logit.copy(), np.zeros_like(logit))
        return float(weight @ np.minimum(-log_posterior[np.arange(len(code)), code], MOST))

    def fitted(self, source: Source) -> Any:
        if self.is_of_sample:
            some = sampled(source, ROWS, 0)
            weight = np.ones(some.n_rows) if some.weight is None else some.weight
            used = np.flatnonzero(weight)
            classes, code = encode(np.asarray(some.y)[used])
            table, weight = with_features(encoded(some.table), self.view.schema.features)[used], weight[used]
            prior, penalty = np.bincount(code, weight) / weight.sum(), 1 / self.model.C
            design, path = self._path(table, code, weight)
            self._learn(design.model(classes, prior, *path.fit(penalty)), source, penalty)
        return self.model


def _code(estimator: Any) -> str:
    """What to write in Python to get an estimator."""
    return " ".join(repr(clone(estimator).set_params(n_jobs=None)).split())


@dataclass(frozen=True)
class View:
    """A way to read the columns."""

    families: Any  # to ask for
    schema: Schema
    source: ArraySource

    @classmethod
    def of(cls, trial: Trial, families: Any, own: Mapping[str, str] | None = None) -> View:
        """Return the columns as `families` has them, or with families of their own for some kinds of them."""
        schema = trial.schema if own is None else trial.schema.changed(own, trial.source.table)
        source = ArraySource(with_features(trial.source.table, schema.features), trial.code, trial.source.weight)
        source.n_jobs = trial.source.n_jobs
        return cls(families if own is None else own, schema, source)

    def has(self, *families: str) -> bool:
        """Whether a column has one of these families."""
        return not set(families).isdisjoint(self.schema.families)


def _views(trial: Trial, families: Any, *others: dict[str, str]) -> list[View]:
    """The families that were asked for or inferred, and others for numbers, without those that change nothing."""
    views = [View.of(trial, families)]
    if families == "auto":
        views += [View.of(trial, families, other) for other in others]
    return list({view.schema.families: view for view in reversed(views)}.values())[::-1]


class Results(Protocol):
    """What held-out rows say of the candidates that were tried so far."""

    def best_of(self, models: Collection[Candidate]) -> Any:
        """Return the best of some candidates, or the first if none of them could be tried."""

    def is_worse(self, models: Collection[Candidate], others: Collection[Candidate]) -> bool:
        """Whether the best of some candidates is worse than the best of others by more than chance explains."""


def candidates(
    trial: Trial, families: Any, n_jobs: int | None, generative: bool, results: Results
) -> Iterator[Candidate]:
    """Yield models to try, quick ones first: what held-out rows say of these decides which others are tried.

    Parameters
    ----------
    trial : Trial
        The rows.
    families : "auto", str, dict or Schema
        As in `suffice.fit`.
    n_jobs : int or None
        The number of threads.
    generative : bool
        Whether to leave out logistic models.
    results : Results
        What is known of the candidates that were yielded before.
    """
    tried: list[StatisticCandidate] = []
    for model in _generative(trial, families, n_jobs, results):
        tried.append(model)
        yield model
    yield from _smoothed(results.best_of(tried))
    yield from _with_tree(trial, results.best_of(tried))
    if not generative:
        yield from _logistic(trial, families, n_jobs, tried, results)


@dataclass(frozen=True)
class _Structures:
    """Models of the same columns that differ in their covariances, from the same statistics."""

    estimator: GenerativeClassifier
    covariances: tuple[str, ...]  # the quickest first
    sums: FoldSums
    view: View

    def candidates(self) -> list[StatisticCandidate]:
        """Return a candidate for each covariance."""
        models = (clone(self.estimator).set_params(covariance=covariance) for covariance in self.covariances)
        return [StatisticCandidate(model, self.sums, self.view) for model in models]


def _generative(trial: Trial, families: Any, n_jobs: int | None, results: Results) -> Iterator[StatisticCandidate]:
    """Yield generative models: first with diagonal covariances, then with others.

    Where numbers are missing, these take long, and are tried with the columns alone that diagonal ones prefer.
    """
    groups = [one.candidates() for one in _structures(trial, families, n_jobs)]
    for first, *_ in groups:
        yield first
    groups = [group for group in groups if len(group) > 1]
    for first, *others in groups:
        if _is_complete(_numbers(trial)) or not results.is_worse([first], [group[0] for group in groups]):
            yield from others


def _structures(trial: Trial, families: Any, n_jobs: int | None) -> Iterator[_Structures]:
    """Yield ways to read the columns, with the covariances to try."""
    source, k = trial.source, len(trial.classes) * len(trial.splits)
    numbers = _numbers(trial)
    is_complete = _is_complete(numbers)
    is_narrow = k * source.n_features**2 <= _ENTRIES
    is_regular = is_complete or _n_patterns(numbers) <= _PATTERNS
    own = ("diag", "tied", "full") if is_regular and is_narrow else ("diag", "tied_diag")
    gaussian = families == "auto" and is_complete and len(numbers) == source.n_features
    if gaussian:
        as_rows = is_wide(source.n_rows, source.n_features)  # statistics of such tables hold no matrix of columns
        view = View.of(trial, families, NUMBERS)
        model = GaussianClassifier("full" if is_narrow or as_rows else "diag", predictive=True, n_jobs=n_jobs)
        covariances = (*own, "tied") if as_rows and not is_narrow else own
        yield _Structures(model, covariances, FoldSums(model, None, view.source), view)
    others = (POWERS, BINNED) if source.n_features <= _WIDE else ()
    for view in _views(trial, families, *others, *([OCCURRENCES] if _are_occurrences(numbers) else [])):
        if gaussian and set(view.schema.families) == {"gaussian"}:
            continue
        n_numbers = sum(family in ("gaussian", "yeo_johnson") for family in view.schema.families)
        covariances = own if n_numbers > 1 else own[:1]
        richest = "full" if "full" in covariances else "diag"
        mixed = MixedClassifier(view.families, covariance=richest, n_jobs=n_jobs)
        yield _Structures(mixed, covariances, FoldSums(mixed, view.schema, view.source), view)


def _smoothed(best: StatisticCandidate) -> Iterator[StatisticCandidate]:
    """Yield a model with less and with more smoothing, if it has counts."""
    if best.view.has("categorical", "bernoulli", "poisson", "binned", "multinomial", "text"):
        for alpha in ALPHAS:
            yield replace(best, estimator=clone(best.estimator).set_params(alpha=alpha))


def _numbers(trial: Trial) -> list[Column]:
    columns = map(looked_at, trial.source.table.columns())
    return [column for column in columns if column.kind in ("integer", "float", "boolean")]


def _are_occurrences(numbers: Sequence[Column]) -> bool:
    """Whether whole numbers may count how often things occur, as words in a document: some are zero, none is less."""
    whole = [column.floats() for column in numbers if column.kind == "integer"]
    return len(whole) >= _FEW_COUNTS and all(not np.isnan(x).any() and x.min() == 0 for x in whole)


def _is_complete(numbers: Sequence[Column]) -> bool:
    return not any(np.isnan(column.floats()).any() for column in numbers)


def _with_tree(trial: Trial, best: StatisticCandidate) -> Iterator[StatisticCandidate]:
    """Yield a model with a tree of its columns of categories, Booleans and bins, if counts of all pairs are few."""
    if "structure" not in best.estimator.get_params():
        return
    schema = best.view.schema.joined()
    columns = extended(best.view.source.table, schema.features).take(schema.blocks().get("categorical", ())).columns()
    different = np.array([len(column.coded()[0]) for column in columns])
    if len(columns) > 1 and different.sum() ** 2 * len(trial.classes) <= _PAIRS:
        estimator = clone(best.estimator).set_params(structure="tree")
        yield replace(best, estimator=estimator, sums=FoldSums(estimator, schema, best.view.source))


def _n_patterns(numbers: Sequence[Column]) -> int:
    """Count the combinations of columns that are missing together in some row."""
    missing = np.column_stack([np.isnan(column.floats()) for column in numbers])
    return len(np.unique(np.packbits(missing, axis=1), axis=0))


def _logistic(
    trial: Trial, families: Any, n_jobs: int | None, tried: Sequence[StatisticCandidate], results: Results
) -> Iterator[LogisticCandidate]:
    """Yield logistic models of the whole table, where they are not too large to be fitted soon.

    Curves are tried if generative models do not prefer straight numbers to bins, and products of numbers if they do
    not prefer tied covariances to full ones, whose scores are sums of products.
    """
    soon = (view for view in _views(trial, families, NUMBERS) if _is_soon(trial, view))
    for view in islice(soon, 1):
        yield LogisticCandidate(view, n_jobs=n_jobs)
    if families != "auto":
        return

    def with_(covariance: str, *views: Any) -> list[StatisticCandidate]:
        return [
            one for one in tried if one.estimator.covariance == covariance and (not views or one.view.families in views)
        ]

    table = trial.source.table
    if table.n_features <= _WIDE and not results.is_worse(with_("diag", BINNED), with_("diag", "auto", NUMBERS)):
        view = View.of(trial, families, CURVE)
        if view.has("curve") and _is_soon(trial, view):
            yield LogisticCandidate(view, n_jobs=n_jobs)
    if not results.is_worse(with_("full"), with_("tied")):
        view = View.of(trial, families, NUMBERS)
        q = view.schema.families.count("gaussian")
        if q > 1 and _is_soon(trial, view, q * (q + 1) // 2):
            yield LogisticCandidate(view, "quadratic", n_jobs)


def _is_soon(trial: Trial, view: View, n_products: int = 0) -> bool:
    """Whether a logistic model of columns, and of so many products of them, is fitted soon."""
    outputs = 1 if len(trial.classes) == 2 else len(trial.classes)
    families, columns = view.schema.families, map(looked_at, trial.source.table.columns())
    if set(families) <= {"text", "drop"}:  # of which logistic regression learns nothing
        return False
    different = [
        len(column.coded()[0]) if column.kind == "text" else FEW
        for family, column in zip(families, columns, strict=True)
        if family == "categorical"
    ]
    n_slopes = sum(different) + BINS * families.count("curve") + n_products
    n_cells = len(trial.code) * outputs * (len(families) + n_products)
    most = _PRODUCTS if n_products else _CURVED if view.has("curve") else _CELLS
    return outputs * n_slopes <= _SLOPES and n_cells <= most
