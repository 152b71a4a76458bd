"""Damage and forge model files: each must be refused with a ModelFileError, or give a whole model.

Usage: python -m tests.stress.modelfiles [--files 1000000] [--seconds 60] [--seed 0]

A damaged file has other bytes, or another safetensors header: it must be refused, or give the model that it was. A
forged file has another content and the digest of that content, so that everything behind the digest is reached: it must
be refused, or give a model that can be used and saved. All of it is drawn from a seed, one number for each file.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import suffice
from suffice import arrayfile
from suffice.errors import ModelFileError, SufficeError
from suffice.scoring.calibrated import Calibration

MEMORY = 2 << 30  # bytes that loading a file of a few kilobytes may never take

DTYPES = [
    *("F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "C64"),
    *("I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL", "F128", "", "f64", 3, None, [], {}),
]
NUMBERS = [0, -1, 1, 2, 7, 255, 2**31, 2**32, 2**62, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.5, 1e308]  # fmt: skip
VALUES = [*NUMBERS, None, True, False, "", "a", "nan", "object", "O", "V8", "<U0", "<U9", "|S0", "M8[s]", "full",
          "diag", [], {}, [[]], [None], ["a", "a"], {"pairs": []}, {"pairs": [[{"pairs": []}, 0]]}, {"bytes": "\u20ac"},
          {"bytes": 3}, {"pairs": 3}, {"pairs": [1]}, "\x00", "é" * 20]  # fmt: skip
CELLS = [np.nan, np.inf, -np.inf, -1.0, -1e-300, 0.0, 1e-320, 1e308, -1e308, 0.5, 1e18, 2.0**53]
ARRAYS = [np.float64, np.float32, np.float16, np.int64, np.int32, np.int8, np.uint64, np.uint8, np.bool_]


def models() -> dict[str, Any]:
    """One small model of every kind that can be saved."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 3
    X = rng.normal(size=(40, 3)) + y[:, None]
    counts = rng.poisson(2.0, (40, 4)) + y[:, None]
    table = {"a": X[:, 0], "c": np.array(["x", "y", "z", "x"] * 10), "b": y > 0, "y": np.array(["p", "q"] * 20)}
    import pyarrow as pa

    names = pa.table({f"x{j}": X[:, j] for j in range(3)})
    weighted = suffice.CategoricalClassifier().fit(counts, y)
    weighted.calibration_ = Calibration(0.5, np.array([0.1, 0.0, -0.1]), 40, weights=np.array([1.0, 0.0, 0.5, 0.25]))
    return {
        "weighted": weighted,
        "full": suffice.GaussianClassifier("full").fit(names, y),
        "diag": suffice.GaussianClassifier("diag", prior=[0.2, 0.3, 0.5]).fit(X, y),
        "tied": suffice.GaussianClassifier("tied", prior={0: 0.5, 1: 0.25, 2: 0.25}, ddof=1).fit(X, y),
        "mixed": suffice.MixedClassifier().fit(pa.table(table), "y"),
        "categorical": suffice.CategoricalClassifier().fit(counts, y.astype(str)),
        "declared": suffice.CategoricalClassifier([[1, 3], 0.5], categories={"b": [True, False], "c": ["y", "w"]}).fit(
            pa.table({"b": y > 0, "c": pa.array(table["c"]).dictionary_encode()}), y
        ),
        "tree": suffice.CategoricalClassifier(structure="tree").fit(counts, y.astype(str)),
        "multinomial": suffice.MultinomialClassifier().fit(counts, y.astype(float)),
        "sparse": suffice.MultinomialClassifier().fit(csr_array(counts * (counts > 2)), y),
        "bernoulli": suffice.BernoulliClassifier().fit(counts > 2, y > 0),
        "poisson": suffice.PoissonClassifier().fit(counts, y.astype("S2")),
        "logistic": suffice.LogisticClassifier(l1_ratio=0.5, warm_start=True).fit(X, y),
        "missing": suffice.GaussianClassifier("full").fit(np.where(rng.random(X.shape) < 0.1, np.nan, X), y),
        "mixture": suffice.MixtureClassifier(2, "diag", random_state=0, pseudo_rows=1).fit(X, y),
        "clusters": suffice.MixtureModel([1, 2], random_state=0).fit(names),
        "pca": suffice.PCA("mle").fit(X),
        "lda": suffice.LDA().fit(X, y),
    }


