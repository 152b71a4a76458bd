"""The kernels of discrete models against plain loops, over dtypes, memory orders, strides, slices and extremes."""

from functools import partial
from itertools import combinations, cycle, pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from suffice import kernels

pytestmark = pytest.mark.usefixtures("kernel")

INTEGERS = [np.dtype(f"{sign}{size}") for sign in "iu" for size in (1, 2, 4, 8)]


def layouts_in_memory(X):
    wide = np.zeros((2 * len(X) + 1, 3 * X.shape[1] + 1), X.dtype)
    wide[1::2, 1::3] = X
    backwards = np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    frozen = X.copy()
    frozen.flags.writeable = False
    return {"C": X, "F": np.asfortranarray(X), "strided": wide[1::2, 1::3], "backwards": backwards, "read-only": frozen}


def some_weight(rng, n, kind):
    return {None: None, "ones": np.ones(n), "zeros": rng.uniform(0.1, 2, n) * (rng.uniform(size=n) > 0.3)}[kind]


def each(weight, n):
    """Rows that are present, with their weights."""
    return [(r, w) for r, w in enumerate(np.ones(n) if weight is None else weight) if w != 0]


# Plain definitions.


def plain_category_counts(X, code, weight, lo, width, k):
    table, start = np.zeros((int(sum(width)), k)), np.cumsum(width) - width
    for r, w in each(weight, len(X)):
        places = [int(x) - int(low) for x, low in zip(X[r], lo, strict=True)]
        if any(not 0 <= p < size for p, size in zip(places, width, strict=True)):
            return r, table
        for s, p in zip(start, places, strict=True):
            table[s + p, code[r]] += w
    return len(X), table


def plain_pair_counts(X, code, weight, lo, width, pairs, k):
    tables = [np.zeros((k, width[i], width[j])) for i, j in pairs]
    for r, w in each(weight, len(X)):
        places = [int(x) - int(low) for x, low in zip(X[r], lo, strict=True)]
        for (i, j), table in zip(pairs, tables, strict=True):
            if 0 <= places[i] < width[i] and 0 <= places[j] < width[j]:
                table[code[r], places[i], places[j]] += w
    return np.concatenate([np.empty((k, 0)), *(table.reshape(k, -1) for table in tables)], axis=1)


def plain_category_scores(X, lo, width, table, constant):
    scores, start = np.tile(constant, (len(X), 1)), np.cumsum(width + 1) - (width + 1)
    for r, row in enumerate(X):
        for x, low, size, s in zip(row, lo, width, start, strict=True):
            place = int(x) - int(low)
            scores[r] += table[s + 1 + place if 0 <= place < size else s]
    return scores


def plain_tree_scores(X, lo, width, parent, table, constant):
    scores = np.tile(constant, (len(X), 1))
    for r, row in enumerate(X):
        places, start = [int(x) - int(low) for x, low in zip(row, lo, strict=True)], 0
        places = [p + 1 if 0 <= p < size else 0 for p, size in zip(places, width, strict=True)]
        for j, p in enumerate(parent):
            above = 0 if p < 0 else places[p] * (width[j] + 1)
            scores[r] += table[start + above + places[j]]
            start += (width[j] + 1) * (1 if p < 0 else width[p] + 1)
    return scores


def plain_counts(X, code, weight, presence, k):
    """Of a dense X without NaN."""
    table = np.zeros((k, X.shape[1]))
    for r, w in each(weight, len(X)):
        table[code[r]] += w * ((X[r] > 0) if presence else X[r].astype(float))
    return table


def assert_reduced(scores, call):
    """`call` writes these scores, their arg max and their log-sum-exp, each alone and all at once."""
    n, k = scores.shape
    best = np.array([max(range(k), key=lambda c: (row[c], -c)) for row in scores.tolist()], np.int64)
    evidence = np.array([np.logaddexp.reduce(row) for row in scores]).reshape(n)
    for wanted in ((1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)):
        out = np.full((n, k), np.nan), np.full(n, -1, np.int64), np.full(n, np.nan)
        assert call(*(o if w else None for o, w in zip(out, wanted, strict=True))) is None
        if wanted[0]:
            np.testing.assert_allclose(out[0], scores, rtol=1e-12, atol=1e-12)
        if wanted[1]:
            np.testing.assert_array_equal(out[1], best)
        if wanted[2]:
            np.testing.assert_allclose(out[2], evidence, rtol=1e-12, atol=1e-12)


