"""Which models the automatic choice tries: what held-out rows say of some decides which others follow."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from ..estimators.gaussian import GaussianClassifier
from ..estimators.generative import GenerativeClassifier
from ..estimators.mixed import MixedClassifier
from ..families import FAMILIES
from ..schema import DROP
from ..stats.wide import is_wide
from ..tables.features import BINS, extended
from ..tables.summary import FEW
from ..tables.table import Column, looked_at
from .comparisons import Comparisons, clear
from .held_out import Trial
from .mixtures import mixtures
from .models import (
    NUMBERS,
    POWERS,
    Candidate,
    FoldSums,
    LogisticCandidate,
    LogisticFits,
    StatisticCandidate,
    View,
    WeightedCandidate,
    changed,
)

ALPHAS = (0.1, 10.0)  # besides 1
BINNED = {"float": "binned", "integer": "binned"}
CURVE = {"float": "curve", "integer": "curve"}
OCCURRENCES = {"integer": "multinomial"}
SHRINKAGE = 0.5  # of covariances that have few rows
PENALTIES = (100.0, 10.0, 1.0, 0.1)  # values of 1 / C, the strongest first
START = 10.0  # the one that is tried first
_SLOPES = 20_000  # of categories, bins or products of columns; with more, logistic models are not tried
_CELLS = 1_500_000  # rows times columns and classes, likewise; a curve counts twice, and ten products once
_PATTERNS = 16  # of missing values, beyond which EM for covariances takes too long
_FEW_ROWS = 2  # for each column; covariances that have fewer are shrunk
_FEW_COUNTS = 3  # columns of counts; with fewer, they are not tried as occurrences
_WIDE = 200  # columns, beyond which bins and powers of each are not tried
_PAIRS = 1 << 18  # of categories of all columns and classes; with more, trees are not tried
_WEIGHTED = {family.name for family in FAMILIES.values() if family.takes_weights}
_PRODUCTS = 1 << 28  # of shares of columns, beyond which weights of columns are not tried
_FAR = 3.0  # times the least loss, beyond which they are not tried
_ZEROS = 0.1  # of the values of a column; with fewer zeros, they are not told from the rest
_AMOUNTS = 16  # columns with many zeros; more of them are rather pixels, or occurrences of words
_NEAR = 1.1  # times the least loss, beyond which generative models are not tried with zeros apart
_ENTRIES = 1 << 26  # of the covariances of all classes and folds; with more, only diagonal ones are tried


def _views(trial: Trial, families: Any, *others: dict[str, str]) -> list[View]:
    """The families that were asked for or inferred, and others for numbers, without those that change nothing."""
    views = [View.of(trial, families)]
    if families == "auto":
        views += [View.of(trial, families, other) for other in others]
    return list({view.schema.families: view for view in reversed(views)}.values())[::-1]


def candidates(
    trial: Trial, families: Any, n_jobs: int | None, generative: bool, calibrate: bool, results: Comparisons
) -> Generator[Candidate]:
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
    calibrate : bool
        Whether to try weights of columns.
    results : Comparisons
        What is known of the candidates that were yielded before.
    """
    logistic = [] if generative else list(islice(_linear(trial, families, n_jobs), 1))
    yield from logistic
    tried: list[StatisticCandidate] = []
    for model in _generative(trial, families, n_jobs, results):
        tried.append(model)
        yield model
    if generative:
        for model in clear(results, _with_zeros_apart(trial, families, n_jobs, tried, results)):
            tried.append(model)
            yield model
    best = results.best_of(tried)
    if not results.is_worse([best]):
        for model in _smoothed(best):
            tried.append(model)
            yield model
        yield from _with_tree(trial, best)
        yield from _without_text(trial, families, best)
    for curved in () if generative else _curved(trial, families, n_jobs, tried, results):
        logistic.append(curved)
        yield curved
    if logistic and not results.is_worse([best := results.best_of(logistic)]):
        for other in clear(results, _logistic_with_zeros_apart(trial, families, n_jobs, logistic, results)):
            logistic.append(other)
            yield other
        yield from _penalised(results.best_of(logistic), results)
    if not generative and _is_gaussian(trial, families):
        yield from clear(results, mixtures(trial, n_jobs, tried, results))
    if calibrate:
        yield from _weighted(trial, families, n_jobs, tried, results)


