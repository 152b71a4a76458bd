"""Leaving a row out of a discrete model equals fitting the others, whatever disappears with it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.naive_bayes import CategoricalNB, MultinomialNB

from suffice import BernoulliClassifier, CategoricalClassifier, MultinomialClassifier, PoissonClassifier
from suffice.errors import DataError
from suffice.stats import counts

from .refits import assert_it_equals_n_fits, refitted


def counted(kind):
    """Rows of counts, labels and weights."""
    rng = np.random.default_rng(5)
    X = rng.poisson(rng.gamma(1.0, 1.0, size=6) * 1.5, size=(30, 6)).astype(float)
    y, weight = rng.integers(3, size=30), None
    if kind == "weighted":
        weight = rng.random(30)
        weight[[3, 4]] = 0
        X[4, 2] = np.nan  # nobody counts this row
    elif kind == "a class of one":
        y[7] = 9
    elif kind == "a class of weight zero":
        y[7], weight = 9, np.where(np.arange(30) == 7, 0.0, 2.0)
    elif kind == "missing cells":
        X[rng.random(X.shape) < 0.3] = np.nan
        X[5] = np.nan
        weight = rng.random(30)
    elif kind == "a column that a class has in one row":
        X[y == 1, 2] = np.nan
        X[np.flatnonzero(y == 1)[0], 2] = 2
        X[y == 2, 3] = np.nan
    elif kind == "a column that only one row has":
        X[1:, 4] = np.nan
        X[1:, 1] = 0
        X[0, 1] = 3
    elif kind == "a class without counts":
        X[y == 1] = 0
        X[y == 2] = 0
        X[np.flatnonzero(y == 2)[0]] = 1
    elif kind == "a class with counts in one row":
        X[y == 2] = 0
        X[np.flatnonzero(y == 2)[0]] = 1
    elif kind == "nothing is counted":
        X[:] = 0
    elif kind == "one class":
        y[:] = 0
    elif kind == "everything is present":
        X[:, :3] += 1
    elif kind == "fractions":
        X = X * rng.random(X.shape)
    elif kind == "float32, missing cells":
        X = np.where(rng.random(X.shape) < 0.2, np.nan, X * rng.random(X.shape)).astype(np.float32)
    return X, y, weight


COUNT_KINDS = [
    "plain",
    "weighted",
    "a class of one",
    "a class of weight zero",
    "missing cells",
    "a column that a class has in one row",
    "a column that only one row has",
    "a class without counts",
    "a class with counts in one row",
    "nothing is counted",
    "one class",
    "everything is present",
    "fractions",
    "float32, missing cells",
]
COUNT_MODELS = [
    BernoulliClassifier(0),
    BernoulliClassifier(0.3),
    MultinomialClassifier(0),
    MultinomialClassifier(0.3),
    MultinomialClassifier(0.3, predictive=True),
    PoissonClassifier(0),
    PoissonClassifier(0.3),
    PoissonClassifier(0.3, predictive=True),
]


@pytest.mark.parametrize("kind", COUNT_KINDS)
@pytest.mark.parametrize("clf", COUNT_MODELS, ids=str)
def test_counts(clf, kind):
    assert_it_equals_n_fits(clf, *counted(kind))


@pytest.mark.parametrize("kind", ["plain", "weighted", "a class without counts", "float32, missing cells"])
@pytest.mark.parametrize("clf", [COUNT_MODELS[1], *COUNT_MODELS[3:5], *COUNT_MODELS[6:]], ids=str)
def test_pseudo_counts_of_each_feature(clf, kind):
    X, *rest = counted(kind)
    assert_it_equals_n_fits(clone(clf).set_params(alpha=np.linspace(0.1, 2, X.shape[1])), X, *rest)


SPARSE_KINDS = ["plain", "weighted", "a class of one", "a class without counts", "everything is present", "fractions"]


@pytest.mark.parametrize("kind", SPARSE_KINDS)
@pytest.mark.parametrize("clf", COUNT_MODELS, ids=str)
def test_sparse_counts(clf, kind):
    X, y, weight = counted(kind)
    assert_it_equals_n_fits(clf, sparse.csr_array(np.nan_to_num(X)), y, weight)


@pytest.mark.parametrize("kind", SPARSE_KINDS)
@pytest.mark.parametrize("clf", COUNT_MODELS[:4], ids=str)
def test_a_table_of_classes_by_features_that_is_kept_sparse(clf, kind, monkeypatch):
    monkeypatch.setattr(counts, "DENSE", 1)
    X, y, weight = counted(kind)
    assert_it_equals_n_fits(clf, sparse.csr_array(np.nan_to_num(X)), y, weight)


def test_duplicates_in_a_sparse_matrix_are_one_cell():
    X = sparse.csr_array(([1.0, 2, 1, 3, 2], [0, 0, 1, 1, 0], [0, 3, 4, 5]), shape=(3, 2))
    for clf in (MultinomialClassifier(0.5), BernoulliClassifier(0.5), PoissonClassifier(0.5)):
        found = clf.leave_one_out(X, [0, 0, 1])
        np.testing.assert_allclose(found, clf.leave_one_out(X.toarray(), [0, 0, 1]), rtol=1e-12)


def fur(kind):
    """Rows of categories, labels and weights."""
    rng = np.random.default_rng(6)
    X = pd.DataFrame({"a": rng.choice(list("xyz"), 24), "b": rng.integers(4, size=24), "c": rng.random(24) < 0.5})
    y, weight = rng.integers(3, size=24), None
    if kind == "weighted":
        weight = rng.random(24)
        weight[[3, 4]] = 0
        X.loc[4, "a"] = "seen by nobody"
    elif kind == "a class of one":
        y[7] = 9
    elif kind == "a category of one row":
        X.loc[3, "a"], X.loc[5, "b"] = "only here", 77
    elif kind == "two categories":
        X.loc[:, "a"] = "y"
        X.loc[3, "a"] = "x"
    elif kind == "missing cells":
        X = X.astype(object).mask(rng.random(X.shape) < 0.4)
    elif kind == "a column that a class has in one row":
        X = X.astype(object)
        X.loc[y == 1, "a"] = None
        X.loc[np.flatnonzero(y == 1)[0], "a"] = "only here"
        X.loc[y == 2, "b"] = None
    elif kind == "a category that a class has in one row":
        X = X.astype(object)
        X.loc[y == 1, "a"] = None
        X.loc[np.flatnonzero(y == 1)[0], "a"] = "x"
    elif kind == "a column that only one row has":
        X = X.astype(object)
        X.loc[1:, "a"] = None
    elif kind == "integers":
        X = X[["b", "b"]].to_numpy()
    elif kind == "declared categories":
        X.loc[3, "a"] = "only here"
        X = X.astype({"a": pd.CategoricalDtype([*"xyz", "only here", "nowhere"])})
        X["b"] = pd.Categorical(X["b"], range(6))
        X.loc[:20, "b"] = None
    return X, y, weight


FUR_KINDS = [
    "plain",
    "weighted",
    "a class of one",
    "a category of one row",
    "two categories",
    "missing cells",
    "a column that a class has in one row",
    "a category that a class has in one row",
    "a column that only one row has",
    "integers",
    "declared categories",
]


@pytest.mark.parametrize("kind", FUR_KINDS)
@pytest.mark.parametrize("alpha", [0, 0.3])
@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
def test_categories(kind, alpha, unknown):
    assert_it_equals_n_fits(CategoricalClassifier(alpha, unknown), *fur(kind))


@pytest.mark.parametrize("kind", FUR_KINDS)
@pytest.mark.parametrize(("alpha", "unknown"), [(0, "smooth"), (0.3, "smooth"), (0.3, "ignore")])
def test_trees(kind, alpha, unknown):
    assert_it_equals_n_fits(CategoricalClassifier(alpha, unknown, structure="tree"), *fur(kind))


@pytest.mark.parametrize("kind", ["plain", "a category of one row", "missing cells"])
@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
@pytest.mark.parametrize("structure", [None, "tree"])
def test_pseudo_counts_of_each_column_and_declared_categories(kind, unknown, structure):
    categories = {"a": ["x", "nowhere", "only here"], "c": [True, False]}
    settings = {"structure": structure, "categories": categories}
    assert_it_equals_n_fits(CategoricalClassifier([[0.3, 2, 1], 1.0, [1, 0]], unknown, **settings), *fur(kind))


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_without_a_row_the_tree_may_be_another_one(missing):
    """Weak dependence of seven columns: which of them wins often hangs on one row."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (40, 7)).astype(object)
    X[rng.random(X.shape) < missing] = None
    y = rng.integers(0, 2, 40)
    clf = CategoricalClassifier(structure="tree")
    trees = {tuple(clf.fit(np.delete(X, i, axis=0), np.delete(y, i)).density_.parent) for i in range(40)}
    assert len(trees) > 3
    assert_it_equals_n_fits(clf, X, y, None)
    assert_it_equals_n_fits(CategoricalClassifier(joint=[(0, 6), (2, 3)]), X, y, None)
    assert_it_equals_n_fits(CategoricalClassifier(structure="tree", joint=[(0, 6)]), X, y, rng.random(40))


