"""The table of what an automatic choice has tried; it is printed and saved with the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from statistics import NormalDist
from typing import Any

from ..lines import filled, folded, numbered

ROUNDING = 1e-9  # differences of losses that are none
SURE = 1.96  # standard errors on both sides of a 95 % interval
CRITERIA = {"log_loss": "log loss", "error": "error rate", "cost": "mean cost"}
ENDS = {"time_limit": "The time limit", "interrupt": "An interrupt"}  # of a search, before all models were tried


@dataclass(frozen=True)
class HeldOutResult:
    """A model that was tried, and how well it did on held-out rows."""

    name: str
    log_loss: float  # the mean of -log P(true class | x), in nats
    error: float  # the share of wrong decisions
    cost: float | None = None  # the mean cost of decisions, where the choice was made by a cost
    worse: float = 0.0  # than the chosen model, by the criterion of the choice
    uncertainty: float = 0.0  # the standard error of `worse`
    calibrated: bool = False
    seconds: float | None = None  # that the evaluation took
    folds: int | None = None  # after which it was clearly worse than another model, and not tried on the others

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> HeldOutResult:
        """Return the result that a model file describes; files of 0.1 call the log loss a log cost."""
        given = ({"log_loss": header["log_cost"]} if "log_cost" in header else {}) | dict(header)
        if not isinstance(given["name"], str):
            raise ValueError(f"the name of a model that was tried is {given['name']!r}")
        always = {name: float(given[name]) for name in ("log_loss", "error", "worse", "uncertainty") if name in given}
        at_times = {name: None if (own := given.get(name)) is None else float(own) for name in ("cost", "seconds")}
        folds = None if given.get("folds") is None else int(given["folds"])
        return cls(given["name"], **always, **at_times, calibrated=bool(given.get("calibrated")), folds=folds)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Choice:
    """The models that were tried, best first; the first one was chosen. Prints as a table."""

    candidates: tuple[HeldOutResult, ...]
    baseline: HeldOutResult  # the class frequencies alone, for comparison; never chosen
    folds: int
    left_out: dict[str, str]  # columns that were left out, and why
    n_rows: int | None = None  # how many rows were held out, each once
    scoring: str = "log_loss"
    ended_by: str | None = None  # what ended the search before all models were tried, of `ENDS`
    fitted_rows: int | None = None  # to which the model is fitted, where the fit to all rows was interrupted
    library: str | None = field(default=None, compare=False, repr=False)  # of the table that the rows came in

    @property
    def beats_baseline(self) -> bool:
        """Whether the chosen model is better than the class frequencies by more than chance explains.

        The best of many models is better by chance more often than one model: a difference counts if it has a chance
        of less than 2.5 % for all of them together.
        """
        sure = NormalDist().inv_cdf(1 - 0.025 / len(self.candidates))
        return self.n_rows is None or self.baseline.worse > max(sure * self.baseline.uncertainty, 1e-9)

    @property
    def summary(self) -> str:
        """What was chosen, how certain the ranking is, and what the model is worth, in one paragraph."""
        best, baseline = self.candidates[0], self.baseline
        how = f"{CRITERIA[self.scoring]} on {self.n_rows} held-out rows in {self.folds} folds"
        said = [
            f"{best.name} was chosen from {numbered(len(self.candidates), 'model')} by its {how}: {self._value(best)}"
            + (", with calibrated scores." if best.calibrated else ".")
        ]
        if self.ended_by is not None:
            said.append(f"{ENDS[self.ended_by]} ended the search: other models were not tried.")
        if len(self.candidates) > 1:
            second = self.candidates[1]
            said.append(self._against(second))
        if self.beats_baseline:
            wrong = f"about {100 * best.error:.1f}%"
            if best.error == 0 and self.n_rows:  # the upper end of the exact 95% interval
                wrong = f"at most {100 * (1 - 0.05 ** (1 / self.n_rows)):.2g}%"
            said.append(
                f"The class frequencies alone have {self._value(baseline)}. On new rows like these, {wrong} of "
                f"decisions will be wrong; to predict the most frequent class always, {100 * baseline.error:.1f}%."
            )
        else:
            said.append(
                f"The class frequencies alone have {self._value(baseline)}: the model is not better than these by "
                "more than chance explains."
            )
        if self.fitted_rows is not None:
            said.append(
                f"The fit to all rows was interrupted: the model is fitted only to {self.fitted_rows} rows on which "
                "models were compared."
            )
        return " ".join(said)

    def _against(self, second: HeldOutResult) -> str:
        """How far the chosen model is from the next best."""
        name, ends = second.name, [second.worse + sign * SURE * second.uncertainty for sign in (-1, 1)]
        certain = "is not certain" if ends[0] <= 0 else "is clear"
        if abs(second.worse) <= ROUNDING:
            return f"The next best, {name}, is as good."
        if second.worse < 0:  # it was worse than the best so far, which had some folds in common with it
            low, high = -ends[1], -ends[0]
            return (
                f"The next best, {name}, was given up after {second.folds} of {self.folds} folds, on which another "
                f"model was clearly better; it is better there than the chosen model by {-second.worse:.3g} (95% "
                f"interval {low:.2g} to {high:.2g})."
            )
        low, high = ends
        return (
            f"The next best, {name}, is worse by {second.worse:.3g} (95% interval {low:.2g} to {high:.2g}): which of "
            f"the two is better {certain}."
        )

    def _value(self, result: HeldOutResult) -> str:
        if self.scoring == "error":
            return f"{100 * result.error:.2f}%"
        return f"{result.log_loss:.4f} nats" if self.scoring == "log_loss" else f"{result.cost:.4g}"

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as a list of records, for instance for a data frame; the baseline comes last.

        Returns
        -------
        list of dict
            Each with the candidate, its log loss in nats, its error rate, its cost if the choice was made by a cost,
            how much worse it is than the chosen model, the standard error of that, whether its scores are calibrated,
            the seconds it took, the folds after which it was given up, and whether it was chosen. The figures of a
            model that was given up are those of the chosen model, plus the difference of the two on these folds.
        """
        tried = (*self.candidates, self.baseline)
        named = ({"candidate": each.name} | asdict(each) | {"chosen": each is self.candidates[0]} for each in tried)
        return [{name: value for name, value in row.items() if name != "name"} for row in named]

    def tidy(self) -> Any:
        """Return the table as one of a library of tables, with the columns of `rows`; the baseline comes last.

        Returns
        -------
        table of the library of the data (of Arrow, if these are an array or a file, or the model was loaded)
            A line for each model.

        Examples
        --------
        >>> import pandas as pd
        >>> import suffice
        >>> table = pd.DataFrame({"x": [0.5, 1.5, 0.7, 1.2, 3.5, 4.5, 3.9, 4.4], "y": list("aaaabbbb")})
        >>> found = suffice.fit(table, "y", generative=True).choice_.tidy()
        >>> type(found).__name__, found["candidate"].iloc[-1]
        ('DataFrame', 'class frequencies')
        """
        import pyarrow as pa

        from ..tables.libraries import in_library

        rows = self.rows()
        types = {"candidate": pa.string(), "calibrated": pa.bool_(), "chosen": pa.bool_(), "folds": pa.int64()}
        schema = pa.schema([(name, types.get(name, pa.float64())) for name in rows[0]])
        return in_library(pa.Table.from_pylist(rows, schema), None, self.library)

    def _cells(self) -> Iterator[tuple[str, ...]]:
        costs = ["cost"] if self.scoring == "cost" else []
        yield "candidate", "log loss", "error", *costs, ""
        marks = ["chosen", *[""] * (len(self.candidates) - 1), "baseline"]
        for row, mark in zip(self.rows(), marks, strict=True):
            cost = [f"{row['cost']:.4g}"] if costs else []
            calibrated = "calibrated" if row["calibrated"] else ""
            given_up = f"given up after {row['folds']} of {self.folds} folds" if row["folds"] else ""
            notes = ", ".join(filter(None, (mark, calibrated, given_up)))
            yield row["candidate"], f"{row['log_loss']:.4f}", f"{100 * row['error']:.2f}%", *cost, notes
        for name, reason in self.left_out.items():
            yield f"without {name!r}: {reason}", "", "", *([""] if costs else []), ""

    def table(self, width: int) -> str:
        """Return the table in lines of a width."""
        return folded(list(self._cells()), width)

    def folded(self, width: int) -> str:
        """Return the table, and what it says in words, in lines of a width."""
        return f"{self.table(width)}\n\n{filled(self.summary, width)}"

    def __str__(self) -> str:
        rows = list(self._cells())
        wide = max(len(name) for name, *_ in rows)
        lines = (f"{name:<{wide}}  {'  '.join(f'{n:>8}' for n in numbers)}  {mark}" for name, *numbers, mark in rows)
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._cells())
        return "<table><tr>" + "</tr><tr>".join([head.replace("td>", "th>"), *body]) + "</tr></table>"

    def to_header(self) -> dict[str, Any]:
        """Return the table as values for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "library"}

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> Choice:
        """Return the table that `to_header` described."""
        *candidates, baseline = map(HeldOutResult.from_header, (*header["candidates"], header["baseline"]))
        n_rows, scoring = header.get("n_rows"), header.get("scoring", "log_loss")
        ended_by, fitted_rows = header.get("ended_by"), header.get("fitted_rows")
        untold = scoring == "cost" and any(each.cost is None for each in (*candidates, baseline))
        counts = all(isinstance(count, int | None) for count in (n_rows, fitted_rows))
        known = scoring in CRITERIA and ended_by in (None, *ENDS)
        if not candidates or not known or untold or not counts:
            raise ValueError("the models that were tried are not told as they should be")
        left_out = {str(name): str(reason) for name, reason in dict(header["left_out"]).items()}
        return cls(tuple(candidates), baseline, int(header["folds"]), left_out, n_rows, scoring, ended_by, fitted_rows)