def some_categories(rng, n, widths, dtype, outside=0.0):
    """Columns of the given numbers of categories, a share of their entries anything at all."""
    width = np.array(widths, np.int64)
    least = -3 if np.dtype(dtype).kind == "i" else 2
    lo = least + np.arange(len(width)) % 7
    X = (lo + rng.integers(0, np.maximum(width, 1), (n, len(width)))).astype(dtype)
    if outside:
        strange = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, X.shape, dtype, endpoint=True)
        X = np.where(rng.uniform(size=X.shape) < outside, strange, X)
    return X, lo, width


# Sizes about the kernels' tiles: one row, a tile and a bit, many columns, wide columns, many classes.
CATEGORIES = [(0, [3], 2), (5, [], 3), (1, [1], 1), (7, [2, 5, 3], 2), (130, [4, 1, 9, 2, 6], 3), (70, [3] * 21, 8),
              (40, [90, 2], 5), (33, [2] * 300, 4), (90, [4, 4], 29), (25, [3, 2, 2], 70)]  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("kind", [None, "ones", "zeros"])
def test_category_counts(dtype, kind):
    rng = np.random.default_rng(1)
    for n, widths, k in CATEGORIES:
        X, lo, width = some_categories(rng, n, widths, dtype)
        code, weight = rng.integers(0, k, n).astype(np.int32), some_weight(rng, n, kind)
        if kind == "zeros":
            X[weight == 0] = np.iinfo(dtype).max  # absent, whatever they hold
        expected = plain_category_counts(X, code, weight, lo, width, k)
        for order, x in layouts_in_memory(X).items():
            table = np.full((width.sum(), k), 2.0)
            assert kernels.active.category_counts(x, code, weight, lo, width, table) == expected[0] == n
            np.testing.assert_allclose(
                table - 2.0, expected[1], rtol=1e-12, atol=1e-12, err_msg=f"{order} {n} {widths}"
            )


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("kind", [None, "ones", "zeros"])
def test_pair_counts(dtype, kind):
    """Of all pairs, and of some; also where values are out of range."""
    rng = np.random.default_rng(1)
    for n, widths, k in CATEGORIES:
        for outside in (0.0, 0.1):
            X, lo, width = some_categories(rng, n, widths[:9], dtype, outside)
            code, weight = rng.integers(0, k, n).astype(np.int32), some_weight(rng, n, kind)
            every = list(combinations(range(len(width)), 2))
            for pairs in (every, every[::3], []):
                expected = plain_pair_counts(X, code, weight, lo, width, pairs, k)
                order, x = rng.choice(list(layouts_in_memory(X))), np.array(pairs, np.int64).reshape(-1, 2)
                table = np.full(expected.shape, 2.0)
                kernels.active.pair_counts(layouts_in_memory(X)[order], code, weight, lo, width, x, table)
                np.testing.assert_allclose(table - 2.0, expected, rtol=1e-12, atol=1e-12, err_msg=f"{order} {n} {k}")


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_tree_scores(dtype):
    rng = np.random.default_rng(1)
    for n, widths, k in CATEGORIES:
        X, lo, width = some_categories(rng, n, widths[:30], dtype, outside=0.1)
        parent = np.array([rng.integers(-1, j) if j else -1 for j in range(len(width))], np.int64)[::-1]
        parent = np.where(parent < 0, -1, len(width) - 1 - parent)  # parents may come after their children
        rows = sum((w + 1) * (1 if p < 0 else width[p] + 1) for w, p in zip(width, parent, strict=True))
        table, constant = rng.normal(size=(int(rows), k)), rng.normal(size=k)
        expected = plain_tree_scores(X, lo, width, parent, table, constant)
        for x in layouts_in_memory(X).values():
            assert_reduced(expected, partial(kernels.active.tree_scores, x, lo, width, parent, table, constant))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_category_counts_stop_before_a_strange_row(dtype):
    rng = np.random.default_rng(2)
    for place in (0, 3, 63, 64, 150, 199):
        for column in (0, 4, 6):
            X, lo, width = some_categories(rng, 200, [3, 2, 4, 1, 5, 2, 3], dtype)
            X[place, column] = (lo[column] + width[column], np.iinfo(dtype).min, np.iinfo(dtype).max)[rng.integers(3)]
            code, weight = rng.integers(0, 4, 200).astype(np.int32), rng.uniform(0.5, 1, 200)
            weight[:3] = 0.0
            for w in (None, weight):
                stopped, expected = plain_category_counts(X, code, w, lo, width, 4)
                for order, x in layouts_in_memory(X).items():
                    table = np.zeros((width.sum(), 4))
                    assert kernels.active.category_counts(x, code, w, lo, width, table) == stopped, order
                    np.testing.assert_allclose(table, expected, rtol=1e-12, err_msg=order)


