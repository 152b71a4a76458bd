"""SPEC 1: priors and costs belong to the application. Against direct evaluation with mpmath and SciPy."""

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import logsumexp

from suffice import decisions
from suffice.decisions import as_cost, as_prior, cheapest, estimate_prior, log_likelihood_ratio, log_posterior
from suffice.densities import GaussianDensity
from suffice.errors import DecisionError
from suffice.stats import MomentStats

AB = np.array(["a", "b"])
ABC = np.array(["a", "b", "c"])
FREQUENCIES = np.array([0.2, 0.3, 0.5])
INF = np.inf
MAX = np.finfo(float).max


def posterior(log_likelihood, prior):
    log_prior = decisions.log(np.asarray(prior, float))
    return np.exp(log_posterior(np.asarray(log_likelihood, float) + log_prior, log_prior))


# Priors.


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (None, FREQUENCIES),
        ("uniform", [1 / 3] * 3),
        ([0.1, 0.2, 0.7], [0.1, 0.2, 0.7]),
        ((0, 0, 1), [0, 0, 1]),
        (np.array([0.1, 0.2, 0.7], np.float32), [0.1, 0.2, 0.7]),
        ({"c": 0.7, "a": 0.1, "b": 0.2}, [0.1, 0.2, 0.7]),
        ([0.1, 0.2, 0.7 + 1e-12], [0.1, 0.2, 0.7]),
        ([0.1, 0.2, 0.7 - 1e-12], [0.1, 0.2, 0.7]),
    ],
    ids=str,
)
def test_a_prior_is_an_array_a_dictionary_uniform_or_the_frequencies(prior, expected):
    found = as_prior(prior, ABC, FREQUENCIES)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    assert abs(found.sum() - 1) < 1e-15


@pytest.mark.parametrize(
    ("classes", "prior"),
    [
        (np.array([False, True]), {True: 0.75, False: 0.25}),
        (np.array([3, 7]), {7: 0.75, 3: 0.25}),
        (np.array([3.0, 7.0]), {7: 0.75, 3: 0.25}),
        (np.array([3, 7]), {np.int64(7): 0.75, np.int8(3): 0.25}),
        (np.array(["x", "y"], object), {"y": 0.75, "x": 0.25}),
        (np.array([b"x", b"y"]), {b"y": 0.75, b"x": 0.25}),
    ],
    ids=str,
)
def test_priors_by_label_of_any_type(classes, prior):
    assert as_prior(prior, classes, np.array([0.5, 0.5])).tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.4, 0.2], r"must sum to 1, but they sum to 1\.1"),
        ([0.3, 0.3, 0.3], r"sum to 0\.9"),
        ([0, 0, 0], r"sum to 0$"),
        ([1.2, -0.1, -0.1], "not negative"),
        ([0.5, np.nan, 0.5], "finite"),
        ([0.5, INF, 0.5], "finite"),
        ([0.5, 0.5], r"one number for each of the 3 classes 'a', 'b', 'c', got shape \(2,\)"),
        ([[0.2, 0.3, 0.5]], r"got shape \(1, 3\)"),
        (1.0, r"got shape \(\)"),
        ("equal", "unknown prior 'equal'"),
        (["x", "y", "z"], "consist of numbers"),
        ([0.5, [0.5], 0], "consist of numbers"),
        ({"a": 0.5, "b": 0.5}, "missing: 'c'"),
        ({"a": 0.2, "b": 0.3, "d": 0.5}, "unknown: 'd'; missing: 'c'"),
        ({"a": 0.2, "b": 0.3, "c": "x"}, "consist of numbers"),
    ],
    ids=str,
)
def test_priors_that_make_no_sense_are_refused(prior, message):
    with pytest.raises(DecisionError, match=message):
        as_prior(prior, ABC, FREQUENCIES)


# Posteriors.


