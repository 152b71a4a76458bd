"""MixtureModel as a user meets it: clusters of numbers, and of whole tables."""

import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import MixedClassifier, MixtureModel, load, load_model
from suffice.errors import CheckpointError, DataError

RNG = np.random.default_rng(0)
GROUP = RNG.integers(3, size=600)
X = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 7.0]])[GROUP] + RNG.normal(size=(600, 2))
PENGUINS = pd.read_csv(Path(suffice.__file__).parent / "data" / "penguins.csv")
BIRDS = PENGUINS.drop(columns=["species", "sex", "year"])


@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [MixtureModel(random_state=0)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "starts are drawn from the rows, whatever their weights",
    },
)
def test_scikit_learn_conventions(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


def test_groups_are_found_and_their_number():
    model = MixtureModel(range(1, 6), random_state=0).fit(X)
    assert model.n_components_ == 3
    assert adjusted_rand_score(GROUP, model.predict(X)) > 0.98
    peer = GaussianMixture(3, random_state=0, tol=1e-8, n_init=5).fit(X)
    assert model.lower_bound_ == pytest.approx(peer.lower_bound_, abs=1e-3)
    assert model.bic(X) == pytest.approx(peer.bic(X), abs=1)
    assert model.aic(X) == pytest.approx(peer.aic(X), abs=1)
    assert model.score(X) == pytest.approx(model.lower_bound_)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    table = model.criteria_
    assert table["n_components"].tolist() == [1, 2, 3, 4, 5]
    assert table["n_parameters"].tolist() == [5, 11, 17, 23, 29]
    assert table["bic"][2] == pytest.approx(model.bic(X))
    assert table["icl"][2] == pytest.approx(model.icl(X))


def test_one_component_is_the_plain_model():
    model = MixtureModel(1, covariance="full").fit(X)
    plain = MixedClassifier(covariance="full", variance_floor=1e-6).fit(X, np.zeros(len(X), int))
    np.testing.assert_allclose(model.log_likelihood(X), plain.log_likelihood(X), rtol=1e-12)


def test_a_sample_fitted_again_gives_the_parameters_back():
    model = MixtureModel(3, random_state=0).fit(X)
    rows, component = model.sample(20_000, random_state=1)
    again = MixtureModel(3, init=component, tol=1e-7).fit(rows)
    np.testing.assert_allclose(again.weights_, model.weights_, atol=0.02)
    means = [m.parameters_["gaussian"]["means"] for m in (again, model)]
    np.testing.assert_allclose(*means, atol=0.1)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_results_depend_on_the_seed_and_on_nothing_else(init, tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.estimators.mixture.SAMPLE", 150)
    monkeypatch.setattr("suffice.sources.base.LocalSource.step", lambda _: 64)
    model = MixtureModel(3, init=init, random_state=7, n_jobs=1).fit(X)
    threads = clone(model).set_params(n_jobs=3).fit(X)
    np.testing.assert_allclose(threads.predict_proba(X), model.predict_proba(X), rtol=1e-10)
    frame = pl.DataFrame(X, schema=["a", "b"])
    np.testing.assert_allclose(clone(model).fit(frame).predict_proba(frame), model.predict_proba(X), rtol=1e-8)


def test_files_give_the_model_of_memory(tmp_path):
    pq.write_table(pl.DataFrame(X, schema=["a", "b"]).to_arrow(), tmp_path / "x.parquet", row_group_size=100)
    start = GROUP.copy()
    start[:200] = RNG.integers(3, size=200)
    memory = MixtureModel(3, init=start).fit(X)
    files = MixtureModel(3, random_state=0, tol=1e-9).fit(str(tmp_path / "x.parquet"))
    assert files.lower_bound_ == pytest.approx(memory.lower_bound_, abs=1e-4)
    assert adjusted_rand_score(GROUP, files.predict(str(tmp_path / "x.parquet"))) > 0.98


def test_whole_tables_with_missing_cells_have_clusters():
    model = MixtureModel(range(1, 6), "diag", random_state=0, criterion="icl").fit(BIRDS)
    assert dict(zip(model.schema_.names, model.schema_.families, strict=True))["island"] == "categorical"
    assert BIRDS.isna().any().any()
    assert adjusted_rand_score(PENGUINS["species"], model.predict(BIRDS)) > 0.5
    filled = model.impute(BIRDS)
    assert not filled.isna().any().any()


def test_saved_models_score_as_before(tmp_path):
    model = MixtureModel(range(2, 4), random_state=np.random.RandomState(0)).fit(X)
    model.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    assert isinstance(loaded, MixtureModel)
    assert loaded.n_components == [2, 3]
    assert (loaded.converged_, loaded.n_iter_, loaded.lower_bound_) == (True, model.n_iter_, model.lower_bound_)
    assert loaded.criteria_["bic"].tolist() == model.criteria_["bic"].tolist()
    for other in (loaded, load_model(tmp_path / "m.safetensors"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


def test_what_does_not_converge_is_said():
    with pytest.warns(ConvergenceWarning, match="no convergence after 2 steps; raise max_iter or tol"):
        model = MixtureModel(5, max_iter=2, random_state=0).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 2


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 0}, "n_components=0 must be a positive whole number"),
        ({"n_components": []}, "must be a positive whole number"),
        ({"n_components": 700}, "fewer rows than components: 600 and 700"),
        ({"criterion": "best"}, "criterion='best' is not known"),
        ({"init": "kmeans"}, "init='kmeans' is not known"),
        ({"init": [0, 1]}, "a label, or 2 responsibilities, for each of 600 rows; it has shape \\(2,\\)"),
        ({"init": GROUP}, "it has shape \\(600,\\), for 3 components"),
        ({"init": -np.ones((600, 2))}, "soft labels must be finite and not negative"),
        ({"n_init": 0}, "n_init=0 must be a positive whole number"),
        ({"max_iter": -1}, "max_iter=-1 must be a positive whole number"),
        ({"tol": float("nan")}, "tol=nan must be a number that is not negative"),
    ],
)
def test_impossible_settings_are_refused_and_change_nothing(params, message):
    model = MixtureModel(2, random_state=0).fit(X)
    before = model.predict_proba(X)
    with pytest.raises(DataError, match=message):
        model.set_params(**params).fit(X)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_the_message_about_a_shrinkage_names_this_class():
    with pytest.raises(DataError, match=r'^MixtureModel has no shrinkage="loo"; give a number, "oas" or "ledoit_wolf"'):
        MixtureModel(shrinkage="loo").fit(X)


