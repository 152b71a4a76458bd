"""`suffice demo`: the penguins, four models, a decision that changes with the prior, a whole table, the commands."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import resources, util
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_FEATURES = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
_MODELS = {
    "full": "quadratic discriminant analysis",
    "diag": "Gaussian naive Bayes",
    "tied": "linear discriminant analysis",
    "tied_diag": "naive Bayes with shared variances",
}


@click.command(epilog="Example: suffice demo")
def demo() -> None:
    """Show what suffice can do, with the Palmer penguins."""
    from rich.console import Console
    from rich.table import Table

    from ..estimators import GaussianClassifier

    console = Console()
    X, y = penguins()
    console.print(f"\n[bold]Palmer penguins[/]: {len(X)} birds with all four measurements, {len(set(y))} species\n")

    table = Table(title="Error rates: each bird is forgotten, then classified", title_justify="left")
    for heading in ("covariance", "also known as", "leave-one-out error", "training error"):
        table.add_column(heading, justify="left" if heading in ("covariance", "also known as") else "right")
    for covariance, name in _MODELS.items():
        clf = GaussianClassifier(covariance).fit(X, y)
        held_out = leave_one_out_error(clf, X, y)
        table.add_row(covariance, name, f"{held_out:.2%}", f"{np.mean(clf.predict(X) != y):.2%}")
    console.print(table)

    clf = GaussianClassifier("tied").fit(X, y)
    pair = ("Adelie", "Chinstrap")
    bird, llr = undecided(clf, X, y, pair)
    console.print("\n[bold]You choose the prior.[/] One bird with these measurements:")
    console.print("  " + ", ".join(f"{name} {value:g}" for name, value in zip(_FEATURES, bird, strict=True)))
    console.print(f"  log-likelihood ratio of {pair[1]} over {pair[0]}: {llr:+.2f}")
    for where, share in (("where both are equally common", 0.5), (f"where 99 of 100 are {pair[0]}", 0.01)):
        prior = {pair[0]: 1 - share, pair[1]: share, "Gentoo": 0.0}
        decided = clf.predict(bird[None], prior=prior).item()
        probability = clf.predict_proba(bird[None], prior=prior)[0, list(clf.classes_).index(pair[1])]
        console.print(f"  {where}: P({pair[1]}) = {probability:.2f}, so decide for [bold]{decided}[/]")
    console.print("The model was not fitted again: it does not contain the prior.\n")
    whole_table(console)
    console.print("\n[bold]The command line[/], in a temporary directory")
    with _elsewhere():
        commands(console)


def whole_table(console: Any) -> None:
    """Fit all birds and all columns as they are, and explain a decision."""
    from rich.table import Table

    from ..estimators import MixedClassifier

    birds = penguin_table()
    clf = MixedClassifier().fit(birds, "species")
    X, y = birds.drop_columns("species"), birds.column("species").to_numpy()
    console.print(
        f"[bold]The whole table[/]: all {len(y)} birds, with categories and missing values as they are; "
        f"training error {np.mean(clf.predict(X) != y):.2%}"
    )
    table = Table(title="Why the first bird is Adelie rather than Gentoo", title_justify="left")
    for heading in ("column", "family", "value", "contribution to the log-likelihood ratio"):
        table.add_column(heading, justify="right" if heading.startswith("contribution") else "left")
    families = dict(zip(clf.schema_.names, clf.schema_.families, strict=True))
    for cell in clf.explain(X.slice(0, 1), "Gentoo", "Adelie", tidy=True).to_pylist():
        table.add_row(cell["column"], families[cell["column"]], cell["value"], f"{cell['llr']:+.2f}")
    console.print(table)


# The commands to show: models of two sites, and a few new rows.
_COMMANDS = (
    "fit north.csv -t species --model mixed -o north.safetensors",
    "evaluate north.safetensors south.csv -t species",
    "predict north.safetensors new.csv --prior uniform --keep bill_length_mm,sex --outputs decision,llr",
    "fit south.csv -t species --model mixed -o south.safetensors",
    "merge north.safetensors south.safetensors -o both.safetensors",
    "forget both.safetensors new.csv -t species -o rest.safetensors",
    "inspect rest.safetensors",
    "sql rest.safetensors birds --dialect duckdb --outputs decision",
)
_LINES = 9  # of the output of each command to show


def commands(console: Any) -> None:
    """Run the commands on files in the current directory, and show each with its output."""
    from . import app

    lines = resources.files("suffice").joinpath("data/penguins.csv").read_text().splitlines(keepends=True)
    pairs = lines[1::4] + lines[2::4], lines[3::4] + lines[4::4]  # birds were caught in pairs
    for name, rows in (("north", pairs[0]), ("south", pairs[1]), ("new", lines[100::90])):
        Path(f"{name}.csv").write_text("".join([lines[0], *rows]))
    for command in _COMMANDS:
        if command.startswith("sql") and util.find_spec("sqlalchemy") is None:
            console.print("\nsuffice sql prints a model as a SELECT; it needs: pip install suffice\\[sql]")
            continue
        output = io.TextIOWrapper(io.BytesIO(), "utf-8")
        with redirect_stdout(output):
            app(command.split(), standalone_mode=False)
        output.seek(0)
        said = output.read().splitlines()
        console.print(f"\n[bold]$ suffice {command}[/]", highlight=False, soft_wrap=True)
        for line in said[:_LINES]:
            console.print(line, markup=False, highlight=False, no_wrap=True, overflow="ellipsis")
        if len(said) > _LINES:
            console.print(f"... and {len(said) - _LINES} more lines")


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Change to a temporary directory."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            yield
        finally:
            os.chdir(here)


def penguins() -> tuple[Array, Array]:
    """Return measurements (n, 4) and species (n,) of the penguins without missing values."""
    table = penguin_table().select(["species", *_FEATURES]).drop_null()
    X = np.column_stack([table.column(name).to_numpy() for name in _FEATURES]).astype(np.float64)
    return X, np.array(table.column("species").to_pylist())


def penguin_table() -> Any:
    """Return all penguins and all columns, with nulls for missing values."""
    import pyarrow.csv as csv

    with resources.files("suffice").joinpath("data/penguins.csv").open("rb") as file:
        options = csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
        return csv.read_csv(file, convert_options=options)


def leave_one_out_error(clf: Any, X: Array, y: Array) -> float:
    """Return the error rate on rows that are forgotten in turn; clf ends up as it was."""
    wrong = 0
    for i in range(len(X)):
        row, label = X[i : i + 1], y[i : i + 1]
        wrong += clf.forget(row, label).predict(row).item() != label.item()
        clf.partial_fit(row, label)
    return wrong / len(X)


def undecided(clf: Any, X: Array, y: Array, pair: tuple[str, str]) -> tuple[Array, float]:
    """Return a bird of the second species with moderate evidence for it, and its log-likelihood ratio."""
    llr = clf.llr(X, *pair)
    candidates = np.flatnonzero(y == pair[1])
    chosen = candidates[np.abs(llr[candidates] - 2.0).argmin()]
    return X[chosen], float(llr[chosen])
