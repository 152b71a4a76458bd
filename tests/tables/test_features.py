"""Features of columns: bins, transforms, and their inverses."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

from suffice.sources import as_table
from suffice.tables.features import (
    DERIVED,
    Feature,
    derived,
    extended,
    features_from_arrays,
    features_to_arrays,
    quantile_bins,
    restored,
)
from suffice.tables.table import ArrayColumn

RNG = np.random.default_rng(0)
OF_NUMBERS = [family for family in DERIVED if family != "date"]
COLUMNS = {
    "normal": RNG.normal(5, 2, 500),
    "skewed": RNG.lognormal(1, 2, 500),
    "any sign": RNG.normal(size=500) ** 3,
    "many zeros": np.where(RNG.random(500) < 0.6, 0, RNG.gamma(2, 3, 500)),
    "zeros and any sign": np.where(RNG.random(500) < 0.3, 0, RNG.normal(1, 1, 500)),
    "integers": RNG.integers(0, 30, 500).astype(float),
    "constant": np.full(500, 3.0),
    "zeros": np.zeros(500),
    "one value": np.array([2.0]),
    "none": np.full(3, np.nan),
}


def column(values):
    return ArrayColumn.of(np.asarray(values))


def found(family, values):
    return derived(family, 0, "x", column(values))


def values_of(features, values):
    return [feature.values(column(values)) for feature in features]


@pytest.mark.parametrize("family", OF_NUMBERS)
@pytest.mark.parametrize("x", COLUMNS.values(), ids=COLUMNS)
def test_every_family_takes_every_column(family, x):
    x = np.r_[x, np.nan]
    features = found(family, x)
    assert {feature.asked for feature in features} == {family}
    values = values_of(features, x)
    for value in values:
        assert np.isnan(value[-1])  # missing stays missing
        assert not np.isinf(value).any()
    # Nothing is missing that was not, other than the density of zeros.
    np.testing.assert_array_equal(np.all(np.isnan(values), axis=0), np.isnan(x))
    back = restored(features, values, np.full(len(x), 0.5))
    if family != "binned":
        np.testing.assert_allclose(back, x, rtol=1e-7, atol=1e-7)
    else:  # in the same bin
        np.testing.assert_array_equal(features[0].values(column(back)), values[0])


def standard(x):
    """Values of a Gaussian column, which have the same posteriors whatever their mean and scale."""
    x = x[~np.isnan(x)]
    return (x - x.mean()) / (np.ptp(x) or 1.0) if len(x) else x


@pytest.mark.parametrize("family", OF_NUMBERS)
@pytest.mark.parametrize("x", COLUMNS.values(), ids=COLUMNS)
def test_units_do_not_matter_nor_the_order_of_rows(family, x):
    own, other = values_of(found(family, x), x), values_of(found(family, 1000 * x), 1000 * x)
    for one, two in zip(own, other, strict=True):
        np.testing.assert_allclose(standard(two), standard(one), rtol=1e-6, atol=1e-6)
    assert found(family, x[::-1]) == found(family, x)


@pytest.mark.parametrize("family", OF_NUMBERS)
@pytest.mark.parametrize("x", COLUMNS.values(), ids=COLUMNS)
def test_features_survive_a_file(family, x):
    features = found(family, x)
    assert features_from_arrays(features_to_arrays(features), 1) == features
    assert features_to_arrays(()) == {}
    with pytest.raises(ValueError, match="not known"):
        features_from_arrays(features_to_arrays(features), 0)


@pytest.mark.parametrize(
    "damage",
    [b"[", b'[[0, "x", "gaussian", "log", [["exec", 1]]]]', b'[[0, "x", "gaussian", "log", [["log"]]]]', b"[[0]]"],
)
def test_damaged_features_are_refused(damage):
    with pytest.raises((ValueError, TypeError)):
        features_from_arrays({"features": np.frombuffer(damage, np.uint8)}, 1)


def test_bins_hold_as_many_values_each_and_frequent_values_alone():
    x = np.r_[np.zeros(4000), np.full(1000, 7.0), RNG.lognormal(0, 1, 5000)]
    edges, low, high = quantile_bins(x)
    code = np.searchsorted(edges, x)
    counts = np.bincount(code)
    assert 8 <= len(counts) <= 20
    assert counts[0] >= 4000
    assert low[0] == high[0] == 0
    alone = np.unique(code[x == 7])
    assert len(alone) == 1
    assert counts[alone[0]] == 1000
    between = counts[1 : alone[0]]
    assert between.max() < 1.2 * between.min()
    assert quantile_bins(np.array([])) == ((), (0.0,), (0.0,))


@pytest.mark.parametrize(("n", "bins"), [(2, 2), (10, 4), (100, 9), (10_000, 16), (1_000_000, 16)])
def test_fewer_values_have_fewer_bins(n, bins):
    assert len(quantile_bins(RNG.normal(size=n))[0]) + 1 == bins


def test_a_yeo_johnson_power_is_that_of_scipy(rng):
    x = rng.gamma(2, 3, 2000)
    (feature,) = found("yeo_johnson", x)
    _, center, scale, power, *_ = feature.steps[0]
    assert power == pytest.approx(stats.yeojohnson_normmax((x - center) / scale), abs=6e-3)  # two digits
    np.testing.assert_allclose(feature.values(column(x)), stats.yeojohnson((x - center) / scale, power), rtol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_inverse_of_a_power_stays_within_what_was_seen(sign):
    """A power below 0 has a bound, which a little step beyond the values takes to immense numbers."""
    x = sign * RNG.lognormal(0, 2, 500)
    (feature,) = found("yeo_johnson", x)
    back = feature.restored(np.array([-50.0, *feature.values(column(x[:3])), 50.0, np.nan]), np.full(6, 0.5))
    np.testing.assert_allclose(back, [x.min(), *x[:3], x.max(), np.nan], rtol=1e-6)
    before = replace(feature, steps=(feature.steps[0][:4],))  # as in files of earlier versions
    np.testing.assert_allclose(before.restored(feature.values(column(x[:3])), np.full(3, 0.5)), x[:3], rtol=1e-6)


def test_zeros_apart_from_the_rest():
    flag, rest = found("zero_inflated", COLUMNS["many zeros"])
    assert (flag.name, flag.family) == ("x is zero", "bernoulli")
    assert rest.steps[0] == ("not_zero",)
    assert flag.values(column([0.0, 2.0, np.nan])).tolist()[:2] == [1, 0]
    assert np.isnan(rest.values(column([0.0, np.nan]))).all()
    # The density of the rest is the likelier of the two.
    assert found("zero_inflated", np.r_[0, RNG.lognormal(0, 1, 500)])[1].steps[-1][0] == "log"
    assert found("zero_inflated", np.r_[0, RNG.normal(9, 1, 500)])[1].steps == (("not_zero",),)


def test_a_logarithm_of_what_is_not_positive_is_that_of_the_least_value():
    (feature,) = found("log", [1.0, 2.0, 8.0])
    np.testing.assert_allclose(feature.values(column([-1.0, 0.0, 4.0])), np.log([1, 1, 4]))


@pytest.mark.parametrize(
    "build",
    [np.asarray, pd.DataFrame, pl.DataFrame, lambda X: pa.table({str(j): x for j, x in enumerate(X.T)})],
)
def test_tables_of_every_library_are_extended(build):
    X = RNG.normal(size=(20, 2)) ** 2
    features = (Feature(1, "more", "gaussian", "log", (("log", 0.1),)),)
    table = extended(as_table(build(X)), features)
    assert table.names[2:] == ("more",)
    np.testing.assert_allclose(table.floats(), np.c_[X, np.log(X[:, 1])])
    assert extended(table, ()) is table
