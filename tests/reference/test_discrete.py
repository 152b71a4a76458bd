"""Discrete models against numbers and programs that are not ours."""

import mpmath
import numpy as np
import pytest
from scipy import stats as sps
from scipy.sparse import csr_array
from sklearn import naive_bayes as sknb

from suffice import BernoulliClassifier, CategoricalClassifier, MultinomialClassifier, fit_density
from suffice.densities import (
    BernoulliDensity,
    BetaBinomialDensity,
    BinomialDensity,
    CategoricalDensity,
    ComplementDensity,
    GammaPoissonDensity,
    GaussianDensity,
    MultinomialDensity,
    PoissonDensity,
    PolyaDensity,
)
from suffice.errors import DataError
from suffice.sources import as_table
from suffice.stats import CategoryStats, CountStats, MomentStats
from suffice.tables.batch import Batch

pytestmark = pytest.mark.usefixtures("kernel")

inf = np.inf


@pytest.fixture
def documents(rng):
    """Counts of three classes of different habits."""
    rate = rng.gamma(1.0, 2.0, (3, 6))
    y = np.repeat([0, 1, 2], [8, 15, 30])
    return rng.poisson(rate[y]).astype(float), y


def sums(X, y, **rest):
    return CountStats.of(Batch.of(X, y, **rest))


def presence(X, y, **rest):
    return CountStats.of(Batch.of(X, y, **rest), presence=True)


# The numbers of the specification.


def test_ten_cats_of_spec_4_1():
    fur = ["black", "orange", "orange", "white", "white", "black", "white", "white", "black", "calico"]
    clf = CategoricalClassifier(alpha=0).fit([[f] for f in fur], ["male"] * 5 + ["female"] * 5)
    assert clf.categories_[0].tolist() == ["black", "calico", "orange", "white"]
    p = np.exp(clf.log_likelihood([["black"], ["orange"], ["white"], ["calico"]]))
    np.testing.assert_allclose(p[:, 0], [0.4, 0, 0.4, 0.2], rtol=1e-14)
    np.testing.assert_allclose(p[:, 1], [0.2, 0.4, 0.4, 0], rtol=1e-14)
    assert clf.llr([["orange"], ["calico"]]).tolist() == [inf, -inf]


def test_naive_products_of_spec_4_2():
    X, y = np.array([[1, 0], [1, 1], [0, 1], [1, 0], [0, 0]]), np.array(["a", "a", "b", "b", "b"])
    density = BernoulliDensity.estimate(presence(X, y), 0)
    np.testing.assert_allclose(np.exp(density.log_likelihood([[1, 1]])), [[1 * 1 / 2, 1 / 3 * 1 / 3]], rtol=1e-14)
    np.testing.assert_allclose(np.exp(density.log_likelihood([[1, 0]])), [[1 * 1 / 2, 1 / 3 * 2 / 3]], rtol=1e-14)
    pairs = CategoricalDensity.estimate(CategoryStats.of(Batch.of(X, y)), 0)
    cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
    np.testing.assert_allclose(pairs.log_likelihood(cells), density.log_likelihood(cells), rtol=1e-13)


C = [(6, 8, 14, 1, 10, 1, 7), (8, 10, 14, 0, 11, 1, 7), (12, 22, 34, 1, 21, 2, 13), (4, 6, 10, 1, 6, 1, 4)]
PYTHON = [(6, 14, 30, 6, 2, 16, 16), (2, 8, 14, 3, 1, 9, 8), (4, 14, 26, 7, 2, 15, 14)]


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_punctuation_of_spec_4_3(form):
    clf = MultinomialClassifier(alpha=0).fit(form(np.array(C + PYTHON)), ["C"] * 4 + ["Python"] * 3)
    p = np.exp(MultinomialDensity.estimate(clf.statistics_, 0).one)
    np.testing.assert_allclose(p[0], [0.128, 0.196, 0.306, 0.013, 0.204, 0.021, 0.132], atol=5e-4)
    np.testing.assert_allclose(p[1], [0.055, 0.166, 0.323, 0.074, 0.023, 0.184, 0.175], atol=5e-4)
    X = form(np.array([(2, 10, 12, 0, 1, 1, 0), (2, 18, 16, 3, 0, 1, 1)]))
    llr = clf.llr(X, "Python", "C")
    np.testing.assert_allclose(llr, X @ (np.log(p[0]) - np.log(p[1])), rtol=1e-12)
    np.testing.assert_allclose(llr, [2.73, -3.88], atol=0.005)
    # The published 4.8 and -0.6 are sums of log N_C,j - log N_Py,j: what the classes counted in all, 235 and 217, was
    # not divided out.
    np.testing.assert_allclose(llr + X.sum(axis=1) * np.log(235 / 217), [4.8, -0.6], atol=0.05)


