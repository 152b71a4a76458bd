"""A Model does what its estimator does, without it; and a textbook example needs no estimator at all."""

import dataclasses
import itertools
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import confusion_matrix, log_loss, precision_score, recall_score

import suffice
from suffice import (
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    GaussianDensity,
    LogisticClassifier,
    MixedClassifier,
    Model,
    MultinomialClassifier,
    MultinomialDensity,
    PoissonClassifier,
    arrayfile,
    load,
    load_model,
)
from suffice.densities import BernoulliDensity, MixtureDensity, ProductDensity
from suffice.densities.scorer import Scorer
from suffice.densities.sparse import SparseCountDensity
from suffice.description import describe
from suffice.errors import DataError, DecisionError, ModelFileError
from suffice.scoring.calibrated import Calibration
from suffice.scoring.inputs import inputs
from suffice.sources import as_table

X, Y = load_iris(return_X_y=True)
COUNTS = np.rint(10 * X).astype(int)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
CATEGORIES = np.array(["low", "mid", "high"])[np.digitize(X, [1.5, 4.0])]
TABLE = pd.DataFrame({"a": X[:, 0], "b": CATEGORIES[:, 1], "d": X[:, 3]})
MODELS = {
    **{f"gaussian {s}": (GaussianClassifier(s), X) for s in ("full", "diag", "tied", "tied_diag", "spherical")},
    "predictive": (GaussianClassifier(predictive=True, prior="uniform"), X),
    "bernoulli": (BernoulliClassifier(), X > 1.5),
    "multinomial": (MultinomialClassifier(prior=[0.2, 0.3, 0.5]), COUNTS),
    "complement": (MultinomialClassifier(complement=True), COUNTS),
    "poisson": (PoissonClassifier(), COUNTS),
    "categorical": (CategoricalClassifier(), CATEGORIES),
    "mixed": (
        MixedClassifier(families={"d": "gamma"}),
        pd.DataFrame({"a": X[:, 0], "b": CATEGORIES[:, 1], "d": X[:, 3]}),
    ),
    "logistic": (LogisticClassifier(), X),
}
LINEAR = {name: MODELS[name] for name in ("gaussian tied", "gaussian tied_diag", "bernoulli", "multinomial", "poisson")}


@pytest.fixture(params=MODELS)
def fitted(request):
    estimator, rows = MODELS[request.param]
    return clone(estimator).fit(rows, NAMES), rows


def heights():
    return GaussianDensity.from_parameters([[161.82], [175.33]], [[[46.89]], [[52.89]]])


def test_heights_of_a_textbook():
    model = Model(heights(), ["F", "M"])
    np.testing.assert_allclose(np.exp(model.log_likelihood([[174.0]])), [[0.01198, 0.05395]], rtol=1e-3)
    odds = model.predict_proba([[174.0]], prior={"F": 0.9, "M": 0.1})[0]
    assert odds[1] / odds[0] == pytest.approx(0.5, rel=0.01)
    assert model.predict([[174.0]]).item() == "M"
    assert model.predict([[174.0]], prior={"F": 0.9, "M": 0.1}).item() == "F"


def test_classes_may_come_in_any_order():
    sorted_, other = (
        Model(heights(), ["F", "M"], [0.3, 0.7]),
        Model(heights().of_classes([1, 0]), ["M", "F"], [0.7, 0.3]),
    )
    assert other.classes.tolist() == ["F", "M"]
    np.testing.assert_array_equal(other.predict_proba([[170.0]]), sorted_.predict_proba([[170.0]]))


