"""The automatic choice against scikit-learn's Gaussian classifiers, on real tables: ``python -m benchmarks.tables``.

Everybody learns from the same nine tenths of a table and is judged by the rest, ten times. Peers have their default
settings; for them, categories become indicators, and missing cells the mean or the most frequent value of the training
rows. Where a peer cannot be fitted, the class frequencies of the training rows stand in for it.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import suffice

from .datasets import TABLES, TARGET

TASK = "real tables, automatic choice"
FOLDS = 10
LEAST = 1e-6  # the probability that a class is given at least, by everybody: no row costs more than 13.8 nats
PEERS = {
    "GaussianNB": GaussianNB(),
    "LDA": LinearDiscriminantAnalysis(),
    "QDA": QuadraticDiscriminantAnalysis(),
}
NAMES = ("suffice.fit", *PEERS)


@dataclass(frozen=True)
class Result:
    """What the contestants, in the order of NAMES, did on one table."""

    name: str
    shape: tuple[int, int, int]  # rows, columns, classes
    log_cost: np.ndarray  # mean -log P(true class | x), in nats
    error: np.ndarray
    failures: np.ndarray  # folds in which a contestant could not be fitted


def encoded(model: Any) -> Any:
    """A peer behind what it needs to read a table."""
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False),
    )
    numbers = make_column_selector(dtype_include="number")
    others = make_column_selector(dtype_exclude="number")
    return make_pipeline(make_column_transformer((SimpleImputer(), numbers), (words, others)), clone(model))


def posteriors(name: str, train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    X, y = train.drop(columns=TARGET), train[TARGET]
    model = suffice.fit(train, TARGET) if name == NAMES[0] else encoded(PEERS[name]).fit(X, y)
    return model.predict_proba(test.drop(columns=TARGET))


def judged(name: str) -> Result:
    frame = TABLES[name]()
    classes, code = np.unique(frame[TARGET], return_inverse=True)
    found = np.empty((len(NAMES), len(frame), len(classes)))
    failures = np.zeros(len(NAMES), int)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(frame, code):
        for i, contestant in enumerate(NAMES):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found[i, test] = posteriors(contestant, frame.iloc[train], frame.iloc[test])
            except np.linalg.LinAlgError:
                found[i, test] = np.bincount(code[train]) / len(train)
                failures[i] += 1
    own = found[:, np.arange(len(code)), code]
    log_cost, error = -np.log(np.maximum(own, LEAST)).mean(axis=1), (found.argmax(axis=2) != code).mean(axis=1)
    return Result(name, (*frame.drop(columns=TARGET).shape, len(classes)), log_cost, error, failures)


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Of (tables, contestants): 1 is the best, and contestants that agree to nine digits share their ranks."""
    return rankdata(values.round(9), axis=1).mean(axis=0)


def report() -> Table:
    """Judge everybody on every table."""
    for load in TABLES.values():
        load()  # downloads are for one process alone
    results = Parallel(-1)(delayed(judged)(name) for name in TABLES)
    table = Table(
        title=f"{len(results)} {TASK}, {FOLDS} folds of held-out rows",
        caption=f"log loss in nats, of probabilities not below {LEAST:g}; † could not be fitted in some folds, where "
        "class frequencies are used instead",
    )
    for column in (
        "table",
        "rows",
        "columns",
        "classes",
        *(f"log loss\n{n}" for n in NAMES),
        *(f"error %\n{n}" for n in NAMES),
    ):
        table.add_column(column, justify="left" if column == "table" else "right", no_wrap=True)
    for one in results:
        marks = ["†" if n else "" for n in one.failures]
        costs = [f"{value:.3f}{mark}" for value, mark in zip(one.log_cost, marks, strict=True)]
        errors = [f"{100 * value:.2f}{mark}" for value, mark in zip(one.error, marks, strict=True)]
        table.add_row(one.name, *map(str, one.shape), *costs, *errors)
    table.add_section()
    whole = [one for one in results if not one.failures.any()]
    for title, some in (("mean rank", results), (f"without †: {len(whole)} tables", whole)):
        ranks = [mean_ranks(np.array([getattr(one, what) for one in some])) for what in ("log_cost", "error")]
        table.add_row(title, "", "", "", *(f"[bold]{rank:.2f}[/]" for rank in np.concatenate(ranks)))
    return table


if __name__ == "__main__":
    Console(width=None if sys.stdout.isatty() else 150).print(report())
