"""One body over every table in memory: the same rows give the same model, whatever holds them."""

import tracemalloc
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import suffice
from suffice import GaussianClassifier, MomentStats, kernels
from suffice.errors import DataError
from suffice.sources import Source, as_source, base
from suffice.tables.labels import SoftLabels

N, D = 90, 4
NAMES = ["a", "b", "c", "d"]
LABELS = np.array(["ham", "jam", "spam"])


def quarters(rng):
    return np.rint(40 * rng.normal(size=(N, D))) / 4  # exact in float32 too


def whole(rng):
    return np.rint(100 + 20 * rng.normal(size=(N, D)))


def truths(rng):
    return (rng.random((N, D)) < 0.5).astype(float)


def mixed(rng):
    columns = [make(rng)[:, j] for j, make in enumerate((quarters, whole, truths, whole))]
    return np.column_stack(columns)


def frozen(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def strided(X):
    wide = np.full((2 * N, 3 * D), np.nan)
    wide[::-2, 1::3] = X
    return wide[::-2, 1::3]


def pandas(X, *dtypes):
    return pd.DataFrame({name: X[:, j].astype(dtypes[j]) for j, name in enumerate(NAMES)})


def arrow(X, *types):
    return pa.table({name: pa.array(X[:, j].astype(types[j])) for j, name in enumerate(NAMES)})


DECIMAL = pa.decimal128(20, 2)
MIXED = ("float64", "int64", "bool", "int16")

TABLES = {
    "NumPy C": (quarters, np.ascontiguousarray),
    "NumPy Fortran": (quarters, np.asfortranarray),
    "NumPy float32": (quarters, np.float32),
    "NumPy float32 Fortran": (quarters, lambda X: np.asfortranarray(X, np.float32)),
    "NumPy float16": (quarters, np.float16),
    "NumPy read-only": (quarters, frozen),
    "NumPy strided": (quarters, strided),
    "NumPy big-endian": (quarters, lambda X: X.astype(">f8")),
    "NumPy int64": (whole, lambda X: X.astype(np.int64)),
    "NumPy uint8": (whole, lambda X: X.astype(np.uint8)),
    "NumPy bool": (truths, lambda X: X.astype(bool)),
    "NumPy object": (mixed, lambda X: X.astype(object)),
    "list of lists": (quarters, lambda X: X.tolist()),
    "list of arrays": (quarters, list),
    "pandas one block": (quarters, lambda X: pd.DataFrame(X, columns=NAMES)),
    "pandas one float32 block": (quarters, lambda X: pd.DataFrame(X.astype(np.float32), columns=NAMES)),
    "pandas without names": (quarters, pd.DataFrame),
    "pandas column by column": (quarters, lambda X: pandas(X, *["float64"] * D)),
    "pandas float32 and float64": (quarters, lambda X: pandas(X, *["float32", "float64"] * 2)),
    "pandas mixed": (mixed, lambda X: pandas(X, *MIXED)),
    "pandas nullable": (mixed, lambda X: pandas(X, *MIXED).convert_dtypes(dtype_backend="numpy_nullable")),
    "pandas Arrow-backed": (mixed, lambda X: pandas(X, *MIXED).convert_dtypes(dtype_backend="pyarrow")),
    "pandas NumPy and nullable": (mixed, lambda X: pandas(X, *MIXED).astype({"d": "Int64"})),
    "pandas sparse": (truths, lambda X: pd.DataFrame(X, columns=NAMES).astype(pd.SparseDtype(float, 0.0))),
    "pandas object": (mixed, lambda X: pd.DataFrame(X, columns=NAMES, dtype=object)),
    "pandas odd index": (quarters, lambda X: pd.DataFrame(X, columns=NAMES, index=np.zeros(N, int))),
    "polars": (mixed, lambda X: pl.from_arrow(arrow(X, *MIXED))),
    "polars float32": (quarters, lambda X: pl.DataFrame(X.astype(np.float32), schema=NAMES)),
    "polars chunked": (quarters, lambda X: pl.concat([pl.DataFrame(p, NAMES) for p in (X[:7], X[7:])], rechunk=False)),
    "Arrow table": (mixed, lambda X: arrow(X, *MIXED)),
    "Arrow chunked": (mixed, lambda X: pa.concat_tables([arrow(p, *MIXED) for p in (X[:7], X[7:8], X[8:8], X[8:])])),
    "Arrow record batch": (mixed, lambda X: arrow(X, *MIXED).combine_chunks().to_batches()[0]),
    "Arrow decimal": (quarters, lambda X: pa.table([pa.array(c).cast(DECIMAL) for c in X.T], NAMES)),
    "Arrow slice": (quarters, lambda X: pa.concat_tables([pa.table(list(p.T), NAMES) for p in (X, X, X)]).slice(N, N)),
    **{
        f"SciPy {kind.__name__}": (truths, kind)
        for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix, sp.coo_matrix)
    },
    "SciPy bool": (truths, lambda X: sp.csr_array(X.astype(bool))),
    "SciPy float32": (quarters, lambda X: sp.csc_array(X.astype(np.float32))),
}

