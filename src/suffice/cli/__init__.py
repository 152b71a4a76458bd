"""The command line."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from importlib import import_module
from importlib.abc import MetaPathFinder
from typing import Any

import click

from ..errors import SufficeError

_COMMANDS = {
    "demo": "demo",
    "fit": "fit",
    "predict": "predict",
    "evaluate": "evaluate",
    "inspect": "inspect",
    "cluster": "cluster",
    "merge": "merge",
    "forget": "merge",
    "sql": "sql",
}


class _Commands(click.Group):
    """The commands by name. The module of a command is imported when the command is used, so that others start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f".{_COMMANDS[cmd_name]}", __name__), cmd_name)
        return command


@click.command(cls=_Commands, name="suffice")
@click.version_option(package_name="suffice", message="suffice %(version)s")
def app() -> None:
    """Generative classifiers from sufficient statistics. One pass over your data suffices."""


def main() -> None:
    """Run the `suffice` command."""
    gc.set_threshold(100_000)  # imports make many objects that stay; to look for garbage among them takes its time
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
