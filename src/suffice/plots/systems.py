"""Displays that compare the ratios of several systems on the same rows."""

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
    """One curve for each system; one without a name has the name ""."""

    curves: dict[str, Curve]

    @staticmethod
    @abstractmethod
    def _curve(y_true: Any, llr: Any) -> Any:
        """The curve of one system; further arguments are choices of the Display."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the given axes, or on those of a new figure."""

    @classmethod
    def from_predictions(cls, y_true: Any, llr: Any, *, ax: Axes | None = None, **choices: Any) -> Self:
        """Plot log-likelihood ratios.

        Parameters
        ----------
        y_true : (n,) 1 (or True) for targets, 0 for the rest
        llr : (n,) natural logarithms, infinite ones too; or a dictionary of such arrays by the name of the system
        ax : matplotlib axes to draw on; None makes a new figure
        choices : further choices, as the class says
        """
        cls._check("from_predictions", choices)
        systems = llr if isinstance(llr, Mapping) else {"": llr}
        if not systems:
            raise DataError("llr is an empty dictionary; give the ratios of one system or more")
        return cls({str(name): cls._curve(y_true, own, **choices) for name, own in systems.items()}).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, a: Any = None, b: Any = None, *, ax: Axes | None = None, **choices: Any
    ) -> Self:
        """Plot the ratios that fitted classifiers give to labelled rows.

        Parameters
        ----------
        estimator : a classifier with `llr`, or a dictionary of such classifiers by name; of others, compute the ratios
            with `suffice.cross_val_llr` or `suffice.as_llr` and use ``from_predictions``
        X, y : rows and labels; y may be the name of a column of X
        a, b : the ratio is of class b, the targets, over class a, and rows of other classes are left out; of two
            classes, the second over the first
        ax : matplotlib axes to draw on; None makes a new figure
        choices : further choices, as the class says
        """
        cls._check("from_estimator", choices)
        systems = estimator if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
        if not systems:
            raise DataError("estimator is an empty dictionary; give one classifier or more")
        parts = {name: _pair_ratios(model, *labelled(model, X, y), a, b) for name, model in systems.items()}
        y_true = next(iter(parts.values()))[0]  # the same for all: they know all labels
        return cls.from_predictions(y_true, {name: llr for name, (_, llr) in parts.items()}, ax=ax, **choices)

    @classmethod
    def _check(cls, call: str, choices: Mapping[str, Any]) -> None:
        """Raise the error that Python has for an unexpected keyword, but of the call that has it."""
        known = list(signature(cls._curve).parameters)[2:]
        for name in choices:
            if name not in known:
                raise TypeError(
                    f"{cls.__name__}.{call}() got an unexpected keyword argument {name!r}; it takes "
                    f"{listed(['ax', *known])}"
                )

    def _look(self, i: int) -> dict[str, Any]:
        """Colour and, where there are several systems, markers of system i, each system's at other places."""
        if len(self.curves) == 1:
            return {"color": color(i)}
        start = 0.16 * i / len(self.curves)
        return {"color": color(i), "marker": marker(i), "markevery": (start, 0.16), "markersize": 5}

    def _explain(
        self, lines: Mapping[str, Any], names: Mapping[str, str] | None = None, more: Sequence[Artist] = ()
    ) -> None:
        """A legend that says what each line style means, and which system has which colour; the name of a single
        system is its title."""
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
    """Whether each row of two classes is of the second, and its ratio."""
    if not hasattr(model, "llr"):
        raise DataError(
            f"a {type(model).__name__} has no llr; compute its ratios with suffice.cross_val_llr or suffice.as_llr and "
            "use from_predictions"
        )
    llr, classes = model.llr(rows, a, b), model.classes_
    code = codes(labels, classes)
    one, two = (0, 1) if a is None else (position(a, classes), position(b, classes))
    kept = (code == one) | (code == two)
    return code[kept] == two, llr[kept]
