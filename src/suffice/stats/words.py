"""How often each word occurs, or in how many documents, class by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError, StatisticsError
from ..kernels.words import CountedWords, InvalidTextError, WordCounts, Words
from ..lines import counted
from ..tables.batch import Batch
from ..tables.labels import positions, same
from ..tables.table import Table
from ..tables.tokens import PATTERN, Tokens, holds_tokens, texts_of
from .base import (
    are_weights,
    by_class,
    frozen,
    names_from_arrays,
    names_to_arrays,
    settle,
    spread,
    vocabulary,
)
from .by_name import StatisticsByName

Array = NDArray[Any]

_ROUNDING = 1e-12  # less of a weight than this is none


class ColumnWords(CountedWords):
    """The words of one column. A word is known by its bytes, or by its bucket where words are hashed."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """The number of words."""
        return len(self.counts.starts) - 1

    def matrix(self, k: int) -> Any:
        """The counts as a sparse matrix of classes by words."""
        from scipy.sparse import csc_array

        starts, label, value = self.counts
        return csc_array((value, label, starts), shape=(k, self.size))

    def with_matrix(self, matrix: Any, having: Array) -> ColumnWords:
        """The same words with other counts."""
        matrix.sort_indices()
        counts = WordCounts.of(matrix.indptr, matrix.indices, matrix.data.astype(np.float64))
        return self._replace(counts=counts, having=having)

    def kept(self, which: Array) -> ColumnWords:
        """Some of the words, (v,) bool."""
        if which.all():
            return self
        lengths = np.diff(self.counts.starts)
        stored = np.repeat(which, lengths)
        starts = np.concatenate([[0], np.cumsum(lengths[which])])
        count = WordCounts.of(starts, self.counts.label[stored], self.counts.value[stored])
        words = None if self.words is None else self._words(which)
        return ColumnWords(words, count, self.having[which])

    def _words(self, which: Array) -> Words:
        assert self.words is not None
        lengths = np.diff(self.words.ends, prepend=0)
        return Words(self.words.letters[np.repeat(which, lengths)], np.cumsum(lengths[which]))

    def without_counts(self) -> ColumnWords:
        """The same words, of which there are none."""
        none = WordCounts(np.zeros_like(self.counts.starts), np.empty(0, np.int32), np.empty(0))
        return self._replace(counts=none, having=np.zeros_like(self.having))


def _no_words(hashed: int | None) -> ColumnWords:
    none = WordCounts(np.zeros((hashed or 0) + 1, np.int32), np.empty(0, np.int32), np.empty(0))
    return ColumnWords(None if hashed else Words(np.empty(0, np.uint8), np.empty(0, np.int64)), none, np.empty(0))


def _added(a: ColumnWords, b: ColumnWords) -> ColumnWords:
    """The counts of both."""
    return ColumnWords(*kernels.active.add_words(a, b))


@dataclass(frozen=True, slots=True, eq=False)
class WordStats(StatisticsByName):
    """How often each word of columns of text occurs in every class, or in how many of its documents.

    Parameters
    ----------
    classes : array of shape (k,)
        The sorted labels.
    weight : array of shape (k,)
        The total weight of each class.
    columns : tuple of ColumnWords
        The words of each column.
    missing : array of shape (k, d)
        The weight of the rows where the text is missing.
    tokens : Tokens
        How text was cut into words.
    presence : bool, default=False
        Whether documents are counted rather than occurrences.
    names : tuple of str, optional
        The names of the columns.
    as_given : bool, default=False
        Whether some words were given as lists of tokens, which may hold spaces.

    Examples
    --------
    >>> from suffice.sources import as_source
    >>> a = WordStats.of(as_source(["a good film", "good, good!"], ["x", "y"]).batch(0, 2))
    >>> a.words().tolist(), a.counts().toarray()
    (['film', 'good'], array([[1., 1.],
           [0., 2.]]))
    """

    classes: Array
    weight: Array
    columns: tuple[ColumnWords, ...]
    missing: Array
    tokens: Tokens
    presence: bool = False
    names: tuple[str, ...] | None = None
    as_given: bool = False

    sums: ClassVar[tuple[str, ...]] = ("weight", "missing")

    def __post_init__(self) -> None:
        settle(self, "weight", "missing")
        for column in self.columns:
            for array in (*(column.words or ()), *column.counts, column.having):
                frozen(array)

    def __repr__(self) -> str:
        what = "buckets" if self.tokens.hashed else "words"
        size = f"{len(self.classes)} classes, {self.n_features} features, {sum(c.size for c in self.columns)} {what}"
        return f"WordStats({'presence' if self.presence else 'sum'}, {size}, weight {counted(self.weight.sum())})"

    @property
    def n_features(self) -> int:
        return len(self.columns)

    def category_kinds(self) -> dict[int, str]:
        return dict.fromkeys(range(self.n_features), "words")

    def words(self, column: int = 0) -> Array:
        """Return the words of a column, in the order of their code points.

        Parameters
        ----------
        column : int
            The index of the column.

        Returns
        -------
        array of str of shape (v,)
            DataError where words were hashed.

        Examples
        --------
        >>> from suffice import MultinomialClassifier
        >>> clf = MultinomialClassifier().fit(["a good film", "good, good!"], ["x", "y"])
        >>> clf.statistics_.words().tolist()
        ['film', 'good']
        """
        if self.tokens.hashed:
            raise DataError("words that are hashed are not kept; leave hashed out of Tokens to have them")
        words = self.columns[column].words
        assert words is not None
        return np.array(texts_of(words).to_pylist(), object)

    def counts(self, column: int = 0) -> Any:
        """Return how often each class has each word of a column.

        Parameters
        ----------
        column : int
            The index of the column.

        Returns
        -------
        scipy.sparse.csc_array of shape (k, v)
            The counts.

        Examples
        --------
        >>> from suffice import MultinomialClassifier
        >>> clf = MultinomialClassifier().fit(["a good film", "good, good!"], ["x", "y"])
        >>> clf.statistics_.counts().toarray()  # of film and good
        array([[1., 1.],
               [0., 2.]])
        """
        return self.columns[column].matrix(len(self.classes))

    @classmethod
    def zeros(
        cls,
        classes: Any,
        n_features: int,
        tokens: Tokens | None = None,
        presence: bool = False,
        names: tuple[str, ...] | None = None,
    ) -> Self:
        """Return the statistic of no rows.

        Parameters
        ----------
        classes : array-like of shape (k,)
            Labels, in any order; there may be none.
        n_features : int
            The number of columns.
        tokens : Tokens, optional
            How text is cut into words.
        presence : bool, default=False
            Whether documents are counted rather than occurrences.
        names : tuple of str, optional
            The names of the columns.

        Returns
        -------
        WordStats
            The identity of addition.

        Examples
        --------
        >>> from suffice import WordStats
        >>> WordStats.zeros(["b", "a"], n_features=1)
        WordStats(sum, 2 classes, 1 features, 0 words, weight 0)
        """
        classes, tokens = vocabulary(classes), Tokens.of(tokens).counting
        k, none = len(classes), tuple(_no_words(tokens.hashed) for _ in range(n_features))
        return cls(classes, np.zeros(k), none, np.zeros((k, n_features)), tokens, presence, names)

    @classmethod
    def of(cls, batch: Batch, tokens: Tokens | None = None, presence: bool = False) -> Self:
        """Return the statistic of one batch of labelled rows.

        Parameters
        ----------
        batch : Batch
            Rows with labels, hard or soft, and weights where they have any.
        tokens : Tokens, optional
            How text is cut into words.
        presence : bool, default=False
            Count the documents that have a word, rather than its occurrences.

        Returns
        -------
        WordStats
            What is kept of the rows.

        Examples
        --------
        >>> from suffice import Tokens, WordStats
        >>> from suffice.tables.batch import Batch
        >>> texts = Batch.of([["a good film"], ["good, good!"]], ["x", "x"])
        >>> stats = WordStats.of(texts, Tokens(stop_words=["film"]), presence=True)
        >>> stats.words().tolist(), stats.counts().toarray()
        (['good'], array([[2.]]))
        """
        try:
            hard, soft = (
                partial(of, tokens=Tokens.of(tokens).counting, presence=presence)
                for of in (cls._of_table, cls._of_soft)
            )
            return by_class(batch, hard, soft)
        except InvalidTextError as error:
            raise DataError(
                f"the text of row {batch.start + error.row} is not valid UTF-8; decode it again, as in "
                "bytes.decode('utf-8', 'replace')"
            ) from None

    @classmethod
    def _of_table(
        cls, table: Table, classes: Array, code: Array, weight: Array | None, tokens: Tokens, presence: bool
    ) -> Self:
        if weight is not None and not weight.all():  # rows of weight zero are absent, whatever they hold
            kept = np.flatnonzero(weight)
            try:
                some = cls._of_table(table[kept], classes, code[kept], weight[kept], tokens, presence)
            except InvalidTextError as error:
                raise InvalidTextError(int(kept[error.row])) from None
            return some
        k, found, columns = len(classes), [], table.columns()
        missing, as_given = np.zeros((k, len(columns))), False
        for j, column in enumerate(columns):
            documents, gone = tokens.documents(column, table.column_name(j))
            found.append(ColumnWords(*kernels.active.word_counts(documents, tokens.rules, code, weight, presence)))
            if gone is not None:
                missing[:, j] = np.bincount(code, gone if weight is None else gone * weight, minlength=k)
            as_given |= holds_tokens(column)
        total = np.bincount(code, weight, minlength=k).astype(np.float64)
        return cls(classes, total, tuple(found), missing, tokens, presence, table.names, as_given)

    @classmethod
    def _of_soft(
        cls, table: Table, classes: Array, share: Array, weight: Array | None, tokens: Tokens, presence: bool
    ) -> Self:
        """The same of rows (n,) with soft labels (n, k): text is read once, every document as a class of its own."""
        from scipy.sparse import csr_array

        share = share if weight is None else share * weight[:, None]
        n, total = len(share), share.sum(axis=1)
        documents = np.arange(n, dtype=np.int32)
        own = cls._of_table(table, documents, documents, (total > 0).astype(np.float64), tokens, presence)
        columns, by_class = [], csr_array(share.T)
        for column in own.columns:
            counts = column.matrix(n)
            having = total @ (counts > 0) if column.words is not None else column.having
            columns.append(column.with_matrix((by_class @ counts).tocsc(), having))
        return replace(
            own, classes=classes, weight=share.sum(axis=0), columns=tuple(columns), missing=share.T @ own.missing
        )

    def faded(self, factor: float) -> Self:
        columns = tuple(
            column._replace(
                counts=column.counts._replace(value=column.counts.value * factor), having=column.having * factor
            )
            for column in self.columns
        )
        return replace(self, weight=self.weight * factor, missing=self.missing * factor, columns=columns)

    def aligned(self, classes: Array) -> Self:
        if same(classes, self.classes):
            return self
        at, k = positions(self.classes, classes), len(classes)
        columns = tuple(
            column._replace(counts=column.counts._replace(label=at[column.counts.label].astype(np.int32)))
            for column in self.columns
        )
        weight, missing = spread(self.weight, at, k), spread(self.missing, at, k)
        return replace(self, classes=classes, weight=weight, missing=missing, columns=columns)

    def _with_columns(self, names: tuple[str, ...], own: Mapping[str, int]) -> Self:
        columns = tuple(self.columns[own[n]] if n in own else _no_words(self.tokens.hashed) for n in names)
        missing = np.stack([self.missing[:, own[n]] if n in own else self.weight for n in names], axis=1)
        return replace(self, columns=columns, missing=missing, names=names)

    def _check_columns(self, other: Self) -> None:
        StatisticsByName._check_columns(self, other)
        if self.presence != other.presence:
            raise StatisticsError(
                "counts of words and of documents that have them cannot be merged: they are of different models"
            )
        if self.tokens != other.tokens:
            raise StatisticsError(
                f"words that were found in different ways cannot be merged: {self.tokens.to_dict()} and "
                f"{other.tokens.to_dict()}; fit both with the same Tokens"
            )

    def _merged(self, other: Self) -> Self:
        one, two = self._over_all_columns(other)
        return replace(
            one,
            weight=one.weight + two.weight,
            missing=one.missing + two.missing,
            columns=tuple(map(_added, one.columns, two.columns)),
            names=one.names if one.names is not None else two.names,
            as_given=one.as_given or two.as_given,
        )

    def _without(self, other: Self) -> Self:
        (one, two), k = self._over_all_columns(other), len(self.classes)
        weight, missing = _difference(one.weight, two.weight), _difference(one.missing, two.missing)
        columns = []
        for a, b in zip(one.columns, two.columns, strict=True):
            a, b = _added(a, b.without_counts()), _added(b, a.without_counts())
            before, gone = a.matrix(k), b.matrix(k)
            if (gone - before * (1 + 1e-9)).data.max(initial=0.0) > 1e-9:
                raise StatisticsError(
                    "cannot forget rows that were never learnt: the count of a word would be negative"
                )
            rest = (before - gone).multiply(before * (1 - _ROUNDING) > gone)
            rest = rest.multiply((weight > 0)[:, None]).tocsc()  # nothing but rounding in a class that has no rows
            rest.eliminate_zeros()
            left = a.with_matrix(rest, _difference(a.having, b.having))
            columns.append(left if left.words is None else left.kept(np.diff(left.counts.starts) > 0))
        return replace(one, weight=weight, missing=missing, columns=tuple(columns), names=one.names or two.names)

    def is_finite(self) -> bool:
        with np.errstate(over="ignore"):
            sums = [column.counts.value.sum() for column in self.columns]
        return bool(np.isfinite(sums).all() and np.isfinite(self.weight).all())

    def narrowed(self, tokens: Tokens) -> Self:
        """Return the counts for tokens of which these hold more.

        Parameters
        ----------
        tokens : Tokens
            With n-grams of fewer sizes, or, without n-grams, with more stop words. What is chosen from counts, such as
            `min_df`, does not matter here.

        Returns
        -------
        WordStats
            DataError where the counts do not tell.

        Examples
        --------
        >>> from suffice import MultinomialClassifier, Tokens
        >>> clf = MultinomialClassifier(tokens=Tokens(ngrams=(1, 2))).fit(["a good film", "good!"], ["x", "y"])
        >>> clf.statistics_.narrowed(Tokens()).words().tolist()
        ['film', 'good']
        """
        wanted, own = tokens.counting, self.tokens
        if wanted == own:
            return self
        stop = set(wanted.stop_words or ()) - set(own.stop_words or ())
        alike = replace(wanted, ngrams=own.ngrams, stop_words=own.stop_words) == own and not own.hashed
        fewer = own.ngrams[0] <= wanted.ngrams[0] <= wanted.ngrams[1] <= own.ngrams[1]
        counts_tokens = wanted.ngrams == own.ngrams or (own.pattern == PATTERN and not self.as_given)
        stops = wanted.stop_words == own.stop_words or (
            own.ngrams == (1, 1) and set(own.stop_words or ()) <= set(wanted.stop_words or ())
        )
        if not (alike and fewer and counts_tokens and stops):
            raise DataError(
                f"words counted with Tokens({own.to_dict()}) do not tell those of Tokens({wanted.to_dict()}); fit again"
            )
        import pyarrow.compute as pc

        columns = []
        for column in self.columns:
            assert column.words is not None
            words = texts_of(column.words)
            size = 1 + pc.count_substring(words, " ").to_numpy(zero_copy_only=False)
            within = (size >= wanted.ngrams[0]) & (size <= wanted.ngrams[1])
            kept = within if counts_tokens and wanted.ngrams != own.ngrams else np.ones(column.size, bool)
            if stop:
                kept = kept & ~np.isin(np.array(words.to_pylist(), object), list(stop))
            columns.append(column.kept(kept))
        return replace(self, columns=tuple(columns), tokens=wanted)

    def to_arrays(self) -> dict[str, Array]:
        arrays = {
            "weight": self.weight,
            "missing": self.missing,
            "presence": np.array(self.presence),
            "as_given": np.array(self.as_given),
            "tokens": self.tokens.to_array(),
        }
        for j, column in enumerate(self.columns):
            if column.words is not None:
                arrays |= {f"letters_{j}": column.words.letters, f"ends_{j}": column.words.ends}
            arrays |= {f"{name}_{j}": part for name, part in column.counts._asdict().items()}
            arrays[f"having_{j}"] = column.having
        return arrays | names_to_arrays(self.names)

    @classmethod
    def from_arrays(cls, classes: Array, arrays: Mapping[str, Array]) -> Self:
        if not {"weight", "missing", "presence", "tokens"} <= set(arrays):
            raise StatisticsError(f"these are not the arrays of word counts: {sorted(arrays)}")
        k = len(classes)
        try:
            weight, missing = (np.array(arrays[name], np.float64) for name in ("weight", "missing"))
            presence, as_given = (bool(arrays.get(name, False)) for name in ("presence", "as_given"))
            tokens, names = Tokens.from_array(arrays["tokens"]).counting, names_from_arrays(arrays)
            if weight.shape != (k,) or missing.ndim != 2 or len(missing) != k:
                raise ValueError("weights do not fit the classes")
            d = missing.shape[1]
            columns = tuple(_column_from_arrays(j, k, tokens.hashed, arrays) for j in range(d))
        except (KeyError, TypeError, ValueError, DataError) as error:
            raise StatisticsError(f"arrays of word counts are invalid: {error}") from None
        if not are_weights(weight, missing) or not d:
            raise StatisticsError("arrays of word counts are invalid: weights must be finite and not negative")
        if (missing > weight[:, None] * (1 + 1e-9)).any() or (names is not None and len(names) != d):
            raise StatisticsError("more texts are missing than there are rows, or names do not fit")
        for column in columns:
            room = (weight * (1 + 1e-9) + 1e-9)[column.counts.label]
            if (presence and (column.counts.value > room).any()) or (weight[column.counts.label] == 0).any():
                raise StatisticsError("more documents have a word than there are")
        return cls(np.array(classes), weight, columns, missing, tokens, presence, names, as_given)


def _difference(before: Array, gone: Array) -> Array:
    rest = before - gone
    return np.where(rest <= _ROUNDING * before, 0.0, rest)


def _column_from_arrays(j: int, k: int, hashed: int | None, arrays: Mapping[str, Array]) -> ColumnWords:
    """The words of a column; KeyError or ValueError where the arrays are damaged."""
    starts, label = np.array(arrays[f"starts_{j}"], np.int64), np.array(arrays[f"label_{j}"], np.int32)
    value, words, having = np.array(arrays[f"value_{j}"], np.float64), None, np.empty(0)
    if not hashed:
        words = Words(np.array(arrays[f"letters_{j}"], np.uint8), np.array(arrays[f"ends_{j}"], np.int64))
        having = np.array(arrays[f"having_{j}"], np.float64)
    size = hashed or len(words.ends)  # type: ignore[union-attr]
    shapes = (starts.shape, label.shape, value.shape, having.shape) == (
        (size + 1,),
        value.shape,
        (len(value),),
        (0 if hashed else size,),
    )
    if not shapes or starts[0] != 0 or starts[-1] != len(value) or (np.diff(starts) < 0).any():
        raise ValueError("counts do not fit the words")
    if not are_weights(value, having):
        raise ValueError("counts must be finite and not negative")
    rising = np.ones(len(label), bool)
    rising[1:] = label[1:] > label[:-1]
    rising[starts[:-1][starts[:-1] < len(label)]] = True
    if not rising.all() or (len(label) and not 0 <= label.min() <= label.max() < k):
        raise ValueError("the classes of a word are not in order")
    column = ColumnWords(words, WordCounts.of(starts, label, value), having)
    if words is not None:
        _check_words(column)
    return column


def _check_words(column: ColumnWords) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    assert column.words is not None
    letters, ends = column.words
    if letters.ndim != 1 or ends.ndim != 1 or (np.diff(ends, prepend=0) < 0).any():
        raise ValueError("words do not end where they should")
    if (ends[-1] if len(ends) else 0) != len(letters):
        raise ValueError("words do not end where they should")
    words = texts_of(column.words)
    words.validate(full=True)
    raw = words.view(pa.large_binary())
    if len(raw) > 1 and not pc.all(pc.less(raw[:-1], raw[1:])).as_py():
        raise ValueError("words are not in order")
