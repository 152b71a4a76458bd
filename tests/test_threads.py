"""Threads: how many, in which order results are merged, and that they leave the process as it was."""

import multiprocessing
import os
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from suffice import GaussianClassifier, kernels
from suffice.errors import DataError
from suffice.sources.base import PIECE
from suffice.threads import ahead, made_ahead, reduce_ordered, thread_count

PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.fixture
def no_variables(monkeypatch):
    for name in ("SUFFICE_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, PROCESSORS),
        ({"OMP_NUM_THREADS": "1"}, 1),
        ({"SUFFICE_NUM_THREADS": "1"}, 1),
        ({"SUFFICE_NUM_THREADS": "1", "OMP_NUM_THREADS": "7"}, 1),
        ({"SUFFICE_NUM_THREADS": "", "OMP_NUM_THREADS": "1"}, 1),
        ({"SUFFICE_NUM_THREADS": "0", "OMP_NUM_THREADS": "1"}, 1),
        ({"SUFFICE_NUM_THREADS": "many"}, PROCESSORS),
        ({"SUFFICE_NUM_THREADS": "-1"}, PROCESSORS),
        ({"OMP_NUM_THREADS": "0"}, PROCESSORS),
        ({"OMP_NUM_THREADS": "1,4"}, 1),  # one number for each level of nesting; ours is the first
        ({"OMP_NUM_THREADS": " 1 "}, 1),
    ],
    ids=str,
)
def test_environment_variables_decide_where_n_jobs_does_not(no_variables, variables, expected):
    for name, value in variables.items():
        no_variables.setenv(name, value)
    assert thread_count() == expected
    assert thread_count(5) == 5
    assert thread_count(-1) == PROCESSORS


@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [(1, 1), (3, 3), (-1, PROCESSORS), (-2, max(1, PROCESSORS - 1)), (-1000, 1), (np.int64(2), 2)],
)
def test_n_jobs_counts_from_the_end_when_negative(n_jobs, expected):
    assert thread_count(n_jobs) == expected


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
def test_jobs_that_make_no_sense_are_refused(rng, n_jobs):
    with pytest.raises(DataError, match="has no meaning"):
        thread_count(n_jobs)
    with pytest.raises(DataError, match="has no meaning"):
        GaussianClassifier(n_jobs=n_jobs).fit(rng.normal(size=(10, 2)), [0, 1] * 5)


def slow_first(piece):
    time.sleep(0.002 * (7 - piece % 7))
    return [piece]


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 50])
@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_results_are_merged_in_the_order_of_the_pieces(threads, n):
    assert reduce_ordered(slow_first, lambda a, b: a + b, range(n), threads) == list(range(n))


def test_merging_is_a_left_fold():
    """Rounding depends on the order of the sums, so that order must not depend on the threads."""
    expected = "(((0+1)+2)+3)"
    for threads in (1, 2, 4):
        assert reduce_ordered(str, lambda a, b: f"({a}+{b})", range(4), threads) == expected


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("pieces", [range(1), range(9), None], ids=["one", "some", "made one by one"])
def test_each_piece_is_told_of_once_it_is_in_the_total(threads, pieces):
    told = []
    made = iter(range(9)) if pieces is None else pieces
    reduce_ordered(slow_first, lambda a, b: a + b, made, threads, lambda piece, total: told.append((piece, total)))
    assert told == [(n, list(range(n + 1))) for n in (range(9) if pieces is None else pieces)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [0, 1, 9])
def test_what_was_there_before_comes_first(threads, n):
    told = []
    found = reduce_ordered(
        slow_first, lambda a, b: a + b, iter(range(n)), threads, lambda p, total: told.append(total), ["start"]
    )
    assert found == ["start", *range(n)]
    assert told == [["start", *range(i + 1)] for i in range(n)]


@pytest.mark.parametrize("threads", [2, 4])
def test_others_do_not_run_far_ahead_of_a_piece_that_takes_long(threads):
    begun = []

    def work(piece):
        begun.append(piece)
        if piece == 0:
            time.sleep(0.2)
            assert len(begun) <= 2 * threads
        return [piece]

    assert reduce_ordered(work, lambda a, b: a + b, range(100), threads) == list(range(100))


def test_others_go_on_working_while_one_merges():
    reached = threading.Event()

    def work(piece):
        if piece == 3:
            reached.set()
        return [piece]

    def merge(a, b):
        assert reached.wait(10)
        return a + b

    assert reduce_ordered(work, merge, range(6), 2) == list(range(6))


def test_every_piece_is_worked_on_once_and_on_several_threads():
    seen = queue.SimpleQueue()
    barrier = threading.Barrier(3, timeout=10)  # passes only if three threads are at work at the same time

    def work(piece):
        barrier.wait()
        seen.put((piece, threading.get_ident()))
        return 1

    assert reduce_ordered(work, lambda a, b: a + b, range(9), 3) == 9
    items = [seen.get() for _ in range(9)]
    assert sorted(piece for piece, _ in items) == list(range(9))
    assert len({thread for _, thread in items}) == 3


