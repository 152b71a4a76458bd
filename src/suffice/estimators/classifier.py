"""What every classifier has: ratios without a prior in them, and decisions with the application's prior and cost."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from .. import decisions
from ..batch import Batch
from ..collect import refuse_nonfinite
from ..errors import DataError, ImpossibleWarning
from ..labels import position
from ..scoring import Scorer
from ..sources import RowResults, Source, in_memory
from .tables import TableEstimator, row_by_row

Array = NDArray[Any]
_SCORES = 1 << 17  # scores held at a time by each thread, where they are not the result: in the cache
_CELLS = 1 << 22  # cells read at a time by each thread, where they have to be converted
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
        log_prior = decisions.log(self._prior(prior))
        density, impossible = self._scorer, self._is_impossible(log_prior) or self._scorer.has_zeros
        impossible_rows: list[int] = []
        actions, costs = (self.classes_, None) if cost is None else decisions.as_cost(cost, self.classes_)

        def decide(x: Any, out: Array) -> bool:
            best = np.empty(len(out), np.int64)
            if costs is None and not impossible:
                finite = density.score(x, log_prior, best=best, relative=True)
            else:
                posterior = np.empty((len(out), density.n_classes))
                finite = density.score(x, log_prior, all=posterior, relative=True)
                impossible_rows.append(int(np.isneginf(posterior).all(axis=1).sum()) if density.has_zeros else 0)
                decisions.log_posterior(posterior, log_prior)
                best[:] = decisions.cheapest(np.exp(posterior, out=posterior), costs)
            np.take(actions, best, out=out, mode="clip")
            return finite

        decided = self._column(X, "prediction", decide, actions.dtype)
        self._warn_of_impossible(impossible_rows, log_prior)
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
        log_prior, density = decisions.log(self._prior(prior)), self._scorer
        impossible_rows: list[int] = []

        def posterior(x: Any, out: Array) -> bool:
            finite = density.score(x, log_prior, all=out, relative=True)
            impossible_rows.append(int(np.isneginf(out).all(axis=1).sum()) if density.has_zeros else 0)
            decisions.log_posterior(out, log_prior)
            if exponentiate:
                np.exp(out, out=out)
            return finite

        table = self._table(X, "probability" if exponentiate else "log_probability", posterior)
        self._warn_of_impossible(impossible_rows, log_prior)
        return table

    # The same, where the data are.

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
        repeated = [names[j] for j in model.places_read] if keep is None else [keep] if isinstance(keep, str) else keep
        return sql.to_sql(
            model,
            self.classes_,
            names,
            table,
            dialect,
            chosen,
            None if cost is None else decisions.as_cost(cost, self.classes_),
            list(repeated),
            sql.check_outputs(outputs, model),
        )

    def _warn_of_impossible(self, rows: list[int], log_prior: Array) -> None:
        if sum(rows) and not self._is_impossible(log_prior):
            warnings.warn(
                f"{sum(rows)} rows are impossible under every class, so that only the prior speaks for them; "
                "use alpha > 0",
                ImpossibleWarning,
                stacklevel=3,
            )

    def _column(self, X: Any, name: str, work: Callable[[Any, Array], bool], dtype: Any = np.float64) -> Any:
        return self._rows(X, work, RowResults(name, dtype=dtype))

    def _table(self, X: Any, name: str, work: Callable[[Any, Array], bool], labels: Sequence[Any] | None = None) -> Any:
        return self._rows(X, work, RowResults(name, self.classes_.tolist() if labels is None else labels))

    def _rows(self, X: Any, work: Callable[[Any, Array], bool], results: RowResults) -> Any:
        """One row of results for each row of X, on several threads; refuse NaN and infinity."""
        density, source = self._scorer, self._scored(X)  # estimated here, not in the threads
        step = max(1024, _SCORES // len(self.classes_))  # scores of all classes may be as wide as the rows, or wider
        if not density.reads_sparse:
            step = min(step, max(1, _CELLS // density.n_read))

        def score(batch: Batch, out: Array) -> bool:
            rows = (slice(start, start + step) for start in range(0, len(batch), step))
            finite = [work(density.read(batch.table[part]), out[part]) for part in rows]  # every part is written
            return all(finite)

        return row_by_row(source, results, score, _refuse)

    def _pair(self, a: Any, b: Any) -> tuple[int, int]:
        classes = self.classes_
        if a is None and b is None and len(classes) == 2:
            return 0, 1
        if a is None or b is None:
            raise DataError(f"with {len(classes)} classes name two of them: the ratio is of b over a")
        return position(a, classes), position(b, classes)


def _refuse(source: Source) -> None:
    refuse_nonfinite(source)
    raise DataError("some values are too large to be scored; rescale the columns")
