"""Shrinkage that is chosen by leaving rows out."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn import covariance as skcov
from sklearn.base import clone
from sklearn.datasets import load_iris

from suffice import GaussianClassifier, MixedClassifier, load
from suffice.errors import DataError, SufficeWarning
from suffice.leave_one_out.shrinkage import SHRINKAGES

from .refits import refitted

COVARIANCES = ["full", "tied", "diag", "tied_diag"]


def raw(covariance, shrinkage):
    """A model that is shrunk towards a multiple of the identity, which no row changes."""
    return GaussianClassifier(covariance, shrinkage, shrinkage_target="identity")


def rows(kind):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(36, 4)) * [1, 2, 1, 3] @ (np.eye(4) + 0.3)
    y, weight = rng.integers(3, size=36), None
    if kind == "weighted":
        weight = rng.random(36) * 2
        weight[3], X[3] = 0, np.nan  # nobody looks at this row
    elif kind == "small classes":
        y[:1], y[1:3], y[3:7] = 7, 8, 9
    elif kind == "constant in a class":
        X[y == 1, 0] = 3.0
    return X, y, weight


def held_out(X, y, weight, covariance, s):
    """The log-likelihood of each row by its own class, from n fits."""
    kept = slice(None) if weight is None else weight > 0
    scores = refitted(raw(covariance, s), X[kept], y[kept], None if weight is None else weight[kept])
    return scores[np.arange(len(scores)), np.unique(y[kept], return_inverse=True)[1]]


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_no_other_makes_the_rows_more_likely(covariance, kind):
    X, y, weight = rows(kind)
    w = np.ones(len(X)) if weight is None else weight[weight > 0]
    expected = [w @ held_out(X, y, weight, covariance, s) for s in SHRINKAGES]
    clf = raw(covariance, "loo").fit(X, y, weight)
    assert clf.shrinkage_ == SHRINKAGES[np.argmax(expected)]
    assert 0 < clf.shrinkage_ < 1  # or the rows would prove little
    same = raw(covariance, clf.shrinkage_).fit(X, y, weight)
    assert (clf.covariances_ == same.covariances_).all()
    if covariance != "tied_diag":  # the same in units of standard deviations
        kept = slice(None) if weight is None else weight > 0
        unit = np.sqrt(np.average((X - clf.means_[y])[kept] ** 2, axis=0, weights=w))
        scaled, plain = raw(covariance, "loo").fit(X / unit, y, weight), GaussianClassifier(covariance, "loo")
        assert plain.fit(X, y, weight).shrinkage_ == scaled.shrinkage_


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kind", ["small classes", "constant in a class"])
def test_what_has_no_variance_has_no_say(covariance, kind):
    """Without some rows the floor decides; and a shrinkage that does not keep the others from it is not taken."""
    X, y, _ = rows(kind)
    scores = np.stack([held_out(X, y, None, covariance, s) for s in SHRINKAGES])
    singular = covariance == "full" or (covariance == "diag" and kind == "constant in a class")
    if singular and kind == "constant in a class":
        for i in np.flatnonzero(y == 1):  # as far as the other columns make it likely
            rest = X[(y == 1) & (np.arange(len(y)) != i)]
            scores[1:, i] += 0.5 * np.log(SHRINKAGES[1:] * rest.var(axis=0).mean())
    say = scores[1:].max(axis=0) > scores[1:].min(axis=0)
    regular = SHRINKAGES > 0 if singular else SHRINKAGES >= 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SufficeWarning)
        chosen = raw(covariance, "loo").fit(X, y).shrinkage_
    assert chosen == SHRINKAGES[np.where(regular, scores[:, say].sum(axis=1), -np.inf).argmax()]


@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("n", [40, 12])
def test_a_column_that_says_nothing_changes_next_to_nothing(covariance, n):
    """It lowers the mean of the variances that all are pulled to, and its own value does not matter."""
    X, y = np.random.default_rng(0).normal(size=(n, 8)) * np.linspace(1, 2, 8), np.arange(n) % 2

    def place(*more):
        chosen = raw(covariance, "loo").fit(np.column_stack([X, *more]), y).shrinkage_
        return int(np.flatnonzero(chosen == SHRINKAGES)[0])

    alone, constants = place(), [place(np.full(n, value)) for value in (0, 1.0, 2024, 1e6)]
    assert len(set(constants)) == 1
    assert abs(constants[0] - alone) <= 1
    if covariance in ("full", "tied"):  # a copy is a constant column in another basis
        X, more = X[:, 1:], X[:, 0]
        assert place(more, more) == place(np.sqrt(2) * more, np.zeros(n))
        assert place(more, more) >= alone - 2


def test_several_batches_and_threads():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=50_000)
    X = rng.normal(size=(50_000, 50)) * np.linspace(1, 1.5, 50)
    one, two = (GaussianClassifier("tied", "loo", n_jobs=n).fit(X, y).shrinkage_ for n in (1, 2))
    assert one == two


def test_it_is_kept_in_copies_and_files(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = GaussianClassifier(shrinkage="loo").fit(X, y)
    clf.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.shrinkage == loaded.shrinkage_ == clf.shrinkage_
    assert (loaded.log_likelihood(X) == clf.log_likelihood(X)).all()
    assert (pickle.loads(pickle.dumps(clf)).llr(X, 0, 1) == clf.llr(X, 0, 1)).all()
    assert clone(clf).shrinkage == "loo"
    more = loaded.partial_fit(X[:5], y[:5])  # with the number that was chosen
    assert more.shrinkage_ == clf.shrinkage_


@pytest.mark.parametrize(
    "call",
    [
        lambda clf, X, y: clone(clf).partial_fit(X, y),
        lambda clf, X, y: clf.partial_fit(X, y),
        lambda clf, X, y: clf.forget(X[:3], y[:3]),
        lambda clf, X, y: clf + clf,
        lambda clf, X, y: clone(clf).fit_statistics(clf.statistics_),
        lambda clf, X, y: clf.fit_statistics(GaussianClassifier().fit(X[:, :2], y).statistics_),
    ],
)
def test_without_all_rows_at_hand_there_is_no_choice(call):
    X, y = load_iris(return_X_y=True)
    clf = GaussianClassifier(shrinkage="loo").fit(X, y)
    before = clf.log_likelihood(X)
    with pytest.raises((DataError, AttributeError)) as refused:  # there is no such method
        call(clf, X, y)
    assert "needs all rows at once" in f"{refused.value} {refused.value.__cause__}"
    assert (clf.log_likelihood(X) == before).all()
    call(clf.set_params(shrinkage=clf.shrinkage_), X, y)  # what the message says


@pytest.mark.parametrize(
    "change",
    [
        lambda clf, X, y: clf.set_params(shrinkage=0.3).fit(X * [1, 2, 3, 4], y).set_params(shrinkage="loo"),
        lambda clf, X, y: clf.set_params(shrinkage=0.3).partial_fit(X[:9], y[:9]).set_params(shrinkage="loo"),
        lambda clf, X, y: clf.set_params(covariance="diag"),
        lambda clf, X, y: clf.set_params(shrinkage_target="identity"),
        lambda clf, X, y: clf.set_params(variance_floor=1e-8),
    ],
)
def test_a_choice_is_good_for_nothing_else(change):
    X, y = load_iris(return_X_y=True)
    clf = change(GaussianClassifier(shrinkage="loo").fit(X, y), X, y)
    for use in (lambda: clf.shrinkage_, lambda: clf.predict(X)):
        with pytest.raises(DataError, match="was set after fit; call fit again"):
            use()
    assert clf.fit(X, y).shrinkage_ == clone(clf).fit(X, y).shrinkage_


def test_a_choice_outlives_another_number():
    X, y = load_iris(return_X_y=True)
    clf = GaussianClassifier(shrinkage="loo").fit(X, y)
    chosen = clf.shrinkage_
    assert clf.set_params(shrinkage=0.3).set_params(shrinkage="loo").shrinkage_ == chosen


@pytest.mark.parametrize("shrinkage", [None, 0.25, "oas", "ledoit_wolf"])
def test_the_shrinkage_in_use_can_be_read(shrinkage):
    X, y = load_iris(return_X_y=True)
    kinds = (GaussianClassifier(covariance, shrinkage, shrinkage_target="identity") for covariance in ("full", "tied"))
    clf, tied = (clf.fit(X, y) for clf in kinds)
    if not isinstance(shrinkage, str):
        assert clf.shrinkage_ == tied.shrinkage_ == float(shrinkage or 0)
        return
    theirs = {"oas": skcov.oas, "ledoit_wolf": skcov.ledoit_wolf}[shrinkage]
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(clf.shrinkage_, [theirs(X[y == c])[1] for c in range(3)])
    np.testing.assert_allclose(tied.shrinkage_, theirs(X - means[y], assume_centered=True)[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: GaussianClassifier("spherical", "loo").fit(X, y), "no effect on covariance='spherical'"),
        (lambda X, y: GaussianClassifier("tied_diag", "loo").fit(X, y), "no effect on covariance='tied_diag'"),
        (lambda X, y: GaussianClassifier(shrinkage="loo", predictive=True).fit(X, y), "leave shrinkage out"),
        (
            lambda X, y: GaussianClassifier(shrinkage="loo").fit(X[::50], y[::50]),
            "leaving out any row leaves its class without variance",
        ),
        (lambda X, y: GaussianClassifier(shrinkage="loo").leave_one_out(X, y), "shrinkage=clf.shrinkage_"),
        (lambda X, y: GaussianClassifier().fit(X, y).set_params(shrinkage="loo").predict(X), "was set after fit"),
        (lambda X, y: MixedClassifier(shrinkage="loo").fit(X, y), "MixedClassifier has no shrinkage"),
    ],
)
def test_clear_errors(call, message):
    with pytest.raises(DataError, match=message):
        call(*load_iris(return_X_y=True))
