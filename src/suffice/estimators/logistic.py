"""Logistic regression, the discriminative counterpart of the Gaussian models."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .. import decisions, modelfile
from ..collect import collect, refuse_large, refuse_nonfinite
from ..errors import ColumnWarning, DataError, DecisionError, SeparableWarning, listed, one_of, remedy, warn
from ..regression import EXPANSIONS, Design, LogisticModel, LogisticProblem, expand
from ..regression.encoding import CATEGORICAL, DROP, TEXT
from ..schema import Schema
from ..scoring.model import Model, Prior
from ..scoring.notes import ColumnNotes
from ..sources import LocalSource, Source, as_source
from ..stats import CollectMoments
from ..stats.scatter import refuse_overflow
from ..tables.labels import SoftLabels, encode
from ..tables.table import Matrix, Sparse, Table
from ..threads import thread_count
from .classifier import LLRClassifier
from .estimated import CHOSEN, chosen_to_header, set_chosen
from .table_estimator import given_labels

Array = NDArray[Any]
_WIDE = 1000  # columns whose covariances would take longer than they save
_GROWS = 0.5  # log odds, by which steps from an optimum make no row more certain
_NUMBERS = {float: "gaussian", int: "gaussian", bool: "gaussian"}  # what has one slope; everything else is one-hot


class LogisticClassifier(LLRClassifier):
    """Logistic regression whose scores are log-likelihood ratios: the training prior is taken out of them again.

    It takes arrays of numbers and whole tables. Categories become one-hot: every category has a slope, and one that is
    unknown has no effect. A missing number is replaced by the mean; a column with missing values in training has one
    more slope, for the rows where it is missing.

    Parameters
    ----------
    C : float
        The inverse of the strength of the penalty, as scikit-learn has it. `np.inf` is no penalty; a SeparableWarning
        tells if there is no optimum then, since the columns separate all rows by class, or some.
    prior : number, array, dict, "uniform" or None
        Class probabilities to learn for: rows are weighted such that the classes have these. Decisions take them, too,
        unless a call gives others. A number is the probability of the second of two classes; None takes the
        frequencies of the training rows, with no weighting.
    families : None, "auto" or dict
        Which columns are categories. None: those that do not hold numbers. Otherwise as in `MixedClassifier`: columns
        of the family "categorical" are one-hot, those of all other families are numbers, and "drop" leaves a column
        out. "auto" takes integers with few different values as categories, too.
    standardize : bool or "auto"
        Whether the penalty is on the slopes of numbers with mean 0 and variance 1, so that their units do not matter.
        "auto" does so for tables with categories or missing values; arrays of numbers are taken as they are, as in
        scikit-learn.
    expansion : {"linear", "quadratic"}
        Features as they are, or with the products of every two of them: the form of a Gaussian model with a
        covariance for each class. Of tables with `families`, the products of standardised numbers.
    l1_ratio : float
        The share of L1 in the penalty, as scikit-learn's `l1_ratio`: 0 is L2, 1 is L1, and numbers between are the
        elastic net. L1 sets slopes to zero.
    fit_intercept : bool
        Whether there is an intercept. Without one, numbers are standardised by division alone.
    warm_start : bool
        Whether `fit` starts from what the last `fit` has found, which saves steps where rows or `C` have changed a
        little. It starts anew where the classes, columns or categories are others.
    tol, max_iter : float, int
        When the optimiser stops: the largest entry of the gradient of the mean loss, for features brought to one scale,
        and steps of Newton's method, or of L-BFGS-B with an L1 penalty.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    classes_, prior_ : (k,)
    coef_, intercept_ : (k, p) and (k,), or (1, p) and (1,) of two classes, as of scikit-learn's LogisticRegression
    coef_names_ : (p,), the column, or the column and category, that each slope belongs to
    model_ : LogisticModel, the slopes and constants
    n_iter_ : the steps that the optimiser took

    Examples
    --------
    >>> from suffice import LogisticClassifier
    >>> clf = LogisticClassifier(prior=0.5).fit([[0.0], [1.0], [1.5], [2.0]], ["no", "no", "yes", "yes"])
    >>> clf.predict([[1.4]]).item(), clf.predict([[1.4]], prior={"no": 0.9, "yes": 0.1}).item()
    ('yes', 'no')

    Categories and missing values:

    >>> import pandas as pd
    >>> fur, kg = ["black", "calico", "white", "orange", "white", "orange"], [3.1, 2.9, None, 4.1, 4.5, 4.8]
    >>> cats = pd.DataFrame({"fur": fur, "kg": kg, "sex": list("fffmmm")})
    >>> clf = LogisticClassifier().fit(cats, "sex")
    >>> dict(zip(clf.coef_names_.tolist(), clf.coef_[0].round(2).tolist()))
    {'kg': 1.49, 'kg_missing': -0.39, 'fur_black': -0.2, 'fur_calico': -0.17, 'fur_orange': 0.45, 'fur_white': -0.08}
    """

    model_: LogisticModel

    def __init__(
        self,
        C: float = 1.0,
        prior: Prior = None,
        *,
        families: Any = None,
        standardize: bool | str = "auto",
        expansion: str = "linear",
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        warm_start: bool = False,
        tol: float = 1e-10,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.prior = prior
        self.families = families
        self.standardize = standardize
        self.expansion = expansion
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows. They are read into memory.
        y : array-like of shape (n,) or str
            The labels, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n,), str or None
            Weights that are not negative, or the name of a column of X; a weight of k counts as k copies of the row.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from suffice import LogisticClassifier
        >>> clf = LogisticClassifier().fit([[0.0], [1.0], [1.5], [2.0]], ["no", "no", "yes", "yes"])
        >>> clf.predict([[0.2], [1.9]]).tolist()
        ['no', 'yes']
        """
        self._check_params()
        source = self._new_source(X, given_labels(y, self), sample_weight).in_memory()
        batch = source.batch(0, source.n_rows)
        if isinstance(batch.y, SoftLabels):
            raise DataError("logistic regression takes hard labels, not soft labels")
        classes, code = encode(np.asarray(batch.y))
        weight = np.ones(len(code)) if batch.weight is None else batch.weight
        total = np.bincount(code, weight, minlength=len(classes))
        if len(classes) < 2 or not total.all():
            weighty, idle = classes[total > 0], classes[total == 0]
            raise DataError(
                "logistic regression needs rows of two classes or more, and some weight in each, but y has "
                f"{len(weighty)} class{'es' * (len(weighty) != 1)}: {listed(weighty)}"
                + (f"; leave out the rows of {listed(idle)}, whose weights are zero" if len(idle) else "")
            )
        whole = float(total.sum())
        if not np.finfo(np.float64).tiny <= whole < np.inf:
            raise DataError("the weights add up to more than the largest number, or to nearly nothing; rescale them")
        prior = decisions.as_prior(self.prior, classes, total / whole)
        if not prior.all():
            raise DecisionError("a class with prior 0 cannot be learnt; give a prior without zeros")
        weight = weight * (prior * whole / total)[code]

        design, schema = self._design(batch.table, source, weight)
        rows = _plain_rows(batch.table, self.expansion) if design is None else design.rows
        with np.errstate(over="ignore", invalid="ignore"):
            is_finite = np.isfinite(rows.sum())
        if not is_finite:
            refuse_nonfinite(source)
        with self._learning() as learner:
            learner.model_ = learner._optimum(rows, design, code, weight, classes, prior, source)
            for name in ("choice_", "calibration_", "column_notes_"):
                learner.__dict__.pop(name, None)
            if schema is not None:
                learner.column_notes_ = ColumnNotes.of(schema)
            learner._set_columns(source.names, source.n_features)
            learner._set_target(y)
        return self

    def _design(self, table: Table, source: Source, weight: Array) -> tuple[Design | None, Schema | None]:
        """The features of a table with categories, missing values or columns to standardise, or None where the columns
        are the features; and its schema, where it has one."""
        quadratic = self.expansion == "quadratic"
        if isinstance(table, Sparse) or (quadratic and self.families is None and self.standardize is not True):
            if self.standardize is True or self.families is not None:
                raise DataError("a sparse matrix supports neither standardize=True nor families=; leave them out")
            return None, None
        are_numbers = self.families is None and isinstance(table, Matrix) and table.whole.dtype.kind in "fiub"
        if are_numbers:
            names = table.names_of(range(table.n_features))
            schema = Schema(names, ("gaussian",) * len(names), ("a number",) * len(names))
        else:
            families = _NUMBERS if self.families is None else self.families
            # A sample, as for MixedClassifier: columns that are constant stay, and identifiers do not.
            schema = Schema.of(table, families, source.frame, is_sample=True, decimal=source.decimal)
            schema.warn()
            _tell_of_text(schema)
        special = self.families is not None or {CATEGORICAL, TEXT} & {*schema.families} or schema.features or quadratic
        if not special and self.standardize is not True:
            X = table.floats()
            with np.errstate(over="ignore", invalid="ignore"):
                special = bool(np.isnan(X.sum()) and np.isnan(X).any())
            if not special:
                return None, None if are_numbers else schema
        chosen = self.standardize is not False, schema.features, quadratic, self.fit_intercept
        return Design.of(table, schema.families, weight, *chosen), None if are_numbers else schema

    def _optimum(
        self,
        rows: Any,
        design: Design | None,
        code: Array,
        weight: Array,
        classes: Array,
        prior: Array,
        source: LocalSource,
    ) -> LogisticModel:
        penalty, threads = 1 / (self.C * weight.sum()), thread_count(self.n_jobs)
        shares = {"penalty": (1 - self.l1_ratio) * penalty, "lasso": self.l1_ratio * penalty}
        settings = {"threads": threads, "has_intercept": bool(self.fit_intercept)}
        problem = LogisticProblem.of(rows, code, weight, len(classes), **shares, **settings)
        try:
            center, covariance = moments = _moments(rows, weight, self.n_jobs)
        except DataError:  # which is about products of columns, and knows no names
            refuse_large(source, float(weight.sum()))
            raise
        if design is None:
            refuse_overflow(source.names if self.expansion == "linear" else None, center, covariance)
        ends = self.tol, self.max_iter
        slope, intercept, found = problem.solve(*moments, *ends, self._start(classes, rows.shape[1], design))
        if not found.success:
            warn(
                f"the optimiser was not done after {found.nit} step{'s' * (found.nit != 1)}; raise "
                f"{remedy('max_iter', '--set max_iter')}, or bring the columns to one scale",
                ConvergenceWarning,
            )

        def leads(slope: Array, intercept: Array) -> Array:
            return _leads(rows, slope, intercept, code)[weight > 0]

        if np.inf == self.C and (
            _separates(leads(slope, intercept))
            or (found.success and leads(*problem.steps_on(*moments, *ends, (slope, intercept))).max() > _GROWS)
        ):
            warn(
                "the columns separate the classes perfectly, so that the coefficients would grow without end; give a "
                "finite C",
                SeparableWarning,
            )
        self.n_iter_ = found.nit
        if design is not None:
            return design.model(classes, prior, slope, intercept)
        if len(classes) == 2:
            slope, intercept = np.concatenate([0 * slope, slope]), np.concatenate([[0.0], intercept])
        return LogisticModel(classes, prior, center, slope, intercept + slope @ center - np.log(prior), self.expansion)

    def _start(self, classes: Array, n_columns: int, design: Design | None) -> tuple[Array, Array] | None:
        """Slope and intercept of the last fit, in the units of these rows; None where it cannot be the start."""
        last = vars(self).get("model_") if self.warm_start else None
        if last is None or not np.array_equal(last.classes, classes) or last.n_read != n_columns:
            return None
        columns = range(last.n_features)
        if (None if last.encoding is None else last.encoding.names(columns)) != (
            None if design is None else design.encoding.names(columns)
        ):
            return None
        if design is None:
            return last.coef, last.intercept
        return last.coef * design.scale, last.intercept + last.coef @ design.center

    def _check_params(self) -> None:
        one_of("expansion", self.expansion, EXPANSIONS)
        if not (isinstance(self.l1_ratio, Real) and 0 <= self.l1_ratio <= 1):
            raise DataError(f"l1_ratio={self.l1_ratio!r} must be a number from 0, for L2, to 1, for L1")
        if self.standardize not in (True, False, "auto"):
            raise DataError(f'standardize={self.standardize!r} is not known; choose True, False or "auto"')
        for name in ("C", "tol", "max_iter"):
            value = getattr(self, name)
            whole = name == "max_iter"
            number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
            if not (number and value > 0):
                raise DataError(f"{name}={value!r} must be a {'whole ' * whole}number above zero")

    @classmethod
    def _of(cls, model: LogisticModel, names: tuple[str, ...] | None, **params: Any) -> Self:
        """The estimator of a model that was found elsewhere."""
        estimator = cls(**params)
        estimator._check_params()
        estimator.model_ = model
        estimator._set_columns(names, model.n_features)
        return estimator

    def to_model(self) -> Model:
        """Give the model that was learnt: immutable, and without scikit-learn.

        Returns
        -------
        Model
            It scores and decides as this estimator does now.

        Examples
        --------
        >>> from suffice import LogisticClassifier
        >>> LogisticClassifier().fit([[0.0], [1.0], [1.5], [2.0]], ["no", "no", "yes", "yes"]).to_model()
        Model(LogisticModel of 1 columns, classes 'no', 'yes')
        """
        learnt = self._learnt()
        chosen: dict[str, Any] = {name: getattr(self, f"{name}_", None) for name in CHOSEN}
        own = self._names(), self.n_jobs, type(self).__name__
        return Model(learnt, learnt.classes, learnt.prior, *own, **chosen)

    @property
    def coef_(self) -> Array:
        """The slopes of the log posteriors, (k, p), or (1, p) of two classes, as scikit-learn has them.

        Those of several classes sum to zero over the classes, unless the penalty has L1 in it. The features are those
        of the expansion.
        """
        return self._learnt().coef

    @property
    def intercept_(self) -> Array:
        """The intercepts beside `coef_`, (k,) or (1,), with the prior of this model in them."""
        return self._learnt().intercept

    @property
    def coef_names_(self) -> Array:
        """What each slope in `coef_` belongs to, (p,): a column, its missing values, or one of its categories."""
        names = self._names() or tuple(f"x{j}" for j in range(self.n_features_in_))
        return np.array(self._learnt().linear_names(names), object)

    def _learnt(self) -> LogisticModel:
        self._check_fitted()
        return self.model_

    def save(self, path: Any) -> None:
        """Write the model to a file that `suffice.load` and `suffice.load_model` read.

        Parameters
        ----------
        path : path
            The file to write. It is replaced as a whole, or left as it was.

        Examples
        --------
        >>> from suffice import LogisticClassifier, load
        >>> clf = LogisticClassifier().fit([[0.0], [1.0], [1.5], [2.0]], ["no", "no", "yes", "yes"])
        >>> clf.save("answers.safetensors")
        >>> load("answers.safetensors").predict([[1.9]]).item()
        'yes'
        """
        params = self.get_params(deep=False) | {"families": self._saved_families()}
        held = type(self).__name__, params, self._names(), self._learnt()
        modelfile.write(path, modelfile.ModelFile(*held, **chosen_to_header(self)))

    def _saved_families(self) -> Any:
        """What selectors and types have chosen is kept by name: functions are not saved."""
        encoding = self._learnt().encoding
        if self.families is None or isinstance(self.families, str) or encoding is None:
            return self.families
        own = dict.fromkeys(range(encoding.n_features), "drop")
        own |= dict.fromkeys(encoding.numbers, "gaussian") | dict.fromkeys(encoding.categorical, "categorical")
        own |= {feature.source: feature.asked for feature in encoding.derived}
        names = self._names() or range(encoding.n_features)
        return {name: own[j] for j, name in enumerate(names)}

    @classmethod
    def _from_file(cls, model: modelfile.ModelFile) -> Self:
        if not isinstance(model.learnt, LogisticModel):
            raise DataError(f"a LogisticClassifier needs a LogisticModel, not {type(model.learnt).__name__}")
        loaded = cls._of(model.learnt, model.names, **model.params)
        set_chosen(loaded, model)
        return loaded

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if self.expansion == "linear":
            tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def _leads(rows: Any, slope: Array, intercept: Array, code: Array) -> Array:
    """How far the scores of rows for their own class are above those for each class, (n, k)."""
    scores = np.asarray(rows @ slope.T) + intercept
    if scores.shape[1] == 1:
        scores = np.concatenate([0 * scores, scores], axis=1)
    return np.asarray(scores[np.arange(len(code)), code][:, None] - scores)


