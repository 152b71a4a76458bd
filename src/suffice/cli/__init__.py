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

from ..errors import SufficeError, for_commands
from .options import StoppedError, UsageError

_FAILED, _WRONG_USAGE, _INTERRUPTED = 1, 2, 130  # exit codes
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
    "serve": "serve",
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
@click.pass_context
def app(ctx: click.Context) -> None:
    """Generative classifiers from sufficient statistics. One pass over your data suffices."""
    ctx.with_resource(for_commands())


def main() -> None:
    """Run the `suffice` command."""
    gc.set_threshold(100_000)  # imports make many objects that stay; to look for garbage among them takes its time
    sys.meta_path.insert(0, _WithoutPandas())
    warnings.showwarning = _warn
    raise SystemExit(_run())


def _run() -> int:
    """Run a command, and return its exit code; an error is one line on stderr."""
    try:
        return app.main(standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _failed("interrupted; no file was written or changed", _INTERRUPTED)
    except BrokenPipeError:  # the reader of the output has closed it, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except StoppedError as error:
        return _failed(error, _INTERRUPTED)
    except UsageError as error:
        return _failed(error, _WRONG_USAGE)
    except (SufficeError, OSError, ImportError) as error:
        return _failed(error, _FAILED)


def _failed(message: object, code: int) -> int:
    print(f"suffice: {_line(message)}", file=sys.stderr)
    return code


class _WithoutPandas(MetaPathFinder):
    """Hides pandas: pyarrow would import it at the first conversion, which takes longer than most commands."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:  # noqa: ARG002
        if fullname == "pandas":
            raise ModuleNotFoundError("commands work without pandas", name=fullname)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"suffice: warning: {_line(message)}", file=sys.stderr)


def _line(message: object) -> str:
    return " ".join(str(message).split())
