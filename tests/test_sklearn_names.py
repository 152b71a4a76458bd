"""scikit-learn's names do what scikit-learn's classes do; `make test-peers` runs scikit-learn's own tests of them."""

import inspect
import pickle
import sys
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression

import suffice.sklearn as ours
from suffice.errors import DataError, StatisticsError
from suffice.sklearn.__main__ import main

X, y = load_iris(return_X_y=True)
COUNTS = np.rint(10 * X)
HOMES = {
    "naive_bayes": ("GaussianNB", "MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB"),
    "discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "decomposition": ("PCA", "IncrementalPCA"),
    "covariance": ("EmpiricalCovariance", "ShrunkCovariance", "LedoitWolf", "OAS"),
    "mixture": ("GaussianMixture",),
    "linear_model": ("LogisticRegression",),
    "model_selection": ("GridSearchCV",),
}
THEIRS = {name: getattr(import_module(f"sklearn.{home}"), name) for home, names in HOMES.items() for name in names}
OWN = [getattr(ours, name) for name in THEIRS]
ADDITIVE = [name for name in THEIRS if hasattr(getattr(ours, name), "forget")]
CLASSIFIERS = [name for name in THEIRS if hasattr(getattr(ours, name), "llr") and name != "GridSearchCV"]


def rows(name):
    return COUNTS.astype(int) % 30 if name == "CategoricalNB" else COUNTS if name.endswith("lNB") else X


def test_every_name_stands_for_a_class_of_scikit_learn():
    assert set(ours.__all__) == {*THEIRS, "patch", "unpatch"}
    assert all(issubclass(getattr(ours, name), THEIRS[name]) for name in THEIRS)


def test_every_method_is_documented_here_or_by_scikit_learn():
    for name in THEIRS:
        own = getattr(ours, name)
        methods = [m for m in dir(own) if not m.startswith("_") and callable(getattr(own, m, None))]
        assert [m for m in methods if not inspect.getdoc(getattr(own, m))] == []


def test_every_parameter_is_documented_in_the_words_of_scikit_learn():
    for name in THEIRS:
        doc = inspect.getdoc(getattr(ours, name))
        assert [p for p in inspect.signature(THEIRS[name]).parameters if f"\n{p} : " not in doc] == []


CASES = [
    *((name, {}) for name in THEIRS if name not in ("GridSearchCV", "LogisticRegression", "GaussianMixture", "PCA")),
    ("GaussianNB", {"priors": [0.2, 0.3, 0.5], "var_smoothing": 0.1}),
    ("MultinomialNB", {"alpha": [0.1, 1, 2, 3], "fit_prior": False}),
    ("ComplementNB", {"norm": True}),
    ("BernoulliNB", {"binarize": 3.0, "alpha": 0.5}),
    ("CategoricalNB", {"min_categories": 40}),
    ("LinearDiscriminantAnalysis", {"solver": "lsqr", "shrinkage": 0.3, "priors": [0.2, 0.3, 0.5]}),
    ("LinearDiscriminantAnalysis", {"solver": "eigen", "n_components": 1}),
    ("LinearDiscriminantAnalysis", {"store_covariance": True, "priors": [0.2, 0.3, 0.5]}),
    ("QuadraticDiscriminantAnalysis", {"reg_param": 0.2, "store_covariance": True}),
    ("QuadraticDiscriminantAnalysis", {"solver": "eigen", "shrinkage": 0.3}),
    ("PCA", {"n_components": 2, "whiten": True}),
    ("PCA", {"n_components": "mle"}),
    ("PCA", {"n_components": 0.95}),
    ("EmpiricalCovariance", {"assume_centered": True}),
    ("LedoitWolf", {"assume_centered": True}),
    ("OAS", {"assume_centered": True, "store_precision": False}),
    *(("GaussianMixture", {"n_components": 3, "covariance_type": c}) for c in ("full", "tied", "diag", "spherical")),
    ("LogisticRegression", {"C": 0.1, "class_weight": "balanced"}),
    ("LogisticRegression", {"C": 0.1, "fit_intercept": False}),
]
LOOSE = {"LogisticRegression": 1e-2, "GaussianMixture": 1e-5}  # lbfgs stops early; scikit-learn's sums lose digits
NOT_COMPARED = {"n_iter_", "batch_size_"}


