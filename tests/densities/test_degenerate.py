"""Classes that hardly vary in some columns or directions, by formulas that are written out here."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from suffice import GaussianClassifier, load
from suffice.errors import SingularWarning

pytestmark = pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")


def rows(seed=0, n=90):
    """Column 1 is constant in class 0, and column 3 varies in one row of class 2 only, by little."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 5)) @ (np.eye(5) + 0.4), np.arange(n) % 3
    X[y == 0, 1], X[y == 2, 3] = 2.0, -1.0
    X[2, 3] = -0.9
    return X, y


def moments(X, y):
    centred = [X[y == c] - X[y == c].mean(axis=0) for c in np.unique(y)]
    return [z.T @ z for z in centred], np.concatenate(centred).var(axis=0), np.bincount(y)


def raised(X, y, weight=1.0):
    """The variances of each class, with those that are degenerate raised, where every row has the same weight."""
    scatter, pooled, n = moments(X, y)
    variances = np.array([np.diag(S) / m for S, m in zip(scatter, n, strict=True)])
    for c, j in [(0, 1), (2, 3)]:
        others = X[y != c, j] - X[y == c, j].mean()
        rows = weight * n[c] * others.mean() ** 2 / (others**2).mean()
        variances[c, j] = max(variances[c, j], pooled[j] / (1 + rows**4))
    return variances


@pytest.mark.parametrize("weight", [1.0, 1e-4])
def test_a_degenerate_variance_is_raised(weight):
    X, y = rows()
    clf = GaussianClassifier("diag").fit(X, y, sample_weight=np.full(len(y), weight))
    np.testing.assert_allclose(clf.covariances_, raised(X, y, weight), rtol=1e-12)


@pytest.mark.parametrize(("n_columns", "shares"), [(5, True), (9, False)])
def test_a_full_covariance_shares_degenerate_columns_if_they_are_many(n_columns, shares):
    X, y = rows()
    X = np.column_stack([X, np.random.default_rng(1).normal(size=(90, n_columns - 5))])
    scatter, pooled, n = moments(X, y)
    within = sum(scatter) / len(y)
    shared = np.any([np.diag(S) < 2 * pooled for S in scatter], axis=0)  # two columns are degenerate: 1 and 3
    assert np.flatnonzero(shared).tolist() == [1, 3]
    expected = []
    for c, (S, m) in enumerate(zip(scatter, n, strict=True)):
        own = (S + 2 * np.diag(pooled)) / (m + 2)
        expected.append(np.where(np.outer(shared, shared), within, np.where(np.outer(~shared, ~shared), own, 0.0)))
        if not shares:
            alone = np.diag(S) < pooled
            kept = np.where(np.outer(~alone, ~alone), S / m, 0.0)
            expected[c] = kept + np.diag(raised(X, y)[c] - np.diag(kept))
    np.testing.assert_allclose(GaussianClassifier("full").fit(X, y).covariances_, expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_a_singular_covariance_gets_a_pseudo_row_for_each_direction(covariance):
    X, y = np.random.default_rng(1).normal(size=(12, 6)) * np.arange(1, 7), np.repeat([0, 1], 6)
    X = X if covariance == "full" else np.column_stack([X, X @ np.ones(6)])
    scatter, pooled, n = moments(X, y)
    clf = GaussianClassifier(covariance).fit(X, y)
    assert isinstance(clf.covariances_, np.ndarray)
    each = zip([sum(scatter)], [12], strict=True) if covariance == "tied" else zip(scatter, n, strict=True)
    more = 1  # a sum of others; or six rows about their mean span five directions
    expected = [(S + more * np.diag(pooled)) / (m + more) for S, m in each]
    np.testing.assert_allclose(np.atleast_3d(clf.covariances_).reshape(-1, *X.shape[1:] * 2), expected, rtol=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diag", "spherical", "tied"])
def test_proper_data_get_maximum_likelihood(covariance):
    X, y = load_wine(return_X_y=True)
    one, two = (GaussianClassifier(covariance, degenerate=d).fit(X, y) for d in ("pooled", "floor"))
    np.testing.assert_array_equal(one.covariances_, two.covariances_)


@pytest.mark.parametrize("covariance", ["full", "diag", "tied"])
def test_it_is_a_choice_and_no_part_of_the_statistic(covariance, tmp_path):
    X, y = rows(n=240)
    whole = GaussianClassifier(covariance).fit(X[:180], y[:180])
    parts = GaussianClassifier(covariance).fit(X[:90], y[:90]) + GaussianClassifier(covariance).fit(X[90:], y[90:])
    np.testing.assert_allclose(parts.forget(X[180:], y[180:]).covariances_, whole.covariances_, rtol=1e-9, atol=1e-12)
    whole.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").covariances_, whole.covariances_)
    floored = GaussianClassifier(covariance, degenerate="floor").fit(X[:180], y[:180])
    np.testing.assert_array_equal(whole.set_params(degenerate="floor").covariances_, floored.covariances_)


@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_cells_may_be_missing(covariance):
    X, y = rows(n=300)
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.02, np.nan, X)
    clf, whole = (GaussianClassifier(covariance).fit(Z, y) for Z in (holed, X))
    np.testing.assert_allclose(clf.covariances_, whole.covariances_, atol=0.4)
    one, two = (
        each.covariances_[0, 1] if covariance == "diag" else each.covariances_[0, 1, 1] for each in (clf, whole)
    )
    np.testing.assert_allclose(one, two, rtol=0.2)
    assert one > 1e-8  # the floor is below


def test_pixels_that_are_always_white():
    X, y = load_digits(return_X_y=True)
    folds = StratifiedKFold(5)
    ours, theirs = (cross_val_score(clf, X, y, cv=folds).mean() for clf in (GaussianClassifier("diag"), GaussianNB()))
    assert ours > theirs + 0.02
    assert cross_val_score(GaussianClassifier("full"), X, y, cv=folds).mean() > 0.95  # 0.92 with the floor


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ("diag", "class 0 in columns 1; class 2 in columns 3. Variances were raised towards those within all classes"),
        ("full", "class 0 in columns 1; class 2 in columns 3. Variances .* there; remove .* use PCA or shrinkage"),
    ],
)
def test_the_warning_says_what_was_done(covariance, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SingularWarning, match=message):
            GaussianClassifier(covariance).fit(*rows())
