"""A progress bar for long work, shown on a terminal and removed when the work is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_PATIENCE = 1.0  # seconds before the bar appears


@contextmanager
def progress(what: str, total: float, show: bool | None = None) -> Iterator[Callable[..., None]]:
    """Show a progress bar.

    Parameters
    ----------
    what : str
        A word or two for the work, shown beside the bar.
    total : float
        The amount of work.
    show : bool, default=None
        Whether to show the bar. None shows it only on a terminal.

    Yields
    ------
    callable
        A function to call with the amount of work done since the last call, and with words to show, if any.
    """
    bar: Any = None
    done, start = 0.0, time.monotonic()

    def advance(more: float, words: str = what) -> None:
        nonlocal bar, done
        done += more
        if bar is None and time.monotonic() - start >= _PATIENCE:
            from rich.console import Console
            from rich.progress import Progress

            bar = Progress(console=Console(stderr=True), transient=True)
            bar.add_task(what, total=total)
            bar.start()
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done, description=words)

    try:
        yield advance if show or (show is None and sys.stderr.isatty()) else lambda *_: None
    finally:
        if bar is not None:
            bar.stop()