NAMED = [name for name in TABLES if name.startswith(("pandas", "polars", "Arrow")) and "without" not in name]


@pytest.fixture(params=TABLES)
def named_table(request, rng):
    """The name of a table, its rows as plain float64, and the table."""
    make, build = TABLES[request.param]
    X = make(rng)
    return request.param, X, build(X)


@pytest.fixture
def y():
    return LABELS[np.arange(N) % 3]


@pytest.fixture(params=[base.PIECE, 52], ids=["one piece", "seven pieces"])
def pieces(request, monkeypatch):
    monkeypatch.setattr(base, "PIECE", request.param)


def is_the_model_of(clf, X, y):
    """Maximum likelihood, by the book."""
    groups = [X[y == label] for label in np.unique(y)]
    np.testing.assert_array_equal(clf.classes_, np.unique(y))
    np.testing.assert_array_equal(clf.statistics_.weight, [len(g) for g in groups])
    np.testing.assert_allclose(clf.means_, [g.mean(axis=0) for g in groups], rtol=1e-12, atol=1e-13)
    expected = [np.cov(g.T, bias=True) for g in groups]
    np.testing.assert_allclose(clf.covariances_, expected, rtol=1e-12, atol=1e-12 * np.max(expected))


def test_every_table_gives_the_same_model(named_table, y, pieces):
    name, X, table = named_table
    clf = GaussianClassifier().fit(table, y)
    is_the_model_of(clf, X, y)
    expected = GaussianClassifier().fit(X, y)
    np.testing.assert_allclose(clf.log_likelihood(table), expected.log_likelihood(X), rtol=1e-11)
    np.testing.assert_array_equal(clf.predict(table), expected.predict(X))
    if name in NAMED:
        assert clf.feature_names_in_.tolist() == NAMES
    else:
        assert not hasattr(clf, "feature_names_in_")
    assert clf.n_features_in_ == D


def test_every_table_learns_and_forgets(named_table, y, pieces):
    _, X, table = named_table
    clf = GaussianClassifier().fit(table, y).partial_fit(table, y).forget(table, y)
    np.testing.assert_allclose(clf.means_, GaussianClassifier().fit(X, y).means_, rtol=1e-12, atol=1e-12)


def test_reading_leaves_the_table_alone(named_table, y):
    _, X, table = named_table
    GaussianClassifier().fit(table, y).predict(table)
    again = table.toarray() if sp.issparse(table) else np.asarray(table)
    np.testing.assert_array_equal(again.astype(float), X)


def test_a_source_is_cut_into_batches_that_cover_every_row_once(named_table, pieces):
    _, X, table = named_table
    source = as_source(table, weight=np.arange(1, N + 1))
    assert isinstance(source, Source)
    assert as_source(source) is source
    batches = source.reduce(lambda batch: [batch], lambda a, b: a + b)
    starts, parts, weights = zip(*((b.start, b.X, b.weight) for b in batches), strict=True)
    assert list(starts) == np.cumsum([0, *map(len, parts[:-1])]).tolist()
    np.testing.assert_array_equal(np.concatenate(parts), X)
    np.testing.assert_array_equal(np.concatenate(weights), np.arange(1, N + 1))


# Labels.

WORDS = LABELS[np.arange(N) % 3].tolist()
CODES = (np.arange(N) % 3).tolist()

