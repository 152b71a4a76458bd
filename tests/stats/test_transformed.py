"""Moments of transformed cells where their squares overflow."""

import numpy as np

from suffice.stats.support import POSITIVE
from suffice.stats.transformed import TransformedStats
from suffice.tables.batch import Batch


def test_what_has_overflowed_stays_so_when_rows_are_forgotten():
    def of(*values):
        rows = Batch.of([[v] for v in values], ["a"] * len(values))
        return TransformedStats.of(rows, ("identity",), POSITIVE, "gamma")

    rest, gone = of(1e200, 3e200), of(5e200, 9e200)
    assert rest.scatter.item() == np.finfo(np.float64).max
    left = (rest + gone) - gone
    np.testing.assert_allclose(left.mean, rest.mean, rtol=1e-12)
    assert left.scatter.item() == rest.scatter.item()
