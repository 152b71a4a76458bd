"""What every generative classifier has: likelihoods, and what only they allow."""

from __future__ import annotations

import operator
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .. import decisions
from ..collect import collect
from ..combined import Mixed
from ..densities import Density
from ..em import Estimate
from ..errors import ColumnWarning, DataError, EmptyClassWarning, SingularWarning
from ..families import Family
from ..leave_one_out import LeaveOneOut, coded, frequencies_without, held_out_scores
from ..modelfile import Learnt, ModelFile
from ..regression import LogisticModel
from ..scoring.model import Model, Prior
from ..sources import LocalSource, Source
from ..stats import ComponentStats, Statistics
from ..stats.bundle import Collector
from ..stats.components import relabelled
from ..tables.libraries import in_library
from ..tables.subset import with_columns
from .classifier import LLRClassifier, of_model
from .estimated import CHOSEN, Estimated
from .learner import Learner
from .logistic import LogisticClassifier

Array = NDArray[Any]


class DensityClassifier(LLRClassifier, Estimated):
    """A classifier that models p(x | class) and leaves prior and cost to whoever decides."""

    _recipe: ClassVar[Family | Mixed]

    def to_model(self) -> Model:
        """Give the model that was learnt: immutable, and without scikit-learn.

        Returns
        -------
        Model
            It scores and decides as this estimator does now.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> clf.to_model()
        Model(GaussianDensity of 1 columns, classes 'a', 'b')
        """
        density, statistics = self._estimate(), self._fitted()
        chosen: dict[str, Any] = {name: getattr(self, f"{name}_", None) for name in CHOSEN}
        settings = self.prior, self.n_jobs, *chosen.values(), getattr(self, "feature_names_in_", None)
        known: tuple[Any, Model] | None = self.__dict__.get("_model_of")
        if known is not None and known[1].density is density and all(map(operator.is_, known[0], settings)):
            return known[1]
        total, classes = statistics.weight.sum(), statistics.classes
        prior = statistics.weight / total if total else None
        if self.prior is not None:
            prior = decisions.as_prior(self.prior, classes, np.full(len(classes), 1 / len(classes)))
        own: dict[str, Any] = {"names": self._names(), "n_jobs": self.n_jobs, "owner": type(self).__name__}
        model = Model._known(density, classes, prior, **own, **chosen)
        if self._has_lasting_prior():
            self.__dict__["_model_of"] = settings, model
        return model

    def _has_lasting_prior(self) -> bool:
        """Whether the prior cannot change in place, as that of an array, list or dictionary can."""
        return self.prior is None or (isinstance(self.prior, str) and self.prior == "uniform")

    def _estimated(self) -> Self:
        self.to_model()  # which is kept, so that scoring changes nothing in this estimator; or an error about the prior
        return self

    def _learnt(self) -> Learnt:
        statistics = super()._learnt()
        decisions.as_prior(self.prior, statistics.classes, self._fitted().weight)
        return statistics

    @classmethod
    def _from_file(cls, model: ModelFile) -> Self:
        loaded = super()._from_file(model)
        decisions.as_prior(loaded.prior, loaded.classes_, loaded._fitted().weight)  # or an error
        return loaded

    # What was learnt.

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        return self._fitted().classes

    @property
    def density_(self) -> Density:
        """The density p(x | class), estimated from `statistics_`."""
        return cast("Density", self._estimate())

    @property
    def parameters_(self) -> dict[str, Any]:
        """What was learnt, by name; a mixed model has a dictionary for each family."""
        return self.to_model().parameters()

    @property
    def log_likelihood_(self) -> float:
        """The log-likelihood of the training rows, log p(x | own class) summed with their weights.

        It follows from the statistic; where the statistic does not hold enough for it, there is no such attribute.
        """
        density, statistics = self.density_, self._recipe.adopted(self._fitted(), self._settled())
        try:
            return density.log_likelihood_of(statistics)
        except DataError as error:  # scikit-learn asks for all attributes to show a model
            raise AttributeError(str(error)) from error

    @property
    def coef_(self) -> Array:
        """The slopes of the log posteriors, in the shape that scikit-learn's LogisticRegression has.

        They are there where the log-likelihood ratio is linear in x, or in its one-hot encoding: tied Gaussian,
        multinomial, Bernoulli, Poisson and categorical models.
        """
        return self._linear().coef

    @property
    def intercept_(self) -> Array:
        """The intercepts beside `coef_`, with the prior of this model in them."""
        return self._linear().intercept

    def to_logistic(self, prior: Prior = None) -> LogisticClassifier:
        """Give the logistic model that a model with linear log-likelihood ratios is.

        It has the same log-likelihood ratios and, for the prior given here, the same posterior probabilities. Where x
        holds categories, it reads their one-hot encoding, in the order of the categories.

        Parameters
        ----------
        prior : array-like, dict, "uniform" or None
            Class probabilities without zeros; None takes those of this model.

        Returns
        -------
        LogisticClassifier
            Fitted.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier("tied").fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> clf.to_logistic().coef_
        array([[12.]])
        """
        model = self._logistic(prior)
        names = self._names()
        of_rows = None if names is None else self.density_.linear_names(names)
        return LogisticClassifier._of(model, of_rows, prior=model.prior, n_jobs=self.n_jobs)

    def _logistic(self, prior: Prior) -> LogisticModel:
        own = self.to_model()
        own._with_rows(range(len(own.classes)))
        chosen = own._as_prior(prior)
        if not chosen.all():
            raise DataError("a class with prior 0 has no logistic model; give a prior without zeros")
        center, slope, constant = cast("Density", own._evidence).linear()
        if own.calibration is not None:
            slope, constant = own.calibration.scale * slope, own.calibration(constant[None].copy())[0]
        return LogisticModel(own.classes, chosen, center, slope - slope.mean(axis=0), constant)

    def _linear(self) -> LogisticModel:
        try:
            return self._logistic(None)
        except DataError as error:  # scikit-learn asks with hasattr
            raise AttributeError(str(error)) from error

    # Scores: nothing of the prior is in them.

    log_likelihood = of_model(Model.log_likelihood)
    explain = of_model(Model.explain)
    typicality = of_model(Model.typicality)
    predict_open_set = of_model(Model.predict_open_set)
    score_samples = of_model(Model.score_samples)
    estimate_prior = of_model(Model.estimate_prior)
    impute = of_model(Model.impute)

    def sample(self, n: int = 1, label: Any = None, random_state: Any = None) -> tuple[Any, Array]:
        """Draw rows from the model.

        Parameters
        ----------
        n : int
            How many rows.
        label : label or None
            Draw from this class alone; None draws from all, in the proportions of the prior.
        random_state : int, Generator or None
            Makes the draws reproducible.

        Returns
        -------
        rows : table of n rows, or array of shape (n, d)
            A table of the library that the model was fitted with: pandas, polars or Arrow. After a fit to an array,
            an array; after a fit to files or a database, and for a loaded model, what `Model.sample` returns.
        labels : array of shape (n,)
            Their classes.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> rows, labels = clf.sample(3, label="a", random_state=0)
        >>> rows.shape, labels.tolist()
        ((3, 1), ['a', 'a', 'a'])
        """
        model = self.to_model()
        rows, labels = model.sample(n, label, random_state)
        return in_library(rows, model.names, self._library), labels

    # Expectation-maximisation: a class may have several components.

    @abstractmethod
    def _components(self) -> tuple[Statistics, Array]:
        """The statistic of the components of the classes, and the index of the class of each."""

    @abstractmethod
    def _em_parts(self, source: Source) -> tuple[Collector, Estimate]:
        """How components are collected, and estimated, as this model was."""

    @abstractmethod
    def _learn_components(self, found: ComponentStats) -> Self:
        """Take over what was found of the components of the classes."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class GenerativeClassifier(DensityClassifier, Learner):
    """A classifier that models p(x | class) through a statistic that adds and subtracts."""

    def _components(self) -> tuple[Statistics, Array]:
        each = np.arange(len(self.classes_))
        return relabelled(self._fitted().plain(), each), each

    def _em_parts(self, source: Source) -> tuple[Collector, Estimate]:
        recipe, choices, names = self._recipe, self._settled(), source.names

        def estimate(statistics: Any, start: Density | None = None) -> Density:
            return recipe.estimate(recipe.adopted(statistics, choices), choices | {"start": start}, names)

        return self._collector(self._inferred()), estimate

    def _learn_components(self, found: ComponentStats) -> Self:
        statistics = relabelled(found.parts, found.classes[found.owner])
        return self._learn(statistics, inferred=self._inferred())._estimated()

    def _check_more(self, are_all: bool) -> None:
        if are_all or not decisions.is_for_more(self.prior, self.classes_):
            decisions.as_prior(self.prior, self.classes_, self._fitted().weight)

    # Held-out scores.

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Score every row by the model of all other rows: exactly, and without fitting them.

        There is no prior in the scores; see `leave_one_out_proba`. The model itself is not changed.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : array-like of shape (n,) or str
            The labels, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n,), str or None
            Weights, or the name of the column of X that holds them.

        Returns
        -------
        array of shape (n, k)
            Log-likelihoods, classes in sorted order. A class that has no rows but this one has log-likelihood -inf.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> X, y = [[1.0], [3.0], [2.0], [5.0]], ["a", "a", "b", "b"]
        >>> GaussianClassifier("tied").leave_one_out(X, y).round(2)
        array([[-2.46, -3.21],
               [-2.46, -1.21],
               [-0.72, -7.47],
               [-7.47, -7.47]])
        """
        return self._held_out(X, y, sample_weight)[0]

    def leave_one_out_proba(self, X: Any, y: Any, sample_weight: Any = None, prior: Prior = None) -> Array:
        """Compute P(class | x) of every row by the model of all other rows, as their `predict_proba` would.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        y : array-like of shape (n,) or str
            The labels, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n,), str or None
            Weights, or the name of the column of X that holds them.
        prior : array-like, dict, "uniform" or None
            As in `predict_proba`. Where it is the frequencies of the training rows, a row does not count in that of
            its own class either: held-out decisions would lean towards the true class otherwise.

        Returns
        -------
        array of shape (n, k)
            The probabilities of a row sum to 1.

        Examples
        --------
        >>> from suffice import GaussianClassifier
        >>> X, y = [[1.0], [3.0], [2.0], [5.0]], ["a", "a", "b", "b"]
        >>> GaussianClassifier("tied").leave_one_out_proba(X, y).round(2)
        array([[0.51, 0.49],
               [0.13, 0.87],
               [1.  , 0.  ],
               [0.67, 0.33]])
        """
        scores, source, classes = self._held_out(X, y, sample_weight)
        chosen, k = self.prior if prior is None else prior, len(classes)
        if chosen is None:
            log_prior = decisions.log(frequencies_without(*coded(source.batch(0, source.n_rows), classes), k))
        else:
            given = decisions.as_prior(chosen, classes, np.full(k, 1 / k))
            log_prior = np.broadcast_to(decisions.log(given), scores.shape)
        return np.exp(decisions.log_posterior(scores + log_prior, log_prior))

    def _held_out(self, X: Any, y: Any, weight: Any) -> tuple[Array, LocalSource, Array]:
        """Held-out scores, the rows that they are of, and the classes."""
        source = self._new_source(with_columns(X, self._names(), y, weight), self._labels(y), weight).in_memory()
        model = clone(self)  # what this one has learnt plays no part, but for its columns
        inferred = model._infer(source)
        of = model._collector(inferred)
        statistics = collect(source, of)
        with warnings.catch_warnings():
            for kind in (SingularWarning, EmptyClassWarning, ColumnWarning):  # of every model without a row
                warnings.simplefilter("ignore", kind)
            ready = model._learn(statistics, source, inferred)._leave_one_out()
            return held_out_scores(source, of, statistics, ready, model._density_of), source, statistics.classes

    def _leave_one_out(self) -> LeaveOneOut:
        """What was learnt, ready to do without any one row; or an error where that has no closed form."""
        choices = self._settled()
        return self._recipe.leave_one_out(self._recipe.adopted(self._fitted(), choices), self._estimate(), choices)

    def _density_of(self, statistics: Any) -> Density:
        """The density that this model would have with other rows."""
        choices = self._settled()
        return self._recipe.estimate(self._recipe.adopted(statistics, choices), choices, self._names())
