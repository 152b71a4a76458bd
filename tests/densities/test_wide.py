"""Gaussian densities of few rows of many columns are those that matrices of all columns give."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.covariance import oas

import suffice
from suffice import GaussianClassifier, load, load_model
from suffice.densities import Density, GaussianDensity, WideGaussianDensity
from suffice.errors import DataError, SingularWarning, StatisticsError
from suffice.stats import MomentStats, WideMomentStats
from suffice.tables.batch import Batch

SETTINGS = [
    {},
    {"shrinkage": 0.1},
    {"shrinkage": 1e-4},
    {"shrinkage": 1.0},
    {"shrinkage": "oas"},
    {"shrinkage": "ledoit_wolf", "shrinkage_target": "identity"},
    {"shrinkage": 0.1, "shrinkage_target": "identity"},
    {"predictive": True},
    {"variance_floor": 1e-3},
    {"missing": "error", "shrinkage": 0.5},
]


def rows_of(seed=0, n=24, d=130, k=3, constant=0):
    """Correlated columns of different scales; some of them constant, one within classes only."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)) + rng.normal(size=(n, d))
    X = (X + np.outer(y, rng.normal(size=d))) * 10.0 ** rng.uniform(-2, 2, d)
    if constant:
        X[:, :constant] = rng.normal(size=constant)
        X[:, constant] = y
    return X, y


def dense(clf, X, y, weight=None):
    """The same model from matrices."""
    return GaussianClassifier(**clf.get_params()).fit_statistics(MomentStats.of(Batch.of(X, y, weight), "quartic"))


def quiet(call, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularWarning)
        return call(*args, **kwargs)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from(["tied", "full"]),
    st.sampled_from(SETTINGS),
    st.integers(1, 4),
    st.sampled_from([0, 0, 3]),
    st.booleans(),
)
@example(0, "tied", {"predictive": True}, 3, 0, False)  # some runs draw none of them
@example(0, "full", {"predictive": True}, 3, 0, False)
def test_scores_are_those_of_matrices(seed, covariance, params, k, constant, weighted):
    X, y = rows_of(seed, k=k, constant=constant)
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(X)) if weighted else None
    clf = quiet(GaussianClassifier(covariance, **params).fit, X, y, weight)
    assert isinstance(clf.statistics_, WideMomentStats)
    assert isinstance(getattr(clf.density_, "gaussian", clf.density_), WideGaussianDensity)
    other = quiet(dense, clf, X, y, weight)
    T = np.vstack([X, rows_of(seed + 1, k=k, constant=constant)[0], 10 * X[:3]])
    expected = other.log_likelihood(T)
    # Directions on the floor are known to fewer digits, by either way.
    near = 1e-7 if params.get("shrinkage") in (None, 1e-4) else 1e-10
    np.testing.assert_allclose(clf.log_likelihood(T), expected, rtol=near, atol=near * np.abs(expected).max())
    np.testing.assert_allclose(
        clf.covariances_, other.covariances_, rtol=1e-8, atol=1e-9 * np.abs(other.covariances_).max()
    )
    np.testing.assert_allclose(clf.shrinkage_, other.shrinkage_, rtol=1e-9)
    if not params.get("predictive"):
        np.testing.assert_allclose(clf.log_likelihood_, other.log_likelihood_, rtol=1e-6)
    posterior = other.predict_proba(T)
    sure = np.sort(expected + np.log(other.prior_), axis=1)
    assume((np.diff(sure[:, -2:], axis=1) > 1e-4).all())
    np.testing.assert_array_equal(clf.predict(T), other.predict(T))
    np.testing.assert_allclose(clf.predict_proba(T), posterior, atol=1e-4)


def test_rows_that_are_all_the_same_are_shrunk_as_scikit_learn_does():
    clf = quiet(GaussianClassifier("full", "oas").fit, np.ones((6, 130)), [0, 0, 0, 1, 1, 1])
    assert clf.shrinkage_.tolist() == [oas(np.zeros((3, 130)), assume_centered=True)[1]] * 2


