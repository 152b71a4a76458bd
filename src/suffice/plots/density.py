"""Histograms and fitted densities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .marginals import GaussianBlock
from .rows import codes, floats, labelled, whole
from .style import Display, color, dashes, pyplot

if TYPE_CHECKING:
    from matplotlib.artist import Artist

Array = NDArray[Any]

_ACROSS = 3  # panels that fit side by side
_FEW = 4  # classes up to which histograms are filled


@dataclass(frozen=True, eq=False)
class ColumnDensity:
    """One column: the histogram of each class, and its density under the model."""

    name: str
    edges: Array  # (m + 1,) of the bins
    heights: Array  # (k, m) densities of the histograms; zero where a class has no rows
    grid: Array  # (g,)
    density: Array  # (k, g) of the model


@dataclass(eq=False)
class DensityDisplay(Display):
    """Histograms of each class with the fitted Gaussian densities, one panel per column.

    The densities are marginals of the model, whatever its covariance. With more than four classes, histograms are
    outlines, cut off at three times the highest density. After plotting, `axes_` holds all panels and `ax_` the first.

    Parameters
    ----------
    columns : list of ColumnDensity
        The histograms and densities of each column.
    classes : array of shape (k,)
        The class labels.

    Examples
    --------
    >>> from suffice import GaussianClassifier
    >>> from suffice.plots import DensityDisplay
    >>> X, y = [[1.70], [1.78], [1.75], [1.60], [1.64], [1.55]], ["m", "m", "m", "f", "f", "f"]
    >>> display = DensityDisplay.from_estimator(GaussianClassifier().fit(X, y), X, y)
    >>> [line.get_label() for line in display.ax_.get_lines()]
    ['f', 'm']
    """

    columns: list[ColumnDensity]
    classes: Array

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, columns: Sequence[Any] | None = None, *, bins: Any = "rice", ax: Any = None
    ) -> Self:
        """Plot labelled rows and the densities of a fitted model.

        Parameters
        ----------
        estimator : GaussianClassifier or MixedClassifier
            A fitted model with Gaussian columns.
        X : table of shape (n, d)
            The rows.
        y : array-like of shape (n,) or str
            The labels, or the name of their column in `X`.
        columns : list of str or int, default=None
            Names or indices of columns. None means all Gaussian columns.
        bins : int, str or array-like, default="rice"
            Bins as `numpy.histogram` takes them, the same for all classes. For integer columns, the width that a rule
            gives is rounded to a multiple of the step between values.
        ax : list of matplotlib.axes.Axes, default=None
            The axes to draw on, one per column. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.
        """
        source, labels = labelled(estimator, X, y)
        table, code = whole(source), codes(labels, estimator.classes_)
        block = GaussianBlock.of(estimator, table)
        shown = [_column(block, j, floats(table, [j])[:, 0], code, bins) for j in block.chosen(columns)]
        return cls(shown, estimator.classes_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : list of matplotlib.axes.Axes, default=None
            The axes to draw on, one per column. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.
        """
        for panel, column in zip(self._panels(ax), self.columns, strict=True):
            lines = [self._draw(panel, column, c) for c in range(len(self.classes))]
            panel.set(xlabel=column.name, ylabel="density", ylim=(0, 1.1 * self._top(column)))
        self._legend(lines, beside=len(self.columns) > 1)
        return self

    def _top(self, column: ColumnDensity) -> float:
        """Return the upper end of the axis of a panel."""
        tallest, fitted = float(column.heights.max()), float(column.density.max())
        if tallest == 0:
            return fitted
        if len(self.classes) > _FEW:  # so that a very frequent value does not flatten the curves
            tallest = min(tallest, 3 * fitted)
        # The density of a class that hardly varies is unbounded.
        return max(min(fitted, 3 * tallest), tallest)

    def _draw(self, panel: Any, column: ColumnDensity, c: int) -> Artist:
        few = len(self.classes) <= _FEW
        if few:
            panel.stairs(column.heights[c], column.edges, fill=True, color=color(c), alpha=0.25)
        panel.stairs(column.heights[c], column.edges, color=color(c), linewidth=0.7, alpha=1.0 if few else 0.6)
        label, look = str(self.classes[c]), {"color": color(c), "linestyle": dashes(c)}
        line: Artist = panel.plot(column.grid, column.density[c], **look, label=label, linewidth=1.5 if few else 2)[0]
        return line

    def _panels(self, ax: Any) -> list[Any]:
        """Return one axes per column."""
        n = len(self.columns)
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
                raise DataError(f"{n} columns need {n} axes, got {len(panels)}")
        self.axes_ = np.array(panels, object)
        self._axes(panels[0])
        self._owns_figure = ax is None
        return panels


def _column(block: GaussianBlock, index: int, values: Array, code: Array, bins: Any) -> ColumnDensity:
    seen = np.isfinite(values)
    values, code = values[seen], code[seen]
    edges = _edges(values, bins)
    counts = np.stack([np.histogram(values[code == c], edges)[0] for c in range(block.density.n_classes)])
    heights = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) / np.diff(edges)
    margin = 0.05 * (edges[-1] - edges[0])
    mean, covariance = block.moments([index])
    around = mean + np.sqrt(covariance[:, 0]) * np.linspace(-4, 4, 65)  # so that narrow classes are drawn smoothly
    grid = np.linspace(edges[0] - margin, edges[-1] + margin, 200)
    grid = np.unique(np.concatenate([grid, around[(around > grid[0]) & (around < grid[-1])]]))
    return ColumnDensity(block.names[index], edges, heights, grid, block.marginal(index, grid).T)


def _edges(values: Array, bins: Any) -> Array:
    """Return the edges of the bins; by a rule, each bin of an integer column covers equally many values."""
    edges = np.histogram_bin_edges(values, bins)
    if not isinstance(bins, str) or np.abs(edges).max() > 2**53 or (values % 1).any():
        return edges
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    step = np.gcd.reduce((values - low).astype(np.int64))
    if not step:
        return edges
    width = step * max(round((edges[1] - edges[0]) / step), 1)
    return np.arange(low - step / 2, high + width, width)
