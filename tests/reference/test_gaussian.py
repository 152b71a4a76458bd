"""Gaussian models against numbers and programs that are not ours."""

import mpmath
import numpy as np
import pytest
from scipy import stats as sps
from scipy.special import logsumexp
from sklearn import covariance as skcov
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from suffice import GaussianClassifier, GaussianDensity, MomentStats
from suffice.tables.batch import Batch
from suffice.tables.table import Matrix

every_kernel = pytest.mark.usefixtures("kernel")  # where moments and scores are held to numbers from elsewhere

STRUCTURES = ["full", "diag", "tied", "tied_diag", "spherical", "tied_spherical"]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def dense(clf, c):
    """The covariance of class c as a matrix, from the fitted attribute alone."""
    d, value = clf.n_features_in_, clf.covariances_
    value = value if clf.covariance.startswith("tied") else value[c]
    return {"full": value, "tied": value}.get(clf.covariance, np.eye(d) * value)


def normal_with(mean, variance):
    """A univariate two-class model with given parameters: two points at one standard deviation from each mean."""
    X = [m + s * np.sqrt(v) for m, v in zip(mean, variance, strict=True) for s in (-1, 1)]
    return GaussianClassifier().fit(np.array(X)[:, None], ["F", "F", "M", "M"])


@every_kernel
def test_heights_of_spec_1_5():
    clf = normal_with([161.82, 175.33], [46.89, 52.89])
    np.testing.assert_allclose(np.exp(clf.log_likelihood([[174.0]])), [[0.01198, 0.05395]], atol=5e-6)
    assert np.exp(clf.llr([[174.0]])) == pytest.approx(4.5, abs=0.01)
    prior = {"F": 0.9, "M": 0.1}
    posterior = clf.predict_proba([[174.0]], prior=prior)[0]
    assert posterior[1] / posterior[0] == pytest.approx(0.5, abs=0.001)
    assert clf.predict([[174.0]]) == "M"
    assert clf.predict([[174.0]], prior=prior) == "F"


@every_kernel
@pytest.mark.parametrize(("structure", "errors"), [("full", 2), ("diag", 2), ("tied", 1), ("tied_diag", 2)])
def test_iris_split_of_spec_2_5(iris, structure, errors):
    X, y = iris
    order = np.random.RandomState(0).permutation(150)
    train, test = order[:100], order[100:]
    clf = GaussianClassifier(structure, prior="uniform").fit(X[train], y[train])
    assert (clf.predict(X[test]) != y[test]).sum() == errors


@pytest.mark.parametrize(("structure", "errors"), [("full", 4), ("diag", 7), ("tied", 3), ("tied_diag", 6)])
def test_iris_leave_one_out_of_spec_2_5_by_forgetting(iris, structure, errors):
    X, y = iris
    clf = GaussianClassifier(structure, prior="uniform").fit(X, y)
    wrong = 0
    for i in range(150):
        row = slice(i, i + 1)
        wrong += (clf.forget(X[row], y[row]).predict(X[row]) != y[row]).item()
        clf.partial_fit(X[row], y[row])
    assert wrong == errors


@every_kernel
@pytest.mark.parametrize("structure", STRUCTURES)
def test_parameters_are_the_definitions(iris, structure):
    X, y = iris
    clf = GaussianClassifier(structure).fit(X, y)
    within = [np.cov(X[y == c].T, bias=True) for c in range(3)]
    tied = np.mean(within, axis=0)  # the classes are of equal size
    expected = {
        "full": within,
        "diag": [np.diag(w) for w in within],
        "spherical": [np.trace(w) / 4 for w in within],
        "tied": tied,
        "tied_diag": np.diag(tied),
        "tied_spherical": np.trace(tied) / 4,
    }[structure]
    np.testing.assert_allclose(clf.covariances_, expected, rtol=1e-12)
    np.testing.assert_allclose(clf.means_, [X[y == c].mean(axis=0) for c in range(3)], rtol=1e-13)
    np.testing.assert_array_equal(clf.prior_, [1 / 3] * 3)


