"""Functions that keep their digits, against mpmath."""

import mpmath as mp
import numpy as np
import pytest

from suffice.densities.special import find_roots, log1p_less, log_less_digamma, stirling_rest, weighted_steps

SIZES = [1e-6, 0.1, 3.0, 19.9, 20.0, 20.1, 50.0, 1e3, 1e6, 1e12]


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(60):
        yield


def close(found, expected, rtol, atol=0.0):
    for got, exact in zip(found.tolist(), expected, strict=True):
        assert abs(got - exact) <= rtol * abs(exact) + atol, (got, exact)


def test_log1p_less():
    u = np.array([-0.999999, -0.9, -0.26, -0.2499, -1e-3, -1e-8, 0.0, 1e-12, 1e-5, 0.2499, 0.26, 3.0, 1e5, 1e300])
    close(log1p_less(u), [mp.log1p(mp.mpf(x)) - mp.mpf(x) for x in u.tolist()], 1e-15)


def test_log_less_digamma():
    z = np.array([1e-300, 1e-10, 0.1, 1.0, 5.0, 19.9, 20.0, 20.1, 1e3, 1e10, 1e30])
    close(log_less_digamma(z), [mp.log(x) - mp.digamma(mp.mpf(x)) for x in z.tolist()], 1e-14)


def test_stirling_rest():
    z = np.array([1e-300, 1e-10, 0.1, 1.0, 5.0, 19.9, 20.0, 20.1, 1e3, 1e10])
    formula = [(mp.mpf(x) - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2 for x in z.tolist()]
    exact = [mp.loggamma(mp.mpf(x)) - other for x, other in zip(z.tolist(), formula, strict=True)]
    close(stirling_rest(z), exact, 1e-15, 1e-14)
    assert stirling_rest(np.array([np.inf])) == 0


@pytest.mark.parametrize("size", SIZES)
def test_weighted_steps(size):
    v = np.array([0, 1, 2, 3, 10, 100, 1000])
    exact = [mp.fsum(j / (1 + j / mp.mpf(size)) for j in range(n)) for n in v.tolist()]
    close(weighted_steps(v.astype(float), np.full(7, size)), exact, 1e-13, 1e-12)


def test_find_roots():
    target = np.array([2.0, 5.0, 1e-9, 0.0])
    found = find_roots(lambda x: x**3 - target, np.full(4, -1.0), np.full(4, 4.0))
    np.testing.assert_allclose(found, np.cbrt(target), atol=1e-15, rtol=1e-15)
