"""The automatic choice on tables of few rows and many columns."""

import numpy as np

import suffice
from suffice.selection import candidates
from suffice.stats import WideMomentStats


def test_few_rows_of_many_columns_are_tried_with_a_tied_covariance(monkeypatch):
    monkeypatch.setattr(candidates, "_ENTRIES", 1)
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 1)) * rng.normal(size=100) + 0.1 * rng.normal(size=(40, 100)) + 0.2 * y[:, None]
    found = suffice.fit(X, y)
    assert found.get_params()["covariance"] == "tied"
    assert isinstance(found.statistics_, WideMomentStats)
