"""The command line. Each command has a module, which is imported when the command is used."""

from __future__ import annotations

import gc
import os
import sys
import traceback
import warnings
from importlib import import_module
from typing import Any

import click

from ..errors import DecisionError, ParameterError, SufficeError, alike, for_commands
from ..storage import without_credentials_in
from .options import StoppedError, UsageError

_FAILED, _WRONG_USAGE, _DEFECT, _INTERRUPTED = 1, 2, 3, 130  # exit codes
_COMMANDS = {
    "demo": "demo",
    "fit": "fit",
    "predict": "predict",
    "evaluate": "evaluate",
    "compare": "compare",
    "report": "report",
    "inspect": "inspect",
    "explain": "explain",
    "outliers": "outliers",
    "impute": "impute",
    "sample": "sample",
    "search": "search",
    "cluster": "cluster",
    "reduce": "reduce",
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
            if meant := alike(cmd_name, _COMMANDS):
                raise UsageError(f"there is no command {cmd_name!r}{meant}")
            return None
        command: click.Command = getattr(import_module(f".{_COMMANDS[cmd_name]}", __name__), cmd_name)
        if not any(option.name == _DEBUG for option in command.params):
            _debug(command)
        return command


class _Run:
    """What a run of a command was asked for beside its work."""

    debug = False  # whether to show the traceback of an error


_DEBUG = "debug"


def _debug(command: Any) -> Any:
    """Give a command the option to show tracebacks."""

    def asked(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value and isinstance(ctx.find_root().obj, _Run):
            ctx.find_root().obj.debug = True

    own: dict[str, Any] = {"is_flag": True, "expose_value": False, "is_eager": True, "callback": asked}
    return click.option("--debug", **own, help="Show a traceback if something fails.")(command)


@click.command(
    cls=_Commands,
    name="suffice",
    epilog="Exit codes: 0 success, 1 data or files cannot be used, 2 wrong arguments, 3 a defect in suffice, 130 "
    "Ctrl-C. Example: suffice demo",
)
@_debug
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
    code = _run()
    gc.freeze()  # Python would look for garbage once more before it ends, among all that was imported
    raise SystemExit(code)


def _run() -> int:
    """Run a command, and return its exit code; an error is one line on stderr, unless --debug asks for a traceback."""
    run = _Run()
    try:
        return app.main(standalone_mode=False, obj=run) or 0
    except Exception as error:
        if run.debug:
            print(without_credentials_in(traceback.format_exc()), end="", file=sys.stderr)
        return _ended(error)
    except KeyboardInterrupt as error:
        return _ended(error)


def _ended(error: BaseException) -> int:
    """Tell of an error in one line, and return the exit code."""
    try:
        raise error
    except getattr(click.exceptions, "NoArgsIsHelpError", ()) as error:  # a command alone: the help is the answer
        error.show()
        return int(error.exit_code)
    except click.UsageError as error:
        command = "suffice" if error.ctx is None else error.ctx.command_path
        return _failed(f"{error.format_message().rstrip('.')}; {command} --help lists what there is", _WRONG_USAGE)
    except click.ClickException as error:
        return _failed(error.format_message(), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _failed("interrupted; no file was written or changed", _INTERRUPTED)
    except BrokenPipeError:  # the reader of the output has closed it, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except StoppedError as error:
        return _failed(error, _INTERRUPTED)
    except (UsageError, ParameterError, DecisionError) as error:
        return _failed(error, _WRONG_USAGE)
    except (SufficeError, OSError, ImportError) as error:
        return _failed(error, _FAILED)
    except MemoryError:
        return _failed("there is not enough memory; give fewer rows or columns", _FAILED)
    except Exception as error:
        what = f"{type(error).__name__}: {error}; this is a defect in suffice"
        return _failed(f"{what}: run the command again with --debug, and report what it prints", _DEFECT)


def _failed(message: object, code: int) -> int:
    print(f"suffice: {_line(message)}", file=sys.stderr)
    return code


class _WithoutPandas:
    """Hides pandas: pyarrow would import it at the first conversion, which takes longer than most commands."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:  # noqa: ARG002
        if fullname == "pandas":
            raise ModuleNotFoundError("commands work without pandas", name=fullname)


_told: set[str] = set()  # warnings so far: a file may be opened, and a model fitted, more than once


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    if (line := _line(message)) not in _told:
        _told.add(line)
        print(f"suffice: warning: {line}", file=sys.stderr)


def _line(message: object) -> str:
    """A message as one line, which shows no credentials, since click and others repeat what they were given."""
    return without_credentials_in(" ".join(str(message).split()))
