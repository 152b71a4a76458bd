"""Imputation writes missing cells and nothing else, and hands back what came in."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from scipy.stats import ks_2samp, kstest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  before it is imported
from sklearn.impute import IterativeImputer, SimpleImputer

from suffice import (
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    GaussianDensity,
    MixedClassifier,
    MixtureClassifier,
    Model,
    MultinomialClassifier,
    PoissonClassifier,
    StudentDensity,
)
from suffice.errors import DataError

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


# Numbers with covariances, random draws, labels.


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_diabetes])
def test_values_are_closer_to_the_truth_than_those_of_others(load):
    """Of a tenth of real tables: than column means, and no worse than scikit-learn's IterativeImputer."""
    rng = np.random.default_rng(0)
    X = load().data[:300]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    gone = rng.random(X.shape) < 0.1
    holed = np.where(gone, np.nan, X)
    clf = GaussianClassifier("full").fit(holed, np.zeros(len(X)))

    def error(filled):
        np.testing.assert_array_equal(filled[~gone], X[~gone])
        return np.sqrt(np.mean((filled[gone] - X[gone]) ** 2))

    peer = IterativeImputer(random_state=0, max_iter=10, tol=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = error(peer.fit_transform(holed))
    own = error(clf.impute(holed))
    assert own < 0.9 * error(SimpleImputer().fit_transform(holed))
    assert own <= 1.01 * best
    assert error(clf.impute(holed, draws=True, random_state=0)) > own  # draws add the noise of what is not known


IRIS, SPECIES = load_iris(return_X_y=True)
DRAWN = {
    "full": GaussianClassifier(),
    "tied": GaussianClassifier("tied"),
    "diag": GaussianClassifier("diag"),
    "predictive": GaussianClassifier(predictive=True),
    "predictive diag": GaussianClassifier("diag", predictive=True),
    "mixture": MixtureClassifier(2, covariance="full", random_state=0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("gone", [[1], [0, 2], [0, 1, 2, 3]], ids=str)
def test_draws_have_the_distribution_of_the_missing_cells(name, gone):
    """Rows drawn from the model, of which some cells are hidden and drawn again, are rows drawn from the model."""
    clf = clone(DRAWN[name]).fit(IRIS, SPECIES)
    X, y = clf.sample(20_000, random_state=1)
    holed = X.copy()
    holed[:, gone] = np.nan
    for labels in (None, y):
        again = clf.impute(holed, y=labels, draws=True, random_state=2)
        assert (again[:, gone] != X[:, gone]).mean() > 0.99
        pairs = [(X, again)] if labels is None else [(X[y == c], again[y == c]) for c in range(3)]
        for one, two in pairs:
            for j in gone:
                assert ks_2samp(one[:, j], two[:, j]).pvalue > 1e-4
            slope = (one[:, [0]] + one) @ np.ones(4), (two[:, [0]] + two) @ np.ones(4)  # what correlations change
            assert ks_2samp(*slope).pvalue > 1e-4


SCALE = np.array([[2.0, 0.9, 0.3], [0.9, 1.0, -0.2], [0.3, -0.2, 0.5]])
SHARP = {
    "full": GaussianDensity.from_parameters([[1.0, 2.0, 3.0]], [SCALE]),
    "diag": GaussianDensity.from_parameters([[1.0, 2.0, 3.0]], [np.diag(SCALE)], "diag"),
    "t": StudentDensity.from_parameters([[1.0, 2.0, 3.0]], [SCALE], 3),
}


@pytest.mark.parametrize("name", SHARP)
@pytest.mark.parametrize("gone", [[1], [0, 2], [0, 1, 2]], ids=str)
def test_drawn_rows_are_as_far_out_as_rows_are(name, gone):
    model = Model(SHARP[name], ["x"])
    X, _ = model.sample(40_000, random_state=1)
    X[:, gone] = np.nan
    drawn = model.impute(X, draws=True, random_state=2)
    assert kstest(model.typicality(drawn)[:, 0], "uniform").pvalue > 1e-4
    apart = (drawn - model.impute(X))[:, gone]
    seen = np.setdiff1d(range(3), gone)
    matrix = SCALE if name != "diag" else np.diag(np.diag(SCALE))
    left = matrix[np.ix_(gone, gone)] - matrix[np.ix_(gone, seen)] @ np.linalg.solve(
        matrix[np.ix_(seen, seen)], matrix[np.ix_(seen, gone)]
    )
    if name != "t":
        np.testing.assert_allclose(np.cov(apart.T), left.squeeze(), atol=0.03 * left.max())


def test_draws_of_every_family(clf):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    frame = pd.DataFrame(
        {
            "town": np.where(rng.random(4000) < 0.2 + 0.6 * y, "Bonn", "Rome"),
            "wet": rng.random(4000) < 0.3 + 0.4 * y,
            "visits": rng.poisson(2.0 + 5 * y),
            "amount": rng.gamma(2.0, 1.0 + y),
            "size": rng.normal(y, 1.0),
        }
    )
    families = {"visits": "poisson", "amount": "gamma"}
    model = MixedClassifier(families).fit(frame, y)
    holed = frame.astype({"wet": "boolean", "visits": "Int64"}).mask(rng.random(frame.shape) < 0.5)
    filled = model.impute(holed, y=y, draws=True, random_state=3)
    assert filled.notna().all(axis=None)
    assert filled.dtypes.tolist() == holed.dtypes.tolist()  # draws of counts are counts
    for c in (0, 1):
        for name in ("visits", "amount", "size"):
            new = filled.loc[(y == c) & holed[name].isna(), name].astype(float)
            assert ks_2samp(new, frame.loc[y == c, name]).pvalue > 1e-4
        for name, value in (("town", "Bonn"), ("wet", True)):
            new = filled.loc[(y == c) & holed[name].isna(), name] == value
            assert abs(new.mean() - (frame.loc[y == c, name] == value).mean()) < 0.06
    pd.testing.assert_frame_equal(filled.where(holed.notna()), holed)


def test_many_tables_and_what_makes_them_reproducible():
    clf = GaussianClassifier().fit(IRIS, SPECIES)
    holed = np.where(np.random.default_rng(0).random(IRIS.shape) < 0.3, np.nan, IRIS)
    tables = clf.impute(holed, n_draws=200, random_state=5)
    assert len(tables) == 200
    again = clf.impute(holed, n_draws=2, random_state=5)
    np.testing.assert_array_equal(again[1], tables[1])
    assert (tables[0] != tables[1]).any()
    one = clf.impute(holed, draws=True, random_state=5)
    np.testing.assert_array_equal(one, tables[0])
    missing = np.isnan(holed)
    assert (np.stack(tables)[:, ~missing] == IRIS[~missing]).all()
    means, spread = np.mean(tables, axis=0), np.std(tables, axis=0) + 1e-9
    assert (np.abs(means - clf.impute(holed)) < 6 * spread / np.sqrt(200)).all()
    frames = clf.impute(pd.DataFrame(holed), n_draws=1, random_state=0)
    assert isinstance(frames[0], pd.DataFrame)


def test_a_class_that_is_known_is_used():
    clf = GaussianClassifier("diag").fit(IRIS, SPECIES)
    nothing = np.full((3, 4), np.nan)
    np.testing.assert_allclose(clf.impute(nothing, y=[2, 0, 1]), clf.means_[[2, 0, 1]])
    some = clf.impute(nothing, y=np.array([2, None, 1], object))
    np.testing.assert_allclose(some, [clf.means_[2], IRIS.mean(axis=0), clf.means_[1]])
    frame = pd.DataFrame(np.column_stack([nothing, [1, 1, 0]]), columns=[*"abcd", "y"])
    named = GaussianClassifier("diag").fit(pd.DataFrame(IRIS, columns=list("abcd")), SPECIES)
    np.testing.assert_allclose(named.impute(frame, y="y")[list("abcd")], clf.means_[[1, 1, 0]])


REFUSED = {
    "no number of tables": ({"n_draws": 0}, "n_draws=0 must be a whole number"),
    "an unknown class": ({"y": [0, 9, 1]}, "9 is not a class of this model"),
    "too few labels": ({"y": [0, 1]}, "3 rows, y has 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_imputed_is_refused(case):
    options, message = REFUSED[case]
    with pytest.raises(DataError, match=message):
        GaussianClassifier().fit(IRIS, SPECIES).impute(IRIS[:3], **options)


def test_words_that_come_in_bursts_are_not_drawn():
    clf = MultinomialClassifier(predictive=True).fit([[1, 2], [3, 0], [0, 4]], [0, 0, 1])
    with pytest.raises(DataError, match="cannot draw missing counts; use predictive=False"):
        clf.impute([[1, np.nan]], draws=True)
    drawn = clone(clf).set_params(predictive=False).fit([[1, 2], [3, 0], [0, 4]], [0, 0, 1])
    assert drawn.impute([[1, np.nan]], draws=True, random_state=0)[0, 0] == 1
