"""What is said of rows, all of it from their scores: decisions, posteriors, ratios and log-likelihoods."""

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
from .rows import in_steps, refuse

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

    def of(self, scores: Array) -> dict[str, Array]:
        """Return results by name.

        Parameters
        ----------
        scores : array of shape (n, k)
            log p(x | class).

        Returns
        -------
        dict of str to array
            Decisions (n,) as indices among the actions of the case; posteriors and log-likelihoods (n, k); ratios
            (n, k - 1) of all other classes over the first.
        """
        calibration, case = self.model.calibration, self.case
        ratios = scores if calibration is None else calibration(scores.copy())
        log_posterior = cache(lambda: case.log_posterior(ratios + case.log_prior))
        makers: dict[str, Callable[[], Array]] = {
            "decision": lambda: case.decide(log_posterior()),
            "posterior": lambda: np.exp(log_posterior()),
            "llr": lambda: decisions.difference(ratios[:, 1:], ratios[:, :1]),
            "log_likelihood": lambda: scores,
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
        density = self.model.density
        scores = np.empty((len(table), density.n_classes))

        def score(x: Any, out: Array) -> bool:
            return density.score(x, all=out, relative=self.relative)

        if not in_steps(density, density.read, table, scores, score):
            refuse(as_source(table))
        return self.of(scores)
