"""The contract of statistics, on every layout. That the kernels agree is tested in tests/kernels."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from suffice import MomentStats
from suffice.errors import PrecisionWarning, StatisticsError
from suffice.stats.scatter import HIGHER, LAYOUTS
from suffice.tables.batch import Batch
from suffice.tables.labels import SoftLabels
from suffice.tables.table import Matrix

D = 3
VALUES = st.floats(-100, 100, allow_subnormal=False)


def tables(min_rows=0, labels="abc"):
    """Rows with labels and weights."""

    def build(n):
        return st.tuples(
            hnp.arrays(np.float64, (n, D), elements=VALUES),
            hnp.arrays("U1", n, elements=st.sampled_from(labels)),
            hnp.arrays(np.float64, n, elements=st.floats(0.1, 4)),
        )

    return st.integers(min_rows, 12).flatmap(build)


def stats(table, layout, weighted=True):
    X, y, w = table
    return MomentStats.of(Batch(Matrix(X), y, w if weighted else None), layout)


def joined(*tables):
    return tuple(np.concatenate(parts) for parts in zip(*tables, strict=True))


def assert_same(a, b, scale=1e4, rounding=0.0):
    """Equal as statements about rows: the same classes with any weight, and the same numbers for them."""
    a, b = a + MomentStats.zeros(b.classes, D, b.layout), b + MomentStats.zeros(a.classes, D, a.layout)
    np.testing.assert_array_equal(a.classes, b.classes)
    np.testing.assert_allclose(a.weight, b.weight, atol=1e-9)
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-6)
    np.testing.assert_allclose(a.scatter, b.scatter, rtol=1e-8, atol=1e-10 * scale + rounding)
    if a.layout in HIGHER:
        np.testing.assert_allclose(a.cubic, b.cubic, rtol=1e-7, atol=1e-10 * scale**1.5)
        np.testing.assert_allclose(a.quartic, b.quartic, rtol=1e-7, atol=1e-10 * scale**2)


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


layouts = st.sampled_from(LAYOUTS)


@given(tables(1), layouts)
def test_zeros_are_a_true_identity(table, layout):
    s = stats(table, layout)
    for zeros in (MomentStats.zeros([], D, layout), MomentStats.zeros(["a", "z"], D, layout)):
        for total in (s + zeros, zeros + s):
            for name, array in total.to_arrays().items():
                if "pooled" in name:
                    np.testing.assert_array_equal(array, s.to_arrays()[name])
                else:
                    kept = np.isin(total.classes, s.classes)
                    np.testing.assert_array_equal(array[kept], s.to_arrays()[name])
                    assert not array[~kept].any()


@given(tables(1), tables(1), layouts)
def test_addition_commutes(one, two, layout):
    a, b = stats(one, layout), stats(two, layout)
    assert_same(a + b, b + a)


@given(tables(1), tables(1), tables(1), layouts)
def test_addition_is_associative(one, two, three, layout):
    a, b, c = (stats(t, layout) for t in (one, two, three))
    assert_same((a + b) + c, a + (b + c))


@given(tables(1), tables(1), tables(1), layouts)
def test_many_at_once_are_one_by_one(one, two, three, layout):
    a, b, c = (stats(table, layout) for table in (one, two, three))
    assert_same(a.plus(b, c), a + b + c, scale=1e-4)
    assert_same(a.plus(), a, scale=1e-4)


@given(tables(1, "ab"), tables(1, "bc"), layouts)
def test_splitting_the_rows_changes_nothing(one, two, layout):
    assert_same(stats(one, layout) + stats(two, layout), stats(joined(one, two), layout))


@pytest.mark.filterwarnings("ignore::suffice.errors.PrecisionWarning")  # what is left may be next to nothing
@given(tables(1), tables(1), layouts)
def test_what_was_added_can_be_taken_away(one, two, layout):
    a, b = stats(one, layout), stats(two, layout)
    # A variance that rounding may have eaten goes with its covariances, which are about the root of it.
    assert_same((a + b) - b, a, rounding=1e-7 * np.abs((a + b).scatter).max())
    gone = a - a
    assert not any(array.any() for array in gone.to_arrays().values())


@pytest.mark.parametrize("rest", [0.0, 0.3, 1e9])
def test_rows_may_go_one_by_one(layout, rest):
    """Rounding that one leaves in the mean is not held against the next."""
    values = [rest + 1, rest, rest, rest, rest]
    one = [MomentStats.of(Batch.of([[x] * D], ["a"]), layout) for x in values]
    total = one[0] + one[1] + one[2] + one[3] + one[4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)  # the rest does not vary
        for i, part in enumerate(one):
            total = total - part
            np.testing.assert_allclose(total.scatter, 0.0, atol=1e-6)
            if i < 4:
                np.testing.assert_allclose(total.mean, rest, rtol=1e-12, atol=1e-15)
    assert not total.weight.any()


@given(tables(1), st.integers(0, 3), layouts)
def test_weight_k_is_k_repetitions(table, start, layout):
    X, y, _ = table
    k = (start + np.arange(len(X))) % 4 + 1
    weighted = MomentStats.of(Batch(Matrix(X), y, k.astype(float)), layout)
    repeated = MomentStats.of(Batch(Matrix(np.repeat(X, k, axis=0)), np.repeat(y, k)), layout)
    assert_same(weighted, repeated)


@given(tables(2), layouts)
def test_weight_zero_is_absence(table, layout):
    X, y, w = table
    w = w.copy()
    w[0], dirty = 0.0, X.copy()
    dirty[0] = np.nan
    assert_same(stats((dirty, y, w), layout), stats((X[1:], y[1:], w[1:]), layout))


@given(tables(1), layouts)
def test_hard_labels_are_soft_labels_of_zeros_and_ones(table, layout):
    X, y, w = table
    classes = np.array(["a", "b", "c"])
    soft = SoftLabels(classes, (y[:, None] == classes).astype(float))
    assert_same(MomentStats.of(Batch(Matrix(X), soft, w), layout), stats(table, layout))


@given(tables(1), layouts)
def test_soft_labels_split_a_row_among_classes(table, layout):
    X, _, w = table
    share = np.linspace(0.1, 0.9, len(X))
    soft = SoftLabels(np.array(["a", "b"]), np.column_stack([share, 1 - share]))
    rows = joined((X, np.full(len(X), "a"), w * share), (X, np.full(len(X), "b"), w * (1 - share)))
    assert_same(MomentStats.of(Batch(Matrix(X), soft, w), layout), stats(rows, layout))


@given(tables(1), layouts)
def test_arrays_and_back(table, layout):
    s = stats(table, layout)
    back = MomentStats.from_arrays(s.classes, s.to_arrays())
    assert back.layout == layout
    for name, array in s.to_arrays().items():
        np.testing.assert_array_equal(back.to_arrays()[name], array)


@given(tables(1))
def test_poorer_layouts_follow_from_richer_ones(table):
    rich = stats(table, "coquartic")
    for layout in ("quartic", "full", "diag", "pooled"):
        assert_same(rich.to_layout(layout), stats(table, layout))


def test_inputs_are_neither_changed_nor_kept(layout, rng):
    X, y, w = rng.normal(size=(20, D)), rng.choice(["a", "b"], 20), rng.uniform(1, 2, 20)
    before = X.copy(), y.copy(), w.copy()
    s = stats((X, y, w), layout)
    for now, then in zip((X, y, w), before, strict=True):
        np.testing.assert_array_equal(now, then)
        assert now.flags.writeable
    arrays = [*s.to_arrays().values(), s.classes]
    assert not any(np.shares_memory(a, b) for a in arrays for b in (X, y, w))
    assert not any(a.flags.writeable for a in arrays)


def test_statistics_that_do_not_fit_are_refused(layout):
    s = MomentStats.zeros(["a"], 2, layout)
    with pytest.raises(StatisticsError, match="2 and of 3 columns"):
        s + MomentStats.zeros(["a"], 3, layout)
    with pytest.raises(StatisticsError, match="different models"):
        s + MomentStats.zeros(["a"], 2, "full" if layout != "full" else "diag")
    with pytest.raises(StatisticsError, match="different types"):
        s + MomentStats.zeros([1], 2, layout)


def test_forgetting_what_was_never_learnt_is_refused(layout):
    s = MomentStats.of(Batch.of(np.eye(3), ["a", "a", "b"]), layout)
    with pytest.raises(StatisticsError, match="'c'"):
        s - MomentStats.of(Batch.of(np.eye(3)[:1], ["c"]), layout)
    with pytest.raises(StatisticsError, match=r"more than was learnt.*'b'"):
        s - MomentStats.of(Batch.of(np.eye(3), ["b", "b", "b"]), layout)


def test_a_poor_statistic_does_not_become_rich():
    with pytest.raises(StatisticsError, match="collect it again"):
        MomentStats.zeros(["a"], 2, "diag").to_layout("full")


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_many_small_merges_stay_accurate(layout, offset, rng):
    X = rng.normal(size=(4000, D)) + offset
    y = np.array(["a", "b"])[rng.integers(0, 2, len(X))]
    total = MomentStats.zeros(["a", "b"], D, layout)
    for start in range(0, len(X), 40):
        total = total + MomentStats.of(Batch(Matrix(X[start : start + 40]), y[start : start + 40]), layout)
    whole = MomentStats.of(Batch(Matrix(X), y), layout)
    np.testing.assert_allclose(total.scatter, whole.scatter, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(total.mean, whole.mean, rtol=1e-15, atol=1e-11)


def test_wide_rows_are_summed_and_merged_as_narrow_ones(rng):
    """From 512 columns on products are BLAS's, and merges go block by block."""
    X, y, w = rng.normal(1e3, 1.0, (60, 520)), rng.integers(3, size=60), rng.choice([0.0, 0.5, 2.0], 60)
    X[np.flatnonzero(w == 0)[0]] = np.nan  # a row without weight is absent
    whole = MomentStats.of(Batch(Matrix(X), y, w), "full")
    for c in range(3):
        rows = (y == c) & (w > 0)
        np.testing.assert_allclose(whole.mean[c], np.average(X[rows], axis=0, weights=w[rows]), rtol=1e-13)
        expected = np.cov(X[rows].T, aweights=w[rows], ddof=0) * w[rows].sum()
        np.testing.assert_allclose(whole.scatter[c], expected, atol=1e-9)
    parts = [MomentStats.of(Batch(Matrix(X[i::3]), y[i::3], w[i::3]), "full") for i in range(3)]
    np.testing.assert_allclose(parts[0].plus(*parts[1:]).scatter, whole.scatter, atol=1e-9)
    np.testing.assert_allclose((whole - parts[0]).scatter, (parts[1] + parts[2]).scatter, atol=1e-8)
