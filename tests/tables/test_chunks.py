"""Rows of columns in several chunks, as Arrow and pandas hold them after files were read in parts."""

import numpy as np
import pyarrow as pa
import pytest

from suffice.tables.arrow import arrow_column
from suffice.tables.table import ArrayColumn, CodedColumn, Frame, encoded

WORDS = [None if i % 7 == 3 else f"w{i % 5}" for i in range(50)]
CHUNKED = pa.chunked_array([WORDS[:1], [], WORDS[1:20], WORDS[20:21], WORDS[21:]], pa.string())


@pytest.mark.parametrize(
    "rows",
    [[0], [49], [0, 1, 20, 21, 49], [1, 1, 20, 20], list(range(50)), list(range(49, -1, -1)), [5, 3, 40], []],
    ids=str,
)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_rows_of_chunks_are_those_of_one_array(kind, rows):
    chunked = pa.chunked_array([pa.array(chunk.to_pylist(), kind) for chunk in CHUNKED.chunks])
    column = arrow_column(chunked, str(kind))[np.array(rows, np.int64)]
    assert len(column) == len(rows)
    assert column.values.to_pylist() == [WORDS[row] for row in rows]
    distinct, code = column.coded()
    assert [distinct[c] if c >= 0 else None for c in code] == [WORDS[row] for row in rows]


@pytest.mark.parametrize("rows", [[-1, 3], [3, 50]], ids=str)
def test_rows_that_do_not_exist_are_refused(rows):
    with pytest.raises(IndexError):
        arrow_column(CHUNKED, "string")[np.array(rows)]


def test_strings_of_more_bytes_than_their_offsets_can_count():
    chunk = pa.array(["x" * 2**20] * 63 + ["y"], pa.string())
    distinct, code = arrow_column(pa.chunked_array([chunk] * 34), "string").coded()
    assert [text[0] for text in distinct] == ["x", "y"]
    assert code.tolist() == ([0] * 63 + [1]) * 34


PROSE = [f"{i} words of which there is one" for i in range(5000)]


@pytest.mark.parametrize(
    ("values", "encodes"),
    [
        (PROSE, False),
        ([text if i % 3 == 0 else None for i, text in enumerate(PROSE)], False),  # of few rows, but of all these
        (["none"] * 1500 + PROSE, False),
        ([f"word {i % 300}" for i in range(5000)], True),
        ([f"word {i % 300}" if i % 3 == 0 else None for i in range(5000)], True),
        ([None] * 5000, True),
    ],
    ids=["prose", "prose in some rows", "prose after other text", "categories", "categories in some rows", "none"],
)
def test_text_whose_values_do_not_occur_again_is_not_encoded(values, encodes):
    table = Frame((ArrayColumn(np.array(values, object), "text", "object"),), ("a",), len(values))
    assert isinstance(encoded(table).columns()[0], CodedColumn) == encodes
    if values[0] != "none":  # only the first rows of Arrow's columns are looked at
        table = Frame((arrow_column(pa.chunked_array([pa.array(values, pa.string())]), "string"),), ("a",), len(values))
        assert isinstance(encoded(table).columns()[0], CodedColumn) == encodes
