"""Exponential, gamma, log-normal, inverse Gaussian, geometric and negative binomial densities."""

from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from scipy import stats as sps

from suffice.densities import (
    Density,
    ExponentialDensity,
    GammaDensity,
    GeometricDensity,
    InverseGaussianDensity,
    LogNormalDensity,
    NegativeBinomialDensity,
)
from suffice.errors import DataError, EmptyClassWarning, SingularWarning
from suffice.families import FAMILIES as TABLE
from suffice.sources import as_table
from suffice.stats import MomentStats, collectors
from suffice.tables.batch import Batch
from suffice.tables.labels import SoftLabels
from suffice.tables.table import Matrix

nan, inf = np.nan, np.inf


@dataclass(frozen=True)
class Case:
    kind: type
    scipy: Any  # the distribution of SciPy with these parameters
    log_p: Any  # log p(x | parameters) of mpmath
    parameters: dict[str, list]  # of two classes and two features
    whole: bool = False
    from_zero: bool = False

    @property
    def family(self):
        return self.kind.family

    def density(self):
        return self.kind.from_parameters(**self.parameters)

    def rows(self, rng, n=40):
        """Rows, labels of two classes, and the density that they are drawn from."""
        y = np.arange(n) % 2
        return self.density().sample(y, rng).astype(float), np.array(["a", "b"])[y]

    def collect(self, X, y, w=None):
        return TABLE[self.family].collector({"alpha": 0.0})(Batch.of(X, y, w))

    def estimate(self, X, y, w=None, alpha=0.0):
        return TABLE[self.family].estimate(self.collect(X, y, w), {"alpha": alpha})


def nb_log_p(x, m, r):
    return mp.loggamma(x + r) - mp.loggamma(r) - mp.loggamma(x + 1) + r * mp.log(r / (r + m)) + x * mp.log(m / (r + m))


