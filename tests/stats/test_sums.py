"""Moments from plain sums and back."""

import numpy as np
import pytest

from suffice import MomentStats
from suffice.errors import PrecisionWarning, StatisticsError
from suffice.tables.batch import Batch

LAYOUTS = ["diag", "full", "pooled"]


@pytest.fixture
def rows(rng):
    y, w = np.repeat(["b", "a", "c"], [7, 9, 4]), rng.uniform(0.5, 2, 20)
    return rng.normal(3, 2, (20, 3)) @ rng.normal(size=(3, 3)), y, w


def plain_sums(X, y, w, layout, classes):
    n = np.array([w[y == c].sum() for c in classes])
    x = np.array([w[y == c] @ X[y == c] for c in classes])
    xx = np.array([(X[y == c].T * w[y == c]) @ X[y == c] for c in classes])
    return n, x, {"diag": np.einsum("kii->ki", xx), "full": xx, "pooled": xx.sum(axis=0)}[layout]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_make_the_moments_of_the_rows(rows, layout):
    expected = MomentStats.of(Batch.of(*rows), layout)
    sums = plain_sums(*rows, layout, ["c", "a", "b"])  # in any order
    moments = MomentStats.from_sums(*sums, classes=["c", "a", "b"], layout=layout)
    assert (moments.layout, moments.classes.tolist()) == (layout, ["a", "b", "c"])
    for name, array in moments.to_arrays().items():
        np.testing.assert_allclose(array, expected.to_arrays()[name], rtol=1e-11, atol=1e-11)
    for found, own in zip(expected.to_sums(), plain_sums(*rows, layout, ["a", "b", "c"]), strict=True):
        np.testing.assert_allclose(found, own, rtol=1e-12)
    again = MomentStats.from_sums(*expected.to_sums(), classes=expected.classes, layout=layout)
    np.testing.assert_allclose(again.scatter, expected.scatter, rtol=1e-11, atol=1e-11)


def test_one_class_needs_no_class_axis(rows):
    X = rows[0]
    moments = MomentStats.from_sums(len(X), X.sum(axis=0), X.T @ X)
    expected = MomentStats.of(Batch.of(X, np.zeros(len(X), int)), "full")
    assert (moments.layout, moments.classes.tolist()) == ("full", [0])
    np.testing.assert_allclose(moments.scatter, expected.scatter, rtol=1e-11, atol=1e-11)


def test_quartic_moments_have_sums_of_products(rows):
    quartic, full = (MomentStats.of(Batch.of(*rows), layout).to_sums() for layout in ("quartic", "full"))
    for one, two in zip(quartic, full, strict=True):
        np.testing.assert_allclose(one, two)


def test_a_class_without_rows_stays_empty():
    moments = MomentStats.from_sums([2, 0], [[4.0], [0.0]], [[10.0], [0.0]], classes=["a", "b"])
    assert moments.scatter.tolist() == [[2.0], [0.0]]
    assert moments.mean.tolist() == [[2.0], [0.0]]


def test_lost_digits_are_told():
    """A mean of 1e9 and a deviation of 1 leave no digit of the variance; the centred moments have them all."""
    X = 1e9 + np.array([[-1.0], [0.0], [1.0]])
    with pytest.warns(PrecisionWarning, match="column 0 has almost no variance left"):
        MomentStats.from_sums([3], [X.sum(axis=0)], [(X**2).sum(axis=0)])
    assert MomentStats.of(Batch.of(X, [0, 0, 0])).scatter.tolist() == [[2.0]]


REFUSED = {
    "shapes": (([1, 2], [[1.0]], [[1.0]]), {}, r"n of shape \(2,\), sum_x of shape \(1, 1\)"),
    "classes": (([1, 2], [[1.0], [1.0]], [[1.0], [1.0]]), {"classes": ["a", "a"]}, "and 1 classes do not fit"),
    "squares": (([1, 2], [[1.0], [1.0]], [1.0]), {}, r"one of the shapes \(2, 1\) \(diag\), .*not \(1,\)"),
    "layout": (([1], [[1.0]], [[1.0]]), {"layout": "full"}, r"\(1, 1, 1\) \(full\), not \(1, 1\)"),
    "no layout": (([1], [[1.0]], [[1.0]]), {"layout": "quartic"}, "diag"),
    "ambiguous": (([1, 1], np.ones((2, 2)), np.ones((2, 2))), {}, "'diag' or 'pooled'; give layout="),
    "negative": (([-1], [[1.0]], [[1.0]]), {"layout": "diag"}, "n not negative"),
    "nan": (([1, 1], [[np.nan], [1.0]], [[1.0], [1.0]]), {"layout": "diag"}, "must be finite"),
    "sums of no rows": (([0], [[1.0]], [[1.0]]), {"layout": "diag"}, "without rows zero"),
    "asymmetric": (([9], [[1.0, 1.0]], [[[2.0, 1.0], [0.0, 2.0]]]), {}, "not symmetric"),
    "too small": (([2], [[4.0]], [[7.0]]), {"layout": "diag"}, "not sums of the same rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_sums_that_cannot_be_are_refused(case):
    sums, choices, message = REFUSED[case]
    with pytest.raises(StatisticsError, match=message):
        MomentStats.from_sums(*sums, **choices)


def test_large_sums_may_differ_by_rounding():
    xx = np.array([[[4e12, 1e12], [1e12 + 1, 4e12]]])
    np.testing.assert_allclose(MomentStats.from_sums([9], [[0.0, 0.0]], xx).scatter, xx)


def test_missing_cells_have_no_plain_sums():
    moments = MomentStats.of(Batch.of([[1.0], [np.nan]], ["a", "a"]), skip_missing=True)
    with pytest.raises(StatisticsError, match="cells are missing"):
        moments.to_sums()
