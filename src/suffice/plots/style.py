"""What all plots share: axes, legends, and colours that come with a line style or a marker of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import one_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# First those of Okabe and Ito, without the yellow, which is lost on white, and a dark red: people see these eight apart
# whatever they do not see. The others are as far from them, and from each other, for most people.
PALETTE = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#A40122"),
    *("#8400CD", "#8C564B", "#332288", "#9F0162"),
)
GREY = "#666666"
# As many as share no divisor with the colours, so that pairs of a colour and one of these repeat late.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
_UNITS = {
    "nat": (1.0, "log-likelihood ratio (nat)"),
    "log10": (float(np.log(10.0)), "log10 of the likelihood ratio"),
}

_INSIDE = 3  # entries of a legend that find room beside the data


def color(i: int) -> str:
    return PALETTE[i % len(PALETTE)]


def marker(i: int) -> str:
    return MARKERS[i % len(MARKERS)]


def tint(i: int, strength: float) -> tuple[float, float, float]:
    """A colour mixed with white, for areas that have something drawn on them."""
    red, green, blue = (1 - strength * (1 - int(color(i)[j : j + 2], 16) / 255) for j in (1, 3, 5))
    return red, green, blue


def dashes(i: int) -> Any:
    return DASHES[i % len(DASHES)]


def ratio_unit(unit: str) -> tuple[float, str]:
    """How many nats a unit of ratios is worth, and what an axis says."""
    return _UNITS[one_of("unit", unit, _UNITS)]


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"plots need matplotlib: pip install suffice[plot] ({error})") from error
    return plt


class Display:
    """What was plotted, and where."""

    ax_: Axes
    figure_: Any  # the figure, or the part of one, that `ax_` lies in

    def _axes(self, ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
        """The axes to draw on: those given, or the only ones of a new figure."""
        self._owns_figure = ax is None
        self.ax_ = pyplot().subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_

    def _legend(self, handles: Sequence[Artist], beside: bool = False, title: str | None = None) -> None:
        """A legend beside the data if it is long or would hide some of them anywhere, else where it hides least. In the
        figure of somebody else there may be no room beside."""
        if not handles:
            return
        if self._owns_figure and (beside or len(handles) > _INSIDE):
            legend = self.figure_.legend(handles=handles, loc="outside right upper", title=title)
            width, height = self.figure_.get_size_inches()  # the data keep the room they had
            self.figure_.set_size_inches(width + legend.get_window_extent().width / self.figure_.dpi, height)
        else:
            self.ax_.legend(handles=handles, loc="best", title=title)
