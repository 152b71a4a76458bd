"""What a database makes of a model is what the model says."""

import itertools
import sys
import warnings

import mpmath
import numpy as np
import pandas as pd
import pytest
import sqlglot
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sqlalchemy import table

import suffice
from suffice import (
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MixtureClassifier,
    Model,
    MultinomialClassifier,
    PoissonClassifier,
    load,
)
from suffice.densities import (
    ExponentialDensity,
    GammaDensity,
    GeometricDensity,
    InverseGaussianDensity,
    LogNormalDensity,
    NegativeBinomialDensity,
    SparseCountDensity,
)
from suffice.errors import DataError, ImpossibleWarning, for_commands
from suffice.export.counts import log_gamma
from suffice.export.dialects import Cell, dialect_of
from suffice.export.scores import scores
from suffice.export.steps import Steps
from suffice.regression import LogisticModel
from suffice.tables.features import DERIVED

NAMES = ['we"ird', "sp ace", "select", "größe`s", "50%s :x \\'; --"]
STRUCTURES = ("full", "diag", "tied", "tied_diag", "spherical", "tied_spherical")
N = 30
HERE, ELSEWHERE = ("sqlite", "duckdb", "postgresql"), ("mysql", "snowflake", "bigquery", "spark")
OTHERS = itertools.cycle(["postgresql", "mysql", "duckdb", "snowflake", "postgresql", "bigquery", "spark"])
UNEVEN = [0.31, 0.33, 0.36]  # a prior without ties, which rounding would decide


def data(kind, k=3):
    """Rows of one kind of columns, with awkward names, and their labels."""
    rng = np.random.default_rng(7)
    code = np.arange(N) % k
    if kind in ("numbers", "units"):
        X = rng.normal(size=(N, 4)) @ rng.normal(size=(4, 4)) + 1.5 * rng.normal(size=(k, 4))[code]
        X = X if kind == "units" else X * [1.0, 1e6, 1e-3, 1.0] + [0.0, 0.0, 0.0, 1e4]
    elif kind == "counts":
        X = rng.poisson(4 * np.exp(rng.normal(size=(k, 5)))[code]) * (rng.random((N, 5)) > 0.2)
        X[0] = [30, 0, 100, 3, 0]
    elif kind == "truths":
        X = rng.random((N, 4)) < rng.random((k, 4))[code]
    elif kind == "amounts":
        X = rng.gamma(2.0, 3.0, (N, 4)) * np.exp(rng.normal(size=(k, 4)))[code] * [1.0, 1e6, 1e-3, 1.0]
    frame = pd.DataFrame(X, columns=NAMES[: X.shape[1]])
    return frame, np.array(["ham", "it's", "spam"])[code]


def mixed(missing=True):
    """Every family of columns at once."""
    rng = np.random.default_rng(8)
    numbers, y = data("numbers")
    frame = numbers.set_axis(NAMES[:4], axis=1)
    frame["colour"] = np.array(["red", "Red", "o'neil\\n", "ünï"], object)[rng.integers(0, 4, N)]
    frame["size"] = rng.integers(0, 5, N)
    frame["flag"] = pd.array(rng.random(N) < 0.5, "boolean")
    frame["visits"] = rng.poisson(np.where(y == "ham", 3.0, 9.0)) * 1.0
    frame["word 1"], frame["word 2"] = rng.poisson(5.0, N) * 1.0, rng.poisson(np.where(y == "spam", 2.0, 8.0)) * 1.0
    if missing:
        for name in frame:
            frame[name] = frame[name].astype(object)
            frame.loc[rng.random(N) < 0.3, name] = None
    return frame, y


FAMILIES = {"size": "categorical", "flag": "bernoulli", "visits": "poisson", "word 1": "multinomial"} | {
    "word 2": "multinomial"
}


def on_engines(names, cases):
    """Cases on SQLite, which has the fewest functions; the other engines share them."""
    rows = [(engine, *case) for case in cases for engine in ("sqlite", next(OTHERS))]
    rows.sort(key=lambda row: row[0])
    return pytest.mark.parametrize(("engine", *names), rows, indirect=["engine"], ids=str)


