"""Charts as static SVG: small, sharp in print, readable without a script, and coloured by the style of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .markup import Markup, tag, titled, together

Array = NDArray[Any]

_WIDTH, _HEIGHT = 400, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 12, 40


class Chart:
    """Axes, and what is drawn between them.

    Parameters
    ----------
    title : str
        What screen readers say first, and what stands above.
    x, y : (float, float)
        The ends of the axes.
    x_label, y_label : str
        What the axes are.
    described : str
        What the chart shows, in words.
    x_ticks, y_ticks : list of (float, str), default=None
        Where to put which labels; None finds round numbers.
    """

    def __init__(
        self,
        title: str,
        x: tuple[float, float],
        y: tuple[float, float],
        x_label: str,
        y_label: str,
        described: str = "",
        x_ticks: Sequence[tuple[float, str]] | None = None,
        y_ticks: Sequence[tuple[float, str]] | None = None,
    ) -> None:
        self.title, self.described = title, described
        self.x, self.y = _spread(x), _spread(y)
        self.parts: list[Markup] = []
        of_y = round_numbers(*self.y) if y_ticks is None else y_ticks
        self.left = _LEFT + round(6 * max(0, max((len(label) for _, label in of_y), default=0) - 4))
        self._axes(x_label, y_label, round_numbers(*self.x) if x_ticks is None else x_ticks, of_y)

    def at(self, x: Any, y: Any) -> tuple[Array, Array]:
        """Where points are in the picture; those outside are at its edge."""
        return self._place(x, self.x, self.left, _WIDTH - _RIGHT), self._place(y, self.y, _HEIGHT - _BOTTOM, _TOP)

    def line(self, x: Any, y: Any, colour: int | str, **attributes: Any) -> None:
        """Draw a line."""
        px, py = self.at(x, y)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(px, py, strict=True))
        self.parts.append(tag("polyline", points=points, class_=f"line {_class(colour)}", **attributes))

    def stairs(self, edges: Array, heights: Array, colour: int, filled: bool = True) -> None:
        """Draw a histogram."""
        x, y = np.repeat(edges, 2), np.concatenate([[0], np.repeat(heights, 2), [0]])
        px, py = self.at(x, y)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(px, py, strict=True))
        self.parts.append(tag("polygon", points=points, class_=f"{'area' if filled else 'line'} {_class(colour)}"))

    def bar(self, x0: float, x1: float, y0: float, y1: float, colour: int | str, said: str = "") -> None:
        """Draw a rectangle, with words that appear beside the pointer."""
        (left, right), (low, high) = self.at([x0, x1], [y0, y1])
        own = {"x": min(left, right), "y": min(low, high), "width": abs(right - left), "height": abs(high - low)}
        placed = {name: f"{value:.1f}" for name, value in own.items()}
        self.parts.append(tag("rect", tag("title", said) if said else "", **placed, class_=f"bar {_class(colour)}"))

    def dots(self, x: Any, y: Any, colour: int | str, **attributes: Any) -> None:
        """Draw points."""
        for a, b in zip(*self.at(x, y), strict=True):
            self.parts.append(
                tag("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r="3.2", class_=f"dot {_class(colour)}", **attributes)
            )

    def upright(self, x: Any, low: Any, high: Any, colour: int | str) -> None:
        """Draw intervals."""
        px, py0 = self.at(x, low)
        _, py1 = self.at(x, high)
        for a, b, c in zip(px, py0, py1, strict=True):
            self.parts.append(
                tag("line", x1=f"{a:.1f}", x2=f"{a:.1f}", y1=f"{b:.1f}", y2=f"{c:.1f}", class_=f"thin {_class(colour)}")
            )

    def moving_line(self, name: str, x: float, label: str) -> None:
        """Draw an upright line that a script can move."""
        (px,), _ = self.at([x], [self.y[0]])
        line = tag("line", x1=0, x2=0, y1=_TOP, y2=_HEIGHT - _BOTTOM)
        text = tag("text", label, x=4, y=_TOP + 10)
        self.parts.append(
            tag("g", line, text, class_="moving", id=name, transform=f"translate({px:.2f} 0)", **self._scale("x"))
        )

    def moving_dot(self, name: str, x: float, y: float) -> None:
        """Draw a point that a script can move."""
        (px,), (py,) = self.at([x], [y])
        dot = tag("circle", cx=0, cy=0, r="5")
        scale = self._scale("x") | self._scale("y")
        self.parts.append(tag("g", dot, class_="moving", id=name, transform=f"translate({px:.2f} {py:.2f})", **scale))

    def text(self, x: float, y: float, words: str, anchor: str = "start") -> None:
        """Write into the chart."""
        (px,), (py,) = self.at([x], [y])
        self.parts.append(tag("text", words, x=f"{px:.1f}", y=f"{py:.1f}", text_anchor=anchor, class_="note"))

    def svg(self, legend: Sequence[tuple[int | str, str]] = ()) -> Markup:
        """Return the figure, with a caption and the meaning of the colours."""
        name, words = tag("title", self.title), tag("desc", self.described or self.title)
        picture = tag("svg", name, words, self.parts, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img")
        keys = [
            tag("li", tag("span", class_=f"key {_class(colour)}", aria_hidden="true"), label)
            for colour, label in legend
        ]
        caption = tag("figcaption", tag("b", self.title), tag("ul", keys, class_="legend") if keys else "")
        words_below = tag("p", self.described, class_="quiet") if self.described else ""
        return tag("figure", caption, picture, words_below)

    def _axes(self, x_label: str, y_label: str, x_ticks: Any, y_ticks: Any) -> None:
        bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        for value, label in x_ticks:
            (px,), _ = self.at([value], [self.y[0]])
            self.parts.append(tag("line", x1=f"{px:.1f}", x2=f"{px:.1f}", y1=_TOP, y2=bottom, class_="grid"))
            self.parts.append(tag("text", label, x=f"{px:.1f}", y=bottom + 15, text_anchor="middle"))
        for value, label in y_ticks:
            _, (py,) = self.at([self.x[0]], [value])
            self.parts.append(tag("line", x1=self.left, x2=right, y1=f"{py:.1f}", y2=f"{py:.1f}", class_="grid"))
            self.parts.append(tag("text", label, x=self.left - 5, y=f"{py + 4:.1f}", text_anchor="end"))
        self.parts.append(tag("path", d=f"M{self.left} {_TOP}V{bottom}H{right}", class_="axis"))
        self.parts.append(
            tag("text", x_label, x=(self.left + right) / 2, y=_HEIGHT - 6, text_anchor="middle", class_="label")
        )
        if y_label:
            turn = f"translate(11 {(bottom + _TOP) / 2}) rotate(-90)"
            self.parts.append(tag("text", y_label, transform=turn, text_anchor="middle", class_="label"))

    def _scale(self, axis: str) -> dict[str, Any]:
        """How a script maps values to the picture, as attributes."""
        (low, high), first, last = (
            (self.x, self.left, _WIDTH - _RIGHT) if axis == "x" else (self.y, _HEIGHT - _BOTTOM, _TOP)
        )
        return {f"data_{axis}": f"{low:.12g} {high:.12g} {first} {last}"}

    @staticmethod
    def _place(values: Any, ends: tuple[float, float], first: float, last: float) -> Array:
        share = (np.asarray(values, np.float64) - ends[0]) / (ends[1] - ends[0])
        return np.asarray(
            first + np.clip(np.nan_to_num(share, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0) * (last - first)
        )


def round_numbers(low: float, high: float, about: int = 5) -> list[tuple[float, str]]:
    """Return round numbers between two ends, with their texts.

    >>> round_numbers(0, 1)
    [(0.0, '0'), (0.2, '0.2'), (0.4, '0.4'), (0.6, '0.6'), (0.8, '0.8'), (1.0, '1')]
    """
    if not (isfinite(low) and isfinite(high) and high > low):
        return []
    raw = (high - low) / about
    power = 10.0 ** floor(log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)
    first = ceil(low / step - 1e-9)
    count = floor(high / step + 1e-9) - first + 1
    values = [round((first + i) * step, 12) for i in range(min(count, 20))]
    return [(value, f"{value:.6g}".replace("e+0", "e")) for value in values]


def horizontal_bars(
    title: str, rows: Sequence[tuple[str, float]], x_label: str, described: str, shown: Callable[[float], str]
) -> Markup:
    """Return bars with names on the left, as a table that is drawn: it is read, copied and printed as one."""
    largest = max((abs(value) for _, value in rows), default=0.0) or 1.0
    low = min((value for _, value in rows), default=0.0)
    zero = 100 * max(-low, 0.0) / (largest + max(-low, 0.0))
    lines = []
    for name, value in rows:
        width = (100 - zero) * abs(value) / largest if largest else 0.0
        left = zero if value >= 0 else max(zero - width, 0.0)
        style = f"left:{left:.2f}%;width:{min(width, 100.0):.2f}%"
        bar = tag(
            "span",
            tag("span", class_="fill minus" if value < 0 else "fill", style=style),
            class_="track",
            aria_hidden="true",
        )
        lines.append(
            tag(
                "tr",
                tag("th", name, scope="row"),
                tag("td", bar, class_="bars"),
                tag("td", shown(value), class_="number"),
            )
        )
    head = tag("tr", tag("th", "column", scope="col"), tag("th", x_label, scope="col", colspan="2"))
    return together([titled(title, head, lines, class_="horizontal"), tag("p", described, class_="quiet")])


def _class(colour: int | str) -> str:
    return f"c{colour}" if isinstance(colour, int) else colour


def _spread(ends: tuple[float, float]) -> tuple[float, float]:
    """The ends of an axis, at least a little apart."""
    low, high = float(ends[0]), float(ends[1])
    if not (isfinite(low) and isfinite(high)):
        return 0.0, 1.0
    return (low, high) if high > low else (low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0))