LAST, LAST_UNSIGNED = 2**63 - 1, 2**64 - 1


@pytest.mark.parametrize(
    ("dtype", "lo", "width", "known", "strange"),
    [
        (np.int64, -(2**63), 2, [-(2**63), -(2**63) + 1], [-(2**63) + 2, -1, 0, LAST]),
        (np.int64, LAST - 1, 2, [LAST - 1, LAST], [LAST - 2, -1, 0, -(2**63)]),
        (np.int64, LAST, 5, [LAST], [LAST - 1, 0, -(2**63), -(2**63) + 3]),  # part of the range is beyond the type
        (np.int64, 0, 1, [0], [1, -1, LAST, -(2**63)]),
        (np.uint64, -2, 4, [0, 1], [2, LAST_UNSIGNED, LAST_UNSIGNED - 1, 2**63]),
        (np.uint64, LAST - 1, 4, [LAST - 1, LAST, LAST + 1, LAST + 2], [LAST + 3, 0, LAST - 2, LAST_UNSIGNED]),
        (np.uint64, -5, 3, [], [0, LAST_UNSIGNED, LAST_UNSIGNED - 4, 2**63]),
        (np.int64, 7, 0, [], [7, 0, LAST]),
        (np.uint8, -1, 300, [0, 255], []),
        (np.int8, -200, 100, [-128, -101], [-100, 127]),
        (np.uint32, 2**32 - 1, 9, [2**32 - 1], [0, 2**32 - 2]),
        (np.int32, -(2**31) - 5, 6, [-(2**31)], [-(2**31) + 1, 2**31 - 1]),
    ],
)
def test_categories_at_the_ends_of_their_type(dtype, lo, width, known, strange):
    lo, width = np.array([lo]), np.array([width])
    table = np.random.default_rng(3).normal(size=(width[0] + 1, 2))
    for value in known + strange:
        for n in (1, 9):  # vectors have their own arithmetic
            X, code, counts = np.full((n, 1), value, dtype), np.zeros(n, np.int32), np.zeros((width[0], 2))
            where, expected = plain_category_counts(X, code, None, lo, width, 2)
            for x in layouts_in_memory(X).values():
                counts[:] = 0
                assert kernels.active.category_counts(x, code, None, lo, width, counts) == where
                assert where == (n if value in known else 0)
                np.testing.assert_array_equal(counts, expected)
                scores = np.empty((n, 2))
                kernels.active.category_scores(x, lo, width, table, np.zeros(2), scores, None, None)
                np.testing.assert_array_equal(scores, plain_category_scores(X, lo, width, table, np.zeros(2)))


@pytest.mark.parametrize(("dtype", "impossible"), list(zip(INTEGERS, cycle([0.0, 0.3, 1.0]))), ids=str)
def test_category_scores(dtype, impossible):
    rng = np.random.default_rng(4)
    for n, widths, k in CATEGORIES:
        X, lo, width = some_categories(rng, n, widths, dtype, outside=0.2)
        table = rng.normal(size=(sum(widths) + len(widths), k))
        constant = rng.normal(size=k)
        table[rng.uniform(size=table.shape) < impossible / max(len(widths), 1)] = -np.inf
        constant[rng.uniform(size=k) < impossible] = -np.inf
        scores = plain_category_scores(X, lo, width, table, constant)
        for x in layouts_in_memory(X).values():
            args = x, lo, width, table, constant
            assert_reduced(scores, lambda *wanted, args=args: kernels.active.category_scores(*args, *wanted))


