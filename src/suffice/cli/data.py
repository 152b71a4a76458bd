"""The rows that commands read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..progress import progress


@contextmanager
def reading(data: list[str], **choices: Any) -> Iterator[Any]:
    """What DATA stands for, to be passed as X, with a bar that follows the reading.

    Parameters
    ----------
    data : files, directories and globs
    choices : as of `suffice.files`
    """
    from ..sources.files import Progress, files

    done = 0.0
    with progress("Reading", 1.0) as advance:

        def read(now: Progress) -> None:
            nonlocal done
            share = now.bytes / (now.total_bytes or 1)
            advance(share - done)
            done = share

        yield files(data, progress=read, **choices)