YS = {
    "list": (WORDS, WORDS),
    "tuple": (WORDS, tuple(WORDS)),
    "NumPy U": (WORDS, np.array(WORDS)),
    "NumPy object": (WORDS, np.array(WORDS, object)),
    "NumPy S": (np.array(WORDS, "S").tolist(), np.array(WORDS, "S")),
    "NumPy strided": (WORDS, np.repeat(np.array(WORDS), 2)[::2]),
    "NumPy int": (CODES, np.array(CODES)),
    "NumPy float": (CODES, np.array(CODES, float)),
    "NumPy bool": ([c > 0 for c in CODES], np.array(CODES) > 0),
    "pandas str": (WORDS, pd.Series(WORDS, dtype="str")),
    "pandas string": (WORDS, pd.Series(WORDS, dtype="string")),
    "pandas string in Python": (WORDS, pd.Series(WORDS, dtype=pd.StringDtype("python"))),
    "pandas object": (WORDS, pd.Series(WORDS, dtype=object)),
    "pandas category": (WORDS, pd.Series(WORDS, dtype="category")),
    "pandas category of numbers": (CODES, pd.Series(CODES, dtype="category")),
    "pandas Categorical": (WORDS, pd.Categorical(WORDS, categories=["spam", "jam", "ham", "unused"])),
    "pandas Index": (WORDS, pd.Index(WORDS)),
    "pandas bool": ([c > 0 for c in CODES], pd.Series(CODES) > 0),
    "pandas boolean": ([c > 0 for c in CODES], (pd.Series(CODES) > 0).astype("boolean")),
    "pandas int": (CODES, pd.Series(CODES)),
    "pandas Int64": (CODES, pd.Series(CODES, dtype="Int64")),
    "pandas Arrow int": (CODES, pd.Series(CODES, dtype="int64[pyarrow]")),
    "pandas Arrow string": (WORDS, pd.Series(WORDS, dtype=pd.ArrowDtype(pa.string()))),
    "pandas odd index": (WORDS, pd.Series(WORDS, index=range(N, 0, -1))),
    "polars String": (WORDS, pl.Series(WORDS)),
    "polars Categorical": (WORDS, pl.Series(WORDS, dtype=pl.Categorical)),
    "polars Enum": (WORDS, pl.Series(WORDS, dtype=pl.Enum(["spam", "jam", "unused", "ham"]))),
    "polars Int64": (CODES, pl.Series(CODES)),
    "polars Boolean": ([c > 0 for c in CODES], pl.Series(CODES) > 0),
    "Arrow string": (WORDS, pa.array(WORDS)),
    "Arrow large_string": (WORDS, pa.array(WORDS, pa.large_string())),
    "Arrow string_view": (WORDS, pa.array(WORDS, pa.string_view())),
    "Arrow dictionary": (WORDS, pa.array(WORDS).dictionary_encode()),
    "Arrow dictionary of numbers": (CODES, pa.array(CODES).dictionary_encode()),
    "Arrow chunked": (WORDS, pa.chunked_array([WORDS[:7], WORDS[7:]])),
    "Arrow chunks with dictionaries of their own": (
        WORDS,
        pa.chunked_array([pa.array(part).dictionary_encode() for part in (WORDS[:1], WORDS[1:3], WORDS[3:])]),
    ),
    "Arrow int": (CODES, pa.array(CODES)),
    "Arrow bool": ([c > 0 for c in CODES], pa.array([c > 0 for c in CODES])),
}


@pytest.mark.parametrize(("expected", "labels"), YS.values(), ids=YS)
def test_every_kind_of_labels_gives_the_same_model(rng, expected, labels, pieces):
    X = quarters(rng)
    clf = GaussianClassifier().fit(X, labels)
    is_the_model_of(clf, X, np.array(expected))
    assert clf.classes_.tolist() == sorted(set(expected))
    assert {type(label) for label in clf.predict(X).tolist()} == {type(label) for label in clf.classes_.tolist()}


@pytest.mark.parametrize("place", [0, 2, D])
@pytest.mark.parametrize(
    "build",
    [
        pd.DataFrame,
        lambda columns: pd.DataFrame(columns).astype({"kind": "category"}),
        pl.DataFrame,
        lambda columns: pl.DataFrame(columns).with_columns(pl.col("kind").cast(pl.Categorical)),
        pa.table,
        lambda columns: pa.table(columns).to_batches()[0],
    ],
    ids=["pandas", "pandas category", "polars", "polars Categorical", "Arrow", "Arrow batch"],
)
def test_labels_may_be_a_column_of_the_table(rng, build, place, pieces):
    X = quarters(rng)
    columns = list(zip(NAMES, X.T, strict=True))
    columns.insert(place, ("kind", WORDS))
    table = build(dict(columns))
    clf = GaussianClassifier().fit(table, "kind")
    is_the_model_of(clf, X, np.array(WORDS))
    assert clf.feature_names_in_.tolist() == NAMES
    twice = GaussianClassifier().partial_fit(table, "kind").partial_fit(table, y="kind")
    assert twice.statistics_.weight.tolist() == [60, 60, 60]


@pytest.mark.filterwarnings("ignore::suffice.errors.BaselineWarning")
@pytest.mark.parametrize("label", [4, np.int64(4)], ids=["int", "NumPy"])
def test_labels_may_be_a_column_with_a_number_for_a_label(rng, label):
    """As pandas numbers the columns of a file without a header."""
    X = quarters(rng)
    frame = pd.DataFrame(X, columns=range(X.shape[1])).assign(**{"4": WORDS}).rename(columns={"4": 4})
    clf = GaussianClassifier().fit(frame, label)
    is_the_model_of(clf, X, np.array(WORDS))
    assert clf.evaluate(frame, label).log_loss == clf.evaluate(X, WORDS).log_loss
    weighted = GaussianClassifier().fit(frame.assign(weight=2.0).rename(columns={"weight": 7}), label, sample_weight=7)
    assert weighted.statistics_.weight.tolist() == [60, 60, 60]
    chosen = suffice.fit(frame, label)
    assert chosen.n_features_in_ == 4
    assert set(chosen.predict(frame.drop(columns=label))) <= set(WORDS)


