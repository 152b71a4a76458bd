"""The discrete and mixed classifiers against scikit-learn's naive Bayes models."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.preprocessing import OrdinalEncoder

from suffice import BernoulliClassifier, CategoricalClassifier, MixedClassifier, MultinomialClassifier

from .case import Call, Case, Goal
from .datasets import adult, census, docstrings
from .gaussian import fit, predict

Data = tuple[Any, Any]


@lru_cache(maxsize=1)
def documents(n: int = 200_000, words: int = 50_000, k: int = 20, length: int = 71) -> Data:
    """Word counts with a few frequent words and many rare ones, different ones in each class."""
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    rows = np.repeat(np.arange(n), rng.poisson(length, n))
    rank = np.minimum(rng.zipf(1.2, len(rows)) - 1, 10**9) % words
    shift = np.arange(k) * 97
    columns = (rank * 7919 + np.where(rng.random(len(rows)) < 0.3, shift[y[rows]], 0)) % words
    X = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, words))
    X.sum_duplicates()
    return X, y


@lru_cache(maxsize=1)
def codes(n: int = 1_000_000, d: int = 20, values: int = 10, k: int = 8) -> Data:
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    X = np.minimum(rng.geometric(rng.uniform(0.15, 0.6, (k, d))[y]) - 1, values - 1)
    return X, y


@lru_cache(maxsize=1)
def table(n: int = 1_000_000) -> Data:
    """Ten columns of numbers and ten of strings."""
    X, y = codes(n, 10)
    rng = np.random.default_rng(1)
    numbers = {f"number {j}": rng.standard_normal(n) + 0.3 * j * y for j in range(10)}
    words = np.array([f"word {v}" for v in range(10)], dtype=object)
    return pd.DataFrame(numbers | {f"text {j}": words[X[:, j]] for j in range(10)}), y


@lru_cache(maxsize=1)
def words() -> Data:
    texts, topics = docstrings()
    return CountVectorizer(ngram_range=(1, 3)).fit_transform(texts), np.array(topics)


def fit_separately(_: Any, data: Data) -> Call:
    """Ordinal codes by a ColumnTransformer, then one scikit-learn model for the numbers and one for the codes."""
    X, y = data
    numeric = list(X.select_dtypes("number").columns)
    rest = [name for name in X if name not in numeric]
    encode = ColumnTransformer([("numbers", "passthrough", numeric), ("codes", OrdinalEncoder(), rest)])

    def call() -> None:
        Z = encode.fit_transform(X)
        numbers, categories = Z[:, : len(numeric)], Z[:, len(numeric) :]
        GaussianNB().fit(np.nan_to_num(numbers), y)
        CategoricalNB().fit(np.nan_to_num(categories, nan=0.0), y)

    return call


Way = Callable[[Any, Data], Call]
Peer = tuple[str, Any]


def case(data: str, task: str, load: Callable[[], Data], way: Way, ours: Any, peer: Peer, goal: Goal) -> Case:
    name, other = peer
    separate = way is fit_separately
    return Case(
        data=data,
        task=task,
        load=load,
        ours=partial(fit if separate else way, ours),
        peers={name: partial(way, other)},
        ratio=goal,
        reference=None if separate else Goal(0, 1),
        memory=Goal(256, 64),
    )


DOCUMENTS = "documents, 200 000 x 50 000, 20 classes"
DOCSTRINGS = "docstrings, 1 to 3 words"
CODES = "codes, 1 000 000 x 20, 8 classes"
MULTINOMIAL, BERNOULLI = ("MultinomialNB", MultinomialNB()), ("BernoulliNB", BernoulliNB())
CATEGORICAL = ("CategoricalNB", CategoricalNB())
SEPARATE = ("two models", None)

TREES = Case(
    data="codes of 8 values, 1 000 000 x 20, 8 classes",
    task="tree fit",
    load=partial(codes, values=8),
    ours=partial(fit, CategoricalClassifier(structure="tree")),
    peers={"structure=None": partial(fit, CategoricalClassifier())},
    ratio=Goal(1 / 12, 1 / 6),
    reference=None,
    memory=Goal(256, 64),
)

CASES = [
    case(DOCUMENTS, "multinomial fit", documents, fit, MultinomialClassifier(), MULTINOMIAL, Goal(4, 8)),
    case(DOCUMENTS, "multinomial predict", documents, predict, MultinomialClassifier(), MULTINOMIAL, Goal(1.5, 3)),
    case(DOCUMENTS, "Bernoulli fit", documents, fit, BernoulliClassifier(), BERNOULLI, Goal(4, 8)),
    case(DOCUMENTS, "Bernoulli predict", documents, predict, BernoulliClassifier(), BERNOULLI, Goal(4, 8)),
    case(CODES, "categorical fit", codes, fit, CategoricalClassifier(), CATEGORICAL, Goal(8, 20)),
    case(CODES, "categorical predict", codes, predict, CategoricalClassifier(), CATEGORICAL, Goal(5, 15)),
    TREES,
    case("frame, 1 000 000 x 20", "mixed fit", table, fit_separately, MixedClassifier(), SEPARATE, Goal(4, 10)),
    case("adult, 32 561 x 14", "mixed fit", adult, fit_separately, MixedClassifier(), SEPARATE, Goal(1, 4)),
    case("census, 199 523 x 41", "mixed fit", census, fit_separately, MixedClassifier(), SEPARATE, Goal(1, 4)),
    case(DOCSTRINGS, "multinomial fit", words, fit, MultinomialClassifier(0.1), MULTINOMIAL, Goal(1, 4)),
    case(DOCSTRINGS, "multinomial predict", words, predict, MultinomialClassifier(0.1), MULTINOMIAL, Goal(1, 3)),
]
