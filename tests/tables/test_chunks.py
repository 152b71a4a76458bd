"""Rows of columns in several chunks, as Arrow and pandas hold them after files were read in parts."""

import numpy as np
import pyarrow as pa
import pytest

from suffice.tables.arrow import arrow_column

WORDS = [None if i % 7 == 3 else f"w{i % 5}" for i in range(50)]
CHUNKED = pa.chunked_array([WORDS[:1], [], WORDS[1:20], WORDS[20:21], WORDS[21:]], pa.string())


@pytest.mark.parametrize(
    "rows",
    [[0], [49], [0, 1, 20, 21, 49], [1, 1, 20, 20], list(range(50)), list(range(49, -1, -1)), [5, 3, 40], []],
    ids=str,
)
def test_rows_of_chunks_are_those_of_one_array(rows):
    column = arrow_column(CHUNKED, "string")[np.array(rows, np.int64)]
    assert len(column) == len(rows)
    assert column.values.to_pylist() == [WORDS[row] for row in rows]
    distinct, code = column.coded()
    assert [distinct[c] if c >= 0 else None for c in code] == [WORDS[row] for row in rows]
