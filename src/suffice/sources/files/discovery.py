"""Paths, directories and globs: the files that they stand for, and what paths say of the rows."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from ...errors import DataError, listed

SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_COMPRESSED = (".gz", ".bz2", ".zst")  # of text
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class File:
    """A file, and what its path says of all of its rows."""

    path: str
    size: int  # bytes
    changed: int  # when it was written, in ns
    keys: dict[str, str | None] = field(default_factory=dict)  # of Hive partitions


def found_files(paths: Sequence[str], any_name: bool) -> list[File]:
    """The files that paths, directories and globs stand for, each once."""
    plain = [os.path.dirname(os.path.abspath(path)) for path in paths if os.path.isfile(path)]
    common = os.path.commonpath(plain) if plain else ""
    found: dict[str, File] = {}
    for path in paths:
        for one, base in _matches(path, any_name, common):
            place, status = os.path.abspath(one), os.stat(one)
            if not any_name and format_of(one) is None:
                raise DataError(
                    f"what {one} holds does not show in its name, which may end in {', '.join(SUFFIXES)}; name "
                    'it, as in suffice.files(path, format="csv")'
                )
            found[place] = File(one, status.st_size, status.st_mtime_ns, _keys(os.path.relpath(place, base)))
    first, *others = found.values()
    for file in others:
        if file.keys.keys() != first.keys.keys():
            differ = sorted(file.keys.keys() ^ first.keys.keys())
            raise DataError(f"only one of {first.path} and {file.path} has {listed(differ)} in its path")
    return list(found.values())


def _matches(path: str, any_name: bool, common: str) -> Iterator[tuple[str, str]]:
    """The files that one path stands for, and the directory below which their paths name columns."""
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
    if not count and "://" in path:  # not repeated, for it may hold a password
        scheme = path.partition("://")[0]
        raise DataError(f"only local files are read, and {scheme}:// is none: copy the files here, and give their path")
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


def _keys(path: str) -> dict[str, str | None]:
    """The columns that directories name, as in ``year=2026/month=11/a.parquet``."""
    pairs = [part.split("=", 1) for part in path.split(os.sep)[:-1] if "=" in part]
    return {unquote(name): None if value == _NULL else unquote(value) for name, value in pairs}


def format_of(path: str) -> str | None:
    """The format that the name of a file tells."""
    stem, suffix = os.path.splitext(path.lower())
    if suffix not in _COMPRESSED:
        return SUFFIXES.get(suffix)
    inner = SUFFIXES.get(os.path.splitext(stem)[1])
    return inner if inner in ("csv", "tsv", "json") else None
