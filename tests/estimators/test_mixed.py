"""MixedClassifier as a user meets it: whole tables, as they come."""

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
import scipy.sparse as sp
import sklearn
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import (
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    MixedClassifier,
    MixtureClassifier,
    MixtureModel,
    MultinomialClassifier,
    PoissonClassifier,
    load,
)
from suffice.description import describe
from suffice.errors import (
    ColumnWarning,
    DataError,
    EmptyClassWarning,
    ImpossibleWarning,
    SingularWarning,
    StatisticsError,
)
from suffice.sources import base

STRUCTURES = ["full", "diag", "tied", "tied_diag", "spherical", "tied_spherical"]
CSV = Path(suffice.__file__).parent / "data" / "penguins.csv"
PENGUINS = pd.read_csv(CSV)
X, Y = PENGUINS.drop(columns="species"), PENGUINS["species"].to_numpy(str)
N = len(X)


def drawn(n=300, seed=0):
    """Columns of every family that differ by class."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 3, n)
    rate = np.array([[1.0, 4.0, 9.0], [3.0, 3.0, 3.0], [9.0, 4.0, 1.0]])
    words = rng.poisson(rate[code])
    frame = pd.DataFrame(
        {
            "height": rng.normal(code, 1.0),
            "town": np.array(["Bonn", "Rome", "", "Oslo"])[(rng.random(n) * (2 + code)).astype(int)],
            "the": words[:, 0],
            "smokes": rng.random(n) < 0.2 + 0.3 * code,
            "visits": rng.poisson(2.0 + 3 * code),
            "cat": words[:, 1],
            "width": rng.normal(-code, 2.0),
            "dog": words[:, 2],
            "id": [f"#{i}" for i in range(n)],
        }
    )
    frame["width"] += frame["height"]
    return frame, np.array(["x", "y", "z"])[code]


TABLE, LABELS = drawn()
FAMILIES = {
    "visits": "poisson",
    "id": "drop",
    make_column_selector(pattern="^(?:the|cat|dog)$"): "multinomial",
}
BLOCKS = {
    "gaussian": ["height", "width"],
    "categorical": ["town"],
    "bernoulli": ["smokes"],
    "poisson": ["visits"],
    "multinomial": ["the", "cat", "dog"],
}


def holes(frame, share=0.15, seed=1):
    mask = np.random.default_rng(seed).random(frame.shape) < share
    return frame.astype(object).mask(mask, None)


def typed(frame):
    """With the types that the columns had before they got holes."""
    whole = {"smokes": "boolean", "the": "Int64", "cat": "Int64", "dog": "Int64", "visits": "Int64"}
    return frame.astype({"height": float, "width": float, "town": "str", "id": "str"} | whole)


HOLED = typed(holes(TABLE))


def same_model(a, b, data, rtol=1e-9):
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.schema_.families == b.schema_.families
    np.testing.assert_allclose(a.statistics_.weight, b.statistics_.weight)
    np.testing.assert_allclose(a.log_likelihood(data), b.log_likelihood(data), rtol=rtol, atol=1e-9)
    np.testing.assert_array_equal(a.predict(data), b.predict(data))


# In scikit-learn's machinery.


# Some of the checks have constant columns, one row, or a class of weight zero, where a warning is right.
@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@parametrize_with_checks(
    [
        MixedClassifier(),
        MixedClassifier(covariance="full"),
        MixedClassifier(covariance="tied_diag", prior="uniform"),
        MixedClassifier({0: "categorical"}, alpha=0),
    ]
)
def test_scikit_learn_conventions(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


def test_in_a_pipeline_a_grid_and_a_pickle():
    pipe = make_pipeline(FunctionTransformer(), MixedClassifier())
    assert cross_val_score(pipe, X, Y).mean() > 0.95
    grid = GridSearchCV(MixedClassifier(), {"alpha": [0.01, 1, 1e6], "families": ["auto", {"year": "drop"}]}, cv=3).fit(
        X, Y
    )
    assert grid.best_score_ > 0.95
    assert grid.best_params_["alpha"] < 1e6
    copy = pickle.loads(pickle.dumps(pipe.fit(X, Y)))
    np.testing.assert_array_equal(copy.predict_proba(X), pipe.predict_proba(X))
    assert clone(MixedClassifier(FAMILIES)).fit(TABLE, LABELS).schema_.blocks().keys() == BLOCKS.keys()


def test_prior_and_cost_are_routed():
    prior = {"Adelie": 1e-9, "Chinstrap": 1e-9, "Gentoo": 1 - 2e-9}
    with sklearn.config_context(enable_metadata_routing=True):
        clf = MixedClassifier().set_predict_request(prior=True, cost=True)
        pipe = make_pipeline(FunctionTransformer(), clf).fit(X, Y)
        plain = MixedClassifier().fit(X, Y)
        np.testing.assert_array_equal(pipe.predict(X, prior=prior), plain.predict(X, prior=prior))
        cost = [[0, 1e6, 1], [1, 0, 1], [1, 1, 0]]
        np.testing.assert_array_equal(pipe.predict(X, cost=cost), plain.predict(X, cost=cost))
    assert (plain.predict(X, prior=prior) != plain.predict(X)).any()
    assert (plain.predict(X, cost=cost) != plain.predict(X)).any()


# The penguins.


def test_penguins_in_one_call():
    clf = MixedClassifier().fit(PENGUINS, "species")
    assert clf.schema_.families == ("categorical", *["gaussian"] * 4, "categorical", "categorical")
    assert "year               categorical  int64, 3 different values" in str(clf.schema_)
    assert clf.score(X, Y) > 0.98
    assert X.isna().any().sum() == 5  # columns, in training as in scoring
    assert np.isfinite(clf.log_likelihood(X)).all()


READERS = {
    "pandas": lambda: pd.read_csv(CSV),
    "pandas nullable": lambda: pd.read_csv(CSV, dtype_backend="numpy_nullable"),
    "pandas Arrow": lambda: pd.read_csv(CSV, dtype_backend="pyarrow"),
    "pandas category": lambda: pd.read_csv(CSV, dtype={"island": "category", "sex": "category"}),
    "pandas object": lambda: pd.read_csv(CSV).astype(object),
    "polars": lambda: pl.read_csv(CSV, null_values="NA"),
    "polars Categorical": lambda: pl.read_csv(CSV, null_values="NA").with_columns(
        pl.col(pl.String).cast(pl.Categorical)
    ),
    "Arrow": lambda: pa.csv.read_csv(
        CSV, convert_options=pa.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    ),
}


@pytest.mark.parametrize("pieces", [base.PIECE, 500], ids=["one piece", "five pieces"])
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_the_same_penguins_from_every_library(read, pieces, monkeypatch):
    monkeypatch.setattr(base, "PIECE", pieces)
    numbers = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    families = dict.fromkeys(numbers, "gaussian")  # some libraries read grams and millimetres as integers
    table = read()
    clf = MixedClassifier(families).fit(table, "species")
    expected = MixedClassifier(families).fit(X, Y)
    assert clf.schema_.families == expected.schema_.families
    features = table.drop(["species"]) if not isinstance(table, pd.DataFrame) else table.drop(columns="species")
    np.testing.assert_allclose(clf.log_likelihood(features), expected.log_likelihood(X), rtol=1e-9)
    np.testing.assert_array_equal(clf.predict(features), expected.predict(X))


# A product of blocks.


@pytest.mark.parametrize("table", [TABLE, HOLED], ids=["whole", "with holes"])
@pytest.mark.parametrize("covariance", ["diag", "tied_diag"])
def test_a_product_of_models_of_the_blocks(table, covariance):
    clf = MixedClassifier(FAMILIES, 0.5, covariance).fit(table, LABELS)
    assert {f: [TABLE.columns[j] for j in places] for f, places in clf.schema_.blocks().items()} == BLOCKS
    parts = {
        "categorical": CategoricalClassifier(0.5),
        "bernoulli": BernoulliClassifier(0.5),
        "poisson": PoissonClassifier(0.5),
        "multinomial": MultinomialClassifier(0.5),
    }
    total = np.zeros((len(table), 3))
    for family, part in parts.items():
        total += part.fit(table[BLOCKS[family]], LABELS).log_likelihood(table[BLOCKS[family]])
    for name in BLOCKS["gaussian"]:
        here = table[name].notna()
        one = table.loc[here, [name]].astype(float)
        total[here] += GaussianClassifier(covariance).fit(one, LABELS[here]).log_likelihood(one)
    np.testing.assert_allclose(clf.log_likelihood(table), total, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shrinkage", [None, 0.3])
@pytest.mark.parametrize("covariance", STRUCTURES)
def test_every_covariance_of_the_gaussian_block(covariance, shrinkage):
    clf = MixedClassifier(FAMILIES, covariance=covariance, shrinkage=shrinkage).fit(TABLE, LABELS)
    numbers = TABLE[["height", "width"]]
    gaussian = GaussianClassifier(covariance, shrinkage).fit(numbers, LABELS)
    rest = MixedClassifier(FAMILIES | {"height": "drop", "width": "drop"}).fit(TABLE, LABELS)
    expected = gaussian.log_likelihood(numbers) + rest.log_likelihood(TABLE)
    np.testing.assert_allclose(clf.log_likelihood(TABLE), expected, rtol=1e-9)
    # Rows that miss a number are scored by their exact marginal: of a Gaussian, by the other column alone.
    holed = TABLE.assign(width=np.where(np.arange(len(TABLE)) % 2, np.nan, TABLE["width"]))
    odd = np.arange(len(TABLE)) % 2 == 1
    variance = np.broadcast_to(
        {
            "full": lambda c: c[:, 0, 0],
            "tied": lambda c: c[0, 0],
            "diag": lambda c: c[:, 0],
            "tied_diag": lambda c: c[0],
        }.get(covariance, lambda c: c)(gaussian.covariances_),
        3,
    )
    z = TABLE["height"].to_numpy()[:, None] - gaussian.means_[:, 0]
    alone = -0.5 * (z**2 / variance + np.log(2 * np.pi * variance)) + rest.log_likelihood(TABLE)
    np.testing.assert_allclose(clf.log_likelihood(holed)[odd], alone[odd], rtol=1e-9)
    np.testing.assert_allclose(clf.log_likelihood(holed)[~odd], expected[~odd], rtol=1e-9)


@pytest.mark.parametrize("covariance", ["spherical", "tied_spherical"])
def test_one_variance_is_that_of_the_cells_there_are(covariance):
    holed = TABLE[["height", "width"]].copy()
    holed.loc[::3, "width"] = np.nan
    clf = MixedClassifier(covariance=covariance).fit(holed, LABELS)
    square, count = np.zeros(3), np.zeros(3)
    for c, label in enumerate("xyz"):
        for name in holed:
            values = holed.loc[label == LABELS, name].dropna()
            square[c] += ((values - values.mean()) ** 2).sum()
            count[c] += len(values)
    variance = square / count if covariance == "spherical" else np.full(3, square.sum() / count.sum())
    row = pd.DataFrame({"height": [0.5], "width": [np.nan]})
    mean = [TABLE["height"][label == LABELS].mean() for label in "xyz"]
    expected = -0.5 * ((0.5 - np.array(mean)) ** 2 / variance + np.log(2 * np.pi * variance))
    np.testing.assert_allclose(clf.log_likelihood(row)[0], expected, rtol=1e-9)


def test_floats_alone_are_gaussian_naive_bayes():
    rng = np.random.default_rng(0)
    data, labels = rng.normal(size=(200, 5)) * [1, 10, 0.1, 3, 1], np.arange(200) % 3
    data += labels[:, None]
    clf = MixedClassifier().fit(data, labels)
    np.testing.assert_array_equal(
        clf.log_likelihood(data), GaussianClassifier("diag").fit(data, labels).log_likelihood(data)
    )
    theirs = GaussianNB(var_smoothing=0).fit(data, labels)
    np.testing.assert_allclose(clf.predict_log_proba(data), theirs.predict_log_proba(data), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("family", "make", "data"),
    [
        ("bernoulli", BernoulliClassifier, (TABLE[["the", "cat", "dog"]] > 2)),
        ("multinomial", MultinomialClassifier, TABLE[["the", "cat", "dog"]]),
        ("poisson", PoissonClassifier, TABLE[["the", "cat", "dog"]]),
        ("categorical", CategoricalClassifier, TABLE[["the", "cat", "dog"]]),
        ("gaussian", lambda alpha: GaussianClassifier("diag"), TABLE[["the", "cat", "dog"]]),
    ],
)
def test_one_family_alone_is_its_own_classifier(family, make, data):
    mixed, plain = MixedClassifier(family, 0.5).fit(data, LABELS), make(0.5).fit(data, LABELS)
    np.testing.assert_allclose(mixed.log_likelihood(data), plain.log_likelihood(data), rtol=1e-12)
    np.testing.assert_array_equal(mixed.predict(data), plain.predict(data))


# Every call fits the others.


@pytest.mark.parametrize("table", [TABLE, HOLED], ids=["whole", "with holes"])
@pytest.mark.parametrize("covariance", STRUCTURES)
def test_every_call_fits_the_others(table, covariance):
    clf = MixedClassifier(FAMILIES, 0.5, covariance).fit(TABLE, LABELS)
    prior = np.array([0.2, 0.3, 0.5])
    log_likelihood = clf.log_likelihood(table)
    joint = log_likelihood + np.log(prior)
    evidence = np.logaddexp.reduce(joint, axis=1)
    np.testing.assert_allclose(clf.score_samples(table, prior=prior), evidence, rtol=1e-9)
    np.testing.assert_allclose(clf.predict_log_proba(table, prior=prior), joint - evidence[:, None], atol=1e-8)
    np.testing.assert_array_equal(clf.predict(table, prior=prior), clf.classes_[joint.argmax(axis=1)])
    cost = np.array([[0, 5, 1], [1, 0, 1], [1, 1, 0]])
    cheapest = (np.exp(joint - evidence[:, None]) @ cost.T).argmin(axis=1)
    np.testing.assert_array_equal(clf.predict(table, prior=prior, cost=cost), clf.classes_[cheapest])
    llr = clf.llr(table, "x", "z")
    np.testing.assert_allclose(llr, log_likelihood[:, 2] - log_likelihood[:, 0], rtol=1e-8, atol=1e-8)
    shares = clf.explain(table, "x", "z")
    np.testing.assert_allclose(shares.sum(axis=1), llr, rtol=1e-8, atol=1e-8)
    assert shares.shape == table.shape
    assert (shares[:, table.columns.get_loc("id")] == 0).all()
    town = CategoricalClassifier(0.5).fit(TABLE[["town"]], LABELS)
    np.testing.assert_allclose(
        shares[:, table.columns.get_loc("town")], town.llr(table[["town"]], "x", "z"), rtol=1e-9, atol=1e-12
    )


def test_missing_cells_have_no_share():
    clf = MixedClassifier(FAMILIES | dict.fromkeys(("the", "cat", "dog"), "poisson")).fit(HOLED, LABELS)
    shares = clf.explain(HOLED, "x", "z")
    assert (shares[HOLED.isna().to_numpy()] == 0).all()


def test_samples_are_tables_that_can_be_learnt():
    clf = MixedClassifier(FAMILIES, covariance="full").fit(TABLE, LABELS)
    rows, labels = clf.sample(3000, random_state=0)
    assert isinstance(rows, pd.DataFrame)
    assert rows.columns.tolist() == TABLE.columns.tolist()
    assert set(rows["town"]) == set(TABLE["town"])
    assert rows["id"].isna().all()
    assert np.mean(clf.predict(rows) == labels) > 0.8
    again = clone(clf).set_params(families=dict(enumerate(clf.schema_.families))).fit(rows, labels)
    assert np.mean(again.predict(TABLE) == clf.predict(TABLE)) > 0.95
    only, label = clf.sample(4, label="y", random_state=0)
    assert len(only) == 4
    assert label.tolist() == ["y"] * 4
    np.testing.assert_allclose(clf.estimate_prior(rows), clf.prior_, atol=0.08)


def test_missing_cells_are_imputed():
    clf = MixedClassifier(FAMILIES, covariance="tied").fit(TABLE, LABELS)
    frame = clf.impute(HOLED)
    pd.testing.assert_series_equal(frame["id"], HOLED["id"])
    kept = [name for name in TABLE if name != "id"]
    assert not frame[kept].isna().any().any()
    for name in kept:
        known = HOLED[name].notna().to_numpy()
        assert frame[name][known].tolist() == HOLED[name][known].tolist()
    assert set(frame["town"]) == set(TABLE["town"])
    clf.predict(frame)


def test_imputed_numbers_lean_on_the_other_columns():
    clf = MixedClassifier(covariance="full").fit(TABLE[["height", "width", "town"]], LABELS)
    rows = pd.DataFrame({"height": [-3.0, 3.0], "width": [np.nan] * 2, "town": ["Bonn"] * 2})
    found = clf.impute(rows, prior={"x": 1, "y": 0, "z": 0})["width"]
    one = GaussianClassifier().fit(TABLE[["height", "width"]], LABELS)
    expected = one.impute(rows[["height", "width"]], prior={"x": 1, "y": 0, "z": 0})["width"]
    np.testing.assert_allclose(found, expected)


def test_typicality_is_low_for_outliers_alone():
    clf = MixedClassifier().fit(X, Y)
    typical = clf.typicality(X)
    own = typical[np.arange(N), np.searchsorted(clf.classes_, Y)]
    assert np.mean(own < 0.05) < 0.15
    strange = X[:1].assign(bill_length_mm=500.0)
    assert (clf.typicality(strange) == 0).all()


# Learning in pieces, from others, and unlearning.


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_pieces_are_the_whole(covariance):
    table = HOLED if covariance not in ("full", "tied") else TABLE
    clf = MixedClassifier(FAMILIES, covariance=covariance)
    whole = clone(clf).fit(table, LABELS)
    streamed = clone(clf)
    for start in range(0, 300, 60):
        streamed.partial_fit(table[start : start + 60], LABELS[start : start + 60])
    same_model(streamed, whole, table)
    parts = [clone(clf).fit(table[r::3], LABELS[r::3]) for r in range(3)]
    same_model(parts[2] + parts[0] + parts[1], whole, table)
    same_model(sum(parts), whole, table)
    same_model(
        clone(clf).fit(table, LABELS).forget(table[:100], LABELS[:100]),
        clone(clf).fit(table[100:], LABELS[100:]),
        table,
    )
    same_model(clone(clf).fit_statistics(whole.statistics_), whole, table)


def test_new_classes_and_categories_may_come_at_any_time():
    early, late = LABELS != "x", LABELS == "x"
    later = TABLE[late].assign(town="Paris")
    both = pd.concat([TABLE[early], later])
    whole = MixedClassifier(FAMILIES).fit(both, np.concatenate([LABELS[early], LABELS[late]]))
    streamed = MixedClassifier(FAMILIES).partial_fit(TABLE[early], LABELS[early]).partial_fit(later, LABELS[late])
    same_model(streamed, whole, TABLE)
    announced = MixedClassifier(FAMILIES).partial_fit(TABLE[early], LABELS[early], classes=["z", "x", "y"])
    assert announced.classes_.tolist() == ["x", "y", "z"]
    with pytest.warns(EmptyClassWarning, match="'x'") as warned:
        assert (announced.predict_proba(TABLE)[:, 0] == 0).all()
    assert len(warned) == 1  # and not one for each block
    same_model(announced.partial_fit(later, LABELS[late]), whole, TABLE)


def test_weights_are_copies():
    k = np.arange(300) % 3
    weighted = MixedClassifier(FAMILIES).fit(HOLED, LABELS, sample_weight=k)
    rows = np.repeat(np.arange(300), k)
    same_model(weighted, MixedClassifier(FAMILIES).fit(HOLED.iloc[rows], LABELS[rows]), HOLED)


def test_labels_are_encoded_once_for_all_blocks(monkeypatch):
    def encode(y):
        raise AssertionError("once more")

    whole = MixedClassifier(FAMILIES).fit(TABLE, LABELS)
    monkeypatch.setattr("suffice.stats.base.encode", encode)
    same_model(MixedClassifier(FAMILIES).fit(TABLE, LABELS), whole, TABLE)


PAIRS = [[0.5, 2.0], [1.5, 3.0], [2.5, 1.0], [1.0, 4.0]]


def test_models_of_other_schemas_do_not_merge():
    clf = MixedClassifier(FAMILIES).fit(TABLE, LABELS)
    with pytest.raises(StatisticsError, match=r"'width' has different families \(gaussian and drop\).*families="):
        clf + MixedClassifier(FAMILIES | {"width": "drop"}).fit(TABLE, LABELS)
    with pytest.raises(StatisticsError, match=r"column 1 has different families \(gaussian and poisson\)"):
        MixedClassifier("gaussian").fit(PAIRS, list("aabb")) + MixedClassifier({1: "poisson"}).fit(PAIRS, list("aabb"))
    with pytest.raises(StatisticsError, match="different columns"):
        clf + MixedClassifier(FAMILIES).fit(TABLE.rename(columns={"width": "depth"}), LABELS)
    with pytest.raises(DataError, match="- depth"):
        clf.partial_fit(TABLE.rename(columns={"width": "depth"}), LABELS)
    with pytest.raises(TypeError):
        clf + GaussianClassifier("diag").fit(TABLE[["height", "width"]], LABELS)


def test_a_schema_holds_for_later_rows():
    clf = MixedClassifier().partial_fit(pd.DataFrame({"n": [0, 1, 1]}), [0, 1, 0])
    assert clf.schema_.families == ("bernoulli",)
    with pytest.raises(DataError, match="in the bernoulli columns: column 'n' holds values other than 0 and 1"):
        clf.partial_fit(pd.DataFrame({"n": [7, 8, 9]}), [0, 1, 0])
    clf.partial_fit(pd.DataFrame({"n": [1, 1, 1]}), [0, 1, 0])
    assert clf.schema_.families == ("bernoulli",)


def test_columns_may_be_named_by_numbers():
    frame = pd.DataFrame({1: [1.0, 2.0, 3.0, 4.0], 0: [0.5, 1.5, 0.75, 1.25]})
    assert MixedClassifier({1: "categorical"}).fit(frame, list("pqpq")).schema_.families == ("categorical", "gaussian")


@pytest.mark.parametrize("n", [-1, 2.5, "a"])
def test_only_a_whole_number_of_rows_can_be_drawn(n):
    clf = MixedClassifier().fit(TABLE[["height"]], LABELS)
    with pytest.raises(DataError, match="whole number of rows"):
        clf.sample(n)


def test_a_failed_call_leaves_the_model_as_it_was():
    clf = MixedClassifier().fit(TABLE[["height", "width"]], LABELS)
    before = clf.log_likelihood(TABLE[["height", "width"]])
    other = TABLE[["height", "width"]].rename(columns={"height": "a", "width": "b"})
    for call in (
        lambda: clf.fit(other, np.where(LABELS == "x", None, LABELS)),
        lambda: clf.fit(TABLE.drop(columns="id").assign(width=np.inf), LABELS),
        lambda: clf.partial_fit(other, LABELS),
        lambda: clf.forget(TABLE[["height", "width"]][:50] * 20, LABELS[:50]),
        lambda: clf.forget(TABLE[["height", "width"]], ["w"] * 300),
    ):
        with pytest.raises((DataError, StatisticsError)):
            call()
        assert clf.schema_.names == ("height", "width")
        np.testing.assert_array_equal(clf.log_likelihood(TABLE[["height", "width"]]), before)


@pytest.mark.parametrize("table", [TABLE, HOLED], ids=["whole", "with holes"])
def test_saved_models_go_on_learning(tmp_path, table):
    clf = MixedClassifier(FAMILIES, 0.5, unknown="ignore", prior=[0.2, 0.3, 0.5]).fit(table[:200], LABELS[:200])
    clf.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.schema_.families == clf.schema_.families  # also those that a selector chose
    np.testing.assert_array_equal(loaded.log_likelihood(table), clf.log_likelihood(table))
    np.testing.assert_array_equal(loaded.predict_proba(table), clf.predict_proba(table))
    np.testing.assert_array_equal(loaded.explain(table, "x", "z"), clf.explain(table, "x", "z"))
    assert loaded.sample(5, random_state=0)[0].equals(clf.to_model().sample(5, random_state=0)[0])
    rest = MixedClassifier(FAMILIES, 0.5).fit(table[200:], LABELS[200:])
    same_model(load(tmp_path / "m") + rest, clf + rest, table)
    same_model(load(tmp_path / "m").partial_fit(table[200:], LABELS[200:]), clf + rest, table)
    fewer = clone(clf).fit(table[50:200], LABELS[50:200])
    same_model(load(tmp_path / "m").forget(table[:50], LABELS[:50]), fewer, table)
    same_model(clone(load(tmp_path / "m")).fit(table, LABELS), clone(clf).fit(table, LABELS), table)


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_every_structure_is_saved(tmp_path, covariance):
    clf = MixedClassifier(covariance=covariance, shrinkage=0.1).fit(X.dropna(), Y[X.notna().all(axis=1)])
    clf.save(tmp_path / "m")
    assert load(tmp_path / "m").get_params() == clf.get_params()
    np.testing.assert_array_equal(load(tmp_path / "m").log_likelihood(X), clf.log_likelihood(X))


# Awkward tables.


def test_columns_that_are_all_missing_in_all_classes_or_in_one():
    rng = np.random.default_rng(0)
    labels = np.array(list("ab"))[np.arange(60) % 2]
    table = pd.DataFrame(
        {
            "number": rng.normal(size=60),
            "town": rng.choice(["Bonn", "Rome"], 60),
            "truth": pd.array(rng.random(60) < 0.5, "boolean"),
            "count": pd.array(rng.poisson(3, 60), "Int64"),
        }
    )
    families = {"count": "poisson"}
    clf = MixedClassifier(families).fit(table, labels)
    for name in table:
        gone = table.copy()
        gone[name] = pd.Series([None] * 60, dtype=table[name].dtype)
        if name == "number":
            with pytest.warns(ColumnWarning, match="all values of column 'number' are missing: it is ignored"):
                model = MixedClassifier(families).fit(gone, labels)
        else:
            model = MixedClassifier(families).fit(gone, labels)
        rest = MixedClassifier({k: v for k, v in families.items() if k != name}).fit(table.drop(columns=name), labels)
        np.testing.assert_allclose(model.log_likelihood(gone), rest.log_likelihood(table.drop(columns=name)), rtol=1e-9)
        # A value there says nothing for one class against another.
        llr = model.llr(table.head(1)), rest.llr(table.head(1).drop(columns=name))
        np.testing.assert_allclose(llr[0], llr[1], atol=1e-9)
        gone[name] = table[name].where(labels == "a", None)
        model = MixedClassifier(families).fit(gone, labels)
        scores = model.log_likelihood(table)
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(scores[:, 0], clf.log_likelihood(table)[:, 0], atol=0.2)


def test_null_columns_of_arrow():
    table = pa.table({"nothing": pa.nulls(4), "x": ["p", "q", "p", "q"]})
    with pytest.warns(ColumnWarning, match="all values of column 'nothing' are missing: it is ignored"):
        clf = MixedClassifier().fit(table, list("abab"))
    np.testing.assert_allclose(
        clf.predict_proba(table),
        MixedClassifier().fit(table.select(["x"]), list("abab")).predict_proba(table.select(["x"])),
    )


def test_nothing_is_left_of_a_row_that_misses_everything():
    clf = MixedClassifier().fit(X, Y)
    empty = pd.DataFrame({name: pd.Series([None], dtype=X[name].dtype if name != "year" else float) for name in X})
    np.testing.assert_allclose(clf.log_likelihood(empty), np.zeros((1, 3)), atol=1e-12)
    np.testing.assert_allclose(clf.predict_proba(empty), [clf.prior_])
    filled = clf.impute(empty).iloc[0]
    assert filled["island"] == X["island"].mode()[0]
    assert filled["body_mass_g"] == pytest.approx(X["body_mass_g"].mean(), rel=1e-3)


def test_unseen_categories():
    strange = X[:2].assign(island=["Atlantis", "Dream"], sex=["male", "unknown"])
    smooth = MixedClassifier().fit(X, Y)
    cells = smooth.unknown_cells(strange)
    assert cells.shape == (2, 7)
    assert [(i, X.columns[j]) for i, j in np.argwhere(cells)] == [(0, "island"), (1, "sex")]
    assert not smooth.unknown_cells(X).any()
    ignore = MixedClassifier(unknown="ignore").fit(X, Y)
    hidden = strange.assign(island=[None, "Dream"], sex=["male", None])
    np.testing.assert_allclose(ignore.log_likelihood(strange), ignore.log_likelihood(hidden))
    with pytest.raises(DataError, match="column 'island' holds 'Atlantis'"):
        MixedClassifier(unknown="error").fit(X, Y).predict(strange)
    numbers = MixedClassifier().fit(TABLE[["height"]], LABELS)
    assert not numbers.unknown_cells(TABLE[["height"]]).any()


def test_what_is_impossible_is_decided_by_the_prior():
    clf = MixedClassifier({"year": "drop"}, alpha=0, unknown="smooth").fit(X, Y)
    nowhere = X[:1].assign(island="Atlantis")
    assert np.isneginf(clf.log_likelihood(nowhere)).all()
    with pytest.warns(ImpossibleWarning, match="1 row has"):
        assert clf.predict(nowhere, prior=[0.1, 0.2, 0.7]).tolist() == ["Gentoo"]
    with pytest.warns(ImpossibleWarning):
        np.testing.assert_allclose(clf.predict_proba(nowhere, prior=[0.1, 0.2, 0.7]), [[0.1, 0.2, 0.7]])
    np.testing.assert_array_equal(clf.llr(nowhere, "Adelie", "Gentoo"), [0])
    assert not np.isnan(clf.explain(X, "Adelie", "Gentoo")).any()
    assert not np.isnan(clf.log_likelihood(X)).any()


BAD = {
    "infinity": (lambda: MixedClassifier().fit(X.assign(body_mass_g=np.inf), Y), "column 'body_mass_g' holds infinity"),
    "negative counts": (
        lambda: MixedClassifier({"year": "poisson"}).fit(X.assign(year=-X["year"]), Y),
        "column 'year' holds negative",
    ),
    "text as numbers": (
        lambda: MixedClassifier({"sex": "gaussian"}).fit(X, Y),
        r"in the gaussian columns: .*'sex' \((str|object)\).*families=\{'sex': 'categorical'\}",
    ),
    "text in an array as numbers": (
        lambda: MixedClassifier("gaussian").fit(np.array([["a", 1], ["b", 2]], object), [0, 1]),
        r"in the gaussian columns: .*'x0' \(object\).*families=\{'x0': 'categorical'\}",
    ),
    "text that was a number": (
        lambda: MixedClassifier().fit(X, Y).predict(X.assign(body_mass_g="heavy")),
        r"'body_mass_g' must hold numbers, but none of its 344 cells is one \('heavy'\)",
    ),
    "a selector for an array": (
        lambda: MixedClassifier({make_column_selector(pattern="x"): "drop"}).fit(np.eye(3), [0, 1, 2]),
        "selector.*data frame, but X is not one",
    ),
    "a selector for an Arrow table": (
        lambda: MixedClassifier({make_column_selector(pattern="x"): "drop"}).fit(pa.Table.from_pandas(X), Y),
        "selector in families= cannot be applied to a Table: .*pandas",
    ),
    "a sparse matrix": (lambda: MixedClassifier().fit(sp.eye_array(3).tocsr(), [0, 1, 2]), "sparse matrix"),
    "no columns": (lambda: MixedClassifier().fit(X[[]], Y), "0 feature"),
    "only labels": (lambda: MixedClassifier().fit(PENGUINS[["species"]], "species"), "0 feature"),
    "a label column that is none": (lambda: MixedClassifier().fit(X, "species"), "no column 'species'"),
    "missing labels": (lambda: MixedClassifier().fit(X.dropna(subset="year"), X["sex"]), r"11 missing labels"),
    "everything dropped": (lambda: MixedClassifier("drop").fit(X, Y), "nothing to learn"),
    "a family": (lambda: MixedClassifier({"sex": "beta"}).fit(X, Y), "'beta' is not known"),
    "a column": (lambda: MixedClassifier({"gender": "drop"}).fit(X, Y), "'gender'"),
    "alpha": (lambda: MixedClassifier(alpha=-1).fit(X, Y), "not negative"),
    "unknown": (lambda: MixedClassifier(unknown="panic").fit(X, Y), "choose one of"),
    "covariance": (lambda: MixedClassifier(covariance="round").fit(X, Y), "choose one of"),
    "shrinkage": (lambda: MixedClassifier(shrinkage="oas").fit(X, Y), '"full" or "tied"'),
    "statistics": (
        lambda: MixedClassifier().fit_statistics(CategoricalClassifier().fit(X, Y).statistics_),
        "must be estimated from BundleStats",
    ),
    "infinity when scoring": (
        lambda: MixedClassifier().fit(X, Y).predict(X.assign(body_mass_g=np.inf)),
        "'body_mass_g' holds infinity",
    ),
    "columns in another order": (lambda: MixedClassifier().fit(X, Y).predict(X[X.columns[::-1]]), "same order"),
}


@pytest.mark.parametrize(("call", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_is_refused_in_clear_words(call, words):
    with pytest.raises(DataError, match=words):
        call()


def test_one_class_and_one_row_for_each():
    clf = MixedClassifier().fit(X, ["penguin"] * N)
    np.testing.assert_array_equal(clf.predict_proba(X), np.ones((N, 1)))
    with pytest.warns(SingularWarning):
        single = MixedClassifier().fit(TABLE[:5][["height", "town"]], list("abcde"))
    assert single.predict(TABLE[:5][["height", "town"]]).tolist() == list("abcde")


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(base, "PIECE", 300)
    families = FAMILIES | {"height": "drop", "width": "drop"}
    one = MixedClassifier(families, n_jobs=1).fit(HOLED, LABELS)
    four = MixedClassifier(families, n_jobs=4).fit(HOLED, LABELS)
    for name, array in one.statistics_.to_arrays().items():
        np.testing.assert_array_equal(four.statistics_.to_arrays()[name], array)
    np.testing.assert_array_equal(one.log_likelihood(HOLED), four.log_likelihood(HOLED))


def test_representations():
    clf = MixedClassifier(alpha=0.5).fit(X, Y)
    assert repr(clf) == "MixedClassifier(alpha=0.5)"
    assert "gaussian: MomentStats" in repr(clf.statistics_)
    assert "categorical: CategoricalDensity(3 classes, 3 features, 8 categories)" in repr(clf.density_)
    assert "MixedClassifier" in clf._repr_html_()
    assert clf.schema_._repr_html_().startswith("<table>")


def test_scored_by_the_names_of_columns(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 9.0], "y": list("aabb"), "w": [1.0, 1.0, 1.0, 2.0]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    clf = MixedClassifier().fit(frame, "y", sample_weight="w")
    clf.set_params(prior={"a": 1.0, "b": 0.0})  # so that every b is decided wrongly
    for X in (frame, tmp_path / "rows.csv"):
        assert clf.score(X, "y", "w") == pytest.approx(2 / 5)
    assert clf.score(frame.drop(columns="w"), "y") == 0.5


# Features: families of bins and transforms.


def amounts(n=400, seed=0):
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "price": rng.lognormal(code, 1),
            "spent": np.where(rng.random(n) < 0.3 + 0.4 * code, 0, rng.gamma(2, 1 + code)),
            "change": rng.normal(code, 1) ** 3,
            "kind": rng.choice(list("xyz"), n),
            "size": rng.normal(code),
        }
    )
    frame.loc[::9, "price"] = np.nan
    return frame, np.array(["no", "yes"])[code]


AMOUNTS, BOUGHT = amounts()
DERIVED_FAMILIES = {"price": "binned", "spent": "zero_inflated", "change": "yeo_johnson", "size": "log"}


def derived_model(table=AMOUNTS, labels=BOUGHT, families=None):
    return MixedClassifier(families or DERIVED_FAMILIES).fit(table, labels)


def test_features_are_learnt_and_explained():
    clf = derived_model()
    assert clf.schema_.families == ("binned", "zero_inflated", "yeo_johnson", "categorical", "log")
    assert clf.score(AMOUNTS, BOUGHT) > MixedClassifier().fit(AMOUNTS, BOUGHT).score(AMOUNTS, BOUGHT)
    shares = clf.explain(AMOUNTS)
    assert shares.shape == AMOUNTS.shape
    np.testing.assert_allclose(shares.sum(axis=1), clf.llr(AMOUNTS), atol=1e-9)
    assert (shares[AMOUNTS["price"].isna(), 0] == 0).all()
    assert clf.parameters_["gaussian"]["columns"] == ["spent not zero", "change", "size"]
    np.testing.assert_allclose(clf.leave_one_out(AMOUNTS, BOUGHT)[:3], _without_each(clf, 3), rtol=1e-6)


def _without_each(clf, n):
    """Scores of the first rows by models of all other rows."""
    models = [derived_model(AMOUNTS.drop(i), np.delete(BOUGHT, i), clf.schema_) for i in range(n)]
    return [model.log_likelihood(AMOUNTS[i : i + 1])[0] for i, model in enumerate(models)]


def test_features_do_not_depend_on_units_or_on_the_order_of_rows():
    clf = derived_model()
    thousands = AMOUNTS.assign(**{name: 1000 * AMOUNTS[name] for name in DERIVED_FAMILIES})
    np.testing.assert_allclose(
        derived_model(thousands).predict_proba(thousands), clf.predict_proba(AMOUNTS), rtol=1e-6, atol=1e-9
    )
    order = np.random.default_rng(0).permutation(len(AMOUNTS))
    other = derived_model(AMOUNTS.iloc[order], BOUGHT[order])
    assert other.schema_.features == clf.schema_.features
    np.testing.assert_allclose(other.predict_proba(AMOUNTS), clf.predict_proba(AMOUNTS), rtol=1e-9)


def test_a_schema_gives_other_models_the_same_features():
    whole = derived_model()
    parts = [derived_model(AMOUNTS[r::2], BOUGHT[r::2], whole.schema_) for r in range(2)]
    same_model(parts[0] + parts[1], whole, AMOUNTS)
    same_model(clone(parts[0]).fit(AMOUNTS[0::2], BOUGHT[0::2]), parts[0], AMOUNTS)
    same_model(parts[0].partial_fit(AMOUNTS[1::2], BOUGHT[1::2]), whole, AMOUNTS)
    same_model(parts[0].forget(AMOUNTS[0::2], BOUGHT[0::2]), parts[1], AMOUNTS)
    turned = AMOUNTS[AMOUNTS.columns[::-1]]
    np.testing.assert_allclose(
        derived_model(turned, BOUGHT, whole.schema_).predict_proba(turned), whole.predict_proba(AMOUNTS), rtol=1e-9
    )
    with pytest.raises(StatisticsError, match=r"column 'price', .* other bins.* families=first.schema_"):
        derived_model(AMOUNTS[:200], BOUGHT[:200]) + derived_model(AMOUNTS[200:], BOUGHT[200:])
    with pytest.raises(StatisticsError, match=r"'price' has different families \(binned and gaussian\)"):
        whole + derived_model(families=DERIVED_FAMILIES | {"price": "gaussian"})


def test_features_are_saved(tmp_path):
    clf, path = derived_model(), tmp_path / "model.safetensors"
    clf.save(path)
    for loaded in (suffice.load(path), suffice.load_model(path)):
        np.testing.assert_array_equal(loaded.predict_proba(AMOUNTS), clf.predict_proba(AMOUNTS))
    again = suffice.load(path)
    assert again.schema_.families == clf.schema_.families
    assert again.schema_.features == clf.schema_.features
    same_model(
        again.partial_fit(AMOUNTS, BOUGHT), clone(clf).fit(AMOUNTS, BOUGHT).partial_fit(AMOUNTS, BOUGHT), AMOUNTS
    )
    clf.to_model().save(path)
    np.testing.assert_allclose(suffice.load_model(path).predict_proba(AMOUNTS), clf.predict_proba(AMOUNTS), rtol=1e-12)
    clf.set_params(families=clf.schema_).save(path)
    assert suffice.load(path).families == dict(zip(AMOUNTS.columns, clf.schema_.families, strict=True))
    assert [family for _, family in describe(path).columns] == list(clf.schema_.families)


def test_features_are_drawn_and_filled_in_as_values_of_their_columns():
    clf = derived_model(families=DERIVED_FAMILIES | {"size": "gaussian"})
    rows, labels = clf.sample(4000, random_state=0)
    for label in ("no", "yes"):
        for name in ("price", "spent"):
            one, two = rows.loc[labels == label, name], AMOUNTS.loc[label == BOUGHT, name].dropna()
            assert kstest(one, two).statistic < 0.15, (name, label)
    assert np.mean(clf.predict(rows) == labels) == pytest.approx(clf.score(AMOUNTS, BOUGHT), abs=0.05)
    holes = AMOUNTS.mask(np.random.default_rng(0).random(AMOUNTS.shape) < 0.2)
    for filled in (clf.impute(holes), clf.impute(holes, draws=True, random_state=0)):
        assert not filled.isna().any().any()
        pd.testing.assert_frame_equal(filled.where(holes.notna()), holes)
        assert (filled["price"] > 0).all()


@pytest.mark.parametrize(
    "build", [pa.Table.from_pandas, pl.from_pandas, pd.DataFrame.convert_dtypes, lambda frame: frame.astype(object)]
)
def test_features_of_tables_of_every_library(build):
    table = build(AMOUNTS)
    clf = derived_model(table)
    assert clf.schema_.features == derived_model().schema_.features
    np.testing.assert_allclose(clf.predict_proba(table), derived_model().predict_proba(AMOUNTS), rtol=1e-9)


def test_features_of_files(tmp_path):
    AMOUNTS.assign(bought=BOUGHT).to_parquet(tmp_path / "amounts.parquet")
    AMOUNTS.assign(bought=BOUGHT).to_csv(tmp_path / "amounts.csv", index=False)
    for path in (tmp_path / "amounts.parquet", tmp_path / "amounts.csv"):
        clf = derived_model(path, "bought")
        np.testing.assert_allclose(clf.predict_proba(AMOUNTS), derived_model().predict_proba(AMOUNTS), rtol=1e-9)


def test_text_has_no_bins():
    with pytest.raises(DataError, match=r"column 'kind' cannot be 'binned'"):
        derived_model(families={"kind": "binned"})


def test_mixtures_of_text_are_refused():
    table = pd.DataFrame({"note": [f"word {i} and {i % 3}" for i in range(40)], "x": np.arange(40.0)})
    with pytest.raises(DataError, match=r"of text \('note'\) are not supported; .* families=\{'note': 'drop'\}"):
        MixtureModel(2, families={"note": "text"}, random_state=0).fit(table)


@pytest.mark.parametrize("make", [MixtureClassifier, MixtureModel])
def test_mixtures_have_features_too(make, tmp_path):
    clf = make(2, families=DERIVED_FAMILIES, random_state=0)
    clf = clf.fit(AMOUNTS, BOUGHT) if make is MixtureClassifier else clf.fit(AMOUNTS)
    clf.save(tmp_path / "mixture.safetensors")
    loaded = suffice.load(tmp_path / "mixture.safetensors")
    np.testing.assert_allclose(loaded.predict_proba(AMOUNTS), clf.predict_proba(AMOUNTS), rtol=1e-9)
    assert loaded.schema_.families == clf.schema_.families


# Tables as they come.


def messy(n=400, seed=0):
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "id": rng.permutation(n) + 1,
            "amount": [f"${x:,.2f}" for x in rng.lognormal(8 + code, 1)],
            "smokes": np.where(rng.random(n) < 0.3 + 0.4 * code, "Yes", "No"),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 20000, n) + 4000 * code, unit="h"),
            "took": pd.to_timedelta(rng.exponential(100, n).round(3) * (1 + code), unit="s"),
            "same": 1,
        }
    )
    return frame, np.array(["no", "yes"])[code]


MESSY, FATE = messy()
LEFT_OUT = "column 'id' is left out: it numbers the rows"


def messy_model(table=MESSY, labels=FATE):
    with pytest.warns(ColumnWarning, match=LEFT_OUT):
        return MixedClassifier().fit(table, labels)


def test_tables_as_they_come_are_learnt_saved_and_explained(tmp_path):
    clf = messy_model()
    assert clf.schema_.families == ("drop", "gaussian", "bernoulli", "date", "gaussian", "categorical")
    assert clf.score(MESSY, FATE) > 0.7
    shares = clf.explain(MESSY)
    np.testing.assert_allclose(shares.sum(axis=1), clf.llr(MESSY), atol=1e-9)
    assert (shares[:, [0, 5]] == 0).all()
    assert (shares[:, 1:5] != 0).any(axis=0).all()
    clf.save(tmp_path / "model.safetensors")
    for loaded in (suffice.load(tmp_path / "model.safetensors"), suffice.load_model(tmp_path / "model.safetensors")):
        np.testing.assert_array_equal(loaded.predict_proba(MESSY), clf.predict_proba(MESSY))
    assert suffice.load(tmp_path / "model.safetensors").schema_.families == clf.schema_.families
    # Numbers, Booleans and dates mean the same as the text of them.
    plain = MESSY.assign(
        amount=MESSY["amount"].str.strip("$").str.replace(",", "").astype(float),
        smokes=MESSY["smokes"] == "Yes",
        when=MESSY["when"].dt.strftime("%Y-%m-%d %H:%M:%S"),
    )
    np.testing.assert_allclose(clf.predict_proba(plain), clf.predict_proba(MESSY), rtol=1e-9)


def test_what_is_read_as_numbers_is_drawn_and_filled_in_as_it_was():
    clf = messy_model()
    drawn, _ = clf.sample(200, random_state=0)
    assert set(drawn["smokes"]) == {"Yes", "No"}
    assert drawn["when"].dtype.kind == "M"
    assert drawn["took"].dtype.kind == "m"
    holes = MESSY.astype(object).mask(np.random.default_rng(0).random(MESSY.shape) < 0.2)
    holes = holes.astype({"when": MESSY["when"].dtype, "took": MESSY["took"].dtype, "smokes": "str", "amount": "str"})
    filled = clf.impute(holes)
    kept = ["amount", "smokes", "when", "took"]
    assert not filled[kept].isna().any().any()
    assert set(filled["smokes"]) == {"Yes", "No"}
    pd.testing.assert_frame_equal(filled[kept].where(holes[kept].notna()), holes[kept])
    assert filled.dtypes["when"].kind == "M"


@pytest.mark.parametrize("write", ["parquet", "csv"])
def test_files_of_tables_as_they_come(write, tmp_path):
    path = tmp_path / f"table.{write}"
    table = MESSY.assign(fate=FATE, took=MESSY["took"].dt.total_seconds())
    table.to_parquet(path) if write == "parquet" else table.to_csv(path, index=False)
    clf, expected = messy_model(path, "fate"), messy_model(table.drop(columns="fate"))
    np.testing.assert_allclose(clf.predict_proba(path), expected.predict_proba(table), rtol=1e-6)


def sorted_rows(n=30_000):
    """Rows sorted by month, with values late in the table that no early row has."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "month": np.arange(n) * 12 // n,
            "half": np.arange(n) * 2 // n,
            "count": rng.poisson(9 + code),
            "answer": rng.choice(["yes", "no"], n),
            "x": rng.normal(code),
        }
    )
    frame.loc[n - 2, "half"], frame.loc[n - 5, "count"], frame.loc[n - 4, "answer"] = 7, -1, "perhaps"
    return frame.assign(y=code)


