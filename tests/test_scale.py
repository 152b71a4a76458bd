"""Many partitions, merged as clusters do it, against exact sums of integers."""

from __future__ import annotations

from benchmarks.scale import errors


def test_merging_many_partitions_loses_no_digits() -> None:
    found = errors(500)
    assert 0 < found["of means"] < 1e-11
    assert 0 < found["of scatters"] < 1e-12
