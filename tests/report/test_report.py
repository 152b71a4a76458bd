"""Reports on all kinds of models and rows: what they say is what the library says, and they stay small."""

import json
import re
from base64 import b64decode
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse, stats
from sklearn.datasets import load_iris

import suffice
from suffice import (
    CategoricalClassifier,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MixtureClassifier,
    MultinomialClassifier,
    PoissonClassifier,
    decisions,
    metrics,
)
from suffice.cli import app
from suffice.errors import ColumnWarning, DataError
from suffice.report import columns, controls, meanings, rows, writing
from suffice.report.figures import evaluation_of, figures_of
from suffice.report.rows import ScoredRows, rows_of
from suffice.scoring.calibrated import Calibration
from suffice.scoring.choice import Choice
from suffice.scoring.intervals import wilson

PENGUINS = str(Path(suffice.__file__).parent / "data" / "penguins.csv")
FRAME = pd.read_csv(PENGUINS)
MEGABYTE = 1 << 20


def text_of(path):
    """What a reader sees, without markup."""
    page = path.read_text()
    body = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def payload_of(path):
    return json.loads(re.search(r'id="rows">(.*?)</script>', path.read_text(), re.DOTALL)[1])


def written(tmp_path, model, X, y, **how):
    path = tmp_path / "report.html"
    suffice.write_report(model, X, y, path, **how)
    assert path.stat().st_size < 3 * MEGABYTE
    return path