def test_truth_values_are_categories():
    X = np.array([[True, False], [False, False], [True, True]])[:, ::-1]
    lo, width, table = np.zeros(2, np.int64), np.full(2, 2), np.zeros((4, 1))
    assert kernels.active.category_counts(X, np.zeros(3, np.int32), None, lo, width, table) == 3
    np.testing.assert_array_equal(table[:, 0], [2, 1, 1, 2])
    scores = np.empty((3, 1))
    kernels.active.category_scores(X, lo, width, np.arange(6.0)[:, None], np.zeros(1), scores, None, None)
    np.testing.assert_array_equal(scores[:, 0], [1 + 5, 1 + 4, 2 + 5])


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 6), max_size=9), st.integers(0, 80), st.integers(1, 12))
def test_category_counts_of_halves_are_those_of_the_whole(seed, widths, n, k):
    rng = np.random.default_rng(seed)
    X, lo, width = some_categories(rng, n, widths, np.int32)
    code, cut = rng.integers(0, k, n).astype(np.int32), n // 3
    whole, halves = np.zeros((2, width.sum(), k))
    kernels.active.category_counts(X, code, None, lo, width, whole)
    kernels.active.category_counts(X[:cut], code[:cut], None, lo, width, halves)
    kernels.active.category_counts(X[cut:], code[cut:], None, lo, width, halves)
    np.testing.assert_array_equal(whole, halves)
    for column in np.split(whole, np.cumsum(width)[:-1]) if widths else []:  # each counts every row
        np.testing.assert_array_equal(column.sum(axis=0), np.bincount(code, minlength=k))


# Compressed sparse rows: (dense, indptr, indices, data), where entries may lie before and after those of the rows.

SPARSE = [(0, 3, 2), (1, 1, 1), (5, 4, 1), (6, 9, 2), (50, 7, 3), (40, 30, 4), (90, 60, 20), (65, 20, 25), (30, 8, 70)]


def plain_log_factorials(x):
    """Of each row of counts, the sum of log x! over the cells, and log x! of their sum."""
    x = x.astype(np.float64)
    return np.stack([gammaln(x + 1).sum(axis=1), gammaln(x.sum(axis=1) + 1)], axis=1)


def some_sparse(rng, n, d, value, index, sliced):
    dense = rng.poisson(0.7, (n, d)).astype(value)
    if np.dtype(value).kind == "f":
        dense *= rng.uniform(0.5, 1.5, dense.shape).astype(value)
    dense[rng.uniform(size=n) < 0.1] = 0  # rows with no entries
    indptr = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(index)
    indices, data = np.nonzero(dense)[1].astype(index), dense[dense != 0]
    if sliced:  # rows of a longer matrix
        indptr = indptr + np.array(7, index)
        indices = np.concatenate([np.zeros(7, index), indices, np.zeros(3, index)])
        data = np.concatenate([np.full(7, -1, value), data, np.full(3, -1, value)])
    return dense, indptr, indices, data


@pytest.mark.parametrize("value", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [None, "ones", "zeros"])
def test_sparse_counts(value, index, kind):
    rng = np.random.default_rng(5)
    for n, d, k in SPARSE:
        for sliced in (False, True):
            dense, indptr, indices, data = some_sparse(rng, n, d, value, index, sliced)
            code, weight = rng.integers(0, k, n).astype(np.int32), some_weight(rng, n, kind)
            if kind == "zeros":
                for r in np.flatnonzero(weight == 0):  # absent, whatever they hold
                    data[indptr[r] : indptr[r + 1]] = -1
            for array in (indptr, indices, data):
                array.flags.writeable = False
            for presence in (False, True):
                table, sums = np.ones((k, d)), None if presence else np.ones((k, 2))
                assert kernels.active.sparse_counts(indptr, indices, data, code, weight, presence, table, sums) is True
                expected = plain_counts(dense, code, weight, presence, k)
                np.testing.assert_allclose(table - 1, expected, rtol=1e-12, atol=1e-12)
                if sums is not None:
                    expected = plain_counts(plain_log_factorials(dense), code, weight, False, k)
                    np.testing.assert_allclose(sums - 1, expected, rtol=1e-12, atol=1e-12)


