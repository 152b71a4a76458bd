"""How far to pull a covariance towards a multiple of the identity, from statistics alone.

Every function takes covariances (..., d, d) of maximum likelihood and gives an intensity in [0, 1] for
(1 - s) C + s tr(C) / d I.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def shrunk(covariance: Array, intensity: Array | float) -> Array:
    """Covariances pulled towards a multiple of the identity."""
    d = covariance.shape[-1]
    s = np.asarray(intensity, dtype=np.float64)[..., None, None]
    target = np.einsum("...ii->...", covariance)[..., None, None] / d * np.eye(d)
    return np.asarray((1 - s) * covariance + s * target)


def _even_share(covariance: Array) -> tuple[Array, Array]:
    """Mean square of all entries, and the square of the mean variance."""
    d = covariance.shape[-1]
    # Each is taken relative to the mean variance, so that no scale of the data overflows.
    mean = np.einsum("...ii->...", covariance) / d
    unit = covariance / np.where(mean > 0, mean, 1.0)[..., None, None]
    return np.asarray(np.mean(unit**2, axis=(-2, -1))), mean


def oas(covariance: Array, n: Array | float) -> Array:
    """Oracle approximating shrinkage (Chen et al., 2010, as scikit-learn computes it) for n rows."""
    d = covariance.shape[-1]
    alpha, _ = _even_share(covariance)
    top, bottom = alpha + 1.0, (np.asarray(n) + 1.0) * (alpha - 1.0 / d)
    ratio = np.divide(top, bottom, out=np.ones_like(alpha), where=bottom > 0)
    return np.asarray(np.minimum(ratio, 1.0))


def ledoit_wolf(covariance: Array, n: Array | float, quartic: Array | float) -> Array:
    """Ledoit and Wolf's shrinkage (2004) for n rows whose sum of |x - mean|^4 is `quartic`."""
    d = covariance.shape[-1]
    alpha, mean = _even_share(covariance)
    n = np.maximum(np.asarray(n, dtype=np.float64), 1.0)
    square = np.where(mean > 0, mean, 1.0) ** 2
    delta = alpha * d - 1.0  # |C - mean I|^2 / (d mean^2)
    beta = np.clip((quartic / square / n - alpha * d**2) / (d * n), 0.0, None)
    ratio = np.divide(beta, delta, out=np.zeros_like(alpha), where=delta > 0)
    return np.asarray(np.minimum(ratio, 1.0))
