"""One-pass search against GridSearchCV, called with the same arguments."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import SparseEfficiencyWarning, csr_array
from sklearn import config_context, decomposition
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, make_scorer, matthews_corrcoef
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils._param_validation import InvalidParameterError

from suffice import (
    LDA,
    PCA,
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MultinomialClassifier,
    OnePassSearchCV,
    PoissonClassifier,
    load,
    load_model,
    metrics,
    scorer,
)
from suffice.errors import DataError, MissingLabelsError
from suffice.sklearn import GaussianNB as NamedGaussianNB
from suffice.sklearn import GridSearchCV as NamedSearchCV

WINE = load_wine(return_X_y=True)
IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIGITS = tuple(a[:600] for a in load_digits(return_X_y=True))
WORDS = np.array(["red", "green", "blue"])[IRIS[1]]
FRAME = pd.DataFrame(WINE[0][:, :4], columns=list("abcd")).assign(
    e=np.array(["low", "high"])[(WINE[0][:, 5] > 2).astype(int)], f=(WINE[0][:, 6] > 2)
)
HOLED = FRAME.mask(np.random.default_rng(0).random(FRAME.shape) < 0.05)
COVARIANCES = ["full", "diag", "tied", "tied_diag"]
PIPE = make_pipeline(StandardScaler(), PCA(), LDA(), GaussianClassifier())
GRID = {
    "pca__n_components": [4, None],
    "lda": ["passthrough", LDA(2)],
    "gaussianclassifier__covariance": COVARIANCES,
    "gaussianclassifier__shrinkage": [0, "oas"],
}
FEW = {"lda": ["passthrough", LDA(2)], "gaussianclassifier__covariance": ["full", "tied_diag"]}
FLAT = {"covariance": COVARIANCES, "shrinkage": [None, 0.2]}
ORDER = np.random.default_rng(1).permutation(178)
GROUPS = np.arange(178) % 7
WEIGHT = np.random.default_rng(0).integers(0, 4, 178).astype(float)


def first_component(estimator: Any, X: Any, y: Any) -> float:
    return float(estimator[:-1].transform(X)[0, 0])


class Squared(GaussianClassifier):
    """Somebody's own, with another fit."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(np.asarray(X) ** 2, y, sample_weight)


RARE = pd.DataFrame({"k": np.where(np.arange(60) == 7, 2, np.arange(60) % 3 > 0), "x": np.arange(60) % 7.0})
HALVES = [(np.arange(178) % 2 == i, np.arange(178) % 2 != i) for i in (0, 1)]

