"""Build the native kernels with sanitizers of the compiler, apart from the installed ones, and run tests with them.

Usage: python -m tests.sanitize address|thread [options of pytest]

"address" is AddressSanitizer and UndefinedBehaviorSanitizer, "thread" is ThreadSanitizer: those of gcc on Linux.
A finding ends the process, so that the tests fail. Only code that we compile is looked at.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
KERNELS = ["tests/kernels", "tests/stats"]
MORE = ["tests/tables", "tests/test_metrics.py", "tests/stress/test_races.py"]
THREADS = [
    "test_blas_keeps_its_threads_through_concurrent_fits",
    "test_one_model_scores_on_many_threads_at_once",
    "test_a_forked_child_can_fit",
]
SANITIZERS = {
    "address": ("address,undefined", "libasan.so", [*KERNELS, *MORE]),
    # Not test_races.py, which is made of races; and polars does not load under this one.
    "thread": ("thread", "libtsan.so", [*KERNELS, *(f"tests/test_threads.py::{name}" for name in THREADS)]),
}
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:allocator_may_return_null=1",  # Python keeps memory until it ends
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": f"halt_on_error=1:die_after_fork=0:suppressions={HERE / 'thread.txt'}",
}


def build(name: str) -> Path:
    """The kernels built with sanitizers, in a directory of their own."""
    where = ROOT / "build" / f"sanitize-{name}"
    settings = {
        "build-dir": where / "cmake",
        "cmake.define.SUFFICE_SANITIZE": SANITIZERS[name][0],
        "cmake.build-type": "RelWithDebInfo",  # or else the names of functions are stripped
    }
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"]
    options = [f"--config-settings={key}={value}" for key, value in settings.items()]
    subprocess.run([*install, where / "package", *options, ROOT], check=True)
    built = list((where / "package").rglob("_native*.so"))
    if not built:  # a package without them is no error of pip
        sys.exit("the compiler failed; run the same with pip install --verbose")
    return built[0]


def main() -> int:
    name, *pytest = sys.argv[1:]
    _, library, tests = SANITIZERS[name]
    compiler = os.environ.get("CXX", "c++")
    runtime = [
        subprocess.run([compiler, f"-print-file-name={one}"], check=True, capture_output=True, text=True).stdout.strip()
        for one in (library, "libstdc++.so")  # which the runtime looks for when it starts
    ]
    environment = OPTIONS | {
        "SUFFICE_SANITIZED": str(build(name)),
        "LD_PRELOAD": " ".join(runtime),
        "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    # File descriptors are not captured: the report of a sanitizer is the last that a process writes.
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--capture=sys", *tests, *pytest]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
