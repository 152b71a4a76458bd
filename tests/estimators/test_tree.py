"""Classifiers whose columns of categories depend on each other: everything that holds without a tree."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.model_selection import GridSearchCV, KFold

import suffice
from suffice import CategoricalClassifier, CategoryStats, MixedClassifier, OnePassSearchCV, TreeDensity
from suffice.errors import DataError

TREE = {"structure": "tree"}


def cats(n=300, seed=0):
    """Fur, eyes, whether a cat stays indoors, its weight and its tail; the label is in the last column."""
    rng = np.random.default_rng(seed)
    y, fur = rng.integers(0, 2, n), rng.integers(0, 3, n)
    eyes = np.where(rng.random(n) < 0.7, (fur + y) % 3, rng.integers(0, 3, n))
    return pd.DataFrame(
        {
            "fur": np.array(["black", "white", "grey"])[fur],
            "eyes": np.array(["blue", "green", "gold"])[eyes],
            "indoor": (eyes > 0) ^ (rng.random(n) < 0.1),
            "kg": rng.normal(4 + y, 1),
            "tail": np.array(["short", "long"])[rng.integers(0, 2, n)],
            "sex": np.array(["f", "m"])[y],
        }
    )


WORDS = ["fur", "eyes", "tail"]


def same(one, two, X):
    assert one.edges_ == [edge._replace(information=pytest.approx(edge.information)) for edge in two.edges_]
    np.testing.assert_allclose(one.log_likelihood(X), two.log_likelihood(X), rtol=1e-9)


@pytest.mark.parametrize(
    "clf", [CategoricalClassifier(**TREE), CategoricalClassifier(joint=[("tail", "fur")])], ids=str
)
def test_models_stream_merge_and_forget(clf, tmp_path):
    table, make = cats(), clf.__class__
    table.loc[::7, "eyes"] = None
    table.loc[250:, "fur"] = "calico"  # new to those who have learnt the rows before
    used, params = table[[*WORDS, "sex"]], clf.get_params()
    X, whole = used[WORDS], make(**params).fit(used, "sex")
    first, second = used[:200], used[200:]
    same(make(**params).fit(first, "sex").partial_fit(second, "sex"), whole, X)
    same(make(**params).fit(second, "sex") + make(**params).fit(first, "sex"), whole, X)
    same(make(**params).fit(used, "sex").forget(second, "sex"), make(**params).fit(first, "sex"), X[:200])
    same(make(**params).fit_statistics(whole.statistics_), whole, X)
    same(make(**params).fit(pa.Table.from_pandas(used), "sex"), whole, X)
    used.to_parquet(tmp_path / "cats.parquet")
    same(make(**params).fit(tmp_path / "cats.parquet", "sex"), whole, X)
    whole.save(tmp_path / "model")
    same(suffice.load(tmp_path / "model"), whole, X)
    assert suffice.load_model(tmp_path / "model").edges() == whole.edges_


def test_a_richer_statistic_serves_simpler_models():
    table = cats()[[*WORDS, "sex"]]
    tree = CategoricalClassifier(**TREE).fit(table, "sex")
    plain = CategoricalClassifier().fit_statistics(tree.statistics_)
    assert plain.edges_ == []
    expected = CategoricalClassifier().fit(table, "sex")
    np.testing.assert_array_equal(plain.log_likelihood(table[WORDS]), expected.log_likelihood(table[WORDS]))
    same(
        CategoricalClassifier(joint=[(0, 1)]).fit_statistics(tree.statistics_),
        CategoricalClassifier(joint=[(0, 1)]).fit(table, "sex"),
        table[WORDS],
    )
    for poorer in (expected.statistics_, CategoricalClassifier(joint=[(0, 1)]).fit(table, "sex").statistics_):
        with pytest.raises(DataError, match="needs PairStats that counted them together"):
            CategoricalClassifier(**TREE).fit_statistics(poorer)
    assert isinstance(expected.statistics_, CategoryStats)


def test_columns_of_other_names_are_joined_when_models_are():
    table = cats()
    one = CategoricalClassifier(**TREE).fit(table[["fur", "eyes", "sex"]], "sex")
    two = CategoricalClassifier(**TREE).fit(table[["eyes", "tail", "fur", "sex"]], "sex")
    both, again = one + two, two + one
    assert both.feature_names_in_.tolist() == ["fur", "eyes", "tail"]
    assert {frozenset(edge[:2]) for edge in both.edges_} == {frozenset(edge[:2]) for edge in again.edges_}
    fur, eyes, tail = (both.feature_names_in_.tolist().index(name) for name in WORDS)
    np.testing.assert_array_equal(both.statistics_.of_pair(fur, eyes), 2 * one.statistics_.of_pair(0, 1))
    np.testing.assert_array_equal(both.statistics_.of_pair(tail, fur), two.statistics_.of_pair(1, 2))


def test_the_search_finds_what_refits_find():
    table = cats()[[*WORDS, "sex"]]
    grid = {"structure": [None, "tree"], "alpha": [0.1, 1.0, 10.0]}
    ours, theirs = (
        kind(CategoricalClassifier(), grid, scoring="neg_log_loss", cv=KFold(4)).fit(table[WORDS], table["sex"])
        for kind in (OnePassSearchCV, GridSearchCV)
    )
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-9)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_params_["structure"] == "tree"


def test_tables_of_all_kinds():
    table = cats()
    X, clf = table.drop(columns="sex"), MixedClassifier(**TREE).fit(table, "sex")
    assert dict(zip(clf.schema_.names, clf.schema_.families, strict=True))["indoor"] == "categorical"
    assert [set(edge[:2]) for edge in clf.edges_[:2]] == [{"fur", "eyes"}, {"eyes", "indoor"}]
    tree, rest = (
        CategoricalClassifier(**TREE).fit(table[["fur", "eyes", "indoor", "tail", "sex"]], "sex"),
        MixedClassifier({"kg": "gaussian"}).fit(table[["kg", "sex"]], "sex"),
    )
    expected = tree.log_likelihood(X.drop(columns="kg")) + rest.log_likelihood(X[["kg"]])
    np.testing.assert_allclose(clf.log_likelihood(X), expected, rtol=1e-12)
    holes = X.astype(object).mask(np.random.default_rng(1).random(X.shape) < 0.3, None)
    np.testing.assert_allclose(clf.explain(holes).sum(axis=1), clf.llr(holes), atol=1e-9)
    filled = clf.impute(holes)
    assert not filled.isna().any().any()
    assert set(clf.sample(50, random_state=0)[0]["eyes"]) <= {"blue", "green", "gold"}
    assert (clf.typicality(holes) > 0.01).any(axis=1).mean() > 0.9
    asked = MixedClassifier({"indoor": "bernoulli"}, **TREE).fit(table, "sex")
    assert {name for edge in asked.edges_ for name in edge[:2]} == set(WORDS)
    named = MixedClassifier(joint=[("tail", "fur"), (1, 2)]).fit(table, "sex")
    assert {frozenset(edge[:2]) for edge in named.edges_} == {frozenset({"tail", "fur"}), frozenset({"eyes", "indoor"})}


def test_neither_tells_anything_alone():
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 20), np.array([1, 0, 0, 1] * 20)
    assert CategoricalClassifier().fit(X, y).score(X, y) == 0.5
    for more in ({"structure": "tree"}, {"joint": [(1, 0)]}):
        clf = CategoricalClassifier(**more).fit(X, y)
        assert clf.score(X, y) == 1.0
        assert isinstance(clf.density_, TreeDensity)
        assert clf.edges_ == [(0, 1, pytest.approx(np.log(2)))]


@pytest.mark.parametrize(
    ("params", "message"),
    {
        "a structure": ({"structure": "net"}, "structure='net' is not known; give None or \"tree\""),
        "a number": ({"joint": [("fur", "kg")]}, "joint= names 'kg', which is not a column of categories"),
        "a number by index": ({"joint": [(0, 3)]}, "joint= names column 3, which is not a column of categories"),
        "three": ({"joint": [("fur", "eyes", "tail")]}, "chain pairs to join more"),
        "one": ({"joint": "fur"}, "must be a list of pairs"),
        "the same": ({"joint": [("fur", "fur")]}, "must be a list of pairs"),
        "a circle": ({"joint": [("fur", "eyes"), ("eyes", "fur")]}, "has a circle"),
        "no categories": ({"families": "gaussian", "joint": [(0, 1)]}, "needs columns of categories"),
    }.values(),
)
def test_what_cannot_be_joined(params, message):
    table = cats()
    if params.get("families"):
        table = pd.DataFrame({"a": table["kg"], "b": table["kg"] ** 2, "sex": table["sex"]})
    with pytest.raises(DataError, match=message):
        MixedClassifier(**params).fit(table, "sex")
