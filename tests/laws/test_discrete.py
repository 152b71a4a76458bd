"""The contract of statistics, on counts, categories, columns with missing cells, and bundles of all of them."""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from suffice.errors import DataError, PrecisionWarning, StatisticsError
from suffice.sources import as_table
from suffice.stats import (
    BundleStats,
    CategoryStats,
    CollectHistogram,
    CollectTransformed,
    CountStats,
    MomentStats,
    PairStats,
    TransformedStats,
    WordStats,
    counts,
)
from suffice.stats.support import POSITIVE
from suffice.tables import vocabulary as vocabularies
from suffice.tables.batch import Batch
from suffice.tables.labels import SoftLabels
from suffice.tables.table import ArrayColumn, Frame, Matrix
from suffice.tables.tokens import Tokens

D = 3
SMALL = st.integers(0, 5)


def objects(values):
    """An array of objects (n, D)."""
    array = np.empty((len(values), D), object)
    for i, row in enumerate(values):
        array[i] = row
    return array


def named(*names):
    def build(X):
        return Frame(tuple(ArrayColumn.of(X[:, j]) for j in range(X.shape[1])), names, len(X))

    return build


BLOCKS = {
    "moments": ((0,), lambda b: MomentStats.of(b, "diag", skip_missing=True)),
    "presence": ((1,), lambda b: CountStats.of(b, presence=True)),
    "categories": ((2,), CategoryStats.of),
}


@dataclass(frozen=True)
class Case:
    """How one statistic is collected, and from what."""

    collect: Any  # of a batch
    zeros: Any  # of classes
    cells: Any  # a strategy
    array: Any = field(default=lambda rows: np.array(rows, float).reshape(-1, D))
    table: Any = Matrix
    dense: int = counts.DENSE
    poison: Any = np.inf  # a cell that would be refused or spoil everything, were it not for its weight of zero

    def __call__(self, rows, weighted=True):
        """The statistic of rows, as (array, labels, weights)."""
        X, y, w = rows
        return self.of(X, y, w if weighted else None)

    def of(self, X, y, w=None):
        with self.storage():
            return self.collect(Batch(self.table(X), y, w))

    @contextmanager
    def storage(self):
        """Large tables of counts are kept sparse, and here that is what they all are."""
        before, counts.DENSE = counts.DENSE, self.dense
        try:
            yield
        finally:
            counts.DENSE = before


def sums(batch):
    return CountStats.of(batch)


def presence(batch):
    return CountStats.of(batch, presence=True)


def moments(batch):
    return MomentStats.of(batch, "diag", skip_missing=True)


def sparse(X):
    return as_table(csr_array(X))


def zeros_of_bundle(classes):
    parts = {
        "moments": MomentStats.zeros(classes, 1),
        "presence": CountStats.zeros(classes, 1, presence=True),
        "categories": CategoryStats.zeros(classes, 1),
    }
    first = parts["moments"]
    return BundleStats(first.classes, np.array(first.weight), parts, {n: c for n, (c, _) in BLOCKS.items()}, D)


def count_case(collect, cells, **rest):
    return Case(collect, lambda classes: CountStats.zeros(classes, D, collect is presence), cells, **rest)


def category_case(cells, array=objects, **rest):
    return Case(CategoryStats.of, lambda classes: CategoryStats.zeros(classes, D), cells, array, **rest)


def pair_case(cells, array=objects, **rest):
    return Case(PairStats.of, lambda classes: PairStats.zeros(classes, D), cells, array, **rest)


def word_case(presence, tokens=None):
    return Case(
        lambda batch: WordStats.of(batch, tokens, presence),
        lambda classes: WordStats.zeros(classes, D, tokens, presence),
        st.lists(st.sampled_from(["ab", "AB", "é1", "x", "ab\0cd"]), max_size=4).map(" ".join) | st.none(),
        objects,
        poison="\ud800",
    )


