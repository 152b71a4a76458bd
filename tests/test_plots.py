"""Displays: what they draw, against computations that we did not write; and that what they draw can be read."""

import inspect
import sys
from importlib import resources
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.contour import QuadContourSet
from matplotlib.patches import StepPatch
from scipy import stats
from scipy.spatial.distance import pdist
from scipy.special import expit
from sklearn import decomposition
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import confusion_matrix, det_curve, roc_curve
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from suffice import (
    LDA,
    PCA,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MixtureClassifier,
    MixtureModel,
    MultinomialClassifier,
    SemiSupervisedClassifier,
    load,
    plots,
)
from suffice.densities.scorer import Edge
from suffice.errors import DataError, DecisionError
from suffice.plots.style import PALETTE, color, dashes, marker
from suffice.sources import Source

RATIOS = [
    plots.BayesErrorDisplay,
    plots.CrossEntropyDisplay,
    plots.DetDisplay,
    plots.RocDisplay,
    plots.TippettDisplay,
]
FEATURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


@pytest.fixture(autouse=True)
def _leaves_no_trace(monkeypatch):
    """Nothing is shown, and no setting is changed."""
    monkeypatch.setattr(plt, "show", lambda *args, **choices: pytest.fail("a Display was shown"))
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before


@pytest.fixture(scope="module")
def penguins():
    return pd.read_csv(resources.files("suffice") / "data/penguins.csv")


@pytest.fixture(scope="module")
def birds(penguins):
    """Measurements and species of the birds that have all of them."""
    whole = penguins.dropna()
    return whole[FEATURES], whole["species"]


@pytest.fixture(scope="module")
def detection():
    rng = np.random.default_rng(3)
    y = (np.arange(120) % 3 == 0).astype(int)
    return y, np.round(rng.normal(1.5 * y, 1.2), 1)  # with ties


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :5], y


def drawn(display):
    """The figure as it would be saved; nothing of it may be cut off."""
    figure = display.figure_
    figure.draw_without_rendering()
    assert display.ax_.figure is figure
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert box.x0 > -0.05
    assert box.y0 > -0.05
    assert box.x1 < width + 0.05
    assert box.y1 < height + 0.05
    return display


def lines(display, style=None):
    """Data of the lines on the axes, (m, 2) each, of one style."""
    return [line.get_xydata() for line in display.ax_.get_lines() if style is None or line.get_linestyle() == style]


def cloud(display):
    """Of the points of each class: where they are, the shapes of their markers, and when they are drawn."""
    (points,) = [c for c in display.ax_.collections if isinstance(c, PathCollection)]
    own = [(points.get_facecolor()[:, :3] == to_rgb(PALETTE[c])).all(axis=1) for c in range(len(display.classes))]
    shapes = [path.vertices.tobytes() for path in points.get_paths()]
    return [(points.get_offsets()[k], [shapes[i] for i in np.flatnonzero(k)], np.flatnonzero(k)) for k in own]


def legend_texts(display):
    legend = display.ax_.get_legend() or display.figure_.legends[0]
    return [text.get_text() for text in legend.get_texts()]


# Ratios.


def rates(y, llr, threshold):
    return (llr[y == 1] <= threshold).mean(), (llr[y == 0] > threshold).mean()


def normalised_cost(y, llr, threshold, odds):
    miss, alarm = rates(y, llr, threshold)
    return (expit(odds) * miss + expit(-odds) * alarm) / min(expit(odds), expit(-odds))


def test_bayes_error_lines_are_the_costs(detection):
    y, llr = detection
    display = drawn(plots.BayesErrorDisplay.from_predictions(y, llr, log_odds=np.linspace(-4, 4, 30)))
    (actual,), (minimum,) = lines(display, "-"), lines(display, "--")
    thresholds = np.concatenate([[-np.inf], llr])
    for odds, cost in actual:
        assert cost == pytest.approx(normalised_cost(y, llr, -odds, odds), abs=1e-12)
    for odds, cost in minimum:
        assert cost == pytest.approx(min(normalised_cost(y, llr, t, odds) for t in thresholds), abs=1e-12)
    assert legend_texts(display) == ["actual", "minimum"]
    assert display.ax_.get_ylim() == pytest.approx((0, 1.1 * actual[:, 1].max()))


def test_roc_and_det_agree_with_scikit_learn(detection):
    y, llr = detection
    roc = lines(drawn(plots.RocDisplay.from_predictions(y, llr)))[1] / 100
    alarm, hit, _ = roc_curve(y, llr, drop_intermediate=False)
    np.testing.assert_allclose(roc[::-1], np.column_stack([alarm, hit]), atol=1e-12)
    det = lines(drawn(plots.DetDisplay.from_predictions(y, llr)))[1]
    alarm, miss, _ = det_curve(y, llr)
    theirs = np.column_stack([alarm, miss])  # without the ends
    ours = {tuple(point) for point in det.round(12)}
    assert {tuple(point) for point in theirs.round(12)} <= ours


def test_roc_shows_the_hull_and_the_equal_error_rate(detection):
    y, llr = detection
    display = plots.RocDisplay.from_predictions(y, llr)
    _, roc, hull, mark = (data / 100 for data in lines(display))
    assert (np.interp(roc[:, 0], hull[::-1, 0], hull[::-1, 1]) >= roc[:, 1] - 1e-12).all()
    assert {tuple(point) for point in hull.round(12)} <= {tuple(point) for point in roc.round(12)}
    alarm, hit = mark[0]
    assert alarm == pytest.approx(1 - hit)
    assert hit == pytest.approx(np.interp(alarm, hull[::-1, 0], hull[::-1, 1]))
    assert legend_texts(display)[0] == f"EER {100 * alarm:.3g} %"


def test_det_axes_are_probits(detection):
    ax = plots.DetDisplay.from_predictions(*detection).ax_
    p = np.array([0.01, 0.2, 0.4])
    transform = ax.transData.transform(np.column_stack([p, p]))
    place, probit = transform[:, 0], stats.norm.ppf(p)
    np.testing.assert_allclose(np.diff(place) / np.ptp(place), np.diff(probit) / np.ptp(probit), rtol=1e-9)


