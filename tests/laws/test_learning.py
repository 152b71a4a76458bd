"""Whatever is done to a model, in any order, it equals one that is fitted from scratch to the rows it should hold.

A machine of hypothesis learns, forgets, merges, copies and saves models, and keeps a plain list of the rows beside each
of them. What fails must leave the model bit for bit as it was. `make stress` runs it longer: SUFFICE_MACHINES says how
many programs are tried for each estimator.
"""

import copy
import os
import pickle
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import suffice
from suffice import (
    LDA,
    PCA,
    BernoulliClassifier,
    CategoricalClassifier,
    GaussianClassifier,
    LLRCalibrator,
    LogisticClassifier,
    MixedClassifier,
    MultinomialClassifier,
    PoissonClassifier,
)
from suffice.errors import PrecisionWarning, SufficeError

PROGRAMS = int(os.environ.get("SUFFICE_MACHINES", "3"))
STEPS = 16
N = 24  # rows that there are to learn from
MODELS = 3  # at the same time

# What rows are: each function gives N + 6 of them, of which the last six are never learnt. Numbers are multiples of
# 1/8, so that the variance of a few rows is zero or of the size of the numbers, and never in between.


def numbers(rng, y, far=0.0):
    X = np.round(8 * (rng.normal(size=(len(y), 3)) + y[:, None] * [1, -1, 0])) / 8 + far
    X[5], X[11] = X[4], X[10]
    return X


def counts(rng, y):
    return rng.poisson(1.0 + y[:, None], (len(y), 4)).astype(float)


def sparse_counts(rng, y):
    return csr_array(counts(rng, y))


def words(rng, y):
    return pd.DataFrame({name: rng.choice(list("uvwxyz"), len(y)) for name in ("one", "two")})


def positive(rng, y, missing=False):
    whole = {name: rng.poisson(3.0 + y) for name in ("geometric", "negative_binomial")}
    names = ("exponential", "gamma", "lognormal", "inverse_gaussian")
    frame = pd.DataFrame({name: (1 + rng.integers(0, 60, len(y))) / 8 for name in names} | whole)
    return frame.mask(rng.random(frame.shape) < 0.2) if missing else frame


def everything(rng, y, missing=False):
    X = numbers(rng, y)
    frame = pd.DataFrame({"gaussian": X[:, 0], "also": X[:, 1], "categorical": rng.choice(list("xyz"), len(y))})
    frame["bernoulli"], frame["poisson"] = rng.random(len(y)) < 0.3 + 0.2 * y, rng.poisson(2.0 + y)
    if missing:
        hidden = rng.random(frame.shape) < 0.2
        frame = frame.astype({"bernoulli": "boolean", "poisson": "Int64"}).mask(hidden)
    return frame


def scores(rng, y):
    return (rng.normal(size=len(y)) + y)[:, None]


FAMILIES = {"also": "gaussian"} | {name: name for name in ("gaussian", "categorical", "bernoulli", "poisson")}
POSITIVE = {
    name: name for name in ("exponential", "gamma", "lognormal", "inverse_gaussian", "geometric", "negative_binomial")
}


@dataclass
class Case:
    """An estimator, the rows that it is for, and what can be changed in it when it has learnt already."""

    make: Callable[[], Any]
    rows: Callable[..., Any]
    later: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    labels: str = "abc"
    weighted: bool = True


def gaussian(covariance, **params):
    later = [{}, {"prior": "uniform"}, {"variance_floor": 1e-6}]
    if not (params.get("predictive") or isinstance(params.get("shrinkage"), str)):
        later.append({"shrinkage": 0.25})
    return Case(partial(GaussianClassifier, covariance, **params), numbers, later)


