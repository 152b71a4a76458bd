"""What every statistic offers beside its sums: an identity, a number of features, and whether digits are left."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from suffice.errors import StatisticsError
from suffice.stats import (
    BundleStats,
    CategoryStats,
    ComponentStats,
    CountStats,
    MomentStats,
    PairStats,
    PatternStats,
    Statistics,
    WideMomentStats,
    WordStats,
)
from suffice.stats.components import relabelled
from suffice.stats.support import NOT_NEGATIVE
from suffice.stats.transformed import TransformedStats
from suffice.tables.batch import Batch
from suffice.tables.table import Matrix

BLOCKS = {"moments": ((0,), MomentStats.of), "counts": ((2, 1), CountStats.of)}
NO_ROWS = {
    "moments": ((0,), lambda classes: MomentStats.zeros(classes, 1)),
    "counts": ((2, 1), lambda classes: CountStats.zeros(classes, 2)),
}


def words(batch):
    """Numbers as text: 2 is said twice, and NaN is missing."""
    texts = [[None if np.isnan(x) else f"w{x:.0f} " * int(x) for x in row] for row in batch.X.tolist()]
    return WordStats.of(replace(batch, table=Matrix(np.array(texts, object))))


KINDS = {  # how a statistic is collected, and that of no rows
    MomentStats: (MomentStats.of, lambda classes: MomentStats.zeros(classes, 3)),
    WideMomentStats: (WideMomentStats.of, lambda classes: WideMomentStats.zeros(classes, 3)),
    PatternStats: (PatternStats.of, lambda classes: PatternStats.zeros(classes, 3)),
    CountStats: (CountStats.of, lambda classes: CountStats.zeros(classes, 3)),
    CategoryStats: (CategoryStats.of, lambda classes: CategoryStats.zeros(classes, 3)),
    PairStats: (PairStats.of, lambda classes: PairStats.zeros(classes, 3)),
    WordStats: (words, lambda classes: WordStats.zeros(classes, 3)),
    TransformedStats: (
        lambda batch: TransformedStats.of(batch, ("identity",), NOT_NEGATIVE, "exponential"),
        lambda classes: TransformedStats.zeros(classes, 3, ("identity",)),
    ),
    BundleStats: (lambda batch: BundleStats.of(batch, BLOCKS), lambda classes: BundleStats.zeros(classes, NO_ROWS, 3)),
}


def components(batch):
    """One component for each class."""
    moments = MomentStats.of(batch)
    each = np.arange(len(moments.classes))
    return ComponentStats.of_parts(moments.classes, relabelled(moments, each), each)


KINDS[ComponentStats] = components, lambda classes: ComponentStats.zeros(classes, MomentStats.zeros([], 3))
every = pytest.mark.parametrize("kind", KINDS)
ROWS = Batch.of([[1.0, 2.0, 0.0], [4.0, 0.0, 1.0], [2.0, 2.0, 2.0]], ["b", "a", "b"])


def test_every_statistic_is_here():
    assert {kind.__name__: kind for kind in KINDS} == Statistics.kinds


@every
@pytest.mark.parametrize("classes", [[], ["b", "a"], ["z", "a"]])
def test_zeros_are_the_identity(kind, classes):
    of, zeros = KINDS[kind]
    rows, none = of(ROWS), zeros(classes)
    assert none.classes.tolist() == sorted(classes)
    assert not none.weight.any()
    for total in (rows + none, none + rows, (rows + none) - none):
        kept = np.isin(total.classes, rows.classes)
        assert not total.weight[~kept].any()
        again = rows.aligned(total.classes).to_arrays()
        assert again.keys() == total.to_arrays().keys()
        for name, array in total.to_arrays().items():
            np.testing.assert_array_equal(array, again[name])


@every
def test_faded_statistics_are_those_of_rows_with_smaller_weights(kind):
    of, _ = KINDS[kind]
    rng = np.random.default_rng(0)
    X, y, weight = rng.integers(0, 4, (9, 3)).astype(float), np.resize(["a", "b"], 9), rng.random(9)
    if kind in (MomentStats, PatternStats, CountStats, CategoryStats, PairStats, TransformedStats, WordStats):
        X[2, 1] = X[5, 0] = np.nan
    if kind is MomentStats:
        of = partial(MomentStats.of, skip_missing=True)
    found, expected = of(Batch.of(X, y, weight)).faded(0.25), of(Batch.of(X, y, weight / 4))
    assert found.to_arrays().keys() == expected.to_arrays().keys()
    for name, array in found.to_arrays().items():
        np.testing.assert_allclose(array, expected.to_arrays()[name], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.weight, expected.weight)


def test_higher_moments_and_sparse_counts_fade():
    rng = np.random.default_rng(0)
    X, y, weight = rng.poisson(1.0, (9, 3)).astype(float), np.resize(["a", "b"], 9), rng.random(9)
    for kind in (MomentStats, WideMomentStats):
        found, expected = (kind.of(Batch.of(X, y, w), "quartic") for w in (weight, weight / 2))
        for name, array in found.faded(0.5).to_arrays().items():
            np.testing.assert_allclose(array, expected.to_arrays()[name], rtol=1e-12, atol=1e-12)
    counts = CountStats(["a"], [2.0], csr_array([[3.0, 0.0]])).faded(0.5)
    assert counts.is_sparse
    assert counts.count.toarray().tolist() == [[1.5, 0.0]]


def test_a_second_moment_that_overflowed_stays_so_when_it_fades():
    rows = Batch.of([[1e200], [1.0]], ["a", "a"])
    stats = TransformedStats.of(rows, ("identity",), NOT_NEGATIVE, "exponential")
    assert stats.faded(0.5).scatter.item() == stats.scatter.item() == np.finfo(float).max


@every
def test_the_number_of_features_is_a_number(kind):
    of, zeros = KINDS[kind]
    assert of(ROWS).n_features == zeros(["a"]).n_features == 3


def test_a_bundle_must_be_told_the_number_of_features():
    with pytest.raises(TypeError, match="n_features"):
        BundleStats(np.array(["a"]), np.ones(1), {}, {})


def test_lists_do_for_arrays():
    moments = MomentStats(["a", "b"], [2, 1], [[1.0], [5.0]], [[2.0], [0.0]])
    moments += MomentStats.of(Batch.of([[3.0]], ["a"]))
    np.testing.assert_allclose(moments.mean, [[5 / 3], [5.0]])
    counts = CountStats(["a"], [2], [[3, 0]]) + CountStats.of(Batch.of([[1, 1]], ["a"]))
    assert counts.count.tolist() == [[4.0, 1.0]]
    categories = CategoryStats(["a"], [1.0], (np.array(["u"], object),), [[1.0]])
    assert (categories + categories).count.tolist() == [[2.0]]
    with pytest.raises(StatisticsError, match="distinct and sorted"):
        MomentStats(["b", "a"], [2, 1], [[1.0], [5.0]], [[2.0], [0.0]])
    with pytest.raises(ValueError, match="read-only"):
        moments.mean[0, 0] = 1.0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not ComponentStats])
def test_what_is_left_is_faint_where_next_to_nothing_is(kind):
    of, _ = KINDS[kind]
    X, y = np.array([[1.0, 2.0, 0.0], [4.0, 0.0, 1.0], [2.0, 2.0, 2.0]]), ["a", "a", "a"]

    def is_faint(weight):
        all_rows, first = of(Batch.of(X, y, weight)), of(Batch.of(X[:1], y[:1], weight[:1]))
        return all_rows.is_faint_without(first, all_rows - first, of(Batch.of(X, y)))

    assert not is_faint(np.array([1.0, 1.0, 1.0]))
    assert is_faint(np.array([1e9, 1.0, 1.0]))


@pytest.mark.filterwarnings("ignore::suffice.errors.PrecisionWarning")
def test_a_variance_that_is_left_may_be_faint_alone():
    X, y = np.array([[1e6], [0.0], [1e-3]]), ["a", "a", "a"]
    for of in (MomentStats.of, lambda batch: BundleStats.of(batch, {"m": ((0,), MomentStats.of)})):
        rows, outlier = of(Batch.of(X, y)), of(Batch.of(X[:1], y[:1]))
        assert rows.is_faint_without(outlier, rows - outlier, rows)


def test_the_components_of_both_are_in_the_sum():
    ones, twos = (
        ComponentStats.of_parts(["a", "b"], MomentStats.of(Batch.of(rows, [0, 0, 1])), owner)
        for rows, owner in (([[1.0], [2.0], [9.0]], [0, 1]), ([[4.0], [5.0], [7.0]], [0, 0]))
    )
    both = ones + twos
    assert both.owner.tolist() == [0, 0, 0, 1]
    assert both.weight.tolist() == [5.0, 1.0]
    assert both.parts.mean[:, 0].tolist() == [1.5, 4.5, 7.0, 9.0]
    with pytest.raises(StatisticsError, match="a mixture cannot forget rows: fit it again without them"):
        both - twos
    with pytest.raises(StatisticsError, match="the index of a class, in ascending order"):
        ComponentStats.of_parts(["a", "b"], ones.parts, [1, 0])
    for weight in ([-1.0, 1.0], [np.inf, 1.0], [np.nan, 1.0], [1.0]):
        with pytest.raises(StatisticsError, match="the weight of each class must be a number that is not negative"):
            ComponentStats.of_parts(["a", "b"], ones.parts, [0, 1], weight)


def test_categories_that_are_whole_numbers_add_up_column_by_column():
    rng = np.random.default_rng(0)
    X, y = np.hstack([rng.integers(-3, 9, (40, 4)), np.full((40, 1), 7)]), np.resize(["a", "b", "c"], 40)
    X[:20, 1] += 100  # no category of the first rows is one of the others
    whole = CategoryStats.of(Batch.of(X, y))
    one, two = (CategoryStats.of(Batch.of(X[rows], y[rows])) for rows in (slice(20), slice(20, None)))
    for found, expected in ((one + two, whole), (two + one, whole), (whole - two, one)):
        assert [v.tolist() for v in found.categories] == [v.tolist() for v in expected.categories]
        np.testing.assert_array_equal(found.count, expected.count)