@pytest.mark.parametrize(
    ("scale", "n", "limits"),
    [(4.0, 200, (1e-3, 0.5)), (0.1, 200, (1e-3, 0.995)), (2.0, 40_000, (1e-3, 0.5)), (6.0, 40_000, (4e-5, 0.5))],
)
def test_det_limits_follow_the_rows(scale, n, limits):
    y = np.arange(n) % 2
    llr = stats.norm.ppf((np.arange(n) // 2 + 0.5) / (n / 2)) + scale * y
    display = drawn(plots.DetDisplay.from_predictions(y, {"a system": llr}))
    assert display.ax_.get_xlim() == pytest.approx(limits)
    labels = display.ax_.get_xticklabels()
    assert [text.get_text() for text in labels if text.get_text() in ("0.1", "1", "10")] == ["0.1", "1", "10"]
    boxes = [label.get_window_extent() for label in labels]
    assert all(one.x1 + 2 < two.x0 for one, two in pairwise(boxes))
    (legend,) = display.figure_.legends
    assert legend.get_window_extent().x0 > display.ax_.bbox.x1  # off the curves


@pytest.mark.parametrize(("unit", "size"), [("log10", np.log(10)), ("nat", 1.0)])
def test_tippett_lines_are_shares_above(detection, unit, size):
    y, llr = detection
    llr = np.concatenate([llr, [np.inf, -np.inf, np.inf]])
    y = np.concatenate([y, [1, 1, 0]])
    display = drawn(plots.TippettDisplay.from_predictions(y, llr, unit=unit))
    (targets,), (others,) = lines(display, "-"), lines(display, "--")
    for part, kind in ((targets, 1), (others, 0)):
        np.testing.assert_allclose(part[1:-1, 0], np.unique(llr[np.isfinite(llr)]) / size)
        steps = np.unique(llr[np.isfinite(llr)])
        np.testing.assert_allclose(part[1:-1, 1], [100 * (llr[y == kind] > s).mean() for s in steps])
        assert part[0, 1] == pytest.approx(100 * (llr[y == kind] > -np.inf).mean())
        assert part[-1, 1] == pytest.approx(100 * (llr[y == kind] == np.inf).mean())
    assert {"log10": "log10", "nat": "(nat)"}[unit] in display.ax_.get_xlabel()


@pytest.mark.parametrize(
    ("llr", "title"),
    [
        ([1.0, 2.0, -1.0, -2.0], ""),
        ([np.inf, 2.0, -1.0, -np.inf], "(2 rows beyond the axis)"),
        ([np.inf, 1e3, -np.inf, -1e3], "(4 rows beyond the axis)"),
        ([47.0, 46.0, -46.0, 45.0], "(1 row beyond the axis)"),  # 20 powers of ten are 46.05 nats
        ([-46.0, -47.0, -46.0, 45.0], "(1 row beyond the axis)"),
    ],
)
def test_tippett_says_what_it_does_not_show(llr, title):
    for unit in ("nat", "log10"):
        display = drawn(plots.TippettDisplay.from_predictions([1, 1, 0, 0], llr, unit=unit))
        assert display.ax_.get_legend().get_title().get_text() == title
    display = plots.TippettDisplay.from_predictions([1, 1, 0, 0], {"this": llr, "that": [1.0, 2.0, -1.0, -2.0]})
    assert legend_texts(display)[:2] == [f"this {title}".strip(), "that"]


@pytest.mark.parametrize("kind", [plots.BayesErrorDisplay, plots.CrossEntropyDisplay, plots.TippettDisplay])
def test_the_name_of_a_single_system_is_said_once(kind, detection):
    y, llr = detection
    display = drawn(kind.from_predictions(y, {"a system": llr}))
    assert display.ax_.get_legend().get_title().get_text() == "a system"
    assert "a system" not in legend_texts(display)
    assert legend_texts(display) == legend_texts(kind.from_predictions(y, llr))


def test_cross_entropy_lines(detection):
    y, llr = detection
    odds = np.linspace(-2, 2, 9)
    display = drawn(plots.CrossEntropyDisplay.from_predictions(y, llr, log10_odds=odds))
    (actual,), (minimum,), (uninformed,) = (lines(display, style) for style in ("-", "--", ":"))
    pav = IsotonicRegression(y_min=0, y_max=1).fit_transform(llr, y)
    with np.errstate(divide="ignore"):
        calibrated = np.log(pav / (1 - pav)) - np.log(y.mean() / (1 - y.mean()))
    for ratios, part in ((llr, actual), (calibrated, minimum), (0.0 * llr, uninformed)):
        for x, bits in part:
            prior = 10**x / (1 + 10**x)
            posterior = 1 / (1 + np.exp(-ratios) / 10**x)
            cost = prior * -np.log2(posterior[y == 1]).mean() + (1 - prior) * -np.log2(1 - posterior[y == 0]).mean()
            assert bits == pytest.approx(cost, abs=1e-9)
    np.testing.assert_allclose(actual[:, 0], odds, atol=1e-9)
    assert legend_texts(display) == ["actual", "after PAV", "prior alone"]


@pytest.mark.parametrize("kind", RATIOS)
def test_estimators_and_predictions_give_the_same_picture(kind, cancer):
    X, y = cancer
    models = {name: GaussianClassifier(name).fit(X, y) for name in ("tied", "full", "diag")}
    one = kind.from_estimator(models, X, y)
    two = kind.from_predictions(y, {name: model.llr(X) for name, model in models.items()})
    assert list(one.curves) == ["tied", "full", "diag"]
    for ours, theirs in zip(lines(one), lines(two), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    looks = {}
    for line in one.ax_.get_lines():
        looks.setdefault(line.get_color(), set()).add((line.get_marker(), line.get_linestyle()))
    own = [looks[color] for color in PALETTE[:3]]
    assert all(mine - two - three for mine, two, three in (own, own[1:] + own[:1], own[2:] + own[:2]))  # colour or not
    assert [text.split()[0] for text in legend_texts(one)[:3]] == ["tied", "full", "diag"]
    single = kind.from_estimator(models["tied"], X, y)
    assert list(single.curves) == ["GaussianClassifier"]


# What people without green or red cones see of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
SEEN = {
    "all": np.eye(3),
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}


@pytest.mark.parametrize(("cones", "n"), [("all", 12), ("deutan", 8), ("protan", 8)])
def test_colours_are_seen_apart(cones, n):
    """By at least 15 in CIE Lab, where 2.3 can just be told."""
    rgb = np.array([to_rgb(color) for color in PALETTE[:n]])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.119192, 0.9503041]]
    )
    share = np.clip(linear @ np.transpose(SEEN[cones]), 0, 1) @ (xyz / xyz.sum(axis=1, keepdims=True)).T
    f = np.where(share > (6 / 29) ** 3, np.cbrt(share), share * (29 / 6) ** 2 / 3 + 4 / 29)
    lab = np.column_stack([116 * f[:, 1], 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])])
    assert len(rgb) == n
    assert pdist(lab).min() > 15


def test_looks_repeat_late():
    looks = [[(color(i), one(i)) for i in range(50)] for one in (marker, dashes)]
    assert all(len(set(map(str, each))) == 50 for each in looks)


@pytest.mark.parametrize("kind", RATIOS)
def test_two_of_many_classes_leave_the_others_out(kind, birds):
    X, y = birds
    clf = GaussianClassifier("tied").fit(X[FEATURES[:1]], y)
    kept = (y != "Gentoo").to_numpy()
    one = kind.from_estimator(clf, X[FEATURES[:1]], y, "Adelie", "Chinstrap")
    llr = clf.llr(X[FEATURES[:1]], "Adelie", "Chinstrap")[kept]
    two = kind.from_predictions(y[kept] == "Chinstrap", llr)
    for ours, theirs in zip(lines(one), lines(two), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "shown",
    [
        lambda clf, X, y: plots.BayesErrorDisplay.from_estimator(clf, X, y, "Adelie", "Gentoo").curves["it"].actual,
        lambda clf, X, y: plots.ConfusionDisplay.from_estimator(clf["it"], X, y).counts,
        lambda clf, X, y: plots.ConfusionDisplay.from_estimator(clf["it"], X.assign(y=y), "y").counts,
        lambda clf, X, y: [column.name for column in plots.DensityDisplay.from_estimator(clf["it"], X, y).columns],
        lambda clf, X, _: plots.EvidenceDisplay.from_estimator(clf["it"], X[:1], "Adelie", "Gentoo").shares,
        lambda clf, X, y: plots.PosteriorMapDisplay.from_estimator(clf["it"], X, y, label="Adelie").posterior,
        lambda clf, X, y: plots.ScatterDisplay.from_estimator(clf["it"], X, y).points,
    ],
    ids=["systems", "confusion", "column", "density", "evidence", "posterior", "scatter"],
)
def test_of_a_table_that_holds_more_the_columns_of_the_model_are_shown(shown, birds):
    X, y = birds
    own = X[FEATURES[:2]]
    clf = {"it": GaussianClassifier().fit(own, y)}
    more = pd.DataFrame({"bird": np.arange(len(X)), FEATURES[1]: X[FEATURES[1]], FEATURES[0]: X[FEATURES[0]]})
    np.testing.assert_array_equal(shown(clf, more, y), shown(clf, own, y))


