"""`suffice explain`: which columns speak for a decision, and how much."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import click

from . import options
from .data import Data, reads_data
from .output import STANDARD, Output, write_table, writes

_FEW = 5  # rows that are shown to people
_BAR = 12  # characters of the longest bar


@click.command(epilog="Example: suffice explain birds.safetensors new.csv")
@options.model
@click.option("--for", "one", help="The class to explain. Default: the decision for each row.")
@click.option("--against", "other", help="The class to compare it with. Default: the next best one for each row.")
@click.option("--rows", "-n", type=click.IntRange(1), help=f"The first rows only. Default: {_FEW}; all with -o.")
@options.prior
@writes("The file to write: .parquet, .csv or .jsonl. Default: print a table for each row.", None, "explanations")
@options.lines
@reads_data
def explain(
    model: str,
    data: Data,
    one: str | None,
    other: str | None,
    rows: int | None,
    prior: str | None,
    out: Output | None,
    as_json: bool,
) -> None:
    """Split log-likelihood ratios into the shares of the columns.

    Positive shares speak for the decision, negative ones for the next best class. The shares of a row sum to its
    log-likelihood ratio, without the offsets of a calibration.

    MODEL is a model file with a generative model, written by suffice fit.
    """
    from ..scoring import load_model

    loaded = load_model(model)
    asked = options.prior_of(prior, loaded.classes)
    pair = options.class_of(one, loaded.classes), options.class_of(other, loaded.classes)
    for_people = out is None and not as_json
    limit = rows or (_FEW if for_people else None)
    with data.opened() as table:
        found, n = _explained(loaded, table, pair, asked, limit)
    if not for_people:
        write_table(found, out or Output(STANDARD, False), as_json)
        return
    print("\n\n".join(_shown(found, n)))
    if rows is None and n == limit:
        print(f"\nThe first {n} rows; -n shows more of them, and -o writes all to a file.", file=sys.stderr)


def _explained(model: Any, table: Any, pair: tuple[Any, Any], prior: Any, limit: int | None) -> tuple[Any, int]:
    """A line for each cell that has a share, the largest of each row first, and the number of rows."""
    import numpy as np
    import pyarrow as pa

    from ..errors import ColumnWarning
    from ..export.outputs import plain_labels
    from ..sources import as_source
    from ..sources.frames.arrays import ArraySource

    source = as_source(model._columns.as_learnt(table), names=model.names)
    some = source.in_memory().array_source() if limit is None else ArraySource(source.head(limit), None, None)
    some.decimal = source.decimal
    posterior = model.predict_proba(some, prior)
    classes = model.classes.tolist()
    best, next_best = _pairs(posterior, *(None if label is None else classes.index(label) for label in pair))
    codes, group = np.unique(np.column_stack([best, next_best]), axis=0, return_inverse=True)
    labels, parts = plain_labels(model.classes), []
    for g, (i, j) in enumerate(codes.tolist()):
        own = np.flatnonzero(group.reshape(-1) == g)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ColumnWarning)  # the posteriors have told of these columns
            shares = model.explain(some.rows(own), classes[j], classes[i], tidy=True)
        row = pa.array(own[shares.column("row").to_numpy()])
        said = [pa.array([labels[c]] * len(shares), pa.array(labels).type) for c in (i, j)]
        odds = pa.array(posterior[row.to_numpy(), i])
        parts.append(
            pa.table(
                [row, *said, odds, *(shares.column(name) for name in ("column", "value", "llr"))],
                names=["row", "for", "against", "posterior", "column", "value", "llr"],
            )
        )
    whole = pa.concat_tables(parts)
    return whole.take(pa.array(np.argsort(whole.column("row").to_numpy(), kind="stable"))), some.n_rows


def _pairs(posterior: Any, one: int | None, other: int | None) -> tuple[Any, Any]:
    """The class to explain and the one to compare it with, for each row: the best ones that are not given."""
    import numpy as np

    from .options import UsageError

    if one is not None and one == other:
        raise UsageError("--for and --against name the same class; name two")
    left = posterior.copy()
    rows = np.arange(len(left))
    if other is not None:
        left[:, other] = -1
    best = left.argmax(axis=1) if one is None else np.full(len(left), one)
    left[rows, best] = -1
    return best, left.argmax(axis=1) if other is None else np.full(len(left), other)


def _shown(found: Any, n: int) -> Any:
    """Yield a table for each of n rows."""
    from itertools import groupby

    from ..lines import aligned, filled, shortened, width, wrapped

    shares = {row: list(group) for row, group in groupby(found.to_pylist(), lambda line: line["row"])}
    for row in range(n):
        if row not in shares:
            yield f"row {row}: no column speaks for one class more than for another"
            continue
        lines = shares[row]
        first, total = lines[0], sum(line["llr"] for line in lines)
        largest = max(abs(line["llr"]) for line in lines)
        name_room = max(width() - _BAR - 23, 20)
        room = max(width() - min(max(len(line["column"]) for line in lines), name_room) - _BAR - 13, 10)  # of values
        cells, bars = [("column", "value", "share")], [""]
        for line in lines:
            bar = round(_BAR * abs(line["llr"]) / largest) if 0 < largest < float("inf") else 0
            value = "" if line["value"] is None else shortened(line["value"], room)
            name, *rest = wrapped(line["column"], name_room)
            cells += [(name, value, f"{line['llr']:+.2f}"), *((part, "", "") for part in rest)]
            bars += [("+" if line["llr"] > 0 else "-") * bar, *[""] * len(rest)]
        title = f"row {row}: {first['for']} ({first['posterior']:.1%}) rather than {first['against']}, llr {total:+.2f}"
        texts = (f"{text}  {bar}".rstrip() for text, bar in zip(aligned(cells).splitlines(), bars, strict=True))
        yield "\n".join([filled(title, width()), *texts])
