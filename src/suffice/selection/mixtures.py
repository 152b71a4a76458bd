"""Mixtures of Gaussians for each class among the candidates of the automatic choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import clone

from .. import decisions
from ..densities import Density
from ..estimators.mixture_classifier import MixtureClassifier
from ..families import FAMILIES
from ..sources import Source
from ..sources.sampling import sampled
from ..starts import Sample, Search
from ..tables.batch import Batch
from ..tables.features import extended, with_features
from ..tables.table import Matrix, encoded
from .comparisons import Comparisons
from .held_out import Trial
from .models import NUMBERS, POWERS, ROWS, Candidate, StatisticCandidate, UnfitError, View, in_python

Array = NDArray[Any]

COMPONENTS = {"full": (4, 8, 16), "diag": (16,)}  # of each class, by their covariances
_FAR = {"full": 5.0, "diag": 2.0}  # times the least loss, beyond which such Gaussians are not mixed
_FEW_ROWS = 1000  # with fewer, mixtures are not tried
_ROWS = {"full": 2, "diag": 1}  # for each number of a component, by covariances
_PRODUCTS = 1 << 25  # rows times components times numbers in a covariance; with more, they are not tried
_STEPS = 3  # of EM, while mixtures are compared


@dataclass(frozen=True, eq=False)
class MixtureCandidate(Candidate):
    """A mixture of Gaussians for each class: those of the training rows of a split are found by a few steps of EM."""

    estimator: MixtureClassifier
    view: View

    @property
    def name(self) -> str:  # type: ignore[override]
        return in_python(self.estimator)

    @cached_property
    def _rows(self) -> Array:
        """The columns as numbers, (n, d), after their transforms."""
        columns = extended(self.view.source.table, self.view.schema.features).columns()
        return np.column_stack([columns[j].floats() for j in self.view.schema.blocks()["gaussian"]])

    def scores(self, trial: Trial, splits: range) -> Array:
        model, gaussian = self.estimator, FAMILIES["gaussian"]
        choices = {**gaussian.defaults, **{name: getattr(model, name) for name in ("covariance", "variance_floor")}}
        collect = gaussian.collect(choices)

        def estimate(statistics: Any, start: Density | None = None) -> Density:  # noqa: ARG001
            return gaussian.estimate(statistics, {**choices, "floor_by": "total"})

        def of_split(f: int) -> Array:
            train, test = trial.splits[f]
            random, scores = np.random.default_rng(model.random_state), np.empty((len(test), len(trial.classes)))
            for c in range(len(trial.classes)):
                own = train[(trial.code[train] == c) & (trial.weight[train] > 0)]
                if not len(own):
                    raise UnfitError("some training rows lack a class")
                sample = Sample([Batch(Matrix(self._rows[own]), None, trial.weight[own])], collect, estimate)
                search = Search(sample, random, model.init, model.n_init, model.tol, _STEPS, model.pseudo_rows or 0.0)
                found = search.best(min(model.n_components, len(own)))
                joint = np.empty((len(test), len(found.weight)))
                found.density.score(self._rows[test], decisions.log(found.weight), all=joint)
                scores[:, c] = logsumexp(joint, axis=1)
            return scores

        return trial.scores(of_split, splits)

    def fitted(self, source: Source) -> Any:
        """Return the model of all rows, or of `ROWS` of them, since each step of EM is a pass over the rows."""
        some, schema = sampled(source, ROWS, 0).rows, self.view.schema
        some = some.with_table(with_features(encoded(some.table), schema.features))
        return clone(self.estimator)._fit_inferred(some, schema)


def mixtures(
    trial: Trial, n_jobs: int | None, tried: Sequence[StatisticCandidate], results: Comparisons
) -> Iterator[MixtureCandidate]:
    """Yield models of several Gaussians for each class, and more of them while held-out rows prefer that.

    Parameters
    ----------
    trial : Trial
        The rows: numbers without missing values.
    n_jobs : int or None
        The number of threads.
    tried : sequence of StatisticCandidate
        Those with one Gaussian for each class are among them.
    results : Comparisons
        What is known of the candidates that were yielded before.
    """
    n, d = np.count_nonzero(trial.weight), trial.source.n_features
    straight = [one for one in tried if one.view.families in (NUMBERS, POWERS)]
    single = {name: [one for one in straight if one.estimator.covariance == name] for name in ("diag", "tied", "full")}
    is_gaussian = set(View.of(trial, "auto", NUMBERS).schema.blocks()) == {"gaussian"}  # and not Boolean
    if n < _FEW_ROWS or not is_gaussian or results.is_worse(single["full"], single["tied"]):
        return
    for covariance, size in (("full", d**2), ("diag", d)):
        least = _ROWS[covariance] * len(trial.classes) * d
        numbers = [m for m in COMPONENTS[covariance] if n >= least * m and n * m * size <= _PRODUCTS]
        if not numbers or results.ratio(single[covariance]) > _FAR[covariance]:
            return
        view, best = results.best_of(single[covariance]).view, None
        for m in numbers:
            estimator = MixtureClassifier(
                m, covariance, view.families, tol=0.01, n_init=1, pseudo_rows=d / 2, random_state=0, n_jobs=n_jobs
            )
            yield (model := MixtureCandidate(estimator, view))
            if best is None and not results.is_worse(single[covariance], [model]):
                return  # several are not clearly better than one
            if results.is_worse([model]) or results.best_of([best or model, model]) is not model:
                break
            best = model
