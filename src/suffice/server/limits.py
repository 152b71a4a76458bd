"""What a server refuses, so that no request can take it down."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """The most that a request may ask for.

    Parameters
    ----------
    body : int
        Bytes of a bulk body: Arrow or CSV.
    json : int
        Bytes of a JSON body, which takes many times as much memory.
    rows : int
        Rows of a bulk body.
    json_rows : int
        Rows of a JSON body.
    shares : int
        Numbers in the explanations of one answer.
    requests : int
        Requests that are worked on at the same time; more are refused.
    bulk_requests : int
        Bulk requests that are worked on at the same time; more wait.
    seconds : float
        For the body to arrive, and for the work.

    Examples
    --------
    >>> from suffice.server import Limits
    >>> Limits(rows=1000, seconds=5)
    Limits(body=268435456, json=16777216, rows=1000, ..., seconds=5)
    """

    body: int = 256 * MEGABYTE
    json: int = 16 * MEGABYTE
    rows: int = 5_000_000
    json_rows: int = 10_000
    shares: int = 1_000_000
    requests: int = 512
    bulk_requests: int = 2
    seconds: float = 60.0
