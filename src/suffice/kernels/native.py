"""The compiled kernels under the interface of `reference`: allocate, call, return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _native, reference
from .letters import letters
from .reference import Array, Moments, Numbers
from .words import CountedWords, Documents, InvalidTextError, WordCounts, WordRules, Words, WordSlopes

instruction_sets = _native.instruction_sets
use = _native.use
reduce = _native.reduce


def _check(n: int, code: Array, weight: Array | None) -> None:
    if len(code) != n or (weight is not None and len(weight) != n):
        raise ValueError(f"{n} rows, {len(code)} codes, {'no' if weight is None else len(weight)} weights")


def _check_sums(log_factorials: Array | None, k: int) -> None:
    if log_factorials is not None and log_factorials.shape != (k, 2):
        raise ValueError(f"sums of log x! {log_factorials.shape} for {k} classes")


def _check_columns(X: Array, columns: int) -> None:
    if X.shape[1] != columns:
        raise ValueError(f"{X.shape[1]} columns for parameters of {columns}")


def _shape(X: Numbers, code: Array, weight: Array | None) -> int:
    """The number of columns, if all rows have a code."""
    if isinstance(X, tuple) and not X:
        raise ValueError("no columns")
    for column in X if isinstance(X, tuple) else (X,):
        _check(len(column), code, weight)
    return len(X) if isinstance(X, tuple) else X.shape[1]


def diag_moments(X: Numbers, code: Array, weight: Array | None, k: int) -> Moments:
    d = _shape(X, code, weight)
    moments = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    _native.diag_moments(X, code, weight, *moments)
    return moments


def full_moments(X: Numbers, code: Array, weight: Array | None, k: int, pooled: bool) -> Moments:
    d = _shape(X, code, weight)
    moments = np.zeros(k), np.zeros((k, d)), np.zeros((d, d) if pooled else (k, d, d))
    _native.full_moments(X, code, weight, pooled, *moments)
    return moments


def quartic_moments(X: Numbers, code: Array, weight: Array | None, k: int) -> tuple[Array, ...]:
    d = _shape(X, code, weight)
    moments = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d)), np.zeros((k, d)), np.zeros(k)
    _native.full_moments(X, code, weight, False, *moments)
    return moments


def _check_shares(n: int, share: Array, weight: Array | None) -> None:
    if len(share) != n or (weight is not None and len(weight) != n):
        raise ValueError(f"{n} rows, {len(share)} soft labels, {'no' if weight is None else len(weight)} weights")


def _soft_shape(X: Numbers, share: Array, weight: Array | None) -> tuple[int, int]:
    """The numbers of classes and columns, if all rows have soft labels."""
    if isinstance(X, tuple) and not X:
        raise ValueError("no columns")
    for column in X if isinstance(X, tuple) else (X,):
        _check_shares(len(column), share, weight)
    return share.shape[1], len(X) if isinstance(X, tuple) else X.shape[1]


def soft_diag_moments(X: Numbers, share: Array, weight: Array | None) -> Moments:
    k, d = _soft_shape(X, share, weight)
    moments = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    _native.soft_diag_moments(X, share, weight, *moments)
    return moments


def soft_full_moments(X: Numbers, share: Array, weight: Array | None, pooled: bool) -> Moments:
    k, d = _soft_shape(X, share, weight)
    moments = np.zeros(k), np.zeros((k, d)), np.zeros((d, d) if pooled else (k, d, d))
    _native.soft_full_moments(X, share, weight, pooled, *moments)
    return moments


def soften(joint: Array, fallback: Array, weight: Array | None) -> tuple[float, float]:
    n, k = joint.shape
    fallback = np.atleast_2d(fallback)
    if fallback.shape not in ((1, k), (n, k)) or (weight is not None and len(weight) != n):
        raise ValueError(f"log weights of shape {fallback.shape} or weights do not fit {n} rows of {k} classes")
    return _native.soften(joint, np.ascontiguousarray(fallback), weight)


def _checked(score: Callable[..., bool]) -> Callable[..., bool]:
    """Refuse X whose columns are not those of the parameters; the outputs are slices made for X."""

    def checked(X: Array, center: Array, *rest: Array | None) -> bool:
        _check_columns(X, center.shape[-1])
        return score(X, center, *rest)

    return checked


diag_scores = _checked(_native.diag_scores)
full_scores = _checked(_native.full_scores)
linear_scores = _checked(_native.linear_scores)
count_scores = _checked(_native.count_scores)


def _categories(X: Array, lo: Array, width: Array, rows: int, table: Array) -> Array:
    """X as integers, where the table has this many rows for their ranges."""
    _check_columns(X, len(lo))
    if len(width) != len(lo) or len(table) != rows:
        raise ValueError(f"{len(width)} widths and {len(table)} rows of a table for {len(lo)} columns")
    return X.view(np.uint8) if X.dtype == bool else X


def category_counts(X: Array, code: Array, weight: Array | None, lo: Array, width: Array, table: Array) -> int:
    _check(len(X), code, weight)
    X = _categories(X, lo, width, width.sum(), table)
    return _native.category_counts(X, code, weight, lo, width, table)


def soft_category_counts(X: Array, share: Array, weight: Array | None, lo: Array, width: Array, table: Array) -> int:
    _check_shares(len(X), share, weight)
    if table.shape[1] != share.shape[1]:
        raise ValueError(f"a table of {table.shape[1]} classes for soft labels of {share.shape[1]}")
    X = _categories(X, lo, width, width.sum(), table)
    return _native.soft_category_counts(X, share, weight, lo, width, table)


def pair_counts(
    X: Array, code: Array, weight: Array | None, lo: Array, width: Array, pairs: Array, table: Array
) -> None:
    _check(len(X), code, weight)
    first, second = np.ascontiguousarray(pairs.T)
    if len(pairs) and not (pairs.min() >= 0 and pairs.max() < len(lo) and (np.diff(first) >= 0).all()):
        raise ValueError(f"pairs of {len(lo)} columns are out of range, or not in order")
    X = _categories(X, lo, width, len(table), table)
    if table.shape[1] != width[first] @ width[second]:
        raise ValueError(f"a table of {table.shape[1]} cells for pairs that have {width[first] @ width[second]}")
    _native.pair_counts(X, code, weight, lo, width, first, second, table)


def category_scores(X: Array, lo: Array, width: Array, table: Array, constant: Array, *wanted: Array | None) -> None:
    X = _categories(X, lo, width, width.sum() + len(width), table)
    _native.category_scores(X, lo, width, table, constant, *wanted)


def tree_scores(
    X: Array, lo: Array, width: Array, parent: Array, table: Array, constant: Array, *wanted: Array | None
) -> None:
    if parent.shape != lo.shape or (len(parent) and not (parent.min() >= -1 and parent.max() < len(lo))):
        raise ValueError(f"parents of {len(lo)} columns are out of range")
    rows = int((width + 1) @ np.where(parent < 0, 1, width[parent] + 1)) if len(lo) else 0
    X = _categories(X, lo, width, rows, table)
    _native.tree_scores(X, lo, width, parent, table, constant, *wanted)


def _starts(indptr: Array, indices: Array, data: Array | None, columns: int) -> Array:
    """A copy of where rows start, which nobody changes, if all of them lie within what is stored."""
    starts, stored = np.array(indptr, np.int64), len(indices) if data is None else min(len(indices), len(data))
    stored = stored if columns else 0  # the kernels put a column that does not exist first
    if starts.min() < 0 or starts.max() > stored:
        raise ValueError(f"rows start at {starts.min()} to {starts.max()} of {stored} stored values")
    return starts


def sparse_counts(
    indptr: Array,
    indices: Array,
    data: Array,
    code: Array,
    weight: Array | None,
    presence: bool,
    table: Array,
    log_factorials: Array | None = None,
) -> bool:
    _check(len(indptr) - 1, code, weight)
    starts = _starts(indptr, indices, data, table.shape[1])
    _check_sums(log_factorials, len(table))
    return _native.sparse_counts(starts, indices, data, code, weight, presence, table, log_factorials)


def sparse_log_factorials(indptr: Array, indices: Array, data: Array, columns: int) -> Array:
    starts, out = _starts(indptr, indices, data, columns), np.empty((len(indptr) - 1, 2))
    _native.sparse_log_factorials(starts, indices, data, columns, out)
    return out


def sparse_scores(
    indptr: Array, indices: Array, data: Array | None, slope: Array, constant: Array, *wanted: Array | None
) -> None:
    starts = _starts(indptr, indices, data, len(slope))
    _native.sparse_scores(starts, indices, data, slope, constant, *wanted)


def dense_counts(
    X: Array,
    code: Array,
    weight: Array | None,
    presence: bool,
    count: Array,
    missing: Array,
    log_factorials: Array | None = None,
) -> bool:
    _check(len(X), code, weight)
    _check_columns(X, count.shape[1])
    _check_sums(log_factorials, len(count))
    return _native.dense_counts(X, code, weight, presence, count, missing, log_factorials)


def dense_log_factorials(X: Array) -> Array:
    out = np.empty((len(X), 2))
    _native.dense_log_factorials(X, out)
    return out


def whiten(matrices: Array, unit: Array) -> tuple[Array, Array, Array]:
    g, d = len(matrices), len(unit)
    if matrices.shape != (g, d, d):
        raise ValueError(f"matrices {matrices.shape} for {d} columns")
    if d > reference.SMALL:
        return reference.whiten(matrices, unit)
    whitening, log_det, trace = np.empty((g, d, d)), np.empty(g), np.empty(g)
    _native.whiten(np.ascontiguousarray(matrices), np.ascontiguousarray(unit), whitening, log_det, trace)
    return whitening, log_det, trace


def encode(y: Array) -> tuple[Array, Array]:
    y = np.ascontiguousarray(y)
    code = np.empty(len(y), np.int32)
    if y.dtype == object:
        items = _native.encode_objects(y, code)
        distinct = np.empty(len(items), object)
        distinct[:] = items
        return distinct, code
    width = max(y.itemsize, 1)
    first = _native.encode_items(y.view(np.uint8).reshape(len(y), width), code)
    return y[first], code


def encode_strings(text: Array, offsets: Array, missing: Array | None) -> tuple[Array, Array]:
    reference.check_strings(text, offsets, missing)
    code = np.empty(len(offsets) - 1, np.int32)
    first = _native.encode_strings(text, offsets, None if missing is None else missing.view(np.uint8), code)
    return np.asarray(first, np.int64), code


def split_scores(score: Array, target: Array) -> tuple[Array, Array]:
    _check(len(score), target, None)
    parts = np.empty(len(score))
    n = _native.split_scores(np.ascontiguousarray(score), np.ascontiguousarray(target).view(np.uint8), parts)
    return parts[:n], parts[n:]


def pool_violators(target: Array, other: Array) -> tuple[Array, Array]:
    steps = np.empty((min(len(target), len(other)) + 2, 2))
    targets, others = steps[: _native.pool_violators(target, other, steps)].T.copy()
    return targets, others


_needs_context: list[bool] = []  # whether a capital sigma was met: what its lower case depends on takes time to find


def _words_read(kernel: Callable[..., Any], documents: Documents, rules: WordRules, *rest: Any) -> Any:
    """What a kernel finds in documents."""
    plain = documents.lists is None
    offsets, n = np.array(documents.offsets, np.int64), len(documents.text)
    starts = [offsets] if plain else [offsets, np.array(documents.lists, np.int64)]
    for own, stop in zip(starts, (n, len(offsets) - 1), strict=False):
        if not len(own) or own[0] < 0 or own[-1] > stop or (np.diff(own) < 0).any():
            raise ValueError("documents do not begin and end where there is text")
    used = documents.text[offsets[0] : offsets[-1]]
    is_ascii = not len(used) or bool(used.view(np.int8).min() >= 0)
    lowers, lists = rules.lowercase and plain, None if plain else starts[1]
    table = letters(lowers, is_ascii, context=bool(lowers and not is_ascii and _needs_context))
    words = None if rules.stop is None else word_table(rules.stop)
    found = kernel(documents.text, offsets, lists, *table, rules.least, rules.most, words, *rest)
    row, needs_context = found[:2]
    if not isinstance(row, int) or row < 0:
        return found
    if not needs_context:
        raise InvalidTextError(row)
    _needs_context.append(True)
    return _words_read(kernel, documents, rules, *rest)


def word_counts(
    documents: Documents, rules: WordRules, code: Array, weight: Array | None, presence: bool
) -> CountedWords:
    _check(len(documents), code, weight)
    rest = rules.buckets, code, weight, presence
    return _counted(_words_read(_native.word_counts, documents, rules, *rest), bool(rules.buckets))


def _counted(found: Any, hashed: bool) -> CountedWords:
    letters, ends, *count, having = found
    return CountedWords(None if hashed else Words(letters, ends), WordCounts(*count), having)


def word_table(words: Words, by_tokens: bool = False) -> Any:
    return _native.Lookup(words.letters, words.ends, by_tokens)


def word_codes(documents: Documents, rules: WordRules, table: Any) -> tuple[Array, Array]:
    starts, codes, _ = _words_read(_native.word_codes, documents, rules, table, rules.buckets)
    return starts, codes


def word_scores(
    documents: Documents,
    rules: WordRules,
    table: Any,
    slopes: WordSlopes,
    presence: bool,
    out: Array,
) -> int:
    own_slopes, by_class, logs = slopes
    if out.shape != (len(documents), len(by_class)):
        raise ValueError(f"scores of shape {out.shape} for {len(documents)} documents and {len(by_class)} classes")

    def scored(*arguments: Any) -> Any:
        own = np.zeros(out.shape)  # which is of no use where the documents have to be read again
        return *_native.word_scores(*arguments, table, *own_slopes, logs, by_class, presence, own), own

    *_, unknown, own = _words_read(scored, documents, rules)
    out += own
    return int(unknown)


def add_words(a: CountedWords, b: CountedWords) -> CountedWords:
    parts, sizes = [], [len(each.counts.starts) - 1 for each in (a, b)]
    if a.words is None and sizes[0] != sizes[1]:
        raise ValueError("counts of other buckets")
    for (words, counts, having), size in zip((a, b), sizes, strict=True):
        if words is not None and (len(words.ends), len(having)) != (size, size):
            raise ValueError("counts of other words")
        parts += [*((_NO_LETTERS, None) if words is None else words), *counts, having]
    return _counted(_native.add_words(*parts), a.words is None)


_NO_LETTERS = np.empty(0, np.uint8)
