"""The automatic model: what it tries, what it takes, and the table that says why."""

import re
from importlib import resources

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import cross_val_predict

import suffice
from suffice import GaussianClassifier, MixedClassifier
from suffice.errors import ColumnWarning, DataError, MissingLabelsError, SingularWarning
from suffice.estimators import learner
from suffice.selection import automatic as choice
from suffice.tables.labels import SoftLabels

PENGUINS = pd.read_csv(resources.files("suffice") / "data/penguins.csv")
BIRDS = PENGUINS.drop(columns="species")


def models(found):
    """The models that were tried, from their names."""
    return [eval(one.name) for one in found.choice_.candidates]


def normal(n, covariances, seed=0):
    """Two classes with means a unit apart in every direction."""
    rng = np.random.default_rng(seed)
    draws = [rng.multivariate_normal(c * np.ones(len(S)), S, n) for c, S in enumerate(covariances)]
    return np.concatenate(draws), np.repeat(["a", "b"], n)


ROUND, LONG, WIDE = np.eye(3), np.eye(3) + 0.9 * (1 - np.eye(3)), np.diag([0.1, 1.0, 9.0])


@pytest.mark.parametrize(
    ("covariances", "structure"), [((ROUND, WIDE), "diag"), ((LONG, LONG), "tied"), ((ROUND, LONG), "full")]
)
def test_the_structure_of_the_classes_is_found(covariances, structure):
    assert suffice.fit(*normal(2000, covariances)).covariance == structure


def test_counts_and_categories_are_found():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    counts = pd.DataFrame({"calls": rng.poisson(1 + 4 * y), "letters": rng.poisson(8 - 4 * y)})
    model = suffice.fit(counts, y)
    assert isinstance(model, MixedClassifier)
    codes = pd.DataFrame({"code": np.where(y, rng.choice([0, 9, 4], 2000), rng.choice([2, 7, 5], 2000))})
    model = suffice.fit(codes, y)
    assert model.schema_.families == ("categorical",)
    assert model.choice_.candidates[0].error == 0


@pytest.mark.parametrize(
    ("X", "y", "folds"),
    [
        (*load_iris(return_X_y=True), None),
        (*load_wine(return_X_y=True), 4),
        (BIRDS, PENGUINS["species"].to_numpy(str), 8),
    ],
)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_table_holds_what_refits_and_scikit_learn_say(X, y, folds, weighted):
    weight = np.random.default_rng(0).exponential(size=len(y)) if weighted else None
    found = suffice.fit(X, y, weight, folds=folds)
    assert len(found.choice_.candidates) > 2
    splits = choice._splits(np.unique(y, return_inverse=True)[1], np.ones(len(y)), found.choice_.folds)
    params = {"sample_weight": weight} if weighted else {}
    with config_context(enable_metadata_routing=True):
        for model, told in zip(
            [*models(found), DummyClassifier()], [*found.choice_.candidates, found.choice_.baseline], strict=True
        ):
            model = model.set_fit_request(sample_weight=True)
            posterior = cross_val_predict(model, X, y, cv=splits, method="predict_proba", params=params)
            assert told.log_loss == pytest.approx(log_loss(y, posterior, sample_weight=weight), rel=1e-6)
            decided = np.unique(y)[posterior.argmax(axis=1)]
            assert told.error == pytest.approx(1 - accuracy_score(y, decided, sample_weight=weight))


def test_the_best_is_chosen_and_fitted_to_all_rows():
    model = suffice.fit(PENGUINS, "species")
    *costs, _ = [row["log_loss"] for row in model.choice_.rows()]
    assert costs == sorted(costs)
    assert [row["chosen"] for row in model.choice_.rows()] == [True] + [False] * len(costs)
    again = clone(model).fit(PENGUINS, "species")
    assert repr(models(model)[0]) == repr(again) == repr(model)
    np.testing.assert_allclose(model.predict_log_proba(BIRDS), again.predict_log_proba(BIRDS), rtol=1e-9, atol=1e-12)
    assert model.schema_.reasons == again.schema_.reasons


