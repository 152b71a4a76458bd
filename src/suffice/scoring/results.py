"""Results for rows, all from their scores: decisions, posteriors, llr and log-likelihoods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import decisions
from ..export.outputs import check_outputs
from ..sources import as_source
from ..tables.table import Table
from .application import Application
from .calibrated import BothScorer
from .loop import in_steps, refuse

if TYPE_CHECKING:
    from .model import Model

Array = NDArray[Any]


class Results:
    """The results that are wanted of rows, for one prior and cost.

    Parameters
    ----------
    model : Model
        What scores the rows.
    prior, cost : as in `Model.predict`
        The application.
    outputs : as in `Model.to_parquet`
        The results that are wanted.
    """

    def __init__(self, model: Model, prior: Any = None, cost: Any = None, outputs: Any = None) -> None:
        self.model = model
        self.case: Application = model._application(prior, cost)
        self.outputs: Sequence[str] = check_outputs(outputs, model.density)
        self.relative = "log_likelihood" not in self.outputs  # then terms that all classes share may be left out
        self.scorer = model._evidence  # what gives the scores that results are made of
        if self.scorer is not model.density and not self.relative:
            self.scorer = BothScorer(model.density, self.scorer)

    def of(self, scores: Array) -> dict[str, Array]:
        """Return results by name.

        Parameters
        ----------
        scores : array of shape (n, k), or (n, 2 k)
            Those of `scorer`.

        Returns
        -------
        dict of str to array
            Decisions (n,) as indices among the actions of the case; posteriors and log-likelihoods (n, k); ratios
            (n, k - 1) of all other classes over the first.
        """
        calibration, case, k = self.model.calibration, self.case, len(self.model.classes)
        likelihoods, evidence = scores[:, :k], scores[:, -k:]  # the same, unless columns are weighted
        ratios = evidence if calibration is None else calibration(evidence.copy())
        log_posterior = cache(lambda: case.log_posterior(ratios + case.log_prior))
        makers: dict[str, Callable[[], Array]] = {
            "decision": lambda: case.decide(log_posterior()),
            "posterior": lambda: np.exp(log_posterior()),
            "llr": lambda: decisions.difference(ratios[:, 1:], ratios[:, :1]),
            "log_likelihood": lambda: likelihoods,
        }
        return {output: makers[output]() for output in self.outputs}

    def of_table(self, table: Table) -> dict[str, Array]:
        """Return the results of a few rows, on this thread.

        Parameters
        ----------
        table : Table
            The rows, with the columns of the model in their order.

        Returns
        -------
        dict of str to array
            As `of` returns them; DataError where a row cannot be scored.
        """
        scorer = self.scorer
        scores = np.empty((len(table), scorer.n_classes))

        def score(x: Any, out: Array) -> bool:
            return scorer.score(x, all=out, relative=self.relative)

        if not in_steps(scorer, scorer.read, table, scores, score):
            refuse(as_source(table))
        return self.of(scores)
