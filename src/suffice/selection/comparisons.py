"""What held-out rows say of the candidates that were tried so far, and what follows from it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Protocol, TypeVar

from .models import Candidate

C = TypeVar("C", bound=Candidate)


class Comparisons(Protocol):
    """What held-out rows say of the candidates that were tried so far."""

    def best_of(self, models: Collection[Candidate]) -> Any:
        """Return the best of some candidates, or the first if none of them could be tried."""

    def ratio(self, models: Collection[Candidate]) -> float:
        """Return the loss of the best of some candidates, relative to that of the best of all."""

    def is_worse(self, models: Collection[Candidate], others: Collection[Candidate] | None = None) -> bool:
        """Whether the best of some candidates is worse than the best of others, or of all, by more than chance
        explains."""

    def drop_unless_clear(self, models: Collection[Candidate]) -> None:
        """Forget those of some candidates that are better than all others, but not by more than chance explains."""


def clear(results: Comparisons, models: Iterator[C]) -> Iterator[C]:
    """Yield models that are taken only if they are better than others by more than chance explains."""
    yielded: list[C] = []
    try:
        for model in models:
            yielded.append(model)
            yield model
    finally:  # also when the time is over
        results.drop_unless_clear(yielded)
