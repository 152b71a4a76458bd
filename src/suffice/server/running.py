"""Run the server until it is stopped."""

from __future__ import annotations

import gc
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import DataError
from ..storage import without_credentials
from .app import create_app
from .limits import Limits

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HEAD = 10.0  # seconds for the head of a request
_WAITING = 2048  # connections that the system keeps until they are accepted


class _Protocol(HttpToolsProtocol):
    """HTTP that hangs up on clients who do not finish the head of a request."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._late = self.loop.call_later(_HEAD, transport.close)

    def on_headers_complete(self) -> None:
        self._late.cancel()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)


class _Server(uvicorn.Server):
    """A server for which a signal to stop is no failure."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(path: str, host: str, port: int, limits: Limits, token: str | None) -> None:
    """Serve models until SIGINT or SIGTERM; requests that were accepted are answered before it ends.

    Parameters
    ----------
    path : str
        A model file, a folder of such files, or the URL of a model file.
    host, port : str, int
        The address; port 0 finds a free one.
    limits : Limits
        The most that a request may ask for.
    token : str or None
        What requests must bring.
    """
    hosts = {host} if host in _LOOPBACK else None
    app = create_app(path, limits, token, hosts)
    config = uvicorn.Config(
        app,
        http=_Protocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
        backlog=_WAITING,
        ws="none",
    )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise DataError(f"cannot listen at {host}:{port}: {error.strerror}; choose another --port") from None
        listening.listen(_WAITING)
        own = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        gc.freeze()  # libraries and models stay; to look for garbage among them would keep requests waiting
        print(f"Serving {without_credentials(path)} at http://{shown}:{own} (Ctrl-C stops it)", flush=True)
        _Server(config).run(sockets=[listening])
