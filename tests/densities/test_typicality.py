"""Rows with missing cells, pattern by pattern, and how much typicality by drawing may cost."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from suffice import MixedClassifier
from suffice.densities import typicality
from suffice.tables.missing import patterns

TABLES = st.tuples(st.integers(0, 40), st.sampled_from([1, 2, 7, 8, 9, 63, 64, 65, 130])).flatmap(
    lambda shape: hnp.arrays(bool, shape, elements=st.booleans()) | hnp.arrays(bool, shape, fill=st.just(False))
)


@given(TABLES, st.integers(1, 3))
def test_patterns_are_the_distinct_rows_and_where_they_are(missing, repeats):
    missing = np.concatenate([missing] * repeats)
    found = list(patterns(missing))
    expected, which = np.unique(missing, axis=0, return_inverse=True)
    assert sorted(map(tuple, expected)) == sorted(tuple(row) for row, _ in found)
    for row, places in found:
        (kind,) = np.flatnonzero((expected == row).all(axis=1))
        np.testing.assert_array_equal(places, np.flatnonzero(which.reshape(-1) == kind))


@pytest.fixture(scope="module")
def mixed():
    """A mixed model, and rows of which nearly every one misses other cells."""
    rng = np.random.default_rng(1)
    n, y = 2000, rng.integers(0, 2, 2000)
    frame = pd.DataFrame({f"number{j}": rng.normal(y, 1.0 + j) for j in range(4)})
    for j in range(4):
        frame[f"word{j}"], frame[f"count{j}"] = rng.choice(list("abcd"), n), rng.poisson(2 + y)
    families = {name: {"n": "gaussian", "w": "categorical", "c": "poisson"}[name[0]] for name in frame}
    model = MixedClassifier(families).fit(frame, y)
    return model, frame.mask(rng.random(frame.shape) < 0.3)


def test_typicality_of_rows_with_missing_cells_takes_a_bounded_number_of_draws(mixed, monkeypatch):
    model, rows = mixed
    density, drawn = type(model.density_), []
    sample = density.sample

    def counted(self, code, rng):
        drawn.append(len(code))
        return sample(self, code, rng)

    monkeypatch.setattr(density, "sample", counted)
    found = model.typicality(rows)
    assert len(drawn) <= 2 * 2  # for complete rows and for others, of each class: not for each pattern
    assert sum(drawn) <= 2 * (typicality._DRAWS + typicality._DRAWS_OF_PATTERN)
    some = rows.iloc[:50]
    np.testing.assert_array_equal(model.typicality(some), found[:50])  # the draws do not depend on the table

    monkeypatch.setattr(typicality, "_DRAWS_OF_PATTERN", 20_000)
    monkeypatch.setattr(typicality, "_DRAWS", 20_000)
    long = model.typicality(some)
    # The standard error of a share of 1000 draws is at most 0.016; all rows of a pattern share theirs.
    assert np.abs(long - found[:50]).max() < 4.5 * 0.016
    assert np.sqrt(np.mean((long - found[:50]) ** 2)) < 2 * 0.016