def agree(found, clf, X, prior=None, cost=None):
    """Whether results in a database are those of the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpossibleWarning)
        posterior, decided = clf.predict_proba(X, prior), clf.predict(X, prior, cost)
    first, *others = clf.classes_
    close = {"rtol": 1e-9, "atol": 1e-9}
    names = [name for name in found if name.startswith("posterior_")]
    np.testing.assert_allclose(found[names].to_numpy(float), posterior, **close)
    names = [name for name in found if name.startswith("llr")]
    ratios = np.stack([clf.llr(X, first, other) for other in others], axis=1)
    np.testing.assert_allclose(found[names].to_numpy(float), ratios, **close)
    names = [name for name in found if name.startswith("log_likelihood_")]
    if isinstance(clf, LogisticClassifier):
        assert not names
    else:
        np.testing.assert_allclose(found[names].to_numpy(float), clf.log_likelihood(X), **close)
    assert found["decision"].tolist() == decided.tolist()


MODELS = [
    *(("numbers", GaussianClassifier(structure)) for structure in STRUCTURES),
    *(("numbers", GaussianClassifier(structure, predictive=True)) for structure in STRUCTURES),
    ("units", LogisticClassifier()),
    ("units", LogisticClassifier(expansion="quadratic")),
    ("counts", PoissonClassifier()),
    ("counts", PoissonClassifier(predictive=True)),
    ("counts", PoissonClassifier([0.1, 0.5, 1, 2, 3])),
    ("counts", PoissonClassifier([0.1, 0.5, 1, 2, 3], predictive=True)),
    ("counts", MultinomialClassifier()),
    ("counts", MultinomialClassifier(predictive=True)),
    ("counts", MultinomialClassifier(complement=True)),
    ("counts", BernoulliClassifier()),
    ("truths", BernoulliClassifier()),
    ("counts", CategoricalClassifier()),
    ("truths", CategoricalClassifier()),
    ("counts", CategoricalClassifier(structure="tree")),
    ("truths", CategoricalClassifier(structure="tree", alpha=0)),
    ("truths", CategoricalClassifier(joint=[("select", 0)])),
    *(("amounts", MixedClassifier(family)) for family in ("exponential", "gamma", "lognormal", "inverse_gaussian")),
    *(("counts", MixedClassifier(family)) for family in ("geometric", "negative_binomial")),
    *((kind, MixedClassifier(family)) for family in DERIVED if family != "date" for kind in ("amounts", "units")),
    *(
        ("units", MixtureClassifier(2, structure, random_state=0, pseudo_rows=1))
        for structure in ("full", "diag", "tied")
    ),
    ("counts", MixtureClassifier({"ham": 3, "it's": 1, "spam": 2}, families="poisson", random_state=0, pseudo_rows=1)),
]


DROPPING = [("diag", False), ("tied_diag", False), ("spherical", False), ("diag", True)]


@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")  # pieces of curves without rows of a class
@on_engines(("kind", "clf"), MODELS)
def test_every_model_scores_as_it_does_here(engine, kind, clf):
    """Also rows with missing cells, where these drop out."""
    X, y = data(kind)
    clf.fit(X[::2], y[::2])
    if kind == "counts" or (kind == "numbers" and (clf.covariance, clf.predictive) in DROPPING):
        gaps = X.astype(float).astype(object).mask(np.random.default_rng(1).random(X.shape) < 0.4, None)
        gaps.iloc[0] = None
        X = pd.concat([X.astype(object), gaps], ignore_index=True)
    agree(engine.score(clf, X, prior=UNEVEN), clf, X, UNEVEN)


# Two classes and two columns of every family, as wide and as narrow as they get.
INDEPENDENT = [
    ExponentialDensity.from_parameters([[1e-5, 2], [3e4, 0.5]]),
    GammaDensity.from_parameters([[0.1, 1e9], [3, 40]], [[1, 1e-9], [2, 0.02]]),
    LogNormalDensity.from_parameters([[0, 1], [300, -300]], [[1, 3e-5], [2, 5]]),
    InverseGaussianDensity.from_parameters([[1, 1], [5, 1e3]], [[1, 1e9], [2, 1e-3]]),
    GeometricDensity.from_parameters([[0.5, 1], [1e-6, 0.99]]),
    NegativeBinomialDensity.from_parameters([[3, 1e5], [1e-9, 40]], [[2.5, np.inf], [1e7, 0.01]]),
    NegativeBinomialDensity.from_parameters([[0, 1e5], [1e6, 2]], [[2.5, 25], [1e3, 19.99]]),
    GammaDensity.from_parameters([[1, 2], [np.nan, np.nan]], [[1, 2], [np.nan, np.nan]]),
]


@on_engines(("density",), [(density,) for density in INDEPENDENT])
def test_amounts_and_counts_score_wherever_they_lie(engine, density):
    """Also where cells are missing, infinite or outside the support."""
    drawn = density.of_classes([0]).sample(np.zeros(30, int), np.random.default_rng(3)).astype(float)
    awkward = [[0, 1], [1, 0], [0.5, 2], [np.nan, 1], [-1, np.nan], [np.inf, 1], [1, -np.inf], [1e6, 30]]
    # In reach: farther out an inverse Gaussian is cut off.
    awkward.append([1e-90 if isinstance(density, InverseGaussianDensity) else 1e-290, 1])
    X = np.vstack([drawn, drawn[:, ::-1], awkward])
    clf = Model(density, ["a", "b"], [0.4, 0.6], names=NAMES[:2])
    found = engine.score(clf, pd.DataFrame(X, columns=NAMES[:2]), outputs="log_likelihood")
    names = ["log_likelihood_a", "log_likelihood_b"]
    np.testing.assert_allclose(found[names].to_numpy(float), density.log_likelihood(X), rtol=1e-10, atol=1e-10)


@on_engines(
    ("prior", "cost"),
    [
        ("uniform", None),
        ({"ham": 0.9, "it's": 0.1, "spam": 0}, None),
        (None, [[0, 1, 5], [1, 0, 1], [2, 1, 0]]),
        ([0.2, 0.3, 0.5], {"ham": [0, 1, 1], "ask": [0.3, 0.3, 0.3], "keep": [-1, 2, 2], "spam": [3, 1, 0]}),
    ],
)
def test_prior_and_cost_are_those_of_the_application(engine, prior, cost):
    X, y = data("numbers")
    clf = GaussianClassifier("tied", prior="uniform").fit(X, y)
    agree(engine.score(clf, X, prior=prior, cost=cost), clf, X, prior, cost)


@on_engines(["covariance"], [(structure,) for structure in STRUCTURES])
def test_whole_tables_with_missing_cells_are_scored_by_what_they_have(engine, covariance):
    X, y = mixed(missing=False)
    clf = MixedClassifier(FAMILIES, covariance=covariance).fit(X, y)
    X, _ = mixed()
    X.loc[0] = None  # nothing at all
    agree(engine.score(clf, X), clf, X)


@pytest.mark.filterwarnings("ignore:column 'paid' must hold Booleans")
@on_engines(["clf"], [(MixedClassifier(),), (LogisticClassifier(families="auto"),)])
def test_words_that_mean_yes_and_no_are_read(engine, clf):
    X, y = data("numbers")
    X["paid"] = np.where(np.random.default_rng(0).random(N) < np.where(y == "ham", 0.2, 0.7), "Yes", "no")
    clf.fit(X, y)
    X["paid"] = np.resize(["yes", " NO ", "true", "0", "perhaps", None], N).astype(object)
    agree(engine.score(clf, X), clf, X)


@on_engines(["families", "expansion"], [(None, "linear"), (FAMILIES, "linear"), ("auto", "quadratic")])
def test_logistic_models_of_whole_tables(engine, families, expansion):
    """Also where nothing was missing in training, and with products."""
    (X, y), (complete, labels) = mixed(), mixed(missing=False)
    extra = {} if families is None else {"families": families}
    for clf in (
        LogisticClassifier(expansion=expansion, **extra).fit(X, y),
        LogisticClassifier(expansion=expansion, **extra).fit(complete, labels),
    ):
        agree(engine.score(clf, X), clf, X)


@on_engines(["unknown"], [("smooth",), ("ignore",)])
def test_trees_of_categories_with_missing_and_unknown_cells(engine, unknown):
    X, y = mixed(missing=False)
    X["shape"] = np.where(np.arange(N) % 5 < 3, X["colour"], "round")
    clf = MixedClassifier(FAMILIES | {"flag": "categorical"}, structure="tree", unknown=unknown)
    clf.fit(X[X["colour"] != "Red"], y[X["colour"] != "Red"])
    assert len(clf.edges_) == 3
    X[["shape", "size", "flag"]] = (
        X[["shape", "size", "flag"]].astype(object).mask(np.random.default_rng(3).random((N, 3)) < 0.4, None)
    )
    agree(engine.score(clf, X), clf, X)


@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
@pytest.mark.parametrize("alpha", [0, 1])
def test_categories_are_matched_letter_by_letter_and_may_be_unseen(engine, unknown, alpha):
    words = ["a", "A", "a ", "", "it's", 'say "x"', "back\\slash", "line\nbreak", "50% :x", "né", "'; DROP TABLE t; --"]
    X = pd.DataFrame({"w": words * 4, "n": [0, 1, 2, -7] * 11, "f": [0.5, 1.5, 2.0, 1e-3] * 11})
    X["t"] = X["n"] > 0
    y = np.array([1, 2, 1, 1, 2, 2, 1, 2, 1, 1, 2] * 4)
    clf = CategoricalClassifier(alpha=alpha, unknown=unknown).fit(X[:-11], y[:-11])
    new = X.astype(object).iloc[:14].copy()
    new.iloc[0], new.iloc[1] = ["never", 99, 99.5, None], [None, None, None, True]
    agree(engine.score(clf, new.astype({"n": "Int64", "f": float, "t": "boolean"})), clf, new)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_column_that_takes_letters_for_each_other_does_so_no_longer(engine):
    clf = CategoricalClassifier(alpha=0).fit(pd.DataFrame({"w": ["a", "A"]}), [0, 1])
    cursor = engine.connection.cursor()
    cursor.execute('CREATE TABLE blurred ("row id" INTEGER, w TEXT COLLATE NOCASE)')
    cursor.execute("INSERT INTO blurred VALUES (0, 'A'), (1, 'a')")
    assert engine.run(clf.to_sql("blurred", "sqlite", keep="row id"))["decision"].tolist() == [1, 0]


def test_what_is_impossible_is_infinitely_far(engine):
    X = pd.DataFrame({"a": list("xxyyzz"), "b": list("ppqqqq")})
    clf = CategoricalClassifier(alpha=0).fit(X, ["1st", "1st", "2nd", "2nd", "3rd", "3rd"])
    rows = pd.DataFrame({"a": ["x", "y", "x", "z", "never"], "b": ["p", "q", "q", None, "p"]})
    costs = [[0, 1, 1], [9, 0, 1], [1, 1, 0]]
    for prior, cost in ((None, None), ([0.1, 0.7, 0.2], None), ([0.1, 0.7, 0.2], costs), ([0.5, 0.5, 0.0], costs)):
        agree(engine.score(clf, rows, prior=prior, cost=cost), clf, rows, prior, cost)
    counts = pd.DataFrame({"n": [0, 3, 0], "m": [2, 2, 1]})
    for model in (PoissonClassifier(alpha=0), MultinomialClassifier(alpha=0), BernoulliClassifier(alpha=0)):
        model.fit(counts, [0, 1, 0])
        agree(engine.score(model, counts), model, counts)


RESULTS = ["decision", "posterior_0", "posterior_1", "llr", "log_likelihood_0", "log_likelihood_1"]


@on_engines(
    ("clf", "cell"),
    [
        (GaussianClassifier(), float("inf")),
        (GaussianClassifier("tied", predictive=True), float("inf")),
        (GaussianClassifier("tied_diag"), float("-inf")),
        (PoissonClassifier(), -1.0),
        (MultinomialClassifier(), float("inf")),
        (BernoulliClassifier(), float("-inf")),
        (CategoricalClassifier(unknown="error"), 7.0),
        (MixedClassifier({float: "gaussian"}), float("inf")),
        (MixedClassifier({float: "gaussian"}, covariance="full"), float("-inf")),
    ],
)
def test_a_row_that_predict_refuses_has_no_results(engine, clf, cell):
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0, 5.0, 3.0, 1.0], "b": [0.0, 3.0, 1.0, 2.0, 2.0, 0.0]})
    clf.fit(X, [0, 0, 0, 1, 1, 1])
    rows = pd.DataFrame({"a": [1.0, cell], "b": [2.0, 3.0]})
    with pytest.raises(DataError):
        clf.predict(rows)
    found = engine.score(clf, rows)
    assert found.loc[0, RESULTS].notna().all()
    assert found.loc[1, RESULTS].isna().all()
    free = engine.score(clf, rows, cost={"pay": [1, 1], "free": [0, 0]}, outputs="decision")
    assert free["decision"].tolist() == ["free", None]


def with_infinity(n=N):
    """Numbers with infinite and missing cells, and a column that shows the class."""
    rng = np.random.default_rng(4)
    y = np.array(["ham", "it's"])[np.arange(n) % 2]
    X = pd.DataFrame({name: rng.lognormal(0.5 * (y == "ham"), 1, n) for name in ("plain", "binned", "log", "whole")})
    X["whole"] = np.floor(X["whole"])
    for name, cell in zip(X, (np.inf, -np.inf, np.inf, np.inf), strict=True):
        X.loc[rng.random(n) < 0.1, name] = cell
        X.loc[rng.random(n) < 0.1, name] = np.nan
    return X, y


@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@pytest.mark.parametrize("families", ["auto", {"binned": "binned", "log": "log", "whole": "categorical"}], ids=str)
@pytest.mark.parametrize("generative", [False, True])
def test_infinity_is_missing_to_models_that_take_it_so(engine, families, generative):
    X, y = with_infinity()
    clf = suffice.fit(X, y, families=families, generative=generative)
    agree(engine.score(clf, X), clf, X)


def test_nan_is_missing_where_a_database_has_it(engine):
    X, y = data("numbers")
    clf = MixedClassifier({float: "gaussian"}).fit(X, y)
    X = X.mask(np.random.default_rng(2).random(X.shape) < 0.3)
    agree(engine.score(clf, X), clf, X)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize("clf", [GaussianClassifier(), GaussianClassifier("tied"), GaussianClassifier(predictive=True)])
def test_a_full_covariance_gives_no_results_where_numbers_are_missing(engine, clf):
    X, y = data("numbers")
    clf.fit(X, y)
    X = X[:4].copy()
    X.iloc[0, 1] = None
    found = engine.score(clf, X)
    assert found.loc[0].drop("row id").isna().all()
    agree(found[1:], clf, X[1:])


def test_numbers_as_large_or_small_as_they_come_stop_nothing(engine):
    """PostgreSQL ends a query at the first number that overflows or underflows."""
    X = pd.DataFrame({"a": [-1.0, 1.0, 0.0, 2.0, 4.0, 6.0], "b": [0.0, 1.0, 2.0, 9.0, 5.0, 7.0]})
    y = [0, 0, 0, 1, 1, 1]
    rows = pd.DataFrame({"a": [1e308, 1e-308, -1e200, 1e-200], "b": [1.0, 1e-300, 1e300, 0.0]})
    for clf in (GaussianClassifier(), GaussianClassifier("tied"), GaussianClassifier("diag", predictive=True)):
        found = engine.score(clf.fit(X, y), rows)
        assert found.notna().all(axis=None)
        assert found["posterior_0"].astype(float).between(0, 1).all()
        assert found["decision"].tolist()[1::2] == [0, 0]
    for clf in (MultinomialClassifier(predictive=True), LogisticClassifier(expansion="quadratic")):
        assert engine.score(clf.fit(X.abs(), y), rows.abs()).notna().all(axis=None)


@on_engines(
    ["classes"],
    [
        (["yes", "No'"],),
        ([3, -1],),
        ([True, False],),
        ([2.0, 7.0],),
        (["a", "A"],),
        ([np.int8(1), np.int8(0)],),
        (["decision", "%s\\"],),
    ],
)
def test_labels_keep_their_types(engine, classes):
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0, 4.0, 6.0]})
    y = np.array([classes[0]] * 3 + [classes[1]] * 3)
    clf = GaussianClassifier().fit(X, y)
    agree(engine.score(clf, X), clf, X)


def test_decisions_of_several_types_are_text(engine):
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0, 4.0, 6.0]})
    clf = GaussianClassifier().fit(X, [0, 0, 0, 1, 1, 1])
    decided = engine.score(clf, X, cost={0: [0, 1], "ask": [0.3, 0.3], 1: [1, 0]}, outputs="decision")["decision"]
    assert decided.tolist() == [str(each) for each in clf.predict(X, cost={0: [0, 1], "ask": [0.3, 0.3], 1: [1, 0]})]
    silent = engine.score(clf, X, cost={None: [0, 1], 1: [1, 0]}, outputs="decision")["decision"]
    assert silent.isna().tolist() == [True] * 3 + [False] * 3


def test_a_tie_goes_to_the_earlier_decision(engine):
    clf = GaussianClassifier("tied").fit(pd.DataFrame({"x": [-3.0, -1.0, 1.0, 3.0]}), ["b", "b", "a", "a"])
    middle = pd.DataFrame({"x": [0.0]})
    assert engine.score(clf, middle, outputs="decision")["decision"].item() == "a"
    cost = {"z": [0.5, 0.5], "a": [0, 1], "b": [1, 0]}
    assert engine.score(clf, middle, cost=cost, outputs="decision")["decision"].item() == "z"


def test_one_class_is_certain(engine):
    X, _ = data("numbers")
    clf = GaussianClassifier("diag").fit(X, [1] * N)
    found = engine.score(clf, X)
    assert list(found) == ["row id", "decision", "posterior_1", "log_likelihood_1"]
    assert (found["posterior_1"] == 1).all()
    assert (found["decision"] == 1).all()


@pytest.mark.filterwarnings("ignore::suffice.errors.EmptyClassWarning")
def test_a_class_without_rows_is_never_decided_for(engine):
    X, y = data("numbers")
    clf = GaussianClassifier("tied_diag").partial_fit(X, y, classes=["ham", "it's", "new", "spam"])
    agree(engine.score(clf, X), clf, X)
    only = {"ham": 0, "it's": 0, "new": 1, "spam": 0}
    assert set(engine.score(clf, X, prior=only)["decision"]) == {"new"}  # nothing but the prior speaks


@pytest.mark.parametrize("engine", HERE, indirect=True)
def test_log_gamma_has_all_digits(engine):
    x = np.concatenate([np.geomspace(1e-6, 1e9, 60), [1.0, 2.0, 19.999, 20.0]])
    steps = Steps()
    row, value = (steps.bind("keep", Cell(name)) for name in ("row id", "x"))
    dialect = dialect_of(engine.dialect)
    source = table(engine.load(pd.DataFrame({"x": x})))
    query = steps.select(source, {"row id": row, "y": log_gamma(steps, value)}, dialect, "s")
    found = engine.run(str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True})))["y"].astype(float)
    expected = [float(mpmath.loggamma(float(each))) for each in x]
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=5e-14)


# What a statement reads and returns.


def test_names_of_tables_and_columns_are_quoted(engine):
    X, y = data("numbers")
    clf = GaussianClassifier("tied").fit(X, y)
    name = engine.load(X, "ta\"b`le'; DROP TABLE t; -- %s :x \\")
    schema = {"postgresql": "public"}.get(engine.dialect, "main")
    agree(engine.run(clf.to_sql((schema, name), engine.dialect, keep="row id")), clf, X)


@pytest.mark.parametrize("name", ["suffice_1", "SUFFICE"])
def test_a_table_may_be_named_like_a_step(engine, name):
    X, y = data("numbers")
    clf = GaussianClassifier().fit(X, y)
    engine.load(X, name)
    agree(engine.run(clf.to_sql(name, engine.dialect, keep="row id")), clf, X)


def test_columns_may_have_other_names_in_the_table(engine):
    X, y = data("numbers")
    clf = GaussianClassifier().fit(X, y)
    other = X.rename(columns={"select": "from"})
    agree(engine.score(clf, other, columns={"select": "from"}), clf, X)
    nameless = GaussianClassifier().fit(X.to_numpy(), y)
    agree(engine.score(nameless, other, columns=list(other)), nameless, X.to_numpy())
    crossed = X.set_axis(["x_1", "x_0", "v_1", "score_0"], axis=1)  # what steps call other things
    agree(engine.score(nameless, crossed, columns=list(crossed)), nameless, X.to_numpy())


def columns_of(sql):
    return sqlglot.parse_one(sql, read="postgres").named_selects


def test_results_are_chosen_and_the_columns_that_were_read_are_repeated():
    frame, y = mixed(missing=False)
    clf = MixedClassifier(FAMILIES | {"visits": "drop"}).fit(frame, y)
    read = [name for name in frame if name != "visits"]
    posteriors = ["posterior_ham", "posterior_it's", "posterior_spam"]
    likelihoods = [name.replace("posterior", "log_likelihood") for name in posteriors]
    assert columns_of(clf.to_sql("t")) == [
        *read,
        "decision",
        *posteriors,
        "llr_it's",
        "llr_spam",
        *likelihoods,
    ]
    assert columns_of(clf.to_sql("t", keep=["id", "visits"], outputs="decision")) == ["id", "visits", "decision"]
    assert columns_of(clf.to_sql("t", keep=[], outputs=["posterior", "decision"])) == [*posteriors, "decision"]
    assert "visits" not in clf.to_sql("t")


def test_nothing_is_worked_out_that_is_not_wanted():
    X, y = data("numbers")
    clf = GaussianClassifier("tied").fit(X, y)
    decided, whole = (clf.to_sql("t", keep="id", outputs=outputs) for outputs in ("decision", None))
    assert "exp(" in whole
    assert "exp(" not in decided
    assert " z_0" in whole  # the squared distance is in the likelihood, but in no ratio
    assert " z_0" not in decided


def test_a_loaded_model_writes_the_same(tmp_path):
    X, y = data("counts")
    for clf in (MultinomialClassifier(), LogisticClassifier(), MixedClassifier("categorical")):
        clf.fit(X, y).save(tmp_path / "model")
        assert load(tmp_path / "model").to_sql("t", "spark") == clf.to_sql("t", "spark")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "oracle"}, "dialect='oracle' is not known; choose one of 'postgresql', 'duckdb'"),
        ({"outputs": "score"}, "outputs='score' is not known; choose some of 'decision', 'posterior'"),
        ({"outputs": []}, r"outputs=\[\] is not known"),
        ({"columns": ["a"]}, "columns= has 1 names, but the model has 2 columns"),
        ({"columns": {"z": "a"}}, "columns= names 'z', but the model has 'Decision', 'b'"),
        ({}, "columns named like the results: 'decision'; rename them, or leave them out of keep="),
        ({"table": "", "keep": "b"}, "table='' must be a name"),
        ({"table": (), "keep": "b"}, r"table=\(\) must be a name"),
        ({"table": ("a", 1), "keep": "b"}, "1 is not a name"),
        ({"table": "a\0", "keep": "b"}, "contains characters that SQL does not allow"),
        ({"keep": [0]}, "0 is not a name"),
        ({"cost": {(1, 2): [0, 1], "b": [1, 0]}, "keep": "b"}, r"the decision \(1, 2\) is neither text nor a number"),
        ({"cost": {"nul\0": [0, 1], "b": [1, 0]}, "keep": "b"}, "contains characters that SQL does not allow"),
        ({"cost": {"\ud800": [0, 1], "b": [1, 0]}, "keep": "b"}, "contains characters that SQL does not allow"),
    ],
)
def test_errors_say_what_to_do(options, message):
    X = pd.DataFrame({"Decision": [0.0, 1.0, 2.0, 4.0], "b": [1.0, 0.0, 3.0, 4.0]})
    clf = GaussianClassifier("diag").fit(X, [0, 0, 1, 1])
    with pytest.raises(DataError, match=message):
        clf.to_sql(**{"table": "t"} | options)


def test_models_without_names_or_form_are_refused():
    clf = GaussianClassifier("diag").fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1])
    with pytest.raises(DataError, match="knows its 1 columns by position only; name them with columns="):
        clf.to_sql("t")
    with pytest.raises(DataError, match=r"choose some of 'decision', 'posterior', 'llr'$"):
        LogisticClassifier().fit([[0.0], [1.0]], [0, 1]).to_sql("t", columns=["x"], outputs="log_likelihood")
    with pytest.raises(NotFittedError):
        GaussianClassifier().to_sql("t")
    wide = SparseCountDensity(csr_array(np.eye(2)), np.ones(2), 1.0)
    with pytest.raises(DataError, match="cannot be written as SQL: it has too many columns"):
        scores(wide, Steps(), ["a", "b"])


def test_without_sqlalchemy_there_is_an_error_that_helps(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("suffice.export")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(suffice, "export", raising=False)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(ImportError, match=r"to_sql needs SQLAlchemy: pip install suffice\[sql\]"):
        GaussianClassifier("diag").fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1]).to_sql("t", columns=["x"])


# How large it may be.


@pytest.mark.parametrize(
    ("engine", "structure", "predictive", "d", "k"),
    [
        ("postgresql", "full", False, 100, 10),
        ("postgresql", "diag", True, 30, 60),  # more deviations from means than a query may have columns
    ],
    indirect=["engine"],
)
def test_many_columns_and_classes_are_no_more_than_a_database_takes(engine, structure, predictive, d, k):
    rng = np.random.default_rng(3)
    y = np.arange(110 * k) % k
    X = pd.DataFrame(rng.normal(size=(len(y), d)) + rng.normal(size=(k, d))[y], columns=[f"c {j}" for j in range(d)])
    clf = GaussianClassifier(structure, predictive=predictive).fit(X, y)
    agree(engine.score(clf, X[:5]), clf, X[:5])


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_sum_of_a_thousand_terms_is_not_too_deep(engine):
    """SQLite takes expressions a thousand levels deep."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(4, 45)), columns=[f"c{j}" for j in range(45)])
    p = 45 * 48 // 2
    model = LogisticModel(
        np.arange(2), np.full(2, 0.5), rng.normal(size=p), rng.normal(size=(2, p)), np.zeros(2), "quadratic"
    )
    clf = LogisticClassifier._of(model, tuple(X), expansion="quadratic")
    agree(engine.score(clf, X), clf, X)


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"], indirect=True)
def test_a_covariance_too_large_to_be_cut_refuses_rows_with_missing_numbers(engine):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(60, 20)), columns=[f"c{j}" for j in range(20)])
    clf = MixedClassifier("gaussian", covariance="full", shrinkage=0.5).fit(X, np.arange(60) % 3)
    X = X[:4].copy()
    X.loc[0, "c3"] = None
    found = engine.score(clf, X)
    assert found.loc[0].drop("row id").isna().all()
    agree(found[1:], clf, X[1:])


