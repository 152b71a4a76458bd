"""The vocabulary of classes: encoding against np.unique on every kernel, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from suffice import kernels
from suffice.errors import DataError, StatisticsError
from suffice.tables.labels import SoftLabels, encode, position, positions, same, union

INTEGERS = [np.dtype(f"{kind}{width}") for kind in "iu" for width in (1, 2, 4, 8)]


def agrees_with_unique(y):
    """Whether encode(y) is np.unique(y, return_inverse=True), dtype and all."""
    classes, code = encode(y)
    expected, inverse = np.unique(y, return_inverse=True)
    assert code.dtype == np.int32
    np.testing.assert_array_equal(code, inverse)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(classes[code], y)
    return classes


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_of_all_widths_and_their_extremes(kernel, rng, dtype):
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    y = rng.integers(least, most, 3000, dtype, endpoint=True)
    y[:4] = least, most, 0, 1
    y = np.concatenate([y, rng.permutation(y)])
    assert agrees_with_unique(y).dtype == dtype
    assert agrees_with_unique(y.astype(dtype.newbyteorder(">"))).dtype.isnative is (dtype.itemsize == 1)


@pytest.mark.parametrize(
    "y",
    [
        np.array([True, False, True, True]),
        np.array([False]),
        np.array([2.0, -0.0, 0.0, -1.0, 2.0]),
        np.array([2, -0.0, 0, 65504], np.float16),
        np.array([2, -0.0, 0, 3e38], np.float32),
        np.array([1e308, -1e308, 2.0**53 + 2, 2.0**53]),
        np.arange(30)[::-3],
        np.array([[1, 2], [2, 2], [0, 2]])[:, 0],
        np.array([5, 5, 5]),
        np.array([], np.int64),
        np.array([], "U3"),
    ],
    ids=lambda y: f"{y.dtype}-{len(y)}",
)
def test_booleans_floats_and_views(kernel, y):
    assert agrees_with_unique(y).dtype == y.dtype


def test_negative_zero_is_zero(kernel):
    classes, code = encode(np.array([-0.0, 0.0, 1.0, -0.0]))
    assert classes.tolist() == [0.0, 1.0]
    assert not np.signbit(classes).any()
    assert code.tolist() == [0, 0, 1, 0]


def test_padding_of_long_doubles_is_not_part_of_them(kernel):
    y = np.array([1, 2, 1, 2, 3], np.longdouble)
    used = np.arange(y.nbytes, dtype=np.uint8)
    del used  # so that the next array of this size finds rubbish in its memory
    agrees_with_unique(y)


def words(rng, n, longest, alphabet="abz éß日𝄞"):
    return ["".join(rng.choice(list(alphabet), rng.integers(longest + 1))) for _ in range(n)]


@pytest.mark.parametrize("longest", [0, 1, 2, 3, 5, 8, 17, 40])
def test_strings_of_any_width(kernel, rng, longest):
    text = words(rng, 200, longest)
    y = rng.permutation(np.array(text * 3, f"U{max(longest, 1)}"))
    agrees_with_unique(y)


@pytest.mark.parametrize("width", range(1, 18))
def test_bytes_of_any_width(kernel, rng, width):
    y = rng.choice(np.frombuffer(b"ab\xff", np.uint8), (500, width)).view(f"S{width}").ravel()
    agrees_with_unique(rng.permutation(np.concatenate([y, y])))


def test_strings_that_differ_in_one_character_stay_apart(kernel):
    agrees_with_unique(np.array(["x" * i + "y" + "x" * (39 - i) for i in range(40)] * 2))


@pytest.mark.parametrize("text", [["", ""], ["", "a", ""], ["a", "ab", "abc", "a"], ["é", "e\u0301", "日本", "é"]])
@pytest.mark.parametrize("dtype", [str, object])
def test_empty_and_non_ascii_strings(kernel, text, dtype):
    classes, code = encode(np.array(text, dtype))
    assert classes.tolist() == sorted(set(text))
    assert [classes[c] for c in code] == text


@pytest.mark.parametrize("shared", [True, False])
def test_object_strings_are_compared_by_value(kernel, rng, shared):
    known = words(rng, 3000, 6)
    picked = [known[i] for i in rng.integers(len(known), size=10_000)]
    y = np.empty(len(picked), object)
    y[:] = picked if shared else ["".join(list(word)) for word in picked]
    assert agrees_with_unique(y).dtype == object


@pytest.mark.parametrize("dtype", [np.int64, np.float64, "U6", "S6", object])
def test_a_hundred_thousand_distinct_labels(kernel, rng, dtype):
    n = 100_000
    numbers = rng.permutation(np.arange(n) * 7919 % 1_000_003)
    y = numbers.astype(str).astype(object) if dtype is object else numbers.astype(dtype)
    y = np.concatenate([y, y[::-1]])
    assert len(agrees_with_unique(y)) == n


@given(
    hnp.arrays(
        st.sampled_from([*INTEGERS, np.dtype(bool), np.dtype("U1"), np.dtype("U3"), np.dtype("S5"), np.dtype("S9")]),
        st.integers(0, 60),
        fill=st.nothing(),
    )
    | hnp.arrays(object, st.integers(0, 60), elements=st.text(max_size=3), fill=st.nothing())
    | hnp.arrays(np.float64, st.integers(0, 60), elements=st.integers(-3, 3).map(float), fill=st.nothing())
)
def test_encoding_is_unique_with_the_inverse(y):
    for name in kernels.available():
        with kernels.using(name):
            agrees_with_unique(y)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([True, False, True], np.array([False, True])),
        ([3, 1, 3], np.array([1, 3])),
        ([True, 2, 1], np.array([1, 2])),
        ([2.0, 1, 2], np.array([1.0, 2.0])),
        ([np.int8(4), 2, np.float32(4)], np.array([2, 4])),
        ([np.str_("b"), "a", "b"], np.array(["a", "b"], object)),
    ],
)
def test_object_labels_become_classes_of_their_own_type(kernel, labels, classes):
    found, code = encode(np.array(labels, object))
    assert found.dtype.kind == classes.dtype.kind or found.dtype.kind in "if"
    np.testing.assert_array_equal(found, classes)
    assert [found[c] == label for c, label in zip(code, labels, strict=True)] == [True] * 3


def objects(*items):
    y = np.empty(len(items), object)
    y[:] = items
    return y


REFUSED = [
    (np.array([1.0, np.nan, np.nan]), "y has 2 missing labels"),
    (np.array([1.0, np.nan], np.float32), "y has 1 missing label"),
    (np.array(["2020-01-01", "NaT"], "M8[D]"), "not datetime64"),
    (objects("a", None, "b", None, None), "y has 3 missing labels"),
    (objects("a", float("nan")), "y has 1 missing label"),
    (objects(float("nan"), float("nan"), 1.0), "y has 2 missing labels"),
    (objects("a", np.float32("nan")), "y has 1 missing label"),
    (objects(1.0, np.float32("nan"), np.float16("nan")), "y has 2 missing labels"),
    (objects(pd.NA, "a", pd.NaT), "y has 2 missing labels"),
    (np.array([0.5, 1.0]), "continuous"),
    (np.array([1.0, np.inf]), "continuous"),
    (objects(0.5, 1.0), "continuous"),
    (objects(1, np.inf), "continuous"),
    (objects("a", 1), "mix"),
    (objects(True, "a"), "mix"),
    (objects("a", b"a"), "mix"),
    (objects(1, (1, 2)), "mix"),
    (objects([1], [2]), "unhashable"),
    (objects({}, "a"), "unhashable"),
    (objects((1, 2), (3, 4)), "tuple"),
    (np.array([1j, 2j]), "complex"),
    (np.array(["2020-01-01"], "M8[D]"), "datetime"),
    (np.zeros(2, "i4,i4"), "numbers, booleans or strings"),
]


@pytest.mark.parametrize(("y", "message"), REFUSED, ids=lambda v: v if isinstance(v, str) else repr(v)[:40])
def test_what_is_not_a_label_is_refused(kernel, y, message):
    with pytest.raises(DataError, match=message):
        encode(y)


@pytest.mark.parametrize("extreme", [2**63, 2**64 - 1, 2**70, -(2**63) - 1])
def test_huge_object_integers_keep_their_digits(kernel, extreme):
    y = objects(extreme, -1, extreme, 1)
    classes, code = encode(y)
    assert [int(classes[c]) for c in code] == y.tolist()


@pytest.mark.parametrize(
    ("a", "b", "both"),
    [
        (["a"], ["b"], ["a", "b"]),
        (["b", "c"], ["a"], ["a", "b", "c"]),
        (["a", "b"], ["a", "b"], ["a", "b"]),
        (["a"], ["longer"], ["a", "longer"]),
        ([1, 3], [2], [1, 2, 3]),
        ([False, True], [2], [0, 1, 2]),
        ([1, 2], [2.0, 3.0], [1, 2, 3]),
        ([b"a"], [b"bc"], [b"a", b"bc"]),
        ([], ["a"], ["a"]),
        (["a"], [], ["a"]),
    ],
)
def test_a_union_holds_both_and_is_sorted(a, b, both):
    a, b = np.array(a), np.array(b)
    joined = union(a, b)
    assert joined.tolist() == union(b, a).tolist() == both
    assert (positions(a, joined) >= 0).all()
    assert (positions(b, joined) >= 0).all()
    if a.dtype.kind == "U" == b.dtype.kind:
        assert union(a.astype(object), b).tolist() == union(a, b.astype(object)).tolist() == both


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.array([1]), np.array(["a"])),
        (np.array([True]), np.array(["a"], object)),
        (np.array([b"a"]), np.array(["a", "b"])),
        (np.array([b"a"]), np.array(["b", "c"], object)),
    ],
    ids=["int-str", "bool-object", "bytes-str", "bytes-object"],
)
def test_vocabularies_of_different_types_do_not_merge(a, b):
    for one, two in ((a, b), (b, a)):
        with pytest.raises(StatisticsError, match="different types"):
            union(one, two)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.array([2**63 + 1, 2**63 + 3], np.uint64), np.array([-1, 1])),
        (np.array([2**53 + 1]), np.array([2.0])),
    ],
    ids=["uint64-int64", "int64-float64"],
)
def test_a_union_loses_no_label_to_rounding_in_silence(a, b):
    try:
        joined = union(a, b)
    except StatisticsError:
        return
    assert (positions(a, joined) >= 0).all()
    assert (positions(b, joined) >= 0).all()


def test_positions_are_minus_one_for_strangers():
    classes = np.array(["a", "b", "d"])
    assert positions(np.array(["d", "c", "a", "a"]), classes).tolist() == [2, -1, 0, 0]
    assert positions(np.array([], str), classes).tolist() == []
    assert positions(np.array([1.0, 7.0]), np.array([1, 2])).tolist() == [0, -1]


def test_position_of_one_label():
    assert position("b", np.array(["a", "b"])) == 1
    assert position(np.str_("a"), np.array(["a", "b"], object)) == 0
    assert position(True, np.array([False, True])) == 1


@pytest.mark.parametrize("stranger", ["c", 1, None, ["a"], ("a", "b")], ids=repr)
def test_an_unknown_label_is_named_together_with_the_classes(stranger):
    with pytest.raises(DataError, match=r"is not a class of this model; its classes are 'a', 'b'"):
        position(stranger, np.array(["a", "b"]))


def test_same_compares_values():
    a = np.array(["a", "b"])
    assert same(a, a)
    assert same(a, np.array(["a", "b"], object))
    assert not same(a, np.array(["a", "c"]))
    assert not same(a, np.array(["a"]))
    assert not same(a, np.array([1, 2]))


def test_soft_labels_are_cut_like_rows():
    soft = SoftLabels(np.array(["a", "b"]), np.arange(10.0).reshape(5, 2))
    part = soft[1:3]
    assert (len(soft), len(part)) == (5, 2)
    assert part.classes is soft.classes
    np.testing.assert_array_equal(part.responsibility, [[2, 3], [4, 5]])
