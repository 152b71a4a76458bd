"""The same rows in a database give the model of the table in memory, whether it sums them or hands them out."""

import decimal
import operator
import subprocess
import sys
from itertools import product

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pytest
import sqlalchemy as sa
from sklearn.naive_bayes import GaussianNB

import suffice
from suffice import (
    LDA,
    PCA,
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MomentStats,
    MultinomialClassifier,
    PoissonClassifier,
)
from suffice.collect import collect
from suffice.errors import DatabaseError, DataError, MissingLabelsError, SufficeError
from suffice.sources import as_source, base
from suffice.sources.sql import connecting, databases
from suffice.sources.sql.source import SqlSource
from suffice.sources.sql.values import arrow_array
from suffice.stats import CollectMoments
from tests.pairs import pairs
from tests.sources.samples import Home

pytestmark = pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")

N = 900
NUMBERS = ["length", "width", "events"]


def prefer(patch, sums):
    """Let every database be far better, or far worse, at summing than at handing out rows."""
    for kind in (databases.PostgresDatabase, databases.DuckDatabase, databases.SqliteDatabase):
        patch.setattr(kind, "sums_per_column", np.inf if sums else 0)


@pytest.fixture(params=["summed", "streamed"])
def way(request, monkeypatch):
    """Both ways to a statistic, each without the other."""
    prefer(monkeypatch, request.param == "summed")

    def never(*args, **kwargs):
        raise AssertionError("the other way was meant")

    monkeypatch.setattr(SqlSource, "reduce" if request.param == "summed" else "sums", never)
    return request.param


@pytest.fixture(params=["summed", "streamed"])
def preference(request, monkeypatch):
    """Both ways to a statistic; rows that are odd are read in the end."""
    prefer(monkeypatch, request.param == "summed")
    return request.param


def rows(rng, labels=("ham", "spam")):
    """Numbers, some missing, counts, truths and text."""
    label = np.array(labels)[rng.integers(2, size=N)]
    shift = label == labels[1]
    text = rng.choice(["black", "Black", "三毛", "o'neil"], N).tolist()
    return pa.table(
        {
            "length": rng.normal(1e3, 1, N) + shift,
            "width": rng.normal(size=N),
            "gap": pa.array(rng.normal(size=N), mask=rng.random(N) < 0.2),
            "events": rng.poisson(3, N),
            "holes": pa.array(rng.poisson(30, N), mask=rng.random(N) < 0.1),
            "wild": rng.random(N) < 0.3,
            "tame": pa.array(rng.random(N) < 0.3, mask=rng.random(N) < 0.1),
            "fur": pa.array(text, mask=rng.random(N) < 0.1),
            "weight": rng.choice([0.0, 0.5, 1.0, 3.0], N),
            "label": pa.array(label.tolist()),
        }
    )


EVERYTHING = ["length", "width", "gap", "events", "holes", "wild", "tame", "fur"]
FAMILIES = {"events": "poisson", "holes": "multinomial"}
MODELS = {
    "mixed": (MixedClassifier(), EVERYTHING),
    "families": (MixedClassifier(FAMILIES), EVERYTHING),
    "mixed full": (MixedClassifier(covariance="full"), ["length", "width", "wild", "fur"]),
    "diag": (GaussianClassifier("diag"), NUMBERS),
    "full": (GaussianClassifier("full"), NUMBERS),
    "tied": (GaussianClassifier("tied"), NUMBERS),
    "spherical": (GaussianClassifier("spherical"), NUMBERS),
    "predictive": (GaussianClassifier("full", predictive=True), NUMBERS),
    "pca": (PCA(2), NUMBERS),
    "lda": (LDA(), NUMBERS),
    "bernoulli": (BernoulliClassifier(), ["wild", "tame", "width"]),
    "poisson": (PoissonClassifier(), ["events", "holes"]),
    "multinomial": (MultinomialClassifier(), ["events", "holes", "wild"]),
    "categorical": (CategoricalClassifier(), ["fur", "events", "wild", "tame", "holes"]),
}


def same(one, two):
    """Whether statistics are of the same classes and columns, and agree to eight digits."""
    assert one.classes.tolist() == two.classes.tolist()
    assert one.classes.dtype == two.classes.dtype
    assert one.names == two.names
    if hasattr(one, "parts"):
        assert one.columns == two.columns
        for name in one.parts:
            same(one.parts[name], two.parts[name])
        return
    if isinstance(one, MomentStats):
        same_moments(one, two)
        return
    a, b = one.to_arrays(), two.to_arrays()
    if "log_factorials" not in a:
        b.pop("log_factorials", None)  # which databases do not sum
    assert a.keys() == b.keys()
    for key in a:
        assert a[key].dtype == b[key].dtype
        np.testing.assert_allclose(a[key], b[key], rtol=1e-8, err_msg=key)


