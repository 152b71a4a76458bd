"""The same rows on a cluster of Dask and in a session of Spark give the model of the table in memory."""

import operator
import os
import signal

import dask.array as da
import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import (
    LDA,
    PCA,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    OnePassSearchCV,
)
from suffice.errors import DataError
from suffice.sources import as_source, spark
from suffice.sources import cluster as partitions
from tests.sources.samples import EVERYWHERE, MODELS, NUMBERS, N, as_dask, as_spark, rows, same_statistics

pytestmark = pytest.mark.xdist_group("clusters")  # one cluster and one session, however many processes test


NOT_SUMMED = ("full", "quartic", "pca", "lda", "tree")  # by Spark: these need products or pairs of columns


def gathered(frame):
    """A frame of an engine in memory."""
    return frame.compute() if hasattr(frame, "compute") else frame.toArrow().to_pandas()


@pytest.mark.parametrize("name", [name for name in NOT_SUMMED if name not in EVERYWHERE])
def test_clusters_give_the_model_of_the_table_in_memory(cluster_rows, name):
    model, columns = MODELS[name]
    used = [*columns, "label", "weight"]
    inside = model.fit(rows().select(used), "label", "weight").statistics_
    same_statistics(model.fit(cluster_rows[used], "label", "weight").statistics_, inside)


def test_clusters_stream_and_forget(cluster_rows):
    used, table = cluster_rows[[*NUMBERS, "label"]], rows().select([*NUMBERS, "label"])
    clf = GaussianClassifier("full").partial_fit(table, "label").partial_fit(used, "label")
    np.testing.assert_allclose(clf.statistics_.weight, 2 * GaussianClassifier().fit(table, "label").statistics_.weight)
    clf.forget(used, "label")
    same_statistics(clf.statistics_, GaussianClassifier("full").fit(table, "label").statistics_, rtol=1e-9)


def dying(marker):
    """Sums of batches; the first process that comes here is killed in the middle of its work."""

    def work(batch):  # a function of its own, so that it travels without this module
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return batch.X.sum(axis=0)
        return os.kill(os.getpid(), signal.SIGKILL)

    return work


def test_a_worker_that_is_killed_changes_nothing(cluster_rows, tmp_path):
    source, marker = as_source(cluster_rows[NUMBERS]), tmp_path / "killed"
    after = source.reduce(dying(str(marker)), operator.add)
    assert marker.exists()
    np.testing.assert_array_equal(after, source.reduce(dying(str(marker)), operator.add))
    np.testing.assert_allclose(after, rows().select(NUMBERS).to_pandas().sum(), rtol=1e-12)


def test_results_are_merged_in_the_order_of_partitions(cluster_rows, monkeypatch):
    monkeypatch.setattr(partitions, "FAN_IN", 2)
    values = as_source(cluster_rows[["width"]]).reduce(lambda batch: batch.X[:, 0].tolist(), operator.add)
    assert values == rows().column("width").to_pylist()


def test_executors_merge_wide_statistics(spark_session, monkeypatch):
    used = as_spark(spark_session, rows())[[*NUMBERS, "label"]]
    at_driver = GaussianClassifier("full").fit(used, "label").statistics_
    monkeypatch.setattr(spark, "WIDE", 0)
    monkeypatch.setattr(spark, "FAN_IN", 2)
    same_statistics(GaussianClassifier("full").fit(used, "label").statistics_, at_driver, rtol=1e-12)


@pytest.mark.parametrize(("name", "weight"), [("mixed", "weight"), ("multinomial", "weight"), ("diag", None)])
def test_spark_sums_by_itself(spark_session, monkeypatch, name, weight):
    """No row goes to Python, but the first few."""
    model, columns = MODELS[name]
    used = [*columns, "label", *([weight] if weight else [])]
    inside = model.fit(rows().select(used), "label", weight).statistics_
    frame = as_spark(spark_session, rows())[used]
    monkeypatch.setattr(spark.SparkSource, "_outcome", None)
    same_statistics(model.fit(frame, "label", weight).statistics_, inside, summed=True)


def test_spark_sums_classes_that_lie_far_apart(spark_session, monkeypatch):
    """They are asked for once more, each about its own mean."""
    table = rows().select([*NUMBERS, "label"])
    far = table.set_column(
        0, "length", pc.if_else(pc.equal(table["label"], "spam"), pc.add(table["length"], 1e9), table["length"])
    )
    inside = GaussianClassifier("diag").fit(far, "label").statistics_
    frame = as_spark(spark_session, far)
    monkeypatch.setattr(spark.SparkSource, "_outcome", None)
    same_statistics(GaussianClassifier("diag").fit(frame, "label").statistics_, inside, rtol=1e-9)


