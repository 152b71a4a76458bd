"""Checkpoints: one run at a time, and nothing left behind by a killed one."""

import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice import GaussianClassifier, files
from suffice.errors import CheckpointError

# Fits until it is killed; says so once it has begun.
RUN = """
import sys, time
from suffice import GaussianClassifier, files

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
