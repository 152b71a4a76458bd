"""Tables in memory: columns in their original types, which can be read as numbers or as categories."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Number, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, FamilyError, as_family, remedy
from ..threads import ahead
from .labels import is_missing
from .times import is_moment, moment_texts
from .vocabulary import vocabulary

Array = NDArray[Any]
LOOK = 10_000  # rows that tell what the columns of files, databases and clusters hold
Rows = slice | Array  # some rows of a table: a range of them, or their positions


class Column(ABC):
    """One column."""

    kind: str  # "float", "integer", "boolean", "text" (categories of any kind) or "other"
    dtype: str  # what its library calls it

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, rows: Rows) -> Column: ...

    @abstractmethod
    def floats(self) -> Array:
        """The values as floats, (n,), with NaN where they are missing."""

    @abstractmethod
    def coded(self) -> tuple[Array, Array]:
        """Distinct values, none of them missing, in any order, and an int32 code for each row: -1 where it is
        missing."""

    @abstractmethod
    def missing(self) -> Array:
        """Which values are missing, (n,)."""

    @property
    def declares(self) -> bool:
        """Whether `coded` gives the values that its type declares, whether a row has them or not."""
        return False

    def bytes_per_row(self) -> float:
        """About how many bytes of text a value has; 0 for numbers and codes."""
        return 0.0


_KINDS = {"f": "float", "i": "integer", "u": "integer", "b": "boolean", "O": "text", "U": "text", "S": "text"}


@dataclass(frozen=True, slots=True)
class ArrayColumn(Column):
    """Values in a NumPy array."""

    values: Array  # (n,) numbers, strings or objects
    kind: str
    dtype: str

    @classmethod
    def of(cls, values: Array) -> ArrayColumn:
        return cls(values, _KINDS.get(values.dtype.kind, "other"), str(values.dtype))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Rows) -> ArrayColumn:
        return ArrayColumn(self.values[rows], self.kind, self.dtype)

    def floats(self) -> Array:
        if self.kind == "other":
            raise DataError(f"{self.dtype} is not numbers")
        return as_float(self.values)

    def coded(self) -> tuple[Array, Array]:
        if self.values.dtype.kind in "mM":
            return moment_texts(self.values)
        if self.kind == "other":
            raise DataError(f"{self.dtype} is neither numbers nor categories; convert it to text first")
        try:
            distinct, code = kernels.active.encode(self.values)
        except TypeError as error:
            raise DataError(
                f"values cannot be compared ({error}); convert them to text or numbers, or drop them"
            ) from None
        if self.values.dtype == object:
            distinct, code = _booleans_apart(self.values, distinct, code)
        return without_missing(distinct, code)

    def missing(self) -> Array:
        return missing_cells(self.values)

    def bytes_per_row(self) -> float:
        if self.values.dtype != object:
            return 0.0
        some = self.values[:: max(1, len(self.values) // _FEW)].tolist()
        lengths = (len(v) if isinstance(v, str) else _LONG * len(v) for v in some if isinstance(v, str | list))
        return sum(lengths) / max(len(some), 1)


_FEW = 256  # values that tell how long text is
_FIRST = 1000  # rows that show whether the values of text occur again
_LONG = 64  # bytes of text that is not a category; a list of tokens has more


def _booleans_apart(values: Array, distinct: Array, code: Array) -> tuple[Array, Array]:
    """Return distinct values and codes, with True and 1, and False and 0, as different values."""
    if set(map(type, distinct.tolist())) <= {str, type(None)}:
        return distinct, code
    for c, value in enumerate(distinct.tolist()):
        if not isinstance(value, Number | np.bool_) or value not in (0, 1):
            continue
        rows = np.flatnonzero(code == c)
        boolean = np.fromiter((isinstance(v, bool | np.bool_) for v in values[rows]), bool, len(rows))
        if boolean.any() and not boolean.all():
            distinct = np.append(distinct, np.array([bool(value)], object))
            distinct[c] = values[rows[boolean.argmin()]]
            code[rows[boolean]] = len(distinct) - 1
    return distinct, code


@dataclass(frozen=True, slots=True)
class CodedColumn(Column):
    """Categories with a code for each row, as pandas has them."""

    code: Array  # (n,) integers, negative where missing
    categories: Array
    dtype: str
    kind: str = "text"
    declared: bool = False  # whether the categories are those of the type, and not just those of some rows
    settled: bool = False  # whether the categories are a vocabulary: none of them is missing, and they are in order

    def __len__(self) -> int:
        return len(self.code)

    def __getitem__(self, rows: Rows) -> CodedColumn:
        return CodedColumn(self.code[rows], self.categories, self.dtype, self.kind, self.declared, self.settled)

    def floats(self) -> Array:
        raise DataError("categories are not numbers")

    def coded(self) -> tuple[Array, Array]:
        code = self.code.astype(np.int32, copy=False)
        return (self.categories, code) if self.settled else without_missing(self.categories, code)

    @property
    def declares(self) -> bool:
        return self.declared

    def missing(self) -> Array:
        return np.asarray(self.coded()[1] < 0)


def without_missing(distinct: Array, code: Array) -> tuple[Array, Array]:
    """Distinct values and codes, with -1 for the codes of missing values."""
    items = distinct.tolist()
    if set(map(type, items)) <= {str, int, bool}:  # none of which has a missing value
        return distinct, code
    missing = np.fromiter(map(is_missing, items), bool, len(items))
    if not missing.any():
        return distinct, code
    rank = np.cumsum(~missing, dtype=np.int32) - 1
    rank[missing] = -1
    return distinct[~missing], np.append(rank, np.int32(-1))[code]


class Table(ABC):
    """Rows of columns that may be of different kinds."""

    names: tuple[str, ...] | None

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, rows: Rows) -> Self: ...

    @abstractmethod
    def take(self, columns: Sequence[int]) -> Table:
        """Some of the columns."""

    @abstractmethod
    def floats(self) -> Array:
        """All columns as numbers, (n, d) float32 or float64 with any strides, NaN where they are missing."""

    @abstractmethod
    def columns(self) -> list[Column]: ...

    @abstractmethod
    def missing(self) -> Array:
        """Which cells are missing, (n, d)."""

    def numbers(self) -> kernels.Numbers:
        """As `floats`, or one array per column if they are separate already, so that nothing is copied."""
        return self.floats()

    def names_of(self, columns: Sequence[int]) -> tuple[str, ...]:
        """Return the names of some columns: x0, x1 and so on for a table without names."""
        return tuple(self.names[j] if self.names else f"x{j}" for j in columns)

    def column_name(self, j: int) -> str:
        """Return the name or index of a column for a message."""
        return repr(self.names[j] if self.names else j)

    def _refuse_words(self, detail: str = "") -> None:
        """Raise an error that names the columns that do not hold numbers, if there are any."""
        refused = {}
        for j, column in enumerate(self.columns()):
            try:
                column.floats()
            except (DataError, TypeError):
                refused[j] = column.dtype
        if refused:
            found = [f"{self.column_name(j)} ({dtype})" for j, dtype in refused.items()]
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            first = self.names[min(refused)] if self.names else min(refused)
            which = f"column{'s' * (len(found) > 1)} {', '.join(found[:5])}{more} do{'es' * (len(found) == 1)}"
            it = "it" if len(found) == 1 else "them"
            mixed = remedy("MixedClassifier({})", "--model mixed {}").format(as_family(first, "categorical"))
            raise FamilyError(
                f"this model needs numbers, but {which} not hold numbers; convert {it}, leave {it} out, or use the "
                f"family 'categorical', as in {mixed}{detail}",
                list(refused),
            )


@dataclass(frozen=True, slots=True)
class Matrix(Table):
    """One array for all columns. Rows that are chosen by index are copied when they are read."""

    whole: Array  # (n, d) of any dtype
    names: tuple[str, ...] | None = None
    chosen: Array | None = None  # the positions of these rows in the whole, unless they are all of them

    @property
    def values(self) -> Array:
        """(n, d) of any dtype"""
        return self.whole if self.chosen is None else np.take(self.whole, self.chosen, axis=0)

    @property
    def n_features(self) -> int:
        return int(self.whole.shape[1])

    def __len__(self) -> int:
        return len(self.whole if self.chosen is None else self.chosen)

    def __getitem__(self, rows: Rows) -> Matrix:
        if self.chosen is not None:
            return replace(self, chosen=self.chosen[rows])
        return replace(self, whole=self.whole[rows]) if isinstance(rows, slice) else replace(self, chosen=rows)

    def take(self, columns: Sequence[int]) -> Matrix:
        return Matrix(self.whole[:, contiguous(columns)], self.names_of(columns), self.chosen)

    def floats(self) -> Array:
        try:
            return as_float(self.values)
        except DataError as error:
            self._refuse_words(f" ({error})")
            raise

    def columns(self) -> list[Column]:
        values = self.values
        return [ArrayColumn.of(values[:, j]) for j in range(self.n_features)]

    def missing(self) -> Array:
        return missing_cells(self.values)


def check_rows(indptr: Array, stored: int) -> None:
    """Refuse compressed rows that do not follow each other within so many stored cells."""
    if indptr[0] < 0 or np.diff(indptr).min(initial=0) < 0 or indptr[-1] > stored:
        raise DataError("the sparse matrix is damaged: its rows do not begin and end where it has cells")


@dataclass(frozen=True, slots=True)
class Sparse(Table):
    """Compressed rows; what is not stored is zero. Some of the rows share the values and indices of the whole."""

    indptr: Array  # (n + 1,) where each row begins in the other two; the first may begin anywhere
    indices: Array  # column
    data: Array  # value
    n_features: int = field()  # or else the property of the base class would be its default
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: Rows) -> Sparse:
        if not isinstance(rows, slice):
            part = self.matrix()[rows]
            return Sparse(part.indptr, part.indices, part.data, self.n_features, self.names)
        start, stop, _ = rows.indices(len(self))
        return replace(self, indptr=self.indptr[start : max(start, stop) + 1])

    def take(self, columns: Sequence[int]) -> Sparse:
        part = self.matrix()[:, list(columns)]
        return Sparse(part.indptr, part.indices, part.data, len(columns))

    @property
    def n_cells(self) -> int:
        """How many cells are stored."""
        return int(self.indptr[-1] - self.indptr[0])

    def stored(self) -> tuple[Array, Array]:
        """Columns and values of the stored cells of these rows."""
        used = slice(int(self.indptr[0]), int(self.indptr[-1]))
        return self.indices[used], self.data[used]

    def check(self) -> None:
        """Raise an error about rows or column indices that do not exist: SciPy does not check them."""
        indices, _ = self.stored()
        check_rows(self.indptr, len(self.indices))
        if len(indices) and not (indices.min() >= 0 and indices.max() < self.n_features):
            raise DataError(f"the sparse matrix is damaged: it stores cells outside its {self.n_features} columns")

    def canonical(self) -> Sparse:
        """The same rows with no cell stored twice, and the columns of each row in order."""
        indices, _ = self.stored()
        ascending = np.ones(len(indices) + 1, bool)
        np.greater(indices[1:], indices[:-1], out=ascending[1:-1])
        ascending[self.indptr - self.indptr[0]] = True  # between rows
        if ascending.all():
            return self
        matrix = self.matrix()
        if matrix.dtype.kind == "f":
            matrix = matrix.astype(np.float64)  # in which sums of float32 do not overflow
        matrix.sum_duplicates()
        return replace(self, indptr=matrix.indptr, indices=matrix.indices, data=matrix.data)

    def matrix(self) -> Any:
        """The rows as a SciPy matrix of their own."""
        from scipy.sparse import csr_array

        indices, data = self.stored()
        shape = len(self), self.n_features
        matrix = csr_array((data, indices, self.indptr - self.indptr[0]), shape=shape, copy=True)
        own = Sparse(matrix.indptr, matrix.indices, matrix.data, self.n_features)
        own.check()  # the copy: somebody may change the other one meanwhile, and SciPy trusts what it is given
        return matrix

    def floats(self) -> Array:
        self.check()
        table = self.canonical()
        indices, data = table.stored()
        indices = indices.astype(
            np.intp
        )  # a copy: NumPy looks at indices twice, and somebody may change them meanwhile
        out = np.zeros((len(self), self.n_features), data.dtype if data.dtype.kind == "f" else np.float64)
        out[np.repeat(np.arange(len(self)), np.diff(table.indptr)), indices] = data
        return out

    def columns(self) -> list[Column]:
        raise DataError("a sparse matrix holds numbers, not categories; pass it dense, or as counts")

    def missing(self) -> Array:
        return missing_cells(self.floats())


@dataclass(frozen=True, slots=True)
class Frame(Table):
    """Columns of different kinds, with names."""

    parts: tuple[Column, ...]
    names: tuple[str, ...] | None
    n_rows: int
    features: tuple[Any, ...] = ()  # of the columns, whose values are known already
    derived: tuple[Column, ...] = ()  # these values

    @property
    def n_features(self) -> int:
        return len(self.parts)

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: Rows) -> Frame:
        n = len(range(*rows.indices(self.n_rows))) if isinstance(rows, slice) else len(rows)
        parts, derived = (tuple(part[rows] for part in some) for some in (self.parts, self.derived))
        return Frame(parts, self.names, n, self.features, derived)

    def take(self, columns: Sequence[int]) -> Frame:
        return Frame(tuple(self.parts[j] for j in columns), self.names_of(columns), self.n_rows)

    def numbers(self) -> kernels.Numbers:
        if all(part.kind in ("float", "integer", "boolean") for part in self.parts):
            columns = tuple(part.floats() for part in self.parts)
            if columns and all(column.dtype == np.float64 and column.flags.c_contiguous for column in columns):
                return columns
        return self.floats()

    def floats(self) -> Array:
        out = np.empty((len(self), self.n_features), order="F")
        for j, part in enumerate(self.parts):
            try:
                out[:, j] = part.floats()
            except (DataError, TypeError):
                self._refuse_words()
                raise
        return out

    def columns(self) -> list[Column]:
        return list(self.parts)

    def missing(self) -> Array:
        out = np.empty((len(self), self.n_features), bool)
        for j, part in enumerate(self.parts):
            out[:, j] = part.missing()
        return out


def missing_cells(values: Array) -> Array:
    """Which values of an array of any shape and dtype are missing: None, NaN, NaT and pandas.NA."""
    if values.dtype.kind in "fc":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, bool)
    return np.fromiter(map(is_missing, values.flat), bool, values.size).reshape(values.shape)


def contiguous(positions: Sequence[int] | Array) -> Rows:
    """Return indices as a slice if they are consecutive, so that taking them copies nothing."""
    at = np.asarray(positions, dtype=np.intp)
    first = int(at[0]) if len(at) else 0
    return slice(first, first + len(at)) if (np.diff(at) == 1).all() else at


def native(values: Array) -> Array:
    """Return values in native byte order, aligned, with strides of whole values."""
    if values.dtype.isnative and is_readable(values):
        return values
    return values.astype(values.dtype.newbyteorder("="))


def is_readable(values: Array) -> bool:
    """Whether values are aligned, and a whole number of them apart, unlike in some packed records."""
    flags = values.flags
    return flags.aligned and (flags.forc or all(stride % values.itemsize == 0 for stride in values.strides))


def as_float(X: Array) -> Array:
    """X itself where it is float32 or float64 in the machine's byte order, else a float64 copy."""
    if X.dtype in (np.float64, np.float32):
        return X if is_readable(X) else X.copy()
    if X.dtype == object:
        missing = missing_cells(X)
        X = np.where(missing, np.nan, X) if missing.any() else X
    if X.dtype.kind in "mM":
        raise DataError(f"{X.dtype} is not numbers")
    try:
        with np.errstate(over="ignore"):  # long doubles beyond the largest double are infinite
            return X.astype(np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError) and not any(map(is_moment, X.flat)):
            raise  # as scikit-learn expects of other objects
        raise DataError(f"X holds values that are not numbers: {error}") from None


