"""Progress of long work, for those who watch: a bar on a terminal, gone when the work is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_PATIENCE = 1.0  # seconds of work that nobody needs a bar for


@contextmanager
def progress(what: str, total: float, show: bool | None = None) -> Iterator[Callable[[float], None]]:
    """Show how much of the work is done.

    Parameters
    ----------
    what : is done, in a word or two
    total : how much there is of it
    show : whether to; None does on a terminal alone

    Yields
    ------
    a function that is called with how much of the total was done since the last call
    """
    bar: Any = None
    done, start = 0.0, time.monotonic()

    def advance(more: float) -> None:
        nonlocal bar, done
        done += more
        if bar is None and time.monotonic() - start >= _PATIENCE:
            from rich.console import Console
            from rich.progress import Progress

            bar = Progress(console=Console(stderr=True), transient=True)
            bar.add_task(what, total=total)
            bar.start()
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done)

    try:
        yield advance if show or (show is None and sys.stderr.isatty()) else lambda _: None
    finally:
        if bar is not None:
            bar.stop()
