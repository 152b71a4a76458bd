"""Logistic regression, against scikit-learn's own, and ratios from any classifier."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import GaussianClassifier, LLRCalibrator, LogisticClassifier, as_llr, cross_val_llr, load, metrics
from suffice.errors import ColumnWarning, DataError, DecisionError, ModelFileError, SeparableWarning
from suffice.regression import LogisticProblem, problem
from suffice.tables.labels import SoftLabels


@parametrize_with_checks([LogisticClassifier(), LogisticClassifier(expansion="quadratic", prior="uniform")])
def test_scikit_learn_conventions(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


@pytest.fixture(params=["two", "three"])
def flowers(request):
    X, y = load_iris(return_X_y=True)
    return (X, y) if request.param == "three" else (X, (y == 1).astype(int))


@pytest.mark.parametrize("expansion", ["linear", "quadratic"])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_scikit_learns(flowers, expansion, C, weighted):
    X, y = flowers
    weight = np.random.default_rng(1).random(len(y)) if weighted else None
    features = X if expansion == "linear" else PolynomialFeatures(2, include_bias=False).fit_transform(X)
    peer = LogisticRegression(C=C, tol=1e-9, max_iter=100_000).fit(features, y, sample_weight=weight)
    ours = LogisticClassifier(C, expansion=expansion, tol=1e-9, max_iter=100_000).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(features), atol=2e-5)


@pytest.mark.parametrize("expansion", ["linear", "quadratic"])
def test_coefficients_are_scikit_learns(flowers, expansion):
    X, y = flowers
    features = X if expansion == "linear" else PolynomialFeatures(2, include_bias=False).fit_transform(X)
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(features, y)
    ours = LogisticClassifier(expansion=expansion).fit(X, y)
    for name in ("coef_", "intercept_"):
        mine, theirs = getattr(ours, name), getattr(peer, name)
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs - (theirs.mean(axis=0) if len(theirs) > 2 else 0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("nearly", [0, 2])  # so that either of Newton's methods does the work
def test_without_an_intercept(flowers, nearly, monkeypatch):
    X, y = flowers
    monkeypatch.setattr("suffice.regression.problem._NEARLY", nearly)
    peer = LogisticRegression(fit_intercept=False, solver="newton-cholesky", tol=1e-12).fit(X, y)
    for rows in (X, sparse.csr_array(X)):
        ours = LogisticClassifier(fit_intercept=False).fit(rows, y)
        np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(ours.intercept_, 0.0, atol=1e-12)
    scaled = LogisticClassifier(fit_intercept=False, standardize=True).fit(X, y)
    peer = LogisticRegression(fit_intercept=False, solver="newton-cholesky", tol=1e-12).fit(X / X.std(axis=0), y)
    np.testing.assert_allclose(scaled.predict_proba(X), peer.predict_proba(X / X.std(axis=0)), atol=1e-6)
    np.testing.assert_allclose(scaled.intercept_, 0.0, atol=1e-12)


@pytest.mark.parametrize(("l1_ratio", "C"), [(1.0, 0.3), (0.5, 0.1)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_l1_and_the_elastic_net_are_scikit_learns(flowers, l1_ratio, C, fit_intercept, tmp_path):
    X, y = flowers
    X = (X - X.mean(axis=0)) / X.std(axis=0)  # saga takes long otherwise
    settings = {"C": C, "l1_ratio": l1_ratio, "fit_intercept": fit_intercept}
    older = LogisticRegression().penalty == "l2"  # versions of scikit-learn that ask for more than the ratio
    asked = settings | ({"penalty": "elasticnet"} if older else {})
    peer = LogisticRegression(**asked, solver="saga", tol=1e-9, max_iter=100_000, random_state=0).fit(X, y)
    ours = LogisticClassifier(**settings).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_array_equal(ours.coef_ == 0, np.abs(peer.coef_) < 1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    ours.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").coef_, ours.coef_)


def test_an_l1_penalty_of_columns_of_any_scale(flowers):
    X, y = flowers
    scale = np.array([1e-3, 1.0, 1e3, 1e6])
    settings = {"C": 0.5, "l1_ratio": 1.0, "standardize": True}
    ours, other = LogisticClassifier(**settings).fit(X, y), LogisticClassifier(**settings).fit(X * scale, y)
    np.testing.assert_allclose(other.coef_ * scale, ours.coef_, atol=1e-6)
    assert (ours.coef_ == 0).any()


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_a_warm_start_saves_steps(animals, l1_ratio):
    clf = LogisticClassifier(l1_ratio=l1_ratio, warm_start=True).fit(animals, "kind")
    cold, before = clf.n_iter_, clf.coef_
    assert clf.fit(animals, "kind").n_iter_ <= max(1, cold // 4)
    np.testing.assert_allclose(clf.coef_, before, atol=1e-6)
    fewer = animals[animals["kind"] != "b"]  # another number of classes: it starts anew
    again = LogisticClassifier(l1_ratio=l1_ratio).fit(fewer, "kind")
    np.testing.assert_allclose(clf.fit(fewer, "kind").coef_, again.coef_, atol=1e-6)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_the_tolerance_ends_the_search(flowers, l1_ratio):
    X, y = flowers
    steps = [LogisticClassifier(l1_ratio=l1_ratio, tol=tol).fit(X, y).n_iter_ for tol in (1e-1, 1e-3, 1e-9)]
    assert steps == sorted(set(steps))


@pytest.mark.parametrize("prior", ["uniform", None])
def test_coefficients_give_the_posteriors(flowers, prior):
    X, y = flowers
    weight = 1.0 + y
    tied = GaussianClassifier("tied", prior=prior).fit(X, y, weight).to_logistic()
    for model in (LogisticClassifier(prior=prior).fit(X, y, weight), tied):
        logit = X @ model.coef_.T + model.intercept_
        posterior = softmax(np.column_stack([np.zeros(len(X)), logit]) if logit.shape[1] == 1 else logit, axis=1)
        np.testing.assert_allclose(posterior, model.predict_proba(X), rtol=1e-9, atol=1e-300)
        for weights in (model.coef_, model.intercept_):
            assert len(weights) == 1 or np.abs(weights.sum(axis=0)).max() < 1e-9 * np.abs(weights).max()


def test_a_prior_weights_the_classes_and_leaves_the_ratio(flowers):
    X, y = flowers
    k = y.max() + 1
    prior = np.arange(1, k + 1) / np.arange(1, k + 1).sum()
    weight = (prior * len(y) / np.bincount(y))[y]
    peer = LogisticRegression(tol=1e-9, max_iter=100_000).fit(X, y, sample_weight=weight)
    ours = LogisticClassifier(prior=prior, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.predict_log_proba(X), peer.predict_log_proba(X), atol=1e-4)
    np.testing.assert_allclose(ours.prior_, prior)
    posterior = peer.predict_log_proba(X)
    expected = (posterior[:, 1] - posterior[:, 0]) - np.log(prior[1] / prior[0])
    np.testing.assert_allclose(ours.llr(X, 0, 1), expected, atol=1e-4)


def test_decisions_take_the_prior_and_the_cost_of_the_call():
    X, y = load_breast_cancer(return_X_y=True)
    clf = LogisticClassifier(prior=0.5, max_iter=10_000, tol=1e-3).fit(X[:, :3], y)
    for prior, cost in [(0.01, 1), (0.9, 30)]:
        decided = clf.predict(X[:, :3], prior=prior, cost=[[0, cost], [1, 0]])
        assert (decided == (clf.llr(X[:, :3]) > metrics.bayes_threshold(prior, cost, 1))).all()


def test_a_tied_gaussian_is_a_logistic_model(flowers):
    X, y = flowers
    gaussian = GaussianClassifier("tied").fit(X + 1e4, y)
    logistic = gaussian.to_logistic("uniform")
    assert isinstance(logistic, LogisticClassifier)
    np.testing.assert_allclose(
        logistic.predict_proba(X + 1e4), gaussian.predict_proba(X + 1e4, prior="uniform"), atol=1e-9
    )
    np.testing.assert_allclose(logistic.llr(X + 1e4, 0, 1), gaussian.llr(X + 1e4, 0, 1), atol=1e-6)


def test_columns_of_any_scale_take_few_steps():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=5000)
    X = (rng.normal(size=(5000, 4)) + rng.normal(size=(3, 4))[y]) * [1, 10, 0.1, 100]
    ours = LogisticClassifier(tol=1e-8).fit(X, y)
    peer = LogisticRegression(tol=1e-8, max_iter=10_000).fit(X, y)
    assert ours.n_iter_ < peer.n_iter_[0] / 10
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize(("C", "scale"), [(1.0, False), (1.0, True), (100.0, True)])
def test_squares_of_columns_take_few_steps(C, scale, monkeypatch):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X) if scale else X
    asked = []
    for name in ("loss", "hessian", "curvature"):
        method = getattr(LogisticProblem, name)
        monkeypatch.setattr(LogisticProblem, name, lambda *args, m=method: (asked.append(m.__name__), m(*args))[1])
    ours = LogisticClassifier(C, expansion="quadratic", tol=1e-9).fit(X, y)
    assert asked.count("loss") <= 40
    assert asked.count("hessian") == (0 if scale else asked.count("loss"))  # raw squares nearly follow from the columns
    assert (asked.count("curvature") > 0) == scale
    features = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    if scale:  # without, the peer finds a Hessian that is not to be inverted
        peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-9, max_iter=1000).fit(features, y)
        np.testing.assert_allclose(ours.model_.slope, peer.coef_, atol=1e-5)
    error = (ours.predict_proba(X) - np.eye(3)[y]).T @ features
    reached = np.abs(error + ours.model_.slope / C).max(axis=0)
    assert (reached < 1e-5 * np.abs(features).sum(axis=0)).all()


@pytest.mark.parametrize("nearly", [0, 2])  # so that no column, or every one, is taken to follow from others
@pytest.mark.parametrize("k", [2, 3])
def test_either_way_to_the_optimum(k, nearly, monkeypatch, rng):
    hessian, conditions = LogisticProblem.hessian, [1.0]
    monkeypatch.setattr("suffice.regression.problem._NEARLY", nearly)
    monkeypatch.setattr(
        LogisticProblem, "hessian", lambda *args: (conditions.append(np.linalg.cond(hessian(*args))), hessian(*args))[1]
    )
    y = np.arange(600) % k
    X = (rng.normal(size=(600, 3)) + np.eye(3)[y]) * [1, 10, 100]
    with pytest.warns(ConvergenceWarning, match="not done after 2 steps; raise max_iter"):
        assert LogisticClassifier(max_iter=2).fit(X, y).n_iter_ == 2
    ours = LogisticClassifier().fit(X, y)
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    assert (len(conditions) > 1) == (nearly > 0)
    assert max(conditions) < 1e8


def test_rows_may_be_sparse_named_or_float32(flowers):
    X, y = flowers
    dense = LogisticClassifier(tol=1e-10, max_iter=10_000).fit(X, y).predict_proba(X)
    for table in (sparse.csr_array(X), sparse.csc_matrix(X), np.asfortranarray(X), X.astype(np.float32)):
        proba = LogisticClassifier(tol=1e-10, max_iter=10_000).fit(table, y).predict_proba(table)
        np.testing.assert_allclose(proba, dense, atol=1e-4)


def test_a_frame_with_its_label_column(flowers):
    import pandas as pd

    X, y = flowers
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["u", "v", "w"])[y])
    clf = LogisticClassifier().fit(frame, "kind")
    assert clf.feature_names_in_.tolist() == list("abcd")
    assert (
        clf.predict(frame[list("abcd")]) == np.array(["u", "v", "w"])[clf.model_.classes.searchsorted(frame["kind"])]
    ).mean() > 0.6


@pytest.mark.parametrize("expansion", ["linear", "quadratic"])
def test_a_saved_model_is_the_same(flowers, expansion, tmp_path):
    X, y = flowers
    clf = LogisticClassifier(prior="uniform", expansion=expansion, max_iter=5000).fit(X, y)
    clf.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert isinstance(loaded, LogisticClassifier)
    assert loaded.get_params() == clf.get_params()
    assert (loaded.predict_proba(X) == clf.predict_proba(X)).all()


def test_a_file_with_parameters_that_do_not_fit(flowers, tmp_path, monkeypatch):
    X, y = flowers
    clf = LogisticClassifier().fit(X, y)
    to_arrays = type(clf.model_).to_arrays
    monkeypatch.setattr(type(clf.model_), "to_arrays", lambda self: {**to_arrays(self), "expansion": np.array(1)})
    clf.save(tmp_path / "model.safetensors")
    with pytest.raises(ModelFileError, match="do not fit together"):
        load(tmp_path / "model.safetensors")


@pytest.mark.parametrize(
    ("fit", "error", "message"),
    [
        (lambda X, y: LogisticClassifier(C=0).fit(X, y), DataError, "C=0 must be a number above zero"),
        (
            lambda X, y: LogisticClassifier(l1_ratio=2).fit(X, y),
            DataError,
            "l1_ratio=2 must be a number from 0, for L2",
        ),
        (lambda X, y: LogisticClassifier(max_iter=2.5).fit(X, y), DataError, "whole number"),
        (lambda X, y: LogisticClassifier(expansion="cubic").fit(X, y), DataError, "expansion='cubic' is not known"),
        (lambda X, y: LogisticClassifier(prior=[1.0] + [0.0] * y.max()).fit(X, y), DecisionError, "prior 0"),
        (lambda X, y: LogisticClassifier().fit(X, np.zeros(len(y))), DataError, "1 class"),
        (lambda X, y: LogisticClassifier().fit(X, y, y == 0), DataError, "1 class: 0; leave out the rows of 1"),
        (lambda X, y: LogisticClassifier().fit(X, np.r_[9, y[1:]], np.arange(len(y)) > 0), DataError, "rows of 9"),
        (
            lambda X, y: LogisticClassifier(expansion="quadratic").fit(np.where(X.max() == X, np.nan, X), y),
            DataError,
            "X contains NaN",
        ),
        (
            lambda X, y: LogisticClassifier().fit(X, SoftLabels(np.array([0, 1]), np.full((len(y), 2), 0.5))),
            DataError,
            "not soft",
        ),
    ],
)
def test_clear_errors(flowers, fit, error, message):
    with pytest.raises(error, match=message):
        fit(*flowers)


@pytest.fixture
def animals(rng):
    import pandas as pd

    n = 300
    kind = rng.integers(3, size=n)
    frame = pd.DataFrame(
        {
            "fur": np.array(["black", "white", "calico", "orange"])[(kind + rng.integers(3, size=n)) % 4],
            "kg": 4 + kind + rng.normal(size=n),
            "grams": 1000 * rng.normal(size=n),
            "tame": rng.random(n) < 0.3 + 0.2 * kind,
            "litter": rng.integers(1, 5, n),
        }
    )
    frame.loc[rng.random(n) < 0.2, "kg"] = np.nan
    frame.loc[rng.random(n) < 0.1, "fur"] = None
    return frame.assign(kind=np.array(["a", "b", "c"])[kind])


def encoded(frame):
    """The same features, by scikit-learn."""
    numbers = ["kg", "grams", "tame", "litter"]
    imputed = StandardScaler().fit_transform(frame[numbers].astype(float).fillna(frame["kg"].mean()))
    marks = frame[["fur", "kg"]].isna()
    colours = [frame["fur"] == colour for colour in ("black", "calico", "orange", "white")]
    return np.column_stack([imputed, marks, *colours]).astype(float)


@pytest.mark.parametrize("two", [False, True])
def test_whole_tables_against_scikit_learn(animals, two):
    frame = animals[animals["kind"] != "b"] if two else animals
    weight = np.random.default_rng(2).integers(1, 4, len(frame)).astype(float)
    repeated = frame.loc[frame.index.repeat(weight.astype(int))]
    features = encoded(repeated)
    peer = LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-13, max_iter=1000).fit(features, repeated["kind"])
    ours = LogisticClassifier(0.5).fit(frame, "kind", sample_weight=weight)
    assert ours.coef_names_.tolist() == [
        *("kg", "grams", "tame", "litter", "fur_missing", "kg_missing"),
        *("fur_black", "fur_calico", "fur_orange", "fur_white"),
    ]
    np.testing.assert_allclose(ours.predict_proba(repeated), peer.predict_proba(features), atol=1e-6)
    peer_slopes = peer.coef_ - (0 if two else peer.coef_.mean(axis=0))
    np.testing.assert_allclose(ours.coef_[:, 4:], peer_slopes[:, 4:], atol=1e-5)
    by_copies = LogisticClassifier(0.5).fit(repeated, "kind")
    np.testing.assert_allclose(by_copies.coef_, ours.coef_, atol=1e-6)


def test_units_and_orders_do_not_matter(animals, rng):
    base = LogisticClassifier().fit(animals, "kind").predict_log_proba(animals)
    rows = rng.permutation(len(animals))
    others = {
        "units": animals.assign(kg=7 + animals["kg"] / 1000, grams=animals["grams"] * 1e6),
        "columns": animals[["grams", "kind", "litter", "tame", "kg", "fur"]],
        "constant": animals.assign(constant=3.0, same="x"),
        "rows": animals.iloc[rows],
    }
    for name, frame in others.items():
        expected = base[rows] if name == "rows" else base
        ours = LogisticClassifier().fit(frame, "kind")
        np.testing.assert_allclose(ours.predict_log_proba(frame), expected, atol=1e-6, err_msg=name)


def test_identifiers_are_left_out_with_a_warning(animals):
    """As by MixedClassifier; columns that are constant, or that hold nothing, stay."""
    frame = animals.assign(name=[f"animal {i}" for i in range(len(animals))], same="x", none=np.nan)
    for families in (None, "auto"):
        with pytest.warns(ColumnWarning, match="column 'name' is left out: it has .* different values"):
            clf = LogisticClassifier(families=families).fit(frame, "kind")
        assert clf.predict_proba(frame.assign(name="?")).tolist() == clf.predict_proba(frame).tolist()
        families_of = dict(zip(clf.schema_.names, clf.schema_.families, strict=True))
        assert [name for name, family in families_of.items() if family == "drop"] == ["name"]


def test_unknown_and_missing_cells_at_prediction(animals):
    import pandas as pd

    clf = LogisticClassifier().fit(animals.dropna(), "kind")
    row = animals.dropna().drop(columns="kind").iloc[[0]]
    mean = row.assign(kg=animals.dropna()["kg"].mean())
    np.testing.assert_allclose(clf.llr(row.assign(kg=np.nan), "a", "b"), clf.llr(mean, "a", "b"), atol=1e-12)
    no_fur = clf.llr(row.assign(fur="green"), "a", "b")
    np.testing.assert_allclose(clf.llr(row.assign(fur=None), "a", "b"), no_fur)
    own = clf.coef_names_.tolist().index(f"fur_{row['fur'].iloc[0]}")
    expected = no_fur + clf.coef_[1, own] - clf.coef_[0, own]
    np.testing.assert_allclose(clf.llr(row, "a", "b"), expected)
    with pytest.raises(DataError, match=r"infinity.*'kg'"):
        clf.predict(pd.concat([row, row.assign(kg=np.inf)]))
    with pytest.raises(DataError, match=r"infinity.*'kg'"):
        LogisticClassifier().fit(animals.assign(kg=np.inf), "kind")


def test_families_of_columns(animals):
    counted = LogisticClassifier(families="auto").fit(animals, "kind")
    assert "litter_3" in counted.coef_names_
    dropped = LogisticClassifier(families={"fur": "drop", "litter": "categorical"}).fit(animals, "kind")
    assert dropped.coef_names_.tolist() == ["kg", "grams", "tame", "kg_missing", *(f"litter_{i}" for i in range(1, 5))]
    raw = LogisticClassifier(standardize=False).fit(animals, "kind")
    scaled = LogisticClassifier(standardize=True).fit(animals, "kind")
    assert abs(raw.coef_[0, 1] - scaled.coef_[0, 1]) > 1e-9
    numbers = animals[["kg", "grams"]].dropna()
    kinds = animals.loc[numbers.index, "kind"]
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-13).fit(StandardScaler().fit_transform(numbers), kinds)
    ours = LogisticClassifier(standardize=True).fit(numbers, kinds)
    np.testing.assert_allclose(
        ours.predict_proba(numbers), peer.predict_proba(StandardScaler().fit_transform(numbers)), atol=1e-6
    )
    with pytest.raises(DataError, match="standardize=2"):
        LogisticClassifier(standardize=2).fit(numbers, kinds)
    with pytest.raises(DataError, match="a sparse matrix supports neither"):
        LogisticClassifier(standardize=True).fit(sparse.csr_array(numbers), kinds)


def test_many_categories_are_sparse_inside(rng):
    import pandas as pd

    n = 6000
    frame = pd.DataFrame({f"c{j}": [f"k{i}" for i in rng.integers(200, size=n)] for j in range(3)}).assign(
        x=rng.normal(size=n)
    )
    y = (frame["c0"].str[1:].astype(int) > 100) ^ (rng.random(n) < 0.2)
    ours = LogisticClassifier().fit(frame, y)
    hot = OneHotEncoder().fit_transform(frame[["c0", "c1", "c2"]])
    features = sparse.hstack([hot, sparse.csr_matrix(StandardScaler().fit_transform(frame[["x"]]))]).tocsr()
    peer = LogisticRegression(solver="newton-cg", tol=1e-9, max_iter=1000).fit(features, y)
    np.testing.assert_allclose(ours.predict_proba(frame), peer.predict_proba(features), atol=1e-5)


@pytest.mark.parametrize("kind", ["pandas", "csv", "list"])
def test_tables_of_any_kind_are_saved_and_loaded(animals, kind, tmp_path):
    from suffice import load_model

    X, y = animals.drop(columns="kind"), animals["kind"]
    path = tmp_path / "animals.csv"
    animals.to_csv(path, index=False)
    clf = LogisticClassifier(families={"litter" if kind != "list" else 4: "categorical"})
    clf.fit(*{"pandas": (X, y), "csv": (path, "kind"), "list": (X.astype(object).to_numpy(), y)}[kind])
    rows = {"pandas": X, "csv": path, "list": X.astype(object).to_numpy()}[kind]
    expected = LogisticClassifier(families={"litter": "categorical"}).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(clf.predict_proba(rows), expected, atol=1e-7)
    clf.save(tmp_path / "model.safetensors")
    for loaded in (load(tmp_path / "model.safetensors"), load_model(tmp_path / "model.safetensors")):
        np.testing.assert_array_equal(loaded.predict_proba(rows), clf.predict_proba(rows))


def test_families_by_type_selector_and_feature_are_saved_by_name(animals, tmp_path):
    families = {int: "categorical", "grams": "binned", "tame": "drop"}
    rows = animals.assign(none=None)
    clf = LogisticClassifier(families=families).fit(rows, "kind")
    clf.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert loaded.families["litter"] == "categorical"
    assert loaded.families["grams"] == "binned"
    assert loaded.families["tame"] == "drop"
    np.testing.assert_array_equal(loaded.predict_proba(rows), clf.predict_proba(rows))
    again = loaded.fit(rows, "kind").coef_names_
    assert again.tolist() == clf.coef_names_.tolist()


def test_ratios_of_other_peoples_classifiers(flowers):
    X, y = flowers
    peer, ours = GaussianNB(var_smoothing=0).fit(X, y), GaussianClassifier("diag").fit(X, y)
    np.testing.assert_allclose(as_llr(peer, X, a=0, b=1), ours.llr(X, 0, 1), atol=1e-7)
    whole = as_llr(peer, X)
    two = y.max() == 1
    np.testing.assert_allclose(whole if two else whole[:, 1] - whole[:, 0], ours.llr(X, 0, 1), atol=1e-7)
    truths = BernoulliNB(alpha=1).fit(X.mean(axis=0) < X, y)  # keeps its prior as a logarithm
    joint = truths.predict_joint_log_proba(X.mean(axis=0) < X) - truths.class_log_prior_
    np.testing.assert_allclose(as_llr(truths, X.mean(axis=0) < X, a=0, b=1), joint[:, 1] - joint[:, 0])


def test_the_prior_of_a_forest_has_to_be_said(flowers):
    X, y = flowers
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    with pytest.raises(DataError, match="give it as prior="):
        as_llr(forest, X)
    ratio = as_llr(forest, X, np.bincount(y) / len(y), a=0, b=1)
    assert not np.isnan(ratio).any()
    assert np.isinf(ratio).any()
    with pytest.raises(DataError, match="no posteriors; calibrate"):
        as_llr(RidgeClassifier().fit(X, y), X)
    with pytest.raises(NotFittedError):
        as_llr(RandomForestClassifier(), X)
    with pytest.raises(DataError, match="give two classes"):
        as_llr(forest, X, np.bincount(y) / len(y), a=0)
    with pytest.raises(DataError, match="without zeros"):
        as_llr(forest, X, np.eye(y.max() + 1)[0])


def test_held_out_ratios_are_pooled(flowers):
    X, y = flowers
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    forest = RandomForestClassifier(5, random_state=0)
    for clf in (LogisticClassifier(prior="uniform"), GaussianClassifier("full"), forest):
        pooled = cross_val_llr(clf, X, y, cv=folds, a=0, b=1)
        for train, test in folds.split(X, y):
            fitted = clone(clf).fit(X[train], y[train])
            if clf is forest:
                expected = as_llr(fitted, X[test], np.bincount(y[train]) / len(train), a=0, b=1)
            else:
                expected = fitted.llr(X[test], 0, 1)
            np.testing.assert_allclose(pooled[test], expected, rtol=1e-9)
    assert cross_val_llr(GaussianClassifier(), X, y).shape == ((150, 3) if y.max() == 2 else (150,))


def test_labels_may_be_a_column_of_the_table(flowers):
    import pandas as pd

    X, y = flowers
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=y)
    np.testing.assert_array_equal(
        cross_val_llr(GaussianClassifier(), frame, "kind"), cross_val_llr(GaussianClassifier(), X, y)
    )


def test_one_row_that_overflows_spoils_no_other():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 2))
    clf = LogisticClassifier(expansion="quadratic", n_jobs=1).fit(X[:1000], X[:1000, 0] > 0)
    X[0] = 1e200
    with pytest.raises(DataError, match="too large to be scored"):
        clf.predict_proba(X)


@pytest.mark.parametrize(("C", "prior"), [(1.0, 1e-6), (1e6, 1e-6), (1e4, 0.5)])
def test_rare_classes_are_not_left_early(C, prior):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 500)
    X = rng.normal(size=(1000, 1)) + 2 * y[:, None]
    weight = np.where(y == 1, 2 * prior, 2 * (1 - prior))
    peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-14, max_iter=10_000).fit(X, y, sample_weight=weight)
    slope = LogisticClassifier(C, prior=prior).fit(X, y).model_.slope
    assert slope[1, 0] - slope[0, 0] == pytest.approx(peer.coef_[0, 0], rel=1e-3)


@pytest.mark.parametrize(
    ("n", "d", "k", "apart", "C"),
    [(2000, 1, 2, 4, 1e4), (2000, 1, 2, 4, 1.0), (2000, 4, 2, 5, 1e4), (3000, 5, 3, 8, 1e4), (3000, 5, 3, 5, 100.0)],
)
def test_classes_that_are_nearly_separable_are_not_left_early(n, d, k, apart, C):
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    mean = rng.normal(size=(k, d))
    X = rng.normal(size=(n, d)) + apart * (mean / np.linalg.norm(mean, axis=1, keepdims=True))[y]
    peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(X, y)
    slope = LogisticClassifier(C).fit(X, y).model_.slope
    expected = peer.coef_ if k > 2 else np.concatenate([0 * peer.coef_, peer.coef_])
    np.testing.assert_allclose(slope, expected, atol=1e-4 * np.abs(expected).max())


def test_a_rare_class_among_others_is_as_exact(rng):
    prior = np.array([0.5, 0.5 - 1e-5, 1e-5])
    y = np.arange(1500) % 3
    X = rng.normal(size=(1500, 3)) + 2 * np.eye(3)[y]
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-13, max_iter=1000).fit(X, y, 3 * prior[y])
    clf = LogisticClassifier(prior=prior).fit(X, y)
    np.testing.assert_allclose(clf.model_.slope, peer.coef_, rtol=1e-3)


@pytest.mark.parametrize("value", [0.0, 1e8])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_a_constant_column_changes_nothing(flowers, value, wrap):
    X, y = flowers
    with_constant = wrap(np.c_[X, np.full(len(X), value)])
    expected = LogisticClassifier(1e9).fit(X, y).predict_proba(X)
    found = LogisticClassifier(1e9).fit(with_constant, y).predict_proba(with_constant)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_sparse_rows_far_out_and_of_integers(rng):
    x = rng.normal(size=300)
    y = (x + 0.3 * rng.normal(size=300) > 0).astype(int)
    far = sparse.csr_array((x + 1e8)[:, None])
    assert LogisticClassifier().fit(far, y).score(far, y) > 0.8
    wide = sparse.csr_array(np.c_[rng.integers(0, 100_000, 300), (100 * x).astype(int)]).astype(np.int32)
    assert LogisticClassifier().fit(wide, y).score(wide, y) > 0.8
    damaged = sparse.csr_array(np.eye(4))
    damaged.indices[2] = 10**7
    with pytest.raises(DataError, match="damaged"):
        LogisticClassifier().fit(damaged, [0, 1, 0, 1])


def test_the_prior_is_found_inside_pipelines_and_where_it_is_not_used(rng):
    y = np.repeat([0, 1], [90, 10])
    X = rng.normal(size=(100, 2)) + y[:, None]
    clf = GaussianClassifier(prior="uniform")
    inside = cross_val_llr(make_pipeline(StandardScaler(), clf), X, y)
    np.testing.assert_allclose(inside, cross_val_llr(clf, X, y), atol=1e-9)
    counts = rng.poisson(3, size=(100, 4))
    complement = ComplementNB().fit(counts, y)
    joint = complement.predict_joint_log_proba(counts)
    np.testing.assert_allclose(as_llr(complement, counts), joint[:, 1] - joint[:, 0], atol=1e-9)
    with pytest.raises(DataError, match="class_weight changes the prior"):
        cross_val_llr(LogisticRegression(class_weight="balanced"), X, y)
    assert np.isfinite(cross_val_llr(LogisticRegression(class_weight="balanced"), X, y, prior=0.5)).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y, cv: cross_val_llr(GaussianClassifier(), X, y, cv),
        lambda X, y, cv: LLRCalibrator().held_out(X[:, 0], y, cv),
    ],
)
def test_folds_must_test_every_row_once(call):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(DataError, match="every row once"):
        call(X, y, ShuffleSplit(2, random_state=0))


def test_folds_must_have_every_class():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(DataError, match="missing in the training rows"):
        cross_val_llr(GaussianClassifier(), X, y, cv=KFold(3))


def test_scores_of_a_machine_become_ratios():
    X, y = load_breast_cancer(return_X_y=True)
    margin = cross_val_predict(RidgeClassifier(), X, y, method="decision_function")
    calibrated = LLRCalibrator().held_out(margin, y)
    assert metrics.cllr(y, calibrated) < 0.3 < metrics.cllr(y, margin)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("params", [{}, {"fit_intercept": False}, {"C": np.inf}, {"warm_start": True}])
def test_a_sample_of_many_rows_changes_the_way_and_not_the_optimum(k, params, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(k, size=6000))
    X, weight = rng.standard_normal((6000, 2)) + y[:, None] * [1.0, 0.3], rng.integers(3, size=6000)
    drawn = []
    sample = LogisticProblem.sample
    monkeypatch.setattr(LogisticProblem, "sample", lambda *args: drawn.append(sample(*args)) or drawn[-1])
    LogisticClassifier(**params).fit(X, y, weight)
    assert not drawn  # these are few cells
    monkeypatch.setattr(problem, "_QUICK", 0)
    model = LogisticClassifier(**params).fit(X, y, weight)
    assert [found.n_rows < 1000 for found in drawn] == [True]
    if params.get("warm_start"):
        model.fit(X, y, weight)
        assert model.n_iter_ <= 1
    monkeypatch.setattr(problem, "_SAMPLES", np.inf)
    plain = LogisticClassifier(**params).fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, rtol=1e-8, atol=1e-8)


def test_a_sample_serves_columns_that_nearly_follow_from_others_too(monkeypatch):
    monkeypatch.setattr(problem, "_QUICK", 0)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=10_000)
    X = rng.standard_normal((10_000, 2)) + y[:, None]
    X = np.column_stack([X, X.sum(axis=1) + 0.01 * rng.standard_normal(10_000)])
    model = LogisticClassifier().fit(X, y)
    assert model.n_iter_ < 10
    theirs = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-6)


@pytest.mark.parametrize("n", [1000, 40_000])
def test_columns_of_heavy_tails_do_not_take_many_steps(n):
    rng = np.random.default_rng(1)
    X = np.exp(3 * rng.standard_normal((n, 5)))
    y = (np.log(X[:, 0]) + rng.standard_normal(n) > 2).astype(int)
    model = LogisticClassifier(max_iter=100, standardize=False).fit(X, y)
    theirs = LogisticRegression(solver="newton-cholesky", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_ * X.std(axis=0), theirs.coef_ * X.std(axis=0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("k", [2, 3])
def test_columns_that_follow_from_others_do_not_lead_away(k, rng):
    """Without a penalty, nothing but rounding tells their slopes."""
    fur = np.eye(4)[rng.integers(0, 4, 300)]
    X = np.column_stack([rng.normal(size=(300, 2)), fur, np.ones(300)])
    X = np.column_stack([X, X[:, 0], 3 * X[:, 0] - X[:, 1] / 3])
    y = (X @ rng.normal(size=(9, k)) + rng.gumbel(size=(300, k))).argmax(axis=1)
    clf, few = (LogisticClassifier(C=np.inf).fit(table, y) for table in (X, X[:, :5]))
    assert np.abs(clf.coef_).max() < 20  # they were 1e7 and more
    assert clf.n_iter_ <= few.n_iter_ + 1
    np.testing.assert_allclose(clf.predict_proba(X), few.predict_proba(X[:, :5]), atol=1e-8)


def quasi(n, rng, k=2, heavy=False):
    """Rows whose classes overlap; the last column is 1 in five of them, which have the same class."""
    X = np.column_stack([rng.standard_t(1, (n, 3)) if heavy else rng.normal(size=(n, 3)), np.arange(n) < 5])
    y = (X @ rng.normal(size=(4, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)
    return X, np.where(X[:, 3] > 0, 1, y)


WITHOUT_OPTIMUM = {
    "rows of the same value": lambda rng: ([[0.0], [1], [2], [2], [3], [4]], [0, 0, 0, 1, 1, 1]),
    "one class of three": lambda rng: load_iris(return_X_y=True),
    "all classes": lambda rng: load_wine(return_X_y=True),
    "a value of few rows": lambda rng: quasi(200, rng),
    "a value of few of many rows": lambda rng: quasi(50_000, rng),
    "a value of few rows of three classes": lambda rng: quasi(300, rng, 3),
    "a value of rows of heavy tails": lambda rng: quasi(300, rng, heavy=True),
    "sparse rows": lambda rng: (sparse.csr_array((rows := quasi(300, rng))[0]), rows[1]),
    "a category": lambda rng: (pa.table({"fur": list("abcd") * 10}), [0, 0, 0, 1, 1, 1, 0, 0] * 5),
}


@pytest.mark.parametrize("case", WITHOUT_OPTIMUM)
@pytest.mark.parametrize("tol", [1e-4, 1e-10, 1e-12])
def test_coefficients_that_would_grow_without_end_are_told(case, tol, rng):
    X, y = WITHOUT_OPTIMUM[case](rng)
    with pytest.warns(SeparableWarning, match="would grow without end; give a finite C"):
        LogisticClassifier(C=np.inf, tol=tol).fit(X, y)
    LogisticClassifier(C=100.0).fit(X, y)


def test_coefficients_that_would_grow_without_end_are_told_where_no_hessian_is_factored(rng):
    X, y = quasi(2500, rng)
    with pytest.warns(SeparableWarning):
        LogisticClassifier(C=np.inf).fit(np.column_stack([X, rng.normal(size=(2500, 600))]), y)


def test_a_warm_start_tells_it_again():
    clf = LogisticClassifier(C=np.inf, warm_start=True)
    for _ in range(3):
        with pytest.warns(SeparableWarning):
            clf.fit(*load_iris(return_X_y=True))


def overlapping(n, rng, size, heavy=False):
    X = rng.standard_t(1, (n, 3)) if heavy else rng.normal(size=(n, 3))
    return X, (size * X @ [3.0, 2.0, -1.0] + rng.logistic(size=n) > 0).astype(int)


WITH_OPTIMUM = {
    "two kinds of flowers": lambda rng: tuple(part[50:] for part in load_iris(return_X_y=True)),
    "strong effects": lambda rng: overlapping(20_000, rng, 100),
    "strong effects of heavy tails": lambda rng: overlapping(20_000, rng, 3, heavy=True),
    "nearly the same value": lambda rng: ([[0.0], [1], [2], [2.001], [3], [4]], [0, 0, 1, 0, 1, 1]),
    "columns that follow from others": lambda rng: ((X := overlapping(99, rng, 1))[0][:, [0, 1, 2, 0]], X[1]),
    "a category": lambda rng: (pa.table({"fur": list("abcd") * 10}), [0, 0, 0, 1, 1, 1, 1, 0] * 5),
    "an intercept that stays zero": lambda rng: ([[0.0], [1], [2], [2], [3], [4]], [0, 0, 0, 1, 1, 1]),
}


@pytest.mark.parametrize("case", WITH_OPTIMUM)
@pytest.mark.parametrize("tol", [1e-2, 1e-10, 1e-14])
def test_optima_far_out_are_optima(case, tol, rng):
    LogisticClassifier(C=np.inf, tol=tol, fit_intercept="zero" not in case).fit(*WITH_OPTIMUM[case](rng))


def test_rows_without_weight_do_not_separate():
    X, y = [[0.0], [1.0], [2.0], [1.0], [2.0], [9.0]], [0, 0, 1, 1, 0, 1]
    LogisticClassifier(C=np.inf).fit(X, y, sample_weight=[1, 1, 1, 1, 1, 0])