def test_indptr_and_indices_may_differ_in_type():
    indptr, indices, data = np.array([0, 2, 3]), np.array([2, 0, 1], np.int32), np.array([1.0, 2.0, 3.0])
    code, table, scores = np.array([1, 0], np.int32), np.zeros((2, 3)), np.empty((2, 1))
    for one, other in ((indptr, indices), (indptr.astype(np.int32), indices.astype(np.int64))):
        table[:] = 0
        assert kernels.active.sparse_counts(one, other, data, code, None, False, table)
        np.testing.assert_array_equal(table, [[0, 3, 0], [2, 0, 1]])
        slope = np.array([[1.0], [10.0], [100.0]])
        kernels.active.sparse_scores(one, other, data, slope, np.zeros(1), scores, None, None)
        np.testing.assert_array_equal(scores, [[102], [30]])


def test_sparse_counts_add_duplicates_and_bear_stored_zeros():
    indptr, indices = np.array([0, 4, 5]), np.array([1, 1, 0, 1, 2])
    data, table = np.array([1.0, 2.0, 0.0, 4.0, -0.0]), np.zeros((1, 3))
    assert kernels.active.sparse_counts(indptr, indices, data, np.zeros(2, np.int32), None, False, table)
    np.testing.assert_array_equal(table, [[0, 7, 0]])
    assert kernels.active.sparse_counts(
        indptr[1:], indices, data, np.zeros(1, np.int32), None, True, table
    )  # a stored zero is not present
    np.testing.assert_array_equal(table, [[0, 7, 0]])


@pytest.mark.parametrize(
    ("value", "bad"),
    [(t, b) for t in (np.float32, np.float64) for b in (np.nan, np.inf, -np.inf, -1.0, -1e-30)]
    + [(np.int32, -1), (np.int64, -(2**63))],
)
@pytest.mark.parametrize("presence", [False, True])
def test_sparse_counts_report_what_is_no_count(bad, value, presence):
    rng = np.random.default_rng(6)
    _, indptr, indices, data = some_sparse(rng, 40, 30, value, np.int32, False)
    code = rng.integers(0, 3, 40).astype(np.int32)
    for r in np.flatnonzero(np.diff(indptr))[[0, 7, -1]]:
        for entry in (indptr[r], indptr[r + 1] - 1):
            spoilt, weight = data.copy(), np.ones(40)
            spoilt[entry], weight[r] = bad, 0.0
            args = indptr, indices, spoilt, code
            assert kernels.active.sparse_counts(*args, None, presence, np.zeros((3, 30))) is False
            assert kernels.active.sparse_counts(*args, np.ones(40), presence, np.zeros((3, 30))) is False
            assert kernels.active.sparse_counts(*args, weight, presence, np.zeros((3, 30))) is True


@pytest.mark.parametrize("value", [np.float32, np.float64, np.int32, np.int64, None])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_scores(value, index):
    rng = np.random.default_rng(7)
    for n, d, k in SPARSE:
        for sliced in (False, True):
            dense, indptr, indices, data = some_sparse(rng, n, d, value or np.float64, index, sliced)
            if value is None:
                dense, data = dense > 0, None
            slope, constant = rng.normal(size=(d, k)), rng.normal(size=k)
            for impossible in (0.0, 0.5, 1.0):
                constant[rng.uniform(size=k) < impossible] = -np.inf
                scores = np.array([constant + row.astype(float) @ slope for row in dense]).reshape(n, k)
                args = indptr, indices, data, slope, constant
                assert_reduced(scores, lambda *wanted, args=args: kernels.active.sparse_scores(*args, *wanted))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [None, "ones", "zeros"])