def test_the_scores_in_the_page_are_exact(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = GaussianClassifier().fit(X[::2], y[::2])
    path = written(tmp_path, clf, X[1::2], y[1::2])
    found = np.frombuffer(b64decode(payload_of(path)["scores"]), "<f8").reshape(-1, 3)
    np.testing.assert_array_equal(np.frombuffer(b64decode(payload_of(path)["code"]), "<u2"), y[1::2])
    np.testing.assert_allclose(found[:, 1] - found[:, 0], clf.llr(X[1::2], 0, 1), rtol=1e-12)
    two = GaussianClassifier().fit(X[:100:2], y[:100:2])
    path = written(tmp_path, two, X[1:100:2], y[1:100:2])
    np.testing.assert_array_equal(np.frombuffer(b64decode(payload_of(path)["scores"]), "<f8"), two.llr(X[1:100:2]))


def test_it_says_what_the_evaluation_says(tmp_path):
    clf = suffice.fit(FRAME[FRAME.index % 6 >= 2], "species", generative=True)
    test = FRAME[FRAME.index % 6 < 2]
    text = text_of(written(tmp_path, clf, test, "species"))
    expected = clf.evaluate(test, "species")
    assert f"Error rate {100 * expected.error_rate:.2f}%" in text
    assert f"Log loss {expected.log_loss:.4g}" in text
    assert clf.choice_.summary in text
    for candidate in clf.choice_.candidates:
        assert f"{candidate.name} {candidate.log_loss:.4f}" in text
    for name in (*FRAME.columns.drop("species"), *clf.classes_):
        assert name in text
    assert "0.9%" in text  # a missing value


def test_figures_have_the_intervals_of_others():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = (rng.normal(size=400) + y)[:, None]
    found = rows_of(GaussianClassifier().fit(X, y).to_model(), X, y)
    evaluation = evaluation_of(found, [0.5, 0.5], None)
    figures = {figure.name: figure for figure in figures_of(found, evaluation, 1 - np.eye(2))}
    wrong = round(400 * evaluation.error_rate)
    peer = stats.binomtest(wrong, 400).proportion_ci(method="wilson")
    assert (figures["Error rate"].low, figures["Error rate"].high) == pytest.approx(peer, rel=1e-4)
    assert wilson(0.0, 10) == pytest.approx(stats.binomtest(0, 10).proportion_ci(method="wilson"), abs=1e-5)
    llr = decisions.log_likelihood_ratio(found.scores, 0, 1)
    assert figures["Cllr"].value == metrics.cllr(y, llr)
    for figure in figures.values():
        assert figure.low <= figure.value <= figure.high, figure.name
    # As wide as if rows were drawn again and again.
    draws = [np.concatenate([rng.choice(np.flatnonzero(y == c), (y == c).sum()) for c in (0, 1)]) for _ in range(400)]
    dcf = [metrics.dcf(y[d], llr[d], prior=0.5) for d in draws]
    assert figures["Normalised cost"].high - figures["Normalised cost"].low == pytest.approx(
        3.92 * np.std(dcf), rel=0.2
    )


@pytest.mark.parametrize(
    ("shift", "says"),
    [
        (0.0, "On these rows the model is not better than the prior alone by more than chance explains."),
        (-2.0, "On these rows the model does worse than the prior alone."),
        (2.0, ""),
    ],
)
def test_a_model_that_knows_nothing_is_told(shift, says, tmp_path):
    rng = np.random.default_rng(0)
    y, new = np.arange(400) % 2, np.arange(200) % 2
    model = GaussianClassifier("tied").fit(rng.normal(size=(400, 2)) + abs(shift) * y[:, None], y)
    text = text_of(written(tmp_path, model, rng.normal(size=(200, 2)) + shift * new[:, None], new))
    assert says in text
    assert bool(says) == ("the prior alone" in text)


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_intervals_of_many_rows_are_as_wide_as_those_of_a_bootstrap(share, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.random(4000) < share
    llr = 0.3 + np.where(y, 1.5, -1.5) + np.where(y, 0.7, 2.5) * rng.normal(size=4000)
    found = ScoredRows(GaussianClassifier().fit(llr[:, None], y).to_model(), 1 * y, np.c_[0 * llr, llr], np.ones(4000))
    by_rows, by_formula = [], []
    for most, figures in ((20_000, by_rows), (1000, by_formula)):
        monkeypatch.setattr("suffice.report.figures._MANY", most)
        figures += figures_of(found, evaluation_of(found, [0.5, 0.5], None), 1 - np.eye(2))[-3:]
    assert [figure.name for figure in by_formula] == ["Cllr", "Minimum Cllr", "EER"]
    for one, other in zip(by_rows, by_formula, strict=True):
        assert one.value == other.value
        assert other.low < other.value < other.high
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.25)


def test_evidence_adds_up_to_the_mean_ratio():
    clf = MixedClassifier().fit(FRAME, "species")
    found = rows_of(clf.to_model(), FRAME, "species")
    scores, code = found.scores.copy(), found.code
    own = scores[np.arange(len(code)), code]
    scores[np.arange(len(code)), code] = -np.inf
    assert columns.evidence(found.drawn).sum() == pytest.approx((own - scores.max(axis=1)).mean())


def test_shuffling_a_column_that_is_not_used_changes_nothing():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a", "b", "c"])
    y = (X["a"] + 0.1 * rng.normal(size=500) > 0).to_numpy()
    found = columns.evidence(rows_of(LogisticClassifier().fit(X, y).to_model(), X, y).drawn)
    assert found[0] > 1
    assert abs(found[1:]).max() < 0.1


def test_columns_that_correct_others_are_not_called_useless(tmp_path):
    rng = np.random.default_rng(0)
    y, before, size = np.arange(500) % 2, 100 * rng.normal(size=500), rng.normal(size=500)
    X = pd.DataFrame(
        {"before": before + 0.5 * y, "after": before + 5 * y + rng.normal(size=500), "size": size - size.mean()}
    )
    clf = GaussianClassifier("tied").fit(X, y)
    found = columns.facts_of(rows_of(clf.to_model(), X, y).drawn)
    assert found[0].tells < -1
    assert not found[0].is_needless
    assert "before does not help" not in text_of(written(tmp_path, clf, X, y))


def test_curves_are_the_densities_of_the_columns():
    clf = GaussianClassifier("full").fit(FRAME.dropna()[["bill_length_mm", "bill_depth_mm"]], FRAME.dropna()["species"])
    found = rows_of(clf.to_model(), FRAME.dropna(), FRAME.dropna()["species"].to_numpy())
    for j in range(2):
        drawn = columns.numbers_of(found.drawn, j)
        for c in range(3):
            peer = stats.norm(clf.means_[c, j], np.sqrt(clf.covariances_[c, j, j])).pdf(drawn.grid)
            np.testing.assert_allclose(drawn.curves[c], peer, rtol=1e-9)
        np.testing.assert_allclose((drawn.heights * np.diff(drawn.edges)).sum(axis=1), 1)
    mixed = MixedClassifier(alpha=0).fit(FRAME, "species")
    island = columns.categories_of(rows_of(mixed.to_model(), FRAME, "species").drawn, 0)
    np.testing.assert_allclose(island.expected, island.observed, atol=1e-12)
    share = ((FRAME["species"] == "Adelie") & (FRAME["island"] == "Dream")).sum() / (FRAME["species"] == "Adelie").sum()
    assert island.observed[0, island.names.index("Dream")] == pytest.approx(share)


POSITIVE, ANY = np.random.default_rng(0).gamma(2.0, 30.0, 300), np.random.default_rng(0).standard_t(3, 300) * 9 - 4
UNITS = {
    "gaussian": ANY,
    "log": POSITIVE,
    "log of both signs": ANY,
    "yeo_johnson": ANY,
    "lognormal": POSITIVE,
    "gamma": POSITIVE,
    "binned": POSITIVE,
    "zero_inflated": np.where(np.arange(300) % 3 == 0, 0.0, POSITIVE),
    "yeo_johnson of text": POSITIVE,
}


@pytest.mark.parametrize("case", UNITS)
def test_densities_are_in_the_units_of_their_columns(case):
    """Whatever a column is transformed to, what is drawn integrates to one, but for a probability of zero itself."""
    x, y = UNITS[case], np.arange(300) % 2
    frame = pd.DataFrame({"x": [f"{value:.4f}" for value in x] if "text" in case else x, "z": ANY})
    clf = MixedClassifier(families={"x": case.partition(" ")[0]}).fit(frame, y)
    found = rows_of(clf.to_model(), frame, y).drawn
    grid = np.linspace(*(np.array([-80, 80]) * x.std() + x.mean()), 400_001)
    area = np.trapezoid(columns.densities_of(found, 0, grid), grid)
    zeros = np.array([(x[y == c] == 0).mean() for c in (0, 1)])
    np.testing.assert_allclose(area, 1 - zeros, atol=0.01)
    drawn = columns.numbers_of(found, 0)  # about as high as the bars
    assert drawn.curves.max() < 3 * drawn.heights.max()


def rng_table(n=200, d=3, k=2):
    rng = np.random.default_rng(1)
    y = np.arange(n) % k
    return rng.normal(size=(n, d)) + y[:, None], y


def sparse_counts():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    return sparse.csr_matrix(rng.poisson(0.2 + 0.5 * y[:, None], (80, 300))), y


def zeros():
    X, y = np.array([["red", "x"], ["blue", "y"], ["red", "y"]] * 9, object), np.array(["a", "b", "a"] * 9)
    return X, y


CASES = {
    "text": lambda: (MultinomialClassifier(), *sparse_counts()),
    "probabilities of zero": lambda: (CategoricalClassifier(alpha=0), *zeros()),
    "counts": lambda: (PoissonClassifier(), np.random.default_rng(0).poisson(3, (60, 2)), np.arange(60) % 3),
    "a mixture": lambda: (MixtureClassifier(2, random_state=0), *rng_table()),
    "many classes": lambda: (GaussianClassifier("tied"), *rng_table(600, 3, 30)),
    "many columns": lambda: (GaussianClassifier("diag"), *rng_table(60, 700)),
    "very many columns": lambda: (GaussianClassifier("diag"), *rng_table(40, 2500)),
    "Booleans": lambda: (LogisticClassifier(), rng_table()[0], rng_table()[1] == 1),
    "two rows": lambda: (
        GaussianClassifier("tied_diag"),
        np.array([[0.0], [1.0], [5.0], [6.0]]),
        np.array([0, 0, 1, 1]),
    ),
    "a constant": lambda: (
        MixedClassifier(),
        pd.DataFrame({"a": [1.0] * 40, "b": rng_table(40)[0][:, 0]}),
        rng_table(40)[1],
    ),
    "dates and gaps": lambda: (
        MixedClassifier(),
        pd.DataFrame({"a": [None, 1.5] * 20, "b": pd.date_range("2024", periods=40), "c": [None] * 39 + ["x"]}),
        np.arange(40) // 2 % 2,
    ),
}


@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@pytest.mark.parametrize("case", CASES)
def test_any_model_and_table_has_a_report(case, tmp_path):
    clf, X, y = CASES[case]()
    clf.fit(X, y)
    path = written(tmp_path, clf, X, y)
    expected = clf.evaluate(X, y)
    text = text_of(path)
    assert f"Error rate {100 * expected.error_rate:.2f}%" in text
    assert "NaN" not in text
    assert " nan" not in text.lower()
    if len(expected.classes) > 20:
        return
    for i, row in enumerate(expected.confusion):
        for j, count in enumerate(row):
            assert re.search(rf'id="cell-{i}-{j}"[^>]*>{count:.0f}<', path.read_text())


def test_a_class_without_rows_and_a_single_row(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = GaussianClassifier().fit(X, y)
    text = text_of(written(tmp_path, clf, X[:70], y[:70]))
    assert "Expected cost of a row \u2013" in text
    assert "Log loss" not in text.partition("Choose prior")[0]
    text_of(written(tmp_path, clf, X[:1], y[:1]))
    two = GaussianClassifier().fit(X[:100], y[:100])
    text_of(written(tmp_path, two, X[:20], y[:20]))


def decided_in(path, prior):
    """The confusion matrix that the script of a page finds with equal costs."""
    data = payload_of(path)
    k = len(data["classes"])
    scores = np.frombuffer(b64decode(data["scores"]), "<f8" if data["unit"] is None else "<u2")
    scores = scores if data["unit"] is None else -data["unit"] * scores.astype(float)
    scores = np.stack([np.zeros(len(scores)), scores], 1) if k == 2 else scores.reshape(-1, k)
    code, weight = np.frombuffer(b64decode(data["code"]), "<u2"), np.frombuffer(b64decode(data["weight"]), "<f8")
    found = np.zeros((k, k))
    np.add.at(found, (code, (scores + np.log(prior)).argmax(axis=1)), weight)
    return found


@pytest.mark.parametrize("k", [2, 3])
def test_figures_are_of_all_rows_though_the_page_holds_some(k, tmp_path, monkeypatch):
    monkeypatch.setattr(controls, "NUMBERS", 900 if k == 2 else 600)
    X, y = rng_table(3000, 2, k)
    clf = GaussianClassifier().fit(X, y)
    path = written(tmp_path, clf, X, y)
    expected = clf.evaluate(X, y)
    text = text_of(path)
    assert "3000 rows, 2 columns" in text
    assert f"Error rate {100 * expected.error_rate:.2f}%" in text
    assert re.search(r"The sliders use \d+ of the 3000 rows", text)
    assert len(b64decode(payload_of(path)["code"])) // 2 < 320
    np.testing.assert_allclose(decided_in(path, np.full(k, 1 / k)), expected.confusion)
    other = np.array([0.8, *[0.2 / (k - 1)] * (k - 1)])
    np.testing.assert_allclose(decided_in(path, other), clf.evaluate(X, y, other).confusion, atol=60)


@pytest.mark.parametrize("limit", ["CELLS", "SCORES", None])
@pytest.mark.parametrize("kind", ["frame", "file"])
def test_rows_have_the_numbers_that_they_have_in_the_table(kind, limit, tmp_path, monkeypatch):
    """Also where some of them are drawn at random."""
    if limit:
        monkeypatch.setattr(rows, limit, 4000)
    X, y = rng_table(3000, 4)
    frame = pd.DataFrame(X.round(3), columns=list("abcd")).assign(y=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    clf = GaussianClassifier().fit(frame, "y")
    path = written(tmp_path, clf, frame if kind == "frame" else tmp_path / "rows.csv", "y")
    shown = re.findall(r'<th scope="row">(\d+)</th><td>\w+</td><td>\w+</td>(.*?)</tr>', path.read_text())
    assert len(shown) >= 8
    heading = re.search(r'posterior</th>((?:<th scope="col">[abcd]</th>)+)', path.read_text())[1]
    names = re.findall(r">([abcd])<", heading)
    for number, cells in shown:
        values = [float(value) for value in re.findall(r"<td>(-?[\d.]+)</td>", cells)]
        assert values == frame.loc[int(number), names].tolist()
    assert ("2000 rows, drawn at random from 3000" in text_of(path)) == (limit == "SCORES")
    if limit != "SCORES":
        assert f"Error rate {100 * clf.evaluate(frame, 'y').error_rate:.2f}%" in text_of(path)


@pytest.mark.parametrize(("k", "d"), [(120, 4), (3, 500)])
def test_wide_reports_are_small_and_short(k, d, tmp_path):
    """The most confused classes are shown, and the others are summed up or folded away."""
    X, y = rng_table(12 * k, d, k)
    clf = GaussianClassifier("tied_diag").fit(X, y)
    path = written(tmp_path, clf, X, y)
    page = path.read_text()
    folded = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
    assert page.count("<tr>") > max(k, d)
    assert folded.count("<tr") < 250
    assert folded.count('<input type="range"') <= 20
    if k > 20:
        expected = np.array(clf.evaluate(X, y).confusion)
        cells = [[int(c) for c in re.findall(rf'id="cell-{i}-\d+"[^>]*>(\d+)<', page)] for i in range(11)]
        assert np.sum(cells) == expected.sum()
        np.fill_diagonal(expected, 0)
        i, j = np.unravel_index(expected.argmax(), expected.shape)
        assert f"share of the class {i} {j} {expected[i, j]:.0f}" in text_of(path)
        assert f'scope="row">{i}</th>' in folded


def test_columns_are_told_in_the_words_of_the_schema(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    frame = pd.DataFrame(
        {
            "id": np.arange(60) + 1000,
            "price": [f"{value:,.2f}" for value in rng.gamma(2, 900, 60) * (1 + y)],
            "when": [f"2026-0{1 + i % 9}-1{i % 7}" for i in range(60)],
            "size": rng.normal(size=60) + y,
            "note": [" ".join(rng.choice(list("abcdefgh"), 6)) + f" n{i}" for i in range(60)],
        }
    )
    clf = MixedClassifier(families={"size": "yeo_johnson"})
    with pytest.warns(suffice.errors.ColumnWarning):
        clf.fit(frame, y)
    text = text_of(written(tmp_path, clf, frame, y))
    for name, family, reason in zip(clf.schema_.names, clf.schema_.families, clf.schema_.reasons, strict=True):
        assert re.search(rf"{name} {family}( \(.*?\))? {re.escape(reason)}", text), name
    assert f"{frame['when'].min()} to {frame['when'].max()}, median 2026-" in text
    clf.save(tmp_path / "m")
    loaded = text_of(written(tmp_path, tmp_path / "m", frame, y))
    assert re.search(r"size yeo_johnson \(power [\d.-]+\)", loaded)
    assert "id does not help" not in loaded


def test_calibrated_scores_are_shown(tmp_path):
    clf = MixedClassifier().fit(FRAME, "species")
    clf.calibration_ = Calibration(0.5, np.array([0.0, 0.5, 0.0]), 100)
    path = written(tmp_path, clf, FRAME, "species")
    found = np.frombuffer(b64decode(payload_of(path)["scores"]), "<f8").reshape(-1, 3)
    np.testing.assert_allclose(found[:, 1] - found[:, 0], clf.llr(FRAME, "Adelie", "Chinstrap"), atol=1e-9)
    assert "Scores are calibrated." in text_of(path)


def test_errors_leave_the_file_as_it_was(tmp_path):
    clf = MixedClassifier().fit(FRAME.drop(columns="species"), FRAME["species"])
    path = tmp_path / "report.html"
    path.write_text("mine")
    for X, y, message in (
        (FRAME, None, "the true labels are needed"),
        (FRAME, "island", "column 'island'"),
        (FRAME.assign(species="Emu"), "species", "holds 'Emu', but the classes"),
        (FRAME.assign(species=None), "species", "missing label"),
    ):
        with pytest.raises(DataError, match=message):
            suffice.write_report(clf, X, y, path)
    with pytest.raises(DataError, match="about a classifier"):
        suffice.write_report(object(), FRAME, "species", path)
    assert path.read_text() == "mine"


def test_words_of_a_report_are_those_of_the_glossary(tmp_path):
    clf = GaussianClassifier().fit(*rng_table())
    page = written(tmp_path, clf, *rng_table()).read_text()
    documented = (Path(__file__).parents[2] / "docs/glossary.md").read_text()
    for name, meaning in meanings.WORDS.items():
        assert f"| {name} | {meaning} |" in documented
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


def test_a_report_of_a_choice_that_takes_infinity(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    y = rng.integers(2, size=200)
    x = np.where(rng.random(200) < 0.1, np.inf, rng.normal(size=200) + 2 * y)
    pd.DataFrame({"x": x, "y": y}).to_csv("rows.csv", index=False)
    with pytest.warns(ColumnWarning, match="infinite numbers are read as missing values"):
        run("fit", "rows.csv", "-t", "y", "-o", "m", "--report", "fit.html")
    assert "Each row was scored by a model of the other rows" in text_of(tmp_path / "fit.html")


def test_commands_write_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("fit", PENGUINS, "-t", "species", "--generative", "-o", "m", "--report", "fit.html")
    assert done.output.endswith("A report is in fit.html\nWritten to m\n")
    fitted = text_of(tmp_path / "fit.html")
    assert "Each row was scored by a model of the other rows, in 5 folds." in fitted
    choice = suffice.load_model("m").choice
    error = float(re.search(r"Error rate ([\d.]+)%", fitted)[1])
    assert error == pytest.approx(100 * choice.candidates[0].error, abs=1.0)  # other folds
    done = run("report", "m", PENGUINS, "--prior", "Adelie=0.8,Chinstrap=0.1,Gentoo=0.1", "--title", "Birds & co")
    assert (
        done.output == "A report on MixedClassifier, classes 'Adelie', 'Chinstrap', 'Gentoo'\nWritten to report.html\n"
    )
    assert payload_of(tmp_path / "report.html")["prior"] == pytest.approx([0.8, 0.1, 0.1])
    assert "Birds & co" in text_of(tmp_path / "report.html")
    assert run("report", "m", PENGUINS, "-o", "-").output.startswith("<!doctype html>")
    with pytest.raises(DataError, match=r"report\.html exists already"):
        run("report", "m", PENGUINS)
    with pytest.raises(DataError, match=r"fit\.html exists already"):
        run("fit", PENGUINS, "-t", "species", "-o", "other", "--report", "fit.html")
    assert not (tmp_path / "other").exists()


def test_rows_of_a_fit_are_scored_by_models_that_have_not_seen_them(tmp_path, monkeypatch):
    """Labels that nothing tells are decided no better than by chance, though a model of all rows remembers them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 25))).add_prefix("x").assign(y=rng.choice(["a", "b"], 60))
    frame.to_csv("noise.csv", index=False)
    run(
        "fit",
        "noise.csv",
        "-t",
        "y",
        "--model",
        "gaussian",
        "--set",
        "covariance=tied",
        "-o",
        "m",
        "--report",
        "r.html",
    )
    assert suffice.load_model("m").evaluate(frame, "y").error_rate < 0.25
    assert float(re.search(r"Error rate ([\d.]+)%", text_of(tmp_path / "r.html"))[1]) > 35


def test_a_page_is_not_written_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_document", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        suffice.write_report(MixedClassifier().fit(FRAME, "species"), FRAME, "species", tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "change",
    [
        {"candidates": []},
        {"candidates": [{"name": ["x"], "log_loss": 1.0, "error": 0.1}]},
        {"candidates": [{"name": "x", "log_loss": "much", "error": 0.1}]},
        {"baseline": {"name": "x", "log_loss": None, "error": 0.1}},
        {"scoring": "<b>"},
        {"scoring": "cost"},
        {"n_rows": "all"},
        {"left_out": 3},
    ],
    ids=str,
)
def test_files_that_tell_nonsense_of_the_choice_are_refused(change):
    """So that no report stumbles over them."""
    with pytest.warns(UserWarning, match="the time limit ended the search"):
        header = suffice.fit(*rng_table(40), time_limit=0).choice_.to_header()
    assert Choice.from_header(header).to_header() == header
    with pytest.raises((ValueError, TypeError, KeyError)):
        Choice.from_header(header | change)