def test_a_model_cannot_be_changed():
    model = Model(heights(), ["F", "M"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.prior = [0.5, 0.5]


def arrays_of(value):
    """All arrays that an object holds."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict | tuple | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from arrays_of(each)
    elif isinstance(value, Scorer | Calibration):
        yield from arrays_of([getattr(value, field.name) for field in dataclasses.fields(value)])


def test_nobody_can_write_to_what_a_model_holds(fitted):
    clf, rows = fitted
    clf.calibration_ = Calibration(0.5, np.zeros(3), 10, weights=None)
    model = clf.to_model()
    expected = model.predict_proba(rows)
    for own in (model, Model(model.density, model.classes, model.prior, calibration=model.calibration)):
        found = [own.prior, own.classes, *arrays_of(own.density), *arrays_of(own.calibration)]
        assert len(found) > 4
        for array in found:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    np.testing.assert_array_equal(clf.predict_proba(rows), expected)


def test_the_arrays_of_the_caller_stay_as_they_are():
    prior, labels, weights = np.array([0.5, 0.5]), np.array(["F", "M"]), np.array([0.4, 0.6, 1.0])
    counts = scipy.sparse.csr_array(np.array([[1.0, 2.0], [3.0, 0.0]]))
    means, variances = np.array([[1.0], [2.0], [3.0]]), np.ones((3, 1))
    parts = GaussianDensity.from_parameters(means, variances, "diag")
    Model(MixtureDensity.from_parameters(parts, np.array([0, 0, 1]), weights), labels, prior)
    Model(SparseCountDensity.from_parameters(counts, [1, 1], 1.0), labels, prior)
    GaussianDensity(parts.structure, means, variances[:, :, None], means, means, np.ones(3, bool))
    for array in (prior, labels, weights, means, variances, counts.data, counts.indices, counts.indptr):
        assert array.flags.writeable


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"classes": ["F"]}, DataError, "1 classes, but the density has 2"),
        ({"classes": ["F", "F"]}, DataError, "distinct"),
        ({"classes": ["F", "M"], "names": ["a", "b"]}, DataError, "2 names for 1 columns"),
        ({"classes": ["F", "M"], "prior": [0.5, 0.6]}, DecisionError, "sum to 1"),
    ],
)
def test_what_does_not_fit_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        Model(heights(), **given)


def test_without_a_prior_a_decision_must_give_one():
    model = Model(heights(), ["F", "M"], None)
    assert model.llr([[174.0]]).shape == (1,)
    with pytest.raises(DataError, match="give a prior"):
        model.predict([[174.0]])
    assert model.predict([[174.0]], prior="uniform").item() == "M"


def test_a_model_does_what_its_estimator_does(fitted, tmp_path):
    clf, rows = fitted
    clf.save(tmp_path / "estimator.safetensors")
    clf.to_model().save(tmp_path / "model.safetensors")
    for model in (
        clf.to_model(),
        load_model(tmp_path / "estimator.safetensors"),
        load_model(tmp_path / "model.safetensors"),
    ):
        np.testing.assert_array_equal(model.classes, clf.classes_)
        np.testing.assert_allclose(model.prior, clf.prior_, rtol=1e-15)
        np.testing.assert_array_equal(model.predict(rows), clf.predict(rows))
        np.testing.assert_allclose(model.predict_proba(rows), clf.predict_proba(rows), rtol=1e-12)
        np.testing.assert_allclose(model.llr(rows, *NAMES[[0, 70]]), clf.llr(rows, *NAMES[[0, 70]]), rtol=1e-12)


def test_an_estimator_is_not_made_of_a_model(tmp_path):
    Model(heights(), ["F", "M"]).save(tmp_path / "model.safetensors")
    with pytest.raises(ModelFileError, match="load_model"):
        load(tmp_path / "model.safetensors")


def test_a_reduction_is_not_a_model(tmp_path):
    suffice.PCA(2).fit(X).save(tmp_path / "pca.safetensors")
    with pytest.raises(ModelFileError, match="holds a PCA, which is not a classifier"):
        load_model(tmp_path / "pca.safetensors")


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_model_is_a_logistic_one(name):
    clf, rows = clone(LINEAR[name][0]).fit(LINEAR[name][1], NAMES), LINEAR[name][1]
    logistic, numbers = clf.to_logistic(), np.asarray(rows, float)
    np.testing.assert_allclose(logistic.predict_proba(numbers), clf.predict_proba(rows), rtol=1e-8, atol=1e-12)
    scores = numbers @ clf.coef_.T + clf.intercept_
    posterior = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(posterior / posterior.sum(axis=1, keepdims=True), clf.predict_proba(rows), atol=1e-9)


def test_categories_are_logistic_in_their_one_hot_encoding():
    clf = CategoricalClassifier().fit(CATEGORIES, NAMES)
    one_hot = np.concatenate([CATEGORIES[:, [j]] == kept for j, kept in enumerate(clf.categories_)], axis=1)
    posterior = clf.to_logistic().predict_proba(one_hot.astype(float))
    np.testing.assert_allclose(posterior, clf.predict_proba(CATEGORIES), atol=1e-12)


@pytest.mark.parametrize("scale", [0.25, 0.0])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", [None, np.array([0.5, 0.0, 1.25, 0.8, 2.0])])
def test_a_calibration_is_a_part_of_the_coefficients(weights, n_classes, scale):
    kept = np.isin(Y, range(n_classes))
    rows = pd.DataFrame(X[kept] > 1.5, columns=list("abcd")).assign(e=CATEGORIES[kept, 1])
    clf = MixedClassifier().fit(rows, NAMES[kept])
    clf.calibration_ = Calibration(scale, np.array([0.3, -0.4, 0.1])[:n_classes], 100, weights=weights)
    numbers = clf.density_.linear_rows(clf.density_.read(as_table(rows)))
    logistic, named = clf.to_logistic(), pd.DataFrame(numbers, columns=clf.to_logistic().feature_names_in_)
    for a, b in itertools.combinations(clf.classes_, 2):
        np.testing.assert_allclose(logistic.llr(named, a, b), clf.llr(rows, a, b), atol=1e-9)
    np.testing.assert_allclose(logistic.predict_proba(named, "uniform"), clf.predict_proba(rows, "uniform"), atol=1e-9)
    scores = numbers @ clf.coef_.T + clf.intercept_
    scores = scores if n_classes > 2 else np.hstack([0 * scores, scores])
    posterior = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(posterior / posterior.sum(axis=1, keepdims=True), clf.predict_proba(rows), atol=1e-9)


@pytest.mark.parametrize("clf", [GaussianClassifier("full"), GaussianClassifier(predictive=True)])
def test_a_quadratic_model_has_no_coefficients(clf):
    assert not hasattr(clf.fit(X, NAMES), "coef_")
    with pytest.raises(DataError, match="linear"):
        clf.to_logistic()


@pytest.mark.parametrize(
    "name",
    ["gaussian full", "gaussian diag", "gaussian tied", "bernoulli", "categorical", "poisson", "multinomial"],
)
def test_the_log_likelihood_of_the_training_rows(name):
    estimator, rows = MODELS[name]
    clf = clone(estimator).fit(rows, NAMES)
    assert clf.log_likelihood_ == pytest.approx(clf.log_likelihood(rows)[np.arange(150), Y].sum(), rel=1e-10)


def test_parameters_are_shown_by_name():
    assert set(GaussianClassifier("diag").fit(X, NAMES).parameters_) >= {"means", "covariances"}
    counts = MultinomialClassifier(alpha=0).fit([[6, 8, 14, 1, 10, 1, 7], [6, 14, 30, 6, 2, 16, 16]], ["C", "Python"])
    np.testing.assert_allclose(counts.probabilities_[0], np.array([6, 8, 14, 1, 10, 1, 7]) / 47)
    assert PoissonClassifier(alpha=0).fit([[1], [3]], [0, 0]).rates_.item() == 2
    found = CategoricalClassifier(alpha=0).fit([["a"], ["b"]], [0, 1]).probabilities_
    assert [p.tolist() for p in found] == [[[1, 0], [0, 1]]]


class TestEvaluate:
    def test_the_figures_are_those_of_scikit_learn(self):
        clf = GaussianClassifier("diag").fit(X[::2], NAMES[::2])
        rows, labels = X[1::2], NAMES[1::2]
        found = clf.evaluate(rows, labels)
        decided = clf.predict(rows)
        assert found.error_rate == pytest.approx((decided != labels).mean())
        assert found.log_loss == pytest.approx(log_loss(labels, clf.predict_proba(rows)))
        assert found.confusion == confusion_matrix(labels, decided).tolist()
        np.testing.assert_allclose(found.recall, recall_score(labels, decided, average=None))
        np.testing.assert_allclose(found.precision, precision_score(labels, decided, average=None))

    def test_labels_and_weights_may_be_columns(self):
        weight = np.arange(150) % 4 + 1.0
        table = pd.DataFrame(X, columns=list("abcd")).assign(label=NAMES, weight=weight)
        clf = GaussianClassifier().fit(table[list("abcd")], NAMES)
        by_name = clf.evaluate(table, "label", sample_weight="weight")
        assert by_name.to_dict() == clf.evaluate(table[list("abcd")], NAMES, sample_weight=weight).to_dict()
        copies = table.loc[np.repeat(np.arange(150), weight.astype(int))]
        assert by_name.log_loss == pytest.approx(clf.evaluate(copies, "label").log_loss)

    def test_labels_that_are_no_class_are_refused(self):
        clf = GaussianClassifier().fit(X, NAMES)
        with pytest.raises(DataError, match="y holds 'rose', but the classes of the model are"):
            clf.evaluate(X[:1], ["rose"])

    def test_it_goes_into_json_and_prints(self):
        model = Model(MultinomialDensity.from_parameters([[0.5, 0.5], [1.0, 0.0]]), ["a", "b"])
        found = model.evaluate([[1, 1], [1, 0], [0, 1]], ["a", "b", "b"])
        assert json.loads(json.dumps(found.to_dict()))["log_loss"] is None  # infinite
        assert "true \\ predicted" in str(found)
        assert "infinite" in str(found)
        assert "<table>" in found._repr_html_()


def test_arrays_that_do_not_fit_are_refused(fitted, tmp_path):
    """Every array of a file, one entry shorter: a file can hold anything."""
    clf, rows = fitted
    clf.to_model().save(tmp_path / "model.safetensors")
    header, arrays = arrayfile.read(tmp_path / "model.safetensors", "model", 1, ModelFileError)
    for name in [name for name, array in arrays.items() if array.ndim and len(array) > 1]:
        arrayfile.write(tmp_path / "cut.safetensors", header, {**arrays, name: arrays[name][:-1].copy()})
        try:
            model = load_model(tmp_path / "cut.safetensors")
        except ModelFileError:
            continue
        np.testing.assert_allclose(model.predict_proba(rows), clf.predict_proba(rows), rtol=1e-9)  # what nobody needs


def test_indices_outside_a_sparse_density_are_refused(tmp_path):
    wide = scipy.sparse.csr_array(([1.0, 2.0], ([0, 1], [5, 70_000])), shape=(2, 100_000))
    clf = MultinomialClassifier().fit(scipy.sparse.vstack([wide] * 100), np.arange(200))
    assert clf.statistics_.is_sparse
    clf.to_model().save(tmp_path / "model.safetensors")
    header, arrays = arrayfile.read(tmp_path / "model.safetensors", "model", 1, ModelFileError)
    name = next(name for name in arrays if name.endswith(":indices"))
    arrays[name] = arrays[name] + 1_000_000
    arrayfile.write(tmp_path / "model.safetensors", header, arrays)
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "model.safetensors")


def test_the_columns_of_a_product_have_the_names_of_the_model():
    sizes, fur = GaussianDensity.from_parameters([1.0, 2.0], [1.0, 1.0]), BernoulliDensity.from_parameters([0.2, 0.5])
    parts = {"gaussian": sizes, "bernoulli": fur}
    product = ProductDensity.from_parameters(parts, {"gaussian": [1], "bernoulli": [0]})
    names = ["fur", "size"]
    mixture = MixtureDensity.from_parameters(product, [0, 1], [1.0, 1.0])
    for density in (product, mixture):
        model = Model(density, ["a", "b"], names=names)
        assert model.sample(3, random_state=0)[0].column_names == names
        with pytest.raises(DataError, match="column 'size' holds infinity"):
            model.llr(pd.DataFrame({"fur": [True], "size": [np.inf]}))
    assert product.names == ("x0", "x1")


def test_a_model_without_names_is_described(tmp_path):
    Model(heights(), ["F", "M"]).save(tmp_path / "model.safetensors")
    assert describe(tmp_path / "model.safetensors").columns == [("x0", "gaussian")]
    MixedClassifier("gamma").fit(X, NAMES).to_model().save(tmp_path / "mixed.safetensors")
    assert describe(tmp_path / "mixed.safetensors").columns == [(f"x{j}", "gamma") for j in range(4)]


def test_parameters_of_a_mixed_model_are_those_of_its_families():
    found = MixedClassifier({"d": "gamma"}).fit(TABLE, NAMES).parameters_
    assert found["gamma"]["columns"] == ["d"]
    assert found["gamma"]["shapes"].shape == (3, 1)


def test_logistic_models_keep_the_labels_they_are_given(tmp_path):
    learnt = LogisticClassifier().fit(X[50:], NAMES[50:]).model_
    Model(learnt, ["z", "a"]).save(tmp_path / "model.safetensors")
    assert load_model(tmp_path / "model.safetensors").classes.tolist() == ["a", "z"]


def test_score_reads_columns_as_they_were_learnt(tmp_path):
    table = pd.DataFrame({"zip": ["01", "1"] * 20, "label": ["a", "b"] * 20})
    table.to_csv(tmp_path / "rows.csv", index=False)
    clf = MixedClassifier().fit(table, "label")
    assert clf.score(str(tmp_path / "rows.csv"), "label") == 1


@pytest.mark.parametrize("estimator", [MixedClassifier, LogisticClassifier])
def test_usual_values_are_those_of_the_table(estimator):
    """Of numbers, of dates and of numbers as text."""
    days = pd.to_datetime("2031-05-01") + pd.to_timedelta(np.arange(80) % 21, unit="D")
    prices = [f"{1000 + i // 2 * 2:,}" for i in range(80)]
    table = pd.DataFrame({"day": days, "price": prices, "size": np.arange(80) / 8}).sample(frac=1, random_state=0)
    families = {"size": "yeo_johnson"}
    found = {each.name: each for each in inputs(estimator(families=families).fit(table, np.arange(80) % 2).to_model())}
    assert (found["day"].kind, found["day"].low) == ("date", None)
    assert "2031-05-05" < found["day"].typical < "2031-05-17"
    assert found["price"].kind == "numeral"
    assert found["price"].typical == pytest.approx(1040, abs=10)
    assert found["size"].typical == pytest.approx(5, abs=1)
    assert [each.name for each in found.values() if each.whole] == ["day", "price"]
    assert found["price"].low % 1 == found["price"].typical % 1 == found["price"].high % 1 == 0


def test_days_that_are_drawn_are_the_nearest_ones():
    days = pd.to_datetime(["2031-05-01"] * 98 + ["2031-05-02"] * 2)
    model = MixedClassifier().fit(pd.DataFrame({"day": days}), np.arange(100) % 2).to_model()
    drawn = model.sample(200, random_state=0)[0]["day"].to_pylist()
    assert sum(day.isoformat() == "2031-05-01" for day in drawn) > 190


def test_errors_of_names_have_a_remedy():
    numbers = pd.DataFrame({0: [1.0, 2, 3, 4], 1: [4.0, 1, 2, 3], 9: ["a", "b", "a", "b"]})
    with pytest.raises(DataError, match=r"no column '9' to take .*; rename the columns, such as by X"):
        GaussianClassifier().fit(numbers, "9")
    named = numbers.rename(columns=str)
    unnamed = GaussianClassifier("tied").fit(numbers[[0, 1]], named["9"]).to_model()
    warned = pytest.warns(UserWarning, match="fitted without feature names")
    with warned, pytest.raises(DataError, match=r"expecting 2 features as input\. Its columns had no"):
        unnamed.predict(named)
    model = dataclasses.replace(GaussianClassifier("tied").fit(named, "9").to_model(), target="9")
    with pytest.raises(DataError, match="unseen at fit time:\n- one\nFeature names seen"):
        model.predict(named.rename(columns={"1": "one"}))
