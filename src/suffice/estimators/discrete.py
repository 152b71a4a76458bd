"""Naive Bayes on Booleans, categories, words and counts of events."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from ..densities.scorer import Edge
from ..errors import DataError
from ..families import FAMILIES
from ..scoring.model import Model, Prior
from ..sources import Source
from ..stats import CategoryStats, CountStats, PairStats, WordStats
from ..stats.bundle import Collector
from ..tables.readers import as_documents
from ..tables.tokens import Tokens
from .classifier import of_model
from .generative import GenerativeClassifier

Array = NDArray[Any]


class CountClassifier(GenerativeClassifier):
    """What the classifiers of counts share. Columns without a value do not count."""

    alpha: Any
    statistics_: CountStats | WordStats

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True
        return tags


class TextOrCounts(CountClassifier):
    """What the classifiers share that take text as well as counts."""

    def _new_source(self, X: Any, y: Any = None, weight: Any = None) -> Source:
        return super()._new_source(as_documents(X), y, weight)

    def _inferred(self) -> CountStats | WordStats:
        return self.statistics_

    def _collector(self, inferred: CountStats | WordStats | None) -> Collector:
        of: Any = super()._collector(inferred)
        return of if inferred is None else of.more_of(inferred)  # type: ignore[no-any-return]

    def vocabulary(self, column: int = 0) -> Array:
        """Return the words of a column of text that the model uses.

        Parameters
        ----------
        column : int
            The index of the column.

        Returns
        -------
        array of str of shape (v,)
            In the order of their code points, which is that of CountVectorizer.

        Examples
        --------
        >>> from suffice import MultinomialClassifier
        >>> MultinomialClassifier().fit(["a good film", "a dull film"], ["good", "bad"]).vocabulary().tolist()
        ['dull', 'film', 'good']
        """
        density = self.density_
        if not hasattr(density, "vocabulary"):
            raise DataError("this model was fitted to counts, not to text: its features are columns")
        return np.asarray(density.vocabulary(column))


class BernoulliClassifier(TextOrCounts):
    """Booleans: each feature is present (above zero) or absent. Text: each word is present in a document or absent.

    Parameters
    ----------
    alpha : float or array of shape (d,)
        Pseudo-counts of presence and of absence, one for all features or one for each; 0 is maximum likelihood. Text
        takes one number.
    prior : array, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others; None takes the frequencies of the training rows.
    tokens : Tokens or None
        How text is cut into words; None means `Tokens()`.
    n_jobs : int or None
        Threads; None uses every processor unless SUFFICE_NUM_THREADS or OMP_NUM_THREADS says otherwise.

    Examples
    --------
    >>> from suffice import BernoulliClassifier
    >>> clf = BernoulliClassifier(alpha=1).fit([[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> clf.llr([[0, 1]]).round(3)
    array([1.269])
    """

    _recipe = FAMILIES["bernoulli"]

    def __init__(
        self, alpha: Any = 1.0, prior: Prior = None, *, tokens: Tokens | None = None, n_jobs: int | None = None
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.tokens = tokens
        self.n_jobs = n_jobs

    @property
    def probabilities_(self) -> Any:
        """The probability that each feature is present in each class, (k, d); for text a list with one such array."""
        return _table_or_list(self.parameters_["probabilities"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False
        return tags


class PoissonClassifier(CountClassifier):
    """Counts of events, each feature with its own rate.

    Parameters
    ----------
    alpha : float or array of shape (d,)
        Pseudo-rows at the mean of all rows (a Gamma prior), one number for all features or one for each; 0 is maximum
        likelihood.
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

    _recipe = FAMILIES["poisson"]

    def __init__(
        self, alpha: Any = 1.0, prior: Prior = None, *, predictive: bool = False, n_jobs: int | None = None
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.predictive = predictive
        self.n_jobs = n_jobs

    @property
    def rates_(self) -> Array:
        """The mean count of each feature in each class, (k, d)."""
        learnt = self.parameters_
        return np.asarray(learnt["shapes"] / learnt["rates"] if "shapes" in learnt else learnt["rates"])


class MultinomialClassifier(TextOrCounts):
    """Occurrences, such as the words of documents of any length: text as it is, lists of tokens, or counts.

    Parameters
    ----------
    alpha : float or array of shape (d,)
        Pseudo-count of every feature, or one for each; 0 is maximum likelihood. Text takes one number.
    prior : array, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others.
    complement : bool or "normalized"
        Score by the words of all other classes, which helps where classes differ much in size. ``predict`` with
        ``prior="uniform"`` is what scikit-learn's ComplementNB predicts.
    predictive : bool
        Integrate over the probabilities (a Dirichlet-multinomial) instead of plugging in their estimates.
    tokens : Tokens or None
        How text is cut into words; None means `Tokens()`, which does as scikit-learn's CountVectorizer.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> from suffice import MultinomialClassifier
    >>> clf = MultinomialClassifier().fit(["a good film", "good fun", "a bad film"], ["+", "+", "-"])
    >>> clf.predict(["such good fun"]).tolist(), clf.vocabulary().tolist()
    (['+'], ['bad', 'film', 'fun', 'good'])
    >>> clf = MultinomialClassifier(alpha=0).fit([[6, 1], [4, 1], [2, 4], [2, 6]], ["C", "C", "Python", "Python"])
    >>> clf.llr([[1, 1]]).round(3)
    array([0.385])
    """

    _recipe = FAMILIES["multinomial"]

    def __init__(
        self,
        alpha: Any = 1.0,
        prior: Prior = None,
        *,
        complement: bool | str = False,
        predictive: bool = False,
        tokens: Tokens | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.complement = complement
        self.predictive = predictive
        self.tokens = tokens
        self.n_jobs = n_jobs

    @property
    def probabilities_(self) -> Any:
        """The probability of each feature in each class, (k, d); for text a list with one such array."""
        learnt = self.parameters_
        if "weights" in learnt:
            raise AttributeError("complement weights are not probabilities; parameters_ holds the weights")
        if "concentrations" in learnt:
            return learnt["concentrations"] / learnt["concentrations"].sum(axis=1, keepdims=True)
        return _table_or_list(learnt["probabilities"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on features that are no counts, as scikit-learn's own
        return tags


def _table_or_list(probabilities: Any) -> Any:
    return probabilities if isinstance(probabilities, list) else np.asarray(probabilities)


class CategoricalClassifier(GenerativeClassifier):
    """Categories: strings, pandas or Arrow categories, integers or Booleans, as they are.

    Parameters
    ----------
    alpha : float or list
        Pseudo-count of every category that was declared, or seen in any class; 0 is maximum likelihood. Or a list with
        one for each column: a number, or a list with a number for each of the column's `categories`, in their order.
    unknown : {"ignore", "smooth", "error"}
        What to do with an unknown category, one that was never seen in training: ignore it like a missing value, score
        it like one that the class never had (which favours classes with few rows), or raise an error. `unknown_cells`
        finds them.
    prior : array, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others.
    structure : {None, "tree"}
        None for columns that are independent given the class (naive Bayes). "tree" lets each column depend on another
        one, in the tree in which columns tell most about each other (tree-augmented naive Bayes): see `edges_`.
    joint : list of pairs of columns, or None
        Columns that depend on each other in any case, by name or index, such as ``[("fur", "eyes")]``.
    categories : list of lists, dict or None
        Categories that columns can have, also where no row has them: a list (or None) for each column, or a dictionary
        by the names of columns. Those that types declare (pandas categoricals, Arrow dictionaries, polars Enums) need
        not be repeated.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> from suffice import CategoricalClassifier
    >>> fur = [["black"], ["orange"], ["white"], ["black"], ["white"], ["calico"]]
    >>> clf = CategoricalClassifier(alpha=0).fit(fur, ["m", "m", "m", "f", "f", "f"])
    >>> clf.llr([["black"], ["orange"], ["calico"]]).tolist()
    [0.0, inf, -inf]

    A lamp burns when both switches are alike, so that neither tells anything without the other:

    >>> switches = [["up", "up"], ["up", "down"], ["down", "up"], ["down", "down"]] * 5
    >>> lamp = ["on", "off", "off", "on"] * 5
    >>> CategoricalClassifier().fit(switches, lamp).score(switches, lamp)
    0.5
    >>> CategoricalClassifier(structure="tree").fit(switches, lamp).score(switches, lamp)
    1.0
    """

    _recipe = FAMILIES["categorical"]
    statistics_: CategoryStats | PairStats

    def __init__(
        self,
        alpha: Any = 1.0,
        unknown: str = "ignore",
        prior: Prior = None,
        *,
        structure: str | None = None,
        joint: Any = None,
        categories: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.unknown = unknown
        self.prior = prior
        self.structure = structure
        self.joint = joint
        self.categories = categories
        self.n_jobs = n_jobs

    @property
    def categories_(self) -> tuple[Array, ...]:
        """The categories of every column that were declared or seen, sorted."""
        return tuple(self.density_.categories_of_columns().values())

    @property
    def probabilities_(self) -> list[Array]:
        """For each column the probabilities of its categories, (k, categories)."""
        return [np.asarray(p) for p in self.parameters_["probabilities"]]

    @property
    def feature_importances_(self) -> Array:
        """The mutual information of each column and the class, in nats: how much it tells on its own, (d,).

        `coef_` has a slope for each category, so tell scikit-learn's RFE and SelectFromModel to take this:
        ``RFE(clf, importance_getter="feature_importances_")``.
        """
        prior = self.prior_[self.prior_ > 0, None]
        joint = (prior * table[self.prior_ > 0] for table in self.probabilities_)
        return np.array([rel_entr(share, prior * share.sum(axis=0)).sum() for share in joint])

    @property
    def edges_(self) -> list[Edge]:
        """Which columns depend on each other, the strongest dependence first.

        Each edge has the names of the parent and of the child, or their indices, and their conditional mutual
        information given the class, in nats. There are none if the columns are independent.
        """
        return self.to_model().edges()

    unknown_cells = of_model(Model.unknown_cells)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.sparse = False
        return tags
