"""Model files: what is written is read, bit for bit, and what is not whole is refused."""

import json
import multiprocessing
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

import suffice.stats.counts
from suffice import (
    PCA,
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    MixedClassifier,
    MixtureClassifier,
    MultinomialClassifier,
    PoissonClassifier,
    arrayfile,
    load,
    load_model,
    modelfile,
)
from suffice.errors import DataError, DecisionError, ModelFileError

COVARIANCES = ["full", "diag", "tied", "tied_diag", "spherical", "tied_spherical"]


def rows(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    code = np.arange(n) % 2
    return rng.normal(size=(n, d)) + code[:, None], code


def fitted(labels=("a", "b"), **params):
    X, code = rows()
    return GaussianClassifier(**params).fit(X, np.array(labels)[code])


def same_model(a, b, X):
    assert type(a) is type(b)
    assert a.classes_.dtype == b.classes_.dtype
    assert list(map(type, a.classes_.tolist())) == list(map(type, b.classes_.tolist()))
    np.testing.assert_array_equal(a.classes_, b.classes_)
    mine, theirs = a.statistics_.to_arrays(), b.statistics_.to_arrays()
    assert mine.keys() == theirs.keys()
    for name in mine:
        np.testing.assert_array_equal(mine[name], theirs[name])
    np.testing.assert_array_equal(a.prior_, b.prior_)
    np.testing.assert_array_equal(a.log_likelihood(X), b.log_likelihood(X))
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """The bytes of a whole file."""
    path = tmp_path_factory.mktemp("whole") / "m"
    fitted().save(path)
    return path.read_bytes()


# Round trips.

LABELS = {
    "U": np.array(["ham", "Gruß 日本"]),
    "empty": np.array(["", "x"]),
    "object": np.array(["ham", "spam"], object),
    "int64": np.array([-5, 2**62]),
    "int8": np.array([-128, 127], np.int8),
    "uint64": np.array([0, 2**64 - 1], np.uint64),
    "big-endian": np.array([1, 2], ">i4"),
    "bool": np.array([False, True]),
    "float64": np.array([-1.0, 3.0]),
    "float32": np.array([0.0, 2.0**24], np.float32),
    "bytes": np.array([b"ham", b"spam"]),
    "bytes beyond ASCII": np.array([b"\xe9", b"\xff\xfe"]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_every_type_come_back(path, labels):
    clf = fitted(labels)
    clf.save(path)
    same_model(load(path), clf, rows(seed=1)[0])


PRIORS = [
    ("ab", None),
    ("ab", "uniform"),
    ("ab", [0.25, 0.75]),
    ("ab", (0.25, 0.75)),
    ("ab", np.array([0.25, 0.75], np.float32)),
    ("ab", {"a": 0.25, "b": 0.75}),
    ("ab", {np.str_("b"): np.float32(0.75), "a": 0.25}),
    ([3, 7], {7: 0.75, 3: 0.25}),
    ([False, True], {True: 0.75, False: 0.25}),
    ([3.0, 7.0], {7.0: 0.75, 3: 0.25}),
    ([b"a", b"b"], {b"b": 0.75, b"a": 0.25}),
]


@pytest.mark.parametrize(("labels", "prior"), PRIORS, ids=str)
def test_priors_of_every_kind_come_back(path, labels, prior):
    clf = fitted(list(labels), prior=prior)
    clf.save(path)
    loaded = load(path)
    same_model(loaded, clf, rows(seed=1)[0])
    assert loaded.prior_.tolist() == ([0.5, 0.5] if prior is None or isinstance(prior, str) else [0.25, 0.75])
    if isinstance(prior, (dict, str)):
        assert loaded.prior == prior


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("choices", [{}, {"shrinkage": 0.3}, {"predictive": True}], ids=str)
def test_every_structure_comes_back(path, covariance, choices):
    clf = fitted(covariance=covariance, **choices)
    clf.save(path)
    loaded = load(path)
    assert loaded.get_params() == clf.get_params()
    same_model(loaded, clf, rows(seed=1)[0])


@pytest.mark.parametrize(
    "params",
    [
        {"covariance": "tied", "shrinkage": "ledoit_wolf", "variance_floor": 1e-6, "n_jobs": 2},
        {"shrinkage": np.float32(0.5), "variance_floor": np.float64(1e-7), "n_jobs": np.int64(1)},
    ],
)
def test_parameters_come_back(path, params):
    clf = fitted(**params)
    clf.save(path)
    assert load(path).get_params() == clf.get_params()


# Files in tests/models_of_0_1 were written by commit 9db0e21, with what its models answered.

OLD = Path(__file__).parent / "models_of_0_1"
ANSWERS = json.loads((OLD / "expected.json").read_text())


def answered(name):
    """The file, the rows that it was asked for, and the answer: of a classifier or of a transformer."""
    given = ANSWERS[name]
    table = pa.table(given["rows"]) if isinstance(given["rows"], dict) else np.array(given["rows"])
    return OLD / f"{name}.safetensors", table, np.array(given.get("proba", given.get("transformed")))


def test_every_old_file_has_an_answer():
    assert {path.stem for path in OLD.glob("*.safetensors")} == set(ANSWERS)


@pytest.mark.filterwarnings("ignore::suffice.errors.SingularWarning")
@pytest.mark.parametrize("name", ANSWERS)
def test_files_of_0_1_answer_as_they_did(name):
    path, table, answer = answered(name)
    loaded = load(path)
    answers = loaded.transform if "transformed" in ANSWERS[name] else loaded.predict_proba
    np.testing.assert_allclose(answers(table), answer, rtol=1e-12, atol=1e-15)
    if "proba" in ANSWERS[name]:
        np.testing.assert_allclose(suffice.load_model(path).predict_proba(table), answer, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["gaussian-full", "mixed", "categorical", "poisson"])
def test_files_of_0_1_go_on_learning(name):
    path, table, _ = answered(name)
    learning, y = load(path), np.array(["no", "yes", "yes", "no"])
    before = learning.predict_proba(table)
    learning.partial_fit(table, y)
    assert learning.statistics_.weight.tolist() == [14, 14]
    learning.forget(table, y)
    np.testing.assert_allclose(learning.predict_proba(table), before, rtol=1e-9)


def test_files_without_a_target_of_shrinkage_shrink_towards_the_identity(path, monkeypatch):
    clf = fitted(shrinkage="ledoit_wolf", shrinkage_target="identity")
    older = {name: value for name, value in clf._saved_params().items() if name != "shrinkage_target"}
    monkeypatch.setattr(clf, "_saved_params", lambda: older)
    clf.save(path)
    assert load(path).shrinkage_target == "identity"
    for loaded in (load(path), suffice.load_model(path)):
        np.testing.assert_array_equal(loaded.log_likelihood(rows()[0]), clf.log_likelihood(rows()[0]))


def test_feature_names_come_back_and_are_checked(path):
    import pandas as pd

    X, y = rows()
    frame = pd.DataFrame(X, columns=["x", "y y", "ü"])
    GaussianClassifier().fit(frame, y).save(path)
    loaded = load(path)
    assert loaded.feature_names_in_.tolist() == ["x", "y y", "ü"]
    assert loaded.predict(frame).shape == (60,)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        loaded.predict(frame[["ü", "x", "y y"]])


def test_no_names_stay_no_names(path):
    fitted().save(path)
    loaded = load(path)
    assert not hasattr(loaded, "feature_names_in_")
    assert loaded.n_features_in_ == 3


@pytest.mark.parametrize("covariance", ["full", "tied", "diag"])
def test_a_loaded_model_goes_on_learning(path, covariance):
    X, y = rows(100)
    first, then = slice(0, 60), slice(60, 100)
    clf = GaussianClassifier(covariance).fit(X[first], y[first])
    clf.save(path)
    more = GaussianClassifier(covariance).fit(X[then], y[then])
    for verb in (
        lambda model: model.partial_fit(X[then], y[then]),
        lambda model: model.forget(X[:20], y[:20]),
        lambda model: model + more,
        lambda model: more + model,
        lambda model: model.partial_fit(X[then], y[then] + 5),
    ):
        fresh = GaussianClassifier(covariance).fit(X[first], y[first])
        same_model(verb(load(path)), verb(fresh), X)


def everything_in(path):
    with safetensors.safe_open(path, framework="np") as file:
        return file.metadata(), {name: file.get_tensor(name).tobytes() for name in file.keys()}  # noqa: SIM118


def test_a_model_that_is_loaded_and_saved_gives_the_same_file(tmp_path):
    fitted(prior={"a": 0.1, "b": 0.9}).save(tmp_path / "a")
    load(tmp_path / "a").save(tmp_path / "b")
    assert everything_in(tmp_path / "a") == everything_in(tmp_path / "b")


def test_paths_may_be_text_and_load_is_independent_of_the_file(tmp_path):
    clf = fitted()
    clf.save(str(tmp_path / "m"))
    loaded = load(str(tmp_path / "m"))
    (tmp_path / "m").write_bytes(b"\0" * (tmp_path / "m").stat().st_size)  # a memory map would see this
    same_model(loaded, clf, rows(seed=1)[0])


def test_values_inside_lists_come_back_as_they_were():
    values = [0.3, {0: [b"a", {"pairs": 1}]}, ["x", None]]
    assert arrayfile.restored(arrayfile.plain(values)) == values


def test_the_file_is_plain_safetensors_with_a_readable_header(path):
    fitted(prior={"a": 0.1, "b": 0.9}).save(path)
    with safetensors.safe_open(path, framework="np") as file:
        header = json.loads(file.metadata()["suffice"].partition(" ")[2])
        assert set(file.keys()) == {"weight", "mean", "scatter_full"}
    assert header["format"] == 1
    assert header["estimator"] == "GaussianClassifier"
    assert header["classes"] == ["a", "b"]
    assert header["version"] == modelfile.__version__


def test_what_cannot_be_saved_is_refused_and_leaves_no_file(tmp_path):
    clf = fitted().set_params(n_jobs=object())
    with pytest.raises(ModelFileError, match="cannot be saved"):
        clf.save(tmp_path / "m")
    with pytest.raises(ValueError, match="not fitted"):
        GaussianClassifier().save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("clf", "wrong", "error", "message"),
    [
        (GaussianClassifier(), {"prior": [0.2, 0.3, 0.5]}, DecisionError, "each of the 2 classes"),
        (MixedClassifier(), {"prior": {"a": 0.5, "c": 0.5}}, DecisionError, "unknown: 'c'"),
        (MixtureClassifier(1), {"prior": [0.5, 0.6]}, DecisionError, "sum to 1.1"),
        (BernoulliClassifier(), {"alpha": [1, 1]}, DataError, "there are 3 columns"),
        (MultinomialClassifier(), {"alpha": 0, "predictive": True}, DataError, "needs a prior"),
        (CategoricalClassifier(), {"alpha": [1, 1]}, DataError, "there are 3 columns"),
        (CategoricalClassifier(), {"categories": [[0, 1]]}, DataError, "there are 3"),
        (MixedClassifier(), {"categories": {"fur": [0]}}, DataError, "names 'fur'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_file_is_written_that_could_not_be_loaded(tmp_path, clf, wrong, error, message):
    X, code = rows()
    X = np.abs(X).round() if "categories" not in wrong else X.round().astype(str)
    clf.fit(X, np.array(["a", "b"])[code]).set_params(**wrong)
    with pytest.raises(error, match=message):
        clf.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("read", [load, load_model])
def test_a_wrong_prior_in_a_file_is_not_the_fault_of_its_version(path, read):
    wrong = {"covariance": "full", "prior": [0.2, 0.3, 0.5]}
    rewritten(path, changed(params=wrong), model=fitted())
    with pytest.raises(ModelFileError, match=r"the prior in .* does not fit what .* each of the 2 classes 'a', 'b'"):
        read(path)


# Damage.


def test_every_truncation_is_found(path, content):
    for length in [*range(0, len(content), 13), *range(len(content) - 20, len(content))]:
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            load(path)


def test_a_flipped_bit_in_any_byte_is_found(path, content):
    for i in range(len(content)):
        damaged = bytearray(content)
        damaged[i] ^= 1 << (5 * i % 8)
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match="model"):
            load(path)


@given(st.data())
def test_random_damage_is_found(tmp_path_factory, content, data):
    path = tmp_path_factory.mktemp("damaged") / "m"
    at = data.draw(st.integers(0, len(content)))
    length = data.draw(st.integers(0, 40))
    damaged = content[:at] + data.draw(st.binary(max_size=40)) + content[at + length :]
    path.write_bytes(damaged)
    if damaged != content:
        with pytest.raises(ModelFileError):
            load(path)


def test_equal_models_are_equal_files(tmp_path):
    for name in ("one", "two"):
        fitted().save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def rewritten(path, header=None, arrays=None, digest=True, model=None):
    """Write a file as suffice would, with another header or other arrays, and a digest that fits."""
    (model or fitted()).save(path)
    with safetensors.safe_open(path, framework="np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        text = file.metadata()["suffice"].partition(" ")[2]
    text = text if header is None else header(text)
    tensors = tensors if arrays is None else {k: np.asarray(v, order="C") for k, v in arrays(tensors).items()}
    sign = arrayfile._digest(text, tensors) if digest else ""
    path.write_bytes(safetensors.numpy.save(tensors, metadata={"suffice": f"{sign} {text}"}))


def changed(**fields):
    return lambda text: json.dumps(json.loads(text) | fields, sort_keys=True)


def without(name):
    return lambda items: {key: value for key, value in items.items() if key != name}


def test_rewriting_alone_changes_nothing(path):
    rewritten(path)
    same_model(load(path), fitted(), rows(seed=1)[0])


HEADERS = {
    "a later format": (changed(format=999, version="9.9"), r"has format 999, written by suffice 9\.9"),
    "no format": (lambda text: json.dumps(without("format")(json.loads(text))), "header cannot be read"),
    "an unknown estimator": (changed(estimator="Oracle"), "holds a 'Oracle'"),
    "an unknown statistic": (changed(learnt="Omens"), "Omens"),
    "an unknown parameter": (changed(params={"wisdom": 3}), "wisdom"),
    "no classes": (lambda text: json.dumps(without("classes")(json.loads(text))), "model"),
    "a dtype that is none": (changed(classes_dtype="nothing"), "model"),
    "labels of another type": (changed(classes_dtype="<i8"), "model"),
    "too few classes": (changed(classes=["a"]), "model"),
    "too many classes": (changed(classes=["a", "b", "c"]), "model"),
    "too few names": (changed(names=["x"]), "model"),
    "parameters in a list": (changed(params=[1]), "model"),
    "not JSON": (lambda text: text[1:], "header cannot be read"),
    "a list": (lambda text: "[]", "header cannot be read"),
    "a number": (lambda text: "1", "header cannot be read"),
    "empty": (lambda text: "", "header cannot be read"),
}


@pytest.mark.parametrize(("header", "message"), HEADERS.values(), ids=HEADERS)
def test_headers_that_make_no_model_are_refused(path, header, message):
    rewritten(path, header)
    with pytest.raises(ModelFileError, match=message):
        load(path)


ARRAYS = {
    "no mean": without("mean"),
    "no scatter": without("scatter_full"),
    "one more": lambda a: a | {"more": np.ones(2)},
    "mean too narrow": lambda a: a | {"mean": a["mean"][:, :1]},
    "mean too short": lambda a: a | {"mean": a["mean"][:1]},
    "scatter too small": lambda a: a | {"scatter_full": a["scatter_full"][:, :1]},
    "weight as a matrix": lambda a: a | {"weight": a["weight"][:, None]},
    "integers": lambda a: a | {"mean": a["mean"].astype(np.int64)},
    "NaN": lambda a: a | {"mean": a["mean"] * np.nan},
    "none": lambda a: {},
}


@pytest.mark.parametrize("arrays", ARRAYS.values(), ids=ARRAYS)
def test_arrays_that_do_not_fit_together_are_refused(path, arrays):
    """The digest fits, but kernels would read beyond the ends of such arrays."""
    rewritten(path, arrays=arrays)
    with pytest.raises(ModelFileError):
        load(path)


# Discrete and mixed models.

WORDS = [["", "Gruß"], ["x", "日本"], ["x", "Gruß"], [None, "🦆"]]
COUNTS = [[3, 0, 1], [0, 2, 1], [1, 1, 0], [2, 0, 0]]
MIXED = [
    [1.5, "x", True, 3],
    [2.5, "", False, 0],
    [0.5, "y", None, 4],
    [None, "x", True, 1],
    [3.5, "y", True, 2],
    [4.0, "x", None, 2],
]


def hashed():
    """A model whose counts are kept sparse."""
    suffice.stats.counts.DENSE, before = 0, suffice.stats.counts.DENSE
    try:
        import scipy.sparse as sp

        return MultinomialClassifier().fit(sp.csr_array(COUNTS), list("abab"))
    finally:
        suffice.stats.counts.DENSE = before


DISCRETE = {
    "Bernoulli": (lambda: BernoulliClassifier(0.5).fit(COUNTS, list("abab")), COUNTS),
    "Bernoulli with holes": (lambda: BernoulliClassifier().fit([[1, None], [0, 1], [1, 0]], list("aba")), [[1, 0]]),
    "multinomial": (lambda: MultinomialClassifier(prior=[0.1, 0.9]).fit(COUNTS, list("abab")), COUNTS),
    "complement": (lambda: MultinomialClassifier(complement="normalized").fit(COUNTS, list("abab")), COUNTS),
    "predictive": (lambda: MultinomialClassifier(predictive=True).fit(COUNTS, list("abab")), COUNTS),
    "hashed": (hashed, COUNTS),
    "Poisson": (lambda: PoissonClassifier(predictive=True).fit(COUNTS, list("abab")), COUNTS),
    "categorical": (lambda: CategoricalClassifier(unknown="ignore").fit(WORDS, list("abab")), WORDS),
    "codes": (lambda: CategoricalClassifier().fit(COUNTS, list("abab")), COUNTS),
    "tree": (lambda: CategoricalClassifier(structure="tree", joint=[(0, 1)]).fit(COUNTS, list("abab")), COUNTS),
    "mixed tree": (lambda: MixedClassifier({3: "poisson"}, structure="tree").fit(MIXED, list("ababab")), MIXED),
    "mixed": (lambda: MixedClassifier({3: "poisson"}).fit(MIXED, list("ababab")), MIXED),
    "mixed by type": (lambda: MixedClassifier({float: "drop", bool: "categorical"}).fit(MIXED, list("ababab")), MIXED),
}


@pytest.fixture(params=DISCRETE)
def discrete(request):
    make, data = DISCRETE[request.param]
    return make(), data


def test_discrete_models_come_back(path, discrete):
    clf, data = discrete
    clf.save(path)
    same_model(load(path), clf, data)
    load(path).save(path.with_name("again"))
    assert everything_in(path.with_name("again")) == everything_in(path)


def test_damage_of_discrete_models_is_found(path, discrete):
    clf, _ = discrete
    clf.save(path)
    content = path.read_bytes()
    for length in [*range(0, len(content), 101), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            load(path)
    for i in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[i] ^= 1 << (5 * i % 8)
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            load(path)


def test_discrete_models_without_one_of_their_arrays_are_refused(path, discrete):
    clf, data = discrete
    for name in clf.statistics_.to_arrays():
        rewritten(path, arrays=without(name), model=clf)
        # Without the first two, nothing is missing; files of 0.1 have no log_factorials.
        if name.endswith(("missing", "observed", "log_factorials")):
            load(path).predict(data)
            continue
        with pytest.raises(ModelFileError):
            load(path)


ALTERATIONS = {
    "NaN": lambda array: np.full_like(array, np.nan),
    "negative": lambda array: -1.0 - array,
    "one class fewer": lambda array: array[:-1],
    "one dimension more": lambda array: array[None],
}


@pytest.mark.parametrize("change", ALTERATIONS.values(), ids=ALTERATIONS)
def test_discrete_models_with_other_numbers_are_refused(path, discrete, change):
    """The digest fits, but kernels would read beyond the ends of such arrays, or scores be NaN."""
    clf, _ = discrete
    arrays = clf.statistics_.to_arrays()
    for name in arrays:
        if name.endswith(("weight", "count", "count_data")):
            rewritten(path, arrays=lambda a, name=name: a | {name: change(a[name])}, model=clf)
            with pytest.raises(ModelFileError):
                load(path)


OTHERS = {
    "presence of sums": (MultinomialClassifier, changed(estimator="BernoulliClassifier", params={})),
    "sums of presence": (BernoulliClassifier, changed(estimator="PoissonClassifier", params={})),
    "counts as categories": (MultinomialClassifier, changed(estimator="CategoricalClassifier", params={})),
    "counts as a mixture": (MultinomialClassifier, changed(estimator="MixedClassifier", params={})),
    "counts as moments": (MultinomialClassifier, changed(estimator="GaussianClassifier", params={})),
    "counts as a bundle": (MultinomialClassifier, changed(learnt="BundleStats")),
    "counts as category counts": (MultinomialClassifier, changed(learnt="CategoryStats")),
    "alpha that is no number": (MultinomialClassifier, changed(params={"alpha": "much"})),
}


@pytest.mark.parametrize(("make", "header"), OTHERS.values(), ids=OTHERS)
def test_headers_that_do_not_fit_the_statistics_are_refused(path, make, header):
    rewritten(path, header, model=make().fit(COUNTS, list("abab")))
    with pytest.raises(ModelFileError):
        load(path)


PROJECTIONS = {
    "no directions": without("directions"),
    "too few directions": lambda a: a | {"directions": a["directions"][:, :1]},
    "directions too short": lambda a: a | {"directions": a["directions"][1:]},
    "center as a matrix": lambda a: a | {"center": a["center"][None]},
    "center as a number": lambda a: a | {"center": a["total"]},
    "values as a matrix": lambda a: a | {"values": np.eye(2)},
    "several totals": lambda a: a | {"total": a["values"]},
    "NaN": lambda a: a | {"center": a["center"] * np.nan},
    "negative": lambda a: a | {"values": -a["values"]},
}


@pytest.mark.parametrize("arrays", PROJECTIONS.values(), ids=PROJECTIONS)
def test_projections_that_make_no_sense_are_refused(path, arrays):
    rewritten(path, arrays=arrays, model=PCA(2).fit(np.random.default_rng(0).normal(size=(4, 1100))))
    with pytest.raises(ModelFileError):
        load(path)


@pytest.mark.parametrize("estimator", ["GaussianClassifier", "LogisticClassifier", "MixedClassifier"])
def test_a_projection_is_no_classifier(path, estimator):
    wide = PCA(2).fit(np.random.default_rng(0).normal(size=(4, 1100)))
    rewritten(path, changed(estimator=estimator, params={}), model=wide)
    with pytest.raises(ModelFileError):
        load(path)


def test_blocks_that_do_not_fit_their_columns_are_refused(path):
    clf = DISCRETE["mixed"][0]()
    name = "poisson.CountStats.columns"
    for places in ([7], [-1], [0], [2, 3], []):
        rewritten(path, arrays=lambda a, places=places: a | {name: np.array(places, np.int64)}, model=clf)
        with pytest.raises(ModelFileError):
            load(path)


def test_indices_beyond_the_columns_are_refused(path):
    for name, change in {
        "count_indices": lambda a: a + 1000,
        "count_indptr": lambda a: a + 5,
    }.items():
        rewritten(path, arrays=lambda a, n=name, c=change: a | {n: c(a[n])}, model=hashed())
        with pytest.raises(ModelFileError):
            load(path)


def test_a_file_without_a_digest_is_refused(path):
    rewritten(path, digest=False)
    with pytest.raises(ModelFileError, match="digest"):
        load(path)


class Trap:
    def __reduce__(self):
        return os.mkdir, ("sprung",)


FOREIGN = {
    "empty": b"",
    "text": b"species,island\nAdelie,Biscoe\n" * 40,
    "zeros": bytes(1000),
    "safetensors of somebody else": safetensors.numpy.save({"mean": np.ones(3)}, metadata={"format": "pt"}),
    "safetensors without metadata": safetensors.numpy.save({"mean": np.ones(3)}),
    "a pickle": pickle.dumps(GaussianClassifier()),
    "a pickle that acts": pickle.dumps(Trap()),
    "pickled NumPy": np.array([Trap()], object).dumps(),
}


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_foreign_files_are_refused_and_run_no_code(path, foreign, monkeypatch):
    monkeypatch.chdir(path.parent)
    path.write_bytes(foreign)
    with pytest.raises(ModelFileError, match=str(path)):
        load(path)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_no_file_and_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match=str(tmp_path)):
        load(tmp_path)


# Atomic writes.


# In a process of its own: the limit would also hold for a log that the tests are written to.
SAVE_HALF_WAY = """
import resource, signal, sys
from suffice import GaussianClassifier
clf = GaussianClassifier().fit([[1.0], [2.0], [3.0], [5.0]], [0, 0, 1, 1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
try:
    clf.save(sys.argv[1])
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("old", [None, b"an old model"], ids=["new file", "old file"])
def test_a_write_that_fails_half_way_leaves_everything_as_it_was(tmp_path, old):
    path = tmp_path / "m"
    if old is not None:
        path.write_bytes(old)
    child = subprocess.run([sys.executable, "-c", SAVE_HALF_WAY, path], capture_output=True, text=True, check=True)
    assert "too large" in child.stdout
    assert [p.name for p in tmp_path.iterdir()] == ([] if old is None else ["m"])
    if old is not None:
        assert path.read_bytes() == old


def test_saving_over_a_model_replaces_it_whole(path):
    old, new = fitted(), fitted(["x", "y"], covariance="diag")
    old.save(path)
    with path.open("rb") as reader:  # began to read before the new model came
        new.save(path)
        with safetensors.safe_open(path, framework="np"):
            assert load(path).classes_.tolist() == ["x", "y"]
        held = reader.read()
    path.write_bytes(held)
    same_model(load(path), old, rows(seed=1)[0])
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_permissions_are_those_of_any_new_file(path, mask):
    before = os.umask(mask)
    try:
        fitted().save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
        assert os.umask(mask) == mask
    finally:
        os.umask(before)


def test_folders_that_cannot_be_written_to(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        fitted().save(tmp_path / "nowhere" / "m")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        fitted().save(tmp_path / "folder")
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        fitted().save(tmp_path / "file" / "m")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]
    assert list((tmp_path / "folder").iterdir()) == []


def _save_as_nobody(clf, path, results):
    if os.geteuid() == 0:
        os.setuid(65534)  # root may write anywhere
    try:
        clf.save(path)
    except OSError as error:
        results.put(type(error).__name__)
    else:
        results.put("saved")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(("mode", "outcome"), [(0o555, "PermissionError"), (0o777, "saved")])
def test_read_only_folders_are_refused(mode, outcome):
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(mode)
        context = multiprocessing.get_context("fork")
        results = context.SimpleQueue()
        child = context.Process(target=_save_as_nobody, args=(fitted(), folder / "m", results))
        child.start()
        child.join(30)
        assert child.exitcode == 0
        assert results.get() == outcome
        assert [p.name for p in folder.iterdir()] == (["m"] if outcome == "saved" else [])
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)