NAN = st.just(np.nan)
TEXT = st.sampled_from(["", "a", "é", "\ud800", "1", "b c"])
NUMBERS = st.sampled_from([0, 1, -2, 2**60, -7])
CASES = {
    "sums": count_case(sums, SMALL | st.floats(0, 9)),
    "sums, missing": count_case(sums, SMALL | NAN),
    "sums, csr": count_case(sums, SMALL, table=sparse, poison=np.nan),
    "sums, csr, kept sparse": count_case(sums, SMALL, table=sparse, dense=1, poison=np.nan),
    "presence": count_case(presence, st.integers(-1, 2)),
    "presence, missing": count_case(presence, st.integers(-1, 2) | NAN),
    "presence, csr": count_case(presence, st.integers(-1, 2), table=sparse, poison=np.nan),
    "presence, csr, kept sparse": count_case(presence, st.integers(-1, 2), table=sparse, dense=1, poison=np.nan),
    "text": category_case(TEXT | st.none()),
    "integers": category_case(
        st.integers(-3, 3), lambda rows: np.array(rows, np.int64).reshape(-1, D), poison=1 << 40
    ),
    "booleans": category_case(st.booleans(), lambda rows: np.array(rows, bool).reshape(-1, D), poison=True),
    "floats": category_case(st.sampled_from([-0.0, 0.0, 1.0, 2.5, np.nan]), lambda r: np.array(r).reshape(-1, D)),
    "huge": category_case(NUMBERS, lambda rows: np.array(rows, np.int64).reshape(-1, D), poison=3),
    "mixed": category_case(TEXT | NUMBERS | st.sampled_from([1.0, 2.5, np.nan]) | st.none()),
    "pairs": pair_case(TEXT | st.none()),
    "pairs of integers": pair_case(
        st.integers(-1, 1), lambda rows: np.array(rows, np.int64).reshape(-1, D), poison=1 << 40
    ),
    "pairs of anything": pair_case(TEXT | NUMBERS | st.sampled_from([1.0, 2.5, np.nan]) | st.none()),
    "one pair": Case(
        lambda batch: PairStats.of(batch, [(2, 0)]),
        lambda classes: PairStats.zeros(classes, D, pairs=[(0, 2)]), st.booleans() | st.none(), objects,
    ),
    "words": word_case(False),
    "words, presence": word_case(True),
    "words, hashed": word_case(False, Tokens(ngrams=(1, 2), hashed=7)),
    "moments, missing": Case(moments, lambda classes: MomentStats.zeros(classes, D), st.floats(-99, 99) | NAN),
    "transformed": Case(
        CollectTransformed(("identity", "log", "reciprocal"), POSITIVE, "gamma"),
        lambda classes: TransformedStats.zeros(classes, D, ("identity", "log", "reciprocal")),
        st.floats(0.01, 99) | NAN,
        poison=-1.0,
    ),
    "histograms": Case(
        CollectHistogram("negative_binomial"), lambda classes: CategoryStats.zeros(classes, D), SMALL | NAN, poison=-1.0
    ),
    "bundle": Case(
        lambda batch: BundleStats.of(batch, BLOCKS), zeros_of_bundle, SMALL | NAN,
        table=named("u", "v", "w"), poison=1e300,
    ),
}  # fmt: skip
few = settings(max_examples=8)  # of each law and case
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
COUNTED = {name: case for name, case in CASES.items() if name not in ("moments, missing", "transformed", "bundle")}


def draw_rows(data, case, least=1, labels="abc"):
    rows = data.draw(st.lists(st.tuples(*[case.cells] * D), min_size=least, max_size=8))
    y = data.draw(st.lists(st.sampled_from(labels), min_size=len(rows), max_size=len(rows)))
    w = data.draw(st.lists(st.floats(0.1, 4), min_size=len(rows), max_size=len(rows)))
    return case.array(rows), np.array(y, "U1"), np.array(w, float)


def joined(*tables):
    return tuple(np.concatenate(parts) for parts in zip(*tables, strict=True))


def dense(count):
    return count if isinstance(count, np.ndarray) else count.toarray()


def said(stats):
    """What a statistic says of rows: numbers by class, and by the name of the category; nothing of empty classes."""
    if isinstance(stats, BundleStats):
        return {(block, *key): value for block, part in stats.parts.items() for key, value in said(part).items()}
    found = {}
    for c in np.flatnonzero(stats.weight > 0):
        label = stats.classes[c].item()
        found[label, "weight"] = stats.weight[c]
        if isinstance(stats, CategoryStats):
            for j, (a, v) in enumerate(zip(stats.bounds, stats.categories, strict=False)):
                for i, category in enumerate(v):
                    if stats.count[c, a + i]:
                        found[label, j, vocabularies.text(category)] = stats.count[c, a + i]
        elif isinstance(stats, PairStats):
            found |= {key: value for key, value in said(stats.single).items() if key[0] == label}
            for (i, j), table in zip(stats.pairs.tolist(), stats.tables(), strict=True):
                names = [[vocabularies.text(category) for category in stats.categories[e]] for e in (i, j)]
                cells = [(names[0][a], names[1][b], table[c, a, b]) for a, b in np.argwhere(table[c]).tolist()]
                found |= {(label, i, j, one, two): weight for one, two, weight in cells}
        elif isinstance(stats, WordStats):
            for j in range(stats.n_features):
                words = range(7) if stats.tokens.hashed else stats.words(j)
                found |= {(label, j, w): n for w, n in zip(words, stats.counts(j).toarray()[c], strict=True) if n}
                found |= {(j, "documents", w): n for w, n in zip(words, stats.columns[j].having, strict=False)}
            found[label, "missing"] = stats.missing[c]
        elif isinstance(stats, CountStats):
            found[label, "count"] = dense(stats.count)[c]
            found[label, "observed"] = np.broadcast_to(stats.observed[c], D)
        else:
            stats = stats.moments if isinstance(stats, TransformedStats) else stats
            weight = np.broadcast_to(stats.column_weight[c], stats.n_features)
            found[label, "observed"] = weight
            found[label, "mean"] = np.where(weight > 1e-9, stats.mean[c], 0.0)
            found[label, "scatter"] = stats.scatter[c]
    return found


