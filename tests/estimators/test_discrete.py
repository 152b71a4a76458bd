"""The discrete classifiers as a user meets them: every call, every awkward input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice.stats.counts
from suffice import (
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    MixedClassifier,
    MixtureClassifier,
    MixtureModel,
    MultinomialClassifier,
    PoissonClassifier,
    kernels,
    load,
)
from suffice.errors import DataError, EmptyClassWarning, ImpossibleWarning, StatisticsError
from suffice.sources import base
from suffice.sources.frames.arrays import array_source
from suffice.tables import vocabulary as vocabularies
from suffice.tables.table import Matrix
from tests.pairs import pairs

N, D = 240, 6
LABELS = np.array(["ham", "jam", "spam"])
COUNTING = [BernoulliClassifier, MultinomialClassifier, PoissonClassifier]
ALL = [*COUNTING, CategoricalClassifier]


def drawn(seed=0, n=N, d=D):
    """Counts that differ by class, many of them zero, and labels."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 3, n)
    rate = rng.gamma(0.5, 2.0, size=(3, d))
    return rng.poisson(rate[code]).astype(float), LABELS[code]


X, Y = drawn()
SMALL = np.minimum(X, 4).astype(int)  # for categories


@pytest.fixture(params=ALL)
def kind(request):
    return request.param


@pytest.fixture(params=COUNTING)
def counting(request):
    return request.param


def data_of(kind):
    return SMALL if kind is CategoricalClassifier else X


def same_model(a, b, data, rtol=1e-12):
    assert a.classes_.tolist() == b.classes_.tolist()
    np.testing.assert_allclose(a.statistics_.weight, b.statistics_.weight, rtol=rtol)
    np.testing.assert_allclose(a.log_likelihood(data), b.log_likelihood(data), rtol=rtol, atol=1e-12)
    np.testing.assert_array_equal(a.predict(data), b.predict(data))


# In scikit-learn's machinery.


