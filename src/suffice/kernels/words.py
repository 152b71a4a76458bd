"""The words of documents: the kernels in Python, short enough to be read as their definition."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents as UTF-8, one after the other."""

    text: Array  # uint8
    offsets: Array  # int64, where each document, or each token, begins and the one before ends
    lists: Array | None = None  # (n + 1,) int64, where the tokens of each document begin; None for plain text

    def __len__(self) -> int:
        return len(self.offsets if self.lists is None else self.lists) - 1

    def of_rows(self, rows: slice) -> Documents:
        """Some of the documents that follow each other."""
        ends = slice(rows.start, rows.stop + 1)
        if self.lists is None:
            return replace(self, offsets=self.offsets[ends])
        return replace(self, lists=self.lists[ends])


class Words(NamedTuple):
    """Distinct words as UTF-8, one after the other."""

    letters: Array  # uint8
    ends: Array  # (v,) int64


class WordCounts(NamedTuple):
    """A number for each word and each class that has it."""

    starts: Array  # (v + 1,) int32, where the classes of each word begin
    label: Array  # int32, these classes, in order
    value: Array  # float64

    @classmethod
    def of(cls, starts: Array, label: Array, value: Array) -> WordCounts:
        """Return starts and classes of any type as numbers of 32 bits."""
        if starts[-1] > np.iinfo(np.int32).max:
            raise ValueError("too many words and classes to count")
        return cls(starts.astype(np.int32, copy=False), label.astype(np.int32, copy=False), value)


class WordSlopes(NamedTuple):
    """What each word adds to the scores of the classes."""

    own: WordCounts  # beyond the slope of the class; or, where there are logs, the counts that slopes are found by
    by_class: Array  # (k,) what every known word adds
    logs: Array | None = None  # the slopes of the counts 0, 1, 2 and so on, for counts that are whole numbers


class CountedWords(NamedTuple):
    """What was counted of documents."""

    words: Words | None  # in the order of their code points; None where they are hashed
    counts: WordCounts  # how often each class has them, or how many of its documents do
    having: Array  # (v,) how many documents of all classes do; empty where words are hashed


class WordRules(NamedTuple):
    """How words are found. Plain text is cut at all but letters, digits and underscores; a word has two of them."""

    lowercase: bool = True  # of plain text; tokens are as they are
    least: int = 1  # tokens of an n-gram
    most: int = 1
    stop: Words | None = None  # tokens that are left out
    buckets: int = 0  # that words are hashed to; 0 to keep the words


class InvalidTextError(ValueError):
    """A document is not UTF-8."""

    def __init__(self, row: int) -> None:
        super().__init__(f"the text of row {row} is not valid UTF-8")
        self.row = row


_WORD = re.compile(r"(?u)\b\w\w+\b")


def _decoded(letters: Array, ends: Array) -> list[bytes]:
    raw = letters.tobytes()
    return [raw[a:b] for a, b in pairwise([0, *ends.tolist()])]


def _words_of(documents: Documents, rules: WordRules, wanted: Array | None = None) -> Iterator[list[bytes]]:
    """The words of each document, n-grams and all; none of rows that are not wanted."""
    raw, offsets = documents.text.tobytes(), documents.offsets.tolist()
    stop = set() if rules.stop is None else set(_decoded(*rules.stop))
    for r in range(len(documents)):
        if wanted is not None and not wanted[r]:
            yield []
            continue
        try:
            if documents.lists is None:
                text = raw[offsets[r] : offsets[r + 1]].decode()
                tokens = _WORD.findall(text.lower() if rules.lowercase else text)
            else:
                own = range(documents.lists[r], documents.lists[r + 1])
                tokens = [raw[offsets[t] : offsets[t + 1]].decode() for t in own]
        except UnicodeDecodeError:
            raise InvalidTextError(r) from None
        kept = [own for own in map(str.encode, tokens) if own not in stop]
        sizes = range(rules.least, rules.most + 1)
        yield [b" ".join(kept[i : i + n]) for n in sizes for i in range(len(kept) - n + 1)]


def _murmur3(data: bytes) -> int:
    """MurmurHash3, 32 bits, seed 0."""

    def rotated(x: int, by: int) -> int:
        return (x << by | x >> (32 - by)) & _UINT32

    def scrambled(k: int) -> int:
        return rotated(k * 0xCC9E2D51 & _UINT32, 15) * 0x1B873593 & _UINT32

    h, whole = 0, len(data) // 4 * 4
    for i in range(0, whole, 4):
        h = (rotated(h ^ scrambled(int.from_bytes(data[i : i + 4], "little")), 13) * 5 + 0xE6546B64) & _UINT32
    h ^= scrambled(int.from_bytes(data[whole:], "little")) ^ len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & _UINT32
    h = (h ^ h >> 13) * 0xC2B2AE35 & _UINT32
    return h ^ h >> 16


