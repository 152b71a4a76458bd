"""The Tippett plot of forensic science."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..metrics import SortedScores
from .style import GREY, ratio_unit
from .systems import SystemsDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]

_USEFUL = 20 * float(np.log(10.0))  # nats; the axis ends there


class TippettCurve(NamedTuple):
    """Shares of the rows whose llr is greater than each of some values."""

    ratio: Array  # (m,) -inf, then the finite ones ascending, in the unit
    targets: Array  # (m,)
    others: Array  # (m,)
    n_targets: int
    n_others: int
    unit: str  # "log10" or "nat"

    def beyond(self, low: float, high: float) -> int:
        """Return how many scores lie outside of the range above `low`, up to `high`."""
        shares, n = np.stack([self.targets, self.others]), np.array([self.n_targets, self.n_others])
        below, above = (shares[:, np.searchsorted(self.ratio, x, side="right") - 1] for x in (low, high))
        return round(float(n @ (1 - below + above)))


class TippettDisplay(SystemsDisplay[TippettCurve]):
    """Tippett plot: the shares of targets (solid) and non-targets (dashed) whose likelihood ratio is greater than x.

    At x = 0, the rates of misleading evidence are 100 % minus the solid line for targets, and the dashed line for
    non-targets. The axis ends at 20 powers of ten; the legend counts the rows beyond, whose ratio can be infinite.

    Parameters
    ----------
    curves : dict from str to TippettCurve
        The curve of each system, by name.

    Notes
    -----
    ``from_predictions`` and ``from_estimator`` take ``unit``, the unit of the axis: "log10" or "nat". The
    scores passed in are always in nats.

    Examples
    --------
    >>> from suffice.plots import TippettDisplay
    >>> display = TippettDisplay.from_predictions([1, 1, 1, 0, 0, 0], [2.0, 1.0, -0.5, -1.0, -2.0, 0.1])
    >>> display.ax_.get_xlabel()
    'log10 of the likelihood ratio'
    """

    @staticmethod
    def _curve(y_true: Any, llr: Any, unit: str = "log10") -> TippettCurve:
        size, scores = ratio_unit(unit)[0], SortedScores.of(y_true, llr)
        distinct = np.unique(np.concatenate([scores.targets, scores.others]))
        ratio = np.concatenate([[-np.inf], distinct[np.isfinite(distinct)]])
        miss, alarm = scores.rates(ratio)
        return TippettCurve(ratio / size, 1.0 - miss, alarm, len(scores.targets), len(scores.others), unit)

    def plot(self, ax: Axes | None = None) -> Self:
        ax = self._axes(ax)
        size, name = ratio_unit(next(iter(self.curves.values())).unit)
        low, high = self._limits(_USEFUL / size)
        ax.axvline(0.0, color=GREY, linestyle=":", linewidth=1)
        names = {}
        for i, (system, curve) in enumerate(self.curves.items()):
            beyond = curve.beyond(low, high)
            said = f"{system} ({beyond} row{'s' if beyond > 1 else ''} beyond the axis)".lstrip()
            names[system] = said if beyond else system
            finite = curve.ratio[1:]
            x = np.concatenate([[finite.min(initial=low)], finite, [finite.max(initial=high)]])
            for share, line in ((curve.targets, "-"), (curve.others, "--")):
                y = 100 * np.concatenate([share, share[-1:]])
                ax.plot(x, y, drawstyle="steps-post", linestyle=line, **self._look(i))
        ax.set(xlabel=name, ylabel="share with a greater llr (%)", xlim=(low, high), ylim=(-2, 102))
        self._explain({"targets": "-", "non-targets": "--"}, names)
        return self

    def _limits(self, useful: float) -> tuple[float, float]:
        """Return the ends of the axis: all finite ratios and 0 with a margin, at most `useful`."""
        ends = np.concatenate([[0.0], *(curve.ratio[1:] for curve in self.curves.values())])
        margin = 0.05 * float(np.ptp(ends)) or 1.0
        return max(float(ends.min()) - margin, -useful), min(float(ends.max()) + margin, useful)
