"""MixtureClassifier as a user meets it: several components for each class."""

import pickle
import warnings
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import GaussianClassifier, MixedClassifier, MixtureClassifier, MixtureDensity, load, load_model
from suffice.densities import GaussianDensity
from suffice.errors import CheckpointError, ComponentWarning, DataError, StatisticsError

RNG = np.random.default_rng(0)
CENTRES = np.array([[-6.0, 0.0], [6.0, 0.0], [0.0, 0.0], [0.0, 7.0]])
GROUP = RNG.integers(4, size=800)
X = CENTRES[GROUP] + RNG.normal(size=(800, 2))
Y = np.array(["far", "far", "near", "up"])[GROUP]
PENGUINS = pd.read_csv(Path(suffice.__file__).parent / "data" / "penguins.csv")
FITTED = MixtureClassifier({"far": 2, "near": 1, "up": 1}, random_state=0).fit(X, Y)


@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [MixtureClassifier(random_state=0)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "starts are drawn from the rows, whatever their weights",
    },
)
def test_scikit_learn_conventions(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


@pytest.mark.parametrize("covariance", ["full", "diag", "spherical"])
def test_each_class_has_the_mixture_of_scikit_learn(covariance):
    numbers = {"far": 2, "near": 1, "up": 1}
    clf = MixtureClassifier(numbers, covariance, tol=1e-10, random_state=0, variance_floor=1e-9).fit(X, Y)
    scores = clf.log_likelihood(X)
    for c, label in enumerate(clf.classes_):
        rows = X[label == Y]
        peer = GaussianMixture(numbers[label], covariance_type=covariance, tol=1e-10, reg_covar=0, random_state=0)
        assert scores[label == Y, c].mean() == pytest.approx(peer.fit(rows).score(rows), abs=1e-6)


@pytest.mark.parametrize("covariance", ["full", "diag", "tied", "tied_diag", "spherical", "tied_spherical"])
def test_one_component_is_the_plain_classifier(covariance):
    clf = MixtureClassifier(1, covariance).fit(X, Y)
    plain = GaussianClassifier(covariance, variance_floor=1e-6).fit(X, Y)
    np.testing.assert_allclose(clf.log_likelihood(X), plain.log_likelihood(X), rtol=1e-10)
    assert clf.n_iter_ == 0
    assert clf.converged_


def test_the_number_of_components_of_each_class_is_found():
    for criterion in ("bic", "held_out"):
        clf = MixtureClassifier("auto", criterion=criterion, random_state=0).fit(X, Y)
        assert clf.n_components_ == {"far": 2, "near": 1, "up": 1}
        assert clf.score(X, Y) > 0.99
        assert clf.criteria_["far"][criterion].argmin() == 1
    assert GaussianClassifier("tied").fit(X, Y).score(X, Y) < 0.9


def test_tied_covariances_are_shared_by_all_components_of_all_classes():
    clf = MixtureClassifier({"far": 2, "near": 1, "up": 1}, "tied", tol=1e-9, random_state=0).fit(X, Y)
    covariance = clf.parameters_["gaussian"]["covariances"]
    joint = (
        clf.density_.components.log_likelihood(X)
        + np.log(clf.density_.weights)
        + np.log(clf.prior_)[clf.density_.owner]
    )
    joint[clf.density_.owner != np.searchsorted(clf.classes_, Y)[:, None]] = -np.inf
    soft = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    means = soft.T @ X / soft.sum(axis=0)[:, None]
    within = sum((soft[:, j, None] * (X - m)).T @ (X - m) for j, m in enumerate(means)) / len(X)
    np.testing.assert_allclose(covariance, within, rtol=1e-3)
    assert clf.score(X, Y) > 0.99


@pytest.mark.parametrize("seed", range(3))
def test_the_log_likelihood_never_falls(seed):
    digits, label = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = MixtureClassifier(3, "tied_diag", init="random", random_state=seed, max_iter=15).fit(
            digits[:400], label[:400]
        )
    assert (np.diff(clf.history_) >= -1e-9 * np.abs(clf.history_[0])).all()


@pytest.mark.parametrize("init", ["k-means++", "lbg", "random"])
def test_results_depend_on_the_seed_and_on_nothing_else(init, monkeypatch):
    monkeypatch.setattr("suffice.estimators.mixture_classifier.SAMPLE", 300)
    monkeypatch.setattr("suffice.sources.base.LocalSource.step", lambda _: 64)
    clf = MixtureClassifier({"far": 2, "near": 1, "up": 1}, init=init, random_state=3, n_jobs=1).fit(X, Y)
    other = clone(clf).set_params(n_jobs=3).fit(X, Y)
    np.testing.assert_allclose(other.predict_proba(X), clf.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_files_and_clusters_give_the_model_of_memory(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "x.parquet", row_group_size=90)
    clf = MixtureClassifier({"far": 2, "near": 1, "up": 1}, tol=1e-10, max_iter=1000, random_state=0)
    memory = clone(clf).fit(frame, "y").log_likelihood(frame)
    for table in (str(tmp_path / "x.parquet"), dd.from_pandas(frame, npartitions=3)):
        np.testing.assert_allclose(clone(clf).fit(table, "y").log_likelihood(frame), memory, rtol=1e-6)


def test_rare_classes_have_rows_to_start_from(monkeypatch):
    monkeypatch.setattr("suffice.estimators.mixture_classifier.SAMPLE", 100)
    rare = RNG.choice([-3.0, 3.0], 12)[:, None] + [[0.0, 30.0]] + RNG.normal(0, 0.1, (12, 2))
    rows, labels = np.vstack([X, rare]), np.append(Y, ["rare"] * 12)
    clf = MixtureClassifier({"far": 2, "near": 1, "up": 1, "rare": 2}, random_state=0).fit(rows, labels)
    means = clf.density_.of_classes([2]).components.parts["gaussian"].mean
    np.testing.assert_allclose(sorted(means[:, 0]), [-3, 3], atol=0.2)


def test_whole_tables_with_missing_cells_are_learnt():
    birds = PENGUINS.drop(columns="year")
    clf = MixtureClassifier(2, "diag", random_state=0).fit(birds, "species")
    assert clf.score(birds, "species") > 0.97
    assert dict(zip(clf.schema_.names, clf.schema_.families, strict=True))["island"] == "categorical"
    assert not clf.impute(birds).isna().any().any()
    assert len(clf.explain(birds.head(), "Adelie", "Gentoo")) == 5


def test_scores_are_those_of_the_definition():
    rows, density = X[:50], FITTED.density_
    parts = density.components.log_likelihood(rows)
    expected = np.stack(
        [logsumexp(parts[:, density.owner == c], b=density.weights[density.owner == c], axis=1) for c in range(3)], 1
    )
    np.testing.assert_allclose(FITTED.log_likelihood(rows), expected, rtol=1e-12)
    shares = np.stack(
        [density.explain(density.read(suffice.sources.as_table(rows)), c).sum(axis=1) for c in range(3)], 1
    )
    np.testing.assert_allclose(shares, expected, rtol=1e-10)
    np.testing.assert_allclose(FITTED.predict_proba(rows, prior="uniform").sum(axis=1), 1)
    assert (
        FITTED.llr(rows, "near", "far") == FITTED.log_likelihood(rows)[:, 0] - FITTED.log_likelihood(rows)[:, 1]
    ).all()


def test_a_sample_fitted_again_gives_the_parameters_back():
    rows, label = FITTED.sample(20_000, random_state=1)
    again = clone(FITTED).fit(rows, label)
    for one, two in (again, FITTED), (FITTED, again):
        ours, theirs = (clf.density_.components.parts["gaussian"].mean for clf in (one, two))
        distance = np.linalg.norm(ours[:, None] - theirs, axis=2).min(axis=1)
        assert (distance < 0.15).all()
    np.testing.assert_allclose(again.prior_, FITTED.prior_, atol=0.02)


def test_typicality_is_that_of_the_mixture():
    rows, label = FITTED.sample(3000, random_state=2)
    own = FITTED.typicality(rows)[np.arange(3000), np.searchsorted(FITTED.classes_, label)]
    assert np.quantile(own, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.04)
    assert (FITTED.typicality([[50.0, 50.0]]) == 0).all()


def test_saved_models_score_as_before(tmp_path):
    clf = clone(FITTED).set_params(random_state=np.random.RandomState(0)).fit(X, Y)
    clf.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    assert loaded.n_components == {"far": 2, "near": 1, "up": 1}
    assert loaded.n_components_ == clf.n_components_
    assert loaded.history_.tolist() == clf.history_.tolist()
    clf.to_model().save(tmp_path / "model.safetensors")
    others = loaded, load_model(tmp_path / "m.safetensors"), load_model(tmp_path / "model.safetensors")
    for other in (*others, pickle.loads(pickle.dumps(clf))):
        np.testing.assert_allclose(other.predict_proba(X), clf.predict_proba(X), rtol=1e-12)


def test_a_sum_has_the_average_of_the_densities():
    other = clone(FITTED).fit(X[:300], Y[:300])
    both = FITTED + other
    n, m = ([np.sum(y == label) for label in FITTED.classes_] for y in (Y, Y[:300]))
    density = [np.exp(clf.log_likelihood(X)) for clf in (FITTED, other)]
    expected = (np.multiply(n, density[0]) + np.multiply(m, density[1])) / np.add(n, m)
    np.testing.assert_allclose(np.exp(both.log_likelihood(X)), expected, rtol=1e-9, atol=1e-300)
    assert sum([FITTED, other]).n_components_ == {"far": 4, "near": 2, "up": 2}
    with pytest.raises(StatisticsError, match="cannot be merged"):
        FITTED + MixtureClassifier(1).fit(X[:, :1], Y)


def test_pseudo_rows_keep_components_from_collapsing():
    rows = np.vstack([X[:100], np.full((3, 2), 40.0)])
    label = np.repeat(["a"], len(rows))
    loose = MixtureClassifier(2, random_state=0, variance_floor=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        narrow = clone(loose).fit(rows, label).density_.components.parts["gaussian"].covariance
    wide = clone(loose).set_params(pseudo_rows=2.0).fit(rows, label).density_.components.parts["gaussian"].covariance
    assert np.linalg.det(narrow).min() < 1e-6
    assert np.linalg.det(wide).min() > 1.0


def test_components_that_lose_their_rows_are_left_out():
    rows = np.repeat([[0.0], [1.0], [5.0]], 20, axis=0)
    label = np.repeat(["a", "b"], 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ComponentWarning)
        with pytest.warns(ComponentWarning, match="components lost their rows to others and are left out; use fewer"):
            clf = MixtureClassifier(4, "tied", random_state=0).fit(rows, label)
    assert 1 <= clf.n_components_["a"] < 4
    assert np.isfinite(clf.predict_proba(rows)).all()


def test_what_does_not_converge_is_said():
    with pytest.warns(ConvergenceWarning, match="no convergence after 1 steps; raise max_iter or tol"):
        assert not MixtureClassifier(5, max_iter=1, tol=0, random_state=0).fit(X, Y).converged_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"shrinkage": "loo"}, '^MixtureClassifier has no shrinkage="loo"; give a number, "oas" or "ledoit_wolf"'),
        ({"n_components": 0}, "n_components=0 must be a positive whole number"),
        ({"n_components": "many"}, "n_components='many' is not known"),
        ({"n_components": {"far": 2}}, "a number for each class and no other; it differs in 'near', 'up'"),
        ({"init": [0, 1]}, "init=\\[0, 1\\]"),
        ({"pseudo_rows": -1}, "pseudo_rows=-1 must be a number that is not negative"),
        ({"covariance": "round"}, "covariance='round' is not known"),
    ],
)
def test_impossible_settings_are_refused_and_change_nothing(params, message):
    clf = clone(FITTED).fit(X, Y)
    before = clf.predict_proba(X)
    with pytest.raises(DataError, match=message):
        clf.set_params(**params).fit(X, Y)
    np.testing.assert_array_equal(clf.set_params(**FITTED.get_params()).predict_proba(X), before)


