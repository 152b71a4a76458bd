"""Naive Bayes on whole tables: every block of columns has the family that fits it."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from ..category_choices import depends
from ..combined import MIXED, Mixed
from ..densities.scorer import Edge
from ..errors import ColumnWarning, FamilyError, warn
from ..schema import DROP, Schema
from ..scoring.model import Model, Prior
from ..scoring.notes import ColumnNotes
from ..sources import Source
from ..stats import BundleStats, ComponentStats
from ..stats.bundle import Collector
from ..tables.table import LOOK
from ..tables.tokens import Tokens
from .classifier import of_model
from .estimated import Estimated
from .generative import GenerativeClassifier

Array = NDArray[Any]


class MixedTable(Estimated):
    """An estimator of whole tables, where every block of columns has a family of its own."""

    _recipe: ClassVar[Mixed]
    statistics_: BundleStats | ComponentStats
    families: Any
    covariance: str
    _schema: Schema

    def _new_source(self, X: Any, y: Any = None, weight: Any = None) -> Source:
        return super()._new_source(X, y, weight).encoded()  # for the schema and for the statistics

    def _infer(self, source: Source, more: bool = False) -> Schema:
        known = isinstance(self.families, Schema)
        table = source.head(LOOK) if known else source.spread(LOOK)
        # A sample in any case: a column that is constant here may vary in a model that this one is merged with.
        how: dict[str, Any] = {"leaves_out": not more, "is_sample": True, "decimal": source.decimal}
        schema = Schema.of(table, self.families, source.frame, **how)
        schema.warn()
        return schema.joined() if depends(self._validate()) else schema

    def _reconsidered(self, inferred: Schema, error: FamilyError) -> Schema:
        schema, changes = inferred.demoted(error)
        for change in changes:
            warn(f"{change}; the rows are read again", ColumnWarning)
        return schema

    def _inferred(self) -> Schema:
        return self.schema_

    def _collector(self, inferred: Schema) -> Collector:
        return self._recipe.collector(self._validate(), inferred.blocks(), inferred.features)

    def _learn(self, statistics: Any, source: Source | None = None, inferred: Schema | None = None) -> Self:
        super()._learn(statistics, source, inferred)
        if inferred is not None:
            self._schema = inferred
            self.column_notes_ = ColumnNotes.of(inferred)
        return self

    @property
    def schema_(self) -> Schema:
        """The family of every column, and why; prints as a table."""
        self._check_fitted()
        statistics, blocks, features = self.statistics_, self.statistics_.blocks, self.statistics_.features
        known: Schema | None = getattr(self, "_schema", None)
        names = self._names() or tuple(f"x{j}" for j in range(statistics.n_features))
        if known is not None and (known.names, known.blocks(), known.features) == (names, blocks, features):
            return known
        own = {j: family for family, indices in (blocks or {}).items() for j in indices}
        own |= {feature.source: feature.asked for feature in features}
        families = tuple(own.get(j, DROP) for j in range(statistics.n_features))
        return getattr(self, "column_notes_", ColumnNotes()).schema(names, families, features)

    def _saved_params(self) -> dict[str, Any]:
        """What selectors and types have chosen is kept by name: functions are not saved."""
        schema = self.schema_
        places = range(len(schema.names)) if self._names() is None else schema.names
        by_column = dict(zip(places, schema.families, strict=True))
        families = by_column if isinstance(self.families, dict | Schema) else self.families
        return super()._saved_params() | {"families": families}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags


class MixedClassifier(MixedTable, GenerativeClassifier):
    """Numbers, categories, Booleans and counts side by side: naive Bayes on whole tables.

    Blocks of columns are independent given the class; the Gaussian columns may be correlated.

    Parameters
    ----------
    families : "auto", dict or Schema
        The family of every column: "gaussian", "bernoulli", "categorical", "poisson", "text", "multinomial" (all such
        columns together are one vector of occurrences), "exponential", "gamma", "lognormal", "inverse_gaussian",
        "geometric", "negative_binomial"; "binned", "log", "yeo_johnson" or "zero_inflated", which learn bins or
        transforms of a column; or "drop". "auto" goes by the types (see `schema_`); a dictionary says otherwise for a
        column's name, a type such as int, "boolean" or "int64", or a selector such as scikit-learn's
        make_column_selector. The `schema_` of another model gives the same families, bins and transforms.
    alpha : float
        Pseudo-counts of the discrete families, one number for all columns; 0 is maximum likelihood.
    covariance : {"diag", "full", "tied", "tied_diag", "spherical", "tied_spherical"}
        Of the Gaussian columns.
    unknown : {"ignore", "smooth", "error"}
        What to do with a category that was never seen in training: ignore it like a missing value, score it like one
        that the class never had, or raise an error.
    prior : array, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others.
    shrinkage : float in [0, 1], "oas", "ledoit_wolf" or None
        How far the covariances of the Gaussian columns are pulled towards a multiple of `shrinkage_target`.
    variance_floor : float
        The least variance in any direction, relative to each column's own variance within classes.
    structure : {None, "tree"}
        "tree" lets each column of categories or Booleans depend on another one, as in CategoricalClassifier: see
        `edges_`.
    joint : list of pairs of columns, or None
        Columns of categories that depend on each other in any case, by name or index.
    tokens : Tokens or None
        How columns of text are cut into words; None means `Tokens()`.
    shrinkage_target : {"variances", "identity"}
        "variances" shrinks as if each column had been divided by its standard deviation, so that units do not matter;
        "identity" takes the columns as they are.
    degenerate : {"pooled", "floor"}
        What a class gets in columns and directions in which it (almost) does not vary: "pooled" raises variances
        towards those within all classes, where all its rows together vary less than one row does on average; "floor"
        applies the variance floor alone. A warning names the classes and the columns. All others keep the estimate of
        maximum likelihood.
    ddof : {0, 1}
        1 divides the sums of squares of the Gaussian columns by n - 1, as in GaussianClassifier.
    categories : dict, list or None
        Categories of columns, by name, or for all columns in order (None for those that declare none). They count even
        if no row has them, as in CategoricalClassifier.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import MixedClassifier
    >>> fur, kg = ["black", "calico", "white", "orange", "white", "orange"], [3.1, 2.9, None, 4.1, 4.5, 4.8]
    >>> cats = pd.DataFrame({"fur": fur, "kg": kg, "sex": list("fffmmm")})
    >>> clf = MixedClassifier().fit(cats, "sex")
    >>> clf.schema_
    column  family       because
    fur     categorical  str
    kg      gaussian     float64
    >>> clf.predict(pd.DataFrame({"fur": ["orange"], "kg": [4.0]})).tolist()
    ['m']
    """

    _recipe = MIXED

    def __init__(
        self,
        families: Any = "auto",
        alpha: float = 1.0,
        covariance: str = "diag",
        unknown: str = "ignore",
        prior: Prior = None,
        *,
        shrinkage: float | str | None = None,
        variance_floor: float = 1e-9,
        structure: str | None = None,
        joint: Any = None,
        tokens: Tokens | None = None,
        shrinkage_target: str = "variances",
        degenerate: str = "pooled",
        ddof: int = 0,
        categories: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.families = families
        self.alpha = alpha
        self.covariance = covariance
        self.unknown = unknown
        self.prior = prior
        self.shrinkage = shrinkage
        self.variance_floor = variance_floor
        self.structure = structure
        self.joint = joint
        self.tokens = tokens
        self.shrinkage_target = shrinkage_target
        self.degenerate = degenerate
        self.ddof = ddof
        self.categories = categories
        self.n_jobs = n_jobs

    @property
    def edges_(self) -> list[Edge]:
        """Which columns of categories depend on each other, the strongest dependence first.

        Each edge has the names of the parent and of the child, or their indices, and their conditional mutual
        information given the class, in nats. There are none if the columns are independent.
        """
        return self.to_model().edges()

    unknown_cells = of_model(Model.unknown_cells)
