"""The report in a real browser: every slider is moved, and what the report shows is what the library says."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from sklearn.datasets import load_breast_cancer, load_wine

import suffice
from suffice import GaussianClassifier, MixedClassifier, metrics
from suffice.report import controls

pytestmark = pytest.mark.xdist_group("browser")

HOSTILE = [
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "\"'><svg onload=window.hacked=1>",
    "</script><script>window.hacked=1</script>",
    "</title></style><script>window.hacked=1</script>",
    "${window.hacked=1}` & \u2028 &amp; \\u003c",
]
ASK = {"0": [0, 2, 2], "1": [5, 0, 1], "2": [1, 3, 0], "ask": [0.4, 0.4, 0.4]}


def data_of(case):
    """A model, held-out rows and labels, and the prior and costs that the sliders start with."""
    if case in ("two", "weights"):
        X, y = load_breast_cancer(return_X_y=True)
        clf = GaussianClassifier("diag").fit(X[::2, :8], np.array(["sick", "well"])[y[::2]])
        weight = np.random.default_rng(0).integers(0, 4, len(X[1::2])) / 2 if case == "weights" else None
        given = {"prior": [0.9, 0.1], "cost": [[0, 20], [2, 0]]}
        return clf, X[1::2, :8], np.array(["sick", "well"])[y[1::2]], weight, given
    X, y = load_wine(return_X_y=True)
    clf = GaussianClassifier("diag").fit(X[::2, :3], y[::2].astype(str))
    given = {"prior": "uniform", "cost": ASK} if case == "ask" else {}
    return clf, X[1::2, :3], y[1::2].astype(str), None, given


@pytest.fixture(scope="module", params=["two", "weights", "three", "ask"])
def report(request, browser, tmp_path_factory):
    clf, X, y, weight, given = data_of(request.param)
    path = tmp_path_factory.mktemp("report") / "report.html"
    suffice.write_report(clf, X, y, path, sample_weight=weight, **given)
    page = opened(browser, path)
    yield SimpleNamespace(case=request.param, page=page, model=clf.to_model(), X=X, y=y, weight=weight, given=given)
    assert page.problems == []
    page.close()


def opened(browser, path, **options):
    """A report in a new page, which notes errors and everything that it asks the network for."""
    page = browser.new_page(**options)
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda line: line.type == "error" and page.problems.append(line.text))
    page.on("dialog", lambda dialog: page.problems.append(dialog.message))
    page.on("request", lambda request: request.url == path.as_uri() or page.problems.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    settled(page)
    return page


def settled(page):
    """Wait until what a slider asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


SHOWN = "() => [...document.querySelectorAll('[data-value]')].map(e => [e.id, e.innerText, e.dataset.value])"


def numbers(page):
    """The exact values behind all numbers, after a look at what is shown."""
    found = {}
    for name, text, value in page.evaluate(SHOWN):
        found[name] = float(value.replace("Infinity", "inf"))
        if text.endswith("%"):
            assert float(text[:-1]) == pytest.approx(100 * found[name], abs=0.0501)
        elif text not in ("\u2013", ""):
            assert float(text.replace("∞", "inf").replace("\u2212", "-")) == pytest.approx(found[name], rel=1e-3)
    return found


def check(report, prior, cost):
    """Compare all that is shown with the library."""
    page, model = report.page, report.model
    matrix = np.array(list(cost.values()) if isinstance(cost, dict) else cost, float)
    expected = model.evaluate(report.X, report.y, prior, cost, sample_weight=report.weight)
    shown = numbers(page)
    for i, row in enumerate(expected.confusion):
        for j, count in enumerate(row):
            assert shown[f"cell-{i}-{j}"] == pytest.approx(count), (i, j)
        assert shown[f"recall-{i}"] == pytest.approx(expected.recall[i])
    for j, share in enumerate(expected.precision):
        assert shown[f"decided-{j}"] == pytest.approx(np.array(expected.confusion)[:, j].sum())
        if share is not None:
            assert shown[f"precision-{j}"] == pytest.approx(share)
    without = (matrix @ prior).min()
    assert shown["error"] == pytest.approx(expected.error_rate)
    assert shown["without"] == pytest.approx(without)
    assert shown["dcf"] == pytest.approx(expected.dcf)
    assert shown["cost"] == pytest.approx(expected.dcf * without)
    if len(prior) == 2:
        point = prior[1], matrix[0, 1], matrix[1, 0]
        threshold = metrics.bayes_threshold(*point)
        assert shown["threshold"] == pytest.approx(threshold, abs=1e-9)
        placed(page, "threshold-line", threshold)
        if report.weight is None:
            target, llr = report.y == model.classes[1], model.llr(report.X)
            assert shown["least"] == pytest.approx(metrics.min_dcf(target, llr, *point, normalize=False))
            placed(page, "bayes-line", -threshold)
            alarm = 1 - expected.recall[0]
            placed(page, "roc-dot", alarm, expected.recall[1])


