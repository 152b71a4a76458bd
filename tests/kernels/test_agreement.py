"""Every kernel against the definition, over dtypes, memory orders, strides and sizes."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import kernels
from suffice.kernels import reference

every_kernel = pytest.mark.usefixtures("kernel")
native_kernels = pytest.mark.usefixtures("native_kernel")


def layouts_in_memory(X):
    wide = np.zeros((2 * len(X) + 1, 2 * X.shape[1] + 1), X.dtype)
    wide[1::2, 1::2] = X
    backwards = np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    frozen = X.copy()
    frozen.flags.writeable = False
    return {"C": X, "F": np.asfortranarray(X), "strided": wide[1::2, 1::2], "backwards": backwards, "read-only": frozen}


def make(seed, n, d, k, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d) + rng.normal(size=d)).astype(dtype)
    return rng, X, rng.integers(0, k, n).astype(np.int32)


# Sizes about the kernels' tiles of 4 and 8 columns, lanes and chunks, and many classes.
SIZES = [(0, 1, 1), (1, 1, 1), (2, 3, 2), (7, 4, 3), (65, 5, 2), (100, 8, 5), (130, 9, 70), (300, 33, 3), (5000, 17, 4),
         (900, 2, 300), (700, 130, 2)]  # fmt: skip


@native_kernels
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "d", "k"), SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments(n, d, k, dtype, weighted):
    rng, X, code = make(1, n, d, k, dtype)
    weight = rng.uniform(0, 2, n) * (rng.uniform(size=n) > 0.2) if weighted else None
    layouts = layouts_in_memory(X)
    if dtype is np.float64:
        layouts["columns"] = tuple(column.copy() for column in X.T)
    calls = {
        "diag": lambda m, x: m.diag_moments(x, code, weight, k),
        "full": lambda m, x: m.full_moments(x, code, weight, k, False),
        "pooled": lambda m, x: m.full_moments(x, code, weight, k, True),
        "quartic": lambda m, x: m.quartic_moments(x, code, weight, k),
    }
    for name, call in calls.items():
        expected = call(reference, X)
        for order, x in layouts.items():
            for ours, theirs in zip(call(kernels.active, x), expected, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * max(n, 1), err_msg=f"{name} {order}")


def scored(call, n, k):
    """All scores, the best class and the evidence; the best class does not depend on what else is wanted."""
    out, alone = (np.full((n, k), np.nan), np.full(n, -1, np.int64), np.full(n, np.nan)), np.full(n, -1, np.int64)
    assert call(*out)
    assert call(None, alone, None)
    np.testing.assert_array_equal(alone, out[1])
    return out


@native_kernels
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "d", "k"), SIZES)
def test_scores(n, d, k, dtype):
    rng, X, _ = make(2, n, d, k, dtype)
    mean, scale, constant = rng.normal(size=(k, d)), rng.uniform(0.5, 2, (k, d)), rng.normal(size=k)
    few = min(k, 80)
    whitening = np.tril(rng.normal(size=(few, d, d)))
    cases = {
        "diag_scores": (mean, scale, constant),
        "linear_scores": (mean[0], scale, constant),
        "full_scores": (mean[:few], whitening, constant[:few]),
    }
    for name, args in cases.items():
        classes = len(args[2])
        expected = scored(partial(getattr(reference, name), X, *args), n, classes)
        for order, x in layouts_in_memory(X).items():
            scores, best, evidence = scored(partial(getattr(kernels.active, name), x, *args), n, classes)
            tolerance = {"rtol": 1e-9, "atol": 1e-9 * d, "err_msg": f"{name} {order}"}
            np.testing.assert_allclose(scores, expected[0], **tolerance)
            np.testing.assert_allclose(evidence, expected[2], **tolerance)
            np.testing.assert_array_equal(best, scores.argmax(axis=1) if n else [])


@native_kernels
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 20), st.integers(1, 6))
def test_moments_of_any_shape(seed, n, d, k):
    _, X, code = make(seed, n, d, k)
    for ours, theirs in zip(
        kernels.active.full_moments(X, code, None, k, False),
        reference.full_moments(X, code, None, k, False),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@every_kernel
def test_moments_are_those_of_numpy():
    _, X, code = make(3, 5000, 6, 4)
    n, mean, scatter = kernels.active.full_moments(X, code, None, 4, False)
    np.testing.assert_array_equal(n, np.bincount(code))
    for c in range(4):
        np.testing.assert_allclose(mean[c], X[code == c].mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(scatter[c] / n[c], np.cov(X[code == c].T, bias=True), rtol=1e-12, atol=1e-14)


@every_kernel
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (3, 4), (69, 2)])
def test_scores_report_what_is_not_finite(bad, place):
    rng, X, _ = make(4, 70, 5, 3)
    whitening = np.tril(rng.normal(size=(3, 5, 5)))
    mean, constant, best = rng.normal(size=(3, 5)), np.zeros(3), np.empty(70, np.int64)
    calls = [("diag_scores", mean, np.ones((3, 5))), ("linear_scores", mean[0], mean), ("full_scores", mean, whitening)]
    for order, x in layouts_in_memory(X).items():
        spoilt = np.array(x, order="F" if order == "F" else "C")
        spoilt[place] = bad
        for name, *args in calls:
            assert getattr(kernels.active, name)(x, *args, constant, None, best, None), (name, order)
            assert not getattr(kernels.active, name)(spoilt, *args, constant, None, best, None), (name, order)


@every_kernel
def test_ties_go_to_the_lower_index_and_impossible_classes_never_win():
    X, mean = np.zeros((9, 2)), np.zeros((4, 2))
    constant = np.array([-np.inf, 1.0, 1.0, 0.0])
    best, evidence = np.empty(9, np.int64), np.empty(9)
    for name, *args in (
        ("diag_scores", mean, np.ones((4, 2))),
        ("linear_scores", mean[0], mean),
        ("full_scores", mean, np.tile(np.eye(2), (4, 1, 1))),
    ):
        assert getattr(kernels.active, name)(X, *args, constant, None, best, evidence)
        assert (best == 1).all()
        np.testing.assert_allclose(evidence, np.log(2 * np.e + 1))
        nothing = np.full(4, -np.inf)
        assert getattr(kernels.active, name)(X, *args, nothing, None, best, evidence)
        assert np.isneginf(evidence).all()


@every_kernel
def test_scores_of_far_outliers_are_finite_and_ordered():
    X = np.array([[1e3], [1e100], [1e153], [1e200], [-1e308]])
    out, best = np.empty((5, 2)), np.empty(5, np.int64)
    mean, scale = np.array([[-1.0], [1.0]]), np.ones((2, 1))
    for name, args in (("diag_scores", (mean, scale)), ("full_scores", (mean, scale[:, :, None]))):
        assert getattr(kernels.active, name)(X, *args, np.zeros(2), out, best, None)
        assert np.isfinite(out).all()
        assert (np.diff(out[:4], axis=0) <= 0).all()
        assert best[0] == 1


@every_kernel
def test_a_constant_column_has_exactly_no_scatter():
    X = np.full((10_000, 3), 0.1)
    code = (np.arange(10_000) % 3).astype(np.int32)
    assert not kernels.active.diag_moments(X, code, None, 3)[2].any()
    assert not kernels.active.full_moments(X, code, None, 3, False)[2].any()


def test_unknown_kernels_are_refused():
    with pytest.raises(ValueError, match=r"choose one of .*reference"):
        kernels.select("abacus")


@native_kernels
def test_the_evidence_has_the_digits_of_exp_and_log():
    rng = np.random.default_rng(5)
    scores = np.concatenate([rng.normal(size=(20_001, 3)) * 10.0 ** rng.integers(-8, 3, (20_001, 1)), [[np.nan, 0, 1]]])
    exact = scores.astype(np.longdouble)
    exact = (exact.max(axis=1) + np.log(np.exp(exact - exact.max(axis=1, keepdims=True)).sum(axis=1))).astype(float)
    evidence = np.empty(len(scores))
    kernels.active.reduce(scores, None, None, evidence)
    np.testing.assert_allclose(evidence, exact, rtol=4e-16, atol=4e-16)