@pytest.mark.parametrize("build", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_for_the_labels_must_exist(build):
    table = build({"a": [1.0, 2.0], "b": [0.0, 1.0]})
    with pytest.raises(DataError, match="there is no column 'kind' to take the labels from; the columns are 'a', 'b'"):
        GaussianClassifier().fit(table, "kind")


@pytest.mark.parametrize(
    "table", [np.eye(3), np.eye(3).tolist(), sp.csr_array(np.eye(3))], ids=["NumPy", "list", "SciPy"]
)
def test_tables_without_names_have_no_column_for_the_labels(table):
    with pytest.raises(DataError, match="is the name of a column, but X has no column names"):
        GaussianClassifier().fit(table, "kind")


MISSING = {
    "list": ["ham", None, "jam", None],
    "list with NaN": ["ham", float("nan"), "jam", np.nan],
    "NumPy": np.array([1.0, np.nan, 2.0, np.nan]),
    "NumPy object": np.array(["ham", None, "jam", np.nan], object),
    "pandas str": pd.Series(["ham", None, "jam", np.nan]),
    "pandas object": pd.Series(["ham", None, "jam", pd.NA], dtype=object),
    "pandas category": pd.Series(["ham", None, "jam", None], dtype="category"),
    "pandas Int64": pd.Series([1, None, 2, None], dtype="Int64"),
    "pandas boolean": pd.Series([True, None, False, None], dtype="boolean"),
    "pandas Arrow": pd.Series(["ham", None, "jam", None], dtype=pd.ArrowDtype(pa.string())),
    "pandas float": pd.Series([1.0, None, 2.0, None]),
    "polars String": pl.Series(["ham", None, "jam", None]),
    "polars Categorical": pl.Series(["ham", None, "jam", None], dtype=pl.Categorical),
    "polars Int64": pl.Series([1, None, 2, None]),
    "polars Boolean": pl.Series([True, None, False, None]),
    "Arrow string": pa.array(["ham", None, "jam", None]),
    "Arrow dictionary": pa.array(["ham", None, "jam", None]).dictionary_encode(),
    "Arrow dictionary with a null in it": pa.DictionaryArray.from_arrays([0, 1, 2, 1], ["ham", None, "jam"]),
    "Arrow int": pa.array([1, None, 2, None]),
    "Arrow bool": pa.array([True, None, False, None]),
}


@pytest.mark.parametrize("labels", MISSING.values(), ids=MISSING)
def test_missing_labels_are_counted(labels):
    with pytest.raises(DataError, match="y has 2 missing labels"):
        GaussianClassifier().fit(np.eye(4, 2), labels)


def test_missing_labels_are_counted_over_all_pieces(monkeypatch, rng):
    monkeypatch.setattr(base, "PIECE", 52)
    labels = np.array(WORDS, object)
    labels[[0, 40, 41, 89]] = None
    with pytest.raises(DataError, match="y has 4 missing labels"):
        GaussianClassifier().fit(quarters(rng), labels)


@pytest.mark.parametrize("n", [N - 1, N + 1])
@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array])
def test_there_is_one_label_for_each_row(rng, n, kind):
    with pytest.raises(DataError, match=f"X has {N} rows, y has {n}"):
        GaussianClassifier().fit(quarters(rng), kind((WORDS * 2)[:n]))


@pytest.mark.parametrize(
    "kind", [list, np.array, pd.Series, pl.Series, pa.array, lambda w: pd.Series(w, dtype="Int64")]
)
def test_weights_of_every_kind(rng, kind):
    X, weight = quarters(rng), (np.arange(N) % 4).tolist()
    clf = GaussianClassifier().fit(X, WORDS, sample_weight=kind(weight))
    is_the_model_of(clf, np.repeat(X, weight, axis=0), np.repeat(WORDS, weight))


def test_soft_labels_are_cut_with_their_rows(rng, pieces):
    X = quarters(rng)
    soft = SoftLabels(LABELS, np.eye(3)[np.arange(N) % 3])
    stats = as_source(X, soft).reduce(lambda b: MomentStats.of(b, "full"), lambda a, b: a + b)
    is_the_model_of(GaussianClassifier().fit_statistics(stats), X, np.array(WORDS))


def test_soft_labels_need_one_row_for_each_row(rng):
    with pytest.raises(DataError, match=f"X has {N} rows, y has 3"):
        as_source(quarters(rng), SoftLabels(LABELS, np.eye(3)))


# Columns.

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "Arrow": pa.table}