COVARIANCES = ("full", "diag", "tied", "tied_diag", "spherical", "tied_spherical")
SMOOTHED = [{"alpha": 0.5}, {"alpha": 1.0}, {"prior": "uniform"}]
CASES = {
    **{covariance: gaussian(covariance) for covariance in COVARIANCES},
    "shrunk": gaussian("full", shrinkage=0.1),
    "oas": gaussian("full", shrinkage="oas"),
    "ledoit_wolf": gaussian("full", shrinkage="ledoit_wolf"),
    "tied ledoit_wolf": gaussian("tied", shrinkage="ledoit_wolf"),
    "predictive": gaussian("full", predictive=True),
    "far from zero": replace(gaussian("full"), rows=partial(numbers, far=1e4)),
    "bernoulli": Case(BernoulliClassifier, counts, SMOOTHED),
    "bernoulli of sparse rows": Case(BernoulliClassifier, sparse_counts, SMOOTHED),
    "poisson": Case(PoissonClassifier, counts, [*SMOOTHED, {"predictive": True}, {"predictive": False}]),
    "multinomial": Case(MultinomialClassifier, counts, [*SMOOTHED, {"complement": True}, {"complement": False}]),
    "multinomial of sparse rows": Case(MultinomialClassifier, sparse_counts, SMOOTHED),
    "multinomial without smoothing": Case(partial(MultinomialClassifier, alpha=0.0), counts),
    "categorical": Case(CategoricalClassifier, words, [*SMOOTHED, {"unknown": "ignore"}, {"unknown": "smooth"}]),
    "categorical without smoothing": Case(partial(CategoricalClassifier, alpha=0.0), words),
    "mixed": Case(partial(MixedClassifier, FAMILIES), everything, SMOOTHED),
    "mixed, tied": Case(partial(MixedClassifier, FAMILIES, covariance="tied"), everything, SMOOTHED),
    "mixed with missing cells": Case(partial(MixedClassifier, FAMILIES), partial(everything, missing=True), SMOOTHED),
    "positive": Case(partial(MixedClassifier, POSITIVE), positive, SMOOTHED),
    "positive with missing cells": Case(partial(MixedClassifier, POSITIVE), partial(positive, missing=True), SMOOTHED),
    "pca": Case(PCA, numbers, [{"whiten": True}, {"whiten": False}]),
    "lda": Case(LDA, numbers),
    "logistic": Case(LogisticClassifier, numbers),
    "affine calibration": Case(LLRCalibrator, scores, labels="ab"),
    "monotone calibration": Case(partial(LLRCalibrator, method="pav"), scores, labels="ab", weighted=False),
}


@dataclass
class Known:
    """A model, and the rows that it should hold: their numbers and weights, and all labels that it has met."""

    model: Any
    rows: list[tuple[int, Fraction]]
    labels: frozenset[str]

    def weight(self):
        return sum(weight for _, weight in self.rows)


WEIGHTS = st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2), Fraction(0)])
BATCHES = st.lists(st.tuples(st.integers(0, N - 1), st.just(Fraction(1)) | WEIGHTS), min_size=1, max_size=12).filter(
    lambda batch: any(weight for _, weight in batch)
)


