"""Fits from Parquet files against only reading them, and against pandas and scikit-learn.

SUFFICE_BENCH_FILE_ROWS=5000000 takes more rows than the default.
"""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from suffice import GaussianClassifier

from .case import Call, Case, Goal

ROWS = int(os.environ.get("SUFFICE_BENCH_FILE_ROWS", "1_000_000"))
COLUMNS, CLASSES = 32, 10
DATA = f"{ROWS:_} x {COLUMNS}, Parquet".replace("_", " ")


def written(rows: int = ROWS) -> Path:
    """A file with the row groups that pyarrow makes by default; it is kept for the next time."""
    path = Path(tempfile.gettempdir()) / f"suffice-bench-{rows}x{COLUMNS}.parquet"
    if path.exists():
        return path
    rng = np.random.default_rng(0)
    schema = pa.schema([*((f"x{j}", pa.float64()) for j in range(COLUMNS)), ("label", pa.int64())])
    unfinished = path.with_suffix(f".{os.getpid()}")
    with pq.ParquetWriter(unfinished, schema) as writer:
        for start in range(0, rows, 1 << 20):
            y = rng.integers(CLASSES, size=min(1 << 20, rows - start))
            columns = [rng.standard_normal(len(y)) + rng.standard_normal(CLASSES)[y] for _ in range(COLUMNS)]
            writer.write_table(pa.table([*columns, y], schema=schema))
    unfinished.rename(path)
    return path


def fit(covariance: str, path: Path) -> Call:
    return partial(GaussianClassifier(covariance).fit, path, "label")


def read_and_fit(model: Any, path: Path) -> Call:
    def call() -> None:
        frame = pd.read_parquet(path)
        model.fit(frame.drop(columns="label"), frame["label"])

    return call


def only_read(path: Path) -> Call:
    """What no implementation could do without."""

    def call() -> None:
        for _ in pq.ParquetFile(path).iter_batches():
            pass

    return call


def case(covariance: str, name: str, peer: Any, ratio: Goal, distance: Goal) -> Case:
    return Case(
        DATA,
        f"fit from a file, {covariance}",
        written,
        partial(fit, covariance),
        {f"pandas, {name}": partial(read_and_fit, peer)},
        ratio,
        limit=only_read,
        distance=distance,
        reference=None,
        memory=Goal(600, 300),
    )


CASES = [
    case("diag", "NB", GaussianNB(), Goal(3, 6), Goal(1.6, 1.2)),
    case("tied", "LDA", LinearDiscriminantAnalysis(solver="eigen"), Goal(3, 6), Goal(2.5, 1.6)),
    case("full", "QDA", QuadraticDiscriminantAnalysis(), Goal(3, 6), Goal(2.5, 1.6)),
]
