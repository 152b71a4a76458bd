"""What a large job costs: what is measured of a row, a statistic and a merge, and what follows for many of them.

`python -m benchmarks.scale` measures, merges 10 000 simulated partitions, holds the result against exact sums of
integers, and prints a table. Time goes into rows; what travels and what is merged depends on partitions alone.
"""

from __future__ import annotations

import operator
import pickle
import sys
from functools import partial
from time import perf_counter
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from suffice import MomentStats
from suffice.sources.cluster import FAN_IN, merged, tree
from suffice.tables.batch import Batch

Array = NDArray[Any]

CLASSES, COLUMNS, ROWS = 10, 32, 1000  # of a partition
OFFSET = 1_000_000  # of values that vary by hundreds: what raw sums of squares would lose digits by
JOBS = (10**9, 10**4), (10**12, 10**6)  # rows and partitions


def partition(seed: int) -> tuple[Array, Array]:
    """Integers (n, d) and labels; the level drifts from partition to partition."""
    rng = np.random.default_rng(seed)
    y = rng.integers(CLASSES, size=ROWS, dtype=np.int32)
    return rng.integers(-300, 300, (ROWS, COLUMNS)) + 20 * y[:, None] + seed % 100, y


def statistic(seed: int, layout: str) -> MomentStats:
    X, y = partition(seed)
    return MomentStats.of(Batch.of(X + float(OFFSET), y), layout)


def exact(seeds: range) -> tuple[Array, Array]:
    """Mean (k, d) and scatter (k, d, d) of all partitions: sums of integers, rounded once at the end."""
    n, first = np.zeros(CLASSES, np.int64), np.zeros((CLASSES, COLUMNS), np.int64)
    second = np.zeros((CLASSES, COLUMNS, COLUMNS), np.int64)
    for seed in seeds:
        X, y = partition(seed)
        for c in range(CLASSES):
            rows = X[y == c]
            n[c] += len(rows)
            first[c] += rows.sum(axis=0)
            second[c] += rows.T @ rows
    sums, count = first.astype(object), n.astype(object)
    scatter = [second[c].astype(object) * count[c] - np.outer(sums[c], sums[c]) for c in range(CLASSES)]
    return first / n[:, None] + OFFSET, np.stack([s / count[c] for c, s in enumerate(scatter)]).astype(float)


def seconds(work: Any, times: int) -> float:
    """Of one call."""
    start = perf_counter()
    for _ in range(times):
        work()
    return (perf_counter() - start) / times


def costs(layout: str) -> dict[str, float]:
    """Of a row on one processor, of the statistic, and of a merge."""
    rng = np.random.default_rng(0)
    batch = Batch.of(rng.normal(size=(200_000, COLUMNS)), rng.integers(CLASSES, size=200_000))
    stats = MomentStats.of(batch, layout)
    return {
        "ns a row": 1e9 * seconds(partial(MomentStats.of, batch, layout), 5) / len(batch),
        "kB": len(pickle.dumps(stats)) / 1e3,
        "us a merge": 1e6 * seconds(lambda: stats + stats, 300),
    }


def errors(partitions: int) -> dict[str, float]:
    """The largest errors after all partitions are merged as clusters do it: of means, in standard deviations, and of
    scatters, relative; and the seconds that the merges took."""
    seeds, join, spent = range(partitions), partial(merged, operator.add), 0.0
    groups: list[Any] = []
    for first in range(0, partitions, FAN_IN):
        parts = [statistic(seed, "full") for seed in seeds[first : first + FAN_IN]]
        start = perf_counter()
        groups.append(join(parts))
        spent += perf_counter() - start
    start = perf_counter()
    total = tree(groups, join)
    spent += perf_counter() - start
    mean, scatter = exact(seeds)
    variation = np.sqrt(np.einsum("kii->ki", scatter))
    return {
        "of means": float((np.abs(total.mean - mean) / (variation / np.sqrt(total.weight)[:, None])).max()),
        "of scatters": float((np.abs(total.scatter - scatter) / np.einsum("ki,kj->kij", variation, variation)).max()),
        "seconds": spent,
    }


@click.command()
@click.option("--partitions", default=10_000, show_default=True, help="Partitions to merge.")
def main(partitions: int) -> None:
    """Measure, merge simulated partitions, and say what to expect of large jobs."""
    table = Table(title=f"{COLUMNS} columns, {CLASSES} classes, one processor")
    for heading in ("statistic", "ns a row", "kB", "us a merge"):
        table.add_column(heading, justify="left" if heading == "statistic" else "right")
    for rows, parts in JOBS:
        table.add_column(f"{rows:.0e} rows in {parts:.0e} partitions", justify="right")
    for layout in ("diag", "pooled", "full"):
        cost = costs(layout)
        jobs = [
            f"{rows * cost['ns a row'] / 3.6e12:.3g} h of rows, {parts * cost['us a merge'] / 1e6:.2g} s of merges, "
            f"{parts * cost['kB'] / 1e6:.2g} GB travel"
            for rows, parts in JOBS
        ]
        table.add_row(layout, *(f"{value:.3g}" for value in cost.values()), *jobs)
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table)
    found = errors(partitions)
    console.print(
        f"{partitions} partitions of {ROWS} rows, full statistics merged in {found['seconds']:.2g} s; largest error of "
        f"a mean {found['of means']:.1g} standard deviations, of a scatter {found['of scatters']:.1g}"
    )


if __name__ == "__main__":
    main()
