"""The automatic model: sensible families and structures, judged on held-out rows, and the table that says why."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ..errors import DataError, SufficeWarning, listed
from ..labels import SoftLabels, encode, positions
from ..schema import Schema, looked_at
from ..sources import in_memory
from ..sources.arrays import ArraySource
from .base import GenerativeClassifier
from .gaussian import GaussianClassifier
from .mixed import MixedClassifier
from .scorers import ResultScorer
from .search import OnePassSearchCV
from .tables import given_labels

Array = NDArray[Any]

ALPHAS = (0.1, 1.0, 10.0)
NUMBERS = {"integer": "gaussian", "float": "gaussian"}  # families where no number is taken for a category or a count
MOST = -np.log(1e-6)  # what a row can cost: one that was thought impossible must not decide alone
_SMALL = 1000  # rows, below which ten folds are used instead of five
_ENTRIES = 1 << 26  # of the covariances of all classes and folds; beyond, they are kept diagonal


@dataclass(frozen=True)
class Candidate:
    """A model that was tried, and what it cost on rows that it had not seen."""

    model: GenerativeClassifier
    log_cost: float  # the mean of -log P(true class | x), in nats
    error: float  # the share of wrong decisions

    @property
    def name(self) -> str:
        return " ".join(repr(self.model).split())


@dataclass(frozen=True)
class Choice:
    """What was tried, best first: the first one was chosen. Prints as a table."""

    candidates: tuple[Candidate, ...]
    folds: int

    def rows(self) -> list[dict[str, Any]]:
        """The table as records, for instance for a data frame."""
        return [
            {"candidate": c.name, "log_cost": c.log_cost, "error": c.error, "chosen": c is self.candidates[0]}
            for c in self.candidates
        ]

    def _cells(self) -> Iterator[tuple[str, str, str, str]]:
        yield "candidate", "log cost", "error", ""
        for row in self.rows():
            chosen = "chosen" if row["chosen"] else ""
            yield row["candidate"], f"{row['log_cost']:.4f}", f"{100 * row['error']:.2f} %", chosen

    def __str__(self) -> str:
        rows = list(self._cells())
        wide = max(len(name) for name, *_ in rows)
        lines = (f"{name:<{wide}}  {cost:>8}  {error:>8}  {chosen}".rstrip() for name, cost, error, chosen in rows)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._cells())
        return "<table><tr>" + "</tr><tr>".join([head.replace("td>", "th>"), *body]) + "</tr></table>"


def fit(
    data: Any, target: Any, *, families: Any = "auto", folds: int | None = None, n_jobs: int | None = None
) -> GenerativeClassifier:
    """The model for a table: what suits it best of the sensible families and structures, fitted on all rows.

    Every candidate is judged by the log cost of its posteriors on held-out rows. It comes from the sum of the other
    folds' statistics (see `OnePassSearchCV`), and not from their rows. `choice_` of the model is the table of what was
    tried.

    Parameters
    ----------
    data : anything tabular, (n, d), with missing cells where there are some; files are read into memory
    target : the name of the column with the labels, or the labels (n,)
    families : as of MixedClassifier; "auto" tries what types suggest, and numbers as nothing but numbers
    folds : of held-out rows; None takes ten for small tables and five for those of 1000 rows and more
    n_jobs : threads, as of the classifiers

    Returns
    -------
    GaussianClassifier or MixedClassifier

    Examples
    --------
    >>> import suffice
    >>> from sklearn.datasets import load_iris
    >>> clf = suffice.fit(*load_iris(return_X_y=True))
    >>> clf.choice_
    candidate                                               log cost     error
    GaussianClassifier(covariance='tied', predictive=True)    0.0607    2.00 %  chosen
    GaussianClassifier(predictive=True)                       0.0684    3.33 %
    GaussianClassifier(covariance='diag', predictive=True)    0.1349    4.67 %
    """
    if folds is not None and not (isinstance(folds, Integral) and folds >= 2):
        raise DataError(f"folds={folds!r} must be a whole number from 2 on")
    source = in_memory(data, None if target is None else given_labels(target, fit), n_jobs=n_jobs)
    classes, code = encode(_labels(source))
    if len(classes) < 2:
        raise DataError(f"there is nothing to tell apart: all rows are of class {listed(classes)}")
    k = min(int(folds or (10 if len(code) < _SMALL else 5)), len(code))
    models = [model.set_params(n_jobs=n_jobs) for model in _candidates(source, families, len(classes) * k)]
    search = OnePassSearchCV(
        Pipeline([("model", models[0])]),
        {"model": models},
        scoring=_HeldOut(),
        refit=False,
        cv=_splits(code, k),
        n_jobs=n_jobs,
        error_score="raise",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SufficeWarning)  # of what is only tried
        results = search.fit(source.frame, source.y).cv_results_
    tried = map(Candidate, models, -results["mean_test_log_cost"], results["mean_test_error"])
    best = sorted(tried, key=lambda each: each.log_cost)
    model: GenerativeClassifier = clone(best[0].model).fit(source.frame, source.y)
    model.choice_ = Choice(tuple(best), k)
    return model


def _labels(source: ArraySource) -> Array:
    if source.n_rows == 0:
        raise DataError("the table has no rows to learn from")
    if source.y is None:
        raise DataError("the automatic choice needs a target: the name of the column with the labels, or the labels")
    if isinstance(source.y, SoftLabels):
        raise DataError("the automatic choice takes labels, not soft ones")
    return source.y


def _candidates(source: ArraySource, families: Any, statistics: int) -> Iterator[GenerativeClassifier]:
    """The models worth trying, simple ones first, where so many statistics are kept."""
    columns = [looked_at(column) for column in source.table.columns()]
    numbers = [column for column in columns if column.kind in ("integer", "float", "boolean")]
    is_complete = not any(np.isnan(column.floats()).any() for column in numbers)
    is_narrow = statistics * source.n_features**2 <= _ENTRIES
    structures = ("diag", "tied", "full") if is_complete and is_narrow else ("tied_diag", "diag")
    gaussian = families == "auto" and is_complete and len(numbers) == len(columns)
    if gaussian:
        yield from (GaussianClassifier(structure, predictive=True) for structure in structures)
    known = set()
    for view in ("auto", NUMBERS) if families == "auto" else (families,):
        schema = Schema.of(source.table, view, source.frame).families
        if schema in known or (gaussian and set(schema) == {"gaussian"}):
            continue
        known.add(schema)
        for structure in structures if schema.count("gaussian") > 1 else structures[:1]:
            for alpha in ALPHAS if set(schema) - {"gaussian", "drop"} else (1.0,):
                yield MixedClassifier(view, alpha, structure)


def _splits(code: Array, k: int) -> list[tuple[Array, Array]]:
    """Training and held-out rows of each fold, with every class dealt out evenly, however small it is."""
    shuffled = np.random.default_rng(0).permutation(len(code))
    dealt = shuffled[np.argsort(code[shuffled], kind="stable")]
    fold = np.empty_like(code)
    fold[dealt] = np.arange(len(code)) % k
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(k)]


class _HeldOut(ResultScorer):
    """What a search keeps of rows that a model has not seen: the more the better."""

    def __call__(self, model: Any, X: Any, y: Any) -> dict[str, float]:
        log_posterior, place = model.predict_log_proba(X), positions(y, model.classes_)
        own = np.where(place < 0, -np.inf, log_posterior[np.arange(len(place)), place])
        return {"log_cost": np.maximum(own, -MOST).mean(), "error": (log_posterior.argmax(axis=1) != place).mean()}
