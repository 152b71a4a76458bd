"""Which columns of categories depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ..densities.scorer import Edge
from ..errors import DataError
from .style import GREY, Display, color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDEST = 6.0  # points, of the line of the strongest dependence
_ACROSS, _DOWN = 1.3, 1.0  # inches for each leaf, and for each generation


@dataclass(eq=False)
class TreeDisplay(Display):
    """The tree of columns that depend on each other given the class, the root on top.

    The wider a line, the more the two columns tell about each other; the numbers are their conditional mutual
    information in nats.

    Parameters
    ----------
    edges : list of Edge
        Parent, child and information, as `edges_` of a classifier has them.

    Examples
    --------
    >>> from suffice import CategoricalClassifier
    >>> from suffice.plots import TreeDisplay
    >>> switches = [["up", "up"], ["up", "down"], ["down", "up"], ["down", "down"]]
    >>> clf = CategoricalClassifier(structure="tree").fit(switches, ["on", "off", "off", "on"])
    >>> display = TreeDisplay.from_estimator(clf)
    >>> display.edges[0].information.__round__(3)
    0.693
    """

    edges: list[Edge]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Plot the dependence between the columns of a model.

        Parameters
        ----------
        estimator : CategoricalClassifier, MixedClassifier or Model
            Fitted with ``structure="tree"`` or ``joint=``.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from suffice import CategoricalClassifier
        >>> from suffice.plots import TreeDisplay
        >>> X = [["up", "up", "a"], ["up", "down", "b"], ["down", "up", "b"], ["down", "down", "a"]]
        >>> clf = CategoricalClassifier(joint=[(0, 1)]).fit(X, ["on", "off", "off", "on"])
        >>> [(edge.parent, edge.child) for edge in TreeDisplay.from_estimator(clf).edges]
        [(0, 1)]
        """
        model = estimator.to_model() if hasattr(estimator, "to_model") else estimator
        edges = model.edges() if hasattr(model, "edges") else []
        if not edges:
            raise DataError(
                f"no columns of this {type(estimator).__name__} depend on each other; fit a CategoricalClassifier or "
                'MixedClassifier with structure="tree"'
            )
        return cls(edges).plot(ax)

    def positions(self) -> dict[Any, tuple[float, int]]:
        """Return where each column stands: leaves side by side, and a parent above the middle of its children.

        Returns
        -------
        dict
            From the name of a column to its place across, and its generation: 0 for a root.

        Examples
        --------
        >>> from suffice.densities.scorer import Edge
        >>> from suffice.plots import TreeDisplay
        >>> TreeDisplay([Edge("fur", "eyes", 0.5), Edge("fur", "kg", 0.1)]).positions()
        {'eyes': (0.0, 1), 'kg': (1.0, 1), 'fur': (0.5, 0)}
        """
        children: dict[Any, list[Any]] = {}
        for edge in self.edges:
            children.setdefault(edge.parent, []).append(edge.child)
        born = {edge.child for edge in self.edges}
        found: dict[Any, tuple[float, int]] = {}
        n_leaves = 0
        ahead = [(root, 0, False) for root in reversed(list(children)) if root not in born]
        while ahead:  # a deep tree is a long chain of columns
            name, generation, placed = ahead.pop()
            own = children.get(name, [])
            if own and not placed:
                ahead += [(name, generation, True), *((child, generation + 1, False) for child in reversed(own))]
                continue
            across = (found[own[0]][0] + found[own[-1]][0]) / 2 if own else float(n_leaves)
            n_leaves += not own
            found[name] = across, generation
        return found

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        self
            The display, after plotting.

        Examples
        --------
        >>> from suffice.densities.scorer import Edge
        >>> from suffice.plots import TreeDisplay
        >>> display = TreeDisplay([Edge("fur", "eyes", 0.5), Edge("fur", "kg", 0.1)]).plot()
        >>> [text.get_text() for text in display.ax_.texts]
        ['0.5', '0.1', 'eyes', 'kg', 'fur']
        """
        places = self.positions()
        across, down = (max(place[i] for place in places.values()) for i in (0, 1))
        ax = self._axes(ax, figsize=(max(3.0, _ACROSS * (across + 1.5)), max(2.0, _DOWN * (down + 1.2))))
        strongest = max(edge.information for edge in self.edges) or 1.0
        for edge in self.edges:
            (x0, y0), (x1, y1) = places[edge.parent], places[edge.child]
            width = max(0.5, _WIDEST * edge.information / strongest)
            ax.plot([x0, x1], [y0, y1], color=color(0), linewidth=width, solid_capstyle="round", zorder=1)
            label = f"{edge.information:.2g}"
            box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
            middle = (x0 + x1) / 2, (y0 + y1) / 2
            ax.text(*middle, label, ha="center", va="center", color=GREY, fontsize="small", bbox=box, zorder=2)
        box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": color(0)}
        for name, place in places.items():
            ax.text(*place, str(name), ha="center", va="center", bbox=box, zorder=3)
        ax.set(xlim=(-0.75, across + 0.75), ylim=(down + 0.5, -0.5), title="dependence given the class (nat)")
        ax.set_axis_off()
        return self
