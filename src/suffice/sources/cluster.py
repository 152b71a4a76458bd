"""Tables in partitions on a cluster: each partition gives one small result, and the results are merged in order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from numpy.typing import NDArray

from ..errors import DataError, SufficeError, listed
from ..tables.batch import Batch, checked_weight
from ..tables.readers import as_column, converted, feature_columns
from ..threads import single_threaded_blas
from .base import PartedSource, RowResults, Run, Score, Source
from .frames.arrays import ArraySource

T = TypeVar("T")
OfPart: TypeAlias = Callable[[int, Iterator[Batch]], T]  # from the number of a part and its batches
Array = NDArray[Any]

# Results merged at a time. Which ones depends on their number alone, so that neither the order in which parts are done
# nor a part that is done twice changes anything.
FAN_IN = 16

# What a part comes to: a result, nothing where it has no rows, or an error. An error travels as a value, for engines
# wrap what is raised, and try again what cannot succeed.
Outcome: TypeAlias = T | SufficeError | None


class ClusterSource(PartedSource):
    """Rows in the partitions of an engine: functions are sent to them, and small results come back."""

    is_lazy = True

    def here(self) -> Source:
        return self.in_memory()

    def reduce(self, map_batch: Callable[[Batch], T], merge: Callable[[T, T], T], run: Run[T] | None = None) -> T:  # noqa: ARG002
        return self.reduce_parts(partial(_total, map_batch, merge), merge)

    def reduce_parts(self, of_part: OfPart[T], merge: Callable[[T, T], T]) -> T:
        outcome = self._outcome(of_part, merge)
        if isinstance(outcome, SufficeError):
            raise outcome
        if outcome is None:
            shape = (0, self.n_features)
            raise DataError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
        return outcome

    @abstractmethod
    def _outcome(self, of_part: OfPart[T], merge: Callable[[T, T], T]) -> Outcome[T]:
        """Return the merged results of all partitions."""

    def map_rows(self, score: Score, results: RowResults, refuse: Callable[[Source], object]) -> Any:
        return self._map_parts(partial(_scored, score, results, refuse), results)

    @abstractmethod
    def _map_parts(self, work: Callable[[ArraySource], Array], results: RowResults) -> Any:
        """Apply `work` to the rows of each partition, lazily, as a table or column of the same engine."""


def _scored(score: Score, results: RowResults, refuse: Callable[[Source], object], part: ArraySource) -> Array:
    return part.map_rows(score, results, refuse)


def part_source(X: Any, y: Any = None, weight: Any = None) -> ArraySource:
    """Return a partition as a source in memory. All its weights may be zero, because other partitions may have
    weight."""
    table, y, weight, frame = converted(X, y, weight)
    source = ArraySource(table, y, None, frame)
    if weight is not None:
        source.weight = checked_weight(as_column(weight), len(table))
    source.n_jobs = 1  # the engine works on several parts at a time
    return source


def part_outcome(of_part: OfPart[T], number: int, tables: Iterable[tuple[Any, Any, Any]]) -> Outcome[T]:
    """Return the result of one partition, from its rows, labels and weights."""
    batches = chain.from_iterable(_batches(*table) for table in tables)
    try:
        with single_threaded_blas():
            first = next(batches, None)
            return None if first is None else of_part(number, chain([first], batches))
    except SufficeError as error:
        return error


def _batches(X: Any, y: Any, weight: Any) -> Iterator[Batch]:
    if X.shape[0]:
        source = part_source(X, y, weight)
        yield from (source.batch(*piece) for piece in source.pieces())


def _total(map_batch: Callable[[Batch], T], merge: Callable[[T, T], T], number: int, batches: Iterator[Batch]) -> T:  # noqa: ARG001
    return reduce(merge, map(map_batch, batches))


def merged(merge: Callable[[T, T], T], outcomes: Iterable[Outcome[T]]) -> Outcome[T]:
    """Merge the results of neighbouring partitions in order; return the first error if there is one."""

    def both(a: Outcome[T], b: Outcome[T]) -> Outcome[T]:
        if a is None or isinstance(b, SufficeError):
            return a if isinstance(a, SufficeError) else b
        if b is None or isinstance(a, SufficeError):
            return a
        try:
            return merge(a, b)
        except SufficeError as error:
            return error

    return reduce(both, outcomes, None)


def tree(leaves: Sequence[Any], join: Callable[[list[Any]], Any]) -> Any:
    """Merge neighbours until one is left."""
    level = list(leaves)
    while len(level) > 1:
        level = [join(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return level[0]


def wanted_columns(columns: list[Any], y: Any, weight: Any, names: tuple[str, ...] | None) -> list[Any]:
    """The feature columns: those that are asked for, or all but labels and weights."""
    features = feature_columns(columns, y, weight)
    if names is None:
        return features
    lacking = [name for name in names if name not in columns]
    if lacking:
        raise DataError(f"X has no column {listed(lacking)}; its columns are {listed(columns, 10)}")
    return list(names)
