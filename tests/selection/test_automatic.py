"""The automatic model: what it tries, what it takes, and the table that says why."""

from contextlib import nullcontext
from dataclasses import replace
from importlib import resources
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import TimeSeriesSplit, cross_val_predict

import suffice
from suffice import (
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MixtureClassifier,
    MultinomialClassifier,
    decisions,
)
from suffice.errors import (
    BaselineWarning,
    CalibrationWarning,
    ColumnWarning,
    DataError,
    DecisionError,
    MissingLabelsError,
    SingularWarning,
    SkippedWarning,
    SufficeWarning,
)
from suffice.selection import automatic, held_out, mixtures
from suffice.selection.candidates import POWERS
from suffice.selection.models import View
from suffice.sources import as_source
from suffice.sources.files.source import FileSource
from suffice.tables.labels import SoftLabels

PENGUINS = pd.read_csv(resources.files("suffice") / "data/penguins.csv")
BIRDS = PENGUINS.drop(columns="species")


def models(found):
    """The models that were tried, from their names."""
    own = (GaussianClassifier, LogisticClassifier, MixedClassifier, MixtureClassifier)
    kinds = {kind.__name__: kind for kind in own}
    return [eval(one.name, kinds) for one in found.choice_.candidates]


def of_labels(labels, n_folds):
    """The folds of rows that all count alike."""
    return held_out.splits_of(n_folds, None, np.unique(labels, return_inverse=True)[1], np.ones(len(labels)), 0)[0]


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
    assert suffice.fit(*normal(1700, covariances), generative=True).covariance == structure


@pytest.mark.parametrize("seed", range(3))
def test_as_many_rows_in_a_class_as_columns_are_enough(seed):
    """A covariance of 31 rows and 30 columns is almost singular, while those of folds, of 28 rows, are singular."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(2, 30, 30)) / np.sqrt(30)

    def drawn(n):
        y = np.arange(n) % 2
        return np.exp(0.5 * np.einsum("nij,nj->ni", roots[y], rng.standard_normal((n, 30)))), y

    (X, y), (new, of_new) = drawn(62), drawn(2000)
    clf = suffice.fit(X, y)
    promised, found = clf.choice_.candidates[0].log_loss, log_loss(of_new, clf.predict_proba(new))
    assert found < promised < 0.3


def clusters(n, seed=0):
    """Two clusters in each class, of 3/4 and 1/4 of its rows, alternating along a line oblique to all columns."""
    rng = np.random.default_rng(seed)
    y, side = rng.integers(0, 2, n), rng.random(n) < 0.25
    X = np.outer(4 * side + 2 * y, np.array([1, -1, 1]) / np.sqrt(3)) + 0.5 * rng.normal(size=(n, 3))
    return pd.DataFrame(X, columns=list("abc")), y


def test_clusters_in_each_class_are_found():
    (X, y), (new, of_new) = clusters(1000), clusters(5000, seed=1)
    found = suffice.fit(X, y)
    assert isinstance(found, MixtureClassifier)
    assert not isinstance(suffice.fit(X, y, generative=True), MixtureClassifier)  # which does not stream or forget
    again = clone(found).fit(X, y)
    np.testing.assert_allclose(found.log_likelihood(X), again.log_likelihood(X), rtol=1e-9)
    assert log_loss(of_new, found.predict_proba(new)) < log_loss(of_new, posterior_of_clusters(new)) + 0.03


def test_mixtures_of_splits_are_those_of_scikit_learn(monkeypatch):
    monkeypatch.setattr(mixtures, "_STEPS", 500)
    X, y = clusters(600)
    trial, _ = automatic._trial(as_source(X, y), "auto", 4, None, 0)
    model = MixtureClassifier(tol=1e-9, n_init=1, pseudo_rows=0.0, random_state=0)
    candidate = mixtures.MixtureCandidate(model, View.of(trial, "auto"))
    scores = candidate.scores(trial, range(3))
    for train, test in trial.splits[:3]:
        for c in (0, 1):
            peer = GaussianMixture(2, tol=1e-9, reg_covar=0, max_iter=500, random_state=0).fit(
                X.iloc[train][y[train] == c]
            )
            np.testing.assert_allclose(scores[test, c], peer.score_samples(X.iloc[test]), rtol=1e-3)
    assert not scores[trial.splits[3][1]].any()
    monkeypatch.setattr(mixtures, "ROWS", 500)
    assert candidate.fitted(as_source(X, y)).statistics_.weight.sum() == 500


def posterior_of_clusters(X):
    """P(class 1 | x) of such clusters."""
    along = X.to_numpy() @ np.array([1, -1, 1]) / np.sqrt(3)
    joint = [0.75, 0.25, 0.75, 0.25] * norm.pdf(along[:, None], [0, 4, 2, 6], 0.5)
    return joint[:, 2:].sum(axis=1) / joint.sum(axis=1)


def amounts(zeros):
    """Two columns of amounts, of which such a share is zero, and classes."""
    rng = np.random.default_rng(0)
    return rng.lognormal(size=(300, 2)) * (rng.random((300, 2)) >= zeros), np.arange(300) % 2


@pytest.mark.parametrize("generative", [False, True])
def test_zeros_are_told_from_amounts(generative, tmp_path):
    """Zeros and large amounts speak for one class, and small amounts for the other."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    none = rng.random((600, 6)) < 0.3 + 0.2 * (y == 1)[:, None]
    amounts = np.where(none, 0.0, rng.lognormal(1 - 0.8 * (y == 0)[:, None], 1, (600, 6)))
    frame = pd.DataFrame(amounts).add_prefix("amount ")
    found = suffice.fit(frame, y, generative=generative)
    assert found.schema_.families == ("zero_inflated",) * 6
    found.save(tmp_path / "model")
    np.testing.assert_allclose(suffice.load(tmp_path / "model").predict_proba(frame), found.predict_proba(frame))
    without = [one.log_loss for one in found.choice_.candidates if "zero_inflated" not in one.name]
    assert found.choice_.candidates[0].log_loss < min(without) - 0.005


