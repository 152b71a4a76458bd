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

_FEW = 4  # decisions whose pairs can be told apart


@dataclass(eq=False)
class DecisionRegionsDisplay(Display):
    """What is decided where, over two columns.

    Solid lines part the regions. With up to four decisions, dotted ones go on where two decisions would be equally good
    if there were no others; not those of other people's classifiers, whose posteriors may jump. Regions have their
    names in them. The title says where other columns are held.

    Parameters
    ----------
    plane : Plane, the grid and the rows
    score : (g, g, m) how good each decision is: its log posterior, or minus its expected cost; rows are those of y
    decisions : (m,)
    classes : (k,) of the rows
    ties : whether to show where two decisions are equally good

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
        estimator : a classifier with posteriors
        X : rows, which say how far the plot goes
        y : labels, or the name of their column in X, to show the rows; None does not show them
        columns : names or positions of two columns; None where X has no more
        at : where the other columns are held: a dictionary by column, or "mean", which also serves for columns that the
            dictionary does not hold
        prior, cost : of the application, as `predict` takes them
        ax : matplotlib axes to draw on; None makes a new figure
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
        """The place in `decisions` of the best one, (g, g); a tie goes to the earlier one."""
        return np.asarray(self.score.argmax(axis=2))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the given axes, or on those of a new figure."""
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
        """Write a name where the region is widest."""
        from scipy.ndimage import distance_transform_edt

        inside = np.pad(self.region == i, 1)  # the frame is a border, too
        if inside.any():
            row, column = np.unravel_index(distance_transform_edt(inside).argmax(), inside.shape)
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1.5}
            place = self.plane.x[column - 1], self.plane.y[row - 1]
            ax.text(*place, name, ha="center", va="center", fontsize="small", bbox=box, clip_on=True)


@dataclass(eq=False)
class PosteriorMapDisplay(Display):
    """The posterior of one class over two columns, with lines where it is 0.1, 0.5 and 0.9.

    It is 1 where the colour is that of the class, and 0 where it is white; of two classes, white is 1/2 and the colour
    of the other one is 0. The title says where other columns are held.

    Parameters
    ----------
    plane : Plane, the grid and the rows
    posterior : (g, g) rows are those of y
    label : the class
    classes : (k,)

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
        label : the class; None takes the second of two
        estimator, X, y, columns, at, prior, ax : as of DecisionRegionsDisplay
        """
        classes = np.asarray(estimator.classes_)
        if label is None and len(classes) != 2:
            raise DataError(f"with {len(classes)} classes name one as label=...; they are {listed(classes, 10)}")
        place = 1 if label is None else position(label, classes)
        plane, rows = over(estimator, X, y, columns, at)
        posterior = np.exp(_log_posterior(estimator, rows, prior)[:, place])
        return cls(plane, posterior.reshape(len(plane.y), len(plane.x)), classes[place], classes).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the given axes, or on those of a new figure."""
        ax = self._axes(ax)
        from matplotlib.colors import LinearSegmentedColormap

        plane, place = self.plane, position(self.label, self.classes)
        colors = [*([tint(1 - place, 0.45)] * (len(self.classes) == 2)), (1.0, 1.0, 1.0), tint(place, 0.45)]
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
    """Name the axes and draw the rows, if there are any; returns what a legend shows."""
    ax.set(xlabel=plane.names[0], ylabel=plane.names[1])
    if plane.held:
        ax.set_title(plane.caption, fontsize="small")
    return draw_points(ax, plane.points, plane.code, classes) if len(plane.code) else []


def _log_posterior(estimator: Any, rows: Any, prior: Any) -> Array:
    if not hasattr(estimator, "predict_log_proba"):
        raise DataError(f"a {type(estimator).__name__} has no posteriors, as predict_log_proba")
    with np.errstate(divide="ignore"):  # many take the logarithm of a zero
        return np.asarray(estimator.predict_log_proba(rows, **({} if prior is None else {"prior": prior})))


def _difference(one: Array, two: Array) -> Array:
    """How much better one decision is; as far as a line needs it, since scores may be infinite."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.clip(np.nan_to_num(one - two, nan=0.0), -1e6, 1e6))


def _margin(score: Array, i: int) -> Array:
    """How much better decision i is than the best of the others, (g, g)."""
    return _difference(score[..., i], np.delete(score, i, axis=2).max(axis=2))


def _line(ax: Axes, plane: Plane, values: Array, **look: Any) -> Any:
    """Draw where values are zero, if they are so anywhere."""
    if values.min() < 0 < values.max():
        return ax.contour(plane.x, plane.y, values, levels=[0.0], colors="black", **look)
    return None