@every_kernel
@pytest.mark.parametrize("structure", STRUCTURES)
def test_log_likelihood_is_scipys(iris, structure):
    X, y = iris
    clf = GaussianClassifier(structure).fit(X, y)
    expected = [sps.multivariate_normal(clf.means_[c], dense(clf, c)).logpdf(X) for c in range(3)]
    np.testing.assert_allclose(clf.log_likelihood(X), np.transpose(expected), rtol=1e-9)
    np.testing.assert_allclose(clf.score_samples(X), logsumexp(expected, axis=0) - np.log(3), rtol=1e-9)
    distance = [sps.chi2(4).sf([(x - clf.means_[c]) @ np.linalg.solve(dense(clf, c), x - clf.means_[c]) for x in X])
                for c in range(3)]  # fmt: skip
    np.testing.assert_allclose(clf.typicality(X), np.transpose(distance), rtol=1e-7, atol=1e-290)


@every_kernel
@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_posteriors_are_scikit_learns(data):
    X, y = data(return_X_y=True)
    peers = {
        "diag": GaussianNB(var_smoothing=0),
        "tied": LinearDiscriminantAnalysis(solver="lsqr"),
        "full": QuadraticDiscriminantAnalysis(solver="eigen"),
    }
    for structure, peer in peers.items():
        peer.fit(X, y)
        clf = GaussianClassifier(structure).fit(X, y)
        np.testing.assert_allclose(clf.predict_log_proba(X), peer.predict_log_proba(X), rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(clf.predict(X), peer.predict(X))


@every_kernel
@pytest.mark.parametrize("target", ["identity", "variances"])
@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 1.0, "oas", "ledoit_wolf"])
def test_shrinkage_is_scikit_learns(rng, shrinkage, target):
    """Of the rows as they are, or divided by the standard deviation of each column within classes."""
    X, y = rng.normal(size=(60, 6)) * [1, 2, 3, 4, 5, 6], np.repeat([0, 1, 2], [10, 20, 30])
    whole = {
        "oas": lambda Z: skcov.oas(Z, assume_centered=True)[0],
        "ledoit_wolf": lambda Z: skcov.ledoit_wolf(Z, assume_centered=True)[0],
    }.get(shrinkage, lambda Z: skcov.shrunk_covariance(Z.T @ Z / len(Z), shrinkage))
    centred = np.concatenate([X[y == c] - X[y == c].mean(axis=0) for c in range(3)])
    unit = centred.std(axis=0) if target == "variances" else np.ones(6)
    full, tied, diag = (
        GaussianClassifier(name, shrinkage, shrinkage_target=target) for name in ("full", "tied", "diag")
    )
    expected = np.array([whole(centred[y == c] / unit) for c in range(3)]) * np.outer(unit, unit)
    np.testing.assert_allclose(full.fit(X, y).covariances_, expected, rtol=1e-10)
    expected = whole(centred / unit) * np.outer(unit, unit)
    np.testing.assert_allclose(tied.fit(X, y).covariances_, expected, rtol=1e-10, atol=1e-14)
    if not isinstance(shrinkage, str):
        own = [np.diag((centred[y == c] / unit).var(axis=0)) for c in range(3)]
        expected = [np.diag(skcov.shrunk_covariance(each, shrinkage)) * unit**2 for each in own]
        np.testing.assert_allclose(diag.fit(X, y).covariances_, expected)


def test_one_column_is_not_shrunk(rng):
    X = rng.normal(size=(20, 1))
    assert GaussianClassifier("full", "ledoit_wolf").fit(X, np.zeros(20)).shrinkage_ == skcov.ledoit_wolf(X)[1] == 0


@pytest.mark.parametrize("shrinkage", ["oas", "ledoit_wolf", "loo"])
def test_shrinkage_does_not_depend_on_the_units_of_columns(shrinkage):
    X, y = load_wine(return_X_y=True)
    scores = cross_val_score(GaussianClassifier("full", shrinkage), X, y, cv=StratifiedKFold(10))
    assert scores.mean() > 0.985  # 0.49, 0.68 and 0.97 towards the identity
    one, two = (GaussianClassifier("full", shrinkage).fit(Z, y) for Z in (X, X * np.geomspace(1e-3, 1e5, 13)))
    np.testing.assert_allclose(two.shrinkage_, one.shrinkage_, rtol=1e-9)


