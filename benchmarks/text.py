"""Documents as they are against scikit-learn's vectorizers and naive Bayes."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from suffice import MultinomialClassifier, Tokens

from .case import Call, Case, Goal
from .datasets import passages
from .gaussian import fit, predict

Data = tuple[Any, Any]


@lru_cache(maxsize=1)
def texts() -> Data:
    """An Arrow column of documents."""
    rows, topics = passages()
    return pa.array(rows, pa.large_string()), np.array(topics)


def peer(way: Any, model: Any, data: Data) -> Call:
    """scikit-learn takes lists of strings."""
    column, y = data
    call: Call = way(model, (column.to_pylist(), y))
    return call


def case(task: str, way: Any, tokens: Tokens, vectorizer: Any, ratio: Goal, memory: Goal | None) -> Case:
    other = make_pipeline(vectorizer, MultinomialNB())
    return Case(
        data="passages, 200 000 documents of 110 MB, 20 classes",
        task=task,
        load=texts,
        ours=partial(way, MultinomialClassifier(tokens=tokens)),
        peers={type(vectorizer).__name__: partial(peer, way, other)},
        ratio=ratio,
        reference=None,
        memory=memory,
        rounds=3,
    )


PLAIN, PAIRS, HASHED = Tokens(), Tokens(ngrams=(1, 2)), Tokens(hashed=2**18)
COUNTS, PAIR_COUNTS = CountVectorizer(), CountVectorizer(ngram_range=(1, 2))
BUCKETS = HashingVectorizer(n_features=2**18, norm=None, alternate_sign=False)

# Memory: a tenth and a fiftieth of what the peer takes, which is 464, 343 and 238 MB.
CASES = [
    case("text fit", fit, PLAIN, COUNTS, Goal(10, 30), Goal(46, 9)),
    case("text predict", predict, PLAIN, COUNTS, Goal(10, 30), Goal(34, 7)),
    case("text fit, pairs of words", fit, PAIRS, PAIR_COUNTS, Goal(8, 20), None),
    case("text predict, pairs of words", predict, PAIRS, PAIR_COUNTS, Goal(8, 20), None),
    case("text fit, hashed", fit, HASHED, BUCKETS, Goal(8, 20), Goal(24, 5)),
    case("text predict, hashed", predict, HASHED, BUCKETS, Goal(8, 20), None),
]