AWKWARD = {
    "tiny": ([1, 0], [0.5, -0.5]),
    "constant": ([1, 0, 1], [0.0, 0.0, 0.0]),
    "reversed": ([1, 0, 1, 0], [-5.0, 5.0, -4.0, 4.0]),
    "infinite": ([1, 0, 1, 0], [np.inf, -np.inf, np.inf, -np.inf]),
    "misleading": ([1, 0, 1, 0, 1], [-np.inf, np.inf, 1.0, -1.0, np.inf]),
    "huge": ([1, 0, 1, 0], [1e300, -1e300, 800.0, -800.0]),
    "many": ([1, 0, 1, 0], {f"a system with a long name {i}": [i, -1.0, 1.0, -i] for i in range(12)}),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("kind", RATIOS)
def test_awkward_ratios_are_drawn(kind, name):
    display = drawn(kind.from_predictions(*AWKWARD[name]))
    assert np.isfinite([*display.ax_.get_xlim(), *display.ax_.get_ylim()]).all()
    assert display.ax_.get_xlabel()
    assert display.ax_.get_ylabel()
    figure, own = plt.subplots()
    again = display.plot(own)
    assert again is display
    assert display.ax_ is own
    assert display.figure_ is figure
    assert own.get_legend()


def test_infinite_cross_entropy_is_said(detection):
    display = plots.CrossEntropyDisplay.from_predictions([1, 0, 1], {"bad": [-np.inf, 0, 1], "good": [1, -1, 2]})
    assert legend_texts(display)[:2] == ["bad (actual: infinite)", "good"]
    assert len(lines(display, "-")) == 1


# Decisions.


def test_confusion_agrees_with_scikit_learn(birds):
    X, y = birds
    clf = GaussianClassifier().fit(X[FEATURES[:2]], y)
    prior = {"Adelie": 0.1, "Chinstrap": 0.8, "Gentoo": 0.1}
    display = drawn(plots.ConfusionDisplay.from_estimator(clf, X[FEATURES[:2]], y, prior=prior))
    expected = confusion_matrix(y, clf.predict(X[FEATURES[:2]], prior=prior))
    np.testing.assert_array_equal(display.counts, expected)
    assert [text.get_text() for text in display.ax_.texts] == [str(n) for n in expected.ravel()]
    shares = confusion_matrix(y, clf.predict(X[FEATURES[:2]], prior=prior), normalize="true")
    np.testing.assert_allclose(display.ax_.images[0].get_array(), 100 * shares)
    for text, share in zip(display.ax_.texts, shares.ravel(), strict=True):
        assert text.get_color() == ("white" if share > 0.55 else "black")
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["Adelie", "Chinstrap", "Gentoo"]


def test_confusion_takes_any_classifier_and_named_columns(penguins, cancer):
    assert plots.ConfusionDisplay.from_estimator(GaussianNB().fit(*cancer), *cancer).counts.sum() == 569
    mixed = MixedClassifier().fit(penguins, "species")
    cost = {"Adelie": [0, 1, 1], "Chinstrap": [1, 0, 1], "Gentoo": [1, 1, 0], "ask": [0.05, 0.05, 0.05]}
    display = drawn(plots.ConfusionDisplay.from_estimator(mixed, penguins, "species", cost=cost, shares=True))
    assert display.decisions.tolist() == ["Adelie", "Chinstrap", "Gentoo", "ask"]
    np.testing.assert_array_equal(display.counts.sum(axis=1), penguins["species"].value_counts().sort_index())
    asked = (mixed.predict(penguins.drop(columns="species"), cost=cost) == "ask").sum()
    assert display.counts[:, 3].sum() == asked > 0
    np.testing.assert_allclose(sum(float(text.get_text()) for text in display.ax_.texts), 300, atol=0.5)


@pytest.mark.parametrize(
    ("y_true", "y_pred", "labels", "counts"),
    [
        (["a", "b"], ["a", "c"], None, [[1, 0, 0], [0, 0, 1], [0, 0, 0]]),
        ([2, 1, 1], [1, 1, 2], [2, 1], [[0, 1], [1, 1]]),
        ([0, 1, 1], np.array([0, 1, "ask"], object), [0, 1], [[1, 0, 0], [0, 1, 1]]),
        ([True, False], [True, True], None, [[0, 1], [0, 1]]),
    ],
)
def test_confusion_of_given_decisions(y_true, y_pred, labels, counts):
    display = drawn(plots.ConfusionDisplay.from_predictions(y_true, y_pred, labels=labels, shares=True))
    assert display.counts.tolist() == counts
    empty = [i for i, row in enumerate(counts) if not any(row)]
    texts = np.array([text.get_text() for text in display.ax_.texts]).reshape(display.counts.shape)
    assert (texts[empty] == "-").all()


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("k", [2, 5])
def test_the_colour_bar_is_as_high_as_the_matrix(k, own):
    labels, decided = np.arange(k), np.array([*range(k - 1), "ask"], object)
    ax = None if own else plt.subplots(1, 2)[1][0]
    display = plots.ConfusionDisplay.from_predictions(labels, decided, labels=labels, ax=ax)
    display.figure_.canvas.draw()
    matrix, bar = display.ax_.get_window_extent(), display.ax_.images[0].colorbar.ax.get_window_extent()
    assert (bar.y0, bar.y1) == pytest.approx((matrix.y0, matrix.y1))
    assert matrix.height / matrix.width == pytest.approx(k / (k + 1))
    assert bar.x0 > matrix.x1


@pytest.mark.parametrize("k", [2, 12, 45])
def test_confusion_of_many_classes_is_readable(k):
    names = np.array([f"class number {i:02d}" for i in range(k)])
    display = drawn(plots.ConfusionDisplay.from_predictions(names, names))
    assert len(display.ax_.texts) == (k * k if k <= 40 else 0)
    boxes = [label.get_window_extent() for label in display.ax_.get_xticklabels()]
    assert all(one.x1 <= two.x0 + 6 for one, two in pairwise(boxes))


def grid_of(display):
    x, y = np.meshgrid(display.plane.x, display.plane.y)
    return np.column_stack([x.ravel(), y.ravel()])


def borders(display):
    return [c for c in display.ax_.collections if isinstance(c, QuadContourSet)]


@pytest.mark.parametrize(
    ("prior", "cost"), [(None, None), ([0.8, 0.1, 0.1], None), ("uniform", [[0, 1, 5], [1, 0, 1], [1, 3, 0]])]
)
def test_regions_are_the_decisions(prior, cost):
    X, y = load_iris(return_X_y=True)
    X = X[:, [1, 2]]
    clf = GaussianClassifier().fit(X, y)
    display = drawn(plots.DecisionRegionsDisplay.from_estimator(clf, X, y, prior=prior, cost=cost))
    expected = clf.predict(grid_of(display), prior=prior, cost=cost)
    np.testing.assert_array_equal(display.decisions[display.region.ravel()], expected)
    assert {text.get_text() for text in display.ax_.texts} == {str(c) for c in np.unique(expected)}
    assert legend_texts(display) == ["0", "1", "2", "tie of two decisions"]
    for text in display.ax_.texts:  # names stand in their regions
        assert str(clf.predict([text.get_position()], prior=prior, cost=cost).item()) == text.get_text()


def test_the_border_is_that_of_linear_discriminant_analysis(cancer):
    X, y = cancer[0][:, :2], cancer[1]
    theirs = LinearDiscriminantAnalysis(priors=[0.1, 0.9]).fit(X, y)
    clf = GaussianClassifier("tied").fit(X, y)
    display = plots.DecisionRegionsDisplay.from_estimator(clf, X, y, prior=[0.1, 0.9])
    (border,) = borders(display)
    vertices = np.concatenate([path.vertices for path in border.get_paths()])
    assert len(vertices) > 50
    np.testing.assert_allclose(
        theirs.decision_function(vertices) / np.abs(theirs.coef_ * X.std(axis=0)).sum(), 0, atol=1e-2
    )


def test_pairs_are_drawn_on_where_two_decisions_are_equal():
    X, y = load_iris(return_X_y=True)
    clf = GaussianClassifier("tied").fit(X[:, 2:], y)
    display = plots.DecisionRegionsDisplay.from_estimator(clf, X[:, 2:], y, prior="uniform")
    sets = borders(display)
    assert len(sets) == 3 + 3
    for border, pair in zip(sets[3:], [(0, 1), (0, 2), (1, 2)], strict=True):
        vertices = np.concatenate([path.vertices for path in border.get_paths()])
        np.testing.assert_allclose(clf.llr(vertices, *pair), 0, atol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
def test_posterior_maps_agree_with_scikit_learn(k):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < k, :2], y[y < k]
    theirs = QuadraticDiscriminantAnalysis(priors=np.full(k, 1 / k)).fit(X, y)
    clf = GaussianClassifier().fit(X, y)
    display = drawn(plots.PosteriorMapDisplay.from_estimator(clf, X, y, label=1, prior="uniform"))
    n = np.bincount(y)
    assert len(set(n)) == 1
    expected = theirs.predict_proba(grid_of(display))[:, 1]
    assert np.abs(display.posterior.ravel() - expected).max() < 0.02  # they divide by n - 1
    np.testing.assert_allclose(display.posterior.ravel(), clf.predict_proba(grid_of(display), prior="uniform")[:, 1])
    image = display.ax_.images[0]
    assert image.get_clim() == (0, 1)
    middle = image.get_cmap()(0.5)[:3]
    assert (min(middle) > 0.97) == (k == 2)
    half = borders(display)[1].get_paths()[0].vertices
    np.testing.assert_allclose(clf.predict_proba(half, prior="uniform")[:, 1], 0.5, atol=0.01)


def test_other_columns_are_held(birds, penguins):
    X, y = birds
    clf = GaussianClassifier().fit(X, y)
    display = plots.DecisionRegionsDisplay.from_estimator(clf, X, y, FEATURES[1::-1], at="mean")
    depth, length = grid_of(display).T
    rows = pd.DataFrame({FEATURES[0]: length, FEATURES[1]: depth}).assign(
        **{name: X[name].mean() for name in FEATURES[2:]}
    )
    np.testing.assert_array_equal(display.decisions[display.region.ravel()], clf.predict(rows))
    assert display.ax_.get_xlabel() == "bill_depth_mm"
    assert display.ax_.get_title() == f"flipper_length_mm = {X.iloc[:, 2].mean():.4g}, body_mass_g = 4207"

    held = {"sex": "male", "island": "Biscoe", "year": 2008}
    mixed = MixedClassifier({FEATURES[3]: "binned"}).fit(penguins, "species")
    display = drawn(
        plots.PosteriorMapDisplay.from_estimator(mixed, penguins, "species", FEATURES[:2], label="Gentoo", at=held)
    )
    rows = rows.assign(**held, **{FEATURES[0]: grid_of(display)[:, 0], FEATURES[1]: grid_of(display)[:, 1]})
    rows = rows.assign(**{name: penguins[name].mean() for name in FEATURES[2:]})[mixed.feature_names_in_]
    np.testing.assert_allclose(display.posterior.ravel(), mixed.predict_proba(rows)[:, 2], atol=1e-12)
    said = display.ax_.get_title()
    assert max(map(len, said.split("\n"))) <= 72
    assert all(f"{name} = {value}" in said for name, value in held.items())


def test_titles_do_not_grow_without_bounds():
    X, y = load_breast_cancer(return_X_y=True)
    clf = MixedClassifier().fit(X, y)
    display = drawn(plots.PosteriorMapDisplay.from_estimator(clf, X, y, [0, 1], at={2: np.nan, 3: 700}))
    assert display.ax_.get_title().startswith("x2 missing, x3 = 700, x4 = ")
    assert display.ax_.get_title().endswith("x7 = 0.04892, 22 more held")


def test_ties_are_of_our_classifiers():
    X, y = load_iris(return_X_y=True)
    display = drawn(plots.DecisionRegionsDisplay.from_estimator(GaussianNB().fit(X[:, 2:], y), X[:, 2:], y))
    assert len(borders(display)) == 3
    assert legend_texts(display) == ["0", "1", "2"]


def test_regions_of_other_classifiers_and_without_labels(cancer):
    X, y = cancer[0][:, :2], cancer[1]
    for clf in (GaussianNB().fit(X, y), LogisticClassifier().fit(X, y)):
        display = drawn(plots.DecisionRegionsDisplay.from_estimator(clf, X))
        np.testing.assert_array_equal(display.region.ravel(), clf.predict(grid_of(display)))
        assert display.ax_.get_legend() is None
        assert not display.figure_.legends
    frame = pd.DataFrame(X, columns=["radius", "texture"]).assign(more=1.0)
    other = LinearDiscriminantAnalysis().fit(frame[["radius", "texture"]], y)
    display = plots.DecisionRegionsDisplay.from_estimator(other, frame[["radius", "texture"]], y)
    grid = pd.DataFrame(grid_of(display), columns=["radius", "texture"])
    np.testing.assert_array_equal(display.region.ravel(), other.predict(grid))
    mixed = MixedClassifier({"more": "drop"}).fit(frame, y)
    display = plots.DecisionRegionsDisplay.from_estimator(
        mixed, frame.assign(more="text"), None, ["radius", "texture"], at="mean"
    )
    np.testing.assert_array_equal(display.region.ravel(), mixed.predict(grid.assign(more=0.0)))


# Densities.


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "tied_diag"])
def test_densities_are_marginals_over_histograms(birds, covariance):
    X, y = birds
    display = drawn(plots.DensityDisplay.from_estimator(GaussianClassifier(covariance).fit(X, y), X, y, bins=12))
    means, own = X.groupby(y).mean(), X.groupby(y).var(ddof=0)
    within = (X - means.loc[y].to_numpy()).pow(2).mean()
    assert [panel.get_xlabel() for panel in display.axes_] == FEATURES
    assert display.ax_ is display.axes_[0]
    for panel, name in zip(display.axes_, FEATURES, strict=True):
        for line, label in zip(panel.get_lines(), means.index, strict=True):
            x, density = line.get_xydata().T
            variance = within[name] if covariance.startswith("tied") else own.loc[label, name]
            np.testing.assert_allclose(density, stats.norm.pdf(x, means.loc[label, name], variance**0.5), atol=1e-12)
        outlines = [
            patch.get_data() for patch in panel.patches if isinstance(patch, StepPatch) and not patch.get_fill()
        ]
        for stairs, label in zip(outlines, means.index, strict=True):
            heights, edges = np.histogram(X.loc[y == label, name], stairs.edges, density=True)
            np.testing.assert_allclose(stairs.values, heights)
            assert len(edges) == 13
    assert legend_texts(display) == ["Adelie", "Chinstrap", "Gentoo"]


