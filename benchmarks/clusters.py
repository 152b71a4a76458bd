"""Fits on a cluster of two worker processes and in a Spark session of two threads, both on this machine and warm.

SUFFICE_BENCH_CLUSTER_ROWS=5000000 takes more rows than the default. dask-ml is raced where it is installed.
"""

from __future__ import annotations

import atexit
import os
import sys
from functools import cache, partial, reduce
from importlib.util import find_spec
from typing import Any

import dask
import dask.array as da
import numpy as np
import pyarrow as pa
from dask.distributed import Client, LocalCluster
from pyspark.ml import Pipeline
from pyspark.ml.classification import NaiveBayes
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import DataFrame, SparkSession

from suffice import GaussianClassifier

from .case import Call, Case, Goal

ROWS = int(os.environ.get("SUFFICE_BENCH_CLUSTER_ROWS", "500_000"))
COLUMNS, CLASSES, PARTITIONS = 32, 10, 8
WARM = 8  # calls before a race in a JVM
SIZE = f"{ROWS:_} x {COLUMNS}".replace("_", " ")


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=ROWS)
    return rng.standard_normal((ROWS, COLUMNS)) + rng.standard_normal((CLASSES, COLUMNS))[y], y


@cache
def on_dask() -> tuple[da.Array, da.Array]:
    """Rows in the memory of the workers."""
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    client = Client(cluster)
    atexit.register(cluster.close)
    atexit.register(client.close)
    X, y = rows()
    chunk = -(-ROWS // PARTITIONS)
    return dask.persist(da.from_array(X, chunks=(chunk, COLUMNS)), da.from_array(y, chunks=chunk))


@cache
def in_spark() -> DataFrame:
    """Rows in the memory of the session."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "3g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    atexit.register(session.stop)
    X, y = rows()
    names = [f"x{j}" for j in range(COLUMNS)]
    table = pa.table([*X.T, y], names=[*names, "label"])
    frame = session.createDataFrame(table).repartition(PARTITIONS).cache()
    frame.count()
    return frame


def fit_dask(covariance: str, data: tuple[da.Array, da.Array]) -> Call:
    return partial(GaussianClassifier(covariance).fit, *data)


def fit_spark(covariance: str, frame: DataFrame) -> Call:
    return warm(partial(GaussianClassifier(covariance).fit, frame, "label"))


def warm(call: Call) -> Call:
    """A call whose code the JVM has seen often enough to compile it."""
    for _ in range(WARM):
        call()
    return call


def block_moments(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts, sums and sums of squares, class by class: what one writes by hand."""
    of = [X[y == c] for c in range(CLASSES)]
    return np.bincount(y, minlength=CLASSES), np.array([x.sum(0) for x in of]), np.array([(x * x).sum(0) for x in of])


def by_hand(data: tuple[da.Array, da.Array]) -> Call:
    def call() -> Any:
        X, y = (array.to_delayed().ravel() for array in data)
        parts = [dask.delayed(block_moments)(a, b) for a, b in zip(X, y, strict=True)]
        n, total, square = reduce(lambda a, b: tuple(map(np.add, a, b)), dask.compute(*parts))
        mean = total / n[:, None]
        return mean, square / n[:, None] - mean**2

    return call


def dask_ml(data: tuple[da.Array, da.Array]) -> Call:
    from dask_ml.naive_bayes import GaussianNB

    def call() -> Any:
        model = GaussianNB().fit(*data)
        return dask.compute(model.theta_, model.sigma_)  # they are lazy

    return call


def naive_bayes(frame: DataFrame) -> Call:
    """MLlib takes vectors, which it assembles from columns by itself."""
    vectors = VectorAssembler(inputCols=[name for name in frame.columns if name != "label"], outputCol="features")
    return warm(partial(Pipeline(stages=[vectors, NaiveBayes(modelType="gaussian")]).fit, frame))


CASES = [
    Case(
        f"{SIZE}, Dask",
        "fit on a cluster, diag",
        on_dask,
        partial(fit_dask, "diag"),
        {"NumPy map-reduce": by_hand} | ({"dask-ml": dask_ml} if find_spec("dask_ml") else {}),
        Goal(1, 3),
        reference=None,
        memory=None,
    ),
    Case(
        f"{SIZE}, Spark",
        "fit in a session, diag",
        in_spark,
        partial(fit_spark, "diag"),
        {"MLlib NaiveBayes": naive_bayes},
        Goal(1.5, 4),
        reference=None,
        memory=None,
    ),
]