CASES: dict[str, tuple[Any, Any, Any, Any, dict[str, Any], dict[str, Any]]] = {
    "pipeline": (PIPE, GRID, *WINE, {"cv": 3}, {}),
    "log loss": (PIPE, FEW, *WINE, {"cv": 3, "scoring": "neg_log_loss", "return_train_score": True}, {}),
    "repeated": (PIPE, FEW, *WINE, {"cv": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)}, {}),
    "shuffled": (PIPE, FEW, *WINE, {"cv": ShuffleSplit(3, random_state=0)}, {}),
    "groups": (PIPE, FEW, *WINE, {"cv": GroupKFold(3)}, {"groups": GROUPS}),
    "forward": (PIPE, FEW, *(a[ORDER] for a in WINE), {"cv": TimeSeriesSplit(3)}, {}),
    "a class is missing in a fold": (PIPE, FEW, *WINE, {"cv": KFold(3)}, {}),
    "splits given": (GaussianClassifier(), FLAT, *WINE, {"cv": [(np.arange(0, 170, 2), np.arange(1, 99, 2))]}, {}),
    "masks": (GaussianClassifier(), FLAT, *WINE, {"cv": HALVES}, {}),
    "from the end": (GaussianClassifier(), FLAT, *WINE, {"cv": [(-np.arange(1, 150), np.arange(29))]}, {}),
    "somebody's own": (Squared(), FLAT, *WINE, {}, {}),
    "functions": (
        MixedClassifier({lambda frame: ["a"]: "drop"}),
        {"alpha": [0.1, 1], "covariance": ["diag", "tied_diag"]},
        FRAME,
        WINE[1],
        {},
        {},
    ),
    "another schema in a fold": (
        MixedClassifier(),
        {"alpha": [0.1, 1]},
        RARE,
        np.arange(60) % 2,
        {"cv": KFold(6), "scoring": "neg_log_loss"},
        {},
    ),
    "frames between steps": (
        make_pipeline(PCA(), GaussianClassifier()).set_output(transform="pandas"),
        {"pca__n_components": [2, 3]},
        *WINE,
        {},
        {},
    ),
    "models of several families": (
        make_pipeline(GaussianClassifier()),
        {"gaussianclassifier": [GaussianClassifier("diag"), MixedClassifier(), PoissonClassifier()]},
        *DIGITS,
        {"cv": 3},
        {},
    ),
    "weights of one step": (
        PIPE,
        {"pca__n_components": [2, 5]},
        *WINE,
        {},
        {"gaussianclassifier__sample_weight": WEIGHT},
    ),
    "one by one": (GaussianClassifier(), FLAT, *(a[::6] for a in IRIS), {"cv": LeaveOneOut()}, {}),
    "whitened": (
        make_pipeline(PCA(), GaussianClassifier()),
        {"pca__n_components": [0.5, 0.9, 3], "pca__whiten": [True, False]},
        *WINE,
        {},
        {},
    ),
    "scaled only": (
        make_pipeline(StandardScaler(), GaussianClassifier()),
        {
            "standardscaler__with_mean": [True, False],
            "standardscaler__with_std": [True, False],
            "gaussianclassifier__covariance": ["diag", "tied_diag"],
            "gaussianclassifier__shrinkage": [0.3],
        },
        *WINE,
        {},
        {},
    ),
    "two reductions": (make_pipeline(LDA(), PCA(), GaussianClassifier()), {"pca__n_components": [1, 2]}, *WINE, {}, {}),
    "a list of grids": (PIPE, [{"pca__n_components": [3]}, {"lda__n_components": [1, 2]}], *WINE, {}, {}),
    "words": (PIPE, {"pca__n_components": [2, 3]}, IRIS[0], WORDS, {"scoring": "f1_macro"}, {}),
    "a pandas frame": (PIPE, {"pca__n_components": [2, 3]}, pd.DataFrame(IRIS[0], columns=list("abcd")), WORDS, {}, {}),
    "a polars frame": (GaussianClassifier(), FLAT, pl.DataFrame(IRIS[0], schema=list("abcd")), WORDS, {}, {}),
    "floats of 32 bits": (GaussianClassifier(), FLAT, IRIS[0].astype(np.float32), IRIS[1], {}, {}),
    "sparse": (GaussianClassifier(), FLAT, csr_array(DIGITS[0]), DIGITS[1], {"cv": 3}, {}),
    "weights": (GaussianClassifier(), FLAT, *WINE, {"scoring": scorer("neg_log_cost")}, {"sample_weight": WEIGHT}),
    "weights of steps": (
        PIPE,
        {"pca__n_components": [2, 5]},
        *WINE,
        {},
        {f"{step}__sample_weight": WEIGHT for step in ("standardscaler", "pca", "lda", "gaussianclassifier")},
    ),
    "chosen by leaving rows out": (
        make_pipeline(PCA(), GaussianClassifier()),
        {"gaussianclassifier__shrinkage": ["loo", 0.1], "pca__n_components": [2, 4]},
        *WINE,
        {"cv": 3},
        {},
    ),
    "fourth moments": (
        GaussianClassifier(),
        {"shrinkage": ["ledoit_wolf", 0.1], "covariance": ["full", "tied"]},
        *WINE,
        {},
        {},
    ),
    "fourth moments of components": (
        PIPE,
        {"gaussianclassifier__shrinkage": ["ledoit_wolf", 0.1], "pca__n_components": [2, 4]},
        *WINE,
        {"cv": 3},
        {},
    ),
    "more columns than rows": (
        make_pipeline(PCA(), GaussianClassifier()),
        {"pca__n_components": [2, 4]},
        np.random.default_rng(0).normal(size=(40, 1200)) + np.arange(40)[:, None] % 2,
        np.arange(40) % 2,
        {"cv": 3},
        {},
    ),
    "predictive": (GaussianClassifier(), {"predictive": [True, False], "covariance": ["full", "diag"]}, *WINE, {}, {}),
    "another function": (PIPE, {"pca__n_components": [2, 3]}, *WINE, {"scoring": first_component}, {}),
    "a made scorer": (PIPE, {"pca__n_components": [2, 3]}, *WINE, {"scoring": make_scorer(matthews_corrcoef)}, {}),
    "several scorers": (
        PIPE,
        {"pca__n_components": [2, 3]},
        *WINE,
        {"scoring": ["accuracy", "neg_log_loss", "roc_auc_ovr"], "refit": "neg_log_loss"},
        {},
    ),
    "own scorers": (
        GaussianClassifier(),
        FLAT,
        *CANCER,
        {
            "scoring": {
                "dcf": scorer("neg_dcf", prior=0.1, cost=[[0, 5], [1, 0]]),
                "cllr": scorer("neg_cllr"),
                "log_cost": scorer("neg_log_cost", prior=[0.2, 0.8]),
                "likelihood": scorer("mean_log_likelihood"),
            },
            "refit": "cllr",
        },
        {},
    ),
    "a function of several": (
        PIPE,
        {"pca__n_components": [2, 3]},
        *WINE,
        {"scoring": lambda e, X, y: {"n": len(X), "right": e.score(X, y)}, "refit": "right"},
        {},
    ),
    "multinomial": (MultinomialClassifier(), {"alpha": [0.1, 1, 10], "complement": [False, True]}, *DIGITS, {}, {}),
    "sparse counts": (MultinomialClassifier(), {"alpha": [0.1, 1]}, csr_array(DIGITS[0]), DIGITS[1], {}, {}),
    "Poisson": (PoissonClassifier(), {"alpha": [0.1, 1], "predictive": [True, False]}, *DIGITS, {}, {}),
    "Bernoulli": (BernoulliClassifier(), {"alpha": [0.1, 1, 10]}, *DIGITS, {"scoring": "neg_log_loss"}, {}),
    "categories": (
        CategoricalClassifier(),
        {"alpha": [0.1, 1], "unknown": ["ignore", "smooth"]},
        FRAME[["e", "f"]],
        WINE[1],
        {"scoring": "neg_log_loss"},
        {},
    ),
    "mixed": (
        MixedClassifier(),
        {"alpha": [0.1, 1], "covariance": ["diag", "tied"], "families": ["auto", {"a": "drop"}]},
        FRAME,
        WINE[1],
        {},
        {},
    ),
    "missing cells": (MixedClassifier(), {"covariance": ["diag", "tied_diag"]}, HOLED, WINE[1], {}, {}),
    "discriminative": (LogisticClassifier(), {"C": [0.1, 1]}, *IRIS, {}, {}),
    "discriminative on components": (
        make_pipeline(PCA(), LogisticClassifier()),
        {"pca__n_components": [1, 2]},
        *IRIS,
        {},
        {},
    ),
}  # fmt: skip


