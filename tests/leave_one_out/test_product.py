"""Leaving a row out of a table of several families, and deciding with a prior that has not counted it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import BernoulliClassifier, CategoricalClassifier, GaussianClassifier, MixedClassifier
from suffice.errors import DataError, SufficeError
from tests.pairs import pairs

from .refits import assert_it_equals_n_fits, refitted

FAMILIES = {
    "fur": "categorical",
    "kg": "gaussian",
    "cm": "gaussian",
    "tame": "bernoulli",
    "mice": "poisson",
    "purrs": "multinomial",
    "hisses": "multinomial",
}
COVARIANCES = ["diag", "spherical", "tied_diag", "tied_spherical", "full", "tied"]


KINDS = [
    "plain",
    "weighted",
    "a class of one",
    "constant in a class",
    "missing cells",
    "a column that a class has in one row",
]


def cats(kind):
    rng = np.random.default_rng(8)
    n = 30
    table = pd.DataFrame(
        {
            "fur": rng.choice(["black", "white", "calico"], n).astype(object),
            "kg": rng.normal(4, 1, n),
            "cm": rng.normal(1e3, 5, n),
            "tame": (rng.random(n) < 0.4).astype(float),
            "mice": rng.poisson(3.0, n).astype(float),
            "purrs": rng.poisson(2.0, n).astype(float),
            "hisses": rng.poisson(1.0, n).astype(float),
        }
    )
    y, weight = rng.choice(["f", "m", "x"], n), None
    if kind == "weighted":
        weight = rng.random(n)
        weight[[3, 4]] = 0
        table.loc[4, ["kg", "fur"]] = None  # nobody counts this row
    elif kind == "a class of one":
        y[7] = "z"
    elif kind == "constant in a class":
        table.loc[y == "m", "kg"] = 3.0
    elif kind == "missing cells":
        table = table.mask(rng.random(table.shape) < 0.3)
    elif kind == "a column that a class has in one row":
        table.loc[y == "f", ["kg", "mice"]] = None
        table.loc[np.flatnonzero(y == "f")[0], ["kg", "mice"]] = 2.0
        table.loc[y == "x", ["cm", "purrs"]] = None
    return table, y, weight


@pytest.mark.parametrize(
    ("kind", "covariance", "choices"),
    pairs(KINDS, COVARIANCES, [{}, {"alpha": 0, "shrinkage": 0.2}]),
)
def test_it_equals_n_fits(kind, covariance, choices):
    table, y, weight = cats(kind)
    if covariance in ("full", "tied"):  # which refuse to learn from missing numbers
        table = table.fillna({"kg": 4.0, "cm": 1e3}) if weight is None else table
    assert_it_equals_n_fits(MixedClassifier(FAMILIES, covariance=covariance, **choices), table, y, weight)


@st.composite
def numbers(draw):
    """Few rows of few numbers, some of them alike and some missing."""
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    cells = st.sampled_from([0.0, 1.0, 1.5, -3.0, 4.0, np.nan])
    X = np.array(draw(st.lists(st.lists(cells, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    weight = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    return X, y, weight if (weight > 0).sum() > 1 else np.ones(n)


@given(numbers(), st.sampled_from(COVARIANCES[:4]), st.sampled_from([None, 0.3]))
def test_numbers_of_which_some_are_missing_and_some_do_not_vary(rows, covariance, shrinkage):
    X, y, weight = rows
    clf = MixedClassifier(dict.fromkeys(range(X.shape[1]), "gaussian"), covariance=covariance, shrinkage=shrinkage)
    assert_it_equals_n_fits(clf, X, y, weight)


def test_what_was_learnt_plays_no_part():
    table, y, _ = cats("plain")
    clf = MixedClassifier().fit(table[["fur", "kg"]][:20], y[:20])
    found, schema = clf.leave_one_out(table, y), clf.schema_  # by the model's columns
    assert (found == MixedClassifier().leave_one_out(table[["fur", "kg"]], y)).all()
    assert clf.schema_ is schema
    assert schema.names == ("fur", "kg")


PRIORS = [
    (GaussianClassifier("tied"), ["kg", "cm"]),
    (BernoulliClassifier(0), ["tame"]),
    (CategoricalClassifier(0), ["fur"]),
    (MixedClassifier(FAMILIES), list(FAMILIES)),
]


@pytest.mark.parametrize(("clf", "columns"), PRIORS, ids=lambda v: str(v)[:20])
@pytest.mark.parametrize("kind", ["plain", "weighted", "a class of one"])
def test_a_prior_from_the_data_does_not_count_the_row_either(clf, columns, kind):
    table, y, weight = cats(kind)
    table = table[columns] if isinstance(clf, MixedClassifier) else table[columns].ffill()
    expected = refitted(clf, table, y, weight, "predict_proba")
    found = clf.leave_one_out_proba(table, y, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_a_prior_that_is_given_is_taken_as_it_is():
    table, y, _ = cats("plain")
    prior = {"f": 0.5, "m": 0.2, "x": 0.3}
    expected = refitted(MixedClassifier(FAMILIES, prior=prior), table, y, call="predict_proba")
    by_call = MixedClassifier(FAMILIES).leave_one_out_proba(table, y, prior=prior)
    by_model = MixedClassifier(FAMILIES, prior=prior).leave_one_out_proba(table, y)
    np.testing.assert_allclose(by_call, expected, rtol=1e-8)
    assert (by_model == by_call).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: MixedClassifier(covariance="full", shrinkage="oas").leave_one_out(X, y), "'oas'; .*LeaveOneOut"),
        (lambda X, y: BernoulliClassifier().leave_one_out_proba([[1]], [0]), "give a prior"),
        (lambda X, y: BernoulliClassifier().leave_one_out_proba(X[["tame"]], y, prior=[1]), "3 classes"),
        (lambda X, y: CategoricalClassifier(unknown="x").leave_one_out(X, y), "not known"),
    ],
)
def test_clear_errors(call, message):
    with pytest.raises((DataError, SufficeError), match=message):
        call(*cats("plain")[:2])
