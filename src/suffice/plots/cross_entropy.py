"""The empirical cross-entropy plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import metrics
from ..metrics import CrossEntropy
from .systems import SystemsDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_USEFUL = 1.5  # bits, where the axis ends; the prior alone costs at most one


class CrossEntropyDisplay(SystemsDisplay[CrossEntropy]):
    """Empirical cross-entropy (ECE) plot: the cross-entropy in bits over the log10 odds of the prior.

    The solid line is that of the given log-likelihood ratios, the dashed one that after the best monotone calibration
    (pool adjacent violators), and the dotted one that of the prior alone. Where the solid line is above the dotted one,
    the scores do harm. An infinite score for the wrong class makes the cross-entropy infinite; the legend says so.

    Parameters
    ----------
    curves : dict from str to CrossEntropy
        The curve of each system, by name.

    Notes
    -----
    ``from_predictions`` and ``from_estimator`` take ``log10_odds``, the log10 odds of the prior to evaluate at:
    -3 to 3 by default.

    Examples
    --------
    >>> from suffice.plots import CrossEntropyDisplay
    >>> display = CrossEntropyDisplay.from_predictions([1, 1, 1, 0, 0, 0], [2.0, 1.0, -0.5, -1.0, -2.0, 0.1])
    >>> display.ax_.get_xlabel()
    'log10 odds of the prior'
    """

    @staticmethod
    def _curve(y_true: Any, llr: Any, log10_odds: Any = None) -> CrossEntropy:
        odds = np.linspace(-3, 3, 121) if log10_odds is None else np.asarray(log10_odds, np.float64)
        return metrics.empirical_cross_entropy(y_true, llr, 0.5 * (1 + np.tanh(odds * np.log(10.0) / 2)))

    def plot(self, ax: Axes | None = None) -> Self:
        ax = self._axes(ax)
        from matplotlib.lines import Line2D

        top, names = 0.0, {}
        for i, (name, curve) in enumerate(self.curves.items()):
            odds = np.log10(curve.prior) - np.log10(1 - curve.prior)
            finite = np.isfinite(curve.actual).all()
            names[name] = name if finite else f"{name} (actual: infinite)".lstrip()
            if finite:
                ax.plot(odds, curve.actual, linestyle="-", **self._look(i))
            ax.plot(odds, curve.minimum, linestyle="--", **self._look(i))
            top = max(top, float(curve.uninformed.max()), float(curve.actual.max()) if finite else 0.0)
        ax.plot(odds, curve.uninformed, linestyle=":", color="black", linewidth=1)  # the same for all
        ax.set(
            xlabel="log10 odds of the prior",
            ylabel="empirical cross-entropy (bit)",
            ylim=(0.0, 1.1 * min(top, _USEFUL)),
        )
        ax.margins(x=0)
        prior_alone = Line2D([], [], color="black", linestyle=":", linewidth=1, label="prior alone")
        self._explain({"actual": "-", "after PAV": "--"}, names, [prior_alone])
        return self
