"""What statistics allow: models merge, and forget rows. The rows themselves are not needed any more."""

from __future__ import annotations

from .collect import collect
from .errors import ColumnWarning, StatisticsError, as_type, listed, remedy, warn
from .recipe import Choices, Names, Recipe
from .sources import Source
from .stats import Statistics
from .stats.bundle import Collector


def merged(
    one: Statistics, mine: Names, two: Statistics, theirs: Names, merges_columns: bool
) -> tuple[Statistics, Names]:
    """The statistic of the rows of both, and the names of its columns.

    Parameters
    ----------
    one, two : Statistics
        What was learnt.
    mine, theirs : tuple of str or None
        The names of the columns.
    merges_columns : bool
        Whether different columns align by name.
    """
    aligns = merges_columns and mine is not None and theirs is not None
    if mine != theirs and not aligns:
        if mine is None or theirs is None:
            shown = (listed(names) if names else "columns without names" for names in (mine, theirs))
            raise StatisticsError(f"models of different columns cannot be merged: {'; and '.join(shown)}")
        differ = sorted(set(mine) ^ set(theirs))
        why = f"only one of them has {listed(differ)}" if differ else "they are in another order"
        raise StatisticsError(
            f"models of different columns cannot be merged: {why}"
            + remedy("", "; suffice fit --like FIRST takes the columns of the first")
        )
    warn_of_kinds(one, two)
    statistics = one + two
    return statistics, statistics.names if aligns else mine


def forgotten(statistics: Statistics, known: Names, source: Source, of: Collector) -> Statistics:
    """The statistic without the rows of a source."""
    rest = statistics - collect(source, of)
    if rest.n_features != statistics.n_features:
        new = set(source.names or ()) - set(known or ())
        raise StatisticsError(f"cannot forget rows with column {listed(sorted(new))}, which was never learnt")
    return rest


def collector_of(recipe: Recipe, choices: Choices, statistics: Statistics) -> Collector:
    """Return the collector for more rows of a model that has a statistic already."""
    return recipe.collector(choices, statistics.blocks, statistics.features)


def warn_of_kinds(one: Statistics, two: Statistics) -> None:
    """Warn of named columns whose categories become text when two statistics meet: 1 may have been "01" in a file."""
    mine, theirs = ({s.names[j]: kind for j, kind in s.category_kinds().items() if s.names} for s in (one, two))
    for column in [column for column in mine if mine[column] != theirs.get(column, mine[column])]:
        warn(
            f"the categories of column {column!r} are {mine[column]} so far, but "
            f"{theirs[column]} in what is added: all become text, and 01 that was read as the number 1 "
            f"becomes '1'; read both as the same type, as in {as_type(column)}",
            ColumnWarning,
        )
