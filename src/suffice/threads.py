"""How many threads to use, and how to share work among them.

Ctrl-C raises KeyboardInterrupt in the main thread, between any two of its instructions. The thread that calls
therefore takes no lock that a worker needs: it feeds a queue whose operations are single steps, works like the others
where the next result is not there yet, and merges what it gets. However it is interrupted, it can leave, and the
workers end by themselves. Conditions, events, futures and ``Thread.start`` are written in Python and can be interrupted
halfway; what is used here cannot.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from itertools import chain, islice, repeat
from numbers import Integral
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Generic, TypeVar

from .errors import DataError

T = TypeVar("T")
P = TypeVar("P")

_VARIABLES = ("SUFFICE_NUM_THREADS", "OMP_NUM_THREADS")
_AHEAD = 2  # pieces for each thread that are at work, or done and waiting for an earlier one
_GRACE = 0.5  # seconds to wait, after an error or an interrupt, for threads that are in the middle of a piece


def thread_count(n_jobs: int | None = None) -> int:
    """Return the number of threads to use.

    Parameters
    ----------
    n_jobs : int or None, default=None
        A number of threads; -1 uses every processor, -2 all but one. None takes the number from the environment
        variable SUFFICE_NUM_THREADS or OMP_NUM_THREADS, or uses every processor that this process may run on.

    Returns
    -------
    int
        The number of threads, at least 1.

    Examples
    --------
    >>> thread_count(3)
    3
    """
    if n_jobs is None:
        for name in _VARIABLES:
            # OpenMP takes a list, one number for each level of nesting; the first is the outermost.
            value = os.environ.get(name, "").split(",")[0].strip()
            if value.isdecimal() and int(value):
                return int(value)
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return processors
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
    """Merge ``work(piece)`` over all pieces, in their order: the result is the same for any number of threads.

    The calling thread makes the pieces and merges the results; in between it works on pieces, as the other threads do.
    They run only a few pieces ahead, so that few results wait in memory. They end with the call, so that a fork finds
    none of them, and calls can run at the same time. With one thread or one piece, everything happens in the calling
    thread.

    Parameters
    ----------
    work : callable
        Computes the result of a piece.
    merge : callable
        Merges the total so far and the next result.
    pieces : iterable
        The pieces. They can be made while others are at work: they are taken one at a time.
    threads : int
        The number of threads that work, the calling one included.
    merged : callable, optional
        Called with each piece, and the total once it includes this piece and all before it.
    start : object, optional
        A total to start from.

    Returns
    -------
    object
        The total.

    Examples
    --------
    >>> reduce_ordered(lambda n: [n * n], lambda a, b: a + b, range(5), threads=2)
    [0, 1, 4, 9, 16]
    """
    totals: list[T] = [] if start is None else [start]

    def add_up(results: Iterable[tuple[P, T]]) -> T:
        for piece, result in results:
            totals[:] = [merge(totals[0], result) if totals else result]
            merged(piece, totals[0])
        return totals[0]

    def of(piece: P) -> tuple[P, T]:
        return piece, work(piece)

    if isinstance(pieces, Sized) and len(pieces) == 1:
        return add_up(map(of, pieces))
    with single_threaded_blas(), closing(_results(of, pieces, threads - 1, _AHEAD * threads - 1)) as results:
        return add_up(results)


def ahead(work: Callable[[P], T], items: Iterable[P], threads: int) -> Iterator[T]:
    """Yield ``work(item)`` for each item, in order, while threads work on the items that follow.

    Parameters
    ----------
    work : callable
        Computes the result of an item.
    items : iterable
        The items, taken one at a time.
    threads : int
        The number of threads, and of items that are worked on while a result is used.

    Yields
    ------
    object
        The result of the next item.

    Examples
    --------
    >>> list(ahead(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    return _results(work, items, threads if threads > 1 else 0, threads)


def made_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the same items; another thread makes the next one while one is used.

    Parameters
    ----------
    items : iterator
        The items; None ends them. Only the other thread takes them.

    Yields
    ------
    object
        The next item.

    Examples
    --------
    >>> list(made_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    with closing(_results(lambda _: next(items, None), repeat(None), helpers=1, limit=1, works=False)) as made:
        for item in made:
            if item is None:
                return
            yield item


def _results(
    work: Callable[[P], T], items: Iterable[P], helpers: int, limit: int, works: bool = True
) -> Generator[T, None, None]:
    """Yield the results in order. While one is used, up to `limit` items after it are at work, or done. This thread
    works, too, where it would have to wait, beside `helpers` others; unless `works` is False."""
    rest = iter(items)
    first = list(islice(rest, 2 if helpers else 0))
    if len(first) < 2:
        yield from map(work, chain(first, rest))
        return

    todo: SimpleQueue[_Task[P, T] | None] = SimpleQueue()
    waiting: deque[_Task[P, T]] = deque()
    workers: list[threading.Lock] = []  # each is held as long as its thread works
    stopped = False

    def serve(working: threading.Lock) -> None:
        if tracer := threading.gettrace():  # as coverage and debuggers set it
            sys.settrace(tracer)
        for task in iter(todo.get, None):
            if not stopped:
                task.run(work)
            del task  # its result may be large, and the next task may be long in coming
        todo.put(None)  # for the next worker
        working.release()

    def taken() -> T:
        while works and not waiting[0].is_done():
            try:
                task = todo.get_nowait()
            except Empty:
                break
            task.run(work, Exception)  # type: ignore[union-attr]
        result = waiting[0].result()
        waiting.popleft()  # not before: an interrupt while it waits must find it there
        return result

    try:
        for item in chain(first, rest):
            waiting.append(_Task(item))
            todo.put(waiting[-1])
            if len(workers) < helpers:
                working = threading.Lock()
                working.acquire()
                _thread.start_new_thread(serve, (working,))
                workers.append(working)
            if len(waiting) > limit:
                yield taken()
        while waiting:
            yield taken()
    finally:
        stopped = True
        todo.put(None)
        deadline = monotonic() + _GRACE
        for working in workers:
            working.acquire(timeout=max(0.0, deadline - monotonic()) if waiting else -1)


class _Task(Generic[P, T]):
    """An item to work on, and its result."""

    def __init__(self, item: P) -> None:
        self._item = item
        self._done = threading.Lock()  # held until there is a result: a worker frees it, and never waits for it
        self._done.acquire()

    def run(self, work: Callable[[P], T], kept: type[BaseException] = BaseException) -> None:
        """Compute the result, or keep an error for whoever takes the result; an interrupt is none of these."""
        try:
            self._result = work(self._item)
        except kept as error:
            self._error = error
        self._done.release()

    def is_done(self) -> bool:
        """Whether there is a result, or an error."""
        return not self._done.locked()

    def result(self) -> T:
        """Wait for the result, or raise the error."""
        self._done.acquire()
        if hasattr(self, "_error"):
            try:
                raise self._error
            finally:
                del self  # the traceback would keep it, and it the traceback
        return self._result


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> Any:  # noqa: ARG001  modules imported since may have brought a BLAS of their own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_limited: list[bool] = []  # not empty within a block of the main thread


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Give BLAS one thread for the length of a ``with`` block.

    Threads that each start BLAS threads of their own would slow one another down. One BLAS thread also makes results
    the same for any number of threads. The setting is the whole process's, and OpenBLAS takes it from the main thread
    only; in another thread, and within another such block, the block changes nothing.
    """
    if threading.get_ident() != threading.main_thread().ident or _limited:
        yield
        return
    controller = _controller(len(sys.modules))
    before = [(library, library.num_threads) for library in controller.lib_controllers]

    try:
        try:
            with controller.limit(limits=1, user_api="blas"):
                _limited.append(True)
                yield
        except KeyboardInterrupt:  # it may have come before the block, or while threadpoolctl restored the numbers
            _set_threads(before)
            raise
    except KeyboardInterrupt:  # Ctrl-C was pressed again in the lines above
        _set_threads(before)
        raise
    finally:
        _limited.clear()


def _set_threads(libraries: list[tuple[Any, int]]) -> None:
    """Set the numbers of threads of libraries, whatever interrupts it."""
    while True:
        with suppress(KeyboardInterrupt):
            for library, threads in libraries:
                library.set_num_threads(threads)
            return