@pytest.mark.parametrize(
    ("frame", "y", "what"),
    [
        (*clusters(400), "Mixture"),  # few rows
        (clusters(1000)[0].mask(np.arange(1000)[:, None] == [3, 5, 7]), clusters(1000)[1], "Mixture"),  # missing values
        (clusters(1000)[0].assign(word=["x", "y"] * 500), clusters(1000)[1], "Mixture"),
        (clusters(1000)[0].assign(on=[True, False] * 500), clusters(1000)[1], "Mixture"),
        (*normal(500, (LONG, LONG)), "Mixture"),  # classes are alike but for their means
        (*load_iris(return_X_y=True), "zero_inflated"),
        (np.arange(900).reshape(300, 3) % 7, np.arange(300) % 2, "zero_inflated"),  # few values besides zero
        (*amounts(0.05), "zero_inflated"),  # few zeros
        (amounts(0.3)[0] - 50 * np.eye(300, 2), amounts(0.3)[1], "zero_inflated"),  # a value below zero
        (np.tile(amounts(0.3)[0], 9), amounts(0.3)[1], "zero_inflated"),  # many columns
    ],
)
@pytest.mark.filterwarnings("ignore::suffice.errors.BaselineWarning")
def test_mixtures_and_zeros_are_not_tried_where_they_do_not_matter(frame, y, what, monkeypatch):
    tried, try_ = [], automatic._Search._try
    monkeypatch.setattr(
        automatic._Search, "_try", lambda search, model: tried.append(model.name) or try_(search, model)
    )
    for generative in (False, True):
        suffice.fit(frame, y, generative=generative)
    assert not any(what in name for name in tried)


def test_counts_and_categories_are_found():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    counts = pd.DataFrame({"calls": rng.poisson(1 + 4 * y), "letters": rng.poisson(8 - 4 * y)})
    model = suffice.fit(counts, y, generative=True)
    assert isinstance(model, MixedClassifier)
    codes = pd.DataFrame({"code": np.where(y, rng.choice([0, 9, 4], 2000), rng.choice([2, 7, 5], 2000))})
    model = suffice.fit(codes, y, generative=True)
    assert model.schema_.families == ("categorical",)
    assert model.choice_.candidates[0].error == 0


