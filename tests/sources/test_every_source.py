"""One table, wherever it lies: the same classes, counts, means and scatters."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from suffice import MixtureModel, plots
from suffice.errors import DataError, MissingLabelsError
from tests.sources.samples import EVERYWHERE, MODELS, as_dask, as_spark, parts_of, rows, same_statistics

pytestmark = pytest.mark.xdist_group("clusters")


def files(write, suffix):
    """A file for each part of the table, those without rows included."""

    def written(table, directory):
        for i, part in enumerate(parts_of(table)):
            write(part, directory / f"{i}.{suffix}")
        return str(directory)

    return written


def write_arrow(table, path):
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


HERE = {
    "numpy": lambda table, _: np.column_stack(table.columns),
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(table),
    "arrow": lambda table, _: table,
    "parquet": files(pq.write_table, "parquet"),
    "feather": files(write_arrow, "arrow"),
    "csv": files(csv.write_csv, "csv"),
}
DATABASES = ["postgresql", "duckdb", "sqlite"]


@pytest.fixture(params=[*HERE, "dask", "spark", *DATABASES])
def place(request, tmp_path_factory):
    """Where a table may lie, and how to put it there."""
    name = request.param
    if name in HERE:
        return name, lambda table: HERE[name](table, tmp_path_factory.mktemp(name))
    if name == "dask":
        request.getfixturevalue("dask_client")
        return name, as_dask
    if name == "spark":
        session = request.getfixturevalue("spark_session")
        return name, lambda table: as_spark(session, table)
    return name, request.getfixturevalue("homes")[name].sql


def fitted(model, place, columns, weight=None, table=None):
    name, put = place
    table = rows() if table is None else table
    if name != "numpy":
        return model.fit(put(table.select([*columns, "label", *([weight] if weight else [])])), "label", weight)
    return model.fit(put(table.select(columns)), table["label"].to_numpy(), weight and table[weight].to_numpy())


@pytest.mark.parametrize(("name", "weight"), [*((name, "weight") for name in EVERYWHERE), ("mixed", None)])
def test_every_source_gives_the_same_model(place, name, weight):
    """With missing cells, weights of zero, text as labels, a class that only one part has, and parts without rows."""
    if place[0] == "numpy":  # an array is of one type
        name = {"mixed": "diag", "categorical": "pca"}.get(name, name)
    elif place[0] == "spark":  # which sums mixed tables by itself in test_clusters.py
        name = {"mixed": "poisson"}.get(name, name)
    model, columns = MODELS[name]
    expected = fitted(model, ("arrow", lambda table: table), columns, weight).statistics_
    digits = 1e-8 if place[0] in DATABASES else 1e-10
    found = fitted(model, place, columns, weight).statistics_
    assert found.weight.tolist() == expected.weight.tolist()
    same_statistics(found, expected, digits, summed=place[0] == "spark")


def test_every_source_counts_missing_labels(place):
    table = rows()
    label = [None if i % 100 == 7 else each for i, each in enumerate(table["label"].to_pylist())]
    table = table.set_column(table.schema.get_field_index("label"), "label", pa.array(label))
    model, columns = MODELS["diag"]
    with pytest.raises(MissingLabelsError, match="9"):
        fitted(model, place, columns, table=table)


def test_every_source_has_the_same_missing_cells(place):
    name, put = place
    columns = ["length", "gap", *([] if name == "numpy" else ["wild", "fur"])]  # an array is of one type
    table = rows().select(columns)
    display = plots.MissingnessDisplay.from_data(put(table))
    missing, counts = np.unique(table.to_pandas().isna().to_numpy(), axis=0, return_counts=True)
    order = np.argsort(-counts)
    assert len(set(counts)) == len(counts) == (2 if name == "numpy" else 4)
    np.testing.assert_array_equal(display.patterns, missing[order])
    np.testing.assert_array_equal(display.counts, counts[order])


def test_every_source_refuses_a_table_without_rows(place):
    model, columns = MODELS["diag"]
    with pytest.raises(DataError, match=r"0 sample|no row"):
        fitted(model, place, columns, table=rows().slice(0, 0))


def groups():
    """Three groups of rows, far apart, with weights, text and missing cells."""
    rng = np.random.default_rng(1)
    group = rng.integers(3, size=300)
    fur = np.array(["black", "white", "calico"], object)[np.where(rng.random(300) < 0.8, group, 0)]
    return pa.table(
        {
            "a": 20.0 * group + rng.normal(size=300),
            "b": pa.array(rng.normal(size=300) - 15.0 * (group == 1), mask=rng.random(300) < 0.1),
            "fur": pa.array(fur.tolist(), mask=rng.random(300) < 0.1),
            "weight": rng.choice([0.0, 1.0, 2.0], 300),
        }
    )


def test_every_source_gives_the_same_mixture(place):
    model = MixtureModel(3, "diag", tol=1e-12, random_state=0)
    name, put = place
    table, weight = groups(), "weight"
    if name == "numpy":  # an array is of one type
        table, weight = table.select(["a", "b"]), table["weight"].to_numpy()
    expected = _in_order(clone(model).fit(table, sample_weight=weight))
    found = _in_order(clone(model).fit(put(table), sample_weight=weight))
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-8)


def _in_order(model):
    """Weights, means and variances, with the components in the order of their means."""
    gaussian = model.parameters_["gaussian"]
    order = np.argsort(gaussian["means"][:, 0])
    return model.weights_[order], gaussian["means"][order], gaussian["covariances"][order]
