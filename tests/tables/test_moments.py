"""Dates, times of the day and durations as categories: the same text from every library."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice
from suffice import CategoricalClassifier, LogisticClassifier, MixedClassifier
from suffice.errors import DataError
from suffice.tables.vocabulary import CategoryIndex

RNG = np.random.default_rng(0)
Y = np.where(RNG.random(200) < 0.5, "a", "b")
STEPS = np.where(Y == "a", RNG.integers(0, 4, 200), RNG.integers(1, 6, 200))
DAYS = pd.Series(pd.Timestamp("2021-01-01") + pd.to_timedelta(STEPS, unit="D"))
LATE = DAYS + pd.Timedelta("10h30min")


def written(column, tmp_path, form):
    path = tmp_path / f"{form.replace('%', '').replace(':', '').replace('/', '')}.csv"
    pd.DataFrame({"when": column.dt.strftime(form)}).to_csv(path, index=False)
    return str(path)


def everywhere(column, tmp_path):
    """A table of one column of dates, in every library and form."""
    frame = pd.DataFrame({"when": column})
    yield frame
    yield frame.astype("datetime64[ns]")
    yield frame.astype(object)
    yield frame.astype("category")
    yield pd.DataFrame({"when": column.dt.tz_localize("Europe/Rome")})
    yield pl.from_pandas(frame)
    arrow = pa.Table.from_pandas(frame)
    yield arrow
    yield pa.table({"when": arrow["when"].cast(pa.timestamp("ns"))})
    yield pa.table({"when": arrow["when"].combine_chunks().dictionary_encode()})
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"):
        yield written(column, tmp_path, form)
    if (column == column.dt.normalize()).all():
        yield pd.DataFrame({"when": column.dt.date})
        yield pa.table({"when": pa.array(column.dt.date)})
        yield pd.DataFrame({"when": column.dt.strftime("%Y-%m-%d")})
        yield written(column, tmp_path, "%Y-%m-%d")


@pytest.mark.parametrize("estimator", [CategoricalClassifier(), MixedClassifier("categorical")], ids=["one", "mixed"])
@pytest.mark.parametrize("column", [DAYS, LATE], ids=["days", "times"])
def test_dates_are_the_same_categories_in_every_library(tmp_path, estimator, column):
    tables = [*everywhere(column, tmp_path)]
    expected = None
    for table in tables[:9]:  # those that are not files
        model = estimator.fit(table, Y)
        names = [*model.to_model().density.categories_of_columns()[0]]
        assert names == sorted({str(value).removesuffix(" 00:00:00") for value in column})
        for other in tables:
            found = model.predict_proba(other)
            expected = found if expected is None else expected
            np.testing.assert_allclose(found, expected, err_msg=f"{type(table)} {type(other)}")


@pytest.mark.parametrize("estimator", [CategoricalClassifier(), MixedClassifier()], ids=["one", "mixed"])
@pytest.mark.parametrize("column", [DAYS, LATE - LATE.min()], ids=["dates", "durations"])
def test_an_array_of_dates_is_learnt_as_a_frame_is(estimator, column):
    frame, array = pd.DataFrame({"x0": column}), column.to_numpy()[:, None]
    expected = estimator.fit(frame, Y).predict_proba(frame)
    np.testing.assert_allclose(estimator.fit(array, Y).predict_proba(array), expected)
    assert len(np.unique(expected, axis=0)) > 2


def test_dates_of_files_can_be_categories_and_still_are_after_loading(tmp_path):
    path = tmp_path / "dates.csv"
    for form in ("%Y-%m-%d", "%Y-%m-%dT%H:%M"):
        pd.DataFrame({"when": LATE.dt.strftime(form), "y": Y}).to_csv(path, index=False)
        clf = suffice.fit(str(path), "y", families={"when": "categorical"}, generative=True)
        clf.save(tmp_path / "model.safetensors")
        model = suffice.load_model(tmp_path / "model.safetensors")
        assert not model.unknown_cells(str(path)).any()
        assert len({*model.llr(str(path)).tolist()}) > 3
    assert LogisticClassifier(families={"when": "categorical"}).fit(str(path), "y").score(str(path), Y) > 0.5


@pytest.mark.parametrize(
    "column",
    [LATE.dt.time, LATE - pd.Timestamp("2021-01-03")],
    ids=["times of the day", "durations"],
)
def test_times_of_the_day_and_durations_are_categories_too(column):
    frame = pd.DataFrame({"when": column})
    model = MixedClassifier("categorical").fit(frame, Y)
    for other in (pa.Table.from_pandas(frame), pl.from_pandas(frame)):
        np.testing.assert_allclose(model.predict_proba(other), model.predict_proba(frame))


def test_a_missing_date_is_filled_in_by_the_most_probable_one():
    frame = pd.DataFrame({"when": DAYS})
    model = MixedClassifier("categorical").fit(frame, Y)
    filled = model.impute(frame.assign(when=DAYS.where(DAYS.index > 0)))
    assert filled["when"].dtype == frame["when"].dtype
    assert filled["when"].notna().all()
    gaps = [dt.date(2021, 1, 1), None, float("nan")]
    assert model.unknown_cells(pd.DataFrame({"when": gaps})).sum() == 0


@pytest.mark.parametrize("column", [DAYS, LATE, LATE - LATE.min()], ids=["days", "times", "durations"])
def test_a_missing_date_of_an_array_is_filled_in(column):
    array = column.to_numpy()[:, None]
    gaps = array.copy()
    gaps[0] = "NaT"
    filled = CategoricalClassifier().fit(array, Y).impute(gaps)
    assert filled.dtype == array.dtype
    assert filled[0] in array
    np.testing.assert_array_equal(filled[1:], array[1:])


def test_lists_are_no_categories():
    with pytest.raises(DataError, match="is neither numbers nor categories"):
        CategoricalClassifier().fit(pa.table({"when": [[1, 2]] * 4}), ["a", "b"] * 2)


def test_categories_of_older_models_are_still_known():
    """In which a date with no time was named 2021-01-02 00:00:00, unless it came from a file."""
    days = ["2021-01-01 00:00:00", "2021-01-02 00:00:00"]
    found = CategoryIndex(np.array(days, object)).of(np.array([dt.datetime(2021, 1, 2), dt.date(2021, 1, 1)], object))
    assert found.tolist() == [1, 0]
