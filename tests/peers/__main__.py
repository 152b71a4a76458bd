"""Run scikit-learn's own tests with our names in place: ``python -m tests.peers [pytest's arguments]``."""

import sys

import pytest

from .plugin import FILES

OPTIONS = ["-c", "/dev/null", "-p", "no:cacheprovider", "-p", "tests.peers.plugin", "--pyargs", "-q", "-ra"]

if __name__ == "__main__":
    named = [argument for argument in sys.argv[1:] if argument.startswith("sklearn")]
    options = [argument for argument in sys.argv[1:] if argument not in named]
    sys.exit(pytest.main([*OPTIONS, *options, *(named or FILES)]))
