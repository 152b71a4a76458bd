"""The command line."""

from __future__ import annotations

import typer

from .demo import demo

app = typer.Typer(
    name="suffice",
    help="Generative classifiers from sufficient statistics. One pass over your data suffices.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(demo)


@app.callback()
def main_callback() -> None:
    """Generative classifiers from sufficient statistics. One pass over your data suffices."""


def main() -> None:
    """The entry point of the `suffice` command."""
    app()
