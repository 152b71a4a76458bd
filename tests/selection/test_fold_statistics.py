"""The statistics of training sets against collecting each of them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from suffice.errors import DataError
from suffice.selection.fold_statistics import rounds, training_statistics
from suffice.sources.frames.arrays import array_source
from suffice.stats import MomentStats
from suffice.tables.batch import Batch

rng = np.random.default_rng(0)
X, Y = rng.normal(1e3, 1.0, (60, 3)), rng.permutation(np.repeat(["a", "b", "c"], 20))
BOOTSTRAP = [(rng.integers(60, size=60), np.arange(5)) for _ in range(3)]
SPLITS = {
    "folds": (list(KFold(5).split(X)), 1),
    "stratified": (list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, Y)), 1),
    "repeated": (list(RepeatedKFold(n_splits=3, n_repeats=4, random_state=0).split(X)), 4),
    "part never left out": (list(PredefinedSplit([-1] * 20 + [0] * 20 + [1] * 20).split()), 1),
    "shuffled": (list(ShuffleSplit(3, test_size=0.5, random_state=0).split(X)), 3),
    "forward": (list(TimeSeriesSplit(4).split(X)), 4),
    "one by one": (list(LeaveOneOut().split(X)), 2),
    "with repetition": (BOOTSTRAP, 3),
}


@pytest.mark.parametrize("name", SPLITS)
def test_sums_are_the_statistics_of_training_rows(name: str) -> None:
    splits, n_rounds = SPLITS[name]
    source = array_source(X, Y, np.arange(60) % 3 + 1.0)
    parts = list(rounds((train for train, _ in splits), 60))
    assert len(parts) == n_rounds
    found = []
    for part in parts:
        statistics = training_statistics(source, part, partial(MomentStats.of, layout="full"))
        found += map(statistics.without, range(len(part.left)))
        if len(part.left) > 1:
            assert statistics.whole().total == source.weight.sum()
    assert len(found) == len(splits)
    for statistic, (train, _) in zip(found, splits, strict=True):
        direct = MomentStats.of(Batch.of(X[train], Y[train], source.weight[train]), "full")
        assert statistic.classes.tolist() == direct.classes.tolist()
        for key, array in direct.to_arrays().items():
            np.testing.assert_allclose(statistic.to_arrays()[key], array, rtol=1e-10, atol=1e-9)


def test_a_row_of_another_order_of_magnitude_spoils_no_split_without_it() -> None:
    wild = X.copy()
    wild[0] = 1e12
    source = array_source(wild, Y)
    (part,) = rounds((train for train, _ in KFold(3).split(X)), 60)
    first = training_statistics(source, part, partial(MomentStats.of, layout="full")).without(0)
    train, _ = next(KFold(3).split(X))
    np.testing.assert_allclose(first.scatter, MomentStats.of(Batch.of(X[train], Y[train]), "full").scatter, rtol=1e-9)


def test_what_cannot_be_collected_fails_where_it_is_trained_on() -> None:
    holed = X.copy()
    holed[0, 0] = np.nan
    (part,) = rounds((train for train, _ in KFold(3).split(X)), 60)
    statistics = training_statistics(array_source(holed, Y), part, MomentStats.of)
    assert isinstance(statistics.without(0), MomentStats)
    others = statistics.without(1), statistics.without(2), statistics.whole()
    assert all(isinstance(one, DataError) and "NaN" in str(one) for one in others)


def test_a_split_without_training_rows() -> None:
    (part,) = rounds([np.arange(0)], 60)
    assert "no rows" in str(training_statistics(array_source(X, Y), part, MomentStats.of).without(0))
