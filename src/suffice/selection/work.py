"""The part that all searches share: from training statistics to the models of all candidates."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeVar

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ..errors import DataError
from ..estimators._sklearn import named_scorers
from ..sources import Source
from .paths import ROWS, GridPoint, State, is_passed, paths

T = TypeVar("T")


class Work(ABC):
    """A search: for each split, the steps of the pipelines, each once for all candidates that share it."""

    n_splits: int

    def __init__(
        self,
        base: Any,
        points: list[dict[str, Any]],
        source: Source,
        routed: Any,
        scorer: Any,
        with_train: bool,
        error_score: Any,
    ) -> None:
        self.names, self.scorer, self.error_score = source.names, scorer, error_score
        self.fit_params, self.score_params = routed.estimator.fit, routed.scorer.score
        self.sides = ("test", "train") if with_train else ("test",)
        estimators = [clone(base).set_params(**clone(point, safe=False)) for point in points]
        self.candidates, self.roots = paths(estimators, source)
        if not all(_weighs_all_steps(estimator, self.fit_params) for estimator in estimators):
            self.candidates, self.roots = [replace(one, root=ROWS) for one in self.candidates], {}
        self.total: dict[str, Any] = {}  # the statistics of all rows, where they are known

    @abstractmethod
    def results(self) -> list[dict[str, Any]]:
        """Return the results in the form of scikit-learn's searches, for each candidate and split."""

    def refitted(self, place: int) -> Any:
        """Return a candidate fitted to all rows, from their statistic."""
        candidate = self.candidates[place]
        total = self.total[candidate.root]
        if isinstance(total, DataError):
            raise total
        state = State(total, self.names, ())
        for step in candidate.path:
            if step.kind != "reduce":
                state = state.fitted(step.estimator) if step.kind == "cut" else state.after([step])
        return candidate.fitted(state.steps)

    def _ends(self, start: dict[str, State]) -> Iterator[tuple[list[GridPoint], State | Exception | None, float]]:
        """Yield groups of candidates that share a model, with its state; None if they must be fitted to the rows."""
        for group in grouped(self.candidates, lambda candidate: candidate.root):
            at = start.get(group[0].root)
            if at is None:
                yield from (([candidate], candidate.error, 0.0) for candidate in group)
            else:
                yield from self._walk(group, at)

    def _walk(
        self, candidates: list[GridPoint], at: State, depth: int = 0
    ) -> Iterator[tuple[list[GridPoint], State | Exception, float]]:
        """Yield candidates that share a model, its state or the error, and the seconds of the last step.

        The walk is depth first, so that only one state per step is in memory.
        """
        for group in grouped(candidates, lambda candidate: candidate.path[depth].key):
            start = time.perf_counter()
            try:
                after = at.after([candidate.path[depth] for candidate in group])
            except Exception as error:
                yield group, error, time.perf_counter() - start
                continue
            if depth == len(group[0].path) - 1:
                yield group, after, time.perf_counter() - start
            else:
                yield from self._walk(group, after, depth + 1)

    def _failed(self, error: Exception) -> dict[str, Any]:
        if self.error_score == "raise":
            raise error
        several = named_scorers(self.scorer)
        scores = dict.fromkeys(several, self.error_score) if several else self.error_score
        reason = f"{type(error).__name__}: {error}"
        return {f"{side}_scores": scores for side in self.sides} | {"fit_error": reason, "score_time": 0.0}


def grouped(items: list[T], key: Callable[[T], str]) -> Iterator[list[T]]:
    """Yield items with the same key together."""
    for _, group in groupby(sorted(items, key=key), key):
        yield list(group)


def _weighs_all_steps(estimator: Any, fit_params: dict[str, Any]) -> bool:
    """Return whether the only parameters of fit are row weights, the same for all steps."""
    names = ["sample_weight"]
    if isinstance(estimator, Pipeline):
        names = [f"{name}__sample_weight" for name, step in estimator.steps if not is_passed(step)]
    given = [fit_params.get(name) for name in names]
    return not set(fit_params) - set(names) and all(one is given[0] or _same_name(one, given[0]) for one in given)


def _same_name(a: Any, b: Any) -> bool:
    return isinstance(a, str) and isinstance(b, str) and a == b
