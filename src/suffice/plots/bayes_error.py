"""The Bayes error plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from .. import metrics
from ..metrics import BayesErrorCurve
from .style import GREY
from .systems import SystemsDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_USEFUL = 2.0  # the axis ends at twice the cost of deciding without data


class BayesErrorDisplay(SystemsDisplay[BayesErrorCurve]):
    """Bayes error plot: actual (solid) and minimum (dashed) normalised detection cost over the effective prior.

    The gap between the two is the cost of bad calibration. A cost of 1 is that of the best decision without data.

    Parameters
    ----------
    curves : dict from str to BayesErrorCurve
        The curve of each system, by name.

    Notes
    -----
    ``from_predictions`` and ``from_estimator`` take ``log_odds``, the log odds of the effective prior to evaluate
    at: -7 to 7 by default.

    Examples
    --------
    >>> from suffice.plots import BayesErrorDisplay
    >>> y, llr = [1, 1, 1, 0, 0, 0], [2.0, 1.0, -0.5, -1.0, -2.0, 0.1]
    >>> display = BayesErrorDisplay.from_predictions(y, {"one": llr, "twice": [2 * s for s in llr]})
    >>> display.ax_.get_ylabel()
    'normalised detection cost (DCF)'
    """

    @staticmethod
    def _curve(y_true: Any, llr: Any, log_odds: Any = None) -> BayesErrorCurve:
        return metrics.bayes_error_curve(y_true, llr, log_odds)

    def plot(self, ax: Axes | None = None) -> Self:
        ax = self._axes(ax)
        largest = max(float(curve.actual.max()) for curve in self.curves.values())
        top = 1.1 * min(largest, _USEFUL) or 1.1
        if top > 1:
            ax.axhline(1.0, color=GREY, linestyle=":", linewidth=1)
        for i, curve in enumerate(self.curves.values()):
            ax.plot(curve.log_odds, curve.actual, linestyle="-", **self._look(i))
            ax.plot(curve.log_odds, curve.minimum, linestyle="--", **self._look(i))
        ax.set(
            xlabel="log odds of the effective prior (nat)",
            ylabel="normalised detection cost (DCF)",
            ylim=(0.0, top),
        )
        ax.margins(x=0)
        self._explain({"actual": "-", "minimum": "--"})
        return self
