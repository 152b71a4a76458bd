"""Moments by pattern of missing cells: the laws of statistics, and what they are of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from suffice.errors import StatisticsError
from suffice.sources import as_table
from suffice.stats import BundleStats, MomentStats, PatternStats
from suffice.stats import patterns as module
from suffice.stats.collectors import CollectGaussian
from suffice.tables.batch import Batch
from suffice.tables.labels import SoftLabels

D = 3
CELLS = st.one_of(st.floats(-100, 100, allow_subnormal=False), st.just(np.nan))
LAYOUTS = ["full", "pooled"]


@st.composite
def tables(draw):
    n = draw(st.integers(1, 10))
    X = draw(hnp.arrays(np.float64, (n, D), elements=CELLS))
    y = draw(hnp.arrays("U1", n, elements=st.sampled_from("abc")))
    return X, y, draw(hnp.arrays(np.float64, n, elements=st.floats(0.1, 4)))


def of(table, layout):
    return PatternStats.of(Batch.of(*table), layout)


def assert_same(one, two):
    """The same statements about rows, also where one has more classes."""
    classes = np.union1d(one.classes, two.classes)
    mine, theirs = (stats.aligned(classes).to_arrays() for stats in (one, two))
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        np.testing.assert_allclose(array, theirs[name], rtol=1e-8, atol=1e-6, err_msg=name)


def joined(*parts):
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


@given(tables(), tables(), tables(), st.sampled_from(LAYOUTS))
def test_statistics_add_in_any_order(one, two, three, layout):
    a, b, c = (of(table, layout) for table in (one, two, three))
    assert_same(a + b, b + a)
    assert_same((a + b) + c, a + (b + c))
    assert_same(a.plus(b, c), of(joined(one, two, three), layout))


@pytest.mark.filterwarnings("ignore::suffice.errors.PrecisionWarning")  # what is left may be next to nothing
@given(tables(), tables(), st.sampled_from(LAYOUTS))
def test_what_was_added_can_be_taken_away(one, two, layout):
    a, b = of(one, layout), of(two, layout)
    assert_same((a + b) - b, a)
    nothing = a - a
    assert not nothing.weight.any()
    assert not nothing.has_missing


@given(tables(), st.sampled_from(LAYOUTS))
def test_groups_are_rows_of_a_class_that_miss_the_same_cells(table, layout):
    stats = of(table, layout)
    X, y, w = table
    total = np.array([w[y == c].sum() for c in stats.classes])
    np.testing.assert_allclose(stats.weight, total)
    for missing, code, weight, mean, scatter in zip(
        stats.missing, stats.code, stats.groups.weight, stats.groups.mean, stats.groups.scatter, strict=True
    ):
        rows = (y == stats.classes[code]) & (np.isnan(X) == missing).all(axis=1)
        np.testing.assert_allclose(weight, w[rows].sum())
        filled = np.where(missing, 0.0, X[rows])
        np.testing.assert_allclose(mean, w[rows] @ filled / weight, atol=1e-9)
        z = filled - mean
        np.testing.assert_allclose(scatter, (z * w[rows, None]).T @ z, atol=1e-6)
    again = PatternStats.from_arrays(stats.classes, stats.to_arrays())
    assert_same(again, stats)
    if layout == "full" and stats.has_missing:
        expected = MomentStats.of(Batch.of(*table), "diag", skip_missing=True).to_arrays()
        for name, array in stats.to_layout("diag").to_arrays().items():
            np.testing.assert_allclose(array, expected[name], rtol=1e-8, atol=1e-6)


@given(tables(), st.sampled_from(LAYOUTS))
def test_a_soft_label_is_a_weight_for_each_class(table, layout):
    X, _, w = table
    share = np.random.default_rng(len(X)).random((len(X), 2))
    share[0, 1] = 0.0
    soft = PatternStats.of(Batch.of(X, SoftLabels(np.array([0, 1]), share), w), layout)
    twice = np.concatenate([X, X]), np.repeat([0, 1], len(X)), np.concatenate([w, w]) * share.T.ravel()
    assert_same(soft, of(twice, layout))


ROWS = np.array([[1.0, 2.0, 0.0], [4.0, np.nan, 1.0], [2.0, 2.0, np.nan], [3.0, np.nan, 5.0]])
LABELS = ["b", "a", "b", "a"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_complete_rows_are_plain_moments_that_add_up_with_others(layout):
    collect = CollectGaussian(layout)
    complete, rest = collect(Batch.of(ROWS[:1], LABELS[:1])), collect(Batch.of(ROWS[1:], LABELS[1:]))
    assert isinstance(complete, MomentStats)
    assert isinstance(rest, PatternStats)
    whole = PatternStats.of(Batch.of(ROWS, LABELS), layout)
    for both in (complete + rest, rest + complete, complete.plus(rest), rest.plus(complete)):
        assert_same(both, whole)
    assert_same(whole - rest, PatternStats.widened(complete))
    assert_same(whole - complete, rest)
    with pytest.raises(StatisticsError, match="missing cells do not match"):
        collect(Batch.of(np.nan_to_num(ROWS), LABELS)) - whole
    blocks = {"numbers": ((0, 1, 2), collect)}
    one, two = (BundleStats.of(Batch.of(ROWS[i], np.array(LABELS)[i]), blocks) for i in (slice(1), slice(1, 4)))
    assert_same((one + two).parts["numbers"], whole)
    assert_same(((one + two) - two).parts["numbers"], PatternStats.widened(complete))


def test_missing_cells_that_come_late_are_found():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    X[1500, 1] = np.nan
    assert CollectGaussian("full")(Batch.of(X, np.zeros(2000))).has_missing
    weight = (np.arange(2000) != 1500).astype(float)
    assert isinstance(CollectGaussian("full")(Batch.of(X, np.zeros(2000), weight)), MomentStats)
    X[3, 1] = np.nan
    assert isinstance(CollectGaussian("full")(Batch.of(X[:10], np.zeros(10), np.arange(10) != 3)), MomentStats)


def test_sparse_tables_are_made_dense_piece_by_piece(monkeypatch):
    monkeypatch.setattr(module, "_DENSIFIED", 2 * D)
    table = as_table(sparse.csr_array(ROWS))
    assert_same(PatternStats.of(Batch(table, np.array(LABELS))), PatternStats.of(Batch.of(ROWS, LABELS)))


SPOILT = {
    "a group that misses nothing": lambda a: {"group_missing": a["group_missing"] * np.array([[0], [1]], np.uint8)},
    "groups in another order": lambda a: {name: array[::-1] for name, array in a.items() if name.startswith("group_")},
    "a group twice": lambda a: {name: array[[0, 0]] for name, array in a.items() if name.startswith("group_")},
    "a class that does not exist": lambda a: {"group_code": a["group_code"] + 7},
    "a class before the first": lambda a: {"group_code": a["group_code"] - 7},
    "a group without a class": lambda a: {"group_code": a["group_code"][:1]},
    "cells that are not Booleans": lambda a: {"group_missing": a["group_missing"] * 2},
    "cells that are fractions": lambda a: {"group_missing": a["group_missing"] / 2},
    "means of missing cells": lambda a: {"group_mean": a["group_mean"] + 1.0},
    "products of missing cells": lambda a: {"group_scatter": a["group_scatter"] + np.eye(3)},
    "a negative weight": lambda a: {"group_weight": -a["group_weight"]},
    "NaN": lambda a: {"group_scatter": a["group_scatter"] * np.nan},
    "too many columns": lambda a: {"group_missing": np.pad(a["group_missing"], [(0, 0), (0, 1)])},
}


@pytest.mark.parametrize("case", SPOILT)
def test_arrays_that_do_not_fit_are_refused(case):
    stats = PatternStats.of(Batch.of(ROWS, LABELS))
    arrays = stats.to_arrays()
    with pytest.raises(StatisticsError):
        PatternStats.from_arrays(stats.classes, arrays | SPOILT[case](arrays))
    with pytest.raises(StatisticsError, match="not the arrays"):
        PatternStats.from_arrays(stats.classes, {n: a for n, a in arrays.items() if n != "group_code"})
    groups = {n: a for n, a in arrays.items() if n.startswith("group_")}
    with pytest.raises(StatisticsError, match="not the arrays"):
        PatternStats.from_arrays(stats.classes, stats.complete.to_layout("diag").to_arrays() | groups)
