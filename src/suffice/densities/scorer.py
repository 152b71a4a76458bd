"""The base class of everything that scores rows for k classes: densities, and logistic models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

from numpy.typing import NDArray

from ..stats.base import read_only
from ..tables.features import Feature
from ..tables.table import Table
from ..tables.vocabulary import kind_of

Array = NDArray[Any]


class Wanted(NamedTuple):
    """The results that a caller wants for n rows, written in place; in the order of the kernels' arguments."""

    all: Array | None = None  # (n, k) the scores themselves
    best: Array | None = None  # (n,) int64 the arg max; a tie goes to the lower index
    evidence: Array | None = None  # (n,) the log-sum-exp

    def of_rows(self, rows: slice) -> Wanted:
        return Wanted(*(None if out is None else out[rows] for out in self))


class Edge(NamedTuple):
    """A column that depends on another one."""

    parent: Any  # name or index
    child: Any
    information: float  # conditional mutual information given the class, in nats


class Scorer(ABC):
    """The parameters of k classes, with no prior in them."""

    seen: Array  # (k,) bool, which classes anything is known of: one without rows has log-likelihood -inf
    reads_sparse = False  # whether `read` leaves sparse rows sparse
    has_likelihoods = True  # whether scores are log-likelihoods, rather than these up to a term of the row
    family: ClassVar[str | None] = None  # the name of the family of all columns in the table of families
    features: tuple[Feature, ...] = ()  # columns that are derived from those of the table

    def __post_init__(self) -> None:
        """Let nobody write to the parameters: models, and what they have worked out from them, share these."""
        for name, value in vars(self).items():
            object.__setattr__(self, name, read_only(value))

    def read(self, table: Table) -> Any:
        """Return rows in the form that this family scores: numbers, codes of categories or counts.

        Parameters
        ----------
        table : Table
            The n rows.

        Returns
        -------
        rows
            What `score`, `explain` and the other methods take.

        Examples
        --------
        >>> from suffice import CategoricalDensity
        >>> from suffice.sources import as_table
        >>> fur = CategoricalDensity.from_parameters(["black", "white"], [[0.2, 0.8], [0.5, 0.5]])
        >>> fur.read(as_table([["white"], [None]])).values  # -1 is a missing value
        array([[ 1],
               [-1]], dtype=int32)
        """
        return table.floats()

    def score(
        self,
        X: Any,
        offset: Array | float = 0.0,
        *,
        all: Array | None = None,
        best: Array | None = None,
        evidence: Array | None = None,
        relative: bool = False,
    ) -> bool:
        """Write log p(x | class) + offset to the arrays that are given.

        Parameters
        ----------
        X : rows
            The n rows, in the form of `read`.
        offset : array of shape (k,), or float
            What to add to the scores, such as a log prior.
        all : array of shape (n, k), optional
            Takes the scores.
        best : array of int64 of shape (n,), optional
            Takes the arg max; a tie goes to the lower index.
        evidence : array of shape (n,), optional
            Takes the log-sum-exp of the scores.
        relative : bool, default=False
            Whether terms that all classes share may be left out.

        Returns
        -------
        bool
            False where missing or infinite cells kept rows from being scored.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import GaussianDensity
        >>> heights = GaussianDensity.from_parameters([175.33, 161.82], [52.89, 46.89])
        >>> scores, best = np.empty((2, 2)), np.empty(2, np.int64)
        >>> heights.score(np.array([[174.0], [160.0]]), np.log([0.5, 0.5]), all=scores, best=best)
        True
        >>> scores.round(2), best
        (array([[-3.61, -5.12],
               [-5.82, -3.57]]), array([0, 1]))
        """
        return self._score(X, offset, Wanted(all, best, evidence), relative)

    @abstractmethod
    def _score(self, X: Any, offset: Array | float, wanted: Wanted, relative: bool) -> bool: ...

    @property
    def has_zeros(self) -> bool:
        """Whether a row may have probability zero under every class."""
        return False

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns."""

    @property
    def shared_parameters(self) -> frozenset[str]:
        """The names of the parameters that all classes share: these have no class axis."""
        return frozenset()

    @property
    def n_read(self) -> int:
        """How many numbers `read` makes of a row."""
        return self.n_features

    @property
    def columns_read(self) -> Sequence[int]:
        """The indices of the columns that the scores depend on."""
        return range(self.n_features)

    def categories_of_columns(self) -> dict[int, Array]:
        """Return the categories that columns had in training.

        Returns
        -------
        dict of int to array
            Sorted, by the index of the column; nothing for columns of numbers.

        Examples
        --------
        >>> from suffice import CategoricalDensity
        >>> CategoricalDensity.from_parameters(["white", "black"], [[0.2, 0.8], [0.5, 0.5]]).categories_of_columns()
        {0: array(['black', 'white'], dtype=object)}
        """
        return {}

    def category_kinds(self) -> dict[int, str]:
        """Return what the categories of columns are.

        Returns
        -------
        dict of int to str
            "text", "numbers" or "Booleans", or "words" of a column of text, by the index of the column.

        Examples
        --------
        >>> from suffice import CategoricalDensity
        >>> p = [[0.2, 0.8]]
        >>> CategoricalDensity.from_parameters([["black", "white"], [1, 2]], [p, p]).category_kinds()
        {0: 'text', 1: 'numbers'}
        """
        kinds = {j: kind_of(categories) for j, categories in self.categories_of_columns().items()}
        return {j: kind for j, kind in kinds.items() if kind is not None}

    def columns_of_booleans(self) -> frozenset[int]:
        """Return the columns that hold Booleans, as true and false, or as zeros and ones.

        Returns
        -------
        frozenset of int
            The indices of the columns.

        Examples
        --------
        >>> from suffice import BernoulliDensity
        >>> BernoulliDensity.from_parameters([[0.5, 0.1], [0.9, 0.2]]).columns_of_booleans()
        frozenset({0, 1})
        """
        return frozenset()

    def columns_of_text(self) -> frozenset[int]:
        """Return the columns whose words are counted.

        Returns
        -------
        frozenset of int
            The indices of the columns.

        Examples
        --------
        >>> from suffice import TextDensity
        >>> TextDensity.from_parameters([{"good": 3, "film": 1}, {"bad": 2, "film": 1}]).columns_of_text()
        frozenset({0})
        """
        return frozenset()

    def families_of_columns(self) -> dict[int, str]:
        """Return the families of columns, where these differ.

        Returns
        -------
        dict of int to str
            The family that a schema has for a column, by the index of the column; nothing for a model of one family,
            and for columns that nothing was learnt from.

        Examples
        --------
        >>> from suffice import BernoulliDensity, PoissonDensity, ProductDensity
        >>> visits, member = PoissonDensity.from_parameters([2.0]), BernoulliDensity.from_parameters([0.5])
        >>> ProductDensity.from_parameters({"poisson": visits, "bernoulli": member}).families_of_columns()
        {0: 'poisson', 1: 'bernoulli'}
        """
        return {}

    @abstractmethod
    def usual_values(self) -> Array:
        """Return values that are usual for each column.

        Returns
        -------
        array of shape (d, 3)
            A low, a middle and a high value; NaN for columns that hold no numbers. Dates are days since 1970.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> GaussianDensity.from_parameters([175.33, 161.82], [52.89, 46.89]).usual_values().round(-1)
        array([[150., 170., 190.]])
        """

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name.

        Returns
        -------
        dict of str to array
            Arrays whose first axis is that of the classes.

        Examples
        --------
        >>> from suffice import GaussianDensity
        >>> GaussianDensity.from_parameters([[175.0, 75.0]], [[50.0, 80.0]], "diag").parameters()
        {'means': array([[175.,  75.]]), 'covariances': array([[50., 80.]]), 'structure': 'diag'}
        """

    def labelled_parameters(self, names: Sequence[Any]) -> dict[str, Any]:  # noqa: ARG002  no block needs them
        """Return the parameters as users see them.

        Parameters
        ----------
        names : sequence of str or int
            The names of the columns, or their indices.

        Returns
        -------
        dict
            The parameters by name. A density of several blocks of columns has one dictionary per block, with the
            names of its columns under "columns".

        Examples
        --------
        >>> from suffice import BernoulliDensity, PoissonDensity, ProductDensity
        >>> visits, member = PoissonDensity.from_parameters([2.0]), BernoulliDensity.from_parameters([0.5])
        >>> both = ProductDensity.from_parameters({"poisson": visits, "bernoulli": member})
        >>> both.labelled_parameters(["visits", "member"])["poisson"]
        {'columns': ['visits'], 'rates': array([[2.]])}
        """
        return self.parameters()

    def edges(self, names: Sequence[Any] | None = None) -> list[Edge]:  # noqa: ARG002  none depends on another one
        """Return which column depends on which given the class, the strongest dependence first.

        Parameters
        ----------
        names : sequence, optional
            The names of the columns; their indices unless given.

        Returns
        -------
        list of Edge
            The parent, the child and their conditional mutual information given the class, in nats; empty for
            columns that are independent.

        Examples
        --------
        >>> from suffice import TreeDensity
        >>> tree = TreeDensity.from_parameters(
        ...     categories=[["black", "white"], ["blue", "green"]],
        ...     probabilities=[[[0.5, 0.5]], [[0.4, 0.6]]],
        ...     parents=[-1, 0],
        ...     conditionals=[None, [[[0.1, 0.9], [0.7, 0.3]]]],
        ...     information=[0.0, 0.2],
        ... )
        >>> tree.edges(["fur", "eyes"])
        [Edge(parent='fur', child='eyes', information=0.2)]
        """
        return []

    def renamed(self, names: tuple[str, ...]) -> Self:  # noqa: ARG002  most know their columns by index alone
        """Return the same for columns of other names.

        Parameters
        ----------
        names : tuple of str
            The names of the columns of the table.

        Returns
        -------
        Scorer
            With these names in tables and messages.

        Examples
        --------
        >>> from suffice.densities import PoissonDensity, ProductDensity
        >>> ProductDensity.from_parameters({"visits": PoissonDensity.from_parameters([2.0])}).renamed(("n",)).names
        ('n',)
        """
        return self

    @abstractmethod
    def of_classes(self, indices: Sequence[int]) -> Self:
        """Return the same for some of the classes.

        Parameters
        ----------
        indices : sequence of int
            The indices of the classes.

        Returns
        -------
        Scorer
            With only these classes, in this order.

        Examples
        --------
        >>> from suffice import PoissonDensity
        >>> PoissonDensity.from_parameters([1.0, 2.0, 3.0]).of_classes([2, 0]).parameters()["rates"]
        array([[3.],
               [1.]])
        """
