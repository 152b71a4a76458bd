"""Codes of strings that follow each other in memory, against Arrow's on every kernel, and what is refused."""

from time import thread_time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import kernels
from suffice.tables.arrow import arrow_column

TEXT = st.text(alphabet="ab\0é日𝄞", max_size=12).map(lambda text: text * 3) | st.text(max_size=3)


def agrees_with_arrow(values):
    """Whether the codes of an Arrow array of strings are those of its dictionary, in the order of appearance."""
    column = arrow_column(pa.chunked_array([values]), str(values.type))
    distinct, code = column.coded()
    expected = values.dictionary_encode()
    assert distinct.tolist() == expected.dictionary.to_pylist()
    assert code.dtype == np.int32
    assert code.tolist() == expected.indices.fill_null(-1).to_pylist()


@given(st.lists(TEXT | st.none(), max_size=40), st.sampled_from([pa.string(), pa.large_string()]), st.data())
def test_codes_are_those_of_arrow(texts, kind, data):
    first, last = sorted(data.draw(st.tuples(st.integers(0, len(texts)), st.integers(0, len(texts)))))
    for name in kernels.available():
        with kernels.using(name):
            agrees_with_arrow(pa.array(texts, kind))
            agrees_with_arrow(pa.array(texts, kind)[first:last])


@pytest.mark.parametrize("length", [0, 1, 7, 8, 31, 32, 33, 80])
def test_strings_that_differ_in_one_letter(kernel, rng, length):
    texts = ["x" * length, *("x" * i + "y" + "x" * (length - i - 1) for i in range(length)), "x" * (length + 1)]
    agrees_with_arrow(pa.array(rng.choice(texts, 2000).tolist()))


def test_a_hundred_thousand_different_strings(kernel, rng):
    texts = [f"{'a long beginning that all have ' * (i % 3)}{i}" for i in range(100_000)]
    agrees_with_arrow(pa.array([*texts, None, *rng.permutation(texts).tolist()]))


def seconds(texts):
    values, start = pa.chunked_array([texts]), thread_time()
    assert len(arrow_column(values, "string").coded()[0]) == len(texts)
    return thread_time() - start


@pytest.mark.parametrize(
    "text",
    [
        lambda i: f"https://www.example.com/articles/2026/{i:05}",
        lambda i: f"https://www.example.com/articles/{i:05}/index.html",
        lambda i: f"ABCDEF{i // 1000:02}GHIJKL{i // 10 % 100:02}MNOPQRS{i % 10}",  # the last bytes of three words
    ],
    ids=["at the end", "in the middle", "in few bytes"],
)
def test_strings_that_are_much_alike_take_no_longer(kernel, text):
    assert seconds([text(i) for i in range(50_000)]) < 10 * seconds([f"{i:x}" for i in range(50_000)])


@pytest.mark.parametrize(
    ("offsets", "missing"),
    [([], None), ([-1, 2], None), ([0, 2, 1], None), ([0, 4], None), ([0, 1, 3], [True]), ([0, 3], [False, False])],
    ids=str,
)
def test_strings_outside_of_the_text_are_refused(kernel, offsets, missing):
    text = np.frombuffer(b"abc", np.uint8)
    with pytest.raises(ValueError, match=r"strings do not begin and end|whether \d are missing"):
        kernels.active.encode_strings(text, np.array(offsets, np.int64), missing and np.array(missing))