@pytest.mark.parametrize(
    ("columns", "panels"), [([0], (1, 1)), ([0, 1, 2], (1, 3)), (range(4), (2, 2)), (range(5), (2, 3))]
)
def test_panels_are_laid_out(cancer, columns, panels):
    display = drawn(plots.DensityDisplay.from_estimator(GaussianClassifier().fit(*cancer), *cancer, columns))
    assert len(display.figure_.axes) == len(display.axes_) == len(columns)
    spec = display.ax_.get_subplotspec().get_gridspec()
    assert (spec.nrows, spec.ncols) == panels


def test_densities_of_the_gaussian_block_and_of_predictive_models(birds, penguins):
    mixed = MixedClassifier().fit(penguins, "species")
    display = drawn(plots.DensityDisplay.from_estimator(mixed, penguins, "species", ["body_mass_g"]))
    mass = penguins.loc[penguins["species"] == "Gentoo", "body_mass_g"].dropna()
    x, density = display.ax_.get_lines()[2].get_xydata().T
    np.testing.assert_allclose(density, stats.norm.pdf(x, mass.mean(), mass.std(ddof=0)), rtol=1e-9)

    X, y = birds
    clf = GaussianClassifier("diag", predictive=True).fit(X[::30], y[::30])
    display = drawn(plots.DensityDisplay.from_estimator(clf, X, y, [2]))
    x, density = display.ax_.get_lines()[0].get_xydata().T
    law = stats.t(clf.density_.dof[0], clf.means_[0, 2], clf.covariances_[0, 2] ** 0.5)
    np.testing.assert_allclose(density, law.pdf(x), rtol=1e-9)


@pytest.mark.parametrize(
    ("values", "bins", "width"),
    [
        (np.arange(17.0, 90.0).repeat(100), "rice", 2),  # 2 * 7300 ** (1 / 3) bins over 72: 1.85
        (np.arange(17.0, 90.0).repeat(2), "rice", 7),
        (25 * np.arange(0.0, 40.0).repeat(5), "rice", 75),  # 81.25, in steps of 25
        (np.arange(4.0).repeat(500), "rice", 1),
        (np.arange(4.0).repeat(500), 6, 0.5),
        (np.arange(4.0).repeat(500) + 0.5, "rice", 3 / 26),
        (np.full(20, 3.0), "rice", 1),
    ],
)
def test_bins_of_whole_numbers_hold_equally_many_of_them(values, bins, width):
    y = np.arange(len(values)) % 2
    clf = GaussianClassifier("tied").fit(values[:, None] + np.linspace(0, 1, len(y))[:, None], y)
    (column,) = plots.DensityDisplay.from_estimator(clf, values[:, None], y, bins=bins).columns
    np.testing.assert_allclose(np.diff(column.edges), width)
    np.testing.assert_allclose(column.heights.sum(axis=1) * width, 1)  # no value is outside


@pytest.mark.parametrize(("k", "filled", "top"), [(4, 4, "heights"), (5, 0, "density")])
def test_many_classes_have_outlines(k, filled, top):
    y = np.arange(400) % k
    x = np.where(np.arange(400) % 10 < 9, 0.0, 0.01 * np.arange(400) + y)
    display = drawn(plots.DensityDisplay.from_estimator(GaussianClassifier("tied").fit(x[:, None], y), x[:, None], y))
    assert sum(patch.get_fill() for patch in display.ax_.patches) == filled
    (column,) = display.columns
    highest = {"heights": column.heights.max(), "density": 3 * column.density.max()}
    assert highest["heights"] > highest["density"]
    assert display.ax_.get_ylim() == pytest.approx((0, 1.1 * highest[top]))


@pytest.mark.parametrize("covariance", ["full", "tied", "diag"])
def test_contours_are_one_and_two_standard_deviations_of_the_marginal(birds, covariance):
    X, y = birds
    columns = ["body_mass_g", "bill_depth_mm"]  # in another order than the table's
    display = drawn(plots.ScatterDisplay.from_estimator(GaussianClassifier(covariance).fit(X, y), X, y, columns))
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == tuple(columns)
    found = lines(display)
    for c, label in enumerate(["Adelie", "Chinstrap", "Gentoo"]):
        rows = X.loc[y == label, columns]
        matrix = np.cov(rows.T, bias=True)
        if covariance == "tied":
            matrix = sum((y == name).mean() * np.cov(X.loc[y == name, columns].T, bias=True) for name in y.unique())
        elif covariance == "diag":
            matrix = np.diag(np.diag(matrix))
        for deviations, contour in zip((1, 2), found[2 * c : 2 * c + 2], strict=True):
            off = contour - rows.mean().to_numpy()
            distance = np.sqrt(np.einsum("ij,jk,ik->i", off, np.linalg.inv(matrix), off))
            np.testing.assert_allclose(distance, deviations)
        np.testing.assert_array_equal(np.sort(cloud(display)[c][0], axis=0), np.sort(rows, axis=0))
    markers = [set(shapes) for _, shapes, _ in cloud(display)]
    assert [len(shapes) for shapes in markers] == [1, 1, 1]
    assert len(set.union(*markers)) == 3
    assert legend_texts(display)[3:] == ["1 standard deviation", "2 standard deviations"]
    legend = display.figure_.legends[0].get_lines()[3:]
    assert [line.get_linewidth() for line in legend] == [line.get_linewidth() for line in display.ax_.get_lines()[:2]]


