"""Interrupt calls at random moments: each must come back at once, leave everything as it was, and work the next time.

Usage: python -m tests.stress.interrupts [--interrupts 10000] [--seed 0]

A timer of the system raises KeyboardInterrupt in the main thread, as Ctrl-C does, at a moment drawn over the time that
the call takes. A watchdog ends the process with the stacks of all threads if a call hangs.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_info

from suffice import (
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MixtureModel,
    OnePassSearchCV,
    checkpoint,
    files,
)
from suffice.regression import problem
from suffice.sources import base

THREADS = (1, 2, 8)
HANGS = 60.0  # seconds after which a call is said to hang


SMALL = {  # so that small tables use threads, and checkpoints are written at every step
    (base, "PIECE"): 1 << 11,
    (problem, "_SMALL"): 0,
    (checkpoint, "SECONDS"): 0.0,
}


@contextmanager
def small_pieces() -> Iterator[None]:
    before = {(module, name): getattr(module, name) for module, name in SMALL}
    try:
        for (module, name), value in SMALL.items():
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)


class Interrupter:
    """Interrupts calls and keeps count."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tried = self.interrupted = self.twice = 0
        self.slowest = 0.0  # seconds from the interrupt to the return
        self.due = 0  # interrupts that are still to come

    def raised(self, *_: object) -> None:
        """Handle the signal. It may come late, when the call is done: then nothing is due."""
        if self.due:
            self.due -= 1
            if self.due:
                signal.setitimer(signal.ITIMER_REAL, self.random.uniform(1e-5, 1e-3))
            raise KeyboardInterrupt

    def __call__(self, call: Callable[[], object], takes: float) -> bool:
        """Run a call with an interrupt at a random moment, sometimes with two; False if it was done before."""
        delay = self.random.uniform(1e-5, takes)
        self.tried += 1
        faulthandler.dump_traceback_later(HANGS, exit=True)
        start = time.perf_counter()
        try:
            try:
                self.due = 2 if self.random.random() < 0.1 else 1
                signal.setitimer(signal.ITIMER_REAL, delay)
                call()
                self.due = 0
                return False
            except KeyboardInterrupt:
                self.interrupted += 1
                self.slowest = max(self.slowest, time.perf_counter() - start - delay)
                while self.due and time.perf_counter() < start + delay + 0.01:
                    pass
                self.due = 0
                return True
        except KeyboardInterrupt:
            self.twice += 1
            return True
        finally:
            self.due = 0
            faulthandler.cancel_dump_traceback_later()


def statistics(model: Any) -> dict[str, Any]:
    return {name: array.tobytes() for name, array in model.statistics_.to_arrays().items()}


