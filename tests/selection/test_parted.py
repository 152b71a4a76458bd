"""A search over rows in parts gives what it gives for the table in memory."""

from itertools import cycle, pairwise

import dask
import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import (
    LDA,
    PCA,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MultinomialClassifier,
    OnePassSearchCV,
    files,
    scorer,
)
from suffice.errors import DataError

N = 400
NUMBERS = ["length", "width", "depth"]
CUTS = [0, 0, 90, 90, 150, 330, N]  # two parts are empty; "rare" comes in two of the others
PIPE = make_pipeline(StandardScaler(), PCA(), LDA(), GaussianClassifier())
GRID = {
    "pca__n_components": [2, 3, 7],  # there are no seven
    "lda": ["passthrough", LDA(1)],
    "gaussianclassifier__covariance": ["full", "tied"],
}
TWO = {"right": "balanced_accuracy", "cost": "neg_log_cost"}

pytestmark = pytest.mark.filterwarnings("ignore:(?s).*fits failed", "ignore:One or more of the")


def rows():
    rng = np.random.default_rng(0)
    label = rng.choice(["ham", "spam"], N).astype(object)
    label[100:350:8] = "rare"
    return pa.table(
        {
            "length": rng.normal(1e3, 1, N) + 2 * (label == "spam"),
            "width": rng.normal(size=N) - (label == "rare"),
            "depth": rng.gamma(1.0, 1.0, N),
            "events": rng.poisson(2 + (label == "rare")),
            "fur": rng.choice(["black", "white"], N).tolist(),
            "weight": rng.choice([0.5, 1.0, 3.0], N),
            "label": label.tolist(),
        }
    )


def as_dask(table, folder):
    parts = [table.slice(a, b - a).to_pandas() for a, b in pairwise(CUTS)]
    return dd.from_map(lambda i: parts[i], range(len(parts)), meta=parts[0])


def as_files(table, folder):
    """Three files, one of them empty, with row groups that are cut anew."""
    for i, (a, b) in enumerate([(0, 130), (130, 130), (130, N)]):
        pq.write_table(table.slice(a, b - a), folder / f"{i}.parquet", row_group_size=70)
    return str(folder)


@pytest.fixture(params=[as_dask, as_files])
def elsewhere(request, tmp_path):
    with dask.config.set(scheduler="synchronous"):
        yield lambda table: request.param(table, tmp_path)


def is_in_parts(monkeypatch):
    """Let nothing bring the rows together."""

    def refuse(*_):
        raise AssertionError("the rows were brought together")

    for kind in ("dask.DaskSource", "files.FileSource"):
        monkeypatch.setattr(f"suffice.sources.{kind}.in_memory", refuse)


def same_results(one, two):
    a, b = one.cv_results_, two.cv_results_
    assert a.keys() == b.keys()
    names = [name for name in a if "_score" in name or "split" in name or "mean_test" in name]
    for name in (name for name in names if "time" not in name and "rank" not in name):  # equal ones differ by rounding
        np.testing.assert_allclose(a[name], b[name], rtol=1e-8, atol=1e-10, err_msg=name)


SEARCHES = [
    (5, None),
    (StratifiedKFold(3), "neg_log_loss"),
    (KFold(4), "accuracy"),
    (3, "neg_log_cost"),
    (3, scorer("neg_log_cost", prior=[0.2, 0.3, 0.5])),
    (3, scorer("neg_log_cost", prior=None)),
    (3, scorer("neg_dcf", cost=[[0, 1, 9], [2, 0, 1], [1, 1, 0]])),
    (3, scorer("neg_dcf", cost={"ham": [0, 1, 9], "ask": [0.2, 0.2, 0.2], 7: [1, 1, 0]})),
    (3, make_scorer(log_loss, greater_is_better=False, response_method="predict_proba", normalize=False)),
    (3, "mean_log_likelihood"),
    (3, "f1_macro"),
    (3, TWO),
]


