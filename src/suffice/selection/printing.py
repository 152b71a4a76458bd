"""What a search prints while it is verbose: the lines of scikit-learn's GridSearchCV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from joblib import logger

_WIDTH = 80


def lines(points: list[dict[str, Any]], n_splits: int, out: list[dict[str, Any]], verbose: int) -> Iterator[str]:
    """Yield a line for every candidate and split, and before it one that it starts, as far as `verbose` asks for them.

    Parameters
    ----------
    points : list of dict
        The parameters of the candidates.
    n_splits : int
        The number of splits.
    out : list of dict
        The results of each candidate and split.
    verbose : int
        2 tells the parameters and the time, 3 also the split and its scores, 10 also the candidate, twice.

    Yields
    ------
    str
        A line.
    """
    for i, result in enumerate(out if verbose > 1 else ()):
        candidate, split = divmod(i, n_splits)
        where = f" {split + 1}/{n_splits}" if verbose > 2 else ""
        where += f"; {candidate + 1}/{len(points)}" if verbose > 9 else ""
        params = ", ".join(f"{name}={points[candidate][name]}" for name in sorted(points[candidate]))
        if verbose > 9:
            yield f"[CV{where}] START {params}".ljust(_WIDTH, ".")
        told = params + ";" * bool(params) + (_scores(result) if verbose > 2 else "")
        told += f" total time={logger.short_format_time(result['fit_time'] + result['score_time'])}"
        start = f"[CV{where}] END "
        yield start + told.rjust(_WIDTH - len(start), ".")


def _scores(result: dict[str, Any]) -> str:
    test, train = result["test_scores"], result.get("train_scores")
    if not isinstance(test, dict):
        return f", score={test:.3f}" if train is None else f", score=(train={train:.3f}, test={test:.3f})"
    of_train = {name: "" if train is None else f"train={train[name]:.3f}, " for name in test}
    return "".join(f" {name}: ({of_train[name]}test={test[name]:.3f})" for name in sorted(test))