def orders(n=N):
    """Dates, amounts, and yes or no, all as text, with gaps and with words that say nothing."""
    rng = np.random.default_rng(3)
    opened = pd.Timestamp("1968-11-20") + pd.to_timedelta(rng.integers(0, 24 * 3600 * 25_000, n), unit="s")
    days = pd.Timestamp("1999-12-20") + pd.to_timedelta(rng.integers(0, 3_000, n), unit="D")
    prices = [f"${x:,.2f}" if x > 9 else f"({x:.2f})" for x in rng.lognormal(5, 2, n)]
    return pd.DataFrame(
        {
            "opened": opened.strftime("%Y-%m-%d %H:%M:%S"),
            "day": days.strftime("%Y-%m-%d"),
            "price": prices,
            "paid": rng.choice(["yes", "no", "Yes", " no", "true", "0"], n),
            "size": rng.normal(size=n),
        }
    )


@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@pytest.mark.parametrize("estimator", [MixedClassifier, LogisticClassifier])
def test_dates_amounts_and_booleans_are_read_as_here(engine, estimator):
    X, y = orders(90), np.array(["ham", "it's", "spam"])[np.arange(90) % 3]
    clf = estimator().fit(X.assign(paid=np.where(np.arange(90) % 4 > 1, "yes", "no")), y)
    X.loc[1::7, ["opened", "price"]] = None
    X.loc[2, "price"] = "on request"
    agree(engine.score(clf, X), clf, X)
    if engine.dialect in ("duckdb", "postgresql"):  # a database has types of its own
        name = engine.load(
            X.assign(price=[None if p is None else suffice.tables.parsing.number_of(p) for p in X["price"]])
        )
        types = {"opened": "TIMESTAMP", "day": "DATE", "paid": "BOOLEAN", "price": "FLOAT8", "size": "FLOAT8"}
        columns = ", ".join(f'CAST("{column}" AS {kind}) AS "{column}"' for column, kind in types.items())
        columns = columns.replace('"paid" AS B', 'TRIM("paid") AS B')
        engine.connection.cursor().execute(f'CREATE VIEW "{name} v" AS SELECT "row id", {columns} FROM "{name}"')
        agree(engine.run(clf.to_sql(f"{name} v", engine.dialect, keep="row id")), clf, X)


def test_dates_and_amounts_that_are_not_clear_are_refused():
    X = orders()
    y = np.arange(N) % 2
    for name, cells, told in (
        ("day", pd.to_datetime(X["day"]).dt.strftime("%d.%m.%Y"), "date, 31.03.2026"),
        ("price", [f"{i}.000,{i:02}" for i in range(1, N + 1)], "number, 1.234,5"),
    ):
        clf = MixedClassifier(families={"day": "dmy"} if name == "day" else "auto").fit(
            X[["size"]].assign(**{name: cells}), y
        )
        told = f"column '{name}' cannot be read in SQL .{told}.*score them here, "
        with pytest.raises(DataError, match=told + r"as in predict\(suffice.sql\(...\)\); or convert"):
            clf.to_sql("t", "duckdb")
        with for_commands(), pytest.raises(DataError, match=told + "with suffice predict; or convert"):
            clf.to_sql("t", "duckdb")