def _linear(trial: Trial, families: Any, n_jobs: int | None) -> Iterator[LogisticCandidate]:
    """Yield logistic models of the whole table, if it is not too large to be fitted soon."""
    for view in _views(trial, families, NUMBERS):
        if _is_soon(trial, view):
            yield LogisticCandidate(LogisticFits(trial, view, n_jobs=n_jobs), START)


def _penalised(model: LogisticCandidate, results: Comparisons) -> Iterator[LogisticCandidate]:
    """Yield a model with weaker penalties while held-out rows prefer them, or else with stronger ones."""
    i = PENALTIES.index(model.penalty)
    for penalties in (PENALTIES[i + 1 :], PENALTIES[:i][::-1]):
        best = model
        for penalty in penalties:
            yield (other := replace(model, penalty=penalty))
            if results.best_of([best, other]) is best:
                break
            best = other
        if best is not model:
            return


@dataclass(frozen=True)
class _Structures:
    """Models of the same columns that differ in their covariances, from the same statistics."""

    estimator: GenerativeClassifier
    covariances: tuple[str, ...]  # the quickest first
    sums: FoldSums
    view: View
    shrunk: tuple[str, ...] = ()  # those that have few rows

    def candidates(self) -> list[StatisticCandidate]:
        """Return a candidate for each covariance."""
        shrinkage = dict.fromkeys(self.shrunk, SHRINKAGE)
        models = (changed(self.estimator, covariance=one, shrinkage=shrinkage.get(one)) for one in self.covariances)
        return [StatisticCandidate(model, self.sums, self.view) for model in models]


def _generative(trial: Trial, families: Any, n_jobs: int | None, results: Comparisons) -> Iterator[StatisticCandidate]:
    """Yield generative models: first with diagonal covariances, then with others for the columns that these prefer."""
    groups = [one.candidates() for one in _structures(trial, families, n_jobs)]
    for first, *_ in groups:
        yield first
    for first, *others in groups:
        alike = [one for one, *more in groups if more and type(one.estimator) is type(first.estimator)]
        if others and not results.is_worse([first], alike):
            yield from others


def _structures(trial: Trial, families: Any, n_jobs: int | None) -> Iterator[_Structures]:
    """Yield ways to read the columns, with the covariances to try."""
    source, k = trial.source, len(trial.classes) * len(trial.splits)
    numbers = _numbers(trial)
    is_narrow = k * source.n_features**2 <= _ENTRIES
    is_regular = _is_complete(numbers) or _n_patterns(numbers) <= _PATTERNS
    own = ("diag", "tied", "full") if is_regular and is_narrow else ("diag", "tied_diag")
    if gaussian := _is_gaussian(trial, families):
        as_rows = is_wide(source.n_rows, source.n_features)  # statistics of such tables hold no matrix of columns
        view = View.of(trial, families, NUMBERS)
        model = GaussianClassifier("full" if is_narrow or as_rows else "diag", predictive=True, n_jobs=n_jobs)
        covariances = (*own, "tied") if as_rows and not is_narrow else own
        yield _Structures(model, covariances, FoldSums(model, None, view.source), view)
        if shrunk := _shrunk(trial, covariances, source.n_features):
            plain = changed(model, predictive=False)
            yield _Structures(plain, shrunk, FoldSums(plain, None, view.source), view, shrunk)
    others = (POWERS, BINNED) if source.n_features <= _WIDE else ()
    for view in _views(trial, families, *others, *([OCCURRENCES] if _are_occurrences(numbers) else [])):
        if gaussian and set(view.schema.families) == {"gaussian"}:
            continue
        n_numbers = sum(family in ("gaussian", "yeo_johnson") for family in view.schema.families)
        covariances = own if n_numbers > 1 else own[:1]
        richest = "full" if "full" in covariances else "diag"
        mixed = MixedClassifier(view.families, covariance=richest, n_jobs=n_jobs)
        shrunk = _shrunk(trial, covariances, n_numbers)
        yield _Structures(mixed, covariances, FoldSums(mixed, view.schema, view.source), view, shrunk)