CASES = {
    case.family: case
    for case in (
        Case(
            ExponentialDensity,
            lambda m: sps.expon(scale=m),
            lambda x, m: -x / m - mp.log(m),
            {"means": [[1.0, 1e-3], [3.0, 50.0]]},
            from_zero=True,
        ),
        Case(
            GammaDensity,
            lambda a, s: sps.gamma(a, scale=s),
            lambda x, a, s: (a - 1) * mp.log(x) - x / s - a * mp.log(s) - mp.loggamma(a),
            {"shapes": [[0.4, 2.5], [30.0, 1.0]], "scales": [[1.0, 1e4], [0.1, 2.0]]},
        ),
        Case(
            LogNormalDensity,
            lambda m, s: sps.lognorm(s, scale=np.exp(m)),
            lambda x, m, s: -((mp.log(x) - m) ** 2) / (2 * s**2) - mp.log(s * x) - mp.log(2 * mp.pi) / 2,
            {"log_means": [[0.0, -8.0], [1.0, 5.0]], "log_deviations": [[1.0, 0.2], [2.0, 0.5]]},
        ),
        Case(
            InverseGaussianDensity,
            lambda m, s: sps.invgauss(m / s, scale=s),
            lambda x, m, s: (mp.log(s) - mp.log(2 * mp.pi) - 3 * mp.log(x) - s * (x - m) ** 2 / (m**2 * x)) / 2,
            {"means": [[1.0, 1e-3], [3.0, 50.0]], "shapes": [[2.0, 1e-3], [1.0, 900.0]]},
        ),
        Case(
            GeometricDensity,
            lambda p: sps.geom(p, loc=-1),
            lambda x, p: x * mp.log(1 - p) + mp.log(p),
            {"probabilities": [[0.5, 0.9], [0.1, 0.01]]},
            whole=True,
            from_zero=True,
        ),
        Case(
            NegativeBinomialDensity,
            lambda m, r: sps.nbinom(r, r / (r + m)),
            nb_log_p,
            {"means": [[2.0, 30.0], [9.0, 1.0]], "sizes": [[1.5, 4.0], [25.0, 0.3]]},
            whole=True,
            from_zero=True,
        ),
    )
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
positive = pytest.mark.parametrize("case", [c for c in CASES.values() if not c.from_zero], ids=lambda c: c.family)


def frozen(case, c, j):
    return case.scipy(*(values[c][j] for values in case.parameters.values()))


def log_p(case, X):
    """By SciPy, (n, 2)."""
    name = "logpmf" if case.whole else "logpdf"
    return np.array([sum(getattr(frozen(case, c, j), name)(X[:, j]) for j in range(2)) for c in range(2)]).T


@cases
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_log_likelihoods_are_those_of_scipy(case, dtype, rng):
    X = (case.rows(rng)[0] + (dtype is np.int32)).astype(dtype)
    np.testing.assert_allclose(case.density().log_likelihood(X), log_p(case, X.astype(float)), rtol=1e-10, atol=1e-10)


@cases
def test_many_rows_are_scored_block_by_block(case, rng):
    X, density = np.tile(case.rows(rng)[0], (1200, 1)), case.density()
    best, evidence = np.empty(len(X), np.int64), np.empty(len(X))
    density.score(X, [0.5, -0.5], best=best, evidence=evidence)
    joint = density.log_likelihood(X) + np.array([0.5, -0.5])
    np.testing.assert_array_equal(best, joint.argmax(axis=1))
    np.testing.assert_allclose(evidence, np.logaddexp(*joint.T), rtol=1e-12)
    np.testing.assert_array_equal(joint[:40], joint[-40:])


@cases
def test_what_is_outside_the_support_is_impossible(case):
    density = case.density()
    X = np.array([[-1, 1], [inf, 1], [-inf, 1], [-1, nan], [1, 1]])
    scores = density.log_likelihood(X)
    assert np.isneginf(scores[:4]).all()
    assert np.isfinite(scores[4]).all()
    assert np.isfinite(density.log_likelihood([[0, 1]])).all() == case.from_zero
    assert np.isneginf(density.log_likelihood([[0.5, 1]])).all() == case.whole
    assert density.has_zeros
    np.testing.assert_array_equal(density.explain(X, 0).sum(axis=1), scores[:, 0])


@cases
def test_a_missing_cell_drops_out(case, rng):
    X, _ = case.rows(rng)
    density, holed = case.density(), X.copy()
    holed[::2, 0] = holed[1::4, 1] = nan
    cells = np.stack([density.explain(X, c) for c in range(2)], axis=1)
    expected = np.where(np.isnan(holed)[:, None], 0.0, cells).sum(axis=2)
    np.testing.assert_allclose(density.log_likelihood(holed), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(density.marginal(holed), density.log_likelihood(holed))
    assert (density.log_likelihood([[nan, nan]]) == 0).all()
    filled = density.fill(holed, np.tile([1.0, 0.0], (len(X), 1)))
    means = [frozen(case, 0, j).mean() for j in range(2)]
    np.testing.assert_allclose(filled, np.where(np.isnan(holed), means, X), rtol=1e-10)


@cases
def test_shares_sum_to_the_score(case, rng):
    X, _ = case.rows(rng)
    density = case.density()
    for c in range(2):
        np.testing.assert_allclose(density.explain(X, c).sum(axis=1), density.log_likelihood(X)[:, c], rtol=1e-12)


# Maximum likelihood.


def most_likely(case, x, start, weight=None):
    """The parameters where the gradient of the log-likelihood, written by its definition, vanishes; by mpmath."""
    x = [mp.mpf(float(v)) for v in x]
    w = [1] * len(x) if weight is None else weight.tolist()

    def total(*logs):  # all parameters but log-means are positive
        own = [t if name == "log_means" else mp.exp(t) for name, t in zip(case.parameters, logs, strict=True)]
        return mp.fsum(weight * case.log_p(v, *own) for v, weight in zip(x, w, strict=True))

    n = len(start)
    gradient = [lambda *t, i=i: mp.diff(total, t, tuple(int(j == i) for j in range(n))) for i in range(n)]
    logs = [s if name == "log_means" else mp.log(s) for name, s in zip(case.parameters, start, strict=True)]
    found = mp.findroot(gradient if n > 1 else gradient[0], logs if n > 1 else logs[0], tol=1e-25)
    found = list(found) if n > 1 else [found]
    return [float(t if name == "log_means" else mp.exp(t)) for name, t in zip(case.parameters, found, strict=True)]


@cases
@pytest.mark.parametrize("weighted", [False, True])
def test_estimates_are_the_most_likely_parameters(case, weighted, rng):
    X, y = case.rows(rng, 60)
    if case.kind is GeometricDensity:
        X = X.clip(0, 30)  # p is not to be larger than one on the way
    w = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    estimated = case.estimate(X, y, w).parameters()
    with mp.workdps(40):
        for c, j in ((0, 0), (1, 1)):
            own = y == "ab"[c]
            found = [values[c, j] for values in estimated.values()]
            expected = most_likely(case, X[own, j], found, None if w is None else w[own])
            np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_estimates_are_those_of_scipy(rng):
    x = rng.gamma(3.0, 2.0, (200, 1))
    y = np.full(200, "a")
    gamma, lognormal = CASES["gamma"].estimate(x, y), CASES["lognormal"].estimate(x, y)
    shape, _, scale = sps.gamma.fit(x, floc=0)
    np.testing.assert_allclose([gamma.shapes[0, 0], gamma.scales[0, 0]], [shape, scale], rtol=1e-10)
    deviation, _, scale = sps.lognorm.fit(x, floc=0)
    found = [lognormal.log_deviations[0, 0], np.exp(lognormal.log_means[0, 0])]
    np.testing.assert_allclose(found, [deviation, scale], rtol=1e-10)


@cases
def test_weight_k_is_k_repetitions(case, rng):
    X, y = case.rows(rng)
    k = np.arange(len(y)) % 4
    weighted = case.estimate(X, y, k.astype(float)).parameters()
    repeated = case.estimate(np.repeat(X, k, axis=0), np.repeat(y, k)).parameters()
    for name, values in weighted.items():
        np.testing.assert_allclose(values, repeated[name], rtol=1e-9)


@cases
def test_soft_labels_share_rows_among_classes(case, rng):
    X, _ = case.rows(rng)
    share = np.linspace(0.1, 0.9, len(X))
    soft = SoftLabels(np.array(["a", "b"]), np.column_stack([share, 1 - share]))
    collect, estimate = TABLE[case.family].collector({}), TABLE[case.family].estimate
    found = estimate(collect(Batch(Matrix(X), soft)), {"alpha": 0.0}).parameters()
    twice, w = np.vstack([X, X]), np.concatenate([share, 1 - share])
    expected = case.estimate(twice, np.repeat(["a", "b"], len(X)), w).parameters()
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-9)


@positive
@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e12, 1e300])
def test_the_unit_of_a_column_does_not_matter(case, unit, rng):
    X, y = case.rows(rng)
    X = X / np.abs(X).max(axis=0)
    X = np.clip(X, 1e-6, None)
    plain, scaled = case.estimate(X, y), case.estimate(X * unit, y)
    shift = 2 * np.log(unit)
    np.testing.assert_allclose(scaled.log_likelihood(X * unit) + shift, plain.log_likelihood(X), rtol=1e-9, atol=1e-9)