# Some of the checks have a class of weight zero, where a warning is right.
@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@parametrize_with_checks(
    [
        *(kind() for kind in ALL),
        CategoricalClassifier(alpha=0, unknown="ignore"),  # likelihoods of zero
        MultinomialClassifier(complement="normalized", prior="uniform"),
        PoissonClassifier(predictive=True),
    ],
    expected_failed_checks=lambda estimator: (
        {"check_decision_proba_consistency": "its rows are negative, which counts are not"}
        if isinstance(estimator, MultinomialClassifier | PoissonClassifier)
        else {}
    ),
)
def test_scikit_learn_conventions(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


def test_in_a_pipeline_a_grid_and_a_pickle(kind):
    data = data_of(kind)
    pipe = make_pipeline(FunctionTransformer(), kind(alpha=0.5)).fit(data, Y)
    np.testing.assert_array_equal(pipe.predict(data), kind(alpha=0.5).fit(data, Y).predict(data))
    name = f"{kind.__name__.lower()}__alpha"
    grid = GridSearchCV(pipe, {name: [0.01, 1.0, 1e6]}, cv=3, scoring="neg_log_loss").fit(data, Y)
    assert grid.best_params_[name] < 1e6
    assert grid.best_score_ > -np.log(3)
    copy = pickle.loads(pickle.dumps(pipe))
    np.testing.assert_array_equal(copy.predict_proba(data), pipe.predict_proba(data))
    fresh = clone(pipe)[-1]
    assert fresh.get_params() == pipe[-1].get_params()
    with pytest.raises(NotFittedError, match="not fitted"):
        fresh.predict(data)


def test_prior_and_cost_are_routed(kind):
    data, prior = data_of(kind), {"ham": 1 - 2e-6, "jam": 1e-6, "spam": 1e-6}
    cost = [[0, 1e6, 1e6], [1, 0, 1], [1, 1, 0]]
    with sklearn.config_context(enable_metadata_routing=True):
        clf = kind().set_predict_request(prior=True, cost=True).set_predict_proba_request(prior=True)
        pipe = make_pipeline(FunctionTransformer(), clf).fit(data, Y)
        plain = kind().fit(data, Y)
        np.testing.assert_array_equal(pipe.predict(data, prior=prior), plain.predict(data, prior=prior))
        np.testing.assert_array_equal(pipe.predict(data, cost=cost), plain.predict(data, cost=cost))
        np.testing.assert_array_equal(pipe.predict_proba(data, prior=prior), plain.predict_proba(data, prior=prior))
    assert (plain.predict(data, prior=prior) != plain.predict(data)).any()
    assert (plain.predict(data, cost=cost) != plain.predict(data)).any()


# Agreement with scikit-learn.


def frozen(data):
    data = np.array(data)
    data.flags.writeable = False
    return data


def doubled(data):
    """A sparse matrix that stores some cells in two parts, in any order, and some zeros."""
    coo = sp.coo_array(data)
    rng = np.random.default_rng(0)
    row, column, value = (np.concatenate([part, part]) for part in (coo.row, coo.col, coo.data / 2))
    zero_row, zero_column = np.nonzero(np.asarray(data)[:20] == 0)
    row, column = np.concatenate([row, zero_row]), np.concatenate([column, zero_column])
    value = np.concatenate([value, np.zeros(len(zero_row))])
    order = rng.permutation(len(row))
    row, column, value = row[order], column[order], value[order]
    order = np.argsort(row, kind="stable")
    indptr = np.searchsorted(row[order], np.arange(len(data) + 1))
    matrix = sp.csr_array((value[order], column[order], indptr), shape=data.shape)
    assert not matrix.has_canonical_format
    return matrix


TABLES = {
    "dense": np.asarray,
    "Fortran": np.asfortranarray,
    "float32": np.float32,
    "read-only": frozen,
    "strided": lambda data: np.repeat(data, 2, axis=1)[::-1, ::2][::-1],
    **{str(np.dtype(t)): (lambda data, t=t: data.astype(t)) for t in ("i1", "u1", "i2", "i4", "u4", "i8", "u8", ">i4")},
    "list": lambda data: data.tolist(),
    "csr": sp.csr_array,
    "csr of int": lambda data: sp.csr_array(data.astype(int)),
    "csr of float32": lambda data: sp.csr_array(data.astype(np.float32)),
    "csr of uint8": lambda data: sp.csr_array(data.astype(np.uint8)),
    "csr matrix": sp.csr_matrix,
    "csr with long indices": lambda data: long_indices(sp.csr_array(data)),
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "csr with duplicates and zeros": doubled,
}


def long_indices(matrix):
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


PEERS = {
    "multinomial": (lambda a: MultinomialClassifier(a), lambda a: MultinomialNB(alpha=a)),
    "Bernoulli": (lambda a: BernoulliClassifier(a), lambda a: BernoulliNB(alpha=a)),
    "complement": (
        lambda a: MultinomialClassifier(a, "uniform", complement=True),
        lambda a: ComplementNB(alpha=a),
    ),
    "normalized complement": (
        lambda a: MultinomialClassifier(a, "uniform", complement="normalized"),
        lambda a: ComplementNB(alpha=a, norm=True),
    ),
}


@pytest.mark.parametrize(("peer", "table", "alpha", "weighted"), pairs(PEERS, TABLES, [0.1, 1.0], [False, True]))
def test_scikit_learns_models_of_counts(peer, table, alpha, weighted):
    mine, theirs = (make(alpha) for make in PEERS[peer])
    weight = np.random.default_rng(1).random(N) if weighted else None
    theirs.fit(X, Y, weight)
    data = TABLES[table](X)
    mine.fit(data, Y, weight)
    expected = theirs.predict_log_proba(X)
    np.testing.assert_allclose(mine.predict_log_proba(data), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(mine.predict_log_proba(X), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(mine.predict(data), theirs.predict(X))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("table", [name for name in TABLES if not name.startswith(("cs", "coo"))])
def test_scikit_learns_model_of_categories(table, alpha, weighted):
    weight = np.random.default_rng(1).random(N) if weighted else None
    data = TABLES[table](SMALL)
    theirs = CategoricalNB(alpha=alpha).fit(SMALL, Y, weight)
    mine = CategoricalClassifier(alpha).fit(data, Y, weight)
    expected = theirs.predict_log_proba(SMALL)
    np.testing.assert_allclose(mine.predict_log_proba(data), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(mine.predict(data), theirs.predict(SMALL))
    for j in range(D):
        np.testing.assert_array_equal(mine.categories_[j], np.arange(SMALL[:, j].max() + 1))


@pytest.mark.parametrize("peer", [name for name in PEERS if name != "Bernoulli"])
def test_pseudo_counts_of_each_feature_are_scikit_learns(peer, tmp_path):
    alpha = np.linspace(0.1, 3, D)
    mine, theirs = (make(alpha).fit(X, Y) for make in PEERS[peer])
    np.testing.assert_allclose(mine.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-10, atol=1e-10)
    mine.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").predict_proba(X), mine.predict_proba(X))


def test_pseudo_counts_of_each_column():
    """One by one: scikit-learn's BernoulliNB fails on an alpha for each feature."""
    alpha = np.linspace(0.1, 3, D)
    booleans, mine = BernoulliClassifier(alpha).fit(X, Y), CategoricalClassifier(alpha).fit(SMALL, Y)
    for j in range(D):
        theirs = BernoulliNB(alpha=alpha[j]).fit(X[:, [j]], Y)
        np.testing.assert_allclose(np.log(booleans.probabilities_[:, [j]]), theirs.feature_log_prob_, atol=1e-12)
        theirs = CategoricalNB(alpha=alpha[j]).fit(SMALL[:, [j]], Y)
        np.testing.assert_allclose(np.log(mine.probabilities_[j]), theirs.feature_log_prob_[0], atol=1e-12)


@pytest.mark.parametrize("predictive", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_pseudo_rows_of_each_column(predictive, missing, tmp_path):
    """A Poisson model is one of each column by itself."""
    alpha, data = np.linspace(0.1, 3, D), holes(X) if missing else X
    data = pd.DataFrame(data, columns=[f"n{j}" for j in range(D)])
    clf = PoissonClassifier(alpha, predictive=predictive).fit(data, Y)
    alone = [PoissonClassifier(alpha[j], predictive=predictive).fit(data.iloc[:, [j]], Y) for j in range(D)]
    np.testing.assert_allclose(clf.rates_, np.hstack([each.rates_ for each in alone]), rtol=1e-12)
    expected = sum(each.log_likelihood(data.iloc[:, [j]]) for j, each in enumerate(alone))
    np.testing.assert_allclose(clf.log_likelihood(data), expected, rtol=1e-10)
    parts = clone(clf).partial_fit(data[:90], Y[:90]).partial_fit(data[90:].iloc[:, ::-1], Y[90:])
    same_model(parts, clf, data)
    clf.save(tmp_path / "m")
    same_model(load(tmp_path / "m"), clf, data)


def test_predictive_models_have_the_means_of_their_distributions():
    """Those of a gamma and of a Dirichlet distribution; SciPy's for the former."""
    alpha, seen = 0.7, np.array([X[c == Y].sum(axis=0) for c in np.unique(Y)])
    rates = PoissonClassifier(alpha, predictive=True).fit(X, Y)
    learnt = rates.parameters_
    np.testing.assert_allclose(rates.rates_, stats.gamma(learnt["shapes"], scale=1 / learnt["rates"]).mean())
    np.testing.assert_allclose(rates.rates_, PoissonClassifier(alpha).fit(X, Y).rates_)
    words = MultinomialClassifier(alpha, predictive=True).fit(X, Y)
    np.testing.assert_allclose(words.probabilities_, (seen + alpha) / (seen + alpha).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("table", [X, ["a word", "two words"] * (len(Y) // 2)], ids=["counts", "text"])
def test_complement_weights_are_no_probabilities(table):
    clf = MultinomialClassifier(complement=True).fit(table, Y)
    assert not hasattr(clf, "probabilities_")
    assert "MultinomialClassifier" in clf._repr_html_()  # asks for every attribute


def test_pseudo_counts_of_each_category():
    """(count + alpha) / (rows + sum of alpha), by hand; what is not declared has the mean of what is."""
    table = pd.DataFrame({"fur": ["b", "a", "b", "d"], "eyes": ["x", "x", "y", "x"]})
    clf = CategoricalClassifier([[4, 2, 0], 1], categories={"fur": ["b", "c", "a"]}, unknown="smooth").fit(
        table, [0, 0, 1, 1]
    )
    assert clf.categories_[0].tolist() == ["a", "b", "c", "d"]
    np.testing.assert_allclose(clf.probabilities_[0], np.array([[1, 5, 2, 2], [0, 5, 2, 3]]) / 10)
    np.testing.assert_allclose(clf.probabilities_[1], [[3 / 4, 1 / 4], [2 / 4, 2 / 4]])
    unknown = pd.DataFrame({"fur": ["e"], "eyes": [None]})
    np.testing.assert_allclose(clf.log_likelihood(unknown), np.log([[0.2, 0.2]]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CategoricalClassifier([[1, 2]] + [1] * (D - 1)).fit(SMALL, Y), "for which categories= has no"),
        (
            lambda: CategoricalClassifier([[1, 2]] + [1] * (D - 1), categories=[[1]] + [None] * (D - 1)).fit(SMALL, Y),
            "alpha has 2 numbers for column 0, for which categories= has 1",
        ),
        (lambda: BernoulliClassifier([1, 2]).fit(X, Y), f"alpha has 2 numbers, but there are {D} columns"),
        (lambda: MultinomialClassifier([1, -2]).fit(X, Y), "alpha=-2 must be a number that is not negative"),
        (lambda: PoissonClassifier([1, 2]).fit(X, Y), f"alpha has 2 numbers, but there are {D} columns"),
        (lambda: PoissonClassifier([1, -2]).fit(X, Y), "alpha=-2 must be a number that is not negative"),
        (lambda: PoissonClassifier([0] * D, predictive=True).fit(X, Y), "alpha must be above zero"),
        (lambda: MixedClassifier(alpha=[1, 2]).fit(X, Y), "alpha must be one number for a MixedClassifier, whose"),
        (lambda: MixtureClassifier(alpha=[1] * D).fit(X, Y), "must be one number for a MixtureClassifier, whose"),
        (lambda: MixtureModel(alpha=np.ones(D)).fit(X), "alpha must be one number for a MixtureModel, whose"),
        (lambda: CategoricalClassifier([1, 2]).fit(SMALL, Y), f"alpha has 2 numbers, but there are {D} columns"),
        (lambda: MultinomialClassifier([1, 2]).fit(["a b", "b c"], [0, 1]), "alpha must be one number for text"),
        (lambda: CategoricalClassifier(categories="ab").fit(SMALL, Y), "must be a list with the categories of each"),
        (lambda: CategoricalClassifier(categories=[["a"]]).fit(SMALL, Y), f"is for 1 columns, but there are {D}"),
        (lambda: CategoricalClassifier(categories=[[1, None]] * D).fit(SMALL, Y), "has a missing value in"),
        (lambda: CategoricalClassifier(categories={"a": "b"}).fit(SMALL, Y), "needs a list of the categories"),
        (lambda: CategoricalClassifier(categories={"fur": [1]}).fit(SMALL, Y), "names 'fur', which is no column"),
    ],
)
def test_pseudo_counts_and_categories_that_do_not_fit(call, message):
    with pytest.raises(DataError, match=message):
        call()


COLOURS, SEXES = list("abaca"), np.array([0, 0, 0, 1, 1])


def levels_by(library):
    """A column that declares a category that no row has, as libraries have it."""
    import polars as pl
    import pyarrow as pa

    frame = pd.DataFrame({"fur": pd.Categorical(COLOURS, list("abcd")), "sex": SEXES})
    if library == "polars":
        return pl.DataFrame({"fur": pl.Series(COLOURS, dtype=pl.Enum(list("abcd"))), "sex": SEXES})
    return {"pandas": frame, "pyarrow": pa.Table.from_pandas(frame)}[library]


@pytest.mark.parametrize("structure", [None, "tree"])
@pytest.mark.parametrize("library", ["pandas", "pyarrow", "polars", "parquet", "categories"])
def test_declared_categories_count(library, structure, tmp_path):
    """As levels in R and `min_categories` in scikit-learn; as many as there are wherever the model goes."""
    declared = {"categories": {"fur": list("abcd")}} if library == "categories" else {}
    if library == "categories":
        table = pd.DataFrame({"fur": COLOURS, "sex": SEXES})
    elif library == "parquet":
        table = str(tmp_path / "cats.parquet")
        levels_by("pandas").to_parquet(table)
    else:
        table = levels_by(library)
    clf = CategoricalClassifier(structure=structure, **declared).fit(table, "sex")
    codes = np.array([["abcd".index(fur)] for fur in COLOURS])
    expected = np.exp(CategoricalNB(min_categories=4).fit(codes, SEXES).feature_log_prob_[0])
    clf.save(tmp_path / "model.safetensors")
    # laplace = 1 of e1071's naiveBayes: (count + 1) / (rows + levels)
    np.testing.assert_allclose(expected[0], np.array([3, 2, 1, 1]) / 7)
    for model in (clf, load(tmp_path / "model.safetensors")):
        np.testing.assert_allclose(model.probabilities_[0], expected)
        assert model.categories_[0].tolist() == list("abcd")
    twice = clf + load(tmp_path / "model.safetensors")
    np.testing.assert_allclose(twice.probabilities_[0][0], np.array([5, 3, 1, 1]) / 10)
    np.testing.assert_allclose(twice.forget(table, "sex").probabilities_[0], expected)
    assert not clf.unknown_cells(pd.DataFrame({"fur": ["d"]})).any()


def test_categories_that_polars_shares_between_columns_are_not_declared():
    import polars as pl

    pl.Series(list("xyz"), dtype=pl.Categorical)
    table = pl.DataFrame({"fur": pl.Series(COLOURS, dtype=pl.Categorical), "sex": SEXES})
    assert CategoricalClassifier().fit(table, "sex").categories_[0].tolist() == list("abc")


def test_poisson_is_maximum_likelihood_by_hand():
    clf = PoissonClassifier(alpha=0).fit(X, Y)
    rate = np.array([X[label == Y].mean(axis=0) for label in LABELS])
    expected = (X[:, None] * np.log(np.maximum(rate, 1e-300)) - rate).sum(axis=2)
    expected = np.where(((rate == 0) & (X[:, None] > 0)).any(axis=2), -np.inf, expected)
    factorial = np.array([[np.log(np.arange(1, int(x) + 1)).sum() for x in row] for row in X]).sum(axis=1)
    np.testing.assert_allclose(clf.log_likelihood(X), expected - factorial[:, None], rtol=1e-10)


# Every call fits the others.

CHOICES = {
    "Bernoulli": BernoulliClassifier(0.5),
    "multinomial": MultinomialClassifier(0.5),
    "multinomial predictive": MultinomialClassifier(0.5, predictive=True),
    "Poisson": PoissonClassifier(0.5),
    "Poisson predictive": PoissonClassifier(0.5, predictive=True),
    "categorical": CategoricalClassifier(0.5),
    "categorical that ignores": CategoricalClassifier(0.5, "ignore"),
}


@pytest.fixture(params=CHOICES)
def clf(request):
    clf = clone(CHOICES[request.param])
    return clf.fit(data_of(type(clf)), Y)


def holes(data, seed=5, share=0.1):
    data = np.array(data, float)
    data[np.random.default_rng(seed).random(data.shape) < share] = np.nan
    return data


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "with holes"])
def test_every_call_fits_the_others(clf, missing):
    data = data_of(type(clf))
    data = holes(data) if missing else data
    prior = np.array([0.2, 0.3, 0.5])
    log_likelihood = clf.log_likelihood(data)
    joint = log_likelihood + np.log(prior)
    evidence = np.logaddexp.reduce(joint, axis=1)
    # NumPy 1.26 may give 1e-16 for the logarithm of 1.
    np.testing.assert_allclose(clf.score_samples(data, prior=prior), evidence, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(clf.predict_log_proba(data, prior=prior), joint - evidence[:, None], atol=1e-9)
    np.testing.assert_allclose(clf.predict_proba(data, prior=prior), np.exp(joint - evidence[:, None]), atol=1e-9)
    np.testing.assert_array_equal(clf.predict(data, prior=prior), clf.classes_[joint.argmax(axis=1)])
    cost = np.array([[0, 5, 1], [1, 0, 1], [1, 1, 0]])
    cheapest = (np.exp(joint - evidence[:, None]) @ cost.T).argmin(axis=1)
    np.testing.assert_array_equal(clf.predict(data, prior=prior, cost=cost), clf.classes_[cheapest])
    llr = clf.llr(data, "jam", "ham")
    np.testing.assert_allclose(llr, log_likelihood[:, 0] - log_likelihood[:, 1], rtol=1e-8, atol=1e-9)
    shares = clf.explain(data, "jam", "ham")
    assert shares.shape == data.shape
    np.testing.assert_allclose(shares.sum(axis=1), llr, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "with holes"])
@pytest.mark.parametrize("kind", ALL)
def test_typicality_is_a_probability_and_low_for_few_rows_of_the_class(kind, missing):
    data = data_of(kind)
    clf = kind().fit(data, Y)
    rows = holes(data, share=0.05) if missing else data
    typical = clf.typicality(rows)
    assert typical.shape == (N, 3)
    assert ((typical >= 0) & (typical <= 1)).all()
    own, _ = clf.sample(500, label="jam", random_state=4)
    assert np.mean(clf.typicality(own)[:, 1] < 0.1) < 0.2


@pytest.mark.parametrize("kind", [BernoulliClassifier, PoissonClassifier, CategoricalClassifier])
def test_typicality_against_draws_of_the_model(kind):
    clf = kind().fit(data_of(kind), Y)
    rows, _ = clf.sample(3000, label="ham", random_state=3)
    drawn, own = clf.log_likelihood(rows)[:, 0], clf.log_likelihood(data_of(kind))[:, 0]
    expected = (drawn[None] <= own[:, None] + 1e-9).mean(axis=1)
    np.testing.assert_allclose(clf.typicality(data_of(kind))[:, 0], expected, atol=0.06)


def test_samples_come_from_the_model_and_can_be_learnt(clf):
    rows, labels = clf.sample(4000, random_state=1)
    again, _ = clf.sample(4000, random_state=1)
    np.testing.assert_array_equal(rows, again)
    np.testing.assert_allclose([(labels == label).mean() for label in LABELS], clf.prior_, atol=0.03)
    relearnt = clone(clf).fit(rows, labels)
    data = data_of(type(clf))
    np.testing.assert_allclose(relearnt.predict_proba(data), clf.predict_proba(data), atol=0.35)
    assert np.mean(relearnt.predict(data) == clf.predict(data)) > 0.9
    only, label = clf.sample(5, label="jam", random_state=0)
    assert set(label) == {"jam"}
    assert only.shape == (5, D)


@pytest.mark.parametrize("kind", [BernoulliClassifier, PoissonClassifier, CategoricalClassifier])
def test_the_prior_of_unlabelled_rows_is_found(kind):
    """Not of a multinomial, which knows nothing of the lengths of documents."""
    clf = kind().fit(data_of(kind), Y)
    rows, _ = clf.sample(6000, label="ham", random_state=0)
    more, _ = clf.sample(4000, label="spam", random_state=1)
    np.testing.assert_allclose(clf.estimate_prior(np.concatenate([rows, more])), [0.6, 0.0, 0.4], atol=0.06)


def test_missing_cells_are_imputed_and_others_left(clf):
    data = holes(data_of(type(clf)))
    filled = clf.impute(data)
    assert not pd.isna(filled).any()
    known = ~np.isnan(data)
    np.testing.assert_array_equal(np.asarray(filled, float)[known], data[known])


@pytest.mark.parametrize("predictive", [False, True])
def test_imputation_is_an_expectation(predictive):
    clf = PoissonClassifier(alpha=1e-12, predictive=predictive).fit(X, Y)
    mean = np.array([X[label == Y].mean(axis=0) for label in LABELS])
    np.testing.assert_allclose(clf.impute([[np.nan] * D], prior=[0, 1, 0]), mean[1:2])
    np.testing.assert_allclose(clf.impute([[np.nan] * D]), X.mean(axis=0)[None])


def test_imputed_categories_are_the_most_probable_ones():
    clf = CategoricalClassifier().fit([["red", 1], ["red", 2], ["blue", 2]], ["x", "x", "y"])
    assert clf.impute([[None, 1], ["blue", None]]).tolist() == [["red", 1], ["blue", 2]]


# Learning in pieces, from others, and unlearning.


# Events that no row had have the rate zero, whatever alpha is.
@pytest.mark.filterwarnings("ignore::suffice.errors.ImpossibleWarning")
@given(st.data())
def test_pieces_in_any_order_are_the_whole(data):
    kind = data.draw(st.sampled_from(ALL))
    table = holes(data_of(kind), share=0.05)
    order = np.array(data.draw(st.permutations(range(40))))
    cut = data.draw(st.integers(1, 39))
    table, labels = table[:40], Y[:40]
    whole = kind(0.3).fit(table, labels)
    one, two = order[:cut], order[cut:]
    streamed = kind(0.3).partial_fit(table[one], labels[one]).partial_fit(table[two], labels[two])
    same_model(streamed, whole, table)
    a, b = kind(0.3).fit(table[one], labels[one]), kind(0.3).fit(table[two], labels[two])
    same_model(a + b, whole, table)
    same_model(b + a, whole, table)
    same_model(sum([a, b]), whole, table)
    if set(labels[one]) == set(labels):
        same_model(kind(0.3).fit(table, labels).forget(table[two], labels[two]), a, table)


def test_weights_are_copies(kind):
    data, k = data_of(kind), np.arange(N) % 3
    weighted, copied = kind().fit(data, Y, k), kind().fit(np.repeat(data, k, axis=0), np.repeat(Y, k))
    same_model(weighted, copied, data)
    half = kind().fit(data, Y, k).forget(data, Y, sample_weight=k / 2)
    np.testing.assert_allclose(half.statistics_.count, copied.statistics_.count / 2)
    spoilt = np.where((k == 0)[:, None], 7, data)
    same_model(kind().fit(spoilt, Y, k), copied, data)
    without_one = np.where(Y == "jam", 0.0, 1.0)
    with pytest.warns(EmptyClassWarning, match="jam"):
        clf = kind().fit(data, Y, without_one)
    assert (clf.predict_proba(data)[:, 1] == 0).all()
    np.testing.assert_allclose(
        clf.predict_proba(data)[:, [0, 2]], kind().fit(data[Y != "jam"], Y[Y != "jam"]).predict_proba(data)
    )


def test_new_classes_and_announced_classes(kind):
    data = data_of(kind)
    early, late = np.flatnonzero(Y != "ham"), np.flatnonzero(Y == "ham")
    whole = kind().fit(data, Y)
    same_model(kind().partial_fit(data[early], Y[early]).partial_fit(data[late], Y[late]), whole, data)
    same_model(kind().fit(data[early], Y[early]) + kind().fit(data[late], Y[late]), whole, data)
    clf = kind().partial_fit(data[early], Y[early], classes=["ham", "spam", "jam"])
    assert clf.classes_.tolist() == ["ham", "jam", "spam"]
    with pytest.warns(EmptyClassWarning, match="ham"):
        assert (clf.predict_proba(data)[:, 0] == 0).all()
    same_model(clf.partial_fit(data[late], Y[late]), whole, data)


def test_new_columns_by_name(counting):
    """A word that a batch does not have counts zero there."""
    names = list("abcdef")
    whole = pd.DataFrame(X, columns=names)
    first, second = whole[:100][list("abcd")], whole[100:][list("fedcab")]
    padded = whole.copy()
    padded.loc[:99, ["e", "f"]] = 0
    expected = counting().fit(padded, Y)
    streamed = counting().partial_fit(first, Y[:100]).partial_fit(second, Y[100:])
    merged = counting().fit(first, Y[:100]) + counting().fit(second, Y[100:])
    for clf in (streamed, merged):
        order = clf.feature_names_in_.tolist()
        assert sorted(order) == names
        assert order[:4] == list("abcd")
        np.testing.assert_allclose(clf.log_likelihood(padded[order]), expected.log_likelihood(padded), rtol=1e-12)
        with pytest.raises(DataError, match="same order"):
            clf.predict(padded[order[::-1]])
    forgotten = streamed.forget(second, Y[100:])
    np.testing.assert_allclose(
        forgotten.statistics_.count[:, :4], counting().fit(first, Y[:100]).statistics_.count, atol=1e-12
    )


def test_new_columns_of_categories_are_missing_before():
    names = list("abcdef")
    whole = pd.DataFrame(SMALL, columns=names)
    holed = whole.astype(object)
    holed.loc[:99, ["e", "f"]] = None
    expected = CategoricalClassifier().fit(holed, Y)
    first, second = whole[:100][list("abcd")], whole[100:][list("fedcab")]
    for clf in (
        CategoricalClassifier().partial_fit(first, Y[:100]).partial_fit(second, Y[100:]),
        CategoricalClassifier().fit(first, Y[:100]) + CategoricalClassifier().fit(second, Y[100:]),
    ):
        order = clf.feature_names_in_.tolist()
        np.testing.assert_allclose(clf.log_likelihood(whole[order]), expected.log_likelihood(whole), rtol=1e-12)


def test_models_of_other_columns_do_not_merge(kind):
    data = data_of(kind)
    wide, narrow = kind().fit(data, Y), kind().fit(data[:, :3], Y)
    named = kind().fit(pd.DataFrame(data, columns=list("abcdef")), Y)
    for call in (lambda: wide + narrow, lambda: wide + named, lambda: named + wide):
        with pytest.raises(StatisticsError, match="merge"):
            call()
    with pytest.raises(TypeError):
        wide + GaussianClassifier("tied_diag").fit(X, Y)
    with pytest.raises(DataError, match="3 features"):
        wide.partial_fit(data[:, :3], Y)


def test_a_failed_call_leaves_the_model_as_it_was(kind):
    data = data_of(kind)
    clf = kind().fit(data, Y)
    before = clf.log_likelihood(data)
    bad = data.astype(float)
    bad[0, 0] = np.inf
    never = 1 - (data > 0) if kind is BernoulliClassifier else data + 50
    for call in (
        lambda: clf.partial_fit(bad, Y),
        lambda: clf.forget(bad, Y),
        lambda: clf.forget(np.vstack([data, data]), np.concatenate([Y, Y])),
        lambda: clf.forget(data[:1], ["clam"]),
        lambda: clf.forget(never, Y),
        lambda: clf.partial_fit(data[:, :3], Y),
        lambda: clf.partial_fit(data, np.where(np.arange(N) == 3, None, Y)),
    ):
        with pytest.raises((DataError, StatisticsError)):
            call()
        np.testing.assert_array_equal(clf.log_likelihood(data), before)


def test_everything_may_be_forgotten(kind):
    data = data_of(kind)
    clf = kind().fit(data, Y).forget(data, Y)
    with pytest.warns(EmptyClassWarning), pytest.raises(DataError, match="no rows"):
        clf.predict(data)
    same_model(clf.partial_fit(data, Y), kind().fit(data, Y), data)


def test_a_statistic_serves_other_choices(kind):
    data = data_of(kind)
    clf = kind(2.0).fit(data, Y)
    same_model(kind(0.5).fit_statistics(clf.statistics_), kind(0.5).fit(data, Y), data)
    same_model(clf.set_params(alpha=0.5), kind(0.5).fit(data, Y), data)
    with pytest.raises(DataError, match=r"needs C\w+Stats"):
        kind().fit_statistics(GaussianClassifier("tied_diag").fit(X, Y).statistics_)
    if kind in (MultinomialClassifier, PoissonClassifier):
        sums = MultinomialClassifier().fit(X, Y).statistics_
        same_model(kind().fit_statistics(sums), kind().fit(X, Y), X)
        with pytest.raises(DataError, match="presence"):
            BernoulliClassifier().fit_statistics(sums)


def test_saved_models_go_on_learning(kind, tmp_path):
    data = data_of(kind)
    frame = pd.DataFrame(data, columns=["a", "b c", "ü", "", "日本", "f.g:h"])
    for table in (data, frame):
        clf = kind(0.5, prior={"ham": 0.2, "jam": 0.3, "spam": 0.5}).fit(table[:150], Y[:150])
        clf.save(tmp_path / "m")
        loaded = load(tmp_path / "m")
        assert type(loaded) is kind
        assert loaded.get_params() == clf.get_params()
        np.testing.assert_array_equal(loaded.log_likelihood(table), clf.log_likelihood(table))
        np.testing.assert_array_equal(loaded.predict_proba(table), clf.predict_proba(table))
        assert loaded._names() == clf._names()
        rest = kind(0.5).fit(table[150:], Y[150:])
        same_model(load(tmp_path / "m").partial_fit(table[150:], Y[150:]), clf + rest, table)
        same_model(load(tmp_path / "m") + rest, clf + rest, table)
        forgot = kind(0.5, prior=clf.prior).fit(table[50:150], Y[50:150])
        same_model(load(tmp_path / "m").forget(table[:50], Y[:50]), forgot, table)


# What is impossible.


def test_zero_counts_without_pseudo_counts(kind):
    data = [[0, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]]
    clf = kind(alpha=0).fit(data, ["a", "a", "b", "b"])
    both_wrong = [[0, 1, 1]]  # a never has the third, b never has the second, nor misses the first but as a multinomial
    rows = [[1, 1, 0], [1, 0, 1], *both_wrong]
    log_likelihood = clf.log_likelihood(rows)
    assert np.isneginf(log_likelihood).tolist() == [[False, True], [True, False], [True, True]]
    assert not np.isnan(log_likelihood).any()
    np.testing.assert_array_equal(clf.llr(rows), [-np.inf, np.inf, 0])
    assert clf.predict(rows[:2]).tolist() == ["a", "b"]
    np.testing.assert_array_equal(clf.predict_proba(rows[:2]), [[1, 0], [0, 1]])
    np.testing.assert_array_equal(clf.score_samples(both_wrong), [-np.inf])
    shares = clf.explain(rows)
    assert not np.isnan(shares).any()
    prior = [0.3, 0.7]
    for cost in (None, [[0, 1], [1, 0]]):
        with pytest.warns(ImpossibleWarning, match="1 row"):
            assert clf.predict(rows, prior=prior, cost=cost).tolist() == ["a", "b", "b"]
    with pytest.warns(ImpossibleWarning, match="alpha > 0"):
        np.testing.assert_allclose(clf.predict_proba(rows, prior=prior), [[1, 0], [0, 1], prior])
    with pytest.warns(ImpossibleWarning):
        np.testing.assert_allclose(clf.predict_log_proba(both_wrong, prior=prior), np.log([prior]))
    assert np.isfinite(clf.typicality(rows)).all()
    assert np.isfinite(clf.estimate_prior(rows)).all()
    if kind is not CategoricalClassifier:
        table = sp.csr_array(np.array(rows, float))
        np.testing.assert_array_equal(clf.log_likelihood(table), log_likelihood)


def test_pseudo_counts_make_everything_possible(kind):
    data = [[0, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]]
    clf = kind(alpha=1e-9).fit(data, ["a", "a", "b", "b"])
    assert np.isfinite(clf.log_likelihood([[0, 1, 1], [1, 1, 1], [0, 0, 0]])).all()


def test_a_prior_of_zero_rules_a_class_out(kind):
    data = data_of(kind)
    clf = kind().fit(data, Y)
    assert set(clf.predict(data, prior=[0, 0.5, 0.5])) == {"jam", "spam"}
    assert (clf.predict_proba(data, prior=[0, 0.5, 0.5])[:, 0] == 0).all()


def test_a_prior_of_zero_on_the_only_class_that_could_have_been():
    clf = MultinomialClassifier(alpha=0).fit([[1, 0], [0, 1]], ["a", "b"])
    with pytest.warns(ImpossibleWarning):
        assert clf.predict([[1, 0]], prior=[0, 1]).tolist() == ["b"]


def test_empty_documents(counting):
    clf = counting().fit(np.vstack([X, np.zeros((3, D))]), [*Y, "ham", "ham", "jam"])
    for empty in (np.zeros((2, D)), sp.csr_array((2, D))):
        assert np.isfinite(clf.log_likelihood(empty)).all()
        if counting is MultinomialClassifier:
            np.testing.assert_array_equal(clf.log_likelihood(empty), np.zeros((2, 3)))
            np.testing.assert_allclose(clf.predict_proba(empty), np.tile(clf.prior_, (2, 1)))
            np.testing.assert_array_equal(clf.llr(empty, "ham", "jam"), [0, 0])
        clf.typicality(empty)


@pytest.mark.parametrize("alpha", [0, 1])
def test_a_class_of_empty_documents_and_a_corpus_of_them(counting, alpha):
    clf = counting(alpha).fit([[0, 0], [0, 0], [1, 2]], ["a", "a", "b"])
    assert not np.isnan(clf.log_likelihood([[0, 0], [1, 0], [3, 5]])).any()
    blank = counting(alpha).fit(sp.csr_array((3, 2)), ["a", "a", "b"])
    assert not np.isnan(blank.log_likelihood([[0, 0], [1, 0]])).any()
    assert blank.predict([[0, 0]]).tolist() == ["a"]
    assert not np.isnan(blank.explain([[0, 0], [1, 0]])).any()
    assert not np.isnan(blank.sample(3, random_state=0)[0]).any()


@pytest.mark.parametrize(
    "table", [np.zeros((2, 0)), sp.csr_array((2, 0)), pd.DataFrame(index=[0, 1]), [[], []]], ids=str
)
def test_an_empty_vocabulary_is_refused(kind, table):
    with pytest.raises(DataError, match="0 feature"):
        kind().fit(table, ["a", "b"])


def test_one_class_only(kind):
    data = data_of(kind)
    clf = kind().fit(data, ["only"] * N)
    assert set(clf.predict(data)) == {"only"}
    np.testing.assert_array_equal(clf.predict_proba(data), np.ones((N, 1)))
    assert clf.log_likelihood(data).shape == (N, 1)
    with pytest.raises(DataError, match="give two"):
        clf.llr(data)


def test_one_row_for_each_class(kind):
    clf = kind().fit([[1, 0, 3], [0, 2, 0]], ["a", "b"])
    assert clf.predict([[1, 0, 3], [0, 2, 0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_column_all_missing(kind, alpha):
    data = np.array(data_of(kind), float)
    in_all = np.column_stack([data, np.full(N, np.nan)])
    clf = kind(alpha).fit(in_all, Y)
    if kind is not MultinomialClassifier:  # of which a further column is a further word
        expected = kind(alpha).fit(data, Y).log_likelihood(data)
        np.testing.assert_allclose(clf.log_likelihood(in_all), expected, rtol=1e-12, atol=1e-12)
    filled = np.column_stack([data, np.ones(N)])
    assert not np.isnan(clf.log_likelihood(filled)).any()
    in_one = np.column_stack([data, np.where(Y == "ham", np.nan, data[:, 0])])
    clf = kind(alpha).fit(in_one, Y)
    scores = clf.log_likelihood(np.column_stack([data, data[:, 0]]))
    assert not np.isnan(scores).any()
    assert not np.isnan(clf.explain(in_one, "ham", "jam")).any()
    assert np.isfinite(clf.log_likelihood(in_one)[Y == "ham", 0]).all()


def test_rows_that_miss_everything_are_decided_by_the_prior(kind):
    data = data_of(kind)
    clf = kind().fit(data, Y)
    np.testing.assert_allclose(clf.predict_proba([[np.nan] * D]), [clf.prior_])
    np.testing.assert_allclose(clf.log_likelihood([[np.nan] * D]), np.zeros((1, 3)), atol=1e-12)


def test_a_missing_cell_does_not_count(kind):
    data = np.array(data_of(kind), float)
    clf = kind(0.5).fit(holes(data), Y)
    if kind is MultinomialClassifier:  # as if the missing cells were like those that are not
        means = np.array([np.nanmean(holes(data)[label == Y], axis=0) for label in clf.classes_])
        count = means * np.array([(label == Y).sum() for label in clf.classes_])[:, None] + 0.5
        expected = np.log(count / count.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(clf.density_.one, expected)
        return
    single = []
    for j in range(D):
        here = ~np.isnan(holes(data)[:, j])
        single.append(kind(0.5).fit(data[here, j : j + 1], Y[here]).log_likelihood(data[:, j : j + 1]))
    np.testing.assert_allclose(clf.log_likelihood(data), sum(single), rtol=1e-9)
    seen = ~np.isnan(holes(data))
    expected = sum(np.where(seen[:, j : j + 1], part, 0.0) for j, part in enumerate(single))
    np.testing.assert_allclose(clf.log_likelihood(holes(data)), expected, rtol=1e-9, atol=1e-9)


def test_words_that_are_all_alike_are_all_typical():
    clf = MultinomialClassifier().fit(np.ones((4, 3)), [0, 0, 1, 1])
    assert (clf.typicality([[5, 0, 0], [3, 3, 3], [0, 0, 1]]) == 1).all()
    assert clf.predict_open_set([[5, 0, 0]]).tolist() == [0]


def test_a_feature_that_a_class_never_had_says_nothing():
    clf = MultinomialClassifier(alpha=0).fit([[1, np.nan], [2, np.nan], [1, 5], [2, 6]], [0, 0, 1, 1])
    assert clf.llr([[1, 5]]).tolist() == [0.0]


# Bad input.

BAD_COUNTS = [
    (np.where(np.eye(N, D), -1, X), r"Negative values in data: column 0, 1, 2, 3, 4 and 1 more"),
    (sp.csr_array(np.where(np.arange(D) == 2, -1, X)), r"column 2 holds negative"),
    (pd.DataFrame(X, columns=list("abcdef")).assign(c=-1.5), "column 'c' holds negative"),
    (np.where(np.arange(D) == 3, np.inf, X), "column 3 holds infinity"),
    (sp.csr_array(np.where(np.arange(D) == 3, np.nan, X)), "column 3 holds infinity or, in a sparse matrix, NaN"),
    (X.astype(complex), "Complex"),
    (np.array([["a", 1.0]] * N, object), "column 0 .*not hold numbers|text in column 0"),
    (pd.DataFrame({"a": X[:, 0], "b": ["x"] * N}), "'b'"),
]


@pytest.mark.parametrize(("data", "words"), BAD_COUNTS)
@pytest.mark.parametrize("kind", [MultinomialClassifier, PoissonClassifier])
def test_what_is_no_count_is_refused_by_name(kind, data, words):
    with pytest.raises(DataError, match=words):
        kind().fit(data, Y)
    names = list(data.columns) if isinstance(data, pd.DataFrame) else None
    wide = np.ones((N, data.shape[1]))
    clf = kind().fit(pd.DataFrame(wide, columns=names) if names else wide, Y)
    with pytest.raises(DataError, match=words):
        clf.predict(data)


NOT_ABOVE = np.array([[2.0, -1.0], [0.0, 3.0]])


@pytest.mark.parametrize("kept_sparse", [False, True])
@pytest.mark.parametrize(
    "table",
    [NOT_ABOVE, sp.csr_array((NOT_ABOVE.ravel(), [0, 1, 0, 1], [0, 2, 4]))],  # which stores its zero
    ids=["dense", "sparse"],
)
@pytest.mark.parametrize("name", kernels.available())
def test_what_is_not_above_zero_is_absent(table, name, kept_sparse, monkeypatch):
    if kept_sparse:
        monkeypatch.setattr(suffice.stats.counts, "DENSE", 0)
    with kernels.using(name):
        clf = BernoulliClassifier().fit(table, ["a", "b"])
        same_model(clf, BernoulliClassifier().fit([[1, 0], [0, 1]], ["a", "b"]), [[1, 0], [0, 1]])
        np.testing.assert_array_equal(clf.log_likelihood(table), clf.log_likelihood([[1, 0], [0, 1]]))
        spoilt = table.copy()
        spoilt[0, 0] = np.inf
        with pytest.raises(DataError, match="column 0 holds infinity"):
            BernoulliClassifier().fit(spoilt, ["a", "b"])
    with pytest.raises(DataError, match="column 0 holds infinity"):
        clf.predict([[np.inf, 0]])


BAD_TABLES = [
    (X, np.where(Y == "ham", None, Y), None, rf"{(Y == 'ham').sum()} missing labels"),
    (X, Y[:-1], None, f"{N} rows, y has {N - 1}"),
    (X, None, None, "target y is None"),
    (X, Y, np.zeros(N), "all weights are zero"),
    (X, Y, -np.ones(N), "not negative"),
    (X[:0], Y[:0], None, "0 sample"),
    (X[:, 0], Y, None, "Reshape your data"),
    (X, "species", None, "no column names"),
    (pd.DataFrame(X[:, :2], columns=["a", "a"]), Y, None, "'a' appears more than once"),
    (X + np.where(np.eye(N, D), np.inf, 0), Y, None, r"column 0"),
]


@pytest.mark.parametrize(("data", "labels", "weight", "words"), BAD_TABLES)
def test_bad_input_is_refused_in_clear_words(kind, data, labels, weight, words):
    with pytest.raises(DataError, match=words):
        kind().fit(data, labels, weight)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"alpha": -1}, "not negative"),
        ({"alpha": np.nan}, "not negative"),
        ({"alpha": "much"}, "not negative"),
        ({"alpha": True}, "not negative"),
        ({"alpha": [[[1, 1]]]}, "not negative"),
    ],
)
def test_bad_pseudo_counts_are_refused(kind, params, words):
    with pytest.raises(DataError, match=words):
        kind(**params).fit(data_of(kind), Y)
    clf = kind().fit(data_of(kind), Y)
    with pytest.raises(DataError, match=words):
        clf.set_params(**params).predict(data_of(kind))


@pytest.mark.parametrize(
    ("clf", "words"),
    [
        (CategoricalClassifier(unknown="panic"), "choose one of 'smooth', 'ignore', 'error'"),
        (CategoricalClassifier(unknown=None), "choose one of"),
        (CategoricalClassifier(unknown=["smooth"]), "choose one of"),
        (MultinomialClassifier(complement="yes"), '"normalized"'),
        (MultinomialClassifier(complement=True, predictive=True), "one of the two"),
    ],
)
def test_bad_choices_are_refused(clf, words):
    with pytest.raises(DataError, match=words):
        clf.fit(SMALL, Y)


def test_fractional_counts(counting):
    half = X / 2
    clf = counting().fit(half, Y)
    assert np.isfinite(clf.log_likelihood(half)).all()
    np.testing.assert_allclose(clf.log_likelihood(sp.csr_array(half)), clf.log_likelihood(half), rtol=1e-12)
    if counting is MultinomialClassifier:
        theirs = MultinomialNB(alpha=1.0).fit(half, Y)
        np.testing.assert_allclose(clf.predict_log_proba(half), theirs.predict_log_proba(half), rtol=1e-10, atol=1e-12)


def test_what_complements_cannot_do_is_said():
    clf = MultinomialClassifier(complement=True).fit(X, Y)
    for call in (clf.sample, lambda: clf.typicality(X), lambda: clf.impute(holes(X))):
        with pytest.raises(DataError, match="not probabilities"):
            call()


# Categories.

FUR = pd.DataFrame({"fur": ["black", "orange", "white", "black"], "eyes": ["green", "blue", "green", "green"]})
SEX = ["m", "m", "f", "f"]
STRANGE = pd.DataFrame({"fur": ["pink", "black", None], "eyes": ["green", "red", "violet"]})


def test_unseen_categories_by_policy():
    smooth = CategoricalClassifier(1, "smooth").fit(FUR, SEX)
    fur = CategoricalClassifier(1, "smooth").fit(FUR[["fur"]].to_numpy(), SEX)
    np.testing.assert_allclose(fur.log_likelihood([["pink"]]), np.log([[1 / 5, 1 / 5]]))
    assert fur.log_likelihood([["pink"]])[0, 0] == fur.log_likelihood([["orange"]])[0, 0]  # f never had it
    ignore = CategoricalClassifier(1, "ignore").fit(FUR, SEX)
    np.testing.assert_allclose(
        ignore.log_likelihood(STRANGE), ignore.log_likelihood(STRANGE.where(STRANGE.isin(["black", "green"]), None))
    )
    for clf in (smooth, ignore):
        assert clf.unknown_cells(STRANGE).tolist() == [[True, False], [False, True], [False, True]]
        assert not clf.unknown_cells(FUR).any()
    strict = CategoricalClassifier(1, "error").fit(FUR, SEX)
    strict.predict(FUR)
    assert strict.unknown_cells(STRANGE).sum() == 3
    with pytest.raises(DataError, match=r"column 'fur' holds 'pink'.* never seen"):
        strict.predict(STRANGE)
    with pytest.raises(DataError, match=r"column 'eyes' holds 'red'"):
        strict.log_likelihood(STRANGE.assign(fur="black"))


def test_unseen_categories_without_pseudo_counts_are_impossible():
    clf = CategoricalClassifier(0, "smooth").fit(FUR, SEX)
    assert np.isneginf(clf.log_likelihood(STRANGE[:1])).all()
    with pytest.warns(ImpossibleWarning):
        np.testing.assert_array_equal(clf.predict_proba(STRANGE[:1]), [[0.5, 0.5]])


def test_an_unseen_code_is_named_as_it_is_written():
    clf = CategoricalClassifier(unknown="error").fit(np.arange(100)[:, None] % 5, np.arange(100) % 2)
    with pytest.raises(DataError, match="column 0 holds 7"):
        clf.predict(np.where(np.arange(5000) > 4500, 7, 1)[:, None])


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "O", "U3"])
def test_codes_of_every_type(dtype):
    codes, data = SMALL, SMALL.astype(dtype)
    clf = CategoricalClassifier().fit(data, Y)
    plain = CategoricalClassifier().fit(codes.astype(np.int64), Y)
    np.testing.assert_allclose(clf.log_likelihood(data), plain.log_likelihood(codes), rtol=1e-12)
    np.testing.assert_allclose(clf.log_likelihood(codes), plain.log_likelihood(codes), rtol=1e-12)
    np.testing.assert_allclose(plain.log_likelihood(data), plain.log_likelihood(codes), rtol=1e-12)


@pytest.mark.parametrize("spread", [1, 7, 1000, 10**6, 2**40])
def test_codes_with_gaps_and_below_zero(spread):
    codes = (SMALL - 2) * spread
    clf = CategoricalClassifier().fit(codes, Y)
    plain = CategoricalClassifier().fit(SMALL, Y)
    np.testing.assert_allclose(clf.log_likelihood(codes), plain.log_likelihood(SMALL), rtol=1e-12)
    for j in range(D):
        assert clf.categories_[j].tolist() == ((np.unique(SMALL[:, j]) - 2) * spread).tolist()
    gap = np.full((1, D), spread // 2 + 1 if spread > 1 else 99)
    assert clf.unknown_cells(gap).all()
    np.testing.assert_allclose(clf.log_likelihood(gap), plain.log_likelihood(np.full((1, D), 99)), rtol=1e-12)


def test_the_largest_integers_stay_apart():
    big = np.array([[2**63], [2**63 + 1], [2**64 - 1], [0]], np.uint64)
    clf = CategoricalClassifier(0).fit(big, ["a", "b", "c", "d"])
    assert clf.predict(big).tolist() == ["a", "b", "c", "d"]
    signed = np.array([[-(2**63)], [-(2**63) + 1], [2**63 - 1], [0]])
    assert CategoricalClassifier(0).fit(signed, ["a", "b", "c", "d"]).predict(signed).tolist() == ["a", "b", "c", "d"]


def test_numbers_in_one_frame_and_text_in_the_next():
    numbers = [[1], [2], [2], [3]]
    labels = ["a", "a", "b", "b"]
    expected = CategoricalClassifier().fit(numbers + numbers, labels + labels)
    same = {
        "text": [["1"], ["2"], ["2"], ["3"]],
        "floats": [[1.0], [2.0], [2.0], [3.0]],
        "float32": np.array(numbers, np.float32),
        "objects": np.array([[1], ["2"], [2.0], [np.int8(3)]], object),
        "bytes": np.array([[b"1"], [b"2"], [b"2"], [b"3"]]),
        "pandas category": pd.DataFrame({0: pd.Categorical(["1", "2", "2", "3"])}),
        "pandas category of floats": pd.DataFrame({0: pd.Categorical([1.0, 2.0, 2.0, 3.0])}),
    }
    for name, table in same.items():
        clf = CategoricalClassifier().fit(numbers, labels)
        np.testing.assert_allclose(
            clf.log_likelihood(table), clf.log_likelihood(numbers), err_msg=f"scoring {name}", rtol=1e-12
        )
        clf.partial_fit(table, labels)
        assert len(clf.categories_[0]) == 3, name
        for rows in (numbers, table):
            np.testing.assert_allclose(
                clf.log_likelihood(rows), expected.log_likelihood(numbers), err_msg=name, rtol=1e-12
            )
        back = CategoricalClassifier().fit(table, labels).partial_fit(numbers, labels)
        np.testing.assert_allclose(back.log_likelihood(numbers), expected.log_likelihood(numbers), err_msg=name)
        merged = CategoricalClassifier().fit(table, labels) + CategoricalClassifier().fit(numbers, labels)
        np.testing.assert_allclose(merged.log_likelihood(table), expected.log_likelihood(numbers), err_msg=name)
        forgotten = merged.forget(table, labels)
        np.testing.assert_allclose(
            forgotten.log_likelihood(numbers), CategoricalClassifier().fit(numbers, labels).log_likelihood(numbers)
        )


def test_the_empty_text_is_a_category():
    clf = CategoricalClassifier(0).fit([[""], [""], ["x"]], ["a", "a", "b"])
    assert clf.categories_[0].tolist() == ["", "x"]
    assert clf.predict([[""], ["x"]]).tolist() == ["a", "b"]
    np.testing.assert_allclose(clf.predict_proba([[None]]), [[2 / 3, 1 / 3]])


def test_truths_and_their_names():
    clf = CategoricalClassifier().fit([[True], [False], [True]], ["a", "b", "b"])
    assert clf.categories_[0].tolist() == [False, True]
    np.testing.assert_array_equal(clf.log_likelihood([["True"], ["False"]]), clf.log_likelihood([[True], [False]]))


def test_new_categories_may_come_at_any_time():
    a, b = [["red"], ["blue"]], [["green"], ["amber"], ["red"]]
    whole = CategoricalClassifier().fit(a + b, list("xyxyy"))
    streamed = CategoricalClassifier().partial_fit(a, list("xy")).partial_fit(b, list("xyy"))
    merged = CategoricalClassifier().fit(b, list("xyy")) + CategoricalClassifier().fit(a, list("xy"))
    for clf in (streamed, merged):
        assert clf.categories_[0].tolist() == ["amber", "blue", "green", "red"]
        same_model(clf, whole, a + b)
    same_model(streamed.forget(b, list("xyy")), CategoricalClassifier().fit(a, list("xy")), a + b)
    assert streamed.categories_[0].tolist() == ["blue", "red"]


def test_a_sparse_matrix_of_categories_is_refused_with_advice():
    with pytest.raises(DataError, match="sparse matrix holds numbers, not categories; pass it dense"):
        CategoricalClassifier().fit(sp.csr_array(SMALL), Y)
    clf = CategoricalClassifier().fit(SMALL, Y)
    with pytest.raises(DataError, match="sparse"):
        clf.predict(sp.csr_array(SMALL))


def test_vocabularies_of_every_kind_are_saved(tmp_path):
    frame = pd.DataFrame(
        {
            "text": ["", "Gruß", "日本", "x\0y", " ", "🦆"],
            "numbers": [3, -1, 2, 2, 7, 0],
            "fractions": [0.5, 0.25, np.nan, 1e300, -0.0, 2.0],
            "truths": [True, False, True, True, False, False],
            "mixed": [1, "one", 2.5, True, None, "1"],
            "never": [None] * 6,
        }
    )
    labels = list("ababab")
    clf = CategoricalClassifier(0.5).fit(frame, labels)
    clf.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert [v.tolist() for v in loaded.categories_] == [v.tolist() for v in clf.categories_]
    assert [v.dtype for v in loaded.categories_] == [v.dtype for v in clf.categories_]
    np.testing.assert_array_equal(loaded.log_likelihood(frame), clf.log_likelihood(frame))
    assert not loaded.unknown_cells(frame).any()
    same_model(loaded.partial_fit(frame, labels), clf.partial_fit(frame, labels), frame)
    assert pd.isna(loaded.sample(3, random_state=0)[0][:, 5]).all()


# Text.

CORPUS = [
    ("the cat sat on the mat", "cats"),
    ("a cat and another cat", "cats"),
    ("the dog ran after the cat", "dogs"),
    ("dogs run and dogs bark", "dogs"),
    ("the market fell on monday", "money"),
    ("money in the market", "money"),
]
TEXTS, TOPICS = zip(*CORPUS, strict=True)


def test_words_pairs_and_triplets():
    pipe = make_pipeline(CountVectorizer(ngram_range=(1, 3)), MultinomialClassifier(alpha=0.1)).fit(TEXTS, TOPICS)
    assert pipe.predict(TEXTS).tolist() == list(TOPICS)
    assert pipe.predict(["another cat sat", "the market", "dogs bark"]).tolist() == ["cats", "money", "dogs"]
    theirs = make_pipeline(CountVectorizer(ngram_range=(1, 3)), MultinomialNB(alpha=0.1)).fit(TEXTS, TOPICS)
    new = ["the cat fell", "", "nothing known here"]
    np.testing.assert_allclose(pipe.predict_log_proba(new), theirs.predict_log_proba(new), rtol=1e-10)
    names = pipe[0].get_feature_names_out()
    shares = pipe[1].explain(pipe[0].transform(["the cat and another cat"]), "money", "cats")[0]
    assert names[shares.argmax()] in ("cat", "another cat")


def test_tokens_and_occurrences_are_one_model():
    """SPEC 4.5."""
    rng = np.random.default_rng(0)
    lengths, tokens = rng.integers(1, 9, 40), rng.integers(0, 5, (40, 8))
    labels = np.arange(40) % 2
    counts = np.array([np.bincount(row[:m], minlength=5) for row, m in zip(tokens, lengths, strict=True)])
    flat = np.concatenate([row[:m] for row, m in zip(tokens, lengths, strict=True)])[:, None]
    by_token = CategoricalClassifier(0.5).fit(flat, np.repeat(labels, lengths))
    by_count = MultinomialClassifier(0.5).fit(counts, labels)
    ratio = np.add.reduceat(by_token.llr(flat), np.cumsum(lengths) - lengths)
    np.testing.assert_allclose(by_count.llr(counts), ratio, rtol=1e-10, atol=1e-12)


@pytest.fixture(params=[BernoulliClassifier, MultinomialClassifier])
def hashed(request):
    """Models that work where a table of classes by features does not fit."""
    return request.param


def sparse_storage(monkeypatch):
    monkeypatch.setattr(suffice.stats.counts, "DENSE", 0)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("pieces", [base.PIECE, 1000], ids=["one piece", "many pieces"])
def test_counts_kept_sparse_are_the_same_model(hashed, alpha, pieces, monkeypatch, tmp_path):
    monkeypatch.setattr(base, "PIECE", pieces)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 30, 400)
    data = sp.coo_array(rng.integers(1, 4, (400, 50)) * (rng.random((400, 50)) < 0.1) * 1.0)
    data = data.tocsr()
    dense = hashed(alpha).fit(data, labels)
    part = hashed(alpha).fit(data[:300], labels[:300])
    assert not dense.statistics_.is_sparse
    wanted, wanted_part = dense.log_likelihood(data), part.log_likelihood(data)
    sparse_storage(monkeypatch)
    clf = hashed(alpha).fit(data, labels)
    assert clf.statistics_.is_sparse
    streamed = hashed(alpha).partial_fit(data[:300], labels[:300]).partial_fit(data[300:], labels[300:])
    merged = hashed(alpha).fit(data[:300], labels[:300]) + hashed(alpha).fit(data[300:], labels[300:])
    clf.save(tmp_path / "m")
    for model in (clf, streamed, merged, load(tmp_path / "m"), hashed(alpha).fit(data.tocsc(), labels)):
        assert model.statistics_.is_sparse
        np.testing.assert_allclose(model.log_likelihood(data), wanted, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(clf.log_likelihood(data.toarray()), wanted, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(clf.predict(data), dense.predict(data))
    np.testing.assert_allclose(clf.predict_proba(data), dense.predict_proba(data), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(clf.llr(data, 3, 5), dense.llr(data, 3, 5), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(clf.explain(data, 3, 5), dense.explain(data, 3, 5), rtol=1e-9, atol=1e-9)
    forgotten = streamed.forget(data[300:], labels[300:])
    np.testing.assert_allclose(forgotten.log_likelihood(data), wanted_part, rtol=1e-10, atol=1e-10)
    with pytest.raises(StatisticsError, match=r"never learnt|more than was learnt"):
        forgotten.forget(data[300:] * 5, labels[300:])
    weighted = hashed(alpha).fit(data, labels, sample_weight=np.full(400, 2.0))
    np.testing.assert_allclose(weighted.statistics_.count.toarray(), 2 * dense.statistics_.count)


def test_counts_kept_sparse_refuse_what_are_no_counts(hashed, monkeypatch):
    sparse_storage(monkeypatch)
    bad = sp.csr_array([[1.0, np.inf], [0.0, 2.0]])
    with pytest.raises(DataError, match="column 1 holds infinity"):
        hashed().fit(bad, [0, 1])
    negative = sp.csr_array([[1.0, -1.0], [0.0, 2.0]])
    if hashed is MultinomialClassifier:
        with pytest.raises(DataError, match="column 1 holds negative"):
            hashed().fit(negative, [0, 1])
    else:
        same_model(hashed().fit(negative, [0, 1]), hashed().fit(sp.csr_array([[1.0, 0], [0, 2.0]]), [0, 1]), negative)


def test_what_needs_a_table_that_does_not_fit_says_so(monkeypatch):
    sparse_storage(monkeypatch)
    data = sp.csr_array(X)
    for clf in (
        PoissonClassifier(),
        MultinomialClassifier(complement=True),
        MultinomialClassifier(predictive=True),
    ):
        with pytest.raises(DataError, match="too many"):
            clf.fit(data, Y)
    clf = MultinomialClassifier().fit(data, Y)
    for call in (lambda: clf.sample(3), lambda: clf.typicality(data)):
        with pytest.raises(DataError, match="not supported"):
            call()


def test_hashed_words_of_many_classes():
    """1000 classes of a million features: a table would take 8 GB."""
    words = [f"w{i} w{i + 1} common" for i in range(1000)]
    pipe = make_pipeline(HashingVectorizer(alternate_sign=False, norm=None), MultinomialClassifier(alpha=0.01))
    pipe.fit(words * 2, [*range(1000)] * 2)
    assert pipe[1].statistics_.is_sparse
    assert np.mean(pipe.predict(words) == np.arange(1000)) == 1


# Threads, floats of 32 bits, kernels.


def test_threads_change_nothing(kind, monkeypatch):
    monkeypatch.setattr(base, "PIECE", 60)
    data = holes(data_of(kind), share=0.05)
    weight = np.random.default_rng(2).random(N)
    one, four = kind(n_jobs=1).fit(data, Y, weight), kind(n_jobs=4).fit(data, Y, weight)
    for name, array in one.statistics_.to_arrays().items():
        np.testing.assert_array_equal(four.statistics_.to_arrays()[name], array)
    np.testing.assert_array_equal(one.log_likelihood(data), four.log_likelihood(data))
    np.testing.assert_array_equal(one.predict_proba(data), four.predict_proba(data))


def test_threads_change_nothing_of_a_sparse_matrix(counting, monkeypatch):
    monkeypatch.setattr(base, "PIECE", 60)
    data, weight = sp.csr_array(X), np.random.default_rng(2).random(N)
    one, four = counting(n_jobs=1).fit(data, Y, weight), counting(n_jobs=4).fit(data, Y, weight)
    np.testing.assert_array_equal(one.statistics_.count, four.statistics_.count)
    np.testing.assert_array_equal(one.log_likelihood(data), four.log_likelihood(data))


def test_categories_that_first_show_in_different_pieces(monkeypatch):
    monkeypatch.setattr(base, "PIECE", 8)
    values = np.array([f"c{i // 3}" for i in range(60)], object)[:, None]
    clf = CategoricalClassifier(n_jobs=4).fit(values, np.arange(60) % 2)
    assert len(clf.categories_[0]) == 20
    np.testing.assert_array_equal(clf.statistics_.count.sum(axis=0), np.full(20, 3.0))
    codes = CategoricalClassifier(n_jobs=4).fit(np.arange(60)[:, None] // 3, np.arange(60) % 2)
    np.testing.assert_array_equal(codes.statistics_.count.sum(axis=0), np.full(20, 3.0))


def test_every_kernel_gives_the_same_model(kind):
    data = holes(data_of(kind))
    with kernels.using("reference"):
        expected = kind().fit(data, Y).log_likelihood(data)
    for name in kernels.available():
        with kernels.using(name):
            np.testing.assert_allclose(kind().fit(data, Y).log_likelihood(data), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "labels",
    [LABELS, LABELS.astype(object), np.array([1, 2, 3]), np.array([1.0, 2.0, 3.0]), LABELS.astype("S")],
    ids=lambda labels: labels.dtype.str,
)
def test_labels_come_back_as_they_were(kind, labels):
    y = labels[np.searchsorted(LABELS, Y)]
    clf = kind().fit(data_of(kind), y)
    assert clf.classes_.dtype.kind == clf.predict(data_of(kind)).dtype.kind == labels.dtype.kind
    assert set(clf.predict(data_of(kind))) <= set(labels)


def test_representations(kind):
    clf = kind(0.5)
    assert repr(clf) == f"{kind.__name__}(alpha=0.5)"
    clf.fit(data_of(kind), Y)
    assert kind.__name__ in clf._repr_html_()
    assert "3 classes, 6 features" in repr(clf.statistics_)
    assert "3 classes, 6 features" in repr(clf.density_)


def test_warnings_are_silent_where_nothing_is_wrong(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = kind(alpha=0).fit([[1, 0], [0, 1], [1, 1]], ["a", "b", "a"])
        clf.predict([[1, 1]])
        clf.predict_proba([[1, 1]])


@pytest.mark.parametrize("predictive", [False, True])
@pytest.mark.parametrize("kind", [PoissonClassifier, MultinomialClassifier])
def test_counts_that_are_drawn_are_integers(kind, predictive):
    rows, _ = kind(predictive=predictive).fit(X, Y).sample(5, random_state=0)
    assert rows.dtype.kind == "i"
    assert BernoulliClassifier().fit(X, Y).sample(5)[0].dtype.kind == "i"


# Odd but fair.


@pytest.mark.parametrize("kind", [BernoulliClassifier, MultinomialClassifier, PoissonClassifier, CategoricalClassifier])
def test_packed_records_are_read(kind):
    packed = np.zeros(N, np.dtype([("pad", "i1"), ("x", "i8", D)]))
    packed["x"] = X
    clf = kind().fit(packed["x"], Y)
    np.testing.assert_allclose(clf.log_likelihood(packed["x"]), kind().fit(X, Y).log_likelihood(X))


def test_infinity_in_a_row_without_weight_is_no_category():
    clf = CategoricalClassifier().fit([[1.0], [np.inf], [2.0]], ["a", "b", "b"], sample_weight=[1, 0, 1])
    assert clf.categories_[0].tolist() == [1, 2]
    with pytest.raises(DataError, match="a category cannot be infinite"):
        CategoricalClassifier().fit([[1.0], [np.inf], [2.0]], ["a", "b", "b"])


@pytest.mark.parametrize("kind", [BernoulliClassifier, MultinomialClassifier, PoissonClassifier])
def test_values_whose_sums_overflow_in_single_precision_are_scored(kind):
    clf = kind().fit(np.eye(2), ["a", "b"])
    rows = np.array([[3e38, 0], [3e38, 1], [1, 3e38]], np.float32)
    np.testing.assert_allclose(clf.predict_proba(sp.csr_array(rows)), clf.predict_proba(rows), atol=1e-12)
    twice = sp.csr_array((np.full(2, 3e38, np.float32), [0, 0], [0, 2]), shape=(1, 2))
    np.testing.assert_allclose(clf.predict_proba(twice), clf.predict_proba([[6e38, 0]]), atol=1e-12)
    assert kind().fit(sp.vstack([twice, twice]), ["a", "b"]).statistics_.is_finite()


@pytest.mark.parametrize("table", [np.asarray, sp.csr_array])
def test_sums_that_overflow_are_named(table):
    with pytest.raises(DataError, match="counts are too large: their sums overflow"):
        PoissonClassifier().fit(table(np.full((2, 2), 1.7e308)), ["a", "a"])


def test_a_vocabulary_is_looked_into_again_and_again(monkeypatch):
    built = []

    class Counted(vocabularies.CategoryIndex):
        def __init__(self, categories):
            built.append(len(categories))
            super().__init__(categories)

    clf = CategoricalClassifier(n_jobs=1).fit(pd.DataFrame({"a": list("xyzx"), "b": list("uuvu")}), list("pqpq"))
    monkeypatch.setattr(vocabularies, "CategoryIndex", Counted)
    rows = pd.DataFrame({"a": list("xyzx") * 900, "b": list("uuvu") * 900})  # more than a piece of scores
    monkeypatch.setattr("suffice.scoring.loop._SCORES", 1)
    clf.predict(rows)
    clf.llr(rows)
    assert sorted(built) == [2, 3]


@pytest.mark.parametrize("n", [1, 3, 40])
def test_a_table_by_value_has_a_limit_for_all_columns_together(n, monkeypatch):
    codes = np.arange(12).reshape(4, 3) * n
    clf = CategoricalClassifier().fit(codes, list("abab"))
    expected = clf.log_likelihood(codes)
    monkeypatch.setattr("suffice.densities.categorical.CELLS", 2 * 3 * 10)  # two classes, three columns of ten values
    clf = CategoricalClassifier().fit(codes, list("abab"))
    assert clf.density_.read(Matrix(codes)).direct == (n == 1)
    np.testing.assert_array_equal(clf.log_likelihood(codes), expected)


def test_a_tidy_explanation_converts_the_table_once(monkeypatch):
    clf = CategoricalClassifier().fit(pd.DataFrame({"a": list("xyzx"), "b": list("uuvu")}), list("pqpq"))
    converted = []
    monkeypatch.setattr("suffice.sources.array_source", lambda *given: converted.append(1) or array_source(*given))
    shares = clf.explain(pd.DataFrame({"a": ["x", None, "q"], "b": ["u", "v", "v"]}), tidy=True)
    assert len(converted) == 1
    assert shares[["row", "column", "value"]].to_dict("records") == [
        {"row": 0, "column": "b", "value": "u"},
        {"row": 1, "column": "b", "value": "v"},
        {"row": 2, "column": "b", "value": "v"},
    ]


@pytest.mark.parametrize("model", [CategoricalClassifier(), CategoricalClassifier(structure="tree"), MixedClassifier()])
def test_what_no_class_has_had_is_no_evidence_for_rare_classes(model):
    table = pd.DataFrame({"plan": ["a", "b", "c", "b"] * 250, "other": ["u", "v"] * 500})
    clf = model.fit(table, np.where(np.arange(1000) % 250, "ok", "fraud"))
    strange = clf.predict_proba(pd.DataFrame({"plan": ["d", "d"], "other": ["z", None]}))
    np.testing.assert_allclose(strange, np.broadcast_to(clf.prior_, (2, 2)), rtol=1e-9)
