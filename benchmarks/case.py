"""What is raced: our way to do a task against the peers' ways, on the same data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

Call = Callable[[], Any]
Prepare = Callable[[Any], Call]  # from the data to the call that is measured


class Grade(IntEnum):
    MISSED = 0
    MUST = 1
    AIM = 2


@dataclass(frozen=True)
class Goal:
    """What must be reached and what is aimed at; where the aim lies below the must, less is better."""

    must: float
    aim: float

    def grade(self, value: float) -> Grade:
        sign = 1 if self.aim >= self.must else -1
        return Grade((sign * value >= sign * self.must) + (sign * value >= sign * self.aim))


@dataclass(frozen=True)
class Case:
    """One row of the table. Everything in it pickles, for memory is measured in a process of its own."""

    data: str
    task: str
    load: Callable[[], Any]  # the data
    ours: Prepare
    peers: dict[str, Prepare]
    ratio: Goal  # time of the fastest peer, in ours
    limit: Prepare | None = None  # what no implementation could do without
    distance: Goal | None = None  # our time, in limits
    reference: Goal | None = Goal(1, 1)  # time of the fastest peer, in ours with the reference kernels
    memory: Goal | None = Goal(64, 16)  # MB beyond input and output
    rounds: int | None = None  # of the race, where one takes minutes
