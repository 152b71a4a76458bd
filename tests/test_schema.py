"""Which columns go to which family: by their types, and as somebody asks."""

import datetime as dt
import re
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_selector

from suffice.errors import ColumnWarning, DataError
from suffice.schema import DROP, Schema
from suffice.sources import as_table
from suffice.tables.summary import FEW
from suffice.tables.table import LOOK

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
    "zeros": ([0, 0, 0], {}, "categorical", "int64, 1 different value"),
    "ones": ([1, 1, 1], {}, "categorical", "int64, 1 different value"),
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


def test_integers_are_judged_by_all_rows():
    late = np.concatenate([np.arange(LOOK) % 2, [-5]])
    assert family(late)[0] == "categorical"
    assert family(late[:-1])[0] == "bernoulli"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"month": np.repeat(np.arange(12), 2000), "n": np.repeat([0, 1, 40], 8000)})
    assert schema(frame).families == schema(frame.sample(frac=1, random_state=rng)).families
    assert schema(frame).reasons == ("int64, 12 different values", "int64, 3 different values")


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
    assert schema(np.array([[1, 0], [0, 1]], np.uint8)).families == ("bernoulli", "bernoulli")


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
    "a family": ({"sex": "oracle"}, "family 'oracle' is not known; choose one of 'bernoulli', 'text', 'categorical'"),
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
    table = pa.table({"x": [0.5, 1.5], "places": [[1, 2], [3]], "raw": [b"a", b"b"]})
    with pytest.raises(DataError, match=r"column 'places', 'raw' .*list<.*families=\{'places': 'drop'\}"):
        schema(table)
    assert schema(table, {"places": "drop", "raw": "drop"}).families == ("gaussian", "drop", "drop")


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


def test_it_prints_what_columns_are_learnt_as():
    found = schema(FRAME[["height", "sex"]], {"height": "binned"})
    lines = ["column  family       learnt as  because", "height  binned       3 bins     asked for"]
    assert str(found).splitlines()[:2] == lines
    assert "<td>height</td><td>binned</td><td>3 bins</td><td>asked for</td>" in found._repr_html_()
    curve = str(schema(FRAME[["height"]], {"height": "curve"})).splitlines()[1]
    assert curve.split() == ["height", "curve", "number;", "3", "bins", "asked", "for"]


def test_whole_floats_with_missing_cells_are_judged_as_integers():
    import pandas as pd
    import polars as pl

    data = {"i": [0, 1, None, 1] * 5, "n": [3, 4, None, 5] * 5, "f": [0.5, 1.0, None, 2.0] * 5}
    for frame in (pd.DataFrame(data), pl.DataFrame(data)):
        assert Schema.of(as_table(frame)).families == ("bernoulli", "categorical", "gaussian")
    assert Schema.of(as_table(pd.DataFrame({"whole": [1.0, 2.0, 3.0]}))).families == ("gaussian",)


def test_a_schema_settles_the_families_of_others():
    import pandas as pd

    frame = pd.DataFrame({"a": np.arange(100) ** 2, "b": list("xy") * 50})
    schema = Schema.of(as_table(frame))
    assert schema.families == ("gaussian", "categorical")
    assert schema in {Schema.of(as_table(frame))}
    assert Schema.of(as_table(frame[:3]), schema).families == schema.families
    assert Schema.of(as_table(frame[:3])).families != schema.families


# Columns as real tables have them.

WIDE = np.random.default_rng(1).choice(10**7, N, replace=False)
NUMBERS = np.random.default_rng(1).lognormal(7, 1, N)
DAYS = pd.Timestamp("2020-03-01") + pd.to_timedelta(np.arange(N) * 5 % 700, unit="D")