def looked_at(column: Column) -> Column:
    """Return the column. Objects get the kind of their values, because lists of lists mix numbers and text."""
    if not isinstance(column, ArrayColumn) or column.values.dtype != object:
        return column
    for values in (column.values[:LOOK], column.values):  # the first ones are enough to see of most that they are text
        kinds = {_kind_of_value(value) for value in values.tolist() if not is_missing(value)}
        if not kinds or "text" in kinds:
            return column
    return replace(column, kind="float" if "float" in kinds else "integer" if "integer" in kinds else "boolean")


def encoded(table: Table, threads: int = 1) -> Table:
    """Return the table with the categories of text found once, and not again for some of its rows.

    Text whose values hardly ever occur again is left as it is, and so is long text.
    """
    if isinstance(table, Sparse):
        return table
    columns = [looked_at(column) for column in table.columns()]
    if all(column.kind != "text" for column in columns):
        return table
    parts = ahead(_encoded, columns, threads) if len(table) > LOOK else map(_encoded, columns)
    return Frame(tuple(parts), table.names, len(table))


def _encoded(column: Column) -> Column:
    if column.kind != "text" or column.bytes_per_row() > _LONG:
        return column
    try:
        if len(column) > _FIRST and any(map(_hardly_repeats, _samples(column))):
            return column
        categories, code = column.coded()
    except DataError:  # of objects such as dictionaries, which the schema refuses, unless they are dropped
        return column
    return CodedColumn(code, categories, column.dtype, declared=column.declares)


