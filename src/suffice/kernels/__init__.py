"""The hot loops, behind one interface with two implementations.

`reference` (NumPy) is the readable definition and the fallback; `native` (C++) is compiled for several instruction
sets and picks the best one at run time. Both are single-threaded; whoever calls them splits the rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from . import reference

try:
    from . import native
except ImportError:  # installed without a compiler
    _native: ModuleType | None = None
else:
    _native = native


def available() -> tuple[str, ...]:
    """Names for `select`, the fastest first."""
    return (*(_native.instruction_sets() if _native else ()), "reference")


def select(name: str) -> None:
    """Choose the kernels of this process by a name of `available()`."""
    global active, active_name
    if name not in available():
        raise ValueError(f"no kernels {name!r} here; choose one of {', '.join(available())}")
    if name == "reference" or _native is None:
        active = reference
    else:
        _native.use(name)
        active = _native
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
