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


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)
