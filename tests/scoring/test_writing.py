"""Scores of tables of any size: the file holds what predict and the like say, and memory holds a few pieces of it."""

import threading
import time

import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

import suffice
from suffice import (
    CategoricalClassifier,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MultinomialClassifier,
)
from suffice.errors import DataError, ImpossibleWarning, SufficeError
from suffice.scoring import writing as written

N = 300


@pytest.fixture
def table():
    """Numbers, a category, a key and a label."""
    rng = np.random.default_rng(3)
    y = np.arange(N) % 3
    columns = {
        "key": [f"row {i}" for i in range(N)],
        "x": rng.normal(size=N) + y,
        "z": rng.normal(size=N) - y,
        "fur": np.array(["black", "white", "calico"])[(y + rng.integers(0, 2, N)) % 3],
        "label": np.array(["a", "b", "c"])[y],
    }
    return pa.table(columns)


MODELS = {
    "full": lambda t: GaussianClassifier().fit(t.select(["x", "z"]), t["label"]),
    "tied": lambda t: GaussianClassifier("tied").fit(t.select(["x", "z"]), t["label"]),
    "two classes": lambda t: GaussianClassifier("diag").fit(t.select(["x", "z"]), np.arange(N) % 2),
    "logistic": lambda t: LogisticClassifier().fit(t.select(["x", "z"]), t["label"]),
    "mixed": lambda t: MixedClassifier().fit(t.select(["x", "z", "fur"]), t["label"]),
    "categorical": lambda t: CategoricalClassifier().fit(t.select(["fur"]), t["label"]),
}


def expected(clf, X, prior=None, cost=None):
    """All results by the methods that give one each."""
    classes = clf.classes_.tolist()
    found = {"decision": clf.predict(X, prior, cost).tolist()}
    found |= {f"posterior_{c}": column for c, column in zip(classes, clf.predict_proba(X, prior).T, strict=True)}
    others = classes[1:] if len(classes) > 2 else [None]
    found |= {"llr" if c is None else f"llr_{c}": clf.llr(X, c and classes[0], c) for c in others}
    if hasattr(clf, "log_likelihood"):
        found |= {f"log_likelihood_{c}": column for c, column in zip(classes, clf.log_likelihood(X).T, strict=True)}
    return found


def assert_same(found, wanted):
    assert found.column_names == list(wanted)
    for name, values in wanted.items():
        if name == "decision":
            assert found[name].to_pylist() == values
        else:
            np.testing.assert_allclose(found[name].to_numpy(), values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("model", MODELS)
def test_the_file_holds_what_each_method_says(table, tmp_path, monkeypatch, model, threads):
    monkeypatch.setattr("suffice.sources.base.PIECE", 60)  # many pieces
    clf = MODELS[model](table).set_params(n_jobs=threads)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=16)
    X = table.select(clf.feature_names_in_.tolist())
    prior = np.arange(1, len(clf.classes_) + 1) / np.arange(1, len(clf.classes_) + 1).sum()
    cost = {"stay": [0.3] * len(prior)} | {c: 1.0 * (clf.classes_ != c) for c in clf.classes_.tolist()}
    if clf.classes_.dtype.kind == "i":  # a column is of one type
        cost = 1.0 - np.eye(2) * [2.0, 1.0]
    assert clf.to_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", prior, cost, keep=[]) == N
    assert_same(pq.read_table(tmp_path / "out.parquet"), expected(clf, X, prior, cost))
    clf.to_parquet(str(tmp_path / "in.parquet"), tmp_path / "out.parquet", keep=["key"], outputs=["llr", "decision"])
    found, wanted = pq.read_table(tmp_path / "out.parquet"), expected(clf, X)
    assert found["key"].equals(table["key"])
    ratios = [name for name in wanted if name.startswith("llr")]
    assert_same(found.drop_columns("key"), {name: wanted[name] for name in [*ratios, "decision"]})


