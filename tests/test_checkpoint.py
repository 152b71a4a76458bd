"""Checkpoints: one run at a time, and nothing left behind by a killed one."""

import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice import GaussianClassifier, files, load_model
from suffice.errors import CheckpointError, ModelFileError

# Fits until it is killed; says so once it has begun.
RUN = """
import sys, time
from suffice import GaussianClassifier, files, load_model

def slow(progress):
    print("begun", flush=True)
    time.sleep(600)

GaussianClassifier().fit(files(sys.argv[1], progress=slow, checkpoint=sys.argv[2]), "y")
"""


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "rows"
    path.mkdir()
    for i in range(3):
        table = pa.table({"a": rng.normal(size=50), "b": rng.normal(size=50), "y": rng.integers(0, 2, 50)})
        pq.write_table(table, path / f"{i}.parquet")
    return path


def test_a_checkpoint_in_use_is_refused_and_a_killed_run_is_resumed(tmp_path, rows):
    checkpoint = tmp_path / "at" / "checkpoint"
    checkpoint.parent.mkdir()
    with subprocess.Popen([sys.executable, "-c", RUN, rows, checkpoint], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "begun\n"
        with pytest.raises(CheckpointError, match="in use by another run; wait until it ends"):
            GaussianClassifier().fit(files(rows, checkpoint=checkpoint), "y")
        os.kill(other.pid, signal.SIGKILL)
    (checkpoint.parent / ".checkpoint.0123456789abcdef").touch()  # as a kill in the middle of a write leaves it
    found = GaussianClassifier().fit(files(rows, checkpoint=checkpoint), "y")
    np.testing.assert_array_equal(found.covariances_, GaussianClassifier().fit(files(rows), "y").covariances_)
    assert os.listdir(checkpoint.parent) == ["checkpoint"]


def test_models_and_checkpoints_are_not_taken_for_each_other(tmp_path):
    X, y = np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1]
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1] ** 2, "y": y}), tmp_path / "rows.parquet")
    GaussianClassifier("diag").fit(X, y).save(tmp_path / "model")
    with pytest.raises(CheckpointError, match="model holds a model, not a checkpoint; give another file"):
        GaussianClassifier("diag").fit(files(tmp_path / "rows.parquet", checkpoint=tmp_path / "model"), "y")
    GaussianClassifier("diag").fit(files(tmp_path / "rows.parquet", checkpoint=tmp_path / "progress"), "y")
    with pytest.raises(ModelFileError, match="progress is the checkpoint of an interrupted fit; resume the fit"):
        load_model(tmp_path / "progress")