@pytest.mark.parametrize("target", ["identity", "variances"])
def test_ledoit_wolf_survives_merging_and_forgetting(rng, target):
    X, y = rng.normal(size=(90, 4)) + 50, rng.integers(0, 2, 90)
    clf = GaussianClassifier("full", "ledoit_wolf", shrinkage_target=target)
    whole, parts = clone(clf).fit(X[:60], y[:60]), clone(clf).fit(X[:20], y[:20])
    parts.partial_fit(X[20:], y[20:]).forget(X[60:], y[60:])
    np.testing.assert_allclose(parts.covariances_, whole.covariances_, rtol=1e-9)


@every_kernel
@pytest.mark.parametrize("structure", STRUCTURES)
def test_quadratic_form_of_spec_2_3(iris, structure):
    X, y = iris
    clf = GaussianClassifier(structure).fit(X, y)
    A, b, c = clf.quadratic_form(1, 2)
    np.testing.assert_allclose(np.einsum("ni,ij,nj->n", X, A, X) + X @ b + c, clf.llr(X, 1, 2), rtol=1e-7, atol=1e-8)
    inverse = [np.linalg.inv(dense(clf, k)) for k in (1, 2)]
    m = clf.means_
    np.testing.assert_allclose(A, -0.5 * (inverse[1] - inverse[0]), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(b, inverse[1] @ m[2] - inverse[0] @ m[1], rtol=1e-8, atol=1e-8)
    if structure.startswith("tied"):
        assert not A.any()


@pytest.mark.parametrize("structure", ["tied", "tied_diag", "tied_spherical"])
@pytest.mark.parametrize("classes", [[1, 2], [0, 1, 2]])
def test_a_tied_model_is_a_logistic_model_of_spec_8_1(iris, structure, classes):
    X, y = iris
    X, y = X[np.isin(y, classes)], y[np.isin(y, classes)]
    clf = GaussianClassifier(structure).fit(X, y)
    prior = np.linspace(1, 2, len(classes)) / np.linspace(1, 2, len(classes)).sum()
    logistic = clf.to_logistic(prior)
    np.testing.assert_allclose(logistic.predict_proba(X), clf.predict_proba(X, prior=prior), rtol=1e-9, atol=1e-12)
    far = GaussianClassifier(structure).fit(X + 1e5, y)
    np.testing.assert_allclose(
        far.to_logistic(prior).predict_proba(X + 1e5), far.predict_proba(X + 1e5, prior=prior), atol=1e-6
    )


def test_the_tied_direction_is_that_of_linear_discriminant_analysis_of_spec_2_6(iris):
    X, y = iris
    X, y = X[y > 0], y[y > 0]
    slope = GaussianClassifier("tied").fit(X, y).quadratic_form()[1]
    direction = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, 0]
    assert abs(slope @ direction) / np.linalg.norm(slope) / np.linalg.norm(direction) == pytest.approx(1, abs=1e-12)


@every_kernel
def test_binary_rule_of_spec_1_3(iris):
    X, y = iris
    clf = GaussianClassifier("full").fit(X[y > 0], y[y > 0])
    llr = clf.llr(X)
    for pi, miss, alarm in [(0.5, 1, 1), (0.1, 1, 1), (0.8, 1, 10), (0.01, 100, 1)]:
        effective = pi * miss / (pi * miss + (1 - pi) * alarm)
        expected = np.where(llr > -np.log(effective / (1 - effective)), 2, 1)
        cost = [[0, miss], [alarm, 0]]
        np.testing.assert_array_equal(clf.predict(X, prior=[1 - pi, pi], cost=cost), expected)
        np.testing.assert_array_equal(clf.predict(X, prior=[1 - effective, effective]), expected)


# Extremes, against arithmetic with fifty digits.


def exact_moments(X):
    with mpmath.workdps(50):
        columns = [[mpmath.mpf(float(v)) for v in column] for column in np.transpose(X)]
        mean = [mpmath.fsum(c) / len(c) for c in columns]
        variance = [mpmath.fsum((v - m) ** 2 for v in c) / len(c) for c, m in zip(columns, mean, strict=True)]
        return np.array(mean, float), np.array(variance, float)


