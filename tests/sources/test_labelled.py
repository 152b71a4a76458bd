"""Rows without labels are told and can be left out; labels that are no classes are refused."""

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.errors import DataError, MissingLabelsError, SkippedWarning, SufficeWarning
from suffice.sources import as_source
from suffice.sources.labelled import check_classes, labelled

CLASSES = {  # labels, and whether they are classes
    "two": (np.arange(50) % 2, True),
    "as many single ones as allowed": (np.arange(20), True),
    "one more": (np.arange(21), False),
    "identifiers": (np.array([f"user {i}" for i in range(200)]), False),
    "prices": (np.round(np.random.default_rng(0).gamma(2, 4000, 200)).astype(int), False),
    "many single ones among other rows": (np.r_[np.arange(90), np.repeat([100, 101], 50)], True),
    "single ones in the first rows alone": (np.tile(np.arange(12_000), 2), True),
    "single ones everywhere": (np.arange(24_000), False),
    "single ones, and missing ones": (np.where(np.arange(200) % 9, np.arange(200.0), np.nan), False),
}


@pytest.mark.parametrize("case", CLASSES)
def test_what_is_not_a_class(case, tmp_path):
    y, fine = CLASSES[case]
    frame = pd.DataFrame({"x": np.zeros(len(y)), "y": y})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for table in (frame, tmp_path / "rows.csv"):
        source = as_source(table, "y")
        if fine:
            check_classes(source)
            continue
        alone = (np.unique(y, return_counts=True)[1] == 1).sum()
        with pytest.raises(DataError, match=rf"in {pd.notna(y).sum()} rows, {alone} of them in one row alone"):
            check_classes(source)


def test_a_class_of_one_row_is_warned_of():
    y = ["a", "b"] * 10 + ["Total"]
    with pytest.warns(SufficeWarning, match="class 'Total' has only one row; if this is no class, but a total"):
        check_classes(as_source(pd.DataFrame({"x": np.zeros(21), "y": y}), "y"))


def test_the_automatic_choice_refuses_and_skips():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80) + np.arange(80) % 2 * 3, "y": np.where(np.arange(80) % 2, "a", "b")})
    with pytest.raises(DataError, match="80 different values in 80 rows"):
        suffice.fit(frame, np.arange(80))
    holed = frame.assign(y=frame["y"].where(frame.index % 9 > 0))
    told = r"y has 9 missing labels \(rows 0, 9, 18, 27, 36 and 4 more, counted .* skip_unlabelled=True"
    with pytest.raises(MissingLabelsError, match=told):
        suffice.fit(holed, "y")
    with pytest.warns(SkippedWarning, match="9 rows have no label and are left out") as told:
        clf = suffice.fit(holed, "y", generative=True, skip_unlabelled=True)
    assert [each.category for each in told].count(SkippedWarning) == 1
    with pytest.warns(SkippedWarning, match="9 rows"):
        found = clf.evaluate(holed, "y", skip_unlabelled=True)
    assert found == clf.evaluate(holed.dropna(), "y")


def test_all_rows_stay_where_all_have_labels():
    source = as_source(np.zeros((3, 1)), np.arange(3))
    assert labelled(source) is source


@pytest.mark.parametrize("names", [("fail ", "fail"), ("Fail", "fail"), ("did  fail", "did fail")])
def test_classes_that_differ_in_blanks_or_capitals_are_told(names):
    labels = np.array([*names, "pass"] * 5)
    with pytest.warns(SufficeWarning, match="the classes '.*ail', '.*ail ?' differ in blanks or capitals alone"):
        check_classes(as_source(np.zeros((15, 1)), labels))


def test_other_classes_are_not_alike():
    for labels in (["a-b", "a b", "ab"], [1, 2, 11], [False, True, True]):
        check_classes(as_source(np.zeros((9, 1)), np.array(labels * 3)))
