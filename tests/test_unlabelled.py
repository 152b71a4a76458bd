"""Densities of unlabelled rows: every family, from whatever form the rows have."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats as sps
from scipy.sparse import csr_array

from suffice import Tokens, families, fit_density
from suffice.errors import DataError

COUNTS = [0, 2, 1, 3, 2, 1]

FORMS = {
    "a list": list,
    "a column": lambda x: [[v] for v in x],
    "an array": np.array,
    "a matrix": lambda x: np.array(x)[:, None],
    "sparse": lambda x: csr_array(np.array(x)[:, None]),
    "a Series": pd.Series,
    "a named Series": lambda x: pd.Series(x, name="n"),
    "a frame": lambda x: pd.DataFrame({"n": x}),
    "polars": pl.Series,
    "a polars frame": lambda x: pl.DataFrame({"n": x}),
    "Arrow": pa.array,
    "an Arrow table": lambda x: pa.table({"n": x}),
    "a tuple": tuple,
}

FAMILIES = {  # with the choices, the parameters, and a distribution that is not ours
    "bernoulli": ({}, {"p": 5 / 6}, lambda x: sps.bernoulli.logpmf(np.minimum(x, 1), 5 / 6)),
    "binomial": ({"trials": 4}, {"trials": 4, "p": 9 / 24}, lambda x: sps.binom.logpmf(x, 4, 9 / 24)),
    "poisson": ({}, {"rate": 1.5}, lambda x: sps.poisson.logpmf(x, 1.5)),
    "multinomial": ({}, {"p": 1.0}, lambda x: np.zeros(len(x))),
    "gaussian": (
        {}, {"mean": 1.5, "covariance": np.var(COUNTS)}, lambda x: sps.norm.logpdf(x, 1.5, np.std(COUNTS)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(("family", "expected"), FAMILIES.items(), ids=FAMILIES)
def test_numbers_in_any_form(family, expected, form):
    choices, parameters, logpmf = expected
    fitted = fit_density(family, form(COUNTS), **choices)
    assert fitted.parameters.keys() == parameters.keys()
    for name, value in parameters.items():
        assert np.ravel(fitted.parameters[name]).tolist() == pytest.approx([value])
    np.testing.assert_allclose(fitted.log_likelihood(form(COUNTS)), logpmf(np.array(COUNTS)), rtol=1e-12, atol=1e-12)
    assert family in repr(fitted)
    drawn = fitted.sample(5, random_state=0)
    assert drawn.shape == (5, 1)
    np.testing.assert_array_equal(drawn, fitted.sample(5, random_state=0))


WORDS = ["b", "a", "b", None, ""]


@pytest.mark.parametrize("form", [form for name, form in FORMS.items() if name != "sparse"])
def test_categories_in_any_form(form):
    fitted = fit_density("categorical", form(WORDS))
    assert fitted.parameters["p"] == {"": 0.25, "a": 0.25, "b": 0.5}
    np.testing.assert_allclose(np.exp(fitted.log_likelihood(form(WORDS))), [0.5, 0.25, 0.5, 1, 0.25])
    assert set(fitted.sample(50, random_state=0)[:, 0]) == {"", "a", "b"}


@pytest.mark.parametrize(
    ("family", "p"),
    [("text", [2 / 3, 1 / 3]), ("multinomial", [2 / 3, 1 / 3]), ("bernoulli", [1, 0.5])],
)
def test_words_of_text(family, p):
    texts = ["a good film", "a film"]
    fitted = fit_density(family, texts)
    assert fitted.parameters["p"] == pytest.approx({"film": p[0], "good": p[1]})
    two = fit_density(family, pd.DataFrame({"review": texts, "reply": texts})).parameters["p"]
    assert two == [fitted.parameters["p"]] * 2
    hashed = fit_density(family, texts, tokens=Tokens(hashed=64)).parameters["p"]
    assert np.sort(hashed)[-2:] == pytest.approx(sorted(p))


def test_numbers_and_words_mixed():
    assert fit_density("categorical", [1, "1", 2.0, float("nan")]).parameters["p"] == {"1": 2 / 3, "2": 1 / 3}
    assert fit_density("categorical", [1, 1, 2]).parameters["p"] == {1: 2 / 3, 2: 1 / 3}
    two = fit_density("categorical", [["a", 1], ["b", 1]]).parameters["p"]
    assert two == [{"a": 0.5, "b": 0.5}, {1: 1.0}]


def test_several_columns_are_independent_or_correlated(rng):
    X = rng.poisson([1, 5, 9], (50, 3))
    np.testing.assert_allclose(fit_density("poisson", X).parameters["rate"], X.mean(axis=0))
    np.testing.assert_allclose(fit_density("multinomial", X).parameters["p"], X.sum(axis=0) / X.sum())
    np.testing.assert_allclose(fit_density("gaussian", X).parameters["covariance"], np.cov(X.T, bias=True))
    diagonal = fit_density("gaussian", X, covariance="diag").parameters["covariance"]
    np.testing.assert_allclose(diagonal, X.var(axis=0))
    p = X.mean(axis=0) / 30
    np.testing.assert_allclose(fit_density("binomial", X, trials=30).parameters["p"], p)
    np.testing.assert_allclose(
        fit_density("binomial", X, trials=30).log_likelihood(X), sps.binom.logpmf(X, 30, p).sum(axis=1), rtol=1e-11
    )


@pytest.mark.parametrize("family", [*FAMILIES, "categorical"])
def test_a_weight_is_a_repetition_and_zero_is_absence(family):
    x, w = [0, 2, 1, 3, 4], np.array([1, 2, 3, 1, 0])
    choices = {"trials": 4} if family == "binomial" else {}
    weighted, repeated = fit_density(family, x, weight=w, **choices), fit_density(family, np.repeat(x, w), **choices)
    np.testing.assert_allclose(weighted.log_likelihood([0, 1, 2]), repeated.log_likelihood([0, 1, 2]), rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 2])
def test_pseudo_counts(alpha):
    heads = fit_density("bernoulli", [1, 1, 1], alpha=alpha)
    assert heads.parameters["p"] == pytest.approx([(3 + alpha) / (3 + 2 * alpha)])
    words = fit_density("multinomial", [[3, 0], [1, 0]], alpha=alpha)
    assert words.parameters["p"] == pytest.approx(np.array([4 + alpha, alpha]) / (4 + 2 * alpha))
    token = fit_density("categorical", ["a", "a", "b"], alpha=alpha)
    assert token.parameters["p"]["a"] == pytest.approx((2 + alpha) / (3 + 2 * alpha))
    assert token.log_likelihood(["c"]) == pytest.approx([np.log(alpha / (3 + 2 * alpha))])


MOMENTS = {  # counts, weights, trials
    "three fair tosses": (np.repeat([0, 1, 2, 3], [1, 3, 3, 1]), None, 3),
    "at least what was counted": ([1, 2, 2, 2, 2, 5, 2, 2, 2], None, 5),
    "rows without weight do not count": ([1, 2, 3, 2, 1, 100], [1, 1, 1, 1, 1, 0], 3),
    "never a success": ([0, 0], None, 1),
    "missing cells do not count": ([0, 1, 1, 1, 2, 2, 2, 3, np.nan], None, 3),
    "always": ([7, 7, 7], None, 7),
    "more than was ever counted": (np.repeat(range(5), [35, 39, 19, 6, 1]), None, 8),  # .99**2 / (.99 - .8699) = 8.16
}


@pytest.mark.parametrize(("x", "weight", "trials"), MOMENTS.values(), ids=MOMENTS)
def test_trials_by_the_method_of_moments(x, weight, trials):
    fitted = fit_density("binomial", x, weight=weight)
    assert fitted.parameters["trials"].tolist() == [trials]
    kept = np.array(x, float)[np.array(weight if weight is not None else np.ones(len(x))) > 0]
    assert fitted.parameters["p"] == pytest.approx([np.nanmean(kept) / trials])


ERRORS = {
    "no such family": (("gauss", [1, 2]), {}, "choose one of 'bernoulli'"),
    "nothing": (("poisson", []), {}, "no rows"),
    "no rows": (("poisson", np.empty((0, 2))), {}, "no rows"),
    "no table": (("poisson", 3), {}, "2D"),
    "rows of different lengths": (("poisson", [[1], [1, 2]]), {}, "length"),
    "negative counts": (("poisson", [1, -2]), {}, "[Nn]egative"),
    "negative successes": (("binomial", [1, -2]), {}, "[Nn]egative"),
    "negative words": (("multinomial", [[1, -2]]), {}, "[Nn]egative"),
    "infinite counts": (("poisson", [1, np.inf]), {}, "infinity"),
    "more successes than trials": (("binomial", [9, 9]), {"trials": 3}, "more successes than trials"),
    "more successes in one row": (("binomial", [0, 4]), {"trials": 3}, "more successes than trials"),
    "broken trials": (("binomial", [1, 2]), {"trials": 2.5}, "whole numbers"),
    "no trials": (("binomial", [0, 0]), {"trials": 0}, "whole numbers"),
    "too much variance": (("binomial", [0, 0, 0, 90]), {}, "variance is not below their mean"),
    "negative pseudo-counts": (("poisson", [1, 2]), {"alpha": -1}, "alpha=-1"),
    "pseudo-counts that are none": (("bernoulli", [1, 0]), {"alpha": np.nan}, "alpha=nan"),
    "no pseudo-counts": (("bernoulli", [1, 0]), {"alpha": None}, "alpha=None"),
    "a word for pseudo-counts": (("poisson", [1, 0]), {"alpha": "a"}, "alpha='a'"),
    "a truth for pseudo-counts": (("binomial", [1, 0]), {"alpha": True}, "alpha=True"),
    "pseudo-counts of each column": (("binomial", [[1, 2]]), {"alpha": [1, 2]}, "one number for the family 'binomial'"),
    "and of counts": (("geometric", [[1, 2]]), {"alpha": [1, 2]}, "one number for the family 'geometric', not one for"),
    "and of spread counts": (("negative_binomial", [1, 2]), {"alpha": [1]}, "one number for the family 'neg"),
    "and of words": (("text", ["a film", "film"]), {"alpha": [1, 2]}, "one number for text, not one for each"),
    "no pseudo-count for any": (("poisson", [1, 2]), {"alpha": [], "predictive": True}, "alpha has no numbers"),
    "pseudo-counts of other columns": (("poisson", [1, 2]), {"alpha": [1, 2]}, "alpha has 2 numbers, but there"),
    "a word for trials": (("binomial", [1, 2]), {"trials": "many"}, "trials='many' must be whole"),
    "trials of another length": (("binomial", [[1, 2]]), {"trials": [3, 3, 3]}, "one for each of 2 features"),
    "endless trials": (("binomial", [1, 2]), {"trials": np.inf}, "trials=inf must be whole"),
    "a table of trials": (("binomial", [[1, 2]]), {"trials": [[3, 3]]}, "one for each of 2 features"),
    "too much shrinkage": (("gaussian", [1.0, 2]), {"shrinkage": 5}, "shrinkage=5 must be a number from 0 to 1"),
    "a word for shrinkage": (("gaussian", [1.0, 2]), {"shrinkage": "a lot"}, "shrinkage='a lot'"),
    "shrinkage of a diagonal": (("gaussian", [1.0]), {"shrinkage": "oas", "covariance": "diag"}, '"full" or "tied"'),
    "infinity in a Gaussian": (("gaussian", [1.0, np.inf]), {}, "infinity"),
    "no such covariance": (("gaussian", [1.0, 2]), {"covariance": "round"}, "choose one of"),
    "words as numbers": (("poisson", ["a", "b"]), {}, "does not hold numbers"),
    "dates as numbers": (("gamma", [dt.date(2026, 3, 31)] * 2), {}, r"column 0 \(object\) does not hold numbers"),
    "dates in rows": (("gaussian", [[1.0, dt.date(2026, 3, 31)]]), {}, r"column 1 \(object\) does not hold numbers"),
    "outside the support": (("gamma", [-1.0, 2.0]), {}, "needs positive numbers; choose another family, such as"),
    "an infinite category": (("categorical", [1.0, np.inf]), {}, "cannot be infinite"),
    "no weight": (("poisson", [1, 2]), {"weight": [0, 0]}, "all weights are zero"),
    "a negative weight": (("poisson", [1, 2]), {"weight": [1, -1]}, "not negative"),
    "too few weights": (("poisson", [1, 2]), {"weight": [1]}, "expected"),
}


@pytest.mark.parametrize(("args", "choices", "message"), ERRORS.values(), ids=ERRORS)
def test_what_cannot_be_fitted_is_refused(args, choices, message):
    with pytest.raises(DataError, match=message):
        fit_density(*args, **choices)


@pytest.mark.parametrize("method", ["ml", "moments"])
@pytest.mark.parametrize("family", [*families.FAMILIES, "binomial", "gaussian_mixture"])
def test_columns_without_values_are_refused(family, method):
    message = "^all values of column {} are missing; leave the column out$"
    for x in ([np.nan, np.nan], [None, None]):
        with pytest.raises(DataError, match=message.format(0)):
            fit_density(family, x, method=method)
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [np.nan, np.nan, 1.0]})
    with pytest.raises(DataError, match=message.format("'b'")):
        fit_density(family, table, weight=[1, 1, 0], method=method)


def test_predictives_integrate_over_the_parameters():
    x = np.array([0, 2, 1, 3])
    poisson = fit_density("poisson", x, predictive=True, alpha=2)
    np.testing.assert_allclose(poisson.log_likelihood(x), sps.nbinom.logpmf(x, 6 + 2 * 1.5, 6 / 7), rtol=1e-12)
    binomial = fit_density("binomial", x, predictive=True, trials=3)
    np.testing.assert_allclose(binomial.log_likelihood(x), sps.betabinom.logpmf(x, 3, 7, 7), rtol=1e-12)
    words = fit_density("multinomial", [[3, 0], [1, 1]], predictive=True)
    expected = sps.dirichlet_multinomial.logpmf([2, 1], [5, 2], 3)
    np.testing.assert_allclose(words.log_likelihood([[2, 1]]), expected, rtol=1e-12)


def test_the_log_likelihood_of_a_data_set_is_largest_where_it_was_fitted(rng):
    x = rng.poisson(3, 200)
    best = fit_density("poisson", x).log_likelihood(x).sum()
    for other in (fit_density("poisson", [*x, 9, 9]), fit_density("poisson", x[:150])):
        assert other.log_likelihood(x).sum() < best


AMOUNTS = [1.0, 2.5, 0.25, 4.0, 3.0]
MEAN, VARIANCE, LOGS = np.mean(AMOUNTS), np.var(AMOUNTS), np.log(AMOUNTS)
SPREAD = np.mean(1 / np.array(AMOUNTS)) - 1 / MEAN
MATCHED = np.sqrt(np.log1p(VARIANCE / MEAN**2))
BY_BOTH = {  # parameters by maximum likelihood and by the method of moments, and a distribution that is not ours
    "exponential": ({"mean": MEAN}, {"mean": MEAN}, lambda mean: sps.expon(scale=mean)),
    "gamma": (
        dict(zip(("shape", "scale"), sps.gamma.fit(AMOUNTS, floc=0)[::2], strict=True)),
        {"shape": MEAN**2 / VARIANCE, "scale": VARIANCE / MEAN},
        lambda shape, scale: sps.gamma(shape, scale=scale),
    ),
    "lognormal": (
        {"log_mean": LOGS.mean(), "log_deviation": LOGS.std()},
        {"log_mean": np.log(MEAN) - MATCHED**2 / 2, "log_deviation": MATCHED},
        lambda log_mean, log_deviation: sps.lognorm(log_deviation, scale=np.exp(log_mean)),
    ),
    "inverse_gaussian": (
        {"mean": MEAN, "shape": 1 / SPREAD},
        {"mean": MEAN, "shape": MEAN**3 / VARIANCE},
        lambda mean, shape: sps.invgauss(mean / shape, scale=shape),
    ),
}


@pytest.mark.parametrize(("method", "place"), [("ml", 0), ("moments", 1)])
@pytest.mark.parametrize(("family", "expected"), BY_BOTH.items(), ids=BY_BOTH)
def test_positive_numbers_by_both_methods(family, expected, method, place):
    fitted = fit_density(family, [*AMOUNTS, np.nan], method=method)
    assert fitted.parameters.keys() == expected[place].keys()
    for name, value in expected[place].items():
        assert fitted.parameters[name].tolist() == pytest.approx([value], rel=1e-10)
    other = expected[2](**{name: value[0] for name, value in fitted.parameters.items()})
    np.testing.assert_allclose(fitted.log_likelihood(AMOUNTS), other.logpdf(AMOUNTS), rtol=1e-10)
    assert (fitted.sample(20, random_state=0) > 0).all()
    weighted = fit_density(family, AMOUNTS, weight=[1, 2, 0, 1, 1], method=method).parameters
    repeated = fit_density(family, [1.0, 2.5, 2.5, 4.0, 3.0], method=method).parameters
    for name, value in weighted.items():
        np.testing.assert_allclose(value, repeated[name], rtol=1e-10)


SPREAD_OUT = [0, 0, 1, 9, 2, 0, 4]


def test_counts_by_both_methods():
    mean, variance = np.mean(SPREAD_OUT), np.var(SPREAD_OUT)
    geometric = fit_density("geometric", SPREAD_OUT)
    np.testing.assert_allclose(geometric.parameters["p"], 1 / (1 + mean))
    moments = fit_density("negative_binomial", SPREAD_OUT, method="moments").parameters
    np.testing.assert_allclose([moments["mean"][0], moments["size"][0]], [mean, mean**2 / (variance - mean)])
    fitted = fit_density("negative_binomial", SPREAD_OUT)
    best = fitted.log_likelihood(SPREAD_OUT).sum()
    for size in fitted.parameters["size"][0] * np.array([0.999, 1.001]):
        assert sps.nbinom.logpmf(SPREAD_OUT, size, size / (size + mean)).sum() < best
    smooth = fit_density("negative_binomial", SPREAD_OUT, alpha=2).parameters
    np.testing.assert_allclose([smooth["mean"][0], smooth["size"][0]], [mean, fitted.parameters["size"][0]], rtol=1e-9)
    assert fit_density("negative_binomial", [2, 3, 2], method="moments").parameters["size"] == np.inf


def test_what_the_new_families_refuse():
    with pytest.raises(DataError, match='method="moments" takes no pseudo-counts'):
        fit_density("negative_binomial", SPREAD_OUT, method="moments", alpha=1)
    with pytest.raises(DataError, match="method='guess' is not known"):
        fit_density("gamma", AMOUNTS, method="guess")
    with pytest.raises(DataError, match="'gamma' has no parameter 'alpha'"):
        fit_density("gamma", AMOUNTS, alpha=1)
    with pytest.raises(DataError, match="not above 0 in 1 row"):
        fit_density("gamma", [1.0, 0.0], method="moments")
    with pytest.raises(DataError, match="sums of squares overflow"):
        fit_density("gamma", [1e300, 2e300], method="moments")
    np.testing.assert_allclose(fit_density("gamma", [1e300, 2e300]).density.expectation, 1.5e300)
