"""Statistics whose columns are matched by their names, so that tables with different columns can be merged."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Self

from .base import Statistics


class StatisticsByName(Statistics, is_kind=False):
    """A statistic of columns that have names, or none; without names, columns are matched by their order."""

    def with_columns(self, names: tuple[str, ...] | None) -> Self:
        """Return the same statistic over more columns, of which no row has those that are new.

        Parameters
        ----------
        names : tuple of str or None
            The names of the columns; None changes nothing.

        Returns
        -------
        Statistics
            Over these columns.

        Examples
        --------
        >>> from suffice import CountStats
        >>> films = CountStats(["x"], [2.0], [[3.0]], names=("film",))
        >>> films.with_columns(("film", "music")).count
        array([[3., 0.]])
        """
        if names == self.names or names is None or self.names is None:
            return self
        return self._with_columns(names, {name: j for j, name in enumerate(self.names)})

    @abstractmethod
    def _with_columns(self, names: tuple[str, ...], own: Mapping[str, int]) -> Self:
        """The same over these columns, given the indices of those that it has by their names."""

    def _over_all_columns(self, other: Self) -> tuple[Self, Self]:
        """Both over the columns of both."""
        names = feature_union(self.names, other.names)
        return self.with_columns(names), other.with_columns(names)

    def _check_columns(self, other: Self) -> None:
        if self.names is None or other.names is None:
            self._check_n_features(other)


def feature_union(a: tuple[str, ...] | None, b: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the names of both, those of a first."""
    if a is None or b is None or a == b:
        return a if b is None else b
    return tuple(dict.fromkeys([*a, *b]))
