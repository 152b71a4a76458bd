"""The table of what an automatic choice has tried; it is printed and saved with the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any


@dataclass(frozen=True)
class HeldOutResult:
    """A model that was tried, and how well it did on held-out rows."""

    name: str
    log_loss: float  # the mean of -log P(true class | x), in nats
    error: float  # the share of wrong decisions


@dataclass(frozen=True)
class Choice:
    """The models that were tried, best first; the first one was chosen. Prints as a table."""

    candidates: tuple[HeldOutResult, ...]
    baseline: HeldOutResult  # the class frequencies alone, for comparison; never chosen
    folds: int
    left_out: dict[str, str]  # columns that were left out, and why

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as a list of records, for instance for a data frame; the baseline comes last.

        Returns
        -------
        list of dict
            The candidate, its log loss in nats, its error rate, and whether it was chosen.
        """
        tried = (*self.candidates, self.baseline)
        return [
            {"candidate": c.name, "log_loss": c.log_loss, "error": c.error, "chosen": c is self.candidates[0]}
            for c in tried
        ]

    def _cells(self) -> Iterator[tuple[str, str, str, str]]:
        yield "candidate", "log loss", "error", ""
        marks = ["chosen", *[""] * (len(self.candidates) - 1), "baseline"]
        for row, mark in zip(self.rows(), marks, strict=True):
            yield row["candidate"], f"{row['log_loss']:.4f}", f"{100 * row['error']:.2f} %", mark
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
        """Return the table as values for JSON."""
        return asdict(self)

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> Choice:
        """Return the table that `to_header` described; files of 0.1 call the log loss a log cost."""
        *candidates, baseline = (
            HeldOutResult(each["name"], each["log_loss" if "log_loss" in each else "log_cost"], each["error"])
            for each in (*header["candidates"], header["baseline"])
        )
        return cls(tuple(candidates), baseline, int(header["folds"]), dict(header["left_out"]))
