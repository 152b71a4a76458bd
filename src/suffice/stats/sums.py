"""Convert plain sums of columns, squares and products, such as those of a query, to centred moments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import StatisticsError
from ..tables.labels import encode
from . import scatter as scatters

Array = NDArray[Any]

_SYMMETRY = 1e-9  # relative to the sums of squares
_LAYOUTS = ("diag", "full", "pooled")


def centred(
    n: Any, sum_x: Any, sum_xx: Any, classes: Any, layout: str | None
) -> tuple[Array, Array, Array, Array, str]:
    """Sorted classes, weights, means, scatters and their layout, as MomentStats keeps them."""
    n, x, xx = (np.array(sums, np.float64) for sums in (n, sum_x, sum_xx))
    if n.ndim == 0:  # one class
        n, x, xx = n[None], x[None], xx[None]
    labels, code = encode(np.arange(len(n)) if classes is None else np.asarray(classes))
    if x.ndim != 2 or n.shape != x.shape[:1] or not len(labels) == len(code) == len(n):
        raise StatisticsError(
            f"n of shape {n.shape}, sum_x of shape {x.shape} and {len(labels)} classes do not fit together; the shapes "
            "are (k,), (k, d) and (k,)"
        )
    layout = _layout(xx.shape, len(x), x.shape[1], layout)
    if not all(np.isfinite(sums).all() for sums in (n, x, xx)) or (n < 0).any() or x[n == 0].any():
        raise StatisticsError("sums must be finite, n not negative, and the sums of a class without rows zero")
    if layout != "diag" and not _is_symmetric(xx):
        raise StatisticsError("sum_xx is not symmetric")
    order = np.argsort(code)
    n, x, xx = n[order], x[order], xx if layout == "pooled" else xx[order]
    mean, scatter = x / np.where(n > 0, n, 1.0)[:, None], xx.copy()
    scatters.add_outer(scatter, layout, -x, mean)
    if layout != "diag":
        scatter = (scatter + scatter.swapaxes(-1, -2)) / 2
    impossible = "sum_xx is smaller than sum_x squared over n: these are not sums of the same rows"
    scatters.clean(scatter, layout, n[:, None], xx, np.zeros((1, 1)), impossible)
    return labels, n, mean, scatter, layout


def _layout(shape: tuple[int, ...], k: int, d: int, given: str | None) -> str:
    known = {layout: scatters.shape_of(layout, k, d) for layout in _LAYOUTS}
    fitting = [layout for layout in known if known[layout] == shape and given in (None, layout)]
    if not fitting:
        shapes = ", ".join(f"{known[layout]} ({layout})" for layout in known if given in (None, layout))
        raise StatisticsError(f"sum_xx must have one of the shapes {shapes or list(known)}, not {shape}")
    if len(fitting) > 1 and d > 1:
        raise StatisticsError(f"sum_xx of shape {shape} may be of layout 'diag' or 'pooled'; give layout= to say which")
    return fitting[0]


def _is_symmetric(xx: Array) -> bool:
    unit = np.sqrt(np.abs(np.einsum("...ii->...i", xx)))
    return bool((np.abs(xx - xx.swapaxes(-1, -2)) <= _SYMMETRY * unit[..., :, None] * unit[..., None, :]).all())
