"""Values that are usual for the columns of a density: drawn from it, since the rows are gone."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SufficeError

if TYPE_CHECKING:
    from .base import Density

Array = NDArray[Any]

_DRAWS = 400  # rows


def drawn_values(density: Density) -> Array:
    """Return a low, a middle and a high value of each column, (d, 3); NaN for columns that hold no numbers.

    Dates are days since 1970, and durations are seconds.
    """
    found, seen = np.full((density.n_features, 3), np.nan), np.flatnonzero(density.seen)
    if not len(seen):
        return found
    code = seen[np.arange(_DRAWS) % len(seen)]
    try:
        with np.errstate(all="ignore"):
            rows = density.write(density.sample(code, np.random.default_rng(0)))
    except (SufficeError, ValueError, np.linalg.LinAlgError):  # the parameters in a file can be anything
        return found
    columns = (
        [column.to_pylist() for column in rows.columns] if hasattr(rows, "columns") else np.asarray(rows).T.tolist()
    )
    for j, values in enumerate(columns):
        numbers = [number for number in map(_number, values) if np.isfinite(number)]
        if len(numbers) > _DRAWS // 2:
            found[j] = np.quantile(numbers, [0.01, 0.5, 0.99])
    return found


def _number(value: Any) -> float:
    if isinstance(value, dt.datetime):
        return (value - dt.datetime(1970, 1, 1, tzinfo=value.tzinfo)) / dt.timedelta(days=1)
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    return float(value) if isinstance(value, int | float) else np.nan