def same_moments(one, two):
    np.testing.assert_allclose(one.weight, two.weight, rtol=1e-12)
    observed = np.broadcast_to(two.column_weight, two.mean.shape)
    np.testing.assert_allclose(np.broadcast_to(one.column_weight, one.mean.shape), observed, rtol=1e-12)
    assert (one.observed is None) == (two.observed is None)
    deviation = np.sqrt(two.variation / np.maximum(observed if two.layout != "pooled" else two.total, 1e-300))
    off = np.abs(one.mean - two.mean)
    assert (off <= 1e-8 * deviation + 1e-15 * np.abs(two.mean)).all()
    scale = (
        two.variation if two.layout == "diag" else np.sqrt(two.variation[..., :, None] * two.variation[..., None, :])
    )
    assert (np.abs(one.scatter - two.scatter) <= 1e-8 * scale.reshape(two.scatter.shape)).all()


def agrees(clf, source, table, weight=None):
    """Whether rows in a database give the statistic of the table in memory."""
    inside = clf.fit(table, "label", weight).statistics_
    same(clf.fit(source, "label", weight).statistics_, inside)


# Fitting.


def in_every_database(**factors):
    """Every database, either way, with every value of the factors; two values of factors meet somewhere."""
    places = product(["postgresql", "duckdb", "sqlite"], ["summed", "streamed"])
    cases = [(*place, *values) for place, *values in pairs(places, *factors.values())]
    return pytest.mark.parametrize(("home", "way", *factors), cases, indirect=["home", "way"])


@in_every_database(name=MODELS, weight=[None, "weight"])
def test_databases_give_the_model_of_the_table_in_memory(home, way, name, weight, rng):
    model, columns = MODELS[name]
    table = rows(rng)
    agrees(model, home.sql(table, columns), table.select([*columns, "label", *([weight] if weight else [])]), weight)


@pytest.mark.parametrize("home", ["postgresql", "duckdb", "sqlite"], indirect=True)
def test_pairs_of_columns_are_counted_row_by_row(home, rng):
    """A query for each pair would take longer."""
    table, columns = rows(rng), ["fur", "events", "wild", "tame", "holes"]
    agrees(CategoricalClassifier(structure="tree"), home.sql(table, columns), table.select([*columns, "label"]))
    agrees(MixedClassifier(structure="tree"), home.sql(table, EVERYTHING), table.select([*EVERYTHING, "label"]))


@in_every_database(covariance=["diag", "full", "tied"], labels=[(0, 1), (-3, 7), (False, True), (2.0, 5.0), ("a", "A")])
def test_labels_of_all_types(home, way, covariance, labels, rng):
    table = rows(rng, labels).select([*NUMBERS, "label"])
    agrees(GaussianClassifier(covariance), home.sql(table), table)


