"""The command line, and an independent check of the numbers it shows."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from typer.testing import CliRunner

import suffice
from suffice import GaussianClassifier
from suffice.cli import app
from suffice.cli.demo import leave_one_out_error, penguins

FEATURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def run(*arguments):
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def birds():
    """The penguins, read with the csv module alone."""
    with (Path(suffice.__file__).parent / "data" / "penguins.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if "NA" not in [row[name] for name in FEATURES]]
    return np.array([[float(row[name]) for name in FEATURES] for row in rows]), np.array(
        [row["species"] for row in rows]
    )


@pytest.fixture(scope="module")
def shown():
    """What the demo prints."""
    code, output = run("demo")
    assert code == 0
    return output


def errors_shown(output):
    """Leave-one-out and training error of each model, as printed."""
    cells = re.findall(r"│ (\w+) +│[^│]*│ +([\d.]+)% │ +([\d.]+)% │", output)
    return {name: (held_out, training) for name, held_out, training in cells}


class ByTheBook:
    """Bayes' rule with SciPy's densities, for the structures that scikit-learn does not have."""

    def __init__(self, covariance):
        self.covariance = covariance

    def scores(self, X, y, x):
        labels = np.unique(y)
        groups = [X[y == label] for label in labels]
        prior = np.log([len(g) / len(X) for g in groups])
        if self.covariance == "full":
            densities = [multivariate_normal.logpdf(x, g.mean(axis=0), np.cov(g.T, bias=True)) for g in groups]
        else:
            within = np.sqrt(sum(((g - g.mean(axis=0)) ** 2).sum(axis=0) for g in groups) / len(X))
            densities = [norm.logpdf(x, g.mean(axis=0), within).sum() for g in groups]
        return labels[np.argmax(prior + np.array(densities))]

    def leave_one_out(self, X, y):
        rest = ~np.eye(len(X), dtype=bool)
        return np.array([self.scores(X[rest[i]], y[rest[i]], X[i]) for i in range(len(X))])

    def training(self, X, y):
        return np.array([self.scores(X, y, x) for x in X])


def scikit_learn(model, X, y):
    return cross_val_predict(model, X, y, cv=LeaveOneOut()), model.fit(X, y).predict(X)


PEERS = {
    "full": lambda X, y: (ByTheBook("full").leave_one_out(X, y), ByTheBook("full").training(X, y)),
    "diag": lambda X, y: scikit_learn(GaussianNB(var_smoothing=0), X, y),
    "tied": lambda X, y: scikit_learn(LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True), X, y),
    "tied_diag": lambda X, y: (ByTheBook("tied_diag").leave_one_out(X, y), ByTheBook("tied_diag").training(X, y)),
}


def test_the_demo_reads_all_birds_with_four_measurements(birds):
    X, y = penguins()
    np.testing.assert_array_equal(X, birds[0])
    np.testing.assert_array_equal(y, birds[1])
    assert X.shape == (342, 4)
    assert dict(zip(*np.unique(y, return_counts=True), strict=True)) == {"Adelie": 151, "Chinstrap": 68, "Gentoo": 123}


@pytest.mark.parametrize("covariance", PEERS)
def test_the_errors_shown_are_those_that_others_find(birds, shown, covariance):
    X, y = birds
    held_out, training = (f"{100 * np.mean(predicted != y):.2f}" for predicted in PEERS[covariance](X, y))
    assert errors_shown(shown)[covariance] == (held_out, training)


def test_the_errors_shown_do_not_change(shown):
    assert errors_shown(shown) == {
        "full": ("1.17", "1.17"),
        "diag": ("2.92", "2.92"),
        "tied": ("1.46", "1.17"),
        "tied_diag": ("3.51", "3.51"),
    }


def test_a_row_that_is_left_out_does_not_help_itself():
    """Three rows on a line, far apart: each would be classified by its own mean, and by nothing else without it."""
    X, y = np.array([[0.0], [1.0], [9.0], [10.0], [5.4]]), np.array(["a", "a", "b", "b", "a"])
    clf = GaussianClassifier("tied_diag", prior="uniform").fit(X, y)
    assert (clf.predict(X) == y).all()
    assert leave_one_out_error(clf, X, y) == 1 / 5


def test_leaving_out_by_forgetting_leaves_the_model_as_it_was(birds):
    X, y = birds
    clf = GaussianClassifier("tied").fit(X, y)
    before = clf.means_.copy(), clf.covariances_.copy()
    leave_one_out_error(clf, X, y)
    np.testing.assert_array_equal(clf.statistics_.weight, [151, 68, 123])
    np.testing.assert_allclose(clf.means_, before[0], rtol=1e-10)
    np.testing.assert_allclose(clf.covariances_, before[1], rtol=1e-8)


def test_a_decision_flips_with_the_prior(shown):
    text = " ".join(shown.split())
    equal, rare = (float(p) for p in re.findall(r"P\(Chinstrap\) = ([\d.]+)", text))
    llr = float(re.search(r"ratio of Chinstrap over Adelie: ([+-][\d.]+)", text)[1])
    assert equal == pytest.approx(1 / (1 + np.exp(-llr)), abs=0.01)
    assert rare == pytest.approx(1 / (1 + 99 * np.exp(-llr)), abs=0.01)
    assert re.findall(r"so it is (\w+)", text) == ["Chinstrap", "Adelie"]


def test_the_bird_shown_is_one_of_them_and_its_ratio_is_right(birds, shown):
    X, y = birds
    text = " ".join(shown.split())
    bird = [float(re.search(rf"{name} ([\d.]+)", text)[1]) for name in FEATURES]
    found = np.flatnonzero((np.array(bird) == X).all(axis=1))
    assert y[found].tolist() == ["Chinstrap"]
    lda = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    adelie, chinstrap, _ = lda.decision_function([bird])[0] - np.log(lda.priors_)
    assert f"over Adelie: {chinstrap - adelie:+.2f}" in text


@pytest.mark.parametrize("arguments", [(), ("--help",), ("demo", "--help")], ids=" ".join)
def test_help_says_what_there_is(arguments):
    code, output = run(*arguments)
    text = " ".join(output.replace("│", " ").split())
    assert code == (0 if arguments else 2)
    assert "Usage: suffice" in text
    assert "Fit models on the Palmer penguins and show what they can do." in text
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
    PENGUINS = str(Path(suffice.__file__).parent / "data" / "penguins.csv")

    def test_chooses_and_says_why(self, tmp_path):
        out = tmp_path / "birds.safetensors"
        code, output = run("fit", self.PENGUINS, "-t", "species", "-o", str(out))
        assert code == 0
        assert re.search(r"MixedClassifier\(alpha=0.1.*chosen", output)
        expected = suffice.fit(self.PENGUINS, "species")
        assert str(expected.choice_) in output
        assert suffice.load(out).predict(self.PENGUINS).tolist() == expected.predict(self.PENGUINS).tolist()

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
        code, output = run("fit", self.PENGUINS, "-t", "species", "-o", str(out), *choices)
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

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("nowhere.csv", "-t", "y"), "there is no file or directory 'nowhere.csv'"),
            ((PENGUINS, "-t", "genus"), "there is no column 'genus'"),
            ((PENGUINS, "-t", "species", "--model", "magic"), "there is no model 'magic'"),
            ((PENGUINS, "-t", "species", "--set", "alpha=1"), "for a model that is named"),
            ((PENGUINS, "-t", "species", "--model", "mixed", "--set", "beta=1"), "--set beta=1"),
            ((PENGUINS, "-t", "species", "--model", "logistic", "--checkpoint", "c"), "leave out --checkpoint"),
            ((PENGUINS, "-t", "species", "-o", "no/where"), "there is no directory 'no'"),
        ],
    )
    def test_errors_are_one_line(self, arguments, message, tmp_path):
        command = [sys.executable, "-c", "from suffice.cli import main; main()", "fit", *arguments]
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert found.returncode == 1
        assert found.stderr.startswith("suffice: ")
        assert message in found.stderr
        assert found.stderr.count("\n") == 1
        assert not list(tmp_path.iterdir())