def searched(kind: Any, case: str) -> Any:
    estimator, grid, X, y, choices, fit = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(estimator, grid, **choices).fit(X, y, **fit)


@pytest.mark.parametrize("case", CASES)
def test_gives_what_grid_search_gives(case: str) -> None:
    ours, theirs = (searched(kind, case) for kind in (OnePassSearchCV, GridSearchCV))
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    for key, expected in theirs.cv_results_.items():
        if key.startswith(("split", "mean_test", "std_test", "mean_train", "std_train")):
            np.testing.assert_allclose(ours.cv_results_[key], expected, rtol=1e-8, atol=1e-8, err_msg=key)
    assert repr(ours.cv_results_["params"]) == repr(theirs.cv_results_["params"])
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert (ours.n_splits_, ours.multimetric_) == (theirs.n_splits_, theirs.multimetric_)
    best = theirs.best_index_
    scores = [ours.cv_results_[key] for key in ours.cv_results_ if key.startswith("mean_test")]
    assert any(score[ours.best_index_] == pytest.approx(score[best], abs=1e-12) for score in scores)
    if ours.best_index_ == best:  # equal models may differ by rounding
        X = CASES[case][2]
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-9)
        assert ours.classes_.tolist() == theirs.classes_.tolist()
        assert ours.n_features_in_ == theirs.n_features_in_
        names = getattr(theirs, "feature_names_in_", None)
        assert names is None or ours.feature_names_in_.tolist() == names.tolist()


