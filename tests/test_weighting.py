"""Weights of columns: the best ones by another optimiser, and what they do to scores, shares, files and exports."""

from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.metrics import log_loss

import suffice
from suffice import CategoricalDensity, GaussianDensity, arrayfile
from suffice.errors import CalibrationWarning, DataError, ModelFileError
from suffice.scoring.calibrated import Calibration
from suffice.scoring.results import Results
from suffice.sources import as_table
from suffice.weighting import WeightedShares

RNG = np.random.default_rng(3)
N = 240
CODE = np.arange(N) % 3
WORDS = np.array([["good film", "fine story"], ["bad film", "dull story"], ["long film", "the story"]])
TABLE = pd.DataFrame(
    {
        "size": RNG.normal(CODE, 1.0),
        "color": pd.Series(RNG.choice(["red", "blue", "é ö"], N)).where(RNG.random(N) > 0.1, None),
        "tame": RNG.random(N) < 0.2 + 0.3 * CODE,
        "noise": RNG.choice(["x", "y"], N),
    }
)
LABELS = np.array(["a", "b", "c"])[CODE]
TEXT = TABLE.assign(review=WORDS[CODE, RNG.integers(0, 2, N)])
WEIGHTS = np.array([0.5, 1.25, 0.8, 0.0, 0.3])


def weighted(table=TABLE):
    families = {"size": "binned"} | ({"review": "text"} if "review" in table else {})
    clf = suffice.MixedClassifier(families=families).fit(table, LABELS)
    clf.calibration_ = Calibration(0.9, np.array([0.1, -0.2, 0.1]), 100, weights=WEIGHTS[: table.shape[1]])
    return clf


@pytest.mark.parametrize("seed", range(3))
def test_no_other_weights_have_less_loss(seed):
    rng = np.random.default_rng(seed)
    n, k, d = 150, 3, 5
    code, weight = rng.integers(0, k, n), rng.exponential(size=n)
    log_prior = np.log(rng.dirichlet(np.ones(k), n))
    shares = rng.normal(size=(n, k, d))
    shares[np.arange(n), code] += rng.uniform(-0.5, 1.0, d)  # some columns tell the wrong class

    def loss(theta):
        """A prior of a common scale with variance 1 about 1, of weights with variance 0.1 about it, and of offsets."""
        posterior = log_softmax(shares @ theta[:d] + theta[d:] + log_prior, axis=1)
        apart = theta[:d] - 1
        held = apart @ np.linalg.solve(np.ones((d, d)) + 0.1 * np.eye(d), apart) + theta[d:] @ theta[d:]
        return -weight @ posterior[np.arange(n), code] + held / 2

    found = WeightedShares(shares, code, weight, log_prior).fit()
    bounds = [(0, None)] * d + [(None, None)] * k
    best = minimize(loss, np.ones(d + k), bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-8})
    assert loss(np.append(found.weights, found.offset)) == pytest.approx(best.fun, rel=1e-6)
    np.testing.assert_allclose(found.weights, best.x[:d], atol=5e-3)
    assert (best.x[:d] == 0).any()
    nothing = WeightedShares(shares[:0], code[:0], weight[:0], log_prior[:0]).fit()
    np.testing.assert_array_equal(np.append(nothing.weights, nothing.offset), np.repeat([1.0, 0.0], [d, k]))


