"""Tables in memory: rows and columns of them, as numbers and as categories."""

import sys
from types import ModuleType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from suffice import kernels
from suffice.errors import DataError
from suffice.sources import as_table
from suffice.tables.readers import as_column
from suffice.tables.table import ArrayColumn, Frame, Matrix, Sparse, as_float, contiguous, native, without_missing

VALUES = np.array([[1.5, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 1.0, 0.0], [2.0, 7.0, 1.0], [0.0, 0.0, 0.0]])
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(VALUES, columns=NAMES)

TABLES = {
    "matrix": lambda: as_table(VALUES),
    "sparse": lambda: as_table(sp.csr_array(VALUES)),
    "pandas": lambda: as_table(FRAME),
    "pandas columns": lambda: as_table(FRAME.astype({"b": int})),
    "polars": lambda: as_table(pl.DataFrame(VALUES, NAMES)),
    "Arrow": lambda: as_table(pa.table(list(VALUES.T), NAMES)),
}


@pytest.fixture(params=TABLES)
def table(request):
    return TABLES[request.param]()


SLICES = [slice(None), slice(1, 3), slice(0, 0), slice(3, 99), slice(2, 2), slice(4, None), slice(0, -1)]


@pytest.mark.parametrize("rows", SLICES, ids=str)
def test_rows_of_a_table_and_rows_of_these(table, rows):
    part = table[rows]
    assert len(part) == len(VALUES[rows])
    assert part.n_features == 3
    np.testing.assert_array_equal(part.floats(), VALUES[rows])
    np.testing.assert_array_equal(part[1:3].floats(), VALUES[rows][1:3])
    np.testing.assert_array_equal(part.take([2, 0]).floats(), VALUES[rows][:, [2, 0]])


@pytest.mark.parametrize("places", [[0], [0, 1, 2], [2, 0], [1, 2], []], ids=str)
def test_columns_of_a_table(table, places):
    part = table.take(places)
    assert part.n_features == len(places)
    assert len(part) == 5
    np.testing.assert_array_equal(part.floats(), VALUES[:, places])
    np.testing.assert_array_equal(part[1:4].floats(), VALUES[1:4, places])
    if table.names and not isinstance(table, Sparse):
        assert part.names == tuple(NAMES[j] for j in places)


def test_columns_have_names_for_messages(table):
    assert table.column_name(1) == ("'b'" if table.names else "1")


def test_taking_neighbours_copies_nothing():
    part = Matrix(VALUES).take([1, 2])
    assert np.shares_memory(part.values, VALUES)
    assert not np.shares_memory(Matrix(VALUES).take([2, 0]).values, VALUES)
    assert contiguous([3, 4, 5]) == slice(3, 6)
    assert contiguous([3, 5]).tolist() == [3, 5]
    assert contiguous([2, 1]).tolist() == [2, 1]
    assert np.zeros((2, 4))[:, contiguous([])].shape == (2, 0)


MIXED = pd.DataFrame(
    {
        "number": [1.5, np.nan, np.inf],
        "whole": pd.array([1, 2, None], "Int64"),
        "count": [1, 2, 3],
        "text": ["a", None, "b"],
        "truth": pd.array([None, True, False], "boolean"),
        "category": pd.Categorical(["b", "a", None]),
        "day": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
    }
)


@pytest.mark.parametrize(
    "given",
    [
        MIXED,
        pl.from_pandas(MIXED.assign(number=[1.5, None, np.inf])),
        pa.Table.from_pandas(MIXED),
        MIXED.astype(object),
        MIXED.astype(object).to_numpy(),
    ],
    ids=["pandas", "polars", "Arrow", "objects", "array of objects"],
)
def test_missing_cells_of_columns_of_any_kind(given):
    expected = MIXED.isna().to_numpy()
    assert expected.sum() == 6
    table = as_table(given)
    np.testing.assert_array_equal(table.missing(), expected)
    np.testing.assert_array_equal(table[1:].missing(), expected[1:])


def test_missing_cells_of_numbers():
    dense = np.array([[0.0, np.nan], [np.inf, 0.0], [2.0, 1.0]])
    for values in (dense, dense.astype(np.float32), sp.csr_array(dense)):
        np.testing.assert_array_equal(as_table(values).missing(), np.isnan(dense))
    for values in (np.ones((3, 2), int), np.ones((3, 2), bool), np.full((3, 2), "nan")):
        assert not as_table(values).missing().any()


def test_categories_can_be_missing():
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1]), pa.array(["a", None]))
    assert as_table(pa.table({"x": values})).missing()[:, 0].tolist() == [False, True, True, True]


# Sparse.


def stored_twice():
    return Sparse(np.array([0, 3, 5, 5]), np.array([2, 0, 2, 1, 0]), np.array([1.0, 5.0, 2.0, 4.0, -1.0]), 3)


