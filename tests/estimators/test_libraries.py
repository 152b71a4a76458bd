"""Tables of results are in the library of the tables that the user has."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice
from suffice import CategoricalClassifier, GaussianClassifier, MixedClassifier, MixtureClassifier

RNG = np.random.default_rng(0)
Y = np.resize(["m", "f"], 40)
FRAME = pd.DataFrame(
    {"x": RNG.normal(size=40) + (Y == "m"), "z": RNG.normal(size=40), "word": RNG.choice(list("abc"), 40)}
)
LIBRARIES = {pd.DataFrame: lambda frame: frame, pl.DataFrame: pl.from_pandas, pa.Table: pa.Table.from_pandas}
ESTIMATORS = {
    "numbers": (GaussianClassifier(), ["x", "z"]),
    "words": (CategoricalClassifier(), ["word"]),
    "both": (MixedClassifier(), ["x", "word"]),
    "mixture": (MixtureClassifier(n_components=1, random_state=0), ["x", "z"]),
}
each = pytest.mark.parametrize("kind", LIBRARIES, ids=lambda kind: kind.__module__)


@each
@pytest.mark.parametrize("what", ESTIMATORS)
def test_samples_are_in_the_library_of_the_training_table(kind, what):
    model, columns = ESTIMATORS[what]
    table = LIBRARIES[kind](FRAME[columns])
    rows, labels = model.fit(table, Y).sample(6, random_state=0)
    assert isinstance(rows, kind)
    assert list(rows.columns if kind is not pa.Table else rows.column_names) == columns
    expected, same = model.to_model().sample(6, random_state=0)
    assert labels.tolist() == same.tolist()
    found = rows.to_pandas() if kind is not pd.DataFrame else rows
    expected = expected.to_pandas() if isinstance(expected, pa.Table) else pd.DataFrame(expected, columns=columns)
    assert found.to_numpy().tolist() == expected.to_numpy().tolist()
    assert model.predict(rows).shape == (6,)


def test_models_that_stream_and_merge_keep_the_library(tmp_path):
    table = pl.from_pandas(FRAME[["x", "z"]])
    model = GaussianClassifier().partial_fit(table[:20], Y[:20]).partial_fit(table[20:].to_pandas(), Y[20:])
    assert isinstance(model.sample(2)[0], pl.DataFrame)
    assert isinstance((model + model).sample(2)[0], pl.DataFrame)
    assert isinstance(model.fit(table.to_numpy(), Y).sample(2)[0], np.ndarray)
    model.fit(table, Y).save(tmp_path / "model")
    assert isinstance(suffice.load(tmp_path / "model").sample(2)[0], np.ndarray)


def test_missing_categories_and_whole_numbers_keep_their_types():
    table = pl.DataFrame({"word": ["a", "b", None, "a"], "count": [1, 2, 3, 5]})
    rows, _ = CategoricalClassifier().fit(table, [0, 0, 1, 1]).sample(5, random_state=0)
    assert rows.schema == {"word": pl.String, "count": pl.Int64}


@each
def test_tidy_explanations_are_in_the_library_of_the_rows(kind):
    model = MixedClassifier().fit(FRAME, Y)
    expected = model.explain(pa.Table.from_pandas(FRAME[:3]), tidy=True)
    found = model.explain(LIBRARIES[kind](FRAME[:3]), tidy=True)
    assert isinstance(found, kind)
    as_arrow = {pd.DataFrame: pa.Table.from_pandas, pl.DataFrame: pl.DataFrame.to_arrow, pa.Table: lambda table: table}
    assert as_arrow[kind](found).to_pydict() == expected.to_pydict()


def test_tidy_explanations_of_arrays_are_arrow_tables():
    X = FRAME[["x", "z"]].to_numpy()
    assert isinstance(GaussianClassifier().fit(X, Y).explain(X[:2], tidy=True), pa.Table)


@pytest.mark.parametrize("column", [pd.Series, pl.Series, pa.array, list, lambda rows: np.array(rows, object)])
def test_what_is_said_of_a_column_of_text_is_in_its_library(column):
    model, rows = suffice.MultinomialClassifier().fit(["good film", "bad film"], ["+", "-"]), column(["good", None])
    told = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(column, pa.Table)
    assert isinstance(model.explain(rows, tidy=True), told)
    filled = model.impute(rows, draws=True, random_state=0)
    assert isinstance(filled, type(rows))
    texts = pa.array(filled).to_pylist()
    assert texts[0] == "good"
    assert isinstance(texts[1], str)
    assert pa.array(model.impute(rows)).to_pylist() == ["good", None]
