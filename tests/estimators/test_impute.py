"""Imputation writes missing cells and nothing else, and hands back what came in."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from suffice import (
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    MixedClassifier,
    PoissonClassifier,
)

LABELS = list("aabb")
FRAME = pd.DataFrame(
    {
        "size": [1.0, 2.0, 3.0, 4.0],
        "town": ["Bonn", "Bonn", "Köln", "Bonn"],
        "wet": [True, True, False, True],
        "key": ["k1", "k2", "k3", "k4"],
    }
)
FAMILIES = {"key": "drop"}


def holed(dtypes):
    rows = pd.DataFrame(
        {
            "size": [None, 2.0],
            "town": ["Rome", None],
            "wet": pd.array([None, False], dtype="object"),
            "key": [None, "new"],
        }
    )
    return rows.astype(dtypes).set_index(pd.Index([7, 7], name="row"))


PANDAS = {
    "as it is": {"size": "float64", "town": "object", "wet": "object"},
    "str": {"size": "float32", "town": "str", "wet": "boolean"},
    "nullable": {"size": "Float64", "town": "string", "wet": "boolean"},
    "arrow": {"size": "double[pyarrow]", "town": pd.ArrowDtype(pa.string()), "wet": "bool[pyarrow]"},
    "categories": {"size": "Float32", "town": pd.CategoricalDtype(["Rome", "Bonn"]), "wet": "boolean"},
    "sparse": {"size": pd.SparseDtype("float64"), "town": "object", "wet": "object"},
}


@pytest.fixture(scope="module")
def clf():
    return MixedClassifier(FAMILIES).fit(FRAME, LABELS)


@pytest.mark.parametrize("dtypes", PANDAS.values(), ids=PANDAS)
def test_a_pandas_frame_keeps_what_it_had(clf, dtypes):
    rows = holed(dtypes)
    filled = clf.impute(rows)
    assert filled.index.equals(rows.index)
    assert filled.index.name == "row"
    assert filled.dtypes.tolist() == rows.dtypes.tolist()
    assert filled["town"].tolist() == ["Rome", "Bonn"]  # Rome was never seen, and stays
    assert filled["wet"].tolist() == [True, False]
    assert filled["size"].iloc[0] == pytest.approx(2.5, abs=1)
    assert filled["size"].iloc[1] == 2
    assert pd.isna(filled["key"].iloc[0])  # the model has no such column
    assert filled["key"].iloc[1] == "new"
    assert pd.isna(rows.iloc[0, 0])  # what came in is left alone


def test_categories_take_the_new_one():
    """One that the model knows, but the column does not."""
    clf = CategoricalClassifier().fit(FRAME[["town"]], LABELS)
    filled = clf.impute(pd.DataFrame({"town": pd.Categorical(["Rome", None], ["Rome"])}))["town"]
    assert filled.tolist() == ["Rome", "Bonn"]
    assert filled.cat.categories.tolist() == ["Rome", "Bonn"]


def polars_rows(town):
    types = {"size": pl.Float32, "town": town, "wet": pl.Boolean, "key": pl.String}
    return pl.DataFrame([[None, "Bonn", None, None], [2.0, None, False, "new"]], types, orient="row")


@pytest.mark.parametrize("town", [pl.String, pl.Categorical, pl.Enum(["Bonn", "Köln"])], ids=str)
def test_a_polars_frame_keeps_what_it_had(clf, town):
    rows = polars_rows(town)
    filled = clf.impute(rows)
    assert filled.schema == rows.schema
    assert filled["town"].to_list() == ["Bonn", "Bonn"]
    assert filled["wet"].to_list() == [True, False]
    assert filled["size"].to_list() == pytest.approx([2.25, 2.0], abs=1)
    assert filled["key"].to_list() == [None, "new"]


def test_an_enumeration_without_the_category_becomes_text(clf):
    filled = clf.impute(polars_rows(pl.Enum(["Bonn", "Rome"])).with_columns(town=pl.lit(None, pl.Enum(["Rome"]))))
    assert filled.schema["town"] == pl.String
    assert filled["town"].to_list() == ["Bonn"] * 2


@pytest.mark.parametrize("kind", [pa.Table, pa.RecordBatch])
@pytest.mark.parametrize("town", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_an_arrow_table_keeps_what_it_had(clf, kind, town):
    types = [("size", pa.float32()), ("town", town), ("wet", pa.bool_()), ("key", pa.string())]
    values = {"size": [None, 2.0], "town": ["Rome", None], "wet": [None, False], "key": [None, "new"]}
    rows = kind.from_pydict(values, schema=pa.schema(types, {"author": "me"}))
    filled = clf.impute(rows)
    assert type(filled) is kind
    assert filled.schema.equals(rows.schema, check_metadata=True)
    assert filled.to_pydict()["town"] == ["Rome", "Bonn"]
    assert filled.to_pydict()["wet"] == [True, False]
    assert filled.to_pydict()["key"] == [None, "new"]


WIDER = {
    "pandas": (pd.DataFrame({"x": pd.array([1, None], "Int64")}), lambda filled: str(filled.dtypes["x"]), "Float64"),
    "pandas of Arrow": (
        pd.DataFrame({"x": pd.array([1, None], "int64[pyarrow]")}),
        lambda filled: str(filled.dtypes["x"]),
        "double[pyarrow]",
    ),
    "polars": (pl.DataFrame({"x": [1, None]}), lambda filled: filled.schema["x"], pl.Float64),
    "Arrow": (pa.table({"x": [1, None]}), lambda filled: filled.schema.field("x").type, pa.float64()),
}


@pytest.mark.parametrize(("rows", "dtype", "wider"), WIDER.values(), ids=WIDER)
@pytest.mark.parametrize(("more", "fits"), [(4.0, True), (5.0, False)])
def test_integers_become_fractions_only_where_they_must(rows, dtype, wider, more, fits):
    names = {"x": [1.0, 2.0, 5.0, more]}
    clf = GaussianClassifier("tied_diag").fit(pd.DataFrame(names), LABELS)
    filled = clf.impute(rows)
    assert dtype(filled) == (dtype(rows) if fits else wider)
    found = filled["x"].to_list() if hasattr(filled["x"], "to_list") else filled["x"].to_pylist()
    assert found == pytest.approx([1, np.mean(names["x"])], abs=0.9)
    assert found[0] == 1


NARROW = {
    "pandas": (pd.DataFrame({"x": pd.array([1, None], "Int8")}), lambda filled: str(filled.dtypes["x"]), "Int64"),
    "polars": (pl.DataFrame({"x": [1, None]}, {"x": pl.UInt8}), lambda filled: filled.schema["x"], pl.Int64),
    "Arrow": (pa.table({"x": pa.array([1, None], pa.int8())}), lambda filled: filled["x"].type, pa.int64()),
}


@pytest.mark.parametrize(("rows", "dtype", "wider"), NARROW.values(), ids=NARROW)
def test_integers_that_are_too_large_for_a_column_widen_it(rows, dtype, wider):
    clf = CategoricalClassifier().fit(pd.DataFrame({"x": [1000, 1000, 7, 1000]}), LABELS)
    assert dtype(clf.impute(rows)) == wider


@pytest.mark.parametrize("build", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(("kind", "value"), [(CategoricalClassifier, "u"), (PoissonClassifier, 3)])
def test_columns_of_nothing_take_the_type_of_what_is_filled_in(kind, value, build):
    clf = kind().fit(pd.DataFrame({"x": [value] * 4}), LABELS)
    assert pa.table(clf.impute(build({"x": [None]})))["x"].to_pylist() == [value]


def test_huge_integers_are_categories_and_come_back_as_integers():
    rows = pd.DataFrame({"id": pd.array([2**53, 2**53 + 1, 2**53 + 1, None], "Int64")})
    filled = CategoricalClassifier().fit(rows, LABELS).impute(rows)
    assert filled["id"].tolist() == [2**53, 2**53 + 1, 2**53 + 1, 2**53 + 1]
    assert filled.dtypes["id"] == "Int64"


ARRAYS = {
    "float32": (PoissonClassifier, np.array([[1, np.nan], [3, 0]], np.float32)),
    "float64": (BernoulliClassifier, np.array([[7, np.nan], [3, 0]])),
    "longdouble": (PoissonClassifier, np.array([[1, np.nan], [3, 0]], np.longdouble)),
    "list": (BernoulliClassifier, [[2.0, None], [0.5, 0]]),
    "csr": (GaussianClassifier, sparse.csr_array([[1.5, np.nan], [0, 1]])),
    "coo": (GaussianClassifier, sparse.coo_matrix(np.array([[1.5, np.nan], [0, 1]], np.float32))),
    "csc of counts": (PoissonClassifier, sparse.csc_array([[3, 0], [0, 1]])),
    "integers": (PoissonClassifier, np.array([[3, 0], [0, 1]])),
    "words": (CategoricalClassifier, np.array([["Rome", None], ["2", "1"]], object)),
    "text": (CategoricalClassifier, np.array([["Rome", "x"], ["2", "1"]])),
}


@pytest.mark.parametrize(("kind", "rows"), ARRAYS.values(), ids=ARRAYS)
def test_arrays_come_back_as_arrays(kind, rows):
    train = np.array([[1, 0], [3, 1], [0, 2], [2, 2]])
    kind = partial(kind, "tied_diag") if kind is GaussianClassifier else kind
    clf = kind().fit(train if kind is not CategoricalClassifier else train.astype(str), LABELS)
    filled = clf.impute(rows)
    if sparse.issparse(rows):
        assert type(filled) is type(rows)
        rows, filled = (part.toarray() for part in (rows, filled))
    before = np.array(rows, object if isinstance(rows, list) else None)
    assert isinstance(filled, np.ndarray)
    assert filled.dtype == before.dtype
    missing = pd.isna(before)
    assert not pd.isna(filled).any()
    assert filled[~missing].tolist() == before[~missing].tolist()
    assert filled is not rows


def test_an_array_of_mixed_columns_comes_back_as_one():
    train = FRAME[["size", "town", "wet"]].to_numpy()
    filled = MixedClassifier().fit(train, LABELS).impute(np.array([[None, "Rome", None], [2, None, False]], object))
    assert filled.dtype == object
    assert filled[1].tolist() == [2, "Bonn", False]
    assert filled[0, 1:].tolist() == ["Rome", True]


def test_names_of_categories_become_numbers_again():
    """Numbers beside text are categories by their names; a column of numbers takes them as numbers."""
    words = pd.DataFrame({"x": ["1", "1", "x", "1"]})
    clf = CategoricalClassifier().fit(words, LABELS)
    assert clf.impute(pd.DataFrame({"x": [1.0, None]}))["x"].tolist() == [1.0, 1.0]


def test_names_that_are_no_numbers_widen_a_column_of_numbers():
    words = np.array([["y"], ["y"], ["x"], ["y"]])
    array, frame = (CategoricalClassifier().fit(rows, LABELS) for rows in (words, pd.DataFrame(words, columns=["x"])))
    assert frame.impute(pd.DataFrame({"x": [1.0, None]}))["x"].tolist() == [1.0, "y"]
    assert frame.impute(pa.table({"x": [1, None]})).to_pydict() == {"x": ["1", "y"]}
    assert array.impute(np.array([[1.0], [np.nan]])).tolist() == [[1.0], ["y"]]


def test_a_column_that_was_never_observed_stays_missing():
    clf = CategoricalClassifier().fit(pd.DataFrame({"x": list("uuvu"), "y": [None] * 4}), LABELS)
    filled = clf.impute(pd.DataFrame({"x": ["v", None], "y": [None, None]}))
    assert filled["x"].tolist() == ["v", "u"]
    assert filled["y"].isna().all()