@pytest.mark.parametrize(
    ("owner", "weights", "message"),
    [
        ([0, 0, 1], [0.5, 0.4, 1.0], "those of a class must sum to 1"),
        ([0, 0, 1], [1.5, -0.5, 1.0], "weights must be a share"),
        ([0, 0, 1], [0.5, 0.5], "weights must be a share"),
        ([1, 0, 0], [1.0, 0.5, 0.5], "in ascending order"),
        ([0, 0], [0.5, 0.5], "for each component"),
        ([-1, 0, 0], [1.0, 0.5, 0.5], "indices from 0 to 0"),
    ],
)
def test_impossible_parameters_are_refused(owner, weights, message):
    components = GaussianDensity.from_parameters([[-3.0], [3.0], [0.0]], [1.0, 1.0, 1.0], "spherical")
    with pytest.raises(DataError, match=message):
        MixtureDensity.from_parameters(components, owner, weights)


def test_an_interrupted_run_resumes(tmp_path, monkeypatch):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "x.parquet")
    rows = suffice.files(tmp_path / "x.parquet", checkpoint=tmp_path / "run")
    clf = MixtureClassifier(3, random_state=0, tol=1e-5, max_iter=1000)
    monkeypatch.setattr("suffice.checkpoint.SECONDS", 0.0)
    with pytest.warns(ConvergenceWarning):
        first = clone(clf).set_params(max_iter=4).fit(rows, "y")
    monkeypatch.setattr("suffice.starts.Search.best", None)  # the checkpoint knows better
    resumed = clone(clf).fit(rows, "y")
    assert resumed.converged_
    np.testing.assert_allclose(resumed.history_[:5], first.history_, rtol=1e-12)
    assert (np.diff(resumed.history_) >= -1e-12).all()
    with pytest.raises(CheckpointError, match="is the checkpoint of another job: its em is"):
        clone(clf).set_params(covariance="diag").fit(rows, "y")


