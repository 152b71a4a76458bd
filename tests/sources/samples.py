"""The rows that all sources hold in these tests, and ways to put them there."""

from itertools import count, pairwise

import dask.dataframe as dd
import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql as identifiers

import suffice
from suffice import (
    LDA,
    PCA,
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    MixedClassifier,
    MultinomialClassifier,
    PoissonClassifier,
)

N = 900
NUMBERS = ["length", "width", "events"]
CUTS = [0, 0, 130, 200, 200, 640, 870, N]  # two parts are empty; the class "rare" is in the last alone


def rows():
    """Numbers, some missing, counts, truths and text; all rows of one part have weight zero."""
    rng = np.random.default_rng(0)
    label = rng.choice(["ham", "spam"], N).astype(object)
    label[-30:] = "rare"
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], N)
    weight[130:200] = 0.0
    return pa.table(
        {
            "length": rng.normal(1e3, 1, N) + (label == "spam"),
            "width": rng.normal(size=N),
            "gap": pa.array(rng.normal(size=N), mask=rng.random(N) < 0.2),
            "events": rng.poisson(3, N),
            "wild": rng.random(N) < 0.3,
            "fur": pa.array(rng.choice(["black", "white", "三毛"], N).tolist(), mask=rng.random(N) < 0.1),
            "weight": weight,
            "label": pa.array(label.tolist()),
        }
    )


MODELS = {
    "mixed": (MixedClassifier(), ["length", "width", "gap", "events", "wild", "fur"]),
    "diag": (GaussianClassifier("diag"), NUMBERS),
    "full": (GaussianClassifier("full"), NUMBERS),
    "quartic": (GaussianClassifier("full", "ledoit_wolf"), NUMBERS),
    "pca": (PCA(2), NUMBERS),
    "lda": (LDA(), NUMBERS),
    "bernoulli": (BernoulliClassifier(), ["wild"]),
    "poisson": (PoissonClassifier(), ["events"]),
    "multinomial": (MultinomialClassifier(), ["events", "wild"]),
    "categorical": (CategoricalClassifier(), ["fur", "events"]),
    "tree": (CategoricalClassifier(structure="tree"), ["fur", "events", "wild"]),
}

EVERYWHERE = ["mixed", "full", "lda", "categorical"]  # models that every source is tested with


def parts_of(table):
    return [table.slice(start, stop - start) for start, stop in pairwise(CUTS)]


def as_dask(table):
    frames = [part.to_pandas() for part in parts_of(table)]
    return dd.from_map(lambda i: frames[i], range(len(frames)), meta=table.to_pandas().iloc[:0])


def as_spark(session, table):
    """As many partitions as there are parts, in their order."""
    blobs = [part.to_pandas().to_dict("list") for part in parts_of(table)]
    schema = session.createDataFrame(table.slice(0, 1)).schema
    names = table.schema.names

    def rows_of(parts):
        for part in parts:
            columns = (part[name] for name in names)
            yield from zip(*([None if v != v else v for v in column] for column in columns), strict=True)

    frame = session.createDataFrame(session.sparkContext.parallelize(blobs, len(blobs)).mapPartitions(rows_of), schema)
    return frame.localCheckpoint()


TYPES = {  # of Arrow, in the words of each database
    "double": ("DOUBLE PRECISION", "DOUBLE", "REAL"),
    "int64": ("BIGINT", "BIGINT", "INTEGER"),
    "bool": ("BOOLEAN", "BOOLEAN", "BOOLEAN"),
    "string": ("TEXT", "VARCHAR", "TEXT"),
}
_tables = count()


class Home:
    """A database, and a way to put rows into it."""

    def __init__(self, name, database):
        self.name, self.database = name, database

    def load(self, table, name=None):
        """Rows of Arrow as a new table; its name."""
        name = f"rows{next(_tables)}" if name is None else name
        place = ("postgresql", "duckdb", "sqlite").index(self.name)
        columns = [f"{quoted(each.name)} {TYPES[str(each.type)][place]}" for each in table.schema]
        self.run(f"CREATE TABLE {quoted(name)} ({', '.join(columns)})")
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        if self.name == "postgresql":
            copy = identifiers.SQL("COPY {} FROM STDIN").format(identifiers.Identifier(name))
            with psycopg.connect(self.database) as connection, connection.cursor().copy(copy) as into:
                for row in rows:
                    into.write_row(row)
        elif self.name == "duckdb":
            self.database.register("incoming", table)
            self.run(f"INSERT INTO {quoted(name)} SELECT * FROM incoming")
            self.database.unregister("incoming")
        elif rows:
            self.run(f"INSERT INTO {quoted(name)} VALUES ({', '.join('?' * len(columns))})", rows)
        return name

    def run(self, statement, rows=None):
        if self.name == "duckdb":
            self.database.execute(statement)
        elif self.name == "postgresql":
            with psycopg.connect(self.database, autocommit=True) as connection:
                connection.execute(statement)
        else:
            with self.database.begin() as connection:
                connection.exec_driver_sql(statement, rows)

    def sql(self, table, *columns):
        """Rows of Arrow, in this database."""
        return suffice.sql(self.database, self.load(table), *columns)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def same_statistics(one, two, rtol=1e-10, summed=False):
    """Whether two statistics are the same. Engines that sum by themselves leave out the sums of log x!."""
    assert one.classes.tolist() == two.classes.tolist()
    a, b = one.to_arrays(), two.to_arrays()
    b = {key: array for key, array in b.items() if not (summed and key.endswith("log_factorials"))}
    assert a.keys() == b.keys()
    for key in a:
        scale = np.abs(b[key]).max(initial=0)
        np.testing.assert_allclose(a[key], b[key], rtol=rtol, atol=rtol * scale, err_msg=key)