def test_there_are_never_more_threads_than_pieces():
    before = threading.active_count()

    def work(piece):
        time.sleep(0.01)
        return threading.active_count()

    assert reduce_ordered(work, max, range(3), 100) <= before + 3
    assert threading.active_count() == before


class PieceError(Exception):
    pass


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_results_come_in_order_and_not_far_ahead(threads):
    begun, used = [], 0

    def work(item):
        begun.append(item)
        return slow_first(item)

    for item, result in enumerate(ahead(work, range(20), threads)):
        assert result == [item]
        used += 1
        assert len(begun) <= used + (threads if threads > 1 else 0)
    assert used == len(begun) == 20


@pytest.mark.parametrize("threads", [1, 3])
def test_what_fails_ahead_fails_when_its_turn_comes(threads):
    def work(item):
        if item == 2:
            raise PieceError
        return item

    results, before = ahead(work, range(50), threads), threading.active_count()
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(PieceError):
        next(results)
    assert threading.active_count() <= before


@pytest.mark.parametrize("n", [0, 1, 9])
def test_another_thread_makes_the_next_item_and_no_more(n):
    makers, used, before = [], 0, threading.active_count()

    def made():
        for item in range(n):
            makers.append(threading.get_ident())
            yield item

    for used, item in enumerate(made_ahead(made()), 1):
        assert item == used - 1
        deadline = time.monotonic() + 30
        while len(makers) < min(used + 1, n) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.002)
        assert len(makers) == min(used + 1, n)  # one is made while this one is used
    assert used == n
    assert threading.get_ident() not in makers
    assert threading.active_count() == before


def test_items_that_fail_or_are_not_wanted_any_more_leave_no_thread():
    before = threading.active_count()
    results = made_ahead(iter(range(9)))
    assert next(results) == 0
    results.close()
    assert threading.active_count() == before

    def fails():
        yield 0
        raise PieceError

    with pytest.raises(PieceError):
        list(made_ahead(fails()))
    assert threading.active_count() == before


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("culprit", [0, 3, 9])
@pytest.mark.parametrize("where", ["work", "merge"])
def test_an_exception_of_any_thread_reaches_the_caller(threads, culprit, where):
    def work(piece):
        time.sleep(0.001)
        if where == "work" and piece == culprit:
            raise PieceError(piece)
        return [piece]

    def merge(a, b):
        if where == "merge" and culprit in (a[-1], b[0]):
            raise PieceError(culprit)
        return a + b

    before = threading.active_count()
    with pytest.raises(PieceError, match=str(culprit)):
        reduce_ordered(work, merge, range(10), threads)
    assert threading.active_count() == before
    assert reduce_ordered(work, lambda a, b: a, range(culprit + 1, culprit + 5), threads) == [culprit + 1]


def test_work_stops_soon_after_a_failure():
    done = []

    def work(piece):
        if piece == 0:
            raise PieceError
        time.sleep(0.005)
        done.append(piece)
        return piece

    with pytest.raises(PieceError):
        reduce_ordered(work, lambda a, b: b, range(1000), 2)
    assert len(done) < 10


def test_keyboard_interrupts_are_not_swallowed():
    def work(piece):
        raise KeyboardInterrupt

    for threads in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            reduce_ordered(work, lambda a, b: a, range(4), threads)


def test_calls_run_side_by_side():
    with ThreadPoolExecutor(6) as pool:
        futures = [pool.submit(reduce_ordered, slow_first, lambda a, b: a + b, range(n), 3) for n in range(2, 14)]
        assert [f.result(timeout=30) for f in futures] == [list(range(n)) for n in range(2, 14)]


def test_calls_may_be_nested():
    def outer(piece):
        return [reduce_ordered(lambda i: [10 * piece + i], lambda a, b: a + b, range(3), 2)]

    found = reduce_ordered(outer, lambda a, b: a + b, range(4), 2)
    assert found == [[10 * p + i for i in range(3)] for p in range(4)]


# Fits: of several pieces, so that threads are used.

D = 64
N = 3 * PIECE // D


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, N)
    return rng.normal(size=(N, D)) + y[:, None], y


def blas_threads():
    return [(info["filepath"], info["num_threads"]) for info in threadpool_info() if info["user_api"] == "blas"]


def release_control():
    """threadpoolctl 3.7 and later let only one thread set the limits of OpenBLAS; at first there is none."""
    for library in ThreadpoolController().lib_controllers:
        getattr(library, "clear_controlling_thread", lambda force: None)(force=True)


