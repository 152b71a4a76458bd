"""What an automatic choice has tried: a table of names and numbers, which prints and goes into model files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any


@dataclass(frozen=True)
class Candidate:
    """A model that was tried, and what it cost on rows that it had not seen."""

    name: str
    log_cost: float  # the mean of -log P(true class | x), in nats
    error: float  # the share of wrong decisions


@dataclass(frozen=True)
class Choice:
    """What was tried, best first: the first one was chosen. Prints as a table."""

    candidates: tuple[Candidate, ...]
    baseline: Candidate  # what the class frequencies cost alone: never chosen, and there to be compared with
    folds: int
    left_out: dict[str, str]  # columns that nothing was learnt from, and why

    def rows(self) -> list[dict[str, Any]]:
        """The table as records, for instance for a data frame; the baseline comes last."""
        tried = (*self.candidates, self.baseline)
        return [
            {"candidate": c.name, "log_cost": c.log_cost, "error": c.error, "chosen": c is self.candidates[0]}
            for c in tried
        ]

    def _cells(self) -> Iterator[tuple[str, str, str, str]]:
        yield "candidate", "log cost", "error", ""
        marks = ["chosen", *[""] * (len(self.candidates) - 1), "baseline"]
        for row, mark in zip(self.rows(), marks, strict=True):
            yield row["candidate"], f"{row['log_cost']:.4f}", f"{100 * row['error']:.2f} %", mark
        for name, reason in self.left_out.items():
            yield f"without {name!r}: {reason}", "", "", ""

    def __str__(self) -> str:
        rows = list(self._cells())
        wide = max(len(name) for name, *_ in rows)
        return "\n".join(f"{name:<{wide}}  {cost:>8}  {error:>8}  {mark}".rstrip() for name, cost, error, mark in rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._cells())
        return "<table><tr>" + "</tr><tr>".join([head.replace("td>", "th>"), *body]) + "</tr></table>"

    def to_header(self) -> dict[str, Any]:
        """The table in the values that JSON has."""
        return asdict(self)

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> Choice:
        """The inverse of `to_header`."""
        candidates = tuple(Candidate(**each) for each in header["candidates"])
        return cls(candidates, Candidate(**header["baseline"]), int(header["folds"]), dict(header["left_out"]))
