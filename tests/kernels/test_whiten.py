"""The inverse Cholesky factor against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import kernels

pytestmark = pytest.mark.usefixtures("kernel")


def positive(rng, g, d):
    """Matrices of columns on very different scales, and the units of the columns."""
    unit = 10.0 ** rng.uniform(-100, 100, d)
    root = rng.normal(size=(g, d, d + 3))
    return root @ root.transpose(0, 2, 1) * unit * unit[:, None], unit


@given(st.integers(1, 9), st.integers(0, 4), st.integers(0, 1000))
def test_whitening_makes_the_identity_and_gives_determinant_and_trace(d, g, seed):
    matrices, unit = positive(np.random.default_rng(seed), g, d)
    whitening, log_det, trace = kernels.active.whiten(matrices, unit)
    np.testing.assert_array_equal(whitening, np.tril(whitening))
    scaled = matrices / unit / unit[:, None]
    inverse = whitening * unit
    near = {"rtol": 1e-9, "atol": 1e-9 * np.abs(np.linalg.inv(scaled)).max(initial=1.0)}
    np.testing.assert_allclose(inverse.transpose(0, 2, 1) @ inverse, np.linalg.inv(scaled), **near)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(scaled)[1] + 2 * np.log(unit).sum(), rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(trace, np.einsum("gii->g", np.linalg.inv(scaled)), **near)


def test_wide_matrices_are_whitened_alike():
    matrices, unit = positive(np.random.default_rng(0), 2, 80)
    whitening, log_det, trace = kernels.active.whiten(matrices, unit)
    scaled = matrices / unit / unit[:, None]
    np.testing.assert_allclose(
        (whitening * unit) @ scaled @ (whitening * unit).transpose(0, 2, 1), np.tile(np.eye(80), (2, 1, 1)), atol=1e-9
    )
    np.testing.assert_allclose(log_det, np.linalg.slogdet(scaled)[1] + 2 * np.log(unit).sum(), rtol=1e-12, atol=1e-8)
    np.testing.assert_allclose(trace, np.einsum("gii->g", np.linalg.inv(scaled)), rtol=1e-8)


@pytest.mark.parametrize("cell", [-1.0, 0.0, np.nan, np.inf, -np.inf])
def test_one_matrix_that_is_not_positive_definite_spoils_no_other(cell):
    matrices = np.tile(np.eye(3), (3, 1, 1))
    matrices[1, 2, 2] = cell
    whitening, log_det, trace = kernels.active.whiten(matrices, np.ones(3))
    np.testing.assert_array_equal(trace, [3.0, np.inf, 3.0])
    np.testing.assert_array_equal(log_det[[0, 2]], 0.0)
    np.testing.assert_array_equal(whitening[[0, 2]], matrices[[0, 2]])


def test_other_numbers_of_columns_are_refused():
    with pytest.raises(ValueError, match=r"columns|broadcast"):
        kernels.active.whiten(np.ones((1, 3, 3)), np.ones(4))