def test_mixed_tables_with_one_component_equal_the_mixed_classifier():
    birds = PENGUINS.drop(columns="year")
    plain = MixedClassifier(variance_floor=1e-6).fit(birds, "species")
    clf = MixtureClassifier(1, "diag").fit(birds, "species")
    np.testing.assert_allclose(clf.predict_proba(birds), plain.predict_proba(birds), rtol=1e-9, atol=1e-12)


def test_weights_that_sum_to_one_choose_as_many_components():
    weight = np.full(len(X), 1 / len(X))
    clf = MixtureClassifier("auto", random_state=0).fit(X, Y, weight)
    assert clf.n_components_ == {"far": 2, "near": 1, "up": 1}


def test_pseudo_rows_do_not_count_in_the_prior():
    clf = MixtureClassifier({"far": 5, "near": 1, "up": 1}, pseudo_rows=50, random_state=0, max_iter=1000).fit(X, Y)
    np.testing.assert_allclose(clf.prior_, [np.mean(label == Y) for label in clf.classes_])


def test_warnings_speak_of_components():
    rows, label = np.vstack([X, [[50.0, 50.0]]]), np.append(Y, "alone")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MixtureClassifier("auto", "diag", random_state=0).fit(rows, label)
    messages = [str(each.message) for each in caught]
    assert all("some components have almost no variance" in message for message in messages), messages
    assert len(messages) == 1


def test_weights_of_components_may_be_small():
    one, two = (
        MixtureClassifier(2, "diag", random_state=0).fit(X, Y, sample_weight=np.full(len(X), w)) for w in (1, 1e-6)
    )
    np.testing.assert_allclose(two.log_likelihood(X), one.log_likelihood(X), rtol=1e-6)