@pytest.mark.parametrize("kind", [plots.ScatterDisplay, plots.DecisionRegionsDisplay, plots.PosteriorMapDisplay])
def test_no_class_is_painted_over(kind):
    rng = np.random.default_rng(1)
    for n, size, alpha in ((400, 22, 0.8), (20_000, 8, 0.2)):
        X, y = rng.normal(size=(n, 2)), np.repeat([0, 1], n // 2)
        clf = GaussianClassifier("diag").fit(X, y)
        X[0] = np.nan
        display = drawn(kind.from_estimator(clf, X, y))
        (first, _, one), (second, _, two) = cloud(display)
        assert (len(first), len(second)) == (n // 2 - 1, n // 2)
        assert abs(one.mean() - two.mean()) < 0.1 * n  # as late as each other
        (points,) = [c for c in display.ax_.collections if isinstance(c, PathCollection)]
        assert points.get_sizes().item() == size
        assert points.get_alpha() == alpha


# Mixtures.


@pytest.fixture(scope="module")
def clusters(birds):
    """A mixture of the measurements and the islands, without labels: the Gaussian columns are not all columns."""
    X, y = birds
    table = X.assign(island=np.where(y == "Gentoo", "Biscoe", "Dream"))[["island", *FEATURES]]
    return MixtureModel(3, random_state=0).fit(table), table


@pytest.fixture(scope="module")
def groups(birds):
    return MixtureClassifier({"Adelie": 2, "Chinstrap": 1, "Gentoo": 3}, random_state=0).fit(*birds)


def gaussians(model, columns):
    """Means and covariances of the components in some columns."""
    parameters = model.parameters_.get("components", model.parameters_)["gaussian"]
    own = [FEATURES.index(name) for name in columns]
    return parameters["means"][:, own], parameters["covariances"][:, own][:, :, own]


def assert_contour(contour, mean, covariance, deviations):
    off = contour - mean
    distance = np.sqrt(np.einsum("ij,jk,ik->i", off, np.linalg.inv(covariance), off))
    np.testing.assert_allclose(distance, deviations)


def test_components_have_ellipses_in_the_colour_of_their_class(birds, groups):
    X, y = birds
    columns = ["flipper_length_mm", "bill_length_mm"]
    display = drawn(plots.ScatterDisplay.from_estimator(groups, X, y, columns))
    found = display.ax_.get_lines()
    assert len(found) == 2 * 6
    weights = groups.parameters_["weights"]
    assert weights[2] == 1
    for j, (mean, covariance) in enumerate(zip(*gaussians(groups, columns), strict=True)):
        for deviations, line in zip((1, 2), found[2 * j : 2 * j + 2], strict=True):
            assert_contour(line.get_xydata(), mean, covariance, deviations)
            assert line.get_color() == color([0, 0, 1, 2, 2, 2][j])
            assert line.get_alpha() == pytest.approx(0.3 + 0.7 * weights[j])
    assert [len(rows) for rows, _, _ in cloud(display)] == y.value_counts().sort_index().tolist()
    assert legend_texts(display)[:3] == ["Adelie", "Chinstrap", "Gentoo"]


def test_clusters_have_ellipses_and_rows(clusters):
    model, table = clusters
    columns = ["bill_depth_mm", "body_mass_g"]
    display = drawn(plots.ScatterDisplay.from_estimator(model, table, columns=columns))
    for j, (mean, covariance) in enumerate(zip(*gaussians(model, columns), strict=True)):
        line = display.ax_.get_lines()[2 * j]
        assert_contour(line.get_xydata(), mean, covariance, 1)
        assert line.get_color() == color(j)
        assert line.get_alpha() == pytest.approx(0.3 + 0.7 * model.weights_[j] / model.weights_.max())
        own = table.loc[model.predict(table) == j, columns]
        np.testing.assert_array_equal(np.sort(cloud(display)[j][0], axis=0), np.sort(own, axis=0))
    assert legend_texts(display)[:3] == ["component 0", "component 1", "component 2"]

    alone = drawn(plots.ScatterDisplay.from_estimator(model, columns=[2, 4]))
    np.testing.assert_array_equal(lines(alone), lines(display))
    assert not alone.ax_.collections
    assert legend_texts(alone) == legend_texts(display)
    assert (alone.ax_.get_xlabel(), alone.ax_.get_ylabel()) == tuple(columns)


def test_components_are_under_the_density_of_their_class(birds, groups):
    X, y = birds
    display = drawn(plots.DensityDisplay.from_estimator(groups, X, y, ["body_mass_g"]))
    mean, covariance = gaussians(groups, ["body_mass_g"])
    weights, owner = groups.parameters_["weights"], np.array([0, 0, 1, 2, 2, 2])
    found = display.ax_.get_lines()
    x = found[0].get_xdata()
    shares = weights * stats.norm.pdf(x[:, None], mean[:, 0], covariance[:, 0, 0] ** 0.5)
    for c, line in enumerate(found[:3]):
        np.testing.assert_allclose(line.get_ydata(), shares[:, owner == c].sum(axis=1), atol=1e-12)
    several = [0, 1, 3, 4, 5]  # the class with one component needs no second line
    for j, line in zip(several, found[3:], strict=True):
        np.testing.assert_allclose(line.get_ydata(), shares[:, j], atol=1e-12)
        assert line.get_color() == color(owner[j])
    assert legend_texts(display) == ["Adelie", "Chinstrap", "Gentoo", "components"]


def test_clusters_are_under_the_density_of_the_mixture(clusters):
    model, table = clusters
    display = drawn(plots.DensityDisplay.from_estimator(model, table, bins=15))
    assert [panel.get_xlabel() for panel in display.axes_] == FEATURES
    for panel, name in zip(display.axes_, FEATURES, strict=True):
        mean, covariance = gaussians(model, [name])
        total, *parts = panel.get_lines()
        x = total.get_xdata()
        shares = model.weights_ * stats.norm.pdf(x[:, None], mean[:, 0], covariance[:, 0, 0] ** 0.5)
        np.testing.assert_allclose(total.get_ydata(), shares.sum(axis=1), atol=1e-12)
        for j, line in enumerate(parts):
            np.testing.assert_allclose(line.get_ydata(), shares[:, j], atol=1e-12)
            assert line.get_color() == color(j)
        outline = panel.patches[-1].get_data()
        np.testing.assert_allclose(outline.values, np.histogram(table[name], outline.edges, density=True)[0])
    assert legend_texts(display) == ["mixture", "component 0", "component 1", "component 2"]


def test_models_of_some_labels_are_drawn(birds):
    X, y = birds
    some = y.where(np.arange(len(y)) % 3 == 0, None)
    clf = SemiSupervisedClassifier(GaussianClassifier("tied")).fit(X[FEATURES[:2]], some)
    display = drawn(plots.ScatterDisplay.from_estimator(clf, X, y))
    mean, covariance = clf.estimator_.means_, clf.estimator_.covariances_
    for c in range(3):
        assert_contour(lines(display)[2 * c], mean[c], covariance, 1)


def assert_criteria(panel, table, criterion, chosen):
    """The curves and the ring of one panel; what is held out has an axis of its own."""
    order = np.argsort(table["n_components"])
    twins = [ax for ax in panel.figure.axes if ax is not panel and ax.bbox.bounds == panel.bbox.bounds]
    shown = {line.get_label(): line.get_xydata() for ax in (panel, *twins) for line in ax.get_lines()}
    names = {"bic": "BIC", "aic": "AIC", "icl": "ICL", "held_out": "held-out (right axis)"}
    for name in names.keys() & table.keys():
        expected = np.column_stack([table["n_components"], table[name]])[order]
        np.testing.assert_array_equal(shown[names[name]], expected)
    assert len(twins) == ("held_out" in table)
    ring = shown[f"chosen by {names[criterion].split()[0]}"]
    assert ring.tolist() == [[chosen, table[criterion].min()]]
    assert panel.get_lines()[0].get_xdata() == [chosen, chosen]
    assert all(tick % 1 == 0 for tick in panel.get_xticks())


@pytest.mark.parametrize("criterion", ["bic", "aic", "icl", "held_out"])
def test_criteria_of_clusters_show_what_was_chosen(birds, criterion, tmp_path):
    model = MixtureModel([4, 1, 3, 2], criterion=criterion, random_state=0).fit(birds[0])
    model.save(tmp_path / "clusters.safetensors")
    loaded = plots.CriteriaDisplay.from_estimator(load(tmp_path / "clusters.safetensors"))
    assert_criteria(loaded.ax_, model.criteria_, criterion, model.n_components_)
    display = drawn(plots.CriteriaDisplay.from_estimator(model))
    assert display.chosen == {"": model.n_components_}
    assert_criteria(display.ax_, model.criteria_, criterion, model.n_components_)
    assert display.ax_.get_title() == ""
    assert len(legend_texts(display)) == 4 + (criterion == "held_out")


@pytest.mark.parametrize("criterion", ["bic", "held_out"])
def test_criteria_have_a_panel_for_each_class_with_a_choice(birds, criterion):
    numbers = {"Adelie": [1, 2, 3], "Chinstrap": 2, "Gentoo": "auto"}
    clf = MixtureClassifier(numbers, criterion=criterion, random_state=0).fit(*birds)
    display = drawn(plots.CriteriaDisplay.from_estimator(clf))
    assert [panel.get_title() for panel in display.axes_] == ["Adelie", "Gentoo"]
    for panel, label in zip(display.axes_, display.tables, strict=True):
        assert_criteria(panel, clf.criteria_[label], criterion, clf.n_components_[label])


def test_history_is_the_log_likelihood_of_each_step(birds, tmp_path):
    X, y = birds
    model = MixtureModel(3, init="random", random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning):
        stopped = MixtureClassifier(2, max_iter=1, random_state=0).fit(X, y)
    some = SemiSupervisedClassifier(GaussianClassifier()).fit(X, y.where(np.arange(len(y)) % 9 == 0, None))
    display = drawn(plots.HistoryDisplay.from_estimator({"clusters": model, "stopped": stopped, "some": some}))
    for line, fitted in zip(display.ax_.get_lines(), (model, stopped, some), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(fitted.n_iter_ + 1))
        np.testing.assert_array_equal(line.get_ydata(), fitted.history_)
        assert (np.diff(line.get_ydata()) > -1e-9).all()
        assert line.get_marker() == "None"  # the longest has too many steps
    assert model.n_iter_ > 40
    np.testing.assert_allclose(lines(display)[0][-1, 1], model.score(X))
    assert legend_texts(display) == [
        f"clusters: converged after {model.n_iter_} steps",
        "stopped: not converged after 1 step",
        f"some: converged after {some.n_iter_} steps",
    ]
    stopped.save(tmp_path / "stopped.safetensors")
    stopped = load(tmp_path / "stopped.safetensors")
    alone = drawn(plots.HistoryDisplay.from_estimator(stopped))
    assert legend_texts(alone) == ["not converged after 1 step"]
    assert alone.ax_.get_lines()[0].get_marker() == marker(0)


@pytest.mark.filterwarnings("ignore::suffice.errors.EmptyClassWarning", "ignore::suffice.errors.SingularWarning")
def test_awkward_rows_are_drawn(birds):
    X, y = birds
    X = X[FEATURES[:2]]
    empty = GaussianClassifier("tied").partial_fit(X, y, classes=["Adelie", "Chinstrap", "Emperor", "Gentoo"])
    flat, labels = np.array([[1.0, 0], [1, 1], [1, 2], [2, 0], [2, 3], [2, 1]]), [0, 0, 0, 1, 1, 1]
    constant = GaussianClassifier().fit(flat, labels)
    digits, names = load_digits(return_X_y=True)
    digits = digits[:, [10, 20, 30]]
    names = np.array([f"the handwritten digit {i}" for i in range(10)])[names]
    many = GaussianClassifier().fit(digits, names)
    for clf, rows, y_true, columns in (
        (empty, X, y, [0, 1]),
        (constant, flat, labels, [0, 1]),
        (many, digits, names, [0, 2]),
    ):
        scatter = drawn(plots.ScatterDisplay.from_estimator(clf, rows, y_true, columns))
        assert len(lines(scatter)) == 2 * len(set(y_true))
        density = drawn(plots.DensityDisplay.from_estimator(clf, rows, y_true))
        assert all(np.isfinite(panel.get_ylim()).all() for panel in density.axes_)
        regions = drawn(plots.DecisionRegionsDisplay.from_estimator(clf, rows, y_true, columns, at="mean"))
        assert len(regions.ax_.texts) <= len(set(y_true))
        drawn(
            plots.PosteriorMapDisplay.from_estimator(
                clf, rows, y_true, columns, label=y_true[0] if clf is constant else clf.classes_[0], at="mean"
            )
        )


def test_a_certain_posterior_has_no_lines():
    clf = GaussianClassifier("tied_diag").fit(
        [[0.0, 0], [0, 1], [1, 0], [90, 90], [91, 90], [90, 91]], [0, 0, 0, 1, 1, 1]
    )
    display = drawn(plots.PosteriorMapDisplay.from_estimator(clf, [[0.0, 0], [1, 1]], [0, 0]))
    assert not borders(display)
    assert display.posterior.max() < 1e-3


# Reductions.


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X / X.std(), y


@pytest.mark.parametrize("m", [1, 3, 13])
def test_scree_bars_are_shares_of_all_variance(wine, m):
    X, _ = wine
    display = drawn(plots.ScreeDisplay.from_estimator(PCA(m).fit(X)))
    share = 100 * decomposition.PCA().fit(X).explained_variance_ratio_
    np.testing.assert_allclose([bar.get_height() for bar in display.ax_.patches], share[:m])
    np.testing.assert_allclose([bar.get_x() + bar.get_width() / 2 for bar in display.ax_.patches], np.arange(m) + 1)
    (cumulative,) = lines(display)
    np.testing.assert_allclose(cumulative, np.column_stack([np.arange(m) + 1, share.cumsum()[:m]]))
    assert legend_texts(display) == ["each component", "cumulative"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("component", "share of the variance (%)")
    assert (np.array(display.ax_.get_xticks()) % 1 == 0).all()
    given = plots.ScreeDisplay.from_values(PCA(m).fit(X).explained_variance_, X.var(ddof=0).sum())
    np.testing.assert_allclose(given.share, display.share)


def test_reductions_of_others_and_pipelines_are_drawn(wine):
    X, y = wine
    peer = LinearDiscriminantAnalysis().fit(X, y)
    for reduction in (LDA().fit(X, y), peer, make_pipeline(PCA(), LDA()).fit(X, y)):
        scree = drawn(plots.ScreeDisplay.from_estimator(reduction))
        np.testing.assert_allclose(scree.share, peer.explained_variance_ratio_, rtol=1e-6)
        assert scree.ax_.get_ylabel() == "share of the variance between classes (%)"
        display = drawn(plots.ProjectionDisplay.from_estimator(reduction, X, y))
        assert display.ax_.get_xlabel() == "discriminant 1 (68.7 % of the variance between classes)"
        np.testing.assert_array_equal(display.points, reduction.transform(X))


def test_ellipses_are_those_of_the_projected_rows(wine):
    X, y = wine
    names = y.map({0: "barolo", 1: "grignolino", 2: "barbera"})
    pca = PCA(3).fit(X)
    display = drawn(plots.ProjectionDisplay.from_estimator(pca, X.assign(kind=names), "kind"))
    assert display.classes.tolist() == ["barbera", "barolo", "grignolino"]
    assert display.ax_.get_ylabel() == "component 2 (19.2 % of the variance)"
    assert legend_texts(display)[:3] == display.classes.tolist()
    found = lines(display)
    for c, label in enumerate(display.classes):
        rows = pca.transform(X)[names == label, :2]
        np.testing.assert_array_equal(np.sort(cloud(display)[c][0], axis=0), np.sort(rows, axis=0))
        for deviations, contour in zip((1, 2), found[2 * c : 2 * c + 2], strict=True):
            off = contour - rows.mean(axis=0)
            inverse = np.linalg.inv(np.cov(rows.T, bias=True))
            np.testing.assert_allclose(np.sqrt(np.einsum("ij,jk,ik->i", off, inverse, off)), deviations)
        text = display.ax_.texts[c]
        assert text.get_text() == label
        np.testing.assert_allclose(text.get_position(), rows.mean(axis=0))


def test_classes_without_spread_and_many_directions_are_drawn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 120))
    y = np.r_[0, 1, 1, np.full(397, 2)]  # one row, a line, a crowd
    X[1], X[2] = X[2] + np.eye(120)[0], X[2]
    pca = PCA().fit(X)
    display = drawn(plots.ProjectionDisplay.from_estimator(pca, X, y))
    np.testing.assert_allclose(lines(display)[1], np.tile(pca.transform(X[:1])[:, :2], (181, 1)))
    assert np.isfinite(np.concatenate(lines(display))).all()
    scree = drawn(plots.ScreeDisplay.from_estimator(pca))
    assert len(scree.ax_.patches) == 120
    assert lines(scree)[0][-1, 1] == pytest.approx(100)
    assert drawn(plots.ScreeDisplay.from_values([0.0, 0.0])).share.tolist() == [0, 0]


# Evidence.


def test_evidence_bars_are_the_shares(penguins):
    mixed = MixedClassifier().fit(penguins, "species")
    bird = penguins.drop(columns="species")[:1]
    display = drawn(plots.EvidenceDisplay.from_estimator(mixed, bird, "Adelie", "Gentoo"))
    shares, llr = mixed.explain(bird, "Adelie", "Gentoo")[0], mixed.llr(bird, "Adelie", "Gentoo").item()
    order = np.argsort(-np.abs(shares))
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, [*shares[order], llr])
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels[0] == "flipper_length_mm = 181"
    assert labels[-1] == "total"
    assert display.ax_.texts[-1].get_text() == f"{llr:+.2f}"
    assert [label.split(" = ")[0] for label in labels[:-1]] == [bird.columns[j] for j in order]
    assert "Adelie" in display.ax_.get_xlabel().split("|")[0]

    tens = drawn(plots.EvidenceDisplay.from_estimator(mixed, bird, "Adelie", "Gentoo", unit="log10", max_columns=2))
    widths = [bar.get_width() for bar in tens.ax_.patches]
    np.testing.assert_allclose(widths, np.array([*shares[order[:2]], shares[order[2:]].sum(), llr]) / np.log(10))
    assert [label.get_text() for label in tens.ax_.get_yticklabels()][2:] == ["5 more columns", "total"]