def test_labels_by_the_name_of_their_column() -> None:
    grid = {"covariance": ["diag", "tied_diag"]}
    frame = FRAME.assign(target=WINE[1])
    one = OnePassSearchCV(MixedClassifier(), grid).fit(frame, "target")
    two = OnePassSearchCV(MixedClassifier(), grid).fit(FRAME, WINE[1])
    assert one.cv_results_["mean_test_score"].tolist() == two.cv_results_["mean_test_score"].tolist()
    assert one.predict(FRAME).tolist() == two.predict(FRAME).tolist()


@pytest.mark.parametrize(
    ("grid", "failing", "reason"),
    [
        ({"pca__n_components": [2, 99]}, [1], "n_components=99 is more than"),
        ({"lda__n_components": [1, 7]}, [1], "n_components=7 is more than"),
        ({"pca__n_components": [2, -1]}, [1], "n_components=-1"),
        ({"gaussianclassifier__covariance": ["diag", "round"]}, [1], "'round' is not known"),
        ({"gaussianclassifier__shrinkage": [2.0, 0.1]}, [0], "shrinkage=2.0"),
        ({"gaussianclassifier__predictive": [np.array([True, False]), False]}, [0], "ambiguous"),
    ],
)
def test_candidates_that_cannot_be_fitted(grid: dict[str, Any], failing: list[int], reason: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.warns(FitFailedWarning, match=reason):
            search = OnePassSearchCV(PIPE, grid, cv=3).fit(*WINE)
    failed = np.flatnonzero(np.isnan(search.cv_results_["mean_test_score"]))
    assert failed.tolist() == failing
    assert search.best_index_ not in failing
    with pytest.raises(ValueError, match=reason):
        OnePassSearchCV(PIPE, grid, cv=3, error_score="raise").fit(*WINE)


def test_rows_that_cannot_be_learnt_fail_their_splits() -> None:
    X = WINE[0].copy()
    X[0, 0] = np.inf
    split = [(np.arange(1, 178), np.arange(1, 178)), (np.arange(178), np.arange(1, 178))]
    grid = {"covariance": ["diag", "tied"]}
    with pytest.warns(FitFailedWarning, match="infinity"), pytest.warns(UserWarning, match="non-finite"):
        search = OnePassSearchCV(GaussianClassifier(), grid, cv=split, refit=False).fit(X, WINE[1])
    assert np.isfinite(search.cv_results_["split0_test_score"]).all()
    assert np.isnan(search.cv_results_["split1_test_score"]).all()
    with pytest.raises(ValueError, match="All the 4 fits failed"):
        OnePassSearchCV(GaussianClassifier(), {"shrinkage": [2, 3]}, cv=2).fit(*WINE)


def test_other_bad_input() -> None:
    grid = {"covariance": ["diag"]}
    with pytest.raises(DataError, match="requires y"):
        OnePassSearchCV(GaussianClassifier(), grid).fit(IRIS[0])
    with pytest.raises(DataError, match="X has 150 rows, y has 3"):
        OnePassSearchCV(GaussianClassifier(), grid).fit(IRIS[0], [0, 1, 2])
    with pytest.raises(DataError, match="gives no splits"):
        OnePassSearchCV(GaussianClassifier(), grid, cv=[]).fit(*IRIS)
    with pytest.raises(MissingLabelsError, match="3 missing labels"):
        OnePassSearchCV(GaussianClassifier(), grid).fit(IRIS[0], [None] * 3 + ["a"] * 70 + ["b"] * 77)


WRONG: dict[str, Any] = {
    "estimator": "gaussian",
    "param_grid": ({},),
    "scoring": "rightness",
    "n_jobs": "all",
    "refit": 3,
    "cv": 1,
    "verbose": "much",
    "pre_dispatch": [],
    "error_score": "never",
    "return_train_score": "yes",
}


@pytest.mark.parametrize("search", [OnePassSearchCV, NamedSearchCV])
@pytest.mark.parametrize("name", WRONG)
def test_parameters_are_checked_as_grid_search_does(search: Any, name: str) -> None:
    estimator = GaussianClassifier() if search is OnePassSearchCV else NamedGaussianNB()
    with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter of {search.__name__} must be"):
        search(estimator, {}).set_params(**{name: WRONG[name]}).fit(*IRIS)
    with config_context(skip_parameter_validation=True):
        assert search(estimator, {}, pre_dispatch=[]).fit(*IRIS).best_score_ > 0.9


@pytest.mark.parametrize("scoring", ["neg_log_cost", {"accuracy", "neg_log_cost"}], ids=["one", "several"])
def test_names_of_our_scores_serve_every_estimator(scoring: Any) -> None:
    settings = {"scoring": scoring, "refit": "neg_log_cost"}
    found = [
        search(estimator, {}, **settings).fit(*IRIS).best_score_
        for search, estimator in (
            (OnePassSearchCV, GaussianClassifier("diag")),
            (OnePassSearchCV, GaussianNB(var_smoothing=0)),
            (NamedSearchCV, NamedGaussianNB(var_smoothing=0)),
        )
    ]
    np.testing.assert_allclose(found, found[0], rtol=1e-9)


def test_weights_by_the_name_of_their_column() -> None:
    frame = FRAME.assign(target=WINE[1], w=WEIGHT)
    for estimator in (MixedClassifier({"e": "drop", "f": "drop"}), LogisticClassifier()):
        X = frame if isinstance(estimator, MixedClassifier) else frame.drop(columns=["e", "f"])
        one = OnePassSearchCV(estimator, {}, cv=3).fit(X, "target", sample_weight="w")
        two = OnePassSearchCV(estimator, {}, cv=3).fit(X.drop(columns=["target", "w"]), WINE[1], sample_weight=WEIGHT)
        assert one.best_score_ == two.best_score_ > 0


def test_weights_through_metadata_routing() -> None:
    with config_context(enable_metadata_routing=True):
        steps = [step.set_fit_request(sample_weight=True) for step in (PCA(), GaussianClassifier())]
        pipe, judge = make_pipeline(*steps), make_scorer(accuracy_score).set_score_request(sample_weight=True)
        ours, theirs = (
            kind(pipe, {"pca__n_components": [2, 3]}, scoring=judge)
            .fit(*WINE, sample_weight=WEIGHT)
            .cv_results_["mean_test_score"]
            for kind in (OnePassSearchCV, GridSearchCV)
        )
    assert ours.tolist() == theirs.tolist()


def test_what_cannot_be_centred_fails_as_it_does_elsewhere() -> None:
    pipe = make_pipeline(StandardScaler(), GaussianClassifier())
    with pytest.raises(ValueError, match="Cannot center sparse matrices"):
        OnePassSearchCV(pipe, {"gaussianclassifier__shrinkage": [0.1, 0.2]}).fit(csr_array(WINE[0]), WINE[1])


def test_rows_are_read_once_for_all_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    from suffice.stats import MomentStats

    read = []
    collect = MomentStats.of.__func__
    monkeypatch.setattr(
        MomentStats, "of", classmethod(lambda c, b, *a, **k: read.append(len(b)) or collect(c, b, *a, **k))
    )
    search = OnePassSearchCV(PIPE, GRID, cv=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(*WINE)
    assert sum(read) == 178


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [(GaussianClassifier(), {"covariance": COVARIANCES}), (PIPE, {"gaussianclassifier__covariance": COVARIANCES})],
    ids=["classifier", "pipeline"],
)
def test_priors_and_costs_go_to_the_best_model(estimator: Any, grid: dict[str, Any]) -> None:
    X, y = IRIS
    search = OnePassSearchCV(estimator, grid).fit(X, y)
    best, prior, cost = search.best_estimator_, [0.01, 0.01, 0.98], [[0, 1, 1], [1, 0, 50], [1, 1, 0]]
    for name in ("predict", "predict_proba", "predict_log_proba"):
        np.testing.assert_array_equal(getattr(search, name)(X), getattr(best, name)(X))
        np.testing.assert_array_equal(getattr(search, name)(X, prior=prior), getattr(best, name)(X, prior=prior))
        assert (getattr(search, name)(X, prior=prior) != getattr(search, name)(X)).any()
    np.testing.assert_array_equal(search.predict(X, cost=cost), best.predict(X, cost=cost))
    assert not hasattr(OnePassSearchCV(estimator, grid, refit=False).fit(X, y), "predict")
    with pytest.raises(NotFittedError):
        OnePassSearchCV(estimator, grid).predict(X)


def test_the_best_model_goes_on_learning() -> None:
    search = OnePassSearchCV(GaussianClassifier(), FLAT).fit(*IRIS)
    whole = GaussianClassifier(**search.best_params_).fit(np.vstack([IRIS[0], IRIS[0]]), np.tile(IRIS[1], 2))
    more = search.best_estimator_.partial_fit(*IRIS)
    np.testing.assert_allclose(more.covariances_, whole.covariances_)


@pytest.mark.parametrize("verbose", [1, 2, 3, 10])
@pytest.mark.parametrize("settings", [{}, {"scoring": ["accuracy", "neg_log_loss"], "refit": False}], ids=["", "two"])
def test_it_tells_what_it_does(verbose: int, settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for kind in (OnePassSearchCV, GridSearchCV):
        search = kind(GaussianClassifier(), FLAT, verbose=verbose, return_train_score=verbose > 3, **settings)
        search.fit(*IRIS)
        told.append(re.sub(r"time=.*", "time", re.sub(r"\.+(?=[a-z])", "...", capsys.readouterr().out)))
    assert told[0] == told[1]
    assert "Fitting 5 folds for each of 8 candidates, totalling 40 fits" in told[0]


@pytest.mark.parametrize("kind", ["coo", "dia", "bsr", "csc"])
def test_sparse_rows_of_any_format(kind: str) -> None:
    counts = csr_array(DIGITS[0][:300])
    expected = OnePassSearchCV(MultinomialClassifier(), {"alpha": [0.1, 1]}).fit(counts, DIGITS[1][:300])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparseEfficiencyWarning)
        same = counts.asformat(kind)
    found = OnePassSearchCV(MultinomialClassifier(), {"alpha": [0.1, 1]}).fit(same, DIGITS[1][:300])
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(found.predict(same), expected.predict(counts))


OTHERS: dict[str, Any] = {
    "another classifier": (GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}),
    "behind scikit-learn's": (make_pipeline(decomposition.PCA(2), GaussianClassifier()), {"pca__n_components": [1, 2]}),
    "behind ours": (make_pipeline(PCA(2), GaussianNB()), {"pca__n_components": [1, 2]}),
    "in front of ours": (make_pipeline(MinMaxScaler(), GaussianClassifier()), {"gaussianclassifier__ddof": [0, 1]}),
    "beside ours": (make_pipeline(PCA(), GaussianClassifier()), {"gaussianclassifier": [GaussianClassifier(), SVC()]}),
    "a regression": (Ridge(), {"alpha": [0.1, 1.0]}),
}


