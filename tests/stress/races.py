"""Change arrays from another thread while they are fitted, scored and encoded: a sum may be wrong, but nothing crashes.

Usage: python -m tests.stress.races [--seconds 0.3] [name ...]

Each case has a call and arrays of the caller with other contents for them, valid when the call looks at them and
nonsense when it reads them, or the other way round. An error that says so is as good as an answer.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import suffice
from suffice import kernels

N = 20_000
FAR = 1 << 28  # columns, rows or codes away: no memory of ours
Case = tuple[Callable[[], object], dict[str, tuple[Any, Any]]]  # what is called, and arrays with what they become


def dense(model: Any, weighted: bool = False) -> Case:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N)
    X, weight = rng.normal(size=(N, 5)) + y[:, None], rng.integers(0, 2, N) * 1.0
    changed = {"X": (X, np.nan), "y": (y, rng.integers(-9, 9, N))}
    if weighted:
        changed["weight"] = weight, 1.0 - weight
    return lambda: model.fit(X, y, sample_weight=weight if weighted else None).predict(X), changed


def sparse(model: Any, what: str, dtype: type = np.int32, columns: int = 50) -> Case:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N)
    X = csr_array(rng.poisson(0.1, (N, columns)).astype(np.float64))
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    fitted = suffice.MultinomialClassifier().fit(X.copy(), y) if what.startswith("predict") else None
    other = {
        "indices": {"indices": (X.indices, FAR)},
        "negative": {"indices": (X.indices, -FAR)},
        "indptr": {"indptr": (X.indptr, FAR)},
        "order": {"indptr": (X.indptr, X.indptr[::-1].copy())},
        "data": {"data": (X.data, -1.0), "y": (y, rng.integers(-9, 9, N))},
    }[what.removeprefix("predict ")]
    return (lambda: fitted.predict(X)) if fitted else (lambda: model.fit(X, y).predict(X)), other


def integers() -> Case:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (N, 4)), rng.integers(0, 3, N)
    model = suffice.CategoricalClassifier()
    return lambda: model.fit(X, y).predict(X), {"X": (X, rng.integers(-99, 99, X.shape)), "y": (y, y[::-1].copy())}


def coded() -> Case:
    """Codes of a pandas categorical."""
    rng = np.random.default_rng(0)
    code, y = rng.integers(0, 5, N).astype(np.int8), rng.integers(0, 3, N)
    table = pd.DataFrame({"a": pd.Categorical.from_codes(code.copy(), list("abcde")), "b": rng.normal(size=N)})
    mine = table["a"].cat.codes.to_numpy()
    own = table["a"].array._ndarray  # what the codes are kept in
    assert (mine == own).all()
    own.flags.writeable = True
    model = suffice.MixedClassifier()
    return lambda: model.fit(table, y).predict(table), {"code": (own, np.int8(100))}


def objects() -> Case:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 2)), rng.choice(np.array(["a", "b", "c"], object), N)
    model = suffice.GaussianClassifier()
    words = [f"word {i % 40}" for i in range(N)]
    # New objects each time, which nothing else holds once they are out of the array.
    return lambda: model.fit(X, y).predict(X), {"y": (y, lambda: [word[:-1] for word in words])}


def text() -> Case:
    """Labels of fixed width, which are looked at twice when the table of them grows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5000, N).astype("U12")
    return lambda: kernels.active.encode(y), {"y": (y, rng.integers(0, 5000, N).astype("U12"))}


def parted() -> Case:
    rng = np.random.default_rng(0)
    score, target = rng.normal(size=N), rng.random(N) < 0.5
    return lambda: kernels.active.split_scores(score, target), {"target": (target.view(np.uint8), np.uint8(200))}


CASES: dict[str, Callable[[], Case]] = {
    "full": lambda: dense(suffice.GaussianClassifier()),
    "full, weights": lambda: dense(suffice.GaussianClassifier(), True),
    "tied, weights": lambda: dense(suffice.GaussianClassifier("tied"), True),
    "diag, weights": lambda: dense(suffice.GaussianClassifier("diag"), True),
    "integers": integers,
    "pandas codes": coded,
    "objects": objects,
    "text": text,
    "parted": parted,
    **{
        f"sparse, {what}": lambda what=what: sparse(suffice.MultinomialClassifier(), what)  # type: ignore[misc]
        for what in (
            "indices",
            "negative",
            "indptr",
            "order",
            "data",
            "predict indices",
            "predict order",
            "predict indptr",
        )
    },
    "sparse, long": lambda: sparse(suffice.MultinomialClassifier(), "indices", np.int64),
    "sparse, presence": lambda: sparse(suffice.BernoulliClassifier(), "indices"),
    "sparse, presence, order": lambda: sparse(suffice.BernoulliClassifier(), "order"),
    "sparse, Gaussian": lambda: sparse(suffice.GaussianClassifier("diag"), "indices", np.int64, 20),
    "sparse, Gaussian, order": lambda: sparse(suffice.GaussianClassifier("diag"), "order", np.int64, 20),
}


def race(call: Callable[[], object], arrays: dict[str, tuple[Any, Any]], seconds: float) -> Counter[str]:
    """What came of the calls."""
    good = {name: array.copy() for name, (array, _) in arrays.items()}
    stop = threading.Event()

    def change() -> None:
        rng = np.random.default_rng(1)
        while not stop.is_set():
            for array, other in arrays.values():
                array[...] = other() if callable(other) else other
            time.sleep(rng.uniform(0.0, 0.0005))
            for name, (array, _) in arrays.items():
                array[...] = good[name]
            time.sleep(rng.uniform(0.0, 0.003))

    outcomes: Counter[str] = Counter()
    writer = threading.Thread(target=change)
    writer.start()
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                call()
                outcomes["answered"] += 1
            except (ValueError, IndexError, MemoryError) as error:  # DataError is a ValueError
                outcomes[type(error).__name__] += 1
    finally:
        stop.set()
        writer.join()
    return outcomes


def main() -> None:
    import warnings

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("names", nargs="*")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in wanted.names or CASES:
        for kernel in kernels.available():
            print(f"{name}, {kernel}:", end=" ", flush=True)
            with kernels.using(kernel), np.errstate(all="ignore"):
                print(dict(race(*CASES[name](), wanted.seconds)), flush=True)


if __name__ == "__main__":
    main()