def test_three_heads_of_spec_4_4():
    never = fit_density("bernoulli", [1, 1, 1])
    assert never.parameters["p"].tolist() == [1.0]
    assert never.log_likelihood([0, 1]).tolist() == [-inf, 0.0]
    some = fit_density("bernoulli", [1, 1, 1], alpha=1)
    np.testing.assert_allclose(some.log_likelihood([0, 1]), np.log([0.2, 0.8]), rtol=1e-14)
    words = fit_density("categorical", ["heads"] * 3)
    assert words.log_likelihood(["tails"]).tolist() == [-inf]


def test_tokens_and_occurrences_of_spec_4_5(rng):
    """One model: equal ratios and posteriors."""
    tokens, y = rng.integers(0, 5, 400), rng.integers(0, 2, 400)
    by_token = CategoricalClassifier(alpha=0.5).fit(tokens[:, None], y)
    documents = [(c, rng.integers(0, 5, n)) for c in (0, 1) for n in rng.integers(0, 9, 7)]
    count = np.array([[(tokens[y == c] == j).sum() for j in range(5)] for c in (0, 1)])
    by_count = MultinomialClassifier(alpha=0.5, prior=by_token.prior_).fit(count, [0, 1])
    for _, words in documents:
        row = np.bincount(words, minlength=5)[None]
        llr = by_token.llr(words[:, None]).sum() if len(words) else 0.0
        np.testing.assert_allclose(by_count.llr(row), llr, rtol=1e-12, atol=1e-12)
        odds = np.log(by_token.prior_[1] / by_token.prior_[0]) + llr
        np.testing.assert_allclose(by_count.predict_proba(row)[0, 1], 1 / (1 + np.exp(-odds)), rtol=1e-12)


UNKNOWN = {"smooth": np.log([1 / 4, 1 / 5]), "ignore": [0.0, 0.0]}


@pytest.mark.parametrize(("policy", "expected"), UNKNOWN.items())
def test_unseen_categories_of_spec_4_8(policy, expected):
    clf = CategoricalClassifier(alpha=1, unknown=policy).fit([["x"], ["y"], ["x"], ["y"], ["y"]], list("aabbb"))
    np.testing.assert_allclose(clf.log_likelihood([["z"]]), [expected], rtol=1e-13)
    assert clf.unknown_cells([["z"], ["x"], [None]]).tolist() == [[True], [False], [False]]


def test_an_unseen_category_may_be_an_error():
    clf = CategoricalClassifier(unknown="error").fit([["x"], ["y"]], list("ab"))
    with pytest.raises(ValueError, match="column 0 holds 'z', which was never seen"):
        clf.predict([["x"], ["z"]])


# SciPy's distributions.


@pytest.mark.parametrize("alpha", [0.5, 2])
def test_bernoulli_is_scipys(documents, alpha):
    X, y = documents
    density = BernoulliDensity.estimate(presence(X > 2, y), alpha)
    Q = (X[::3] > 1).astype(float)
    for c in range(3):
        p = ((X[y == c] > 2).sum(axis=0) + alpha) / ((y == c).sum() + 2 * alpha)
        expected = sps.bernoulli.logpmf(Q, p)
        np.testing.assert_allclose(density.log_likelihood(Q)[:, c], expected.sum(axis=1), rtol=1e-12)
        np.testing.assert_allclose(density.explain(density.read(as_table(Q)), c), expected, rtol=1e-11)


def test_binomial_is_scipys(documents):
    X, y = documents
    trials = X.max(axis=0) + np.arange(6)
    density = BinomialDensity.estimate(sums(X, y), trials)
    for c in range(3):
        expected = sps.binom.logpmf(X, trials, X[y == c].mean(axis=0) / trials).sum(axis=1)
        np.testing.assert_allclose(density.log_likelihood(X)[:, c], expected, rtol=1e-11)


def test_posterior_predictive_of_successes_is_scipys_beta_binomial(documents):
    X, y = documents
    trials = X.max(axis=0) + np.arange(1, 7)
    density = BetaBinomialDensity.estimate(sums(X, y), trials, 0.5)
    for c in range(3):
        hits = X[y == c].sum(axis=0) + 0.5
        misses = (trials - X[y == c]).sum(axis=0) + 0.5
        expected = sps.betabinom.logpmf(X, trials, hits, misses).sum(axis=1)
        for form in (X, csr_array(X)):
            np.testing.assert_allclose(density.log_likelihood(form)[:, c], expected, rtol=1e-9)


