"""The evidence plot: the contribution of each column to the score of one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..scoring.explanation import tidy_shares
from .rows import local
from .style import PALETTE, Display, ratio_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]

_FOR, _AGAINST = PALETTE[0], PALETTE[1]


@dataclass(eq=False)
class EvidenceDisplay(Display):
    r"""The contribution of each column to the log-likelihood ratio of one row, the largest first, and the total.

    Bars to the right are evidence for class b, bars to the left for class a. The numbers are to the right of the axes.

    Parameters
    ----------
    names : list of str
        The names of the columns.
    values : list of str or None
        The values of the row as text; None for a missing value.
    shares : array of shape (m,)
        The contributions in nats; infinite if a value is impossible under one class.
    a : label
        The class in the denominator of the log-likelihood ratio.
    b : label
        The class in the numerator of the log-likelihood ratio.

    Examples
    --------
    >>> from suffice import GaussianClassifier
    >>> from suffice.plots import EvidenceDisplay
    >>> X = [[1.70, 60], [1.78, 74], [1.75, 81], [1.60, 59], [1.64, 62], [1.55, 48]]
    >>> clf = GaussianClassifier("diag").fit(X, ["m", "m", "m", "f", "f", "f"])
    >>> display = EvidenceDisplay.from_estimator(clf, X[:1])
    >>> display.ax_.get_xlabel()
    'log-likelihood ratio (nat)\n← f   |   m →'
    """

    names: list[str]
    values: list[str | None]
    shares: Array
    a: Any
    b: Any

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        a: Any = None,
        b: Any = None,
        *,
        unit: str = "nat",
        max_columns: int = 12,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the evidence that a fitted model finds in one row.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier with an `explain` method.
        X : table of shape (1, d)
            One row, as in ``X[i:i + 1]``.
        a : label, default=None
            The class in the denominator of the log-likelihood ratio. None means the first of two.
        b : label, default=None
            The class in the numerator of the log-likelihood ratio. None means the second of two.
        unit : {"nat", "log10"}, default="nat"
            The unit of the axis.
        max_columns : int, default=12
            The number of columns to show. The rest share one bar.
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
        >>> from suffice.plots import EvidenceDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = GaussianClassifier("diag").fit(X, y)
        >>> display = EvidenceDisplay.from_estimator(clf, X[:1], a=1, b=0)  # why it is of class 0, not 1
        >>> dict(zip(display.names, display.shares.round(1).tolist()))
        {'x2': 19.8, 'x3': 17.1, 'x1': 2.6, 'x0': 1.7}
        """
        if not hasattr(estimator, "explain"):
            raise DataError(f"a {type(estimator).__name__} has no explain method; use a generative classifier")
        source = local(estimator, X)
        if source.n_rows != 1:
            raise DataError(f"X must have one row, got {source.n_rows}; pass X[i:i + 1]")
        table = tidy_shares(estimator.explain(source, a, b), source, source.names).to_pydict()
        names = [name if isinstance(name, str) else f"x{name}" for name in table["column"]]
        one, two = estimator.classes_[:2] if a is None else (a, b)
        display = cls(names, table["value"], np.array(table["llr"]), one, two)
        return display.plot(ax, unit=unit, max_columns=max_columns)

    @property
    def total(self) -> float:
        """The log-likelihood ratio, in nats."""
        return float(self.shares.sum())

    def plot(self, ax: Axes | None = None, *, unit: str = "nat", max_columns: int = 12) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.
        unit : {"nat", "log10"}, default="nat"
            The unit of the axis.
        max_columns : int, default=12
            The number of columns to show. The rest share one bar.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.plots import EvidenceDisplay
        >>> display = EvidenceDisplay(["x", "y", "z"], ["1", "2", None], np.array([2.0, -0.5, 0.1]), "a", "b")
        >>> [text.get_text() for text in display.plot(max_columns=1).ax_.get_yticklabels()]
        ['x = 1', '2 more columns', 'total']
        """
        size, name = ratio_unit(unit)
        labels, shares = self._bars(max_columns)
        shares = shares / size
        sides = f"← {self.a}   |   {self.b} →"
        letters = len(sides) + 2 * max(map(len, labels))  # the name of the axis is centred right of the labels
        ax = self._axes(ax, (max(6.4, 0.09 * letters), 1.6 + 0.32 * len(shares)))
        finite = np.abs(shares[np.isfinite(shares)])
        longest = 1.25 * (float(finite.max()) if finite.any() else 1.0)
        ends = np.clip(shares, -longest, longest)
        colors = [_FOR if share > 0 else _AGAINST for share in shares]
        hatches = [""] * (len(shares) - 1) + ["//"]
        ax.barh(range(len(shares)), ends, color=colors, hatch=hatches, edgecolor="white", height=0.7)
        for row, share in enumerate(shares):  # right of the axes, where nothing else is
            ax.annotate(
                f"{share:+.2f}".replace("inf", "∞"),
                (1.0, row),
                xycoords=ax.get_yaxis_transform(),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
            )
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.axvline(float(ends[-1]), color="black", linestyle="--", linewidth=0.8, zorder=0)
        ax.axhline(len(shares) - 1.5, color="black", linewidth=0.5)
        ax.set_yticks(range(len(shares)), labels)
        ax.invert_yaxis()
        low, high = min(float(ends.min()), 0.0), max(float(ends.max()), 0.0)
        margin = 0.05 * ((high - low) or 1.0)
        ax.set(xlim=(low - margin, high + margin), xlabel=f"{name}\n{sides}")
        return self

    def _bars(self, max_columns: int) -> tuple[list[str], Array]:
        """Return labels and lengths of the bars: the columns, the sum of the rest, and the total."""
        if max_columns < 1:
            raise DataError(f"max_columns={max_columns!r} must be at least 1")
        order = np.argsort(-np.abs(self.shares), kind="stable")
        shown, rest = order[:max_columns], order[max_columns:]
        labels = [self.names[j] if self.values[j] is None else f"{self.names[j]} = {self.values[j]}" for j in shown]
        bars = list(self.shares[shown])
        if len(rest):
            labels.append(f"{len(rest)} more columns")
            bars.append(self.shares[rest].sum())
        return [*labels, "total"], np.array([*bars, self.total])
