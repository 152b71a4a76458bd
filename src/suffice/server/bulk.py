"""Bulk bodies, Arrow and CSV: read by the library's own readers, scored by its one loop over rows."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import SufficeError
from ..scoring.writing import all_columns, csv_file, write_scores
from ..sources.files import files
from .errors import RefusedError
from .limits import Limits
from .models import Served

_COMPRESSION = 10  # where the flat buffer of a record batch says how it is compressed
_DATA = 6  # where that of a dictionary holds its record batch
_HEADER = 8  # where that of a message holds either


def scored_arrow(body: Any, served: Served, case: tuple[Any, Any, Any], limits: Limits) -> memoryview:
    """Score an Arrow IPC stream; the answer is one, with a row of results for each row.

    Parameters
    ----------
    body : bytes-like
        The stream.
    case : tuple
        Prior, cost and outputs.
    """
    import pyarrow as pa

    table = _read_arrow(body, limits)
    sink = pa.BufferOutputStream()

    @contextmanager
    def opened(_: Any, schema: Any) -> Iterator[Callable[[Any], object]]:
        with pa.ipc.new_stream(sink, schema) as writer:
            yield writer.write_table

    _written(served, table, opened, case, keep=[])
    return memoryview(sink.getvalue())


def scored_csv(body: Any, served: Served, case: tuple[Any, Any, Any], limits: Limits) -> memoryview:
    """Score a CSV file; the answer repeats its columns and adds those of the results."""
    import pyarrow as pa

    sink, n = pa.BufferOutputStream(), 0

    @contextmanager
    def opened(_: Any, schema: Any) -> Iterator[Callable[[Any], object]]:
        with csv_file(sink, schema) as append:

            def write(table: Any) -> None:
                nonlocal n
                n += len(table)
                if n > limits.rows:
                    raise RefusedError(413, f"the file has more than {limits.rows} rows; send it in parts", "body")
                append(table)

            yield write

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_bytes(body)
        try:
            given = files(path, format="csv")
            _written(served, given, opened, case, all_columns(served.model, given) or [], as_written=True)
        except RefusedError as error:
            raise RefusedError(error.status, error.message.replace(f"{folder}/", ""), error.field) from None
        except SufficeError as error:
            raise RefusedError(422, str(error).replace(f"{folder}/", ""), "body") from None
    return memoryview(sink.getvalue())


def _written(
    served: Served, rows: Any, opened: Any, case: tuple[Any, Any, Any], keep: list[str], as_written: bool = False
) -> None:
    import pyarrow as pa

    prior, cost, outputs = case
    try:
        write_scores(served.model, rows, opened, prior, cost, keep, outputs, strict=True, as_written=as_written)
    except RefusedError:
        raise
    except SufficeError as error:
        given = [name for name, value in (("prior", prior), ("cost", cost)) if value is not None]
        raise RefusedError(422, str(error), next((name for name in given if name in str(error)), "body")) from None
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise RefusedError(422, f"the table cannot be read: {error}", "body") from None


def _read_arrow(body: Any, limits: Limits) -> Any:
    import pyarrow as pa

    batches, n = [], 0
    try:
        _refuse_compressed(body)
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            for batch in reader:
                n += batch.num_rows
                if n > limits.rows:
                    raise RefusedError(413, f"{n} rows are more than {limits.rows}; send them in parts", "body")
                batch.validate(full=True)
                batches.append(batch)
            return pa.Table.from_batches(batches, reader.schema)
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        raise RefusedError(400, f"the body is not a stream of Arrow IPC: {error}", "body") from None


def _refuse_compressed(body: Any) -> None:
    """Refuse compressed batches, since a small body could hold more than the memory."""
    import pyarrow as pa

    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(body)):
        if message.type in ("record batch", "dictionary"):
            flat = memoryview(message.metadata)
            table = _child(flat, struct.unpack_from("<I", flat)[0], _HEADER)
            if table is not None and message.type == "dictionary":
                table = _child(flat, table, _DATA)
            if table is not None and _child(flat, table, _COMPRESSION) is not None:
                raise RefusedError(415, "the record batches are compressed; send them as they are", "body")


def _child(flat: memoryview, table: int, slot: int) -> int | None:
    """Where a field of a table of a flat buffer is, if it is there."""
    vtable = table - struct.unpack_from("<i", flat, table)[0]
    if slot >= struct.unpack_from("<H", flat, vtable)[0]:
        return None
    offset: int = struct.unpack_from("<H", flat, vtable + slot)[0]
    return table + offset + int(struct.unpack_from("<I", flat, table + offset)[0]) if offset else None
