"""What every classifier has: ratios without a prior in them, and decisions with the application's prior and cost."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from .. import decisions
from ..densities.scorer import Scorer
from ..errors import DataError
from ..export.outputs import check_kept, check_outputs
from ..scoring.application import Application
from ..scoring.rows import in_steps, refuse
from ..scoring.writing import parquet_file, write_scores
from ..sources import RowResults, in_memory
from ..tables.labels import position
from .table_estimator import TableEstimator

Array = NDArray[Any]
Prior = Any  # an array in the order of classes_, a dictionary by label, "uniform" or None


class LLRClassifier(ClassifierMixin, TableEstimator):
    """A classifier whose scores hold no prior: prior and cost are left to whoever decides."""

    # What a kind of model provides.

    @property
    @abstractmethod
    def classes_(self) -> Array:
        """The labels, sorted."""

    @property
    @abstractmethod
    def _scorer(self) -> Scorer:
        """What reads rows and scores them."""

    @abstractmethod
    def _prior(self, prior: Prior) -> Array:
        """The prior of an application, (k,); None takes that of this model."""

    def _is_impossible(self, log_prior: Array) -> bool:  # noqa: ARG002
        """Whether the prior allows only classes of which nothing is known; then nothing but the prior can decide."""
        return False

    # Scores: nothing of the prior is in them.

    def llr(self, X: Any, a: Any = None, b: Any = None) -> Any:
        """The log-likelihood ratio log p(x | b) - log p(x | a), (n,); of two classes, the second over the first."""
        density = self._scorer.of_classes(self._pair(a, b))

        def ratio(x: Any, out: Array) -> bool:
            scores = np.empty((len(out), 2))
            finite = density.score(x, all=scores, relative=True)
            out[:] = decisions.log_likelihood_ratio(scores, 0, 1)
            return finite

        return self._column(X, "llr", ratio)

    # Decisions: the application's prior and cost.

    def predict(self, X: Any, prior: Prior = None, cost: Any = None) -> Any:
        """The Bayes decision for each row, (n,).

        Parameters
        ----------
        prior : class probabilities of the application; None takes those of this model (`prior_`)
        cost : ``cost[i, j]`` is the cost of deciding i when the truth is j; a dictionary from decisions to such rows
            may hold other decisions than the classes. None counts errors. A tie goes to the earlier decision.
        """
        case, density = self._application(prior, cost), self._scorer

        def decide(x: Any, out: Array) -> bool:
            best = np.empty(len(out), np.int64)
            if case.takes_the_best:
                finite = density.score(x, case.log_prior, best=best, relative=True)
            else:
                joint = np.empty((len(out), density.n_classes))
                finite = density.score(x, case.log_prior, all=joint, relative=True)
                best[:] = case.decide(case.log_posterior(joint))
            np.take(case.actions, best, out=out, mode="clip")
            return finite

        decided = self._column(X, "prediction", decide, case.actions.dtype)
        case.warn()
        return decided

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that are decided rightly; y and the weights may be names of columns of X."""
        if isinstance(y, str) or isinstance(sample_weight, str):
            source = in_memory(X, y, sample_weight, self.n_jobs)
            return self.score(source.frame, source.y, source.weight)
        return float(super().score(X, y, sample_weight))

    def predict_proba(self, X: Any, prior: Prior = None) -> Any:
        """Posterior probabilities P(class | x), (n, k)."""
        return self._posterior(X, prior, exponentiate=True)

    def predict_log_proba(self, X: Any, prior: Prior = None) -> Any:
        """Logarithms of the posterior probabilities, (n, k)."""
        return self._posterior(X, prior, exponentiate=False)

    def _posterior(self, X: Any, prior: Prior, exponentiate: bool) -> Any:
        case, density = self._application(prior), self._scorer

        def posterior(x: Any, out: Array) -> bool:
            finite = density.score(x, case.log_prior, all=out, relative=True)
            case.log_posterior(out)
            if exponentiate:
                np.exp(out, out=out)
            return finite

        table = self._table(X, "probability" if exponentiate else "log_probability", posterior)
        case.warn()
        return table

    def _application(self, prior: Prior, cost: Any = None) -> Application:
        chosen, zeros = self._prior(prior), self._scorer.has_zeros
        return Application(self.classes_, chosen, cost, zeros, self._is_impossible(decisions.log(chosen)))

    # The same of tables of any size, and where the data are.

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
        """Score rows and write the results to a Parquet file, in the order of the rows; returns their number.

        X is read, scored and written piece by piece, on several threads, so that memory does not depend on the number
        of rows. The file is there when all of them are scored, and not before.

        Parameters
        ----------
        X : anything tabular: files, or a table in memory; it may have more columns than the model
        path : the file to write
        prior, cost : as of `predict`
        keep, outputs : columns to repeat and results to add, as of `to_sql`, which names them alike

        Examples
        --------
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit(pa.table({"height": [1.70, 1.78, 1.60, 1.64]}), list("mmff"))
        >>> pq.write_table(pa.table({"id": [7, 8], "height": [1.69, 1.58]}), "people.parquet")
        >>> clf.to_parquet("people.parquet", "scores.parquet", keep="id", outputs="decision")
        2
        >>> pq.read_table("scores.parquet").to_pylist()
        [{'id': 7, 'decision': 'm'}, {'id': 8, 'decision': 'f'}]
        """
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
        """One SELECT that scores the rows of a table in a database.

        A missing value is NULL, or NaN. Where `predict` would refuse a row, every result is NULL.

        Parameters
        ----------
        table : the table's name, or the names of its schema and its own; names are quoted
        dialect : {"postgresql", "duckdb", "sqlite", "mysql", "snowflake", "bigquery", "spark"}
        prior, cost : as of `predict`
        columns : what the columns of the model are called in the table: names in their order, or a dictionary from the
            model's names to others; None takes the model's names
        keep : columns of the table to repeat beside the results, such as a key; None repeats those that the model reads
        outputs : {"decision", "posterior", "llr", "log_likelihood"}, one or several; None gives all. There is a column
            "posterior_a" for every class a, "log_likelihood_a" likewise; "llr" is the ratio of the second of two
            classes over the first, and of more, "llr_b" that of b over the first.

        Examples
        --------
        >>> import sqlite3
        >>> from suffice import GaussianClassifier
        >>> clf = GaussianClassifier().fit([[1.70], [1.78], [1.75], [1.60], [1.64], [1.55]], list("mmmfff"))
        >>> db = sqlite3.connect(":memory:")
        >>> _ = db.execute("CREATE TABLE people (height REAL)")
        >>> _ = db.execute("INSERT INTO people VALUES (1.69), (1.58), (NULL)")
        >>> db.execute(clf.to_sql("people", "sqlite", columns=["height"], outputs="decision")).fetchall()
        [(1.69, 'm'), (1.58, 'f'), (None, None)]
        """
        try:
            from ..export import sql
        except ImportError as error:
            raise ImportError(f"to_sql needs SQLAlchemy: pip install suffice[sql] ({error})") from error

        model, chosen = self._scorer, self._prior(prior)
        names = sql.check_columns(columns, self._names(), model.n_features)
        kept = check_kept(keep)
        return sql.to_sql(
            model,
            self.classes_,
            names,
            table,
            dialect,
            chosen,
            None if cost is None else decisions.as_cost(cost, self.classes_),
            [names[j] for j in model.places_read] if kept is None else kept,
            check_outputs(outputs, model),
        )

    def _column(self, X: Any, name: str, work: Callable[[Any, Array], bool], dtype: Any = np.float64) -> Any:
        return self._rows(X, work, RowResults(name, dtype=dtype))

    def _table(self, X: Any, name: str, work: Callable[[Any, Array], bool], labels: Sequence[Any] | None = None) -> Any:
        return self._rows(X, work, RowResults(name, self.classes_.tolist() if labels is None else labels))

    def _rows(self, X: Any, work: Callable[[Any, Array], bool], results: RowResults) -> Any:
        """One row of results for each row of X, on several threads; refuse NaN and infinity."""
        density, source = self._scorer, self._scored(X)  # estimated here, not in the threads
        return source.map_rows(lambda batch, out: in_steps(density, batch.table, out, work), results, refuse)

    def _pair(self, a: Any, b: Any) -> tuple[int, int]:
        classes = self.classes_
        if a is None and b is None and len(classes) == 2:
            return 0, 1
        if a is None or b is None:
            raise DataError(f"with {len(classes)} classes name two of them: the ratio is of b over a")
        return position(a, classes), position(b, classes)
