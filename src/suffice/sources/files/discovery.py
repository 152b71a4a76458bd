"""Paths, directories and globs: the files that they match, and the columns in their paths."""

from __future__ import annotations

import glob
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any
from urllib.parse import unquote
from weakref import finalize

from ...errors import DataError, listed
from ...storage import Location, locate

SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_COMPRESSED = (".gz", ".bz2", ".zst", ".zip")  # of text
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class File:
    """A file, and the columns in its path, such as year=2026."""

    location: Location
    size: int  # bytes
    changed: int  # when it was written, in ns
    keys: dict[str, str | None] = field(default_factory=dict)  # of Hive partitions

    @property
    def path(self) -> str:
        """The path for messages."""
        return str(self.location)


def found_files(paths: Sequence[str], any_name: bool, filesystem: Any = None) -> list[File]:
    """Return the files that paths, directories and globs match, each once. A path of "-" is the standard input."""
    locations = [_standard_input(sys.stdin) if path == "-" else locate(path, filesystem) for path in paths]
    local = [location.path for location in locations if location.is_local]
    plain = [os.path.dirname(os.path.abspath(path)) for path in local if os.path.isfile(path)]
    common = os.path.commonpath(plain) if plain else ""
    found: dict[tuple[int, str], File] = {}
    for location in locations:
        system = next(i for i, other in enumerate(locations) if other.filesystem == location.filesystem)
        for file in _files(location, any_name, common):
            found[system, file.location.identity if location.is_local else file.location.path] = file
    first, *others = found.values()
    for path, n in Counter(file.location.identity for file in found.values()).items():
        if n > 1:
            raise DataError(f"{n} URLs of {path} differ only in their query or credentials; read them one at a time")
    for file in others:
        if file.keys.keys() != first.keys.keys():
            differ = sorted(file.keys.keys() ^ first.keys.keys())
            raise DataError(f"only one of {first.path} and {file.path} has {listed(differ)} in its path")
    return list(found.values())


def _files(location: Location, any_name: bool, common: str) -> Iterator[File]:
    """Return the files that one location matches."""
    if location.is_local:
        yield from (_local_file(location, *match) for match in _matches(location.path, any_name, common))
        return
    with location.explained("read"):
        found = _objects(location, any_name)
    if not found:
        what = "no file matches" if glob.has_magic(location.name) else "there is no file or directory with tables"
        raise FileNotFoundError(f"{what} '{location}'")
    yield from found


def _local_file(location: Location, path: str, base: str) -> File:
    status = os.stat(path)
    keys = _keys(os.path.relpath(os.path.abspath(path), base).split(os.sep))
    return File(location if location.path == path else Location(path), status.st_size, status.st_mtime_ns, keys)


@cache
def _standard_input(stream: Any) -> Location:
    """The standard input as a file that can be read several times; it is removed when the program ends."""
    import shutil
    import tempfile

    content = tempfile.NamedTemporaryFile(prefix="suffice-")  # noqa: SIM115
    shutil.copyfileobj(stream.buffer, content)
    content.flush()
    finalize(stream, content.close)
    return Location(content.name, shown="standard input")


def _objects(location: Location, any_name: bool) -> list[File]:
    """Return the objects of a store that a URL, a directory or a glob matches."""
    from pyarrow.fs import FileSelector, FileType

    store, path = location.filesystem, location.name
    info = store.get_file_info(location.path)
    if info.type == FileType.File:
        return [File(location, info.size or 0, info.mtime_ns or 0)]
    is_glob = info.type == FileType.NotFound and glob.has_magic(path)
    parts = path.split("/")
    start = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts)) if is_glob else len(parts)
    base, pattern = "/".join(parts[:start]), parts[start:]
    inside_base = store.get_file_info(FileSelector(base, allow_not_found=True, recursive=True))
    found = []
    for one in sorted(inside_base, key=lambda one: one.path):
        inside = one.path.removeprefix(base).strip("/").split("/")
        rest = _beyond(inside, pattern)
        if one.type == FileType.File and rest is not None and _is_shown(rest, any_name):
            found.append(_object(location, one, base))
    return found


def _object(location: Location, info: Any, base: str) -> File:
    root = replace(location, path=base, shown=_above(location, base))
    keys = _keys(info.path.removeprefix(base).strip("/").split("/"))
    return File(root.at(info.path), info.size or 0, info.mtime_ns or 0, keys)


def _above(location: Location, base: str) -> str:
    """Return how messages show a directory above a location."""
    return location.shown.removesuffix(location.name.removeprefix(base))


def _beyond(parts: list[str], pattern: list[str]) -> list[str] | None:
    """The parts of a path below what a glob matches, none if it matches the path itself; None if it does not match.

    >>> _beyond(["a", "b", "c.csv"], ["*"]), _beyond(["a", "b.csv"], ["**", "*.csv"]), _beyond(["a"], ["b*"])
    (['b', 'c.csv'], [], None)
    """
    if not pattern:
        return parts
    if not parts:
        return None
    hidden = parts[0].startswith(".") and not pattern[0].startswith(".")
    if pattern[0] == "**":
        here = _beyond(parts, pattern[1:]) if pattern[1:] else []
        return here if here is not None or hidden else _beyond(parts[1:], pattern)
    return _beyond(parts[1:], pattern[1:]) if fnmatchcase(parts[0], pattern[0]) and not hidden else None


def _is_shown(parts: list[str], any_name: bool) -> bool:
    """Whether a file in a directory is read: not if a name begins with a dot or an underscore."""
    return not parts or (all(name[0] not in "._" for name in parts) and (any_name or format_of(parts[-1]) is not None))


def _matches(path: str, any_name: bool, common: str) -> Iterator[tuple[str, str]]:
    """Return the files that one path matches, and the directory below which paths contain columns."""
    if os.path.isfile(path):
        yield path, common
        return
    magic = glob.has_magic(path) and not os.path.exists(path)
    tops = sorted(glob.glob(path, recursive=True)) if magic else [path] if os.path.exists(path) else []
    parts = os.path.abspath(path).split(os.sep)
    base = os.sep.join(parts[: next((i for i, part in enumerate(parts) if glob.has_magic(part)), 0)]) if magic else path
    count = 0
    for top in tops:
        for one in [top] if os.path.isfile(top) else _inside(top, any_name):
            count += 1
            yield one, base or os.sep
    if not count:
        what = "no file matches" if magic else "there is no table in" if tops else "there is no file or directory"
        raise FileNotFoundError(f"{what} {path!r}")


def _inside(directory: str, any_name: bool) -> Iterator[str]:
    """The files in a directory and below, but those whose names begin with a dot or an underscore."""
    for here, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if name[0] not in "._")
        for name in sorted(names):
            if name[0] not in "._" and (any_name or format_of(name)):
                yield os.path.join(here, name)


def _keys(parts: list[str]) -> dict[str, str | None]:
    """Return the columns in a path, as in ``year=2026/month=11/a.parquet``."""
    pairs = [part.split("=", 1) for part in parts[:-1] if "=" in part]
    return {unquote(name): None if value == _NULL else unquote(value) for name, value in pairs}


def format_of(path: str) -> str | None:
    """Return the format of a file, from its name."""
    stem, suffix = os.path.splitext(path.lower())
    if suffix not in _COMPRESSED:
        return SUFFIXES.get(suffix)
    inner = SUFFIXES.get(os.path.splitext(stem)[1])
    return inner if inner in ("csv", "tsv", "json") else None
