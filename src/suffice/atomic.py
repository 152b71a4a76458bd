"""Files that are written whole or not at all, and files that one run keeps to itself."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .storage import locate


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file atomically: whoever reads it finds the old content or the new one, whole.

    Parameters
    ----------
    path : path-like
        The file to write, or the URL of an object.

    Yields
    ------
    pathlib.Path
        A temporary file to write to, beside `path` or, for an object, on this machine. It replaces `path` at the
        end of the block, and is removed after an error.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "notes.txt")
    >>> with replacing(path) as temporary:
    ...     _ = temporary.write_text("whole")
    >>> path.read_text()
    'whole'
    """
    location = locate(path)
    if not location.is_local:
        with location.replaced() as temporary:
            yield temporary
        return
    target = _target(location.path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def claimed(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep others from claiming a file for the length of a ``with`` block.

    The claim is a lock on a file beside `path`, which the operating system frees when a process dies, so that a claim
    never outlives its run. Temporary files that a killed run has left behind are removed. Object stores, and systems
    without file locks (Windows), let everybody pass; in a store, a checkpoint notices that another run has written it.

    Parameters
    ----------
    path : path-like
        The file to claim. It need not exist.

    Raises
    ------
    BlockingIOError
        If another process, or another thread of this one, has claimed the file.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    location = locate(path)
    if not location.is_local:
        yield
        return
    target = _target(location.path)
    lock = target.with_name(f".{target.name}.lock")
    while True:
        file = open(lock, "ab")  # noqa: SIM115
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), os.stat(lock)):
                    break
        except BaseException:
            file.close()
            raise
        file.close()  # whoever had it has removed it since we opened it
    try:
        leftover = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}")
        for name in filter(leftover.fullmatch, os.listdir(target.parent)):
            target.with_name(name).unlink(missing_ok=True)
        yield
    finally:
        try:
            lock.unlink(missing_ok=True)  # before the lock is freed, so that nobody locks a file that is removed
        finally:  # an interrupt must not leave the lock to the garbage collector
            file.close()


def _target(path: str | os.PathLike[str]) -> Path:
    """A file that can be written, as far as can be seen."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {str(target.parent)!r} to write {target.name!r} to")
    if target.is_dir():
        raise IsADirectoryError(f"{str(target)!r} is a directory; name a file to write to")
    return target
