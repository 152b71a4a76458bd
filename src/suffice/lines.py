"""What commands print: plain lines, alike on terminals and in files."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

_INDENT = "  "  # of the lines of a cell, after the first


def aligned(rows: Sequence[Sequence[Any]], right: bool = True) -> str:
    """Cells in columns; the first to the left, the others to the right unless told otherwise.

    >>> print(aligned([("", "rows"), ("cats", 12), ("dogs", 7)]))
          rows
    cats    12
    dogs     7
    """
    cells = [[str(cell) for cell in row] for row in rows]
    width = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
    lines = [
        [f"{cell:>{width[j]}}" if j and right else f"{cell:<{width[j]}}" for j, cell in enumerate(row)] for row in cells
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def width() -> int:
    """The columns of the terminal; 80 where there is none."""
    return max(shutil.get_terminal_size().columns, 40)


def filled(text: str, width: int) -> str:
    """Lines of text, none of them longer than a width; words are not broken."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def folded(rows: Sequence[Sequence[Any]], width: int) -> str:
    """As `aligned`, with the first and the last cells on several lines where the table would be wider than a width.
    Only words that have no room by themselves are broken.

    >>> print(folded([("model", "loss"), ("a long name", 0.25)], 12))
    model   loss
    a long  0.25
      name
    """
    cells = [[str(cell) for cell in row] for row in rows]
    wide = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
    spare = width - sum(wide[1:-1]) - 2 * (len(wide) - 1)  # for the first and the last
    room = max(spare - wide[-1], _longest(row[0] for row in cells))
    last = max(spare - room, _longest(row[-1] for row in cells))
    room = max(min(room, spare - last), 6)
    found: list[Sequence[str]] = []
    for first, *rest, end in cells:
        lines = zip_longest(wrapped(first, room), wrapped(end, last), fillvalue="")
        found += [(one, *(rest if i == 0 else [""] * len(rest)), two) for i, (one, two) in enumerate(lines)]
    return aligned(found)


def hanging(rows: Sequence[Sequence[Any]], width: int) -> str:
    """Cells in columns to the left, the last ones on several lines where they would be wider than a width; the first
    ones, too, where they leave no room for the last.

    >>> print(hanging([("age", "gaussian", "many whole numbers")], 30))
    age  gaussian  many whole
                   numbers
    >>> print(hanging([("a_rather_long_name", "gaussian", "float")], 30))
    a_rather_long  gaussian  float
      _name
    """
    cells = [[str(cell) for cell in row] for row in rows]
    wide = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
    between = sum(wide[1:-1]) + 2 * (len(wide) - 1)
    room = min(wide[0], max(width - between - min(wide[-1], 20), 10))
    last = max(width - between - room, 20)
    found: list[Sequence[str]] = []
    for first, *rest, end in cells:
        lines = zip_longest(wrapped(first, room), textwrap.wrap(end, last) or [""], fillvalue="")
        found += [(one, *(rest if i == 0 else [""] * len(rest)), two) for i, (one, two) in enumerate(lines)]
    return aligned(found, right=False)


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines, all but the first indented. Words that have no room by themselves are broken."""
    return textwrap.wrap(text, width, break_on_hyphens=False, subsequent_indent=_INDENT) or [""]


def _longest(texts: Iterable[str]) -> int:
    """The room that words need which are not broken; all but the first of a text are indented."""
    words = (text.split() for text in texts)
    return max((len(word) + len(_INDENT) * bool(i) for own in words for i, word in enumerate(own)), default=0)


def shortened(text: str, most: int) -> str:
    """The first characters of a text.

    >>> shortened("most often", 6)
    'most …'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def numbered(n: int, what: str) -> str:
    """A number of things.

    >>> numbered(1, "column"), numbered(2, "column")
    ('1 column', '2 columns')
    """
    return f"{n} {what}{'' if n == 1 else 's'}"


def counted(value: float) -> str:
    """A number of rows, or a sum of weights, in full digits.

    >>> counted(1234567.0), counted(2.5)
    ('1234567', '2.5')
    """
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.6f}".rstrip("0")


def shown(labels: Any, limit: int = 8) -> str:
    """Labels between commas, the first few of many."""
    return ", ".join(str(label) for label in labels[:limit]) + (" ..." if len(labels) > limit else "")


def described(model: Any) -> str:
    """A model in one line; classes have quotes where spaces or commas are part of one."""
    n = len(model.to_model().density.columns_read)
    labels = [repr(text) if re.search(r"[\s,]", text) else text for text in map(str, model.classes_.tolist())]
    return f"{type(model).__name__} of {numbered(n, 'column')}, classes {shown(labels)}"
