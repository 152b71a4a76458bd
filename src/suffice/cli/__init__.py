"""The command line."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from typing import Any

import typer

from ..errors import SufficeError
from .demo import demo
from .evaluate import evaluate
from .fit import fit
from .inspect import inspect
from .merge import forget, merge
from .predict import predict
from .sql import sql

app = typer.Typer(
    name="suffice",
    help="Generative classifiers from sufficient statistics. One pass over your data suffices.",
    no_args_is_help=True,
    add_completion=False,
)
_EXAMPLES: dict[Callable[..., None], str] = {
    demo: "suffice demo",
    fit: "suffice fit birds.csv -t species -o birds.safetensors",
    predict: "suffice predict birds.safetensors new.csv -o scores.parquet --prior uniform",
    evaluate: "suffice evaluate birds.safetensors test.csv -t species",
    inspect: "suffice inspect birds.safetensors",
    merge: "suffice merge north.safetensors south.safetensors -o both.safetensors",
    forget: "suffice forget birds.safetensors withdrawn.csv -t species -o rest.safetensors",
    sql: "suffice sql birds.safetensors birds --dialect duckdb --keep id --outputs decision",
}
for command, example in _EXAMPLES.items():
    app.command(epilog=f"Example: {example}")(command)


@app.callback()
def main_callback() -> None:
    """Generative classifiers from sufficient statistics. One pass over your data suffices."""


def main() -> None:
    """Run the `suffice` command."""
    sys.meta_path.insert(0, _WithoutPandas())
    warnings.showwarning = _warn
    try:
        app()
    except BrokenPipeError:  # the reader of the output has closed it, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except (SufficeError, OSError) as error:
        raise SystemExit(f"suffice: {_line(error)}") from None


class _WithoutPandas(MetaPathFinder):
    """Hides pandas: pyarrow would import it at the first conversion, which takes longer than most commands."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:  # noqa: ARG002
        if fullname == "pandas":
            raise ModuleNotFoundError("commands work without pandas", name=fullname)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"suffice: warning: {_line(message)}", file=sys.stderr)


def _line(message: object) -> str:
    return " ".join(str(message).split())
