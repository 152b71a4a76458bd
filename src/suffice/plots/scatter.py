"""Scatter plots of two columns, with the Gaussians of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..tables.table import Table
from .marginals import GaussianBlock
from .rows import codes, component_names, floats, has_classes, labelled, local, refuse_labels, whole
from .style import GREY, Display, color, line_look, marker

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Array = NDArray[Any]

_CIRCLE = np.stack([np.cos(t := np.linspace(0, 2 * np.pi, 181)), np.sin(t)])  # (2, m)


@dataclass(eq=False)
class CloudDisplay(Display):
    """Rows in two columns, with ellipses of the classes at 1 and 2 standard deviations."""

    points: Array  # (n, 2)
    code: Array  # (n,) class of each row
    classes: Array  # (k,)
    mean: Array  # (K, 2) of the ellipses: one for each class, unless classes are mixtures
    covariance: Array  # (K, 2, 2)
    seen: Array  # (K,) whether there is an ellipse
    names: tuple[str, str]  # of the two columns

    def contour(self, c: int, deviations: float) -> Array:
        """Return the points (m, 2) of an ellipse around the mean of a class, or of a component of a mixture.

        Parameters
        ----------
        c : int
            The index of the class or component.
        deviations : float
            The radius of the ellipse in standard deviations.

        Returns
        -------
        array of shape (m, 2)
            Points of the ellipse.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> from suffice.plots import ScatterDisplay
        >>> X = [[1.0, 2.0], [3.0, 2.0], [2.0, 1.0], [2.0, 3.0]]
        >>> display = ScatterDisplay.from_estimator(GaussianClassifier().fit(X, ["a"] * 4))
        >>> display.contour(0, deviations=3).max(axis=0).round(2)
        array([4.12, 4.12])
        """
        (xx, xy), (_, yy) = self.covariance[c]
        slope = xy / np.sqrt(xx) if xx > 0 else 0.0
        # Cholesky's factor, also of a class without variance
        factor = np.array([[np.sqrt(xx), 0.0], [slope, np.sqrt(max(yy - slope**2, 0.0))]])
        return np.asarray(self.mean[c] + deviations * (factor @ _CIRCLE).T)

    def plot(self, ax: Axes | None = None) -> Self:
        ax = self._axes(ax)
        from matplotlib.lines import Line2D

        handles: list[Artist]
        if len(self.points):
            handles = draw_points(ax, self.points, self.code, self.classes)
        else:
            handles = [Line2D([], [], **line_look(c), label=str(label)) for c, label in enumerate(self.classes)]
        for j in np.flatnonzero(self.seen).tolist():
            for deviations in (1, 2):
                ax.plot(*self.contour(j, deviations).T, **self._ellipse_look(j), linewidth=2.0 / deviations)
        handles += [
            Line2D([], [], color=GREY, linewidth=2.0 / deviations, label=name)
            for deviations, name in ((1, "1 standard deviation"), (2, "2 standard deviations"))
        ]
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self._legend(handles)
        return self

    def _ellipse_look(self, j: int) -> dict[str, Any]:
        return line_look(j)


@dataclass(eq=False)
class ScatterDisplay(CloudDisplay):
    """Scatter plot of two columns, with the Gaussian of each class at 1 and 2 standard deviations.

    For a model of more columns it shows the marginal of these two; for a predictive model, the scale matrix. The
    components of a mixture have an ellipse each, in the colour of their class; the smaller their weight, the fainter.
    A `MixtureModel` has no classes: rows have the colour of the component that they most probably belong to.

    Parameters
    ----------
    points : array of shape (n, 2)
        The rows in the two columns.
    code : array of shape (n,)
        The class index of each row.
    classes : array of shape (k,)
        The class labels.
    mean : array of shape (K, 2)
        The mean of each component. A class that is not a mixture has one.
    covariance : array of shape (K, 2, 2)
        The covariance of each component.
    seen : array of shape (K,)
        Whether the model had rows of each component, so that it has an ellipse.
    names : tuple of two str
        The labels of the axes.
    owner : array of shape (K,), default=None
        The class index of each component. None if each class has one.
    weights : array of shape (K,), default=None
        The weight of each component in its class. None draws all alike.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianClassifier
    >>> from suffice.plots import ScatterDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = GaussianClassifier().fit(X, y)
    >>> display = ScatterDisplay.from_estimator(clf, X, y, ["petal length (cm)", "petal width (cm)"])
    >>> display.ax_.get_xlabel()
    'petal length (cm)'
    """

    owner: Array | None = None
    weights: Array | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        columns: Sequence[Any] | None = None,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Plot rows and the Gaussians of a fitted model.

        Parameters
        ----------
        estimator : GaussianClassifier, MixedClassifier, MixtureClassifier or MixtureModel
            A fitted model with Gaussian columns.
        X : table of shape (n, d), default=None
            The rows. None shows the Gaussians alone.
        y : array-like of shape (n,) or str, default=None
            The labels, or the name of their column in `X`. Leave it out for a `MixtureModel`.
        columns : list of two str or int, default=None
            Names or indices of two columns. None if there are only two.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import MixtureModel
        >>> from suffice.plots import ScatterDisplay
        >>> X = load_iris().data
        >>> model = MixtureModel(n_components=3, random_state=0).fit(X)
        >>> display = ScatterDisplay.from_estimator(model, X, columns=[2, 3])
        >>> display.mean.shape, display.ax_.get_xlabel()
        ((3, 2), 'x2')
        """
        table, code = (None, np.empty(0, np.intp)) if X is None else _coded(estimator, X, y)
        block = GaussianBlock.of(estimator, table)
        one, two = pair_of(block.chosen(columns), block.names)
        return cls(
            np.empty((0, 2)) if table is None else floats(table, [one, two]),
            code,
            estimator.classes_ if has_classes(estimator) else component_names(len(block.owner)),
            *block.moments([one, two]),
            block.density.seen,
            (block.names[one], block.names[two]),
            block.owner,
            block.weights,
        ).plot(ax)

    def _ellipse_look(self, j: int) -> dict[str, Any]:
        alpha = 1.0 if self.weights is None else 0.3 + 0.7 * self.weights[j] / self.weights.max()
        return {**line_look(j if self.owner is None else self.owner[j]), "alpha": float(alpha)}