def special(rng):
    """Tables that cost digits or classes."""
    x, y = rng.normal(size=(N, 2)), np.where(np.arange(N) % 3, "one", "two").astype(object)
    alone = y.copy()
    alone[N // 2] = "alone"
    apart = 1e7 * (y == "one")
    return {
        "an offset": (x + 1e9, y),
        "classes far apart": (x + apart[:, None], y),
        "one class far away": (x + 1e9 * (alone == "alone")[:, None], alone),
        "a class of one row": (x, alone),
        "a constant column": (np.column_stack([x, np.full(N, 0.1)]), y),
        "constant in each class": (np.column_stack([x, np.where(y == "one", 0.1, 1 / 3)]), y),
        "zeros": (np.column_stack([x, np.zeros(N)]), y),
        "tiny": (x * 1e-30, y),
        "one class": (x, np.full(N, "only", object)),
        "two rows": (x[:2], y[:2]),
    }


@in_every_database(covariance=["diag", "full", "tied"], name=special(np.random.default_rng(0)))
def test_digits_are_kept(home, way, covariance, name, rng):
    X, y = special(rng)[name]
    table = pa.table({**{f"x{j}": x for j, x in enumerate(X.T)}, "label": y.tolist()})
    clf = GaussianClassifier(covariance)
    inside = clf.fit(table, "label").statistics_
    outside = clf.fit(home.sql(table), "label").statistics_
    same(outside, inside)
    if "constant" in name and covariance != "tied":
        assert not outside.variation[:, -1].any()


def test_only_classes_that_lie_far_are_asked_for_again(home, monkeypatch, rng):
    prefer(monkeypatch, True)
    y = np.arange(N) % 20
    asked = []
    sums = SqlSource.sums
    monkeypatch.setattr(SqlSource, "sums", lambda self, *args: asked.append(args[2]) or sums(self, *args))
    for far, expected in ([], [None]), ([3, 5], [None, 3, 5]), (range(9), [None]):
        table = pa.table({"x": rng.normal(size=N) + 1e8 * np.isin(y, list(far)) * (1 + y), "label": y})
        asked.clear()
        agrees(GaussianClassifier(), home.sql(table), table)
        assert asked == expected


def test_databases_agree_with_scikit_learn(home, way, rng):
    table = rows(rng)
    frame = table.to_pandas()
    theirs = GaussianNB(var_smoothing=0).fit(frame[NUMBERS], frame["label"], frame["weight"])
    ours = GaussianClassifier("diag").fit(home.sql(table, NUMBERS), "label", "weight")
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    np.testing.assert_allclose(ours.means_, theirs.theta_, rtol=1e-10)
    np.testing.assert_allclose(ours.covariances_, theirs.var_, rtol=1e-8)


def test_databases_stream_and_forget(home, way, rng):
    table = rows(rng).select([*NUMBERS, "label"])
    source = home.sql(table)
    clf = GaussianClassifier().partial_fit(table, "label").partial_fit(source, "label").forget(source, "label")
    np.testing.assert_allclose(clf.means_, GaussianClassifier().fit(table, "label").means_, rtol=1e-10)


def test_a_statistic_that_is_no_sum_is_streamed(home, monkeypatch, rng):
    prefer(monkeypatch, True)
    table = rows(rng).select([*NUMBERS, "label"])
    clf = GaussianClassifier("full", "ledoit_wolf")
    same_to = clf.fit(table, "label").statistics_.to_arrays()
    for key, array in clf.fit(home.sql(table), "label").statistics_.to_arrays().items():
        np.testing.assert_allclose(array, same_to[key], rtol=1e-8, atol=1e-8 * np.abs(same_to[key]).max(), err_msg=key)


# Odd rows.


def holed(values, mask):
    return pa.array(values, mask=mask)


def odd(rng):
    """Rows that no model takes, each with the model and the weights that meet them."""
    x, y = rng.normal(size=N), pa.array(np.where(np.arange(N) % 2, "a", "b").tolist())
    some = np.arange(N) % 100 == 7
    weight = rng.random(N)
    diag, whole, counts = GaussianClassifier("diag"), GaussianClassifier(missing="error"), PoissonClassifier()
    return {
        "missing labels": (diag, {"x": x, "label": holed(np.where(some, "a", "b").tolist(), some)}),
        "missing cells": (whole, {"x": holed(x, some), "label": y}),
        "infinite cells": (diag, {"x": np.where(some, np.inf, x), "label": y}),
        "infinite cells of both signs": (diag, {"x": np.where(some, np.inf, np.where(x > 2, -np.inf, x)), "label": y}),
        "infinite cells of a block": (MixedClassifier(), {"x": np.where(some, -np.inf, x), "label": y}),
        "overflow": (diag, {"x": np.where(some, 1e300, x), "label": y}),
        "negative counts": (counts, {"x": np.where(some, -1.0, 2.0), "label": y}),
        "infinite counts": (counts, {"x": np.where(some, np.inf, 2.0), "label": y}),
        "infinite presence": (BernoulliClassifier(), {"x": np.where(some, np.inf, 2.0), "label": y}),
        "no truths": (MixedClassifier("bernoulli"), {"x": np.where(some, 2, 1), "label": y}),
        "an infinite category": (CategoricalClassifier(), {"x": np.where(some, np.inf, 1.5), "label": y}),
        "fractions for labels": (diag, {"x": x, "label": np.where(some, 0.5, 1.0)}),
        "text for numbers": (diag, {"x": y, "label": y}),
        "negative weights": (diag, {"x": x, "label": y, "weight": np.where(some, -1.0, weight)}),
        "missing weights": (diag, {"x": x, "label": y, "weight": holed(weight, some)}),
        "infinite weights": (diag, {"x": x, "label": y, "weight": np.where(some, np.inf, weight)}),
        "no weights": (diag, {"x": x, "label": y, "weight": np.zeros(N)}),
        "no rows": (diag, {"x": np.zeros(0), "label": pa.array([], pa.string())}),
    }


@pytest.mark.parametrize("name", odd(np.random.default_rng(0)))
def test_odd_rows_give_the_errors_of_the_table_in_memory(home, preference, name, rng):
    model, columns = odd(rng)[name]
    table, weight = pa.table(columns), "weight" if "weight" in columns else None
    with pytest.raises(SufficeError) as inside:
        model.fit(table, "label", weight)
    with pytest.raises(type(inside.value)) as outside:
        model.fit(home.sql(table), "label", weight)
    assert str(outside.value) == str(inside.value)
    if name == "missing labels":
        assert isinstance(outside.value, MissingLabelsError)


def test_cells_that_are_not_a_number_are_missing(home, preference, rng):
    table = pa.table({"x": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)), "label": np.arange(N) % 2})
    for clf in (MixedClassifier(), BernoulliClassifier(), CategoricalClassifier()):
        agrees(clf, home.sql(table), table)


@pytest.mark.parametrize(
    "clf", [*map(GaussianClassifier, ("diag", "full", "tied")), MixedClassifier(covariance="full")], ids=str
)
def test_missing_cells_are_learnt_as_in_memory(home, preference, clf, rng):
    x, z = rng.normal(size=(2, N))
    table = pa.table({"x": holed(x, rng.random(N) < 0.1), "z": holed(z + x, rng.random(N) < 0.2), "label": x > z})
    agrees(clf, home.sql(table), table)


def test_rows_of_weight_zero_are_absent_whatever_they_hold(home, way, rng):
    absent = np.arange(N) % 7 == 0
    columns = {"x": np.where(absent, np.inf, rng.normal(size=N)), "weight": 1.0 - absent, "label": np.arange(N) % 3}
    table = pa.table(columns)
    agrees(GaussianClassifier(), home.sql(table), table, "weight")