@pytest.fixture(params=FRAMES.values(), ids=FRAMES)
def frame(request, rng):
    """A function from column names to a frame with as many columns."""
    values = np.random.default_rng(0).normal(size=(N, 8))
    return lambda names: request.param({name: values[:, j] for j, name in enumerate(names)})


NAME = "The feature names should match those that were passed during fit."
UNSEEN = "Feature names unseen at fit time:"
ABSENT = "Feature names seen at fit time, yet now missing:"


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        ("abce", [NAME, UNSEEN, "- e", ABSENT, "- d"]),
        ("abc", [NAME, ABSENT, "- d"]),
        ("abcef", [NAME, UNSEEN, "- e", "- f", ABSENT, "- d"]),
        ("bacd", [NAME, "Feature names must be in the same order as they were in fit."]),
        ("ABCD", [NAME, UNSEEN, "- A", "- B", "- C", "- D", ABSENT, "- a", "- b", "- c", "- d"]),
        ("stuvwxyz", [NAME, UNSEEN, *[f"- {n}" for n in "stuvw"], "- ...", ABSENT, *[f"- {n}" for n in NAMES]]),
    ],
)
@pytest.mark.parametrize("verb", ["predict", "log_likelihood", "partial_fit", "forget"])
def test_other_columns_are_refused_by_name(frame, y, names, lines, verb):
    clf = GaussianClassifier().fit(frame(NAMES), y)
    before = clf.means_.copy()
    labels = (y,) if verb in ("partial_fit", "forget") else ()
    with pytest.raises(DataError) as caught:
        getattr(clf, verb)(frame(names), *labels)
    assert str(caught.value).splitlines() == lines
    np.testing.assert_array_equal(clf.means_, before)


LEARN = ["label", "weight"]


