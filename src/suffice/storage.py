"""Locations of files: on this machine, or in the object store of a URL."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from .errors import DataError, UnreadableError

AnyPath = str | os.PathLike[str]

_URL = re.compile(r"([a-z][a-z0-9_.+-]+)(?:::[^/]*)?://", re.IGNORECASE)
_IN_TEXT = re.compile(r"[a-z][a-z0-9_.+-]+(?:::[^/\s]*)?://\S+?(?=[\"'`)\],;:.]*(?:\s|$))", re.IGNORECASE)
_QUERY = re.compile(r"\?([\w.-]+=[^?/&]*(?:/[^?&]*)?(?:&[\w.-]+=[^?&]*)*)$")  # any other ? belongs to a glob
_QUERY_OF_HTTP = re.compile(r"(?:^|::)https?://[^?]*\?", re.IGNORECASE)
_LINK = re.compile(r"::(?=[a-z][a-z0-9_.+-]*://)", re.IGNORECASE)  # between the URLs of a chain
_USER = re.compile(r"[^/]*@|(?!(?<!s3://)[^/:]*:\d*/)[^/:]*:.*@", re.DOTALL)  # a port is no password
_OF_PYARROW = {"s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss"}
_OF_FSSPEC = {"s3a", "az", "adl", "http", "https", "ftp", "sftp", "ssh", "memory", "hf", "webhdfs", "smb", "oci", "oss"}
STORES = _OF_PYARROW | _OF_FSSPEC | {"file"}  # the schemes of files; fsspec may know more
_OF_AZURE = {"abfs", "abfss", "az"}  # container@account
_AT_ONCE = {"s3", "gcs", "abfs"}  # pyarrow's file systems that show an object only when its upload is complete
_PLAIN = {"endpoint_override", "scheme", "region", "location_constraint", "allow_bucket_creation"}  # no secrets


@dataclass(frozen=True, slots=True)
class Location:
    """A file, a directory or a glob."""

    path: str  # on its file system
    filesystem: Any = None  # a file system of pyarrow; None for this machine
    shown: str = ""  # in messages: without credentials
    secrets: tuple[str, ...] = field(default=(), repr=False)  # what a message must not repeat

    def __str__(self) -> str:
        return self.shown or self.path

    def __repr__(self) -> str:
        return f"Location({str(self)!r})"

    @property
    def name(self) -> str:
        """The path without a query, whose suffix shows the format."""
        return without_query(self.path)

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return self.filesystem is None

    @property
    def identity(self) -> str:
        """The same for every way to write the path, and without credentials."""
        return os.path.abspath(self.path) if self.is_local else self.shown

    def at(self, path: str) -> Location:
        """Another path on the same file system, at or below this one."""
        tail = path.removeprefix(self.path) if path.startswith(self.path) else f"/{path}"
        return replace(self, path=path, shown="" if self.is_local else f"{self.shown}{tail}")

    def open(self) -> Any:
        """The file as a pyarrow file that can be read anywhere."""
        import pyarrow as pa

        return pa.OSFile(self.path) if self.is_local else self.filesystem.open_input_file(self.path)

    def exists(self) -> bool:
        """Whether there is a file or a directory."""
        if self.is_local:
            return os.path.exists(self.path)
        with self.explained("read"):
            return bool(self.filesystem.get_file_info(self.path).type.value)

    def size(self) -> int:
        """How many bytes the file has."""
        if self.is_local:
            return os.stat(self.path).st_size
        with self.explained("read"):
            return int(self.filesystem.get_file_info(self.path).size)

    def is_same_file(self, other: Location) -> bool:
        """Whether both are the same file."""
        if self.is_local and other.is_local:
            return os.path.exists(self.path) and os.path.exists(other.path) and os.path.samefile(self.path, other.path)
        return not (self.is_local or other.is_local) and self.path == other.path and self.filesystem == other.filesystem

    def without_secrets(self, message: object) -> str:
        """A message of the store in one line, without the credentials of the URL."""
        text = " ".join(str(message).split())
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """Turn errors of the store into errors that name the file and show no credentials."""
        import pyarrow as pa

        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no {self}") from None
        except (OSError, pa.ArrowException) as error:
            why = f"{self} cannot be {what}: {self.without_secrets(error)}; check the URL and the credentials"
            raise (UnreadableError(why) if what == "read" else OSError(why)) from None

    @contextmanager
    def fetched(self) -> Iterator[str]:
        """The file on this machine for the length of a ``with`` block: itself, or a copy of an object."""
        if self.is_local:
            yield self.path
            return
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as directory:
            copy = os.path.join(directory, "copy")
            with self.explained("read"):
                self._copy(copy, None, self.path, self.filesystem)
            if not os.path.isfile(copy):
                raise UnreadableError(f"{self} is a folder; give the URL of a file in it")
            yield copy

    @contextmanager
    def replaced(self) -> Iterator[Path]:
        """A temporary file of this machine that becomes the object at the end of the block, at once.

        After an error, the store is as it was.
        """
        from tempfile import TemporaryDirectory

        with self.explained("written"):
            self._check_bucket()
        with TemporaryDirectory() as directory:
            temporary = Path(directory, "content")
            yield temporary
            with self.explained("written"):
                if self.filesystem.type_name in _AT_ONCE:
                    self._copy(self.path, self.filesystem, str(temporary), None)
                else:
                    self._uploaded(str(temporary))

    def _uploaded(self, content: str) -> None:
        """Upload under another name, which then becomes the name of the file."""
        directory, _, name = self.path.rpartition("/")
        beside = f"{directory}/.{name}.{secrets.token_hex(8)}"
        try:
            self._copy(beside, self.filesystem, content, None)
            self.filesystem.move(beside, self.path)
        finally:
            with suppress(OSError):
                self.filesystem.delete_file(beside)

    def _check_bucket(self) -> None:
        """Raise an error about a bucket that does not exist before the work, not at the upload."""
        if self.filesystem.type_name not in _AT_ONCE:
            return
        bucket = self.path.split("/", 1)[0]
        try:
            found = self.filesystem.get_file_info(bucket).type.value
        except OSError:  # a role may have the right to write, but not to list
            return
        if not found:
            raise OSError(f"there is no bucket {bucket!r}")

    @staticmethod
    def _copy(target: str, to: Any, source: str, of: Any) -> None:
        # One call, so that Ctrl-C waits for its end: a stream that is left half-way would publish half an object.
        import pyarrow.fs

        local = pyarrow.fs.LocalFileSystem()
        pyarrow.fs.copy_files(source, target, of or local, to or local, use_threads=False)


def locate(path: AnyPath, filesystem: Any = None) -> Location:
    """The location of a path or a URL.

    Parameters
    ----------
    path : path-like
        A path of this machine, or a URL such as ``"s3://bucket/data/*.parquet"``. Credentials and endpoints come from
        the environment or from the URL, as pyarrow and fsspec take them.
    filesystem : pyarrow.fs.FileSystem or fsspec.AbstractFileSystem, optional
        The file system that the path is on.

    Returns
    -------
    Location
        Where the file is.

    Examples
    --------
    >>> locate("data/a.parquet").is_local
    True
    >>> location = locate("s3://key:secret@bucket/a.parquet?endpoint_override=localhost:9000&scheme=http")
    >>> location.path, str(location)
    ('bucket/a.parquet', 's3://bucket/a.parquet')
    """
    given = os.fspath(path)
    if filesystem is not None:
        return Location(given, _as_pyarrow(filesystem), given)
    scheme = scheme_of(given)
    if scheme is None:
        return Location(given)
    if scheme == "file":
        from urllib.request import url2pathname

        return Location(url2pathname(unquote(urlsplit(given).path)))
    shown = re.sub(r"(?<![:/])/+$", "", without_credentials(given))
    whole = Location(given, None, shown, _secrets(given))
    try:
        system, inner = _of_pyarrow(given) if scheme in _OF_PYARROW and "::" not in given else _of_fsspec(given, scheme)
    except ImportError as error:
        raise DataError(f"{scheme}:// needs another package: {error}") from None
    except Exception as error:  # whatever the package of a store raises; its message may repeat the URL
        raise DataError(f"{whole} cannot be opened: {whole.without_secrets(error)}; check the URL") from None
    return replace(whole, path=inner, filesystem=system)


def _of_pyarrow(url: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem

    # The path goes its own way: as a part of the URL, it could hold no glob and no space.
    base, query = _split(url)
    scheme, _, rest = base.partition("://")
    authority, _, path = rest.partition("/")
    root = f"{scheme.lower()}://{authority}" + ("/" if scheme in ("hdfs", "viewfs") else "")
    system, start = FileSystem.from_uri(f"{root}?{query}" if query else root)
    return system, f"{start.rstrip('/')}/{path}".rstrip("/")


def _of_fsspec(url: str, scheme: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(f"pip install fsspec and its package for {scheme}://") from None
    system, path = url_to_fs(url)
    return _as_pyarrow(system), path


def _as_pyarrow(filesystem: Any) -> Any:
    """A file system of pyarrow, or of fsspec, as one of pyarrow."""
    from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem

    if isinstance(filesystem, FileSystem):
        return filesystem
    if not hasattr(filesystem, "_strip_protocol"):
        raise DataError(f"filesystem={filesystem!r} must be a file system of pyarrow or fsspec")
    return PyFileSystem(FSSpecHandler(filesystem))


def scheme_of(path: AnyPath) -> str | None:
    """The scheme of a URL in lower case; None for a path, also for one that looks like a URL.

    >>> scheme_of("S3://bucket/a.parquet"), scheme_of("data/a.parquet")
    ('s3', None)
    """
    found = _URL.match(os.fspath(path))
    return None if found is None or os.path.exists(path) else found[1].lower()


def is_store(scheme: str) -> bool:
    """Whether a scheme is one of files."""
    if scheme in STORES:
        return True
    try:
        from fsspec import available_protocols
    except ImportError:
        return False
    return scheme in available_protocols()


def without_credentials(path: AnyPath) -> str:
    """A path or URL for a message: without a user and password, and without a query, which may hold keys.

    >>> without_credentials("s3://key:secret@bucket/a.csv?session_token=abc")
    's3://bucket/a.csv'
    >>> without_credentials("zip://a.csv::https://user:secret@host/a.zip?token")
    'zip://a.csv::https://host/a.zip'
    """
    text = os.fspath(path)
    if scheme_of(text) is None:
        return text
    return "::".join(link.replace(f"://{_user(link)}", "://", 1) for link in _LINK.split(_split(text)[0]))


def without_credentials_in(text: str) -> str:
    """A message, whoever wrote it, without the credentials of the URLs in it.

    >>> without_credentials_in("got unexpected arguments ('s3://key:secret@bucket/a.csv', --out=s3://k:s@bucket/b?x=y)")
    "got unexpected arguments ('s3://bucket/a.csv', --out=s3://bucket/b)"
    """
    return _IN_TEXT.sub(lambda url: without_credentials(url[0]), text)


def without_query(path: str) -> str:
    """Return a path or URL without its query, so that its suffix shows the format of a file.

    >>> without_query("s3://bucket/a.csv?region=eu-west-1")
    's3://bucket/a.csv'
    """
    return path if scheme_of(path) is None else _split(path)[0]


def _split(url: str) -> tuple[str, str]:
    """A URL without its query, and the query."""
    if http := _QUERY_OF_HTTP.search(url):
        return url[: http.end() - 1], url[http.end() :]
    found = _QUERY.search(url)
    return (url, "") if found is None else (url[: found.start()], found[1])


def _user(link: str) -> str:
    """The user and password in one URL, up to and including the @. A secret may hold a / that should be escaped."""
    scheme, mark, _ = link.partition("://")
    found = _USER.match(link, len(scheme + mark)) if mark else None
    if found is None or (scheme.lower() in _OF_AZURE and ":" not in found[0]):
        return ""
    return found[0]


def _secrets(url: str) -> tuple[str, ...]:
    """The parts of a URL that no message may repeat."""
    base, query = _split(url)
    user = [part for link in _LINK.split(base) for part in re.split("[:/]", _user(link).removesuffix("@"))]
    raw = [part.partition("=")[2] or part for part in query.split("&") if part.partition("=")[0] not in _PLAIN]
    values = [value for key, value in parse_qsl(query) if key not in _PLAIN]
    found = {text for part in (*user, *raw, *values) for text in (part, unquote(part)) if text}
    return tuple(sorted(found, key=len, reverse=True))  # one may be a part of another