def _separates(leads: Array) -> bool:
    """Whether the scores of all rows are highest for their own class."""
    return bool(((leads > 0).sum(axis=1) == leads.shape[1] - 1).all())


def _tell_of_text(schema: Schema) -> None:
    """Warn of columns of text, which are left out, or raise an error if there are no others."""
    texts = [name for name, family in zip(schema.names, schema.families, strict=True) if family == TEXT]
    if texts and {*schema.families} <= {TEXT, DROP}:
        raise DataError(
            f"logistic regression does not read text, and there is no column but {listed(texts)}; use "
            + remedy("MixedClassifier", "--model mixed")
        )
    for name in texts:
        message = f"column {name!r} is left out: logistic regression does not read text"
        warn(message, ColumnWarning)


def _plain_rows(table: Table, expansion: str) -> Any:
    """The features of a table of numbers."""
    if isinstance(table, Sparse) and expansion == "linear":
        return table.matrix().astype(np.float64)
    return expand(table.floats(), expansion)


def _moments(rows: Any, weight: Array, n_jobs: int | None) -> tuple[Array, Array]:
    """The centre of the rows and their covariance (p, p), or variances (p,)."""
    if not isinstance(rows, np.ndarray):
        return _sparse_moments(rows, weight / weight.sum())
    layout, together = "diag" if rows.shape[1] > _WIDE else "full", np.zeros(len(rows), np.int32)
    moments = collect(as_source(rows, together, weight, n_jobs), CollectMoments(layout))
    return moments.mean[0], moments.scatter[0] / moments.total


def _sparse_moments(rows: Any, share: Array) -> tuple[Array, Array]:
    """Mean and variance of the columns of sparse rows, each row with its share; what is not stored is zero."""
    center, stored, square = np.asarray(share @ rows), rows.copy(), rows.copy()
    stored.data[:] = 1.0
    square.data = (square.data - center[square.indices]) ** 2
    return center, np.asarray(share @ square) + np.maximum(1.0 - np.asarray(share @ stored), 0.0) * center**2
