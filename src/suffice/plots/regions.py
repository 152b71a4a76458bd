"""Decisions and posteriors over two columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import decisions as bayes
from ..errors import DataError, listed
from ..tables.labels import position
from .plane import Plane, over
from .scatter import draw_points
from .style import Display, tint

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Array = NDArray[Any]

_FEW = 4  # decisions up to which dotted lines are drawn


@dataclass(eq=False)
class DecisionRegionsDisplay(Display):
    """Decision regions over two columns, with solid borders and the name of each decision.

    With up to four decisions, dotted lines show where two decisions would be equally good if there were no others. They
    are left out for classifiers of other libraries, whose posteriors can jump. The title shows the fixed values of the
    other columns.

    Parameters
    ----------
    plane : Plane
        The grid and the rows.
    score : array of shape (g, g, m)
        The log posterior of each decision, or minus its expected cost, on the grid; the first axis is y.
    decisions : array of shape (m,)
        The decisions.
    classes : array of shape (k,)
        The classes of the rows.
    ties : bool, default=True
        Draw dotted lines where two decisions are equally good.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianClassifier
    >>> from suffice.plots import DecisionRegionsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = GaussianClassifier().fit(X[:, 2:], y)
    >>> display = DecisionRegionsDisplay.from_estimator(clf, X[:, 2:], y, prior="uniform")
    >>> display.region.shape
    (300, 300)
    """

    plane: Plane
    score: Array
    decisions: Array
    classes: Array
    ties: bool = True

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        columns: Sequence[Any] | None = None,
        *,
        at: Any = None,
        prior: Any = None,
        cost: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the decisions of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier with `predict_log_proba`.
        X : table of shape (n, d)
            The rows; they set the range of the axes.
        y : array-like of shape (n,) or str, default=None
            Labels, or the name of their column in `X`, to show the rows as points. None shows no points.
        columns : list of two str or int, default=None
            Names or indices of two columns. None if there are only two.
        at : dict or "mean", default=None
            Fixed values of the other columns, by column. "mean" holds them at their mean, and so are columns that a
            dictionary does not name.
        prior : array-like, dict, float or "uniform", default=None
            The prior, as in `predict`.
        cost : array-like or dict, default=None
            The costs, as in `predict`.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianClassifier
        >>> from suffice.plots import DecisionRegionsDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = GaussianClassifier().fit(X, y)
        >>> display = DecisionRegionsDisplay.from_estimator(clf, X, y, columns=[2, 3], at="mean")
        >>> display.ax_.get_title()  # where the other columns are held
        'x0 = 5.843, x1 = 3.057'
        """
        plane, rows = over(estimator, X, y, columns, at)
        score, classes = _log_posterior(estimator, rows, prior), np.asarray(estimator.classes_)
        decisions = classes
        if cost is not None:
            decisions, costs = bayes.as_cost(cost, classes)
            score = -np.exp(score) @ costs.T
        score = score.reshape(len(plane.y), len(plane.x), -1)
        return cls(plane, score, decisions, classes, ties=hasattr(estimator, "llr")).plot(ax)

    @property
    def region(self) -> Array:
        """The index of the best decision, (g, g); a tie goes to the lower index."""
        return np.asarray(self.score.argmax(axis=2))

    def plot(self, ax: Axes | None = None) -> Self:
        ax = self._axes(ax)
        from matplotlib.lines import Line2D

        plane, m = self.plane, len(self.decisions)
        tints = np.array([tint(i, 0.3) for i in range(m)])
        ax.imshow(tints[self.region], extent=plane.extent, origin="lower", aspect="auto", interpolation="nearest")
        for i in range(m if m > 2 else 1):
            _line(ax, plane, _margin(self.score, i), linewidths=1.2)
        handles = _draw_rows(ax, plane, self.classes)
        if self.ties and 2 < m <= _FEW:
            for i, j in combinations(range(m), 2):
                between = _difference(self.score[..., i], self.score[..., j])
                _line(ax, plane, between, linewidths=0.7, linestyles="dotted")
            handles.append(
                Line2D([], [], color="black", linewidth=0.7, linestyle="dotted", label="tie of two decisions")
            )
        for i, decision in enumerate(self.decisions):
            self._name_region(ax, i, str(decision))
        self._legend(handles, beside=True)
        return self

    def _name_region(self, ax: Axes, i: int, name: str) -> None:
        """Write the name of a decision where its region is widest."""
        from scipy.ndimage import distance_transform_edt

        inside = np.pad(self.region == i, 1)  # the frame counts as a border
        if inside.any():
            row, column = np.unravel_index(distance_transform_edt(inside).argmax(), inside.shape)
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1.5}
            centre = self.plane.x[column - 1], self.plane.y[row - 1]
            ax.text(*centre, name, ha="center", va="center", fontsize="small", bbox=box, clip_on=True)


