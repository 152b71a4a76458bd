"""How far to pull a covariance towards a multiple of the identity, from statistics alone.

An intensity s in [0, 1] makes (1 - s) C + s tr(C) / d I of a covariance C of maximum likelihood. With units u of the
columns, this is done to the covariance of x / u, so that what C is pulled towards is a multiple of diag(u^2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


TARGETS = ("variances", "identity")
"""What covariances are pulled towards a multiple of: the variances of the columns, as if these had been standardised,
or the identity matrix, as scikit-learn does."""


def shrunk(covariance: Array, intensity: Array | float, variance: Array) -> Array:
    """Covariances (..., d, d) pulled towards a multiple of diag(variance)."""
    s = np.asarray(intensity, dtype=np.float64)[..., None, None]
    even = np.mean(np.einsum("...ii->...i", covariance) / variance, axis=-1)[..., None, None]
    return np.asarray((1 - s) * covariance + s * even * np.diag(variance))


def evenness(covariance: Array, variance: Array) -> tuple[Array, Array]:
    """The mean square of all entries, relative to the square of the mean variance, and the mean variance; of columns
    divided by the square root of `variance`."""
    d, unit = covariance.shape[-1], np.sqrt(variance)
    covariance = covariance / unit / unit[:, None]
    # Each is taken relative to the mean variance, so that no scale of the data overflows.
    mean = np.einsum("...ii->...", covariance) / d
    unit = covariance / np.where(mean > 0, mean, 1.0)[..., None, None]
    return np.asarray(np.mean(unit**2, axis=(-2, -1))), mean


def evenness_of_rows(rows: Array, n: float, variance: Array) -> tuple[float, float]:
    """The same of the covariance rows' rows / n, from the inner products of fewer rows than columns."""
    rows = rows / np.sqrt(variance)
    inner = rows @ rows.T / n
    mean = float(np.trace(inner)) / rows.shape[1]
    return float(((inner / (mean if mean > 0 else 1.0)) ** 2).sum()) / rows.shape[1] ** 2, mean


def oas(alpha: Array, d: int, n: Array) -> Array:
    """Oracle approximating shrinkage (Chen et al., 2010, as scikit-learn computes it) for n rows of d columns; alpha is
    the first of `evenness`."""
    top, bottom = alpha + 1.0, (n + 1.0) * (alpha - 1.0 / d)
    ratio = np.divide(top, bottom, out=np.ones_like(alpha), where=bottom > 0)
    return np.asarray(np.minimum(ratio, 1.0))


def ledoit_wolf(alpha: Array, mean: Array, d: int, n: Array, quartic: Array) -> Array:
    """Ledoit and Wolf's shrinkage (2004) for n rows of d columns whose sum of |x - mean|^4 is `quartic`; alpha and mean
    are those of `evenness`."""
    n = np.maximum(n, 1.0)
    square = np.where(mean > 0, mean, 1.0) ** 2
    delta = alpha * d - 1.0  # |C - mean I|^2 / (d mean^2)
    beta = np.clip((quartic / square / n - alpha * d**2) / (d * n), 0.0, None)
    ratio = np.divide(beta, delta, out=np.zeros_like(alpha), where=delta > 0)
    return np.asarray(np.minimum(ratio, 1.0))