@pytest.mark.parametrize("write", ["parquet", "csv"])
def test_values_outside_an_inferred_family_demote_the_column(write, tmp_path):
    table, path = sorted_rows(), tmp_path / f"rows.{write}"
    table.to_parquet(path, row_group_size=2000) if write == "parquet" else table.to_csv(path, index=False)
    with pytest.warns(ColumnWarning) as warned:
        clf = MixedClassifier().fit(path, "y")
    said = " ".join(str(each.message) for each in warned)
    for column, general in (("half", "categorical"), ("count", "gaussian"), ("answer", "categorical")):
        assert re.search(f"column '{column}' looks .* it is {general} now; the rows are read again", said)
    expected = MixedClassifier().fit(table, "y")
    assert clf.schema_.families == expected.schema_.families
    assert expected.schema_.families == ("categorical", "categorical", "gaussian", "categorical", "gaussian")
    np.testing.assert_allclose(clf.predict_proba(table), expected.predict_proba(table), rtol=1e-9)
    for column, family in (("half", "bernoulli"), ("count", "poisson")):
        asked = MixedClassifier(dict.fromkeys(table.columns[:-1], "drop") | {column: family})
        with pytest.raises(DataError, match=f"column '{column}' holds"):
            asked.fit(path, "y")


def test_a_stream_leaves_no_column_out():
    rows = pd.DataFrame({"id": np.arange(100), "month": 1, "x": np.linspace(0, 1, 100)})
    clf = MixedClassifier().partial_fit(rows, np.arange(100) % 2)
    assert clf.schema_.families == ("gaussian", "categorical", "gaussian")
    clf.partial_fit(rows.assign(month=2), np.arange(100) % 2)