def assert_same(a, b):
    a, b = said(a), said(b)
    assert a.keys() == b.keys()
    for key in a:
        np.testing.assert_allclose(a[key], b[key], rtol=1e-8, atol=1e-6 if "scatter" in key else 1e-9, err_msg=str(key))


def added(case, *parts):
    with case.storage():
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total


def minus(case, a, b):
    with case.storage(), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)  # what is left may be next to nothing
        return a - b


@cases
@few
@given(st.data())
def test_zeros_are_a_true_identity(case, data):
    s = case(draw_rows(data, case))
    for classes in ([], ["a", "z"]):
        zeros = case.zeros(classes)
        for total in (added(case, s, zeros), added(case, zeros, s)):
            a, b = said(total), said(s)
            assert a.keys() == b.keys()
            for key in a:
                np.testing.assert_array_equal(a[key], b[key])
            assert set(total.classes) == set(s.classes) | set(classes)


@cases
@few
@given(st.data())
def test_addition_commutes(case, data):
    a, b = case(draw_rows(data, case)), case(draw_rows(data, case))
    assert_same(added(case, a, b), added(case, b, a))


@cases
@few
@given(st.data())
def test_addition_is_associative(case, data):
    a, b, c = (case(draw_rows(data, case)) for _ in range(3))
    assert_same(added(case, added(case, a, b), c), added(case, a, added(case, b, c)))


@cases
@few
@given(st.data())
def test_splitting_the_rows_changes_nothing(case, data):
    one, two = draw_rows(data, case, labels="ab"), draw_rows(data, case, labels="bc")
    assert_same(added(case, case(one), case(two)), case(joined(one, two)))


@cases
@few
@given(st.data())
def test_what_was_added_can_be_taken_away(case, data):
    a, b = case(draw_rows(data, case)), case(draw_rows(data, case))
    assert_same(minus(case, added(case, a, b), b), a)
    gone = minus(case, a, a)
    assert not gone.weight.any()
    for part in gone.parts.values() if isinstance(gone, BundleStats) else [gone]:
        arrays = part.to_arrays()
        assert not any(
            arrays[name].any() for name in arrays if name.split("_")[0] in ("count", "pair", "missing", "mean")
        )


@pytest.mark.parametrize("case", COUNTED.values(), ids=COUNTED)
@few
@given(st.data())
def test_rows_may_go_in_any_order(case, data):
    """What rounding leaves of some rows is not mistaken for a row, a category or a cell.

    Of counts alone: what it leaves of a variance depends on the rows that are gone, and those are not remembered.
    """
    a, b, c = (case(draw_rows(data, case)) for _ in range(3))
    total = added(case, added(case, a, b), c)
    assert_same(minus(case, minus(case, total, a), b), c)


@cases
@few
@given(st.data())
def test_weight_k_is_k_repetitions(case, data):
    X, y, _ = draw_rows(data, case)
    k = (len(X) + np.arange(len(X))) % 4 + 1
    assert_same(case.of(X, y, k.astype(float)), case.of(np.repeat(X, k, axis=0), np.repeat(y, k)))


@cases
@few
@given(st.data())
def test_weight_zero_is_absence(case, data):
    X, y, w = draw_rows(data, case, least=2)
    w, dirty = w.copy(), X.copy()
    w[0], dirty[0] = 0.0, case.poison
    if any(case is CASES[name] for name in ("mixed", "text", "floats", "pairs", "pairs of anything", "one pair")):
        dirty[0] = X[0]  # what is no category at all is refused whatever its weight
    assert_same(case.of(dirty, y, w), case.of(X[1:], y[1:], w[1:]))


@cases
@few
@given(st.data())
def test_hard_labels_are_soft_labels_of_zeros_and_ones(case, data):
    X, y, w = draw_rows(data, case)
    classes = np.array(["a", "b", "c"])
    assert_same(case.of(X, SoftLabels(classes, (y[:, None] == classes).astype(float)), w), case((X, y, w)))


@cases
@few
@given(st.data())
def test_soft_labels_split_a_row_among_classes(case, data):
    X, _, w = draw_rows(data, case)
    share = np.linspace(0.1, 0.9, len(X))
    soft = SoftLabels(np.array(["a", "b"]), np.column_stack([share, 1 - share]))
    rows = joined((X, np.full(len(X), "a"), w * share), (X, np.full(len(X), "b"), w * (1 - share)))
    assert_same(case.of(X, soft, w), case(rows))


@cases
@few
@given(st.data())
def test_arrays_and_back(case, data):
    s = case(draw_rows(data, case))
    arrays = s.to_arrays()
    assert all(array.dtype.kind in "fiub" for array in arrays.values())
    back = type(s).from_arrays(s.classes, arrays)
    assert back.n_features == s.n_features
    assert back.names == s.names
    again = back.to_arrays()
    assert again.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[name], array)
        assert again[name].dtype == array.dtype
        assert array.dtype.kind != "f" or not np.shares_memory(again[name], array)
    np.testing.assert_array_equal(back.weight, s.weight)
    np.testing.assert_array_equal(back.classes, s.classes)