def test_poisson_is_scipys(documents):
    X, y = documents
    density, shrunk = (PoissonDensity.estimate(sums(X, y), alpha) for alpha in (0, 3))
    for c in range(3):
        rate = X[y == c].mean(axis=0)
        np.testing.assert_allclose(density.log_likelihood(X)[:, c], sps.poisson.logpmf(X, rate).sum(axis=1), rtol=1e-11)
        rate = (X[y == c].sum(axis=0) + 3 * X.mean(axis=0)) / ((y == c).sum() + 3)
        np.testing.assert_allclose(shrunk.log_likelihood(X)[:, c], sps.poisson.logpmf(X, rate).sum(axis=1), rtol=1e-11)


def test_multinomial_is_scipys(documents):
    X, y = documents
    for alpha in (0, 1.5):
        density = MultinomialDensity.estimate(sums(X, y), alpha)
        for c in range(3):
            p = X[y == c].sum(axis=0) + alpha
            expected = [sps.multinomial.logpmf(x, x.sum(), p / p.sum()) for x in X]
            for form in (X, csr_array(X), X.astype(np.float32), csr_array(X.astype(np.int32))):
                np.testing.assert_allclose(density.log_likelihood(form)[:, c], expected, rtol=1e-10)


def test_posterior_predictive_of_words_is_scipys_dirichlet_multinomial(documents):
    X, y = documents
    density = PolyaDensity.estimate(sums(X, y), 0.7)
    for c in range(3):
        alpha = X[y == c].sum(axis=0) + 0.7
        expected = [sps.dirichlet_multinomial.logpmf(x.astype(int), alpha, int(x.sum())) for x in X]
        for form in (X, csr_array(X)):
            np.testing.assert_allclose(density.log_likelihood(form)[:, c], expected, rtol=1e-10, atol=1e-10)


def test_posterior_predictive_of_events_is_scipys_negative_binomial(documents):
    X, y = documents
    density = GammaPoissonDensity.estimate(sums(X, y), 2)
    for c in range(3):
        events, rows = X[y == c].sum(axis=0) + 2 * X.mean(axis=0), (y == c).sum() + 2
        expected = sps.nbinom.logpmf(X, events, rows / (rows + 1)).sum(axis=1)
        for form in (X, csr_array(X)):
            np.testing.assert_allclose(density.log_likelihood(form)[:, c], expected, rtol=1e-10)


def test_large_counts_keep_their_digits_against_mpmath():
    mpmath.mp.dps = 40
    X, y = np.array([[123456, 7.0, 1e6], [10, 5, 20]]), ["a", "b"]
    Q = [1e6, 3, 2e6]
    n, total = [mpmath.mpf(v) for v in X[0]], mpmath.mpf(sum(Q))
    p = [v / sum(n) for v in n]
    ways = mpmath.loggamma(total + 1) - sum(mpmath.loggamma(mpmath.mpf(q) + 1) for q in Q)
    exact = ways + sum(q * mpmath.log(v) for q, v in zip(Q, p, strict=True))
    got = MultinomialDensity.estimate(sums(X, y), 0).log_likelihood([Q])[0, 0]
    assert got == pytest.approx(float(exact), rel=1e-9)
    exact = sum(q * mpmath.log(v) - v - mpmath.loggamma(mpmath.mpf(q) + 1) for q, v in zip(Q, n, strict=True))
    assert PoissonDensity.estimate(sums(X, y), 0).log_likelihood([Q])[0, 0] == pytest.approx(float(exact), rel=1e-12)
    rare = BernoulliDensity.estimate(presence([[1]] + [[0]] * 9999, ["a"] * 10000), 1e-12)
    exact = mpmath.log((1 + mpmath.mpf(1e-12)) / (10000 + mpmath.mpf(2e-12)))
    assert rare.log_likelihood([[1]])[0, 0] == pytest.approx(float(exact), rel=1e-13)


# scikit-learn's naive Bayes. Its scores hold the log prior and leave out what all classes share.


def differences(scores):
    return scores - scores[:, :1]


def peer_scores(peer, X):
    return differences(peer.predict_joint_log_proba(X) - getattr(peer, "class_log_prior_", 0.0))


