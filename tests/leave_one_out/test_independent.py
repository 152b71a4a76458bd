"""Leaving a row out of the families of positive numbers and of counts is fitting without it."""

import numpy as np
import pytest

from suffice import MixedClassifier
from suffice.densities import NegativeBinomialDensity
from suffice.leave_one_out import NegativeBinomialLeaveOneOut, negative_binomial
from suffice.tables.batch import Batch
from tests.leave_one_out.refits import assert_it_equals_n_fits

pytestmark = pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")

CONTINUOUS = ("exponential", "gamma", "lognormal", "inverse_gaussian")
DISCRETE = ("geometric", "negative_binomial")
families = pytest.mark.parametrize("family", [*CONTINUOUS, *DISCRETE])


def rows(family, rng, n=24):
    y = np.array(list("ab" * (n // 2 - 1) + "cc"))
    unit = np.where(y == "a", 1.0, 3.0)[:, None]
    if family in DISCRETE:
        return rng.negative_binomial(2, 0.3, (n, 3)) * unit.astype(int), y
    return rng.gamma(2.0, 1.0, (n, 3)) * unit * [1.0, 1e-5, 1e6], y


@families
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_complete_rows(family, alpha, rng):
    X, y = rows(family, rng)
    assert_it_equals_n_fits(MixedClassifier(family, alpha=alpha).fit(X, y), X, y)


@families
@pytest.mark.parametrize("weighted", [False, True])
def test_missing_cells(family, weighted, rng):
    X, y = rows(family, rng)
    X = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    X[y == "c", 1] = np.nan  # a class that does not have a column
    w = rng.choice([0.0, 0.5, 1.0, 2.0], len(y)) if weighted else None
    clf = MixedClassifier(family, alpha=0.5).fit(X, y, sample_weight=w)
    assert_it_equals_n_fits(clf, X, y, w)


@families
def test_the_last_row_of_a_class_and_constant_columns(family, rng):
    X, y = rows(family, rng, 12)
    X[:, 1] = 2
    X[y == "a", 2] = 5
    y[-1] = "d"
    assert_it_equals_n_fits(MixedClassifier(family).fit(X, y), X, y)


@pytest.mark.parametrize("family", CONTINUOUS)
def test_a_row_that_outweighs_all_others(family, rng):
    """Its class is left with so little that only reading the other rows again tells it."""
    X, y = rows(family, rng)
    X[0] *= 1e12
    X[1] *= 1e-12
    assert_it_equals_n_fits(MixedClassifier(family).fit(X, y), X, y)


def test_columns_of_zeros(rng):
    X, y = rows("exponential", rng)
    X[:, 1] = 0
    X[0, 1] = 3
    X[:, 2] = 0
    assert_it_equals_n_fits(MixedClassifier("exponential").fit(X, y), X, y)
    X = np.round(X)
    for family in DISCRETE:
        assert_it_equals_n_fits(MixedClassifier(family, alpha=0.0).fit(X, y), X, y)


def test_models_of_the_same_value_are_fitted_once(rng, monkeypatch):
    X, y = rows("negative_binomial", rng)
    X = np.tile(X, (40, 1))
    clf = MixedClassifier("negative_binomial").fit(X, np.tile(y, 40))
    stats = clf.statistics_.parts["negative_binomial"]
    fitted = []
    whole = negative_binomial.fitted_histograms
    monkeypatch.setattr(
        negative_binomial, "fitted_histograms", lambda v, c, alpha: fitted.append(len(c)) or whole(v, c, alpha)
    )
    model = NegativeBinomialLeaveOneOut(stats, NegativeBinomialDensity.estimate(stats, 1.0), 1.0)
    code = np.tile(np.searchsorted(clf.classes_, y), 40)
    for _ in range(2):
        model.scores(Batch.of(X).table, code, np.ones(len(X)))
    assert sum(fitted) == int((stats.count > 0).sum())
