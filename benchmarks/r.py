"""The models of R's MASS, e1071 and mclust next to ours, number by number: ``python -m benchmarks.r``.

It needs R with these packages (Debian: r-base-core, r-cran-mass, r-cran-e1071 and r-cran-mclust). R divides by n - 1
where we divide by n: `models.R` asks for the divisor n, or corrects standard deviations. `ddof=1` divides as R does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from suffice import GaussianClassifier

MOST = 1e-10  # that a posterior probability may differ
EDDA = {"VVV": "full", "EEE": "tied", "VVI": "diag", "EEI": "tied_diag", "VII": "spherical", "EII": "tied_spherical"}
Ours = Callable[[np.ndarray, np.ndarray], np.ndarray]


def posterior(covariance: str, ddof: int = 0) -> Ours:
    """Our posterior probabilities of the training rows."""
    return lambda X, y: np.asarray(GaussianClassifier(covariance, ddof=ddof).fit(X, y).predict_proba(X))


def left_out(covariance: str) -> Ours:
    """Those of each row by the model of all others; R keeps the prior of all rows."""

    def found(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        return GaussianClassifier(covariance).leave_one_out_proba(X, y, prior=np.bincount(y) / len(y))

    return found


OURS: dict[str, Ours] = {
    "lda": posterior("tied"),
    "lda CV": left_out("tied"),
    "qda": posterior("full"),
    "qda CV": left_out("full"),
    "naiveBayes": posterior("diag"),
    "lda, divisor n - k": posterior("tied", ddof=1),
    "qda, divisor n - 1": posterior("full", ddof=1),
    "naiveBayes, divisor n - 1": posterior("diag", ddof=1),
    **{f"EDDA {name}": posterior(covariance) for name, covariance in EDDA.items()},
}


def datasets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rows and labels by name; of the last one, a tenth of the cells is missing."""
    found = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    X, y = load_breast_cancer(return_X_y=True)
    found["breast cancer, 10 columns"] = X[:, :10], y
    X, y = found["wine"]
    missing = np.random.default_rng(0).random(X.shape) < 0.1
    return found | {"wine with missing cells": (np.where(missing, np.nan, X), y)}


def theirs(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """The posterior probabilities of R's models, by the name of the model."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.csv")
        pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y).to_csv(rows, index=False, na_rep="NA")
        script = Path(__file__).with_name("models.R")
        subprocess.run(["Rscript", str(script), str(rows), folder], check=True, stdout=sys.stderr)
        files = sorted(Path(folder).glob("*.csv"))
        return {each.stem: np.loadtxt(each, delimiter=",", ndmin=2) for each in files if each != rows}


@click.command()
def main() -> None:
    """Compare posterior probabilities with those of R, and fail if any differs by more than 1e-10."""
    if shutil.which("Rscript") is None:
        raise click.ClickException("there is no Rscript; install R, MASS, e1071 and mclust")
    table = Table(title="The largest difference of a posterior probability")
    for name in ("data", "model of R", "difference"):
        table.add_column(name)
    worst = 0.0
    for data, (X, y) in datasets().items():
        table.add_section()
        for model, expected in theirs(X, y).items():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                difference = float(np.abs(OURS[model](X, y) - expected).max())
            worst = max(worst, difference)
            table.add_row(data, model, f"{difference:.1e}" + " ✗" * (difference > MOST))
    Console().print(table)
    sys.exit(int(worst > MOST))


if __name__ == "__main__":
    main()
