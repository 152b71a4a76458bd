"""Work off the event loop: small requests in groups, one group at a time; large ones side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

J = TypeVar("J")
R = TypeVar("R")

_MOST = 64  # requests of a group: more would keep others waiting


class JobGroups(Generic[J, R]):
    """Does small jobs in groups on one thread: those that have come while the group before was done.

    A change of threads takes longer than to score a row. Groups share it, and their rows are scored together.

    Parameters
    ----------
    work : callable
        From jobs to their results.
    """

    def __init__(self, work: Callable[[Sequence[J]], Sequence[R]]) -> None:
        self._work = work
        self._thread = ThreadPoolExecutor(1, "small requests")
        self._waiting: list[tuple[J, asyncio.Future[R]]] = []
        self._is_busy = False

    def do(self, job: J) -> asyncio.Future[R]:
        """Return the future result of a job."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((job, future))
        if not self._is_busy:
            self._is_busy = True
            asyncio.get_running_loop().call_soon(self._next)
        return future

    def _next(self) -> None:
        group, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
        group = [(job, future) for job, future in group if not future.done()]  # nobody waits for the others any more
        if not group:
            self._is_busy = bool(self._waiting)
            if self._waiting:
                asyncio.get_running_loop().call_soon(self._next)
            return
        done = asyncio.get_running_loop().run_in_executor(self._thread, self._work, [job for job, _ in group])
        done.add_done_callback(lambda done: self._finished(group, done))

    def _finished(self, group: list[tuple[J, asyncio.Future[R]]], done: asyncio.Future[Sequence[R]]) -> None:
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        results: Sequence[Any] = [None] * len(group) if error is not None else done.result()
        for (_, future), result in zip(group, results, strict=True):
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        self._next()

    def close(self) -> None:
        """Let the thread end when it has done what it has."""
        self._thread.shutdown(wait=False)


class Lanes:
    """Does large jobs side by side, a few at a time.

    Parameters
    ----------
    n : int
        How many are worked on; as many again may have their bodies here and wait. All others are not read yet, so that
        the memory that bodies take is bounded.
    """

    def __init__(self, n: int) -> None:
        self._threads = ThreadPoolExecutor(n, "bulk requests")
        self.room = asyncio.Semaphore(2 * n)

    async def do(self, work: Callable[..., R], *arguments: Any) -> R:
        """Do a job."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def close(self) -> None:
        """Let the threads end when they have done what they have."""
        self._threads.shutdown(wait=False, cancel_futures=True)
