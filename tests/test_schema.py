"""Which columns go to which family: by their types, and as somebody asks."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_selector

from suffice.errors import DataError
from suffice.schema import FEW, LOOK, Schema
from suffice.sources import as_table

RNG = np.random.default_rng(0)
N = 200
COUNTS = np.concatenate([np.arange(FEW + 1), RNG.poisson(9, N - FEW - 1)])


def schema(table, families="auto"):
    return Schema.of(as_table(table), families, table)


def family(values, **kwargs):
    """The family of one column, and the reason."""
    found = schema(pd.DataFrame({"x": pd.Series(values, **kwargs)}))
    return found.families[0], found.reasons[0]


INFERRED = {
    "floats": (np.linspace(0, 1, N), {}, "gaussian", "float64"),
    "whole floats": (np.zeros(N), {}, "gaussian", "float64"),
    "float32": (np.linspace(0, 1, N), {"dtype": "float32"}, "gaussian", "float32"),
    "booleans": ([True, False], {}, "bernoulli", "bool"),
    "nullable booleans": ([True, None], {"dtype": "boolean"}, "bernoulli", "boolean"),
    "strings": (["a", "b"], {}, "categorical", "str"),
    "categories": (["a", "b"], {"dtype": "category"}, "categorical", "category"),
    "categories of numbers": ([1.5, 2.5], {"dtype": "category"}, "categorical", "category"),
    "zeros and ones": ([0, 1, 1], {}, "bernoulli", "int64, only 0 and 1"),
    "zeros": ([0, 0, 0], {}, "bernoulli", "int64, only 0 and 1"),
    "nullable zeros and ones": ([0, 1, None], {"dtype": "Int8"}, "bernoulli", "Int8, only 0 and 1"),
    "few integers": ([3, 1, 2], {}, "categorical", "int64, 3 different values"),
    "few far integers": ([-(10**9), 0, 10**12], {}, "categorical", "int64, 3 different values"),
    "as many as are few": (range(FEW), {}, "categorical", f"int64, {FEW} different values"),
    "one more": (range(FEW + 1), {}, "poisson", "int64, small and spread like counts"),
    "counts": (COUNTS, {}, "poisson", "int64, small and spread like counts"),
    "unsigned counts": (COUNTS, {"dtype": "uint8"}, "poisson", "uint8, small and spread like counts"),
    "negative": (COUNTS - 1, {}, "gaussian", "int64, negative values"),
    "large": (COUNTS * 100, {}, "gaussian", "int64, large"),
    "wide": (np.arange(N) % 20 * (np.arange(N) % 3 == 0), {}, "gaussian", "int64, spread wider than counts"),
    "identifiers": (np.arange(N) + 10**6, {}, "gaussian", "int64, large"),
    "objects of text": (["a", None], {"dtype": object}, "categorical", "object"),
    "objects of text and numbers": ([1, "a"], {"dtype": object}, "categorical", "object"),
    "objects of floats": ([1.5, None], {"dtype": object}, "gaussian", "object of floats"),
    "objects of floats and integers": ([1.5, 2], {"dtype": object}, "gaussian", "object of floats"),
    "objects of integers": ([0, 1, None], {"dtype": object}, "bernoulli", "object of integers, only 0 and 1"),
    "objects of truths": ([True, None], {"dtype": object}, "bernoulli", "object of booleans"),
    "objects of nothing": ([None, None], {"dtype": object}, "categorical", "object"),
}


@pytest.mark.parametrize(("values", "kwargs", "expected", "reason"), INFERRED.values(), ids=INFERRED)
def test_families_go_by_the_types(values, kwargs, expected, reason):
    assert family(values, **kwargs) == (expected, reason)


def test_integers_are_judged_by_the_first_rows():
    late = np.concatenate([np.zeros(LOOK, int), [-5]])
    assert family(late)[0] == "bernoulli"
    assert family(late[1:])[0] == "categorical"


@pytest.mark.parametrize(
    "build",
    [
        pa.table,
        pl.DataFrame,
        pd.DataFrame,
        lambda columns: pd.DataFrame(columns).convert_dtypes(),
        lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    ],
)
def test_every_library_has_the_same_families(build):
    columns = {
        "float": [0.5, 1.5, 2.25],
        "truth": [True, False, True],
        "text": ["a", "b", "a"],
        "code": [7, 8, 9],
    }
    assert schema(build(columns)).families == ("gaussian", "bernoulli", "categorical", "categorical")


def test_tables_without_names_have_some():
    found = schema(np.array([[0.5, 1.5]]))
    assert found.names == ("x0", "x1")
    assert schema([[0.5, "a", True]]).families == ("gaussian", "categorical", "bernoulli")
    assert schema(np.array([["a", "b"]])).families == ("categorical", "categorical")
    assert schema(np.array([[1, 0]], np.uint8)).families == ("bernoulli", "bernoulli")


FRAME = pd.DataFrame(
    {
        "height": [1.5, 1.7, 1.6],
        "weight": pd.Series([50, 70, 60], dtype="float32"),
        "sex": ["f", "m", "f"],
        "town": pd.Categorical(["Bonn", "Rome", "Bonn"]),
        "visits": [0, 1, 2],
        "smokes": [True, False, True],
        "int64": [5, 6, 7],
    }
)
AUTO = ("gaussian", "gaussian", "categorical", "categorical", "categorical", "bernoulli", "categorical")


def changed(**families):
    return tuple(families.get(name, own) for name, own in zip(FRAME.columns, AUTO, strict=True))


ASKED = {
    "nothing": ({}, AUTO),
    "a name": ({"visits": "poisson"}, changed(visits="poisson")),
    "a position": ({4: "poisson"}, changed(visits="poisson")),
    "a position of NumPy": ({np.int64(4): "poisson"}, changed(visits="poisson")),
    "a position from the end": ({-1: "gaussian"}, changed(int64="gaussian")),
    "drop": ({"sex": "drop"}, changed(sex="drop")),
    "a name that is a dtype, too": ({"int64": "drop"}, changed(int64="drop")),
    "int": ({int: "poisson"}, changed(visits="poisson", int64="poisson")),
    "integer": ({"integer": "poisson"}, changed(visits="poisson", int64="poisson")),
    "NumPy's int64": ({np.int64: "poisson"}, changed(visits="poisson", int64="poisson")),
    "a dtype of NumPy": ({np.dtype("float32"): "drop"}, changed(weight="drop")),
    "a dtype by name": ({"float32": "drop"}, changed(weight="drop")),
    "float": ({float: "drop"}, changed(height="drop", weight="drop")),
    "boolean": ({"boolean": "categorical"}, changed(smokes="categorical")),
    "bool": ({bool: "categorical"}, changed(smokes="categorical")),
    "bool by name": ({"bool": "categorical"}, changed(smokes="categorical")),
    "text": ({str: "drop"}, changed(sex="drop", town="drop")),
    "category": ({"category": "drop"}, changed(town="drop")),
    "a selector": (
        {make_column_selector(dtype_include="number"): "gaussian"},
        changed(visits="gaussian", int64="gaussian"),
    ),
    "a selector by pattern": ({make_column_selector(pattern="^s"): "drop"}, changed(sex="drop", smokes="drop")),
    "a selector of one name": ({lambda frame: "sex": "drop"}, changed(sex="drop")),
    "a selector of an index": ({lambda frame: frame.columns[:2]: "drop"}, changed(height="drop", weight="drop")),
    "a selector by a mask": ({lambda frame: frame.columns == "town": "drop"}, changed(town="drop")),
    "a selector of nothing": ({lambda frame: []: "drop"}, AUTO),
    "a name before a selector before a type": (
        {"visits": "poisson", make_column_selector(pattern="visits|int64"): "gaussian", int: "drop"},
        changed(visits="poisson", int64="gaussian"),
    ),
    "in any order": (
        {int: "drop", make_column_selector(pattern="visits|int64"): "gaussian", "visits": "poisson"},
        changed(visits="poisson", int64="gaussian"),
    ),
    "auto": ("auto", AUTO),
    "one for all": ("categorical", ("categorical",) * 7),
    "a kind that no column has": ({"town": "drop", bool: "bernoulli"}, changed(town="drop")),
}


@pytest.mark.parametrize(("families", "expected"), ASKED.values(), ids=ASKED)
def test_families_may_be_asked_for(families, expected):
    found = schema(FRAME, families)
    assert found.families == expected
    for own, auto, reason in zip(found.families, AUTO, found.reasons, strict=True):
        assert own == auto or reason.startswith("asked for")


def test_a_selector_of_columns_whose_names_are_numbers():
    frame = pd.DataFrame({10: [1.5, 2.5], 20: ["a", "b"]})
    assert schema(frame, {make_column_selector(dtype_include="number"): "drop"}).families == ("drop", "categorical")


BAD = {
    "a family": ({"sex": "oracle"}, "family 'oracle' is not known; choose one of 'bernoulli', 'categorical'"),
    "a list for a family": ({"sex": ["gaussian"]}, "not known"),
    "one for all": ("oracle", "'oracle' is not known"),
    "a column": ({"hight": "gaussian"}, r"'hight', which is neither a column nor a type here; .*'height', 'weight'"),
    "a position": ({7: "gaussian"}, "names 7, which"),
    "a truth": ({True: "gaussian"}, "names True"),
    "a type": ({dict: "gaussian"}, "neither a column nor a type"),
    "a selector's column": ({lambda frame: ["hight"]: "gaussian"}, "'hight'"),
    "a list": (["gaussian"], "a dictionary of families by column"),
    "None": (None, "a dictionary of families by column"),
    "nothing left": ("drop", "every column is dropped"),
}


@pytest.mark.parametrize(("families", "words"), BAD.values(), ids=BAD)
def test_what_makes_no_sense_is_refused(families, words):
    with pytest.raises(DataError, match=words):
        schema(FRAME, families)


def test_a_column_of_no_family_is_named():
    table = FRAME.assign(born=dt.datetime(2000, 1, 1), died=pd.Timedelta(1))
    with pytest.raises(DataError, match=r"column 'born', 'died' .*datetime64.*families=\{'born': 'drop'\}"):
        schema(table)
    assert schema(table, {"born": "drop", "died": "drop"}).families == (*AUTO, "drop", "drop")


def test_blocks_are_columns_by_family():
    blocks = schema(FRAME, {"visits": "poisson", "sex": "drop"}).blocks()
    assert blocks == {"gaussian": (0, 1), "bernoulli": (5,), "categorical": (3, 6), "poisson": (4,)}


def test_it_prints_as_a_table():
    found = schema(FRAME[["height", "visits"]], {"visits": "poisson"})
    assert str(found) == "column  family    because\nheight  gaussian  float64\nvisits  poisson   asked for"
    assert repr(found) == str(found)
    html = Schema(("<b>",), ("gaussian",), ("a & b",))._repr_html_()
    assert "<td>&lt;b&gt;</td><td>gaussian</td><td>a &amp; b</td>" in html
    assert html.count("<tr>") == 2


def test_whole_floats_with_missing_cells_are_judged_as_integers():
    import pandas as pd
    import polars as pl

    data = {"i": [0, 1, None, 1] * 5, "n": [3, 4, None, 5] * 5, "f": [0.5, 1.0, None, 2.0] * 5}
    for frame in (pd.DataFrame(data), pl.DataFrame(data)):
        assert Schema.of(as_table(frame)).families == ("bernoulli", "categorical", "gaussian")
    assert Schema.of(as_table(pd.DataFrame({"whole": [1.0, 2.0, 3.0]}))).families == ("gaussian",)


def test_a_schema_settles_the_families_of_others():
    import pandas as pd

    frame = pd.DataFrame({"a": range(100), "b": list("xy") * 50})
    schema = Schema.of(as_table(frame))
    assert schema.families == ("gaussian", "categorical")
    assert Schema.of(as_table(frame[:3]), schema).families == schema.families
    assert Schema.of(as_table(frame[:3])).families != schema.families