def _samples(column: Column) -> list[Column]:
    """The first rows of a column, and some from all over it, where these can be had without a copy."""
    some = [column[:_FIRST]]
    return [*some, column[:: len(column) // _FIRST]] if isinstance(column, ArrayColumn) else some


def _hardly_repeats(column: Column) -> bool:
    """Whether at least every second value of text is a new one, missing ones apart."""
    distinct, code = column.coded()
    return 0 < int(np.count_nonzero(code >= 0)) <= 2 * len(distinct)


def settled(table: Table, columns: Sequence[int]) -> Table:
    """Return the table with the vocabularies of some columns found once, and not again for some of its rows."""
    if not isinstance(table, Frame):
        return table
    parts = list(table.parts)
    for j in columns:
        if not (isinstance(own := parts[j], CodedColumn) and own.settled):
            distinct, code = own.coded()
            categories, index = vocabulary(distinct)
            code = np.append(index, -1).astype(np.int32)[code]
            parts[j] = CodedColumn(code, categories, own.dtype, declared=own.declares, settled=True)
    return replace(table, parts=tuple(parts))


def _kind_of_value(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return "boolean"
    return "integer" if isinstance(value, int | np.integer) else "float" if isinstance(value, Real) else "text"


RENAME = "rename the columns, such as by X.columns = X.columns.astype(str)"


def column_names(columns: list[Any]) -> tuple[str, ...] | None:
    """Feature names, if every column has a string for one."""
    others = [name for name in columns if not isinstance(name, str)]
    if others and len(others) < len(columns):
        raise TypeError(
            "Feature names are only supported if all input features have string names, unlike "
            f"{', '.join(map(repr, others[:5]))}; {RENAME}"
        )
    return None if others or not columns else tuple(columns)