def test_the_model_comes_from_the_statistics_that_it_was_judged_by(monkeypatch):
    monkeypatch.setattr(learner, "collect", None)  # no row is read again
    X, y = load_iris(return_X_y=True)
    weight = 1.0 + y
    by_name = suffice.fit(pd.DataFrame(X, columns=list("abcd")).assign(y=y, w=weight), "y", "w")
    monkeypatch.undo()
    again = clone(by_name).fit(X, y, weight)
    assert by_name.statistics_.layout == again.statistics_.layout
    for name, array in again.statistics_.to_arrays().items():
        np.testing.assert_allclose(by_name.statistics_.to_arrays()[name], array, rtol=1e-9)
    assert by_name.feature_names_in_.tolist() == list("abcd")


def test_what_the_model_that_is_returned_warns_of_is_said():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame({"text": ["a", "b"] * 75, "same": np.where(y == 0, 1.0, X[:, 0])})
    with pytest.warns(SingularWarning, match="'same'"):
        suffice.fit(frame, y)


def test_rows_without_weight_play_no_part():
    X, y = load_iris(return_X_y=True)
    weight = (np.arange(150) % 50 < 4).astype(float)  # twelve rows, which ten folds have to share
    kept = weight > 0
    few, all_rows = suffice.fit(X[kept], y[kept]), suffice.fit(X, y, weight)
    np.testing.assert_allclose(all_rows.log_likelihood(X), clone(all_rows).fit(X[kept], y[kept]).log_likelihood(X))
    assert all_rows.choice_.folds == few.choice_.folds == 10
    assert np.isfinite([row["log_loss"] for row in all_rows.choice_.rows()]).all()
    with pytest.raises(DataError, match="all rows are of class 0"):
        suffice.fit(X, y, (y == 0).astype(float))


def test_the_table_prints_as_text_and_as_html():
    found = suffice.fit(PENGUINS, "species").choice_
    lines = str(found).splitlines()
    assert lines[0].split() == ["candidate", "log", "loss", "error"]
    assert [line.endswith("chosen") for line in lines[1:]] == [row["chosen"] for row in found.rows()]
    for row, line in zip(found.rows(), lines[1:], strict=True):
        assert line.startswith(row["candidate"])
        assert f"{row['log_loss']:.4f}" in line
    assert repr(found) == str(found)
    page = found._repr_html_()
    assert page.count("<tr>") == page.count("</tr>") == len(lines)
    assert "<th>candidate</th>" in page
    assert "&#x27;" in page or "'" not in str(found)


@pytest.mark.parametrize("as_table", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_every_kind_of_table_leads_to_the_same_model(as_table):
    here, there = suffice.fit(PENGUINS, "species"), suffice.fit(as_table(PENGUINS), "species")
    assert [row["candidate"] for row in there.choice_.rows()] == [row["candidate"] for row in here.choice_.rows()]
    np.testing.assert_allclose(there.predict_proba(as_table(BIRDS)), here.predict_proba(BIRDS), rtol=1e-9, atol=1e-12)


def test_labels_may_be_a_column_or_an_array():
    frame = load_iris(as_frame=True).frame
    by_name = suffice.fit(frame, "target")
    for labels in (frame["target"], frame["target"].tolist()):
        model = suffice.fit(frame.drop(columns="target"), labels)
        assert str(model.choice_) == str(by_name.choice_)


def test_models_of_the_choice_merge_stream_and_are_kept(tmp_path):
    model = suffice.fit(PENGUINS, "species")
    half = clone(model).fit(PENGUINS[::2], "species") + clone(model).fit(PENGUINS[1::2], "species")
    np.testing.assert_allclose(half.log_likelihood(BIRDS), model.log_likelihood(BIRDS), rtol=1e-9)
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(BIRDS), model.predict(BIRDS))
    assert loaded.choice_ == model.choice_
    assert str(loaded.choice_) == str(model.choice_)
    clone(model).fit(PENGUINS, "species").save(tmp_path / "model")
    assert not hasattr(suffice.load(tmp_path / "model"), "choice_")


def test_missing_numbers_leave_what_can_learn_from_them():
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    found = suffice.fit(X, y)
    assert {one.covariance for one in models(found)} == {"diag", "tied_diag"}
    assert found.predict(X[:1]).tolist() == [0]