def test_posteriors_are_worked_out_from_one_scoring(table, tmp_path, monkeypatch):
    clf = MODELS["tied"](table)
    calls = []
    score = type(clf.density_).score
    monkeypatch.setattr(type(clf.density_), "score", lambda *a, **k: calls.append(1) or score(*a, **k))
    clf.to_parquet(table, tmp_path / "out.parquet")
    assert len(calls) == 1


TABLES = {
    "Arrow": lambda t: t,
    "pandas": lambda t: t.to_pandas(),
    "pandas categories": lambda t: t.to_pandas().astype({"fur": "category"}),
    "polars": lambda t: pl.from_arrow(t),
    "CSV": lambda t: t.to_pandas().to_csv("in.csv", index=False) or "in.csv",
    "Arrow file": lambda t: t.to_pandas().to_feather("in.feather") or "in.feather",
    "dictionaries": lambda t: t.set_column(1, "fur", t["fur"].dictionary_encode()),
}


@pytest.mark.parametrize("kind", TABLES)
def test_rows_come_from_any_table_and_columns_are_repeated_as_they_are(table, tmp_path, monkeypatch, kind):
    """Also in another order than the model's, and beside columns that nobody asks for."""
    monkeypatch.chdir(tmp_path)
    clf = MODELS["mixed"](table)
    table = table.set_column(1, "x", pa.array([None, *table["x"].to_pylist()[1:]]))
    X = TABLES[kind](table.select(["label", "fur", "key", "z", "x"]))
    clf.to_parquet(X, "out.parquet", outputs="posterior")
    found = pq.read_table("out.parquet")
    assert found.column_names[:3] == ["x", "z", "fur"]
    for name in ("x", "z", "fur"):
        assert found[name].to_pylist() == table[name].to_pylist()
    np.testing.assert_allclose(found["posterior_b"], clf.predict_proba(table.select(["x", "z", "fur"]))[:, 1])
    clf.to_parquet(X, "out.parquet", keep=["key", "x", "key"], outputs="decision")
    assert pq.read_table("out.parquet").column_names == ["key", "x", "decision"]


def test_arrays_have_columns_by_position(rng, tmp_path):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2 == 0
    clf = GaussianClassifier().fit(X, y)
    clf.to_parquet(X, tmp_path / "out.parquet", outputs="decision")
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.column_names == ["x0", "x1", "decision"]
    assert found["x1"].to_pylist() == X[:, 1].tolist()
    assert found["decision"].to_pylist() == clf.predict(X).tolist()
    with pytest.raises(DataError, match="keep= names 'key', but the table has columns without names"):
        clf.to_parquet(X, tmp_path / "out.parquet", keep="key")


def test_sparse_rows_are_scored_but_not_repeated(rng, tmp_path):
    X = csr_array(rng.poisson(1.0, (30, 5)))
    clf = MultinomialClassifier().fit(X, np.arange(30) % 3)
    clf.to_parquet(X, tmp_path / "out.parquet", keep=[])
    assert_same(pq.read_table(tmp_path / "out.parquet"), expected(clf, X))
    with pytest.raises(DataError, match=r"pass keep=\[\]"):
        clf.to_parquet(X, tmp_path / "out.parquet")


def test_tables_on_clusters_are_left_to_their_engines(table, tmp_path):
    frame = dask.dataframe.from_pandas(table.to_pandas(), npartitions=2)
    with pytest.raises(DataError, match="use predict or llr, which return columns"):
        MODELS["full"](table).to_parquet(frame, tmp_path / "out.parquet")


