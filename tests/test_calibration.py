"""Maps from scores to log-likelihood ratios, against scikit-learn, SciPy and a direct evaluation."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, minimize
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import LLRCalibrator, metrics
from suffice.calibration import held_towards_one
from suffice.errors import DataError, DecisionError, ModelFileError, SeparableWarning


@pytest.mark.filterwarnings("ignore::suffice.errors.SeparableWarning")  # scikit-learn's data are
@parametrize_with_checks(
    [LLRCalibrator()],
    expected_failed_checks=lambda _: {
        "check_estimators_nan_inf": "infinite ratios are legal",
        "check_fit1d": "the scores of one system are one-dimensional",
    },
)
def test_scikit_learn_conventions(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


@pytest.fixture
def worked():
    rs = np.random.RandomState(7)
    tar, non = rs.normal(1.5, 1.5, 40), rs.normal(-1.5, 2.0, 60)
    return np.r_[tar, non], np.r_[np.ones(40, int), np.zeros(60, int)]


@pytest.fixture
def three():
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=400)
    scores = rng.normal(size=(400, 3))
    scores[np.arange(400), y] += 1.2
    return scores, np.array(["a", "b", "c"])[y]


def test_the_worked_case(worked):
    scores, y = worked
    found = LLRCalibrator(prior=0.5).fit(scores, y).map_
    assert found.scale[0] == pytest.approx(0.8130272409, abs=1e-9)
    assert found.offset[1] == pytest.approx(-0.0447295247, abs=1e-9)


@pytest.mark.parametrize("prior", [0.5, 0.1, 0.9, [0.3, 0.7], {0: 0.8, 1: 0.2}])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_scikit_learn_finds_the_same_map(worked, prior, shift):
    scores, y = worked
    target = {float: prior}.get(type(prior)) or prior[1]
    weight = np.where(y == 1, target / 40, (1 - target) / 60)
    peer = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(scores[:, None], y, sample_weight=100 * weight)
    expected = peer.decision_function(scores[:, None]) - np.log(target / (1 - target))
    calibrated = LLRCalibrator(prior=prior).fit(scores + shift, y).transform(scores + shift)
    np.testing.assert_allclose(calibrated, expected, atol=2e-5)


def test_fusion_is_logistic_regression_on_all_scores(worked):
    scores, y = worked
    both = np.stack([scores, np.random.default_rng(0).normal(size=100) + y], axis=1)
    weight = np.where(y == 1, 1 / 40, 1 / 60)
    peer = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(both, y, sample_weight=50 * weight)
    fused = LLRCalibrator().fit(both, y).transform(both)
    np.testing.assert_allclose(fused[:, 0], peer.decision_function(both), atol=2e-5)
    alone = LLRCalibrator().fit(scores, y).transform(scores)
    assert metrics.cllr(y, fused[:, 0]) < metrics.cllr(y, alone)


def test_several_classes_have_one_scale_and_an_offset_each(three):
    scores, y = three
    prior = np.array([0.2, 0.3, 0.5])
    code = np.unique(y, return_inverse=True)[1]
    weight = (prior / np.bincount(code))[code]

    def cross_entropy(theta):
        logit = theta[0] * scores + np.r_[0.0, theta[1:]] + np.log(prior)
        return weight @ (np.logaddexp.reduce(logit, axis=1) - logit[np.arange(len(code)), code])

    best = minimize(cross_entropy, np.zeros(3), tol=1e-12).x
    found = LLRCalibrator(prior).fit(scores, y).map_
    np.testing.assert_allclose([found.scale[0], *found.offset[1:]], best, atol=1e-5)


def test_systems_of_several_classes_stand_side_by_side(three):
    scores, y = three
    other = scores + np.random.default_rng(9).normal(size=scores.shape)
    fused = LLRCalibrator().fit(np.hstack([scores, other]), y)
    assert fused.map_.scale.shape == (2,)
    alone = LLRCalibrator().fit(scores, y)
    worse = metrics.multiclass_log_cost(y, alone.transform(scores))
    assert metrics.multiclass_log_cost(y, fused.transform(np.hstack([scores, other]))) <= worse + 1e-12
    with pytest.raises(DataError, match="3 classes need 3 scores"):
        LLRCalibrator().fit(scores[:, :2], y)


def test_a_weight_is_as_many_rows(worked):
    scores, y = worked
    copies = np.arange(100) % 3
    weighted = LLRCalibrator().fit(scores, y, sample_weight=copies).transform(scores)
    repeated = LLRCalibrator().fit(np.repeat(scores, copies), np.repeat(y, copies)).transform(scores)
    np.testing.assert_allclose(weighted, repeated, atol=1e-9)


def test_calibration_helps_and_changes_no_order(worked):
    scores, y = worked
    twisted = 0.2 * scores - 3
    better = LLRCalibrator().fit(twisted, y).transform(twisted)
    assert metrics.cllr(y, better) < metrics.cllr(y, twisted)
    assert metrics.min_cllr(y, better) == pytest.approx(metrics.min_cllr(y, twisted))


def test_monotone_map_is_isotonic_regression(worked):
    scores, y = worked
    calibrated = LLRCalibrator(method="pav").fit(scores, y).transform(scores)
    order = np.argsort(scores)
    share = isotonic_regression(y[order]).x
    with np.errstate(divide="ignore"):
        expected = np.log(share / (1 - share)) - np.log(40 / 60)
    np.testing.assert_allclose(calibrated[order], expected)
    assert metrics.cllr(y, calibrated) == pytest.approx(metrics.min_cllr(y, scores))


def test_a_new_score_takes_the_nearer_step():
    calibrator = LLRCalibrator(method="pav").fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
    np.testing.assert_allclose(calibrator.transform([-9.0, 0.4, 0.6, 2.4, 2.6]), [-np.inf, -np.inf, 0, 0, np.inf])


@pytest.mark.parametrize("edge", [-np.inf, np.inf])
def test_infinite_ratios_stay(worked, edge):
    scores, y = worked
    some = scores.copy()
    some[0 if edge > 0 else -1] = edge
    for method in ("affine", "pav"):
        calibrated = LLRCalibrator(method=method).fit(some, y).transform([edge, 0.0])
        assert calibrated[0] == edge
        assert np.isfinite(calibrated[1])


def test_an_infinite_mistake_cannot_be_mended(worked):
    scores, y = worked
    scores[-1] = np.inf
    with pytest.raises(DataError, match="rule out the true class"):
        LLRCalibrator().fit(scores, y)


@pytest.mark.parametrize("scores", [[-2.0, -1.0, 1.0, 2.0], [2.0, 1.0, -1.0, -2.0], [[-1, -1], [0, 0], [1, 1], [0, 0]]])
def test_separable_and_repeated_scores_are_held_down(scores):
    with pytest.warns(SeparableWarning, match="penalty"):
        calibrated = LLRCalibrator().fit(scores, [0, 0, 1, 1]).transform(scores)
    assert np.abs(calibrated).max() < 10
    assert np.isfinite(calibrated).all()


def test_what_a_row_adds_to_all_classes_says_nothing(three):
    scores, y = three
    far = scores + 1e4 * np.random.default_rng(0).normal(size=(400, 1))
    np.testing.assert_allclose(
        LLRCalibrator().fit(far, y).map_.scale, LLRCalibrator().fit(scores, y).map_.scale, rtol=1e-6
    )


def test_one_sure_score_and_rare_targets_do_not_flatten_the_map(worked):
    scores, y = worked
    before = LLRCalibrator().fit(scores, y).map_.scale[0]
    scores[0] = 1e6
    assert LLRCalibrator().fit(scores, y).map_.scale[0] == pytest.approx(before, rel=0.2)
    rare = [LLRCalibrator(prior).fit(worked[0][1:], y[1:]).map_.scale[0] for prior in (1e-6, 1e-8)]
    assert rare[0] == pytest.approx(rare[1], rel=1e-3)


def test_a_system_that_repeats_or_says_nothing_spoils_no_other(worked):
    scores, y = worked
    alone = LLRCalibrator().fit(scores, y).transform(scores)
    for other in (scores, np.ones(100), -3 * scores):
        fused = LLRCalibrator().fit(np.stack([scores, other], axis=1), y)
        np.testing.assert_allclose(fused.transform(np.stack([scores, other], axis=1))[:, 0], alone, atol=1e-6)


def test_certain_scores_alone_leave_nothing_to_learn():
    with pytest.warns(SeparableWarning):
        calibrator = LLRCalibrator().fit([np.inf, np.inf, -np.inf], [1, 1, 0])
    assert calibrator.transform([np.inf, -np.inf]).tolist() == [np.inf, -np.inf]


def test_systems_are_known_by_their_names(worked):
    import pandas as pd

    scores, y = worked
    frame = pd.DataFrame({"one": scores, "two": scores**2})
    calibrator = LLRCalibrator().fit(frame, y)
    with pytest.raises(DataError, match="same order"):
        calibrator.transform(frame[["two", "one"]])


def test_held_out_scores_are_those_of_maps_that_have_not_seen_them(worked):
    scores, y = worked
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    out = LLRCalibrator(0.3).held_out(scores, y, cv=folds)
    for train, test in folds.split(scores, y):
        np.testing.assert_array_equal(
            out[test], LLRCalibrator(0.3).fit(scores[train], y[train]).transform(scores[test])
        )


def test_it_stands_in_a_pipeline(worked):
    scores, y = worked
    pipe = make_pipeline(FunctionTransformer(lambda s: 5 * s), LLRCalibrator())
    np.testing.assert_allclose(
        pipe.fit_transform(scores[:, None], y)[:, 0], LLRCalibrator().fit(scores, y).transform(scores)
    )


@pytest.mark.parametrize(
    ("fit", "error", "message"),
    [
        (lambda s, y: LLRCalibrator(method="spline").fit(s, y), DataError, "method='spline' is not known"),
        (lambda s, y: LLRCalibrator().fit(s, np.ones(100)), DataError, "1 class"),
        (lambda s, y: LLRCalibrator().fit(np.where(y, s, np.nan), y), DataError, "NaN"),
        (lambda s, y: LLRCalibrator(prior=1.5).fit(s, y), DecisionError, "between 0 and 1"),
        (lambda s, y: LLRCalibrator(prior=1.0).fit(s, y), DecisionError, "without prior or weight"),
        (lambda s, y: LLRCalibrator(method="pav").fit(np.stack([s, s], 1), y), DataError, "one score of two classes"),
        (lambda s, y: LLRCalibrator(method="pav").fit(s, y, sample_weight=y + 1), DataError, "without weights"),
    ],
)
def test_clear_errors(worked, fit, error, message):
    with pytest.raises(error, match=message):
        fit(*worked)


@pytest.mark.parametrize(("method", "n_classes"), [("affine", 2), ("affine", 3), ("pav", 2)])
def test_calibrators_are_saved(method, n_classes, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 200)
    scores = rng.normal(size=200) + y if n_classes == 2 else rng.normal(size=(200, 3)) + np.eye(3)[y]
    clf = LLRCalibrator(method=method).fit(scores, y)
    clf.save(tmp_path / "calibrator")
    loaded = suffice.load(tmp_path / "calibrator")
    np.testing.assert_array_equal(loaded.transform(scores), clf.transform(scores))
    with pytest.raises(ModelFileError, match="not a classifier"):
        suffice.load_model(tmp_path / "calibrator")


@pytest.mark.parametrize(("k", "size"), [(2, 1.0), (3, 30.0), (5, 0.2)])
def test_a_penalised_map_is_that_of_scipy(k, size):
    rng = np.random.default_rng(k)
    y, weight = rng.integers(0, k, 120), rng.exponential(size=120)
    scores = size * (rng.normal(size=(120, k)) + np.eye(k)[y])
    log_prior = np.log(rng.dirichlet(np.ones(k), 120))

    def loss(theta):
        logit = theta[0] * scores + theta[1:] + log_prior
        own = logit[np.arange(120), y] - np.log(np.exp(logit - logit.max(axis=1, keepdims=True)).sum(axis=1))
        return -weight @ (own - logit.max(axis=1)) + 0.5 * (theta[0] - 1) ** 2 + 0.5 * (theta[1:] ** 2).sum()

    found = minimize(loss, np.r_[1 / size, np.zeros(k)], method="BFGS", options={"gtol": 1e-7}).x
    part = np.arange(120) % 10
    (scale, offset), without = held_towards_one(scores, y, weight, log_prior, part)
    assert scale == pytest.approx(found[0], rel=1e-4)
    np.testing.assert_allclose(offset, found[1:] - found[1:].mean(), atol=1e-4)
    for f, each in enumerate(without):  # one step of Newton's method from the scaling of all rows
        kept = part != f
        own, _ = held_towards_one(scores[kept], y[kept], weight[kept], log_prior[kept])
        away, before = (np.append(np.log(one[0] / own[0]), one[1] - own[1]) for one in (each, (scale, offset)))
        assert np.linalg.norm(away) <= np.linalg.norm(before) ** 2 + 1e-3  # it converges quadratically
