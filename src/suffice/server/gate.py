"""What every request passes: the host, the token, the number of requests; and what every answer says to browsers."""

from __future__ import annotations

import hmac
import time
from typing import Any

from pydantic_core import to_json

from .counters import Metrics
from .errors import RefusedError
from .limits import Limits

JSON = "application/json"
HEADERS = "suffice.headers"  # of a request by name, in its scope
PUBLIC = ("/", "/docs", "/health")  # without a token; so are the files of the page
PAGE = "/page/"
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
_LOCAL = {"localhost", "127.0.0.1", "[::1]"}


class Gate:
    """An ASGI application around another.

    Parameters
    ----------
    app : ASGI application
        What answers.
    limits : Limits
        The most that may be asked for.
    metrics : Metrics
        Counts requests.
    token : str or None
        What requests must bring, unless they ask for the page or the health of the server.
    hosts : set of str or None
        The names of this server; None allows any. A server that only this machine can reach must not answer pages
        of others that call it by a name of theirs.
    """

    def __init__(self, app: Any, limits: Limits, metrics: Metrics, token: str | None, hosts: set[str] | None) -> None:
        self._app, self._limits, self._metrics = app, limits, metrics
        self._token = None if token is None else f"Bearer {token}".encode()
        self._hosts = None if hosts is None else {*hosts, *_LOCAL}
        self._busy = 0
        metrics.watch(lambda: float(self._busy))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def answer(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        self._busy += 1
        try:
            self._check(scope)
            await self._app(scope, receive, answer)
        except RefusedError as error:
            await refuse(error, answer)
        finally:
            self._busy -= 1
            route = getattr(scope.get("route"), "path", None) or "other"
            self._metrics.answered(route, status, time.perf_counter() - start)

    def _check(self, scope: Any) -> None:
        headers = scope[HEADERS] = dict(scope["headers"])
        if self._hosts is not None:
            host = headers.get(b"host", b"").decode("latin-1")
            name = host if host.endswith("]") else host.rpartition(":")[0] or host
            if name.lower() not in self._hosts:
                raise RefusedError(421, "this server is known as localhost; start it with --host for others", "Host")
        path = scope["path"]
        if self._token is not None and path not in PUBLIC and not path.startswith(PAGE):
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self._token):
                raise RefusedError(401, "give the token of this server as Authorization: Bearer ...", "Authorization")
        if self._busy > self._limits.requests:
            raise RefusedError(429, "too many requests at the same time; try again")


async def refuse(error: RefusedError, send: Any) -> None:
    """Answer that a request is refused."""
    body = to_json(error.body())
    headers = [(b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.status == 429:
        headers.append((b"retry-after", b"1"))
    if error.status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
