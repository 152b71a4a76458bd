"""The contract of every density: log p(x | class) for all classes at once, with no prior in it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, EmptyClassWarning, listed, warn
from ..sources import as_table
from ..stats import Statistics
from ..tables.table import Table
from .scorer import Scorer
from .usual import drawn_values

Array = NDArray[Any]


class LinearForm(NamedTuple):
    """log p(x | class) = constant + slope (x - center), up to a term that all classes share."""

    center: Array  # (p,)
    slope: Array  # (k, p)
    constant: Array  # (k,); -inf for a class without rows


class Density(Scorer):
    """p(x | class) for k classes: estimated from a statistic, or made from parameters."""

    kinds: ClassVar[dict[str, type[Density]]] = {}  # every density by the name of its class, as files have it

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Density.kinds[cls.__name__] = cls

    @classmethod
    @abstractmethod
    def estimate(cls, stats: Any, *args: Any, **choices: Any) -> Self:
        """Estimate the density of every class from a statistic.

        Parameters
        ----------
        stats : Statistics
            The statistic that this family is estimated from.
        *args, **choices
            What is chosen late: smoothing, shrinkage, structure.

        Returns
        -------
        Density
            The density of the classes of the statistic.

        Examples
        --------
        >>> from suffice import GaussianDensity, MomentStats
        >>> moments = MomentStats.from_sums([3], [[6.0]], [[14.0]])  # n, sum and sum of squares of 1, 2 and 3
        >>> density = GaussianDensity.estimate(moments, "diag")
        >>> density.parameters()["means"], density.parameters()["covariances"].round(4)
        (array([[2.]]), array([[0.6667]]))
        """

    @classmethod
    @abstractmethod
    def from_parameters(cls, *args: Any, **parameters: Any) -> Self:
        """Make a density from parameters: those of a textbook example, or of a model that was fitted elsewhere.

        The arguments have the names and shapes that `parameters` gives. The first axis is that of the classes. A class
        whose parameters are NaN is one without rows: its log-likelihood is -inf.

        Returns
        -------
        Density
            The density; DataError where the parameters are not possible, with the name of the class.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> heights = GaussianDensity.from_parameters([175.33, 161.82], [52.89, 46.89])  # in cm, of men and women
        >>> heights.log_likelihood([[174.0]]).round(2)
        array([[-2.92, -4.42]])
        """

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, as `from_parameters` takes them.

        Returns
        -------
        dict of str to array
            Arrays whose first axis is that of the classes; NaN for a class without rows.

        Examples
        --------
        >>> from suffice import PoissonDensity
        >>> PoissonDensity.from_parameters([[1.0, 0.25]]).parameters()
        {'rates': array([[1.  , 0.25]])}
        """

    def checked(self) -> Self:
        """Return the density after a check of its parameters: the arrays of a file can be anything.

        Returns
        -------
        Density
            The same density; DataError if the parameters are not valid.

        Examples
        --------
        >>> from dataclasses import replace
        >>> from suffice import BernoulliDensity
        >>> coin = BernoulliDensity.from_parameters([0.5])
        >>> coin.checked()
        BernoulliDensity(1 classes, 1 features)
        >>> replace(coin, one=np.log([[1.5]])).checked()
        Traceback (most recent call last):
            ...
        suffice.errors.DataError: probabilities[0, 0], of class 0, is 1.5; probabilities must be from 0 to 1
        """
        return type(self).from_parameters(**self.parameters())

    def blocks(self) -> list[tuple[Density, tuple[int, ...]]]:
        """Return the densities of blocks of columns that are independent given the class.

        Returns
        -------
        list of (Density, tuple of int)
            Each density with the indices of its columns; only this one if it has no blocks.

        Examples
        --------
        >>> from suffice import BernoulliDensity, GaussianDensity, ProductDensity
        >>> height = GaussianDensity.from_parameters([175.33, 161.82], [52.89, 46.89])
        >>> smokes = BernoulliDensity.from_parameters([0.25, 0.2])
        >>> for density, columns in ProductDensity.from_parameters({"height": height, "smokes": smokes}).blocks():
        ...     print(columns, density)
        (0,) GaussianDensity(spherical, 2 classes, 1 features)
        (1,) BernoulliDensity(2 classes, 1 features)
        """
        return [(self, tuple(range(self.n_features)))]

    @property
    def takes_weights(self) -> bool:
        """Whether `weighted` can be asked for: whether scores are sums over columns that factors keep simple."""
        return False

    def weighted(self, weights: Array) -> Self:  # noqa: ARG002
        """Return what scores a row by the sum over its columns of weight * log p(cell | class).

        Parameters
        ----------
        weights : array of shape (d,)
            One factor for each column, not negative. A column of weight 0 says nothing.

        Returns
        -------
        Density
            Its scores are not log-likelihoods, but differences between classes count as evidence.

        Examples
        --------
        >>> from suffice import BernoulliDensity
        >>> coins = BernoulliDensity.from_parameters([[0.5, 0.5], [0.9, 0.2]])
        >>> first = coins.weighted(np.array([1.0, 0.0]))
        >>> np.exp(first.log_likelihood([[1, 1]])).round(6), np.exp(coins.log_likelihood([[1, 1]])).round(6)
        (array([[0.5, 0.9]]), array([[0.25, 0.18]]))
        """
        raise DataError(f"{self!r} does not take weights of columns, which are for categories, bins and Booleans")

    def as_components(self) -> tuple[Density, Array, Array]:
        """Return the components of the classes: one for each, unless the classes are mixtures.

        Returns
        -------
        components : Density
            The density of K components.
        owner : array of int of shape (K,)
            The index of the class of each component.
        weights : array of shape (K,)
            The share of each component in its class.

        Examples
        --------
        >>> from suffice import GaussianDensity, MixtureDensity
        >>> bumps = GaussianDensity.from_parameters([-3.0, 3.0, 0.0], [1.0, 1.0, 1.0])
        >>> _, owner, weights = MixtureDensity.from_parameters(bumps, [0, 0, 1], [0.5, 0.5, 1.0]).as_components()
        >>> owner, weights
        (array([0, 0, 1]), array([0.5, 0.5, 1. ]))
        """
        return self, np.arange(self.n_classes), np.ones(self.n_classes)

    def ellipses(self, columns: Sequence[int]) -> tuple[Array, Array] | None:  # noqa: ARG002
        """Return the elliptical contours of some columns.

        Parameters
        ----------
        columns : sequence of int
            The indices of m columns.

        Returns
        -------
        tuple of arrays (k, m) and (k, m, m), or None
            The centers and the covariances or scale matrices; None for families without elliptical contours.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> density = GaussianDensity.from_parameters([[0.0, 2.0, 3.0]], [[1.0, 4.0, 9.0]], "diag")
        >>> density.ellipses([1, 2])
        (array([[2., 3.]]), array([[[4., 0.],
                [0., 9.]]]))
        """
        return None

    def n_parameters(self) -> int:
        """Count the free parameters of all classes, as the criteria AIC and BIC do.

        Returns
        -------
        int
            The number of parameters.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> means, one = [[0.0, 0.0], [1.0, 1.0]], np.eye(2)
        >>> GaussianDensity.from_parameters(means, [one, one]).n_parameters()  # 2 x (2 means + 3 covariances)
        10
        >>> GaussianDensity.from_parameters(means, one, "tied").n_parameters()  # 2 x 2 means + 3 covariances
        7
        """
        return sum(np.size(values) for values in self.parameters().values())

    def of_one_class(self) -> dict[str, Any]:
        """Return the parameters of the first class, each by the name for one: what `fit_density` shows.

        Returns
        -------
        dict
            Arrays of shape (d,), or what the family has for one class.

        Examples
        --------
        >>> from suffice import PoissonDensity
        >>> PoissonDensity.from_parameters([0.61]).of_one_class()
        {'rate': array([0.61])}
        """
        singular = {"probabilities": "p"}
        return {singular.get(name, name.removesuffix("s")): values[0] for name, values in self.parameters().items()}

    def linear(self) -> LinearForm:
        """Return the scores as linear functions of x, where they are: the slopes of a logistic model.

        Returns
        -------
        LinearForm
            Center (p,), slopes (k, p) and constants (k,) of the rows that `linear_rows` makes; DataError where the
            scores are not linear, or where a probability is zero.

        Examples
        --------
        >>> from suffice import PoissonDensity
        >>> _, slopes, constants = PoissonDensity.from_parameters([1.0, 2.0]).linear()
        >>> np.exp(slopes[1] - slopes[0]).round(6), constants  # each event speaks 2 : 1 for the second class
        (array([2.]), array([-1., -2.]))
        """
        raise DataError(f"log p(x | class) is not linear in x for {self!r}")

    def linear_rows(self, X: Any) -> Array:
        """Return the numbers that `linear` is about: one-hot where x is a category.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.

        Returns
        -------
        array of shape (n, p)
            One number for each slope.

        Examples
        --------
        >>> from suffice import CategoricalDensity
        >>> from suffice.sources import as_table
        >>> fur = CategoricalDensity.from_parameters(["black", "white"], [[0.2, 0.8], [0.5, 0.5]])
        >>> fur.linear_rows(fur.read(as_table([["white"], ["black"]])))
        array([[0., 1.],
               [1., 0.]])
        """
        return np.asarray(self.write(X), np.float64)

    def linear_names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return names for the numbers that `linear_rows` makes.

        Parameters
        ----------
        names : sequence of str
            The names of the columns.

        Returns
        -------
        tuple of str
            One name for each slope.

        Examples
        --------
        >>> from suffice import CategoricalDensity
        >>> CategoricalDensity.from_parameters(["black", "white"], [[0.2, 0.8], [0.5, 0.5]]).linear_names(["fur"])
        ('fur_black', 'fur_white')
        """
        return tuple(names)

    def log_likelihood_of(self, stats: Any) -> float:
        """Return the log-likelihood of the rows behind a statistic: log p(x | own class), summed with their weights.

        Parameters
        ----------
        stats : Statistics
            A statistic of the kind that this density is estimated from, with the same classes and columns.

        Returns
        -------
        float
            Exact, without the rows; DataError where the statistic does not hold enough for it.

        Examples
        --------
        >>> from suffice import GaussianDensity, MomentStats
        >>> moments = MomentStats.from_sums([2], [[4.0]], [[10.0]])  # n, sum and sum of squares of 1 and 3
        >>> density = GaussianDensity.from_parameters([2.0], [1.0])
        >>> round(density.log_likelihood_of(moments), 4), density.log_likelihood([[1.0], [3.0]]).sum(axis=0).round(4)
        (-2.8379, array([-2.8379]))
        """
        raise DataError(
            f"the log-likelihood of the rows cannot be computed from {stats!r}; sum log_likelihood(X) over the rows"
        )

    def _check_statistic(self, stats: Statistics) -> None:
        """Refuse a statistic that has other numbers of classes or columns."""
        if (len(stats.classes), stats.n_features) != (self.n_classes, self.n_features):
            raise DataError(f"{stats!r} and {self!r} differ in their numbers of classes or columns")

    def usual_values(self) -> Array:
        return drawn_values(self)

    def write(self, x: Any) -> Any:
        """Return rows as users have them.

        Parameters
        ----------
        x : rows
            In the form of `read`.

        Returns
        -------
        array or table
            The rows as numbers, categories or an Arrow table.

        Examples
        --------
        >>> from suffice import CategoricalDensity
        >>> from suffice.sources import as_table
        >>> fur = CategoricalDensity.from_parameters(["black", "white"], [[0.2, 0.8], [0.5, 0.5]])
        >>> fur.write(fur.read(as_table([["white"], ["black"]])))
        array([['white'],
               ['black']], dtype=object)
        """
        return x

    def log_likelihood(self, X: Any) -> Array:
        """Return log p(x | class) of every row and class.

        Parameters
        ----------
        X : table
            The n rows: an array, a data frame, or anything else tabular.

        Returns
        -------
        array of shape (n, k)
            Natural logarithms; no prior is in them.

        Examples
        --------
        >>> from suffice import BinomialDensity
        >>> coins = BinomialDensity.from_parameters(10, [0.5, 0.8])
        >>> np.exp(coins.log_likelihood([[5], [8]])).round(3)  # heads, with a fair coin and with a loaded one
        array([[0.246, 0.026],
               [0.044, 0.302]])
        """
        table = as_table(X)
        if table.n_features != self.n_features:
            raise DataError(f"X has {table.n_features} features, but this density has {self.n_features}")
        out = np.empty((len(table), self.n_classes))
        if not self.score(self.read(table), all=out):
            raise DataError("X contains infinity")
        return out

    @abstractmethod
    def sample(self, code: Array, rng: np.random.Generator) -> Any:
        """Draw rows from the classes.

        Parameters
        ----------
        code : array of int of shape (n,)
            The class of each row to draw.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        rows
            Rows in the form of `read`; `write` makes them what users have.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> heights = GaussianDensity.from_parameters([175.33, 161.82], [52.89, 46.89])
        >>> men = heights.sample(np.zeros(10_000, np.int64), np.random.default_rng(0))
        >>> men.shape, men.mean(axis=0).round()
        ((10000, 1), array([175.]))
        """

    @abstractmethod
    def explain(self, X: Any, c: int) -> Array:
        """Return the share of each feature in log p(x | class).

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.
        c : int
            The index of the class.

        Returns
        -------
        array of shape (n, d)
            The shares of a row sum to its log p(x | class).

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> variances = [[50.0, 80.0], [50.0, 80.0]]
        >>> people = GaussianDensity.from_parameters([[175.0, 75.0], [162.0, 60.0]], variances, "diag")
        >>> people.explain(np.array([[174.0, 62.0]]), 0).round(2)
        array([[-2.88, -4.17]])
        >>> people.log_likelihood([[174.0, 62.0]])[:, 0].round(2)
        array([-7.05])
        """

    def shares(self, X: Any) -> Array:
        """Return the shares of features for all classes, up to a constant of each cell that all classes share.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.

        Returns
        -------
        array of shape (n, k, d)
            What `explain` gives for each class.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> variances = [[50.0, 80.0], [50.0, 80.0]]
        >>> people = GaussianDensity.from_parameters([[175.0, 75.0], [162.0, 60.0]], variances, "diag")
        >>> shares = people.shares(np.array([[174.0, 62.0]]))
        >>> (shares[:, 0] - shares[:, 1]).round(2)  # the parts of height and weight in the log-likelihood ratio
        array([[ 1.43, -1.03]])
        """
        return np.stack([self.explain(X, c) for c in range(self.n_classes)], axis=1)

    def explain_parts(self, X: Any, a: int, b: int) -> list[tuple[int, Array, Array, Array]]:  # noqa: ARG002
        """Return the shares of the parts of cells in the log-likelihood ratio, where cells have parts, such as words.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.
        a, b : int
            The indices of the classes.

        Returns
        -------
        list of (int, array, array, array)
            For columns whose cells have parts: the index of the column, and for each part its row, its name and its
            share.

        Examples
        --------
        >>> from suffice import TextDensity
        >>> from suffice.sources import as_table
        >>> films = TextDensity.from_parameters([{"bad": 3, "film": 1}, {"good": 3, "film": 1}])
        >>> [(_, _, words, shares)] = films.explain_parts(films.read(as_table(["a good film"])), 0, 1)
        >>> dict(zip(words.tolist(), shares.round(2).tolist()))
        {'film': 0.0, 'good': 1.39}
        """
        return []

    @abstractmethod
    def typicality(self, X: Any) -> Array:
        """Return how probable rows are that are no more likely than these, under each class.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.

        Returns
        -------
        array of shape (n, k)
            Tail probabilities; near 0 for a row that a class does not explain.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> standard = GaussianDensity.from_parameters([0.0], [1.0])
        >>> standard.typicality(np.array([[0.0], [1.96], [-2.58]])).round(2)
        array([[1.  ],
               [0.05],
               [0.01]])
        """

    def marginal(self, X: Any) -> Array:
        """Return log p(observed cells | class), where some cells are missing.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.

        Returns
        -------
        array of shape (n, k)
            The log-likelihood of the observed cells.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> men = GaussianDensity.from_parameters([[175.0, 75.0]], [[[50.0, 30.0], [30.0, 80.0]]])  # height and weight
        >>> men.marginal(np.array([[190.0, np.nan]])).round(3)
        array([[-5.125]])
        >>> GaussianDensity.from_parameters([175.0], [50.0]).log_likelihood([[190.0]]).round(3)
        array([[-5.125]])
        """
        out = np.empty((len(X), self.n_classes))
        self.score(X, all=out)
        return out

    @abstractmethod
    def fill(self, X: Any, posterior: Array) -> Any:
        """Return the rows with missing cells filled in, given the observed ones.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.
        posterior : array of shape (n, k)
            The posterior of the classes.

        Returns
        -------
        rows
            With expectations, or the most probable categories, in place of missing cells.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> men = GaussianDensity.from_parameters([[175.0, 75.0]], [[[50.0, 30.0], [30.0, 80.0]]])  # height and weight
        >>> men.fill(np.array([[190.0, np.nan]]), np.ones((1, 1)))  # 75 + 30 / 50 (190 - 175)
        array([[190.,  84.]])
        """

    def unknown_cells(self, table: Table) -> Array:
        """Return which cells hold a category that was never seen in training.

        Parameters
        ----------
        table : Table
            The n rows.

        Returns
        -------
        array of bool of shape (n, d)
            True for unknown categories.

        Examples
        --------
        >>> from suffice import CategoricalDensity
        >>> from suffice.sources import as_table
        >>> fur = CategoricalDensity.from_parameters(["black", "white"], [[0.2, 0.8], [0.5, 0.5]])
        >>> fur.unknown_cells(as_table([["white"], ["green"]]))
        array([[False],
               [ True]])
        """
        return np.zeros((len(table), table.n_features), bool)

    def missing(self, X: Any) -> Array:
        """Return which cells are missing.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.

        Returns
        -------
        array of bool of shape (n, d)
            True for missing cells.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> men = GaussianDensity.from_parameters([[175.0, 75.0]], [[50.0, 80.0]], "diag")
        >>> men.missing(np.array([[190.0, np.nan]]))
        array([[False,  True]])
        """
        return np.asarray(np.isnan(X))

    def hide(self, X: Any, hidden: Array) -> Any:
        """Return the rows with more cells missing.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.
        hidden : array of bool of shape (n, d)
            The cells to hide.

        Returns
        -------
        rows
            Rows in the form of `read`.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> men = GaussianDensity.from_parameters([[175.0, 75.0]], [[50.0, 80.0]], "diag")
        >>> men.hide(np.array([[190.0, 70.0]]), np.array([[False, True]]))
        array([[190.,  nan]])
        """
        return np.where(hidden, np.nan, X)

    def is_complete(self, X: Any) -> bool:
        """Return whether `score` takes these rows as they are.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.

        Returns
        -------
        bool
            False where a cell is missing or infinite and would not simply drop out.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> men = GaussianDensity.from_parameters([[175.0, 75.0]], [[50.0, 80.0]], "diag")
        >>> men.is_complete(np.array([[190.0, np.nan]])), men.is_complete(np.array([[190.0, np.inf]]))
        (True, False)
        """
        return bool(np.isfinite(X).all())

    def impute(self, X: Any, log_prior: Array) -> Any:
        """Return the rows with missing cells filled in, averaged over the classes.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.
        log_prior : array of shape (k,)
            The log prior of the classes.

        Returns
        -------
        rows
            With expectations, or the most probable categories, in place of missing cells.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> variances = [[50.0, 80.0], [50.0, 80.0]]
        >>> people = GaussianDensity.from_parameters([[175.0, 75.0], [162.0, 60.0]], variances, "diag")
        >>> people.impute(np.array([[168.5, np.nan], [190.0, np.nan]]), np.log([0.5, 0.5])).round(1)
        array([[168.5,  67.5],
               [190. ,  74.9]])
        """
        return self.fill(X, self.class_probabilities(X, log_prior))

    def class_probabilities(self, X: Any, log_prior: Array) -> Array:
        """Return the probabilities of the classes, given the observed cells.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.
        log_prior : array of shape (k,)
            The log prior of the classes.

        Returns
        -------
        array of shape (n, k)
            The posterior; the prior for a row that no class allows.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> heights = GaussianDensity.from_parameters([175.33, 161.82], [52.89, 46.89])
        >>> heights.class_probabilities(np.array([[174.0], [np.nan]]), np.log([0.5, 0.5])).round(3)
        array([[0.818, 0.182],
               [0.5  , 0.5  ]])
        """
        joint = self.marginal(X) + log_prior
        top = joint.max(axis=1, keepdims=True)
        posterior = np.exp(joint - np.where(np.isneginf(top), 0.0, top))
        posterior = np.where(np.isneginf(top), np.exp(log_prior - log_prior.max()), posterior)
        return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))

    def draw(self, X: Any, code: Array, rng: np.random.Generator) -> Any:
        """Return the rows with random values in place of missing cells, given the class and the observed cells.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.
        code : array of int of shape (n,)
            The class of each row.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        rows
            Rows in the form of `read`.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> men = GaussianDensity.from_parameters([[175.0, 75.0]], [[[50.0, 30.0], [30.0, 80.0]]])  # height and weight
        >>> rows = np.tile([190.0, np.nan], (10_000, 1))
        >>> men.draw(rows, np.zeros(10_000, np.int64), np.random.default_rng(0)).mean(axis=0).round()
        array([190.,  84.])
        """
        return self._completed(X, self.sample(code, rng))  # where columns are independent given the class

    def _completed(self, X: Any, by: Any) -> Any:
        """Return rows whose missing cells are those of other rows."""
        return np.where(np.isnan(X), by, X)

    @abstractmethod
    def to_arrays(self) -> dict[str, Array]:
        """Return the parameters as named arrays, to move them across processes and into files.

        Returns
        -------
        dict of str to array
            What `from_arrays` takes.

        Examples
        --------
        >>> from suffice import BernoulliDensity
        >>> coin = BernoulliDensity.from_parameters([0.5])
        >>> {name: array.shape for name, array in coin.to_arrays().items()}
        {'one': (1, 1), 'zero': (1, 1), 'seen': (1,)}
        """

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """Make the density again from the arrays that `to_arrays` gave.

        Parameters
        ----------
        arrays : mapping of str to array
            What `to_arrays` returned.

        Returns
        -------
        Density
            The same density.

        Examples
        --------
        >>> from suffice import PoissonDensity
        >>> arrays = PoissonDensity.from_parameters([[1.0, 0.25]]).to_arrays()
        >>> PoissonDensity.from_arrays(arrays).parameters()
        {'rates': array([[1.  , 0.25]])}
        """


def refuse_zeros(zeros: bool) -> None:
    """Raise an error if some probabilities are zero, of which no linear form is possible."""
    if zeros:
        raise DataError("some probabilities are zero, so that log p(x | class) may be -inf; use alpha > 0")


def chosen(probability: Array, rng: np.random.Generator) -> Array:
    """Draw an index (n,) for each row of probabilities (n, k)."""
    reached = np.cumsum(probability, axis=1)
    index = (reached <= (rng.random(len(reached)) * reached[:, -1])[:, None]).sum(axis=1)
    return np.asarray(np.minimum(index, probability.shape[1] - 1))


def seen_classes(stats: Any) -> Array:
    """Which classes have rows, (k,), with a warning where one has none."""
    seen = np.asarray(stats.weight > 0)
    if not seen.all():
        warn(
            f"no rows of class {listed(stats.classes[~seen])}: it is never predicted",
            EmptyClassWarning,
        )
    return seen
