"""Samples of rows for the automatic choice: rare classes have enough rows, and all classes keep their frequencies."""

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.errors import MissingLabelsError
from suffice.sources import as_source
from suffice.sources.sampling import sampled

COUNTS = {"usual": 8000, "rare": 300, "few": 30, "one": 1}


def table(counts, labels=str, seed=0):
    y = np.repeat([labels(name) for name in counts], list(counts.values()))
    order = np.random.default_rng(seed).permutation(len(y))
    return pd.DataFrame({"x": np.arange(len(y), dtype=float), "y": y[order]})


def in_memory(frame, weight, folder):
    return as_source(frame, "y", weight)


def in_files(frame, weight, folder):
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(folder / f"part{i}.parquet", row_group_size=500)
    return as_source(folder / "*.parquet", "y", weight)


@pytest.mark.parametrize("source_of", [in_memory, in_files])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_have_enough_rows_and_the_weights_of_all_rows(source_of, weighted, tmp_path):
    frame, n = table(COUNTS), 400  # of which each class gets 20 at least
    if weighted:
        frame["w"] = np.random.default_rng(1).integers(0, 4, len(frame)) * 0.25
        frame.loc[frame["y"] == "one", "w"] = 0.25
    source = source_of(frame, "w" if weighted else None, tmp_path)
    some = sampled(source, n, 0).rows
    own = pd.DataFrame({"y": some.y, "weight": some.weight, "x": np.asarray(some.table.floats())[:, 0]})
    assert own["x"].is_unique
    assert own["x"].is_monotonic_increasing
    np.testing.assert_array_equal(frame["y"][own["x"].astype(int)], own["y"])
    rows = own[own["weight"] > 0].groupby("y").size()
    assert rows["rare"] >= 20
    assert rows["few"] >= (15 if weighted else 20)
    assert rows["one"] == 1
    assert n < len(own) <= n + 40
    expected = frame.groupby("y")["w"].sum() if weighted else pd.Series(COUNTS)
    np.testing.assert_allclose(own.groupby("y")["weight"].sum()[expected.index], expected, rtol=1e-12)


@pytest.mark.parametrize("source_of", [in_memory, in_files])
@pytest.mark.parametrize(
    "counts",
    [
        {"a": 3000, "b": 2000},  # no class is rare
        {str(i): 1 for i in range(5000)},  # these are no classes
    ],
)
def test_nothing_is_weighted_without_rare_classes(source_of, counts, tmp_path):
    some = sampled(source_of(table(counts), None, tmp_path), 400, 0).rows
    assert some.n_rows == 400
    assert some.weight is None or (some.weight == 1).all()


@pytest.mark.parametrize("source_of", [in_memory, in_files])
def test_many_classes_share_half_of_the_rows(source_of, tmp_path):
    some = sampled(source_of(table({i: 2 + i for i in range(100)}, int), None, tmp_path), 1000, 0).rows
    rows = np.unique(some.y, return_counts=True)[1]
    assert (rows >= np.minimum(5, 2 + np.arange(100))).all()
    assert some.n_rows < 1500


def test_missing_labels_are_left_to_those_who_count_them():
    frame = table(COUNTS)
    frame.loc[::50, "y"] = None
    with pytest.raises(MissingLabelsError, match="167 missing labels"):
        suffice.fit(frame, "y")


@pytest.mark.parametrize("source_of", [in_memory, in_files])
@pytest.mark.parametrize("by_class", [False, True])
def test_rows_without_weight_are_read_but_not_chosen(source_of, by_class, tmp_path):
    frame = table({"a": 3000, "b": 2000})
    frame["w"] = np.arange(5000) % 5 * 0.5
    found, positions, n_rows, n_read = sampled(source_of(frame, "w", tmp_path), 400, 0, by_class)
    assert (found.n_rows, n_rows, n_read) == (400, 4000, 5000)
    assert (positions % 5 > 0).all()
    np.testing.assert_array_equal(np.asarray(found.table.floats())[:, 0], frame["x"][positions])