def assert_same(found, expected, tolerance=1e-9):
    """Compare scores, or the errors in place of them.

    Statistics are compared bit for bit. Scores are not: LAPACK rounds in another way where arrays lie elsewhere in
    memory, and a floor of 1e-9 of the variance makes a million of it. Sums that were merged and subtracted in another
    order have errors of 1e-15 of what was ever in them, here at most a thousand times what is left.
    """
    if isinstance(found, str) or isinstance(expected, str):
        assert isinstance(found, str) == isinstance(expected, str), (found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


class Learning(RuleBasedStateMachine):
    case: Case

    def __init__(self):
        super().__init__()
        self.code = np.resize(np.arange(len(self.case.labels)), N + 6)
        self.table = self.case.rows(np.random.default_rng(7), self.code)
        self.y = np.array(list(self.case.labels))[self.code]
        self.probe = self.some(list(range(N - 3, N + 6)))
        self.known: list[Known] = []
        self.models: list[tuple[Any, Any]] = []  # immutable, and the scores that they gave
        self.fresh: dict[Any, Any] = {}
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "model"

    def teardown(self):
        self.folder.cleanup()

    # Rows and scores.

    def some(self, places):
        return self.table.iloc[places] if isinstance(self.table, pd.DataFrame) else self.table[places]

    def batch(self, rows):
        places = [place for place, _ in rows]
        weight = np.array([float(weight) for _, weight in rows])
        named = {} if (weight == 1).all() or not self.case.weighted else {"sample_weight": weight}
        return (self.some(places), self.y[places]), named

    def met(self, rows, announced=""):
        """The labels that a model has from rows, and from being told of them; PCA has none."""
        has_labels = self.case.make is not PCA
        return frozenset([*self.y[[place for place, _ in rows]], *announced] if has_labels else ())

    def scored(self, model, of=None):
        """The scores of the probe, or None where the model has none to give."""
        probe = self.probe if of is None else of
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(model, PCA | LDA):  # directions of the same variance are arbitrary, and those without any
                Z = model.transform(probe) * (model.explained_variance_ if isinstance(model, PCA) else 1.0)
                return Z @ Z.T
            if isinstance(model, LLRCalibrator):
                return model.transform(probe)
            if isinstance(model, LogisticClassifier | suffice.Model) or not hasattr(model, "log_likelihood"):
                return np.hstack([model.predict_proba(probe)])
            return np.hstack([model.log_likelihood(probe), model.predict_proba(probe)])

    def state(self, model):
        """All that a model is, in bytes."""
        learnt = getattr(model, "statistics_", None) or getattr(model, "model_", None) or getattr(model, "map_", None)
        arrays = learnt.to_arrays() if hasattr(learnt, "to_arrays") else vars(learnt)
        own = {name: np.asarray(array).tobytes() for name, array in arrays.items()}
        columns = model.n_features_in_, list(getattr(model, "feature_names_in_", ()))
        return own, columns, model.get_params(), list(learnt.classes if hasattr(learnt, "classes") else ())

    def outcome(self, call):
        """What a call gives, or that it is refused: fits to few rows are."""
        try:
            return call()
        except SufficeError as error:
            return type(error).__name__

    def from_scratch(self, known):
        key = repr(known.model.get_params()), tuple(known.rows), known.labels
        if key not in self.fresh:
            model = clone(known.model)
            (X, y), named = self.batch(known.rows)
            if known.labels - set(y):
                named["classes"] = sorted(known.labels)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (model.partial_fit if "classes" in named else model.fit)(X, y, **named)
            self.fresh[key] = self.scored(model)
        return self.fresh[key]

    def learns(self, model):
        return hasattr(model, "partial_fit")

    # Programs.

    @initialize(batch=BATCHES)
    def first(self, batch):
        self.fit_anew(batch, None)

    def fit_anew(self, batch, model):
        """Fit a model; small batches are refused by some."""
        model = self.case.make() if model is None else model
        args, named = self.batch(batch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(*args, **named)
            except SufficeError:
                return False
        if len(self.known) < MODELS and all(model is not known.model for known in self.known):
            self.known.append(Known(model, batch, self.met(batch)))
        return True

    def any_known(self, data):
        return data.draw(st.sampled_from(self.known))

    @rule(batch=BATCHES, data=st.data())
    def fit(self, batch, data):
        new = not self.known or (len(self.known) < MODELS and data.draw(st.booleans()))
        if new:
            self.fit_anew(batch, None)
            return
        known = self.any_known(data)
        before = self.state(known.model)
        if self.fit_anew(batch, known.model):
            known.rows, known.labels = batch, self.met(batch)
        else:
            assert self.state(known.model) == before

    @precondition(lambda self: self.known and self.learns(self.known[0].model))
    @rule(
        batch=BATCHES,
        data=st.data(),
        announced=st.sampled_from([None, "a", "abc", "z"]),
        decay=st.sampled_from([None, Fraction(1), Fraction(1, 2), Fraction(1, 8)]),
    )
    def partial_fit(self, batch, data, announced, decay):
        known = self.any_known(data)
        args, named = self.batch(batch)
        known.model.partial_fit(*args, classes=None if announced is None else list(announced), decay=decay, **named)
        known.rows = [*((place, weight * (decay or 1)) for place, weight in known.rows), *batch]
        known.labels |= self.met(batch, announced or "")

    @precondition(lambda self: self.known and self.learns(self.known[0].model))
    @rule(data=st.data())
    def forget(self, data):
        known = self.any_known(data)
        heavy = [i for i, (_, weight) in enumerate(known.rows) if weight]
        if not heavy:
            return
        chosen = data.draw(st.lists(st.sampled_from(heavy), unique=True, min_size=1))
        share = data.draw(st.sampled_from([1, 1, 1, Fraction(1, 2)]))
        (X, y), named = self.batch([(known.rows[i][0], known.rows[i][1] * share) for i in chosen])
        before = self.state(known.model)
        with warnings.catch_warnings():
            warnings.simplefilter("error", PrecisionWarning)
            try:
                known.model.forget(X, y, **named)
            except PrecisionWarning:
                assert self.state(known.model) == before
                self.known.remove(known)
                return
        rest = {i: (place, weight * (1 - share)) for i, (place, weight) in enumerate(known.rows) if i in chosen}
        known.rows = [rest.get(i, row) for i, row in enumerate(known.rows)]
        known.rows = [row for row in known.rows if row[1]]

    @precondition(lambda self: self.known and self.learns(self.known[0].model))
    @rule(batch=BATCHES, data=st.data(), first=st.booleans())
    def merge(self, batch, data, first):
        known = self.any_known(data)
        args, named = self.batch(batch)
        other = clone(known.model).partial_fit(*args, **named)
        parts = self.state(known.model), self.state(other)
        merged = known.model + other if first else other + known.model
        assert parts == (self.state(known.model), self.state(other))
        known.model, known.rows = merged, [*known.rows, *batch]
        known.labels |= self.met(batch)

    @precondition(lambda self: self.known)
    @rule(data=st.data(), way=st.sampled_from(["pickle", "deepcopy", "file"]))
    def copy(self, data, way):
        known = self.any_known(data)
        if way == "file" and not hasattr(known.model, "save"):
            return
        if way == "pickle":
            copied = pickle.loads(pickle.dumps(known.model))
        elif way == "deepcopy":
            copied = copy.deepcopy(known.model)
        else:
            known.model.save(self.path)
            copied = suffice.load(self.path)
            assert type(copied) is type(known.model)
        assert self.state(copied) == self.state(known.model)
        if known.weight():
            assert_same(*(self.outcome(partial(self.scored, model)) for model in (copied, copy.copy(known.model))))
        if len(self.known) < MODELS:
            self.known.append(Known(copied, known.rows, known.labels))
        else:
            known.model = copied

    @precondition(lambda self: self.known and hasattr(self.known[0].model, "to_model"))
    @rule(data=st.data(), saved=st.booleans())
    def to_model(self, data, saved):
        known = self.any_known(data)
        if not known.weight():
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if saved:
                known.model.save(self.path)
                model = suffice.load_model(self.path)
            else:
                model = known.model.to_model()
            assert_same(model.predict_proba(self.probe), known.model.predict_proba(self.probe))
            self.models.append((model, self.scored(model)))

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def look(self, data):
        """Score, so that what is kept of an estimate plays a part in what follows."""
        known = self.any_known(data)
        if known.weight():
            self.outcome(lambda: self.scored(known.model))

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def set_params(self, data):
        known = self.any_known(data)
        known.model.set_params(**data.draw(st.sampled_from(self.case.later)))

    # What fails changes nothing.

    @precondition(lambda self: self.known)
    @rule(data=st.data(), batch=BATCHES)
    def fail(self, data, batch):
        known = self.any_known(data)
        model, (X, y) = known.model, self.batch(batch)[0]
        wide = pd.concat([X, X], axis=1) if isinstance(X, pd.DataFrame) else self.beside(X)
        ways: dict[str, Callable[[], Any]] = {
            "labels that are too few": lambda: model.fit(X, y[:-1]),
            "infinite weights": lambda: model.fit(X, y, sample_weight=np.full(len(y), np.inf)),
            "negative weights": lambda: model.fit(X, y, sample_weight=np.full(len(y), -1.0)),
            "no rows": lambda: model.fit(self.some([]), y[:0]),
            "no such column": lambda: model.fit(X, "nowhere"),
        }
        if not isinstance(model, LLRCalibrator):
            ways["weights of zero"] = lambda: model.fit(X, y, sample_weight=np.zeros(len(y)))
        if not isinstance(X, pd.DataFrame) and not isinstance(model, LLRCalibrator):
            ways["infinite values"] = lambda: model.fit(np.full(X.shape, np.inf), y)
        if self.learns(model):
            more = (X, y)
            ways |= {
                "columns that are too many": lambda: model.partial_fit(wide, y),
                "forgetting columns that are too many": lambda: model.forget(wide, y),
                "forgetting more than was learnt": lambda: model.forget(*more, sample_weight=np.full(len(y), 1e6)),
                "more labels that are too few": lambda: model.partial_fit(X, y[:-1]),
                "more infinite weights": lambda: model.partial_fit(X, y, sample_weight=np.full(len(y), np.inf)),
                "another model": lambda: model + clone(model),
            }
            if not isinstance(X, pd.DataFrame):
                values = np.full(X.shape, np.inf)
                if not isinstance(model, BernoulliClassifier):
                    ways["more values that cannot be"] = lambda: model.partial_fit(values, y)
                    ways["forgetting values that cannot be"] = lambda: model.forget(values, y)
            if isinstance(model, PCA):  # which has no use for labels
                del ways["labels that are too few"], ways["more labels that are too few"]
            else:
                ways["forgetting unknown labels"] = lambda: model.forget(X, np.full(len(y), "?"))
        way = data.draw(st.sampled_from(sorted(ways)))
        before, scores = self.state(model), self.outcome(lambda: self.scored(copy.copy(model)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises((SufficeError, NotFittedError)):
                ways[way]()
        assert self.state(model) == before, way
        assert_same(self.outcome(lambda: self.scored(copy.copy(model))), scores)

    def beside(self, X):
        return np.hstack([X, X]) if isinstance(X, np.ndarray) else csr_array(np.hstack([X.toarray()] * 2))

    # What must hold.

    @invariant()
    def every_model_equals_a_fresh_fit(self):
        for known in self.known:
            if not known.weight():
                continue
            expected = self.outcome(partial(self.from_scratch, known))
            found = self.outcome(partial(self.scored, copy.copy(known.model)))
            assert_same(found, expected, 1e-6)

    @invariant()
    def immutable_models_stay_as_they_are(self):
        for model, scores in self.models:
            assert_same(self.scored(model), scores)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_model_equals_a_fresh_fit_whatever_was_done_to_it(case):
    machine = type("Learning", (Learning,), {"case": case})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=PROGRAMS,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize="SUFFICE_MACHINES" not in os.environ,
        ),
    )