@pytest.mark.parametrize("table", [TABLE, TEXT], ids=["categories", "text"])
def test_weighted_scores_are_sums_of_weighted_shares(table):
    clf = weighted(table)
    model, weights = clf.to_model(), clf.calibration_.weights
    rows = model.density.read(as_table(table))
    shares = np.stack([model.density.explain(rows, c) for c in range(3)], axis=1)
    apart = model.density.shares(rows) - shares
    np.testing.assert_allclose(apart - apart[:, :1], 0.0, atol=1e-9)
    scores = 0.9 * shares @ weights + clf.calibration_.offset
    posterior = np.exp(log_softmax(scores + np.log(clf.prior_), axis=1))
    np.testing.assert_allclose(clf.predict_proba(table), posterior, rtol=1e-9)
    np.testing.assert_allclose(clf.llr(table, "a", "c"), scores[:, 2] - scores[:, 0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(clf.log_likelihood(table), clone(clf).fit(table, LABELS).log_likelihood(table))
    own = clf.explain(table, "a", "c")
    np.testing.assert_allclose(own, 0.9 * weights * (shares[:, 2] - shares[:, 0]), atol=1e-9)
    tidy = clf.explain(table, "a", "c", tidy=True).groupby("row")["llr"].sum()
    np.testing.assert_allclose(tidy, clf.llr(table, "a", "c"), rtol=1e-9, atol=1e-9)
    found = Results(model, outputs=["posterior", "log_likelihood"]).of_table(as_table(table))
    np.testing.assert_allclose(found["posterior"], posterior, rtol=1e-9)
    np.testing.assert_allclose(found["log_likelihood"], clf.log_likelihood(table), rtol=1e-12)


def test_a_column_without_weight_says_nothing_even_of_the_impossible():
    density = CategoricalDensity.from_parameters([["x", "y"], [1, 2]], [[[1.0, 0.0]] * 2, [[0.2, 0.8], [0.6, 0.4]]])
    rows = np.array([["y", 1], ["x", 2]], object)
    assert np.isneginf(density.log_likelihood(rows)[0]).all()
    np.testing.assert_allclose(
        density.weighted(np.array([0.0, 2.0])).log_likelihood(rows), 2 * np.log([[0.2, 0.6], [0.8, 0.4]])
    )


def test_weights_that_a_density_cannot_have_are_refused():
    gaussian = GaussianDensity.from_parameters([[0.0], [1.0]], [[1.0], [1.0]], structure="diag")
    with pytest.raises(DataError, match="does not take weights of columns"):
        gaussian.weighted(np.ones(1))
    for wrong in (np.ones(3), np.array([1.0, -1.0, 1.0, 1.0]), np.array([1.0, np.nan, 1.0, 1.0])):
        with pytest.raises(DataError, match="not negative, one for each column"):
            weighted().to_model().density.weighted(wrong)


def test_weights_are_saved_merged_and_inspected(tmp_path):
    clf = weighted()
    clf.save(tmp_path / "model")
    for loaded in (suffice.load(tmp_path / "model"), suffice.load_model(tmp_path / "model")):
        np.testing.assert_array_equal(loaded.predict_proba(TABLE), clf.predict_proba(TABLE))
    with pytest.raises(ModelFileError, match="has format 2"):  # as versions say that would ignore the weights
        arrayfile.read(tmp_path / "model", "model", 1, ModelFileError)
    assert "columns weighted by 0 to 1.25" in str(suffice.load_model(tmp_path / "model").calibration)
    with pytest.warns(CalibrationWarning, match="other rows"):
        both = clf + clone(clf).set_params(families=clf.schema_).fit(TABLE[:90], LABELS[:90])
    np.testing.assert_array_equal(both.calibration_.weights, clf.calibration_.weights)
    clf.calibration_ = replace(clf.calibration_, weights=np.ones(3))
    clf.save(tmp_path / "damaged")
    for load in (suffice.load, suffice.load_model):
        with pytest.raises(ModelFileError, match="weights of 3 columns, not of 4"):
            load(tmp_path / "damaged")


def test_sql_and_onnx_give_the_weighted_scores(tmp_path):
    clf = weighted()
    numbered = TABLE.reset_index(names="row")  # noqa: F841 (the query reads it)
    outputs = ["posterior", "log_likelihood"]
    found = duckdb.sql(clf.to_sql("numbered", "duckdb", keep=["row"], outputs=outputs)).df().sort_values("row")
    np.testing.assert_allclose(found.iloc[:, 1:4], clf.predict_proba(TABLE), rtol=1e-9)
    np.testing.assert_allclose(found.iloc[:, 4:], clf.log_likelihood(TABLE), rtol=1e-9)
    clf.to_onnx(tmp_path / "model.onnx", outputs=[*outputs, "llr"])  # which compares it with the model


def test_the_automatic_choice_weighs_columns_that_repeat_each_other():
    """Eight noisy copies of one column drown the other two, unless they count less."""
    rng = np.random.default_rng(0)

    def drawn(n):
        y = rng.integers(0, 2, n)
        hint = (rng.random(n) < 0.45 + 0.1 * y).astype(int)
        copies = {f"copy {j}": np.where(rng.random(n) < 0.05, 1 - hint, hint) for j in range(8)}
        own = {f"own {j}": rng.binomial(4, 0.35 + 0.3 * y) for j in range(2)}
        return pd.DataFrame(copies | own).astype(str), y

    (rows, y), (others, truth) = drawn(1500), drawn(4000)
    found = suffice.fit(rows, y, generative=True)
    assert found.choice_.candidates[0].name.endswith("# columns weighted")
    assert found.choice_.candidates[0].calibrated
    weights = found.calibration_.weights
    assert weights[:8].max() < 0.4 < weights[8:].min()
    without = clone(found).fit(rows, y)
    without.calibration_ = replace(found.calibration_, weights=None, offset=np.zeros(2), scale=weights.mean())
    assert log_loss(truth, found.predict_proba(others)) < log_loss(truth, without.predict_proba(others)) - 0.02
    plain = suffice.fit(rows, y, generative=True, calibrate=False)
    assert not any("weighted" in one.name for one in plain.choice_.candidates)
