"""One body over every table of categories and truths: the same cells give the same model, whatever holds them."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from suffice import BernoulliClassifier, CategoricalClassifier, MixedClassifier, load
from suffice.errors import DataError
from suffice.sources import as_table, base

N = 60
NAMES = ["fur", "eyes"]
LABELS = np.array(["f", "m"])[np.arange(N) % 2]
WORDS = ["black", "orange", "", "Weiß", "三毛"]


def cells(seed=0, share=0.0):
    """Two columns of text, with a share of None."""
    rng = np.random.default_rng(seed)
    values = np.array(WORDS, object)[rng.integers(0, len(WORDS), (N, 2))]
    values[rng.random((N, 2)) < share] = None
    return values


def frame(values, *dtypes):
    dtypes = dtypes or ("object",)
    return pd.DataFrame({n: pd.Series(values[:, j], dtype=dtypes[j % len(dtypes)]) for j, n in enumerate(NAMES)})


def categories(values):
    dtype = pd.CategoricalDtype([*reversed(WORDS)])
    return frame(values, dtype)


def arrow(values, kind):
    return pa.table({n: pa.array(values[:, j].tolist(), pa.string()).cast(kind) for j, n in enumerate(NAMES)})


def chunked(values, kind):
    """Chunks whose dictionaries differ, one of them empty."""
    parts = [
        pa.table({n: pa.array(part[:, j].tolist(), pa.string()).dictionary_encode() for j, n in enumerate(NAMES)})
        for part in (values[:7], values[7:8], values[8:8], values[8:])
    ]
    table = pa.concat_tables(parts)
    return table if kind is None else table.cast(pa.schema([(n, kind) for n in NAMES]))


ENUM = pl.Enum(WORDS)
DICTIONARY = pa.dictionary(pa.int8(), pa.string())

TABLES = {
    "NumPy object": lambda v: v,
    "list of lists": lambda v: v.tolist(),
    "list of tuples": lambda v: list(map(tuple, v)),
    "NumPy object, Fortran": np.asfortranarray,
    "NumPy object, strided": lambda v: np.repeat(v, 2, axis=1)[:, ::2],
    "pandas object": frame,
    "pandas str": lambda v: frame(v, "str"),
    "pandas string": lambda v: frame(v, "string"),
    "pandas string in Python": lambda v: frame(v, pd.StringDtype("python")),
    "pandas string of Arrow": lambda v: frame(v, pd.ArrowDtype(pa.string())),
    "pandas large string of Arrow": lambda v: frame(v, pd.ArrowDtype(pa.large_string())),
    "pandas dictionary of Arrow": lambda v: arrow(v, DICTIONARY).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas category": categories,
    "pandas category in order": lambda v: categories(v).apply(lambda c: c.cat.as_ordered()),
    "pandas mixed": lambda v: frame(v, "category", "string"),
    "pandas odd index": lambda v: frame(v, "str").set_index(np.zeros(N, int)),
    "pandas filtered": lambda v: pd.concat([categories(v), categories(v)])[np.repeat([True, False], N)],
    "polars String": lambda v: pl.DataFrame(v.tolist(), NAMES, orient="row"),
    "polars Categorical": lambda v: pl.DataFrame(v.tolist(), NAMES, orient="row").cast(pl.Categorical),
    "polars Enum": lambda v: pl.DataFrame(v.tolist(), dict.fromkeys(NAMES, pl.String), orient="row").cast(ENUM),
    "polars chunked": lambda v: pl.concat(
        [pl.DataFrame(p.tolist(), dict.fromkeys(NAMES, pl.String), orient="row") for p in (v[:9], v[9:])],
        rechunk=False,
    ),
    "Arrow string": lambda v: arrow(v, pa.string()),
    "Arrow large string": lambda v: arrow(v, pa.large_string()),
    "Arrow string view": lambda v: arrow(v, pa.string_view()),
    "Arrow dictionary": lambda v: arrow(v, DICTIONARY),
    "Arrow dictionary in chunks": lambda v: chunked(v, None),
    "Arrow string in chunks": lambda v: chunked(v, pa.string()),
    "Arrow record batch": lambda v: arrow(v, pa.string()).combine_chunks().to_batches()[0],
    "Arrow slice": lambda v: pa.concat_tables([arrow(p, DICTIONARY) for p in (v, v, v)]).slice(N, N),
}


@pytest.fixture(params=TABLES)
def build(request):
    return TABLES[request.param]


@pytest.fixture(params=[base.PIECE, 26], ids=["one piece", "five pieces"])
def pieces(request, monkeypatch):
    monkeypatch.setattr(base, "PIECE", request.param)


@pytest.fixture(params=[0.0, 0.2], ids=["whole", "with holes"])
def values(request):
    return cells(share=request.param)


def is_the_model_of(clf, values, alpha=1.0):
    """Shares of the categories that were seen, by hand."""
    for j in range(2):
        words = sorted({w for w in values[:, j] if w is not None})
        assert clf.categories_[j].tolist() == words
        for c, label in enumerate(clf.classes_):
            column = [w for w in values[label == LABELS, j] if w is not None]
            expected = [(column.count(w) + alpha) / (len(column) + alpha * len(words)) for w in words]
            one = np.full((len(words), 2), None, object)
            one[:, j] = words
            np.testing.assert_allclose(np.exp(score(clf, one)[:, c]), expected, rtol=1e-12)


def score(clf, rows):
    return clf.log_likelihood(frame(rows) if hasattr(clf, "feature_names_in_") else rows)


def test_every_table_gives_the_same_model(build, values, pieces):
    table = build(values)
    clf = CategoricalClassifier().fit(table, LABELS)
    is_the_model_of(clf, values)
    expected = CategoricalClassifier().fit(values, LABELS)
    np.testing.assert_array_equal(clf.log_likelihood(table), expected.log_likelihood(values))
    np.testing.assert_array_equal(clf.predict(table), expected.predict(values))
    assert not clf.unknown_cells(table).any()


def test_every_table_goes_on_with_what_another_began(build, values):
    table = build(values)
    names = hasattr(CategoricalClassifier().fit(table, LABELS), "feature_names_in_")
    start = frame(cells(1)) if names else cells(1)
    clf = CategoricalClassifier().fit(start, LABELS).partial_fit(table, LABELS)
    both = np.concatenate([cells(1), values])
    expected = CategoricalClassifier().fit(both, np.tile(LABELS, 2))
    np.testing.assert_allclose(clf.log_likelihood(table), expected.log_likelihood(values), rtol=1e-12)
    clf.forget(start, LABELS)
    np.testing.assert_allclose(
        clf.log_likelihood(table), CategoricalClassifier().fit(values, LABELS).log_likelihood(values), rtol=1e-12
    )


def test_every_table_meets_unseen_categories(build):
    train = cells(2)
    train[train == "black"] = "orange"
    table, values = build(cells(3)), cells(3)
    with_names = not isinstance(table, np.ndarray | list)
    clf = CategoricalClassifier(unknown="ignore").fit(frame(train) if with_names else train, LABELS)
    np.testing.assert_array_equal(clf.unknown_cells(table), values == "black")
    hidden = np.where(values == "black", None, values)
    np.testing.assert_allclose(clf.log_likelihood(table), score(clf, hidden), rtol=1e-12)
    clf.set_params(unknown="error")
    with pytest.raises(DataError, match=r"column ('fur'|0) holds 'black'"):
        clf.predict(table)


def test_a_mixed_model_takes_every_table(build, values):
    table = build(values)
    clf = MixedClassifier().fit(table, LABELS)
    assert clf.schema_.families == ("categorical", "categorical")
    expected = CategoricalClassifier().fit(values, LABELS).log_likelihood(values)
    np.testing.assert_allclose(clf.log_likelihood(table), expected, rtol=1e-12, atol=1e-12)


def test_reading_leaves_the_table_alone(build):
    table, again = build(cells(4, 0.1)), build(cells(4, 0.1))
    CategoricalClassifier().fit(table, LABELS).predict(table)
    if isinstance(table, pd.DataFrame):
        pd.testing.assert_frame_equal(table, again)
    elif isinstance(table, np.ndarray):
        np.testing.assert_array_equal(table, again)
    else:
        assert table.equals(again) if hasattr(table, "equals") else table == again


# What is missing.

GONE = {
    "None": None,
    "NaN": float("nan"),
    "NumPy's NaN": np.float32("nan"),
    "pandas' NA": pd.NA,
    "NaT": pd.NaT,
}


@pytest.mark.parametrize("gone", GONE.values(), ids=GONE)
def test_every_missing_cell_is_missing(gone):
    holed = cells(share=0.2)
    expected = CategoricalClassifier().fit(holed, LABELS)
    missing = np.frompyfunc(lambda cell: cell is None, 1, 1)(holed).astype(bool)
    spoilt = holed.copy()
    spoilt[missing] = gone
    for table in (spoilt, spoilt.tolist(), pd.DataFrame(spoilt, columns=NAMES, dtype=object)):
        clf = CategoricalClassifier().fit(table, LABELS)
        np.testing.assert_array_equal(clf.statistics_.count, expected.statistics_.count)
        np.testing.assert_array_equal(clf.log_likelihood(table), expected.log_likelihood(holed))
        assert not clf.unknown_cells(table).any()


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": pd.array([1, None, 3, 1], "Int64")}),
        pd.DataFrame({"a": [1.0, np.nan, 3.0, 1.0]}),
        pd.DataFrame({"a": pd.Categorical([1, None, 3, 1])}),
        pd.DataFrame({"a": pd.array([1, None, 3, 1], pd.ArrowDtype(pa.int16()))}),
        pl.DataFrame({"a": [1, None, 3, 1]}),
        pa.table({"a": [1, None, 3, 1]}),
        pa.table({"a": pa.array([1, None, 3, 1], pa.float32())}),
        [[1], [None], [3], [1]],
        [[1], [float("nan")], [3], [1]],
        np.ma.masked_array([[1], [0], [3], [1]], [[False], [True], [False], [False]]),
    ],
    ids=lambda table: type(table).__module__ + " " + type(table).__name__,
)
def test_missing_numbers(table):
    clf = CategoricalClassifier(0).fit(table, list("xxyy"))
    assert clf.categories_[0].tolist() == [1, 3]
    np.testing.assert_allclose(np.exp(clf.log_likelihood(table)), [[1, 0.5], [1, 1], [0, 0.5], [1, 0.5]])


TRUTHS = {
    "NumPy": lambda a, b: np.column_stack([a, b]),
    "lists": lambda a, b: list(zip(a.tolist(), b.tolist(), strict=True)),
    "pandas bool": lambda a, b: pd.DataFrame({"a": a, "b": b}),
    "pandas boolean": lambda a, b: pd.DataFrame({"a": a, "b": b}, dtype="boolean"),
    "pandas Arrow": lambda a, b: pd.DataFrame({"a": a, "b": b}, dtype=pd.ArrowDtype(pa.bool_())),
    "pandas bool and number": lambda a, b: pd.DataFrame({"a": a, "b": b.astype(int)}),
    "polars": lambda a, b: pl.DataFrame({"a": a, "b": b}),
    "Arrow": lambda a, b: pa.table({"a": a, "b": b}),
    "uint8": lambda a, b: np.column_stack([a, b]).astype(np.uint8),
}


@pytest.mark.parametrize("build", TRUTHS.values(), ids=TRUTHS)
def test_truths_of_every_table(build):
    rng = np.random.default_rng(0)
    a, b = rng.random((2, N)) < 0.4
    table, plain = build(a, b), np.column_stack([a, b]).astype(float)
    expected = BernoulliClassifier().fit(plain, LABELS).log_likelihood(plain)
    for clf in (BernoulliClassifier(), MixedClassifier()):
        np.testing.assert_allclose(clf.fit(table, LABELS).log_likelihood(table), expected, rtol=1e-12)
    categorical = CategoricalClassifier().fit(table, LABELS)
    np.testing.assert_allclose(categorical.log_likelihood(table), expected, rtol=1e-12)
    assert MixedClassifier().fit(table, LABELS).schema_.families == ("bernoulli", "bernoulli")


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": pd.array([True, None, False, True], "boolean")}),
        pd.DataFrame({"a": pd.array([True, None, False, True], pd.ArrowDtype(pa.bool_()))}),
        pl.DataFrame({"a": [True, None, False, True]}),
        pa.table({"a": [True, None, False, True]}),
        pd.DataFrame({"a": [True, None, False, True]}, dtype=object),
        np.array([[1], [np.nan], [0], [1]]),
    ],
    ids=lambda table: type(table).__module__ + " " + type(table).__name__,
)
def test_missing_truths(table):
    clf = BernoulliClassifier(0).fit(table, list("xxyy"))
    np.testing.assert_allclose(np.exp(clf.log_likelihood(table)), [[1, 0.5], [1, 1], [0, 0.5], [1, 0.5]])
    mixed = MixedClassifier("bernoulli", alpha=0).fit(table, list("xxyy"))
    np.testing.assert_array_equal(mixed.log_likelihood(table), clf.log_likelihood(table))


# Kinds.

KINDS = [
    (np.array([[1.5]]), "float", "float64"),
    (np.array([[1]], np.int8), "integer", "int8"),
    (np.array([[1]], np.uint64), "integer", "uint64"),
    (np.array([[True]]), "boolean", "bool"),
    (np.array([["a"]]), "text", "<U1"),
    (np.array([[b"a"]]), "text", "|S1"),
    (np.array([["a"]], object), "text", "object"),
    (pd.DataFrame({"x": ["a"]}), "text", "str"),
    (pd.DataFrame({"x": pd.Categorical(["a"])}), "text", "category"),
    (pd.DataFrame({"x": pd.array([1], "Int32")}), "integer", "Int32"),
    (pd.DataFrame({"x": pd.array([1.5], "Float32")}), "float", "Float32"),
    (pd.DataFrame({"x": pd.array([True], "boolean")}), "boolean", "boolean"),
    (pd.DataFrame({"x": pd.array([1], pd.ArrowDtype(pa.int8()))}), "integer", "int8[pyarrow]"),
    (pd.DataFrame({"x": [dt.datetime(2026, 1, 1)]}), "other", "datetime64[us]"),
    (pd.DataFrame({"x": [dt.timedelta(1)]}), "other", "timedelta64[us]"),
    (pl.DataFrame({"x": ["a"]}), "text", "string_view"),
    (pl.DataFrame({"x": [dt.date(2026, 1, 1)]}), "other", "date32[day]"),
    (
        pa.table({"x": pa.array(["a"]).dictionary_encode()}),
        "text",
        "dictionary<values=string, indices=int32, ordered=0>",
    ),
    (pa.table({"x": pa.array([1], pa.decimal128(5, 2))}), "float", "decimal128(5, 2)"),
    (pa.table({"x": [[1, 2]]}), "other", "list<item: int64>"),
]


@pytest.mark.parametrize(("table", "kind", "dtype"), KINDS, ids=lambda value: value if isinstance(value, str) else "")
def test_kinds_and_what_their_libraries_call_them(table, kind, dtype):
    (column,) = as_table(table).columns()
    assert column.kind == kind
    assert column.dtype == dtype or (dtype == "string_view" and "string" in column.dtype)


DATES = [
    pd.DataFrame({"when": pd.to_datetime(["2026-01-01", None]), "x": [1, 2]}),
    pd.DataFrame({"when": pd.to_timedelta([1, None]), "x": [1, 2]}),
    pl.DataFrame({"when": [dt.date(2026, 1, 1), None], "x": [1, 2]}),
    pa.table({"when": [[1], [2]], "x": [1, 2]}),
    pa.table({"when": pa.array([b"x", b"y"], pa.binary()), "x": [1, 2]}),
]


@pytest.mark.parametrize("table", DATES, ids=lambda table: type(table).__module__)
@pytest.mark.parametrize("kind", [CategoricalClassifier, MixedClassifier, BernoulliClassifier])
def test_what_is_neither_number_nor_category_is_refused_by_name(kind, table):
    if kind is BernoulliClassifier or isinstance(table, pa.Table):  # others read dates and durations
        with pytest.raises(DataError, match="'when'"):
            kind().fit(table, ["a", "b"])
    if kind is MixedClassifier:
        clf = MixedClassifier({"when": "drop"}).fit(table, ["a", "b"])
        assert clf.schema_.families == ("drop", "categorical")
        clf.predict(table)


OBJECTS = {
    "intervals of pandas.cut": pd.cut(pd.Series([1.0, 7.0, 3.0, 8.0, None]), 2),
    "periods": pd.Series([*pd.period_range("2026", periods=4, freq="D"), pd.NaT]),
    "dates in a category": pd.Series(pd.to_datetime(["2026-01-01", "2026-01-02"] * 2 + [None])).astype("category"),
    "Python's dates": pd.Series([dt.date(2026, 1, 1 + i % 2) for i in range(4)] + [None], dtype=object),
    "tuples": pd.Series([(1, 2), (2, 3), (1, 2), (3, 3), None]),
}


@pytest.mark.parametrize("column", OBJECTS.values(), ids=OBJECTS)
def test_objects_are_known_by_their_names(column, tmp_path):
    table = pd.DataFrame({"x": column, "y": [1.0, 2.0, 3.0, 4.0, 5.0]})
    labels = list("abaab")
    clf = CategoricalClassifier().fit(table[["x"]], labels)
    names = {str(value).removesuffix(" 00:00:00") for value in column if not pd.isna(value)}
    assert clf.categories_[0].tolist() == sorted(names)
    named = pd.DataFrame({"x": [None if pd.isna(value) else str(value) for value in column]})
    np.testing.assert_array_equal(clf.log_likelihood(table[["x"]]), clf.log_likelihood(named))
    with pytest.raises(DataError, match="'x'"):
        BernoulliClassifier().fit(table, labels)
    mixed = MixedClassifier({"x": "categorical"}).fit(table, labels)
    assert mixed.schema_.families == ("categorical", "gaussian")
    mixed.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict_proba(table), mixed.predict_proba(table))


def test_many_labels_in_a_narrow_dictionary():
    words = [f"w{i:03}" for i in range(128)]
    labels = pa.array(words * 2).cast(pa.dictionary(pa.int8(), pa.string()))
    clf = CategoricalClassifier().fit(pa.table({"a": list(range(256))}), labels)
    assert clf.classes_.tolist() == words
    table = pa.table({"a": labels})
    assert CategoricalClassifier().fit(table, np.arange(256) % 2).categories_[0].tolist() == words


def test_cells_that_cannot_be_told_apart_are_refused_by_name():
    table = pd.DataFrame({"a": [1, 2], "things": [["x"], {"y": 1}]})
    for kind in (CategoricalClassifier, MixedClassifier):
        with pytest.raises(DataError, match="'things'"):
            kind().fit(table, [0, 1])


def test_infinity_is_no_category():
    table = pd.DataFrame({"a": [1.0, np.inf]})
    with pytest.raises(DataError, match="column 'a': a category cannot be infinite"):
        CategoricalClassifier().fit(table, [0, 1])
    clf = CategoricalClassifier().fit(pd.DataFrame({"a": [1.0, 2.0]}), [0, 1])
    with pytest.raises(DataError, match="column 'a': a category cannot be infinite"):
        clf.predict(table)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([["x", "y"]] * 2, columns=["a", "a"]),
        pa.table([["x", "y"]] * 2, names=["a", "a"]),
    ],
    ids=["pandas", "Arrow"],
)
def test_columns_of_the_same_name_are_refused(table):
    for kind in (CategoricalClassifier, MixedClassifier, BernoulliClassifier):
        with pytest.raises(DataError, match="'a' appears more than once"):
            kind().fit(table, [0, 1])


def test_labels_may_be_a_column_of_any_kind():
    for dtype in ("object", "str", "string", "category", pd.ArrowDtype(pa.string())):
        table = frame(cells(), "str").assign(sex=pd.Series(LABELS, dtype=dtype))
        clf = CategoricalClassifier().fit(table, "sex")
        assert clf.classes_.tolist() == ["f", "m"]
        assert clf.feature_names_in_.tolist() == NAMES
    polars = pl.from_arrow(arrow(cells(), pa.string())).with_columns(sex=pl.Series(LABELS.tolist()))
    assert CategoricalClassifier().fit(polars, "sex").feature_names_in_.tolist() == NAMES
    table = frame(cells(), "str").assign(sex=np.where(np.arange(N) == 3, None, LABELS))
    with pytest.raises(DataError, match="1 missing label"):
        CategoricalClassifier().fit(table, "sex")


NULLABLE = {
    "pandas": lambda values, kind: pd.DataFrame(
        {"x": pd.array(values, {"i": "Int64", "u": "UInt64", "b": "boolean"}[kind])}
    ),
    "pandas of Arrow": lambda values, kind: pd.DataFrame(
        {"x": pd.array(values, {"i": "int64[pyarrow]", "u": "uint64[pyarrow]", "b": "bool[pyarrow]"}[kind])}
    ),
    "objects": lambda values, kind: pd.DataFrame({"x": pd.array(values, "object")}),
}


@pytest.mark.parametrize("build", NULLABLE.values(), ids=NULLABLE)
@pytest.mark.parametrize("huge", [2**53, 2**60, 2**63])
def test_integers_with_holes_are_not_rounded(build, huge):
    rows = build([huge, huge + 1, huge + 2, None], "u")
    clf = CategoricalClassifier().fit(rows, list("abab"))
    assert clf.categories_[0].tolist() == [str(huge), str(huge + 1), str(huge + 2)]
    assert clf.predict(build([huge, huge + 1], "u")).tolist() == ["a", "b"]


@pytest.mark.parametrize("build", NULLABLE.values(), ids=NULLABLE)
def test_truths_with_holes_stay_truths(build):
    clf = CategoricalClassifier().fit(build([True, False, None, True], "b"), list("abab"))
    assert clf.categories_[0].dtype == bool
    assert not clf.unknown_cells(pd.DataFrame({"x": ["True", "False", None]})).any()


@pytest.mark.parametrize("dtype", ["int64", "float64", "bool"])
def test_sparse_columns_of_pandas(dtype):
    dense = pd.DataFrame({"x": np.array([0, 1, 1, 0], dtype), "y": np.array([0, 0, 1, 1], dtype)})
    rows = dense.astype(pd.SparseDtype(dtype))
    for kind in (CategoricalClassifier, BernoulliClassifier):
        one, two = kind().fit(dense, list("abab")), kind().fit(rows, list("abab"))
        np.testing.assert_array_equal(one.log_likelihood(dense), two.log_likelihood(rows))
    assert CategoricalClassifier().fit(rows, list("abab")).categories_[0].tolist() == [0, 1]


MIXED = {"number first": [1, True, 0, False], "truth first": [True, 1, False, 0]}


@pytest.mark.parametrize("values", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize(
    "build", [lambda v: pd.DataFrame({"x": v}), lambda v: v.reshape(-1, 1)], ids=["frame", "array"]
)
def test_truths_are_no_numbers_in_a_column_of_objects(values, build):
    objects = np.array([*values, None, np.bool_(True), 1.0], object)
    clf = CategoricalClassifier(alpha=0).fit(build(objects), list("aabbabb"))
    assert clf.categories_[0].tolist() == ["0", "1", "False", "True"]
    assert clf.statistics_.count.tolist() == [[0, 1, 0, 1], [1, 1, 1, 1]]
    assert not clf.unknown_cells(build(objects)).any()


def test_truths_and_numbers_are_different_categories_in_a_matrix_too():
    clf = CategoricalClassifier().fit(np.array([[0, 1], [1, 0]]), ["a", "b"])
    assert clf.unknown_cells(np.array([[True, False]])).all()
    clf = CategoricalClassifier().fit(np.array([[True, False], [False, True]]), ["a", "b"])
    assert not clf.unknown_cells(np.array([[True, False]])).any()
    assert clf.unknown_cells(np.array([[1, 0]])).all()
