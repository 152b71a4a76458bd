"""Race every case and print the table."""

from __future__ import annotations

import os
import pkgutil
import re
import sys
from importlib import import_module

import click
import numpy as np
import sklearn
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import suffice
from suffice import kernels

from . import tables
from .case import Call, Case, Goal, Grade
from .memory import extra_memory
from .names import changed_import
from .timing import race

MARKS = {Grade.AIM: "[green]★[/]", Grade.MUST: "[yellow]✓[/]", Grade.MISSED: "[red]✗[/]"}
IMPORT = "changed\nimport only"
COLUMNS = (
    "ours ms",
    "peers ms",
    "ratio",
    IMPORT,
    "must",
    "aim",
    "ref. ms",
    "ref. ratio",
    "extra MB",
    "limits",
    "reached",
)
CAPTION = (
    "ratio: time of the fastest peer / our time; ref.: the same with the reference kernels\n"
    "changed import only: the same for the peer's own call, with the class that has its name in suffice.sklearn\n"
    "limits: our time / time of X.sum(), of the bare matrix product or of reading; extra MB: beyond input and output\n"
    f"{MARKS[Grade.AIM]} target reached  {MARKS[Grade.MUST]} requirement met  {MARKS[Grade.MISSED]} missed; "
    "reached: the worst mark of the row"
)


@click.command()
@click.option("--quick", is_flag=True, help="Run each comparison once, for rough figures.")
@click.option("--rows", default="", help="A regular expression that selects data and tasks.")
def main(quick: bool, rows: str) -> None:
    """Compare the speed of suffice with its peers on this machine, and evaluate its automatic choice on real tables."""
    cases = [case for case in all_cases() if re.search(rows, f"{case.data} {case.task}")]
    load = f", load {os.getloadavg()[0]:.1f} before" if hasattr(os, "getloadavg") else ""
    table = Table(
        title=f"suffice {suffice.__version__} ({kernels.active_name}), scikit-learn {sklearn.__version__}, "
        f"NumPy {np.__version__}, {os.cpu_count()} processors{load}",
        caption=CAPTION,
    )
    table.add_column("task", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    data = ""
    # Refreshed only between the comparisons, because a drawing thread would disturb the timing.
    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as progress:
        for case in progress.track(cases, description="Comparing"):
            if case.data != data:
                data = case.data
                table.add_section()
                table.add_row(f"[bold]{data}[/]")
            table.add_row(*row(case, *((1, 0) if quick else (3, 15))))
    # A file or a pipe has no width of its own.
    console = Console(width=None if sys.stdout.isatty() else 150)
    if cases:
        console.print(table)
    if re.search(rows, tables.TASK):
        console.print(tables.report())


def all_cases() -> list[Case]:
    modules = [info.name for info in pkgutil.iter_modules([os.path.dirname(__file__)]) if info.name != "__main__"]
    return [case for name in modules for case in getattr(import_module(f".{name}", __package__), "CASES", [])]


def row(case: Case, rounds: int, seconds: float) -> list[str]:
    """Measure a case, and say it in the columns of the table."""
    data = case.load()
    ours = case.ours(data)
    calls = {"ours": ours, **{name: prepare(data) for name, prepare in case.peers.items()}}
    if case.reference:
        calls["reference"] = with_reference(ours)
    if case.limit:
        calls["limit"] = case.limit(data)
    if changed := changed_import(case.peers.values()):
        calls["import"] = changed(data)
    time = race(calls, case.peers, case.rounds or rounds, 0 if case.rounds else seconds)

    peers = sorted((time[name], name) for name in case.peers)
    grades: list[Grade] = []

    def graded(value: float | None, goal: Goal | None, unit: str = "") -> str:
        if value is None:
            return ""
        if goal is None:
            return f"{number(value)}{unit}"
        grades.append(goal.grade(value))
        return f"{number(value)}{unit} {MARKS[grades[-1]]}"

    fastest, reference, limit = peers[0][0], time.get("reference"), time.get("limit")
    return [
        f"  {case.task}",
        number(time["ours"]),
        "\n".join(f"{name} {number(ms)}" for ms, name in peers),
        graded(fastest / time["ours"], case.ratio, "x"),
        f"{number(fastest / time['import'])}x" if "import" in time else "",
        f"{number(case.ratio.must)}x",
        f"{number(case.ratio.aim)}x",
        number(reference) if reference else "",
        graded(reference and fastest / reference, case.reference, "x"),
        graded(extra_memory(case) if case.memory else None, case.memory),
        graded(limit and time["ours"] / limit, case.distance, "x"),
        min(grades).name.lower(),
    ]


def with_reference(call: Call) -> Call:
    def slower() -> None:
        with kernels.using("reference"):
            call()

    return slower


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