@pytest.mark.parametrize("presence", [False, True])
def test_dense_counts(dtype, kind, presence):
    rng = np.random.default_rng(8)
    for n, d, k in [(0, 1, 1), (1, 1, 1), (3, 0, 2), (7, 4, 3), (65, 5, 2), (130, 9, 70), (300, 33, 3), (600, 17, 4)]:
        X = (rng.poisson(1.0, (n, d)) * rng.uniform(0.5, 1.5, (n, d))).astype(dtype)
        if presence:
            X -= 1
        gone = rng.uniform(size=(n, d)) < 0.05
        gone[: n // 2] = False
        code, weight = rng.integers(0, k, n).astype(np.int32), some_weight(rng, n, kind)
        expected = plain_counts(np.where(gone, 0.0, X), code, weight, presence, k)
        expected_missing = plain_counts(gone, code, weight, True, k)
        kept = slice(None) if kind != "zeros" else weight > 0
        of_rows = plain_log_factorials(np.where(gone, 0.0, X))[kept] if not presence else None
        if not presence:
            own = None if weight is None else weight[kept]
            expected_sums = plain_counts(of_rows, code[kept], own, False, k)
        X[gone] = np.nan
        if kind == "zeros":
            X[weight == 0] = -np.inf  # absent, whatever they hold
        for order, x in layouts_in_memory(X).items():
            count, missing, sums = np.ones((k, d)), np.full((k, d), 2.0), None if presence else np.ones((k, 2))
            assert kernels.active.dense_counts(x, code, weight, presence, count, missing, sums) is True
            if sums is not None:
                np.testing.assert_allclose(sums - 1, expected_sums, rtol=1e-12, atol=1e-12, err_msg=order)
                found = kernels.active.dense_log_factorials(x[kept])
                np.testing.assert_allclose(found, of_rows, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(count - 1, expected, rtol=1e-12, atol=1e-12, err_msg=order)
            np.testing.assert_allclose(missing - 2, expected_missing, rtol=1e-12, atol=1e-12, err_msg=order)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize(
    "rows",
    [
        [[0, 1, 4], [0, 1]],  # the same columns in two rows
        [[4, 1, 0], [2, 4]],
        [[], [3, 0, 4, 3], [0, 1, 2, 3, 4], [4, 4, 1], [3, 3, 3]],
        [[0, 0]],
        [[]],
    ],
)
def test_log_factorials_of_cells_that_are_stored_twice(rows, value, index):
    indptr, indices = 3 + np.cumsum([0, *map(len, rows)]), np.concatenate([[1, 1, 1], *rows]).astype(index)
    data, dense = (2 + np.arange(len(indices))).astype(value), np.zeros((len(rows), 5))
    np.add.at(dense, (np.repeat(np.arange(len(rows)), np.diff(indptr)), indices[3:]), data[3:])
    found = kernels.active.sparse_log_factorials(indptr, indices, data, 5)
    np.testing.assert_allclose(found, plain_log_factorials(dense), rtol=1e-13)
    code, table, sums = np.zeros(len(rows), np.int32), np.zeros((1, 5)), np.zeros((1, 2))
    kernels.active.sparse_counts(indptr, indices, data, code, None, False, table, sums)
    np.testing.assert_allclose(sums, found.sum(axis=0, keepdims=True), rtol=1e-13)


@pytest.mark.parametrize("n_columns", [1, 3, 255, 256, 257, 2000])
def test_log_factorials_of_more_cells_than_columns(rng, n_columns):
    indices, data = rng.integers(0, n_columns, 3000), rng.poisson(2.0, 3000).astype(float)
    dense = np.bincount(indices, data, n_columns)[None]
    found = kernels.active.sparse_log_factorials(np.array([0, 3000]), indices, data, n_columns)
    np.testing.assert_allclose(found, plain_log_factorials(dense), rtol=1e-13)
    indices[::2] += rng.integers(1, 2**40, 1500) * n_columns  # of which no table has room for each
    table, sums = np.zeros((1, n_columns)), np.zeros((1, 2))
    code = np.zeros(1, np.int32)
    assert not kernels.active.sparse_counts(np.array([0, 3000]), indices, data, code, None, False, table, sums)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.poisson(3.0, n),
        lambda rng, n: rng.poisson(60.0, n),
        lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, rng.poisson(20.0, n)),
        lambda rng, n: rng.gamma(1.0, 3.0, n),
        lambda rng, n: 10 ** rng.uniform(-12, 60, n),
    ],
    ids=["small", "some large", "missing", "fractions", "any size"],
)
def test_log_factorials(draw):
    rng = np.random.default_rng(9)
    lengths = np.array([0, 1, 3, 4, 7, 8, 9, 33, 0, 200])
    values = np.asarray(draw(rng, 5 + lengths.sum()), np.float64)
    starts = 5 + np.concatenate([[0], np.cumsum(lengths)])
    columns = np.concatenate([np.arange(5), *map(np.arange, lengths)])
    found = kernels.active.sparse_log_factorials(starts, columns, np.nan_to_num(values), 200)
    for row, (start, stop) in zip(found, pairwise(starts.tolist()), strict=True):
        in_a_table = kernels.active.dense_log_factorials(values[start:stop][None])
        np.testing.assert_allclose(row, in_a_table[0], rtol=1e-14, atol=1e-13)
        x = [mpmath.mpf(v) for v in values[start:stop].tolist() if v == v]
        expected = [sum((mpmath.loggamma(v + 1) for v in x), mpmath.mpf(0)), mpmath.loggamma(sum(x) + 1)]
        np.testing.assert_allclose(row, [float(e) for e in expected], rtol=2e-14, atol=1e-13)


