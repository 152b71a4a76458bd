"""``python -m suffice.sklearn script.py``: run a script unchanged, with these classes in scikit-learn's place."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from . import patch


def main() -> None:
    """Run a script, or with -m a module, with its own arguments."""
    arguments = sys.argv[1:]
    is_module = arguments[:1] == ["-m"]
    arguments = arguments[is_module:]
    if not arguments or (arguments[0] in ("-h", "--help") and not is_module):
        print("usage: python -m suffice.sklearn script.py [arguments], or -m module [arguments]")
        sys.exit(0 if arguments else 2)
    patch()
    sys.argv = arguments
    if is_module:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
