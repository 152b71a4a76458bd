"""Missing values of a table: which cells are missing together, and how often."""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..sources import as_source
from ..tables.batch import Batch
from ..tables.missing import patterns
from .style import Display, color, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

Array = NDArray[Any]

_BESIDE, _ABOVE = 1.5, 0.8  # inches that bars take; cells take the rest
_GAP = 0.02  # between cells and bars, as a share of the cells
_READABLE = 5  # points below which text is too small to read
_OBSERVED, _MISSING = "#e8e8e8", color(1)


@dataclass(eq=False)
class MissingnessDisplay(Display):
    """Patterns of missing values: which columns are missing together, and in how many rows.

    Each line of cells is a pattern, the most frequent on top; bars on the right count its rows. Bars above the columns
    show the share of the rows in which each is missing.

    Parameters
    ----------
    patterns : array of bool of shape (m, d)
        The different patterns, the most frequent first: True for missing cells.
    counts : array of int of shape (m,)
        The number of rows of each pattern.
    names : tuple of d str
        The names of the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice.plots import MissingnessDisplay
    >>> fur, kg, age = ["black", None, "white", None], [3.1, None, 4.5, None], [1, 2, 3, None]
    >>> cats = pd.DataFrame({"fur": fur, "kg": kg, "age": age})
    >>> display = MissingnessDisplay.from_data(cats)
    >>> display.counts
    array([2, 1, 1])
    >>> dict(zip(display.names, display.share.tolist()))
    {'fur': 0.5, 'kg': 0.5, 'age': 0.25}
    """

    patterns: Array
    counts: Array
    names: tuple[str, ...]

    @classmethod
    def from_data(cls, X: Any, *, max_patterns: int = 20, max_columns: int = 40, ax: Axes | None = None) -> Self:
        """Plot the missing values of a table, in one pass over its rows.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            An array, a data frame, a path or glob, a Dask or Spark frame, a table of a database. Missing values are
            None, NaN, NaT or null.
        max_patterns : int, default=20
            The number of patterns to show: the most frequent ones.
        max_columns : int, default=40
            The number of columns to show: those with the most missing values, in the order of the table.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from suffice.plots import MissingnessDisplay
        >>> nan = float("nan")
        >>> display = MissingnessDisplay.from_data([[1.0, nan], [2.0, 5.0], [3.0, nan]])
        >>> display.patterns.tolist(), display.counts.tolist()
        ([[False, True], [False, False]], [2, 1])
        """
        source = as_source(X)
        found = source.reduce(_count, operator.add)
        if not found:
            raise DataError("X has no rows")
        ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        bits = np.frombuffer(b"".join(key for key, _ in ordered), np.uint8).reshape(len(ordered), -1)
        cells = np.unpackbits(bits, axis=1, count=source.n_features).astype(bool)
        names = source.names or tuple(f"x{j}" for j in range(source.n_features))
        display = cls(cells, np.array([count for _, count in ordered]), names)
        return display.plot(ax, max_patterns=max_patterns, max_columns=max_columns)

    @property
    def share(self) -> Array:
        """The share of the rows in which each column is missing, (d,)."""
        return np.asarray(self.counts @ self.patterns / self.counts.sum())

    def plot(self, ax: Axes | None = None, *, max_patterns: int = 20, max_columns: int = 40) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.
        max_patterns : int, default=20
            The number of patterns to show: the most frequent ones.
        max_columns : int, default=40
            The number of columns to show: those with the most missing values, in the order of the table.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.plots import MissingnessDisplay
        >>> patterns = np.array([[False, True, False], [True, True, False]])
        >>> display = MissingnessDisplay(patterns, np.array([5, 2]), ("kg", "age", "fur"))
        >>> [text.get_text() for text in display.plot(max_columns=2).ax_.get_xticklabels()]
        ['kg', 'age']
        """
        for name, value in (("max_patterns", max_patterns), ("max_columns", max_columns)):
            if value < 1:
                raise DataError(f"{name}={value!r} must be at least 1")
        columns = np.sort(np.argsort(-self.share, kind="stable")[:max_columns])
        cells, names = self.patterns[:max_patterns, columns], [self.names[j] for j in columns]
        m, d = cells.shape
        longest = max(map(len, names))
        upright = d * longest > 40
        ax = self._axes(ax, (min(3.5 + 0.45 * d, 16.0), 1.6 + 0.27 * m + (0.08 * longest if upright else 0.0)))
        from matplotlib.colors import ListedColormap

        look: dict[str, Any] = {"cmap": ListedColormap([_OBSERVED, _MISSING]), "vmin": 0, "vmax": 1}
        edges = np.arange(d + 1) - 0.5, np.arange(m + 1) - 0.5
        ax.pcolormesh(*edges, cells, **look, edgecolors="white", linewidth=1.5)
        ax.invert_yaxis()
        ax.set_xticks(range(d), names, rotation=90 if upright else 0)
        ax.set_yticks([])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set(ylabel=_of("pattern", m, len(self.counts)))
        if d < len(self.names):
            ax.set(xlabel=_of("column", d, len(self.names)))
        self._draw_bars(columns, m)
        return self

    def _draw_bars(self, columns: Array, m: int) -> None:
        """Draw the shares of columns above the cells, and the rows of the first m patterns right of them."""
        ax, room = self.ax_, self.ax_.get_window_extent()
        inch = self.figure_.dpi
        width, height = 1 - min(_BESIDE * inch / room.width, 0.4), 1 - min(_ABOVE * inch / room.height, 0.4)
        ax.set_axes_locator(partial(_corner, ax.get_axes_locator(), width, height))

        above = _bars(ax, (0, 1 + _GAP, 1, 1 / height - 1 - _GAP), sharex=ax)
        share = self.share[columns]
        above.bar(range(len(share)), share, 0.85, color=tint(1, 0.5))
        above.set(ylabel="missing", ylim=(0, 1.3 * (share.max() or 1.0)))
        size = min(72 * width * room.width / inch / len(share) / 3.2, 9.0)  # so that texts stay apart
        for j, part in enumerate(share if size >= _READABLE else []):
            above.annotate(_percent(part), (j, part), (0, 2), textcoords="offset points", ha="center", size=size)

        beside = _bars(ax, (1 + _GAP, 0, 1 / width - 1 - _GAP, 1), sharey=ax)
        beside.barh(range(m), self.counts[:m], 0.85, color=tint(0, 0.5))
        beside.set(xlabel="rows", xlim=(0, self.counts[0]))
        hidden = self.patterns[:m].sum(axis=1) - self.patterns[:m, columns].sum(axis=1)
        for i, (count, more) in enumerate(zip(self.counts[:m].tolist(), hidden.tolist(), strict=True)):
            text = f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}") + f" ({_percent(count / self.counts.sum())})"
            text += f" +{_of('column', more, more)}" if more else ""  # that are missing, but not shown
            beside.annotate(text, (0, i), (3, 0), textcoords="offset points", va="center", size=9)


def _count(batch: Batch) -> Counter[bytes]:
    """Count the rows of each pattern, whose cells are packed into bits."""
    found = patterns(batch.table.missing())
    return Counter({np.packbits(pattern).tobytes(): len(rows) for pattern, rows in found})


def _of(thing: str, shown: int, total: int) -> str:
    return f"{total} {thing}{'' if total == 1 else 's'}" if shown == total else f"{shown} of {total} {thing}s"


def _percent(share: float) -> str:
    """A share in percent: what is not quite none or all does not look like it."""
    percent = 100 * float(share)
    if 0 < percent < 0.1:
        return "<0.1 %"
    if 99.5 <= percent < 100:
        return ">99 %"
    return f"{percent:.1f} %" if 0 < percent < 10 else f"{percent:.0f} %"


def _bars(ax: Axes, bounds: tuple[float, float, float, float], **shared: Any) -> Any:
    """Return axes at one side of others, for nothing but bars."""
    axes = ax.inset_axes(bounds, **shared)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelleft=False, labelbottom=False)
    return axes


def _corner(before: Any, width: float, height: float, ax: Axes, renderer: Any) -> Bbox:
    """Where the cells stand: in the lower left corner of the axes, so that bars find room in these."""
    from matplotlib.transforms import Bbox

    room = ax.get_position(original=True) if before is None else before(ax, renderer)
    return Bbox.from_bounds(room.x0, room.y0, width * room.width, height * room.height)