@given(
    hnp.arrays(float, st.tuples(st.integers(1, 6), st.just(3)), elements=st.floats(-800, 300)),
    hnp.arrays(float, 3, elements=st.floats(1e-6, 1)),
)
def test_posteriors_are_bayes_rule(log_likelihood, weight):
    prior = weight / weight.sum()
    with mpmath.workdps(40):
        for row, found in zip(log_likelihood, posterior(log_likelihood, prior), strict=True):
            joint = [mpmath.exp(mpmath.mpf(value)) * mpmath.mpf(p) for value, p in zip(row, prior, strict=True)]
            expected = [float(j / mpmath.fsum(joint)) for j in joint]
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


@given(
    hnp.arrays(float, st.tuples(st.integers(1, 6), st.just(4)), elements=st.floats(-1e308, 1e308) | st.just(-INF)),
    hnp.arrays(float, 4, elements=st.floats(0.0, 1)),
)
@example(np.array([[-MAX, MAX, -INF, 0.0]]), np.ones(4))  # kernels give these for far outliers
def test_log_posteriors_are_normalised_however_far_apart_and_never_nan(log_likelihood, weight):
    assume(weight.sum() > 0)
    log_prior = decisions.log(weight / weight.sum())
    joint = log_likelihood + log_prior
    expected = np.where(np.isneginf(joint).all(axis=1, keepdims=True), log_prior, joint)
    with np.errstate(over="ignore"):
        expected = expected - expected.max(axis=1, keepdims=True)
    expected = expected - logsumexp(expected, axis=1, keepdims=True)
    found = log_posterior(joint.copy(), log_prior)
    assert not np.isnan(found).any()
    np.testing.assert_allclose(logsumexp(found, axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("prior", [[0.2, 0.3, 0.5], [0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])
def test_where_everything_is_impossible_the_posterior_is_the_prior(prior):
    rows = np.array([[-INF, -INF, -INF], [0.0, -INF, -INF], [-INF, 0.0, 0.0]])
    found = posterior(rows, prior)
    np.testing.assert_allclose(found[0], prior, rtol=1e-15)
    possible = np.exp(rows[1:]) * prior
    expected = [p / p.sum() if p.any() else prior for p in possible]
    np.testing.assert_allclose(found[1:], expected, rtol=1e-15)


def test_the_logarithm_of_zero_is_silent():
    assert decisions.log(np.array([0.0, 1.0])).tolist() == [-INF, 0.0]


# SPEC 1.5: heights.


@pytest.fixture
def heights():
    """Densities with the published means and variances; females first, as labels sort."""
    stats = MomentStats(np.array(["F", "M"]), np.ones(2), np.array([[161.82], [175.33]]), np.array([[46.89], [52.89]]))
    return GaussianDensity.estimate(stats, "diag").log_likelihood(np.array([[174.0]]))


def test_the_published_heights(heights):
    assert np.round(np.exp(heights), 5).tolist() == [[0.01198, 0.05395]]
    ratio = np.exp(log_likelihood_ratio(heights, 0, 1)).item()
    assert round(ratio, 1) == 4.5
    for prior, odds, decision in (([0.5, 0.5], ratio, "M"), ([0.9, 0.1], ratio / 9, "F")):
        p = posterior(heights, prior)
        assert p[0, 1] / p[0, 0] == pytest.approx(odds, rel=1e-12)
        assert np.array(["F", "M"])[cheapest(p, None)].item() == decision
    assert ratio / 9 == pytest.approx(0.5, abs=0.01)


# Costs.


@pytest.mark.parametrize("pi", [0.001, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(("c_fn", "c_fp"), [(1, 1), (1, 10), (7, 0.5), (1e-3, 1e3)])
def test_costs_are_an_effective_prior(pi, c_fn, c_fp):
    """SPEC 1.3: the costs move the threshold as if the prior were pi c_fn / (pi c_fn + (1 - pi) c_fp)."""
    effective = pi * c_fn / (pi * c_fn + (1 - pi) * c_fp)
    threshold = -np.log(effective / (1 - effective))
    llr = np.concatenate([np.linspace(-20, 20, 401), threshold + np.array([-1e-6, 1e-6])])
    scores = np.column_stack([np.zeros_like(llr), llr])
    by_cost = cheapest(posterior(scores, [1 - pi, pi]), np.array([[0, c_fn], [c_fp, 0]], float))
    by_prior = cheapest(posterior(scores, [1 - effective, effective]), None)
    np.testing.assert_array_equal(by_cost, llr > threshold)
    np.testing.assert_array_equal(by_prior, llr > threshold)


@given(
    hnp.arrays(float, (5, 3), elements=st.floats(-30, 30)),
    hnp.arrays(float, (4, 3), elements=st.integers(-5, 20).map(float)),
    hnp.arrays(float, 3, elements=st.floats(0.01, 1)),
)
def test_decisions_have_the_least_expected_cost(scores, cost, weight):
    prior = weight / weight.sum()
    chosen = cheapest(posterior(scores, prior), cost)
    with mpmath.workdps(40):
        for row, found in zip(scores, chosen, strict=True):
            joint = [mpmath.exp(mpmath.mpf(s)) * mpmath.mpf(p) for s, p in zip(row, prior, strict=True)]
            expected = [mpmath.fsum(c * j for c, j in zip(line, joint, strict=True)) for line in cost.tolist()]
            assert expected[found] - min(expected) <= 1e-12 * mpmath.fsum(joint) * 20


@pytest.mark.parametrize(
    ("p", "cost", "decision"),
    [
        ([0.5, 0.5], None, 0),
        ([0.25, 0.25, 0.25, 0.25], None, 0),
        ([0.2, 0.4, 0.4], None, 1),
        ([0.5, 0.5], [[0, 1], [1, 0]], 0),
        ([0.5, 0.5], [[1, 0], [0, 1]], 0),
        ([0.25, 0.75], [[0, 1], [3, 0]], 0),
        ([0.25, 0.75], [[5, 5], [1, 1], [1, 1]], 1),
        ([0.5, 0.25, 0.25], [[9, 9, 9], [0, 2, 2], [2, 0, 0]], 1),
        ([0.5, 0.5], [[0, 0], [0, 0]], 0),
    ],
)
def test_a_tie_goes_to_the_lower_index(p, cost, decision):
    cost = None if cost is None else np.array(cost, float)
    assert cheapest(np.array([p, p]), cost).tolist() == [decision, decision]


def test_no_cost_counts_errors(rng):
    p = rng.dirichlet(np.ones(5), 1000)
    np.testing.assert_array_equal(cheapest(p, None), cheapest(p, 1 - np.eye(5)))


@pytest.mark.parametrize(
    ("cost", "labels", "rows"),
    [
        ([[0, 10], [1, 0]], ["a", "b"], [[0, 10], [1, 0]]),
        (np.array([[0, 10], [1, 0]], np.int8), ["a", "b"], [[0, 10], [1, 0]]),
        ({"b": [1, 0], "a": [0, 10]}, ["b", "a"], [[1, 0], [0, 10]]),
        ({"a": [0, 10], "b": [1, 0], "ask": [0.3, 0.3]}, ["a", "b", "ask"], [[0, 10], [1, 0], [0.3, 0.3]]),
        ({"yes": {"b": 0, "a": 2}, "no": {"a": 0, "b": 5}}, ["yes", "no"], [[2, 0], [0, 5]]),
        ({"only": [1, 1]}, ["only"], [[1, 1]]),
        ({None: [1, 1], 3: [0, 2]}, [None, 3], [[1, 1], [0, 2]]),
        ({("go", 1): [1, 1], ("go", 2): [0, 2]}, [("go", 1), ("go", 2)], [[1, 1], [0, 2]]),
    ],
    ids=str,
)
def test_costs_name_their_decisions(cost, labels, rows):
    named, values = as_cost(cost, AB)
    assert named.tolist() == labels
    np.testing.assert_array_equal(values, rows)
    assert values.dtype == np.float64


def test_decisions_among_the_classes_keep_their_dtype():
    assert as_cost({"b": [1, 0], "a": [0, 1]}, AB)[0].dtype == AB.dtype
    assert as_cost({7: [1, 0], 3: [0, 1]}, np.array([3, 7], np.int16))[0].dtype == np.int16
    assert as_cost({"b": [1, 0], "reject": [0, 1]}, AB)[0].dtype == object


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ([[0, 1]], r"costs of shape \(1, 2\) do not fit 2 classes"),
        ([[0, 1, 2], [1, 0, 2]], r"costs of shape \(2, 3\)"),
        ([[0, 1], [1, 0], [2, 2]], r"costs of shape \(3, 2\).*dictionary"),
        (1.0, r"costs of shape \(\)"),
        ([[0, 1], [1]], "matrix of numbers"),
        ([[0, "x"], [1, 0]], "matrix of numbers"),
        ([[0, np.nan], [1, 0]], "finite"),
        ([[0, INF], [1, 0]], "finite"),
        ({"a": [0, 1, 2]}, r"costs of shape \(1, 3\)"),
        ({"a": {"a": 0}}, "the cost does not match the classes 'a', 'b'; missing: 'b'"),
        ({"a": {"a": 0, "b": 1, "z": 3}}, "unknown: 'z'"),
        ({}, "costs of shape"),
    ],
    ids=str,
)
def test_costs_that_make_no_sense_are_refused(cost, message):
    with pytest.raises(DecisionError, match=message):
        as_cost(cost, AB)


# Ratios.


@pytest.mark.parametrize(
    ("one", "two", "ratio"),
    [
        (-1.0, -3.0, -2.0),
        (-INF, -3.0, INF),
        (-1.0, -INF, -INF),
        (-INF, -INF, 0.0),
        (MAX, MAX, 0.0),
        (0.0, -0.0, 0.0),
    ],
)
def test_ratios_are_differences_and_never_nan(one, two, ratio):
    table = np.array([[one, 99.0, two]])
    assert log_likelihood_ratio(table, 0, 2).tolist() == [ratio]
    assert log_likelihood_ratio(table, 2, 0).tolist() == [-ratio]


def test_ratios_of_far_outliers_overflow_in_silence():
    assert log_likelihood_ratio(np.array([[-MAX, MAX]]), 0, 1).item() >= MAX
    assert log_likelihood_ratio(np.array([[-MAX, MAX]]), 1, 0).item() <= -MAX


# Unknown class proportions.


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.5, 0.97, 1.0])
def test_a_shifted_prior_is_recovered(rng, share):
    n = 20_000
    x = rng.normal(size=n) + 2.0 * (np.arange(n) < round(share * n))
    table = np.column_stack([-0.5 * x**2, -0.5 * (x - 2.0) ** 2])
    found = estimate_prior(table, np.array([0.5, 0.5]))
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert found[1] == pytest.approx(share, abs=0.02)


def test_the_estimate_is_the_maximum_of_the_likelihood(rng):
    table = rng.normal(size=(300, 3)) * 2
    found = estimate_prior(table, np.full(3, 1 / 3))

    def value(prior):
        return logsumexp(table + np.log(prior), axis=1).sum()

    assert (found > 0.01).all()
    # The gradient along the simplex is zero: every class has mean responsibility / prior = 1.
    np.testing.assert_allclose(posterior(table, found).mean(axis=0), found, rtol=1e-6)
    for _ in range(20):
        assert value(0.98 * found + 0.02 * rng.dirichlet(np.ones(3))) <= value(found) + 1e-9


def test_rows_that_no_class_explains_say_nothing_of_the_prior(rng):
    table = rng.normal(size=(200, 2))
    start = np.array([0.5, 0.5])
    more = np.vstack([table, np.full((50, 2), -INF)])
    np.testing.assert_allclose(estimate_prior(more, start), estimate_prior(table, start), rtol=1e-8)
    assert estimate_prior(np.full((5, 2), -INF), np.array([0.3, 0.7])).tolist() == [0.3, 0.7]
    assert estimate_prior(np.empty((0, 2)), np.array([0.3, 0.7])).tolist() == [0.3, 0.7]


def test_far_outliers_do_not_spoil_the_estimate(rng):
    table = rng.normal(size=(500, 2))
    shifted = table + rng.uniform(-1e6, 1e6, (500, 1))
    start = np.array([0.5, 0.5])
    np.testing.assert_allclose(estimate_prior(shifted, start), estimate_prior(table, start), rtol=1e-6)


def test_rejecting_is_chows_rule(rng):
    posterior = rng.dirichlet(np.ones(3), size=500)
    actions, cost = decisions.as_cost(decisions.rejecting(["a", "b", "c"], 0.4), np.array(["a", "b", "c"]))
    chosen = actions[decisions.cheapest(posterior, cost)]
    expected = np.where(posterior.max(axis=1) >= 0.6, np.array(["a", "b", "c"])[posterior.argmax(axis=1)], "reject")
    assert (chosen == expected).all()
    assert {"a", "b", "c", "reject"} == set(chosen)


def test_rejecting_keeps_the_costs_that_are_there():
    cost = {"treat": [1, 0], "wait": [0, 20]}
    assert decisions.rejecting([0, 1], 0.5, "ask", cost) == {"treat": [1, 0], "wait": [0, 20], "ask": [0.5, 0.5]}
    with pytest.raises(DecisionError, match="another label"):
        decisions.rejecting([0, 1], 0.5, "wait", cost)
    with pytest.raises(DecisionError, match="must be a finite number"):
        decisions.rejecting([0, 1], np.nan)


def test_an_open_set_has_strangers():
    decided = np.array([0, 1, 1])
    typicality = np.array([[0.3, 0.001], [0.001, 0.009], [0.001, 0.01]])
    assert decisions.open_set(decided, typicality, 0.01, "?").tolist() == [0, "?", 1]
    assert decisions.open_set(decided, typicality, 0.01, ("no", "one")).tolist() == [0, ("no", "one"), 1]
    with pytest.raises(DecisionError, match="greater than 0 and less than 1"):
        decisions.open_set(decided, typicality, 0)


def test_costs_of_frames_go_by_their_names():
    import pandas as pd
    import polars as pl

    swapped = {"b": [1.0, 0.0], "a": [0.0, 2.0]}
    expected = [[0, 1], [2, 0]]
    assert as_cost(pl.DataFrame(swapped), AB)[1].tolist() == expected
    assert as_cost(pd.DataFrame(swapped, index=["a", "b"]), AB)[1].tolist() == expected
    with pytest.raises(DecisionError, match="more than once"):
        as_cost(pd.DataFrame(swapped, index=["a", "a"]), AB)


@pytest.mark.parametrize(("prior", "expected"), [(0.25, [0.75, 0.25]), (np.float32(1), [0, 1]), (0, [1, 0])])
def test_one_number_is_the_probability_of_the_second_class(prior, expected):
    assert decisions.as_prior(prior, np.array(["n", "y"]), np.empty(0)).tolist() == expected


@pytest.mark.parametrize(("prior", "k"), [(1.5, 2), (-0.1, 2), (np.nan, 2), (0.5, 3), (True, 2)])
def test_one_number_must_be_a_probability_of_two_classes(prior, k):
    with pytest.raises(DecisionError):
        decisions.as_prior(prior, np.arange(k), np.empty(0))


def test_decide_from_ratios_is_a_threshold(rng):
    llr = np.r_[rng.normal(0, 3, size=200), np.inf, -np.inf]
    cost = [[0, 7], [2, 0]]
    decided = decisions.decide(llr, [0, 1], prior=0.3, cost=cost)
    assert (decided == (llr > decisions.bayes_threshold(0.3, 7, 2))).all()


def test_decide_among_several(rng):
    scores = rng.normal(size=(100, 3))
    prior = {"a": 0.2, "b": 0.3, "c": 0.5}
    joint = scores + np.log([0.2, 0.3, 0.5])
    assert (decisions.decide(scores, ABC, prior) == ABC[joint.argmax(axis=1)]).all()
    certain = np.exp(joint - logsumexp(joint, axis=1, keepdims=True)).max(axis=1) >= 0.7
    decided = decisions.decide(scores, ABC, prior, decisions.rejecting(ABC, 0.3))
    assert (decided == np.where(certain, ABC[joint.argmax(axis=1)], "reject")).all()


@pytest.mark.parametrize("scores", [[1.0, 2.0], [[1.0, 2.0]], [[0.0, np.nan, 1.0]]])
def test_decide_refuses_what_does_not_fit(scores):
    with pytest.raises(DecisionError, match=r"do not fit|NaN"):
        decisions.decide(scores, ABC)
