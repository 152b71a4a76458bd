"""Missing values in Gaussian models: learnt by EM on the statistics, and scored by what a row has."""

import pickle

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.base import clone
from sklearn.datasets import load_iris

from suffice import (
    GaussianClassifier,
    GaussianDensity,
    MixedClassifier,
    MixtureClassifier,
    MixtureModel,
    StudentDensity,
    fit_density,
    load,
)
from suffice.densities.covariance import STRUCTURES
from suffice.densities.incomplete import IncompleteRows
from suffice.errors import (
    ColumnWarning,
    ConvergenceWarning,
    DataError,
    EmptyClassWarning,
    SingularWarning,
    StatisticsError,
)
from suffice.tables.missing import patterns

IRIS, SPECIES = load_iris(return_X_y=True)
FULL = ["full", "tied"]
DENSITIES = {
    **{name: GaussianClassifier(name, shrinkage=0.1).fit(IRIS, SPECIES).density_ for name in STRUCTURES},
    **{
        f"predictive {name}": GaussianClassifier(name, predictive=True).fit(IRIS, SPECIES).density_
        for name in STRUCTURES
    },
}


def holed(X, share, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


HOLED = holed(IRIS, 0.12)


def same_models(one, two, rtol=1e-6):
    np.testing.assert_allclose(one.means_, two.means_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(one.covariances_, two.covariances_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(one.prior_, two.prior_, rtol=1e-12)


# Scoring.


def log_density(density, x, c):
    """Of the observed cells of one row, by SciPy."""
    seen = ~np.isnan(x)
    if not seen.any():
        return 0.0
    covariance = density.covariance[0 if density.structure.tied else c]
    full = covariance if covariance.ndim == 2 else np.diag(covariance)
    mean, matrix = density.mean[c, seen], full[np.ix_(seen, seen)]
    if isinstance(density, GaussianDensity):
        return multivariate_normal(mean, matrix).logpdf(x[seen])
    if density.structure.shape != "diag":
        return multivariate_t(mean, matrix, density.dof[c]).logpdf(x[seen])
    parts = zip(mean, np.diag(matrix), x[seen], strict=True)
    return sum(multivariate_t(m, v, density.dof[c]).logpdf(value) for m, v, value in parts)


@pytest.mark.parametrize("name", DENSITIES)
def test_rows_are_scored_by_the_cells_that_they_have(name):
    density, X = DENSITIES[name], holed(IRIS[::5], 0.4, 1)
    X[3], X[4] = np.nan, IRIS[4]
    expected = [[log_density(density, x, c) for c in range(3)] for x in X]
    np.testing.assert_allclose(density.log_likelihood(X), expected, rtol=1e-9, atol=1e-12)
    out, best, evidence = np.empty((len(X), 3)), np.empty(len(X), np.int64), np.empty(len(X))
    prior = np.log([0.2, 0.3, 0.5])
    assert density.score(X, prior, all=out, best=best, evidence=evidence)
    np.testing.assert_allclose(out, expected + prior, rtol=1e-9)
    np.testing.assert_array_equal(best, np.argmax(expected + prior, axis=1))
    # NumPy 1.26 may give 1e-16 for the logarithm of 1.
    np.testing.assert_allclose(evidence, np.logaddexp.reduce(expected + prior, axis=1), rtol=1e-9, atol=1e-14)
    assert density.score(X, prior, all=out, relative=True)
    np.testing.assert_allclose(out - out[:, :1], (expected + prior) - (expected + prior)[:, :1], atol=1e-9)
    for c in range(3):
        shares = density.explain(X, c)
        np.testing.assert_allclose(shares.sum(axis=1), np.array(expected)[:, c], rtol=1e-9, atol=1e-12)
        assert not shares[np.isnan(X)].any()
    found = density.typicality(X)
    assert ((found >= 0) & (found <= 1)).all()
    assert (found[3] == 1).all()
    np.testing.assert_allclose(found[4], density.typicality(X[4:5])[0], rtol=1e-12)


def test_complete_rows_are_scored_as_in_a_table_without_missing_cells():
    X = holed(IRIS, 0.1)
    whole = ~np.isnan(X).any(axis=1)
    for density in DENSITIES.values():
        np.testing.assert_array_equal(density.log_likelihood(X)[whole], density.log_likelihood(IRIS)[whole])


def test_a_row_without_any_value_has_the_prior():
    clf = GaussianClassifier().fit(HOLED, SPECIES)
    nothing = np.full((1, 4), np.nan)
    np.testing.assert_allclose(clf.predict_proba(nothing, prior=[0.2, 0.5, 0.3]), [[0.2, 0.5, 0.3]])
    assert clf.predict(nothing, prior=[0.2, 0.5, 0.3]) == [1]
    assert clf.predict(nothing, prior=[0.2, 0.5, 0.3], cost=[[0, 1, 9], [9, 0, 9], [1, 1, 0]]) == [2]
    np.testing.assert_array_equal(clf.llr(nothing, 0, 1), [0.0])


def test_classes_without_rows_stay_impossible():
    density = GaussianDensity.from_parameters(
        [[0.0, 0], [np.nan, np.nan]], np.stack([np.eye(2), np.full((2, 2), np.nan)])
    )
    scores = density.log_likelihood([[np.nan, 1.0], [np.nan, np.nan]])
    assert np.isneginf(scores[:, 1]).all()
    assert scores[1, 0] == 0


def test_a_pattern_first_seen_in_scoring():
    clf = GaussianClassifier("tied").fit(IRIS, SPECIES)
    X = np.where(np.arange(4) == 2, np.nan, IRIS)
    without = GaussianDensity.from_parameters(
        clf.means_[:, [0, 1, 3]], clf.covariances_[np.ix_([0, 1, 3], [0, 1, 3])], "tied"
    )
    np.testing.assert_allclose(clf.log_likelihood(X), without.log_likelihood(IRIS[:, [0, 1, 3]]), rtol=1e-9)


def test_factors_of_patterns_are_kept_within_bounds(monkeypatch):
    monkeypatch.setattr("suffice.densities.gaussian._KEPT", 100)
    density = GaussianClassifier().fit(IRIS, SPECIES).density_
    again = GaussianDensity.from_parameters(**density.parameters())
    X = holed(IRIS, 0.4)
    np.testing.assert_allclose(density.log_likelihood(X), again.log_likelihood(X), rtol=1e-12)
    assert len(density._marginals) <= 8  # of 14
    assert density.of_features(np.array([True, False, True, True])) is density.of_features(
        np.array([True, False, True, True])
    )


# Learning.


def observed_log_likelihood(X, y, mean, covariance):
    total = 0.0
    for c in np.unique(y):
        for pattern, rows in patterns(np.isnan(X[y == c])):
            seen = ~pattern
            if seen.any():
                factor = np.linalg.cholesky(covariance[c][np.ix_(seen, seen)])
                z = np.linalg.solve(factor, (X[y == c][np.ix_(rows, seen)] - mean[c, seen]).T)
                total -= 0.5 * ((z**2).sum() + len(rows) * (2 * np.log(np.diag(factor)) + np.log(2 * np.pi)).sum())
    return total


@pytest.mark.parametrize("covariance", FULL)
def test_the_likelihood_of_the_observed_cells_is_maximal(covariance):
    """Against direct maximisation over means and Cholesky factors."""
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)) + y[:, None]
    X = holed(X, 0.25, 4)
    X[0] = np.nan
    clf = GaussianClassifier(covariance).fit(X, y)
    g = 1 if covariance == "tied" else 2
    lower = np.tril_indices(3)

    def parts(v):
        factor = np.zeros((g, 3, 3))
        factor[:, lower[0], lower[1]] = v[6:].reshape(g, -1)
        return v[:6].reshape(2, 3), np.broadcast_to(factor @ factor.swapaxes(1, 2), (2, 3, 3))

    start = np.concatenate([np.zeros(6), np.tile(np.eye(3)[lower], g)])
    peer = minimize(lambda v: -observed_log_likelihood(X, y, *parts(v)), start, method="BFGS", options={"gtol": 1e-6})
    mean, matrices = parts(peer.x)
    assert clf.log_likelihood_ >= -peer.fun - 1e-9
    np.testing.assert_allclose(clf.log_likelihood_, clf.log_likelihood(X)[np.arange(60), y].sum(), rtol=1e-12)
    np.testing.assert_allclose(clf.means_, mean, atol=2e-5)
    np.testing.assert_allclose(np.broadcast_to(clf.covariances_, (2, 3, 3)), matrices, atol=2e-5)
    assert clf.prior_.tolist() == [0.5, 0.5]  # a row without any value counts in the prior


@pytest.mark.parametrize("covariance", FULL)
def test_each_step_raises_the_likelihood(covariance):
    stats = GaussianClassifier(covariance).fit(HOLED, SPECIES).statistics_
    kind = STRUCTURES[covariance]
    rows, history = IncompleteRows(stats, kind), []
    moments = rows.start(None)
    for _ in range(30):
        density = GaussianDensity.estimate(moments, covariance)
        history.append(density.log_likelihood_of(stats))
        moments, score = rows.expected(density)
        assert score == history[-1]
    assert (np.diff(history) >= -1e-9).all()
    assert history[-1] - history[0] > 10
    assert abs(GaussianDensity.estimate(stats, covariance).log_likelihood_of(stats) - history[-1]) < 1e-3


def test_monotone_missingness_has_a_closed_form():
    """The third column is missing where the second is: sequential regressions give the estimate."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3)) + 7
    X[150:, 1:], X[80:150, 2] = np.nan, np.nan
    mean, matrix = np.zeros(3), np.zeros((3, 3))
    mean[0], matrix[0, 0] = X[:, 0].mean(), X[:, 0].var()
    for j, rows in ((1, X[:150]), (2, X[:80])):
        before = rows[:, :j]
        slope = np.linalg.lstsq(np.column_stack([np.ones(len(rows)), before]), rows[:, j], rcond=None)[0]
        left = (rows[:, j] - slope[0] - before @ slope[1:]).var()
        mean[j] = slope[0] + slope[1:] @ mean[:j]
        matrix[j, :j] = matrix[:j, j] = matrix[:j, :j] @ slope[1:]
        matrix[j, j] = left + slope[1:] @ matrix[:j, :j] @ slope[1:]
    clf = GaussianClassifier().fit(X, np.zeros(400))
    np.testing.assert_allclose(clf.means_[0], mean, rtol=1e-7)
    np.testing.assert_allclose(clf.covariances_[0], matrix, rtol=1e-6)


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_what_is_complete_is_learnt_as_ever(covariance):
    for params in ({}, {"missing": "error"}):
        clf = GaussianClassifier(covariance, **params).fit(IRIS, SPECIES)
        assert not clf.statistics_.has_missing
        np.testing.assert_array_equal(clf.means_, GaussianDensity.estimate(clf.statistics_, covariance).mean)
    # Rows without any value change nothing but the prior.
    more = GaussianClassifier(covariance).fit(np.vstack([IRIS, np.full((3, 4), np.nan)]), [*SPECIES, 0, 0, 0])
    np.testing.assert_allclose(more.covariances_, clf.covariances_, rtol=1e-12)
    np.testing.assert_allclose(more.means_, clf.means_, rtol=1e-12)
    np.testing.assert_allclose(more.prior_, [53 / 153, 50 / 153, 50 / 153])


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_streams_merges_and_forgets(covariance, tmp_path):
    whole = GaussianClassifier(covariance).fit(HOLED, SPECIES)
    parts = [GaussianClassifier(covariance).fit(HOLED[i::3], SPECIES[i::3]) for i in range(3)]
    same_models(sum(parts), whole)
    stream = GaussianClassifier(covariance)
    for i in (2, 0, 1):
        stream.partial_fit(HOLED[i::3], SPECIES[i::3])
    same_models(stream, whole)
    same_models(stream.forget(HOLED[1::3], SPECIES[1::3]), parts[0] + parts[2])
    whole.save(tmp_path / "m")
    same_models(load(tmp_path / "m"), whole, rtol=1e-12)
    same_models(load(tmp_path / "m").forget(HOLED[::3], SPECIES[::3]), parts[1] + parts[2])
    complete = GaussianClassifier(covariance).fit(IRIS, SPECIES)
    both = complete + whole
    same_models(both, whole + complete)
    same_models(both.forget(HOLED, SPECIES), complete)
    assert not both._recipe.adopted(both.statistics_, both._validate()).has_missing
    with pytest.raises((StatisticsError, DataError), match="never learnt"):
        complete.forget(HOLED[:9], SPECIES[:9])
    weighted = GaussianClassifier(covariance).fit(HOLED, SPECIES, 1 + np.arange(150) % 2)
    rows = np.repeat(np.arange(150), 1 + np.arange(150) % 2)
    same_models(weighted, GaussianClassifier(covariance).fit(HOLED[rows], SPECIES[rows]))
    absent = np.where(np.arange(150)[:, None] % 5 == 0, np.inf, HOLED)
    kept = np.arange(150) % 5 > 0
    same_models(
        GaussianClassifier(covariance).fit(absent, SPECIES, kept),
        GaussianClassifier(covariance).fit(HOLED[kept], SPECIES[kept]),
    )


@pytest.mark.parametrize("covariance", [*FULL, "diag"])
def test_the_same_from_every_source(covariance, tmp_path, monkeypatch):
    frame = pd.DataFrame(HOLED, columns=list("abcd")).assign(y=SPECIES)
    whole = GaussianClassifier(covariance).fit(frame, "y")
    frame.to_parquet(tmp_path / "all.parquet", row_group_size=40)
    frame.to_csv(tmp_path / "all.csv", index=False)
    for source in (tmp_path / "all.parquet", tmp_path / "all.csv", dd.from_pandas(frame, npartitions=4)):
        clf = GaussianClassifier(covariance).fit(source, "y")
        same_models(clf, whole, 1e-8)
        assert clf.predict(frame).tolist() == whole.predict(frame).tolist()
    predicted = whole.predict(dd.from_pandas(frame, npartitions=4)).compute()
    assert np.asarray(predicted).tolist() == whole.predict(frame).tolist()
    for n_jobs in (1, 2):
        same_models(GaussianClassifier(covariance, n_jobs=n_jobs).fit(frame, "y"), whole, 1e-8)


@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")  # of few rows, some do not vary
@settings(max_examples=12)
@given(st.integers(0, 10_000), st.sampled_from(FULL), st.sampled_from([None, 0.2, "oas"]))
def test_covariances_are_positive_definite(seed, covariance, shrinkage):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(12, 60), rng.integers(1, 6)
    X = np.where(
        rng.random((n, d)) < rng.choice([0.1, 0.3, 0.6]),
        np.nan,
        rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d),
    )
    X[:2] = rng.normal(size=(2, d))
    y = np.arange(n) % 2
    clf = GaussianClassifier(covariance, shrinkage).fit(X, y)
    matrices = np.atleast_3d(clf.covariances_).reshape(-1, d, d)
    assert (np.linalg.eigvalsh(matrices / np.sqrt(np.einsum("gii,gjj->gij", matrices, matrices))) > 0).all()
    assert np.isfinite(clf.log_likelihood(X)).all()


def test_a_column_that_a_class_never_had_does_not_shrink_its_others():
    X = np.where((np.arange(150) < 50)[:, None] & (np.arange(4) == 3), np.nan, IRIS)
    whole, rest = (
        GaussianClassifier("diag", 0.5, shrinkage_target="identity").fit(Z, SPECIES) for Z in (X, IRIS[:, :3])
    )
    np.testing.assert_allclose(whole.covariances_[0, :3], rest.covariances_[0], rtol=1e-12)


@pytest.mark.parametrize("target", ["variances", "identity"])
def test_estimated_shrinkage_is_as_good_as_its_number(target):
    clf = GaussianClassifier("full", "oas", shrinkage_target=target).fit(HOLED, SPECIES)
    assert clf.shrinkage_.shape == (3,)
    for c, number in enumerate(clf.shrinkage_):
        assert 0 < number < 1
        same = GaussianClassifier("full", number, shrinkage_target=target).fit(HOLED, SPECIES)
        np.testing.assert_allclose(same.covariances_[c], clf.covariances_[c], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("covariance", FULL)
def test_columns_without_values(covariance):
    X = np.where(np.arange(4) == 1, np.nan, IRIS)
    with pytest.raises(DataError, match="all values of column 'width' are missing"):
        GaussianClassifier(covariance).fit(pd.DataFrame(X, columns=["length", "width", "c", "d"]), SPECIES)
    with pytest.raises(DataError, match="all values of column 1 are missing"):
        GaussianClassifier(covariance).fit(X, SPECIES)
    # A class without values of a column takes the mean and, of its own covariance, the variance of all rows.
    X = np.where((np.arange(4) == 1) & (SPECIES == 2)[:, None], np.nan, IRIS)
    clf = GaussianClassifier(covariance).fit(X, SPECIES)
    others = IRIS[SPECIES < 2, 1]
    np.testing.assert_allclose(clf.means_[2, 1], others.mean(), rtol=1e-6)
    if covariance == "full":
        np.testing.assert_allclose(clf.covariances_[2][1], [0, others.var(), 0, 0], atol=1e-9)
        rest = [0, 2, 3]
        np.testing.assert_allclose(
            clf.covariances_[2][np.ix_(rest, rest)], np.cov(IRIS[SPECIES == 2][:, rest].T, bias=True), rtol=1e-6
        )


def test_a_class_of_rows_without_any_value():
    X = np.where((SPECIES == 2)[:, None], np.nan, IRIS)
    clf = GaussianClassifier().fit(X, SPECIES)
    np.testing.assert_allclose(clf.means_[2], IRIS[:100].mean(axis=0))
    np.testing.assert_allclose(clf.prior_, 1 / 3)


REFUSED = {
    "error": (GaussianClassifier(missing="error"), r"X contains NaN in \d+ rows, in columns 'a' \(\d+\), 'b' \(\d+\)"),
    "predictive": (GaussianClassifier(predictive=True), "X contains NaN .* without .*predictive=True"),
    "loo": (GaussianClassifier(shrinkage="loo"), 'X contains NaN .* without .*"loo"'),
    "ledoit_wolf": (GaussianClassifier(shrinkage="ledoit_wolf"), 'X contains NaN .* without .*"ledoit_wolf"'),
    "a mixed table": (
        MixedClassifier(covariance="full", shrinkage="ledoit_wolf"),
        "'a', 'b', 'c', 'd' has missing values",
    ),
    "unknown": (GaussianClassifier(missing="drop"), "missing='drop' is not known; choose one of 'ignore', 'error'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_learn_from_missing_values_says_so(case):
    clf, message = REFUSED[case]
    frame = pd.DataFrame(HOLED, columns=list("abcd"))
    with pytest.raises(DataError, match=message):
        clone(clf).fit(frame, SPECIES)
    if case != "unknown":
        clone(clf).fit(IRIS, SPECIES).predict(HOLED)


def test_a_predictive_model_is_not_made_from_moments_with_missing_cells():
    for covariance in ("full", "diag"):
        statistics = GaussianClassifier(covariance).fit(HOLED, SPECIES).statistics_
        with pytest.raises(DataError, match="predictive=True cannot learn"):
            GaussianClassifier(covariance, predictive=True).fit_statistics(statistics)


def test_too_many_patterns_are_refused(monkeypatch):
    monkeypatch.setattr("suffice.stats.patterns._CELLS", 16 * 10)
    with pytest.raises(DataError, match=r'different ways.*use covariance="diag"'):
        GaussianClassifier().fit(HOLED, SPECIES)
    GaussianClassifier("diag").fit(HOLED, SPECIES)


def test_a_search_that_does_not_end_is_reported(monkeypatch):
    monkeypatch.setattr("suffice.densities.incomplete._STEPS", 3)
    with pytest.warns(ConvergenceWarning, match="after 3 steps"):
        GaussianClassifier().fit(HOLED, SPECIES)


@pytest.mark.parametrize("values", [np.asarray, np.rint])  # changes of a step are noise, or exactly zero
def test_a_search_that_begins_at_its_end_ends(values):
    for seed in range(10):
        X = values(np.random.default_rng(seed).gamma(2.0, size=(64, 4)))
        X[np.arange(64)[:, None] % 4 != np.arange(4)] = np.nan  # no two columns are seen together
        clf = GaussianClassifier().fit(X, np.zeros(64))
        np.testing.assert_allclose(clf.covariances_[0], np.diag(np.nanvar(X, axis=0)), rtol=1e-12, atol=1e-12)


def test_a_full_statistic_serves_every_structure():
    statistics = GaussianClassifier("full").fit(HOLED, SPECIES).statistics_
    for covariance in STRUCTURES:
        one = GaussianClassifier(covariance).fit_statistics(statistics)
        same_models(one, GaussianClassifier(covariance).fit(HOLED, SPECIES))
        expected = one.log_likelihood(HOLED)[np.arange(150), SPECIES].sum()
        assert one.log_likelihood_ == pytest.approx(expected, rel=1e-9)


def test_densities_without_labels():
    fitted = fit_density("gaussian", HOLED[:50])
    clf = GaussianClassifier().fit(HOLED[:50], np.zeros(50))
    np.testing.assert_allclose(fitted.parameters["covariance"], clf.covariances_[0], rtol=1e-9)


# Inside mixed tables and mixtures.


@pytest.mark.filterwarnings("ignore::suffice.errors.EmptyClassWarning")
@pytest.mark.parametrize("covariance", FULL)
def test_blocks_of_mixed_tables(covariance):
    town = np.where(np.random.default_rng(1).random(150) < 0.3, None, np.array(["Bonn", "Rome", "Köln"])[SPECIES])
    frame = pd.DataFrame(HOLED, columns=list("abcd")).assign(town=town)
    clf = MixedClassifier(covariance=covariance).fit(frame, SPECIES)
    numbers, words = GaussianClassifier(covariance).fit(HOLED, SPECIES), MixedClassifier().fit(frame[["town"]], SPECIES)
    expected = numbers.log_likelihood(HOLED) + words.log_likelihood(frame[["town"]])
    np.testing.assert_allclose(clf.log_likelihood(frame), expected, rtol=1e-7, atol=1e-7)
    rest = MixedClassifier(covariance=covariance).fit(frame[50:], SPECIES[50:])
    whole = MixedClassifier(covariance=covariance).fit(
        frame[:50].dropna(), SPECIES[:50][frame[:50].notna().all(axis=1)]
    )
    parts = [frame[50:], frame[:50].dropna()]
    both = MixedClassifier(covariance=covariance).fit(
        pd.concat(parts), np.concatenate([SPECIES[50:], SPECIES[:50][frame[:50].notna().all(axis=1)]])
    )
    np.testing.assert_allclose((whole + rest).log_likelihood(frame), both.log_likelihood(frame), rtol=1e-6)
    both.forget(frame[50:], SPECIES[50:])
    np.testing.assert_allclose(both.log_likelihood(frame)[:, 0], whole.log_likelihood(frame)[:, 0], rtol=1e-6)
    with pytest.raises(DataError, match="leave_one_out has no closed form for covariance"):
        clf.leave_one_out(frame, SPECIES)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("covariance", STRUCTURES)
def test_the_likelihood_of_a_mixture_never_falls(covariance):
    model = MixtureModel(3, covariance=covariance, random_state=0, tol=1e-7, max_iter=40).fit(holed(IRIS, 0.15, 2))
    assert len(model.history_) > 5
    assert (np.diff(model.history_) >= -1e-9).all()
    assert np.isfinite(model.score_samples(HOLED)).all()


def test_predictive_densities_of_some_features_are_t_distributions():
    density = StudentDensity.from_parameters([[0.0, 1.0]], [[[2.0, 0.5], [0.5, 1.0]]], 3)
    found = density.log_likelihood([[np.nan, 2.0], [1.0, np.nan]])[:, 0]
    np.testing.assert_allclose(
        found, [multivariate_t(1, 1, 3).logpdf(2), multivariate_t(0, 2, 3).logpdf(1)], rtol=1e-12
    )


@pytest.mark.parametrize("covariance", FULL)
@pytest.mark.parametrize("value", [0.0, 1.0, -1e9])
def test_constant_columns_are_floored_as_in_complete_rows(covariance, value):
    rows = np.column_stack([IRIS, np.full(len(IRIS), value)])
    with pytest.warns(SingularWarning, match="in columns 4"):
        clf = GaussianClassifier(covariance).fit(holed(rows, 0.1), SPECIES)
    plain = GaussianClassifier(covariance).fit(holed(rows, 0.1)[:, :4], SPECIES)
    np.testing.assert_allclose(clf.means_[:, :4], plain.means_, rtol=1e-3)
    assert clf.score(rows, SPECIES) > 0.95


@pytest.mark.parametrize("covariance", ["diag", "tied_diag", "spherical", "tied_spherical"])
def test_diagonal_models_ignore_columns_without_values(covariance):
    rows = np.where(np.arange(4) == 2, np.nan, IRIS)
    with pytest.warns(ColumnWarning, match="all values of column 2 are missing: it is ignored; leave the column out"):
        clf = GaussianClassifier(covariance).fit(rows, SPECIES)
    rest = GaussianClassifier(covariance).fit(np.delete(IRIS, 2, axis=1), SPECIES)
    np.testing.assert_allclose(clf.predict_proba(rows), rest.predict_proba(np.delete(IRIS, 2, axis=1)), rtol=1e-8)
    if "spherical" not in covariance:
        np.testing.assert_allclose(clf.llr(IRIS, 0, 1), rest.llr(np.delete(IRIS, 2, axis=1), 0, 1), rtol=1e-8)


def test_columns_without_values_are_named_even_if_a_class_has_no_rows_yet():
    rows = np.where(np.arange(4) == 2, np.nan, IRIS)
    with pytest.warns(EmptyClassWarning), pytest.warns(ColumnWarning, match="all values of column 2 are missing"):
        GaussianClassifier("diag").partial_fit(rows, SPECIES, classes=[0, 1, 2, 3]).predict(rows)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag"])
def test_mixtures_of_a_class_without_values_of_a_column(covariance):
    rows = np.where((np.arange(4) == 2) & (SPECIES == 1)[:, None], np.nan, IRIS)
    assert MixtureClassifier(2, covariance, random_state=0).fit(rows, SPECIES).score(rows, SPECIES) > 0.95


def test_scoring_does_not_make_models_larger():
    clf = GaussianClassifier().fit(IRIS, SPECIES)
    before = len(pickle.dumps(clf.density_))
    clf.predict(HOLED)
    assert len(pickle.dumps(clf.density_)) < before + 500
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(HOLED), clf.predict_proba(HOLED))
