"""How many threads to use, and what is done on them in order."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from numbers import Integral
from typing import Any, TypeVar

from .errors import DataError

T = TypeVar("T")
P = TypeVar("P")

_VARIABLES = ("SUFFICE_NUM_THREADS", "OMP_NUM_THREADS")
_AHEAD = 2  # pieces for each thread that are at work, or done and waiting for an earlier one


def thread_count(n_jobs: int | None = None) -> int:
    """Threads for `n_jobs`: None is what SUFFICE_NUM_THREADS or OMP_NUM_THREADS says, or else every processor that this
    process may use; -1 is every processor; -2 all but one."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        # OpenMP takes a list, one number for each level of nesting; the first is the outermost.
        values = (os.environ.get(name, "").split(",")[0].strip() for name in _VARIABLES)
        return next((int(value) for value in values if value.isdecimal() and int(value)), processors)
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise DataError(f"n_jobs={n_jobs!r} has no meaning; use None for the default or a whole number of threads")
    return int(n_jobs) if n_jobs > 0 else max(1, processors + 1 + int(n_jobs))


def reduce_ordered(
    work: Callable[[P], T],
    merge: Callable[[T, T], T],
    pieces: Iterable[P],
    threads: int,
    merged: Callable[[P, T], object] = lambda *_: None,
    start: T | None = None,
) -> T:
    """``merge`` over ``work(piece)`` in the order of the pieces, whatever the number of threads.

    Pieces may be made one by one while others are at work; one at a time is made, in order. Where one piece takes long,
    others do not run far ahead of it: what is finished and waits takes memory. Threads live as long as the call, so
    there is nothing that a fork could lose, and any number of calls may run side by side.

    Parameters
    ----------
    merged : told of each piece once the total holds it and all before it
    start : what the first result is merged into, if anything
    """
    totals: list[T] = [] if start is None else [start]  # the running total, once there is one

    def add(piece: P, result: T) -> None:
        totals[:] = [merge(totals[0], result) if totals else result]
        merged(piece, totals[0])

    n_pieces = len(pieces) if isinstance(pieces, Sized) else threads
    if isinstance(pieces, Sequence) and n_pieces == 1:
        add(pieces[0], work(pieces[0]))
        return totals[0]

    changed = threading.Condition()
    todo = iter(enumerate(pieces))
    done: dict[int, tuple[P, T]] = {}  # finished, waiting for an earlier one
    n_begun = n_merged = 0
    merging = False  # whether a thread is at it
    failures: list[BaseException] = []

    def begun() -> tuple[int, P | None]:
        """The next piece, and its number; -1 where there is none."""
        nonlocal n_begun
        with changed:
            changed.wait_for(lambda: failures or n_begun < n_merged + _AHEAD * threads)
            number, piece = (-1, None) if failures else next(todo, (-1, None))
            n_begun += 1
            return number, piece

    def finished(number: int, piece: P, result: T) -> None:
        """Merge what can be merged now; others go on working meanwhile."""
        nonlocal n_merged, merging
        with changed:
            done[number] = piece, result
            if merging:  # by a thread that will find this one
                return
            merging = True
        while True:
            with changed:
                if n_merged not in done:
                    merging = False
                    return
                first = done.pop(n_merged)
            add(*first)
            with changed:
                n_merged += 1
                changed.notify_all()

    def run() -> None:
        try:
            while True:
                number, piece = begun()
                if number < 0:
                    return
                finished(number, piece, work(piece))  # type: ignore[arg-type]
        except BaseException as failure:
            with changed:
                failures.append(failure)
                changed.notify_all()

    others = [threading.Thread(target=run, daemon=True) for _ in range(min(threads, n_pieces) - 1)]
    with single_threaded_blas():
        for thread in others:
            thread.start()
        run()
        for thread in others:
            thread.join()
    if failures:
        raise failures[0]
    return totals[0]


def ahead(work: Callable[[P], T], items: Iterable[P], threads: int) -> Iterator[T]:
    """``work(item)`` for each item, in order. While one result is used, as many of the next as there are threads are
    made."""
    if threads == 1:
        yield from map(work, items)
        return
    pool, waiting = ThreadPoolExecutor(threads), deque[Future[T]]()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> Any:  # noqa: ARG001  modules imported since may have brought a BLAS of their own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Threads of ours, each with BLAS threads of its own, would stand in each other's way.

    It also makes results the same for any number of threads, one included. The setting is the whole process's, and
    OpenBLAS takes it from the main thread alone; a call from elsewhere leaves it as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    limiter: AbstractContextManager[Any] = _controller(len(sys.modules)).limit(limits=1, user_api="blas")
    return limiter
