"""The kernels of soft labels: responsibilities, and moments and counts of rows that have a share in every class."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import kernels
from suffice.kernels import reference

from .test_agreement import SIZES, layouts_in_memory, make

every_kernel = pytest.mark.usefixtures("kernel")
native_kernels = pytest.mark.usefixtures("native_kernel")


def shares(rng, n, k):
    """Responsibilities, some of them zero."""
    share = rng.dirichlet(np.ones(k), n) if k > 1 else np.ones((n, 1))
    return share * (rng.uniform(size=(n, k)) > 0.2)


@native_kernels
@pytest.mark.parametrize(("dtype", "weighted"), [(np.float64, True), (np.float32, False)])
@pytest.mark.parametrize(("n", "d", "k"), SIZES)
def test_moments(n, d, k, dtype, weighted):
    rng, X, _ = make(1, n, d, k, dtype)
    share, weight = shares(rng, n, k), rng.uniform(0.1, 2, n) if weighted else None
    layouts = layouts_in_memory(X)
    if dtype is np.float64:
        layouts["columns"] = tuple(column.copy() for column in X.T)
    calls = {
        "diag": lambda m, x: m.soft_diag_moments(x, share, weight),
        "full": lambda m, x: m.soft_full_moments(x, share, weight, False),
        "pooled": lambda m, x: m.soft_full_moments(x, share, weight, True),
    }
    for name, call in calls.items():
        expected = call(reference, X)
        for order, x in layouts.items():
            for ours, theirs in zip(call(kernels.active, x), expected, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * max(n, 1), err_msg=f"{name} {order}")


@every_kernel
@pytest.mark.parametrize("pooled", [False, True])
def test_shares_of_one_are_labels(pooled):
    _, X, code = make(2, 9000, 5, 4)
    share = np.eye(4)[code]
    pairs = [
        (kernels.active.soft_diag_moments(X, share, None), reference.diag_moments(X, code, None, 4)),
        (kernels.active.soft_full_moments(X, share, None, pooled), reference.full_moments(X, code, None, 4, pooled)),
    ]
    for ours, theirs in pairs:
        for one, two in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-9)


@every_kernel
def test_moments_far_from_zero_keep_their_digits():
    rng, X, _ = make(3, 9000, 3, 2)
    share = shares(rng, 9000, 2)
    near, far = kernels.active.soft_full_moments(X, share, None, False), X + 1e9
    exact = (far - 1e9) - X  # what the offset itself rounds off
    assert np.abs(exact).max() < 1e-6
    for call, scatter in (
        (partial(kernels.active.soft_full_moments, pooled=False), near[2]),
        (kernels.active.soft_diag_moments, np.einsum("kii->ki", near[2])),
    ):
        n, mean, spread = call(far, share, None)
        np.testing.assert_allclose(n, near[0])
        np.testing.assert_allclose(mean - 1e9, near[1], atol=1e-6)
        np.testing.assert_allclose(spread, scatter, rtol=1e-6, atol=1e-3)


@every_kernel
def test_a_constant_column_has_exactly_no_scatter():
    X, share = np.full((10_000, 3), 0.1), shares(np.random.default_rng(0), 10_000, 3)
    assert not kernels.active.soft_diag_moments(X, share, None)[2].any()
    assert not kernels.active.soft_full_moments(X, share, None, False)[2].any()


@every_kernel
def test_a_class_without_any_share_is_empty():
    _, X, _ = make(4, 5000, 3, 2)
    share = np.column_stack([np.ones(5000), np.zeros(5000)])
    for moments in (
        kernels.active.soft_diag_moments(X, share, None),
        kernels.active.soft_full_moments(X, share, None, False),
    ):
        assert all(not part[1].any() for part in moments)


@native_kernels
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.bool_])
@pytest.mark.parametrize(("n", "d", "k"), [(0, 1, 1), (1, 1, 1), (65, 5, 2), (300, 9, 7), (5000, 17, 4), (200, 2, 40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_category_counts(n, d, k, dtype, weighted):
    rng = np.random.default_rng(5)
    values = 2 if dtype is np.bool_ else 6
    X = rng.integers(0, values, (n, d)).astype(dtype)
    share, weight = shares(rng, n, k), rng.uniform(0, 2, n) * (rng.uniform(size=n) > 0.2) if weighted else None
    lo, width = np.zeros(d, np.int64), np.full(d, values)
    expected = np.zeros((values * d, k))
    assert reference.soft_category_counts(X, share, weight, lo, width, expected) == n
    np.testing.assert_allclose(expected.sum(), d * (share.sum(axis=1) * (1 if weight is None else weight)).sum())
    for order, x in layouts_in_memory(X).items():
        table = np.zeros_like(expected)
        assert kernels.active.soft_category_counts(x, share, weight, lo, width, table) == n
        np.testing.assert_allclose(table, expected, rtol=1e-12, atol=1e-12, err_msg=order)


@every_kernel
def test_category_counts_stop_at_a_row_that_does_not_fit():
    X, share = np.array([[0], [1], [7], [1]]), np.array([[0.5, 0.5], [1, 0], [0, 1], [0.25, 0.75]])
    table, lo, width = np.zeros((2, 2)), np.array([0]), np.array([2])
    assert kernels.active.soft_category_counts(X, share, None, lo, width, table) == 2
    np.testing.assert_array_equal(table, [[0.5, 0.5], [1, 0]])
    table[:] = 0
    assert kernels.active.soft_category_counts(X, share, np.array([1.0, 2, 0, 4]), lo, width, table) == 4
    np.testing.assert_array_equal(table, [[0.5, 0.5], [3, 3]])


def softmax(joint):
    """By definition, with NumPy's long doubles."""
    joint = joint.astype(np.longdouble)
    top = joint.max(axis=1, keepdims=True)
    e = np.exp(joint - top)
    total = e.sum(axis=1, keepdims=True)
    share = e / total
    logs = np.where(share > 0, joint - top - np.log(total), 0)
    return share, (top + np.log(total))[:, 0], -(share * logs).sum(axis=1)


