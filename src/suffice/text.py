"""What commands print: plain lines, alike on terminals and in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


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
    """A model in one line."""
    return f"{type(model).__name__} of {model.n_features_in_} columns, classes {shown(model.classes_)}"
