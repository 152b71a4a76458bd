"""Naive Bayes on truths, categories, words and events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..densities import (
    BernoulliDensity,
    CategoricalDensity,
    ComplementDensity,
    Density,
    MultinomialDensity,
    NegativeBinomialDensity,
    PoissonDensity,
    PolyaDensity,
    SparseCountDensity,
)
from ..densities.categorical import POLICIES, UNKNOWN
from ..densities.counts import check_alpha
from ..errors import DataError, one_of
from ..leave_one_out import (
    BernoulliLeaveOneOut,
    CategoricalLeaveOneOut,
    LeaveOneOut,
    MultinomialLeaveOneOut,
    NegativeBinomialLeaveOneOut,
    PoissonLeaveOneOut,
    PolyaLeaveOneOut,
)
from ..sources import Source
from ..stats import CategoryStats, CollectCategories, CollectCounts, CountStats
from ..tables.batch import Batch
from .classifier import Prior
from .generative import GenerativeClassifier

Array = NDArray[Any]


class CountClassifier(GenerativeClassifier):
    """What the classifiers of counts share. Columns without a value do not count."""

    alpha: float
    statistics_: CountStats
    _presence = False
    _merges_columns = True

    def _statistic(self, source: Source, new: bool) -> Callable[[Batch], CountStats]:  # noqa: ARG002
        self._choices()
        return CollectCounts(self._presence)

    def _adopted(self, statistics: Any) -> CountStats:
        if not isinstance(statistics, CountStats) or statistics.presence != self._presence:
            raise DataError(f"a {type(self).__name__} needs CountStats of {'presence' if self._presence else 'sums'}")
        return statistics

    def _choices(self) -> tuple[Any, ...]:
        return (check_alpha(self.alpha),)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = not self._presence
        return tags


class BernoulliClassifier(CountClassifier):
    """Classes of truths: each feature is present (above zero) or absent.

    Parameters
    ----------
    alpha : float
        Pseudo-counts of presence and of absence; 0 is maximum likelihood.
    prior : array, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others; None takes the frequencies of the training rows.
    n_jobs : int or None
        Threads; None uses every processor unless SUFFICE_NUM_THREADS or OMP_NUM_THREADS says otherwise.

    Examples
    --------
    >>> from suffice import BernoulliClassifier
    >>> clf = BernoulliClassifier(alpha=1).fit([[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> clf.llr([[0, 1]]).round(3)
    array([1.269])
    """

    _presence = True

    def __init__(self, alpha: float = 1.0, prior: Prior = None, *, n_jobs: int | None = None) -> None:
        self.alpha = alpha
        self.prior = prior
        self.n_jobs = n_jobs

    def _estimate(self, statistics: CountStats) -> Density:
        density = SparseCountDensity if statistics.is_sparse else BernoulliDensity
        return density.estimate(statistics, check_alpha(self.alpha))

    def _leave_one_out(self) -> LeaveOneOut:
        return BernoulliLeaveOneOut(self.statistics_, self._model, check_alpha(self.alpha))


class PoissonClassifier(CountClassifier):
    """Classes of event counts, each feature with its own rate.

    Parameters
    ----------
    alpha : float
        Pseudo-rows at the mean of all rows (a Gamma prior); 0 is maximum likelihood.
    prior : array, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others.
    predictive : bool
        Integrate over the rates (a negative binomial) instead of plugging in their estimates.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> from suffice import PoissonClassifier
    >>> clf = PoissonClassifier(alpha=0).fit([[1], [3], [9], [11]], ["calm", "calm", "busy", "busy"])
    >>> clf.predict([[4], [6]]).tolist()
    ['calm', 'busy']
    """

    def __init__(
        self, alpha: float = 1.0, prior: Prior = None, *, predictive: bool = False, n_jobs: int | None = None
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.predictive = predictive
        self.n_jobs = n_jobs

    def _choices(self) -> tuple[Any, ...]:
        return *super()._choices(), self.predictive

    def _estimate(self, statistics: CountStats) -> Density:
        if statistics.is_sparse:
            raise DataError("a Poisson model keeps a rate for every class and feature: these are too many")
        density = NegativeBinomialDensity if self.predictive else PoissonDensity
        return density.estimate(statistics, check_alpha(self.alpha))

    def _leave_one_out(self) -> LeaveOneOut:
        ready = NegativeBinomialLeaveOneOut if self.predictive else PoissonLeaveOneOut
        return ready(self.statistics_, self._model, check_alpha(self.alpha))


class MultinomialClassifier(CountClassifier):
    """Classes of occurrences, such as the words of documents of any length.

    Parameters
    ----------
    alpha : float
        Pseudo-count of every feature; 0 is maximum likelihood.
    prior : array, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others.
    complement : bool or "normalized"
        Score by the words of all other classes, which helps where classes differ much in size. ``predict`` with
        ``prior="uniform"`` is what scikit-learn's ComplementNB predicts.
    predictive : bool
        Integrate over the probabilities (a Dirichlet-multinomial) instead of plugging in their estimates.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> from suffice import MultinomialClassifier
    >>> clf = MultinomialClassifier(alpha=0).fit([[6, 1], [4, 1], [2, 4], [2, 6]], ["C", "C", "Python", "Python"])
    >>> clf.llr([[1, 1]]).round(3)
    array([0.385])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        prior: Prior = None,
        *,
        complement: bool | str = False,
        predictive: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.complement = complement
        self.predictive = predictive
        self.n_jobs = n_jobs

    def _choices(self) -> tuple[Any, ...]:
        if self.complement not in (False, True, "normalized"):
            raise DataError(f'complement={self.complement!r} is not known; give False, True or "normalized"')
        if self.complement and self.predictive:
            raise DataError("complement weights have no predictive; choose one of the two")
        return *super()._choices(), self.complement, self.predictive

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on features that are no counts, as scikit-learn's own
        return tags

    def _estimate(self, statistics: CountStats) -> Density:
        alpha = check_alpha(self.alpha)
        if statistics.is_sparse:
            if self.complement or self.predictive:
                raise DataError(
                    "complement and predictive models keep a table of all classes and features: too many here"
                )
            return SparseCountDensity.estimate(statistics, alpha)
        if self.complement:
            return ComplementDensity.estimate(statistics, alpha, normalize=self.complement == "normalized")
        return (PolyaDensity if self.predictive else MultinomialDensity).estimate(statistics, alpha)

    def _leave_one_out(self) -> LeaveOneOut:
        if self.complement:
            raise DataError("complement weights are no probabilities: leave_one_out is not defined")
        ready = PolyaLeaveOneOut if self.predictive else MultinomialLeaveOneOut
        return ready(self.statistics_, self._model, check_alpha(self.alpha))


class CategoricalClassifier(GenerativeClassifier):
    """Classes of categories: strings, pandas or Arrow categories, integers or booleans, as they are.

    Parameters
    ----------
    alpha : float
        Pseudo-count of every category that was seen in any class; 0 is maximum likelihood.
    unknown : {"smooth", "ignore", "error"}
        What a category is worth that was never seen in training: as much as one that the class never had; nothing, as
        if it were missing; or an error. `unknown_cells` tells where there are any.
    prior : array, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> from suffice import CategoricalClassifier
    >>> fur = [["black"], ["orange"], ["white"], ["black"], ["white"], ["calico"]]
    >>> clf = CategoricalClassifier(alpha=0).fit(fur, ["m", "m", "m", "f", "f", "f"])
    >>> clf.llr([["black"], ["orange"], ["calico"]]).tolist()
    [0.0, inf, -inf]
    """

    statistics_: CategoryStats
    _merges_columns = True

    def __init__(
        self, alpha: float = 1.0, unknown: str = "smooth", prior: Prior = None, *, n_jobs: int | None = None
    ) -> None:
        self.alpha = alpha
        self.unknown = unknown
        self.prior = prior
        self.n_jobs = n_jobs

    def _statistic(self, source: Source, new: bool) -> Callable[[Batch], CategoryStats]:  # noqa: ARG002
        self._choices()
        return CollectCategories()

    def _adopted(self, statistics: Any) -> CategoryStats:
        if not isinstance(statistics, CategoryStats):
            raise DataError(f"a CategoricalClassifier needs CategoryStats, not {type(statistics).__name__}")
        return statistics

    def _choices(self) -> tuple[Any, ...]:
        return check_alpha(self.alpha), one_of("unknown", self.unknown, POLICIES)

    def _estimate(self, statistics: CategoryStats) -> CategoricalDensity:
        return CategoricalDensity.estimate(statistics, check_alpha(self.alpha), self.unknown)

    def _leave_one_out(self) -> LeaveOneOut:
        return CategoricalLeaveOneOut(self.statistics_, self._model, check_alpha(self.alpha))

    @property
    def categories_(self) -> tuple[Array, ...]:
        """The categories of every column, sorted."""
        return self._adopted(self._fitted()).categories

    def unknown_cells(self, X: Any) -> Array:
        """Which cells hold a category that was never seen in training, (n, d) bool."""
        density = CategoricalDensity.estimate(self._adopted(self._fitted()), check_alpha(self.alpha), "ignore")
        source = self._in_memory(X)
        return np.asarray(density.places(density.read(source.batch(0, source.n_rows).table)) == UNKNOWN)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.sparse = False
        return tags