@pytest.fixture(params=["tied", "full"])
def pair(request):
    X, y = rows_of()
    clf = GaussianClassifier(request.param, 0.2).fit(X, y)
    density, other = clf.density_, dense(clf, X, y).density_
    assert type(density) is WideGaussianDensity
    assert type(other) is GaussianDensity
    return X, density, other


def test_every_method_gives_what_matrices_give(pair):
    X, wide, other = pair
    near = {"rtol": 1e-8, "atol": 1e-8}
    for c in range(3):
        np.testing.assert_allclose(wide.explain(X, c), other.explain(X, c), **near)
        np.testing.assert_allclose(wide.precision(c), other.precision(c), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(wide.quadratic(X), other.quadratic(X), **near)
    np.testing.assert_allclose(wide.typicality(X), other.typicality(X), **near)
    np.testing.assert_allclose(wide.log_det, other.log_det, **near)
    np.testing.assert_allclose(wide.whitening @ X[0], other.whitening @ X[0], rtol=1e-6, atol=1e-6)
    assert wide.n_parameters() == other.n_parameters()
    some = wide.of_classes([2, 0])
    np.testing.assert_allclose(some.log_likelihood(X), other.log_likelihood(X)[:, [2, 0]], **near)
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    np.testing.assert_allclose(wide.marginal(holed), other.marginal(holed), **near)
    shape = wide.parameters()
    np.testing.assert_allclose(
        GaussianDensity.from_parameters(**shape).log_likelihood(X), other.log_likelihood(X), **near
    )
    assert type(WideGaussianDensity.from_parameters(**shape)) is GaussianDensity
    for stats in (WideMomentStats, MomentStats):
        moments = stats.of(Batch.of(X, np.arange(len(X)) % 3), "full")
        np.testing.assert_allclose(wide.log_likelihood_of(moments), other.log_likelihood_of(moments), **near)


def test_draws_have_the_covariance(pair):
    _, wide, _ = pair
    code = np.zeros(40_000, int)
    X = wide.sample(code, np.random.default_rng(0))
    unit = np.sqrt(np.diag(wide.covariance[0]))
    np.testing.assert_allclose(np.cov(X.T) / unit / unit[:, None], wide.covariance[0] / unit / unit[:, None], atol=0.05)
    np.testing.assert_allclose((X.mean(axis=0) - wide.mean[0]) / unit, 0, atol=0.05)


def test_arrays_are_checked(pair):
    X, wide, _ = pair
    arrays = wide.to_arrays()
    again = Density.kinds["WideGaussianDensity"].from_arrays(arrays).checked()
    np.testing.assert_array_equal(again.log_likelihood(X), wide.log_likelihood(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(wide)).log_likelihood(X), wide.log_likelihood(X))
    for name, array in {
        "scale": -arrays["scale"],
        "excess": -1 - arrays["excess"],
        "mean": arrays["mean"] * np.nan,
        "seen": arrays["seen"][:1],
        "directions": arrays["directions"] + 0.1,
    }.items():
        with pytest.raises(DataError, match=r"do not fit|not orthonormal"):
            WideGaussianDensity.from_arrays(arrays | {name: array}).checked()


@pytest.mark.parametrize("covariance", ["tied", "full"])
@pytest.mark.parametrize("predictive", [False, True])
def test_files_give_the_model_back(tmp_path, covariance, predictive):
    X, y = rows_of()
    clf = quiet(GaussianClassifier(covariance, predictive=predictive).fit, X, y)
    clf.save(tmp_path / "clf")
    clf.to_model().save(tmp_path / "model")
    expected = clf.log_likelihood(X)
    for load_one in (load, load_model):
        loaded = quiet(lambda load_one=load_one: load_one(tmp_path / "clf").log_likelihood(X))
        np.testing.assert_allclose(loaded, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(load_model(tmp_path / "model").log_likelihood(X), expected, rtol=1e-6)


@pytest.mark.parametrize("covariance", ["tied", "full"])
def test_models_stream_merge_and_forget(covariance):
    X, y = rows_of()
    whole = GaussianClassifier(covariance, 0.3).fit(X, y)
    expected = whole.log_likelihood(X)
    parts = [GaussianClassifier(covariance, 0.3).fit(X[rows], y[rows]) for rows in (slice(12), slice(12, None))]
    streamed = GaussianClassifier(covariance, 0.3)
    for i in range(0, len(X), 5):
        streamed.partial_fit(X[i : i + 5], y[i : i + 5])
    more = GaussianClassifier(covariance, 0.3).fit(np.vstack([X, X[:5] + 1]), [*y, *y[:5]])
    for model in (parts[0] + parts[1], streamed, more.forget(X[:5] + 1, y[:5])):
        np.testing.assert_allclose(model.log_likelihood(X), expected, rtol=1e-8)
    other = dense(whole, X, y)
    np.testing.assert_allclose(whole.leave_one_out(X, y), other.leave_one_out(X, y), rtol=1e-8)
    diagonal = GaussianClassifier("diag").fit(X, y).log_likelihood(X)
    if covariance == "full":
        np.testing.assert_allclose(
            GaussianClassifier("diag").fit_statistics(whole.statistics_).log_likelihood(X), diagonal
        )
    else:
        with pytest.raises(StatisticsError, match="cannot be converted"):
            GaussianClassifier("diag").fit_statistics(whole.statistics_)


@pytest.mark.parametrize("predictive", [False, True])
@pytest.mark.parametrize("covariance", ["tied", "full"])
def test_a_warning_names_the_same_columns_as_matrices(covariance, predictive):
    X, y = rows_of(constant=3)
    with pytest.warns(SingularWarning) as ours:
        clf = GaussianClassifier(covariance, predictive=predictive).fit(X, y)
    with pytest.warns(SingularWarning) as theirs:
        dense(clf, X, y)
    assert str(ours[0].message) == str(theirs[0].message)


def test_a_class_without_rows_and_one_of_a_single_row():
    X, y = rows_of()
    y[y == 2] = 1
    y[0] = 9
    clf = quiet(GaussianClassifier("full").partial_fit, X, y, classes=[0, 1, 5, 9])
    other = quiet(lambda: dense(clf, X, y).log_likelihood(X))
    with pytest.warns(suffice.errors.EmptyClassWarning):
        scores = quiet(clf.log_likelihood, X)
    assert np.isneginf(scores[:, 2]).all()
    np.testing.assert_allclose(scores[:, [0, 1, 3]], other, rtol=1e-6)


@pytest.mark.parametrize("covariance", ["tied", "full"])
def test_odd_rows_are_scored_as_by_matrices(covariance):
    X, y = rows_of()
    clf = GaussianClassifier(covariance, 0.2).fit(X, y)
    far = np.vstack([X[:1] * 1e160, X[:1]])
    np.testing.assert_allclose(clf.log_likelihood(far), dense(clf, X, y).log_likelihood(far), rtol=1e-8)
    with pytest.raises(DataError, match="infinity"):
        clf.predict(np.where(X[0, 0] == X, np.inf, X))
    with pytest.raises(DataError, match="infinity"):
        clf.fit(np.where(X[0, 0] == X, np.inf, X), y)
    with pytest.raises(DataError, match="too large"):
        clf.fit(np.where(X[0, 0] == X, 1e200, X), y)


def test_no_matrix_of_columns_is_made():
    import tracemalloc

    X, y = rows_of(d=3000)
    tracemalloc.start()
    quiet(lambda: GaussianClassifier("tied").fit(X, y).predict(X))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * X.nbytes  # a matrix would take 125 times as much
