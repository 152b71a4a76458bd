"""GaussianClassifier as a user meets it: every call, every awkward input."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import GaussianClassifier, GaussianDensity, OnePassSearchCV, kernels, load
from suffice.errors import (
    DataError,
    DecisionError,
    EmptyClassWarning,
    PrecisionWarning,
    SingularWarning,
    StatisticsError,
)
from suffice.sources import as_source
from suffice.stats import WideMomentStats
from suffice.tables.labels import SoftLabels

STRUCTURES = ["full", "diag", "tied", "tied_diag", "spherical", "tied_spherical"]
X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]


@pytest.fixture(params=STRUCTURES)
def structure(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["plug-in", "predictive"])
def clf(request, structure):
    return GaussianClassifier(structure, predictive=request.param).fit(X, NAMES)


# Some of scikit-learn's checks have constant columns, one row, or a class of weight zero: there a warning is right.
@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@parametrize_with_checks(
    [
        GaussianClassifier(),
        GaussianClassifier("diag", predictive=True),  # Student's t
        GaussianClassifier("tied", "oas", prior="uniform"),  # scores that are linear
        GaussianClassifier(shrinkage="ledoit_wolf"),  # fourth moments
        GaussianClassifier(missing="error"),
    ],
    # There is no tag for what does not learn from missing values, but scores rows that have some.
    expected_failed_checks=lambda clf: (
        {} if clf.__sklearn_tags__().input_tags.allow_nan else {"check_estimators_nan_inf": "missing values are scored"}
    ),
)
def test_scikit_learn_conventions(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


def test_every_call_fits_the_others(clf):
    log_likelihood, k = clf.log_likelihood(X), 3
    prior = np.array([0.2, 0.3, 0.5])
    joint = log_likelihood + np.log(prior)
    evidence = np.logaddexp.reduce(joint, axis=1)
    np.testing.assert_allclose(clf.score_samples(X, prior=prior), evidence, rtol=1e-9)
    np.testing.assert_allclose(clf.predict_log_proba(X, prior=prior), joint - evidence[:, None], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(clf.predict_proba(X, prior=prior), np.exp(joint - evidence[:, None]), atol=1e-9)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(clf.predict(X, prior=prior), clf.classes_[joint.argmax(axis=1)])
    errors = 1 - np.eye(k)
    np.testing.assert_array_equal(clf.predict(X, prior=prior, cost=errors), clf.predict(X, prior=prior))
    llr = clf.llr(X, "setosa", "virginica")
    np.testing.assert_allclose(llr, log_likelihood[:, 2] - log_likelihood[:, 0], rtol=1e-8)
    np.testing.assert_allclose(clf.explain(X, "setosa", "virginica").sum(axis=1), llr, rtol=1e-8)
    assert clf.explain(X, "setosa", "virginica").shape == X.shape
    drawn, labels = clf.sample(30, random_state=1)
    assert drawn.shape == (30, 4)
    assert set(labels) <= set(clf.classes_)
    again, _ = clf.sample(30, random_state=1)
    np.testing.assert_array_equal(drawn, again)


def test_a_density_survives_the_way_through_arrays(clf):
    density = type(clf.density_).from_arrays(clf.density_.to_arrays())
    np.testing.assert_array_equal(density.log_likelihood(X), clf.density_.log_likelihood(X))
    assert density.structure == clf.density_.structure


def test_merge_stream_and_forget_equal_a_fresh_fit(clf):
    whole = clf.log_likelihood(X)
    parts = [clone(clf).fit(X[r::3], NAMES[r::3]) for r in range(3)]
    merged = parts[0] + parts[1] + parts[2]
    np.testing.assert_allclose(merged.log_likelihood(X), whole, rtol=1e-8)
    streamed = clone(clf)
    for start in range(0, 150, 10):
        streamed.partial_fit(X[start : start + 10], NAMES[start : start + 10])
    np.testing.assert_allclose(streamed.log_likelihood(X), whole, rtol=1e-8)
    more = clone(clf).fit(np.vstack([X, X[:40] + 1]), np.concatenate([NAMES, NAMES[60:100]]))
    np.testing.assert_allclose(more.forget(X[:40] + 1, NAMES[60:100]).log_likelihood(X), whole, rtol=1e-7)
    np.testing.assert_allclose(clone(clf).fit_statistics(clf.statistics_).log_likelihood(X), whole, rtol=1e-12)


def test_one_statistic_serves_every_structure():
    rich = GaussianClassifier("full").fit(X, Y).statistics_
    for s in STRUCTURES:
        both = GaussianClassifier(s).fit_statistics(rich), GaussianClassifier(s).fit(X, Y)
        np.testing.assert_allclose(both[0].covariances_, both[1].covariances_, rtol=1e-12)
    with pytest.raises(StatisticsError, match="collect it again"):
        GaussianClassifier("full").fit_statistics(GaussianClassifier("diag").fit(X, Y).statistics_)
    with pytest.raises(DataError, match="MomentStats"):
        GaussianClassifier().fit_statistics("no statistic")


def test_ddof_1_divides_as_r_does(structure, tmp_path):
    """By n - 1, or n - k of all classes; MASS and e1071 agree to 1e-10: `python -m benchmarks.r`."""
    clf = GaussianClassifier(structure, ddof=1).fit(X, NAMES)
    own = [np.cov(X[c == Y].T) for c in range(3)]
    pooled = sum((len(X[c == Y]) - 1) * each for c, each in enumerate(own)) / (len(X) - 3)
    matrix = pooled if structure.startswith("tied") else np.stack(own)
    variances = np.einsum("...ii->...i", matrix)
    shape = structure.removeprefix("tied_")
    expected = {"diag": variances, "spherical": variances.mean(axis=-1)}.get(shape, matrix)
    np.testing.assert_allclose(clf.covariances_, expected)
    full = GaussianDensity.from_parameters(clf.means_, clf.covariances_, structure)
    np.testing.assert_allclose(clf.log_likelihood(X), full.log_likelihood(X))
    clf.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").log_likelihood(X), clf.log_likelihood(X))
    halves = GaussianClassifier(structure, ddof=1).fit(X[::2], NAMES[::2]) + clone(clf).fit(X[1::2], NAMES[1::2])
    np.testing.assert_allclose(halves.log_likelihood(X), clf.log_likelihood(X))
    grid = {"ddof": [0, 1]}
    found = OnePassSearchCV(clf, grid, scoring="neg_log_loss", cv=3).fit(X, NAMES).cv_results_["mean_test_score"]
    again = GridSearchCV(clf, grid, scoring="neg_log_loss", cv=3).fit(X, NAMES).cv_results_["mean_test_score"]
    np.testing.assert_allclose(found, again)


def test_ddof_1_where_cells_are_missing_rows_few_or_columns_many(rng):
    holed = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    clf = GaussianClassifier("diag", ddof=1).fit(holed, Y)
    np.testing.assert_allclose(clf.covariances_, [np.nanvar(holed[c == Y], axis=0, ddof=1) for c in range(3)])
    with pytest.raises(DataError, match=r"X contains NaN .* without .* ddof=1"):
        GaussianClassifier(ddof=1).fit(holed, Y)
    with pytest.raises(DataError, match="ddof=1 needs complete rows for covariance='full'"):
        GaussianClassifier().fit(holed, Y).set_params(ddof=1).predict(X)
    with pytest.warns(SingularWarning):
        clf = GaussianClassifier("diag", ddof=1).fit(X[[0, 1, 2, 50]], Y[[0, 1, 2, 50]])
    assert np.isfinite(clf.log_likelihood(X)).all()  # of a class of one row, too
    wide, labels = rng.normal(size=(20, 80)), np.arange(20) % 2
    clf = GaussianClassifier("tied", 0.5, ddof=1).fit(wide, labels)
    assert isinstance(clf.statistics_, WideMomentStats)
    biased = GaussianClassifier("tied", 0.5).fit(wide, labels)
    np.testing.assert_allclose(clf.covariances_, biased.covariances_ * 20 / 18)
    np.testing.assert_allclose(clf.density_.log_det, np.linalg.slogdet(clf.covariances_)[1])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"ddof": 2}, "ddof=2 must be 0"),
        ({"shrinkage": "loo"}, '"loo" has no ddof=1'),
        ({"predictive": True}, "no ddof=1"),
    ],
)
def test_what_ddof_cannot_be(params, words):
    with pytest.raises(DataError, match=words):
        GaussianClassifier(**{"ddof": 1} | params).fit(X, Y)


def test_a_failed_call_leaves_the_model_as_it_was(clf):
    before = clf.log_likelihood(X)
    bad = X.copy()
    bad[0, 0] = np.inf
    for call in (
        lambda: clf.partial_fit(bad, NAMES),
        lambda: clf.forget(bad, NAMES),
        lambda: clf.forget(np.vstack([X, X]), np.concatenate([NAMES, NAMES])),
        lambda: clf.forget(X[:1], ["dandelion"]),
        lambda: clf.partial_fit(X[:, :3], NAMES),
        lambda: clf + GaussianClassifier(clf.covariance).fit(X[:, :3], NAMES),
    ):
        with pytest.raises((DataError, StatisticsError)):
            call()
        np.testing.assert_array_equal(clf.log_likelihood(X), before)


def test_a_first_call_that_fails_leaves_nothing():
    clf = GaussianClassifier(shrinkage="loo")
    before = dict(vars(clf))
    with pytest.raises(DataError, match="leaving out any row"):
        clf.fit(X[::50], NAMES[::50])
    assert vars(clf) == before


def test_a_shrinkage_that_is_chosen_by_all_rows_does_not_offer_to_learn_from_some():
    clf = GaussianClassifier(shrinkage="loo").fit(X, NAMES)
    for name in ("partial_fit", "forget", "fit_statistics"):
        assert not hasattr(clf, name)
        with pytest.raises(AttributeError) as caught:
            getattr(clf, name)
        assert "all rows at once; call fit, or give a number" in str(caught.value.__cause__)
    with pytest.raises(DataError, match="all rows at once"):
        clf + clf
    clf.set_params(shrinkage=clf.shrinkage_).partial_fit(X, NAMES)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array(["ham", "spam"])[Y % 2], "U"),
        (np.array(["ham", "spam"], object)[Y % 2], "O"),
        (Y % 2 == 1, "b"),
        ((Y % 2).astype(np.int8), "i"),
        ((Y % 2).astype(float), "f"),
        (list(Y % 2), "i"),
    ],
)
def test_labels_come_back_as_they_were(labels, kind):
    clf = GaussianClassifier("diag").fit(X, labels)
    assert clf.classes_.dtype.kind == clf.predict(X).dtype.kind == kind
    assert np.mean(clf.predict(X) == np.asarray(labels)) > 0.6


def test_weights_are_copies(structure):
    k = np.arange(150) % 3
    weighted = GaussianClassifier(structure).fit(X, Y, sample_weight=k)
    copied = GaussianClassifier(structure).fit(np.repeat(X, k, axis=0), np.repeat(Y, k))
    np.testing.assert_allclose(weighted.log_likelihood(X), copied.log_likelihood(X), rtol=1e-9)
    np.testing.assert_allclose(weighted.prior_, copied.prior_)
    np.testing.assert_allclose(weighted.forget(X, Y, sample_weight=k / 2).covariances_, copied.covariances_, rtol=1e-9)


def test_soft_labels_at_the_level_of_statistics():
    share = np.eye(3)[Y] * 0.8 + 0.2 / 3
    source = as_source(X, SoftLabels(np.arange(3), share))
    clf = GaussianClassifier("full")
    stats = source.reduce(clf._collector(clf._infer(source)), lambda a, b: a + b)
    for c in range(3):
        np.testing.assert_allclose(stats.mean[c], np.average(X, axis=0, weights=share[:, c]))
        np.testing.assert_allclose(stats.scatter[c] / stats.weight[c], np.cov(X.T, aweights=share[:, c], ddof=0))
    assert clf.fit_statistics(stats).predict(X[:1]) == 0


def test_forgetting_down_to_a_constant_column_leaves_no_noise():
    data, labels = np.array([[0.1]] * 10 + [[0.7]] + [[5.0], [6.0]]), [0] * 11 + [1] * 2
    with pytest.warns(PrecisionWarning, match="column 0"):
        clf = GaussianClassifier("diag").fit(data, labels).forget([[0.7]], [0])
    assert clf.statistics_.scatter[0] == 0


def test_forgetting_a_heavy_row_keeps_the_light_ones():
    data, weight = np.array([[1.0], [1.0], [2.0], [4.0]]), [1e10, 1, 1, 1]
    clf = GaussianClassifier("diag").fit(data, [0] * 4, weight).forget(data[:1], [0], [1e10])
    np.testing.assert_allclose(clf.statistics_.mean, [[7 / 3]], rtol=1e-5)


@pytest.mark.parametrize("name", kernels.available())
def test_a_row_of_next_to_no_weight_may_lie_anywhere(name):
    data = np.concatenate([[[1e8]], np.random.default_rng(0).normal(size=(1000, 1))])
    weight = np.concatenate([[1e-30], np.ones(1000)])
    for s in ("diag", "full", "tied"):
        with kernels.using(name):
            clf = GaussianClassifier(s).fit(data, np.zeros(1001, int), weight)
        assert clf.covariances_.item() == pytest.approx(data[1:].var(), rel=1e-9)


def test_a_model_without_rows_says_so(structure):
    clf = GaussianClassifier(structure).fit(X, Y).forget(X, Y)
    with pytest.warns(EmptyClassWarning, match="0, 1, 2"), pytest.raises(DataError, match="no rows"):
        clf.predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClassWarning)
        posterior = clf.predict_proba(X, prior=[0.2, 0.3, 0.5])
    np.testing.assert_allclose(posterior, np.tile([0.2, 0.3, 0.5], (150, 1)))


def test_more_rows_may_be_learnt_while_others_predict(structure):
    clf = GaussianClassifier(structure).partial_fit(X[:100], NAMES[:100])
    before = clf.density_
    clf.partial_fit(X[100:], NAMES[100:])
    clf.__dict__["_estimate_of"] = (object(), clf._settled(), before)  # as a slower thread would leave it
    np.testing.assert_allclose(clf.log_likelihood(X), GaussianClassifier(structure).fit(X, NAMES).log_likelihood(X))


def test_rows_that_cannot_have_been_learnt_are_not_forgotten(structure):
    clf = GaussianClassifier(structure).fit(X, Y)
    before = clf.statistics_
    with pytest.raises(StatisticsError, match="never learnt"):
        clf.forget(X[:10] + 100, Y[:10])
    assert clf.statistics_ is before


def test_another_choice_after_fit_holds_at_once_and_in_the_file(tmp_path):
    clf = GaussianClassifier("full").fit(X, Y).set_params(covariance="diag")
    np.testing.assert_allclose(clf.predict_proba(X), GaussianClassifier("diag").fit(X, Y).predict_proba(X))
    clf.save(tmp_path / "m")
    np.testing.assert_allclose(load(tmp_path / "m").predict_proba(X), clf.predict_proba(X))
    with pytest.raises(StatisticsError, match="collect it again"):
        GaussianClassifier("tied").fit(X, Y).set_params(covariance="full").save(tmp_path / "n")
    with pytest.raises(DataError, match="not known"):
        clf.set_params(covariance="nonsense").predict(X)


def test_models_can_be_summed():
    parts = [GaussianClassifier("tied").fit(X[r::3], Y[r::3]) for r in range(3)]
    np.testing.assert_allclose(sum(parts).covariances_, GaussianClassifier("tied").fit(X, Y).covariances_)


def test_a_prior_or_cost_with_labels_goes_by_them():
    clf = GaussianClassifier().fit(X, NAMES)
    prior = pd.Series({"virginica": 0.7, "setosa": 0.1, "versicolor": 0.2})
    np.testing.assert_array_equal(clf.predict_proba(X, prior=prior), clf.predict_proba(X, prior=[0.1, 0.2, 0.7]))
    cost = pd.DataFrame(1 - np.eye(3), index=clf.classes_, columns=clf.classes_).iloc[::-1, ::-1]
    np.testing.assert_array_equal(clf.predict(X, cost=cost), clf.predict(X))


def test_memory_does_not_grow_with_the_number_of_classes():
    rng = np.random.default_rng(0)
    data, labels = rng.normal(size=(60_000, 1)), rng.integers(0, 200, 60_000)
    clf = GaussianClassifier("diag").fit(data, labels)
    for call in (
        lambda: clf.llr(data, 0, 1),
        lambda: clf.predict(data, cost=1 - np.eye(200)),
        lambda: clf.predict(data),
    ):
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60e6  # all scores together would be 96 MB, and their temporaries more


# Degenerate data: a right answer or a clear error.


def check_finite(clf, data):
    scores = clf.log_likelihood(data)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(clf.predict_proba(data).sum(axis=1), 1)
    assert set(clf.predict(data)) <= set(clf.classes_)


DEGENERATE = {
    "fewer rows than columns": (np.random.default_rng(0).normal(size=(6, 10)), [0, 0, 0, 1, 1, 1]),
    "duplicate columns": (np.column_stack([X, X[:, 0]]), Y),
    "a column constant in one class": (np.column_stack([X, np.where(Y == 1, 7.0, np.sin(1e3 * X[:, 1]))]), Y),
    "a column constant in all classes": (np.column_stack([X, np.full(150, 0.1)]), Y),
    "a column constant and zero": (np.column_stack([X, np.zeros(150)]), Y),
    "a column constant within each class": (np.column_stack([X, Y]), Y),
    "one row in a class": (np.vstack([X[:100], X[149:]]), [*Y[:100], 2]),
    "one row in all": (X[:1], [3]),
    "two equal rows": (X[[0, 0]], [0, 1]),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data_give_finite_scores(case, structure):
    data, labels = DEGENERATE[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularWarning)
        check_finite(GaussianClassifier(structure).fit(data, labels), data)
        check_finite(GaussianClassifier(structure, predictive=True).fit(data, labels), data)


@pytest.mark.parametrize(
    ("case", "structure", "words"),
    [
        ("a column constant in one class", "full", r"class 1 in columns 4[.].*shrinkage"),
        ("a column constant in one class", "diag", r"class 1 in columns 4[.]"),
        ("duplicate columns", "tied", r"all classes in columns 0, 4[.]"),
        ("duplicate columns", "full", r"class 0 in columns 0, 4; class 1 in columns 0, 4; class 2"),
        ("one row in a class", "spherical", r"class 2 in columns 0, 1, 2, 3"),
    ],
)
def test_a_floor_is_announced_with_class_and_columns(case, structure, words):
    with pytest.warns(SingularWarning, match=words):
        GaussianClassifier(structure).fit(*DEGENERATE[case])


# A spherical structure has one variance for all columns, so each column's scale matters there.
PER_COLUMN = pytest.mark.parametrize("structure", ["full", "diag", "tied", "tied_diag"])


@PER_COLUMN
def test_a_useless_column_changes_no_decision(structure):
    plain = GaussianClassifier(structure).fit(X, Y)
    padded = np.column_stack([X, np.full(150, 5.0)])
    with pytest.warns(SingularWarning, match="columns 4"):
        clf = GaussianClassifier(structure).fit(padded, Y)
    np.testing.assert_allclose(clf.predict_proba(padded), plain.predict_proba(X), atol=1e-7)


@PER_COLUMN
@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
def test_decisions_do_not_depend_on_the_scale_of_a_floored_column(structure):
    data, labels = DEGENERATE["a column constant in one class"]
    scale = np.array([1, 1, 1, 1, 1e40])
    one, two = GaussianClassifier(structure).fit(data, labels), GaussianClassifier(structure).fit(data * scale, labels)
    np.testing.assert_array_equal(one.predict(data), two.predict(data * scale))


@PER_COLUMN
@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
def test_a_column_constant_within_each_class_has_the_same_floor_wherever_it_lies(structure):
    data, labels = DEGENERATE["a column constant within each class"]
    one, two = (GaussianClassifier(structure).fit(data + np.eye(5)[4] * shift, labels) for shift in (0, 1024))
    np.testing.assert_allclose(two.covariances_, one.covariances_, rtol=1e-9)


def test_one_class(structure):
    clf = GaussianClassifier(structure).fit(X, np.full(150, "only"))
    assert set(clf.predict(X)) == {"only"}
    np.testing.assert_array_equal(clf.predict_proba(X), 1)


def test_a_class_declared_but_never_seen(structure):
    clf = GaussianClassifier(structure).partial_fit(X, NAMES, classes=[*np.unique(NAMES), "tulip"])
    with pytest.warns(EmptyClassWarning, match="no rows of class 'tulip'"):
        scores = clf.log_likelihood(X)
    assert np.isneginf(scores[:, 1]).all()
    assert list(clf.classes_) == ["setosa", "tulip", "versicolor", "virginica"]
    np.testing.assert_allclose(clf.predict_proba(X, prior="uniform").sum(axis=1), 1)
    np.testing.assert_allclose(
        clf.predict_proba(X)[:, [0, 2, 3]], GaussianClassifier(structure).fit(X, Y).predict_proba(X)
    )
    assert set(clf.predict(X, prior={"setosa": 0, "tulip": 1, "versicolor": 0, "virginica": 0})) == {"tulip"}
    later = clf.partial_fit(X[:50] + 20, np.full(50, "tulip"))
    assert set(later.predict(X[:50] + 20)) == {"tulip"}


def test_a_predictive_model_knows_what_an_unseen_class_may_look_like():
    clf = GaussianClassifier(predictive=True).partial_fit(X, NAMES, classes=[*np.unique(NAMES), "tulip"])
    assert np.isfinite(clf.log_likelihood(X)).all()


def test_new_classes_may_come_at_any_time(structure):
    clf = GaussianClassifier(structure).partial_fit(X[:100], NAMES[:100]).partial_fit(X[100:], NAMES[100:])
    np.testing.assert_allclose(clf.log_likelihood(X), GaussianClassifier(structure).fit(X, NAMES).log_likelihood(X))


@pytest.mark.parametrize("far", [1e160, 1e300])
def test_the_farthest_outliers_are_finite(clf, far):
    assert np.isfinite(clf.log_likelihood(X + far)).all()


def test_fewer_rows_than_columns_are_announced():
    rng = np.random.default_rng(0)
    with pytest.warns(SingularWarning, match="class 0 in columns"):
        GaussianClassifier("full").fit(rng.normal(size=(390, 200)), np.arange(390) % 2)


@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
def test_a_floor_holds_however_wide_the_class():
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(size=(500, 60)), 1e7 * rng.normal(size=(2, 60))])
    weight = np.concatenate([np.full(500, 4e4), np.ones(2)])
    check_finite(GaussianClassifier("full").fit(data, np.repeat([0, 1], [500, 2]), weight), data)
    twice = np.column_stack([X, X[:, 0]])
    check_finite(GaussianClassifier("full", variance_floor=1e-20).fit(twice, Y), twice)


def test_a_column_constant_but_for_rounding_is_constant():
    column = np.where(np.arange(150) % 2, 0.3, 0.1 + 0.2)
    for s in ("full", "diag"):
        with pytest.warns(SingularWarning, match="columns 4"):
            clf = GaussianClassifier(s).fit(np.column_stack([X, column]), Y)
        shifted = np.column_stack([X, column + 1e-9])
        assert np.mean(clf.predict(shifted) != Y) < 0.05


def test_ledoit_wolf_says_when_fourth_powers_do_not_fit():
    for scale in (1e80, 1e-82):
        with pytest.raises(DataError, match="fourth powers"):
            GaussianClassifier(shrinkage="ledoit_wolf").fit(X * scale, Y)


def test_one_row_for_each_class_is_judged_in_each_columns_unit():
    for unit in (1.0, 1e6):
        with pytest.warns(SingularWarning):
            clf = GaussianClassifier("diag").fit([[0.0, 0.0], [1.0, unit]], [0, 1])
        assert clf.predict([[0.9, 0.2 * unit]]) == 1


def test_nothing_is_known_of_a_class_without_rows():
    clf = GaussianClassifier("tied").partial_fit(X, Y, classes=[0, 1, 2, 3])
    with pytest.warns(EmptyClassWarning):
        clf.density_  # noqa: B018
    for call in (
        lambda: clf.explain(X, 0, 3),
        lambda: clf.quadratic_form(0, 3),
        lambda: clf.to_logistic("uniform"),
        lambda: clf.sample(3, label=3),
        lambda: clf.impute(X, prior=[0, 0, 0, 1]),
    ):
        with pytest.raises(DataError, match=r"nothing is known|the prior is zero for every class with rows"):
            call()


def test_far_outliers_are_finite_and_ordered(clf):
    far = X[:1] + np.array([[1e1], [1e5], [1e20], [1e100], [1e150]])
    scores = clf.log_likelihood(far)
    assert np.isfinite(scores).all()
    assert (np.diff(scores, axis=0) < 0).all()
    assert np.isfinite(clf.predict_proba(far)).all()
    assert (clf.typicality(far[2:]) == 0).all()


BAD_INPUT = [
    (np.where(np.eye(150, 4), np.inf, X), Y, None, r"infinity in 4 rows, in columns 0 \(1\), 1 \(1\), 2 \(1\)"),
    (np.where(np.arange(150)[:, None] == 3, [np.inf, 1, 1, np.nan], X), Y, None, r"in 1 row, in columns 0 \(1\);"),
    (X, np.where(Y == 1, np.nan, Y), None, "50 missing labels"),
    (X, Y + 0.5, None, "continuous"),
    (X, Y[:-1], None, "150 rows, y has 149"),
    (X, None, None, "target y is None"),
    (X, Y, np.zeros(150), "all weights are zero"),
    (X, Y, -np.ones(150), "not negative"),
    (X, Y, np.full(150, np.nan), "finite"),
    (X[:0], Y[:0], None, "0 sample"),
    (X[:, :0], Y, None, "0 feature"),
    (X[:, 0], Y, None, "Reshape your data"),
    (X + 1j, Y, None, "Complex data not supported"),
    (np.array([["a"], ["b"]]), [0, 1], None, "not numbers"),
    (X * 1e200, Y, None, "too large"),
    (X, "species", None, "no column names"),
]


@pytest.mark.parametrize(("data", "labels", "weight", "words"), BAD_INPUT)
def test_bad_input_is_refused_in_clear_words(data, labels, weight, words, structure):
    with pytest.raises(DataError, match=words):
        GaussianClassifier(structure).fit(data, labels, weight)


@pytest.mark.parametrize("bad", [-np.inf, np.inf])
@pytest.mark.parametrize("call", ["predict", "predict_proba", "log_likelihood", "score_samples", "typicality"])
def test_bad_rows_are_refused_when_scoring(bad, call, clf):
    spoilt = X.copy()
    spoilt[7, 2], spoilt[7, 1], spoilt[8, 1] = bad, np.nan, np.nan
    with pytest.raises(DataError, match=r"in 1 row, in columns 2 \(1\)"):
        getattr(clf, call)(spoilt)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"covariance": "round"}, "choose one of 'full'"),
        ({"shrinkage": 1.5}, "from 0 to 1"),
        ({"shrinkage": "much"}, '"oas" or "ledoit_wolf"'),
        ({"covariance": "diag", "shrinkage": "oas"}, 'needs covariance="full" or "tied"'),
        ({"predictive": True, "shrinkage": 0.1}, "leave shrinkage out"),
        ({"variance_floor": 0}, "between 0 and 1"),
    ],
)
def test_bad_parameters_are_refused(params, words):
    with pytest.raises(DataError, match=words):
        GaussianClassifier(**params).fit(X, Y)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ([0.5, 0.5], "each of the 3 classes"),
        ([0.5, 0.4, 0.2], "sum to 1, but they sum to 1.1"),
        ([1.5, -0.5, 0.0], "not negative"),
        ({"setosa": 1.0}, "missing: 'versicolor', 'virginica'"),
        ({"setosa": 0.5, "rose": 0.5, "versicolor": 0, "virginica": 0}, "unknown: 'rose'"),
        ("jeffreys", '"uniform"'),
    ],
)
def test_bad_priors_are_refused(prior, words):
    clf = GaussianClassifier().fit(X, NAMES)
    with pytest.raises(DecisionError, match=words):
        clf.predict(X, prior=prior)
    with pytest.raises(DecisionError, match=words):
        GaussianClassifier(prior=prior).fit(X, NAMES).predict_proba(X)


def test_priors_that_sum_to_one_but_for_rounding_are_taken():
    clf = GaussianClassifier().fit(X, NAMES)
    for off in (1e-12, -1e-12):
        np.testing.assert_allclose(clf.predict_proba(X, prior=[0.2, 0.3, 0.5 + off]).sum(axis=1), 1)


def test_costs_may_name_other_decisions():
    clf = GaussianClassifier().fit(X, NAMES)
    cost = {"setosa": [0, 1, 1], "versicolor": [1, 0, 1], "virginica": [1, 1, 0], "ask": [0.1, 0.1, 0.1]}
    decided = clf.predict(X, cost=cost)
    posterior = clf.predict_proba(X)
    np.testing.assert_array_equal(decided == "ask", posterior.max(axis=1) < 0.9)
    assert (decided == "ask").any()
    square = clf.predict(X, cost={"virginica": {"setosa": 9, "versicolor": 1, "virginica": 0}, "setosa": [0, 1, 9]})
    assert square.dtype == clf.classes_.dtype
    with pytest.raises(DecisionError, match="dictionary from decisions"):
        clf.predict(X, cost=np.ones((4, 3)))


def test_estimate_prior_finds_the_proportions_of_unlabelled_rows():
    rng = np.random.default_rng(0)
    means = np.array([0.0, 2.0, 4.0])
    train = np.repeat([0, 1, 2], 2000)
    clf = GaussianClassifier().fit(rng.normal(means[train])[:, None], train)
    test = rng.choice(3, 20_000, p=[0.7, 0.1, 0.2])
    np.testing.assert_allclose(clf.estimate_prior(rng.normal(means[test])[:, None]), [0.7, 0.1, 0.2], atol=0.02)


def test_two_classes_need_no_names_for_a_ratio():
    binary = GaussianClassifier().fit(X[Y > 0], Y[Y > 0])
    np.testing.assert_array_equal(binary.llr(X), binary.llr(X, 1, 2))
    three = GaussianClassifier().fit(X, NAMES)
    with pytest.raises(DataError, match="with 3 classes, give two"):
        three.llr(X)
    with pytest.raises(DataError, match=r"'rose' is not a class .* 'setosa'"):
        three.llr(X, "rose", "setosa")


def test_what_a_structure_cannot_do_is_said():
    with pytest.raises(DataError, match="quadratic in x"):
        GaussianClassifier("full").fit(X, Y).to_logistic()
    with pytest.raises(DataError, match="predictive"):
        GaussianClassifier(predictive=True).fit(X, Y).quadratic_form(0, 1)
    with pytest.raises(DataError, match="prior 0"):
        GaussianClassifier("tied").fit(X, Y).to_logistic([0.5, 0.5, 0])


@pytest.mark.parametrize("call", ["predict", "llr", "log_likelihood", "impute", "forget", "save", "sample", "classes_"])
def test_what_is_not_fitted_says_so(call):
    clf = GaussianClassifier()
    args = {"save": ("x",), "forget": (X, Y), "sample": ()}.get(call, (X,))
    with pytest.raises((NotFittedError, AttributeError), match=r"not fitted|classes_"):
        getattr(clf, call)(*args)


def test_rows_with_nothing_observed_are_imputed_by_the_mean():
    clf = GaussianClassifier("full").fit(X, NAMES)
    np.testing.assert_allclose(clf.impute([[np.nan] * 4]), X.mean(axis=0)[None])
    np.testing.assert_array_equal(clf.impute(X), X)


def test_in_scikit_learns_machinery():
    pipe = make_pipeline(StandardScaler(), GaussianClassifier("tied"))
    assert cross_val_score(pipe, X, NAMES).mean() > 0.95
    grid = GridSearchCV(GaussianClassifier(), {"covariance": STRUCTURES, "shrinkage": [None, 0.1]}, cv=3).fit(X, Y)
    assert grid.best_score_ > 0.95
    copy = pickle.loads(pickle.dumps(pipe.fit(X, NAMES)))
    np.testing.assert_array_equal(copy.predict_proba(X), pipe.predict_proba(X))


def test_prior_and_cost_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        clf = (
            GaussianClassifier("tied").set_predict_request(prior=True, cost=True).set_predict_proba_request(prior=True)
        )
        pipe = make_pipeline(StandardScaler(), clf).fit(X, NAMES)
        prior = {"setosa": 0.0, "versicolor": 0.999, "virginica": 0.001}
        plain = GaussianClassifier("tied").fit(StandardScaler().fit_transform(X), NAMES)
        scaled = StandardScaler().fit_transform(X)
        np.testing.assert_array_equal(pipe.predict(X, prior=prior), plain.predict(scaled, prior=prior))
        cost = [[0, 5, 1], [1, 0, 1], [1, 1, 0]]
        np.testing.assert_array_equal(pipe.predict(X, cost=cost), plain.predict(scaled, cost=cost))


def test_representations():
    clf = GaussianClassifier("tied", prior="uniform")
    assert repr(clf) == "GaussianClassifier(covariance='tied', prior='uniform')"
    clf.fit(X, Y)
    assert "GaussianClassifier" in clf._repr_html_()
    assert repr(clf.statistics_) == "MomentStats(pooled, 3 classes, 4 features, weight 150)"
    assert repr(clf.density_) == "GaussianDensity(tied full, 3 classes, 4 features)"
    assert repr(GaussianClassifier(predictive=True).fit(X, Y).density_).startswith("StudentDensity(full")
