"""The hot loops, behind one interface with two implementations.

`reference` (NumPy) is the readable definition and the fallback; `native` (C++) is compiled for several instruction
sets and picks the best one at run time. Both are single-threaded; whoever calls them splits the rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType

from . import reference
from .reference import Moments as Moments
from .reference import Numbers as Numbers

native: ModuleType | None
why_no_native = ""
try:
    from . import native
except ImportError as error:
    native = None
    built = find_spec(f"{__name__}._native") is not None
    why_no_native = f"the native kernels do not load: {error}" if built else "installed without a C++ compiler"


def available() -> tuple[str, ...]:
    """Names for `select`, the fastest first."""
    return (*(native.instruction_sets() if native else ()), "reference")


def select(name: str) -> None:
    """Choose the kernels of this process by a name of `available()`."""
    global active, active_name
    if name not in available():
        raise ValueError(f"no kernels {name!r} here; choose one of {', '.join(available())}")
    if name == "reference" or native is None:
        active = reference
    else:
        native.use(name)
        active = native
    active_name = name


@contextmanager
def using(name: str) -> Iterator[None]:
    """Choose the kernels within a ``with`` block."""
    before = active_name
    select(name)
    try:
        yield
    finally:
        select(before)


active: ModuleType = reference
active_name = "reference"
select(os.environ.get("SUFFICE_KERNELS") or available()[0])
