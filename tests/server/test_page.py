"""The page in a real browser: every control is moved, and what the page shows is what the library says."""

import json
import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import suffice

from .conftest import serving

pytestmark = pytest.mark.xdist_group("page")

HOSTILE = [
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "\"'><svg onload=window.hacked=1>",
    "javascript:window.hacked=1",
    "${window.hacked=1}",
]


class Page:
    """The page of a server, open in a browser."""

    def __init__(self, browser, server, **options):
        self.page = browser.new_page(**options)
        self.problems = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda line: line.type == "error" and self.problems.append(line.text))
        self.page.on(
            "request",
            lambda request: (
                request.url.startswith(server.url)
                or request.url.startswith("blob:")
                or self.problems.append(request.url)
            ),
        )
        self.page.goto(server.url + "/")
        self.settled()

    def settled(self):
        self.page.wait_for_selector('body[aria-busy="false"]', timeout=30_000)
        self.page.wait_for_selector("#scores tbody tr", timeout=30_000)

    def set(self, selector, value):
        """Move a control as a user would, and wait for the answer."""
        control = self.page.locator(selector)
        kind = control.evaluate("e => e.tagName === 'SELECT' ? 'select' : e.type")
        if kind == "select":
            control.select_option(label=value)
        elif kind == "checkbox":
            control.set_checked(value)
        elif kind == "range":
            control.evaluate("(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }", value)
        else:
            control.fill(str(value))
        self.settled()

    def field(self, column):
        return f'.field[data-column="{column}"]'

    def row(self):
        """The row that the page asks for: that of the request which it shows."""
        return json.loads(re.search(r"-d '(.*)'", self.text("#curl"), re.DOTALL)[1].replace("'\\''", "'"))

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def scores(self):
        """What the table says of each class: prior, posterior, llr and log-likelihood."""
        rows = self.page.locator("#scores tbody tr").evaluate_all(
            "rows => rows.map(r => [r.dataset.class, ...[...r.cells].slice(1).map(c => c.textContent)])"
        )
        return {name: [number(text) for text in cells] for name, *cells in rows}

    def shares(self):
        rows = self.page.locator("#shares tbody tr").evaluate_all(
            "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
        )
        return {name: number(text) for name, text in rows}


def number(text):
    plain = text.replace("\N{MINUS SIGN}", "-").replace("∞", "inf").lstrip("<>")
    return float(plain[:-1]) / 100 if plain.endswith("%") else float(plain)


def close(shown, true):
    """Whether a number of the page is the true one, as far as its digits go."""
    return (
        shown == true
        if math.isinf(true)
        else abs(shown - true) <= 6e-4 * max(1.0, abs(true)) or abs(shown / true - 1) < 6e-3
    )


def agrees(page, model):
    """Compare all that the page shows with the library's own numbers."""
    asked = page.row()
    table = pa.table({name: pa.array([asked["rows"][0][name]]) for name in model.names})
    for j, kind in enumerate(table.schema.types):
        if pa.types.is_null(kind):
            table = table.set_column(j, table.column_names[j], pa.array([None], pa.float64()))
    prior, cost = asked.get("prior"), asked.get("cost")
    assert page.text("#decision") == str(model.predict(table, prior, cost).item())
    scores, classes = page.scores(), [str(label) for label in model.classes]
    assert list(scores) == classes
    own = model.prior if prior is None else np.array(prior)
    posterior, first = model.predict_proba(table, prior)[0], model.classes[0]
    for c, label in enumerate(classes):
        llr = 0.0 if c == 0 else model.llr(table, first, model.classes[c]).item()
        for shown, true in zip(scores[label], (own[c], posterior[c], llr), strict=False):
            assert close(shown, true), (label, shown, true)
    if model.density.has_likelihoods:
        for label, true in zip(classes, model.log_likelihood(table)[0], strict=True):
            assert close(scores[label][3], true)
        a, b = (model.classes[classes.index(name)] for name in asked["explain"])
        shares, shown = model.explain(table, a, b)[0], page.shares()
        for name, true in zip(model.names, shares, strict=True):
            assert close(shown[name], true), name
        assert close(number(page.text("#evidence-total")), shares.sum())