PIPE = make_pipeline(StandardScaler(), PCA(), LDA(), GaussianClassifier())
SEARCHES = {
    "gaussian": (
        PIPE,
        {"pca__n_components": [2, 3, 7], "lda": ["passthrough", LDA(1)], "gaussianclassifier__covariance": ["tied"]},
        NUMBERS,
    ),
    "mixed": (MixedClassifier(), {"alpha": [0.1, 10.0]}, ["gap", "fur"]),
}


@pytest.mark.filterwarnings("ignore:(?s).*fits failed", "ignore:One or more of the")
@pytest.mark.parametrize(("engine", "name"), [("dask", "mixed"), ("spark", "gaussian")], indirect=["engine"])
def test_searches_give_what_they_give_in_memory(cluster_rows, name):
    estimator, grid, columns = SEARCHES[name]
    scoring = {"right": "balanced_accuracy", "cost": "neg_log_cost"}
    search = OnePassSearchCV(estimator, grid, cv=3, scoring=scoring, refit="cost")
    inside = clone(search).fit(rows().select([*columns, "label"]), "label")
    search.fit(cluster_rows[[*columns, "label"]], "label")
    for score in (f"split{s}_test_{metric}" for s in range(3) for metric in scoring):
        np.testing.assert_allclose(search.cv_results_[score], inside.cv_results_[score], rtol=1e-8, err_msg=score)
    assert search.best_params_ == inside.best_params_
    table = rows().select(columns).to_pandas()
    ours, theirs = (one.best_estimator_.predict_proba(table) for one in (search, inside))
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-12)


def test_cells_that_cannot_be_used_are_named_and_counted(cluster_rows):
    missing = rows().column("gap").null_count
    with pytest.raises(DataError, match=rf"in {missing} rows, in columns 'gap' \({missing}\)"):
        GaussianClassifier(missing="error").fit(cluster_rows[["width", "gap", "label"]], "label")


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_missing_cells_are_learnt_as_in_memory(cluster_rows, covariance):
    columns = ["width", "gap", "label"]
    found = GaussianClassifier(covariance).fit(cluster_rows[columns], "label")
    expected = GaussianClassifier(covariance).fit(rows().select(columns), "label")
    np.testing.assert_allclose(found.means_, expected.means_, rtol=1e-8)
    np.testing.assert_allclose(found.covariances_, expected.covariances_, rtol=1e-8)


@pytest.mark.parametrize(
    ("columns", "y", "weight", "message"),
    [
        (["width"], "label", None, "no column 'label' to take the labels from"),
        (["width", "label"], "label", "weight", "no column 'weight' to take the weights from"),
        (["label"], "label", None, "0 feature"),
        (["width", "label"], ["ham"] * N, None, "list"),
        (["fur", "label"], "label", None, "fur"),
    ],
)
def test_errors_say_what_is_wrong(cluster_rows, columns, y, weight, message):
    with pytest.raises(DataError, match=message):
        GaussianClassifier().fit(cluster_rows[columns], y, weight)


def test_labels_and_weights_of_dask_may_lie_beside_the_rows(dask_client):
    table = rows().to_pandas()
    frame = as_dask(rows())
    inside = GaussianClassifier().fit(table[NUMBERS], table["label"], table["weight"]).statistics_
    beside = GaussianClassifier().fit(frame[NUMBERS], frame["label"], frame["weight"].to_dask_array())
    same_statistics(beside.statistics_, inside)
    X = da.from_array(table[NUMBERS].to_numpy(), chunks=(250, 2))
    y = da.from_array(table["label"].to_numpy(dtype=object), chunks=400)
    weight = da.from_array(table["weight"].to_numpy(), chunks=N)
    same_statistics(GaussianClassifier().fit(X, y, weight).statistics_, inside)
    unknown = frame[NUMBERS].to_dask_array()  # nobody knows how long its chunks are
    same_statistics(GaussianClassifier().fit(unknown, frame["label"], frame["weight"]).statistics_, inside)
    with pytest.raises(DataError, match="X has 7 partitions, but y has 3"):
        GaussianClassifier().fit(frame[NUMBERS], y)
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        GaussianClassifier().fit(X, y[:-1])
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        GaussianClassifier().fit(unknown, frame["label"].partitions[::-1])


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_dask_needs_no_cluster(scheduler):
    import dask

    with dask.config.set(scheduler=scheduler):
        clf = GaussianClassifier().fit(as_dask(rows())[[*NUMBERS, "label"]], "label")
    same_statistics(clf.statistics_, GaussianClassifier().fit(rows().select([*NUMBERS, "label"]), "label").statistics_)