@pytest.mark.parametrize(
    ("X", "y", "cv", "given_up"),
    [
        (*load_iris(return_X_y=True), None, ""),
        (*load_wine(return_X_y=True), 4, ""),
        (BIRDS, PENGUINS["species"].to_numpy(str), 8, ""),
        (*normal(400, (ROUND, WIDE)), 5, "tied"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_table_holds_what_refits_and_scikit_learn_say(X, y, cv, given_up, weighted):
    weight = np.random.default_rng(0).exponential(size=len(y)) if weighted else None
    found = suffice.fit(X, y, weight, cv=cv, generative=True, calibrate=False)
    assert len(found.choice_.candidates) > 2
    assert not given_up or {one.folds for one in found.choice_.candidates if given_up in one.name} == {2}
    params = {"sample_weight": weight} if weighted else {}
    tried = zip([*models(found), DummyClassifier()], [*found.choice_.candidates, found.choice_.baseline], strict=True)
    with config_context(enable_metadata_routing=True):
        best = None
        for model, told in tried:
            model = model.set_fit_request(sample_weight=True)
            splits = of_labels(y, found.choice_.folds)
            posterior = cross_val_predict(model, X, y, cv=splits, method="predict_proba", params=params)
            # Refits see other bins and powers, and take more steps of EM.
            is_exact = not any(word in told.name for word in ("binned", "yeo_johnson", "Mixture"))
            best = best or (posterior, is_exact)
            if told.folds is not None:  # it was given up
                rows = np.concatenate([test for _, test in splits[: told.folds]])
                losses = [
                    log_loss(y[rows], own[rows], sample_weight=weight[rows] if weighted else None)
                    for own in (posterior, best[0])
                ]
                assert told.worse > 2 * told.uncertainty
                assert told.worse == pytest.approx(losses[0] - losses[1], rel=1e-6 if is_exact and best[1] else 0.5)
            elif is_exact:
                assert told.log_loss == pytest.approx(log_loss(y, posterior, sample_weight=weight), rel=1e-6)
                decided = np.unique(y)[posterior.argmax(axis=1)]
                assert told.error == pytest.approx(1 - accuracy_score(y, decided, sample_weight=weight))


def test_the_best_is_chosen_and_fitted_to_all_rows():
    model = suffice.fit(PENGUINS, "species", generative=True, calibrate=False)
    *costs, _ = [row["log_loss"] for row in model.choice_.rows()]
    assert costs == sorted(costs)
    assert [row["chosen"] for row in model.choice_.rows()] == [True] + [False] * len(costs)
    again = clone(model).fit(PENGUINS, "species")
    assert repr(models(model)[0]) == repr(again) == repr(model)
    np.testing.assert_allclose(model.predict_log_proba(BIRDS), again.predict_log_proba(BIRDS), rtol=1e-9, atol=1e-12)
    assert model.schema_.reasons == again.schema_.reasons


def test_what_the_model_that_is_returned_warns_of_is_said():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame({"text": ["a", "b"] * 75, "same": np.where(y == 0, 1.0, X[:, 0])})
    with pytest.warns(SingularWarning, match="'same'"):
        suffice.fit(frame, y, generative=True)


def test_rows_without_weight_play_no_part():
    X, y = load_iris(return_X_y=True)
    weight = (np.arange(150) % 50 < 4).astype(float)  # twelve rows, which ten folds have to share
    kept = weight > 0
    few, all_rows = (suffice.fit(*rows, generative=True) for rows in ((X[kept], y[kept]), (X, y, weight)))
    np.testing.assert_allclose(all_rows.log_likelihood(X), clone(all_rows).fit(X[kept], y[kept]).log_likelihood(X))
    assert all_rows.choice_.folds == few.choice_.folds == 10
    assert np.isfinite([row["log_loss"] for row in all_rows.choice_.rows()]).all()
    with pytest.raises(DataError, match="all rows are of class 0"):
        suffice.fit(X, y, (y == 0).astype(float))
    too_few = suffice.fit(*clusters(1100), (np.arange(1100) < 900).astype(float)).choice_.candidates
    assert not any("Mixture" in one.name for one in too_few)  # which take 1000 rows


def test_the_table_prints_as_text_and_as_html():
    found = suffice.fit(PENGUINS, "species").choice_
    lines = str(found).splitlines()
    assert lines[0].split() == ["candidate", "log", "loss", "error"]
    assert ["chosen" in line for line in lines[1:]] == [row["chosen"] for row in found.rows()]
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


@pytest.mark.parametrize(
    ("as_table", "kind"),
    [(pd.DataFrame, pd.DataFrame), (pl.from_pandas, pl.DataFrame), (pa.Table.from_pandas, pa.Table)],
    ids=["pandas", "polars", "arrow"],
)
def test_the_table_comes_back_in_the_library_of_the_data(as_table, kind, tmp_path):
    model = suffice.fit(as_table(PENGUINS), "species", generative=True)
    table, rows = model.choice_.tidy(), model.choice_.rows()
    assert type(table) is kind
    arrow = pa.Table.from_pandas(table) if kind is pd.DataFrame else pa.table(table)
    assert arrow.column_names == list(rows[0])
    for name in ("candidate", "log_loss", "error", "worse", "calibrated", "chosen"):
        assert arrow[name].to_pylist() == [row[name] for row in rows]
    model.save(tmp_path / "model")
    assert type(suffice.load(tmp_path / "model").choice_.tidy()) is pa.Table


def test_the_table_of_arrays_and_files_is_of_arrow(tmp_path):
    X, y = load_iris(return_X_y=True)
    assert type(suffice.fit(X, y, generative=True).choice_.tidy()) is pa.Table
    PENGUINS.to_parquet(tmp_path / "birds.parquet")
    table = suffice.fit(tmp_path / "birds.parquet", "species", generative=True).choice_.tidy()
    assert type(table) is pa.Table
    assert table.schema.field("cost").type == table.schema.field("log_loss").type == pa.float64()


def test_labels_may_be_a_column_or_an_array():
    frame = load_iris(as_frame=True).frame
    by_name = suffice.fit(frame, "target")
    for labels in (frame["target"], frame["target"].tolist()):
        model = suffice.fit(frame.drop(columns="target"), labels)
        assert str(model.choice_) == str(by_name.choice_)


def test_models_of_the_choice_merge_stream_and_are_kept(tmp_path):
    model = suffice.fit(PENGUINS, "species", generative=True, calibrate=False)
    half = clone(model).fit(PENGUINS[::2], "species") + clone(model).fit(PENGUINS[1::2], "species")
    np.testing.assert_allclose(half.log_likelihood(BIRDS), model.log_likelihood(BIRDS), rtol=1e-9)
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(BIRDS), model.predict(BIRDS))
    assert loaded.choice_ == model.choice_
    assert str(loaded.choice_) == str(model.choice_)
    clone(model).fit(PENGUINS, "species").save(tmp_path / "model")
    assert not hasattr(suffice.load(tmp_path / "model"), "choice_")


def test_wide_tables_keep_no_matrix_of_columns(monkeypatch):
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr("suffice.selection.candidates._ENTRIES", 3 * 10 * 13**2 - 1)
    tried = [one for one in models(suffice.fit(X, y)) if isinstance(one, GaussianClassifier)]
    assert {one.covariance for one in tried} <= {"diag", "tied_diag"}


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
@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
def test_a_class_of_one_row_is_learnt(frame):
    model = suffice.fit(frame, ["many", "many", "many", "one"])
    assert model.choice_.folds == 4
    assert np.isfinite([row["log_loss"] for row in model.choice_.rows()]).all()
    assert model.predict(frame)[:2].tolist() == ["many", "many"]


@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
def test_a_row_costs_no_more_than_it_can():
    """A row of a class without any other is impossible when it is held out."""
    found = suffice.fit([[0.0], [0.1], [0.2], [0.3]], ["a", "a", "a", "b"]).choice_
    assert all(held_out.MOST / 4 <= row["log_loss"] <= held_out.MOST for row in found.rows())


@pytest.mark.parametrize("weight", [np.ones(31), np.arange(31) % 6 == 0], ids=["alike", "few"])
def test_folds_deal_every_class_out_evenly(weight):
    code = np.repeat([0, 1, 2], [25, 5, 1])
    splits, _ = held_out.splits_of(5, None, code, weight, 0)
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
    ],
)
def test_what_cannot_be_used_is_named(data, target, says):
    with pytest.raises(DataError, match=says):
        suffice.fit(data, target)


def test_objects_of_no_kind_are_named_and_can_be_dropped():
    table = pd.DataFrame({"x": np.arange(40.0), "place": [{"city": "Bonn"}] * 40})
    y = np.arange(40) % 2
    with pytest.raises(
        DataError, match=r"column 'place': values cannot be compared \(unhashable type: 'dict'\); convert"
    ):
        suffice.fit(table, y)
    with pytest.warns(BaselineWarning):
        assert suffice.fit(table, y, families={"place": "drop"}).choice_.left_out == {}


def test_rows_without_label_are_refused():
    with pytest.raises(MissingLabelsError):
        suffice.fit(NUMBERS.assign(y=["a", None, "b", "b"]), "y")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"cv": 1}, "cv=1"),
        ({"cv": True}, "cv=True"),
        ({"cv": []}, "no splits"),
        ({"cv": [([0, 1], [2]), ([0, 1], [2])]}, "more than once"),
        ({"cv": 2.5}, "cv=2.5"),
        ({"cv": "x"}, "cv='x'"),
        ({"cv": [([0, 1], [2, 4])]}, "indices of the 4 rows"),
        ({"cv": [([0, 1, 2], [2, 3])]}, "learns from"),
        ({"groups": ["a"] * 4}, "one group"),
        ({"groups": ["a", "b"]}, "each of the 4 rows, but has the shape"),
        ({"groups": "z"}, "groups='z': there is no such column; the columns are 'x'"),
        ({"groups": ["a", "a", "b", None]}, "groups has 1 missing"),
        ({"scoring": "auc"}, "scoring='auc'"),
        ({"scoring": [[0, 1]]}, "cost"),
    ],
)
def test_wrong_arguments_are_named(given, says):
    with pytest.raises((DataError, DecisionError), match=says):
        suffice.fit(NUMBERS, "y", **given)


