"""Moments of few rows of many columns: kept as rows, they are the same moments."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.collect import collect
from suffice.errors import StatisticsError
from suffice.sources import as_source
from suffice.stats import CollectGaussian, CollectMoments, MomentStats, PatternStats, WideMomentStats
from suffice.stats.wide import is_wide
from suffice.tables.batch import Batch
from suffice.tables.labels import SoftLabels

LAYOUTS = ["pooled", "full", "quartic"]


def rows_of(seed=0, n=30, d=200, k=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, d) + rng.normal(size=d)
    return X, np.arange(n) % k, np.where(rng.random(n) < 0.2, 0.0, rng.uniform(0.5, 3, n))


def assert_same(one, two):
    """Whether two statistics are the same, to rounding."""
    assert one.classes.tolist() == two.classes.tolist()
    assert one.layout == two.layout
    np.testing.assert_allclose(one.weight, two.weight, rtol=1e-12)
    np.testing.assert_allclose(one.mean, two.mean, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(one.variation, two.variation, rtol=1e-9)
    unit = np.sqrt(np.where(two.variation > 0, two.variation, 1.0))
    unit = unit[0] if two.layout == "pooled" else unit
    by = unit[..., None] * unit[..., None, :]
    np.testing.assert_allclose(one.scatter / by, two.scatter / by, atol=1e-10)
    if two.layout == "quartic":
        np.testing.assert_allclose(one.quartic, two.quartic, rtol=1e-9)
        np.testing.assert_allclose(one.cubic, two.cubic, atol=1e-9 * np.abs(two.cubic).max())


@pytest.mark.parametrize("tied", [False, True])
def test_few_rows_make_up_each_scatter(tied):
    X, y, w = rows_of()
    dense, wide = (kind.of(Batch.of(X, y, w), "full") for kind in (MomentStats, WideMomentStats))
    scatter = np.stack([rows.T @ rows for rows in wide.few_rows(tied)])
    expected = dense.scatter.sum(axis=0, keepdims=True) if tied else dense.scatter
    np.testing.assert_allclose(scatter, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert dense.few_rows(tied) is None  # they hold the scatter itself


@given(st.integers(0, 1000), st.sampled_from(LAYOUTS), st.booleans(), st.integers(1, 30))
def test_moments_are_those_of_dense_statistics(seed, layout, weighted, step):
    X, y, w = rows_of(seed)
    w = w if weighted else np.ones(len(X))
    batches = [
        Batch(as_source(X[i : i + step]).table, y[i : i + step], w[i : i + step]) for i in range(0, len(X), step)
    ]
    parts = [WideMomentStats.of(batch, layout) for batch in batches]
    total = parts[0].plus(*parts[1:])
    assert isinstance(total, WideMomentStats)
    expected = MomentStats.of(Batch.of(X, y, w), layout)
    for same in (
        total,
        sum(parts[1:], parts[0]),
        total.plain(),
        pickle.loads(pickle.dumps(total)),
        WideMomentStats.from_arrays(total.classes, total.to_arrays()),
    ):
        assert_same(same, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_they_add_to_other_statistics_and_subtract(layout):
    X, y, _ = rows_of()
    one, two = (WideMomentStats.of(Batch.of(X[rows], y[rows]), layout) for rows in (slice(18), slice(18, None)))
    dense = MomentStats.of(Batch.of(X[18:], y[18:]), layout)
    whole = MomentStats.of(Batch.of(X, y), layout)
    assert_same(one + dense, whole)
    assert_same(dense + one, whole)
    assert_same((one + two) - two, MomentStats.of(Batch.of(X[:18], y[:18]), layout))
    assert_same(whole - one, dense)
    other = WideMomentStats.of(Batch.of(X[:2], [7, 7]), layout)
    assert_same(one + other, MomentStats.of(Batch.of(X[[*range(18), 0, 1]], [*y[:18], 7, 7]), layout))
    with pytest.raises(StatisticsError, match="200 and of 199 columns"):
        one + WideMomentStats.of(Batch.of(X[:, 1:], y), layout)


def test_many_rows_become_a_matrix():
    X, y, _ = rows_of(n=60, d=100)
    parts = [WideMomentStats.of(Batch.of(X[i : i + 20], y[i : i + 20])) for i in range(0, 60, 20)]
    assert isinstance(parts[0] + parts[1], WideMomentStats)
    total = parts[0] + parts[1] + parts[2]
    assert type(total) is MomentStats
    assert_same(total, MomentStats.of(Batch.of(X, y), "full"))


def test_layouts_convert_as_those_of_matrices_do():
    X, y, _ = rows_of()
    quartic, matrix = WideMomentStats.of(Batch.of(X, y), "quartic"), MomentStats.of(Batch.of(X, y), "quartic")
    for layout in ("full", "pooled"):
        converted = quartic.to_layout(layout)
        assert isinstance(converted, WideMomentStats)
        assert_same(converted, matrix.to_layout(layout))
    np.testing.assert_allclose(quartic.to_layout("diag").scatter, matrix.to_layout("diag").scatter, rtol=1e-10)
    with pytest.raises(StatisticsError, match="'pooled' statistic cannot be converted to 'full'"):
        quartic.to_layout("pooled").to_layout("full")
    full, center, turn = quartic.to_layout("full"), X.mean(axis=0), np.random.default_rng(0).normal(size=(200, 3))
    for derive in (
        lambda s: s.projected(center, turn),
        lambda s: s.first(4),
        lambda s: s.scaled(center, X.std(axis=0)),
    ):
        np.testing.assert_allclose(derive(full).scatter, derive(matrix.to_layout("full")).scatter, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_follow_from_the_scatter_and_tell_no_rows(layout):
    X, y, _ = rows_of(k=1)
    order = np.random.default_rng(1).permutation(len(X))
    one, two = (WideMomentStats.of(Batch.of(X[rows], y[rows]), layout).to_arrays() for rows in (slice(None), order))
    factor, again = one[f"rows_{layout}"][:-1], two[f"rows_{layout}"][:-1]  # 29 of 30 rows are independent
    np.testing.assert_array_equal(factor, np.triu(factor))  # the Cholesky factor
    unit = np.abs(factor).max(axis=0)
    np.testing.assert_allclose(np.abs(factor) / unit, np.abs(again) / unit, atol=1e-7)


@pytest.mark.parametrize(
    "change",
    [
        {"owner": np.array([5] * 30)},
        {"rows_full": np.full((30, 200), np.nan)},
        {"rows_full": np.zeros((30, 199))},
        {"weight": -np.ones(3)},
        {"mean": np.zeros((3, 7))},
        {"cubic": np.zeros((3, 200))},
        {"rows_full": None},
    ],
)
def test_arrays_that_do_not_fit_are_refused(change):
    X, y, _ = rows_of()
    arrays = WideMomentStats.of(Batch.of(X, y), "full").to_arrays() | change
    with pytest.raises(StatisticsError, match=r"do not fit|are not the arrays"):
        WideMomentStats.from_arrays(np.arange(3), {n: a for n, a in arrays.items() if a is not None})


def test_collectors_keep_rows_of_wide_tables_alone():
    X, y, _ = rows_of()
    for of in (CollectGaussian("pooled"), CollectMoments("full")):
        assert type(collect(as_source(X, y), of)) is WideMomentStats
        assert type(collect(as_source(X[:, :50], y), of)) is MomentStats
        assert type(collect(as_source(np.repeat(X, 4, axis=0), np.repeat(y, 4)), of)) is MomentStats
    assert type(collect(as_source(X, y), CollectMoments("diag"))) is MomentStats
    soft = SoftLabels(np.arange(3), np.eye(3)[y])
    assert type(collect(as_source(X, soft), CollectGaussian("pooled"))) is MomentStats
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.01, np.nan, X)
    assert type(collect(as_source(holed, y), CollectGaussian("pooled"))) is PatternStats
    assert is_wide(50, 100)
    assert not is_wide(51, 100)
    assert not is_wide(None, 100)


def test_sums_that_overflow_are_found():
    X, y, _ = rows_of()
    X[3, 5] = 1e200
    moments = WideMomentStats.of(Batch.of(X, y), "full")
    assert np.isfinite(moments.rows).all()
    assert not moments.is_finite()
