"""Short versions of `make stress` and `make fuzz`, in processes of their own: they set signal handlers and limits."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(("script", "amount"), [("interrupts", "15"), ("kills", "3"), ("modelfiles", "100")])
def test_a_short_run_finds_nothing(script, amount):
    option = {"interrupts": "--interrupts", "kills": "--kills", "modelfiles": "--files"}[script]
    done = subprocess.run(
        [sys.executable, "-m", f"tests.stress.{script}", option, amount], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
