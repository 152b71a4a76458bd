"""Histograms and fitted densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from .marginals import GaussianBlock
from .rows import codes, component_names, floats, has_classes, labelled, local, refuse_labels, whole
from .style import GREY, Display, line_look

if TYPE_CHECKING:
    from matplotlib.artist import Artist

Array = NDArray[Any]

_FEW = 4  # classes up to which histograms are filled


@dataclass(frozen=True, eq=False)
class ColumnDensity:
    """One column: the histogram of each class, and its density under the model.

    A mixture without classes counts as one class.
    """

    name: str
    edges: Array  # (m + 1,) of the bins
    heights: Array  # (k, m) densities of the histograms; zero where a class has no rows
    grid: Array  # (g,)
    density: Array  # (k, g) of the model
    components: Array  # (K, g) the share of each component of a mixture in the density of its class


@dataclass(eq=False)
class DensityDisplay(Display):
    """Histograms of each class with the fitted Gaussian densities, one panel per column.

    The densities are marginals of the model, whatever its covariance. With more than four classes, histograms are
    outlines, cut off at three times the highest density. Thin lines are the components of mixtures, times their
    weights: their sum is the density. A `MixtureModel` has no classes, so that there is one histogram of all rows, and
    each component has a colour. After plotting, `axes_` holds all panels and `ax_` the first.

    Parameters
    ----------
    columns : list of ColumnDensity
        The histograms and densities of each column.
    classes : array of shape (k,) or None
        The class labels; None for a mixture without classes.
    owner : array of shape (K,), default=None
        The class index of each component, in ascending order. None if each class has one.

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
    classes: Array | None
    owner: Array | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        columns: Sequence[Any] | None = None,
        *,
        bins: Any = "rice",
        ax: Any = None,
    ) -> Self:
        """Plot rows and the densities of a fitted model.

        Parameters
        ----------
        estimator : GaussianClassifier, MixedClassifier, MixtureClassifier or MixtureModel
            A fitted model with Gaussian columns.
        X : table of shape (n, d)
            The rows.
        y : array-like of shape (n,) or str, default=None
            The labels, or the name of their column in `X`. Leave it out for a `MixtureModel`.
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

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianClassifier
        >>> from suffice.plots import DensityDisplay
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> clf = GaussianClassifier().fit(X, y)
        >>> display = DensityDisplay.from_estimator(clf, X, y, ["petal length (cm)", "petal width (cm)"], bins=12)
        >>> [panel.get_xlabel() for panel in display.axes_]
        ['petal length (cm)', 'petal width (cm)']
        """
        if has_classes(estimator):
            source, labels = labelled(estimator, X, y)
            classes = estimator.classes_
            code = codes(labels, classes)
        else:
            refuse_labels(estimator, y)
            source, classes = local(estimator, X), None
            code = np.zeros(source.n_rows, np.intp)
        table = whole(source)
        block = GaussianBlock.of(estimator, table)
        owner = np.zeros_like(block.owner) if classes is None else block.owner
        member = owner == np.arange(1 if classes is None else len(classes))[:, None]  # (k, K)
        shown = [_column(block, member, j, floats(table, [j])[:, 0], code, bins) for j in block.chosen(columns)]
        return cls(shown, classes, owner).plot(ax)

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

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from suffice import GaussianClassifier
        >>> from suffice.plots import DensityDisplay
        >>> X, y = [[1, 5], [2, 7], [4, 6], [5, 9], [7, 8], [6, 5]], ["a", "a", "a", "b", "b", "b"]
        >>> display = DensityDisplay.from_estimator(GaussianClassifier().fit(X, y), X, y)
        >>> figure, panels = plt.subplots(2, 1)  # one below the other
        >>> display.plot(panels).axes_[1] is panels[1]
        True
        """
        for panel, column in zip(self._panels(ax, len(self.columns), "columns"), self.columns, strict=True):
            lines = [self._draw(panel, column, c) for c in range(len(column.density))]
            lines += self._draw_components(panel, column)
            panel.set(xlabel=column.name, ylabel="density", ylim=(0, 1.1 * self._top(column)))
        self._legend(lines, beside=len(self.columns) > 1)
        return self

    def _top(self, column: ColumnDensity) -> float:
        """Return the upper end of the axis of a panel."""
        tallest, fitted = float(column.heights.max()), float(column.density.max())
        if tallest == 0:
            return fitted
        if len(column.density) > _FEW:  # so that a very frequent value does not flatten the curves
            tallest = min(tallest, 3 * fitted)
        # The density of a class that hardly varies is unbounded.
        return max(min(fitted, 3 * tallest), tallest)

    def _draw(self, panel: Any, column: ColumnDensity, c: int) -> Artist:
        """Draw the histogram and the density of a class, and return the handle for a legend."""
        few = len(column.density) <= _FEW
        if self.classes is None:
            label, look = "mixture", {"color": GREY, "linestyle": "-"}
        else:
            label, look = str(self.classes[c]), line_look(c)
        stairs = {"edges": column.edges, "color": look["color"]}
        if few:
            panel.stairs(column.heights[c], **stairs, fill=True, alpha=0.25)
        panel.stairs(column.heights[c], **stairs, linewidth=0.7, alpha=1.0 if few else 0.6)
        line: Artist = panel.plot(column.grid, column.density[c], **look, label=label, linewidth=1.5 if few else 2)[0]
        return line

    def _draw_components(self, panel: Any, column: ColumnDensity) -> list[Artist]:
        """Draw the components of classes that have several, and return the handles for a legend."""
        if self.owner is None or len(self.owner) == len(column.density):
            return []
        if self.classes is None:
            names = component_names(len(self.owner))
            return [
                panel.plot(column.grid, share, **line_look(j), linewidth=1, label=names[j])[0]
                for j, share in enumerate(column.components)
            ]
        from matplotlib.lines import Line2D

        several = np.bincount(self.owner)[self.owner] > 1
        for c, share in zip(self.owner[several], column.components[several], strict=True):
            panel.plot(column.grid, share, **line_look(c), linewidth=0.8)
        return [Line2D([], [], color=GREY, linewidth=0.8, label="components")]


def _column(block: GaussianBlock, member: Array, index: int, values: Array, code: Array, bins: Any) -> ColumnDensity:
    seen = np.isfinite(values)
    values, code = values[seen], code[seen]
    edges = _edges(values, bins)
    counts = np.stack([np.histogram(values[code == c], edges)[0] for c in range(len(member))])
    heights = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) / np.diff(edges)
    margin = 0.05 * (edges[-1] - edges[0])
    mean, covariance = block.moments([index])
    around = mean + np.sqrt(covariance[:, 0]) * np.linspace(-4, 4, 65)  # so that narrow components are drawn smoothly
    grid = np.linspace(edges[0] - margin, edges[-1] + margin, 200)
    grid = np.unique(np.concatenate([grid, around[(around > grid[0]) & (around < grid[-1])]]))
    components = block.marginal(index, grid)
    return ColumnDensity(block.names[index], edges, heights, grid, member @ components, components)


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