@pytest.mark.filterwarnings("ignore::suffice.errors.BaselineWarning")
def test_candidates_try_numbers_as_numbers_beside_categories():
    frame = pd.DataFrame({"word": list("aabb") * 10, "stars": [1, 2, 3, 4] * 10, "y": [0, 1] * 20})
    tried = models(suffice.fit(frame, "y"))
    assert {"auto", str(POWERS)} <= {str(one.families) for one in tried}
    assert not any(isinstance(one, GaussianClassifier) for one in tried)
    assert any(isinstance(one, LogisticClassifier) for one in tried)
    assert not any(isinstance(one, LogisticClassifier) for one in models(suffice.fit(frame, "y", generative=True)))


# Calibration, and what is better than nothing.


def correlated(n, copies=8, seed=0):
    """A column and its copies, which naive Bayes takes for independent evidence."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = y + rng.normal(size=n)
    return np.column_stack([x + 0.01 * rng.normal(size=n) for _ in range(copies)]), y


@pytest.mark.filterwarnings("ignore::suffice.errors.BaselineWarning")  # of what is not calibrated
def test_calibration_takes_back_what_naive_bayes_counts_twice(tmp_path):
    X, y = correlated(2000)
    families = dict.fromkeys(range(8), "poisson")
    counts = np.maximum(np.rint(3 * X + 5), 0)
    plain = suffice.fit(counts, y, families=families, generative=True, calibrate=False)
    found = suffice.fit(counts, y, families=families, generative=True)
    assert found.choice_.candidates[0].log_loss < 0.7 * plain.choice_.candidates[0].log_loss
    assert 0.05 < found.calibration_.scale < 0.5
    raw = clone(found).fit(counts, y)
    np.testing.assert_allclose(found.log_likelihood(counts), raw.log_likelihood(counts), rtol=1e-12)
    expected = found.calibration_.scale * raw.llr(counts) + np.diff(found.calibration_.offset)
    np.testing.assert_allclose(found.llr(counts), expected, rtol=1e-9, atol=1e-9)
    other, labels = correlated(2000, seed=1)
    other = np.maximum(np.rint(3 * other + 5), 0)
    assert log_loss(labels, found.predict_proba(other)) < 0.7 * log_loss(labels, plain.predict_proba(other))
    found.save(tmp_path / "model")
    for loaded in (suffice.load(tmp_path / "model"), suffice.load_model(tmp_path / "model")):
        np.testing.assert_array_equal(loaded.predict_proba(other), found.predict_proba(other))


@pytest.mark.parametrize(("d", "shift"), [(30, 2.0), (3, 3.0)])  # scores as they are, and better calibrated
def test_scores_that_are_never_wrong_are_not_certain(d, shift):
    y = np.repeat(["a", "a", "b"], 20)
    X = np.random.default_rng(0).normal(size=(60, d)) + shift * (y == "b")[:, None]
    clf, plain = suffice.fit(X, y), suffice.fit(X, y, calibrate=False)
    assert clf.choice_.candidates[0].error == 0
    assert not hasattr(plain, "calibration_")
    wrong = 1 - clf.predict_proba(X).max(axis=1)
    assert 1 / 600 < np.median(wrong) < 1 / 60  # no surer than sixty rows can make it
    np.testing.assert_array_equal(clf.predict(X), plain.predict(X))


def test_models_keep_their_calibration_when_rows_come_and_go():
    X, y = correlated(500)
    counts = np.maximum(np.rint(3 * X + 5), 0)
    families = dict.fromkeys(range(8), "poisson")
    found = suffice.fit(counts, y, families=families, generative=True)
    scale = found.calibration_.scale
    with pytest.warns(CalibrationWarning, match="other rows"):
        both = found + clone(found).fit(counts, y)
    with pytest.warns(CalibrationWarning, match="other rows"):
        found.partial_fit(counts, y)
    with pytest.warns(CalibrationWarning, match="other rows"):
        found.forget(counts[:9], y[:9])
    for model in (both, found):
        assert model.calibration_.scale == scale
        assert not model.calibration_.is_current
    assert not hasattr(found.fit(counts, y), "calibration_")


@pytest.mark.parametrize("seed", range(4))
def test_random_labels_are_no_better_than_the_class_frequencies(seed):
    """If a row had a part in its own evaluation, the loss would be below that of the baseline."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(400, 6))).add_prefix("x").assign(word=rng.choice(list("abcdefgh"), 400))
    with pytest.warns(BaselineWarning, match="class frequencies"):
        found = suffice.fit(frame, rng.integers(0, 3, 400))
    assert not found.choice_.beats_baseline
    assert "not better" in found.choice_.summary
    baseline, best = found.choice_.baseline, found.choice_.candidates[0]
    assert best.log_loss >= baseline.log_loss - 3 * baseline.uncertainty - 1e-9


def test_a_good_model_says_what_it_is_worth():
    summary = suffice.fit(PENGUINS, "species").choice_.summary
    for words in ("was chosen from", "held-out rows in 10 folds", "The next best", "95% interval", "most frequent"):
        assert words in summary


def test_a_value_outside_the_family_that_was_chosen_demotes_the_column(tmp_path):
    """Occurrences are best on the sample, and a row that is not in it has a number below zero."""
    rng = np.random.default_rng(0)
    y, length = rng.integers(0, 2, 8000), rng.lognormal(3, 1, 8000).astype(int) + 1
    counts = rng.multinomial(length, rng.dirichlet(np.full(12, 8.0), 2)[y])
    table = pd.DataFrame(counts).add_prefix("w").assign(y=y)
    table.loc[7999, "w3"] = -1
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=1000)
    with pytest.warns(
        ColumnWarning, match="column 'w3' looks multinomial .* it is gaussian now; the rows are read again"
    ):
        model = suffice.fit(tmp_path / "rows.parquet", "y", generative=True, random_state=1)
    assert model.schema_.families == ("multinomial",) * 3 + ("gaussian",) + ("multinomial",) * 8


# Folds and costs of the user's.


