"""Expectation-maximisation against scikit-learn's, and its law: the log-likelihood never falls."""

import functools
import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from suffice import em, starts
from suffice.densities import GaussianDensity
from suffice.densities.covariance import STRUCTURES
from suffice.families import FAMILIES
from suffice.sources import as_source
from suffice.sources.sampling import sample_rows
from suffice.stats import CollectMoments, MomentStats
from suffice.tables.batch import Batch
from suffice.tables.labels import SoftLabels

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(3, 4)) * 2
X = CENTRES[RNG.integers(3, size=900)] + RNG.normal(size=(900, 4)) @ RNG.normal(size=(4, 4))
ROUGH = np.argmin(((X[:, None, :1] - CENTRES[None, :, :1]) ** 2).sum(-1), axis=1)


@pytest.mark.parametrize("covariance", ["full", "diag", "spherical", "tied"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_steps_are_those_of_scikit_learn(covariance, n_jobs, monkeypatch):
    monkeypatch.setattr("suffice.sources.base.PIECE", 512)
    layout = STRUCTURES[covariance].layout(None)
    start = MomentStats.of(Batch.of(X, ROUGH), layout)
    estimate = functools.partial(GaussianDensity.estimate, structure=covariance)
    source = as_source(X, n_jobs=n_jobs)
    mixture = em.Loop(source.reduce, CollectMoments(layout), estimate, 0.0, 7).maximise(start)

    first = estimate(start).parameters()["covariances"]
    precisions = 1 / first if covariance in ("diag", "spherical") else np.linalg.inv(first)
    if covariance == "spherical":
        precisions = precisions[:, 0] if precisions.ndim == 2 else precisions
    if covariance == "tied" and precisions.ndim == 3:
        precisions = precisions[0]
    peer = GaussianMixture(
        3,
        covariance_type=covariance,
        means_init=start.mean,
        precisions_init=precisions,
        weights_init=start.weight / len(X),
        max_iter=7,
        tol=0,
        reg_covar=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(X)
    assert mixture.history[-2] == pytest.approx(peer.lower_bound_, rel=1e-9)
    assert mixture.history[-1] == pytest.approx(peer.score(X), rel=1e-9)
    np.testing.assert_allclose(mixture.weight, peer.weights_, rtol=1e-8)
    np.testing.assert_allclose(mixture.density.mean, peer.means_, rtol=1e-7)
    assert mixture.criteria()["bic"] == pytest.approx(peer.bic(X), rel=1e-9)
    assert mixture.criteria()["aic"] == pytest.approx(peer.aic(X), rel=1e-9)


def drawn(name, rng, n=240):
    """Rows of two groups that a family can describe."""
    group = rng.integers(2, size=n)[:, None]
    if name == "categorical":
        return np.where(rng.random((n, 4)) < 0.3 + 0.4 * group, rng.integers(0, 3, (n, 4)), 3)
    if name == "text":
        words = np.array(["rain", "wind", "snow", "sun", "fog"])
        return np.array([[" ".join(rng.choice(words[g : g + 4], 6))] for g in group[:, 0]], object)
    if name == "bernoulli":
        return (rng.random((n, 5)) < 0.2 + 0.5 * group).astype(float)
    if FAMILIES[name].needs.startswith(("CountStats", "CategoryStats")) or name == "geometric":
        return rng.negative_binomial(3, 0.3 + 0.3 * group, (n, 3)).astype(float)
    return rng.gamma(2 + 3 * group, 1.0, (n, 3))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_log_likelihood_never_falls(family, seed):
    rng = np.random.default_rng(seed)
    rows, row = drawn(family, rng), FAMILIES[family]
    choices = row.chosen({"alpha": 0.0} if "alpha" in row.defaults else {})
    weight = rng.integers(0, 3, len(rows)).astype(float)
    collect = row.collector(choices)
    soft = SoftLabels(np.arange(2), rng.dirichlet([1, 1], len(rows)))
    start = collect(em.softly(Batch.of(rows, weight=weight), soft))
    source = as_source(rows, weight=weight)
    mixture = em.Loop(source.reduce, collect, lambda s, start=None: row.estimate(s, choices), 0.0, 12).maximise(start)
    assert len(mixture.history) == 13
    assert (np.diff(mixture.history) >= -1e-9 * np.abs(mixture.history[0])).all()
    assert mixture.history[-1] > mixture.history[0]
    assert mixture.total == weight.sum()


def test_entropy_is_that_of_the_responsibilities():
    start = MomentStats.of(Batch.of(X, ROUGH), "full")
    mixture = em.Loop(as_source(X).reduce, CollectMoments("full"), GaussianDensity.estimate, 0.0, 2).maximise(start)
    joint = mixture.density.log_likelihood(X) + np.log(mixture.weight)
    posterior = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    assert mixture.entropy == pytest.approx(-(posterior * np.log(posterior)).sum())
    assert mixture.criteria()["icl"] == pytest.approx(mixture.criteria()["bic"] + 2 * mixture.entropy)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_sample_is_the_same_for_any_number_of_threads_and_batches(n_jobs, monkeypatch):
    rows = np.arange(5000.0)[:, None]
    whole = np.concatenate([batch.X[:, 0] for batch in sample_rows(as_source(rows), 400, 3)])
    monkeypatch.setattr("suffice.sources.base.PIECE", 64)
    monkeypatch.setattr("suffice.sources.base.LocalSource.step", lambda _: 70)
    parts = np.concatenate([batch.X[:, 0] for batch in sample_rows(as_source(rows, n_jobs=n_jobs), 400, 3)])
    np.testing.assert_array_equal(parts, whole)
    assert len(whole) == 400
    counts = np.histogram(whole, bins=5, range=(0, 5000))[0]
    assert ((counts > 50) & (counts < 110)).all()  # 80 expected, with a standard deviation of 8
    other = np.concatenate([batch.X[:, 0] for batch in sample_rows(as_source(rows), 400, 4)])
    assert len(set(whole) & set(other)) < 100
    assert sum(map(len, sample_rows(as_source(rows), 10**6, 0))) == 5000


def test_k_means_finds_what_that_of_scikit_learn_finds():
    weight = RNG.uniform(0.5, 2, len(X))
    label = starts.k_means(X, weight, 3, np.random.default_rng(0), steps=50)
    centres = np.array([np.average(X[label == c], axis=0, weights=weight[label == c]) for c in range(3)])
    inertia = weight @ ((X - centres[label]) ** 2).sum(axis=1)
    peer = KMeans(3, n_init=5, random_state=0).fit(X, sample_weight=weight)
    assert inertia <= 1.05 * peer.inertia_
    same = starts.k_means(np.zeros((5, 2)), np.ones(5), 3, np.random.default_rng(0))
    assert len(same) == 5


@pytest.mark.parametrize("engine", ["files", "dask"])
def test_a_sample_of_parts_is_spread_over_all_of_them(engine, tmp_path):
    frame = pd.DataFrame({"x": np.arange(6000.0), "weight": np.arange(6000) % 2})
    if engine == "files":
        for i in range(60):
            frame[100 * i : 100 * i + 100].to_parquet(tmp_path / f"{i:02}.parquet")
        source = as_source(str(tmp_path), weight="weight")
    else:
        source = as_source(dd.from_pandas(frame, npartitions=60), weight="weight")
    for n in (5, 120):
        rows = np.concatenate([batch.X[:, 0] for batch in sample_rows(source, n, 0)])
        assert len(rows) == n
        assert (rows % 2 == 1).all()  # the others have no weight
        assert len(set((rows % 100).tolist())) > min(n / 2, 30)  # not the same rows of every part


def test_rows_without_weight_change_nothing():
    rows = np.abs(X[:, :2]) + 0.1
    collect, row = FAMILIES["gamma"].collector({}), FAMILIES["gamma"]
    start = collect(Batch.of(rows, ROUGH % 2))
    estimate = lambda s, start=None: row.estimate(s, {})  # noqa: E731
    alone = em.Loop(as_source(rows).reduce, collect, estimate, 0.0, 3).maximise(start)
    more, weight = np.vstack([rows, [[-5.0, 1.0]]]), np.append(np.ones(len(rows)), 0.0)
    both = em.Loop(as_source(more, weight=weight).reduce, collect, estimate, 0.0, 3).maximise(start)
    np.testing.assert_allclose(both.history, alone.history)
    assert both.criteria() == pytest.approx(alone.criteria())


def test_a_component_without_rows_is_left_out():
    start = MomentStats.of(Batch.of(X, ROUGH), "diag").aligned(np.arange(4))
    estimate = functools.partial(GaussianDensity.estimate, structure="diag")
    mixture = em.Loop(as_source(X).reduce, CollectMoments("diag"), estimate, 0.0, 3).maximise(start)
    loop = em.Loop(as_source(X).reduce, CollectMoments("diag"), estimate, 0.0, 3)
    three = loop.maximise(MomentStats.of(Batch.of(X, ROUGH), "diag"))
    assert len(mixture.weight) == 3
    np.testing.assert_allclose(mixture.history, three.history)
    assert mixture.entropy == pytest.approx(three.entropy)