@pytest.mark.parametrize("alpha", [0.3, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_counts_are_scikit_learns(documents, rng, alpha, weighted, form):
    X, y = documents
    w = rng.uniform(0.1, 3, len(y)) if weighted else None
    rows = as_table(form(X))
    for collect, density, peer in (
        (presence, BernoulliDensity, sknb.BernoulliNB),
        (sums, MultinomialDensity, sknb.MultinomialNB),
    ):
        own = density.estimate(collect(rows, y, weight=w), alpha)
        peer = peer(alpha=alpha).fit(form(X), y, sample_weight=w)
        np.testing.assert_allclose(differences(own.log_likelihood(form(X))), peer_scores(peer, form(X)), atol=1e-10)


@pytest.mark.parametrize("norm", [False, True])
def test_complement_weights_are_scikit_learns(documents, norm):
    X, y = documents
    peer = sknb.ComplementNB(alpha=0.5, norm=norm).fit(X, y)
    own = ComplementDensity.estimate(sums(X, y), 0.5, normalize=norm)
    np.testing.assert_allclose(own.one, peer.feature_log_prob_, rtol=1e-13)
    np.testing.assert_allclose(own.log_likelihood(X), peer.predict_joint_log_proba(X), rtol=1e-12)
    clf = MultinomialClassifier(alpha=0.5, complement="normalized" if norm else True).fit(X, y)
    np.testing.assert_array_equal(clf.predict(X, prior="uniform"), peer.predict(X))


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_categories_are_scikit_learns(rng, alpha):
    X, y = rng.integers(0, 4, (80, 3)), rng.integers(0, 3, 80)
    w = rng.uniform(0.1, 3, 80)
    peer = sknb.CategoricalNB(alpha=alpha).fit(X, y, sample_weight=w)
    for form in (X, X.astype(float), X.astype(str).astype(object)):
        own = CategoricalDensity.estimate(CategoryStats.of(Batch.of(form, y, w)), alpha)
        np.testing.assert_allclose(differences(own.log_likelihood(form)), peer_scores(peer, X), atol=1e-11)


def test_gaussian_columns_are_scikit_learns(rng):
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    own = GaussianDensity.estimate(MomentStats.of(Batch.of(X, y)), "diag")
    peer = sknb.GaussianNB(var_smoothing=0).fit(X, y)
    joint = peer.predict_joint_log_proba(X) - np.log(peer.class_prior_)
    np.testing.assert_allclose(own.log_likelihood(X), joint, rtol=1e-10)


def test_truths_are_scikit_learns_whatever_their_threshold(documents):
    X, y = documents
    clf = BernoulliClassifier(alpha=1).fit(X > 3, y)
    peer = sknb.BernoulliNB(alpha=1, binarize=3).fit(X, y)
    np.testing.assert_allclose(clf.predict_log_proba(X > 3), peer.predict_log_proba(X), atol=1e-10)


# Density estimation without labels (part 5).


def test_samples_are_an_affine_map_of_standard_normals():
    """x = A y + mu with covariance A A'."""
    A, mu = np.array([[2.0, 0, 0], [1, 1, 0], [-1, 0.5, 0.3]]), np.array([1.0, -2, 100])
    rows = np.vstack([mu + np.sqrt(3) * a * s for a in A.T for s in (-1, 1)])  # of just this mean and covariance
    fitted = fit_density("gaussian", rows)
    np.testing.assert_allclose(fitted.parameters["mean"], mu, rtol=1e-13)
    np.testing.assert_allclose(fitted.parameters["covariance"], A @ A.T, atol=1e-12)
    drawn = fitted.sample(200_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), mu, atol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T), A @ A.T, atol=0.05)
    expected = sps.multivariate_normal(mu, A @ A.T).logpdf(drawn[:50])
    np.testing.assert_allclose(fitted.log_likelihood(drawn[:50]), expected, rtol=1e-9)


def test_binomial_trials_by_the_method_of_moments():
    x = np.repeat([0, 1, 2, 3], [1, 3, 3, 1])  # three fair tosses
    assert fit_density("binomial", x).parameters["trials"].tolist() == [3.0]
    assert fit_density("binomial", x).parameters["p"] == pytest.approx([0.5])
    drawn = np.random.default_rng(0).binomial(40, 0.7, 20_000)
    assert fit_density("binomial", drawn).parameters["trials"][0] == pytest.approx(40, abs=2)


@pytest.mark.parametrize(
    ("family", "choices", "message"),
    [
        ("poisson", {"alfa": 1}, "'poisson' has no parameter 'alfa'; its parameters are 'alpha', 'predictive'"),
        ("binomial", {"trials": [10, 10, 6]}, "one number, or one for each of 1 features"),
    ],
)
def test_choices_that_a_density_does_not_have(family, choices, message):
    with pytest.raises(DataError, match=message):
        fit_density(family, [3, 4, 5], **choices)


def test_the_beta_binomial_is_that_of_scipy():
    density = fit_density("binomial", [3, 5, 2, 7], trials=10, predictive=True, alpha=2)
    expected = sps.betabinom(10, 17 + 2, 23 + 2).logpmf([0, 4, 10])
    np.testing.assert_allclose(density.log_likelihood([0, 4, 10]), expected, rtol=1e-12)