@every_kernel
@given(st.integers(0, 2**32 - 1), st.integers(1, 150), st.integers(1, 40), st.sampled_from([1e-3, 1.0, 30.0, 1e4]))
def test_responsibilities(seed, n, k, scale):
    rng = np.random.default_rng(seed)
    joint, weight = rng.normal(size=(n, k)) * scale - 100, rng.uniform(0, 2, n)
    joint[rng.uniform(size=(n, k)) < 0.1] = -np.inf
    joint[np.arange(n), rng.integers(k, size=n)] = -99.0
    share, density, entropy = softmax(joint)
    for w in (None, weight):
        ours = joint.copy()
        log_likelihood, total = kernels.active.soften(ours, np.zeros(k), w)
        # A share is as exact as its exponent.
        np.testing.assert_allclose(ours, share.astype(float), rtol=1e-15 * (4 + 800), atol=1e-300)
        np.testing.assert_allclose(ours.sum(axis=1), 1.0, rtol=1e-14)
        own = np.ones(n) if w is None else w
        np.testing.assert_allclose(log_likelihood, float(own @ density), rtol=1e-13, atol=1e-12)
        np.testing.assert_allclose(total, float(own @ entropy), rtol=1e-12, atol=1e-12 * n)


@every_kernel
def test_responsibilities_have_the_digits_of_exp():
    """Against exp itself: two classes, of which the second has hardly any share."""
    x = -np.linspace(0.01, 700, 40_003)
    joint = np.column_stack([np.zeros(len(x)), x])
    expected = np.exp(x.astype(np.longdouble))
    expected = (expected / (1 + expected)).astype(float)
    kernels.active.soften(joint, np.zeros(2), None)
    assert (np.abs(joint[:, 1] - expected) <= 3 * np.spacing(expected)).all()


@every_kernel
def test_rows_that_are_impossible_go_by_the_log_weights():
    joint = np.full((6, 3), -np.inf)
    joint[3:] = [[0.0, 0.0, -np.inf], [-np.inf, 5.0, -np.inf], [1e300, -1e300, 0.0]]
    weight = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 1.0])
    log_weight = np.log([0.5, 0.25, 0.25])
    ours = joint.copy()
    log_likelihood, entropy = kernels.active.soften(ours, log_weight, weight)
    np.testing.assert_allclose(ours[:3], [[0.5, 0.25, 0.25]] * 3, rtol=1e-15)
    np.testing.assert_allclose(ours[3:], [[0.5, 0.5, 0], [0, 1, 0], [1, 0, 0]], rtol=1e-15)
    np.testing.assert_allclose(log_likelihood, 1e300)
    np.testing.assert_allclose(entropy, np.log(2))

    own = np.full((6, 3), -np.inf)  # log weights of their own, which need not sum to one
    own[0, 1], own[1], own[2] = -3.0, [0.0, 0.0, -np.inf], log_weight
    ours = joint.copy()
    log_likelihood, entropy = kernels.active.soften(ours, own, None)
    np.testing.assert_allclose(ours[:3], [[0, 1, 0], [0.5, 0.5, 0], [0.5, 0.25, 0.25]], rtol=1e-15)
    assert log_likelihood == -np.inf
    np.testing.assert_allclose(entropy, 2 * np.log(2) + 1.5 * np.log(2))


@native_kernels
def test_arrays_that_do_not_fit_are_refused():
    X, share = np.zeros((3, 2)), np.zeros((3, 2))
    with pytest.raises(ValueError, match="3 rows, 2 soft labels"):
        kernels.active.soft_diag_moments(X, share[:2], None)
    with pytest.raises(ValueError, match="2 weights"):
        kernels.active.soft_full_moments(X, share, np.ones(2), False)
    with pytest.raises(ValueError, match="no columns"):
        kernels.active.soft_diag_moments((), share, None)
    one = np.array([1])
    with pytest.raises(ValueError, match="a table of 3 classes"):
        kernels.active.soft_category_counts(np.zeros((3, 1), int), share, None, one, one, np.zeros((1, 3)))
    with pytest.raises(ValueError, match="do not fit 3 rows"):
        kernels.active.soften(share, np.zeros(3), None)