@dataclass(eq=False)
class PosteriorMapDisplay(Display):
    """The posterior of one class over two columns, with lines where it is 0.1, 0.5 and 0.9.

    The full colour of the class means 1, and white means 0. For two classes, white means 1/2 and the colour of the
    other class means 0. The title shows the fixed values of other columns.

    Parameters
    ----------
    plane : Plane
        The grid and the rows.
    posterior : array of shape (g, g)
        The posterior at each point of the grid; the first axis is y.
    label : label
        The class.
    classes : array of shape (k,)
        The class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianClassifier
    >>> from suffice.plots import PosteriorMapDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = GaussianClassifier().fit(X[:, 2:], y)
    >>> display = PosteriorMapDisplay.from_estimator(clf, X[:, 2:], y, label=1)
    >>> display.posterior.shape
    (300, 300)
    """

    plane: Plane
    posterior: Array
    label: Any
    classes: Array

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        columns: Sequence[Any] | None = None,
        *,
        label: Any = None,
        at: Any = None,
        prior: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the posterior of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier with `predict_log_proba`.
        X : table of shape (n, d)
            The rows; they set the range of the axes.
        y : array-like of shape (n,) or str, default=None
            Labels, or the name of their column in `X`, to show the rows as points. None shows no points.
        columns : list of two str or int, default=None
            Names or indices of two columns. None if there are only two.
        label : label, default=None
            The class. None means the second of two.
        at : dict or "mean", default=None
            Fixed values of the other columns, by column. "mean" holds them at their mean, and so are columns that a
            dictionary does not name.
        prior : array-like, dict, float or "uniform", default=None
            The prior, as in `predict`.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> from suffice.plots import PosteriorMapDisplay
        >>> X, y = [[0, 0], [1, 2], [2, 1], [3, 3], [4, 5], [5, 4]], ["a", "a", "a", "b", "b", "b"]
        >>> display = PosteriorMapDisplay.from_estimator(GaussianClassifier("tied").fit(X, y), X, y)
        >>> str(display.label), bool(display.posterior[0, 0] < 0.5 < display.posterior[-1, -1])
        ('b', True)
        """
        classes = np.asarray(estimator.classes_)
        if label is None and len(classes) != 2:
            raise DataError(f"choose one of the {len(classes)} classes as label=...; they are {listed(classes, 10)}")
        chosen = 1 if label is None else position(label, classes)
        plane, rows = over(estimator, X, y, columns, at)
        posterior = np.exp(_log_posterior(estimator, rows, prior)[:, chosen])
        return cls(plane, posterior.reshape(len(plane.y), len(plane.x)), classes[chosen], classes).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        ax = self._axes(ax)
        from matplotlib.colors import LinearSegmentedColormap

        plane, c = self.plane, position(self.label, self.classes)
        colors = [*([tint(1 - c, 0.45)] * (len(self.classes) == 2)), (1.0, 1.0, 1.0), tint(c, 0.45)]
        image = ax.imshow(
            self.posterior,
            extent=plane.extent,
            origin="lower",
            aspect="auto",
            cmap=LinearSegmentedColormap.from_list("posterior", colors),
            vmin=0,
            vmax=1,
        )
        self.figure_.colorbar(image, ax=ax, label=f"P({self.label} | x)")
        for level, style in ((0.1, "dotted"), (0.5, "solid"), (0.9, "dashed")):
            if (line := _line(ax, plane, self.posterior - level, linestyles=style, linewidths=1.0)) is not None:
                ax.clabel(line, fmt=lambda _, level=level: f"{level:g}", fontsize="small")
        self._legend(_draw_rows(ax, plane, self.classes), beside=True)
        return self


def _draw_rows(ax: Axes, plane: Plane, classes: Array) -> list[Artist]:
    """Label the axes, draw the rows if there are any, and return the handles for a legend."""
    ax.set(xlabel=plane.names[0], ylabel=plane.names[1])
    if plane.held:
        ax.set_title(plane.caption, fontsize="small")
    return draw_points(ax, plane.points, plane.code, classes) if len(plane.code) else []


def _log_posterior(estimator: Any, rows: Any, prior: Any) -> Array:
    if not hasattr(estimator, "predict_log_proba"):
        raise DataError(f"a {type(estimator).__name__} has no predict_log_proba method, which this plot needs")
    with np.errstate(divide="ignore"):  # some classifiers take the logarithm of zero
        return np.asarray(estimator.predict_log_proba(rows, **({} if prior is None else {"prior": prior})))


def _difference(one: Array, two: Array) -> Array:
    """Return how much better one decision is, clipped because scores can be infinite."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.clip(np.nan_to_num(one - two, nan=0.0), -1e6, 1e6))


def _margin(score: Array, i: int) -> Array:
    """Return how much better decision i is than the best of the others, (g, g)."""
    return _difference(score[..., i], np.delete(score, i, axis=2).max(axis=2))


def _line(ax: Axes, plane: Plane, values: Array, **look: Any) -> Any:
    """Draw the line where values are zero, if there is one."""
    if values.min() < 0 < values.max():
        return ax.contour(plane.x, plane.y, values, levels=[0.0], colors="black", **look)
    return None
