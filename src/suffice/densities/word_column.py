"""One column of text: what the words of documents say of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError
from ..kernels.words import Documents, InvalidTextError, WordCounts, Words, WordSlopes
from ..tables.table import Sparse
from ..tables.tokens import Tokens, texts_of
from .linear import Counts, LinearDensity
from .multinomial import ComplementDensity
from .predictive import PredictiveCounts
from .sparse import SparseCountDensity

Array = NDArray[Any]

MAKING = Lock()  # what threads share is made once: it is large


@dataclass(frozen=True, eq=False)
class WordColumn:
    """The words of one column, and the density of their counts. Rows are numbered from `start` in messages."""

    density: LinearDensity
    words: Words  # as UTF-8; empty where words are hashed
    tokens: Tokens
    tables: dict[tuple[str, bool], Any] = field(default_factory=dict)  # where kernels look words up, for any classes

    def of_classes(self, indices: Sequence[int]) -> Self:
        """The same words for some of the classes."""
        return replace(self, density=self.density.of_classes(indices))

    def texts(self, indices: Array | None = None) -> Array:
        """All words, or some of them."""
        texts = texts_of(self.words)
        return np.array((texts if indices is None else texts.take(indices)).to_pylist(), object)

    def scores(self, documents: Documents, start: int, relative: bool) -> Array:
        """Return log p(words | class), (n, k); if relative, without what all classes share."""
        part = self.density
        if part.violations is not None or isinstance(part, PredictiveCounts):
            own = np.empty((len(documents), part.n_classes))
            part.score(self.counts(documents, start), all=own, relative=relative)
            return own
        own = np.where(part.seen, part.constant, 0.0)[None].repeat(len(documents), axis=0)
        known = documents, self.tokens.rules, self._table(documents)
        try:
            unknown = kernels.active.word_scores(*known, self._slopes, part.presence, own)
        except InvalidTextError as error:
            raise invalid_text(start + error.row) from None
        self._refuse_unknown(start, unknown)
        if not relative and not part.presence and not isinstance(part, ComplementDensity):
            own += part._shared(self.counts(documents, start))[:, None]
        return own

    def counts(self, documents: Documents, start: int) -> Counts:
        """Return the counts of known words, for what is not a sum over words."""
        starts, codes = self.codes(documents, start)
        known = codes >= 0
        reached = np.concatenate([[0], np.cumsum(known)])
        if not known.all():
            self._refuse_unknown(start, int(np.searchsorted(starts, np.argmin(known), side="right")) - 1)
        table = Sparse(reached[starts], codes[known], np.ones(int(known.sum())), self.density.n_features)
        return self.density.read(table.canonical())

    def codes(self, documents: Documents, start: int) -> tuple[Array, Array]:
        """Return where the words of each document begin (n + 1,), and the index of each word; -1 for unknown ones."""
        try:
            return kernels.active.word_codes(documents, self.tokens.rules, self._table(documents))  # type: ignore[no-any-return]
        except InvalidTextError as error:
            raise invalid_text(start + error.row) from None

    def _table(self, documents: Documents) -> Any:
        """What the kernels look words of documents up in; None where they are hashed."""
        if self.tokens.hashed:
            return None
        by_tokens = self.tokens.ngrams[1] > 1 and documents.lists is None
        key = kernels.active_name, by_tokens
        with MAKING:
            if key not in self.tables:
                self.tables[key] = kernels.active.word_table(self.words, by_tokens)
        return self.tables[key]

    @property
    def _slopes(self) -> WordSlopes:
        with MAKING:
            return self._own_slopes

    @cached_property
    def _own_slopes(self) -> WordSlopes:
        """What every word adds to the scores: of the class, and beyond."""
        part = self.density
        if isinstance(part, SparseCountDensity) and (logs := part.slopes_of_counts()) is not None:
            return WordSlopes(_by_word(part.count), part.by_class, logs)
        slopes = replace(part).slopes  # type: ignore[type-var]  # which would be kept a second time by the part itself
        k = part.n_classes
        if slopes.by_class is not None:
            return WordSlopes(_by_word(slopes.table), np.asarray(slopes.by_class, np.float64))
        starts = np.arange(part.n_features + 1) * k
        label = np.tile(np.arange(k, dtype=np.int32), part.n_features)
        return WordSlopes(WordCounts.of(starts, label, np.ascontiguousarray(slopes.table.T).ravel()), np.zeros(k))

    def _refuse_unknown(self, start: int, row: int) -> None:
        if self.tokens.unknown == "error" and row >= 0:
            raise DataError(
                f'row {start + row} has words that were never seen in training, and Tokens has unknown="error"'
            )


def _by_word(table: Any) -> WordCounts:
    """What is stored in a sparse table of classes by words."""
    by_word = table.tocsc()
    by_word.sort_indices()
    return WordCounts.of(by_word.indptr, by_word.indices, by_word.data)


def invalid_text(row: int) -> DataError:
    """Return the error for text that is no UTF-8."""
    return DataError(
        f"the text of row {row} is not valid UTF-8; decode it again, as in bytes.decode('utf-8', 'replace')"
    )