@pytest.fixture(scope="module")
def page(browser, birds):
    opened = Page(browser, birds, viewport={"width": 1200, "height": 900})
    yield opened
    assert opened.problems == []
    opened.page.close()


@pytest.fixture
def model(model_folder):
    return suffice.load_model(model_folder / "birds.safetensors")


def test_every_value_changes_the_answer(page, model):
    agrees(page, model)
    seen = {page.text("#scores")}
    moves = [
        ("island", "select", "Dream"),
        ("island", "select", "another category…"),
        ("island", "input[type=text]", "Mars"),
        ("bill_length_mm", "input[type=number]", 51.25),
        ("bill_depth_mm", "input[type=range]", "16.4"),
        ("flipper_length_mm", "input[type=number]", 230),
        ("body_mass_g", "input[type=range]", "3100"),
        ("sex", "select", "male"),
        ("year", "select", "2009"),
        ("bill_length_mm", "input[type=checkbox]", False),
        ("island", "input[type=checkbox]", False),
        ("flipper_length_mm", "input[type=number]", ""),  # an empty field is a missing value
    ]
    for column, control, value in moves:
        page.set(f"{page.field(column)} {control}", value)
        agrees(page, model)
        seen.add(page.text("#scores"))
    assert len(seen) >= len(moves) - 1  # "another category" without a name is a missing value, which may change nothing
    row = page.row()["rows"][0]
    assert (row["island"], row["bill_length_mm"], row["flipper_length_mm"]) == (None, None, None)
    assert (row["sex"], row["year"]) == ("male", 2009)
    typed = page.page.locator(f"{page.field('body_mass_g')} input[type=number]")
    typed.fill("")
    typed.press_sequentially("1e")  # and no more: this is not a number
    page.settled()
    assert page.row()["rows"][0]["body_mass_g"] is None
    assert page.text(f"{page.field('body_mass_g')} .wrong") == "This is not a number, so it counts as unknown."
    agrees(page, model)
    page.page.click("#reset")
    page.settled()
    assert page.row()["rows"][0]["bill_length_mm"] is not None
    assert page.page.locator(".field .wrong:visible").count() == 0
    agrees(page, model)


def test_the_prior_and_the_costs_decide(page, model):
    for i, value in ((1, "90"), (0, "3.5"), (2, "60")):
        page.set(f"#prior-{i}", value)
        agrees(page, model)
        assert abs(page.row()["prior"][i] - float(value) / 100) < 1e-9
    page.page.click("#prior-uniform")
    page.settled()
    assert page.row()["prior"] == pytest.approx([1 / 3] * 3)
    agrees(page, model)
    decided = page.text("#decision")
    c = model.classes.tolist().index(decided)
    for j in range(3):  # to decide so costs too much
        page.set(f"#cost-{c}-{j}", 50)
        agrees(page, model)
    assert page.text("#decision") != decided
    page.set("#reject", True)
    page.set("#reject-cost", 0)
    assert page.text("#decision") == "undecided"
    agrees(page, model)
    page.set("#reject", False)
    page.set(f"#cost-{c}-0", "")  # is no cost: those before stay
    assert page.page.is_visible("#cost-wrong")
    agrees(page, model)
    for j in range(3):
        page.set(f"#cost-{c}-{j}", 0 if j == c else 1)
    page.page.click("#prior-own")
    page.settled()
    assert "prior" not in page.row()
    assert "cost" not in page.row()
    agrees(page, model)


def test_evidence_of_any_two_classes(page, model):
    """At first of the most probable class over the next one; and never of a class over itself."""
    for length in (38, 52):
        page.set(f"{page.field('bill_length_mm')} input[type=number]", length)
        scores = page.scores()
        assert page.row()["explain"] == sorted(scores, key=lambda name: scores[name][2])[-2:]
        agrees(page, model)
    over, of = page.row()["explain"]
    page.set("#evidence-for", over)
    assert page.row()["explain"] == [of, over]
    agrees(page, model)
    for over, of in (("Gentoo", "Chinstrap"), ("Chinstrap", "Adelie")):
        page.set("#evidence-over", over)
        page.set("#evidence-for", of)
        assert page.row()["explain"] == [over, of]
        agrees(page, model)


