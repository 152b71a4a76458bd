"""Parts that all plots share: axes, legends, and colours, each with its own line style and marker."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..errors import DataError, one_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# First the colours of Okabe and Ito, without the yellow, which is hard to see on white, and a dark red: these eight are
# safe for colour-blind readers. The others differ clearly for most readers.
PALETTE = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#A40122"),
    *("#8400CD", "#8C564B", "#332288", "#9F0162"),
)
GREY = "#666666"
# Their numbers share no divisor with the number of colours, so that a pair of colour and marker repeats late.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
_UNITS = {
    "nat": (1.0, "log-likelihood ratio (nat)"),
    "log10": (float(np.log(10.0)), "log10 of the likelihood ratio"),
}

_ACROSS = 3  # panels that fit side by side
_INSIDE = 3  # entries of a legend that fit inside the axes


def color(i: int) -> str:
    return PALETTE[i % len(PALETTE)]


def marker(i: int) -> str:
    return MARKERS[i % len(MARKERS)]


def tint(i: int, strength: float) -> tuple[float, float, float]:
    """Return a colour mixed with white, for backgrounds."""
    red, green, blue = (1 - strength * (1 - int(color(i)[j : j + 2], 16) / 255) for j in (1, 3, 5))
    return red, green, blue


def dashes(i: int) -> Any:
    return DASHES[i % len(DASHES)]


def line_look(i: int) -> dict[str, Any]:
    """Return the colour and the line style of a class."""
    return {"color": color(i), "linestyle": dashes(i)}


def ratio_unit(unit: str) -> tuple[float, str]:
    """Return the size of a unit of ratios in nats, and the label of an axis in this unit."""
    return _UNITS[one_of("unit", unit, _UNITS)]


def pyplot() -> Any:
    """Import matplotlib.pyplot, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"plots need matplotlib: pip install suffice[plot] ({error})") from error
    return plt


class Display:
    """Base class of the displays: what was plotted, and where."""

    ax_: Axes
    figure_: Any  # the figure or subfigure of `ax_`

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from suffice.plots import RocDisplay
        >>> figure, (left, right) = plt.subplots(1, 2)
        >>> display = RocDisplay.from_predictions([1, 1, 0, 0], [2.0, -0.5, 0.1, -1.0], ax=left)
        >>> display.plot(right).ax_ is right  # once more
        True
        """

    def _axes(self, ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
        """Return the axes to draw on: the given ones, or those of a new figure."""
        self._owns_figure = ax is None
        self.ax_ = pyplot().subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_

    def _panels(self, ax: Any, n: int, things: str) -> list[Any]:
        """Return n axes to draw on, one for each of some things: the given ones, or those of a new figure."""
        if ax is None:
            across = n if n <= _ACROSS else math.isqrt(n - 1) + 1
            down = -(-n // across)
            size = (3.4 * across + 1.8, 2.8 * down + 0.4)
            figure, grid = pyplot().subplots(down, across, figsize=size, layout="constrained", squeeze=False)
            panels = list(grid.flat)
            for spare in panels[n:]:
                figure.delaxes(spare)
            panels = panels[:n]
        else:
            panels = list(np.ravel(ax))
            if len(panels) != n:
                raise DataError(f"{n} {things} need {n} axes, got {len(panels)}")
        self.axes_ = np.array(panels, object)
        self._axes(panels[0])
        self._owns_figure = ax is None
        return panels

    def _legend(self, handles: Sequence[Artist], beside: bool = False, title: str | None = None) -> None:
        """Add a legend: beside the axes if it is long, otherwise where it hides least.

        A figure of the caller may have no room beside the axes, so that the legend always goes inside.
        """
        if not handles:
            return
        if self._owns_figure and (beside or len(handles) > _INSIDE):
            legend = self.figure_.legend(handles=handles, loc="outside right upper", title=title)
            width, height = self.figure_.get_size_inches()  # keep the size of the axes
            self.figure_.set_size_inches(width + legend.get_window_extent().width / self.figure_.dpi, height)
        else:
            self.ax_.legend(handles=handles, loc="best", title=title)