@pytest.fixture
def blas():
    """Two BLAS threads, set by nobody in particular, as at the start of a process."""
    release_control()
    limiter = threadpool_limits(2, user_api="blas")
    release_control()
    before = blas_threads()
    assert {n for _, n in before} == {2}
    yield before
    release_control()
    limiter.restore_original_limits()
    release_control()


def look(seen):
    """Work that notes the number of BLAS threads."""
    return lambda piece: seen.extend(n for _, n in blas_threads())


def keep(a, b):
    return a


def test_blas_has_one_thread_while_ours_are_at_work(blas):
    seen = []
    reduce_ordered(look(seen), keep, range(6), 2)
    assert set(seen) == {1}
    assert blas_threads() == blas


def test_blas_keeps_its_threads_through_a_failure(blas):
    def work(piece):
        raise PieceError

    with pytest.raises(PieceError):
        reduce_ordered(work, keep, range(4), 2)
    assert blas_threads() == blas


def test_blas_keeps_its_threads_through_concurrent_fits(blas, data):
    X, y = data
    with ThreadPoolExecutor(4) as pool:
        fits = [pool.submit(GaussianClassifier("tied", n_jobs=2).fit, X, y) for _ in range(8)]
        mine = [GaussianClassifier("tied", n_jobs=2).fit(X, y).means_ for _ in range(2)]
        means = [f.result(timeout=60).means_ for f in fits]
        assert blas_threads() == blas
    assert blas_threads() == blas
    assert all(np.array_equal(mine[0], m) for m in mine + means)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first to come is first to go", "first to come is last to go"])
def test_blas_keeps_its_threads_through_calls_that_overlap(blas, order):
    """The limits are the whole process's, and threadpoolctl ignores all threads but one: nobody may be left limited."""
    come, go = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]

    def call(i):
        def work(piece):
            come[i].set()
            assert go[i].wait(10)

        reduce_ordered(work, keep, range(2), 2)

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:  # threads that outlive the calls
        calls = []
        for i, pool in enumerate((one, two)):
            calls.append(pool.submit(call, i))
            assert come[i].wait(10)
        for i in order:
            go[i].set()
            calls[i].result(10)
        assert blas_threads() == blas


def test_calls_on_other_threads_do_not_keep_the_main_thread_from_limiting_blas(blas):
    seen = []
    with ThreadPoolExecutor(1) as other:
        other.submit(reduce_ordered, lambda piece: 0, keep, range(2), 2).result(10)
        reduce_ordered(look(seen), keep, range(2), 2)
    assert set(seen) == {1}
    assert blas_threads() == blas


def test_blas_limits_of_the_user_are_kept(blas):
    with threadpool_limits(3, user_api="blas"):
        inner = blas_threads()
        reduce_ordered(lambda piece: 0, keep, range(2), 2)
        assert blas_threads() == inner
    assert blas_threads() == blas


@pytest.mark.parametrize("covariance", ["full", "tied", "diag"])
def test_one_model_scores_on_many_threads_at_once(data, covariance):
    X, y = data
    clf = GaussianClassifier(covariance).fit(X, y)
    expected = clf.predict(X), clf.llr(X, 0, 1)
    with ThreadPoolExecutor(4) as pool:
        fresh = GaussianClassifier(covariance).partial_fit(X, y)  # not estimated yet: the threads race for it
        found = list(pool.map(lambda _: (fresh.predict(X), fresh.llr(X, 0, 1)), range(6)))
    for labels, ratios in found:
        np.testing.assert_array_equal(labels, expected[0])
        np.testing.assert_array_equal(ratios, expected[1])


def _fit_in_child(X, y, results):
    clf = GaussianClassifier("tied", n_jobs=2).fit(X, y)
    results.put((clf.means_, clf.log_likelihood(X[:100])))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # Python 3.12 and later: what we do here on purpose
@pytest.mark.parametrize("name", kernels.available())
@pytest.mark.parametrize("when", ["idle", "during a fit"])
def test_a_forked_child_can_fit(data, name, when):
    X, y = data
    with kernels.using(name):
        expected = GaussianClassifier("tied", n_jobs=2).fit(X, y)
        context = multiprocessing.get_context("fork")
        results = context.SimpleQueue()
        child = context.Process(target=_fit_in_child, args=(X, y, results))
        if when == "during a fit":  # threads of ours are at work and BLAS is limited

            def work(piece):
                if piece == 0:
                    child.start()
                else:
                    time.sleep(0.05)
                return 0

            reduce_ordered(work, lambda a, b: 0, range(4), 2)
        else:
            child.start()
        child.join(30)
        try:
            assert child.exitcode == 0
        finally:
            child.kill()
        means, scores = results.get()
    np.testing.assert_array_equal(means, expected.means_)
    np.testing.assert_allclose(scores, expected.log_likelihood(X[:100]), rtol=1e-12)