def test_rows_that_change_meanwhile_are_read_again(home, monkeypatch, rng):
    prefer(monkeypatch, True)
    table = rows(rng).select(["fur", "label"])
    name = home.load(table)
    sums, changed = SqlSource.sums, []

    def meanwhile(self, *args):
        found = sums(self, *args)
        if not changed:
            changed.append(home.run(f"INSERT INTO {name} SELECT * FROM {name} WHERE fur = 'Black'"))
        return found

    monkeypatch.setattr(SqlSource, "sums", meanwhile)
    clf = CategoricalClassifier().fit(suffice.sql(home.database, name), "label")
    black = table.column("fur").to_pylist().count("Black")
    assert clf.statistics_.weight.sum() == N + black


# Names, queries and types.

ODD_NAMES = ['we"ird', "sp ace", "select", "a.b", "50%s :x", "Größe", "%(x)s", "label:"]


def test_names_need_no_care(home, preference, rng):
    *features, label = ODD_NAMES
    table = pa.table({**{name: rng.normal(size=N) for name in features}, label: pa.array(["it's", "%s"] * (N // 2))})
    inside = GaussianClassifier("full").fit(table, label)
    for name in ("Order by", "se%lect:x", 'q"uoted', "dotted.name"):
        name = home.load(table, f"{name}, {preference}")
        outside = GaussianClassifier("full").fit(suffice.sql(home.database, name), label)
        same(outside.statistics_, inside.statistics_)
        assert (
            outside.predict(suffice.sql(home.database, (name,))).tolist()
            == inside.predict(table.drop_columns(label)).tolist()
        )


def queries(home, name):
    """Ways to ask for the same rows."""
    schema = {"postgresql": "public", "duckdb": "main", "sqlite": "main"}[home.name]
    table = sa.table(name, sa.column("x"), sa.column("z"), sa.column("label"))
    bound = sa.text(f"SELECT * FROM {name} WHERE x < :most").bindparams(most=1e9)
    return [
        name,
        f"{schema}.{name}",
        (schema, name),
        f"SELECT * FROM {name}",
        f"  select x, z, label\nFROM {name} -- all of it",
        f"SELECT * FROM {name};\n",
        f"-- all of it\n(SELECT * FROM {name})" if home.name != "sqlite" else f"/* all */ SELECT * FROM {name}",
        f"WITH these AS (SELECT * FROM {name}) SELECT * FROM these WHERE '12:30' = '12:30' AND '100%' <> ':x'",
        table,
        sa.table(name, schema=schema),
        sa.select(table).where(table.c.x < 1e9),
        sa.select(table).where(table.c.label.in_(["a", "b"])),
        bound,
    ]


def test_tables_and_queries(home, way, rng):
    table = pa.table({"x": rng.normal(size=N), "z": rng.normal(size=N), "label": ["a", "b", "b"] * (N // 3)})
    inside = GaussianClassifier().fit(table, "label").statistics_
    for query in queries(home, home.load(table)):
        same(GaussianClassifier().fit(suffice.sql(home.database, query), "label").statistics_, inside)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("CAST(1.5 AS NUMERIC(10, 2))", 1.5),
        ("CAST(NULL AS INTEGER)", None),
        ("CAST(7 AS SMALLINT)", 7),
        ("CAST('x' AS VARCHAR(5))", "x"),
        ("COUNT(*)", 3),
        ("SUM(n)", 6),
        ("AVG(n)", 2.0),
    ],
)
def test_values_of_all_types(home, given, read):
    name = home.load(pa.table({"n": [1, 2, 3]}))
    (column,) = as_source(suffice.sql(home.database, f"SELECT {given} AS c FROM {name}")).head(1).columns()
    assert column.values.to_pylist() == [read]
    assert column.kind in ("float", "integer", "text")


def test_types_that_are_no_columns_of_a_model_can_be_dropped(home, rng):
    name = home.load(pa.table({"x": rng.normal(size=N), "label": np.arange(N) % 2}))
    odd = {
        "postgresql": "CAST('2026-11-16' AS DATE) AS d, CAST('{1}' AS INTEGER[]) AS l, 'b'::bytea AS b",
        "duckdb": "DATE '2026-11-16' AS d, [1] AS l, 'b'::BLOB AS b",
        "sqlite": "x'00ff' AS d, x'00ff' AS l, x'00ff' AS b",
    }[home.name]
    source = suffice.sql(home.database, f"SELECT x, label, {odd} FROM {name}")
    with pytest.raises(DataError, match=r"column .*'l', 'b' holds neither numbers nor categories"):
        MixedClassifier().fit(source, "label")
    clf = MixedClassifier(dict.fromkeys("dlb", "drop")).fit(source, "label")
    assert clf.predict(source).shape == (N,)


def test_enumerations_and_decimals_of_postgresql(postgresql_uri):
    home = Home("postgresql", postgresql_uri)
    home.run("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    home.run(
        "CREATE TABLE moods AS SELECT (i % 3)::numeric / 2 AS x, (ARRAY['sad', 'glad']::mood[])[1 + i % 2] AS m "
        "FROM generate_series(1, 60) AS s(i)"
    )
    clf = MixedClassifier({"x": "categorical"}).fit(suffice.sql(postgresql_uri, "moods"), "m")
    assert clf.classes_.tolist() == ["glad", "sad"]
    assert clf.statistics_.parts["categorical"].categories[0].tolist() == [0.0, 0.5, 1.0]


def test_columns_of_sqlite_are_of_the_types_of_their_first_rows(tmp_path, monkeypatch, preference):
    monkeypatch.setattr(databases, "_LOOK", 4)
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'typeless.db'}", poolclass=sa.NullPool)
    home = Home("sqlite", engine)
    home.run("CREATE TABLE t (x, y, label)")
    home.run("INSERT INTO t VALUES (?, ?, ?)", [(1, 2.5, "a"), (2, None, "b"), (3, 1, "a"), (4, 1, "b"), (5, 2, "a")])
    table = pa.table({"x": [1, 2, 3, 4, 5], "y": [2.5, None, 1, 1, 2], "label": list("ababa")})
    agrees(MixedClassifier(), suffice.sql(engine, "t"), table)
    home.run("INSERT INTO t VALUES (?, ?, ?)", [("n/a", 1, "a")])
    for clf in (GaussianClassifier("diag"), PoissonClassifier(), CategoricalClassifier()):
        with pytest.raises(DataError, match="column 'x' holds 'n/a', but is int64 in its first rows"):
            clf.fit(suffice.sql(engine, "t", ["x"]), "label")


@pytest.mark.parametrize("place", ["x", "label", "weight"])
@pytest.mark.parametrize(("declared", "later"), [("INTEGER", "oops"), ("", 0.5), ("BOOLEAN", "false"), ("BOOLEAN", 5)])
def test_cells_that_do_not_fit_their_column_are_refused(tmp_path, monkeypatch, preference, declared, later, place):
    monkeypatch.setattr(databases, "_LOOK", 4)
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'typeless.db'}", poolclass=sa.NullPool)
    home = Home("sqlite", engine)
    types = {"x": "INTEGER", "label": "INTEGER", "weight": "INTEGER", place: declared}
    home.run(f"CREATE TABLE t ({', '.join(' '.join(column) for column in types.items())})")
    home.run("INSERT INTO t VALUES (?, ?, ?)", [(0, 1, 1), (1, 0, 1), (0, 0, 1), (1, 1, 1)])
    models = [GaussianClassifier("diag"), BernoulliClassifier(), MixedClassifier("bernoulli"), PoissonClassifier()]
    for model in models:
        assert model.fit(suffice.sql(engine, "t"), "label", "weight").statistics_.weight.tolist() == [2, 2]
    row = {"x": 1, "label": 1, "weight": 1, place: later}
    home.run("INSERT INTO t VALUES (?, ?, ?)", [tuple(row.values())])
    for model in models:
        with pytest.raises(DataError, match=f"column '{place}' holds {later!r}, but is "):
            model.fit(suffice.sql(engine, "t"), "label", "weight")


def test_letters_are_told_apart_whatever_the_collation(tmp_path, preference):
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'collated.db'}", poolclass=sa.NullPool)
    home = Home("sqlite", engine)
    home.run("CREATE TABLE t (fur TEXT COLLATE NOCASE, label TEXT COLLATE NOCASE)")
    home.run("INSERT INTO t VALUES (?, ?)", [("black", "a"), ("Black", "A"), ("black", "A")])
    clf = CategoricalClassifier().fit(suffice.sql(engine, "t"), "label")
    assert clf.classes_.tolist() == ["A", "a"]
    assert clf.categories_[0].tolist() == ["Black", "black"]


# Scoring, and what needs all rows.


@pytest.mark.parametrize("call", ["predict", "predict_proba", "log_likelihood", "score_samples", "explain"])
def test_rows_are_scored_in_their_order(home, monkeypatch, call, rng):
    monkeypatch.setattr(base, "CELLS", 64)  # rows come in many pieces
    table = rows(rng).drop_columns("weight")
    clf = MixedClassifier().fit(table, "label")
    inside = getattr(clf, call)(table.drop_columns("label"))
    outside = getattr(clf, call)(home.sql(table))  # of which the labels are no column of the model
    np.testing.assert_array_equal(outside, inside)


def test_queries_keep_their_order(home, rng):
    name = home.load(pa.table({"x": rng.permutation(N).astype(float)}))
    source = as_source(suffice.sql(home.database, f"SELECT x FROM {name} ORDER BY x DESC"))
    assert source.reduce(lambda batch: batch.X[:, 0].tolist(), operator.add) == list(range(N - 1, -1, -1))


def test_what_needs_all_rows_reads_them(home, rng):
    table = rows(rng).select([*NUMBERS, "label"])
    source, features = home.sql(table), table.select(NUMBERS)
    outside, inside = (LogisticClassifier().fit(X, "label") for X in (source, table))
    np.testing.assert_allclose(outside.model_.slope, inside.model_.slope, rtol=1e-9)
    assert outside.score(source, "label") == inside.score(features, table.column("label").to_pylist())
    np.testing.assert_allclose(PCA(2).fit(source, "label").transform(source), PCA(2).fit(features).transform(features))
    held_out = (GaussianClassifier().leave_one_out(X, "label") for X in (source, table))
    np.testing.assert_allclose(*held_out, rtol=1e-9)
    assert suffice.fit(source, "label").classes_.tolist() == ["ham", "spam"]


# Streaming and planning.


def test_rows_are_not_held(home, monkeypatch, rng):
    """There are never more pieces than two for each thread."""
    monkeypatch.setattr(base, "CELLS", 64)
    prefer(monkeypatch, False)
    made = done = 0
    tables = SqlSource._tables

    def counted(self, *args):
        nonlocal made
        for table in tables(self, *args):
            made += 1
            assert len(table) <= 2048  # DuckDB does not cut finer
            yield table

    def work(batch):
        nonlocal done
        assert made - done <= 4
        done += 1
        return len(batch)

    monkeypatch.setattr(SqlSource, "_tables", counted)
    source = as_source(home.sql(pa.table({f"x{j}": rng.normal(size=5000) for j in range(4)})), n_jobs=2)
    assert source.reduce(work, operator.add) == 5000
    assert made >= 3


def test_postgresql_keeps_the_rest_of_the_rows(postgresql_uri, monkeypatch, rng):
    monkeypatch.setattr(databases, "_FETCHED", 100)
    sizes = []
    fetch = psycopg.ServerCursor.fetchmany
    monkeypatch.setattr(psycopg.ServerCursor, "fetchmany", lambda self, n: sizes.append(n) or fetch(self, n))
    source = as_source(Home("postgresql", postgresql_uri).sql(pa.table({"x": rng.normal(size=N)})))
    assert source.reduce(len, operator.add) == N
    assert sizes == [100] * 10


def test_engines_that_commit_by_themselves_stream_too(postgresql_uri, rng):
    table = rows(rng).select([*NUMBERS, "label"])
    name = Home("postgresql", postgresql_uri).load(table)
    url = postgresql_uri.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    clf = GaussianClassifier("full", "ledoit_wolf").fit(suffice.sql(engine, name), "label")
    assert clf.statistics_.total == N


def test_other_drivers_and_databases_stream_through_sqlalchemy(postgresql_uri, monkeypatch, rng):
    table = rows(rng).select([*EVERYTHING, "label"])
    home = Home("postgresql", postgresql_uri)
    monkeypatch.setattr(connecting, "_KNOWN", {})
    source = home.sql(table)
    assert type(source.database) is databases.Database
    with pytest.raises(DatabaseError, match='relation "nothing" does not exist'):
        as_source(suffice.sql(postgresql_uri, "nothing"))
    agrees(MixedClassifier(), source, table)


@pytest.mark.parametrize(
    ("home", "model", "columns", "sums"),
    [
        ("duckdb", GaussianClassifier("diag"), 32, True),
        ("duckdb", GaussianClassifier("full"), 32, False),
        ("duckdb", CategoricalClassifier(), 4, True),
        ("postgresql", GaussianClassifier("diag"), 32, True),
        ("postgresql", GaussianClassifier("diag"), 600, False),  # a result has 1664 columns at most
        ("postgresql", GaussianClassifier("full"), 16, True),
        ("postgresql", GaussianClassifier("full"), 32, False),
        ("postgresql", CategoricalClassifier(), 4, True),
        ("sqlite", GaussianClassifier("diag"), 32, True),
        ("sqlite", BernoulliClassifier(), 32, True),
    ],
    indirect=["home"],
)
def test_the_faster_way_is_taken(home, model, columns, sums, monkeypatch, rng):
    asked, given = [], SqlSource.sums
    monkeypatch.setattr(SqlSource, "sums", lambda self, *args: asked.append(args) or given(self, *args))
    table = pa.table({**{f"x{j}": rng.integers(2, size=40) for j in range(columns)}, "label": np.arange(40) % 2})
    agrees(model, home.sql(table), table)
    assert bool(asked) == sums


# Databases.


def test_files_and_engines_of_duckdb(tmp_path, way, rng):
    table = rows(rng).select([*NUMBERS, "label"])
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(path) as connection:
        Home("duckdb", connection).load(table, "visits")
    inside = GaussianClassifier().fit(table, "label").statistics_
    engine = sa.create_engine(f"duckdb:///{path}", poolclass=sa.NullPool)
    for database in (f"duckdb:///{path}", sa.make_url(f"duckdb:///{path}"), engine):
        same(GaussianClassifier().fit(suffice.sql(database, "visits"), "label").statistics_, inside)


def test_a_transaction_of_duckdb_goes_on(rng):
    table = rows(rng).select([*NUMBERS, "label"])
    with duckdb.connect() as connection:
        connection.execute("BEGIN")
        name = Home("duckdb", connection).load(table)
        GaussianClassifier().fit(suffice.sql(connection, name), "label")
        connection.execute("COMMIT")
        assert connection.execute(f"SELECT count(*) FROM {name}").fetchall() == [(N,)]


def test_what_is_read_is_let_go_after_an_error(home, monkeypatch, rng):
    monkeypatch.setattr(base, "CELLS", 64)
    source = as_source(home.sql(pa.table({"x": rng.normal(size=5000)})))

    def fail(batch):
        raise KeyError("here")

    with pytest.raises(KeyError):
        source.reduce(fail, operator.add)
    assert source.reduce(len, operator.add) == 5000


def test_labels_are_needed_for_classes(home, preference, rng):
    source = as_source(home.sql(rows(rng), NUMBERS))
    with pytest.raises(DataError, match="labels are needed"):
        collect(source, CollectMoments())
    assert PCA(2).fit(home.sql(rows(rng), NUMBERS)).statistics_.weight.tolist() == [N]


# Errors.


@pytest.mark.parametrize(
    ("query", "y", "message"),
    [
        ("nothing", "label", "there is no table 'nothing' in .*; it has '"),
        (("nowhere", "visits"), "label", "there is no table"),
        ("SELECT nothing FROM visits", "label", "refuses the query; check it: .*nothing"),
        ("SELECT FROM WHERE", "label", "refuses the query"),
        ("visits", "class", "no column 'class' to take the labels from; the columns are 'x', 'label'"),
        ("visits", [0, 1], "the labels of a query are one of its columns: pass its name, not list"),
        ("SELECT label FROM visits", "label", "0 feature"),
        (3, "label", "query=3 is neither the name of a table"),
        ("", "label", "query='' is neither the name of a table"),
    ],
)
def test_errors_say_what_is_wrong(home, query, y, message):
    if not getattr(home, "has_visits", False):
        home.load(pa.table({"x": [1.0, 2.0], "label": [0, 1]}), "visits")
        home.has_visits = True
    with pytest.raises(DataError, match=message) as error:
        GaussianClassifier().fit(suffice.sql(home.database, query), y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("database", "message"),
    [
        ("visits.db", "must be a URL"),
        (3, "must be a URL.* not int"),
        ("oracle+nothing://me:secret@host/name", "has no dialect 'oracle.nothing'"),
        ("mysql+pymysql://me:secret@host/name", r"the driver of 'mysql\+pymysql' is not installed .*pip install"),
        (
            "postgresql://me:secret@127.0.0.1:1/name",
            r"//me:\*\*\*@127.0.0.1:1/name cannot be reached",
        ),
        ("postgresql://me:se@cret@host/secret", "quote the user and the password"),
        ("postgresql://me:secret@secret:secret@host/name", "quote the user and the password"),
        ("postgresql://me:a@secret/secret@host/name", "quote the user and the password"),
        ("postgresql://me@127.0.0.1:1/name?password=secret", "//me@127.0.0.1:1/name cannot be reached"),
        ("sqlite:////no/such/file.db", "there is no file '/no/such/file.db'"),
        ("duckdb:///no-such.duckdb", "there is no file 'no-such.duckdb'"),
    ],
)
def test_databases_that_are_not_there(database, message):
    with pytest.raises(DatabaseError, match=message) as error:
        GaussianClassifier().fit(suffice.sql(database, "SELECT 1 AS x, 2 AS label"), "label")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host/name", "postgresql+psycopg://me:***@host/name"),
        ("postgresql://me@host/name?password=secret", "postgresql+psycopg://me@host/name"),
        ("duckdb://?motherduck_token=secret", "duckdb://"),
    ],
)
def test_passwords_are_not_shown(url, shown):
    assert repr(suffice.sql(url, "visits")) == f"suffice.sql({shown!r}, 'visits')"


