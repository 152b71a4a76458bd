"""Models of streams, in which older rows count less: tests/laws/test_learning.py has the laws for every estimator."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suffice
from suffice import GaussianClassifier, MixedClassifier
from suffice.errors import DataError

N = 40


def rows(rng):
    y = np.resize([0, 1], N)
    values = {
        "gaussian": rng.normal(size=N) + y,
        "categorical": rng.choice(list("abc"), N),
        "bernoulli": rng.random(N) < 0.3 + 0.3 * y,
        "poisson": rng.poisson(2.0 + y),
    }
    positive = {name: rng.gamma(2.0, 1.0 + y) for name in ("exponential", "gamma", "lognormal", "inverse_gaussian")}
    whole = {name: rng.poisson(3.0 + y) for name in ("geometric", "negative_binomial")}
    return pd.DataFrame(values | positive | whole), y


@given(st.integers(0, 100), st.floats(0.5, 100.0), st.lists(st.integers(2, 12), min_size=1, max_size=6))
def test_a_half_life_is_an_exponential_decay_of_weights(seed, half_life, sizes):
    rng = np.random.default_rng(seed)
    X, y = rows(rng)
    ends = [6, *np.minimum(6 + np.cumsum(sizes), N)]
    own = {name: name for name in X}
    streamed, weight = MixedClassifier(own), rng.random(N) + 0.1
    streamed.partial_fit(X[:6], y[:6], sample_weight=weight[:6], half_life=half_life)
    decayed = weight.copy()
    for start, stop in itertools.pairwise(ends):
        if start == stop:
            break
        new = slice(start, stop)
        streamed.partial_fit(X[new], y[new], sample_weight=weight[new], half_life=half_life)
        decayed[:start] *= 0.5 ** (weight[new].sum() / half_life)
    n = ends[-1]
    batch = MixedClassifier(own).fit(X[:n], y[:n], sample_weight=decayed[:n])
    np.testing.assert_allclose(streamed.log_likelihood(X), batch.log_likelihood(X), rtol=1e-6)
    np.testing.assert_allclose(streamed.predict_proba(X), batch.predict_proba(X), rtol=1e-6, atol=1e-9)


def test_a_fading_model_follows_a_stream_that_changes():
    rng = np.random.default_rng(0)
    lasting, fading = GaussianClassifier("diag"), GaussianClassifier("diag")
    for shift in np.linspace(0, 10, 50):
        y = np.resize(["low", "high"], 20)
        X = rng.normal(size=(20, 1)) + shift + 3 * (y == "high")[:, None]
        lasting.partial_fit(X, y)
        fading.partial_fit(X, y, half_life=20)
    assert fading.score(X, y) > 0.85 > lasting.score(X, y)
    assert fading.statistics_.weight.sum() == pytest.approx(40)


def test_rows_that_have_faded_are_forgotten_with_their_present_weight():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.resize([0, 1], 30)
    faded = GaussianClassifier().fit(X[:20], y[:20]).partial_fit(X[20:], y[20:], decay=0.5)
    faded.forget(X[:4], y[:4], sample_weight=np.full(4, 0.5))
    expected = GaussianClassifier().fit(X[4:], y[4:], sample_weight=[0.5] * 16 + [1.0] * 10)
    np.testing.assert_allclose(faded.log_likelihood(X), expected.log_likelihood(X))


def test_a_very_short_half_life_leaves_a_model():
    X, y = np.arange(12.0)[:, None], np.resize([0, 1], 12)
    model = GaussianClassifier("diag").fit(X[:6], y[:6]).partial_fit(X[6:], y[6:], half_life=1e-3)
    expected = GaussianClassifier("diag").fit(X[6:], y[6:])
    np.testing.assert_allclose(model.log_likelihood(X), expected.log_likelihood(X))


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"decay": 0.0}, r"decay=0.0 must be above 0 and at most 1; to start anew, use fit"),
        ({"decay": 1.5}, r"decay=1.5 must be above 0"),
        ({"decay": "x"}, r"decay='x' must be above 0"),
        ({"decay": np.nan}, r"decay=nan must be above 0"),
        ({"half_life": 0}, r"half_life=0 must be a number of rows above 0"),
        ({"half_life": np.nan}, r"half_life=nan must be"),
        ({"decay": 0.5, "half_life": 3}, r"decay and half_life .* give one of them"),
    ],
)
def test_invalid_settings_are_refused(named, message):
    model = GaussianClassifier("diag").fit([[0.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1])
    with pytest.raises(DataError, match=message):
        model.partial_fit([[2.0]], [0], **named)
    assert model.statistics_.weight.tolist() == [2.0, 2.0]


def test_pca_fades():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [3, 2, 1]
    found = suffice.PCA().fit(X[:30]).partial_fit(X[30:], half_life=30)
    expected = suffice.PCA().fit(X, sample_weight=[0.5] * 30 + [1.0] * 30)
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_)