@pytest.mark.parametrize("case", OTHERS)
def test_all_other_estimators_are_fitted_to_rows(case: str) -> None:
    ours, theirs = (kind(*OTHERS[case], cv=3).fit(*IRIS) for kind in (OnePassSearchCV, GridSearchCV))
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    np.testing.assert_allclose(ours.predict(IRIS[0]), theirs.predict(IRIS[0]))


def test_the_labels_of_another_estimator_may_be_a_column() -> None:
    table = pd.DataFrame(IRIS[0], columns=list("abcd")).assign(kind=IRIS[1])
    search = OnePassSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}).fit(table, "kind")
    assert search.best_score_ > 0.9


def test_callbacks_are_called() -> None:
    pytest.importorskip("sklearn.callback", reason="new in scikit-learn 1.9")
    told = []

    class Listener:
        def setup(self, estimator: Any, context: Any) -> None: ...
        def teardown(self, estimator: Any, context: Any) -> None: ...
        def on_fit_task_begin(self, estimator: Any, context: Any, **known: Any) -> None: ...
        def on_fit_task_end(self, estimator: Any, context: Any, **known: Any) -> None:
            told.append(context.task_name)

    search = OnePassSearchCV(GaussianClassifier(), FLAT, cv=3).set_callbacks(Listener()).fit(*IRIS)
    assert told.count("candidate-split-evaluation") == 3 * len(search.cv_results_["params"])
    plain = OnePassSearchCV(GaussianClassifier(), FLAT, cv=3).fit(*IRIS)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])