def test_wide_tables_keep_no_matrix_of_columns(monkeypatch):
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr(choice, "_ENTRIES", 3 * 10 * 13**2)
    assert len(suffice.fit(X, y).choice_.candidates) == 3
    monkeypatch.setattr(choice, "_ENTRIES", 3 * 10 * 13**2 - 1)
    assert {one.covariance for one in models(suffice.fit(X, y))} == {"diag", "tied_diag"}


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": [0.0, 0.1, 0.2, 5.0]}),
        pd.DataFrame({"x": [0.0, 0.1, None, 5.0]}),
        pd.DataFrame({"x": ["a", "a", None, "b"]}),
        pd.DataFrame({"x": [True, True, True, False], "note": ["one", "two", "three", "four"]}),
        pd.DataFrame({"x": [1, 2, 1, 30], "nothing": [None] * 4, "same": [1.0] * 4}),
        np.array([[0, 1], [0, 2], [0, 1], [9, 9]]),
    ],
    ids=["numbers", "missing", "text", "truths", "nothing", "array"],
)
@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
def test_a_class_of_one_row_is_learnt(frame):
    model = suffice.fit(frame, ["many", "many", "many", "one"])
    assert model.choice_.folds == 4
    assert np.isfinite([row["log_loss"] for row in model.choice_.rows()]).all()
    assert model.predict(frame)[:2].tolist() == ["many", "many"]


def test_a_row_costs_no_more_than_it_can():
    """A row of a class without any other is impossible when it is held out."""
    found = suffice.fit([[0.0], [0.1], [0.2], [0.3]], ["a", "a", "a", "b"]).choice_
    assert all(choice.MOST / 4 <= row["log_loss"] <= choice.MOST for row in found.rows())


@pytest.mark.parametrize("weight", [np.ones(31), np.arange(31) % 6 == 0], ids=["alike", "few"])
def test_folds_deal_every_class_out_evenly(weight):
    code = np.repeat([0, 1, 2], [25, 5, 1])
    splits = choice._splits(code, weight, 5)
    held = np.array([np.bincount(code[test], weight[test], minlength=3) for _, test in splits])
    assert (np.ptp(held, axis=0) <= 1).all()
    assert np.ptp(held.sum(axis=1)) <= 1
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(31))
    assert all(len(np.intersect1d(train, test)) == 0 for train, test in splits)


NUMBERS = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "a", "b", "b"]})


@pytest.mark.parametrize(
    ("data", "target", "says"),
    [
        (NUMBERS, "z", "no column 'z'"),
        (NUMBERS[["x"]], None, "target is missing"),
        (NUMBERS[["x"]], ["a"] * 4, "all rows are of class 'a'"),
        (NUMBERS[:0], "y", "no rows"),
        (NUMBERS[["x"]], ["a", "b"], "4"),
        (NUMBERS[["y"]], "y", "0 feature"),
        ([[1.0], [2.0]], SoftLabels(["a", "b"], np.full((2, 2), 0.5)), "soft labels"),
        (NUMBERS.assign(x=[1.0, np.inf, 2.0, 3.0]), "y", "infin"),
    ],
)
def test_what_cannot_be_used_is_named(data, target, says):
    with pytest.raises(DataError, match=says):
        suffice.fit(data, target)


def test_rows_without_label_are_refused():
    with pytest.raises(MissingLabelsError):
        suffice.fit(NUMBERS.assign(y=["a", None, "b", "b"]), "y")


@pytest.mark.parametrize("folds", [1, 0, 2.5, "five"])
def test_folds_are_a_number(folds):
    with pytest.raises(DataError, match="folds="):
        suffice.fit(NUMBERS, "y", folds=folds)


def test_candidates_try_numbers_as_numbers_beside_categories():
    frame = pd.DataFrame({"word": list("aabb") * 10, "stars": [1, 2, 3, 4] * 10, "y": [0, 1] * 20})
    tried = models(suffice.fit(frame, "y"))
    assert {str(one.families) for one in tried} == {"auto", str(choice.NUMBERS)}
    assert not any(isinstance(one, GaussianClassifier) for one in tried)


ROWS = 40
WORDS = [f"bird {i}" for i in range(ROWS)]
MEASURES = [f"{i / 7:.3f}" for i in range(ROWS)]


