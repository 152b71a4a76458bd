"""The columns of a model as a form shows them: what each takes, and values that are usual for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tables.parsing import WORDS

if TYPE_CHECKING:
    from .model import Model

_FIRST, _LAST = -719_162, 2_932_896  # days since 1970 of the years 1 and 9999
_MANY = 300  # columns: of more, nobody looks at what is usual
_READ_AS = {"number": "numeral", "duration": "duration", "date": "date"}  # what the first step of a feature reads


@dataclass(frozen=True)
class Input:
    """A column, and what it takes.

    Parameters
    ----------
    name : str
        Its name; x0, x1 and so on where the columns have none.
    kind : {"number", "boolean", "category", "date", "numeral", "duration", "text"}
        Numbers; Booleans or 0 and 1; one of the categories, or another one; a date as text; a number as text; a
        duration or a time of the day as text, or its seconds; words.
    is_read : bool
        Whether the scores depend on it.
    categories : tuple
        The categories that training rows had.
    low, high : float or None
        A usual range of numbers, or of seconds.
    typical : float, str or None
        The middle of this range; of dates, a date, with the time unless they are whole.
    whole : bool
        Whether the training rows had whole numbers, or days without a time.
    step : tuple
        The step that reads its words, where they stand for numbers, dates or Booleans; see `READERS`.
    """

    name: str
    kind: str
    is_read: bool
    categories: tuple[Any, ...] = ()
    low: float | None = None
    typical: float | str | None = None
    high: float | None = None
    whole: bool = False
    step: tuple[Any, ...] = ()

    def understands(self, word: Any) -> bool:
        """Whether a word says something to the model; an unknown category does, too.

        >>> Input("day", "date", True, step=("date", "ymd")).understands("yesterday")
        False
        """
        name, *parameters = self.step or ("",)
        return name not in WORDS or not np.isnan(WORDS[name](word, *parameters))


def inputs(model: Model) -> tuple[Input, ...]:
    """Return what the columns of a model take, in their order."""
    density = model.density
    names = model.names or tuple(f"x{j}" for j in range(density.n_features))
    categories, read = density.categories_of_columns(), set(density.columns_read)
    kinds = dict.fromkeys(density.columns_of_booleans(), "boolean") | dict.fromkeys(density.columns_of_text(), "text")
    readers = {feature.source: feature.reads[0] for feature in density.features if feature.reads}
    usual = density.usual_values() if len(names) <= _MANY else np.full((len(names), 3), np.nan)
    whole = frozenset() if model.column_notes is None else model.column_notes.whole
    found = []
    for j, name in enumerate(names):
        reader, *parameters = readers.get(j, ("",))
        if j in categories or reader == "truth":
            own = categories[j].tolist() if j in categories else parameters
            step = (reader, *parameters) if reader == "truth" else ()
            found.append(Input(name, "category", j in read, tuple(own), step=step))
        else:
            kind = kinds.get(j, _READ_AS.get(reader, "number"))
            least, typical, most = usual[j]
            if name in whole:
                least, typical, most = np.floor(least), np.round(typical), np.ceil(most)
            known = not np.isnan(usual[j]).any()
            low, middle, high = (float(least), float(typical), float(most)) if known else (None, None, None)
            step = (reader, *parameters) if reader else ()
            if kind == "date":
                found.append(
                    Input(name, kind, j in read, typical=_date(middle, name in whole), whole=name in whole, step=step)
                )
            elif kind in ("number", "numeral", "duration"):
                found.append(Input(name, kind, j in read, (), low, middle, high, name in whole, step))
            else:
                found.append(Input(name, kind, j in read))
    return tuple(found)


def _date(days: float | None, whole: bool) -> str | None:
    """Days since 1970 as a date, such as 2026-11-18 or 2026-11-18T20:15; None where no calendar has it."""
    if days is None or not _FIRST <= days <= _LAST:
        return None
    return str(np.datetime64(int(np.floor(days)), "D") if whole else np.datetime64(int(np.floor(days * 1440)), "m"))
