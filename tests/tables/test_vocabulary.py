"""Vocabularies of categories: what is one category, what is not, and what becomes of their types."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.errors import DataError
from suffice.tables import vocabulary as vocabularies

HUGE = 2**53
VALUES = st.one_of(
    st.text(max_size=3),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.binary(max_size=2),
    st.booleans(),
    st.sampled_from([0, 1, 1.0, "True", "1", np.bool_(False), np.int8(1)]),
)


def objects(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


TABLE = {  # values, categories, kind of the array
    "integers": ([3, 1, 3], [1, 3], "i"),
    "whole floats are integers": ([2.0, 1.0], [1, 2], "i"),
    "floats": ([2.5, 1.0, -0.0], [0, 1, 2.5], "f"),
    "text": (["b", "", "a"], ["", "a", "b"], "O"),
    "text that looks like numbers stays text": (["10", "9"], ["10", "9"], "O"),
    "booleans": ([True, False], [False, True], "b"),
    "booleans and integers": ([True, 0, 1, 2], ["0", "1", "2", "True"], "O"),
    "integers and booleans": ([0, 1, 2, True], ["0", "1", "2", "True"], "O"),
    "1, 1.0 and '1' are one": ([1, "1", 1.0], ["1"], "O"),
    "numbers among text": ([10, 9.0, "x", 2.5], ["10", "2.5", "9", "x"], "O"),
    "booleans among text": ([True, "x"], ["True", "x"], "O"),
    "exact as floats": ([HUGE - 1, 1 - HUGE], [1 - HUGE, HUGE - 1], "i"),
    "huge integers": ([HUGE, HUGE + 1], [str(HUGE), str(HUGE + 1)], "O"),
    "beyond 64 bits": ([2**70, 1], ["1", str(2**70)], "O"),
    "numpy scalars": ([np.int8(3), np.float32(2.0), np.uint64(7)], [2, 3, 7], "i"),
    "numpy truths": ([np.bool_(True), False], [False, True], "b"),
    "numpy text": ([np.str_("b"), "a"], ["a", "b"], "O"),
    "bytes": ([b"b", np.bytes_(b"a"), "a"], ["a", "b"], "O"),
    "bytes that are no text": ([b"\xff", b"\xfe"], ["\udcfe", "\udcff"], "O"),
    "beyond ASCII": (["ü", "z", "漢", "\ud800"], ["z", "ü", "漢", "\ud800"], "O"),
    "nothing": ([], [], "O"),
}


@pytest.mark.parametrize(("values", "expected", "kind"), TABLE.values(), ids=TABLE)
def test_vocabulary(values, expected, kind):
    categories, place = vocabularies.vocabulary(objects(values))
    assert categories.tolist() == expected
    assert categories.dtype.kind == kind
    assert len(place) == len(values)
    np.testing.assert_array_equal(place, vocabularies.positions(objects(values), categories))
    assert (place >= 0).all()


def test_infinity_is_no_category():
    for value in (np.inf, -np.inf, np.float32(np.inf)):
        with pytest.raises(DataError, match="cannot be infinite"):
            vocabularies.vocabulary(objects([1.0, value]))


POSITIONS = {
    "numbers among words": ([1.0, 3.0, 1], ["1", "2"], [0, -1, 0]),
    "words among numbers": (["1", "1.0", "x", "2"], [1, 2], [0, -1, -1, 1]),
    "floats among integers": ([1.0, 1.5], [1, 2], [0, -1]),
    "truths among integers": ([True, False], [1, 2], [-1, -1]),
    "integers among truths": ([0, 1], [False, True], [-1, -1]),
    "truths among words": ([True, 1], ["True", "x"], [0, -1]),
    "words among truths": (["True", "1"], [False, True], [1, -1]),
    "neighbours beyond 2**53": ([HUGE + 1, HUGE], [HUGE, HUGE + 2], [-1, 0]),
    "a float beyond 2**53": ([float(HUGE)], [str(HUGE)], [0]),
    "the empty string": (["", "a"], [""], [0, -1]),
    "nothing known": (["a"], [], [-1]),
}


@pytest.mark.parametrize(("values", "names", "expected"), POSITIONS.values(), ids=POSITIONS)
def test_positions(values, names, expected):
    categories = vocabularies.vocabulary(objects(names))[0]
    assert vocabularies.positions(objects(values), categories).tolist() == expected


UNIONS = {
    "integers": ([1, 3], [2, 3], [1, 2, 3], "i"),
    "with none": ([], [2], [2], "i"),
    "none with some": (["a"], [], ["a"], "O"),
    "integers and floats": ([1, 2], [1.5], [1, 1.5, 2], "f"),
    "numbers and text": ([1, 2], ["2", "x"], ["1", "2", "x"], "O"),
    "truths and integers": ([False, True], [1, 2], ["1", "2", "False", "True"], "O"),
    "integers and huge ones": ([1], [HUGE], ["1", str(HUGE)], "O"),
}


@pytest.mark.parametrize(("a", "b", "expected", "kind"), UNIONS.values(), ids=UNIONS)
def test_union(a, b, expected, kind):
    one, two = (vocabularies.vocabulary(objects(v))[0] for v in (a, b))
    for both in (vocabularies.union(one, two), vocabularies.union(two, one)):
        assert both.tolist() == expected
        assert both.dtype.kind == kind


@given(st.lists(VALUES), st.lists(VALUES), st.lists(VALUES))
def test_the_union_of_vocabularies_is_that_of_all_values(a, b, c):
    one, two, three = (vocabularies.vocabulary(objects(v))[0] for v in (a, b, c))
    whole = vocabularies.vocabulary(objects([*a, *b, *c]))[0]
    for x, y, z in permutations((one, two, three)):
        total = vocabularies.union(vocabularies.union(x, y), z)
        assert total.tolist() == whole.tolist()
        assert vocabularies.same(total, whole)


@given(st.lists(st.lists(VALUES)))
def test_arrays_and_back(columns):
    words = tuple(vocabularies.vocabulary(objects(column))[0] for column in columns)
    arrays = vocabularies.to_arrays(words)
    assert all(array.dtype.kind in "fiub" for array in arrays.values())
    back = vocabularies.from_arrays(arrays)
    assert len(back) == len(words)
    for one, two in zip(words, back, strict=True):
        assert one.dtype == two.dtype
        assert one.tolist() == two.tolist()


@given(st.lists(st.text(st.characters(exclude_categories=()))))
def test_any_words_survive_as_numbers(words):
    """Empty ones and lone surrogates included."""
    assert vocabularies.words_from_arrays(*vocabularies.words_to_arrays(words)) == words


def test_more_than_ten_columns_keep_their_order():
    words = tuple(objects([f"{j}"]) for j in range(12))
    assert [v.tolist() for v in vocabularies.from_arrays(vocabularies.to_arrays(words))] == [
        [f"{j}"] for j in range(12)
    ]


def test_whole_numbers_are_looked_up_as_all_others_are():
    few, more = np.array([-3, 0, 7]), np.array([-3, 1, 7, 9])
    joined = vocabularies.union(few, more)
    assert joined.tolist() == [-3, 0, 1, 7, 9]
    assert joined.dtype == np.int64
    assert vocabularies.positions(more, few).tolist() == [0, -1, 2, -1]
    assert vocabularies.positions(few, np.empty(0, object)).tolist() == [-1, -1, -1]
    assert vocabularies.positions(few, np.empty(0, np.int64)).tolist() == [-1, -1, -1]
