"""Times of calls that take turns."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter, process_time, sleep

from .case import Call

LAPPED = 2  # a peer that takes so many times as long as the fastest one runs no more rounds than it must
LONG = 8e3  # ms: a peer that takes longer runs once, and meets slow and fast spells within its one round


def race(calls: dict[str, Call], peers: Iterable[str], rounds: int, seconds: float) -> dict[str, float]:
    """The least time of each call in ms, after `rounds` or more and about `seconds`; one round of peers that take long.

    The calls take turns, one call each, so that a slower or faster spell of the machine meets all of them and none has
    more tries than another; the minimum is what is left when nothing else disturbs.
    """
    best = dict.fromkeys(calls, float("inf"))
    running = dict(calls)
    begin, done = perf_counter(), 0
    while done < rounds or perf_counter() - begin < seconds:
        for name, call in running.items():
            settle()
            start = perf_counter()
            call()
            best[name] = min(best[name], 1e3 * (perf_counter() - start))
        done += 1
        running = {name: call for name, call in running.items() if name not in peers or best[name] < LONG}
        fastest = min(best[name] for name in peers)
        if done >= rounds:
            running = {n: c for n, c in running.items() if n not in peers or best[n] <= LAPPED * fastest}
    return best


def settle() -> None:
    """Wait until no thread of this process is at work.

    The workers of OpenBLAS go on spinning for a tenth of a second after a product, at the cost of whoever comes next.
    """
    busy = 1.0
    while busy > 0.1:
        cpu, start = process_time(), perf_counter()
        sleep(0.01)  # times of running threads are brought up to date every few ms only
        busy = (process_time() - cpu) / (perf_counter() - start)