def test_cells_that_are_stored_twice_are_summed():
    table = stored_twice()
    canonical = table.canonical()
    np.testing.assert_array_equal(canonical.floats(), [[5, 0, 3], [-1, 4, 0], [0, 0, 0]])
    assert len(canonical.stored()[0]) == 4
    np.testing.assert_array_equal(table.floats(), canonical.floats())
    assert table.data.tolist() == [1, 5, 2, 4, -1]  # untouched
    tail = table[1:].canonical()
    np.testing.assert_array_equal(tail.floats(), [[-1, 4, 0], [0, 0, 0]])
    clean = TABLES["sparse"]()
    assert clean.canonical() is clean


@given(st.data())
def test_any_rows_of_any_sparse_matrix(data):
    dense = data.draw(hnp.arrays(np.int64, st.tuples(st.integers(0, 6), st.integers(1, 5)), elements=st.integers(0, 3)))
    table = as_table(sp.csr_array(dense))
    start = data.draw(st.integers(0, 7))
    stop = data.draw(st.integers(0, 7))
    part = table[start:stop]
    np.testing.assert_array_equal(part.floats(), dense[start:stop])
    np.testing.assert_array_equal(part.canonical().floats(), dense[start:stop])
    np.testing.assert_array_equal(part.matrix().toarray(), dense[start:stop])
    assert len(part.stored()[0]) == np.count_nonzero(dense[start:stop])


def test_a_sparse_matrix_has_no_categories():
    with pytest.raises(DataError, match="sparse matrix holds numbers, not categories"):
        stored_twice().columns()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "u1", "u8", "?"])
def test_sparse_values_of_every_type(dtype):
    dense = np.array([[1, 0], [0, 1]]).astype(dtype)
    np.testing.assert_array_equal(as_table(sp.csr_array(dense)).floats(), dense)


# Values.


@pytest.mark.parametrize("kernel_name", kernels.available())
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array(["b", "a", "b"]), ["b", "a", "b"]),
        (np.array(["b", None, "b"], object), ["b", None, "b"]),
        (np.array([1.5, np.nan, 1.5]), [1.5, None, 1.5]),
        (np.array([3, -1, 3]), [3, -1, 3]),
        (np.array([True, False, True]), [True, False, True]),
        (np.array([None, None, None], object), [None, None, None]),
        (np.array([np.nan, np.float32("nan"), pd.NA], object), [None, None, None]),
        (np.array([b"b", b"a"]), [b"b", b"a"]),
        (np.array([], object), []),
        (np.array([-0.0, 0.0]), [0.0, 0.0]),
        (np.array(["x"] * 3000 + [None] + ["y"], object), ["x"] * 3000 + [None, "y"]),
    ],
    ids=lambda value: repr(value)[:30] if isinstance(value, np.ndarray) else "",
)
def test_columns_as_codes(values, expected, kernel_name):
    with kernels.using(kernel_name):
        distinct, code = ArrayColumn.of(values).coded()
    assert code.dtype == np.int32
    words = [*distinct.tolist(), None]
    assert [words[c] for c in code] == expected


def test_missing_values_have_no_code():
    distinct, code = without_missing(np.array(["a", None, np.nan, "b"], object), np.array([0, 1, 2, 3, -1], np.int32))
    assert distinct.tolist() == ["a", "b"]
    assert code.tolist() == [0, -1, -1, 1, -1]
    same = np.array(["a"]), np.array([0], np.int32)
    assert without_missing(*same)[1] is same[1]


def test_numbers_are_not_copied_but_where_they_must():
    for dtype in (np.float64, np.float32):
        X = np.ones((3, 2), dtype)
        assert as_float(X) is X
    unaligned = np.zeros(10, [("pad", "i1"), ("x", "f8")])["x"]
    assert as_float(unaligned).strides == (8,)
    assert as_float(np.array([[1, None]], object)).tolist()[0][0] == 1
    assert np.isnan(as_float(np.array([[pd.NA, None, np.nan]], object))).all()
    with pytest.raises(DataError, match="not numbers"):
        as_float(np.array([["x"]]))
    big = np.array([1, 2], ">i4")
    assert native(big).dtype.isnative
    assert native(big).tolist() == [1, 2]
    assert native(VALUES) is VALUES


def test_a_frame_names_every_column_that_is_no_number():
    frame = as_table(pd.DataFrame({"x": [1.0], "town": ["Rome"], "when": pd.to_datetime(["2026-01-01"])}))
    assert isinstance(frame, Frame)
    with pytest.raises(DataError, match=r"'town' \(str\), 'when' \(datetime64"):
        frame.floats()


def test_dates_in_an_array_are_no_numbers():
    with pytest.raises(DataError, match=r"column 0 \(datetime64\[D\]\) does not hold numbers"):
        as_table(np.array([["2026-01-01"]], "datetime64[D]")).floats()


def test_a_sparse_table_must_be_told_its_width():
    with pytest.raises(TypeError, match="n_features"):
        Sparse(np.array([0, 1]), np.array([0]), np.array([1.0]))


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow", "scipy.sparse"])
def test_a_library_that_another_thread_is_importing_is_not_looked_into(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, ModuleType(name))  # as it is before its own code has run
    assert len(as_table(np.ones((2, 1)))) == 2
    assert as_column([1.0]) == [1.0]
