"""What a recipe is: how a model is made of rows, in two steps that know nothing of each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from .stats.bundle import Collector
from .tables.features import Feature

Choices = Mapping[str, Any]  # parameters by name
Names = tuple[str, ...] | None  # of columns
Blocks = Mapping[str, tuple[int, ...]]  # the columns of every family, by index
Features = tuple[Feature, ...]  # columns that are derived from those of the table


class Recipe(ABC):
    """What is kept of rows, and what is estimated from that."""

    defaults: Choices  # the parameters that the model depends on, and what they are where nobody chose them
    classifies: bool = False  # whether a density comes of it
    adds: bool = True  # whether statistics of other rows can be added
    subtracts: bool = True  # whether they can be subtracted
    merges_columns: bool = False  # whether statistics of different named columns align by name

    def chosen(self, params: Choices) -> dict[str, Any]:
        """The parameters that this model depends on, or an error where they make no sense."""
        choices = {name: params.get(name, default) for name, default in self.defaults.items()}
        self.check_choices(choices)
        return choices

    @abstractmethod
    def check_choices(self, choices: dict[str, Any]) -> None:
        """Raise DataError where parameters make no sense."""

    @abstractmethod
    def collector(self, choices: Choices, blocks: Blocks | None = None, features: Features = ()) -> Collector:
        """The function from a batch of rows to its statistic."""

    @abstractmethod
    def adopted(self, statistics: Any, choices: Choices) -> Any:
        """A statistic in the form that this model needs, or an error if it does not hold enough."""

    def check_fit(self, statistics: Any, choices: Choices, names: Names = None) -> None:  # noqa: B027
        """Raise DataError where parameters are for other columns than those of an adopted statistic."""

    @abstractmethod
    def estimate(self, statistics: Any, choices: Choices, names: Names = None) -> Any:
        """The model from an adopted statistic: a density, or a projection."""
