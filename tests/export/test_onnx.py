"""Models as ONNX graphs: onnxruntime gives the model's own numbers."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest

import suffice
from suffice import BinomialDensity, GaussianDensity, MixtureDensity, Model
from suffice.errors import DataError, SufficeError
from suffice.export import onnx as exported
from suffice.scoring.calibrated import Calibration

RNG = np.random.default_rng(7)
N = 300
LABELS = np.array(["a", "b", "c"])[np.arange(N) % 3]
X = RNG.normal(size=(N, 3)) * [1.0, 5.0, 0.1] + (np.arange(N) % 3)[:, None] * [1.0, 2.0, 0.1] + [0, 1000, 0]
MANY = RNG.normal(size=(N, 30)) + 0.1 * (np.arange(N) % 3)[:, None]
COUNTS = RNG.poisson(3 + np.arange(N)[:, None] % 3 * [0.0, 2.0, 4.0])
TABLE = pd.DataFrame(
    {
        "size": X[:, 0],
        "mass": np.where(RNG.random(N) < 0.1, np.nan, X[:, 1]),
        "color": pd.Series(RNG.choice(["red", "blue", "é ö"], N)).where(RNG.random(N) > 0.1, None),
        "grade": RNG.choice([1, 2, 5], N),
        "tame": RNG.random(N) < 0.3 + 0.2 * (np.arange(N) % 3),
        "visits": COUNTS[:, 2],
        "price": np.exp(X[:, 0]),
    }
)
STEPS = RNG.integers(0, 2, (N, 5)).cumsum(axis=1) + np.arange(N)[:, None] % 3  # each depends on the one before it
TREE = pd.DataFrame({name: STEPS[:, j] % 3 for j, name in enumerate("abcde")}).assign(
    a=np.array(["u", "v", "w"])[STEPS[:, 0] % 3], never=None
)
TREE.loc[RNG.random(N) < 0.3, "c"] = np.nan
TREE.loc[RNG.random(N) < 0.2, "a"] = None
FAMILIES = {"price": "log", "visits": "poisson", "grade": "categorical"}


def holes(values, share=0.2):
    return np.where(RNG.random(values.shape) < share, np.nan, values)


def calibrated(clf):
    clf.calibration_ = Calibration(0.7, np.array([0.1, -0.2, 0.3]), 100)
    return clf


CASES = {
    **{
        covariance: lambda covariance=covariance: (suffice.GaussianClassifier(covariance).fit(X, LABELS), X)
        for covariance in ("full", "diag", "tied", "tied_diag", "spherical", "tied_spherical")
    },
    "diag, missing cells": lambda: (suffice.GaussianClassifier("diag").fit(X, LABELS), holes(X)),
    "full, missing cells": lambda: (suffice.GaussianClassifier("full").fit(X, LABELS), holes(X)),
    "tied, missing cells": lambda: (suffice.GaussianClassifier("tied").fit(X, LABELS), holes(X)),
    "many columns": lambda: (suffice.GaussianClassifier("full", shrinkage=0.1).fit(MANY, LABELS), MANY),
    "many columns, tied": lambda: (suffice.GaussianClassifier("tied").fit(MANY, LABELS), MANY),
    "far from zero": lambda: (suffice.GaussianClassifier("tied").fit(X + 1e7, LABELS), X + 1e7),
    "mixture": lambda: (
        suffice.MixtureClassifier(n_components=2, random_state=0).fit(X, LABELS),
        np.vstack([X, X * 5 - 4000]),
    ),
    "Bernoulli": lambda: (suffice.BernoulliClassifier(alpha=0).fit(COUNTS > 3, LABELS), (COUNTS > 2).astype(float)),
    "Bernoulli, missing cells": lambda: (suffice.BernoulliClassifier().fit(COUNTS > 3, LABELS), holes(COUNTS * 1.0)),
    "Poisson of pseudo-rows of each column": lambda: (
        suffice.PoissonClassifier(np.linspace(0.1, 3, COUNTS.shape[1])).fit(COUNTS, LABELS),
        holes(COUNTS * 1.0),
    ),
    "Poisson": lambda: (suffice.PoissonClassifier().fit(COUNTS, LABELS), holes(COUNTS * 30.0)),
    "multinomial": lambda: (suffice.MultinomialClassifier().fit(COUNTS, LABELS), COUNTS * 3.0),
    "multinomial, missing cells": lambda: (suffice.MultinomialClassifier().fit(COUNTS, LABELS), holes(COUNTS * 1.0)),
    "complement": lambda: (suffice.MultinomialClassifier(complement=True).fit(COUNTS, LABELS), COUNTS * 3.0),
    "mixed": lambda: (suffice.MixedClassifier(families=FAMILIES).fit(TABLE, LABELS), TABLE),
    "binned": lambda: (
        suffice.MixedClassifier(families={**FAMILIES, "size": "binned", "price": "yeo_johnson"}).fit(TABLE, LABELS),
        TABLE,
    ),
    "zero-inflated": lambda: (
        suffice.MixedClassifier(families={"visits": "zero_inflated"}).fit(TABLE[["visits", "size"]], LABELS),
        TABLE[["visits", "size"]],
    ),
    "zero probabilities": lambda: (
        suffice.CategoricalClassifier(alpha=0).fit(TABLE[["color"]].assign(own=LABELS), LABELS),
        TABLE[["color"]].assign(own=LABELS[::-1]),
    ),
    "unknown categories": lambda: (
        suffice.MixedClassifier().fit(TABLE[["color", "grade"]], LABELS),
        TABLE[["color", "grade"]].assign(
            color=np.where(np.arange(N) % 2, "green", "red"), grade=np.where(np.arange(N) % 3, 7, 1)
        ),
    ),
    **{
        f"tree, {unknown}, alpha {alpha}": lambda unknown=unknown, alpha=alpha: (
            suffice.CategoricalClassifier(alpha, structure="tree", unknown=unknown).fit(TREE, LABELS),
            TREE.assign(b=holes(np.where(TREE["b"] == 2, 9, TREE["b"])), a=TREE["a"].replace("w", "new")),
        )
        for unknown, alpha in (("smooth", 1), ("ignore", 0), ("ignore", 0.5))
    },
    "tree beside numbers": lambda: (
        suffice.MixedClassifier({"price": "binned"}, structure="tree").fit(TABLE, LABELS),
        TABLE,
    ),
    "logistic": lambda: (suffice.LogisticClassifier().fit(X, LABELS), X),
    "quadratic logistic": lambda: (suffice.LogisticClassifier(expansion="quadratic").fit(X - [0, 1000, 0], LABELS), X),
    "logistic of a table": lambda: (suffice.LogisticClassifier().fit(TABLE, LABELS), TABLE),
    "two classes": lambda: (suffice.GaussianClassifier().fit(X, LABELS == "a"), X),
    "labels that are integers": lambda: (suffice.GaussianClassifier().fit(X, np.arange(N) % 3 * 10), X),
    "calibrated": lambda: (calibrated(suffice.MixedClassifier(families=FAMILIES).fit(TABLE, LABELS)), TABLE),
}


def feeds(session, X):
    """The inputs of a graph from a table or an array."""
    if not isinstance(X, pd.DataFrame):
        return {"X": np.asarray(X, np.float64)}
    found = {}
    names = [each.name for each in session.get_inputs()]
    if names == ["X"]:
        return {"X": X.to_numpy(np.float64)}
    for each in session.get_inputs():
        column = X[each.name]
        if each.type == "tensor(string)":
            found[each.name] = column.where(column.notna(), "").astype(str).to_numpy(object)[:, None]
        else:
            found[each.name] = column.to_numpy(np.float64)[:, None]
    return found


@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@pytest.mark.parametrize("case", CASES)
def test_onnxruntime_gives_the_numbers_of_the_model(case, tmp_path):
    clf, rows = CASES[case]()
    if isinstance(clf, suffice.LogisticClassifier) and case == "quadratic logistic":
        rows = rows - [0, 1000, 0]
    k, prior = len(clf.classes_), np.arange(1, len(clf.classes_) + 1) / np.arange(1, len(clf.classes_) + 1).sum()
    cost = 1.0 - np.eye(k) + np.triu(np.ones((k, k)), 1)
    for name, asked in (("plain", {}), ("asked", {"prior": prior, "cost": cost})):
        clf.to_onnx(tmp_path / f"{name}.onnx", **asked)
        session = onnxruntime.InferenceSession(tmp_path / f"{name}.onnx")
        outputs = [each.name for each in session.get_outputs()]
        found = dict(zip(outputs, session.run(None, feeds(session, rows)), strict=True))
        posterior = clf.predict_proba(rows, asked.get("prior"))
        np.testing.assert_allclose(found["posterior"], posterior, rtol=1e-8, atol=1e-12)
        least = np.sort(posterior @ asked.get("cost", 1.0 - np.eye(k)).T, axis=1)
        clear = least[:, 1] - least[:, 0] > 1e-9  # or else rounding decides
        assert clear.mean() >= 0.5
        np.testing.assert_array_equal(found["decision"][clear], clf.predict(rows, **asked)[clear])
        for c in range(1, k):
            expected = clf.llr(rows, clf.classes_[0], clf.classes_[c])
            np.testing.assert_allclose(found["llr"][:, c - 1], expected, rtol=1e-8, atol=1e-8)
        assert ("log_likelihood" in outputs) == clf.to_model().density.has_likelihoods
        if "log_likelihood" in outputs:
            np.testing.assert_allclose(found["log_likelihood"], clf.log_likelihood(rows), rtol=1e-10, atol=1e-9)


@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@pytest.mark.parametrize("generative", [False, True])
@pytest.mark.parametrize("columns", [["size", "price"], ["size", "price", "color", "grade"]], ids=len)
def test_infinity_is_missing_to_models_that_take_it_so(generative, columns, tmp_path):
    table = TABLE[columns].assign(size=TABLE["size"].where(TABLE["size"] < 2, np.inf))
    clf = suffice.fit(table, LABELS, generative=generative)
    clf.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (posterior,) = session.run(["posterior"], feeds(session, table))
    np.testing.assert_allclose(posterior, clf.predict_proba(table), rtol=1e-9, atol=1e-12)
    with_nan = table.assign(size=table["size"].where(np.isfinite(table["size"])))
    np.testing.assert_array_equal(session.run(["posterior"], feeds(session, with_nan))[0], posterior)


@pytest.mark.parametrize("estimator", [suffice.MixedClassifier, suffice.LogisticClassifier])
def test_dates_and_text_that_says_numbers_are_numbers(estimator, tmp_path):
    rng = np.random.default_rng(0)
    opened = pd.to_datetime("2025-01-01") + pd.to_timedelta(rng.integers(0, 24 * 500, N), unit="h")
    price, paid, took = rng.lognormal(8, 1, N).round(2), rng.random(N) < 0.4, rng.integers(0, 90000, N)
    table = pd.DataFrame(
        {
            "opened": opened.strftime("%Y-%m-%d %H:%M"),
            "price": [f"${x:,.2f}" for x in price],
            "paid": np.where(paid, "yes", "no"),
            "took": pd.to_timedelta(took, unit="s"),
            "size": rng.normal(size=N),
        }
    )
    clf = estimator().fit(table, LABELS)
    days = (opened - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    numbers = table.assign(opened=days, price=price, paid=paid.astype(float), took=took)
    clf.to_onnx(tmp_path / "clf.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "clf.onnx")
    (posterior,) = session.run(["posterior"], feeds(session, numbers))
    np.testing.assert_allclose(posterior, clf.predict_proba(table), rtol=1e-8, atol=1e-12)


def test_models_from_parameters(tmp_path):
    bumps = GaussianDensity.from_parameters([[-3.0], [3.0], [0.0]], [1.0, 1.0, 4.0], "spherical")
    mixture = Model(MixtureDensity.from_parameters(bumps, [0, 0, 1], [0.25, 0.75, 1.0]), ["two", "one"])
    coins = Model(BinomialDensity.from_parameters([3, 20], [[0.5, 0.9], [0.1, 0.2]]), ["fair", "bent"])
    for model, rows in ((mixture, [[-40.0], [0.0], [2.5]]), (coins, [[3.0, 20.0], [0.0, 0.0], [np.nan, 7.0]])):
        model.to_onnx(tmp_path / "model.onnx", outputs=["log_likelihood"])
        (found,) = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, {"X": np.array(rows)})
        np.testing.assert_allclose(found, model.log_likelihood(rows), rtol=1e-12, atol=1e-12)


def test_what_cannot_be_written_is_said(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    with pytest.raises(DataError, match="cannot be written as ONNX"):
        suffice.GaussianClassifier(predictive=True).fit(X, LABELS).to_onnx(path)
    with pytest.raises(DataError, match="cannot be written as ONNX"):
        suffice.MultinomialClassifier(predictive=True).fit(COUNTS, LABELS).to_onnx(path)
    with pytest.raises(DataError, match="the words of column 'note' cannot be written as ONNX"):
        suffice.MultinomialClassifier().fit(pd.Series(["good film", "bad film"], name="note"), [0, 1]).to_onnx(path)
    clf = suffice.GaussianClassifier("diag").fit(X, LABELS)
    scores = exported.scores
    monkeypatch.setattr(exported, "scores", lambda *given: exported.GraphScores(scores(*given).relative * 1.0001))
    with pytest.raises(SufficeError, match="no file was written"):
        clf.to_onnx(path)
    assert not path.exists()