def test_a_column_of_identifiers_takes_little_memory():
    n = 3000
    table = pd.DataFrame({"a": RNG.normal(size=n) + 9 * (np.arange(n) % 2), "id": [f"u{i}" for i in range(n)]})
    tracemalloc.start()
    model = MixtureModel(2, "diag", {"id": "categorical"}, random_state=0, n_init=1).fit(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # one-hot and dense, the identifiers alone take 72 MB, and three times that to scale them
    assert adjusted_rand_score(np.arange(n) % 2, model.predict(table)) > 0.95


def test_numbers_beyond_that_of_the_rows_are_left_out():
    assert MixtureModel("auto", "diag", random_state=0, max_iter=500).fit(X[:4]).criteria_["n_components"].max() <= 4


def test_a_checkpoint_is_of_one_job(tmp_path):
    pq.write_table(pl.DataFrame(X, schema=["a", "b"]).to_arrow(), tmp_path / "x.parquet")
    rows = suffice.files(tmp_path / "x.parquet", checkpoint=tmp_path / "run")
    model = MixtureModel(3, random_state=0).fit(rows)
    again = MixtureModel(3, random_state=0).fit(rows)
    assert again.n_iter_ == model.n_iter_
    np.testing.assert_allclose(again.lower_bound_, model.lower_bound_, rtol=1e-12)
    with pytest.raises(CheckpointError, match="the checkpoint of another job: its em is"):
        MixtureModel(3, random_state=1).fit(rows)
