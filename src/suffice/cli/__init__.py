"""The command line."""

from __future__ import annotations

import typer

from ..errors import SufficeError
from .demo import demo
from .fit import fit

app = typer.Typer(
    name="suffice",
    help="Generative classifiers from sufficient statistics. One pass over your data suffices.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(demo)
app.command()(fit)


@app.callback()
def main_callback() -> None:
    """Generative classifiers from sufficient statistics. One pass over your data suffices."""


def main() -> None:
    """The entry point of the `suffice` command."""
    try:
        app()
    except (SufficeError, OSError) as error:
        raise SystemExit(f"suffice: {error}") from None
