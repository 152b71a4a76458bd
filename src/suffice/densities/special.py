"""Numerically stable special functions, and a root finder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_LARGE = 20.0  # from here on asymptotic series have all digits
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)  # of log Γ, by 1 / z, 1 / z³, …
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)  # of log z - ψ(z), by 1 / z², 1 / z⁴, …


def log1p_less(u: Array) -> Array:
    """log(1 + u) - u, for u > -1."""
    t = np.clip(u, -0.25, 0.25)
    t = t / (2 + t)
    square, series = t * t, np.zeros_like(t)
    for power in range(17, 1, -2):
        series = series * square + 1 / power
    return np.where(np.abs(u) < 0.25, 2 * square * (t * series - 1 / (1 - t)), np.log1p(u) - u)


def stirling_rest(z: Array) -> Array:
    """log Γ(z) - ((z - 1/2) log z - z + log(2π) / 2), for z > 0."""
    from scipy.special import gammaln

    large, small = np.maximum(z, _LARGE), np.minimum(z, _LARGE)
    direct = gammaln(small) - ((small - 0.5) * np.log(small) - small + 0.5 * np.log(2 * np.pi))
    return np.where(z < _LARGE, direct, _series(_STIRLING, 1 / large / large) / large)


def log_less_digamma(z: Array) -> Array:
    """log z - ψ(z), for z > 0."""
    from scipy.special import digamma

    large, small = np.maximum(z, _LARGE), np.minimum(z, _LARGE)
    series = 0.5 / large + _series(_DIGAMMA, 1 / large / large) / large / large
    return np.where(z < _LARGE, np.log(small) - digamma(small), series)


def weighted_steps(v: Array, size: Array) -> Array:
    """The sum of j / (1 + j / size) over the whole numbers j below v: half of v (v - 1) for the largest sizes."""
    from scipy.special import digamma

    u = v / size
    small = np.minimum(size, _LARGE)
    direct = small * (v - small * (digamma(v + small) - digamma(small)))
    # The Euler-Maclaurin formula, of which the terms are the derivatives at both ends.
    log_u, series = np.log1p(u), np.zeros_like(u)
    for i in range(len(_DIGAMMA), 0, -1):
        series = series / size**2 + _DIGAMMA[i - 1] * np.expm1(-2 * i * log_u)
    return np.asarray(np.where(size < _LARGE, direct, -log1p_less(u) * size**2 - 0.5 * v / (1 + u) + series))


def _series(coefficients: tuple[float, ...], x: Array) -> Array:
    total = np.zeros_like(x)
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def find_roots(f: Callable[[Array], Array], a: Array, b: Array) -> Array:
    """A root of each of many functions between a and b, where they have different signs: Chandrupatla's method."""
    fa, fb, t = f(a), f(b), np.full_like(a, 0.5)
    for _ in range(200):
        x = a + t * (b - a)
        fx = f(x)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        exact = np.minimum(np.abs(fa), np.abs(fb)) == 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            least = (2 * np.finfo(np.float64).eps * np.abs(best) + np.finfo(np.float64).eps) / np.abs(b - a)
            if (exact | ~(least < 0.5)).all():
                break
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            curve = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        bent = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        least = np.where(least < 0.5, least, 0.5)
        t = np.clip(np.where(bent & np.isfinite(curve), curve, 0.5), least, 1 - least)
    return best