def test_evidence_may_be_infinite_missing_or_none(penguins):
    birds = penguins.drop(columns="species")
    certain = MixedClassifier(alpha=0).fit(penguins, "species")
    display = drawn(plots.EvidenceDisplay.from_estimator(certain, birds[:1], "Adelie", "Gentoo"))
    assert display.total == -np.inf
    assert [text.get_text() for text in display.ax_.texts][-1] == "-∞"
    assert np.isfinite([bar.get_width() for bar in display.ax_.patches]).all()
    missing = drawn(plots.EvidenceDisplay.from_estimator(certain, birds[3:4], "Adelie", "Chinstrap"))
    assert "bill_length_mm" not in missing.names
    same = GaussianClassifier("tied").fit([[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1])
    nothing = drawn(plots.EvidenceDisplay.from_estimator(same, [[0.5]]))
    assert nothing.total == 0
    long = [f"a column with quite a long name, number {i}" for i in range(20)]
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(8, 20)), columns=long)
    names = np.array(["a class with a rather long name", "another such class, not shorter"])[np.arange(8) % 2]
    drawn(plots.EvidenceDisplay.from_estimator(GaussianClassifier("tied_diag").fit(rows, names), rows[:1]))


@pytest.mark.parametrize("shares", [[-300.0, -3.9], [4.0, 0.1], [5.0, -6.0], [np.inf, 1.0], [0.0, 0.0]])
def test_numbers_of_the_evidence_stand_clear(shares):
    display = drawn(plots.EvidenceDisplay(["one", "two"], ["1", "2"], np.array(shares), "a", "b").plot())
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    assert all(box.x0 > display.ax_.bbox.x1 for box in boxes)
    labels = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    for box, label, bar in zip(boxes, labels, display.ax_.patches, strict=True):
        assert box.height < bar.get_window_extent().height
        assert (box.y0 + box.y1) / 2 == pytest.approx((label.y0 + label.y1) / 2, abs=2)


# Missing values.