@pytest.mark.parametrize("scheme", ["postgresql", "PostgreSQL", "redshift+psycopg2", "cockroachdb", "clickhouse"])
def test_urls_of_databases_are_no_paths(scheme):
    for X in (f"{scheme}://me:secret@host/name", [f"{scheme}://me:secret@host/name.csv"]):
        with pytest.raises(DataError, match=r"suffice\.sql\(url") as error:
            GaussianClassifier().fit(X, "label")
        assert "secret" not in str(error.value)


def test_a_driver_of_postgresql_is_asked_for(monkeypatch):
    for driver in ("psycopg", "psycopg2"):
        monkeypatch.setitem(sys.modules, driver, None)
    monkeypatch.setattr(connecting, "find_spec", lambda name: None)
    for url in ("postgresql://me:secret@host/name", "postgres://me:secret@host/name"):
        with pytest.raises(DatabaseError, match=r"pip install suffice\[postgresql\]") as error:
            suffice.sql(url, "visits")
        assert "secret" not in str(error.value)


def test_tables_that_are_there_fail_in_the_words_of_the_database(home):
    name = home.load(pa.table({"x": [1.0, 2.0], "label": [0, 1]}))
    home.run(f"CREATE VIEW broken_{name} AS SELECT 1 / CAST(x AS INTEGER) AS z, label FROM {name}")
    if home.name == "postgresql":  # which drops the view with the table
        home.run("DO $$ BEGIN CREATE ROLE poor LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
        url, message = home.database.replace("//postgres:", "//poor:"), "permission denied for view"
    else:
        home.run(f"DROP TABLE {name}")
        url, message = home.database, name
    for query in (f"broken_{name}", f"{'public' if home.name == 'postgresql' else 'main'}.broken_{name}"):
        with pytest.raises(DatabaseError, match=f"refuses the query; check it: .*{message}") as error:
            as_source(suffice.sql(url, query))
        assert error.value.__cause__ is not None
    home.run(f"DROP VIEW broken_{name}")


def test_only_what_rows_can_mend_is_left_to_rows(home, monkeypatch, rng):
    prefer(monkeypatch, True)
    source = as_source(home.sql(pa.table({"x": rng.normal(size=N), "label": np.arange(N) % 2})), "label")
    monkeypatch.setattr(SqlSource, "sums", lambda self, *args: self.database.fetch(sa.text("SELECT nothing")))
    with pytest.raises(DatabaseError, match=r"refuses the query; check it: .*nothing"):
        collect(source, CollectMoments())


@pytest.mark.parametrize("column", ["label", "weight"])
def test_labels_and_weights_of_other_types_are_left_to_rows(home, monkeypatch, column, rng):
    name = home.load(pa.table({"x": rng.normal(size=N), "y": np.arange(N) % 2}))
    odd = "x'00'" if home.name == "sqlite" else "DATE '2026-11-16'"
    other = "weight" if column == "label" else "label"
    query = f"SELECT x, y AS {other}, {odd} AS {column} FROM {name}"
    outcomes = []
    for sums in (False, True):
        prefer(monkeypatch, sums)
        try:
            clf = GaussianClassifier().fit(suffice.sql(home.database, query), "label", "weight")
            outcomes.append(clf.statistics_.weight.tolist())
        except DataError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


class Shouted(sa.TypeDecorator):
    """Text that is in capitals in the database."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return value.upper()


def test_parameters_are_of_the_types_of_the_database(home, way, rng):
    fur = rng.choice(["BLACK", "WHITE", "RED"], N)
    table = pa.table({"x": rng.normal(size=N), "label": (np.arange(N) % 2).tolist(), "fur": fur.tolist()})
    name = home.load(table)
    column = sa.table(name, sa.column("x"), sa.column("label"), sa.column("fur", Shouted())).c
    for chosen, condition in (
        (["RED"], column.fur == "red"),
        (["RED", "BLACK"], column.fur.in_(["red", "black"])),
        (["WHITE"], column.fur == sa.bindparam("odd: name%", "white", Shouted())),
    ):
        inside = table.filter(np.isin(fur, chosen)).select(["x", "label"])
        agrees(
            GaussianClassifier(), suffice.sql(home.database, sa.select(column.x, column.label).where(condition)), inside
        )


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_the_file_of_a_database_is_not_written_over(tmp_path, kind):
    path = tmp_path / "rows.db"
    engine = sa.create_engine(f"{kind}:///{path}", poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x INTEGER, label INTEGER)")
        connection.exec_driver_sql("INSERT INTO t VALUES (1, 0), (2, 1), (3, 0), (4, 1)")
    other = tmp_path / "other.db"
    other.touch()
    clf = GaussianClassifier("diag")
    for database in (engine, f"{kind}:///{path}"):
        source = suffice.sql(database, "t")
        assert as_source(source).reads(path)
        assert not as_source(source).reads(other)
        assert not as_source(source).reads(tmp_path / "none.db")
        with pytest.raises(DataError, match="rows"):
            clf.fit(source, "label").to_parquet(source, path)


def test_a_connection_of_duckdb_reads_its_files(tmp_path):
    with duckdb.connect(tmp_path / "own.db") as connection:
        connection.execute(f"ATTACH '{tmp_path / 'more.db'}' AS more")
        source = as_source(suffice.sql(connection, "SELECT 1 AS x"))
        assert source.reads(tmp_path / "own.db")
        assert source.reads(tmp_path / "more.db")


def test_columns_are_a_list_of_names():
    with pytest.raises(DataError, match="columns='x' must be a list of names"):
        suffice.sql("sqlite://", "visits", "x")
    with duckdb.connect() as connection:
        rows = "SELECT i AS x, i % 2 AS label, 1 AS z FROM range(9) r(i)"
        with pytest.raises(DataError, match="X has no column 'a'; its columns are 'x', 'label', 'z'"):
            GaussianClassifier().fit(suffice.sql(connection, rows, ["a"]), "label")
        clf = GaussianClassifier().fit(suffice.sql(connection, rows, ["x", "label"]), "label")
        assert clf.feature_names_in_.tolist() == ["x"]


def test_sqlalchemy_is_asked_for():
    code = """
import sys
sys.modules["sqlalchemy"] = None
import suffice
try:
    suffice.sql("sqlite://", "visits")
except suffice.errors.DatabaseError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("suffice.sql needs SQLAlchemy: pip install suffice[sql]")


def test_decimals_of_other_databases_are_numbers():
    field = pa.field("x", pa.float64())
    assert arrow_array(field, [decimal.Decimal("1.5"), None, 2**60]).to_pylist() == [1.5, None, 2.0**60]


@pytest.mark.parametrize(
    ("kind", "values", "bad"),
    [
        (pa.int64(), [1, 0.5], "0.5"),
        (pa.int64(), [2**60 + 1, None, 2.0, decimal.Decimal("0.5")], "Decimal('0.5')"),
        (pa.int64(), [1, "2"], "'2'"),
        (pa.bool_(), [0, 1, "false"], "'false'"),
        (pa.bool_(), [True, None, 5], "5"),
    ],
)
def test_values_are_not_bent(kind, values, bad):
    with pytest.raises(DataError) as error:
        arrow_array(pa.field("x", kind), values)
    assert str(error.value).startswith(f"column 'x' holds {bad}, but is ")
    *fine, _ = values
    assert arrow_array(pa.field("x", kind), fine).to_pylist() == fine
