"""Metrics of log-likelihood ratios, against packages and direct evaluations that we did not write."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from lir.data.models import LLRData
from lir.metrics import cllr as lir_cllr
from lir.metrics import cllr_min as lir_min_cllr
from llreval.bayes_error_rate import fast_Bayes_error_rate
from llreval.pav_rocch import PAV, ROCCH
from llreval.quick_eval import scoreslabels_2_eer_cllr_mincllr
from scipy.stats import entropy

from suffice import metrics
from suffice.errors import DataError, DecisionError


def detection(name):
    """Labels and scores of one kind."""
    rng = np.random.default_rng(5)
    y = (np.arange(200) % 3 == 0).astype(int)
    scores = {
        "random": rng.normal(size=200) + 1.5 * y,
        "tied": np.rint(2 * rng.normal(size=200) + 2 * y),
        "separable": rng.random(200) + 2 * y,
        "reversed": rng.normal(size=200) - 2 * y,
        "constant": np.full(200, 0.3),
        "few": np.where(np.arange(200) % 7, 0.0, 1.0),
    }
    return y, scores[name]


KINDS = ["random", "tied", "separable", "reversed", "constant", "few"]
ODDS = np.linspace(-6, 6, 41)


@pytest.fixture
def worked():
    rs = np.random.RandomState(7)
    tar, non = rs.normal(1.5, 1.5, 40), rs.normal(-1.5, 2.0, 60)
    return np.r_[np.ones(40), np.zeros(60)], np.r_[tar, non]


def test_the_worked_case(worked):
    assert metrics.cllr(*worked) == pytest.approx(0.694989502881211, abs=1e-14)
    assert metrics.min_cllr(*worked) == pytest.approx(0.572160367813106, abs=1e-14)
    assert metrics.eer(*worked) == pytest.approx(0.188, abs=1e-12)
    points = [(0.5, 1, 1), (0.1, 1, 1), (0.8, 1, 10)]
    assert [metrics.dcf(*worked, *p) for p in points] == pytest.approx([0.416666667, 1.15, 0.75], abs=1e-9)
    assert [metrics.min_dcf(*worked, *p) for p in points] == pytest.approx([0.366666667, 0.8, 0.616666667], abs=1e-9)


def test_extreme_operating_points_and_infinite_costs():
    y, scores = detection("random")
    curve = metrics.bayes_error_curve(y, scores, [37.0, 600.0, -600.0])
    assert np.isfinite(curve.actual).all()
    assert (curve.minimum <= 1).all()
    assert metrics.bayes_error_curve(y, scores).log_odds[[0, 140, -1]].tolist() == [-7, 0, 7]
    with pytest.raises(DecisionError, match="between -700 and 700"):
        metrics.bayes_error_curve(y, scores, [800.0])
    scores[np.flatnonzero(y)[0]] = -np.inf  # some resamples cost infinitely much
    low, high = metrics.bootstrap(metrics.cllr, y, scores, n=50, random_state=0)
    assert low < high == np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.multiclass_log_cost([0, 1], [[0, np.inf], [0, 1]]), "NaN or \\+inf"),
        (lambda: metrics.multiclass_log_cost([0, 1], [[0, 1], [0, 1]], prior=0.0), "a prior of 1 for one class"),
        (lambda: metrics.multiclass_dcf([0, 1], [0]), "same length"),
        (lambda: metrics.multiclass_dcf([0, 1], [[0.1, 0.2], [0.3, 0.4]]), "decisions.decide"),
    ],
)
def test_several_classes_are_checked(call, message):
    with pytest.raises((DataError, DecisionError), match=message):
        call()


@pytest.mark.parametrize("kind", KINDS)
def test_llreval_agrees(kind):
    y, scores = detection(kind)
    eer, cllr, least = scoreslabels_2_eer_cllr_mincllr(scores, y)
    assert metrics.eer(y, scores) == pytest.approx(eer, abs=1e-6)  # found there by a search
    assert metrics.cllr(y, scores) == pytest.approx(cllr, rel=1e-12)
    assert metrics.min_cllr(y, scores) == pytest.approx(least, rel=1e-12, abs=1e-15)
    curve = metrics.bayes_error_curve(y, scores, ODDS)
    prior = 1 / (1 + np.exp(-ODDS))
    without = np.minimum(prior, 1 - prior)
    best = ROCCH(PAV(scores, y)).Bayes_error_rate(ODDS)
    np.testing.assert_allclose(curve.minimum * without, best, rtol=1e-10, atol=1e-14)
    if kind not in ("tied", "constant", "few"):  # a score that equals a threshold is broken there as it comes
        np.testing.assert_allclose(curve.actual * without, fast_Bayes_error_rate(scores, y, ODDS), rtol=1e-10)


@pytest.mark.filterwarnings("ignore:.labels. is deprecated:UserWarning")  # in newer releases
@pytest.mark.parametrize("kind", KINDS)
def test_lir_agrees(kind):
    y, scores = detection(kind)
    data = LLRData(features=scores / np.log(10), labels=y)
    assert metrics.cllr(y, scores) == pytest.approx(lir_cllr(data), rel=1e-10)
    assert metrics.min_cllr(y, scores) == pytest.approx(lir_min_cllr(data), rel=1e-8, abs=1e-12)


def test_large_ratios_do_not_overflow():
    y, scores = [1, 1, 0, 0], [-800.0, 900.0, -900.0, 1000.0]
    assert metrics.cllr(y, scores) == pytest.approx(0.5 * (400 + 500) / np.log(2), rel=1e-12)


def by_hand(y, scores, threshold):
    decided = scores > threshold
    return np.mean(~decided[y == 1]), np.mean(decided[y == 0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("point", [(0.5, 1.0, 1.0), (0.01, 10.0, 1.0), (0.7, 1.0, 4.0)])
def test_costs_are_what_they_say(kind, point):
    y, scores = detection(kind)
    prior, miss, alarm = point

    def cost(threshold):
        p_miss, p_alarm = by_hand(y, scores, threshold)
        return prior * miss * p_miss + (1 - prior) * alarm * p_alarm

    least = min(cost(t) for t in [-np.inf, *scores, np.inf])
    actual = cost(-np.log(prior * miss / ((1 - prior) * alarm)))
    without = min(prior * miss, (1 - prior) * alarm)
    assert metrics.dcf(y, scores, *point) == pytest.approx(actual / without, rel=1e-12)
    assert metrics.dcf(y, scores, *point, normalize=False) == pytest.approx(actual, rel=1e-12)
    assert metrics.min_dcf(y, scores, *point) == pytest.approx(least / without, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32, float])
def test_many_scores_and_any_type_of_labels(dtype):
    rng = np.random.default_rng(2)
    y = rng.random(200_001) < 0.3
    scores = np.round(rng.normal(size=len(y)) + 2 * y, 3)
    priors = np.array([0.02, 0.5, 0.9])
    rates = [by_hand(y, scores, -np.log(p / (1 - p))) for p in priors]
    costs = [p * miss + (1 - p) * alarm for p, (miss, alarm) in zip(priors, rates, strict=True)]
    np.testing.assert_allclose(metrics.dcf(y.astype(dtype), scores, priors, normalize=False), costs, rtol=1e-12)


SCORES = st.integers(-5000, 5000).map(lambda n: n / 100) | st.sampled_from([-np.inf, np.inf, 0.0])


@st.composite
def labelled(draw):
    n = draw(st.integers(2, 30))
    y = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    y[:2] = True, False
    return y, draw(hnp.arrays(np.float64, n, elements=SCORES))


@given(labelled(), st.floats(0.01, 0.99), st.floats(0.1, 10), st.floats(0.1, 10))
def test_identities(data, prior, miss, alarm):
    y, scores = data
    least, actual = metrics.min_dcf(y, scores, prior, miss, alarm), metrics.dcf(y, scores, prior, miss, alarm)
    assert least <= 1 + 1e-12
    assert least <= actual + 1e-12
    effective = metrics.effective_prior(prior, miss, alarm)
    assert metrics.min_dcf(y, scores, effective) == pytest.approx(least, rel=1e-9)
    assert metrics.min_dcf(y, 3 * scores + 1, prior, miss, alarm) == pytest.approx(least, rel=1e-9, abs=1e-12)
    entropy = metrics.empirical_cross_entropy(y, scores, 0.5)
    np.testing.assert_allclose(entropy.actual[0], metrics.cllr(y, scores), rtol=1e-12)
    np.testing.assert_allclose(entropy.minimum[0], metrics.min_cllr(y, scores), rtol=1e-12)
    assert metrics.min_cllr(y, scores) <= min(metrics.cllr(y, scores), 1) + 1e-12
    assert 0 <= metrics.eer(y, scores) <= 0.5 + 1e-12


def test_scores_that_say_nothing_leave_the_entropy_of_the_prior():
    priors = np.array([0.01, 0.3, 0.9])
    found = metrics.empirical_cross_entropy([0, 1, 1], np.zeros(3), priors)
    for bits in (found.actual, found.minimum, found.uninformed):
        np.testing.assert_allclose(bits, entropy([priors, 1 - priors], base=2), rtol=1e-12)


@given(labelled())
def test_the_hull_is_convex_and_below_every_threshold(data):
    y, scores = data
    miss, alarm = metrics.roc_convex_hull(y, scores)
    assert (miss[0], alarm[0], miss[-1], alarm[-1]) == (0, 1, 1, pytest.approx(0, abs=1e-12))
    slopes = np.diff(alarm) * 1.0, np.diff(miss)
    turns = slopes[0][:-1] * slopes[1][1:] - slopes[0][1:] * slopes[1][:-1]
    assert (turns <= 1e-12).all()
    for t in [-np.inf, *scores]:
        p_miss, p_alarm = by_hand(y, scores, t)
        assert np.interp(p_miss, miss, alarm) <= p_alarm + 1e-12


def test_many_operating_points_at_once(worked):
    priors, costs = np.array([0.1, 0.5, 0.9]), np.array([1.0, 2.0, 5.0])
    for metric in (metrics.dcf, metrics.min_dcf):
        together = metric(*worked, priors, costs, 1.0)
        np.testing.assert_array_equal(together, [metric(*worked, p, c) for p, c in zip(priors, costs, strict=True)])


def test_infinite_ratios():
    assert metrics.cllr([1, 0], [np.inf, -np.inf]) == 0
    assert metrics.cllr([1, 0], [-np.inf, 0.0]) == np.inf
    assert metrics.min_cllr([1, 0], [np.inf, -np.inf]) == 0
    assert metrics.dcf([1, 1, 0], [np.inf, -np.inf, -np.inf]) == 0.5
    assert metrics.eer([1, 0], [-np.inf, np.inf]) == 0.5


def test_thresholds():
    assert metrics.bayes_threshold(0.5) == 0
    assert metrics.bayes_threshold(0.01, 10, 1) == pytest.approx(-np.log(0.1 / 0.99))
    np.testing.assert_allclose(metrics.effective_prior([0.2, 0.5], [1, 3], 1), [0.2, 0.75])


MISTAKES = [
    (([1, 1], [0.0, 1.0]), {}, DataError, "only one of them"),
    (([1, 0], [np.nan, 1.0]), {}, DataError, "NaN"),
    (([1, 0, 1], [0.0, 1.0]), {}, DataError, "same length"),
    ((["a", "b"], [0.0, 1.0]), {}, DataError, "y_true == target"),
    (([1, 2], [0.0, 1.0]), {}, DataError, "y_true == target"),
    (([1.0, 0.0, np.nan], [0.0, 1.0, 2.0]), {}, DataError, "y_true == target"),
    (([], []), {}, DataError, "only one of them"),
    (([1, 0], [0.0, 1.0]), {"prior": 0.0}, DecisionError, "greater than 0 and less than 1"),
    (([1, 0], [0.0, 1.0]), {"prior": 1.5}, DecisionError, "greater than 0 and less than 1"),
    (([1, 0], [0.0, 1.0]), {"prior": np.nan}, DecisionError, "greater than 0 and less than 1"),
    (([1, 0], [0.0, 1.0]), {"cost_miss": -1}, DecisionError, "greater than 0"),
    (([1, 0], [0.0, 1.0]), {"prior": [0.1, 0.2], "cost_miss": [1, 2, 3]}, DecisionError, "same length"),
]


@pytest.mark.parametrize(("data", "choices", "error", "message"), MISTAKES)
def test_mistakes_are_told(data, choices, error, message):
    for metric in (metrics.dcf, metrics.min_dcf):
        with pytest.raises(error, match=message):
            metric(*data, **choices)


def test_multiclass_costs_directly():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 60)
    scores = rng.normal(size=(60, 3)) + 2 * np.eye(3)[y]
    decided, prior = scores.argmax(axis=1), np.array([0.2, 0.5, 0.3])
    cost = np.array([[0.0, 1, 2], [3, 0, 1], [1, 5, 0]])
    direct = sum(prior[j] * np.mean([cost[decided[r], j] for r in np.flatnonzero(y == j)]) for j in range(3))
    assert metrics.multiclass_dcf(y, decided, prior, cost, normalize=False) == pytest.approx(direct, rel=1e-12)
    without = (cost @ prior).min()
    assert metrics.multiclass_dcf(y, decided, prior, cost) == pytest.approx(direct / without, rel=1e-12)

    joint = np.exp(scores) * prior
    posterior = joint / joint.sum(axis=1, keepdims=True)
    bits = sum(prior[c] * np.mean(-np.log2(posterior[y == c, c])) for c in range(3))
    assert metrics.multiclass_log_cost(y, scores, prior, normalize=False) == pytest.approx(bits, rel=1e-12)
    entropy = -(prior * np.log2(prior)).sum()
    assert metrics.multiclass_log_cost(y, scores, prior) == pytest.approx(bits / entropy, rel=1e-12)


def test_two_classes_are_a_special_case(worked):
    y, scores = worked
    likelihood = np.column_stack([np.zeros_like(scores), scores])
    assert metrics.multiclass_log_cost(y, likelihood) == pytest.approx(metrics.cllr(y, scores), rel=1e-12)
    decided = (scores > metrics.bayes_threshold(0.1)).astype(float)
    assert metrics.multiclass_dcf(y, decided, [0.9, 0.1]) == pytest.approx(metrics.dcf(y, scores, 0.1), rel=1e-12)


def test_decisions_may_be_others_than_classes():
    cost = {"a": [0, 1], "b": [1, 0], "ask": [0.25, 0.25]}
    assert metrics.multiclass_dcf(["a", "b"], ["a", "ask"], "uniform", cost) == pytest.approx(0.125 / 0.25)
    with pytest.raises(DataError, match="'divine', which the costs do not name"):
        metrics.multiclass_dcf(["a", "b"], ["a", "divine"], "uniform", cost)
    with pytest.raises(DecisionError, match="costs nothing"):
        metrics.multiclass_dcf(["a", "b"], ["a", "b"], [1.0, 0.0])


def test_confidence_intervals_cover_and_shrink(worked):
    y, scores = worked
    low, high = metrics.bootstrap(metrics.cllr, y, scores, n=200, random_state=0)
    assert low < metrics.cllr(y, scores) < high
    lower, higher = metrics.bootstrap(metrics.cllr, np.tile(y, 20), np.tile(scores, 20), n=200, random_state=0)
    assert higher - lower < 0.5 * (high - low)
    wide = metrics.bootstrap(metrics.dcf, y, scores, n=100, random_state=0, prior=np.array([0.1, 0.5]))
    assert wide[0].shape == wide[1].shape == (2,)
    with pytest.raises(DataError, match="level"):
        metrics.bootstrap(metrics.cllr, y, scores, level=1.0)


@pytest.mark.parametrize("prior", ["uniform", None, [0.2, 0.3, 0.5]], ids=str)
def test_a_weight_counts_as_so_many_copies(rng, prior):
    y, weight = np.arange(30) % 3, rng.integers(0, 4, 30)
    weight[:3] = 1
    scores, decided = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    again = np.repeat(np.arange(30), weight)
    for metric, of in ((metrics.multiclass_dcf, decided), (metrics.multiclass_log_cost, scores)):
        weighted = metric(y, of, prior, normalize=False, sample_weight=weight)
        assert weighted == pytest.approx(metric(y[again], of[again], prior, normalize=False), rel=1e-12)


def test_rows_without_weight_cost_nothing_but_a_class_without_is_refused():
    scores = np.array([[0.0, -1.0], [-1.0, 0.0], [-np.inf, 0.0]])
    assert np.isfinite(metrics.multiclass_log_cost([0, 1, 0], scores, sample_weight=[1, 1, 0]))
    with pytest.raises(DataError, match="class 1 have weight 0"):
        metrics.multiclass_log_cost([0, 1, 0], scores, sample_weight=[1, 0, 1])
