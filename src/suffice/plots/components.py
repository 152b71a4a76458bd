"""Plots of a PCA or an LDA: the variance that its components explain, and rows projected on the first two."""

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

_FEW = 40  # components up to which bars and markers are drawn separately


@dataclass(eq=False)
class ScreeDisplay(Display):
    """Scree plot: the share of the variance that each component explains (bars), and the cumulative share (line).

    For an LDA it is the variance between classes, in units of the variance within classes.

    Parameters
    ----------
    share : array of shape (m,)
        The share of each component in the total variance, which includes components that were left out.
    component : str, default="component"
        What to call a component on the axis.
    variance : str, default="variance"
        What to call the variance on the axis.

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
        """Plot the explained variance of a fitted PCA or LDA.

        Parameters
        ----------
        reduction : PCA, LDA or Pipeline
            A fitted PCA or LDA of suffice or scikit-learn, or a pipeline that ends with one.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import LDA
        >>> from suffice.plots import ScreeDisplay
        >>> display = ScreeDisplay.from_estimator(LDA().fit(*load_iris(return_X_y=True)))
        >>> display.component, display.share.round(3)
        ('discriminant', array([0.991, 0.009]))
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
        """Plot given variances, or other eigenvalues.

        Parameters
        ----------
        values : array-like of shape (m,)
            The variances in the order to show them; none is negative.
        total : float, default=None
            The total variance, if some components are not among the values. None means the sum of the values.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from suffice.plots import ScreeDisplay
        >>> ScreeDisplay.from_values([6.0, 3.0], total=10.0).cumulative
        array([0.6, 0.9])
        """
        given = np.asarray(values, dtype=np.float64)
        if given.ndim != 1 or not given.size or not np.isfinite(given).all() or (given < 0).any():
            raise DataError("values must be a one-dimensional array of finite numbers that are not negative")
        known = float(given.sum())
        if total is not None and not total >= known * (1 - 1e-9):
            raise DataError(f"total={total!r} is less than the sum of the values, {known:g}")
        return cls(given / ((known if total is None else total) or 1.0)).plot(ax)

    @property
    def cumulative(self) -> Array:
        """The cumulative share of the components, (m,)."""
        return np.cumsum(self.share)

    def plot(self, ax: Axes | None = None) -> Self:
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
    """Rows projected on the first two components, with an ellipse of each class at 1 and 2 standard deviations.

    Means and covariances (divisor n) are those of the rows shown.

    Parameters
    ----------
    points : array of shape (n, 2)
        The projected rows.
    code : array of shape (n,)
        The class index of each row.
    classes : array of shape (k,)
        The class labels.
    mean : array of shape (k, 2)
        The mean of each class.
    covariance : array of shape (k, 2, 2)
        The covariance of each class.
    seen : array of shape (k,)
        Whether each class has rows, and so an ellipse.
    names : tuple of two str
        The labels of the axes.

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
        """Plot labelled rows, projected by a fitted PCA or LDA.

        Parameters
        ----------
        reduction : PCA, LDA or Pipeline
            A fitted PCA or LDA of suffice or scikit-learn, or a pipeline that ends with one.
        X : table of shape (n, d)
            The rows.
        y : array-like of shape (n,) or str
            The labels, or the name of their column in `X`.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import PCA
        >>> from suffice.plots import ProjectionDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> display = ProjectionDisplay.from_estimator(PCA(n_components=2).fit(X), X, y)
        >>> display.names
        ('component 1 (92.5 % of the variance)', 'component 2 (5.31 % of the variance)')
        """
        source, labels = labelled(reduction, X, y)
        rows = np.asarray(reduction.transform(source if isinstance(y, str) else X), dtype=np.float64)
        if rows.shape[1] < 2:
            raise DataError(
                f"this {type(reduction).__name__} has one component, but the plot needs two; to plot one, fit a "
                "GaussianClassifier to reduction.transform(X) and use DensityDisplay"
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
        super().plot(ax)
        from matplotlib.patheffects import withStroke

        halo = [withStroke(linewidth=3, foreground="white")]
        for label, (x, y) in zip(self.classes, self.mean, strict=True):
            self.ax_.text(x, y, str(label), ha="center", va="center", weight="bold", path_effects=halo)
        return self


def _last(reduction: Any) -> Any:
    """Return the last step of a pipeline, and anything else as it is."""
    return reduction[-1] if hasattr(reduction, "steps") else reduction


def _share(reduction: Any) -> Array | None:
    share = getattr(_last(reduction), "explained_variance_ratio_", None)
    return None if share is None else np.asarray(share, dtype=np.float64)


def _called(reduction: Any) -> tuple[str, str]:
    """Return what to call a component, and the variance that it explains."""
    of_classes = hasattr(_last(reduction), "classes_")
    return ("discriminant", "variance between classes") if of_classes else ("component", "variance")


def _axis_names(reduction: Any) -> tuple[str, str]:
    (component, variance), share = _called(reduction), _share(reduction)
    said = ["", ""] if share is None else [f" ({100 * part:.3g} % of the {variance})" for part in share[:2]]
    return f"{component} 1{said[0]}", f"{component} 2{said[1]}"
