"""Documentation examples run in a directory of their own, and figures are drawn without a screen and closed.

Processes of pytest-xdist share the processors: BLAS has one thread in each, before NumPy is imported and asks for more.
What collection leaves behind stays until the end: the garbage collector need not look at it again and again.
"""

import gc
import os
import sys

import pytest

os.environ["MPLBACKEND"] = "Agg"
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _examples_write_elsewhere(request):
    if isinstance(request.node, pytest.DoctestItem):  # only these ask for a directory: thousands of tests need none
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))


@pytest.fixture(autouse=True)
def _figures_are_closed():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
