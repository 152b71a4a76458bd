"""Exact leave-one-out equals fitting n models, each without one row."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

from suffice import GaussianClassifier
from suffice.errors import DataError, PrecisionWarning
from tests.pairs import pairs

from .refits import assert_it_equals_n_fits, refitted

pytestmark = [
    pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning", "ignore::suffice.errors.EmptyClassWarning"),
]
COVARIANCES = ["full", "diag", "spherical", "tied", "tied_diag", "tied_spherical"]


def rows(kind):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 4)) * [1, 100, 1e-3, 5] + [0, 1e4, 0, 0]
    y = rng.integers(3, size=40)
    weight = None
    if kind == "weighted":
        weight = rng.random(40)
        weight[3] = 0
    elif kind == "a class of one":
        y[7] = 9
    elif kind == "small classes":  # without a row, some have no variance left in some direction
        y[:5], y[5:7] = 7, 8
    elif kind == "constant in a class":
        X[y == 1, 0] = 3.0
    elif kind == "all but one row alike":  # which leaves
        X[y == 2, 3] = 2.0
        X[np.flatnonzero(y == 2)[0], 3] = 50.0
    elif kind == "float32 in Fortran order":
        X = np.asfortranarray((X - [0, 1e4, 0, 0]).astype(np.float32))
    elif kind == "text labels":
        y = np.array(["b", "a", "c"])[y]
    return X, y, weight


KINDS = [
    "plain",
    "weighted",
    "a class of one",
    "small classes",
    "constant in a class",
    "all but one row alike",
    "float32 in Fortran order",
    "text labels",
]


@pytest.mark.parametrize(("kind", "covariance", "shrinkage"), pairs(KINDS, COVARIANCES, [None, 0.1, 1.0]))
def test_it_equals_n_fits(kind, covariance, shrinkage):
    X, y, weight = rows(kind)
    assert_it_equals_n_fits(GaussianClassifier(covariance, shrinkage), X, y, weight)


@pytest.mark.parametrize("covariance", ["full", "diag", "spherical"])
def test_a_row_without_which_a_class_hardly_varies(covariance):
    """Enough for a closed form, but the variance is raised towards that of the other classes."""
    X, y, _ = rows("plain")
    own = np.flatnonzero(y == 2)
    X[own, 3] = 2.0 + X[own, 3] / 500
    X[own[0], 3] = 20.0
    assert_it_equals_n_fits(GaussianClassifier(covariance), X, y)


@pytest.mark.parametrize(("kind", "covariance", "shrinkage"), pairs(KINDS[:5], COVARIANCES, [None, 0.1]))
def test_it_equals_n_fits_that_divide_as_r_does(kind, covariance, shrinkage):
    X, y, weight = rows(kind)
    assert_it_equals_n_fits(GaussianClassifier(covariance, shrinkage, ddof=1), X, y, weight)


@pytest.mark.parametrize(("covariance", "shrinkage", "size"), pairs(COVARIANCES, [None, 0.1], [1e4, 1e8]))
def test_a_row_that_outweighs_all_others_together(covariance, shrinkage, size):
    """What is left without it has lost its digits: the other rows are read again."""
    X, y, _ = rows("plain")
    X[3, 1] += 100 * size
    weight = np.where(np.arange(40) == 5, size, 1.0)
    clf = GaussianClassifier(covariance, shrinkage)
    expected, found = refitted(clf, X, y, weight), clf.leave_one_out(X, y, weight)
    np.testing.assert_allclose(found[[3, 5]], expected[[3, 5]], rtol=1e-8)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("weight", [[0.1, 0.1, 0.1, 1], [0.25, 0.25, 0.5, 1], [0, 0, 1, 1], [0, 0, 0.1, 1]])
def test_a_row_that_weighs_as_much_as_all_others_or_more(covariance, weight):
    """Several rows that are left vary, as little as it is against what has gone; only one does not."""
    X, y = np.array([[0.0], [0.1], [0.25], [1e6], [0.0], [1.0]]), np.array([0, 0, 0, 0, 1, 1])
    w, clf = np.array([*weight, 1, 1]), GaussianClassifier(covariance)
    np.testing.assert_allclose(clf.leave_one_out(X, y, w)[3], refitted(clf, X, y, w)[3], rtol=1e-8)


@pytest.mark.parametrize("n", [64, 65])
def test_more_such_rows_than_are_worth_a_pass_are_told_of(n):
    X = np.random.default_rng(3).normal(size=(200, n))
    X[np.arange(n), np.arange(n)] += 1e6  # each outweighs a column
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = GaussianClassifier("diag").leave_one_out(X, np.zeros(200))
    assert [(w.category, w.filename == __file__) for w in told] == [(PrecisionWarning, True)] * (n > 64)
    expected = refitted(GaussianClassifier("diag"), X, np.zeros(200))
    np.testing.assert_allclose(found[:64], expected[:64], rtol=1e-8)


def test_many_classes_of_two_rows_want_no_second_reading():
    X, y = np.random.default_rng(3).normal(size=(140, 2)) + 1e3, np.arange(140) // 2
    assert_it_equals_n_fits(GaussianClassifier("diag"), X, y)  # and nothing is told of


@pytest.mark.parametrize(("covariance", "errors"), [("full", 4), ("diag", 7), ("tied", 3), ("tied_diag", 6)])
def test_the_known_errors_on_iris(covariance, errors):
    X, y = load_iris(return_X_y=True)
    held_out = GaussianClassifier(covariance).leave_one_out_proba(X, y, prior="uniform")
    assert (held_out.argmax(axis=1) != y).sum() == errors  # of 150


def test_it_leaves_the_model_as_it_was():
    X, y = load_iris(return_X_y=True)
    clf = GaussianClassifier("tied")
    clf.leave_one_out(X, y)
    assert not hasattr(clf, "statistics_")
    before = clf.fit(X, y).log_likelihood(X)
    clf.leave_one_out(X[:90], y[:90])
    assert (clf.log_likelihood(X) == before).all()


def test_many_rows_on_several_threads():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=120_000)
    X = rng.normal(size=(120_000, 40)) + rng.normal(size=(4, 40))[y]
    one, two = (GaussianClassifier("full", n_jobs=n).leave_one_out(X, y) for n in (1, 2))
    assert (one == two).all()
    sample = rng.choice(120_000, 5)
    whole = GaussianClassifier("full").fit(X, y)
    for i in sample:
        whole.forget(X[[i]], y[[i]])
        np.testing.assert_allclose(one[i], whole.log_likelihood(X[[i]])[0], rtol=1e-8)
        whole.partial_fit(X[[i]], y[[i]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: GaussianClassifier(shrinkage="oas").leave_one_out(X, y), "'oas'; .* cv=LeaveOneOut"),
        (lambda X, y: GaussianClassifier(predictive=True).leave_one_out(X, y), "predictive models; .* cv=LeaveOneOut"),
        (
            lambda X, y: GaussianClassifier().leave_one_out(np.where(X > 7, np.nan, X), y),
            "covariance='full' and rows with missing values; .* cv=LeaveOneOut",
        ),
        (
            lambda X, y: GaussianClassifier().leave_one_out(np.where(X > 7, np.inf, X), y, (X <= 7).all(axis=1)),
            "X contains infinity in 12 rows, in columns 'sepal|X contains infinity in 12 rows, in columns 0 \\(12\\)",
        ),
        (lambda X, y: GaussianClassifier().leave_one_out(X, None), "requires y"),
    ],
)
def test_clear_errors(call, message):
    with pytest.raises(DataError, match=message):
        call(*load_iris(return_X_y=True))