@pytest.mark.parametrize("build", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(
    ("beside", "call"),
    [
        ([], lambda clf, X: clf.predict_proba(X)),
        ([], lambda clf, X: clf.impute(X)),
        (LEARN, lambda clf, X: clf.leave_one_out(X, *LEARN)),
        (LEARN, lambda clf, X: clf.score(X, *LEARN)),
        (LEARN, lambda clf, X: clf.partial_fit(X, "label", sample_weight="weight").means_),
        (LEARN, lambda clf, X: clf.forget(X, *LEARN).statistics_.weight),
    ],
    ids=["predict_proba", "impute", "leave_one_out", "score", "partial_fit", "forget"],
)
def test_a_model_takes_its_own_columns_of_a_table_that_holds_more(rng, build, beside, call):
    columns = dict(zip(NAMES, rng.normal(size=(4, N)), strict=True))
    columns |= {"weight": np.arange(N) % 2 + 1.0, "label": np.arange(N) % 3, "id": np.arange(N)}
    own = build({name: columns[name] for name in [*NAMES, *beside]})
    clf = GaussianClassifier().fit(build({name: columns[name] for name in [*NAMES, *LEARN]}), *LEARN)
    expected = np.asarray(call(deepcopy(clf), own))
    np.testing.assert_array_equal(np.asarray(call(clf, build(dict(reversed(columns.items()))))), expected)


def test_names_are_the_same_whatever_holds_them(rng, y):
    X = quarters(rng)
    frames = [build(dict(zip(NAMES, X.T, strict=True))) for build in FRAMES.values()]
    for one in frames:
        clf = GaussianClassifier().fit(one, y)
        for two in frames:
            np.testing.assert_array_equal(clf.predict(two), clf.predict(one))


def test_names_that_are_missing_on_one_side_are_warned_about(frame, rng, y):
    X = quarters(rng)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but GaussianClassifier was fitted with"):
        GaussianClassifier().fit(frame(NAMES), y).predict(X)
    with pytest.warns(UserWarning, match="X has feature names, but GaussianClassifier was fitted without"):
        GaussianClassifier().fit(X, y).predict(frame(NAMES))


@pytest.mark.parametrize("d", [1, 3, 5])
def test_another_number_of_columns_is_refused(rng, y, d):
    clf = GaussianClassifier().fit(quarters(rng), y)
    with pytest.raises(DataError, match=f"X has {d} features, but GaussianClassifier is expecting 4 features as input"):
        clf.predict(np.zeros((2, d)))


def test_a_fit_starts_anew_with_the_names(frame, rng, y):
    clf = GaussianClassifier().fit(frame(NAMES), y).fit(frame("xyz"), y)
    assert clf.feature_names_in_.tolist() == ["x", "y", "z"]
    clf.fit(quarters(rng), y)
    assert not hasattr(clf, "feature_names_in_")


@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_a_fit_that_fails_leaves_the_model_as_it_was(frame, y, verb):
    """Else the old statistics would be used with the new number of columns, beyond the ends of their arrays."""
    clf = GaussianClassifier().fit(frame(NAMES), y)
    expected = clf.log_likelihood(frame(NAMES))
    with pytest.raises(DataError):
        getattr(clf, verb)(frame("uvwxyz"), np.array([None] * N))
    assert clf.n_features_in_ == clf.statistics_.n_features == D
    assert clf.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(clf.log_likelihood(frame(NAMES)), expected)
    with pytest.raises(DataError, match="feature names"):
        clf.log_likelihood(frame("uvwxyz"))


def test_column_names_must_be_unique(y):
    values = np.random.default_rng(0).normal(size=(N, 3))
    for table in (
        pd.DataFrame(values, columns=["x", "y", "x"]),
        pa.Table.from_arrays([pa.array(c) for c in values.T], names=["x", "y", "x"]),
        pa.RecordBatch.from_arrays([pa.array(c) for c in values.T], names=["x", "y", "x"]),
    ):
        with pytest.raises(DataError, match="column names must be unique, but 'x' appears"):
            GaussianClassifier().fit(table, y)


def test_numbers_for_names_are_no_names_and_mixtures_are_refused(rng, y):
    clf = GaussianClassifier().fit(pd.DataFrame(quarters(rng)), y)
    assert not hasattr(clf, "feature_names_in_")
    with pytest.raises(TypeError, match="string names, unlike 2, 3; rename"):
        GaussianClassifier().fit(pd.DataFrame(quarters(rng), columns=["a", "b", 2, 3]), y)


def pandas_with(column):
    return pd.DataFrame({"a": [1.0, 2.0], "island": column})


DAYS = ["2020-01-01", "2020-01-02"]
NOT_NUMBERS = {
    "pandas str": (pandas_with(["Biscoe", "Dream"]), "'island'"),
    "pandas object": (pandas_with(pd.Series(["Biscoe", "Dream"], dtype=object)), "'island'"),
    "pandas category": (pandas_with(pd.Categorical(["Biscoe", "Dream"])), "'island' .category"),
    "pandas Arrow": (pandas_with(pd.Series(["Biscoe", "Dream"], dtype=pd.ArrowDtype(pa.string()))), "'island'"),
    "pandas date": (pandas_with(pd.to_datetime(DAYS)), "'island' .datetime64"),
    "pandas span": (pandas_with(pd.to_timedelta([1, 2], unit="s")), "'island' .timedelta64"),
    "pandas complex": (pandas_with([1j, 2j]), "'island' .complex128"),
    "polars String": (pl.DataFrame({"a": [1.0, 2.0], "island": ["Biscoe", "Dream"]}), "'island'"),
    "polars date": (pl.DataFrame({"a": [1.0, 2.0], "island": pl.Series(DAYS).str.to_date()}), "'island' .date32"),
    "polars list": (pl.DataFrame({"a": [1.0, 2.0], "island": [[1.0], [2.0]]}), "'island'"),
    "Arrow string": (pa.table({"a": [1.0, 2.0], "island": ["Biscoe", "Dream"]}), "'island' .string"),
    "Arrow dictionary": (pa.table({"a": [1, 2], "island": pa.array(["B", "D"]).dictionary_encode()}), "'island' .dict"),
    "two of them": (pa.table({"sex": ["m", "f"], "a": [1, 2], "island": ["B", "D"]}), "'sex' .*, 'island' .string"),
    "NumPy": (np.array([["1.5", "Biscoe"], ["2.0", "Dream"]]), "Biscoe"),
    "list": ([[1.5, "Biscoe"], [2.0, "Dream"]], "Biscoe"),
    "NumPy complex": (np.array([[1j], [2j]]), "Complex"),
    "SciPy complex": (sp.csr_array([[1j], [2j]]), "Complex"),
}


@pytest.mark.parametrize(("table", "message"), NOT_NUMBERS.values(), ids=NOT_NUMBERS)
def test_columns_that_are_not_numbers_are_refused_by_name(table, message):
    with pytest.raises(DataError, match=message):
        GaussianClassifier().fit(table, ["x", "y"])


def holed(build):
    """Four rows; 'b' has one hole, 'c' two, and one of the rows has both."""
    return build({"a": [1, 2, 3, 5], "b": [1, 2, None, 4], "c": [None, 1, None, 2]})


ARROW_INTS = pa.schema({"a": pa.int64(), "b": pa.int64(), "c": pa.int8()})
NAN = {"a": [1.0, 2, 3, 5], "b": [1.0, 2, np.nan, 4], "c": [np.inf, 1, -np.inf, 2]}
HOLED = {
    "NumPy": np.array(list(NAN.values())).T,
    "NumPy float32": np.array(list(NAN.values()), np.float32).T,
    "NumPy object None": holed(lambda c: np.array(list(c.values()), object).T),
    "NumPy object pd.NA": holed(lambda c: np.array(list(c.values()), object).T),
    "list None": holed(lambda c: list(map(list, zip(*c.values(), strict=True)))),
    "pandas float": pd.DataFrame(NAN),
    "pandas one block": pd.DataFrame(np.array(list(NAN.values())).T, columns=list("abc")),
    "pandas None": holed(lambda c: pd.DataFrame(c, dtype=object)),
    "pandas pd.NA": holed(lambda c: pd.DataFrame(c, dtype=object).fillna(pd.NA)),
    "pandas Int64": holed(lambda c: pd.DataFrame(c, dtype="Int64")),
    "pandas Int64 and Float64": holed(lambda c: pd.DataFrame(c).astype("Int64").astype({"c": "Float64"})),
    "pandas Arrow": holed(lambda c: pd.DataFrame(c, dtype="int64[pyarrow]")),
    "polars null": holed(pl.DataFrame),
    "polars NaN": pl.DataFrame(NAN),
    "Arrow null": holed(pa.table),
    "Arrow null in small integers": holed(lambda c: pa.table(c, ARROW_INTS)),
    "Arrow NaN": pa.table(NAN),
    "SciPy": sp.csr_array(np.array(list(NAN.values())).T),
}
HOLED["NumPy object pd.NA"][HOLED["NumPy object pd.NA"] == None] = pd.NA  # noqa: E711
INFINITE = {"NumPy", "NumPy float32", "pandas float", "pandas one block", "polars NaN", "Arrow NaN", "SciPy"}


@pytest.mark.parametrize("piece", [base.PIECE, 3], ids=["one piece", "a row each"])
@pytest.mark.parametrize(("name", "table"), HOLED.items(), ids=HOLED)
def test_holes_and_infinities_are_counted_and_their_columns_named(monkeypatch, name, table, piece):
    monkeypatch.setattr(base, "PIECE", piece)
    b, c = ("'b'", "'c'") if hasattr(table, "columns") else (1, 2)
    expected = f"X contains NaN in 2 rows, in columns {b} (1), {c} (2);"
    if name in INFINITE:
        expected = f"X contains infinity in 2 rows, in columns {c} (2);"
    for covariance in ("full", "diag", "tied"):
        with pytest.raises(DataError) as caught:
            GaussianClassifier(covariance, missing="error").fit(table, [0, 1, 0, 1])
        assert str(caught.value).startswith(expected)


@pytest.mark.parametrize("hole", [np.inf, -np.inf])
@pytest.mark.parametrize("covariance", ["full", "diag", "tied", "spherical"])
@pytest.mark.parametrize(
    "verb", ["predict", "predict_proba", "predict_log_proba", "log_likelihood", "score_samples", "typicality"]
)
def test_scores_of_infinity_are_refused_too(rng, y, kernel, hole, covariance, verb):
    frame = pd.DataFrame(quarters(rng), columns=NAMES)
    clf = GaussianClassifier(covariance).fit(frame, y)
    frame.loc[[3, 5], "b"] = hole
    with pytest.raises(DataError, match=r"in 2 rows, in columns 'b' \(2\)"):
        getattr(clf, verb)(frame)


def test_a_long_list_of_columns_is_cut(rng):
    X = np.full((3, 20), np.nan)
    with pytest.raises(DataError, match=r"in 3 rows, in columns 0 \(3\), .* 7 \(3\) and 12 more"):
        GaussianClassifier(missing="error").fit(X, [0, 1, 2])


# Shapes.

NOTHING = {
    "NumPy": np.empty((0, 2)),
    "pandas": pd.DataFrame({"a": [], "b": []}),
    "pandas one block": pd.DataFrame(np.empty((0, 2)), columns=["a", "b"]),
    "polars": pl.DataFrame({"a": [], "b": []}, schema={"a": pl.Float64, "b": pl.Float64}),
    "Arrow": pa.table({"a": pa.array([], pa.float64()), "b": pa.array([], pa.int8())}),
    "SciPy": sp.csr_array((0, 2)),
}


@pytest.mark.parametrize("table", NOTHING.values(), ids=NOTHING)
def test_no_rows_are_refused(table):
    with pytest.raises(DataError, match=r"Found array with 0 sample\(s\) \(shape=\(0, 2\)\) while a minimum of 1"):
        GaussianClassifier().fit(table, np.array([], int))


@pytest.mark.parametrize(
    "table",
    [np.empty((3, 0)), pd.DataFrame(index=range(3)), pa.table({"kind": list("aba")}), sp.csr_array((3, 0))],
    ids=["NumPy", "pandas", "Arrow", "SciPy"],
)
def test_no_columns_are_refused(table):
    labels = "kind" if isinstance(table, pa.Table) else list("aba")
    with pytest.raises(DataError, match=r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"):
        GaussianClassifier().fit(table, labels)


@pytest.mark.parametrize(
    "table",
    [np.zeros(3), np.zeros((3, 1, 1)), 3.0, pd.Series([1.0, 2, 3]), pl.Series([1.0, 2, 3]), sp.coo_array([1.0, 2, 3])],
    ids=["vector", "cube", "number", "pandas", "polars", "SciPy"],
)
def test_what_is_no_table_is_refused(table):
    with pytest.raises(DataError, match=r"Expected 2D array, got \dD array instead"):
        GaussianClassifier().fit(table, [0, 1, 0])


@pytest.mark.parametrize("build", [lambda c: np.column_stack(list(c.values())), pd.DataFrame, pl.DataFrame, pa.table])
def test_integers_beyond_the_digits_of_a_double_are_rounded(build):
    """Identifiers and time stamps in nanoseconds: NumPy rounds them, and so does everybody else."""
    big = 2**60 + np.arange(8) ** 5
    clf = GaussianClassifier("diag").fit(build({"a": np.arange(8) ** 2, "big": big}), [0, 1] * 4)
    np.testing.assert_allclose(clf.means_[:, 1], [big[::2].mean(), big[1::2].mean()], rtol=1e-15)


# Memory and threads.


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "build",
    [
        lambda X: X,
        np.asfortranarray,
        frozen,
        lambda X: X[::-2, 1:],
        lambda X: pd.DataFrame(X, copy=False),
        lambda X: pd.DataFrame(np.asfortranarray(X), columns=NAMES, copy=False),
        lambda X: pd.DataFrame(X, columns=NAMES, copy=False).iloc[3:, 1:],
    ],
    ids=["C", "F", "read-only", "strided", "pandas", "pandas Fortran", "pandas slice"],
)
def test_floats_are_not_copied(rng, build, dtype):
    table = build(quarters(rng).astype(dtype))
    batch = as_source(table).batch(5, 25)
    values = table if isinstance(table, np.ndarray) else table.to_numpy(copy=False)
    assert np.shares_memory(batch.X, values)
    assert batch.X.dtype == dtype
    np.testing.assert_array_equal(batch.X, values[5:25])


@pytest.mark.parametrize("place", [0, 2, D])
def test_floats_beside_a_column_of_labels_are_not_copied(rng, place):
    X = quarters(rng)
    frame = pd.DataFrame(X, columns=NAMES, copy=False)
    frame.insert(place, "kind", WORDS)
    batch = as_source(frame, "kind").batch(0, N)
    np.testing.assert_array_equal(batch.X, X)
    assert np.shares_memory(batch.X, X)


BIG = {
    "NumPy int": lambda X: X.astype(np.int32),
    "pandas mixed": lambda X: pd.DataFrame({str(j): X[:, j].astype(("int64", "float64")[j % 2]) for j in range(8)}),
    "pandas Arrow": lambda X: pa.table({str(j): X[:, j] for j in range(8)}).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcdefgh")),
    "Arrow": lambda X: pa.table({str(j): X[:, j] for j in range(8)}),
    "SciPy": lambda X: sp.csr_array(X * (X > 100)),
}


@pytest.mark.parametrize("name", BIG)
def test_no_table_is_copied_as_a_whole(name):
    X = np.rint(100 + 10 * np.random.default_rng(0).normal(size=(2**20, 8)))  # four pieces
    table, y = BIG[name](X), np.arange(len(X)) % 2
    clf = GaussianClassifier("diag", n_jobs=1)
    with kernels.using(kernels.available()[0]):
        tracemalloc.start()
        try:
            clf.fit(table, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    piece = 8 * base.PIECE
    if name in ("pandas Arrow", "polars", "Arrow") and kernels.native:  # columns of floats are taken as they are
        assert peak < 0.4 * piece
    else:
        assert 0.4 * piece < peak < 2.5 * piece  # two pieces: one converted, and columns on their way
    assert clf.statistics_.weight.tolist() == [2**19, 2**19]


@pytest.mark.parametrize(("covariance", "d"), [("full", 16), ("diag", 16), ("tied", 300)], ids=str)
def test_results_do_not_depend_on_the_number_of_threads(kernel, covariance, d):
    """Bit for bit: the pieces, and the order in which they are merged, are the same."""
    rng = np.random.default_rng(1)
    n = 17 * base.PIECE // (8 * d)  # three pieces
    y = rng.integers(0, 4, n)
    X = rng.standard_normal((n, d), dtype=np.float32) + y[:, None].astype(np.float32)
    assert X.size > 2**22
    first = None
    for n_jobs in (1, 3):
        clf = GaussianClassifier(covariance, n_jobs=n_jobs).fit(X, y)
        found = [*clf.statistics_.to_arrays().values(), clf.log_likelihood(X), clf.predict_log_proba(X), clf.predict(X)]
        first = first or found
        for a, b in zip(first, found, strict=True):
            np.testing.assert_array_equal(a, b)
