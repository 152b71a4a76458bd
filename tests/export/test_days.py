"""Parts of dates in the arithmetic of engines."""

import numpy as np
import pytest

from suffice.export.days import PARTS, Arithmetic, part_of
from suffice.tables import parsing


@pytest.mark.parametrize("part", PARTS)
def test_parts_are_those_of_the_library(part):
    rng = np.random.default_rng(0)
    days = np.concatenate(
        [np.arange(-800_000, 2_900_000, 7.0), rng.uniform(-1e5, 1e5, 10_000), np.arange(-999, 999) / 24]
    )
    np.testing.assert_array_equal(part_of(part, days, Arithmetic(np.floor, float)), parsing.PARTS[part](days))
    assert PARTS.keys() == parsing.PARTS.keys()