@pytest.mark.parametrize(
    ("elsewhere", "cv", "scoring"),
    [(place, *search) for place, search in zip(cycle([as_dask, as_files]), SEARCHES)],
    indirect=["elsewhere"],
)
def test_scores_are_those_of_the_table_in_memory(elsewhere, monkeypatch, cv, scoring):
    table = rows().select([*NUMBERS, "label"])
    choices = {"cv": cv, "scoring": scoring, "refit": "cost" if scoring is TWO else True, "return_train_score": True}
    inside = OnePassSearchCV(PIPE, GRID, **choices).fit(table, "label")
    is_in_parts(monkeypatch)
    outside = OnePassSearchCV(PIPE, GRID, **choices).fit(elsewhere(table), "label")
    same_results(outside, inside)
    assert outside.n_splits_ == inside.n_splits_
    frame = table.select(NUMBERS).to_pandas()
    model, other = outside.best_estimator_, clone_with(inside, outside.best_index_, table)
    np.testing.assert_allclose(model.predict_proba(frame), other.predict_proba(frame), rtol=1e-7, atol=1e-12)
    assert outside.feature_names_in_.tolist() == NUMBERS


def clone_with(search, index, table):
    """The candidate of a place, fitted to the table."""
    model = clone(search.estimator).set_params(**search.cv_results_["params"][index])
    return model.fit(table.select(NUMBERS).to_pandas(), table.column("label").to_pandas())


def test_scikit_learn_gives_the_same(elsewhere):
    table = rows().select([*NUMBERS, "label"])
    frame = table.to_pandas()
    theirs = GridSearchCV(GaussianNB(), {"var_smoothing": [0]}, cv=4, scoring="neg_log_loss")
    theirs.fit(frame[NUMBERS], frame["label"])
    ours = OnePassSearchCV(GaussianClassifier("diag"), {"shrinkage": [None]}, cv=4, scoring="neg_log_loss")
    same = ours.fit(elsewhere(table), "label").cv_results_["mean_test_score"]
    np.testing.assert_allclose(same, theirs.cv_results_["mean_test_score"], rtol=1e-8)


def test_mixed_models_are_searched(elsewhere, monkeypatch):
    table = rows().drop_columns("weight")
    grid = {"alpha": [0.1, 10.0], "covariance": ["diag", "tied"]}
    inside = OnePassSearchCV(MixedClassifier(), grid, scoring="neg_log_loss").fit(table, "label")
    is_in_parts(monkeypatch)
    same_results(
        OnePassSearchCV(MixedClassifier(), grid, scoring="neg_log_loss").fit(elsewhere(table), "label"), inside
    )


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "f1_macro"])
def test_weights_count_in_models_and_scores(elsewhere, monkeypatch, scoring):
    table = rows().select([*NUMBERS, "weight", "label"])
    search = OnePassSearchCV(GaussianClassifier(), {"covariance": ["full", "diag"]}, scoring=scoring)
    inside = search.fit(table, "label", sample_weight="weight").cv_results_
    is_in_parts(monkeypatch)
    search.fit(elsewhere(table), "label", sample_weight="weight")
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], inside["mean_test_score"], rtol=1e-8)


def test_ratios_of_two_classes(elsewhere, monkeypatch):
    table = rows().select([*NUMBERS, "label"])
    two = table.filter(pa.array(np.array(table.column("label").to_pylist()) != "rare"))
    search = OnePassSearchCV(GaussianClassifier(), {"covariance": ["full", "diag"]}, scoring="neg_cllr")
    inside = search.fit(two, "label").cv_results_["mean_test_score"]
    is_in_parts(monkeypatch)
    np.testing.assert_allclose(search.fit(elsewhere(two), "label").cv_results_["mean_test_score"], inside, rtol=1e-8)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_log_cost", "neg_cllr"])
def test_scores_that_cannot_be_had_are_told(elsewhere, scoring):
    """The last fold has rows of "rare", which its model has not seen, and the others have none."""
    table = rows().select([*NUMBERS, "label"])
    order = np.argsort(np.array(table.column("label").to_pylist()) == "rare", kind="stable")
    search = OnePassSearchCV(GaussianClassifier(), {"covariance": ["diag"]}, cv=KFold(3), scoring=scoring)
    with pytest.warns(UserWarning, match="Scoring failed"):
        inside = search.fit(table.take(order), "label").cv_results_
    with pytest.warns(UserWarning, match="Scoring failed"):
        outside = search.fit(elsewhere(table.take(order)), "label").cv_results_
    for s in range(2):
        np.testing.assert_array_equal(outside[f"split{s}_test_score"], inside[f"split{s}_test_score"])
    with pytest.raises(DataError, match=r"classes|held-out rows"):
        search.set_params(error_score="raise").fit(elsewhere(table.take(order)), "label")