def _is_gaussian(trial: Trial, families: Any) -> bool:
    """Whether all columns may be read as Gaussian: they are numbers without missing values."""
    numbers = _numbers(trial)
    return families == "auto" and len(numbers) == trial.source.n_features and _is_complete(numbers)


def _shrunk(trial: Trial, covariances: Sequence[str], n_columns: int) -> tuple[str, ...]:
    """Return the covariances that have few rows.

    With about as many rows as columns, a covariance has almost no variance in some direction, by chance, and that
    direction decides about new rows. Held-out rows do not show it: the models of folds have fewer rows, so that the
    covariance is singular there, and variances are raised.
    """
    count = np.bincount(trial.code[trial.weight > 0])
    rows = {"tied": count.sum(), "full": count[count > 0].min()}
    return tuple(one for one in covariances if one in rows and rows[one] < _FEW_ROWS * n_columns)


def _smoothed(best: StatisticCandidate) -> Iterator[StatisticCandidate]:
    """Yield a model with less and with more smoothing, if it has counts."""
    if any("alpha" in FAMILIES[family].defaults for family in best.view.schema.blocks()):
        for alpha in ALPHAS:
            yield replace(best, estimator=changed(best.estimator, alpha=alpha))


def _weighted(
    trial: Trial, families: Any, n_jobs: int | None, tried: Sequence[StatisticCandidate], results: Comparisons
) -> Iterator[WeightedCandidate]:
    """Yield a model of categories, bins and Booleans with weights of columns, unless others are far better."""
    d, size = trial.source.n_features, len(trial.code) * len(trial.classes)
    if not 1 < d <= _WIDE or len(trial.splits) < 2 or size * d**2 > _PRODUCTS:
        return
    models = [one for one in tried if set(one.view.schema.blocks()) <= _WEIGHTED]
    if results.ratio(models or tried) > _FAR:
        return
    if not models and families == "auto" and trial.source.names:
        known = zip(trial.schema.names, trial.schema.families, strict=True)
        others = [name for name, own in known if own not in {*_WEIGHTED, DROP}]  # also dates, and numbers in text
        view = View.of(trial, families, BINNED | dict.fromkeys(others, "binned"))
        if set(view.schema.blocks()) <= _WEIGHTED:
            mixed = MixedClassifier(view.families, n_jobs=n_jobs)
            models = [StatisticCandidate(mixed, FoldSums(mixed, view.schema, view.source), view)]
    if models:
        yield WeightedCandidate(results.best_of(models))


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
    if not hasattr(best.estimator, "structure"):
        return
    schema = best.view.schema.joined()
    columns = extended(best.view.source.table, schema.features).take(schema.blocks().get("categorical", ())).columns()
    different = np.array([len(column.coded()[0]) for column in columns])
    if len(columns) > 1 and different.sum() ** 2 * len(trial.classes) <= _PAIRS:
        estimator = changed(best.estimator, structure="tree")
        yield replace(best, estimator=estimator, sums=FoldSums(estimator, schema, best.view.source))


def _without_text(trial: Trial, families: Any, best: StatisticCandidate) -> Iterator[StatisticCandidate]:
    """Yield a model without the columns of text, if there are others, to show what text gains."""
    schema = best.view.schema
    text = [name for name, family in zip(schema.names or (), schema.families, strict=False) if family == "text"]
    if families == "auto" and text and not set(schema.families) <= {"text", DROP}:
        own = {} if best.view.families == "auto" else best.view.families
        view = View.of(trial, families, own | dict.fromkeys(text, DROP))
        estimator = changed(best.estimator, families=view.families)
        yield StatisticCandidate(estimator, FoldSums(estimator, view.schema, view.source), view)