def placed(page, name, x, y=None):
    """Whether a line or point is where its values are on the axes."""
    element = page.locator(f"#{name}")
    found = [float(part) for part in re.findall(r"-?[\d.]+", element.get_attribute("transform"))]
    for axis, value, place in zip("xy", (x, y), found, strict=False):
        if value is not None:
            low, high, first, last = map(float, element.get_attribute(f"data-{axis}").split())
            share = min(max((value - low) / (high - low), 0), 1)
            assert place == pytest.approx(first + share * (last - first), abs=0.01)


def moved(prior, c, p):
    rest = np.delete(np.arange(len(prior)), c)
    out = np.array(prior, float)
    out[rest] *= (1 - p) / out[rest].sum()
    out[c] = p
    return out


def test_every_slider_changes_the_decisions_as_the_library_does(report):
    page, k = report.page, len(report.model.classes)
    prior = report.model._as_prior(report.given.get("prior"))
    cost = report.given.get("cost", 1 - np.eye(k))
    keys = list(cost) if isinstance(cost, dict) else None
    matrix = np.array(list(cost.values()) if keys else cost, float)

    def costs():
        return dict(zip(keys, matrix.tolist(), strict=True)) if keys else matrix

    check(report, prior, costs())
    for c in range(k):
        for odds in (-9.2, 0.75):
            page.locator(f"#prior-{c}").fill(str(odds))
            settled(page)
            prior = moved(prior, c, 1 / (1 + np.exp(-odds)))
            assert float(page.locator(f"#prior-number-{c}").input_value()) == pytest.approx(100 * prior[c], rel=1e-3)
            check(report, prior, costs())
        page.locator(f"#prior-number-{c}").fill("37.5")
        settled(page)
        prior = moved(prior, c, 0.375)
        check(report, prior, costs())
    start = np.ones(k) if keys else np.array([np.delete(matrix[:, c], c)[0] for c in range(k)])
    for c in range(k):
        for power in (-2.0, 3.0):
            page.locator(f"#cost-{c}").fill(str(power))
            settled(page)
            matrix[:, c] *= 10**power / start[c]
            start[c] = 10**power
            check(report, prior, costs())
        page.locator(f"#cost-number-{c}").fill("4")
        settled(page)
        matrix[:, c] *= 4 / start[c]
        start[c] = 4
        check(report, prior, costs())
    page.get_by_role("button", name="All equal").click()
    settled(page)
    check(
        report,
        np.full(k, 1 / k),
        {key: (matrix[i] / start).tolist() for i, key in enumerate(keys)} if keys else 1 - np.eye(k),
    )
    page.get_by_role("button", name="Reset").click()
    settled(page)
    given = report.given.get("cost", 1 - np.eye(k))
    check(report, report.model._as_prior(report.given.get("prior")), given)


def test_many_classes_are_summed_up(browser, tmp_path, monkeypatch):
    """The page decides among all of them, though it shows some, with scores of two bytes each."""
    monkeypatch.setattr(controls, "NUMBERS", 5000)
    rng = np.random.default_rng(0)
    y = np.arange(480) % 24
    X = rng.normal(size=(480, 2)) + np.column_stack([y % 5, y // 5]) * 1.5
    clf = GaussianClassifier("tied").fit(X, y)
    suffice.write_report(clf, X, y, tmp_path / "report.html", prior="uniform")
    page = opened(browser, tmp_path / "report.html")
    shown = page.locator(".confusion tbody th").all_inner_texts()[:10]
    group = [shown.index(str(c)) if str(c) in shown else 10 for c in range(24)]

    def as_the_library_says(prior):
        expected = clf.evaluate(X, y, prior)
        summed = np.zeros((11, 11))
        np.add.at(summed, (np.array(group)[:, None], group), np.array(expected.confusion))
        found = numbers(page)
        assert [[found[f"cell-{i}-{j}"] for j in range(11)] for i in range(11)] == summed.tolist()
        assert found["error"] == pytest.approx(expected.error_rate)
        assert found["dcf"] == pytest.approx(expected.dcf)

    prior = np.full(24, 1 / 24)
    as_the_library_says(prior)
    hidden = next(c for c in range(24) if str(c) not in shown)
    page.locator("#controls details summary").first.click()
    page.locator("#controls input[type=search]").first.fill(f"{hidden} of")
    for c, p in ((hidden, 40), (int(shown[0]), 25)):
        page.locator(f"#prior-number-{c}").fill(str(p))
        settled(page)
        prior = moved(prior, c, p / 100)
        as_the_library_says(prior)
    assert page.problems == []
    page.close()


def test_sliders_move_by_the_keyboard(report):
    slider = report.page.locator("#cost-0")
    before = float(slider.input_value())
    slider.focus()
    slider.press("ArrowRight")
    settled(report.page)
    assert float(slider.input_value()) == pytest.approx(before + 0.01)
    assert float(slider.get_attribute("aria-valuetext")) == pytest.approx(10 ** (before + 0.01), rel=1e-3)
    report.page.get_by_role("button", name="Reset").click()


@pytest.mark.parametrize("report", ["two", "ask"], indirect=True)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_left_out(report, scheme):
    """Names for screen readers, contrast, structure: as axe finds them."""
    report.page.emulate_media(color_scheme=scheme)
    found = Axe().run(report.page).response["violations"]
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]][:3]) for each in found] == []