def test_groups_are_held_out_together():
    """Copies of a row in several folds would tell its label."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(60), 5)
    X, y = rng.normal(size=(60, 4))[group] + 1e-3 * rng.normal(size=(300, 4)), rng.integers(0, 2, 60)[group]
    assert suffice.fit(X, y).choice_.beats_baseline  # wrongly
    with pytest.warns(BaselineWarning):
        found = suffice.fit(X, y, groups=group)
    with pytest.warns(BaselineWarning):
        named = suffice.fit(pd.DataFrame(X).add_prefix("x").assign(patient=group), y, groups="patient")
    assert named.choice_.left_out == {"patient": "it holds the groups"}
    np.testing.assert_array_equal(named.predict_proba(pd.DataFrame(X).add_prefix("x")), found.predict_proba(X))


@pytest.mark.parametrize("by_name", [True, False], ids=["name", "array"])
@pytest.mark.parametrize("form", ["table", "file", "file with rows to leave out"])
def test_rows_of_a_group_are_held_out_together_in_a_sample(form, by_name, monkeypatch, tmp_path):
    """Rows with groups are sampled as others are: files are not read into memory."""
    trials, trial_of = [], automatic._trial
    monkeypatch.setattr(automatic, "_trial", lambda *args: trials.append(trial_of(*args)) or trials[-1])
    monkeypatch.setattr(FileSource, "in_memory", lambda self: pytest.fail("all rows are read into memory"))
    monkeypatch.setattr(automatic, "ROWS", 200)
    data = PENGUINS.assign(number=np.arange(344) + 0.5)  # it tells the rows of the sample
    groups, without = np.array([f"flock {i // 4}" for i in range(344)]), "leave out" in form
    if without:
        data["species"] = data["species"].where(np.arange(344) % 7 > 0)
    if by_name:
        data, groups = data.assign(flock=groups), "flock"
    if form != "table":
        data.to_parquet(tmp_path / "birds.parquet", row_group_size=50)
        data = tmp_path / "birds.parquet"
    with pytest.warns(SkippedWarning) if without else nullcontext():
        found = suffice.fit(data, "species", groups=groups, generative=True, skip_unlabelled=without)
    ((trial, _),) = trials
    number = trial.source.table.columns()[found.feature_names_in_.tolist().index("number")].floats()
    assert len(number) == found.choice_.n_rows == 200
    for train, test in trial.splits:
        assert not set(number[train] // 4) & set(number[test] // 4)
    assert found.statistics_.weight.sum() == (294 if without else 344)
    assert found.choice_.left_out == ({"flock": "it holds the groups"} if by_name else {})


@pytest.mark.parametrize("groups", [np.arange(343), "floc"], ids=["array", "name"])
def test_wrong_groups_are_refused(groups, tmp_path):
    PENGUINS.assign(flock=np.arange(344) // 4).to_parquet(tmp_path / "birds.parquet")
    what = "did you mean 'flock'" if isinstance(groups, str) else "one value for each of the 344 rows"
    with pytest.raises(DataError, match=what):
        suffice.fit(tmp_path / "birds.parquet", "species", groups=groups)


def test_rows_may_be_split_by_time():
    X, y = normal(300, (ROUND, WIDE))
    order = np.random.default_rng(0).permutation(600)
    found = suffice.fit(X[order], y[order], cv=TimeSeriesSplit(4)).choice_
    assert found.folds == 4
    assert found.n_rows == 480


def test_no_split_by_time_learns_from_later_rows():
    """The class of a row is that of the column, until its meaning turns around."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    y = (x[:, 0] > 0) ^ (np.arange(600) >= 300)
    with pytest.warns(BaselineWarning):
        found = suffice.fit(x, y, cv=[(np.arange(300), np.arange(300, 600))])
    assert {type(one) for one in models(found)} >= {GaussianClassifier, LogisticClassifier}
    assert min(one.log_loss for one in found.choice_.candidates) > 0.69


def test_a_candidate_that_cannot_learn_is_left_out():
    X, y = load_iris(return_X_y=True)
    split = [(np.arange(100), np.arange(100, 150))]  # no training row is of the last class
    with pytest.warns(BaselineWarning):
        found = suffice.fit(X, y, cv=split)
    assert not any(isinstance(one, LogisticClassifier) for one in models(found))


def test_the_cheapest_model_is_chosen_by_a_cost():
    X, y = normal(500, (ROUND, WIDE))
    found = suffice.fit(X, y, scoring=[[0, 1], [20, 0]]).choice_
    assert found.scoring == "cost"
    costs = [one.cost for one in found.candidates]
    assert costs == sorted(costs)
    assert found.baseline.cost == pytest.approx(0.5)
    by_error = suffice.fit(X, y, scoring="error").choice_
    assert [one.error for one in by_error.candidates] == sorted(one.error for one in by_error.candidates)


def test_a_time_limit_leaves_the_best_so_far():
    with pytest.warns(UserWarning, match="^the time limit ended the search: the only model that was tried so far is"):
        found = suffice.fit(PENGUINS, "species", time_limit=0)
    assert len(found.choice_.candidates) == 1
    assert found.predict(BIRDS).shape == (344,)
    assert "The time limit ended the search: other models were not tried." in found.choice_.summary
    within = suffice.fit(PENGUINS, "species", time_limit=600).choice_  # no warning
    assert within.ended_by is None
    assert "time limit" not in within.summary


def test_a_time_limit_chooses_no_mixture_that_is_not_clearly_better(monkeypatch):
    clock, tried, try_ = [0.0], [], automatic._Search._try

    def timed(search, model):
        tried.append(model.name)
        clock[0] += "Mixture" in model.name
        return try_(search, model)

    monkeypatch.setattr(automatic._Search, "_try", timed)
    monkeypatch.setattr(automatic, "time", SimpleNamespace(monotonic=lambda: clock[0], perf_counter=lambda: 0.0))
    monkeypatch.setattr(automatic, "_CHANCE", 1e9)
    with pytest.warns(
        UserWarning, match=r"^the time limit ended the search: the best of the \d+ models that were tried"
    ):
        found = suffice.fit(*clusters(1000), time_limit=0.5)
    assert ["Mixture" in name for name in tried] == [False] * (len(tried) - 1) + [True]
    assert not isinstance(found, MixtureClassifier)
    assert not any("Mixture" in one.name for one in found.choice_.candidates)