def test_the_map_shows_decisions(page, model):
    page.set("#map-x", "flipper_length_mm")
    page.set("#map-y", "body_mass_g")
    canvas = page.page.locator("#map-chart")
    box = canvas.bounding_box()
    assert set(page.text("#legend").split()) <= set(model.classes.tolist())
    before = page.row()["rows"][0]
    for share in (0.3, 0.8):
        canvas.click(position={"x": share * box["width"], "y": (1 - share) * box["height"]})
        page.page.wait_for_timeout(100)  # clicks on charts are seen with the next frame
        page.settled()
        row = page.row()["rows"][0]
        assert row["flipper_length_mm"] != before["flipper_length_mm"]
        assert row["body_mass_g"] != before["body_mass_g"]
        agrees(page, model)
        # The colour under the dot is that of the decision: look next to it, where the dot does not cover the map.
        color = canvas.evaluate(
            """(canvas, [x, y]) => {
              const scale = canvas.width / canvas.clientWidth;
              return [...canvas.getContext('2d').getImageData(x * scale, y * scale, 1, 1).data].slice(0, 3);
            }""",
            [share * box["width"] + 14, (1 - share) * box["height"]],
        )
        swatches = page.page.locator("#legend li").evaluate_all(
            "items => items.map(i => [i.textContent, getComputedStyle(i.firstChild).backgroundColor])"
        )
        rgb = {name: [int(part) for part in re.findall(r"\d+", css)[:3]] for name, css in swatches}
        hue = {name: np.subtract(255, own) / np.linalg.norm(np.subtract(255, own)) for name, own in rgb.items()}
        seen = np.subtract(255, color) / max(np.linalg.norm(np.subtract(255, color)), 1)
        assert max(hue, key=lambda name: hue[name] @ seen) == page.text("#decision")


def test_a_file_is_scored_and_downloaded(page, model, penguins, tmp_path):
    table = penguins.append_column("note", pa.array([HOSTILE[i % len(HOSTILE)] for i in range(len(penguins))]))
    pa.csv.write_csv(table, tmp_path / "new birds.csv")
    page.page.click("#prior-uniform")
    page.page.set_input_files("#file", tmp_path / "new birds.csv")
    page.page.wait_for_selector("#download:not([hidden])")
    page.settled()
    with page.page.expect_download() as started:
        page.page.click("#download")
    assert started.value.suggested_filename == "scored-new birds.csv"
    started.value.save_as(tmp_path / "scored.csv")
    scored = pa.csv.read_csv(tmp_path / "scored.csv")
    assert scored["note"].to_pylist() == table["note"].to_pylist()
    assert scored["decision"].to_pylist() == model.predict(penguins, "uniform").tolist()
    np.testing.assert_allclose(scored["posterior_Gentoo"].to_numpy(), model.predict_proba(penguins, "uniform")[:, 2])
    assert page.page.locator("#preview tbody tr").count() >= 5
    assert HOSTILE[0] in page.page.locator("#preview").inner_text()
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    page.page.set_input_files("#file", tmp_path / "wrong.csv")
    page.page.wait_for_selector('#file-note:has-text("island")')
    assert not page.page.is_visible("#download")
    assert page.page.evaluate("window.hacked") is None
    page.problems = [text for text in page.problems if "422" not in text]  # the browser tells of the refusal
    page.page.click("#prior-own")
    page.settled()


