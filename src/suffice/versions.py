"""The versions that are installed and in use, for bug reports."""

from __future__ import annotations

import platform
from importlib import metadata

from . import kernels
from ._version import __version__
from .threads import thread_count

_PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow", "safetensors", "pandas", "polars")


def show_versions() -> None:
    """Print the versions of suffice, Python and its packages, and the kernels in use.

    Examples
    --------
    >>> import suffice
    >>> suffice.show_versions()
    suffice ...
    kernels ...
    threads ...
    """
    if len(kernels.available()) > 1:
        in_use = f"{kernels.active_name} (of {', '.join(kernels.available())})"
    else:
        in_use = f"reference (NumPy only; {kernels.why_no_native})"
    print(f"suffice       {__version__}")
    print(f"kernels       {in_use}")
    print(f"threads       {thread_count()}")
    print(f"python        {platform.python_version()} on {platform.platform()}")
    for package in _PACKAGES:
        try:
            print(f"{package:13} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            print(f"{package:13} not installed")
