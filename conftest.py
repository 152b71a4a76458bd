"""Documentation examples run in a directory of their own."""

import pytest


@pytest.fixture(autouse=True)
def _examples_write_elsewhere(request, tmp_path, monkeypatch):
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