@every_kernel
@pytest.mark.parametrize("layout", ["diag", "full", "pooled"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_variance_one_at_an_offset_of_1e9(rng, layout, dtype):
    X = (rng.normal(size=(3000, 2)) + 1e9 if dtype is np.float64 else rng.normal(size=(3000, 2)) + 1e4).astype(dtype)
    s = MomentStats.of(Batch(Matrix(X), np.zeros(3000, int)), layout)
    mean, variance = exact_moments(X)
    np.testing.assert_allclose(s.mean[0], mean, rtol=1e-15)
    scatter = s.scatter[0] if layout == "diag" else np.einsum("...ii->...i", s.scatter).reshape(-1)
    np.testing.assert_allclose(scatter / 3000, variance, rtol=1e-12)


@every_kernel
@pytest.mark.parametrize("structure", STRUCTURES)
def test_log_likelihood_against_fifty_digits_at_an_offset(rng, structure):
    X, y = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + 1e6, rng.integers(0, 2, 200)
    clf = GaussianClassifier(structure).fit(X, y)
    got = clf.log_likelihood(X[:5])
    with mpmath.workdps(50):
        for i in range(5):
            for c in range(2):
                cov = mpmath.matrix(dense(clf, c).tolist())
                dev = mpmath.matrix([mpmath.mpf(float(v)) for v in X[i]]) - mpmath.matrix(clf.means_[c].tolist())
                exact = -(mpmath.log(2 * mpmath.pi) * 3 + mpmath.log(mpmath.det(cov)) + (dev.T * cov**-1 * dev)[0]) / 2
                assert got[i, c] == pytest.approx(float(exact), rel=1e-9)


@every_kernel
@pytest.mark.parametrize("structure", ["full", "diag", "tied", "tied_diag"])
def test_the_scale_of_a_feature_does_not_matter(iris, structure):
    X, y = iris
    scale = np.array([1e-150, 1e150, 1.0, 1e-3])
    plain = GaussianClassifier(structure).fit(X, y)
    scaled = GaussianClassifier(structure).fit(X * scale, y)
    np.testing.assert_array_equal(scaled.predict(X * scale), plain.predict(X))
    np.testing.assert_allclose(scaled.predict_proba(X * scale), plain.predict_proba(X), rtol=1e-7, atol=1e-200)


@every_kernel
@pytest.mark.parametrize("structure", STRUCTURES)
def test_classes_far_apart_are_told_apart_from_close_ones(structure):
    """Linear scores of a tied model would cancel here."""
    X = np.concatenate([np.random.default_rng(c).normal(size=(50, 2)) + m for c, m in enumerate([0, 1e9, 1e9 + 4])])
    y = np.repeat([0, 1, 2], 50)
    clf = GaussianClassifier(structure).fit(X, y)
    assert np.mean(clf.predict(X) != y) < 0.05
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1)


# The posterior predictive.


def niw_predictive(X, data, grand, scale, structure):
    """Murphy's formulas, class by class, straight from the rows (scale: the prior's scale matrix)."""
    n, d = data.shape
    kappa0, kappa = 0.01, 0.01 + n
    mean = (kappa0 * grand + data.sum(axis=0)) / kappa
    centre = data.mean(axis=0)
    S = (data - centre).T @ (data - centre) + kappa0 * n / kappa * np.outer(centre - grand, centre - grand)
    factor = (kappa + 1) / kappa
    if structure == "full":
        dof = 2 * d + 1 + n - d + 1
        return sps.multivariate_t(mean, (d * scale + S) * factor / dof, df=dof).logpdf(X)
    if structure == "diag":
        dof = 3 + n
        return sum(
            sps.t(dof, mean[j], np.sqrt((scale[j, j] + S[j, j]) * factor / dof)).logpdf(X[:, j]) for j in range(d)
        )
    dof = 3 + n * d
    return sps.multivariate_t(mean, np.eye(d) * (scale[0, 0] + np.trace(S)) * factor / dof, df=dof).logpdf(X)


@pytest.mark.parametrize("structure", ["full", "diag", "spherical"])
def test_posterior_predictive_is_the_textbook_student_t(rng, structure):
    X, y = rng.normal(size=(14, 3)) * [1, 2, 3] + [5, 0, 0], np.repeat(["a", "b", "c"], [2, 4, 8])
    clf = GaussianClassifier(structure, predictive=True).fit(X, y)
    tied = GaussianClassifier({"full": "tied"}.get(structure, f"tied_{structure}")).fit(X, y).covariances_
    scale = tied if structure == "full" else np.eye(3) * tied
    expected = [niw_predictive(X, X[y == c], X.mean(axis=0), scale, structure) for c in "abc"]
    np.testing.assert_allclose(clf.log_likelihood(X), np.transpose(expected), rtol=1e-9)


def test_posterior_predictive_integrates_over_mean_and_variance():
    """One feature: the double integral itself, by quadrature."""
    X, y = np.array([[1.0], [2.0], [4.0], [-1.0], [0.5]]), np.array(["a", "a", "a", "b", "b"])
    clf = GaussianClassifier("diag", predictive=True).fit(X, y)
    grand, tied = X.mean(), GaussianClassifier("tied_diag").fit(X, y).covariances_[0]
    data = X[y == "a", 0]

    mu, log_v = np.meshgrid(np.sinh(np.linspace(-7, 7, 3001)), np.linspace(-4, 16, 1501), indexing="ij")
    v = np.exp(log_v)
    prior = np.exp(-1.5 * log_v - tied / (2 * v)) * np.exp(-0.01 * (mu - grand) ** 2 / (2 * v)) / np.sqrt(v)
    prior *= np.sqrt(1 + mu**2)  # the spacing of mu

    def evidence(rows):
        return (prior * np.prod([sps.norm(mu, np.sqrt(v)).pdf(r) for r in rows], axis=0)).sum()

    expected = np.log(evidence([*data, 3.0]) / evidence(data))
    assert clf.log_likelihood([[3.0]])[0, 0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_posterior_predictive_of_many_rows_is_the_plug_in(rng, structure):
    X, y = rng.normal(size=(40_000, 2)), rng.integers(0, 2, 40_000)
    plain = GaussianClassifier(structure).fit(X, y).log_likelihood(X[:50])
    np.testing.assert_allclose(GaussianClassifier(structure, predictive=True).fit(X, y).log_likelihood(X[:50]), plain,
                               atol=2e-3)  # fmt: skip


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("predictive", [False, True])
def test_densities_integrate_to_one(structure, predictive):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 2)), np.repeat([0, 1], 6)
    clf = GaussianClassifier(structure, predictive=predictive).fit(X, y)
    t = np.tan(np.linspace(-np.pi / 2, np.pi / 2, 1203)[1:-1])  # a grid over the whole plane
    weight = (1 + t**2) * np.pi / 1202
    grid = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = np.exp(clf.log_likelihood(grid)) * np.outer(weight, weight).reshape(-1, 1)
    np.testing.assert_allclose(mass.sum(axis=0), 1, atol=2e-3)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("predictive", [False, True])