@pytest.mark.parametrize(("name", "params"), CASES, ids=lambda value: str(value)[:60])
def test_attributes_and_results_are_those_of_scikit_learn(name, params):
    params = params | ({"random_state": 0} if name == "GaussianMixture" else {})
    own, peer = getattr(ours, name)(**params).fit(rows(name), y), THEIRS[name](**params)
    if name == "LogisticRegression":
        peer.set_params(tol=1e-10, max_iter=10_000)
    if name == "IncrementalPCA":
        peer.set_params(batch_size=len(X))
    peer.fit(rows(name), y)
    assert own.backend_ == "suffice"
    loose = {"rtol": LOOSE.get(name, 1e-7), "atol": LOOSE.get(name, 1e-9)}
    attributes = {a for a in vars(peer) if a.endswith("_") and not a.startswith("_")} - NOT_COMPARED
    assert attributes <= set(vars(own))
    for attribute in attributes:
        one, two = getattr(own, attribute), getattr(peer, attribute)
        if attribute == "rotations_" or (attribute == "scalings_" and name.startswith("Linear")):  # signs are arbitrary
            one, two = (
                [np.abs(part[:2]) if name.startswith("L") else np.abs(part) for part in each] for each in (one, two)
            )
        assert type(one) is type(two) or np.isscalar(one)
        pairs = zip(one, two, strict=True) if isinstance(one, list) else [(one, two)]
        for a, b in pairs:
            if a is not None or b is not None:
                np.testing.assert_allclose(a, b, **loose, err_msg=attribute)
                assert np.isscalar(a) or a.dtype == b.dtype, attribute
    for method in (
        "predict_proba",
        "predict_log_proba",
        "decision_function",
        "transform",
        "score_samples",
        "mahalanobis",
    ):
        if hasattr(peer, method) and (method != "transform" or params.get("solver") != "lsqr"):
            one, two = (getattr(each, method)(rows(name)) for each in (own, peer))
            signs = np.sign(one[0] * two[0]) if method == "transform" else 1.0
            np.testing.assert_allclose(one * signs, two, **loose, err_msg=method)
    if hasattr(peer, "predict"):
        assert (own.predict(rows(name)) == peer.predict(rows(name))).all()


@pytest.mark.parametrize("name", ADDITIVE)
def test_models_add_up_and_forget(name):
    model, data, odd = getattr(ours, name)(), rows(name), np.arange(len(X)) % 2 == 1
    whole, half = clone(model).fit(data, y), clone(model).fit(data[~odd], y[~odd])
    other = clone(model).fit(data[odd], y[odd])
    for got, wanted in (
        (half + other, whole),
        (sum([half, other]), whole),
        ((half + other).forget(data[odd], y[odd]), half),
    ):
        for attribute in vars(THEIRS[name]().fit(data, y)):
            one, two = getattr(got, attribute), getattr(wanted, attribute)
            if attribute.endswith("_") and attribute not in ("batch_size_", "rotations_", "scalings_", "n_categories_"):
                pairs = zip(one, two, strict=False) if isinstance(one, list) else [(one, two)]
                for a, b in pairs:
                    shape = np.minimum(np.shape(a), np.shape(b))  # categories that were forgotten leave their place
                    cut = tuple(map(slice, shape))
                    np.testing.assert_allclose(np.asarray(a)[cut], np.asarray(b)[cut], rtol=1e-6, atol=1e-9)
    assert np.allclose(half.statistics_.weight.sum(), (~odd).sum())
    with pytest.raises(TypeError):
        half + 1


