"""SemiSupervisedClassifier as a user meets it: a few labels, and many rows without one."""

import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import (
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MixtureClassifier,
    MultinomialClassifier,
    SemiSupervisedClassifier,
    load,
)
from suffice.errors import DataError

RNG = np.random.default_rng(0)
TRUE = np.repeat([0, 1, 2], 150)
X = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])[TRUE] + RNG.normal(size=(450, 2))
FEW = np.full(450, -1)
for first in (0, 150, 300):
    FEW[first : first + 4] = TRUE[first]


@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [SemiSupervisedClassifier(GaussianClassifier("tied"))],
    expected_failed_checks=lambda _: {"check_classifiers_classes": "a label of -1 means that there is none"},
)
def test_scikit_learn_conventions(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


@pytest.mark.parametrize(
    "base", [GaussianClassifier("tied"), GaussianClassifier(), MixedClassifier(), MixtureClassifier(1)]
)
def test_few_labels_reach_the_error_of_all_labels(base):
    clf = SemiSupervisedClassifier(base).fit(X, FEW)
    assert clf.score(X, TRUE) >= clone(base).fit(X, TRUE).score(X, TRUE) - 0.005
    assert clf.converged_
    assert clf.n_iter_ > 1
    assert (np.diff(clf.history_) >= -1e-9 * np.abs(clf.history_[0])).all()


@pytest.mark.parametrize("base", [GaussianClassifier("tied"), MixedClassifier(), MixtureClassifier(1)])
def test_all_labels_give_the_supervised_fit(base):
    clf, plain = SemiSupervisedClassifier(base).fit(X, TRUE), clone(base).fit(X, TRUE)
    np.testing.assert_allclose(clf.log_likelihood(X), plain.log_likelihood(X), rtol=1e-12)


def test_the_missing_label_can_be_anything():
    expected = SemiSupervisedClassifier(GaussianClassifier()).fit(X, FEW).predict_proba(X)
    names = np.array(["a", "b", "c"], object)
    for labels, own in [
        (np.where(FEW < 0, None, names[FEW]), {}),
        (np.where(FEW < 0, "?", names[FEW]).tolist(), {"unlabeled": "?"}),
        (np.where(FEW < 0, np.nan, FEW), {}),
        (pd.Series(FEW).where(FEW >= 0).astype("Int64"), {}),
    ]:
        clf = SemiSupervisedClassifier(GaussianClassifier(), **own).fit(X, labels)
        np.testing.assert_allclose(clf.predict_proba(X), expected, rtol=1e-9, atol=1e-12)


def test_frames_files_and_clusters_give_the_model_of_memory(tmp_path):
    frame = pd.DataFrame(X, columns=["u", "v"]).assign(
        label=pd.Series(FEW).where(FEW >= 0).map({0: "a", 1: "b", 2: "c"})
    )
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    memory = SemiSupervisedClassifier(GaussianClassifier(), tol=1e-8).fit(frame, "label")
    assert memory.classes_.tolist() == ["a", "b", "c"]
    for rows in (str(tmp_path / "rows.parquet"), dd.from_pandas(frame, npartitions=3)):
        clf = SemiSupervisedClassifier(GaussianClassifier(), tol=1e-8).fit(rows, "label")
        np.testing.assert_allclose(clf.log_likelihood(frame), memory.log_likelihood(frame), rtol=1e-8)


def test_rows_without_labels_help_with_counts():
    digits, label = load_digits(return_X_y=True)
    few = np.full(len(label), -1)
    own = np.concatenate([np.flatnonzero(label == c)[:5] for c in range(10)])
    few[own] = label[own]
    for rows in (digits, csr_array(digits)):
        alone = MultinomialClassifier().fit(rows[own], label[own]).score(rows, label)
        assert SemiSupervisedClassifier(MultinomialClassifier()).fit(rows, few).score(rows, label) > alone + 0.02


def test_no_weight_is_the_fit_of_the_labelled_rows():
    clf = SemiSupervisedClassifier(GaussianClassifier("tied"), unlabeled_weight=0).fit(X, FEW)
    plain = GaussianClassifier("tied").fit(X[FEW >= 0], FEW[FEW >= 0])
    np.testing.assert_allclose(clf.predict_proba(X), plain.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("base", [GaussianClassifier("tied"), MixtureClassifier(1, "tied")])
@pytest.mark.parametrize("names", [np.array(["a", "z", "b"]), np.array([4, 7, 9])])
def test_classes_without_a_label_are_found(base, names):
    labels = np.where(FEW < 0, None, names.astype(object)[FEW])
    labels[300:] = None
    clf = SemiSupervisedClassifier(base, n_new_classes=1, random_state=0).fit(X, labels)
    new = {"U": "new_1", "i": 8}[names.dtype.kind]
    assert clf.new_classes_.tolist() == [new]
    true = np.append(names[TRUE[:300]], [new] * 150)
    assert np.mean(clf.predict(X) == true) > 0.97


def test_saved_models_are_ordinary_ones(tmp_path):
    clf = SemiSupervisedClassifier(GaussianClassifier()).fit(X, FEW)
    clf.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    assert isinstance(loaded, GaussianClassifier)
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert loaded.partial_fit(X[:1], [0]).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("clf", "y", "message"),
    [
        (SemiSupervisedClassifier(LogisticClassifier()), FEW, "estimator must be a generative classifier"),
        (SemiSupervisedClassifier(GaussianClassifier(), unlabeled_weight=2), FEW, "must be a number from 0 to 1"),
        (SemiSupervisedClassifier(GaussianClassifier(), n_new_classes=-1), FEW, "whole number that is not negative"),
        (SemiSupervisedClassifier(GaussianClassifier(), n_new_classes=500), FEW, "too few rows without a label"),
        (SemiSupervisedClassifier(GaussianClassifier(), n_new_classes=1), FEW == 1, "labels are Booleans"),
        (SemiSupervisedClassifier(GaussianClassifier()), np.full(450, -1), "no row has a label; use MixtureModel"),
        (SemiSupervisedClassifier(GaussianClassifier("round")), FEW, "covariance='round' is not known"),
    ],
)
def test_what_cannot_be_learnt_is_refused(clf, y, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DataError, match=message):
            clf.fit(X, y)


def test_rare_classes_stay_where_new_ones_are_found(monkeypatch):
    monkeypatch.setattr("suffice.estimators.semi_supervised._SAMPLE", 60)
    labels = np.where(np.arange(450) < 300, TRUE, -1)
    labels[labels == 1] = np.where(np.arange(150) < 3, 1, -1)
    clf = SemiSupervisedClassifier(GaussianClassifier("tied"), n_new_classes=1, random_state=0).fit(X, labels)
    assert clf.classes_.tolist() == [0, 1, 2]
    assert clf.score(X, TRUE) > 0.95


def test_new_classes_are_never_labelled_as_unlabelled():
    labels = np.where(TRUE == 2, -1, TRUE - 3)
    assert SemiSupervisedClassifier(GaussianClassifier(), n_new_classes=1).fit(X, labels).new_classes_.tolist() == [0]