def test_samples_follow_the_density(structure, predictive, iris):
    X, y = iris
    clf = GaussianClassifier(structure, predictive=predictive).fit(X, y)
    drawn, labels = clf.sample(4000, label=1, random_state=0)
    assert set(labels) == {1}
    # The typicality of draws from the class itself is uniform, whatever the density.
    assert sps.kstest(clf.typicality(drawn)[:, 1], "uniform").pvalue > 1e-3
    assert sps.kstest(clf.typicality(drawn)[:, 2], "uniform").pvalue < 1e-3


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("predictive", [False, True])
def test_imputation_is_the_conditional_expectation(structure, predictive, iris):
    """Against quadrature of the joint density over the missing value."""
    X, y = iris
    clf = GaussianClassifier(structure, predictive=predictive, prior=[0.2, 0.3, 0.5]).fit(X, y)
    row = X[[60, 110]].copy()
    row[:, 2] = np.nan
    filled = clf.impute(row)
    grid = np.linspace(-60, 70, 40_001)
    for i in range(2):
        rows = np.tile(row[i], (len(grid), 1))
        rows[:, 2] = grid
        density = np.exp(clf.score_samples(rows))
        assert filled[i, 2] == pytest.approx((grid * density).sum() / density.sum(), rel=1e-4)
        np.testing.assert_array_equal(filled[i, [0, 1, 3]], row[i, [0, 1, 3]])


def test_a_density_is_estimated_from_a_statistic_alone(iris):
    X, y = iris
    s = MomentStats.of(Batch(Matrix(X), y), "full")
    for structure in STRUCTURES:
        density = GaussianDensity.estimate(s, structure)
        np.testing.assert_allclose(
            density.log_likelihood(X), GaussianClassifier(structure).fit(X, y).log_likelihood(X), rtol=1e-9
        )
