"""How far chance may have moved a figure."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .choice import SURE

Array = NDArray[Any]


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return the 95% interval of a share of n rows, by Wilson's formula.

    >>> [round(end, 4) for end in wilson(0.1, 50)]
    [0.0435, 0.2136]
    """
    if n <= 0:
        return 0.0, 1.0
    z2 = SURE**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = SURE / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def weighted_mean(values: Array, code: Array, weight: Array, prior: Array) -> tuple[float, float]:
    """Return the mean of values, with the classes in the proportions of a prior, and its standard error.

    Parameters
    ----------
    values, weight : array of shape (n,)
        A value for each row, and its weight.
    code : array of int of shape (n,)
        The class of each row.
    prior : array of shape (k,)
        The proportions of the classes, each of which has rows or a prior of zero.
    """
    k = len(prior)
    total = np.bincount(code, weight, k)
    with np.errstate(invalid="ignore"):
        means = np.bincount(code, weight * values, k) / np.maximum(total, 1e-300)
        squares = np.bincount(code, weight**2 * (values - means[code]) ** 2, k) / np.maximum(total, 1e-300) ** 2
    some = prior > 0
    return float(prior[some] @ means[some]), float(np.sqrt(prior[some] ** 2 @ squares[some]))
