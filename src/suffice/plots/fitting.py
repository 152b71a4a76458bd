"""Plots of fits by expectation-maximisation: the choice of the number of components, and the log-likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .style import GREY, Display, color, line_look, marker

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Array = NDArray[Any]

_NAMES = {"bic": "BIC", "aic": "AIC", "icl": "ICL", "held_out": "held-out (right axis)"}
_FEW = 40  # steps of the longest fit up to which each has a marker


@dataclass(eq=False)
class CriteriaDisplay(Display):
    """Criteria over the number of components of a mixture, with a ring at the chosen number; less is better.

    A `MixtureClassifier` has one panel for each class that had a choice. The held-out log-likelihood, where it was
    computed, has an axis of its own on the right. After plotting, `axes_` holds all panels and `ax_` the first.

    Parameters
    ----------
    tables : dict from label to dict
        For each class, the criteria by name, as in `criteria_` of a `MixtureModel`. A mixture without classes has the
        label "".
    criterion : {"bic", "aic", "icl", "held_out"}
        The criterion that chose.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import MixtureModel
    >>> from suffice.plots import CriteriaDisplay
    >>> model = MixtureModel(n_components=range(1, 6), random_state=0).fit(load_iris().data)
    >>> CriteriaDisplay.from_estimator(model).chosen
    {'': 2}
    """

    tables: dict[Any, dict[str, Array]]
    criterion: str

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot the criteria of a fitted mixture.

        Parameters
        ----------
        estimator : MixtureModel or MixtureClassifier
            A mixture that was fitted with several numbers of components, as in ``n_components=range(1, 11)``.
        ax : matplotlib.axes.Axes or list of them, default=None
            The axes to draw on, one for each class that had a choice. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import MixtureClassifier
        >>> from suffice.plots import CriteriaDisplay
        >>> clf = MixtureClassifier(n_components=[1, 2], random_state=0).fit(*load_iris(return_X_y=True))
        >>> display = CriteriaDisplay.from_estimator(clf)  # a panel for each class
        >>> len(display.axes_), display.chosen
        (3, {0: 1, 1: 1, 2: 1})
        """
        found = _kept(estimator, "criteria_", "MixtureModel or MixtureClassifier")
        tables = {"": found} if "n_components" in found else dict(found)
        if not tables:
            raise DataError(
                "there was no choice: every class had one number of components; fit with several numbers, as in "
                'n_components="auto"'
            )
        return cls(tables, estimator.criterion).plot(ax)

    @property
    def chosen(self) -> dict[Any, int]:
        """The chosen number of components of each class."""
        return {label: int(table["n_components"][self._best(table)]) for label, table in self.tables.items()}

    def _best(self, table: Mapping[str, Array]) -> int:
        return int(np.argmin(table[self.criterion]))

    def plot(self, ax: Any = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or list of them, default=None
            The axes to draw on, one for each class. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.plots import CriteriaDisplay
        >>> table = {"n_components": np.array([1, 2, 3]), "bic": np.array([210.0, 180.0, 195.0])}
        >>> display = CriteriaDisplay({"": table}, "bic").plot()
        >>> display.chosen, display.ax_.get_ylabel()
        ({'': 2}, 'criterion, less is better')
        """
        panels = self._panels(ax, len(self.tables), "classes")
        for panel, (label, table) in zip(panels, self.tables.items(), strict=True):
            handles = self._draw(panel, table)
            panel.set(xlabel="number of components", ylabel="criterion, less is better", title=str(label))
        self._legend(handles, beside=True)
        return self

    def _draw(self, panel: Any, table: Mapping[str, Array]) -> list[Artist]:
        """Draw the criteria of one class, and return the handles for a legend."""
        from matplotlib.ticker import MaxNLocator

        number, best = table["n_components"], self._best(table)
        order = np.argsort(number, kind="stable")
        panel.axvline(number[best], color=GREY, linestyle=":", linewidth=1)
        curves: list[Artist] = []
        rings: list[Artist] = []
        for i, (name, shown) in enumerate(_NAMES.items()):
            if name not in table:
                continue
            axes = panel
            if name == "held_out":
                axes = panel.twinx()
                axes.set_ylabel("held-out (nat per row)")
            curves += axes.plot(number[order], table[name][order], **line_look(i), marker=marker(i), label=shown)
            if name == self.criterion:
                ring = {"marker": "o", "markersize": 13, "markerfacecolor": "none", "markeredgecolor": color(i)}
                said = f"chosen by {shown.split(' ')[0]}"
                rings = axes.plot(number[best], table[name][best], **ring, linestyle="none", label=said)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        return curves + rings


class History(NamedTuple):
    """The log-likelihood of a fit, step by step."""

    log_likelihood: Array  # (n_iter + 1,) mean of a row, before each step and after the last one
    converged: bool


@dataclass(eq=False)
class HistoryDisplay(Display):
    """Mean log-likelihood of a row before each step of expectation-maximisation, and after the last one.

    Parameters
    ----------
    histories : dict from str to History
        The history of each fit, by name. A single fit can have the name "".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import MixtureModel
    >>> from suffice.plots import HistoryDisplay
    >>> model = MixtureModel(n_components=3, random_state=0).fit(load_iris().data)
    >>> display = HistoryDisplay.from_estimator(model)
    >>> display.ax_.get_ylabel()
    'mean log-likelihood of a row (nat)'
    """

    histories: dict[str, History]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Plot the log-likelihood of fits.

        Parameters
        ----------
        estimator : MixtureModel, MixtureClassifier, SemiSupervisedClassifier or dict
            A model that was fitted by expectation-maximisation, or a dictionary from names to such models, to compare
            them.
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
        >>> from suffice.plots import HistoryDisplay
        >>> fits = {str(m): MixtureModel(n_components=m, random_state=0).fit(load_iris().data) for m in (2, 3)}
        >>> display = HistoryDisplay.from_estimator(fits)
        >>> [history.converged for history in display.histories.values()]
        [True, True]
        """
        fits = estimator if isinstance(estimator, Mapping) else {"": estimator}
        if not fits:
            raise DataError("estimator is an empty dictionary; give at least one model")
        of = "MixtureModel, MixtureClassifier or SemiSupervisedClassifier"
        return cls(
            {str(name): History(_kept(model, "history_", of), model.converged_) for name, model in fits.items()}
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        ax = self._axes(ax)
        from matplotlib.ticker import MaxNLocator

        few = max(len(values) for values, _ in self.histories.values()) <= _FEW + 1
        handles: list[Artist] = []
        for i, (name, (values, converged)) in enumerate(self.histories.items()):
            n = len(values) - 1
            said = f"{'converged' if converged else 'not converged'} after {n} step{'' if n == 1 else 's'}"
            look = line_look(i) | ({"marker": marker(i), "markersize": 4} if few else {})
            handles += ax.plot(values, **look, label=f"{name}: {said}" if name else said)
        ax.set(xlabel="step", ylabel="mean log-likelihood of a row (nat)")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        self._legend(handles)
        return self


def _kept(estimator: Any, attribute: str, kinds: str) -> Any:
    """Return what an estimator keeps of its fit, or raise an error that says which estimators keep it."""
    if not hasattr(estimator, attribute):
        raise DataError(f"this {type(estimator).__name__} has no {attribute}; fit a {kinds}")
    return getattr(estimator, attribute)
