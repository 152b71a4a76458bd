"""`suffice serve`: predictions over HTTP, and a page to try a model."""

from __future__ import annotations

import os

import click

from .options import UsageError

TOKEN = "SUFFICE_TOKEN"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command(epilog="Example: suffice serve birds.safetensors --port 8000")
@click.argument("path", metavar="MODEL")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 takes a free one."
)
@click.option(
    "--max-body",
    default=256,
    show_default=True,
    type=click.IntRange(1),
    help="The largest body of a bulk request, in megabytes.",
)
@click.option(
    "--max-rows", default=5_000_000, show_default=True, type=click.IntRange(1), help="The most rows of a bulk request."
)
@click.option(
    "--max-requests", default=512, show_default=True, type=click.IntRange(1), help="The most requests at a time."
)
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="The longest time for a request, in seconds.",
)
def serve(path: str, host: str, port: int, max_body: int, max_rows: int, max_requests: int, timeout: float) -> None:
    """Serve predictions over HTTP, with a page to try the model.

    MODEL is a model file, or a folder of model files. They are loaded again when they are replaced. MODEL may also be
    the URL of a model file in an object store, which is loaded once. Only this machine can reach the server, unless
    --host says otherwise. If the environment variable SUFFICE_TOKEN is set, requests must send it as a bearer token.
    """
    try:
        from ..server.running import run
    except ImportError as error:
        raise ImportError(f"suffice serve needs FastAPI and uvicorn: pip install suffice[serve] ({error})") from error
    from ..server.limits import MEGABYTE, Limits

    token = os.environ.get(TOKEN) or None
    if token is None and host not in _LOOPBACK:
        click.echo(
            f"suffice: warning: everybody who reaches {host} can use the models; set {TOKEN} to ask for a token",
            err=True,
        )
    if not (token is None or token.isascii()):
        raise UsageError(f"{TOKEN} must consist of ASCII characters")
    limits = Limits(body=max_body * MEGABYTE, rows=max_rows, requests=max_requests, seconds=timeout)
    run(path, host, port, limits, token)
