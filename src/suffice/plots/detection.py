"""Plots of misses against false alarms: ROC and DET curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from .. import metrics
from ..metrics import SortedScores
from .style import GREY, color, dashes, marker
from .systems import SystemsDisplay

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Array = NDArray[Any]

_TICKS = (  # the roundest first
    *(1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.9, 0.99),
    *(0.2, 0.4, 0.6, 0.8, 0.05, 0.95, 0.02, 0.005),
)
_APART = 0.05  # of the axis, the least distance of two tick labels
_NEVER = 1e-12  # stands for a rate of zero, which has no probit; it lies outside the axes


class ErrorRates(NamedTuple):
    """Error rates of all thresholds, from accepting all rows to rejecting all rows."""

    p_miss: Array  # (m,) ascending
    p_false_alarm: Array  # (m,) descending
    hull: metrics.RocConvexHull
    eer: float  # on the hull


class _RatesDisplay(SystemsDisplay[ErrorRates]):
    @staticmethod
    def _curve(y_true: Any, llr: Any) -> ErrorRates:
        scores = SortedScores.of(y_true, llr)
        miss, alarm = scores.rates(np.unique(np.concatenate([scores.targets, scores.others])))
        rates = np.concatenate([[0.0], miss]), np.concatenate([[1.0], alarm])
        return ErrorRates(*rates, metrics.roc_convex_hull(y_true, llr), metrics.eer(y_true, llr))

    def _look(self, i: int) -> dict[str, Any]:
        return {"color": color(i), "linestyle": dashes(i), "label": self._label(i)}

    def _label(self, i: int) -> str:
        name, curve = list(self.curves.items())[i]
        return f"{name} (EER {100 * curve.eer:.3g} %)" if name else f"EER {100 * curve.eer:.3g} %"


class RocDisplay(_RatesDisplay):
    """ROC curve with its convex hull (thin) and the equal error rate on the hull (marker).

    Parameters
    ----------
    curves : dict from str to ErrorRates
        The error rates of each system, by name.

    Examples
    --------
    >>> from suffice.plots import RocDisplay
    >>> display = RocDisplay.from_predictions([1, 1, 1, 0, 0, 0], [2.0, 1.0, -0.5, -1.0, -2.0, 0.1])
    >>> round(display.curves[""].eer, 3)
    0.167
    """

    def plot(self, ax: Axes | None = None) -> Self:
        ax = self._axes(ax)
        from matplotlib.lines import Line2D

        ax.plot([0, 100], [0, 100], color=GREY, linestyle=":", linewidth=1)
        handles: list[Artist] = []
        for i, curve in enumerate(self.curves.values()):
            ax.plot(100 * curve.p_false_alarm, 100 * (1 - curve.p_miss), **self._look(i))
            hull = curve.hull
            ax.plot(100 * hull.p_false_alarm, 100 * (1 - hull.p_miss), color=color(i), linewidth=0.8, alpha=0.8)
            ax.plot([100 * curve.eer], [100 * (1 - curve.eer)], color=color(i), marker=marker(i), linestyle="none")
            handles.append(Line2D([], [], **self._look(i), marker=marker(i)))
        handles.append(Line2D([], [], color=GREY, linewidth=0.8, label="convex hull"))
        ax.set(xlabel="false alarms (%)", ylabel="hits (%)", xlim=(-2, 102), ylim=(-2, 102))
        ax.set_box_aspect(1)
        self._legend(handles)
        return self


class DetDisplay(_RatesDisplay):
    """Detection error trade-off (DET) curve: misses against false alarms on probit axes.

    Gaussian scores give straight lines. The axes go from 0.1 % to 50 %: lower if the data resolve smaller rates, and
    up to 99.5 % if the equal error rate of a system is above 20 %. A curve crosses the dotted line at about its equal
    error rate. Systems without errors lie outside the axes.

    Parameters
    ----------
    curves : dict from str to ErrorRates
        The error rates of each system, by name.

    Examples
    --------
    >>> from suffice.plots import DetDisplay
    >>> display = DetDisplay.from_predictions([1, 1, 1, 0, 0, 0], [2.0, 1.0, -0.5, -1.0, -2.0, 0.1])
    >>> display.ax_.get_xlabel()
    'false alarms (%)'
    """

    def plot(self, ax: Axes | None = None) -> Self:
        ax = self._axes(ax)
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

        limits = self._limits()
        ax.set(xlabel="false alarms (%)", ylabel="misses (%)", xlim=limits, ylim=limits)
        for axis, set_scale in ((ax.xaxis, ax.set_xscale), (ax.yaxis, ax.set_yscale)):
            set_scale("function", functions=(_probit, ndtr))
            axis.set_major_locator(FixedLocator(_ticks(*limits)))
            axis.set_major_formatter(FuncFormatter(lambda rate, _: f"{100 * rate:g}"))
            axis.set_minor_locator(NullLocator())
        ax.plot(limits, limits, color=GREY, linestyle=":", linewidth=1)
        lines = [
            ax.plot(curve.p_false_alarm, curve.p_miss, **self._look(i))[0]
            for i, curve in enumerate(self.curves.values())
        ]
        ax.set_box_aspect(1)
        ax.grid(linewidth=0.4)
        self._legend(lines, beside=True)
        return self

    def _limits(self) -> tuple[float, float]:
        high = 0.995 if max(curve.eer for curve in self.curves.values()) > 0.2 else 0.5
        rates = np.concatenate([[curve.p_miss, curve.p_false_alarm] for curve in self.curves.values()], axis=1)
        seen = rates[:, (rates < high).all(axis=0)]
        least = 0.8 * float(seen[seen > _NEVER].min(initial=high))
        return max(min(1e-3, least), 1e-6), high


def _probit(rate: Array) -> Array:
    return np.asarray(ndtri(np.clip(rate, _NEVER, 1 - _NEVER)))


def _ticks(low: float, high: float) -> list[float]:
    """Return round rates between two limits, as many as fit."""
    room = _APART * (ndtri(high) - ndtri(low))
    kept: list[float] = []
    for tick in _TICKS:
        if low <= tick <= high and all(abs(ndtri(tick) - ndtri(other)) > room for other in kept):
            kept.append(tick)
    return sorted(kept)
