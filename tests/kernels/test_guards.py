"""Arrays may change while the kernels read them, after they were checked: nothing outside of them is touched."""

import gc

import numpy as np
import pytest

from suffice import kernels
from suffice.kernels import reference

every_kernel = pytest.mark.usefixtures("kernel")
native_kernels = pytest.mark.usefixtures("native_kernel")


@native_kernels
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("column", [-4, -1, 4, 7, "least", "greatest"])
def test_columns_that_do_not_exist_touch_nothing_else(index, column):
    column = {"least": np.iinfo(index).min, "greatest": np.iinfo(index).max}.get(column, column)
    whole = np.zeros((4, 4))  # of which the kernel is given the middle
    indptr, indices, data = np.array([0, 1, 2]), np.full(2, column, index), np.ones(2)
    kernels.active.sparse_counts(indptr, indices, data, np.array([0, 1], np.int32), None, False, whole[1:3])
    assert not whole[[0, 3]].any()
    assert whole.sum() == 2
    for k in (1, 3, 4, 9):
        slope, scores = np.full((12, k), 1e9), np.empty((2, k))
        slope[4:8] = 1.0
        for values in (data, None):
            kernels.active.sparse_scores(indptr, indices, values, slope[4:8], np.zeros(k), scores, None, None)
            assert (scores == 1).all()


@every_kernel
@pytest.mark.parametrize("starts", [[0, 3, 9], [0, 9, 3], [-1, 2, 3], [0, -2, 3]])
def test_rows_outside_what_is_stored_are_refused(starts):
    starts, indices, data = np.array(starts), np.zeros(3, np.int32), np.ones(3)
    code, scores = np.zeros(2, np.int32), np.empty((2, 1))
    with pytest.raises(ValueError, match=r"rows start|outside its rows|indices and data|should be"):
        kernels.active.sparse_counts(starts, indices, data, code, None, False, np.zeros((1, 4)))
    with pytest.raises(ValueError, match=r"rows start|outside its rows|indices and data|should be"):
        kernels.active.sparse_scores(starts, indices, data, np.ones((4, 1)), np.zeros(1), scores, None, None)
    with pytest.raises(ValueError, match=r"rows start|outside its rows|indices and data|should be"):
        kernels.active.sparse_log_factorials(starts, indices, data, 4)


@native_kernels
def test_columns_that_do_not_exist_are_the_first():
    indices, data = np.array([3, -1, 9, 9]), np.array([1.0, 2.0, 3.0, 4.0])
    found = kernels.active.sparse_log_factorials(np.array([0, 4]), indices, data, 4)
    np.testing.assert_allclose(found, kernels.active.dense_log_factorials(np.array([[9.0, 0, 0, 1]])))


@native_kernels
def test_rows_may_end_before_they_begin():
    """Such rows are empty. An entry that is fetched in advance is one of those stored: the sanitizers see others."""
    starts, indices, data = np.array([0, 5, 0]), np.zeros(5, np.int32), np.ones(5)
    table, scores = np.zeros((1, 1)), np.empty((2, 1))
    kernels.active.sparse_counts(starts, indices, data, np.zeros(2, np.int32), None, False, table)
    kernels.active.sparse_scores(starts, indices, data, np.ones((1, 1)), np.zeros(1), scores, None, None)
    logs = kernels.active.sparse_log_factorials(starts, np.arange(5), data, 5)
    np.testing.assert_allclose(logs, [[0.0, np.log(120)], [0.0, 0.0]], atol=1e-12)
    assert table.tolist() == [[5.0]]
    assert scores.tolist() == [[5.0], [0.0]]


@native_kernels
@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (2, 1)])
def test_sums_of_other_classes_are_refused(shape):
    code, sums = np.array([0, 1], np.int32), np.zeros(shape)
    with pytest.raises(ValueError, match="sums of log x!"):
        kernels.active.dense_counts(np.ones((2, 3)), code, None, False, np.zeros((2, 3)), np.zeros((2, 3)), sums)
    with pytest.raises(ValueError, match="sums of log x!"):
        kernels.active.sparse_counts(
            np.array([0, 1, 2]), np.array([0, 1]), np.ones(2), code, None, False, np.zeros((2, 3)), sums
        )