def _coded(estimator: Any, X: Any, y: Any) -> tuple[Table, Array]:
    """Return rows and the index of the class of each, or of its component if the model has no classes."""
    if has_classes(estimator):
        source, labels = labelled(estimator, X, y)
        return whole(source), codes(labels, estimator.classes_)
    refuse_labels(estimator, y)
    source = local(estimator, X)
    return whole(source), np.asarray(estimator.predict(source))


def pair_of(indices: Sequence[int], names: Sequence[str]) -> tuple[int, int]:
    """Return two column indices, or raise an error that says how to choose them."""
    if len(indices) != 2:
        found = [names[j] for j in indices]
        raise DataError(
            f"this plot shows two columns, got {len(indices)}; choose two, as in columns={found[:2] or names}"
        )
    return indices[0], indices[1]


def draw_points(ax: Axes, points: Array, code: Array, classes: Array) -> list[Artist]:
    """Draw rows as points with the colour and marker of their class, and return the handles for a legend.

    The order is random but fixed, so that no class hides another where they overlap.
    """
    from matplotlib.lines import Line2D
    from matplotlib.markers import MarkerStyle

    styles = [MarkerStyle(marker(c)) for c in range(len(classes))]
    shapes = [style.get_path().transformed(style.get_transform()) for style in styles]
    order = np.random.default_rng(0).permutation(np.flatnonzero(np.isfinite(points).all(axis=1)))
    crowd = max(len(order) / 1000, 1.0)
    cloud = ax.scatter(
        points[order, 0],
        points[order, 1],
        s=max(22 / crowd, 8),
        c=[color(c) for c in code[order]],
        alpha=max(0.8 / crowd, 0.2),
        edgecolors="white",
        linewidths=0.3 / crowd,
    )
    cloud.set_paths([shapes[c] for c in code[order]])
    return [
        Line2D([], [], linestyle="none", marker=marker(c), color=color(c), label=str(label))
        for c, label in enumerate(classes)
    ]
