"""Columns of text: the words of each document, scored as they are read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import ColumnWarning, DataError, EmptyClassWarning, warn
from ..kernels.words import Documents, InvalidTextError, Words
from ..stats import CountStats, WordStats
from ..stats.counts import DENSE
from ..stats.words import ColumnWords
from ..tables.arrow import arrow_column
from ..tables.table import Table
from ..tables.tokens import Tokens
from .base import Density, seen_classes
from .linear import LinearDensity
from .multinomial import ComplementDensity
from .parameters import check_weights, times
from .predictive import PolyaDensity, PredictiveCounts
from .scorer import Wanted
from .sparse import SparseCountDensity
from .typicality import drawn_typicality
from .word_column import MAKING, WordColumn, invalid_text

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TextRows:
    """Rows of text, column by column."""

    values: tuple[Any, ...]  # Arrow arrays, as the users have them
    documents: tuple[Documents, ...]
    missing: Array  # (n, d) bool
    start: int = 0  # the index of the first row in those that were read

    def __len__(self) -> int:
        return len(self.missing)

    def pieces(self, n: int) -> Iterator[tuple[slice, TextRows]]:
        """n rows at a time, to be scored."""
        for start in range(0, len(self), n):
            rows = slice(start, min(start + n, len(self)))
            documents = tuple(each.of_rows(rows) for each in self.documents)
            yield rows, TextRows((), documents, self.missing[rows], self.start + start)


@dataclass(frozen=True, eq=False, repr=False)
class TextDensity(Density):
    """The words of columns of text: each column has its own probabilities of words, and columns are independent.

    Missing text drops out, and so do words that were never seen in training. Use `estimate` or `from_parameters` to
    make one.

    Parameters
    ----------
    parts : tuple of LinearDensity
        For each column the density of the counts of its words.
    words : tuple of Words
        These words, as UTF-8; empty where words are hashed.
    tokens : Tokens
        How text is cut into words.
    seen : array of bool of shape (k,)
        Which classes had rows; the others have log-likelihood -inf.
    weights : array of shape (d,), optional
        Factors of the columns, as `weighted` sets them.

    Examples
    --------
    >>> TextDensity.from_parameters([{"good": 3, "film": 1}, {"bad": 2, "film": 1}])
    TextDensity(2 classes, 1 features, 3 words)
    """

    family = "text"
    parts: tuple[LinearDensity, ...]
    words: tuple[Words, ...]
    tokens: Tokens
    seen: Array
    weights: Array | None = None

    reads_sparse = True

    @classmethod
    def estimate(
        cls,
        stats: WordStats,
        alpha: float = 1.0,
        tokens: Tokens | None = None,
        complement: bool | str = False,
        predictive: bool = False,
    ) -> Self:
        """Estimate the probabilities of the words: (count + alpha) / the sum of this over all words.

        Where presence is counted, they are those of a Bernoulli density.

        Parameters
        ----------
        stats : WordStats
            How often words occur, or in how many documents.
        alpha : float, default=1.0
            The pseudo-count of every word; 0 for maximum likelihood.
        tokens : Tokens, optional
            Which words count; all of them by default.
        complement : bool or "normalized"
            Score by the words of all other classes.
        predictive : bool
            Integrate over the probabilities.

        Returns
        -------
        TextDensity
            The density of the classes of the statistic.

        Examples
        --------
        >>> from suffice.sources import as_source
        >>> reviews = as_source(["a good film", "good, good!", "a bad film"], ["+", "+", "-"])
        >>> density = TextDensity.estimate(WordStats.of(reviews.batch(0, 3)))
        >>> density.vocabulary().tolist(), density.log_likelihood(["good"]).round(3)
        (['bad', 'film', 'good'], array([[-0.56 , -1.609]]))
        """
        tokens = replace(stats.tokens) if tokens is None else tokens
        seen = seen_classes(stats)
        chosen = [_chosen(column, tokens, float(stats.weight.sum())) for column in stats.narrowed(tokens).columns]
        parts = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyClassWarning)  # of classes without any text in a column
            for j, column in enumerate(chosen):
                observed = stats.weight - stats.missing[:, j] if stats.presence else stats.weight
                parts.append(_estimated(stats, column, observed, alpha, complement, predictive))
        return cls(tuple(parts), tuple(column.words or _NO_WORDS for column in chosen), tokens, seen)

    @classmethod
    def from_parameters(
        cls, counts: Sequence[Mapping[str, float]], alpha: float = 1.0, tokens: Tokens | None = None
    ) -> Self:
        """Make the density of one column of text from the counts of words in every class.

        Parameters
        ----------
        counts : sequence of k mappings of str to float
            How often every class has each of its words.
        alpha : float
            The pseudo-count of every word.
        tokens : Tokens, optional
            How text is cut into words.

        Returns
        -------
        TextDensity
            The density of k classes.

        Examples
        --------
        >>> density = TextDensity.from_parameters([{"good": 3, "film": 1}, {"bad": 2, "film": 1}])
        >>> density.log_likelihood(["a good film"]).round(3)
        array([[-1.119, -2.197]])
        """
        names = sorted({word for own in counts for word in own})
        table = np.array([[own.get(word, 0.0) for word in names] for own in counts], np.float64)
        part = SparseCountDensity.from_parameters(table, np.ones(len(table)), alpha)
        words = Words(*_as_arrays(names))
        return cls((part,), (words,), Tokens.of(tokens), np.ones(len(table), bool))

    def parameters(self) -> dict[str, Any]:
        """Return the densities of the counts of words, the words, and how text is cut into them.

        Returns
        -------
        dict
            "parts", "words", "tokens", "seen" and "weights".

        Examples
        --------
        >>> density = TextDensity.from_parameters([{"good": 3, "film": 1}, {"bad": 2, "film": 1}])
        >>> sorted(density.parameters()), density.parameters()["parts"]
        (['parts', 'seen', 'tokens', 'weights', 'words'], (SparseCountDensity(2 classes, 3 features),))
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def labelled_parameters(self, names: Sequence[Any]) -> dict[str, Any]:
        """Return the words of each column, and their probabilities or weights in each class.

        Parameters
        ----------
        names : sequence of str or int
            The names of the columns, or their indices.

        Returns
        -------
        dict
            For each column: "words", the most telling ones of each class (k, 10); "categories", all words (v,);
            "probabilities" (k, v), or for complement weights "weights". Only words where such a table is too large.

        Examples
        --------
        >>> density = TextDensity.from_parameters([{"good": 3, "film": 1}, {"bad": 2, "film": 1}])
        >>> shown = density.labelled_parameters(["review"])
        >>> shown["categories"][0].tolist(), shown["probabilities"][0].round(3)
        (['bad', 'film', 'good'], array([[0.143, 0.286, 0.571],
               [0.5  , 0.333, 0.167]]))
        """
        every = range(self.n_features)
        if self.tokens.hashed or any(part.n_features * self.n_classes > DENSE for part in self.parts):
            return {"columns": list(names)}
        tables = [self._by_class(j) for j in every]
        known = {
            "columns": list(names),
            "words": [self.top_words(column=j) for j in every],
            "categories": [self.vocabulary(j) for j in every],
        }
        return known | {"weights" if isinstance(self.parts[0], ComplementDensity) else "probabilities": tables}

    def of_one_class(self) -> dict[str, Any]:
        p = [self._by_class(j)[0] for j in range(self.n_features)]
        if not self.tokens.hashed:
            p = [dict(zip(self.vocabulary(j).tolist(), own.tolist(), strict=True)) for j, own in enumerate(p)]
        return {"p": p[0] if len(p) == 1 else p}

    def _by_class(self, j: int) -> Array:
        """The probabilities of the words of a column (k, v), or complement weights."""
        part, every = self.parts[j], range(self.n_classes)
        if isinstance(part, ComplementDensity):
            return np.stack([part.slopes.of_class(c) for c in every])
        return np.stack([_probabilities(part, c) for c in every])

    def top_words(self, n: int = 10, column: int = 0) -> Array:
        """Return the words that tell most for each class: frequent there, and rarer in the others.

        Parameters
        ----------
        n : int
            How many words, at most.
        column : int
            The index of the column.

        Returns
        -------
        array of str of shape (k, n)
            The most telling ones first.

        Examples
        --------
        >>> density = TextDensity.from_parameters([{"good": 3, "film": 1}, {"bad": 2, "film": 1}])
        >>> density.top_words(1).tolist()
        [['good'], ['bad']]
        """
        table = self._by_class(column)
        if isinstance(self.parts[column], ComplementDensity):
            telling = table - table.mean(axis=0)
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                telling = np.nan_to_num(table * np.log(table / table.mean(axis=0)))
        return np.asarray(self.vocabulary(column)[np.argsort(-telling, axis=1, kind="stable")[:, :n]])

    def checked(self) -> Self:
        parts = tuple(part.checked() for part in self.parts)
        sizes = [self.tokens.hashed or len(words.ends) for words in self.words]
        if [part.n_features for part in parts] != sizes or {part.n_classes for part in parts} != {len(self.seen)}:
            raise DataError("the words do not fit their counts")
        return replace(self, parts=parts)

    def vocabulary(self, column: int = 0) -> Array:
        """Return the words of a column: none where they are hashed.

        Parameters
        ----------
        column : int
            The index of the column.

        Returns
        -------
        array of str of shape (v,)
            In the order of their code points.

        Examples
        --------
        >>> density = TextDensity.from_parameters([{"good": 3, "film": 1}, {"bad": 2, "film": 1}])
        >>> density.vocabulary().tolist()
        ['bad', 'film', 'good']
        """
        return self._columns[column].texts()

    def __repr__(self) -> str:
        size = sum(part.n_features for part in self.parts)
        what = "buckets" if self.tokens.hashed else "words"
        return f"TextDensity({self.n_classes} classes, {self.n_features} features, {size} {what})"

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without tables of the kernels

    @property
    def n_classes(self) -> int:
        return len(self.seen)

    @property
    def n_features(self) -> int:
        return len(self.parts)

    def columns_of_text(self) -> frozenset[int]:
        return frozenset(range(self.n_features))

    @property
    def presence(self) -> bool:
        """Whether only the presence of a word counts."""
        return self.parts[0].presence

    @property
    def has_zeros(self) -> bool:
        return any(part.has_zeros for part in self.parts)

    def n_parameters(self) -> int:
        return self.n_classes * sum(part.n_features - (not self.presence) for part in self.parts)

    def category_kinds(self) -> dict[int, str]:
        return dict.fromkeys(range(self.n_features), "words")

    def of_classes(self, indices: Sequence[int]) -> Self:
        kept = list(indices)
        if kept == list(range(self.n_classes)):
            return self
        columns = tuple(column.of_classes(kept) for column in self._columns)
        return self._of_columns(columns, parts=tuple(column.density for column in columns), seen=self.seen[kept])

    def _of_columns(self, columns: tuple[WordColumn, ...], **changes: Any) -> Self:
        """The same density with changes, whose words are looked up where those of these columns are."""
        out = replace(self, **changes)
        out.__dict__["_own_columns"] = columns
        return out

    @property
    def _columns(self) -> tuple[WordColumn, ...]:
        with MAKING:
            return self._own_columns

    @cached_property
    def _own_columns(self) -> tuple[WordColumn, ...]:
        return tuple(WordColumn(*own, self.tokens) for own in zip(self.parts, self.words, strict=True))

    @property
    def takes_weights(self) -> bool:
        return True

    def weighted(self, weights: Array) -> Self:
        check_weights(weights, self.n_features)
        return self._of_columns(self._columns, weights=weights)

    # Rows.

    def read(self, table: Table) -> TextRows:
        values, documents, missing = [], [], np.zeros((len(table), table.n_features), bool)
        for j, column in enumerate(table.columns()):
            try:
                found, gone = self.tokens.documents(column, table.column_name(j))
            except InvalidTextError as error:
                raise invalid_text(error.row) from None
            values.append(column)
            documents.append(found)
            if gone is not None:
                missing[:, j] = gone
        return TextRows(tuple(values), tuple(documents), missing)

    def write(self, x: TextRows) -> Array:
        from ..tables.arrow import to_arrow

        out = np.empty(x.missing.shape, object)
        for j, column in enumerate(x.values):
            texts = to_arrow(column).to_pylist()
            out[:, j] = [None if gone else text for text, gone in zip(texts, x.missing[:, j], strict=True)]
        return out

    # Scores.

    def _score(self, X: TextRows, offset: Array | float, wanted: Wanted, relative: bool) -> bool:
        for rows, piece in X.pieces(_ROWS):
            scores = np.tile(np.where(self.seen, 0.0, -np.inf) + offset, (len(piece), 1))
            for j in range(self.n_features):
                self._add(piece, j, scores, relative)
            kernels.active.reduce(scores, *wanted.of_rows(rows))
        return True

    def _add(self, X: TextRows, j: int, scores: Array, relative: bool) -> None:
        """Add log p(words of a column | class) to scores (n, k)."""
        own = self._columns[j].scores(X.documents[j], X.start, relative)
        own[X.missing[:, j]] = 0.0
        if self.weights is not None:
            own = times(own, np.full(own.shape[1], self.weights[j]))
        with np.errstate(invalid="ignore"):
            scores += np.where(self.parts[j].seen, own, 0.0)  # a class whose texts are all missing knows no words

    def marginal(self, X: TextRows) -> Array:
        out = np.empty((len(X), self.n_classes))
        self.score(X, all=out)
        return out

    def explain(self, X: TextRows, c: int) -> Array:
        shares = np.empty((len(X), self.n_features))
        for rows, piece in X.pieces(_ROWS):
            for j in range(self.n_features):
                scores = np.zeros((len(piece), self.n_classes))
                self._add(piece, j, scores, relative=False)
                shares[rows, j] = scores[:, c] if self.seen[c] else -np.inf
        return shares

    def shares(self, X: TextRows) -> Array:
        shares = np.zeros((self.n_features, len(X), self.n_classes))  # texts are cut into words once for all classes
        for j, own in enumerate(shares):
            self._add(X, j, own, relative=True)
        return np.where(self.seen[:, None], np.moveaxis(shares, 0, 2), -np.inf)

    def explain_parts(self, X: TextRows, a: int, b: int) -> list[tuple[int, Array, Array, Array]]:
        found = []
        for j, part in enumerate(self.parts):
            counts = self._columns[j].counts(X.documents[j], X.start).values
            row = np.repeat(np.arange(len(X)), np.diff(counts.indptr))
            index, count = counts.stored()
            if isinstance(part, PredictiveCounts) or part.violations is not None or self.tokens.hashed:
                continue
            slope = part.slopes.of_class(b) - part.slopes.of_class(a)
            fine = ~X.missing[row, j]
            found.append((j, row[fine], self._columns[j].texts(index[fine]), (count * slope[index])[fine]))
        return found

    def unknown_cells(self, table: Table) -> Array:
        X = self.read(table)
        unknown = np.zeros(X.missing.shape, bool)
        for j in range(self.n_features):
            starts, codes = self._columns[j].codes(X.documents[j], X.start)
            row = np.repeat(np.arange(len(X)), np.diff(starts))
            unknown[row[codes < 0], j] = True
        return unknown

    # Missing text, and draws.

    def missing(self, X: TextRows) -> Array:
        return X.missing

    def hide(self, X: TextRows, hidden: Array) -> TextRows:
        return replace(X, missing=X.missing | hidden)

    def is_complete(self, X: TextRows) -> bool:  # noqa: ARG002  missing text drops out
        return True

    def fill(self, X: TextRows, posterior: Array) -> TextRows:  # noqa: ARG002  no text is what to expect
        return X

    def _completed(self, X: TextRows, by: TextRows) -> TextRows:
        texts = np.where(X.missing, self.write(by), self.write(replace(X, missing=np.zeros_like(X.missing))))
        return self._of_texts(texts)

    def _of_texts(self, texts: Array) -> TextRows:
        """Rows from texts (n, d)."""
        import pyarrow as pa

        columns = [
            pa.chunked_array([pa.array(texts[:, j].tolist(), pa.large_string())]) for j in range(self.n_features)
        ]
        from ..tables.table import Frame

        parts = tuple(arrow_column(column, "large_string") for column in columns)
        return self.read(Frame(parts, None, len(texts)))

    def sample(self, code: Array, rng: np.random.Generator) -> TextRows:
        """Draw documents: words in random order, as many as the class has on average.

        Parameters
        ----------
        code : array of int of shape (n,)
            The class of each row to draw.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        rows
            Text.

        Examples
        --------
        >>> density = TextDensity.from_parameters([{"good": 3, "film": 1}, {"bad": 2, "film": 1}])
        >>> texts = density.write(density.sample(np.zeros(1000, np.int64), np.random.default_rng(0)))
        >>> words = " ".join(texts.ravel()).split()
        >>> round(words.count("good") / len(words), 1)  # 4 / 7
        0.6
        """
        if self.tokens.hashed or isinstance(self.parts[0], ComplementDensity):
            raise DataError("hashed words and complement weights are no probabilities of words: text cannot be drawn")
        texts = np.empty((len(code), self.n_features), object)
        for j, part in enumerate(self.parts):
            words = self.vocabulary(j)
            for c in np.unique(code):
                rows = np.flatnonzero(code == c)
                for r, drawn in zip(rows, _drawn(part, int(c), len(rows), rng), strict=True):
                    texts[r, j] = " ".join(words[drawn])
        return self._of_texts(texts)

    def typicality(self, X: TextRows) -> Array:
        return drawn_typicality(self, X)

    def to_arrays(self) -> dict[str, Array]:
        arrays = {"tokens": self.tokens.to_array(), "seen": self.seen}
        for j, (part, words) in enumerate(zip(self.parts, self.words, strict=True)):
            arrays |= {f"letters_{j}": words.letters, f"ends_{j}": words.ends}
            arrays |= {f"{j}.{type(part).__name__}:{name}": array for name, array in part.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        parts: list[LinearDensity] = []
        words: list[Words] = []
        while (j := len(parts)) < sum(name.startswith("letters_") for name in arrays):
            prefix = next(name for name in arrays if name.startswith(f"{j}.")).partition(":")[0]
            own = {k.removeprefix(f"{prefix}:"): a for k, a in arrays.items() if k.startswith(f"{prefix}:")}
            part = Density.kinds[prefix.partition(".")[2]].from_arrays(own)
            if not isinstance(part, LinearDensity):
                raise ValueError(f"the words of column {j} have no counts")
            parts.append(part)
            words.append(Words(np.array(arrays[f"letters_{j}"], np.uint8), np.array(arrays[f"ends_{j}"], np.int64)))
            if (np.diff(words[-1].ends, prepend=0) < 0).any() or words[-1].ends[-1:].sum() != len(words[-1].letters):
                raise ValueError("words do not end where they should")
        seen = np.array(arrays["seen"], bool)
        return cls(tuple(parts), tuple(words), Tokens.from_array(arrays["tokens"]), seen)


_ROWS = 2048  # that are scored at a time: their scores stay in the cache
_NO_WORDS = Words(np.empty(0, np.uint8), np.empty(0, np.int64))


def _as_arrays(names: list[str]) -> tuple[Array, Array]:
    encoded = [name.encode() for name in names]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([len(name) for name in encoded], dtype=np.int64)


def _chosen(column: ColumnWords, tokens: Tokens, documents: float) -> ColumnWords:
    """The words that are frequent enough, as CountVectorizer chooses them."""
    if tokens.hashed:
        return column
    share = isinstance(tokens.min_df, float)
    least = tokens.min_df * documents if share else tokens.min_df * (tokens.min_df > 1)  # 1: a word of any weight
    kept = column.having >= least * (1 - 1e-12)
    if len(kept) and not kept.any():
        warn(
            f"no word is in {least:g} documents or more, so that the text says nothing: {len(kept)} words are "
            f"in {column.having.max():g} at most; give a smaller min_df",
            ColumnWarning,
        )
    if tokens.max_features is not None and kept.sum() > tokens.max_features:
        total = np.add.reduceat(np.append(column.counts.value, 0.0), column.counts.starts[:-1])
        total[np.diff(column.counts.starts) == 0] = 0.0
        whole = total[kept] if (total != np.rint(total)).any() else total[kept].astype(np.int64)
        kept[np.delete(np.flatnonzero(kept), (-whole).argsort()[: tokens.max_features])] = False
    return column.kept(kept)


def _estimated(
    stats: WordStats, column: ColumnWords, weight: Array, alpha: float, complement: bool | str, predictive: bool
) -> LinearDensity:
    """The density of the counts of the words of one column."""
    matrix = column.matrix(len(stats.classes))
    if not (complement or predictive):
        count = CountStats(stats.classes, weight, matrix, None, stats.presence)
        return SparseCountDensity.estimate(count, alpha)
    if matrix.shape[0] * matrix.shape[1] > DENSE:
        raise DataError(
            f"complement and predictive models keep a table of all classes and words, {matrix.shape[0]} x "
            f"{matrix.shape[1]} here; keep fewer words with Tokens(max_features=...)"
        )
    dense = CountStats(stats.classes, weight, matrix.toarray(), None, stats.presence)
    if complement:
        return ComplementDensity.estimate(dense, alpha, normalize=complement == "normalized")
    return PolyaDensity.estimate(dense, alpha)


def _probabilities(part: LinearDensity, c: int) -> Array:
    """The probabilities of words in a class, (v,), also of those that it always or never has."""
    slope = part.slopes.of_class(c)
    p = 1 / (1 + np.exp(-slope)) if part.presence else np.exp(slope)  # of presence: log odds
    if part.violations is None:
        return np.asarray(p)
    violated = part.violations.of_class(c)
    return np.where(violated > 0, 0.0, np.where(violated < 0, 1.0, p))


def _drawn(part: LinearDensity, c: int, n: int, rng: np.random.Generator) -> list[Array]:
    """The indices of the words of n documents of a class, in random order."""
    p = _probabilities(part, c)
    if not len(p):
        return [np.empty(0, np.intp)] * n
    if part.presence:
        return [rng.permutation(np.flatnonzero(rng.random(len(p)) < p)) for _ in range(n)]
    length = part.mean_length[c] if isinstance(part, SparseCountDensity) else part.length[c]  # type: ignore[attr-defined]
    sizes = rng.poisson(length, n)
    reached = np.cumsum(p)
    words = np.searchsorted(reached, rng.random(sizes.sum()) * reached[-1], side="right").clip(max=len(p) - 1)
    return np.split(words, np.cumsum(sizes)[:-1])
