"""A short version of races.py, in a process of its own: a crash is an exit code."""

import subprocess
import sys


def test_nothing_crashes_when_another_thread_changes_the_arrays():
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.stress.races", "--seconds", "0.02"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