AGES, LIKES = ("old", "new"), ("我喜欢", "我讨厌")
REAL = {
    "thousands": ([f"{x:,.2f}" for x in NUMBERS], "gaussian", "str of numbers"),
    "dollars": ([f"${x:,.2f}" for x in NUMBERS], "gaussian", "str of numbers"),
    "percent": ([f"{x:.2f}%" for x in NUMBERS], "gaussian", "str of numbers"),
    "commas": ([f"{x:.2f}".replace(".", ",") for x in NUMBERS], "gaussian", "str of numbers"),
    "spaces and commas": (
        [f"{x:,.1f}".replace(",", " ").replace(".", ",") for x in NUMBERS],
        "gaussian",
        "str of numbers",
    ),
    "numbers as text": ([str(x) for x in COUNTS], "poisson", "str of numbers, small and spread like counts"),
    "codes": ([f"{x:05.0f}" for x in NUMBERS], "drop", "it has"),
    "phone numbers": ([f"+49 30 {x:.0f}" for x in NUMBERS * 100], "drop", "it has"),
    "few numbers as text": (["1", "2"] * (N // 2), "categorical", "str"),
    "yes and no": (["Yes", "No", "yes", "NO"] * (N // 4), "bernoulli", "str, only No and yes"),
    "true and false": (["true", "false"] * (N // 2), "bernoulli", "str, only false and true"),
    "dates": (DAYS, "date", "datetime64"),
    "dates with a time zone": (DAYS.tz_localize("Europe/Rome"), "date", "datetime64"),
    "days": (DAYS.date, "date", "object"),
    "dates as text": (DAYS.strftime("%Y-%m-%d"), "date", "str of dates"),
    "American dates": (DAYS.strftime("%m/%d/%Y"), "date", "str of dates"),
    "German dates": (DAYS.strftime("%d.%m.%Y"), "date", "str of dates"),
    "durations": (pd.to_timedelta(NUMBERS, unit="s"), "gaussian", "timedelta64[ns] in seconds"),
    "times of the day": ([f"{i % 24}:{i % 60:02}" for i in range(N)], "gaussian", "str of durations in seconds"),
    "durations as text": (pd.to_timedelta(NUMBERS, unit="s").astype(str), "gaussian", "str of durations in seconds"),
    "whole days as pandas writes them": ([f"{i} days" for i in range(N)], "gaussian", "str of durations in seconds"),
    "ISO 8601 durations": ([f"P{i % 3}DT{i}M" for i in range(N)], "gaussian", "str of durations in seconds"),
    "ISO 8601 weeks": ([f"P{i % 70}W" for i in range(N)], "gaussian", "str of durations in seconds"),
    "codes like ISO 8601 days": ([f"P{i % 70:03}D" for i in range(N)], "categorical", "str"),
    "times": ([dt.time(i % 24, i % 60) for i in range(N)], "gaussian", "object in seconds"),
    "constant": ([3] * N, "drop", "all values are the same"),
    "constant number": ([0.5] * N, "drop", "all values are the same"),
    "constant text": (["a"] * N, "drop", "all values are the same"),
    "constant with gaps": ([1.5, None] * (N // 2), "drop", "all values are the same"),
    "nothing": ([None] * N, "drop", "all values are missing"),
    "row numbers": (np.arange(N) + 1, "drop", f"it numbers the rows from 1 to {N}"),
    "row numbers in any order": (np.random.default_rng(0).permutation(N) + 7, "drop", "it numbers the rows from 7"),
    "row numbers with gaps": (np.delete(np.arange(N + 30), np.arange(0, 90, 3)), "drop", "it has 200 different whole"),
    "large differing numbers": (WIDE, "gaussian", "int64, large"),
    "differing floats": (NUMBERS, "gaussian", "float64"),
    "UUIDs": ([str(uuid.UUID(int=i * 7**42)) for i in range(N)], "drop", f"it has {N} different values"),
    "web addresses": ([f"https://www.example.com/shop/item/{i}" for i in range(N)], "drop", f"it has {N} different"),
    "groups of digits": ([f"+49 30 12 34 56 {i:03}" for i in range(N)], "drop", f"it has {N} different values"),
    "parts that all share": ([f"old,red,cheap;large|tag{i} x" for i in range(N)], "drop", f"it has {N} different"),
    "tags": ([f"{AGES[i % 2]},red,cheap;large|tag{i} x" for i in range(N)], "text", f"str, {N} different values of 5"),
    "a kind among numbers": ([f"18.{i:03}.10-{i:02}.40 {AGES[i % 2]}" for i in range(N)], "text", "str, 200"),
    "sentences without blanks": (
        [f"{LIKES[i % 2]}。质量好。很便宜。再买{i}。真快。" for i in range(N)],
        "text",
        "str, 200",
    ),
    "words that differ": ([f"u{i}" for i in range(N)], "drop", f"it has {N} different values in {N} rows"),
}


def beside(values, name="x", rows=slice(None)):
    """A table of a column beside another one."""
    return pd.DataFrame({name: values, "other": np.linspace(0, 1, len(values))}).iloc[rows]


@pytest.mark.parametrize(("values", "expected", "reason"), REAL.values(), ids=REAL)
def test_columns_are_recognised_in_any_order_and_library(values, expected, reason):
    table = beside(values)
    found = schema(table)
    assert found.families == (expected, "gaussian")
    assert found.reasons[0].startswith(reason)
    shuffled = schema(table.sample(frac=1, random_state=0))
    assert (shuffled.families, shuffled.reasons, shuffled.features) == (found.families, found.reasons, found.features)
    for other in (pl.from_pandas(table), pa.Table.from_pandas(table, preserve_index=False)):
        assert schema(other).families == found.families
    assert (DROP in found.families) == bool(found.left_out())


def test_an_identifier_needs_more_than_a_name_or_differing_values():
    assert schema(beside(WIDE, "customer_id")).families[0] == "drop"
    assert schema(beside(WIDE, "Account #")).families[0] == "drop"
    assert schema(beside([f"{i:,}" for i in WIDE], "customer_id")).families[0] == "drop"
    assert schema(beside([f"${i:,}" for i in WIDE], "income")).families[0] == "gaussian"
    assert schema(beside(WIDE % 50, "customer_id")).families[0] == "gaussian"
    assert schema(beside(WIDE, "income")).families[0] == "gaussian"
    assert schema(beside(WIDE[:FEW], "id")).families[0] == "categorical"  # of a few rows, nothing is known
    assert schema(beside(NUMBERS, "id")).families[0] == "gaussian"
    # Rows of an array, of a stream, and a table of nothing else are taken as they are.
    assert schema(np.c_[np.arange(N), NUMBERS]).families == ("gaussian", "gaussian")
    assert Schema.of(as_table(beside(np.arange(N), "id")), leaves_out=False).families[0] == "gaussian"
    assert schema(pd.DataFrame({"id": np.arange(N)})).families == ("gaussian",)
    # In a sample of more rows, what is constant may vary.
    assert Schema.of(as_table(beside([3] * N)), is_sample=True).families[0] == "categorical"


@pytest.mark.parametrize(
    ("values", "keep"),
    [("u{}", "categorical"), ("broken screen {}", "text"), ("https://example.com/{}", "text"), (None, "gaussian")],
)
def test_the_family_that_would_keep_an_identifier_is_named(values, keep):
    found = schema(beside(np.arange(N) * 7 + 3 if values is None else [values.format(i) for i in range(N)], "id"))
    with pytest.warns(ColumnWarning, match=f"use families={{'id': '{keep}'}} to keep it"):
        found.warn()


def test_cells_that_become_missing_are_named():
    table = beside([*(f"{x:.2f}" for x in NUMBERS[:-3]), "?", " ", "?"])
    found = schema(table)
    assert found.families[0] == "gaussian"
    with pytest.warns(
        ColumnWarning, match=r"column 'x' is read as numbers, but 3 of its 200 cells are not \('\?', ' '\)"
    ):
        found.warn()
    kept = schema(table, {"x": "categorical"})
    assert kept.families[0] == "categorical"
    assert not kept.warnings
    many = beside([f"{x:.2f}" if i % 3 else f"word {i % 40}" for i, x in enumerate(NUMBERS)])
    assert schema(many).families[0] in ("categorical", "drop")


PRESSURES = np.arange(N) + 60.0
CODED = {
    "integers": ([*PRESSURES[2:].astype(int), 999, 999], "999 in 2 of its 200 cells, far from the others (62 to 259)"),
    "floats": (
        [-9999.0, -9999.0, *PRESSURES[2:] / 7],
        "-9999 in 2 of its 200 cells, far from the others (8.85714 to 37)",
    ),
    "text": (
        [*(f"{x:.2f} %" for x in PRESSURES), "999", "999"],
        "999 in 2 of its 202 cells, far from the others (60 to 259)",
    ),
    "once": ([*PRESSURES, 999.0], None),
    "near": ([*PRESSURES * 3, 999.0, 999.0], None),
    "within": ([*PRESSURES, 999.0, 999.0, 5000.0], None),
    "no code": ([*PRESSURES, 1000.0, 1000.0], None),
    "a category": ([0, 1, 2, 99] * 50, None),
    "no spread": ([5.0, 999.0] * N, None),
    "dates": ([*(f"{1900 + i}-05-07" for i in range(N)), "9999-01-01", "9999-01-01"], None),
}


@pytest.mark.parametrize(("values", "told"), CODED.values(), ids=CODED)
def test_numbers_that_seem_to_stand_for_missing_values_are_told(values, told):
    found = schema(beside(values))
    remedy = "; if it stands for a missing value, replace it by NaN, in files with suffice.files(path, na=['{}'])"
    assert list(found.warnings) == ([f"column 'x' holds {told}{remedy}".format(told.split()[0])] if told else [])
    assert not schema(beside(values), {"x": found.families[0]}).warnings


ASKED_OF_TEXT = {
    "gaussian": (["1,5", "2,5", "x"] * 9, "gaussian", [1.5, 2.5, np.nan]),
    "points between thousands": (["950 €", "1.329 €", "x"] * 9, "gaussian", [950, 1329, np.nan]),
    "three decimals": (["950 €", "0.329 €", "1.329 €"] * 9, "gaussian", [950, 0.329, 1.329]),
    "binned": (["$5", "$1,000", "(3)"] * 9, "binned", [1, 2, 0]),
    "poisson": (["1", "2", ""] * 9, "poisson", [1, 2, np.nan]),
    "clock": (["13:05", "1:05 PM", "12:00 am"] * 9, "gaussian", [47100, 47100, 0]),
    "durations": (["0 days 00:01:01", "26:00:00.5", "7"] * 9, "gaussian", [61, 93600.5, 7]),
    "whole days": (["1 day", "-386 days", "soon"] * 9, "gaussian", [86400, -33350400, np.nan]),
    "ISO 8601": (["P1DT2H", "PT5M", "-P2W", "PT1.5S", "P-2DT18H0M0S"] * 9, "gaussian", [93600, 300, -1209600]),
    "no durations": (["PT", "P", "days", "1Y", "PT1H"] * 9, "gaussian", [np.nan, np.nan, np.nan]),
    "bernoulli": (["yes", "no", "YES"] * 9, "bernoulli", [1, 0, 1]),
    "gaussian dates": (["1970-01-03", "1970-02-01", ""] * 9, "gaussian", [2, 31, np.nan]),
    "the day first, as some cells tell": (["01/02/1970", "02/02/1970", "31/01/1970"] * 9, "date", [31, 32, 30]),
    "the day first, as points tell": (["1.2.1970", "2.2.1970", ""] * 9, "date", [31, 32, np.nan]),
    "the month first, as slashes suggest": (["1/2/1970", "1/3/1970", ""] * 9, "date", [1, 2, np.nan]),
    "the day first": (["1/2/1970", "2/2/1970", ""] * 9, "dmy", [31, 32, np.nan]),
    "the month first": (["1.2.1970", "1.3.1970", ""] * 9, "mdy", [1, 2, np.nan]),
    "names of months": (["3-Jan-70", "Sun, February 1, 1970", "2nd Sept. 1970 06:00 PM"] * 9, "date", [2, 31, 244.75]),
    "a month and a year": (["Jan 1970", "Dec-1969", "May 26"] * 9, "date", [0, -31, np.nan]),
    "years of two digits": (["1/2/70", "31/12/68", "1.2.70"] * 9, "date", [31, 36159, np.nan]),
    "a date": (["1970-01-03", "1970-02-01", ""] * 9, "date", [2, 31, np.nan]),
}


@pytest.mark.parametrize(("values", "asked", "expected"), ASKED_OF_TEXT.values(), ids=ASKED_OF_TEXT)
def test_text_is_converted_to_the_numbers_that_are_asked_for(values, asked, expected):
    table = as_table(beside(values))
    found = Schema.of(table, {"x": asked})
    assert found.families[0] == ("date" if asked in ("dmy", "mdy") else asked)
    np.testing.assert_array_equal(found.features[0].values(table.columns()[0])[:3], expected)


def test_dates_that_leave_day_and_month_open_are_warned_of():
    cells = [f"{month:02}{{}}{day:02}{{}}1970" for month in range(1, 13) for day in range(1, 13)]
    slashes, points = (beside([cell.replace("{}", mark) for cell in cells]) for mark in "/.")
    (told,) = schema(slashes).warnings
    assert told == (
        "column 'x' is read with the month first, but 01/02/1970 can also have the day first; use "
        "families={'x': 'dmy'} if it does, and families={'x': 'mdy'} if it does not"
    )
    for found in (schema(points), schema(slashes, {"x": "dmy"})):
        assert not found.warnings
        assert found.features[0].steps == (("date", "dmy"),)


def test_days_that_may_be_codes_are_warned_of():
    days = [f"P{i % 40}D" for i in range(N)]
    (told,) = schema(beside(days)).warnings
    assert told == (
        "column 'x' is read as durations, but P0D can also be a code; use families={'x': 'categorical'} if it is, and "
        "families={'x': 'gaussian'} if it is not"
    )
    for found in (schema(beside(days), {"x": family}) for family in ("categorical", "gaussian")):
        assert not found.warnings
    assert not schema(beside([*days, "PT8H"])).warnings


def test_numbers_in_text_and_durations_have_the_kind_of_numbers():
    """Also for `changed`, by which the automatic choice tries other families."""
    cells = [f"${1000 + 37 * i:,}.50" for i in range(39)] + ["unknown"]
    table = as_table(pd.DataFrame({"paid": cells, "n": [str(i * i) for i in range(40)], "word": ["a", "b"] * 20}))
    waits = as_table(pd.DataFrame({"wait": pd.to_timedelta(np.arange(40) ** 2, unit="s"), "word": ["a", "b"] * 20}))
    for schema in (Schema.of(waits, {"integer": "binned"}), Schema.of(waits).changed({"integer": "binned"}, waits)):
        assert [feature.steps[0] for feature in schema.features] == [("duration",)]
        assert schema.families == ("binned", "categorical")
    asked = {"float": "yeo_johnson", "integer": "binned"}
    for schema in (Schema.of(table, asked), Schema.of(table).changed(asked, table)):
        assert schema.families == ("yeo_johnson", "binned", "categorical")
        assert [feature.steps[0] for feature in schema.features] == [("number", ".")] * 2
        low, high = schema.features[0].steps[1][-2:]
        assert (low, high) == (1000.5, 2406.5)


def test_text_without_a_number_is_refused_where_numbers_are_asked_for():
    assert schema(FRAME, {"sex": "gaussian"}).features == ()
    with pytest.raises(DataError, match="column 'sex' cannot be 'log'"):
        schema(FRAME, {"sex": "log"})


def test_dates_have_the_parts_that_vary():
    def names(values):
        return [feature.name for feature in schema(beside(values)).features]

    assert names(DAYS) == ["x", "x month", "x weekday"]
    assert names(pd.date_range("2020-01-06", periods=N, freq="7D")) == ["x", "x month"]
    assert names(pd.date_range("2020-01-06", periods=20, freq="h")) == ["x", "x hour"]


def test_inference_stays_fast(monkeypatch):
    """Floats are not read beyond the first rows: a pass over all of them would cost as much as a fit."""
    table = as_table(np.random.default_rng(0).normal(size=(10_000, 3)))
    monkeypatch.setattr(np, "unique", None)
    assert Schema.of(table).families == ("gaussian",) * 3


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms"])
def test_durations_are_the_same_in_a_file_of_text(tmp_path, unit):
    frame = pd.DataFrame({"v": pd.to_timedelta(np.arange(-20, 400), unit=unit)})
    frame["iso"] = [value.isoformat() for value in frame["v"]]
    frame.to_csv(tmp_path / "durations.csv", index=False)
    seconds = frame["v"].dt.total_seconds()
    table = as_table(str(tmp_path / "durations.csv"))
    for feature, column in zip(schema(table).features, table.columns(), strict=True):
        np.testing.assert_allclose(feature.values(column), seconds)


MANY = range(N)
UNITS = {
    "after a blank": (
        [f"{i} kg" for i in MANY],
        r"remove 'kg' from its cells, as X\['x'\]\.str\.removesuffix\(' kg'\)",
    ),
    "a letter": ([f"{i / 10:.1f}K" for i in MANY], r"remove 'K' .* X\['x'\]\.str\.removesuffix\('K'\)"),
    "before": ([f"EUR {i}.12" for i in MANY], r"remove 'EUR' .* X\['x'\]\.str\.removeprefix\('EUR '\)"),
    "thousands": ([f"{1000 + i:,} USD" for i in MANY], "remove 'USD'"),
    "decimal commas": ([f"{i},25 cm" for i in MANY], "remove 'cm'"),
    "signs": ([f"{i} km/h" for i in MANY], "remove 'km/h'"),
    "few others": (["none", *(f"{i} kg" for i in MANY)], "remove 'kg'"),
}
NO_UNITS = {
    "few words": [f"{i % FEW} kg" for i in MANY],
    "numbered things": [f"Room {i % 60}" for i in MANY],
    "codes": [f"u{i}" for i in MANY],
    "versions": [f"v1.{i}" for i in MANY],
    "other letters": [f"{i}{'ABC'[i % 3]}" for i in MANY],
    "addresses": [f"{i} Main Street" for i in MANY],
    "leading zeros": [f"{i:03} kg" for i in MANY],
    "many others": [f"{i} kg" if i % 5 else f"about {i}" for i in MANY],
}


@pytest.mark.parametrize(("values", "remedy"), UNITS.values(), ids=UNITS)
def test_numbers_with_a_unit_are_told_of(values, remedy):
    (message,) = schema(beside(values)).warnings
    assert re.search(f"seems to hold numbers with a unit, such as .*; to learn it as numbers, {remedy}", message)
    assert not schema(beside(values), {"x": "categorical"}).warnings


@pytest.mark.parametrize("values", NO_UNITS.values(), ids=NO_UNITS)
def test_words_that_are_no_numbers_with_a_unit_are_not_told_of(values):
    assert not any("with a unit" in message for message in schema(beside(values)).warnings)