def state(model):
    return {name: np.copy(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("name", ADDITIVE)
def test_the_last_rows_are_not_forgotten(name):
    model = getattr(ours, name)().fit(rows(name), y)
    before, statistics = state(model), model.statistics_
    with pytest.raises(DataError, match="nothing is left to learn from"):
        model.forget(rows(name), y)
    assert model.statistics_ is statistics
    np.testing.assert_equal(state(model), before)


@pytest.mark.filterwarnings("ignore::suffice.errors.PrecisionWarning")
def test_a_model_that_cannot_forget_stays_as_it_is():
    model = ours.LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    before = state(model)
    with pytest.raises(np.linalg.LinAlgError):
        model.forget(X[2:-2], y[2:-2])
    np.testing.assert_equal(state(model), before)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_ratios_have_no_prior_and_decisions_take_any(name):
    data = rows(name)
    model = getattr(ours, name)().fit(data[50:130], y[50:130])
    ratio, posterior = model.llr(data), model.predict_proba(data)
    prior = np.bincount(y[50:130])[1:] / 80
    with np.errstate(divide="ignore"):
        odds = np.log(posterior[:, 1]) - np.log(posterior[:, 0])
    some = np.isfinite(odds)
    held = 0.0 if name == "ComplementNB" else np.log(prior[1] / prior[0])  # complement naive Bayes uses no prior
    np.testing.assert_allclose(ratio[some], odds[some] - held, rtol=1e-6, atol=1e-6)
    uniform = model.predict(data, prior="uniform")
    assert (uniform == np.where(ratio > 0, 2, 1))[ratio != 0].all()
    assert (model.predict(data, cost=[[0, 1e9], [1, 0]]) == 2).mean() > (model.predict(data) == 2).mean()
    np.testing.assert_allclose(model.to_model().predict_proba(data), posterior, atol=1e-12)
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.predict(data) == model.predict(data)).all()


@pytest.mark.parametrize("name", [name for name in ADDITIVE if hasattr(THEIRS[name], "partial_fit")])
def test_a_pickle_of_scikit_learn_goes_on_learning(name):
    data = rows(name)
    peer = THEIRS[name]().fit(data[::2], y[::2])
    try:
        stored = pickle.dumps(peer)
        ours.patch()
        own = pickle.loads(stored)
    finally:
        ours.unpatch()
    assert type(own) is getattr(ours, name)
    for part in (slice(1, None, 2), slice(0, 120)):
        for each in (own, peer):
            each.partial_fit(data[part], y[part])
        assert own.backend_ == "scikit-learn"
        for method in ("predict_proba", "transform"):
            if hasattr(peer, method):
                one, two = (getattr(each, method)(data[part]) for each in (own, peer))
                np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    assert own.fit(data, y).partial_fit(data, y).backend_ == "suffice"


@pytest.mark.parametrize("name", HOMES["naive_bayes"])
def test_rows_that_were_refused_do_not_end_the_learning(name):
    data, wrong = rows(name), np.full((3, 4), np.nan)
    model = getattr(ours, name)()
    with pytest.raises(ValueError, match=r"NaN|not finite"):
        model.partial_fit(wrong, y[:3], classes=[0, 1, 2])
    model.partial_fit(data, y)
    np.testing.assert_array_equal(model.predict_proba(data), getattr(ours, name)().fit(data, y).predict_proba(data))
    with pytest.raises(ValueError, match=r"NaN|not finite"):
        model.partial_fit(wrong, y[:3])
    assert model.partial_fit(data, y).backend_ == "suffice"


def test_a_sparse_part_that_was_refused_leaves_the_components_as_they_are():
    model = ours.IncrementalPCA().partial_fit(X)
    with pytest.raises(TypeError, match="sparse"):
        model.partial_fit(csr_array(X))
    assert model.backend_ == "suffice"
    assert model.partial_fit(X).forget(X).n_samples_seen_ == len(X)


def test_attributes_that_were_changed_by_hand_count():
    for name, attribute in (("GaussianNB", "theta_"), ("LinearDiscriminantAnalysis", "coef_")):
        model, peer = getattr(ours, name)().fit(X, y), THEIRS[name]().fit(X, y)
        for each in (model, peer):
            each.predict(X)
            array = getattr(each, attribute)
            array *= -1  # in place
        np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("LinearDiscriminantAnalysis", {"solver": "lsqr", "shrinkage": "auto"}),
        ("LinearDiscriminantAnalysis", {"tol": 1e-12}),
        ("QuadraticDiscriminantAnalysis", {"solver": "eigen", "shrinkage": "auto"}),
        ("PCA", {"svd_solver": "full"}),
        ("PCA", {"svd_solver": "randomized", "n_components": 2, "random_state": 0}),
        ("LogisticRegression", {"solver": "newton-cholesky"}),
        ("LogisticRegression", {"C": np.inf}),
        ("GridSearchCV", {"estimator": THEIRS["GaussianNB"](), "param_grid": {"var_smoothing": [1e-9, 1e-3]}}),
    ],
    ids=str,
)
def test_what_has_no_counterpart_is_left_to_scikit_learn(name, params):
    model, peer = getattr(ours, name)(**params).fit(X, y), THEIRS[name](**params).fit(X, y)
    assert model.backend_ == "scikit-learn"
    for method in ("predict", "transform"):
        if hasattr(peer, method) and (method != "transform" or params.get("solver") != "lsqr"):
            np.testing.assert_allclose(getattr(model, method)(X), getattr(peer, method)(X))
    if hasattr(model, "forget"):
        with pytest.raises(StatisticsError, match=r"scikit-learn's \w+ did the work"):
            model + model


