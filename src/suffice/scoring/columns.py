"""The columns that a model reads, and how it finds them in a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from ..errors import DataError, warn
from ..sources import Source, as_source, with_texts
from ..tables.labels import family
from ..tables.readers import as_documents
from ..tables.table import RENAME
from .loop import refuse_empty

Array = NDArray[Any]


@dataclass(frozen=True)
class Columns:
    """What is known of the columns of a model.

    Parameters
    ----------
    names : tuple of str or None
        Their names, where they have any.
    n_features : int
        How many there are.
    owner : str
        Whose columns they are, for messages.
    kinds : dict of int to str
        What the categories of columns are, by the index of the column (see `Statistics.category_kinds`).
    classes : array or None
        The labels, where there are any.
    target : str or None
        The column that held the labels, where it is known: it is no surprise in a table.
    """

    names: tuple[str, ...] | None
    n_features: int
    owner: str = "Model"
    kinds: Mapping[int, str] = field(default_factory=dict)
    classes: Array | None = None
    target: str | None = None

    def as_learnt(self, X: Any, y: Any = None) -> Any:
        """X, with the columns as text that were learnt as text: 01 in a CSV file is not the number 1 there."""
        texts = [self.names[j] for j, kind in self.kinds.items() if kind in ("text", "words")] if self.names else []
        if isinstance(y, str) and self.classes is not None and len(self.classes) and family(self.classes) == "str":
            texts.append(y)
        return with_texts(as_documents(X) if self.kinds == {0: "words"} else X, texts)

    def source(self, X: Any, y: Any = None, weight: Any = None, n_jobs: int | None = None) -> Source:
        """X as a source of these columns; extra columns are ignored."""
        try:
            source = as_source(self.as_learnt(X, y), y, weight, n_jobs, self.names)
        except FileNotFoundError as error:
            if self.kinds != {0: "words"} or not isinstance(X, str):
                raise
            raise FileNotFoundError(f"{error}; to score a single text, put it in a list") from None
        self.check(source)
        refuse_empty(source)
        return source

    def check(self, source: Source) -> None:
        """Raise DataError where the columns of a source are not these ones."""
        known, given = self.names, source.names
        if known is not None and given is not None and known != given:
            lines = ["The feature names should match those that were passed during fit."]
            lines += _listed("Feature names unseen at fit time:", set(given) - {*known, self.target})
            lines += _listed("Feature names seen at fit time, yet now missing:", set(known) - set(given))
            if len(lines) == 1:
                lines.append("Feature names must be in the same order as they were in fit.")
            raise DataError("\n".join(lines) + "\n")
        if known is None and given is not None:
            _warn(f"X has feature names, but {self.owner} was fitted without feature names")
        if known is not None and given is None:
            _warn(f"X does not have valid feature names, but {self.owner} was fitted with feature names")
        if source.n_features != self.n_features:
            expected = f"{self.owner} is expecting {self.n_features} features as input."
            unnamed = "Its columns had no names of text in fit, so that extra columns cannot be told apart"
            why = f" {unnamed}; give them alone, or before fit {RENAME}" if known is None and given is not None else ""
            raise DataError(f"X has {source.n_features} features, but {expected}{why}")


def _warn(message: str) -> None:
    warn(message, UserWarning)


def _listed(title: str, names: set[str]) -> list[str]:
    shown = [f"- {name}" for name in sorted(names)[:5]]
    return [title, *shown, *["- ..."] * (len(names) > 5)] if names else []
