"""Rows in two columns, with the Gaussians of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .marginals import GaussianBlock
from .rows import codes, floats, labelled, whole
from .style import GREY, Display, color, dashes, marker

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Array = NDArray[Any]

_CIRCLE = np.stack([np.cos(t := np.linspace(0, 2 * np.pi, 181)), np.sin(t)])  # (2, m)


@dataclass(eq=False)
class CloudDisplay(Display):
    """Rows in two columns, with an ellipse of each class at 1 and 2 standard deviations."""

    points: Array  # (n, 2)
    code: Array  # (n,) class of each row
    classes: Array  # (k,)
    mean: Array  # (k, 2)
    covariance: Array  # (k, 2, 2)
    seen: Array  # (k,) whether a class has an ellipse
    names: tuple[str, str]  # of the two columns

    def contour(self, c: int, deviations: float) -> Array:
        """The points (m, 2) at a number of standard deviations from the mean of class c."""
        (xx, xy), (_, yy) = self.covariance[c]
        slope = xy / np.sqrt(xx) if xx > 0 else 0.0
        # Cholesky's, also where a class does not vary
        factor = np.array([[np.sqrt(xx), 0.0], [slope, np.sqrt(max(yy - slope**2, 0.0))]])
        return np.asarray(self.mean[c] + deviations * (factor @ _CIRCLE).T)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the given axes, or on those of a new figure."""
        ax = self._axes(ax)
        from matplotlib.lines import Line2D

        handles = draw_points(ax, self.points, self.code, self.classes)
        for c in np.flatnonzero(self.seen).tolist():
            for deviations in (1, 2):
                x, y = self.contour(c, deviations).T
                ax.plot(x, y, color=color(c), linestyle=dashes(c), linewidth=2.0 / deviations)
        handles += [
            Line2D([], [], color=GREY, linewidth=2.0 / deviations, label=name)
            for deviations, name in ((1, "1 standard deviation"), (2, "2 standard deviations"))
        ]
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self._legend(handles)
        return self


class ScatterDisplay(CloudDisplay):
    """Rows in two columns, with each class's Gaussian at 1 and 2 standard deviations.

    Of a model with more columns it is the marginal of these two; of a predictive one, that of its scale matrix.

    Parameters
    ----------
    points : (n, 2)
    code : (n,) class of each row
    classes : (k,)
    mean : (k, 2)
    covariance : (k, 2, 2)
    seen : (k,) whether the model had rows of the class
    names : of the two columns

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

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, columns: Sequence[Any] | None = None, *, ax: Axes | None = None
    ) -> Self:
        """Plot labelled rows and the Gaussians of a fitted model.

        Parameters
        ----------
        estimator : a GaussianClassifier, or a MixedClassifier with Gaussian columns
        X, y : rows and labels; y may be the name of a column of X
        columns : the names or positions of two columns; None where the model has no more than two
        ax : matplotlib axes to draw on; None makes a new figure
        """
        source, labels = labelled(estimator, X, y)
        table, classes = whole(source), estimator.classes_
        block = GaussianBlock.of(estimator, table)
        one, two = pair_of(block.chosen(columns), block.names)
        return cls(
            floats(table, [one, two]),
            codes(labels, classes),
            classes,
            *block.moments([one, two]),
            block.density.seen,
            (block.names[one], block.names[two]),
        ).plot(ax)


def pair_of(places: Sequence[int], names: Sequence[str]) -> tuple[int, int]:
    """Two places, or an error that says how to choose them."""
    if len(places) != 2:
        found = [names[j] for j in places]
        raise DataError(
            f"this plot shows two columns, not {len(places)}; choose two, as in columns={found[:2] or names}"
        )
    return places[0], places[1]


def draw_points(ax: Axes, points: Array, code: Array, classes: Array) -> list[Artist]:
    """Rows as points, with the colour and the marker of their class; returns what a legend shows.

    They are drawn in a fixed random order, so that where classes overlap none is painted over by the next.
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
