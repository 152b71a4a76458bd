"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file beside `path` to write to, which takes its place at the end; where that is not reached, it is removed.

    Whoever reads finds the old file or the new one, whole.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {str(target.parent)!r} to write {target.name!r} to")
    if target.is_dir():
        raise IsADirectoryError(f"{str(target)!r} is a directory; name a file to write to")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
