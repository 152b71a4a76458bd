"""The command line, and an independent check of the numbers it shows."""

import csv
import dataclasses
import gc
import importlib
import io
import json
import re
import signal
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path

import duckdb
import fsspec
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import confusion_matrix, log_loss, precision_score, recall_score

import suffice
from suffice import (
    LDA,
    PCA,
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    LogisticClassifier,
    MixedClassifier,
    Model,
    MultinomialClassifier,
    PoissonClassifier,
    metrics,
)
from suffice.cli import app, main
from suffice.cli.options import StoppedError, prior_of
from suffice.densities import BernoulliDensity, BinomialDensity, GaussianDensity, MixtureDensity
from suffice.errors import BaselineWarning, ColumnWarning, DataError, EmptyClassWarning, FormatWarning, StatisticsError
from suffice.report.columns import families_of
from suffice.scoring.calibrated import Calibration

demo_module = importlib.import_module("suffice.cli.demo")
PENGUINS = str(Path(suffice.__file__).parent / "data" / "penguins.csv")
COST = {"Adelie": [0, 1, 1], "Chinstrap": [9, 0, 1], "Gentoo": [1, 1, 0], "ask": [0.2, 0.2, 0.2]}
PRIOR = [0.7, 0.2, 0.1]
# What only Python has: a remedy of a command is an option.
PYTHON = re.compile(
    r"\b(families|types|columns|format|prior|keep|outputs|na|on_error|cost)=|suffice\.\w+\(|\w+Classifier\(|\by\b"
)
FEATURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def run(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    return result.exit_code, result.output


def shell(*arguments, cwd):
    """A real command."""
    command = [Path(sys.executable).with_name("suffice"), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """The one line that a command fails with, in a directory of its own."""

    def line(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["suffice", *arguments])
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main sets its own
        with pytest.raises(SystemExit) as failure:
            main()
        gc.unfreeze()  # as main is the last thing that a process does
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith("suffice: ")
        assert told.err.count("\n") == 1
        assert not PYTHON.search(told.err), told.err
        line.code = failure.value.code
        assert line.code in (1, 2)
        return told.err

    return line


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the demo prints on a terminal of 80 columns, and where it writes."""
    where = tmp_path_factory.mktemp("demo") / "birds"
    done = CliRunner().invoke(app, ["demo", "--out", str(where)], env={"COLUMNS": "80"}, catch_exceptions=False)
    assert done.exit_code == 0
    return done.output, where


class TestDemo:
    def test_it_fits_a_narrow_terminal(self, shown):
        wide = [line for line in shown[0].splitlines() if len(line.rstrip()) > 80]
        assert all(str(shown[1]) in line for line in wide), wide  # paths are not broken
        assert f"\n{' ' * 12}prior; without data" in shown[0]  # the rest of a line stays below its beginning

    def test_the_model_is_the_best_of_those_that_it_shows(self, shown):
        text, where = shown
        expected = suffice.fit(str(where / "birds.csv"), "species", generative=True)
        model = suffice.load(where / "birds.safetensors")
        assert str(model.choice_.candidates[0].name) == expected.choice_.candidates[0].name
        for each in (*expected.choice_.candidates[:6], expected.choice_.baseline):
            assert f"{each.log_loss:.4f}" in text
            assert f"{each.error:.2%}" in text
        assert " ".join(expected.choice_.summary.split()) in " ".join(text.split())
        test = pd.read_csv(where / "test.csv")
        found = np.mean(model.predict(test) != test["species"])
        assert f"error rate  {found:.2%} of the rows" in text

    def test_training_and_test_birds_are_all_birds(self, shown):
        parts = [pd.read_csv(shown[1] / name) for name in ("birds.csv", "test.csv")]
        whole = pd.concat(parts).sort_values(list(parts[0])).reset_index(drop=True)
        pd.testing.assert_frame_equal(whole, pd.read_csv(PENGUINS).sort_values(list(whole)).reset_index(drop=True))
        gaps = int(pd.read_csv(PENGUINS).isna().sum().sum())
        assert f"344 birds of three species, with numbers, categories and {gaps} missing" in shown[0].replace("\n", " ")

    def test_a_decision_flips_with_the_prior(self, shown):
        text = " ".join(shown[0].split())
        equal, rare = (float(p) for p in re.findall(r"P\(Chinstrap\) = ([\d.]+)", text))
        row, llr = re.search(r"Bird (\d+) of the test table: .*? over Adelie ([+-][\d.]+)\.", text).groups()
        assert equal == pytest.approx(1 / (1 + np.exp(-float(llr))), abs=0.01)
        assert rare == pytest.approx(1 / (1 + 99 * np.exp(-float(llr))), abs=0.01)
        assert re.findall(r"so decide for (\w+)", text) == ["Chinstrap", "Adelie"]
        bird = pd.read_csv(shown[1] / "test.csv").iloc[[int(row)]]
        found = suffice.load_model(shown[1] / "birds.safetensors").llr(bird, "Adelie", "Chinstrap").item()
        assert f"{found:+.2f}" == llr

    def test_the_report_is_where_it_says(self, shown):
        uri = re.search(r"Open the report: (\S+)", shown[0])[1]
        assert uri == (shown[1] / "birds.html").resolve().as_uri()
        assert "Each row was scored by a model of the other rows" in (shown[1] / "birds.html").read_text()

    def test_the_next_commands_work(self, shown, monkeypatch):
        lines = shown[0].partition("Try next:\n")[2].splitlines()
        assert lines[0] == f"  cd {shown[1]}"
        assert [line.strip() for line in lines[1:]] == list(demo_module.NEXT)
        monkeypatch.chdir(shown[1])
        for line in lines[1:-1]:  # the last one serves until it is stopped
            code, output = run(*line.split()[1:])
            assert code == 0
            assert output.strip()

    def test_it_overwrites_nothing(self, shown, tmp_path):
        with pytest.raises(DataError, match="give --force to overwrite"):
            run("demo", "--out", shown[1])
        (tmp_path / "new.csv").write_text("mine")
        with pytest.raises(DataError, match="give --force to overwrite"):
            run("demo", "--out", tmp_path)
        assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("new.csv", "mine")]


@pytest.mark.parametrize("arguments", [(), ("--help",), ("demo", "--help")], ids=" ".join)
def test_help_says_what_there_is(arguments):
    code, output = run(*arguments)
    text = " ".join(output.replace("│", " ").split())
    assert code == (0 if arguments else 2)
    assert "Usage: suffice" in text
    assert "Run a complete example on the Palmer penguins" in text
    if "demo" not in arguments:
        assert "Generative classifiers from sufficient statistics. One pass over your data suffices." in text


def test_unknown_commands_are_refused():
    code, output = run("divine")
    assert code == 2
    assert "No such command 'divine'" in output


def test_the_installed_command_runs():
    command = Path(sys.executable).with_name("suffice")
    done = subprocess.run([command, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "demo" in done.stdout


class TestFit:
    def test_chooses_and_says_why(self, tmp_path):
        out = tmp_path / "birds.safetensors"
        code, output = run("fit", PENGUINS, "-t", "species", "-o", str(out))
        assert code == 0
        expected = suffice.fit(PENGUINS, "species")
        assert expected.choice_.folded(80) in output
        table, words = output.split("\n\n")[1:3]
        assert " ".join(words.split()) == expected.choice_.summary
        for each in expected.choice_.rows():
            assert f"{each['log_loss']:.4f}  {each['error']:.2%}" in re.sub("   +", "  ", table)
        assert max(map(len, output.replace(str(out), "").splitlines())) <= 80
        assert suffice.load(out).predict(PENGUINS).tolist() == expected.predict(PENGUINS).tolist()

    def test_a_model_by_name_with_parameters(self, tmp_path):
        out = tmp_path / "birds.safetensors"
        choices = (
            "--model",
            "mixed",
            "--set",
            "alpha=0.5",
            "--set",
            "covariance=tied_diag",
            "--columns",
            "sex, island,species",
        )
        code, output = run("fit", PENGUINS, "-t", "species", "-o", str(out), *choices)
        assert code == 0
        assert "2 columns, classes Adelie, Chinstrap, Gentoo" in output
        clf = suffice.load(out)
        assert (clf.alpha, clf.covariance, clf.n_features_in_) == (0.5, "tied_diag", 2)

    def test_weights_and_a_checkpoint(self, tmp_path):
        (tmp_path / "a.csv").write_text("x,w,y\n1,1,a\n2,3,a\n5,1,b\n6,1,b\n")
        choices = (
            "--weight",
            "w",
            "--checkpoint",
            str(tmp_path / "run"),
            "--model",
            "gaussian",
            "--set",
            "covariance=diag",
        )
        run("fit", str(tmp_path / "*.csv"), "-t", "y", "-o", str(tmp_path / "m"), *choices)
        assert suffice.load(tmp_path / "m").means_.ravel().tolist() == [1.75, 5.5]
        assert (tmp_path / "run").exists()

    def test_logistic_regression_of_a_table_with_categories(self, tmp_path):
        out = tmp_path / "model.safetensors"
        run("fit", PENGUINS, "-t", "species", "--model", "logistic", "--set", "C=10", "-o", out)
        expected = LogisticClassifier(10.0).fit(pd.read_csv(PENGUINS), "species")
        names = expected.coef_names_.tolist()
        assert "island_Dream" in names
        found = json.loads(run("inspect", out, "--parameters", "--json")[1])["parameters"]
        assert found["columns"] == names
        np.testing.assert_allclose(found["coef"], expected.coef_, atol=1e-9)
        assert "island_Dream" in run("inspect", out, "--parameters")[1]
        columns = dict(json.loads(run("inspect", out, "--json")[1])["columns"])
        assert (columns["island"], columns["body_mass_g"]) == ("categorical", "number")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("nowhere.csv", "-t", "y"), "there is no file or directory 'nowhere.csv'"),
            ((PENGUINS, "-t", "genus"), "there is no column 'genus'"),
            ((PENGUINS, "-t", "species", "--model", "magic"), "--model magic is not known"),
            ((PENGUINS, "-t", "species", "--model", "mixd"), "did you mean 'mixed'?"),
            ((PENGUINS, "-t", "species", "--families", "year=gausian"), "did you mean 'gaussian'?"),
            ((PENGUINS, "-t", "species", "--model", "mixed", "--set", "covarance=full"), "did you mean 'covariance'?"),
            ((PENGUINS, "-t", "species", "--model", "mixed", "--set", "covariance=ful"), "did you mean 'full'?"),
            ((PENGUINS, "-t", "species", "--set", "alpha=1"), "need a named model"),
            ((PENGUINS, "-t", "species", "--model", "mixed", "--set", "beta=1"), "--set beta=1"),
            ((PENGUINS, "-t", "species", "--model", "logistic", "--checkpoint", "c"), "does not support --checkpoint"),
            ((PENGUINS, "-t", "species", "-o", "no/where"), "the directory 'no' for the model does not exist"),
            (("sqlite:///a.db", "-t", "y"), "needs --query"),
            (("sqlite:///a.db", "b.csv", "-q", "t", "-t", "y"), "needs exactly one database URL"),
            (
                ("sqlite://a.db", "-q", "t", "-t", "y"),
                "three slashes before the name of a database file, as in sqlite:///a.db",
            ),
            (("a.duckdb", "-q", "t", "-t", "y"), "needs the URL of a database, as in duckdb:///file.duckdb"),
            (("sqlite:///a.db", "-q", "t", "-t", "c", "--skip"), "--skip is for files, not for --query"),
            (("sqlite:///a.db", "-q", "t", "-t", "c", "--no-header"), "--header is for files, not for --query"),
            (("postgress://h/d", "-q", "t", "-t", "c"), "did you mean 'postgres'?"),
            (("s3://bucket/a.csv", "-q", "t", "-t", "c"), "is the URL of files"),
        ],
    )
    def test_errors_are_one_line(self, arguments, message, refused, tmp_path):
        assert message in refused("fit", *arguments)
        assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Two halves of the birds that have all cells, as CSV, and models of each half and of both."""
    where = tmp_path_factory.mktemp("models")
    frame = pd.read_csv(PENGUINS).dropna().reset_index(names="id")
    for name, rows in (("one", frame[::2]), ("two", frame[1::2]), ("both", frame)):
        rows.to_csv(where / f"{name}.csv", index=False)
        model = ("--model", "gaussian", "--set", "covariance=tied", "--columns", ",".join(FEATURES))
        run("fit", where / f"{name}.csv", "-t", "species", "-o", where / f"{name}.safetensors", *model)
    mixed = MixedClassifier(families={"year": "drop", "id": "drop"}).fit(frame, "species")
    mixed.save(where / "mixed.safetensors")
    two = frame[frame["species"] != "Gentoo"]
    GaussianClassifier("diag").fit(two[FEATURES], two["species"] == "Chinstrap").save(where / "pair.safetensors")
    two.assign(chinstrap=two["species"] == "Chinstrap", rows=1 + two["id"] % 3).to_csv(where / "pair.csv", index=False)
    LogisticClassifier().fit(frame[FEATURES], frame["species"]).save(where / "logistic.safetensors")
    PCA(2).fit(frame[FEATURES]).save(where / "pca.safetensors")
    damaged = bytearray((where / "one.safetensors").read_bytes())
    damaged[-1] ^= 1
    (where / "damaged.safetensors").write_bytes(damaged)
    (where / "cost.json").write_text(json.dumps(COST))
    return where


@pytest.fixture
def here(places, monkeypatch):
    monkeypatch.chdir(places)
    return places


ASKED = {
    "all": ((), {}),
    "a prior": (("--prior", "Adelie=0.7, Chinstrap=0.2,Gentoo=0.1"), {"prior": PRIOR}),
    "a prior as JSON": (("--prior", '{"Adelie": 0.7, "Chinstrap": 0.2, "Gentoo": 0.1}'), {"prior": PRIOR}),
    "a prior in order": (("--prior", "0.7,0.2, 0.1"), {"prior": PRIOR}),
    "a prior by place": (("--prior", "[0.7, 0.2, 0.1]"), {"prior": PRIOR}),
    "uniform": (("--prior", "uniform"), {"prior": "uniform"}),
    "a cost": (("--cost", "[[0, 1, 1], [9, 0, 1], [1, 1, 0]]"), {"cost": [[0, 1, 1], [9, 0, 1], [1, 1, 0]]}),
    "a cost in a file": (("--cost", "cost.json"), {"cost": COST}),
    "a cost by class": (
        ("--cost", '{"Gentoo": {"Gentoo": 0, "Adelie": 1, "Chinstrap": 1}, "other": [0.5, 0.5, 0.5]}'),
        {"cost": {"Gentoo": [1, 1, 0], "other": [0.5] * 3}},
    ),
    "some": (
        ("--outputs", "llr, decision", "--keep", "id,sex"),
        {"outputs": ["llr", "decision"], "keep": ["id", "sex"]},
    ),
}


class TestPredict:
    @pytest.mark.parametrize("case", ASKED)
    def test_files_and_the_output_hold_what_to_parquet_writes(self, here, tmp_path, case):
        options, choices = ASKED[case]
        choices = {"keep": list(pd.read_csv("both.csv")), **choices}
        suffice.load("mixed.safetensors").to_parquet("both.csv", tmp_path / "expected.parquet", **choices)
        expected = pq.read_table(tmp_path / "expected.parquet")
        code, output = run("predict", "mixed.safetensors", "both.csv", "-o", tmp_path / "s.parquet", *options)
        assert (code, output) == (0, f"333 rows, written to {tmp_path / 's.parquet'}\n")
        assert pq.read_table(tmp_path / "s.parquet").equals(expected)
        code, output = run("predict", "mixed.safetensors", "both.csv", *options)
        assert code == 0
        pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(output)), expected.to_pandas(), check_dtype=False)

    def test_decisions_are_those_of_scikit_learn(self, here):
        _, output = run("predict", "both.safetensors", "*.csv", "--outputs", "decision", "--keep", "species")
        frame = pd.read_csv("both.csv")
        lda = LinearDiscriminantAnalysis(solver="lsqr").fit(frame[FEATURES], frame["species"])
        rows = pd.concat([pd.read_csv(path) for path in sorted(Path().glob("*.csv"))])
        found = pd.read_csv(io.StringIO(output))
        assert found["species"].tolist() == rows["species"].tolist()
        assert found["decision"].tolist() == lda.predict(rows[FEATURES]).tolist()

    def test_labels_that_are_no_text_have_priors_and_costs(self, here):
        clf, frame = suffice.load("pair.safetensors"), pd.read_csv("pair.csv")
        for options, choices in (
            (("--prior", "False=0.9,True=0.1"), {"prior": [0.9, 0.1]}),
            (("--prior", "true=0.1"), {"prior": [0.9, 0.1]}),
            (("--prior", '{"TRUE": 0.1, "false": 0.9}'), {"prior": [0.9, 0.1]}),
            (("--cost", '{"true": {"true": 0, "false": 2}, "false": [0, 1]}'), {"cost": {True: [2, 0], False: [0, 1]}}),
            (("--prior", "0.1"), {"prior": [0.9, 0.1]}),
            (("--cost", '{"True": {"True": 0, "False": 50}, "False": [0, 1]}'), {"cost": [[0, 1], [50, 0]]}),
        ):
            _, output = run("predict", "pair.safetensors", "pair.csv", "--outputs", "decision", *options)
            found = pd.read_csv(io.StringIO(output))["decision"]
            assert found.tolist() == clf.predict(frame[FEATURES], **choices).tolist()

    def test_a_real_command_writes_csv_alone_and_takes_directories(self, places, tmp_path):
        (tmp_path / "more").mkdir()
        (tmp_path / "more" / "a.csv").write_text((places / "one.csv").read_text())
        done = shell("predict", places / "mixed.safetensors", "more", "--keep", "id", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(pd.read_csv(io.StringIO(done.stdout))) == 167
        assert "\x1b" not in done.stdout

    def test_whoever_reads_the_output_may_stop(self, places, tmp_path):
        pd.concat([pd.read_csv(places / "both.csv")] * 40).to_csv(tmp_path / "many.csv")
        command = [Path(sys.executable).with_name("suffice"), "predict", places / "mixed.safetensors", "many.csv"]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout.readline().startswith(b"Unnamed: 0,id,species")
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(60) == 1

    def test_warnings_are_one_line(self, tmp_path):
        (tmp_path / "a.csv").write_text("x,y\nred,a\nblue,b\n")
        (tmp_path / "b.csv").write_text("x\ngreen\n")
        options = ["--model", "categorical", "--set", "alpha=0", "--set", "unknown=smooth"]
        shell("fit", "a.csv", "-t", "y", *options, cwd=tmp_path)
        done = shell("predict", "model.safetensors", "b.csv", "--outputs", "decision", cwd=tmp_path)
        assert done.returncode == 0
        assert done.stdout == "x,decision\ngreen,a\n"
        assert done.stderr.startswith("suffice: warning: 1 row has probability zero under every class")
        assert done.stderr.count("\n") == 1

    def test_nothing_is_printed_before_the_first_row_is_good(self, here, tmp_path, capfd):
        header, *lines = Path("both.csv").read_text().splitlines(keepends=True)
        (tmp_path / "bad.csv").write_text(
            "".join([header, re.sub(r"\d+\.\d+,", "inf,", lines[0], count=1), *lines[1:]])
        )
        done = shell("predict", here / "both.safetensors", "bad.csv", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("suffice: ")


@pytest.fixture
def messy(tmp_path, monkeypatch):
    """The same rows, laid out in several ways, and a model of them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=60)
    frame = pd.DataFrame(
        {
            "größe": rng.normal(size=60).round(3) + 2 * label,
            "ort": rng.choice(["Köln", "Bonn"], 60),
            "id": np.arange(60) + 1000,
            "art": np.array(["a", "b"])[label],
        }
    )
    frame.to_csv("plain.csv", index=False)
    frame.to_csv("excel.csv", index=False, sep=";", decimal=",", encoding="cp1252", lineterminator="\r\n")
    frame.to_csv("tabs.txt", index=False, sep="\t", encoding="utf-16")
    frame.to_csv("spaces.data", index=False, header=False, sep=" ")
    frame.to_csv("odd.csv", index=False, sep=":", decimal=",", encoding="cp037", header=False, na_rep="none")
    frame.to_json("lines", orient="records", lines=True, force_ascii=False)
    fit = ("fit", "plain.csv", "-t", "art", "--model", "mixed", "--drop", "id", "--families", "ort=categorical")
    assert run(*fit, "-o", "m")[0] == 0
    return frame


class TestLayouts:
    @pytest.mark.parametrize("path", ["plain.csv", "excel.csv", "tabs.txt", "lines"])
    def test_files_are_read_without_options(self, messy, path):
        assert suffice.load("m").feature_names_in_.tolist() == ["größe", "ort"]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            output = run("predict", "m", path, "--outputs", "llr", "--keep", "id")[1]
        np.testing.assert_allclose(
            pd.read_csv(io.StringIO(output))["llr"], suffice.load("m").llr(messy.drop(columns=["art", "id"]))
        )
        assert len(told) == (path == "excel.csv")
        for one in told:
            assert "give its encoding, as in --encoding latin-2" in str(one.message)

    @pytest.mark.filterwarnings("ignore:no row is left in the model")
    def test_every_command_takes_the_options(self, messy):
        layout = ("--sep", ":", "--decimal", ",", "--encoding", "cp037", "--no-header", "--format", "csv")
        more = ("--na", "none", "--type", "x1=string", "--drop", "x2")
        fit = ("fit", "odd.csv", "-t", "x3", "--model", "mixed", *layout, *more)
        assert run(*fit, "-o", "odd")[0] == 0
        odd, plain = suffice.load("odd"), suffice.load("m")
        np.testing.assert_allclose(odd.parameters_["gaussian"]["means"], plain.parameters_["gaussian"]["means"])
        assert odd.schema_.names == ("x0", "x1")
        found = json.loads(run("evaluate", "odd", "odd.csv", "-t", "x3", "--json", *layout)[1])
        assert found == json.loads(run("evaluate", "m", "plain.csv", "-t", "art", "--json")[1])
        assert run("predict", "odd", "odd.csv", "-o", "s.parquet", *layout)[0] == 0
        assert run("forget", "odd", "odd.csv", "-t", "x3", "-o", "rest", *layout)[0] == 0
        assert suffice.load("rest").statistics_.weight.tolist() == [0, 0]
        cluster = ("cluster", "odd.csv", "-k", "2", *layout, "--drop", "x2,x3", "--families", "x1=drop")
        assert run(*cluster, "-o", "c")[0] == 0
        assert suffice.load("c").schema_.families == ("gaussian", "drop")

    @pytest.mark.parametrize(("name", "sep"), [("tab", "\t"), ("semicolon", ";"), ("space", " "), ("\\t", "\t")])
    def test_separators_have_names(self, messy, name, sep):
        messy.to_csv("sep.csv", index=False, sep=sep)
        assert run("predict", "m", "sep.csv", "--sep", name)[0] == 0

    def test_a_name_that_the_file_does_not_have(self, messy, refused):
        message = refused("fit", "spaces.data", "-t", "art")
        assert (
            "no column 'art' to take the labels from; the columns are 'x0', 'x1', 'x2', 'x3'; the first row" in message
        )
        assert "did you mean 'größe'?" in refused("fit", "plain.csv", "-t", "art", "--drop", "Größe")

    def test_a_file_without_a_header_is_noticed(self, messy):
        with pytest.warns(FormatWarning, match="columns are named x0 to x3; .* give --no-header or --header"):
            code, output = run("fit", "spaces.data", "-t", "x3", "--model", "mixed", "--drop", "x2", "-o", "s")
        assert (code, output) == (0, "MixedClassifier of 2 columns, classes a, b\nWritten to s\n")

    @pytest.mark.parametrize("path", ["plain.csv", "excel.csv", "tabs.txt", "lines"])
    def test_the_standard_input_is_data(self, messy, path):
        command = [Path(sys.executable).with_name("suffice"), "predict", "m", "-", "--outputs", "decision"]
        done = subprocess.run(command, input=Path(path).read_bytes(), capture_output=True, timeout=60, check=True)
        expected = suffice.load("m").predict(messy.drop(columns=["art", "id"]))
        assert pd.read_csv(io.BytesIO(done.stdout))["decision"].tolist() == expected.tolist()
        assert (b"standard input is not UTF-8" in done.stderr) == (path == "excel.csv")

    def test_a_database_has_columns_to_drop(self, messy):
        with duckdb.connect("d.duckdb") as db:
            db.execute("CREATE TABLE t AS FROM messy")
        source = ("duckdb:///d.duckdb", "-q", "t", "-t", "art", "--model", "mixed", "-o", "d")
        assert run("fit", *source, "--drop", "id")[0] == 0
        assert suffice.load("d").feature_names_in_.tolist() == ["größe", "ort"]
        with pytest.raises(DataError, match="--drop ident: the query has no such column"):
            run("fit", *source, "--drop", "ident", "--force")

    def test_the_automatic_choice_has_options(self, messy):
        options = ("--folds", "3", "--scoring", "error", "--no-calibrate", "--time-limit", "60", "--drop", "id")
        code, output = run("fit", "plain.csv", "-t", "art", *options, "--families", "größe=gaussian")
        assert code == 0
        choice = suffice.load("model.safetensors").choice_
        assert (choice.folds, choice.scoring) == (3, "error")
        assert not any(one.calibrated for one in choice.candidates)
        assert output.startswith("Models by held-out error rate, with the log loss in nats:")
        assert choice.folded(80) in output
        assert choice.table(80) in run("inspect", "model.safetensors")[1]

    def test_an_interrupt_of_the_report_tells_of_the_model(self, tmp_path, monkeypatch):
        def interrupted(*args):
            raise KeyboardInterrupt

        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("suffice.cli.report.report_of_fit", interrupted)
        Path("rows.csv").write_text("x,y\n" + "1,a\n2,a\n5,b\n6,b\n" * 5)
        with pytest.raises(StoppedError, match=r"^interrupted; the model is in .*m, without a report$"):
            run("fit", "rows.csv", "-t", "y", "--model", "gaussian", "-o", "m", "--report", "r.html")
        assert suffice.load("m").classes_.tolist() == ["a", "b"]

    def test_rows_of_a_group_are_held_out_together(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        rng = np.random.default_rng(0)
        patient = np.repeat(np.arange(40), 5)
        frame = pd.DataFrame(rng.normal(size=(40, 3))[patient], columns=list("abc"))
        frame.assign(patient=patient, ill=rng.integers(0, 2, 40)[patient]).to_csv("visits.csv", index=False)
        with pytest.warns(BaselineWarning):  # copies of a row in several folds would tell its label
            code, _ = run("fit", "visits.csv", "-t", "ill", "--groups", "patient")
        assert code == 0
        found = suffice.load("model.safetensors")
        assert found.feature_names_in_.tolist() == ["a", "b", "c"]
        assert found.choice_.left_out == {"patient": "it holds the groups"}
        with pytest.warns(BaselineWarning):
            run("fit", "visits.csv", "-t", "ill", "--groups", "patient", "--columns", "a,b", "-o", "some")
        assert suffice.load("some").feature_names_in_.tolist() == ["a", "b"]
        for option, message in {
            ("--groups", "patent"): "--groups 'patent': there is no such column; .*; did you mean 'patient'",
            ("--groups", "patient", "--report", "r.html"): "--report does not hold out rows by --groups",
        }.items():
            with pytest.raises(DataError, match=message):
                run("fit", "visits.csv", "-t", "ill", "-o", "other", *option)

    def test_the_automatic_choice_minimises_costs(self, messy):
        costs = '{"a": [0, 9], "b": [1, 0]}'
        Path("costs.json").write_text(costs)
        for given in (costs, "costs.json", "[[0, 9], [1, 0]]"):
            code, _ = run("fit", "plain.csv", "-t", "art", "--scoring", given, "--drop", "id", "--force")
            assert code == 0
            assert suffice.load("model.safetensors").choice_.scoring == "cost"
        for given in ("luck", "cost"):
            with pytest.raises(DataError, match=f"--scoring {given} is not known; give log_loss, error, or costs"):
                run("fit", "plain.csv", "-t", "art", "--scoring", given, "--force")

    def test_inspect_says_what_a_choice_is_worth(self, tmp_path):
        rng = np.random.default_rng(0)
        table = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"]).assign(y=rng.choice(["u", "v"], 80))
        with pytest.warns(BaselineWarning):
            suffice.fit(table, "y").save(tmp_path / "m")
        text = " ".join(run("inspect", tmp_path / "m")[1].split())
        assert "the model is not better than these by more than chance explains." in text

    @pytest.mark.parametrize("method", ["affine", "pav"])
    def test_inspect_shows_the_map_of_a_calibrator(self, method, tmp_path, rng):
        y = np.arange(200) % 2
        fitted = suffice.LLRCalibrator(method=method).fit(rng.normal(size=200) + y, np.array(["u", "v"])[y])
        fitted.save(tmp_path / "m")
        text = run("inspect", tmp_path / "m")[1]
        assert text == run("inspect", tmp_path / "m", "--parameters")[1]
        if method == "affine":
            assert f"scale\nx0  {fitted.map_.scale[0]:.6g}\n" in f"{text}\n"
            assert re.search(rf"offset\nu +0\nv +{fitted.map_.offset[1]:.6g}$", text, re.MULTILINE)
        found = json.loads(run("inspect", tmp_path / "m", "--json")[1])["parameters"]
        assert set(found) == ({"scale", "offset"} if method == "affine" else {"edges", "llr"})

    def test_inspect_shows_what_columns_are_learnt_as(self, tmp_path, rng):
        x = rng.normal(size=200)
        table = pd.DataFrame({"x": x, "text": [f"{value:.2f}" for value in x], "word": ["p", "q"] * 100})
        model = suffice.LogisticClassifier(families={"x": "curve", "text": "curve"}).fit(table, x > 0.5)
        model.save(tmp_path / "m")
        table = run("inspect", tmp_path / "m")[1].partition("\n\ncolumn ")[2].partition("\n\n")[0]
        assert [" ".join(line.split()) for line in f"column {table}".splitlines()] == [
            " ".join(line.split()) for line in str(model.schema_).splitlines()
        ]
        assert re.search(r"^x +curve +number; \d+ bins +asked for$", table, re.MULTILINE)
        assert json.loads(run("inspect", tmp_path / "m", "--json")[1])["learnt_as"].keys() == {"x", "text"}

    def test_inspect_shows_the_calibration(self, messy):
        run("fit", "plain.csv", "-t", "art", "--drop", "id", "-o", "c")
        clf = suffice.load("c")
        clf.calibration_ = Calibration(0.625, np.array([0.0, 0.5]), 60)
        clf.save("c")
        assert "calibration: scale 0.625, fitted to 60 held-out rows" in run("inspect", "c")[1]
        assert json.loads(run("inspect", "c", "--json")[1])["calibration"]["scale"] == 0.625


class TestEvaluate:
    def test_the_numbers_are_those_of_scikit_learn(self, here):
        clf, frame = suffice.load("both.safetensors"), pd.read_csv("both.csv")
        code, output = run("evaluate", "both.safetensors", "both.csv", "-t", "species", "--json")
        found, y, decided = json.loads(output), frame["species"], clf.predict(frame[FEATURES])
        assert code == 0
        assert found["rows"] == 333
        assert found["error_rate"] == pytest.approx(np.mean(decided != y))
        assert found["confusion"] == confusion_matrix(y, decided).tolist()
        assert found["recall"] == pytest.approx(recall_score(y, decided, average=None))
        assert found["precision"] == pytest.approx(precision_score(y, decided, average=None))
        assert found["prior"] == pytest.approx(y.value_counts(normalize=True).sort_index().tolist())
        assert found["log_loss"] == pytest.approx(log_loss(y, clf.predict_proba(frame[FEATURES])))
        assert found["log_loss_of_prior"] == pytest.approx(log_loss(y, [found["prior"]] * 333))
        assert not {"dcf", "cllr", "eer"} & found.keys()

    def test_two_classes_have_ratios_to_judge(self, here):
        clf, frame = suffice.load("pair.safetensors"), pd.read_csv("pair.csv")
        _, output = run("evaluate", "pair.safetensors", "pair.csv", "-t", "chinstrap", "--json", "--prior", "0.3")
        found, y, llr = json.loads(output), frame["chinstrap"], clf.llr(frame[FEATURES])
        for name, metric in (("cllr", metrics.cllr), ("min_cllr", metrics.min_cllr), ("eer", metrics.eer)):
            assert found[name] == pytest.approx(metric(y, llr))
        assert found["dcf"] == pytest.approx(metrics.dcf(y, llr, prior=0.3))

    def test_a_weight_counts_as_so_many_rows(self, here, tmp_path):
        frame = pd.read_csv("pair.csv")
        frame.loc[frame.index.repeat(frame["rows"])].to_csv(tmp_path / "repeated.csv", index=False)
        options = ("-t", "chinstrap", "--json", "--prior", "0.3")
        weighted = json.loads(run("evaluate", "pair.safetensors", "pair.csv", "--weight", "rows", *options)[1])
        repeated = json.loads(run("evaluate", "pair.safetensors", tmp_path / "repeated.csv", *options)[1])
        assert weighted["rows"] == len(frame)
        assert weighted["weight"] == repeated["rows"] == frame["rows"].sum()
        assert weighted["confusion"] == repeated["confusion"]
        for name in ("error_rate", "log_loss", "log_loss_of_prior", "dcf", "cllr"):
            assert weighted[name] == pytest.approx(repeated[name])
        assert "eer" not in weighted

    def test_the_table_says_the_same(self, here):
        options = ("evaluate", "mixed.safetensors", "both.csv", "-t", "species", "--cost", "cost.json")
        found, text = json.loads(run(*options, "--json")[1]), run(*options)[1]
        clf, frame = suffice.load("mixed.safetensors"), pd.read_csv("both.csv")
        decided = clf.predict(frame.drop(columns="species"), cost=COST)
        assert found["dcf"] == pytest.approx(metrics.multiclass_dcf(frame["species"], decided, clf.prior_, COST))
        assert re.search(rf"error rate +{found['error_rate']:.2%}", text)
        assert re.search(rf"DCF +{found['dcf']:.4g}", text)
        adelie = [f"{count:g}" for count in found["confusion"][0]]
        assert re.search(rf"Adelie +{' +'.join(adelie)} +{found['recall'][0]:.1%}", text)
        assert found["decisions"] == ["Adelie", "Chinstrap", "Gentoo", "ask"]
        assert found["precision"][3] in (0.0, None)

    @pytest.mark.parametrize(("k", "length"), [(21, 3), (30, 40), (8, 15)])
    def test_many_classes_are_cut_to_the_worst(self, tmp_path, k, length):
        rng = np.random.default_rng(0)
        y = np.repeat(np.arange(k), 10)
        frame = pd.DataFrame({"x": rng.normal(y, 0.7), "y": [f"{i:0{length}}c" for i in y]})
        frame.to_csv(tmp_path / "rows.csv", index=False)
        clf = GaussianClassifier("tied").fit(frame[["x"]], frame["y"])
        clf.save(tmp_path / "m")
        code, text = run("evaluate", tmp_path / "m", tmp_path / "rows.csv", "-t", "y")
        assert code == 0
        assert max(map(len, text.splitlines())) <= 80
        wrong = confusion_matrix(frame["y"], clf.predict(frame[["x"]]))
        np.fill_diagonal(wrong, 0)
        worst = sorted(wrong.sum(axis=1))[::-1][:20]
        recalls = re.findall(r" 10 +([\d.]+)% ", text)
        assert [round(10 - float(r) / 10) for r in recalls] == worst
        assert (f"and {k - 20} more class" in text) == (k > 20)
        assert text.endswith("--json prints the whole confusion matrix\n")

    def test_every_line_says_its_prior(self, here):
        text = run("evaluate", "pair.safetensors", "pair.csv", "-t", "chinstrap", "--prior", "0.7,0.3")[1]
        assert re.search(r"^prior +False 0.7, True 0.3$", text, re.MULTILINE)
        assert re.search(r"^error rate +\S+ of the rows \(95% interval \S+ to \S+\)$", text, re.MULTILINE)
        loss = r"log loss \S+ nats \(95% interval \S+ to \S+\), classes weighted by the prior; without data 0\.6109 "
        assert re.search(loss, " ".join(text.split()))
        assert re.search(r"^Cllr +\S+, classes weighted equally; without data 1$", text, re.MULTILINE)

    def test_a_model_that_knows_nothing_is_told(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("a.csv").write_text("x,y\n" + "1,a\n2,a\n5,b\n6,b\n" * 5)
        Path("b.csv").write_text("x,y\n" + "1,b\n2,b\n5,a\n6,a\n" * 5)
        run("fit", "a.csv", "-t", "y", "--model", "gaussian", "--set", "covariance=diag")
        text = run("evaluate", "model.safetensors", "b.csv", "-t", "y")[1]
        assert "without data 0.6931, which is better" in " ".join(text.split())

    def test_counts_have_all_digits(self, here):
        evaluation = suffice.load("both.safetensors").evaluate("both.csv", "species")
        many = dataclasses.replace(evaluation, weight=1234567.0, confusion=[[1234567.0, 0.5, 0]] * 3)
        assert re.search(r"^weight +1234567$", str(many), re.MULTILINE)
        assert re.search(r"^Adelie +1234567 +0.5 +0 ", str(many), re.MULTILINE)

    def test_classes_without_rows_leave_costs_unknown(self, here, tmp_path):
        frame = pd.read_csv("both.csv")
        frame[frame["species"] != "Gentoo"].to_csv(tmp_path / "some.csv", index=False)
        code, output = run("evaluate", "both.safetensors", tmp_path / "some.csv", "-t", "species")
        assert code == 0
        assert "not known: some classes have no rows" in output
        assert re.search(r"Gentoo +0 +0 +0$", output, re.MULTILINE)

    def test_infinite_costs_are_no_number(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("a.csv").write_text("x,y\nred,a\nred,a\nblue,b\nred,b\n")
        Path("b.csv").write_text("x,y\nred,a\nblue,a\nblue,b\n")
        run("fit", "a.csv", "-t", "y", "--model", "categorical", "--set", "alpha=0")
        assert json.loads(run("evaluate", "model.safetensors", "b.csv", "-t", "y", "--json")[1])["log_loss"] is None
        assert "infinite nats" in run("evaluate", "model.safetensors", "b.csv", "-t", "y")[1]


class TestInspect:
    def test_a_model(self, here):
        code, output = run("inspect", "mixed.safetensors", "--json")
        found, clf = json.loads(output), suffice.load("mixed.safetensors")
        assert code == 0
        assert (found["what"], found["kind"], found["version"]) == ("model", "MixedClassifier", suffice.__version__)
        assert found["size"] == Path("mixed.safetensors").stat().st_size
        assert [tuple(column) for column in found["columns"]] == list(
            zip(clf.schema_.names, clf.schema_.families, strict=True)
        )
        assert found["classes"] == [[label, w] for label, w in zip(clf.classes_, clf.statistics_.weight, strict=True)]
        assert found["prior"] == clf.prior_.tolist()
        assert found["params"]["alpha"] == 1.0
        text = run("inspect", "mixed.safetensors")[1]
        assert re.search(r"model +MixedClassifier", text)
        assert re.search(r"^island +categorical +str$", text, re.MULTILINE)
        assert re.search(r"^Adelie +146 +0.4384$", text, re.MULTILINE)

    @pytest.mark.parametrize(
        ("model", "family"),
        [("both", "gaussian"), ("logistic", None), ("pca", None), ("damaged", "gaussian")],
    )
    def test_any_model_without_what_was_learnt(self, here, model, family):
        """Nothing but the weights is read, so that damage elsewhere does not matter."""
        found = json.loads(run("inspect", f"{model}.safetensors", "--json")[1])
        assert found["columns"] == [[name, family] for name in FEATURES]

    @pytest.mark.parametrize(
        ("density", "family"),
        [
            (GaussianDensity.from_parameters([1.0, 2.0], [1.0, 2.0]), "gaussian"),
            (BinomialDensity.from_parameters(10, [0.2, 0.5]), "binomial"),
            (MultinomialClassifier().fit(["a good film", "a dull film"], list("uv")).density_, "text"),
            (CategoricalClassifier(structure="tree").fit([["a"], ["b"]], list("uv")).density_, "categorical"),
            (MixtureDensity.from_parameters(BernoulliDensity.from_parameters([0.1, 0.5]), [0, 1], [1, 1]), "bernoulli"),
        ],
    )
    def test_a_model_of_one_density_has_its_family(self, density, family, tmp_path):
        model = Model(density, ["u", "v"])
        model.save(tmp_path / "m")
        assert json.loads(run("inspect", tmp_path / "m", "--json")[1])["columns"] == [["x0", family]]
        assert families_of(model) == ["" if isinstance(density, MixtureDensity) else family]

    def test_trials_are_of_columns(self, tmp_path):
        Model(BinomialDensity.from_parameters(10, [0.2, 0.5]), ["u", "v"]).save(tmp_path / "one")
        assert "trials\nx0  10\n" in run("inspect", tmp_path / "one", "--parameters")[1]
        two = BinomialDensity.from_parameters([10, 20], [[0.2, 0.5], [0.3, 0.1]])
        Model(two, ["u", "v"], names=["hits", "wins"]).save(tmp_path / "two")
        assert "trials\nhits  10\nwins  20\n" in run("inspect", tmp_path / "two", "--parameters")[1]

    def test_words_that_tell_most_are_numbered(self, tmp_path):
        MultinomialClassifier().fit(["a good film", "a dull film"], ["+", "-"]).save(tmp_path / "m")
        told = run("inspect", tmp_path / "m", "--parameters")[1]
        assert "words, column 0\n      +     -\n1  good  dull\n2  film  film\n3  dull  good\n" in told

    def test_the_prior_is_that_of_decisions(self, here, tmp_path):
        for prior in (None, "uniform", {"Adelie": 0.5, "Chinstrap": 0.25, "Gentoo": 0.25}):
            clf = suffice.load("both.safetensors").set_params(prior=prior)
            clf.save(tmp_path / "m")
            assert json.loads(run("inspect", tmp_path / "m", "--json")[1])["prior"] == clf.prior_.tolist()
        clf = GaussianClassifier().fit(pd.read_csv(PENGUINS)[[*FEATURES, "species"]], "species")  # two rows are missing
        clf.save(tmp_path / "m")
        found = json.loads(run("inspect", tmp_path / "m", "--json")[1])
        assert [weight for _, weight in found["classes"]] == [152, 68, 124]
        assert found["prior"] == clf.prior_.tolist()
        found = json.loads(run("inspect", "logistic.safetensors", "--json")[1])
        assert found["prior"] == suffice.load("logistic.safetensors").prior_.tolist()

    def test_a_checkpoint(self, here, tmp_path):
        options = ("--model", "mixed", "--checkpoint", tmp_path / "run", "-o", tmp_path / "m")
        run("fit", "one.csv", "two.csv", "-t", "species", "--drop", "id", *options)
        found = json.loads(run("inspect", tmp_path / "run", "--json")[1])
        assert (found["what"], found["kind"], found["rows"], found["files"]) == ("checkpoint", "BundleStats", 333, 2)
        assert found["classes"] == [["Adelie", 146.0], ["Chinstrap", 68.0], ["Gentoo", 119.0]]
        assert ["sex", "categorical"] in found["columns"]
        assert re.search(r"rows so far +333, of 2 files", run("inspect", tmp_path / "run")[1])

    @pytest.mark.parametrize(
        "clf",
        [
            GaussianClassifier(),
            GaussianClassifier("diag"),
            MultinomialClassifier(),
            PoissonClassifier(),
            BernoulliClassifier(),
            CategoricalClassifier(),
            CategoricalClassifier(structure="tree"),
            MixedClassifier(),
            LogisticClassifier(),
        ],
        ids=repr,
    )
    def test_columns_without_names_are_counted(self, rng, tmp_path, clf):
        clf.fit(rng.integers(0, 2, (40, 3)), np.arange(40) % 2).save(tmp_path / "m")
        found = json.loads(run("inspect", tmp_path / "m", "--json")[1])
        assert [name for name, _ in found["columns"]] == ["x0", "x1", "x2"]

    def test_long_lists_are_cut(self, tmp_path):
        X = pd.DataFrame(np.random.default_rng(0).normal(size=(250, 30))).add_prefix("x")
        GaussianClassifier("diag").fit(X, np.arange(250) % 25).save(tmp_path / "m")
        output = run("inspect", tmp_path / "m")[1]
        assert "and 10 more" in output
        assert "and 5 more" in output
        assert "x29" not in output

    def test_parameters_are_labelled(self, here):
        text, clf = run("inspect", "both.safetensors", "--parameters")[1], suffice.load("both.safetensors")
        means = dict(re.findall(r"^(\w+) +(\S+ +\S+ +\S+)$", text.partition("\nmeans\n")[2], re.MULTILINE)[:4])
        assert list(means) == FEATURES
        np.testing.assert_allclose([np.array(m.split(), float) for m in means.values()], clf.means_.T, rtol=1e-5)
        assert re.search(r"^means\n +Adelie +Chinstrap +Gentoo$", text, re.MULTILINE)
        mixed = run("inspect", "mixed.safetensors", "--parameters")[1]
        assert re.search(
            r"^categorical probabilities, column island\n +Adelie +Chinstrap +Gentoo\nBiscoe ", mixed, re.MULTILINE
        )

    def test_columns_that_depend_on_each_other(self, here, tmp_path):
        options = ("--model", "mixed", "--set", "structure=tree", "--drop", "id", "-o", tmp_path / "m")
        run("fit", "one.csv", "two.csv", "-t", "species", *options)
        edges = suffice.load_model(tmp_path / "m").edges()
        assert json.loads(run("inspect", tmp_path / "m", "--json")[1])["edges"] == [edge._asdict() for edge in edges]
        text, first = run("inspect", tmp_path / "m", "--parameters")[1], edges[0]
        assert re.search(rf"^{first.child} +{first.parent} +{first.information:.4g}$", text, re.MULTILINE)
        assert f"categorical conditionals, column {first.child}, class Gentoo\n" in text

    @pytest.mark.parametrize(("covariance", "title"), [("tied", "covariances"), ("full", "covariances, class 2")])
    def test_matrices_have_columns_on_both_sides(self, tmp_path, rng, covariance, title):
        clf = GaussianClassifier(covariance).fit(rng.normal(size=(30, 3)), np.arange(30) % 3)
        clf.save(tmp_path / "m")
        heading, *rows = run("inspect", tmp_path / "m", "--parameters")[1].partition(f"\n{title}\n")[2].splitlines()[:4]
        assert heading.split() == [row.split()[0] for row in rows] == ["x0", "x1", "x2"]
        found = [np.array(row.split()[1:], float) for row in rows]
        np.testing.assert_allclose(found, clf.covariances_ if covariance == "tied" else clf.covariances_[2], rtol=1e-5)

    @pytest.mark.parametrize("reduction", [PCA(2), LDA()], ids=repr)
    def test_components_and_their_variances(self, rng, tmp_path, reduction):
        X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["u", "v", "w"])
        reduction.fit(X, np.arange(60) % 3).save(tmp_path / "m")
        text = run("inspect", tmp_path / "m", "--parameters")[1]
        table = text.partition("components\n")[2].partition("\n\n")[0].splitlines()
        assert table[0].split() == ["component", "0", "component", "1"]
        found = [line.split() for line in table[1:]]
        assert [row[0] for row in found] == ["u", "v", "w"]
        np.testing.assert_allclose(np.array([row[1:] for row in found], float).T, reduction.components_, rtol=1e-5)
        shares = json.loads(run("inspect", tmp_path / "m", "--parameters", "--json")[1])["parameters"]
        np.testing.assert_allclose(shares["explained_variance_ratio"], reduction.explained_variance_ratio_)

    def test_parameters_of_many_columns_and_classes_are_cut(self, rng, tmp_path, monkeypatch):
        GaussianClassifier("diag").fit(rng.normal(size=(100, 30)), np.arange(100) % 10).save(tmp_path / "m")
        monkeypatch.setenv("COLUMNS", "120")
        means = run("inspect", tmp_path / "m", "--parameters")[1].partition("\nmeans\n")[2].partition("\n\n")[0]
        heading, *rows, last = means.splitlines()
        assert heading.split() == [*"01234567", "..."]
        assert (len(rows), last) == (20, "and 10 more")
        monkeypatch.setenv("COLUMNS", "50")
        text = run("inspect", tmp_path / "m", "--parameters")[1]
        assert 40 < max(map(len, text.splitlines())) <= 50

    def test_nothing_heavy_is_imported(self, places):
        code = f"import sys; sys.argv = ['suffice', 'inspect', {str(places / 'mixed.safetensors')!r}]\n"
        code += "from suffice.cli import main\ntry: main()\nexcept SystemExit: pass\nprint(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        assert not {"sklearn", "pandas", "pyarrow", "matplotlib", "scipy.stats"} & {*done.stdout.split()}


class TestMerge:
    def same(self, a, b):
        a, b = suffice.load(a), suffice.load(b)
        assert a.get_params() == b.get_params()
        np.testing.assert_array_equal(a.statistics_.weight, b.statistics_.weight)
        np.testing.assert_allclose(a.means_, b.means_, rtol=1e-12)
        np.testing.assert_allclose(a.covariances_, b.covariances_, rtol=1e-10)

    def test_the_sum_is_the_model_of_all_rows(self, here, tmp_path):
        code, output = run("merge", "one.safetensors", "two.safetensors", "-o", tmp_path / "sum")
        assert (code, output) == (0, f"GaussianClassifier of 4 columns, weight 333\nWritten to {tmp_path / 'sum'}\n")
        self.same(tmp_path / "sum", "both.safetensors")

    def test_a_prior_for_some_of_the_classes_is_refused(self, here, tmp_path):
        two, more = tmp_path / "two", tmp_path / "more"
        suffice.GaussianClassifier(prior=[0.5, 0.5]).fit([[1.0], [2.0], [3.0], [5.0]], list("aabb")).save(two)
        suffice.GaussianClassifier().fit([[1.0], [2.0], [3.0], [5.0]], list("bbcc")).save(more)
        with pytest.raises(StatisticsError, match=r"do not fit the sum: prior must .* each of the 3 classes"):
            run("merge", two, more, "-o", tmp_path / "sum")
        assert not (tmp_path / "sum").exists()
        assert run("merge", more, two, "-o", tmp_path / "sum")[0] == 0

    def test_what_is_forgotten_was_never_there(self, here, tmp_path):
        code, output = run("forget", "both.safetensors", "two.csv", "-t", "species", "-o", tmp_path / "rest")
        assert code == 0
        assert "weight 167" in output
        self.same(tmp_path / "rest", "one.safetensors")

    @pytest.mark.filterwarnings("ignore:no row is left in the model")
    def test_weights_are_forgotten_as_they_were_learnt(self, here, tmp_path):
        model = ("--model", "gaussian", "--set", "covariance=diag", "--columns", "body_mass_g", "--weight", "rows")
        run("fit", "pair.csv", "-t", "species", "-o", tmp_path / "m", *model)
        run("forget", tmp_path / "m", "pair.csv", "-t", "species", "--weight", "rows", "-o", tmp_path / "m", "--force")
        assert suffice.load(tmp_path / "m").statistics_.weight.tolist() == [0, 0]

    def test_numbers_that_meet_text_are_warned_of(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("one.csv").write_text("c,y\n01,a\n02,b\nxx,b\n")
        Path("two.csv").write_text("c,y\n01,a\n02,b\n")
        fit = ("-t", "y", "--model", "categorical")
        for name, options in [("one", ()), ("two", ()), ("text", ("--type", "c=string"))]:
            assert run("fit", f"{name}.csv".replace("text", "two"), *fit, "-o", name, *options)[0] == 0
        with pytest.warns(
            ColumnWarning, match=r"column 'c' are text so far, but numbers in what is added.*as in --type c=string"
        ):
            assert run("merge", "one", "two", "-o", "sum")[0] == 0
        assert run("merge", "one", "text", "-o", "sum", "--force")[0] == 0
        assert suffice.load("sum").statistics_.categories[0].tolist() == ["01", "02", "xx"]
        numbers = suffice.load("two")
        with pytest.warns(ColumnWarning, match="column 'c' are numbers so far, but text in what is added"):
            numbers.partial_fit("one.csv", "y")

    def test_reductions_merge_too(self, here, tmp_path):
        code, output = run("merge", "pca.safetensors", "pca.safetensors", "-o", tmp_path / "sum")
        assert code == 0
        assert "PCA of 4 columns, weight 666" in output


def test_a_database_is_as_good_as_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("zoo.duckdb") as zoo:
        zoo.execute(f"CREATE TABLE birds AS SELECT * FROM read_csv('{PENGUINS}', nullstr='NA')")
    options = "-t", "species", "--model", "mixed", "-o"
    for data, out in (((PENGUINS,), "file"), (("duckdb:///zoo.duckdb", "-q", "birds"), "database")):
        code, output = run("fit", *data, *options, out)
        assert code == 0, output
        run("predict", out, *data, "--outputs", "llr", "-o", f"{out}.parquet")
    one, two = (pq.read_table(f"{out}.parquet").to_pandas() for out in ("file", "database"))
    np.testing.assert_allclose(one.filter(like="llr"), two.filter(like="llr"), rtol=1e-8)
    some = "duckdb:///zoo.duckdb", "-q", "SELECT * FROM birds WHERE species = 'Gentoo'", "-t", "species"
    assert json.loads(run("evaluate", "database", *some, "--json")[1])["rows"] == 124
    run("forget", "database", *some, "-o", "rest")
    assert suffice.load("rest").statistics_.weight.tolist() == [152, 68, 0]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_sql_scores_a_table(here, dialect):
    options = ("--prior", "uniform", "--cost", "cost.json", "--keep", "id", "--outputs", "decision,llr")
    code, output = run("sql", "mixed.safetensors", "main.birds", "--dialect", dialect, *options)
    assert code == 0
    frame = pd.read_csv("both.csv")
    if dialect == "sqlite":
        with sqlite3.connect(":memory:") as db:
            db.create_function("ln", 1, np.log)
            db.create_function("exp", 1, np.exp)
            frame.to_sql("birds", db, index=False)
            found = pd.read_sql(output, db)
    else:
        with duckdb.connect() as db:
            db.execute("CREATE TABLE birds AS FROM frame")
            found = db.execute(output).df()
    found, clf = found.sort_values("id"), suffice.load("mixed.safetensors")
    X = frame.drop(columns="species")
    assert list(found) == ["id", "decision", "llr_Chinstrap", "llr_Gentoo"]
    assert found["decision"].tolist() == clf.predict(X, "uniform", COST).tolist()
    np.testing.assert_allclose(found["llr_Gentoo"], clf.llr(X, "Adelie", "Gentoo"), rtol=1e-9)


def test_a_prior_of_labels_with_commas_is_json():
    assert prior_of('{"a,b": 0.7, "1": 0.3}', ["a,b", 1]) == {"a,b": 0.7, 1: 0.3}


MODEL, ROWS = "both.safetensors", "both.csv"
WRONG = {
    "no such model": (("predict", "no.safetensors", ROWS), "no.safetensors"),
    "no such data": (("predict", MODEL, "no.csv"), "there is no file or directory 'no.csv'"),
    "no match": (("predict", MODEL, "no-*.csv"), "no file matches 'no-*.csv'"),
    "a damaged model": (("predict", "damaged.safetensors", ROWS), "is damaged: its content does not match"),
    "no model at all": (
        ("predict", "cost.json", ROWS),
        "cost.json is not a model file of suffice, or is damaged; models are written by save, or by suffice fit",
    ),
    "an unknown scheme of data": (("predict", MODEL, "s4://bucket/a.csv"), "the URL scheme s4:// is not known"),
    "a reduction": (("predict", "pca.safetensors", ROWS), "holds a PCA, which is not a classifier"),
    "a missing column": (("predict", "mixed.safetensors", "cut.csv"), "the files have no column 'sex'"),
    "a column to keep": (("predict", MODEL, ROWS, "--keep", "name"), "'name'"),
    "an unknown output": (("predict", MODEL, ROWS, "--outputs", "odds"), "choose some of 'decision'"),
    "a prior of no numbers": (("predict", MODEL, ROWS, "--prior", "Adelie=much"), "--prior Adelie=much"),
    "a prior of a word": (("predict", MODEL, ROWS, "--prior", "flat"), "--prior flat: give a number for each class"),
    "a prior of a label with a comma": (("predict", MODEL, ROWS, "--prior", "a,b=1"), "contain commas, give JSON"),
    "a prior that sums to more": (("predict", MODEL, ROWS, "--prior", "[1, 1, 1]"), "must sum to 1"),
    "a prior of broken JSON": (("predict", MODEL, ROWS, "--prior", "[1, "), "--prior: "),
    "a prior of unknown classes": (("evaluate", MODEL, ROWS, "-t", "species", "--prior", "Emu=1"), "unknown: 'Emu'"),
    "a cost of broken JSON": (("predict", MODEL, ROWS, "--cost", "[[0, 1"), "--cost: "),
    "a cost of another shape": (("sql", MODEL, "birds", "--cost", "[[0, 1], [1, 0]]"), "do not fit 3 classes"),
    "a cost that is nowhere": (("predict", MODEL, ROWS, "--cost", "no.json"), "no.json"),
    "another ending": (("predict", MODEL, ROWS, "-o", "s.xls"), "s.xls: give a file name that ends in .parquet, .csv"),
    "what is read": (("predict", MODEL, "same.parquet", "-o", "same.parquet", "--force"), "is one of the input files"),
    "no directory": (("predict", MODEL, ROWS, "-o", "no/s.parquet"), "the directory 'no' for the scores does not"),
    "rows to fit": (
        ("fit", ROWS, "-t", "species", "--model", "mixed", "-o", ROWS, "--force"),
        "both.csv is an input file",
    ),
    "rows to forget": (("forget", MODEL, ROWS, "-t", "species", "-o", ROWS, "--force"), "both.csv is an input file"),
    "a directory": (("merge", MODEL, MODEL, "-o", "."), "is a directory"),
    "the checkpoint": (
        ("fit", ROWS, "-t", "species", "--model", "mixed", "--checkpoint", "m", "-o", "./m"),
        "give two different files",
    ),
    "a type without a column": (("fit", ROWS, "-t", "species", "--type", "string"), "--type string: give a column"),
    "a type of no column": (("fit", ROWS, "-t", "species", "--type", "q=string"), "the files have no column 'q'"),
    "no labels": (("evaluate", MODEL, ROWS, "-t", "genus"), "there is no column 'genus'"),
    "labels of others": (("evaluate", MODEL, ROWS, "-t", "island"), "column 'island' holds"),
    "missing labels": (
        ("evaluate", MODEL, "cut.csv", "-t", "species"),
        "1 missing label (row 0, counted from 0); remove these rows, or leave them out with --skip-unlabelled",
    ),
    "numbers for classes": (("fit", ROWS, "-t", "id"), "make classes of it, such as low and high"),
    "identifiers for classes": (("search", ROWS, "-t", "id", "--grid", "alpha=1"), "choose another column with -t"),
    "nothing to inspect": (("inspect", ROWS), "is not a model or checkpoint file of suffice"),
    "unlike kinds": (("merge", MODEL, "mixed.safetensors", "-o", "m"), "both.safetensors is a GaussianClassifier"),
    "unlike columns": (("merge", MODEL, "pair.safetensors", "-o", "m"), "pair.safetensors cannot be merged with both"),
    "nothing to merge": (("merge", "logistic.safetensors", MODEL, "-o", "m"), "has no statistics to add or subtract"),
    "what was never learnt": (("forget", "one.safetensors", ROWS, "-t", "species", "-o", "m"), "forget"),
    "an unknown dialect": (("sql", MODEL, "birds", "--dialect", "latin"), "latin"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_are_one_line_and_leave_nothing_behind(places, tmp_path, refused, case):
    arguments, message = WRONG[case]
    for path in places.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    frame = pd.read_csv(places / "both.csv")
    frame.to_parquet(tmp_path / "same.parquet")
    frame.drop(columns="sex").assign(species=frame["species"].where(frame.index > 0)).to_csv(tmp_path / "cut.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert message in refused(*arguments)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("predict {} both.csv --prior Emu=1", "unknown: 'Emu'"),
        ("predict {} both.csv --prior adeli=1", "unknown: 'adeli'; missing: 'Adelie', 'Chinstrap', 'Gentoo'; did you"),
        ("predict {} both.csv --prior 0.3,0.3,0.3", "must sum to 1"),
        ("predict {} both.csv --outputs odds,llr", "--outputs odds,llr is not known"),
        ("predict {} both.csv -o scores.xls", "ends in .parquet, .csv"),
        ("predict {} both.csv --cost [[0,1]]", "do not fit 3 classes"),
        ("evaluate {} both.csv --cost mis=3", "'mis' is not known; give miss=100,false-alarm=1"),
        ("evaluate {} both.csv --cost no.json", "no.json: there is no such file"),
        ("outliers {} both.csv --level 5", "between 0 and 1"),
        ("sql {} birds --dialect latin", "--dialect 'latin' is not known"),
    ],
)
def test_wrong_options_have_an_exit_code_of_their_own(places, refused, tmp_path, arguments, message):
    (tmp_path / "both.csv").write_bytes((places / "both.csv").read_bytes())
    assert message in refused(*arguments.format(places / MODEL).split())
    assert refused.code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        "URL",
        "inspect URL URL",
        "fit rows.csv -t y --model URL",
        "fit rows.csv -t y --columns=URL --sep=URL",
        "cluster rows.csv -k URL",
        "demo --out URL",
        "predict URL rows.csv",
        "serve URL",
        "compare rows.csv -m URL -m rows.csv",
    ],
)
def test_no_message_shows_the_credentials_of_a_url(refused, tmp_path, arguments):
    url = "s3://KEY:SEC/RET@bucket/m.safetensors?endpoint_override=localhost:1&session_token=TOKEN"
    told = refused(*arguments.replace("URL", url).split())
    assert "s3://bucket/m.safetensors" in told
    assert not re.search("KEY|SEC|RET|TOKEN", told)
    assert not list(tmp_path.iterdir())


def test_a_traceback_shows_no_credentials(tmp_path):
    url = "s3://KEY:SECRET@bucket/m.safetensors"
    told = shell("inspect", url, url, "--debug", cwd=tmp_path).stderr
    assert "Traceback" in told
    assert "s3://bucket/m.safetensors" in told
    assert "SECRET" not in told


def test_models_of_a_store_are_compared_without_their_credentials(places, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    store = fsspec.filesystem("memory")
    urls = [f"memory://KEY:{secret}@bucket/{name}" for secret in ("SECRET", "SECRET2") for name in ("one", "two")]
    for url in urls:
        store.pipe(url, (places / f"{url[-3:]}.safetensors").read_bytes())
    models = [argument for url in urls for argument in ("-m", url)]
    for how in (), ("--json",):
        code, told = run("compare", places / "both.csv", *models, *how)
        assert code == 0
        assert "SECRET" not in told
        assert all(f"memory://bucket/{name}" in told for name in ("one (1)", "two (2)", "one (3)", "two (4)"))
    code, told = run("compare", places / "both.csv", *models[:4])
    assert "by the prior of memory://bucket/one: " in " ".join(told.split())


def test_a_certain_prior_has_no_detection_cost(here):
    code, text = run("evaluate", MODEL, ROWS, "--prior", "1,0,0", "-t", "species")
    assert code == 0
    assert "DCF" not in text


def test_all_columns_are_repeated_unless_some_are_named(here, tmp_path):
    frame = pd.read_csv(ROWS)
    for keep, names in {None: list(frame), "id": ["id"], "": []}.items():
        how = () if keep is None else ("--keep", keep)
        found = pd.read_csv(io.StringIO(run("predict", MODEL, ROWS, "--outputs", "decision", *how)[1]))
        assert list(found) == [*names, "decision"]
    frame.assign(decision="mine").to_csv(tmp_path / "again.csv", index=False)
    for how in ((), ("--keep", "decision")):
        with pytest.raises(DataError, match=r"like the results: 'decision'; rename them, or name .* with --keep"):
            run("predict", MODEL, tmp_path / "again.csv", "--outputs", "decision", *how)


def test_a_model_of_one_family_keeps_identifiers_and_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame({"row id": [f"a{i}" for i in range(40)], "x": list("uv") * 20, "y": list("nyny") * 10})
    rows.to_csv("rows.csv", index=False)
    fit = ("fit", "rows.csv", "-t", "y", "--model", "categorical")
    says = "column 'row id' is kept, .* it has 40 different values in 40 rows; --drop 'row id' leaves it out"
    with pytest.warns(ColumnWarning, match=says):
        assert "of 2 columns" in run(*fit)[1]
    assert "of 1 column" in run(*fit, "--drop", "row id", "--force")[1]  # and nothing is warned of


def test_messages_of_fit_and_forget_name_what_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
    notes = [" ".join(words[(i * j) % 11] for j in range(1, 8)) for i in range(40)]
    lines = [f"{i % 5},{'uv'[i % 2]},{note} {i},{'no ' if i % 3 else 'yes'}" for i, note in enumerate(notes)]
    Path("rows.csv").write_text("sep=,\n" + "\n".join(["x,g,note,label", *lines]))  # as Excel writes it
    with pytest.warns(ColumnWarning, match="column 'note' is left out: logistic regression does not read text"):
        told = run("fit", "rows.csv", "-t", "label", "--model", "logistic", "-o", "m", "--families", "note=text")[1]
    assert "LogisticClassifier of 2 columns, classes 'no ', yes" in told
    Path("num.html").touch()
    with pytest.raises(DataError, match=r"num\.html exists already; give --force to .* another name with --report"):
        run("fit", "rows.csv", "-t", "label", "-o", "n", "--report", "num.html")
    run("fit", "rows.csv", "-t", "label", "--model", "gaussian", "--columns", "x", "-o", "g")
    with pytest.warns(EmptyClassWarning, match="no row is left in the model"):
        run("forget", "g", "rows.csv", "-o", "none")


@pytest.mark.parametrize("command", ["predict", "impute"])
def test_columns_that_the_model_does_not_read_are_repeated_as_they_are_written(here, command, tmp_path):
    cells = ["00123", "12345678901234567891", "NA", "1.10", "TRUE", "", "2026-01-02 "]
    frame = pd.read_csv(ROWS)
    frame = frame.head(2).assign(**{f"c{j}": [cell, "x" if j > 5 else cell] for j, cell in enumerate(cells)})
    frame.to_csv(tmp_path / "ids.csv", index=False)
    code, text = run(command, MODEL, tmp_path / "ids.csv")
    assert code == 0
    found = next(csv.DictReader(io.StringIO(text)))
    assert [found[f"c{j}"] for j in range(len(cells))] == cells


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["1.10,True,02,NA,a b", '2.0,False,1,"x, y",'], None),
        (["+3.50,TRUE,2,u,v", '"4.00",FALSE,003,"say ""w""",-'], ["+3.50,TRUE,2,u,v", '4.00,FALSE,003,"say ""w""",-']),
    ],
)
def test_columns_that_the_model_reads_are_repeated_as_they_are_written(tmp_path, monkeypatch, lines, expected):
    monkeypatch.chdir(tmp_path)
    head, body = "x,flag,n,who,rest", [f"{i}.5,True,{i % 3},{'uvw'[i % 3]},r{i % 2},{'ab'[i % 2]}" for i in range(20)]
    Path("rows.csv").write_text("\n".join([f"{head},label", *body]))
    Path("new.csv").write_text("\n".join([head, *lines, ""]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)  # a flag that is always true
        run("fit", "rows.csv", "-t", "label", "--model", "mixed", "-o", "m")
        told = run("predict", "m", "new.csv", "--outputs", "decision")[1].splitlines()
    assert told[0] == f"{head},decision"
    assert [line[:-2] for line in told[1:]] == (expected or lines)
    assert run("predict", "m", "new.csv", "--outputs", "decision", "-o", "scores.parquet")[0] == 0
    assert pq.read_schema("scores.parquet").field("x").type == "double"  # formats that have types keep them


@pytest.mark.parametrize("arguments", [("merge", MODEL), ("forget", MODEL, ROWS, "-t", "species"), ("predict", MODEL)])
def test_what_is_left_out_is_asked_for(arguments):
    """Nothing is written anywhere unless it is said where."""
    code, output = run(*arguments)
    assert code == 2
    assert "Missing" in output


def test_a_real_command_fails_with_one_line(places, tmp_path):
    done = shell("predict", places / "damaged.safetensors", places / "one.csv", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("suffice: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("predict", "none", "none.csv"), 1),
        (("fit", PENGUINS, "-t", "genus"), 1),
        (("fit", PENGUINS, "-t", "species", "--sep", "ab"), 2),
        (("fit", PENGUINS, "-t", "species", "--format", "xls"), 2),
        (("fit", "-", "-t", "species", "--model", "mixed", "--checkpoint", "run"), 2),
        (("fit", PENGUINS, "-t", "species", "--type", "string"), 2),
        (("fit", PENGUINS, "-t", "species", "--families", "a=b,c"), 2),
        (("fit", PENGUINS, "-t", "species", "--model", "magic"), 2),
        (("fit", PENGUINS, "-t", "species", "--model", "gaussian", "--families", "sex=drop"), 2),
        (("fit", PENGUINS, "-t", "species", "--model", "mixed", "--folds", "3"), 2),
        (("cluster", PENGUINS, "-k", "0"), 2),
        (("cluster", PENGUINS, "--criterion", "luck"), 2),
        (("fit", PENGUINS, "-t", "species", "--model", "mixed", "--set", "covariance=round"), 2),
        (("fit", PENGUINS, "-t", "species", "--families", "sex=odd"), 2),
        (("fit", PENGUINS, "-t", "species", "--type", "sex=odd"), 2),
        (("fit", PENGUINS, "-t", "species", "--time-limit", "-1"), 2),
        (("fit", PENGUINS, "-t", "species", "-o", "nowhere/model"), 2),
        (("search", PENGUINS, "-t", "species", "--grid", "alpha=1", "--scoring", "luck"), 2),
        (("search", PENGUINS, "-t", "species", "--grid", "covariance=round"), 2),
    ],
)
def test_exit_codes_tell_wrong_arguments_from_wrong_data(refused, arguments, code):
    refused(*arguments)
    assert refused.code == code


@pytest.mark.parametrize("checkpoint", [False, True])
def test_ctrl_c_says_what_is_left(tmp_path, checkpoint):
    (tmp_path / "rows.csv").write_text("x,label\n" + "1.5,a\n2.5,b\n" * 1000)
    more = ("--checkpoint", "run") if checkpoint else ()
    command = [sys.executable, "-c", SLOW, "fit", "rows.csv", "-t", "label", "--model", "gaussian", "-o", "m", *more]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "reading\n"
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        assert process.wait(60) == 130
    left = "the same command resumes from run" if checkpoint else "no file was written or changed"
    assert told == f"suffice: interrupted; {left}\n"
    assert not (tmp_path / "m").exists()


# A command that says when it has read a piece, and then takes its time.
SLOW = """
import sys, time
from suffice.cli import main
from suffice.sources.files import pieces
counted = pieces.FilePass._advance
def slow(*arguments):
    counted(*arguments)
    print("reading", flush=True)
    time.sleep(30)
pieces.FilePass._advance = slow
sys.argv[0] = "suffice"
main()
"""


@pytest.mark.parametrize("command", app.list_commands(None))
def test_every_command_has_help_with_an_example(command):
    code, output = run(command, "--help")
    assert code == 0
    assert f"Example: suffice {command}" in " ".join(output.split())


@pytest.mark.parametrize("command", ["compare", "predict"])
def test_help_tells_whose_prior_is_taken(command):
    _, output = run(command, "--help")
    whose = "the first model, for all models" if command == "compare" else "the model: the class frequencies"
    assert f"Default: those of {whose}" in " ".join(output.split())


def test_clusters_are_neither_merged_nor_forgotten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, output = run("cluster", PENGUINS, "-k", "2", "--columns", "body_mass_g")
    assert (code, output.splitlines()[-1]) == (0, "Written to clusters.safetensors")
    for command in (
        ["merge", "clusters.safetensors", "clusters.safetensors"],
        ["forget", "clusters.safetensors", PENGUINS, "-t", "species"],
    ):
        with pytest.raises(StatisticsError, match="its components; fit it again to the rows that you want"):
            run(*command, "-o", "out.safetensors")


@pytest.mark.parametrize("k", ["", "x", "3-1", "0", "2-", "1,,2", "1-2-5"])
def test_numbers_of_clusters_are_checked(k, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=f"-k {k}: give numbers of components, as in 3, 2,4,8 or 2-12"):
        run("cluster", "missing.csv", "-k", k)