def test_divisors_and_declared_categories_are_those_of_the_blocks(tmp_path):
    """The Gaussian columns as GaussianClassifier(ddof=1) has them, the others as CategoricalClassifier(categories=)."""
    table = pd.DataFrame({"kg": [3.0, 4.0, 6.0, 5.0, 9.0], "fur": list("abaab"), "cm": [1.0, 3.0, 2.0, 5.0, 6.0]})
    y, furs = np.array([0, 0, 0, 1, 1]), {"fur": ["c", "a"]}
    expected = GaussianClassifier("diag", ddof=1).fit(table[["kg", "cm"]], y).log_likelihood(table[["kg", "cm"]])
    expected = expected + CategoricalClassifier(categories=furs).fit(table[["fur"]], y).log_likelihood(table[["fur"]])
    for categories in (furs, [None, ["c", "a"], None]):
        clf = MixedClassifier(ddof=1, categories=categories).fit(table, y)
        np.testing.assert_allclose(clf.log_likelihood(table), expected)
        clf.save(tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").log_likelihood(table), clf.log_likelihood(table))
    np.testing.assert_allclose(
        clf.leave_one_out(table, y)[2],
        clone(clf).fit(table.drop(2), np.delete(y, 2)).log_likelihood(table.iloc[[2]])[0],
    )
    for X, message in [(table, "'kg', which is no column of categories"), (table[["kg"]], "there are none")]:
        with pytest.raises(DataError, match=message):
            MixedClassifier(categories={"kg": [3]}).fit(X, y).predict(X)
