"""A model at work: it scores rows, decides with a prior and a cost, evaluates, explains and writes results."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from .. import decisions, modelfile
from ..densities import Density
from ..densities.base import chosen
from ..densities.scorer import Edge, Scorer
from ..errors import DataError, ImpossibleWarning, listed, remedy
from ..export.outputs import check_kept, check_outputs
from ..sources import LocalSource, RowResults, Source
from ..sources.frames.filling import of_type, with_cells, with_whole
from ..stats.base import frozen, read_only
from ..tables.labels import code_known, encode, is_missing, position
from ..tables.libraries import in_library
from ..tables.readers import library
from .application import Application
from .calibrated import CalibratedScorer, Calibration
from .choice import Choice
from .columns import Columns
from .explanation import tidy_shares
from .loop import refuse, score_rows
from .notes import ColumnNotes
from .reading import Reading

if TYPE_CHECKING:
    from .evaluation import Evaluation

Array = NDArray[Any]
Prior = Any  # an array in the order of the classes, a dictionary by label, "uniform" or None


@dataclass(frozen=True, eq=False, init=False)
class Model:
    """Densities of some classes, ready to score anything tabular.

    Use it for a model that was fitted elsewhere, or for one from a textbook: make a density from its parameters, and
    name the classes. `suffice.load_model` reads one from a file, without importing scikit-learn.

    Parameters
    ----------
    density : Density
        The density of k classes, for instance from `GaussianDensity.from_parameters`.
    classes : array-like of shape (k,)
        The labels, in the order of the density.
    prior : array-like, dict, "uniform" or None
        Class probabilities for decisions, unless a call gives others. None: every decision must give them.
    names : sequence of str or None
        The names of the columns. With names, extra columns of a table are ignored.
    n_jobs : int or None
        Threads; None uses every processor.
    owner : str
        The name of the estimator that has learnt this model, for messages.
    choice : Choice or None
        What else was tried, where the model was chosen automatically.
    calibration : Calibration or None
        What is done to log-likelihoods before they count as log-likelihood ratios.
    target : str or None
        The name of the column that held the labels, where the model file knows it.
    column_notes : ColumnNotes or None
        Why columns are learnt as they are, and what they held, where the model file knows it.

    Examples
    --------
    >>> from suffice import GaussianDensity, Model
    >>> heights = GaussianDensity.from_parameters([[161.82], [175.33]], [[[46.89]], [[52.89]]])
    >>> model = Model(heights, ["F", "M"])
    >>> model.llr([[174.0]]).round(2)
    array([1.5])
    >>> model.predict([[174.0]]).item(), model.predict([[174.0]], prior={"F": 0.9, "M": 0.1}).item()
    ('M', 'F')
    """

    density: Scorer
    classes: Array  # (k,) sorted
    prior: Array | None  # (k,)
    names: tuple[str, ...] | None
    n_jobs: int | None
    owner: str  # who speaks in messages: the estimator that has learnt this model
    choice: Choice | None  # what else was tried, where the model was chosen automatically
    calibration: Calibration | None
    target: str | None = None
    column_notes: ColumnNotes | None = None

    def __init__(
        self,
        density: Scorer,
        classes: Any,
        prior: Prior = "uniform",
        names: Sequence[str] | None = None,
        n_jobs: int | None = None,
        owner: str = "Model",
        choice: Choice | None = None,
        calibration: Calibration | None = None,
        target: str | None = None,
        column_notes: ColumnNotes | None = None,
    ) -> None:
        if not isinstance(density, Scorer):
            raise DataError(
                f"density must be a Density, not {type(density).__name__}; for a result of fit_density, "
                "pass its density attribute"
            )
        labels = np.asarray(classes)
        distinct, code = encode(labels)
        if len(distinct) < len(labels):
            raise DataError(f"classes must be distinct, but are {listed(labels, 10)}")
        if len(distinct) != density.n_classes:
            raise DataError(f"there are {len(distinct)} classes, but the density has {density.n_classes}")
        if names is not None and len(names) != density.n_features:
            raise DataError(f"there are {len(names)} names for {density.n_features} columns")
        known = None if prior is None else decisions.as_prior(prior, labels, np.full(len(code), 1 / len(code)))
        if (code != np.arange(len(code))).any():
            order = np.argsort(code)
            density, known = density.of_classes(order.tolist()), None if known is None else known[order]
            calibration = None if calibration is None else calibration.of_classes(order.tolist())
        own = {
            "density": density if names is None else density.renamed(tuple(names)),
            "classes": frozen(distinct),
            "prior": None if known is None else frozen(known),
            "names": None if names is None else tuple(names),
        }
        vars(self).update(own, n_jobs=n_jobs, owner=owner, choice=choice, calibration=calibration, target=target)
        vars(self).update(column_notes=column_notes)

    @classmethod
    def _known(cls, density: Scorer, classes: Array, prior: Array | None, **settings: Any) -> Model:
        """A model of classes that are sorted already, with a prior that makes sense: nothing is left to check."""
        model = object.__new__(cls)
        vars(model).update(density=density, classes=read_only(classes), prior=read_only(prior), **settings)
        return model

    def __repr__(self) -> str:
        density = self.density
        return f"Model({type(density).__name__} of {density.n_features} columns, classes {listed(self.classes)})"

    def parameters(self) -> dict[str, Any]:
        """Give what was learnt, by name: means, covariances, probabilities, rates, slopes.

        Returns
        -------
        dict
            Arrays whose first axis is that of the classes. A mixed model has a dictionary for each family, with the
            names of its columns.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.parameters()["means"]
        array([[162.],
               [175.]])
        """
        return self.density.labelled_parameters(self.names or range(self.density.n_features))

    def edges(self) -> list[Edge]:
        """Give the dependence between columns of categories, given the class.

        Returns
        -------
        list of Edge
            The parent, the child and their conditional mutual information in nats, the strongest dependence first;
            empty for columns that are independent.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from suffice import CategoricalClassifier
        >>> table = pa.table({"a": list("xyxy") * 5, "b": list("xxyy") * 5, "label": list("+--+") * 5})
        >>> model = CategoricalClassifier(structure="tree").fit(table, "label").to_model()
        >>> [(edge.parent, edge.child) for edge in model.edges()]
        [('a', 'b')]
        """
        return self.density.edges(self.names or range(self.density.n_features))

    # Scores: there is no prior in them.

    def log_likelihood(self, X: Any) -> Any:
        """Compute log p(x | class), the natural logarithm.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n, k)
            Or a column of the same engine, for Dask and Spark.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.log_likelihood([[174.0]]).round(2)
        array([[-4.38, -2.91]])
        """
        density = self._generative("log_likelihood")
        return self._table(X, "log_likelihood", lambda x, out: density.score(x, all=out))

    def llr(self, X: Any, a: Any = None, b: Any = None) -> Any:
        """Compute the log-likelihood ratio log p(x | b) - log p(x | a).

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        a, b : label or None
            The two classes. With two classes in all, the default is the second over the first.

        Returns
        -------
        array of shape (n,)
            Positive values speak for b.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.llr([[160.0], [174.0]]).round(2)
        array([-2.14,  1.46])
        >>> heights.llr([[174.0]], "M", "F").round(2)
        array([-1.46])
        """
        scorer = self._scorer.of_classes(self._pair(a, b))

        def ratio(x: Any, out: Array) -> bool:
            scores = np.empty((len(out), 2))
            finite = scorer.score(x, all=scores, relative=True)
            out[:] = decisions.log_likelihood_ratio(scores, 0, 1)
            return finite

        return self._column(X, "llr", ratio)

    def explain(self, X: Any, a: Any = None, b: Any = None, *, tidy: bool = False) -> Any:
        """Split the log-likelihood ratio into one share for each column.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        a, b : label or None
            The two classes, as in `llr`.
        tidy : bool
            Return a table instead, with the columns row, column, value and llr: one line for each cell that has a
            share, the largest shares of each row first. The offset of a calibration has a line of its own.

        Returns
        -------
        array of shape (n, d), or a table of the library of X (of Arrow, if X is an array or a file)
            The shares of a row sum to its `llr`; for a calibrated model, to its `llr` without the offsets of the
            calibration.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> variances = [[50.0, 80.0], [50.0, 80.0]]
        >>> density = GaussianDensity.from_parameters([[162.0, 60.0], [175.0, 75.0]], variances, "diag")
        >>> people = Model(density, ["F", "M"])
        >>> people.explain([[174.0, 62.0]]).round(2), people.llr([[174.0, 62.0]]).round(2)
        (array([[ 1.43, -1.03]]), array([0.4]))
        """
        i, j = self._with_rows(self._pair(a, b))
        density = self._generative("explain")
        columns = self.names or range(density.n_features)

        def shares(x: Any, out: Array) -> bool:
            one, two = density.explain(x, i), density.explain(x, j)
            out[:] = decisions.difference(two, one)
            impossible = np.isneginf(one).any(axis=1) & np.isneginf(two).any(axis=1)
            out[impossible] = 0.0  # neither class is possible: the ratio is zero, and no column has a share in it
            if self.calibration is not None:
                out[:] = self.calibration.of_shares(out)
            return density.is_complete(x)

        if not tidy:
            return self._table(X, "llr", shares, columns, looks=True)
        source = self._source(X).in_memory()  # once: to convert a table may take longer than to score it
        d = density.n_features
        factors = np.ones(d) if self.calibration is None else self.calibration.factors(d)
        reading = self._reading(source)
        found = density.explain_parts(reading(source.batch(0, source.n_rows).table), i, j)
        parts = [(column, row, name, share * factors[column]) for column, row, name, share in found]
        offset = 0.0 if self.calibration is None else self.calibration.share(i, j)
        table = tidy_shares(self._table(source, "llr", shares, columns, looks=True), source, self.names, parts, offset)
        return in_library(table, None, library(source.frame))

    def typicality(self, X: Any) -> Any:
        """Compute the probability, under each class, of a row that is no more likely than this one.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n, k)
            Small for outliers.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.typicality([[174.0], [230.0]]).round(3)
        array([[0.08 , 0.891],
               [0.   , 0.   ]])
        """
        density = self._generative("typicality")

        def tail(x: Any, out: Array) -> bool:
            out[:] = density.typicality(x)
            return density.is_complete(x)

        return self._table(X, "typicality", tail, looks=True)

    def score_samples(self, X: Any, prior: Prior = None) -> Any:
        """Compute log p(x) over all classes.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        prior : array-like, dict, "uniform" or None
            Class probabilities; None takes those of this model.

        Returns
        -------
        array of shape (n,)
            One value for each row.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.score_samples([[174.0], [230.0]]).round(2)
        array([ -3.4 , -32.13])
        """
        density, log_prior = self._generative("score_samples"), decisions.log(self._as_prior(prior))
        return self._column(X, "log_evidence", lambda x, out: density.score(x, log_prior, evidence=out))

    # Decisions: the prior and the cost of the application.

    def predict(self, X: Any, prior: Prior = None, cost: Any = None) -> Any:
        """Decide for each row, at the least expected cost.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        prior : array-like, dict, "uniform" or None
            Class probabilities where the model is used; None takes those of this model.
        cost : array-like of shape (k, k), dict or None
            ``cost[i, j]`` is the cost of deciding i when the true class is j. A dictionary from decisions to such rows
            may hold other decisions than the classes. None counts errors. A tie goes to the earlier decision.

        Returns
        -------
        array of shape (n,)
            The decisions.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.predict([[160.0], [174.0]]).tolist()
        ['F', 'M']
        >>> heights.predict([[174.0]], prior={"F": 0.9, "M": 0.1}).tolist()
        ['F']
        >>> heights.predict([[174.0]], cost={"F": [0, 1], "M": [1, 0], "ask": [0.1, 0.1]}).tolist()
        ['ask']
        """
        case, scorer = self._application(prior, cost), self._scorer

        def decide(x: Any, out: Array) -> bool:
            best = np.empty(len(out), np.int64)
            if case.takes_the_best:
                finite = scorer.score(x, case.log_prior, best=best, relative=True)
            else:
                joint = np.empty((len(out), scorer.n_classes))
                finite = scorer.score(x, case.log_prior, all=joint, relative=True)
                best[:] = case.decide(case.log_posterior(joint))
            np.take(case.actions, best, out=out, mode="clip")
            return finite

        decided = self._column(X, "prediction", decide, case.actions.dtype)
        case.warn()
        return decided

    def predict_proba(self, X: Any, prior: Prior = None) -> Any:
        """Compute the posterior probabilities P(class | x).

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        prior : array-like, dict, "uniform" or None
            Class probabilities; None takes those of this model.

        Returns
        -------
        array of shape (n, k)
            The probabilities of a row sum to 1.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.predict_proba([[174.0]]).round(3)
        array([[0.188, 0.812]])
        """
        return self._posterior(X, prior, exponentiate=True)

    def predict_log_proba(self, X: Any, prior: Prior = None) -> Any:
        """Compute the logarithms of the posterior probabilities.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        prior : array-like, dict, "uniform" or None
            Class probabilities; None takes those of this model.

        Returns
        -------
        array of shape (n, k)
            Natural logarithms.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.predict_log_proba([[174.0]]).round(2)
        array([[-1.67, -0.21]])
        """
        return self._posterior(X, prior, exponentiate=False)

    def _posterior(self, X: Any, prior: Prior, exponentiate: bool) -> Any:
        case, scorer = self._application(prior), self._scorer

        def posterior(x: Any, out: Array) -> bool:
            finite = scorer.score(x, case.log_prior, all=out, relative=True)
            case.log_posterior(out)
            if exponentiate:
                np.exp(out, out=out)
            return finite

        table = self._table(X, "probability" if exponentiate else "log_probability", posterior)
        case.warn()
        return table

    def predict_open_set(
        self, X: Any, prior: Prior = None, cost: Any = None, *, level: float = 0.01, unknown: Any = None
    ) -> Array:
        """Decide as `predict` does, but answer `unknown` for rows that are typical of no class.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        prior, cost : as in `predict`
            The prior and the cost.
        level : float
            The share of the rows of a class that may be taken for outliers; see `typicality`.
        unknown : object
            The decision for an outlier.

        Returns
        -------
        array of shape (n,)
            The decisions, as objects.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.predict_open_set([[174.0], [230.0]], unknown="neither").tolist()
        ['M', 'neither']
        """
        source = self._here(X)
        return decisions.open_set(self.predict(source, prior, cost), self.typicality(source), level, unknown)

    def estimate_prior(self, X: Any) -> Array:
        """Estimate the class proportions of unlabelled rows, by expectation-maximisation.

        Calibrated scores are used where the model has a calibration.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (k,)
            The proportions sum to 1.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> rows, _ = heights.sample(1000, label="M", random_state=0)
        >>> heights.estimate_prior(rows).round(1)
        array([0., 1.])
        """
        even = np.full(len(self.classes), 1 / len(self.classes))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImpossibleWarning)  # rows that no class explains change nothing
            return decisions.estimate_prior(self.predict_log_proba(self._here(X), even), even)

    def evaluate(
        self,
        X: Any,
        y: Any,
        prior: Prior = None,
        cost: Any = None,
        *,
        sample_weight: Any = None,
        skip_unlabelled: bool = False,
    ) -> Evaluation:
        """Evaluate the model on labelled rows; use rows that were held out.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows, read once and never held as a whole.
        y : array-like of shape (n,) or str
            The true labels, or the name of the column of X that holds them.
        prior, cost : as in `predict`
            The prior and the cost of the application.
        sample_weight : array-like of shape (n,), str or None
            Weights, or the name of the column of X that holds them.
        skip_unlabelled : bool
            Whether to leave out rows without a label, with a warning that counts them. Otherwise, they are an error.

        Returns
        -------
        Evaluation
            Error rate, log loss, confusion matrix and more. It prints as a table.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> result = heights.evaluate([[160.0], [171.0], [165.0], [180.0]], ["F", "F", "M", "M"])
        >>> result.error_rate
        0.5
        """
        from .evaluation import evaluated

        return evaluated(self, X, y, sample_weight, prior, cost, skip_unlabelled)

    # What only generative models can do.

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
        rows : array of shape (n, d) or pyarrow.Table
            The rows; a table where the columns are of different kinds.
        labels : array of shape (n,)
            Their classes.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> rows, labels = heights.sample(3, label="F", random_state=0)
        >>> rows.shape, labels.tolist()
        ((3, 1), ['F', 'F', 'F'])
        """
        if not isinstance(n, Integral) or n < 0:
            raise DataError(f"n={n!r} must be a whole number of rows")
        density, rng = self._generative("sample"), np.random.default_rng(random_state)
        k = len(self.classes)
        chosen = (
            rng.choice(k, n, p=self._as_prior(None)) if label is None else np.full(n, position(label, self.classes))
        )
        self._with_rows(np.unique(chosen).tolist())
        rows = self._with_types(self._with_whole(density.write(density.sample(chosen, rng))))
        if self.names is None and hasattr(rows, "columns"):  # no table, as the rows that it has learnt from
            columns = [column.to_numpy() for column in rows.columns]
            rows = np.column_stack(columns) if all(c.dtype != object for c in columns) else np.array(columns, object).T
        return rows, self.classes[chosen]

    def impute(
        self,
        X: Any,
        prior: Prior = None,
        *,
        y: Any = None,
        draws: bool = False,
        n_draws: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Fill in missing values, given the rest of the row.

        Numbers are filled in by their expectation, Booleans and categories by the most probable one. With draws, all
        of them are filled in by random values, which vary as much as observed ones. Where the families of columns were
        inferred, columns that held whole numbers or days get such. All other cells stay as they are.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.
        prior : array-like, dict, "uniform" or None
            Class probabilities; None takes those of this model.
        y : array-like of shape (n,), str or None
            The classes of the rows, or the name of the column of X that holds them, where they are known; None or NaN
            for a row whose class is not.
        draws : bool
            Draw the values at random from their distribution given the rest of the row.
        n_draws : int or None
            Draw so many tables (multiple imputation), and return a list of them.
        random_state : int, Generator or None
            Makes the draws reproducible.

        Returns
        -------
        table of the same library as X, or array; with `n_draws` a list of these
            With the columns of this model. A column takes a wider type only where its own cannot hold what was filled
            in, as integers cannot hold an expectation.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> sizes = Model(GaussianDensity.from_parameters([[170.0, 65.0]], [[50.0, 40.0], [40.0, 90.0]], "tied"), ["x"])
        >>> sizes.impute([[180.0, np.nan]])
        array([[180.,  73.]])
        >>> tables = sizes.impute([[180.0, np.nan]], n_draws=1000, random_state=0)
        >>> float(np.std([table[0, 1] for table in tables]).round(1))
        7.7
        """
        density = self._generative("impute")
        if n_draws is not None and not (isinstance(n_draws, Integral) and n_draws >= 1):
            raise DataError(f"n_draws={n_draws!r} must be a whole number of tables, at least 1")
        log_prior = decisions.log(np.where(density.seen, self._as_prior(prior), 0.0))
        if not np.isfinite(log_prior).any():
            raise DataError("the prior is zero for every class with rows; give another prior")
        source = self._source(X, y).in_memory()
        batch = source.batch(0, source.n_rows)
        reading = self._reading(source)
        rows = reading(batch.table)
        reading.warn()
        posterior = density.class_probabilities(rows, log_prior)
        if batch.y is not None:
            code = code_known(np.asarray(batch.y), self.classes, is_missing)
            self._with_rows(np.unique(code[code >= 0]).tolist())
            posterior[code >= 0] = np.eye(len(self.classes))[code[code >= 0]]
        if not draws and n_draws is None:
            return self._filled(source, density, rows, density.fill(rows, posterior))
        rng = np.random.default_rng(random_state)
        filled = (density.draw(rows, chosen(posterior, rng), rng) for _ in range(n_draws or 1))
        tables = [self._filled(source, density, rows, drawn) for drawn in filled]
        return tables[0] if n_draws is None else tables

    def _filled(self, source: LocalSource, density: Density, rows: Any, filled: Any) -> Any:
        """The table of a source with the cells that were missing in its rows."""
        if not density.is_complete(filled):  # infinity is not missing, and stays
            refuse(source)
        cells = density.missing(rows)
        if cells.any():
            cells = cells & ~density.missing(filled)  # nothing is known of a column that was never observed
        values = self._with_whole(density.write(filled)) if cells.any() else None
        numerals = {each.source: each.reads[0] for each in density.features if each.reads}
        marks = {j: step[1] for j, step in numerals.items() if step[0] == "number"}
        return with_cells(source.frame, cells, values, marks)

    def unknown_cells(self, X: Any) -> Array:
        """Find the cells that hold a category that was never seen in training.

        Parameters
        ----------
        X : anything tabular, of shape (n, d)
            The rows.

        Returns
        -------
        array of bool of shape (n, d)
            True where the category is unknown.

        Examples
        --------
        >>> from suffice import CategoricalDensity, Model
        >>> fur = CategoricalDensity.from_parameters(["black", "white"], [[0.2, 0.8], [0.5, 0.5]])
        >>> cats = Model(fur, ["f", "m"])
        >>> cats.unknown_cells([["black"], ["calico"]])
        array([[False],
               [ True]])
        """
        density, source = self._generative("unknown_cells"), self._source(X).in_memory()
        table = source.batch(0, source.n_rows).table
        return density.unknown_cells(self._reading(source).finite(table) or table)

    # Tables of any size, where the data are, and files.

    def to_parquet(
        self,
        X: Any,
        path: str | os.PathLike[str],
        prior: Prior = None,
        cost: Any = None,
        *,
        keep: Any = None,
        outputs: Any = None,
    ) -> int:
        """Score rows and write the results to a Parquet file, in the order of the rows.

        X is read, scored and written piece by piece, on several threads, so memory does not depend on the number of
        rows. The file appears when all of them are scored, and not before.

        Parameters
        ----------
        X : anything tabular
            Files, or a table in memory. Extra columns are ignored, unless `keep` names them.
        path : path
            The file to write.
        prior, cost : as in `predict`
            The prior and the cost.
        keep : str, list of str or None
            Columns to repeat beside the results, such as a key; None repeats those that the model reads.
        outputs : {"decision", "posterior", "llr", "log_likelihood"}, list of these or None
            The results to write; None writes all. There is a column "posterior_a" for every class a, and
            "log_likelihood_a" likewise. "llr" is the second of two classes over the first; with more classes, "llr_b"
            is b over the first.

        Returns
        -------
        int
            The number of rows.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.to_parquet([[160.0], [174.0]], "scores.parquet", outputs=["decision", "llr"])
        2
        """
        from .writing import parquet_file, write_scores

        return write_scores(self, X, parquet_file(path), prior, cost, keep, outputs)

    def to_sql(
        self,
        table: str | Sequence[str],
        dialect: str = "postgresql",
        prior: Prior = None,
        cost: Any = None,
        *,
        columns: Any = None,
        keep: Any = None,
        outputs: Any = None,
    ) -> str:
        """Write one SELECT that scores the rows of a table in a database.

        A missing value is NULL, or NaN. Where `predict` would refuse a row, every result is NULL, as it is where a
        number is missing that a `GaussianClassifier` with a full or tied covariance uses.

        Parameters
        ----------
        table : str or sequence of str
            The name of the table, or the names of its schema and the table. Names are quoted.
        dialect : {"postgresql", "duckdb", "sqlite", "mysql", "snowflake", "bigquery", "spark"}
            The SQL dialect.
        prior, cost : as in `predict`
            The prior and the cost.
        columns : sequence of str, dict or None
            The names of the model's columns in the table: in their order, or a dictionary from the model's names to
            others; None takes the model's names.
        keep, outputs : as in `to_parquet`
            Columns to repeat, and results to add.

        Returns
        -------
        str
            The statement.

        Examples
        --------
        >>> from suffice import CategoricalDensity, Model
        >>> fur = CategoricalDensity.from_parameters(["black", "white"], [[0.2, 0.8], [0.5, 0.5]])
        >>> cats = Model(fur, ["f", "m"], names=["fur"])
        >>> import duckdb
        >>> import pyarrow as pa
        >>> shelter = pa.table({"fur": ["black", "white"]})
        >>> duckdb.sql(cats.to_sql("shelter", "duckdb", outputs="decision")).fetchall()
        [('black', 'm'), ('white', 'f')]
        """
        try:
            from ..export import sql
        except ImportError as error:
            raise ImportError(f"to_sql needs SQLAlchemy: pip install suffice[sql] ({error})") from error

        names = sql.check_columns(columns, self.names, self.density.n_features)
        kept = check_kept(keep)
        return sql.to_sql(
            (self.density, self._evidence),
            self.classes,
            names,
            table,
            dialect,
            self._as_prior(prior),
            None if cost is None else decisions.as_cost(cost, self.classes),
            self.calibration,
            [names[j] for j in self.density.columns_read] if kept is None else kept,
            check_outputs(outputs, self.density),
            self.takes_infinity,
        )

    def to_onnx(
        self,
        path: str | os.PathLike[str],
        prior: Prior = None,
        cost: Any = None,
        *,
        outputs: Any = None,
    ) -> None:
        """Write the model as an ONNX graph, to score where there is no Python.

        Everything is in double precision. Supported are Gaussians, categories, counts and Booleans, mixed tables and
        mixtures of these, and logistic models. The graph is compared with this model in onnxruntime before the file is
        written.

        Parameters
        ----------
        path : path
            The file to write.
        prior : array-like, dict, "uniform" or None
            Class probabilities; None takes those of this model. llr and log_likelihood do not depend on them.
        cost : as in `predict`
            The cost of decisions.
        outputs : as in `to_parquet`
            The outputs of the graph.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.to_onnx("heights.onnx")
        """
        try:
            from ..export import onnx
        except ImportError as error:
            raise ImportError(f"to_onnx needs ONNX: pip install suffice[onnx] ({error})") from error

        actions = None if cost is None else decisions.as_cost(cost, self.classes)
        onnx.to_onnx(self, path, self._as_prior(prior), actions, check_outputs(outputs, self.density))

    def save(self, path: Any) -> None:
        """Write the model to a file that `suffice.load_model` reads.

        The file holds the parameters alone. To go on learning later, save the estimator instead.

        Parameters
        ----------
        path : path
            The file to write.

        Examples
        --------
        >>> from suffice import GaussianDensity, Model, load_model
        >>> heights = Model(GaussianDensity.from_parameters([162.0, 175.0], [47.0, 53.0]), ["F", "M"], prior=[0.5, 0.5])
        >>> heights.save("heights.safetensors")
        >>> load_model("heights.safetensors").predict([[174.0]]).item()
        'M'
        """
        learnt = modelfile.learnt_of(self.density, self.classes)
        params = {"prior": None if self.prior is None else self.prior.tolist()}
        calibration = None if self.calibration is None else self.calibration.to_header()
        notes = None if self.column_notes is None else self.column_notes.to_header()
        own: dict[str, Any] = {"calibration": calibration, "target": self.target, "column_notes": notes}
        modelfile.write(path, modelfile.ModelFile("Model", params, self.names, learnt, **own))

    # What the rest of this room builds on.

    def _with_types(self, rows: Any) -> Any:
        """Rows of a table with Booleans, times of the day and whole seconds where the training data held such."""
        reasons = {} if self.column_notes is None or isinstance(rows, np.ndarray) else self.column_notes.reasons
        for j, name in enumerate(rows.column_names if reasons else ()):
            rows = rows.set_column(j, name, of_type(rows.column(j), reasons.get(name, "")))
        return rows

    def _with_whole(self, rows: Any) -> Any:
        """Rows with whole numbers, and days, in the columns that held such in the training data."""
        notes = self.column_notes
        whole = [] if notes is None else [j for j, name in enumerate(self.names or ()) if name in notes.whole]
        return with_whole(rows, whole)

    @property
    def takes_infinity(self) -> bool:
        """Whether infinite numbers are missing values, as they are for models that were chosen automatically."""
        return self.column_notes is not None and self.column_notes.takes_infinity

    @property
    def left_out(self) -> frozenset[str]:
        """The columns that the training data had, but the model does not read: labels, and what was left out."""
        notes, choice = self.column_notes, self.choice
        found = {*({} if notes is None else notes.left_out), *({} if choice is None else choice.left_out)}
        return frozenset(found | ({self.target} if self.target is not None else set()))

    @cached_property
    def _scorer(self) -> Scorer:
        """What gives scores whose differences are log-likelihood ratios."""
        return self.density if self.calibration is None else CalibratedScorer(self._evidence, self.calibration)

    @cached_property
    def _evidence(self) -> Scorer:
        """What gives scores before they are calibrated: the density, or the density with weights of columns."""
        return self.density if self.calibration is None else self.calibration.evidence(self.density)

    @cached_property
    def _columns(self) -> Columns:
        """What the model knows of its columns."""
        density = self.density
        return Columns(self.names, density.n_features, self.owner, density.category_kinds(), self.classes, self.target)

    def _source(self, X: Any, y: Any = None, weight: Any = None) -> Source:
        """X as a source of the columns of this model, and of labels and weights."""
        return self._columns.source(X, y, weight, self.n_jobs)

    def _as_prior(self, prior: Prior) -> Array:
        """The prior of an application, (k,); None takes that of this model."""
        if prior is None and self.prior is None:
            raise DataError("this model has no prior, because it has no rows or none was given; give a prior")
        k = len(self.classes)
        return decisions.as_prior(prior, self.classes, np.full(k, 1 / k) if self.prior is None else self.prior)

    def _application(self, prior: Prior, cost: Any = None) -> Application:
        """A prior and a cost, ready to decide by scores."""
        chosen = self._as_prior(prior)
        prior_alone = not chosen[self.density.seen].any()  # it allows only classes of which nothing is known
        return Application(self.classes, chosen, cost, self.density.has_zeros, prior_alone)

    def _generative(self, what: str) -> Density:
        if not self.density.has_likelihoods:
            raise DataError(
                f"{what} needs a generative model; a logistic model gives only log-likelihood ratios: "
                + remedy("use llr", "use suffice predict, or fit a generative model with suffice fit --generative")
            )
        return cast("Density", self.density)

    def _here(self, X: Any) -> Source:
        """X as a source whose rows are scored in this process, where all results are needed at once."""
        return self._source(X).here()

    def _column(self, X: Any, name: str, work: Callable[[Any, Array], bool], dtype: Any = np.float64) -> Any:
        return score_rows(self._source(X), self.density, work, RowResults(name, dtype=dtype), self.takes_infinity)

    def _table(
        self,
        X: Any,
        name: str,
        work: Callable[[Any, Array], bool],
        labels: Sequence[Any] | None = None,
        looks: bool = False,
    ) -> Any:
        results = RowResults(name, self.classes.tolist() if labels is None else labels)
        return score_rows(self._source(X), self.density, work, results, self.takes_infinity, looks)

    def _reading(self, source: Source) -> Reading:
        """What reads rows of which every cell is looked at anyway."""
        return Reading(self.density, source.names, source.decimal, self.takes_infinity, looks=True)

    def _pair(self, a: Any, b: Any) -> tuple[int, int]:
        """The indices of two classes; of two in all, the default is both."""
        if a is None and b is None and len(self.classes) == 2:
            return 0, 1
        if a is None or b is None:
            raise DataError(
                f"with {len(self.classes)} classes, give two of them as a and b; the llr is that of b over a"
            )
        return position(a, self.classes), position(b, self.classes)

    def _with_rows(self, indices: Sequence[int]) -> Sequence[int]:
        """The indices of some classes, or an error if one of them has no rows to know anything from."""
        empty = [c for c in indices if not self.density.seen[c]]
        if empty:
            raise DataError(f"class {listed(self.classes[empty])} has no rows yet, so that nothing is known about it")
        return indices
