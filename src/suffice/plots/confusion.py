"""The confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import decisions as bayes
from ..errors import DataError, listed
from ..tables.batch import as_labels
from ..tables.labels import encode, positions, union
from .rows import labelled
from .style import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

Array = NDArray[Any]

_DARK = 0.55  # share above which a cell is too dark for black text
_READABLE = 40  # columns above which numbers would be too small to read


@dataclass(eq=False)
class ConfusionDisplay(Display):
    """Confusion matrix: true classes in rows, decisions in columns.

    Colours show the share of the row, so that rare and frequent classes look alike; numbers are counts or shares.

    Parameters
    ----------
    counts : array of shape (k, m)
        The number of rows of each true class and decision.
    classes : array of shape (k,)
        The true classes, in the order of the rows.
    decisions : array of shape (m,)
        The decisions, in the order of the columns. Costs can add decisions that are not classes.

    Examples
    --------
    >>> from suffice.plots import ConfusionDisplay
    >>> display = ConfusionDisplay.from_predictions(["a", "b", "b", "c"], ["a", "b", "a", "c"])
    >>> display.counts.tolist()
    [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    """

    counts: Array
    classes: Array
    decisions: Array

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, labels: Any = None, shares: bool = False, ax: Axes | None = None
    ) -> Self:
        """Plot the confusion matrix of given decisions.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            The true labels.
        y_pred : array-like of shape (n,)
            The decisions.
        labels : array-like of shape (k,), default=None
            The classes in the order to show them. Decisions that are not among them are columns without a row. None
            shows all labels that occur, sorted.
        shares : bool, default=False
            Write shares of the row in percent instead of counts.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from suffice.plots import ConfusionDisplay
        >>> truth, decisions = ["cat", "dog", "dog"], ["cat", "dog", "reject"]
        >>> display = ConfusionDisplay.from_predictions(truth, decisions, labels=["dog", "cat"])
        >>> display.decisions.tolist(), display.counts.tolist()
        (['dog', 'cat', 'reject'], [[1, 0, 1], [0, 1, 0]])
        """
        truth, decided = np.asarray(y_true), np.asarray(y_pred)
        as_labels(decided, len(truth))
        found = encode(truth)[0]
        classes = union(found, encode(decided)[0]) if labels is None else np.asarray(labels)
        strange = found[positions(found, classes) < 0]
        if strange.size or not found.size:
            raise DataError(
                f"labels must include {listed(strange)}, which y_true contains" if found.size else "y_true is empty"
            )
        return cls._count(truth, decided, classes, _extended(classes, decided)).plot(ax, shares=shares)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        prior: Any = None,
        cost: Any = None,
        shares: bool = False,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the confusion matrix of a fitted classifier on labelled rows.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier.
        X : table of shape (n, d)
            The rows.
        y : array-like of shape (n,) or str
            The labels, or the name of their column in `X`.
        prior : array-like, dict, float or "uniform", default=None
            The prior, passed to `predict`.
        cost : array-like or dict, default=None
            The costs, passed to `predict`.
        shares : bool, default=False
            Write shares of the row in percent instead of counts.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> from suffice.plots import ConfusionDisplay
        >>> X, y = [[1.70], [1.78], [1.62], [1.60], [1.64], [1.55]], ["m", "m", "m", "f", "f", "f"]
        >>> clf = GaussianClassifier().fit(X, y)
        >>> ConfusionDisplay.from_estimator(clf, X, y).counts.tolist()
        [[3, 0], [1, 2]]
        """
        if isinstance(y, str):
            X, y = labelled(estimator, X, y)
        application = {name: value for name, value in (("prior", prior), ("cost", cost)) if value is not None}
        truth, known = np.asarray(y), np.asarray(estimator.classes_)
        decided = np.asarray(estimator.predict(X, **application))
        decisions = known if cost is None else bayes.as_cost(cost, known)[0]
        return cls._count(truth, decided, union(known, encode(truth)[0]), decisions).plot(ax, shares=shares)

    @classmethod
    def _count(cls, truth: Array, decided: Array, classes: Array, decisions: Array) -> Self:
        counts = np.zeros((len(classes), len(decisions)), np.int64)
        np.add.at(counts, (positions(truth, classes), positions(decided, decisions)), 1)
        return cls(counts, classes, decisions)

    def plot(self, ax: Axes | None = None, *, shares: bool = False) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.
        shares : bool, default=False
            Write shares of the row in percent instead of counts.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from suffice.plots import ConfusionDisplay
        >>> display = ConfusionDisplay.from_predictions(["a", "b", "b", "b"], ["a", "b", "a", "b"])
        >>> [text.get_text() for text in display.plot(shares=True).ax_.texts]
        ['100', '0', '33.3', '66.7']
        """
        k, m = self.counts.shape
        side = min(max(4.5, 2 + 0.55 * max(k, m)), 14.0)
        ax = self._axes(ax, (side + 1, side))
        total = self.counts.sum(axis=1, keepdims=True)
        share = np.divide(self.counts, total, out=np.full((k, m), np.nan), where=total > 0)
        image = ax.imshow(100 * np.nan_to_num(share), cmap="Blues", vmin=0, vmax=100, aspect="auto")
        ax.set_box_aspect(k / m)
        if max(k, m) <= _READABLE:
            size = float(np.clip(22 * (side - 2) / max(k, m), 6, 11))
            for i, j in np.ndindex(k, m):
                dark = share[i, j] > _DARK
                text = self._cell(i, j, share, shares)
                ax.text(j, i, text, ha="center", va="center", fontsize=size, color="white" if dark else "black")
        ax.set(xlabel="decision", ylabel="true class")
        ax.set_xticks(range(m), [str(v) for v in self.decisions])
        ax.set_yticks(range(k), [str(v) for v in self.classes])
        if m * max(len(str(v)) for v in self.decisions) > 40:
            ax.tick_params(axis="x", labelrotation=90)
        bar = self.figure_.colorbar(image, ax=ax, label="share of the true class (%)")
        bar.ax.set_axes_locator(partial(_as_high_as, ax))
        return self

    def _cell(self, i: int, j: int, share: Array, shares: bool) -> str:
        if not shares:
            return str(self.counts[i, j])
        percent = 100 * share[i, j]
        return "-" if np.isnan(percent) else f"{percent:.{0 if percent in (0, 100) else 1}f}"


def _extended(classes: Array, decided: Array) -> Array:
    """The classes, then the decisions that are none of them."""
    others = [v for v in dict.fromkeys(decided.tolist()) if v not in set(classes.tolist())]
    return np.array([*classes.tolist(), *others], object) if others else classes


def _as_high_as(ax: Axes, bar: Axes, _: Any) -> Bbox:
    """Where a colour bar stands that is as high as the matrix."""
    from matplotlib.transforms import Bbox

    room, matrix = bar.get_position(original=True), ax.get_position()
    return Bbox.from_extents(room.x0, matrix.y0, room.x1, matrix.y1)