def test_text_of_models_cannot_run(browser, tmp_path):
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=60) for name in HOSTILE[:3]}
    columns["kind"] = rng.choice(HOSTILE, 60)
    columns["__proto__"] = rng.choice(HOSTILE, 60)
    columns["label"] = [HOSTILE[i % 3] for i in range(60)]
    suffice.MixedClassifier().fit(pa.table(columns), "label").save(tmp_path / f"{HOSTILE[4]}.safetensors")
    with serving(tmp_path) as running:
        page = Page(browser, running, viewport={"width": 1200, "height": 900})
        model = suffice.load_model(tmp_path / f"{HOSTILE[4]}.safetensors")
        assert page.text("#decision") in HOSTILE
        assert list(page.scores()) == sorted(HOSTILE[:3])
        assert set(page.shares()) >= set(HOSTILE[:3])
        page.set("#map-x", HOSTILE[1])
        page.set("#evidence-over", HOSTILE[2])
        page.set("#evidence-for", HOSTILE[0])
        assert page.row()["explain"] == [HOSTILE[2], HOSTILE[0]]
        assert page.page.title().startswith(HOSTILE[4])
        assert len(model.classes) == 3
        assert page.page.evaluate("window.hacked") is None
        assert page.page.locator("main img, main script, main svg").count() == 0
        assert page.problems == []
        page.page.goto(running.url + "/docs")
        assert HOSTILE[0] in page.text("body")
        assert page.page.evaluate("window.hacked") is None
        assert page.problems == []
        page.page.close()
        policy = running.send("GET", "/")[1]["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_all_kinds_of_models_have_a_page(browser, server, model_folder):
    """Several models on a narrow, dark window: nothing is wider than the window, and every model answers."""
    page = Page(browser, server, viewport={"width": 380, "height": 800}, color_scheme="dark")
    for name in ("sexes", "cats", "logistic", "unnamed", "tickets", "birds"):
        page.set("#models", name)
        model = suffice.load_model(model_folder / f"{name}.safetensors")
        if model.names is None:
            assert list(page.row()["rows"][0]) == ["x0", "x1", "x2", "x3"]
        else:
            agrees(page, model)
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 380
        assert page.page.locator("#scores tr.chosen").count() == 1
        assert page.page.is_visible("#evidence-card") == model.density.has_likelihoods
        if name == "tickets":  # usual values are those of the table
            row = page.row()["rows"][0]
            assert row["opened"].startswith("2026-")
            assert 1000 < row["amount"] < 4000  # a number, though the table has text
            assert page.page.locator("#map-x option").all_inner_texts() == ["at", "amount", "hours"]
            page.set(page.field("at") + " input[type=text]", "16:30")
            assert page.row()["rows"][0]["at"] == 59_400
            agrees(page, model)
            page.set(page.field("at") + " input[type=range]", "30600")
            assert page.page.input_value(page.field("at") + " input[type=text]") == "08:30:00"
            page.set(page.field("at") + " input[type=text]", "noon")
            assert page.row()["rows"][0]["at"] is None
            assert "not a time" in page.text(page.field("at") + " .wrong")
        if name == "birds":
            row = page.row()["rows"][0]
            assert row["body_mass_g"] % 1 == row["flipper_length_mm"] % 1 == 0 < row["bill_length_mm"] % 1
            page.set(f"{page.field('body_mass_g')} input[type=range]", "3100.4")
            assert page.row()["rows"][0]["body_mass_g"] == 3100
    assert page.problems == []
    page.page.close()


def test_many_classes_and_columns_are_folded_away(browser, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(480) % 120
    table = pa.table({f"column {j}": rng.normal(size=480) + y * (j < 3) for j in range(60)})
    clf = suffice.GaussianClassifier("tied_diag").fit(table, np.char.add("class ", y.astype(str)))
    clf.save(tmp_path / "many.safetensors")
    model = suffice.load_model(tmp_path / "many.safetensors")
    with serving(tmp_path) as running:
        page = Page(browser, running, viewport={"width": 1200, "height": 900})
        assert page.page.locator(".field:visible").count() == 40
        assert page.page.locator(".prior:visible").count() == 10
        page.page.click("text=110 more classes")
        page.page.fill("#priors input[type=search]", "class 117")
        assert page.page.locator("#priors details .prior:visible").count() == 1
        posterior = model.predict_proba(pa.table({name: [value] for name, value in page.row()["rows"][0].items()}))[0]
        best = model.classes[np.argsort(-posterior, kind="stable")[:10]].tolist()
        assert sorted(page.scores()) == sorted(best)
        assert page.text("#decision") == best[0]
        page.page.click("#all-classes")
        assert len(page.scores()) == 120
        page.set(f"#prior-{model.classes.tolist().index('class 117')}", 99)
        assert page.scores()["class 117"][0] == pytest.approx(0.99)
        assert page.problems == []
        page.page.close()


def test_the_page_asks_for_the_token(browser, model_folder):
    with serving(model_folder / "birds.safetensors", token="secret") as running:
        page = browser.new_page()
        page.goto(running.url)
        page.fill("#token", "secret")
        page.click("#login button")
        page.wait_for_selector("#scores tbody tr")
        assert page.inner_text("#decision") in ("Adelie", "Chinstrap", "Gentoo")
        page.close()
