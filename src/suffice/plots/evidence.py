"""What spoke for which class in one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .rows import local
from .style import PALETTE, Display, ratio_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]

_FOR, _AGAINST = PALETTE[0], PALETTE[1]


@dataclass(eq=False)
class EvidenceDisplay(Display):
    r"""The shares of the columns in the log-likelihood ratio of one row, the largest first, and their total.

    Bars to the right speak for class b, bars to the left for class a. The numbers stand right of the axes.

    Parameters
    ----------
    names : (m,) of the columns
    values : (m,) what stands in them, as text; None where nothing does
    shares : (m,) in nats; infinite where one class cannot have such a value
    a, b : the classes: the ratio is of b over a

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
        """Plot what a fitted model makes of one row.

        Parameters
        ----------
        estimator : a classifier with `explain`
        X : one row, as a table: ``X[i:i + 1]``
        a, b : the ratio is of class b over class a; of two classes, the second over the first
        unit : "nat" or "log10"
        max_columns : columns to show; the rest are one bar
        ax : matplotlib axes to draw on; None makes a new figure
        """
        if not hasattr(estimator, "explain"):
            raise DataError(f"a {type(estimator).__name__} cannot explain; use a generative classifier")
        source = local(estimator, X)
        if source.n_rows != 1:
            raise DataError(f"evidence is of one row, but X has {source.n_rows}; pass X[i:i + 1]")
        table = estimator.explain(source, a, b, tidy=True).to_pydict()
        names = [name if isinstance(name, str) else f"x{name}" for name in table["column"]]
        one, two = estimator.classes_[:2] if a is None else (a, b)
        display = cls(names, table["value"], np.array(table["llr"]), one, two)
        return display.plot(ax, unit=unit, max_columns=max_columns)

    @property
    def total(self) -> float:
        """The log-likelihood ratio, in nats."""
        return float(self.shares.sum())

    def plot(self, ax: Axes | None = None, *, unit: str = "nat", max_columns: int = 12) -> Self:
        """Draw on the given axes, or on those of a new figure."""
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
        for place, share in enumerate(shares):  # beside the bars, where nothing else is
            ax.annotate(
                f"{share:+.2f}".replace("inf", "∞"),
                (1.0, place),
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
        """Labels and heights of the bars: the columns, what the rest add up to, and the total."""
        if max_columns < 1:
            raise DataError(f"max_columns={max_columns!r} must be above 0")
        order = np.argsort(-np.abs(self.shares), kind="stable")
        shown, rest = order[:max_columns], order[max_columns:]
        labels = [self.names[j] if self.values[j] is None else f"{self.names[j]} = {self.values[j]}" for j in shown]
        bars = list(self.shares[shown])
        if len(rest):
            labels.append(f"{len(rest)} more columns")
            bars.append(self.shares[rest].sum())
        return [*labels, "total"], np.array([*bars, self.total])