@pytest.mark.filterwarnings("ignore::suffice.errors.BaselineWarning")
@pytest.mark.parametrize(
    ("values", "says"),
    [
        (range(1, ROWS + 1), "it numbers the rows from 1 to 40"),
        (np.random.default_rng(0).permutation(ROWS), "it numbers the rows from 0 to 39"),
        (range(1900, 1900 + ROWS), None),
        ([1, *range(ROWS - 1)], None),
        (np.arange(1, ROWS + 1) + 0.5, None),
        (WORDS, "it has 40 different values in 40 rows"),
        (pd.Categorical(WORDS), "it has 40 different values in 40 rows"),
        ([None, *WORDS[1:3] * 2, *WORDS[5:]], "it has 37 different values in 39 rows"),
        (WORDS[:36] + WORDS[:4], None),
        (WORDS[:16] + [None] * 24, None),
    ],
)
def test_columns_that_tell_rows_apart_are_left_out(values, says, tmp_path):
    frame = pd.DataFrame({"bird": values, "x": np.repeat([0.0, 1.0], 20) + np.arange(ROWS) % 3})
    y = np.repeat(["a", "b"], 20)
    if says is None:
        model = suffice.fit(frame, y)
        assert model.n_features_in_ == 2
        assert model.choice_.left_out == {}
        return
    with pytest.warns(ColumnWarning, match=f"column 'bird' is left out: {says}"):
        model = suffice.fit(frame, y)
    assert model.choice_.left_out == {"bird": says}
    assert str(model.choice_).endswith(f"without 'bird': {says}")
    assert repr(model) == repr(suffice.fit(frame[["x"]], y))
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame[["x"]]))
    model.save(tmp_path / "model")
    assert suffice.load(tmp_path / "model").choice_ == model.choice_
    family = "gaussian" if frame["bird"].dtype.kind == "i" else "categorical"
    assert suffice.fit(frame, y, families={"bird": family}).n_features_in_ == 2


@pytest.mark.filterwarnings("ignore::suffice.errors.BaselineWarning")
def test_a_table_of_nothing_else_is_taken_as_it_is():
    assert suffice.fit(pd.DataFrame({"x": range(ROWS)}), [0, 1] * 20).n_features_in_ == 1
    assert suffice.fit(np.column_stack([np.arange(ROWS), np.arange(ROWS) % 7]), [0, 1] * 20).n_features_in_ == 2


@pytest.mark.filterwarnings("ignore::suffice.errors.BaselineWarning")
@pytest.mark.parametrize("as_table", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["?", *MEASURES[:19]] * 2, "2 of its 40 cells are not ('?')"),
        (MEASURES[:20] * 2, None),
        (["?"] * 21 + MEASURES[21:], None),  # fewer than half
        ([*MEASURES[:15], "nan"] * 2 + ["b"] * 8, None),  # few different numbers, as categories may be
        (["a", "b"] * 20, None),
    ],
    ids=["mark", "all", "half", "codes", "words"],
)
def test_numbers_as_text_are_named(as_table, cells, says):
    table, y = as_table({"mass": cells, "x": (np.arange(ROWS) % 3).tolist()}), ["a", "b", "c", "d"] * 10
    if says is None:
        suffice.fit(table, y)
        return
    with pytest.warns(ColumnWarning, match=f"column 'mass' is read as numbers, but {re.escape(says)}"):
        suffice.fit(table, y)
    suffice.fit(table, y, families={"mass": "categorical"})


def test_numbers_as_text_have_a_place_where_they_have_no_name():
    cells = np.array([["?", *MEASURES[:19]] * 2, ["a", "b"] * 20], object).T
    with pytest.warns(ColumnWarning, match=r"column 0 is read as numbers.*families=\{0: 'categorical'\}"):
        suffice.fit(cells, ["a", "b"] * 20)


def test_families_may_be_given():
    frame = NUMBERS.assign(when=pd.Timestamp("2026-01-01"))
    model = suffice.fit(frame, "y", families={"when": "drop"})
    assert model.schema_.families == ("gaussian", "drop")
    assert {one.alpha for one in models(model)} == {1.0}


def test_a_choice_is_forgotten_with_its_rows():
    X, y = load_iris(return_X_y=True)
    for change in (lambda model: model.partial_fit(X, y), lambda model: model.fit(X, y)):
        assert not hasattr(change(suffice.fit(X, y)), "choice_")