def test_cells_that_cannot_be_used_fail_the_models_that_see_them(elsewhere):
    table = rows().select([*NUMBERS, "label"])
    width = table.column("width").to_numpy().copy()
    width[7] = np.inf
    spoilt = elsewhere(table.set_column(1, "width", [width]))
    search = OnePassSearchCV(GaussianClassifier(), {"covariance": ["diag"]}, refit=False)
    message = r"(?s)4 fits failed.*X contains infinity in 1 row, in columns 'width'"
    with pytest.warns(FitFailedWarning, match=message), pytest.warns(UserWarning, match="Scoring failed"):
        results = search.fit(spoilt, "label").cv_results_
    assert np.isnan([results[f"split{s}_test_score"][0] for s in range(5)]).all()  # what does not fail cannot score
    negative = elsewhere(table.set_column(1, "width", [-np.abs(width)]))
    with pytest.raises(ValueError, match=r"(?s)All the 5 fits failed.*column 'width' holds negative values"):
        OnePassSearchCV(MultinomialClassifier(), {"alpha": [1]}, refit=False).fit(negative, "label")


NEEDS_ROWS = [
    ({"cv": KFold(3, shuffle=True)}, "without shuffle, or pass the table in memory"),
    ({"cv": PredefinedSplit([0, 1] * (N // 2))}, "needs all rows at once"),
    ({"scoring": "roc_auc_ovr"}, "use accuracy or another score of decisions"),
    ({"scoring": make_scorer(lambda y, decided: 1.0)}, "use accuracy or another score of decisions"),
    ({"scoring": {"auc": make_scorer(roc_auc_score, response_method="predict_proba")}}, "neg_log_loss, or one of"),
    ({"estimator": LogisticClassifier(), "param_grid": {"C": [1.0]}}, "cannot be fitted from statistics"),
    ({"param_grid": {"shrinkage": ["loo"]}}, "cannot be fitted from statistics"),
]


@pytest.mark.parametrize(("choices", "message"), NEEDS_ROWS)
def test_what_needs_all_rows_at_once_is_refused_on_clusters(tmp_path, choices, message):
    search = OnePassSearchCV(GaussianClassifier(), {"covariance": ["full"]}, refit=False).set_params(**choices)
    with pytest.raises(DataError, match=message):
        search.fit(as_dask(rows().select([*NUMBERS, "label"]), tmp_path), "label")


def test_what_needs_all_rows_at_once_reads_files(tmp_path):
    table = rows().select([*NUMBERS, "label"])
    search = OnePassSearchCV(GaussianClassifier(), {"covariance": ["full"]}, scoring="roc_auc_ovr")
    inside = search.fit(table, "label").best_score_
    assert search.fit(as_files(table, tmp_path), "label").best_score_ == pytest.approx(inside, rel=1e-12)


def test_filtered_files_are_searched(tmp_path, monkeypatch):
    table = rows()
    kept = table.filter(pa.array(np.array(table.column("events")) > 0)).select([*NUMBERS, "label"])
    search = OnePassSearchCV(GaussianClassifier(), {"covariance": ["full", "diag"]})
    inside = search.fit(kept, "label").cv_results_["mean_test_score"]
    is_in_parts(monkeypatch)
    path = as_files(table, tmp_path)
    search.fit(files(path, NUMBERS, filter=[("events", ">", 0)]), "label")
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], inside, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_cell_that_is_no_number_is_named_whatever_files_are_kept_for(tmp_path):
    table = rows().select([*NUMBERS, "label"])
    width = table["width"].to_numpy().copy()
    width[50] = np.nan
    path = as_files(table.set_column(1, "width", pa.array(width)), tmp_path)
    for given in (path, files(path, checkpoint=tmp_path / "run")):
        search = OnePassSearchCV(PIPE, GRID, error_score=0.0)
        with pytest.raises(DataError, match=r"'width' \(1\)"):
            search.fit(given, "label")
    assert not (tmp_path / "run").exists()
