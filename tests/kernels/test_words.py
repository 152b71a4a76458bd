"""Words of documents: both kernels against scikit-learn's CountVectorizer, to the last token."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from suffice import kernels
from suffice.kernels import reference
from suffice.kernels.letters import CASED, IGNORABLE, IRREGULAR, LETTER, letters
from suffice.kernels.words import (
    CountedWords,
    Documents,
    InvalidTextError,
    WordCounts,
    WordRules,
    Words,
    WordSlopes,
    _decoded,
)

KERNELS = [reference, *([kernels.native] if kernels.native else [])]

# Letters that are put into lower case in their own ways, marks, digits of other scripts, and what is no letter.
AWKWARD = (
    "aAzZ09_ '-.\x00\n\t\xdf\u1e9e\u0130\u0131\u03a3\u03c3\u03c2\xc5\xe9"
    "\xc9e\u0301\u0307\xad\u01c5\u02bc\u0663\u2167\u65e5\u672c\u8a9e\u0e44\u0e17\u0e22\ud55c\U0001f600\U0001f1e6\U0001d538\u200d\ufeff\U00010400\ud7ff\ue000"
)
texts = st.lists(st.text(st.one_of(st.sampled_from(AWKWARD), st.characters(exclude_categories=["Cs"]))), max_size=6)


def documents(rows: list[str]) -> Documents:
    encoded = [row.encode() for row in rows]
    return Documents(np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)], dtype=np.int64))


def token_lists(rows: list[list[str]]) -> Documents:
    tokens = documents([token for row in rows for token in row])
    return replace(tokens, lists=np.cumsum([0, *map(len, rows)], dtype=np.int64))


def words(rows: list[str]) -> Words:
    found = documents(rows)
    return Words(found.text, found.offsets[1:])


def names(found: Words) -> list[str]:
    return [word.decode() for word in _decoded(*found)]


def counts(kernel, given: Documents, rules: WordRules, weight=None, presence=False):
    """The words, the counts with every row as a class of its own (n, v), and the documents of each word."""
    n = len(given)
    found, count, having = kernel.word_counts(given, rules, np.arange(n, dtype=np.int32), weight, presence)
    v = rules.buckets or len(found.ends)
    return found, csc_array((count.value, count.label, count.starts), shape=(n, v)).toarray(), having


def vectorized(rows, **options) -> tuple[list[str], np.ndarray]:
    vectorizer = CountVectorizer(**options)
    try:
        matrix = vectorizer.fit_transform(rows).toarray()
    except ValueError as error:
        assert "empty vocabulary" in str(error)  # noqa: PT017
        return [], np.zeros((len(rows), 0))
    return vectorizer.get_feature_names_out().tolist(), matrix


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=300, deadline=None)
@given(texts, st.booleans(), st.sampled_from([(1, 1), (1, 2), (2, 3), (3, 3)]), st.booleans())
def test_counts_are_those_of_count_vectorizer(kernel, rows, lowercase, ngrams, presence):
    stop = ["aa", "a9"]
    rules = WordRules(lowercase, *ngrams, stop=words(stop))
    found, count, having = counts(kernel, documents(rows), rules, presence=presence)
    options = {"lowercase": lowercase, "ngram_range": ngrams, "stop_words": stop, "binary": presence}
    expected, matrix = vectorized(rows, **options)
    assert names(found) == expected
    np.testing.assert_array_equal(count, matrix)
    np.testing.assert_array_equal(having, (matrix > 0).sum(axis=0))


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.text(st.sampled_from(AWKWARD), max_size=3), max_size=4), max_size=5))
def test_lists_of_tokens_are_taken_as_they_are(kernel, rows):
    found, count, _ = counts(kernel, token_lists(rows), WordRules(most=2))
    options = {"tokenizer": lambda row: row, "token_pattern": None, "lowercase": False, "ngram_range": (1, 2)}
    expected, matrix = vectorized(rows, **options)
    assert names(found) == expected
    np.testing.assert_array_equal(count, matrix)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize(("ngrams", "buckets"), [((1, 1), 0), ((1, 3), 0), ((2, 2), 0), ((1, 2), 7)])
def test_weights_of_classes_in_any_order(kernel, presence, ngrams, buckets):
    rng = np.random.default_rng(1)
    rows = [" ".join(rng.choice(["ab", "naïve", "a_much_longer_word", "the"], rng.integers(6))) for _ in range(40)]
    code, weight = rng.integers(4, size=40).astype(np.int32), rng.choice([0.0, 1.0, 0.25, 3.0], 40)
    rules = WordRules(True, *ngrams, buckets=buckets)
    found, count, having = kernel.word_counts(documents(rows), rules, code, weight, presence)
    if buckets:
        peer = HashingVectorizer(n_features=7, norm=None, alternate_sign=False, ngram_range=ngrams, binary=presence)
        matrix = peer.transform(rows).toarray()
    else:
        expected, matrix = vectorized([row for row, w in zip(rows, weight, strict=True) if w], ngram_range=ngrams)
        assert names(found) == expected
        peer = CountVectorizer(vocabulary=expected, ngram_range=ngrams, binary=presence)
        matrix = peer.transform(rows).toarray()
    dense = csc_array((count.value, count.label, count.starts), shape=(4, matrix.shape[1])).toarray()
    np.testing.assert_array_equal(dense, np.eye(4)[code].T @ (weight[:, None] * matrix))
    np.testing.assert_array_equal(having, [] if buckets else weight @ (matrix > 0))
    unit, ones = (kernel.word_counts(documents(rows), rules, code, w, presence)[1] for w in (None, np.ones(40)))
    assert all(map(np.array_equal, unit, ones))


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=60, deadline=None)
@given(texts, st.sampled_from([1, 3, 1000]))
def test_buckets_are_those_of_hashing_vectorizer(kernel, rows, n):
    _, count, _ = counts(kernel, documents(rows), WordRules(most=2, buckets=n))
    peer = HashingVectorizer(n_features=n, norm=None, alternate_sign=False, ngram_range=(1, 2))
    np.testing.assert_array_equal(count, peer.transform(rows).toarray() if rows else np.zeros((0, n)))


def test_tables_of_letters_are_those_of_python():
    every = [chr(c) for c in range(sys.maxunicode + 1)]
    cased = [*range(0x3000), *range(0xA000, 0x11000), *range(0x1E900, 0x1F200)]
    some = [*cased, *range(0x11000, 0x110000, 37), *range(0xE0000, 0xE0200)]
    for lowercase in (False, True):
        pages, away, extra, _ = letters(lowercase, ascii_only=False, context=lowercase)
        away = away.reshape(-1, 256)[pages].ravel()
        lower = away & ~np.uint32(0x1FFFFF) | (away + np.arange(0x110000, dtype=np.uint32)) & np.uint32(0x1FFFFF)
        table = np.where(away & IRREGULAR, away, lower)
        for c in some:
            letter = every[c]
            low = letter.lower() if lowercase else letter
            own = [int(table[c])]
            if own[0] & IRREGULAR:
                at = 4 * (own[0] & 0x1FFFFF)
                own = extra[at + 1 : at + 1 + extra[at]].tolist()
                assert own or letter == "Σ"
            if letter != "Σ":
                assert [chr(each & 0x1FFFFF) for each in own] == list(low)
                assert [bool(each & LETTER) for each in own] == [bool(re.match(r"\w", each)) for each in low]
    flags = table & (CASED | IGNORABLE)
    for c in some:
        final = [f"A\u03a3{every[c]}{after}".lower()[1] == "ς" for after in ("", "A")]
        assert final == [flags[c] != CASED, flags[c] == 0], hex(c)


@pytest.mark.parametrize("kernel", KERNELS)
def test_long_documents_and_long_words(kernel):
    rng = np.random.default_rng(0)
    rows = [
        " ".join(rng.choice(["ab", "naïve", "ΟΔΟΣ", "x", "the"], 2000)),
        "é" * 9000,
        "q" * 9000 + " ΣΣ",
        "w" * 64 + "x y z" * 700,
    ]
    for ngrams in ((1, 1), (2, 3)):
        found, count, _ = counts(kernel, documents(rows), WordRules(True, *ngrams))
        expected, matrix = vectorized(rows, ngram_range=ngrams)
        assert names(found) == expected
        np.testing.assert_array_equal(count, matrix)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe0\x80\xaf"])
def test_invalid_utf8_is_refused_with_the_row(kernel, bad):
    raw = b"fine words" + b"bad " + bad
    given = Documents(np.frombuffer(raw, np.uint8), np.array([0, 10, len(raw)]))
    for each in (given, replace(given, lists=np.array([0, 1, 2]))):
        with pytest.raises(InvalidTextError) as caught:
            counts(kernel, each, WordRules())
        assert caught.value.row == 1
        assert counts(kernel, each, WordRules(), weight=np.array([1.0, 0.0]))[1].sum() >= 1  # absent: whatever it holds
    twice = Documents(np.frombuffer(2 * bad, np.uint8), np.array([0, 0, len(bad), 2 * len(bad)]))
    with pytest.raises(InvalidTextError) as caught:  # the first of them, whatever their classes
        kernel.word_counts(twice, WordRules(), np.array([2, 1, 0], np.int32), None, False)
    assert caught.value.row == 1


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("presence", "logs"), [(False, None), (True, None), (False, np.array([0.0, 0.5, 7.0]))])
def test_scores_add_up_slopes(kernel, presence, logs):
    rows = ["The cat the dog", "", "unknown words and a cat", "ΟΔΟΣ cat οδος"]
    vocabulary = words(["cat", "dog", "the", "οδος"])
    slope, by_class = np.random.default_rng(0).normal(size=(4, 3)), np.array([0.5, -1.0, 2.0])
    slope = np.where(slope > 0, slope if logs is None else 1 + (slope > 1), 0)
    sparse = csc_array(slope.T)
    slopes = WordSlopes(WordCounts.of(sparse.indptr, sparse.indices, sparse.data.astype(float)), by_class, logs)
    slope = slope if logs is None else logs[slope.astype(int)]
    out = np.ones((4, 3))
    rules, table = WordRules(), kernel.word_table(vocabulary)
    unknown = kernel.word_scores(documents(rows), rules, table, slopes, presence, out)
    matrix = CountVectorizer(vocabulary=names(vocabulary), binary=presence).transform(rows).toarray()
    assert unknown == 2
    np.testing.assert_allclose(out, 1 + matrix @ (slope + by_class), rtol=1e-14)
    starts, codes = kernel.word_codes(documents(rows), rules, table)
    assert starts.tolist() == [0, 4, 4, 8, 11]
    assert sorted(codes[:4].tolist()) == [0, 1, 2, 2]
    assert sorted(codes[4:8].tolist()) == [-1, -1, -1, 0]


@pytest.mark.parametrize("kernel", KERNELS)
def test_ngrams_are_found_by_their_tokens_and_as_they_are(kernel):
    vocabulary = [
        "cat",
        "cat sat",
        "sat on the",
        "on",
        "a",
        "a  b",
        " ",
        "the",
    ]  # not "sat on", and what text never has
    vocabulary = sorted(vocabulary)
    rows, rules = ["The cat sat on the cat sat", "sat on", "on the " * 300 + "cat sat"], WordRules(most=3)
    expected = CountVectorizer(vocabulary=vocabulary, ngram_range=(1, 3)).transform(rows).toarray()
    lists = [["cat", "sat"], ["cat sat", "on", "the"], ["a", "", "b"]]
    options = {"tokenizer": lambda row: row, "token_pattern": None, "lowercase": False, "ngram_range": (1, 3)}
    listed = CountVectorizer(vocabulary=vocabulary, **options).transform(lists).toarray()
    for rows_given, by_tokens, matrix in ((documents(rows), True, expected), (token_lists(lists), False, listed)):
        table = kernel.word_table(words(vocabulary), by_tokens)
        starts, codes = kernel.word_codes(rows_given, rules, table)
        found = [np.bincount(c[c >= 0], minlength=len(vocabulary)) for c in np.split(codes, starts[1:-1])]
        np.testing.assert_array_equal(found, matrix)
        own = WordCounts(np.arange(9, dtype=np.int32), np.zeros(8, np.int32), np.arange(1.0, 9.0))
        out = np.zeros((3, 1))
        assert kernel.word_scores(rows_given, rules, table, WordSlopes(own, np.zeros(1)), False, out) == 0
        np.testing.assert_array_equal(out[:, 0], matrix @ np.arange(1.0, 9.0))


@pytest.mark.parametrize("kernel", KERNELS)
def test_words_and_their_counts_are_added(kernel):
    """Words of one, of the other and of both; the empty word, one that begins as another does; and buckets."""
    rng = np.random.default_rng(0)

    def counted(names: list[str] | None, n: int) -> tuple[np.ndarray, CountedWords]:
        table = rng.poisson(0.7, (3, n)).astype(float)
        m = csc_array(table)
        count = WordCounts.of(m.indptr, m.indices, m.data)
        return table, CountedWords(
            None if names is None else words(names), count, rng.random(0 if names is None else n)
        )

    a, b = ["", "a", "naïve", "zebra"], ["a", "ab", "b", "zebra", "日本"]
    for one, two in ((a, b), (b, a), ([], a), (a, []), ([], []), (None, None)):
        sizes = (7, 7) if one is None or two is None else (len(one), len(two))
        (left, x), (right, y) = counted(one, sizes[0]), counted(two, sizes[1])
        both = kernel.add_words(x, y)
        every = list(range(7)) if one is None or two is None else sorted({*one, *two})
        assert both.words is None if one is None else names(both.words) == every
        total, having = np.zeros((3, len(every))), np.zeros(len(every))
        for table, part, own in ((left, x, one), (right, y, two)):
            at = [every.index(name) for name in (every if own is None else own)]
            total[:, at] += table
            having[at] += 0 if own is None else part.having
        found, shape = both.counts, (3, len(every))
        np.testing.assert_array_equal(csc_array((found.value, found.label, found.starts), shape=shape).toarray(), total)
        np.testing.assert_array_equal(both.having, [] if one is None else having)
        assert all(np.all(np.diff(found.label[i:j]) > 0) for i, j in pairwise(found.starts))


@pytest.mark.usefixtures("native_kernel")
def test_offsets_outside_the_text_are_refused():
    for offsets in ([0, 99], [-1, 2], [2, 1]):
        with pytest.raises(ValueError, match="begin and end"):
            counts(kernels.active, Documents(np.frombuffer(b"abc", np.uint8), np.array(offsets, np.int64)), WordRules())


def test_more_counts_than_their_starts_can_number_are_refused():
    with pytest.raises(ValueError, match="too many words and classes to count"):
        WordCounts.of(np.arange(3) << 30, np.zeros(0), np.zeros(0))
    assert WordCounts.of(np.array([0, 2**31 - 1]), np.zeros(0), np.zeros(0)).starts.tolist() == [0, 2**31 - 1]