def test_log_factorials_of_a_row_do_not_depend_on_the_rows_before(rng):
    kinds = [[0, 1, 31], [30, 32, 33], [7, 4095], [4096], [0.5, 3], [2, np.nan], [2.0**52, 5], [-1, 6]]
    X = np.array([rng.choice(kinds[rng.integers(len(kinds))], 19) for _ in range(500)])
    alone = np.concatenate([kernels.active.dense_log_factorials(row[None]) for row in X])
    np.testing.assert_array_equal(kernels.active.dense_log_factorials(X), alone)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("presence", [False, True])
def test_count_scores(dtype, presence):
    rng = np.random.default_rng(8)
    for n, d, k in [(1, 1, 1), (7, 4, 3), (65, 5, 2), (130, 9, 11), (300, 33, 7)]:
        X = (rng.poisson(1.0, (n, d)) - presence).astype(dtype)
        slope, constant = rng.normal(size=(k, d)), rng.normal(size=k)
        scores = constant + (X > 0 if presence else X).astype(np.float64) @ slope.T
        for x in layouts_in_memory(X).values():
            args = x, slope, constant, presence
            assert_reduced(
                scores, lambda *wanted, args=args: None if kernels.active.count_scores(*args, *wanted) else 0
            )
        for bad in (np.nan, np.inf, -1.0):
            for r, j in {(0, 0), (n // 2, d // 2), (n - 1, d - 1)}:
                spoilt = X.copy()
                spoilt[r, j] = bad
                fine = kernels.active.count_scores(spoilt, slope, constant, presence, None, np.empty(n, np.int64), None)
                assert fine is (presence and bad == -1.0)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, -1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("presence", [False, True])
def test_dense_counts_report_what_is_no_count(bad, dtype, presence):
    X = np.ones((70, 7), dtype)
    code, weight = np.zeros(70, np.int32), np.ones(70)
    for r, j in ((0, 0), (5, 3), (64, 6), (69, 4)):
        spoilt = X.copy()
        spoilt[r, j], spoilt[r, (j + 1) % 7] = bad, np.nan
        weight[:] = np.arange(70) != r
        for x in layouts_in_memory(spoilt).values():
            tables = np.zeros((2, 1, 7))
            assert kernels.active.dense_counts(x, code, None, presence, *tables) is (presence and bad == -1.0)
            assert kernels.active.dense_counts(x, code, weight, presence, *tables) is True


@pytest.mark.parametrize(("n", "k"), [(0, 3), (1, 1), (9, 2), (64, 3), (65, 4), (70, 21), (130, 300)])
@pytest.mark.parametrize("impossible", [0.0, 0.4, 1.0])
def test_reduce(n, k, impossible):
    rng = np.random.default_rng(9)
    scores = np.round(rng.normal(size=(n, k)) * 3)  # with ties
    scores[rng.uniform(size=(n, k)) < impossible] = -np.inf
    assert_reduced(scores, lambda *wanted: kernels.active.reduce(scores, *wanted))
    before, best = scores.copy(), np.empty(n, np.int64)
    kernels.active.reduce(scores, scores, best, None)  # in place
    np.testing.assert_array_equal(scores, before)
