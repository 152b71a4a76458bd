"""Rows that are typical of no class, from one pass over any source."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from ..export.outputs import plain_labels, refuse_taken
from ..tables.batch import Batch
from .loop import refuse
from .reading import Reading
from .writing import RepeatedColumns, indices_of, sources_of

if TYPE_CHECKING:
    from .model import Model

_STEP = 1 << 14  # rows at a time


def outliers(
    model: Model, X: Any, level: float = 0.01, keep: list[str] | None = None, as_written: bool = False
) -> tuple[Any, int]:
    """Find the rows whose typicality is below a level under every class.

    Parameters
    ----------
    model : Model
        A generative model.
    X : anything tabular, of shape (n, d)
        The rows, read once; only the outliers are held in memory.
    level : float, default=0.01
        About the share of ordinary rows that are taken for outliers.
    keep : list of str, default=None
        Columns to repeat beside the results.
    as_written : bool, default=False
        Whether columns of CSV files that the model reads are repeated as text, too.

    Returns
    -------
    table : pyarrow.Table
        The number of each such row, its typicality under the class that it is most typical of, and that class; the
        least typical first.
    n : int
        The number of all rows.
    """
    import pyarrow as pa

    if not 0 <= level <= 1:
        raise ParameterError(f"the level {level:g} of outliers must lie between 0 and 1")
    density = model._generative("typicality")
    kept = keep or []
    source, features = sources_of(model, X, kept, as_written)
    repeated = RepeatedColumns(source, indices_of(kept, source) if kept else [])
    reading = Reading(density, features.names, features.decimal, model.takes_infinity, looks=True)
    results = pa.schema([("row", pa.int64()), ("typicality", pa.float64()), ("class", _type(model))])
    refuse_taken(results.names, repeated.schema.names)
    labels, complete = pa.array(plain_labels(model.classes)), []

    def of(batch: Batch) -> list[tuple[int, Any, Any, Any, Any]]:
        found = []
        for start in range(0, len(batch), _STEP):
            table = batch.table[start : start + _STEP]
            x = reading(features.of(table))
            complete.append(density.is_complete(x))
            typical = density.typicality(x)
            rows = np.flatnonzero(~(typical.max(axis=1) >= level))
            own = list(repeated.of(table[rows]))
            found.append((len(table), rows, typical[rows].max(axis=1), typical[rows].argmax(axis=1), own))
        return found

    parts = source.reduce(of, operator.iadd)
    reading.warn()
    if not all(complete):
        refuse(features)
    starts = np.concatenate([[0], np.cumsum([n for n, *_ in parts])])
    schema = pa.schema([*results, *repeated.schema])
    tables = [
        pa.Table.from_arrays([pa.array(start + rows), pa.array(most), labels.take(pa.array(code)), *own], schema=schema)
        for start, (_, rows, most, code, own) in zip(starts[:-1], parts, strict=True)
    ]
    whole = pa.concat_tables(tables)
    order = np.argsort(whole.column("typicality").to_numpy(), kind="stable")
    return whole.take(pa.array(order)), int(starts[-1])


def _type(model: Model) -> Any:
    import pyarrow as pa

    return pa.array(plain_labels(model.classes)).type