def test_proportions_come_from_calibrated_scores():
    """Six copies of a column count its evidence six times, which moves proportions to the ends."""
    rng = np.random.default_rng(0)
    y, new = np.arange(2000) % 2, np.arange(3000) % 10 < 2
    table, rows = (pd.DataFrame(dict.fromkeys("abcdef", rng.binomial(4, 0.4 + 0.2 * code))) for code in (y, new))
    clf = suffice.fit(table.assign(y=y), "y", families="categorical", generative=True)
    assert clf.calibration_ is not None
    np.testing.assert_allclose(clf.estimate_prior(rows), [0.8, 0.2], atol=0.03)
    raw = decisions.estimate_prior(clf.log_likelihood(rows), np.full(2, 0.5))
    assert abs(raw[1] - 0.2) > 0.05


def test_shares_sum_to_the_calibrated_ratio():
    rng = np.random.default_rng(1)
    y = np.arange(400) % 2
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.poisson(20 + 9 * y), "D")
    table = pd.DataFrame(dict.fromkeys("abc", rng.binomial(4, 0.4 + 0.2 * y))).assign(day=day)
    families = dict.fromkeys("abc", "categorical")  # three copies, which a naive model counts thrice
    clf = suffice.fit(table.assign(y=y), "y", families=families, generative=True)
    assert clf.calibration_ is not None
    clf.calibration_ = replace(clf.calibration_, offset=np.array([0.5, -0.75]))
    shares = clf.explain(table[:9], 0, 1, tidy=True)
    np.testing.assert_allclose(shares.groupby("row")["llr"].sum(), clf.llr(table[:9], 0, 1), rtol=1e-9)
    assert set(shares["column"]) == {"a", "b", "c", "day", "(calibration)"}
    assert str(day[0].date()) in shares["value"].tolist()


def test_an_interrupt_leaves_the_best_so_far(monkeypatch):
    tried, try_ = [], automatic._Search._try

    def interrupted(*args):
        tried.append(args)
        if len(tried) == 3:
            raise KeyboardInterrupt
        return try_(*args)

    monkeypatch.setattr(automatic._Search, "_try", interrupted)
    with pytest.warns(UserWarning, match="interrupted: the best of the 2 models"):
        found = suffice.fit(PENGUINS, "species")
    assert len(found.choice_.candidates) == 2
    assert "An interrupt ended the search" in found.choice_.summary


@pytest.mark.parametrize("generative", [False, True])
def test_an_interrupt_of_the_last_pass_leaves_the_model_of_the_sample(generative, monkeypatch, tmp_path):
    passes, read = [], FileSource._reduce

    def interrupted(*args):
        passes.append(args)
        if len(passes) == 2:
            raise KeyboardInterrupt
        return read(*args)

    monkeypatch.setattr(FileSource, "_reduce", interrupted)
    monkeypatch.setattr(automatic, "ROWS", 200)
    PENGUINS.assign(bird=range(344)).to_parquet(tmp_path / "birds.parquet")
    with pytest.warns(SufficeWarning), pytest.warns(UserWarning, match="fitted only to 200 rows on which models were"):
        found = suffice.fit(tmp_path / "birds.parquet", "species", generative=generative)
    assert len(passes) == 2
    assert "is fitted only to 200 rows" in found.choice_.summary
    assert len(found.choice_.candidates) > 1
    assert np.mean(found.predict(BIRDS) == PENGUINS["species"]) > 0.95
    found.save(tmp_path / "model")
    assert suffice.load(tmp_path / "model").choice_ == found.choice_
    if generative:
        assert found.statistics_.weight.sum() == 200


def test_an_interrupt_of_the_last_pass_over_a_table_in_memory_takes_some_rows(monkeypatch):
    """Where models are compared on all rows, the last pass is over some of them."""
    monkeypatch.setattr(automatic, "ROWS", 200)
    fitted, n = GaussianClassifier._fit_inferred, []

    def interrupted(self, source, *args):
        n.append(source.n_rows)
        if len(n) == 1:
            raise KeyboardInterrupt
        return fitted(self, source, *args)

    monkeypatch.setattr(GaussianClassifier, "_fit_inferred", interrupted)
    X, y = normal(300, (ROUND, WIDE))
    order = np.random.default_rng(0).permutation(600)
    with pytest.warns(UserWarning, match="fitted only to 200 rows"):
        suffice.fit(X[order], y[order], cv=TimeSeriesSplit(4), generative=True)
    assert n == [600, 200]


def test_large_tables_and_files_are_compared_on_some_rows_and_learnt_from_all(monkeypatch, tmp_path):
    """Bins and powers come from the sample: files are read twice, once for the sample and once for the model."""
    passes, read = [], FileSource._reduce
    monkeypatch.setattr(FileSource, "_reduce", lambda *args: (passes.append(args), read(*args))[1])
    monkeypatch.setattr(automatic, "ROWS", 200)
    PENGUINS.to_parquet(tmp_path / "birds.parquet")
    for data in (PENGUINS, tmp_path / "birds.parquet"):
        found = suffice.fit(data, "species", generative=True)
        assert found.choice_.n_rows == 200
        assert found.statistics_.weight.sum() == 344
    assert len(passes) == 2


def test_missing_values_that_the_sample_lacks_are_learnt(monkeypatch):
    monkeypatch.setattr(automatic, "ROWS", 300)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 900)
    X = pd.DataFrame(rng.normal(size=(900, 2)) + y[:, None], columns=list("ab"))
    X.loc[0, "b"] = np.nan
    found = suffice.fit(X, y, generative=True)
    assert "predictive=True" in found.choice_.candidates[0].name  # which would not be tried if values were missing
    assert found.statistics_.weight.sum() == 900
    with pytest.warns(ColumnWarning, match=r"infinite numbers are read as missing values, in columns 'b' \(1\)$"):
        other = suffice.fit(X.replace(np.nan, np.inf), y, generative=True)
    np.testing.assert_allclose(other.means_, found.means_)