@pytest.mark.parametrize("width", [320, 768, 1400])
def test_the_page_fits_every_screen(report, width):
    report.page.set_viewport_size({"width": width, "height": 800})
    assert report.page.evaluate("document.documentElement.scrollWidth") <= width
    small = "[...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height < 7).length"
    assert report.page.evaluate(small) == 0
    report.page.set_viewport_size({"width": 1280, "height": 720})


def test_paper_shows_all_of_it(report):
    pdf = report.page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 12
    report.page.emulate_media(media="print", color_scheme="dark")
    assert report.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    report.page.emulate_media(media="screen", color_scheme="light")


def test_names_and_cells_are_text_and_nothing_else(browser, tmp_path):
    rng = np.random.default_rng(0)
    classes = rng.choice(HOSTILE[:3], 300)
    frame = pd.DataFrame({name: rng.choice(HOSTILE, 300) for name in HOSTILE[:3]})
    frame[HOSTILE[3]] = rng.normal(size=300)
    clf = MixedClassifier().fit(frame, classes)
    path = tmp_path / "report.html"
    suffice.write_report(clf, frame, classes, path, title=HOSTILE[4])
    page = opened(browser, path)
    assert page.evaluate("window.hacked") is None
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == HOSTILE[4]
    assert page.title() == HOSTILE[4]
    for name in HOSTILE[:3]:
        assert page.get_by_text(name, exact=True).count() >= 3
    page.locator("#prior-0").fill("2")
    settled(page)
    assert page.problems == []
    page.evaluate("(html) => document.body.insertAdjacentHTML('beforeend', html)", HOSTILE[1])
    settled(page)
    assert page.evaluate("window.hacked") is None, "scripts of a page that was tampered with do not run"
    page.close()


def test_names_of_categories_do_not_overlap(browser, tmp_path):
    rng = np.random.default_rng(0)
    words = [f"{word} and more" for word in ("urgent", "gift", "thanks", "call me", "shipping", "returns", "a", "b")]
    table = pd.DataFrame({"note": rng.choice(words, 200), "kind": np.arange(200) % 2})
    suffice.write_report(MixedClassifier().fit(table, "kind"), table, "kind", tmp_path / "report.html")
    page = opened(browser, tmp_path / "report.html")
    boxes = page.evaluate("""() => [...document.querySelectorAll('svg text[text-anchor=middle]')]
        .filter(e => e.textContent.endsWith('…')).map(e => e.getBoundingClientRect()).map(b => [b.left, b.right])""")
    page.close()
    boxes = np.sort(np.array(boxes), axis=0)
    assert len(boxes) == 8
    assert (boxes[1:, 0] > boxes[:-1, 1]).all()


def test_the_report_can_be_read_without_scripts(browser, tmp_path):
    clf, X, y, _, given = data_of("two")
    suffice.write_report(clf, X, y, tmp_path / "report.html", **given)
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((tmp_path / "report.html").as_uri())
    expected = clf.evaluate(X, y, **given)
    assert page.locator("#cell-0-0").inner_text() == f"{expected.confusion[0][0]:.0f}"
    assert page.locator("#error").inner_text() == f"{100 * expected.error_rate:.2f}%"
    assert float(page.locator("#dcf").inner_text()) == pytest.approx(expected.dcf, rel=1e-3)
    assert page.locator("svg").count() >= 5
    page.context.close()
