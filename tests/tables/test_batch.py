"""A batch is validated once, and nothing is copied that need not be."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from suffice.errors import DataError, SufficeError
from suffice.sources import as_table
from suffice.tables.batch import Batch
from suffice.tables.labels import SoftLabels

X = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    "given",
    [
        X,
        np.asfortranarray(X),
        X.astype(np.float32),
        X[::-2, ::-1],
        X[:, 1:],
        np.broadcast_to(X[0], (4, 3)),
        np.lib.stride_tricks.as_strided(X, writeable=False),
    ],
    ids=["C", "F", "float32", "backwards", "columns", "broadcast", "read-only"],
)
def test_floats_are_taken_as_they_are(given):
    batch = Batch.of(given)
    assert np.shares_memory(batch.X, given)
    assert batch.X.strides == given.strides
    assert batch.X.dtype == given.dtype


@pytest.mark.parametrize(
    "given",
    [
        X.tolist(),
        tuple(map(tuple, X.tolist())),
        X.astype(int),
        X.astype(np.uint8),
        X.astype(np.float16),
        X.astype(np.longdouble),
        X.astype(">f8"),
        X.astype(">f4"),
        X.astype(object),
        X.astype(str),
        pd.DataFrame(X),
    ],
    ids=["lists", "tuples", "int64", "uint8", "float16", "longdouble", "big f8", "big f4", "object", "text", "pandas"],
)
def test_everything_else_becomes_native_float64(given):
    batch = Batch.of(given)
    assert batch.X.dtype == np.float64
    assert batch.X.dtype.isnative
    np.testing.assert_array_equal(batch.X, X)


def test_booleans_are_zero_and_one():
    np.testing.assert_array_equal(Batch.of([[True, False]]).X, [[1.0, 0.0]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (1.0, "Expected 2D array, got 0D array"),
        ([1.0, 2.0], "Expected 2D array, got 1D array"),
        (X[None], "Expected 2D array, got 3D array"),
        (np.empty((4, 0)), r"0 feature\(s\) \(shape=\(4, 0\)\) while a minimum of 1"),
        (X + 1j, "Complex data not supported"),
        (np.array([["2020-01-01"]], "M8[D]"), "datetime64"),
        (np.array([[1]], "m8[s]"), "timedelta64"),
        ([["a", "b"]], "not numbers"),
        (np.array([[1.0, "b"]], object), "not numbers"),
        ([[1.0, 2.0], [3.0]], "inhomogeneous|rows"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_tables_that_are_none_are_refused(given, message):
    with pytest.raises(DataError, match=message):
        Batch.of(given).X  # noqa: B018


MASK = np.array([[True, False], [False, False]])
PACKED = np.zeros(2, np.dtype([("pad", "i1"), ("float", "f8", 2), ("integer", "i8", 2)]))
for name in ("float", "integer"):
    PACKED[name] = [[1, 2], [3, 4]]
MASKED = {
    "float": (np.array([[1.5, 2], [3, 4]]), [[np.nan, 2], [3, 4]]),
    "float32": (np.array([[1.5, 2], [3, 4]], np.float32), [[np.nan, 2], [3, 4]]),
    "integer": (np.array([[1, 2**60 + 1], [3, 4]]), [[None, 2**60 + 1], [3, 4]]),
    "boolean": (np.array([[True, False], [True, True]]), [[None, False], [True, True]]),
    "text": (np.array([["a", "b"], ["", "d"]]), [[None, "b"], ["", "d"]]),
    "object": (np.array([["a", 2], [None, 4]], object), [[None, 2], [None, 4]]),
    "dates": (np.array([["2026", "2027"], ["2028", "NaT"]], "M8[D]"), [["NaT", "2027"], ["2028", "NaT"]]),
    "other byte order": (np.array([[1.5, 2], [3, 4]], ">f8"), [[np.nan, 2], [3, 4]]),
    "packed floats": (PACKED["float"], [[np.nan, 2], [3, 4]]),
    "packed integers": (PACKED["integer"], [[np.nan, 2], [3, 4]]),
}


@pytest.mark.parametrize(("values", "expected"), MASKED.values(), ids=MASKED)
def test_what_is_masked_is_missing(values, expected):
    before = values.copy()
    found = Batch.of(np.ma.masked_array(values, MASK)).table.values
    np.testing.assert_array_equal(found, np.array(expected, found.dtype))
    np.testing.assert_array_equal(values, before)
    assert Batch.of(np.ma.masked_array(values)).table.values.dtype == values.dtype  # nothing is masked


def test_what_is_masked_is_refused_like_what_is_not():
    for dtype, words in (("c8", "Complex"), ([("a", "f8")], "not numbers, text or dates")):
        with pytest.raises(DataError, match=words):
            Batch.of(np.ma.masked_all((2, 2), dtype))


def test_labels_and_weights_go_along():
    batch = Batch.of(X, list("abab"), [1, 0, 2, 0.5])
    assert len(batch) == 4
    assert batch.start == 0
    assert batch.y.tolist() == list("abab")
    assert batch.weight.tolist() == [1, 0, 2, 0.5]
    assert batch.weight.dtype == np.float64
    assert Batch.of(X).y is None
    assert Batch.of(X).weight is None


def test_soft_labels_are_kept():
    soft = SoftLabels(np.array(["a", "b"]), np.full((4, 2), 0.5))
    assert Batch.of(X, soft).y is soft


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (list("abc"), "X has 4 rows, y has 3"),
        (list("abcde"), "X has 4 rows, y has 5"),
        ([["a"]] * 4, r"y should be a 1d array, got an array of shape \(4, 1\)"),
        ("abcd", r"y should be a 1d array, got an array of shape \(\)"),
        (SoftLabels(np.array([0, 1]), np.ones((3, 2))), "X has 4 rows, y has 3"),
        (SoftLabels(np.array([0, 1, 2]), np.ones((4, 2))), "class"),
        (SoftLabels(np.array([0, 1]), np.array([[1, 0], [0, 1], [-1, 2], [1, 0]])), "negative"),
        (SoftLabels(np.array([0, 1]), np.array([[1, 0], [0, 1], [np.nan, 0], [1, 0]])), "finite"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_labels_that_do_not_fit_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        Batch.of(X, y)


@pytest.mark.parametrize("y", [["a", "b", float("nan"), "a"], ["a", "b", 1, 2], [1, 2, "a", True]], ids=repr)
def test_lists_do_not_turn_everything_into_text(y):
    """NumPy would make the string 'nan' of a missing label, and '1' of a number."""
    batch = Batch.of(X, y)
    assert batch.y.dtype == object
    assert list(map(type, batch.y)) == list(map(type, y))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 2, 3], r"sample_weight.shape == \(3,\), expected \(4,\)"),
        (np.ones((4, 1)), "1D array"),
        ([1, -1e-300, 1, 1], "not negative"),
        ([1, np.nan, 1, 1], "finite"),
        ([1, np.inf, 1, 1], "finite"),
        ([None, 1, 1, 1], "finite"),
        ([0, 0.0, -0.0, 0], "all weights are zero"),
        (["a", "b", "c", "d"], "number|float"),
        ([pd.NA, 1, 1, 1], "number|finite"),
    ],
    ids=repr,
)
def test_weights_that_make_no_sense_are_refused(weight, message):
    with pytest.raises(DataError, match=message):
        Batch.of(X, list("abab"), weight)


def test_a_batch_is_a_value():
    batch = Batch.of(X)
    with pytest.raises(AttributeError):
        batch.table = X
    assert issubclass(DataError, SufficeError)
    assert issubclass(DataError, ValueError)


def unaligned(values):
    """The same values at odd addresses, as in packed records."""
    moved = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
    moved[...] = values
    assert not moved.flags.aligned
    return moved


def test_values_that_are_not_aligned_are_copied(rng):
    """The native kernels read whole vectors of them."""
    X, weight = rng.normal(size=(5, 3)), rng.uniform(size=5)
    batch = Batch.of(unaligned(X), None, unaligned(weight))
    for ours, expected in ((batch.X, X), (batch.weight, weight)):
        assert ours.flags.aligned
        np.testing.assert_array_equal(ours, expected)
    counts = csr_array(rng.poisson(1.0, (5, 3)).astype(np.float64))
    parts = counts.indptr, counts.indices, counts.data
    counts.indptr, counts.indices, counts.data = map(unaligned, parts)
    table = as_table(counts)
    for ours, expected in zip((table.indptr, table.indices, table.data), parts, strict=True):
        assert ours.flags.aligned
        np.testing.assert_array_equal(ours, expected)