@pytest.mark.parametrize("generative", [False, True])
def test_rare_classes_of_large_tables_are_learnt(generative):
    """Of 60 rows in 60 000, a sample of 3500 would have three or four."""
    rng = np.random.default_rng(0)

    def drawn():
        y = rng.permutation(np.repeat([0, 1], [59_940, 60]))
        return rng.normal(size=(60_000, 8)) + 0.8 * y[:, None], y

    (X, y), (new, of_new) = drawn(), drawn()
    found = suffice.fit(X, y, generative=generative)
    assert found.choice_.beats_baseline
    frequencies = log_loss(of_new, np.full(len(of_new), 0.001))
    assert log_loss(of_new, found.predict_proba(new)) < 0.8 * frequencies
    assert abs(found.choice_.baseline.log_loss - frequencies) < 1e-6
    np.testing.assert_allclose(found.predict_proba(new)[:, 1].mean(), 0.001, rtol=0.3)


def test_one_row_in_a_large_table_is_a_class():
    y = np.repeat([0, 1], [19_999, 1])
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    with pytest.warns(SufficeWarning) as said:
        found = suffice.fit(X, y)
    assert list(found.classes_) == [0, 1]
    assert any("class 1 has only one row" in str(one.message) for one in said)


def test_a_logistic_model_of_a_large_table_learns_more_rows_than_were_compared(monkeypatch):
    monkeypatch.setattr(automatic, "ROWS", 300)
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": rng.exponential(size=900), "z": rng.choice(list("abc"), 900)})
    logit = 2 * frame["x"] - 2 + (frame["z"] == "a") * frame["x"]
    frame["y"] = np.where(rng.random(900) < 1 / (1 + np.exp(-logit)), "yes", "no")
    found = suffice.fit(frame, "y")
    assert isinstance(found, LogisticClassifier)
    assert found.choice_.n_rows == 300
    whole = LogisticClassifier(**found.get_params()).fit(frame, "y")
    np.testing.assert_allclose(found.coef_, whole.coef_, atol=1e-3)


def test_tables_of_occurrences_are_multinomial(rng):
    probabilities, y = rng.dirichlet(np.full(40, 0.3), 3), rng.integers(3, size=300)
    counts = np.array([rng.multinomial(1 + rng.poisson(9), probabilities[c]) for c in y])
    found = suffice.fit(counts, y)
    assert set(found.schema_.families) - {"drop"} == {"multinomial"}
    wrong = MultinomialClassifier(alpha=found.alpha).fit(counts[::2], y[::2]).predict(counts[1::2]) != y[1::2]
    assert abs(found.choice_.candidates[0].error - wrong.mean()) < 0.05


def test_a_table_of_text_tries_no_logistic_model():
    words = [f"a {'lovely' if i % 2 else 'dull'} film that lasts {i} minutes" for i in range(60)]
    tried = models(suffice.fit(pd.DataFrame({"text": words, "y": np.arange(60) % 2}), "y"))
    assert tried
    assert all(isinstance(one, MixedClassifier) for one in tried)


