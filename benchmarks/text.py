"""Documents as they are against scikit-learn's vectorizers and naive Bayes."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from suffice import MultinomialClassifier, Tokens

from .case import Call, Case, Goal
from .datasets import passages
from .gaussian import fit

Data = tuple[Any, Any]


@lru_cache(maxsize=1)
def texts() -> Data:
    """An Arrow column of documents."""
    rows, topics = passages()
    return pa.array(rows, pa.large_string()), np.array(topics)


def peer_fit(model: Any, data: Data) -> Call:
    """scikit-learn takes lists of strings."""
    column, y = data
    return fit(model, (column.to_pylist(), y))


def predict(model: Any, data: Data) -> Call:
    """A model that an earlier case has fitted is not fitted again, which takes peers a minute."""
    X, y = data
    try:
        model.predict(X[:1])
    except NotFittedError:
        model.fit(X, y)
    return partial(model.predict, X)


def peer_predict(model: Any, data: Data) -> Call:
    column, y = data
    return predict(model, (column.to_pylist(), y))


def cases(
    kind: str, tokens: Tokens, vectorizer: Any, ratio: Goal, memory: tuple[Goal | None, Goal | None]
) -> list[Case]:
    model, other = MultinomialClassifier(tokens=tokens), make_pipeline(vectorizer, MultinomialNB())
    ways = (("fit", fit, peer_fit), ("predict", predict, peer_predict))
    return [
        Case(
            data="passages, 200 000 documents of 110 MB, 20 classes",
            task=f"text {task}{kind}",
            load=texts,
            ours=partial(own, model),
            peers={type(vectorizer).__name__: partial(peers, other)},
            ratio=ratio,
            reference=None,
            memory=most,
            rounds=3,
        )
        for (task, own, peers), most in zip(ways, memory, strict=True)
    ]


# Memory: a tenth and a fiftieth of what the peer takes, which is 464 and 343, 2001 and 933, and 238 MB.
CASES = [
    *cases("", Tokens(), CountVectorizer(), Goal(10, 30), (Goal(46, 9), Goal(34, 7))),
    *cases(
        ", pairs of words",
        Tokens(ngrams=(1, 2)),
        CountVectorizer(ngram_range=(1, 2)),
        Goal(8, 20),
        (Goal(200, 40), Goal(93, 19)),
    ),
    *cases(
        ", hashed",
        Tokens(hashed=2**18),
        HashingVectorizer(n_features=2**18, norm=None, alternate_sign=False),
        Goal(8, 20),
        (Goal(24, 5), None),
    ),
]