_UINT32 = (1 << 32) - 1


def _bucket(word: bytes, buckets: int) -> int:
    h = _murmur3(word)
    return (h if h < 1 << 31 else (1 << 32) - h) % buckets


def word_counts(
    documents: Documents, rules: WordRules, code: Array, weight: Array | None, presence: bool
) -> CountedWords:
    """Return how often classes have words, or, where presence counts, how many of their documents do."""
    wanted = None if weight is None else weight != 0
    rows = [Counter(words) for words in _words_of(documents, rules, wanted)]
    if rules.buckets:
        rows = [_added((_bucket(word, rules.buckets), n) for word, n in row.items()) for row in rows]
        names: list[Any] = list(range(rules.buckets))
    else:
        names = sorted(set().union(*rows))
    at = {name: j for j, name in enumerate(names)}
    count, having = [Counter[int]() for _ in names], np.zeros(len(names))
    for r, row in enumerate(rows):
        w = 1.0 if weight is None else float(weight[r])
        for name, n in row.items():
            count[at[name]][int(code[r])] += w * (1 if presence else n)  # type: ignore[assignment]
            having[at[name]] += w
    if rules.buckets:
        return CountedWords(None, _listed(count), np.empty(0))
    return CountedWords(_joined_words(names), _listed(count), having)


def _listed(count: list[Counter[int]]) -> WordCounts:
    pairs = [pair for own in count for pair in sorted(own.items())]
    starts = np.cumsum([0, *map(len, count)])
    return WordCounts.of(starts, np.array([c for c, _ in pairs], np.int32), np.array([n for _, n in pairs], np.float64))


def _added(pairs: Iterable[tuple[int, int]]) -> Counter[Any]:
    total: Counter[Any] = Counter()
    for name, n in pairs:
        total[name] += n
    return total


def _joined_words(names: list[bytes]) -> Words:
    return Words(np.frombuffer(b"".join(names), np.uint8), np.cumsum([len(name) for name in names], dtype=np.int64))


def word_table(words: Words, by_tokens: bool = False) -> Any:  # noqa: ARG001
    """Return what `word_scores` and `word_codes` look words up in; by their tokens for n-grams of plain text."""
    return {word: j for j, word in enumerate(_decoded(*words))}


def word_codes(documents: Documents, rules: WordRules, table: Any) -> tuple[Array, Array]:
    """Return where the words of each document begin (n + 1,), and the index of each word, in any order: -1 where it
    is unknown."""
    at = table.get if table is not None else lambda word, _: _bucket(word, rules.buckets)
    rows = [[at(word, -1) for word in words] for words in _words_of(documents, rules)]
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return starts, np.fromiter(chain.from_iterable(rows), np.int32, starts[-1])


def word_scores(
    documents: Documents,
    rules: WordRules,
    table: Any,
    slopes: WordSlopes,
    presence: bool,
    out: Array,
) -> int:
    """Add the slopes of the words of each document to its scores (n, k), each once where presence counts. Return the
    first row with an unknown word, or -1."""
    (first, label, value), by_class, logs = slopes
    value = value if logs is None else logs[value.astype(np.intp)]
    starts, codes = word_codes(documents, rules, table)
    unknown = -1
    for r, (a, b) in enumerate(pairwise(starts.tolist())):
        own = codes[a:b]
        if unknown < 0 and (own < 0).any():
            unknown = r
        own = own[own >= 0]
        own = np.unique(own) if presence else own
        out[r] += len(own) * by_class
        for word in own.tolist():
            some = slice(first[word], first[word + 1])
            out[r, label[some]] += value[some]
    return unknown


def add_words(a: CountedWords, b: CountedWords) -> CountedWords:
    """Return the counts of both."""
    own = [range(len(each.counts.starts) - 1) if each.words is None else _decoded(*each.words) for each in (a, b)]
    names: list[Any] = sorted({*own[0], *own[1]})
    at = {name: j for j, name in enumerate(names)}
    total, having = [Counter[int]() for _ in names], np.zeros(len(names))
    for each, words in zip((a, b), own, strict=True):
        places, (starts, label, value) = [at[name] for name in words], each.counts
        for i, (start, stop) in zip(places, pairwise(starts.tolist()), strict=True):
            total[i].update(dict(zip(label[start:stop].tolist(), value[start:stop].tolist(), strict=True)))
        if each.words is not None:
            having[places] += each.having
    if a.words is None:
        return CountedWords(None, _listed(total), np.empty(0))
    return CountedWords(_joined_words(names), _listed(total), having)