def test_ratios_and_files_of_the_best_model(tmp_path: Path) -> None:
    search = OnePassSearchCV(GaussianClassifier(), FLAT).fit(*IRIS)
    np.testing.assert_array_equal(search.llr(IRIS[0], 0, 2), search.best_estimator_.llr(IRIS[0], 0, 2))
    search.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").predict(IRIS[0]), search.predict(IRIS[0]))
    pipe = OnePassSearchCV(make_pipeline(PCA(2), "passthrough", GaussianClassifier()), {}).fit(*IRIS)
    expected = pipe.best_estimator_[-1].llr(pipe.best_estimator_[0].transform(IRIS[0]), 0, 1)
    np.testing.assert_array_equal(pipe.llr(IRIS[0], 0, 1), expected)
    other = OnePassSearchCV(GaussianNB(), {})
    assert [hasattr(*each) for each in ((pipe, "save"), (other, "save"), (other, "llr"))] == [False] * 3


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize(
    ("search", "estimator"),
    [(OnePassSearchCV, GaussianClassifier()), (OnePassSearchCV, PIPE), (NamedSearchCV, NamedGaussianNB())],
    ids=["classifier", "pipeline", "GaussianNB"],
)
def test_ratios_need_a_best_model(search: Any, estimator: Any, fitted: bool) -> None:
    found = search(estimator, {}, refit=False)
    if fitted:
        found.fit(*WINE)
    assert not hasattr(found, "llr")
    with pytest.raises(AttributeError, match=r"with `refit=False`\. llr is available only after refitting"):
        found.llr(WINE[0])
    with pytest.raises(AttributeError, match="a GaussianNB has no llr method; compute the llr with suffice"):
        search(GaussianNB(), {}).llr(WINE[0])