class Fuzzer:
    """Draws changed files and looks at what comes of them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "model"
        self.originals = {name: self._saved(model) for name, model in models().items()}
        self.outcomes: Counter[str] = Counter()

    def run(self, seed: int) -> None:
        """Try one file; AssertionError, or whatever a call raised that it should not have, if it fails."""
        rng = random.Random(seed)
        original = self.originals[rng.choice(list(self.originals))]
        forged = rng.random() < 0.6
        content = (forge if forged else damage)(rng, original)
        self.path.write_bytes(content)
        try:
            model = suffice.load(self.path)
        except ModelFileError:
            self.outcomes["refused"] += 1
            return
        again = self._saved(model)
        if not forged:
            assert again == original, "damage was loaded"
            self.outcomes["the same model"] += 1
            return
        self.path.write_bytes(again)
        assert self._saved(suffice.load(self.path)) == again, "a forged model is another one when it is saved again"
        try:
            X = np.ones((2, model.n_features_in_)) if model.n_features_in_ < 100 else None
            if X is not None:
                (model.transform if hasattr(model, "transform") else model.predict_proba)(X)
        except SufficeError:
            self.outcomes["a model that refuses a table of ones"] += 1
        else:
            self.outcomes["another model"] += 1

    def _saved(self, model: Any) -> bytes:
        model.save(self.path)
        return self.path.read_bytes()


@contextmanager
def deep_recursion() -> Iterator[None]:
    """To write what is nested too deeply to be read."""
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(20_000)
        yield
    finally:
        sys.setrecursionlimit(limit)


def damage(rng: random.Random, original: bytes) -> bytes:
    """Other bytes, or another header of safetensors."""
    if rng.random() < 0.5:
        return _bytes(rng, bytearray(original))
    (length,) = struct.unpack("<Q", original[:8])
    header, data = json.loads(original[8 : 8 + length]), original[8 + length :]
    whole = dict(header)
    for _ in range(rng.randint(1, 2)):
        names = [name for name in header if name in whole and name != "__metadata__"]
        if not names:
            break
        name = rng.choice(names)
        entry = header[name] = dict(whole[name])
        kind = rng.choice(["dtype", "shape", "offsets", "gone", "named", "field", "metadata"])
        if kind == "dtype":
            entry["dtype"] = rng.choice(DTYPES)
        elif kind == "shape":
            entry["shape"] = rng.choice([entry["shape"][::-1], [*entry["shape"], 1], [], [rng.choice(NUMBERS)], None])
        elif kind == "offsets":
            entry["data_offsets"] = [rng.choice([*entry["data_offsets"], rng.choice(NUMBERS)]) for _ in range(2)]
        elif kind == "gone":
            del header[name]
        elif kind == "named":
            header[rng.choice(["", "a", "é", "__metadata__", name + "x"])] = header.pop(name)
        elif kind == "field":
            _json(rng, entry)
        else:
            header["__metadata__"] = rng.choice([None, {}, {"suffice": ""}, {"suffice": "{}"}, {"a": "b"}, 3])
    with deep_recursion():
        text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def _bytes(rng: random.Random, content: bytearray) -> bytes:
    at = rng.randrange(len(content))
    kind = rng.choice(["flip", "flips", "cut", "more", "again", "gone", "length", "ends"])
    if kind == "flip":
        content[at] ^= 1 << rng.randrange(8)
    elif kind == "flips":
        for _ in range(rng.randint(2, 20)):
            content[rng.randrange(len(content))] = rng.randrange(256)
    elif kind == "cut":
        del content[at:]
    elif kind == "more":
        content[at:at] = rng.randbytes(rng.randint(1, 64))
    elif kind == "again":
        content[at:at] = content[at : at + rng.randint(1, 64)]
    elif kind == "gone":
        del content[at : at + rng.randint(1, 64)]
    elif kind == "length":
        content[:8] = struct.pack("<Q", rng.choice([0, 1, 2, len(content), 10**8, 2**32, 2**63, 2**64 - 1]))
    else:
        content[-rng.randint(1, 64) :] = rng.randbytes(rng.randint(0, 64))
    return bytes(content)


def forge(rng: random.Random, original: bytes) -> bytes:
    """Another content with its own digest."""
    (length,) = struct.unpack("<Q", original[:8])
    metadata = json.loads(original[8 : 8 + length])["__metadata__"]
    from safetensors.numpy import load

    header, arrays = json.loads(metadata["suffice"].partition(" ")[2]), dict(sorted(load(original).items()))
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.5:
            _json(rng, header)
        else:
            _arrays(rng, arrays)
    with deep_recursion():
        return arrayfile.content(header, arrays)


def _json(rng: random.Random, value: Any) -> None:
    """Change something anywhere in a JSON value."""
    while True:
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            value[slice(0, 0) if isinstance(value, list) else "a"] = [deepcopy(rng.choice(VALUES))]
            return
        key = rng.choice(keys)
        if not isinstance(value[key], dict | list) or rng.random() < 0.3:
            break
        value = value[key]
    kind = rng.random()
    if kind < 0.2:
        del value[key]
    elif kind < 0.3 and isinstance(value, list):
        value.append(value[key])
    elif kind < 0.31:
        nested: Any = 0
        for _ in range(rng.choice([5, 300, 3000])):
            nested = {"pairs": [[0, nested]]}
        value[key] = nested
    else:
        value[key] = deepcopy(rng.choice(VALUES))


def _arrays(rng: random.Random, arrays: dict[str, Any]) -> None:
    """Change one of the arrays."""
    if not arrays:
        return
    name = rng.choice(list(arrays))
    array = arrays[name]
    kind = rng.choice(["cell", "cells", "dtype", "shape", "gone", "named", "longer", "shorter", "swapped"])
    with np.errstate(all="ignore"):
        if kind in ("cell", "cells") and array.size:
            array = array.copy()
            flat = array.reshape(-1)
            places = range(array.size) if kind == "cells" else [rng.randrange(array.size)]
            for place in places:
                cell = rng.choice(CELLS if array.dtype.kind == "f" else [0, 1, -1, 2, 7, 10**9, 2**31, 2**62])
                flat[place] = np.asarray(cell).astype(array.dtype)
            arrays[name] = array
        elif kind == "dtype":
            arrays[name] = array.astype(rng.choice(ARRAYS))
        elif kind == "shape":
            arrays[name] = rng.choice([array.reshape(-1), array[None], array.T, array[..., None], np.zeros(())])
        elif kind == "gone":
            del arrays[name]
        elif kind == "named":
            arrays[rng.choice(["a", "count", "mean", "names", "observed", "", name + ".columns"])] = arrays.pop(name)
        elif kind in ("longer", "shorter") and array.ndim:
            arrays[name] = np.concatenate([array, array]) if kind == "longer" else array[:-1]
        elif kind == "swapped":
            other = rng.choice(list(arrays))
            arrays[name], arrays[other] = arrays[other], arrays[name]


def run(
    files: int, seed: int = 0, seconds: float = np.inf, patience: int = 10
) -> tuple[Counter[str], list[tuple[int, str]]]:
    """What came of how many files, and the seeds of those that failed."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    failures: list[tuple[int, str]] = []
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fuzzer = Fuzzer(Path(folder))
        start = time.monotonic()
        for n in range(files):
            if time.monotonic() > start + seconds:
                break
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                with np.errstate(all="ignore"):
                    fuzzer.run(seed + n)
                more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
                assert 1024 * more < MEMORY, f"it took {1024 * more} bytes"
            except Exception as error:
                failures.append((seed + n, f"{type(error).__name__}: {error}"))
                if len(failures) >= patience:
                    break
            if n and n % 10_000 == 0:
                print(f"{n} files, {time.monotonic() - start:.0f} s, {dict(fuzzer.outcomes)}, {failures}", flush=True)
    return fuzzer.outcomes, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    outcomes, failures = run(wanted.files, wanted.seed, wanted.seconds)
    print(f"{sum(outcomes.values()) + len(failures)} files: {dict(outcomes)}, {len(failures)} failed")
    for seed, failure in failures:
        print(f"  seed {seed}: {failure[:300]}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
