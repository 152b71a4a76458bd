"""What a database makes of a model is what the model says."""

import warnings

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice import (
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MultinomialClassifier,
    PoissonClassifier,
)
from suffice.errors import DataError, ImpossibleWarning

NAMES = ['we"ird', "sp ace", "select", "größe`s", "50%s :x \\'; --"]
STRUCTURES = ("full", "diag", "tied", "tied_diag", "spherical", "tied_spherical")
N = 60
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
    ("counts", MultinomialClassifier()),
    ("counts", MultinomialClassifier(predictive=True)),
    ("counts", MultinomialClassifier(complement=True)),
    ("counts", BernoulliClassifier()),
    ("truths", BernoulliClassifier()),
    ("counts", CategoricalClassifier()),
    ("truths", CategoricalClassifier()),
]


@pytest.mark.parametrize(("kind", "clf"), MODELS, ids=str)
def test_every_model_scores_as_it_does_here(engine, kind, clf):
    X, y = data(kind)
    clf.fit(X[::2], y[::2])
    agree(engine.score(clf, X, prior=UNEVEN), clf, X, UNEVEN)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_whole_tables_with_missing_cells_are_scored_by_what_they_have(engine, covariance):
    X, y = mixed(missing=False)
    clf = MixedClassifier(FAMILIES, covariance=covariance).fit(X, y)
    X, _ = mixed()
    X.loc[0] = None  # nothing at all
    agree(engine.score(clf, X), clf, X)


@pytest.mark.parametrize(
    "clf",
    [
        PoissonClassifier(),
        PoissonClassifier(predictive=True),
        MultinomialClassifier(),
        MultinomialClassifier(predictive=True),
        MultinomialClassifier(complement=True),
        BernoulliClassifier(),
    ],
    ids=str,
)
def test_missing_counts_drop_out(engine, clf):
    X, y = data("counts")
    clf.fit(X, y)
    rng = np.random.default_rng(1)
    X = X.astype(float).astype(object).mask(rng.random(X.shape) < 0.4, None)
    X.iloc[0] = None
    agree(engine.score(clf, X, prior=UNEVEN), clf, X, UNEVEN)


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


def test_what_is_impossible_is_infinitely_far(engine):
    X = pd.DataFrame({"a": list("xxyyzz"), "b": list("ppqqqq")})
    clf = CategoricalClassifier(alpha=0).fit(X, ["1st", "1st", "2nd", "2nd", "3rd", "3rd"])
    rows = pd.DataFrame({"a": ["x", "y", "x", "z", "never"], "b": ["p", "q", "q", None, "p"]})
    for prior in (None, [0.1, 0.7, 0.2], [0.5, 0.5, 0.0]):
        cost = None if prior is None else [[0, 1, 1], [9, 0, 1], [1, 1, 0]]
        agree(engine.score(clf, rows, prior=prior, cost=cost), clf, rows, prior, cost)
    counts = pd.DataFrame({"n": [0, 3, 0], "m": [2, 2, 1]})
    for model in (PoissonClassifier(alpha=0), MultinomialClassifier(alpha=0), BernoulliClassifier(alpha=0)):
        model.fit(counts, [0, 1, 0])
        agree(engine.score(model, counts), model, counts)


RESULTS = ["decision", "posterior_0", "posterior_1", "llr", "log_likelihood_0", "log_likelihood_1"]


@pytest.mark.parametrize(
    ("clf", "cell"),
    [
        (GaussianClassifier(), None),
        (GaussianClassifier("tied", predictive=True), float("inf")),
        (GaussianClassifier("tied_diag"), float("nan")),
        (PoissonClassifier(), -1.0),
        (MultinomialClassifier(), float("inf")),
        (BernoulliClassifier(), float("-inf")),
        (CategoricalClassifier(unknown="error"), 7.0),
        (MixedClassifier({float: "gaussian"}), float("inf")),
        (MixedClassifier({float: "gaussian"}, covariance="full"), float("-inf")),
    ],
    ids=str,
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
    costly = engine.score(clf, rows, cost={"yes": [0, 1], "no": [1, 0]}, outputs="decision")["decision"]
    assert costly[0] in ("yes", "no")
    assert costly[1] is None


def test_nan_is_missing_where_a_database_has_it(engine):
    X, y = data("numbers")
    clf = MixedClassifier({float: "gaussian"}).fit(X, y)
    X = X.mask(np.random.default_rng(2).random(X.shape) < 0.3)
    agree(engine.score(clf, X), clf, X)


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


@pytest.mark.parametrize(
    "classes",
    [["yes", "No'"], [3, -1], [True, False], [2.0, 7.0], ["a", "A"], [np.int8(1), np.int8(0)], ["decision", "%s\\"]],
    ids=str,
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


@pytest.mark.filterwarnings("ignore::suffice.errors.EmptyClassWarning")
def test_a_class_without_rows_is_never_decided_for(engine):
    X, y = data("numbers")
    clf = GaussianClassifier("tied_diag").partial_fit(X, y, classes=["ham", "it's", "new", "spam"])
    agree(engine.score(clf, X), clf, X)
    only = {"ham": 0, "it's": 0, "new": 1, "spam": 0}
    assert set(engine.score(clf, X, prior=only)["decision"]) == {"new"}  # nothing but the prior speaks