@cases
def test_a_statistic_of_no_rows_can_be_saved(case):
    zeros = case.zeros(["a", "b"])
    back = type(zeros).from_arrays(zeros.classes, zeros.to_arrays())
    assert not back.weight.any()
    assert {name: array.shape for name, array in back.to_arrays().items()} == {
        name: array.shape for name, array in zeros.to_arrays().items()
    }


@cases
@few
@given(st.data())
def test_inputs_are_neither_changed_nor_kept(case, data):
    X, y, w = draw_rows(data, case)
    before = X.copy(), y.copy(), w.copy()
    a = case((X, y, w))
    s = added(case, a, case.zeros(["a", "z"]))
    for now, then in zip((X, y, w), before, strict=True):
        assert now.tolist() == then.tolist() or now.dtype.kind in "fO"
        assert now.flags.writeable
    for part in [s, a, *(s.parts.values() if isinstance(s, BundleStats) else ())]:
        arrays = [a for name, a in part.to_arrays().items() if a.ndim and not name.endswith((".columns", "_ends"))]
        if not isinstance(part, BundleStats):
            assert not any(a.flags.writeable for a in arrays if a.dtype.kind == "f")
        assert not any(np.shares_memory(a, b) for a in [*arrays, part.classes] for b in (X, y, w))


@cases
def test_forgetting_a_class_that_was_never_learnt_is_refused(case):
    X = case.array([[1] * D] * 3) if case.array is not objects else objects([["a"] * D] * 3)
    s = case.of(X, np.array(["a", "a", "b"]))
    with pytest.raises(StatisticsError, match="'c'"):
        minus(case, s, case.of(X[:1], np.array(["c"])))
    with pytest.raises(StatisticsError, match=r"more than was learnt.*'b'"):
        minus(case, s, case.of(X, np.array(["b", "b", "b"])))


NEVER = {  # rows that were learnt of one class, and one that was not
    "more of a count": ("sums", [[1, 0, 0], [1, 1, 0]], [3, 0, 0]),
    "the last row, with less": ("sums", [[5, 0, 0]], [1, 0, 0]),
    "the last row, kept sparse": ("sums, csr, kept sparse", [[5, 0, 0]], [1, 0, 0]),
    "more of a count, kept sparse": ("sums, csr, kept sparse", [[1, 0, 0], [1e12, 1, 0]], [0, 0, 1]),
    "a missing cell": ("sums, missing", [[1, 0, 0], [1, 1, 0]], [0, np.nan, 0]),
    "a presence": ("presence", [[1, 1, 0], [1, 1, 0]], [1, 1, 1]),
    "an absence": ("presence", [[1, 1, 0], [1, 1, 0]], [0, 1, 0]),
    "an absence, kept sparse": ("presence, csr, kept sparse", [[1, 1, 0], [1, 1, 0]], [0, 1, 0]),
    "a presence that was missing": ("presence, missing", [[np.nan, 1, 0], [np.nan, 1, 0]], [1, 1, 0]),
    "an absence that was missing": ("presence, missing", [[1, 1, 0], [np.nan, 1, 0]], [0, 1, 0]),
    "a category": ("integers", [[1, 1, 1], [2, 2, 2]], [3, 1, 1]),
    "a category that was missing": ("floats", [[1, 1, 1], [1, 2, 2]], [np.nan, 1, 1]),
    "a number that was missing": ("moments, missing", [[np.nan, 1, 0], [np.nan, 3, 1]], [1, 1, 0]),
    "a missing number": ("moments, missing", [[2, 1, 0], [1, 3, 1]], [np.nan, 1, 0]),
    "a number that was transformed": ("transformed", [[2, 1, 1], [2, 1, 1]], [2, 3, 1]),
    "a number that was missing and transformed": ("transformed", [[np.nan, 1, 1], [np.nan, 3, 1]], [1, 1, 1]),
    "categories that never met": ("pairs of integers", [[0, 0, 0], [1, 1, 1]], [0, 1, 0]),
    "part of a bundle": ("bundle", [[2, 1, 0], [1, 1, 1]], [2, 0, 0]),
}


@pytest.mark.parametrize(("name", "learnt", "other"), NEVER.values(), ids=NEVER)
def test_forgetting_rows_that_were_never_learnt_is_refused(name, learnt, other):
    case = CASES[name]
    s, t = case.of(case.array(learnt), np.full(len(learnt), "a")), case.of(case.array([other]), np.array(["a"]))
    with pytest.raises(StatisticsError, match="never learnt"):
        minus(case, s, t)


def damaged(arrays, **changes):
    return {name: a for name, a in (arrays | changes).items() if a is not None}