def test_an_exponential_takes_any_unit(rng):
    X, y = CASES["exponential"].rows(rng)
    for unit in (1e-300, 1e300):
        scaled = CASES["exponential"].estimate(X * unit, y)
        np.testing.assert_allclose(scaled.means / unit, CASES["exponential"].estimate(X, y).means, rtol=1e-12)


def test_rows_of_any_size_can_be_merged_and_forgotten(rng):
    """Their sums of squares overflow, which only the method of moments needs."""
    X, y = CASES["gamma"].rows(rng)
    one, two = (CASES["gamma"].collect(X[rows] * 1e300 / X.max(), y[rows]) for rows in (slice(0, 20), slice(20, 40)))
    assert (one + two).is_finite()
    left = (one + two) - two
    assert left.is_finite()
    np.testing.assert_allclose(left.mean, one.mean, rtol=1e-12)
    again = type(left).from_arrays(left.classes, left.to_arrays())
    np.testing.assert_array_equal(again.scatter, left.scatter)


# Degenerate rows.


@positive
def test_a_column_that_hardly_varies_is_named(case, rng):
    X, y = case.rows(rng)
    X[y == "b", 1] = 7.0
    stats = case.collect(X, y)
    with pytest.warns(SingularWarning, match=rf"column 'size' hardly varies in class 'b'.*{case.family}"):
        density = case.kind.estimate(stats, names=("weight", "size"))
    scores = density.log_likelihood([[1.0, 7.0], [1.0, 8.0], [1.0, 1e300], [1.0, 1e-300]])
    assert np.isfinite(scores).all()
    assert scores[0, 1] > scores[0, 0]
    assert scores[1, 1] < scores[1, 0]
    np.testing.assert_allclose(density.expectation[1, 1], 7.0, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
@cases
def test_one_row_is_enough_for_finite_scores(case):
    density = case.estimate([[3.0, 1.0], [2.0, 5.0]], ["a", "b"])
    assert np.isfinite(density.log_likelihood([[3.0, 1.0], [2.0, 5.0], [4.0, 9.0]])).all()
    np.testing.assert_allclose(density.expectation, [[3.0, 1.0], [2.0, 5.0]], rtol=1e-6)


def test_an_exponential_of_zeros_is_held_above_zero():
    stats = CASES["exponential"].collect([[0.0, 0.0], [4.0, 0.0]], ["a", "b"])
    with pytest.warns(SingularWarning, match="column 0, 1 hardly varies in class 'a', 'b'"):
        density = ExponentialDensity.estimate(stats)
    assert density.means[0, 0] == pytest.approx(2e-9)
    assert np.isfinite(density.log_likelihood([[0.0, 0.0], [1.0, 1.0], [1e300, 1e300]])).all()


@pytest.mark.parametrize("x", [[2, 3, 2, 3], [5], [0, 0], [1, 1, 1, 1]])
def test_counts_that_vary_little_are_a_poissons(x):
    density = CASES["negative_binomial"].estimate(np.array(x)[:, None], np.full(len(x), "a"))
    assert np.isposinf(density.sizes).all()
    values = np.arange(6)
    expected = sps.poisson.logpmf(values, np.mean(x))
    np.testing.assert_allclose(density.log_likelihood(values[:, None])[:, 0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("more", "rtol"), [(1e-2, 1e-12), (1e-4, 1e-10), (1e-8, 1e-6)])
def test_counts_that_vary_hardly_more_are_nearly_a_poissons(more, rtol):
    """A Poisson of mean 1 and a little more of the value 9; what cancels in the variance is all that is lost."""
    values = np.arange(20)
    share = sps.poisson.pmf(values, 1.0)
    share[9] += more
    found = CASES["negative_binomial"].estimate(values[:, None], np.full(20, "a"), share).sizes[0, 0]
    with mp.workdps(50):
        cells = [(mp.mpf(float(s)), int(v)) for s, v in zip(share, values, strict=True)]
        total = mp.fsum(s for s, _ in cells)
        mean = mp.fsum(s * v for s, v in cells) / total

        def slope(log_size):
            size = mp.exp(log_size)
            steps = mp.fsum(s * (mp.digamma(v + size) - mp.digamma(size)) for s, v in cells)
            return (steps / total - mp.log1p(mean / size)) * size**2

        exact = float(mp.exp(mp.findroot(slope, mp.log(mp.mpf(float(found))))))
    assert found == pytest.approx(exact, rel=rtol)


@cases
def test_a_class_without_rows_is_never_likely(case, rng):
    X, y = case.rows(rng)
    collect = TABLE[case.family].collector({})
    stats = collect(Batch.of(X, y)).aligned(np.array(["a", "b", "c"]))
    with pytest.warns(EmptyClassWarning, match="'c'"):
        density = TABLE[case.family].estimate(stats, {"alpha": 0.0})
    assert np.isneginf(density.log_likelihood(X)[:, 2]).all()
    assert all(np.isnan(values[2]).all() for values in density.parameters().values())
    again = case.kind.from_parameters(**density.parameters())
    np.testing.assert_allclose(again.log_likelihood(X), density.log_likelihood(X), rtol=1e-12)
    assert np.isfinite(density.expectation).all()


@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
@cases
def test_a_column_that_a_class_never_has_is_that_of_all_rows(case, rng):
    X, y = case.rows(rng)
    X[y == "b", 1] = nan
    density, pooled = case.estimate(X, y), case.estimate(X, np.full(len(y), "a"))
    for name, values in density.parameters().items():
        np.testing.assert_allclose(values[1, 1], pooled.parameters()[name][0, 1], rtol=1e-12)
    X[:, 1] = nan
    density = case.estimate(X, y)
    assert np.isfinite(density.log_likelihood([[1.0, 1.0]])).all()


@pytest.mark.parametrize("family", ["geometric", "negative_binomial"])
def test_pseudo_counts_are_rows_like_all_rows(family, rng):
    case = CASES[family]
    X, y = case.rows(rng, 30)
    density = case.estimate(X, y, alpha=3.0)
    own, everyone = X[y == "a"], X.mean(axis=0)
    mean = (own.sum(axis=0) + 3 * everyone) / (len(own) + 3)
    np.testing.assert_allclose(density.expectation[0], mean, rtol=1e-12)
    w = np.concatenate([np.ones(len(own)), np.full(len(X), 3 / len(X))])
    added = case.estimate(np.vstack([own, X]), np.full(len(w), "a"), w)
    for name, values in density.parameters().items():
        np.testing.assert_allclose(values[0], added.parameters()[name][0], rtol=1e-9)
    zeros = case.estimate(np.zeros((4, 1)), list("aabb"), alpha=1.0)
    assert np.isfinite(zeros.log_likelihood([[0.0], [3.0]])).all()


@cases
def test_the_log_likelihood_of_the_rows_follows_from_the_statistic(case, rng):
    X, y = case.rows(rng)
    X[::5, 0] = nan
    w, density = rng.uniform(0.5, 2.0, len(y)) / len(y), case.density()  # classes may weigh less than one row
    stats = case.collect(X, y, w)
    own = density.log_likelihood(X)[np.arange(len(y)), (y == "b").astype(int)]
    assert density.log_likelihood_of(stats) == pytest.approx(w @ own, rel=1e-10)
    assert density.log_likelihood_of(stats - stats) == 0
    with pytest.raises(DataError, match="differ in their numbers of classes"):
        density.of_classes([0]).log_likelihood_of(stats)
    gone = {name: np.where([[True], [False]], nan, values) for name, values in case.parameters.items()}
    assert case.kind.from_parameters(**gone).log_likelihood_of(stats) == -inf


def test_a_statistic_of_another_family_has_no_log_likelihood(rng):
    X, y = CASES["gamma"].rows(rng)
    with pytest.raises(DataError, match="is not estimated from"):
        CASES["gamma"].density().log_likelihood_of(CASES["inverse_gaussian"].collect(X, y))


@pytest.mark.parametrize("family", ["exponential", "geometric"])
def test_scores_that_are_linear_in_x(family, rng):
    X, _ = CASES[family].rows(rng)
    density = CASES[family].density()
    center, slope, constant = density.linear()
    np.testing.assert_allclose((X - center) @ slope.T + constant, density.log_likelihood(X), rtol=1e-12)


def test_zeros_are_not_linear():
    with pytest.raises(DataError, match="use alpha > 0"):
        GeometricDensity.from_parameters([1.0, 0.5]).linear()
    with pytest.raises(DataError, match="is not linear"):
        CASES["gamma"].density().linear()


# The method of moments.


@cases
def test_the_method_of_moments_matches_means_and_variances(case, rng):
    X, y = case.rows(rng, 60)
    density = case.kind.from_moments(MomentStats.of(Batch.of(X, y)))
    for c in range(2):
        own = X[y == "ab"[c]]
        for j in range(2):
            matched = case.scipy(*(values[c, j] for values in density.parameters().values()))
            assert matched.mean() == pytest.approx(own[:, j].mean(), rel=1e-9)
            if len(case.parameters) == 2:
                assert matched.var() == pytest.approx(own[:, j].var(), rel=1e-7)


# Draws.


@cases
def test_draws_have_the_distribution_of_scipy(case):
    drawn = case.density().sample(np.repeat([0, 1], 4000), np.random.default_rng(3))
    assert drawn.dtype.kind == ("i" if case.whole else "f")
    for c in range(2):
        for j in range(2):
            x, expected = drawn[c * 4000 : (c + 1) * 4000, j], frozen(case, c, j)
            if case.whole:
                values = np.arange(8)
                shares = np.array([(x == v).mean() for v in values])
                np.testing.assert_allclose(shares, expected.pmf(values), atol=0.03)
                assert abs(x.mean() - expected.mean()) < 5 * expected.std() / 4000**0.5
            else:
                assert sps.kstest(x, expected.cdf).pvalue > 1e-4


@cases
def test_typicality_is_the_probability_of_what_is_no_more_likely(case):
    density = case.density().of_classes([1])
    X = density.sample(np.zeros(2000, int), np.random.default_rng(1)).astype(float)
    typical = density.typicality(X)[:, 0]
    assert abs((typical <= 0.1).mean() - 0.1) < 0.03 or case.whole
    scores = density.log_likelihood(X)[:, 0]
    order = np.argsort(scores)
    assert (np.diff(typical[order]) >= 0).all()
    assert density.typicality(np.array([[-1.0, 1.0]])) == 0


def test_draws_that_underflow_stay_inside_the_support():
    density = GammaDensity.from_parameters([[1e-4]], [[1.0]])
    drawn = density.sample(np.zeros(100, int), np.random.default_rng(0))
    assert (drawn > 0).all()
    assert np.isfinite(density.log_likelihood(drawn)).all()


# In and out.


@cases
def test_arrays_classes_and_parameters(case, rng):
    X, _ = case.rows(rng)
    density = case.density()
    assert Density.kinds[case.kind.__name__] is case.kind
    for again in (case.kind.from_arrays(density.to_arrays()), case.kind.from_parameters(**density.parameters())):
        np.testing.assert_array_equal(again.log_likelihood(X), density.log_likelihood(X))
    np.testing.assert_array_equal(density.of_classes((1,)).log_likelihood(X)[:, 0], density.log_likelihood(X)[:, 1])
    assert repr(density) == f"{case.kind.__name__}(2 classes, 2 features)"
    for name, values in density.parameters().items():
        np.testing.assert_array_equal(values, case.parameters[name])


BAD = [
    (ExponentialDensity, {"means": [0.0]}, r"means\[0, 0\].*above zero"),
    (GammaDensity, {"shapes": [1.0, -1.0], "scales": [1.0, 1.0]}, r"shapes\[1, 0\], of class 1, is -1"),
    (GammaDensity, {"shapes": [1.0], "scales": [[1.0, 1.0]]}, r"scales must have the shape .* = \(1, 1\)"),
    (LogNormalDensity, {"log_means": [inf], "log_deviations": [1.0]}, "only finite"),
    (LogNormalDensity, {"log_means": [0.0], "log_deviations": [0.0]}, "above zero"),
    (InverseGaussianDensity, {"means": ["x"], "shapes": [1.0]}, "numbers"),
    (GeometricDensity, {"probabilities": [1.5]}, "from 0 to 1"),
    (GeometricDensity, {"probabilities": [0.0]}, "above zero"),
    (NegativeBinomialDensity, {"means": [-1.0], "sizes": [1.0]}, "must not be negative"),
    (NegativeBinomialDensity, {"means": [1.0], "sizes": [0.0]}, "above zero"),
    (NegativeBinomialDensity, {"means": [1.0], "sizes": [[1.0, inf]]}, "shape"),
]


@pytest.mark.parametrize(("kind", "parameters", "message"), BAD)
def test_parameters_that_are_impossible_are_refused(kind, parameters, message):
    with pytest.raises(DataError, match=message):
        kind.from_parameters(**parameters)


# Far out, against mpmath.

EXTREMES = [
    *(("gamma", (a, s), f) for a in (1e-6, 0.1, 30.0, 1e9) for s in (1e-290, 1.0, 1e290) for f in (1e-12, 0.99999, 50)),
    *(("inverse_gaussian", (m, s), f) for m, s in ((1e-300, 1.0), (1.0, 1e9), (1e200, 1e205)) for f in (1e-3, 1, 1e6)),
    *(("lognormal", (m, s), f) for m, s in ((-600.0, 3e-5), (600.0, 9.0)) for f in (0.9, 1.0, 1.1)),
]  # fmt: skip


@pytest.mark.parametrize(("family", "parameters", "factor"), EXTREMES)
def test_extremes(family, parameters, factor):
    case = CASES[family]
    density = case.kind.from_parameters(*([[value]] for value in parameters))
    x = float(np.exp(parameters[0] * factor) if family == "lognormal" else density.expectation[0, 0] * factor)
    with mp.workdps(60):
        exact = float(case.log_p(mp.mpf(x), *map(mp.mpf, parameters)))
    assert density.log_likelihood([[x]])[0, 0] == pytest.approx(exact, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("x", [0, 1, 3, 1000, 10**6, 10**9])
@pytest.mark.parametrize(
    ("mean", "size"),
    [(3.0, 2.5), (1e-9, 1.0), (10.0, 1e-3), (10.0, 1e7), (1e6, 1e3), (1e6, 1e13), (1e12, 3.0), (2.0, 19.9999)],
)
def test_counts_far_out(mean, size, x):
    with mp.workdps(60):
        exact = float(nb_log_p(mp.mpf(x), mp.mpf(mean), mp.mpf(size)))
        limit = float(x * mp.log(mean) - mp.mpf(mean) - mp.loggamma(x + 1))
    density = NegativeBinomialDensity.from_parameters([mean, mean, 0.0], [size, inf, size])
    scores = density.log_likelihood([[x]])[0]
    np.testing.assert_allclose(scores[:2], [exact, limit], rtol=1e-12, atol=1e-12)
    assert scores[2] == (0 if x == 0 else -inf)


# What is refused.


@cases
def test_values_outside_the_support_are_refused_by_column_and_number_of_rows(case):
    frame = pd.DataFrame({"amount": [1.0, -1, 2, -3, nan], "rest": [1.0, 1, 1, 1, 1]})
    batch = Batch.of(as_table(frame), list("ababb"))
    needs = "counts" if case.whole else "not negative" if case.from_zero else "positive numbers"
    message = rf"column 'amount' holds .* in 2 rows; the {case.family} family needs .*{needs}.*such as 'gaussian'"
    with pytest.raises(DataError, match=message):
        TABLE[case.family].collector({})(batch)
    with pytest.raises(DataError, match="column 'amount' holds infinity"):
        TABLE[case.family].collector({})(Batch.of(as_table(frame.abs().replace(3, inf)), list("ababb")))
    with pytest.raises(DataError, match="in 1 row;"):
        TABLE[case.family].collector({})(Batch.of(as_table(frame), list("ababb"), [1.0, 0, 1, 2, 1]))
    weightless = Batch.of(as_table(frame), list("ababb"), [1.0, 0, 1, 0, 1])
    assert TABLE[case.family].collector({})(weightless).weight.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("family", ["geometric", "negative_binomial"])
def test_fractions_are_no_counts(family):
    with pytest.raises(DataError, match=r"column 0 holds values that are not whole numbers from 0 on in 1 row;"):
        CASES[family].collect([[1.5], [2.0]], ["a", "b"])


def test_counts_beyond_exactness_are_refused():
    with pytest.raises(DataError, match="column 0 holds counts of 9007199254740992 or more"):
        CASES["negative_binomial"].collect([[2.0**53], [2.0]], ["a", "b"])


def test_reciprocals_that_overflow_are_refused():
    with pytest.raises(DataError, match="too close to zero"):
        CASES["inverse_gaussian"].collect([[5e-324], [2.0]], ["a", "b"])


def test_histograms_of_many_rows_are_collected_block_by_block(rng, monkeypatch):
    X, y = CASES["negative_binomial"].rows(rng)
    whole = CASES["negative_binomial"].collect(X, y)
    monkeypatch.setattr(collectors, "_CELLS", 10)
    parts = CASES["negative_binomial"].collect(X, y)
    np.testing.assert_array_equal(parts.count, whole.count)
    assert [v.tolist() for v in parts.categories] == [v.tolist() for v in whole.categories]
