"""`suffice demo`: a complete example on the penguins, from a table to a model and a report on it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import click

from ..storage import scheme_of
from .options import UsageError

FILES = ("birds.csv", "test.csv", "new.csv", "birds.safetensors", "birds.html")
NEXT = (
    "suffice evaluate birds.safetensors test.csv --prior uniform",
    "suffice predict birds.safetensors new.csv --outputs decision,posterior",
    "suffice explain birds.safetensors new.csv",
    "suffice outliers birds.safetensors test.csv --level 0.05",
    "suffice sample birds.safetensors -n 5 --class Gentoo",
    "suffice report birds.safetensors test.csv -o test.html",
    "suffice serve birds.safetensors",
)
_SHOWN = 6  # models and rows to show


@click.command(epilog="Example: suffice demo --out penguins")
@click.option("--out", "-o", default="suffice-demo", show_default=True, help="The folder for the files.")
@click.option("--force", is_flag=True, help="Overwrite files of an earlier demo.")
@click.option("--open", "show", is_flag=True, help="Open the report in a browser.")
def demo(out: str, force: bool, show: bool) -> None:
    """Run a complete example on the Palmer penguins.

    It reads the table, chooses a model, evaluates it, and writes the model and a report.
    """
    from rich.console import Console

    from .. import selection
    from .output import Output
    from .report import report_of_fit

    if scheme_of(out) is not None:
        raise UsageError(f"--out {out}: the demo writes to a folder of this machine; give its name")
    folder = Path(out)
    if not force and any((folder / name).exists() for name in FILES):
        raise UsageError(f"{folder} has files of an earlier demo; give --force to overwrite them, or --out another")
    console = Console(highlight=False)
    folder.mkdir(parents=True, exist_ok=True)
    train, test, model, page = write_tables(folder), folder / FILES[1], folder / FILES[3], folder / FILES[4]
    _heading(console, 1, "The table")
    show_table(console, penguin_table())

    _heading(console, 2, "Choose a model, by held-out rows")
    chosen: Any = selection.fit(str(train), "species", generative=True)
    show_choice(console, chosen.choice_)

    _heading(console, 3, "Evaluate it on birds that it has not seen")
    console.print(chosen.evaluate(str(test), "species").folded(console.width), markup=False)

    _heading(console, 4, "Decide with a prior of your own")
    show_prior(console, chosen, test)

    _heading(console, 5, "Save the model, and a report to read in a browser")
    chosen.save(model)
    report_of_fit(chosen, str(train), "species", None, Output(str(page), True, "report"))
    console.print(f"  {model}\n  {page}\n", markup=False, soft_wrap=True)
    console.print("[bold]Open the report:[/]", end=" ")
    console.print(page.resolve().as_uri(), markup=False, soft_wrap=True)

    console.print("\n[bold]Try next:[/]")
    for line in (f"cd {folder}", *NEXT):
        console.print(f"  {line}", markup=False, soft_wrap=True)
    if show:
        click.launch(page.resolve().as_uri())


def write_tables(folder: Path) -> Path:
    """Write the birds to fit, to test and to predict, and return the first file; birds were caught in pairs."""
    header, *lines = resources.files("suffice").joinpath("data/penguins.csv").read_text().splitlines(keepends=True)
    parts = {
        "birds": [line for i, line in enumerate(lines) if i % 6 >= 2],
        "test": [line for i, line in enumerate(lines) if i % 6 < 2],
        "new": lines[100:300:90],
    }
    for name, rows in parts.items():
        (folder / f"{name}.csv").write_text("".join([header, *rows]))
    return folder / "birds.csv"


def show_table(console: Any, birds: Any) -> None:
    """Show the first rows, and what all of them are."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in birds.column_names:
        table.add_column(name.replace("_mm", "").replace("_g", "").replace("_", " "), justify="left")
    for row in birds.slice(0, 4).to_pylist():
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    console.print(table)
    gaps = sum(column.null_count for column in birds.columns)
    console.print(
        f"\n{len(birds)} birds of three species, with numbers, categories and {gaps} missing values. Two thirds are "
        "for training."
    )


def show_choice(console: Any, choice: Any) -> None:
    """Show the best of the models that were tried, and the class frequencies."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("model", "log loss", "error", ""):
        table.add_column(heading, justify="right" if heading in ("log loss", "error") else "left", overflow="fold")
    for i, each in enumerate((*choice.candidates[:_SHOWN], choice.baseline)):
        mark = "chosen" if i == 0 else "baseline" if each is choice.baseline else ""
        name = escape(each.name)
        table.add_row(f"[bold]{name}[/]" if i == 0 else name, f"{each.log_loss:.4f}", f"{each.error:.2%}", mark)
    console.print(table)
    if more := len(choice.candidates) - _SHOWN:
        console.print(f"and {more} more" if more > 0 else "")
    console.print(f"\n{choice.summary}", markup=False)


def show_prior(console: Any, chosen: Any, test: Path) -> None:
    """Show a bird whose decision depends on the prior."""
    birds = penguin_table(test)
    pair = ("Adelie", "Chinstrap")
    llr = chosen.llr(birds, *pair)
    row = int(abs(llr - 2.0).argmin())
    console.print(f"Bird {row} of the test table: log-likelihood ratio of {pair[1]} over {pair[0]} {llr[row]:+.2f}.")
    one = birds.slice(row, 1)
    for where, share in (("both are equally common", 0.5), (f"99 of 100 are {pair[0]}", 0.01)):
        prior = {pair[0]: 1 - share, pair[1]: share, "Gentoo": 0.0}
        decided, probability = chosen.predict(one, prior).item(), chosen.predict_proba(one, prior)[0, 1]
        console.print(f"  Where {where}: P({pair[1]}) = {probability:.2f}, so decide for [bold]{decided}[/].")
    console.print("The model was not fitted again: it does not contain the prior.")


def penguin_table(path: Path | None = None) -> Any:
    """Return penguins with all columns, and nulls for missing values; without a path, all birds."""
    import pyarrow.csv as csv

    source = resources.files("suffice").joinpath("data/penguins.csv") if path is None else path
    with source.open("rb") as file:
        options = csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
        return csv.read_csv(file, convert_options=options)


def _heading(console: Any, number: int, title: str) -> None:
    console.print(f"\n[bold]{number}. {title}[/]\n")
