"""Values and weights near the ends of what floats hold give the right answer, or an error that names the columns."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import suffice
from suffice import (
    LDA,
    PCA,
    BernoulliClassifier,
    GaussianClassifier,
    LogisticClassifier,
    MultinomialClassifier,
    PoissonClassifier,
)
from suffice.errors import DataError

RNG = np.random.default_rng(3)
Y = np.arange(60) % 3
X = RNG.normal(size=(60, 3)) + Y[:, None]
MODELS = {
    "pca": PCA(),
    "lda": LDA(),
    "logistic": LogisticClassifier(),
    "quadratic logistic": LogisticClassifier(expansion="quadratic"),
    **{c: GaussianClassifier(c) for c in ("full", "diag", "tied", "spherical")},
    "oas": GaussianClassifier("full", "oas"),
    "ledoit_wolf": GaussianClassifier("full", "ledoit_wolf"),
    "predictive": GaussianClassifier("full", predictive=True),
}


def frame(scale=1.0, dtype=np.float64):
    """A table whose second column is very large or very small."""
    values = X.astype(dtype)
    values[:, 1] *= np.asarray(scale, dtype)
    return pd.DataFrame({name: values[:, j] for j, name in enumerate(("one", "two", "three"))})


def scores(model, table):
    return (model.transform if hasattr(model, "transform") else model.predict_proba)(table)


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


@pytest.mark.parametrize("scale", [1e154, 1e200, 1e300])
def test_columns_whose_squares_overflow_are_named(model, scale):
    with pytest.raises(DataError, match=r"column 'two' or their weights are too large.*rescale") as error:
        model.fit(frame(scale), Y)
    assert "'one'" not in str(error.value)


@pytest.mark.parametrize("kind", ["ledoit_wolf", "quadratic logistic"])
def test_columns_whose_fourth_powers_overflow_are_named(kind):
    with pytest.raises(DataError, match="column 'two' or their weights are too large"):
        MODELS[kind].fit(frame(1e80), Y)


def test_long_doubles_beyond_doubles_are_refused_and_others_are_not(model):
    with pytest.raises(DataError, match=r"infinity in 60 rows, in columns 1 \(60\)"):
        model.fit(frame("1e400", np.longdouble).to_numpy(), Y)
    long = scores(model.fit(frame(1, np.longdouble).to_numpy(), Y), X)
    np.testing.assert_allclose(long, scores(model.fit(X, Y), X), rtol=1e-9)


@pytest.mark.parametrize("weight", [1e-300, 1e300])
@pytest.mark.parametrize("kind", ["pca", "lda", "logistic", "quadratic logistic", "full", "diag", "tied", "spherical"])
def test_weights_of_any_size_give_the_model_of_weights_of_one(kind, weight):
    model = MODELS[kind]
    if isinstance(model, LogisticClassifier):
        model = LogisticClassifier(C=1 / weight, expansion=model.expansion)  # it does not grow with them
    found = scores(model.fit(X, Y, sample_weight=np.full(60, weight)), X)
    expected = scores(model.set_params(**({"C": 1.0} if hasattr(model, "C") else {})).fit(X, Y), X)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_weights_whose_sums_overflow_are_refused(model):
    with pytest.raises(DataError, match="weights"):
        model.fit(X, Y, sample_weight=np.full(60, 1e308))


COUNTS = {"counts": np.eye(2) + 1, "sparse counts": csr_array(np.eye(2) + 1), "words": [["a", "b"], ["b", "a"]]}


@pytest.mark.parametrize("weight", [[1e308, 1e308], [1.7e308, 1]], ids=["of all", "of a class"])
@pytest.mark.parametrize("kind", [MultinomialClassifier, BernoulliClassifier])
@pytest.mark.parametrize("rows", COUNTS)
def test_weighted_counts_whose_sums_overflow_are_refused(rows, kind, weight):
    with pytest.raises(DataError, match=r"too large.*rescale"):
        kind().fit(COUNTS[rows], [0, 1], weight)


@pytest.mark.parametrize("kind", ["logistic", "quadratic logistic"])
def test_weights_that_add_up_to_nothing_are_refused(kind):
    with pytest.raises(DataError, match=r"add up to .* nearly nothing; rescale"):
        MODELS[kind].fit(X, Y, sample_weight=np.full(60, 1e-320))


@pytest.mark.parametrize("kind", ["pca", "lda", "diag", "logistic"])
@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
def test_a_column_near_zero_does_no_harm_where_it_need_not(kind):
    found = scores(MODELS[kind].fit(frame(1e-200), Y), frame(1e-200))
    assert np.isfinite(found).all()


def test_covariances_that_overflow_name_columns():
    with pytest.raises(DataError, match=r"variance of .*'two'.* is not finite.*rescale"):
        GaussianClassifier("full").fit(frame(1e-200), Y)


@pytest.mark.parametrize("merged", [False, True])
def test_models_of_counts_whose_log_factorials_overflow_are_saved_without_them(merged, tmp_path):
    """log x! is larger than x, and the sum of the counts can be finite where that of log x! is not."""
    counts, classes = np.array([[1.5e305, 1.0], [2.0, 3.0]]), [0, 1]
    if merged:
        clf = PoissonClassifier().fit(counts, classes) + PoissonClassifier().fit(counts, classes)
    else:
        clf = PoissonClassifier().fit(100 * counts, classes)
    clf.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    assert not hasattr(loaded, "log_likelihood_")
    np.testing.assert_array_equal(loaded.predict_proba(counts), clf.predict_proba(counts))