def _n_patterns(numbers: Sequence[Column]) -> int:
    """Count the combinations of columns that are missing together in some row."""
    missing = np.column_stack([np.isnan(column.floats()) for column in numbers])
    return len(np.unique(np.packbits(missing, axis=1), axis=0))


def _curved(
    trial: Trial, families: Any, n_jobs: int | None, tried: Sequence[StatisticCandidate], results: Comparisons
) -> Iterator[LogisticCandidate]:
    """Yield logistic models that are not linear in the numbers, if they are not too large to be fitted soon.

    Curves are tried if generative models prefer bins to straight numbers, and products of numbers if they do not
    prefer tied covariances to full ones, whose scores are sums of products.
    """
    if families != "auto":
        return

    def with_(covariance: str, *views: Any) -> list[StatisticCandidate]:
        return [
            one for one in tried if one.estimator.covariance == covariance and (not views or one.view.families in views)
        ]

    table = trial.source.table
    binned, straight = with_("diag", BINNED), with_("diag", "auto", NUMBERS)
    if table.n_features <= _WIDE and binned and results.best_of(binned + straight) in binned:
        view = View.of(trial, families, CURVE)
        if view.has("curve") and _is_soon(trial, view):
            yield LogisticCandidate(LogisticFits(trial, view, n_jobs=n_jobs), START)
    if not results.is_worse(with_("full"), with_("tied")):
        view = View.of(trial, families, NUMBERS)
        q = view.schema.families.count("gaussian")
        if q > 1 and _is_soon(trial, view, q * (q + 1) // 2):
            yield LogisticCandidate(LogisticFits(trial, view, "quadratic", n_jobs), START)


def _with_zeros_apart(
    trial: Trial, families: Any, n_jobs: int | None, tried: Sequence[StatisticCandidate], results: Comparisons
) -> Iterator[StatisticCandidate]:
    """Yield the best model of independent columns, if it is not far behind, with zeros of amounts apart."""
    independent = [one for one in tried if one.estimator.covariance == "diag"]
    if results.ratio(independent) <= _NEAR and (
        view := _zeros_apart(trial, families, results.best_of(independent).view)
    ):
        mixed = MixedClassifier(view.families, n_jobs=n_jobs)
        yield StatisticCandidate(mixed, FoldSums(mixed, view.schema, view.source), view)


def _logistic_with_zeros_apart(
    trial: Trial, families: Any, n_jobs: int | None, logistic: Sequence[LogisticCandidate], results: Comparisons
) -> Iterator[LogisticCandidate]:
    """Yield the best logistic model without products, unless it has very many slopes, with zeros of amounts apart."""
    linear = [one for one in logistic if one.fits.expansion == "linear"]
    if not linear or ((best := results.best_of(linear)).is_by_split and trial.exchangeable):
        return
    view = _zeros_apart(trial, families, best.fits.view)
    if view and _is_soon(trial, view):
        yield LogisticCandidate(LogisticFits(trial, view, n_jobs=n_jobs), START)


def _zeros_apart(trial: Trial, families: Any, view: View) -> View | None:
    """Return the view with zeros of amounts apart from the others, if many of them are zero."""
    amounts = _often_zero(trial) if families == "auto" else []
    if not 0 < len(amounts) <= _AMOUNTS:
        return None
    known = {} if view.families == "auto" else view.families
    return View.of(trial, families, known | dict.fromkeys(amounts, "zero_inflated"))


def _often_zero(trial: Trial) -> list[str]:
    """The names of columns of numbers that have many zeros, many other values, and nothing below zero."""
    found = []
    for name, family, column in zip(
        trial.schema.names, trial.schema.families, trial.source.table.columns(), strict=True
    ):
        own = looked_at(column)
        if own.kind in ("integer", "float") and family != DROP:
            x = own.floats()
            x = x[~np.isnan(x)]
            if x.min(initial=np.inf) == 0 and (x == 0).mean() >= _ZEROS and len(np.unique(x)) > FEW:
                found.append(name)
    return found


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
    n_cells = len(trial.code) * outputs * (len(families) + families.count("curve") + n_products / 10)
    return outputs * n_slopes <= _SLOPES and n_cells <= _CELLS