@pytest.mark.parametrize(
    ("name", "grid"),
    [
        ("GaussianNB", {"var_smoothing": [1e-9, 1e-3, 0.1]}),
        ("BernoulliNB", {"binarize": [0.0, 8.0], "alpha": [0.1, 1.0]}),
        ("LinearDiscriminantAnalysis", [{"solver": ["lsqr"], "shrinkage": [0.1, "auto"]}, {"solver": ["svd", "lsqr"]}]),
        ("QuadraticDiscriminantAnalysis", {"solver": ["eigen"], "shrinkage": [0.0, 0.5]}),  # the first is not full rank
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more of the")
def test_a_grid_search_gives_the_scores_of_scikit_learn(name, grid):
    digits, labels = (part[:240] for part in load_digits(return_X_y=True))
    digits = digits[:, 8:32]
    settings = {"cv": 3, "scoring": ["accuracy", "neg_log_loss"], "refit": "accuracy", "return_train_score": True}
    own = ours.GridSearchCV(getattr(ours, name)(), grid, **settings).fit(digits, labels)
    peer = THEIRS["GridSearchCV"](THEIRS[name](), grid, **settings).fit(digits, labels)
    assert own.backend_ == "suffice"
    assert own.cv_results_.keys() == peer.cv_results_.keys()
    assert own.best_params_ == peer.best_params_
    for key in own.cv_results_:
        if "score" in key and "time" not in key and "rank" not in key:
            np.testing.assert_allclose(own.cv_results_[key], peer.cv_results_[key], rtol=1e-6, err_msg=key)
    assert (own.predict(digits, prior="uniform") == own.best_estimator_.predict(digits, prior="uniform")).all()


@pytest.mark.parametrize("error_score", [np.nan, "raise"])
@pytest.mark.parametrize(
    "grid", [{"nope": [1]}, [{"var_smoothing": [1e-9]}, {"nope": [1]}], {"nope__depth": [1]}], ids=str
)
def test_a_misspelt_parameter_of_a_grid_ends_the_search(grid, error_score):
    with pytest.raises(ValueError, match=r"^Invalid parameter 'nope' for estimator GaussianNB\("):
        ours.GridSearchCV(ours.GaussianNB(), grid, error_score=error_score).fit(X, y)


@pytest.mark.parametrize("n", [150, 15_000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "LogisticRegression"])
def test_scores_tell_of_rows_that_are_not_finite(name, bad, n):
    model, table = getattr(ours, name)().fit(X, y), np.tile(X, (n // 150, 1))
    if name == "LogisticRegression":
        model.coef_[:, 2] = 0.0  # which is no reason to overlook a column
    for j in range(4):
        holed = table.copy()
        holed[-1, j] = bad
        for method in ("predict", "predict_proba", "decision_function"):
            with pytest.raises(ValueError, match="Input X contains " + ("NaN" if np.isnan(bad) else "infinity")):
                getattr(model, method)(holed)


@pytest.mark.parametrize("params", [{}, {"n_components": 2, "whiten": True}, {"n_components": 0}])
@pytest.mark.parametrize("name", ["PCA", "IncrementalPCA"])
def test_many_rows_are_projected_as_scikit_learn_does(name, params):
    if name == "IncrementalPCA" and params.get("n_components") == 0:
        params = {"n_components": 1}  # as scikit-learn asks for
    table = np.tile(X, (200, 1))
    model, peer = getattr(ours, name)(**params).fit(X), THEIRS[name](**params)
    vars(peer).update({key: value for key, value in vars(model).items() if key != "statistics_"})
    for rows in (table, np.asfortranarray(table), table[:, ::-1], table.astype(np.float32), table * 1e300):
        with np.errstate(over="ignore"):
            found, expected = model.transform(rows), peer.transform(rows)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    for bad in (np.nan, np.inf):
        table[-1, 2] = bad
        with pytest.raises(ValueError, match="Input X contains " + ("NaN" if np.isnan(bad) else "infinity")):
            model.transform(table)
    frame = model.set_output(transform="pandas").transform(np.tile(X, (200, 1)))
    assert frame.columns.tolist() == model.get_feature_names_out().tolist()


@pytest.mark.parametrize("n_components", [None, "mle"])
def test_rows_with_constant_columns_have_a_density(n_components):
    rows = np.column_stack([X, np.full(150, 3.0)])  # scikit-learn's: LinAlgError
    least = 1e-9 * X.var(axis=0, ddof=1).sum() / 5
    expected = multivariate_normal(X.mean(axis=0), np.cov(X.T)).logpdf(X) - np.log(2 * np.pi * least) / 2
    model = ours.PCA(n_components).fit(rows)
    np.testing.assert_allclose(model.score_samples(rows), expected, rtol=1e-5)
    off = rows[:1] + np.array([0, 0, 0, 0, 1e-4])
    np.testing.assert_allclose(model.score_samples(off), expected[:1] - 1e-8 / least / 2, rtol=1e-6)


def test_columns_of_very_different_units_have_the_density_of_scikit_learn():
    table = X * [1e4, 1, 1, 1e-2]  # variances from 1 to 1e-12 of the largest
    model, peer = (each().fit(table) for each in (ours.PCA, THEIRS["PCA"]))
    np.testing.assert_allclose(model.score_samples(table), peer.score_samples(table), rtol=1e-6)


def test_a_warm_start_of_scikit_learns_name():
    model = ours.LogisticRegression(warm_start=True, tol=1e-8).fit(X, y)
    cold = model.n_iter_[0]
    assert model.backend_ == "suffice"
    assert model.fit(X, y).n_iter_[0] < cold
    np.testing.assert_allclose(model.coef_, ours.LogisticRegression(tol=1e-8).fit(X, y).coef_, rtol=1e-6)


def test_logistic_regression_of_few_numbers_is_the_optimum_whatever_tol_says():
    model, theirs = ours.LogisticRegression().fit(X, y), LogisticRegression(solver="newton-cholesky", tol=1e-12)
    np.testing.assert_allclose(model.coef_, theirs.fit(X, y).coef_, rtol=1e-8)


def test_a_category_out_of_bounds_is_an_index_error_that_says_what_to_do():
    model = ours.CategoricalNB().fit([[0, 1], [1, 0], [1, 2]], [0, 1, 1])
    with pytest.raises(IndexError, match=r"column 1 holds 5, which is out of bounds: there are 3 .* min_categories"):
        model.predict([[0, 5]])


def test_categories_that_the_last_rows_of_scikit_learn_lack_are_still_known():
    table = np.random.default_rng(0).integers(0, 5, (60, 2))
    peer, label = THEIRS["CategoricalNB"](), np.arange(60) % 2
    peer.fit(table, label).partial_fit(table % 3, label)  # n_categories_ is that of these rows
    own = ours.CategoricalNB()
    vars(own).update(vars(peer))
    for rows in (table, table % 3):
        np.testing.assert_allclose(own.predict_proba(rows), peer.predict_proba(rows), rtol=1e-12)
    with pytest.raises(IndexError, match="there are 5 categories"):
        own.predict(table + 1)


def test_rows_without_weight_declare_their_categories():
    given = [[0, 1], [1, 0], [1, 2]], [0, 1, 1], [1.0, 1.0, 0.0]
    one, two = (each.fit(*given) for each in (ours.CategoricalNB(), THEIRS["CategoricalNB"]()))
    np.testing.assert_allclose(one.predict_proba(given[0]), two.predict_proba(given[0]), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("GaussianNB", {}),
        ("LinearDiscriminantAnalysis", {}),
        ("LinearDiscriminantAnalysis", {"solver": "eigen"}),
        ("QuadraticDiscriminantAnalysis", {"store_covariance": True}),
        ("QuadraticDiscriminantAnalysis", {"solver": "eigen", "shrinkage": 0.1}),
    ],
)
@pytest.mark.parametrize("k", [2, 3])
def test_attributes_have_the_types_of_scikit_learn(name, params, k):
    rows, labels = X[y < k].astype(np.float32), np.array(["a", "b", "c"], object)[y[y < k]]
    one, two = (vars(each(**params).fit(rows, labels)) for each in (getattr(ours, name), THEIRS[name]))
    types = {a: np.asarray(value).dtype for a, value in two.items() if a.endswith("_")}
    assert {a: np.asarray(one[a]).dtype for a in types} == types


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_that_were_forgotten_are_told(name):
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        getattr(ours, name)().fit(rows(name), None)


@pytest.mark.parametrize("name", ["GaussianNB", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
def test_priors_of_other_classes_are_refused_by_fit(name):
    with pytest.raises(ValueError, match="Number of priors must match number of classes"):
        getattr(ours, name)(priors=[0.5, 0.5]).fit(X, y)


@pytest.mark.parametrize("name", ["GaussianNB", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
@pytest.mark.parametrize(("priors", "n"), [([0, 0.4, 0.6], 150), ([0, 1], 100), ([1, 0], 100)], ids=str)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")  # also in scikit-learn
def test_a_class_without_prior_is_never_predicted(name, priors, n):
    own, peer = (cls(priors=priors).fit(X[:n], y[:n]) for cls in (getattr(ours, name), THEIRS[name]))
    np.testing.assert_array_equal(own.predict(X), peer.predict(X))
    np.testing.assert_allclose(own.predict_proba(X), peer.predict_proba(X), rtol=1e-7, atol=1e-9)


def test_mixtures_score_whole_numbers_as_numbers():
    whole = np.rint(X).astype(int)  # of which scikit-learn cuts the log-densities, to whole numbers
    model = ours.GaussianMixture(2, random_state=0).fit(whole)
    np.testing.assert_allclose(model.score_samples(whole), model.score_samples(whole.astype(float)), rtol=1e-12)


@pytest.mark.parametrize("labels", [[-1, 0, 7], [True, False, True], ["a", "b", "c"]], ids=str)
def test_decisions_of_many_rows_are_labels(labels):
    given, table = np.array(labels)[y], np.tile(X, (200, 1))
    for kind in (given.dtype, object) if given.dtype.kind == "U" else (given.dtype, np.float32, np.int8):
        own, peer = (
            each().fit(X, given.astype(kind)).predict(table) for each in (ours.GaussianNB, THEIRS["GaussianNB"])
        )
        np.testing.assert_array_equal(own, peer)
        assert own.dtype == peer.dtype


def test_patch_puts_the_names_in_place_until_unpatch():
    import sklearn.naive_bayes

    try:
        ours.patch()
        ours.patch()
        from sklearn.naive_bayes import GaussianNB

        assert GaussianNB is ours.GaussianNB
        assert sklearn.discriminant_analysis.LinearDiscriminantAnalysis is ours.LinearDiscriminantAnalysis
        for name in ("GaussianNB", "BernoulliNB"):  # also where scikit-learn's own classes do the work
            search = ours.GridSearchCV(THEIRS[name](), {}, cv=2).fit(X, y)
            assert search.backend_ == "scikit-learn"
            assert set(ours.GridSearchCV(getattr(ours, name)(), {}, cv=2).fit(X, y).predict(X.tolist())) <= {0, 1, 2}
    finally:
        ours.unpatch()
    assert sklearn.naive_bayes.GaussianNB is THEIRS["GaussianNB"]


def test_modules_of_scikit_learn_that_are_loaded_meanwhile_get_its_classes_back(monkeypatch):
    later, mine = ModuleType("sklearn.later"), ModuleType("mine")
    for module in (later, mine):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    try:
        ours.patch()
        for module in (later, mine):
            exec("from sklearn.linear_model import LogisticRegression", vars(module))
            assert module.LogisticRegression is ours.LogisticRegression
    finally:
        ours.unpatch()
    assert later.LogisticRegression is THEIRS["LogisticRegression"]
    assert mine.LogisticRegression is ours.LogisticRegression  # which may have been meant
    theirs = [vars(module) for name, module in sys.modules.items() if name.split(".")[0] == "sklearn"]
    assert not any(value is own for names in theirs for value in names.values() for own in OWN)


def test_a_script_runs_unchanged(tmp_path, monkeypatch, capsys):
    (tmp_path / "helper.py").write_text("from sklearn.naive_bayes import GaussianNB\n")
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\nfrom helper import GaussianNB\nprint(GaussianNB().fit([[0], [1]], [0, 1]).backend_, sys.argv[1:])"
    )
    monkeypatch.setattr(sys, "argv", ["suffice.sklearn", str(script), "--fast"])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    try:
        main()
    finally:
        ours.unpatch()
        sys.modules.pop("helper", None)
    assert capsys.readouterr().out == "suffice ['--fast']\n"
    monkeypatch.setattr(sys, "argv", ["suffice.sklearn"])
    with pytest.raises(SystemExit, match="2"):
        main()


@pytest.mark.parametrize("name", ["GaussianNB", "MultinomialNB", "ComplementNB", "BernoulliNB", "LogisticRegression"])
@pytest.mark.parametrize("n", [5, 4000])  # scored at once, and piece by piece
def test_cells_that_are_not_finite_are_refused_as_scikit_learn_does(name, n):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (4000, 8)).astype(float), np.arange(4000) % 3
    model = getattr(ours, name)().fit(X, y)
    for bad, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        holed = X[:n].copy()
        holed[3, 2] = bad
        for call in (model.predict, model.predict_proba):
            with pytest.raises(ValueError, match=f"X contains {word}"):
                call(holed)
