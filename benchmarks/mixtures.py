"""Mixtures against scikit-learn, mclust, pomegranate and StepMix: the same start, and the same number of iterations.

Peers that are not installed are left out: pomegranate and StepMix are in the extra "bench", mclust is a package of R.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from suffice import MixtureModel

from .case import Call, Case, Goal, Prepare
from .discrete import codes
from .files import only_read, written
from .gaussian import blobs

Array = NDArray[Any]
Data = tuple[Array, Array]  # rows (n, d) and the responsibilities (n, k) to start from

ITERATIONS = 5
FEW = 2  # where those of a peer take many seconds


def random_start(n: int, k: int) -> Array:
    """What scikit-learn and StepMix start from with init_params="random" and random_state=0."""
    share = np.random.RandomState(0).uniform(size=(n, k))
    share /= share.sum(axis=1, keepdims=True)
    return share


@lru_cache(maxsize=1)
def numbers(n: int, d: int, k: int) -> Data:
    return blobs(n, d, k)[0], random_start(n, k)


@lru_cache(maxsize=1)
def answers(k: int = 8) -> Data:
    X = codes()[0]
    return X, random_start(len(X), k)


def quiet(fit: Call) -> Call:
    """Without the warning that a few iterations are not enough."""

    def call() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return fit()

    return call


def ours(covariance: str, data: Data) -> Call:
    X, start = data
    model = MixtureModel(start.shape[1], covariance, init=start, tol=0, max_iter=ITERATIONS)
    return quiet(lambda: model.fit(X).lower_bound_)


def scikit_learn(covariance: str, data: Data) -> Call:
    X, start = data
    choices = {"init_params": "random", "random_state": 0, "tol": 0, "max_iter": ITERATIONS}
    return quiet(partial(GaussianMixture(start.shape[1], covariance_type=covariance, **choices).fit, X))


# R is started once, and reads the data once; then it fits as often as it is asked to.
R_SCRIPT = """
suppressMessages(library(mclust))
args <- commandArgs(TRUE); n <- as.integer(args[2]); d <- as.integer(args[3]); k <- as.integer(args[4])
values <- readBin(args[1], "double", n * (d + k))
X <- matrix(values[1:(n * d)], n); z <- matrix(values[-(1:(n * d))], n)
control <- emControl(tol = c(0, 0), itmax = rep(as.integer(args[6]), 2))
input <- file("stdin", "r")
while (length(readLines(input, 1))) {
    cat(format(suppressWarnings(me(X, args[5], z, control = control))$loglik, digits = 17), "\\n"); flush(stdout())
}
"""


def mclust(name: str, covariance: str, data: Data) -> Call:
    X, start = data
    with tempfile.NamedTemporaryFile(suffix=".bin", delete=False) as file:
        np.concatenate([X.T.ravel(), start.T.ravel()]).tofile(file)
    shape = map(str, (*X.shape, start.shape[1]))
    command = ["Rscript", "-e", R_SCRIPT, file.name, *shape, name, str(ITERATIONS + 1)]  # the start counts as one
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    requests, answers = process.stdin, process.stdout

    def call() -> float:
        requests.write("\n")
        requests.flush()
        return float(answers.readline()) / len(X)

    np.testing.assert_allclose(call(), ours(covariance, data)(), rtol=1e-6, err_msg="the log-likelihoods differ")
    Path(file.name).unlink()
    return call


def our_classes(data: Data) -> Call:
    X, start = data
    families = dict.fromkeys(range(X.shape[1]), "categorical")
    choices = {"init": start, "tol": 0, "max_iter": FEW, "alpha": 0.0}
    model = MixtureModel(start.shape[1], families=families, **choices)
    return quiet(lambda: model.fit(X).lower_bound_)


def pomegranate(data: Data) -> Call:
    import torch
    from pomegranate.distributions import Categorical
    from pomegranate.gmm import GeneralMixtureModel

    X, start = data
    values = [(v == X).T.astype(np.float64) @ start / start.sum(axis=0) for v in range(X.max() + 1)]
    probability = np.stack(values).transpose(2, 1, 0)  # of class, column, value
    rows = torch.from_numpy(X)

    def call() -> None:
        parts = [Categorical(torch.tensor(own, dtype=torch.float32)) for own in probability]
        GeneralMixtureModel(parts, max_iter=FEW, tol=-float("inf")).fit(rows)

    return call


def stepmix(data: Data) -> Call:
    from stepmix.stepmix import StepMix

    X, start = data
    choices = {"max_iter": FEW, "abs_tol": 0, "rel_tol": 0, "random_state": 0, "progress_bar": 0}
    return quiet(partial(StepMix(start.shape[1], measurement="categorical", **choices).fit, X))


ROWS = 2_000_000


def fit_file(path: Path) -> Call:
    choices = {"families": {"label": "drop"}, "n_init": 1, "tol": 0, "max_iter": ITERATIONS, "random_state": 0}
    return quiet(partial(MixtureModel(8, "diag", **choices).fit, path))


def read_as_often(path: Path) -> Call:
    """A fit reads the rows once for each iteration, and once for the log-likelihood after the last one."""
    read = only_read(path)
    return lambda: [read() for _ in range(ITERATIONS + 1)]


def gaussian_case(n: int, d: int, k: int, covariance: str, peers: dict[str, Prepare], goal: Goal) -> Case:
    return Case(
        data=f"{n:_} x {d}, {k} components".replace("_", " "),
        task=f"mixture, {covariance}, {ITERATIONS} iterations",
        load=partial(numbers, n, d, k),
        ours=partial(ours, covariance),
        peers=peers,
        ratio=goal,
        reference=None,
        rounds=3,
    )


MCLUST = {"full": "VVV", "diag": "VVI", "tied": "EEE", "spherical": "VII", "tied_diag": "EEI", "tied_spherical": "EII"}
LATENT = {"pomegranate": pomegranate} if find_spec("pomegranate") else {}
LATENT |= {"StepMix": stepmix} if find_spec("stepmix") else {}


def has_mclust() -> bool:
    command = ["Rscript", "-e", "quit(status = !requireNamespace('mclust', quietly = TRUE))"]
    return shutil.which("Rscript") is not None and not subprocess.run(command, check=False).returncode


CASES = [
    *(
        gaussian_case(500_000, 16, 8, covariance, {"GaussianMixture": partial(scikit_learn, covariance)}, goal)
        for covariance, goal in (("full", Goal(3, 8)), ("diag", Goal(4, 10)))
    ),
    *(
        gaussian_case(50_000, 8, 4, covariance, {f"mclust {name}": partial(mclust, name, covariance)}, Goal(1, 4))
        for covariance, name in (MCLUST.items() if has_mclust() else ())
    ),
    Case(
        f"{ROWS:_} x 32, Parquet".replace("_", " "),
        f"mixture from a file, diag, {ITERATIONS} iterations",
        partial(written, ROWS),
        fit_file,
        {"only reading, as often": read_as_often},
        Goal(1 / 3, 1 / 1.5),
        reference=None,
        memory=Goal(600, 300),
        rounds=3,
    ),
    *(
        Case(
            "codes, 1 000 000 x 20, 8 components",
            f"latent classes, {FEW} iterations",
            answers,
            our_classes,
            {name: peer},
            Goal(3, 10),
            reference=None,
            rounds=1,
        )
        for name, peer in LATENT.items()
    ),
]
