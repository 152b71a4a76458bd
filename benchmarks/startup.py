"""Commands in a fresh process, on a small file, against the import of one module of scikit-learn."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from functools import cache, partial
from importlib import resources
from pathlib import Path

from sklearn.datasets import load_iris

from suffice import GaussianClassifier, MixedClassifier

from .case import Call, Case, Goal

COMMANDS = {
    "predict": "birds.safetensors birds.csv",
    "predict, full covariances": "iris.safetensors iris.csv",
    "evaluate": "birds.safetensors birds.csv -t species",
    "inspect": "birds.safetensors",
    "merge": "birds.safetensors birds.safetensors -o both.safetensors --force",
    "forget": "birds.safetensors few.csv -t species -o rest.safetensors --force",
    "sql": "birds.safetensors birds",
    "sample": "birds.safetensors -n 10",
    "impute": "birds.safetensors few.csv",
    "explain": "birds.safetensors few.csv",
    "outliers": "birds.safetensors birds.csv",
}
RUN = "import sys; from suffice.cli import main; sys.argv = ['suffice', *sys.argv[1:]]; main()"


@cache
def folder() -> Path:
    """A folder with a table, a part of it, and its model. It is gone when this process ends."""
    home = tempfile.TemporaryDirectory()
    atexit.register(home.cleanup)
    path = Path(home.name)
    lines = resources.files("suffice").joinpath("data/penguins.csv").read_text().splitlines(keepends=True)
    (path / "birds.csv").write_text("".join(lines))
    (path / "few.csv").write_text("".join([lines[0], *lines[1::50]]))
    MixedClassifier().fit(str(path / "birds.csv"), "species").save(path / "birds.safetensors")
    iris = load_iris(as_frame=True)
    iris.frame.to_csv(path / "iris.csv", index=False)
    GaussianClassifier("full").fit(iris.data, iris.target).save(path / "iris.safetensors")
    return path


def command(name: str, path: Path) -> Call:
    return process(path, RUN, name.partition(",")[0], *COMMANDS[name].split())


def imported(path: Path) -> Call:
    return process(path, "import sklearn.naive_bayes")


def process(path: Path, code: str, *arguments: str) -> Call:
    """A process that finds all modules compiled, as those of installed packages are."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = partial(subprocess.run, cwd=path, env=environment, check=True, capture_output=True)
    return partial(run, [sys.executable, "-c", code, *arguments])


CASES = [
    Case(
        data="penguins and iris, a fresh process",
        task=f"suffice {name}",
        load=folder,
        ours=partial(command, name),
        peers={"import sklearn": imported},
        ratio=Goal(3, 4),
        reference=None,
        memory=None,
    )
    for name in COMMANDS
]
