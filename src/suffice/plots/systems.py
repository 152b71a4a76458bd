"""Displays that compare the log-likelihood ratios of several systems on the same rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from numpy.typing import NDArray

from ..errors import DataError, listed
from ..tables.labels import position
from .rows import codes, labelled
from .style import Display, color, marker

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Array = NDArray[Any]
Curve = TypeVar("Curve")


@dataclass(eq=False)
class SystemsDisplay(Display, Generic[Curve]):
    """One curve for each system. A single system without a name has the name ""."""

    curves: dict[str, Curve]

    @staticmethod
    @abstractmethod
    def _curve(y_true: Any, llr: Any) -> Any:
        """Compute the curve of one system; further arguments are options of the display."""

    @classmethod
    def from_predictions(cls, y_true: Any, llr: Any, *, ax: Axes | None = None, **choices: Any) -> Self:
        """Plot log-likelihood ratios.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            1 (or True) for targets, 0 for non-targets.
        llr : array-like of shape (n,) or dict
            Log-likelihood ratios in nats; they can be infinite. A dictionary from names to arrays compares systems.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.
        **choices : dict
            Options of this display; the class documents them.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from suffice.plots import RocDisplay
        >>> y, llr = [1, 1, 1, 0, 0, 0], [2.0, 1.0, -0.5, -1.0, -2.0, 0.1]
        >>> display = RocDisplay.from_predictions(y, {"one": llr, "other": [1.0, 0.5, 0.2, 0.0, -1.0, -0.3]})
        >>> {name: round(float(curve.eer), 2) for name, curve in display.curves.items()}
        {'one': 0.17, 'other': 0.0}
        """
        cls._check("from_predictions", choices)
        systems = llr if isinstance(llr, Mapping) else {"": llr}
        if not systems:
            raise DataError("llr is an empty dictionary; give the log-likelihood ratios of at least one system")
        return cls({str(name): cls._curve(y_true, own, **choices) for name, own in systems.items()}).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, a: Any = None, b: Any = None, *, ax: Axes | None = None, **choices: Any
    ) -> Self:
        """Plot the log-likelihood ratios of fitted classifiers for labelled rows.

        Parameters
        ----------
        estimator : classifier or dict
            A fitted classifier with an `llr` method, or a dictionary from names to classifiers. For other classifiers,
            compute the llr with `suffice.cross_val_llr` or `suffice.as_llr` and use ``from_predictions``.
        X : table of shape (n, d)
            The rows.
        y : array-like of shape (n,) or str
            The labels, or the name of their column in `X`.
        a : label, default=None
            The class of non-targets. Rows of classes other than `a` and `b` are left out. None means the first of two.
        b : label, default=None
            The class of targets. None means the second of two.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.
        **choices : dict
            Options of this display; the class documents them.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianClassifier
        >>> from suffice.plots import DetDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> models = {name: GaussianClassifier(name).fit(X, y) for name in ("full", "diag")}
        >>> display = DetDisplay.from_estimator(models, X, y, a=1, b=2)  # targets are of class 2
        >>> {name: round(float(curve.eer), 2) for name, curve in display.curves.items()}
        {'full': 0.01, 'diag': 0.06}
        """
        cls._check("from_estimator", choices)
        systems = estimator if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
        if not systems:
            raise DataError("estimator is an empty dictionary; give at least one classifier")
        parts = {name: _pair_ratios(model, *labelled(model, X, y), a, b) for name, model in systems.items()}
        y_true = next(iter(parts.values()))[0]  # the same for all systems
        return cls.from_predictions(y_true, {name: llr for name, (_, llr) in parts.items()}, ax=ax, **choices)

    @classmethod
    def _check(cls, call: str, choices: Mapping[str, Any]) -> None:
        """Raise Python's error for an unexpected keyword, in the name of the method that was called."""
        known = list(signature(cls._curve).parameters)[2:]
        for name in choices:
            if name not in known:
                raise TypeError(
                    f"{cls.__name__}.{call}() got an unexpected keyword argument {name!r}; it takes "
                    f"{listed(['ax', *known])}"
                )

    def _look(self, i: int) -> dict[str, Any]:
        """Return the colour of system i and, if there are several, its markers, which are staggered between systems."""
        if len(self.curves) == 1:
            return {"color": color(i)}
        start = 0.16 * i / len(self.curves)
        return {"color": color(i), "marker": marker(i), "markevery": (start, 0.16), "markersize": 5}

    def _explain(
        self, lines: Mapping[str, Any], names: Mapping[str, str] | None = None, more: Sequence[Artist] = ()
    ) -> None:
        """Add a legend of line styles and systems; the name of a single system is its title."""
        from matplotlib.lines import Line2D

        shown = list(self.curves) if names is None else [names[name] for name in self.curves]
        alone = len(shown) == 1
        look = color(0) if alone else "black"
        styles = [Line2D([], [], color=look, linestyle=s, label=meaning) for meaning, s in lines.items()]
        systems = [Line2D([], [], **self._look(i) | {"markevery": None}, label=name) for i, name in enumerate(shown)]
        if alone:
            self._legend([*styles, *more], title=shown[0] or None)
        else:
            self._legend([*systems, *styles, *more])


def _pair_ratios(model: Any, rows: Any, labels: Array, a: Any, b: Any) -> tuple[Array, Array]:
    """Return whether each row of the two classes is a target, and its log-likelihood ratio."""
    if not hasattr(model, "llr"):
        raise DataError(
            f"a {type(model).__name__} has no llr method; compute the llr with suffice.cross_val_llr or "
            "suffice.as_llr and use from_predictions"
        )
    llr, classes = model.llr(rows, a, b), model.classes_
    code = codes(labels, classes)
    one, two = (0, 1) if a is None else (position(a, classes), position(b, classes))
    kept = (code == one) | (code == two)
    return code[kept] == two, llr[kept]