DAMAGE = {  # what is done to the arrays of a statistic of two classes and three features
    "a count short": ("sums", lambda a: {"count": a["count"][:, :-1], "missing": np.ones((2, 3))}),
    "a class short": ("sums", lambda a: {"count": a["count"][:1]}),
    "one axis": ("sums", lambda a: {"count": a["count"][0]}),
    "nothing counted": ("sums", lambda _: {"count": None}),
    "no weight": ("sums", lambda _: {"weight": None}),
    "a negative count": ("sums", lambda a: {"count": a["count"] - 99}),
    "NaN": ("sums", lambda a: {"count": a["count"] * np.nan}),
    "an infinite weight": ("sums", lambda a: {"weight": a["weight"] * np.inf}),
    "a negative weight": ("sums", lambda a: {"weight": a["weight"] - 99}),
    "negative cells": ("sums, missing", lambda a: {"missing": np.full_like(a["count"], -1)}),
    "missing cells of other columns": ("sums, missing", lambda _: {"missing": np.ones((2, 2))}),
    "text": ("sums", lambda _: {"count": np.array([["a"] * 3] * 2)}),
    "two presences": ("sums", lambda _: {"presence": np.array([True, False])}),
    "an index beyond": ("sums, csr, kept sparse", lambda a: {"count_indices": a["count_indices"] + 3}),
    "a negative index": ("sums, csr, kept sparse", lambda a: {"count_indices": a["count_indices"] - 3}),
    "a pointer beyond": ("sums, csr, kept sparse", lambda a: {"count_indptr": a["count_indptr"] * 2}),
    "pointers back": ("sums, csr, kept sparse", lambda a: {"count_indptr": a["count_indptr"][::-1].copy()}),
    "no indices": ("sums, csr, kept sparse", lambda _: {"count_indices": None}),
    "no width": ("sums, csr, kept sparse", lambda _: {"n_features": None}),
    "a negative width": ("sums, csr, kept sparse", lambda _: {"n_features": np.array(-1)}),
    "too few names": ("sums", lambda _: {"names_letters": np.array([97], np.uint8), "names_ends": np.array([1])}),
    "names without letters": ("sums", lambda _: {"names_ends": np.array([1, 2, 3])}),
    "names that end too late": (
        "sums",
        lambda _: {"names_letters": np.array([97], np.uint8), "names_ends": np.array([0, 1, 2])},
    ),
    "a column short": ("integers", lambda _: {"categories_2": None}),
    "a column between short": ("integers", lambda _: {"categories_1": None}),
    "a category short": ("integers", lambda a: {"count": a["count"][:, 1:]}),
    "categories out of order": ("integers", lambda a: {"categories_0": a["categories_0"][::-1]}),
    "a category twice": ("integers", lambda a: {"categories_0": a["categories_0"] * 0}),
    "a matrix of categories": ("integers", lambda a: {"categories_0": a["categories_0"][None]}),
    "words without ends": ("text", lambda _: {"ends_0": None}),
    "words that end too late": ("text", lambda a: {"ends_0": a["ends_0"] + 1}),
    "words that end backwards": ("text", lambda a: {"ends_0": a["ends_0"][::-1]}),
    "words that are no text": ("text", lambda a: {"text_0": a["text_0"] | np.uint8(0x80)}),
    "no number of columns": ("text", lambda _: {"n_features": None}),
    "a negative category": ("text", lambda a: {"count": a["count"] - 9}),
    "an infinite category weight": ("text", lambda a: {"weight": a["weight"] * np.inf}),
    "no pairs": ("pairs of integers", lambda _: {"pairs": None}),
    "a pair of a column beyond": ("pairs of integers", lambda a: {"pairs": a["pairs"] + 1}),
    "pairs out of order": ("pairs of integers", lambda a: {"pairs": a["pairs"][::-1]}),
    "a pair short": ("pairs of integers", lambda a: {"pairs": a["pairs"][1:]}),
    "categories more often together than alone": ("pairs of integers", lambda a: {"pair_count": a["pair_count"] * 2}),
    "no tokens": ("words", lambda _: {"tokens": None}),
    "words out of order": ("words", lambda a: {"letters_0": a["letters_0"][::-1]}),
    "a word twice": ("words", lambda a: {"letters_0": a["letters_0"] * 0 + 97}),
    "letters that are too few": ("words", lambda a: {"letters_0": a["letters_0"][1:]}),
    "classes of words out of order": ("words", lambda a: {"label_0": a["label_0"][::-1]}),
    "a class of a word beyond": ("words", lambda a: {"label_0": a["label_0"] + 1}),
    "words that begin late": ("words", lambda a: {"starts_0": np.append(1, a["starts_0"][1:])}),
    "words that end early": ("words", lambda a: {"starts_0": np.append(a["starts_0"][:-1], a["starts_0"][-2])}),
    "words of a class without rows": ("words", lambda a: {"weight": a["weight"] * [1, 0], "missing": a["missing"] * 0}),
    "more documents than there are": ("words, presence", lambda a: {"value_0": a["value_0"] * 2}),
    "more texts missing than there are": ("words", lambda a: {"missing": a["missing"] + 2}),
    "less than none observed": ("moments, missing", lambda a: {"observed": -np.ones_like(a["mean"])}),
    "observed of other columns": ("moments, missing", lambda _: {"observed": np.ones((2, 2))}),
    "no transforms": ("transformed", lambda _: {"transforms": None}),
    "a transform that is not known": ("transformed", lambda _: {"transforms": np.array([0, 1, 9])}),
    "transforms of other columns": ("transformed", lambda _: {"transforms": np.array([0, 1])}),
    "no transform": ("transformed", lambda _: {"transforms": np.zeros(0, np.int64)}),
    "a block short": ("bundle", lambda _: {"moments.MomentStats.columns": np.array([], np.int64)}),
    "no blocks": ("bundle", lambda _: dict.fromkeys([f"{n}.columns" for n in
        ("moments.MomentStats", "presence.CountStats", "categories.CategoryStats")])),
    "blocks of the same column": ("bundle", lambda _: {"moments.MomentStats.columns": np.array([1])}),
    "a block of a column beyond": ("bundle", lambda _: {"moments.MomentStats.columns": np.array([7])}),
    "a strange block": ("bundle", lambda _: {"x.OtherStats.columns": np.array([1])}),
    "a bundle of unknown width": ("bundle", lambda _: {"n_features": None}),
    "a bundle's name short": ("bundle", lambda a: {n: a[n][:2] for n in ("names_ends", "names_letters")}),
    "a bundle of damaged parts": ("bundle", lambda _: {"presence.CountStats:count": -np.ones((2, 1))}),
}  # fmt: skip


