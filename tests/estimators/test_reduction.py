"""Principal components and discriminants, against published values and scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.linalg import eigh
from scipy.stats import multivariate_normal
from sklearn import decomposition
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import LDA, PCA, GaussianClassifier, MomentStats, load
from suffice.errors import DataError, SingularWarning, StatisticsError
from suffice.projection import discriminants, principal_components
from suffice.tables.batch import Batch


@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
@parametrize_with_checks([PCA(), PCA(2, whiten=True), LDA()])
def test_scikit_learn_conventions(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


@pytest.fixture
def wine():
    return load_wine(return_X_y=True)


def test_published_values_of_the_iris():
    X, y = load_iris(return_X_y=True)
    np.testing.assert_allclose(
        PCA().fit(X).explained_variance_, [4.20005343, 0.24105294, 0.0776881, 0.02367619], atol=1e-8
    )
    np.testing.assert_allclose(LDA().fit(X, y).eigenvalues_, [32.1919292, 0.28539104], atol=1e-7)


@pytest.mark.parametrize("n_components", [1, 5, 13, 0.999, 0.5, "mle", None])
@pytest.mark.parametrize("whiten", [False, True])
def test_scikit_learn_finds_the_same_components(wine, n_components, whiten):
    X, _ = wine
    X = X / X.std(axis=0)
    ours, peer = PCA(n_components, whiten=whiten).fit(X), decomposition.PCA(n_components, whiten=whiten).fit(X)
    n = len(X)
    np.testing.assert_allclose(ours.explained_variance_, peer.explained_variance_ * (n - 1) / n)
    np.testing.assert_allclose(ours.explained_variance_ratio_, peer.explained_variance_ratio_)
    np.testing.assert_allclose(ours.mean_, peer.mean_)
    scale = np.sqrt(n / (n - 1)) if whiten else 1.0
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(peer.transform(X)) * scale, atol=1e-9)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), peer.inverse_transform(peer.transform(X)))


def test_scikit_learn_finds_the_same_discriminants(wine):
    X, y = wine
    ours, peer = LDA().fit(X, y), LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    np.testing.assert_allclose(ours.explained_variance_ratio_, peer.explained_variance_ratio_)
    projected = ours.transform(X)
    for mine, theirs in zip(projected.T, peer.transform(X).T, strict=True):
        assert abs(np.corrcoef(mine, theirs)[0, 1]) == pytest.approx(1, abs=1e-9)
    within = sum(np.cov(projected[y == c].T, bias=True) * (y == c).mean() for c in range(3))
    np.testing.assert_allclose(within, np.eye(2), atol=1e-10)


def test_the_generalised_eigenvalues_are_those_of_scipy(wine):
    X, y = wine
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    between = sum((y == c).sum() * np.outer(m - X.mean(axis=0), m - X.mean(axis=0)) for c, m in enumerate(means))
    within = sum((X[y == c] - means[c]).T @ (X[y == c] - means[c]) for c in range(3))
    np.testing.assert_allclose(LDA().fit(X, y).eigenvalues_, eigh(between, within, eigvals_only=True)[::-1][:2])


def test_tied_models_coincide_after_discriminants(wine):
    X, y = wine
    Z = LDA().fit(X, y).transform(X)
    tied, diag = (GaussianClassifier(c).fit(Z, y).log_likelihood(Z) for c in ("tied", "tied_diag"))
    np.testing.assert_allclose(tied, diag, atol=1e-9)


@pytest.mark.parametrize("layout", ["pooled", "full"])
@pytest.mark.parametrize("reduce", [principal_components, discriminants])
def test_statistics_are_projected_as_rows_are(wine, layout, reduce):
    X, y = wine
    moments = MomentStats.of(Batch.of(X, y), layout)
    projection = reduce(moments)
    projected, collected = projection.of_moments(moments), MomentStats.of(Batch.of(projection(X), y), layout)
    np.testing.assert_allclose(projected.mean, collected.mean, atol=1e-9)
    np.testing.assert_allclose(projected.scatter, collected.scatter, atol=1e-7 * np.abs(collected.scatter).max())
    with pytest.raises(StatisticsError, match="cannot be projected"):
        projection.of_moments(moments.to_layout("diag")) if layout == "full" else projection.of_moments(
            MomentStats.of(Batch.of(X, y), "diag")
        )


@pytest.mark.parametrize("make", [PCA, LDA])
def test_streaming_merging_and_forgetting_change_nothing(wine, make):
    X, y = wine
    whole = make(2).fit(X, y)
    streamed = make(2)
    for part in (slice(0, 178, 2), slice(1, 178, 2)):
        streamed.partial_fit(X[part], y[part])
    merged = make(2).fit(X[::3], y[::3]) + make(2).fit(X[1::3], y[1::3]) + make(2).fit(X[2::3], y[2::3])
    more = make(2).fit(np.vstack([X, X[:7] + 3]), np.r_[y, y[:7]]).forget(X[:7] + 3, y[:7])
    weighted = make(2).fit(X[::-1], y[::-1], sample_weight=np.full(178, 2.5))
    loaded = make(2).fit_statistics(whole.statistics_)
    for other in (streamed, merged, more, weighted, loaded):
        np.testing.assert_allclose(other.transform(X), whole.transform(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make", [PCA, LDA])
def test_a_saved_reduction_goes_on(wine, make, tmp_path):
    X, y = wine
    make(1).fit(X[:100], y[:100]).save(tmp_path / "it.safetensors")
    loaded = load(tmp_path / "it.safetensors").partial_fit(X[100:], y[100:])
    np.testing.assert_allclose(loaded.components_, make(loaded.n_components).fit(X, y).components_, atol=1e-8)


def test_labels_do_not_matter_to_components_and_may_name_a_column(wine):
    X, y = wine
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(13)]).assign(kind=y.astype(str))
    np.testing.assert_allclose(PCA(3).fit(frame, "kind").components_, PCA(3).fit(X).components_)
    assert LDA().fit(frame, "kind").get_feature_names_out().tolist() == ["lda0", "lda1"]


@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
@pytest.mark.parametrize("make", [PCA, LDA])
def test_wide_rows_need_no_matrix_of_columns(make):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    X = rng.normal(size=(60, 1500)) + 3 * rng.normal(size=(3, 1500))[y]
    model = make(2).fit(X, y)
    assert not hasattr(model, "statistics_")
    if make is PCA:
        peer = decomposition.PCA(2).fit(X)
        np.testing.assert_allclose(model.explained_variance_, peer.explained_variance_ * 59 / 60)
        np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(peer.transform(X)), atol=1e-9)
    else:
        projected = model.transform(X)
        assert GaussianClassifier("tied_spherical").fit(projected, y).score(projected, y) == 1
        assert model.eigenvalues_[0] > 100
    for call in (
        lambda: model.partial_fit(X, y),
        lambda: model.forget(X, y),
        lambda: model + model,
    ):
        with pytest.raises(DataError, match="use partial_fit from the start"):
            call()
    with pytest.raises(DataError, match="X contains NaN"):
        model.fit(X * np.nan, y)
    assert model.transform(X).shape == (60, 2)  # what was learnt before is still there


@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
@pytest.mark.parametrize("model", [PCA(2), PCA(0.5, whiten=True), LDA(), LDA(1)], ids=str)
@pytest.mark.parametrize("named", [False, True])
def test_a_saved_wide_reduction_is_the_same(model, named, tmp_path):
    rng = np.random.default_rng(0)
    y = np.array(["one", "two", "three"])[rng.integers(3, size=60)]
    X = rng.normal(size=(60, 1500)) + 1e3
    X = pd.DataFrame(X, columns=[f"c{j}" for j in range(1500)]) if named else X
    model.fit(X, y).save(tmp_path / "wide")
    loaded = load(tmp_path / "wide")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    np.testing.assert_array_equal(loaded.explained_variance_ratio_, model.explained_variance_ratio_)
    assert getattr(loaded, "feature_names_in_", None) is None or loaded.feature_names_in_.tolist() == [*X.columns]
    if isinstance(model, LDA):
        assert model.classes_.tolist() == loaded.classes_.tolist() == ["one", "three", "two"]
    else:
        Z = model.transform(X)
        np.testing.assert_array_equal(loaded.inverse_transform(Z), model.inverse_transform(Z))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "wide").read_bytes()
    with pytest.raises(DataError, match="use partial_fit from the start"):
        loaded.partial_fit(X, y)


@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
@pytest.mark.parametrize("make", [PCA, LDA])
def test_a_wide_reduction_learns_anew_from_narrow_rows_and_back(wine, make):
    X, y = wine
    wide, labels = np.random.default_rng(0).normal(size=(30, 1200)), np.arange(30) % 2
    narrow = make(1).fit(X, y)
    for model in (make(1).fit(wide, labels).fit(X, y), make(1).fit(wide, labels).fit_statistics(narrow.statistics_)):
        np.testing.assert_allclose(model.transform(X), narrow.transform(X))
        np.testing.assert_allclose(model.fit(wide, labels).transform(wide), make(1).fit(wide, labels).transform(wide))


def test_wide_discriminants_are_those_of_the_components():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    X = rng.normal(size=(60, 1500)) + rng.normal(size=(3, 1500))[y]
    with pytest.warns(SingularWarning, match="left out"):
        wide = LDA().fit(X, y)
    components = PCA().fit(X)
    with pytest.warns(SingularWarning, match="left out"):
        narrow = LDA().fit(components.transform(X), y)
    np.testing.assert_allclose(np.abs(wide.transform(X)), np.abs(narrow.transform(components.transform(X))), rtol=1e-6)


def test_a_column_that_others_determine_is_left_out(wine):
    X, y = wine
    with pytest.warns(SingularWarning, match="no variance in 2 of 15"):
        doubled = LDA().fit(np.c_[X, X[:, 0] + X[:, 1], np.full(178, 3.0)], y)
    np.testing.assert_allclose(doubled.eigenvalues_, LDA().fit(X, y).eigenvalues_)


def test_a_scatter_that_no_rows_have_is_refused():
    impossible = np.array([[1e-300, 1e300], [1e300, 1e-300]])
    with pytest.raises(DataError, match=r"overflow|too large"):
        discriminants(MomentStats(np.arange(2), np.ones(2), np.eye(2), impossible, "pooled"))


def test_sparse_rows_and_offsets(wine):
    X, _ = wine
    far = X + 1e6
    np.testing.assert_allclose(PCA().fit(far).explained_variance_, PCA().fit(X).explained_variance_, rtol=1e-6)
    digits = load_digits().data
    dense = PCA(5).fit(digits)
    for table in (sparse.csr_array(digits), digits.astype(np.float32), np.asfortranarray(digits)):
        np.testing.assert_allclose(PCA(5).fit(table).transform(table), dense.transform(digits), atol=1e-4)


def test_a_pipeline_of_three(wine):
    X, y = wine
    pipe = make_pipeline(PCA(5), LDA(), GaussianClassifier("tied")).fit(X, y)
    assert pipe.score(X, y) > 0.7
    assert pipe[:2].get_feature_names_out().tolist() == ["lda0", "lda1"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: PCA(14).fit(X), "more than the 13 that the rows have"),
        (lambda X, y: PCA(0).fit(X), "whole number above zero"),
        (lambda X, y: PCA(1.5).fit(X), "whole number above zero"),
        (lambda X, y: PCA("most").fit(X), 'between 0 and 1, "mle" or None'),
        (lambda X, y: PCA("mle").fit(X[:12]), "12 rows have 13 columns; give a number"),
        (lambda X, y: PCA("mle").fit(np.tile(X[:12], 100)), "12 rows have 1300 columns; give a number"),
        (lambda X, y: LDA("mle").fit(X, y), "whole number above zero"),
        (lambda X, y: LDA(3).fit(X, y), "more than the 2 that these classes have"),
        (lambda X, y: LDA(0.5).fit(X, y), "whole number above zero"),
        (lambda X, y: LDA().fit(X, np.zeros(178)), "1 class"),
        (lambda X, y: LDA().fit(X, None), "requires y"),
        (lambda X, y: PCA(2).fit(X).inverse_transform(X), "X has 13 components, but this PCA has 2"),
        (lambda X, y: PCA(2).fit(X).transform(np.where(X > 1000, np.nan, X)), "X contains NaN"),
        (
            lambda X, y: PCA(2).fit_statistics(GaussianClassifier("diag").fit(X, y).statistics_),
            "cannot be converted to 'pooled'",
        ),
    ],
)
def test_clear_errors(wine, call, message):
    with pytest.raises((DataError, StatisticsError), match=message):
        call(*wine)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("m", [1, 3, 13])
def test_pca_is_a_density_as_scikit_learns(m, whiten):
    """Which divides by n - 1; the density of the rows is the same whether their components are whitened or not."""
    X = load_wine().data
    ours, theirs = PCA(m, whiten=whiten).fit(X), decomposition.PCA(m).fit(X)
    share = (len(X) - 1) / len(X)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_)
    np.testing.assert_allclose(ours.noise_variance_, share * theirs.noise_variance_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.get_covariance(), share * theirs.get_covariance(), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(ours.get_precision() @ ours.get_covariance(), np.eye(13), atol=1e-6)
    expected = multivariate_normal(X.mean(axis=0), ours.get_covariance()).logpdf(X)
    np.testing.assert_allclose(ours.score_samples(X), expected, rtol=1e-6)
    assert ours.score(X) == pytest.approx(expected.mean())


def test_the_density_of_columns_of_very_different_units_has_no_floor():
    """Where the smallest variance is not lost in the rounding of the largest, the likelihood has its maximum."""
    X = load_breast_cancer().data
    ours, d = PCA().fit(X), X.shape[1]
    unit = X.std(axis=0)
    _, log_det = np.linalg.slogdet(np.corrcoef(X.T))
    most = -0.5 * (d * np.log(2 * np.pi) + log_det + 2 * np.log(unit).sum() + d)
    assert ours.score(X) == pytest.approx(most, abs=1e-4)
    expected = np.linalg.inv(np.corrcoef(X.T))  # of numbers up to 3806
    np.testing.assert_allclose(ours.get_precision() * np.outer(unit, unit), expected, atol=0.01)


@pytest.mark.parametrize("n", [10, 60, 1000])
@pytest.mark.parametrize("m", [1, 4, 8])
def test_the_likeliest_number_of_components_is_scikit_learns(n, m, rng):
    X = rng.normal(size=(n, m)) @ rng.normal(size=(m, 9)) * 2 + rng.normal(size=(n, 9)) + 100
    found = PCA("mle").fit(X).n_components_
    assert found == decomposition.PCA("mle").fit(X).n_components_
    assert PCA("mle").fit(X * 1e-9).n_components_ == found  # in any unit


@pytest.mark.parametrize(
    "X", [[[1.0], [2.0]], np.eye(4), np.ones((4, 2)), [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]], ids=len
)
def test_there_is_a_component_also_of_rows_without_noise(X):
    assert PCA("mle").fit(X).n_components_ == 1


def test_messages_of_what_cannot_be_projected():
    X = load_wine().data
    with pytest.raises(DataError, match=r"n_components=1\.5 must be a whole number above zero, a share"):
        PCA(1.5).fit(X)
    with pytest.raises(DataError, match="each class has a single row"):
        LDA().fit(X[::60], [0, 1, 2])
    assert np.isfinite(PCA().fit(X[:3]).score(X))  # variances have a floor