def test_a_category_of_one_row_is_an_error_where_unseen_ones_are():
    X, y, _ = fur("a category of one row")
    with pytest.raises(DataError, match="column 'a' holds 'only here' in only one row"):
        CategoricalClassifier(unknown="error").leave_one_out(X, y)
    with pytest.raises(DataError, match="column 'a' holds 'only here' in only one row"):
        CategoricalClassifier(unknown="error", structure="tree").leave_one_out(X, y)
    assert_it_equals_n_fits(CategoricalClassifier(unknown="error"), *fur("plain"))


CATEGORY_MODELS = [
    CategoricalClassifier(alpha, unknown, structure=structure)
    for alpha, unknown in ((0, "smooth"), (0.5, "ignore"))
    for structure in (None, "tree")
]


@st.composite
def small_tables(draw):
    """Few rows of few values, so that everything that can disappear with a row does."""
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    cells = st.sampled_from([0.0, 0.0, 1.0, 2.0, np.nan])
    X = np.array(draw(st.lists(st.lists(cells, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    weight = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    if (weight > 0).sum() < 2:  # or there would be nothing to learn from without one of them
        weight[:] = 1.0
    return X, y, weight


@given(small_tables(), st.sampled_from([*COUNT_MODELS, *CATEGORY_MODELS]))
@example((np.array([[0.0], [0.0], [1.0]]), np.array([0, 1, 1]), np.ones(3)), MultinomialClassifier(0))
def test_whatever_disappears_with_a_row(rows, clf):
    assert_it_equals_n_fits(clf, *rows)


def test_scikit_learns_own_fits_agree():
    X, y, _ = counted("plain")
    codes = np.random.default_rng(7).integers(3, size=X.shape)
    pairs = [
        (MultinomialClassifier(0.3), MultinomialNB(alpha=0.3, fit_prior=False), X),
        (CategoricalClassifier(0.3), CategoricalNB(alpha=0.3, fit_prior=False, min_categories=3), codes),
    ]
    for ours, theirs, rows in pairs:
        found = ours.leave_one_out_proba(rows, y, prior="uniform")
        for i in range(len(X)):
            keep = np.arange(len(X)) != i
            expected = theirs.fit(rows[keep], y[keep]).predict_proba(rows[[i]])[0]
            np.testing.assert_allclose(found[i], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("clf", [*COUNT_MODELS, *CATEGORY_MODELS], ids=str)
def test_a_row_that_outweighs_all_others_together(clf):
    X, y, _ = counted("plain")
    weight = np.where(np.arange(30) == 5, 1e13, 1 / 3)
    expected, found = refitted(clf, X, y, weight), clf.leave_one_out(X, y, weight)
    np.testing.assert_allclose(found[5], expected[5], rtol=1e-8)


def test_complement_weights_are_refused():
    with pytest.raises(DataError, match="not probabilities"):
        MultinomialClassifier(complement=True).leave_one_out([[1], [2]], [0, 1])


def test_many_rows_on_several_threads():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=30_000)
    X = sparse.random_array((30_000, 2000), density=0.005, rng=rng, data_sampler=lambda size: np.ones(size)).tocsr()
    one, two = (BernoulliClassifier(n_jobs=n).leave_one_out(X, y) for n in (1, 2))
    assert (one == two).all()
    whole = BernoulliClassifier().fit(X, y)
    for i in rng.choice(30_000, 5):
        whole.forget(X[[i]], y[[i]])
        np.testing.assert_allclose(one[i], whole.log_likelihood(X[[i]])[0], rtol=1e-8)
        whole.partial_fit(X[[i]], y[[i]])
