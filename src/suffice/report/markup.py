"""HTML and SVG that is safe by construction: whatever is not markup already is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

NONE = "\u2013"  # where there is no number
_VOID = {"input", "meta", "br", "line", "rect", "circle", "path", "polyline", "polygon"}


class Markup(str):
    """Text that is markup already, because `tag` or `together` has made it."""

    __slots__ = ()


def tag(name: str, /, *content: Any, **attributes: Any) -> Markup:
    """Return an element.

    Parameters
    ----------
    name : str
        Of the element.
    *content : Markup, list of these, or anything else
        Text is escaped; None is left out.
    **attributes : str, number, bool or None
        An underscore stands for a dash, and one at the end of a name for nothing. None and False are left out.

    >>> tag("td", "a < b", class_="wide", data_value=0.5)
    '<td class="wide" data-value="0.5">a &lt; b</td>'
    """
    own = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        own.append(f" {label}" if value is True else f' {label}="{escape(_text(value))}"')
    opening = f"<{name}{''.join(own)}>"
    if name in _VOID and not content:
        return Markup(opening if name in ("input", "meta", "br") else f"{opening[:-1]}/>")
    return Markup(f"{opening}{together(content)}</{name}>")


def together(parts: Iterable[Any]) -> Markup:
    """Return parts one after the other."""
    return Markup(
        "".join(
            part
            if isinstance(part, Markup)
            else together(part)
            if isinstance(part, list | tuple)
            else escape(_text(part))
            for part in parts
            if part is not None
        )
    )


def table(heading: Iterable[Any], rows: Iterable[Iterable[Any]], caption: str, **attributes: Any) -> Markup:
    """Return a table whose first column names the rows."""
    head = tag("tr", [tag("th", cell, scope="col") for cell in heading])
    body = [
        tag("tr", tag("th", first, scope="row"), [cell if _is_cell(cell) else tag("td", cell) for cell in rest])
        for first, *rest in rows
    ]
    return titled(caption, head, body, **attributes)


def folded(heading: Iterable[Any], rows: list[Any], caption: str, most: int, name: str, what: str) -> Markup:
    """Return a table of the first rows, and behind a line one of the others, with a field to find them."""
    heading = list(heading)
    first = table(heading, rows[:most], caption)
    if len(rows) <= most:
        return first
    rest = table(heading, rows[most:], f"{caption}, continued", id=name)
    line = tag("summary", f"{len(rows) - most} more {what}")
    return together([first, tag("details", line, finder(name, f"Find among {what}"), rest)])


def finder(name: str, label: str) -> Markup:
    """Return a field that a script uses to hide all lines of the element `name` but those with some text."""
    return tag("p", tag("input", type="search", aria_label=label, placeholder=label, data_finds=name), class_="find")


def titled(title: str, head: Markup, body: list[Markup], **attributes: Any) -> Markup:
    """Return a table with a title above; it scrolls where it is too wide for the page."""
    whole = tag("table", tag("thead", head), tag("tbody", body), aria_label=title, **attributes)
    scrolls = tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=title)
    return tag("div", tag("p", title, class_="title"), scrolls, class_="table")


def data(name: str, value: Any) -> Markup:
    """Return values for a script, as JSON that no text can break out of."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(f'<script type="application/json" id="{escape(name)}">{safe}</script>')


def _is_cell(cell: Any) -> bool:
    return isinstance(cell, Markup) and cell.startswith("<td")


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