def refused_to_save(search: Any) -> str:
    assert not hasattr(search, "save")
    with pytest.raises(AttributeError) as refused:
        search.save("model.safetensors")
    return str(refused.value)


def test_save_says_how_to_keep_what_has_no_model_file(tmp_path: Path) -> None:
    pipe = OnePassSearchCV(make_pipeline(PCA(2), GaussianClassifier()), {})
    told = "a Pipeline cannot be saved to a model file; joblib.dump(search.best_estimator_, path) pickles it"
    alone = "saves its last step, which takes rows that went through the others"
    for search in (pipe, pipe.fit(*IRIS)):
        assert refused_to_save(search) == f"{told}, and search.best_estimator_[-1].save(path) {alone}"
    path = tmp_path / "model"
    pipe.best_estimator_[-1].save(path)
    projected = pipe.best_estimator_[:-1].transform(IRIS[0])
    np.testing.assert_array_equal(load(path).predict(projected), pipe.predict(IRIS[0]))

    named = NamedSearchCV(NamedGaussianNB(), {}).fit(*IRIS)
    assert refused_to_save(named).endswith(" and search.best_estimator_.to_model().save(path) saves its model")
    named.best_estimator_.to_model().save(path)
    np.testing.assert_array_equal(load_model(path).predict(IRIS[0]), named.predict(IRIS[0]))

    scaled = OnePassSearchCV(make_pipeline(StandardScaler(), GaussianNB()), {})
    assert refused_to_save(scaled) == told
    assert "with `refit=False`" in refused_to_save(OnePassSearchCV(GaussianClassifier(), {}, refit=False))


