from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def instruction_sets() -> list[str]: ...
def use(name: str) -> None: ...
def encode_items(items: Array, code: Array) -> list[int]: ...
def encode_objects(items: Array, code: Array) -> list[object]: ...
def diag_moments(X: Array, code: Array, weight: Array | None, n: Array, mean: Array, scatter: Array) -> None: ...
def full_moments(
    X: Array, code: Array, weight: Array | None, pooled: bool, n: Array, mean: Array, scatter: Array
) -> None: ...
def diag_scores(
    X: Array,
    mean: Array,
    scale: Array,
    constant: Array,
    all: Array | None,
    best: Array | None,
    evidence: Array | None,
    /,
) -> bool: ...
def full_scores(
    X: Array,
    mean: Array,
    whitening: Array,
    constant: Array,
    all: Array | None,
    best: Array | None,
    evidence: Array | None,
    /,
) -> bool: ...
def linear_scores(
    X: Array,
    center: Array,
    slope: Array,
    constant: Array,
    all: Array | None,
    best: Array | None,
    evidence: Array | None,
    /,
) -> bool: ...