def test_columns_that_the_model_drops_are_not_repeated(table, tmp_path):
    clf = MixedClassifier(families={"z": "drop"}).fit(table.select(["x", "z", "fur", "label"]), "label")
    clf.to_parquet(table, tmp_path / "out.parquet", outputs="decision")
    assert pq.read_table(tmp_path / "out.parquet").column_names == ["x", "fur", "decision"]


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("form", ["parquet", "csv", "memory"])
def test_a_few_pieces_are_alive_at_a_time_though_one_takes_long(rng, tmp_path, monkeypatch, threads, form):
    n, pieces = 6000, 60
    X = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    clf = GaussianClassifier("diag", n_jobs=threads).fit(X, np.arange(n) % 2)
    if form == "parquet":
        X.to_parquet(tmp_path / "in.parquet", row_group_size=n // pieces)
    elif form == "csv":
        X.to_csv(tmp_path / "in.csv", index=False)
        monkeypatch.setattr("suffice.sources.files.blocks.BLOCK", (tmp_path / "in.csv").stat().st_size // pieces)
    monkeypatch.setattr("suffice.sources.base.PIECE", 2 * n // pieces)
    monkeypatch.setattr(written, "_ROWS", 1)

    results, take, lock, first = written._Results.columns, written._Sink.__iadd__, threading.Lock(), threading.Event()
    made, taken, alive = [], [], []

    def watched(self, scores):
        slow = not first.is_set()
        first.set()
        with lock:
            made.append(len(scores))
            alive.append(len(made) - len(taken))
        if slow:
            time.sleep(0.3)  # time enough for all others, were they not held back
        return results(self, scores)

    def taking(self, tables):
        sink = take(self, tables)
        taken.extend(tables)
        return sink

    monkeypatch.setattr(written._Results, "columns", watched)
    monkeypatch.setattr(written._Sink, "__iadd__", taking)
    source = X if form == "memory" else tmp_path / f"in.{form}"
    assert clf.to_parquet(source, tmp_path / "out.parquet") == n
    assert len(made) >= pieces
    assert max(alive) <= 2 * threads
    np.testing.assert_array_equal(pq.read_table(tmp_path / "out.parquet")["x"], X["x"])


def test_small_pieces_are_written_together(table, tmp_path):
    clf = MODELS["full"](table)
    for i in range(30):
        pq.write_table(table.slice(10 * i, 10), tmp_path / f"{i:02}.parquet")
    clf.to_parquet(tmp_path / "*.parquet", tmp_path / "out.pq")
    assert pq.read_metadata(tmp_path / "out.pq").num_row_groups == 1
    assert pq.read_table(tmp_path / "out.pq")["x"].to_pylist() == table["x"].to_pylist()


def broken(table, place, value):
    values = table["x"].to_pylist()
    values[place] = value
    return table.set_column(1, "x", pa.array(values))


REFUSED = {
    "infinity": (lambda t: broken(t, 2, float("inf")), {}, "infinity in 1 row, in columns 'x'"),
    "a later infinity": (lambda t: broken(t, 250, float("inf")), {}, "infinity in 1 row, in columns 'x'"),
    "a missing column": (lambda t: t.drop_columns("z"), {}, "'z'|- z"),
    "no rows": (lambda t: t.slice(0, 0), {}, r"there is no row|0 sample\(s\)"),
    "an unknown column to keep": (lambda t: t, {"keep": "name"}, "'name'"),
    "an unknown output": (lambda t: t, {"outputs": "odds"}, "outputs='odds' is not known"),
    "a prior that is none": (lambda t: t, {"prior": [1, 2, 3]}, "must sum to 1"),
    "a column named as a result": (
        lambda t: t.append_column("LLR_b", t["x"]),
        {"keep": ["LLR_b"]},
        "named like the results: 'llr_b'",
    ),
}


@pytest.mark.parametrize("where", ["memory", "file"])
@pytest.mark.parametrize("case", REFUSED)
def test_what_predict_refuses_is_refused_and_nothing_is_left_behind(table, tmp_path, case, where):
    change, choices, message = REFUSED[case]
    clf = MODELS["full"](table)
    X = change(table)
    if where == "file":
        pq.write_table(X, tmp_path / "in.parquet", row_group_size=50)
        X = tmp_path / "in.parquet"
    out = tmp_path / "out"
    out.mkdir()
    (out / "scores.parquet").write_bytes(b"old")
    with pytest.raises(SufficeError, match=message):
        clf.to_parquet(X, out / "scores.parquet", **choices)
    assert [path.name for path in out.iterdir()] == ["scores.parquet"]
    assert (out / "scores.parquet").read_bytes() == b"old"


def test_a_file_that_is_read_is_never_overwritten(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clf = MODELS["full"](table)
    pq.write_table(table, "in.parquet")
    before = (tmp_path / "in.parquet").read_bytes()
    (tmp_path / "link.parquet").symlink_to("in.parquet")
    for path in ("in.parquet", tmp_path / "in.parquet", "link.parquet"):
        with pytest.raises(DataError, match="is one of the input files"):
            clf.to_parquet(["in.parquet"], path)
    assert (tmp_path / "in.parquet").read_bytes() == before


@pytest.mark.parametrize(("path", "error"), [("no/where.parquet", FileNotFoundError), (".", DataError)])
def test_a_place_that_cannot_be_written_is_found_before_the_work(table, tmp_path, monkeypatch, path, error):
    clf = MODELS["full"](table)
    monkeypatch.setattr(type(clf.density_), "score", None)
    with pytest.raises(error):
        clf.to_parquet(table, tmp_path / path)


def test_only_parquet_files_are_named_so(table, tmp_path):
    with pytest.raises(DataError, match=r"o\.csv: scores are written as Parquet; give .* ends in \.parquet"):
        MODELS["full"](table).to_parquet(table, tmp_path / "o.csv")
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_impossible_are_warned_of(table, tmp_path):
    clf = CategoricalClassifier(alpha=0, unknown="smooth").fit(table.select(["fur"]), table["label"])
    X = pa.table({"fur": ["black", "green"]})
    with pytest.warns(ImpossibleWarning, match="1 row has probability zero"):
        clf.to_parquet(X, tmp_path / "out.parquet")
    with pytest.warns(ImpossibleWarning):
        wanted = clf.predict_proba(X)
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["posterior_b"].to_pylist() == wanted[:, 1].tolist()
    assert found["log_likelihood_a"].to_pylist()[1] == -np.inf


def test_unseen_categories_are_refused_where_they_should(table, tmp_path):
    clf = CategoricalClassifier(unknown="error").fit(table.select(["fur"]), table["label"])
    with pytest.raises(DataError, match="green"):
        clf.to_parquet(pa.table({"fur": ["black", "green"]}), tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


def test_kept_columns_of_text_files_stay_text_unless_they_are_given_a_type(table, tmp_path, monkeypatch):
    """The types of text would be those of its first lines."""
    monkeypatch.setattr("suffice.sources.files.blocks.BLOCK", 1 << 17)
    clf = MODELS["full"](table)
    lines = "x,z,key\n" + "0.5,0.5,1\n" * 40_000 + "0.5,0.5,1.5\n"
    (tmp_path / "in.csv").write_text(lines)
    clf.to_parquet(tmp_path / "in.csv", tmp_path / "out.parquet", keep="key", outputs="decision")
    assert pq.read_table(tmp_path / "out.parquet")["key"].to_pylist()[-2:] == ["1", "1.5"]
    typed = suffice.files(tmp_path / "in.csv", ["x", "z", "key"], types={"key": "float64"})
    clf.to_parquet(typed, tmp_path / "out.parquet", keep="key", outputs="decision")
    assert pq.read_table(tmp_path / "out.parquet")["key"].to_pylist()[-1] == 1.5


def test_mixed_objects_are_named(table, tmp_path):
    frame = table.select(["x", "z"]).to_pandas().assign(odd=[1, "one"] * (N // 2))
    with pytest.raises(DataError, match="column 'odd' has values of several types"):
        MODELS["full"](table).to_parquet(frame, tmp_path / "out.parquet", keep="odd")