def test_the_choice_is_the_same_for_any_number_of_threads():
    for X, y in ((BIRDS, PENGUINS["species"].to_numpy(str)), clusters(1000)):
        one, several = (suffice.fit(X, y, n_jobs=n) for n in (1, 4))
        assert [row["candidate"] for row in one.choice_.rows()] == [row["candidate"] for row in several.choice_.rows()]
        np.testing.assert_allclose(one.predict_proba(X), several.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_units_and_the_order_of_columns_and_rows_do_not_matter():
    X, y = clusters(1000)
    other = X[["c", "a", "b"]] * [1e3, 1e-3, 7.0] + 5.0
    np.testing.assert_allclose(
        suffice.fit(other, y).predict_proba(other), suffice.fit(X, y).predict_proba(X), rtol=1e-6
    )
    scaled = PENGUINS.assign(body_mass_g=PENGUINS["body_mass_g"] * 1e-3)
    one, two = suffice.fit(PENGUINS, "species"), suffice.fit(scaled, "species")
    np.testing.assert_allclose(two.predict_proba(scaled), one.predict_proba(PENGUINS), rtol=1e-4, atol=1e-6)
    backwards = suffice.fit(PENGUINS[::-1], "species")
    assert abs(backwards.choice_.candidates[0].log_loss - one.choice_.candidates[0].log_loss) < 0.02


# Columns.

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
    again = suffice.load(tmp_path / "model")
    assert again.choice_ == model.choice_
    for own in (model, again):
        name, family, *reason = str(own.schema_).splitlines()[-1].split()
        assert (name, family, " ".join(reason).removeprefix("- ")) == ("bird", "drop", says)
    family = "gaussian" if frame["bird"].dtype.kind == "i" else "categorical"
    assert suffice.fit(frame, y, families={"bird": family}).n_features_in_ == 2


@pytest.mark.filterwarnings("ignore::suffice.errors.BaselineWarning")
def test_a_table_of_nothing_else_is_taken_as_it_is():
    assert suffice.fit(pd.DataFrame({"x": range(ROWS)}), [0, 1] * 20).n_features_in_ == 1
    assert suffice.fit(np.column_stack([np.arange(ROWS), np.arange(ROWS) % 7]), [0, 1] * 20).n_features_in_ == 2


@pytest.mark.filterwarnings("ignore::suffice.errors.BaselineWarning")
@pytest.mark.parametrize("as_table", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_numbers_as_text_are_read(as_table):
    cells = ["?", *MEASURES[:19]] * 2
    table, y = as_table({"mass": cells, "x": (np.arange(ROWS) % 3).tolist()}), ["a", "b", "c", "d"] * 10
    with pytest.warns(ColumnWarning, match=r"column 'mass' is read as numbers, but 2 of its 40 cells are not \('\?'\)"):
        suffice.fit(table, y)
    suffice.fit(table, y, families={"mass": "categorical"})


@pytest.mark.filterwarnings("ignore::suffice.errors.BaselineWarning")
def test_numbers_as_text_have_an_index_where_they_have_no_name():
    cells = np.array([["?", *MEASURES[:19]] * 2, ["a", "b"] * 20], object).T
    with pytest.warns(ColumnWarning, match=r"families=\{0: 'categorical'\}"):
        suffice.fit(cells, ["a", "b"] * 20)


@pytest.mark.filterwarnings("ignore::suffice.errors.BaselineWarning")
def test_families_may_be_given():
    frame = NUMBERS.assign(when=pd.Timestamp("2026-01-01"))
    model = suffice.fit(frame, "y", families={"when": "drop"}, generative=True)
    assert model.schema_.families == ("gaussian", "drop")
    assert {one.alpha for one in models(model)} == {1.0}


def test_columns_that_depend_on_each_other_are_found(tmp_path):
    """Neither of two columns tells anything alone, and one of them is Boolean."""
    rng = np.random.default_rng(0)
    on, colour = rng.random(400) < 0.5, rng.integers(0, 2, 400)
    table = pd.DataFrame({"on": on, "colour": np.array(["red", "blue"])[colour], "x": rng.normal(size=400)})
    y = np.where(rng.random(400) < 0.95, on == colour, on != colour)
    model = suffice.fit(table, y, generative=True)
    assert (model.structure, set(model.edges_[0][:2])) == ("tree", {"on", "colour"})
    assert model.choice_.candidates[0].log_loss < 0.3 < 0.6 < model.choice_.candidates[1].log_loss
    again = type(model)(**model.get_params()).fit(table, y)
    np.testing.assert_allclose(again.log_likelihood(table), model.log_likelihood(table))
    model.save(tmp_path / "model")
    assert suffice.load(tmp_path / "model").edges_ == model.edges_


def test_a_choice_is_forgotten_with_its_rows():
    X, y = load_iris(return_X_y=True)
    for change in (lambda model: model.partial_fit(X, y), lambda model: model.fit(X, y)):
        assert not hasattr(change(suffice.fit(X, y, generative=True)), "choice_")


def with_infinity(n, rng, share=0.05):
    """Rows with infinite cells in columns that are read in different ways."""
    x, r, k = rng.normal(size=n), np.exp(2 * rng.normal(size=n)), rng.integers(0, 4, n).astype(float)
    y = np.where(x + rng.normal(size=n) + 2 * (k == 2) - np.log(r) > 0, "a", "b")
    frame = pd.DataFrame({"x": x, "r": r, "k": k, "t": np.where(rng.random(n) < 0.4, "u", "v"), "y": y})
    some = rng.random((3, n)) < share
    frame.loc[some[0], "r"], frame.loc[some[1], "r"], frame.loc[some[2], "k"] = np.inf, -np.inf, np.inf
    return frame


@pytest.mark.parametrize("generative", [False, True])
@pytest.mark.parametrize("kind", ["frame", "file"])
def test_infinite_cells_are_missing_values(rng, tmp_path, kind, generative):
    table, new = with_infinity(1000, rng), with_infinity(200, rng)
    n = np.isinf(table[["r", "k"]]).sum()
    if kind == "file":
        table.to_csv(tmp_path / "table.csv", index=False)
        table = str(tmp_path / "table.csv")
    with pytest.warns(ColumnWarning, match=rf"missing values, in columns 'r' \({n['r']}\), 'k' \({n['k']}\)$") as told:
        clf = suffice.fit(table, "y", generative=generative)
    assert len(told) == 1
    clf.save(tmp_path / "model.safetensors")
    missing, n = new.replace([np.inf, -np.inf], np.nan), np.isinf(new[["r", "k"]]).sum()
    verbs = ["predict_proba", "llr", *(["explain", "typicality"] if generative else [])]
    for model in (
        clf,
        suffice.load(tmp_path / "model.safetensors"),
        suffice.load_model(tmp_path / "model.safetensors"),
    ):
        for verb in verbs:
            with pytest.warns(ColumnWarning, match=rf"'r' \({n['r']}\), 'k' \({n['k']}\)$") as told:
                found = getattr(model, verb)(new.drop(columns="y"))
            assert len(told) == 1
            np.testing.assert_allclose(found, getattr(model, verb)(missing.drop(columns="y")))
        with pytest.warns(ColumnWarning, match="infinite numbers are read as missing"):
            found = model.evaluate(new, "y")
        assert found.log_loss == pytest.approx(model.evaluate(missing, "y").log_loss)
    if generative:
        with pytest.warns(ColumnWarning, match="infinite numbers are read as missing"):
            filled = clf.impute(new.drop(columns="y"))
        pd.testing.assert_frame_equal(filled, clf.impute(missing.drop(columns="y")))


def test_rows_with_infinity_that_a_choice_has_learnt_are_forgotten_and_learnt_again(rng):
    table = with_infinity(400, rng)
    with pytest.warns(ColumnWarning):
        clf = suffice.fit(table, "y", generative=True)
    expected = clf.statistics_
    some = table[np.isinf(table["r"])]
    clf.forget(some, "y").partial_fit(some, "y")
    np.testing.assert_allclose(clf.statistics_.weight, expected.weight)
    assert clf.forget(some, "y").statistics_.weight.sum() == len(table) - len(some)


@pytest.mark.parametrize("generative", [False, True])
def test_infinity_that_a_sample_has_not_shown_is_missing_too(rng, generative):
    table = with_infinity(12_000, rng, 0.0)
    table.loc[rng.choice(12_000, 2, replace=False), "x"] = np.inf
    with pytest.warns(ColumnWarning, match=r"infinite numbers are read as missing values, in columns 'x' \(2\)$"):
        clf = suffice.fit(table, "y", generative=generative)
    with pytest.warns(ColumnWarning, match=r"'x' \(2\)$"):
        clf.predict(table.drop(columns="y"))


def test_a_model_that_is_named_refuses_infinity_and_names_the_remedy(rng):
    table = with_infinity(300, rng)
    for model in (suffice.MixedClassifier(), suffice.LogisticClassifier()):
        with pytest.raises(suffice.errors.DataError, match=r"infinity.*X\.replace\(.*suffice\.fit chooses"):
            model.fit(table, "y")


def test_rows_without_infinity_are_not_looked_through(rng, monkeypatch):
    from suffice.scoring import reading

    clf = suffice.fit(*load_iris(return_X_y=True))
    monkeypatch.setattr(reading, "without_infinity", None)
    clf.predict(load_iris().data)
