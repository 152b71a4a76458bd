"""What every classifier has, of every family."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.feature_selection import RFE
from sklearn.metrics import mutual_info_score

from suffice import (
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MixtureClassifier,
    MultinomialClassifier,
    PoissonClassifier,
    SemiSupervisedClassifier,
)
from suffice.errors import DecisionError, EmptyClassWarning, SeparableWarning

CLASSIFIERS = {
    "gaussian": GaussianClassifier("tied"),
    "bernoulli": BernoulliClassifier(),
    "categorical": CategoricalClassifier(),
    "multinomial": MultinomialClassifier(),
    "poisson": PoissonClassifier(),
    "mixed": MixedClassifier(covariance="tied"),
    "mixture": MixtureClassifier(1),
    "logistic": LogisticClassifier(),
    "semi-supervised": SemiSupervisedClassifier(GaussianClassifier("tied")),
}
X = np.random.default_rng(0).poisson(3, size=(90, 4)).astype(float)
Y = np.arange(90) % 3

every = pytest.mark.parametrize("name", CLASSIFIERS)


@every
@pytest.mark.parametrize("prior", ["bogus", [0.5, 0.4, 0.3], [0.5, 0.5], {0: 1.0}])
def test_a_wrong_prior_is_refused_by_fit(name, prior):
    clf = CLASSIFIERS[name]
    own = "estimator__prior" if name == "semi-supervised" else "prior"
    before = clf.get_params()[own]
    try:
        with pytest.raises(ValueError, match="prior"):
            clf.set_params(**{own: prior}).fit(X, Y)
    finally:
        clf.set_params(**{own: before})


def test_a_prior_that_has_changed_in_place_is_checked_by_save(tmp_path):
    clf = GaussianClassifier(prior=[0.2, 0.3, 0.5]).fit(X, Y)
    clf.prior[0] = 0.9
    with pytest.raises(DecisionError, match="must sum to 1"):
        clf.save(tmp_path / "m")


@every
def test_decision_function_is_scikit_learns(name):
    clf = CLASSIFIERS[name].fit(X, Y)
    np.testing.assert_allclose(clf.decision_function(X), clf.predict_log_proba(X))
    odds = clf.fit(X, Y > 0).decision_function(X)
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), clf.predict_proba(X)[:, 1], rtol=1e-9)
    assert ((odds > 0) == clf.predict(X)).all()


@pytest.mark.parametrize(
    "name", ["gaussian", "bernoulli", "multinomial", "poisson", "mixed", "logistic", "semi-supervised"]
)
def test_linear_models_rank_columns(name):
    told = 9.0 * (Y == 1) + np.random.default_rng(1).poisson(1, 90)
    Z = np.column_stack([X, told])
    Z = Z > 3 if name == "bernoulli" else Z
    kept = RFE(CLASSIFIERS[name], n_features_to_select=1).fit(Z, Y).support_
    assert kept.sum() == 1
    assert kept[-1] or name == "multinomial"  # which looks at shares of a row's total


@pytest.mark.parametrize("structure", [None, "tree"])
def test_columns_of_categories_are_ranked_by_what_they_tell(structure):
    Z = np.column_stack([X, (Y == 1) + np.random.default_rng(1).integers(0, 2, 90)])
    clf = CategoricalClassifier(alpha=0, structure=structure)
    expected = [mutual_info_score(column, Y) for column in Z.T]
    np.testing.assert_allclose(clf.fit(Z, Y).feature_importances_, expected, rtol=1e-12)
    more = np.r_[Y, 3]
    clf.fit(np.r_[Z, Z[:1]], more).forget(Z[:1], more[-1:])  # a class without rows tells nothing
    with pytest.warns(EmptyClassWarning):
        np.testing.assert_allclose(clf.feature_importances_, expected, rtol=1e-12)
    ranking = RFE(clf, importance_getter="feature_importances_", n_features_to_select=1).fit(Z, Y).ranking_
    np.testing.assert_array_equal(np.argsort(-ranking), np.argsort(expected))


def test_predictive_models_of_fewer_rows_than_columns():
    digits, labels = load_digits(return_X_y=True)
    digits = digits[:, digits[:30].std(axis=0) > 0]
    clf = GaussianClassifier("full", predictive=True).fit(digits[:50], labels[:50])
    assert clf.score(digits[900:], labels[900:]) > 0.7  # 0.46 with a singular prior


@pytest.mark.parametrize("prior", [[0.5, 0.6], [0.2, 0.3, 0.6], {"a": 0.5, "b": 0.5}, 0.5, "unifrom"], ids=str)
def test_a_prior_that_cannot_become_right_is_refused_by_partial_fit(prior):
    X, y = [[1.0], [2.0], [3.0], [4.0], [6.0], [9.0]], list("aabbcc")
    for known in ({}, {"classes": ["a", "b", "c"]}):
        clf = GaussianClassifier(prior=prior)
        with pytest.raises(DecisionError):
            clf.partial_fit(X, y, **known)
        assert not hasattr(clf, "statistics_")
    clf = GaussianClassifier(prior=[0.5, 0.5]).partial_fit(X[:4], y[:4])
    with pytest.raises(DecisionError, match="each of the 3 classes"):
        clf.partial_fit(X[4:], y[4:])
    assert clf.statistics_.weight.tolist() == [2, 2]


@pytest.mark.parametrize("prior", [[0.2, 0.3, 0.5], {"a": 0.2, "b": 0.3, "c": 0.5}], ids=str)
def test_a_prior_may_be_for_classes_that_come_later(prior):
    X, y = [[1.0], [2.0], [3.0], [4.0], [6.0], [9.0]], list("aabbcc")
    clf = GaussianClassifier(prior=prior)
    for start in range(0, 6, 2):
        clf.partial_fit(X[start : start + 2], y[start : start + 2])
    assert clf.prior_.tolist() == [0.2, 0.3, 0.5]
    two = GaussianClassifier(prior={"b": 0.7}).partial_fit(X[:2], y[:2]).partial_fit(X[2:4], y[2:4])
    np.testing.assert_allclose(two.prior_, [0.3, 0.7])


def test_a_logistic_model_without_a_penalty_says_if_there_is_no_optimum():
    with pytest.warns(SeparableWarning, match="give a finite C"):
        LogisticClassifier(C=np.inf).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    LogisticClassifier(C=np.inf).fit([[0.0], [3.0], [1.0], [4.0]], [0, 0, 1, 1])
