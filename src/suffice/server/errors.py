"""Requests that are refused, with the field to blame."""

from __future__ import annotations

import re

from ..errors import SufficeError


class RefusedError(SufficeError):
    """A request that cannot be answered.

    Parameters
    ----------
    status : int
        The status of HTTP, a 4xx.
    message : str
        What is wrong, and what to do.
    field : str or None
        The field of the request that is wrong, such as ``rows[2].age``.
    """

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field

    def body(self) -> dict[str, str | None]:
        """The answer that says so."""
        return {"error": re.sub(r"\s+", " ", self.message).strip(), "field": self.field}
