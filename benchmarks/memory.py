"""Peak memory of a call, as the system sees the process (Linux)."""

from __future__ import annotations

import ctypes
import gc
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa

from .case import Case

PROCESS = Path("/proc/self")


def extra_memory(case: Case) -> float | None:
    """MB beyond input and output that our first call takes in a new process; None where the system does not tell.

    Being the first, it also pays for imports, thread stacks and buffers of BLAS.
    """
    if not (PROCESS / "clear_refs").exists():
        return None
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_extra, case).result()


def _extra(case: Case) -> float:
    call = case.ours(case.load())
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)  # or the call would be given memory that the preparation has freed
    before = _status("VmRSS")
    (PROCESS / "clear_refs").write_text("5")  # VmHWM, the peak, starts again from here
    output = call()
    return max(0, _status("VmHWM") - before - len(pickle.dumps(output))) / 2**20


def _status(key: str) -> int:
    """A figure of the process, in bytes."""
    lines = (PROCESS / "status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key + ":"))
