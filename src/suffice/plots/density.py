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
_FEW = 4  # classes whose areas can be told apart


@dataclass(frozen=True, eq=False)
class ColumnDensity:
    """One column: what was observed of each class, and what the model says."""

    name: str
    edges: Array  # (m + 1,) of the bins
    heights: Array  # (k, m) densities of the histograms; zero where a class has no rows
    grid: Array  # (g,)
    density: Array  # (k, g) of the model


@dataclass(eq=False)
class DensityDisplay(Display):
    """Histograms of each class with the densities that a Gaussian model has for it, one panel a column.

    Densities are marginals of the model, whatever its covariance. Of more than four classes, histograms are outlines,
    cut off at three times the highest density. After plotting `axes_` holds all panels, `ax_` the first.

    Parameters
    ----------
    columns : list of ColumnDensity
    classes : (k,)

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
        estimator : a GaussianClassifier, or a MixedClassifier with Gaussian columns
        X, y : rows and labels; y may be the name of a column of X
        columns : names or positions; None takes all Gaussian ones
        bins : as numpy.histogram takes them; the same for all classes. Where all values are whole numbers, those that
            the name of a rule gives are made as wide as some whole number of the steps between values
        ax : matplotlib axes to draw on, one for each column; None makes a new figure
        """
        source, labels = labelled(estimator, X, y)
        table, code = whole(source), codes(labels, estimator.classes_)
        block = GaussianBlock.of(estimator, table)
        shown = [_column(block, j, floats(table, [j])[:, 0], code, bins) for j in block.chosen(columns)]
        return cls(shown, estimator.classes_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, one for each column, or on those of a new figure."""
        for panel, column in zip(self._panels(ax), self.columns, strict=True):
            lines = [self._draw(panel, column, c) for c in range(len(self.classes))]
            panel.set(xlabel=column.name, ylabel="density", ylim=(0, 1.1 * self._top(column)))
        self._legend(lines, beside=len(self.columns) > 1)
        return self

    def _top(self, column: ColumnDensity) -> float:
        """How high a panel goes."""
        tallest, fitted = float(column.heights.max()), float(column.density.max())
        if tallest == 0:
            return fitted
        if len(self.classes) > _FEW:  # where one value is very frequent, the many curves are still told apart
            tallest = min(tallest, 3 * fitted)
        # A class that hardly varies has a density without bounds.
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
        """One axes for each column."""
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
                raise DataError(f"{n} columns need {n} axes, not {len(panels)}")
        self.axes_ = np.array(panels, object)
        self._axes(panels[0])
        self._owns_figure = ax is None
        return panels


def _column(block: GaussianBlock, place: int, values: Array, code: Array, bins: Any) -> ColumnDensity:
    seen = np.isfinite(values)
    values, code = values[seen], code[seen]
    edges = _edges(values, bins)
    counts = np.stack([np.histogram(values[code == c], edges)[0] for c in range(block.density.n_classes)])
    heights = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) / np.diff(edges)
    margin = 0.05 * (edges[-1] - edges[0])
    mean, covariance = block.moments([place])
    around = mean + np.sqrt(covariance[:, 0]) * np.linspace(-4, 4, 65)  # also a narrow class is drawn round
    grid = np.linspace(edges[0] - margin, edges[-1] + margin, 200)
    grid = np.unique(np.concatenate([grid, around[(around > grid[0]) & (around < grid[-1])]]))
    return ColumnDensity(block.names[place], edges, heights, grid, block.marginal(place, grid).T)


def _edges(values: Array, bins: Any) -> Array:
    """Edges of the bins; by a rule, each bin holds equally many of the values that whole numbers can have."""
    edges = np.histogram_bin_edges(values, bins)
    if not isinstance(bins, str) or np.abs(edges).max() > 2**53 or (values % 1).any():
        return edges
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    step = np.gcd.reduce((values - low).astype(np.int64))
    if not step:
        return edges
    width = step * max(round((edges[1] - edges[0]) / step), 1)
    return np.arange(low - step / 2, high + width, width)
