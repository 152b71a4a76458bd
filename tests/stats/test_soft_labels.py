"""Soft labels are weights: each statistic is that of the rows repeated for every class, weighted by their shares."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from suffice import kernels
from suffice.errors import DataError
from suffice.stats import CategoryStats, CountStats, MomentStats, WordStats
from suffice.stats.support import POSITIVE
from suffice.stats.transformed import TransformedStats
from suffice.tables.batch import Batch
from suffice.tables.labels import SoftLabels
from suffice.tables.table import Matrix, Sparse

CLASSES = np.array(["a", "b", "c"])
N = 5000  # more than are collected at a time, class after class


@pytest.fixture(params=kernels.available(), autouse=True)
def kernel(request):
    with kernels.using(request.param):
        yield


@pytest.fixture
def share(rng):
    return rng.dirichlet(np.ones(3), N) * (rng.uniform(size=(N, 3)) > 0.3)


def sparse(X):
    X = csr_array(X)
    return Sparse(X.indptr, X.indices, X.data, X.shape[1])


def repeated(table, share, weight):
    """The rows once for every class, with hard labels."""
    w = (share if weight is None else share * weight[:, None]).T.ravel()
    rows = np.tile(np.arange(N), 3)
    return Batch(table[rows], np.repeat(CLASSES, N), w)


def check(collect, table, share, weight=None, rtol=1e-10):
    ours, theirs = collect(Batch(table, SoftLabels(CLASSES, share), weight)), collect(repeated(table, share, weight))
    assert ours.classes.tolist() == theirs.classes.tolist()
    for name, array in theirs.to_arrays().items():
        np.testing.assert_allclose(ours.to_arrays()[name], array, rtol=rtol, atol=1e-9, err_msg=name)
    return ours


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", ["diag", "full", "pooled", "quartic"])
def test_moments(rng, share, layout, dtype):
    X = (rng.normal(size=(N, 5)) + 3).astype(dtype)
    for weight in (None, rng.uniform(size=N)):
        check(partial(MomentStats.of, layout=layout), Matrix(X), share, weight)


def test_missing_cells_are_skipped_column_by_column(rng, share):
    X = rng.normal(size=(N, 4))
    X[rng.uniform(size=(N, 4)) < 0.1] = np.nan
    X[:, 1] = rng.normal(size=N)
    moments = check(partial(MomentStats.of, skip_missing=True), Matrix(X), share)
    np.testing.assert_allclose(moments.observed, share.T @ ~np.isnan(X))


@pytest.mark.parametrize("layout", ["diag", "full"])
def test_a_cell_that_is_not_finite_spoils_only_classes_that_have_a_share_of_it(rng, share, layout):
    X = rng.normal(size=(N, 3))
    X[70, 1] = np.nan
    share[70] = [0.5, 0.0, 0.5]
    moments = MomentStats.of(Batch(Matrix(X), SoftLabels(CLASSES, share)), layout)
    assert np.isnan(moments.mean[[0, 2], 1]).all()
    assert np.isfinite(moments.scatter[1]).all()


def test_rows_without_weight_are_absent_whatever_they_hold(rng, share):
    X, weight = rng.normal(size=(N, 3)), rng.uniform(size=N)
    X[::7], weight[::7] = np.inf, 0.0
    moments = MomentStats.of(Batch(Matrix(X), SoftLabels(CLASSES, share), weight))
    kept = weight > 0
    expected = MomentStats.of(Batch(Matrix(X[kept]), SoftLabels(CLASSES, share[kept]), weight[kept]))
    np.testing.assert_array_equal(moments.scatter, expected.scatter)
    counts = CountStats.of(
        Batch(Matrix(np.where(X > 1, np.inf, 1.0)), SoftLabels(CLASSES, share), weight * (X < 1).all(1))
    )
    assert counts.is_finite()


@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("form", [Matrix, sparse])
def test_counts(rng, share, form, presence):
    X = rng.poisson(0.5, (N, 6)).astype(float)
    for weight in (None, rng.uniform(size=N)):
        check(partial(CountStats.of, presence=presence), form(X), share, weight)


def test_counts_with_missing_cells(rng, share):
    X = rng.poisson(0.5, (N, 6)).astype(float)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    counts = check(CountStats.of, Matrix(X), share)
    np.testing.assert_allclose(counts.missing, share.T @ np.isnan(X))


@pytest.mark.parametrize("form", [Matrix, sparse])
def test_what_cannot_be_counted_is_refused(share, form):
    X = np.ones((N, 2))
    X[3, 1] = -1
    share[3] = 1 / 3
    with pytest.raises(DataError, match="Negative values in data: column 1"):
        CountStats.of(Batch(form(X), SoftLabels(CLASSES, share)))


def test_categories(rng, share):
    numbers = rng.integers(-2, 4, (N, 3))
    numbers[-1] = [40, -30, 7]  # after the first rows, which usually show all there is
    for table in (Matrix(numbers), Matrix(np.array(["x", "y", "z", None], object)[numbers % 4])):
        for weight in (None, rng.uniform(size=N)):
            check(CategoryStats.of, table, share, weight)


def test_transformed_columns(rng, share):
    X = rng.gamma(2, size=(N, 2))
    X[5, 0] = np.nan
    of = partial(TransformedStats.of, transforms=("identity", "log"), support=POSITIVE, family="gamma")
    for weight in (None, rng.uniform(size=N)):
        check(of, Matrix(X), share, weight)


@pytest.mark.parametrize("presence", [False, True])
def test_words(rng, share, presence):
    texts = np.array([None, "", "the cat, the dog", "the the end"], object)[rng.integers(0, 4, (N, 1))]
    for weight in (None, rng.uniform(size=N)):
        check(partial(WordStats.of, presence=presence), Matrix(texts), share, weight)