@pytest.mark.parametrize(("name", "change"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_arrays_are_refused(name, change):
    case = CASES[name]
    words = [["aa bb", "aa", None], ["bb aa", "bb", ""]]
    rows = {"text": [["a", "b", "c"], ["bb", "c", "d"]], "words": words, "words, presence": words}.get(
        name, [[1, 2, 3], [2, 1, 4]]
    )
    s = case.of(case.array(rows), np.array(["x", "y"]))
    arrays = s.to_arrays()
    type(s).from_arrays(s.classes, arrays)
    with pytest.raises(StatisticsError):
        type(s).from_arrays(s.classes, damaged(arrays, **change(arrays)))


def test_statistics_that_do_not_fit_are_refused():
    y = np.array(["a", "b"])
    two, three = Matrix(np.ones((2, 2))), Matrix(np.ones((2, 3)))
    for of in (CountStats.of, CategoryStats.of):
        with pytest.raises(StatisticsError, match="2 and of 3 columns"):
            of(Batch(two, y)) + of(Batch(three, y))
    with pytest.raises(StatisticsError, match="different models"):
        presence(Batch(two, y)) + sums(Batch(two, y))
    with pytest.raises(TypeError):
        sums(Batch(two, y)) + CategoryStats.of(Batch(two, y))
    with pytest.raises(StatisticsError, match="different types"):
        sums(Batch(two, y)) + sums(Batch(two, np.array([1, 2])))


def test_bundles_that_do_not_fit_are_refused():
    X, y = np.ones((2, 3)), np.array(["a", "b"])
    bundle = CASES["bundle"]
    s = bundle.of(X, y)
    other = BundleStats.of(
        Batch(named("u", "v", "w")(X), y), BLOCKS | {"moments": ((1,), moments), "presence": ((0,), presence)}
    )
    with pytest.raises(StatisticsError, match="different families"):
        s + other
    with pytest.raises(StatisticsError, match="different names"):
        s + BundleStats.of(Batch(named("u", "w", "v")(X), y), BLOCKS)
    assert (s + BundleStats.of(Batch(Matrix(X), y), BLOCKS)).names == ("u", "v", "w")
    assert (BundleStats.of(Batch(Matrix(X), y), BLOCKS) + s).names == ("u", "v", "w")
    layouts = BLOCKS | {"moments": ((0,), lambda b: MomentStats.of(b, "full"))}
    with pytest.raises(StatisticsError, match="different models"):
        s + BundleStats.of(Batch(named("u", "v", "w")(X), y), layouts)
    families = BLOCKS | {"moments": ((0,), sums)}
    with pytest.raises(StatisticsError, match="different families"):
        s + BundleStats.of(Batch(named("u", "v", "w")(X), y), families)


@pytest.mark.parametrize("limit", [counts.DENSE, 1])
def test_new_features_count_zero_and_align_by_name(monkeypatch, limit):
    monkeypatch.setattr(counts, "DENSE", limit)
    one = sums(Batch(named("u", "v")(np.array([[1.0, 2], [3, np.nan]])), np.array(["a", "b"])))
    two = sums(Batch(named("w", "v")(np.array([[5.0, 7], [9, 1]])), np.array(["b", "c"])))
    total = one + two
    assert total.names == ("u", "v", "w")
    np.testing.assert_array_equal(dense(total.count), [[1, 2, 0], [3, 7, 5], [0, 1, 9]])
    np.testing.assert_array_equal(total.observed, [[1, 1, 1], [2, 1, 2], [1, 1, 1]])
    left = total - two
    np.testing.assert_array_equal(dense(left.count), [[1, 2, 0], [3, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(left.weight, [1, 1, 0])
    np.testing.assert_array_equal((two + one).weight, total.weight)
    np.testing.assert_array_equal(dense((two + one).count)[:, [2, 1, 0]], dense(total.count))


def test_new_categorical_features_are_missing_and_align_by_name():
    one = CategoryStats.of(Batch(named("u", "v")(np.array([["x", "y"]], object)), np.array(["a"])))
    two = CategoryStats.of(Batch(named("w", "v")(np.array([[1, 2.5], [1.0, "y"]], object)), np.array(["b", "b"])))
    total = one + two
    assert total.names == ("u", "v", "w")
    assert [v.tolist() for v in total.categories] == [["x"], ["2.5", "y"], [1]]
    np.testing.assert_array_equal(total.count, [[1, 0, 1, 0], [0, 1, 1, 2]])
    np.testing.assert_array_equal(total.weight, [1, 2])
    left = total - two
    np.testing.assert_array_equal(left.count, [[1, 1], [0, 0]])
    assert_same(two + one - one, two.with_columns(("w", "v", "u")))


def test_new_classes_and_categories_align():
    one = CategoryStats.of(Batch.of([[1, 5], [2, 5]], ["b", "d"]))
    two = CategoryStats.of(Batch.of([[0, 5], [2, 4]], ["a", "b"]))
    total = one + two
    assert total.classes.tolist() == ["a", "b", "d"]
    assert [v.tolist() for v in total.categories] == [[0, 1, 2], [4, 5]]
    np.testing.assert_array_equal(total.count, [[1, 0, 0, 0, 1], [0, 1, 1, 1, 1], [0, 0, 1, 0, 1]])


def test_integers_far_apart_are_counted_one_by_one():
    wide = np.array([[0, 1], [10**6, 1], [5, 2], [10**6, 2**40]])
    s = CategoryStats.of(Batch.of(wide, list("aabb")))
    assert [v.tolist() for v in s.categories] == [[0, 5, 10**6], [1, 2, 2**40]]
    np.testing.assert_array_equal(s.count, [[1, 0, 1, 2, 0, 0], [0, 1, 1, 0, 1, 1]])


def test_integers_that_come_late_widen_the_table():
    X = np.zeros((9000, 2), np.int16)
    X[5000], X[8000], X[8999] = [-7, 3], [9, 3], [-7, 0]
    s = CategoryStats.of(Batch.of(X, np.repeat(["a", "b"], 4500)))
    assert [v.tolist() for v in s.categories] == [[-7, 0, 9], [0, 3]]
    np.testing.assert_array_equal(s.count, [[0, 4500, 0, 4500, 0], [2, 4497, 1, 4498, 2]])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.int64, np.float32])
def test_every_dtype_has_the_same_categories(dtype, rng):
    X, y = rng.integers(0, 2, (50, 2)), rng.choice(["a", "b"], 50)
    s, t = CategoryStats.of(Batch.of(X.astype(dtype), y)), CategoryStats.of(Batch.of(X, y))
    assert_same(s + t, t + s)
    np.testing.assert_array_equal(s.count, t.count)
    assert (s + t).categories[0].tolist() == [0, 1]


@pytest.mark.parametrize("bad", [-1.0, np.inf])
@pytest.mark.parametrize("table", [Matrix, sparse, named("u", "v")])
@pytest.mark.parametrize("limit", [counts.DENSE, 1])
def test_what_cannot_be_counted_is_refused_by_its_column(monkeypatch, bad, table, limit):
    monkeypatch.setattr(counts, "DENSE", limit)
    X = np.array([[1.0, 2], [0, bad]])
    with pytest.raises(DataError, match=r"column ('v'|1) holds"):
        sums(Batch(table(X), np.array(["a", "b"])))


def test_what_cannot_be_a_category_is_refused_by_its_column():
    with pytest.raises(DataError, match="column 1: a category cannot be infinite"):
        CategoryStats.of(Batch.of([[1.0, np.inf], [2.0, 1.0]], ["a", "b"]))
    with pytest.raises(DataError, match="sparse"):
        CategoryStats.of(Batch(sparse(np.eye(2)), np.array(["a", "b"])))


def test_duplicate_entries_of_a_sparse_matrix_are_one_cell(monkeypatch):
    X = csr_array((np.array([1.0, 2, 3]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    for limit in (counts.DENSE, 1):
        monkeypatch.setattr(counts, "DENSE", limit)
        batch = Batch(as_table(X), np.array(["a", "b"]))
        np.testing.assert_array_equal(dense(sums(batch).count), [[3, 0], [0, 3]])
        np.testing.assert_array_equal(dense(presence(batch).count), [[1, 0], [0, 1]])


def test_storage_follows_the_size(monkeypatch):
    X, y = csr_array(np.eye(4)), np.array(list("abcd"))
    monkeypatch.setattr(counts, "DENSE", 9)
    parts = [sums(Batch(as_table(X[i : i + 2]), y[i : i + 2])) for i in (0, 2)]
    assert [part.is_sparse for part in parts] == [False, False]
    total = parts[0] + parts[1]
    assert total.is_sparse
    assert not (total - parts[1]).count[:0].toarray().size
    np.testing.assert_array_equal(total.count.toarray(), np.eye(4))
    monkeypatch.setattr(counts, "DENSE", 16)
    assert not (total + parts[0]).is_sparse
    np.testing.assert_array_equal((total + parts[0]).count, np.diag([2, 2, 1, 1]))
    assert CountStats.from_arrays(total.classes, total.to_arrays()).is_sparse


def test_a_column_that_is_always_missing_has_no_weight_whatever_the_rounding(rng):
    w = rng.uniform(0.1, 3, 999)
    X = np.column_stack([np.full(999, np.nan), np.ones(999)])
    for collect in (sums, presence):
        whole = collect(Batch(Matrix(X), np.full(999, "a"), w))
        pieces = sum((collect(Batch(Matrix(X[i : i + 1]), np.array(["a"]), w[i : i + 1])) for i in range(1, 999)),
                     collect(Batch(Matrix(X[:1]), np.array(["a"]), w[:1])))  # fmt: skip
        for s in (whole, pieces):
            assert s.observed[0, 0] == 0
            assert s.observed[0, 1] == pytest.approx(w.sum())


@pytest.mark.parametrize("collect", [sums, presence])
def test_the_last_bit_of_a_weight_is_no_observation(collect):
    s = collect(Batch.of([[np.nan, 1.0]], ["a"], [0.1 + 0.2]))
    arrays = s.to_arrays() | {"missing": np.array([[0.3, 0.0]])}
    assert arrays["missing"][0, 0] < s.weight[0]
    np.testing.assert_array_equal(CountStats.from_arrays(s.classes, arrays).observed, [[0, 0.1 + 0.2]])


@pytest.mark.parametrize("x", [1e-3, 2e-3, 3e-3, 7e-3])
def test_small_counts_that_large_ones_have_blurred_may_still_be_forgotten(x):
    small, large = (sums(Batch.of([[count, 1.0]], ["a"])) for count in (x, 1e6))
    left = small + large - large
    assert left.count[0, 0] != x
    assert not (left - small).count.any()


def test_the_last_bit_of_a_category_is_none():
    one, two, rest = (CategoryStats.of(Batch.of([[x]], ["a"], [w])) for x, w in (("x", 0.1), ("x", 0.2), ("y", 5.0)))
    left = one + two + rest - one - two
    assert 0.1 + 0.2 - 0.1 - 0.2 > 0  # or what is tested here does not happen
    assert left.categories[0].tolist() == ["y"]


@pytest.mark.parametrize("collect", [sums, presence])
def test_the_last_bit_of_a_count_or_a_missing_cell_is_none(collect):
    one, two, rest = (
        collect(Batch.of([row], ["a"], [w])) for row, w in (([1, np.nan], 0.1), ([1, np.nan], 0.2), ([0, 0.0], 5.0))
    )
    left = one + two + rest - one - two
    assert left.count.tolist() == [[0, 0]]
    assert left.missing is None


def test_a_class_whose_weight_is_rounding_alone_has_no_pairs():
    """What is left of the class is less than the last bit of its weight."""
    heavy, light, other = (
        PairStats.of(Batch.of([row], [label], [w]))
        for row, label, w in ((["x", "x"], "a", 1e6), (["y", "y"], "a", 1e-7), (["y", "y"], "b", 1.0))
    )
    left = heavy + light + other - heavy
    assert left.weight.tolist() == [0.0, 1.0]
    assert left.of_pair(0, 1).tolist() == [[[0.0]], [[1.0]]]
    PairStats.from_arrays(left.classes, left.to_arrays())  # where pairs are refused that are more than their columns


@given(st.lists(st.floats(-1e3, 1e3) | NAN, min_size=1, max_size=12))
def test_moments_skip_missing_cells(values):
    x = np.array(values)
    s = MomentStats.of(Batch.of(np.column_stack([x, np.ones(len(x))]), np.full(len(x), "a")), "diag", skip_missing=True)
    kept = x[~np.isnan(x)]
    weight = np.broadcast_to(s.column_weight, (1, 2))
    np.testing.assert_array_equal(weight, [[len(kept), len(x)]])
    if len(kept):
        np.testing.assert_allclose(s.mean[0, 0], kept.mean(), atol=1e-9)
        np.testing.assert_allclose(s.scatter[0, 0], len(kept) * kept.var(), rtol=1e-9, atol=1e-6)
    assert s.is_finite()
    assert (s.observed is None) == (len(kept) == len(x))
