"""Commands that give rows, compare models and search: the same as in Python, and as scikit-learn finds."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

import suffice
from suffice import (
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    MixtureClassifier,
    OnePassSearchCV,
    SemiSupervisedClassifier,
    load_model,
)
from suffice.cli import app
from suffice.errors import ColumnWarning, SkippedWarning, SufficeError

PENGUINS = str(Path(suffice.__file__).parent / "data" / "penguins.csv")
FEATURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
FRAME = pd.read_csv(PENGUINS)


def run(*arguments, **how):
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False, **how)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*arguments):
    with pytest.raises(SufficeError) as told:
        CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    return str(told.value)


def table(text):
    return pd.read_csv(io.StringIO(text))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    where = tmp_path_factory.mktemp("rows")
    clf = MixedClassifier().fit(FRAME, "species")
    clf.save(where / "mixed.safetensors")
    complete = FRAME.dropna()
    GaussianClassifier("tied").fit(complete[FEATURES], complete["species"]).save(where / "tied.safetensors")
    LogisticClassifier().fit(complete[FEATURES], complete["species"]).save(where / "logistic.safetensors")
    complete.to_csv(where / "complete.csv", index=False)
    two = complete[complete["species"] != "Gentoo"]
    two.assign(species=two["species"].map({"Adelie": "fraud", "Chinstrap": "ok"})).to_csv(where / "two.csv")
    return where


@pytest.fixture(autouse=True)
def here(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


class TestSample:
    def test_rows_are_those_of_python(self):
        rows, labels = suffice.load_model("mixed.safetensors").sample(50, random_state=3)
        found = table(run("sample", "mixed.safetensors", "-n", 50, "--seed", 3))
        assert found.pop("species").tolist() == labels.tolist()
        pd.testing.assert_frame_equal(found, rows.to_pandas(), check_dtype=False)

    def test_one_class_and_other_formats(self, tmp_path):
        options = ("sample", "tied.safetensors", "-n", 7, "--seed", 1, "--class", "Gentoo", "-t", "kind")
        lines = [json.loads(line) for line in run(*options, "--json").splitlines()]
        for name in ("a.parquet", "a.csv", "a.jsonl"):
            assert run(*options, "-o", tmp_path / name) == f"7 rows, written to {tmp_path / name}\n"
        assert pq.read_table(tmp_path / "a.parquet").to_pylist() == lines
        assert pd.read_csv(tmp_path / "a.csv").to_dict("records") == lines
        assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == lines
        assert {line["kind"] for line in lines} == {"Gentoo"}

    def test_errors(self, tmp_path):
        assert "there is no class 'Emu'" in refused("sample", "mixed.safetensors", "--class", "Emu")
        assert "has a column 'sex' already" in refused("sample", "mixed.safetensors", "-t", "sex")
        assert "suffice fit --generative" in refused("sample", "logistic.safetensors")
        (tmp_path / "a.csv").write_text("mine")
        assert "give --force" in refused("sample", "mixed.safetensors", "-o", tmp_path / "a.csv")
        assert (tmp_path / "a.csv").read_text() == "mine"
        run("sample", "mixed.safetensors", "-o", tmp_path / "a.csv", "--force")
        assert (tmp_path / "a.csv").read_text() != "mine"


class TestImpute:
    def test_the_whole_table_with_filled_cells(self):
        found = table(run("impute", "mixed.safetensors", PENGUINS))
        expected = suffice.load_model("mixed.safetensors").impute(FRAME)
        assert list(found) == list(FRAME)
        assert not found.isna().any().any()
        for name in expected:
            left, right = found[name], expected[name]
            same = np.isclose(left, right) if left.dtype.kind in "if" else left == right
            assert same.all(), name
        known = FRAME.notna()
        assert (found.where(known) == FRAME.where(known)).where(known, True).all().all()

    def test_known_classes_and_draws(self):
        model = suffice.load_model("mixed.safetensors")
        found = table(run("impute", "mixed.safetensors", PENGUINS, "-t", "species"))
        expected = model.impute(FRAME, y="species")
        np.testing.assert_allclose(found[FEATURES], expected[FEATURES])
        drawn = table(run("impute", "mixed.safetensors", PENGUINS, "--draws", 3, "--seed", 0))
        assert drawn["draw"].value_counts().to_dict() == dict.fromkeys(range(3), 344)
        tables = model.impute(FRAME, n_draws=3, random_state=0)
        np.testing.assert_allclose(drawn[FEATURES], pd.concat(tables)[FEATURES])


class TestExplain:
    def test_shares_are_of_the_decision_over_the_next_best(self):
        found = pd.DataFrame(
            [json.loads(s) for s in run("explain", "mixed.safetensors", PENGUINS, "--json").split("\n")[:-1]]
        )
        model = suffice.load_model("mixed.safetensors")
        posterior = model.predict_proba(FRAME)
        order = np.argsort(-posterior, axis=1)
        for row, group in found.groupby("row"):
            best, rival = model.classes[order[row, :2]]
            assert {*group["for"]} == {best}
            assert {*group["against"]} == {rival}
            assert group["posterior"].iloc[0] == pytest.approx(posterior[row].max())
            assert group["llr"].sum() == pytest.approx(model.llr(FRAME.iloc[[row]], rival, best).item())
        assert found["row"].nunique() == 344

    def test_a_row_without_values_is_told(self, tmp_path):
        pd.DataFrame([[None] * 7], columns=FRAME.columns.drop("species")).to_csv(tmp_path / "none.csv", index=False)
        found = run("explain", "mixed.safetensors", tmp_path / "none.csv")
        assert found == "row 0: no column speaks for one class more than for another\n"

    def test_classes_can_be_named(self):
        text = run("explain", "mixed.safetensors", PENGUINS, "-n", 1, "--for", "Gentoo", "--against", "Adelie")
        llr = suffice.load_model("mixed.safetensors").llr(FRAME.head(1), "Adelie", "Gentoo").item()
        assert text.startswith("row 0: Gentoo (0.0%) rather than Adelie, llr " + f"{llr:+.2f}")
        assert text.count("\n") >= 6
        said = refused("explain", "mixed.safetensors", PENGUINS, "--for", "Gentoo", "--against", "Gentoo")
        assert "name the same class" in said
        assert "fit a generative model with suffice fit --generative" in refused(
            "explain", "logistic.safetensors", "complete.csv"
        )


class TestOutliers:
    @pytest.mark.parametrize("level", [0.02, 1.0])
    def test_the_least_typical_come_first(self, level, tmp_path):
        run("outliers", "mixed.safetensors", PENGUINS, "--level", level, "--keep", "sex", "-o", tmp_path / "o.parquet")
        found = pd.read_parquet(tmp_path / "o.parquet")
        model = suffice.load_model("mixed.safetensors")
        typical = model.typicality(FRAME)
        most = typical.max(axis=1)
        assert found["typicality"].is_monotonic_increasing
        assert {*found["row"]} == {*np.flatnonzero(most < level)}
        np.testing.assert_array_equal(found["typicality"], most[found["row"]])
        assert found["class"].tolist() == model.classes[typical[found["row"]].argmax(axis=1)].tolist()
        assert found["sex"].isna().tolist() == FRAME["sex"].isna()[found["row"]].tolist()

    def test_rows_are_counted_over_all_files(self, tmp_path):
        for name, part in (("a", FRAME[:200]), ("b", FRAME[200:])):
            part.to_csv(tmp_path / f"{name}.csv", index=False)
        args = ("--level", 0.05, "--json")
        assert run("outliers", "mixed.safetensors", tmp_path, *args) == run(
            "outliers", "mixed.safetensors", PENGUINS, *args
        )
        text = run("outliers", "mixed.safetensors", PENGUINS, "--level", 1e-9)
        assert "1 of 344 rows has a typicality below 1e-09 under every class" in text
        assert "must lie between 0 and 1" in refused("outliers", "mixed.safetensors", PENGUINS, "--level", 2)


class TestReduce:
    def test_coordinates_are_those_of_scikit_learn(self, tmp_path):
        columns = ("--columns", ",".join(FEATURES))
        X = pd.read_csv("complete.csv")
        for options, peer in (
            ((), PCA(2).fit(X[FEATURES])),
            (("-t", "species"), LinearDiscriminantAnalysis(solver="eigen").fit(X[FEATURES], X["species"])),
        ):
            found = table(run("reduce", "complete.csv", *columns, *options, "--save", tmp_path / f"r{len(options)}"))
            own, expected = found.select_dtypes("number").to_numpy(), peer.transform(X[FEATURES])
            expected = expected - expected.mean(axis=0)
            scale = own.std(axis=0) / expected.std(axis=0)  # LDA whitens with another divisor
            sign = np.sign((own * expected).sum(axis=0))
            np.testing.assert_allclose(own, expected * sign * scale, atol=1e-6 * own.std())
            np.testing.assert_allclose(scale, scale[0], rtol=1e-3)
            again = run("reduce", "complete.csv", "--use", tmp_path / f"r{len(options)}")
            np.testing.assert_allclose(table(again), own)

    def test_columns_without_numbers_to_reduce_are_left_out_with_a_warning(self, tmp_path):
        rows = {"id": range(40), "x": [i * i % 7 + 0.5 for i in range(40)], "z": [i * 3 % 11 + 0.5 for i in range(40)]}
        frame = pd.DataFrame(rows).assign(empty=np.nan, price=[f"${i}.5" for i in range(40)])
        frame["note"] = [f"a few more {('long', 'short')[i % 2]} words of row {i % 31}" for i in range(40)]
        frame.to_csv(tmp_path / "rows.csv", index=False)
        with pytest.warns(ColumnWarning) as told:
            found = run("reduce", tmp_path / "rows.csv")
        assert found == run("reduce", tmp_path / "rows.csv", "--columns", "x,z")
        texts = [str(each.message) for each in told]
        assert [re.match("column '(.*)' is left out: ", text)[1] for text in texts[:-1]] == ["id", "empty"]
        assert texts[-1].endswith("convert it to numbers first: 'price'")
        cluster = ("cluster", tmp_path / "rows.csv", "-k", "1", "-o", tmp_path / "clusters")
        with pytest.warns(ColumnWarning):
            assert "text ('note') are not supported; leave it out with --drop note" in refused(*cluster)
        with pytest.warns(ColumnWarning) as told:
            run(*cluster, "--drop", "note")
        assert any("column 'empty' is left out: all values are missing" in str(each.message) for each in told)

    def test_rows_without_labels_have_coordinates_too(self, tmp_path):
        rows = pd.read_csv("complete.csv")
        rows.iloc[3:].to_csv(tmp_path / "few.csv", index=False)
        rows.assign(species=rows["species"].where(rows.index > 2)).to_csv(tmp_path / "all.csv", index=False)
        how = ("-t", "species", "--columns", "body_mass_g,bill_depth_mm", "-n", "1")
        with pytest.warns(SkippedWarning, match="3 rows have no label"):
            found = table(run("reduce", tmp_path / "all.csv", *how, "--skip-unlabelled"))
        pd.testing.assert_frame_equal(
            found.iloc[3:].reset_index(drop=True), table(run("reduce", tmp_path / "few.csv", *how))
        )

    def test_errors(self, tmp_path):
        assert "2 rows have missing values" in refused("reduce", PENGUINS)
        assert "needs the labels" in refused("reduce", "complete.csv", "--method", "lda")
        assert "not a PCA or an LDA" in refused("reduce", "complete.csv", "--use", "tied.safetensors")
        assert "leave out" in refused("reduce", "complete.csv", "--use", "x", "-n", "2")
        assert "-n many" in refused("reduce", "complete.csv", "-n", "many")
        assert "no column 'q'" in refused("reduce", "complete.csv", "--columns", "q")
        assert "did you mean 'sex'?" in refused("reduce", "complete.csv", "--columns", "sx")
        (tmp_path / "r").write_text("mine")
        assert "exists already" in refused("reduce", "complete.csv", "--save", tmp_path / "r")


class TestSearch:
    def test_cells_that_say_nothing_are_told_once(self, tmp_path):
        day = pd.date_range("2026-01-31", periods=344).strftime("%d.%m.%Y").where(np.arange(344) % 60 > 0, "soon")
        FRAME.assign(day=day).to_csv(tmp_path / "all.csv", index=False)
        with pytest.warns(ColumnWarning) as told:
            run("search", tmp_path / "all.csv", "-t", "species", "--grid", "alpha=1,2", "--folds", 3)
        said = {str(each.message).partition(" (")[0] for each in told}  # the same words again are not printed
        assert said == {"column 'day' is read as dates, but 6 of its 344 cells are not"}

    def test_scores_are_those_of_a_grid_search(self, tmp_path):
        grid = {"covariance": ["full", "diag", "tied"], "shrinkage": [0.0, 0.1]}
        text = (
            "--grid",
            "covariance=full,diag,tied",
            "--grid",
            "shrinkage=[0.0, 0.1]",
            "--columns",
            ",".join(FEATURES),
        )
        options = ("-t", "species", "--model", "gaussian", *text, "-o", tmp_path / "best", "--json")
        found = json.loads(run("search", "complete.csv", *options))
        frame = pd.read_csv("complete.csv")
        peer = GridSearchCV(GaussianClassifier(), grid, scoring="neg_log_loss", cv=5)
        peer.fit(frame[FEATURES], frame["species"])
        scores = {
            tuple(p.values()): s
            for p, s in zip(peer.cv_results_["params"], peer.cv_results_["mean_test_score"], strict=True)
        }
        for each in found["candidates"]:
            assert each["score"] == pytest.approx(scores[each["covariance"], each["shrinkage"]])
        best = suffice.load(tmp_path / "best")
        assert {name: getattr(best, name) for name in grid} == peer.best_params_
        assert best.target_ == "species"
        assert found["candidates"][0]["score"] == pytest.approx(peer.best_score_)

    def test_errors(self):
        assert "use suffice fit" in refused("search", PENGUINS, "-t", "species", "--model", "auto", "--grid", "a=1")
        assert "--grid beta=1" in refused("search", PENGUINS, "-t", "species", "--grid", "beta=1")
        assert "covariance" in refused("search", "no.csv", "-t", "species", "--grid", "covariance=full,fulll")


@pytest.mark.parametrize(
    ("commands", "says"),
    [
        (
            ["fit known.csv -t y --model categorical --set unknown=error", "predict model.safetensors new.csv"],
            "use --set unknown=smooth or --set unknown=ignore, or learn such rows first$",
        ),
        (
            ["fit gaps.csv -t y --model gaussian --set predictive=true"],
            "such as --model mixed, or --model gaussian without --set missing=error, predictive=true, ",
        ),
        (["fit gaps.csv -t y --model gaussian --set ddof=1 --set missing=error"], "such as --model mixed, or --model"),
        (
            ["fit copies.csv -t y --model gaussian"],
            "or use suffice reduce, --set shrinkage=0.5, --set covariance=tied or --model gaussian with --set predic",
        ),
        (
            ["fit gaps.csv -t y --model mixed --set shrinkage=oas"],
            "shrinkage='oas' needs --set covariance=full or --set covariance=tied; ",
        ),
    ],
)
def test_remedies_are_options(commands, says, tmp_path, monkeypatch):
    """Whoever writes no Python cannot follow a remedy in it."""
    monkeypatch.chdir(tmp_path)
    for name, cell in {"known": "u", "new": "w"}.items():
        Path(f"{name}.csv").write_text("word,y\n" + f"{cell},a\nv,b\n" * 9)
    Path("gaps.csv").write_text("x,z,y\n" + ",1,a\n2,3,b\n4,,a\n5,1,b\n3,2,a\n6,9,b\n")
    Path("copies.csv").write_text("x,z,y\n" + "".join(f"{i % 7},{i % 7},{'ab'[i % 2]}\n" for i in range(40)))
    with warnings.catch_warnings(record=True, action="always") as told:
        try:
            for command in commands:
                run(*command.split())
            (said,) = {str(each.message) for each in told}
        except SufficeError as error:
            said = str(error)
    assert re.search(says, said)
    assert not re.search(r'[a-z]="|=True|=False', said)


class TestCompare:
    def test_differences_have_intervals(self):
        args = ("complete.csv", "-t", "species", "-m", "tied.safetensors", "-m", "mixed.safetensors")
        found = json.loads(run("compare", *args, "--json"))
        frame = pd.read_csv("complete.csv")
        prior = suffice.load_model("tied.safetensors").prior
        losses = {}
        for name in ("tied", "mixed"):
            model = suffice.load_model(f"{name}.safetensors")
            posterior = model.predict_proba(frame, prior)
            losses[f"{name}.safetensors"] = -np.log(
                posterior[np.arange(len(frame)), np.searchsorted(model.classes, frame["species"])]
            )
            (own,) = (each for each in found if each["model"] == f"{name}.safetensors")
            assert own["log_loss"] == pytest.approx(log_loss(frame["species"], posterior))
        best, other = (each["model"] for each in found)
        difference = losses[other] - losses[best]
        assert found[1]["worse"] == pytest.approx(difference.mean())
        # the classes are sampled apart: their proportions do not vary
        parts = [difference[frame["species"] == label] for label in model.classes]
        error = np.sqrt(sum(len(part) * part.var() for part in parts)) / len(frame)
        assert found[1]["interval"] == pytest.approx(difference.mean() + 1.96 * error * np.array([-1, 1]))
        shown = run("compare", *args).splitlines()[-1].split()
        alone = -np.log(prior[np.searchsorted(model.classes, frame["species"])])
        assert shown[:2] + shown[-1:] == ["class", "frequencies", "baseline"]
        assert shown[2] == f"{alone.mean():.4f}"
        assert shown[3] == f"{np.mean(frame['species'] != model.classes[prior.argmax()]):.2%}"
        assert shown[4] == f"{alone.mean() - losses[best].mean():.4f}"

    def test_models_that_know_nothing_are_told(self, tmp_path, monkeypatch):
        """Random labels: the losses of models differ from that of the class frequencies by chance alone."""
        monkeypatch.chdir(tmp_path)
        rng = np.random.default_rng(0)
        for name in ("train", "test"):
            frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=list("ab")).assign(y=rng.choice(["u", "v"], 300))
            frame.to_csv(f"{name}.csv", index=False)
        for columns in "ab":
            run("fit", "train.csv", "-t", "y", "--model", "gaussian", "--columns", columns, "-o", columns)
        says = "No model is better than the {} by more than chance explains.\n"
        assert run("compare", "test.csv", "-m", "a", "-m", "b").endswith(says.format("class frequencies"))
        assert run("compare", "test.csv", "-m", "a", "-m", "b", "--prior", "uniform").endswith(
            says.format("prior alone")
        )
        shown = " ".join(run("evaluate", "a", "test.csv").split())
        assert re.search(r"without data 0\.69\d+: the model is not clearly better", shown)
        assert suffice.load_model("a").evaluate("test.csv", "y").beats_prior is False

    def test_errors(self):
        assert "at least two models" in refused("compare", PENGUINS, "-m", "tied.safetensors")
        run("fit", "two.csv", "-t", "species", "--model", "gaussian", "--columns", FEATURES[0], "-o", "two.safetensors")
        said = refused("compare", "two.csv", "-m", "two.safetensors", "-m", "tied.safetensors")
        assert "models of other classes cannot be compared: tied.safetensors has 'Adelie'" in said
        pd.read_csv(PENGUINS).assign(body_mass_g=np.inf).to_csv("far.csv", index=False)
        said = refused("compare", "far.csv", "-m", "mixed.safetensors", "-m", "tied.safetensors")
        assert said.startswith("mixed.safetensors: ")
        for name, labels in (("bits", "01"), ("truths", ("false", "true"))):  # which are equal in Python
            rows = "".join(f"{x},{labels[x % 2]}\n" for x in (1, 2, 5, 8))
            Path(f"{name}.csv").write_text(f"x,label\n{rows}")
            run("fit", f"{name}.csv", "-t", "label", "--model", "gaussian", "-o", f"{name}.safetensors")
        both = "bits.safetensors", "truths.safetensors"
        assert "models of other classes" in refused("compare", "bits.csv", "-m", both[0], "-m", both[1])
        assert "classes 0, 1 and False, True are of different types" in refused("merge", *both, "-o", "sum.safetensors")
        assert "does not say which column holds the labels" in refused("evaluate", "tied.safetensors", "complete.csv")


def test_costs_and_priors_of_two_classes_have_names(tmp_path):
    run("fit", "two.csv", "-t", "species", "--model", "gaussian", "--columns", ",".join(FEATURES), "-o", tmp_path / "m")
    model, frame = suffice.load_model(tmp_path / "m"), pd.read_csv("two.csv")
    assert model.target == "species"
    asked = ("evaluate", tmp_path / "m", "two.csv", "--cost", "miss=100,false-alarm=2")
    for prior, target in (("fraud=.01", 0), ("ok=.01", 1), (".01", 1)):
        cost = np.zeros((2, 2))
        cost[1 - target, target], cost[target, 1 - target] = 100, 2
        expected = model.evaluate(frame, "species", np.where(np.arange(2) == target, 0.01, 0.99), cost)
        found = json.loads(run(*asked, "--prior", prior, "--json"))
        assert found["prior"] == pytest.approx(expected.prior)
        assert found["confusion"] == expected.confusion
        assert found["dcf"] == pytest.approx(expected.dcf)
    text = run(*asked, "--prior", "fraud=.01")
    assert " ".join(text.split()).startswith(
        "Costs: 100 for a row of 'fraud' that is taken for 'ok' (a miss), 2 for the opposite"
    )
    assert "'misses' is not known" in refused(*asked[:-1], "miss=3,misses=2")


def command(*arguments, **how):
    executable = Path(sys.executable).with_name("suffice")
    return subprocess.run([executable, *map(str, arguments)], capture_output=True, timeout=120, **how)


@pytest.mark.parametrize("decimal", [".", ","])
def test_cells_that_say_nothing_are_missing_and_told_once(tmp_path, decimal):
    words = {"body_mass_g": "heavy", "day": "soon", "price": "free"}
    day = pd.to_datetime("2026-01-31") + pd.to_timedelta(np.arange(344), unit="D")
    whole = FRAME.astype({"body_mass_g": "Int64"})
    more = whole.assign(day=day.strftime("%d.%m.%Y"), price=[f"{p:.2f} €" for p in np.arange(344) / 7])
    more.to_csv(tmp_path / "all.csv", index=False, sep=";", decimal=decimal)
    rows, model = more.iloc[::20].astype(object), tmp_path / "m.safetensors"
    run("fit", tmp_path / "all.csv", "-t", "species", "--model", "mixed", "-o", model)
    for name, cells in {"bad": words, "empty": dict.fromkeys(words)}.items():
        rows.iloc[3, rows.columns.get_indexer(list(cells))] = list(cells.values())
        rows.to_csv(tmp_path / f"{name}.csv", index=False, sep=";", decimal=decimal)
    for command in ("predict --outputs llr --keep island", "evaluate", "explain -n 4", "outliers --level 0.5"):
        verb, *options = command.split()
        with pytest.warns(ColumnWarning) as told:
            found = run(verb, model, tmp_path / "bad.csv", *options)
        assert found == run(verb, model, tmp_path / "empty.csv", *options)
        n = 4 if verb == "explain" else 18
        assert sorted(str(each.message) for each in told) == [
            f"column {name!r} must hold {what}, but 1 of its {n} cells is not ({word!r}); such cells are read "
            "as missing values"
            for name, what, word in (
                ("body_mass_g", "numbers", "heavy"),
                ("day", "dates", "soon"),
                ("price", "numbers", "free"),
            )
        ]


def test_text_among_numbers_is_filled_in_and_reported_on(tmp_path):
    whole, model = FRAME.dropna()[["body_mass_g", "island", "species"]].astype({"body_mass_g": int}), tmp_path / "m"
    whole["day"] = (pd.to_datetime("2026-01-31") + pd.to_timedelta(np.arange(333), unit="D")).strftime("%d.%m.%Y")
    whole["tame"] = np.where(np.arange(333) % 3, "yes", "no")
    whole["at"] = [f"{i % 24:02}:{i % 60:02}" for i in range(333)]
    whole["seen"] = pd.Timestamp("2026-01-31 08:00") + pd.to_timedelta(np.arange(333) * 77, unit="min")
    whole.to_csv(tmp_path / "all.csv", index=False)
    run("fit", tmp_path / "all.csv", "-t", "species", "--model", "mixed", "-o", model)
    for name, cell in {"bad": "heavy", "empty": None}.items():
        rows = whole.iloc[::20].astype(object)
        rows.iloc[3, 0] = cell
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.warns(ColumnWarning, match="1 of its 17 cells is not"):
        filled = run("impute", model, tmp_path / "bad.csv")
    assert filled == run("impute", model, tmp_path / "empty.csv")
    kept = pd.read_csv(io.StringIO(filled))
    assert kept["body_mass_g"].dtype == int  # the one that was filled in, too
    drawn = pd.read_csv(io.StringIO(run("sample", model, "-n", 9, "--seed", 1)))
    assert drawn["body_mass_g"].dtype == int
    assert drawn["day"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()
    assert drawn["at"].str.fullmatch(r"([01]\d|2[0-3]):\d\d:\d\d").all()
    assert drawn["seen"].str.fullmatch(r"2026-[-\d]+ \d\d:\d\d:\d\d").all()
    assert kept[["day", "tame"]].equals(whole.iloc[::20].reset_index(drop=True)[["day", "tame"]])
    with pytest.warns(ColumnWarning, match="1 of its 17 cells is not"):
        run("report", model, tmp_path / "bad.csv", "-o", tmp_path / "bad.html")
    wrong = refused("report", model, tmp_path / "bad.csv", "-o", tmp_path / "other.html", "--prior", "Dodo=1")
    assert "unknown: 'Dodo'" in wrong  # and no row was read, which would warn
    page = (tmp_path / "bad.html").read_text()
    assert "heavy" not in page
    assert "no values" not in page


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_durations_and_money_are_written_in_ways_that_are_read_back(tmp_path, form):
    model, rows, whole = tmp_path / "m", tmp_path / f"rows.{form}", FRAME.dropna()[["body_mass_g", "species"]]
    whole = whole.assign(took=pd.to_timedelta(whole.pop("body_mass_g") + 0.5, unit="s"))
    whole["price"] = [f"{1 + i % 7}.{i:03},50 €" for i in range(len(whole))]
    whole.to_parquet(tmp_path / "all.parquet", index=False)
    whole.to_csv(tmp_path / "pandas.csv", index=False)  # 0 days 01:02:30.500000
    run("fit", tmp_path / "all.parquet", "-t", "species", "--model", "mixed", "-o", model)
    asked = ("predict", model, tmp_path / "all.parquet", "--outputs", "llr", "--keep")
    run(*asked, "took,price,species", "-o", rows)
    found = pd.read_csv(rows) if form == "csv" else pd.read_json(rows, lines=True)
    assert found["took"].tolist() == whole["took"].dt.total_seconds().tolist()
    expected = run("evaluate", model, tmp_path / "all.parquet")
    assert run("evaluate", model, rows) == run("evaluate", model, tmp_path / "pandas.csv") == expected
    gone = np.arange(len(whole)) % 9 == 0
    gaps = whole.assign(took=whole["took"].astype(str).mask(gone), price=whole["price"].mask(gone))
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    filled = pd.read_csv(io.StringIO(run("impute", model, tmp_path / "gaps.csv")))
    assert pd.to_timedelta(filled["took"]).dt.total_seconds().between(2000, 7000).all()
    assert filled["price"].str.fullmatch(r"\d\.\d{3},\d\d €").all()  # as the others are written


def test_text_is_missing_where_numbers_were_learnt_in_every_kind_of_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = FRAME.dropna()[["body_mass_g", "island", "species"]].astype({"body_mass_g": int})
    whole["price"] = [f"€{price:,.2f}" for price in 700 + np.arange(333) * 7.25]
    whole[::2].to_csv("all.csv", index=False)
    words = {"body_mass_g": "heavy", "price": "1.234,50 €"}
    rows = whole[1::20].astype(object).assign(**dict.fromkeys(words))
    for name, word in words.items():
        rows[name] = whole[name][1::20].astype(str)
        rows.iloc[3:5, rows.columns.get_loc(name)] = word
    rows.to_csv("rows.csv", index=False)
    rows.astype({"price": "category"}).to_parquet("rows.parquet")
    for model in ("mixed", "logistic"):
        run("fit", "all.csv", "-t", "species", "--model", model, "-o", model)
        expected = [
            "column 'body_mass_g' must hold numbers, but 2 of its 17 cells are not ('heavy'); such cells are read as "
            "missing values",
            "column 'price' must hold numbers such as 1,234.5, but 2 of its 17 cells are not ('1.234,50 €'); such "
            "cells are read as missing values",
        ]
        answers = []
        for table in ("rows.csv", "rows.parquet"):
            with pytest.warns(ColumnWarning) as told:
                answers.append(run("evaluate", model, table))
            assert [str(each.message) for each in told] == expected
            with pytest.warns(ColumnWarning):
                run("report", model, table, "-o", "report.html", "--force")
            page = Path("report.html").read_text()
            facts = page[page.index("Columns of the model, in the evaluated rows") :]
            assert facts.count('<td class="number">11.8%</td>') == 2  # 2 of 17 cells are missing
        assert answers[0] == answers[1]
        with pytest.warns(ColumnWarning) as told:
            run("fit", "rows.csv", "-t", "species", "--like", model, "-o", "second", "--force")
        assert {str(each.message).split("'")[1] for each in told} == set(words)
    with pytest.warns(ColumnWarning):
        run("fit", "rows.parquet", "-t", "species", "--like", "mixed", "-o", "second", "--force")
    run("merge", "mixed", "second", "-o", "both")
    assert "mixed reads this column" in refused("fit", "all.csv", "-t", "island", "--like", "mixed", "-o", "other")


def test_parts_that_look_different_are_fitted_alike(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = FRAME.dropna().sample(frac=1, random_state=0).reset_index(drop=True)
    rows[:150].to_csv("one.csv", index=False)
    rows[150:].assign(extra=rows.index[150:] % 7).to_csv("two.csv", index=False)
    how = ("--model", "mixed", "--set", "alpha=0.5", "--families", "body_mass_g=binned")
    run("fit", "one.csv", "-t", "species", "-o", "one", *how)
    run("fit", "two.csv", "-t", "species", "-o", "two", "--model", "mixed")
    assert "only one of them has 'extra'; suffice fit --like one takes" in refused("merge", "one", "two", "-o", "both")
    run("fit", "two.csv", "-t", "species", "-o", "two", "--model", "mixed", "--drop", "extra", "--force")
    told = refused("merge", "one", "two", "-o", "both")
    assert "column 'body_mass_g' has different families (binned and gaussian)" in told
    assert told.endswith("fit the second model with suffice fit --like one")
    run("fit", "two.csv", "-t", "species", "-o", "two", "--like", "one", "--force")
    run("merge", "one", "two", "-o", "both")
    both, one = suffice.load("both"), suffice.load("one")
    clf = MixedClassifier(one.schema_, alpha=0.5).fit(rows, "species")
    np.testing.assert_allclose(both.llr(rows, "Adelie", "Gentoo"), clf.llr(rows, "Adelie", "Gentoo"), rtol=1e-9)
    assert "leave out --model" in refused("fit", "two.csv", "-t", "species", "--like", "one", "--model", "mixed")


@pytest.mark.parametrize("model", ["mixed", "logistic", "auto"])
def test_columns_that_tell_nothing_are_not_asked_for(model, tmp_path):
    rows = FRAME[[*FEATURES, "species"]].dropna()
    rows.assign(id=np.arange(len(rows)), same=7, none=None).to_csv(tmp_path / "all.csv", index=False)
    rows.head().assign(same=7).to_csv(tmp_path / "few.csv", index=False)
    with pytest.warns(ColumnWarning) as told:
        run("fit", tmp_path / "all.csv", "-t", "species", "--model", model, "-o", tmp_path / "m")
    said = [str(each.message).partition(":")[0] for each in told]
    same = ["same"] * (model != "auto")  # which may vary in a model that this one is merged with
    assert said == [f"column {name!r} is left out" for name in ("id", "same", "none") if name not in same]
    assert list(suffice.load(tmp_path / "m").feature_names_in_) == [*FEATURES, *same]
    assert suffice.load_model(tmp_path / "m").column_notes.left_out.keys() == {"id", "same", "none"}.difference(same)
    assert len(table(run("predict", tmp_path / "m", tmp_path / "few.csv"))) == 5


LABELS = {
    "fit": "fit {} -t species --model mixed -o {}.safetensors",
    "auto": "fit {} -t species --generative --report {}.html -o {}.safetensors",
    "search": "search {} -t species --grid alpha=1,2 --folds 2",
    "evaluate": "evaluate mixed.safetensors {}",
    "compare": "compare {} -m mixed.safetensors -m other.safetensors",
    "report": "report mixed.safetensors {} -o {}.html",
    "forget": "forget mixed.safetensors {} -o {}.safetensors",
}


@pytest.mark.parametrize("command", LABELS)
def test_rows_without_labels_are_left_out_on_request(command, tmp_path, monkeypatch):
    rows = FRAME.iloc[::8].dropna().reset_index(drop=True)
    holed = rows["species"].where(rows.index % 12 > 0)
    (tmp_path / "other.safetensors").write_bytes(Path("mixed.safetensors").read_bytes())
    monkeypatch.chdir(tmp_path)
    Path("mixed.safetensors").write_bytes(Path("other.safetensors").read_bytes())
    rows.assign(species=holed).to_csv("all.csv", index=False)
    rows[holed.notna()].to_csv("few.csv", index=False)
    all_rows, few = (LABELS[command].format(name + ".csv", name, name) for name in ("all", "few"))
    assert "4 missing labels (rows 0, 12, 24, 36, counted from 0)" in refused(*all_rows.split())
    with pytest.warns(SkippedWarning, match="4 rows have no label and are left out"):
        said = run(*all_rows.split(), "--skip-unlabelled")
    assert said.replace("all", "few") == run(*few.split()).replace("all", "few")


def test_rows_are_numbered_as_in_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place, rng = np.arange(120), np.random.default_rng(0)
    label = pd.Series(rng.choice(["a", "b"], 120)).where(place % 3 > 0)
    pd.DataFrame({"x": place + 0.5, "z": rng.normal(size=120), "label": label}).to_csv("rows.csv", index=False)
    with pytest.warns(SkippedWarning):
        run("fit", "rows.csv", "-t", "label", "--model", "mixed", "--skip-unlabelled", "--report", "fit.html")
    with pytest.warns(SkippedWarning):
        run("report", "model.safetensors", "rows.csv", "--skip-unlabelled", "-o", "report.html")
    for page in ("fit.html", "report.html"):
        shown = re.findall(r'<tr><th scope="row">(\d+)</th>(<td>[ab]</td>.*?)</tr>', Path(page).read_text())
        assert len(shown) >= 8
        assert all(f"<td>{int(number) + 0.5}</td>" in cells for number, cells in shown)


def test_commands_make_a_pipe(tmp_path):
    fitted = command("fit", PENGUINS, "-t", "species", "--model", "mixed", "-o", "-")
    assert fitted.stderr == b"MixedClassifier of 7 columns, classes Adelie, Chinstrap, Gentoo\n"
    drawn = command("sample", "-", "-n", "5", "--seed", "0", input=fitted.stdout)
    (tmp_path / "m").write_bytes(fitted.stdout)
    scored = command("predict", tmp_path / "m", "-", "-o", "-", "--outputs", "decision", input=drawn.stdout)
    assert len(table(scored.stdout.decode())) == 5
    assert drawn.stderr == scored.stderr == b""


def test_a_traceback_comes_only_with_debug(tmp_path):
    short, long = command("predict", "no", PENGUINS), command("predict", "no", PENGUINS, "--debug")
    assert (short.returncode, long.returncode) == (1, 1)
    assert short.stderr.count(b"\n") == 1
    assert long.stderr.startswith(b"Traceback")
    assert long.stderr.endswith(short.stderr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict"], "Missing argument 'MODEL'; suffice predict --help lists what there is"),
        (["fit", "a.csv", "--colums", "x"], "No such option"),
        (["divine"], "No such command 'divine'; suffice --help lists what there is"),
        (["fit", "a.csv", "-t", "y", "--folds", "1"], "Invalid value for '--folds'"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(arguments, message):
    done = command(*arguments, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("suffice: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_defect_has_a_code_of_its_own():
    code = "import sys; sys.argv = ['suffice', 'inspect', 'x']\nimport suffice.description as d\n"
    code += "d.describe = lambda _: 1 / 0\nfrom suffice.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr.startswith("suffice: ZeroDivisionError: division by zero; this is a defect in suffice")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_commands(shell):
    done = command(env=os.environ | {"_SUFFICE_COMPLETE": f"{shell}_source"})
    assert b"_SUFFICE_COMPLETE" in done.stdout
    words = os.environ | {"_SUFFICE_COMPLETE": f"{shell}_complete", "COMP_WORDS": "suffice out", "COMP_CWORD": "1"}
    assert (
        b"outliers"
        in command(env=words | ({"COMP_WORDS": "suffice out", "COMP_CWORD": "out"} if shell == "fish" else {})).stdout
    )


SLOW = """
import sys
import suffice.progress
from suffice.cli import main
suffice.progress._PATIENCE = -1
sys.argv[0] = "suffice"
main()
"""


def test_progress_is_shown_on_a_terminal_alone(tmp_path):
    arguments = [sys.executable, "-c", SLOW, "predict", "mixed.safetensors", PENGUINS, "-o"]
    piped = subprocess.run([*arguments, tmp_path / "a.csv"], capture_output=True, timeout=60)
    assert piped.stderr == b""
    terminal, other = pty.openpty()
    with subprocess.Popen([*arguments, tmp_path / "b.csv"], stderr=other, stdout=subprocess.PIPE) as process:
        assert process.wait(60) == 0
    os.close(other)
    assert b"Reading" in os.read(terminal, 1 << 16)
    os.close(terminal)


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianClassifier("tied"),
        MixtureClassifier(n_components=1),
        LogisticClassifier(),
        SemiSupervisedClassifier(GaussianClassifier("tied")),
        OnePassSearchCV(GaussianClassifier("tied"), {"shrinkage": [0.1]}, cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_model_that_was_given_the_column_of_labels_knows_it(estimator, tmp_path):
    frame = FRAME.dropna()[[*FEATURES, "species"]]
    estimator.fit(frame, "species").save(tmp_path / "named.safetensors")
    assert load_model(tmp_path / "named.safetensors").target == "species"
    estimator.fit(frame[FEATURES], frame["species"]).save(tmp_path / "given.safetensors")
    assert load_model(tmp_path / "given.safetensors").target is None


def test_streams_and_sums_know_the_column_of_labels():
    frame = FRAME.dropna()[[*FEATURES, "species"]]
    clf = GaussianClassifier("tied").partial_fit(frame, "species").partial_fit(frame, "species")
    assert clf.target_ == (clf + clf).target_ == "species"


def test_every_model_can_be_the_standard_input(files, tmp_path):
    given = {"input": (files / "mixed.safetensors").read_bytes()}
    assert f"weight {2 * len(FRAME)}" in run("merge", "-", "mixed.safetensors", "-o", tmp_path / "both", **given)
    shown = run("compare", PENGUINS, "-m", "-", "-m", tmp_path / "both", **given)
    assert "prior of -:" in shown
    run("fit", PENGUINS, "-t", "species", "--like", "-", "-o", tmp_path / "like", **given)
    run("reduce", "complete.csv", "--columns", ",".join(FEATURES), "-n", 1, "--save", tmp_path / "pca", "-o", "-")
    pca = {"input": (tmp_path / "pca").read_bytes()}
    used = run("reduce", "complete.csv", "--use", "-", **pca)
    assert used == run("reduce", "complete.csv", "--use", tmp_path / "pca")
    for arguments in (
        ("merge", "-", "-", "-o", tmp_path / "x"),
        ("predict", "-", "-"),
        ("compare", "-", "-m", "-", "-m", tmp_path / "both"),
        ("fit", "-", "-t", "species", "--like", "-", "-o", tmp_path / "x"),
        ("reduce", "-", "--use", "-"),
    ):
        once = pca if arguments[0] == "reduce" else given
        with pytest.raises(SufficeError, match="can be read once"):
            CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False, **once)


def test_long_names_fit_the_terminal_and_are_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(0)
    names = [f"a_rather_long_name_of_a_measurement_in_the_laboratory_number_{j}" for j in range(3)]
    rows = pd.DataFrame(rng.normal(size=(60, 3)).round(2), columns=names)
    rows["label"] = [f"diagnosis of the {word} kind with complications" for word in ("first", "second", "third")] * 20
    rows.to_csv(tmp_path / "rows.csv", index=False)
    MixedClassifier().fit(rows, "label").save(tmp_path / "m")
    shown = {
        command: run(command, tmp_path / "m", *given)
        for command, given in {
            "inspect": [],
            "explain": [tmp_path / "rows.csv", "-n", 1],
            "evaluate": [tmp_path / "rows.csv", "-t", "label"],
        }.items()
    }
    for text in shown.values():
        assert max(map(len, text.splitlines())) <= 80
        assert "…" not in text
    for command in ("inspect", "explain"):
        starts = [line.split()[0] for line in shown[command].splitlines() if line.startswith("a_rather")]
        ends = [line.strip() for line in shown[command].splitlines() if line.startswith("  ")]
        assert {one + two for one, two in zip(starts, ends, strict=True)} == set(names)
    assert len(re.findall("complications", shown["evaluate"])) >= 6
