"""What a PCA or an LDA finds: the shares of its directions, and rows in the first two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..stats import MomentStats
from ..tables.batch import Batch
from .rows import codes, labelled
from .scatter import CloudDisplay
from .style import Display, color, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]

_FEW = 40  # directions whose bars and marks can be told apart


@dataclass(eq=False)
class ScreeDisplay(Display):
    """The share of each component in all variance (bars), and of the first ones together (line).

    Of discriminants it is the variance between classes, in units of that within.

    Parameters
    ----------
    share : (m,) of all variance, that of components which were left out included
    component : what the directions are called
    variance : what they have a share in

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import PCA
    >>> from suffice.plots import ScreeDisplay
    >>> display = ScreeDisplay.from_estimator(PCA().fit(load_iris().data))
    >>> display.cumulative.round(3)
    array([0.925, 0.978, 0.995, 1.   ])
    """

    share: Array
    component: str = "component"
    variance: str = "variance"

    @classmethod
    def from_estimator(cls, reduction: Any, *, ax: Axes | None = None) -> Self:
        """Plot the shares of a fitted reduction.

        Parameters
        ----------
        reduction : a fitted PCA or LDA, ours or scikit-learn's, or a pipeline that ends with one
        ax : matplotlib axes to draw on; None makes a new figure
        """
        share = _share(reduction)
        if share is None:
            raise DataError(
                f"this {type(reduction).__name__} has no explained_variance_ratio_; give a fitted PCA or LDA, or use "
                "from_values"
            )
        return cls(share, *_called(reduction)).plot(ax)

    @classmethod
    def from_values(cls, values: Any, total: float | None = None, *, ax: Axes | None = None) -> Self:
        """Plot variances, or other eigenvalues.

        Parameters
        ----------
        values : (m,) not negative, in the order to show them
        total : the values of all components, of those that are not given too; None where all are
        ax : matplotlib axes to draw on; None makes a new figure
        """
        given = np.asarray(values, dtype=np.float64)
        if given.ndim != 1 or not given.size or not np.isfinite(given).all() or (given < 0).any():
            raise DataError("values must be finite numbers, one or more in one row, and none below zero")
        known = float(given.sum())
        if total is not None and not total >= known * (1 - 1e-9):
            raise DataError(f"total={total!r} is less than the {known:g} that the values are together")
        return cls(given / ((known if total is None else total) or 1.0)).plot(ax)

    @property
    def cumulative(self) -> Array:
        """The share of each component and those before it, (m,)."""
        return np.cumsum(self.share)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the given axes, or on those of a new figure."""
        ax = self._axes(ax)
        from matplotlib.patches import Patch
        from matplotlib.ticker import MaxNLocator

        m = len(self.share)
        number, few = np.arange(1, m + 1), m <= _FEW
        ax.bar(number, 100 * self.share, 0.8 if few else 1.0, color=tint(0, 0.7))
        (line,) = ax.plot(number, 100 * self.cumulative, color=color(1), marker="o" if few else "", label="cumulative")
        ax.set(
            xlabel=self.component,
            ylabel=f"share of the {self.variance} (%)",
            xlim=(0.4, m + 0.6),
            ylim=(0, 105),
        )
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        self._legend([Patch(color=tint(0, 0.7), label=f"each {self.component}"), line], beside=True)
        return self


class ProjectionDisplay(CloudDisplay):
    """Rows in the first two directions of a reduction, with each class's ellipse at 1 and 2 standard deviations.

    Means and covariances (divisor n) are those of the rows that are shown.

    Parameters
    ----------
    points, code, classes, mean, covariance, seen, names : as of ScatterDisplay

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import LDA
    >>> from suffice.plots import ProjectionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ProjectionDisplay.from_estimator(LDA().fit(X, y), X, y)
    >>> display.ax_.get_xlabel()
    'discriminant 1 (99.1 % of the variance between classes)'
    """

    @classmethod
    def from_estimator(cls, reduction: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Plot labelled rows in the directions of a fitted reduction.

        Parameters
        ----------
        reduction : a fitted PCA or LDA, ours or scikit-learn's, or a pipeline that ends with one
        X, y : rows and labels; y may be the name of a column of X
        ax : matplotlib axes to draw on; None makes a new figure
        """
        source, labels = labelled(reduction, X, y)
        rows = np.asarray(reduction.transform(source if isinstance(y, str) else X), dtype=np.float64)
        if rows.shape[1] < 2:
            raise DataError(
                f"this {type(reduction).__name__} has one direction, but the plot shows two; of "
                "reduction.transform(X), fit a GaussianClassifier and plot a DensityDisplay"
            )
        moments = MomentStats.of(Batch.of(rows[:, :2], labels), layout="full")
        return cls(
            rows[:, :2],
            codes(labels, moments.classes),
            moments.classes,
            moments.mean,
            moments.scatter / moments.weight[:, None, None],
            moments.weight > 0,
            _axis_names(reduction),
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the given axes, or on those of a new figure."""
        super().plot(ax)
        from matplotlib.patheffects import withStroke

        halo = [withStroke(linewidth=3, foreground="white")]
        for label, (x, y) in zip(self.classes, self.mean, strict=True):
            self.ax_.text(x, y, str(label), ha="center", va="center", weight="bold", path_effects=halo)
        return self


def _last(reduction: Any) -> Any:
    """The reduction itself, or the last step of a pipeline."""
    return reduction[-1] if hasattr(reduction, "steps") else reduction


def _share(reduction: Any) -> Array | None:
    share = getattr(_last(reduction), "explained_variance_ratio_", None)
    return None if share is None else np.asarray(share, dtype=np.float64)


def _called(reduction: Any) -> tuple[str, str]:
    """What its directions are called, and what they have a share in."""
    of_classes = hasattr(_last(reduction), "classes_")
    return ("discriminant", "variance between classes") if of_classes else ("component", "variance")


def _axis_names(reduction: Any) -> tuple[str, str]:
    (component, variance), share = _called(reduction), _share(reduction)
    said = ["", ""] if share is None else [f" ({100 * part:.3g} % of the {variance})" for part in share[:2]]
    return f"{component} 1{said[0]}", f"{component} 2{said[1]}"