@native_kernels
def test_without_columns_no_cell_is_read():
    starts, indices, data, scores = np.array([0, 1]), np.zeros(1, np.int32), np.ones(1), np.empty((1, 2))
    with pytest.raises(ValueError, match="of 0 stored values"):
        kernels.active.sparse_counts(starts, indices, data, np.zeros(1, np.int32), None, False, np.zeros((2, 0)))
    with pytest.raises(ValueError, match="of 0 stored values"):
        kernels.active.sparse_scores(starts, indices, data, np.zeros((0, 2)), np.zeros(2), scores, None, None)
    with pytest.raises(ValueError, match="no columns"):
        kernels.active.diag_moments((), np.zeros(1, np.int32), None, 1)


@every_kernel
def test_a_mask_may_hold_any_byte():
    score, target = np.arange(9.0), np.array([0, 2, 0, 255, 0, 0, 7, 1, 0], np.uint8).view(bool)
    targets, others = kernels.active.split_scores(score, target)
    assert sorted(targets) == [1, 3, 6, 7]
    assert sorted(others) == [0, 2, 4, 5, 8]


class Label:
    """Equal to nothing else; being compared may run `compared`."""

    def __init__(self, name, compared=None):
        self.name, self.compared = name, compared

    def __hash__(self):
        return 3

    def __eq__(self, other):
        for one in (self, other):
            if one.compared is not None:
                one.compared()
        return False


@every_kernel
def test_a_label_that_comparing_takes_away_stays_alive():
    y, born = np.empty(20, object), []

    def clear():
        if y[1] is not None:
            y[:] = None
            gc.collect()
            born.extend(Label("somebody else") for _ in range(100))  # where the one that is gone was

    y[:] = [Label(str(i), clear if i == 0 else None) for i in range(20)]
    distinct, code = kernels.active.encode(y)
    assert [label.name for label in distinct[:2]] == ["0", "1"]
    assert code[:2].tolist() == [0, 1]
    assert code.max() < len(distinct)


@native_kernels
@pytest.mark.parametrize("weight", [None, np.array([1.0, 0.0, 2.0])])
def test_rows_without_columns(weight):
    X, code, k = np.empty((3, 0)), np.array([0, 1, 0], np.int32), 2
    for ours, theirs in zip(
        (*kernels.active.diag_moments(X, code, weight, k), *kernels.active.full_moments(X, code, weight, k, True)),
        (*reference.diag_moments(X, code, weight, k), *reference.full_moments(X, code, weight, k, True)),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)
    none, constant = np.empty((k, 0)), np.array([1.0, 2.0])
    for name, a, b in (
        ("diag_scores", none, none),
        ("full_scores", none, np.empty((k, 0, 0))),
        ("linear_scores", none[0], none),
    ):
        scores = np.empty((3, k))
        assert getattr(kernels.active, name)(X, a, b, constant, scores, None, None)
        np.testing.assert_array_equal(scores, np.tile(constant, (3, 1)))


@native_kernels
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 3, 4, 9])
def test_strides_of_zero(dtype, d):
    rng = np.random.default_rng(0)
    n, k = 70, 3
    code, mean, constant = rng.integers(0, k, n).astype(np.int32), rng.normal(size=(k, d)), np.zeros(k)
    row, column = rng.uniform(1, 2, d).astype(dtype), rng.uniform(1, 2, n).astype(dtype)
    for X in (np.broadcast_to(row, (n, d)), np.broadcast_to(column[:, None], (n, d)), np.broadcast_to(row[0], (n, d))):
        for ours, theirs in zip(
            kernels.active.full_moments(X, code, None, k, False),
            reference.full_moments(X.copy(), code, None, k, False),
            strict=True,
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
        count, expected, missing = np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d))
        assert kernels.active.dense_counts(X, code, None, False, count, missing)
        assert reference.dense_counts(X.copy(), code, None, False, expected, missing)
        np.testing.assert_allclose(count, expected, rtol=1e-12)
        ours, theirs = np.empty((n, k)), np.empty((n, k))
        assert kernels.active.diag_scores(X, mean, np.ones((k, d)), constant, ours, None, None)
        assert reference.diag_scores(X.copy(), mean, np.ones((k, d)), constant, theirs, None, None)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