def write_rows(folder: Path) -> tuple[Any, Any]:
    """Rows, also in files of several row groups."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 4000)
    X = rng.normal(size=(4000, 6)) + y[:, None]
    for i in range(4):
        part = slice(1000 * i, 1000 * (i + 1))
        columns = {f"x{j}": X[part, j] for j in range(6)} | {"y": y[part]}
        pq.write_table(pa.table(columns), folder / f"{i}.parquet", row_group_size=250)
    return X, y


def jobs(folder: Path) -> dict[str, Callable[[int, Interrupter, int], None]]:
    """What is interrupted: each job takes the number of threads, and interrupts calls a number of times."""
    X, y = write_rows(folder)

    def duration(call: Callable[[], object]) -> float:
        call()
        start = time.perf_counter()
        call()
        return 1.1 * (time.perf_counter() - start)

    def fit(threads: int, interrupt: Interrupter, n: int) -> None:
        model = GaussianClassifier("full", n_jobs=threads).fit(X[:3000], y[:3000])
        before, after = statistics(model), statistics(GaussianClassifier("full", n_jobs=threads).fit(X, y))
        takes = duration(lambda: model.fit(X[:3000], y[:3000]))
        for _ in range(n):
            model = GaussianClassifier("full", n_jobs=threads).fit(X[:3000], y[:3000])
            interrupt(lambda: model.fit(X, y), takes)  # noqa: B023
            assert statistics(model) in (before, after), "an interrupted fit changed the model in part"

    def partial_fit(threads: int, interrupt: Interrupter, n: int) -> None:
        model = MixedClassifier(n_jobs=threads).fit(X, y)
        takes, weight = duration(lambda: MixedClassifier(n_jobs=threads).fit(X, y)), model.statistics_.weight.sum()
        for _ in range(n):
            done = not interrupt(lambda: model.partial_fit(X, y), takes)
            more = round(model.statistics_.weight.sum() - weight)
            assert more == 4000 if done else more in (0, 4000), f"{more} rows of 4000 were counted"
            weight += more

    def predict(threads: int, interrupt: Interrupter, n: int) -> None:
        model = GaussianClassifier("full", n_jobs=threads).fit(X, y)
        expected = model.predict(X)
        takes = duration(lambda: model.predict(X))
        for _ in range(n):
            interrupt(lambda: model.predict(X), takes)
        np.testing.assert_array_equal(model.predict(X), expected)

    def estimated_prior(threads: int, interrupt: Interrupter, n: int) -> None:
        model = GaussianClassifier("full", n_jobs=threads).fit(X, y)
        expected, takes = model.estimate_prior(X), duration(lambda: model.estimate_prior(X))
        for _ in range(n):
            interrupt(lambda: model.estimate_prior(X), takes)
        np.testing.assert_array_equal(model.estimate_prior(X), expected)

    def mixture(threads: int, interrupt: Interrupter, n: int) -> None:
        def call() -> Any:
            return MixtureModel(2, n_init=1, random_state=0, n_jobs=threads).fit(X)

        expected, takes = call().predict(X), duration(call)
        for _ in range(n):
            interrupt(call, takes)
        np.testing.assert_array_equal(call().predict(X), expected)

    def search(threads: int, interrupt: Interrupter, n: int) -> None:
        grid = {"covariance": ["full", "diag", "tied"]}

        def call() -> Any:
            return OnePassSearchCV(GaussianClassifier(), grid, cv=5, n_jobs=threads).fit(X, y)

        expected, takes = call().cv_results_["mean_test_score"], duration(call)
        for _ in range(n):
            interrupt(call, takes)
        np.testing.assert_array_equal(call().cv_results_["mean_test_score"], expected)

    def logistic(threads: int, interrupt: Interrupter, n: int) -> None:
        def call() -> Any:
            return LogisticClassifier(n_jobs=threads).fit(X, y)

        expected, takes = call().coef_, duration(call)
        for _ in range(n):
            interrupt(call, takes)
        np.testing.assert_array_equal(call().coef_, expected)

    def of_files(threads: int, interrupt: Interrupter, n: int) -> None:
        rows = str(folder / "*.parquet")
        model = GaussianClassifier("full", n_jobs=threads).fit(rows, "y")
        expected, takes = model.predict(rows), duration(lambda: model.predict(rows))
        for _ in range(n):
            interrupt(lambda: model.predict(rows), takes)
        np.testing.assert_array_equal(model.predict(rows), expected)

    def resumed(threads: int, interrupt: Interrupter, n: int) -> None:
        path = folder / "checkpoint"

        def call(at: Path | None) -> Any:
            return GaussianClassifier("full", n_jobs=threads).fit(files(str(folder / "*.parquet"), checkpoint=at), "y")

        expected = statistics(call(None))
        takes = duration(lambda: call(None))
        while n > 0:
            path.unlink(missing_ok=True)
            while interrupt(lambda: call(path), takes):  # resumed until it is done
                n -= 1
            n -= 1
            assert statistics(call(path)) == expected, "a resumed fit counted rows twice or not at all"
            assert not list(folder.glob(".checkpoint*")), "an interrupted fit left a file behind"

    return {
        "fit": fit,
        "partial_fit": partial_fit,
        "predict": predict,
        "files": of_files,
        "prior": estimated_prior,
        "mixture": mixture,
        "search": search,
        "logistic": logistic,
        "checkpoint": resumed,
    }


def run(interrupts: int, seed: int = 0, threads: tuple[int, ...] = THREADS) -> Interrupter:
    """Interrupt every job on every number of threads, about as often in all as is asked for."""
    interrupt = Interrupter(seed)
    signal.signal(signal.SIGALRM, interrupt.raised)
    with tempfile.TemporaryDirectory() as folder, small_pieces():
        all_jobs = jobs(Path(folder))
        blas = [(info["filepath"], info["num_threads"]) for info in threadpool_info()]
        for name, job in all_jobs.items():
            for n in threads:
                start, alive = time.perf_counter(), threading.active_count()
                job(n, interrupt, max(1, interrupts // (len(all_jobs) * len(threads))))
                gc.collect()
                now = [(info["filepath"], info["num_threads"]) for info in threadpool_info()]
                assert now == blas, f"{name} left BLAS with other numbers of threads: {now}"
                left = threading.active_count() - alive
                print(f"{name:12} {n} threads: {time.perf_counter() - start:6.1f} s, threads left {left}", flush=True)
    return interrupt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--interrupts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    found = run(wanted.interrupts, wanted.seed)
    print(f"{found.tried} calls, {found.interrupted} interrupted, {found.twice} of them twice, none hung")
    print(f"The slowest returned {found.slowest:.3f} s after the interrupt.")


if __name__ == "__main__":
    sys.exit(main())