class TestScorers:
    def test_values(self) -> None:
        X, y = CANCER
        clf = GaussianClassifier("diag").fit(X, y)
        likelihood, cost = clf.log_likelihood(X), [[0, 5], [1, 0]]
        decided = clf.predict(X, prior=[0.9, 0.1], cost=cost)
        expected = [
            (scorer("neg_dcf", prior=[0.9, 0.1], cost=cost), -metrics.dcf(y, clf.llr(X), prior=0.1, cost_miss=5)),
            (scorer("neg_cllr"), -metrics.cllr(y, clf.llr(X))),
            (scorer("neg_log_cost"), -metrics.cllr(y, clf.llr(X))),
            (scorer("mean_log_likelihood"), likelihood[np.arange(len(y)), y].mean()),
        ]
        assert set(decided) == {0, 1}
        for one, value in expected:
            assert one(clf, X, y) == pytest.approx(value), one

    def test_of_other_libraries(self) -> None:
        X, y = CANCER
        ours, theirs = GaussianClassifier("diag").fit(X, y), GaussianNB(var_smoothing=0).fit(X, y)
        assert scorer("neg_cllr")(theirs, X, y) == pytest.approx(scorer("neg_cllr")(ours, X, y))
        assert scorer("neg_dcf")(make_pipeline(theirs), X, y) == pytest.approx(scorer("neg_dcf")(ours, X, y))

    def test_classes_that_do_not_meet(self) -> None:
        X, y = IRIS
        clf = GaussianClassifier().fit(X[:100], y[:100])
        assert scorer("neg_log_cost")(clf, X, y) == -np.inf
        assert scorer("mean_log_likelihood")(clf, X, y) == -np.inf
        with pytest.raises(DataError, match="no held-out rows of class 1"):
            scorer("neg_log_cost")(clf, X[:50], y[:50])
        with pytest.raises(DataError, match="two classes"):
            scorer("neg_cllr")(GaussianClassifier().fit(X, y), X, y)
        with pytest.raises(DataError, match="has no log_likelihood"):
            scorer("mean_log_likelihood")(LogisticClassifier().fit(X, y), X, y)
        with pytest.raises(DataError, match="name='accuracy' is not known"):
            scorer("accuracy")


def test_groups_are_values_and_no_name():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(DataError, match="'groups' must be an array"):
        OnePassSearchCV(GaussianClassifier(), {"covariance": ["full"]}, cv=GroupKFold(3)).fit(X, y, groups="patient")
