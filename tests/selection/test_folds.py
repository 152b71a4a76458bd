"""Folds of tables in parts are those that scikit-learn makes of the whole table."""

import operator
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from suffice.errors import DataError, MissingLabelsError
from suffice.selection.folds import Folds
from suffice.sources import PartedSource
from suffice.tables.batch import Batch


class Parts(PartedSource):
    """Labels in parts, each a list of batches; numbers have gaps, as where parts are empty."""

    names, n_features = None, 1

    def __init__(self, parts):
        self.parts = {3 * i + 1: part for i, part in enumerate(parts) if sum(map(len, part))}

    def reduce_parts(self, of_part, merge):
        return reduce(merge, (of_part(number, map(batch_of, part)) for number, part in self.parts.items()))

    def reduce(self, map_batch, merge, run=None):
        return self.reduce_parts(lambda _, batches: reduce(merge, map(map_batch, batches)), merge)


def batch_of(labels):
    return Batch.of(np.zeros((len(labels), 1)), labels)


def folds_of(source, folds):
    """The fold of each row."""

    def of_part(number, batches):
        return [f for _, _, fold in folds.of_part(number, batches) for f in fold.tolist()]

    return source.reduce_parts(of_part, operator.add)


@st.composite
def tables(draw):
    """Labels, and the same in parts and batches."""
    y = np.array(draw(st.lists(st.sampled_from(["b", "a", "d", "c"]), min_size=12, max_size=80)))
    cuts = sorted(draw(st.lists(st.integers(0, len(y)), max_size=4)))
    parts = [np.array_split(part, draw(st.integers(1, 3))) for part in np.split(y, cuts)]
    return y, Parts([[batch for batch in part if len(batch)] for part in parts])


@pytest.mark.filterwarnings("ignore:The least populated class")
@given(tables(), st.integers(2, 5), st.booleans())
def test_folds_are_those_of_scikit_learn(table, k, stratified):
    (y, source), splitter = table, (StratifiedKFold if stratified else KFold)(k)
    if stratified and (np.unique(y, return_counts=True)[1] < k).all():
        with pytest.raises(DataError, match="greater than the number of members in each class"):
            Folds.of(source, k, stratified)
        return
    theirs = np.empty(len(y), int)
    for f, (_, test) in enumerate(splitter.split(y, y)):
        theirs[test] = f
    assert folds_of(source, Folds.of(source, k, stratified)) == theirs.tolist()


@pytest.mark.parametrize("labels", [[1, 0, 1, 0, 2, 2], [True, False, True, False], [3.0, -1.0, 3.0, -1.0]])
def test_labels_may_be_numbers(labels):
    y = np.array(labels)
    source = Parts([[y[:1]], [y[1:3], y[3:]]])
    folds = Folds.of(source, 2, True)
    assert folds.classes.tolist() == np.unique(y).tolist()
    assert folds_of(source, folds) == [int((y[:i] == y[i]).any()) for i in range(len(y))]


def test_small_classes_are_warned_of():
    with pytest.warns(UserWarning, match="has only 1 members, which is less than n_splits=2"):
        Folds.of(Parts([[list("aab")]]), 2, True)


def test_more_folds_than_rows_are_refused():
    with pytest.raises(DataError, match="n_splits=4 greater than the number of samples: 3"):
        Folds.of(Parts([[list("aab")]]), 4, False)


def test_missing_labels_are_counted():
    source = Parts([[np.array(["a", None], object)], [np.array([None, None, "b"], object), np.array(["c"], object)]])
    with pytest.raises(MissingLabelsError, match="3 missing labels"):
        Folds.of(source, 2, False)


@pytest.mark.parametrize(
    "later", [[[list("abab")], [list("aa")]], [[list("abab")], [list("abc")]], [[list("abab")], [], [list("ab")]]]
)
def test_rows_that_have_changed_are_refused(later):
    folds = Folds.of(Parts([[list("abab")], [list("ab")]]), 2, True)
    with pytest.raises(DataError, match="not those that were counted"):
        folds_of(Parts(later), folds)