def test_what_needs_all_rows_reads_them(cluster_rows):
    used = [*NUMBERS, "label"]
    outside = LogisticClassifier().fit(cluster_rows[used], "label")
    inside = LogisticClassifier().fit(rows().select(used), "label")
    np.testing.assert_allclose(outside.model_.slope, inside.model_.slope, rtol=1e-6, atol=1e-9)


# Scoring.


@pytest.mark.parametrize("call", ["predict", "predict_proba", "log_likelihood", "llr", "typicality", "score_samples"])
def test_scores_are_columns_of_the_same_engine(cluster_rows, call):
    table = rows()
    clf = MixedClassifier().fit(table.drop_columns("weight"), "label")
    classes = ("ham", "spam") if call == "llr" else ()
    inside = getattr(clf, call)(table.select(clf.feature_names_in_.tolist()), *classes)
    lazy = getattr(clf, call)(cluster_rows, *classes)
    assert type(lazy).__module__.split(".")[0] == type(cluster_rows).__module__.split(".")[0]
    outside = gathered(lazy)
    if inside.ndim == 1:
        values = (
            outside[{"predict": "prediction", "score_samples": "log_evidence"}.get(call, call)]
            if isinstance(outside, pd.DataFrame)
            else outside
        )
    else:
        names = [name for name in outside.columns if name.endswith(("_ham", "_rare", "_spam"))]
        assert len(names) == 3
        values = outside[names]
    if call == "predict":
        assert values.tolist() == inside.tolist()
    else:
        np.testing.assert_allclose(values.to_numpy(), inside, rtol=1e-12)


def test_spark_keeps_the_columns_that_were_there(spark_session):
    frame = as_spark(spark_session, rows())
    clf = GaussianClassifier().fit(frame[[*NUMBERS, "label"]], "label")
    scored = clf.predict(frame)
    assert scored.columns == [*frame.columns, "prediction"]
    with pytest.raises(DataError, match="'prediction', which X has already"):
        clf.predict(scored)
    dotted = frame[[*NUMBERS, "label"]].withColumnRenamed("width", "a.b`c")
    assert clf.fit(dotted, "label").predict(dotted).count() == N


@pytest.mark.parametrize(("engine", "labels"), [("dask", bool), ("spark", np.int32)], indirect=["engine"])
def test_predictions_have_the_type_of_the_labels(engine, labels):
    table = rows().select(["width"]).append_column("label", [(np.arange(N) % 2).astype(labels)])
    frame = engine(table)
    clf = GaussianClassifier().fit(frame, "label")
    predicted = gathered(clf.predict(frame))
    predicted = predicted["prediction"] if isinstance(predicted, pd.DataFrame) else predicted
    assert predicted.dtype.kind == np.dtype(labels).kind
    assert predicted.tolist() == clf.predict(table.select(["width"])).tolist()


def test_arrays_of_dask_are_scored_to_arrays(dask_client):
    table = rows().to_pandas()
    X, y = table[NUMBERS].to_numpy(), table["label"].to_numpy(dtype=object)
    clf = GaussianClassifier().fit(X, y)
    chunks = da.from_array(X, chunks=(250, 2))
    predicted, probabilities = clf.predict(chunks), clf.predict_proba(chunks)
    assert (predicted.shape, probabilities.shape) == ((N,), (N, 3))
    assert predicted.compute().tolist() == clf.predict(X).tolist()
    np.testing.assert_allclose(probabilities.compute(), clf.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(PCA(2).fit(chunks).transform(chunks).compute(), PCA(2).fit(X).transform(X), atol=1e-9)


def test_rows_that_cannot_be_scored_stop_the_job(cluster_rows):
    clf = LogisticClassifier().fit(rows().select(["width", "gap", "label"]).drop_null(), "label")
    with pytest.raises(Exception, match=r"X contains NaN in .* 'gap'"):
        gathered(clf.predict(cluster_rows))


def test_columns_that_a_model_needs_must_be_there(cluster_rows):
    clf = GaussianClassifier().fit(rows().select([*NUMBERS, "label"]), "label")
    with pytest.raises(DataError, match="X has no column 'length'"):
        clf.predict(cluster_rows[["width", "events"]])


def test_proportions_and_strangers_are_found_on_clusters(cluster_rows):
    table = rows().select([*NUMBERS, "label"])
    clf = GaussianClassifier().fit(table, "label")
    inside = table.select(NUMBERS)
    np.testing.assert_allclose(clf.estimate_prior(cluster_rows), clf.estimate_prior(inside), rtol=1e-9)
    assert clf.predict_open_set(cluster_rows).tolist() == clf.predict_open_set(inside).tolist()
