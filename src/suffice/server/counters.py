"""Counters and times of requests, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """What a server has done so far."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self._registry}
        self._requests = Counter("suffice_requests", "Requests by route and status.", ["route", "status"], **own)
        self._seconds = Histogram(
            "suffice_request_seconds", "Time from the request to the answer.", ["route"], buckets=_SECONDS, **own
        )
        self.models = Gauge("suffice_models", "Models that are served.", **own)
        self.problems = Gauge("suffice_model_problems", "Model files that could not be loaded.", **own)
        self._busy = Gauge("suffice_requests_in_progress", "Requests that are worked on.", **own)
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def watch(self, busy: Callable[[], float]) -> None:
        """Ask how many requests are worked on when the metrics are read."""
        self._busy.set_function(busy)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request; a route is a template, so that there are few of them."""
        if (route, status) not in self._known:
            self._known[route, status] = self._requests.labels(route, str(status)), self._seconds.labels(route)
        count, time = self._known[route, status]
        count.inc()
        time.observe(seconds)

    def text(self) -> bytes:
        """The metrics in the format of Prometheus."""
        return generate_latest(self._registry)