def holes(n, d, share=0.1):
    """Numbers with missing cells; the first column is complete."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d))
    X[:, 1:][rng.random((n, d - 1)) < share] = np.nan
    return X


def shown(display):
    """The cells, the shares of columns and the rows of patterns, as they are drawn."""
    above, beside = display.ax_.child_axes
    mesh = display.ax_.collections[0]
    red = mesh.to_rgba(mesh.get_array())[..., :3] == to_rgb(color(1))
    return red.all(axis=2), [bar.get_height() for bar in above.patches], [bar.get_width() for bar in beside.patches]


def test_missing_cells_are_counted_by_pattern(penguins):
    table = penguins.drop(columns="year")
    display = drawn(plots.MissingnessDisplay.from_data(table))
    cells, share, counts = shown(display)
    expected = table.isna().value_counts(sort=True)
    np.testing.assert_array_equal(cells, np.array(expected.index.tolist()))
    assert counts == expected.tolist() == [333, 9, 2]
    np.testing.assert_allclose(share, table.isna().mean())
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == list(table.columns)
    assert display.ax_.get_ylabel() == "3 patterns"
    above, beside = display.ax_.child_axes
    assert [text.get_text() for text in above.texts] == [*["0 %"] * 2, *["0.6 %"] * 4, "3.2 %"]
    assert [text.get_text() for text in beside.texts] == ["333 (97 %)", "9 (2.6 %)", "2 (0.6 %)"]


def test_the_most_frequent_patterns_and_emptiest_columns_are_shown():
    X = holes(3000, 30, np.linspace(0.001, 0.2, 29))
    display = drawn(plots.MissingnessDisplay.from_data(X, max_patterns=8, max_columns=5))
    cells, share, counts = shown(display)
    missing = np.isnan(X)
    emptiest = np.sort(np.argsort(missing.mean(axis=0))[-5:])
    np.testing.assert_allclose(share, missing[:, emptiest].mean(axis=0))
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == [f"x{j}" for j in emptiest]
    different, times = np.unique(missing, axis=0, return_counts=True)
    assert (display.counts.tolist(), counts) == (sorted(times.tolist(), reverse=True), sorted(times)[:-9:-1])
    for pattern, count in zip(display.patterns, display.counts, strict=True):
        assert (missing == pattern).all(axis=1).sum() == count
    np.testing.assert_array_equal(cells, display.patterns[:8, emptiest])
    assert display.ax_.get_ylabel() == f"8 of {len(different)} patterns"
    assert display.ax_.get_xlabel() == "5 of 30 columns"
    for text, pattern in zip(display.ax_.child_axes[1].texts, display.patterns, strict=False):
        elsewhere = pattern.sum() - pattern[emptiest].sum()
        assert text.get_text().endswith(["%)", "+1 column"][min(elsewhere, 1)])


def test_shares_that_are_not_quite_none_or_all_are_said():
    X = holes(4000, 2, 0.0)
    X[0, 1] = np.nan
    display = drawn(plots.MissingnessDisplay.from_data(X))
    assert [text.get_text() for axes in display.ax_.child_axes for text in axes.texts] == [
        *("0 %", "<0.1 %"),
        *("3\N{NARROW NO-BREAK SPACE}999 (>99 %)", "1 (<0.1 %)"),
    ]
    cells, share, counts = shown(drawn(plots.MissingnessDisplay.from_data(np.zeros((5, 2)))))
    assert (cells.tolist(), share, counts) == ([[False, False]], [0, 0], [5])


@pytest.mark.parametrize("d", [2, 9, 40])
def test_cells_and_bars_stay_within_the_axes(d):
    figure, axes = plt.subplots(figsize=(8, 5))
    room = axes.get_window_extent().frozen()
    display = plots.MissingnessDisplay.from_data(holes(500, d), ax=axes)
    figure.canvas.draw()
    above, beside = display.ax_.child_axes
    assert beside.bbox.x1 == pytest.approx(room.x1)
    assert above.bbox.y1 == pytest.approx(room.y1)
    assert (axes.bbox.x0, axes.bbox.y0) == pytest.approx((room.x0, room.y0))
    boxes = [text.get_window_extent() for text in above.texts]
    assert len(boxes) == (d if d < 40 else 0)  # too small to read
    assert all(one.x1 < two.x0 for one, two in pairwise(boxes))


# What cannot be drawn.


def gaussian(d=2, k=2):
    rng = np.random.default_rng(1)
    y = np.arange(30) % k
    X = rng.normal(size=(30, d)) + y[:, None]
    return GaussianClassifier("diag").fit(X, y), X, y


class Stream(Source):
    """Rows that are somewhere else."""

    def reduce(self, map_batch, merge):
        raise AssertionError


TABLE = pd.DataFrame({"x": [0.0, 1, 2, 3], "z": [1.0, 0, 3, 2], "fur": list("aabb"), "y": list("mfmf")})
MIXED = MixedClassifier().fit(TABLE, "y")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.RocDisplay.from_predictions([1, 0, 2], [1.0, 2.0, 3.0]), "pass y_true == target"),
        (lambda: plots.RocDisplay.from_predictions([1, 1], [1.0, 2.0]), "only one of them"),
        (lambda: plots.DetDisplay.from_predictions([1, 0], [np.nan, 2.0]), "NaN"),
        (lambda: plots.DetDisplay.from_predictions([1, 0], {}), "empty dictionary"),
        (lambda: plots.DetDisplay.from_estimator({}, [[1.0], [0.0]], [1, 0]), "empty dictionary"),
        (lambda: plots.TippettDisplay.from_predictions([1, 0], [1.0, 2.0], unit="bits"), "'nat', 'log10'"),
        (
            lambda: plots.BayesErrorDisplay.from_estimator(GaussianNB(), [[1.0]], [0]),
            "a GaussianNB has no llr method; compute the llr with suffice.cross_val_llr",
        ),
        (lambda: plots.BayesErrorDisplay.from_estimator(*gaussian(k=3)), "give two of them as a and b"),
        (lambda: plots.BayesErrorDisplay.from_estimator(*gaussian()[:2], [2] * 30), "y contains 2, which the model"),
        (
            lambda: plots.RocDisplay.from_estimator({"a": gaussian()[0], "b": gaussian(k=3)[0]}, *gaussian()[1:], 1, 5),
            "5 is not a class",
        ),
        (lambda: plots.ScatterDisplay.from_estimator(*gaussian(3)), r"choose two, as in columns=\['x0', 'x1'\]"),
        (lambda: plots.ScatterDisplay.from_estimator(*gaussian(), [0, 7]), "no column 7; the columns are 'x0', 'x1'"),
        (lambda: plots.ScatterDisplay.from_estimator(*gaussian(), [0, "x"]), "no column 'x'"),
        (lambda: plots.DensityDisplay.from_estimator(*gaussian(), []), "columns is empty"),
        (lambda: plots.DensityDisplay.from_estimator(MIXED, TABLE, "y", ["fur"]), "'fur' is not Gaussian"),
        (
            lambda: plots.DensityDisplay.from_estimator(
                MultinomialClassifier().fit([[1, 2], [2, 1]], [0, 1]), [[1, 2]], [0]
            ),
            "has no Gaussian columns",
        ),
        (
            lambda: plots.DensityDisplay.from_estimator(*gaussian(), ax=plt.subplots()[1]),
            "2 columns need 2 axes, got 1",
        ),
        (lambda: plots.DensityDisplay.from_estimator(*gaussian()[:2], None), "one label per row"),
        (lambda: plots.DensityDisplay.from_estimator(gaussian()[0], Stream(), None), "Stream streams them"),
        (lambda: plots.MissingnessDisplay.from_data(np.zeros((0, 2))), "no row"),
        (lambda: plots.MissingnessDisplay.from_data(np.zeros((2, 2)), max_patterns=0), "max_patterns=0 must be at"),
        (lambda: plots.MissingnessDisplay.from_data(np.zeros((2, 2)), max_columns=0), "max_columns=0 must be at"),
        (lambda: plots.HistoryDisplay.from_estimator({}), "empty dictionary; give at least one model"),
        (lambda: plots.HistoryDisplay.from_estimator(gaussian()[0]), "GaussianClassifier has no history_; fit a Mixt"),
        (lambda: plots.CriteriaDisplay.from_estimator(MixtureModel()), "MixtureModel has no criteria_; fit a Mixture"),
        (
            lambda: plots.CriteriaDisplay.from_estimator(MixtureClassifier(1).fit(*gaussian()[1:])),
            'there was no choice: .* n_components="auto"',
        ),
        (lambda: plots.ScatterDisplay.from_estimator(*gaussian()[:2]), "one label per row"),
        (
            lambda: plots.ScatterDisplay.from_estimator(MixtureModel(1).fit(gaussian()[1]), *gaussian()[1:]),
            "a MixtureModel has no classes to show y with; leave y out",
        ),
        (
            lambda: plots.DensityDisplay.from_estimator(LogisticClassifier().fit(*gaussian()[1:]), *gaussian()[1:]),
            "this LogisticClassifier has no Gaussian columns",
        ),
        (lambda: plots.DecisionRegionsDisplay.from_estimator(*gaussian(3)), "choose two with columns"),
        (lambda: plots.DecisionRegionsDisplay.from_estimator(*gaussian(3), [0, 0]), "choose two with columns"),
        (lambda: plots.DecisionRegionsDisplay.from_estimator(*gaussian(3), [0, 1]), "column 'x2' .* pass at=\"mean\""),
        (lambda: plots.DecisionRegionsDisplay.from_estimator(*gaussian(3), [0, 1], at="median"), "at='median'"),
        (
            lambda: plots.PosteriorMapDisplay.from_estimator(MIXED, TABLE, "y", ["x", "z"], at="mean"),
            r"column 'fur' has no mean; give a value, as in at=\{'fur': ...\}",
        ),
        (lambda: plots.PosteriorMapDisplay.from_estimator(*gaussian(k=3)), "choose one of the 3 classes as label"),
        (lambda: plots.PosteriorMapDisplay.from_estimator(*gaussian(), label="no"), "'no' is not a class"),
        (
            lambda: plots.PosteriorMapDisplay.from_estimator(gaussian()[0], np.full((2, 2), np.nan)),
            "'x0' has no finite",
        ),
        (
            lambda: plots.PosteriorMapDisplay.from_estimator(LinearSVC().fit(*gaussian()[1:]), *gaussian()[1:]),
            "has no predict_log_proba",
        ),
        (
            lambda: plots.DecisionRegionsDisplay.from_estimator(
                MIXED, TABLE.assign(z=np.nan), "y", ["x", "z"], at={"fur": "a"}
            ),
            "'z' has no finite values",
        ),
        (lambda: plots.ConfusionDisplay.from_predictions([0, 1], [0]), "inconsistent numbers"),
        (lambda: plots.ConfusionDisplay.from_predictions([0, 1], [0, 1], labels=[0]), "labels must include 1"),
        (lambda: plots.ConfusionDisplay.from_predictions([], []), "y_true is empty"),
        (lambda: plots.EvidenceDisplay.from_estimator(*gaussian()[:2]), r"one row, got 30; pass X\[i:i \+ 1\]"),
        (lambda: plots.EvidenceDisplay.from_estimator(GaussianNB(), [[1.0]]), "no explain method"),
        (lambda: plots.EvidenceDisplay.from_estimator(gaussian()[0], [[1.0, 0.0]], max_columns=0), "max_columns=0"),
        (lambda: plots.EvidenceDisplay.from_estimator(gaussian()[0], [[1.0, 0.0]], unit="bel"), "unit='bel'"),
        (lambda: plots.ScreeDisplay.from_estimator(gaussian()[0]), "GaussianClassifier has no explained_variance_rat"),
        (lambda: plots.ScreeDisplay.from_estimator(PCA()), "give a fitted PCA or LDA"),
        (lambda: plots.ScreeDisplay.from_values([]), "one-dimensional"),
        (lambda: plots.ScreeDisplay.from_values([[1.0]]), "one-dimensional"),
        (lambda: plots.ScreeDisplay.from_values([1.0, np.nan]), "finite"),
        (lambda: plots.ScreeDisplay.from_values([1.0, -1.0]), "not negative"),
        (lambda: plots.ScreeDisplay.from_values([1.0, 2.0], 2.5), "total=2.5 is less than the sum of the values, 3"),
        (lambda: plots.ScreeDisplay.from_values([1.0, 2.0], np.nan), "total=nan is less"),
        (
            lambda: plots.ProjectionDisplay.from_estimator(LDA().fit(*gaussian()[1:]), *gaussian()[1:]),
            "this LDA has one component, but the plot needs two; .* DensityDisplay",
        ),
        (lambda: plots.ProjectionDisplay.from_estimator(PCA().fit(gaussian()[1]), gaussian()[1], None), "one label"),
    ],
)
def test_what_cannot_be_drawn_is_said(draw, message):
    with pytest.raises(DataError, match=message):
        draw()


CALLS = [
    (name, call)
    for name in plots.__all__
    for call in ("from_estimator", "from_predictions")
    if call in dir(getattr(plots, name))
]


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_a_misspelt_choice_names_the_call(name, call):
    arguments = gaussian() if call == "from_estimator" else ([1, 0], [1.0, 2.0])
    with pytest.raises(TypeError, match=rf"^{name}\.{call}\(\) got an unexpected keyword argument 'tittle'"):
        getattr(getattr(plots, name), call)(*arguments, tittle=1)


@pytest.mark.parametrize(
    ("kind", "choice"),
    [("BayesError", "'ax', 'log_odds'"), ("CrossEntropy", "'ax', 'log10_odds'"), ("Tippett", "'ax', 'unit'")],
)
def test_choices_are_named(kind, choice):
    with pytest.raises(TypeError, match=f"it takes {choice}$"):
        getattr(plots, f"{kind}Display").from_predictions([1, 0], [1.0, 2.0], units=1)


def test_different_classes_do_not_compare():
    two, X, y = gaussian()
    other = GaussianClassifier("diag").fit(X, 1 - y * 2)
    with pytest.raises(DataError, match="the model does not know"):
        plots.RocDisplay.from_estimator({"a": two, "b": other}, X, y)
    with pytest.raises(DecisionError, match="prior"):
        plots.DecisionRegionsDisplay.from_estimator(two, X, y, prior=[0.5, 0.9])


def test_the_tree_of_columns():
    """Parents stand above the middle of their children, and the width of a line is what two columns tell."""
    edges = [Edge("root", "left", 0.4), Edge("root", "right", 0.2), Edge("left", "leaf", 0.1), Edge("a", "b", 0.05)]
    display = drawn(plots.TreeDisplay(edges).plot())
    assert display.positions() == {
        "leaf": (0, 2),
        "left": (0, 1),
        "right": (1, 1),
        "root": (0.5, 0),
        "b": (2, 1),
        "a": (2, 0),
    }
    widths = [line.get_linewidth() for line in display.ax_.lines]
    np.testing.assert_allclose(widths, [6, 3, 1.5, 0.75])
    shown = [text.get_text() for text in display.ax_.texts]
    assert {"root", "leaf", "0.4", "0.05"} <= set(shown)
    chain = [Edge(i, i + 1, 0.5) for i in range(2000)]
    assert plots.TreeDisplay(chain).positions()[2000] == (0, 2000)
    with pytest.raises(DataError, match="no columns of this GaussianClassifier depend on each other"):
        plots.TreeDisplay.from_estimator(gaussian()[0])


EVERY = {
    "BayesErrorDisplay": lambda ax: plots.BayesErrorDisplay.from_predictions([1, 0], [1.0, -1.0], ax=ax),
    "ConfusionDisplay": lambda ax: plots.ConfusionDisplay.from_predictions([1, 0], [1, 1], ax=ax),
    "CrossEntropyDisplay": lambda ax: plots.CrossEntropyDisplay.from_predictions([1, 0], [1.0, -1.0], ax=ax),
    "CriteriaDisplay": lambda ax: plots.CriteriaDisplay(
        {"": {"n_components": np.array([1, 2]), "bic": np.array([2.0, 1.0])}}, "bic"
    ).plot(ax),
    "DecisionRegionsDisplay": lambda ax: plots.DecisionRegionsDisplay.from_estimator(*gaussian(), ax=ax),
    "DensityDisplay": lambda ax: plots.DensityDisplay.from_estimator(*gaussian(), [1], ax=ax),
    "DetDisplay": lambda ax: plots.DetDisplay.from_predictions([1, 0], [1.0, -1.0], ax=ax),
    "EvidenceDisplay": lambda ax: plots.EvidenceDisplay.from_estimator(gaussian()[0], [[1.0, 0.0]], ax=ax),
    "HistoryDisplay": lambda ax: plots.HistoryDisplay.from_estimator(MixtureModel(1).fit(gaussian()[1]), ax=ax),
    "MissingnessDisplay": lambda ax: plots.MissingnessDisplay.from_data(holes(9, 2), ax=ax),
    "PosteriorMapDisplay": lambda ax: plots.PosteriorMapDisplay.from_estimator(*gaussian(), ax=ax),
    "ProjectionDisplay": lambda ax: plots.ProjectionDisplay.from_estimator(
        PCA().fit(gaussian()[1]), *gaussian()[1:], ax=ax
    ),
    "RocDisplay": lambda ax: plots.RocDisplay.from_predictions([1, 0], [1.0, -1.0], ax=ax),
    "ScatterDisplay": lambda ax: plots.ScatterDisplay.from_estimator(*gaussian(), ax=ax),
    "ScreeDisplay": lambda ax: plots.ScreeDisplay.from_values([2.0, 1.0], ax=ax),
    "TippettDisplay": lambda ax: plots.TippettDisplay.from_predictions([1, 0], [1.0, -1.0], ax=ax),
    "TreeDisplay": lambda ax: plots.TreeDisplay([Edge("a", "b", 1.0)]).plot(ax),
}


@pytest.mark.parametrize("name", plots.__all__)
def test_axes_of_somebody_else_are_drawn_on(name):
    figure, (left, right) = plt.subplots(1, 2)
    display = EVERY[name](right)
    assert (display.ax_, display.figure_) == (right, figure)
    assert right.has_data()
    assert not left.has_data()
    assert not figure.legends
    assert tuple(figure.get_size_inches()) == tuple(mpl.rcParams["figure.figsize"])


@pytest.mark.parametrize("name", plots.__all__)
def test_without_matplotlib_the_error_says_how_to_get_it(name, monkeypatch):
    for module in [module for module in sys.modules if module.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install suffice\[plot\]"):
        EVERY[name](None)


def test_every_display_is_in_the_documentation():
    text = (Path(__file__).parents[1] / "docs" / "plots.md").read_text()
    assert all(f"plots.{name}." in text for name in plots.__all__)
    assert all(inspect.getdoc(getattr(plots, name).plot) for name in plots.__all__)
